"""Our displays in a browser, on a page with JupyterLab's CSS: lines do not break, wide displays scroll, and nothing
overflows.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess

import pytest

import jitkit as jk
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.bench.notebook import Timing
from jitkit.bench.timing import Spread
from jitkit.misses.explain import Explanation

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs a browser: chromium")

# JupyterLab 4.6's CSS for the `pre` of an output, and for tables.
JUPYTERLAB = """
body { margin: 0; font-size: 14px; color: var(--color); background: var(--ground) }
.jp-ThemedContainer .jp-RenderedHTMLCommon pre { color: var(--color); margin: 0px; padding: 0px }
.jp-ThemedContainer .jp-RenderedHTMLCommon pre, .jp-ThemedContainer .jp-RenderedHTMLCommon code {
  background-color: var(--ground); font-size: inherit; line-height: 1.3077; white-space: pre-wrap }
.jp-OutputArea-output pre { overflow: auto; word-break: break-all; overflow-wrap: break-word; white-space: pre-wrap }
.jp-RenderedHTMLCommon table { table-layout: fixed; border-collapse: collapse }
.jp-RenderedHTMLCommon td { white-space: normal; max-width: none }
.jp-RenderedHTMLCommon img { max-width: 100%; height: auto }
.output { width: 640px; overflow: auto }
"""
THEMES = {"true": "--color: #000; --ground: #fff", "false": "--color: #fff; --ground: #111"}

MEASURE = """
const found = {};
for (const output of document.querySelectorAll('.output')) {
  const pre = output.querySelector('pre'), word = output.querySelector('.jk-operation');
  const style = pre && getComputedStyle(pre), box = pre && pre.getBoundingClientRect();
  const last = pre && document.createRange();
  let entry = 0;
  if (pre) {
    const walker = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (walker.currentNode.data.includes('ENTRY')) {
      last.selectNode(walker.currentNode); entry = last.getBoundingClientRect().bottom - box.top; break } }
  found[output.id] = {
    pictures: [...output.querySelectorAll('img')].map(img => getComputedStyle(img).display),
    heights: [...output.querySelectorAll('td')].filter(td => /^[\\d.]+ ms$/.test(td.textContent)).map(td => {
      const text = document.createRange(); text.selectNodeContents(td); return text.getClientRects().length }),
    outside: output.scrollWidth - output.clientWidth,
    last: output.querySelector('tr:last-child td:last-child')?.getBoundingClientRect().width,
    ...(pre && {
      space: style.whiteSpace, breaks: style.wordBreak, wrap: style.overflowWrap, color: word && getComputedStyle(word).color,
      lines: (pre.scrollHeight) / parseFloat(style.lineHeight), text: pre.textContent.split('\\n').length,
      wide: pre.scrollWidth > pre.clientWidth, high: pre.scrollHeight > pre.clientHeight, seen: pre.clientHeight,
      bars: [pre.offsetWidth - pre.clientWidth, pre.offsetHeight - pre.clientHeight], entry }) };
}
document.getElementById('found').textContent = JSON.stringify(found);
"""


def attention(x, wq, wk, wv):
    weights = jk.nn.softmax((x @ wq) @ (x @ wk).T, axis=-1)
    return lax.fori_loop(0, 3, lambda i, y: weights @ jnp.sin(y), x @ wv)


def of_long_paths():
    """Return the report on a function whose file has a long path, with times as long as those of large functions."""
    names = {"jk": jk, "jnp": jnp}
    program = "f = jk.jit(lambda x: x * 2)\nf(jnp.ones(3)), f(jnp.ones(4))"
    exec(compile(program, "/home/somebody/projects/2026/a_model_with_a_name/training/loop.py", "exec"), names)
    misses = [miss._replace(seconds=12.3456) for miss in jk.explain(names["f"])]
    return Explanation("f", misses, of_one_function=False)


def displays():
    f = jk.jit(attention)
    x = jnp.ones((8, 8))
    traced = f.trace(x, x, x, x)
    lowered = traced.lower()
    compiled = lowered.compile()
    f(x, x, x, x)
    return {
        "jaxpr": traced.jaxpr,
        "traced": traced,
        "lowered": lowered,
        "compiled": compiled,
        "explain": jk.explain(f),
        "paths": of_long_paths(),
        "timing": Timing("f", 0.1, {}, Spread.of([0.001, 0.002, 0.003])),
    }


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return the sizes that the browser measures for each display, by theme."""
    folder = tmp_path_factory.mktemp("page")
    shown = {name: display._repr_html_() for name, display in displays().items()}
    found = {}
    for light, colors in THEMES.items():
        outputs = "".join(
            f'<div class="output jp-RenderedHTMLCommon jp-RenderedHTML jp-OutputArea-output" id="{name}">{page}</div>'
            for name, page in shown.items()
        )
        page = folder / f"{light}.html"
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><style>:root {{ {colors} }} {JUPYTERLAB}</style>'
            f'<body class="jp-ThemedContainer" data-jp-theme-light="{light}">{outputs}'
            f'<script type="text/plain" id="found"></script><script>{MEASURE}</script>',
            encoding="utf-8",
        )
        command = [BROWSER, "--headless=new", "--disable-gpu", f"--user-data-dir={folder}/profile", "--dump-dom"]
        command += ["--no-sandbox"] if os.geteuid() == 0 else []
        done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
        text = re.search(r'id="found">(.*?)</script>', done.stdout)[1]
        found[light] = json.loads(html.unescape(text))
    return found


PROGRAMS = ["jaxpr", "traced", "lowered", "compiled"]


@pytest.mark.parametrize("light", THEMES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_line_of_a_program_is_broken(name, light, measured):
    program = measured[light][name]
    assert (program["space"], program["breaks"], program["wrap"]) == ("pre", "normal", "normal")
    assert program["lines"] == pytest.approx(program["text"], abs=0.9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_does_not_fit_has_bars_that_can_be_seen(name, measured):
    program = measured["true"][name]
    assert program["wide"] == (name in ("lowered", "compiled"))
    assert program["high"]
    assert program["bars"] == [11, 11 if program["wide"] else 0]


def test_what_runs_in_a_compiled_program_is_seen_without_scrolling(measured):
    compiled = measured["true"]["compiled"]
    assert 0 < compiled["entry"] < compiled["seen"] / 4


@pytest.mark.parametrize("name", [*PROGRAMS, "explain", "paths", "timing"])
def test_nothing_reaches_out_of_its_cell(name, measured):
    assert measured["true"][name]["outside"] == measured["false"][name]["outside"] == 0


def test_paths_leave_room_for_the_reason(measured):
    assert measured["true"]["paths"]["last"] > 200


def test_a_time_and_its_unit_stay_together(measured):
    assert set(measured["true"]["explain"]["heights"]) == {1}


def test_light_and_dark_have_colours_of_their_own(measured):
    assert measured["true"]["jaxpr"]["color"] == "rgb(0, 114, 178)"
    assert measured["false"]["jaxpr"]["color"] == "rgb(86, 180, 233)"
    assert measured["true"]["timing"]["pictures"] == ["inline", "none"]
    assert measured["false"]["timing"]["pictures"] == ["none", "inline"]
