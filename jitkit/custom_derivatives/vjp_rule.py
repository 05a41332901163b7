"""a user's `fwd` and `bwd` -> functions of flat lists

`forward` returns the results and the residuals, `backward` the cotangents of the arguments, checked for structure and
shapes. A rule for elements can be turned into one for batches.

JAX: jax/_src/custom_derivatives.py:_flatten_bwd
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import core, lax
from ..interpreters.ad_rules import Zero, instantiate_zeros, tangent_aval
from ..interpreters.batching import AxisData, Dims, batch, move_to
from ..interpreters.partial_eval import trace_to_jaxpr
from ..jaxpr import DebugInfo, Jaxpr, dce_jaxpr, eval_jaxpr
from ..signature import api_util
from ..tree_util import (
    Partial,
    PyTreeDef,
    broadcast_over,
    keystr,
    skeleton,
    tree_flatten,
    tree_flatten_with_path,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from .calling import Results, check_results, fields_of
from .jvp_rule import SymbolicZero, without_axis


@dataclasses.dataclass(slots=True)
class CustomVJPPrimal:
    """The argument that `fwd` gets for an array with `symbolic_zeros`: its value, and whether it is differentiated
    (perturbed). A leaf of trees.
    """

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Return the tree with each `CustomVJPPrimal` replaced by its value. Raise TypeError for other leaves."""

    def value(leaf: Any) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(f"unexpected leaf type {type(leaf)}")
        return leaf.value

    return tree_map(value, tree, is_leaf=lambda x: type(x) is CustomVJPPrimal)


@dataclasses.dataclass(frozen=True, eq=False)
class VjpRule:
    """The rule of one call, on flat lists. Rules compare and hash by identity: a rule is a parameter of an equation."""

    name: str  # the function's name
    fwd: Callable[..., Any]
    bwd: Callable[..., Any]
    statics: dict[int, Any]  # arguments that are not differentiated, by position
    in_tree: PyTreeDef
    in_avals: tuple[Any, ...]
    symbolic_zeros: bool
    results: Results = dataclasses.field(default_factory=list, kw_only=True)
    memo: dict[Any, _TracedForward] = dataclasses.field(default_factory=dict, kw_only=True)

    def forward(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list[Any], PyTreeDef, list[Any], PyTreeDef]:
        """Return the results and the residuals, each as leaves and tree. Raise TypeError unless `fwd` returns a pair."""
        if self.symbolic_zeros:
            primals = [CustomVJPPrimal(x, p) for x, p in zip(primals, perturbed, strict=True)]
        pair = self.call(self.fwd, primals)
        fwd = api_util.name_of(self.fwd)
        rule = f"Custom VJP fwd rule {fwd} for function {self.name} must produce a pair (list or tuple of length two)"
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(
                f"{rule} where the first element represents the primal output (equal to those of the custom_vjp-decorated function "
                f"{self.name}) and the second element represents residuals (i.e. values stored from the forward pass for use "
                f"on the backward pass), but instead of a pair the fwd rule {fwd} produced {pair}.\n"
                "End it with `return result, (what, bwd, needs)`, or `return result, None` if bwd needs nothing."
            )
        outs, out_tree = tree_flatten(pair[0])
        check_results(
            self.results,
            outs,
            out_tree,
            lambda respect: (
                f"{rule} where the first element represents the primal output (equal to the output of the "
                f"custom_vjp-decorated function {self.name}) and the second element represents residuals (i.e. values stored "
                "from the forward pass for use on the backward pass)"
            ),
            "fwd rule",
            f"custom_vjp-decorated function {self.name}",
        )
        return outs, out_tree, *tree_flatten(pair[1])

    def call(self, fun: Callable[..., Any], primals: Sequence[Any]) -> Any:
        """Return the result of `fun` for the arguments of the call, with the static ones in their places."""
        values = iter(self.in_tree.unflatten(primals))
        count = sum(i >= 0 for i in self.statics) + len(self.in_tree.children())
        return fun(*[self.statics[i] if i in self.statics else next(values) for i in range(count)])

    def forward_in_jaxpr(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list[Any], PyTreeDef, list[Any], PyTreeDef]:
        """Return the results of `forward`, for a call inside a jaxpr: trace `fwd` once, and evaluate the traced jaxpr."""
        jaxpr, out_tree, res_tree = self.traced(tuple(map(core.typeof, primals)), tuple(perturbed))
        found = eval_jaxpr(jaxpr, jaxpr.consts, *primals)
        return found[: out_tree.num_leaves], out_tree, found[out_tree.num_leaves :], res_tree

    def traced(self, avals: tuple[Any, ...], perturbed: tuple[bool, ...]) -> _TracedForward:
        """Return `fwd`, traced to a jaxpr for arguments of these types, once."""
        if (avals, perturbed) not in self.memo:
            self.memo[avals, perturbed] = self._trace(avals, perturbed)
        return self.memo[avals, perturbed]

    def _trace(self, avals: tuple[Any, ...], perturbed: tuple[bool, ...]) -> _TracedForward:
        trees: list[PyTreeDef] = []

        def both(*leaves: Any) -> list[Any]:
            outs, out_tree, residuals, res_tree = self.forward(leaves, perturbed)
            trees[:] = out_tree, res_tree
            return [*outs, *residuals]

        info = DebugInfo("custom_vjp fwd", api_util.source_of(self.fwd))
        return _TracedForward(trace_to_jaxpr(both, avals, info), *trees)

    def backward(self, residuals: Any, cotangents: Any) -> list[Any]:
        """Return a cotangent for each leaf of the arguments: a Zero if `bwd` returns None or a `SymbolicZero`, or if
        the argument is an integer. Raise TypeError unless `bwd` returns a tuple or list with one cotangent for each
        argument, ValueError for a cotangent of another shape.
        """
        found = self.bwd(*self.statics.values(), residuals, cotangents)
        arguments = self.in_tree.children()
        if isinstance(found, list) and len(found) == len(arguments):
            found = tuple(found)
        try:
            if not isinstance(found, tuple):
                raise ValueError(f"not a tuple: {found}")
            leaves = broadcast_over(found, self.in_tree, lambda x: x is None)
        except ValueError:
            raise TypeError(
                "Custom VJP bwd rule must produce an output with the same container (pytree) structure as the args tuple of "
                "the primal function, and in particular must produce a tuple of length equal to the number of arguments to "
                f"the primal function, but got bwd output structure {tree_structure(found)} for primal input structure "
                f"{self.in_tree}.\nReturn a tuple of one cotangent for each argument, None for one that has none: "
                f"`return ({', '.join(['g'] * len(arguments))}{',' * (len(arguments) == 1)})`."
            ) from None
        paths = [path for path, _ in tree_flatten_with_path(skeleton(self.in_tree))[0]]
        return list(map(_checked, leaves, self.in_avals, paths))


class _TracedForward(NamedTuple):
    """A traced `fwd`, from the arguments to results and residuals, and their trees."""

    jaxpr: Jaxpr
    out_tree: PyTreeDef
    res_tree: PyTreeDef


@dataclasses.dataclass(frozen=True, eq=False)
class BatchedVjpRule(VjpRule):
    """A VJP rule for batches: calls the rule `inner` on their elements, all at once. Residuals keep their batch axes."""

    inner: VjpRule
    axis: AxisData
    dims: Dims  # the arguments' batch axes
    out_dims: list[Any]  # the results' batch axes; empty until the function or its rule has been called
    tag: object = None  # the tag of the trace whose tracers the rule may close over

    def forward(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list[Any], PyTreeDef, list[Any], PyTreeDef]:
        """Return the leaves and the tree of the results, with batch axes at `out_dims`; then the leaves and the tree of
        the residuals, with their own batch axes.
        """
        made: list[Any] = []

        def on_elements(*leaves: Any) -> list[Any]:
            outs, out_tree, residuals, res_tree = self.inner.forward(leaves, perturbed)
            made[:] = out_tree, res_tree
            return [*outs, *residuals]

        vals, found = batch(on_elements, self.axis, primals, self.dims, self.tag)
        out_tree, res_tree = made
        count = out_tree.num_leaves
        if not self.out_dims:
            self.out_dims[:] = found[:count]
        outs = [
            x if to is None else move_to(x, dim, to, self.axis.size)
            for x, dim, to in zip(vals, found, self.out_dims, strict=False)
        ]
        residuals = Partial(_ResidualsOfBatch(tuple(found[count:]), res_tree), *vals[count:])
        return outs, out_tree, *tree_flatten(residuals)

    def backward(self, residuals: Any, cotangents: Any) -> list[Any]:
        """Return cotangents with the batch axes of the arguments, summed over the batch for an argument without one."""
        kept: _ResidualsOfBatch = residuals.func
        cts, tree = tree_flatten(cotangents)
        nonzero: list[bool] = []
        zeros = {
            i: SymbolicZero(without_axis(ct.aval, dim))
            for i, (ct, dim) in enumerate(zip(cts, self.out_dims, strict=True))
            if type(ct) is SymbolicZero
        }

        def on_elements(*leaves: Any) -> list[Any]:
            count = len(kept.dims)
            given = [zeros.get(i, ct) for i, ct in enumerate(leaves[count:])]
            found = self.inner.backward(tree_unflatten(kept.tree, leaves[:count]), tree_unflatten(tree, given))
            nonzero[:] = [type(ct) is not Zero for ct in found]
            return [ct for ct in found if type(ct) is not Zero]

        ct_dims = [None if i in zeros else dim for i, dim in enumerate(self.out_dims)]
        values = [0.0 if i in zeros else ct for i, ct in enumerate(cts)]
        vals, found = batch(on_elements, self.axis, [*residuals.args, *values], [*kept.dims, *ct_dims], self.tag)
        made = iter(zip(vals, found, strict=True))
        return [
            self._gathered(*next(made), to) if nz else Zero(tangent_aval(aval))
            for nz, to, aval in zip(nonzero, self.dims, self.in_avals, strict=True)
        ]

    def _gathered(self, ct: Any, dim: Any, to: Any) -> Any:
        if to is not None:
            return move_to(ct, dim, to, self.axis.size)
        return ct if dim is None else lax.reduce_sum(ct, [dim])


def batched_vjp_rule(
    rule: VjpRule, axis: AxisData, dims: Dims, out_dims: list[Any], in_avals: tuple[Any, ...], tag: object = None
) -> BatchedVjpRule:
    """Return the rule for batches, whose arguments have the types `in_avals`; for the other parameters see `BatchedVjpRule`."""
    fields = fields_of(rule, VjpRule) | {"in_avals": in_avals}
    return BatchedVjpRule(**fields, inner=rule, axis=axis, dims=tuple(dims), out_dims=out_dims, tag=tag)


@dataclasses.dataclass(frozen=True)
class _ResidualsOfBatch:
    """The batch axes of residuals, and their tree."""

    dims: tuple[Any, ...]
    tree: PyTreeDef

    def __call__(self, *residuals: Any) -> Any:
        return tree_unflatten(self.tree, residuals)


@dataclasses.dataclass(frozen=True, eq=False)
class PartOfVjpRule(VjpRule):
    """The rule of a function with only some of its results (`used`). It has the same residuals as the whole rule."""

    inner: VjpRule
    used: tuple[bool, ...]

    def forward(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list[Any], PyTreeDef, list[Any], PyTreeDef]:
        """Return the used results and the residuals, each as leaves and tree. Compute nothing that only other results need."""
        return self.forward_in_jaxpr(primals, perturbed)

    def _trace(self, avals: tuple[Any, ...], perturbed: tuple[bool, ...]) -> _TracedForward:
        jaxpr, out_tree, res_tree = self.inner.traced(avals, perturbed)
        left, _ = dce_jaxpr(jaxpr, [*self.used, *[True] * res_tree.num_leaves], instantiate=True)
        whole = _ResidualsOfWhole(out_tree, tuple(jaxpr.out_avals[: out_tree.num_leaves]), res_tree)
        residuals = tree_structure(Partial(whole, *[0] * res_tree.num_leaves))
        return _TracedForward(left, tree_structure([0] * sum(self.used)), residuals)

    def backward(self, residuals: Any, cotangents: Any) -> list[Any]:
        """Return the cotangents of the arguments: call the whole rule on the cotangents of the used results, and zeros
        for the others.
        """
        whole: _ResidualsOfWhole = residuals.func
        given, show = iter(cotangents), SymbolicZero.show if self.symbolic_zeros else instantiate_zeros
        cts = [
            next(given) if is_used else show(Zero(tangent_aval(aval)))
            for is_used, aval in zip(self.used, whole.out_avals, strict=True)
        ]
        return self.inner.backward(tree_unflatten(whole.res_tree, residuals.args), tree_unflatten(whole.out_tree, cts))


@dataclasses.dataclass(frozen=True)
class _ResidualsOfWhole:
    """The tree and types of the whole rule's results, and the tree of its residuals."""

    out_tree: PyTreeDef
    out_avals: tuple[Any, ...]
    res_tree: PyTreeDef

    def __call__(self, *residuals: Any) -> Any:
        return tree_unflatten(self.res_tree, residuals)


def part_of_vjp_rule(rule: VjpRule, used: tuple[bool, ...]) -> PartOfVjpRule:
    """Return the rule of a function without its unused results."""
    return PartOfVjpRule(**fields_of(rule, VjpRule), inner=rule, used=used)


def _checked(ct: Any, aval: Any, path: Any) -> Any:
    """Return the cotangent that `bwd` returned for an argument of this type: a Zero for None, a `SymbolicZero`, or an
    argument of integers. Raise ValueError for another shape, or a `SymbolicZero` of another dtype.
    """
    expected = tangent_aval(aval)
    if ct is None or expected.dtype == core.dtypes.float0:
        return Zero(expected)
    if type(ct) is SymbolicZero:
        if (ct.shape, ct.dtype) != (expected.shape, expected.dtype):
            raise ValueError(
                "Custom VJP bwd rule produced a SymbolicZero with a shape/dtype that does not match the corresponding input "
                f"tangent shape/dtype: at output{keystr(path)} the SymbolicZero had shape/dtype {ct.aval.str_short()} while the "
                f"corresponding input had shape/dtype {aval.str_short()}. Consider just returning a None here instead of a "
                "SymbolicZero object."
            )
        return Zero(expected)
    given = core.typeof(ct)
    if given.shape != expected.shape:
        raise ValueError(
            "Custom VJP bwd rule must produce an output with the same type as the args tuple of the primal function, but at "
            f"output{keystr(path)} the bwd rule produced an output of type {given.str_short()} corresponding to an input of "
            f"type {aval.str_short()}, so the shapes do not match\n"
            "A cotangent has the shape of its argument: where the function sums, its rule broadcasts, and the other way round."
        )
    return ct
