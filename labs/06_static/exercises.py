"""06 Static arguments: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 06.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from jitkit.signature import argument_errors
from jitkit.signature.argument_spec import ArgumentSpec, KEYWORD, POSITIONAL, name_of, signature_of
from jitkit.tree_util import keystr, tree_flatten_with_path


# --- 06.1 Numbers and names (2 points) ----------------------------------------------------------------------
# `static_argnums=1` and `static_argnames="n"` mean the same argument of `f(x, n)`. Infer each from the other.


def infer_missing(
    signature: inspect.Signature, nums: tuple[int, ...] | None, names: tuple[str, ...] | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the chosen arguments by position and by name: where one of the two is None, infer it
    from the other.

    Only parameters that can be passed in both ways (POSITIONAL_OR_KEYWORD) have a position and a
    name to infer. Given positions and names are returned unchanged, except for negative positions:
    they count from the last positional parameter, and are converted to positions from 0. In a
    function with `*args` negative positions are not converted: only a call decides what they mean.
    """
    raise NotImplementedError("06.1")


# --- 06.2 What does not fit (2 points) ----------------------------------------------------------------------
# A position or a name that the function does not have is most often a typo. Raise an error when `jit` is
# applied; it names the function and what it takes.


def check_positions(
    fun: Callable[..., Any], signature: inspect.Signature, nums: tuple[int, ...], what: str
) -> None:
    """Raise ValueError for a position at which the function takes no positional argument. Position
    -1 is the last positional parameter.

    A function with `*args` takes all positions. `what` is the name of the option. The error has two
    lines:

        Jitted function has static_argnums=(3,), but only accepts 2 positional arguments.
        The function is f(x, n).
    """
    raise NotImplementedError("06.2")


def check_names(
    fun: Callable[..., Any], signature: inspect.Signature, names: tuple[str, ...], what: str
) -> None:
    """Raise ValueError for a name by which the function takes no argument.

    First, the names of positional-only parameters and of `*args`, even if there is a `**kwargs`,
    and all of them in one error:

        Jitted function has invalid argnames {'x'} in static_argnames. These are positional-only

    Then the names that no parameter with a kind in `KEYWORD` has, unless a `**kwargs` takes them:

        Jitted function has invalid argnames {'m'} in static_argnames. Function does not take these args.
        The function is f(x, n).
    """
    raise NotImplementedError("06.2")


# --- 06.3 Take a call apart (3 points) ----------------------------------------------------------------------
# Separate the static arguments of a call from the others. Later put them together again, with tracers in
# place of the others.


def split_call(spec: ArgumentSpec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Return the static arguments of a call, separated from the dynamic ones, which stay in their
    order. Leave `kwargs` as it is.

    The result has a tuple `args` and a dict `kwargs` with the dynamic arguments; `statics`, a
    tuple; and `arity`, the number of positional arguments of the call, static ones included. The
    statics are pairs of a place and a Static: first the positions, from left to right, counted from
    0, then the keywords in alphabetical order.

    Ignore what `spec` says about arguments that the call does not have (they were left out, or
    passed in the other way), with one exception: a negative position, which counts from the end of
    this call's `args`, before the first argument is a ValueError: "Positional argument indices,
    e.g. for `static_argnums`, must have value greater than or equal to -len(args) and less than
    len(args), but got value -2 for len(args) == 1.". `Static` raises another for a value without a
    hash.
    """
    raise NotImplementedError("06.3")


class Arguments:
    def merged_with(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional and the keyword arguments to call the function with: the static
        ones in their places, and `args` and `kwargs` for the dynamic ones. Leave `args` and
        `kwargs` as they are.
        """
        raise NotImplementedError("06.3")


# --- 06.4 Values in a key (3 points) ------------------------------------------------------------------------
# Compiled code is found by the values of static arguments. When are two values the same to a program? What if
# a value changes?


class Static:
    def __init__(self, value: Any) -> None:
        """Keep the value, as `value`, and its hash, as `hash`.

        If `hash(value)` raises a TypeError, raise `argument_errors.unhashable_static(value, error)`
        instead.
        """
        raise NotImplementedError("06.4")

    def __hash__(self) -> int:
        """Return the hash that the value had at first."""
        raise NotImplementedError("06.4")

    def __eq__(self, other: object) -> bool:
        """Whether the other is a Static too, whose value is equal to this one's and of exactly the
        same type.
        """
        raise NotImplementedError("06.4")


def static_key(statics: tuple[tuple[int | str, Static], ...]) -> tuple[Any, ...]:
    """Return static arguments as part of a cache key: place, exact type and value of each, in one
    flat tuple. Such tuples compare faster than `Static`s, which a warm call needs.
    """
    raise NotImplementedError("06.4")


# --- 06.5 What a leaf is called (3 points) ------------------------------------------------------------------
# After splitting and flattening, an argument is leaf number 3. In an error it should be `params['w']` again.


def argument_names(fun: Callable[..., Any], arguments: Arguments) -> tuple[str, ...]:
    """Return a name for each leaf of the dynamic arguments, in order: `x`, or `params['w'][0]` for
    a leaf of a tree.

    `positional_names` and `keyword_name` give the parameters' names. The dynamic positional
    arguments need not be the first ones of the call: see `Arguments.dynamic_positions`. In the key
    path of a leaf of `(args, kwargs)`, the first entry says which of the two it is in, the second
    which argument; `keystr` prints the rest.
    """
    raise NotImplementedError("06.5")


def positional_names(signature: inspect.Signature | None, count: int) -> list[str]:
    """Return the names of the first `count` positional arguments of a call: `x`, `n`, and `args[0]`
    for what `*args` collects.

    Treat a function without a signature (None) as one of `(*args, **kwargs)`.
    """
    raise NotImplementedError("06.5")


def keyword_name(signature: inspect.Signature | None, key: str) -> str:
    """Return the name of a keyword argument: its own, or `kwargs['n']` for what `**kwargs`
    collects.

    Treat a function without a signature (None) as one of `(*args, **kwargs)`.
    """
    raise NotImplementedError("06.5")
