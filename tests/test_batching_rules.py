"""The batching rule of each primitive against JAX's: jaxprs to the letter, and results."""

from __future__ import annotations

import functools
import itertools

import all_rooms
import jax.numpy as jax_numpy
import numpy as np
import pytest
import wording
from batching_oracle import assert_same_batches, mapped
from twin import OURS, THEIRS, raised

import jitkit
from jitkit import lax
from jitkit.core import Primitive
from jitkit.interpreters import batching, mlir

I3 = np.arange(3, dtype=np.int32)
ROWS = np.arange(9, dtype=np.float32).reshape(3, 3) + 0.5
CUBE = np.arange(27, dtype=np.float32).reshape(3, 3, 3) + 0.5
PAIRS = np.array([[0, 1], [1, 2], [2, 0]], np.int32)

# Operations on one matrix.
OF_A_MATRIX = {
    "sin": lambda jax, jnp, x: jnp.sin(x),
    "convert": lambda jax, jnp, x: x.astype(int),
    "integer_pow": lambda jax, jnp, x: x**3,
    "reduce_precision": lambda jax, jnp, x: jax.lax.reduce_precision(x, 5, 10),
    "bitcast to narrower": lambda jax, jnp, x: jax.lax.bitcast_convert_type(x, np.int16),
    "stop_gradient": lambda jax, jnp, x: jax.lax.stop_gradient(x),
    "copy": lambda jax, jnp, x: x.copy(),
    "optimization_barrier": lambda jax, jnp, x: jax.lax.optimization_barrier((x, x)),
    "a constant": lambda jax, jnp, x: jnp.ones(3),
    "iota beside": lambda jax, jnp, x: x + jnp.arange(3),
    "complex": lambda jax, jnp, x: ((x + 1j) * 2).imag,
    "reshape": lambda jax, jnp, x: x.reshape(-1),
    "reshape of a transposed one": lambda jax, jnp, x: jax.lax.reshape(x, (9,), (1, 0)),
    "broadcast_in_dim": lambda jax, jnp, x: jnp.broadcast_to(x, (2, 3, 3)),
    "transpose": lambda jax, jnp, x: x.T,
    "rev": lambda jax, jnp, x: jax.lax.rev(x, (1,)),
    "squeeze": lambda jax, jnp, x: jax.lax.squeeze(x[None], (0,)),
    "expand_dims": lambda jax, jnp, x: jnp.expand_dims(x, 1),
    "pad": lambda jax, jnp, x: jax.lax.pad(x, 0.0, ((1, 2, 0), (0, 0, 1))),
    "pad with a value each": lambda jax, jnp, x: jax.lax.pad(x, x[0, 0], ((1, 2, 0), (-1, 0, 1))),
    "pad what is no batch": lambda jax, jnp, x: jax.lax.pad(ROWS, x[0, 0], ((0, 1, 0), (0, 0, 0))),
    "tile": lambda jax, jnp, x: jnp.tile(x, (2, 1)),
    "concatenate": lambda jax, jnp, x: jnp.concatenate([x, x * 2, np.ones((1, 3), np.float32)]),
    "stack with what is no batch": lambda jax, jnp, x: jnp.stack([x, ROWS], 1),
    "stack": lambda jax, jnp, x: jnp.stack([x, x], 1),
    "unstack": lambda jax, jnp, x: jnp.unstack(x, axis=1),
    "split": lambda jax, jnp, x: jnp.split(x, [1], 1),
    "reduce_sum": lambda jax, jnp, x: x.sum(1),
    "reduce_prod": lambda jax, jnp, x: x.prod(0),
    "reduce_max over all": lambda jax, jnp, x: x.max(),
    "reduce_min": lambda jax, jnp, x: x.min(1),
    "reduce_or": lambda jax, jnp, x: (x > 4).any(0),
    "reduce_and": lambda jax, jnp, x: (x > 4).all(1),
    "reduce_xor": lambda jax, jnp, x: jax.lax.reduce_xor(x.astype(int), axes=(0,)),
    "argmax": lambda jax, jnp, x: x.argmax(1),
    "argmin": lambda jax, jnp, x: x.argmin(0),
    "reduce": lambda jax, jnp, x: jax.lax.reduce(x, np.float32(0), lambda a, b: a + 2 * b, (0,)),
    "cumsum": lambda jax, jnp, x: jnp.cumsum(x, 1),
    "cumlogsumexp": lambda jax, jnp, x: jax.lax.cumlogsumexp(x, 0, reverse=True),
    "sort": lambda jax, jnp, x: jnp.sort(x, 0),
    "sort of several": lambda jax, jnp, x: jax.lax.sort((x, ROWS), num_keys=1),
    "argsort": lambda jax, jnp, x: jnp.argsort(-x, 1),
    "top_k": lambda jax, jnp, x: jax.lax.top_k(x, 2),
    "approx_max_k": lambda jax, jnp, x: jax.lax.approx_max_k(x, 2, 0),
    "slice": lambda jax, jnp, x: x[1:, ::2],
    "gather": lambda jax, jnp, x: x[:, I3[:2]],
    "take": lambda jax, jnp, x: jnp.take(x, I3, axis=0),
    "scatter": lambda jax, jnp, x: x.at[1, I3[:2]].set(x[0, :2]),
    "where": lambda jax, jnp, x: jnp.where(x > 3, x, -x),
    "clamp by scalars": lambda jax, jnp, x: jax.lax.clamp(np.float32(1), x, np.float32(4)),
    "clamp by one of each": lambda jax, jnp, x: jax.lax.clamp(x[0, 0], x, np.float32(4)),
    "clamp by two of each": lambda jax, jnp, x: jax.lax.clamp(x[0, 0], x, x[1, 1]),
    "clamp by arrays": lambda jax, jnp, x: jax.lax.clamp(x, x + 1, x.T),
    "clamp what is no batch": lambda jax, jnp, x: jax.lax.clamp(x[0, 0], ROWS, np.float32(4)),
    "clamp a scalar": lambda jax, jnp, x: jax.lax.clamp(x[0, 0], np.float32(2), np.float32(4)),
    "convolve": lambda jax, jnp, x: jnp.convolve(x[0], x[1]),
    "outer": lambda jax, jnp, x: jnp.outer(x[0], x[1]),
    "softmax": lambda jax, jnp, x: jax.nn.softmax(x),
    "custom_jvp_call": lambda jax, jnp, x: jax.nn.relu(x),
    "associative_scan": lambda jax, jnp, x: jax.lax.associative_scan(jnp.add, x),
    "searchsorted": lambda jax, jnp, x: jnp.searchsorted(x[0], x[1]),
    "median": lambda jax, jnp, x: jnp.median(x, 0),
}


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_operations_on_a_matrix_become_operations_on_a_batch_of_matrices(axis):
    programs = {name: mapped(program, axis) for name, program in OF_A_MATRIX.items()}
    assert_same_batches(programs, CUBE, check_values=axis == 1)


def test_a_batch_of_batches_is_a_batch_twice():
    programs = {
        name: mapped(mapped(program, 2), 1, out_axes=-1)
        for name, program in OF_A_MATRIX.items()
        if not name.startswith("a constant")
    }
    assert_same_batches(programs, np.stack([CUBE, CUBE + 1], 1), check_values=False)


def axes_of(*choices):
    """Return all combinations of the choices, except the one without a batch."""
    return [axes for axes in itertools.product(*choices) if any(axis is not None for axis in axes)]


def of_some_batches(operation, axes):
    """Return a program that maps the operation over the operands with an axis; the other operands are first elements of
    their batches.
    """

    def program(jax, jnp, *batches):
        operands = [x[0] if axis is None else x for x, axis in zip(batches, axes, strict=True)]
        return mapped(operation, axes)(jax, jnp, *operands)

    return program


def test_elementwise_operations_broadcast_what_is_no_batch():
    operations = {
        "add": lambda jax, jnp, x, y: x + y,
        "compare": lambda jax, jnp, x, y: x < y,
        "pow": lambda jax, jnp, x, y: x**y,
        "select": lambda jax, jnp, x, y: jnp.where(x > y, x, y),
        "scalar and array": lambda jax, jnp, x, y: x[0] * y,
        "select by a scalar": lambda jax, jnp, x, y: jax.lax.select_n(x[0] > 2, y, y + 1),
        "select of scalars": lambda jax, jnp, x, y: jax.lax.select_n(x[0] > 2, y[0], np.float32(0)),
        "select by what is no batch": lambda jax, jnp, x, y: jax.lax.select_n(np.bool_(True), x, y),
        "select of what is no batch": lambda jax, jnp, x, y: jax.lax.select_n(x > 2, I3, I3 + 1),
        "a weak scalar": lambda jax, jnp, x, y: (x + 1) * 2.0,
    }

    programs = {
        f"{name} {axes}": of_some_batches(operation, axes)
        for name, operation in operations.items()
        for axes in axes_of((0, 1, None), (0, 1, None))
    }
    assert_same_batches(programs, ROWS, ROWS + 1)


def test_products_take_the_axis_along_or_keep_it():
    operations = {
        "matmul": lambda jax, jnp, x, y: x @ y,
        "einsum": lambda jax, jnp, x, y: jnp.einsum("ij,kj->ik", x, y),
        "of batches": lambda jax, jnp, x, y: jax.lax.dot_general(x, y, (((1,), (0,)), ((0,), (1,)))),
    }
    programs = {
        f"{name} {axes}": of_some_batches(operation, axes)
        for name, operation in operations.items()
        for axes in axes_of((0, 1, 2, None), (0, 1, 2, None))
    }
    assert_same_batches(programs, CUBE, CUBE + 1)


@pytest.mark.parametrize(
    ("name", "kernel_shape", "input_shape", "options"),
    [
        ("plain", (6, 4, 3), (2, 4, 5), {}),
        ("channels last", (3, 4, 6), (2, 5, 4), {"dimension_numbers": ("NWC", "WIO", "NWC")}),
        ("groups of features", (6, 2, 3), (2, 4, 5), {"feature_group_count": 2}),
        ("groups of the batch", (6, 4, 3), (2, 4, 5), {"batch_group_count": 2}),
    ],
)
def test_convolutions_of_batches(name, kernel_shape, input_shape, options):
    rng = np.random.default_rng(0)

    def batch_of(shape, axis):
        return rng.normal(size=(*shape[:axis], 3, *shape[axis:])).astype(np.float32)

    def program(jax, jnp, x, kernel):
        return jax.lax.conv_general_dilated(x, kernel, (1,), "SAME", **options)

    inputs = {axis: batch_of(input_shape, axis) for axis in (0, 1, 3)} | {None: batch_of(input_shape, 0)[:, 0]}
    kernels = {axis: batch_of(kernel_shape, axis) for axis in (0, 2)} | {None: batch_of(kernel_shape, 0)[0]}
    inputs[None] = batch_of(input_shape, 0)[0]
    programs = {
        str(axes): lambda jax, jnp, axes=axes: mapped(program, axes)(jax, jnp, inputs[axes[0]], kernels[axes[1]])
        for axes in axes_of((0, 1, 3, None), (0, 2, None))
    }
    programs["none at all"] = lambda jax, jnp: mapped(program, (0, None))(jax, jnp, inputs[0][:0], kernels[None])
    assert_same_batches(programs)


def test_gather_and_scatter_of_batches():
    operations = {
        "index": lambda jax, jnp, x, i: x[i],
        "index behind": lambda jax, jnp, x, i: x[:, i],
        "fill": lambda jax, jnp, x, i: x.at[i].get(mode="fill"),
        "set": lambda jax, jnp, x, i: x.at[i].set(1.0),
        "add": lambda jax, jnp, x, i: x.at[i].add(x[0]),
        "multiply": lambda jax, jnp, x, i: x.at[i, 1].multiply(2.0, mode="drop"),
        "min": lambda jax, jnp, x, i: x.at[i].min(2.0),
        "into what is no batch": lambda jax, jnp, x, i: jnp.zeros(x.shape).at[i].max(x[i]),
    }
    programs = {
        f"{name} {axes}": mapped(operation, axes)
        for name, operation in operations.items()
        for axes in axes_of((0, 1, None), (0, None))
    }
    assert_same_batches(programs, jax_numpy.asarray(CUBE), PAIRS)


def test_windows_at_places_that_are_batches():
    def window(jax, jnp, x, i, j):
        return jax.lax.dynamic_slice(x, (i, j), (2, 1))

    def written(jax, jnp, x, i, j):
        return jax.lax.dynamic_update_slice(x, np.ones((2, 1), np.float32), (i, j))

    def written_into(jax, jnp, x, i, j):
        return jax.lax.dynamic_update_slice(np.ones((4, 4), np.float32), x[:2], (i, j))

    def at_corner(program, axes):
        def bound(jax, jnp, x, i, j):
            corner = (i if axes[1] == 0 else 1, j if axes[2] == 0 else 1)
            return mapped(program, axes)(jax, jnp, x if axes[0] is not None else x[0], *corner)

        return bound

    programs = {
        f"{program.__name__} {axes}": at_corner(program, axes)
        for program in (window, written, written_into)
        for axes in axes_of((0, 1, None), (0, None), (0, None))
    }
    programs["without axes"] = mapped(lambda jax, jnp, x, i, j: jax.lax.dynamic_slice(i, (), ()))
    assert_same_batches(programs, jax_numpy.asarray(CUBE), I3, I3 - 1)


def test_to_a_wider_type_the_last_axis_of_the_element_goes():
    bytes_of = np.arange(24, dtype=np.int8).reshape(3, 4, 2)
    batched = jitkit.vmap(lambda x: lax.bitcast_convert_type(x, np.int32), in_axes=2)(bytes_of)
    np.testing.assert_array_equal(batched, np.ascontiguousarray(bytes_of.transpose(2, 0, 1)).view(np.int32)[..., 0])


def test_a_clamped_scalar_may_have_a_bound_for_each_element():
    batched = jitkit.vmap(lambda high: lax.clamp(np.float32(0), np.float32(5), high))(ROWS[0] * 4)
    np.testing.assert_array_equal(batched, np.minimum(5, ROWS[0] * 4))


def test_a_primitive_without_a_rule_says_so():
    unknown = Primitive("unknown")
    unknown.def_abstract_eval(lambda x: x)
    words = r"^Batching rule for 'unknown' not implemented\n" if wording.compared else "unknown"
    with pytest.raises(NotImplementedError, match=words):
        jitkit.vmap(unknown.bind)(I3)
    of_no_batch = jitkit.make_jaxpr(jitkit.vmap(lambda x: x + unknown.bind(np.int32(1))))(I3)
    assert [eqn.primitive for eqn in of_no_batch.eqns] == [unknown, lax.add_p]


def test_every_primitive_has_a_rule():
    """Except primitives without operands, which have nothing that can be a batch, and those without a rule in JAX."""
    without = {"create_token", "after_all", "empty", "empty2", "iota", "iota_2x32_shape", "eval_jaxpr"}
    without |= {"rng_uniform", "cholesky_update", "spsolve", "call_exported"}
    all_rooms.enter()
    ours = [
        p for p, rule in mlir.lowering_rules.items() if rule.__module__.startswith("jitkit.")
    ]  # without the primitives that tests define
    found = {p.name for p in ours if p not in batching.primitive_batchers}
    assert found == without


DO_NOT_FIT = {
    "an operator": lambda jax, jnp, v: v * jnp.arange(3.0),
    "the other way round": lambda jax, jnp, v: jnp.arange(3.0) - v,
    "a numpy array": lambda jax, jnp, v: v + np.arange(3.0),
    "both are batches": lambda jax, jnp, v: v < jnp.ones(3) * v[0],
    "a function": lambda jax, jnp, v: jnp.arctan2(v, jnp.ones(3)),
    "an outer vmap": lambda jax, jnp, v: jax.vmap(lambda x: v**x, axis_size=2, in_axes=None)(jnp.ones(3)),
    "a product": lambda jax, jnp, v: v @ jnp.ones(3),
    "a derivative": lambda jax, jnp, v: jax.grad(lambda x: (x * jnp.ones(3)).sum())(v),
}


@pytest.mark.parametrize("function", DO_NOT_FIT.values(), ids=DO_NOT_FIT)
def test_an_error_has_the_shapes_of_one_element(function):
    batch = np.ones((2, 4), np.float32)
    ours, theirs = (
        raised(lambda jnp, jax=jax: jax.vmap(functools.partial(function, jax, jnp), 1)(batch), jnp)
        for jax, jnp in (OURS, THEIRS)
    )
    assert ours == theirs
    assert ours[0] != "nothing was raised"
