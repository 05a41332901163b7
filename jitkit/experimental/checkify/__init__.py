"""`jax.experimental.checkify`: errors as values, so that traced code can find them

A traced function sees no values, so it cannot raise. `check(pred, message)` records an equation instead, and
`checkify(f)` turns each of these into arrays beside the results: whether the check has failed, which check it was, and
the values for its message. Input: a function. Output: one that returns an `Error` and the results; `Error.get` and
`throw` report the error. In the order of reading:

    errors       the `Error`, a tree of arrays, and the exceptions that it becomes
    checking     `check`, `debug_check`, `check_error`: the primitive `check`, which stands for an error
    functional   jaxpr + error -> error + results: equation by equation, each by its primitive's rule
    automatic    rules of operations that can divide by zero, make a nan or index out of bounds
    calls        rules of equations that hold jaxprs: branches, loops, calls, functions with their own derivatives

JAX: jax/_src/checkify.py:checkify
"""

from __future__ import annotations

import sys

from ...base import missing_names
from . import automatic as automatic
from . import calls as calls
from .checking import check as check
from .checking import check_error as check_error
from .checking import debug_check as debug_check
from .errors import DivisionByZeroError as DivisionByZeroError
from .errors import Error as Error
from .errors import ErrorCategory as ErrorCategory
from .errors import FailedCheckError as FailedCheckError
from .errors import JaxException as JaxException
from .errors import JaxRuntimeError as JaxRuntimeError
from .errors import NaNError as NaNError
from .errors import OOBError as OOBError
from .errors import all_checks as all_checks
from .errors import automatic_checks as automatic_checks
from .errors import div_checks as div_checks
from .errors import float_checks as float_checks
from .errors import index_checks as index_checks
from .errors import init_error as init_error
from .errors import nan_checks as nan_checks
from .errors import user_checks as user_checks
from .functional import checkify as checkify

missing_names.explain("experimental.checkify", sys.modules[__name__])
