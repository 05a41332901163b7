"""values -> dtype and weakness: 32 bits by default, and the promotion of mixed operands.

JAX departs from NumPy in two ways. *32 bits by default*: accelerators are slow or unable with 64, so a 64-bit
type is narrowed unless x64 mode is on (`canonicalize_dtype`). *Weak types*: a Python scalar has a kind but no
width, so `x * 2.0` keeps a bfloat16 `x` in bfloat16. A result made of weak values only is weak itself, in a
trace too.

Promotion is one picture, `_LATTICE`. The type of a result is the least upper bound of its operands: the
lowest type that can be reached, going up, from every one of them. Weak types are nodes like any other,
written `int*`, `float*` and `complex*`. Their place is the whole trick: `int*` is below all integers,
`float*` above those and below all floats. So int32 and a Python float meet in `float*`, which is the default
float, and bfloat16 and a Python float in bfloat16. The narrowest types have nothing above them: mixing two of
them is an error, not a guess.

All operands count at once: `result_type(a, b, c)` is not made of two steps. Answers for two operands are
remembered, because every traced operator asks.

JAX: jax/_src/dtypes.py:_type_promotion_lattice
"""

from __future__ import annotations

import functools
import warnings
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from ..base import config, traceback_util
from .element_types import (
    DType,
    ExtendedDType,
    bool_,
    check_valid_dtype,
    complex_,
    extended,
    finfo,
    float0,
    float_,
    iinfo,
    int_,
    is_array_dtype,
    isdtype,
    issubdtype,
    itemsize_bits,
    kinds,
    numpy_names,
    numpy_scalar_types,
    prng_key,
    python_type_of,
    scalar_types,
    short_dtype_name,
    supports_inf,
    to_complex_dtype,
    to_floating_dtype,
    to_inexact_dtype,
    to_numeric_dtype,
    uint,
)

__all__ = [
    "DType",
    "ExtendedDType",
    "Node",
    "TypePromotionError",
    "bool_",
    "canonical_scalar_dtype",
    "canonicalize_dtype",
    "check_and_canonicalize_user_dtype",
    "check_int_fits",
    "check_valid_dtype",
    "coerce_to_array",
    "complex_",
    "default_complex_dtype",
    "default_float_dtype",
    "default_int_dtype",
    "default_uint_dtype",
    "dtype",
    "extended",
    "finfo",
    "float0",
    "float_",
    "iinfo",
    "int_",
    "is_array_dtype",
    "is_python_scalar",
    "is_weakly_typed",
    "isdtype",
    "issubdtype",
    "itemsize_bits",
    "jax_dtype",
    "kinds",
    "lattice_result_type",
    "least_upper_bound",
    "numpy_names",
    "numpy_scalar_types",
    "prng_key",
    "promote_types",
    "python_scalar_dtypes",
    "python_scalar_types",
    "python_type_of",
    "result_type",
    "safe_to_cast",
    "scalar_type_of",
    "scalar_type_to_dtype",
    "scalar_types",
    "short_dtype_name",
    "supports_inf",
    "to_complex_dtype",
    "to_floating_dtype",
    "to_inexact_dtype",
    "to_numeric_dtype",
    "uint",
    "upper_bounds",
]

# A node of the lattice: a dtype, or for the weak types Python's int, float, complex.
Node: TypeAlias = "DType | type"

# What Python's scalars are before narrowing.
python_scalar_dtypes: dict[type, DType] = {
    bool: np.dtype(bool_),
    int: np.dtype(int_),
    float: np.dtype(float_),
    complex: np.dtype(complex_),
}
python_scalar_types = frozenset(python_scalar_dtypes)

_DEFAULT_BY_KIND = {"b": bool_, "u": uint, "i": int_, "f": float_, "c": complex_}
_TO_32_BITS: dict[DType, DType] = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("complex64"),
}


# --- 32 bits by default -------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def _canonical(x64: bool, dtype: Any) -> Any:
    if isinstance(dtype, ExtendedDType):
        return dtype
    given = np.dtype(dtype)
    return given if x64 else _TO_32_BITS.get(given, given)


def canonicalize_dtype(dtype: Any) -> DType:
    """The NumPy dtype, narrowed to 32 bits unless x64 mode is on. TypeError where NumPy does not know it."""
    canonical: DType = _canonical(config.local.state.options.enable_x64, dtype)
    return canonical


def canonical_scalar_dtype(python_type: type) -> DType:
    """The dtype of bool, int, float or complex: int32, float32, complex64, and twice that in x64 mode."""
    return canonicalize_dtype(python_scalar_dtypes[python_type])


def default_int_dtype() -> DType:
    """int32, or int64 in x64 mode."""
    return canonicalize_dtype(int_)


def default_uint_dtype() -> DType:
    """uint32, or uint64 in x64 mode."""
    return canonicalize_dtype(uint)


def default_float_dtype() -> DType:
    """float32, or float64 in x64 mode."""
    return canonicalize_dtype(float_)


def default_complex_dtype() -> DType:
    """complex64, or complex128 in x64 mode."""
    return canonicalize_dtype(complex_)


def jax_dtype(spec: Any = None) -> DType:
    """`numpy.dtype(spec)`, but Python's types and None give JAX's defaults: `jax_dtype(float)` is float32."""
    if spec is None:
        return default_float_dtype()
    if isinstance(spec, type) and spec in python_scalar_types:
        return canonical_scalar_dtype(spec)
    given: DType = np.dtype(spec)
    return given


def check_and_canonicalize_user_dtype(dtype: Any, fun_name: str = "") -> DType:
    """The dtype to use where a user wrote `dtype=...`. Narrowing is warned about, but not of Python's types.

    Args:
      dtype: a dtype, scalar type or name.
      fun_name: the function that the user called, for messages.

    Raises:
      ValueError: for None, and for an array in place of its dtype.
      TypeError: for a type that arrays cannot have, or that NumPy does not know.
    """
    if dtype is None:
        raise ValueError("dtype must be specified.")
    if isinstance(dtype, type) and dtype in python_scalar_types:
        return canonical_scalar_dtype(dtype)
    if isinstance(dtype, ExtendedDType):
        return canonicalize_dtype(dtype)
    if hasattr(dtype, "weak_type") and not isinstance(dtype, type):
        raise ValueError(
            "Passing an array as a dtype argument is no longer supported; instead of dtype=arr use "
            "dtype=arr.dtype."
        )
    requested = np.dtype(dtype)
    if not is_array_dtype(requested):
        where = f" in {fun_name}" if fun_name else ""
        raise TypeError(f"JAX only supports number, bool, and string dtypes, got dtype {dtype}{where}")
    return _narrow_with_warning(requested, fun_name)


def _narrow_with_warning(requested: DType, fun_name: str) -> DType:
    canonical = canonicalize_dtype(requested)
    if canonical != requested:
        where = f" requested in {fun_name}" if fun_name else ""
        warnings.warn(
            f"Explicitly requested dtype {requested}{where} is not available, and will be truncated to dtype "
            f"{canonical.name}. To enable more dtypes, set the jax_enable_x64 configuration option or the "
            "JITKIT_ENABLE_X64 shell environment variable. "
            "See https://github.com/jax-ml/jax#current-gotchas for more.",
            stacklevel=traceback_util.stacklevel(),
        )
    return canonical


# --- the dtype of a value -----------------------------------------------------------------------------------


def is_python_scalar(x: Any) -> bool:
    """Whether `x` is exactly a bool, int, float or complex; `numpy.float64`, a subclass of float, is not."""
    return type(x) in python_scalar_types


def is_weakly_typed(x: Any) -> bool:
    """Whether `x` has a kind but no width of its own: a Python number, or a value that has `weak_type`."""
    x_type = type(x)
    return x_type is int or x_type is float or x_type is complex or getattr(x, "weak_type", False) is True


def dtype(x: Any) -> DType:
    """The dtype of a value, scalar, scalar type, dtype or name of a dtype, narrowed unless x64 mode is on.

    Values with a `weak_type` (Array, Tracer, ShapedArray) keep the dtype that they have: they were narrowed
    when they were made, and what was made in x64 mode stays what it is.

    Raises:
      ValueError: for None.
      TypeError: where `x` has no dtype, or one that arrays cannot have.
    """
    if type(x) in python_scalar_types:
        return canonical_scalar_dtype(type(x))
    if x is None:
        raise ValueError(f"Invalid argument to dtype: {x}.")
    if isinstance(x, type):
        if x in python_scalar_types:
            return canonical_scalar_dtype(x)
        if issubclass(x, np.generic):
            return _narrow_with_warning(np.dtype(x), "dtype")
    elif hasattr(x, "weak_type"):
        known: DType = x.dtype
        return known
    elif isinstance(x, (str, np.dtype)):
        return _narrow_with_warning(_checked(x, np.dtype(x)), "dtype")
    elif isinstance(x, ExtendedDType):
        return canonicalize_dtype(x)
    return canonicalize_dtype(_checked(x, _found_dtype(x)))


def _found_dtype(x: Any) -> Any:
    found = getattr(x, "dtype", None)
    if isinstance(found, (np.dtype, ExtendedDType)):
        return found
    try:
        return np.result_type(x)
    except TypeError as error:
        raise TypeError(f"Cannot determine dtype of {x}") from error


def _checked(x: Any, found: Any) -> Any:
    if not is_array_dtype(found):
        raise TypeError(
            f"Value '{x}' with dtype {found} is not a valid JAX array type. "
            "Only arrays of numeric types are supported by JAX."
        )
    return found


def scalar_type_of(x: Any) -> type:
    """bool, int, float or complex: the Python type of one element of a value, a type or a dtype."""
    found = dtype(x)
    if found not in kinds:
        raise TypeError(f"Invalid scalar value {x}")
    return python_type_of(found)


@functools.cache
def _limits_of_integers(dtype: DType) -> tuple[int, int]:
    limits = np.iinfo(dtype)  # each of its properties is computed anew when it is read
    return int(limits.min), int(limits.max)


def check_int_fits(value: int, dtype: DType) -> None:
    """OverflowError where an integer dtype cannot hold a Python int."""
    least, greatest = _limits_of_integers(dtype)
    if not least <= value <= greatest:
        raise OverflowError(f"Python int {value} too large to convert to {dtype}")


def scalar_type_to_dtype(python_type: type, value: Any = None) -> DType:
    """`canonical_scalar_dtype`, and an OverflowError where `value` is an int that does not fit into it."""
    chosen = canonical_scalar_dtype(python_type)
    if python_type is int and value is not None:
        check_int_fits(value, chosen)
    return chosen


def coerce_to_array(x: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """A NumPy array of a Python or NumPy scalar or array, in JAX's dtype for it unless `dtype` is given.

    Raises:
      OverflowError: for a Python int that does not fit.
    """
    if dtype is None:
        scalar = is_python_scalar(x)
        dtype = scalar_type_to_dtype(type(x), x) if scalar else canonicalize_dtype(np.asarray(x).dtype)
    return np.asarray(x, dtype)


# --- promotion ----------------------------------------------------------------------------------------------

# Each type, and what lies directly above it. Weak types are starred. Floats and integers of fewer bits hang
# from float* and int* with nothing above them; they are not drawn.
#
#               .-> u8 -> u16 -> u32 -> u64 -.            .-> bf16 -.
#  bool -> int* |     \      \      \        +-> float* --+-> f16 --+-> f32 --> f64 --.
#               '-> i8 -> i16 -> i32 -> i64 -'     \                      \            \
#                                                   '-> complex* ----------'-> c64 -----'-> c128
_NARROW_INTS = ("uint1", "uint2", "uint4", "int1", "int2", "int4")
_NARROW_FLOATS = tuple(name for name in scalar_types if name.startswith(("float4_", "float6_", "float8_")))
_LATTICE: dict[str, tuple[str, ...]] = {
    "bool": ("int*",),
    "int*": ("uint8", "int8", *(name for name in _NARROW_INTS if name in scalar_types)),
    "uint8": ("uint16", "int16"),
    "uint16": ("uint32", "int32"),
    "uint32": ("uint64", "int64"),
    "uint64": ("float*",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float*",),
    "float*": ("bfloat16", "float16", "complex*", *_NARROW_FLOATS),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "complex*": ("complex64",),
    "complex64": ("complex128",),
}
# Only uint32 and int32 are 32-bit types that meet in a 64-bit one. Without x64 they meet in int32.
_LATTICE_32 = _LATTICE | {"uint32": ("uint64", "int32")}

_WEAK: dict[str, type] = {"int*": int, "float*": float, "complex*": complex}


class TypePromotionError(ValueError):
    """Operands have no type in common that they could be converted to without being asked."""


@functools.cache
def upper_bounds(x64: bool) -> dict[Node, frozenset[Node]]:
    """For each node of the lattice, those that can be reached from it going up, itself among them."""
    lattice = _LATTICE if x64 else _LATTICE_32
    nodes: dict[str, Node] = {**_WEAK, **{name: np.dtype(cls) for name, cls in scalar_types.items()}}

    def reach(name: str) -> frozenset[Node]:
        return frozenset((nodes[name],)).union(*map(reach, lattice.get(name, ())))

    return {node: reach(name) for name, node in nodes.items()}


@functools.lru_cache(maxsize=4096)
def least_upper_bound(x64: bool, *nodes: Node) -> Node:
    """The lowest node of the lattice that is above all of `nodes`: the type that operands of these types are
    converted to. A node is a dtype, or `int`, `float`, `complex` for a weak type.

    `upper_bounds(x64)` has the lattice: for each node the set of those that can be reached going up from it, the
    node itself among them. What is above all of them is in all of their sets; lowest is the one from which all
    others of these can be reached.

    Raises:
      ValueError: where one of them is not in the lattice.
      TypePromotionError: where there is no such node; `no_promotion_path(nodes)` is its message.
    """
    bounds = upper_bounds(x64)
    for node in nodes:
        if node not in bounds:
            raise ValueError(f"dtype={node!r} is not a valid dtype for JAX type promotion.")
    common = frozenset.intersection(*(bounds[node] for node in nodes))
    for candidate in common:
        if common <= bounds[candidate]:
            return candidate
    raise TypePromotionError(no_promotion_path(nodes))


def no_promotion_path(nodes: tuple[Node, ...]) -> str:
    """The message for types that nothing is above of: which, and how to convert them by hand."""
    message = f"Input dtypes {tuple(map(str, nodes))} have no available implicit dtype promotion path. "
    dtypes = [np.dtype(node) for node in nodes]
    for narrow_kinds, widths, plural, wide in (
        ("f", (8,), "8-bit floats", "float32"),
        ("f", (6,), "6-bit floats", "float32"),
        ("f", (4,), "4-bit floats", "float32"),
        ("iu", (1, 2, 4), "1-bit, 2-bit and 4-bit integers", "int32"),
    ):
        if any(kinds[node] in narrow_kinds and itemsize_bits(node) in widths for node in dtypes):
            return (
                f"{message}To avoid unintended promotion, {plural} do not support implicit promotion. "
                "If you'd like your inputs to be promoted to another type, you can do so explicitly using "
                f"e.g. x.astype('{wide}')"
            )
    return f"{message}Try explicitly casting inputs to the desired output type."


def promote_types(a: Any, b: Any) -> DType:
    """The dtype of an operation on two dtypes. Python's int, float and complex stand for weak ones.

    Raises:
      TypePromotionError: where they have none in common.
    """
    node_a, node_b = (spec if _is_weak_node(spec) else np.dtype(spec) for spec in (a, b))
    return np.dtype(least_upper_bound(config.x64(), node_a, node_b))


def _is_weak_node(spec: Any) -> bool:
    # Not `spec in (int, float, complex)`: np.dtype("float64") == float.
    return spec is int or spec is float or spec is complex


def _dtype_and_weakness(x: Any) -> tuple[DType, bool]:
    return dtype(x), _is_weak_node(x) or is_weakly_typed(x)


@functools.lru_cache(maxsize=4096)
def _promote(x64: bool, *operands: tuple[DType, bool]) -> tuple[DType, bool]:
    """The dtype and the weakness of an operation on operands with these dtypes and weaknesses."""
    dtypes = tuple(dict.fromkeys(operand for operand, _ in operands))
    weak = all(weak for _, weak in operands)
    if len(dtypes) == 1 and not weak:
        result = dtypes[0]  # extended dtypes, which are not in the lattice, take this way
    elif weak:
        # Weak values do have widths, of which the widest wins as it does among strong ones.
        result = _canonical(x64, least_upper_bound(x64, *dtypes))
    else:
        bound = least_upper_bound(x64, *dict.fromkeys(_node(operand, weak) for operand, weak in operands))
        weak = _is_weak_node(bound)
        result = _canonical(x64, bound)
    return result, weak and result != np.bool_


def _node(operand: DType, weak: bool) -> Node:
    """The node of a value. There is no weak bool: bool is below everything as it is."""
    return python_type_of(operand) if weak and operand != np.bool_ else operand


def lattice_result_type(*args: Any) -> tuple[DType, bool]:
    """The dtype and the weakness of an operation on values, scalars or dtypes, as the lattice has it.

    Unlike in `result_type`, a weak result has the width of its operands, not the default one.
    """
    return _promote(config.x64(), *map(_dtype_and_weakness, args))


# What `result_type` said of two operands, by x64 mode, dtypes and weaknesses: a few hundred entries.
_answers: dict[tuple[Any, ...], tuple[DType, bool]] = {}


@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = False) -> DType: ...
@overload
def result_type(*args: Any, return_weak_type_flag: Literal[True]) -> tuple[DType, bool]: ...
def result_type(*args: Any, return_weak_type_flag: bool = False) -> DType | tuple[DType, bool]:
    """The dtype of an operation on values, scalars or dtypes; with the flag, also whether the result is weak.

    Two operands with a `weak_type` (Array, Tracer, ShapedArray) cost one lookup, 0.2 us. Python and NumPy
    values take ten times as long: in a hot place, pass their avals.

    Raises:
      ValueError: without arguments.
      TypePromotionError: where the operands have no type in common.
    """
    try:
        a, b = args
        answer = _answers[config.local.state.options.enable_x64, a.dtype, a.weak_type, b.dtype, b.weak_type]
    except (AttributeError, KeyError, ValueError):
        answer = _result_type(args)
    return answer if return_weak_type_flag else answer[0]


def _result_type(args: tuple[Any, ...]) -> tuple[DType, bool]:
    if not args:
        raise ValueError("at least one array or dtype is required")
    x64 = config.x64()
    operands = [_dtype_and_weakness(default_float_dtype() if arg is None else arg) for arg in args]
    result, weak = _promote(x64, *operands)
    if weak:
        result = _canonical(x64, _DEFAULT_BY_KIND[kinds[result]])
    if len(operands) == 2:
        _answers[x64, *operands[0], *operands[1]] = result, weak
    return result, weak


def safe_to_cast(source: Any, target: Any) -> bool:
    """Whether promotion, too, would turn the one's dtype into the other's: int16 into float32, not back."""
    target_dtype = dtype(target)
    return result_type(source, target_dtype) == target_dtype
