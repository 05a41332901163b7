"""The document printer against JAX's: the same documents must come out the same, to the byte."""

from __future__ import annotations

import sys

import hypothesis
import hypothesis.strategies as st
import pytest
from jax._src import pretty_printer as jax_pp

from jitkit.base import pretty_printer as pp

# A document is described by nested tuples, so that one description builds it with either module.
_words = st.text(st.sampled_from("ab é{"), max_size=12) | st.just("x" * 30)
_annotations = st.none() | st.sampled_from(["", "remark", "two\nlines"])
_leaves = (
    st.tuples(st.just("text"), _words, _annotations)
    | st.tuples(st.just("brk"), st.sampled_from([" ", "", "; "]))
    | st.just(("nil",))
)


def _inner(children):
    several = st.lists(children, max_size=5)
    return (
        st.tuples(st.just("concat"), several)
        | st.tuples(st.just("add"), children, children)
        | st.tuples(st.just("group"), children)
        | st.tuples(st.just("nest"), st.integers(0, 6), children)
        | st.tuples(st.just("join"), children, several)
        | st.tuples(st.just("keyword"), children)
        | st.tuples(st.just("type_annotation"), children)
        | st.tuples(
            st.just("color"), children, st.sampled_from([None, "RED", "RESET"]),
            st.sampled_from([None, "GREEN", "RESET"]), st.sampled_from([None, "DIM", "BRIGHT", "NORMAL"]),
        )
    )  # fmt: skip


documents = st.recursive(_leaves, _inner, max_leaves=40)


def build(module, description):
    """Return the described document, made with the functions of `module`."""
    kind, *parts = description
    match kind:
        case "text" | "brk" | "nil":
            return getattr(module, kind)(*parts)
        case "concat":
            return module.concat([build(module, child) for child in parts[0]])
        case "add":
            return build(module, parts[0]) + build(module, parts[1])
        case "nest":
            return module.nest(parts[0], build(module, parts[1]))
        case "join":
            return module.join(build(module, parts[0]), [build(module, child) for child in parts[1]])
        case "color":
            child, foreground, background, intensity = parts
            return module.color(
                build(module, child),
                foreground and module.Color[foreground],
                background and module.Color[background],
                intensity and module.Intensity[intensity],
            )
        case _:
            return getattr(module, kind)(build(module, parts[0]))


@hypothesis.settings(max_examples=400, deadline=None)
@hypothesis.given(documents, st.sampled_from([-1, 0, 5, 20, 40, 80]), st.booleans())
def test_random_documents_are_laid_out_as_by_jax(description, width, use_color):
    # JAX leaves the terminal coloured after a document that ends in colour, and we do not. So this document ends
    # without colour.
    description = ("add", description, ("text", "|", None))
    expected = build(jax_pp, description).format(width, use_color=use_color)
    assert build(pp, description).format(width, use_color=use_color) == expected


def test_a_document_that_ends_in_colour_leaves_the_terminal_plain():
    doc = pp.text("a", annotation="remark") + pp.brk() + pp.keyword(pp.text("in"))
    assert doc.format(use_color=True) == "a\x1b[2m  # remark\x1b[22m\n\x1b[34;1min\x1b[39;22m"


@pytest.mark.parametrize("length", [79, 80, 81])
def test_a_group_is_broken_exactly_when_its_line_would_be_longer_than_the_width(length):
    doc = pp.group(pp.text("a") + pp.brk() + pp.text("b" * (length - 2)))
    assert ("\n" in doc.format()) is (length > 80)


def test_a_group_does_not_care_about_what_follows_it_on_the_line():
    doc = pp.group(pp.text("aaa") + pp.brk() + pp.text("bbb")) + pp.text("c" * 10)
    assert doc.format(8) == "aaa bbb" + "c" * 10


def test_annotations_stand_in_one_column():
    doc = pp.join(pp.brk(), [pp.text("a", annotation="one"), pp.text("bbb"), pp.text("cc", annotation="two")])
    assert doc.format(annotation_prefix=" -- ") == "a   -- one\nbbb\ncc  -- two"


def test_str_of_a_document_is_its_format():
    assert str(pp.group(pp.text("a") + pp.brk() + pp.text("b"))) == "a b"


class _Terminal:
    def isatty(self):
        return True


def test_colour_needs_a_terminal_and_the_absence_of_NO_COLOR(monkeypatch):
    doc = pp.keyword(pp.text("let"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert doc.format() == "let"  # pytest captures stdout, so it is not a terminal
    monkeypatch.setattr(sys, "stdout", _Terminal())
    assert doc.format() == "\x1b[34;1mlet\x1b[39;22m"
    assert doc.format(use_color=False) == "let"
    monkeypatch.setenv("NO_COLOR", "1")
    assert doc.format() == "let"
    assert doc.format(use_color=True) == "\x1b[34;1mlet\x1b[39;22m"


def test_a_notebook_shows_colours_although_its_output_is_no_terminal(monkeypatch):
    class ZMQInteractiveShell:
        pass

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("builtins.get_ipython", ZMQInteractiveShell, raising=False)
    assert pp.can_use_color()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not pp.can_use_color()


def test_tens_of_thousands_of_nested_groups_print_without_recursion_or_walking_each_group_again():
    # Walking through each group to see whether it fits would take 3e8 steps: this test would not end.
    doc = pp.text("end")
    for _ in range(25_000):
        doc = pp.group(pp.text("x") + pp.brk() + doc)
    lines = doc.format().split("\n")
    assert lines[0] == "x"
    assert lines[-1] == "x " * 38 + "end"
