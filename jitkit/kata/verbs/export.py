"""`jitkit export`: a complete jitkit with the learner's functions, as far as they pass

The package is the reference's source with the learner's functions in it, as text: decorators and everything around
stay, helpers and imports come along. The reference's own tests stand beside it, and run on this jitkit as on ours.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import sys
from collections.abc import Iterator, Sequence

import jitkit

from ..engine.manifest import tests_folder
from ..engine.name_origins import source_path
from ..engine.names import tree_of
from ..engine.reference import PACKAGE
from ..engine.running import parsed
from ..engine.source_edit import splice_text
from ..engine.submission import LearnerFile, Target
from ..problems import OK, Problem
from ..screens.terminal import Screen
from ..workspace.judge import Binding, bindings
from ..workspace.workspace import Look, Workspace

_OF_OTHER_CHIPS = ("targets",)  # tests that need compilers of 450 MB, which the usual tests leave out here, too
_NOT_OF_THE_PACKAGE = ("__pycache__", "labs", "reference_tests")
# Tests of the reference that are not about the JIT: about this repository, the course, the benchmarks.
_ABOUT_THE_PROJECT = re.compile(r"jitkit\.kata|jitkit\.bench|\bgrading\b|README|pyproject|\bdocs\b|Makefile")

_PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "jitkit"
version = "{version}+mine"
description = "A jax.jit, written by hand"
requires-python = ">=3.11"
dependencies = ["jax>=0.10.2,<0.13", "matplotlib>=3.9"]

[project.optional-dependencies]
test = ["hypothesis>=6.100", "pytest>=8.2"]

[project.scripts]
jitkit = "jitkit.kata.__main__:main"

[tool.hatch.build.targets.wheel]
packages = ["jitkit"]

[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = ["-m=not tail and not words"]  # `-m 'not words'` runs the long tests, too
"""

_README = """\
# A JIT of my own

This is `jitkit`, a small `jax.jit`: tracing, jaxprs, lowering to StableHLO, compilation by XLA, caching, control flow.
{yours}

```
python -m pip install -e ".[test]"            what the tests need: pytest and hypothesis
python -m pytest                              the reference's own tests, on this jitkit (some thousands; half an hour)
python -m jitkit.kata tour                    one function through every stage
python -m jitkit.kata bench peers --quick     beside JAX, measured here
```

The words of an error are mine where I wrote it, and so is how a derivative is written down: the tests compare classes of errors, and
what programs compute. `python -m pytest -m ''` compares words and jaxprs with JAX's, too, and runs the long tests.

```python
import jitkit as jax
import jitkit.numpy as jnp

selu = jax.jit(lambda x: 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67))
selu(jnp.arange(5.0))
```

{table}
"""


def run(arguments: argparse.Namespace) -> int:
    """Write the learner's jitkit to the folder that the command line names; return the exit status. Raise Problem if something is already
    there, or the folder cannot be written.
    """
    screen = Screen.of(sys.stdout)
    workspace = Workspace.find()
    folder = pathlib.Path(os.path.normpath(arguments.folder.expanduser().absolute()))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Problem(f"{folder} is there already. Export to a folder that is new, or empty.")
    look = workspace.look()
    found = list(bindings(look, with_suspects=True))  # suspects passed their own checks
    try:
        export(folder, look, found)
    except OSError as error:
        raise Problem(f"{error.filename or folder} cannot be written: {error.strerror}.") from None
    ids = list(dict.fromkeys(binding.exercise.id for binding in found))
    screen.line(
        f"{folder}: a jitkit with {len(found)} function{'s' * (len(found) != 1)} of yours ({' '.join(ids) or 'none yet'}).",
        "bold",
    )
    screen.text("Its README says which. In there:", 0)
    screen.line('    python -m pip install -e ".[test]"')
    screen.line("    python -m pytest")
    screen.line("    python -m jitkit.kata bench peers --quick")
    return OK


def export(folder: pathlib.Path, look: Look, found: Sequence[Binding]) -> None:
    """Write the package, its tests, `pyproject.toml` and a README to a folder. Raise OSError if it cannot be written."""
    ignore = shutil.ignore_patterns(*_NOT_OF_THE_PACKAGE)
    shutil.copytree(PACKAGE, folder / "jitkit", ignore=ignore)
    for module, text in spliced_modules(found):
        path = pathlib.Path(source_path(module, str(folder / "jitkit")))
        path.write_text(text, encoding="utf-8")
    tests = tests_folder()
    if tests.is_dir():
        _copy_tests(tests, folder / "tests")
    (folder / "pyproject.toml").write_text(_PYPROJECT.format(version=jitkit.__version__), encoding="utf-8")
    (folder / "README.md").write_text(_readme(look, found), encoding="utf-8")


def _copy_tests(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copy the tests of the JIT, and the modules that they use."""
    for path in sorted(source.rglob("*.py")):
        if path.relative_to(source).parts[0] in _OF_OTHER_CHIPS:
            continue
        text = path.read_text(encoding="utf-8")
        if path.name.startswith("test_") and _ABOUT_THE_PROJECT.search(text):
            continue
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text, encoding="utf-8")


def _readme(look: Look, found: Sequence[Binding]) -> str:
    mine = {binding.target for binding in found}
    rows = [
        f"| {exercise.id} | {exercise.title} | `{target}` | {'mine' if target in mine else 'reference'} |"
        for _, exercise in look.exercises()
        for target in exercise.targets
    ]
    yours = f"{len(mine)} of its functions are mine, the rest is the reference's."
    table = "\n".join(["| exercise | | function | whose |", "|---|---|---|---|", *rows])
    return _README.format(yours=yours, table=table)


# --- text -----------------------------------------------------------------------------------------------------------


def spliced_modules(found: Sequence[Binding]) -> Iterator[tuple[str, str]]:
    """Yield each module with a function of the learner's, and its text with all of them. Raise Problem if that is not
    valid Python, which is a fault of ours.
    """
    for module in dict.fromkeys(binding.target.module for binding in found):
        source = pathlib.Path(source_path(module, str(PACKAGE))).read_text(encoding="utf-8")
        by_file: dict[str, tuple[LearnerFile, list[Target]]] = {}
        for binding in found:
            if binding.target.module == module:
                file = parsed(binding.source)
                by_file.setdefault(file.path, (file, []))[1].append(binding.target)
        text = source
        for file, targets in by_file.values():
            text = splice_text(text, source, file, targets)
        try:
            tree_of(text)
        except SyntaxError as error:
            raise Problem(
                f"{module} with your functions in it is not valid Python ({error}). Please report this."
            ) from None
        yield module, text
