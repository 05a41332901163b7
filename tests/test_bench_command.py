"""`jitkit bench` as a command: what it prints, keeps, and does when something is wrong."""

from __future__ import annotations

import argparse
import builtins
import importlib
import json

import benchmarks
import pytest

from jitkit.bench import benchmark, tables
from jitkit.bench.tables import Column, Line
from jitkit.bench.timing import Spread
from jitkit.bench.words import quartiles, size, times, unknown
from jitkit.kata import problems
from jitkit.kata.command import cli
from jitkit.kata.screens.terminal import Screen
from jitkit.kata.verbs import bench

PNG = b"\x89PNG"


def run(*arguments):
    return cli.main(["bench", *arguments])


def test_one_pitfall_shows_its_programs_its_counts_and_why(capsys):
    assert run("pitfalls", "weak-types", "--quick") == problems.OK
    shown = capsys.readouterr().out
    assert "def weak_slow():" in shown
    assert "def weak_mended():" in shown
    assert "weak-types         2 -> 1    2 -> 1" in shown
    assert "explain: " in shown
    assert "--save DIR keeps" in shown


def test_a_pitfall_that_does_not_exist_is_wrong_usage(capsys):
    assert run("pitfalls", "lamda") == problems.USAGE
    assert "did you mean 'lambda'? There are: lambda, partial," in capsys.readouterr().err


def test_a_name_is_for_pitfalls_only(capsys):
    assert run("peers", "lambda") == problems.USAGE
    assert "takes no name" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["seeds", "eager", "pitfalls", "scaling", "growth", "loops"])
def test_a_word_that_no_row_contains_lists_the_rows(what, capsys):
    assert run(what, "--only", "warp drive") == problems.USAGE
    assert "no row is called 'warp drive'; there are:\n  " in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_is_measured(tmp_path, capsys, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr(
        benchmark.Benchmark, "steps", lambda self: [benchmark.Step("x", lambda: pytest.fail("measured"))]
    )
    assert run("pitfalls", "--save", str(tmp_path / "file" / "folder")) == problems.FAILED
    shown = capsys.readouterr().err
    assert "cannot write to" in shown
    assert "Choose another folder with --save DIR." in shown


def test_saved_are_table_data_and_figures_for_both_grounds(tmp_path, capsys):
    folder = tmp_path / "new" / "folder"
    assert run("pitfalls", "lambda", "--quick", "--save", str(folder)) == problems.OK
    names = {path.name for path in folder.iterdir()}
    assert names == {"pitfalls.txt", "pitfalls.json", "pitfalls-calls-light.png", "pitfalls-calls-dark.png"}
    light, dark = ((folder / f"pitfalls-calls-{ground}.png").read_bytes() for ground in ("light", "dark"))
    assert light.startswith(PNG)
    assert dark.startswith(PNG)
    assert light != dark
    assert "8 -> 1" in (folder / "pitfalls.txt").read_text(encoding="utf-8")
    assert json.loads((folder / "pitfalls.json").read_text(encoding="utf-8"))["complete"]
    assert "Saved: " in capsys.readouterr().out


def test_json_is_all_that_goes_to_the_output(tmp_path, capsys):
    assert run("pitfalls", "weak-types", "--quick", "--json", "--save", str(tmp_path)) == problems.OK
    shown = capsys.readouterr()
    data = json.loads(shown.out)
    assert data["rows"][0]["slow"]["compiles"] == 2
    assert {"processor", "cores", "python", "numpy", "jax", "jaxlib", "jitkit", "date"} <= set(data["machine"])
    assert "Saved: " in shown.err


class Interrupted(bench.Pitfalls):
    """A benchmark that is interrupted in its second row."""

    def all_steps(self):
        def interrupt():
            raise KeyboardInterrupt

        return [*super().all_steps()[:1], benchmark.Step("second", interrupt)]


def test_an_interruption_before_the_first_row_says_so(capsys, monkeypatch):
    steps = Interrupted.all_steps
    monkeypatch.setattr(Interrupted, "all_steps", lambda self: steps(self)[1:])
    monkeypatch.setattr(bench, "Pitfalls", Interrupted)
    assert run("pitfalls", "--quick") == problems.INTERRUPTED
    assert "interrupted: nothing was measured yet" in capsys.readouterr().err


def test_an_interruption_keeps_what_was_measured(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(bench, "Pitfalls", Interrupted)
    assert run("pitfalls", "--quick", "--save", str(tmp_path)) == problems.INTERRUPTED
    shown = capsys.readouterr()
    assert "lambda             8 -> 1    8 -> 1" in shown.out
    assert "interrupted: 1 of 2 measured" in shown.err
    data = json.loads((tmp_path / "pitfalls.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in data["rows"]] == ["lambda"]
    assert not data["complete"]
    assert (tmp_path / "pitfalls-calls-dark.png").read_bytes().startswith(PNG)


def test_an_interruption_before_the_first_row_is_valid_json_still(capsys, monkeypatch):
    class AtOnce(Interrupted):
        def all_steps(self):
            return super().all_steps()[1:]

    monkeypatch.setattr(bench, "Pitfalls", AtOnce)
    assert run("pitfalls", "--json") == problems.INTERRUPTED
    assert json.loads(capsys.readouterr().out)["rows"] == []


def test_without_matplotlib_there_is_the_table_and_a_sentence(tmp_path, capsys, monkeypatch):
    import_module = importlib.import_module

    def refuse(name, package=None):
        if name.endswith("drawn"):
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib.figure")
        return import_module(name, package)

    monkeypatch.setattr(importlib, "import_module", refuse)
    assert run("pitfalls", "weak-types", "--quick", "--save", str(tmp_path)) == problems.OK
    assert "No figures: matplotlib is not installed" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"pitfalls.txt", "pitfalls.json"}


def test_the_command_itself_does_not_need_matplotlib(monkeypatch):
    """Without matplotlib, each table is still shown."""
    imported, original = [], builtins.__import__

    def watching(name, *arguments):
        imported.append(name)
        return original(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", watching)
    importlib.reload(bench)
    assert "matplotlib" not in {name.split(".")[0] for name in imported}


# --- terminals ------------------------------------------------------------------------------------------------


class Text(list):
    encoding = "ascii"

    def write(self, text):
        self.append(text)

    def flush(self):
        pass


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("what", ["seeds", "peers", "eager", "pitfalls", "scaling", "growth", "loops"])
def test_the_head_fits_narrow_terminals_in_ascii_and_without_colour(what, width):
    stream = Text()
    screen = Screen(stream, width=width, interactive=False, color=False, unicode=False)
    made = bench.make_benchmark(argparse.Namespace(what=what, name=None, quick=True, only=None))
    bench.show_head(screen, made)
    bench.show_summary(screen, made, [], 1.0)
    shown = "".join(stream)
    shown.encode("ascii")
    assert "\x1b" not in shown
    rank_0 = 2 + sum(column.width + 2 for column in made.columns if not column.rank) - 2
    lines = [line for line in shown.splitlines() if not line.startswith("https://")]  # addresses are not broken
    assert max(map(len, lines)) <= max(width, rank_0)


COLUMNS = (Column("name", 6, "<"), Column("time", 5), Column("spread", 8, ">", 1), Column("more", 8, ">", 2))


def test_columns_of_the_highest_rank_are_left_out_first():
    assert tables.fitting(COLUMNS, 100) == [0, 1, 2, 3]
    assert tables.fitting(COLUMNS, 30) == [0, 1, 2]
    assert tables.fitting(COLUMNS, 10) == [0, 1]


def test_a_table_has_groups_and_notes():
    lines = [Line("one", ("a", "1", "2", "3")), Line("two", ("b", "4", "5", "6"), ("a note",))]
    assert tables.text(COLUMNS, lines).splitlines() == [
        "  name     time    spread      more",
        "one",
        "  a           1         2         3",
        "two",
        "  b           4         5         6",
        "    a note",
    ]
    shown = tables.as_html(COLUMNS, [Line("<x>", ("<a>", "", "", ""))])
    assert "&lt;a&gt;" in shown
    assert "<a>" not in shown


# --- the page -------------------------------------------------------------------------------------------------


def test_the_tables_of_the_page_are_found_and_replaced():
    for name, path in benchmarks.PAGES.items():
        page = path.read_text(encoding="utf-8")
        changed = benchmarks.with_table(page, name, "a table")
        assert changed.count("```\na table\n```") == 1
        assert len(changed) < len(page) - 500
    with pytest.raises(ValueError, match="0 tables"):
        benchmarks.with_table(page, "nothing", "a table")


# --- words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "words"), [(96, "96 B"), (4000, "4.0 kB"), (16e6, "16 MB"), (2.5e9, "2.5 GB")])
def test_sizes_have_units(count, words):
    assert size(count) == words


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(0.00068, "0.0007x"), (0.0123, "0.01x"), (0.4, "0.40x"), (1.04, "1.0x"), (27.4, "27x"), (9414, "9,400x")],
)
def test_factors_have_three_digits_at_most(ratio, words):
    assert times(ratio) == words


def test_quartiles_share_a_unit_where_they_have_one():
    assert quartiles(Spread(3e-6, 2.5e-6, 4e-6, 9)) == "2.50-4.00 µs"
    assert quartiles(Spread(3e-6, 2.5e-6, 4e-3, 9)) == "2.50 µs-4.00 ms"
    assert quartiles(Spread.of([3e-6])) == "one round"


def test_names_far_from_all_have_no_suggestion():
    assert unknown("pitfall", "zzz", ["lambda"]) == "there is no pitfall called 'zzz'. There are: lambda"
