"""Turns operands of any kind into operands that a primitive accepts.

A function of several operands first checks that they are arrays or scalars, and gives them one dtype and one rank. The
dtype is the least upper bound in the promotion lattice (`dtypes`). A rank is raised by inserting axes of size one in
front, but a scalar beside an array stays a scalar: the elementwise primitives accept it.

All this depends only on the operands' types, so it is decided once per combination of types and cached as a *plan*: for
each operand a conversion, or none. Under a trace an operator costs one lookup in a table of plans (0.5 us) instead of a
walk through the lattice; usually all operands agree, and the plan is empty.

JAX: jax/_src/numpy/util.py:promote_args
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core, lax
from ..base import config, edits, traceback_util
from ..base.jax_version import since
from ..core import dtypes
from ..core.operators import Operators
from ..lax.utils import canonicalize_shape, scalar_of_type
from ..pjit.jit import inlined, jit
from .util import as_array, check_arraylike, ensure_arraylike, ensure_arraylikes

_PLAN_LIMIT = 8192


# --- promotion -------------------------------------------------------------------------------------------------------


def convert(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """Return `x` with this dtype and weakness; x itself if it already has them."""
    aval = getattr(x, "aval", None)
    if aval is not None and aval.dtype == dtype and aval.weak_type == weak_type and isinstance(x, Operators):
        return x.converted() if isinstance(x, core.Tracer) else x
    return lax._convert_element_type(narrowed(x), dtype, weak_type)


def narrowed(x: Any) -> Any:
    """Return x, but a numpy scalar in the dtype that it would have as an argument of a jitted function: with 32 bits
    instead of 64, unless x64 mode is on.
    """
    if not isinstance(x, np.generic):
        return x
    return np.asarray(x).astype(dtypes.canonicalize_dtype(x.dtype), copy=False)[()]


Step = Callable[[Any], Any]  # the conversion of one operand
_Plan = tuple[Any, list[Step | None] | None, list[Step | None] | None]  # dtype, conversions, new ranks


class _Promoter:
    """Brings operands to one rank, and to their common dtype or the dtype that `to` makes of it. Caches the plan for
    each combination of types.
    """

    def __init__(self, to: Callable[[Any], Any] | None = None) -> None:
        self._to = to
        self._plans: dict[Any, _Plan] = {}

    def __call__(self, name: str, *args: Any) -> tuple[Any, Sequence[Any]]:
        """Return the common dtype, and the operands in it, ready for one primitive. Errors name the function `name`."""
        try:
            avals = [x.aval if isinstance(x, Operators) else _signature(x) for x in args]
            plan = self._plans[config.local.state.options, *avals]
        except (KeyError, TypeError, ValueError):  # the last for objects with `__jax_array__`, which have no aval yet
            plan = None
        if plan is None:
            args, plan = self._make(name, args)
        dtype, conversions, ranks = plan
        operands: Sequence[Any] = args
        if conversions is not None:
            operands = [x if step is None else step(x) for x, step in zip(operands, conversions, strict=True)]
        if ranks is not None:
            operands = [x if step is None else step(x) for x, step in zip(operands, ranks, strict=True)]
        return dtype, operands

    def _make(self, name: str, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], _Plan]:
        check_arraylike(name, *args)
        args = tuple(x.__jax_array__() if not isinstance(x, Operators) and core.has_jax_array(x) else x for x in args)
        avals = [core.get_aval(x) for x in args]
        _refuse_float0(name, avals)
        _refuse_keys_among_others(name, avals)
        dtype, weak = dtypes.lattice_result_type(*avals)
        if self._to is not None:
            dtype = self._to(dtype)
        elif len(avals) == 1:
            weak = avals[0].weak_type  # the common type of bools is never weak
        conversions = [_conversion(x, aval, dtype, weak) for x, aval in zip(args, avals, strict=True)]
        rank = _common_rank(name, [aval.shape for aval in avals])
        ranks = [None if rank is None or aval.ndim == rank else _rank_raiser(rank - aval.ndim) for aval in avals]
        plan = dtype, conversions if any(conversions) else None, ranks if any(ranks) else None
        options = config.local.state.options
        # A plan whose making may warn (of ranks, or of values that were made in x64 mode) is not kept: each call must warn.
        if options.numpy_rank_promotion != "warn" and all(
            dtypes.canonicalize_dtype(aval.dtype) == aval.dtype for aval in avals
        ):
            if len(self._plans) >= _PLAN_LIMIT:
                self._plans.clear()
            self._plans[options, *[_signature(x) for x in args]] = plan
        return args, plan


def _signature(x: Any) -> Any:
    """Return the key of a plan for x: the type of a Python scalar, and the aval of everything else."""
    t = type(x)
    if t is int and not -(2**31) <= x < 2**31:
        return t, "wide"  # a plan of its own: without x64 mode, making it raises an error
    if t in dtypes.python_scalar_dtypes:
        return t
    return core.get_aval(x)


def _refuse_float0(name: str, avals: Sequence[Any]) -> None:
    """Raise TypeError for the tangent of an integer, which has no value to compute with."""
    if any(aval.dtype == dtypes.float0 for aval in avals):
        raise TypeError(
            f"Called {name} with a float0 array. float0s do not support any operations by design because they are not "
            "compatible with non-trivial vector spaces. No implicit dtype conversion is done. You can use np.zeros_like(arr, "
            "dtype=np.float) to cast a float0 array to a regular zeros array. \nIf you didn't expect to get a float0 you might "
            "have accidentally taken a gradient with respect to an integer argument."
        )


def _refuse_keys_among_others(name: str, avals: Sequence[Any]) -> None:
    """Raise TypeError if a random key meets a number, or a key of another implementation. The primitive checks whether
    it takes keys at all.
    """
    given = [aval.dtype for aval in avals]
    if len(set(given)) > 1 and any(dtypes.issubdtype(dtype, dtypes.prng_key) for dtype in given):
        raise TypeError(f"{name} does not accept dtypes {', '.join(map(str, given))}.{edits.KEY_ARITHMETIC}")


def _conversion(x: Any, aval: Any, dtype: Any, weak: bool) -> Step | None:
    """Return the function that gives one operand this dtype and weakness; None if it has them. Where possible, a Python
    scalar is converted without an equation, so that it is a literal of the jaxpr.
    """
    if aval.dtype == dtype and aval.weak_type == weak:
        return None
    if type(x) in (bool, int, float, complex) and not weak:
        return dtype.type if dtypes.issubdtype(dtype, np.inexact) else lambda value: np.asarray(value).astype(dtype)[()]
    python_type = dtypes.python_type_of(dtype)
    if (
        type(x) in (bool, int, float)
        and dtype == dtypes.canonical_scalar_dtype(python_type)
        and python_type is not bool
    ):
        return python_type

    def converted(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            # an equation, as in JAX, where the array would be an argument of a jitted function
            return lax.convert_element_type_p.bind(value, new_dtype=dtype, weak_type=weak)
        return lax._convert_element_type(narrowed(value), dtype, weak)

    return converted


def _rank_raiser(missing: int) -> Step:
    return lambda value: lax.broadcast(value, (1,) * missing)


def _common_rank(name: str, shapes: Sequence[tuple[int, ...]]) -> int | None:
    """Return the rank to which all operands are brought; None if all operands with axes have the same rank, since scalars may stay."""
    if len({len(sizes) for sizes in shapes if sizes}) < 2:
        return None
    _report_rank_promotion(name, shapes)
    return len(lax.broadcast_shapes(*shapes))


def _report_rank_promotion(name: str, shapes: Sequence[tuple[int, ...]]) -> None:
    option = config.local.state.options.numpy_rank_promotion
    listed = " ".join(map(str, shapes))
    page = "101/rank_promotion_warning.html" if since(0, 12) else "rank_promotion_warning.html"
    see = f"for more information, see https://docs.jax.dev/en/latest/{page}."
    if option == "warn":
        warnings.warn(
            f"Following NumPy automatic rank promotion for {name} on shapes {listed}. Set the jax_numpy_rank_promotion "
            f"config option to 'allow' to disable this warning; {see}",
            stacklevel=traceback_util.stacklevel(),
        )
    elif option == "raise":
        raise ValueError(
            f"Operands could not be broadcast together for {name} on shapes {listed} and with the config option "
            f"jax_numpy_rank_promotion='raise'. {see[0].upper()}{see[1:]}"
        )


promote = _Promoter()
promote_inexact = _Promoter(dtypes.to_inexact_dtype)
promote_numeric = _Promoter(dtypes.to_numeric_dtype)


def promote_shapes(name: str, *args: Any) -> list[Any]:
    """Return the operands with one rank and their own dtypes. Scalars stay as they are if there is only one other rank."""
    shapes = [np.shape(x) for x in args]
    rank = _common_rank(name, shapes)
    if rank is None:
        return list(args)
    return [
        as_array(x) if len(s) == rank else lax.broadcast(as_array(x), (1,) * (rank - len(s)))
        for x, s in zip(args, shapes, strict=True)
    ]


def _common_type(args: Sequence[Any]) -> tuple[Any, bool]:
    """Return the common dtype, and whether it is weak. Raise TypeError if there is none, ValueError for None."""
    try:
        return dtypes.lattice_result_type(*[core.get_aval(x) for x in args])
    except TypeError:
        for x in args:
            if x is None:
                raise ValueError(f"Invalid argument to dtype: {x}.") from None
            if isinstance(x, list | tuple):
                raise TypeError(f"Cannot determine dtype of {x}") from None
        raise


def promote_dtypes(*args: Any) -> list[Any]:
    """Return the operands in their common dtype, weakly typed if all of them are. Shapes stay as they are."""
    if len(args) < 2:
        return [x.converted() if isinstance(x, core.Tracer) else as_array(x) for x in args]
    dtype, weak = _common_type(args)
    return [convert(x, dtype, weak) for x in args]


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """Return the operands in their common dtype, which becomes floating point unless it is complex."""
    dtype, weak = _common_type(args)
    return [convert(x, dtypes.to_inexact_dtype(dtype), weak) for x in args]


def promote_dtypes_complex(*args: Any) -> list[Any]:
    """Return the operands in the complex dtype of their common dtype."""
    dtype, weak = _common_type(args)
    return [convert(x, dtypes.to_complex_dtype(dtype), weak) for x in args]


def promote_dtypes_numeric(*args: Any) -> list[Any]:
    """Return the operands in their common dtype, with the default integer type in place of bool."""
    dtype, weak = _common_type(args)
    return [convert(x, dtypes.to_numeric_dtype(dtype), weak) for x in args]


# --- broadcasting and choosing ---------------------------------------------------------------------------------------


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """Return the shape of an operation on arrays of these shapes (each a tuple or an int). Raise ValueError if there is none."""
    if not shapes:
        return ()
    result: tuple[int, ...] = lax.broadcast_shapes(*[(s,) if np.ndim(s) == 0 else tuple(s) for s in shapes])
    return result


def broadcast_to(array: Any, shape: Any) -> Any:
    """Return `array`, repeated along new leading axes, and along axes of size one, to `shape` (a tuple or an int).
    Raise ValueError if the sizes do not fit.
    """
    array = ensure_arraylike("broadcast_to", array)
    sizes = canonicalize_shape(shape if isinstance(shape, list | tuple) or np.ndim(shape) else (shape,))
    if array.shape == sizes:
        return array
    missing = len(sizes) - array.ndim
    if missing < 0:
        raise ValueError(
            f"Cannot broadcast to shape with fewer dimensions: arr_shape={array.shape!r} shape={sizes!r}{edits.FEWER_AXES}"
        )
    if any(have not in (1, want) for have, want in zip(array.shape, sizes[missing:], strict=True)):
        wanted = core.ShapedArray(sizes, array.dtype)
        raise ValueError(
            f"Incompatible types for broadcasting: input type={core.get_aval(array)} and requested type={wanted}{edits.BROADCAST_TO}"
        )
    return lax.broadcast_in_dim(array, sizes, tuple(range(missing, len(sizes))))


@inlined
def _broadcast_arrays(*args: Any) -> list[Any]:
    shapes = [np.shape(x) for x in args]
    if all(s == shapes[0] for s in shapes):
        return [x.converted() if isinstance(x, core.Tracer) else as_array(x) for x in args]
    common = lax.broadcast_shapes(*shapes)
    return [broadcast_to(x, common) for x in args]


def broadcast_arrays(*args: Any) -> list[Any] | tuple[Any, ...]:
    """Return all arguments, broadcast to one shape: a tuple, up to JAX 0.10 a list. Raise ValueError if that is impossible."""
    arrays: list[Any] = _broadcast_arrays(*ensure_arraylikes("broadcast_arrays", *args))
    return tuple(arrays) if since(0, 11) else arrays


@jit
def _where(condition: Any, x: Any, y: Any) -> Any:
    # A separate program, so that the eager call does not expand scalars to arrays, either.
    condition, x, y = ensure_arraylikes("where", condition, x, y)
    if condition.dtype != np.bool_:
        condition = lax.ne(condition, scalar_of_type(condition, 0))
    x, y = promote_dtypes(x, y)
    if condition.ndim == 0:  # `select` takes one bool for all elements
        x, y = _broadcast_arrays(x, y)
    else:
        condition, x, y = _broadcast_arrays(condition, x, y)
    return lax.select(condition, x, y) if x.size else x


where = _where  # jaxprs show it under the name `_where`, as in JAX
