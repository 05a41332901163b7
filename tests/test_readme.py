"""The README is true: its programs run, its tables are complete, and its links lead somewhere."""

from __future__ import annotations

import ast
import pathlib
import pkgutil
import re

import jax
import jax.numpy as jax_numpy
import jax.scipy.special
import jax.scipy.stats

import jitkit
from jitkit.base import options
from jitkit.kata.command import cli

ROOT = pathlib.Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_programs_of_the_readme_run_and_print_what_jax_prints(capsys):
    [program] = BLOCKS
    exec(program, {})

    def selu(x, alpha=1.67, lmbda=1.05):
        return lmbda * jax_numpy.where(x > 0, x, alpha * jax_numpy.exp(x) - alpha)

    printed = capsys.readouterr().out
    assert printed == f"{jax.jit(selu)(jax_numpy.arange(-2.0, 3.0))}\n{jax.make_jaxpr(selu)(jax_numpy.arange(3.0))}\n"


def block_of(first):
    """Return the block of the README that begins with a line."""
    [block] = [each for each in README.split("\n```\n") if each.strip().startswith(first)]
    return [line.strip() for line in block.splitlines() if line.strip()]


def test_the_verdict_in_the_readme_is_what_the_command_says(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli.main(["start", "my-labs"]) == 0
    monkeypatch.chdir(tmp_path / "my-labs")
    file = pathlib.Path("00_hello", "exercises.py")
    stub = file.read_text(encoding="utf-8")
    file.write_text(
        stub.replace('raise NotImplementedError("00.1")', "return jnp.where(x < 0, 0.0, x)"), encoding="utf-8"
    )
    capsys.readouterr()
    assert cli.main(["check", "00.1"]) == 1
    said = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in block_of("✓ pass") if line not in said] == []


def test_the_lines_of_the_tour_in_the_readme_are_the_tour_s():
    lines = block_of("2  Trace")
    assert len(lines) == 12

    def selu(x, alpha=1.67, lmbda=1.05):
        return lmbda * jax_numpy.where(x > 0, x, alpha * jax_numpy.exp(x) - alpha)

    jaxpr = str(jax.make_jaxpr(selu)(jax.ShapeDtypeStruct((1_000_000,), "float32")))
    assert [line.strip() for line in jaxpr.splitlines()[:4]] == lines[3:7]
    tour = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "jitkit" / "kata" / "tour").glob("*.py"))
    plain = " ".join(tour.replace('"', "").split())
    for sentence in (
        "Python ran the function once, on a tracer in place of x.", "It saw a type and no numbers",
        "each operation was written down as an equation.", "Why the last call missed, as jitkit.explain(selu) puts it:",
    ):  # fmt: skip
        assert sentence in plain
        assert sentence in " ".join(lines)
    f = jitkit.jit(lambda x: x + 1)
    f(jitkit.numpy.ones(1_000_000))
    f(jitkit.numpy.ones(500_000))
    told = " ".join(str(jitkit.explain(f)).split())
    for sentence in ("x: float32[1000000] before, float32[500000] now", " ".join(lines[-2:])):
        assert sentence in told


def test_every_option_is_in_the_table_with_its_variable():
    table = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", table, re.MULTILINE))
    expected = {name: options.ENVIRONMENT.get(name, f"JITKIT_{name.upper()}") for name in options.OPTIONS}
    assert rows == expected


def test_the_modules_of_the_reading_order_begin_as_the_walk_says():
    walk = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_/]+)` \| ([^|]+) \|", walk, re.MULTILINE)
    places = {name: (ROOT / "jitkit" / f"{name}.py", ROOT / "jitkit" / name / "__init__.py") for name, _ in rows}
    modules = {name: line for name, line in rows if any(path.exists() for path in places[name])}
    assert len(modules) == 15
    for name, line in modules.items():
        path = next(path for path in places[name] if path.exists())
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert " ".join(ast.get_docstring(tree).split()).startswith(line)


def test_what_the_readme_points_at_is_there():
    files = re.findall(r"\]\(((?!http)[^)]+)\)", README) + re.findall(r"`((?:docs|tests)/[\w./]+)`", README)
    assert files
    assert [path for path in files if not (ROOT / path).exists()] == []


def test_the_commands_of_the_readme_exist():
    verbs = set(re.findall(r"`?jitkit (tour|bench|start|watch|check|hint|show|reset|status|export)\b", README))
    assert verbs
    assert verbs <= set(cli.VERBS)
    targets = set(re.findall(r"`make (\w+)`", README))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


NAMED_AS_WHAT_IS = {"experimental", "io_callback", "ode", "pmap", "shard_map", "checkify", "enable_x64", "pjit"}


def test_what_is_not_here_is_not_here():
    section = README.partition("## What is not here yet\n")[2].partition("[CHANGELOG.md]")[0]
    of_scipy, _, others = section.partition("and some functions of its other modules")
    modules = {module.name for module in pkgutil.iter_modules(jax.scipy.__path__)}
    ours = {module.name for module in pkgutil.iter_modules(jitkit.scipy.__path__)}
    assert set(re.findall(r"`(\w+)`", of_scipy)) == modules - ours
    named = {name.removeprefix("jax.").rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", others)}
    assert len(named) > 6
    assert not (named - NAMED_AS_WHAT_IS) & {*dir(jitkit), *dir(jitkit.lax)}
    assert {*dir(jitkit), *dir(jitkit.experimental)} >= NAMED_AS_WHAT_IS
