"""Measures what a submission costs: the processor time of everything that the grader starts, for a class whose answers are right and
all different.

python tests/grader_cost.py 10                            ten students, labs 00 to 12
python tests/grader_cost.py 10 --labs 03 06 12 --out DIR  some labs; DIR keeps what the reference computes, for the next time
python tests/grader_cost.py 10 --cores 0 1                on these processors
python tests/grader_cost.py 10 --shared                   as with `fresh_process = false` in course.toml

It needs root and control groups, of the first or the second version: only these count a process that was killed in its jail.
"""

from __future__ import annotations

import argparse
import ast
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
GROUPS = pathlib.Path("/sys/fs/cgroup")
LABS = [f"{number:02}" for number in range(13)]


class Meter:
    """A control group, which counts the processor time of the processes in it."""

    def __init__(self) -> None:
        second = (GROUPS / "cgroup.controllers").is_file()
        self.folder = (GROUPS if second else GROUPS / "cpuacct") / f"jitkit-cost-{os.getpid()}"
        self.inner = self.folder / "inner"  # in version 2, jails are put beside it, into the same group
        self.inner.mkdir(parents=True)
        self.file, self.unit = (self.folder / "cpu.stat", 1e6) if second else (self.folder / "cpuacct.usage", 1e9)

    def seconds(self) -> float:
        """Return the seconds of processor time so far."""
        return int(self.file.read_text(encoding="ascii").split()[1 if self.unit == 1e6 else 0]) / self.unit

    def run(self, command: list[str]) -> tuple[float, float]:
        """Run a command in the group. Return its seconds of processor time, and its seconds by the clock."""
        used, began = self.seconds(), time.monotonic()
        enter = f'echo $$ > {self.inner}/cgroup.procs; exec "$@"'
        subprocess.run(["/bin/sh", "-c", enter, "sh", *command], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        return self.seconds() - used, time.monotonic() - began

    def close(self) -> None:
        """Remove the group."""
        self.inner.rmdir()
        self.folder.rmdir()


class Numbered(ast.NodeTransformer):
    """Writes a number into each function, so that no two students have equal code: it would be run only once."""

    def __init__(self, number: int) -> None:
        self.number = number

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Return the function with a statement more, behind its docstring."""
        after = ast.get_docstring(node) is not None
        node.body[after:after] = ast.parse(f"number_of_the_student = {self.number}").body
        return node


def write_students(folder: pathlib.Path, labs: list[str], names: range, salt: int = 0) -> pathlib.Path:
    """Write the solutions of some labs as submissions of these students, and return the folder. Each function of each student is
    different, and different for each `salt`.
    """
    for i in names:
        for lab in labs:
            (solution,) = (ROOT / "solutions").glob(f"{lab}_*.py")
            place = folder / f"s{i:03}" / solution.stem / "exercises.py"
            place.parent.mkdir(parents=True, exist_ok=True)
            tree = Numbered(1000 * salt + i).visit(ast.parse(solution.read_text(encoding="utf-8")))
            place.write_text(ast.unparse(tree), encoding="utf-8")
    return folder


def main(arguments: list[str]) -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("students", type=int)
    parser.add_argument("--labs", nargs="+", default=LABS)
    parser.add_argument(
        "--out", type=pathlib.Path, help="where grades are kept: a later call begins with what is there"
    )
    parser.add_argument("--cores", nargs="+", type=int, help="the processors to use")
    parser.add_argument("--workers", type=int, default=1, help="each has its own start, which is in the figures")
    parser.add_argument(
        "--shared", action="store_true", help="the checks of an exercise share a process: fresh_process = false"
    )
    chosen = parser.parse_args(arguments)
    if chosen.cores:
        os.sched_setaffinity(0, chosen.cores)
    meter = Meter()
    try:
        with tempfile.TemporaryDirectory() as name:
            place = pathlib.Path(name)
            out = chosen.out or place / "grades"
            salt = int(time.time()) if chosen.out else 0  # so that no text equals one of an earlier call

            def grade(what: str, first: int, count: int) -> float:
                folder = write_students(place / what, chosen.labs, range(first, first + count), salt)
                if chosen.shared:
                    (folder / "course.toml").write_text("[limits]\nfresh_process = false\n", encoding="utf-8")
                command = [sys.executable, "-m", "grading", "grade", str(folder), "--out", str(out), "--quiet"]
                used, clock = meter.run([*command, "--workers", str(chosen.workers)])
                print(f"{what:<24} {used:8.1f} s of a processor {clock:8.1f} s by the clock", flush=True)
                return used

            grade("reference and the first", 0, 1)
            one = grade("start and one more", 1, 1)
            all_ = grade(f"start and {chosen.students} more", 2, chosen.students)
            if chosen.students > 1:
                print(f"{'each more':<24} {(all_ - one) / (chosen.students - 1):8.2f} s of a processor")
    finally:
        meter.close()


if __name__ == "__main__":
    main(sys.argv[1:])
