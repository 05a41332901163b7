"""A function of a user's, named on the command line -> the function, and types to trace it with.

sample_call   FILE:FUNCTION and shapes -> a function and arguments
recorded      a script that is run -> the calls of its jitted functions
compiled      a function and types -> its trace, and its program for each chip
of_jax        which names in a function are JAX's, and which imports to change
example       the function that `jitkit targets` compiles by default
"""
