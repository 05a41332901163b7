"""a run -> its calls: how long each stage took, hit or miss, and for a miss the reason and the jaxpr

A cache miss leaves a record (`misses`). A hit does not, because it is the fast path. So while a run is recorded,
Python's profiler hook notes when `jit`'s dispatcher is entered and left, in this thread. The recorder then waits for
the result, to measure the computation, not only its dispatch.

Without a recording, a function's cache still knows the calls that missed.

JAX: jax/_src/dispatch.py:log_elapsed_time
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple, Protocol

from ..base import config, stage_log, traceback_util
from ..misses.differences import Difference
from ..misses.edits import with_edits
from ..misses.record import CallRecord
from ..pjit.compilation_cache import FunctionCache
from ..pjit.function import is_jitted
from ..pjit.jitted import Jitted
from ..runtime.array import Array
from ..tree_util import tree_leaves
from .listing import shortened

MOST_CALLS = 2000
_AT = re.compile(r"(.+):(\d+)(?: \(.*\))?$")
_MISS = re.compile(r"#(\d+)")
_ON_ONE_LINE = re.compile(r"(\{ lambda .*?\. let) (.*) (in .*)")
_STAGES = {"tracing": "trace", "lowering": "lower", "compilation": "compile", "disk cache hit": "compile"}
_DISPATCH = next(
    each
    for each in Jitted.make_dispatcher.__code__.co_consts
    if isinstance(each, CodeType) and each.co_name == "dispatch"
)
_FAILS = traceback_util.filter_traceback.__code__  # the dispatcher calls this with each error that leaves it


class Missed(Protocol):
    """What is known about a call that missed: a `Miss` of ours, or JAX's explanation."""

    @property
    def number(self) -> int:
        """This miss's number among the function's misses."""

    @property
    def reason(self) -> str:
        """The kind of reason, such as "first call" or "new signature"."""

    @property
    def closest(self) -> int | None:
        """The number of the earlier miss with which this one is compared; None if that is not known."""

    @property
    def happened(self) -> str:
        """What `jit` did for the call, in words."""

    @property
    def differences(self) -> Sequence[Difference]:
        """The differences between this call and the earlier miss; empty if they are known in words only."""

    def lines(self) -> list[str]:
        """Return the sentences that explain the miss."""


class Call(NamedTuple):
    """One call of a jitted function, from outside of any trace. `jitted` is the object that jitkit or JAX keeps for the
    function.
    """

    jitted: Any
    name: str  # the function's
    file: str  # the file of its source, or ""
    at: str  # the line that called it, "file:line"
    start: float  # by `time.perf_counter`
    stages: list[tuple[str, float]]  # each stage of the call with its seconds, in order
    miss: Missed | None  # None for a hit, and for a call that failed before it was counted
    jaxpr: list[str] | None  # for a miss, the lines of its jaxpr, if known
    arguments: tuple[tuple[Any, ...], dict[str, Any]] | None  # kept for a miss or a call that failed; else None
    error: str | None = None  # the error that ended the call: its type and the first line of its message

    @property
    def function(self) -> Callable[..., Any]:
        """The function that was called."""
        made: Callable[..., Any] = self.jitted.make_dispatcher() if isinstance(self.jitted, Jitted) else self.jitted
        return made


class Recording:
    """Holds the calls of a block, in order: `calls` has at most `MOST_CALLS`; `more` counts those left out."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.more = 0

    def note(self, call: Call) -> None:
        """Add a call, or count it as left out."""
        if len(self.calls) >= MOST_CALLS:
            self.more += 1
        else:
            self.calls.append(call)

    def of(self, name: str, file: str | None = None) -> list[Call]:
        """Return the calls of the functions with this name; if `file` is not None, only of those in it."""
        return [call for call in self.calls if call.name == name and (file is None or call.file == file)]


def file_of(fun: Callable[..., Any]) -> str:
    """Return the file of a function's source; "" if it has no code in Python."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    code = getattr(fun, "__code__", None)
    return code.co_filename if code else ""


@contextlib.contextmanager
def recording() -> Iterator[Recording]:
    """Record the calls of jitted functions that this thread makes in the block."""
    found = Recording()
    before = sys.getprofile()
    open_: dict[int, tuple[float, int, int, str, Any]] = {}
    errors: dict[int, str] = {}

    with stage_log.listen() as events:

        def hook(frame: FrameType, event: str, result: Any) -> None:
            if frame.f_code is _FAILS and event == "call" and id(frame.f_back) in open_:
                errors[id(frame.f_back)] = in_a_line(frame.f_locals["error"])
            if frame.f_code is not _DISPATCH:
                return
            if event == "call" and config.local.state.key is not None:
                inside = frame.f_locals
                jitted = inside["self"]
                caller = frame.f_back
                at = f"{caller.f_code.co_filename}:{caller.f_lineno}" if caller else ""
                arguments = inside["args"], inside["kwargs"]
                open_[id(frame)] = time.perf_counter(), len(events), jitted.cache.misses.misses()[0], at, arguments
            elif event == "return" and id(frame) in open_:
                start, first, count, at, arguments = open_.pop(id(frame))
                jitted, error = frame.f_locals["self"], errors.pop(id(frame), None)
                _wait(result)
                seconds = time.perf_counter() - start
                found.note(_call(jitted, at, start, seconds, events[first:], count, arguments, error))

        sys.setprofile(hook)
        try:
            yield found
        finally:
            sys.setprofile(before)


def in_a_line(error: BaseException) -> str:
    """Return an error's type and the first line of its message."""
    first = next(iter(str(error).splitlines()), "").rstrip(".")
    return shortened(f"{type(error).__name__}: {first}" if first else type(error).__name__)


def _wait(result: Any) -> None:
    for leaf in tree_leaves(result) if result is not None else ():
        if isinstance(leaf, Array):
            with contextlib.suppress(Exception):  # errors of the program belong to the program
                leaf.block_until_ready()


def _call(
    jitted: Jitted,
    at: str,
    start: float,
    seconds: float,
    events: list[stage_log.Event],
    count: int,
    arguments: Any,
    error: str | None,
) -> Call:
    now, misses = jitted.cache.misses.misses()
    miss = next((each for each in reversed(misses) if each.number > count), None) if now > count else None
    stages: dict[str, float] = {}
    if miss is not None or error is not None:
        for event in events:
            stage = _STAGES.get(event.stage)
            if stage and (event.function == jitted.name or event.stage == "disk cache hit"):
                stages[stage] = stages.get(stage, 0.0) + event.seconds
    rest = max(seconds - sum(stages.values()), 0.0)
    ordered = [(name, stages[name]) for name in ("trace", "lower", "compile") if name in stages]
    return Call(
        jitted, jitted.name, file_of(jitted.fun), at, start, [*ordered, ("failed" if error else "run", rest)], miss,
        _jaxpr_of(jitted.cache, miss.number) if miss else None, arguments if miss or error else None, error,
    )  # fmt: skip


def _jaxpr_of(cache: FunctionCache, number: int) -> list[str] | None:
    """Return the lines of the jaxpr that a miss traced, or found in the cache of traces; None if that cache does not
    hold it.
    """
    for key, record in cache.records.items():
        if record.number == number and key in cache.traces:
            return lines_of(str(cache.traces[key].jaxpr))
    alike = next(
        (each for table in cache.tables.values() for each in table.records.values() if each.number == number), None
    )
    if alike is not None:
        for key, record in cache.records.items():
            if _traced_alike(record, alike) and key in cache.traces:
                return lines_of(str(cache.traces[key].jaxpr))
    return None


def lines_of(jaxpr: str) -> list[str]:
    """Return the lines of a jaxpr's text, one line for each equation. (A short jaxpr is printed on one line, which
    would leave nothing to compare.)
    """
    lines = jaxpr.splitlines()
    found = _ON_ONE_LINE.fullmatch(lines[0]) if len(lines) == 1 else None
    if not found or not found[2].strip():
        return lines
    return [found[1], *(f"    {equation}" for equation in _apart(found[2])), f"  {found[3]}"]


def _apart(equations: str) -> list[str]:
    """Return the equations of a line. An equation inside the brackets of another one stays in it."""
    found, depth = [""], 0
    for character in equations:
        depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(character, 0)
        if character == ";" and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [each.strip() for each in found]


def _traced_alike(one: CallRecord, other: CallRecord) -> bool:
    """Return whether two signatures look alike to tracing: their arguments have the same names, trees and avals, and
    their static values the same types and hashes.
    """

    def traced(record: CallRecord) -> list[Any]:
        statics = [None if a.static is None else (type(a.static.value), a.static.hash) for a in record.arguments]
        avals = [(a.name, a.tree, [getattr(k, "aval", k) for k in a.keys]) for a in record.arguments]
        return [statics, avals]

    return traced(one) == traced(other)


# --- as data --------------------------------------------------------------------------------------------------


def as_data(calls: list[Call], how: str, ended: str | None = None) -> dict[str, Any]:
    """Return calls as plain data, as `docs/explorer.md` describes them. `how` says which calls they are; `ended` is the
    error that ended the run, if any.
    """
    jaxprs: list[list[str]] = []
    entries = []
    at_miss: dict[tuple[int, int], int] = {}  # (cache, number of the miss) -> number of the call
    last: int | None = None
    begin = calls[0].start if calls else 0.0
    for number, call in enumerate(calls, 1):
        entry: dict[str, Any] = {
            "number": number,
            "at": call.at,
            "source": _source_of(call.at),
            "start": call.start - begin,
            "stages": [[name, seconds] for name, seconds in call.stages],
            "hit": call.miss is None and call.error is None,
            "error": call.error,
        }
        if call.miss is not None:
            own = id(getattr(call.jitted, "cache", call.jitted))
            numbers = {miss: at for (cache, miss), at in at_miss.items() if cache == own}
            versus = at_miss.get((own, call.miss.closest or 0)) or last
            entry |= _of_miss(call.miss, call.jaxpr, jaxprs, versus, numbers)
            at_miss[own, call.miss.number] = number
            last = number
        entries.append(entry)
    return {"how": how, "ended": ended, "entries": entries, "jaxprs": jaxprs}


def _source_of(at: str) -> str:
    """Return the line of Python that made a call; "" if there is no source."""
    where = _AT.match(at)
    return shortened(linecache.getline(where[1], int(where[2])).strip()) if where else ""


def _of_miss(
    miss: Missed, jaxpr: list[str] | None, jaxprs: list[list[str]], versus: int | None, numbers: dict[int, int]
) -> dict[str, Any]:
    """Return the page's data about a miss. The miss's sentences number misses, but the page numbers calls: `numbers`
    translates.
    """
    index = None
    if jaxpr is not None:
        if jaxpr not in jaxprs:
            jaxprs.append(jaxpr)
        index = jaxprs.index(jaxpr)
    return {
        "what": miss.happened,
        "reason": miss.reason,
        "sentences": [
            _MISS.sub(lambda m: f"call #{numbers[int(m[1])]}" if int(m[1]) in numbers else m[0], line)
            for line in with_edits(miss.lines(), miss.differences)
        ],
        "jaxpr": index,
        "versus": None if miss.reason == "first call" else versus,
    }


def seen_by(function: Callable[..., Any]) -> dict[str, Any] | None:
    """Return the calls of a jitted function that missed so far, as plain data; None if there are none, or it is not jitted."""
    inner: Any = function
    while isinstance(inner, functools.partial) and not is_jitted(inner):
        inner = inner.func
    if not is_jitted(inner):
        return None
    jitted: Jitted = inner._jitted
    _, misses = jitted.cache.misses.misses()
    called = [miss for miss in misses if miss.compiled or not miss.traced]
    found = [
        Call(jitted, jitted.name, "", miss.call_site, 0.0,
             [("trace, lower, compile" if miss.traced else "compile", miss.seconds)], miss,
             _jaxpr_of(jitted.cache, miss.number), None)
        for miss in called
    ]  # fmt: skip
    if not found:
        return None
    return as_data(found, "those that missed the cache; hits leave no trace")
