"""The names of `jax.experimental.hijax`, with which libraries define their own types and operations, also with state.
Here they can be imported, but do not work

flax defines such operations at import, and uses them only on request.

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
    """An operation on a library's own types. It can be defined, but not applied."""

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, *args: Any, **params: Any) -> NoReturn:
        """Raise NotImplementedError."""
        raise NotImplementedError(_NOT_HERE.format(f"jax.experimental.hijax.HiPrimitive {self.name}"))


class HiType(AbstractValue):
    """The type of a library's own value."""


class MutableHiType(HiType):
    """The type of a value with state."""


class AvalQDD(AbstractValue):
    """A type and its state. There are no instances."""

    def __init__(self, *parts: Any) -> None:
        raise NotImplementedError(_NOT_HERE.format(f"jax.experimental.hijax.{type(self).__name__}"))


class AvalMutableQDD(AvalQDD):
    """A type and its state, which an operation writes. There are no instances."""


class aval_method:
    """Marks a function as a method of tracers of a library's type."""

    def __init__(self, fun: Any) -> None:
        self.fun = fun


class aval_property:
    """Marks a function as a property of tracers of a library's type."""

    def __init__(self, fget: Any) -> None:
        self.fget = fget


class _AllowedEffects:
    """The effects that control flow may have. A library's entry is ignored, since its operations cannot be applied."""

    def add_type(self, effect: type) -> None:
        """Ignore an entry."""


control_flow_allowed_effects = _AllowedEffects()


def register_hitype(cls: type, type_of: Any) -> None:
    """Ignore a class of values and the function that gives the type of a value: no operation uses it."""


def cur_qdd(x: Any) -> NoReturn:
    """Raise NotImplementedError. In JAX this returns the state of a value."""
    raise NotImplementedError(_NOT_HERE.format("jax.experimental.cur_qdd"))


missing_names.explain("experimental.hijax", sys.modules[__name__])
