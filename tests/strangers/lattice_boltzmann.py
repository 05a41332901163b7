"""Flow around a cylinder by the lattice Boltzmann method (D2Q9)."""

import jax
import jax.numpy as jnp
import numpy as np

NX, NY, STEPS = 40, 16, 30
CX = jnp.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
CY = jnp.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
LATTICE = jnp.stack([CX, CY])
OPPOSITE = jnp.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
W = jnp.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
RIGHT, LEFT, VERTICAL = np.array([1, 5, 8]), np.array([3, 6, 7]), np.array([0, 2, 4])


def get_density(f):
    return jnp.sum(f, axis=-1)


def get_velocities(f, rho):
    return jnp.einsum("NMQ,dQ->NMd", f, LATTICE) / rho[..., jnp.newaxis]


def get_equilibrium(u, rho):
    projected = jnp.einsum("dQ,NMd->NMQ", LATTICE, u)
    magnitude = jnp.linalg.norm(u, axis=-1, ord=2)[..., jnp.newaxis]
    return rho[..., jnp.newaxis] * W * (1 + 3 * projected + 9 / 2 * projected**2 - 3 / 2 * magnitude**2)


def main(enable_x64=False):
    omega = 1.0 / (3.0 * (0.04 * NY / 9 / 20.0) + 0.5)
    x, y = jnp.meshgrid(jnp.arange(NX), jnp.arange(NY), indexing="ij")
    obstacle = jnp.sqrt((x - NX // 5) ** 2 + (y - NY // 2) ** 2) < NY // 9 + 1
    inflow = jnp.zeros((NX, NY, 2)).at[:, :, 0].set(0.04)

    @jax.jit
    def update(f):
        f = f.at[-1, :, LEFT].set(f[-2, :, LEFT])
        rho = get_density(f)
        u = get_velocities(f, rho)
        u = u.at[0, 1:-1, :].set(inflow[0, 1:-1, :])
        rho = rho.at[0, :].set((get_density(f[0, :, VERTICAL].T) + 2 * get_density(f[0, :, LEFT].T)) / (1 - u[0, :, 0]))
        eq = get_equilibrium(u, rho)
        f = f.at[0, :, RIGHT].set(eq[0, :, RIGHT])
        after = f - omega * (f - eq)
        for i in range(9):
            after = after.at[obstacle, OPPOSITE[i]].set(f[obstacle, i])
        for i in range(9):
            after = after.at[:, :, i].set(jnp.roll(jnp.roll(after[:, :, i], CX[i], axis=0), CY[i], axis=1))
        return after

    f = get_equilibrium(inflow, jnp.ones((NX, NY)))
    for step in range(STEPS):
        f = update(f)
    u = get_velocities(f, get_density(f))
    dudx, dudy = jnp.gradient(u[..., 0])
    dvdx, dvdy = jnp.gradient(u[..., 1])
    return f, jnp.linalg.norm(u, axis=-1), dudy - dvdx


result = main()
