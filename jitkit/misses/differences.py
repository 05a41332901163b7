"""two calls -> their differences, in words

Most sentences have the form "x: float32[3] before, float32[4] now", with the path of the argument in front; those about trees name an
added node, or one of another kind: "log['loss 0'] is new". Advice follows if there may be something to mend: a second shape is normal, a
fourth may be a mistake. A batch with fewer rows than the one before is usually the last of an epoch.

JAX: jax/_src/interpreters/partial_eval.py:diff_types
"""

from __future__ import annotations

import functools
import inspect
import numbers
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..base import source_info
from ..runtime import Elsewhere, OnHost, Placed, describe_sharding
from ..signature.argument_spec import signature_of
from ..tree_util import explain_difference, tree_leaves, tree_structure
from . import cached
from .advice import MANY, batches, literals, of_keys, of_many_shapes, of_trees
from .record import Argument, CallRecord, Change, aval_of, changes, is_weak, of_python, safe_equal, safe_repr
from .short_text import shortened, shortened_pair, static_text, whole_text

_LOOKED_AT = 32  # different values of an argument are counted in at most this many of the latest calls


class Difference(NamedTuple):
    """One difference between two calls.

    `kind` is one of

        shape, dtype, weak type    of the leaf `argument`, a path such as "params['w']"; a shape may come with
                                   another dtype, and a dtype with another weakness
        tree                       another structure of the argument
        static                     another value of a static argument
        passing                    by position, by keyword, left out, static or not
        option                     another value of the option `argument`, as enable_x64
        device                     committed to another device, or no longer committed: recompiled, not retraced
        jit options                other options of `jit`: recompiled, not retraced
        host                       moved between host and device memory: neither retraced nor recompiled

    `sentence` says it in words, of which `before` and `now` describe the two calls; `advice` says how to avoid it, or is "".
    """

    kind: str
    argument: str
    before: str
    now: str
    sentence: str
    advice: str = ""


class Calls(NamedTuple):
    """The call that missed, and the latest calls before it: the words for a change may depend on them."""

    now: CallRecord
    known: Sequence[CallRecord]  # the oldest first
    are_all: bool  # whether `known` has all earlier calls, not only the latest
    x64_differs: bool  # whether the two calls to compare differ in the option `enable_x64`
    fun: Callable[..., Any] | None = None

    def default_of(self, name: str) -> Any:
        """Return a parameter's default; `inspect.Parameter.empty` if it has none, or if the function's parameters are not known."""
        signature = None if self.fun is None else signature_of(self.fun)
        parameter = None if signature is None else signature.parameters.get(name)
        return inspect.Parameter.empty if parameter is None else parameter.default

    def keys_of(self, path: str) -> list[Any]:
        """Return the keys (see `Argument`) of the leaf at a path in the known calls."""
        at = [(i, a.paths.index(path)) for i, a in enumerate(self.now.arguments) if path in a.paths]
        found = []
        for record in self.known:
            for i, leaf in at:
                argument = record.arguments[i] if i < len(record.arguments) else self.now.arguments[i]
                if leaf < len(argument.paths) and argument.paths[leaf] == path:
                    found.append(argument.keys[leaf])
                elif path in argument.paths:
                    found.append(argument.keys[argument.paths.index(path)])
        return found

    def counted(self, count: int) -> str:
        """Return a number of values, with "at least" if not all calls were looked at."""
        return str(count) if self.are_all else f"at least {count}"


def differences(
    old: CallRecord,
    new: CallRecord,
    weight: int,
    known: Sequence[CallRecord],
    shown: int,
    fun: Callable[..., Any] | None = None,
) -> tuple[list[Difference], int]:
    """Return up to `shown` differences between two calls, and the number of further ones. `weight` is the least that counts: TRACES,
    COMPILES or DISPATCHES. `known` has all records, the oldest first; the advice says how many values an argument has had, counted
    in the last `_LOOKED_AT` of them. `fun` gives the defaults of parameters.
    """
    found: list[Difference] = []
    all_changes = changes(old, new, weight)
    x64_differs = any(change.kind == "option" and change.name == "enable_x64" for change in all_changes)
    calls = Calls(new, known[-_LOOKED_AT:], len(known) <= _LOOKED_AT, x64_differs, fun)
    more = 0
    for change in all_changes:
        if len(found) < shown:
            # the advice on a batch is told once, for x, and not again for its labels y
            said = {each.advice for each in found if each.kind == "shape"}
            found += [
                each._replace(advice="") if each.advice in said else each for each in _WORDS[change.kind](change, calls)
            ]
        else:  # do not make words for these, which takes longer than comparing
            more += 1
    return found[:shown], more + len(found[shown:])


def _difference(change: Change, before: str, now: str, advice: str = "", name: str = "") -> Difference:
    sentence = f"{name or change.name}: {before} before, {now} now"
    return Difference(change.kind, change.name, before, now, sentence, advice)


def _option(change: Change, calls: Calls) -> Iterator[Difference]:
    if change.name == "axis_env":
        before, now = (_axes_in_words(axes) for axes in (change.before, change.now))
        advice = "A function may ask for the size of a named axis, so it is traced for each size. Map over batches of one size."
        yield _difference(change, before, now, advice, name="the named axes around")
        return
    advice = "Each value of an option has programs of its own: set it once, before the first call."
    before, now = safe_repr(change.before), safe_repr(change.now)
    name = "the mesh of `set_mesh`" if change.name == "mesh" else f"the option {change.name}"
    yield _difference(change, before, now, advice, name=name)


def _axes_in_words(axes: Sequence[tuple[Any, int]]) -> str:
    return ", ".join(f"{safe_repr(name)} of {size} elements" for name, size in axes) or "none"


def _jit_options(change: Change, calls: Calls) -> Iterator[Difference]:
    before, now = (shortened(safe_repr(value)) for value in (change.before, change.now))
    advice = "Each jit of a function has its own options: keep one of them, and call that."
    yield _difference(change, before, now, advice, name=f"jit's {change.name}")


# --- how an argument is passed ------------------------------------------------------------------------------


def _passing(change: Change, calls: Calls) -> Iterator[Difference]:
    before, now = change.before, change.now
    default = inspect.Parameter.empty
    if before is None or now is None:
        default = calls.default_of(change.name)
        advice = _advice_on_defaults(change.name, now or before, default)
    elif before.by_keyword != now.by_keyword:
        advice = "Write the calls one way to share the entry."
    else:
        advice = "Static here and traced there are two jits of one function: keep one of them, and call that."
    yield _difference(change, *_how(before, now, default), advice)


def _advice_on_defaults(name: str, passed: Argument, default: Any) -> str:
    if not name.isidentifier():  # one of *args or **kwargs that the other call lacks
        more = "Each number of arguments is a program of its own: stack them into one array, or pass as many in every call."
        return "" if passed.by_keyword else more
    if passed.static is None and passed.keys:
        return (
            "A default that is left out is a constant of the program; an argument that is passed is an input: pass it in every call, to "
            "share one entry."
        )
    if passed.static is not None:
        what, value = static_text(passed.static.value), passed.static.value
        is_default = type(value) is type(default) and safe_equal(value, default)
    else:
        what = "None" if _is_none(passed) else "It"
        is_default = safe_equal(passed.tree, tree_structure(default))
    if not is_default:
        return ""
    is_input = "" if passed.static is not None else ", and no input of the program"
    return f"{what} is the default{is_input}: write the calls one way to share the entry."


def _how(before: Argument | None, now: Argument | None, default: Any) -> tuple[str, str]:
    """Return how each of the two calls passes an argument, in words, without the words that both share."""
    differ_in_being_static = before and now and (before.static is None) != (now.static is None)
    return _how_of(before, differ_in_being_static, default), _how_of(now, differ_in_being_static, default)


def _how_of(argument: Argument | None, say_static: bool | None, default: Any) -> str:
    if argument is None:
        return "left out" if default is inspect.Parameter.empty else f"left out (default {static_text(default)})"
    value = "passed"
    if argument.static is not None:
        value = f"{static_text(argument.static.value)}{' (static)' if say_static else ''}"
    elif say_static:
        value = "traced"
    elif _is_none(argument):
        value = "None"
    return f"{value} by keyword" if argument.by_keyword else f"{value} by position"


def _is_none(argument: Argument) -> bool:
    node = argument.tree.node_data() if argument.tree is not None else None
    return node is not None and node[0] is type(None)


# --- trees --------------------------------------------------------------------------------------------------


def _tree(change: Change, calls: Calls) -> Iterator[Difference]:
    before, now = shortened(safe_repr(change.before)), shortened(safe_repr(change.now))
    try:
        sentences = explain_difference(change.before, change.now, change.name)
    except Exception as error:  # some metadata's `__eq__` raises, which must not break the call
        sentences = [f"{change.name}: comparing the metadata of its nodes raised {type(error).__name__}"]
    advice = of_trees(change.before, change.now)
    for place, sentence in enumerate(sentences, 1):
        yield Difference("tree", change.name, before, now, sentence, advice if place == len(sentences) else "")


# --- types --------------------------------------------------------------------------------------------------


def _type(change: Change, calls: Calls) -> Iterator[Difference]:
    old, new = aval_of(change.before), aval_of(change.now)
    show_weak = any(is_weak(aval_of(key)) or of_python(key) for key in (change.before, change.now))
    before, now = _type_text(change.before, show_weak), _type_text(change.now, show_weak)
    # If x64 mode has changed, the same value has another type: the advice on that option is enough.
    advice = "" if calls.x64_differs else of_keys(old, new) or _TYPE_ADVICE[change.kind](change, calls)
    yield _difference(change, before, now, advice)


def _type_text(key: Any, show_weak: bool) -> str:
    aval = aval_of(key)
    text: str = aval.str_short()
    if show_weak and of_python(key):
        return f"{text} of a Python {_PYTHON_NAMES.get(aval.dtype.kind, 'scalar')}"
    return f"weakly typed {text}" if show_weak and aval.weak_type else text


_PYTHON_NAMES = {"b": "bool", "i": "int", "f": "float", "c": "complex"}


def _advice_on_shapes(change: Change, calls: Calls) -> str:
    """Return advice about a new shape. If the argument has come in `MANY` or more shapes of this rank, advise padding to a few sizes;
    else give the advice for a last, shorter batch, or "" if it is not one.
    """
    rank = len(aval_of(change.now).shape)
    seen = [aval_of(key).shape for key in [*calls.keys_of(change.name), change.now]]
    count = len({shape for shape in seen if len(shape) == rank})
    if count < MANY:
        return batches(aval_of(change.before).shape, aval_of(change.now).shape)
    return of_many_shapes(change.name, calls.counted(count))


def _advice_on_dtypes(change: Change, calls: Calls) -> str:
    old, new = aval_of(change.before), aval_of(change.now)
    if of_python(change.before) and of_python(change.now):
        return literals(old.dtype, new.dtype)
    return cached.on_dtypes(change, calls.now, calls.known)


def _advice_on_weak_types(change: Change, calls: Calls) -> str:
    name = aval_of(change.now).dtype.name
    if of_python(change.before) or of_python(change.now):
        return (
            f"A Python scalar is weakly typed; wrap it in jnp.{name}(...), or in "
            f"jnp.asarray(..., dtype=jnp.{name}), to share the entry."
        )
    if aval_of(change.now).shape == ():  # under `trace`, a Python scalar arrives as its type
        return (
            "A Python scalar, and a value computed from Python scalars alone, is weakly typed; wrap it in "
            f"jnp.{name}(...) to share the entry."
        )
    return (
        "A value computed from Python scalars alone is weakly typed; end the computation with "
        f"`.astype(jnp.{name})` to share the entry."
    )


_TYPE_ADVICE: dict[str, Callable[[Change, Calls], str]] = {
    "shape": _advice_on_shapes,
    "dtype": _advice_on_dtypes,
    "weak type": _advice_on_weak_types,
}


# --- places -------------------------------------------------------------------------------------------------


def _device(change: Change, calls: Calls) -> Iterator[Difference]:
    advice = (
        "Committed arguments decide where a program runs, and it is compiled for that place. `device_put` with a "
        "device commits an array, and so does a computation with committed arguments. Do it for every call, or for none, "
        "to share one entry."
    )
    yield _difference(change, _place(change.before), _place(change.now), advice)


def _place(key: Any) -> str:
    if isinstance(key, Placed):
        return f"committed to {describe_sharding(key.sharding)}"
    return "not committed to a device"


def _host(change: Change, calls: Calls) -> Iterator[Difference]:
    if type(change.before) is type(change.now) is OnHost:
        before, now = ("Python's bool" if of_python(key) else "numpy's bool" for key in (change.before, change.now))
    else:
        before, now = map(_where, (change.before, change.now))
    advice = "Nothing is recompiled for that: the new entry says how the argument gets to the device."
    yield _difference(change, before, now, advice)


def _where(key: Any) -> str:
    if isinstance(key, Elsewhere):
        return f"on {describe_sharding(key.sharding)}, uncommitted"
    return "on the host" if isinstance(key, OnHost) else "on a device"


# --- static values ------------------------------------------------------------------------------------------


def _static(change: Change, calls: Calls) -> Iterator[Difference]:
    old, new = change.before.value, change.now.value
    before, now = shortened_pair(whole_text(old), whole_text(new))
    advice = ""
    if type(old) is not type(new) and safe_equal(old, new):
        before, now = f"{before} ({type(old).__name__})", f"{now} ({type(new).__name__})"
        advice = "Static values of different types are different, even when they are equal."
    elif not safe_equal(new, new):
        advice = (
            f"{now} is not equal to itself, so each call with it is a new one: make {change.name} an ordinary argument."
        )
    elif before == now and isinstance(new, (types.FunctionType, types.MethodType, functools.partial)):
        now = "another function from there"
        where = ", outside of the loop" if source_info.in_loop() else ""
        advice = f"A function is equal to itself only: define it once{where}, and pass what changes as an argument."
    elif before == now and not _defines_equality(type(new)):
        now = "another object that reads the same"
        own = f"{type(new).__name__} has no __eq__, so that each object is a value of its own"
        advice = f"{own}: pass the same object, or {_instead(new, change.name)}."
    elif before == now:
        now = "an unequal one that reads the same"
        if any(not safe_equal(leaf, leaf) for leaf in tree_leaves(new)):
            new_each_time = "It holds a nan, which is not equal to itself, so each call with it may be a new one"
            advice = f"{new_each_time}: make {change.name} an ordinary argument."
    advice = advice or cached.on_functions(change, calls.known) or _advice_on_many(change, calls)
    yield _difference(change, before, now, advice, name=f"{change.name} (static)")


def _instead(value: Any, name: str) -> str:
    """Return the edit for an object whose class has no `__eq__`. An object that holds arrays cannot be static: arrays have no hash."""
    arrays = [
        each
        for each, part in getattr(value, "__dict__", {}).items()
        if any(hasattr(x, "shape") for x in tree_leaves(part))
    ]
    if not arrays:
        return "make the class a frozen dataclass"
    return (
        f"do not make {name} static, since its {arrays[0]} holds arrays: make the class a dataclass, and register it "
        "(`jax.tree_util.register_dataclass`), so that they are traced"
    )


def _defines_equality(cls: type) -> bool:
    return any("__eq__" in vars(base) for base in cls.__mro__[:-1])


def _advice_on_many(change: Change, calls: Calls) -> str:
    statics = [
        argument.static
        for record in calls.known
        for argument in record.arguments
        if argument.name == change.name and argument.static is not None
    ]
    count = len({(type(static.value), static.hash) for static in [*statics, change.now]})
    value = change.now.value
    if count < MANY:
        floats = type(value) is type(change.before.value) is float
        advice = f"A float decides no shape: make {change.name} an ordinary argument, unless Python branches on it, to share one entry."
        return advice if floats else ""
    is_number = isinstance(value, numbers.Number) and not isinstance(value, bool)  # a bool probably chooses a branch
    instead = " If it is a number to compute with, make it an ordinary argument." if is_number else ""
    return f"{change.name} has had {calls.counted(count)} values, and each is compiled for itself.{instead}"


_WORDS: dict[str, Callable[[Change, Calls], Iterator[Difference]]] = {
    "option": _option,
    "jit options": _jit_options,
    "passing": _passing,
    "tree": _tree,
    "static": _static,
    "shape": _type,
    "dtype": _type,
    "weak type": _type,
    "device": _device,
    "host": _host,
}
