"""chex: a dataclass that is a tree, assertions of shapes, types and trees, and a count of traces."""

import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class Parameters:
    w: chex.Array
    b: chex.Array


@jax.jit
@chex.assert_max_traces(n=1)
def apply(params: Parameters, x: chex.Array) -> chex.Array:
    chex.assert_rank(x, 2)
    chex.assert_shape(params.w, (x.shape[-1], None))
    chex.assert_type(x, float)
    return jnp.tanh(x @ params.w + params.b)


params = Parameters(w=jnp.arange(6.0).reshape(3, 2) / 7, b=jnp.ones(2))
x = jax.random.normal(jax.random.key(0), (5, 3))
grads = jax.grad(lambda p: apply(p, x).sum())(params)
chex.assert_trees_all_equal_shapes_and_dtypes(params, grads)
chex.assert_tree_all_finite(grads)
try:
    chex.assert_equal_shape([x, params.w])
except AssertionError:
    caught = jnp.array(1)
result = apply(params, x), grads, params.replace(b=params.b * 2), caught
