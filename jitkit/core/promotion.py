"""types of operands -> the type of the result: promotion

`_LATTICE` defines promotion. The type of a result is the least upper bound of its operands: the lowest type that can be
reached, going up, from every one of them. Weak types are nodes, too, written `int*`, `float*` and `complex*`. Their
place matters: `int*` is below all integers, `float*` above integers of 8 bits and more, and below all floats. So int32
and a Python float meet in `float*`, which is the default float, and bfloat16 and a Python float meet in bfloat16. If
all operands are weak, the result is weak, also in a trace. The narrowest types (floats of at most 8 bits, integers of
fewer than 8) have nothing above them: mixing two of them, or one with float32, is an error.

With the option `numpy_dtype_promotion` at "strict" nothing lies above a dtype, and only weak types are converted
(`strict_bound`).

All operands count at once: `result_type(a, b, c)` does not take two steps. Results for two operands are cached.

JAX: jax/_src/dtypes.py:_type_promotion_lattice
"""

from __future__ import annotations

import functools
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from ..base import config
from .default_types import default_float_dtype, dtype, is_weakly_typed, narrowed
from .element_types import (
    DType,
    bool_,
    complex_,
    float_,
    int_,
    itemsize_bits,
    kinds,
    python_type_of,
    scalar_types,
    uint,
)

# A node of the lattice: a dtype, or for the weak types Python's int, float, complex.
Node: TypeAlias = "DType | type"

_DEFAULT_BY_KIND = {"b": bool_, "u": uint, "i": int_, "f": float_, "c": complex_}

# Each type, and what lies directly above it. Weak types are starred. The narrowest floats and integers are above float*
# and int*, with nothing above them; they are not drawn.
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
# uint32 and int32 are the only 32-bit types that meet in a 64-bit one. Without x64 they meet in int32.
_LATTICE_32 = _LATTICE | {"uint32": ("uint64", "int32")}

_WEAK: dict[str, type] = {"int*": int, "float*": float, "complex*": complex}


class TypePromotionError(ValueError):
    """Operands have no common type for implicit promotion."""


@functools.cache
def upper_bounds(x64: bool) -> dict[Node, frozenset[Node]]:
    """Return for each node of the lattice the nodes that are reached going up, itself included."""
    lattice = _LATTICE if x64 else _LATTICE_32
    nodes: dict[str, Node] = {**_WEAK, **{name: np.dtype(cls) for name, cls in scalar_types.items()}}

    @functools.cache  # many paths lead to the top: compute each node once
    def reach(name: str) -> frozenset[Node]:
        return frozenset((nodes[name],)).union(*map(reach, lattice.get(name, ())))

    return {node: reach(name) for name, node in nodes.items()}


@functools.lru_cache(maxsize=4096)
def least_upper_bound(x64: bool, *nodes: Node) -> Node:
    """Return the lowest node of the lattice that is above all of `nodes`: the type that operands of these types are
    converted to. A node is a dtype, or `int`, `float`, `complex` for a weak type.

    `upper_bounds(x64)` has for each node of the lattice the set of the nodes that are reached going up from it, including
    itself. A node above all of `nodes` is in all of their sets; the lowest such node is the one from which all other such
    nodes are reached.

    Raises:
      ValueError: a node is not in the lattice.
      TypePromotionError: there is no such node; `no_promotion_path(nodes)` is the message.
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


def strict_bound(nodes: tuple[Node, ...]) -> Node:
    """Return the type of the result under strict promotion, which does not convert a dtype to another. It converts a
    weak type to a later one in the order `int`, `float`, `complex`, or to a dtype of the same or a later kind. Raise
    TypePromotionError otherwise.
    """
    strong = {node for node in nodes if not _is_weak_node(node)}
    candidate = strong.pop() if strong else max(nodes, key=_height)
    if strong or any(_height(node) > _height(candidate) for node in nodes):
        raise TypePromotionError(
            f"Input dtypes {tuple(map(str, nodes))} have no available implicit dtype promotion path when "
            "jax_numpy_dtype_promotion=strict. Try explicitly casting inputs to the desired output type, or set "
            "jax_numpy_dtype_promotion=standard."
        )
    return candidate


def _height(node: Node) -> int:
    """Return the rank of a node's kind: a lower kind gives way to a higher one."""
    return (bool, *_WEAK.values()).index(node if _is_weak_node(node) else python_type_of(np.dtype(node)))


def no_promotion_path(nodes: tuple[Node, ...]) -> str:
    """Return the message for types without a common upper bound: it names them, and says how to convert."""
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
    """Return the dtype of an operation on two dtypes. Python's int, float and complex stand for weak types.

    Raises:
      TypePromotionError: they have no common type.
    """
    node_a, node_b = (spec if _is_weak_node(spec) else np.dtype(spec) for spec in (a, b))
    options = config.local.state.options
    return np.dtype(_bound(options.enable_x64, options.numpy_dtype_promotion, node_a, node_b))


def _bound(x64: bool, mode: str, *nodes: Node) -> Node:
    """Return the upper bound of nodes, by the option `numpy_dtype_promotion`."""
    return strict_bound(nodes) if mode == "strict" else least_upper_bound(x64, *nodes)


def _is_weak_node(spec: Any) -> bool:
    # Not `spec in (int, float, complex)`: np.dtype("float64") == float.
    return spec is int or spec is float or spec is complex


def _dtype_and_weakness(x: Any) -> tuple[DType, bool]:
    return dtype(x), _is_weak_node(x) or is_weakly_typed(x)


@functools.lru_cache(maxsize=4096)
def _promote(x64: bool, mode: str, *operands: tuple[DType, bool]) -> tuple[DType, bool, DType | None]:
    """Return the dtype, and whether it is weak, of an operation on operands with these dtypes. If values from x64 mode
    are narrowed here, also return the dtype before narrowing, else None.
    """
    wide: Node | None = None
    dtypes = tuple(dict.fromkeys(operand for operand, _ in operands))
    weak = all(weak for _, weak in operands)
    if len(dtypes) == 1 and not weak:
        result = dtypes[0]  # extended dtypes are returned here, since they are not in the lattice
    elif weak and (mode == "standard" or len(operands) == 1):
        # Weak values also have widths. The widest counts, as for strong values.
        wide = least_upper_bound(x64, *dtypes)
        result = narrowed(x64, wide)
    else:
        wide = _bound(x64, mode, *dict.fromkeys(_node(operand, weak) for operand, weak in operands))
        weak = _is_weak_node(wide)
        result = narrowed(x64, wide)
    was_narrowed = wide is not None and not _is_weak_node(wide) and wide != result
    return result, weak and result != np.bool_, np.dtype(wide) if was_narrowed else None


def _node(operand: DType, weak: bool) -> Node:
    """Return the lattice node of a value. Bool has no weak form, since it is below everything anyway."""
    return python_type_of(operand) if weak and operand != np.bool_ else operand


def lattice_result_type(*args: Any) -> tuple[DType, bool]:
    """Return dtype and weakness of an operation on values, scalars or dtypes, from the lattice. A weak result has the
    width of its operands, not the default width as in `result_type`.
    """
    options = config.local.state.options
    result, weak, wide = _promote(options.enable_x64, options.numpy_dtype_promotion, *map(_dtype_and_weakness, args))
    if wide is not None:
        dtype(wide)  # warns
    return result, weak


# (relevant options, dtypes, weaknesses) -> `result_type` of two operands: a few hundred entries
_answers: dict[tuple[Any, ...], tuple[DType, bool]] = {}


@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = False) -> DType: ...
@overload
def result_type(*args: Any, return_weak_type_flag: Literal[True]) -> tuple[DType, bool]: ...
def result_type(*args: Any, return_weak_type_flag: bool = False) -> DType | tuple[DType, bool]:
    """Return the dtype of an operation on values, scalars or dtypes; with the flag, also whether the result is weak.

    Two operands with a `weak_type` (Array, Tracer, ShapedArray) take one look-up, 0.2 us; Python and NumPy values take
    ten times as long.

    Raises:
      ValueError: without arguments.
      TypePromotionError: the operands have no type in common.
    """
    try:
        a, b = args
        options = config.local.state.options
        answer = _answers[options.enable_x64, options.numpy_dtype_promotion, a.dtype, a.weak_type, b.dtype, b.weak_type]
    except (AttributeError, KeyError, ValueError):
        answer = None
    if answer is None:
        answer = _result_type(args)
    return answer if return_weak_type_flag else answer[0]


def _result_type(args: tuple[Any, ...]) -> tuple[DType, bool]:
    if not args:
        raise ValueError("at least one array or dtype is required")
    options = config.local.state.options
    x64, mode = options.enable_x64, options.numpy_dtype_promotion
    operands = [_dtype_and_weakness(default_float_dtype() if arg is None else arg) for arg in args]
    result, weak, wide = _promote(x64, mode, *operands)
    if weak:
        result = narrowed(x64, _DEFAULT_BY_KIND[kinds[result]])
    if wide is not None:
        dtype(wide)  # warns each time
    elif len(operands) == 2:
        _answers[x64, mode, *operands[0], *operands[1]] = result, weak
    return result, weak


def safe_to_cast(source: Any, target: Any) -> bool:
    """Return whether promotion would convert `source`'s dtype to `target`'s: int16 to float32, but not the reverse."""
    target_dtype = dtype(target)
    return result_type(source, target_dtype) == target_dtype
