"""two calls -> what is different between them, in words

Each sentence has the form "x: float32[3] before, float32[4] now", with the path of the argument in front.
Where there is something to do about it, an advice follows. Advice is not given for what is no mistake: the
second shape is none, the fourth may be.

JAX: jax/_src/interpreters/partial_eval.py:diff_types
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..runtime import OnHost, Placed, describe_sharding
from ..tree_util import explain_difference
from .origin import origin_of
from .record import Argument, CallRecord, Change, aval_of, changes, safe_equal, safe_repr

_MANY = 4  # from how many values of one argument on we say how to have fewer
_LOOKED_AT = 256  # records in which they are counted


class Difference(NamedTuple):
    """One difference between two calls.

    `kind` is one of

        shape, dtype, weak type    of the leaf `argument`, a path such as "params['w']"; a shape may come with
                                   another dtype, and a dtype with another weakness
        tree                       another structure of the argument
        static                     another value of a static argument
        passing                    by position, by keyword, left out, static or not
        option                     another value of the option `argument`, as enable_x64
        device                     committed to another device, or not committed: compiled anew, not traced
        jit options                `jit` was told something else: compiled anew, not traced
        host                       in the memory of Python or of the device: neither traced nor compiled

    `sentence` says it in words; `advice` what to do about it, or nothing.
    """

    kind: str
    argument: str
    before: str
    now: str
    sentence: str
    advice: str = ""


def differences(
    old: CallRecord, new: CallRecord, weight: int, known: Sequence[CallRecord]
) -> list[Difference]:
    """What is different in `new`, down to this weight. In `known`, all records by age, values are counted."""
    recent = known[-_LOOKED_AT:]
    return [found for change in changes(old, new, weight) for found in _WORDS[change.kind](change, recent)]


def _difference(change: Change, before: str, now: str, advice: str = "", name: str = "") -> Difference:
    sentence = f"{name or change.name}: {before} before, {now} now"
    return Difference(change.kind, change.name, before, now, sentence, advice)


def _option(change: Change, known: Sequence[CallRecord]) -> Iterator[Difference]:
    name = f"the option {change.name}" if change.kind == "option" else f"jit's {change.name}"
    yield _difference(change, safe_repr(change.before), safe_repr(change.now), name=name)


def _passing(change: Change, known: Sequence[CallRecord]) -> Iterator[Difference]:
    advice = ""
    if change.before is not None and change.now is not None:
        advice = "Write the calls one way to share the entry."
    elif change.name.isidentifier():  # and not one more of *args
        advice = "What is left out is a constant of the program, what is passed is an input."
    yield _difference(change, _how(change.before), _how(change.now), advice)


def _how(argument: Argument | None) -> str:
    if argument is None:
        return "left out"
    value = "passed" if argument.static is None else static_text(argument.static.value)
    return f"{value} by keyword" if argument.by_keyword else f"{value} by position"


def _tree(change: Change, known: Sequence[CallRecord]) -> Iterator[Difference]:
    before, now = _shortened(safe_repr(change.before)), _shortened(safe_repr(change.now))
    try:
        sentences = explain_difference(change.before, change.now, change.name)
    except Exception as error:  # raised by the `__eq__` of some metadata, which is not to break the call
        sentences = [f"{change.name}: comparing the metadata of its nodes raised {type(error).__name__}"]
    for sentence in sentences:
        yield Difference("tree", change.name, before, now, sentence)


# --- types --------------------------------------------------------------------------------------------------


def _type(change: Change, known: Sequence[CallRecord]) -> Iterator[Difference]:
    is_weak = any(aval_of(key).weak_type for key in (change.before, change.now))
    before, now = _type_text(change.before, is_weak), _type_text(change.now, is_weak)
    yield _difference(change, before, now, _TYPE_ADVICE[change.kind](change, known))


def _type_text(key: Any, show_weak: bool) -> str:
    aval = aval_of(key)
    text: str = aval.str_short()
    if show_weak and _is_python_scalar(key):
        return f"{text} of a Python {_PYTHON_NAMES.get(aval.dtype.kind, 'scalar')}"
    return f"weakly typed {text}" if show_weak and aval.weak_type else text


_PYTHON_NAMES = {"i": "int", "f": "float", "c": "complex"}


def _is_python_scalar(key: Any) -> bool:
    return isinstance(key, OnHost) and bool(aval_of(key).weak_type)


def _advice_on_shapes(change: Change, known: Sequence[CallRecord]) -> str:
    seen = [
        argument.keys[argument.paths.index(change.name)]
        for record in known
        for argument in record.arguments
        if change.name in argument.paths
    ]
    count = len({aval_of(key).shape for key in [*seen, change.now]})
    if count < _MANY:
        return ""
    return (
        f"{change.name} has come in {count} shapes, and each is compiled for itself: pad it to one of a few "
        "sizes to share the entries."
    )


def _advice_on_dtypes(change: Change, known: Sequence[CallRecord]) -> str:
    if _is_python_scalar(change.before) and _is_python_scalar(change.now):
        return "Python's ints and floats have different types: write 1.0 instead of 1 to share the entry."
    dtype = aval_of(change.before).dtype.name
    if _is_python_scalar(change.now):
        return f"Wrap it in jnp.{dtype}(...) to share the entry."
    return f"Convert {change.name} before the call, with `.astype(jnp.{dtype})`, to share the entry."


def _advice_on_weak_types(change: Change, known: Sequence[CallRecord]) -> str:
    name = aval_of(change.now).dtype.name
    if _is_python_scalar(change.before) or _is_python_scalar(change.now):
        return (
            f"A Python scalar is weakly typed; wrap it in jnp.{name}(...), or in "
            f"jnp.asarray(..., dtype=jnp.{name}), to share the entry."
        )
    return (
        "What is computed from Python scalars alone is weakly typed; end that with "
        f"`.astype(jnp.{name})` to share the entry."
    )


_TYPE_ADVICE: dict[str, Callable[[Change, Sequence[CallRecord]], str]] = {
    "shape": _advice_on_shapes,
    "dtype": _advice_on_dtypes,
    "weak type": _advice_on_weak_types,
}


# --- places -------------------------------------------------------------------------------------------------


def _device(change: Change, known: Sequence[CallRecord]) -> Iterator[Difference]:
    advice = (
        "Committed arguments decide where a program runs, and it is compiled for that place. What commits is "
        "device_put with a device, or a computation with committed arguments."
    )
    yield _difference(change, _place(change.before), _place(change.now), advice)


def _place(key: Any) -> str:
    if isinstance(key, Placed):
        return f"committed to {describe_sharding(key.sharding)}"
    return "not committed to a device"


def _host(change: Change, known: Sequence[CallRecord]) -> Iterator[Difference]:
    before, now = (
        "on the host" if isinstance(key, OnHost) else "on a device" for key in (change.before, change.now)
    )
    advice = "Nothing is recompiled for that: the new entry says how the argument gets to the device."
    yield _difference(change, before, now, advice)


# --- static values ------------------------------------------------------------------------------------------


def _static(change: Change, known: Sequence[CallRecord]) -> Iterator[Difference]:
    old, new = change.before.value, change.now.value
    before, now = static_text(old), static_text(new)
    advice = ""
    if type(old) is not type(new) and safe_equal(old, new):
        before, now = f"{before} ({type(old).__name__})", f"{now} ({type(new).__name__})"
        advice = "Static values of different types are different, even when they are equal."
    elif not safe_equal(new, new):
        advice = (
            f"{now} is not equal to itself, so each call with it is a new one: make {change.name} an "
            "ordinary argument."
        )
    elif before == now and isinstance(new, (types.FunctionType, types.MethodType, functools.partial)):
        now = "another function from there"
        advice = "A function is equal to itself only: define it once, outside of the loop."
    elif before == now and not _defines_equality(type(new)):
        now = "another object that reads the same"
        advice = (
            f"{type(new).__name__} has no __eq__, so that each object is a value of its own: pass the same "
            "object, or make the class a frozen dataclass."
        )
    elif before == now:
        now = "an unequal one that reads the same"
    advice = advice or _advice_on_many(change, known)
    yield _difference(change, before, now, advice, name=f"{change.name} (static)")


def _defines_equality(cls: type) -> bool:
    return any("__eq__" in vars(base) for base in cls.__mro__[:-1])


def _advice_on_many(change: Change, known: Sequence[CallRecord]) -> str:
    statics = [
        argument.static
        for record in known
        for argument in record.arguments
        if argument.name == change.name and argument.static is not None
    ]
    count = len({static.hash for static in [*statics, change.now]})
    if count < _MANY:
        return ""
    is_number = isinstance(change.now.value, (int, float, complex))
    instead = " If it is a number to compute with, make it an ordinary argument." if is_number else ""
    return f"{change.name} has had {count} values, and each is compiled for itself.{instead}"


def static_text(value: Any) -> str:
    """A static value in a few words, without an address; a function by where it was defined."""
    if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
        return origin_of(value).describe()
    return _shortened(re.sub(r" at 0x[0-9a-fA-F]+", "", safe_repr(value)))


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


_WORDS: dict[str, Callable[[Change, Sequence[CallRecord]], Iterator[Difference]]] = {
    "option": _option,
    "jit options": _option,
    "passing": _passing,
    "tree": _tree,
    "static": _static,
    "shape": _type,
    "dtype": _type,
    "weak type": _type,
    "device": _device,
    "host": _host,
}
