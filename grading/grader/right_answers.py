"""an answer's bytes -> whether they are the right ones; most answers are, and then their values are not parsed and compared"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from jitkit.kata.engine.assessor import Assessor
from jitkit.kata.engine.checking import Check
from jitkit.kata.engine.plain import Plain
from jitkit.kata.engine.running import Outcome
from jitkit.kata.engine.statuses import Status

from .jail import ProtocolError, parse_object

Right = dict[str, tuple[bytes, Plain]]  # check -> the right answer as JSON, and its value


class RightAnswers:
    """The right answers as JSON, which are made once for all students."""

    def __init__(self, assessor: Assessor) -> None:
        self.assessor = assessor
        self.known: dict[
            int, tuple[Mapping[str, Plain], Right]
        ] = {}  # by the id of the values, which are kept with them

    def of(self, checks: Sequence[tuple[Any, Check]], values: Mapping[str, Plain]) -> Right:
        """Return the right answers of these checks. Leave out those that do not pass when they are compared with themselves."""
        if id(values) not in self.known:
            right: Right = {}
            for _, check in checks:
                both = Outcome(check.name, values[check.name])
                if self.assessor.judge(check, both, both).status == Status.PASS:
                    right[check.name] = right_text(values[check.name]), values[check.name]
            self.known[id(values)] = values, right
        return self.known[id(values)][1]


def right_text(value: Plain) -> bytes:
    """Return the JSON that a worker sends for a value. What StableHLO computes is not in it, since a student's worker does not run it."""
    return json.dumps(_without_results(value)).encode("utf-8", "surrogatepass")


def _without_results(value: Any) -> Any:
    if isinstance(value, dict):
        left_out = ("results", "refused") if value.get("is") == "stablehlo" else ()
        return {k: _without_results(v) for k, v in value.items() if k not in left_out}
    return [_without_results(v) for v in value] if isinstance(value, list) else value


def output_if_right(data: bytes, text: bytes) -> str | None:
    """Return what a check has printed if the value in its answer (`data`) is, byte for byte, `text`; None if it is not, or if the
    answer contains something else. Most answers are right, and then their values need not be parsed and compared.
    """
    head = b'{"value": ' + text + b", "
    if len(data) < 8 or struct.unpack(">Q", data[:8])[0] != len(data) - 8 or not data.startswith(head, 8):
        return None
    try:
        rest = parse_object(b"{" + data[8 + len(head) :])
    except ProtocolError:
        return None
    output = rest.get("output")
    return (
        output if rest.keys() == {"output", "printed"} and isinstance(output, str) and len(output) <= 20_000 else None
    )
