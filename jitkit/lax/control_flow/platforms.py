"""platform_dependent: one of several functions runs, chosen by the platform that the program is compiled for.

The platform is known when the program is lowered, not when a function is traced. So all functions are traced, like
those of `switch`, and the equation keeps them all; lowering writes the function for the program's platform. In the
jaxpr the index is an ordinary value, the result of an equation without operands, `platform_index`.

JAX: jax/_src/lax/control_flow/conditionals.py:platform_dependent
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import core
from ...base import traceback_util
from ...base.jax_version import since
from ...core import Primitive, ShapedArray
from ...interpreters.batching import defvectorized
from ...interpreters.mlir import LoweringContext, register_lowering
from ...tree_util import tree_flatten, tree_unflatten
from .agreement import check_branches
from .common import Body, avals_of, trace_body, with_consts_of_all
from .conditionals import Platforms, bind_branches, branch_for

platform_index_p = Primitive("platform_index")
defvectorized(platform_index_p)


@platform_index_p.def_abstract_eval
def _(*, platforms: Platforms) -> ShapedArray:
    return ShapedArray((), np.dtype(np.int32))


@register_lowering(platform_index_p)
def _(ctx: LoweringContext, *, platforms: Platforms) -> str:
    return ctx.splat(branch_for(ctx.module.platform, platforms), ctx.avals_out[0])


@traceback_util.api_boundary
def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Return `per_platform[platform](*args)`, for the platform that the program is compiled for. The functions are passed as
    keyword arguments with the platforms' names: `cpu=`, `cuda=`, `tpu=`.

        >>> jax.jit(lambda x: lax.platform_dependent(x, tpu=jnp.cos, default=jnp.sin))(0.0)
        Array(0., dtype=float32, weak_type=True)

    Under a trace all functions are traced, so they must return trees of one structure and of arrays of the same types, and
    the program has the function for its platform. Eagerly, only the function for this platform is called.

    Args:
      args: trees of arrays.
      default: the function for platforms that are not named.
      per_platform: functions by the names of platforms. Several platforms may have the same function.

    Raises:
      TypeError: a function is not callable; under a trace also if there is none, or if they return different structures or types.
      ValueError: a platform is called "gpu", which is ambiguous.
      NotImplementedError: there is no function for this platform; of a traced program, this is found when it is lowered.
    """
    functions: list[Callable[..., Any]] = []
    platforms: list[tuple[str, ...] | None] = []
    for name, function in per_platform.items():
        if not callable(function):
            raise TypeError(f"lax.platform_dependent: the '{name}' branch must be a callable.")
        if name == "gpu":
            names = "'cuda', 'rocm', or 'oneapi'" if since(0, 11) else "'cuda' or 'rocm'"
            raise ValueError(f"Use {names} for lax.platform_dependent.")
        if function in functions:
            place = functions.index(function)
            platforms[place] = (*(platforms[place] or ()), name)
        else:
            functions.append(function)
            platforms.append((name,))
    if default is not None:
        if not callable(default):
            raise TypeError("lax.platform_dependent: the 'default' branch must be a callable.")
        functions.append(default)
        platforms.append(None)
    index = platform_index_p.bind(platforms=tuple(platforms))
    if core.is_concrete(index):
        return functions[int(index)](*args)
    return _choose(index, functions, tuple(platforms), args)


def _choose(index: Any, functions: list[Callable[..., Any]], platforms: Platforms, operands: tuple[Any, ...]) -> Any:
    """Write the equation, a `switch` whose branches have platforms; return its results as a tree. Raise TypeError if
    there are no functions.
    """
    if not functions:
        raise TypeError(
            "lax.platform_dependent: there is no function to choose\nPass one for a platform, `cpu=...`, or a `default`."
        )
    args, in_tree = tree_flatten(operands)
    avals = avals_of(args)
    bodies = [Body(function, function, "switch") for function in functions]
    traced = [trace_body(body, in_tree, avals) for body in bodies]
    check_branches("switch", [f"branch {i}" for i in range(len(bodies))], bodies, traced)
    consts = list({id(x): x for t in traced for x in t.consts}.values())
    branches = [with_consts_of_all(t, k, traced, consts) for k, t in enumerate(traced)]
    outs = bind_branches(index, branches, [*consts, *args], branches_platforms=platforms)
    return tree_unflatten(traced[0].out_tree, outs)
