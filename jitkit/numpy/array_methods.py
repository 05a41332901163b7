"""Fills in the operators and methods that Array and Tracer share: `x + y` calls `add(x, y)`, `x.sum(0)` calls `sum(x,
0)`.

Each is filled at first use, which imports the function's module: a first `x @ w` does not load sorting.

JAX: jax/_src/numpy/array_methods.py:register_jax_array_methods
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..base import edits, late_rooms
from ..base.jax_version import since
from ..core import Tracer, dtypes, operators
from ..lax.placing import device_put
from ..lax.utils import index_tuple
from .util import ensure_arraylike

# --- methods that are more than a function with the array in front ---------------------------------------------------


def _trace(x: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None) -> Any:
    """Return the sums of diagonals: `x.trace(...)`."""
    return jnp.trace(x, offset, axis1, axis2, dtype, out)


def _setitem(x: Any, index: Any, value: Any) -> Any:
    """Raise TypeError: arrays are immutable."""
    raise TypeError(
        "JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, use x = x.at[idx].set(y) "
        "or another .at[] method: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html"
    )


def _namespace(x: Any, *, api_version: str | None = None) -> Any:
    """Return `jitkit.numpy`, as Python's array API requires; raise ValueError for another version of the API."""
    followed = "2025.12" if since(0, 12) else "2024.12"
    if api_version not in (None, followed):
        raise ValueError(f"{api_version=!r} is not available; available versions are: {[followed]}")
    return jnp


def _round(x: Any, ndigits: int | None = None) -> Any:
    """Return the rounded array: integers for `round(x)`, the array's own dtype for `round(x, n)`."""
    out = jnp.round(x, decimals=ndigits or 0)
    return out.astype(int) if ndigits is None else out


def _contains(x: Any, query: Any) -> Any:
    """Return whether a one-dimensional array has an element equal to a scalar. Raise ValueError for another array, or a
    query that is not a scalar, TypeError for None and strings.
    """
    if query is None or isinstance(query, str):
        raise TypeError(f"Array.__contains__: unsupported operand type {type(query)}.")
    query = ensure_arraylike("Array.__contains__", query)
    if x.ndim != 1:
        raise ValueError(f"Array.__contains__: search array must be one-dimensional, got arr.shape={x.shape}.")
    if query.ndim != 0:
        raise ValueError(f"Array.__contains__: query value must be a scalar, got query.shape={query.shape}")
    return jnp.any(x == query)


def _astype(x: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """Return the array converted to `dtype`; None stands for the default float type."""
    return jnp.astype(x, dtype, copy=copy, device=device)


def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """Return the array with values below `min` raised to it, and values above `max` lowered to it."""
    return jnp.clip(x, min=min, max=max)


def _copy(x: Any) -> Any:
    """Return an array with the same elements in memory of its own."""
    return jnp.copy(x)


def _transpose(x: Any, *axes: Any) -> Any:
    """Return the array with its axes in this order, reversed by default: `x.transpose(1, 0)` or `x.transpose((1, 0))`."""
    given = axes[0] if len(axes) == 1 else axes or None
    return jnp.transpose(x, None if given is None else index_tuple(given))


def _to_device(x: Any, device: Any, *, stream: Any = None) -> Any:
    """Return the array on another device. Raise NotImplementedError if `stream` is given."""
    if stream is not None:
        raise NotImplementedError("stream argument of array.to_device()")
    return device_put(x, device)


def _view(x: Any, dtype: Any = None, type: None = None) -> Any:
    """Return the same bytes read as another dtype; the last axis grows or shrinks with the element size.

    Raises:
      ValueError: the sizes do not fit.
      TypeError: for a shape in place of a dtype.
      NotImplementedError: `type` is given.
    """
    if type is not None:
        raise NotImplementedError(f"`type` argument of array.view() is not supported.{edits.VIEW}")
    if dtype is None:
        return x
    if isinstance(dtype, int | tuple):  # a shape, which `view` takes in PyTorch
        raise TypeError(f"Cannot interpret {str(dtype)!r} as a data type{edits.VIEW}")
    dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "view")
    bits_in, bits_out = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
    if x.ndim == 0:
        if bits_in != bits_out:
            raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
        return _view(lax.expand_dims(x, (0,)), dtype).squeeze()
    if x.shape[-1] * bits_in % bits_out != 0:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis of the "
            "array."
        )
    if x.dtype == dtype:
        return x
    if x.dtype == np.bool_:
        return _view(x.astype("uint8"), dtype)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        parts = jnp.zeros((*x.shape[:-1], x.shape[-1] * 2), dtypes.finfo(x.dtype).dtype)
        return _view(parts.at[..., 0::2].set(x.real).at[..., 1::2].set(x.imag), dtype)
    if dtype == np.bool_:
        return _view(x, np.uint8).astype(bool)
    if dtypes.issubdtype(dtype, np.complexfloating):
        out = _view(x, dtypes.finfo(dtype).dtype).astype(dtype)
        return out[..., 0::2] + 1j * out[..., 1::2]
    if bits_in < bits_out:
        factor = bits_out // bits_in
        return lax.bitcast_convert_type(x.reshape(*x.shape[:-1], x.shape[-1] // factor, factor), dtype)
    out = lax.bitcast_convert_type(x, dtype)
    return out.reshape(*out.shape[:-2], out.shape[-2] * out.shape[-1]) if bits_in > bits_out else out


def _byteswap(x: Any) -> Any:
    """Return the array with the bytes of each element reversed."""
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return lax.complex(_byteswap(x.real), _byteswap(x.imag))
    if x.dtype.itemsize == 1:
        return x.copy()
    return lax.bitcast_convert_type(lax.rev(lax.bitcast_convert_type(x, np.uint8), (x.ndim,)), x.dtype)


def _compress(
    x: Any, condition: Any, axis: int | None = None, *, out: None = None, size: int | None = None, fill_value: Any = 0
) -> Any:
    """Return the slices along `axis` for which the condition holds; see `jitkit.numpy.compress`."""
    return jnp.compress(condition, x, axis=axis, out=out, size=size, fill_value=fill_value)


def _iterate(x: Any) -> Iterator[Any]:
    """Iterate over the subarrays of the first axis."""
    return (lax.index_in_dim(x, i, keepdims=False) for i in range(x.shape[0]))


def _t(x: Any) -> Any:
    """Return the array with its axes in reverse order."""
    return jnp.transpose(x)


def _nbytes(x: Any) -> int:
    """The number of bytes of all elements."""
    nbytes: int = x.size * x.dtype.itemsize
    return nbytes


def _itemsize(x: Any) -> int:
    """The number of bytes of one element."""
    itemsize: int = x.dtype.itemsize
    return itemsize


def _flat(x: Any) -> Any:
    """Raise NotImplementedError: numpy's iterator over elements would write to them."""
    raise NotImplementedError("JAX Arrays do not implement the arr.flat property: consider arr.flatten() instead.")


# --- which function each is ------------------------------------------------------------------------------------------

_BINARY = {
    "add": ("+", "ufuncs.add"), "sub": ("-", "ufuncs.subtract"), "mul": ("*", "ufuncs.multiply"),
    "truediv": ("/", "ufuncs.true_divide"), "floordiv": ("//", "arithmetic.floor_divide"), "mod": ("%", "arithmetic.remainder"),
    "divmod": ("divmod()", "arithmetic.divmod"), "pow": ("** or pow()", "arithmetic.power"), "matmul": ("@", "contractions.matmul"),
    "and": ("&", "ufuncs.bitwise_and"), "or": ("|", "ufuncs.bitwise_or"), "xor": ("^", "ufuncs.bitwise_xor"),
    "lshift": ("<<", "ufuncs.left_shift"), "rshift": (">>", "ufuncs.right_shift"),
}  # fmt: skip
_COMPARISONS = {
    "eq": ("==", "ufuncs.equal"), "ne": ("!=", "ufuncs.not_equal"), "lt": ("<", "ufuncs.less"), "le": ("<=", "ufuncs.less_equal"),
    "gt": (">", "ufuncs.greater"), "ge": (">=", "ufuncs.greater_equal"),
}  # fmt: skip
_UNARY = {"neg": "ufuncs.negative", "pos": "ufuncs.positive", "abs": "ufuncs.abs", "invert": "ufuncs.invert"}
_METHODS: dict[str, str | Callable[..., Any]] = {
    "__getitem__": "indexing.getitem", "__setitem__": _setitem, "__contains__": _contains, "__round__": _round,
    "_iterate": _iterate, "__array_namespace__": _namespace,
    "all": "reductions.all", "any": "reductions.any", "argmax": "reductions.argmax", "argmin": "reductions.argmin",
    "argpartition": "sorting.argpartition", "argsort": "sorting.argsort", "astype": _astype, "byteswap": _byteswap,
    "choose": "editing.choose", "clip": _clip, "compress": _compress, "conj": "ufuncs.conj", "conjugate": "ufuncs.conjugate",
    "copy": _copy, "cumprod": "cumulative.cumprod", "cumsum": "cumulative.cumsum", "diagonal": "diagonals.diagonal",
    "dot": "contractions.dot", "flatten": "shaping.ravel", "max": "reductions.max", "mean": "statistics.mean",
    "min": "reductions.min", "nonzero": "selection.nonzero", "prod": "reductions.prod", "ptp": "reductions.ptp",
    "ravel": "shaping.ravel", "repeat": "joining.repeat", "reshape": "shaping.reshape_method", "round": "selection.round",
    "searchsorted": "searching.searchsorted", "sort": "sorting.sort", "squeeze": "shaping.squeeze", "std": "statistics.std",
    "sum": "reductions.sum", "swapaxes": "shaping.swapaxes", "take": "taking.take", "to_device": _to_device,
    "trace": _trace, "transpose": _transpose, "var": "statistics.var", "view": _view,
}  # fmt: skip
_PROPERTIES: dict[str, str | Callable[[Any], Any]] = {
    "T": _t, "mT": "shaping.matrix_transpose", "real": "ufuncs.real", "imag": "ufuncs.imag",
    "at": "index_update.IndexUpdateHelper", "nbytes": _nbytes, "itemsize": _itemsize, "flat": _flat,
}  # fmt: skip

# Methods that arrays of random keys lack, as in JAX. Under `jit` they have them, and each function raises its own error.
_NOT_OF_KEYS = frozenset((
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "byteswap", "choose", "clip", "compress", "conj",
    "conjugate", "cumprod", "cumsum", "diagonal", "dot", "flat", "imag", "mT", "max", "mean", "min", "nonzero", "prod", "ptp",
    "real", "repeat", "round", "searchsorted", "sort", "std", "sum", "to_device", "trace", "var", "view",
))  # fmt: skip


def _refused_for_keys(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` as a method that raises NotImplementedError for an array of random keys, unless it is traced."""

    @functools.wraps(function)
    def method(x: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x.dtype, dtypes.ExtendedDType) and not isinstance(x, Tracer):
            raise NotImplementedError(f"Cannot call abstract method {name}{edits.KEYS_ARE_NOT_NUMBERS}")
        return function(x, *args, **kwargs)

    return method


# name -> how to install it, and which function
_FILLS: dict[str, tuple[Callable[..., None], tuple[Any, ...], str | Callable[..., Any]]] = {
    **{f"__{r}{n}__": (operators.install_binary, (n, s), f) for n, (s, f) in _BINARY.items() for r in ("", "r")},
    **{f"__{n}__": (operators.install_comparison, (n, s), f) for n, (s, f) in _COMPARISONS.items()},
    **{f"__{n}__": (operators.install_unary, (n,), f) for n, f in _UNARY.items()},
    **{n: (operators.install_method, (n,), f) for n, f in _METHODS.items()},
    **{n: (operators.install_property, (n,), f) for n, f in _PROPERTIES.items()},
}


def fill(name: str) -> None:
    """Install an operator, a method or a property, by the name under which Python looks for it, such as `__add__`."""
    install, how, function = _FILLS[name]
    if isinstance(function, str):
        room, function = function.split(".")
        function = getattr(late_rooms.import_room(f".{room}", __package__), function)
    install(*how, _refused_for_keys(name, function) if name in _NOT_OF_KEYS else function)
