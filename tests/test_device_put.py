"""`device_put` is an operation: its equation, with JAX's parameters, in every transformation, and what comes of it."""

import math

import jax
import numpy as np
import pytest

import jitkit
from tests.twin import JAX_VERSION, same_as_jax

C = np.arange(3.0, dtype="float32")


def device(jax):
    return jax.devices()[0]


def put_and_added(jax, c):
    return lambda x: jax.device_put(c) + c


# name -> a function of (jax, jnp) that returns a function and its arguments. Its jaxpr and its results are compared.
RECORDED = {
    "a tracer": lambda jax, jnp: (jax.device_put, 1.0),
    "to a device": lambda jax, jnp: (lambda x: jax.device_put(x, device(jax)) + 1, 1.0),
    "with a sharding": lambda jax, jnp: (
        lambda x: jax.device_put(x, jax.sharding.SingleDeviceSharding(device(jax))),
        1.0,
    ),
    "a tree": lambda jax, jnp: (lambda x: jax.device_put({"z": (0, x), "a": [True, 1.5]}), 1.0),
    "a tree of places": lambda jax, jnp: (
        lambda x: jax.device_put({"a": x, "b": (x, 1)}, {"a": device(jax), "b": None}),
        1.0,
    ),
    "an empty tree": lambda jax, jnp: (lambda x: jax.device_put({"a": None, "b": ()}), 1.0),
    "numpy's array": lambda jax, jnp: (lambda x: jax.device_put(C), 1.0),
    "numpy's scalar": lambda jax, jnp: (lambda x: jax.device_put(np.float32(2)), 1.0),
    "numpy's arrays alone": lambda jax, jnp: (lambda x: jax.device_put([C, np.int32(1)]), 1.0),
    "numpy's array and a tracer": lambda jax, jnp: (lambda x: jax.device_put((C, x)), 1.0),
    "numpy's array to a device": lambda jax, jnp: (lambda x: jax.device_put(C, device(jax)), 1.0),
    "numpy's array, copied": lambda jax, jnp: (lambda x: jax.device_put(C, may_alias=False), 1.0),
    "numbers of Python": lambda jax, jnp: (lambda x: jax.device_put((2, 2.0, True, 1j)), 1.0),
    "an array": lambda jax, jnp: (put_and_added(jax, jnp.ones(3)), 1.0),
    "an array of that device": lambda jax, jnp: (put_and_added(jax, jax.device_put(C, device(jax))), 1.0),
    "a key": lambda jax, jnp: (lambda x: (jax.device_put(x), 1)[1], jax.random.key(0)),
    "given away": lambda jax, jnp: (lambda x: jax.device_put(x, donate=True), 1.0),
    "shared": lambda jax, jnp: (lambda x: jax.device_put((x, x), may_alias=(True, False)), 1.0),
    "from a device": lambda jax, jnp: (lambda x: jax.device_put([x, x], src=[device(jax), None]), 1.0),
    "an unused result": lambda jax, jnp: (lambda x: (jax.device_put((x, x + 1)), x * 2)[1], 1.0),
    "in jit": lambda jax, jnp: (jax.jit(lambda x: jax.device_put(x, device(jax))), 1.0),
    "jitted": lambda jax, jnp: (jax.jit(jax.device_put), 1.0),
    "grad": lambda jax, jnp: (jax.grad(lambda x: jax.device_put(x, device(jax)) ** 2), 3.0),
    "grad of jit": lambda jax, jnp: (jax.grad(jax.jit(lambda x: jax.device_put(x, device(jax)) ** 2)), 3.0),
    "grad of a tree": lambda jax, jnp: (jax.grad(lambda x, n: math.prod(jax.device_put((x, n, x))[:2])), 3.0, 2),
    "grad beside a constant": lambda jax, jnp: (
        jax.grad(lambda x: (x * put_and_added(jax, jnp.ones(3))(x)).sum()),
        1.0,
    ),
    "jvp": lambda jax, jnp: (lambda x, t: jax.jvp(lambda x: jax.device_put((x, C), device(jax)), (x,), (t,)), 3.0, 1.0),
    "linearize": lambda jax, jnp: (lambda x: jax.linearize(lambda x: jax.device_put(x, device(jax)) ** 2, x)[1](x), C),
    "linear_transpose": lambda jax, jnp: (lambda y: jax.linear_transpose(jax.device_put, C)(y), C),
    "vmap": lambda jax, jnp: (jax.vmap(lambda x: jax.device_put((x, 1.0, x), device(jax))), C),
    "vmap beside a constant": lambda jax, jnp: (jax.vmap(lambda x: jax.device_put(C) + x), C),
    "vmap of grad": lambda jax, jnp: (jax.vmap(jax.grad(lambda x: jax.device_put(x) * 2)), C),
    "grad of vmap": lambda jax, jnp: (
        jax.grad(lambda x: jax.vmap(lambda y: jax.device_put(y, device(jax)) ** 2)(x).sum()),
        C,
    ),
    "jacfwd": lambda jax, jnp: (jax.jacfwd(lambda x: jax.device_put(x, device(jax)) ** 2), C),
    "jacrev": lambda jax, jnp: (jax.jacrev(lambda x: jax.device_put(x, device(jax)) ** 2), C),
    "hessian": lambda jax, jnp: (jax.hessian(lambda x: jax.device_put(x, device(jax)) ** 3), 2.0),
    "checkpoint": lambda jax, jnp: (jax.grad(jax.checkpoint(lambda x: jnp.sin(jax.device_put(x, device(jax))))), 1.0),
    "scan": lambda jax, jnp: (
        # derivatives of `scan` are printed in another form since 0.11
        (jax.grad if JAX_VERSION < (0, 11) else lambda f: f)(
            lambda x: jax.lax.scan(lambda k, y: (jax.device_put(k * y + 1, device(jax)), k), x, C)[0]
        ),
        1.0,
    ),
    "while_loop": lambda jax, jnp: (
        lambda x: jax.lax.while_loop(lambda k: jax.device_put(k) < 3, lambda k: jax.device_put(k, device(jax)) + 1, x),
        1.0,
    ),
    "cond": lambda jax, jnp: (
        lambda x: jax.lax.cond(x > 0, lambda x: jax.device_put(x), lambda x: jax.device_put(np.float32(2)), x),
        1.0,
    ),
    "custom_jvp": lambda jax, jnp: (jax.grad(custom(jax)), 2.0),
    "to_device": lambda jax, jnp: (lambda x: x.to_device(device(jax)), jnp.ones(3)),
    "eye": lambda jax, jnp: (lambda x: jnp.eye(2, device=device(jax)), 1.0),
    "arange": lambda jax, jnp: (lambda x: jnp.arange(2, device=device(jax)), 1.0),
    "full of an array": lambda jax, jnp: (lambda x: jnp.full((2, 3), C, device=device(jax)), 1.0),
    "cg": lambda jax, jnp: (
        lambda b: jax.scipy.sparse.linalg.cg(lambda x: x * jnp.array([1.0, 2.0, 3.0]), b, maxiter=2)[0],
        C,
    ),
}


def custom(jax):
    f = jax.custom_jvp(lambda x: jax.device_put(x, device(jax)))
    f.defjvp(lambda primals, tangents: (jax.device_put(primals[0]), jax.device_put(tangents[0]) * 2))
    return f


@pytest.mark.parametrize("name", RECORDED)
@same_as_jax
def test_it_is_recorded_and_changes_no_value(jax, jnp, name):
    f, *args = RECORDED[name](jax, jnp)
    return str(jax.make_jaxpr(f)(*args)), f(*args), jax.jit(f)(*args)


@same_as_jax
def test_derivatives_and_batches_that_run_at_once_move_what_they_compute(jax, jnp):
    d, x = device(jax), jnp.arange(3.0)
    return [
        y.committed
        for y in [
            jax.grad(lambda x: jax.device_put(x, d).sum())(x),
            jax.grad(lambda x: jax.device_put(x).sum())(x),
            jax.vjp(lambda x: jax.device_put(x, d), x)[0],
            *jax.jvp(lambda x: jax.device_put(x, d), (x,), (x,)),
            jax.vmap(lambda x: jax.device_put(x, d))(x),
            jax.vmap(jax.device_put)(x),
            jax.jit(lambda x: jax.device_put(x, d))(x),
        ]
    ]


def test_a_batch_may_have_its_axis_elsewhere_in_each_leaf():
    """JAX fails with an AssertionError."""
    put = jitkit.vmap(lambda x, y: jitkit.device_put((x, y)), in_axes=(0, 1))
    x, y = put(np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2))
    assert np.array_equal(x, np.arange(6.0).reshape(2, 3))
    assert np.array_equal(y, np.arange(6.0).reshape(3, 2).T)


@pytest.mark.parametrize("where", ["alone", "in a tree", "to a device", "while tracing"])
def test_a_tracer_that_escaped_is_refused(where):
    escaped = []
    jitkit.jit(lambda x: escaped.append(x * 2) or x)(7)
    put = {
        "alone": lambda: jitkit.device_put(escaped[0]),
        "in a tree": lambda: jitkit.device_put({"a": escaped[0], "b": 1}),
        "to a device": lambda: jitkit.device_put(escaped[0], jitkit.devices()[0]),
        "while tracing": lambda: jitkit.jit(lambda x: jitkit.device_put((escaped[0], x)))(1.0),
    }
    with pytest.raises(jitkit.errors.UnexpectedTracerError, match=r"made on line|was created"):
        put[where]()


@pytest.mark.parametrize("tracing", [False, True])
@pytest.mark.parametrize(
    "call",
    [
        lambda jax, x: jax.device_put([x, x], [None]),
        lambda jax, x: jax.device_put([x, x], src=[None]),
        lambda jax, x: jax.device_put(x, donate=True, may_alias=True),
        lambda jax, x: jax.device_put([x, object()]),
        lambda jax, x: jax.device_put(x, 3),
        lambda jax, x: jax.grad(lambda x: jax.device_put(x, donate=True) ** 2)(x),
    ],
)
@same_as_jax
def test_what_it_does_not_take(jax, jnp, call, tracing):
    try:
        return (jax.jit(lambda x: call(jax, x)) if tracing else lambda x: call(jax, x))(1.0)
    except (TypeError, ValueError) as error:
        return type(error).__name__


def test_the_reverse_pass_of_what_is_given_away_says_what_to_do():
    with pytest.raises(ValueError, match="donate=True is not allowed") as caught:
        jitkit.grad(lambda x: jitkit.device_put(x, donate=True) ** 2)(1.0)
    assert "Take `donate=True` away" in str(caught.value)
    with pytest.raises(ValueError, match="donate=True is not allowed"):
        jax.grad(lambda x: jax.device_put(x, donate=True) ** 2)(1.0)


def test_a_backend_of_ones_own_takes_it():
    f = jitkit.jit(lambda x: jitkit.device_put((x * 2, x), jitkit.devices()[0])[0] + 1, backend="c")
    assert np.array_equal(f(C), C * 2 + 1)
