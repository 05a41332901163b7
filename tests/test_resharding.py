"""`reshard`, `pcast`, kinds of memory and meshes of groups, beside JAX's"""

from __future__ import annotations

import importlib

import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from twin import same_as_jax


def _errors(*calls):
    found = []
    for call in calls:
        try:
            found.append(str(call()))
        except Exception as error:
            found.append(
                (type(error).__name__, (str(error).splitlines() or [""])[0].partition(" This error occurs")[0])
            )
    return found


@same_as_jax
def test_reshard_puts_an_array_where_it_is_asked(jax, jnp):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(AxisType.Explicit,))
    x = jax.reshard({"a": jnp.arange(3.0)}, NamedSharding(mesh, P("i")))
    return x, str(x["a"].sharding.spec), x["a"].sharding.mesh == mesh


@same_as_jax
def test_reshard_is_an_operation_with_derivatives_and_batches(jax, jnp):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(AxisType.Explicit,))
    place = NamedSharding(mesh, P("i"))

    def f(x):
        return (jax.reshard(x, place) ** 2).sum()

    x = jnp.arange(4.0)
    return jax.jit(f)(x), jax.grad(f)(x), jax.jvp(f, (x,), (x,)), "reshard" in str(jax.make_jaxpr(f)(x))


@same_as_jax
def test_reshard_refuses_what_is_no_place(jax, jnp):
    automatic = NamedSharding(jax.make_mesh((1,), ("i",), axis_types=(AxisType.Auto,)), P("i"))
    x = jnp.ones(3)
    return _errors(*(lambda place=place: jax.reshard(x, place) for place in (None, P("i"), automatic)))


@same_as_jax
def test_pcast_refuses_other_words_and_names(jax, jnp):
    pcast = jax.lax.pcast
    return [pcast(1.0, (), to="varying")] + _errors(
        lambda: pcast(1.0, "i", to="varying"), lambda: pcast(1.0, {"i"}, to="varying")
    )


@same_as_jax
def test_pcast_changes_no_value_in_a_mapped_function(jax, jnp):
    mesh = jax.make_mesh((1,), ("i",))
    f = jax.shard_map(lambda x: 2 * jax.lax.pcast(x, "i", to="varying"), mesh=mesh, in_specs=P(), out_specs=P("i"))
    return np.asarray(f(jnp.ones(3)))


@same_as_jax
def test_a_kind_of_memory_may_be_asked_for(jax, jnp):
    space = jax.memory.Space
    return [str(each) for each in space], jax.device_put(jnp.arange(2), space.Host) + 1


@same_as_jax
def test_a_mesh_of_groups_has_a_place_for_each_device_of_each_group(jax, jnp):
    create = importlib.import_module(f"{jax.__name__}.experimental.mesh_utils").create_hybrid_device_mesh

    class Device:
        def __init__(self, number):
            self.number, self.process_index = number, number // 4 ^ 1
            self.device_kind, self.platform = "cpu", "cpu"

        def __repr__(self):
            return f"d{self.number}"

    devices = [Device(i) for i in range(8)]
    found = create((2, 2), (1, 2), devices, process_is_granule=True)
    return str(found.tolist()), _errors(
        lambda: create((2,), (3,), devices, process_is_granule=True), lambda: create((4,), (2,), devices)
    )


@same_as_jax
def test_the_polar_form_is_in_lax_too(jax, jnp):
    x = jnp.array([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0]])
    u, p, steps, done = jax.lax.linalg.qdwh(x)
    return jnp.round(u @ p, 3), jnp.round(u.T @ u, 3), int(steps), bool(done)
