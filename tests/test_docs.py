"""The pages of `docs/` and what makes a site of them: what can be said without building it. `make test-docs` looks at the site itself."""

from __future__ import annotations

import ast
import importlib
import pathlib
import re
import sys

import pytest

import jitkit
from jitkit.bench.pitfalls import BY_NAME
from jitkit.bench.pitfalls.measured import Effort, measure_pair
from jitkit.kata.engine.manifest import all_labs

DOCS = pathlib.Path(__file__).parents[1] / "docs"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")}
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def generators():
    """Yield the modules of `docs/_ext`, imported as Sphinx does."""
    sys.path.insert(0, str(DOCS / "_ext"))
    yield
    sys.path.remove(str(DOCS / "_ext"))


def test_every_page_is_in_the_table_of_contents():
    named = set(re.findall(r"^(?:generated/)?([\w/]+)$", PAGES["index"], re.MULTILINE))
    assert set(PAGES) - {"index"} <= named


def test_links_into_the_repository_lead_to_files_and_names_that_are_there():
    places = importlib.import_module("places")
    links = [(page, *match[1:]) for page, text in PAGES.items() for match in places.LINK.findall(text)]
    assert len(links) > 30
    assert [link for link in links if not (DOCS / link[1]).resolve().exists()] == []
    named = [(DOCS.joinpath(path).resolve(), name) for _, path, name in links if name and path.endswith(".py")]
    assert len(named) > 25
    assert [(path.name, name) for path, name in named if places.line_of(path, name) is None] == []


def test_a_link_to_a_name_becomes_one_to_its_line(tmp_path):
    places = importlib.import_module("places")
    file = tmp_path / "module.py"
    file.write_text("import os\n\nif os:\n    a, b = 1, 2\n\n\nclass C:\n    size: int = 0\n\n    def f(self): ...\n")
    assert [places.line_of(file, name) for name in ("b", "C", "C.size", "C.f", "os")] == [4, 7, 8, 10, None]
    assert (
        places.with_links("[`jit`](../jitkit/pjit/jit.py#jit)", "reading") == "{source}`jit <jitkit/pjit/jit.py#jit>`"
    )
    assert places.with_links("[README](../README.md)", "benchmarks") == "[README](index.md)"
    assert places.with_links("[a](../labs/12_vmap/README.md)", "labs") == "[a](generated/labs/12_vmap.md)"
    assert places.with_links("![a](../pipeline.svg)", "x/y") == "![a](../pipeline.svg)"


def test_programs_are_cells_where_a_page_asks_for_it():
    cells = importlib.import_module("cells")
    page = "---\nprograms: run\n---\n# T\n\n```python\n1 + 1\n```\n\n```sh\nls\n```\n\n```python\n# raises TypeError\n1()\n```\n"
    made = cells.with_cells(page)
    assert made.count("```{code-cell} python") == 3  # and a first cell, which is not shown
    assert ":tags: [remove-cell]" in made
    assert "```{code-cell} python\n:tags: [raises-exception]\n# raises TypeError\n1()\n```" in made
    assert "```sh\nls\n```" in made
    assert cells.with_cells(page.replace("programs: run", "other: x")) == page.replace("programs: run", "other: x")


def test_the_programs_of_pages_that_are_run_are_python():
    run = [text for text in PAGES.values() if text.startswith("---\nprograms: run\n")]
    assert len(run) >= 4
    for program in (program for text in run for program in BLOCK.findall(text)):
        ast.parse(program)


def test_a_cell_that_fails_names_its_error():
    """The class is in the heading above it, so that the program shows what the section is about."""
    sections = re.split(r"^## ", PAGES["errors"], flags=re.MULTILINE)[1:]
    raising = {section.split("\n")[0]: re.findall(r"# raises (\w+)", section) for section in sections}
    assert raising.pop("Shapes, dtypes, rules") == ["TypeError"] * 2  # two of many, each with its first words
    assert set(raising.pop("Habits from PyTorch and NumPy")) <= {"AttributeError", "TypeError"}
    assert {name for name, errors in raising.items() if errors} == {n for n, errors in raising.items() if errors == [n]}
    assert len([name for name, errors in raising.items() if errors]) == 9


def test_a_lab_is_a_page_with_its_exercises_and_a_prediction_before_the_plot():
    lab_pages = importlib.import_module("lab_pages")
    labs = all_labs()
    for lab in labs:
        page = lab_pages.page_of(lab)
        assert page.startswith(f"# {lab.number} ")
        assert all(f"| {exercise.id} | {exercise.title} |" in page for exercise in lab.exercises)
        if lab.experiment is not None:
            question, plot = page.index(lab.experiment.question), page.index("experiment.png")
            assert question < page.index(":::{dropdown}") < plot < page.index(lab.experiment.answer)
    index = lab_pages.index()
    assert all(f"]({lab.name}.md)" in index and f"\n{lab.name}\n" in index for lab in labs)


@pytest.mark.parametrize("name", ["lambda", "static-unhashable", "stale-array"])
def test_a_pitfall_has_both_programs_its_counts_and_what_explain_says(name):
    pitfall_pages = importlib.import_module("pitfall_pages")
    result = measure_pair(BY_NAME[name], Effort(least=1, most=1, seconds=0.0))
    text = pitfall_pages.section(result)
    assert text.count("```python") == 2
    assert f"| mended | {result.mended.traces} | {result.mended.compiles} |" in text
    assert text.partition("What `explain` says:")[2].strip().startswith("> ")
    assert ("-dark.png" in text) == bool(result.slow.calls)


@pytest.mark.parametrize("package", ["jitkit", "jitkit.lax", "jitkit.tree_util"])
def test_public_names_are_listed_with_signature_docstring_and_line(package):
    names = importlib.import_module("public_names")
    module = importlib.import_module(package)
    page = names.page_of(package)
    listed = re.findall(rf"^::::::\{{py:\w+\}} {re.escape(package)}\.(\w+)", page, re.MULTILINE)
    assert listed == names.names_of(module)
    functions = [name for name in listed if callable(getattr(module, name))]
    entries = [names.entry(package, name, getattr(module, name)) for name in functions]
    assert sum("{source}`" in entry for entry in entries) > 0.97 * len(entries)


def test_a_docstring_becomes_markdown():
    names = importlib.import_module("public_names")
    assert names.markdown(
        "Do it.\n\nArgs:\n  x: a number, of\n    any size.\n  *y: others.\n\nReturns:\n  Another."
    ) == ("Do it.\n\n**Args**\n\n- `x`: a number, of\n  any size.\n- `*y`: others.\n\n**Returns**\n\nAnother.")
    assert names.signature(jitkit.make_jaxpr).startswith("(fun, static_argnums=")
