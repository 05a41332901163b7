"""The C of `jit(f, backend="c")`, run line by line in Python as in lab 14: results are JAX's, and undefined behaviour is refused."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jitkit as jk
import jitkit.numpy as jnp
from jitkit.kata.engine.choices import Choices
from jitkit.kata.programs import compiled
from jitkit.kata.subjects.c_by_hand import ran, text_of
from jitkit.kata.subjects.run_c import CError, run_c
from jitkit.loops.source import write

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("kind", ["moved", "fused", "reduced", "planned"])
@pytest.mark.parametrize("seed", range(6))
def test_random_programs_compute_what_jax_computes(kind, seed):
    text = getattr(compiled, kind)(Choices.drawn(np.random.default_rng([seed, len(kind)])))
    ours = {"np": np, "jax": jk, "jnp": jnp, "lax": jk.lax}
    theirs = {
        "np": np,
        "jax": jax,
        "jnp": jax.numpy,
        "lax": jax.lax,
        "ran": lambda f, *args: jax.tree.leaves(jax.jit(f)(*args)),
    }
    head, _, last = text.rpartition("\n")
    exec(head, ours)
    exec(head.split("\n", 1)[1], theirs)
    for x, y in zip(eval(last, ours).results, eval(last, theirs), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype), text
        np.testing.assert_allclose(x, np.asarray(y), rtol=2e-4, atol=2e-4, err_msg=text)


def test_loops_of_lax_and_large_products_run_too():
    x = np.linspace(-1, 1, 160, dtype=np.float32).reshape(10, 16)

    def f(x):
        y = jk.lax.cond(x.sum() > 0, lambda x: x * 2, jnp.sin, x)
        z = jk.lax.while_loop(lambda c: c.sum() < 9, lambda c: c + jnp.abs(y) + 0.1, x)
        return x @ z.T, jk.lax.scan(lambda c, row: (c + row, c.sum()), x[0], x, reverse=True), jnp.argmax(x, 1)

    for found, expected in zip(ran(f, x).results, jk.tree.leaves(f(x)), strict=True):
        np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-4, atol=1e-5)


def test_what_is_read_and_written_is_counted():
    did = ran(jk.nn.softmax, X)
    assert (did.loops, did.passes, did.reads, did.writes) == (1, 3, 3 * 12, 2 * 12)
    did = ran(lambda x: (jnp.tanh(x) * 2 + x).sum(), X)
    assert (did.loops, did.passes, did.reads, did.writes) == (1, 1, 12, 1)
    assert "tanh_f32(w1)" in text_of(jnp.tanh, X)


REFUSED = {
    "a name that another loop has declared": (
        "f32 w1 = in0[i0];\n",
        "",
        "'w1' is not declared where it is read: exp_f32",
    ),
    "an element that does not exist": ("in0[i0]", "in0[i0 + 1]", "element 12 of in0 does not exist: it has 12"),
    "a function that does not exist": ("exp_f32(w1)", "exq_f32(w1)", "there is no function exq_f32"),
    "half an expression": ("exp_f32(w1)", "(w1", r"'\)' is missing in \(w1"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_compiler_refuses_or_nobody_may_do_is_refused(what):
    source = write("f", jk.make_jaxpr(jnp.exp)(X))
    head, loops = source.text.split("LOOP loop1", 1)
    before, after, message = REFUSED[what]
    assert before in loops
    text = f"{head}LOOP loop1{loops.replace(before, after)}"
    with pytest.raises(CError, match=message):
        run_c(text, source.workspace, [X], [((3, 4), np.dtype(np.float32))])


def test_memory_that_nobody_wrote_is_nan():
    source = write("f", jk.make_jaxpr(lambda x: jk.lax.cumsum(jk.lax.cumsum(x)))(X))
    text = "\n".join(line for line in source.text.splitlines() if line != "  loop1(in0, t0);")
    assert text.count("\n") == source.text.count("\n") - 2
    assert np.isnan(run_c(text, source.workspace, [X], [((3, 4), np.dtype(np.float32))]).results[0]).all()
