"""call -> signature + leaves

What `jit` knows about the arguments of a function before it looks at any value: which are static, which may
be donated, what each leaf is called in error messages. Static arguments may be named by position or by
keyword, and each form is inferred from the other by the function's signature, so that `f(x, n=3)` and `f(x,
3)` agree on what is static.

A static value is part of the cache key by hash and equality (and exact type: 1, 1.0 and True are three keys),
so it must be hashable and must not change; everything else about a call is its tree of arguments and the aval
of each leaf.

JAX: jax/_src/api_util.py:resolve_argnums
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, SupportsIndex

from . import argument_errors
from .tree_util import keystr, tree_flatten_with_path

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Static:
    """A static value as part of a key: equal when type and value are equal.

    The hash is taken once and remembered: a value whose hash is another one later has been mutated.
    """

    __slots__ = ("hash", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.hash = hash(value)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static) or type(self.value) is not type(other.value):
            return False
        return bool(self.value == other.value)

    def __repr__(self) -> str:
        return repr(self.value)

    @property
    def mutated(self) -> bool:
        """Whether the value hashes otherwise than when it was first seen."""
        return hash(self.value) != self.hash


class ArgumentSpec(NamedTuple):
    """Which arguments of a function are static and which are donated, both by position and by name.

    Positions are negative, counted from the end of the call's positional arguments, only for functions that
    take any number of them (`*args`).
    """

    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    donate_argnums: tuple[int, ...]
    donate_argnames: tuple[str, ...]

    @property
    def has_statics(self) -> bool:
        """Whether anything is static."""
        return bool(self.static_argnums or self.static_argnames)


class Arguments(NamedTuple):
    """A call taken apart: the dynamic arguments, and the static ones with where they belong."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    statics: tuple[tuple[int | str, Static], ...]
    arity: int  # how many positional arguments there were, static ones included

    def merged_with(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The full argument list again, with other values for the dynamic arguments."""
        at = {where: static.value for where, static in self.statics}
        rest = iter(args)
        full = [at[i] if i in at else next(rest) for i in range(self.arity)]
        return full, kwargs | {name: value for name, value in at.items() if isinstance(name, str)}


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
    """Static arguments as part of a cache key: where, exact type and value of each. Tuples compare faster
    than `Static`s, which is what a warm call needs.
    """
    return tuple(part for where, static in statics for part in (where, type(static.value), static.value))


def check_callable(fun: Any) -> None:
    """TypeError unless `fun` is something that `jit` can call, and whose result is there when it returns."""
    if isinstance(fun, staticmethod):
        raise TypeError(
            f"staticmethod arguments are not supported, got {fun}\nWrite @staticmethod above @jit."
        )
    if not callable(fun):
        nothing = "\nIt is what a function without `return` gives." if fun is None else ""
        raise TypeError(f"Expected a callable value, got {fun}{nothing}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(
            f"Expected a function, got a generator function: {fun}\nReturn a list instead of yielding."
        )


# --- once per jit: which arguments are static ---------------------------------------------------------------


def resolve_spec(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] | None,
    static_argnames: str | Iterable[str] | None,
    donate_argnums: int | Sequence[int] | None,
    donate_argnames: str | Iterable[str] | None,
) -> ArgumentSpec:
    """Complete positions by names and names by positions, and check both against the signature.

    ValueError for a position out of range, an unknown or positional-only name, one given twice, or one that
    is both static and donated; TypeError for values of a wrong type.
    """
    if (
        static_argnums is None
        and static_argnames is None
        and donate_argnums is None
        and donate_argnames is None
    ):
        return ArgumentSpec((), (), (), ())  # without a look at the signature, which takes 50 us
    signature = signature_of(fun)
    static_nums, static_names = _complete(fun, signature, static_argnums, static_argnames, "static")
    donate_nums, donate_names = _complete(fun, signature, donate_argnums, donate_argnames, "donate")
    for static, donated, what, kind in (
        (static_names, donate_names, "argnames", "names"),
        (static_nums, donate_nums, "argnums", "numbers"),
    ):
        if both := set(static) & set(donated):
            raise ValueError(
                f"static_{what} and donate_{what} cannot intersect. Argument {kind} {both} appear in both "
                f"static_{what} and donate_{what}\n"
                f"The function is {name_of(fun)}. A static argument has no buffer to give away."
            )
    return ArgumentSpec(static_nums, static_names, donate_nums, donate_names)


_signatures: weakref.WeakKeyDictionary[Any, inspect.Signature] = weakref.WeakKeyDictionary()


def signature_of(fun: Callable[..., Any]) -> inspect.Signature | None:
    """The function's signature, or None for callables that have none (some builtins). Remembered: it takes 50 us."""
    try:
        known = _signatures.get(fun)
        if known is None:
            known = _signatures[fun] = inspect.signature(fun)
        return known
    except (ValueError, TypeError):
        return _uncached_signature(fun)


def _uncached_signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def _complete(
    fun: Callable[..., Any],
    signature: inspect.Signature | None,
    argnums: int | Sequence[int] | None,
    argnames: str | Iterable[str] | None,
    kind: str,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    nums = None if argnums is None else _as_positions(argnums, f"{kind}_argnums")
    names = None if argnames is None else _as_names(argnames, f"{kind}_argnames")
    if signature is None:
        if names is not None and kind == "donate":
            raise ValueError(
                f"Getting the signature of function {fun} failed. Pass donate_argnums instead of "
                "donate_argnames."
            )
        return nums or (), names or ()
    _check_positions(fun, signature, nums or (), f"{kind}_argnums")
    _check_names(fun, signature, names or (), f"{kind}_argnames")
    return _infer_missing(signature, nums, names)


def _infer_missing(
    signature: inspect.Signature, nums: tuple[int, ...] | None, names: tuple[str, ...] | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions from names or names from positions, where only one of them was given. Negative positions
    become others, unless the function takes any number of arguments.
    """
    parameters = list(signature.parameters.values())
    named = [
        (i, p.name) for i, p in enumerate(parameters) if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    if nums is None:
        return tuple(i for i, name in named if names and name in names), names or ()
    if not any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        count = sum(p.kind in _POSITIONAL for p in parameters)
        nums = tuple(n % count if n < 0 else n for n in nums)
    return nums, tuple(name for i, name in named if i in nums) if names is None else names


def _as_positions(argnums: int | Sequence[int], what: str) -> tuple[int, ...]:
    try:
        several = (argnums,) if isinstance(argnums, SupportsIndex) else argnums
        positions = tuple(map(operator.index, several))
    except TypeError as error:
        raise TypeError(f"{error}\n{what} must be an int or a sequence of ints, got {argnums!r}.") from None
    return _without_duplicates(positions, what)


def _as_names(argnames: str | Iterable[str], what: str) -> tuple[str, ...]:
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"argument is not a string: {name!r}\n{what} must be a string or a sequence of strings."
            )
    return _without_duplicates(names, what)


def _without_duplicates(entries: tuple[Any, ...], what: str) -> tuple[Any, ...]:
    repeated = sorted({entry for entry in entries if entries.count(entry) > 1})
    if repeated:
        raise ValueError(
            f"{what}={entries} names {', '.join(map(repr, repeated))} more than once. Write each argument "
            "once."
        )
    return entries


def _check_positions(
    fun: Callable[..., Any], signature: inspect.Signature, nums: tuple[int, ...], what: str
) -> None:
    parameters = signature.parameters.values()
    if not nums or any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return
    count = sum(p.kind in _POSITIONAL for p in parameters)
    if -min(nums) > count or max(nums) >= count:
        raise ValueError(
            f"Jitted function has {what}={nums}, but only accepts {count} positional arguments.\n"
            f"The function is {name_of(fun)}{signature}."
        )


def _check_names(
    fun: Callable[..., Any], signature: inspect.Signature, names: tuple[str, ...], what: str
) -> None:
    by_kind = {p.name: p.kind for p in signature.parameters.values()}
    positional_only = {
        name
        for name in names
        if by_kind.get(name) in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    }
    if positional_only:
        raise ValueError(
            f"Jitted function has invalid argnames {positional_only} in {what}. These are positional-only"
        )
    if inspect.Parameter.VAR_KEYWORD in by_kind.values():
        return
    unknown = {name for name in names if by_kind.get(name) not in _KEYWORD}
    if unknown:
        raise ValueError(
            f"Jitted function has invalid argnames {unknown} in {what}. Function does not take these args.\n"
            f"The function is {name_of(fun)}{signature}."
        )


# --- once per call: taking the arguments apart --------------------------------------------------------------


def split_call(spec: ArgumentSpec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Separate static from dynamic arguments. ValueError for a static value that cannot be hashed."""
    if not spec.static_argnums and not spec.static_argnames:
        return Arguments(args, kwargs, (), len(args))
    count = len(args)
    if spec.static_argnums and min(spec.static_argnums) < -count:
        raise ValueError(
            "Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal "
            "to "
            f"-len(args) and less than len(args), but got value {min(spec.static_argnums)} for len(args) "
            f"== {count}."
        )
    positions = {i % count for i in spec.static_argnums if i < count}
    statics: list[tuple[int | str, Static]] = [(i, _hashed(args[i])) for i in sorted(positions)]
    statics += [(name, _hashed(kwargs[name])) for name in sorted(spec.static_argnames) if name in kwargs]
    dynamic = tuple(x for i, x in enumerate(args) if i not in positions)
    dynamic_kwargs = {name: x for name, x in kwargs.items() if name not in spec.static_argnames}
    return Arguments(dynamic, dynamic_kwargs, tuple(statics), count)


def _hashed(value: Any) -> Static:
    try:
        return Static(value)
    except TypeError as error:
        raise argument_errors.unhashable_static(value, error) from None


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
    static_positions = {where for where, _ in arguments.statics}
    positions = [i for i in range(count) if i not in static_positions]
    flags: list[bool] = []
    for path, _ in tree_flatten_with_path((arguments.args, arguments.kwargs))[0]:
        which = path[1]
        if path[0].idx == 0:
            flags.append(positions[which.idx] in donated)
        else:
            flags.append(which.key in spec.donate_argnames)
    return tuple(flags)


# --- names, for messages ------------------------------------------------------------------------------------


def name_of(fun: Callable[..., Any]) -> str:
    """What a function is called in jaxprs and messages; a partial is called after its function."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return str(getattr(fun, "__name__", "<unnamed function>"))


def source_of(fun: Callable[..., Any]) -> str:
    """`f at /path/file.py:12`, or only the name when there is no source."""
    inner = fun
    while isinstance(inner, functools.partial):
        inner = inner.func
    inner = inspect.unwrap(inner)
    code = getattr(inner, "__code__", None) or getattr(type(inner).__call__, "__code__", None)
    name = name_of(fun)
    return name if code is None else f"{name} at {os.path.normpath(code.co_filename)}:{code.co_firstlineno}"


def argument_names(fun: Callable[..., Any], arguments: Arguments) -> tuple[str, ...]:
    """A name for each leaf of the dynamic arguments, as the function's signature has it."""
    paths = [path for path, _ in tree_flatten_with_path((arguments.args, arguments.kwargs))[0]]
    signature = signature_of(fun)
    static_positions = {where for where, _ in arguments.statics}
    positions = [i for i in range(arguments.arity) if i not in static_positions]
    names = _positional_names(signature, arguments.arity)
    by_keyword = signature is not None and {
        p.name for p in signature.parameters.values() if p.kind in _KEYWORD
    }
    out = []
    for path in paths:
        which, rest = path[1], path[2:]
        if path[0].idx == 0:
            out.append(names[positions[which.idx]] + keystr(rest))
        elif by_keyword and which.key in by_keyword:
            out.append(which.key + keystr(rest))
        else:
            out.append(f"{_keyword_collector(signature)}[{which.key!r}]{keystr(rest)}")
    return tuple(out)


def _positional_names(signature: inspect.Signature | None, count: int) -> list[str]:
    if signature is None:
        return [f"args[{i}]" for i in range(count)]
    parameters = list(signature.parameters.values())
    names = [p.name for p in parameters if p.kind in _POSITIONAL][:count]
    collector = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), "args")
    return names + [f"{collector}[{i}]" for i in range(count - len(names))]


def _keyword_collector(signature: inspect.Signature | None) -> str:
    parameters = signature.parameters.values() if signature is not None else ()
    return next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD), "kwargs")


def argument_name(fun: Callable[..., Any], arguments: Arguments, index: int) -> str:
    """The name of one leaf."""
    return argument_names(fun, arguments)[index]
