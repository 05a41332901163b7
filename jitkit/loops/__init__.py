"""Jaxpr -> C -> machine code: `jit(f, backend="c")`, what XLA does for us, small enough to be read.

Comes in: the jaxpr of a traced function. Goes out: a program that takes buffers and returns buffers. In the order of reading:

    language    jaxpr -> Block: calls are gone, and what has no C is refused
    passes      Block -> Block: dead, equal, and idle operations
    formulas    elementwise operation -> expression of C
    index_maps  broadcast, transpose, slice: another index of the operand
    nests       loops: what is stored, and which loops become one
    writer      Block -> nests: an expression until something has to be stored
    folding     reductions, and what else goes along an axis
    joining     results in pieces, and views of memory
    products    dot_general, in tiles
    control     cond, while, scan
    plan        buffers -> bytes of the workspace
    source      all of it -> C
    native      C -> machine code
    program     machine code + buffers -> buffers

JAX: jax/_src/interpreters/mlir.py:lower_jaxpr_to_module
"""
