"""custom_vmap and sequential_vmap, against JAX: what they compute, what is recorded, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from test_solves import same_program
from twin import raised, same_as_jax

import jitkit

X = np.float32(2)
XS = np.float32([1, 2, 3])
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


def functions(jax):
    """Return functions with custom batching rules, which return other values than batching the function would."""
    jnp, decorator = jax.numpy, jax.custom_batching.custom_vmap
    f = decorator(lambda x, y: {"a": x + y})
    f.def_vmap(lambda size, batched, x, y: ({"a": x * y + size}, {"a": batched[0] or batched[1]}))
    ones = jnp.ones(3)
    closes = decorator(lambda x: (x + ones, ones * 2))
    closes.def_vmap(lambda size, batched, x: ((x[:, None] * ones, ones), (True, False)))
    one_by_one = jax.custom_batching.sequential_vmap(lambda x, t: (jnp.sin(x) * t["k"], x))
    matrix = decorator(lambda t, y: (t["x"] @ y, 3))
    matrix.def_vmap(
        lambda size, batched, t, y: (
            (jnp.einsum("...ij,...j->...i", t["x"], y), 3 * size),
            (batched[0]["x"] or batched[1], False),
        )
    )
    inner = decorator(lambda x, y: jnp.sin(x) * y)
    inner.def_vmap(lambda size, batched, x, y: (jnp.cos(x) * y, True))
    reverse = jax.custom_vjp(inner)
    reverse.defvjp(lambda x, y: (reverse(x, y), (jnp.cos(x), y)), lambda r, g: (r[0] * g * r[1], g))
    return f, closes, one_by_one, matrix, reverse


CASES = {
    "a call": lambda jax, f, *_: (f, X, X),
    "by keyword": lambda jax, f, *_: (lambda x: f(y=x, x=1.0), X),
    "a batch": lambda jax, f, *_: (jax.vmap(f), XS, XS),
    "one argument": lambda jax, f, *_: (jax.vmap(f, (None, 0)), X, XS),
    "two batches": lambda jax, f, *_: (jax.vmap(jax.vmap(f)), ROWS, ROWS),
    "two, one each": lambda jax, f, *_: (jax.vmap(jax.vmap(f, (0, None)), (None, 0)), XS, XS),
    "jit of a batch": lambda jax, f, *_: (jax.jit(jax.vmap(f)), XS, XS),
    "a batch of jit": lambda jax, f, *_: (jax.vmap(jax.jit(f)), XS, XS),
    "jvp": lambda jax, f, *_: (lambda x, y: jax.jvp(f, (x, y), (y, x)), X, X),
    "a batch of jvp": lambda jax, f, *_: (jax.vmap(lambda x, y: jax.jvp(f, (x, y), (y, x))), XS, XS),
    "jvp of a batch": lambda jax, f, *_: (lambda x, y: jax.jvp(jax.vmap(f), (x, y), (y, x)), XS, XS),
    "tangents are the batch": lambda jax, f, *_: (jax.vmap(lambda t: jax.jvp(lambda x: f(x, x), (2.0,), (t,))), XS),
    "values are the batch": lambda jax, f, *_: (jax.vmap(lambda x: jax.jvp(lambda x: f(x, x), (x,), (2.0,))), XS),
    "jvp of jvp": lambda jax, f, *_: (
        jax.vmap(lambda x: jax.jvp(lambda x: jax.jvp(lambda x: f(x, x), (x,), (x,)), (x,), (x,))),
        XS,
    ),
    "grad": lambda jax, f, *_: (jax.grad(lambda x: f(x, x)["a"]), X),
    "a batch of grad": lambda jax, f, *_: (jax.vmap(jax.grad(lambda x: f(x, x)["a"])), XS),
    "grad of a batch": lambda jax, f, *_: (jax.grad(lambda x: jax.vmap(f)(x, x)["a"].sum()), XS),
    "in a scan": lambda jax, f, *_: (jax.vmap(lambda x: jax.lax.scan(lambda c, x: (f(c, x)["a"], x), 0.0, x)), ROWS),
    "closes over an array": lambda jax, f, g, *_: (jax.vmap(g), XS),
    "closes over an array, jvp": lambda jax, f, g, *_: (jax.vmap(lambda x: jax.jvp(g, (x,), (x,))), XS),
    "closes over an array, jitted": lambda jax, f, g, *_: (jax.jit(jax.vmap(lambda x: jax.jit(g)(x))), XS),
    "one by one": lambda jax, f, g, h, *_: (jax.vmap(h, (0, None)), XS, {"k": X}),
    "one by one, trees": lambda jax, f, g, h, *_: (jax.vmap(h), XS, {"k": XS}),
    "one by one, twice": lambda jax, f, g, h, *_: (jax.vmap(jax.vmap(h, (0, None)), (0, None)), ROWS, {"k": X}),
    "matrices": lambda jax, f, g, h, m, *_: (jax.vmap(m, ({"x": 1}, None)), {"x": np.stack([ROWS, ROWS], 1)}, XS),
    "matrices, vectors": lambda jax, f, g, h, m, *_: (jax.vmap(m, ({"x": None}, 0)), {"x": ROWS}, np.stack([XS, XS])),
    "with a vjp": lambda jax, f, g, h, m, r: (jax.vmap(r), XS, XS),
    "with a vjp, its grad": lambda jax, f, g, h, m, r: (jax.grad(r), X, X),
    "with a vjp, a batch of grad": lambda jax, f, g, h, m, r: (jax.vmap(jax.grad(r)), XS, XS),
}
CASES = {name: (functions, lambda jax, made, case=case: case(jax, *made)) for name, case in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_functions_with_a_batching_rule_do_what_they_do_in_jax(name):
    same_program(name, CASES)


@same_as_jax
def test_rules_for_batches_that_do_not_fit_are_refused(jax, jnp):
    def of(rule):
        made = jax.custom_batching.custom_vmap(lambda x: x)
        made.def_vmap(rule)
        return jax.vmap(made)

    return [
        raised(of(lambda size, batched, x: (x, (True, True))), XS),
        raised(of(lambda size, batched, x: ((x, x), (True, True))), XS),
        raised(jax.custom_batching.custom_vmap(lambda x: x), X),
        raised(jax.custom_batching.custom_vmap(lambda x: x), X, q=1),
    ]


def test_a_rule_is_not_asked_for_what_its_function_closes_over():
    def f(z):
        inner = jitkit.custom_batching.custom_vmap(lambda x: x + z)
        inner.def_vmap(lambda size, batched, x: (x, True))
        return inner(z)

    with pytest.raises(NotImplementedError, match="closes over a batch") as caught:
        jitkit.vmap(f)(XS)
    assert str(caught.value).endswith("Make it an argument of the function.")
