"""a folder of the ladder -> what its package can do: on the screen, and as a card for a README

Only what was measured is on it, here and now: programs that ran and agreed with jitkit, times beside those of JAX, lines of code.
"""

from __future__ import annotations

import ast
import html
import io
import json
import pathlib
import subprocess
import sys
import tokenize
from typing import NamedTuple

from ..cli import OK, Problem
from ..engine.verdicts import PASS
from ..screens.terminal import Screen
from .climbing import Climber
from .place import Place
from .rungs import all_rungs, machine_file

_SECONDS = 120


class Report(NamedTuple):
    """What was found. Times in seconds; None where something did not run."""

    rungs: tuple[tuple[str, str, int, int], ...]  # number, title, programs that pass, programs
    lines: int
    mine: dict[str, float] | None
    jax: dict[str, float] | None

    @property
    def sentences(self) -> list[str]:
        """The findings, a line each."""
        whole = sum(good == all_ for *_, good, all_ in self.rungs)
        good, total = sum(r[2] for r in self.rungs), sum(r[3] for r in self.rungs)
        found = [
            f"{whole} of {len(self.rungs)} rungs, {good} of {total} programs agree with jitkit",
            f"{self.lines} lines of code",
        ]
        for name, what in (("lower", "trace and lower, an equation"), ("call", "a warm call")):
            if self.mine is not None:
                beside = ""
                if self.jax is not None:
                    beside = (
                        f"; jax {self.jax[name] * 1e6:.1f} µs: {self.mine[name] / self.jax[name]:.2f} of it"
                    )
                found.append(f"{what}: {self.mine[name] * 1e6:.1f} µs{beside}")
        return found


def run(place: Place, screen: Screen) -> int:
    """Measure, show, and write `card.svg`."""
    with screen.progress("running all programs of the ladder, then the clock"):
        found = measured(place)
    screen.line()
    screen.line(f"{place.name}: what it can do", "bold")
    screen.line()
    for number, title, good, total in found.rungs:
        screen.line(
            f"  {number} {title:28} {screen.bar(good / total, 20) if good else '':20} {good} of {total}"
        )
    screen.line()
    for sentence in found.sentences:
        screen.text(sentence, 2)
    card = place.root / "card.svg"
    try:
        card.write_text(card_text(place.name, found), encoding="utf-8")
    except OSError as error:
        raise Problem(f"{card} cannot be written: {error.strerror}.") from None
    screen.line()
    screen.text(f"The same as a picture, for a README: {place.relative(card)}", 2)
    return OK


def measured(place: Place) -> Report:
    """Run everything."""
    package = place.package
    rungs = tuple(
        (v.rung.number, v.rung.title, sum(r.status == PASS for r in v.results), len(v.results))
        for rung in all_rungs()
        for v in Climber(place.kept / "expected").climb(package, [rung])
    )
    lines = sum(code_lines(path.read_text(encoding="utf-8", errors="replace")) for path in package.files)
    mine = _times([str(package.folder), package.name, str(machine_file())])
    return Report(rungs, lines, mine, _times(["jax"]) if mine is not None else None)


def _times(arguments: list[str]) -> dict[str, float] | None:
    script = pathlib.Path(__file__).resolve().parents[2] / "bench" / "from_scratch.py"
    command = [sys.executable, "-P", str(script), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except (subprocess.SubprocessError, ValueError, IndexError, OSError):
        return None


def code_lines(source: str) -> int:
    """Lines with code: without comments, docstrings and blank lines. 0 for what is no Python."""
    try:
        tree = ast.parse(source)
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (SyntaxError, tokenize.TokenError):
        return 0
    texts: set[int] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and ast.get_docstring(node) is not None
        ):
            texts.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    skipped = (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
    lines = {n for t in tokens if t.type not in skipped for n in range(t.start[0], t.end[0] + 1)}
    return len(lines - texts)


def card_text(name: str, found: Report) -> str:
    """An SVG of the same: a bar a rung, and the sentences."""
    width, row = 560, 16
    bars = []
    for i, (number, title, good, total) in enumerate(found.rungs):
        y = 44 + i * row
        bars.append(
            f'<text x="16" y="{y + 9}">{number} {html.escape(title)}</text>'
            f'<rect x="230" y="{y}" width="{240}" height="10" fill="#e4e4e4"/>'
            f'<rect x="230" y="{y}" width="{240 * good // max(total, 1)}" height="10" fill="#3a7d44"/>'
            f'<text x="480" y="{y + 9}">{good} of {total}</text>'
        )
    below = 60 + len(found.rungs) * row
    texts = [
        f'<text x="16" y="{below + i * row}">{html.escape(s)}</text>' for i, s in enumerate(found.sentences)
    ]
    height = below + len(texts) * row
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
        f'<text x="16" y="26" font-size="15">{html.escape(name)}: a JIT from an empty file</text>\n'
        + "\n".join([*bars, *texts])
        + "\n</svg>\n"
    )
