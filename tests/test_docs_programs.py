"""What stands between fences in README, `docs/` and the labs' texts holds: sessions show what stands in them, programs run, commands
are taken by the program that they call, configuration is read by what reads it, and what is printed is printed.

What is none of these is listed in `SHOWN_ONLY`, with the reason.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import pathlib
import re
import shlex
import textwrap
import traceback
from collections.abc import Mapping
from typing import NamedTuple

import jax as real_jax
import numpy as np
import pytest

import jitkit as jax
import jitkit.numpy as jnp
from grading import __main__ as grading_command
from grading.grader.exports import lines_of_formats
from grading.grader.policy import read_policy
from jitkit import core, lax
from jitkit.interpreters.mlir import register_lowering
from jitkit.jaxpr.check import check_jaxpr
from jitkit.jaxpr.language import Var
from jitkit.kata.command import cli
from jitkit.kata.engine import checking, mutants
from jitkit.kata.engine.manifest import all_labs, read_lab
from jitkit.kata.engine.plain import Raised
from jitkit.kata.engine.reference import reference_function
from jitkit.kata.subjects.c_by_hand import text_of
from jitkit.targets.table import TARGETS, TargetError, obstacle

ROOT = pathlib.Path(__file__).parents[1]
ANSWER = ROOT / "docs" / "a_jit_in_one_sitting.md"  # tests/test_from_scratch.py runs it
TEXTS = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path != ANSWER),
    *sorted((ROOT / "labs").glob("*/README.md")),
]
SHOWN_ONLY = {  # the beginning of a block -> why it is not tried
    "children, data = ": "two lines of an interface, for an object that is not given",
    "carry, ys = init": "what `scan` means, for a function that is not given",
    "body(i, carry, ys):": "pseudo code",
    "labs/02_jaxpr/\n": "files, and test_the_files_of_a_lab_are_those_that_are_listed has them",
    "sin   (x, t)": "a picture made of letters",
    "values     b = sin a": "a picture made of letters",
    ".-> u8 -> u16": "a picture made of letters",
    'jit(f, backend="c") beside XLA, in one process': "a table that `make benchmarks` writes",
    "jitkit beside JAX, in one process": "a table that `make benchmarks` writes",
    "2  Trace   ": "lines of the tour, and tests/test_readme.py has them",
    "✓ pass: What is": "a verdict, and tests/test_readme.py has it",
    "for (i64 i0 = 0; i0 < 3; i0++) {          the outer loop": "a nest, of which the comments name the parts",
    "Six programs, op by op": "a table that `make benchmarks` writes",
}


class Block(NamedTuple):
    """What stands between two fences, and where."""

    page: str
    line: int
    language: str
    text: str


def blocks_of(path):
    """Yield the blocks of a text, without directives of the site."""
    text, page = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
    for found in re.finditer(r"^( *)```([^\n]*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL):
        if not found[2].startswith("{"):
            yield Block(page, text.count("\n", 0, found.start()) + 1, found[2], textwrap.dedent(found[3]))


BLOCKS = [block for path in TEXTS for block in blocks_of(path)]
COMMANDS = re.compile(r"(jitkit|make|python -m grading|nbgrader|pip)(?: |$)")


def kind_of(block):
    """Return the kind of a block, which decides the test below that tries it."""
    if block.text.lstrip().startswith(tuple(SHOWN_ONLY)):
        return "shown only"
    if block.text.startswith(">>> "):
        return "session"
    if block.language in ("python", "toml"):
        return block.language
    return "commands" if block.language == "sh" or COMMANDS.match(block.text) else "printed"


def of_kind(kind):
    return [block for block in BLOCKS if kind_of(block) == kind]


def by_page(blocks):
    """Return a decorator that gives a test one case for each page: its blocks, in order."""
    pages = dict.fromkeys(block.page for block in blocks)
    return pytest.mark.parametrize("blocks", [[b for b in blocks if b.page == page] for page in pages], ids=pages)


def one_by_one(blocks):
    return pytest.mark.parametrize("block", blocks, ids=[f"{block.page}:{block.line}" for block in blocks])


# --- sessions: what Python's prompt shows -----------------------------------------------------------------------------


def shown_for(statement, names):
    """Return what the prompt shows for a statement: what it prints, its value, or the class and the message of its
    error.
    """
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(statement, "<stdin>", "single"), names)
        except Exception as error:
            printed.write("".join(traceback.format_exception_only(error)).removeprefix("jitkit.errors."))
    return printed.getvalue()


def shows(example, got):
    """Return whether the prompt shows what the text says. Any time equals any other, `...` stands for any text, and an
    error may be given by its first line only.
    """
    want, got = (re.sub(r"\d+(\.\d+)? ms", "# ms", text.rstrip()) for text in (example.want, got))
    if re.match(r"\w+Error: ", want) and "\n" not in want:
        got = got.partition("\n")[0]
    if "target=" in example.source and got.startswith("jitkit.targets.table.TargetError: The compiler for"):
        return True  # make compilers
    if "= scan[" in want and real_jax.__version_info__ >= (0, 11):
        return re.findall(r"= \w+ .*", want) == re.findall(r"= \w+ .*", got)  # with other parameters, as the text says
    if "# it ends with:" in example.source:
        want = f"...{want}"
    return doctest.OutputChecker().check_output(f"{want}\n", f"{got}\n", doctest.ELLIPSIS)


@by_page(of_kind("session"))
def test_a_session_shows_what_stands_beside_it(blocks):
    names = {"jnp": jnp, "relu": jax.nn.relu} if "00_hello" in blocks[0].page else {}
    differ = []
    for example in (e for block in blocks for e in doctest.DocTestParser().get_examples(block.text)):
        got = shown_for(example.source, names)
        if not shows(example, got):
            differ.append((example.source, example.want, got))
    assert differ == []


# --- programs ---------------------------------------------------------------------------------------------------------

RAISES = re.compile(r"# raises (\w+)\n")


def run_program(block, names):
    """Run a block. If it says `# raises SomeError`, check that it raises that error."""
    raises = RAISES.match(block.text)
    code = compile(block.text, f"{block.page}:{block.line}", "exec")
    if not raises:
        exec(code, names)
        return
    with pytest.raises(Exception) as caught:
        exec(code, names)
    assert type(caught.value).__name__ == raises[1], (block.page, block.line)


def names_of(page):
    """Return the names that a page's programs use and do not define."""
    if page == "docs/explorer.md":
        return {
            "jitkit": jax, "jax": real_jax, "loss": lambda x, w: jnp.sum(x * w), "f": lambda x: x * 2.0,
            "x": np.ones(3, np.float32), "w": np.ones(3, np.float32),
        }  # fmt: skip
    if "04_lowering" in page:
        return {"register_lowering": register_lowering, "sin_p": core.Primitive("sin_of_a_text")}
    if page == "docs/labs.md":  # a file begins with this import, which the later block leaves out
        return {"also_right": mutants.also_right}
    return {"jax": jax, "jnp": jnp}


@by_page([block for block in of_kind("python") if block.page != "docs/targets.md"])
def test_the_programs_of_a_text_run(blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = names_of(blocks[0].page)
    for block in blocks:
        run_program(block, names)


@pytest.mark.parametrize("target", [name for name, target in TARGETS.items() if not obstacle(target)])
def test_what_is_read_from_a_program_for_a_chip_is_there(target):
    [block] = [block for block in BLOCKS if block.page == "docs/targets.md" and block.language == "python"]
    kind = {"cpu": "CPUs", "gpu": "GPUs", "tpu": "TPUs"}[target.partition(":")[0]]
    lines = [line for line in block.text.splitlines() if ", for " not in line or f", for {kind}" in line]
    text = "\n".join(lines).replace('"tpu:v5e"', f'"{target}"')
    if target == "cpu":
        with pytest.raises(TargetError, match="has shown no LLVM IR for this program"):
            exec(text, {})
        text = text.replace("1024", "16")
    names = {}
    exec(text, names)
    program = names["program"]
    for line in lines:
        read, _, comment = line.partition("#")
        if said := re.match(r" (list|dict|Mapping)\[", comment):
            assert isinstance(eval(read, names), {"list": list, "dict": dict, "Mapping": Mapping}[said[1]])
    assert {"flops", "bytes accessed"} <= {*program.cost_analysis()}
    assert {"arguments", "temporaries"} <= {*program.memory_analysis()}
    assert program.cost_analysis().source
    assert program.memory_analysis().source


# --- what authors of labs and instructors write -----------------------------------------------------------------------


def test_the_files_that_a_lab_is_written_in_are_read(tmp_path):
    """Those of `docs/labs.md`, by what reads them. What is done with the mutants, `python -m grading new` has a test of."""
    blocks = [block for block in BLOCKS if block.page == "docs/labs.md"]
    [manifest] = [block for block in blocks if block.language == "toml"]
    folder = tmp_path / "02_jaxpr"
    folder.mkdir()
    (folder / "lab.toml").write_text(manifest.text)
    lab = read_lab(folder)
    written = read_lab(ROOT / "labs" / "02_jaxpr")
    assert (lab.title, lab.stage, lab.summary, lab.minutes) == (
        written.title,
        written.stage,
        written.summary,
        written.minutes,
    )
    beginning = lab.experiment.answer.removesuffix(" [...]")
    assert lab.experiment == written.experiment._replace(answer=lab.experiment.answer)
    assert written.experiment.answer.startswith(beginning)
    exercise = {exercise.id: exercise for exercise in written.exercises}["02.4"]
    assert [(e.id, e.title, e.targets, e.jax) for e in lab.exercises] == [
        ("02.4", exercise.title, exercise.targets, exercise.jax)
    ]

    checks = [check for b in blocks if "@check(" in b.text for check in checking.load_checks(b.text, "checks.py")]
    assert [check.exercise for check in checks] == ["02.4", "12.7"]
    assert checks[0].program(jax, np.random.default_rng(0))[0].shape == (3,)
    made = checks[1].program(jax, np.random.default_rng(0))
    assert checks[1].drawn
    assert len(made) == 6
    assert [ran.text for ran in made if isinstance(ran.value, Raised)] == []
    [target] = exercise.targets
    wrong = [m for b in blocks if "@mutant(" in b.text for m in mutants.load_mutants(b.text, "mutants.py")]
    assert [m.misconception for m in wrong] == ["operand order does not matter", "side effects survive"]
    assert set(checks[0].against) <= {m.misconception for m in wrong}
    assert "reversed(eqn.invars)" in mutants.mutant_source(wrong[0], target, reference_function(target).source)


def test_the_files_of_a_lab_are_those_that_are_listed():
    [block] = [block for block in blocks_of(ROOT / "docs" / "labs.md") if block.text.startswith("labs/02_jaxpr/\n")]
    top, *files = [line.split()[0] for line in block.text.splitlines()]
    listed = {name if "/" in name else f"{top}{name}" for name in files}
    assert [name for name in sorted(listed) if not (ROOT / name).is_file()] == []
    there = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / top).iterdir()
        if path.suffix in (".py", ".toml", ".md", ".ipynb")
    }
    assert there <= listed


def test_the_course_of_the_instructors_page_is_read(tmp_path):
    [block] = [block for block in BLOCKS if block.page == "docs/instructors.md" and block.language == "toml"]
    (tmp_path / "course.toml").write_text(block.text)
    (tmp_path / "roster.csv").write_text("student,name,email\nann,Ann,ann@example.org\n")
    (tmp_path / "requests.csv").write_text("student,exercise,request,answer\nann,02.4,It is right.,\n")
    policy = read_policy(tmp_path / "course.toml", all_labs())
    assert policy.labs == ("00", "02")
    assert (policy.percent_a_day, policy.most_days, policy.limits.seconds) == (10, 5, 10)
    assert policy.of_lab["02"].points == 20
    assert policy.due("ann", "02").month == 3
    assert [r.request for r in policy.requests] == ["It is right."]


# --- commands ---------------------------------------------------------------------------------------------------------

# tests/test_nbgrader.py calls them
NBGRADER = {"generate_assignment", "autograde", "generate_feedback", "export", "validate"}
TARGETS_OF_MAKE = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def commands_of(path):
    """Commands in a text: lines of blocks, and what stands between backquotes."""
    text = path.read_text(encoding="utf-8")
    for block in (block for block in blocks_of(path) if kind_of(block) == "commands"):
        yield from (re.split(r"  +| +#", line)[0] for line in block.text.splitlines() if COMMANDS.match(line))
    yield from re.findall(r"`(?:\.venv/bin/)?((?:jitkit|make|python -m grading) [^`]+)`", text)


def refused(command):
    """Return why the program that a command calls refuses its arguments; an empty value if it accepts them."""
    program, *arguments = shlex.split(command)
    if program == "make":
        return [word for word in arguments if word not in TARGETS_OF_MAKE and "=" not in word]
    if program in ("nbgrader", "pip"):
        return [] if program == "pip" or arguments[0] in NBGRADER else arguments[:1]
    parser = cli.make_parser() if program == "jitkit" else grading_command.make_parser()
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            parser.parse_args(arguments if program == "jitkit" else arguments[2:])
    except SystemExit as ended:
        only_named = len(arguments) == (1 if program == "jitkit" else 3)  # the text omits arguments
        if ended.code and not (only_named and "arguments are required" in said.getvalue()):
            return [said.getvalue()]
    return []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_are_taken_by_the_program_that_they_call(path):
    assert [(command, why) for command in commands_of(path) if (why := refused(command))] == []


def test_there_are_commands_and_a_wrong_one_is_refused():
    assert sum(1 for path in TEXTS for _ in commands_of(path)) > 80
    wrong = [
        "jitkit explor f",
        "jitkit start --scratch",
        "make tours",
        "python -m grading mark x",
        "nbgrader autograder 02",
    ]
    assert all(map(refused, wrong))


MODEL = """\
import jitkit as jax, jitkit.numpy as jnp

def loss(x, w):
    return jnp.sum((x @ w) ** 2)

def shorter(*given):
    return loss(*given) * 1.0

def sample(key, x):
    return x * jax.random.uniform(key)

class Net:
    def loss(self, x):
        return jnp.sum(x)

net = Net()

@jax.jit
def step(x):
    return x * 0.5

if __name__ == "__main__":
    for n in (2, 2, 3):
        step(jnp.ones(n))
"""


def test_the_commands_of_the_explorer_and_of_targets_do_what_is_said(tmp_path, monkeypatch, capsys):
    """On the CPU alone: `--target cpu` is added, where none is named. The other compilers have tests/targets."""
    monkeypatch.chdir(tmp_path)
    lines = [line for page in ("explorer", "targets") for line in commands_of(ROOT / "docs" / f"{page}.md")]
    commands = [line for line in lines if line.startswith(("jitkit explore model", "jitkit targets model"))]
    commands = [line for line in commands if "--watch" not in line]  # that one ends with Ctrl-C
    assert len(commands) == 11
    for command in commands:
        ours = MODEL if "," in command else MODEL.replace("x, w)", "x, w=2.0)").replace(" @ ", " * ")
        if "--static" in command:
            ours = MODEL.replace("(x, w)", "(params, x, n)").replace("(x @ w)", "(x @ params['w'] + params['b'])")
            ours = ours.replace("** 2", "** range(n)[-1]")  # a tree, and n is a number while it is traced
        (tmp_path / "model.py").write_text(ours.replace("jitkit", "jax") if "--jax" in command else ours)
        (tmp_path / "train.py").write_text("import jax, model\nfor n in (4, 5):\n    model.step(model.jnp.ones(n))\n")
        arguments = shlex.split(command.partition(" --target ")[0])[1:]
        assert cli.main([*arguments, "--target", "cpu"]) == 0, command
        said = capsys.readouterr()
        name = command.partition("model.py:")[2].partition(" ")[0]
        page = tmp_path / f"{name.replace('.', '_')}.html"
        assert page.exists() == ("explore" in command), said
        assert page.name in said.out + said.err or not page.exists()
        page.unlink(missing_ok=True)


# --- what is printed, by programs that are not shown ------------------------------------------------------------------


def at(line, program):
    """Run a program whose first line has the number `line` in its file."""
    names = {"jax": jax, "jnp": jnp, "lax": lax}
    exec(compile("\n" * (line - 1) + program, "train.py", "exec"), names)


def ill_formed():
    program = jax.make_jaxpr(lambda x: jnp.sin(x + 2.0) * 3.0)(jnp.ones(3))
    first, *rest = program.eqns
    nobody = Var(first.invars[0].aval)
    check_jaxpr(program.replace(eqns=[first.replace(invars=[nobody, first.invars[1]]), *rest]))


def lowered(f, *args):
    return jax.jit(f).lower(*args).as_text()


def cond_of_the_text(x):
    return lax.cond(x > 0, lambda x: x * 2, lambda x: -x, x)


def while_of_the_text(v, limit):
    return lax.while_loop(lambda v: v < limit, lambda v: v * 2, v)


def loop_of_the_text():
    names = {"jnp": jnp}
    exec(compile("def f(x):\n  return jnp.exp(x * 2).sum()", "model.py", "exec"), names)
    return text_of(names["f"], np.ones((3, 4), "float32"))


PRINTED = {  # (page, beginning of the printed text) -> a function that returns this text
    ("instructors", "json "): lambda: "\n".join(lines_of_formats()),
    ("02_jaxpr", "JaxprTypeError"): ill_formed,
    ("07_cond", "TypeError"): lambda: at(31, "lax.cond(True, lambda x: x * 1.0,\n  lambda x: x * 1, 3)"),
    ("07_cond", "%2"): lambda: lowered(cond_of_the_text, 1.0),
    ("08_while", "TypeError"): lambda: at(13, "lax.while_loop(lambda v: v < 3, lambda v: v + 0.5, jnp.int32(0))"),
    ("14_compiler", "// mul"): loop_of_the_text,
    ("08_while", "%0:2"): lambda: lowered(while_of_the_text, 1.0, 9.0),
}


@one_by_one(of_kind("printed"))
def test_what_is_said_to_be_printed_is_printed(block):
    [program] = [f for (page, first), f in PRINTED.items() if page in block.page and block.text.startswith(first)]
    try:
        printed = program()
    except TypeError as error:
        printed = f"{type(error).__name__}: {error}"
    assert re.sub(r"^ +", "", block.text, flags=re.MULTILINE) in re.sub(r"^ +", "", f"{printed}\n", flags=re.MULTILINE)
