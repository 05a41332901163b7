"""numbered equations -> which of them compute a value that already exists

From the equations alone, this module finds what a compiler's simplifier finds: two equations that do the same with the same operands
(common subexpressions), and equations that change nothing (`x + 0`, `x * 1`, a reshape to the same shape), that undo another one (a
transpose of a transpose), or that depend on no argument (constants). So if an operation is gone, the page can say why.

JAX: jax/_src/interpreters/partial_eval.py:dce_jaxpr
"""

from __future__ import annotations

import collections
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .equation import Dialect, Equation, Unchanged
from .folded import computed, converted, untaken

# primitive -> (its neutral constant, whether that may be the first operand, too, why the result is the other operand)
_NEUTRAL = {
    "add": (0, True, "x + {} is x"), "add_any": (0, True, "x + {} is x"), "sub": (0, False, "x - {} is x"),
    "mul": (1, True, "x * {} is x"), "div": (1, False, "x / {} is x"), "pow": (1, False, "x ** {} is x"),
    "max": (-math.inf, True, "max(x, {}) is x"), "min": (math.inf, True, "min(x, {}) is x"), "or": (0, True, "x | {} is x"),
    "xor": (0, True, "x ^ {} is x"), "shift_left": (0, False, "x << {} is x"),
}  # fmt: skip
# the same for bools
_NEUTRAL_TO_BOOLS = {
    "eq": (True, True, "x == {} is x"), "ne": (False, True, "x != {} is x"), "and": (True, True, "x & {} is x"),
}  # fmt: skip
_IDEMPOTENT = {"max": "max(x, x)", "min": "min(x, x)", "and": "x & x", "or": "x | x"}
# for bools and integers: primitive -> the constant that alone decides the result, and the result for two equal operands
_ABSORBING: dict[str, tuple[Any, str]] = {"mul": (0, "x * 0 is 0"), "and": (0, "x & 0 is 0")}
_WITH_ITSELF: dict[str, tuple[Any, str]] = {
    "sub": (0, "x - x is 0"), "xor": (0, "x ^ x is 0"), "eq": (True, "x == x is True"), "ne": (False, "x != x is False"),
    "lt": (False, "x < x is False"), "gt": (False, "x > x is False"), "le": (True, "x <= x is True"), "ge": (True, "x >= x is True"),
}  # fmt: skip
_RESHAPES = frozenset({"reshape", "squeeze", "expand_dims", "broadcast_in_dim"})
# primitives that change nothing with some parameters
_KEEPS = _RESHAPES | {"convert_element_type", "copy", "copy_p", "slice", "transpose"}
_REDUCES = frozenset({"reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "reduce_xor"})
_SCALES = frozenset({"mul", "div"})  # primitives that may multiply or divide by a number
_UNDOES_ITSELF = frozenset({"neg", "not", "rev", "conj"})
# primitives that run one jaxpr: their operands are its inputs, and its outputs are their results
CALLS = frozenset(
    {"jit", "pjit", "closed_call", "core_call", "remat", "checkpoint", "custom_jvp_call", "custom_vjp_call"}
)


def jaxprs_of(eqn: Any, dialect: Dialect) -> Iterator[Any]:
    """Yield the jaxprs among an equation's parameters."""
    for value in eqn.params.values():
        for item in value if type(value) in (tuple, list) else (value,):
            inner = dialect.inside(item)
            if inner is not None:
                yield inner


# --- what is the same -----------------------------------------------------------------------------------------


class _Same:
    """Numbers the values of jaxprs, as compilers do: two equations that do the same with the same operands get one number."""

    def __init__(self, equations: list[Equation], by_eqn: dict[int, int], dialect: Dialect) -> None:
        self.equations, self.by_eqn, self.dialect = equations, by_eqn, dialect
        self.value_of: dict[int, Any] = {}
        self.makers: dict[int, Any] = {}
        self.kept: dict[int, int] = {}  # results of equations that change nothing, and what they equal
        self.constant: set[int] = set()
        self.filled: dict[int, Any] = {}  # variables all of whose elements are one number
        self.calls: collections.Counter[int] = collections.Counter()
        self.given: dict[int, list[Any]] = {}  # jaxpr -> the live equations that call it
        self.seen: set[int] = set()

    def value(self, atom: Any) -> Any:
        if self.dialect.is_literal(atom):
            return ("literal", str(atom.val), str(atom.aval))
        return self.value_of.get(id(atom), id(atom))

    def number_in(self, atom: Any) -> Any:
        if self.dialect.is_literal(atom):
            return atom.val.item() if hasattr(atom.val, "item") else atom.val
        return self.filled.get(id(atom))

    def is_constant(self, atom: Any) -> bool:
        return self.dialect.is_literal(atom) or id(atom) in self.constant

    def count(self, jaxpr: Any) -> None:
        """Count how often live equations call each jaxpr."""
        for eqn in filter(self._is_live, jaxpr.eqns):
            for inner in jaxprs_of(eqn, self.dialect):
                self.calls[id(inner)] += 1
                self.given.setdefault(id(inner), []).append(eqn)
                if self.calls[id(inner)] == 1:
                    self.count(inner)

    def _is_live(self, eqn: Any) -> bool:
        return self.equations[self.by_eqn[id(eqn)]].live

    def find(self, jaxpr: Any, around: dict[Any, list[int]] | None = None) -> None:
        """Number the values of a jaxpr. If one call alone runs it, `around` has the equations around that call."""
        self.seen.add(id(jaxpr))
        alike: dict[Any, list[int]] = {} if around is None else around
        for eqn in jaxpr.eqns:
            number = self.by_eqn[id(eqn)]
            equation = self.equations[number]
            key: Any = (equation.primitive, _params_key(eqn.params), tuple(map(self.value, eqn.invars)))
            known = alike.setdefault((number,) if eqn.effects else key, [])
            known.append(number)
            self.value_of.update({id(var): (known[0], i) for i, var in enumerate(eqn.outvars)})
            self.makers.update((id(var), eqn) for var in eqn.outvars)
            inner = list(jaxprs_of(eqn, self.dialect))
            index = self.number_in(eqn.invars[0]) if equation.primitive == "cond" else None
            self._leave_out(untaken(eqn, index, self.dialect), f"the index is always {index}")
            called = inner[0] if self._is_one_call(eqn, inner) else None
            if called is not None:
                self._enter(called, eqn)
            for each in inner:
                if id(each) not in self.seen:
                    self._take_numbers(each)
                    self.find(each, alike if each is called else None)
            if not eqn.effects:
                self._learn(equation, eqn)
            if called is not None and not eqn.effects:
                self._leave(called, equation, eqn)
        for numbers in alike.values():
            for number in numbers:
                self.equations[number].same_as = tuple(other for other in numbers if other != number)

    def _leave_out(self, jaxprs: list[Any], words: str) -> None:
        """Mark the equations of branches that are never taken, and of what only these branches call."""
        for jaxpr in jaxprs:
            for eqn in jaxpr.eqns if self.calls[id(jaxpr)] == 1 else ():
                self.equations[self.by_eqn[id(eqn)]].never_taken = words
                self._leave_out(list(jaxprs_of(eqn, self.dialect)), words)

    def _learn(self, equation: Equation, eqn: Any) -> None:
        """Note what an equation's operands say about its result."""
        absorbed = _absorbed(equation.primitive, eqn, self.value, self.number_in) or self._of_an_iota(eqn)
        if absorbed:
            equation.becomes, equation.why_constant = absorbed
            self.filled[id(eqn.outvars[0])] = equation.becomes
        equation.constant = absorbed is not None or all(map(self.is_constant, eqn.invars))
        if equation.constant:
            self.constant.update(map(id, eqn.outvars))
        if equation.primitive in _KEEPS and self.number_in(eqn.invars[0]) is not None:
            number = converted(self.number_in(eqn.invars[0]), getattr(eqn.outvars[0].aval, "dtype", None))
            self.filled.update({} if number is None else {id(eqn.outvars[0]): number})
        number = computed(equation.primitive, eqn, [self.number_in(atom) for atom in eqn.invars])
        self.filled.update({} if number is None else {id(eqn.outvars[0]): number})
        equation.fill = self.filled.get(id(eqn.outvars[0])) if eqn.outvars else None
        found = _unchanged(equation.primitive, eqn, self._maker, self.number_in, self.value)
        if found:
            source, words, partner = found
            self.kept.update({id(eqn.outvars[0]): id(source)} if words else {})
            kept = next((i for i, atom in enumerate(eqn.invars) if atom is source), None)
            equation.unchanged = Unchanged(words, None if partner is None else self.by_eqn[id(partner)], kept)
            self.value_of[id(eqn.outvars[0])] = self.value(source)
            if self.number_in(source) is not None:
                self.filled[id(eqn.outvars[0])] = self.number_in(source)
        elif equation.primitive == "stop_gradient":
            self.value_of.update({id(v): self.value(a) for v, a in zip(eqn.outvars, eqn.invars, strict=True)})

    def _maker(self, key: int) -> Any:
        """Return the equation that makes a variable, behind equations that change nothing."""
        return self._maker(self.kept[key]) if key in self.kept else self.makers.get(key)

    def _of_an_iota(self, eqn: Any) -> tuple[Any, str] | None:
        """Return the result of comparing an `iota` with a number, if it is the same for all elements, and the reason;
        else None.
        """
        name, maker = str(eqn.primitive.name), self.makers.get(id(eqn.invars[0])) if eqn.invars else None
        if name not in ("lt", "ge") or maker is None or str(maker.primitive.name) != "iota":
            return None
        number = self.number_in(eqn.invars[1])
        if number is None or number > 0 or getattr(eqn.invars[0].aval.dtype, "kind", "") not in "iu":
            return None
        return name == "ge", "an iota is never negative"

    def _is_one_call(self, eqn: Any, inner: list[Any]) -> bool:
        """Return whether an equation is the only call of its jaxpr: then what is known about its operands also holds inside."""
        return (
            str(eqn.primitive.name) in CALLS
            and self._is_live(eqn)
            and len(inner) == 1
            and self.calls[id(inner[0])] == 1
            and len(inner[0].invars) == len(eqn.invars)
            and len(inner[0].outvars) == len(eqn.outvars)
        )

    def _pass(self, atom: Any, var: Any) -> None:
        """Give a variable everything that is known about an atom."""
        self.value_of[id(var)] = self.value(atom)
        if self.is_constant(atom):
            self.constant.add(id(var))
        if self.number_in(atom) is not None:
            self.filled[id(var)] = self.number_in(atom)

    def _take_numbers(self, called: Any) -> None:
        """Note the inputs of a function that are the same number in all its calls."""
        calls = self.given.get(id(called), [])
        if not all(str(each.primitive.name) in CALLS and len(each.invars) == len(called.invars) for each in calls):
            return
        for place, var in enumerate(called.invars):
            atoms = [each.invars[place] for each in calls]
            if atoms and all(map(self.dialect.is_literal, atoms)) and len({*map(self.value, atoms)}) == 1:
                self._pass(atoms[0], var)

    def _enter(self, called: Any, eqn: Any) -> None:
        for atom, var in zip(eqn.invars, called.invars, strict=True):
            self._pass(atom, var)

    def _leave(self, called: Any, equation: Equation, eqn: Any) -> None:
        for atom, var in zip(called.outvars, eqn.outvars, strict=True):
            self._pass(atom, var)
        if len(eqn.outvars) != 1 or self.dialect.is_literal(called.outvars[0]):
            return
        maker = self.makers.get(id(called.outvars[0]))
        last = self.equations[self.by_eqn[id(maker)]] if maker is not None else None
        if last is None:
            return
        equation.why_constant, equation.becomes = last.why_constant, last.becomes
        equation.constant = equation.constant or last.constant
        kept = [
            i
            for i, atom in enumerate(eqn.invars)
            if self.value(atom) == self.value(eqn.outvars[0]) and _alike(atom.aval, eqn.outvars[0].aval)
        ]
        if kept and last.unchanged and last.unchanged.words:
            equation.unchanged = Unchanged(f"in it, {last.unchanged.words}", kept=kept[0])


def find_same(jaxpr: Any, equations: list[Equation], by_eqn: dict[int, int], dialect: Dialect) -> None:
    """Fill in, for each equation, which others compute the same, whether it is a constant, and whether it changes nothing."""
    finder = _Same(equations, by_eqn, dialect)
    finder.count(jaxpr)
    finder.find(jaxpr)


def _unchanged(
    primitive: str, eqn: Any, maker: Callable[[int], Any], number_in: Callable[[Any], Any], value: Callable[[Any], Any]
) -> tuple[Any, str, Any] | None:
    """Return `(operand or variable that the result equals, the reason, the earlier equation that this one undoes or
    None)`; None if the equation changes something.
    """
    if len(eqn.outvars) != 1 or not eqn.invars:
        return None
    result, first = eqn.outvars[0].aval, eqn.invars[0]
    neutrals = _NEUTRAL_TO_BOOLS | _NEUTRAL if getattr(getattr(result, "dtype", None), "kind", "") == "b" else _NEUTRAL
    if primitive in neutrals and len(eqn.invars) == 2:
        neutral, either, words = neutrals[primitive]
        for at in (1, 0) if either else (1,):
            other = eqn.invars[1 - at]
            if number_in(eqn.invars[at]) == neutral and _alike(other.aval, result):
                return other, words.format(number_in(eqn.invars[at])), None
    if primitive in _IDEMPOTENT and value(first) == value(eqn.invars[1]):
        return first, f"{_IDEMPOTENT[primitive]} is x", None
    if primitive == "select_n" and len(eqn.invars) == 3:
        chosen = number_in(first)
        if chosen in (0, 1):
            return eqn.invars[1 + int(chosen)], f"its condition is always {bool(chosen)}", None
        if value(eqn.invars[1]) == value(eqn.invars[2]):
            return eqn.invars[1], "both of its choices are the same", None
        if tuple(map(number_in, eqn.invars[1:])) == (0, 1) and _alike(first.aval, result):
            return first, "where(x, True, False) is x", None
    if primitive == "pad" and not any(map(any, eqn.params["padding_config"])):
        return first, "it pads nothing", None
    if primitive == "integer_pow" and eqn.params.get("y") == 1:
        return first, "x ** 1 is x", None
    if (
        primitive in _KEEPS | _REDUCES
        and _alike(first.aval, result)
        and (primitive != "transpose" or keeps_the_order(eqn))
    ):
        return first, "it changes neither shape nor type", None
    if primitive in _SCALES:
        return _scaled_back(eqn, maker, number_in)
    before = maker(id(first))
    if before is None or not before.invars:
        return None
    its, source = str(before.primitive.name), before.invars[0]
    if not _alike(source.aval, result):
        return None
    if primitive == its == "transpose":
        inner, outer = before.params["permutation"], eqn.params["permutation"]
        undone = [inner[axis] for axis in outer] == list(range(len(outer)))
    elif primitive == its == "convert_element_type":
        undone = getattr(result.dtype, "kind", "") in "iufV" and bool(np.can_cast(result.dtype, first.aval.dtype))
    elif primitive == its and primitive in _UNDOES_ITSELF:
        undone = eqn.params == before.params
    else:
        undone = only_reshapes(primitive, eqn) and only_reshapes(its, before)
    return (source, "", before) if undone else None


def _scaled_back(eqn: Any, maker: Callable[[int], Any], number_in: Callable[[Any], Any]) -> tuple[Any, str, Any] | None:
    """Return `(y, "", the equation that this one undoes)` if the equation undoes a scaling of y; else None. It is `x * c`
    or `x / c`, x is `y * d` or `y / d`, and the result is y.
    """
    scaled = _scaled(eqn, number_in)
    before = maker(id(scaled[0])) if scaled else None
    its = _scaled(before, number_in) if before is not None and str(before.primitive.name) in _SCALES else None
    if not scaled or not its or not _alike(its[0].aval, eqn.outvars[0].aval):
        return None
    return (its[0], "", before) if _is_one(scaled[1], its[1], its[0].aval.dtype) else None


def _scaled(eqn: Any, number_in: Callable[[Any], Any]) -> tuple[Any, Any] | None:
    """Return x, and the number by which `x * c`, `c * x` or `x / c` multiplies it; None if no operand is a real
    number.
    """
    x, number = eqn.invars[0], number_in(eqn.invars[1])
    if str(eqn.primitive.name) == "div":
        return (x, 1 / number) if number and not isinstance(number, complex) else None
    if number is None:
        x, number = eqn.invars[1], number_in(x)
    return None if number is None or isinstance(number, complex) else (x, number)


def _is_one(first: Any, second: Any, dtype: Any) -> bool:
    """Return whether the product of two factors in a float dtype is 1. XLA multiplies them first."""
    if getattr(dtype, "kind", "") not in "fV":
        return False
    with np.errstate(all="ignore"):
        return bool(dtype.type(first) * dtype.type(second) == 1)


def _absorbed(
    primitive: str, eqn: Any, value: Callable[[Any], Any], number_in: Callable[[Any], Any]
) -> tuple[Any, str] | None:
    """Return the number that the result equals for all arguments, and the reason; None if there is none. No rule
    applies to floats: `x * 0.0` may be nan.
    """
    if len(eqn.invars) != 2 or len(eqn.outvars) != 1 or not hasattr(eqn.invars[0].aval, "dtype"):
        return None
    if getattr(eqn.invars[0].aval.dtype, "kind", "") not in "biu":
        return None
    if primitive in _ABSORBING:
        number, words = _ABSORBING[primitive]
        if any(each is not None and each == number for each in map(number_in, eqn.invars)):
            return number, words
    if primitive in _WITH_ITSELF and value(eqn.invars[0]) == value(eqn.invars[1]):
        return _WITH_ITSELF[primitive]
    return None


def keeps_the_order(eqn: Any) -> bool:
    """Return whether an equation gives the same elements in the same order, as a transpose does if only axes of one
    element change places.
    """
    axes = [axis for axis in eqn.params.get("permutation", ()) if eqn.invars[0].aval.shape[axis] != 1]
    return (
        bool(axes == sorted(axes))
        if str(eqn.primitive.name) == "transpose"
        else only_reshapes(str(eqn.primitive.name), eqn)
    )


def only_reshapes(primitive: str, eqn: Any) -> bool:
    """Return whether an equation gives the same elements in the same order, as a sum over axes of size 1 does."""
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
    """Return a hashable key for parameters. Functions and jaxprs in it are compared by identity, since different ones may print alike."""
    return tuple(
        (name, value if isinstance(value, str | int | float | bool | None) else _text_or_identity(value))
        for name, value in sorted(params.items())
    )


def _text_or_identity(value: Any) -> Any:
    plain = (tuple, list, frozenset, dict)
    return (
        str(value) if isinstance(value, plain) and " at 0x" not in str(value) and len(str(value)) < 500 else id(value)
    )
