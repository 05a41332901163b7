"""Provides small helpers on lists that every stage uses.

`safe_map` and `safe_zip` return lists and refuse arguments of different lengths: a lost operand is an error here, not a
wrong program three stages later.

JAX: jax/_src/util.py:safe_map
"""

from __future__ import annotations

import contextlib
import functools
import gc
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

from . import edits

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")


@overload
def safe_map(f: Callable[[T1], T], xs: Iterable[T1], /) -> list[T]: ...
@overload
def safe_map(f: Callable[[T1, T2], T], xs: Iterable[T1], ys: Iterable[T2], /) -> list[T]: ...
@overload
def safe_map(f: Callable[..., T], xs: Iterable[Any], /, *rest: Iterable[Any]) -> list[T]: ...
def safe_map(f: Callable[..., T], xs: Iterable[Any], /, *rest: Iterable[Any]) -> list[T]:
    """Return `map` as a list; raise ValueError when the arguments differ in length."""
    columns = [list(column) for column in (xs, *rest)]
    for position, column in enumerate(columns[1:], start=2):
        if len(column) != len(columns[0]):
            comparison = "longer" if len(column) > len(columns[0]) else "shorter"
            raise ValueError(f"safe_map() argument {position} is {comparison} than argument 1")
    return list(map(f, *columns))


@overload
def safe_zip(xs: Iterable[T1], /) -> list[tuple[T1]]: ...
@overload
def safe_zip(xs: Iterable[T1], ys: Iterable[T2], /) -> list[tuple[T1, T2]]: ...
@overload
def safe_zip(xs: Iterable[T1], ys: Iterable[T2], zs: Iterable[T3], /) -> list[tuple[T1, T2, T3]]: ...
@overload
def safe_zip(xs: Iterable[Any], /, *rest: Iterable[Any]) -> list[tuple[Any, ...]]: ...
def safe_zip(xs: Iterable[Any], /, *rest: Iterable[Any]) -> Any:
    """Return `zip` as a list; raise ValueError when the arguments differ in length."""
    columns = [list(column) for column in (xs, *rest)]
    lengths = tuple(len(column) for column in columns)
    for position, length in enumerate(lengths):
        if length != lengths[0]:
            raise ValueError(
                f"safe_zip() argument {position} has length {length} but argument 0 has length {lengths[0]}. "
                f"All lengths: {lengths}"
            )
    return list(zip(*columns, strict=True))


def unzip2(pairs: Iterable[tuple[T1, T2]]) -> tuple[tuple[T1, ...], tuple[T2, ...]]:
    """Split pairs into firsts and seconds. Unlike `zip(*pairs)`, returns two tuples even for no pairs."""
    firsts: list[T1] = []
    seconds: list[T2] = []
    for first, second in pairs:
        firsts.append(first)
        seconds.append(second)
    return tuple(firsts), tuple(seconds)


def partition_list(mask: Sequence[bool], items: Sequence[T]) -> tuple[list[T], list[T]]:
    """Return two lists: the items whose mask is False, and the items whose mask is True."""
    assert len(mask) == len(items), f"a mask of {len(mask)} for {len(items)} items"
    parts: tuple[list[T], list[T]] = ([], [])
    for chosen, item in zip(mask, items, strict=True):
        parts[chosen].append(item)
    return parts


def merge_lists(mask: Sequence[bool], unchosen: Sequence[T1], chosen: Sequence[T2]) -> list[T1 | T2]:
    """Return two lists merged, the inverse of `partition_list`: the next item of `chosen` where the mask is True, else
    the next of `unchosen`.
    """
    count = sum(mask)
    assert (len(mask) - count, count) == (len(unchosen), len(chosen)), (
        f"a mask of {len(mask) - count} False and {count} True for {len(unchosen)} and {len(chosen)} items"
    )
    falses, trues = iter(unchosen), iter(chosen)
    return [next(trues) if flag else next(falses) for flag in mask]


def split_list(items: Sequence[T], sizes: Sequence[int]) -> list[list[T]]:
    """Return `items` as lists of the given sizes, and a list of the rest."""
    rest = list(items)
    parts = []
    for size in sizes:
        parts.append(rest[:size])
        rest = rest[size:]
    return [*parts, rest]


@contextlib.contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause garbage collection in a block that makes many objects and no cycles: the collector would walk over all of
    them repeatedly. The text of 10,000 equations takes a quarter of the time, which grows linearly.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class fewer_collections:
    """Collect garbage in the block after 10,000 new objects instead of 700 (2,000 since Python 3.13), and leave old
    ones out. If the program has turned collections off, or collects as rarely, nothing changes.

    Most objects of a trace stay alive, and the collector walked over them several times: each equation of a trace of
    20,000 took a quarter longer than one of a trace of 2,000. The user's function, which runs in the block, may leave
    cycles behind, so the collector is not turned off. Its thresholds belong to the process: the first block sets them,
    the last one puts them back, and thresholds that the program sets in the meantime stay.
    """

    _RARELY = (10_000, 10, 1_000_000)
    _lock = threading.RLock()  # a collection may end an object whose `__del__` traces
    _blocks = 0  # open now, in all threads
    _before = _RARELY

    def __enter__(self) -> None:
        cls = fewer_collections
        with cls._lock:
            if not cls._blocks:
                cls._before = gc.get_threshold()
                if 0 < cls._before[0] < cls._RARELY[0]:  # 0: the program has turned collections off
                    gc.set_threshold(*cls._RARELY)
            cls._blocks += 1

    def __exit__(self, *error: object) -> None:
        cls = fewer_collections
        with cls._lock:
            cls._blocks -= 1
            if not cls._blocks and gc.get_threshold() == cls._RARELY:
                gc.set_threshold(*cls._before)


def wraps(fun: Callable[..., Any]) -> Callable[[F], F]:
    """Return the decorator `functools.wraps(fun)`, which leaves out attributes that cannot be copied, such as a
    `__name__` that is not a string.
    """

    def named(wrapper: F) -> F:
        for attribute in functools.WRAPPER_ASSIGNMENTS:
            with contextlib.suppress(AttributeError, TypeError):
                setattr(wrapper, attribute, getattr(fun, attribute))
        functools.update_wrapper(wrapper, fun, ())
        return wrapper

    return named


def refuse_values(f: Any, leaves: Sequence[Any]) -> None:
    """Raise TypeError if the first argument of `tree.map`, which is called for each leaf, is not a function."""
    if leaves and not callable(f):
        raise TypeError(f"{type(f).__name__!r} object is not callable{edits.MAPPED_FIRST}")


class Transform(str):
    """The name of a transformation in a name stack, written around the scope that follows it."""

    __slots__ = ()


def scopes_of(stack: tuple[str, ...]) -> list[str]:
    """Return the scopes of a name stack as they are written: `["G", "transpose(jvp(B))"]`."""
    found: list[str] = []
    for name in reversed(stack):
        if isinstance(name, Transform):
            found[:1] = [f"{name}({found[0] if found else ''})"]
        else:
            found.insert(0, name)
    return found


class NameStack(tuple[str, ...]):
    """The open scopes (`named_scope`), the outermost first. As text they are joined by slashes (`scopes_of`)."""

    __slots__ = ()

    def __str__(self) -> str:
        return "/".join(scopes_of(self))
