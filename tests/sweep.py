"""Tries public functions in many ways with operands of many kinds, on JAX and on jitkit, and says where they differ.

    python tests/sweep.py                                  every cell (an hour and more); exit 1 unless all is as known
    python tests/sweep.py --module jax.numpy --only take   some
    python tests/sweep.py --tail 3                         the third of the shards that `make test-tails` runs

A cell is a call (`sweep_calls`), a kind of operand and a way: called at once; or traced by `jit`, `vmap`, `grad`, `jit(vmap(grad))` or
`hessian`. In each cell we compare dtypes, weak types, shapes and the class of an error. (If JAX fails by accident, with an
AssertionError or the like, jitkit may raise another error.) We compare values if the call was made at once, or if the two printed
jaxprs differ; and for a share of the other cells, whose programs run as one program for each call. Warnings are compared by class and
first words, over all ways of a call with one kind of operand. `sweep_differences.txt` holds the cells that are known to differ.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import hashlib
import os
import pathlib
import pickle
import re
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.extend.core
import jax.numpy
import ml_dtypes
import numpy as np
import sweep_calls
from sweep_calls import Call
from twin import aval_text

import jitkit
import jitkit.numpy

CHEAP_COMPILES = (
    "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false"
)
HERE = pathlib.Path(__file__).resolve().parent
KNOWN = HERE / "sweep_differences.txt"
TRACED_WAYS = ("jit", "vmap", "grad", "jit(vmap(grad))", "hessian")
SHARDS = 40
# Errors that JAX raises if it has not checked an argument; and errors with which jitkit may refuse it.
ACCIDENTS = (
    "AssertionError",
    "AttributeError",
    "KeyError",
    "NameError",
    "UnboundLocalError",
    "XLA",
    "ZeroDivisionError",
)
REFUSALS = ("IndexError", "NotImplementedError", "TypeError", "ValueError")
LARGEST_HESSIAN = 9  # elements of operands, for a second derivative


def share(text: str) -> int:
    """Return a hash of a text that is the same in every run. It decides which cells belong to a share."""
    return zlib.crc32(text.encode())


# --- what one library makes of a cell ------------------------------------------------------------------------------------


@dataclasses.dataclass
class Outcome:
    """The outcome of a cell: the class of an error, or leaves with their types; for a traced call also the program."""

    error: str = ""
    types: tuple[str, ...] = ()
    values: list[Any] | None = None
    jaxpr: str = ""
    program: Any = None  # the jaxpr and its arguments; not kept in the cache
    warned: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"program": None}


def outcome_of(function: Callable[[], Outcome]) -> Outcome:
    """Return the outcome of a function, or of the error that it raises, with the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function()
        except Exception as error:
            found = Outcome(error=error_class(error))
    found.warned = tuple(sorted({first_words(w) for w in caught}))
    return found


def error_class(error: Exception) -> str:
    """Return the name of the error's class: "XLA" for each class of XLA's errors, and "AssertionError" if JAX's own helpers found
    lists of unequal lengths.
    """
    name = type(error).__name__
    if str(error).startswith(("safe_map() argument", "safe_zip() argument")):
        return "AssertionError"
    is_of_lowering = str(error).startswith("Cannot lower jaxpr with verifier errors")
    return "XLA" if is_of_lowering or name in ("XlaRuntimeError", "JaxRuntimeError", "MLIRError") else name


def first_words(warning: warnings.WarningMessage) -> str:
    """Return the class of a warning and its first words."""
    words = re.sub(r"jitkit|jax", "jax", str(warning.message)).split()
    return f"{warning.category.__name__}: {' '.join(words[:4])}"


def seen(leaf: Any) -> tuple[str, Any]:
    """Return a leaf's type in words, and its values."""
    if isinstance(leaf, jax.Array | jitkit.Array):
        if "key<" in str(leaf.dtype):
            library = jitkit if isinstance(leaf, jitkit.Array) else jax
            return f"{leaf.dtype}{leaf.shape}", np.asarray(library.random.key_data(leaf))
        return aval_text(leaf.aval), np.asarray(leaf)
    return type(leaf).__name__, np.asarray(leaf) if isinstance(leaf, np.ndarray | np.generic | float) else repr(leaf)


def of_result(library: Any, result: Any) -> Outcome:
    """Return the outcome of a call with this result: its leaves, and their types."""
    leaves = [seen(leaf) for leaf in library.tree.leaves(result)]
    return Outcome(types=tuple(t for t, _ in leaves), values=[v for _, v in leaves])


def is_data(x: Any) -> bool:
    """Return whether an operand is an argument of a traced program; lists and None are captured."""
    return isinstance(x, np.ndarray | np.generic | float | int | complex)


def total(library: Any, result: Any) -> Any:
    """Return one number for `grad`: the sum of all elements of the float leaves, with the weights 1, 2, -1 and 0.5 in turns."""
    numpy = library.numpy
    parts = [numpy.float32(0)]
    for leaf in library.tree.leaves(result):
        leaf = numpy.asarray(leaf)
        if numpy.issubdtype(leaf.dtype, numpy.inexact):
            weights = np.resize(np.array([1, 2, -1, 0.5], np.float32), leaf.shape)
            parts += [numpy.sum(part * weights.astype(part.dtype)) for part in _parts(numpy, leaf)]
    return functools.reduce(lambda a, b: a + b.astype(np.float32), parts)


def _parts(numpy: Any, leaf: Any) -> list[Any]:
    return [numpy.real(leaf), numpy.imag(leaf)] if numpy.issubdtype(leaf.dtype, numpy.complexfloating) else [leaf]


class Tried:
    """Runs a call with one kind of operand on one library, in each way."""

    def __init__(self, library: Any, call: Call, kind: str) -> None:
        self.library, self.call, self.kind = library, call, kind
        operands = call.operands(kind)
        assert operands is not None, f"{call.text} has no operands of kind {kind}"
        self.data = {k: v for k, v in operands.items() if is_data(v)}
        self.captured = {k: v for k, v in operands.items() if k not in self.data}
        if call.takes_key:
            self.captured["key"] = library.random.key(7)
        self.floats = {k: v for k, v in self.data.items() if _is_derived(v)}
        self.rest = {k: v for k, v in self.data.items() if k not in self.floats}

    def ways(self) -> list[str]:
        """Return the traced ways that make sense here."""
        ways = ["jit"] if self.kind != "numpy" else []
        if ways and any(isinstance(v, np.ndarray) for v in self.data.values()):
            ways.append("vmap")
        if self.floats and ways:
            ways.append("grad")
            if "vmap" in ways:
                ways.append("jit(vmap(grad))")
            sizes = [np.size(v) for v in self.floats.values()]
            if (
                self.kind in ("float32", "edges", "0-d")
                and sum(sizes) <= LARGEST_HESSIAN
                and not self.call.is_of_keyword
            ):
                ways.append("hessian")
        return ways

    def at_once(self) -> Outcome:
        """Return the outcome of the call with arrays of the library; with numpy's arrays if the kind is `numpy`."""
        arrays = self.data
        if self.kind != "numpy":
            arrays = {k: self.library.numpy.asarray(v) if _is_array(v) else v for k, v in arrays.items()}
        return outcome_of(lambda: of_result(self.library, self._value(arrays)))

    def traced(self, way: str) -> Outcome:
        """Return the outcome of tracing in a way: types, the printed jaxpr and the program; or the error."""

        def trace() -> Outcome:
            batched = "vmap" in way
            floats, rest = (
                {k: np.stack([v, np.roll(v, 1)]) if batched and _is_array(v) else v for k, v in part.items()}
                for part in (self.floats, self.rest)
            )
            axes = [{k: 0 if _is_array(v) else None for k, v in part.items()} for part in (floats, rest)]
            program = self._program(way, axes)
            closed = self.library.make_jaxpr(program)(floats, rest)
            arguments = self.library.tree.leaves((floats, rest))
            consts = b"".join(_bytes(c) for c in closed.consts)
            return Outcome(
                types=tuple(aval_text(a) for a in closed.out_avals),
                jaxpr=f"{closed}\n{zlib.crc32(consts)}",
                program=(closed, arguments),
            )

        return outcome_of(trace)

    def _program(self, way: str, axes: list[dict[str, Any]]) -> Callable[..., Any]:
        library = self.library

        def value(floats: Any, rest: Any) -> Any:
            return self._value(floats | rest)

        def number(floats: Any, rest: Any) -> Any:
            return total(library, value(floats, rest))

        return {
            "jit": lambda: value,
            "vmap": lambda: library.vmap(value, in_axes=tuple(axes)),
            "grad": lambda: library.grad(number),
            "jit(vmap(grad))": lambda: library.jit(library.vmap(library.grad(number), in_axes=tuple(axes))),
            "hessian": lambda: library.hessian(number),
        }[way]()

    def _value(self, values: dict[str, Any]) -> Any:
        return self.call.evaluate(self.library, self.captured | values)


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def _is_derived(x: Any) -> bool:
    return isinstance(x, float | complex) or (hasattr(x, "dtype") and x.dtype.kind in "fcV")


def _bytes(x: Any) -> bytes:
    library = jitkit if isinstance(x, jitkit.Array) else jax
    return np.asarray(library.random.key_data(x) if "key<" in str(getattr(x, "dtype", "")) else x).tobytes()


# --- values of the traced ways: one program for many -----------------------------------------------------------------------

_OPTIONS = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def run(library: Any, programs: list[Any]) -> list[Outcome]:
    """Return the outcomes of jaxprs with their arguments, computed by one program. If that fails, run each half of them by itself."""
    if not programs:
        return []
    evaluate = library.core.eval_jaxpr

    def everything(arguments: Any) -> Any:
        return [
            evaluate(closed.jaxpr, closed.consts, *args) for (closed, _), args in zip(programs, arguments, strict=True)
        ]

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = library.jit(everything, compiler_options=_OPTIONS)([args for _, args in programs])
        return [of_result(library, result) for result in results]
    except Exception as error:
        if len(programs) == 1:
            return [Outcome(error=error_class(error))]
        half = len(programs) // 2
        return run(library, programs[:half]) + run(library, programs[half:])


# --- comparing -----------------------------------------------------------------------------------------------------------


def difference(ours: Outcome, theirs: Outcome) -> str | None:
    """Return a text for the difference between two outcomes: a word (error, class, type, value), and both sides. Return None if they
    agree, or if JAX fails by accident and jitkit refuses the call.
    """
    if ours.error or theirs.error:
        if theirs.error in ACCIDENTS and ours.error in REFUSALS:
            return None
        if bool(ours.error) != bool(theirs.error):
            return f"error: {ours.error or 'none'}, in JAX {theirs.error or 'none'}"
        return None if ours.error == theirs.error else f"class: {ours.error}, in JAX {theirs.error}"
    if ours.types != theirs.types:
        return f"type: {', '.join(ours.types)}, in JAX {', '.join(theirs.types)}"
    if ours.values is None or theirs.values is None:
        return None
    for a, b in zip(ours.values, theirs.values, strict=True):
        if not same_numbers(a, b):
            return f"value: {_short(a)}, in JAX {_short(b)}"
    return None


def _short(x: Any) -> str:
    return " ".join(str(x).split())[:300]


def same_numbers(a: Any, b: Any) -> bool:
    """Return whether values are equal: floats up to rounding, with the same nans, infinities and signs of zeros. A text of ours that
    contains an address equals any text.
    """
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str) and (a == b or " at 0x" in a)
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind == "V" or a.dtype == ml_dtypes.bfloat16:
        eps = float(ml_dtypes.finfo(a.dtype).eps)
        a, b = a.astype(np.float32), b.astype(np.float32)
    elif a.dtype.kind in "fc":
        eps = float(np.finfo(a.dtype).eps)
    else:
        return False
    parts = [(a.real, b.real), (a.imag, b.imag)] if a.dtype.kind == "c" else [(a, b)]
    return all(_same_floats(x, y, 16 * eps) for x, y in parts)


def _same_floats(x: Any, y: Any, tolerance: float) -> bool:
    size = np.abs(y[np.isfinite(y)])
    scale = np.maximum(np.abs(y), min(1.0, float(np.max(size)) if size.size else 0.0))
    with np.errstate(all="ignore"):
        is_equal = np.where(x == 0, (y == 0) & (np.signbit(x) == np.signbit(y)), x == y)
        return bool(np.all(is_equal | (np.isnan(x) & np.isnan(y)) | ((x != y) & (np.abs(x - y) <= tolerance * scale))))


# --- sweeping --------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Report:
    """Collects what a sweep finds: the number of cells of each module, and what differs."""

    cells: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    found: dict[str, str] = dataclasses.field(default_factory=dict)  # the cell, and what differs
    tried: set[str] = dataclasses.field(default_factory=set)

    def add(self, module: str, cell: str, what: str | None) -> None:
        """Count a cell."""
        self.cells[module] += 1
        self.tried.add(cell)
        if what:
            self.found[cell] = what

    def unexpected(self) -> list[str]:
        """Return a text for each cell that differs without being known to, and for each cell that is known to differ but does
        not.
        """
        rows = known()
        new = [f"{cell}\n    {what}" for cell, what in self.found.items() if cell not in rows]
        return new + [f"no longer different: {cell}" for cell in rows if cell in self.tried - self.found.keys()]


@functools.cache
def known() -> dict[str, str]:
    """Return the cells that are known to differ, and why: a line with # is the reason for the lines below it."""
    rows, reason = {}, ""
    for line in filter(None, map(str.strip, KNOWN.read_text(encoding="utf-8").splitlines())):
        if line.startswith("#"):
            reason = line.removeprefix("#").strip()
        else:
            rows[line] = reason
    return rows


@functools.cache
def known_by_call() -> dict[str, set[str]]:
    """Return the kinds of operand of the known cells of each call."""
    found: dict[str, set[str]] = {}
    for cell in known():
        call, kind, _ = cell.rsplit(" | ", 2)
        found.setdefault(call, set()).add(kind)
    return found


@dataclasses.dataclass(frozen=True)
class Everything:
    """Tries all kinds and ways, and compares all values. JAX's results are stored in the folder `kept_in`, if one is named, and used
    again until calls or ways change.
    """

    kept_in: str | None = None

    def kinds(self, call: Call) -> list[str]:
        """Return the kinds of operand that a call is tried with."""
        return call.kinds()

    def is_called(self, call: Call, kind: str) -> bool:
        """Return whether a call is made at once, without a trace."""
        return True

    def is_run(self, cell: str) -> bool:
        """Return whether the values of a cell are compared even if the jaxprs are equal; for "", whether the values of all
        cells are.
        """
        return True

    def of_jax(self, call: Call) -> dict[tuple[str, str], Outcome]:
        """Return JAX's outcomes of a call, by kind and way; from `kept_in` if they are there."""
        if self.kept_in is None:
            return self._made(call)
        sources = [
            pathlib.Path(m.__file__ or "") for m in (sys.modules[__name__], sweep_calls, sweep_calls.parity_samples)
        ]
        made_of = hashlib.sha256(b"".join(path.read_bytes() for path in sources) + call.text.encode()).hexdigest()
        path = pathlib.Path(self.kept_in, f"{made_of[:24]}.pickle")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(pickle.dumps(self._made(call)))
        return pickle.loads(path.read_bytes())

    def _made(self, call: Call) -> dict[tuple[str, str], Outcome]:
        found = outcomes(jax, call, self)
        if self.is_run(""):
            give_values(jax, [outcome for outcome in found.values() if outcome.program])
        return found


@dataclasses.dataclass(frozen=True)
class Some(Everything):
    """Tries some kinds of operand for each call, calls some of these at once, and runs some cells; it tries everything that is
    known to differ.
    """

    kinds_each: int = 3
    called_one_in: int = 6
    run_one_in: int = 12

    def kinds(self, call: Call) -> list[str]:
        """Return the kinds that are known to differ, the call's first kind, and some of the others, which calls take in turns. A call
        with an added keyword, or another call of the same function, gets only one kind besides the known ones.
        """
        usual, *others = call.kinds()
        start = share(call.text)
        if call.is_of_keyword or call.is_further:
            chosen = {[usual, *others][start % (1 + len(others))]}
        else:
            chosen = {usual, *(others[(start + i) % len(others)] for i in range(self.kinds_each) if others)}
        return [kind for kind in call.kinds() if kind in chosen | known_by_call().get(call.text, set())]

    def is_called(self, call: Call, kind: str) -> bool:
        """Return whether a call is made at once: always with numpy's arrays, and if it is known to differ; else for one call in
        `called_one_in`.
        """
        is_known = kind in known_by_call().get(call.text, ())
        return kind == "numpy" or is_known or share(f"{call.text} {kind}") % self.called_one_in == 0

    def is_run(self, cell: str) -> bool:
        """Return whether the values of a cell are compared even if the jaxprs are equal: for one cell in `run_one_in`; not for all ("")."""
        return bool(cell) and share(cell) % self.run_one_in == 0


def outcomes(library: Any, call: Call, depth: Everything) -> dict[tuple[str, str], Outcome]:
    """Return the outcomes of a call, by kind and way."""
    found = {}
    for kind in depth.kinds(call):
        tried = Tried(library, call, kind)
        if depth.is_called(call, kind):
            found[kind, "at once"] = tried.at_once()
        for way in tried.ways():
            found[kind, way] = tried.traced(way)
    return found


def give_values(library: Any, traced: list[Outcome]) -> None:
    """Run the programs that were traced, and put their values, or an error, into the outcomes."""
    for outcome, result in zip(traced, run(library, [outcome.program for outcome in traced]), strict=True):
        outcome.error, outcome.values = result.error, result.values


def sweep_call(report: Report, call: Call, depth: Everything) -> None:
    """Compare a call in the kinds and ways that `depth` chooses, and add the cells to the report."""
    theirs, ours = depth.of_jax(call), outcomes(jitkit, call, depth)
    names = {place: f"{call.text} | {' | '.join(place)}" for place in theirs}
    is_kept = depth.is_run("")
    both = [place for place in names if ours[place].jaxpr and theirs[place].jaxpr]
    chosen = [
        place
        for place in both
        if is_kept or ours[place].jaxpr != theirs[place].jaxpr or names[place] in known() or depth.is_run(names[place])
    ]
    give_values(jitkit, [ours[place] for place in chosen])
    if not is_kept:
        give_values(jax, [theirs[place] for place in chosen])
    for place in names.keys() - set(both):  # if one library refuses while tracing, the other may refuse while lowering
        for library, outcome in ((jitkit, ours[place]), (jax, theirs[place])):
            if outcome.program and outcome.values is None and not outcome.error:
                give_values(library, [outcome])
    warned: dict[str, list[set[str]]] = {}
    for place, cell in names.items():
        report.add(call.module, cell, difference(ours[place], theirs[place]))
        for outcome, words in zip(
            (ours[place], theirs[place]), warned.setdefault(place[0], [set(), set()]), strict=True
        ):
            words.update(outcome.warned)
    for kind, (our_words, their_words) in warned.items():
        what = f"warnings: {sorted(our_words)}, in JAX {sorted(their_words)}" if our_words != their_words else None
        report.add(call.module, f"{call.text} | {kind} | warnings", what)


def shard(number: int) -> list[Call]:
    """Return the calls of one shard; all shards have about the same size."""
    return [call for call in calls_of() if share(call.text) % SHARDS == number]


def calls_of(module: str | None = None) -> Iterator[Call]:
    """Yield the calls of a module, or of all."""
    for name in [module] if module else sweep_calls.MODULES:
        yield from sweep_calls.calls(name)


TEXT = f"""## Tried in many ways

`tests/sweep.py` calls the functions of the modules in the table below on JAX and on jitkit. The first call of each function
is tried again with each keyword that it leaves out. There are {len(sweep_calls.KINDS)} kinds of operands:
{", ".join(sweep_calls.KINDS)}.
Calls with an added keyword are tried with {len(sweep_calls.KEYWORD_KINDS)} of them. A call runs eagerly, and is traced by
{", ".join(map("`{}`".format, TRACED_WAYS))}.
A *cell* is a call with one kind of operands, in one of these ways that suits it; the warnings of such a call are one more cell. In each
cell, shapes, dtypes, weak types, values, classes of errors and warnings (class and first words) are the same, except for
the cells that are counted as different: `tests/sweep_differences.txt` names each of them, and says why. Floats may differ by 16 units in
the last place. Of the traced calls, those are run whose jaxpr differs from JAX's, and one in {Some().run_one_in} of the others. Where JAX
fails by accident
({", ".join(map("`{}`".format, ACCIDENTS))}; `XLA` stands for errors of lowering and compiling),
a refusal counts as the same. The table counts the cells of `make test-tails`, which tries only a few kinds of operands for
each call; `make sweep` tries TIMES times as many.

| | calls | with a keyword more | cells | different |
|---|---|---|---|---|
"""


def render() -> str:
    """Return the section of `docs/parity.md`."""
    rows, total_of = [], collections.Counter[type]()
    different = collections.Counter(cell.rsplit(" | ", 2)[0] for cell in known())
    for module in sweep_calls.MODULES:
        calls = sweep_calls.calls(module)
        keywords = sum(call.is_of_keyword for call in calls)
        cells = sum(number_of_cells(call, Some()) for call in calls)
        total_of[Some] += cells
        total_of[Everything] += sum(number_of_cells(call, Everything()) for call in calls)
        differ = sum(different[text] for text in {call.text for call in calls})
        row = (f"`{module}`", len(calls) - keywords, keywords, cells, differ)
        rows.append(f"| {' | '.join(map(str, row))} |")
    reasons = [f"- {count} cells: {reason}" for reason, count in collections.Counter(known().values()).items()]
    reasons += [f"- `{name}({keyword}=)` is not tried: {why}" for (name, keyword), why in sweep_calls.NOT_TRIED.items()]
    text = TEXT.replace("TIMES", str(round(total_of[Everything] / total_of[Some])))
    return text + "\n".join([*rows, *(["", *reasons] if reasons else [])]) + "\n"


def number_of_cells(call: Call, depth: Everything) -> int:
    """Return how many cells a call has: all ways, and its warnings."""
    kinds = depth.kinds(call)
    return sum(1 + depth.is_called(call, kind) + len(Tried(jitkit, call, kind).ways()) for kind in kinds)


def main() -> int:
    """Run the sweep that the command line asks for; return its exit code, 1 if something differs without a known reason."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--module", choices=list(sweep_calls.MODULES), help="only this module")
    parser.add_argument("--only", default="", help="only calls in which this is found, a regular expression")
    parser.add_argument("--tail", type=int, help="one of the shards that `make test-tails` runs")
    parser.add_argument("--some", action="store_true", help="as deep as the tail")
    parser.add_argument("--kept-in", help="a folder for JAX's side, which is not computed again next time")
    options = parser.parse_args()
    os.environ.setdefault("XLA_FLAGS", CHEAP_COMPILES)
    report = Report()
    calls = calls_of(options.module) if options.tail is None else shard(options.tail)
    depth = Everything(options.kept_in) if options.tail is None and not options.some else Some()
    for call in calls:
        if re.search(options.only, call.text):
            before = len(report.found)
            sweep_call(report, call, depth)
            for cell in list(report.found)[before:]:
                if cell not in known():
                    print(f"{cell}\n    {report.found[cell]}", flush=True)
    problems = report.unexpected()
    print("\n".join(line for line in problems if line.startswith("no longer")))
    for module, count in report.cells.items():
        print(f"{module}: {count} cells")
    print(f"{sum(report.cells.values())} cells, {len(report.found)} differ, {len(problems)} not as known")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
