"""`jitkit.lax.linalg` and `jitkit.numpy.linalg` against JAX's, bit by bit: both call the same routines of LAPACK."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from lax_oracle import JAX_VERSION, describe, error_of

import jitkit

of_this_version = pytest.mark.skipif(JAX_VERSION >= (0, 11), reason="needs jax < 0.11, whose bits and words these are")

RANDOM = np.random.RandomState(0)
SQUARES = {
    "floats": RANDOM.randn(4, 4).astype("f"),
    "a batch": RANDOM.randn(2, 3, 3).astype("f"),
    "complex numbers": (RANDOM.randn(4, 4) + 1j * RANDOM.randn(4, 4)).astype("F"),
}
RECTANGLES = {
    "tall": RANDOM.randn(4, 2).astype("f"),
    "wide": RANDOM.randn(2, 2, 4).astype("f"),
    "no columns": np.zeros((3, 0), "f"),
}
ALL = SQUARES | RECTANGLES


def programs(text):
    """Return a program for each line, in which `lax`, `jnp` and `la` are the library's."""
    lines = filter(None, map(str.strip, text.splitlines()))
    return {line: compile(line, "<program>", "eval") for line in lines}


OF_SQUARES = programs("""
    lax.linalg.cholesky(a @ jnp.conj(a).mT)
    lax.linalg.cholesky(a, symmetrize_input=False)
    lax.linalg.eigh(a, lower=False, symmetrize_input=False)
    lax.linalg.eig(a)
    lax.linalg.triangular_solve(a, a, left_side=True)
    lax.linalg.triangular_solve(a, a, conjugate_a=True)
    lax.linalg.triangular_solve(a, a[..., 0], left_side=True, lower=True, transpose_a=True, conjugate_a=True, unit_diagonal=True)
    la.cholesky(a, upper=True)
    la.cond(a, 1)
    la.det(a)
    la.eig(a)
    la.eigh(a, "U", symmetrize_input=False)
    la.eigvals(a)
    la.eigvalsh(a)
    la.inv(a)
    la.matrix_power(a, -3)
    la.matrix_power(a, 7)
    la.pinv(a, hermitian=True)
    la.slogdet(a)
    la.slogdet(a, method="qr")
    la.solve(a, a[..., 0])
    la.solve(a, jnp.ones(a.shape[-1]))
    la.solve(a[None], jnp.ones((3, *[1] * (a.ndim - 2), a.shape[-1], 2)))
    la.svd(a, hermitian=True)
    la.svd(a, hermitian=True, compute_uv=False)
""")
OF_ALL = programs("""
    lax.linalg.lu(a)
    lax.linalg.qr(a, pivoting=True)
    lax.linalg.qr(a)
    lax.linalg.svd(a, algorithm=lax.linalg.SvdAlgorithm.QR)
    la.cond(a)
    la.lstsq(a, a)
    la.lstsq(a, jnp.ones(a.shape[0]), rcond=0.5)
    la.matrix_norm(a, ord=2)
    la.matrix_rank(a, tol=0.1)
    la.multi_dot([a, a.T, a])
    la.norm(a, -2, (-2, -1), keepdims=True)
    la.norm(a, "nuc", axis=(-1, -2))
    la.pinv(a)
    la.qr(a)
    la.qr(a, "complete")
    la.qr(a, "r")
    la.qr(a, "raw")
    la.svd(a)
    la.svd(a, compute_uv=False)
    la.svd(a, full_matrices=False)
    la.tensorinv(a, 1)
""")

# Programs whose jaxprs differ from JAX's: reason -> names.
OTHER_EQUATIONS = {"JAX asks opt_einsum for the order": ("multi_dot",)}


def run(library, code):
    """Return the program as a function of a."""

    def function(a):
        names = {"lax": library.lax, "jnp": library.numpy, "la": library.numpy.linalg}
        return library.tree.leaves(eval(code, names | {"a": a}))

    return function


def programs_for(kind):
    """Return the programs that JAX accepts for a kind of matrix. Check that the others raise the same errors."""
    a = ALL[kind]
    accepted = {}
    for name, code in (OF_ALL | (OF_SQUARES if kind in SQUARES else {})).items():
        theirs = error_of(jax.eval_shape, run(jax, code), a)
        if theirs is None:
            accepted[name] = code
        else:
            assert error_of(jitkit.eval_shape, run(jitkit, code), a) == theirs, name
    return accepted


@pytest.mark.parametrize("kind", ["floats", "tall"])
def test_programs_are_printed_as_in_jax(kind):
    for name, code in programs_for(kind).items():
        ours, theirs = (library.make_jaxpr(run(library, code))(ALL[kind]) for library in (jitkit, jax))
        assert list(map(describe, ours.out_avals)) == list(map(describe, theirs.out_avals)), name
        if not has_other_equations(name) and JAX_VERSION < (0, 11):
            assert str(ours) == str(theirs), name


def has_other_equations(name):
    """Return whether a program is known to have other equations than JAX's."""
    return any(word in name for names in OTHER_EQUATIONS.values() for word in names)


def assert_same_results(codes, a):
    """Check that programs, compiled as one, give the same types and bits as with JAX. If the equations differ, XLA fuses them
    differently, which changes last bits on some processors.
    """
    results = {}
    for library in (jitkit, jax):
        functions = [run(library, code) for code in codes.values()]
        results[library] = library.jit(lambda a, functions=functions: [f(a) for f in functions])(a)
    for name, ours, theirs in zip(codes, results[jitkit], results[jax], strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert describe(a) == describe(b), name
            if has_other_equations(name):
                np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6, atol=1e-7, err_msg=name)
            else:
                np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=name)


@of_this_version
@pytest.mark.parametrize("kind", ["a batch", "complex numbers", "wide", "no columns"])
def test_results_are_those_of_jax_bit_by_bit(kind):
    assert_same_results(programs_for(kind), ALL[kind])


def test_results_in_64_bits_are_those_of_jax():
    with jitkit.enable_x64(True), jax.enable_x64(True):
        assert_same_results(dict(list(OF_SQUARES.items())[::3]), RANDOM.randn(4, 4))


ERRORS = programs("""
    la.inv(jnp.ones((2, 3)))
    la.det(jnp.ones((2, 3)))
    la.slogdet(jnp.ones(3))
    la.slogdet(a, method="x")
    la.cholesky(jnp.ones((2, 3)))
    la.cholesky(jnp.ones(3))
    la.solve(jnp.ones(3), a)
    la.solve(jnp.ones((2, 3)), a)
    la.solve(a, jnp.ones((3, 3)))
    la.solve(jnp.ones((2, 3, 3)), jnp.ones((2, 3)))
    la.eigh(a, "X")
    la.eigh(jnp.ones((2, 3)))
    la.eig(jnp.ones((2, 3)))
    la.qr(a, "x")
    la.pinv(a, 0.1, rcond=0.1)
    la.matrix_power(a, 2.5)
    la.matrix_power(jnp.ones((2, 3)), 2)
    la.matrix_rank(a, 0.1, tol=0.1)
    la.multi_dot([a, jnp.ones((3, 3))])
    la.multi_dot([a, jnp.ones((3, 3, 3)), a])
    la.tensorinv(a, 0)
    la.tensorinv(jnp.ones((2, 3)), 1)
    la.tensorsolve(jnp.ones((2, 3)), a)
    la.lstsq(a, jnp.ones(3))
    la.cond(jnp.ones((2, 3)), 1)
    la.svd(a, subset_by_index=(0, 1))
    lax.linalg.cholesky(jnp.ones((2, 2), int), symmetrize_input=False)
    lax.linalg.triangular_solve(jnp.ones((2, 3)), a)
    lax.linalg.triangular_solve(jnp.ones((3, 3)), a)
    lax.linalg.householder_product(jnp.ones((2, 3)), jnp.ones(2))
    lax.linalg.householder_product(jnp.ones((3, 2)), jnp.ones(3))
    lax.linalg.lu_pivots_to_permutation(jnp.ones(3, int), 2)
    lax.linalg.svd(a, subset_by_index=(0, 1))
""")


@of_this_version
@pytest.mark.parametrize("program", ERRORS)
def test_what_jax_refuses_is_refused_in_its_words(program):
    a = SQUARES["floats"]
    theirs, ours = (error_of(run(library, ERRORS[program]), library.numpy.asarray(a)) for library in (jax, jitkit))
    assert theirs is not None
    assert ours == theirs


def test_swaps_of_rows_become_their_order():
    for swaps in (np.int32([2, 2, 2]), np.int32([[1, 1, 3], [0, 1, 2]]), np.int32([])):
        ours, theirs = (
            library.lax.linalg.lu_pivots_to_permutation(library.numpy.asarray(swaps), 4) for library in (jitkit, jax)
        )
        np.testing.assert_array_equal(ours, theirs)


def test_batches_of_different_sizes_are_refused():
    with pytest.raises(
        TypeError,
        match=r"All inputs to triangular_solve must have the same batch dimensions, but got \[\(1,\), \(2,\)\]",
    ):
        jitkit.lax.linalg.triangular_solve(np.ones((1, 2, 2), "f"), np.ones((2, 2, 2), "f"))


def test_lapack_is_said_to_be_of_the_cpu():
    f = jitkit.jit(jitkit.numpy.linalg.svd).trace(jitkit.ShapeDtypeStruct((2, 2), np.float32))
    assert "lapack_sgesdd_ffi" in f.lower().as_text()
    with pytest.raises(NotImplementedError, match="svd is LAPACK's, and runs on CPUs; the program is lowered for tpu"):
        f.lower(lowering_platforms=("tpu",))
    g = jitkit.jit(jitkit.lax.linalg.qr).trace(jitkit.ShapeDtypeStruct((2, 2), np.float32))
    assert "custom_call @Qr" in g.lower(lowering_platforms=("tpu",)).as_text()
