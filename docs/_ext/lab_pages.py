"""labs/NN_name -> generated/labs/NN_name.md: the text of a lab, its exercises, and the plot of its experiment

The plot is the reference's, measured while the site is built, and folded away: there is a prediction to be made first.
"""

from __future__ import annotations

import re
import shutil
from typing import Any

from generated import GENERATED, is_fresh, write

from jitkit.kata.engine.manifest import Lab, all_labs
from jitkit.kata.screens import experiment as experiments

_IMAGE = re.compile(r"(!\[[^\]]*\])\((\w+\.svg)\)")


def page_of(lab: Lab) -> str:
    """The page of a lab, in MyST Markdown."""
    text = (lab.folder / "README.md").read_text(encoding="utf-8")
    text = _IMAGE.sub(rf"\1({lab.name}/\2){{.figure}}", text)
    text = text.replace("```python\n>>> ", "```pycon\n>>> ")
    before, heading, after = text.partition("\n## In JAX\n")
    parts = [before.rstrip(), _experiment(lab), _exercises(lab)]
    if heading:
        parts.append(f"## In JAX\n{after.rstrip()}")
    return "\n\n".join(filter(None, parts)) + "\n"


def _experiment(lab: Lab) -> str:
    if lab.experiment is None:
        return ""
    options = "\n".join(f"{i}. {option}" for i, option in enumerate(lab.experiment.options, 1))
    return f"""**{lab.experiment.question}**

{options}

:::{{dropdown}} Decided? The plot of the reference
![What the experiment of this lab measured: {_plain(lab.experiment.question)}]({lab.name}/experiment.png){{.figure}}

{lab.experiment.answer}
:::"""


def _plain(text: str) -> str:
    return re.sub(r"[\[\]`]", "", text)


def _exercises(lab: Lab) -> str:
    rows = [f"| {e.id} | {e.title} | {e.points} | {_targets(e)} |" for e in lab.exercises]
    return "\n".join(
        ["## The exercises", "", "| exercise | title | points | in the reference |", "|---|---|---|---|", *rows]
    )


def _targets(exercise: Any) -> str:
    return ", ".join(f"`{target.module}:{target.name}`" for target in exercise.targets)


def index() -> str:
    """The page before the labs'."""
    labs = all_labs()
    rows = [f"| [{lab.number} {lab.title}]({lab.name}.md) | {lab.summary} | {lab.minutes} min |" for lab in labs]
    count, minutes = sum(len(lab.exercises) for lab in labs), sum(lab.minutes for lab in labs)
    rows.append(f"| | all of them | {minutes // 60} h |")
    names = "\n".join(lab.name for lab in labs)
    return f"""# The labs

{len(labs)} labs, {count} exercises: each takes a few functions out of jitkit and asks you to write them back. What you have not
written comes from the reference, so every lab can be done on its own.

```sh
jitkit start my-labs    # a folder that is new or empty
cd my-labs
jitkit                  # edit a file, save, read the verdict; `jitkit hint` when you are stuck
```

In a terminal, by `pytest`, or in notebooks. At the end of a lab your own functions are measured and drawn; `jitkit export my-jit`
hands you a complete `jax.jit`, `grad` and `vmap` with all of them in it. How a lab is made: [Writing a lab](../../labs.md).

| lab | what you build | time |
|---|---|---|
{chr(10).join(rows)}

```{{toctree}}
:hidden:

{names}
```
"""


def _write(app: Any) -> None:
    write("labs/index.md", index())
    for lab in all_labs():
        folder = GENERATED / "labs" / lab.name
        folder.mkdir(parents=True, exist_ok=True)
        for image in lab.folder.glob("*.svg"):
            shutil.copy(image, folder)
        plot, program = folder / "experiment.png", lab.folder / "experiment.py"
        if lab.experiment is not None and not is_fresh(plot, program):
            experiments.draw(lab, experiments.measure(lab, [], quick=True), plot)
        write(f"labs/{lab.name}.md", page_of(lab))


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}
