"""Programs as people write them, with `import jax`: unchanged on jitkit, each value that they end with has JAX's bits.

All programs of `strangers` run in one process on JAX, and in one on jitkit. A program ends with a `result`, a tree of arrays.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
NAMES = sorted(path.stem for path in (HERE / "strangers").glob("*.py"))
CODE = """
import pathlib, traceback
import jax, libraries
for name in {names!r}:
    print("program", name)
    try:
        libraries.digests(pathlib.Path("strangers") / f"{{name}}.py")
    except Exception:
        print("leaf error", traceback.format_exc())
    jax.config.update("jax_enable_x64", False)
"""
LEAST = 150  # values: of all programs together


def values_of(*options: str) -> dict[str, list[str]]:
    """Run all programs; return what `libraries.digests` prints of each value, by program."""
    command = [sys.executable, "-W", "ignore", *options, "-c", CODE.format(names=NAMES)]
    path = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        command,
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "program":
            values = found[rest] = []
        elif kind == "leaf":
            values.append(rest)
    return found


@pytest.fixture(scope="module")
def values():
    return values_of("-m", "jitkit.as_jax"), values_of()


def test_programs_of_others_end_with_the_bits_of_jax(values):
    ours, theirs = values
    assert list(ours) == list(theirs) == NAMES
    assert sum(map(len, theirs.values())) >= LEAST
    failed = [text for texts in theirs.values() for text in texts if text.startswith("error")]
    assert not failed, "on JAX itself"
    for name in NAMES:
        assert ours[name] == theirs[name], name
