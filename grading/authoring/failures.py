"""wrong versions of the rungs -> labs/from_scratch/failures.json: how each of them fails

`python -m grading.authoring.failures [RUNG...]` runs the wrong versions of some or all rungs, with the learners' seed.
A learner whose package fails in the same way gets the question of that version. `grading verify ladder` proves that the
file is right.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import pathlib
import sys
import tempfile
from collections.abc import Sequence

from jitkit.kata.engine.processes import Forks
from jitkit.kata.ladder.rungs import all_rungs
from jitkit.kata.ladder.wrong import failed, failures_file, known_failures, wrong_versions

from .verify_ladder import Prover


def write(only: Sequence[str] = (), workers: int = 2) -> None:
    """Run the wrong versions of some rungs, or of all, and write to failures.json how they fail; other rungs' entries stay."""
    known = dict(known_failures())
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(Forks()) as forks,
        concurrent.futures.ThreadPoolExecutor(workers) as pool,
    ):
        prover = Prover(pathlib.Path(folder), None, forks)
        for rung in all_rungs():
            if not only or rung.number in only:
                versions = wrong_versions(rung)
                verdicts = pool.map(lambda version, rung=rung: prover.of_wrong(rung, version), versions)
                known[rung.number] = {v.label: failed(verdict) for v, verdict in zip(versions, verdicts, strict=True)}
    failures_file().write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1:])
