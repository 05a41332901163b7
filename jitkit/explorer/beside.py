"""two pages of the Explorer -> one: the differences in figures, the two jaxprs, and both pages side by side

Compares two versions of a function, or two functions that should do the same. The result is one HTML file that opens
from disk, with each page in its own frame.

JAX: jax/_src/stages.py:Lowered.as_text
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..base.rich_display import escape
from .costs import amount
from .model import FORMAT

_VARIABLE = re.compile(r"(?<![\w=.])(?!let\b|in\b)(?:[a-z]{1,3}|_)(?=[:\s,)]|$)")
# sets the theme that `#theme=dark` or `#theme=light` in the address asks for, here and in both pages
_THEME = """
const theme = new URLSearchParams(location.hash.slice(1)).get("theme");
if (theme === "light" || theme === "dark") {
  document.documentElement.dataset.theme = theme;
  for (const frame of document.querySelectorAll("iframe")) {
    const made = frame.cloneNode();
    made.srcdoc = frame.srcdoc.replace("<html ", `<html data-theme="${theme}" `);
    frame.replaceWith(made);
  }
}
"""
_AROUND = 3  # equal lines that are shown around a difference
_STYLE = """
:root { color-scheme: light dark; --line: #8886; --del: #ffdcd6; --add: #d3f2dc; }
@media (prefers-color-scheme: dark) { :root { --del: #50211c; --add: #123d25; } }
:root[data-theme="light"] { color-scheme: light; --del: #ffdcd6; --add: #d3f2dc; }
:root[data-theme="dark"] { color-scheme: dark; --del: #50211c; --add: #123d25; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 12px 16px; }
h1 { font: 600 17px/1.3 ui-monospace, monospace; margin: 0 0 8px; overflow-wrap: anywhere; } h2 { font-size: 14px; margin: 16px 0 6px; }
table { border-collapse: collapse; } th, td { text-align: left; padding: 2px 12px 2px 0; border-bottom: 1px solid var(--line); }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } .diff { width: 100%; table-layout: fixed; }
.diff td { font: 12px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; vertical-align: top; padding: 0 8px; }
.diff .was { background: var(--del); } .diff .is { background: var(--add); } .diff .skip { text-align: center; opacity: .75; }
.frames { display: grid; gap: 8px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 560px), 1fr)); }
iframe { width: 100%; height: 90vh; border: 1px solid var(--line); border-radius: 8px; }
"""


def page(one: Mapping[str, Any], other: Mapping[str, Any], htmls: Sequence[str]) -> str:
    """Return the HTML of both pages side by side: `one` and `other` are the data of the pages, `htmls` their HTML."""
    title = f"{one['function']} against {other['function']}"
    frames = "".join(
        f'<iframe srcdoc="{escape(html)}" sandbox="allow-scripts" title="{escape(data["function"])}"></iframe>'
        for data, html in zip((one, other), htmls, strict=True)
    )
    return (
        f'<!doctype html>\n<html lang="en" data-format="{FORMAT}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n'
        f"</head>\n<body>\n<h1>{escape(title)}</h1>\n{_figures(one, other)}\n<h2>The jaxprs</h2>\n{_jaxprs(one, other)}\n"
        f'<h2>Both pages</h2>\n<div class="frames">{frames}</div>\n<script>{_THEME}</script>\n</body>\n</html>\n'
    )


def figures(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, str, int, int]]:
    """Return the figures that both pages have, as `(target, name of the figure, number of one page, number of the
    other)`. The target is "" if a figure is the same for all.
    """
    found = [("", "equations", len(one["equations"]), len(other["equations"]))]
    others = {target["name"]: target for target in other["targets"]}
    for target in one["targets"]:
        against = others.get(target["name"], {"error": "not asked for"})
        if "error" in target or "error" in against:
            continue
        counts = (target["by_line"], against["by_line"])
        found.append((target["name"], "kernels", *(each["kernels"] for each in counts)))
        for what in ("flops", "bytes"):
            runs = [each[f"run_{what}"] for each in counts]
            if None not in runs:  # counted over all turns of loops
                found.append((target["name"], what, *runs))
            else:
                found.append((target["name"], f"{what} of one turn", *(each[what] for each in counts)))
    return found


def _figures(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    rows = [
        f"<tr><td>{escape(where)}</td><td>{what}</td><td class=number>{amount(before)}</td><td class=number>{amount(now)}</td>"
        f"<td>{_change(before, now)}</td></tr>"
        for where, what, before, now in figures(one, other)
    ]
    names = "".join(f"<th>{escape(data['function'])}</th>" for data in (one, other))
    return f'<div class="wide"><table><tr><th></th><th></th>{names}<th></th></tr>{"".join(rows)}</table></div>'


def _change(before: int, now: int) -> str:
    if before == now:
        return "the same"
    return f"{now / before:.2f} times" if before else f"{amount(now)} more"


def _jaxprs(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    before, now = (data["jaxpr"]["lines"] for data in (one, other))
    if before == now:
        return "<p>They are the same, line by line.</p>"
    rows = list(_rows(before, now))
    if not any('class="was"' in row or 'class="is"' in row for row in rows):
        return "<p>They are the same, but for the names of variables.</p>"
    names = "".join(f"<th>{escape(data['function'])}</th>" for data in (one, other))
    return f'<table class="diff"><tr>{names}</tr>{"".join(rows)}</table>'


def _rows(before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    """Yield the rows of an HTML table that shows both texts side by side. Long runs of equal lines show only their
    ends.

    An additional equation renames all variables below it. So lines are compared without names; if they are equal, each
    name must also stand for the same variable as before.
    """
    names: dict[str, str] = {}
    first, second = ([_VARIABLE.sub("_", line).rstrip() for line in lines] for lines in (before, now))
    for tag, i, end_i, j, end_j in difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs = list(zip(before[i:end_i], now[j:end_j], strict=True))
            same = [_is_renamed(was, has, names) for was, has in pairs]
            for start, is_same, end in _blocks(same):
                few = not is_same or end - start <= 2 * _AROUND + 1
                shown = range(start, end) if few else [*range(start, start + _AROUND), *range(end - _AROUND, end)]
                for place in shown:
                    one, other = pairs[place]
                    yield f"<tr>{_cell(one, '' if is_same else 'was')}{_cell(other, '' if is_same else 'is')}</tr>"
                    if not few and place == start + _AROUND - 1:
                        left = end - start - 2 * _AROUND
                        yield f'<tr><td class="skip" colspan="2">{left} lines that are the same</td></tr>'
        else:
            for place in range(max(end_i - i, end_j - j)):
                was = before[i + place] if i + place < end_i else None
                has = now[j + place] if j + place < end_j else None
                yield f"<tr>{_cell(was, 'was')}{_cell(has, 'is')}</tr>"


def _is_renamed(was: str, has: str, names: dict[str, str]) -> bool:
    """Return whether two lines that are equal apart from names read the same variables. `names` maps variables of the
    first text to those of the second; the variables that these lines bind are added to it.
    """
    alike = True
    for one, other in zip(_VARIABLE.finditer(was), _VARIABLE.finditer(has), strict=False):
        if was[one.end() :].startswith(":"):
            names[one[0]] = other[0]
        else:
            alike = alike and names.get(one[0], other[0]) == other[0]
    return alike


def _blocks(same: Sequence[bool]) -> Iterator[tuple[int, bool, int]]:
    """Yield `(start, value, end)` for each run of equal values in `same`."""
    start = 0
    for end in range(1, len(same) + 1):
        if end == len(same) or same[end] != same[start]:
            yield start, same[start], end
            start = end


def _cell(line: str | None, kind: str) -> str:
    return "<td></td>" if line is None else f'<td class="{kind}">{escape(line)}</td>'
