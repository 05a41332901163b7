"""StableHLO -> executable

Comes in: a traced call. Goes out: something that runs it. In the order of reading:

    program       traced call -> module -> executable: what is lowered, and how often
    compiler      StableHLO -> executable: XLA is asked, unless the disk has it
    placement     keys of a call's leaves -> the devices that the program runs on
    shardings     `in_shardings`, `out_shardings` -> a sharding for each leaf
    disk_cache    executables kept between processes
    by_loops      traced call -> C -> executable, for `jit(f, backend="c")`

JAX: jax/_src/compiler.py:compile_or_get_cached
"""
