"""operation + operands -> result: primitives, and the one function through which each of them goes, `bind`.

Every operation of the library ends in `Primitive.bind(*operands, **params)`. What it then does depends only on the
*current trace* of the thread:

- no trace: the operation runs, now, on concrete arrays (`dispatch` fills the slot `eager`);
- a trace: its `process_primitive` receives the primitive, its operands and parameters (`trace`).

This module also decides which values can be operands: tracers, and values that have an aval because their type is in
`aval_of_type`, or is known to the slot `foreign`.

JAX: jax/_src/core.py:Primitive
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..base import config, errors
from ..base.late_rooms import Slots
from . import dtypes
from .avals import ShapedArray
from .effects import Effects
from .operators import question
from .tracer import Tracer

# --- which values are arrays --------------------------------------------------------------------------------

# type -> the function that returns the aval of a concrete value of it. `array` and `runtime` add theirs.
aval_of_type: dict[type, Callable[[Any], Any]] = {}

# types whose values have an aval and are not arrays: tokens
not_arrays: set[type] = set()


class _Foreign(Slots):
    """A slot that `runtime` fills: `aval_function(type)` returns the function from values of this type to their avals,
    or None for an unknown type. It is called for types that are not in `aval_of_type`, such as `jax.Array`.
    """

    aval_function: Callable[[type], Callable[[Any], Any] | None]


foreign = _Foreign()


def get_aval(x: Any) -> Any:
    """Return the aval of a value: a Tracer, an Array, an array of the real JAX, a token, a numpy array, a numpy or Python scalar.

    Raises:
      TypeError: for anything else.
      ValueError: for a masked array, and for a value with a method `__jax_array__`.
      OverflowError: for a Python int that does not fit into its dtype.
    """
    if isinstance(x, Tracer):
        return x.aval
    find = aval_of_type.get(type(x)) or _find_aval_function(type(x))
    if find is None:
        refuse_jax_array(x)
        raise TypeError(f"Value {x!r} with type {type(x)} is not a valid JAX type{errors.about_value_of_jax(x)}")
    return find(x)


def has_jax_array(x: Any) -> bool:
    """Return whether another library's value can be converted by its `__jax_array__`, which is None in JAX's tracers."""
    return getattr(x, "__jax_array__", None) is not None


def refuse_jax_array(x: Any) -> None:
    """Raise ValueError for a value with a `__jax_array__`: an argument of a transformation is not converted."""
    if has_jax_array(x) and not errors.about_value_of_jax(x):
        raise ValueError(
            "Triggering __jax_array__() during abstractification is no longer supported. To avoid this error, either "
            "explicitly convert your object using jax.numpy.array(), or register your object as a pytree.\n"
            f"It is of type {type(x)}."
        )


# Types that stand for arrays in a jaxpr without having values: `shape_struct` adds its own.
aval_without_value: dict[type, Callable[[Any], Any]] = {}


def aval_of_constant(x: Any) -> Any:
    """Return the aval of a jaxpr's constant, which may be a `ShapeDtypeStruct`, without a value."""
    return aval_without_value.get(type(x), get_aval)(x)


def typeof(x: Any) -> Any:
    """Return the aval of an array, a number or a token. Raise what `get_aval` raises, with another message for TypeError."""
    if not is_array_type(type(x)) and type(x) not in not_arrays:
        refuse_jax_array(x)
        kind = type(x) if isinstance(x, str) else f"'{type(x)}'"
        raise TypeError(f"Argument '{x}' of type {kind} is not a valid JAX type{errors.about_value_of_jax(x)}")
    return get_aval(x)


def is_array_type(t: type) -> bool:
    """Return whether values of this type are accepted as arrays (Tracers are)."""
    if t in aval_of_type:
        return t not in not_arrays
    return issubclass(t, Tracer) or _find_aval_function(t) is not None


def is_array_value(x: Any) -> bool:
    """Return whether a value is accepted as an array, or is a token. Numpy arrays are, except those of
    strings, dates or objects.
    Errors of `get_aval` other than TypeError pass through: ValueError for a masked array, for example.
    """
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
        answer = foreign.aval_function(t)
        if answer is None:
            return None
        found = answer
    aval_of_type[t] = found
    return found


def _aval_of_numpy(x: Any) -> ShapedArray:
    return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype))


def _aval_of_ndarray(x: Any) -> ShapedArray:
    if type(x).__module__.startswith("numpy.ma"):  # by name: importing numpy.ma takes 7 ms
        return _refuse_masked_array(x)
    if not dtypes.is_array_dtype(x.dtype):
        raise TypeError(
            f"Dtype {x.dtype} is not a valid JAX array type. Only arrays of numeric types are supported by JAX."
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


aval_of_type[np.ndarray] = aval_of_type[np.void] = _aval_of_ndarray  # void: a tangent of dtype float0
for _scalar in (bool, int, float, complex):
    aval_of_type[_scalar] = _aval_of_python_scalar(_scalar)
for _numpy_scalar in dtypes.numpy_scalar_types:
    aval_of_type[_numpy_scalar] = _aval_of_numpy


# --- plain values that have the types of a trace ----------------------------------------------------------------------
# Outside of a trace, functions with rules of their own (`custom_jvp`, `custom_vjp`) and `checkpoint` get and return plain values. These
# have the dtypes that a trace would give them. JAX: jax/_src/literals.py:TypedFloat


class _Typed:
    """A number with a dtype and a weak type. It prints with the dtype."""

    aval: Any
    weak_type = True

    @property
    def dtype(self) -> Any:
        """The dtype that the number got from the mode (x64 or not) in which it was made."""
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dtypes.plain_number(self)}, dtype={self.dtype.name})"


class TypedInt(_Typed, int):
    """An int with a dtype."""


class TypedFloat(_Typed, float):
    """A float with a dtype."""

    __str__ = float.__repr__


class TypedComplex(_Typed, complex):
    """A complex number with a dtype."""


_TYPES: dict[type, Any] = {int: TypedInt, float: TypedFloat, complex: TypedComplex}
for _typed in _TYPES.values():
    aval_of_type[_typed] = operator.attrgetter("aval")


def with_dtypes(values: Iterable[Any]) -> list[Any]:
    """Return values as a list: ints, floats and complex numbers as numbers with a dtype, numpy values as arrays of the
    narrowed dtype, all others unchanged. Within a trace, return all values unchanged.
    """
    return list(values) if config.local.state.trace else [_with_dtype(x) for x in values]


def _with_dtype(x: Any) -> Any:
    if (typed := _TYPES.get(type(x))) is not None:
        number = typed(x)
        number.aval = get_aval(x)
        return number
    if (type(x) is np.ndarray or isinstance(x, np.generic)) and dtypes.is_array_dtype(x.dtype):
        return np.asarray(x, dtypes.canonicalize_dtype(x.dtype))
    return x


# --- primitives ---------------------------------------------------------------------------------------------

# A primitive remembers this many results of its shape rule, then forgets all: random shapes must not fill the memory.
_MEMO_LIMIT = 8192


class Primitive:
    """An operation: a name, a shape rule, and (in tables of other modules) a lowering and rules for other traces.

    `multiple_results` means that results come as a list. `pure_shape_rule=False` turns off the cache of the shape rule,
    for primitives whose parameters hold jaxprs: the cache would keep them, and the arrays in them, alive.
    """

    # Libraries' interpreters ask whether a primitive calls a function, as some did in older releases of JAX. None does here.
    call_primitive = map_primitive = False

    __slots__ = (
        "__weakref__",
        "_memo",
        "_shape_rule",
        "effects",
        "impl",
        "multiple_results",
        "name",
        "pure_shape_rule",
    )

    def __init__(self, name: str, multiple_results: bool = False, pure_shape_rule: bool = True) -> None:
        self.name = name
        self.multiple_results = multiple_results
        self.pure_shape_rule = pure_shape_rule
        self.effects: Callable[[dict[str, Any]], Effects] | None = None  # params -> effects; None: there are none
        self.impl: Callable[..., Any] | None = None  # a Python function on values; without it, a program is compiled
        self._shape_rule: Callable[..., Any] | None = None
        self._memo: dict[Any, Any] = {}

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the shape rule: `rule(*avals, **params)` returns an aval, or a list of them, or raises TypeError."""
        self._shape_rule = rule
        return rule

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Set the function to call without a trace: `impl(*values, **params)` returns the results. Most primitives have
        none, and are compiled.

        This also turns off the cache of the shape rule: it is mostly libraries that call this, and their rules may have side
        effects.
        """
        self.impl, self.pure_shape_rule = impl, False
        return impl

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters for `bind` from the parameters of an equation: they are the same."""
        return params

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        """Return what the shape rule returns: the aval of the result, or with `multiple_results` a list of avals. Raise
        NotImplementedError without a shape rule, TypeError if the rule is pure and a parameter cannot be hashed.
        """
        if self._shape_rule is None:
            raise NotImplementedError(f"primitive {self.name} has no shape rule")
        if not self.pure_shape_rule:
            return self._shape_rule(*avals, **params)
        key = (avals, *params.items()) if params else avals
        try:
            return self._memo[key]
        except KeyError:
            pass  # call the rule outside of this handler: otherwise its errors would also show the handled one
        except TypeError as error:
            unhashable = next((f"{k}={v!r}" for k, v in params.items() if not _is_hashable(v)), None)
            if unhashable is None:
                raise
            raise TypeError(f"parameters of primitive {self.name} must be hashable, got {unhashable}") from error
        out = self._shape_rule(*avals, **params)
        if len(self._memo) >= _MEMO_LIMIT:
            self._memo.clear()
        self._memo[key] = out
        return out

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive to operands, and return what the current trace makes of it.

        The thread's current trace is `config.local.state.trace`. Its method `process_primitive` receives the primitive,
        the operands as a tuple and the parameters as a dict. If the trace is None, `eager.apply`, which takes the same
        arguments, runs the operation now.

        Raise TypeError if an operand is not an array: after any TypeError call `check_arrays`, which raises a better one
        if an operand is to blame.
        """
        trace = config.local.state.trace
        try:
            if trace is None:
                return eager.apply(self, args, params)
            return trace.process_primitive(self, args, params)
        except TypeError:
            check_arrays(self, args)
            raise

    def __repr__(self) -> str:
        return self.name


_OPERANDS = (
    "\nOperands must be arrays or numbers. Make a list an array with `jnp.array`. A text cannot be computed with: "
    "choose by it in Python, with `if`."
)


def check_arrays(primitive: Primitive, args: tuple[Any, ...]) -> None:
    """Raise TypeError for the first operand that is not an array, with its position and type."""
    for position, value in enumerate(args):
        if not is_array_value(value):
            raise TypeError(
                f"Error interpreting argument to {primitive.name} as a JAX value. The problematic value is of type "
                f"{type(value)} and was passed to {primitive.name} at position {position}."
                f"{errors.about_value_of_jax(value) or _OPERANDS}"
            ) from None


def _is_hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


class _Eager(Slots):
    """Holds the function that runs an operation without a trace; `dispatch` puts it here."""

    apply: Callable[[Primitive, tuple[Any, ...], dict[str, Any]], Any]


eager = _Eager()


question.is_array_type = is_array_type
