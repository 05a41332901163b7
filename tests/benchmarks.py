"""Write into docs/benchmarks.md what `jitkit bench peers` and `jitkit bench eager` print on this machine: `make benchmarks`."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "benchmarks.md"
BENCHMARKS = ("peers", "eager")


def measured(name: str) -> str:
    """The table of a benchmark, measured now."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "jitkit.kata", "bench", name, "--save", folder]
        subprocess.run(command, cwd=PAGE.parents[1], env={**os.environ, "COLUMNS": "100"}, check=True)
        return pathlib.Path(folder, f"{name}.txt").read_text(encoding="utf-8").strip()


def with_table(page: str, name: str, table: str) -> str:
    """The page with another table below the heading of a benchmark. ValueError where there is none."""
    block = re.compile(rf"(### `jitkit bench {name}`\n\n```\n).*?(\n```\n)", re.DOTALL)
    changed, count = block.subn(lambda found: f"{found[1]}{table}{found[2]}", page)
    if count != 1:
        raise ValueError(f"docs/benchmarks.md has {count} tables of `jitkit bench {name}`")
    return changed


if __name__ == "__main__":
    for benchmark in sys.argv[1:] or BENCHMARKS:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), benchmark, measured(benchmark)), encoding="utf-8")
