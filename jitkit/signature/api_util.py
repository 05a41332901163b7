"""call -> signature + leaves

Finds all that `jit` must know about a call before it looks at any value: which arguments are static, which may be
donated, and the names of leaves for error messages. `argument_spec` says, once for each function, which arguments are
static; this module splits calls accordingly.

A static value is part of the cache key by hash and equality (and exact type: 1, 1.0 and True are three keys), so it
must be hashable and must not change; everything else about a call is its tree of arguments and the aval of each leaf.

JAX: jax/_src/api_util.py:argnums_partial
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..base import edits, source_info
from ..tree_util import keystr, tree_flatten_with_path
from . import argument_errors
from .argument_spec import KEYWORD, POSITIONAL, ArgumentSpec, counted_from_zero, name_of, resolve_spec, signature_of

__all__ = [
    "ArgumentSpec",
    "Arguments",
    "CallForm",
    "Static",
    "argument_name",
    "argument_names",
    "check_callable",
    "counted_from_zero",
    "donated_leaves",
    "form_of",
    "name_of",
    "resolve_spec",
    "signature_of",
    "source_of",
    "split_call",
    "static_key",
]


class Static:
    """A static value as part of a key: equal if type and value are equal.

    `hash` is the hash of `value`, computed once: if it differs later, the value has been mutated.
    """

    __slots__ = ("hash", "value")

    def __init__(self, value: Any) -> None:
        """Keep the value, as `value`, and its hash, as `hash`.

        If `hash(value)` raises a TypeError, raise `argument_errors.unhashable_static(value, error)` instead.
        """
        self.value = value
        try:
            self.hash = hash(value)
        except TypeError as error:
            raise argument_errors.unhashable_static(value, error) from None

    def __hash__(self) -> int:
        """Return the hash that the value had at first."""
        return self.hash

    def __eq__(self, other: object) -> bool:
        """Whether the other is a Static too, whose value is equal to this one's and of exactly the same type."""
        if not isinstance(other, Static) or type(self.value) is not type(other.value):
            return False
        return bool(self.value == other.value)

    def __repr__(self) -> str:
        return repr(self.value)

    @property
    def mutated(self) -> bool:
        """Whether the value's hash has changed since it was first seen."""
        return hash(self.value) != self.hash


class Arguments(NamedTuple):
    """A call, split into dynamic arguments, and static ones with their positions or names."""

    args: tuple[Any, ...]  # the dynamic positional ones
    kwargs: dict[str, Any]  # the dynamic keyword ones
    statics: tuple[tuple[int | str, Static], ...]  # each with its position, or its name
    arity: int  # the number of positional arguments, static ones included

    @property
    def dynamic_positions(self) -> list[int]:
        """Return for each of `args` its position in the call."""
        static = {where for where, _ in self.statics}
        return [i for i in range(self.arity) if i not in static]

    def merged_with(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional and the keyword arguments to call the function with: the static ones in their places,
        and `args` and `kwargs` for the dynamic ones. Leave `args` and `kwargs` as they are.
        """
        static = {where: value.value for where, value in self.statics}
        dynamic = iter(args)
        full = [static[i] if i in static else next(dynamic) for i in range(self.arity)]
        return full, kwargs | {name: value for name, value in static.items() if isinstance(name, str)}


class CallForm(NamedTuple):
    """Says which arguments of a call are static and which are dynamic."""

    positions: tuple[int, ...]  # of the dynamic arguments
    names: tuple[str, ...]  # of the dynamic arguments passed by keyword
    static_positions: tuple[int, ...]
    static_names: tuple[str, ...]

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]:
        """Return the dynamic arguments as `(args, kwargs)`, and the static ones as part of a cache key; see `static_key`."""
        key: list[Any] = []
        for i in self.static_positions:
            key += (i, type(args[i]), args[i])
        for name in self.static_names:
            key += (name, type(kwargs[name]), kwargs[name])
        dynamic = tuple([args[i] for i in self.positions]), {name: kwargs[name] for name in self.names}
        return dynamic, tuple(key)


def static_key(statics: tuple[tuple[int | str, Static], ...]) -> tuple[Any, ...]:
    """Return static arguments as part of a cache key: place, exact type and value of each, in one flat tuple. Such
    tuples compare faster than `Static`s, which a warm call needs.
    """
    return tuple([part for where, static in statics for part in (where, type(static.value), static.value)])


def check_callable(fun: Any) -> None:
    """Raise TypeError for anything that cannot be called, and for a `staticmethod` object or a generator function."""
    if isinstance(fun, staticmethod):
        raise TypeError(f"staticmethod arguments are not supported, got {fun}\nWrite @staticmethod above @jit.")
    if not callable(fun):
        nothing = "\nIt is what a function without `return` gives." if fun is None else edits.NOT_ITS_RESULT
        raise TypeError(f"Expected a callable value, got {fun}{nothing}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"Expected a function, got a generator function: {fun}\nReturn a list instead of yielding.")


# --- once per call: taking the arguments apart --------------------------------------------------------------


def split_call(spec: ArgumentSpec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Return the static arguments of a call, separated from the dynamic ones, which stay in their order. Leave `kwargs` as
    it is.

    The result has a tuple `args` and a dict `kwargs` with the dynamic arguments; `statics`, a tuple; and `arity`, the
    number of positional arguments of the call, static ones included. The statics are pairs of a place and a Static: first
    the positions, from left to right, counted from 0, then the keywords in alphabetical order.

    Ignore what `spec` says about arguments that the call does not have (they were left out, or passed in the other
    way), with one exception: a negative position, which counts from the end of this call's `args`, before the first
    argument is a ValueError: "Positional argument indices, e.g. for `static_argnums`, must have value greater than or
    equal to -len(args) and less than len(args), but got value -2 for len(args) == 1.". `Static` raises another for a
    value without a hash.
    """
    count = len(args)
    if spec.static_argnums and min(spec.static_argnums) < -count:
        raise ValueError(
            "Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal to "
            f"-len(args) and less than len(args), but got value {min(spec.static_argnums)} for len(args) "
            f"== {count}."
        )
    positions = {i % count for i in spec.static_argnums if i < count}
    statics: list[tuple[int | str, Static]] = [(i, Static(args[i])) for i in sorted(positions)]
    statics += [(name, Static(kwargs[name])) for name in sorted({*spec.static_argnames}) if name in kwargs]
    dynamic = tuple([x for i, x in enumerate(args) if i not in positions])
    dynamic_kwargs = {name: x for name, x in kwargs.items() if name not in spec.static_argnames}
    return Arguments(dynamic, dynamic_kwargs, tuple(statics), count)


def form_of(spec: ArgumentSpec, arity: int, names: Sequence[str]) -> CallForm:
    """Return the form of a call with `arity` positional arguments and the keywords `names`."""
    static_positions = tuple(sorted({i % arity for i in spec.static_argnums if -arity <= i < arity}))
    static_names = tuple(sorted(name for name in names if name in spec.static_argnames))
    positions = tuple(i for i in range(arity) if i not in static_positions)
    dynamic = tuple(name for name in names if name not in spec.static_argnames)
    return CallForm(positions, dynamic, static_positions, static_names)


def donated_leaves(spec: ArgumentSpec, arguments: Arguments) -> tuple[bool, ...]:
    """Return for each leaf of the dynamic arguments, in order, whether it is donated; an empty tuple if `spec` donates nothing."""
    if not spec.donate_argnums and not spec.donate_argnames:
        return ()
    count = arguments.arity
    donated = {i % count for i in spec.donate_argnums if -count <= i < count}
    positions = arguments.dynamic_positions
    flags: list[bool] = []
    for path, _ in tree_flatten_with_path((arguments.args, arguments.kwargs))[0]:
        which = path[1]
        if path[0].idx == 0:
            flags.append(positions[which.idx] in donated)
        else:
            flags.append(which.key in spec.donate_argnames)
    return tuple(flags)


# --- names, for messages ------------------------------------------------------------------------------------


def source_of(fun: Callable[..., Any]) -> str:
    """Return `f at /path/file.py:12`, or only the name if there is no source."""
    inner = fun
    while isinstance(inner, functools.partial):
        inner = inner.func
    inner = inspect.unwrap(inner)
    code = getattr(inner, "__code__", None) or getattr(type(inner).__call__, "__code__", None)
    name = name_of(fun)
    if code is None:
        return name
    return f"{name} at {source_info.place(os.path.normpath(code.co_filename), code.co_firstlineno)}"


def argument_names(fun: Callable[..., Any], arguments: Arguments) -> tuple[str, ...]:
    """Return a name for each leaf of the dynamic arguments, in order: `x`, or `params['w'][0]` for a leaf of a tree.

    `positional_names` and `keyword_name` give the parameters' names. The dynamic positional arguments need not be the
    first ones of the call: see `Arguments.dynamic_positions`. In the key path of a leaf of `(args, kwargs)`, the first
    entry says which of the two it is in, the second which argument; `keystr` prints the rest.
    """
    signature = signature_of(fun)
    of_call = positional_names(signature, arguments.arity)
    of_args = [of_call[i] for i in arguments.dynamic_positions]
    names = []
    for path, _ in tree_flatten_with_path((arguments.args, arguments.kwargs))[0]:
        part, which, *rest = path
        name = of_args[which.idx] if part.idx == 0 else keyword_name(signature, which.key)
        names.append(name + keystr(tuple(rest)))
    return tuple(names)


def names_of_whole_arguments(fun: Callable[..., Any], arity: int, by_name: Sequence[str] = ()) -> tuple[str, ...]:
    """Return a name for each argument of a call, whether it is a tree or a leaf: first of the `arity` ones passed by position,
    then of the keywords `by_name`.
    """
    signature = signature_of(fun)
    return (*positional_names(signature, arity), *[keyword_name(signature, name) for name in by_name])


def positional_names(signature: inspect.Signature | None, count: int) -> list[str]:
    """Return the names of the first `count` positional arguments of a call: `x`, `n`, and `args[0]` for what `*args`
    collects.

    Treat a function without a signature (None) as one of `(*args, **kwargs)`.
    """
    parameters = list(signature.parameters.values()) if signature is not None else []
    names = [p.name for p in parameters if p.kind in POSITIONAL][:count]
    collector = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), "args")
    return names + [f"{collector}[{i}]" for i in range(count - len(names))]


def keyword_name(signature: inspect.Signature | None, key: str) -> str:
    """Return the name of a keyword argument: its own, or `kwargs['n']` for what `**kwargs` collects.

    Treat a function without a signature (None) as one of `(*args, **kwargs)`.
    """
    parameters = signature.parameters if signature is not None else {}
    if key in parameters and parameters[key].kind in KEYWORD:
        return key
    kinds = {p.kind: p.name for p in parameters.values()}
    return f"{kinds.get(inspect.Parameter.VAR_KEYWORD, 'kwargs')}[{key!r}]"


def argument_name(fun: Callable[..., Any], arguments: Arguments, index: int) -> str:
    """Return the name of a leaf of a call's dynamic arguments; `index` counts these leaves from 0."""
    return argument_names(fun, arguments)[index]
