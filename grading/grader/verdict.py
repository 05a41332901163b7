"""bytes from a worker -> outcome: a check's answer, from which only the value is used

A frame is a length and JSON, with nothing before or after it. It contains plain data of known kinds and bounded size.
Anything else gets the status PROTO: the answer breaks the rules, and this is never our fault.
"""

from __future__ import annotations

import json
import math
import os
import signal
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from jitkit.kata.engine.plain import Plain
from jitkit.kata.engine.running import Outcome
from jitkit.kata.engine.statuses import Status
from jitkit.kata.engine.verdicts import CheckResult

from .bubblewrap import JailError
from .files import shown
from .jail import ProtocolError, Worker, parse_object
from .time_limits import Time

# limits of a value: how deep its parts are nested, how many there are, and how many items one `Unordered` has
_DEEPEST, _MOST_PARTS, _MOST_UNORDERED = 60, 400_000, 2_000
_KINDS = frozenset(
    {
        "None", "bool", "int", "float", "complex", "str", "list", "tuple", "dict", "unordered", "array", "error", "jaxpr",
        "program", "stablehlo", "type", "tree", "object",
    }
)  # fmt: skip
# Of a long axis numpy prints fewer than `_EDGE` entries. Limits of an array: the entries that are printed, and all.
_EDGE, _MOST_PRINTED, _MOST_ELEMENTS = 7, 50_000, 1 << 22
_NUMBERS = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 longdouble complex64 complex128"
)
_BYTES = {np.dtype(name).name: np.dtype(name).itemsize for name in _NUMBERS.split()}  # dtype -> bytes of an element
_BYTES |= {
    n: np.dtype(kind).itemsize
    for n, kind in vars(ml_dtypes).items()
    if isinstance(kind, type) and kind is not np.dtype and issubclass(kind, np.generic)
}
_BYTES["void"] = 0  # float0, whose elements have no bytes
FIXED_ALONE = (
    "Your result is right here, but does not count yet: it is the same for all inputs. It counts once another check of this exercise "
    "passes, one whose right result depends on its inputs; so far none does."
)
_LIMITS = {  # the class of an error -> words of which its message has one, if a limit was reached; and the sentence for the student
    "MemoryError": ("", "It asked for more memory than a check may have."),
    "OSError": ("File too large|No space left|Cannot allocate", "It wrote more than a check may write."),
    "RuntimeError": ("can't start new thread", "It started more threads than a check may have."),
    "BlockingIOError": ("Resource temporarily unavailable", "It started more processes than a check may have."),
}


def outcome_of(
    check: str,
    data: bytes,
    trouble: str,
    ended: int | None,
    starved: bool,
    seconds: float,
    spent: float,
    limited: bool = False,
    imports: float = 0.0,
) -> Outcome:
    """Return the outcome of a check.

    Args:
      data, trouble: the result of `Worker.ask`.
      ended: the exit status of the check's process, if it is known.
      starved: whether the system ended a process because memory was used up.
      seconds, spent: the time that the check may take, and the time that it took, by the clock.
      limited: whether the check's process computed for as long as it may.
      imports: the time that the import before the check may take.
    """
    if trouble == "import":
        return Outcome(check, None, Status.TIME, endless_import(imports), seconds=spent, imported=False)
    if trouble == "time":
        sentence = f"It was still running after {seconds:g} seconds, and was stopped."
        return Outcome(check, None, Status.TIME, sentence, seconds=spent)
    if trouble == "long":
        return Outcome(check, None, Status.LIMIT, "Its answer is longer than an answer may be.", seconds=spent)
    if not data:
        where = "while your functions were imported" if trouble == "died" else "in the middle of the check"
        outcome = _silent(check, ended, starved, limited or 2 * spent >= seconds, spent, where)
        if trouble == "died" and outcome.trouble == Status.TIME:  # the system ended it before the grader looked
            outcome = outcome._replace(sentence=endless_import(imports))
        return outcome._replace(imported=trouble != "died")
    try:
        frame = _frame(data)
        if frame.get("is") == "import failed":
            return _not_imported(check, frame, spent)
        value = frame["value"]
        output = frame["output"]
        if not isinstance(output, str) or len(output) > 20_000:
            raise ProtocolError("what it printed is not a string, or is too long")
        _see_that_it_is_plain(value)
    except (ProtocolError, KeyError) as error:
        return Outcome(
            check, None, Status.PROTO, f"What came back is no answer of ours: {shown(str(error))}.", seconds=spent
        )
    outcome = Outcome(check, value, output=output, seconds=spent)
    if value["is"] == "error":
        words, sentence = _LIMITS.get(value["class"], (None, ""))
        if words is not None and any(word in value["text"] for word in words.split("|")):
            return outcome._replace(trouble=Status.LIMIT, sentence=sentence)
    return outcome


def without_fixed_alone(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the verdicts on an exercise. If only `fixed` checks pass, whose right result is the same for all inputs, they do not count
    as passed: a function that ignores its arguments could pass them. If all checks of the exercise are `fixed`, the verdicts stay.
    """
    varies = [result for result in results if not result.check.fixed]
    if not varies or any(result.status == Status.PASS for result in varies):
        return list(results)
    return [r._replace(status=Status.FAIL, sentence=FIXED_ALONE) if r.status == Status.PASS else r for r in results]


def end_of(worker: Worker) -> tuple[int | None, bool, float]:
    """Return how a check's process ended (None if the worker does not say), whether the worker is ready for the next check, and the
    processor seconds of the process. Raise JailError if there was no jail.
    """
    try:
        frame = worker.receive(Time(worker, 3.0, own=False))
    except (TimeoutError, ProtocolError):
        return None, False, 0.0
    if frame is not None and frame.get("jailed") is False:
        raise JailError("a check could not be jailed")
    status = (frame or {}).get("status")
    return (status, True, float((frame or {})["computed"])) if type(status) is int else (None, False, 0.0)


def stands(outcome: Outcome) -> bool:
    """Return whether the verdict on the first check in a process is final."""
    return outcome.value is not None and not outcome.trouble and not misses_jax(outcome)


def misses_jax(outcome: Outcome) -> bool:
    """Return whether a check failed because its jail has no jax: the jail of an exercise whose reference compiles nothing has
    none.
    """
    return outcome.value is not None and "No module named 'jax" in json.dumps(outcome.value)


def place_of(line: Any) -> tuple[str, int] | None:
    """Return the file and the line that a result names; None if it does not name both."""
    return (line[0], line[1]) if is_place(line) and line[1] is not None else None


def is_far_longer(value: Any, right: Any) -> bool:
    """Return whether a value is so much longer than the right one that it is not even compared, which would take this process
    too long.
    """
    length = len(json.dumps(value))
    return length > 1 << 20 and length > (1 << 20) + 20 * len(json.dumps(right))


def endless_import(seconds: float) -> str:
    """Return the sentence for functions whose import takes longer than this."""
    return f"Importing your functions had not ended after {seconds:g} seconds, and was stopped: does code outside of functions take long?"


def _not_imported(check: str, frame: dict[str, Any], spent: float) -> Outcome:
    sentence = f"jitkit could not be imported with your functions in it: {str(frame.get('text', ''))[:2000]}"
    return Outcome(check, None, Status.IMPORT, sentence, place_of(frame.get("line")), seconds=spent, imported=False)


def _silent(check: str, ended: int | None, starved: bool, limited: bool, spent: float, where: str) -> Outcome:
    if starved:
        return Outcome(check, None, Status.LIMIT, "It used more memory than a submission may have.", seconds=spent)
    if ended is None:
        return Outcome(check, None, Status.CRASH, f"The process was ended {where}.", seconds=spent)
    try:
        code = os.waitstatus_to_exitcode(ended)
    except (ValueError, OverflowError):  # no status: the worker, in which the student's code runs, made it up
        code = 0
    if -code == signal.SIGXCPU or (-code == signal.SIGKILL and limited):  # SIGKILL follows if SIGXCPU is ignored
        return Outcome(
            check, None, Status.TIME, f"It computed for longer than it may {where}, and was stopped.", seconds=spent
        )
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return Outcome(check, None, Status.CRASH, f"The process died {where}, of {name}.", seconds=spent)
    sentence = f"The process ended {where}, with exit code {code}: something called `exit`, or closed its streams."
    return Outcome(check, None, Status.CRASH, sentence, seconds=spent)


def _frame(data: bytes) -> dict[str, Any]:
    if len(data) < 8 or struct.unpack(">Q", data[:8])[0] != len(data) - 8:
        raise ProtocolError("not exactly one complete frame")
    return parse_object(data[8:])


def _see_that_it_is_plain(value: object) -> None:
    """Raise ProtocolError if a part of the value is not of a known kind, or not formed as its kind is, or if there are too many parts, or
    too deep ones.
    """
    if not isinstance(value, dict) or "is" not in value:
        raise ProtocolError("a value of no known kind")
    rest: list[tuple[Any, int]] = [(value, 0)]  # dicts and lists still to be looked at, with their depths
    count = 0
    while rest:
        part, depth = rest.pop()
        count += len(part)
        if depth > _DEEPEST or count > _MOST_PARTS:
            raise ProtocolError("too deep, or too many parts")
        if isinstance(part, dict):
            kind = part.get("is")
            if "is" in part and (not isinstance(kind, str) or kind not in _KINDS):
                raise ProtocolError("a part of no known kind")
            if not (part.get("line") is None or is_place(part["line"])):
                raise ProtocolError("the `line` of a part is not a file and a line")
            _see_the_form(part, kind)
            part = part.values()
        rest += [(x, depth + 1) for x in part if isinstance(x, dict | list)]


def _see_the_form(part: dict[str, Any], kind: str | None) -> None:
    if kind == "error":
        lines = part.get("lines")
        sound = (
            isinstance(part.get("class"), str) and isinstance(part.get("text"), str) and isinstance(part.get("bases"), list)
            and isinstance(lines, list) and all(map(is_place, lines)) and isinstance(part.get("parts"), list)
        )  # fmt: skip
    elif kind in ("list", "tuple", "unordered", "dict"):
        items = part.get("items")
        sound = isinstance(items, list) and (kind != "unordered" or len(items) <= _MOST_UNORDERED)
        if kind == "dict":
            sound = sound and all(isinstance(x, list) and len(x) == 2 for x in items or ())
        else:
            sound = sound and all(isinstance(x, dict) and "is" in x for x in items or ())
    elif kind == "array":
        shape = part.get("shape")
        sound = isinstance(shape, list) and all(type(n) is int and 0 <= n < 1 << 40 for n in shape) and len(shape) <= 32
        sound = sound and isinstance(part.get("data"), str) and isinstance(part.get("dtype"), str)
        sound = sound and _is_an_array(shape or [], part["dtype"], len(part["data"]))
    elif kind == "program":
        choices, value = part.get("choices"), part.get("value")
        sound = isinstance(part.get("text"), str) and isinstance(choices, list) and all(type(n) is int for n in choices)
        sound = sound and isinstance(value, dict) and "is" in value
    elif kind == "stablehlo":
        sound = isinstance(part.get("text"), str) and isinstance(part.get("arguments"), list)
    else:
        sound = True
    if not sound:
        raise ProtocolError(f"a value that is not formed as {kind}")


def _is_an_array(shape: list[int], dtype: str, digits: int) -> bool:
    """Return whether a shape, a dtype and a number of hexadecimal digits fit together, and the array can be printed quickly.
    An array without bytes costs nothing to send, whatever its shape, and numpy shortens only long axes.
    """
    if dtype not in _BYTES or math.prod(min(n, _EDGE) for n in shape) > _MOST_PRINTED:
        return False
    elements = math.prod(shape)
    return elements <= _MOST_ELEMENTS and digits == 2 * _BYTES[dtype] * elements


def is_place(place: object) -> bool:
    """Return whether a value is a file and a line, or a file and None, for code without lines."""
    if not isinstance(place, list) or len(place) != 2 or not isinstance(place[0], str):
        return False
    return place[1] is None or (type(place[1]) is int and 0 <= place[1] < 1 << 31)


def programs(value: Plain) -> Iterator[Plain]:
    """Yield the parts of a value that are StableHLO, in order."""
    rest: list[Any] = [value]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            if part.get("is") == "stablehlo":
                yield part
                continue
            part = list(part.values())
        rest += (x for x in reversed(part) if isinstance(x, dict | list))
