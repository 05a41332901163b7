"""What else can be done with a function besides calling it.

    partial_eval    function + avals -> Jaxpr: the trace that writes equations down
    batching        operation on elements -> operation on batches: the trace of `vmap`
    mlir            Jaxpr -> StableHLO, rule by rule; `mlir_module` and `mlir_text` are its paper and its spelling

JAX: jax/_src/interpreters/partial_eval.py:DynamicJaxprTrace
"""
