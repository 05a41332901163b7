"""text -> text for this terminal: widths, colours that may be off, ASCII if there is nothing better, a progress line.

Colour only repeats a word or a sign. It is off when the output is not a terminal, when `NO_COLOR` is set
(https://no-color.org) and on a dumb terminal; `FORCE_COLOR` turns it on.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TextIO

from jitkit.bench.words import compared, duration

__all__ = ["Screen", "compared", "duration"]

_STYLES = {"bold": "1", "dim": "2", "blue": "34", "cyan": "36", "green": "32", "yellow": "33", "red": "31"}
_ASCII = str.maketrans({"→": "->", "←": "<-", "─": "-", "│": "|", "█": "#", "▌": "#", "▏": "|", "…": "~", "µ": "u"})
_ASCII |= str.maketrans({"✓": "+", "✗": "x", "○": "o", "·": "-"})
_CONTROL = dict.fromkeys((*range(9), *range(11, 27), *range(28, 32), 127), "?")  # these would move the cursor
_WIDEST = 100  # lines longer than this are hard to read, however wide the window is


class Screen:
    """A stream to which text goes, and what can be shown there.

    Attributes: `width` in columns; `interactive`, whether a line can be drawn again; `color`; `unicode`.
    """

    def __init__(self, stream: TextIO, *, width: int, interactive: bool, color: bool, unicode: bool) -> None:
        self.stream = stream
        self._width = width
        self._follows = False  # whether the width is that of its terminal, which may change
        self.interactive = interactive
        self.color = color
        self.unicode = unicode

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str] | None = None) -> Screen:
        """Return the screen for a stream, with colours and characters that the stream and the environment allow."""
        env = os.environ if environment is None else environment
        interactive = stream.isatty() and env.get("TERM") != "dumb"
        color = bool(env.get("FORCE_COLOR")) or (interactive and not env.get("NO_COLOR"))
        if color and sys.platform == "win32":
            os.system("")  # the documented side effect: the console starts to obey escape sequences
        screen = cls(stream, width=80, interactive=interactive, color=color, unicode=_can_encode(stream))
        screen._follows = stream.isatty()
        return screen

    @property
    def width(self) -> int:
        """The width in columns: of a terminal the present one, from 40 to 100; of any other stream the one it was made with."""
        if not self._follows:
            return self._width
        return max(min(shutil.get_terminal_size().columns, _WIDEST), 40)

    def echo(self, text: str) -> None:
        """Write what somebody typed, on an interactive screen: while single keys are read, the terminal does not show them."""
        if self.interactive:
            self._write(text)

    # --- words and lines ------------------------------------------------------------------------------------

    def style(self, text: str, *styles: str) -> str:
        """Return the text in these styles; without colour, return it unchanged."""
        if not (self.color and text and styles):
            return text
        codes = ";".join(_STYLES[name] for name in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def line(self, text: str = "", *styles: str) -> None:
        """Write one line."""
        self._write(self.style(self._shown(text), *styles) + "\n")

    def _shown(self, text: str) -> str:
        text = text.translate(_CONTROL)
        if self.unicode:
            return text.encode(errors="replace").decode()  # lone surrogates that a program may have printed
        return text.translate(_ASCII).encode("ascii", "replace").decode()

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    def text(self, paragraph: str, indent: int = 0, *styles: str) -> None:
        """Write a paragraph, broken at the width of the screen."""
        margin = " " * indent
        for line in textwrap.wrap(
            " ".join(paragraph.split()),
            self.width - 1,
            initial_indent=margin,
            subsequent_indent=margin,
            break_on_hyphens=False,
            break_long_words=False,
        ):
            self.line(line, *styles)

    def heading(self, title: str, right: str = "") -> None:
        """Write a title over a rule, with a remark at the right end."""
        self.line()
        title, right = self._shown(title), self._shown(right)
        gap = " " * max(self.width - 1 - len(title) - len(right), 1) if right else ""
        self._write(self.style(title, "bold") + gap + self.style(right, "cyan") + "\n")
        self.line("─" * (self.width - 1), "dim")

    def code(self, text: str, indent: int = 4, notes: Mapping[int, str] | None = None) -> None:
        """Write program text unchanged, cut at the right edge; `notes` are remarks at that edge, by line number from 0."""
        margin, notes = " " * indent, notes or {}
        for i, line in enumerate(text.splitlines()):
            note = "  " + self._shown(notes[i]) if i in notes else ""
            room = self.width - 1 - indent - len(note)
            shown = self._shown(line if len(line) <= room else line[: max(room - 1, 0)] + "…")
            self._write(margin + (f"{shown:{room}}{self.style(note, 'yellow')}" if note else shown) + "\n")

    def table(self, rows: Sequence[Sequence[str]], *, align: str, indent: int = 2, header: bool = True) -> None:
        """Write rows in columns. `align` has a `<` or a `>` for each column. With `header`, the first row is shown as the header."""
        widths = [max(len(row[i]) for row in rows) for i in range(len(align))]
        for n, row in enumerate(rows):
            cells = [f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True)]
            self.line((" " * indent + "  ".join(cells)).rstrip(), *(("dim",) if header and n == 0 else ()))

    def bar(self, fraction: float, width: int) -> str:
        """Return a bar that fills a fraction of `width`. It is never empty, so that a small number is still visible."""
        halves = round(max(0.0, min(fraction, 1.0)) * width * 2)
        return "█" * (halves // 2) + ("▌" if halves % 2 else "") or "▏"

    def clear(self) -> None:
        """Clear the terminal, if the output is one."""
        if self.interactive:
            self._write("\x1b[2J\x1b[H")

    # --- things that take a while ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def progress(self, doing: str | Callable[[], str], after: float = 1.0) -> Iterator[None]:
        """Once the block has taken `after` seconds, show `doing()`: in a terminal together with the seconds so far;
        elsewhere once, and again when it changes.
        """
        over, drawn = threading.Event(), threading.Event()
        now = doing if callable(doing) else lambda: doing

        def show() -> None:
            start = time.monotonic()
            wait, said = after, ""
            while not over.wait(wait):
                wait = 0.25
                if not self.interactive:
                    if now() != said:
                        said = now()
                        self.line(f"  ({said})")
                    continue
                text = f"  {now()}, {time.monotonic() - start:.0f} s"[: self.width - 1]
                self._write("\r" + self.style(text, "dim") + "\x1b[K")
                drawn.set()

        thread = threading.Thread(target=show, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            if drawn.is_set():
                self._write("\r\x1b[K")


def _can_encode(stream: TextIO) -> bool:
    try:
        "→←│─█▌▏…µ✓✗○·".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
