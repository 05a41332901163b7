"""What the command line shows on terminals with many abilities, few, and none."""

from __future__ import annotations

import io
import time

import pytest

from jitkit.kata.screens.terminal import Screen, compared, duration


class Stream(io.StringIO):
    """A stream that is a terminal or not, with a given encoding."""

    def __init__(self, terminal, encoding="utf-8"):
        super().__init__()
        self._terminal = terminal
        self._encoding = encoding

    @property
    def encoding(self):
        return self._encoding

    def isatty(self):
        return self._terminal


def screen(width=60, **what):
    stream = Stream(terminal=False)
    return Screen(stream, **{"width": width, "interactive": False, "color": False, "unicode": True, **what}), stream


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0, "0.00 ns"),
        (3.4e-9, "3.40 ns"),
        (8.12e-7, "812 ns"),
        (9.996e-7, "1.00 µs"),
        (3.414e-6, "3.41 µs"),
        (2.5e-2, "25.0 ms"),
        (0.0999, "99.9 ms"),
        (0.09996, "100 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (1.2, "1.20 s"),
        (123.4, "123 s"),
    ],
)
def test_a_duration_has_three_digits_and_a_unit(seconds, shown):
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (12.4, "12 times faster than"),
        (9.96, "10 times faster than"),
        (1.4, "1.4 times faster than"),
        (1.01, "as fast as"),
        (0.5, "2.0 times slower than"),
        (0.01, "100 times slower than"),
    ],
)
def test_a_ratio_of_times_is_said_in_words(ratio, words):
    assert compared(ratio, "numpy") == f"{words} numpy"


def test_there_is_no_colour_unless_the_stream_is_a_terminal():
    assert not Screen.of(Stream(terminal=False), {}).color
    assert Screen.of(Stream(terminal=True), {"TERM": "xterm"}).color


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_can_be_refused(environment):
    assert not Screen.of(Stream(terminal=True), environment).color


def test_a_line_without_a_style_has_no_escape_sequences():
    shown, stream = screen(color=True)
    shown.line("plain")
    shown.text("also plain")
    assert "\x1b" not in stream.getvalue()
    shown.line("bold", "bold")
    assert stream.getvalue().endswith("\x1b[1mbold\x1b[0m\n")


def test_colour_can_be_forced():
    assert Screen.of(Stream(terminal=False), {"FORCE_COLOR": "1"}).color


def test_a_stream_that_has_no_unicode_gets_ascii():
    stream = Stream(terminal=False, encoding="ascii")
    shown = Screen.of(stream, {})
    shown.heading("Title", "call → leaves")
    shown.text("1 µs … a — b")
    shown.code("x" * 200, notes={0: "← here"})
    assert stream.getvalue().isascii()
    assert "call -> leaves" in stream.getvalue()
    assert "<- here" in stream.getvalue()


def test_a_stream_that_does_not_say_its_encoding_gets_ascii():
    assert not Screen.of(Stream(terminal=False, encoding=None), {}).unicode


def test_no_line_is_wider_than_the_screen():
    shown, stream = screen(width=50)
    shown.heading("A title", "right")
    shown.text("word " * 40, 4)
    shown.code("a long line of code " * 10, notes={0: "← a remark"})
    assert max(map(len, stream.getvalue().splitlines())) == 49


def test_code_that_is_cut_says_so_and_code_that_fits_is_left_alone():
    shown, stream = screen(width=20)
    shown.code("short\n" + "x" * 40, indent=2)
    assert stream.getvalue() == "  short\n  " + "x" * 16 + "…\n"


def test_a_table_has_aligned_columns():
    shown, stream = screen()
    shown.table([("name", "count"), ("a", "1"), ("longer", "100")], align="<>", indent=0)
    assert stream.getvalue().splitlines() == ["name    count", "a           1", "longer    100"]


def test_a_bar_is_as_long_as_its_fraction_and_never_empty():
    shown, _ = screen()
    assert shown.bar(1.0, 10) == "█" * 10
    assert shown.bar(0.25, 10) == "██▌"
    assert shown.bar(0.0, 10) == "▏"
    assert shown.bar(7.0, 10) == "█" * 10


@pytest.mark.parametrize("interactive", [False, True])
def test_what_is_quick_has_no_progress_line(interactive):
    shown, stream = screen(interactive=interactive)
    with shown.progress("working", after=60):
        pass
    assert stream.getvalue() == ""


def test_what_takes_long_says_so_once_where_lines_cannot_be_drawn_again():
    shown, stream = screen()
    with shown.progress("working", after=0.001):
        wait_for(lambda: stream.getvalue())
    assert stream.getvalue() == "  (working)\n"


def test_the_progress_line_of_a_terminal_is_gone_afterwards():
    shown, stream = screen(interactive=True)
    with shown.progress("working", after=0.001):
        wait_for(lambda: stream.getvalue())
    assert stream.getvalue().startswith("\r  working, ")
    assert stream.getvalue().endswith("\r\x1b[K")


def test_an_error_during_progress_passes_and_ends_it():
    shown, stream = screen(interactive=True)
    with pytest.raises(ZeroDivisionError), shown.progress("working", after=0.001):
        wait_for(stream.getvalue)
        raise ZeroDivisionError
    assert stream.getvalue().endswith("\r\x1b[K")


def wait_for(condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("nothing happened within five seconds")
