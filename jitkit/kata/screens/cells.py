"""a verdict, a hint, an experiment's question or plot -> text and HTML, which a notebook shows"""

from __future__ import annotations

import base64
import html
import io
import re
import textwrap

from jitkit.base import rich_display

from ..engine.manifest import Experiment
from ..engine.statuses import Status
from ..workspace.judge import Report
from .display import Desk, hanging, show_report
from .terminal import Screen

# Colours halfway between light and dark pages: a contrast of more than 4.2 to both.
_STYLE_OF_CODE = {
    "1": "font-weight:bold", "2": "opacity:.7", "31": "color:#de3c3c", "32": "color:#008a66", "33": "color:#a87000",
    "34": "color:#007ec7", "36": "color:#00869b",
}  # fmt: skip

_COLUMNS = 92  # a notebook has this many columns, in a window of 1280 pixels with a side bar


class NotPassed(AssertionError):
    """Raised if an exercise, or one of its checks, does not pass. Notebooks show the verdict instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


class Unknown(LookupError):
    """Raised for an exercise, a check or an experiment that does not exist. Notebooks show the sentence without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"LookupError: {self}"]


class Shown:
    """A verdict that a notebook shows: as text, and as HTML.

    Attributes:
      passed: whether every check passes.
      fraction: the part of the checks that pass, from 0 to 1.
    """

    def __init__(self, report: Report, notebook: Desk, note: str = "") -> None:
        self.report = report
        self.notebook = notebook
        self.note = note  # a sentence that says whether the function was copied to the workspace
        self.passed = report.passed
        results = report.verdict.results
        self.fraction = report.verdict.passed / len(results) if results else float(report.passed)

    def __repr__(self) -> str:
        """Return the verdict as text."""
        return self._render(color=False)

    def _repr_html_(self) -> str:
        return rich_display.box(_html_of_ansi(self._render(color=True)))

    def _render(self, color: bool) -> str:
        stream = io.StringIO()
        screen = Screen(stream, width=_COLUMNS, interactive=False, color=color, unicode=True)
        show_report(screen, self.report, self.notebook)
        if self.passed:
            screen.line()
            hanging(screen, "  why: ", self.report.exercise.why)
        if self.note:
            screen.line()
            screen.text(self.note, 2)
        return stream.getvalue().strip("\n")

    def require(self, check: str | None = None) -> None:
        """Raise NotPassed, with the verdict as text, unless all checks pass; with `check`, unless the check of this name passes. Raise
        Unknown if there is no such check. For graded cells.
        """
        if check is None:
            if not self.passed:
                raise NotPassed(f"\n{self!r}")
            return
        verdict = self.report.verdict
        results = tuple(result for result in verdict.results if result.check.name == check)
        if verdict.results and not results:
            raise Unknown(f"{verdict.exercise.id} has no check {check!r}")
        if not results or results[0].status != Status.PASS:
            alone = self.report._replace(verdict=verdict._replace(results=results))
            raise NotPassed(f"\n{Shown(alone, self.notebook)!r}")


class Question:
    """The question of an experiment, which the learner answers before the plot is drawn."""

    def __init__(self, experiment: Experiment, call: str) -> None:
        numbered = [
            textwrap.fill(f"{i}  {option}", _COLUMNS, subsequent_indent="   ")
            for i, option in enumerate(experiment.options, 1)
        ]
        self.lines = [textwrap.fill(experiment.question, _COLUMNS), *numbered, f"Guess first: {call}"]

    def __repr__(self) -> str:
        """Return the question and its options."""
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        return rich_display.box(rich_display.escape(repr(self)))


class Plot:
    """A figure that a notebook shows inline."""

    def __init__(self, png: bytes, answer: str) -> None:
        self.png = png
        self.answer = answer

    def __repr__(self) -> str:
        """Return the answer: what there is to see in the plot."""
        return self.answer

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.png).decode()
        return f"<img style='max-width:min(100%,800px)' src='data:image/png;base64,{data}'/><p>{html.escape(self.answer)}</p>"


class Hint:
    """A hint that a notebook shows."""

    def __init__(self, title: str, text: str) -> None:
        self.title = title
        self.text = text

    def __repr__(self) -> str:
        """Return title and text."""
        return f"{self.title}\n\n{self._body()}"

    def _repr_html_(self) -> str:
        title = f"<div><b>{rich_display.escape(self.title)}</b></div>"
        return rich_display.box(rich_display.escape(self._body()), above=title)

    def _body(self) -> str:
        return "\n".join(textwrap.fill(line, _COLUMNS) for line in self.text.strip("\n").splitlines())


def _html_of_ansi(text: str) -> str:
    """Return text with escape sequences for colours as HTML."""

    def span(match: re.Match[str]) -> str:
        styles = ";".join(_STYLE_OF_CODE.get(code, "") for code in match[1].split(";"))
        return f"<span style='{styles}'>{match[2]}</span>"

    return re.sub(r"\x1b\[([\d;]+)m(.*?)\x1b\[0m", span, html.escape(text), flags=re.DOTALL)
