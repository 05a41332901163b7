"""key + primitive -> key, or bits: what a random key is, and its seven operations

The generator has no state: the same *key* gives the same bits each time. So a program never draws twice from one key;
it makes new ones (`split`, `fold_in`), and it does not matter in which order its parts draw, nor on how many devices.

A key is an array element like a float: `key<fry>[3]` has a shape, can be indexed, stacked, carried through a loop, and
closed over. Its bits (two or four uint32) are hidden, so that nobody adds 1 to a key, which would give one that is not
independent. `random_wrap` and `random_unwrap` convert between the two views without computing; old-style keys are bare
`uint32[2]`, which every function wraps.

The primitives work on each key of an array. An *implementation* defines how: `threefry2x32`, or one of two in `rbg`. A
lowering rule below is one line, which inlines a Python function on uint32 arrays.

JAX: jax/_src/random/prng.py:random_bits
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import core, lax
from .. import numpy as jnp
from ..base import config, edits
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.ad_rules import defjvp_zero
from ..interpreters.batching import AxisData, Vals, bdim_at_front, defbroadcasting, defvectorized, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering
from ..jaxpr import pp_eqn_rules
from ..jaxpr.printer import hide_params
from ..lax.reducers import inline_function
from ..lax.utils import broadcast_equal_ranks
from ..runtime import array
from ..runtime.array import Array


class PRNGImpl(NamedTuple):
    """An implementation: how many uint32 make a key, and the operations, as functions on arrays of uint32.

    Arrays of keys have the shape `(*keys, *key_shape)`; `seed` takes integers `(*keys,)`, `split` and `random_bits` add
    axes `shape` behind `keys`. `fold_in` takes as many integers as keys.
    """

    key_shape: tuple[int, ...]
    seed: Callable[[Any], Any]
    split: Callable[[Any, tuple[int, ...]], Any]
    random_bits: Callable[[Any, int, tuple[int, ...]], Any]
    fold_in: Callable[[Any, Any], Any]
    name: str
    tag: str  # its name in types: `key<fry>`

    def __hash__(self) -> int:
        return hash(self.tag)

    def __str__(self) -> str:
        return self.tag


class KeyTy(dtypes.ExtendedDType):
    """The element type of random keys of one implementation: `key<fry>`."""

    type = dtypes.prng_key
    physical_dtype = np.dtype(np.uint32)

    def __init__(self, impl: PRNGImpl) -> None:
        self._impl = impl
        self.physical_shape = impl.key_shape
        self.name = f"key<{impl.tag}>"

    def full(self, shape: tuple[int, ...], fill_value: Any) -> Any:
        """Return keys that all equal the key `fill_value`, or have the number `fill_value` as each of their words."""
        stored = (*shape, *self.physical_shape)
        if is_key_array(fill_value):
            return random_wrap(jnp.broadcast_to(random_unwrap(fill_value), stored), self._impl)
        return random_wrap(lax.full(stored, fill_value, np.uint32), self._impl)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyTy) and self._impl == other._impl

    def __hash__(self) -> int:
        return hash((KeyTy, self._impl))


def is_key_array(x: Any) -> bool:
    """Return whether x is an array (or a tracer) of random keys."""
    return isinstance(x, Array) and isinstance(x.dtype, KeyTy)


def _impl_of(keys: ShapedArray) -> PRNGImpl:
    dtype: Any = keys.dtype
    impl: PRNGImpl = dtype._impl
    return impl


def _apply(ctx: LoweringContext, function: Callable[..., Any], *names: str) -> str:
    """Write the operations of `function` on these operands, with keys as their bits; return the name of the result."""
    avals = [core.physical_aval(aval) for aval in ctx.avals_in]
    return inline_function(ctx, lambda *arrays: [function(*arrays)], names, avals)[0]


def _older() -> dict[str, bool]:
    """Return the parameter that records in an equation that the option `threefry_partitionable` is off; {} if it is on.
    The option may have changed when the equation is lowered. As in JAX, jaxprs are printed without this parameter.
    """
    return {} if config.local.state.options.threefry_partitionable else {"partitionable": False}


# --- random_seed: integers -> keys --------------------------------------------------------------------------

random_seed_p = Primitive("random_seed")
defvectorized(random_seed_p)


@random_seed_p.def_abstract_eval
def _(seeds: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    return ShapedArray(seeds.shape, KeyTy(impl))


@register_lowering(random_seed_p)
def _(ctx: LoweringContext, seeds: str, *, impl: PRNGImpl) -> str:
    return _apply(ctx, impl.seed, seeds)


def random_seed(seeds: Any, impl: PRNGImpl) -> Any:
    """Return a key for each seed. Unless x64 mode is on, only the lowest 32 bits of a Python integer are used."""
    seeds = jnp.asarray(np.int64(seeds) if isinstance(seeds, int) else seeds)
    return random_seed_p.bind(seeds, impl=impl)


# --- random_split: a key -> many ----------------------------------------------------------------------------

random_split_p = Primitive("random_split")
defvectorized(random_split_p)
pp_eqn_rules[random_split_p] = hide_params("partitionable")


@random_split_p.def_abstract_eval
def _(keys: ShapedArray, *, shape: tuple[int, ...], partitionable: bool = True) -> ShapedArray:
    return keys.update(shape=(*keys.shape, *shape))


@register_lowering(random_split_p)
def _(ctx: LoweringContext, keys: str, *, shape: tuple[int, ...], partitionable: bool = True) -> str:
    impl = _impl_of(ctx.avals_in[0])
    with config.override(threefry_partitionable=partitionable):
        return _apply(ctx, lambda key: impl.split(key, shape), keys)


def random_split(keys: Any, shape: tuple[int, ...]) -> Any:
    """Return, for each key, an array of new keys of this shape: `(*keys.shape, *shape)` in all."""
    return random_split_p.bind(keys, shape=shape, **_older())


# --- random_fold_in: a key and an integer -> a key ----------------------------------------------------------

random_fold_in_p = Primitive("random_fold_in")
defbroadcasting(random_fold_in_p)


@random_fold_in_p.def_abstract_eval
def _(keys: ShapedArray, data: ShapedArray) -> ShapedArray:
    shapes = [aval.shape for aval in (keys, data) if aval.shape]
    return keys.update(shape=broadcast_equal_ranks("random_fold_in", shapes or [()]))


@register_lowering(random_fold_in_p)
def _(ctx: LoweringContext, keys: str, data: str) -> str:
    return _apply(ctx, _impl_of(ctx.avals_in[0]).fold_in, keys, data)


def random_fold_in(keys: Any, data: Any) -> Any:
    """Return a new key for each key and integer."""
    return random_fold_in_p.bind(keys, jnp.asarray(data))


# --- random_bits: a key -> bits -----------------------------------------------------------------------------

random_bits_p = Primitive("random_bits")
defvectorized(random_bits_p)
pp_eqn_rules[random_bits_p] = hide_params("partitionable")


@random_bits_p.def_abstract_eval
def _(keys: ShapedArray, *, bit_width: int, shape: tuple[int, ...], partitionable: bool = True) -> ShapedArray:
    return ShapedArray((*keys.shape, *shape), f"uint{bit_width}")


@register_lowering(random_bits_p)
def _(ctx: LoweringContext, keys: str, *, bit_width: int, shape: tuple[int, ...], partitionable: bool = True) -> str:
    impl = _impl_of(ctx.avals_in[0])
    with config.override(threefry_partitionable=partitionable):
        return _apply(ctx, lambda key: impl.random_bits(key, bit_width, shape), keys)


def random_bits(keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Return, for each key, an array of this shape of unsigned integers of 8, 16, 32 or 64 random bits (`bit_width`)."""
    return random_bits_p.bind(keys, bit_width=bit_width, shape=shape, **_older())


# --- random_wrap, random_unwrap: the two views of a key ----------------------------------------------------

random_wrap_p = Primitive("random_wrap")
random_unwrap_p = Primitive("random_unwrap")
defvectorized(random_unwrap_p)


@random_wrap_p.def_abstract_eval
def _(data: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    return ShapedArray(data.shape[: -len(impl.key_shape)], KeyTy(impl))


@random_unwrap_p.def_abstract_eval
def _(keys: ShapedArray) -> Any:
    return core.physical_aval(keys)


@register_lowering(random_wrap_p, random_unwrap_p)
def _(ctx: LoweringContext, x: str, **params: Any) -> str:
    return x


@register_batcher(random_wrap_p)
def _(axis: AxisData, vals: Vals, dims: list[int], *, impl: PRNGImpl) -> Any:
    """Batching rule: move the batch axis to the front; the last axes are those of a key."""
    return random_wrap_p.bind(bdim_at_front(vals[0], dims[0], axis.size), impl=impl), 0


def random_wrap(data: Any, impl: PRNGImpl) -> Any:
    """Return arrays of uint32 as keys. Raise TypeError if they cannot be keys of this implementation."""
    _check_key_data(data, impl)
    if core.trace_state_clean() and not isinstance(data, core.Tracer):  # the same buffer, without a program
        data = array.as_array(data)
        return array.reinterpreted(data, random_wrap_p.abstract_eval(data.aval, impl=impl))
    return random_wrap_p.bind(data, impl=impl)


def random_unwrap(keys: Any) -> Any:
    """Return keys as arrays of uint32. Raise TypeError for other arrays."""
    if not is_key_array(keys):
        raise TypeError(f"random_unwrap takes key array operand, got keys.dtype={keys.dtype!r}")
    if core.trace_state_clean() and not isinstance(keys, core.Tracer):
        return array.reinterpreted(keys, core.physical_aval(keys.aval))
    return random_unwrap_p.bind(keys)


def _check_key_data(data: Any, impl: PRNGImpl) -> None:
    problem = "JAX encountered invalid PRNG key data: expected"
    if not all(hasattr(data, attribute) for attribute in ("ndim", "shape", "dtype")):
        raise TypeError(
            f"{problem} key_data to have ndim, shape, and dtype attributes. Got {data}\n"
            f"Make a key from the seed once, and split it from then on: `key = jitkit.random.key({data!r})`."
        )
    if data.ndim < 1:
        raise TypeError(f"{problem} key_data.ndim >= 1; got ndim={data.ndim}")
    if data.shape[-len(impl.key_shape) :] != impl.key_shape:
        raise TypeError(
            f"{problem} key_data.shape to end with {impl.key_shape}; got shape={data.shape} for {impl=}{edits.KEY_FIRST}"
        )
    if data.dtype not in (np.uint32, dtypes.float0):
        raise TypeError(f"{problem} key_data.dtype = uint32; got dtype={data.dtype}")


# --- random_clone: the same key, said to be used twice on purpose ------------------------------------------

random_clone_p = Primitive("random_clone")
defvectorized(random_clone_p)


@random_clone_p.def_abstract_eval
def _(keys: ShapedArray) -> ShapedArray:
    return keys


@register_lowering(random_clone_p)
def _(ctx: LoweringContext, x: str) -> str:
    return x


# --- derivatives: keys and random bits have none ------------------------------------------------------------

defjvp_zero(random_seed_p, random_split_p, random_fold_in_p, random_bits_p, random_wrap_p, random_unwrap_p)
