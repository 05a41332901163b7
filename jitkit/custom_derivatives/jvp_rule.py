"""a user's JVP rule -> a function of flat lists

The function takes primals and tangents, and returns results and their tangents, checked for structure and types. A rule
for elements can be turned into one for batches, and a rule for all results into one for some.

JAX: jax/_src/custom_derivatives.py:_flatten_jvp
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, NamedTuple

from .. import core
from ..base import edits
from ..interpreters import partial_eval
from ..interpreters.ad_rules import Zero, instantiate_zeros, tangent_aval, unless_float0, zero_tangent
from ..interpreters.batching import AxisData, Dims, batch, move_to
from ..jaxpr import DebugInfo, Jaxpr, dce_jaxpr, eval_jaxpr
from ..signature import api_util
from ..tree_util import PyTreeDef, tree_flatten, tree_map, tree_structure, tree_unflatten
from .calling import Results, check_results, fields_of


@dataclasses.dataclass(frozen=True, eq=False)
class JvpRule:
    """The rule of one call: `jvp(*static_args, primals, tangents)`; the last two are trees like `in_tree`.

    Rules compare and hash by identity: a rule is a parameter of an equation, and its static arguments may have no hash.
    """

    name: str  # the function's name
    jvp: Callable[..., Any]
    static_args: tuple[Any, ...]  # the values at `nondiff_argnums`
    in_tree: PyTreeDef
    symbolic_zeros: bool
    results: Results = dataclasses.field(default_factory=list, kw_only=True)
    memo: dict[Any, _TracedRule] = dataclasses.field(default_factory=dict, kw_only=True)

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any], PyTreeDef]:
        """Return the results and their tangents, flat, and their tree. Raise TypeError unless the rule returns two
        equal trees whose leaves have matching types.
        """
        tangents = list(map(unless_float0, tangents))
        show = SymbolicZero.show if self.symbolic_zeros else instantiate_zeros
        pair = self.jvp(
            *self.static_args,
            tree_unflatten(self.in_tree, primals),
            tree_unflatten(self.in_tree, list(map(show, tangents))),
        )
        rule = f"Custom JVP rule {self} for function {self.name} must produce"
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(
                f"{rule} a pair (list or tuple of length two) representing primal and tangent outputs, but got {pair}."
                f"{edits.WITH_TANGENT}"
            )
        (outs, out_tree), (out_tangents, tangent_tree) = map(tree_flatten, pair)
        if out_tree != tangent_tree:
            raise TypeError(
                f"{rule} primal and tangent outputs with equal container (pytree) structures, but got {out_tree} and "
                f"{tangent_tree} respectively."
            )
        check_results(
            self.results,
            outs,
            out_tree,
            lambda respect: (
                f"{rule} a pair (list or tuple of length two) where the first element represents the primal output "
                f"(equal in value to the output of the custom_jvp-decorated function {self.name}, and in particular {respect})"
            ),
            "JVP rule",
            f"custom_jvp-decorated function {self.name}",
        )
        out_tangents = [Zero(t.aval) if type(t) is SymbolicZero else t for t in out_tangents]
        _check_tangents([core.typeof(x) for x in outs], out_tangents)
        return outs, out_tangents, out_tree

    def in_jaxpr(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the results and their tangents, flat, for a call inside a jaxpr: trace the rule, once for each
        combination of types and nonzero tangents, and evaluate the traced jaxpr.
        """
        if not self.symbolic_zeros:
            tangents = list(map(instantiate_zeros, tangents))
        moving = tuple(type(t) is not Zero for t in tangents)
        jaxpr, zeros = self.traced(tuple(map(core.typeof, primals)), moving)
        found = eval_jaxpr(jaxpr, jaxpr.consts, *primals, *compress(tangents, moving))
        made = iter(found[len(zeros) :])
        return found[: len(zeros)], [next(made) if zero is None else zero for zero in zeros]

    def traced(self, avals: tuple[Any, ...], moving: tuple[bool, ...]) -> _TracedRule:
        """Return the rule, traced to a jaxpr for arguments of these types. `moving` says which of them have a tangent."""
        if (avals, moving) not in self.memo:
            self.memo[avals, moving] = self._trace(avals, moving)
        return self.memo[avals, moving]

    def _trace(self, avals: tuple[Any, ...], moving: tuple[bool, ...]) -> _TracedRule:
        count, of_tangents = len(avals), [tangent_aval(aval) for aval in avals]
        zeros: list[Zero | None] = []

        def pairs(*leaves: Any) -> list[Any]:
            given = iter(leaves[count:])
            tangents = [next(given) if m else Zero(aval) for m, aval in zip(moving, of_tangents, strict=True)]
            outs, out_tangents, _ = self(leaves[:count], tangents)
            zeros[:] = [t if type(t) is Zero else None for t in out_tangents]
            return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

        info = DebugInfo("custom_jvp jvp", api_util.source_of(self.jvp))
        jaxpr = partial_eval.trace_to_jaxpr(pairs, [*avals, *compress(of_tangents, moving)], info)
        return _TracedRule(jaxpr, tuple(zeros))

    def __str__(self) -> str:
        return api_util.name_of(self.jvp)


class _TracedRule(NamedTuple):
    """A traced rule. `jaxpr` takes the primals and the nonzero tangents, and returns the results and their nonzero
    tangents. `zeros` has a Zero for each result with a zero tangent, None for the others.
    """

    jaxpr: Jaxpr
    zeros: tuple[Zero | None, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class BatchedJvpRule(JvpRule):
    """A JVP rule for batches: calls the rule `inner` on their elements, all at once."""

    inner: JvpRule
    axis: AxisData
    dims: Dims  # the arguments' batch axes
    out_dims: list[Any]  # the results' batch axes; empty until the function or its rule has been called
    tag: object = None  # the tag of the trace whose tracers the rule may close over

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any], PyTreeDef]:
        """Return the results and their tangents, flat, and their tree. A result and its tangent have the same batch axis."""
        if not self.symbolic_zeros:
            tangents = list(map(instantiate_zeros, tangents))
        moving = [type(t) is not Zero for t in tangents]
        made: list[Any] = []

        def on_elements(*leaves: Any) -> list[Any]:
            count, given = len(self.dims), iter(leaves[len(self.dims) :])
            of_element = [
                next(given) if m else Zero(without_axis(t.aval, dim))
                for m, t, dim in zip(moving, tangents, self.dims, strict=True)
            ]
            outs, out_tangents, out_tree = self.inner(leaves[:count], of_element)
            made[:] = out_tree, [type(t) is not Zero for t in out_tangents]
            return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

        vals = [*primals, *compress(tangents, moving)]
        vals, found = batch(on_elements, self.axis, vals, [*self.dims, *compress(self.dims, moving)], self.tag)
        out_tree, nonzero = made
        rest = iter(zip(vals[len(nonzero) :], found[len(nonzero) :], strict=True))
        pairs = [next(rest) if nz else (None, None) for nz in nonzero]
        if not self.out_dims:
            both = zip(found, pairs, strict=False)
            self.out_dims[:] = [dim if dim is not None else of_tangent for dim, (_, of_tangent) in both]
        outs = [self._moved(x, dim, to) for x, dim, to in zip(vals, found, self.out_dims, strict=False)]
        out_tangents = [
            self._moved(t, dim, to) if nz else zero_tangent(out)
            for nz, (t, dim), to, out in zip(nonzero, pairs, self.out_dims, outs, strict=True)
        ]
        return outs, out_tangents, out_tree

    def _moved(self, x: Any, dim: Any, to: Any) -> Any:
        return x if to is None else move_to(x, dim, to, self.axis.size)


def batched_rule(rule: JvpRule, axis: AxisData, dims: Dims, out_dims: list[Any], tag: object = None) -> BatchedJvpRule:
    """Return the rule for batches."""
    return BatchedJvpRule(
        **fields_of(rule, JvpRule), inner=rule, axis=axis, dims=tuple(dims), out_dims=out_dims, tag=tag
    )


@dataclasses.dataclass(frozen=True, eq=False)
class PartOfJvpRule(JvpRule):
    """A rule without the unused results, and without the computation that only they need."""

    inner: JvpRule
    used: tuple[bool, ...]

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any], PyTreeDef]:
        """Return a list of the used results, a list of their tangents, and the tree of such a list."""
        return *self.in_jaxpr(primals, tangents), tree_structure([0] * sum(self.used))

    def _trace(self, avals: tuple[Any, ...], moving: tuple[bool, ...]) -> _TracedRule:
        jaxpr, zeros = self.inner.traced(avals, moving)
        of_tangents = [u for u, zero in zip(self.used, zeros, strict=True) if zero is None]
        left, _ = dce_jaxpr(jaxpr, [*self.used, *of_tangents], instantiate=True)
        return _TracedRule(left, tuple(compress(zeros, self.used)))


def part_of_rule(rule: JvpRule, used: tuple[bool, ...]) -> PartOfJvpRule:
    """Return the rule without the unused results."""
    return PartOfJvpRule(**fields_of(rule, JvpRule), inner=rule, used=used)


def without_axis(aval: Any, dim: Any) -> Any:
    """Return the aval of one element of a batch along the axis `dim`."""
    return aval if dim is None else aval.update(shape=aval.shape[:dim] + aval.shape[dim + 1 :])


class SymbolicZero:
    """A tangent that is known to be zero, for a rule with `symbolic_zeros`: a shape and a dtype."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the zeros."""
        shape: tuple[int, ...] = self.aval.shape
        return shape

    @property
    def dtype(self) -> Any:
        """The dtype of the zeros."""
        return self.aval.dtype

    @staticmethod
    def show(tangent: Any) -> Any:
        """Return a SymbolicZero for a Zero; return any other tangent unchanged."""
        return SymbolicZero(tangent.aval) if type(tangent) is Zero else tangent

    def __repr__(self) -> str:
        return "SymbolicZero"


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Return a zero tangent for each leaf of a tree of values: an array, or with `symbolic_zeros` a `SymbolicZero`."""

    def zero(x: Any) -> Any:
        tangent = zero_tangent(x)
        return SymbolicZero(tangent.aval) if symbolic_zeros else instantiate_zeros(tangent)

    return tree_map(zero, val)


def _check_tangents(avals: Sequence[Any], tangents: Sequence[Any]) -> None:
    pairs = []
    for aval, t in zip(avals, tangents, strict=True):
        expected, given = tangent_aval(aval), t.aval if type(t) is Zero else core.typeof(t)
        pairs.append((aval.strip_weak_type(), expected.strip_weak_type(), given.strip_weak_type()))
    different = [each for each in pairs if each[1] != each[2]]
    message = "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes"
    if different and len(pairs) == 1:
        aval, expected, given = (x.str_short() for x in pairs[0])
        raise TypeError(f"{message}. Expected {expected} (tangent type of {aval}) but got {given}.{edits.TANGENT_OUT}")
    if different:
        listed = "\n".join(
            f"  primal {aval.str_short()} with tangent {given.str_short()}, expecting tangent {expected}"
            for aval, expected, given in different
        )
        raise TypeError(f"{message}, but got:\n{listed}{edits.TANGENT_OUT}")
