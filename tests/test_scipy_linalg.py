"""`jitkit.scipy.linalg`, and convolutions by patches, against JAX: the same jaxprs of programs, gradients and batches, the same values."""

from __future__ import annotations

import jax
import jax.scipy.linalg
import numpy as np
import pytest
from lax_oracle import JAX_VERSION, error_of
from tails import one_in, one_row_in

import jitkit

RANDOM = np.random.RandomState(0)
SQUARE = RANDOM.randn(4, 4).astype("f")
POSITIVE = SQUARE @ SQUARE.T + 4 * np.eye(4, dtype="f")
B = RANDOM.randn(4, 2).astype("f")
STACK = np.stack([POSITIVE, POSITIVE + np.eye(4, dtype="f")])
IMAGES = RANDOM.randn(2, 3, 7, 6).astype("f")
LOCAL = RANDOM.randn(5, 12, 6, 5).astype("f")

NAMES = {
    library: {
        name: getattr(library.scipy.linalg, name)
        for name in dir(jax.scipy.linalg)
        if hasattr(jitkit.scipy.linalg, name)
    }
    for library in (jitkit, jax)
}
PROGRAMS = {
    "cho_solve(cho_factor(p, True), b)": "cho_solve(cho_factor(p, True), b)",
    "cho_solve(cho_factor(p), b[:, 0])": "cho_solve(cho_factor(p), b[:, 0])",
    "lu_solve": "lu_solve(lu_factor(a), b, trans=1)",
    "lu": "lu(a)[1:]",
    "solve": "solve(a, b)",
    "solve of a positive matrix": "solve(p, b, assume_a='pos')",
    "solve of positive matrices": "jax.numpy.linalg.solve(s, b)",
    "solve_triangular": "solve_triangular(a, b, lower=True, trans='T')",
    "svd": "svd(a, compute_uv=False)",
    "eigh": "eigh(p)[0]",
    **{
        f"eigh of two, type {n}": f"abs(eigh(p, p + a.mT @ a, type={n})[0])"
        for n in (1, 2, 3)
        if JAX_VERSION >= (0, 12)
    },
    "qr": "qr(a)[1]",
    "det and inv": "det(a) * inv(a)",
    "expm": "expm(a / 2)",
    "expm of an upper triangle": "expm(a / 2, upper_triangular=True)",
    "expm_frechet": "expm_frechet(a / 2, p)",
    "toeplitz": "toeplitz(b[:, 0], b[:, 1])",
    "hankel": "hankel(a, b[:, 1])",
    "circulant": "circulant(b.T)",
    "block_diag": "block_diag(a, b, b[0])",
    "companion": "companion(a)",
}


def program(library, code):
    """Return the program as a function of a matrix, a positive definite matrix, right-hand sides, and two positive
    definite matrices.
    """

    def function(a, p, b, s):
        return eval(code, NAMES[library] | {"jax": library, "a": a, "p": p, "b": b, "s": s})

    return function


def total(library, code):
    """Return the sum of what a program returns."""
    function = program(library, code)
    return lambda *xs: sum((x**2).sum() for x in library.tree.leaves(function(*xs)))


OPERANDS = (SQUARE, POSITIVE, B, STACK)
WAYS = {
    "as it is": lambda library, code: program(library, code),
    "gradient": lambda library, code: library.grad(total(library, code), (0, 1, 2, 3)),
    "tangent": lambda library, code: lambda *xs: library.jvp(program(library, code), xs, xs),
    "batch": lambda library, code: library.vmap(program(library, code), (None, 0, 0, None)),
}


@pytest.mark.parametrize(("name", "way"), one_row_in(3, [(name, way) for name in PROGRAMS for way in WAYS]))
def test_programs_and_their_derivatives_and_batches_have_jaxs_values(name, way):
    operands = [np.stack([x, x + 1]) if way == "batch" and i in (1, 2) else x for i, x in enumerate(OPERANDS)]
    ours, theirs = (
        library.jit(lambda *xs, library=library: WAYS[way](library, PROGRAMS[name])(*xs))(*operands)
        for library in (jitkit, jax)
    )
    ours, theirs = jitkit.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(ours) == len(theirs) > 0
    for a, b in zip(ours, theirs, strict=True):
        assert a.aval.str_short() == b.aval.str_short()
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    "name", [name for name in PROGRAMS if "det" not in name]
)  # JAX takes the diagonal for a determinant by other operations
@pytest.mark.parametrize("way", ["as it is", "tangent"])
def test_programs_and_tangents_are_printed_as_in_jax(name, way):
    ours, theirs = (library.make_jaxpr(WAYS[way](library, PROGRAMS[name]))(*OPERANDS) for library in (jitkit, jax))
    if JAX_VERSION < (0, 11):
        assert str(ours) == str(theirs)


# JAX has no derivatives for these, or the derivatives depend on a factor that is not unique.
COMPLEX = "(a + 1j * p)"
FORMS = [
    "schur(a)",
    "schur(a, output='complex')",
    f"schur({COMPLEX})",
    "jax.lax.linalg.schur(s, compute_schur_vectors=False)",
    "rsf2csf(*schur(a))",
    "rsf2csf(*schur(s @ a))",
    "rsf2csf(a[:1, :1], p[:1, :1])",
    "hessenberg(a)",
    "hessenberg(s @ a, calc_q=True)",
    f"hessenberg({COMPLEX}, calc_q=True)",
    "hessenberg(a[:0, :0], calc_q=True)",
    "jax.lax.linalg.hessenberg(a)",
    "sqrtm(a)",
    "sqrtm(p)",
    f"sqrtm({COMPLEX})",
    "funm(a, jax.numpy.sin)",
    f"funm({COMPLEX}, jax.numpy.exp, disp=False)",
    "jax.vmap(sqrtm)(s @ a)",
    "polar(a)",
    "polar(b)",
    "polar(b.T, 'left')",
    "polar(s @ a)",
    f"polar({COMPLEX}, max_iterations=2)",
    "polar(b, 'left', method='svd')",
    f"polar({COMPLEX}, method='svd')",
    "jax.lax.linalg.tridiagonal_solve(a[0], p[0] + 9, a[1], b)",
    "jax.lax.linalg.tridiagonal_solve(a, p + 9, a[::-1], s[:, :, :, None][0])",
    f"jax.lax.linalg.tridiagonal_solve(*[x[0] for x in [{COMPLEX}] * 3], {COMPLEX})",
    "jax.lax.linalg.tridiagonal_solve(0 * a[0], 0 * a[0], 0 * a[0], b)",
    "jax.lax.linalg.tridiagonal_solve(a[0], a[1], a[2], b, perturb_singular=True)",
    "jax.vmap(lambda x: jax.lax.linalg.tridiagonal_solve(a[0], p[0] + 9, a[1], x))(s)",
    "jax.vmap(lambda d: jax.lax.linalg.tridiagonal_solve(a[0], d + 9, a[1], b))(p)",
    "jax.grad(lambda a, b: (jax.lax.linalg.tridiagonal_solve(a[0], a[1] + 9, a[2], b) ** 2).sum(), (0, 1))(a, b)",
    "jax.jvp(lambda b: jax.lax.linalg.tridiagonal_solve(a[0], p[1] + 9, a[2], b), (b,), (b,))",
    "jax.lax.linalg.tridiagonal(a)",
    "jax.lax.linalg.tridiagonal(s, lower=False)",
    f"jax.lax.linalg.tridiagonal({COMPLEX})",
    "jax.lax.linalg.symmetric_product(b, a, alpha=2.0, beta=0.5)",
    "jax.lax.linalg.symmetric_product(s, s, symmetrize_output=True)",
    "jax.vmap(lambda x: jax.lax.linalg.symmetric_product(x, a))(s)",
    "jax.lax.linalg.cholesky_update(jax.numpy.triu(a), b[:, 0])",
    "jax.lax.linalg.cholesky_update(jax.numpy.triu(p), 0 * b[:, 0])",
    *[
        f"qr_multiply({a}, {c}, {mode!r}, {pivoting}, {conjugate})"
        for pivoting in (False, True)
        for conjugate in (False, True)
        for a, c, mode in (
            ("a[:, :3]", "b[:3]", "left"),
            ("a[:3]", "b[:3]", "left"),
            (f"{COMPLEX}[:, :3]", "b.T", "right"),
            ("s", "b[:, 0]", "right"),
            ("a", "b[:, 1]", "left"),
        )
    ],
    "eigh_tridiagonal(p[0], a[0, :3])",
    "eigh_tridiagonal(p[0], a[0, :3], eigvals_only=True, tol=0.1)",
    "eigh_tridiagonal(p[0], a[0, :3], select='i', select_range=(1, 2), key=jax.random.key(1))",
    f"eigh_tridiagonal({COMPLEX}[0], {COMPLEX}[1, :3])",
    "eigh_tridiagonal(1 + 0 * a[0], jax.numpy.array([1e-6, 0, 0], 'float32'))",
    "eigh_tridiagonal(p.ravel(), a.ravel()[1:])[0]",
    "eigh_tridiagonal(p[0, :1], a[0, :0])",
    "jax.vmap(lambda d: eigh_tridiagonal(d, a[0, :3], eigvals_only=True))(p)",
    "solve_sylvester(a, p[:2, :2], b)",
    f"solve_sylvester({COMPLEX}, p[:2, :2], b)",
    "solve_sylvester(a, p[:2, :2], b, method='eigen')",
    "solve_sylvester(s, p[:2, :2], b)",
    "solve_sylvester(p, -p, a)",
    "solve_sylvester(a, p, a, tol=100.0)",
    "jax.grad(lambda b: solve_sylvester(a, p[:2, :2], b).sum())(b)",
]


@pytest.mark.skipif(JAX_VERSION >= (0, 11), reason="needs jax < 0.11, whose programs these are")
@pytest.mark.parametrize("code", FORMS)
def test_forms_of_matrices_are_printed_as_in_jax(code):
    ours, theirs = (library.make_jaxpr(program(library, code))(*OPERANDS) for library in (jitkit, jax))
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("code", one_in(4, FORMS))  # equal jaxprs are equal programs
def test_forms_of_matrices_and_what_is_computed_from_them_are_those_of_jax(code):
    programs = [program(library, code) for library in (jitkit, jax)]
    ours, theirs = (
        library.tree.leaves(library.jit(f)(*OPERANDS)) for library, f in zip((jitkit, jax), programs, strict=True)
    )
    assert len(ours) == len(theirs) > 0
    for a, b in zip(ours, theirs, strict=True):
        assert a.aval.str_short() == b.aval.str_short()
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "code",
    [
        "schur(a, 'unitary')",
        "schur(b)",
        "hessenberg(b)",
        "jax.grad(lambda a: hessenberg(a).sum())(a)",
        "jax.jit(lambda a: jax.lax.linalg.schur(a, sort_eig_vals=True))(a)",
        "sqrtm(a, 2)",
        "funm(s, jax.numpy.sin)",
        "rsf2csf(b, a)",
        "rsf2csf(a, b)",
        "rsf2csf(a, a[:2, :2])",
        "polar(a, method='newton')",
        "polar(a, 'above')",
        "polar(a[0])",
        "polar(b.T)",
        "jax.lax.linalg.tridiagonal_solve(a[0], a[1], a[2, :2], b)",
        "jax.lax.linalg.tridiagonal_solve(a[0], a[1], a[2], b[:2])",
        "jax.lax.linalg.tridiagonal(b)",
        "jax.lax.linalg.tridiagonal(a[0])",
        # JAX 0.12 words this error differently
        *["jax.lax.linalg.tridiagonal(a.astype(int))"] * (JAX_VERSION < (0, 12)),
        *["jax.lax.linalg.symmetric_product(a + 1j, a + 1j)"] * (JAX_VERSION < (0, 12)),
        "jax.lax.linalg.symmetric_product(a, b)",
        "jax.lax.linalg.symmetric_product(a, s)",
        "jax.grad(lambda a: jax.lax.linalg.symmetric_product(a, p).sum())(a)",
        "jax.lax.linalg.cholesky_update(a, b)",
        "jax.lax.linalg.cholesky_update(s, b.T)",
        "jax.lax.linalg.cholesky_update(a, b[:2, 0])",
        "jax.vmap(lambda w: jax.lax.linalg.cholesky_update(a, w))(a)",
        "jax.grad(lambda w: jax.lax.linalg.cholesky_update(a, w).sum())(a[0])",
        "qr_multiply(a, b.T, 'up')",
        "qr_multiply(a, b)",
        "qr_multiply(a, b.T, 'left')",
        "qr_multiply(s, jax.numpy.stack([b] * 3), 'left')",
        "eigh_tridiagonal(a[0], a[0, :3].astype('float16'))",
        "eigh_tridiagonal(a[0].astype(int), a[0, :3].astype(int))",
        "eigh_tridiagonal(a[0], a[0, :3], select='v')",
        "eigh_tridiagonal(a[0], a[0, :3], select='i')",
        "eigh_tridiagonal(a[0], a[0, :3], select='i', select_range=(2, 1))",
        "eigh_tridiagonal(a[0], a[0, :3], select='x')",
        "solve_sylvester(a, p, b)",
        "solve_sylvester(a, p[:2, :2], b, method='newton')",
        "solve(a, b[:3])",
        "solve(a, b, assume_a='upper')",
        "solve(b, b, assume_a='pos')",
        "solve_triangular(a, b, trans='H')",
        "qr(a, mode='raw')",
        *["eigh(a, p)", "eigh(a, type=2)"] * (JAX_VERSION < (0, 12)),
        *["eigh(a, p, type=4)", "eigh(b, p)", "eigh(a, b)"] * (JAX_VERSION >= (0, 12)),
        "eigh(a, eigvals=(0, 1))",
        "eigh(None, eigvals_only=True)",
        "expm(b)",
        "expm(a.astype('float16'))",
        "expm_frechet(a, b)",
        "block_diag(s)",
        "hankel(b[0, 0])",
        "leslie(a, a)",
        "companion(b[:, :1])",
        "hadamard(6)",
        "pascal(3, 'both')",
        "dft(3, 'sqrt')",
        "dft(3, dtype=float)",
        "convolution_matrix(a, 0)",
        "convolution_matrix(a, 2, 'half')",
        "lu_solve((a, jax.numpy.arange(4)), b[:3])",
    ],
)
def test_what_jax_refuses_is_refused_in_its_words(code):
    ours, theirs = (error_of(program(library, code), *OPERANDS) for library in (jitkit, jax))
    assert theirs is not None
    assert ours == theirs


PATCHES = {
    "patches": lambda lax, x, k: lax.conv_general_dilated_patches(x, (2, 2), (1, 1), "VALID"),
    "patches of channels last": lambda lax, x, k: lax.conv_general_dilated_patches(
        x, (2, 3), (2, 1), "SAME", rhs_dilation=(1, 2), dimension_numbers=("NHWC", "OIHW", "NHWC")
    ),
    "patches, precisely": lambda lax, x, k: lax.conv_general_dilated_patches(
        x, (2, 2), (1, 1), [(1, 0), (0, 1)], lhs_dilation=(2, 1), precision=lax.Precision.HIGHEST
    ),
    "local": lambda lax, x, k: lax.conv_general_dilated_local(x, k, (1, 1), "VALID", (2, 2)),
    "local, precisely": lambda lax, x, k: lax.conv_general_dilated_local(
        x, k, (1, 1), "VALID", (2, 2), precision=(lax.Precision.HIGH, lax.Precision.HIGHEST)
    ),
}


@pytest.mark.parametrize("name", PATCHES)
def test_patches_are_those_of_jax(name):
    results = []
    for library in (jitkit, jax):

        def value(x, k, library=library):
            return PATCHES[name](library.lax, x, k)

        slope = library.grad(lambda x, k, value=value: (value(x, k) ** 2).sum())
        results.append((str(library.make_jaxpr(value)(IMAGES, LOCAL)), value(IMAGES, LOCAL), slope(IMAGES, LOCAL)))
    (ours, *our_values), (theirs, *their_values) = results
    assert ours == theirs or JAX_VERSION >= (0, 11)
    for a, b in zip(our_values, their_values, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 2), (0, 1)]])
def test_shapes_of_convolutions_are_told_beforehand(padding):
    sizes, numbers = ((2, 8, 7, 3), (3, 2, 3, 5)), ("NHWC", "HWIO", "NHWC")
    for strides in ((1, 1), (2, 3)):
        for name in ("conv_general_shape_tuple", "conv_transpose_shape_tuple"):
            ours, theirs = (getattr(lax, name)(*sizes, strides, padding, numbers) for lax in (jitkit.lax, jax.lax))
            assert tuple(map(int, ours)) == tuple(map(int, theirs))
