"""Jaxpr -> C -> machine code: `jit(f, backend="c")` does what XLA does for us, small enough to be read

Input: the jaxpr of a traced function. Output: a program that takes buffers and returns buffers. In the order of reading:

    language    jaxpr -> Block: calls are inlined, and operations without C are refused
    passes      Block -> Block: removes dead, equal, and useless operations
    formulas    elementwise operation -> expression of C
    index_maps  broadcast, transpose, slice: only another index of the operand
    nests       loops: what is stored, and which loops are fused
    writer      Block -> nests: an operation is an expression until something has to be stored
    folding     reductions, and other loops along an axis
    joining     results in pieces, and views of memory
    products    dot_general, in tiles
    control     cond, while, scan
    plan        buffers -> bytes of the workspace
    source      nests, steps and a plan -> C
    native      C -> machine code
    program     machine code + buffers -> buffers

JAX: jax/_src/interpreters/mlir.py:lower_jaxpr_to_module
"""
