"""The ladder: rungs that are complete, packages that are judged by what they do, and what is said of bad ones."""

import ast
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest
from kata_workspace import give_results, share_results
from tails import keeping

import jitkit.bench
from grading.authoring.one_sitting import PAGE, page_text
from grading.authoring.verify_ladder import Prover, hidden_programs, shortages
from jitkit.base import whole_file
from jitkit.kata.command.cli import main
from jitkit.kata.engine import executables, processes, running
from jitkit.kata.ladder.abilities import Abilities, card_text, code_lines, drawn, tutorials
from jitkit.kata.ladder.climber import Climber, Package
from jitkit.kata.ladder.display import told_of
from jitkit.kata.ladder.place import Place
from jitkit.kata.ladder.rungs import all_rungs, machine_file, prefix, solution_file, solution_text
from jitkit.kata.ladder.wrong import beliefs, wrong_versions
from jitkit.kata.pytest.rungs import programs_of

RUNGS = {rung.number: rung for rung in all_rungs()}
FIRST = solution_file().read_text(encoding="utf-8")
SOLUTION = solution_text()  # with the part behind the door, which tests/test_behind_the_door.py tests


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """Where jitkit's results are kept for the tests of this file."""
    return tmp_path_factory.mktemp("expected")


COMPUTE_THEM = {
    "test_results_of_ours_that_are_damaged_are_computed_again",
    "test_what_is_right_is_computed_by_a_few_processes_for_many_rungs_and_once",
    "test_what_is_right_for_a_grader_is_not_computed_again_for_a_learner",
}


@pytest.fixture(autouse=True)
def folders_share_what_is_right(request, monkeypatch):
    """Share jitkit's results among the tests of this process, except for three tests that are about computing them."""
    if request.node.originalname not in COMPUTE_THEM:
        share_results(monkeypatch)


def package(folder, text):
    (folder / "myjax.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    return Package(folder, "myjax")


_AT_THE_EDGES = """
import myjax as J
import numpy as np
a = J.numpy.arange(5)
print([int(a[7]), int(a[-2]), int(J.jit(lambda a, i: a[i])(a, 7))])
print([J.numpy.expand_dims(np.zeros((2, 3)), axis).shape for axis in (-3, -2, -1, 0, 1, 2)])
f = lambda x, y: x * y * y
print([float(x) for x in (J.grad(f, argnums=-1)(2.0, 3.0), *J.grad(f, argnums=(0, -1))(2.0, 3.0))])
print([round(float(J.grad(f)(x)), 3) for f in (J.nn.relu, J.nn.sigmoid, J.nn.silu) for x in (-100.0, 0.0, 100.0)])
"""


def test_the_solution_at_the_edges(tmp_path):
    """Where readers found numbers that were not JAX's."""
    (tmp_path / "myjax.py").write_text(FIRST, encoding="utf-8")
    (tmp_path / "xla.py").write_bytes(machine_file().read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", _AT_THE_EDGES], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert [ast.literal_eval(line) for line in done.stdout.splitlines()] == [
        [4, 3, 4],
        [(1, 2, 3), (2, 1, 3), (2, 3, 1), (1, 2, 3), (2, 1, 3), (2, 3, 1)],
        [12.0, 9.0, 12.0],
        [0.0, 0.0, 1.0, 0.0, 0.25, 0.0, 0.0, 0.5, 1.0],
    ]


def test_there_are_rungs_each_with_a_page_hints_and_the_place_in_jax():
    assert list(RUNGS) == [f"{n:02}" for n in range(1, len(RUNGS) + 1)]
    for rung in RUNGS.values():
        assert rung.page.startswith(f"# {rung.number} {rung.title}\n")
        assert len(rung.hints) == 3
        assert rung.jax.startswith("jax/_src/")


@pytest.mark.parametrize("number", keeping(list(RUNGS), "01", "10", "18"))
def test_each_rung_has_programs_and_wrong_versions_and_each_of_these_a_program_against_it(number):
    """`python -m grading verify` proves it for each rung, too."""
    assert shortages(RUNGS[number]) == []
    for version in wrong_versions(RUNGS[number]):
        ast.parse(version.applied(SOLUTION, RUNGS[number]))


def test_the_solution_uses_numpy_and_the_machine_and_nothing_of_ours():
    names = {
        alias.name.partition(".")[0]
        for node in ast.walk(ast.parse(FIRST))
        for alias in (node.names if isinstance(node, ast.Import) else ())
    } | {node.module for node in ast.walk(ast.parse(FIRST)) if isinstance(node, ast.ImportFrom)}
    assert names - set(sys.stdlib_module_names) == {"numpy", "xla"}


def test_each_section_ends_where_a_package_can_end():
    lines = [code_lines(prefix(SOLUTION, number)) for number in RUNGS]
    assert all(lines)
    assert lines == sorted(lines)


def test_the_solution_can_be_read_in_one_sitting():
    assert code_lines(prefix(FIRST, "14")) <= 600
    assert code_lines(FIRST) <= 1000
    assert max(map(len, FIRST.splitlines())) <= 128


def test_the_page_a_jit_in_one_sitting_is_fresh():
    assert PAGE.read_text(encoding="utf-8") == page_text(), "run: python -m grading.authoring.one_sitting"


def test_on_the_page_what_stands_in_a_comment_is_prose_and_code_is_code():
    blocks = re.findall(r"^```python\n(.*?)^```$", page_text(), re.MULTILINE | re.DOTALL)
    assert [block for block in blocks if not ast.parse(block).body] == []
    prose = re.sub(r"^```.*?^```$", "", page_text(), flags=re.MULTILINE | re.DOTALL)
    assert [line for line in prose.splitlines() if line.startswith("# ")] == ["# A JIT in one sitting"]


_CELLS = """
import contextlib, io, re, sys
text = open("from_scratch.py", encoding="utf-8").read()
cells = re.compile("(?:^# >>> .*\\n(?:^# =>.*\\n)*)+", re.MULTILINE)
for block in cells.finditer(text):
    names = {"__name__": "from_scratch"}
    exec(compile(text[: block.start()], "from_scratch.py", "exec"), names)
    sys.modules.pop("xla")  # each prefix counts from 0
    for cell, printed in re.findall("^# >>> (.*)\\n((?:^# =>.*\\n)*)", block[0], re.MULTILINE):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(cell, "cell", "single"), names)
        expected = "".join(line[4:].removeprefix(" ") for line in printed.splitlines(keepends=True))
        print(cell if out.getvalue() != expected else "as it says")
"""


def test_after_each_section_a_cell_prints_what_it_says(tmp_path):
    (tmp_path / "from_scratch.py").write_text(FIRST, encoding="utf-8")
    (tmp_path / "xla.py").write_bytes(machine_file().read_bytes())
    done = subprocess.run([sys.executable, "-c", _CELLS], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()) == {"as it says"}
    assert FIRST.count("# >>> ") == len(done.stdout.splitlines()) >= 14


def test_a_prefix_passes_its_rungs_and_the_next_one_is_red(tmp_path, kept):
    verdicts = Climber(kept).climb(package(tmp_path, prefix(SOLUTION, "03")), [RUNGS["02"], RUNGS["03"], RUNGS["05"]])
    assert [v.passed for v in verdicts] == [True, True, False]


BAD = {
    "a syntax error": ("def f(:\n", "import", "SyntaxError", 1),
    "jax": ("import numpy\nimport jax\n", "import", "your package imports jax", 2),
    "jitkit": ("from jitkit import numpy\n", "import", "your package imports jitkit", 1),
    "an error of its own": ("x = 1\ny = x / 0\n", "import", "division by zero", 2),
    "a byte that no text has": ("x = 1\n\0\n", "import", "null bytes", 2),
    "an exit that says all is well": ("import os\nos._exit(0)\n", "import", "with exit code 0", 2),
    "a signal": ("import os, signal\n\nos.kill(os.getpid(), signal.SIGSEGV)\n", "import", "of SIGSEGV", 3),
    "a signal that nobody can catch": ("import os\nos.kill(os.getpid(), 9)\n", "import", "of SIGKILL", None),
    "the exit of a program": ("import sys\nsys.exit()\n", "import", "SystemExit", 2),
    "recursion without end": ("def f():\n    f()\nf()\n", "import", "RecursionError", 2),
    "another encoding": (b"x = 1\ny = 'caf\xe9'\n", "import", "codec can't decode byte 0xe9", 2),
    "exit": ("import os\nos._exit(3)\n", "import", "ended while your package was imported, with exit code 3", 2),
}


@pytest.mark.parametrize("name", BAD)
def test_a_package_that_cannot_be_imported_is_told_why_in_one_sentence_with_its_line(name, tmp_path, kept):
    text, status, said, line = BAD[name]
    [verdict] = Climber(kept).climb(package(tmp_path, text), [RUNGS["03"]])
    failure = verdict.first_failure
    assert failure.status == status
    assert said in failure.sentence
    assert failure.line == ((str(tmp_path / "myjax.py"), line) if line else None)


def test_results_of_ours_that_are_damaged_are_computed_again(tmp_path):
    climber = Climber(tmp_path / "kept")
    mine = package(tmp_path, prefix(SOLUTION, "03"))
    assert climber.climb(mine, [RUNGS["03"]])[0].passed
    for text in ("{}", "[]", "null", "[[]]"):
        for path in (tmp_path / "kept" / "expected").glob("*.json"):
            path.write_text(text, encoding="utf-8")
        assert Climber(tmp_path / "kept").climb(mine, [RUNGS["03"]])[0].passed


_RUINS = {
    "an error that cannot be printed": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E\n",
    "its own memory deleted": "import shutil, pathlib\nshutil.rmtree(pathlib.Path(__file__).parent / '.jitkit')\n",
    "its own folder deleted": "import shutil, pathlib\nshutil.rmtree(pathlib.Path(__file__).parent)\n",
}


@pytest.mark.parametrize("name", _RUINS)
def test_a_package_that_ruins_its_folder_gets_a_sentence(name, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "my-jax"
    assert main(["start", "--from-scratch", str(folder)]) == 0
    monkeypatch.chdir(folder)
    (folder / "myjax.py").write_text(_RUINS[name], encoding="utf-8")
    assert main(["check", "1"]) == 1
    said = " ".join("".join(capsys.readouterr()).split())
    assert "bug of ours" not in said
    if name == "its own folder deleted":
        assert f"your package is gone from {folder}" in said
    elif name == "its own memory deleted":
        assert ".jitkit was deleted while your package ran" in said
        assert main(["check", "1"]) == 1  # the package deletes it again
    else:
        assert "E, whose message cannot be printed" in said


def test_a_package_may_be_renamed_while_it_is_watched(tmp_path):
    place = Place.make(tmp_path, "myjax")
    assert place.name == "myjax"
    (tmp_path / ".jitkit" / "ladder").write_text("other\n", encoding="utf-8")
    assert place.name == "other"
    shutil.rmtree(tmp_path / ".jitkit")
    assert place.name == "other"


def test_a_folder_that_lost_its_memory_or_its_pages_gets_them_back(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "my-jax"
    assert main(["start", "--from-scratch", str(folder)]) == 0
    monkeypatch.chdir(folder)
    (folder / "myjax.py").write_text("x = 1\n", encoding="utf-8")
    shutil.rmtree(folder / ".jitkit")
    (folder / "ladder" / "02_write_it_down.md").unlink()
    capsys.readouterr()
    assert main(["start", "--from-scratch", "."]) == 0
    assert "your package as it was" in capsys.readouterr().out
    assert (folder / "myjax.py").read_text(encoding="utf-8") == "x = 1\n"
    (folder / "ladder" / "03_run_it_again.md").unlink()
    main(["check", "1"])
    assert "ladder/03_run_it_again.md is not there" in " ".join(capsys.readouterr().out.split())
    assert "expected/" in (folder / ".jitkit" / ".gitignore").read_text(encoding="utf-8")


def test_what_is_right_is_computed_by_a_few_processes_for_many_rungs_and_once(tmp_path, monkeypatch):
    started = []
    run = running.run
    monkeypatch.setattr(running, "run", lambda job, *rest: started.append(job) or run(job, *rest))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    rungs = [RUNGS[number] for number in ("01", "02", "03", "04", "05")]
    climber = Climber(tmp_path / "kept", seconds=0.01)  # this limit holds for packages, not for jitkit
    checks = climber.checks(rungs)
    first = climber.expected(rungs, checks, 0)
    assert [outcome.check for outcome in first] == [check.name for check in checks]
    assert len(started) == 2  # two processes, not five
    assert sorted(name for job in started for name in job.wanted) == sorted(check.name for check in checks)
    again = Climber(tmp_path / "kept").expected(rungs, checks, 0)
    assert [outcome.value for outcome in again] == [outcome.value for outcome in first]
    assert len(started) == 2


def test_what_is_right_for_a_grader_is_not_computed_again_for_a_learner(tmp_path, monkeypatch):
    started = []
    run = running.run
    monkeypatch.setattr(running, "run", lambda job, *rest: started.append(job) or run(job, *rest))
    for climber in (Climber(tmp_path, hidden_programs()), Climber(tmp_path)):
        checks = climber.checks([RUNGS["03"]])
        found = climber.expected([RUNGS["03"]], checks, 0)
        assert [outcome.check for outcome in found] == [check.name for check in checks]
    assert len(started) == 1


def test_a_package_that_never_returns_is_stopped_and_what_it_printed_is_kept(tmp_path, kept):
    climber = Climber(kept, seconds=1.5)
    [verdict] = climber.climb(package(tmp_path, "print('here')\n\nwhile True: pass\n"), [RUNGS["03"]])
    assert {(r.status, r.sentence, r.line) for r in verdict.results} == {
        (
            "import",
            "Your package was still being imported after 1.5 seconds, and was stopped.",
            (str(tmp_path / "myjax.py"), 3),
        )
    }


BAD_IN_A_RUNG = {
    "it never returns": ("def bad(*args):\n    while True: pass\n", "time", "still running"),
    "it ends the process": ("def bad(*args):\n    import os\n    os._exit(5)\n", "crash", "exit code 5"),
    "it kills the process": ("def bad(*args):\n    import os\n    os.kill(os.getpid(), 9)\n", "crash", "SIGKILL"),
}


@pytest.mark.parametrize("name", keeping(list(BAD_IN_A_RUNG), "it never returns", "it kills the process"))
def test_where_one_rung_hangs_or_dies_the_others_are_still_checked(name, tmp_path, kept):
    text, status, said = BAD_IN_A_RUNG[name]
    bad = package(tmp_path, f"{prefix(SOLUTION, '05')}\n\n{text}\n\ncore.eval_jaxpr = bad\n")
    climber = Climber(kept, hidden_programs(), seconds=4)  # hidden programs run last, those of all rungs
    verdicts = climber.climb(bad, [RUNGS["01"], RUNGS["03"], RUNGS["05"]])
    assert [v.passed for v in verdicts] == [True, False, True]
    assert verdicts[1].first_failure.status == status
    assert said in verdicts[1].first_failure.sentence
    line = bad.files[0].read_text().splitlines().index(text.splitlines()[-1]) + 1
    assert verdicts[1].first_failure.line == (None if said == "SIGKILL" else (str(tmp_path / "myjax.py"), line))


class Answers:
    """A process, and a spare one: each answers with the frames of the next list, and then ends or hangs."""

    imported, pid = False, None

    def __init__(self, *lists, hangs):
        self.lists, self.hangs, self.frames = iter(lists), hangs, []

    def take(self, uses_xla):
        self.frames = list(next(self.lists))
        return self

    def next_frame(self, seconds):
        if not self.frames and self.hangs:
            raise TimeoutError
        return self.frames.pop(0) if self.frames else None

    def send(self, request): ...
    def close(self): ...
    def kill(self): ...


@pytest.mark.parametrize("hangs", [False, True], ids=["it ends", "it hangs"])
@pytest.mark.parametrize("before", [1, 2, 3])
def test_a_process_that_is_lost_between_two_programs_shifts_no_results(before, hangs):
    names = ["01_a", "01_b", "01_c"]
    answer = [
        [{"is": "begin", "check": n}, {"is": "result", "check": n, "value": {"is": n}, "output": "", "seconds": 0.1}]
        for n in names
    ]
    begun, rest = (
        [{"is": "imported"}, *(frame for pair in part for frame in pair)] for part in (answer[:before], answer[before:])
    )
    job = running.Job((), {}, "", "", tuple(names), climb=running.Climb({}, ()))
    outcomes = running.run(job, Answers(begun, rest, hangs=hangs))
    assert [(o.check, o.value, o.trouble) for o in outcomes] == [(n, {"is": n}, "") for n in names]


def test_a_package_that_cannot_be_imported_forgets_nothing_and_a_fallen_rung_does_not_hide_those_above(
    tmp_path, monkeypatch, capsys
):
    assert main(["start", "--from-scratch", str(tmp_path / "my-jax")]) == 0
    monkeypatch.chdir(tmp_path / "my-jax")
    file = tmp_path / "my-jax" / "myjax.py"
    file.write_text(prefix(SOLUTION, "05"))
    assert main(["check", "05"]) == 0
    file.write_text(prefix(SOLUTION, "05") + "\nimport os\nos._exit(4)\n")
    capsys.readouterr()
    assert main(["check"]) == 1
    said = capsys.readouterr().out
    assert "ended while your package was imported, with exit code 4" in said
    assert "fell" not in said
    assert "✗" not in said
    file.write_text(
        prefix(SOLUTION, "05").replace(
            "core.eval_jaxpr, as_function = eval_jaxpr", "core.eval_jaxpr, as_function = None"
        )
    )
    assert main(["check"]) == 1
    said = capsys.readouterr().out
    assert "Rung 03 Run it again fell" in said
    for line in ("pass  02 Write it down", "fail  03 Run it again", "pass  05 Trees", "fail  06 Speak StableHLO"):
        assert line in said
    assert main(["check", "02"]) == 0
    capsys.readouterr()
    assert main(["check"]) == 1
    assert "pass  05 Trees" in capsys.readouterr().out
    file.write_text(prefix(SOLUTION, "05").replace("def asked(", "def renamed("))
    assert main(["check"]) == 1
    assert "fail  05 Trees" in capsys.readouterr().out
    file.write_text(prefix(SOLUTION, "05"))
    assert main(["check"]) == 0  # failed rungs are checked again, up to the last rung that the package had reached
    assert "pass  05 Trees" in capsys.readouterr().out


def test_machine_code_is_kept_from_save_to_save_and_damage_does_no_harm(tmp_path, monkeypatch):
    climber, seven = Climber(tmp_path / "kept"), package(tmp_path, prefix(SOLUTION, "07"))
    folder = climber.machine_code.folder
    for _ in range(2):
        [verdict] = climber.climb(seven, [RUNGS["07"]])  # whose programs count what is compiled
        assert verdict.passed
        files = sorted(folder.iterdir())
        assert len(files) > 9
    first, second = files[:2]
    first.write_bytes(b"damaged")
    second.unlink()
    assert climber.climb(seven, [RUNGS["07"]])[0].passed
    assert set(folder.iterdir()) == set(files)
    assert first.read_bytes() != b"damaged"
    monkeypatch.setattr(climber.machine_code, "most", 6)
    assert climber.machine_code.is_there()
    assert len(list(folder.iterdir())) == 3


def test_what_the_last_save_needed_is_loaded_while_the_next_one_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(executables, "_ready", {})

    class Executable:
        serialize = staticmethod(lambda: b"machine code")

    def never(*args):
        raise AssertionError("it is there already")

    jaxlib = str(tmp_path / "jaxlib.so")
    pathlib.Path(jaxlib).touch()
    folder = tmp_path / "kept"
    folder.mkdir()
    for program in ("one", "two"):
        executables.remembered(folder, program, jaxlib, never, Executable)
    loaded = []
    executables.load_ahead(folder, jaxlib, loaded.append, lambda: True)
    assert loaded == []  # somebody waits
    executables.load_ahead(folder, jaxlib, lambda data: loaded.append(data) or data, lambda: False)
    assert loaded == [b"machine code"] * 2
    assert executables.remembered(folder, "two", jaxlib, never, never) == b"machine code"
    os.utime(jaxlib, (1, 1))  # as if jaxlib were another one: code of the earlier one is not loaded
    executables.load_ahead(folder, jaxlib, loaded.append, lambda: False)
    assert len(loaded) == 2

    climber, seven = Climber(tmp_path), package(tmp_path, prefix(SOLUTION, "07"))
    with contextlib.closing(processes.Spare(str(machine_file()))) as spare:
        for _ in range(2):
            climber.prepare(spare, [RUNGS["07"]])
            [verdict] = climber.climb(seven, [RUNGS["07"]], spare=spare)  # whose programs count what is compiled
            assert verdict.passed


def test_a_report_where_there_is_neither_ladder_nor_lab_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["show", "--report"]) == 1
    said = capsys.readouterr().err
    assert "there is none in this folder" in said
    assert "labs" not in said


def test_the_report_of_an_empty_package_runs_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["start", "--from-scratch", "."]) == 0
    monkeypatch.setattr(Climber, "climb", lambda *_, **__: pytest.fail("jitkit's own results are computed"))
    assert main(["show", "--report"]) == 0
    said = capsys.readouterr().out
    assert f"0 of {len(RUNGS)} rungs" in said
    assert re.search(r"0 of [1-9]\d\d programs agree", said)
    assert "0 of 8 programs of the tutorials" in said


def test_the_card_has_a_bar_for_each_rung_and_for_each_call_and_the_misses_are_red():
    rungs = tuple((number, "<title>", 3, 4) for number in RUNGS)
    times = {"lower": 7e-6, "call": 5e-6}
    calls = [0.02, *[5e-6] * 9, 0.03, *[5e-6] * 9]
    found = Abilities(rungs, (7, 8), 967, times | {"every call": calls}, {"lower": 1e-4, "call": 4e-6})
    assert found.misses == [0, 10]
    assert (
        "20 calls, 2 of them longer than a millisecond; the longest took 30 ms, one in the middle 5 µs"
        in found.sentences
    )
    assert "a warm call: 5 µs; jax 4 µs: 1.3 times that" in found.sentences
    card = ElementTree.fromstring(card_text("my<jax", found))
    assert card.get("viewBox") == f"0 0 {card.get('width')} {card.get('height')}"  # so that it shrinks with its window
    assert "prefers-color-scheme: dark" in card_text("my<jax", found)
    bars = [x for x in card.iter() if x.tag.endswith("rect")]
    assert len(bars) == 1 + 2 * len(rungs) + len(calls)
    assert [bar.get("fill") for bar in bars].count("#b3261e") == 2
    assert drawn(calls[:3], "01234567") == "411"
    row = {"loops": 1, "bytes": 4, "own": 3e-6, "xla": 2e-6, "numpy": 1e-5}
    raced = found._replace(mine=times | {"every call": calls, "race": {"a": row, "b": row | {"own": 5e-7}}})
    assert raced.sentences[-1] == "the race of rung 23: 2 programs by its own compiler, in 0.25 to 1.5 times XLA's time"
    step = {"training": {"first": 0.0312, "later": 1.234e-4}}
    trained = found._replace(mine=found.mine | step, jax=found.jax | {"training": {"first": 0.1, "later": 1e-4}})
    sentence = "a training step of two layers: 120 µs (the first 31 ms); jax 100 µs (the first 100 ms)"
    assert sentence in trained.sentences
    assert sentence.partition(";")[0] in trained._replace(jax=None).sentences
    nothing = Abilities(rungs, (0, 8), 12, None, None)
    assert "every call" not in card_text("mine", nothing)
    assert nothing.sentences[-1] == "12 lines of code"


@pytest.mark.parametrize(("rungs", "found"), [(len(RUNGS), ["first", "later"]), (10, [])])
def test_a_training_step_is_measured_where_a_package_has_a_gradient(rungs, found, tmp_path):
    program = (
        "import importlib.util, sys, myjax\n"
        "spec = importlib.util.spec_from_file_location('from_scratch', sys.argv[1])\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "print(sorted(name for name, seconds in module.training(myjax).items() if 0 < seconds < 60))\n"
    )
    (tmp_path / "myjax.py").write_text(prefix(FIRST, f"{min(rungs, 18):02}"), encoding="utf-8")
    (tmp_path / "xla.py").write_bytes(machine_file().read_bytes())
    script = pathlib.Path(jitkit.bench.__file__).with_name("from_scratch.py")
    done = subprocess.run(
        [sys.executable, "-c", program, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ast.literal_eval(done.stdout) == found


def test_the_programs_of_the_tutorials_run_on_the_solution_and_not_on_half_of_it(tmp_path, kept):
    climber, rung = Climber(kept), tutorials()
    [verdict] = climber.climb(package(tmp_path, SOLUTION), [rung])
    assert len(verdict.results) == 8
    assert verdict.passed
    [verdict] = climber.climb(package(tmp_path, prefix(SOLUTION, "09")), [rung])
    assert {r.check.name for r in verdict.results if r.status == "pass"} == {
        "tutorials_rank",
        "tutorials_log2",
        "tutorials_power",
    }


def test_objects_where_arrays_are_due_are_named(tmp_path, kept):
    text = f"{prefix(SOLUTION, '01')}\n\nclass Own:\n    pass\n\n\nnumpy.sin = lambda x: Own()\n"
    [verdict] = Climber(kept).climb(package(tmp_path, text), [RUNGS["01"]])
    assert verdict.first_failure.sentence == "An array is expected, and a myjax.Own came."


def test_what_is_no_program_leads_to_the_line_of_make_jaxpr(tmp_path, kept):
    text = f"{prefix(SOLUTION, '01')}\n\ndef make_jaxpr(f):\n    return lambda *args: 'three'\n"
    [verdict] = Climber(kept).climb(package(tmp_path, text), [RUNGS["02"]])
    line = text.splitlines().index("def make_jaxpr(f):") + 1
    assert verdict.first_failure.line == (str(tmp_path / "myjax.py"), line)
    assert "'str' object has no attribute 'invars'" in verdict.first_failure.difference.actual


def test_a_package_that_prints_is_judged_by_what_it_computes(tmp_path, kept):
    text = "import sys\nprint('hi')\nsys.stdout.write('there')\n" + prefix(SOLUTION, "01")
    [verdict] = Climber(kept).climb(package(tmp_path, text), [RUNGS["01"]])
    assert verdict.passed


def test_a_package_that_was_emptied_has_failed_and_is_to_do_again_only_afterwards(tmp_path, monkeypatch, capsys):
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    file = pathlib.Path("myjax.py")
    empty = file.read_text()
    file.write_text(prefix(SOLUTION, "02"))
    assert main(["check", "2"]) == 0
    file.write_text(empty)
    capsys.readouterr()
    assert main(["check", "2"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "Rung 01 One door fell" in said
    assert "left nothing of it. 1 rung above fell with it." in said
    assert "fail 01 One door: 0 of" in said
    assert "myjax.py has no code any more" in said
    assert "to do" not in said
    assert main(["status"]) == 0
    assert "One door fail" in " ".join(capsys.readouterr().out.split())
    assert main(["check"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "to do 01 One door" in said
    assert "Nothing is written yet" in said
    assert "fell" not in said


def test_a_file_of_several_that_is_no_python_is_named(tmp_path, kept):
    (tmp_path / "myjax").mkdir()
    (tmp_path / "myjax" / "__init__.py").write_text("from . import core\n")
    (tmp_path / "myjax" / "core.py").write_text("x = 1\n\ny = = 2\n")
    [verdict] = Climber(kept).climb(Package(tmp_path, "myjax"), [RUNGS["03"]])
    assert verdict.first_failure.line == (str(tmp_path / "myjax" / "core.py"), 3)


def test_files_that_import_each_other_are_named(tmp_path, kept):
    (tmp_path / "myjax").mkdir()
    (tmp_path / "myjax" / "__init__.py").write_text("from . import a\n")
    (tmp_path / "myjax" / "a.py").write_text("from .b import y\nx = 1\n")
    (tmp_path / "myjax" / "b.py").write_text("\nfrom .a import x\ny = 2\n")
    (tmp_path / "myjax" / "c.py").mkdir()  # a folder of that name is no file
    [verdict] = Climber(kept).climb(Package(tmp_path, "myjax"), [RUNGS["03"]])
    assert "circular import" in verdict.first_failure.sentence
    assert verdict.first_failure.line == (str(tmp_path / "myjax" / "b.py"), 2)
    assert Package(tmp_path, "myjax").fingerprint()


def test_a_file_that_is_not_there_is_not_taken_for_a_circle(tmp_path, kept):
    (tmp_path / "myjax").mkdir()
    (tmp_path / "myjax" / "__init__.py").write_text("\nfrom . import core\n")
    [verdict] = Climber(kept).climb(Package(tmp_path, "myjax"), [RUNGS["03"]])
    assert "myjax has no core: there is no myjax/core.py" in verdict.first_failure.sentence
    assert verdict.first_failure.line == (str(tmp_path / "myjax" / "__init__.py"), 2)


def test_files_beside_the_package_are_a_part_of_it_if_it_imports_them(tmp_path, kept):
    mine = package(tmp_path, "from door import *\n")
    texts = {
        "door": "from deep import (\n    x as z,\n    y,\n)\n",
        "deep": "x = 1\ny = x / 0\n",
        "play": "import myjax\n",
        "xla": "",
        "test_ladder": "",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert [path.name for path in mine.files] == ["myjax.py", "deep.py", "door.py"]
    [verdict] = Climber(kept).climb(mine, [RUNGS["01"]])
    assert verdict.first_failure.line == (str(tmp_path / "deep.py"), 2)
    before = mine.fingerprint()
    (tmp_path / "play.py").write_text("")
    assert mine.fingerprint() == before
    (tmp_path / "deep.py").write_text("x = 1\n")
    assert mine.fingerprint() != before


def test_what_may_not_be_imported_is_said_in_its_own_sentence_when_a_function_does_it(tmp_path, kept):
    text = (
        prefix(SOLUTION, "01")
        + "\n\ndef sin(x):\n    import jax.numpy\n    return jax.numpy.sin(x)\n\n\nnumpy.sin = sin\n"
    )
    [verdict] = Climber(kept).climb(package(tmp_path, text), [RUNGS["01"]])
    assert verdict.first_failure.sentence.startswith("your package imports jax: the point of the climb")
    assert verdict.first_failure.line == (
        str(tmp_path / "myjax.py"),
        text.splitlines().index("    import jax.numpy") + 1,
    )


def test_a_folder_that_is_called_like_a_file_is_said_to_be_one(tmp_path, monkeypatch, capsys):
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    pathlib.Path("myjax.py").unlink()
    pathlib.Path("myjax.py").mkdir()
    assert main(["check"]) == 1
    said = capsys.readouterr().err
    assert "is a folder" in said
    assert "renamed" not in said


@pytest.mark.parametrize("name", ["numpy", "json", "xla", "jaxlib", "my-jax", ""])
def test_a_package_may_not_be_called_like_another_module(name, tmp_path, monkeypatch, capsys):
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    pathlib.Path("myjax.py").rename(f"{name}.py")
    pathlib.Path(".jitkit/ladder").write_text(f"{name}\n")
    assert main(["check", "1"]) == 1
    said = capsys.readouterr().err
    assert f"says that your package is called {name!r}" in said
    assert "Call it something else" in said


def run_in(folder, *command, path=""):
    give_results(folder / ".jitkit")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(pathlib.Path(running.__file__).parents[3]), path]))
    }
    return subprocess.run(
        [sys.executable, *command],
        check=False,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_files_that_are_called_like_modules_that_we_need_do_no_harm(tmp_path):
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    for name in ("numpy", "json", "random", "tempfile", "jax"):
        (tmp_path / "mine" / f"{name}.py").write_text("raise RuntimeError('the wrong one')\n")
    done = run_in(tmp_path / "mine", "-m", "jitkit.kata", "check", "1")
    assert "to do  01 One door" in done.stdout, done.stderr
    for name in ("json", "random", "jax"):  # pytest imports these names itself
        (tmp_path / "mine" / f"{name}.py").unlink()
    done = run_in(tmp_path / "mine", "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert f"{len(Climber().checks([RUNGS['01']]))} failed" in done.stdout, done.stdout
    assert "FAILED test_ladder.py::test_program[01_refused]" in done.stdout


def test_a_test_ladder_of_before_finds_its_programs(tmp_path):
    """It names the module by the room in which it stood."""
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    file = tmp_path / "mine" / "test_ladder.py"
    today = "from jitkit.kata.pytest.rungs import programs_of\n"
    assert today in file.read_text()
    file.write_text(file.read_text().replace(today, "from jitkit.kata.ladder.pytest_rungs import programs_of\n"))
    done = run_in(tmp_path / "mine", "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only")
    assert "test_ladder.py::test_program[01_refused]" in done.stdout, done.stdout


def test_for_pytest_a_failure_has_both_sides_and_the_line(tmp_path):
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    (tmp_path / "mine" / "myjax.py").write_text(prefix(SOLUTION, "01") + "\nnumpy.sin = lambda x: 1 / 0\n")
    problems = {each.id: each.values[1] for each in programs_of(tmp_path / "mine")}
    assert problems["01_operators"] == ""
    *_, expected, yours, line = problems["01_unary"].splitlines()
    assert expected.startswith("expected: ")
    assert yours == "yours:    ZeroDivisionError: division by zero"
    assert line == f"at myjax.py:{len(prefix(SOLUTION, '01').splitlines()) + 2}"


@pytest.mark.parametrize("name", ["numpy", "json", "random", "copy"])
def test_where_such_a_file_is_taken_for_the_module_it_is_named(name, tmp_path):
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    (tmp_path / "mine" / f"{name}.py").write_text("x = 1\n")
    start = "import sys; from jitkit.kata.__main__ import main; sys.argv = ['jitkit', 'check', '1']; sys.exit(main())"
    done = run_in(tmp_path / "mine", "-P", "-c", start, path=".")
    assert done.returncode == 1
    if name == "copy" and sys.version_info >= (3, 12):  # since 3.12 nothing here imports `copy`
        assert "Nothing is written yet" in done.stdout
        assert not done.stderr
        return
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"jitkit: this folder has {name}.py, and jitkit needs a module that is called {name}, too.")
    assert "bug of ours" not in done.stderr


def test_a_file_beside_a_folder_of_its_name_is_said_not_to_count(tmp_path, monkeypatch, capsys):
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    pathlib.Path("myjax").mkdir()
    assert main(["status"]) == 0
    assert "counts" not in capsys.readouterr().out
    pathlib.Path("myjax/__init__.py").write_text(prefix(SOLUTION, "01"))
    assert main(["check", "1"]) == 0
    assert "nothing in myjax.py counts" in " ".join(capsys.readouterr().out.split())


def test_where_nothing_can_be_written_or_read_it_is_said_and_is_no_bug_of_ours(tmp_path, monkeypatch, capsys):
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    pathlib.Path("myjax.py").write_text(prefix(SOLUTION, "01"))
    assert main(["check", "1"]) == 0
    pathlib.Path(".jitkit/state.json").write_text("{")
    assert main(["check", "1"]) == 0
    assert "The record of your progress could not be read" in " ".join(capsys.readouterr().out.split())

    def refuse(self, *rest, **options):
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as closed:
        closed.setattr(whole_file, "_write_new", refuse)
        closed.setattr(pathlib.Path, "write_text", refuse)
        closed.setattr(pathlib.Path, "write_bytes", refuse)
        assert main(["check", "1"]) == 0
        assert "Progress cannot be written" in " ".join(capsys.readouterr().out.split())
        assert main(["hint", "1"]) == 0
        assert "Progress cannot be written" in " ".join(capsys.readouterr().out.split())
        assert main(["reset", "xla"]) == 1
        assert "cannot be written: Permission denied" in capsys.readouterr().err
    monkeypatch.setattr("os.access", lambda path, mode: pathlib.Path(path).name != "myjax.py")
    assert main(["check", "1"]) == 1
    assert "myjax.py cannot be read" in capsys.readouterr().err


def test_threads_that_are_left_and_much_output_change_no_verdict(tmp_path, kept):
    text = "import threading, time\nthreading.Thread(target=time.sleep, args=[1000]).start()\nprint('x\\n' * 10**6)\n"
    [verdict] = Climber(kept).climb(package(tmp_path, text + prefix(SOLUTION, "01")), [RUNGS["01"]])
    assert verdict.passed


def test_a_recursion_is_said_to_be_one_and_other_programs_run(tmp_path, kept):
    text = f"{prefix(SOLUTION, '01')}\n\ndef again(x):\n    return again(x)\n\n\nnumpy.sin = again\n"
    [verdict] = Climber(kept).climb(package(tmp_path, text), [RUNGS["01"]])
    assert "A function called itself without end" in verdict.first_failure.sentence
    assert "pass" in {result.status for result in verdict.results}


def test_a_folder_of_the_ladder_is_made_checked_and_remembered(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "my-jax"
    assert main(["start", "--from-scratch", str(folder)]) == 0
    monkeypatch.chdir(folder)
    assert main(["check"]) == 1
    assert main(["status"]) == 0
    said = capsys.readouterr().out
    assert f"to do  01 One door: 0 of {len(Climber().checks([RUNGS['01']]))} programs" in said
    assert "fail" not in said
    (folder / "myjax.py").write_text("import jax\n")
    assert main(["check", "1"]) == 1
    assert "your package imports jax" in capsys.readouterr().out
    (folder / "xla.py").write_text("mine = True\n")
    assert main(["hint", "7"]) == main(["hint", "07"]) == main(["status"]) == 0
    out = capsys.readouterr().out
    for said in ("hint 2 of 3", "hints read: 2", "xla.py in this folder is not the one"):
        assert said in out
    assert main(["hint", "7", "--step", "1"]) == main(["hint", "7"]) == 0
    out = capsys.readouterr().out
    for said in ("hint 1 of 3", "hint 3 of 3", "Those were all the hints"):
        assert said in out
    assert main(["hint", "7", "--step", "4"]) == 2
    assert "01 to 07" in (folder / "README.md").read_text()
    (folder / "README.md").write_text("mine")
    assert main(["start", "--from-scratch", str(folder)]) == 0
    assert (folder / "README.md").read_text() == "mine"
    (folder / "xla.py").write_text("mine = True\n")
    assert main(["export", "mine"]) == 2
    assert not (folder / "mine").exists()
    assert main(["reset", "xla"]) == 0
    assert "compiled = executed = 0" in (folder / "xla.py").read_text()
    assert main(["check", "77"]) == 2
    (folder / "myjax.py").rename(folder / "mine.py")
    (folder / "ours").mkdir()
    (folder / "ours" / "__init__.py").touch()
    assert main(["check"]) == 1
    assert "There is mine.py, ours/: was it renamed?" in capsys.readouterr().err


def test_of_an_error_that_should_have_come_the_first_line_is_shown_and_no_place_of_ours(tmp_path, kept):
    [verdict] = Climber(kept).climb(package(tmp_path, prefix(SOLUTION, "03")), [RUNGS["04"]])
    [said] = [r.difference.expected for r in verdict.results if r.check.name == "04_branch"]
    assert said.startswith("TracerBoolConversionError: Attempted boolean conversion of traced array")
    assert "\n" not in said


def test_a_slip_below_is_told_once_with_the_number_of_rungs_that_fell_with_it():
    assert told_of(["Rung 01 fell."]) == "Rung 01 fell."
    assert told_of(["Rung 01 fell.", "Rung 02 fell."]) == "Rung 01 fell. 1 rung above fell with it."
    assert told_of(["Rung 01 fell.", "Rung 02 fell.", "Rung 07 fell."]) == "Rung 01 fell. 2 rungs above fell with it."


def test_programs_after_one_that_hangs_are_said_not_to_have_run(tmp_path, monkeypatch, capsys):
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    pathlib.Path("myjax.py").write_text(
        "while_is = True\n\n\ndef __getattr__(name):\n    while while_is:\n        pass\n"
    )
    monkeypatch.setattr("jitkit.kata.verbs.on_the_ladder.Climber", lambda kept: Climber(kept, seconds=1.5))
    assert main(["check", "1"]) == 1
    out = capsys.readouterr().out
    assert out.count("too long:") == 1
    assert out.count("not run:") == len(Climber().checks([RUNGS["01"]])) - 1


def test_a_package_that_is_like_a_wrong_version_is_asked_its_question_and_shown_the_program(
    tmp_path, monkeypatch, capsys
):
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    for label in (
        "the sine of an integer is an integer",
        "the second operand comes first",
    ):  # both versions fail the same program first
        [version] = [v for v in wrong_versions(RUNGS["01"]) if v.label == label]
        pathlib.Path("myjax.py").write_text(version.applied(SOLUTION, RUNGS["01"]))
        capsys.readouterr()
        assert main(["check", "1"]) == 1
        said = " ".join(capsys.readouterr().out.split())
        assert said.count("Ask yourself:") == 1
        assert version.question in said
        assert "the program, ladder/01_one_door_programs.py:" in said
        assert "def integers(jk, rng): n = rng.integers(1, 5, 4)" in said
    pathlib.Path("myjax.py").write_text("numpy = None\n")
    assert main(["check", "1"]) == 1
    assert "Ask yourself" not in capsys.readouterr().out  # nothing is written yet, so no misconception is named


def test_recorded_answers_are_wrong_for_the_numbers_of_another_seed(tmp_path, kept):
    """A package that has written down, from right answers, what `sin` returns for each argument of the programs."""
    book = tmp_path / "book"
    record = f"""

import pathlib
right, book = numpy.sin, pathlib.Path({str(book)!r})
def recording(x):
    if np.size(x):
        book.open("a").write(np.asarray(x).tobytes().hex() + " " + np.asarray(right(x)).tobytes().hex() + "\\n")
    return right(x)
numpy.sin = recording
"""
    recall = f"""

answers = dict(line.split() for line in open({str(book)!r}))
right = numpy.sin
def recall(x):
    shape, found = np.shape(x), answers.get(np.asarray(x).tobytes().hex())
    if np.asarray(x).dtype.kind not in "if" or np.asarray(x).dtype.itemsize < 4 or not np.size(x):
        return right(x)
    return Array(np.frombuffer(bytes.fromhex(found), np.float32).reshape(shape) if found else np.zeros(shape, np.float32))
numpy.sin = recall
"""
    text, climber = prefix(SOLUTION, "01"), Climber(kept)
    assert climber.climb(package(tmp_path, text + record), [RUNGS["01"]])[0].passed
    cheat = package(tmp_path, text + recall)
    assert climber.climb(cheat, [RUNGS["01"]])[0].first_failure is None
    [verdict] = climber.climb(cheat, [RUNGS["01"]], seed=5)
    assert "numbers differ" in verdict.first_failure.sentence


@pytest.mark.parametrize("number", RUNGS)
def test_what_a_learner_is_asked_after_a_mistake_is_a_question(number):
    assert [w.question for w in wrong_versions(RUNGS[number]) if not w.question.endswith("?")] == []


@pytest.mark.tail
@pytest.mark.parametrize("number", RUNGS)
def test_each_prefix_passes_each_wrong_version_fails_and_so_does_the_prefix_below(number, tmp_path, kept):
    prover, rung = Prover(tmp_path, kept), RUNGS[number]
    found = [*prover.solution(rung), *prover.empty(rung), *prover.below(rung), *prover.new_seed(rung)]
    for version in wrong_versions(rung):
        found += prover.wrong(rung, version)
    assert found == []


@pytest.mark.tail
@pytest.mark.parametrize("design", ["otherjax", "stackjax"])
def test_a_package_of_another_design_passes_all_rungs(design, kept):
    """All rungs, and what is hidden of them: with many files, the trace found among the operands, a class for each primitive and a tape
    for derivatives; with a stack of traces."""
    where = Package(pathlib.Path(__file__).parent / "other_jax", design)
    rungs = [rung for rung in RUNGS.values() if not rung.is_behind]
    verdicts = Climber(kept, hidden_programs()).climb(where, rungs)
    assert [(v.rung.number, v.first_failure) for v in verdicts if not v.passed] == []


@pytest.mark.tail
def test_the_whole_solution_passes_all_rungs_in_one_process(tmp_path, kept):
    verdicts = Climber(kept).climb(package(tmp_path, SOLUTION), list(RUNGS.values()))
    assert [v.rung.number for v in verdicts if not v.passed] == []


def test_answers_that_were_written_down_for_the_first_numbers_do_not_pass(tmp_path, monkeypatch, capsys):
    first = np.random.default_rng([0, zlib.crc32(b"01_unary")]).uniform(0.5, 2.0, 4).astype(np.float32)
    remembered = f"""
_cos = numpy.cos


def remembered(x):
    if getattr(x, "dtype", None) == np.float32 and getattr(x, "shape", None) == (4,):
        return np.cos(np.frombuffer({first.tobytes()!r}, np.float32))
    return _cos(x)


numpy.cos = remembered
"""
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    pathlib.Path("myjax.py").write_text(prefix(SOLUTION, "01") + remembered)
    capsys.readouterr()
    assert main(["check", "1"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "Rung 01 One door gives right results for the first numbers, which are always the same, but not for others"
        in said
    )
    assert "✗ fail 01 One door: " in said
    pathlib.Path("myjax.py").write_text(prefix(SOLUTION, "01"))
    assert main(["check", "1"]) == 0
    assert "gives right results for the first numbers" not in capsys.readouterr().out
    monkeypatch.setattr("jitkit.kata.verbs.on_the_ladder.random", None)  # a rung that passed is not run twice
    assert main(["check", "1"]) == 0


_ASKED = """
import sys, zlib
import numpy as np
from jitkit.kata.engine import climbing
from jitkit.kata.ladder.rungs import all_rungs
sys.modules["climbing"] = climbing
import from_scratch as package

asked = set()


class Table(dict):
    def __getitem__(self, key):
        asked.add((id(self), key))
        return super().__getitem__(key)

    get = lambda self, key, default=None: self[key] if key in self else default


class Names:
    def __init__(self, names, name):
        self.names, self.name = names, name

    def __getattr__(self, key):
        asked.add((self.name, key))
        found = getattr(self.names, key)
        return Names(found, key) if key in SPACES else found


SPACES = ("numpy", "lax", "nn", "tree_util")
TABLES = ("impl", "types", "lowerings", "jvps", "transposes", "batchers")
for name in TABLES:
    setattr(package, name, Table(getattr(package, name)))
for rung in all_rungs()[:18]:
    for program in climbing.load_programs([rung.programs]):
        program.run(Names(package, "package"), np.random.default_rng([0, zlib.crc32(program.name.encode())]))
for name in TABLES:
    table = getattr(package, name)
    print(*[f"{name}[{p.name}]" for p in table if (id(table), p) not in asked])
for name in SPACES:
    print(*[f"{name}.{key}" for key in vars(getattr(package, name)) if (name, key) not in asked])
"""


@pytest.mark.tail
def test_every_entry_of_every_table_and_every_name_is_asked_for_by_a_program(tmp_path):
    """Who leaves one out is told. (What `~`, `&` and `|` are of does not move, so nobody can ask for their derivatives.)"""
    (tmp_path / "from_scratch.py").write_text(FIRST, encoding="utf-8")
    (tmp_path / "xla.py").write_bytes(machine_file().read_bytes())
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", _ASKED], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == {"jvps[and]", "jvps[or]", "jvps[not]"}


def test_a_question_is_asked_where_a_package_fails_as_that_mistake_does_and_nowhere_else(tmp_path, kept):
    [known] = [version for version in wrong_versions(RUNGS["04"]) if version.label == "only what is traced is weak"]
    [verdict] = Climber(kept).climb(package(tmp_path, known.applied(SOLUTION, RUNGS["04"])), [RUNGS["04"]])
    assert beliefs(verdict) == [known]
    other = prefix(SOLUTION, "04").replace("dtype != BOOL and all(a.weak_type", "dtype == I32 and all(a.weak_type")
    [verdict] = Climber(kept).climb(package(tmp_path, other), [RUNGS["04"]])
    assert not verdict.passed
    assert beliefs(verdict) == []
