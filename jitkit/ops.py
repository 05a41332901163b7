"""`jitkit.ops`: reductions over groups of rows, which a vector of group numbers defines.

JAX: jax/_src/ops/scatter.py:segment_sum
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import lax
from .base import missing_names
from .core import dtypes
from .core.tracer import Tracer, concrete_or_error
from .lax.reduction import max_identity, min_identity
from .numpy import arange, asarray, full, reductions
from .numpy.index_plan import scatter_update
from .numpy.util import check_arraylike


def _segments(
    name: str, scatter: Callable[..., Any], identity: Callable[[Any], Any], reducer: Callable[..., Any], doc: str
) -> Callable[..., Any]:
    def segment(
        data: Any,
        segment_ids: Any,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
    ) -> Any:
        check_arraylike(name, data, segment_ids)
        data, segment_ids = asarray(data), asarray(segment_ids)
        if num_segments is None:
            num_segments = segment_ids.max() + 1
        count = concrete_or_error(int if isinstance(num_segments, Tracer) else operator.index, num_segments, _COUNT)
        if count < 0:
            raise ValueError("num_segments must be non-negative.")
        options: dict[str, Any] = {
            "indices_are_sorted": indices_are_sorted,
            "unique_indices": unique_indices,
            "mode": lax.GatherScatterMode.FILL_OR_DROP if mode is None else mode,
            "wrap_negative_indices": False,
        }
        start = identity(data.dtype)
        if bucket_size is None:
            out = full((count, *data.shape[1:]), start, dtype=data.dtype)
            return scatter_update(out, segment_ids, data, scatter, **options)
        buckets = -(-segment_ids.size // bucket_size)
        out = full((buckets, count, *data.shape[1:]), start, dtype=data.dtype)
        places = (arange(segment_ids.shape[0]) // bucket_size, segment_ids[None, :])
        return reducer(scatter_update(out, places, data, scatter, **options), axis=0).astype(data.dtype)

    segment.__name__ = segment.__qualname__ = name
    segment.__doc__ = f"""{doc} of the rows of `data` that have the same number in `segment_ids`.

    Args:
      data: an array.
      segment_ids: an integer for each row. Rows with one that is negative, or not below `num_segments`, are left out.
      num_segments: how many rows the result has. If not given, one more than the greatest number, which must be known then: not
        under `jit`.
      indices_are_sorted, unique_indices: promises about `segment_ids`, which make it faster.
      bucket_size: how many rows are reduced together before all are: more exact for many rows.
      mode: what happens to numbers out of bounds, as for `x.at[]`.
    """
    return segment


_COUNT = "segment_sum() `num_segments` argument."


def _least(dtype: Any) -> Any:
    return max_identity(dtype) if dtype == np.bool_ or dtypes.issubdtype(dtype, np.integer) else -np.inf


def _greatest(dtype: Any) -> Any:
    return min_identity(dtype) if dtype == np.bool_ or dtypes.issubdtype(dtype, np.integer) else np.inf


segment_sum = _segments("segment_sum", lax.scatter_add, lambda dtype: 0, reductions.sum, "The sums")
segment_prod = _segments("segment_prod", lax.scatter_mul, lambda dtype: 1, reductions.prod, "The products")
segment_max = _segments("segment_max", lax.scatter_max, _least, reductions.max, "The greatest elements")
segment_min = _segments("segment_min", lax.scatter_min, _greatest, reductions.min, "The least elements")

missing_names.explain("ops", sys.modules[__name__])
