"""Predator and prey: an adaptive Runge-Kutta method by hand, and a fit through odeint's adjoint."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.ode import odeint


def lotka_volterra(y, t, a, b, c, d):
    prey, predator = y
    return jnp.stack([a * prey - b * prey * predator, -c * predator + d * prey * predator])


# Dormand and Prince
C = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
A = [
    [],
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
]
E = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])


@jax.jit
def solve(y0, t1, args, rtol=1e-4, atol=1e-6):
    def stages(t, y, h):
        ks = []
        for c, row in zip(C, A):
            ks.append(
                lotka_volterra(y + h * sum((a * k for a, k in zip(row, ks)), jnp.zeros_like(y)), t + c * h, *args)
            )
        return y + h * sum(a * k for a, k in zip(A[-1], ks)), h * jnp.tensordot(E, jnp.stack(ks), 1)

    def cond(state):
        t, _, _, n = state
        return (t < t1) & (n < 500)

    def body(state):
        t, y, h, n = state
        h = jnp.minimum(h, t1 - t)
        new, error = stages(t, y, h)
        ratio = jnp.sqrt(jnp.mean((error / (atol + rtol * jnp.maximum(jnp.abs(y), jnp.abs(new)))) ** 2))
        factor = jnp.clip(0.9 * ratio ** (-1 / 5), 0.2, 10.0)
        accepted = ratio <= 1
        return jnp.where(accepted, t + h, t), jnp.where(accepted, new, y), h * factor, n + 1

    return jax.lax.while_loop(cond, body, (0.0, y0, jnp.float32(0.1), 0))


y0 = jnp.array([10.0, 5.0])
truth = (1.1, 0.4, 0.4, 0.1)
t, y, h, steps = solve(y0, 4.0, truth)

ts = jnp.linspace(0.0, 4.0, 6)
data = odeint(lotka_volterra, y0, ts, *truth)


def loss(params):
    return jnp.mean((odeint(lotka_volterra, y0, ts, *jnp.exp(params), rtol=1e-4, atol=1e-4) - data) ** 2)


params = jnp.log(jnp.array([1.0, 0.5, 0.5, 0.1]))
step = jax.jit(lambda p: (lambda v, g: (p - 1e-3 * g / jnp.linalg.norm(g), v))(*jax.value_and_grad(loss)(p)))
values = []
for _ in range(3):
    params, value = step(params)
    values.append(value)
result = (t, y, h, steps), data, params, values
