"""two types of one argument -> the edit that lets both calls share a program

A user who follows the advice must not lose any value. If one dtype holds every value of the other, converting to it is
safe. If neither does, promotion may find a third dtype that holds both. If the promoted dtype does not (int32 and
float16 promote to float16, which ends at 65,504), there is no advice, with one exception: integers that come after
floats can be converted to floats up to a limit, which the advice names.

An integer that becomes a float16 or bfloat16 keeps its value, but results have fewer digits: the advice says so. The
advice must not change what the function computes, either. Roots and logarithms differ between complex and real numbers,
and `~` and `+` between bools and integers: for these there is no advice.

JAX: jax/_src/interpreters/partial_eval.py:diff_types
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.dtypes import DType
from ..tree_util import PyTreeDef
from .record import safe_equal

MANY = 4  # an argument with this many values gets advice on having fewer
_USEFUL = 256  # a float is advised in place of integers if it holds all whole numbers up to here
_BATCH = 8  # after a batch of this many rows or more, a batch with fewer may be the last of an epoch
_FLOAT32_BITS, _DIGITS_PER_BIT = 24, 0.30103
_KEYS = (
    "Keys are of two kinds: make all of them with jax.random.key, or all with jax.random.PRNGKey, to share an entry."
)


def literals(before: DType, now: DType) -> str:
    """Return advice for a Python int and a Python float; "" for any other dtypes."""
    if {before.kind, now.kind} != {"i", "f"}:
        return ""
    return "Python's int and float have different types: write 1.0 for 1 in every call, to share one entry."


def conversion(name: str, before: Any, now: Any, entry: str = "the entry") -> str:
    """Return advice for an argument whose dtype differs between two calls, given both avals; "" if converting it could
    lose information, or change what the function computes. The advice says what large integers, or digits, would lose.
    `entry` names the entry of `before`.
    """
    if any(isinstance(aval.dtype, dtypes.ExtendedDType) for aval in (before, now)):
        return ""
    kinds = {_kind(before.dtype), _kind(now.dtype)}
    if kinds == {"bool", "integer"} or ("complex" in kinds and len(kinds) > 1):
        return ""
    common, limit = holding_both(before.dtype, now.dtype), 0
    if common is None:
        limit = _whole_numbers_in(before.dtype)
        if limit < _USEFUL or not dtypes.issubdtype(now.dtype, np.integer):
            return ""
        common = before.dtype
    target = f"jnp.{common.name}"
    # Conversion gives a strong type: it hits the old entry only if that one was strong, too. Else a new entry is made
    # for all.
    shares = common == before.dtype and not before.weak_type
    when, goal = ("before the call", f"to share {entry}") if shares else ("in every call", "to share one entry")
    if now.shape == ():  # a Python number has no `astype`
        convert = f"wrap {name} in {target}(...){'' if shares else ' in every call'}"
    else:
        convert = f"convert {name} {when}, with `.astype({target})`"
    if digits := _digits_lost(common, before.dtype, now.dtype):
        holds_all = f"whole numbers up to {limit:,}" if limit else "all of these values"
        return f"{common.name} holds {holds_all}, and results have about {digits} digits: if that is enough, {convert}, {goal}."
    if limit:
        return f"{common.name} holds whole numbers up to {limit:,}: if they are no larger, {convert}, {goal}."
    if common != before.dtype:
        return f"{target} holds both: {convert}, {goal}."
    return f"{convert[0].upper()}{convert[1:]}, {goal}."


def loss(before: Any, now: Any) -> int:
    """Return the loss if `now` is converted to the dtype of `before`: 0 for nothing, 1 for the exactness of large
    integers, 2 for digits, 3 if such a conversion is not advised.
    """
    if not conversion("x", before, now):
        return 3
    if _digits_lost(before.dtype, now.dtype):
        return 2
    return 0 if holds(before.dtype, now.dtype) else 1


def _digits_lost(target: DType, *dtypes_: DType) -> int:
    """Return the digits of results if an integer or bool is converted to this float dtype, if that is shorter than
    float32; otherwise 0. (JAX computes means and roots of integers in float32.)
    """
    if not dtypes.issubdtype(target, np.floating) or all(dtypes.issubdtype(each, np.inexact) for each in dtypes_):
        return 0
    bits = int(dtypes.finfo(target).nmant) + 1
    return 0 if bits >= _FLOAT32_BITS else max(int(bits * _DIGITS_PER_BIT), 1)


def batches(before: tuple[Any, ...], now: tuple[Any, ...]) -> str:
    """Return advice for a batch with fewer rows than the one before, else "". Padding must not count in sums and means;
    only the program can mask it.
    """
    if len(before) != len(now) or before[1:] != now[1:] or before[0] < _BATCH or not 0 < now[0] < before[0]:
        return ""
    return (
        f"If this is the last, shorter batch: pad it to {before[0]} rows, and mask what was added out of sums and means, to "
        "share the entry."
    )


def of_many_shapes(name: str, count: str) -> str:
    """Return advice for an argument that has come in many shapes."""
    return (
        f"{name} has come in {count} shapes, and each is compiled for itself: pad it to one of a few "
        "sizes, and mask what was added, to share the entries."
    )


def of_trees(before: PyTreeDef, now: PyTreeDef) -> str:
    """Return advice for two trees, from the first node in which they differ; "" if they are equal, or there is no advice."""
    if before == now:
        return ""
    old, new = before.node_data(), now.node_data()
    kinds = {None if data is None else data[0] for data in (old, new)}
    if type(None) in kinds:
        return (
            "None has no leaf, so with it and without it there are two programs; to have one, pass zeros in its place."
        )
    if old is None or new is None or len(kinds) == 2:
        return "A structure is a part of the type: pass the same kind in every call, to share one entry."
    children = before.children(), now.children()
    if old[0] in (list, tuple) and len(children[0]) != len(children[1]):
        return "Each length is a program of its own: stack arrays of one shape, and pad to a few sizes, to share the entries."
    if not safe_equal(old[1], new[1]):
        return _of_data(old[0], old[1], new[1])
    return next(filter(None, (of_trees(one, other) for one, other in zip(*children, strict=False))), "")


def _of_data(kind: type, before: Any, now: Any) -> str:
    if not issubclass(kind, dict):
        return "Metadata is compiled into the program as constants: make what changes from call to call a leaf of the class."
    if set(before) != set(now):
        return "Pass the same keys in every call, to share one entry: what is missing may be zeros."
    return (
        f"The order of the keys is a part of {kind.__name__}, and not of a dict: pass `dict(...)`, to share one entry."
    )


def _kind(dtype: DType) -> str:
    kinds = {"bool": np.bool_, "integer": np.integer, "complex": np.complexfloating}
    return next((name for name, kind in kinds.items() if dtypes.issubdtype(dtype, kind)), "real")


def of_keys(before: Any, now: Any) -> str:
    """Return advice if one call has a new-style random key and the other an old-style one (uint32); else ""."""
    is_new = [dtypes.issubdtype(aval.dtype, dtypes.prng_key) for aval in (before, now)]
    other = now if is_new[0] else before
    return _KEYS if any(is_new) and other.dtype.name == "uint32" else ""


def holding_both(one: DType, other: DType) -> DType | None:
    """Return the dtype to which two dtypes promote, if it holds all values of both and is available in the current x64
    mode; else None.
    """
    try:
        common = dtypes.promote_types(one, other)
    except dtypes.TypePromotionError:
        return None
    if dtypes.canonicalize_dtype(common) != common or not (holds(common, one) and holds(common, other)):
        return None
    return common


def holds(wide: DType, narrow: DType) -> bool:
    """Return whether the dtype `wide` has every value of the dtype `narrow`."""
    if wide == narrow or narrow.kind == "b":
        return True
    if wide.kind == "b":
        return False
    if dtypes.issubdtype(narrow, np.integer):
        low, high = int(dtypes.iinfo(narrow).min), int(dtypes.iinfo(narrow).max)
        if dtypes.issubdtype(wide, np.integer):
            return int(dtypes.iinfo(wide).min) <= low and high <= int(dtypes.iinfo(wide).max)
        return max(high, -low) <= _whole_numbers_in(wide)
    if dtypes.issubdtype(wide, np.integer) or (narrow.kind == "c" and wide.kind != "c"):
        return False
    inner, outer = dtypes.finfo(narrow), dtypes.finfo(wide)
    return bool(
        inner.nmant <= outer.nmant
        and float(inner.max) <= float(outer.max)
        and float(outer.smallest_subnormal) <= float(inner.smallest_subnormal)
    )


def _whole_numbers_in(dtype: DType) -> int:
    """Return the limit up to which a float or complex dtype holds every integer; 0 for other dtypes."""
    return 1 << (int(dtypes.finfo(dtype).nmant) + 1) if dtypes.issubdtype(dtype, np.inexact) else 0
