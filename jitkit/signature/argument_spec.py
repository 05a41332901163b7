"""jit's options + a function's signature -> ArgumentSpec

When `jit` is applied, decide once which arguments of a function are static, and which may be donated. Users give
positions or names; each is inferred from the other by the function's signature, so that `f(x, n=3)` and `f(x, 3)` agree
on which arguments are static. An option that does not fit the signature is an error here, not in a later call.

JAX: jax/_src/api_util.py:infer_argnums_and_argnames
"""

from __future__ import annotations

import functools
import inspect
import operator
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

# Kinds of parameters that can be passed by position.
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# Kinds of parameters that can be passed by name.
KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ArgumentSpec(NamedTuple):
    """The static and the donated arguments of a function, both by position and by name.

    Positions count from 0. A negative one, counted from the end of the call's positional arguments, is only here if the
    function takes `*args`, or its signature cannot be read.
    """

    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    donate_argnums: tuple[int, ...]
    donate_argnames: tuple[str, ...]

    @property
    def has_statics(self) -> bool:
        """Whether any argument is static."""
        return bool(self.static_argnums or self.static_argnames)


def resolve_spec(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] | None,
    static_argnames: str | Iterable[str] | None,
    donate_argnums: int | Sequence[int] | None,
    donate_argnames: str | Iterable[str] | None,
) -> ArgumentSpec:
    """Return an ArgumentSpec, with names inferred from positions and positions from names, both checked against the
    signature. Raise ValueError for a position out of range, an unknown or positional-only name, or one that is both
    static and donated, TypeError for values of a wrong type.
    """
    if static_argnums is None and static_argnames is None and donate_argnums is None and donate_argnames is None:
        return ArgumentSpec((), (), (), ())  # avoids reading the signature, which takes 50 us
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


def _complete(
    fun: Callable[..., Any],
    signature: inspect.Signature | None,
    argnums: int | Sequence[int] | None,
    argnames: str | Iterable[str] | None,
    kind: str,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    if argnums is None and argnames is None:
        return (), ()
    nums = None if argnums is None else _as_positions(argnums, f"{kind}_argnums")
    names = None if argnames is None else _as_names(argnames, f"{kind}_argnames")
    if signature is None:
        if names is not None and kind == "donate":
            raise ValueError(
                f"Getting the signature of function {fun} failed. Pass donate_argnums instead of donate_argnames."
            )
        return nums or (), names or ()
    check_positions(fun, signature, nums or (), f"{kind}_argnums")
    check_names(fun, signature, names or (), f"{kind}_argnames")
    return infer_missing(signature, nums, names)


def infer_missing(
    signature: inspect.Signature, nums: tuple[int, ...] | None, names: tuple[str, ...] | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the chosen arguments by position and by name: where one of the two is None, infer it from the other.

    Only parameters that can be passed in both ways (POSITIONAL_OR_KEYWORD) have a position and a name to infer. Given
    positions and names are returned unchanged, except for negative positions: they count from the last positional
    parameter, and are converted to positions from 0. In a function with `*args` negative positions are not converted:
    only a call decides what they mean.
    """
    parameters = list(signature.parameters.values())
    both_ways = {i: p.name for i, p in enumerate(parameters) if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD}
    if nums is None:
        return tuple([i for i, name in both_ways.items() if names and name in names]), names or ()
    if not any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        count = sum(p.kind in POSITIONAL for p in parameters)
        nums = tuple(n % count if n < 0 else n for n in nums)
    if names is None:
        names = tuple(name for i, name in both_ways.items() if i in nums)
    return nums, names


def infer_argnums_and_argnames(
    sig: inspect.Signature, argnums: Any, argnames: Any
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the chosen arguments by position and by name, as tuples: see `infer_missing`. (Libraries call JAX's
    private function of this name.)
    """
    nums = None if argnums is None else _as_positions(argnums, "argnums")
    names = None if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if nums is not None and names is not None:
        return nums, names
    return infer_missing(sig, nums if nums is not None or names is not None else (), names)


def _as_positions(argnums: Any, what: str) -> tuple[int, ...]:
    try:
        return (operator.index(argnums),)
    except TypeError:
        pass
    try:
        return tuple(map(operator.index, argnums))
    except TypeError as error:
        by_name = isinstance(argnums, str) or (
            isinstance(argnums, Iterable) and any(isinstance(x, str) for x in argnums)
        )
        names = f" Names are passed as {what.replace('nums', 'names')}={argnums!r}." * by_name
        raise TypeError(f"{error}\n{what} must be an int or a sequence of ints, got {argnums!r}.{names}") from None


def counted_from_zero(positions: Sequence[int], count: int) -> tuple[int, ...]:
    """Return the same positions among `count` arguments, counted from 0: negative ones count from the end. Raise
    ValueError for one out of range.
    """
    for i in positions:
        if not -count <= i < count:
            raise ValueError(
                "Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal to "
                f"-len(args) and less than len(args), but got value {i} for len(args) == {count}."
            )
    return tuple(i % count for i in positions)


def _as_names(argnames: str | Iterable[str], what: str) -> tuple[str, ...]:
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"argument is not a string: {name}\n{what} must be a string or a sequence of strings.")
    return names


def check_positions(fun: Callable[..., Any], signature: inspect.Signature, nums: tuple[int, ...], what: str) -> None:
    """Raise ValueError for a position at which the function takes no positional argument. Position -1 is the last positional
    parameter.

    A function with `*args` takes all positions. `what` is the name of the option. The error has two lines:

        Jitted function has static_argnums=(3,), but only accepts 2 positional arguments.
        The function is f(x, n).
    """
    kinds = [p.kind for p in signature.parameters.values()]
    if not nums or inspect.Parameter.VAR_POSITIONAL in kinds:
        return
    count = sum(kind in POSITIONAL for kind in kinds)
    if -min(nums) > count or max(nums) >= count:
        raise ValueError(
            f"Jitted function has {what}={nums}, but only accepts {count} positional arguments.\n"
            f"The function is {name_of(fun)}{signature}."
        )


def check_names(fun: Callable[..., Any], signature: inspect.Signature, names: tuple[str, ...], what: str) -> None:
    """Raise ValueError for a name by which the function takes no argument.

    First, the names of positional-only parameters and of `*args`, even if there is a `**kwargs`, and all of them in one error:

        Jitted function has invalid argnames {'x'} in static_argnames. These are positional-only

    Then the names that no parameter with a kind in `KEYWORD` has, unless a `**kwargs` takes them:

        Jitted function has invalid argnames {'m'} in static_argnames. Function does not take these args.
        The function is f(x, n).
    """
    kinds = {p.name: p.kind for p in signature.parameters.values()}
    never_by_name = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    positional_only = {name for name in names if kinds.get(name) in never_by_name}
    if positional_only:
        raise ValueError(f"Jitted function has invalid argnames {positional_only} in {what}. These are positional-only")
    unknown = {name for name in names if kinds.get(name) not in KEYWORD}
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds.values():
        raise ValueError(
            f"Jitted function has invalid argnames {unknown} in {what}. Function does not take these args.\n"
            f"The function is {name_of(fun)}{signature}."
        )


# --- functions ----------------------------------------------------------------------------------------------


def name_of(fun: Callable[..., Any]) -> str:
    """Return a function's name for jaxprs and messages; a partial is named after its function."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    name = getattr(fun, "__name__", None)  # a library's object may have something else there
    return name if isinstance(name, str) else "<unnamed function>"


_signatures: weakref.WeakKeyDictionary[Any, inspect.Signature] = weakref.WeakKeyDictionary()


def signature_of(fun: Callable[..., Any]) -> inspect.Signature | None:
    """Return the function's signature; None for callables without one (some builtins). Cached: it takes 50 us."""
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
