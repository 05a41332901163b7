"""call -> signature + leaves

Input: a function, `jit`'s options, and the arguments of one call. Output: which arguments are static, and the names of
the others, for keys and errors. In the order of reading:

    argument_spec      jit's options + a function's signature -> ArgumentSpec
    api_util           call -> signature + leaves
    argument_errors    errors for arguments that cannot be used
    shape_struct       arguments without values

JAX: jax/_src/api_util.py:infer_argnums_and_argnames
"""
