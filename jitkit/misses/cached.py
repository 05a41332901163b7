"""a change + the cached calls -> advice to share an entry other than the closest

The closest call has the fewest differences, but a conversion to its types may lose values, while another entry may lose
none: an int32 array that comes after a bfloat16 array may also find an entry for float32. Or another entry may be for a
function with the same code.

JAX: jax/_src/interpreters/partial_eval.py:diff_types
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Any

from .advice import conversion, loss
from .record import TRACES, CallRecord, Change, aval_of, changes, of_python
from .short_text import static_text


def on_dtypes(change: Change, now: CallRecord, known: Sequence[CallRecord]) -> str:
    """Return advice to convert to another cached dtype: the one that loses least, among cached calls that differ only
    in this dtype. Return "" if all lose too much. `change` compares `now` with the closest call.
    """
    old, new = aval_of(change.before), aval_of(change.now)
    advised = conversion(change.name, old, new)
    least = loss(old, new)
    for other in _others(change, now, known):
        if (less := loss(other, new)) < least:
            least, advised = less, conversion(change.name, other, new, f"the entry for {other.dtype.name}")
    return advised


def _others(change: Change, now: CallRecord, known: Sequence[CallRecord]) -> Iterator[Any]:
    """Yield the avals of this leaf in cached calls that otherwise equal `now`, the latest first, without weak types and
    Python numbers.
    """
    for record in reversed(known):
        found = changes(record, now, TRACES)
        if len(found) == 1 and found[0].kind == "dtype" and found[0].name == change.name:
            aval = aval_of(found[0].before)
            if not aval.weak_type and not of_python(found[0].before):
                yield aval


def on_functions(change: Change, known: Sequence[CallRecord]) -> str:
    """Return advice for a static function with the same code as one in a cached call; else ""."""
    new = change.now.value
    for record in reversed(known):
        for argument in record.arguments:
            if argument.name == change.name and argument.static is not None:
                old = argument.static.value
                if old is not new and _is_alike(old, new):
                    return define_once(static_text(old))
    return ""


def define_once(function: str) -> str:
    """Return the advice for a function with the same code as another one, which is cached."""
    return (
        f"The code is that of {function}, which is cached. A function is equal to itself only: define it once, and pass it in every "
        "call."
    )


def _is_alike(one: Any, other: Any) -> bool:
    """Return whether two functions have the same code, defaults and globals, and close over nothing."""
    body = body_of(one)
    return body is not None and body == body_of(other) and one.__globals__ is other.__globals__


def body_of(fun: Any) -> str | None:
    """Return a function's code and defaults as text, to compare; None if `fun` is not a function, or closes over
    something.
    """
    if not isinstance(fun, types.FunctionType) or fun.__closure__:
        return None
    code = fun.__code__
    consts = [(type(each), repr(each)) for each in code.co_consts]  # 1 == True == 1.0
    return repr((code.co_code, code.co_names, code.co_varnames, consts, fun.__defaults__, fun.__kwdefaults__))
