"""Operations that do not change values, but keep XLA from moving or dropping other operations: copies, barriers,
tokens.

XLA moves, merges and drops operations as long as the results stay the same. With an `optimization_barrier`, all
operands are computed before any of its results is used; tokens put side effects in order.

JAX: jax/_src/lax/lax.py:optimization_barrier
"""

from __future__ import annotations

from typing import Any

from .. import core, tree_util
from ..core import AbstractToken, Primitive, ShapedArray
from ..core.dtypes import ExtendedDType
from ..core.effects import no_dce_effect
from ..interpreters.ad_rules import deflinear, instantiate_zeros, primitive_jvps, primitive_transposes, zero_tangent
from ..interpreters.batching import AxisData, Dims, Vals, defvectorized, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering, type_of

# --- copy, stop_gradient -------------------------------------------------------------------------------
copy_p = Primitive("copy")
stop_gradient_p = Primitive("stop_gradient")
defvectorized(copy_p)
defvectorized(stop_gradient_p)


@copy_p.def_abstract_eval
def _(x: Any) -> Any:
    return x


@stop_gradient_p.def_abstract_eval
def _(x: ShapedArray) -> ShapedArray:
    return x


@register_lowering(copy_p, stop_gradient_p)
def _(ctx: LoweringContext, x: str) -> str:
    return x


deflinear(copy_p, lambda ct, x: [copy_p.bind(ct)])
primitive_jvps[stop_gradient_p] = lambda primals, tangents: (stop_gradient(*primals), zero_tangent(*primals))


def copy(x: Any) -> Any:
    """Return a new array with x's values, which lives on when x is donated or deleted."""
    return copy_p.bind(x)


def stop_gradient(x: Any) -> Any:
    """Return the arrays of a pytree unchanged, so that no derivative flows through them. (Random keys have none anyway.)"""
    return tree_util.tree_map(_stop_gradient, x)


def _stop_gradient(x: Any) -> Any:
    return x if isinstance(getattr(x, "dtype", None), ExtendedDType) else stop_gradient_p.bind(x)


# --- tie -----------------------------------------------------------------------------------------------
tie_p = Primitive("tie")


@tie_p.def_abstract_eval
def _(x: Any, y: Any) -> Any:
    return y


@register_lowering(tie_p)
def _(ctx: LoweringContext, x: str, y: str) -> str:
    return y


primitive_jvps[tie_p] = lambda primals, tangents: (tie_p.bind(*primals), tangents[1])
primitive_transposes[tie_p] = lambda ct, x, y: [None, ct]


@register_batcher(tie_p)
def _(axis: AxisData, vals: Vals, dims: Dims) -> Any:
    return tie_p.bind(*vals), dims[1]


# --- optimization_barrier ------------------------------------------------------------------------------
optimization_barrier_p = Primitive("optimization_barrier", multiple_results=True)


@optimization_barrier_p.def_abstract_eval
def _(*operands: Any) -> list[Any]:
    return list(operands)


@register_lowering(optimization_barrier_p)
def _(ctx: LoweringContext, *operands: str) -> list[str]:
    if not operands:
        return []
    types = ", ".join(map(type_of, ctx.avals_in))
    name = ctx.emit_text(f"stablehlo.optimization_barrier {', '.join(operands)} : {types}", len(operands))
    return [name] if len(operands) == 1 else [f"{name}#{i}" for i in range(len(operands))]


def _barrier_of(values: Any) -> Any:
    return optimization_barrier([instantiate_zeros(x) for x in values])


primitive_jvps[optimization_barrier_p] = lambda xs, ts: (optimization_barrier(xs), _barrier_of(ts))
primitive_transposes[optimization_barrier_p] = lambda cts, *xs: _barrier_of(cts)


@register_batcher(optimization_barrier_p)
def _(axis: AxisData, vals: Vals, dims: Dims) -> Any:
    return optimization_barrier_p.bind(*vals), dims


def optimization_barrier(operand: Any, /) -> Any:
    """Return a pytree unchanged; all its arrays are computed before any of the results is used."""
    leaves, treedef = tree_util.tree_flatten(operand)
    return tree_util.tree_unflatten(treedef, optimization_barrier_p.bind(*leaves))


# --- tokens --------------------------------------------------------------------------------------------
create_token_p = Primitive("create_token")
after_all_p = Primitive("after_all")


@create_token_p.def_abstract_eval
def _() -> AbstractToken:
    return core.abstract_token


@register_lowering(create_token_p)
def _(ctx: LoweringContext) -> str:
    return ctx.emit_text("stablehlo.create_token : !stablehlo.token")


@after_all_p.def_abstract_eval
def _(*operands: Any) -> AbstractToken:
    if any(operand is not core.abstract_token for operand in operands):
        raise TypeError("Arguments to after_all must be tokens")
    return core.abstract_token


@register_lowering(after_all_p)
def _(ctx: LoweringContext, *operands: str) -> str:
    return ctx.emit_text(f"stablehlo.after_all {', '.join(operands)} : !stablehlo.token")


def create_token(_: Any = None) -> Any:
    """Return a token. It has no data; an operation that reads it runs after the one that returned it."""
    return create_token_p.bind()


def after_all(*operands: Any) -> Any:
    """Return one token that comes after all of these. Raise TypeError for anything but tokens."""
    return after_all_p.bind(*operands)


# --- dce_sink ------------------------------------------------------------------------------------------
dce_sink_p = Primitive("dce_sink", multiple_results=True)
dce_sink_p.effects = lambda params: {no_dce_effect}
dce_sink_p.def_abstract_eval(lambda x, **params: [])
dce_sink_p.impl = lambda x, **params: []
primitive_jvps[dce_sink_p] = lambda primals, tangents, **params: (dce_sink_p.bind(*primals, **params), [])


@register_lowering(dce_sink_p)
def _(ctx: LoweringContext, x: str, prevent_mlir_dce: bool) -> list[str]:
    """Lowering rule: write nothing; with `prevent_mlir_dce`, a call that XLA must not drop."""
    if prevent_mlir_dce:
        types = f"({type_of(ctx.avals_in[0])}) -> ()"
        ctx.function.write(
            f"stablehlo.custom_call @dce_sink({x}) {{api_version = 4 : i32, has_side_effect = true}} : {types}",
            ctx.origin,
        )
    return []


@register_batcher(dce_sink_p)
def _(axis: AxisData, vals: Vals, dims: Dims, **params: Any) -> Any:
    return dce_sink_p.bind(*vals, **params), []


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Mark the arrays of a tree as needed: dead code elimination in jaxprs keeps their equations, and with
    `prevent_mlir_dce` XLA does, too.
    """
    for leaf in tree_util.tree_leaves(val):
        dce_sink_p.bind(leaf, prevent_mlir_dce=prevent_mlir_dce)
