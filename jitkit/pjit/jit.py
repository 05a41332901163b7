"""function -> Wrapped

`jit` finds out once which arguments are static and which are donated, and returns the dispatcher of a `Jitted`
(`jitted`), which does the rest at each call.

JAX: jax/_src/pjit.py:make_jit
"""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Iterable, Sequence
from types import EllipsisType
from typing import Any, cast

from .. import runtime
from ..base import traceback_util
from ..compiler.shardings import sharding_tree
from ..signature import api_util
from ..signature.argument_spec import ArgumentSpec
from .function import Wrapped
from .jit_call import Inline, inline_mode
from .jitted import Jitted
from .tracing import JitOptions


@traceback_util.api_boundary
def jit(
    fun: Callable[..., Any] | EllipsisType = ...,
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    inline: bool | Inline = False,
    compiler_options: dict[str, Any] | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    device: Any = None,
    backend: str | None = None,
) -> Wrapped:
    """Return a function that compiles `fun` with XLA, once for each signature, and runs the compiled program.

    A signature is the tree of the arguments with the shape, dtype and weak type of every array in it, plus
    the values of static arguments. The first call with a signature traces the Python function, lowers,
    compiles and runs; later ones run.

    Args:
      fun: a function of arrays, or of trees of arrays, without side effects. If it is left out, `jit(...)` returns a decorator.

      static_argnums, static_argnames: arguments that are Python values while tracing. They must be hashable, and
        each new value compiles anew. If one of the two is given, the other is inferred from the function's signature.

      donate_argnums, donate_argnames: arguments whose memory may be reused for results. They cannot be used
        afterwards.

      keep_unused: pass arguments to the executable even if no result depends on them.

      inline: whether a call inside of a traced function is replaced by the function's equations: an `Inline`, or a bool,
        with the same meaning as in JAX.

      compiler_options: XLA's debug options, by name.

      in_shardings, out_shardings: over which devices arguments and results are spread: a `jax.sharding.Sharding` for all,
        or a tree of them that may end above the leaves, with None to leave the choice to XLA. Uncommitted arguments are
        moved there; an argument that is committed to another sharding is an error.

      device, backend: run on this device, or on the first one of this platform, wherever the arguments are. Deprecated, in JAX
        as here: put the arguments there. `backend="c"` is jitkit's own, and not deprecated: the function becomes C, for the C compiler
        of this machine and its processor, instead of a program of XLA's (docs/what_xla_did_for_us.md).

    Returns:
      A function with the attributes `trace`, `lower`, `eval_shape`, `clear_cache` (see `stages.Wrapped`) and
      `__wrapped__`.

    Raises:
      TypeError: `fun` is not callable, or `device` is not a device.
      ValueError: a static or donated argument does not exist; `inline` is something else; `device` together with `backend`,
        or one of them with shardings.
      RuntimeError: there is no such platform.
      NotImplementedError: with `backend="c"`, when it is traced: the function has an operation or a type for which
        there is no C.
    """
    if fun is ...:  # left out; `jit(None)` is an error, as when a function forgets to return
        return cast(
            Wrapped,
            functools.partial(
                jit,
                static_argnums=static_argnums,
                static_argnames=static_argnames,
                donate_argnums=donate_argnums,
                donate_argnames=donate_argnames,
                keep_unused=keep_unused,
                inline=inline,
                compiler_options=compiler_options,
                in_shardings=in_shardings,
                out_shardings=out_shardings,
                device=device,
                backend=backend,
            ),
        )
    by_loops = "c" if backend == "c" else None
    if by_loops:
        _refuse_places(device, in_shardings, out_shardings)
    elif device is not None or backend is not None:
        in_shardings = out_shardings = _place(device, backend, in_shardings, out_shardings)
    api_util.check_callable(fun)
    spec = api_util.resolve_spec(fun, static_argnums, static_argnames, donate_argnums, donate_argnames)
    options = JitOptions(
        spec,
        keep_unused,
        inline_mode(inline),
        tuple((compiler_options or {}).items()),
        sharding_tree(in_shardings, "in_shardings"),
        sharding_tree(out_shardings, "out_shardings"),
        by_loops,
    )
    return Jitted(fun, options).make_dispatcher()


def _refuse_places(device: Any, in_shardings: Any, out_shardings: Any) -> None:
    """Raise ValueError if a place is given together with `backend="c"`, which has only one."""
    given = {"device": device, "in_shardings": in_shardings, "out_shardings": out_shardings}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"If backend or device is specified on jit, then {name} should not be specified.\n"
                f'backend="c" compiles for the processor of this machine: leave {name} out.'
            )


def _place(device: Any, backend: str | None, in_shardings: Any, out_shardings: Any) -> Any:
    """Return the sharding for arguments and results that `device` or `backend` stands for, and warn: both are
    deprecated. Raise ValueError for both, or for one of them together with shardings, TypeError if `device` is not a
    device.
    """
    warnings.warn(
        'backend and device argument on jit is deprecated. You can use `jitkit.device_put(..., jitkit.local_devices(backend="cpu")[0])` '
        "on the inputs to the jitted function to get the same behavior.",
        DeprecationWarning,
        stacklevel=3,
    )
    if device is not None and backend is not None:
        raise ValueError(
            f"can't specify both a device and a backend for jit, got {device=} and {backend=}\nThe device says which platform it is of."
        )
    for name, given in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        if given is not None:
            raise ValueError(
                f"If backend or device is specified on jit, then {name} should not be specified.\nA sharding says where, too: leave "
                "the other out."
            )
    if device is not None and not hasattr(device, "platform"):
        raise TypeError(
            f"jit's device should be a device, got {device!r}\nOne of `jitkit.devices()`; a platform is named by `backend`."
        )
    return runtime.single_device_sharding(runtime.devices(backend)[0] if device is None else device)


def inlined(fun: Callable[..., Any] | None = None, /, *, static_argnames: Sequence[str] = ()) -> Wrapped:
    """Decorator for a library function. An eager call runs one compiled program; a call under a trace runs the Python
    function, or is one recorded call if the trace `keeps_calls`.
    """
    if fun is None:
        return cast(Wrapped, functools.partial(inlined, static_argnames=static_argnames))
    # `inspect.signature` would take 50 us, for a hundred functions at every import
    code = cast(types.FunctionType, fun).__code__
    both_ways = code.co_varnames[code.co_posonlyargcount : code.co_argcount]
    positions = [code.co_posonlyargcount + i for i, name in enumerate(both_ways) if name in static_argnames]
    spec = ArgumentSpec(tuple(positions), tuple(static_argnames), (), ())
    return Jitted(fun, JitOptions(spec, False, Inline.JAX_EARLY, ()), staged=False).make_dispatcher()
