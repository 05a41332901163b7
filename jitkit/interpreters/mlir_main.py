"""Jaxpr -> module: a whole program, with the jaxpr as its function `main`

JAX: jax/_src/interpreters/mlir.py:lower_jaxpr_to_module
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..core.effects import ordered_effects
from ..jaxpr import Jaxpr
from .mlir import LoweringContext, write_body
from .mlir_module import Function, Module
from .mlir_text import quoted, type_of


def lower_main(
    name: str,
    jaxpr: Jaxpr,
    platform: str,
    argument_attributes: Sequence[str] | None = None,
    result_names: Sequence[str] | None = None,
    result_attributes: Sequence[str] | None = None,
) -> Module:
    """Return a module with a whole program: `jaxpr` as the public function `main`, and the functions that it calls.

    `argument_attributes` are MLIR attributes for each argument (donation, sharding), `result_attributes` for each
    result (sharding), and `result_names` the names of the results in the text. `main` takes a token for each ordered
    effect, then the module's `hoisted` constants in their order, then its own arguments.
    """
    module = Module(re.sub(r"[^\w.-]", "_", f"jit({name})").rstrip("_"), platform)
    module.symbols.add("main")
    function = Function(module, "main", "public", ordered_effects(jaxpr.effects))
    names = [f"%arg{i}" for i in range(len(jaxpr.invars))]
    attributes = argument_attributes or [""] * len(names)
    function.arguments = [
        f"{n}: {type_of(v.aval)}{f' {{{a}}}' if a else ''}"
        for n, v, a in zip(names, jaxpr.invars, attributes, strict=True)
    ]
    function.argument_names = jaxpr.debug_info.safe_arg_names(len(names))
    labels = result_names or ["result"] * len(jaxpr.outvars)
    more = [f", {a}" if a else "" for a in result_attributes or [""] * len(labels)]
    function.results = [
        f'{type_of(aval)} {{jax.result_info = "{quoted(label)}"{attribute}}}'
        for aval, label, attribute in zip(jaxpr.out_avals, labels, more, strict=True)
    ]
    module.functions.append(function)
    write_body(LoweringContext(function, f"jit({name})"), jaxpr, names)
    return module
