"""diffrax: an ordinary equation by Dopri5, its gradient, and a stochastic one by Euler and Maruyama."""

import jax
import jax.numpy as jnp
from diffrax import (
    ControlTerm,
    Dopri5,
    Euler,
    MultiTerm,
    ODETerm,
    PIDController,
    SaveAt,
    VirtualBrownianTree,
    diffeqsolve,
)


def f(t, y, args):
    return -args * y


saveat = SaveAt(ts=jnp.linspace(0, 3, 7))


def solve(rate):
    controller = PIDController(rtol=1e-5, atol=1e-5)
    return diffeqsolve(
        ODETerm(f),
        Dopri5(),
        t0=0,
        t1=3,
        dt0=0.1,
        y0=jnp.array([2.0, 3.0]),
        args=rate,
        saveat=saveat,
        stepsize_controller=controller,
    )


solution = solve(0.7)
gradient = jax.grad(lambda rate: solve(rate).ys.sum())(0.7)
path = VirtualBrownianTree(0, 1, tol=1e-2, shape=(), key=jax.random.key(5))
terms = MultiTerm(ODETerm(lambda t, y, args: -y), ControlTerm(lambda t, y, args: 0.1 * t, path))
stochastic = diffeqsolve(terms, Euler(), t0=0, t1=1, dt0=0.05, y0=1.0, saveat=SaveAt(ts=jnp.linspace(0, 1, 5)))
result = solution.ys, solution.stats["num_steps"], gradient, stochastic.ys
