"""Makes jaxprs from jaxprs: with other outputs, inputs in another order, or constants as inputs.

An equation's jaxpr is the cache key of its compiled program and of its function in StableHLO. So the same arguments
must give the same jaxpr, as long as the original jaxpr lives: `remembered` caches them.

JAX: jax/_src/interpreters/partial_eval.py:prune_jaxpr_outputs
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .language import DropVar, Jaxpr, Var
from .pruning import dce_jaxpr

_T = TypeVar("_T")

_ANSWERS = 256  # at most this many results are kept for one jaxpr


def remembered(derive: Callable[..., _T]) -> Callable[..., _T]:
    """Decorator: cache `derive(jaxpr, *args)` as long as the jaxpr lives, up to `_ANSWERS` results; then forget these."""
    answers: weakref.WeakKeyDictionary[Jaxpr, dict[Any, _T]] = weakref.WeakKeyDictionary()

    @functools.wraps(derive)
    def answer(jaxpr: Jaxpr, *args: Any) -> _T:
        known = answers.setdefault(jaxpr, {})
        if args not in known:
            if len(known) >= _ANSWERS:
                known.clear()
            known[args] = derive(jaxpr, *args)
        return known[args]

    return answer


@remembered
def forwarded_inputs(jaxpr: Jaxpr) -> list[int | None]:
    """Return for each output the number of the input that it is, or None if it is computed or a constant."""
    position = {var: i for i, var in enumerate(jaxpr.invars)}
    return [position.get(atom) if isinstance(atom, Var) else None for atom in jaxpr.outvars]


@remembered
def keep_outputs(jaxpr: Jaxpr, keep: tuple[bool, ...]) -> Jaxpr:
    """Return the jaxpr with only the outputs that `keep` marks. Its equations stay."""
    outvars = [atom for atom, kept in zip(jaxpr.outvars, keep, strict=True) if kept]
    return jaxpr.replace(outvars=outvars, debug_info=jaxpr.debug_info.filter([True] * len(jaxpr.invars), keep))


@remembered
def move_inputs_to_front(jaxpr: Jaxpr, move: tuple[bool, ...]) -> Jaxpr:
    """Return the jaxpr with the inputs that `move` marks before the others."""
    order = sorted(range(len(move)), key=lambda i: not move[i])
    names = jaxpr.debug_info.safe_arg_names(len(move))
    return jaxpr.replace(
        invars=[jaxpr.invars[i] for i in order],
        debug_info=jaxpr.debug_info._replace(arg_names=tuple(names[i] for i in order)),
    )


@remembered
def in_order(jaxpr: Jaxpr, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Jaxpr:
    """Return the jaxpr with its inputs and outputs in another order, given by their old positions."""
    return jaxpr.replace(invars=[jaxpr.invars[i] for i in inputs], outvars=[jaxpr.outvars[i] for i in outputs])


@remembered
def drop_unused(jaxpr: Jaxpr) -> Jaxpr:
    """Return the jaxpr with a `DropVar` for each result that is not read."""
    used = {x for eqn in jaxpr.eqns for x in eqn.invars if isinstance(x, Var)}
    used.update(x for x in jaxpr.outvars if isinstance(x, Var))
    if all(var in used for eqn in jaxpr.eqns for var in eqn.outvars):
        return jaxpr
    return jaxpr.replace(
        eqns=[eqn.replace(outvars=[v if v in used else DropVar(v.aval) for v in eqn.outvars]) for eqn in jaxpr.eqns]
    )


def interleaved(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """Return the positions that reorder concatenated lists `a, b, c, d` to `a, c, b, d`. `first` has the sizes of a and
    b, `second` of c and d.
    """
    ranges, start = [], 0
    for size in (*first, *second):
        ranges.append(range(start, start + size))
        start += size
    return tuple(i for pair in zip(ranges[: len(first)], ranges[len(first) :], strict=True) for r in pair for i in r)


def known_outputs(jaxpr: Jaxpr, known_inputs: Sequence[bool]) -> list[bool]:
    """Return for each output whether it, and all equations with effects, can be computed from the known inputs."""
    count = len(jaxpr.outvars)
    needs = [dce_jaxpr(jaxpr, [i == k for k in range(count)])[1] for i in range(count)]
    return [all(known or not used for known, used in zip(known_inputs, each, strict=True)) for each in needs]


# --- the order of constants -------------------------------------------------------------------------------------------


class _Use:
    """One use of a constant: as an operand, or an output."""

    __slots__ = ("var",)

    def __init__(self, var: Var) -> None:
        self.var = var


def sort_consts(jaxpr: Jaxpr) -> Jaxpr:
    """Return the jaxpr with its constants in the order in which JAX has them in a partially known program.

    JAX sorts the program's equations topologically, from the results backwards: an operand comes after all its readers.
    The constants are in the reverse of the order in which this meets them; each use of a constant counts by itself.

    JAX: jax/_src/interpreters/partial_eval.py:tracers_to_jaxpr
    """
    constvars = set(jaxpr.constvars)

    def nodes(atoms: Sequence[Any]) -> list[Any]:
        return [_Use(x) if x in constvars else x for x in atoms if isinstance(x, Var)]

    operands: dict[Any, list[Any]] = {}
    for eqn in jaxpr.eqns:
        read = nodes(eqn.invars)
        operands.update((var, read) for var in eqn.outvars)
    of_effects = [_Use(eqn.outvars[0]) for eqn in jaxpr.eqns if eqn.effects and eqn.outvars]
    operands.update((end, operands[end.var]) for end in of_effects)
    ends = list(dict.fromkeys([*jaxpr.invars, *nodes(jaxpr.outvars), *of_effects]))
    readers: dict[Any, int] = {}
    waiting = list(ends)
    while waiting:
        node = waiting.pop()
        if node not in readers:
            waiting.extend(operands.get(node, ()))
        readers[node] = readers.get(node, 0) + 1
    for node in ends:
        readers[node] -= 1
    ready = [node for node in ends if not readers[node]]
    met: list[Var] = []
    while ready:
        node = ready.pop()
        if isinstance(node, _Use) and node.var in constvars:
            met.append(node.var)
        for operand in operands.get(node, ()):
            readers[operand] -= 1
            if not readers[operand]:
                ready.append(operand)
    order = list(dict.fromkeys(reversed(met)))
    assert len(order) == len(constvars), "each constant is read somewhere"
    values = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    return jaxpr.replace(constvars=order, consts=[values[var] for var in order])


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """Return the jaxpr with its constvars as its first inputs, whose values the caller passes. Cached."""
    return _with_constvars_first(jaxpr) if jaxpr.constvars else jaxpr


@remembered
def _with_constvars_first(jaxpr: Jaxpr) -> Jaxpr:
    names = ("",) * len(jaxpr.constvars) + jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))
    debug_info = jaxpr.debug_info._replace(arg_names=names)
    return jaxpr.replace(constvars=(), consts=(), invars=jaxpr.constvars + jaxpr.invars, debug_info=debug_info)


def close_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> Jaxpr:
    """Return the jaxpr with values for its constvars; raise ValueError if the numbers differ."""
    if len(consts) != len(jaxpr.constvars):
        raise ValueError(f"the jaxpr has {len(jaxpr.constvars)} constvars, got {len(consts)} consts for them")
    return jaxpr.replace(consts=consts)


def in_order_of_need(jaxpr: Jaxpr) -> Jaxpr:
    """Return the jaxpr with its constants in JAX's order: the reverse of a topological sort from the outputs. An
    equation is taken when all its readers are; of several, the one that was found last.
    """
    made_by = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}
    constants = set(jaxpr.constvars)
    ends = list(dict.fromkeys(x for x in (*jaxpr.invars, *jaxpr.outvars) if isinstance(x, Var)))

    def needs(node: Any) -> list[Any]:
        eqn = made_by.get(node) if isinstance(node, Var) else None
        if eqn is None:
            return []
        # Each use of a constant is a node of its own.
        return [(id(eqn), i, x) if x in constants else x for i, x in enumerate(eqn.invars) if isinstance(x, Var)]

    waiting: dict[Any, int] = {}
    stack: list[Any] = [*ends]
    while stack:
        node = stack.pop()
        waiting[node] = waiting.get(node, 0) + 1
        if waiting[node] == 1:
            stack.extend(needs(node))
    for node in ends:
        waiting[node] -= 1
    ready: list[Any] = [node for node in ends if not waiting[node]]
    taken: list[Any] = []
    while ready:
        node = ready.pop()
        taken.append(node)
        for needed in needs(node):
            waiting[needed] -= 1
            if not waiting[needed]:
                ready.append(needed)
    met = dict.fromkeys(node[2] if isinstance(node, tuple) else node for node in reversed(taken))
    value_of = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    order = [var for var in met if var in constants]
    order += [var for var in jaxpr.constvars if var not in met]
    return jaxpr.replace(constvars=order, consts=[value_of[var] for var in order])
