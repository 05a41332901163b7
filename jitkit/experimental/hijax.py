"""The names of `jax.experimental.hijax`, for libraries that ask at import: types and operations of their own that are state. None work here

flax defines such operations at import, and uses them only where it is told to.

JAX: jax/_src/hijax.py:HiType
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from ..base import missing_names
from ..core.avals import AbstractValue
from ..interpreters.ad_rules import Zero, instantiate_zeros
from ..interpreters.ad_rules import is_undefined as is_undefined_primal

__all__ = [
    "AbstractValue", "AvalMutableQDD", "AvalQDD", "HiPrimitive", "HiType", "MutableHiType", "Zero", "aval_method", "aval_property",
    "control_flow_allowed_effects", "instantiate_zeros", "is_undefined_primal", "register_hitype",
]  # fmt: skip

_NOT_HERE = "`{}` is not here: jitkit's arrays and operations have no state. Pass arrays in, and return them."


class HiPrimitive:
    """An operation on values of a library's own types. It can be defined, and not applied."""

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, *args: Any, **params: Any) -> NoReturn:
        """NotImplementedError."""
        raise NotImplementedError(_NOT_HERE.format(f"jax.experimental.hijax.HiPrimitive {self.name}"))


class HiType(AbstractValue):
    """The type of a value of a library's own."""


class MutableHiType(HiType):
    """The type of one that has state."""


class AvalQDD(AbstractValue):
    """A type and its state. None can be made."""

    def __init__(self, *parts: Any) -> None:
        raise NotImplementedError(_NOT_HERE.format(f"jax.experimental.hijax.{type(self).__name__}"))


class AvalMutableQDD(AvalQDD):
    """The same where an operation writes the state. None can be made."""


class aval_method:
    """Marks a function that tracers of a library's type have as a method."""

    def __init__(self, fun: Any) -> None:
        self.fun = fun


class aval_property:
    """The same for a property."""

    def __init__(self, fget: Any) -> None:
        self.fget = fget


class _AllowedEffects:
    """The effects that control flow may have: an entry of a library's is not read, since its operations cannot be applied."""

    def add_type(self, effect: type) -> None:
        """Take an entry."""


control_flow_allowed_effects = _AllowedEffects()


def register_hitype(cls: type, type_of: Any) -> None:
    """Take a class of values and the function that gives the type of one. No operation asks for it."""


def cur_qdd(x: Any) -> NoReturn:
    """Would return the state of a value. NotImplementedError."""
    raise NotImplementedError(_NOT_HERE.format("jax.experimental.cur_qdd"))


missing_names.explain("experimental.hijax", sys.modules[__name__])
