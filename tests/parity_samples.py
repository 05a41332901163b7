"""Lists a call of every public name, for `parity`, which runs each with JAX and with jitkit.

A line is an expression. `jax` is the library, `jnp`, `lax`, `nn`, `random` and so on its modules; other names are the
operands below, which are arguments of the traced program. A line is about the first name after the module, unless it
begins with another name and a colon.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import test_lax_elementwise
import test_nn
import test_numpy_elementwise
import test_scipy

OPERANDS = {
    "x": np.float32([[0.5, 0.25, 0.75], [1.5, -0.5, 2.0]]),
    "y": np.float32([[1.5, 0.5, 0.25], [3.0, 2.0, 0.5]]),
    "v": np.float32([0.5, -1.5, 2.0]),
    "w": np.float32([1.0, 0.25, -3.0]),
    "s": np.array(0.5, np.float32),
    "q": np.float32([[2, 1, 0], [1, 3, 0.5], [0, 0.5, 1]]),
    "i": np.int32([2, 0, 1]),
    "j": np.int32([[1, 2, 0], [2, 2, 5]]),
    "n": np.array(1, np.int32),
    "b": np.array([[True, False, True], [False, False, True]]),
    "z": np.complex64([[1 + 2j, -1j, 0.5], [2, 1j, -1 - 1j]]),
    "img": np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5),
    "ker": np.float32([[[[1, 0, -1], [2, 0, -2], [1, 0, -1]]]]),
}

# Names of functions of one operand, or two: for each, the first form of call that JAX accepts is the sample.
ONE_OPERAND = {
    "jnp": test_numpy_elementwise.UNARY,
    "lax": test_lax_elementwise.UNARY,
    "nn": test_nn.ACTIVATIONS + test_nn.OVER_AXES,
    "special": [name for name in test_scipy.ONE_OPERAND.split() if "softmax" not in name and "ndtr" not in name],
}
TWO_OPERANDS = {
    "jnp": test_numpy_elementwise.BINARY,
    "lax": test_lax_elementwise.BINARY,
    "special": test_scipy.TWO_OPERANDS.split(),
}
FORMS = {1: ("{}(x)", "{}(i)", "{}(jnp.concatenate([x, x], 1))"), 2: ("{}(x, y)", "{}(i, i)", "{}(x, j)", "{}(n, x)")}


def within(manager, function):
    """Return the value of a function in a `with` block."""
    with manager:
        return function()


def mul(a, b):
    """Return a product plus one: a function for samples to jit."""
    return a * b + 1


def new_class():
    """Return a class without registration, made anew for each library."""

    class Pair:
        def __init__(self, *_):
            pass

        def tree_flatten(self):
            return (1, 2), None

        def tree_flatten_with_keys(self):
            return (("first", 1), ("second", 2)), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls()

    return Pair


def new_dataclass():
    """Return a dataclass with the fields `a` and `b`, without registration, made anew for each library."""
    return dataclasses.make_dataclass("Data", ["a", "b"])


def keyed(pair):
    """Return the children of a Pair with their keys, and no metadata: the function that `register_pytree_with_keys` takes."""
    return (("first", 1), ("second", 2)), None


# Names without a call: types for annotations, options of what is logged, functions that only say that they are missing.
NOT_COMPARED = (
    "DotDimensionNumbers", "Initializer", "KeyEntry", "KeyPath", "debug_key_reuse", "default_registry",
    "explain_cache_misses", "key_dtype", "log_compiles", "static", "default_prng_impl",
    # by tests/test_ad_custom.py and tests/test_ad_jacobians.py
    "checkpoint", "checkpoint_policies", "closure_convert", "custom_gradient", "custom_vjp", "hessian", "jacfwd",
    "jacobian", "jacrev", "remat",
    # by tests/test_as_jax.py
    "Ref", "new_ref", "Device", "NamedSharding", "P", "make_mesh", "pmap", "set_mesh", "shard_map", "with_sharding_constraint",
    "copy_to_host_async",  # by tests/test_names_of_arrays.py
    # by tests/test_arrays_from_parts.py
    "live_arrays", "make_array_from_callback", "make_array_from_process_local_data", "make_array_from_single_device_arrays",
    "print_environment_info",
    # by tests/test_drawn_shardings.py
    "inspect_array_sharding", "visualize_array_sharding", "visualize_sharding",
    # by tests/test_scipy.py
    # by tests/test_scipy_optimize.py
    "OptimizeResults",
    # by tests/test_scipy_linalg.py
    "conv_general_shape_tuple", "conv_transpose_shape_tuple", "conv_general_dilated_patches", "conv_general_dilated_local",
    "load", "save", "savez",  # by tests/test_numpy_editing.py
    "rng_uniform",  # by tests/test_numpy_rest.py: its numbers are others at each call
    "float0", "random_gamma_grad",  # by tests/test_ad_api.py and tests/test_incomplete_gamma.py
)  # fmt: skip

HELPERS = {function.__name__: function for function in (within, mul, new_class, new_dataclass, keyed)}

# Samples that record a program, by module.
PROGRAMS = {
    "jnp": """
        jnp.apply_along_axis(lambda a: a.cumsum() + 1, 0, x)
        jnp.apply_along_axis(lambda a, c: (a * c).sum(), -1, x, c=v)
        jnp.apply_over_axes(jnp.sum, x, (0, 1))
        jnp.apply_over_axes(lambda a, axis: jnp.stack([a, a]), x, (0,))
        jnp.compress(b[0], x, axis=1, size=2)
        jnp.compress(i, v, size=2, fill_value=7)
        jnp.choose(i % 2, [v, w], mode="wrap")
        jnp.choose(j, (x, y, 1.0), mode="clip")
        jnp.choose(i, [v, w])
        jnp.delete(x, 1, axis=1)
        jnp.delete(x, slice(0, 4, 2))
        jnp.delete(x, np.array([0, -1]), axis=1)
        jnp.delete(x, np.array([True, False]), 0)
        jnp.delete(v, i[:2], assume_unique_indices=True)
        jnp.delete(v, np.array([0.5]))
        jnp.fromfunction(lambda a, c: a * 2 + c, (2, 3))
        jnp.insert(x, 1, 5, axis=1)
        jnp.insert(x, slice(0, 2), v[:2])
        jnp.insert(x, i, y[:, :1], axis=1)
        jnp.insert(v, np.array([0.5, 1]), 1)
        jnp.poly(v)
        jnp.poly(q)
        jnp.polyadd(v, w[:2])
        jnp.polysub(v[1:], w)
        jnp.polymul(v, w[:2])
        jnp.polydiv(jnp.concatenate([v, w]), v)
        jnp.polyint(v)
        jnp.polyint(v, 2, w[:2])
        jnp.polyder(v)
        jnp.polyder(v, m=2)
        jnp.polyder(v, m=-1)
        jnp.polyfit(v, w, 1)
        jnp.polyfit(v, jnp.stack([w, v], 1), 1, w=jnp.abs(w), cov="unscaled")
        jnp.polyfit(v, w, -1)
        jnp.ravel_multi_index((i, i), (3, 4), mode="clip")
        jnp.ravel_multi_index((i, j), (3, 4), mode="wrap", order="F")
        jnp.ravel_multi_index((i, i), (3, 4), mode="ignore", dtype="uint8")
        jnp.ravel_multi_index((i, i), (3, 4))
        jnp.roots(v, strip_zeros=False)
        jnp.roots(v)
        jnp.setdiff1d(v, w, size=3)
        jnp.setdiff1d(i, j, size=2, fill_value=7, assume_unique=True)
        jnp.setdiff1d(v, w)
        jnp.trim_zeros(v)
        jnp.vander(v)
        jnp.vander(v, 2, increasing=True)
        jnp.all(b, axis=0)
        jnp.allclose(x, y)
        jnp.amax(x, axis=1)
        jnp.amin(x, axis=(0, 1), keepdims=True)
        jnp.angle(z)
        jnp.any(b, axis=-1)
        jnp.append(v, w)
        jnp.arange(5)
        jnp.arange(0.0, 1.0, 0.25)
        jnp.argmax(x, axis=1)
        jnp.argmin(x)
        jnp.argpartition(x, 1)
        jnp.argsort(x)
        jnp.array([s, 1.0])
        jnp.array([[1, 2], [3, 4]])
        jnp.array_equal(x, y)
        jnp.array_equiv(x, v)
        jnp.array_split(v, 2)
        jnp.asarray(x)
        jnp.astype(x, "int32")
        jnp.atleast_1d(s)
        jnp.atleast_2d(v)
        jnp.atleast_3d(x)
        jnp.average(x, weights=y)
        jnp.bincount(i, length=4)
        jnp.block([[x, y], [y, x]])
        jnp.broadcast_arrays(x, v)
        jnp.broadcast_to(v, (2, 3))
        jnp.clip(x, 0, 1)
        jnp.column_stack((v, w))
        jnp.concat([x, y])
        jnp.concatenate([x, y], axis=1)
        jnp.convolve(v, w)
        jnp.copy(x)
        jnp.corrcoef(x)
        jnp.correlate(v, w)
        jnp.count_nonzero(x)
        jnp.cov(x)
        jnp.cross(v, w)
        jnp.cumprod(x, axis=1)
        jnp.cumsum(x)
        jnp.cumulative_sum(v, include_initial=True)
        jnp.diag(v)
        jnp.diag(q)
        jnp.diag_indices(3)
        jnp.diag_indices_from(q)
        jnp.diagflat(v)
        jnp.diagonal(x)
        jnp.diagonal(q)
        jnp.diagonal(q, 1)
        jnp.diff(x, axis=1)
        jnp.digitize(x, v)
        jnp.dot(x, v)
        jnp.dsplit(jnp.ones((2, 2, 4)), 2)
        jnp.dstack([x, y])
        jnp.ediff1d(v)
        jnp.einsum("ij,kj->ik", x, y)
        jnp.einsum_path("ij,kj,kl", x, y, y)[0]
        jnp.empty((2, 3))
        jnp.empty_like(x)
        jnp.expand_dims(x, (0, 2))
        jnp.eye(3, 4, k=1)
        jnp.fill_diagonal(q, 0.0, inplace=False)
        jnp.flatnonzero(x, size=4)
        jnp.flip(x, 0)
        jnp.fliplr(x)
        jnp.flipud(x)
        jnp.full((2, 3), 1.5)
        jnp.full_like(x, 2)
        jnp.gcd(i, 6)
        jnp.geomspace(1.0, 8.0, 4)
        jnp.gradient(v)
        jnp.i0(x)
        jnp.unwrap(v)
        jnp.unwrap(jnp.cumsum(x, 1) * 9, 2.0, axis=0, period=3.0)
        jnp.nanmedian(jnp.where(b, x, jnp.nan), axis=1)
        jnp.nanquantile(jnp.where(b, x, jnp.nan), jnp.array([0.1, 0.5]), axis=0)
        jnp.nanquantile(x, 0.3, keepdims=True, method="lower")
        jnp.nanquantile(jnp.where(b, x, jnp.nan), 0.3, axis=1, method="inverted_cdf", keepdims=True)
        jnp.nanpercentile(jnp.where(b, x, jnp.nan), 30, axis=(0, 1), method="nearest")
        jnp.intersect1d(i, j, size=3, fill_value=-1)
        jnp.intersect1d(i, j, size=3, return_indices=True)
        jnp.intersect1d(v, w, size=2, assume_unique=True, return_indices=True)
        jnp.setxor1d(i, j, size=4)
        jnp.setxor1d(v, w, True, size=4, fill_value=0)
        jnp.unique_all(i, size=3)
        jnp.unique_counts(j, size=4, fill_value=9)
        jnp.unique_inverse(j, size=4)
        jnp.unique_values(v, size=3)
        jnp.sort_complex(x)
        jnp.sort_complex(z)
        jnp.mask_indices(3, jnp.triu, 1, size=3)
        jnp.cumulative_prod(v)
        jnp.cumulative_prod(x, axis=1, include_initial=True)
        jnp.histogram2d(v, w, 3)
        jnp.histogramdd(x.T, [2, 3], density=True, weights=v)
        jnp.matvec(x, v)
        jnp.vecmat(v, q)
        jnp.put(x, i, v, inplace=False)
        jnp.put(x, j, v, mode="clip", inplace=False)
        jnp.put(x, j, v, mode="wrap", inplace=False)
        jnp.place(x, b, v, inplace=False)
        jnp.put_along_axis(x, j, y, axis=1, inplace=False)
        jnp.put_along_axis(x, i, s, axis=None, inplace=False)
        jnp.extract(b, x, size=4)
        jnp.packbits(b)
        jnp.packbits(j, axis=0, bitorder="little")
        jnp.unpackbits(j.astype("uint8"), axis=1, count=12)
        jnp.unpackbits(i.astype("uint8"), bitorder="little", count=20)
        jnp.blackman(5)
        jnp.bartlett(5)
        jnp.hamming(5)
        jnp.hanning(5)
        jnp.kaiser(5, s)
        kaiser: jnp.kaiser(1, s)
        jnp.histogram(v, bins=3)
        jnp.histogram_bin_edges(v, bins=3)
        jnp.hsplit(x, 3)
        jnp.hstack([x, y])
        jnp.identity(3)
        jnp.indices((2, 3))
        jnp.inner(v, w)
        jnp.interp(v, jnp.arange(3.0), w)
        jnp.isclose(x, y)
        jnp.iscomplex(z)
        jnp.isin(i, jnp.array([1, 2]))
        jnp.isreal(z)
        jnp.ix_(i, i)
        jnp.kron(v, w)
        jnp.lcm(i, 6)
        jnp.lexsort((v, w))
        jnp.linspace(0.0, 1.0, 5)
        jnp.logspace(0.0, 1.0, 3)
        jnp.matmul(x, q)
        jnp.matrix_transpose(x)
        jnp.max(x, axis=0)
        jnp.mean(x, axis=1, where=b)
        jnp.median(x, axis=1)
        frompyfunc: jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1)(v, w)
        ufunc: jnp.add.reduce(x, axis=1)
        jnp.meshgrid(v, w)
        jnp.min(x, initial=0.0)
        jnp.moveaxis(x, 0, -1)
        jnp.nanargmax(x, axis=1)
        jnp.nanargmin(x, axis=0)
        jnp.nancumprod(v)
        jnp.nancumsum(v)
        jnp.nanmax(x)
        jnp.nanmean(x, axis=0)
        jnp.nanmin(x)
        jnp.nanprod(x)
        jnp.nanstd(x, axis=1)
        jnp.nansum(x)
        jnp.nanvar(x)
        jnp.nonzero(x, size=3)
        jnp.ones((2, 3), "int32")
        jnp.ones_like(x)
        jnp.outer(v, w)
        jnp.pad(x, ((0, 0), (1, 2)), mode="reflect")
        jnp.pad(v, 2)
        jnp.pad(x, ((1, 0), (0, 2)), mode="edge")
        jnp.partition(x, 0, axis=0)
        jnp.percentile(x, 30.0)
        jnp.permute_dims(x, (1, 0))
        jnp.polyval(v, w)
        jnp.prod(x, axis=1)
        jnp.ptp(x, axis=0)
        jnp.quantile(x, 0.25, axis=1)
        jnp.ravel(x)
        jnp.repeat(v, 2)
        jnp.reshape(x, (3, -1))
        jnp.resize(v, (2, 2))
        jnp.roll(x, 1, axis=1)
        jnp.rollaxis(x, 1)
        jnp.rot90(x)
        jnp.searchsorted(jnp.arange(3.0), v)
        jnp.select([x > 1, x > 0], [x, y], 0)
        jnp.sort(x, axis=0)
        jnp.split(v, 3)
        jnp.squeeze(x[None])
        jnp.stack([x, y], axis=1)
        jnp.std(x, axis=0, ddof=1)
        jnp.sum(x, axis=(0, 1))
        jnp.swapaxes(x, 0, 1)
        jnp.take(x, i, axis=1)
        jnp.take_along_axis(x, j % 3, axis=1)
        jnp.tensordot(x, y, axes=((1,), (1,)))
        jnp.tile(x, (2, 1))
        jnp.trace(q)
        jnp.transpose(x)
        jnp.trapezoid(v)
        jnp.tri(3)
        jnp.tril(q)
        jnp.tril_indices(3)
        jnp.tril_indices_from(q)
        jnp.triu(q, 1)
        jnp.triu_indices(3)
        jnp.triu_indices_from(q)
        jnp.union1d(i, i, size=4)
        jnp.unravel_index(i, (2, 2))
        jnp.unstack(x)
        jnp.var(x, axis=1)
        jnp.piecewise(x, [x < 0, x > 9], [lambda a: -a, 9, lambda a: a])
        jnp.vectorize(lambda a, b: a * b.sum(), signature="(n),(n)->(n)")(x, v)
        jnp.vdot(v, w)
        jnp.vecdot(x, y)
        jnp.vsplit(x, 2)
        jnp.vstack([v, w])
        jnp.where(b, x, 0.0)
        jnp.zeros(3)
        jnp.zeros_like(x)
        jnp.float32(i)
        jnp.float16(x)
        jnp.bfloat16(x)
        jnp.float64(1.5)
        jnp.int8(i)
        jnp.int16(i)
        jnp.int32(x)
        jnp.int64(i)
        jnp.uint8(i)
        jnp.uint16(i)
        jnp.uint32(i)
        jnp.uint64(i)
        jnp.complex64(x)
        jnp.complex128(x)
        jnp.bool_(x)
        jnp.float8_e4m3fn(x)
        jnp.float8_e5m2(x)
        jnp.int4(i)
        jnp.uint4(i)
        jnp.mgrid[0:2, 0:3]
        jnp.r_[v, 0, 1:4]
        jnp.c_[v, w]
        jnp.ogrid[0:2, 0:3]
    """,
    "jnp.linalg": """
        jnp.linalg.norm(x)
        jnp.linalg.norm(x, axis=1, ord=1)
        jnp.linalg.norm(q, ord="fro")
        jnp.linalg.norm(q, ord=jnp.inf)
        jnp.linalg.vector_norm(v, ord=3)
        jnp.linalg.cross(v, w)
        jnp.linalg.diagonal(x)
        jnp.linalg.matmul(x, q)
        jnp.linalg.matrix_norm(x)
        jnp.linalg.matrix_transpose(x)
        jnp.linalg.outer(v, w)
        jnp.linalg.tensordot(x, y, axes=((1,), (1,)))
        jnp.linalg.trace(q)
        jnp.linalg.vecdot(x, y)
        jnp.linalg.cholesky(q)
        jnp.linalg.cond(q)
        jnp.linalg.det(q)
        jnp.linalg.eig(q)
        jnp.linalg.eigh(q)
        jnp.linalg.eigvals(q)
        jnp.linalg.eigvalsh(q)
        jnp.linalg.inv(q)
        jnp.linalg.lstsq(q, v)
        jnp.linalg.matrix_power(q, 3)
        jnp.linalg.matrix_rank(q)
        jnp.linalg.multi_dot([q, q])
        jnp.linalg.norm(x, ord="nuc")
        jnp.linalg.pinv(x)
        jnp.linalg.qr(x)
        jnp.linalg.slogdet(q)
        jnp.linalg.solve(q, v)
        jnp.linalg.svd(x)
        jnp.linalg.svdvals(x)
        jnp.linalg.tensorinv(q, 1)
        jnp.linalg.tensorsolve(q, v)
    """,
    "jnp.fft": """
        jnp.fft.fft(x)
        jnp.fft.ifft(x, axis=0)
        jnp.fft.rfft(x, 5, norm="ortho")
        jnp.fft.irfft(x)
        jnp.fft.fft2(x)
        jnp.fft.ifft2(x)
        jnp.fft.rfft2(x)
        jnp.fft.irfft2(x)
        jnp.fft.fftn(x)
        jnp.fft.ifftn(x)
        jnp.fft.rfftn(x)
        jnp.fft.irfftn(x)
        jnp.fft.hfft(x)
        jnp.fft.ihfft(x)
        jnp.fft.fftfreq(5)
        jnp.fft.rfftfreq(5)
        jnp.fft.fftshift(x)
        jnp.fft.ifftshift(x)
    """,
    "lax.linalg": """
        lax.linalg.cholesky(q)
        lax.linalg.eig(q)
        lax.linalg.eigh(q)
        lax.linalg.householder_product(q, v)
        lax.linalg.lu(q)
        lax.linalg.lu_pivots_to_permutation(i, 4)
        lax.linalg.schur(q)
        lax.linalg.hessenberg(q)
        lax.linalg.tridiagonal_solve(v, w, v, x.T)
        lax.linalg.tridiagonal(q)
        lax.linalg.symmetric_product(x, q[:2, :2])
        lax.linalg.cholesky_update(q, v)
        lax.linalg.ormqr(q, v, q)
        lax.linalg.qr(q)
        lax.linalg.svd(q)
        lax.linalg.triangular_solve(q, x)
    """,
    "special": """
        special.polygamma(i, v)
        special.expn(2, jnp.abs(v))
        special.comb(y, x)
        special.comb(3, i, repetition=True)
        special.multigammaln(y, 2)
        special.gammainc(y, y)
        special.gammaincc(y, y)
        special.betainc(y, y, 0.25)
        special.beta(y, y)
        special.logsumexp(x, axis=1)
        special.softmax(x, axis=1)
        special.log_softmax(x, axis=1)
        special.bernoulli(5)
        special.bessel_jn(y, v=3)
        special.dawsn(y)
        special.erfcx(y)
        special.fresnel(y)
        special.hyp1f1(y, y, y)
        special.hyp2f1(y, y, y, 0.25)
        special.owens_t(y, y)
        special.poch(y, y)
        special.sici(y)
        special.spence(y)
        special.sph_harm_y(i, i, i / 2, 0.5, n_max=2)
        special.wofz(y)
        special.log_ndtr(x)
        special.ndtr(x)
        special.ndtri(x)
    """,
    "iterative": """
        iterative.cg(q, v)
        iterative.cg(lambda a: q @ a, v, w, tol=1e-3, maxiter=2, M=lambda a: a / 2)
        iterative.cg(x, v)
        iterative.cg(q, v, x)
        iterative.bicgstab(q, v)
        iterative.bicgstab(q, v, w, atol=1e-3, maxiter=2, M=q)
        iterative.gmres(q, v)
        iterative.gmres(q, v, restart=2, solve_method="incremental")
    """,
    "ndimage": """
        ndimage.map_coordinates(x, [v, w], 1)
        ndimage.map_coordinates(x, [y, y], 1, mode="nearest")
        ndimage.map_coordinates(x, [v, w], 0, "wrap")
        ndimage.map_coordinates(x, [v, w], 1, "mirror")
        ndimage.map_coordinates(x, [v, w], 1, "reflect", cval=2)
        ndimage.map_coordinates(j, [v, w], 1, cval=2)
        ndimage.map_coordinates(x, [v], 1)
        ndimage.map_coordinates(x, [v, w], 2)
    """,
    "cosine": """
        cosine.dct(x)
        cosine.dct(x, axis=0, n=4, norm="ortho")
        cosine.dct(x, type=3)
        cosine.dctn(x)
        cosine.dctn(x, s=(3, 4), norm="ortho")
        cosine.dctn(img, axes=(0, 1, 2, 3))
        cosine.idct(x)
        cosine.idct(x, axis=0, norm="ortho")
        cosine.idctn(x)
        cosine.idctn(x, s=(1, 2, 3))
    """,
    "signal": """
        signal.convolve(x, y)
        signal.convolve(x, q[:2], mode="same")
        signal.convolve(v, w[:2], mode="valid", method="fft")
        signal.convolve2d(q, x[:, :2], mode="same")
        signal.correlate(v, w, mode="same")
        signal.correlate2d(q, x[:, :2])
        signal.correlate2d(x[:, :2], q)
        signal.correlate2d(x[:, :2], q, mode="valid")
        signal.correlate2d(q, x[:, :2], mode="same")
        signal.fftconvolve(x, y)
        signal.fftconvolve(x, y, mode="same", axes=1)
        signal.detrend(x)
        signal.detrend(x, axis=0, type="constant")
        signal.detrend(jnp.tile(v, 3), bp=[4])
        signal.stft(jnp.tile(v, 7), nperseg=8)
        signal.stft(jnp.tile(x, 7), 2.0, nperseg=6, noverlap=2, nfft=8, boundary="even", detrend="linear")
        signal.csd(jnp.tile(v, 7), jnp.tile(w, 6), nperseg=8, average="median")
        signal.welch(jnp.tile(v, 7), nperseg=8, scaling="spectrum")
        signal.welch(jnp.tile(x.T, (7, 1)), 3.0, nperseg=6, axis=0, average="median", detrend=False)
        signal.istft(z, nperseg=2)
        signal.istft(signal.stft(jnp.tile(x, 7), nperseg=6)[2], nperseg=6)
    """,
    "integrate": """
        integrate.trapezoid(x)
        integrate.trapezoid(x, y, axis=0)
        integrate.trapezoid(v, dx=0.5)
    """,
    "optimize": """
        optimize.minimize(lambda a: ((a - 1) ** 2 * w).sum(), jnp.abs(v), method="BFGS", options={"maxiter": 3})
        optimize.minimize(lambda a: ((a**2 - 1) ** 2).sum(), v, method="l-bfgs-experimental-do-not-rely-on-this", options={"maxiter": 3})
    """,
    "sla": """
        sla.cholesky(q)
        sla.cholesky(q, lower=True)
        sla.cho_factor(q)[0]
        sla.cho_solve((q, True), v)
        sla.cho_solve((q, False), x.T)
        sla.lu_factor(q)
        sla.lu_solve((q, i), v)
        sla.lu_solve((q, i), x.T, trans=1)
        sla.lu(x)
        sla.lu(q, permute_l=True)
        sla.qr(x)
        sla.qr(x, mode="economic")
        sla.qr(x, mode="r", pivoting=True)
        sla.qr(x, mode="raw")
        sla.svd(x)
        sla.svd(x, full_matrices=False)
        sla.svd(x, compute_uv=False)
        sla.eigh(q, lower=False)
        sla.eigh(q, eigvals_only=True)
        sla.eigh(q, q)
        sla.solve(q, v)
        sla.solve(q, x.T, assume_a="pos")
        sla.solve(q, v, assume_a="pos", lower=True)
        sla.solve(q, v, assume_a="many")
        sla.solve_triangular(q, v)
        sla.solve_triangular(q, x.T, trans="C", lower=True, unit_diagonal=True)
        sla.solve_triangular(q, v, trans=3)
        sla.inv(q)
        sla.det(q)
        sla.expm(q)
        sla.expm(jnp.stack([q, q + 1]), upper_triangular=True, max_squarings=4)
        sla.expm_frechet(q, q + 1)
        sla.expm_frechet(q, v, compute_expm=False)
        sla.schur(q)
        sla.schur(q, output="complex")
        sla.rsf2csf(q, q)
        sla.hessenberg(q)
        sla.hessenberg(q, calc_q=True)
        sla.sqrtm(q)
        sla.funm(q, jnp.sin)
        sla.qr_multiply(q, v)
        sla.solve_sylvester(q, q, q)
        sla.eigh_tridiagonal(v, v[1:], eigvals_only=True)
        sla.polar(q)
        sla.polar(q, method="svd")
        sla.block_diag(x, v, s)
        sla.block_diag()
        sla.toeplitz(v)
        sla.toeplitz(v, x)
        sla.hankel(v)
        sla.hankel(v, x)
        sla.circulant(x)
        sla.convolution_matrix(v, 4)
        sla.convolution_matrix(x, 2, mode="same")
        sla.leslie(v, w[:2])
        sla.leslie(v, w)
        sla.companion(x)
        sla.fiedler(x)
        sla.fiedler_companion(jnp.concatenate([x, x], 1))
        sla.hilbert(3)
        sla.invhilbert(3)
        sla.pascal(3)
        sla.pascal(4, "upper")
        sla.invpascal(3)
        sla.invpascal(3, kind="lower")
        sla.helmert(3)
        sla.helmert(3, full=True)
        sla.hadamard(4)
        sla.hadamard(3)
        sla.dft(3)
        sla.dft(3, scale="sqrtn")
    """,
    "norm": """
        norm.cdf(x)
        norm.isf(x, 0.5, y)
        norm.logcdf(x)
        norm.logpdf(x, 0.5, y)
        norm.logsf(x)
        norm.pdf(x)
        norm.ppf(x, 0.5, y)
        norm.sf(x)
    """,
    "ops": """
        ops.segment_max(v, i, 3)
        ops.segment_min(v, i, 3)
        ops.segment_prod(v, i, 3)
        ops.segment_sum(v, i, 3)
        ops.segment_sum(v, i, 3, bucket_size=2)
    """,
    "lax": """
        lax.rng_bit_generator(j.astype("uint32").reshape(6)[:4], (3,))
        after_all: [lax.after_all(lax.create_token()), x][1]
        lax.argmax(x, 1, "int32")
        lax.argmin(x, 0, "int32")
        lax.associative_scan(lax.add, v)
        lax.associative_scan(lambda a, b: a * b, x, axis=1, reverse=True)
        lax.batch_matmul(jnp.stack([q, q]), jnp.stack([q, q]))
        lax.bitcast_convert_type(x, "int32")
        lax.broadcast(v, (2,))
        lax.broadcast_in_dim(v, (2, 3), (1,))
        lax.broadcast_like(v, x)
        lax.broadcast_to_rank(v, 2)
        lax.broadcasted_iota("int32", (2, 3), 1)
        lax.clamp(0.0, x, 1.0)
        lax.collapse(x, 0, 2)
        lax.concatenate([x, y], 1)
        lax.cond(s > 0, lambda a: a + 1, lambda a: -a, x)
        lax.conv(img, ker, (1, 1), "SAME")
        lax.conv_general_dilated(img, ker, (2, 2), "VALID")
        lax.conv_transpose(img, ker, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        lax.conv_with_general_padding(img, ker, (1, 1), ((1, 1), (0, 0)), (1, 1), (1, 1))
        lax.convert_element_type(x, "int32")
        [lax.create_token(), x][1]
        lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 1), "SAME")
        lax.reduce_window(x, 1.0, mul, (2, 2))
        lax.cumlogsumexp(x, 1)
        lax.cummax(x, 1)
        lax.cummin(x, 0, reverse=True)
        lax.cumprod(x, 1)
        lax.cumsum(x, 1)
        lax.dot(v, w)
        lax.dot_general(x, y, (((1,), (1,)), ((), ())))
        lax.dynamic_index_in_dim(x, n, 0, keepdims=False)
        lax.dynamic_slice(x, (n, 0), (1, 2))
        lax.dynamic_slice_in_dim(x, n, 1)
        lax.dynamic_update_index_in_dim(x, v, n, 0)
        lax.dynamic_update_slice(x, y[:1], (n, 0))
        lax.dynamic_update_slice_in_dim(x, y[:1], n, 0)
        lax.empty((2,), "float32")
        lax.expand_dims(x, (0,))
        lax.bessel_i0e(x)
        lax.betainc(y, y, y / 8)
        lax.igamma(x, x)
        lax.igammac(x, x)
        lax.igamma_grad_a(x, x)
        lax.fft(x, "FFT", (4,))
        lax.fft(x, lax.FftType.RFFT, (4,))
        lax.custom_linear_solve(lambda a: 2 * a, x, lambda f, b: b / 2, symmetric=True)
        lax.custom_root(lambda a: a * a - s, s, lambda f, a: jnp.sqrt(s), lambda g, b: b / g(1.0))
        lax.fori_loop(0, 3, lambda k, a: a * 2, s)
        lax.fori_loop(0, n, lambda k, a: a + k, s)
        lax.full((2, 3), 1.5)
        lax.full_like(x, 2)
        lax.gather(x, i[:, None] % 2, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3))
        lax.index_in_dim(x, 1)
        lax.index_take(x, (i - 1,), (1,))
        lax.integer_pow(x, 3)
        lax.iota("int32", 4)
        lax.map(lambda a: a * 2, x)
        lax.mul(x, j, out_dtype="bfloat16")
        lax.map(lambda a: a.sum(), x, batch_size=2)
        all_gather: jax.vmap(lambda a: lax.all_gather(a, "i", axis=1), axis_name="i")(q)
        all_to_all: jax.vmap(lambda a: lax.all_to_all(a, "i", 0, 0, tiled=True), axis_name="i")(q)
        axis_index: jax.vmap(lambda a: a * lax.axis_index("i"), axis_name="i")(x)
        pswapaxes: jax.vmap(lambda a: lax.pswapaxes(a, "i", 0), axis_name="i")(q)
        axis_size: jax.vmap(lambda a: a * lax.axis_size("i"), axis_name="i")(x)
        pbroadcast: jax.vmap(lambda a: lax.pbroadcast(v, "i", 1), axis_name="i")(q)
        pmax: jax.vmap(lambda a: a - lax.pmax(a, "i"), axis_name="i")(x)
        pmean: jax.vmap(lambda a: lax.pmean(a, "i"), axis_name="i")(x)
        pmin: jax.vmap(lambda a: lax.pmin(a, "i"), axis_name="i", in_axes=-1)(x)
        ppermute: jax.vmap(lambda a: lax.ppermute(a, "i", [(0, 1), (1, 0)]), axis_name="i")(x)
        pshuffle: jax.vmap(lambda a: lax.pshuffle(a, "i", [1, 0]), axis_name="i")(x)
        psum: jax.vmap(lambda a: lax.psum(a, "i"), axis_name="i")(x)
        psum_scatter: jax.vmap(lambda a: lax.psum_scatter(a, "i"), axis_name="i")(q)
        lax.dce_sink((x, s))
        lax.optimization_barrier((x, y))
        lax.pad(x, 0.0, ((1, 0, 1), (0, 1, 0)))
        lax.reduce(x, 0.0, lax.add, (0,))
        lax.reduce(x, 1.0, lambda a, b: a * b + 0 * a, (1,))
        lax.reduce_and(b, (0,))
        lax.reduce_max(x, (0,))
        lax.reduce_min(x, (1,))
        lax.reduce_or(b, (0,))
        lax.reduce_precision(x, 5, 10)
        lax.reduce_prod(x, (0,))
        lax.reduce_sum(x, (0, 1))
        lax.reduce_xor(j, (0,))
        lax.reshape(x, (6,))
        lax.rev(x, (1,))
        lax.scan(lambda a, e: (a + e, a * e), s, v)
        lax.scan(lambda a, _: (a * 2, None), s, None, length=3, reverse=True, unroll=2)
        lax.scatter(v, i[:1, None], w[:1], lax.ScatterDimensionNumbers((), (0,), (0,)))
        lax.scatter_add(v, i[:1, None], w[:1], lax.ScatterDimensionNumbers((), (0,), (0,)))
        lax.scatter_apply(v, i[:1, None], jnp.sin, lax.ScatterDimensionNumbers((), (0,), (0,)))
        lax.scatter_max(v, i[:1, None], w[:1], lax.ScatterDimensionNumbers((), (0,), (0,)))
        lax.scatter_min(v, i[:1, None], w[:1], lax.ScatterDimensionNumbers((), (0,), (0,)))
        lax.scatter_mul(v, i[:1, None], w[:1], lax.ScatterDimensionNumbers((), (0,), (0,)))
        lax.scatter_sub(v, i[:1, None], w[:1], lax.ScatterDimensionNumbers((), (0,), (0,)))
        lax.select(b, x, y)
        lax.select_n(b, x, y)
        lax.shape_as_value((2, 3))
        lax.slice(x, (0, 1), (2, 3))
        lax.slice_in_dim(x, 0, 3, 2, axis=1)
        lax.sort(x, dimension=1)
        lax.sort_key_val(v, w)
        lax.split(v, (1, 2))
        lax.platform_dependent(x, y, tpu=lambda a, b: b, default=lambda a, b: a)
        lax.squeeze(x[None], (0,))
        lax.stack([x, y])
        lax.stage(x)
        lax.switch(n, [lambda a: a, lambda a: a + 1, lambda a: a * 2], x)
        lax.tile(v, (2,))
        lax.top_k(x, 2)
        lax.approx_max_k(x, 2)
        lax.approx_min_k(x, 2)
        lax.transpose(x, (1, 0))
        lax.unstack(x)
        lax.while_loop(lambda a: a < 10, lambda a: a * 2, s)
    """,
    "nn": """
        nn.dot_product_attention(img[0], img[0], img[0], is_causal=True)
        nn.one_hot(i, 4)
    """,
    "nn.initializers": """
        nn.initializers.orthogonal(2.0)(key, (3, 2))
        nn.initializers.delta_orthogonal()(key, (3, 2, 2))
        nn.initializers.constant(3.0)(key, (2, 3))
        nn.initializers.glorot_normal()(key, (2, 3))
        nn.initializers.glorot_uniform()(key, (2, 3))
        nn.initializers.he_normal()(key, (2, 3))
        nn.initializers.he_uniform()(key, (2, 3))
        nn.initializers.kaiming_normal()(key, (2, 3))
        nn.initializers.kaiming_uniform()(key, (2, 3))
        nn.initializers.lecun_normal()(key, (2, 3))
        nn.initializers.lecun_uniform()(key, (2, 3))
        nn.initializers.normal()(key, (2, 3))
        nn.initializers.ones(key, (2, 3))
        nn.initializers.truncated_normal()(key, (2, 3))
        nn.initializers.uniform()(key, (2, 3))
        nn.initializers.variance_scaling(2.0, "fan_in", "normal")(key, (2, 3))
        nn.initializers.xavier_normal()(key, (2, 3))
        nn.initializers.xavier_uniform()(key, (2, 3))
        nn.initializers.zeros(key, (2, 3))
    """,
    "random": """
        random.PRNGKey(3)
        random.ball(key, 3)
        random.binomial(key, 10, 0.3, (3,))
        random.dirichlet(key, jnp.abs(v), (3,))
        random.multinomial(key, 10, jnp.array([0.25, 0.75]))
        random.multivariate_normal(key, v[:2], jnp.eye(2))
        random.orthogonal(key, 3)
        random.bernoulli(key, 0.3, (3,))
        random.beta(key, 2.0, 3.0, (3,))
        random.bits(key, (3,))
        random.categorical(key, x)
        random.cauchy(key, (3,))
        random.chisquare(key, 3.0, (3,))
        random.choice(key, v, (4,))
        random.choice(key, 5, (3,), replace=False)
        random.clone(key)
        random.double_sided_maxwell(key, 0.0, 1.0, (3,))
        random.exponential(key, (3,))
        random.f(key, 2.0, 3.0, (3,))
        random.fold_in(key, 7)
        random.gamma(key, 2.0, (3,))
        random.generalized_normal(key, 2.0, (3,))
        random.geometric(key, 0.3, (3,))
        random.gumbel(key, (3,))
        random.key(3)
        random.key_data(key)
        random.laplace(key, (3,))
        random.loggamma(key, 2.0, (3,))
        random.logistic(key, (3,))
        random.lognormal(key, shape=(3,))
        random.maxwell(key, (3,))
        random.normal(key, (3,))
        random.pareto(key, 2.0, (3,))
        random.permutation(key, v)
        random.permutation(key, 5)
        random.poisson(key, 3.0, (3,))
        random.rademacher(key, (3,))
        random.randint(key, (3,), 0, 10)
        random.rayleigh(key, 2.0, (3,))
        random.split(key, 3)
        random.t(key, 3.0, (3,))
        random.triangular(key, 0.0, 0.5, 1.0, (3,))
        random.truncated_normal(key, -1.0, 2.0, (3,))
        random.uniform(key, (3,), minval=-1.0)
        random.wald(key, 2.0, (3,))
        random.weibull_min(key, 2.0, 3.0, (3,))
        random.wrap_key_data(random.key_data(key))
    """,
    "flatten_util": """
        flatten_util.ravel_pytree({"a": x, "b": i})[0]
        flatten_util.ravel_pytree({"a": x, "b": [y, v]})[1](jnp.arange(15.0))
    """,
    "": """
        jax.device_put(np.arange(3), jax.devices()[0])
        jax.device_put({"a": x, "b": (s, 1)}, jax.devices()[0])
        jax.grad(lambda a: jax.device_put(a).sum())(x)
        jax.jit(lambda a: a * 2)(x)
        jax.jit(lambda a, k: a * k, static_argnums=1)(x, 3)
        jax.jit(lambda a: a + 1, inline=True)(x)
        [f := jax.custom_jvp(lambda a: jnp.sin(a)), f.defjvp(lambda p, t: (p[0], t[0])), f(x)][2]
        within(jax.named_scope("scope"), lambda: x + 1)
        jax.named_call(lambda x: x + 1, name="scope")(x)
        jax.pure_callback(np.sin, jax.ShapeDtypeStruct((3,), "float32"), v)
        jax.grad(lambda a: (a * a).sum())(x)
        jax.jvp(lambda a: a * a, (v,), (w,))
        jax.linear_transpose(lambda a: a * 2, v)(w)
        jax.linearize(lambda a: a * a, v)[1](w)
        jax.value_and_grad(lambda a: (a * a).sum())(x)
        jax.vjp(lambda a: a * a, v)[1](w)
        jax.vmap(lambda a: a * 2 + a.sum())(x)
        jax.vmap(lambda a, b: a @ b, in_axes=(0, None), out_axes=-1)(x, v)
        jax.vmap(lambda a: jax.vmap(lambda b: a[b])(i), 1)(y)
        jax.block_until_ready(x)
    """,
    "debug": """
        [debug.print("{}", 1), x][1]
        [debug.print("{a}", a=x.sum(), ordered=True), x][1]
        [debug.callback(lambda a: None, x), x][1]
    """,
    "Array and Tracer": """
        x.T
        x.mT
        x.all()
        x.any(axis=0)
        x.argmax(axis=1)
        x.argmin()
        x.argpartition(1)
        x.argsort()
        x.astype("int32")
        x.at[0].set(1.0)
        x.at[0, 1].add(2.0)
        x.at[:, 1].subtract(2.0)
        x.at[i % 2].multiply(2.0)
        x.at[0].divide(2.0)
        x.at[0].power(2.0)
        x.at[b].min(0.0)
        x.at[0].max(0.0)
        x.at[0].apply(jnp.sin)
        x.at[i].get(mode="fill", fill_value=0)
        v.at[7].set(1.0, mode="drop")
        x.byteswap()
        i.choose([v, w, v], mode="clip")
        x.clip(0, 1)
        x.compress(b[0], axis=1, size=2)
        z.conj()
        x.copy()
        x.cumprod(axis=1)
        x.cumsum()
        x.diagonal()
        x.dot(v)
        x.flatten()
        x.imag
        z.imag
        x.max(axis=0)
        x.mean()
        x.min(axis=1, keepdims=True)
        x.nonzero(size=3)
        x.prod()
        x.ptp()
        x.ravel()
        x.real
        v.repeat(2)
        x.reshape(3, 2)
        x.round(1)
        v.searchsorted(w)
        x.sort()
        x[None].squeeze()
        x.std()
        x.sum(axis=1)
        x.swapaxes(0, 1)
        x.take(i)
        q.trace()
        x.transpose()
        x.var()
        x.view("int32")
        x[0]
        x[-1, ::2]
        x[..., None]
        x[:, i]
        x[n]
        x[0, 1:n.shape[0] if n.ndim else 2]
        x[i[:2] % 2, i[:2]]
        [*x]
        len(x) * x
        x + 1
        1 + x
        x - y
        2 - x
        x * 2.5
        x / 2
        2 / x
        x // 2
        3 // x
        x % 2
        3 % x
        divmod(x, 2)
        x**2
        x**0.5
        2**x
        x @ q
        v @ w
        -x
        +x
        abs(x)
        x == y
        x != y
        x < y
        x <= y
        x > y
        x >= y
        ~i
        i & 1
        1 | i
        i ^ i
        i << 1
        i >> 1
        1 << i
        round(x)
    """,
}

# These samples return plain data, or raise an error, and record no program.
ANSWERS = {
    "lax.linalg": """
        qdwh: [jnp.round(each, 4) for each in lax.linalg.qdwh(jnp.array([[2.0, 1.0], [1.0, 3.0]]))[:2]]
        lax.linalg.EigImplementation.LAPACK.value
        lax.linalg.EighImplementation.QR.value
        lax.linalg.SvdAlgorithm.QR.value
    """,
    "jnp": """
        jnp.argwhere(jnp.arange(3))
        jnp.array_repr(np.arange(3))
        jnp.array_str(np.arange(3))
        jnp.character
        jnp.flexible
        jnp.intersect1d(jnp.array([3, 1, 2, 2]), jnp.array([2, 3, 7]))
        jnp.intersect1d(jnp.array([3, 1, 2, 2]), jnp.array([2, 3, 7]), return_indices=True)
        jnp.iterable([1])
        jnp.mask_indices(3, jnp.tril)
        jnp.object_
        jnp.setxor1d(jnp.array([3, 1, 2, 2]), jnp.array([2, 3, 7]))
        jnp.extract(jnp.array([True, False]), jnp.arange(2))
        jnp.place(jnp.arange(3), jnp.array([True]), 1)
        jnp.put(jnp.arange(3), 1, 1)
        jnp.put_along_axis(jnp.arange(3), jnp.arange(3), 1, 0)
        jnp.unwrap(jnp.complex64(1))
        jnp.packbits(jnp.ones(3))
        jnp.i0(1j)
        jnp.histogramdd(jnp.ones((3, 2)), [3])
        jnp.cumulative_prod(jnp.ones((3, 2)))
        jnp.nanmedian(jnp.ones(2), overwrite_input=True)
        jnp.broadcast_shapes((2, 1), (3,))
        jnp.can_cast("int32", "float32")
        jnp.dtype("float32")
        jnp.e
        jnp.euler_gamma
        float(jnp.finfo("float32").eps)
        int(jnp.finfo("bfloat16").bits)
        jnp.finfo("float16").max
        jnp.get_printoptions()["precision"]
        jnp.iinfo("int8").max
        jnp.inf
        jnp.index_exp[1:2]
        jnp.s_[1:2]
        jnp.iscomplexobj(jnp.complex64(1))
        jnp.isdtype("float32", "integral")
        jnp.isrealobj(jnp.ones(1))
        jnp.isscalar(1.0)
        jnp.issubdtype("float32", jnp.floating)
        jnp.nan
        ndarray: isinstance(jnp.ones(1), jnp.ndarray)
        jnp.ndim(jnp.ones((2, 3)))
        jnp.newaxis
        jnp.pi
        jnp.printoptions(precision=2).__enter__()["precision"]
        jnp.promote_types("int32", "float16")
        jnp.result_type(1, jnp.float16)
        jnp.set_printoptions(precision=8)
        jnp.shape(jnp.ones((2, 3)))
        jnp.size(jnp.ones((2, 3)))
        jnp.unique(jnp.array([3, 1, 3]))
        jnp.from_dlpack(np.arange(3))
        jnp.frombuffer(bytes([1, 2]), "uint8")
        jnp.fromstring("1,2", sep=",")
        jnp.fromfile("name")
        jnp.fromiter([1])
        float4_e2m1fn: str(jnp.dtype(jnp.float4_e2m1fn))
        float6_e2m3fn: str(jnp.dtype(jnp.float6_e2m3fn))
        float6_e3m2fn: str(jnp.dtype(jnp.float6_e3m2fn))
        float8_e3m4: str(jnp.dtype(jnp.float8_e3m4))
        float8_e4m3: str(jnp.dtype(jnp.float8_e4m3))
        float8_e4m3b11fnuz: str(jnp.dtype(jnp.float8_e4m3b11fnuz))
        float8_e4m3fnuz: str(jnp.dtype(jnp.float8_e4m3fnuz))
        float8_e5m2fnuz: str(jnp.dtype(jnp.float8_e5m2fnuz))
        float8_e8m0fnu: str(jnp.dtype(jnp.float8_e8m0fnu))
        int1: str(jnp.dtype(jnp.int1))
        uint1: str(jnp.dtype(jnp.uint1))
        int2: str(jnp.dtype(jnp.int2))
        uint2: str(jnp.dtype(jnp.uint2))
        bool: str(jnp.dtype(jnp.bool))
        cdouble: str(jnp.dtype(jnp.cdouble))
        complex_: str(jnp.dtype(jnp.complex_))
        csingle: str(jnp.dtype(jnp.csingle))
        double: str(jnp.dtype(jnp.double))
        float_: str(jnp.dtype(jnp.float_))
        int_: str(jnp.dtype(jnp.int_))
        single: str(jnp.dtype(jnp.single))
        uint: str(jnp.dtype(jnp.uint))
        jnp.complexfloating
        jnp.floating
        jnp.generic
        jnp.ComplexWarning
        jnp.inexact
        jnp.integer
        jnp.number
        jnp.signedinteger
        jnp.unsignedinteger
    """,
    "lax": """
        lax.ragged_dot(jnp.arange(6.0).reshape(3, 2), jnp.ones((2, 2, 4)), jnp.array([1, 2]))
        lax.ragged_dot_general(jnp.ones(3), jnp.ones(3), jnp.array([1, 2]), lax.RaggedDotDimensionNumbers((([0], [0]), ([], [])), [0], []))
        RaggedDotDimensionNumbers: repr(lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0]))
        lax.pcast(1.0, (), to="varying")
        ConvGeneralDilatedDimensionNumbers: type(None) in lax.ConvGeneralDilatedDimensionNumbers.__args__
        PrecisionLike: lax.Precision.HIGHEST in [None, lax.Precision.HIGHEST]
        lax.reduce_window_shape_tuple((5, 6), (2, 2), (1, 2), ((0, 0), (1, 1)))
        lax.AccuracyMode.HIGHEST
        RandomAlgorithm: [str(each) for each in lax.RandomAlgorithm]
        lax.Precision.HIGHEST
        Tolerance: (lax.Tolerance(rtol=1e-3).rtol, lax.Tolerance(ulps=2).atol)
        lax.Tolerance()
        list(lax.RoundingMethod)
        [m.name for m in lax.GatherScatterMode]
        [m.name for m in lax.FftType]
        lax.ConvDimensionNumbers((0, 1), (0, 1), (0, 1))
        lax.GatherDimensionNumbers((0,), (), (0,))
        lax.ScatterDimensionNumbers((), (0,), (0,))
        lax.DotAlgorithmPreset.F32_F32_F32
        tuple(lax.DotAlgorithm(np.float32, np.float32, np.float32))
        lax.broadcast_shapes((2, 1), (3,))
        lax.conv_dimension_numbers((1, 1, 5, 5), (1, 1, 3, 3), None)
        lax.conv_general_permutations(("NCHW", "OIHW", "NCHW"))
        [int(d) for d in lax.conv_shape_tuple((1, 1, 5, 5), (1, 1, 3, 3), (1, 1), "SAME")]
        lax.dtype(1.0)
        lax.padtype_to_pads((5, 5), (3, 3), (1, 1), "SAME")
    """,
    "random": """
        str(random.key_impl(random.key(0)))
    """,
    "tree_util": """
        repr(tree_util.DictKey("a"))
        repr(tree_util.SequenceKey(0))
        repr(tree_util.GetAttrKey("a"))
        repr(tree_util.FlattenedIndexKey(0))
        tree_util.Partial(max, 1)(2)
        PyTreeDef: isinstance(tree_util.tree_structure(0), tree_util.PyTreeDef)
        tree_util.all_leaves([1, 2, None])
        tree_util.flatten_one_level({"a": 1, "b": (2,)})
        tree_util.flatten_one_level_with_keys([1, 2])
        tree_util.is_tree_node(tuple)
        tree_util.keystr((tree_util.DictKey("a"), tree_util.SequenceKey(0)))
        register_dataclass: tree_util.tree_leaves(tree_util.register_dataclass(new_dataclass(), ["a"], ["b"])(1, 2))
        [t := new_class(), tree_util.register_pytree_node(t, lambda o: ((1, 2), 3), t), tree_util.tree_leaves(t())][2]
        register_pytree_node_class: tree_util.tree_leaves(tree_util.register_pytree_node_class(new_class())())
        [t := new_class(), tree_util.register_pytree_with_keys(t, keyed, t), tree_util.tree_leaves_with_path(t())][2]
        register_pytree_with_keys_class: tree_util.tree_leaves_with_path(tree_util.register_pytree_with_keys_class(new_class())())
        register_static: tree_util.tree_leaves(tree_util.register_static(new_class())())
        tree_util.tree_all({"a": True, "b": 0})
        tree_util.tree_broadcast([1, 2], [[3, 4], 5])
        tree_util.tree_flatten({"b": (1, [2]), "a": None})
        tree_util.tree_flatten_with_path({"b": (1, [2]), "a": None})
        tree_util.tree_leaves([1, (2, {"c": 3})])
        tree_util.tree_leaves_with_path([1, (2, {"c": 3})])
        tree_util.tree_map(lambda a, b: a + b, {"a": 1}, {"a": 2})
        tree_util.tree_map(lambda a, b: a + b, {"a": 1}, {"b": 2})
        tree_util.tree_map_with_path(lambda p, a: (str(p), a), [1, (2,)])
        tree_util.tree_reduce(lambda a, b: a - b, [1, 2, 3])
        tree_util.tree_reduce_associative(lambda a, b: a + b, [1, 2, 3])
        str(tree_util.tree_structure({"b": (1, [2]), "a": None}))
        tree_util.tree_transpose(tree_util.tree_structure([0, 0]), tree_util.tree_structure((0, 0)), [(1, 2), (3, 4)])
        tree_util.tree_unflatten(tree_util.tree_structure((0, [0])), [1, 2])
        tree_util.tree_unflatten(tree_util.tree_structure((0, [0])), [1])
        [str(t) for t in tree_util.treedef_children(tree_util.tree_structure((0, [0])))]
        tree_util.treedef_is_leaf(tree_util.tree_structure(0))
        str(tree_util.treedef_tuple([tree_util.tree_structure(0), tree_util.tree_structure([0])]))
        tree_util.tree_structure((0, [0])).num_leaves
        tree_util.tree_structure((0, [0])).num_nodes
        tree_util.tree_structure((0, [0])).node_data()
        [str(t) for t in tree_util.tree_structure((0, [0])).children()]
        str(tree_util.tree_structure((0, [0])).compose(tree_util.tree_structure([0])))
        tree_util.tree_structure((0, [0])).flatten_up_to((1, [{"a": 2}]))
        tree_util.tree_structure((0, [0])).unflatten([1, 2])
    """,
    "tree": """
        tree.all([True, 1])
        tree.broadcast([1, 2], [[3, 4], 5])
        tree.flatten([1, (2, None)])
        tree.flatten_with_path([1, (2, None)])
        tree.leaves({"a": 1, "b": [2]})
        tree.leaves_with_path({"a": 1, "b": [2]})
        tree.map(lambda a: a + 1, {"a": 1, "b": [2]})
        tree.map_with_path(lambda p, a: (str(p), a), [1, (2,)])
        tree.reduce(lambda a, b: a - b, [1, 2, 3])
        tree.reduce_associative(lambda a, b: a + b, [1, 2, 3])
        str(tree.structure([1, (2, None)]))
        tree.transpose(tree.structure([0, 0]), tree.structure((0, 0)), [(1, 2), (3, 4)])
        tree.unflatten(tree.structure([0, 0]), [1, 2])
    """,
    "": """
        memory: [each.name for each in jax.memory.Space]
        jax.reshard((), ())
        Array: isinstance(jnp.ones(1), jax.Array)
        repr(jax.ShapeDtypeStruct((2, 3), "float32"))
        within(jax.check_tracer_leaks(), lambda: [kept := [], jax.jit(lambda a: kept.append(a))(1.0)])
        within(jax.checking_leaks(), lambda: [kept := [], jax.jit(lambda a: kept.append(a))(1.0)])
        clear_caches: [f := jax.jit(mul), f(1.0, 2.0), jax.clear_caches(), f._cache_size()][3]
        within(jax.debug_nans(True), lambda: jnp.log(-jnp.ones(1)))
        within(jax.debug_infs(True), lambda: jnp.log(jnp.zeros(1)))
        within(jax.no_execution(True), lambda: jax.jit(lambda a: a)(1.0))
        within(jax.no_tracing(True), lambda: jax.jit(lambda a: a)(1.0))
        within(jax.transfer_guard("disallow"), lambda: jnp.array([1.0]))
        within(jax.transfer_guard_device_to_device("disallow"), lambda: jnp.array([1.0]))
        within(jax.transfer_guard_device_to_host("disallow"), lambda: jax.device_get(jnp.ones(2)))
        within(jax.transfer_guard_host_to_device("disallow_explicit"), lambda: jax.device_put(np.ones(2)))
        jax.default_backend()
        within(jax.default_device(jax.devices()[0]), lambda: jnp.ones(2))
        within(jax.default_matmul_precision("high"), lambda: str(jax.make_jaxpr(jnp.dot)(jnp.ones(2), jnp.ones(2))))
        jax.device_count() == len(jax.devices())
        jax.device_get({"a": jnp.arange(3)})
        [d.platform for d in jax.devices()][:1]
        within(jax.disable_jit(), lambda: jax.jit(lambda a: float(a) + 1)(1.0))
        jax.effects_barrier()
        within(jax.enable_x64(True), lambda: jnp.arange(2))
        ensure_compile_time_eval: jax.jit(lambda: within(jax.ensure_compile_time_eval(), lambda: float(jnp.sin(1.0))))()
        jax.eval_shape(lambda a: a[None], jax.ShapeDtypeStruct((2,), "float32"))
        [d.platform for d in jax.local_devices()][:1]
        jax.local_device_count() == jax.device_count()
        str(jax.make_jaxpr(lambda a, k: a * k, static_argnums=1)(1.0, 3))
        jax.make_jaxpr(mul, return_shape=True)(1.0, 3.0)[1]
        str(jax.make_jaxpr(lambda a: jax.lax.psum(a, "i"), axis_env=[("i", 4)])(1.0))
        jax.fwd_and_bwd(mul, (0, 1))[0](2.0, 3.0)[0]
        numpy_dtype_promotion: within(jax.numpy_dtype_promotion("strict"), lambda: jnp.float32(1) * 2)
        within(jax.numpy_rank_promotion("raise"), lambda: jnp.ones((2, 2)) + jnp.ones(2))
        within(jax.threefry_partitionable(False), lambda: jax.random.bits(jax.random.key(0), (3,)))
        jax.process_count()
        jax.process_index()
        jax.process_indices()
        jax.typeof(jnp.ones(2)).str_short()
    """,
    "Functions made by jit": """
        jax.jit(mul).lower(1.0, 2.0).in_tree
        jax.jit(mul).lower(1.0, 2.0).out_info
        jax.jit(mul).lower(1.0, 2.0).compile()(3.0, 4.0)
        jax.jit(mul).lower(1.0, 2.0).compile().in_tree
        jax.jit(mul).lower(1.0, 2.0).compile().cost_analysis()["flops"]
        jax.jit(mul).lower(1.0, 2.0).compile().memory_analysis().output_size_in_bytes
        jax.jit(mul).lower(1.0, 2.0).args_info[0][0].shape
        jax.jit(mul).trace(1.0, 2.0).out_info
        str(jax.jit(mul).trace(1.0, 2.0).jaxpr)
        jax.jit(mul).trace(1.0, 2.0).fun_name
        jax.jit(mul).eval_shape(1.0, 2.0)
        [f := jax.jit(mul), f(1.0, 2.0), f(1, 2), f(3.0, 2.0), f._cache_size()][4]
        [f := jax.jit(mul), f(1.0, 2.0), f.clear_cache(), f._cache_size()][3]
        jax.jit(mul).__wrapped__ is mul
        jax.jit(mul).__name__
        jax.jit(mul, static_argnums=5)
        jax.jit(mul)(1.0, "a")
        jax.jit(mul)(1.0)
        jax.jit(mul, static_argnames="b")(1.0, [2])
        jax.jit(lambda a: 1 if a else 2)(True)
        jax.jit(lambda a: "text")(1.0)
        [a := jnp.ones(2), jax.jit(lambda a: a + 1, donate_argnums=0)(a), a.is_deleted()][2]
    """,
    "Jaxprs": """
        [str(e.primitive) for e in jax.make_jaxpr(mul)(1.0, 2.0).eqns]
        [sorted(e.params) for e in jax.make_jaxpr(lambda a: a.sum())(jnp.ones(2)).eqns]
        [str(a) for a in jax.make_jaxpr(mul)(1.0, 2.0).in_avals]
        [str(a) for a in jax.make_jaxpr(mul)(1.0, 2.0).out_avals]
        len(jax.make_jaxpr(mul)(1.0, 2.0).jaxpr.invars)
        len(jax.make_jaxpr(lambda a: a + jnp.arange(3.0))(1.0).jaxpr.constvars)
        jax.make_jaxpr(lambda a: a + jnp.arange(3.0)[::2])(1.0).consts
        len(jax.make_jaxpr(mul)(1.0, 2.0).effects)
        jax.core.eval_jaxpr(jax.make_jaxpr(mul)(1.0, 2.0).jaxpr, [], jnp.float32(3), jnp.float32(4))
    """,
}
