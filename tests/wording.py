"""Says whether tests judge the words of errors and the text of jaxprs, or only the classes of errors and what programs compute.

In most exercises the learner may choose the words of an error, and the equations of a program. So the tests that come with
`jitkit export` run with `-m "not words"`: tests that are about words are left out, errors are compared by their classes, and
derivatives by their values.
"""

from __future__ import annotations

WITHOUT = "not words"
compared = True  # whether this run compares words; an export sets it to False (conftest)
