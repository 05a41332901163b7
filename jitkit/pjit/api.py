"""The functions around `jit` that JAX has at its top level: looking at a trace, moving data, waiting,
switching options.

JAX: jax/_src/api.py:make_jaxpr
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any

from .. import runtime
from ..base import config, traceback_util
from ..core import dtypes
from ..runtime import array
from ..runtime.array import Array
from ..signature import api_util
from ..tree_util import broadcast_prefix, tree_flatten, tree_leaves, tree_map, tree_unflatten
from .function import PjitFunction
from .jit import jit
from .jit_call import Inline
from .jitted import Jitted
from .tracing import JitOptions

# --- looking ------------------------------------------------------------------------------------------------


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function that takes the arguments of `fun` and returns the jaxpr of calling it with them.

    Arguments may be `ShapeDtypeStruct`s. With `return_shape`, returns a pair: the jaxpr, and the tree of
    `ShapeDtypeStruct`s of the result. `axis_env` has named axes with their sizes, `[("i", 4)]`, which `fun` may use as
    in `vmap(..., axis_name="i")`.
    """
    if not callable(fun):
        raise TypeError(f"the first argument must be callable\nmake_jaxpr takes a function, got {fun!r}.")
    spec = api_util.resolve_spec(fun, static_argnums, None, None, None)
    jitted = Jitted(fun, JitOptions(spec, False, Inline.AUTO, ()))

    @functools.wraps(fun)
    @traceback_util.api_boundary
    def jaxpr_of_call(*args: Any, **kwargs: Any) -> Any:
        with ExitStack() as axes:
            for name, size in axis_env or ():
                axes.enter_context(config.named_axis(name, size))
            traced = jitted.trace(*args, **kwargs)
        return (traced.jaxpr, traced.out_info) if return_shape else traced.jaxpr

    for attribute in ("__name__", "__qualname__"):
        name = f"make_jaxpr({getattr(fun, attribute)})" if hasattr(fun, attribute) else jitted.name
        setattr(jaxpr_of_call, attribute, name)
    jaxpr_of_call.__module__ = "jitkit"
    return jaxpr_of_call


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of `fun(*args, **kwargs)`, as a tree of `ShapeDtypeStruct`s, without computing
    anything. Of a jitted function, static arguments are what they were said to be.
    """
    return (fun if isinstance(fun, PjitFunction) else jit(fun)).eval_shape(*args, **kwargs)


# --- data and devices ---------------------------------------------------------------------------------------


@traceback_util.api_boundary
def device_put(x: Any, device: Any = None, *, donate: Any = False, may_alias: Any = None) -> Any:
    """The leaves of a tree as Arrays on a device (or with a `jax.sharding.Sharding`), which commits them to
    it. `device` may be a tree of these, which ends above the leaves.

    Without `device`, values go to the default device and stay uncommitted: computations may move them.

    Args:
      donate: the arrays are not needed any more; True, False, or a tree of these. Nothing is made of it yet, as by JAX where an
        array stays on its device.
      may_alias: False for memory of their own; else an array that is in its place already comes back as it is. Or a tree of these.

    Raises:
      ValueError: for a tree of another form; for both at once.
    """
    leaves, tree = tree_flatten(x)
    count = len(leaves)
    places = _for_each_leaf("device", device, x, count)
    given = _for_each_leaf("donate", donate, x, count)
    shared = _for_each_leaf("may_alias", may_alias, x, count)
    if any(give and share for give, share in zip(given, shared, strict=True)):
        raise ValueError("may_alias and donate cannot be True at the same time.")
    keeps = [(share is None and not give) or bool(share) for give, share in zip(given, shared, strict=True)]
    put = [array.device_put_leaf(*each) for each in zip(leaves, places, strict=True)]
    put = [new if keep or new is not old else new.copy() for new, old, keep in zip(put, leaves, keeps, strict=True)]
    return tree_unflatten(tree, put)


def _for_each_leaf(what: str, prefix: Any, x: Any, count: int) -> list[Any]:
    """A parameter of `device_put`, a value or a tree of them, for each of so many leaves."""
    if prefix is None or isinstance(prefix, bool):
        return [prefix] * count
    try:
        return broadcast_prefix(prefix, x, lambda value: value is None)
    except ValueError as error:
        raise ValueError(
            f"device_put {what} specification must be a tree prefix of the corresponding value; \n{error}"
        ) from None


def device_get(x: Any) -> Any:
    """The leaves of a tree as numpy arrays; random keys, which numpy does not know, as they are."""
    return tree_map(_on_host, x)


def _on_host(leaf: Any) -> Any:
    is_array = type(leaf) is Array or runtime.is_buffer(leaf)
    return leaf.__array__() if is_array and not isinstance(leaf.dtype, dtypes.ExtendedDType) else leaf


def block_until_ready(x: Any) -> Any:
    """Wait until every array in a tree is computed, and return the tree. What a stopwatch needs: calls return
    before that. Leaves of other kinds are waited for when they have a `block_until_ready` of their own.
    """
    leaves = tree_leaves(x)
    runtime.block_until_ready([leaf._buf for leaf in leaves if type(leaf) is Array])
    for leaf in leaves:
        if type(leaf) is not Array:
            with suppress(AttributeError):
                leaf.block_until_ready()
    return x


def devices(backend: str | None = None) -> list[Any]:
    """The devices of a platform ("cpu", "gpu", "tpu"), or of the default one."""
    return runtime.devices(backend)


def local_devices(backend: str | None = None) -> list[Any]:
    """The devices that this process drives; in one process, all of them."""
    return runtime.devices(backend)


def device_count(backend: str | None = None) -> int:
    """How many devices there are."""
    return len(runtime.devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """How many devices this process drives: all of them, for there is one process."""
    return device_count(backend)


def process_index(backend: str | None = None) -> int:
    """The number of this process among those that compute together: 0, for there is one."""
    runtime.devices(backend)
    return 0


def process_count(backend: str | None = None) -> int:
    """How many processes compute together: 1."""
    return process_index(backend) + 1


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of the processes that compute together."""
    return [process_index(backend)]


def default_backend() -> str:
    """The platform of the default device."""
    return runtime.default_backend()


@contextmanager
def default_device(device: Any = None) -> Iterator[None]:
    """Create arrays in the block on `device`: a device, or the name of a platform.

    NotImplementedError unless it is the default device already: others are reached by `device_put`.
    """
    if device is not None:
        wanted = runtime.devices(device)[0] if isinstance(device, str) else device
        if wanted != runtime.default_device():
            raise NotImplementedError(
                f"default_device: {wanted} is not the device of new arrays, {runtime.default_device()}, and jitkit "
                "cannot change that. Pass arrays through device_put, or set the environment variable JAX_PLATFORMS."
            )
    yield


# --- options for a while ------------------------------------------------------------------------------------


def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
    """Run functions made by `jit` as plain Python in the block, operation by operation: for debuggers and
    prints.
    """
    return config.override(disable_jit=disable)


def enable_x64(enable: bool = True) -> AbstractContextManager[None]:
    """Keep 64-bit types in the block."""
    return config.override(enable_x64=enable)


def checking_leaks() -> AbstractContextManager[None]:
    """Raise in the block where a tracer outlives the function that was traced."""
    return config.override(check_tracer_leaks=True)


def check_tracer_leaks(check: bool = True) -> AbstractContextManager[None]:
    """`checking_leaks`, by the name of the option."""
    return config.override(check_tracer_leaks=check)


def debug_nans(enable: bool = True) -> AbstractContextManager[None]:
    """Raise FloatingPointError in the block where a result holds a nan."""
    return config.override(debug_nans=enable)


def debug_key_reuse(enable: bool = True) -> AbstractContextManager[None]:
    """Raise KeyReuseError in the block where a random key is used twice; `JITKIT_DEBUG_KEY_REUSE=1` does so everywhere."""
    return config.override(debug_key_reuse=enable)


def no_execution(new_val: bool = True) -> AbstractContextManager[None]:
    """Raise RuntimeError in the block where a compiled program would run, eager operations included. Tracing, lowering and
    compiling go on: it shows what computes while it should only trace.
    """
    return config.override(no_execution=new_val)


def default_matmul_precision(precision: Any) -> AbstractContextManager[None]:
    """The precision of dot products and convolutions in the block: "highest" or "float32", "high" or "tensorfloat32",
    "default" or "bfloat16", or the name of an algorithm.
    """
    return config.override(default_matmul_precision=precision)


def numpy_dtype_promotion(mode: str) -> AbstractContextManager[None]:
    """What operands of different dtypes do in the block: with "standard" they are converted to one, by JAX's rules of promotion;
    with "strict" only Python's numbers are, and TypePromotionError is raised for all others.
    """
    return config.override(numpy_dtype_promotion=mode)


def numpy_rank_promotion(mode: str) -> AbstractContextManager[None]:
    """What broadcasting operands of different ranks does in the block: "allow", "warn" or "raise"."""
    return config.override(numpy_rank_promotion=mode)


@contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Name the operations of the block: the name is part of their `op_name` in HLO, profiles and printed
    jaxprs.
    """
    if not isinstance(name, str):
        raise TypeError(f"named_scope name argument must be a string.\nIt is {name!r}. Pass `str(...)` of it.")
    state = config.local.state
    before = state.name_stack
    state.name_stack = (*before, name)
    try:
        yield
    finally:
        state.name_stack = before


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """`fun` in a `named_scope` of this name, or of its own."""
    scope = fun.__name__ if name is None else name

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with named_scope(scope):
            return fun(*args, **kwargs)

    return named
