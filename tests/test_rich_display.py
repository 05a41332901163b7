"""Displays in notebooks: the HTML says the same as the text, its colours have contrast, and the text works without the
HTML.
"""

from __future__ import annotations

import html.parser
import re

import pytest
from twin import JAX_VERSION

import jitkit as jk
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.base import rich_display


def program(x, n):
    """Return the result of a loop, a nested jit, a comparison (with `>`), and a lambda."""
    y = lax.fori_loop(0, 3, lambda i, c: c * jnp.sin(x) + i, x)
    return jnp.where(x > 0, y, n), jk.jit(lambda z: z * 2)(y)


def shown(which):
    traced = jk.jit(program).trace(jnp.ones(3), 2)
    if which == "jaxpr":
        return jk.make_jaxpr(program)(jnp.ones(3), 2)
    if which == "traced":
        return traced
    return traced.lower() if which == "lowered" else traced.lower().compile()


class Reader(html.parser.HTMLParser):
    """Reads a page: its visible words, its pieces by CSS class, and the titles that hovering shows."""

    def __init__(self, page):
        super().__init__()
        self.words, self.pieces, self.remarks, self.open, self.tags = [], {}, {}, [], set()
        self.feed(page)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.open.append((tag, dict(attrs)))
        self.tags.add(tag)
        if tag in ("div", "pre"):
            self.words.append("\n")  # a block begins on a new line

    def handle_endtag(self, tag):
        opened, _ = self.open.pop()
        assert opened == tag

    def handle_data(self, data):
        tag, attrs = self.open[-1]
        if tag == "style":
            return
        self.words.append(data)
        if tag == "span":
            self.pieces.setdefault(attrs["class"].removeprefix("jk-"), []).append(data)
            if "title" in attrs:
                self.remarks.setdefault(data, set()).add(attrs["title"])

    @property
    def text(self):
        return "".join(self.words).strip("\n")


STATIONS = ["jaxpr", "traced", "lowered", "compiled"]


@pytest.mark.parametrize("which", STATIONS)
def test_the_page_says_what_the_plain_form_says(which):
    x = shown(which)
    bundle = x._repr_mimebundle_()
    assert bundle["text/plain"] == repr(x) == str(x)
    assert bundle["text/html"] == x._repr_html_()
    page = Reader(bundle["text/html"])
    if which == "compiled":
        lines = [re.sub(", (metadata|backend_config)={.*", "", line) for line in repr(x).split("\n")]
        note = "Under the pointer, on an operation: the equation that it came from, and its line."
        assert page.text.split("\n") == [*lines, note]
    else:
        assert page.text == repr(x)
    assert page.tags <= {"div", "style", "b", "pre", "span"}  # no scripts, links or external resources


@pytest.mark.parametrize("which", STATIONS)
def test_a_front_end_gets_the_forms_that_it_asks_for(which):
    x = shown(which)
    assert list(x._repr_mimebundle_(include={"text/plain"})) == ["text/plain"]
    assert list(x._repr_mimebundle_(exclude={"text/plain"})) == ["text/html"]


def test_the_plain_form_of_a_station_begins_with_its_signature():
    signature = "program(x: float32[3], n: int32[]) -> (float32[3], float32[3])"
    for which, head in [
        ("traced", f"Traced {signature}, jaxpr"),
        ("lowered", f"Lowered {signature}, StableHLO"),
        ("compiled", f"Compiled {signature}, optimised HLO for cpu"),
    ]:
        assert repr(shown(which)).split("\n")[0] == head
    assert repr(shown("traced")).partition("\n")[2] == str(shown("jaxpr"))
    assert repr(shown("lowered")).partition("\n")[2] == shown("lowered").as_text().rstrip("\n")
    many = jk.jit(lambda xs: xs[0]).trace([1.0] * 11)
    assert repr(many).split("\n")[0].endswith("xs[7]: float32[], and 3 more) -> float32[], jaxpr")


def test_a_jaxpr_is_highlighted():
    pieces = Reader(shown("jaxpr")._repr_html_()).pieces
    assert {"scan", "jit", "sin", "mul", "select_n", "gt"} <= set(pieces["operation"])
    assert {":f32[3]", ":bool[3]", ":i32[]"} <= set(pieces["type"])
    assert {"jaxpr=", "length=", "name="} <= set(pieces["parameter"])
    assert {"a", "b", "_"} <= set(pieces["variable"])
    assert set(pieces["keyword"]) == {"lambda ", "let", "in "}


def test_stablehlo_is_highlighted():
    pieces = Reader(shown("lowered")._repr_html_()).pieces
    assert {"module", "func.func", "stablehlo.sine", '"stablehlo.while"', "call", "return"} <= set(pieces["operation"])
    assert {"tensor<3xf32>", "tensor<i32>", "tensor<3xi1>"} <= set(pieces["type"])
    assert {"@jit_program", "@main", "@_where", "^bb0"} <= set(pieces["keyword"])
    assert {"dims", "jax.result_info"} <= set(pieces["parameter"])
    assert '"result[0]"' in pieces["text"]


def test_hlo_is_highlighted():
    pieces = Reader(shown("compiled")._repr_html_()).pieces
    assert {"HloModule", "ENTRY", "ROOT"} == set(pieces["keyword"])
    assert {"while", "fusion", "sine"} & set(pieces["operation"])
    assert "f32[3]{0}" in pieces["type"]
    assert {"kind", "calls"} <= set(pieces["parameter"])


def test_what_runs_stands_first_in_the_display_of_hlo():
    x = shown("compiled")
    headline, module, blank, entry = repr(x).split("\n")[:4]
    assert headline.startswith("Compiled program(")
    assert module.startswith("HloModule jit_program")
    assert blank == ""
    assert entry.startswith("ENTRY %main")
    assert sorted(repr(x).split("\n\n")[1:]) == sorted(x.as_text().rstrip("\n").split("\n\n")[1:])
    assert rich_display.entry_first("HloModule empty") == "HloModule empty"


def test_an_operation_of_hlo_tells_its_equation_and_its_line():
    line = program.__code__.co_firstlineno + 2
    remarks = Reader(shown("compiled")._repr_html_()).remarks
    told = {remark for remarks_of_one in remarks.values() for remark in remarks_of_one}
    source = "y = lax.fori_loop(0, 3, lambda i, c: c * jnp.sin(x) + i, x)"
    call = "closed_call" if JAX_VERSION < (0, 11) else "eval_jaxpr"
    assert f"jit(program)/while/body/{call}/mul\nat {__file__}:{line}\n{source}" in {
        t.partition("\nbackend")[0] for t in told
    }
    assert not any("metadata=" in remark for remark in told)


def test_what_hlo_says_at_the_end_of_a_line_goes_into_the_remark():
    end = 'metadata={op_name="jit(f)/while"}, backend_config={"known_trip_count":{"n":"3"}}'
    for text, remark in [
        (f"  %w = f32[3]{{0}} while(%t), {end}", 'jit(f)/while\nbackend_config={"known_trip_count":{"n":"3"}}'),
        ('  %w = f32[3]{0} while(%t), backend_config={"a":1}', 'backend_config={"a":1}'),
        ('  %w = f32[3]{0} while(%t), metadata={op_type="x"}', 'metadata={op_type="x"}'),
        ("  %w = f32[3]{0} while(%t)", ""),
    ]:
        [line] = rich_display.hlo_lines(text)
        assert "".join(piece.words for piece in line) == "  %w = f32[3]{0} while(%t)"
        assert [piece.remark for piece in line if piece.kind == "operation"] == [remark]


def test_types_with_types_inside_are_one_piece():
    (line,) = rich_display.stablehlo_lines("%0 = call @f() : () -> tuple<tensor<2xcomplex<f32>>, tensor<i1>>")
    assert [p.words for p in line if p.kind == "type"] == ["tuple<tensor<2xcomplex<f32>>, tensor<i1>>"]


def test_a_variable_tells_its_type_its_maker_and_the_line_that_wrote_it():
    def f(data):
        angle = data + 1
        return jnp.sin(angle)

    line = f.__code__.co_firstlineno
    remarks = Reader(jk.make_jaxpr(f)(jnp.ones(3))._repr_html_()).remarks
    (a,), (b,) = remarks["a"], remarks["b"]
    assert a == f"a: float32[3]\nargument data of f at {__file__}:{line}"
    where = re.escape(f"{__file__}:{line + 1}:")
    assert re.fullmatch(rf"b: float32\[3\]\nadd, at {where}\d+ \(.*f\)\nangle = data \+ 1", b)
    (sin,) = remarks["sin"]
    assert sin.endswith("return jnp.sin(angle)")


def test_a_closed_over_array_is_said_to_come_from_outside():
    table = jnp.arange(5000.0)
    remarks = Reader(jk.make_jaxpr(lambda i: table[i])(0)._repr_html_()).remarks
    assert "a: float32[5000]\nan array from outside of the function" in remarks["a"]


def test_a_value_of_stablehlo_and_hlo_shows_its_definition():
    for which in ("lowered", "compiled"):
        page = Reader(shown(which)._repr_html_())
        (value, definitions), *_ = ((v, d) for v, d in page.remarks.items() if v.startswith("%"))
        assert all(d.removeprefix("ROOT ").startswith(value.partition("#")[0]) for d in definitions)


def test_everything_is_escaped():
    def f(x):
        return x

    f.__name__ = f.__qualname__ = '<b title="&">'
    traced = jk.jit(f).trace({"<script>": 1.0})
    page = traced._repr_html_()
    assert "<script>" not in page
    assert Reader(page).text == repr(traced)
    assert "<b title=\"&\">(x['<script>']: float32[])" in repr(traced)
    nested = jk.make_jaxpr(lambda x: jk.jit(lambda x: x * 2)(x))(1.0)
    assert "name=<lambda>" in Reader(nested._repr_html_()).text


def chain(length):
    def f(x):
        for _ in range(length):
            x = x * 2
        return x

    return jk.jit(f).trace(1.0)


def test_a_long_program_is_cut_and_says_so():
    traced = chain(1000)
    whole = traced.lower().as_text()
    count = whole.rstrip("\n").count("\n") + 1
    for x, lines, way in [
        (traced.jaxpr, 1002, "print(jaxpr)"),
        (traced, 1002, "print(traced.jaxpr)"),
        (traced.lower(), count, "print(lowered.as_text())"),
    ]:
        sentence = f"These are the first {rich_display.MAX_LINES} of {lines} lines. All of them: {way}"
        page = Reader(x._repr_html_()).text
        assert page.split("\n")[-1] == sentence
        assert page.count("\n") <= rich_display.MAX_LINES + 2
        if x is traced.jaxpr:
            assert repr(x).count("\n") + 1 == lines  # the whole jaxpr, as in JAX
        else:
            assert repr(x) == page


def test_the_page_of_a_program_twice_as_long_is_not_longer():
    short, long = (len(chain(n).jaxpr._repr_html_()) for n in (1000, 2000))
    assert abs(long - short) <= len("2002") - len("1002") + 1


def test_a_long_piece_is_cut_and_says_so():
    words = "9" * (rich_display.MAX_COLUMNS + 7)
    page = rich_display.frame("", [[rich_display.Piece(words, "type")]], "")
    assert f"{'9' * rich_display.MAX_COLUMNS}[and 7 more characters]</span>" in page


def luminance(color):
    """Return the relative luminance (as WCAG defines it) of a colour #rrggbb."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a, b):
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


def test_the_colours_can_be_read_on_light_and_on_dark():
    style = re.search("<style>(.*)</style>", shown("jaxpr")._repr_html_())[1]
    themes = re.findall(r"([^{}]+)\{((?:--jk-\w+:#\w{6};?)+)\}", style)
    backgrounds = {
        "": ("#ffffff", "#111111", "#000000"),
        "light": ("#ffffff", "#f5f5f5"),
        "dark": ("#111111", "#1e1e1e"),
    }
    assert [re.findall("vscode-(light|dark)", selector) for selector, _ in themes] == [[], ["light"], ["dark"]]
    for (_, colors), (theme, pages) in zip(themes, backgrounds.items(), strict=True):
        tones = re.findall("#[0-9a-f]{6}", colors)
        assert len(tones) == 4
        for tone in tones:
            for background in pages:
                assert contrast(tone, background) >= (4.5 if theme else 4.3), (tone, background)


def test_lines_stay_whole_whatever_the_page_says():
    """JupyterLab has `word-break: break-all` and `white-space: pre-wrap` for every `pre` of an output."""
    style = re.search("<style>(.*)</style>", shown("jaxpr")._repr_html_())[1]
    ours = ";".join(re.findall(r"\.jitkit-code pre\{([^}]*)\}", style)).split(";")
    for rule in ("white-space:pre", "word-break:normal", "overflow-wrap:normal", "overflow:auto"):
        assert f"{rule}!important" in ours


def test_the_style_does_not_reach_beyond_the_output():
    style = re.search("<style>(.*)</style>", shown("jaxpr")._repr_html_())[1]
    selectors = [s for rule in re.findall(r"([^{}]+)\{[^{}]*\}", style) for s in rule.split(",")]
    assert selectors
    assert all(".jitkit-code" in selector for selector in selectors)


def test_a_report_of_cache_misses_is_a_table_beside_its_text():
    f = jk.jit(lambda x: x)
    f(1.0)
    bundle = jk.explain(f)._repr_mimebundle_()
    assert bundle["text/plain"] == str(jk.explain(f))
    assert "<table>" in bundle["text/html"]
    assert "&lt;lambda&gt;" in bundle["text/html"]
    assert "<td" in bundle["text/html"]
    assert ">function<" not in bundle["text/html"]  # the title says it instead
    assert ">function<" in jk.explain()._repr_html_()
