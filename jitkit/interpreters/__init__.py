"""What else can be done with a function besides calling it.

    partial_eval    function + avals -> Jaxpr: the trace that writes equations down
    replaying       rule + types of its operands -> the equations it writes, without asking it again
    partial_values  function + some values -> values + a Jaxpr of the rest, as libraries ask for it
    library_rules   rules of libraries' primitives as ours are called
    batching        operation on elements -> operation on batches: the trace of `vmap`
    vmap            function of elements -> function of batches: the axes of its arguments and results
    ad              function + tangents -> tangents; its rules stand in the tables of `ad_rules`
    ad_linearize    function + values -> values + a linear jaxpr
    ad_transpose    linear jaxpr + cotangents of its results -> cotangents of its arguments
    key_reuse       jaxpr -> which random keys it uses up
    mlir            Jaxpr -> StableHLO, rule by rule; `mlir_rules` are these, `mlir_module` and `mlir_text`
                    its paper and its spelling; `mlir_main` writes a whole program
    xla             a table under its name in JAX, for a library

JAX: jax/_src/interpreters/partial_eval.py:DynamicJaxprTrace
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names

late_rooms.attach(__name__)

missing_names.explain("interpreters", sys.modules[__name__])
