"""convolve and correlate: slide a window over a vector.

JAX: jax/_src/numpy/lax_numpy.py:convolve
"""

from __future__ import annotations

from typing import Any

from .. import lax
from ..pjit.jit import jit
from .promotion import promote_dtypes, promote_dtypes_inexact
from .shaping import flip
from .ufuncs import conj
from .util import ensure_arraylikes


@jit(static_argnames=("mode", "precision", "preferred_element_type"))
def convolve(a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return, for each k, the sum of a[k - j] * v[j] over j. "full" takes every k for which there is a product, "same"
    as many from the middle as the longer vector has elements, and "valid" every k at which the shorter vector lies
    within the longer one.

    Raise ValueError for another mode, an empty operand, or one that is not a vector.
    """
    a, v = ensure_arraylikes("convolve", a, v)
    return _conv(a, v, mode=mode, op="convolve", precision=precision, preferred_element_type=preferred_element_type)


@jit(static_argnames=("mode", "precision", "preferred_element_type"))
def correlate(a: Any, v: Any, mode: str = "valid", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return, for each k, the sum of a[k + j] * conj(v[j]) over j; `mode` and errors are as for `convolve`."""
    a, v = ensure_arraylikes("correlate", a, v)
    return _conv(a, v, mode=mode, op="correlate", precision=precision, preferred_element_type=preferred_element_type)


@jit(static_argnames=("mode", "op", "precision", "preferred_element_type"))
def _conv(x: Any, y: Any, mode: str, op: str, precision: Any, preferred_element_type: Any = None) -> Any:
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"{op}() only support 1-dimensional inputs.")
    promote = promote_dtypes_inexact if preferred_element_type is None else promote_dtypes
    x, y = promote(x, y)
    if len(x) == 0 or len(y) == 0:
        raise ValueError(f"{op}: inputs cannot be empty, got shapes {x.shape} and {y.shape}.")
    if op == "correlate":
        y = conj(y)
    swapped = len(x) < len(y)
    signal, window = (y, x) if swapped else (x, y)
    if op == "convolve":  # XLA's convolution is a correlation in mathematics
        window = flip(window)
    n = len(window)
    paddings = {"valid": (0, 0), "same": (n // 2, n - n // 2 - 1), "full": (n - 1, n - 1)}
    if mode not in paddings:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    result = lax.conv_general_dilated(
        signal[None, None, :],
        window[None, None, :],
        (1,),
        [paddings[mode]],
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    backwards = op == "correlate" and swapped  # swapped operands of a correlation give reversed results
    return result[0, 0, :: -1 if backwards else None]
