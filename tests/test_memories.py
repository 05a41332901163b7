"""Arrays in the host's memory: `device_put`, arguments and results of `jit`, as in JAX. A CPU has these memories, too."""

from __future__ import annotations

import numpy as np
import pytest
from jax.sharding import PartitionSpec
from twin import same_as_jax

import jitkit


def _place(x):
    return x.sharding.memory_kind, x.committed, np.asarray(x)


@same_as_jax
def test_device_put_takes_a_kind_of_memory(jax, jnp):
    space, x = jax.memory.Space, jnp.arange(3.0)
    on_host = jax.device_put(x, space.Host)
    values = (x, on_host, 3.0, np.ones(2, np.float32))
    return [_place(jax.device_put(value, each)) for each in (space.Device, space.Host) for value in values]


@same_as_jax
def test_a_sharding_has_a_kind_of_memory(jax, jnp):
    device = jax.devices()[0]
    places = [jax.sharding.SingleDeviceSharding(device, memory_kind=kind) for kind in ("pinned_host", "device")]
    mesh = jax.make_mesh((1,), ("i",))
    places.append(jax.NamedSharding(mesh, PartitionSpec("i"), memory_kind="pinned_host"))
    return [_place(jax.device_put(jnp.arange(3.0), place)) for place in places]


@same_as_jax
def test_a_program_takes_an_argument_from_the_hosts_memory(jax, jnp):
    on_host = jax.device_put({"a": jnp.arange(3.0)}, jax.memory.Space.Host)

    @jax.jit
    def f(tree, y):
        return jax.device_put(tree["a"], jax.memory.Space.Device) * y

    first, second = f(on_host, 2.0), f(on_host, 3.0)
    return _place(first), _place(second), f._cache_size(), np.asarray(on_host["a"] + 1)


@same_as_jax
def test_a_result_goes_where_out_shardings_say(jax, jnp):
    place = jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
    f = jax.jit(lambda x: {"sum": x.sum(), "all": x * 2}, out_shardings={"sum": None, "all": place})
    over_mesh = jax.NamedSharding(jax.make_mesh((1,), ("i",)), PartitionSpec("i"), memory_kind="pinned_host")
    g = jax.jit(lambda x: x + 1, out_shardings=over_mesh)
    x = jnp.arange(4.0)
    return [{name: _place(y) for name, y in f(x).items()} for _ in range(2)], _place(g(x))


@same_as_jax
def test_a_result_goes_where_the_program_puts_it(jax, jnp):
    """An optimizer's state that is kept on the host: each step reads it from there, and puts it back."""
    space = jax.memory.Space

    @jax.jit
    def step(w, state):
        m = jax.device_put(state["m"], space.Device) * 0.5 + w
        return w - m, {"m": jax.device_put(m, space.Host)}

    w, state = jnp.ones(4), jax.device_put({"m": jnp.ones(4)}, space.Host)
    seen = []
    for _ in range(3):
        w, state = step(w, state)
        seen.append((_place(w), _place(state["m"]), step._cache_size()))
    compiled = step.lower(w, state).compile()
    inner = jax.jit(lambda x: jax.jit(lambda y: jax.device_put(y * 2, space.Host))(x))
    there_and_back = jax.jit(lambda x: jax.device_put(jax.device_put(x * 2, space.Host), space.Device))
    return seen, _place(compiled(w, state)[1]["m"]), _place(inner(w)), _place(there_and_back(w))


def test_no_array_is_put_anywhere_at_all():
    with pytest.raises(
        ValueError, match=r"MemorySpace\.Any is no place\. Say MemorySpace\.Device or MemorySpace\.Host\."
    ):
        jitkit.device_put(1.0, jitkit.memory.Space.Any)
