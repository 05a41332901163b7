"""operation on elements -> operation on batches

Batching, which is what `vmap` does. A function that was written for one element is called once, on tracers that look
like one element each. A `BatchTracer` holds a whole batch: an array with one axis more, `val`, and where this axis is,
`batch_dim`. Its aval is that of an element, so the function cannot tell.

Each operation lands in `BatchTrace.process_primitive`. It takes the batches out of the tracers and asks the primitive's
*batching rule* for an operation on batches that does to every element what was asked for one; the result is wrapped
again. A rule is called as `rule(axis, vals, dims, **params)`. It gets the operands with their batch axes (`dims[i]` is
None for an operand that is the same for all elements), and returns the result with the place of its axis. It does so by
ordinary operations of the trace outside (`parent`): there they are run, or written down, or batched once more. So nested
`vmap`s need no further rule, and nothing is a loop.

The invariant is that an axis moves as late as possible, and an operand without one is broadcast only when an operation
needs it. Most rules only renumber parameters. `cond`, `while_loop`, `scan` and `jit` have jaxprs as parameters: these
are batched as programs, by running their equations under a new `BatchTrace` while tracing (`batch_jaxpr`).

A *named* axis (`axis_name`) can be reduced over from inside the function: `lax.psum(x, "i")` on an element is a sum along
the batch axis. Which names there are is part of the thread's state (`config.named_axis`).

JAX has further kinds of axes here: those of devices (`spmd_axis_name`, meshes), ragged ones, and values that say
themselves how they are mapped.

JAX: jax/_src/interpreters/batching.py:BatchTrace
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import core
from ..base import config, missing_names, source_info
from ..base.late_rooms import Slots
from ..core import Primitive
from ..core.trace import Trace
from ..core.tracer import Tracer
from ..jaxpr import Jaxpr, eval_jaxpr, remembered
from . import partial_eval, replaying
from .library_rules import BatchingRules

Dim = int | None  # where the batch axis of a value is; None: the value is the same for all elements
Vals = Sequence[Any]
Dims = Sequence[Dim]


class AxisData(NamedTuple):
    """What is known of the axis that a trace maps over: its name, None if it has none, and its size.

    `in_jaxpr` is whether what is mapped is done for an equation of a jaxpr, or by a function of Python. JAX remembers what it
    makes of nested jaxprs for each of the two apart, which shows where a printed jaxpr names those that it has twice.
    """

    name: Hashable
    size: int
    in_jaxpr: bool = False


replaying.static_marks[AxisData] = lambda axis: (AxisData, *axis)


@functools.lru_cache(maxsize=4096)
def _aval_of_element(aval: Any, batch_dim: int) -> Any:
    return aval.update(shape=aval.shape[:batch_dim] + aval.shape[batch_dim + 1 :])


class BatchTracer(Tracer):
    """A batch that looks like one of its elements: `val` with its axis `batch_dim` hidden."""

    __slots__ = ("batch_dim", "source_info", "val")

    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, val: Any, batch_dim: int) -> None:
        self._trace = trace
        self.aval = _aval_of_element(core.get_aval(val), batch_dim)
        self.val = val
        self.batch_dim = batch_dim
        known = getattr(val, "source_info", source_info.UNKNOWN)  # the same line, and walking to it takes 3 us
        self.source_info = source_info.current() if known is source_info.UNKNOWN else known

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={core.get_aval(self.val)})"

    def _origin_msg(self) -> str:
        created = source_info.summarize(self.source_info)
        return f"\nThis BatchTracer with object id {id(self)} was created on line:\n  {created}"


class BatchTrace(Trace):
    """The trace that does to batches what a function does to one element."""

    __slots__ = ("axis", "tag")

    def __init__(self, parent: Trace | None, axis: AxisData, tag: object = None) -> None:
        super().__init__(parent)
        self.axis = axis  # what is known of the axis that is mapped
        self.tag = tag or object()  # of one call of `vmap`: a rule that is run later may close over its tracers

    def wrap(self, val: Any, dim: Dim) -> Any:
        """A tracer for a batch; the value itself when it is no batch."""
        return val if dim is None else BatchTracer(self, val, dim)

    def unwrap(self, x: Any) -> tuple[Any, Dim]:
        """A value of the function as what the trace outside knows: with where its batch axis is."""
        if type(x) is BatchTracer and x._trace.tag is self.tag:
            return x.val, x.batch_dim
        return x, None

    def in_words(self) -> str:
        """Over how many elements, and along which named axis."""
        name = "" if self.axis.name is None else f" along {self.axis.name!r}"
        return f"vmap over {self.axis.size} elements{name}"

    @property
    def keeps_calls(self) -> bool:
        """As the trace around has it."""
        return self.parent is not None and self.parent.keeps_calls

    def note(self, args: Sequence[Any]) -> Callable[[Any], Any]:
        """Hand on to the trace outside. A result that is one of the arguments gets a tracer of its own, as from JAX, where
        the function is a jitted one: what closes over both of them has two constants then.
        """
        if self.parent is not None:
            self.parent.note([self.unwrap(x)[0] for x in args])
        return lambda out: self.wrap(*self.unwrap(out)) if id(out) in map(id, args) else out

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Do for all elements what `primitive` does to one: by operations of the trace outside, `self.parent`.

        Each operand is a batch of this trace, with an axis, or the same for all elements (`self.unwrap` tells). The rule
        `primitive_batchers[primitive]` is called as `rule(self.axis, vals, dims, **params)`, and returns the result and where its
        batch axis is, lists of both for a primitive of `multiple_results`; each result is wrapped again.

        Operands of which none is a batch need no rule: the primitive is bound as it is, and nothing is wrapped. `higher_order`
        primitives may hide a batch axis or its name inside of a jaxpr, and are asked in any case.

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
    """Call `fun`, which takes and returns flat lists, once for all elements of a batch.

    `dims[i]` says which axis of `vals[i]` is mapped over; None passes the value as it is. The results come as the trace
    outside knows them, and with where the batch axis of each is. With the `tag` of another trace, its tracers are known.
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
    """Slot for `lax.broadcast_in_dim`, which stands above this module."""

    broadcast_in_dim: Callable[[Any, Sequence[int], Sequence[int]], Any]


broadcasting = _Broadcasting()


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """x with the axis `source` at the place `destination` of the result, and the others in their order (`x.transpose(axes)`). Where
    nothing moves, it is x itself.
    """
    if source == destination:
        return x
    axes = [axis for axis in range(np.ndim(x)) if axis != source]
    axes.insert(destination, source)
    return x.transpose(axes)


def broadcast(x: Any, size: int, axis: int) -> Any:
    """x repeated along a new axis. (The other axes are numbered by numpy, as in JAX: jaxprs show it.)"""
    shape = list(np.shape(x))
    shape.insert(axis, size)
    return broadcasting.broadcast_in_dim(x, shape, tuple(np.delete(np.arange(len(shape)), axis)))


def move_to(x: Any, dim: Dim, destination: int, size: int) -> Any:
    """x with its batch axis at `destination`, and no more at `dim`. Without one (None) it gets one of this size (`broadcast`)."""
    return broadcast(x, size, destination) if dim is None else moveaxis(x, dim, destination)


def bdim_at_front(x: Any, dim: Dim, size: int) -> Any:
    """x with its batch axis first; broadcast, if it has none."""
    return move_to(x, dim, 0, size)


# --- rules --------------------------------------------------------------------------------------------------

# rule(axis, vals, dims, **params) -> result and where its batch axis is; lists of them for `multiple_results`. At
# least one operand is a batch, but for `higher_order` primitives.
BatchingRule = Callable[..., tuple[Any, Any]]
primitive_batchers: dict[Primitive, BatchingRule] = BatchingRules(lambda axis: ())
fancy_primitive_batchers: dict[Primitive, BatchingRule] = BatchingRules(lambda axis: (axis,), primitive_batchers)
axis_primitive_batchers = BatchingRules(lambda axis: (axis.size, axis.name, None), primitive_batchers)
higher_order: set[Primitive] = set()


def register_batcher(*primitives: Primitive, even_unmapped: bool = False) -> Callable[[BatchingRule], BatchingRule]:
    """Decorator: the function is the batching rule of these primitives. With `even_unmapped`, it is asked also where no
    operand is a batch.
    """

    def register(rule: BatchingRule) -> BatchingRule:
        primitive_batchers.update((primitive, replaying.replayed(primitive, rule)) for primitive in primitives)
        if even_unmapped:
            higher_order.update(primitives)
        return rule

    return register


def defvectorized(primitive: Primitive) -> None:
    """For operations on each element by itself, whatever the number of axes: the batch axis stays where it is."""

    @register_batcher(primitive)
    def rule(axis: AxisData, vals: Sequence[Any], dims: Sequence[Dim], **params: Any) -> Any:
        out = primitive.bind(*vals, **params)
        return (out, [dims[0]] * len(out)) if primitive.multiple_results else (out, dims[0])


def defbroadcasting(primitive: Primitive) -> None:
    """For operations on operands of one shape, beside which there may be scalars: `broadcast_batcher`."""
    register_batcher(primitive)(functools.partial(broadcast_batcher, primitive))


def broadcast_batcher(
    primitive: Primitive, axis: AxisData, vals: Sequence[Any], dims: Sequence[Dim], **params: Any
) -> Any:
    """The rule of operations on each element of operands that are of one shape, or scalars: these stretch, and so do axes of
    size 1, but nothing else does.

    Where all batches have one shape and their axes at one place, and every other operand is a scalar, it is the operation as it is, and
    the axis of the result is at that place. (An operand that is no batch may be a number of Python: `np.ndim` and
    `np.shape` take those, too.) Otherwise all batch axes are moved to the front, where an operand that is no batch gets
    an axis of size 1 unless it is a scalar. A batch of scalars has one axis then, and needs others of size 1 behind it, to have as many as
    the others (`with_axes_behind`). Nothing is repeated in memory.

    Returns:
      The result and its place; for a primitive of `multiple_results` a list of results, and one of places.
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
    """x with as many axes of size 1 behind its own as it lacks."""
    missing = rank - np.ndim(x)
    if not missing:
        return x
    return broadcasting.broadcast_in_dim(x, (*np.shape(x), *[1] * missing), range(np.ndim(x)))


def defreducer(primitive: Primitive) -> None:
    """For operations on one operand along the axes `axes`, which the result lacks: `reduction_batcher`."""
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
    """The rule of operations that reduce one operand along `axes`, which are those of an element, and which the result lacks.

    In the batch the same axes may have other numbers (`shifted_by_numpy`). The batch axis stays, and those of the reduced axes that
    stood before it are gone.

    Returns:
      The result, and where its batch axis is.
    """
    [x], [dim] = vals, dims
    if any(axis >= x.ndim - 1 for axis in axes):
        element = [size for axis, size in enumerate(x.shape) if axis != dim]
        raise IndexError(f"reduction axes {tuple(axes)} contains out-of-bounds indices for shape {tuple(element)}")
    kept = dim - sum(reduced < dim for reduced in axes)
    return primitive.bind(x, axes=shifted_by_numpy(axes, dim), **params), kept


def shifted(axes: Sequence[int], dim: int) -> list[int]:
    """What axes of an element are called in a batch whose axis is at `dim`: those from there on stand one place later."""
    return [axis + (axis >= dim) for axis in axes]


def shifted_by_numpy(axes: Sequence[int], dim: int) -> tuple[Any, ...]:
    """The same as numpy's integers, which a jaxpr shows as `np.int64(1)`: JAX has such in some parameters."""
    return tuple(np.add(axes, np.greater_equal(axes, dim)))


# --- jaxprs -------------------------------------------------------------------------------------------------


def batch_jaxpr(
    jaxpr: Jaxpr, axis: AxisData, in_dims: Sequence[Dim], out_dims: Sequence[Dim] | None = None
) -> tuple[Jaxpr, tuple[Dim, ...]]:
    """The program for batches of a program for elements, and where the batch axes of its results are.

    Args:
      jaxpr: closed.
      axis: that is mapped over.
      in_dims: where the batch axis of each input is.
      out_dims: for each result where the axis has to be, even if it has to be broadcast; None: first, if the result
        has a batch axis at all. Left out, axes are wherever the rules leave them.

    The same question gets the same jaxpr as the answer.
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
    """`batch_jaxpr` where all batch axes come first: which inputs have one, which results must have one (for the others,
    it is as it comes), and which have.
    """
    musts = [instantiate] * len(jaxpr.outvars) if isinstance(instantiate, bool) else instantiate
    in_dims = [0 if is_batched else None for is_batched in batched]
    on_batches, dims = batch_jaxpr(jaxpr, axis, in_dims, [0 if must else None for must in musts])
    return on_batches, [dim is not None for dim in dims]


missing_names.explain("interpreters.batching", sys.modules[__name__])
