"""A jit of a few lines, whose cache key the user gives. A function of lab 05.

It compiles and runs like the real `jit`, on one array, and checks nothing. So its results show what a wrong key does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import jitkit as jax
from jitkit.compiler.compiler import Executable
from jitkit.compiler.placement import default_placement
from jitkit.compiler.program import Program, compile_program
from jitkit.tree_util import tree_structure


def jit_by(key: Callable[[Any], Hashable], fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return `fun`, a function from one array to one array, jitted: calls with equal `key(x)` run one program, which is compiled for
    the first of them. Nothing checks whether it fits the others.

    Whatever the caller passes, `key` gets an Array, `jax.device_put(x)`. With a good key this is `jit`. With one that
    forgets the dtype, the bytes of an int32 array are taken for floats:

        >>> double = jit_by(lambda x: x.shape, lambda x: x + x)
        >>> double(np.float32([1.5, 2.5]))
        Array([3., 5.], dtype=float32)
        >>> double(np.int32([1069547520, 1078530011]))
        Array([3.       , 6.2831855], dtype=float32)

    The bytes of these two numbers are those of the floats 1.5 and pi. There is no error, since an executable only looks at
    the number of bytes: if that differs, XLA refuses.

    The stages: `jax.make_jaxpr(fun)(x)` traces. A `Program` is the name, the jaxpr, the tree of the arguments,
    `tree_structure(((0,), {}))`, and that of the result, `tree_structure(0)`; with `keep_unused=True` it takes its argument even if
    nothing reads it. `compile_program` compiles it for a `default_placement()`, and returns an executable. The executable's
    `run` takes one list of buffers, those in its `consts` first and then the argument's, and returns the list of the results'
    buffers; its `wrap` makes Arrays of these. `jax.device_put(x)` is an Array, and its buffer is its `_buf`.
    """
    programs: dict[Hashable, Executable] = {}

    def call(x: Any) -> Any:
        x = jax.device_put(x)
        found = key(x)
        if found not in programs:
            jaxpr = jax.make_jaxpr(fun)(x)
            program = Program("small", jaxpr, tree_structure(((0,), {})), tree_structure(0), keep_unused=True)
            programs[found] = compile_program(program, default_placement())
        executable = programs[found]
        return executable.wrap(executable.run([*executable.consts, x._buf]))[0]

    return call
