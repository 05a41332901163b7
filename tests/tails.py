"""Which rows of a table `make test` takes, and which are its tail: those that say the same again.

Every row is run by `make test-all`. What is left out here has been seen to be found by what is kept: break the code, and look.
"""

from __future__ import annotations

import pytest

with_tails = True  # whether this run has everything; `make test` sets it to False (conftest)


def some_of(values, count=3):
    """Return all values of a table that one test goes through; in `make test` only the first, and then one in so many."""
    return values if with_tails else values[::count]


def keeping(values, *kept):
    """Return values for `parametrize`; `make test` takes only those that are named."""
    assert set(kept) <= set(values), "what is kept is one of the values"
    return [value if value in kept else pytest.param(value, marks=pytest.mark.tail) for value in values]


def one_in(count, values):
    """Return values for `parametrize`; `make test` takes the first, and then one in so many."""
    return [value if i % count == 0 else pytest.param(value, marks=pytest.mark.tail) for i, value in enumerate(values)]


def one_row_in(count, rows):
    """Return the same for several parameters at once, a tuple of values each."""
    return [row if i % count == 0 else pytest.param(*row, marks=pytest.mark.tail) for i, row in enumerate(rows)]
