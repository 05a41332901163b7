"""function -> Wrapped: `jit`, and what a call of a jitted function goes through. (pjit is JAX's historical name for `jit`.)

Input: a function, then arguments. Output: results, from an executable that was made for this signature. In the order of
reading:

    jit                  function -> Wrapped
    function             the dispatcher, as the function that `jit` returns
    jitted               call -> results: the dispatcher, and what a first call does
    tracing              call -> TracedCall
    better_errors        error of a call -> what to raise instead
    lookup               form of a call -> the written function that finds its entry
    compilation_cache    signature -> executable
    calling              leaves of a call -> executable -> tree of Arrays
    constraints          with_sharding_constraint, and how a program says where a value is
    resharding           reshard
    jit_call             a call of a jitted function inside of a function that is being traced
    jit_call_derivatives its derivatives: calls of other jaxprs
    stages               Wrapped -> Traced -> Lowered -> Compiled: a user can stop after each arrow
    compiled_arguments   arguments of a Compiled -> an error, if they do not fit
    dispatch             primitive + values -> values, now: an operation outside of `jit`
    applying             runs a primitive that a library defines
    several_devices      pmap and shard_map, for one device; make_mesh
    api                  make_jaxpr and eval_shape: what a call would do

JAX: jax/_src/pjit.py:make_jit
"""
