"""Context managers: options of this thread, and names of operations, in a `with` block. The argument False turns an
option off.

JAX: jax/_src/config.py:debug_nans
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from . import config
from .util import NameStack


def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
    """Run functions made by `jit` as plain Python in the block, operation by operation: for debuggers and prints."""
    return config.override(disable_jit=disable)


def enable_x64(new_val: bool = True) -> AbstractContextManager[None]:
    """Keep 64-bit types in the block, or, for False, make them 32-bit ones."""
    return config.override(enable_x64=new_val)


def checking_leaks() -> AbstractContextManager[None]:
    """Raise an error if a tracer outlives the function that was traced in the block."""
    return config.override(check_tracer_leaks=True)


def check_tracer_leaks(new_val: bool = True) -> AbstractContextManager[None]:
    """Do what `checking_leaks` does, under the name of the option; for False, do not check."""
    return config.override(check_tracer_leaks=new_val)


def debug_nans(new_val: bool = True) -> AbstractContextManager[None]:
    """Raise FloatingPointError if a result in the block contains a nan."""
    return config.override(debug_nans=new_val)


def debug_infs(new_val: bool = True) -> AbstractContextManager[None]:
    """Raise FloatingPointError if a result in the block contains an infinity."""
    return config.override(debug_infs=new_val)


def debug_key_reuse(new_val: bool = True) -> AbstractContextManager[None]:
    """Raise KeyReuseError if a random key is used twice in the block; `JITKIT_DEBUG_KEY_REUSE=1` does so everywhere."""
    return config.override(debug_key_reuse=new_val)


def no_execution(new_val: bool = True) -> AbstractContextManager[None]:
    """Raise RuntimeError if a compiled program, also of an eager operation, would run in the block. Tracing, lowering
    and compiling still work: this finds computations in code that should only trace.
    """
    return config.override(no_execution=new_val)


def no_tracing(new_val: bool = True) -> AbstractContextManager[None]:
    """Raise RuntimeError if a function made by `jit` would be traced in the block: this finds calls that miss the cache."""
    return config.override(no_tracing=new_val)


def default_prng_impl(new_val: str) -> AbstractContextManager[None]:
    """Set the implementation of random keys in the block: "threefry2x32", "rbg" or "unsafe_rbg"; raise ValueError for another."""
    return config.override(default_prng_impl=new_val)


def threefry_partitionable(new_val: bool = True) -> AbstractContextManager[None]:
    """Let each random number in the block depend only on the key and its place in the array, or, for False, draw as JAX
    did before version 0.5.
    """
    return config.override(threefry_partitionable=new_val)


def default_matmul_precision(new_val: Any) -> AbstractContextManager[None]:
    """Set the precision of dot products and convolutions in the block: "highest" or "float32", "high" or
    "tensorfloat32", "default" or "bfloat16", or the name of an algorithm; None leaves the choice to each call. Raise
    ValueError for another.
    """
    return config.override(default_matmul_precision=new_val)


def numpy_dtype_promotion(new_val: str) -> AbstractContextManager[None]:
    """Set how operands of different dtypes are promoted in the block: with "standard" they are converted to one, by
    JAX's rules; with "strict" only Python numbers are, and other pairs raise TypePromotionError. Raise ValueError for
    another word.
    """
    return config.override(numpy_dtype_promotion=new_val)


def numpy_rank_promotion(new_val: str) -> AbstractContextManager[None]:
    """Set what happens in the block if operands of different ranks are broadcast: "allow" does it, "warn" does it with a
    warning, "raise" raises ValueError. Raise ValueError for another word.
    """
    return config.override(numpy_rank_promotion=new_val)


def named_scope(name: str) -> AbstractContextManager[None]:
    """Name the operations of the block in HLO (`op_name`), profiles and printed jaxprs. Raise TypeError unless the name is a string."""
    if not isinstance(name, str):
        raise TypeError(f"named_scope name argument must be a string.\nIt is {name!r}. Pass `str(...)` of it.")
    return _in_scope(name)


@contextmanager
def _in_scope(name: str) -> Iterator[None]:
    state = config.local.state
    before = state.name_stack
    state.name_stack = NameStack((*before, name))
    try:
        yield
    finally:
        state.name_stack = before


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """Return `fun`, which runs in a `named_scope` of this name, by default its own."""
    scope = fun.__name__ if name is None else str(name)

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with _in_scope(scope):
            return fun(*args, **kwargs)

    return named
