"""Two-dimensional turbulence: a pseudo-spectral solver, its spectrum, and a heat equation that a network learns (PINN)."""

import jax
import jax.numpy as jnp
import numpy as np

N = 16
k = jnp.fft.fftfreq(N, 1 / N)
kx, ky = jnp.meshgrid(k, k[: N // 2 + 1].at[-1].set(N // 2), indexing="ij")
k2 = kx**2 + ky**2
inv_k2 = jnp.where(k2 > 0, 1 / jnp.where(k2 > 0, k2, 1), 0)
dealias = (jnp.abs(kx) < N / 3) & (jnp.abs(ky) < N / 3)


def rhs(w_hat, nu=1e-2):
    u, v, wx, wy = jnp.fft.irfft2(jnp.stack([1j * ky * inv_k2, -1j * kx * inv_k2, 1j * kx, 1j * ky]) * w_hat)
    return dealias * -jnp.fft.rfft2(u * wx + v * wy) - nu * k2 * w_hat


def rk4(w, dt):
    k1 = rhs(w)
    k2_ = rhs(w + dt / 2 * k1)
    k3 = rhs(w + dt / 2 * k2_)
    k4 = rhs(w + dt * k3)
    return w + dt / 6 * (k1 + 2 * k2_ + 2 * k3 + k4)


@jax.jit
def solve(w0):
    def step(w, _):
        w = rk4(w, 0.05)
        return w, (jnp.abs(w) ** 2 * inv_k2).sum()

    w, energy = jax.lax.scan(step, jnp.fft.rfft2(w0), None, length=8)
    shell = jnp.sqrt(k2).astype(int).ravel()
    return jnp.fft.irfft2(w), energy, jnp.bincount(shell, weights=(jnp.abs(w) ** 2).ravel(), length=N)


x, y = np.mgrid[:N, :N] * 2 * np.pi / N
w0 = jnp.sin(x) * jnp.cos(2 * y) + 0.3 * jax.random.normal(jax.random.PRNGKey(5), (N, N))


def net(params, x, t):
    h = jnp.stack([x, t])
    for W, b in params[:-1]:
        h = jnp.tanh(W @ h + b)
    return (params[-1][0] @ h + params[-1][1])[0]


def residual(params, x, t):
    u_t = jax.grad(net, argnums=2)(params, x, t)
    u_xx = jax.jvp(lambda x: jax.jvp(lambda x: net(params, x, t), (x,), (1.0,))[1], (x,), (1.0,))[1]
    return u_t - 0.1 * u_xx


def pinn_loss(params, xs, ts):
    inside = jax.vmap(residual, (None, 0, 0))(params, xs, ts)
    start = jax.vmap(net, (None, 0, None))(params, xs, 0.0) - jnp.sin(np.pi * xs)
    edges = jax.vmap(net, (None, None, 0))(params, 0.0, ts)
    return jnp.mean(inside**2) + jnp.mean(start**2) + jnp.mean(edges**2)


sizes, keys = [2, 8, 8, 1], jax.random.split(jax.random.PRNGKey(0), 3)
params = [(jax.nn.initializers.glorot_normal()(q, (n, m)), jnp.zeros(n)) for q, m, n in zip(keys, sizes, sizes[1:])]
xs, ts = jax.random.uniform(jax.random.PRNGKey(1), (2, 20))
step = jax.jit(lambda p: jax.tree.map(lambda a, g: a - 0.02 * g, p, jax.grad(pinn_loss)(p, xs, ts)))
for _ in range(4):
    params = step(params)
result = solve(w0), params, pinn_loss(params, xs, ts)
