"""jmp: a policy of mixed precision, and a loss scale that goes down where gradients are not finite."""

import jax
import jax.numpy as jnp
import jmp

policy = jmp.get_policy("params=float32,compute=float16,output=float32")
scale = jmp.DynamicLossScale(jnp.array(2.0**15), period=jnp.array(2))
params = {"w": jax.random.normal(jax.random.key(0), (4, 3))}
x = jax.random.normal(jax.random.key(1), (5, 4))


@jax.jit
def step(params, scale, factor):
    def loss(params):
        half, inputs = policy.cast_to_compute((params, x))
        return scale.scale(policy.cast_to_output(jnp.mean((inputs @ half["w"]) ** 2) * factor))

    grads = scale.unscale(jax.grad(loss)(params))
    finite = jmp.all_finite(grads)
    moved = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return jmp.select_tree(finite, moved, params), scale.adjust(finite)


for factor in (1.0, 1.0, 1e6, 1.0):
    params, scale = step(params, scale, factor)
result = params, scale.loss_scale
