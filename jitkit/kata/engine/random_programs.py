"""a writer of programs + choices -> programs, each with what it computes

    @check("12.7", "Programs that nobody wrote before.", drawn=True)
    def programs_7(jk, rng):
        return random_programs(jk, rng, of_arrays.mapped("scan unary binary"), 6)

A program is Python: statements, and an expression at the end, whose value is the result. `jax`, `jnp`, `lax` and `np` are there; for
who runs it by itself, `whole` adds the lines that import them, and prints the result.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .choices import Choices
from .numpy_jaxpr import run_by_numpy
from .plain import Raised, Ran

Writer = Callable[[Choices], str]

_IMPORTS = "import numpy as np\n\nimport jitkit as jax\nimport jitkit.numpy as jnp\nfrom jitkit import lax\n"


_graded: list[bool] = []  # not empty where programs are run to be graded


def grade() -> None:
    """In this process, programs are as many as in grading."""
    _graded.append(True)


def random_programs(
    jk: Any, rng: Any, write: Writer, count: int, graded: int = 150, by_numpy: bool = True, types: bool = False
) -> list[Ran]:
    """So many programs of a writer, each with its result, or with the error that it ends in. NotImplementedError is what a function
    raises that is still to be written, and ends all of them.

    Args:
      rng: a `numpy.random.Generator`; or `Choices`, and then the one program is written that they are; or the text of one.
      count, graded: how many, for a learner who has saved, and in grading.
      types: whether weak types of results count, too.
      by_numpy: whether the last expression is a call that is traced, and computed by numpy, with no compiler; if not, it is run as
        it is.
    """
    evaluate = functools.partial(_traced, jk, types) if by_numpy else functools.partial(_as_it_is, jk)
    if isinstance(rng, str):
        return [_ran(evaluate, lambda choices: rng, Choices([]))]
    if isinstance(rng, Choices):
        return [_ran(evaluate, write, rng)]
    return [_ran(evaluate, write, Choices.drawn(rng)) for _ in range(graded if _graded else count)]


def _ran(evaluate: Callable[[str], Any], write: Writer, choices: Choices) -> Ran:
    text = write(choices)
    try:
        value = evaluate(text)
    except (NotImplementedError, ImportError):  # not written yet; or there is no compiler where it runs
        raise
    except Exception as error:
        value = Raised(error)
    return Ran(text, choices.made, value)


def whole(text: str) -> str:
    """The program as a file, which prints its result."""
    tree = ast.parse(text)
    last = tree.body[-1]
    lines = text.splitlines()
    shown = "\n".join(lines[last.lineno - 1 :])
    return "\n".join([_IMPORTS, *lines[: last.lineno - 1], f"print({shown})"]) + "\n"


def _names(jk: Any) -> dict[str, Any]:
    return {"__name__": "__main__", "jax": jk, "jnp": jk.numpy, "lax": jk.lax, "np": np}


def _run_up_to_the_last(text: str, names: dict[str, Any]) -> ast.expr:
    """Run all statements but the last, which is an expression, and returned."""
    tree = ast.parse(text, "<program>")
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), "a program ends with an expression"
    exec(compile(tree, "<program>", "exec"), names)
    return last.value


def _value(expression: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(expression), "<program>", "eval"), names)


def _as_it_is(jk: Any, text: str) -> Any:
    names = _names(jk)
    return _value(_run_up_to_the_last(text, names), names)


def _traced(jk: Any, types: bool, text: str) -> Any:
    """The leaves of the result, maybe whether each is weakly typed, and then the tree that they are in."""
    names = _names(jk)
    call = _run_up_to_the_last(text, names)
    assert isinstance(call, ast.Call), "the last expression is a call"
    fun, arguments = _value(call.func, names), [_value(argument, names) for argument in call.args]
    jaxpr, shapes = jk.make_jaxpr(fun, return_shape=True)(*arguments)
    leaves = run_by_numpy(jaxpr, *jk.tree_util.tree_leaves(arguments))
    weak = [bool(aval.weak_type) for aval in jaxpr.out_avals] if types else []
    return [*leaves, *weak, str(jk.tree_util.tree_structure(shapes))]
