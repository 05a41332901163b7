"""Statuses: there is one list, and older files contain its texts."""

from __future__ import annotations

import json

import pytest

from grading.grader.records import NAMES
from jitkit.kata.engine.assessor import Assessor
from jitkit.kata.engine.checking import Check
from jitkit.kata.engine.running import Outcome
from jitkit.kata.engine.statuses import Status
from jitkit.kata.screens.display import MARKS

TEXTS = ("pass", "fail", "crash", "time", "limit", "import", "proto", "todo", "broken", "new", "stale")
IN_STORES = {"pass": "PASS", "fail": "FAIL", "crash": "CRASH", "time": "TIME", "limit": "LIMIT"}
IN_STORES |= {"import": "CRASH", "proto": "PROTO"}


def test_files_and_stores_have_the_texts_that_they_had():
    assert tuple(Status) == TEXTS
    assert json.dumps(list(Status)) == json.dumps(TEXTS)
    assert f"{Status.PASS}" == "pass"
    assert {text: NAMES[Status(text)] for text in IN_STORES} == IN_STORES


def test_whatever_a_learner_sees_has_a_mark():
    assert set(Status) - set(MARKS) == {Status.PROTO}, "only the grader knows it"


@pytest.mark.parametrize("trouble", ["crash", "time", "limit", "import"])
def test_an_outcome_that_was_kept_as_text_has_that_status(tmp_path, trouble):
    """The folder of expected results was written when statuses were plain texts."""
    (tmp_path / "old.json").write_text(json.dumps([["a", None, trouble, "It was so."]]), encoding="utf-8")
    assessor = Assessor(tmp_path)
    (kept,) = assessor.read("old") or []
    assert kept == Outcome("a", None, Status(trouble), "It was so.")
    result = assessor.judge(
        Check("90.1", "a", "It holds.", (), lambda jk, rng: None, None, False), Outcome("a", {"is": "None"}), kept
    )
    assert result.status is Status(trouble)
