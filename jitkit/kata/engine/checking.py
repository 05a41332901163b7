"""The functions with which the `checks.py` of a lab is written.

A check is a small program that uses the functions of an exercise and returns a result. It asserts nothing: the same
program, run with the reference and the same seed, returns the right result.

    @check("02.3", "Operands keep their order.", against=["operand order does not matter"])
    def subtraction(jk, rng):
        f = jk.make_jaxpr(lambda x, y: x - y)
        x, y = rng.normal(size=(2, 3))
        return jk.core.eval_jaxpr(f(x, y).jaxpr, (), x, y)

`jk` is jitkit with the learner's functions in it, `rng` a `numpy.random.Generator`. Inputs should be random, so that a
hard-coded answer fails. A check may return numbers, strings, arrays, jaxprs, types, trees, lists, tuples and dicts of
them, and

    raised(f, *args, parts=[...])    the error that a call ends in. Its message must have the parts, which the text of the exercise
                                     gives; without parts only the class of the error counts
    Stablehlo(text, arguments)       a program, which is compared by running it
    run_by_numpy(jaxpr, *args)       what a program computes, without compiling it
    Unordered(values)                values in any order

`module(jk, "kata.subjects.quiz")` is a module of `jk` that is not an attribute of it. `modules_of_jax(program)` calls a
function without arguments, and returns the names of the modules of the real JAX whose functions are called meanwhile: there
should be none if the work is the learner's.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .numpy_jaxpr import run_by_numpy
from .plain import Stablehlo, Unordered, raised

__all__ = [
    "Check",
    "Stablehlo",
    "Unordered",
    "check",
    "load_checks",
    "module",
    "modules_of_jax",
    "raised",
    "run_by_numpy",
]

Program = Callable[[Any, Any], Any]


class Check(NamedTuple):
    """A check: its exercise, the sentence that a learner reads, the misconceptions that it refutes, and its program, which takes `jk`
    and `rng`. The function `check` says what the other fields mean.
    """

    exercise: str
    name: str
    sentence: str
    against: tuple[str, ...]
    program: Program
    tolerance: float | None
    hidden: bool
    drawn: bool = False
    fixed: str = ""


def module(jk: Any, name: str) -> Any:
    """Return a module of `jk`, with the learner's functions in it."""
    return importlib.import_module(f"{jk.__name__}.{name}")


_collected: list[Check] = []
_loading = threading.Lock()  # only one thread at a time fills `_collected`


def check(
    exercise: str,
    sentence: str,
    *,
    against: Sequence[str] = (),
    tolerance: float | None = None,
    hidden: bool = False,
    drawn: bool = False,
    fixed: str = "",
) -> Callable[[Program], Program]:
    """Return a decorator that makes a function, of `jk` and `rng`, a check of an exercise.

    Args:
      exercise: the id, `"02.3"`.
      sentence: a sentence that is true of a right answer.
      against: the misconceptions that the check refutes, in the words of the lab's mutants.
      tolerance: relative tolerance of floating-point results, if the usual one is too narrow.
      hidden: whether the check is used in grading only.
      drawn: whether it runs random programs: a learner gets new ones at each save, until one fails.
      fixed: if the right result is the same for every seed, the reason.

    Raises:
      TypeError: the function has other parameters than `jk` and `rng`.
    """

    def collect(program: Program) -> Program:
        if list(inspect.signature(program).parameters) != ["jk", "rng"]:
            raise TypeError(f"the check {program.__name__} should take (jk, rng)")
        _collected.append(
            Check(exercise, program.__name__, sentence, tuple(against), program, tolerance, hidden, drawn, fixed)
        )
        return program

    return collect


def modules_of_jax(program: Callable[[], Any]) -> list[str]:
    """Return the modules of the real JAX whose functions are called while `program` runs, in this thread."""
    found: set[str] = set()

    def notice(frame: Any, event: str, called: Any) -> None:
        name = frame.f_globals.get("__name__") if event == "call" else getattr(called, "__module__", None)
        if isinstance(name, str) and name.partition(".")[0] in ("jax", "jaxlib"):
            found.add(name)

    before = sys.getprofile()
    sys.setprofile(notice)
    try:
        program()
    finally:
        sys.setprofile(before)
    return sorted(found)


@functools.lru_cache(maxsize=64)
def load_checks(source: str, path: str) -> tuple[Check, ...]:
    """Return the checks that a `checks.py` defines, in its order. A source is executed only once; its checks are cached."""
    with _loading:
        _collected.clear()
        exec(compile(source, path, "exec"), {"__name__": "checks", "__file__": path})
        found = tuple(_collected)
        _collected.clear()
    return found
