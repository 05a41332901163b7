"""a folder of the ladder -> its package's abilities: on the screen, and as a card for a README

All that is shown is measured when the command runs: programs that agree with jitkit, times beside JAX's, the time of every
call, lines of code.
"""

from __future__ import annotations

import ast
import collections
import html
import io
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tokenize
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..engine.names import tree_of
from ..engine.statuses import Status
from ..problems import OK, Problem
from ..screens.terminal import Screen
from .climber import Climber
from .place import Place
from .rungs import Rung, all_rungs, ladder_folder, machine_file

_SECONDS = 120
_NO_HIT = 1e-3  # seconds: a longer call has compiled, since one with a cached program takes microseconds
_DECADE = 16  # pixels on the card for each power of ten
_CHART = 6 * _DECADE + 12


class Abilities(NamedTuple):
    """The measurements. Times are in seconds; None if something did not run."""

    rungs: tuple[tuple[str, str, int, int], ...]  # number, title, programs that pass, programs
    tutorials: tuple[int, int]  # how many programs of the tutorials on jit run and agree, of how many
    lines: int
    mine: dict[str, Any] | None
    jax: dict[str, Any] | None

    @property
    def calls(self) -> list[float]:
        """The time of every call of one jitted function; [] if it was not measured."""
        return list(self.mine["every call"]) if self.mine is not None else []

    @property
    def race(self) -> dict[str, dict[str, float]]:
        """The results of the race of rung 23 (`jitkit.bench.from_scratch.race`) by program; empty if the package has no compiler
        of its own, or was not measured.
        """
        return dict(self.mine.get("race", {})) if self.mine is not None else {}

    @property
    def misses(self) -> list[int]:
        """The positions in `calls` of the calls that took so long that they must have compiled."""
        return [i for i, t in enumerate(self.calls) if t > _NO_HIT]

    @property
    def sentences(self) -> list[str]:
        """The findings, a line each."""
        whole = sum(good == all_ for *_, good, all_ in self.rungs)
        good, total = sum(r[2] for r in self.rungs), sum(r[3] for r in self.rungs)
        found = [
            f"{whole} of {len(self.rungs)} rungs, {good} of {total} programs agree with jitkit",
            f"{self.tutorials[0]} of {self.tutorials[1]} programs of the tutorials on jit run, and agree",
            f"{self.lines} lines of code",
        ]
        for name, what in (("lower", "trace and lower, an equation"), ("call", "a warm call")):
            if self.mine is not None:
                beside = ""
                if self.jax is not None:
                    times = _rounded(self.mine[name] / self.jax[name])
                    beside = f"; jax {_rounded(self.jax[name] * 1e6)} µs: {times} times that"
                found.append(f"{what}: {_rounded(self.mine[name] * 1e6)} µs{beside}")
        steps = [(row or {}).get("training", {}) for row in (self.mine, self.jax)]
        if steps[0]:
            of_each = [
                f"{_rounded(s['later'] * 1e6)} µs (the first {_rounded(s['first'] * 1e3)} ms)" for s in steps if s
            ]
            found.append("; jax ".join([f"a training step of two layers: {of_each[0]}", *of_each[1:]]))
        if self.calls:
            found.append(
                f"{len(self.calls)} calls, {len(self.misses)} of them longer than a millisecond; the longest took "
                f"{_rounded(max(self.calls) * 1e3)} ms, one in the middle {_rounded(statistics.median(self.calls) * 1e6)} µs"
            )
        if self.race:
            ratios = [row["own"] / row["xla"] for row in self.race.values()]
            found.append(
                f"the race of rung 23: {len(ratios)} programs by its own compiler, in {_rounded(min(ratios))} to {_rounded(max(ratios))} "
                "times XLA's time"
            )
        return found


def _rounded(number: float) -> str:
    """Return a number with two significant digits, since the third differs from run to run."""
    return f"{float(f'{number:.2g}'):.10g}"


def run(place: Place, screen: Screen) -> int:
    """Measure, show the results, and write `card.svg`; return the exit status. Raise Problem if the card cannot be written."""
    with screen.progress("running all programs of the ladder, then the clock"):
        found = measured(place)
    screen.line()
    screen.line(f"{place.name}: what it can do", "bold")
    screen.line()
    for number, title, good, total in found.rungs:
        screen.line(f"  {number} {title:28} {screen.bar(good / total, 20) if good else '':20} {good} of {total}")
    screen.line()
    for sentence in found.sentences:
        screen.text(sentence, 2)
    if found.calls:
        screen.line()
        screen.text("every call, with 8 numbers, with 9, with 8 again; a step up is ten times as long:", 2)
        screen.line(f"  {drawn(found.calls, '▁▂▃▄▅▆▇█' if screen.unicode else '01234567')}")
    if found.race:
        screen.line()
        screen.text(
            "the race: passes over memory, bytes that a call allocates, and microseconds of its own compiler, XLA and numpy:",
            2,
        )
        screen.line(f"  {'':15}{'loops':>7}{'bytes':>12}{'own':>9}{'XLA':>9}{'numpy':>9}")
        for name, row in found.race.items():
            times = "".join([f"{_rounded(row[who] * 1e6):>9}" for who in ("own", "xla", "numpy")])
            screen.line(f"  {name:15}{row['loops']:>7.0f}{row['bytes']:>12,.0f}{times}")
    card = place.root / "card.svg"
    try:
        card.write_text(card_text(place.name, found), encoding="utf-8")
    except OSError as error:
        raise Problem(f"{card} cannot be written: {error.strerror}.") from None
    screen.line()
    screen.text(f"The same as a picture, for a README: {place.relative(card)}", 2)
    return OK


def measured(place: Place) -> Abilities:
    """Run the programs of all rungs and of the tutorials, measure the package and JAX, and return the results. A package in which
    nothing is written yet is not run: none of its programs pass.
    """
    package = place.package
    if package.is_untouched:  # nothing to run: do not compute jitkit's own results, which takes a minute
        rungs_, last = all_rungs(), tutorials()
        counts = collections.Counter(check.exercise for check in Climber(place.kept).checks([*rungs_, last]))
        nothing = tuple((rung.number, rung.title, 0, counts[rung.number]) for rung in rungs_)
        return Abilities(nothing, (0, counts[last.number]), 0, None, None)
    *verdicts, of_tutorials = Climber(place.kept).climb(package, [*all_rungs(), tutorials()])
    rungs = tuple(
        (v.rung.number, v.rung.title, sum(r.status == Status.PASS for r in v.results), len(v.results)) for v in verdicts
    )
    good = sum(r.status == Status.PASS for r in of_tutorials.results)
    lines = sum(code_lines(path.read_text(encoding="utf-8", errors="replace")) for path in package.files)
    mine = _times([str(package.folder), package.name, str(machine_file())])
    return Abilities(
        rungs, (good, len(of_tutorials.results)), lines, mine, _times(["jax"]) if mine is not None else None
    )


def tutorials() -> Rung:
    """Return the programs by which tutorials introduce `jit`, as a rung."""
    return Rung(ladder_folder() / "tutorials_on_jit", "The tutorials on jit", 0, "", (), "")


def drawn(seconds: Sequence[float], steps: str) -> str:
    """Return one character of `steps` for each call: the first for a microsecond or less, one further for each power of
    ten of its time.
    """
    powers = [round(math.log10(max(t, 1e-6) * 1e6)) for t in seconds]
    return "".join([steps[min(power, len(steps) - 1)] for power in powers])


def _times(arguments: list[str]) -> dict[str, Any] | None:
    script = pathlib.Path(__file__).resolve().parents[2] / "bench" / "from_scratch.py"
    command = [sys.executable, "-P", str(script), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except (subprocess.SubprocessError, ValueError, IndexError, OSError):
        return None


def code_lines(source: str) -> int:
    """Return the number of lines of code: without comments, docstrings and blank lines; 0 if it is not Python."""
    try:
        tree = tree_of(source)
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (SyntaxError, tokenize.TokenError):
        return 0
    texts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            texts.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines = {n for t in tokens if t.type not in skipped for n in range(t.start[0], t.end[0] + 1)}
    return len(lines - texts)


# the card is dark if the reader prefers dark pages
_DARK = (
    "@media (prefers-color-scheme: dark) { .ground { fill: #14171d } .track { fill: #3a4150 } path { stroke: #3a4150 } "
    "text { fill: #e4e9f0 } }"
)


def calls_chart(found: Abilities, top: int) -> list[str]:
    """Return the SVG of every call's time, on a scale of powers of ten from a microsecond; misses are red."""
    bottom, step = top + _CHART, 480 / len(found.calls)
    texts = [
        f'<text x="16" y="{top + 4}">every call, with 8 numbers, with 9, with 8 again; red: more than a millisecond</text>'
    ]
    for power, name in enumerate(("1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms")):
        y = bottom - power * _DECADE
        texts.append(f'<text x="16" y="{y + 4}">{name}</text><path d="M60 {y}H540" stroke="#e4e4e4"/>')
    for i, t in enumerate(found.calls):
        high = min(max(math.log10(t * 1e6), 0.05), 5.3) * _DECADE
        color = "#b3261e" if i in found.misses else "#3a7d44"
        place = f'x="{60 + i * step:.1f}" y="{bottom - high:.1f}" width="{step - 2:.1f}" height="{high:.1f}"'
        texts.append(f'<rect {place} fill="{color}"/>')
    return texts


def card_text(name: str, found: Abilities) -> str:
    """Return an SVG of the measurements: a bar for each rung, and the sentences."""
    width, row = 560, 16
    bars = []
    for i, (number, title, good, total) in enumerate(found.rungs):
        y = 44 + i * row
        bars.append(
            f'<text x="16" y="{y + 9}">{number} {html.escape(title)}</text>'
            f'<rect class="track" x="230" y="{y}" width="{240}" height="10" fill="#e4e4e4"/>'
            f'<rect x="230" y="{y}" width="{240 * good // max(total, 1)}" height="10" fill="#3a7d44"/>'
            f'<text x="480" y="{y + 9}">{good} of {total}</text>'
        )
    below = 60 + len(found.rungs) * row
    texts = [f'<text x="16" y="{below + i * row}">{html.escape(s)}</text>' for i, s in enumerate(found.sentences)]
    below += len(texts) * row
    if found.calls:
        texts += calls_chart(found, below)
    height = below + (_CHART + 40 if found.calls else 0)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'style="max-width:100%;height:auto" font-family="sans-serif" font-size="11">\n'
        f"<style>{_DARK}</style>\n"
        f'<rect class="ground" width="{width}" height="{height}" fill="#ffffff"/>\n'
        f'<text x="16" y="26" font-size="15">{html.escape(name)}: a JIT from an empty file</text>\n'
        + "\n".join([*bars, *texts])
        + "\n</svg>\n"
    )
