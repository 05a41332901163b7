"""Subject + answers of compilers + calls -> plain data: the content of the page, as `docs/explorer.md` describes it

Equations link everything: each line of a listing has the numbers of the equations that it came from.

JAX: jax/_src/stages.py:Lowered.as_text
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from ..targets import Target
from . import again, apart, by_line, fates, hlo, machine, passes, residuals, rounding, source, stablehlo
from . import equations as numbering
from .equation import Place
from .listing import Listing
from .subject import Subject

FORMAT, VERSION = "jitkit.explorer", 2


def model(
    subject: Subject,
    targets: Sequence[Target],
    answers: Mapping[str, dict[str, Any]],
    calls: dict[str, Any] | None = None,
    sentences: Sequence[str] = (),
    c: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the data of a page."""
    equations = subject.equations
    inside = numbering.descendants(equations)
    failure = subject.failure
    python = source.source(subject.function, equations, [failure.place] if failure and failure.place else [])
    shown = Listing("stablehlo")
    notes = [*sentences]
    if subject.shown is not None:
        try:
            shown = stablehlo.listing(subject.shown(_platform(targets)))
        except Exception as error:  # a rule of the user's raised, or is missing: the page says so
            notes.append(f"Lowering ended with {type(error).__name__}: {error}")
    wrote = stablehlo.written(shown)
    if subject.constants:
        listed = ", ".join(subject.constants[:6]) + (", ..." if len(subject.constants) > 6 else "")
        notes.append(f"Arrays from outside of the function, whose elements are left out here: {listed}")
    rows_of = {number: row for row, numbers in enumerate(python.listing.equations) for number in numbers}
    return {
        "format": FORMAT,
        "version": VERSION,
        "library": subject.library,
        "function": subject.name,
        "signature": subject.signature,
        "made_with": versions(),
        "notes": notes,
        "failure": None
        if failure is None
        else {
            "stage": failure.stage,
            "type": failure.kind,
            "text": failure.text,
            "row": _row_of(python, failure.place),
        },
        "equations": [
            {
                "primitive": each.primitive,
                "results": each.results,
                "parent": each.parent,
                "line": each.place.line if each.place else None,
                "file": each.place.file if each.place else None,
                "live": each.live,
                "way": each.way,
            }
            for each in equations
        ],
        "python": python.as_data(),
        "jaxpr": subject.jaxpr.as_data(),
        "stablehlo": shown.as_data(),
        "c": c,
        "kept": residuals.kept(equations),
        "targets": [_target(each, answers[each.name], subject, wrote, inside, rows_of) for each in targets],
        "calls": calls and {"shown": _call_of(calls, subject.jaxpr.lines), **calls},
    }


def _call_of(calls: Mapping[str, Any], jaxpr: Sequence[str]) -> int | None:
    """Return the number of the latest missed call with this jaxpr, whose program the page shows; None if there is none."""
    misses = [each for each in calls["entries"] if not each["hit"] and each.get("jaxpr") is not None]
    alike = [each for each in misses if calls["jaxprs"][each["jaxpr"]] == list(jaxpr)]
    return alike[-1]["number"] if alike else None


def _platform(targets: Sequence[Target]) -> str:
    return targets[0].platform if targets else "cpu"


def _row_of(python: source.Source, place: Place | None) -> int | None:
    if place is None:
        return None
    rows = [row for row, number in enumerate(python.numbers) if number == place.line]
    return rows[0] if rows else None


def _target(
    target: Target,
    answer: dict[str, Any],
    subject: Subject,
    wrote: dict[int, set[str]],
    inside: dict[int, list[int]],
    rows_of: dict[int, int],
) -> dict[str, Any]:
    head = {"name": target.name, "chip": target.chip, "code": target.code}
    if "error" in answer:
        return head | {"reason": answer["reason"], "error": answer["error"]}
    read = hlo.read(answer["hlo"], subject.equations)
    became = fates.fates(subject.equations, wrote, read, inside)  # first: it adds links and notes to the listing
    code = machine.listing(target.platform, answer["code"], read.listing)
    return head | {
        "compiler": answer["compiler"],
        "seconds": answer["seconds"],
        "cost": answer["cost"],
        "memory": answer["memory"],
        "size": answer["size"],
        "launches": answer["launches"],
        "linked": read.linked._asdict(),
        "hlo": read.listing.as_data(),
        "machine": code.as_data(),
        "passes": passes.listing(answer.get("passes", []), subject.equations).as_data(),
        "fates": became,
        "rounded": rounding.rounded(subject.equations, read),
        "again": again.computed_again(read.links, wrote, inside),
        "apart": apart.apart(read, target.platform),
        "by_line": by_line.table(
            read.kernels,
            read.flops,
            rows_of,
            read.copies,
            answer["cost"]["numbers"],
            {number for number, each in enumerate(subject.equations) if each.way == "backward"},
            read.run_flops,
        ),
    }


def versions() -> str:
    """Return the versions of our packages and Python: `jitkit 0.1.0, jax 0.10.2, jaxlib 0.10.2, Python 3.11.7`.
    Packages that are not installed are left out.
    """
    found = []
    for name in ("jitkit", "jax", "jaxlib"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join([*found, f"Python {platform.python_version()}"])
