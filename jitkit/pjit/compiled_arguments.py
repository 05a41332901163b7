"""arguments of a compiled program -> an error, if the program was compiled for others

JAX: jax/_src/stages.py:Compiled.call
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import core, runtime
from ..compiler.program import Program
from ..signature.shape_struct import key_of_argument
from ..tree_util import PyTreeDef, equality_errors_pytreedef, keystr, tree_flatten_with_path


def tree_mismatch(program: Program, tree: PyTreeDef) -> str:
    """Return the error message for arguments whose tree differs from the compiled one."""
    found = list(equality_errors_pytreedef(tree, program.in_tree))
    headline = "Function compiled with input pytree does not match the input pytree it was called with."
    lines = [f"{headline} There are {len(found)} mismatches, including:"]
    for (first, *rest), now, then, explanation in found:
        where = ("args", "kwargs")[first.idx] + keystr(tuple(rest))
        lines.append(f"    * at {where}, seen {then} but now given {now}, so {explanation}")
    lines.append(
        f"The function is {program.jaxpr.debug_info.func_src_info}. A compiled function takes arguments of the "
        "signature that it was compiled for, and no static ones; call the jitted function itself for another one."
    )
    return "\n".join(lines)


def check_avals(program: Program, tree: Any, leaves: Sequence[Any]) -> None:
    """Raise TypeError for an argument of another type than the program was compiled for, or for a tracer."""
    from_names = program.jaxpr.debug_info.safe_arg_names(len(leaves))
    wrong = []
    for i, (x, expected) in enumerate(zip(leaves, program.jaxpr.in_avals, strict=True)):
        if isinstance(x, core.Tracer):
            raise TypeError(
                "Cannot apply JAX transformations to a function lowered and compiled for a particular signature. "
                f"Detected argument of Tracer type {type(x)}.\nCall the jitted function itself here."
            )
        actual = _aval_of_value(x)
        if actual.strip_weak_type() is not expected.strip_weak_type():
            name = from_names[i] or keystr(tree_flatten_with_path(tree)[0][i][0])
            wrong.append(f"Argument '{name}' compiled with {expected.str_short()} and called with {actual.str_short()}")
    if wrong:
        raise TypeError(
            "Argument types differ from the types for which this computation was compiled. Perhaps you are calling "
            "the compiled executable with a different enable_x64 mode than when it was AOT compiled? The mismatches "
            "are:\n" + "\n".join(wrong)
        )


def check_shardings(program: Program, leaves: Sequence[Any], shardings: Sequence[Any]) -> None:
    """Raise ValueError for an argument committed to another sharding than the program was compiled for. Its memory does
    not count: an argument in the host's memory fits, too.
    """
    names = program.jaxpr.debug_info.safe_arg_names(len(leaves))
    wrong = []
    for name, x, required in zip(names, leaves, shardings, strict=True):
        key = key_of_argument(x)
        if isinstance(key, runtime.Placed) and runtime.in_device_memory(key.sharding) != required:
            wrong.append(
                f"Argument {name} with shape {key.aval.str_short()}:\n  Passed sharding: {key.sharding}\n"
                f"  Required sharding: {required}"
            )
    if wrong:
        raise ValueError(
            "Computation was compiled for input shardings that disagree with the shardings of arguments passed to "
            f"it. Here are the {len(wrong)} mismatches:\n" + "\n".join(wrong)
        )


def _aval_of_value(x: Any) -> Any:
    try:
        return core.get_aval(x)
    except TypeError as error:
        raise TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type\n{error}") from None
