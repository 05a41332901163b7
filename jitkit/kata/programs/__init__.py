"""Writers of random programs: what the last checks of an exercise run, written anew for each seed. The engine runs them.

arrays      functions of arrays, line by line, with shapes and dtypes that go together; `nested`: functions in functions, and loops
transformed such functions as they are, under `vmap`, and with their derivatives
loops       loops and choices whose parts may not go together
trees       programs on trees
calls       programs that call a jitted function again and again
chips       programs about what a chip runs
compiled    functions that become C, which is run line by line
mended      programs that call a function of lab 00 or 10, or a jit whose key is given
definitions what a program is about, such as classes, above it: as much as it names

A writer takes `Choices`, of `engine.choices`, and returns the text of a program, which learners can run as it is.
"""
