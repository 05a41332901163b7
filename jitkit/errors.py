"""The errors that a program may want to catch, by JAX's names. They are defined in `base/errors`.

JAX: jax/_src/errors.py:TracerBoolConversionError
"""

from __future__ import annotations

import sys

from .base import missing_names
from .base.errors import ConcretizationTypeError as ConcretizationTypeError
from .base.errors import JAXIndexError as JAXIndexError
from .base.errors import JaxprTypeError as JaxprTypeError
from .base.errors import JaxRuntimeError as JaxRuntimeError
from .base.errors import JAXTypeError as JAXTypeError
from .base.errors import KeyReuseError as KeyReuseError
from .base.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from .base.errors import TracerArrayConversionError as TracerArrayConversionError
from .base.errors import TracerBoolConversionError as TracerBoolConversionError
from .base.errors import TracerIntegerConversionError as TracerIntegerConversionError
from .base.errors import UnexpectedTracerError as UnexpectedTracerError
from .base.errors import XlaRuntimeError as XlaRuntimeError

missing_names.explain("errors", sys.modules[__name__])
