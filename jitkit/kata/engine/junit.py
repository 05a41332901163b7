"""suites of cases -> JUnit XML

The report contains the output of a learner's program. XML cannot contain some characters, such as most control
characters, lone surrogates and U+FFFF, not even escaped: each becomes a `?`.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Case(NamedTuple):
    """One check.

    Attributes:
      outcome: "" for a pass, else "failure", "error" (nobody knows whether it passes) or "skipped".
      kind: the kind of the failure, such as "crash".
      message: one sentence.
      detail: further lines.
      output: what was printed.
    """

    name: str
    seconds: float = 0.0
    outcome: str = ""
    kind: str = ""
    message: str = ""
    detail: str = ""
    output: str = ""


class Suite(NamedTuple):
    """The checks of one exercise; `classname` is the name under which continuous integration groups them."""

    name: str
    classname: str
    cases: Sequence[Case]


def junit(name: str, suites: Iterable[Suite]) -> str:
    """Return the report as text, which is to be written as UTF-8."""
    root = ElementTree.Element("testsuites", name=_xml(name))
    for suite in suites:
        element = ElementTree.SubElement(root, "testsuite", name=_xml(suite.name), tests=str(len(suite.cases)))
        for plural, outcome in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            element.set(plural, str(sum(case.outcome == outcome for case in suite.cases)))
        element.set("time", f"{sum(case.seconds for case in suite.cases):.3f}")
        for case in suite.cases:
            _add(element, suite.classname, case)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add(suite: ElementTree.Element, classname: str, case: Case) -> None:
    element = ElementTree.SubElement(
        suite, "testcase", classname=_xml(classname), name=_xml(case.name), time=f"{case.seconds:.3f}"
    )
    if case.outcome:
        kind = {"type": _xml(case.kind)} if case.kind else {}
        what = ElementTree.SubElement(element, case.outcome, kind, message=_xml(case.message))
        what.text = _xml(case.detail) or None
    if case.output:
        ElementTree.SubElement(element, "system-out").text = _xml(case.output)


# Whatever is not a `Char` of https://www.w3.org/TR/xml/#charsets
_NO_CHARACTER_OF_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _xml(text: str) -> str:
    return _NO_CHARACTER_OF_XML.sub("?", text)
