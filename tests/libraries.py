"""Runs libraries on JAX and on jitkit in its place: their own tests, and an example of each. The results are in `docs/as_jax.md`.

    python tests/libraries.py                 run all, print the table; exit 1 if a library passes fewer tests than it must
    python tests/libraries.py optax jmp       only these
    python tests/libraries.py --write optax   and write their rows into the page

The libraries are installed at the versions of `pyproject.toml`, in an environment of their own (`make test-libraries`). For large
libraries, only the tests of some files run, so that all of it takes about twenty minutes. A test counts if it passes on JAX. The two
runs have the same files, options and number of processes, and their times are those of pytest's own clock. An example is a program of
`library_programs`, written after the library's README: each array of its `result` must have the same bits as on JAX.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree
from collections import Counter
from typing import NamedTuple

PATH = pathlib.Path(__file__).resolve().parent.parent / "docs" / "as_jax.md"
PROGRAMS = pathlib.Path(__file__).resolve().parent / "library_programs"
LIMIT = 900  # seconds for the tests of one library, on JAX or on jitkit
LIMIT_OF_PROGRAM = 300
# Python orders sets of strings differently in each process, and numpyro the terms of a sum by them: two runs on JAX
# would differ.
SEED = {"PYTHONHASHSEED": "0"}


class Library(NamedTuple):
    """A library: its name in the registry and as a module, the share of its tests that must pass, and its test files, without `_test.py`
    (none if not run by this command).

    An example must give JAX's bits. `programs` has the names of the examples; if it is empty, one example has the library's name. If the
    wheel has no tests, `sdist` is their folder in the source distribution, and the files' names are complete but for `.py`.
    """

    name: str
    module: str
    least: float = 0.0
    files: str = ""
    programs: tuple[str, ...] = ()
    sdist: str = ""


_HAIKU = (
    "attention bias config deferred dot embed eval_shape jaxpr_info multi_transform pad random reshape rms_norm spectral_norm test_utils "
    "typing utils"
)
_FLAX = (
    "early_stopping_test struct_test traverse_util_test jax_utils_test cursor_test configurations_test flaxlib_test pickle_test "
    "traceback_util_test ids_test filters_test containers_test nnx_compat_test state_test ema_test variable_test linen_activation_test "
    "linen_dtypes_test initializers_test linen_batch_apply_test linen_combinators_test linen_meta_test kw_only_dataclasses_test "
    "core_frozen_dict_test core_lift_test core_meta_test core_scope_test"
)
LIBRARIES = (
    Library("jmp", "jmp", 1.0, "*"),
    Library("optax", "optax", 0.98, "_constraining _masking _tree_math numerics update"),
    Library("rlax", "rlax", 0.98, "clipping base exploration vtrace transforms"),
    Library("chex", "chex", 0.0, "asserts_internal dataclass dimensions warnings"),
    Library("dm-haiku", "haiku", 0.95, _HAIKU),
    Library("distrax", "distrax", 0.90, "normal shift tanh"),
    Library("jraph", "jraph", 0.98, "*"),
    Library("mctx", "mctx"),
    Library("dm_pix", "dm_pix", 0.98, "*"),
    Library("pgx", "pgx"),
    Library("gymnax", "gymnax"),
    Library("jaxopt", "jaxopt"),
    Library("evosax", "evosax"),
    Library("numpyro", "numpyro", 0.98, "test_constraints test_diagnostics test_optimizers", sdist="test"),
    Library("blackjax", "blackjax"),
    Library("equinox", "equinox"),
    Library("diffrax", "diffrax"),
    Library("lineax", "lineax"),
    Library("flax", "flax", 0.95, _FLAX, ("flax_linen", "flax_nnx"), "tests"),
    Library("tinygp", "tinygp"),
    Library("flowjax", "flowjax"),
    Library("optimistix", "optimistix"),
    Library("distreqx", "distreqx"),
    Library("penzai", "penzai"),
)


class Outcome(NamedTuple):
    """The outcome of a run: the names of the tests that passed, the reason for each that failed, and the seconds."""

    passed: frozenset[str]
    reasons: dict[str, str]
    seconds: float


def tests_of(library: Library) -> list[str]:
    """Return the chosen files among the tests that are installed with a library. End with a message if one is missing."""
    (folder,) = importlib.util.find_spec(library.module).submodule_search_locations
    end = ".py" if library.sdist else "_test.py"
    chosen = [f"{stem}{end}" for stem in library.files.split()]
    place = source(library) / library.sdist if library.sdist else pathlib.Path(folder)
    there = sorted(place.rglob(f"*{end}"))
    missing = {name for name in chosen if name != f"*{end}"} - {path.name for path in there}
    if missing:
        raise SystemExit(f"{library.name} has no {', '.join(sorted(missing))}")
    return [str(path) for path in there if path.name in chosen or f"*{end}" in chosen]


def source(library: Library) -> pathlib.Path:
    """Return the folder of a library's source distribution: downloaded once, at the version that is installed, and kept in the
    environment. Of its code, only the tests run.
    """
    version = importlib.metadata.version(library.name)
    kept = pathlib.Path(sys.prefix) / "sources" / f"{library.name}-{version}"
    if not kept.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            words = [
                "download",
                "-q",
                "--no-deps",
                "--no-binary",
                library.name,
                f"{library.name}=={version}",
                "-d",
                folder,
            ]
            subprocess.run([sys.executable, "-m", "pip", *words], check=True)
            (archive,) = pathlib.Path(folder).glob("*.tar.gz")
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
            (unpacked,) = (path for path in pathlib.Path(folder).iterdir() if path.is_dir())
            kept.parent.mkdir(exist_ok=True)
            shutil.move(unpacked, kept)
    return kept


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
            "-c",  # these tests do not get the options of this project's own tests
            os.devnull,
            f"--rootdir={folder}",
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
        where = source(library) if library.sdist else folder
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False, timeout=LIMIT)
        if not report.is_file():
            raise SystemExit(f"pytest wrote no report on {library.name}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return read(report)


def read(report: pathlib.Path) -> Outcome:
    """Return the outcome that pytest's report contains."""
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
    """Return the first line of an error, without what changes from run to run."""
    first = next((line for line in message.splitlines() if line.strip()), "")
    line = re.sub(r"0x[0-9a-f]+|/\S+/", "...", first)
    return line if len(line) <= 160 else f"{line[:160].rsplit(None, 1)[0]} ..."


# --- examples ---------------------------------------------------------------------------------------------------------


def digests(program: pathlib.Path) -> None:
    """Run a program, and print a line for each leaf of its `result`: its place, its type and a digest of its bits."""
    result = runpy.run_path(str(program), run_name="__main__")["result"]
    jax, np = importlib.import_module("jax"), importlib.import_module("numpy")
    for path, leaf in jax.tree_util.tree_flatten_with_path(result)[0]:
        is_key = hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        array = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
        bits = str(leaf).encode() if isinstance(leaf, str) else array.tobytes()
        kind = "text" if isinstance(leaf, str) else f"{array.dtype}{array.shape}"
        print(
            "leaf", jax.tree_util.keystr(path).replace(" ", ""), kind.replace(" ", ""), hashlib.sha256(bits).hexdigest()
        )


def example(name: str) -> tuple[int, int, str]:
    """Run a program on JAX and on jitkit. Return how many values it has, how many of these have the same bits on
    jitkit, and what it says if it fails there.
    """
    words = ["-W", "ignore", str(pathlib.Path(__file__).resolve()), "--digests", str(PROGRAMS / f"{name}.py")]
    found, said = [], ""
    for which in ([], ["-m", "jitkit.as_jax"]):
        command = [sys.executable, *which, *words[2:]] if which else [sys.executable, *words]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LIMIT_OF_PROGRAM, env=os.environ | SEED
        )
        found.append([line for line in done.stdout.splitlines() if line.startswith("leaf ")])
        if done.returncode:
            said = next(
                (line for line in reversed(done.stderr.splitlines()) if re.match(r"[\w.]+(Error|Exception)\b", line)),
                "it failed",
            )
            if not which:
                raise SystemExit(f"{name} fails on JAX:\n{done.stderr[-2000:]}")
    return len(found[0]), len([line for line in found[0] if line in found[1]]), in_short(said)


# --- the table --------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A library's row of the table, and its entry in the list of failures below the table."""

    library: Library
    version: str
    on_jax: int
    here: int
    ratio: float
    reasons: list[tuple[str, int]]
    values: int
    equal: int

    @property
    def is_enough(self) -> bool:
        return self.here >= self.library.least * self.on_jax and self.equal == self.values > 0

    def line(self) -> str:
        tests = "not run by this command" if not self.library.files else ""
        share = f"{self.here} ({100 * self.here / max(self.on_jax, 1):.1f} %)"
        cells = ["-", tests, ""] if tests else [str(self.on_jax), share, f"{self.ratio:.2f}"]
        bits = f"all {self.values} values" if self.equal == self.values else f"{self.equal} of {self.values} values"
        return f"| {self.library.name} | {self.version} | {' | '.join(cells)} | {bits} |"

    def failures(self) -> str:
        lines = [f"- {count} x `{reason.replace('`', chr(39))}`" for reason, count in self.reasons[:12]]
        more = sum(count for _, count in self.reasons[12:])
        return "\n".join(lines + [f"- {more} others"] * bool(more))


def row_of(library: Library) -> Row:
    """Run a library on both, and return the comparison, with its examples."""
    reasons: Counter[str] = Counter()
    on_jax, here, ratio, values, equal = 0, 0, 0.0, 0, 0
    if library.files:
        jax, ours = run(library, as_jax=False), run(library, as_jax=True)
        failed = jax.passed - ours.passed
        reasons.update(ours.reasons.get(name, "not collected: its file could not be imported") for name in failed)
        on_jax, here, ratio = len(jax.passed), len(jax.passed & ours.passed), ours.seconds / jax.seconds
    for name in library.programs or (library.name.replace("-", "_"),):
        of_jax, same, said = example(name)
        values, equal = values + of_jax, equal + same
        reasons.update([f"the example: {said}"] if said else [])
    version = importlib.metadata.version(library.name)
    return Row(library, version, on_jax, here, ratio, reasons.most_common(), values, equal)


HEAD = (
    "| library | version | tests that pass on JAX | of these on jitkit | time, of JAX's | its example, to the bit |\n"
    "|---|---|---|---|---|---|"
)
FAILS = "What fails of {}, by the first line of the error:"


def written(page: str, rows: list[Row]) -> str:
    """Return the page with these rows, and the rows that it has for other libraries, in the order of `LIBRARIES`."""
    begin, end = "<!-- table -->\n", "<!-- end of table -->"
    before, _, rest = page.partition(begin)
    table, _, after = rest.partition(end)
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in table.splitlines() if line.startswith("| ")}
    blocks = dict(re.findall(r"^What fails of (\S+), by [^\n]*:\n\n((?:- [^\n]*\n)+)", table, re.MULTILINE))
    for row in rows:
        lines[row.library.name] = row.line()
        blocks[row.library.name] = row.failures()
    names = [library.name for library in LIBRARIES]
    text = "\n".join([HEAD, *[lines[name] for name in names if name in lines]])
    for name in names:
        if blocks.get(name, "").strip():
            text += f"\n\n{FAILS.format(name)}\n\n{blocks[name].strip()}"
    return f"{before}{begin}{text}\n{end}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Libraries' own tests and examples, on JAX and on jitkit.")
    parser.add_argument("libraries", nargs="*", help="their names; all, where there is none")
    parser.add_argument("--write", action="store_true", help="write their rows into docs/as_jax.md")
    parser.add_argument(
        "--digests", type=pathlib.Path, metavar="PROGRAM", help="run an example, and print what it computes"
    )
    arguments = parser.parse_args()
    if arguments.digests:
        digests(arguments.digests)
        return 0
    chosen = [each for each in LIBRARIES if not arguments.libraries or each.name in arguments.libraries]
    rows = []
    print(HEAD)
    for library in chosen:
        rows.append(row_of(library))
        print(rows[-1].line(), flush=True)
        if rows[-1].reasons:
            print(rows[-1].failures(), flush=True)
        if arguments.write:
            PATH.write_text(written(PATH.read_text(encoding="utf-8"), rows[-1:]), encoding="utf-8")
    short = [row.library.name for row in rows if not row.is_enough]
    if short:
        print(f"less than it has to be: {', '.join(short)}", file=sys.stderr)
    tests = f"{sum(row.here for row in rows)} of {sum(row.on_jax for row in rows)} tests pass on jitkit"
    values = f"{sum(row.equal for row in rows)} of {sum(row.values for row in rows)} values of examples have JAX's bits"
    print(f"{len(rows)} libraries: {tests}; {values}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
