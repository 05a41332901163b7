"""Explains why a call missed the cache, as data and as sentences.

`jitkit.explain(f)` reports on one function, `jitkit.explain()` on the latest misses of all functions. With the option
`explain_cache_misses` each miss is logged when it happens.

The words are made at the miss, since text does not keep arrays or functions alive. That costs about 100 us; tracing and
compiling have cost milliseconds. A hit does not run this module.

JAX: jax/_src/interpreters/partial_eval.py:explain
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base import config, late_rooms, source_info
from ..base.rich_display import RichDisplay, escape
from ..base.stage_log import logger
from ..core import current_trace
from .origin import UNKNOWN, count_another, made_again, made_in_loop, origin_of
from .record import COMPILES, DISPATCHES, SEARCHED, TRACES, CallRecord, closest

if TYPE_CHECKING:  # imported only when two calls differ
    from .differences import Difference

_KEPT_PER_FUNCTION = 256  # at most this many misses are kept for a function
_KEPT = 512  # at most this many misses are kept for all functions together
_SHOWN = 12  # at most this many differences are kept for a miss
_SIGNATURES = 8192  # at most this many fingerprints are kept, to recognise evicted signatures


class Miss(NamedTuple):
    """One call that found nothing in the cache.

    `number` counts the misses of the function; `function` is its name and place; `call_site` is "file:line (function)".
    `traced` and `compiled` say what the call did, and `seconds` how long it took until its program was ready to run.
    `reason` is one of

        first call      the function had not been called
        new function    the function had not been called, but the same source has made others: a lambda in a loop
        new signature   `differences` compare it with the closest signature in the cache, from the miss `closest`
        traced before   it had been traced, not compiled: by `trace` or `lower`, or inside another function
        evicted         its entry was the least recently used one of a full table
        cleared         `clear_cache` or `clear_caches` was called
        other closure   the function was traced when it closed over values of an outer trace that has ended

    and `sentence` says it in words. `closest` is the number of the miss that `sentence` names, if any. At most 12
    differences are kept; `more` is the number of the others.
    """

    number: int
    function: str
    call_site: str
    traced: bool
    compiled: bool
    seconds: float
    reason: str
    sentence: str
    closest: int | None = None
    differences: tuple[Difference, ...] = ()
    more: int = 0
    inside: str = ""  # the transformations around the call, from the inside out: "vmap over 3 elements, jvp"

    @property
    def happened(self) -> str:
        """The work of `jit` for this miss, in words: traced, compiled, both or neither."""
        if self.traced:
            if self.inside and not self.compiled:
                return f"traced under {self.inside}"
            return "traced and compiled" if self.compiled else "traced only"
        return "compiled only" if self.compiled else "neither traced nor compiled, only a new dispatch entry"

    def lines(self) -> list[str]:
        """Return the reason line by line: a sentence, then the differences, each followed by its advice."""
        lines = [self.sentence]
        for difference in self.differences:
            lines.append(f"  {difference.sentence}")
            if difference.advice:
                lines.append(f"    {difference.advice}")
        return [*lines, f"  and {self.more} more"] if self.more else lines

    def as_dict(self) -> dict[str, Any]:
        """Return the miss as plain data: numbers, strings, lists and dicts."""
        return {**self._asdict(), "differences": [difference._asdict() for difference in self.differences]}


def _transformations() -> str:
    """Return the transformations around the running function, from the inside out; usually ""."""
    trace = current_trace()
    if trace is None:
        return ""
    return ", ".join(words for each in (trace, *trace.ancestors()) if (words := each.in_words()))


class MissLog:
    """The misses of one function: their number, and the latest of them, with times and reasons."""

    __slots__ = ("_cleared_at", "_count", "_lock", "_made_in_loop", "_misses", "_origin", "_seen", "_times_made")

    def __init__(self) -> None:
        self._made_in_loop = False  # whether `jit` was called in a loop
        self._misses: deque[Miss] = deque(maxlen=_KEPT_PER_FUNCTION)
        # (fingerprint, whether the miss left a cache entry: `trace` and `lower` leave none) -> the number of the miss
        self._seen: OrderedDict[tuple[int, bool], int] = OrderedDict()
        self._count = 0
        self._cleared_at = 0
        self._origin = UNKNOWN
        self._times_made = 1
        self._lock = threading.Lock()

    def note_making(self, fun: Callable[..., Any]) -> None:
        """Note whether the user's running code, which calls `jit` on the function, is in a loop."""
        self._made_in_loop = made_in_loop(fun)

    def misses(self) -> tuple[int, list[Miss]]:
        """Return the number of misses, and the latest of them in order."""
        with self._lock:
            return self._count, sorted(self._misses)

    def cleared(self) -> None:
        """Note that everything cached for the function was cleared."""
        with self._lock:
            self._cleared_at = self._count

    def forget(self) -> None:
        """Forget all misses. `origin.forget_counts` forgets how many functions the same source has made."""
        with self._lock:
            self._misses.clear()
            self._seen.clear()
            self._count = self._cleared_at = 0

    def add(
        self,
        fun: Callable[..., Any],
        record: CallRecord,
        known: Sequence[CallRecord],
        *,
        traced: bool,
        compiled: bool,
        seconds: float,
    ) -> CallRecord:
        """Add a miss, call the `listeners`, and return `record`, the new signature, with its number.

        Args:
          known: the cached signatures, the oldest first.
          traced, compiled: whether the call traced the function, and compiled it.
          seconds: how long this took.
        """
        weight = TRACES if traced else COMPILES if compiled else DISPATCHES
        call_site = _call_site()
        with self._lock:
            self._count += 1
            # Without compiling, this was `trace`, `lower`, or a call inside another function.
            record = record._replace(number=self._count, has_entry=compiled or not traced)
            if self._count == 1:
                self._origin = origin_of(fun)
                self._times_made = count_another(self._origin)
        story = self._story(fun, record, known, weight, self._remember(record))
        origin = self._origin
        inside = _transformations()
        miss = Miss(record.number, origin.function, call_site, traced, compiled, seconds, *story, inside=inside)
        with self._lock:
            self._misses.append(miss)
        if not origin.is_ours:
            _all_misses.append(miss)
            for listener in listeners:
                listener(fun, miss, record)
            if config.value("explain_cache_misses"):
                logger().warning("%s", _log_text(miss))
        return record

    def _remember(self, record: CallRecord) -> int | None:
        """Remember a signature; return the number of the miss that cached it before, if any."""
        fingerprint = record.fingerprint()
        with self._lock:
            before = self._seen.get((fingerprint, True))
            if before is None and not record.has_entry:
                before = self._seen.get((fingerprint, False))
            self._seen[fingerprint, record.has_entry] = record.number
            self._seen.move_to_end((fingerprint, record.has_entry))
            if len(self._seen) > _SIGNATURES:
                self._seen.popitem(last=False)
        return before

    def _story(
        self, fun: Callable[..., Any], record: CallRecord, known: Sequence[CallRecord], weight: int, before: int | None
    ) -> _Story:
        """Return the reason of a miss. `weight` is the work of the call: `TRACES`, `COMPILES` or `DISPATCHES`. `before`
        is the number of the miss that cached the same signature, if any.
        """
        origin = self._origin
        if record.number == 1 and self._times_made > 1:
            again = made_again(origin, self._times_made, self._made_in_loop)
            return _Story("new function", f"{origin.name} is new to jit. {again}")
        candidates = known if weight == TRACES else [other for other in known if other.has_entry]
        nearest, counts = closest(candidates, record, weight)
        if weight < TRACES and (nearest is None or counts[0]):  # the trace is cached, but no compiled entry has it
            traced, different = closest(known, record, TRACES)
            if traced is not None and not any(different):
                then = "is compiled now" if weight == COMPILES else "its program is compiled already"
                return _Story("traced before", f"It was traced in #{traced.number}, and {then}.", traced.number)
        is_known = nearest is not None and not any(counts)
        if nearest is not None and is_known and weight == TRACES:
            return _Story("other closure", _OTHER_CLOSURE.format(nearest.number), nearest.number)
        if nearest is not None and is_known and before is None:
            before = nearest.number
        if before is not None and before <= self._cleared_at:
            return _Story("cleared", _CLEARED.format(before), before)
        if before is not None:
            size = config.value("jit_cache_size")
            kept = "only the signature used last is kept" if size <= 1 else _KEPT_SIGNATURES.format(size)
            return _Story("evicted", f"It was cached in #{before}, and dropped since: {kept} (jit_cache_size).", before)
        if nearest is None and self._cleared_at:
            return _Story("cleared", _FIRST_SINCE)
        if nearest is None:
            return _Story("first call", f"The first call of {origin.name}.")
        differences = late_rooms.import_room(".differences", __package__).differences
        found, more = differences(nearest, record, weight, known, _SHOWN, fun)
        among = f"of the latest {SEARCHED} " if len(candidates) > SEARCHED else ""
        sentence = _NEW_SIGNATURE.format(among, nearest.number)
        return _Story("new signature", sentence, nearest.number, tuple(found), more)


class _Story(NamedTuple):
    reason: str
    sentence: str
    closest: int | None = None
    differences: tuple[Difference, ...] = ()
    more: int = 0


_NEW_SIGNATURE = "A new signature. Against the closest {}in the cache, that of #{}:"
_OTHER_CLOSURE = (
    "It was traced for this signature in #{}, but closes over values of an outer trace that has ended. Pass "
    "them as arguments to share the trace."
)
_CLEARED = "It was cached in #{}, and cleared by clear_cache() or clear_caches()."
_FIRST_SINCE = "The first call since clear_cache() or clear_caches()."
_KEPT_SIGNATURES = "only the {} signatures used last are kept"

_all_misses: deque[Miss] = deque(maxlen=_KEPT)
# Called at each miss of a user's function with the function, the miss, and the signature of the call.
listeners: list[Callable[[Callable[..., Any], Miss, CallRecord], None]] = []


def _call_site() -> str:
    """Return the running line of the user's code, as JAX writes it: "file:line (function)"."""
    return source_info.summarize(source_info.current())


def _log_text(miss: Miss) -> str:
    """Return the log message of a miss. The first line is JAX's."""
    stage = "TRACING" if miss.traced else "COMPILATION" if miss.compiled else "DISPATCH"
    lines = [f"{miss.function}: {miss.happened}, {milliseconds(miss.seconds)} (#{miss.number})", *miss.lines()]
    return "\n  ".join([f"{stage} CACHE MISS at {miss.call_site}:", *lines])


def milliseconds(seconds: float) -> str:
    """Return a time as reports show it."""
    return f"{seconds * 1000:.1f} ms"


_NOTHING_TO_MEND = (
    "A difference without an edit below it needs a program of its own, which is compiled once, and found again at "
    "the next such call."
)


# --- for users ----------------------------------------------------------------------------------------------


class Explanation(RichDisplay):
    """Misses and their reasons: prints as text, and is a table in notebooks. `misses` has the data, and `as_dicts()`
    returns them as dicts.
    """

    def __init__(self, title: str, misses: Sequence[Miss], of_one_function: bool) -> None:
        self.title = title
        self.misses = tuple(misses)
        self._of_one_function = of_one_function

    def __len__(self) -> int:
        return len(self.misses)

    def __iter__(self) -> Iterator[Miss]:
        return iter(self.misses)

    def __str__(self) -> str:
        parts = [self.title]
        for miss in self.misses:
            function = "" if self._of_one_function else f"{miss.function}, called at "
            head = f"#{miss.number} {function}{miss.call_site}: {miss.happened}, {milliseconds(miss.seconds)}"
            parts.append("\n    ".join([head, *miss.lines()]))
        if any(not difference.advice for miss in self.misses for difference in miss.differences):
            parts.append(_NOTHING_TO_MEND)
        return "\n\n".join(parts)

    __repr__ = __str__

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return a dict of plain data per miss."""
        return [miss.as_dict() for miss in self.misses]

    def _functions(self, cell: str) -> tuple[str, ...]:
        """Return the table cell with the function's name; empty in a report on one function."""
        return () if self._of_one_function else (cell,)

    def _repr_html_(self) -> str:
        rows = [("miss", *self._functions("function"), "call", "what happened", "time", "why")]
        for miss in self.misses:
            time, why = milliseconds(miss.seconds), "\n".join(miss.lines())
            function = self._functions(miss.function)
            rows.append((f"#{miss.number}", *function, miss.call_site, miss.happened, time, why))
        cell = "<td style='text-align: left; white-space: pre-wrap; {}'>{}</td>"
        breaks = (
            "min-width: 6em; overflow-wrap: anywhere"  # a path has no spaces, and would leave no room for the reason
        )
        looks = ["", *self._functions(breaks), breaks, "", "white-space: nowrap", "min-width: 16em"]
        table = "".join(f"<tr>{''.join(map(cell.format, looks, map(escape, row)))}</tr>" for row in rows)
        has_all = all(difference.advice for miss in self.misses for difference in miss.differences)
        below = "" if has_all else f"<p>{escape(_NOTHING_TO_MEND)}</p>"
        return f"<p>{escape(self.title)}</p><table>{table}</table>{below}"


def explain(fun: Callable[..., Any] | None = None) -> Explanation:
    """Explain why calls were traced and compiled instead of finding their program in the cache.

    Args:
      fun: a function made by `jit`, or a wrapper or partial around one; without it, the latest misses of all functions
        that users have written.

    Returns:
      An `Explanation`: print it, or take its `misses` (see `Miss`), in order of time. The latest 256 misses of each
      function are kept, and the latest 512 of all functions.

    Raises:
      TypeError: if `fun` was not made by `jit`.
    """
    if fun is None:
        misses = list(_all_misses)
        title = f"The latest cache misses of all functions: {_summary(len(misses), misses)}"
        return Explanation(title, misses, of_one_function=False)
    inner: Any = fun
    while not hasattr(inner, "_jitted") and (hasattr(inner, "__wrapped__") or isinstance(inner, functools.partial)):
        inner = inner.func if isinstance(inner, functools.partial) else inner.__wrapped__
    jitted: Any = getattr(inner, "_jitted", None)
    if jitted is None:
        raise TypeError(
            f"explain takes a function made by jit, got {fun}.\n"
            "Pass what `jit` has returned: `f = jit(f)`, then `explain(f)`."
        )
    count, misses = jitted.cache.misses.misses()
    return Explanation(f"{origin_of(jitted.fun).function}: {_summary(count, misses)}", misses, of_one_function=True)


def _summary(count: int, misses: Sequence[Miss]) -> str:
    if not count:
        return "no call has missed the cache yet"
    traced, compiled = sum(miss.traced for miss in misses), sum(miss.compiled for miss in misses)
    total = milliseconds(sum(miss.seconds for miss in misses))
    latest = f", of which the latest {len(misses)} are" if count > len(misses) else ","
    misses_in_words = "1 miss" if count == 1 else f"{count} misses"
    return f"{misses_in_words}{latest} {traced} traced, {compiled} compiled, {total} in all"


def explain_cache_misses(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context that logs each cache miss with its reason; with False, none. The environment variable
    `JITKIT_EXPLAIN_CACHE_MISSES=1` turns this on everywhere.
    """
    return config.override(explain_cache_misses=new_val)
