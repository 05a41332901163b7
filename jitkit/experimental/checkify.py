"""The names of `jax.experimental.checkify`. Known values are checked at once; checks within traced code are not
implemented yet

JAX: jax/_src/checkify.py:check
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from ..base import missing_names
from ..base.errors import JaxRuntimeError
from ..core import is_concrete

_NOT_YET = (
    "{} is not here yet: jitkit cannot carry an error out of traced code.\n"
    "Check values outside of `jit`, or within by `jax.debug.callback`."
)


class JaxException(Exception):
    """What a check found."""


Out = TypeVar("Out")
ErrorCategory = type[JaxException]


class FailedCheckError(JaxException):
    """A user's `check` failed."""


class NaNError(JaxException):
    """A nan."""


class OOBError(JaxException):
    """An index out of bounds."""


class DivisionByZeroError(JaxException):
    """A division by zero."""


ErrorSet = frozenset[ErrorCategory]
user_checks: ErrorSet = frozenset({FailedCheckError})
nan_checks: ErrorSet = frozenset({NaNError})
index_checks: ErrorSet = frozenset({OOBError})
div_checks: ErrorSet = frozenset({DivisionByZeroError})
float_checks: ErrorSet = nan_checks | div_checks
automatic_checks: ErrorSet = float_checks | index_checks
all_checks: ErrorSet = automatic_checks | user_checks


class Error:
    """What a checked function found. Nothing creates one here."""

    def get(self) -> str | None:
        """Return the first error in words; None where there is none."""
        return None

    def throw(self) -> None:
        """Raise the error, if there is one."""


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Raise JaxRuntimeError with a formatted message, where a known value is false.

    Raises:
      NotImplementedError: the value is traced.
    """
    if not is_concrete(pred):
        raise NotImplementedError(_NOT_YET.format("`checkify.check` of a traced value"))
    if not pred:
        raise JaxRuntimeError(f"{msg.format(*fmt_args, **fmt_kwargs)} (`check` failed)")


def check_error(error: Error) -> None:
    """Raise what a checked function found."""
    error.throw()


def checkify(f: Callable[..., Any], errors: ErrorSet = user_checks) -> Callable[..., NoReturn]:
    """Raise NotImplementedError when the result is called; in JAX it returns a function that also returns an `Error`.

    Raises:
      NotImplementedError: when that function is called.
    """

    def checked(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(_NOT_YET.format("`checkify.checkify`"))

    return checked


missing_names.explain("experimental.checkify", sys.modules[__name__])
