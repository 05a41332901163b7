"""numbered equations -> which of them compute a value that is there already, and where their operands come from

What a compiler's simplifier finds out is found here from the equations alone: two that do the same with the same operands (common
subexpressions), one that changes nothing (`x + 0`, `x * 1`, a reshape to the same shape), one that undoes another (a transpose of a
transpose), one that depends on no argument (a constant). So it can be said why an operation is not there any more, once it is known
that it is not.

JAX: jax/_src/interpreters/partial_eval.py:dce_jaxpr
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from .equation import Dialect, Equation, Unchanged

# By primitive: the constant that leaves the other operand as it is, whether it may be the first one, and that in words.
_NEUTRAL = {
    "add": (0, True, "x + {} is x"), "add_any": (0, True, "x + {} is x"), "sub": (0, False, "x - {} is x"),
    "mul": (1, True, "x * {} is x"), "div": (1, False, "x / {} is x"), "pow": (1, False, "x ** {} is x"),
    "max": (-math.inf, True, "max(x, {}) is x"), "min": (math.inf, True, "min(x, {}) is x"), "or": (0, True, "x | {} is x"),
    "xor": (0, True, "x ^ {} is x"), "shift_left": (0, False, "x << {} is x"),
}  # fmt: skip
_RESHAPES = frozenset({"reshape", "squeeze", "expand_dims", "broadcast_in_dim"})
# each with its parameters of no effect
_KEEPS = _RESHAPES | {"convert_element_type", "copy", "copy_p", "slice", "transpose"}
_REDUCES = frozenset({"reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "reduce_xor"})
_UNDOES_ITSELF = frozenset({"neg", "not", "rev", "conj"})
# Equations that run one jaxpr: their operands are its arguments, and its results theirs.
_CALLS = frozenset(
    {"jit", "pjit", "closed_call", "core_call", "remat", "checkpoint", "custom_jvp_call", "custom_vjp_call"}
)


def jaxprs_of(eqn: Any, dialect: Dialect) -> Iterator[Any]:
    """The jaxprs among an equation's parameters."""
    for value in eqn.params.values():
        for item in value if type(value) in (tuple, list) else (value,):
            inner = dialect.inside(item)
            if inner is not None:
                yield inner


# --- what is the same -----------------------------------------------------------------------------------------


def find_same(jaxpr: Any, equations: list[Equation], by_eqn: dict[int, int], dialect: Dialect, seen: set[int]) -> None:
    """Number the values of a jaxpr, as compilers do: two equations that do the same with the same operands are one."""
    if id(jaxpr) in seen:
        return
    seen.add(id(jaxpr))
    value_of: dict[int, Any] = {}
    makers: dict[int, Any] = {}
    constant: set[int] = set()
    filled: dict[int, Any] = {}  # variables all of whose elements are one number
    alike: dict[Any, list[int]] = {}

    def value(atom: Any) -> Any:
        if dialect.is_literal(atom):
            return ("literal", str(atom.val), str(atom.aval))
        return value_of.get(id(atom), id(atom))

    def number_in(atom: Any) -> Any:
        if dialect.is_literal(atom):
            return atom.val.item() if hasattr(atom.val, "item") else atom.val
        return filled.get(id(atom))

    for eqn in jaxpr.eqns:
        number = by_eqn[id(eqn)]
        equation = equations[number]
        key: Any = (equation.primitive, _params_key(eqn.params), tuple(map(value, eqn.invars)))
        if eqn.effects:
            key = (number,)
        equation.constant = not eqn.effects and all(
            dialect.is_literal(atom) or id(atom) in constant for atom in eqn.invars
        )
        if equation.constant:
            constant.update(map(id, eqn.outvars))
        if equation.primitive in _KEEPS and number_in(eqn.invars[0]) is not None:
            filled[id(eqn.outvars[0])] = number_in(eqn.invars[0])
        known = alike.setdefault(key, [])
        known.append(number)
        value_of.update({id(var): (known[0], i) for i, var in enumerate(eqn.outvars)})
        found = None if eqn.effects else _unchanged(equation.primitive, eqn, makers.get, number_in)
        if found:
            source, words, partner = found
            equation.unchanged = Unchanged(words, None if partner is None else by_eqn[id(partner)])
            value_of[id(eqn.outvars[0])] = value(source)
        makers.update((id(var), eqn) for var in eqn.outvars)
        for inner in jaxprs_of(eqn, dialect):
            find_same(inner, equations, by_eqn, dialect, seen)
    for numbers in alike.values():
        for number in numbers:
            equations[number].same_as = tuple(other for other in numbers if other != number)


def _unchanged(
    primitive: str, eqn: Any, maker: Callable[[int], Any], number_in: Callable[[Any], Any]
) -> tuple[Any, str, Any] | None:
    """The variable whose value the result is, why, and the equation that is undone."""
    if len(eqn.outvars) != 1 or not eqn.invars:
        return None
    result, first = eqn.outvars[0].aval, eqn.invars[0]
    if primitive in _NEUTRAL and len(eqn.invars) == 2:
        neutral, either, words = _NEUTRAL[primitive]
        for at in (1, 0) if either else (1,):
            other = eqn.invars[1 - at]
            if number_in(eqn.invars[at]) == neutral and _alike(other.aval, result):
                return other, words.format(number_in(eqn.invars[at])), None
    if primitive == "integer_pow" and eqn.params.get("y") == 1:
        return first, "x ** 1 is x", None
    if primitive in _KEEPS and _alike(first.aval, result):
        moved = primitive == "transpose" and list(eqn.params["permutation"]) != list(range(len(result.shape)))
        if not moved:
            return first, "it changes neither shape nor type", None
    before = maker(id(first))
    if before is None or not before.invars:
        return None
    its, source = str(before.primitive.name), before.invars[0]
    if not _alike(source.aval, result):
        return None
    if primitive == its == "transpose":
        inner, outer = before.params["permutation"], eqn.params["permutation"]
        undone = [inner[axis] for axis in outer] == list(range(len(outer)))
    elif primitive == its and primitive in _UNDOES_ITSELF:
        undone = eqn.params == before.params
    else:
        undone = only_reshapes(primitive, eqn) and only_reshapes(its, before)
    return (source, "", before) if undone else None


def only_reshapes(primitive: str, eqn: Any) -> bool:
    """Whether an equation gives the same elements in the same order, as one that sums over axes of one element does."""
    if primitive not in _RESHAPES | _REDUCES or not hasattr(eqn.invars[0].aval, "shape"):
        return False
    return bool(
        eqn.invars[0].aval.dtype == eqn.outvars[0].aval.dtype
        and _size(eqn.invars[0].aval) == _size(eqn.outvars[0].aval)
    )


def _alike(one: Any, other: Any) -> bool:
    return hasattr(one, "shape") and (one.shape, one.dtype) == (
        getattr(other, "shape", None),
        getattr(other, "dtype", None),
    )


def _size(aval: Any) -> int:
    return getattr(aval, "size", 0)


def _params_key(params: dict[str, Any]) -> tuple[Any, ...]:
    """Parameters, so that equal ones are equal. Functions and jaxprs by identity: two of them may differ and print alike."""
    return tuple(
        (name, value if isinstance(value, str | int | float | bool | None) else _text_or_identity(value))
        for name, value in sorted(params.items())
    )


def _text_or_identity(value: Any) -> Any:
    plain = (tuple, list, frozenset, dict)
    return (
        str(value) if isinstance(value, plain) and " at 0x" not in str(value) and len(str(value)) < 500 else id(value)
    )


# --- what is read ---------------------------------------------------------------------------------------------


def find_operands(jaxpr: Any, equations: list[Equation], by_eqn: dict[int, int], dialect: Dialect) -> None:
    """Fill in, for each equation, which equations (or arguments: the i-th is `~i`) make its operands, through calls."""
    origins: dict[int, frozenset[int]] = {id(var): frozenset({~i}) for i, var in enumerate(jaxpr.invars)}
    seen: set[Any] = set()

    def fill(jaxpr: Any) -> None:
        for eqn in jaxpr.eqns:
            number = by_eqn[id(eqn)]
            equation = equations[number]
            reads = [
                frozenset() if dialect.is_literal(atom) else origins.get(id(atom), frozenset()) for atom in eqn.invars
            ]
            known = equation.operands or (frozenset(),) * len(reads)
            equation.operands = tuple(one | other for one, other in zip(known, reads, strict=True))
            inner = list(jaxprs_of(eqn, dialect))
            made = [frozenset({number})] * len(eqn.outvars)
            is_call = equation.primitive in _CALLS and len(inner) == 1 and len(inner[0].invars) == len(reads)
            if is_call:
                for var, own in zip(inner[0].invars, reads, strict=True):
                    origins[id(var)] = origins.get(id(var), frozenset()) | own
            for each in inner:
                key = id(each), tuple(reads)
                if key not in seen:  # one that is called twice has the operands of both
                    seen.add(key)
                    fill(each)
            if is_call and len(inner[0].outvars) == len(made):
                made = [made[0] if dialect.is_literal(v) else origins.get(id(v)) or made[0] for v in inner[0].outvars]
            for var, own in zip(eqn.outvars, made, strict=True):
                origins[id(var)] = origins.get(id(var), frozenset()) | own

    fill(jaxpr)
