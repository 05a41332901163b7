"""a writer of programs + choices -> programs, each with its result

    @check("12.7", "Programs that nobody wrote before.", drawn=True)
    def programs_7(jk, rng):
        return random_programs(jk, rng, of_arrays.mapped("scan unary binary"), 6)

A program is Python: statements, and a last line with an expression, whose value is the result. It may use `jax`, `jnp`,
`lax` and `np`; `whole` adds lines that import these and print the result, so that the program can be run by itself.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import CodeType
from typing import Any, cast

import numpy as np

from .choices import Choices
from .executables import without_lines
from .numpy_jaxpr import run_by_numpy
from .plain import Raised, Ran

Writer = Callable[[Choices], str]
Code = tuple[
    CodeType, CodeType, CodeType | None
]  # all lines but the last; the last as it is; its function and arguments, if it is a call
Given = tuple[str, list[int], CodeType, CodeType, CodeType | None]  # a program, the choices that made it, and its code

_IMPORTS = "import numpy as np\n\nimport jitkit as jax\nimport jitkit.numpy as jnp\nfrom jitkit import lax\n"


_FEWEST = 2  # at least this many programs run after a save, even if they are slow
GRADED = 20  # grading runs this many programs of a check, unless the course or the check says otherwise
_graded: list[int] = []  # in grading: how many programs to run for a check without a number of its own
_given: list[list[Given]] = []  # in grading: programs that are written already, for the next call to run
_seconds: list[float] = []  # after this many seconds of processor time, no new program begins


def grade(count: int = GRADED) -> None:
    """Run as many programs as grading does, from now on in this process: `count` for each check. For a check with its
    own `graded`, scale that number in proportion.
    """
    _graded.append(count)


def give(programs: list[Given]) -> None:
    """Make the next call of `random_programs` in this process take these programs. It would draw the same ones, and
    write them again.
    """
    _given.append(programs)


def hurry(drawn: Collection[str], hurried: float, wanted: Iterable[str], **_: Any) -> None:
    """From now on in this process, limit the processor time of each call of `random_programs` to a part of `hurried` seconds: an equal
    part for each check of `drawn` that is `wanted`, as `name` or `name@seed`. When its part is over, a call begins no new program,
    but it always runs two. The arguments are the request that a worker gets; its other parts are ignored.
    """
    several = sum(name.partition("@")[0] in drawn for name in wanted)
    _seconds.append(hurried / max(several, 1))


def random_programs(
    jk: Any, rng: Any, write: Writer, count: int, graded: int = GRADED, by_numpy: bool = True, types: bool = False
) -> list[Ran]:
    """Return at most `count` programs of a writer, each with its result, or with the error that it ends in. These pass through:
    NotImplementedError (a function is still to be written), ImportError and MemoryError.

    Args:
      rng: a `numpy.random.Generator`; or `Choices`, for the one program that they make; or the source of one program.
      count, graded: the most programs after a learner's save, and in grading, if the course does not change `GRADED`.
      types: whether the weak types of the results belong to the result, too.
      by_numpy: whether the last expression is a call to be traced, and computed by numpy without a compiler; if not, it runs as it is.
    """
    evaluate: Callable[[Code], Any] = (
        functools.partial(_traced, jk, types) if by_numpy else functools.partial(_as_it_is, jk)
    )
    if isinstance(rng, str):
        return [_ran(evaluate, rng, [])]
    if isinstance(rng, Choices):
        return [_ran(evaluate, write(rng), rng.made)]
    if _graded:
        count = max(1, graded * _graded[-1] // GRADED)
    with contextlib.nullcontext() if by_numpy else _compiling_once(jk):
        if _given:
            return [_ran(evaluate, text, made, code) for text, made, *code in _given.pop()]
        return _as_many(lambda: _drawn(evaluate, write, Choices.drawn(rng)), count)


def _as_many(run: Callable[[], Ran], count: int) -> list[Ran]:
    """Return the results of `count` calls of `run`; of fewer, but at least `_FEWEST`, if the time is over before."""
    limit = time.process_time() + _seconds[-1] if _seconds else float("inf")
    found: list[Ran] = []
    while len(found) < count and (len(found) < _FEWEST or time.process_time() < limit):
        found.append(run())
    return found


@contextlib.contextmanager
def _compiling_once(jk: Any) -> Iterator[None]:
    """Within the block, compile each StableHLO text only once: most random programs call the same few functions, and
    compiling takes most of their time.
    """
    runtime: Any = importlib.import_module(f"{jk.__name__}.runtime")
    compile_text = runtime.compile_text
    known: dict[str, Any] = {}

    def compile_or_find(text: str, owners: Sequence[Any], options: tuple[tuple[str, Any], ...] = ()) -> Any:
        key = repr((without_lines(text), [owner.id for owner in owners], options))
        if key not in known:
            known[key] = compile_text(text, owners, options)
        return known[key]

    runtime.compile_text = compile_or_find
    try:
        yield
    finally:
        runtime.compile_text = compile_text


def _drawn(evaluate: Callable[[Code], Any], write: Writer, choices: Choices) -> Ran:
    text = write(choices)
    return _ran(evaluate, text, choices.made)


def _ran(
    evaluate: Callable[[Code], Any], text: str, made: Sequence[int], code: Sequence[CodeType | None] | None = None
) -> Ran:
    try:
        value = evaluate(cast(Code, code) if code is not None else compiled(text))
    # the function is not written yet, there is no compiler, or no memory for further programs
    except (NotImplementedError, ImportError, MemoryError):
        raise
    except Exception as error:
        value = Raised(error)
    return Ran(text, made, value)


def whole(text: str) -> str:
    """Return the program as a file, which prints its result."""
    tree = ast.parse(text)
    last = tree.body[-1]
    lines = text.splitlines()
    shown = "\n".join(lines[last.lineno - 1 :])
    return "\n".join([_IMPORTS, *lines[: last.lineno - 1], f"print({shown})"]) + "\n"


def _names(jk: Any) -> dict[str, Any]:
    return {"__name__": "__main__", "jax": jk, "jnp": jk.numpy, "lax": jk.lax, "np": np}


def compiled(text: str) -> Code:
    """Return the code of a program in three parts: the lines before the last; the last line, which is an expression; and a list of that
    expression's function and arguments, or None if it is not a call. The last line keeps its line number.
    """
    before, _, last = text.rpartition("\n")
    tree = ast.parse("\n" * text.count("\n") + last, "<program>", "eval")
    call, listed = tree.body, None
    as_it_is = compile(tree, "<program>", "eval")
    if isinstance(call, ast.Call):
        arguments = ast.copy_location(ast.List(call.args, ast.Load()), call)
        tree.body = ast.copy_location(ast.List([call.func, arguments], ast.Load()), call)
        listed = compile(tree, "<program>", "eval")
    return compile(before, "<program>", "exec"), as_it_is, listed


def _as_it_is(jk: Any, code: Code) -> Any:
    names = _names(jk)
    exec(code[0], names)
    return eval(code[1], names)


def _traced(jk: Any, types: bool, code: Code) -> Any:
    """Return the leaves of the result (with `types`, also whether each is weakly typed), and the tree of the result."""
    names = _names(jk)
    exec(code[0], names)
    assert code[2] is not None, "the last expression is a call"
    fun, arguments = eval(code[2], names)
    jaxpr, shapes = jk.make_jaxpr(fun, return_shape=True)(*arguments)
    leaves = run_by_numpy(jaxpr, *jk.tree_util.tree_leaves(arguments))
    weak = [bool(aval.weak_type) for aval in jaxpr.out_avals] if types else []
    return [*leaves, *weak, str(jk.tree_util.tree_structure(shapes))]
