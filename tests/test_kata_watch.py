"""`jitkit watch`, `pytest` and notebooks: three ways to the same verdicts."""

from __future__ import annotations

import contextlib
import os
import pathlib
import queue
import select
import subprocess
import sys
import threading
import time
import types
import xml.etree.ElementTree as ElementTree

import pytest
from figures import cut_off, overlaps, words_of
from kata_workspace import LABS, LISTS, MERGE, PARTITION, SPLIT, SWAPPED, learner, share_results

from jitkit.bench.plotting import THEMES
from jitkit.kata.engine import processes, running
from jitkit.kata.engine.manifest import Experiment, all_labs
from jitkit.kata.engine.processes import Spare
from jitkit.kata.engine.running import Job, LearnerSource, Stop, Stopped, run
from jitkit.kata.engine.submission import Target
from jitkit.kata.screens import notebook
from jitkit.kata.screens.keys import keys_of
from jitkit.kata.speed import save_to_verdict, save_to_verdict_figure
from jitkit.kata.verbs import watch
from jitkit.kata.workspace import changes
from jitkit.kata.workspace.judge import Judge
from jitkit.kata.workspace.workspace import fingerprint

__all__ = ["learner"]  # a fixture

ROOT = pathlib.Path(__file__).parents[1]


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR")}
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"} | more


# --- watch ------------------------------------------------------------------------------------------------------


class Watching:
    """A `jitkit` that runs in the workspace, with pipes for a keyboard and a screen."""

    def __init__(self, root):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jitkit.kata"], cwd=root, env=environment(), text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.lines = queue.SimpleQueue()
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.listener.join()
        self.process.stdin.close()
        self.process.stdout.close()

    def listen(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def until(self, words):
        """Return everything up to a line that contains these words."""
        shown, give_up = "", time.monotonic() + 60
        while words not in shown:
            shown += self.lines.get(timeout=max(give_up - time.monotonic(), 0.1))
        return shown

    def press(self, key):
        self.process.stdin.write(key + "\n")
        self.process.stdin.flush()


def test_watch_gives_a_verdict_on_what_was_saved_and_stays_on_it(learner):
    watching = Watching(learner.root)
    try:
        assert "You are at 90.1 Merge lists" in watching.until("q quit")
        learner.write(merge_lists=SWAPPED)
        shown = watching.until("q quit")
        assert "✗ FAIL  90.1 Merge lists" in shown
        assert "lab 90: 0 of 2  90.1✗ 90.2○" in shown
        watching.press("h")
        assert "Which list does the first True take from?" in watching.until("q quit")
        learner.lists.write_text("# a comment\n" + learner.lists.read_text(encoding="utf-8"), encoding="utf-8")
        assert "✗ FAIL  90.1" in watching.until("q quit")
        learner.write(partition_list=PARTITION, split_list=SPLIT)
        assert "✓ PASS  90.2" in watching.until("q quit")
        learner.write(merge_lists="def merge_lists(mask, unchosen, chosen):\n    while True: pass\n")
        time.sleep(1.0)  # the endless loop runs: the next save ends it
        learner.write(merge_lists=MERGE)
        shown = watching.until("q quit")
        assert "✓ PASS  90.1" in shown
        assert "lab 90: 2 of 2  90.1✓ 90.2✓" in shown
        learner.lists.write_text("def broken(:\n", encoding="utf-8")
        assert "✗ BROKEN  90.1" in watching.until("q quit")
        learner.write_text_of_both()
        shown = watching.until("q quit")
        assert "✗ FAIL  90.1" in shown
        assert "✓ PASS  90.2" in shown
        watching.press("p")
        watching.until("Your guess, a number")
        watching.press("2")
        assert "You said: in proportion. That is right." in watching.until("q quit")
        watching.press("q")
        assert watching.process.wait(30) == 0
    finally:
        watching.close()


def test_a_save_is_about_the_exercise_that_changed(learner):
    workspace = learner.workspace
    lab, first = workspace.exercise("90.1")
    _, second = workspace.exercise("90.2")
    before = workspace.look()

    def meant(current, look=None):
        now = workspace.look()
        return " ".join(e.id for _, e in watch.exercises_meant(look or before, now, lab, current))

    assert meant(first) == "90.1"
    assert meant(workspace.exercise("91.1")[1]) == "90.1"
    learner.write(split_list=SPLIT)  # one of the two functions of 90.2
    assert meant(first) == "90.2"
    between = workspace.look()
    learner.write(**LISTS)
    assert meant(first, between) == "90.1 90.2"
    assert meant(second, between) == "90.2 90.1"
    learner.lists.write_text("def (:", encoding="utf-8")
    assert meant(second) == "90.2"


def test_keys_come_from_a_pipe_as_lines():
    read, write = os.pipe()
    with os.fdopen(read) as stream, keys_of(stream) as next_key:
        os.write(write, b"h\n\nquit\n")
        os.close(write)
        keys, give_up = [], time.monotonic() + 20
        while len(keys) < 3 and time.monotonic() < give_up:
            keys += filter(None, [next_key()])
    assert keys == ["h", "\n", "q"]
    with keys_of(None) as next_key:
        assert next_key() == ""


# --- what it waits for --------------------------------------------------------------------------------------------


@pytest.fixture
def waiting(tmp_path, monkeypatch):
    """Yield an object that waits for changes in a folder: until the system reports one, or for at most a minute."""
    monkeypatch.setattr(changes, "_BACKSTOP", 60.0)
    with contextlib.closing(changes.Changes(lambda: [tmp_path])) as made:
        yield made


def ends_after(waiting, action):
    """Return whether a wait that has begun ends soon after an action."""
    waiter = threading.Thread(target=waiting.wait, daemon=True)
    waiter.start()
    time.sleep(0.05)
    action()
    waiter.join(20)
    return not waiter.is_alive()


def test_a_wait_ends_when_somebody_says_so(waiting):
    assert ends_after(waiting, waiting.wake)
    waiting.wake()
    waiting.wait()  # it returns at once, because of the earlier `wake`


def test_a_wait_ends_with_what_can_be_read(waiting):
    read, write = os.pipe()
    waiting.streams.append(read)
    assert ends_after(waiting, lambda: os.write(write, b"q"))


def test_a_wait_ends_with_each_way_to_save_a_file(waiting, tmp_path):
    file = tmp_path / "exercises.py"

    def replace():
        (tmp_path / ".new").write_text("x = 3")
        os.replace(tmp_path / ".new", file)

    ways = [
        lambda: file.write_text("x = 1"),
        lambda: file.write_text("x = 2"),
        replace,
        lambda: os.utime(file),
        file.unlink,
    ]
    for way in ways:
        assert ends_after(waiting, way)
        while select.select([waiting._inotify.descriptor] if waiting._inotify else [], [], [], 0.1)[0]:
            waiting.wait()  # one save causes several events


def test_a_folder_that_comes_later_is_watched_from_the_next_look_on(tmp_path, monkeypatch):
    folder = tmp_path / "later"
    monkeypatch.setattr(changes, "_BACKSTOP", 0.01)
    with contextlib.closing(changes.Changes(lambda: [folder])) as made:
        made.wait()
        folder.mkdir()
        made.wait()
        monkeypatch.setattr(changes, "_BACKSTOP", 60.0)
        assert ends_after(made, lambda: (folder / "exercises.py").write_text("x = 1"))


def test_without_events_it_looks_often_while_somebody_works_and_less_often_later(tmp_path, monkeypatch):
    monkeypatch.setattr(changes._Inotify, "start", lambda: None)
    with contextlib.closing(changes.Changes(lambda: [tmp_path])) as made:
        made.wait()  # it looks at the files, although the system reports nothing
        assert made._pause() == changes._EAGER
        made.active -= 2 * changes._AT_WORK
        assert made._pause() == changes._IDLE
        made.wake()
        made.wait()
        assert made._pause() == changes._EAGER


def test_a_save_of_the_same_size_within_a_tick_of_the_clock_is_another_stamp(tmp_path):
    file = tmp_path / "exercises.py"
    file.write_text("x = 1")
    before, times = changes.stamp(file), (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    (tmp_path / "new").write_text("x = 2")
    os.replace(tmp_path / "new", file)  # editors save in this way
    os.utime(file, ns=times)
    after = changes.stamp(file)
    assert before[:2] == after[:2], "time and size do not tell"
    assert before != after


# --- the processes beside it ----------------------------------------------------------------------------------------


def job(body, **options):
    source = f"def merge_lists(mask, unchosen, chosen):\n    {body}\n"
    file = LearnerSource("mine.py", source, frozenset({"merge_lists"}))
    checks = LABS / "90_lists" / "checks.py"
    target = {Target.parse("jitkit.base.util:merge_lists"): "mine.py"}
    text = checks.read_text(encoding="utf-8")
    return Job((file,), target, str(checks), text, ("kind_of_the_result",), **options)


def test_a_spare_process_runs_what_is_saved_later_not_what_it_was_prepared_for():
    spare = Spare()
    try:
        spare.prepare(False, running.request_ahead(job("return 1")))
        (waiting,) = spare.waiting[False]
        (outcome,) = run(job("return 2"), spare)
        assert outcome.value == {"is": "int", "value": "2"}
        assert spare.waiting[False] == []
        waiting.process.wait(20)  # it is killed without waiting; on a busy machine it may have ended by itself
        assert waiting.process.poll() is not None
        spare.prepare(False)
        spare.waiting[False][0].kill()
        spare.waiting[False][0].process.wait()
        (outcome,) = run(job("return 3"), spare)  # a dead process is replaced
        assert outcome.value == {"is": "int", "value": "3"}
    finally:
        spare.close()


def test_what_a_random_program_found_is_looked_for_until_it_is_mended(learner, monkeypatch):
    learner.write(merge_lists=MERGE)
    judge, seen = Judge(learner.workspace), []
    assess = judge.assessor.assess
    monkeypatch.setattr(judge.assessor, "assess", lambda *a, **k: (seen.append(k["hurried"]), assess(*a, **k))[1])
    judge.check(*learner.workspace.exercise("90.1"))
    with learner.workspace.state.edit() as state:
        state.of("90.1").found = True
    judge.check(*learner.workspace.exercise("90.1"))
    judge.check(*learner.workspace.exercise("90.1"))
    assert [bool(seconds) for seconds in seen] == [True, False, True]


def test_with_other_functions_of_the_learner_two_processes_are_ready(learner):
    learner.write(**LISTS)
    spare = Spare()
    try:
        judge = Judge(learner.workspace, spare)
        judge.prepare(*learner.workspace.exercise("90.2"))
        assert len(spare.waiting[False]) == 1
        assert judge.check(*learner.workspace.exercise("90.1")).passed
        judge.prepare(*learner.workspace.exercise("90.2"))
        assert len(spare.waiting[False]) == 2
        assert judge.check(*learner.workspace.exercise("90.2")).passed
        assert spare.waiting[False] == []
    finally:
        spare.close()


def test_a_run_that_nobody_waits_for_is_stopped():
    stop = Stop()
    threading.Timer(2.0, stop.set).start()
    start = time.monotonic()
    with pytest.raises(Stopped):
        run(job("while True: pass", seconds=60.0), None, stop)
    assert time.monotonic() - start < 30


def test_nothing_of_the_standard_library_is_left_to_import_when_functions_arrive():
    program = (
        "import importlib, sys, pathlib; sys.path.insert(0, sys.argv[1] + '/jitkit/kata/engine')\n"
        "import reference_code; del sys.path[0]; sys.path.insert(0, sys.argv[1])\n"
        f"for name in (*reference_code.STANDARD_LIBRARY, *{processes._PRELOAD}): importlib.import_module(name)\n"
        "before = set(sys.modules)\n"
        "reference = reference_code.ReferenceCode(pathlib.Path(sys.argv[1]) / 'jitkit')\n"
        "sys.meta_path.insert(0, reference)\n"
        "import jitkit, jitkit.kata.checking, numpy; numpy.random.default_rng([0, 1])\n"  # each check does this
        "print(sorted(n for n in set(sys.modules) - before if n.partition('.')[0] != 'jitkit'))\n"
        "print(sorted(n for n in sys.modules if n.startswith('jitkit') and n not in reference.code))\n"
        "print('jitkit.kata.command.cli' in reference.code, 'jitkit.bench' in reference.code)\n"
    )
    done = subprocess.run([sys.executable, "-E", "-c", program, str(ROOT)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "[]", "False False"]


# --- pytest -------------------------------------------------------------------------------------------------------


BY_NAME_ONLY = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # an installed jitkit would load its plugin, too


def test_pytest_runs_the_same_checks_as_items(learner, tmp_path):
    learner.write(merge_lists=SWAPPED.replace("    sources", "    print('hello')\n    sources"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "pytest_jitkit", "-p", "no:cacheprovider", "--junitxml", str(tmp_path / "r.xml")],
        cwd=learner.root, env=environment(JITKIT_LABS=str(LABS), **BY_NAME_ONLY), capture_output=True, text=True, encoding="utf-8",
        check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert "90_lists/exercises.py::90.1::order_of_the_mask FAILED" in done.stdout
    assert "90_lists/exercises.py::90.1::too_short PASSED" in done.stdout
    assert "90_lists/exercises.py::90.2::the_rest SKIPPED (not written yet)" in done.stdout
    assert "✗ fail: Items come in the order of the mask." in done.stdout
    assert "hello" in done.stdout
    assert "Traceback" not in done.stdout
    (suite,) = ElementTree.parse(tmp_path / "r.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("6", "2", "3")


def test_the_plugin_leaves_other_projects_alone(tmp_path):
    folder = tmp_path / "labs" / "90_lists"
    folder.mkdir(parents=True)
    (folder / "exercises.py").write_text("raise RuntimeError\n", encoding="utf-8")
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_nothing_came_along():\n    assert 'jitkit' not in sys.modules\n", encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "pytest_jitkit", "-p", "no:cacheprovider"],
        cwd=tmp_path, env=environment(**BY_NAME_ONLY), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout


# --- notebooks ----------------------------------------------------------------------------------------------------


class Shell:
    """The part of IPython that the notebook's `check` uses."""

    def __init__(self, *cells):
        self.user_ns = {"In": ["", *cells]}
        self.input_transformer_manager = types.SimpleNamespace(
            transform_cell=lambda cell: cell.replace("%time", "time_magic")
        )


@pytest.fixture
def cells(monkeypatch):
    """Return a function that runs cells: `cells("def f(): ...", ...)`."""
    share_results(monkeypatch)
    monkeypatch.setenv("JITKIT_LABS", str(LABS))
    monkeypatch.setattr(notebook, "_passed", {})
    monkeypatch.setattr(notebook, "_hints", {})

    def show(*texts):
        shell = Shell(*texts)
        monkeypatch.setitem(
            sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell, version_info=(9, 0))
        )

    return show


def test_a_notebooks_cells_are_checked_and_shown_as_text_and_html(cells):
    cells("%time", "this is no Python", "import math", f"# mine\n{SWAPPED}", 'check("90.1")')
    shown = notebook.check("90.1")
    assert not shown.passed
    assert shown.fraction == pytest.approx(1 / 3)
    assert "✗ FAIL  90.1 Merge lists" in repr(shown)
    assert "In[4], line 2" in repr(shown)
    assert "def merge_lists(mask, unchosen, chosen):" in repr(shown)
    page = shown._repr_html_()
    assert "color:#de3c3c" in page
    assert page.startswith('<div class="jitkit-code"><style>')  # tests/test_rich_display.py tests whole lines
    assert "\x1b" not in page
    with pytest.raises(AssertionError, match=r"FAIL  90\.1"):
        shown.require()
    with pytest.raises(LookupError, match=r"no exercise .99\.1.") as unknown:
        notebook.check("99.1")
    assert unknown.value._render_traceback_() == [f"LookupError: {unknown.value}"]


def test_a_number_without_its_zero_is_understood():
    with pytest.raises(LookupError, match=r"no exercise '2\.4'; do you mean '02\.4'"):
        notebook.check("2.4")


def test_the_last_definition_counts_and_what_passed_runs_with_the_rest(cells):
    helped = "def merge_lists(mask, unchosen, chosen):\n    return helper(mask, unchosen, chosen)\n"
    texts = [SWAPPED, helped, MERGE.replace("merge_lists", "helper")]
    cells(*texts)
    assert notebook.check("90.1").passed
    cells(*texts, PARTITION, SPLIT)
    shown = notebook.check("90.2")
    assert shown.passed
    assert "yours: 90.1 90.2; reference: the rest" in repr(shown)
    cells(*texts, PARTITION, SPLIT, SWAPPED)
    assert "yours: 90.2; reference: the rest" in repr(notebook.check("90.2"))


def test_before_its_cell_was_run_an_exercise_asks_for_that(cells):
    cells("import math")
    shown = repr(notebook.check("90.1"))
    assert "Run the cell above first: `merge_lists` is to be defined in it." in shown
    assert "line 0" not in shown


def run_in_turn(texts):
    """Run cells as IPython does, which reports after each cell how it ended."""
    names = {"In": ["", *texts]}
    for number, text in enumerate(texts, 1):
        error = None
        try:
            exec(compile(text, f"cell {number}", "exec"), names)
        except Exception as raised:
            error = raised
        notebook._note_raised(types.SimpleNamespace(error_in_exec=error, execution_count=number))


def test_of_a_cell_that_raised_what_came_before_counts_and_what_came_after_does_not(cells, monkeypatch):
    monkeypatch.setattr(notebook, "_raised", {})
    after, before = f"import math\n\nmath.nothing\n\n{MERGE}", f"{MERGE}\n\nmerge_lists(\n    1, 2)\n"
    run_in_turn([after])
    cells(after)
    shown = notebook.check("90.1")
    assert not shown.passed
    assert "`merge_lists` is not defined yet." in repr(shown)
    assert "In[1] raised before it came to `merge_lists`" in " ".join(repr(shown).split())
    run_in_turn([after, before])
    cells(after, before)
    shown = notebook.check("90.1")
    assert shown.passed
    assert "raised before" not in repr(shown)
    run_in_turn([SWAPPED, after])
    cells(SWAPPED, after)
    monkeypatch.setattr(notebook, "_raised", {2: 3})
    shown = notebook.check("90.1")  # it checks the function that is there: that of the first cell
    assert not shown.passed
    assert "In[2] raised before it came to `merge_lists`" in " ".join(repr(shown).split())


def test_hints_in_a_notebook_go_one_step_further_and_look_at_its_cells(cells):
    cells(SWAPPED)
    assert "hint 1 of 4, a question" in repr(notebook.hint("90.1"))
    notebook.hint("90.1")
    assert "hint 3 of 4, what yours does" in repr(notebook.hint("90.1"))
    assert "as if you believed that" in repr(notebook.hint("90.1", step=3))
    assert 'next: hint("90.1")' in repr(notebook.check("90.1"))
    with pytest.raises(LookupError, match="there are 4 hints"):
        notebook.hint("90.1", step=5)


def test_a_notebook_in_a_workspace_shares_what_passes_with_it(cells, learner):
    learner.write(partition_list=PARTITION, split_list=SPLIT)
    assert "PASS" in learner("check", "90.2")
    helped = "def merge_lists(mask, unchosen, chosen):\n    return helper(mask, unchosen, chosen)\n"
    cells(helped, MERGE.replace("merge_lists", "helper"))
    shown = repr(notebook.check("90.1"))
    assert "yours: 90.1 90.2; reference: the rest" in shown
    assert "It is in 90_lists/exercises.py, too, and counts as passed." in shown
    assert "why: The mask has one entry" in shown
    assert "def helper(mask, unchosen, chosen):" in learner.lists.read_text(encoding="utf-8")
    assert learner.state.of("90.1").passed == learner.workspace.look().fingerprint(manifest_exercise(learner))
    assert "PASS" in learner("check", "90.1")
    cells(*[helped, MERGE.replace("merge_lists", "helper")] * 3)
    # cells that run again change nothing
    assert "It is in 90_lists/exercises.py, too" in repr(notebook.check("90.1"))
    cells(MERGE)
    assert "has another version of 90.1, which stays as it is" in repr(notebook.check("90.1"))
    assert "def helper(" in learner.lists.read_text(encoding="utf-8")
    notebook.hint("90.1")
    assert learner.state.of("90.1").hints == 1


def manifest_exercise(learner):
    return learner.workspace.exercise("90.1")[1]


def test_what_a_notebook_shows_has_whole_lines_that_fit(cells):
    """JupyterLab breaks plain text in the middle of words, at 96 columns in a window of 1280 pixels with a side bar."""
    cells(SWAPPED, PARTITION)
    shown = [notebook.check("90.1"), *[notebook.hint("90.1") for _ in range(4)], notebook.experiment("90")]
    shown.append(notebook.Question(Experiment("why " * 99, ("because " * 99,), "", 1), "experiment()"))
    for each in shown:
        assert max(map(len, repr(each).splitlines())) <= 92
        assert each._repr_html_().startswith('<div class="jitkit-code"><style>')
    assert "<div><b>90.1 Merge lists: hint 1 of 4, a question</b></div><pre>" in shown[1]._repr_html_()
    assert "<b>1</b>" not in notebook.Hint("", "a <b>1</b>")._repr_html_()


def test_an_experiment_asks_first_and_is_shown_inline(cells):
    cells(MERGE)
    question = repr(notebook.experiment("90"))
    assert "How does the number of equations grow" in question
    assert "in proportion" in question
    assert "each turn" not in question
    plot = notebook.experiment("90", guess=2, quick=True)
    assert repr(plot).startswith("You said: in proportion. That is right. In proportion:")
    assert plot.png.startswith(b"\x89PNG")
    assert "data:image/png;base64," in plot._repr_html_()


# --- the promise ----------------------------------------------------------------------------------------------------


def test_what_the_benchmark_saves_is_python_also_where_learners_decorate_their_functions():
    lab = next(lab for lab in all_labs() if lab.number == "10")
    for exercise in lab.exercises:
        source = LearnerSource("x", save_to_verdict._Measurement(lab, exercise, 1).text(7), lab.names)
        assert fingerprint(source, exercise), exercise.id
        assert source.source.count("turn = 7") == len(exercise.targets)


def test_the_benchmark_saves_right_answers_that_differ_and_counts_the_late_ones(monkeypatch, tmp_path):
    monkeypatch.setenv("JITKIT_LABS", str(LABS))
    bench = save_to_verdict.SaveToVerdict(quick=True)
    assert [step.name for step in bench.steps()] == ["save 90.1 without XLA", "cold 90.1 without XLA"]
    (lab, *_) = all_labs()
    measurement = save_to_verdict._Measurement(lab, lab.exercise("90.1"), 1)
    one, other = measurement.text(1), measurement.text(2)
    assert one != other
    assert fingerprint(LearnerSource("x", one, lab.names), lab.exercise("90.1"))
    felt = measurement.cold()
    assert len(felt.seconds) == 1
    [of_all] = save_to_verdict.SaveToVerdict(quick=True, only="processor 90.1").steps()
    worked = of_all.measure()
    assert len(worked.seconds) == 2
    assert 0 < min(worked.seconds) < 10
    assert bench.lines(worked)[0].group == "from a save to the verdict, processor time"
    late = felt._replace(seconds=(0.1, 9.0), limit=1.0)
    assert bench.lines(late)[0].is_good is False
    assert bench.summary([late, felt._replace(limit=1e9)]) == ["1 of 2 rows are as fast as promised."]
    assert bench.row_data(late)["seconds"] == [0.1, 9.0]
    drawings = save_to_verdict_figure.drawings([felt._replace(seconds=(0.19, 0.55), limit=0.4)], "here")
    for theme in THEMES:
        figure = drawings["kata"].figure(theme)
        assert {"200 ms", "500 ms", "within what is promised", "later"} <= set(words_of(figure).splitlines())
        assert "times" not in words_of(figure)  # axis labels must not use powers of ten, such as 2 x 10^-1
        assert overlaps(figure) == []
        assert cut_off(figure) == []
    paths = drawings["kata"].save(tmp_path, "kata")
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
