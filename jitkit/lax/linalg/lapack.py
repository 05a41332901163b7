"""Provides the parts that the primitives on matrices have in common: the shape rule, and the call of a LAPACK routine.

jaxlib brings LAPACK's routines as functions that an executable may call by name (`lapack_spotrf_ffi`: s is float32).
LAPACK wants column-major matrices, and overwrites its operands; attributes of the call tell XLA both. A routine does
not raise: it returns a number, `info`, and where that reports a failure, the result is nan.

JAX: jax/_src/lax/linalg.py:linalg_primitive
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...base import edits
from ...core import Primitive, ShapedArray, dtypes
from ...interpreters.batching import AxisData, Dims, Vals, batch, bdim_at_front, register_batcher
from ...interpreters.mlir import LoweringContext, type_of
from ..creation import broadcasted_iota, full_like
from ..elementwise import add, conj, ge
from ..elementwise_rules import INEXACT, check_operands
from ..selection import select
from ..shaping import broadcast, transpose
from ..utils import Shape, check_same_dtypes, is_a

# --- the shape rule ---------------------------------------------------------------------------------------------------------


def linalg_primitive(
    name: str,
    ranks: Sequence[int],
    shapes: Callable[..., Sequence[Shape]],
    result_dtypes: Callable[..., Sequence[Any]] | None = None,
    multiple_results: bool = False,
    accepts: Sequence[tuple[type, ...]] | None = None,
    one_dtype: bool = True,
    takes_batches: bool = True,
) -> Primitive:
    """Return a new primitive on batches of arrays.

    Args:
      ranks: for each operand, how many of its last axes belong to one element of the batch. The axes before are batch axes, the
        same number for all operands.
      shapes: a function from the operands' shapes without batch axes (and the parameters) to the shapes of the results.
      result_dtypes: a function from the first operand's dtype (and the parameters) to the dtypes of the results; by default
        all have that dtype.
      accepts: the kinds of dtype of each operand: floats and complex numbers by default.
      one_dtype: whether the operands must be of one dtype.
      takes_batches: whether it works on batches; if not, it has no batching rule.
    """
    primitive = Primitive(name, multiple_results=multiple_results)
    kinds = tuple(accepts or [INEXACT] * len(ranks))

    @primitive.def_abstract_eval
    def _(*avals: ShapedArray, **params: Any) -> Any:
        for i, (rank, aval) in enumerate(zip(ranks, avals, strict=True)):
            if aval.ndim < rank:
                raise TypeError(f"Input {i} to {name} must have rank at least {rank}, but got shape={aval.shape}")
            if not takes_batches and aval.ndim != rank:
                raise TypeError(f"Input {i} to {name} must have a rank of exactly {rank}, but got shape={aval.shape}")
        batches = [aval.shape[: aval.ndim - rank] for rank, aval in zip(ranks, avals, strict=True)]
        if len({len(batch) for batch in batches}) > 1:
            raise TypeError(
                f"All inputs to {name} must have the same number of batch dimensions, but got "
                f"{[len(batch) for batch in batches]} batch dimensions for the inputs."
            )
        if len(set(batches)) > 1:
            raise TypeError(f"All inputs to {name} must have the same batch dimensions, but got {batches}.")
        parts = [aval.shape[aval.ndim - rank :] for rank, aval in zip(ranks, avals, strict=True)]
        found = [(*batches[0], *shape) for shape in shapes(*parts, **params)]
        check_operands(name, kinds, *avals)
        if one_dtype:
            check_same_dtypes(name, *avals)
        weak = all(aval.weak_type for aval in avals)
        types = result_dtypes(avals[0].dtype, **params) if result_dtypes else [avals[0].dtype] * len(found)
        outs = [ShapedArray(shape, dtype, weak) for shape, dtype in zip(found, types, strict=True)]
        return outs if multiple_results else outs[0]

    if not takes_batches:
        return primitive

    @register_batcher(primitive)
    def rule(axis: AxisData, vals: Vals, dims: Dims, **params: Any) -> Any:
        """Batching rule: the batch axis becomes the first batch axis of the operands."""
        out = primitive.bind(*[bdim_at_front(x, d, axis.size) for x, d in zip(vals, dims, strict=True)], **params)
        return (out, [0] * len(out)) if multiple_results else (out, 0)

    return primitive


# --- calling LAPACK ---------------------------------------------------------------------------------------------------------

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def has_routines(dtype: Any) -> bool:
    """Return whether LAPACK has routines for this dtype."""
    return dtype.name in _LETTERS


def call(
    ctx: LoweringContext,
    routine: str,
    operands: Sequence[str],
    avals_in: Sequence[ShapedArray],
    avals_out: Sequence[ShapedArray],
    overwrites: Mapping[int, int],
    characters: Mapping[str, str | int | bool | np.int32] | None = None,
) -> list[str]:
    """Write the call of a routine, such as `potrf`; return the names of its results.

    Args:
      overwrites: a dict from the number of an operand to the number of the result that gets its memory.
      characters: the routine's options: characters, numbers of one byte or (`np.int32`) of four, bools, or words.

    On NVIDIA's GPUs the call is cuSOLVER's, if that has a routine of this name with these options.

    Raises:
      NotImplementedError: LAPACK does not know the dtype, or does not run where the program is to run.
    """
    if ctx.module.platform == "gpu" and routine in _CUSOLVERS:
        target = cusolver_target(_CUSOLVERS[routine], avals_in[0])
        return write_call(ctx, target, operands, avals_in, avals_out, overwrites, characters)
    check_runs_on(ctx)
    letter = _LETTERS[checked_dtype(avals_in[0].dtype).name]
    return write_call(ctx, f"lapack_{letter}{routine}_ffi", operands, avals_in, avals_out, overwrites, characters)


def check_runs_on(ctx: LoweringContext) -> None:
    """Raise NotImplementedError unless the program is lowered for CPUs, where LAPACK runs."""
    if ctx.module.platform != "cpu":
        raise NotImplementedError(
            f"primitive {ctx.primitive} is LAPACK's, and runs on CPUs; the program is lowered for {ctx.module.platform}."
        )


# LAPACK's routines -> cuSOLVER's, where both take the same operands and options
_CUSOLVERS = {
    "getrf": "getrf",
    "geqrf": "geqrf",
    "orgqr": "orgqr",
    "ungqr": "orgqr",
    "ormqr": "ormqr",
    "unmqr": "ormqr",
}


def cusolver_target(routine: str, aval: ShapedArray) -> str:
    """Return the name of a routine of cuSOLVER, for `write_call`. Raise NotImplementedError for a dtype that it does not know."""
    checked_dtype(aval.dtype)
    return f"cusolver_{routine}_ffi"


def checked_dtype(dtype: Any) -> Any:
    """Return the dtype. Raise NotImplementedError if LAPACK does not compute with it."""
    if not has_routines(dtype):
        raise NotImplementedError(f"Unsupported dtype {dtype}.")
    return dtype


def write_call(
    ctx: LoweringContext,
    target: str,
    operands: Sequence[str],
    avals_in: Sequence[ShapedArray],
    avals_out: Sequence[ShapedArray],
    overwrites: Mapping[int, int],
    options: Mapping[str, str | int | bool | np.int32] | None = None,
    by_columns: bool = True,
    own_axes: int | None = 2,
) -> list[str]:
    """Write the call of a function that XLA knows as `target`, on matrices that lie in memory column after column or,
    without `by_columns`, row after row; return the names of its results. `overwrites` and `options` are as `overwrites`
    and `characters` of `call`. Axes before the last `own_axes` are the batch's; with None, nothing is said about a
    batch.
    """
    rank = max(aval.ndim for aval in avals_in)
    said = ", ".join(f"{name} = {_option(value)}" for name, value in (options or {}).items())
    aliases = ", ".join(
        "#stablehlo.output_operand_alias<output_tuple_indices = "
        f"{[result] if len(avals_out) > 1 else []}, operand_index = {operand}, operand_tuple_indices = []>"
        for operand, result in overwrites.items()
    )
    layouts_in, layouts_out = (
        ", ".join(_layout(aval.ndim, rank if by_columns else None) for aval in avals) for avals in (avals_in, avals_out)
    )
    batch = "" if own_axes is None else f'mhlo.frontend_attributes = {{num_batch_dims = "{rank - own_axes}"}}, '
    attributes = (
        f"api_version = 4 : i32, backend_config = {{{said}}}, {batch}"
        f"operand_layouts = [{layouts_in}], output_operand_aliases = [{aliases}], result_layouts = [{layouts_out}]"
    )
    types_in, types_out = (", ".join(map(type_of, avals)) for avals in (avals_in, avals_out))
    name = ctx.emit_text(
        f"stablehlo.custom_call @{target}({', '.join(operands)}) {{{attributes}}} : "
        f"({types_in}) -> {types_out if len(avals_out) == 1 else f'({types_out})'}",
        len(avals_out),
    )
    return [name] if len(avals_out) == 1 else [f"{name}#{i}" for i in range(len(avals_out))]


def _option(value: str | int | bool | np.int32) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, np.int32):
        return f"{value} : i32"
    if isinstance(value, str) and len(value) > 1:
        return f'"{value}"'
    return f"{value if isinstance(value, int) else ord(value)} : ui8"


def _layout(ndim: int, matrix_rank: int | None) -> str:
    """Return the order of an array's axes in memory, the fastest first: column-major for arrays with `matrix_rank` axes."""
    order = list(reversed(range(ndim)))
    if ndim == matrix_rank:
        order[:2] = order[1], order[0]
    return f"dense<{order if ndim > 1 else '0' if ndim else ''}> : tensor<{ndim}xindex>"


def info_of(aval: ShapedArray) -> ShapedArray:
    """Return the type of `info`: one number per matrix."""
    return ShapedArray(aval.shape[:-2], np.int32)


def nan_where_failed(
    ctx: LoweringContext,
    info: str,
    info_aval: ShapedArray,
    results: Sequence[tuple[str, ShapedArray]],
    good: str = "EQ",
) -> list[str]:
    """Write a selection for each result: nan for matrices for which `info good 0` (EQ, GE) is false. Return the names."""
    flag = ShapedArray(info_aval.shape, np.bool_)
    kind = type_of(info_aval)
    zero = ctx.splat(0, info_aval)
    ok = ctx.emit_text(f"stablehlo.compare {good}, {info}, {zero}, SIGNED : ({kind}, {kind}) -> {type_of(flag)}")
    selected = []
    for name, aval in results:
        which = ctx.broadcast_in_dim(ok, flag, aval.shape, range(flag.ndim))
        nan = ctx.splat(complex(math.nan, math.nan) if is_a(aval.dtype, np.complexfloating) else math.nan, aval)
        types = f"{type_of(ShapedArray(aval.shape, np.bool_))}, {type_of(aval)}"
        selected.append(ctx.emit_text(f"stablehlo.select {which}, {name}, {nan} : {types}"))
    return selected


# --- one matrix after the other ---------------------------------------------------------------------------------------------


def for_each(fun: Callable[..., Any], batch_axes: int, *args: Any) -> Any:
    """Return the results of `fun` for the elements of a batch, stacked. All `args` have `batch_axes` batch axes in
    front, which `fun` does not see.
    """
    if not batch_axes:
        return fun(*args)
    axis = AxisData(None, args[0].shape[0])
    inner = functools.partial(for_each, fun, batch_axes - 1)
    [out], [dim] = batch(lambda *parts: [inner(*parts)], axis, args, [0] * len(args))
    return bdim_at_front(out, dim, axis.size)


# --- parts of matrices ------------------------------------------------------------------------------------------------------


def swap_axes(x: Any) -> Any:
    """Return the transposes of matrices."""
    return transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def adjoint(x: Any) -> Any:
    """Return the conjugate transposes of matrices."""
    turned = swap_axes(x)
    return conj(turned) if is_a(x.dtype, np.complexfloating) else turned


def symmetrize(x: Any) -> Any:
    """Return the mean of matrices and their adjoints."""
    try:
        return (x + adjoint(x)) / 2
    except TypeError as error:
        error.args = (f"{str(error).splitlines()[0]}{edits.MATRICES}",)
        raise


def lower_triangle(x: Any, k: int = 0) -> Any:
    """Return x with zeros above the k-th diagonal of its matrices."""
    return select(_not_above(x, k), x, full_like(x, 0))


def upper_triangle(x: Any, k: int = 0) -> Any:
    """Return x with zeros below the k-th diagonal of its matrices."""
    return select(_not_above(x, k - 1), full_like(x, 0), x)


def _not_above(x: Any, k: int) -> Any:
    counted, shape = dtypes.default_int_dtype(), x.shape[-2:]
    rows = add(broadcasted_iota(counted, shape, 0), counted.type(k))
    return broadcast(ge(rows, broadcasted_iota(counted, shape, 1)), x.shape[:-2])
