"""`with_sharding_constraint` says, inside of a function, which devices hold which part of a value

    c:f32[4] = sharding_constraint[context_mesh=Mesh() layout=None sharding=NamedSharding(...) unconstrained_dims=frozenset({})] b

In a program for several devices it is an instruction to XLA's partitioner; with one device there is nothing to do. An
Array is moved at once.

JAX: jax/_src/pjit.py:with_sharding_constraint
"""

from __future__ import annotations

from typing import Any

from ..compiler import shardings as jit_shardings
from ..core import Primitive, Tracer, get_aval
from ..interpreters.ad_rules import deflinear
from ..interpreters.batching import AxisData, Dims, Vals, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering
from ..runtime import meshes
from ..runtime.array import as_array
from ..runtime.putting import device_put_leaf
from ..tree_util import broadcast_prefix, tree_flatten, tree_unflatten
from .jit_call import NestedCall, constrained, places

sharding_constraint_p = Primitive("sharding_constraint")
places[sharding_constraint_p] = lambda params: meshes.with_devices(params["sharding"])


@sharding_constraint_p.def_abstract_eval
def _(aval: Any, **params: Any) -> Any:
    return aval


@sharding_constraint_p.def_impl
def _(x: Any, *, sharding: Any, unconstrained_dims: frozenset[int], **_: Any) -> Any:
    x, sharding = as_array(x), meshes.with_devices(sharding)
    if unconstrained_dims:  # these axes stay as they are
        sharding = meshes.with_axes_of(sharding, x.sharding, x.ndim)
    return device_put_leaf(x, sharding)


@register_lowering(sharding_constraint_p)
def _(ctx: LoweringContext, x: str, *, sharding: Any, **_: Any) -> str:
    return constrained(ctx, x, ctx.avals_in[0], sharding)


deflinear(sharding_constraint_p, lambda ct, x, **params: (sharding_constraint_p.bind(ct, **params),))


@register_batcher(sharding_constraint_p)
def _(
    axis: AxisData, vals: Vals, dims: Dims, *, sharding: Any, unconstrained_dims: frozenset[int], **params: Any
) -> Any:
    """Batching rule: constrain the batch. Its elements are spread as before; XLA decides how the batch axis is spread."""
    (x,), (dim,) = vals, dims
    assert dim is not None, "a rule is called where an operand is a batch, and this primitive has one"
    unconstrained_dims = frozenset({dim} | {each + (dim <= each) for each in unconstrained_dims})
    sharding = meshes.with_open_axis(sharding, dim, x.ndim)
    return sharding_constraint_p.bind(x, sharding=sharding, unconstrained_dims=unconstrained_dims, **params), dim


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Return the arrays of a tree, each with a given sharding: inside of `jit` by an instruction to XLA, outside by
    moving data.

    Args:
      x: a tree of arrays.
      shardings: a `jax.sharding.Sharding`, or a tree of them that may end above the leaves. In a block of `jax.set_mesh(mesh)` also a
        `jax.sharding.PartitionSpec`, or None for a whole copy on each device.

    Raises:
      RuntimeError: a `jax.sharding.PartitionSpec` outside of such a block.
      TypeError: anything else in the place of a sharding.
      ValueError: None outside of such a block; a sharding with more axes than its array, or over explicit axes of its mesh; a tree
        of another form.
    """
    leaves, tree = tree_flatten(x)
    try:
        given = broadcast_prefix(shardings, x, lambda each: each is None)
    except ValueError as error:
        raise ValueError(
            f"with_sharding_constraint shardings specification must be a tree prefix of the corresponding value; \n{error}"
        ) from None
    context = meshes.mesh_of_context()
    asked = [jit_shardings.in_mesh(each, context, "shardings", "with_sharding_constraint") for each in given]
    names = ("",) * len(leaves)
    jit_shardings.check(asked, list(map(get_aval, leaves)), names, "with_sharding_constraint arguments", evenly=False)
    for sharding in asked:
        meshes.check_axes_are_automatic(sharding, "with_sharding_constraint")
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        NestedCall.some_are_placed = True
    found = [
        sharding_constraint_p.bind(
            leaf, context_mesh=context, layout=None, sharding=each, unconstrained_dims=meshes.open_axes(each)
        )
        for leaf, each in zip(leaves, asked, strict=True)
    ]
    return tree_unflatten(tree, found)
