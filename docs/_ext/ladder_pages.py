"""labs/from_scratch -> generated/ladder/NN_name.md: the page of each rung, with its programs, and an index

The answer stays where it is, on "A JIT in one sitting": who climbs wants to read the task without it.
"""

from __future__ import annotations

import ast
from typing import Any

from generated import write

from jitkit.kata.ladder.rungs import OPENS_BEHIND, Rung, all_rungs


def page_of(rung: Rung) -> str:
    """The page of a rung, in MyST Markdown."""
    rows = [f"- {sentence}" for sentence in sentences(rung)]
    return "\n".join([rung.page.rstrip(), "", "## The programs", "", *rows, ""])


def sentences(rung: Rung) -> list[str]:
    """What each program of a rung is about, in its own words."""
    functions = [each for each in ast.parse(rung.programs[1]).body if isinstance(each, ast.FunctionDef)]
    calls = [each for function in functions for each in function.decorator_list if isinstance(each, ast.Call)]
    return [ast.literal_eval(call.args[1]) for call in calls if ast.unparse(call.func) == "program"]


def index() -> str:
    """The page before the rungs'."""
    rungs = all_rungs()
    rows = [f"| [{rung.number} {rung.title}]({rung.folder.name}.md) | {rung.names} | {rung.size} |" for rung in rungs]
    names = "\n".join(rung.folder.name for rung in rungs)
    behind = sum(rung.is_behind for rung in rungs)
    return f"""# From an empty file

{len(rungs) - behind} rungs lead from the first primitive to `jit(vmap(grad(loss)))` of your own package, which trains a network.
{behind} more, behind the door, put a compiler of your own in the place of XLA; they are open from rung {OPENS_BEHIND} on,
the last two of them from rung 14.
Nothing is given but `xla.py`, sixty lines that reach XLA, and `cc.py`, which reaches a C compiler; how you build it is
yours. A rung is a page and some ten small programs, which run on your package and on jitkit with the same random inputs.

```sh
jitkit start --from-scratch my-jax    # a folder that is new or empty
cd my-jax
jitkit                                # edit, save, read; or `jitkit hint`
```

`jitkit show --report` measures what your package can do. The answer is one file, [A JIT in one sitting](../../a_jit_in_one_sitting.md),
and behind the door another one, `solutions/behind_the_door.py`.

| rung | public names that are new | lines, about |
|---|---|---|
{chr(10).join(rows)}

```{{toctree}}
:hidden:

{names}
```
"""


def _write(app: Any) -> None:
    write("ladder/index.md", index())
    for rung in all_rungs():
        write(f"ladder/{rung.folder.name}.md", page_of(rung))


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}
