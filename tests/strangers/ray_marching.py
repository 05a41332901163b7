"""A picture of two spheres on a floor, by sphere tracing a signed distance function: normals are its gradient."""

import jax.numpy as jnp
from jax import grad, jit, lax, vmap

norm = lambda v, axis=-1, keepdims=False, eps=0.0: jnp.sqrt((v * v).sum(axis, keepdims=keepdims).clip(eps))
normalize = lambda v: v / norm(v, keepdims=True, eps=1e-20)
SIZE = 12


def scene(p):
    ball = norm(p - jnp.array([0.0, 0.5, 0.0])) - 0.5
    x, y, z = p
    box = norm(jnp.maximum(jnp.abs(jnp.array([x - 0.8, y - 0.3, z])) - 0.25, 0.0)) - 0.05
    d = jnp.array([ball, box, y])
    return d.min(), jnp.array([[0.9, 0.2, 0.2], [0.2, 0.3, 0.9], [0.6, 0.6, 0.6]])[d.argmin()]


sdf = lambda p: scene(p)[0]


def raycast(origin, direction, most=40):
    def cond(s):
        i, t, d = s
        return (i < most) & (d > 1e-3) & (t < 10.0)

    def body(s):
        i, t, _ = s
        d = sdf(origin + t * direction)
        return i + 1, t + d, d

    i, t, _ = lax.while_loop(cond, body, (0, 0.01, 1.0))
    return origin + t * direction, i


def shadow(origin, light, hardness=8.0):
    def step(i, s):
        t, shade = s
        h = sdf(origin + light * t)
        return t + h.clip(0.02, 0.2), jnp.minimum(shade, jnp.clip(hardness * h / t, 0.0, 1.0))

    return lax.fori_loop(0, 12, step, (1e-2, 1.0))[1]


def camera(forward, size):
    x, y = jnp.meshgrid(jnp.linspace(-1, 1, size), jnp.linspace(1, -1, size))
    right = jnp.cross(forward, jnp.array([0.0, 1.0, 0.0]))
    down = jnp.cross(right, forward)
    R = normalize(jnp.vstack([right, down, forward]))
    return normalize(jnp.c_[x.ravel(), y.ravel(), jnp.full(x.size, 1.5)] @ R)


def shade(p, ray, light):
    n = grad(sdf)(p)
    _, color = scene(p)
    half = normalize(light - ray)
    diffuse = jnp.clip(n @ light, 0, 1) * shadow(p + 0.02 * n, light)
    specular = jnp.power(jnp.clip(n @ half, 0, 1), 40.0)
    return (0.2 + 0.8 * diffuse) * color + 0.3 * specular, n


@jit
def render(position, light):
    rays = camera(normalize(jnp.array([0.0, 0.3, 0.0]) - position), SIZE)
    hits, steps = vmap(raycast, (None, 0))(position, rays)
    colors, normals = vmap(shade, (0, 0, None))(hits, rays, light)
    image = jnp.where(norm(hits - position)[:, None] < 10, colors, 0.1)
    return (image ** (1.0 / 2.2)).reshape(SIZE, SIZE, 3), steps.reshape(SIZE, SIZE), normals


image, steps, normals = render(jnp.array([1.5, 1.2, 3.0]), normalize(jnp.array([1.1, 1.0, 0.2])))
result = (255 * image).astype(jnp.uint8), image, steps, normals
