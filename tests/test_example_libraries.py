"""`example_libraries`, `image`, `experimental.ode` and flags compute, print and refuse what JAX's do."""

from __future__ import annotations

import importlib
import subprocess
import sys

import numpy as np
import pytest
from twin import JAX_VERSION

A = np.float32([[0.5, 0.25, 0.75], [1.5, -0.5, 2.0]])
B = np.float32([[1.5, 0.5, 0.25], [3.0, 2.0, 0.5]])
V = np.float32([0.5, -1.5, 2.0])
IMAGE = np.arange(20, dtype=np.float32).reshape(4, 5) ** 1.5


def room(library, name):
    return importlib.import_module(f"{library}.{name}")


def outcome(library, function, *args):
    """Return the outcome of a function of a library and arrays: the bits of its results, eager and jitted, and its
    jaxpr; or its error.
    """
    jax = importlib.import_module(library)

    def call(*xs):
        return function(library, *xs)

    try:
        text = str(jax.make_jaxpr(call)(*args))
        results = [call(*map(jax.numpy.asarray, args)), jax.jit(call)(*args)]
    except (TypeError, ValueError, NotImplementedError) as error:
        return type(error).__name__, str(error).splitlines()[0]
    leaves = [np.asarray(x) for result in results for x in jax.tree.leaves(result)]
    return text.replace(library, "jax"), [(x.dtype, x.shape, x.tobytes()) for x in leaves]


def assert_as_in_jax(function, *args):
    assert outcome("jitkit", function, *args) == outcome("jax", function, *args)


# --- optimizers -----------------------------------------------------------------------------------------------------

OPTIMIZERS = {
    "sgd": lambda m: m.sgd(0.1),
    "momentum": lambda m: m.momentum(m.constant(0.1), 0.9),
    "nesterov": lambda m: m.nesterov(m.exponential_decay(0.1, 2, 0.5), 0.9),
    "adagrad": lambda m: m.adagrad(0.1),
    "rmsprop": lambda m: m.rmsprop(m.polynomial_decay(0.1, 5, 0.01)),
    "rmsprop_momentum": lambda m: m.rmsprop_momentum(m.inverse_time_decay(0.1, 2, 0.5)),
    "adam": lambda m: m.adam(m.piecewise_constant([1, 2], [0.1, 0.2, 0.3])),
    "adamax": lambda m: m.adamax(m.inverse_time_decay(0.1, 2, 0.5, staircase=True)),
    "sm3": lambda m: m.sm3(0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_three_steps_of_an_optimizer(name):
    def three_steps(library, a, v):
        module = room(library, "example_libraries.optimizers")
        init, update, get_params = OPTIMIZERS[name](module)
        state = init({"a": a, "v": v})
        for step in range(3):
            state = update(step, {"a": get_params(state)["a"] * 2, "v": v}, state)
        return get_params(module.pack_optimizer_state(module.unpack_optimizer_state(state))), state

    assert_as_in_jax(three_steps, A, V)


def test_gradients_of_another_tree_and_clipping():
    def other_tree(library, a):
        adam = room(library, "example_libraries.optimizers").adam(0.1)
        return adam.params_fn(adam.update_fn(0, (a, a), adam.init_fn((a,))))

    assert_as_in_jax(other_tree, A)
    assert_as_in_jax(lambda library, a, v: room(library, "example_libraries.optimizers").clip_grads([a, v], 1.0), A, V)
    assert_as_in_jax(
        lambda library, v: room(library, "example_libraries.optimizers").piecewise_constant([1, 2], v[:2])(1), V
    )


# --- stax -----------------------------------------------------------------------------------------------------------

NETWORKS = {
    "convolutions": lambda t: t.serial(
        t.Conv(4, (3, 3), padding="SAME"), t.BatchNorm(), t.Relu, t.MaxPool((2, 2)), t.AvgPool((2, 2), padding="SAME"), t.Flatten,
        t.Dense(5), t.LogSoftmax,
    ),
    "branches": lambda t: t.serial(
        t.FanOut(2), t.parallel(t.Dense(3), t.serial(t.Dense(3), t.Tanh)), t.FanInSum, t.FanOut(2), t.FanInConcat(), t.Dropout(0.5),
        t.shape_dependent(lambda shape: t.Dense(shape[-1])), t.Elu, t.Identity, t.SumPool((2, 2), strides=(2, 2)),
    ),
    "transposed": lambda t: t.serial(t.ConvTranspose(2, (3, 3), strides=(2, 2)), t.BatchNorm(center=False), t.LeakyRelu, t.Softplus),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_has_the_shape_and_gives_the_bits_of_jaxs(name):
    def forward(library, x):
        init, apply = NETWORKS[name](room(library, "example_libraries.stax"))
        key = room(library, "random").key(1)
        shape, params = init(key, x.shape)
        return np.array(shape), apply(params, x, rng=key)

    assert_as_in_jax(forward, np.linspace(-1, 1, 2 * 8 * 8 * 3, dtype=np.float32).reshape(2, 8, 8, 3))


def test_dropout_asks_for_a_key():
    assert_as_in_jax(lambda library, x: room(library, "example_libraries.stax").Dropout(0.5)[1]((), x), A)


# --- images ---------------------------------------------------------------------------------------------------------

METHODS = ("nearest", "bilinear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area", "quadratic")


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_an_image_of_another_size(method, antialias):
    assert_as_in_jax(lambda library, x: room(library, "image").resize(x, (7, 3), method, antialias), IMAGE)


def test_an_image_that_is_moved():
    def moved(library, x, v, method="linear", axes=(0, 1)):
        return room(library, "image").scale_and_translate(x, (4, 4), axes, v[:2], v[1:], method, antialias=False)

    assert_as_in_jax(moved, IMAGE, V)
    assert_as_in_jax(lambda library, x, v: moved(library, x, v, "cubic-pytorch"), IMAGE, V)
    assert_as_in_jax(lambda library, x, v: moved(library, x, v, "nearest"), IMAGE, V)
    assert_as_in_jax(lambda library, x: room(library, "image").resize(x, (3,), "linear"), IMAGE)


# --- differential equations -------------------------------------------------------------------------------------------

TIMES = np.linspace(0.0, 1.0, 4, dtype=np.float32)
EQUATIONS = {
    "of an array": lambda ode, jax, v, t: ode.odeint(lambda y, t: -y * t, v, t),
    "of a tree": lambda ode, jax, v, t: ode.odeint(
        lambda y, t, a: {"p": y["q"], "q": -a * y["p"]}, {"p": v, "q": v[0]}, t, v[:1]
    ),
    "short of steps": lambda ode, jax, v, t: ode.odeint(
        lambda y, t: -y, v, t, rtol=1e-6, atol=1e-6, mxstep=2, hmax=0.1
    ),
    "times that are integers": lambda ode, jax, v, t: ode.odeint(lambda y, t: -y, v, t.astype(int)),
}


@pytest.mark.parametrize("name", EQUATIONS)
def test_a_differential_equation(name):
    def solved(library, v, t):
        return EQUATIONS[name](room(library, "experimental.ode"), importlib.import_module(library), v, t)

    if JAX_VERSION < (0, 12):
        assert_as_in_jax(solved, V, TIMES)
    else:  # in later versions of JAX polyval is a primitive
        ours, theirs = (outcome(library, solved, V, TIMES)[1] for library in ("jitkit", "jax"))
        assert ours == theirs


def test_the_derivative_of_a_solution_has_the_bits_of_jaxs():
    """Its jaxpr has two equations less: JAX's takes the last cotangent twice."""

    def gradient(library, a, v, t):
        odeint = room(library, "experimental.ode").odeint
        return importlib.import_module(library).grad(lambda a: odeint(lambda y, t, a: -a * y, v, t, a).sum())(a)

    (_, ours), (_, theirs) = (outcome(library, gradient, V[2], V, TIMES) for library in ("jitkit", "jax"))
    assert ours == theirs


# --- flags ----------------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
import {library} as jax
jax.config.parse_flags_with_absl()
print(jax.config.jax_enable_x64, jax.config.jax_debug_nans, jax.config.jax_default_matmul_precision)
"""


@pytest.mark.parametrize(
    "words",
    [["--jax_enable_x64", "--jax_default_matmul_precision=high"], ["--jax_debug_nans=true", "--nojax_enable_x64", "x"]],
)
def test_a_program_takes_options_from_the_command_line(words):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(library="jitkit"), *words], capture_output=True, text=True, check=True
    )
    wanted = {"--jax_enable_x64": "True False high", "--jax_debug_nans=true": "False True None"}[words[0]]
    assert done.stdout.strip() == wanted
