"""call -> what a later call can be compared with

A `CallRecord` is the signature of a call, argument by argument, under the names of the function's parameters.
It is kept as long as something is cached for that signature. When a call misses, its own record is compared
with those that there are: the *closest* one, with the fewest differences, is the one that a reader will have
in mind.

Differences weigh differently. Another shape, tree or static value has to be traced anew; another device only
to be compiled; a value that was on the host and is on a device only to be looked up anew. So a call that was
traced is explained by differences of the first kind alone, and the closest record of one that was not traced
is one that could be traced the same.

JAX: jax/_src/interpreters/partial_eval.py:diff_tracing_cache_keys
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .. import core
from ..base.config import Options
from ..runtime import OnHost, Placed
from ..signature import api_util
from ..signature.api_util import Arguments, Static
from ..tree_util import PyTreeDef

# What a difference costs. `DISPATCHES`: only to find out how the arguments get to the device.
TRACES, COMPILES, DISPATCHES = 2, 1, 0
_WEIGHTS = {"jit options": COMPILES, "device": COMPILES, "host": DISPATCHES}

_COMPARED = 500  # arguments compared in search of the closest of many records: about 1 ms


class Argument(NamedTuple):
    """One argument of a call. A static one has `static`; another one a tree, a key and a path per leaf."""

    name: str  # "x", "args[2]", "kwargs['lr']"
    by_keyword: bool
    static: Static | None
    tree: PyTreeDef | None = None
    keys: tuple[Any, ...] = ()  # a ShapedArray, or `runtime.Placed` or `runtime.OnHost`, both with `.aval`
    paths: tuple[str, ...] = ()  # "params['w']"


class CallRecord(NamedTuple):
    """The signature of a call, of which something is cached.

    `number` is that of the miss; `has_entry` tells whether it can be called, and was not only traced;
    `jit_options` is what `jit` was told.
    """

    number: int
    has_entry: bool
    options: Options
    jit_options: Any
    arguments: tuple[Argument, ...]
    statics: tuple[tuple[int | str, Static], ...]

    def fingerprint(self) -> int:
        """A number for the signature, which outlives what it is made of."""
        parts: list[Any] = [repr(self.options), self.jit_options]
        for argument in self.arguments:
            static = argument.static
            parts += [argument.name, argument.by_keyword, safe_repr(argument.tree)]
            parts += [] if static is None else [type(static.value).__qualname__, static.hash]
            parts += [_parts_of(key) for key in argument.keys]
        return hash(tuple(parts))


def _parts_of(key: Any) -> tuple[Any, ...]:
    aval = aval_of(key)
    return type(key).__name__, aval.shape, getattr(aval, "dtype", None), aval.weak_type, sharding_of(key)


def record_call(
    fun: Callable[..., Any],
    jit_options: Any,
    options: Options,
    arguments: Arguments,
    tree: PyTreeDef,
    keys: Sequence[Any],
    paths: Sequence[str],
) -> CallRecord:
    """The signature of a call of `fun`, from the tree of its dynamic arguments, a key and a path per leaf."""
    at = dict(arguments.statics)
    by_name = sorted({*arguments.kwargs, *(where for where in at if isinstance(where, str))})
    whole = Arguments((0,) * arguments.arity, dict.fromkeys(by_name, 0), (), arguments.arity)
    names = api_util.argument_names(fun, whole)
    slots: list[int | str] = [*range(arguments.arity), *by_name]
    subtrees = iter([subtree for half in tree.children() for subtree in half.children()])
    end, found = 0, []
    for name, slot in zip(names, slots, strict=True):
        is_keyword = isinstance(slot, str)
        if slot in at:
            found.append(Argument(name, is_keyword, at[slot]))
            continue
        subtree = next(subtrees)
        start, end = end, end + subtree.num_leaves
        found.append(
            Argument(name, is_keyword, None, subtree, tuple(keys[start:end]), tuple(paths[start:end]))
        )
    return CallRecord(0, False, options, jit_options, tuple(found), arguments.statics)


# --- comparing ----------------------------------------------------------------------------------------------


class Change(NamedTuple):
    """A difference between two calls, not yet put in words. The kinds: see `call_differences.Difference`."""

    kind: str
    name: str  # of the argument, of the leaf, or of the option
    before: Any
    now: Any
    size: int = 1

    @property
    def weight(self) -> int:
        """What the difference costs."""
        return _WEIGHTS.get(self.kind, TRACES)


def closest(
    records: Sequence[CallRecord], record: CallRecord, weight: int
) -> tuple[CallRecord | None, tuple[int, ...]]:
    """The record that is nearest to `record`, by the `distance` down to this weight, and its distance. Of several, the
    latest: they are compared in the order of `latest_first`, until one is not different at all. `(None, ())` when there
    are no records.
    """
    best: CallRecord | None = None
    fewest: tuple[int, ...] = ()
    for candidate in latest_first(records, record):
        counts = distance(candidate, record, weight)
        if best is None or counts < fewest:
            best, fewest = candidate, counts
            if not any(counts):
                break
    return best, fewest


def latest_first(records: Sequence[CallRecord], record: CallRecord) -> Sequence[CallRecord]:
    """Of records by age the latest, the last one first: as many as can be compared with `record` in a millisecond."""
    recent = max(32, _COMPARED // (len(record.arguments) + 1))
    return records[-recent:][::-1]


def distance(old: CallRecord, new: CallRecord, weight: int) -> tuple[int, ...]:
    """In how many places two calls differ: with the greatest weight, `TRACES`, with the next, down to `weight`. So
    distances compare as tuples do: one reason to trace is worse than any number of reasons to compile.

    A `Change` counts with its `size`; `changes(old, new, weight)` are those that count.
    """
    counts = [0] * (TRACES + 1 - weight)
    for change in changes(old, new, weight):
        counts[TRACES - change.weight] += change.size
    return tuple(counts)


def changes(old: CallRecord, new: CallRecord, weight: int) -> list[Change]:
    """The differences between two calls, down to this weight."""
    return [change for change in _all_changes(old, new) if change.weight >= weight]


def _all_changes(old: CallRecord, new: CallRecord) -> Iterator[Change]:
    if old.options is not new.options:
        yield from _changed_fields("option", old.options, new.options)
    if old.jit_options != new.jit_options:
        yield from _changed_fields("jit options", old.jit_options, new.jit_options)
    was, is_now = ({argument.name: argument for argument in record.arguments} for record in (old, new))
    for name in {**is_now, **was}:
        yield from _changes_of_argument(name, was.get(name), is_now.get(name))


def _changed_fields(kind: str, old: Any, new: Any) -> Iterator[Change]:
    """The fields in which two sets of options differ, and the fields of their fields."""
    was = _fields(old)
    for name, now in _fields(new).items():
        if _fields(now):
            yield from _changed_fields(kind, was[name], now)
        elif was[name] != now:
            yield Change(kind, name, was[name], now)


def _fields(options: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(options):
        return {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    return options._asdict() if hasattr(options, "_asdict") else {}


def _changes_of_argument(name: str, before: Argument | None, now: Argument | None) -> Iterator[Change]:
    if before is None or now is None or before.by_keyword != now.by_keyword:
        yield Change("passing", name, before, now)
    elif before.static is None and now.static is None:
        yield from _changes_of_tree(name, before, now)
    elif before.static is None or now.static is None:
        yield Change("passing", name, before, now)
    elif before.static.hash != now.static.hash or not safe_equal(before.static, now.static):
        yield Change("static", name, before.static, now.static)


def _changes_of_tree(name: str, before: Argument, now: Argument) -> Iterator[Change]:
    """Differences between two trees, and between the leaves that both of them have."""
    if not safe_equal(before.tree, now.tree):
        yield Change("tree", name, before.tree, now.tree, 1 + abs(len(before.keys) - len(now.keys)))
    elif before.keys == now.keys:
        return
    was = dict(zip(before.paths, before.keys, strict=True))
    common = [(path, key) for path, key in zip(now.paths, now.keys, strict=True) if path in was]
    yield from changed_leaves((path, was[path], key) for path, key in common)


def changed_leaves(leaves: Iterable[tuple[str, Any, Any]]) -> Iterator[Change]:
    """The differences between the leaves of two calls, from `(path, key before, key now)` of each.

    A key is an aval, or has one (`aval_of`); avals and keys are interned. A leaf may differ in two ways: its type has
    changed, and that is one `Change`, whose kind is the first of "shape", "dtype", "weak type" that does
    (`kind_of_types`); and, when one of the keys is `Placed`, its place, as `sharding_of` tells it: kind "device". When none
    is, and the type is the same, it may have been `OnHost` in one of the calls only: kind "host".
    """
    for path, before, now in leaves:
        if before is now:
            continue
        old, new = aval_of(before), aval_of(now)
        if old is not new:
            yield Change(kind_of_types(old, new), path, before, now)
        if isinstance(before, Placed) or isinstance(now, Placed):
            if sharding_of(before) != sharding_of(now):
                yield Change("device", path, before, now)
        elif old is new and isinstance(before, OnHost) != isinstance(now, OnHost):
            yield Change("host", path, before, now)


def sharding_of(key: Any) -> Any:
    """Where a leaf has to be; None if that is open."""
    return key.sharding if isinstance(key, Placed) else None


def kind_of_types(old: Any, new: Any) -> str:
    """What is different between two types, first: "shape", "dtype" or "weak type"."""
    if old.shape != new.shape:
        return "shape"
    return "dtype" if getattr(old, "dtype", None) != getattr(new, "dtype", None) else "weak type"


def aval_of(key: Any) -> Any:
    """The aval in the key of a leaf."""
    return key if isinstance(key, (core.ShapedArray, core.AbstractToken)) else key.aval


# --- values of users' classes: their methods may raise, and what explains a call must not break it ----------


def safe_equal(old: Any, new: Any) -> bool:
    """Whether two values are equal; no, if comparing them raises."""
    try:
        return bool(old == new)
    except Exception:
        return False


def safe_repr(value: Any) -> str:
    """The value's `repr`; if that raises, what is known instead."""
    try:
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__}, whose __repr__ raises {type(error).__name__}>"
