"""Says how precisely dot products are computed: `Precision`, the algorithms of some targets, and the option that sets a
default.

On TPU a product of float32 matrices is by default computed in bfloat16; on GPU in tensorfloat32 where that exists; on
CPU always in float32. `HIGH` and `HIGHEST` ask for more passes, an algorithm names the types exactly.

JAX: jax/_src/lax/lax.py:canonicalize_precision
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ..base import config
from ..core import dtypes
from ..interpreters.mlir import element_type


class Precision(enum.Enum):
    """Chooses between speed and accuracy of float32 products on accelerators: `DEFAULT` is the fastest, `HIGHEST` is
    full float32. `Precision("high")` and the other names in `PRECISION_NAMES` work too.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        return PRECISION_NAMES.get(value)

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


PRECISION_NAMES: dict[Any, Precision] = {
    "highest": Precision.HIGHEST, "float32": Precision.HIGHEST,
    "high": Precision.HIGH, "bfloat16_3x": Precision.HIGH, "tensorfloat32": Precision.HIGH,
    "default": Precision.DEFAULT, "bfloat16": Precision.DEFAULT, "fastest": Precision.DEFAULT,
    None: Precision.DEFAULT,
}  # fmt: skip


class DotAlgorithm(NamedTuple):
    """Says exactly how a dot product is computed: the types that operands are rounded to, and the type of the sum.

    The counts are above 1 for algorithms that emulate a wider type by several products of a narrower one.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Algorithms of at least one target, named LHS_RHS_SUM; one with X3 emulates a wider type by three products."""

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name


PrecisionLike = (
    None | str | Precision | tuple[str, str] | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset
)  # what users pass
CanonicalPrecision = None | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset


def canonicalize_precision(precision: Any) -> CanonicalPrecision:
    """Return a user's `precision` in the form that equations carry: None, a pair, or an algorithm. None means the
    option `default_matmul_precision`, and stays None if that is not set.

    Raises:
      ValueError: for anything but None, a `Precision` or its name, a pair of either, or an algorithm, a preset or its name.
    """
    if precision is None:
        default = config.local.state.options.default_matmul_precision
        return None if default is None else _parse_precision(default)
    known = _parse_precision(precision)
    if known is None:
        raise ValueError(
            "Precision argument must be one of:\n"
            "- None,\n"
            f"- a string in {list(PRECISION_NAMES)},\n"
            "- a lax.Precision value,\n"
            "- a tuple of two lax.Precision values or strings,\n"
            "- a lax.DotAlgorithmPreset or the name of one of these presets, or\n"
            "- a lax.DotAlgorithm value;\n"
            f"but got {precision}."
        )
    return known


def _parse_precision(precision: Any) -> CanonicalPrecision:
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__ and precision not in PRECISION_NAMES:
        return DotAlgorithmPreset[precision]
    pair = precision if isinstance(precision, (list, tuple)) and len(precision) == 2 else (precision, precision)
    if all(isinstance(p, Precision) for p in pair) or all(isinstance(p, str) and p in PRECISION_NAMES for p in pair):
        return Precision(pair[0]), Precision(pair[1])
    return None


# --- lowering -----------------------------------------------------------------------------------------------


def precision_pair(precision: CanonicalPrecision) -> tuple[Precision, Precision]:
    """Return the precisions of both operands, which StableHLO always needs: DEFAULT for None and for an algorithm."""
    if precision is None or isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return Precision.DEFAULT, Precision.DEFAULT
    return precision


class _Preset(NamedTuple):
    operand: str  # the type that both operands are rounded to, in MLIR
    accumulation: str
    operations: int
    accepts: tuple[Any, ...]  # dtypes of operands; others are converted to the first
    gives: tuple[Any, ...]  # dtypes of results


_BF16 = (ml_dtypes.bfloat16, np.float32)
_PRESETS = {
    DotAlgorithmPreset.F16_F16_F16: _Preset("f16", "f16", 1, (np.float16,), (np.float16,)),
    DotAlgorithmPreset.F16_F16_F32: _Preset("f16", "f32", 1, (np.float16,), (np.float32, np.float16)),
    DotAlgorithmPreset.BF16_BF16_BF16: _Preset("bf16", "bf16", 1, _BF16, (ml_dtypes.bfloat16,)),
    DotAlgorithmPreset.BF16_BF16_F32: _Preset("bf16", "f32", 1, _BF16, (np.float32,)),
    DotAlgorithmPreset.BF16_BF16_F32_X3: _Preset("bf16", "f32", 3, (np.float32,), (np.float32,)),
    DotAlgorithmPreset.BF16_BF16_F32_X6: _Preset("bf16", "f32", 6, (np.float32,), (np.float32,)),
    DotAlgorithmPreset.BF16_BF16_F32_X9: _Preset("bf16", "f32", 9, (np.float32,), (np.float32,)),
    DotAlgorithmPreset.TF32_TF32_F32: _Preset("tf32", "f32", 1, (np.float32,), (np.float32,)),
    DotAlgorithmPreset.TF32_TF32_F32_X3: _Preset("tf32", "f32", 3, (np.float32,), (np.float32,)),
    DotAlgorithmPreset.F32_F32_F32: _Preset("f32", "f32", 1, (np.float32,), (np.float32,)),
    DotAlgorithmPreset.F64_F64_F64: _Preset("f64", "f64", 1, (np.float64,), (np.float64,)),
}
_ON_CPU = {
    "DEFAULT",
    "F16_F16_F16",
    "F32_F32_F32",
    "F64_F64_F64",
    "BF16_BF16_F32",
    "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6",
}


class DotTypes(NamedTuple):
    """The types with which an algorithm computes a dot product (of the operands and the result), and its StableHLO attribute."""

    lhs: Any
    rhs: Any
    out: Any
    attribute: str


def algorithm_types(
    algorithm: DotAlgorithm | DotAlgorithmPreset, lhs: Any, rhs: Any, out: Any, platform: str
) -> DotTypes:
    """Return the types that an algorithm computes with, for operands and a result of these dtypes. Raise ValueError if
    CPUs do not have the algorithm, and the platform is "cpu", or if it does not take these operands.
    """
    if platform == "cpu" and not (isinstance(algorithm, DotAlgorithmPreset) and algorithm.name in _ON_CPU):
        raise ValueError(f"The precision '{algorithm}' is not supported by dot_general on CPU")
    if algorithm is DotAlgorithmPreset.DEFAULT:
        return DotTypes(lhs, rhs, out, "")
    if isinstance(algorithm, DotAlgorithm):
        lhs, rhs, out = (np.dtype(dtype) for dtype in algorithm[:3])
        attribute = _algorithm_attribute(element_type(lhs), element_type(rhs), element_type(out), *algorithm[3:])
        return DotTypes(lhs, rhs, out, attribute)
    if algorithm in _PRESETS:
        preset = _PRESETS[algorithm]
        new_lhs, new_rhs = (dtype if dtype in preset.accepts else np.dtype(preset.accepts[0]) for dtype in (lhs, rhs))
        gives = preset.gives
        if (
            algorithm is DotAlgorithmPreset.BF16_BF16_F32
            and dtypes.promote_types(new_lhs, new_rhs) == ml_dtypes.bfloat16
        ):
            gives = (np.float32, ml_dtypes.bfloat16)
        new_out = out if out in gives else np.dtype(gives[0])
        attribute = _algorithm_attribute(
            preset.operand, preset.operand, preset.accumulation, 1, 1, preset.operations, False
        )
        return DotTypes(new_lhs, new_rhs, new_out, attribute)
    if not all(np.dtype(dtype).name.startswith("float8") for dtype in (lhs, rhs)):
        raise ValueError(
            f"The dot algorithm '{algorithm}' requires both inputs to have float8 dtypes. Got {lhs} and {rhs} instead."
        )
    fast = algorithm is DotAlgorithmPreset.ANY_F8_ANY_F8_F32_FAST_ACCUM
    return DotTypes(lhs, rhs, out, _algorithm_attribute(element_type(lhs), element_type(rhs), "f32", 1, 1, 1, fast))


def _algorithm_attribute(
    lhs: str, rhs: str, accumulation: str, lhs_count: int, rhs_count: int, operations: int, fast: bool
) -> str:
    return (
        f", algorithm = <lhs_precision_type = {lhs}, rhs_precision_type = {rhs}, accumulation_type = {accumulation}, "
        f"lhs_component_count = {lhs_count}, rhs_component_count = {rhs_count}, num_primitive_operations = {operations}, "
        f"allow_imprecise_accumulation = {str(fast).lower()}>"
    )
