"""06 Static arguments: the solutions, as the reference has them, and why."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from jitkit.signature import argument_errors
from jitkit.signature.argument_spec import ArgumentSpec, KEYWORD, POSITIONAL, name_of, signature_of
from jitkit.tree_util import keystr, tree_flatten_with_path


# --- 06.1 Numbers and names ---------------------------------------------------------------------------------
# Python lets the caller choose between `f(x, 3)` and `f(x, n=3)`, so what is static must not depend on it.
# The function's signature is looked at once, when `jit` is applied; the calls only use the result. With
# `*args` each call may have another number of positional arguments, so negative positions are resolved at the
# call.
#
# Usual mistakes:
#   - Inferring although both were given.
#   - Counting keyword-only parameters among the positions.
#   - Resolving negative positions of a function with `*args`.
#
# In JAX: jax/_src/api_util.py:infer_argnums_and_argnames


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


# --- 06.2 What does not fit ---------------------------------------------------------------------------------
# Ignoring the option would be the worst answer: the argument is traced, and an error comes much later, about
# something else. So the check is made as early as possible, and its error has all that is needed to fix the
# mistake: what was given, what there is, and the function.
#
# Usual mistakes:
#   - Forgetting that `-1` is the last position, and `-count` the first.
#   - Letting `**kwargs` excuse the name of a positional-only parameter.
#
# In JAX: jax/_src/api_util.py:_validate_argnums


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


# --- 06.3 Take a call apart ---------------------------------------------------------------------------------
# The dynamic arguments are a tree like any other: flattened, abstracted, traced. The static ones skip all
# that, and join the tracers again when the function is called. The places are a part of the key: `f(2, 3)`
# with the first argument static is not the same program as with the second.
#
# Usual mistakes:
#   - Putting the static arguments after the others.
#   - Failing when a static argument was left out or passed by name.
#   - Using `i % count` without checking how low i is: `-3 % 2` is 1.
#
# In JAX: jax/_src/api_util.py:argnums_partial


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


class Arguments:
    def merged_with(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional and the keyword arguments to call the function with: the static ones in their places,
        and `args` and `kwargs` for the dynamic ones. Leave `args` and `kwargs` as they are.
        """
        static = {where: value.value for where, value in self.statics}
        dynamic = iter(args)
        full = [static[i] if i in static else next(dynamic) for i in range(self.arity)]
        return full, kwargs | {name: value for name, value in static.items() if isinstance(name, str)}


# --- 06.4 Values in a key -----------------------------------------------------------------------------------
# Hash and equality are the contract of static arguments. If they say that two values are equal, the program
# of the first runs for the second, whatever else is different in them. So arrays cannot be static: they have
# no hash, and their `==` gives an array. Lists cannot be static, since they change. As in JAX, the type of
# the value itself counts, and not the types of its items: `(0, 1)` and `(0, True)` are one key, because
# tuples compare like that.
#
# Usual mistakes:
#   - Comparing by identity: a tuple that is made in each call would compile each time.
#   - Comparing hashes only: different values may have the same hash.
#   - Leaving out the place, or the type, in the key.
#   - Giving unhashable values a hash by `id`: then a list that was changed finds old code.
#
# In JAX: jax/_src/api_util.py:_HashableWithStrictTypeEquality


class Static:
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


def static_key(statics: tuple[tuple[int | str, Static], ...]) -> tuple[Any, ...]:
    """Return static arguments as part of a cache key: place, exact type and value of each, in one flat tuple. Such
    tuples compare faster than `Static`s, which a warm call needs.
    """
    return tuple([part for where, static in statics for part in (where, type(static.value), static.value)])


# --- 06.5 What a leaf is called -----------------------------------------------------------------------------
# A jaxpr does not know what an argument was called. This function does, so errors, `explain` and the memory
# report can use the user's names. It runs only when it is needed: names take more time than the rest of a
# call.
#
# Usual mistakes:
#   - Numbering the dynamic arguments as if there were no static ones before them.
#   - Using a parameter's name for a keyword that `**kwargs` collects: `def f(x, /, **kw)` may be called with
#     `x=`.
#   - Requiring a signature: some builtin functions have none.
#
# In JAX: jax/_src/api_util.py:_non_static_arg_names


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
