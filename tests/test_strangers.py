"""Programs as people write them, with `import jax`: unchanged on jitkit, each value that they end with has JAX's bits.

The programs of `strangers` run in one process on JAX, and in one on jitkit: a ninth of them in `make test`, a third in
`make test-rest`, all in `make test-all`. A program ends with a `result`, a tree of arrays.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
import tails

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
LEAST = 5  # a program must have this many values on average


def values_of(names: list[str], *options: str) -> dict[str, list[str]]:
    """Run programs; return what `libraries.digests` prints of each value, by program."""
    command = [sys.executable, "-W", "ignore", *options, "-c", CODE.format(names=names)]
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


@pytest.mark.parametrize("every", tails.keeping([9, 1], 9, mark=pytest.mark.rest))
def test_programs_of_others_end_with_the_bits_of_jax(every):
    names = NAMES[::9] if every == 9 else tails.some_of(NAMES)
    ours, theirs = values_of(names, "-m", "jitkit.as_jax"), values_of(names)
    assert list(ours) == list(theirs) == names
    assert sum(map(len, theirs.values())) >= LEAST * len(theirs)
    failed = [text for texts in theirs.values() for text in texts if text.startswith("error")]
    assert not failed, "on JAX itself"
    for name in theirs:
        assert ours[name] == theirs[name], name
