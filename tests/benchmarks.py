"""Writes into the pages of `docs` what `jitkit bench peers`, `eager` and `loops` print on this machine: `make benchmarks`."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
PAGES = {
    "peers": ROOT / "docs" / "benchmarks.md",
    "eager": ROOT / "docs" / "benchmarks.md",
    "loops": ROOT / "docs" / "what_xla_did_for_us.md",
}


def measured(name: str) -> str:
    """Return the table of a benchmark, measured now."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "jitkit.kata", "bench", name, "--save", folder]
        subprocess.run(command, cwd=ROOT, env={**os.environ, "COLUMNS": "100"}, check=True)
        return pathlib.Path(folder, f"{name}.txt").read_text(encoding="utf-8").strip()


def with_table(page: str, name: str, table: str) -> str:
    """Return the page with `table` below the heading of a benchmark. Raise ValueError if the page has no such heading."""
    block = re.compile(rf"(### `jitkit bench {name}`\n\n```\n).*?(\n```\n)", re.DOTALL)
    changed, count = block.subn(lambda found: f"{found[1]}{table}{found[2]}", page)
    if count != 1:
        raise ValueError(f"the page has {count} tables of `jitkit bench {name}`")
    return changed


if __name__ == "__main__":
    for benchmark in sys.argv[1:] or PAGES:
        page = PAGES[benchmark]
        page.write_text(with_table(page.read_text(encoding="utf-8"), benchmark, measured(benchmark)), encoding="utf-8")
