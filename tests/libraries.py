"""Runs libraries' own tests on JAX and on jitkit, and writes down what passes: `docs/as_jax.md`.

    python tests/libraries.py                 run all, print the table, and end with 1 where a library reaches less than it has to
    python tests/libraries.py optax jmp       only these
    python tests/libraries.py --write         run all, and write the page

The libraries are installed at the versions of `pyproject.toml`, in an environment of their own (`make test-libraries`). A test counts that
passes on JAX; the two runs have the same files, options and number of processes, and their times are those of pytest's own clock.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from collections import Counter
from typing import NamedTuple

PATH = pathlib.Path(__file__).resolve().parent.parent / "docs" / "as_jax.md"
LIMIT = 1500  # seconds for one library on one of the two


class Library(NamedTuple):
    """A library: its name in the registry and as a module, and the share of its tests that has to pass."""

    name: str
    module: str
    least: float


LIBRARIES = (
    Library("jmp", "jmp", 1.0),
    Library("chex", "chex", 0.65),
    # what these reach is told, and no share is asked of them yet
    Library("optax", "optax", 0.0),
    Library("rlax", "rlax", 0.0),
    Library("dm-haiku", "haiku", 0.0),
    Library("distrax", "distrax", 0.0),
)


class Outcome(NamedTuple):
    """A run: the tests by name with what became of each, the seconds, and why those that failed did."""

    passed: frozenset[str]
    reasons: dict[str, str]
    seconds: float


def tests_of(library: Library) -> list[str]:
    """The files of tests that a library has brought along."""
    (folder,) = importlib.util.find_spec(library.module).submodule_search_locations
    return [str(path) for path in sorted(pathlib.Path(folder).rglob("*_test.py"))]


def run(library: Library, as_jax: bool) -> Outcome:
    """Run the tests on JAX, or on jitkit in its place."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:jitkit",
            f"--junit-xml={report}",
            "--tb=line",
        ]
        command += [
            "-n",
            str(min(2, os.cpu_count() or 1)),
            "--dist",
            "loadfile",
            "-W",
            "ignore",
            "--continue-on-collection-errors",
        ]
        command += ["-p", "jitkit.as_jax"] if as_jax else []
        command += tests_of(library)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT)
        if not report.is_file():
            raise SystemExit(f"pytest wrote no report on {library.name}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return read(report)


def read(report: pathlib.Path) -> Outcome:
    """What pytest's report says."""
    suite = xml.etree.ElementTree.parse(report).getroot().find("testsuite")
    passed, reasons = set(), {}
    for case in suite.iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        failure = case.find("failure") if case.find("failure") is not None else case.find("error")
        if failure is not None:
            reasons[name] = in_short(failure.get("message") or failure.text or "")
        elif case.find("skipped") is None:
            passed.add(name)
    return Outcome(frozenset(passed), reasons, float(suite.get("time")))


def in_short(message: str) -> str:
    """The first line of an error, without what changes from run to run."""
    first = next((line for line in message.splitlines() if line.strip()), "")
    return re.sub(r"0x[0-9a-f]+|/\S+/", "...", first)[:160]


class Row(NamedTuple):
    """What the table says of a library."""

    library: Library
    version: str
    on_jax: int
    here: int
    ratio: float
    reasons: list[tuple[str, int]]

    @property
    def is_enough(self) -> bool:
        return self.here >= self.library.least * self.on_jax > 0


def row_of(library: Library) -> Row:
    """Both runs of a library, compared."""
    jax, ours = run(library, as_jax=False), run(library, as_jax=True)
    failed = jax.passed - ours.passed
    reasons = Counter(ours.reasons.get(name, "not collected: its file could not be imported") for name in failed)
    version = importlib.metadata.version(library.name)
    return Row(
        library,
        version,
        len(jax.passed),
        len(jax.passed & ours.passed),
        ours.seconds / jax.seconds,
        reasons.most_common(),
    )


def table(rows: list[Row]) -> str:
    """The table in Markdown, and below it the reasons of what fails."""
    lines = [
        "| library | version | tests that pass on JAX | of these on jitkit | time, of JAX's |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        share = f"{row.here} ({100 * row.here / max(row.on_jax, 1):.1f} %)"
        lines.append(f"| {row.library.name} | {row.version} | {row.on_jax} | {share} | {row.ratio:.2f} |")
    for row in rows:
        if row.reasons:
            lines += ["", f"What fails of {row.library.name}, by the first line of the error:", ""]
            lines += [f"- {count} x `{reason.replace('`', chr(39))}`" for reason, count in row.reasons[:12]]
            more = sum(count for _, count in row.reasons[12:])
            lines += [f"- {more} others"] * bool(more)
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Libraries' own tests, on JAX and on jitkit.")
    parser.add_argument("libraries", nargs="*", help="their names; all, where there is none")
    parser.add_argument("--write", action="store_true", help="write docs/as_jax.md")
    arguments = parser.parse_args()
    chosen = [each for each in LIBRARIES if not arguments.libraries or each.name in arguments.libraries]
    rows = []
    for library in chosen:
        rows.append(row_of(library))
        print(table(rows[-1:]), flush=True)
    if arguments.write:
        page = PATH.read_text(encoding="utf-8")
        begin, end = "<!-- table -->\n", "<!-- end of table -->"
        before, _, rest = page.partition(begin)
        PATH.write_text(f"{before}{begin}{table(rows)}\n{end}{rest.partition(end)[2]}", encoding="utf-8")
    short = [row.library.name for row in rows if not row.is_enough]
    if short:
        print(f"less than it has to be: {', '.join(short)}", file=sys.stderr)
    print(
        f"{len(rows)} libraries: {sum(row.here for row in rows)} of {sum(row.on_jax for row in rows)} tests pass on jitkit"
    )
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
