"""Loops, conditionals, random keys, calls of Python and derivatives under vmap, against JAX."""

from __future__ import annotations

import numpy as np
import pytest
from batching_oracle import assert_same_batches, mapped
from twin import same_as_jax

import jitkit
import jitkit.numpy as jnp

I3 = np.arange(3, dtype=np.int32)
ROWS = np.arange(9, dtype=np.float32).reshape(3, 3) / 5 + 0.5

CONDITIONALS = {
    "cond": lambda jax, jnp, i, v: jax.lax.cond(i > 0, lambda v: v * 2, lambda v: v + 1, v),
    "cond with several results": lambda jax, jnp, i, v: jax.lax.cond(
        i > 0, lambda v: (v * 2, 1.0), lambda v: (v + 1, v.sum()), v
    ),
    "cond that closes over": lambda jax, jnp, i, v: jax.lax.cond(i > 0, lambda: v, lambda: v * ROWS[0]),
    "switch": lambda jax, jnp, i, v: jax.lax.switch(i, [lambda v: v * 2, lambda v: v + 1, jnp.sin], v),
    "cond in cond": lambda jax, jnp, i, v: jax.lax.cond(
        i > 0, lambda v: jax.lax.cond(v.sum() > 4, jnp.sin, jnp.cos, v), lambda v: v, v
    ),
}
LOOPS = {
    "while that each ends by itself": lambda jax, jnp, i, v: jax.lax.while_loop(
        lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (i, v)
    ),
    "while that all end together": lambda jax, jnp, i, v: jax.lax.while_loop(
        lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * v), (0, v)
    ),
    "while whose condition closes over": lambda jax, jnp, i, v: jax.lax.while_loop(
        lambda c: c[0] < i, lambda c: (c[0] + 1, c[1] * v), (0, v)
    ),
    "while whose carry becomes a batch": lambda jax, jnp, i, v: jax.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[2], c[2] + v), (0, jnp.zeros(3), jnp.zeros(3))
    ),
    "fori of traced bounds": lambda jax, jnp, i, v: jax.lax.fori_loop(0, i, lambda j, c: c * v + j, v),
    "fori": lambda jax, jnp, i, v: jax.lax.fori_loop(0, 3, lambda j, c: c.at[j].set(v[j] * i), v),
    "scan": lambda jax, jnp, i, v: jax.lax.scan(lambda c, x: (c + x, c * x), i.astype(float), v),
    "scan that counts": lambda jax, jnp, i, v: jax.lax.scan(
        lambda c, x: ((c[0] + 1, c[1] + x * c[0]), c[0]), (0, i), v.astype(int), reverse=True
    ),
    "scan of a jit": lambda jax, jnp, i, v: jax.lax.scan(
        lambda c, x: (jax.jit(jnp.sin)(c) + v[1], None), v[0], None, 3
    ),
    "map": lambda jax, jnp, i, v: jax.lax.map(lambda x: jnp.sin(x) * i, v),
    "scan with cond": lambda jax, jnp, i, v: jax.lax.scan(
        lambda c, x: (jax.lax.cond(x > 1, lambda c: c + x, lambda c: c, c), c), v[0], v
    ),
}


@pytest.mark.parametrize("table", [CONDITIONALS, LOOPS], ids=["conditionals", "loops"])
def test_control_flow_of_batches(table):
    programs = {}
    for name, program in table.items():
        programs[name] = mapped(program)
        programs[f"{name}, one index"] = lambda jax, jnp, i, v, program=program: mapped(program, (None, 1))(
            jax, jnp, i[1], v
        )
        programs[f"{name}, one array"] = lambda jax, jnp, i, v, program=program: mapped(program, (0, None))(
            jax, jnp, i, v[1]
        )
    assert_same_batches(programs, I3, ROWS)


def test_batches_of_batches_keep_the_axes_of_the_condition_in_front():
    table = CONDITIONALS | LOOPS

    def of_all_pairs(program):
        return lambda jax, jnp, i, v: jax.vmap(jax.vmap(lambda i, v: program(jax, jnp, i, v), (0, None)), (None, 0))(
            i, v
        )

    def of_all_pairs_the_other_way(program):
        return lambda jax, jnp, i, v: jax.vmap(jax.vmap(lambda i, v: program(jax, jnp, i, v), (None, 0)), (0, None))(
            i, v
        )

    programs = {name: of_all_pairs(program) for name, program in table.items()}
    assert_same_batches(programs, I3, ROWS, check_values=False)
    some = {name: of_all_pairs_the_other_way(table[name]) for name in ("switch", "while whose condition closes over")}
    assert_same_batches(some, I3, ROWS)


def test_a_finished_element_keeps_its_carry():
    halved = jitkit.vmap(lambda n: jitkit.lax.while_loop(lambda c: c % 2 == 0, lambda c: c // 2, n))
    np.testing.assert_array_equal(halved(np.array([40, 7, 64, 6])), [5, 7, 1, 3])


RANDOM = {
    "bits": lambda jax, jnp, key, v: jax.random.bits(key, (3,)),
    "uniform": lambda jax, jnp, key, v: jax.random.uniform(key, (3,)) + v,
    "split": lambda jax, jnp, key, v: jax.random.normal(jax.random.split(key)[0]),
    "fold_in": lambda jax, jnp, key, v: jax.random.key_data(jax.random.fold_in(key, v[0].astype(int))),
    "permutation": lambda jax, jnp, key, v: jax.random.permutation(key, v),
    "categorical": lambda jax, jnp, key, v: jax.random.categorical(key, v),
    "gamma": lambda jax, jnp, key, v: jax.random.gamma(key, v),
    "poisson": lambda jax, jnp, key, v: jax.random.poisson(key, v),
    "randint": lambda jax, jnp, key, v: jax.random.randint(key, (2,), 0, 10),
    "a seed": lambda jax, jnp, key, v: jax.random.key_data(jax.random.key(v[0].astype(int))),
    "cond": lambda jax, jnp, key, v: jax.random.key_data(
        jax.lax.cond(v[0] > 1, lambda k: jax.random.split(k)[0], lambda k: k, key)
    ),
    "while": lambda jax, jnp, key, v: jax.random.key_data(
        jax.lax.while_loop(lambda c: c[1] < v[0], lambda c: (jax.random.split(c[0])[1], c[1] + 1), (key, 0.0))[0]
    ),
}


def test_random_numbers_of_a_batch_of_keys():
    def of_keys(program, typed):
        def programs_of_keys(jax, jnp, v):
            key = (jax.random.key if typed else jax.random.PRNGKey)(0)
            return jax.vmap(lambda k, v: program(jax, jnp, k, v))(jax.random.split(key, 3), v)

        return programs_of_keys

    programs = {name: of_keys(program, True) for name, program in RANDOM.items()}
    programs |= {f"{name}, of the older style": of_keys(RANDOM[name], False) for name in ("bits", "split")}
    programs["one key for all"] = lambda jax, jnp, v: jax.vmap(lambda i: jax.random.fold_in(jax.random.PRNGKey(0), i))(
        I3
    )
    programs["keys along the second axis"] = lambda jax, jnp, v: jax.vmap(jax.vmap(jax.random.uniform), 1, 1)(
        jax.random.split(jax.random.key(1), (2, 3))
    )
    assert_same_batches(programs, ROWS)


# --- calls of Python --------------------------------------------------------------------------------------------------------


def calls(method):
    def program(jax, jnp, v):
        shape = jax.ShapeDtypeStruct((3,), "float32")
        return jax.pure_callback(lambda v, w: np.float32(v) + w, shape, v, ROWS[0], vmap_method=method)

    return mapped(program)


METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"]


def test_a_callback_is_called_as_its_vmap_method_says():
    assert_same_batches({method: calls(method) for method in METHODS}, ROWS)


@same_as_jax
def test_the_shapes_that_a_callback_sees(jax, jnp):
    seen = []

    def callback(v, w):
        seen.append((v.shape, w.shape))
        return np.broadcast_to(np.asarray(v) + np.asarray(w), (3, 3) if v.ndim == 2 else (3,))

    def call(method):
        types = jax.ShapeDtypeStruct((3,), "float32")
        return jax.vmap(lambda v: jax.pure_callback(callback, types, v, ROWS[0], vmap_method=method))(ROWS)

    for method in METHODS:
        call(method).block_until_ready()
    return seen


@same_as_jax
def test_a_callback_whose_result_is_declared_like_a_tracer(jax, jnp):
    def doubled(v):
        return jax.pure_callback(lambda a: a * 2, jax.ShapeDtypeStruct.like(v), v, vmap_method="sequential")

    rows = jnp.asarray(ROWS)
    declared = []
    jax.jit(lambda v: declared.append(jax.ShapeDtypeStruct.like(v)))(2.0)
    print(declared, jax.jit(doubled)(rows), jax.vmap(doubled)(rows), jax.lax.map(doubled, rows))


@same_as_jax
def test_callbacks_that_cannot_be_batched(jax, jnp):
    def outcome(function):
        try:
            return function()
        except (NotImplementedError, ValueError) as error:
            return error

    shape = jax.ShapeDtypeStruct((), "int32")
    io_callback = jax.experimental.io_callback

    def branch(i):
        return jax.lax.cond(i > 0, lambda i: io_callback(lambda i: i, shape, i), lambda i: i, i)

    return [
        outcome(lambda: jax.vmap(lambda i: jax.pure_callback(lambda i: i, shape, i))(I3)),
        outcome(lambda: jax.vmap(lambda i: io_callback(lambda i: i, shape, i, ordered=True))(I3)),
        outcome(lambda: jax.vmap(branch)(I3)),
    ]


@same_as_jax
def test_an_io_callback_is_called_for_each_element_in_order(jax, jnp):
    seen = []
    shape = jax.ShapeDtypeStruct((), "int32")
    doubled = jax.vmap(lambda i: jax.experimental.io_callback(lambda i: seen.append(int(i)) or i * 2, shape, i))(I3)
    jax.effects_barrier()
    return doubled, seen


def test_prints_come_for_each_element(capsys):
    jitkit.vmap(lambda i, v: jitkit.debug.print("{} of {}", i, v), (0, None))(I3, 5)
    jitkit.jit(jitkit.vmap(lambda i: jitkit.debug.print("jitted {}", i, ordered=True)))(I3)
    jitkit.effects_barrier()
    printed = capsys.readouterr().out.split("\n")
    assert printed == ["0 of 5", "1 of 5", "2 of 5", "jitted 0", "jitted 1", "jitted 2", ""]


def test_printed_jaxprs_of_prints():
    assert_same_batches(
        {"print": mapped(lambda jax, jnp, v: [jax.debug.print("{}", v[0], ordered=True), v][1], 1)},
        ROWS,
        check_values=False,
    )


@same_as_jax
def test_without_jit_python_runs_the_loops(jax, jnp):
    with jax.disable_jit():
        return jax.vmap(lambda v: jax.lax.fori_loop(0, 3, lambda i, c: c + v[i], 0.0))(jnp.asarray(ROWS))


# --- with derivatives -------------------------------------------------------------------------------------------------------


def loss(jnp, w, v):
    return jnp.tanh(v @ w).sum()


WEIGHTS = np.arange(12, dtype=np.float32).reshape(3, 4) / 7 - 0.5
DERIVATIVES = {
    "gradients of a batch": lambda jax, jnp, x: jax.vmap(jax.grad(lambda v: jnp.sin(v) @ v))(x),
    "gradients for each example": lambda jax, jnp, x: jax.vmap(
        jax.value_and_grad(lambda w, v: loss(jnp, w, v)), (None, 0)
    )(WEIGHTS, x),
    "gradient of a mean over a batch": lambda jax, jnp, x: jax.jit(
        jax.grad(lambda w: jax.vmap(lambda v: loss(jnp, w, v))(x).mean())
    )(WEIGHTS),
    "gradient through a jit": lambda jax, jnp, x: jax.grad(
        lambda x: jax.vmap(jax.jit(lambda v: jnp.sin(v) @ v))(x).sum()
    )(x),
    "jvp under vmap": lambda jax, jnp, x: jax.vmap(lambda v, t: jax.jvp(jnp.sin, (v,), (t,)))(x, x),
    "jvp of vmap": lambda jax, jnp, x: jax.jvp(jax.vmap(lambda v: jnp.cumsum(v) * v.max()), (x,), (x,)),
    "vjp of vmap": lambda jax, jnp, x: jax.vjp(jax.vmap(lambda v: jnp.cumsum(v) * v.max()), x)[1](x),
    "twice": lambda jax, jnp, x: jax.vmap(jax.grad(jax.grad(lambda s: jnp.sin(s) * s)))(x[0]),
    "forward over reverse": lambda jax, jnp, x: jax.vmap(
        lambda v: jax.jvp(jax.grad(lambda v: jnp.sum(v**3)), (v,), (v,))[1]
    )(x),
    "a custom rule": lambda jax, jnp, x: jax.vmap(jax.grad(lambda v: jax.nn.relu(v).sum()))(x),
    "a custom rule of batches": lambda jax, jnp, x: jax.grad(lambda x: jax.vmap(jax.nn.relu, 1)(x).sum())(x),
    "an index": lambda jax, jnp, x: jax.vmap(jax.grad(lambda v, i: v[i] ** 2))(x, I3),
    "an update": lambda jax, jnp, x: jax.vmap(jax.grad(lambda v, i: (v.at[i].set(2.0) * v).sum()))(x, I3),
    "sort": lambda jax, jnp, x: jax.vmap(jax.grad(lambda v: (jnp.sort(v) * v).sum()))(x),
    "cond": lambda jax, jnp, x: jax.vmap(
        jax.grad(lambda v: jax.lax.cond(v[0] > 1, lambda v: jnp.sin(v).sum(), lambda v: v.sum(), v))
    )(x),
    "fori_loop": lambda jax, jnp, x: jax.vmap(
        jax.grad(lambda v: jax.lax.fori_loop(0, 3, lambda i, c: c * v[i], v.sum()))
    )(x),
    "while_loop forward": lambda jax, jnp, x: jax.vmap(
        lambda v: jax.jvp(
            lambda v: jax.lax.while_loop(lambda c: c[0] < v[0], lambda c: (c[0] + 1, c[1] * v), (0, v))[1], (v,), (v,)
        )
    )(x),
    "map by batches": lambda jax, jnp, x: jax.grad(lambda x: jax.lax.map(lambda v: v @ v, x, batch_size=2).sum())(x),
    "psum": lambda jax, jnp, x: jax.vmap(jax.grad(lambda v: jax.lax.psum(v, "i").sum()), axis_name="i")(x),
    "all_gather": lambda jax, jnp, x: jax.vmap(
        jax.grad(lambda v: (jax.lax.all_gather(v, "i") ** 2).sum()), axis_name="i"
    )(x),
    "psum_scatter": lambda jax, jnp, x: jax.vmap(
        jax.grad(lambda v: (jax.lax.psum_scatter(v, "i") ** 2).sum()), axis_name="i"
    )(x),
    "of psum": lambda jax, jnp, x: jax.grad(
        lambda x: jax.vmap(lambda v: (v / jax.lax.psum(v, "i")).sum(), axis_name="i")(x).sum()
    )(x),
}


def test_derivatives_and_batches_nest_in_any_order():
    assert_same_batches(DERIVATIVES, ROWS)


def test_cotangents_of_a_permutation_go_back():
    def shifted(jax, jnp, v):
        return (jax.lax.ppermute(v, "i", [(0, 1), (1, 2), (2, 0)]) * v**2).sum()

    gradients = mapped(lambda jax, jnp, v: jax.grad(lambda v: shifted(jax, jnp, v))(v), axis_name="i")
    v = ROWS
    expected = np.roll(v, 1, 0) * 2 * v + np.roll(v, -1, 0) ** 2
    np.testing.assert_allclose(gradients(jitkit, jnp, v), expected, rtol=1e-6)


def test_the_rule_of_a_custom_jvp_is_asked_for_batches():
    @jitkit.custom_jvp
    def f(x, y):
        return jnp.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        return f(*primals), 100 * tangents[0] + tangents[1]

    primal, tangent = jitkit.jvp(jitkit.vmap(f, (0, None)), (ROWS[0], 2.0), (np.ones(3, np.float32), 3.0))
    np.testing.assert_allclose(primal, np.sin(ROWS[0]) * 2, rtol=1e-6)
    np.testing.assert_array_equal(tangent, [103, 103, 103])


def test_each_loop_ends_by_itself_where_the_condition_prints(capsys):
    """JAX up to 0.12 goes on with all of them until the last one ends: 3, 4, 5."""

    def count(i):
        def below(c):
            jitkit.debug.print("asked of {}", c, ordered=True)
            return c < 2

        return jitkit.lax.while_loop(below, lambda c: c + 1, i)

    np.testing.assert_array_equal(jitkit.vmap(count)(I3), [2, 2, 2])
    jitkit.effects_barrier()
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"asked of {i}" for i in (0, 1, 2, 1, 2, 2, 2, 2, 2)]
