"""x.at[index]: returns new arrays with some elements changed.

JAX: jax/_src/ops/scatter.py:_scatter_update
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import lax
from ..base import edits
from ..lax.utils import refuse_sharding
from .arithmetic import power
from .creation import ones_like
from .index_plan import scatter_update
from .indexing import take_index
from .ufuncs import divide


def _refusal(symbol: str) -> Callable[[Any, Any], Any]:
    """Return the method that raises TypeError for an operation with `x.at[index]` itself, which is not an array."""

    def method(self: Any, other: Any) -> Any:
        types = f"'_IndexUpdateRef' and '{type(other).__name__}'"
        raise TypeError(f"unsupported operand type(s) for {symbol}: {types}{edits.NO_OPERATION_AT}")

    return method


class IndexUpdateHelper:
    """`x.at`: takes an index, and then an operation there. Each method returns a new array."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdateRef:
        return IndexUpdateRef(self.array, index)

    def __setitem__(self, index: Any, values: Any) -> None:
        raise TypeError(f"'_IndexUpdateHelper' object does not support item assignment{edits.AT_IS_NO_PLACE}")

    def __getattr__(self, name: str) -> Any:
        mend = edits.AT_INDEX if hasattr(IndexUpdateRef, name) else ""
        raise AttributeError(f"'_IndexUpdateHelper' object has no attribute {name!r}{mend}", name=name, obj=self)

    def __call__(self, *_: Any) -> None:
        """Raise TypeError: an index is written in square brackets."""
        raise TypeError(f"'_IndexUpdateHelper' object is not callable{edits.AT_IN_BRACKETS}")

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


def _update(name: str, scatter: Callable[..., Any], doc: str) -> Any:
    def method(
        self: IndexUpdateRef,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        refuse_sharding(f".at[index].{name}", out_sharding)
        return scatter_update(
            self.array,
            self.index,
            values,
            scatter,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            wrap_negative_indices=wrap_negative_indices,
        )

    return _named(
        method,
        name,
        f"Return x with {doc} Values broadcast to the shape of `x[index]`, and are converted to the dtype of x.",
    )


def _named(method: Any, name: str, doc: str) -> Any:
    method.__name__ = name
    method.__qualname__ = f"IndexUpdateRef.{name}"
    method.__doc__ = doc
    return method


def _by_factors(name: str, operation: Callable[[Any, Any], Any], doc: str) -> Any:
    """Return a method that combines each element by `operation` with the product of all values given for it, or 1."""

    def method(
        self: IndexUpdateRef,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        refuse_sharding(f".at[index].{name}", out_sharding)
        factors = IndexUpdateRef(ones_like(self.array), self.index).multiply(
            values,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            wrap_negative_indices=wrap_negative_indices,
        )
        return operation(self.array, factors)

    return _named(method, name, f"Return x with {doc}")


class IndexUpdateRef:
    """`x.at[index]`, with a method for each operation. Options of all methods:
    - `mode`, for indices out of bounds: "drop" (the default), "clip" or "promise_in_bounds"; `get` clips by default,
      and may also "fill";
    - `indices_are_sorted`, `unique_indices`: promises;
    - `wrap_negative_indices`: if False, negative indices are out of bounds;
    - `out_sharding` (not of `apply`): None; in jitkit no operation says where the parts of its result are.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    __add__, __iadd__ = _refusal("+"), _refusal("+=")
    __sub__, __isub__ = _refusal("-"), _refusal("-=")
    __mul__, __imul__ = _refusal("*"), _refusal("*=")
    __truediv__, __itruediv__ = _refusal("/"), _refusal("/=")

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """Return `x[index]`; the mode "fill" gives `fill_value` for indices out of bounds, by default that of `take`."""
        refuse_sharding(".at[index].get", out_sharding)
        return take_index(
            self.array,
            self.index,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            fill_value=fill_value,
            normalize_indices=wrap_negative_indices,
        )

    set = _update(
        "set", lax.scatter, "`x[index] = values`; an element that is named several times gets one of its values."
    )
    add = _update("add", lax.scatter_add, "`x[index] += values`, as often as an element is named.")
    subtract = _update("subtract", lax.scatter_sub, "`x[index] -= values`, as often as an element is named.")
    multiply = mul = _update("multiply", lax.scatter_mul, "`x[index] *= values`, as often as an element is named.")
    min = _update("min", lax.scatter_min, "`x[index] = minimum(x[index], values)`.")
    max = _update("max", lax.scatter_max, "`x[index] = maximum(x[index], values)`.")

    divide = _by_factors("divide", divide, "`x[index] /= values`.")
    power = _by_factors("power", power, "`x[index] **= values`.")

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """Return x with `x[index] = func(x[index])`, once for each time an element is indexed. `func` takes and returns a scalar."""

        def scatter(x: Any, positions: Any, y: Any, numbers: Any, **kwargs: Any) -> Any:
            return lax.scatter_apply(x, positions, func, numbers, update_shape=y.shape, **kwargs)

        return scatter_update(
            self.array,
            self.index,
            lax.full_like(self.array, 0, shape=()),
            scatter,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            wrap_negative_indices=wrap_negative_indices,
        )
