"""`reshard` says, outside and inside of a function, which devices hold which part of a value from there on

    b:f32[4] = reshard[concrete_mesh=None dst_sharding=NamedSharding(...)] a

In JAX it changes the sharding in a value's type. In jitkit, types have no sharding: an Array is moved, and a program
has an instruction to XLA's partitioner, as by `with_sharding_constraint`.

JAX: jax/_src/pjit.py:reshard
"""

from __future__ import annotations

from typing import Any

from ..compiler import shardings as jit_shardings
from ..core import Primitive, Tracer, get_aval
from ..interpreters.ad_rules import deflinear
from ..interpreters.batching import AxisData, Dims, Vals, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering
from ..jaxpr import JaxprEqn, pp_eqn_rules
from ..jaxpr.printer import JaxprPpContext, JaxprPpSettings, pp_eqn_plain
from ..runtime import meshes
from ..runtime.array import as_array
from ..runtime.putting import device_put_leaf
from ..tree_util import broadcast_prefix, tree_flatten, tree_unflatten
from .jit_call import NestedCall, constrained, places

reshard_p = Primitive("reshard")
places[reshard_p] = lambda params: meshes.with_devices(params["dst_sharding"])


@reshard_p.def_abstract_eval
def _(aval: Any, **params: Any) -> Any:
    return aval


@reshard_p.def_impl
def _(x: Any, *, dst_sharding: Any, **_: Any) -> Any:
    return device_put_leaf(as_array(x), meshes.with_devices(dst_sharding))


@register_lowering(reshard_p)
def _(ctx: LoweringContext, x: str, *, dst_sharding: Any, **_: Any) -> str:
    return constrained(ctx, x, ctx.avals_in[0], dst_sharding)


def _pp_reshard(eqn: JaxprEqn, context: JaxprPpContext, settings: JaxprPpSettings) -> Any:
    return pp_eqn_plain(eqn, context, settings, {})


pp_eqn_rules[reshard_p] = _pp_reshard
deflinear(reshard_p, lambda ct, x, **params: (reshard_p.bind(ct, **params),))


@register_batcher(reshard_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, dst_sharding: Any, **params: Any) -> Any:
    (x,), (dim,) = vals, dims
    assert dim is not None, "a rule is called where an operand is a batch, and this primitive has one"
    return reshard_p.bind(x, dst_sharding=meshes.with_open_axis(dst_sharding, dim, x.ndim), **params), dim


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Return the arrays of a tree, each with a given sharding: moved, or within a program by an instruction to XLA.

    Args:
      xs: a tree of arrays.
      out_shardings: a `jax.sharding.NamedSharding`, or in a block of `jax.set_mesh(mesh)` a `jax.sharding.PartitionSpec`; or a
        tree of them that may end above the leaves.

    Raises:
      ValueError: None, a partition spec without a mesh, a mesh axis that is not Explicit, more axes than an array has, or a tree
        of another form.
    """
    leaves, tree = tree_flatten(xs)
    given = broadcast_prefix(out_shardings, xs, lambda each: each is None)
    context = meshes.mesh_of_context()
    asked = [_named(each, context) for each in given]
    jit_shardings.check(asked, list(map(get_aval, leaves)), ("",) * len(leaves), "reshard arguments", evenly=False)
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        NestedCall.some_are_placed = True
    found = [
        reshard_p.bind(leaf, dst_sharding=each, concrete_mesh=None) for leaf, each in zip(leaves, asked, strict=True)
    ]
    return tree_unflatten(tree, found)


def _named(sharding: Any, context: Any) -> Any:
    if sharding is None:
        raise ValueError(
            "Reshard should only be used with out_shardings which are non-None and have a non-empty mesh. Got sharding None."
        )
    if not hasattr(sharding, "mesh") and context.empty:
        raise ValueError(
            "Using PartitionSpec when you are not under a mesh context is not allowed. Please pass a NamedSharding instance "
            f"or enter into a mesh context via `jax.set_mesh`. Got {sharding}"
        )
    found = jit_shardings.in_mesh(sharding, context, "out_shardings", "reshard")
    kinds = dict(zip(found.mesh.axis_names, found.mesh.axis_types, strict=True))
    for names in found.spec:
        for name in names if isinstance(names, tuple) else (names,):
            if name in kinds and kinds[name].name != "Explicit":
                raise ValueError(
                    "PartitionSpec passed to reshard cannot contain axis names that are of type Auto or Manual. "
                    f"Got PartitionSpec: {found.spec} with axis name: {name} of type: {kinds[name]}.\n"
                    "For axes that XLA divides, use `with_sharding_constraint`."
                )
    return found
