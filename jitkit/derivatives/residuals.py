"""function -> what its gradient saves for the reverse pass; names for values

    f32[4] from the argument x
    f32[4] output of sin from model.py:6:9 (layer)

`checkpoint_name` only gives a value a name for the policies of `checkpoint`. To list the saved values, `vjp` is traced:
the program returns them, the residuals, beside the result.

JAX: jax/_src/ad_checkpoint.py:saved_residuals
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import core
from ..base import source_info, traceback_util
from ..core import Primitive
from ..interpreters.ad_rules import primitive_jvps
from ..interpreters.batching import defvectorized
from ..interpreters.mlir import register_lowering
from ..jaxpr import Jaxpr, Literal
from ..pjit.api import make_jaxpr
from ..signature import api_util
from ..tree_util import tree_flatten, tree_leaves, tree_map, tree_unflatten
from .linear_maps import vjp

# --- name: a value that policies know ---------------------------------------------------------------------------------

name_p = Primitive("name")
register_lowering(name_p)(lambda ctx, x, *, name: x)
defvectorized(name_p)


@name_p.def_abstract_eval
def _(x: Any, *, name: str) -> Any:
    return x


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, name: str) -> tuple[Any, Any]:
    """JVP rule: name the primal, but not its tangent."""
    return name_p.bind(*primals, name=name), tangents[0]


primitive_jvps[name_p] = _jvp


def checkpoint_name(x: Any, name: str) -> Any:
    """Return the same tree of arrays, named for the policies of `checkpoint`, such as
    `checkpoint_policies.save_only_these_names`.
    """
    if core.current_trace() is None:  # nothing is recorded, so no policy will ask for the name
        return x
    return tree_map(functools.partial(name_p.bind, name=name), x)


# --- residuals --------------------------------------------------------------------------------------------------------


@traceback_util.api_boundary
def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[core.ShapedArray, str]]:
    """Return a list of the values that a gradient of `f(*args, **kwargs)` saves for the reverse pass: the type and the
    origin of each.
    """
    leaves, tree = tree_flatten((args, kwargs))

    def flat(*leaves: Any) -> Any:
        args, kwargs = tree_unflatten(tree, leaves)
        return f(*args, **kwargs)

    jaxpr, (_, pull) = make_jaxpr(lambda *leaves: vjp(flat, *leaves), return_shape=True)(*leaves)
    kept = jaxpr.outvars[len(jaxpr.outvars) - len(tree_leaves(pull)) :]
    call = api_util.Arguments(args, kwargs, (), len(args))
    return _sources(jaxpr, kept, api_util.argument_names(f, call))


def _sources(jaxpr: Jaxpr, kept: Sequence[Any], names: Sequence[str]) -> list[tuple[core.ShapedArray, str]]:
    """Return the type and the origin, in words, of each residual, in the order of the program."""
    looked_through = {eqn.outvars[0]: eqn.invars[0] for eqn in jaxpr.eqns if eqn.primitive.name == "reduce_precision"}
    wanted = {looked_through.get(x, x) for x in kept if not isinstance(x, Literal)}
    found = [(x.aval, "from a literal") for x in kept if isinstance(x, Literal)]
    found += [(v.aval, "from a constant") for v in jaxpr.constvars if v in wanted]
    arguments = zip(jaxpr.invars, names, strict=True)
    found += [(v.aval, f"from the argument {name}") for v, name in arguments if v in wanted]
    for eqn in jaxpr.eqns:
        place = source_info.summarize(eqn.source_info)
        what = f"output of {eqn.primitive.name} from {place}"
        if eqn.primitive is name_p:
            what = f"named '{eqn.params['name']}' from {place}"
        elif eqn.primitive.name == "jit":
            what = f"output of jitted function '{eqn.params['name']}' from {place}"
        found += [(v.aval, what) for v in eqn.outvars if v in wanted]
    return found


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print `saved_residuals`, a line for each."""
    for aval, where in saved_residuals(f, *args, **kwargs):
        print(aval.str_short(True), where)
