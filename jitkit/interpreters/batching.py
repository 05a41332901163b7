"""operation on elements -> operation on batches

`vmap` batches: a function written for one element is called once, on tracers that look like one element each. A
`BatchTracer` holds a whole batch: an array with one more axis, `val`, and the position of this axis, `batch_dim`. Its
aval is the type of an element, so the function sees no difference.

`BatchTrace.process_primitive` gets each operation. It takes the batches out of the tracers, calls the primitive's
*batching rule*, which does the operation for all elements at once, and wraps the result. A rule is called as
`rule(axis, vals, dims, **params)`. It gets the operands with their batch axes (`dims[i]` is None for an operand that is
the same for all elements), and returns the result and the position of its batch axis. It uses ordinary operations,
which the outer trace (`parent`) runs, records or batches once more: nested `vmap`s need no further rules.

The invariant: a batch axis moves as late as possible, and an operand without one is broadcast only when an operation
needs it. Most rules only renumber parameters. `cond`, `while_loop`, `scan` and `jit` have jaxprs as parameters: these
are batched by running their equations under a new `BatchTrace` while tracing (`batch_jaxpr`).

A *named* axis (`axis_name`) can be reduced over from inside the function: `lax.psum(x, "i")` on an element is a sum
along the batch axis. Which names there are is part of the thread's state (`config.named_axis`).

JAX also has axes of devices (`spmd_axis_name`, meshes), ragged axes, and types with mappings of their own.

JAX: jax/_src/interpreters/batching.py:BatchTrace
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import core
from ..base import config, late_rooms, missing_names, source_info
from ..base.late_rooms import Slots
from ..core import Primitive
from ..core.trace import Trace
from ..core.tracer import Tracer
from ..jaxpr import Jaxpr, eval_jaxpr, remembered
from . import partial_eval, replaying
from .library_rules import BatchingRules

Dim = int | None  # the position of a value's batch axis; None: the value is the same for all elements
Vals = Sequence[Any]
Dims = Sequence[Dim]


class AxisData(NamedTuple):
    """The axis that a trace maps over: its name, or None, and its size.

    `in_jaxpr` says whether the trace batches a jaxpr's equations (True) or a Python function. JAX caches nested jaxprs
    separately for the two, so a printed jaxpr that contains both shows the nested one under two names.
    """

    name: Hashable
    size: int
    in_jaxpr: bool = False


replaying.static_marks[AxisData] = lambda axis: (AxisData, *axis)


@functools.lru_cache(maxsize=4096)
def _aval_of_element(aval: Any, batch_dim: int) -> Any:
    return aval.update(shape=aval.shape[:batch_dim] + aval.shape[batch_dim + 1 :])


class BatchTracer(Tracer):
    """A batch that looks like one of its elements: `val`, with its axis `batch_dim` hidden."""

    __slots__ = ("batch_dim", "source_info", "val")

    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, val: Any, batch_dim: int) -> None:
        self._trace = trace
        self.aval = _aval_of_element(core.get_aval(val), batch_dim)
        self.val = val
        self.batch_dim = batch_dim
        known = getattr(val, "source_info", source_info.UNKNOWN)  # mostly the current line: finding it takes 3 us
        self.source_info = source_info.current() if known is source_info.UNKNOWN else known

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={core.get_aval(self.val)})"

    def _origin_msg(self) -> str:
        created = source_info.summarize(self.source_info)
        return f"\nThis BatchTracer with object id {id(self)} was created on line:\n  {created}"


class BatchTrace(Trace):
    """The trace under which a function written for one element runs on a whole batch."""

    __slots__ = ("axis", "tag")

    def __init__(self, parent: Trace | None, axis: AxisData, tag: object = None) -> None:
        super().__init__(parent)
        self.axis = axis  # the mapped axis
        self.tag = tag or object()  # one call of `vmap`: traces with one tag accept each other's tracers

    def wrap(self, val: Any, dim: Dim) -> Any:
        """Return a tracer for a batch, or the value itself if `dim` is None."""
        return val if dim is None else BatchTracer(self, val, dim)

    def unwrap(self, x: Any) -> tuple[Any, Dim]:
        """Return a value as the outer trace knows it, and the position of its batch axis, or None."""
        if type(x) is BatchTracer and x._trace.tag is self.tag:
            return x.val, x.batch_dim
        return x, None

    def in_words(self) -> str:
        """Return a string such as `vmap over 3 elements`, with the name of the axis if it has one."""
        name = "" if self.axis.name is None else f" along {self.axis.name!r}"
        return f"vmap over {self.axis.size} elements{name}"

    @property
    def keeps_calls(self) -> bool:
        """Whether the call of a library function stays one operation: as in the outer trace; without one, True."""
        return self.parent is None or bool(self.parent.keeps_calls)

    def note(self, args: Sequence[Any]) -> Callable[[Any], Any]:
        """Call the outer trace's `note` with a library function's arguments. Return a function for the result, which
        makes a new tracer if the result is one of the arguments: in JAX the function is jitted, and never returns an
        argument itself. (A jaxpr that closes over both has two constants.)
        """
        if self.parent is not None:
            self.parent.note([self.unwrap(x)[0] for x in args])
        return lambda out: self.wrap(*self.unwrap(out)) if id(out) in map(id, args) else out

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Do for all elements what `primitive` does to one, by operations of the outer trace, `self.parent`.

        Each operand is a batch of this trace, with an axis, or the same for all elements (`self.unwrap` says which).
        The rule `primitive_batchers[primitive]` is called as `rule(self.axis, vals, dims, **params)`, and returns the
        result and its batch axis, lists of both for a primitive of `multiple_results`; wrap each result again.

        If no operand is a batch, bind the primitive as it is, and wrap nothing. But `higher_order` primitives may hide
        a batch axis or its name inside of a jaxpr: always call their rules.

        Raises:
          NotImplementedError: there is no rule.
        """
        vals, dims = [], []
        for x in args:
            val, dim = self.unwrap(x)
            vals.append(val)
            dims.append(dim)
        with core.set_current_trace(self.parent):
            if primitive not in higher_order and dims.count(None) == len(dims):
                return primitive.bind(*vals, **params)
            rule = primitive_batchers.get(primitive)
            if rule is None:
                raise NotImplementedError(f"Batching rule for '{primitive}' not implemented")
            out, out_dim = rule(self.axis, vals, dims, **params)
        if primitive.multiple_results:
            return [self.wrap(x, dim) for x, dim in zip(out, out_dim, strict=True)]
        return self.wrap(out, out_dim)


def batch(
    fun: Callable[..., Sequence[Any]], axis: AxisData, vals: Sequence[Any], dims: Sequence[Dim], tag: object = None
) -> tuple[list[Any], list[Dim]]:
    """Call `fun`, which takes and returns flat lists, once for all elements of a batch. Return the results as the outer
    trace knows them, and the batch axis of each, or None.

    `dims[i]` says which axis of `vals[i]` is mapped over; None passes the value unchanged. With the `tag` of another
    trace, the tracers of that trace count as tracers of this one.
    """
    trace = BatchTrace(core.current_trace(), axis, tag)
    try:
        with core.set_current_trace(trace), config.named_axis(axis.name, axis.size):
            outs = fun(*[trace.wrap(x, dim) for x, dim in zip(vals, dims, strict=True)])
            pairs = [trace.unwrap(x) for x in outs]
        del outs
    finally:
        trace.end()
    if config.value("check_tracer_leaks"):
        partial_eval.check_no_leaks(trace, "vmap")
    return [val for val, _ in pairs], [dim for _, dim in pairs]


# --- moving axes --------------------------------------------------------------------------------------------


class _Broadcasting(Slots):
    """Holds `lax.broadcast_in_dim`. `lax` stores it here, because this module cannot import `lax`, which imports it."""

    broadcast_in_dim: Callable[[Any, Sequence[int], Sequence[int]], Any]


broadcasting = _Broadcasting()


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """Return x with axis `source` moved to position `destination`, and the others in their order (`x.transpose(axes)`).
    If nothing moves, return x itself.
    """
    if source == destination:
        return x
    axes = [axis for axis in range(np.ndim(x)) if axis != source]
    axes.insert(destination, source)
    return x.transpose(axes)


def broadcast(x: Any, size: int, axis: int) -> Any:
    """Return x repeated along a new axis. (The parameters get numpy integers, as in JAX: printed jaxprs show this.)"""
    shape = list(np.shape(x))
    shape.insert(axis, size)
    return broadcasting.broadcast_in_dim(x, shape, tuple(np.delete(np.arange(len(shape)), axis)))


def move_to(x: Any, dim: Dim, destination: int, size: int) -> Any:
    """Return x with its batch axis moved from `dim` to `destination`; if `dim` is None, broadcast along a new axis of this size."""
    return broadcast(x, size, destination) if dim is None else moveaxis(x, dim, destination)


def bdim_at_front(x: Any, dim: Dim, size: int) -> Any:
    """Return x with its batch axis in front. If x has none, broadcast it."""
    return move_to(x, dim, 0, size)


# --- rules --------------------------------------------------------------------------------------------------

# rule(axis, vals, dims, **params) -> result and its batch axis; lists of them for `multiple_results`. At least one
# operand is a batch, except for `higher_order` primitives.
BatchingRule = Callable[..., tuple[Any, Any]]
primitive_batchers: dict[Primitive, BatchingRule] = BatchingRules(lambda axis: ())  # the rule of each primitive
fancy_primitive_batchers: dict[Primitive, BatchingRule] = BatchingRules(lambda axis: (axis,), primitive_batchers)
axis_primitive_batchers = BatchingRules(lambda axis: (axis.size, axis.name, None), primitive_batchers)
higher_order: set[Primitive] = set()  # primitives with jaxprs inside, whose rules are called in any case


def register_batcher(*primitives: Primitive, even_unmapped: bool = False) -> Callable[[BatchingRule], BatchingRule]:
    """Decorator: register the batching rule of these primitives. With `even_unmapped`, call it also if no operand is a batch."""

    def register(rule: BatchingRule) -> BatchingRule:
        primitive_batchers.update((primitive, replaying.replayed(primitive, rule)) for primitive in primitives)
        if even_unmapped:
            higher_order.update(primitives)
        return rule

    return register


def defvectorized(primitive: Primitive) -> None:
    """Define the batching rule of an elementwise operation on one operand: the batch axis keeps its position."""

    @register_batcher(primitive)
    def rule(axis: AxisData, vals: Sequence[Any], dims: Sequence[Dim], **params: Any) -> Any:
        out = primitive.bind(*vals, **params)
        return (out, [dims[0]] * len(out)) if primitive.multiple_results else (out, dims[0])


def defbroadcasting(primitive: Primitive) -> None:
    """Define `broadcast_batcher` as the batching rule of an elementwise operation on operands of one shape, or scalars."""
    register_batcher(primitive)(functools.partial(broadcast_batcher, primitive))


def broadcast_batcher(
    primitive: Primitive, axis: AxisData, vals: Sequence[Any], dims: Sequence[Dim], **params: Any
) -> Any:
    """Batching rule of elementwise operations on operands of one shape, or scalars. (Such an operation broadcasts scalars and
    axes of size 1, and nothing else.)

    If all batches have one shape and one batch axis, and every other operand is a scalar, bind the operation as it is;
    the result has the same batch axis. (An operand that is not a batch may be a Python number: `np.ndim` and `np.shape`
    take those, too.) Otherwise move all batch axes to the front, and give an operand that is not a batch an axis of
    size 1 there, unless it is a scalar. A batch of scalars then has one axis, and needs axes of size 1 behind it, to
    have as many as the others (`with_axes_behind`). Nothing is repeated in memory.

    Returns:
      The result and its batch axis; for a primitive of `multiple_results` a list of each.
    """
    dim = next(d for d in dims if d is not None)
    shape = vals[dims.index(dim)].shape
    for x, d in zip(vals, dims, strict=True):
        if (d != dim or x.shape != shape) and np.ndim(x):
            break
    else:
        out = primitive.bind(*vals, **params)
        return (out, [dim] * len(out)) if primitive.multiple_results else (out, dim)
    vals = [bdim_at_front(x, d, 1) if np.ndim(x) else x for x, d in zip(vals, dims, strict=True)]
    rank = max(map(np.ndim, vals))
    vals = [x if d is None else with_axes_behind(x, rank) for x, d in zip(vals, dims, strict=True)]
    out = primitive.bind(*vals, **params)
    return (out, [0] * len(out)) if primitive.multiple_results else (out, 0)


def with_axes_behind(x: Any, rank: int) -> Any:
    """Return x with axes of size 1 appended up to this rank."""
    missing = rank - np.ndim(x)
    if not missing:
        return x
    return broadcasting.broadcast_in_dim(x, (*np.shape(x), *[1] * missing), range(np.ndim(x)))


def defreducer(primitive: Primitive) -> None:
    """Define `reduction_batcher` as the batching rule of an operation that reduces one operand along `axes`."""
    register_batcher(primitive)(functools.partial(reduction_batcher, primitive))


def reduction_batcher(
    primitive: Primitive,
    axis: AxisData,
    vals: Sequence[Any],
    dims: Sequence[int],
    *,
    axes: Sequence[int],
    **params: Any,
) -> Any:
    """Return the batched result of an operation that reduces one operand along `axes`, numbered as in an element.

    In the batch these axes may have other numbers (`shifted_by_numpy`). Each reduced axis before the batch axis lowers
    the number of the batch axis by one. Raise IndexError if the element does not have one of the axes.

    Returns:
      The result, and its batch axis.
    """
    [x], [dim] = vals, dims
    if any(axis >= x.ndim - 1 for axis in axes):
        element = [size for axis, size in enumerate(x.shape) if axis != dim]
        raise IndexError(f"reduction axes {tuple(axes)} contains out-of-bounds indices for shape {tuple(element)}")
    kept = dim - sum(reduced < dim for reduced in axes)
    return primitive.bind(x, axes=shifted_by_numpy(axes, dim), **params), kept


def shifted(axes: Sequence[int], dim: int) -> list[int]:
    """Return the numbers of an element's axes in the batch: `[0, 3]` for `[0, 2]`, if the batch axis, `dim`, is 1."""
    return [axis + (axis >= dim) for axis in axes]


def shifted_by_numpy(axes: Sequence[int], dim: int) -> tuple[Any, ...]:
    """Return the shifted axes as numpy integers, as JAX has them in some parameters: a jaxpr shows `np.int64(1)`."""
    return tuple(np.add(axes, np.greater_equal(axes, dim)))


# --- jaxprs -------------------------------------------------------------------------------------------------


def batch_jaxpr(
    jaxpr: Jaxpr, axis: AxisData, in_dims: Sequence[Dim], out_dims: Sequence[Dim] | None = None
) -> tuple[Jaxpr, tuple[Dim, ...]]:
    """Turn a program for elements into one for batches; return it and the batch axes of its results.

    Args:
      jaxpr: with a value for each of its constants (`consts`).
      axis: the axis that is mapped over.
      in_dims: the batch axis of each input.
      out_dims: for each result, where its batch axis has to be; a result without one is broadcast. None means the front,
        if the result has a batch axis at all. Without `out_dims`, axes stay where the rules put them.

    Cached: the same arguments give the same jaxpr.
    """
    state = config.local.state
    if state.source is not None:
        axis = axis._replace(in_jaxpr=True)
    return _batch_jaxpr(jaxpr, axis, tuple(in_dims), None if out_dims is None else tuple(out_dims), state.options)


@remembered
def _batch_jaxpr(
    jaxpr: Jaxpr, axis: AxisData, in_dims: tuple[Dim, ...], out_dims: tuple[Dim, ...] | None, options: Any
) -> tuple[Jaxpr, tuple[Dim, ...]]:
    found: list[Dim] = []
    axis = axis._replace(in_jaxpr=True)

    def on_batches(*vals: Any) -> list[Any]:
        outs, dims = batch(functools.partial(eval_jaxpr, jaxpr, jaxpr.consts), axis, vals, in_dims)
        if out_dims is None:
            found.extend(dims)
            return outs
        wanted = [0 if to is None and dim is not None else to for dim, to in zip(dims, out_dims, strict=True)]
        found.extend(wanted)
        return [
            x if to is None else move_to(x, dim, to, axis.size) for x, dim, to in zip(outs, dims, wanted, strict=True)
        ]

    avals = [
        aval if dim is None else aval.update(shape=(*aval.shape[:dim], axis.size, *aval.shape[dim:]))
        for aval, dim in zip(jaxpr.in_avals, in_dims, strict=True)
    ]
    return partial_eval.trace_to_jaxpr(on_batches, avals, jaxpr.debug_info), tuple(found)


def batch_jaxpr_if(
    jaxpr: Jaxpr, axis: AxisData, batched: Sequence[bool], instantiate: Sequence[bool] | bool = False
) -> tuple[Jaxpr, list[bool]]:
    """Call `batch_jaxpr` with every batch axis at 0. `batched` marks the inputs that have one, `instantiate` the
    outputs that must have one. Return the new jaxpr, and for each output whether it has one.
    """
    musts = [instantiate] * len(jaxpr.outvars) if isinstance(instantiate, bool) else instantiate
    in_dims = [0 if is_batched else None for is_batched in batched]
    on_batches, dims = batch_jaxpr(jaxpr, axis, in_dims, [0 if must else None for must in musts])
    return on_batches, [dim is not None for dim in dims]


late_rooms.hand_on(__name__, register_vmappable="jitkit.interpreters.library_rules:register_vmappable")
missing_names.explain("interpreters.batching", sys.modules[__name__])
