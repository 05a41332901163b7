"""Checks for the tests of the learner's commands."""

from __future__ import annotations

from jitkit.kata.checking import check, raised


@check(
    "90.1",
    "Items come in the order of the mask.",
    against=["the mask does not matter", "True comes from the first list"],
)
def order_of_the_mask(jk, rng):
    mask = [True, False, *map(bool, rng.integers(0, 2, 6))]
    return jk.base.util.merge_lists(mask, list(range(mask.count(False))), [10 + i for i in range(mask.count(True))])


@check("90.1", "Lists that do not fit the mask are an AssertionError.")
def too_short(jk, rng):
    return raised(jk.base.util.merge_lists, [True, False], [1], [], parts=["1"])


@check("90.1", "The result is a list.", against=["any sequence will do"])
def kind_of_the_result(jk, rng):
    return jk.base.util.merge_lists([False, True], [1], [2])


@check("90.2", "What was taken apart can be put together.")
def there_and_back(jk, rng):
    items = [int(n) for n in rng.integers(0, 100, 4)]
    mask = [True] * 4
    parts = jk.base.util.partition_list(mask, items)
    return list(parts), jk.base.util.merge_lists(mask, *parts)


@check("90.2", "The rest is a list of its own.", against=["the rest is lost"])
def the_rest(jk, rng):
    return jk.base.util.split_list([1, 2, 3, 4, 5], [2, 1])
