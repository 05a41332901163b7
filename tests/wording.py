"""Which tests judge the words of an error or the text of a jaxpr, and which only the error's class and what the program computes.

An exercise leaves the words of most errors to whoever writes it, and most ways to write a program down. So the tests that come with
`jitkit export` run with `-m "not words"`: tests that are about words are left out, errors are compared by their classes, and
derivatives by what they compute.
"""

from __future__ import annotations

WITHOUT = "not words"
compared = True  # whether this run compares words; an export sets it to False (conftest)
