"""The rungs in which learners write their own compiler: the given `cc.py`, the reference's solution, and how `jitkit`
judges a package.
"""

import ast
import json
import pathlib
import subprocess
import sys
import types

import numpy as np
import pytest
from tails import keeping

import jitkit
from grading.authoring.verify_ladder import Prover
from grading.grader import rungs as graded
from jitkit.bench import from_scratch as bench_of_packages
from jitkit.kata.command.cli import main
from jitkit.kata.engine import behind as said
from jitkit.kata.engine import climbing, executables
from jitkit.kata.ladder.abilities import code_lines
from jitkit.kata.ladder.climber import Climber, Package
from jitkit.kata.ladder.place import Place
from jitkit.kata.ladder.rungs import (
    OPENS_BEHIND,
    all_rungs,
    behind_file,
    given_files,
    prefix,
    section,
    solution_file,
    solution_text,
)

BEHIND = [rung for rung in all_rungs() if rung.is_behind]
TEXT = behind_file().read_text(encoding="utf-8")


@pytest.fixture
def cc():
    """Yield the given `cc.py`, loaded anew."""
    known = sys.modules.pop("cc", None)
    loader = climbing.CompilerLoader("cc", str(given_files()[1]))
    spec = climbing.importlib.util.spec_from_file_location("cc", loader.path, loader=loader)
    module = climbing.importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    if known is not None:
        sys.modules["cc"] = known


# --- the machine ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("void run(float *x) { for (int i = 0; i < 3; i++) x[i] = 1; }", 1),
        ("for (;;) for (;;) { a; b; } for (;;) x;", 2),
        ("while (1) { for (;;) { a; } b; } x; for (;;) {}", 2),
        ("// for\n#define F for\n/* while */ f() { if (x) { for (i = 0; i < g(1); i++) { } } }", 1),
        ("{ float a = 0;\nfor (;;)\n#pragma omp simd reduction(+:a)\nfor (;;)\n{ a += b; }\nx = a; }", 1),
        ("before = 1; for_each(x); forward;", 0),
    ],
)
def test_loops_that_stand_in_no_other_are_counted(cc, text, loops):
    assert cc.outermost_loops(text) == loops


def test_a_text_becomes_a_function_of_arrays_and_what_is_asked_is_counted(cc):
    run = cc.compile("void run(float *x, float *y) { for (int i = 0; i < 12; i++) y[i] = x[i] * 2; }")
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = cc.alloc((4, 3), "float32")
    run(cc.put(x.T), y)
    np.testing.assert_array_equal(y, x.T * 2)
    assert (cc.compiled, cc.loops, cc.executed, cc.alive, cc.most) == (1, 1, 1, 48, 96)
    assert y.ctypes.data % 64 == 0
    del y
    assert (cc.alive, cc.most) == (0, 96)


def test_what_is_no_memory_of_the_machine_and_what_is_no_c_are_refused_with_a_sentence(cc):
    run = cc.compile("void run(float *x) { x[0] = 1; }")
    with pytest.raises(TypeError, match=r"cc.put\(x\) and cc.alloc"):
        run(np.zeros(3, np.float32))
    with pytest.raises(TypeError, match="is not memory of this machine"):
        run(cc.put(np.zeros((3, 3), np.float32)).T)
    with pytest.raises(ValueError, match=r"(?s)objection to the text:.*error.*undeclared"):
        cc.compile("void run(float *x) { x[0] = y; }")


def test_without_a_compiler_it_is_said_what_to_install(cc, monkeypatch):
    monkeypatch.setattr(cc.shutil, "which", lambda name: None)
    monkeypatch.setattr(cc.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"no C compiler here.*pip install ziglang"):
        cc.compile("void run() {}")


def test_machine_code_is_kept_and_made_again_for_another_text(tmp_path):
    made = []
    cc = types.SimpleNamespace(
        translate=lambda text: made.append(text) or text.encode(), compiler=lambda: [sys.executable], FLAGS=["-O3"]
    )
    translate = executables.remembering(tmp_path, cc)
    assert [translate(text) for text in ("a", "b", "a")] == [b"a", b"b", b"a"]
    assert made == ["a", "b"]
    cc.FLAGS = ["-O1"]  # as a package may do
    assert translate("a") == b"a"
    assert made == ["a", "b", "a"]


# --- what programs say ------------------------------------------------------------------------------------------


_WITHIN = {
    "bytes that are static in the C": said.MOST_STATIC, "bytes of C's stack": said.MOST_STACK, "programs executed by XLA": 0,
    "a program of cc was run": True, "times that something was written behind an array's end": 0,
}  # fmt: skip


def test_the_reference_answers_with_the_bounds(monkeypatch):
    monkeypatch.delitem(sys.modules, "xla", raising=False)
    monkeypatch.delitem(sys.modules, "cc", raising=False)
    found = said.behind(
        lambda x: x + 1, 2, compiled=0, loops=1, memory=8, kept=4, evaluations={"sin": 1}, without=["exp"]
    )
    assert found == _WITHIN | {
        "result": 3, "texts of C that were compiled": 0, "loops that stand in no other": 1, "bytes alive at one time": 8,
        "bytes alive after the call": 4, "evaluations of sin": 1, "functions of C's library": [],
    }  # fmt: skip
    assert said.refused(lambda: 1, word="sort") == "a NotImplementedError that says sort"


def test_a_package_is_told_what_is_beyond_a_bound_and_nothing_of_what_is_within(cc, monkeypatch):
    monkeypatch.setitem(sys.modules, "cc", cc)
    monkeypatch.setitem(sys.modules, "xla", type(sys)("xla"))

    kept = []

    def two_loops():
        text = "#include <math.h>\nvoid run(float *x) { for (int i = 0; i < 3; i++) x[i] = sinf(2); for (;x[0] < 1;) x[0] += sin(2); }"
        kept.append(cc.put(np.ones(100, np.float32)))
        cc.compile(text)(kept[0])

    said.watch(cc)
    found = said.behind(
        two_loops, compiled=2, loops=1, memory=100, kept=100, evaluations={"sin": 1, "exp": 2}, without=["cos"]
    )
    assert found == _WITHIN | {
        "result": None, "texts of C that were compiled": 2, "loops that stand in no other": 2, "bytes alive at one time": 400,
        "bytes alive after the call": 400, "evaluations of sin": 4, "evaluations of exp": 2, "functions of C's library": [],
    }  # fmt: skip
    assert said.behind(lambda: 1)["a program of cc was run"] is False
    assert said.refused(lambda: 1, word="sort") == "it was not refused"

    def no():
        raise NotImplementedError("no")

    assert said.refused(no, word="x") == "NotImplementedError: no"
    assert said.refused(no, word="x", instead="no") == "a NotImplementedError that says x"


def _ran(cc, text, *arrays, **asked):
    """Compile a C text, run it once, and return the counts of `behind`."""
    said.watch(cc)
    return said.behind(lambda: cc.compile(text)(*map(cc.put, arrays)), **asked)


_TEMPORARY = (
    "void run(float *x) {{ {} float t[20000]; for (int i = 0; i < 20000; i++) t[(i * 7) % 20000] = x[i % 9]; {} }}"
)


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: libraries are ELF")
def test_memory_that_cc_did_not_give_is_found_wherever_it_lies(cc, monkeypatch):
    monkeypatch.setitem(sys.modules, "cc", cc)
    monkeypatch.setitem(sys.modules, "xla", type(sys)("xla"))
    x = np.ones(9, np.float32)
    read = "for (int i = 0; i < 20000; i++) x[i % 9] += t[(i * i) % 20000];"
    on_stack = _ran(cc, _TEMPORARY.format("", read), x)
    assert on_stack["bytes of C's stack"] > 80000
    assert on_stack["bytes that are static in the C"] == said.MOST_STATIC
    static = _ran(cc, _TEMPORARY.format("static", read), x)
    assert static["bytes that are static in the C"] > 80000
    assert static["bytes of C's stack"] == said.MOST_STACK
    assert _ran(cc, "void run(float *x) { x[0] = x[1]; }", x).items() >= _WITHIN.items()
    run = cc.compile("void run(float *x) { x[0] = 1; }")
    with pytest.raises(TypeError, match=r"cc.put\(x\) and cc.alloc"):
        run(x.view(cc.Buffer))
    run(cc.put(np.ones((3, 3), np.float32))[1:])


def test_what_is_written_behind_an_arrays_end_is_found(cc, monkeypatch):
    monkeypatch.setitem(sys.modules, "cc", cc)
    monkeypatch.setitem(sys.modules, "xla", type(sys)("xla"))
    for place, times in (2, 0), (3, 1), (5, 1):
        found = _ran(cc, f"void run(float *x) {{ x[{place}] = 1; }}", np.ones(3, np.float32))
        assert found["times that something was written behind an array's end"] == times


@pytest.mark.parametrize(("factor", "bits"), [(1.0, "the same to the bit"), (1.0000001, "not the same to the bit")])
def test_an_optimised_program_has_the_bits_of_the_one_that_went_in(monkeypatch, factor, bits):
    monkeypatch.setitem(sys.modules, "xla", type(sys)("xla"))
    x, core = np.float32([0.1, 0.7, 3.0]), types.SimpleNamespace(eval_jaxpr=jitkit.core.eval_jaxpr)
    core.optimise = lambda closed: jitkit.make_jaxpr(lambda x: x * factor)(x)
    package = types.SimpleNamespace(make_jaxpr=jitkit.make_jaxpr, numpy=jitkit.numpy, core=core)
    assert said.optimised(package, lambda x: x * 1.0, x, left=[])["its results"] == bits


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: libraries are ELF")
@pytest.mark.parametrize(
    "call", ["expf(x[i])", "__builtin_expf(x[i])", "exp(x[i])", "CAT(ex, pf)(x[i])", "other(x[i])"]
)
def test_a_call_of_the_library_is_found_by_whatever_name(cc, monkeypatch, call):
    monkeypatch.setitem(sys.modules, "cc", cc)
    monkeypatch.setitem(sys.modules, "xla", type(sys)("xla"))
    text = "#include <math.h>\n#define CAT(a, b) a##b\nstatic float (*const other)(float) = expf;\n"
    text += f"void run(float *x) {{ for (int i = 0; i < 9; i++) x[i] = {call}; }}"
    found = _ran(cc, text, np.ones(9, np.float32), evaluations={"exp": 0}, without=["exp", "tanh"])
    assert found["functions of C's library"] in (["exp"], ["expf"])
    assert found["evaluations of exp"] == (0 if "other" in call else 9)


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: libraries are ELF")
def test_a_function_of_the_library_whose_name_ends_as_those_of_other_types_do_is_found(cc, monkeypatch):
    monkeypatch.setitem(sys.modules, "cc", cc)
    monkeypatch.setitem(sys.modules, "xla", type(sys)("xla"))
    text = "#include <math.h>\nvoid run(double *x) { x[0] = erf(x[0]) + ceilf(x[1] * 1e30); }"
    assert _ran(cc, text, np.ones(9), without=["erf"])["functions of C's library"] == ["erf"]


def test_a_text_with_an_exponential_of_its_own_runs_as_it_is(cc, monkeypatch):
    monkeypatch.setitem(sys.modules, "cc", cc)
    monkeypatch.setitem(sys.modules, "xla", type(sys)("xla"))
    text = "static float expf(float x) { return x + 1; }\nvoid run(float *x) { x[0] = expf(x[0]); }"
    assert _ran(cc, text, np.ones(9, np.float32), without=["exp"])["functions of C's library"] == []
    with pytest.raises(ValueError, match=r"program.c:2:.*"):
        _ran(cc, "void run(float *x) {\n x[0] = y; }", np.ones(9, np.float32))


# --- the reference ----------------------------------------------------------------------------------------------


def test_the_reference_is_short_and_needs_nothing_but_numpy_and_what_is_given():
    assert code_lines(TEXT) <= 350
    assert max(map(len, TEXT.splitlines())) <= 128
    tree = ast.parse(TEXT)
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names - set(sys.stdlib_module_names) == {"numpy", "cc", "from_scratch"}


_CELLS = """
import contextlib, io, re
text = open("behind_the_door.py", encoding="utf-8").read()
for block in re.finditer("(?:^# >>> .*\\n(?:^# =>.*\\n)*)+", text, re.MULTILINE):
    names = {"__name__": "behind_the_door"}
    exec(compile(text[: block.start()], "behind_the_door.py", "exec"), names)
    exec("from from_scratch import make_jaxpr", names)
    names["cc"].loops = 0
    for cell, printed in re.findall("^# >>> (.*)\\n((?:^# =>.*\\n)*)", block[0], re.MULTILINE):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(cell, "cell", "single"), names)
        expected = "".join(line[4:].removeprefix(" ") for line in printed.splitlines(keepends=True))
        print(cell if out.getvalue() != expected else "as it says")
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder with both files of the solution, and the given files."""
    for path in (solution_file(), behind_file(), *given_files()):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_the_second_file_is_a_module_beside_the_first_and_its_cells_print_what_they_say(folder):
    done = subprocess.run([sys.executable, "-c", _CELLS], cwd=folder, capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()) == {"as it says"}
    assert len(done.stdout.splitlines()) >= len(BEHIND)


_RANDOM = """
import sys
import numpy as np
import behind_the_door as J
from from_scratch import flatten, lax, numpy as n

ONE = [n.sin, n.tanh, n.exp, n.abs, n.floor, n.negative, lambda x: x * x, lambda x: n.where(x > 0, x, -x / 2)]
ONE += [lambda x: x.astype(np.int32) * 1.0]
TWO = [n.add, n.subtract, n.multiply, n.maximum, n.minimum, lambda x, y: x / (n.abs(y) + 1.0)]
FOLD = [n.sum, n.max, n.mean]
MOVE = [lambda x: x.T, lambda x: x.reshape(x.shape[::-1]), lambda x: x.reshape(-1)[:, None] if x.shape == (3,) else x.T * 2]
MOVE += [lambda x: n.max(x, 0, keepdims=True) if x.ndim else x]
TURN = [n.sin, lambda x: x / (1 + n.sum(n.abs(x))), lambda x: x.T.reshape(x.shape) - 0.5]
TURN.append(lambda x: x @ x.T if x.shape == (3, 3) else -x)


def decided_or_repeated(rng, x, y):
    f, g, turns = TURN[rng.integers(4)], TURN[rng.integers(4)], int(rng.integers(4))
    if rng.integers(2):
        return lax.cond(n.sum(x) > n.max(y), f, lambda x: g(x) + n.max(y), x)
    upper = turns if rng.integers(2) else n.sum(y).astype(np.int32)
    return lax.fori_loop(0, upper, lambda i, x: g(f(n.minimum(n.abs(x), 3.0))) + i, x)

for seed in map(int, sys.argv[1:]):
    def f(*xs):
        rng, values = np.random.default_rng(seed), list(xs)
        for _ in range(12):
            x, y = (values[rng.integers(len(values))] for _ in "ab")
            kind = rng.integers(7)
            if kind == 0:
                new = ONE[rng.integers(len(ONE))](x)
            elif kind == 3 and x.ndim:
                new = FOLD[rng.integers(len(FOLD))](x, int(rng.integers(x.ndim)) if rng.integers(2) else None)
            elif kind == 4:
                new = MOVE[rng.integers(len(MOVE))](x)
            elif kind == 5 and x.ndim and y.ndim and x.shape[-1] == y.shape[max(y.ndim - 2, 0)]:
                new = x @ y
            elif kind == 6 and x.dtype == np.float32:
                new = decided_or_repeated(rng, x + 0.0, y)
            else:
                new = TWO[rng.integers(len(TWO))](x, y)
            values.append(n.minimum(n.maximum(new, -3.0), 3.0))
        return values[-3:]

    rng = np.random.default_rng([seed, 1])
    xs = [rng.standard_normal(shape).astype(np.float32) for shape in ((3, 3), (3, 1), (3,), ())]
    for a, b in zip(J.jit(f, backend="own")(*xs), J.jit(f)(*xs), strict=True):
        assert (a.aval, a.weak_type) == (b.aval, b.weak_type), seed
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-4, err_msg=str(seed))
print("all agree")
"""


@pytest.mark.parametrize("first", keeping([0, 100, 200], 0))
def test_random_programs_by_both_compilers_agree(folder, first):
    seeds = [str(first + k) for k in range(12 if first == 0 else 100)]
    done = subprocess.run(
        [sys.executable, "-c", _RANDOM, *seeds], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.stdout == "all agree\n", done.stderr


_RACE = """
import importlib, importlib.util, json, sys
spec = importlib.util.spec_from_file_location("bench", sys.argv[1])
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)
bench.RACE = {name: (f, (12, 12)[: len(shape)]) for name, (f, shape) in bench.RACE.items()}
print(json.dumps(bench.race(importlib.import_module(sys.argv[2]))))
"""


def test_the_race_has_six_programs_and_a_package_without_a_compiler_does_not_run(folder):
    script = pathlib.Path(bench_of_packages.__file__)
    found = []
    for name in ("behind_the_door", "from_scratch"):
        command = [sys.executable, "-c", _RACE, str(script), name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    race, nothing = found
    assert {name: row["loops"] for name, row in race.items()} == {
        "ten operations": 1, "gelu": 1, "softmax": 3, "layer norm": 3, "two layers": 4, "twenty turns": 2,
    }  # fmt: skip
    assert race["ten operations"]["bytes"] == 4 * 144
    assert race["softmax"]["bytes"] == 4 * 144 + (4 * 144 + 64 + 64)  # stored are exponentials, maxima and sums
    assert all(row[who] > 0 for row in race.values() for who in ("own", "xla", "numpy"))
    assert nothing == {}


# --- the climb --------------------------------------------------------------------------------------------------


def early(tmp_path, number):
    """Return the solution up to rung 11, and its part behind the door up to another rung."""
    return Prover(tmp_path, None).early(next(rung for rung in BEHIND if rung.number == number))


def test_from_rung_11_on_the_door_is_open_and_the_others_are_not_asked_for(tmp_path, monkeypatch, capsys):
    assert main(["start", "--from-scratch", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    assert pathlib.Path("cc.py").read_bytes() == given_files()[1].read_bytes()
    pathlib.Path("myjax.py").write_text(early(tmp_path, "20"), encoding="utf-8")
    with monkeypatch.context() as once:  # three rungs pass for the first time, and run again with the same numbers
        once.setattr(Place, "passed", lambda self, rung: rung.number < "11")
        once.setattr("jitkit.kata.verbs.on_the_ladder.random.randrange", lambda start, stop: 0)
        assert main(["check", "20"]) == 0
    out = capsys.readouterr().out
    assert [number for number in (r.number for r in all_rungs()) if f"pass  {number} " in out] == [
        *[f"{n:02}" for n in range(1, 12)], "19", "20",
    ]  # fmt: skip
    kept = list(pathlib.Path(".jitkit/executables").glob("c-*"))
    assert len(kept) > 10
    assert main(["check", "20"]) == 0
    assert {*pathlib.Path(".jitkit/executables").glob("c-*")} == {*kept}  # the second time nothing new was compiled
    capsys.readouterr()
    assert main(["status"]) == 0
    assert "You are at 12 Choose" in " ".join(capsys.readouterr().out.split())
    assert main(["show", "21", "--solution", "--give-up"]) == 0
    assert capsys.readouterr().out.strip() == section(solution_text(), "21").strip()
    pathlib.Path("cc.py").write_text("mine = True\n")
    assert main(["status"]) == 0
    assert "cc.py in this folder is not the one that was given" in " ".join(capsys.readouterr().out.split())
    assert main(["reset", "cc"]) == 0
    assert pathlib.Path("cc.py").read_bytes() == given_files()[1].read_bytes()
    assert main(["reset", "myjax"]) == 2


@pytest.mark.parametrize(("rung", "needed"), [("20", "11"), ("22", "14")])
def test_a_climb_can_begin_behind_the_door_with_the_solution_of_what_is_below(
    tmp_path, monkeypatch, capsys, rung, needed
):
    assert main(["start", "--from-scratch", "--at", rung, str(tmp_path / "mine")]) == 0
    assert f"the solution of the rungs below {rung}" in capsys.readouterr().out
    text = (tmp_path / "mine" / "myjax.py").read_text(encoding="utf-8")
    assert text == early(tmp_path, f"{int(rung) - 1}").replace(
        prefix(solution_text(), "11"), prefix(solution_text(), needed)
    )
    monkeypatch.chdir(tmp_path / "mine")
    assert main(["start", "--from-scratch", "--at", "19", "."]) == 1
    assert "has a package already" in " ".join(capsys.readouterr().err.split())


def test_a_climb_can_begin_at_any_rung(tmp_path, capsys):
    assert main(["start", "--from-scratch", "--at", "7", str(tmp_path / "mine")]) == 0
    assert (tmp_path / "mine" / "myjax.py").read_text(encoding="utf-8") == prefix(solution_text(), "06")
    assert "07_let_xla.md" in capsys.readouterr().out
    assert main(["start", "--from-scratch", "--at", "99", str(tmp_path / "other")]) == 2
    assert main(["start", "--at", "7", str(tmp_path / "other")]) == 2
    assert "--at is about the ladder" in capsys.readouterr().err


def test_a_cc_of_the_learners_is_not_the_one_that_is_used(tmp_path):
    (tmp_path / "myjax.py").write_text(early(tmp_path, "19"), encoding="utf-8")
    (tmp_path / "cc.py").write_text("raise ValueError('mine')\n", encoding="utf-8")
    [verdict] = Climber(tmp_path / "kept").climb(Package(tmp_path, "myjax"), BEHIND[:1])
    assert verdict.passed


def test_below_the_door_a_package_is_told_what_is_missing(tmp_path):
    (tmp_path / "myjax.py").write_text(prefix(solution_text(), OPENS_BEHIND), encoding="utf-8")
    [verdict] = Climber(tmp_path / "kept").climb(Package(tmp_path, "myjax"), BEHIND[:1])
    assert "backend" in verdict.first_failure.difference.actual


def test_the_grader_has_the_eighteen_rungs_without_a_c_compiler():
    assert [exercise.id for exercise in graded.ladder().exercises] == [f"{n:02}" for n in range(1, 19)]
