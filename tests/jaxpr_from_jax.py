"""Copies real JAX's jaxprs piece by piece into ours, so that functions on jaxprs can be compared."""

from __future__ import annotations

from jax._src import core as jax_core
from jax._src import source_info_util

from jitkit import core
from jitkit.base import source_info
from jitkit.jaxpr import DebugInfo, Jaxpr, JaxprEqn, Literal, Var
from jitkit.jaxpr import printer as jaxpr_printer


class _Source:
    """A `SourceInfo` whose position is known already."""

    def __init__(self, position, name_stack):
        self.position = position
        self.name_stack = name_stack


def _pretty_jit(eqn, context, settings):
    usual = {"inline": None, "keep_unused": False, "compiler_options_kvs": ()}
    hidden = {name for name in usual if usual[name] in (None, eqn.params[name])}
    # parameters that have their defaults in all tests
    hidden |= {"in_shardings", "out_shardings", "in_layouts", "out_layouts", "ctx_mesh"}
    if not any(eqn.params["donated_invars"]):
        hidden.add("donated_invars")
    shown = {name: value for name, value in eqn.params.items() if name not in hidden}
    return jaxpr_printer.pp_call(eqn, context, settings, shown)


def _pretty_dot_general(eqn, context, settings):
    shown = {name: value for name, value in sorted(eqn.params.items()) if value is not None and name != "out_sharding"}
    shown["dimension_numbers"] = tuple(tuple(map(list, pair)) for pair in eqn.params["dimension_numbers"])
    return jaxpr_printer.pp_eqn_plain(eqn, context, settings, shown)


# JAX's own rules, for the primitives that the tests use.
_RULES = {
    "jit": _pretty_jit,
    "dot_general": _pretty_dot_general,
    "broadcast_in_dim": jaxpr_printer.hide_params("shape", "sharding", broadcast_dimensions=()),
    "mul": jaxpr_printer.hide_params(out_dtype=None),
    "convert_element_type": jaxpr_printer.hide_params("sharding"),
    **dict.fromkeys(["exp", "log", "sin", "cos", "tanh", "logistic", "sqrt"], jaxpr_printer.hide_params(accuracy=None)),
}
_primitives: dict[str, core.Primitive] = {}


def primitive_like(original):
    """Return our namesake of a JAX primitive, which is printed in the same way."""
    name = original.name
    if name not in _primitives:
        _primitives[name] = core.Primitive(name, multiple_results=original.multiple_results)
        if name in _RULES:
            jaxpr_printer.pp_eqn_rules[_primitives[name]] = _RULES[name]
    return _primitives[name]


def convert(original, jaxprs=None):
    """Return our copy of a Jaxpr or ClosedJaxpr. One that occurs twice is copied once."""
    jaxprs = {} if jaxprs is None else jaxprs
    consts = original.consts if hasattr(original, "consts") else []
    original = original.jaxpr if hasattr(original, "jaxpr") else original
    if original in jaxprs:
        return jaxprs[original]
    variables: dict[object, Var] = {}

    def atom(x):
        if isinstance(x, jax_core.Literal):
            return Literal(x.val, aval(x.aval))
        if x not in variables:
            variables[x] = Var(aval(x.aval))
        return variables[x]

    def param(value):
        if hasattr(value, "eqns"):
            return convert(value, jaxprs)
        if type(value) is tuple:
            return tuple(map(param, value))
        return value

    def eqn(e):
        invars, outvars = list(map(atom, e.invars)), list(map(atom, e.outvars))
        params = {name: param(value) for name, value in e.params.items()}
        return JaxprEqn(
            invars, outvars, primitive_like(e.primitive), params, frozenset(e.effects), source(e.source_info)
        )

    debug_info = DebugInfo(
        original.debug_info.traced_for,
        original.debug_info.func_src_info,
        tuple(original.debug_info.arg_names or ()),
        tuple(original.debug_info.result_paths or ()),
    )
    ours = Jaxpr(
        list(map(atom, original.constvars)),
        list(map(atom, original.invars)),
        list(map(atom, original.outvars)),
        list(map(eqn, original.eqns)),
        frozenset(original.effects),
        debug_info,
        consts,
    )
    # A jaxpr that is a parameter of several equations is found here the next time.
    jaxprs[original] = ours
    return ours


def aval(original):
    """Return our aval; JAX's own if ours cannot have its dtype (keys of random numbers), or if it is not of an array."""
    if isinstance(original, jax_core.ShapedArray) and hasattr(original.dtype, "itemsize"):
        try:
            return core.ShapedArray(original.shape, original.dtype, original.weak_type)
        except TypeError:
            return original
    return original


def source(original):
    """Return JAX's source info as ours: the position of the frame that JAX shows to users (None without one), and the name stack."""
    frame = source_info_util.user_frame(original.traceback)
    position = frame and source_info.Position(
        frame.file_name,
        frame.start_line,
        frame.start_column + 1,
        frame.end_line,
        frame.end_column + 1,
        frame.function_name,
    )
    name_stack = str(original.name_stack)
    return _Source(position, (name_stack,) if name_stack else ())
