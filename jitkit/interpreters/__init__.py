"""Transforms a function instead of calling it: tracing, batching, differentiating, lowering.

    partial_eval    function + avals -> Jaxpr: the trace that writes equations down
    replaying       rule + types of its operands -> the equations it writes, without running it again
    partial_values  function + some values -> values + a Jaxpr of the rest, as libraries ask for it
    library_rules   adapts rules of libraries' primitives to our tables
    batching        operation on elements -> operation on batches: the trace of `vmap`
    vmap            function of elements -> function of batches: the axes of its arguments and results
    ad              function + tangents -> tangents; its rules stand in the tables of `ad_rules`
    ad_linearize    function + values -> values + a linear jaxpr
    ad_transpose    linear jaxpr + cotangents of its results -> cotangents of its arguments
    key_reuse       jaxpr -> which random keys it uses up
    mlir            Jaxpr -> StableHLO, rule by rule; `mlir_rules` has the rules, `mlir_module` and `mlir_text`
                    the module and its syntax; `mlir_main` writes a whole program
    pxla, xla       names that libraries look up there

JAX: jax/_src/interpreters/partial_eval.py:DynamicJaxprTrace
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names

late_rooms.attach(__name__)

missing_names.explain("interpreters", sys.modules[__name__])
