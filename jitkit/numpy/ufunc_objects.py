"""ufunc: a function of elements, with methods that apply it along an axis: `add.reduce`, `maximum.accumulate`,
`add.at`; frompyfunc.

In JAX the functions themselves are objects of this class. Here they are plain functions, which are called faster, and
have its methods as attributes. A method without an entry in `_SHORTER` is a loop over the function.

JAX: jax/_src/numpy/ufunc_api.py:ufunc
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..interpreters.vmap import vmap
from ..lax.utils import canonicalize_axis
from ..pjit.api import eval_shape
from ..pjit.jit import jit
from . import reductions, taking, ufuncs
from .cumulative import cumprod, cumsum
from .folds import fold_of
from .index_parts import index_as_tuple
from .joining import append
from .log_sums import log2_sum_along, log_sum_along
from .promotion import broadcast_to
from .promotion import where as where_
from .shaping import moveaxis
from .util import check_arraylike
from .vectorizing import vectorize

_NOT_IN_PLACE = """\
Because JAX arrays are immutable, jnp.ufunc.at() cannot operate inplace like
np.ufunc.at(). Instead, you can pass inplace=False and capture the result; e.g.
>>> arr = jnp.add.at(arr, ind, val, inplace=False)
"""


class _UfuncMeta(type):
    """The metaclass of `ufunc`: functions that have its methods are instances of `ufunc`, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or hasattr(instance, "reduceat")


class ufunc(metaclass=_UfuncMeta):  # numpy's name
    """A function of elements, with the methods of numpy's ufuncs.

    Args:
      func: takes scalars, and returns one, or several.
      nin, nout: how many arguments `func` takes, and how many results it returns.
      identity: the value for which `func(identity, x)` is x; None if there is none.
      call, reduce, accumulate, at, reduceat: functions that do what the method does (`call`: a call), without a loop
        over `func`.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
    ) -> None:
        self.__doc__ = func.__doc__
        self.__name__ = name or func.__name__
        self._func = func
        self.nin, self.nout, self.nargs = operator.index(nin), operator.index(nout), operator.index(nargs or nin)
        self.identity = identity
        self._shorter = {"call": call, "reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}

    def _key(self) -> tuple[Any, ...]:
        return self._func, self.__name__, self.identity, self.nin, self.nout, self.nargs

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return type(other) is ufunc and self._key() == other._key()

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        """Return the function's results for each element of the broadcast arguments. Raise NotImplementedError for
        `out` and `where`.
        """
        check_arraylike(self.__name__, *args)
        for option, value in (("out", out), ("where", where)):
            if value is not None:
                raise NotImplementedError(f"{option} argument of {self}")
        return (self._shorter["call"] or self._call_vectorized)(*args)

    def _check_binary(self, method: str, out: Any = None) -> None:
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value")
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.{method}()")

    @jit(static_argnames=("self",))
    def _call_vectorized(self, *args: Any) -> Any:
        return vectorize(self._func)(*args)

    @jit(static_argnames=("self", "axis", "dtype", "out", "keepdims"))
    def reduce(
        self,
        a: Any,
        axis: int | None = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """Return the elements along `axis`, folded by the function. The fold starts from `initial`, by default from the
        identity, or else from the first element. Elements where `where` is False are left out.

        Raise ValueError unless the function takes two arguments and returns one result; with neither identity nor
        `initial`, also for a `where`, or no elements. Raise NotImplementedError if `out` is given. (As in JAX, an array
        as `out` gives ValueError: it has no hash.)
        """
        name = f"{self.__name__}.reduce"
        check_arraylike(name, a)
        self._check_binary("reduce", out)
        check_arraylike(name, *(x for x in (initial, where) if x is not None))
        if where is not None:
            if self.identity is None and initial is None:
                raise ValueError(
                    f"reduction operation {self.__name__!r} does not have an identity, so to use a where mask one has to "
                    "specify 'initial'."
                )
            if dtypes.dtype(where) != np.bool_:
                raise ValueError(f"where argument must have dtype=bool; got dtype={dtypes.dtype(where)}")
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "initial": initial, "where": where}
        return (self._shorter["reduce"] or self._fold)(a, **options)

    def _fold(self, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        arr = lax.asarray(a)
        initial = self.identity if initial is None else initial
        dtype = self._dtype_of(arr, arr) if dtype is None else dtype
        where = None if where is None else broadcast_to(where, arr.shape)
        if isinstance(axis, tuple):
            raise NotImplementedError("tuple of axes")
        if axis is None:
            shape: tuple[int, ...] = (1,) * arr.ndim if keepdims else ()
            arr, where, axis = arr.ravel(), None if where is None else where.ravel(), 0
        else:
            axis = canonicalize_axis(axis, arr.ndim)
            shape = (*arr.shape[:axis], *[1] * keepdims, *arr.shape[axis + 1 :])
        if axis != 0:
            arr, where = moveaxis(arr, axis, 0), None if where is None else moveaxis(where, axis, 0)
        if arr.shape[0] == 0:
            if initial is None:
                raise ValueError(f"zero-size array to reduction operation {self.__name__} which has no identity")
            return lax.full(shape, initial, dtype)

        def body(i: Any, value: Any) -> Any:
            if where is None:
                return self(value, arr[i].astype(dtype))
            return where_(where[i], self(value, arr[i].astype(dtype)), value)

        start = arr[0] if initial is None else initial
        start = broadcast_to(lax.asarray(start).astype(dtype), arr.shape[1:])
        result = lax.fori_loop(int(initial is None), arr.shape[0], body, start)
        return result.reshape(shape) if keepdims else result

    def _dtype_of(self, *args: Any) -> Any:
        """Return the dtype of the function's results, found by tracing it on ones."""
        return eval_shape(self._func, *(lax.full((), 1, lax.asarray(x).dtype) for x in args)).dtype

    @jit(static_argnames=("self", "axis", "dtype"))
    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """Return the folds of the first 1, 2, 3, ... elements along `axis`.

        Raise ValueError unless the function takes two arguments and returns one result, and for an `axis` of None; but
        then `add` and `multiply` take all elements in row-major order. Raise NotImplementedError if `out` is given.
        """
        self._check_binary("accumulate", out)
        return (self._shorter["accumulate"] or self._scan)(a, axis=axis, dtype=dtype)

    def _scan(self, a: Any, axis: int, dtype: Any) -> Any:
        check_arraylike(f"{self.__name__}.accumulate", a)
        arr = lax.asarray(a)
        dtype = self._dtype_of(arr, arr) if dtype is None else dtype
        if axis is None or isinstance(axis, tuple):
            raise ValueError("accumulate does not allow multiple axes")
        axis = canonicalize_axis(axis, arr.ndim)
        if arr.size == 0:
            return lax.full(arr.shape, 0, dtype)
        arr = moveaxis(arr, axis, 0)

        def step(carry: Any, _: Any) -> Any:
            i, x = carry
            y = where_(i == 0, arr[0].astype(dtype), self(x.astype(dtype), arr[i].astype(dtype)))
            return (i + 1, y), y

        _, result = lax.scan(step, (0, arr[0].astype(dtype)), None, length=arr.shape[0])
        return moveaxis(result, 0, axis)

    @jit(static_argnums=(0,), static_argnames=("inplace",))
    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """Return `a` with the function applied to the elements at `indices`, once for each time an index occurs, with
        `b` as second operand. Raise NotImplementedError unless `inplace` is False: arrays do not change.
        """
        if inplace:
            raise NotImplementedError(_NOT_IN_PLACE)
        return (self._shorter["at"] or self._one_by_one)(a, indices, *(() if b is None else (b,)))

    def _one_by_one(self, a: Any, indices: Any, *args: Any) -> Any:
        check_arraylike(f"{self.__name__}.at", a, *args)
        dtype = self._dtype_of(a, *args)
        a = lax.asarray(a).astype(dtype)
        args = tuple(lax.asarray(x).astype(dtype) for x in args)
        indices = index_as_tuple(indices)
        if not indices:
            return a
        shapes = [np.shape(i) for i in indices if not isinstance(i, slice)]
        shape = lax.broadcast_shapes(*shapes) if shapes else ()
        if not shape:
            return a.at[indices].set(self(a.at[indices].get(), *args))
        if args:
            behind = args[0].shape[len(shape) :]
            args = (broadcast_to(args[0], (*shape, *behind)).reshape(math.prod(shape), *behind),)
        positions = [i if isinstance(i, slice) else broadcast_to(i, shape).ravel() for i in indices]

        def step(carry: Any, x: Any) -> Any:
            i, a = carry
            index = tuple(each if isinstance(each, slice) else each[i] for each in positions)
            a = a.at[index].set(self(a.at[index].get(), *(arg[i] for arg in args)))
            return (i + 1, a), x

        return lax.scan(step, (0, a), None, math.prod(shape))[0][1]

    @jit(static_argnames=("self", "axis", "dtype"))
    def reduceat(self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """Return the folds of the elements from each index up to before the next one, along `axis`; if the next index
        is not greater, the element at the index.

        Raise ValueError unless the function takes two arguments and returns one result, for an `a` without axes, for
        indices with other than one axis, and for an `axis` that is not one integer. Raise NotImplementedError if `out`
        is given.
        """
        self._check_binary("reduceat", out)
        return (self._shorter["reduceat"] or self._fold_parts)(a, indices, axis=axis, dtype=dtype)

    def _fold_parts(self, a: Any, indices: Any, axis: Any, dtype: Any) -> Any:
        check_arraylike(f"{self.__name__}.reduceat", a, indices)
        a = lax.asarray(a)
        (indices,) = index_as_tuple(indices)
        if a.ndim == 0:
            raise ValueError(f"reduceat: a must have 1 or more dimension, got {a.shape=}")
        if indices.ndim != 1:
            raise ValueError(f"reduceat: indices must be one-dimensional, got {indices.shape=}")
        if axis is None or isinstance(axis, (tuple, list)):
            raise ValueError("reduceat requires a single integer axis.")
        axis = canonicalize_axis(axis, a.ndim)
        out = taking.take(a, indices, axis=axis)
        ends = lax.expand_dims(append(indices, a.shape[axis]), [i for i in range(out.ndim) if i != axis])
        start = lax.slice_in_dim(ends, 0, ends.shape[axis] - 1, axis=axis)
        stop = lax.slice_in_dim(ends, 1, ends.shape[axis], axis=axis)

        def body(i: Any, out: Any) -> Any:
            is_inside = (i > start) & (i < stop)
            element = taking.take(a, lax.expand_dims(i, (0,)), axis=axis)
            return where_(is_inside, self(out, element), out)

        return lax.fori_loop(0, a.shape[axis], body, out)

    @jit(static_argnums=(0,))
    def outer(self, A: Any, B: Any, /) -> Any:
        """Return the function's results for each pair of an element of `A` and one of `B`. Raise ValueError unless the
        function takes two arguments and returns one result.
        """
        self._check_binary("outer")
        check_arraylike(f"{self.__name__}.outer", A, B)
        flat = [lax.reshape(x, (np.size(x),)) for x in (A, B)]
        result = vmap(vmap(self, (None, 0)), (0, None))(*flat)
        return result.reshape(*np.shape(A), *np.shape(B))


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Return a `ufunc` of a function of scalars. `reduce` returns `identity`, its neutral element, for no elements."""
    return ufunc(func, nin, nout, identity=identity)


# --- the functions that have these methods ----------------------------------------------------------------------------


def _at(method: str, by_numbers: bool = False) -> Callable[..., Any]:
    """Return a function that returns `a.at[indices].method(b)`; with `by_numbers`, it takes bools for numbers."""

    def at(a: Any, indices: Any, b: Any) -> Any:
        if by_numbers and a.dtype == bool:
            numbers = lax.convert_element_type(b, bool).astype("int32")
            return getattr(a.astype("int32").at[indices], method)(numbers).astype(bool)
        return getattr(a.at[indices], method)(b)

    return at


_SHORTER: dict[str, tuple[Any, dict[str, Any]]] = {
    "add": (0, {"reduce": reductions.sum, "accumulate": cumsum, "at": _at("add", by_numbers=True)}),
    "multiply": (1, {"reduce": reductions.prod, "accumulate": cumprod, "at": _at("mul", by_numbers=True)}),
    "subtract": (None, {"at": _at("subtract")}),
    "minimum": (None, {"reduce": fold_of("min")}),
    "maximum": (None, {"reduce": fold_of("max")}),
    "bitwise_and": (-1, {"reduce": fold_of("reduce_bitwise_and")}),
    "bitwise_or": (0, {"reduce": fold_of("reduce_bitwise_or")}),
    "bitwise_xor": (0, {"reduce": fold_of("reduce_bitwise_xor")}),
    "logical_and": (True, {"reduce": fold_of("reduce_logical_and")}),
    "logical_or": (False, {"reduce": fold_of("reduce_logical_or")}),
    "logical_xor": (False, {"reduce": fold_of("reduce_logical_xor")}),
    "logaddexp": (-np.inf, {"reduce": log_sum_along}),
    "logaddexp2": (-np.inf, {"reduce": log2_sum_along}),
    "negative": (None, {}),
}


@functools.cache
def _of_function(function: Callable[..., Any]) -> ufunc:
    """Return the ufunc of a function of this package, by its name."""
    name = function.__name__
    identity, shorter = _SHORTER[name]
    return ufunc(function, 1 if name == "negative" else 2, 1, name=name, identity=identity, call=function, **shorter)


ufuncs.methods.ufunc_of = _of_function
