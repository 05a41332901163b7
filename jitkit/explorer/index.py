"""a run -> one page for all functions that it called: calls, misses, the time of each stage, and every miss in order
with its reason

The most expensive function comes first. Functions that one line makes again and again, such as a lambda in a loop,
share a row. Each row has a link to the page of its function, and each miss a link to that call on it. The index has no
script and loads nothing.

JAX: jax/_src/dispatch.py:log_elapsed_time
"""

from __future__ import annotations

import functools
import itertools
import os
import pathlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple

from ..base.rich_display import escape
from ..base.whole_file import write_whole
from .bundle import is_page
from .calls import Call, as_data
from .model import FORMAT
from .real_jax import is_machinery

STAGES = ("trace", "lower", "compile", "run")
_MOST_WRAPPED = 20  # if a function has more wrappers than this, we assume that they form a cycle
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #586475; --line: #8886; --link: #0b5fc4;
  --trace: #0072b2; --lower: #a3507f; --compile: #b34e00; --error: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9f0; --soft: #9aa7b8; --link: #7db4ff;
  --trace: #3d8fc7; --lower: #b7719a; --compile: #c9722d; --error: #ff8a80; } }
body { font: 14px/1.45 system-ui, sans-serif; margin: 12px 16px; color: var(--ink); }
h1 { font: 600 17px/1.3 ui-monospace, monospace; margin: 0 0 4px; overflow-wrap: anywhere; } h2 { font-size: 14px; margin: 20px 0 6px; }
.error { color: var(--error); } p.error { font-weight: 600; }
p { margin: 2px 0; color: var(--soft); max-width: 90ch; } a { color: var(--link); }
.wide { overflow-x: auto; } table { border-collapse: collapse; }
th, td { text-align: left; padding: 3px 14px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.name, td.place { font-family: ui-monospace, monospace; font-size: 12.5px; } td.place { color: var(--soft); }
td.said { white-space: pre-wrap; min-width: 36ch; } tr.all td { font-weight: 650; border-bottom: 0; }
.track { display: flex; width: 180px; height: 10px; margin-top: 5px; } .track i, .legend i { display: block; height: 10px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; color: var(--soft); font-size: 12.5px; margin: 6px 0; }
.legend span { display: inline-flex; gap: 6px; align-items: center; } .legend i { width: 16px; }
@media (max-width: 700px) {
  .functions th, .functions td { padding-right: 9px; } .functions td.said { white-space: normal; min-width: 8ch; }
  .legend, .functions :is(.place, .trace-time, .lower-time, .run-time, .bar) { display: none; }
  .misses tr { display: flex; flex-wrap: wrap; border-bottom: 1px solid var(--line); } .misses td { border: 0; }
  .misses tr:first-child { display: none; }
  .misses td.said { flex: 1 0 100%; min-width: 0; overflow-wrap: anywhere; }
}
.trace { background: var(--trace); } .lower { background: var(--lower); } .compile { background: var(--compile); }
"""


class Function(NamedTuple):
    """A function of a run with all its calls, even if it was jitted several times. `place` is "file:line"; "" if it has
    no code in Python.
    """

    name: str
    place: str
    calls: list[Call]

    @property
    def misses(self) -> list[tuple[int, Call]]:
        """The function's calls that missed, each with its number among all of the function's calls."""
        return [(number, call) for number, call in enumerate(self.calls, 1) if call.miss is not None]

    @property
    def failed(self) -> list[tuple[int, Call]]:
        """The function's calls that ended with an error, each with its number among all of the function's calls."""
        return [(number, call) for number, call in enumerate(self.calls, 1) if call.error is not None]

    def seconds(self, *stages: str) -> float:
        """Return the sum of the seconds that its calls took in these stages."""
        return sum(took for call in self.calls for stage, took in call.stages if stage in stages)


def functions(calls: Iterable[Call], named: Mapping[int, str]) -> list[Function]:
    """Return the functions that were called, without the library's own, sorted by the time to trace, lower and compile,
    longest first.

    `named` maps the `id` of the object that `jit` keeps for a function to the function's name in the program; other
    functions have their own names.
    """
    calls = list(calls)
    names: dict[Any, set[str]] = {}  # jitted function -> its names: it may have two
    for call in calls:
        if id(call.jitted) in named:
            names.setdefault(_what(call.jitted), set()).add(named[id(call.jitted)])
    found: dict[Any, Function] = {}
    for call in calls:
        codes, what = _codes(call.jitted), _what(call.jitted)
        place = f"{codes[-1].co_filename}:{codes[-1].co_firstlineno}" if codes else ""
        if codes and is_machinery(codes[-1].co_filename):
            continue
        name = named.get(id(call.jitted)) or next(iter(names.get(what, ())), call.name)
        key = (what, name) if len(names.get(what, ())) > 1 else what
        found.setdefault(key, Function(name, place, [])).calls.append(call)
    return sorted(found.values(), key=lambda each: -each.seconds("trace", "lower", "compile"))


def _what(jitted: Any) -> Any:
    return _codes(jitted) or id(jitted)


def _codes(jitted: Any) -> tuple[CodeType, ...]:
    """Return the code objects of a function and of the functions that it wraps, the user's last. They tell `grad(loss)`
    from `loss`.
    """
    found: list[CodeType] = []
    fun = getattr(jitted, "fun", jitted)
    for _ in range(_MOST_WRAPPED):
        while isinstance(fun, functools.partial):
            fun = fun.func
        code = getattr(fun, "__code__", None)
        if isinstance(code, CodeType):
            found.append(code)
        fun = getattr(fun, "__wrapped__", None)
        if fun is None:
            break
    return tuple(found)


def page(
    script: str,
    rows: Sequence[tuple[Function, str | None, str]],
    made_with: str,
    more: int = 0,
    ended: str | None = None,
) -> str:
    """Return the HTML of an index.

    Args:
      script: what was run.
      rows: for each function: the function, the address of its page (None if it has none), and a remark about that page, such
        as an error.
      made_with: the versions of the packages, for the last line of the page.
      more: how many calls the recording left out.
      ended: the error that the script ended with, in a sentence.
    """
    everything = [function for function, _, _ in rows]
    title = f"{os.path.basename(script)}: what jit did"
    most = max([each.seconds(*STAGES[:3]) for each in everything] + [1e-9])
    left_out = f" {more} later calls are not counted." if more else ""
    legend = "".join(f'<span><i class="{stage}"></i>{stage}</span>' for stage in STAGES[:3])
    return (
        f'<!doctype html>\n<html lang="en" data-format="{FORMAT}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
        f"{_ended(ended)}<p>{_in_short(everything)}{left_out} A call from inside of another jitted function is a part of that one; the "
        "library's own functions, and operations outside of all jitted functions, are left out.</p>\n"
        f'<h2>Functions, the slowest first</h2>\n<div class="legend">{legend}</div>\n<div class="wide"><table class="functions">{_head()}'
        f"{''.join(_row(*row, most) for row in rows)}{_sum(everything)}</table></div>\n"
        f'<h2>Misses, in order</h2>\n<div class="wide"><table class="misses">'
        f'<tr><th></th><th>function</th><th>from</th><th class="number">took</th>'
        f"<th>why</th></tr>{_misses(rows)}</table></div>\n{_failures(rows)}<p>{escape(made_with)}</p>\n</body>\n</html>\n"
    )


def _ended(sentence: str | None) -> str:
    return "" if sentence is None else f'<p class="error">{escape(sentence)}. The calls before that are shown.</p>\n'


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def _in_short(rows: Sequence[Function]) -> str:
    calls, misses = sum(len(each.calls) for each in rows), sum(len(each.misses) for each in rows)
    failed = sum(len(each.failed) for each in rows)
    spent, ran = (sum(each.seconds(*stages) for each in rows) for stages in (STAGES[:3], STAGES[3:]))
    died = f", {failed} failed" if failed else ""
    return (
        f"{_count(len(rows), 'jitted function')}, {_count(calls, 'call')}, {misses} of them missed the cache{died}: {_time(spent)} for "
        f"tracing, lowering and compiling, {_time(ran)} for running."
    )


def _count(number: int, of: str) -> str:
    return f"{number} {of}{'' if number == 1 else 's'}"


def _head() -> str:
    left = '<th>function</th><th class="place">defined at</th>'
    numbers = "".join(f'<th class="number {name}-time">{name}</th>' for name in ("calls", "misses", *STAGES))
    return f'<tr>{left}{numbers}<th class="bar"></th><th>reasons</th></tr>'


def _row(function: Function, address: str | None, said: str, most: float) -> str:
    name = escape(function.name)
    linked = name if address is None else f'<a href="{escape(address)}">{name}</a>'
    made = len({id(call.jitted) for call in function.calls})
    reasons = Counter(call.miss.reason for _, call in function.misses if call.miss is not None)
    words = [f"{reason} ({count})" if count > 1 else reason for reason, count in reasons.most_common()]
    words += [f"jitted {made} times"] if made > 1 else []
    words += [f"{len(function.failed)} failed"] if function.failed else []
    words += [said] if said else []
    bars = "".join(
        f'<i class="{stage}" style="width:{100 * function.seconds(stage) / most:.2f}%"></i>' for stage in STAGES[:3]
    )
    return (
        f'<tr><td class="name">{linked}</td>{_place(function.place)}{_numbers([function])}'
        f'<td class="bar"><div class="track" aria-hidden="true">{bars}</div></td><td class="said">{escape("; ".join(words))}</td></tr>'
    )


def _place(place: str) -> str:
    return f'<td class="place" title="{escape(place)}">{escape(os.path.basename(place))}</td>'


def _sum(rows: Sequence[Function]) -> str:
    return f'<tr class="all"><td>all</td><td class="place"></td>{_numbers(rows)}<td class="bar"></td><td></td></tr>'


def _numbers(rows: Sequence[Function]) -> str:
    cells = {"calls": str(sum(len(each.calls) for each in rows)), "misses": str(sum(len(each.misses) for each in rows))}
    cells |= {stage: _time(sum(each.seconds(stage) for each in rows)) for stage in STAGES}
    return "".join(f'<td class="number {name}-time">{text}</td>' for name, text in cells.items())


def _misses(rows: Sequence[tuple[Function, str | None, str]]) -> str:
    found = []
    for function, address, _ in rows:
        entries = as_data(function.calls, "")["entries"]  # their sentences refer to calls by number
        found += [(call, function.name, address, entries[number - 1]) for number, call in function.misses]
    return "".join(
        f'<tr><td class="number">{place}</td><td class="name">{_to_call(name, address, entry["number"])}</td>'
        f"{_place(call.at)}"
        f'<td class="number">{_time(sum(took for stage, took in call.stages if stage != "run"))}</td>'
        f'<td class="said">{_said(entry["sentences"])}</td></tr>'
        for place, (call, name, address, entry) in enumerate(sorted(found, key=lambda each: each[0].start), 1)
    )


def _failures(rows: Sequence[tuple[Function, str | None, str]]) -> str:
    """Return the table of calls that ended with an error; "" if there are none."""
    found = [
        (call, function.name, address, number) for function, address, _ in rows for number, call in function.failed
    ]
    if not found:
        return ""
    cells = "".join(
        f'<tr><td class="number">{place}</td><td class="name">{_to_call(name, address, number)}</td>{_place(call.at)}'
        f'<td class="said error">{escape(call.error or "")}</td></tr>'
        for place, (call, name, address, number) in enumerate(sorted(found, key=lambda each: each[0].start), 1)
    )
    head = "<tr><th></th><th>function</th><th>from</th><th>error</th></tr>"
    return f'<h2>Failed calls, in order</h2>\n<div class="wide"><table class="misses">{head}{cells}</table></div>\n'


def _said(sentences: Sequence[str]) -> str:
    """Return lines as HTML. Where a line wraps, its indentation is kept."""
    lines = [line for each in sentences for line in each.split("\n")]
    depths = [len(line) - len(line.lstrip()) for line in lines]
    return "".join(
        f'<div style="margin-left:{depth}ch">{escape(line.lstrip())}</div>'
        for line, depth in zip(lines, depths, strict=True)
    )


def _to_call(name: str, address: str | None, number: int) -> str:
    text = escape(f"{name} #{number}")
    return text if address is None else f'<a href="{escape(address)}#call={number}">{text}</a>'


def write(folder: pathlib.Path, html: str) -> pathlib.Path:
    """Write the index into a folder; return its path. Raise FileExistsError if the folder has an `index.html` that is
    not a page of the Explorer.
    """
    where = folder / "index.html"
    if where.is_file() and not is_page(where.read_text(encoding="utf-8", errors="replace"), FORMAT):
        raise FileExistsError(f"{where} exists and is not a page of the Explorer, so it was not overwritten.")
    write_whole(where, html.encode())
    return where


def addresses(rows: Sequence[Function], file_name: Callable[[str], str]) -> list[str]:
    """Return a file name for the page of each function. None is `index.html`, and all differ by more than case."""
    used = {"index"}
    found = []
    for function in rows:
        stem = file_name(function.name)
        numbered = (stem if i == 1 else f"{stem}-{i}" for i in itertools.count(1))
        free = next(name for name in numbered if name.lower() not in used)
        used.add(free.lower())
        found.append(f"{free}.html")
    return found
