"""Planets in double precision: a symplectic integrator, conserved quantities, and how the end depends on the start."""

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
import numpy as np

G = 4 * np.pi**2
masses = jnp.array([1.0, 1.66e-7, 2.45e-6, 3.0e-6, 9.54e-4])
radii = jnp.array([0.0, 0.387, 0.723, 1.0, 5.203])
angles = jnp.array([0.0, 0.5, 1.5, 3.0, 4.5])
pos = jnp.stack([radii * jnp.cos(angles), radii * jnp.sin(angles), 0.01 * radii], axis=1)
speed = jnp.where(radii > 0, jnp.sqrt(G / jnp.where(radii > 0, radii, 1.0)), 0.0)
vel = jnp.stack([-speed * jnp.sin(angles), speed * jnp.cos(angles), jnp.zeros(5)], axis=1)


def acceleration(pos, softening=1e-3):
    dx = pos[None, :, :] - pos[:, None, :]
    inv_r3 = (jnp.sum(dx**2, -1) + softening**2) ** -1.5
    inv_r3 = jnp.fill_diagonal(inv_r3, 0.0, inplace=False)
    return G * jnp.einsum("ij,ijk,j->ik", inv_r3, dx, masses)


def energy(pos, vel):
    i, j = np.triu_indices(5, 1)
    r = jnp.sqrt(jnp.sum((pos[i] - pos[j]) ** 2, -1) + 1e-6)
    return 0.5 * jnp.sum(masses * jnp.sum(vel**2, -1)) - jnp.sum(G * masses[i] * masses[j] / r)


@jax.jit
def simulate(pos, vel, dt):
    def leapfrog(carry, _):
        pos, vel, acc = carry
        vel = vel + 0.5 * dt * acc
        pos = pos + dt * vel
        acc = acceleration(pos)
        vel = vel + 0.5 * dt * acc
        return (pos, vel, acc), (energy(pos, vel), jnp.cross(pos, vel).T @ masses)

    return jax.lax.scan(leapfrog, (pos, vel, acceleration(pos)), None, length=100)


(end, end_vel, _), (energies, momenta) = simulate(pos, vel, 0.002)
forces = -jax.grad(lambda p: energy(p, vel))(pos) / masses[:, None]
sensitivity = jax.jacfwd(lambda v: simulate(pos, vel.at[3].set(v), 0.002)[0][0][3])(vel[3])
result = end, end_vel, energies, momenta, forces, sensitivity, np.asarray(jnp.ptp(energies))
