"""`lax.platform_dependent`: the function for the platform that a program is compiled for; beside JAX, in each transformation."""

import re

import numpy as np
import pytest

import jitkit
import jitkit.numpy as jnp
from jitkit import lax
from tests.twin import raised, same_as_jax

ROW = np.float32([0.5, -1.0, 2.0])


def chosen(jax, jnp):
    """Return a function that computes sin on a CPU, cos on a TPU, and 2 x elsewhere."""
    return lambda x: jax.lax.platform_dependent(x, cpu=jnp.sin, tpu=jnp.cos, default=lambda x: x * 2)


WAYS = {
    "at once": lambda jax, f: f,
    "jit": lambda jax, f: jax.jit(f),
    "grad": lambda jax, f: jax.grad(lambda x: f(x).sum()),
    "jit(grad)": lambda jax, f: jax.jit(jax.grad(lambda x: f(x).sum())),
    "jvp": lambda jax, f: lambda x: jax.jvp(f, (x,), (x,)),
    "vmap": lambda jax, f: jax.vmap(f),
    "checkpoint": lambda jax, f: jax.grad(jax.checkpoint(lambda x: f(x).sum())),
    "hessian": lambda jax, f: jax.hessian(lambda x: f(x).sum()),
    "scan": lambda jax, f: lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
}


@pytest.mark.parametrize("way", WAYS)
@same_as_jax
def test_in_each_transformation(jax, jnp, way):
    f = WAYS[way](jax, chosen(jax, jnp))
    x = jnp.asarray(ROW)
    return [np.asarray(v).round(5) for v in jax.tree.leaves(f(x))], str(jax.make_jaxpr(f)(x))


TABLE = np.arange(3, dtype="float32")
CALLS = {
    "two platforms of one function": lambda jax, jnp, x: jax.lax.platform_dependent(x, cpu=jnp.sin, cuda=jnp.sin, tpu=jnp.cos),
    "only a default": lambda jax, jnp, x: jax.lax.platform_dependent(x, default=jnp.sin),
    "trees": lambda jax, jnp, x: jax.lax.platform_dependent({"a": x}, 2, cpu=lambda d, n: (d["a"], n), default=lambda d, n: (x, n)),
    "constants": lambda jax, jnp, x: jax.lax.platform_dependent(x, cpu=lambda x: x + TABLE, default=lambda x: x * TABLE),
    "no function for this machine": lambda jax, jnp, x: jax.lax.platform_dependent(x, tpu=jnp.cos),
    "gpu": lambda jax, jnp, x: jax.lax.platform_dependent(x, gpu=jnp.cos),
    "what cannot be called": lambda jax, jnp, x: jax.lax.platform_dependent(x, cpu=3),
    "a default that cannot be called": lambda jax, jnp, x: jax.lax.platform_dependent(x, cpu=jnp.sin, default=3),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@same_as_jax
def test_calls_of_all_kinds(jax, jnp, call):
    def f(x):
        return CALLS[call](jax, jnp, x)

    x = jnp.asarray(ROW)
    return raised(lambda: f(x)), raised(lambda: jax.jit(f)(x)), raised(lambda: str(jax.make_jaxpr(f)(x)))


@same_as_jax
def test_functions_that_return_other_types_are_refused_where_they_are_traced(jax, jnp):
    def f(x):
        return jax.lax.platform_dependent(x, cpu=lambda x: x, default=lambda x: x > 0)

    return f(ROW), raised(lambda: jax.jit(f)(ROW))[0]


def test_a_program_for_another_platform_has_its_function():
    traced = jitkit.jit(chosen(jitkit, jnp)).trace(ROW)
    texts = {platform: traced.lower(lowering_platforms=(platform,)).as_text() for platform in ("cpu", "tpu", "cuda")}
    written = [re.findall(r"stablehlo\.(sine|cosine|multiply)", text) for text in texts.values()]
    assert written == [["sine"], ["cosine"], ["multiply"]]
    assert not any("case" in text for text in texts.values())  # no choice is left in the program


def test_without_any_function_there_is_nothing_to_choose():
    with pytest.raises(NotImplementedError, match=r"pass `cpu=\.\.\.`, or a `default`"):
        lax.platform_dependent(1.0)
    with pytest.raises(TypeError, match="there is no function to choose"):
        jitkit.jit(lambda x: lax.platform_dependent(x))(1.0)
