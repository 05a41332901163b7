"""call -> signature + leaves

What `jit` knows of a call before it looks at any value: which arguments are static, which may be donated, what each leaf is
called in error messages. `argument_spec` says, once for each function, what is static; here a call is taken apart by it.

A static value is part of the cache key by hash and equality (and exact type: 1, 1.0 and True are three keys),
so it must be hashable and must not change; everything else about a call is its tree of arguments and the aval
of each leaf.

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
    """A static value as part of a key: equal when type and value are equal.

    The hash is taken once and remembered: a value whose hash is another one later has been mutated.
    """

    __slots__ = ("hash", "value")

    def __init__(self, value: Any) -> None:
        """Keep the value, as `value`, and its hash, as `hash`.

        Where `hash(value)` ends in a TypeError, `argument_errors.unhashable_static(value, error)` is the one to raise.
        """
        self.value = value
        try:
            self.hash = hash(value)
        except TypeError as error:
            raise argument_errors.unhashable_static(value, error) from None

    def __hash__(self) -> int:
        """The hash that the value had."""
        return self.hash

    def __eq__(self, other: object) -> bool:
        """Whether the other is a Static too, whose value is equal to this one's and of the same type, exactly."""
        if not isinstance(other, Static) or type(self.value) is not type(other.value):
            return False
        return bool(self.value == other.value)

    def __repr__(self) -> str:
        return repr(self.value)

    @property
    def mutated(self) -> bool:
        """Whether the value hashes otherwise than when it was first seen."""
        return hash(self.value) != self.hash


class Arguments(NamedTuple):
    """A call taken apart: the dynamic arguments, and the static ones with where they belong."""

    args: tuple[Any, ...]  # the dynamic ones by place
    kwargs: dict[str, Any]  # those by name
    statics: tuple[tuple[int | str, Static], ...]  # each with its place, or its name
    arity: int  # how many positional arguments there were, static ones included

    @property
    def dynamic_positions(self) -> list[int]:
        """For each of `args`, where it stood in the call."""
        static = {where for where, _ in self.statics}
        return [i for i in range(self.arity) if i not in static]

    def merged_with(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The positional and the keyword arguments to call the function with: the static ones in their places, and `args`
        and `kwargs` for the dynamic ones.
        """
        static = {where: value.value for where, value in self.statics}
        dynamic = iter(args)
        full = [static[i] if i in static else next(dynamic) for i in range(self.arity)]
        return full, kwargs | {name: value for name, value in static.items() if isinstance(name, str)}


class CallForm(NamedTuple):
    """How a call with static arguments looks from outside: which of its arguments are static, and which are
    not.
    """

    positions: tuple[int, ...]
    names: tuple[str, ...]
    static_positions: tuple[int, ...]
    static_names: tuple[str, ...]

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]:
        """The dynamic arguments as `(args, kwargs)`, and the static ones as part of a cache key; see
        `static_key`.
        """
        key: list[Any] = []
        for i in self.static_positions:
            key += (i, type(args[i]), args[i])
        for name in self.static_names:
            key += (name, type(kwargs[name]), kwargs[name])
        dynamic = tuple([args[i] for i in self.positions]), {name: kwargs[name] for name in self.names}
        return dynamic, tuple(key)


def static_key(statics: tuple[tuple[int | str, Static], ...]) -> tuple[Any, ...]:
    """Static arguments as part of a cache key: where, exact type and value of the first, of the second, and so on, in
    one flat tuple. Such tuples compare faster than `Static`s, which is what a warm call needs.
    """
    return tuple([part for where, static in statics for part in (where, type(static.value), static.value)])


def check_callable(fun: Any) -> None:
    """TypeError unless `fun` is something that `jit` can call, and whose result is there when it returns."""
    if isinstance(fun, staticmethod):
        raise TypeError(f"staticmethod arguments are not supported, got {fun}\nWrite @staticmethod above @jit.")
    if not callable(fun):
        nothing = "\nIt is what a function without `return` gives." if fun is None else edits.NOT_ITS_RESULT
        raise TypeError(f"Expected a callable value, got {fun}{nothing}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"Expected a function, got a generator function: {fun}\nReturn a list instead of yielding.")


# --- once per call: taking the arguments apart --------------------------------------------------------------


def split_call(spec: ArgumentSpec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Separate the static arguments of a call from the dynamic ones, which stay in their order.

    The result has a tuple `args` and a dict `kwargs` of the dynamic ones; `statics`, a tuple; and `arity`, how many positional
    arguments the call has, static ones included. The statics are pairs of a place and a Static: first positions, from left
    to right, counted from 0, then keywords in the order of the alphabet.

    What `spec` says of arguments that the call does not have (they were left out, or passed
    in the other way) has no effect, with one exception: of negative positions, which count from the end of this call's `args`,
    one before the first argument is a ValueError: "Positional argument indices, e.g. for `static_argnums`, must have value
    greater than or equal to -len(args) and less than len(args), but got value -2 for len(args) == 1.". `Static` raises
    another for a value without a hash.
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
    statics += [(name, Static(kwargs[name])) for name in sorted(spec.static_argnames) if name in kwargs]
    dynamic = tuple([x for i, x in enumerate(args) if i not in positions])
    dynamic_kwargs = {name: x for name, x in kwargs.items() if name not in spec.static_argnames}
    return Arguments(dynamic, dynamic_kwargs, tuple(statics), count)


def form_of(spec: ArgumentSpec, arity: int, names: Sequence[str]) -> CallForm:
    """The form of a call with `arity` positional arguments and these keywords."""
    static_positions = tuple(sorted({i % arity for i in spec.static_argnums if -arity <= i < arity}))
    static_names = tuple(sorted(name for name in names if name in spec.static_argnames))
    positions = tuple(i for i in range(arity) if i not in static_positions)
    dynamic = tuple(name for name in names if name not in spec.static_argnames)
    return CallForm(positions, dynamic, static_positions, static_names)


def donated_leaves(spec: ArgumentSpec, arguments: Arguments) -> tuple[bool, ...]:
    """For each leaf of the dynamic arguments, in order, whether its buffer is given away."""
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
    """`f at /path/file.py:12`, or only the name when there is no source."""
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
    """A name for each leaf of the dynamic arguments, in order: `x`, or `params['w'][0]` for a leaf of a tree.

    What the parameters are called, `positional_names` and `keyword_name` know. The dynamic positional arguments need not
    have been the first ones of the call: see `Arguments.dynamic_positions`. The key paths of the leaves of `(args, kwargs)` begin
    with two entries, one for the pair and one for the argument; `keystr` prints the rest.
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


def positional_names(signature: inspect.Signature | None, count: int) -> list[str]:
    """What the first `count` positional arguments of a call are called: `x`, `n`, and `args[0]` for what `*args` collects.

    A function without a signature (None) is taken for one of `(*args, **kwargs)`.
    """
    parameters = list(signature.parameters.values()) if signature is not None else []
    names = [p.name for p in parameters if p.kind in POSITIONAL][:count]
    collector = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), "args")
    return names + [f"{collector}[{i}]" for i in range(count - len(names))]


def keyword_name(signature: inspect.Signature | None, key: str) -> str:
    """What a keyword argument is called: its name, or `kwargs['n']` for what `**kwargs` collects.

    A function without a signature (None) is taken for one of `(*args, **kwargs)`.
    """
    parameters = signature.parameters if signature is not None else {}
    if key in parameters and parameters[key].kind in KEYWORD:
        return key
    kinds = {p.kind: p.name for p in parameters.values()}
    return f"{kinds.get(inspect.Parameter.VAR_KEYWORD, 'kwargs')}[{key!r}]"


def argument_name(fun: Callable[..., Any], arguments: Arguments, index: int) -> str:
    """The name of one leaf."""
    return argument_names(fun, arguments)[index]
