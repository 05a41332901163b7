"""The helpers on lists give what JAX's give, and fail where they fail."""

from __future__ import annotations

from typing import Any

import pytest
from jax._src import util as theirs

from jitkit.base import util as ours


def outcome(run: Any) -> Any:
    try:
        return repr(run())
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]


@pytest.mark.parametrize(
    "columns",
    [
        ([1, 2], [3, 4]),
        ([1, 2], [1]),
        ([1], [1, 2]),
        ([1], [1], [1, 2]),
        ([1],),
        ([1], (2,)),
        ([], []),
        ({"a": 1}, "b"),
    ],
    ids=repr,
)
def test_safe_map_and_safe_zip_refuse_columns_of_different_lengths_as_jax_does(columns: Any) -> None:
    assert outcome(lambda: ours.safe_zip(*columns)) == outcome(lambda: theirs.safe_zip(*columns))
    assert outcome(lambda: ours.safe_map(max, *columns)) == outcome(lambda: theirs.safe_map(max, *columns))


def test_an_error_of_the_mapped_function_passes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        ours.safe_map(lambda x: 1 // x, [1, 0])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("unzip2", ([(1, "a"), (2, "b")],)),
        ("unzip2", ([],)),
        ("unzip2", ([(1, 2, 3)],)),
        ("partition_list", ([True, False, True], "abc")),
        ("partition_list", ([], [])),
        ("merge_lists", ([True, False, True], "b", "ac")),
        ("split_list", ("abcdef", [1, 2])),
        ("split_list", ("abc", [5, 1])),
        ("split_list", ("abc", [])),
    ],
    ids=repr,
)
def test_lists_are_split_and_merged_as_in_jax(name: str, arguments: Any) -> None:
    assert outcome(lambda: getattr(ours, name)(*arguments)) == outcome(lambda: getattr(theirs, name)(*arguments))


def test_a_mask_of_the_wrong_length_is_a_bug_that_says_so() -> None:
    with pytest.raises(AssertionError, match="a mask of 1 for 2 items"):
        ours.partition_list([True], [1, 2])
    with pytest.raises(AssertionError, match="a mask of 0 False and 1 True for 1 and 1 items"):
        ours.merge_lists([True], [1], [2])
