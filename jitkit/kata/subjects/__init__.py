"""Functions of exercises that are not a part of jitkit's own stages, for labs that are not about the JIT itself.

small_jit   lab 05: a jit of a few lines, whose key is given to it
quiz        lab 10: which of these compiles twice?
pitfalls    lab 10: programs that fell into a pitfall of jit, mended
gradients   lab 11: programs whose gradients were nan, refused or too large, mended
chips       lab 13: programs, and what the compilers of several chips make of them
c_by_hand   lab 14: a function as C, and what it computes, reads and writes; `run_c` runs it, line by line in Python
"""
