"""the reference's results + those of the learner's functions -> the first difference

Both are plain data (`plain`), computed by the same program on the same inputs. They are compared by meaning: arrays
within a tolerance, jaxprs up to the names of variables, errors by their class and the words that matter, StableHLO by
its results. The first difference is shown in full: its place, the expected value, the actual one, and in one sentence
why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .jaxpr_comparison import compare_jaxprs
from .plain import Plain, array_of, to_plain

# XLA's parser adds this text, about versions, to every refusal; it has nothing to do with the error.
_OF_THE_PARSER = re.compile(r"<unknown>:0: error: Failed to parse using StableHLO.*\n*")

RunStablehlo = Callable[[str, Sequence[np.ndarray[Any, Any]]], Sequence[np.ndarray[Any, Any]]]

# Relative tolerances of each type, much wider than one rounding, since XLA may add in another order.
_TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float64": 1e-11,
    "complex128": 1e-11,
}


# Numpy's scalars that are accepted in place of a number of Python: `np.median`, `np.all` and `array.argmax()` return them.
_INTEGERS = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
_SCALARS_OF = {"bool": ("bool",), "int": _INTEGERS, "float": ("float64",), "complex": ("complex128",)}

_MOST_NUMBERS = 30  # an array of more numbers is not shown whole


class Difference(NamedTuple):
    """Where two results differ, and how. `line` is the learner's line, if it is known."""

    where: str  # `result['x'][0]`, or "result"
    sentence: str
    expected: str
    actual: str
    line: tuple[str, int] | None = None
    frames: tuple[tuple[str, int], ...] = ()  # the frames of an error, from the outermost to the one that raised it


def first_difference(
    expected: Plain, actual: Plain, run_stablehlo: RunStablehlo | None = None, tolerance: float | None = None
) -> Difference | None:
    """Return the first difference between two results, or None when they mean the same.

    Args:
      expected, actual: plain data.
      run_stablehlo: compiles and runs StableHLO text on arrays. Without it, programs are compared by the results
        that the data contain; if there are none, by their texts.
      tolerance: relative tolerance of floating-point results; by default that of their type in `_TOLERANCE`, 1e-9 for
        Python numbers.
    """
    return _Comparer(run_stablehlo, tolerance).compare(expected, actual, "result")


class _Refused(Exception):
    """Raised if XLA refuses to compile a program; the message is XLA's."""


class _Comparer:
    def __init__(self, run_stablehlo: RunStablehlo | None, tolerance: float | None) -> None:
        self.run_stablehlo = run_stablehlo
        self.tolerance = tolerance

    def compare(self, expected: Plain, actual: Plain, where: str) -> Difference | None:
        kind, other = expected["is"], actual["is"]
        if kind != other:
            number = _python_number(kind, actual)
            return (
                self.of_other_kind(expected, actual, where) if number is None else self.compare(expected, number, where)
            )
        if kind in ("list", "tuple"):
            return self.sequences(expected["items"], actual["items"], where, kind)
        compare = _COMPARE.get(kind)
        if compare is not None:
            return compare(self, expected, actual, where)
        if expected != actual:
            return Difference(where, "The values differ.", describe(expected), describe(actual))
        return None

    def of_other_kind(self, expected: Plain, actual: Plain, where: str) -> Difference:
        if actual["is"] == "error":
            sentence = f"The program ended in {_a(actual['class'])}.{_of_recursion(actual)}"
            return Difference(where, sentence, describe(expected), _came(actual), *_frames(actual))
        if expected["is"] == "error":
            sentence = f"{_begin(_a(expected['class']))} should have been raised, and was not."
            return Difference(where, sentence, describe(expected), describe(actual))
        sentence = f"{_begin(_a(_kind(expected)))} is expected, and {_a(_kind(actual))} came."
        return Difference(where, sentence, describe(expected), describe(actual))

    def sequences(self, expected: list[Plain], actual: list[Plain], where: str, kind: str) -> Difference | None:
        for i, (one, other) in enumerate(zip(expected, actual, strict=False)):
            found = self.compare(one, other, f"{where}[{i}]")
            if found is not None:
                return found
        if len(expected) != len(actual):
            sentence = f"The {kind} should have {len(expected)} items, and has {len(actual)}."
            return Difference(where, sentence, _listed(expected), _listed(actual))
        return None

    def unordered(self, expected: Plain, actual: Plain, where: str) -> Difference | None:
        rest = list(actual["items"])
        for one in expected["items"]:
            match = next((i for i, x in enumerate(rest) if self.compare(one, x, where) is None), None)
            if match is None:
                return Difference(where, "One of the values is missing.", describe(one), _listed(rest))
            del rest[match]
        if rest:
            return Difference(where, "There is one value too many.", _listed(expected["items"]), describe(rest[0]))
        return None

    def dicts(self, expected: Plain, actual: Plain, where: str) -> Difference | None:
        mine = {describe(key): value for key, value in expected["items"]}
        yours = {describe(key): value for key, value in actual["items"]}
        for key, value in mine.items():
            if key not in yours:
                return Difference(where, f"The key {key} is missing.", ", ".join(mine), ", ".join(yours))
            found = self.compare(value, yours[key], f"{where}[{key}]")
            if found is not None:
                return found
        extra = [key for key in yours if key not in mine]
        if extra:
            return Difference(where, f"The key {extra[0]} should not be there.", ", ".join(mine), ", ".join(yours))
        return None

    def numbers(self, expected: Plain, actual: Plain, where: str) -> Difference | None:
        one, other = _number(expected), _number(actual)
        if _close(np.asarray(one), np.asarray(other), self.tolerance or 1e-9).all():
            return None
        return Difference(where, "The numbers differ.", repr(one), repr(other))

    def arrays(self, expected: Plain, actual: Plain, where: str) -> Difference | None:
        for what, name in (("shape", "shape"), ("dtype", "dtype")):
            if expected[what] != actual[what]:
                return Difference(where, f"The {name}s differ.", describe(expected), describe(actual))
        if expected["weak"] != actual["weak"]:
            right = "weak: it came from a Python number" if expected["weak"] else "strong"
            return Difference(where, f"The type should be {right}.", describe(expected), describe(actual))
        one, other = array_of(expected), array_of(actual)
        tolerance = self.tolerance or _TOLERANCE.get(expected["dtype"], 0.0)
        close = _close(one, other, tolerance)
        if close.all():
            return None
        count = int(close.size - close.sum())
        index = tuple(int(i) for i in np.unravel_index(int(np.argmin(close)), close.shape))
        at = f"[{', '.join(map(str, index))}]" if index else ""
        sentence = f"{count} of {close.size} numbers differ; the first is {one[index]!s} in the expected array, {other[index]!s} here."
        if not index:
            sentence = "The numbers differ."
        if close.size > _MOST_NUMBERS:  # two whole arrays would hide the difference
            ours, theirs = (f"{_type(x)}, in which {at} is {a[index]!s}" for x, a in ((expected, one), (actual, other)))
            return Difference(f"{where}{at}", sentence, ours, theirs)
        return Difference(f"{where}{at}", sentence, describe(expected), describe(actual))

    def programs(self, expected: Plain, actual: Plain, where: str) -> Difference | None:
        """Return the difference between two runs of a random program, in its source or else in its result; None if there is none."""
        if expected["text"] != actual["text"]:
            return Difference(where, "It is another program.", expected["text"], describe(actual))
        return self.compare(expected["value"], actual["value"], where)

    def errors(self, expected: Plain, actual: Plain, where: str) -> Difference | None:
        frames = _frames(actual)
        if expected["class"] not in actual["bases"]:
            sentence = f"{_begin(_a(expected['class']))} should have been raised, and it was {_a(actual['class'])}."
            return Difference(where, sentence + _of_recursion(actual), describe(expected), _came(actual), *frames)
        for part in expected["parts"]:
            if part not in actual["text"]:
                sentence = f"The message of the {expected['class']} should name {part!r}."
                return Difference(where, sentence, describe(expected), _came(actual), *frames)
        return None

    def jaxprs(self, expected: Plain, actual: Plain, where: str) -> Difference | None:
        found = compare_jaxprs(expected, actual)
        return None if found is None else Difference(where, *found)

    def stablehlo(self, expected: Plain, actual: Plain, where: str) -> Difference | None:
        if expected["text"] == actual["text"]:
            return None
        texts = expected["text"], actual["text"]
        try:
            theirs = self.results_of(actual["text"], actual, expected["arguments"])
        except _Refused as refusal:
            return Difference(where, f"XLA refuses the program: {_refusal(str(refusal))}", *texts)
        try:
            ours = self.results_of(expected["text"], expected, expected["arguments"])
        except _Refused as refusal:  # possible where two wrong answers are compared
            return Difference(where, f"XLA refuses the program that is expected: {refusal}", *texts)
        if ours is None or theirs is None:
            return Difference(where, "The StableHLO texts differ.", *texts)
        if len(ours) != len(theirs):
            sentence = f"The program should return {len(ours)} values, and returns {len(theirs)}."
            return Difference(where, sentence, *texts)
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            tolerance = self.tolerance or _TOLERANCE.get(one.dtype.name, 0.0)
            same_type = one.shape == other.shape and one.dtype == other.dtype
            if not same_type or not _close(one, other, tolerance).all():
                sentence = f"The program runs, and its result {i} is {_short(other)}; {_short(one)} is expected."
                return Difference(where, sentence, *texts)
        return None

    def results_of(self, text: str, data: Plain, arguments: Sequence[Plain]) -> Sequence[np.ndarray[Any, Any]] | None:
        """Return a program's results: run it if `run_stablehlo` was given, else take those in the data; None if there
        are none. Raise _Refused if XLA refuses the program.
        """
        if self.run_stablehlo is not None:
            try:
                return self.run_stablehlo(text, [array_of(x) for x in arguments])
            except Exception as error:  # whatever XLA says of the learner's program
                raise _Refused(error) from None
        if "refused" in data:
            raise _Refused(data["refused"])
        return [array_of(x) for x in data["results"]] if "results" in data else None


_COMPARE: dict[str, Callable[[_Comparer, Plain, Plain, str], Difference | None]] = {
    "array": _Comparer.arrays,
    "complex": _Comparer.numbers,
    "dict": _Comparer.dicts,
    "error": _Comparer.errors,
    "float": _Comparer.numbers,
    "jaxpr": _Comparer.jaxprs,
    "program": _Comparer.programs,
    "stablehlo": _Comparer.stablehlo,
    "unordered": _Comparer.unordered,
}


# --- plain data as values and as text -----------------------------------------------------------------------------


def describe(data: Plain) -> str:
    """Return plain data as text, as Python would write it where it can."""
    kind = data["is"]
    if kind == "array":
        return _short(array_of(data), weak=data["weak"])
    if kind == "error":
        parts = f" that names {', '.join(map(repr, data['parts']))}" if data["parts"] else ""
        return f"{data['class']}{parts}: {_OF_THE_PARSER.sub('', data['text'])}"
    if kind == "tuple":
        return f"({', '.join(map(describe, data['items']))}{',' if len(data['items']) == 1 else ''})"
    if kind == "program":
        return describe(data["value"])
    if kind in ("list", "unordered"):
        return _listed(data["items"])
    if kind == "dict":
        return "{" + ", ".join(f"{describe(k)}: {describe(v)}" for k, v in data["items"]) + "}"
    if kind == "object":
        return f"an object of the type {data['type']}"
    if kind in ("float", "complex"):
        return repr(_number(data))
    if kind == "str":
        return repr(data["value"])
    return str(data.get("value", data.get("text", kind)))


def _refusal(text: str) -> str:
    """Return XLA's complaint about StableHLO text, with the line that the complaint is about."""
    said = re.search(r"(?:error: )(.*)", text)
    line = re.search(r"line (\d+) of the StableHLO text:\n *(.*)", text)
    message = said[1] if said is not None else text
    return f"{message}, in line {line[1]}: `{line[2].strip()}`" if line is not None else message


def _came(error: Plain) -> str:
    """Return the learner's error as text, without the words that a message must have: these describe the expected one."""
    return describe(error | {"parts": []})


def _of_recursion(error: Plain) -> str:
    if error["class"] != "RecursionError":
        return ""
    return (
        " A function called itself without end, or a value holds itself. (Of the exercises of a lab: the library's function of this "
        "name is yours while a check runs, and one that imports and calls it calls itself.)"
    )


def _type(data: Plain) -> str:
    return f"{data['dtype']}{'*' if data['weak'] else ''}[{','.join(map(str, data['shape']))}]"


def _short(array: np.ndarray[Any, Any], weak: bool = False) -> str:
    shape = ",".join(map(str, array.shape))
    text = np.array2string(array, threshold=1000, separator=", ")
    return f"{array.dtype.name}{'*' if weak else ''}[{shape}] {text}"


def _listed(items: Sequence[Plain]) -> str:
    return f"[{', '.join(map(describe, items))}]"


def _number(data: Plain) -> float | complex:
    if data["is"] == "complex":
        real, imaginary = data["value"]
        return complex(float.fromhex(real), float.fromhex(imaginary))
    return float.fromhex(data["value"])


def _python_number(kind: str, actual: Plain) -> Plain | None:
    """Return a numpy scalar as plain data of the Python number `kind`; None if it is not a scalar, or of another kind."""
    if not actual.get("scalar") or actual["shape"] or actual["dtype"] not in _SCALARS_OF.get(kind, ()):
        return None
    return to_plain(array_of(actual).item())


def _close(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], tolerance: float) -> np.ndarray[Any, Any]:
    """Return for each element whether two arrays of one type agree: nan with nan, an infinity with the same one, other numbers
    up to `tolerance * max(1, abs(one))`. With tolerance 0, elements must be equal, and nan equals nothing.
    """
    if tolerance == 0.0:
        return np.asarray(one == other)
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    a, b = one.astype(wide), other.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(a - b) <= tolerance * np.maximum(1.0, np.abs(a))
    return np.asarray((a == b) | (np.isfinite(a) & np.isfinite(b) & near) | (np.isnan(a) & np.isnan(b)))


def _kind(data: Plain) -> str:
    if data["is"] == "object":
        return str(data["type"])
    return {"str": "string", "int": "number", "bool": "truth value"}.get(data["is"], str(data["is"]))


def _a(noun: str) -> str:
    return noun if noun == "None" else f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _begin(words: str) -> str:
    return words[:1].upper() + words[1:]


def _frames(error: Plain) -> tuple[tuple[str, int] | None, tuple[tuple[str, int], ...]]:
    """Return the learner's line that raised an error, or None, and all of the learner's lines that led there."""
    frames = tuple((file, line) for file, line in error["lines"])
    return (frames[-1] if frames else None), frames
