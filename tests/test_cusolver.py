"""Decompositions on NVIDIA's GPUs: what is asked of cuSOLVER is what JAX asks, to the letter. No GPU is needed to write it down."""

import functools
import re

import jax
import numpy as np
import pytest

import jitkit

SHAPES = [(8, 8), (3, 8, 6), (3, 6, 8), (100, 80), (2000, 6), (6, 2000), (0, 3)]
SQUARE = [(8, 8), (2, 3, 5, 5)]
PROGRAMS = {
    "cholesky": (lambda linalg, x: linalg.cholesky(x), SQUARE),
    "qr": (lambda linalg, x: linalg.qr(x), SHAPES),
    "qr, thin": (lambda linalg, x: linalg.qr(x, full_matrices=False), SHAPES),
    "lu": (lambda linalg, x: linalg.lu(x), SHAPES),
    "svd": (lambda linalg, x: linalg.svd(x), SHAPES),
    "svd, thin": (lambda linalg, x: linalg.svd(x, full_matrices=False), SHAPES),
    "singular values": (lambda linalg, x: linalg.svd(x, compute_uv=False), SHAPES),
    "singular values, thin": (lambda linalg, x: linalg.svd(x, compute_uv=False, full_matrices=False), SHAPES),
    "svd by QR": (lambda linalg, x: linalg.svd(x, full_matrices=False, algorithm=linalg.SvdAlgorithm.QR), SHAPES),
    "svd by Jacobi": (
        lambda linalg, x: linalg.svd(x, full_matrices=False, algorithm=linalg.SvdAlgorithm.JACOBI),
        SHAPES,
    ),
    "svd by polar decomposition": (lambda linalg, x: linalg.svd(x, algorithm=linalg.SvdAlgorithm.POLAR), SHAPES),
    "svd by polar decomposition, thin": (
        lambda linalg, x: linalg.svd(x, full_matrices=False, algorithm=linalg.SvdAlgorithm.POLAR),
        SHAPES,
    ),
    "singular values by polar decomposition": (
        lambda linalg, x: linalg.svd(x, compute_uv=False, algorithm=linalg.SvdAlgorithm.POLAR),
        SHAPES,
    ),
    "eigh": (lambda linalg, x: linalg.eigh(x), SQUARE),
    "eigh of the upper triangle": (lambda linalg, x: linalg.eigh(x, lower=False), SQUARE),
    "eigh by QR": (lambda linalg, x: linalg.eigh(x, implementation=linalg.EighImplementation.QR), SQUARE),
    "eigh by Jacobi": (lambda linalg, x: linalg.eigh(x, implementation=linalg.EighImplementation.JACOBI), SQUARE),
    "qr with pivots": (lambda linalg, x: linalg.qr(x, pivoting=True), SHAPES),
    "qr with pivots, by MAGMA": (lambda linalg, x: linalg.qr(x, pivoting=True, use_magma=True), SQUARE),
    "qr with pivots, without MAGMA": (lambda linalg, x: linalg.qr(x, pivoting=True, use_magma=False), SQUARE),
    "left eigenvectors": (lambda linalg, x: linalg.eig(x), SQUARE),
    "eigenvalues by the host": (
        lambda linalg, x: linalg.eig(
            x, compute_left_eigenvectors=False, implementation=linalg.EigImplementation.LAPACK
        ),
        SQUARE,
    ),
    "eigenvalues by MAGMA": (lambda linalg, x: linalg.eig(x, implementation=linalg.EigImplementation.MAGMA), SQUARE),
    "tridiagonal": (lambda linalg, x: linalg.tridiagonal(x), SQUARE),
    "tridiagonal of the upper triangle": (lambda linalg, x: linalg.tridiagonal(x, lower=False), SQUARE),
    "symmetric_product": (lambda linalg, x: linalg.symmetric_product(x.real, x.real, alpha=2.0, beta=0.5), SQUARE),
    "cholesky_update": (lambda linalg, x: linalg.cholesky_update(x.real, x[0].real), [(5, 5)]),
    "ormqr": (lambda linalg, x: linalg.ormqr(x, x[..., 0], x), SQUARE),
    "ormqr from the right": (lambda linalg, x: linalg.ormqr(x, x[..., 0], x, left=False, transpose=True), SQUARE),
}
PARTS = ("operand_layouts", "result_layouts", "output_operand_aliases", "num_batch_dims")


def for_cuda(jax, f, *args):
    lowered = jax.jit(f).trace(*args).lower(lowering_platforms=("cuda",))
    return lowered.as_text()


def calls(text):
    """Return the calls of cuSOLVER's routines in a program: name, options, layouts, aliased operands, types."""
    found = []
    for name, attributes, types in re.findall(
        r"custom_call @(cu(?:solver|hybrid|sparse)?_\w+)\([^)]*\) \{(.*)\} : (.*)", text
    ):
        options = re.findall(r"backend_config = \{([^}]*)\}", attributes)[-1]
        said = [re.search(part + r" = (\[.*?\](?=, [a-z_.]+ = |$)|\"\d+\")", attributes) for part in PARTS]
        parts = [each[1] if each and each[1] != "[]" else "" for each in said]
        found.append((name, sorted(options.split(", ")), parts, types))
    return found


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_routines_that_are_called_are_those_of_jax(name, dtype, monkeypatch):
    # otherwise JAX would ask the plugin for cuSOLVER's version, which needs a GPU
    monkeypatch.setattr("jax._src.lax.linalg.cuda_versions", None)
    program, shapes = PROGRAMS[name]
    for shape in shapes:
        x = jax.ShapeDtypeStruct(shape, np.dtype(dtype))
        ours = calls(for_cuda(jitkit, lambda x: program(jitkit.lax.linalg, x), x))
        assert ours == calls(for_cuda(jax, lambda x: program(jax.lax.linalg, x), x))
        assert ours or 0 in shape


@pytest.mark.parametrize("perturb", [False, True])
@pytest.mark.parametrize("shape", [(5, 3), (4, 5, 3), (3, 1), (2, 0, 5, 2)])
def test_tridiagonal_systems_are_cusparses(shape, perturb):
    b, diagonal = (jax.ShapeDtypeStruct(s, np.dtype("float32")) for s in (shape, shape[:-1]))

    def asked_by(library):
        solve = functools.partial(library.lax.linalg.tridiagonal_solve, perturb_singular=perturb)
        return calls(for_cuda(library, solve, *[diagonal] * 3, b))

    of_ours, of_jax = asked_by(jitkit), asked_by(jax)
    assert of_ours == of_jax
    assert [name for name, *_ in of_ours] == ["cu_tridiagonal_solve_perturbed" if perturb else "cusparse_gtsv2_ffi"]


@pytest.mark.parametrize("rows", [1, 2])
def test_a_tridiagonal_system_of_two_rows_is_solved_in_loops(rows):
    """cuSPARSE wants three; TPUs have no routine."""
    rng = np.random.default_rng(0)
    dl, d, du = rng.standard_normal((3, 4, rows)).astype("float32")
    b = rng.standard_normal((4, rows, 2)).astype("float32")
    solve = jitkit.lax.linalg.tridiagonal_solve
    assert calls(for_cuda(jitkit, solve, dl, d + 5, du, b)) == []
    by_elimination = jitkit.vmap(jitkit.lax.linalg.tridiagonals._by_elimination)
    assert np.allclose(by_elimination(dl, d + 5, du, b), jax.lax.linalg.tridiagonal_solve(dl, d + 5, du, b), rtol=1e-5)


def test_elimination_solves_larger_systems():
    rng = np.random.default_rng(1)
    dl, d, du = rng.standard_normal((3, 70)).astype("float32")
    b = rng.standard_normal((70, 2)).astype("float32")
    ours = jitkit.jit(jitkit.lax.linalg.tridiagonals._by_elimination)(dl, d + 6, du, b)
    assert np.allclose(ours, jax.lax.linalg.tridiagonal_solve(dl, d + 6, du, b), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_eigenvalues_of_any_matrix_are_cusolvers(dtype):
    """JAX asks for cuSOLVER's version before it writes this, which takes a GPU."""
    text = for_cuda(jitkit, jitkit.numpy.linalg.eig, jax.ShapeDtypeStruct((2, 5, 5), np.dtype(dtype)))
    [(name, options, _, types)] = calls(text)
    assert (name, options) == ("cusolver_geev_ffi", ["left = false", "right = true"])
    assert types.endswith("tensor<2xi32>)")


def test_complex_eigenvectors_come_from_pairs_of_real_columns():
    """As LAPACK's and cuSOLVER's `geev` leave them for real matrices."""
    matrix = np.random.default_rng(0).standard_normal((6, 6)).astype("float32")
    w, v = (np.asarray(x) for x in jitkit.numpy.linalg.eig(matrix))
    packed, j = np.zeros((6, 6), "float32"), 0
    while j < 6:
        if w[j].imag:
            packed[:, j], packed[:, j + 1] = v[:, j].real, v[:, j].imag
        else:
            packed[:, j] = v[:, j].real
        j += 2 if w[j].imag else 1
    assert np.iscomplex(w).any()
    assert np.isreal(w).any()
    assert np.array_equal(jitkit.jit(jitkit.lax.linalg.cusolver.unpacked)(w, packed), v)
    empty = np.zeros((0,), "complex64"), np.zeros((0, 0), "float32")
    assert jitkit.jit(jitkit.lax.linalg.cusolver.unpacked)(*empty).dtype == np.complex64


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda linalg, x: linalg.eig(x, implementation=linalg.EigImplementation.CUSOLVER),
            "Left eigenvectors are not",
        ),
        (lambda linalg, x: linalg.svd(x, algorithm=linalg.SvdAlgorithm.DIVIDE_AND_CONQUER), "only supported on AMD"),
        (lambda linalg, x: linalg.eigh(x, implementation=linalg.EighImplementation.QDWH), "not supported on GPU"),
    ],
)
def test_what_is_not_there_is_refused_in_words(ask, words):
    with pytest.raises(NotImplementedError, match=words):
        for_cuda(jitkit, lambda x: ask(jitkit.lax.linalg, x), jax.ShapeDtypeStruct((4, 4), np.dtype("float32")))


def test_a_dtype_that_no_routine_has_is_refused():
    with pytest.raises((NotImplementedError, TypeError), match="float16"):
        for_cuda(jitkit, jitkit.lax.linalg.lu, jax.ShapeDtypeStruct((4, 4), np.dtype("float16")))
