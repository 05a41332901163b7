"""Statistics of samples: cov, corrcoef, histogram.

JAX: jax/_src/numpy/lax_numpy.py:cov
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import core, lax
from ..base import errors
from ..base.jax_version import since
from ..core import dtypes
from ..pjit.jit import jit
from . import reductions
from .contractions import dot
from .creation import array, asarray, full, ones_like, zeros
from .diagonals import diag
from .joining import concatenate
from .promotion import promote_dtypes_inexact
from .ranges import linspace
from .searching import searchsorted
from .selection import clip, where
from .shaping import atleast_2d, diff
from .statistics import average
from .ufuncs import imag, real, sqrt, true_divide
from .util import check_arraylike, ensure_arraylike, ensure_arraylikes, iscomplexobj

# --- how variables go together ---------------------------------------------------------------------------------------


@jit(static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """Return the covariances of variables: the rows of `m` (with `rowvar=False` the columns) and of `y`.

    Args:
      bias, ddof: divide by n - ddof. By default `ddof` is 1, or 0 with `bias`.
      fweights: integers: how often each observation counts.
      aweights: the weight of each observation. Signs of both weights are ignored.

    Raises:
      ValueError: for more than two axes, or a dtype that is not inexact.
      RuntimeError, TypeError: for weights that are not one for each observation, or `fweights` that are not integers.
    """
    given = ensure_arraylikes("cov", m) if y is None else ensure_arraylikes("cov", m, y)
    variables = promote_dtypes_inexact(*given)
    for name, x in reversed(list(zip("my", variables, strict=False))):
        if x.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    if dtype is not None and not dtypes.issubdtype(dtype, np.inexact):
        raise ValueError(f"cov: dtype must be a subclass of float or complex; got {dtype=}")
    x = atleast_2d(variables[0])
    if not rowvar and variables[0].ndim != 1:
        x = x.T
    if x.shape[0] == 0:
        return array([]).reshape(0, 0)
    if y is not None:
        more = atleast_2d(variables[1])
        x = concatenate((x, more.T if not rowvar and more.shape[0] != 1 else more), axis=0)
    if x.shape[1] == 0:
        return full(() if x.shape[0] == 1 else (x.shape[0],) * 2, np.nan, dtype=x.dtype)
    return _covariances(x, fweights, aweights, int(bias == 0) if ddof is None else ddof, dtype)


def _covariances(x: Any, fweights: Any, aweights: Any, ddof: int, dtype: Any) -> Any:
    weights = None
    if fweights is not None:
        weights = _weights("fweights", fweights, x.shape[1])
    if aweights is not None:
        aweights = _weights("aweights", aweights, x.shape[1])
        weights = asarray(aweights if weights is None else weights * aweights)
    if dtype is not None:
        x = x.astype(dtype)
        weights = None if weights is None else weights.astype(dtype)
    mean, total = average(x, axis=1, weights=weights, returned=True)
    total = total[0]
    if weights is None:
        divisor = x.shape[1] - ddof
    elif ddof == 0:
        divisor = total
    elif aweights is None:
        divisor = total - ddof
    else:
        divisor = total - ddof * reductions.sum(weights * aweights) / total
    x = x - mean[:, None]
    transposed = x.T if weights is None else (x * lax.broadcast_to_rank(weights, x.ndim)).T
    return true_divide(dot(x, transposed.conj()), divisor).squeeze()


def _weights(name: str, weights: Any, count: int) -> Any:
    weights = ensure_arraylike("cov", weights)
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if np.shape(weights)[0] != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if name == "fweights" and not dtypes.issubdtype(weights.dtype, np.integer):
        raise TypeError("fweights must be integer.")
    return abs(weights)  # numpy raises for negative weights, but while tracing values are unknown


@jit(static_argnames=("rowvar", "dtype"))
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Return the correlation coefficients of variables, given as for `cov`: their covariances after scaling to variance
    1. Raise ValueError for a dtype that is neither float nor complex.
    """
    check_arraylike("corrcoef", x)
    if dtype is not None and not dtypes.issubdtype(dtype, np.inexact):
        raise ValueError(f"corrcoef: dtype must be a subclass of float or complex; got {dtype=}")
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return true_divide(c, c)  # 1, or nan where there is no variance
    deviations = sqrt(real(diag(c))).astype(c.dtype)
    c = c / deviations[:, None] / deviations[None, :]
    real_part = clip(real(c), -1, 1)
    return lax.complex(real_part, clip(imag(c), -1, 1)) if iscomplexobj(c) else real_part


# --- histograms ------------------------------------------------------------------------------------------------------


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:  # numpy's name
    """Return the edges of `bins` intervals of equal width over `range`, by default from the least to the greatest
    element; or `bins`, if those are the edges. `weights` is ignored.

    Raises:
      NotImplementedError: for a string as `bins`.
      ConcretizationTypeError: for a traced number of bins.
      ValueError: unless `range` is a pair; up to JAX 0.10 also for no elements without a `range`.
    """
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    check_arraylike("histogram_bin_edges", a, bins)
    a = asarray(a)
    dtype = dtypes.to_inexact_dtype(a.dtype)
    if np.ndim(bins) == 1:
        return asarray(bins, dtype=dtype)
    if isinstance(bins, core.Tracer):
        raise errors.ConcretizationTypeError(bins, "bins argument of histogram_bin_edges")
    if range is None:
        range = (0, 1) if a.size == 0 and since(0, 11) else [a.min(), a.max()]
    limits = asarray(range, dtype=dtype)
    if limits.shape != (2,):
        raise ValueError(f"`range` must be either None or a sequence of scalars, got {limits}")
    low = where(reductions.ptp(limits) == 0, limits[0] - 0.5, limits[0])
    high = where(reductions.ptp(limits) == 0, limits[1] + 0.5, limits[1])
    return linspace(low, high, operator.index(bins) + 1, dtype=dtype)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, Any]:
    """Return the number of elements in each bin (or the sum of their weights), and the edges, as of
    `histogram_bin_edges`.

    A bin contains its lower edge, the last one also the upper. With `density` the integral over all bins is 1. Raise
    ValueError for weights of another shape.
    """
    if weights is None:
        a = ensure_arraylikes("histogram", a, bins)[0]
        (a,) = promote_dtypes_inexact(a)
        weights = ones_like(a)
    else:
        a, _, weights = ensure_arraylikes("histogram", a, bins, weights)
        if a.shape != weights.shape:
            raise ValueError("weights should have the same shape as a.")
        a, weights = promote_dtypes_inexact(a, weights)
    edges = histogram_bin_edges(a, bins, range, weights)
    place = searchsorted(edges, a, side="right")
    place = where(a == edges[-1], len(edges) - 1, place)
    counts = zeros(len(edges), weights.dtype).at[place].add(weights)[1:]
    if density:
        counts = counts / diff(edges) / counts.sum()
    return counts, edges
