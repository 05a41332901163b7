"""Optimal control: a pendulum swings up by iterative LQR, with line search over step sizes."""

import jax
import jax.numpy as jnp
from jax import hessian, jacfwd, lax, vmap

HORIZON, DT = 12, 0.1


def dynamics(x, u):
    theta, omega = x
    return jnp.array([theta + DT * omega, omega + DT * (9.81 * jnp.sin(theta) + 3.0 * jnp.tanh(u[0]))])


def cost(x, u):
    return 0.5 * (1 - jnp.cos(x[0])) + 0.05 * x[1] ** 2 + 0.01 * u @ u


def terminal_cost(x):
    return 20 * (1 - jnp.cos(x[0])) + x[1] ** 2


def rollout(x0, us):
    def step(x, u):
        return dynamics(x, u), (x, cost(x, u))

    last, (xs, costs) = lax.scan(step, x0, us)
    return jnp.vstack([xs, last]), costs.sum() + terminal_cost(last)


def backward(xs, us):
    fx, fu = vmap(jacfwd(dynamics, (0, 1)))(xs[:-1], us)
    lx, lu = vmap(jax.grad(cost, (0, 1)))(xs[:-1], us)
    (lxx, _), (lux, luu) = vmap(hessian(cost, (0, 1)))(xs[:-1], us)

    def step(carry, inputs):
        vx, vxx = carry
        fx, fu, lx, lu, lxx, lux, luu = inputs
        qx, qu = lx + fx.T @ vx, lu + fu.T @ vx
        qxx, qux, quu = lxx + fx.T @ vxx @ fx, lux + fu.T @ vxx @ fx, luu + fu.T @ vxx @ fu + 1e-3 * jnp.eye(1)
        gains = -jnp.linalg.solve(quu, jnp.column_stack([qu, qux]))
        k, K = gains[:, 0], gains[:, 1:]
        vx = qx + K.T @ quu @ k + K.T @ qu + qux.T @ k
        vxx = qxx + K.T @ quu @ K + K.T @ qux + qux.T @ K
        return (vx, 0.5 * (vxx + vxx.T)), (k, K)

    last = jax.grad(terminal_cost)(xs[-1]), hessian(terminal_cost)(xs[-1])
    return lax.scan(step, last, (fx, fu, lx, lu, lxx, lux, luu), reverse=True)[1]


def forward(xs, us, gains, alpha):
    def step(x, inputs):
        x_old, u, k, K = inputs
        u = u + alpha * k + K @ (x - x_old)
        return dynamics(x, u), u

    return lax.scan(step, xs[0], (xs[:-1], us, *gains))[1]


@jax.jit
def ilqr(x0, us):
    def body(state):
        us, old, _, n = state
        xs, _ = rollout(x0, us)
        candidates = vmap(lambda alpha: forward(xs, us, backward(xs, us), alpha))(2.0 ** -jnp.arange(5))
        costs = vmap(lambda us: rollout(x0, us)[1])(candidates)
        best = jnp.nanargmin(costs)
        return lax.cond(
            costs[best] < old,
            lambda: (candidates[best], costs[best], old - costs[best], n + 1),
            lambda: (us, old, 0.0, n + 1),
        )

    start = us, rollout(x0, us)[1], jnp.inf, 0
    return lax.while_loop(lambda s: (s[2] > 1e-4) & (s[3] < 6), body, start)


x0 = jnp.array([jnp.pi, 0.0])
us, value, change, iterations = ilqr(x0, 0.1 * jnp.ones((HORIZON, 1)))
result = us, value, change, iterations, rollout(x0, us)
