"""Functions on dtypes, by JAX's names. They are defined in `core`: `element_types`, `default_types`, `promotion`.

JAX: jax/_src/dtypes.py:canonicalize_dtype
"""

from __future__ import annotations

from .core.dtypes import TypePromotionError as TypePromotionError
from .core.dtypes import canonicalize_dtype as canonicalize_dtype
from .core.dtypes import promote_types as promote_types
from .core.dtypes import result_type as result_type
from .core.dtypes import scalar_type_of as scalar_type_of
from .core.element_types import bfloat16 as bfloat16
from .core.element_types import extended as extended
from .core.element_types import finfo as finfo
from .core.element_types import float0 as float0
from .core.element_types import iinfo as iinfo
from .core.element_types import issubdtype as issubdtype
from .core.element_types import itemsize_bits as itemsize_bits
from .core.element_types import prng_key as prng_key
