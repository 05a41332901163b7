"""Lists operations by what they do to elements: which only arrange them, which are products, and which commute

JAX: jax/_src/lax/lax.py:transpose_p
"""

from __future__ import annotations

# Operations of StableHLO and HLO that only arrange elements.
ARRANGING = frozenset({
    "broadcast", "reshape", "transpose", "convert", "copy", "slice", "reverse", "bitcast", "bitcast-convert", "dynamic-reshape",
    "copy-start", "copy-done", "slice-start", "slice-done", "optimization-barrier", "opt-barrier",
})  # fmt: skip
# product of StableHLO -> the operations of HLO that it may become
PRODUCTS = {"dot": {"dot", "convolution", "custom-call"}, "convolution": {"convolution", "custom-call"}}
# operations whose operands may come in any order
COMMUTE = frozenset({"add", "multiply", "maximum", "minimum", "and", "or", "xor", "dot", "convolution", "custom-call"})
# reductions -> the operation that each applies
REDUCES_BY = {
    "reduce_sum": "add", "reduce_max": "maximum", "reduce_min": "minimum", "reduce_prod": "multiply", "reduce_and": "and",
    "reduce_or": "or", "reduce_xor": "xor",
}  # fmt: skip
