"""Collects the functions on element types under one name: `dtypes.issubdtype`, `dtypes.result_type`.

    element_types    the table of types, and questions about one
    default_types    values -> dtype and weakness: 32 bits by default
    promotion        types of operands -> the type of the result

JAX: jax/_src/dtypes.py:canonicalize_dtype
"""

from __future__ import annotations

from .default_types import asking_types as asking_types
from .default_types import canonical_scalar_dtype as canonical_scalar_dtype
from .default_types import canonicalize_dtype as canonicalize_dtype
from .default_types import check_and_canonicalize_user_dtype as check_and_canonicalize_user_dtype
from .default_types import check_int_fits as check_int_fits
from .default_types import coerce_to_array as coerce_to_array
from .default_types import default_complex_dtype as default_complex_dtype
from .default_types import default_float_dtype as default_float_dtype
from .default_types import default_int_dtype as default_int_dtype
from .default_types import default_uint_dtype as default_uint_dtype
from .default_types import dtype as dtype
from .default_types import is_number_of_subclass as is_number_of_subclass
from .default_types import is_python_scalar as is_python_scalar
from .default_types import is_weakly_typed as is_weakly_typed
from .default_types import jax_dtype as jax_dtype
from .default_types import plain_number as plain_number
from .default_types import python_scalar_dtypes as python_scalar_dtypes
from .default_types import python_scalar_types as python_scalar_types
from .default_types import scalar_type_of as scalar_type_of
from .default_types import scalar_type_to_dtype as scalar_type_to_dtype
from .element_types import DType as DType
from .element_types import ExtendedDType as ExtendedDType
from .element_types import bool_ as bool_
from .element_types import check_valid_dtype as check_valid_dtype
from .element_types import complex_ as complex_
from .element_types import extended as extended
from .element_types import finfo as finfo
from .element_types import float0 as float0
from .element_types import float_ as float_
from .element_types import iinfo as iinfo
from .element_types import int_ as int_
from .element_types import is_array_dtype as is_array_dtype
from .element_types import isdtype as isdtype
from .element_types import issubdtype as issubdtype
from .element_types import itemsize_bits as itemsize_bits
from .element_types import kinds as kinds
from .element_types import numpy_names as numpy_names
from .element_types import numpy_scalar_types as numpy_scalar_types
from .element_types import prng_key as prng_key
from .element_types import python_type_of as python_type_of
from .element_types import scalar_types as scalar_types
from .element_types import short_dtype_name as short_dtype_name
from .element_types import supports_inf as supports_inf
from .element_types import to_complex_dtype as to_complex_dtype
from .element_types import to_floating_dtype as to_floating_dtype
from .element_types import to_inexact_dtype as to_inexact_dtype
from .element_types import to_numeric_dtype as to_numeric_dtype
from .element_types import uint as uint
from .promotion import Node as Node
from .promotion import TypePromotionError as TypePromotionError
from .promotion import lattice_result_type as lattice_result_type
from .promotion import least_upper_bound as least_upper_bound
from .promotion import no_promotion_path as no_promotion_path
from .promotion import promote_types as promote_types
from .promotion import result_type as result_type
from .promotion import safe_to_cast as safe_to_cast
from .promotion import upper_bounds as upper_bounds
