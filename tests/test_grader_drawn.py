"""Random programs that the grader has written and compiled once: they are those that a worker would write itself."""

from __future__ import annotations

import marshal

import numpy as np
import pytest

import jitkit
from grading.grader.drawn import drawn_programs
from grading.grader.trials import Settings, Trials
from jitkit.kata.engine import random_programs as drawing
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.plain import to_plain
from jitkit.kata.programs.transformed import mapped

WAYS = {"traced": (mapped("unary binary scan"), True), "as it is": (mapped("unary binary reduction"), False)}


def plain(write, by_numpy):
    return to_plain(drawing.random_programs(jitkit, np.random.default_rng(5), write, 4, by_numpy=by_numpy))


@pytest.mark.parametrize("way", WAYS)
def test_programs_that_are_given_give_what_programs_that_are_drawn_give(way, monkeypatch):
    monkeypatch.setattr(drawing, "_given", [])
    drawn = plain(*WAYS[way])
    data = drawn_programs(
        {"programs": drawn, "other": {"is": "list", "items": [{"is": "None"}]}, "none": {"is": "None"}}
    )
    assert list(data) == ["programs"], "other checks have no programs"
    drawing.give(marshal.loads(data["programs"]))
    monkeypatch.setattr(drawing.Choices, "drawn", lambda *_: pytest.fail("nothing is drawn again"))
    assert plain(*WAYS[way]) == drawn
    assert drawing._given == [], "they are for one call"


def test_a_program_that_ends_in_an_error_is_given_with_its_line(monkeypatch):
    monkeypatch.setattr(drawing, "_given", [])
    text = "def f(x):\n    return x + missing\n\nf(np.ones(2))"
    wrote = to_plain(drawing.random_programs(jitkit, text, WAYS["traced"][0], 1))
    given = {"programs": {"is": "list", "items": [{"is": "program", "text": text, "choices": [], "value": {}}]}}
    drawing.give(marshal.loads(drawn_programs(given)["programs"]))
    again = to_plain(drawing.random_programs(jitkit, np.random.default_rng(0), WAYS["traced"][0], 1))
    assert again == wrote
    assert "missing" in again["items"][0]["value"]["text"]


def test_a_worker_gets_the_programs_of_the_check_that_it_runs_and_of_no_other():
    lab = all_labs()[0]
    trials = Trials([lab], Settings(1, "test"))
    requests = {
        check.name: marshal.loads(file.request(check, 1, True, b"mine" if check.name == "programs_1" else b""))
        for file, check in trials.checks(lab.exercises[0])
    }
    assert {name: request["programs"] for name, request in requests.items() if request["programs"]} == {
        "programs_1": b"mine"
    }
