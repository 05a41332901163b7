"""call -> its signature, to compare with later calls

A `CallRecord` is the signature of a call, by the names of the function's parameters. It is kept as long as something is
cached for that signature. When a call misses, its record is compared with the kept ones. The reader probably expected
to hit the *closest* of them, the one with the fewest differences.

Differences have weights. Another shape, tree or static value needs a trace; another device needs only a compilation; a
value that moved from host to device needs only another look-up. So if a call was traced, only differences that need a
trace explain it; otherwise it is compared with a record that does not differ in this way.

Among differences that need a trace, a leaf's shape, dtype and weak type count one each, and a leaf of only one call
counts three. Tree nodes that differ count, too.

A miss must not get slower with every known signature. Each record has a *sketch* of 1024 bits; the more alike two
records are, the more bits agree: the odd sketch of Mitzenmacher, Pagh and Pham, "Efficient estimation for high
similarities using odd sketches", WWW 2014. Comparing 256 sketches takes 60 us; only records with the nearest sketches
are compared in full.

JAX: jax/_src/interpreters/partial_eval.py:diff_tracing_cache_keys
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .. import core
from ..base.config import Options
from ..runtime import OnHost, Placed
from ..signature import api_util
from ..signature.api_util import Arguments, Static
from ..tree_util import PyTreeDef, nodes_apart, note_keys, same_key

# What a difference costs: tracing, compiling, or (`DISPATCHES`) only another way to get the arguments to the device.
TRACES, COMPILES, DISPATCHES = 2, 1, 0
_WEIGHTS = {
    "jit options": COMPILES, "debug_nans": COMPILES, "debug_infs": COMPILES, "device": COMPILES, "host": DISPATCHES
}  # fmt: skip

SEARCHED = 256  # the closest record is looked for among this many, the latest
_COMPARED = 256  # about this many leaves are compared in all, to find the closest record
_LAST_BIT = 1023  # the number of the last bit in a sketch, from 0
_PARTS = 3  # a leaf's type has three parts: shape, dtype, weak type


class Argument(NamedTuple):
    """One argument of a call. A static one has `static`; any other has a tree, and a key and a path per leaf."""

    name: str  # "x", "args[2]", "kwargs['lr']"
    by_keyword: bool
    static: Static | None
    tree: PyTreeDef | None = None
    keys: tuple[Any, ...] = ()  # a ShapedArray, or `runtime.Placed` or `runtime.OnHost`, both with `.aval`
    paths: tuple[str, ...] = ()  # "params['w']"


_NOTHING = Argument("", False, None)


class CallRecord(NamedTuple):
    """The signature of a call for which something is cached.

    `has_entry` says whether the miss left an entry that runs calls: not if the call was only traced. `sketch` serves to
    estimate quickly how alike two records are.
    """

    number: int  # of the miss, counted from 1 for each function; 0 until the miss is logged
    has_entry: bool
    options: Options  # of `config`, in the call's thread
    jit_options: Any  # what `jit` was given
    arguments: tuple[Argument, ...]  # static and dynamic ones: first those by position, then the keywords
    statics: tuple[tuple[int | str, Static], ...]  # each with its position, or its name
    sketch: int = 0

    def fingerprint(self) -> int:
        """Return a hash of the signature; unlike the record, it keeps nothing alive."""
        parts: list[Any] = [_text_of_options(self.options), self.jit_options]
        for argument in self.arguments:
            static = argument.static
            parts += [argument.name, argument.by_keyword, safe_repr(argument.tree)]
            parts += [] if static is None else [type(static.value).__qualname__, static.hash]
            parts += [_parts_of(key) for key in argument.keys]
        return hash(tuple(parts))


@functools.lru_cache(maxsize=64)
def _text_of_options(options: Options) -> str:
    return repr(options)


def _parts_of(key: Any) -> tuple[Any, ...]:
    aval = aval_of(key)
    return (
        type(key).__name__,
        of_python(key),
        aval.shape,
        getattr(aval, "dtype", None),
        aval.weak_type,
        sharding_of(key),
    )


def record_call(
    fun: Callable[..., Any],
    jit_options: Any,
    options: Options,
    arguments: Arguments,
    tree: PyTreeDef,
    keys: Sequence[Any],
    paths: Sequence[str],
) -> CallRecord:
    """Return the signature of a call of `fun`, not yet numbered. `tree` is that of the dynamic arguments, `keys` and `paths`
    have an item for each of its leaves; `options` are those of the thread, `jit_options` those of `jit`.
    """
    if not tree.is_plain:
        note_keys((arguments.args, arguments.kwargs))
    at = dict(arguments.statics)
    by_name = sorted({*arguments.kwargs, *(where for where in at if isinstance(where, str))})
    names = api_util.names_of_whole_arguments(fun, arguments.arity, by_name)
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
        found.append(Argument(name, is_keyword, None, subtree, tuple(keys[start:end]), tuple(paths[start:end])))
    sketch = functools.reduce(operator.xor, map(_sketch_of_argument, found), _sketch_of_options(options))
    return CallRecord(0, False, options, jit_options, tuple(found), arguments.statics, sketch)


def _sketch_of_argument(argument: Argument) -> int:
    """Return a sketch of all parts of an argument whose change needs a trace. A change that counts one in `distance`
    flips two bits: the bit of the old fact and the bit of the new one.
    """
    facts: list[Any] = [(argument.name, argument.by_keyword)]
    if argument.static is not None:
        facts.append((argument.name, type(argument.static.value).__qualname__, argument.static.hash))
    elif argument.tree is not None:
        facts.append((argument.name, argument.tree.exact_hash()))
    leaves = map(_sketch_of_leaf, argument.paths, map(aval_of, argument.keys))
    return functools.reduce(operator.xor, leaves, _bits(facts))


@functools.lru_cache(maxsize=1 << 13)
def _sketch_of_leaf(path: str, aval: Any) -> int:
    """Return a sketch with three bits for the path and one each for shape, dtype and weak type: an added leaf then
    counts as much as one that changed in all three. Written without loops: a tree of new shapes has many new leaves.
    """
    at = hash(path)
    shape, dtype, weak = hash((at, aval.shape)), hash((at, getattr(aval, "dtype", None))), at ^ is_weak(aval)
    is_there = 1 << (at & _LAST_BIT) ^ 1 << (at >> 10 & _LAST_BIT) ^ 1 << (at >> 20 & _LAST_BIT)
    return is_there ^ 1 << (shape & _LAST_BIT) ^ 1 << (dtype & _LAST_BIT) ^ 1 << (hash((weak, 3)) & _LAST_BIT)


@functools.lru_cache(maxsize=64)
def _sketch_of_options(options: Options) -> int:
    return _bits(list(_fields(options).items()))


def _bits(facts: Sequence[Any]) -> int:
    """Return an int with one hashed bit per fact; two facts that hash to the same bit cancel out."""
    return functools.reduce(operator.xor, (1 << (hash(fact) & _LAST_BIT) for fact in facts), 0)


# --- comparing ----------------------------------------------------------------------------------------------


class Change(NamedTuple):
    """A difference between two calls, not yet put in words. `differences.Difference` lists the kinds."""

    kind: str
    name: str  # the name of the argument, the leaf or the option
    before: Any  # in the older call: the option's value, the leaf's key, the tree, the Static, or the Argument if `kind` is "passing"
    now: Any  # the same in the newer call
    size: int = 1  # how much the difference counts in `distance`

    @property
    def weight(self) -> int:
        """The cost of the difference: `TRACES`, `COMPILES` or `DISPATCHES`."""
        return _WEIGHTS.get(self.name if self.kind == "option" else self.kind, TRACES)


def closest(
    records: Sequence[CallRecord], record: CallRecord, weight: int
) -> tuple[CallRecord | None, tuple[int, ...]]:
    """Return the record nearest to `record` by the `distance` down to this weight, and that distance; `(None, ())` when
    there are no records.

    Only the records that `latest_first` selects are compared. Of several that are equally near, take the first in
    the order of `latest_first`: the latest.
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
    """Return the records worth comparing with `record`, the latest first: of the latest 256, the 3 to 24 with the
    nearest sketches (fewer for large records). One would not do: if bits collide, the nearest record may have a more
    distant sketch.
    """
    recent = records[: -SEARCHED - 1 : -1]
    likest = sorted(recent, key=lambda other: (other.sketch ^ record.sketch).bit_count())
    leaves = sum(len(argument.keys) for argument in record.arguments)
    count = min(24, max(3, _COMPARED // (leaves + 1)))
    return sorted(likest[:count], key=lambda other: -other.number)


def distance(old: CallRecord, new: CallRecord, weight: int) -> tuple[int, ...]:
    """Return how far apart two calls are: the sizes of their changes, summed for each weight, in a tuple from the
    greatest, `TRACES`, down to `weight`. So one reason to trace outweighs any number of reasons to compile:

        x of another shape and dtype, y of another shape; down to `TRACES`            (3,)
        y on another device, x not on the host any more; down to `DISPATCHES`         (0, 1, 1)
        the same                                                                      (0, 0, 0)

    `changes(old, new, weight)` gives the changes that count.
    """
    counts = [0] * (TRACES + 1 - weight)
    for change in changes(old, new, weight):
        counts[TRACES - change.weight] += change.size
    return tuple(counts)


def changes(old: CallRecord, new: CallRecord, weight: int) -> list[Change]:
    """Return the differences between two calls, down to this weight."""
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
    """Yield the fields in which two sets of options differ; for nested options, their fields."""
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
    if before is None or now is None:
        leaves = len((before or now or _NOTHING).keys)
        yield Change("passing", name, before, now, 1 + _PARTS * leaves)
        return
    if (before.by_keyword, before.static is None) != (now.by_keyword, now.static is None):
        yield Change("passing", name, before, now)
    if before.static is None and now.static is None:
        yield from _changes_of_tree(name, before, now)
    elif before.static is None or now.static is None:
        return
    elif before.static.hash != now.static.hash or not safe_equal(before.static, now.static):
        yield Change("static", name, before.static, now.static)


def _changes_of_tree(name: str, before: Argument, now: Argument) -> Iterator[Change]:
    """Yield the differences between two trees, and between the leaves that both have."""
    assert before.tree is not None, "not static"
    assert now.tree is not None, "not static"
    if same_key(before.tree, now.tree):
        if before.keys != now.keys:
            yield from changed_leaves(zip(now.paths, before.keys, now.keys, strict=True))
        return
    was = dict(zip(before.paths, before.keys, strict=True))
    apart = was.keys() ^ set(now.paths)
    yield Change("tree", name, before.tree, now.tree, max(1, nodes_apart(before.tree, now.tree)) + _PARTS * len(apart))
    common = [(path, key) for path, key in zip(now.paths, now.keys, strict=True) if path in was]
    yield from changed_leaves((path, was[path], key) for path, key in common)


def changed_leaves(leaves: Iterable[tuple[str, Any, Any]]) -> Iterator[Change]:
    """Yield the differences between the leaves of two calls, from `(path, key before, key now)` of each.

    A key is an aval, or has one (`aval_of`); avals and keys are interned, but two `Placed` may be on equal places. For each
    leaf, report what costs most:

        key before             key now                kinds, and sizes above 1
        f32[2]                 f32[3]                 shape
        f32[2]                 i32[3]                 shape, of size 2: its dtype goes with it
        OnHost of f32[2]       f32[2]                 host
        OnHost of f32[2]       i32[2]                 dtype; host is not mentioned
        f32[2]                 Placed on c, f32[2]    device
        OnHost of f32[2]       Placed on c, f32[2]    device
        Placed on c, f32[2]    Placed on d, i32[2]    dtype, then device: two changes
        Placed on c, f32[2]    Placed on c, i32[2]    dtype: the device is the same

    `kinds_of_types` lists what differs between two types, in order: the first is the change's kind. `sharding_of` says
    where a key is placed; compare places with `==`. A Change has both keys, as they came, for `before` and `now`.
    """
    for path, before, now in leaves:
        if before is now:
            continue
        old, new = aval_of(before), aval_of(now)
        if old is not new:
            kinds = kinds_of_types(old, new)
            yield Change(kinds[0], path, before, now, len(kinds))
        if isinstance(before, Placed) or isinstance(now, Placed):
            if sharding_of(before) != sharding_of(now):
                yield Change("device", path, before, now)
        elif old is new:
            yield Change("host", path, before, now)


def of_python(key: Any) -> bool:
    """Return whether a leaf was a Python number."""
    return isinstance(key, OnHost) and key.of_python


def sharding_of(key: Any) -> Any:
    """Return the sharding to which a leaf is committed; None if there is none."""
    return key.sharding if isinstance(key, Placed) else None


def kinds_of_types(old: Any, new: Any) -> list[str]:
    """Return the differences between two unequal types: "shape", "dtype", "weak type", in this order."""
    kinds = ["shape"] if old.shape != new.shape else []
    if getattr(old, "dtype", None) != getattr(new, "dtype", None):
        kinds.append("dtype")
    if not kinds or is_weak(old) != is_weak(new):
        kinds.append("weak type")
    return kinds


def is_weak(aval: Any) -> bool:
    """Return whether an aval has a weak type."""
    return bool(getattr(aval, "weak_type", False))


def aval_of(key: Any) -> Any:
    """Return the aval in the key of a leaf."""
    return key if isinstance(key, (core.ShapedArray, core.AbstractToken)) else key.aval


# --- values of users' classes: their methods may raise, and what explains a call must not break it ----------


def safe_equal(old: Any, new: Any) -> bool:
    """Return whether two values are equal; False if comparing them raises."""
    try:
        return bool(old == new)
    except Exception:
        return False


def safe_repr(value: Any) -> str:
    """Return the `repr` of a value; if that raises, its type and the error's."""
    try:
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__}, whose __repr__ raises {type(error).__name__}>"
