"""A right answer is known by its bytes; whatever differs in a byte is parsed, looked at and compared as before."""

from __future__ import annotations

import json
import struct

import pytest

from grading.grader.right_answers import RightAnswers, output_if_right, right_text
from jitkit.kata.engine.assessor import Assessor
from jitkit.kata.engine.checking import Check
from jitkit.kata.engine.plain import to_plain

VALUE = to_plain([1, "twö", 0.1, float("inf")])


def framed(text):
    data = text.encode("utf-8", "surrogatepass")
    return struct.pack(">Q", len(data)) + data


def answer(value, output="", **more):
    return framed(json.dumps({"value": value, "output": output, "printed": len(output), **more}))


def test_the_right_bytes_are_right_and_bring_along_what_was_printed():
    assert output_if_right(answer(VALUE, "hello"), right_text(VALUE)) == "hello"


@pytest.mark.parametrize(
    "data",
    [
        answer(to_plain([1, "twö", 0.2, float("inf")])),
        answer(VALUE)[:-1],
        answer(VALUE) + b" ",
        b"",
        framed(json.dumps(VALUE)),
        answer(VALUE, value_again=1),
        framed(json.dumps({"value": VALUE, "output": 1, "printed": 0})),
        framed(json.dumps({"value": VALUE, "output": "x" * 20_001, "printed": 0})),
        framed('{"value": ' + json.dumps(VALUE) + ', "output": "", "printed": 0, "value": {"is": "None"}}'),
        framed('{"value": ' + json.dumps(VALUE) + ', "output": "", "printed": 0} {}'),
        framed('{"value": ' + json.dumps(VALUE) + ', "output": "", "printed": ' + "[" * 100_000),
        framed('{"is": "import failed", "value": ' + json.dumps(VALUE) + ', "output": "", "printed": 0}'),
    ],
)
def test_other_bytes_are_looked_at(data):
    assert output_if_right(data, right_text(VALUE)) is None


def test_what_programs_compute_is_not_in_the_text_of_a_right_answer():
    program = {"is": "stablehlo", "text": "module {}", "arguments": []}
    assert right_text(program | {"results": [VALUE]}) == right_text(program)


def test_an_answer_that_does_not_equal_itself_is_always_compared():
    class Never(Assessor):
        def judge(self, check, expected, actual, own=frozenset()):
            found = super().judge(check, expected, actual, own)
            return found._replace(status="fail") if check.name == "odd" else found

    checks = [
        (None, Check("00.1", name, "A sentence.", (), lambda jk, rng: None, None, False)) for name in ("odd", "even")
    ]
    right = RightAnswers(Never()).of(checks, {"odd": VALUE, "even": VALUE})
    assert list(right) == ["even"]
