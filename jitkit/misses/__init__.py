"""call that missed the cache -> why, in words

Input: a record of each call that missed. Output: `explain`. In the order of reading:

    record         call -> its signature, to compare with later calls
    differences    two calls -> their differences, in words
    short_text     a value in a few words
    advice         two types of one argument -> the edit that lets both calls share a program
    edits          the sentence for a difference that no edit takes away
    cached         advice that considers all cached calls, not only the closest
    origin         function -> the source that made it, and how many functions that source has made
    explain        why each call missed, as data and as sentences

JAX: jax/_src/pjit.py:explain_tracing_cache_miss
"""
