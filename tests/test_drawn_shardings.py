"""`debug.visualize_array_sharding` and `inspect_array_sharding`: what they draw and say is what JAX does."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import jitkit
import jitkit.numpy as jnp

# A stand-in for `rich`: it prints how each part of a drawing is made.
_RICH = """\
class Part:
    def __init__(self, *args, **kwargs):
        self.made = type(self).__name__, args, sorted(kwargs.items())
        self.rows = []
    def __repr__(self):
        return f"{self.made}{self.rows or ''}"
    def add_row(self, *cells):
        self.rows.append(cells)
class Table(Part): pass
class Padding(Part): pass
class Align(Part): pass
class Style(Part): pass
class Console(Part):
    color_system = COLORS
    def print(self, *args, **kwargs):
        print(self, *args, kwargs)
SQUARE = "square"
"""
_PROGRAM = """\
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
def colors(x):
    return x, 1 - x, x / 2, 1.0
mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))
for shape in (8, 4), (8,), (16, 64):
    for spec in P(), P("a"), P(("a", "b")), P(None, "b"), P("a", "b"):
        if len(spec) <= len(shape):
            x = jax.device_put(jnp.zeros(shape), NamedSharding(mesh, spec))
            jax.debug.visualize_array_sharding(x, color_map=colors)
            jax.debug.visualize_sharding(shape, x.sharding, use_color=False, scale=2.0, min_width=4, max_width=100)
jax.debug.inspect_array_sharding([x, jnp.ones(3)], callback=print)
@jax.jit
def f(x):
    jax.debug.visualize_array_sharding(x, color_map=colors)
    return x
f(jnp.ones((4, 4)))
f(jnp.ones((4, 4)))
jax.jvp(f, (jnp.ones(4),), (jnp.ones(4),))
try:
    jax.debug.visualize_array_sharding(jnp.ones((2, 2, 2)))
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("colors", ["None", "'truecolor'"])
def test_drawings_are_jaxs(tmp_path: pathlib.Path, colors: str) -> None:
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich" / "__init__.py").write_text(_RICH.replace("COLORS", colors))
    for name in ("align", "box", "console", "padding", "style", "table"):
        (tmp_path / "rich" / f"{name}.py").write_text("from . import *")
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    path = os.pathsep.join([str(tmp_path), str(pathlib.Path(__file__).parent.parent)])
    said = [
        subprocess.run(
            [sys.executable, *which, str(program)],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for which in ([], ["-m", "jitkit.as_jax"])
    ]
    assert "CPU 0,1,2,3,4,5,6,7" in said[0]
    assert said[0] == said[1]


def test_without_rich_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="requires `rich` to be installed"):
        jitkit.debug.visualize_array_sharding(jnp.ones(3))


def test_a_traced_array_is_inspected_where_its_program_is_lowered() -> None:
    seen: list[object] = []

    @jitkit.jit
    def f(x: jitkit.Array) -> jitkit.Array:
        jitkit.debug.inspect_array_sharding(x, callback=seen.append)
        return x + 1

    jitkit.vmap(f)(jnp.ones((2, 3)))
    f(jnp.ones(3))
    f(jnp.ones(3))
    assert seen == [jnp.ones(3).sharding] * 2
