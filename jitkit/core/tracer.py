"""value + trace -> tracer: stands for an array while a function is traced

A *tracer* has a trace and an abstract value: shape, dtype and weak type. It has no number, so Python code that needs
one (`if x:`, `int(x)`, `np.asarray(x)`) raises an error that says so.

JAX: jax/_src/core.py:Tracer
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import numpy as np

from ..base import config, edits, errors, habits, source_info
from ..base.jax_version import since
from ..base.late_rooms import Slots
from . import dtypes
from .operators import Operators
from .trace import Trace


def innermost_trace(values: Iterable[Any]) -> Trace | None:
    """Return the innermost running trace among those of the tracers in `values`, or None. Call this only where no trace
    is current. Outside of `ensure_compile_time_eval` return None: a tracer that is found outside has escaped.
    """
    found: Trace | None = None
    if not config.local.state.compile_time:
        return None
    for x in values:
        if isinstance(x, Tracer) and x._trace.alive and (found is None or found in x._trace.ancestors()):
            found = x._trace
    return found


class _Unstacking(Slots):
    """Holds the functions of `lax` that iterate over a tracer."""

    index_in_dim: Callable[..., Any]
    unstack: Callable[..., Any]  # since JAX 0.11


unstacking = _Unstacking()


class Tracer(Operators):
    """Stands for an array while a function is traced: it has an aval and no value."""

    __slots__ = ("__weakref__", "_trace", "aval")
    __array_priority__ = 1000

    def __init__(self, trace: Trace, aval: Any) -> None:
        self._trace = trace
        self.aval = aval

    # attributes that are known while tracing

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes: plain ints, known while tracing."""
        shape: tuple[int, ...] = self.aval.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, known while tracing."""
        dtype: np.dtype[Any] = self.aval.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size: int = self.aval.size
        return size

    @property
    def weak_type(self) -> bool:
        """Whether the dtype came from a Python scalar and gives way in promotion."""
        weak: bool = self.aval.weak_type
        return weak

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError(f"len() of unsized object{edits.NO_LENGTH}")
        length: int = self.aval.shape[0]
        return length

    def __hash__(self) -> int:
        raise TypeError(
            f"unhashable type: {type(self).__name__!r}\nSets and dicts look values up, and a traced value is not "
            "known yet. Write (x == 1) | (x == 2) instead of `x in {1, 2}`, and jnp.array(values)[i] or "
            "lax.switch instead of table[x]."
        )

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(
                f"unsupported format string passed to {type(self).__name__}.__format__\nA traced value has no digits "
                f"yet. To print them when the program runs: jitkit.debug.print('{{x:{spec}}}', x=x)."
            )
        return str(self)

    def __iter__(self) -> Iterator[Any]:
        if not self.aval.shape:
            raise TypeError(f"iteration over a 0-d array{edits.NO_LENGTH}")
        if since(0, 11):
            return iter(unstacking.unstack(self))
        return (unstacking.index_in_dim(self, i, 0, keepdims=False) for i in range(self.aval.shape[0]))

    def __reversed__(self) -> Iterator[Any]:
        return iter(operator.getitem(cast(Any, self), slice(None, None, -1)))

    # attributes that are not known while tracing

    def __getattr__(self, name: str) -> Any:
        """Raise the error for an attribute that only a concrete array has, or that does not exist. For a method of
        concrete arrays, return a function that raises the error when it is called.
        """
        if name in _METHODS_OF_VALUES:
            return functools.partial(_refuse_method, self, name)
        if name in _ATTRIBUTES_OF_VALUES:
            raise errors.ConcretizationTypeError(
                self, f"The '{name}' attribute is not available on {self._error_repr()}.{self._origin_msg()}"
            )
        if name in ("block_until_ready", "copy_to_host_async"):
            where = f"{self._error_repr()}.{self._origin_msg()}"
            raise AttributeError(f"The '{name}' method is not available on {where}{edits.NOTHING_TO_WAIT_FOR}")
        if name == "sharding":
            raise AttributeError(
                f"The 'sharding' attribute is not available on {self._error_repr()}. To query sharding information "
                f"on tracers, use `jax.typeof(x)`.{self._origin_msg()}"
            )
        edit = "" if name.startswith("_") else habits.about_attribute(name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name}{edit}")

    def __bool__(self) -> bool:
        """Refuse to be a bool: Python asks which way to go, in `if x:` or `not x`, and the value is not known.

        If an array would be refused, too, raise the same error: ValueError for f32[3] or f32[0]. If only tracing is the
        reason, as for f32[] or f32[1], raise TracerBoolConversionError.
        """
        check_bool_conversion(self)
        raise errors.TracerBoolConversionError(self)

    def __int__(self) -> int:
        check_scalar_conversion(self)
        raise errors.ConcretizationTypeError(self, self._conversion_context("int"))

    def __float__(self) -> float:
        check_scalar_conversion(self)
        raise errors.ConcretizationTypeError(self, self._conversion_context("float"))

    def __complex__(self) -> complex:
        check_scalar_conversion(self)
        raise errors.ConcretizationTypeError(self, self._conversion_context("complex"))

    def __index__(self) -> int:
        """Refuse to be an int, as in `range(x)` or `items[x]`.

        As in `__bool__`: an array of type f32[] or i32[3] is not an index either, so raise TypeError; for i32[] only the
        value is missing, so raise TracerIntegerConversionError.
        """
        check_integer_conversion(self)
        raise errors.TracerIntegerConversionError(self)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.TracerArrayConversionError(self)

    def __reduce__(self) -> Any:
        raise errors.ConcretizationTypeError(
            self,
            "The error occurred in the __reduce__ method, which may indicate an attempt to "
            "serialize/pickle a traced value.",
        )

    def converted(self) -> Any:
        """Return the result of a conversion to the tracer's own type: the tracer. Tracers with known values override this."""
        return self

    def to_concrete_value(self) -> Any:
        """Return the array behind the tracer, or None if it is not known."""
        return None

    # printing and errors

    def _conversion_context(self, function: str) -> str:
        return (
            f"The problem arose with the `{function}` function. If trying to convert the data type of a "
            "value, "
            f"try using `x.astype({function})` or `jnp.array(x, {function})` instead."
        )

    def _error_repr(self) -> str:
        return f"traced array with shape {self.aval.str_short()}"

    def _static_name(self) -> str | None:
        """Return the name of an argument on which the value depends and that may be made static; "" if there is none,
        None if this is not known.
        """
        inner = getattr(self, "val", getattr(self, "primal", None))  # a batch, or a value that has a derivative
        return inner._static_name() if isinstance(inner, Tracer) else None if inner is None else ""

    def _origin_msg(self) -> str:
        """Return a newline and sentences on where the value comes from; "" if that is not known."""
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"


# Methods that `Array` has and a traced value cannot have. `hasattr` is true of them, as in JAX.
_METHODS_OF_VALUES = frozenset(
    (
        "__dlpack__", "addressable_data", "delete", "devices", "is_deleted", "item", "on_device_size_in_bytes",
        "tobytes", "tolist", "unsafe_buffer_pointer",
    )
)  # fmt: skip
_ATTRIBUTES_OF_VALUES = frozenset(("addressable_shards", "committed", "is_fully_addressable", "is_fully_replicated"))


def _refuse_method(tracer: Tracer, name: str, *args: Any, **kwargs: Any) -> Any:
    value = tracer.to_concrete_value() if name == "item" else None
    if value is not None:
        return np.asarray(value).item(*args)
    raise errors.ConcretizationTypeError(
        tracer, f"The {name}() method was called on {tracer._error_repr()}.{tracer._origin_msg()}"
    )


def check_scalar_conversion(x: Any) -> None:
    """Raise TypeError unless `x` has no axes."""
    if x.ndim > 0:
        raise TypeError(f"Only scalar arrays can be converted to Python scalars; got arr.ndim={x.ndim}")


def check_integer_conversion(x: Any) -> None:
    """Raise TypeError unless `x` is an integer scalar."""
    if x.shape != () or not dtypes.issubdtype(x.dtype, np.integer):
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")


def check_bool_conversion(x: Any) -> None:
    """Raise ValueError unless `x` has exactly one element: the truth of no element, or of several, is ambiguous."""
    if x.size == 0:
        raise ValueError(
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty."
        )
    if x.size > 1:
        raise ValueError(
            f"The truth value of an array with more than one element is ambiguous. Use a.any() or a.all(){edits.ONE_BY_ONE}"
        )


def escaped_tracer_error(tracer: Tracer, detail: str = "") -> errors.UnexpectedTracerError:
    """Return the error for a tracer used after its trace has ended. It names the aval, the function that was traced,
    and the line that made the tracer, if known; `detail` becomes the last line.
    """
    lines = []
    lines.append(
        "Encountered an unexpected tracer. A function transformed by JAX had a side effect, allowing for a "
        f"reference to an intermediate value with type {tracer.aval.str_short()} wrapped in a "
        f"{type(tracer).__name__} to escape the scope of the transformation."
    )
    lines.append(
        "A traced function must hand its values out by `return`. One was saved to global state (a global, a list, "
        "an attribute, a closure) and used after tracing was over, when it stands for nothing any more."
    )
    debug_info = getattr(tracer._trace, "debug_info", None)
    if debug_info is not None:
        lines.append(
            f"The function being traced when the value leaked was {debug_info.func_src_info} traced for "
            f"{debug_info.traced_for}."
        )
    source = getattr(tracer, "source_info", None)
    if source is not None and source.position is not None:
        lines.append(f"The leaked intermediate value was created on line {source_info.summarize(source)}.")
    lines.append(
        "Return the value from the function instead. To catch the leak where it happens, set "
        "JITKIT_CHECK_TRACER_LEAKS=1 "
        "or use the `jitkit.checking_leaks` context manager."
    )
    return errors.UnexpectedTracerError("\n".join(lines) + (f"\n{detail}" if detail else ""))


def concrete_or_error(force: Callable[[Any], Any], x: Any, context: str = "") -> Any:
    """Return `force(x)`, where `force` needs the value of x: `int`, `bool`, `operator.index` or any other function.

        concrete_or_error(int, np.float32(2.5))              2
        concrete_or_error(operator.index, t)                 TracerIntegerConversionError, for a tracer t
        concrete_or_error(operator.index, t, "It is an axis.")    the same
        concrete_or_error(int, t, "It is a stack's size.")    ConcretizationTypeError, which says so
        concrete_or_error(bool, t)                           ConcretizationTypeError, as there is no `if`

    Refuse a tracer without calling `force`, whatever `force` is. An error that `force` raises for a value passes through.
    """
    if isinstance(x, Tracer):
        if force is operator.index:
            raise errors.TracerIntegerConversionError(x)
        raise errors.ConcretizationTypeError(x, context)
    return force(x)


def value_if_known(x: Any) -> Any:
    """Return the array behind a tracer that has one, as in derivatives outside of `jit`; otherwise x itself."""
    value = x.to_concrete_value() if isinstance(x, Tracer) else x
    return x if value is None else value


def is_concrete(x: Any) -> bool:
    """Return whether x is not a tracer."""
    return not isinstance(x, Tracer)
