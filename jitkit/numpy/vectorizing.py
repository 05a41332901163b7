"""vectorize, piecewise: apply a function of small arrays to large ones, by numpy's rules of broadcasting.

A signature says which axes are the function's own: with `(n,m),(m)->(n)` it takes a matrix and a vector, and all axes
in front are broadcast. numpy loops; here each axis in front is one `vmap`, from the last to the first, and operands of
size 1 there are not batched. So nothing is repeated in memory before an operation needs it.

JAX: jax/_src/numpy/vectorize.py:vectorize
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from .. import lax
from ..base import config, traceback_util
from ..base.util import wraps
from ..interpreters.vmap import vmap
from ..pjit.jit import jit
from .creation import array, asarray, zeros_like
from .cumulative import cumsum
from .reductions import argmax
from .shaping import expand_dims, squeeze
from .util import ensure_arraylike

CoreAxes = tuple[str, ...]  # the function's own axes of an operand, by name

_AXES = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(rf"^{_AXES}(?:,{_AXES})*->{_AXES}(?:,{_AXES})*$")


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Collection[int | str] = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """Return a function that broadcasts all axes of its arguments but those of the signature, and maps `pyfunc` over
    them.

        matrix_vector_product = jnp.vectorize(jnp.dot, signature="(n,m),(m)->(n)")

    Args:
      pyfunc: a function of arrays. Without a signature it gets scalars, and may return arrays of any shape.
      excluded: positions and names of arguments that `pyfunc` gets unchanged. Other keyword arguments are dropped, as in JAX.
      signature: the axes of the arrays that `pyfunc` gets and returns. A name stands for one size.

    Raises:
      TypeError: for another number of arguments or results than the signature has, and for an `excluded` with anything but
        numbers and names.
      ValueError: for shapes that do not fit the signature or each other, an invalid signature, a negative `excluded`.
    """
    if any(not isinstance(item, (str, int)) for item in excluded):
        raise TypeError(f"jax.numpy.vectorize can only exclude integer or string arguments, but excluded={excluded!r}")
    if any(isinstance(item, int) and item < 0 for item in excluded):
        raise ValueError(f"excluded={excluded!r} contains negative numbers")
    context = f"on vectorized function with excluded={excluded!r} and signature={signature!r}"

    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        function, operands = _with_given(pyfunc, excluded, args, kwargs)
        core_axes: list[CoreAxes] = [()] * len(operands)
        result_axes: list[CoreAxes] | None = None
        if signature is not None:
            core_axes, result_axes = parse_signature(signature)
        missing = {i for i, x in enumerate(operands) if x is None}
        if missing:
            if any(core_axes[i] for i in missing):
                raise ValueError(f"Cannot pass None at locations {missing} with {signature=}")
            core_axes = [axes for i, axes in enumerate(core_axes) if i not in missing]
            function, operands = _with_given(function, missing, operands, {})
        operands = [asarray(x) for x in operands]
        sizes, shapes = _check_operands(operands, core_axes, context)
        if result_axes is not None:
            function = _checking_results(function, sizes, result_axes, context)
        _check_ranks(operands, shapes, signature)
        return _map_in_front(function, operands, shapes)

    return vectorized


def parse_signature(signature: str) -> tuple[list[CoreAxes], list[CoreAxes]]:
    """Return the axes of operands and results in `(n,m),(m)->(n)`. Raise ValueError for an invalid signature."""
    if not _SIGNATURE.match(signature):
        raise ValueError(
            f"not a valid gufunc signature: {signature}\nA signature names the axes of each operand and result: "
            '"(n,m),(m)->(n)".'
        )
    operands, results = (
        [tuple(re.findall(r"\w+", axes)) for axes in re.findall(_AXES, side)] for side in signature.split("->")
    )
    return operands, results


def _with_given(
    function: Callable[..., Any], given: Collection[int | str], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """Fix the excluded arguments: return a function of the other positional arguments, and these. (As in JAX, keyword
    arguments that are not excluded are dropped.)
    """
    if not given:
        return function, list(args)
    values = [(i, x) for i, x in enumerate(args) if i in given]
    by_name = {name: x for name, x in kwargs.items() if name in given}

    def of_the_others(*others: Any) -> Any:
        all_args = list(others)
        for i, x in values:
            all_args.insert(i, x)
        return function(*all_args, **by_name)

    return of_the_others, [x for i, x in enumerate(args) if i not in given]


# --- checks -------------------------------------------------------------------------------------------------


def _check_operands(
    operands: Sequence[Any], core_axes: Sequence[CoreAxes], context: str
) -> tuple[dict[str, int], list[tuple[int, ...]]]:
    """Return the size of each name, and the shape of each operand in front of its own axes. Raise TypeError for another
    number of operands, ValueError for shapes that do not fit.
    """
    if len(operands) != len(core_axes):
        raise TypeError(
            f"wrong number of positional arguments: expected {len(core_axes)!r}, got {len(operands)!r} {context}"
        )
    sizes: dict[str, int] = {}
    shapes = []
    for x, axes in zip(operands, core_axes, strict=True):
        if x.ndim < len(axes):
            raise ValueError(
                f"input with shape {x.shape!r} does not have enough dimensions for all core dimensions {axes!r} {context}"
            )
        shapes.append(x.shape[: x.ndim - len(axes)])
        _note_sizes(sizes, axes, x.shape[x.ndim - len(axes) :], context)
    return sizes, shapes


def _note_sizes(sizes: dict[str, int], axes: CoreAxes, shape: tuple[int, ...], context: str) -> None:
    for name, size in zip(axes, shape, strict=True):
        if sizes.setdefault(name, size) != size:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {size!r} vs {sizes[name]!r} {context}")


def _checking_results(
    function: Callable[..., Any], sizes: dict[str, int], result_axes: Sequence[CoreAxes], context: str
) -> Callable[..., Any]:
    """Return a function that does the same, and raises TypeError or ValueError if the results do not fit the signature."""

    def checked(*operands: Any) -> Any:
        out = function(*operands)
        if len(result_axes) > 1 and not isinstance(out, tuple):
            raise TypeError(f"output must be a tuple when multiple outputs are expected, got: {out!r}\n{context}")
        shapes = [np.shape(x) for x in (out if isinstance(out, tuple) else (out,))]
        if len(shapes) != len(result_axes):
            raise TypeError(
                f"wrong number of output arguments: expected {len(result_axes)!r}, got {len(shapes)!r} {context}"
            )
        known = dict(sizes)
        for shape, axes in zip(shapes, result_axes, strict=True):
            if len(shape) != len(axes):
                raise ValueError(f"output shape {shape!r} does not match core dimensions {axes!r} {context}")
            _note_sizes(known, axes, shape, context)
        return out

    return checked


def _check_ranks(operands: Sequence[Any], shapes: Sequence[Sequence[int]], signature: str | None) -> None:
    mode = config.value("numpy_rank_promotion")
    ranks = {len(shape) for x, shape in zip(operands, shapes, strict=True) if x.ndim}
    if mode == "allow" or len(ranks) <= 1:
        return
    message = (
        f"operands with shapes {[x.shape for x in operands]} require rank promotion for jnp.vectorize function with "
        f"signature {signature}. Set the jax_numpy_rank_promotion config option to 'allow' to disable this message; for "
        "more information, see https://docs.jax.dev/en/latest/rank_promotion_warning.html."
    )
    if mode == "raise":
        raise ValueError(message)
    warnings.warn(message, stacklevel=traceback_util.stacklevel())


# --- mapping ------------------------------------------------------------------------------------------------


def _map_in_front(function: Callable[..., Any], operands: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> Any:
    """Return the results of the function, mapped over the axes in front of its own. An axis of size 1 in all operands
    is not mapped, but inserted into the results afterwards.
    """
    rank = len(lax.broadcast_shapes(*shapes))
    squeezed = []
    for x, shape in zip(operands, shapes, strict=True):
        ones = tuple(i for i, size in enumerate(shape) if size == 1)
        squeezed.append(squeeze(x, axis=ones))
    columns = zip(*[(1,) * (rank - len(shape)) + shape for shape in shapes], strict=True)
    unmapped = []
    for axis, sizes in reversed(list(enumerate(columns))):
        in_axes = tuple(None if size == 1 else 0 for size in sizes)
        if any(place == 0 for place in in_axes):
            function = vmap(function, in_axes)
        else:
            unmapped.append(axis)
    result = function(*squeezed)
    if not unmapped:
        return result
    if isinstance(result, tuple):
        return tuple(expand_dims(x, axis=unmapped) for x in result)
    return expand_dims(result, axis=unmapped)


# --- piecewise: of several functions, each element takes the one whose condition holds ----------------------------------


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Return for each element of `x` the result of the function of the last true condition; 0 if none is true.

        jnp.piecewise(x, [x < 0, x > 9], [lambda x: -x, 9, lambda x: x])

    Args:
      x: an array.
      condlist: arrays of bools of its shape.
      funclist: for each condition a function of a scalar, or a value; an additional one is for elements without a true
        condition.
      args, kw: additional arguments of the functions.

    Returns:
      An array of the dtype and shape of `x`. All functions are computed for all elements.

    Raises:
      ValueError: for another number of functions.
    """
    x = ensure_arraylike("piecewise", x)
    conditions, functions = len(condlist), list(funclist)
    if len(functions) not in (conditions, conditions + 1):
        raise ValueError(
            f"with {conditions} condition(s), either {conditions} or {conditions + 1} functions are expected; got {len(functions)}"
        )
    chosen = [0, *functions] if len(functions) == conditions else [functions[-1], *functions[:-1]]
    values = {i: each for i, each in enumerate(chosen) if not callable(each)}
    called = frozenset((i, each) for i, each in enumerate(chosen) if callable(each))
    return _piecewise(x, asarray(condlist, dtype=bool), values, called, *args, **kw)


@functools.partial(jit, static_argnames=("funcs",))
def _piecewise(x: Any, condlist: Any, consts: dict[int, Any], funcs: Any, *args: Any, **kw: Any) -> Any:
    """Return the result of `piecewise`. The running sum of the conditions first reaches its maximum at the last true
    one: that index is the function's number, and 0 if none is true.
    """
    sums = cumsum(lax.concatenate([zeros_like(condlist[:1]), condlist], 0), 0)
    functions = dict(funcs)

    def branch(i: int) -> Callable[[Any], Any]:
        if i in functions:
            return lambda each: functions[i](each, *args, **kw).astype(x.dtype)
        return lambda each: array(consts[i], dtype=x.dtype)

    branches = [branch(i) for i in range(len(condlist) + 1)]
    return vectorize(lambda index, each: lax.switch(index, branches, each))(argmax(sums, 0), x)
