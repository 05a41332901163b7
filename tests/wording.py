"""Which tests judge the words of an error, and which only its class.

An exercise leaves the words of most errors to whoever writes it. So the tests that come with `jitkit export` run with
`-m "not words"`: tests that are about words are left out, and errors are compared by their classes.
"""

from __future__ import annotations

WITHOUT = "not words"
compared = True  # whether this run compares words; an export sets it to False (conftest)
