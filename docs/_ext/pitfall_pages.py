"""jitkit.bench.pitfalls -> generated/pitfalls.md: each pair of programs, what each call took, and what `explain` says

The pairs are run while the site is built, in the quick way: counts of traces and compilations are exact, times are of this machine.
"""

from __future__ import annotations

import pathlib
import re
from typing import Any

from generated import GENERATED, is_fresh, today, write

import jitkit.bench.pitfalls
from jitkit.bench.calls_figure import draw_calls
from jitkit.bench.machine import machine
from jitkit.bench.pitfalls import THEMES
from jitkit.bench.pitfalls.measured import QUICK, Result, counts, explanation, measure_pair
from jitkit.bench.pitfalls.source import sources
from jitkit.bench.plotting import THEMES as GROUNDS
from jitkit.bench.plotting import Drawing
from jitkit.bench.words import duration

_FOLDER = GENERATED / "pitfalls"


def section(result: Result) -> str:
    """What the page says of one pitfall."""
    pitfall = result.pitfall
    slow, mended = sources(pitfall)
    rows = [
        f"| {name} | {n.traces} | {n.compiles} | {took} |"
        for name, n, took in (
            (
                "falls in",
                counts(result.slow),
                "ends in an error" if result.slow.error else duration(result.slow_seconds.median),
            ),
            ("mended", counts(result.mended), duration(result.mended_seconds.median)),
        )
    ]
    what = {
        "wrong": "Its fault is what it gives.",
        "error": "It ends in an error.",
        "grows": "It compiles at every call.",
    }
    said = "\n".join(f"> {_escaped(line)}" for line in explanation(result.slow))
    return f"""### {pitfall.title[0].upper()}{pitfall.title[1:]}

{pitfall.lesson} {what.get(result.cost, f"It takes {result.cost} as long.")}

::::{{tab-set}}
:::{{tab-item}} Falls in
```python
{slow}
```
:::
:::{{tab-item}} Mended
```python
{mended}
```
:::
::::

{_figures(result)}

| | traces | compilations | {"calls, when everything is compiled" if result.is_warm else "the program, from empty caches"} |
|---|---|---|---|
{chr(10).join(rows)}

What `explain` says:

{said}
"""


def _figures(result: Result) -> str:
    if not result.slow.calls:
        return ""
    words = f"Time of each call of both programs: {result.pitfall.title}"
    return "\n".join(
        f"![{words}](pitfalls/{result.pitfall.name}-{ground.name}.png){{.only-{ground.name} .plot}}"
        for ground in GROUNDS
    )


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]{}|#$])", r"\\\1", text)


def _draw(result: Result) -> None:
    programs = {"slow": result.slow, "mended": result.mended}

    def draw(figure: Any, theme: Any) -> None:
        axes = figure.subplots()
        draw_calls(axes, theme, programs, "")
        axes.set_xlabel("number of the call")
        axes.set_ylabel("time of the call")

    for ground in GROUNDS:
        path = _FOLDER / f"{result.pitfall.name}-{ground.name}.png"
        path.write_bytes(Drawing(draw, width=8.0, height=4.0).png(ground, dpi=100))


def page() -> str:
    """Measure all pairs, draw them, and write the page."""
    where = machine()
    count = sum(map(len, THEMES.values()))
    parts = [
        f"""# {count} pitfalls, and their mends

Programs of eight calls that recompile, wait, copy for nothing or give something wrong, each beside one that does not. They were run
while this page was built: from empty caches, in turns, every result waited for. In the figures a filled mark is a call that missed the
cache, a hollow one a hit. `jitkit bench pitfalls` measures them on your machine, and longer than it was done here;
[lab 10](labs/10_pitfalls.md) has you mend some.

Measured on {where["processor"]}, {where["cores"]} cores, {today()}.
"""
    ]
    for theme, pitfalls in THEMES.items():
        parts.append(f"## {theme[0].upper()}{theme[1:]}\n")
        for pitfall in pitfalls:
            result = measure_pair(pitfall, QUICK)
            if result.slow.calls:
                _draw(result)
            parts.append(section(result))
    return "\n".join(parts)


def _write(app: Any) -> None:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    made = GENERATED / "pitfalls.md"
    programs = pathlib.Path(jitkit.bench.pitfalls.__file__).parent.glob("*.py")
    if not is_fresh(made, *programs, pathlib.Path(__file__)):
        write("pitfalls.md", page())


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}
