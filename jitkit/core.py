"""value + trace -> result: abstract values, primitives, tracers, and the one function that joins them,
`bind`.

Every operation of the library ends in `Primitive.bind(*operands, **params)`. What happens then is decided by
the *current trace* of the thread and by nothing else:

- no trace: the operation runs, now, on concrete arrays (`dispatch` fills the slot `eager`);
- a trace: it receives the primitive, its operands and parameters, and does what it is for. The trace that
  `jit` uses writes an equation down (`interpreters/partial_eval`); differentiation and batching are further
  traces. This module does not know how many kinds there are.

A *tracer* stands for a value while a function is traced. It knows its trace and its abstract value (aval):
shape, dtype and whether the dtype is weak, that is, taken from a Python scalar and ready to give way. Python
sees no number in it, so everything that needs one (`if x:`, `int(x)`, `np.asarray(x)`) ends in an error that
says so.

Avals are interned: equal ones are the same object. That makes them dictionary keys that hash by address, and
it is why one call of a compiled function costs about a microsecond of bookkeeping.

JAX: jax/_src/core.py:Primitive
"""

from __future__ import annotations

import functools
import operator
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, ClassVar, cast

import numpy as np

from . import config, dtypes, errors, source_info
from .effects import Effects
from .operators import Operators, question

# --- abstract values ----------------------------------------------------------------------------------------


class ShapedArray:
    """The type of an array: shape (tuple of ints), dtype, and `weak_type` (does the dtype give way in
    promotion?).
    """

    __slots__ = ("__weakref__", "dtype", "ndim", "shape", "size", "weak_type")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak_type: bool
    ndim: int
    size: int

    _interned: ClassVar[weakref.WeakValueDictionary[tuple[Any, ...], ShapedArray]] = (
        weakref.WeakValueDictionary()
    )
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __new__(cls, shape: Sequence[int], dtype: Any, weak_type: bool = False) -> ShapedArray:
        """The aval with these parts: always the same object for the same parts."""
        key = (tuple(shape), dtype, weak_type)
        self = cls._interned.get(key)
        if self is None:
            element = dtype if isinstance(dtype, dtypes.ExtendedDType) else np.dtype(dtype)
            self = cls._make(tuple(map(operator.index, shape)), element, bool(weak_type))
        return self

    @classmethod
    def _make(cls, shape: tuple[int, ...], dtype: Any, weak_type: bool) -> ShapedArray:
        with cls._lock:  # two threads must not intern two equal avals
            key = (shape, dtype, weak_type)
            self = cls._interned.get(key)
            if self is None:
                self = object.__new__(cls)
                self.shape, self.dtype, self.weak_type = key
                self.ndim = len(shape)
                self.size = int(np.prod(shape, dtype=object)) if shape else 1
                cls._interned[key] = self
            return self

    def update(
        self, shape: Sequence[int] | None = None, dtype: Any = None, weak_type: bool | None = None
    ) -> ShapedArray:
        """The same aval with some parts replaced."""
        return ShapedArray(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
        )

    def strip_weak_type(self) -> ShapedArray:
        """The aval without its weakness: two branches of a conditional, say, must agree up to it."""
        return self.update(weak_type=False) if self.weak_type else self

    def str_short(self, short_dtypes: bool = False) -> str:
        """`float32[3,4]`, or `f32[3,4]` as jaxprs have it."""
        name = dtypes.short_dtype_name(self.dtype) if short_dtypes else self.dtype.name
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})"

    def __str__(self) -> str:
        return ("~" if self.weak_type else "") + self.str_short()

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapedArray, (self.shape, self.dtype, self.weak_type)


def physical_aval(aval: Any) -> Any:
    """The aval of what is on the device: for an array of an extended dtype, one with the axes of its elements
    behind its own; any other aval itself.
    """
    dtype = getattr(aval, "dtype", None)
    if not isinstance(dtype, dtypes.ExtendedDType):
        return aval
    return ShapedArray((*aval.shape, *dtype.physical_shape), dtype.physical_dtype)


class AbstractToken:
    """The type of a token, which orders effects: it carries no data."""

    shape: ClassVar[tuple[int, ...]] = ()
    weak_type: ClassVar[bool] = False

    def str_short(self, short_dtypes: bool = False) -> str:
        """`Tok`, in either style."""
        return "Tok"

    def strip_weak_type(self) -> AbstractToken:
        """Tokens have no dtype to be weak."""
        return self

    def __repr__(self) -> str:
        return "AbstractToken()"


abstract_token = AbstractToken()

# How to find the aval of a concrete value, by its exact type. `array` and `runtime` add theirs.
aval_of_type: dict[type, Callable[[Any], Any]] = {}
# Asked about types that are in no table: returns an aval function, or None. The runtime knows `jax.Array`.
foreign_types: list[Callable[[type], Callable[[Any], Any] | None]] = []


def get_aval(x: Any) -> Any:
    """The aval of a value: of a Tracer, an Array, a `jax.Array`, a numpy array, a numpy or Python scalar.
    TypeError otherwise.
    """
    if isinstance(x, Tracer):
        return x.aval
    find = aval_of_type.get(type(x)) or _find_aval_function(type(x))
    if find is None:
        raise TypeError(f"Value {x!r} with type {type(x)} is not a valid JAX type")
    return find(x)


def typeof(x: Any) -> Any:
    """The aval of a value; TypeError for what is not an array."""
    if not is_array_type(type(x)):
        kind = type(x) if isinstance(x, str) else f"'{type(x)}'"
        raise TypeError(f"Argument '{x}' of type {kind} is not a valid JAX type")
    return get_aval(x)


def is_array_type(t: type) -> bool:
    """Whether values of this type are accepted as arrays (Tracers are)."""
    return t in aval_of_type or issubclass(t, Tracer) or _find_aval_function(t) is not None


def is_array_value(x: Any) -> bool:
    """Whether a value is accepted as an array: numpy's arrays are, but not those of texts or objects."""
    try:
        get_aval(x)
    except TypeError:
        return False
    return True


def _find_aval_function(t: type) -> Callable[[Any], Any] | None:
    for base in t.__mro__:
        if base in aval_of_type:
            found = aval_of_type[base]
            break
    else:
        for ask in foreign_types:
            answer = ask(t)
            if answer is not None:
                found = answer
                break
        else:
            return None
    aval_of_type[t] = found
    return found


def _aval_of_numpy(x: Any) -> ShapedArray:
    return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype))


def _aval_of_ndarray(x: Any) -> ShapedArray:
    if type(x).__module__.startswith("numpy.ma"):  # by name: importing numpy.ma takes 7 ms
        return _refuse_masked_array(x)
    if not dtypes.is_array_dtype(x.dtype):
        raise TypeError(
            f"Value {x!r} with dtype {x.dtype} is not a valid JAX array type. Only arrays of numeric types "
            "are supported by JAX."
        )
    return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype))


def _refuse_masked_array(x: Any) -> ShapedArray:
    raise ValueError(
        "numpy masked arrays are not supported as direct inputs to JAX functions. Use arr.filled() to convert the "
        "value to a standard numpy array."
    )


def _aval_of_python_scalar(python_type: type) -> Callable[[Any], ShapedArray]:
    def find(x: Any) -> ShapedArray:
        dtype = dtypes.canonical_scalar_dtype(python_type)
        if python_type is int:
            dtypes.check_int_fits(x, dtype)
        return ShapedArray((), dtype, weak_type=python_type is not bool)

    return find


aval_of_type[np.ndarray] = _aval_of_ndarray
for _scalar in (bool, int, float, complex):
    aval_of_type[_scalar] = _aval_of_python_scalar(_scalar)
for _numpy_scalar in dtypes.numpy_scalar_types:
    aval_of_type[_numpy_scalar] = _aval_of_numpy


# --- primitives ---------------------------------------------------------------------------------------------

# Results of shape rules remembered per primitive; cleared when full, so that random shapes cannot fill memory.
_MEMO_LIMIT = 8192


class Primitive:
    """An operation: a name, a shape rule, and (in tables of other modules) a lowering and rules for other
    traces.

    `multiple_results` says that results come as a list. `pure_shape_rule=False` turns off the memory of the
    shape rule, for primitives whose parameters hold jaxprs: remembering those would keep them, and the arrays
    in them, alive.
    """

    __slots__ = (
        "__weakref__",
        "_memo",
        "_shape_rule",
        "effects",
        "multiple_results",
        "name",
        "pure_shape_rule",
    )

    def __init__(self, name: str, multiple_results: bool = False, pure_shape_rule: bool = True) -> None:
        self.name = name
        self.multiple_results = multiple_results
        self.pure_shape_rule = pure_shape_rule
        self.effects: Callable[[dict[str, Any]], Effects] | None = (
            None  # params -> effects; None: there are none
        )
        self._shape_rule: Callable[..., Any] | None = None
        self._memo: dict[Any, Any] = {}

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the shape rule: `rule(*avals, **params)` returns an aval, or a list of them, or raises
        TypeError.
        """
        self._shape_rule = rule
        return rule

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        """The avals of the results."""
        if self._shape_rule is None:
            raise NotImplementedError(f"primitive {self.name} has no shape rule")
        if not self.pure_shape_rule:
            return self._shape_rule(*avals, **params)
        key = (avals, *params.items()) if params else avals
        try:
            return self._memo[key]
        except KeyError:
            out = self._shape_rule(*avals, **params)
        except TypeError as error:
            unhashable = next((f"{k}={v!r}" for k, v in params.items() if not _is_hashable(v)), None)
            if unhashable is None:
                raise
            raise TypeError(
                f"parameters of primitive {self.name} must be hashable, got {unhashable}"
            ) from error
        if len(self._memo) >= _MEMO_LIMIT:
            self._memo.clear()
        self._memo[key] = out
        return out

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive under the current trace: run it, record it, or whatever that trace does."""
        trace = config.local.state.trace
        try:
            if trace is None:
                return eager.apply(self, args, params)
            return trace.process_primitive(self, args, params)
        except TypeError:
            position = next((i for i, x in enumerate(args) if not is_array_value(x)), None)
            if position is None:
                raise
            raise _refused_operand(self, position, args[position]) from None

    def __repr__(self) -> str:
        return self.name


def _refused_operand(primitive: Primitive, position: int, value: Any) -> TypeError:
    return TypeError(
        f"Error interpreting argument to {primitive.name} as a JAX value. The problematic value is of type "
        f"{type(value)} and was passed to {primitive.name} at position {position}.{errors.about_jax_tracer(value)}"
    )


def _is_hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


class _Eager:
    """Slot for what `bind` does when there is no trace. `dispatch` fills it."""

    apply: Callable[[Primitive, tuple[Any, ...], dict[str, Any]], Any]


eager = _Eager()


# --- traces -------------------------------------------------------------------------------------------------


class Trace:
    """What happens to the operations of a function while it is called in a special way.

    `alive` turns False when the trace ends; a tracer that is met afterwards has leaked.
    """

    __slots__ = ("__weakref__", "alive", "parent")

    def __init__(self, parent: Trace | None) -> None:
        self.parent = parent
        self.alive = True

    def process_primitive(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Receive one application of a primitive; operands may be tracers of this or an outer trace, or
        concrete values.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what to do with {primitive}")

    def note(self, args: Sequence[Any]) -> None:
        """Hear of the arguments of a library function before it runs."""

    def ancestors(self) -> Iterator[Trace]:
        """The traces around this one, from the inside out."""
        trace = self.parent
        while trace is not None:
            yield trace
            trace = trace.parent

    def end(self) -> None:
        """Close the trace: its tracers are dead from now on."""
        self.alive = False


def innermost_trace(values: Iterable[Any]) -> Trace | None:
    """The living trace that the tracers among the values belong to; of several, the one that began last."""
    found: Trace | None = None
    for x in values:
        if isinstance(x, Tracer) and x._trace.alive and (found is None or found in x._trace.ancestors()):
            found = x._trace
    return found


def current_trace() -> Trace | None:
    """The calling thread's trace, or None while it runs eagerly."""
    trace: Trace | None = config.local.state.trace
    return trace


class set_current_trace:
    """Make `trace` the thread's current trace inside the block; the one before comes back however the block
    ends.
    """

    __slots__ = ("_before", "_state", "_trace")

    def __init__(self, trace: Trace | None) -> None:
        self._trace = trace

    def __enter__(self) -> None:
        state = self._state = config.local.state
        self._before = state.trace
        state.trace = self._trace
        state.refresh_key()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._state.trace = self._before
        self._state.refresh_key()


def ensure_compile_time_eval() -> set_current_trace:
    """Context manager: run the operations of the block now, on concrete values, although a trace is active."""
    return set_current_trace(None)


def trace_state_clean() -> bool:
    """Whether no trace is active in this thread."""
    return config.local.state.trace is None


# --- tracers ------------------------------------------------------------------------------------------------


class _Unstacking:
    """Slot for `lax.index_in_dim`, which iteration over a tracer is made of."""

    index_in_dim: Callable[..., Any]


unstacking = _Unstacking()


class Tracer(Operators):
    """Stands for an array while a function is traced: it has an aval and no value."""

    __slots__ = ("__weakref__", "_trace", "aval")
    __array_priority__ = 1000

    def __init__(self, trace: Trace, aval: Any) -> None:
        self._trace = trace
        self.aval = aval

    # what is known while tracing

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
            raise TypeError("len() of unsized object")
        length: int = self.aval.shape[0]
        return length

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self).__name__!r}")

    def __iter__(self) -> Iterator[Any]:
        if not self.aval.shape:
            raise TypeError("iteration over a 0-d array")
        return (unstacking.index_in_dim(self, i, 0, keepdims=False) for i in range(self.aval.shape[0]))

    def __reversed__(self) -> Iterator[Any]:
        return iter(operator.getitem(cast(Any, self), slice(None, None, -1)))

    # what is not

    def __getattr__(self, name: str) -> Any:
        """The error for an attribute that only a concrete array has, or that nothing has."""
        if name in _METHODS_OF_VALUES:
            return functools.partial(_refuse_method, self, name)
        if name in _ATTRIBUTES_OF_VALUES:
            raise errors.ConcretizationTypeError(
                self, f"The '{name}' attribute is not available on {self._error_repr()}.{self._origin_msg()}"
            )
        if name in ("block_until_ready", "copy_to_host_async"):
            raise AttributeError(
                f"The '{name}' method is not available on {self._error_repr()}.{self._origin_msg()}"
            )
        if name == "sharding":
            raise AttributeError(
                f"The 'sharding' attribute is not available on {self._error_repr()}. To query sharding information "
                f"on tracers, use `jax.typeof(x)`.{self._origin_msg()}"
            )
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    def __bool__(self) -> bool:
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

    # how it shows itself

    def _conversion_context(self, function: str) -> str:
        return (
            f"The problem arose with the `{function}` function. If trying to convert the data type of a "
            "value, "
            f"try using `x.astype({function})` or `jnp.array(x, {function})` instead."
        )

    def _error_repr(self) -> str:
        return f"traced array with shape {self.aval.str_short()}"

    def _origin_msg(self) -> str:
        """A sentence on where the value comes from, starting with a newline; empty when nothing is known."""
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"


# What `Array` has and a traced value cannot have. `hasattr` is true of the methods, as in JAX.
_METHODS_OF_VALUES = frozenset(
    (
        "__dlpack__", "addressable_data", "delete", "devices", "is_deleted", "item", "on_device_size_in_bytes",
        "tobytes", "tolist", "unsafe_buffer_pointer",
    )
)  # fmt: skip
_ATTRIBUTES_OF_VALUES = frozenset(
    ("addressable_shards", "committed", "is_fully_addressable", "is_fully_replicated")
)


def _refuse_method(tracer: Tracer, name: str, *args: Any, **kwargs: Any) -> Any:
    raise errors.ConcretizationTypeError(
        tracer, f"The {name}() method was called on {tracer._error_repr()}.{tracer._origin_msg()}"
    )


def check_scalar_conversion(x: Any) -> None:
    """TypeError unless `x` has no axes."""
    if x.ndim > 0:
        raise TypeError(f"Only scalar arrays can be converted to Python scalars; got arr.ndim={x.ndim}")


def check_integer_conversion(x: Any) -> None:
    """TypeError unless `x` is an integer scalar."""
    if x.shape != () or not dtypes.issubdtype(x.dtype, np.integer):
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")


def check_bool_conversion(x: Any) -> None:
    """ValueError unless `x` has exactly one element."""
    if x.size == 0:
        raise ValueError(
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array "
            "is not empty."
        )
    if x.size > 1:
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
        )


def escaped_tracer_error(tracer: Tracer, detail: str = "") -> errors.UnexpectedTracerError:
    """The error for a tracer that is met after its trace has ended: what it was, whose, and where it was
    made.
    """
    lines = []
    lines.append(
        "Encountered an unexpected tracer. A function transformed by JAX had a side effect, allowing for a "
        f"reference to an intermediate value with type {tracer.aval.str_short()} wrapped in a "
        f"{type(tracer).__name__} to escape the scope of the transformation."
    )
    lines.append(
        "A traced function must hand its values out by `return`. One was kept somewhere else (a global, a list, "
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
    """`force(x)` for a concrete x; a ConcretizationTypeError with `context` for a tracer."""
    if isinstance(x, Tracer):
        if force is operator.index:
            raise errors.TracerIntegerConversionError(x)
        raise errors.ConcretizationTypeError(x, context)
    return force(x)


def is_concrete(x: Any) -> bool:
    """Whether x has a value now."""
    return not isinstance(x, Tracer)


question.is_array_type = is_array_type

# Slot: JAX has `eval_jaxpr` in its `core`, ours stands in `jaxpr`, one floor up, which puts it here.
eval_jaxpr: Callable[..., list[Any]]
