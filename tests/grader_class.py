"""Writes the submissions of a class: right, wrong and late ones, as folders and archives; one in ten is hostile. One in twenty also
has lab 01, with every other exercise written.

python tests/grader_class.py FOLDER 300      writes one to look at, with a course.toml and a roster
"""

from __future__ import annotations

import ast
import os
import pathlib
import random
import sys
import tarfile
import zipfile

from grader_catalogue import GREEDY, RIGHT, STUB, THEMES

from jitkit.kata.engine.manifest import all_labs

ROOT = pathlib.Path(__file__).resolve().parents[1]

DUE = 1_793_577_600.0  # 2026-11-02T00:00:00 UTC
DAY = 86_400.0
COURSE = """\
roster = "roster.csv"
[late]
grace_minutes = 15
percent_a_day = 10
[limits]
seconds = 4
[lab.00]
due = 2026-11-02T00:00:00
points = 10
[student."s007"]
more_days = 7
"""
# Hostile submissions that get no points, with the same outcome each time, whatever runs beside them.
_NAMES = (
    "os._exit(0)", "kill -9 -1", "a forged array of nothing", "endless loop in a call", "memory bomb", "disk fill", "fork bomb",
    "equal to everything", "a pickle", "importing the course", "wrong in a fresh process, by marks on what is open", "sleep",
)  # fmt: skip
HOSTILE = [r for name in _NAMES for rows in (*THEMES.values(), GREEDY) for r in rows if r.name == name]
LATE, EXTENSION, UNREADABLE = 4, 7, 6
HALF = 20  # one student in twenty also has half of lab 01


def half_of(number: str) -> tuple[str, set[str]]:
    """Return the file of a lab in which every other exercise has the solution's functions, and the ids of these."""
    (lab,) = (lab for lab in all_labs() if lab.number == number)
    (solution,) = (ROOT / "solutions").glob(f"{number}_*.py")
    lines, right = (
        (lab.folder / "exercises.py").read_text(encoding="utf-8").splitlines(),
        solution.read_text(encoding="utf-8"),
    )
    kinds = (ast.FunctionDef, ast.ClassDef)
    written = {n.name: ast.get_source_segment(right, n) or "" for n in ast.parse(right).body if isinstance(n, kinds)}
    names = {target.path[0] for exercise in lab.exercises[1::2] for target in exercise.targets}
    for node in reversed(ast.parse("\n".join(lines)).body):
        if isinstance(node, kinds) and node.name in names:
            lines[node.lineno - 1 : node.end_lineno] = written[node.name].splitlines()
    return "\n".join([*lines, ""]), {exercise.id for exercise in lab.exercises[1::2]}


def write_class(folder: pathlib.Path, count: int, seed: int = 0) -> dict[str, str]:
    """Write the submissions of `count` students, in a random order; return for each student's name the kind of submission. No two
    texts are equal, since the grader keeps the verdict on a text.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "course.toml").write_text(COURSE, encoding="utf-8")
    names = [f"s{i:03}" for i in range(count)]
    roster = "".join(f"{name},Student {name[1:]}\n" for name in (*names, "never"))
    (folder / "roster.csv").write_text(f"student,name\n{roster}", encoding="utf-8")
    kinds = {}
    for i in random.Random(seed).sample(range(count), count):
        name, kind = names[i], i % 10
        right = f"# {name}\n\n{RIGHT}"
        when = DUE - DAY
        match kind:
            case 3:
                kinds[name], text = "partly", right.replace("0)", "0.0)")
            case 5:
                kinds[name], text = "stub", STUB
            case 6:
                kinds[name], text = "unreadable", right
            case 8:
                kinds[name], text = "wrong", right.replace("maximum", "minimum")
            case 9:
                row = HOSTILE[i // 10 % len(HOSTILE)]
                kinds[name], text = f"hostile: {row.name}", f"# {name}\n\n{row.files['00_hello/exercises.py']}"
            case _:
                late = {LATE: 2 * DAY + 3600, EXTENSION: 3 * DAY}.get(kind, 0.0)
                kinds[name], text, when = (
                    "late" if late and name != "s007" else "right",
                    right,
                    when + (late and DAY + late),
                )
        place = folder / name
        if kind == 1:
            with zipfile.ZipFile(place.with_suffix(".zip"), "w") as archive:
                archive.writestr(zipfile.ZipInfo("00_hello/exercises.py", (2026, 10, 30, 12, 0, 0)), text)
        elif kind == 2:
            place.with_suffix(".py").write_text(text, encoding="utf-8")
            with tarfile.open(place.with_suffix(".tar"), "w") as archive:
                archive.add(place.with_suffix(".py"), "hello/00_hello/exercises.py")
            place.with_suffix(".py").unlink()
        else:
            path = place / "00_hello" / "exercises.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-16" if kind == UNREADABLE else "utf-8")
            if i % HALF == 0:
                other = place / "01_tracer" / "exercises.py"
                other.parent.mkdir()
                other.write_text(f"# {name}\n{half_of('01')[0]}", encoding="utf-8")
            (place / "notes.txt").write_text("the day after\n", encoding="utf-8")
        for path in (place, *place.rglob("*.py"), place.with_suffix(".zip"), place.with_suffix(".tar")):
            if path.exists():
                os.utime(path, (when, when))
    return kinds


if __name__ == "__main__":
    write_class(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
