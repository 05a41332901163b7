"""Differentiates conversions to another dtype, `stage`, and `reduce_precision`.

JAX: jax/_src/lax/lax.py:_convert_element_type_jvp_rule
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..interpreters.ad_rules import Zero, defjvp, deflinear, no_cotangents, primitive_transposes, zero_tangent
from .convert import convert_element_type_p, reduce_precision_p, stage_p


def _jvp_convert(g: Any, y: Any, x: Any, *, new_dtype: Any, weak_type: bool) -> Any:
    if not dtypes.issubdtype(new_dtype, np.inexact):
        return zero_tangent(y)
    return convert_element_type_p.bind(g, new_dtype=new_dtype, weak_type=weak_type)


def _transpose_convert(ct: Any, x: Any, *, new_dtype: Any, weak_type: bool) -> list[Any]:
    if type(ct) is Zero or x.aval.dtype == dtypes.float0:
        return no_cotangents([x])
    return [convert_element_type_p.bind(ct, new_dtype=x.aval.dtype, weak_type=x.aval.weak_type)]


defjvp(convert_element_type_p, _jvp_convert)


primitive_transposes[convert_element_type_p] = _transpose_convert


deflinear(stage_p, lambda ct, x: [ct])


deflinear(reduce_precision_p, lambda ct, x, **params: [reduce_precision_p.bind(ct, **params)])
