"""call that missed the cache -> why, in words

Input: a record of each call that missed. Output: `explain`. In the order of reading:

    record         call -> what a later call can be compared with
    differences    two calls -> what is different between them, in words
    short_text     a value in a few words
    advice         two types of one argument -> the edit that lets both calls share a program
    edits          what to say of a difference that no edit takes away
    cached         advice that considers all cached calls, not only the closest
    origin         function -> the source that made it, and how many functions that source has made
    explain        why each call missed, as data and as sentences

JAX: jax/_src/pjit.py:explain_tracing_cache_miss
"""
