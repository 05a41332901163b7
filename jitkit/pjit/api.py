"""Says what a call would do, without computing anything: `make_jaxpr` and `eval_shape`.

JAX: jax/_src/api.py:make_jaxpr
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from typing import Any, cast

from ..base import config, traceback_util
from ..base.jax_version import since
from ..base.util import wraps
from ..signature import api_util
from .function import PjitFunction
from .jit import jit
from .jit_call import Inline
from .jitted import Jitted
from .tracing import JitOptions


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """Return a function that takes the arguments of `fun` and returns the jaxpr of this call.

    Arguments may be `ShapeDtypeStruct`s; those at `static_argnums` stay Python values, as in `jit`. With
    `return_shape`, return a pair: the jaxpr, and the result's tree of `ShapeDtypeStruct`s. `axis_env` lists named axes
    with their sizes, `[("i", 4)]`, which `fun` may use as in `vmap(..., axis_name="i")`. Raise TypeError if `fun`
    cannot be called.
    """
    if not callable(fun):
        raise TypeError(f"the first argument must be callable\nmake_jaxpr takes a function, got {fun!r}.")

    def jitted_with(positions: int | Sequence[int]) -> Jitted:
        spec = api_util.resolve_spec(fun, positions, None, None, None)
        return Jitted(fun, JitOptions(spec, False, Inline.AUTO, ()))

    jitted = jitted_with(static_argnums)
    try:
        given: tuple[int, ...] = (operator.index(cast(int, static_argnums)),)
    except TypeError:
        given = () if static_argnums is None else tuple(cast(Sequence[int], static_argnums))
    # In `make_jaxpr` before JAX 0.12, negative numbers count from the last argument that is passed; since then, and in
    # `jit`, from the last parameter.
    counts_back = any(i < 0 for i in given) and not since(0, 12)

    @wraps(fun)
    @traceback_util.api_boundary
    def jaxpr_of_call(*args: Any, **kwargs: Any) -> Any:
        with ExitStack() as axes:
            for name, size in axis_env or ():
                axes.enter_context(config.named_axis(name, size))
            this = jitted_with([i + len(args) if i < 0 else i for i in given]) if counts_back else jitted
            traced = this.trace(*args, **kwargs)
        return (traced.jaxpr, traced.out_info) if return_shape else traced.jaxpr

    for attribute in ("__name__", "__qualname__"):
        name = f"make_jaxpr({getattr(fun, attribute)})" if hasattr(fun, attribute) else jitted.name
        setattr(jaxpr_of_call, attribute, name)
    jaxpr_of_call.__module__ = "jitkit"
    return jaxpr_of_call


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and dtypes of `fun(*args, **kwargs)`, as a tree of `ShapeDtypeStruct`s, without computing it. A
    jitted function's static arguments stay static.
    """
    return (fun if isinstance(fun, PjitFunction) else jit(fun)).eval_shape(*args, **kwargs)
