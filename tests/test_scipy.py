"""`jitkit.scipy`, `jitkit.ops`, windows and attention against JAX: the same jaxprs, the same types, the same bits."""

from __future__ import annotations

import re

import jax
import jax.ops
import jax.scipy
import jax.scipy.cluster.vq
import jax.scipy.interpolate
import numpy as np
import pytest
from lax_oracle import JAX_VERSION, describe, error_of
from tails import keeping, some_of

import jitkit

X = np.array(
    [-25, -12, -8.5, -3, -1.5, -1, -0.5, -0.0, 0, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 5.5, 9, np.inf, -np.inf, np.nan], "f"
)
INTS = np.arange(-3, 5)
RANDOM = np.random.RandomState(0)
MATRIX = RANDOM.randn(5, 6).astype("f")
QUERY, KEY = RANDOM.randn(2, 5, 4, 8).astype("f"), RANDOM.randn(2, 6, 4, 8).astype("f")
IDS = np.array([0, 1, 1, -1, 3])
PLANE = np.empty((X.size, X.size), "F")
PLANE.real, PLANE.imag = X[:, None], X

ONE_OPERAND = (
    "erf erfc erfinv expit logit i0e i0 i1e i1 gammaln loggamma gammasgn gamma factorial digamma entr ndtr ndtri log_ndtr logsumexp "
    "softmax log_softmax expi exp1"
)
TWO_OPERANDS = "xlogy xlog1py rel_entr kl_div betaln beta boxcox boxcox1p zeta"
DISTRIBUTIONS = {
    "norm": "pdf logpdf cdf logcdf sf logsf ppf isf",
    "expon": "pdf logpdf cdf logcdf sf logsf ppf",
    "uniform": "pdf logpdf cdf ppf",
    "laplace": "pdf logpdf cdf",
    "logistic": "pdf logpdf cdf sf ppf isf",
    "cauchy": "pdf logpdf cdf logcdf sf logsf ppf isf",
    "gumbel_l": "pdf logpdf cdf logcdf sf logsf ppf",
    "gumbel_r": "pdf logpdf cdf logcdf sf logsf ppf",
}
PARTS = "cdf logcdf sf logsf"
WITH_PARAMETERS = {
    "gamma": (f"pdf logpdf {PARTS}", (X, 0.5), (X, np.abs(X), 1, 2), (INTS, 2)),
    "beta": (f"pdf logpdf {PARTS}", (X, 0.5, 12), (X, np.abs(X), X, 1, 2), (INTS, 2, 3)),
    "t": ("pdf logpdf", (X, 2), (X, np.abs(X), 1, 2), (INTS, 2.5)),
    "chi2": (f"pdf logpdf {PARTS}", (X, 3), (X, np.abs(X), 1, 2), (INTS, 2)),
    "binom": ("pmf logpmf", (X, 5.0, 0.25), (INTS, 4, 0.5, 1), (INTS, np.abs(INTS), X[8:16])),
    "nbinom": ("pmf logpmf", (X, 5.0, 0.25), (INTS, 4, 0.5, 1), (INTS, np.abs(INTS), X[8:16])),
    "poisson": ("pmf logpmf cdf", (X, 2.0), (INTS, 3, 1)),
    "bernoulli": ("pmf logpmf cdf ppf", (X, 0.25), (INTS, X[:8])),
    "geom": ("pmf logpmf", (X, 0.25), (INTS, 0.5, 1), (INTS, X[8:16])),
    "betabinom": ("pmf logpmf", (X, 5.0, 0.5, 2.0), (INTS, 4, 2, 3, 1), (INTS, np.abs(INTS), X[8:16], 2)),
    "gennorm": ("pdf logpdf cdf", (X, 0.5), (X, np.abs(X)), (INTS, 2)),
    "pareto": (f"pdf logpdf {PARTS} ppf", (X, 0.5), (X, np.abs(X), 1, 2), (INTS, 2)),
    "truncnorm": (f"pdf logpdf {PARTS}", (X, -0.5, 2.0), (X, 1.0, np.abs(X), 1, 2), (INTS, -1, 1)),
    "vonmises": ("pdf logpdf", (X, 0.5), (X, X), (INTS, 2)),
    "wrapcauchy": ("pdf logpdf", (X, 0.5), (X, X), (INTS, 0.25)),
    "multivariate_normal": (
        "pdf logpdf",
        (MATRIX[:, :2], MATRIX[0, :2], np.array([[2, 0.5], [0.5, 1]], "f")),
        (X, 1, 2), (MATRIX, MATRIX[0], 2), (MATRIX, MATRIX[0], MATRIX), (INTS, 0, 1),
    ),
}  # fmt: skip

# name: (program of the library and of operands, operands)
SPECIAL = {
    f"{name} of {kind}": (lambda lib, x, name=name: getattr(lib.scipy.special, name)(x), (x,))
    for name in ONE_OPERAND.split()
    for kind, x in {"floats": X, "ints": INTS, "halves": X.astype("e"), "a float": 0.5}.items()
}
SPECIAL |= {
    f"{name} of {kind}": (lambda lib, x, y, name=name: getattr(lib.scipy.special, name)(x, y), xs)
    for name in TWO_OPERANDS.split()
    for kind, xs in {"floats": (X[:, None], X), "ints": (INTS, INTS), "a float": (0.5, X)}.items()
}
SPECIAL |= {  # without an infinite order (inf as an int): neither library's function ends
    f"expn of {kind}": (lambda lib, n, x: lib.scipy.special.expn(n, x), (n, np.float32([-1, 0, 0.5, 1, 2, 9])))
    for kind, n in {"orders": np.arange(-1, 5)[:, None], "a large order": 60, "a float": 2.5}.items()
}
SPECIAL |= {
    "polygamma": (lambda lib, n, x: lib.scipy.special.polygamma(n, x), (np.arange(8), np.abs(X[:8]) + 1)),
    "multigammaln": (lambda lib, x: lib.scipy.special.multigammaln(x, 3), (X,)),
    "log_ndtr, more exactly": (lambda lib, x: lib.scipy.special.log_ndtr(x, 7), (X,)),
    "softmax along an axis": (lambda lib, x: lib.scipy.special.softmax(x, axis=0), (MATRIX,)),
}
STATISTICS = {
    f"{family}.{name} of {kind}": (
        lambda lib, *xs, family=family, name=name: getattr(getattr(lib.scipy.stats, family), name)(*xs),
        xs,
    )
    for family, names in DISTRIBUTIONS.items()
    for name in names.split()
    for kind, xs in {"floats": (X,), "parameters": (X, 0.5, 2), "ints": (INTS,)}.items()
}
STATISTICS |= {
    f"{family}.{name}, {i}": (
        lambda lib, *xs, family=family, name=name: getattr(getattr(lib.scipy.stats, family), name)(*xs),
        xs,
    )
    for family, (names, *operands) in WITH_PARAMETERS.items()
    for name in names.split()
    for i, xs in enumerate(operands)
}
SEGMENTS = {
    f"segment_{name} of {kind}, {options}": (
        lambda lib, x, name=name, options=options: getattr(lib.ops, f"segment_{name}")(x, IDS, **options),
        (x,),
    )
    for name in ("sum", "prod", "max", "min")
    for kind, x in {"floats": MATRIX, "ints": MATRIX.astype(int), "bools": MATRIX > 0}.items()
    for options in ({"num_segments": 4}, {"num_segments": 3, "bucket_size": 2})
}
WINDOWS = {
    f"{name} in {options}": (
        lambda lib, x, name=name, start=start, options=options: lib.lax.reduce_window(
            x, start, getattr(lib.lax, name), **options
        ),
        (MATRIX,),
    )
    for name, start in {"add": 0.0, "max": -np.inf, "min": np.inf, "mul": 1.0}.items()
    for options in (
        {"window_dimensions": (2, 2)},
        {"window_dimensions": (2, 3), "window_strides": (2, 1), "padding": "SAME"},
        {"window_dimensions": (1, 2), "padding": ((1, 2), (0, 3)), "window_dilation": (1, 2), "base_dilation": (2, 1)},
    )
}
WINDOWS |= {
    "ints": (lambda lib, x: lib.lax.reduce_window(x, 0, lib.lax.add, (2, 2)), (MATRIX.astype(int),)),
    "a tree": (
        lambda lib, x: lib.lax.reduce_window((x, x), (0.0, 1.0), lambda p, q: (p[0] + q[0], p[1] * q[1]), (2, 2)),
        (MATRIX,),
    ),
    "a program in Python": (lambda lib, x: lib.lax.reduce_window(x, 0.0, lambda p, q: p + 2 * q, (2, 2)), (MATRIX,)),
}
ATTENTION = {
    "plain": (lambda lib, q, k: lib.nn.dot_product_attention(q, k, k), (QUERY, KEY)),
    "without a batch": (lambda lib, q, k: lib.nn.dot_product_attention(q, k, k), (QUERY[0], KEY[0])),
    "groups of heads": (
        lambda lib, q, k: lib.nn.dot_product_attention(q, k, k, is_causal=True),
        (QUERY, KEY[:, :, :2]),
    ),
    "bias and mask": (
        lambda lib, q, k, bias: lib.nn.dot_product_attention(q, k, k, bias, bias > 0, scale=0.5),
        (QUERY, KEY, RANDOM.randn(1, 4, 5, 6).astype("f")),
    ),
    "lengths and windows": (
        lambda lib, q, k: lib.nn.dot_product_attention(
            q,
            k,
            k,
            query_seq_lengths=np.int32([3, 5]),
            key_value_seq_lengths=np.int32([3, 5]),
            local_window_size=2,
            return_residual=True,
        ),
        (QUERY, KEY),
    ),
    "values of another shape": (lambda lib, q, k: lib.nn.dot_product_attention(q, k, k[:, :3]), (QUERY, KEY)),
    "heads that make no groups": (
        lambda lib, q, k: lib.nn.dot_product_attention(q[:, :, :3], k, k),
        (QUERY, KEY[:, :, :2]),
    ),
    "a mask of floats": (
        lambda lib, q, k: lib.nn.dot_product_attention(q, k, k, mask=np.ones((2, 1, 5, 6))),
        (QUERY, KEY),
    ),
}
BATCHES = {
    program: (
        lambda lib, a, program=program: eval(program, {"jax": lib, "a": a, "np": np}),
        (RANDOM.randn(3, 4, 4).astype("f"),),
    )
    for program in (
        "jax.vmap(lambda b: jax.lax.linalg.triangular_solve(a[0], b, left_side=True))(a)",
        "jax.vmap(lambda b: jax.lax.linalg.triangular_solve(a[0], b), in_axes=1, out_axes=2)(a)",
        "jax.vmap(jax.numpy.linalg.svd)(a)",
        "jax.vmap(lambda b: jax.lax.reduce_window(b, 0.0, jax.lax.add, (2, 2)), in_axes=1)(a)",
        "jax.vmap(lambda b: jax.lax.reduce_window(b, 0.0, lambda p, q: p + q, (2, 2)), in_axes=1)(a)",
        "jax.vmap(lambda b: jax.ops.segment_sum(b, np.array([0, 1, 1, 2]), 3))(a)",
    )
}
TAKES_A_DIAGONAL = re.compile(r"multivariate_normal.*, [03]")  # JAX takes the diagonal by other operations
TABLES = {
    "attention": ATTENTION, "batches": BATCHES, "special": SPECIAL, "statistics": STATISTICS, "segments": SEGMENTS,
    "windows": WINDOWS,
}  # fmt: skip


def traced(library, row):
    """Return the jaxpr, or the error."""
    program, operands = row
    make = library.make_jaxpr(lambda *xs: program(library, *xs))
    error = error_of(make, *operands)
    return (None, error) if error else (make(*operands), None)


@pytest.mark.skipif(JAX_VERSION >= (0, 11), reason="needs jax < 0.11, whose bits these are")
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # both libraries warn for softmax of integers
@pytest.mark.parametrize("table", TABLES)
def test_programs_and_results_are_those_of_jax(table):
    good = {}
    for name, row in TABLES[table].items():
        (ours, our_error), (theirs, their_error) = traced(jitkit, row), traced(jax, row)
        assert our_error == their_error, name
        if ours is not None:
            good[name] = row
            if JAX_VERSION < (0, 11):
                assert str(ours) == str(theirs) or TAKES_A_DIAGONAL.fullmatch(name), name
    good = dict(some_of(list(good.items()), 6))  # equal jaxprs are equal programs
    operands = [xs for _, xs in good.values()]

    def everything(library):
        return lambda values: [program(library, *xs) for (program, _), xs in zip(good.values(), values, strict=True)]

    ours, theirs = (library.jit(everything(library))(operands) for library in (jitkit, jax))
    for name, a, b in zip(good, ours, theirs, strict=True):
        for x, y in zip(jitkit.tree.leaves(a), jax.tree.leaves(b), strict=True):
            assert describe(x) == describe(y), name
            np.testing.assert_array_equal(np.asarray(x).astype("f"), np.asarray(y).astype("f"), err_msg=name)


ERRORS = {
    "complex entropy": lambda lib: lib.scipy.special.entr(X.astype("F")),
    "complex sign of gamma": lambda lib: lib.scipy.special.gammasgn(X.astype("F")),
    "complex beta": lambda lib: lib.scipy.special.beta(X.astype("F"), 1),
    "complex incomplete beta": lambda lib: lib.scipy.special.betainc(1, 2, X.astype("F")),
    "zeta of one operand": lambda lib: lib.scipy.special.zeta(X),
    "a negative number of Bernoulli's": lambda lib: lib.scipy.special.bernoulli(-1),
    "a broken number of Bernoulli's": lambda lib: lib.scipy.special.bernoulli(2.5),
    "an unknown number of Bernoulli's": lambda lib: lib.jit(lib.scipy.special.bernoulli)(3),
    "polygamma of a float": lambda lib: lib.scipy.special.polygamma(X, X),
    "ndtr of halves": lambda lib: lib.scipy.special.ndtr(X.astype("e")),
    "log_ndtr of halves": lambda lib: lib.scipy.special.log_ndtr(X.astype("e")),
    "too many terms": lambda lib: lib.scipy.special.log_ndtr(X, 31),
    "no number of terms": lambda lib: lib.scipy.special.log_ndtr(X, 0.5),
    "exact factorial": lambda lib: lib.scipy.special.factorial(3, exact=True),
    "no number of segments": lambda lib: lib.jit(lambda i: lib.ops.segment_sum(MATRIX, i))(IDS),
    "negative number of segments": lambda lib: lib.ops.segment_sum(MATRIX, IDS, -1),
    "window of another rank": lambda lib: lib.lax.reduce_window(MATRIX, 0.0, lib.lax.add, (2,)),
    "strides of another rank": lambda lib: lib.lax.reduce_window(MATRIX, 0.0, lib.lax.add, (2, 2), (1,)),
    "window of nothing": lambda lib: lib.lax.reduce_window(MATRIX, 0.0, lib.lax.add, (0, 2)),
    "unknown padding": lambda lib: lib.lax.reduce_window(MATRIX, 0.0, lib.lax.add, (2, 2), (1, 1), "x"),
    "start of another type": lambda lib: lib.lax.reduce_window(IDS, 0.0, lambda p, q: p + q, (2,)),
    "start of another tree": lambda lib: lib.lax.reduce_window(IDS, (0,), lib.lax.add, (2,)),
    "sum of bools": lambda lib: lib.lax.reduce_window(MATRIX > 0, False, lib.lax.add, (2, 2)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_jax_refuses_is_refused_in_its_words(name):
    theirs, ours = (error_of(ERRORS[name], library) for library in (jax, jitkit))
    assert theirs is not None
    assert ours == theirs


# arguments for series that end, for series in 1 - x, at poles, and for none of these
A, B, C, Z = np.float32(
    [[0, 1, -2, -3, 1, 2, 1, -1, 0.5], [1, 1, 0.5, -1, 1, 0.5, 2, 3, 1], [2, 1, -4, 2, 2.5, 1, 4, 0.5, 1.5],
     [0.5, 0.3, 0.3, 1, 1, 2, 0.95, 0.95, -0.95]]
)  # fmt: skip
DEGREES, ORDERS = np.array([0, 1, 2, 3, 5]), np.array([0, -1, 2, 0, -4])
NEWER = {
    **{name: (lambda lib, x, name=name: getattr(lib.scipy.special, name)(x), (X,)) for name in
       ["spence", "dawsn", "sici", "erfcx", "wofz", "fresnel"]},
    **{f"{name} of halves": (lambda lib, x, name=name: getattr(lib.scipy.special, name)(x), (X.astype("e"),)) for name in
       ["dawsn", "sici", "erfcx", "fresnel"]},
    "spence of ints": (lambda lib, x: lib.scipy.special.spence(x), (INTS,)),
    "wofz of ints": (lambda lib, x: lib.scipy.special.wofz(x), (INTS,)),
    "wofz of complex numbers": (lambda lib, x: lib.scipy.special.wofz(x), (PLANE,)),
    "erfcx of complex numbers": (lambda lib, x: lib.scipy.special.erfcx(x), (PLANE,)),
    "poch": (lambda lib, x, y: lib.scipy.special.poch(x, y), (X[:, None], X)),
    "owens_t": (lambda lib, x, y: lib.scipy.special.owens_t(x, y), (X[:, None], X)),
    "bessel_jn": (lambda lib, x: lib.scipy.special.bessel_jn(x, v=3, n_iter=20), (MATRIX,)),
    "no order": (lambda lib, x: lib.scipy.special.bessel_jn(x, v=2.5), (X,)),
    **{f"complex {name}": (lambda lib, x, name=name: getattr(lib.scipy.special, name)(x), (X.astype("F"),)) for name in
       ["spence", "dawsn", "sici", "fresnel"]},
    "complex poch": (lambda lib, x: lib.scipy.special.poch(x, 1.0), (X.astype("F"),)),
    **{f"slope of {name}": (lambda lib, x, name=name: lib.jvp(getattr(lib.scipy.special, name), (x,), (x,))[1], (X,)) for name in
       ["spence", "dawsn", "sici", "erfcx", "fresnel"]},
    **{f"slope of {name}": (lambda lib, x, y, name=name: lib.jvp(getattr(lib.scipy.special, name), (x, y), (y, x))[1], (X, X + 1))
       for name in ("poch", "owens_t")},
    "hyp1f1": (lambda lib, *xs: lib.scipy.special.hyp1f1(*xs), (A, B, X[:, None])),
    "hyp1f1 of large numbers": (lambda lib, *xs: lib.scipy.special.hyp1f1(*xs), (1.5, 2, np.float32([50, 99, 101, 110]))),
    "slopes of hyp1f1": (lambda lib, *xs: lib.jvp(lib.scipy.special.hyp1f1, xs, xs[::-1]), (A, B, Z)),
    "complex hyp1f1": (lambda lib, x: lib.scipy.special.hyp1f1(1, 2, x), (X.astype("F"),)),
    "hyp2f1": (lambda lib, *xs: lib.scipy.special.hyp2f1(*xs), (A, B, C, Z)),
    "hyp2f1 of halves": (lambda lib, x: lib.scipy.special.hyp2f1(1, 2, 3.5, x), (Z.astype("e"),)),
    "sph_harm_y": (lambda lib, x, y: lib.scipy.special.sph_harm_y(DEGREES, ORDERS, x, y), (X[6:11], X[9:14])),
    "sph_harm_y up to a degree": (lambda lib, n, x: lib.scipy.special.sph_harm_y(n, n, x, x, n_max=2), (DEGREES, X[6:11])),
    "sph_harm_y without a degree": (lambda lib, n, x: lib.scipy.special.sph_harm_y(n, n, x, x), (DEGREES, X[6:11])),
    "sph_harm_y of one angle": (lambda lib: lib.scipy.special.sph_harm_y(DEGREES[:1], ORDERS[:1], 0.5, 0.25), ()),
    "derivative of sph_harm_y": (lambda lib, x: lib.scipy.special.sph_harm_y(DEGREES, ORDERS, x, x, diff_n=1), (X[6:11],)),
    "slopes of hyp2f1": (lambda lib, *xs: lib.jvp(lib.scipy.special.hyp2f1, xs, xs[::-1]), (A, B, C, Z)),
}  # fmt: skip


@pytest.mark.parametrize("name", NEWER)
def test_integrals_without_a_formula_are_those_of_jax(name):
    program, operands = NEWER[name]
    (ours, our_error), (theirs, their_error) = traced(jitkit, NEWER[name]), traced(jax, NEWER[name])
    assert our_error == their_error
    if ours is None:
        return
    if JAX_VERSION < (0, 11) and "fresnel" not in name:  # JAX's jaxpr of fresnel has empty tables
        assert str(ours) == str(theirs)
    found = [library.jit(lambda *xs, lib=library: program(lib, *xs))(*operands) for library in (jitkit, jax)]
    for x, y in zip(*map(jax.tree.leaves, (jitkit.device_get(found[0]), found[1])), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(
            np.asarray(x), np.asarray(y), rtol=1e-5 if JAX_VERSION < (0, 11) else 1e-2, atol=1e-6
        )


GRID = np.float32([0, 1, 3, 4]), np.float32([-1, 0, 0.5])
ON_GRID = np.arange(12.0, dtype="f").reshape(4, 3) ** 2
POINTS = np.float32([[0.5, -0.5], [3.5, 0.25], [4, 0.5], [5, 0], [0, -2], [np.nan, 0]])


def grid(lib, values=ON_GRID, points=GRID, **options):
    return lib.scipy.interpolate.RegularGridInterpolator(points, values, **options)


NEAREST = {
    "vq": lambda lib: lib.scipy.cluster.vq.vq(MATRIX, MATRIX[1:4]),
    "vq of vectors": lambda lib: lib.scipy.cluster.vq.vq(INTS, INTS[::3], check_finite=False),
    "vq of ranks": lambda lib: lib.scipy.cluster.vq.vq(MATRIX, INTS),
    "vq of three axes": lambda lib: lib.scipy.cluster.vq.vq(QUERY[0], QUERY[0]),
    "vq of a list": lambda lib: lib.scipy.cluster.vq.vq([1.0], INTS),
    "linear": lambda lib: grid(lib)(POINTS),
    "nearest": lambda lib: grid(lib, method="nearest")(POINTS),
    "another method": lambda lib: grid(lib)(POINTS, method="nearest"),
    "beyond": lambda lib: grid(lib, fill_value=None)(POINTS),
    "filled": lambda lib: grid(lib, fill_value=-7)(POINTS),
    "ints": lambda lib: grid(lib, values=ON_GRID.astype(int))(POINTS),
    "more axes of values": lambda lib: grid(lib, values=np.stack([ON_GRID, -ON_GRID], -1))(POINTS),
    "more axes of points": lambda lib: grid(lib)(POINTS.reshape(2, 3, 2)),
    "one point": lambda lib: grid(lib)(POINTS[0]),
    "coordinates": lambda lib: grid(lib)((POINTS[:, :1], POINTS[:3, 1])),
    "one axis": lambda lib: grid(lib, values=ON_GRID[:, 0], points=GRID[:1])(X),
    "an argument": lambda lib: lib.jit(lambda f, x: f(x))(grid(lib), POINTS),
    "a slope": lambda lib: lib.grad(lambda x: grid(lib)(x).sum())(POINTS[:2]),
    "an unknown method": lambda lib: grid(lib, method="cubic"),
    "an unknown method of a call": lambda lib: grid(lib)(POINTS, method="cubic"),
    "bounds": lambda lib: grid(lib, bounds_error=True),
    "too many axes": lambda lib: grid(lib, values=ON_GRID[0]),
    "another fill": lambda lib: grid(lib, fill_value=1j),
    "a list of values": lambda lib: grid(lib, values=[1.0]),
    "too many coordinates": lambda lib: grid(lib)(MATRIX),
}


@pytest.mark.parametrize("name", NEAREST)
def test_programs_and_errors_of_grids_and_nearest_points_are_those_of_jax(name):
    found = []
    for library in (jitkit, jax):
        make = library.make_jaxpr(lambda lib=library: NEAREST[name](lib))
        error = error_of(make)
        if error:
            found.append((error, error_of(NEAREST[name], library)))
        else:
            found.append(str(make()) if JAX_VERSION < (0, 11) else None)
    assert found[0] == found[1]


# Equal jaxprs are equal programs.
@pytest.mark.parametrize(
    "name", keeping(list(NEAREST), "vq", "linear", "another method", "ints", "a slope", "an unknown method")
)
def test_values_on_a_grid_and_nearest_points_are_those_of_jax(name):
    theirs, ours = (error_of(NEAREST[name], library) for library in (jax, jitkit))
    assert ours == theirs
    if theirs is not None:
        return
    found = [jax.tree.leaves(library.device_get(NEAREST[name](library))) for library in (jitkit, jax)]
    for x, y in zip(*found, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-6)


@pytest.mark.parametrize("x64", [False, True])
def test_derivatives_of_zeta_are_those_of_jax(x64):
    operands = np.abs(X).astype("d" if x64 else "f") + 1.5, np.linspace(0.5, 9, X.size).reshape(X.shape).astype("f")
    found = []
    for library in (jitkit, jax):
        with library.enable_x64(x64):
            slope = library.grad(lambda x, q, library=library: library.scipy.special.zeta(x, q).sum(), (0, 1))
            found.append((str(library.make_jaxpr(slope)(*operands)), *library.jit(slope)(*operands)))
    (ours, *our_slopes), (theirs, *their_slopes) = found
    if JAX_VERSION < (0, 11):
        assert ours == theirs
    for a, b in zip(our_slopes, their_slopes, strict=True):
        assert describe(a) == describe(b)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5)


@pytest.mark.parametrize("n", [0, 2, 3, 4, 9, 30])
def test_bernoullis_numbers_are_those_of_jax(n):
    ours, theirs = (library.scipy.special.bernoulli(n) for library in (jitkit, jax))
    assert describe(ours) == describe(theirs)
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-6)


def test_the_number_of_segments_is_counted_where_it_is_known():
    ours, theirs = (library.ops.segment_sum(library.numpy.asarray(MATRIX), IDS) for library in (jitkit, jax))
    np.testing.assert_array_equal(ours, theirs)
