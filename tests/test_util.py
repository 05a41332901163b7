"""The helpers on lists return what JAX's return, and fail where these fail."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest
from jax._src import util as theirs

import jitkit
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


# --- the collector of garbage, while a function is traced ----------------------------------------------------


def test_a_long_trace_looks_at_no_old_objects():
    full = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            full.append(info)

    def chain(x: Any) -> Any:
        for _ in range(20_000):
            x = x + x
        return x

    gc.collect()
    gc.callbacks.append(note)
    try:
        with ours.fewer_collections():  # so that none is due when the trace has ended
            assert len(jitkit.make_jaxpr(chain)(1.0).eqns) == 20_000
    finally:
        gc.callbacks.remove(note)
    assert not full


def test_collections_are_as_before_after_a_trace_and_after_an_error():
    before, inside = gc.get_threshold(), []

    def f(x: Any, fails: bool) -> Any:
        inside.append(gc.get_threshold())
        if fails:
            raise KeyError("no")
        return jitkit.jit(lambda x: x)(x)

    jitkit.jit(f, static_argnums=1).trace(1.0, False)
    assert gc.get_threshold() == before
    with pytest.raises(KeyError):
        jitkit.jit(f, static_argnums=1).trace(2, True)
    assert gc.get_threshold() == before
    assert all(first > before[0] for first, _, _ in inside)


def test_thresholds_that_a_program_sets_while_it_is_traced_stay():
    before = gc.get_threshold()
    try:
        with ours.fewer_collections():
            gc.set_threshold(123, 4, 5)
        assert gc.get_threshold() == (123, 4, 5)
        gc.set_threshold(0)  # never collect
        off = gc.get_threshold()
        with ours.fewer_collections():
            assert gc.get_threshold() == off
        assert gc.get_threshold() == off
        gc.set_threshold(50_000, 20, 20)
        with ours.fewer_collections():
            assert gc.get_threshold() == (50_000, 20, 20)
    finally:
        gc.set_threshold(*before)


def test_the_last_of_several_threads_puts_the_thresholds_back():
    before, both, one_is_out = gc.get_threshold(), threading.Barrier(2), threading.Event()

    def first() -> None:
        with ours.fewer_collections():
            both.wait()
        one_is_out.set()

    thread = threading.Thread(target=first)
    thread.start()
    with ours.fewer_collections():
        both.wait()
        one_is_out.wait()
        assert gc.get_threshold() != before
    thread.join()
    assert gc.get_threshold() == before
