"""Attention: the result for a query is the mean of the values, weighted by how well their keys fit.

JAX: jax/_src/nn/functions.py:dot_product_attention
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..interpreters.vmap import vmap
from ..numpy import (
    arange,
    array,
    asarray,
    broadcast_to,
    einsum,
    expand_dims,
    logical_and,
    ones,
    ones_like,
    reshape,
    transpose,
    tril,
    where,
)
from .functions import logsumexp, softmax


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Return softmax(query @ key^T * scale + bias) @ value, head by head (Vaswani et al., Attention is all you need,
    2017).

    Args:
      query: [batch, T, heads, size], or without the batch.
      key, value: [batch, S, heads, size]; they may have fewer heads, each for a group of the query's heads.
      bias, mask: broadcast to [batch, heads, T, S]. Where the mask is False, the weight is 0.
      scale: 1 / sqrt(size) by default.
      is_causal: whether no query attends to later positions.
      query_seq_lengths, key_value_seq_lengths: int32, the valid length of each element of the batch.
      local_window_size: how many places to the left and to the right a query attends to; an int stands for both.
      implementation: None or "xla". (There is no cuDNN here.)
      return_residual: whether to return also the logarithms of the softmax's denominators, [batch, T, heads].

    Raises:
      ValueError: for shapes and dtypes that do not fit, and for another `implementation`.
      NotImplementedError: for `implementation="cudnn"`.
    """
    shape = asarray(query).shape
    query, key, value = (_with_four_axes(x) for x in (query, key, value))
    bias, mask = (None if x is None else _with_four_axes(x) for x in (bias, mask))
    lengths = [None if x is None else asarray(x) for x in (query_seq_lengths, key_value_seq_lengths)]
    if isinstance(local_window_size, int):
        local_window_size = (local_window_size, local_window_size)
    batch, places, heads, size = key.shape
    _check("value", value, [batch, places, heads, size], key.dtype)
    _check("query", query, [batch, -1, -1, size], key.dtype)
    _check("mask", mask, [-1] * 4, np.dtype(bool))
    _check("bias", bias, [-1] * 4, None)
    for name, length in zip(("query_seq_lengths", "key_value_seq_lengths"), lengths, strict=True):
        _check(name, length, [batch], np.dtype("int32"))
    if query.shape[-2] % heads:
        raise ValueError(
            f"The number of query heads must be a multiple of key/value heads, but got {query.shape[-2]} vs {heads}"
        )
    if implementation == "cudnn":
        raise NotImplementedError("implementation='cudnn': jitkit has 'xla' only.")
    if implementation not in (None, "xla"):
        raise ValueError(f"Unsupported implementation option: {implementation}")
    scale = 1.0 / np.sqrt(size) if scale is None else scale
    out = _by_groups(query, key, value, bias, mask, is_causal, scale, *lengths, local_window_size, return_residual)
    if return_residual:
        return reshape(out[0], shape), reshape(out[1], shape[:-1])
    return reshape(out, shape)


def _with_four_axes(x: Any) -> Any:
    x = asarray(x)
    return expand_dims(x, axis=tuple(range(4 - x.ndim))) if x.ndim < 4 else x


def _check(name: str, x: Any, shape: Sequence[int], dtype: Any) -> None:
    if x is None:
        return
    if x.ndim != len(shape):
        raise ValueError(f"{name} ndim should be {len(shape)}, but got {x.ndim}")
    if dtype is not None and x.dtype != dtype:
        raise ValueError(f"{name} dtype should be {dtype}, but got {x.dtype}")
    if any(wanted not in (-1, size) for wanted, size in zip(shape, x.shape, strict=True)):
        raise ValueError(f"{name} shape should be {shape}: but got {x.shape}")


def _by_groups(query: Any, key: Any, value: Any, bias: Any, mask: Any, *rest: Any) -> Any:
    """Return the attention of all of the query's heads. Heads that share a key head form a group; the position in the
    group is a mapped axis.
    """
    batch, places, all_heads, size = query.shape
    heads = key.shape[2]
    group = all_heads // heads

    def grouped(x: Any) -> Any:
        if x is None:
            return None
        b, n, t, s = x.shape
        if n == 1:
            return broadcast_to(x[:, :, None, :, :], (b, n, group, t, s))
        return reshape(x, (b, heads, group, t, s))

    query = reshape(query, (batch, places, heads, group, size))
    in_axes = (3, None, None, 2, 2, *[None] * len(rest))
    out = vmap(_attention, in_axes=in_axes, out_axes=3)(query, key, value, grouped(bias), grouped(mask), *rest)
    if rest[-1]:
        return reshape(out[0], (batch, places, all_heads, size)), reshape(out[1], (batch, places, all_heads))
    return reshape(out, (batch, places, all_heads, size))


_PRECISIONS = {"bfloat16": lax.DotAlgorithmPreset.BF16_BF16_F32, "float16": lax.DotAlgorithmPreset.F16_F16_F32}


def _attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any,
    mask: Any,
    is_causal: bool,
    scale: Any,
    query_lengths: Any,
    key_lengths: Any,
    window: tuple[int, int] | None,
    return_residual: bool,
) -> Any:
    dtype = dtypes.promote_types(query.dtype, np.float32)
    precision = _PRECISIONS.get(query.dtype.name)
    try:
        logits = einsum("BTNH,BSNH->BNTS", query, key, precision=precision, preferred_element_type=dtype)
    except ValueError:  # outside `jit`, on a chip without this algorithm
        logits = einsum("BTNH,BSNH->BNTS", query, key, preferred_element_type=dtype)
    logits *= array(scale, dtype=logits.dtype)
    if bias is not None:
        logits = (logits + bias).astype(logits.dtype)
    logits = _masked(logits, mask, is_causal, query_lengths, key_lengths, window).astype(np.float32)
    weights = softmax(logits, axis=-1).astype(key.dtype)
    out = einsum("BNTS,BSNH->BTNH", weights, value)
    if query_lengths is not None:
        counts = arange(0, out.shape[1])[None, :] < query_lengths[:, None]
        out *= counts[:, :, None, None].astype(out.dtype)
    if not return_residual:
        return out
    residual = transpose(logsumexp(logits, axis=-1).astype(key.dtype), (0, 2, 1))
    return out, lax.stop_gradient(residual)


def _masked(
    logits: Any, mask: Any, is_causal: bool, query_lengths: Any, key_lengths: Any, window: tuple[int, int] | None
) -> Any:
    """Return the logits, very negative where attention is masked."""
    if mask is None and not is_causal and query_lengths is None and key_lengths is None and window is None:
        return logits
    seen = ones_like(logits, dtype=bool)
    if mask is not None:
        seen = logical_and(seen, mask)
    rows, columns = logits.shape[2:]
    if is_causal:
        seen = logical_and(seen, tril(ones((rows, columns), dtype=bool))[None, None, :, :])
    if window is not None:
        seen = logical_and(seen, _near(rows, columns, window))
    if query_lengths is not None or key_lengths is not None:
        here: Any = True
        there: Any = True
        if query_lengths is not None:
            here = arange(0, rows)[None, :, None] < query_lengths[:, None, None]
        if key_lengths is not None:
            there = arange(0, columns)[None, None, :] < key_lengths[:, None, None]
        seen = logical_and(seen, logical_and(here, there)[:, None, :, :])
    return where(seen, logits, asarray(-0.7 * float(np.finfo(np.float32).max), dtype=logits.dtype))


def _near(rows: int, columns: int, window: tuple[int, int]) -> Any:
    """Return whether each key (column) is at most `window[0]` places before each query (row), and at most `window[1]` after it."""
    query_places, key_places = array(range(rows)), array(range(columns))
    not_left = query_places[..., None] <= key_places[..., None, :] + window[0]
    not_right = query_places[..., None] >= key_places[..., None, :] - window[1]
    return logical_and(not_right, not_left)[None, None, :, :]
