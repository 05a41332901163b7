"""Functions with their own batching rule: custom_vmap, and sequential_vmap, which uses it.

    c:f32[] = custom_vmap_call[call={ lambda ; ... } in_tree=... out_tree=* rule=<function rule at 0x...>] a b

Called eagerly, such a function does what the undecorated one does. Under a trace the call is one equation, with the
function as a jaxpr and the user's rule. `vmap` calls the rule, and `vmap` of a derivative differentiates the rule's
operations. There is no reverse-mode derivative; for one, wrap the function in `custom_vjp`.

JAX: jax/_src/custom_batching.py:custom_vmap
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from . import core
from .base import traceback_util
from .core import Primitive
from .custom_derivatives.calling import by_position, method_of_function
from .derivatives.linear_maps import jvp
from .interpreters import ad
from .interpreters.ad_rules import instantiate_zeros, primitive_jvps
from .interpreters.batching import AxisData, Dims, Vals, batch, moveaxis, register_batcher
from .interpreters.mlir import LoweringContext, register_lowering
from .interpreters.partial_eval import trace_to_jaxpr, with_stand_ins_in
from .jaxpr import DebugInfo, Jaxpr, convert_constvars_jaxpr
from .lax.control_flow import map as map_in_loop
from .lax.convert import asarray
from .signature import api_util
from .tree_util import PyTreeDef, tree_flatten, tree_leaves, tree_map, tree_structure, tree_unflatten, treedef_tuple

# rule(axis_size, in_batched, *args) -> results, and which of them are batches
VmapRule = Callable[..., tuple[Any, Any]]


class custom_vmap:
    """Give a function a rule for `vmap`: what it does when some of its arguments are batches.

        @custom_vmap
        def f(x, y):
            return x + y

        @f.def_vmap
        def f_vmap(axis_size, in_batched, xs, ys):
            return xs + ys, True

    Keyword arguments of a call are passed on by position.
    """

    __name__: str

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: VmapRule | None = None

    __getattr__ = method_of_function

    def def_vmap(self, vmap_rule: VmapRule) -> VmapRule:
        """Set the rule: `vmap_rule(axis_size, in_batched, *args)` returns the results and a tree of bools like them,
        which marks the batches along the first axis. `in_batched` is a list of such trees, one for each argument.
        Return `vmap_rule`: this is a decorator, too.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    @traceback_util.api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's results; under a trace, by one call of the primitive, with the rule for `vmap`. Raise
        AttributeError without a rule, TypeError for arguments that do not fit.
        """
        name = api_util.name_of(self.fun)
        args = by_position("custom_vmap", self.fun, args, kwargs)
        if self.vmap_rule is None:
            raise AttributeError(f"No batching rule defined for custom_vmap function {name} using def_vmap.")
        leaves, in_tree = tree_flatten(with_stand_ins_in(args))
        out_trees: list[PyTreeDef] = []

        def flat_fun(*leaves: Any) -> list[Any]:
            outs, out_tree = tree_flatten(self.fun(*tree_unflatten(in_tree, leaves)))
            out_trees.append(out_tree)
            return outs

        if core.current_trace() is None:
            outs = [asarray(x) for x in flat_fun(*leaves)]
            return tree_unflatten(out_trees[0], outs)
        info = DebugInfo("custom_vmap fun", api_util.source_of(self.fun))
        jaxpr = trace_to_jaxpr(flat_fun, [core.typeof(x) for x in leaves], info)
        outs = custom_vmap_p.bind(
            *jaxpr.consts,
            *leaves,
            call=convert_constvars_jaxpr(jaxpr),
            rule=_Rule(self.vmap_rule),
            in_tree=tree_structure((jaxpr.consts, args)),
            out_tree=out_trees[0],
        )
        return tree_unflatten(out_trees[0], outs)


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """Return a function like `f` that `vmap` calls for one element after the other, in a loop."""
    in_loop = custom_vmap(f)

    @in_loop.def_vmap
    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        leaves, tree = tree_flatten(args)
        batched = tree_leaves(in_batched)

        def on_element(elements: list[Any]) -> Any:
            rest = iter(elements)
            return in_loop(
                *tree_unflatten(tree, [next(rest) if b else x for x, b in zip(leaves, batched, strict=True)])
            )

        out = map_in_loop(on_element, list(compress(leaves, batched)))
        return out, tree_map(lambda _: True, out)

    return in_loop


# --- rules ---------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class _Rule:
    """A rule whose first arguments are the values that the function closed over. Rules compare and hash by identity."""

    rule: VmapRule

    def __call__(self, axis_size: int, in_batched: Any, *args: Any) -> tuple[Any, Any]:
        of_consts, of_args = in_batched
        if any(tree_leaves(of_consts)):
            raise NotImplementedError(
                f"custom_vmap: the function with the rule {self.__name__} closes over a batch, of which its rule knows nothing.\n"
                "Make it an argument of the function."
            )
        return self.rule(axis_size, list(of_args), *args[1])

    @property
    def __name__(self) -> str:
        return getattr(self.rule, "__name__", "<unnamed rule>")

    def __str__(self) -> str:
        return str(self.rule)


custom_vmap_p = Primitive("custom_vmap_call", multiple_results=True, pure_shape_rule=False)
custom_vmap_p.effects = lambda params: params["call"].effects


@custom_vmap_p.def_abstract_eval
def _(*avals: Any, call: Jaxpr, **params: Any) -> list[Any]:
    return call.out_avals


@register_lowering(custom_vmap_p)
def _(ctx: LoweringContext, *args: str, call: Jaxpr, **params: Any) -> list[str]:
    return ctx.lower_region(call, args)


def _at_front(x: Any, dim: int | None) -> Any:
    return x if dim is None else moveaxis(x, dim, 0)


@register_batcher(custom_vmap_p)
def _(
    axis: AxisData, vals: Vals, dims: Dims, *, call: Jaxpr, rule: Any, in_tree: PyTreeDef, out_tree: PyTreeDef
) -> Any:
    args = tree_unflatten(in_tree, list(map(_at_front, vals, dims)))
    batched = tree_unflatten(in_tree, [dim is not None for dim in dims])
    out, out_batched = _asked(rule, out_tree, axis.size, batched, args)
    return tree_leaves(out), [0 if is_batched else None for is_batched in tree_leaves(out_batched)]


def _asked(rule: Any, out_tree: PyTreeDef, size: int, in_batched: Any, args: Any) -> tuple[Any, Any]:
    """Call a rule; return its results, and a tree of bools that marks the batches. Raise ValueError for results of
    another structure, or if the two trees differ.
    """
    out, out_batched = rule(size, in_batched, *args)
    found, specified = tree_structure(out), tree_structure(out_batched)
    if found != specified:
        raise ValueError(
            f"structure of output value and output batching specification returned by custom vmap rule ({rule.__name__}) do "
            f"not match.\nOutput values: {found}\nBatching spec: {specified}"
        )
    if found != out_tree:
        raise ValueError(
            f"structure of output returned by custom vmap rule ({rule.__name__}) does not match that of original "
            f"custom-vmapped function.\nOriginal output: {out_tree}\nRule output: {found}"
        )
    return out, out_batched


@dataclasses.dataclass(frozen=True, eq=False)
class _JvpRule:
    """The batching rule of a call's JVP: it differentiates the user's rule. An argument is a batch for the user's rule
    if its value and its tangent are batches. If only one of these is, an outer `vmap` of the rule maps over that one.
    """

    rule: Any
    out_tree: PyTreeDef

    def __call__(self, axis_size: int, in_batched: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
        both = tree_map(operator.and_, *in_batched)
        asked: list[Any] = []

        def of_rule(*args: Any) -> Any:
            out, out_batched = _asked(self.rule, self.out_tree, axis_size, both, args)
            asked[:] = tree_leaves(out_batched)
            return out

        leaves, tree = tree_flatten((primals, tangents))
        extra = [
            0 if is_batched and not mutual else None
            for is_batched, mutual in zip(tree_leaves(in_batched), tree_leaves(both) * 2, strict=True)
        ]

        def of_pairs(*leaves: Any) -> list[Any]:
            return tree_leaves(jvp(of_rule, *tree_unflatten(tree, leaves)))

        outs, dims = batch(of_pairs, AxisData(None, axis_size), leaves, extra)
        batched = [mutual or dim is not None for mutual, dim in zip(asked * 2, dims, strict=True)]
        out, out_batched = (
            tuple(tree_unflatten(self.out_tree, part) for part in _halves(both))
            for both in (list(map(_at_front, outs, dims)), batched)
        )
        return out, out_batched

    @property
    def __name__(self) -> str:
        return "jvp_of_rule_rule"

    def __str__(self) -> str:
        return f"<function custom_vmap_jvp.<locals>.jvp_of_rule_rule at {id(self):#x}>"


def _halves(items: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    return items[: len(items) // 2], items[len(items) // 2 :]


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, call: Jaxpr, rule: Any, in_tree: PyTreeDef, out_tree: PyTreeDef
) -> tuple[Sequence[Any], Sequence[Any]]:
    """JVP rule: bind one `custom_vmap` call, whose jaxpr computes the results and their tangents, with the batching rule `_JvpRule`."""
    pairs, _ = ad.jvp_jaxpr(call, (True,) * len(primals), True)
    outs = custom_vmap_p.bind(
        *primals,
        *map(instantiate_zeros, tangents),
        call=pairs,
        rule=_JvpRule(rule, out_tree),
        in_tree=treedef_tuple((in_tree, in_tree)),
        out_tree=treedef_tuple((out_tree, out_tree)),
    )
    return _halves(outs)


primitive_jvps[custom_vmap_p] = _jvp
