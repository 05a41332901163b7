"""Tests of `jitkit explore FILE`, which makes an index of all functions of a run, and of `--watch`, which makes the
page again after each save.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from jitkit.explorer import index
from jitkit.explorer.api import file_name
from jitkit.kata.command import cli
from jitkit.kata.functions import recorded
from jitkit.kata.screens.live import Live
from jitkit.kata.verbs.explore_again import changed_figures, words_of

PROGRAM = """\
import {library} as jax, {library}.numpy as jnp

def loss(w, x):
    return ((x @ w) ** 2).sum()

grads = jax.jit(jax.grad(loss))
evaluate = jax.jit(loss)
quickly = jax.jit(loss)

@jax.jit
def index(x):
    return x + 1.0

def main():
    w = jnp.ones(3)
    for rows in (4, 4, 5):
        grads(w, jnp.ones((rows, 3)))
    evaluate(w, jnp.ones((4, 3)))
    quickly(w, jnp.ones((4, 3)))
    index(w)
    for _ in range(3):
        jax.jit(lambda v: v * 2.0)(w)
    class Scale:
        def __call__(self, x):
            return x * 3.0
    jax.jit(Scale())(w)

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("library", ["jitkit", "jax"])
def test_each_function_of_a_run_is_a_row_the_dearest_first_however_it_was_made(tmp_path, monkeypatch, library):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("train.py").write_text(PROGRAM.format(library=library))
    found = recorded.functions_of(recorded.run_script("train.py", library == "jax"))
    rows = {each.name: (len(each.calls), [number for number, _ in each.misses]) for each in found}
    (unnamed,) = rows.keys() - {"grads", "evaluate", "quickly", "index", "<lambda>"}
    assert rows == {
        "grads": (3, [1, 3]),
        "evaluate": (1, [1]),
        "quickly": (1, []),  # the same function and options: it reuses the program of the other one
        "index": (1, [1]),
        "<lambda>": (3, [1, 2, 3]),
        unnamed: (1, [1]),
    }
    spent = [each.seconds("trace", "lower", "compile") for each in found]
    assert spent == sorted(spent, reverse=True)
    assert {each.name: each.place.rpartition(":")[2] for each in found}["grads"] == "3"


@pytest.mark.parametrize("library", ["jitkit", "jax"])
def test_the_command_writes_an_index_and_a_page_for_each_function(tmp_path, monkeypatch, capsys, library):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("train.py").write_text(PROGRAM.format(library=library))
    words = ["explore", "train.py", "--target", "cpu", *(["--jax"] if library == "jax" else [])]
    assert cli.main(words) == 0, capsys.readouterr().err
    assert "train-explored" in capsys.readouterr().out
    text = pathlib.Path("train-explored/index.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"#]+)(?:#call=(\d+))?"', text)
    assert {file for file, _ in links} == {each.name for each in pathlib.Path("train-explored").iterdir()} - {
        "index.html"
    }
    assert "index-2.html" in {file for file, _ in links}  # a function may have the name `index`
    for file, number in links:
        page = pathlib.Path("train-explored", file).read_text(encoding="utf-8")
        data = json.loads(page.split('id="model">')[1].split("</script>")[0])
        entries = data["calls"]["entries"]
        assert not number or not entries[int(number) - 1]["hit"]
    assert "jitted 3 times" in text
    kind = "new signature" if library == "jitkit" else "other types"
    assert any(kind in cell.split("; ") for cell in re.findall(r'<td class="said">([^<]*)<', text))
    assert ("float32[4,3] before, float32[5,3] now" if library == "jitkit" else "now f32[5,3]") in text
    assert cli.main(words) == 0  # again: pages of the Explorer may be written over
    pathlib.Path("train-explored/index.html").write_text("mine")
    assert cli.main(words) == 1
    assert "was not overwritten" in capsys.readouterr().err
    assert pathlib.Path("train-explored/index.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("program", "words", "status", "said"),
    [
        ("x = 1", [], 1, "called no function that jitkit has jitted"),
        ("import jitkit\nraise ValueError('no data')", [], 1, "It ended with ValueError: no data"),
        (PROGRAM.format(library="jitkit"), ["--json"], 2, "need one function: train.py:FUNCTION"),
        (PROGRAM.format(library="jitkit"), ["--shapes", "f32[3]"], 2, "does not name a function"),
        (PROGRAM.format(library="jitkit"), ["-o", "train.py"], 1, "train.py is a file"),
        (PROGRAM.format(library="jitkit"), ["--target", "cpu9"], 2, "cpu9"),
    ],
)
def test_a_run_that_cannot_be_shown_says_why(tmp_path, monkeypatch, capsys, program, words, status, said):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("train.py").write_text(program)
    assert cli.main(["explore", "train.py", *words]) == status
    assert said in capsys.readouterr().err


def test_a_run_that_ends_with_an_error_shows_the_calls_before_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("train.py").write_text(PROGRAM.format(library="jitkit") + "    raise ValueError('too late')\n")
    assert cli.main(["explore", "train.py", "--target", "cpu"]) == 1
    assert "train.py ended with ValueError: too late" in capsys.readouterr().err
    assert "train.py ended with ValueError: too late" in pathlib.Path("train-explored/index.html").read_text("utf-8")
    assert data_of("train-explored/grads.html")["calls"]["ended"] == "train.py ended with ValueError: too late"


FAILS = """\
import {library} as jax, {library}.numpy as jnp

@jax.jit
def product(x):
    y = x + 1.0
    return y @ jnp.ones((3, 3))

@jax.jit
def never(x):
    return x @ jnp.ones((5, 5))

def attempt(function, x):
    try:
        function(x)
    except TypeError:
        pass

for size in (3, 4, 3):
    attempt(product, jnp.ones((2, size)))
attempt(never, jnp.ones((2, 4)))
{last}
"""


def data_of(page):
    return json.loads(pathlib.Path(page).read_text(encoding="utf-8").split('id="model">')[1].split("</script>")[0])


@pytest.mark.parametrize("library", ["jitkit", "jax"])
def test_a_call_that_fails_is_neither_hit_nor_miss(tmp_path, monkeypatch, capsys, library):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("fails.py").write_text(FAILS.format(library=library, last=""))
    words = ["--target", "cpu", *(["--jax"] if library == "jax" else [])]
    assert cli.main(["explore", "fails.py", *words]) == 1  # one function could not be traced
    out = capsys.readouterr().out
    assert "product: 3 calls, 1 miss, 1 failed" in out
    assert "never: 1 call, 0 misses, 1 failed; could not be traced: TypeError" in out
    index_ = pathlib.Path("fails-explored/index.html").read_text(encoding="utf-8")
    assert "4 calls, 1 of them missed the cache, 2 failed" in index_
    entries = data_of("fails-explored/product.html")["calls"]["entries"]
    assert [(each["hit"], (each["error"] or "")[:10]) for each in entries] == [
        (False, ""), (False, "TypeError:"), (True, "")
    ]  # fmt: skip
    never = data_of("fails-explored/never.html")
    assert never["failure"]["type"] == "TypeError"  # the only call failed: the page has the error
    assert cli.main(["explore", "fails.py:never", "--calls", *words]) == 1
    assert data_of("never.html")["calls"]["shown"] == 1
    assert cli.main(["explore", "fails.py:product", "--calls", *words]) == 0


@pytest.mark.parametrize("library", ["jitkit", "jax"])
def test_a_script_that_died_is_said_on_the_page_and_by_the_exit_status(tmp_path, monkeypatch, capsys, library):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("fails.py").write_text(FAILS.format(library=library, last="product(jnp.ones((2, 5)))"))
    words = ["--target", "cpu", *(["--jax"] if library == "jax" else [])]
    assert cli.main(["explore", "fails.py:product", "--calls", *words]) == 1
    calls_ = data_of("product.html")["calls"]
    assert calls_["ended"].startswith("fails.py ended with TypeError: ")
    assert [each["error"] is not None for each in calls_["entries"]] == [False, True, False, True]
    assert calls_["shown"] == 1


def test_names_of_a_program_are_data_on_the_index_and_its_pages_have_names_of_their_own():
    rows = [index.Function(name, "<b>.py:3", []) for name in ("<script>", "Loss", "loss", "index", "<lambda>")]
    addresses = index.addresses(rows, file_name)
    assert addresses == ["script.html", "Loss.html", "loss-2.html", "index-2.html", "lambda.html"]
    page = index.page("<i>.py", [(row, to, "<u>") for row, to in zip(rows, addresses, strict=True)], "", 7)
    assert not {"<script", "<b>", "<i>.", "<u>"} & set(re.findall(r"<\w+>?\.?", page))
    assert "7 later calls are not counted" in page
    numbered = [index.Function(name, "", []) for name in ("a", "a", "a-2", "A-2")]
    assert index.addresses(numbered, file_name) == ["a.html", "a-2.html", "a-2-2.html", "A-2-3.html"]


# --- again after each save ------------------------------------------------------------------------------------------


def asked(live, path, host=None):
    request = urllib.request.Request(live.address + path, headers={} if host is None else {"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def test_a_browser_gets_the_pages_that_were_made_and_nothing_else(tmp_path):
    page, secret = tmp_path / "f.html", tmp_path / "secret.html"
    page.write_text("<p>1</p>")
    secret.write_text("no")
    with Live("a<b") as live:
        assert asked(live, "page/f.html")[0] == 404
        live.show([page], "made", "done")
        assert asked(live, "page/f.html") == (200, "<p>1</p>")
        for path in ("page/secret.html", "page/../secret.html", "page/..%2fsecret.html", "f.html", "page/"):
            assert asked(live, path)[0] == 404, path
        assert asked(live, "page/f.html", host="elsewhere.example")[0] == 404
        assert asked(live, "", host="localhost:1")[0] == 200
        assert "a&lt;b" in asked(live, "")[1]
        now = json.loads(asked(live, "now?after=-1")[1])
        assert (now["page"], now["text"], now["state"]) == ("f.html", "made", "done")
        page.unlink()
        assert asked(live, "page/f.html")[0] == 404


def test_a_browser_that_knows_the_newest_version_hears_of_the_next_one():
    with Live("f") as live:
        known = live.after("after=-1")["version"]
        live.say("later", "running")
        assert live.after(f"after={known}") == {**live.after("after=-1"), "text": "later", "state": "running"}


def test_what_became_different_is_said_in_figures():
    assert changed_figures({}, {"equations": 3, "cpu flops": 1200}) == "equations: 3, cpu flops: 1,200"
    assert changed_figures({"equations": 3, "cpu flops": 1200}, {"equations": 3, "cpu flops": 9}) == (
        "cpu flops: 1,200 -> 9"
    )
    assert changed_figures({"equations": 3}, {"equations": 3}) == "no figure has changed"


def test_each_time_has_the_command_line_that_was_given():
    given = [
        "explore", "m.py:f", "--shapes", "f32[3]", '{"a": f32[2]}', "--static=n=3", "--static=m=-1", "--target=cpu", "--target=tpu:v5e",
        "--calls=run.py", "--against=g", "--jax", "--output=pages", "--time-limit=5.0",
    ]  # fmt: skip
    for words in (given, ["explore", "m.py:f", "--calls"], ["explore", "train.py"]):
        assert words_of(cli.make_parser(words).parse_args([*words, "--watch"])) == words


@pytest.mark.usefixtures("heard_interrupts")
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX: an interrupt is sent by a signal")
def test_a_page_is_made_anew_after_each_save_of_a_file_that_the_program_imports(tmp_path):
    (tmp_path / "m.py").write_text("from helper import scale\n\ndef f(x):\n    return scale(x).sum()\n")
    helper = tmp_path / "helper.py"
    helper.write_text("def scale(x):\n    return x * 2.0\n")
    command = [sys.executable, "-m", "jitkit.kata", "explore", "m.py:f", "--shapes", "f32[3]", "--target", "cpu"]
    running = subprocess.Popen(
        [*command, "--watch"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        first, second = running.stdout.readline(), running.stdout.readline()
        assert first.startswith("http://127.0.0.1:")
        assert "equations: 2, cpu kernels" in second
        helper.write_text("def scale(x):\n    return x * 2.0 + 1.0\n")
        assert "equations: 2 -> 3" in running.stdout.readline()
        helper.write_text("def scale(x:\n    return x\n")
        assert "SyntaxError" in running.stdout.readline()
        with urllib.request.urlopen(first.split()[0] + "page/f.html", timeout=30) as answer:
            assert "x * 2.0 + 1.0" in answer.read().decode()  # the last page that could be made
        helper.write_text("def scale(x):\n    return x\n")
        assert "equations: 3 -> 1" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        assert running.wait(120) == 0
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["m.py:f", "--json"], "--watch shows pages in a browser"),
        (["m.py:f", "--target", "cpu9"], "cpu9"),
        (["no.py:f"], "there is no file"),
        (["m.py:f"], "--shapes f32"),
    ],
)
def test_a_wrong_command_line_ends_it_at_once(tmp_path, monkeypatch, capfd, words, said):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("m.py").write_text("def f(x):\n    return x\n")
    start = time.monotonic()
    assert cli.main(["explore", *words, "--watch"]) == 2
    assert said in capfd.readouterr().err
    assert time.monotonic() - start < 300
