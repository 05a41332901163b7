"""Says which tests and rows of tables `make test` runs, which ones are the rest, and which are a tail: rows that repeat what others
test.

`make test` and `make test-rest` together decide about a commit. `make test-all` runs every row. Before a row was moved to a tail, we
broke the code on purpose, to see that the rows that stay fail, too.
"""

from __future__ import annotations

import collections

import pytest
from rest import ALL, REST

WITHOUT_TAILS = "not tail"  # pytest's `-m` for the tests that decide about a commit; then its two parts
MAKE_TEST = f"{WITHOUT_TAILS} and not rest"
MAKE_TEST_REST = f"{WITHOUT_TAILS} and rest"

# Tests with many slow rows that repeat each other, each with a number n: `make test` takes the first row, and then
# every nth one. The number has no common factor with the lengths of inner tables, so that each value of these is used.
ONE_IN = {
    "test_ad_custom.py": {
        "test_policies_look_into_calls_and_loops": 3,
        "test_what_only_results_that_nobody_reads_need_is_left_out": 3,
    },
    "test_cusolver.py": {"test_the_routines_that_are_called_are_those_of_jax": 3},
    "test_device_put.py": {"test_it_is_recorded_and_changes_no_value": 2},
    "test_example_libraries.py": {"test_an_image_of_another_size": 3, "test_three_steps_of_an_optimizer": 2},
    "test_numpy_reductions.py": {"test_reductions_over_axes_agree_with_jax": 3, "test_reductions_over_named_axes": 4},
    "test_public_reports.py": {
        "test_argnums_of_all_kinds": 4,
        "test_one_array_is_stacked_by_one_equation_for_all_rows": 3,
        "test_updates_by_functions_that_return_another_dtype": 3,
    },
    "test_scipy.py": {"test_integrals_without_a_formula_are_those_of_jax": 2},
    "test_solves.py": {"test_solutions_and_their_derivatives_are_jaxs": 2},
    "test_warnings.py": {
        "test_arrays_of_64_bits_where_x64_mode_is_off": 2,
        "test_what_is_warned_of_structs_of_64_bits": 2,
    },
}

with_tails = True  # whether this run has everything; `make test` sets it to False (conftest)


def some_of(values, count=3):
    """Return all values of a table that one test loops over; in `make test` only the first, and then every `count`th one."""
    return values if with_tails else values[::count]


def keeping(values, *kept, mark=pytest.mark.tail):
    """Return values for `parametrize`. All but the `kept` ones have a mark, with which `make test` leaves them out."""
    assert set(kept) <= set(values), "what is kept is one of the values"
    return [value if value in kept else pytest.param(value, marks=mark) for value in values]


def one_in(count, values):
    """Return values for `parametrize`; `make test` takes the first, and then every `count`th one."""
    return [value if i % count == 0 else pytest.param(value, marks=pytest.mark.tail) for i, value in enumerate(values)]


def one_row_in(count, rows):
    """Return rows for `parametrize` with several parameters; `make test` takes the first, and then every `count`th one."""
    return [row if i % count == 0 else pytest.param(*row, marks=pytest.mark.tail) for i, row in enumerate(rows)]


def leave_out(items):
    """Mark the rows of the tests in `ONE_IN` that belong to the tail, and then those of the tests in `REST` that belong to the rest."""
    mark_rows(items, ONE_IN, pytest.mark.tail)
    mark_rows([item for item in items if not item.get_closest_marker("tail")], REST, pytest.mark.rest)


def mark_rows(items, table, mark):
    """Mark all rows of the tests in a table but the first one and then every nth one; with the number ALL, mark every row."""
    rows = collections.Counter()
    for item in items:
        name = getattr(item, "originalname", item.name)
        count = table.get(item.path.name, {}).get(name)
        if count is not None:
            if count == ALL or rows[item.path, name] % count:  # by position, since the names of rows may change
                item.add_marker(mark)
            rows[item.path, name] += 1
