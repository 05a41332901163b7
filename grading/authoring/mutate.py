"""Automatic mutants: does some check notice when one thing in a solution is wrong?

`python -m grading verify --mutate [LAB] [--sample N]` makes the mutants (`mutations`), runs the checks of their exercise,
with the hidden ones, and reports the survivors: the mutants that pass all checks. A survivor shows a hole in the checks, or
means the same as the solution; then `mutants.toml` lists it, with the reason. Of all mutants that are not listed, 97 in 100
must be killed.

There are thousands of mutants. So most are tried in a fork of this process, which exchanges the function's code in a
`jitkit` that is already imported. A mutant that survives this is tried again in a process of its own, spliced in as a learner's
function is. The second trial decides: importing `jitkit` may call the function, and in a fork that import ran with the
original one.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import time
import tomllib
import types
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jitkit.kata.engine.assessor import checks_of
from jitkit.kata.engine.checking import Check
from jitkit.kata.engine.comparison import first_difference
from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.mutants import in_its_class
from jitkit.kata.engine.names import tree_of
from jitkit.kata.engine.plain import Plain, Raised, to_plain
from jitkit.kata.engine.reference import ReferenceFunction, reference_function
from jitkit.kata.engine.run_stablehlo import run_stablehlo
from jitkit.kata.engine.statuses import Status
from jitkit.kata.engine.submission import Target
from jitkit.kata.engine.verdicts import Verdict

from .mutations import Mutation, mutations

LEAST_KILLED = 0.97  # the share that must be killed of the mutants that are not listed as equivalent
_EQUIVALENT = pathlib.Path(__file__).with_name("mutants.toml")
_SECONDS = 20.0  # all checks of a mutant may take this long; then its process is ended, and the mutant counts as killed
_NAP = 0.005  # seconds between two looks at the forks


class Survivor(NamedTuple):
    """A mutant that passes every check."""

    exercise: str
    target: Target
    change: str

    def __str__(self) -> str:
        return f"{self.exercise} {self.target.name}: {self.change}"


class Score(NamedTuple):
    """Counts an exercise's mutants, without those that are listed as equivalent."""

    made: int
    survivors: list[Survivor]
    stale: list[str]  # changes that are listed as equivalent, and are not made any more


def equivalents(path: pathlib.Path = _EQUIVALENT) -> dict[tuple[str, str], dict[str, str]]:
    """Return the changes that are listed as equivalent, with their reasons, by exercise and function."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    found: dict[tuple[str, str], dict[str, str]] = {}
    for item in data.get("equivalent", ()):
        for change in item["changes"]:
            found.setdefault((item["exercise"], item["target"]), {})[change] = item["why"]
    return found


def mutate(lab: Lab, exercise: Exercise, assess: Any, hidden: pathlib.Path, sample: int, workers: int) -> Score:
    """Try the mutants of an exercise, and return the score.

    Args:
      assess: runs all checks on a mutant, as on a learner's function, and returns the verdict. It decides about mutants
        that the forks let pass.
      hidden: the file of the hidden checks.
      sample: the number of mutants to try, always the same ones; 0 for all.
      workers: how many mutants are tried at the same time.
    """
    functions = [reference_function(target) for target in exercise.targets]
    made = [(function, mutation) for function in functions for mutation in mutations(function.node)]
    listed = equivalents()
    counted = [(f, m) for f, m in made if m.change not in listed.get((exercise.id, f.target.name), {})]
    if sample:
        counted = random.Random(exercise.id).sample(counted, min(sample, len(counted)))
    trial = _Trial(checks_of(lab, exercise.id, hidden), exercise.uses_xla)
    alive = trial.survivors(counted, workers)
    survivors = [
        Survivor(exercise.id, function.target, mutation.change)
        for function, mutation in alive
        if passes(assess(function.target, mutation))
    ]
    known = {(f.target.name, m.change) for f, m in made}
    stale = [
        f"{exercise.id} {name}: {change}"
        for (id, name), changes in listed.items()
        if id == exercise.id
        for change in changes
        if (name, change) not in known
    ]
    return Score(len(counted), survivors, stale)


def passes(verdict: Verdict) -> bool:
    """Return whether a mutant passes all checks: no check notices it."""
    return verdict.status == Status.PASS


def source_of(target: Target, mutation: Mutation) -> str:
    """Return the file that a learner would hand in, with the mutant as its function."""
    return in_its_class(target, _as_a_learner_writes_it(reference_function(target), mutation))


def _as_a_learner_writes_it(function: ReferenceFunction, mutation: Mutation) -> str:
    """Return the source of a mutated function, with its decorators if the learner writes them."""
    tree = tree_of(mutation.source)
    if not function.source.startswith("@"):
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                node.decorator_list = []
    return ast.unparse(tree)


class _Trial:
    """Tries mutants of an exercise's functions: for each, a fork of this process runs the checks, until one gives another result
    than the reference. Raise RuntimeError if the reference's results cannot be computed.
    """

    def __init__(self, checks: Sequence[Check], uses_xla: bool) -> None:
        self.checks = checks
        self.jitkit = importlib.import_module("jitkit")
        importlib.import_module("jitkit.pjit.api")  # import it once here, and not in each fork
        if uses_xla:
            importlib.import_module("jax")  # import JAX without starting its devices, which do not survive a fork
        os.environ["JAX_PLATFORMS"] = "cpu"
        self.expected: list[Plain] = []
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "expected.json")
            pid = os.fork()
            if pid == 0:
                _leave(self.write_expected, file)
            if os.waitpid(pid, 0)[1] != 0:
                raise RuntimeError("the reference's results cannot be computed")
            self.expected = json.loads(file.read_text(encoding="utf-8"))

    def write_expected(self, file: pathlib.Path) -> int:
        """Write what the reference computes, and return 0. Runs in a child process."""
        file.write_text(json.dumps([self.value(check) for check in self.checks]), encoding="utf-8")
        return 0

    def survivors(
        self, mutants: Sequence[tuple[ReferenceFunction, Mutation]], workers: int
    ) -> Iterator[tuple[ReferenceFunction, Mutation]]:
        """Yield the mutants that pass all checks, and those that cannot be tried in a fork: their target is not a plain function."""
        running: dict[int, tuple[tuple[ReferenceFunction, Mutation], float]] = {}
        rest = list(reversed(mutants))
        while rest or running:
            while rest and len(running) < workers:
                mutant = rest.pop()
                function = _function(mutant[0].target)
                if function is None:
                    yield mutant
                    continue
                pid = os.fork()
                if pid == 0:
                    _leave(self.verdict, function, *mutant)
                running[pid] = mutant, time.monotonic() + _SECONDS
            time.sleep(_NAP)
            for pid, (mutant, end) in list(running.items()):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    del running[pid]
                    if status == 0:
                        yield mutant
                elif time.monotonic() > end:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    del running[pid]

    def verdict(self, function: types.FunctionType, reference: ReferenceFunction, mutation: Mutation) -> int:
        """Return 0 if every check gives the reference's result, 1 at the first that does not. Runs in a child process."""
        _exchange_code(function, reference, mutation)
        for check, expected in zip(self.checks, self.expected, strict=True):
            if first_difference(expected, self.value(check), None, check.tolerance) is not None:
                return 1
        return 0

    def value(self, check: Check) -> Plain:
        """Return what a check computes, as its process would send it. An error that the check raises is returned, as `uncaught`."""
        rng = np.random.default_rng([0, zlib.crc32(check.name.encode())])
        try:
            return to_plain(check.program(self.jitkit, rng), run_stablehlo)
        except BaseException as error:
            return to_plain(Raised(error)) | {"uncaught": True}


def _leave(run: Any, *args: Any) -> None:
    """Call `run(*args)` in a child process, and exit with what it returns, or with 1 if it raises."""
    code = 1
    try:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        code = run(*args)
    finally:
        os._exit(code)


def _function(target: Target) -> types.FunctionType | None:
    """Return the function that a target names; None if this is not a plain function, or if a decorator wraps it."""
    found: Any = sys.modules.get(target.module) or importlib.import_module(target.module)
    for name in target.path:
        found = vars(found).get(name)
        if found is None:
            return None
    return found if isinstance(found, types.FunctionType) and not hasattr(found, "__wrapped__") else None


def _exchange_code(function: types.FunctionType, reference: ReferenceFunction, mutation: Mutation) -> None:
    """Give a function a mutant's code and default values. Raise ValueError if they close over different numbers of variables."""
    names: dict[str, Any] = {}
    text = f"from __future__ import annotations\n{_as_a_learner_writes_it(reference, mutation)}"
    exec(compile(text, function.__code__.co_filename, "exec"), function.__globals__, names)
    changed = names[reference.target.path[-1]]
    function.__code__ = changed.__code__
    function.__defaults__, function.__kwdefaults__ = changed.__defaults__, changed.__kwdefaults__
