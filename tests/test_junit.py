"""JUnit reports: a parser can read them back, whatever learners print, and whatever their names are."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from kata_workspace import learner

from jitkit.kata.engine.junit import Case, Suite, junit

__all__ = ["learner"]  # a fixture

CASES = (
    Case("passes", 0.25, output="printed"),
    Case("fails", 0.5, "failure", "crash", "It crashed.", "expected: 1\nyours: 2"),
    Case("unknown", 0.0, "error", "INFRA", "A fault of ours."),
    Case("unwritten", 0.0, "skipped", message="Still to be written."),
)


def test_a_report_counts_its_cases_and_says_what_each_came_to():
    (suite,) = ElementTree.fromstring(junit("all", [Suite("90.1 Lists", "90.90.1", CASES)]))
    assert suite.attrib == {
        "name": "90.1 Lists", "tests": "4", "failures": "1", "errors": "1", "skipped": "1", "time": "0.750",
    }  # fmt: skip
    assert [[child.tag for child in case] for case in suite] == [["system-out"], ["failure"], ["error"], ["skipped"]]
    assert {case.get("classname") for case in suite} == {"90.90.1"}
    assert suite[0][0].text == "printed"
    assert (suite[1][0].get("type"), suite[1][0].get("message")) == ("crash", "It crashed.")
    assert suite[1][0].text == "expected: 1\nyours: 2"
    assert "type" not in suite[3][0].attrib


def test_every_character_can_be_printed_and_the_parser_reads_those_that_xml_has():
    """Each is tried, alone among letters: a parser stops at the first that it does not take."""
    characters = map(chr, range(sys.maxunicode + 1))
    text = "".join(c for c in characters if c != "\r")  # without "\r", which XML parsers read as a new line
    odd = Suite(text[:5000], text[:5000], [Case(text[:5000], 0.0, "failure", text[:5000], text[:5000], text, text)])
    report = junit("all", [odd]).encode()
    case = ElementTree.fromstring(report)[0][0]
    for read in (case[0].text, case[1].text):
        lost = {ord(c) for c, r in zip(text, read, strict=True) if c != r}
        assert {ord(r) for c, r in zip(text, read, strict=True) if c != r} == {ord("?")}
        assert lost == {*range(0x20), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF} - set(b"\t\n\r")
    assert len(case.get("name", "")) == 5000


@pytest.mark.parametrize("printed", ["\uffff", "\x00\x1b[31m", "\ud800"])
def test_whatever_an_answer_prints_the_report_of_check_can_be_read(learner, tmp_path, printed):
    lines = f"print({printed!a})\n    raise ValueError({printed!a})"
    learner.write(merge_lists=f"def merge_lists(mask, unchosen, chosen):\n    {lines}\n")
    file = tmp_path / "report.xml"
    data = json.loads(learner("check", "90.1", "--json", "--junit", file, status=1))
    (suite,) = ElementTree.parse(file).getroot()
    assert [suite.get("tests"), suite.get("failures")] == [str(len(data["exercises"][0]["checks"]))] * 2
    assert suite[0][-1].tag == "system-out"
