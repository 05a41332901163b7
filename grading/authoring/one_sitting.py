"""solutions/from_scratch.py -> docs/a_jit_in_one_sitting.md: the reference of the ladder as a page

Comments in the first column become prose, headings of sections become headings, and everything else is code. Below a
section stands a cell, `# >>> print(...)`, with `# => ` before each line that it prints. The page shows the cell's code,
and computes its output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jitkit.kata.ladder.rungs import solution_file

from ..shared import ROOT

PAGE = ROOT / "docs" / "a_jit_in_one_sitting.md"
_HEADING = re.compile(r"# === (\d\d) (.*?) =+")
_ASKED, _PRINTED = "# >>> ", "# =>"
_LOOK = """
## And it runs

```python
def loss(w, x, y):
    return numpy.mean((numpy.tanh(x @ w) - y) ** 2)


print(make_jaxpr(grad(lambda x: numpy.sin(x) * x))(2.0))
```

```python
x = numpy.asarray(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))
w, y = numpy.zeros(3), numpy.asarray(np.float32([0.5, 0.1, -0.1, -0.5]))
step = jit(lambda w: w - 0.5 * grad(loss)(w, x, y))
for _ in range(100):
    w = step(w)
print(w, loss(w, x, y))
print(jit(vmap(grad(loss), in_axes=(None, 0, 0)))(w, x, y).shape)
```

## The machine

The package uses XLA only through `xla.py`, which you are given:

```{literalinclude} ../labs/from_scratch/xla.py
:language: python
```
"""


def page_text() -> str:
    """Return the text of `docs/a_jit_in_one_sitting.md`."""
    return "\n".join(_lines(solution_file().read_text(encoding="utf-8"))) + "\n"


def _lines(text: str) -> Iterator[str]:
    _, docstring, rest = text.split('"""', 2)
    title, _, about = docstring.partition("\n\n")
    yield "---\nprograms: run\nhide-toc: true\n---"  # run by `make docs`; its code needs the width
    yield f"# {title.partition(':')[0]}"
    yield ""
    yield title.partition(":")[2].strip()
    yield ""
    yield about.strip()
    yield ""
    code: list[str] = []
    for line in rest.splitlines():
        if line.startswith(_PRINTED):
            continue
        if line.startswith(_ASKED):
            code.append(line.removeprefix(_ASKED))
            continue
        heading = _HEADING.fullmatch(line)
        if heading is None and line != "#" and not line.startswith("# "):
            code.append(line)
            continue
        yield from _fenced(code)
        code = []
        yield f"\n## {heading[1]} {heading[2]}\n" if heading is not None else line[2:]
    yield from _fenced(code)
    yield _LOOK


def _fenced(code: list[str]) -> Iterator[str]:
    text = "\n".join(code).strip("\n")
    if text:
        yield f"\n```python\n{text}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page_text(), encoding="utf-8")
