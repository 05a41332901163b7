"""Pages for instructors and students, marks that are changed by hand, pages without names, figures of the class."""

from __future__ import annotations

import base64
import csv
import functools
import hashlib
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import sqlite3

import pytest
from test_grader_exports import check, grade, handin, result

from grading.__main__ import main
from grading.grader import exports, figures, gradebooks, report
from grading.grader.anonymous import anonymous
from grading.grader.files import file_name
from grading.grader.standing import Standing
from grading.grader.store import Store

CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
DAY = 86_400.0
COURSE = """
roster = "r.csv"
requests = "q.csv"
[late]
percent_a_day = 10
[lab.00]
due = 1970-01-02T00:00:00
points = 10
[lab.02]
points = 20
"""


@pytest.fixture
def folder(tmp_path):
    """Return graded submissions: ann is right in 00.1 and late; bob has a part of 02.1 wrong, and is suspicious; zed handed
    in nothing; eve's submission cannot be run.
    """
    (tmp_path / "r.csv").write_text(
        "student,name,email\nann,Ann Lee,ann@x\nbob,Bob Ray,bob@x\nzed,Zed Ok,z@x\n", encoding="utf-8"
    )
    (tmp_path / "q.csv").write_text("student,exercise,request,answer\nbob,02.1,It is right.,\n", encoding="utf-8")
    (tmp_path / "course.toml").write_text(COURSE, encoding="utf-8")
    wrong = check(
        "FAIL", name="b", about="About b.", sentence="It differs.", where="r", expected="1", actual="ann said 2"
    )
    hidden = check("LIMIT", name="c", about="About c.", hidden=True, sentence="secret words")
    with Store(tmp_path, write=True) as store:
        store.set_meta("policy", str(tmp_path / "course.toml"))
        late = {"handed_in": 3 * DAY}
        store.add(
            [result("r1", check(), check(name="b"))],
            [grade("ann", **late)],
            [handin("ann", "s0", at=DAY), handin("ann", at=3 * DAY)],
        )
        row = grade("bob", "s2", key="r2", exercise="02.1", lab="02", max=3.0, flags=("uses gc",), handed_in=DAY)
        store.add(
            [result("r2", check(), wrong, hidden)],
            [row],
            [handin("bob", "s2", at=DAY, lab="02", taken=["Bob Ray/02.py"])],
        )
        store.add([], [grade("eve", "s3", 0.0, "INVALID", "", None, sentence="No Python in it.")])
    return tmp_path


def standing_of(folder):
    with Store(folder) as store:
        return Standing.of(store)


def pages_of(folder, name="report"):
    return {
        p.relative_to(folder / name).as_posix(): p.read_text(encoding="utf-8") for p in (folder / name).rglob("*.html")
    }


def text_of(page):
    return " ".join(re.sub(r"<[^>]+>", " ", re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)).split())


def test_the_class_comes_first_with_totals_and_who_is_missing_and_alarms_stand_apart(folder):
    assert main(["report", str(folder)]) == 0
    page = pages_of(folder)["index.html"]
    links, _, rest = page.partition("</nav>")
    assert all(f'id="{name}"' in rest for name in re.findall(r'href="#(\w+)"', links))
    text = text_of(rest)
    order = [
        "Students",
        "What needs a person's eye",
        "Who asks for another look",
        "What reads alike",
        "Late",
        "Figures",
    ]
    places = [rest.index(f">{title}<") for title in order]
    assert places == sorted(places)
    assert re.search(r"ann Ann Lee 8 62 late 8 1970-01-04", text), text
    assert "zed Zed Ok never handed in" in text
    eye, late = text[text.index(order[1]) : text.index(order[3])], text[text.rindex("No two submissions") :]
    assert "uses gc" in eye
    assert "LIMIT in a check" in eye
    assert "INVALID: No Python in it." in eye
    assert "It is right. none yet" in eye
    assert "late" not in eye
    assert "1 student: late: counts 80 %" in late
    script = (pathlib.Path(report.__file__).parent / "pages" / "table.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;" in page
    assert f"<script>{script}</script>" in page


def test_a_students_page_adds_up_and_says_when_how_late_and_what_is_next(folder):
    main(["report", str(folder)])
    pages = pages_of(folder)
    ann, bob = (text_of(pages[f"feedback/{file_name(s)}.html"]) for s in ("ann", "bob"))
    assert "8 of 13 points" in ann, "as in the table of the class, with what was never handed in"
    assert "Lab 02, Jaxprs (3 points): you have handed in nothing yet that could be graded." in ann
    assert (
        "Handed in 1970-01-04 00:00 UTC; 2 times in all, the last one counts; due 1970-01-02 00:00 UTC; 2 days late"
        in ann
    )
    assert "counts 80 % of the 10 points of what passed" in ann
    assert ann.count("PASS What is true. 4 5") == 2
    assert "Next: 02.1" in bob
    assert "2 of 3 checks do not pass yet. jitkit check 02.1 shows them" in bob
    assert "You asked: It is right. Answer: none yet" in bob
    assert "gc" not in bob
    assert "secret words" not in bob
    assert "About c. (hidden)" in bob
    instructor = text_of(pages[f"students/{file_name('bob')}.html"])
    assert "To look at: uses gc" in instructor
    assert "secret words" in instructor
    eve = text_of(pages[f"feedback/{file_name('eve')}.html"])
    assert "INVALID: No Python in it." in eve
    assert "No mark yet nothing was run" in eve
    assert "the grader had a fault" not in eve


def test_what_could_not_be_run_stays_in_sight_when_another_lab_is_handed_in_later(folder):
    """eve's first hand-in cannot be run, and nobody knows which lab it was for. Her lab 02 is right; of lab 00 she has no mark, and
    everybody is told why, until a later hand-in or a mark by hand is about lab 00.
    """
    row = grade("eve", "s5", key="r1", exercise="02.1", lab="02", max=3.0, handed_in=9 * DAY)
    with Store(folder, write=True) as store:
        store.add([], [row], [handin("eve", "s5", at=9 * DAY, lab="02")])
    main(["report", str(folder)])
    pages = pages_of(folder)
    assert "INVALID: No Python in it." in text_of(pages["index.html"].partition("person's eye")[2])
    assert "no mark yet No Python in it." in text_of(pages["index.html"])
    for place in ("feedback", "students"):
        text = text_of(pages[f"{place}/{file_name('eve')}.html"])
        assert "3 of 13 points" in text
        assert (
            "INVALID: No Python in it. Lab 00, Hello (10 points, due 1970-01-02 00:00 UTC): you have handed in nothing"
            in text
        )
    (line,) = (r for r in csv.DictReader(io.StringIO(exports.to_csv(standing_of(folder)))) if r["outcome"] == "INVALID")
    assert (line["student"], line["points"], line["max"], line["reason"]) == ("eve", "", "10", "No Python in it.")
    with Store(folder, write=True) as store:
        store.add([], [grade("eve", "s6")], [handin("eve", "s6", at=10 * DAY)])
    assert "INVALID" not in {r.grade.outcome for r in standing_of(folder).records}


def test_a_fault_of_ours_stays_in_sight_until_the_same_files_are_graded(folder):
    row = grade("bob", "", None, "INFRA", "", None, path="/in/bob", sentence="The grader had a fault.")
    with Store(folder, write=True) as store:
        store.add([], [row])
    assert [r.grade.outcome for r in standing_of(folder).by_student()["bob"]] == ["INFRA", "OK"]
    with Store(folder, write=True) as store:
        store.add([], [grade("bob", "s2", 0.0, "INVALID", "", None, path="/in/bob")])
    assert [r.grade.outcome for r in standing_of(folder).by_student()["bob"]] == ["INVALID", "OK"]


def test_where_nothing_could_be_run_the_class_and_the_exports_have_no_mark_yet_and_say_why(folder):
    with Store(folder, write=True) as store:
        part = {"lab": "00", "exercise": "00.1", "outcome": "INVALID", "points": 0.0, "key": ""}
        store.add([], [grade("fay", "s4", **part, sentence="exercises.py is not in UTF-8.")], [handin("fay", "s4")])
    main(["report", str(folder)])
    page = pages_of(folder)["index.html"]
    lines = page.partition("</tbody>")[0].split("<tr data-is=")[1:]
    rows = {name: text_of(f"<tr {line}") for name in ("eve", "fay") for line in lines if f">{name}</a>" in line}
    assert rows["eve"] == "eve 1 to look at no mark yet No Python in it."
    assert rows["fay"].startswith("fay 0 0 1 to look at no mark for 00.1 0")
    assert '<input type="checkbox" value="unmarked"> no mark yet' in page
    now = standing_of(folder)
    assert figures.of_class(now) == [8 / 13, 1 / 13, 0.0], "ann, bob and fay: eve has no mark that could be counted"
    assert next(r["points"] for r in csv.DictReader(io.StringIO(exports.to_csv(now))) if r["student"] == "eve") == ""
    (mine,) = (r for r in now.records if r.grade.student == "eve")
    told = json.loads(gradebooks.gradescope_results([mine], ""))
    assert told["score"] == 0, "Gradescope has no way to say that there is none"
    assert "No Python in it." in told["tests"][0]["output"]
    assert "fault" not in told.get("output", "")


def test_a_mark_that_is_changed_by_hand_is_added_and_shown_everywhere(folder, capsys):
    words = ["mark", str(folder), "bob", "02.1"]
    assert main([*words, "--points", "2.5", "--reason", "two readings", "--comment", "Well argued."]) == 0
    assert "2.5 of" in capsys.readouterr().out
    now = standing_of(folder)
    (record,) = (r for r in now.records if r.grade.student == "bob")
    assert (record.points, record.mark.reason) == (2.5, "two readings")
    data = json.loads(gradebooks.gradescope_results([record], ""))
    assert data["score"] == 2.5 == pytest.approx(sum(t["score"] for t in data["tests"]))
    rows = list(csv.DictReader(io.StringIO(exports.to_csv(now))))
    assert [(r["points"], r["by hand"]) for r in rows if r["student"] == "bob"] == [
        ("2.5", "changed by hand to 2.5: two readings. Well argued.")
    ]
    (mine,) = (g for g in json.loads(exports.to_json(now))["grades"] if g["student"] == "bob")
    assert (mine["points"], mine["by_hand"]["reason"], mine["by_hand"]["comment"]) == (
        2.5,
        "two readings",
        "Well argued.",
    )
    assert ["Bob Ray", "", "", "bob", "", "", "2.5"] in list(csv.reader(io.StringIO(gradebooks.to_canvas(now))))
    gradebooks.to_moodle(now, folder / "moodle")
    assert "two readings" in (folder / "moodle" / "lab_02.csv").read_text(encoding="utf-8")
    main(["report", str(folder)])
    for name in (f"feedback/{file_name('bob')}.html", f"students/{file_name('bob')}.html", "index.html"):
        assert "two readings" in pages_of(folder)[name], name
    assert main([*words, "--comment", "Thanks."]) == 0
    (record,) = (r for r in standing_of(folder).records if r.grade.student == "bob")
    assert (record.points, record.mark.comment) == (2.5, "Thanks.")
    assert main([*words, "--withdraw", "--reason", "no"]) == 0
    (record,) = (r for r in standing_of(folder).records if r.grade.student == "bob")
    assert record.points == record.graded != 2.5
    with Store(folder, write=True) as store:
        assert [m.points for m in store.marks()] == [2.5, 2.5, None]
        with pytest.raises(sqlite3.Error, match="only added to"):
            store.database.execute("DELETE FROM marks")


def test_a_mark_may_be_of_what_was_never_handed_in(folder):
    assert main(["mark", str(folder), "zed", "00.1", "--points", "7", "--reason", "oral"]) == 0
    now = standing_of(folder)
    assert [(r.grade.student, r.points, r.max) for r in now.records if r.grade.student == "zed"] == [("zed", 7.0, 10.0)]
    assert now.missing == []
    assert main(["report", str(folder)]) == 0
    assert "oral" in pages_of(folder)[f"feedback/{file_name('zed')}.html"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["anne", "00.1", "--points", "1", "--reason", "x"], "is it 'ann'"),
        (["ann", "00.7", "--points", "1", "--reason", "x"], "no exercise"),
        (["ann", "00.1", "--points", "1"], "--reason"),
        (["ann", "00.1", "--points", "-1", "--reason", "x"], "from 0 on"),
        (["ann", "00.1", "--points", "nan", "--reason", "x"], "from 0 on"),
        (["ann", "00.1"], "--comment"),
    ],
)
def test_a_mark_that_cannot_be_is_a_sentence(folder, capsys, words, said):
    assert main(["mark", str(folder), *words]) in (1, 2)
    assert said in capsys.readouterr().err
    assert standing_of(folder).marks == ()


def test_pages_without_names_have_none(folder):
    with Store(folder, write=True) as store:
        store.mark("bob", "02.1", 1.0, "why", "", "me")
    assert main(["report", str(folder), "--anonymous"]) == 0
    names = dict(list(csv.reader(io.StringIO((folder / "anonymous.csv").read_text(encoding="utf-8"))))[1:])
    assert sorted(names) == ["ann", "bob", "eve", "zed"]
    pages = pages_of(folder, "report-anonymous")
    assert len(pages) == 7
    for name, page in pages.items():
        text = text_of(page)
        assert not re.search(r"\b(Bob|bob|Ray|eve|Zed|zed|ok)\b|@x", f"{name} {text}"), text
    bob = text_of(pages[f"students/{file_name(names['bob'])}.html"])
    assert "ann said 2" in bob, "the name of somebody else is a word like others"
    assert ".../02.py" in bob.replace("... ...", "...")
    again, _ = anonymous(standing_of(folder), "another")
    assert not {r.grade.student for r in again.records} & set(names.values())


def test_figures_are_of_labs_exercises_and_checks(folder):
    rows = list(csv.DictReader(io.StringIO(exports.to_statistics(standing_of(folder)))))
    assert [(r["what"], r["id"], r["students"], r["mean"], r["passed"]) for r in rows] == [
        ("lab", "00", "1", "80", ""),
        ("lab", "02", "1", "33.3", ""),
        ("exercise", "00.1", "1", "100", ""),
        ("exercise", "02.1", "1", "33.3", ""),
        ("check", "02.1 b", "1", "", "0"),
        ("hidden check", "02.1 c", "1", "", "0"),
        ("check", "00.1 b", "1", "", "100"),
        ("check", "00.1 values", "1", "", "100"),
        ("check", "02.1 values", "1", "", "100"),
    ]


def test_without_jinja2_a_sentence_says_what_to_install(folder, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    report._templates.cache_clear()
    try:
        assert main(["report", str(folder)]) == 1
    finally:
        report._templates.cache_clear()
    assert 'pip install -e ".[grader]"' in capsys.readouterr().err


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: Chromium on the PATH, or CHROMIUM=/its/path")
@pytest.mark.skipif(
    importlib.util.find_spec("playwright") is None, reason="needs a browser: pip install -e '.[browser]'"
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_browser_sorts_and_filters_the_class_and_nothing_is_wider_than_a_phone(folder):
    main(["report", str(folder)])
    playwright = importlib.import_module("playwright.sync_api").sync_playwright().start()
    try:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=scheme)
            said = []
            page.on("console", lambda message, said=said: said.append(message.text))
            rows = functools.partial(page.eval_on_selector_all, ".students tbody tr:not([hidden]) th")
            page.goto((folder / "report" / "index.html").as_uri())
            order = "cells => cells.map(cell => cell.textContent)"
            assert rows(order) == ["ann", "bob", "eve", "zed"]
            page.click("th:nth-child(3) button")
            page.click("th:nth-child(3) button")
            assert rows(order)[0] == "ann"
            assert rows(order)[-1] == "zed", "who has no points is last, whichever way it is sorted"
            page.fill("#find", "ray bob")
            assert rows(order) == ["bob"]
            page.fill("#find", "")
            page.check("input[value=missing]")
            assert rows(order) == ["zed"]
            names = [
                "index.html",
                *(f"{place}/{file_name(s)}.html" for s in ("ann", "eve") for place in ("students", "feedback")),
            ]
            for name in names:
                page.goto((folder / "report" / name).as_uri())
                assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
            page.goto((folder / "report" / "index.html").as_uri())
            page.eval_on_selector(".students .name", "cell => cell.textContent = 'x'.repeat(300)")
            wide = "cells => Math.max(...cells.map(cell => cell.getBoundingClientRect().width))"
            assert page.eval_on_selector_all(".students .name", wide) < 300, "one long name moves nobody's points away"
            page.eval_on_selector(".students .name", "cell => cell.textContent = 'x'")
            page.eval_on_selector(".students tbody th a", "link => link.textContent = 'x'.repeat(300)")
            high = "rows => Math.max(...rows.map(row => row.offsetHeight))"
            assert page.eval_on_selector_all(".students tbody tr", high) < 150, (
                "one long name moves nobody out of sight"
            )
            assert said == []
        browser.close()
    finally:
        playwright.stop()
