"""Writers of random programs. The last check of most exercises runs such programs, which are written anew for each seed.

arrays      functions of arrays, line by line, with shapes and dtypes that go together; `nested`: functions in functions, and loops
transformed functions of arrays by themselves, under `vmap`, and with their derivatives
loops       loops and choices whose types may disagree
texts       programs that write constants of lab 04
tracers     calls of functions of lab 01, and rules of `check_jaxpr`, on operands that may be refused
trees       programs on trees
calls       programs that call a jitted function again and again
chips       programs about what a chip runs
compiled    functions that become C, which is run line by line
mended      programs that call a function of lab 00 or 10, or `jit_by`, a jit that is given its key
definitions puts the classes and functions that a program names above it

A writer takes `Choices` (see `engine.choices`), and returns the source of a program, as a string. `engine.random_programs` runs it.
"""
