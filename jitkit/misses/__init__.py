"""call that missed the cache -> why, in words

Comes in: what is kept of each call that was not found. Goes out: `explain`. In the order of reading:

    record         call -> what a later call can be compared with
    differences    two calls -> what is different between them, in words
    short_text     a value in a few words
    advice         two types of one argument -> what to do so that both calls share a program
    origin         function -> the source that made it, and how many functions that source has made
    explain        the story of each miss, as data and as sentences

JAX: jax/_src/pjit.py:explain_tracing_cache_miss
"""
