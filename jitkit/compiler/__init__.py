"""StableHLO -> executable

Input: a traced call. Output: something that runs it. In the order of reading:

    program       traced call -> module -> executable
    compiler      StableHLO -> executable: from the disk cache or by XLA
    placement     keys of a call's leaves -> the devices that the program runs on
    shardings     `in_shardings`, `out_shardings` -> a sharding for each leaf
    disk_cache    executables kept between processes
    by_loops      traced call -> C -> executable, for `jit(f, backend="c")`

JAX: jax/_src/compiler.py:compile_or_get_cached
"""
