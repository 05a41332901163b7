"""`jitkit bench peers` measures what it says, for both libraries alike."""

from __future__ import annotations

import io
import re

import jax
import jax.lax
import numpy as np
import pytest
from figures import cut_off, overlaps, words_of
from matplotlib.colors import to_rgba
from tails import one_in

import jitkit.lax
from jitkit.bench import fresh, numba_programs, programs, timing
from jitkit.bench.libraries import OURS, THEIRS
from jitkit.bench.machine import in_words, machine
from jitkit.bench.peers import OTHERS, Peers, Result
from jitkit.bench.peers_derivatives import DERIVATIVE_ROWS
from jitkit.bench.peers_ladder import LADDER_ROWS
from jitkit.bench.peers_rows import ROWS, Effort, Row
from jitkit.bench.plotting import DARK, LIGHT
from jitkit.bench.timing import Spread
from jitkit.kata.screens.terminal import Screen
from jitkit.kata.verbs import bench

LEAST = Effort(rounds=1, batch=1e-4, once=1, processes=1, seconds=0.0)


@pytest.mark.parametrize(
    "program", [programs.selu, programs.add_one, programs.step_all, programs.network, programs.softmax]
)
def test_both_libraries_run_the_same_program(program):
    params, x = programs.network_data(4, 3, 5, 2)
    arguments = {"step_all": (params,), "network": (params, x)}.get(program.__name__, (x,))
    ours = OURS.jit(program(OURS.np))(*arguments)
    theirs = THEIRS.jit(program(THEIRS.np))(*arguments)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert np.allclose(a, b, rtol=1e-5, atol=1e-6)


def test_the_long_program_has_1500_equations_in_both():
    x = np.arange(8, dtype=np.float32)
    counts = [len(lib.jit(programs.long_program(lib.np)).trace(x, x).jaxpr.eqns) for lib in (OURS, THEIRS)]
    assert counts == [1500, 1500]


@pytest.mark.parametrize("row", one_in(4, ROWS), ids=lambda row: f"{row.group}: {row.name}")
def test_every_row_gives_times_of_both_and_warm_calls_do_not_compile_by_the_clock(row, count):
    with count() as n:
        measured = row.measure(LEAST)
    assert {"jitkit", "jax"} <= set(measured) <= {"jitkit", "jax", *OTHERS}
    assert (not measured.keys().isdisjoint({"numpy", "Python"})) == row.group.startswith("run of")
    assert all(len(seconds) == 1 and 0 < seconds[0] < 60 for seconds in measured.values())
    if row.group.startswith(("warm", "eager", "with arrays")):
        assert n.compiles <= 12  # one for the row, and those of its eager operations, before the clock starts


@pytest.mark.parametrize("row", [*one_in(3, DERIVATIVE_ROWS), *LADDER_ROWS], ids=lambda row: row.name)
def test_rows_of_derivatives_and_of_the_ladder_give_times_of_both(row):
    measured = row.measure(LEAST)
    assert measured.keys() == {"jitkit", "jax"}
    assert all(len(seconds) == 1 and 0 < seconds[0] < 60 for seconds in measured.values())


@pytest.mark.parametrize("transform", ["value_and_grad", "vmap"])
def test_the_transformed_network_is_compiled_to_the_operations_of_jax(transform):
    def operations(library):
        program = programs.network(library.np)
        transformed = (
            library.vmap(program, (None, 0))
            if transform == "vmap"
            else library.value_and_grad(lambda params, x: library.np.mean(program(params, x) ** 2))
        )
        params, x = programs.network_data(16, 8, 32, 4)
        text = library.jit(transformed).lower(params, x).compile().as_text()
        return sorted(re.findall(r"^ +(?:ROOT )?%\S+ = .*?\} ([a-z-]+)\(", text, re.MULTILINE))

    assert operations(OURS) == operations(THEIRS)
    assert "fusion" in operations(OURS)


def test_first_calls_compile_in_every_round(count):
    (row,) = [row for row in ROWS if row.name == "in a warm process"]
    with count("network") as n:
        row.measure(LEAST._replace(once=3))
    assert (n.traces, n.compiles) == (4, 4)  # one for the warm-up


def test_a_failing_program_of_a_fresh_process_is_an_error_with_its_message():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        fresh._run("1 / 0")


def result(ratio, target=1.15):
    spread = Spread(ratio, ratio * 0.9, ratio * 1.1, 9)
    row = Row("warm call of a compiled function", "one array", target, lambda effort: {})
    return Result(row, Spread(3e-6, 3e-6, 3e-6, 9), Spread(3e-6 / ratio, 1e-6, 1e-6, 9), spread)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.90, 1.15, "met"),
        (0.90, 1.154, "met"),  # it is rounded to 1.15
        (0.90, 1.16, "not resolved"),
        (1.15, 1.40, "not resolved"),
        (1.16, 1.40, "missed"),
        (1.154, 1.154, "met"),
    ],
)
def test_a_target_between_the_quartiles_is_neither_met_nor_missed(low, high, verdict):
    assert result(1.0)._replace(ratio=Spread((low + high) / 2, low, high, 9)).verdict == verdict


def test_no_compiled_program_is_missed_while_as_fast_as_jax_is_within_its_quartiles():
    assert all(row.target >= 1.0 for row in ROWS if row.group.startswith("run of"))


def test_the_table_says_met_missed_or_not_resolved_with_the_spread():
    stream = io.StringIO()
    screen = Screen(stream, width=88, interactive=False, color=False, unicode=True)
    results = [result(1.0), result(1.1), result(1.3)]
    for i in range(3):
        bench.show_row(screen, Peers(), results[: i + 1])
    title, first, *others = stream.getvalue().splitlines()
    assert title == "warm call of a compiled function"
    assert first.split() == ["one", "array", "3.00", "µs", "3.00", "µs", "1.00", "(0.90-1.10)", "1.15", "met"]
    assert [line.endswith(word) for line, word in zip(others, ("not resolved", "missed"), strict=True)] == [True] * 2
    (sentence,) = Peers().summary(results)
    assert sentence == "Of 3 targets 1 met, 1 missed, 1 not resolved. Missed: one array (1.30)."


def test_the_rows_have_every_form_of_warm_call_at_the_targets_that_were_set():
    forms = {
        1.05: {"one array", "eight arrays", "dict of 20, in and out"},
        1.10: {"numpy array", "Python float", "jax.Array"},
        1.25: {
            "ahead of time", "static, by position", "static, by name", "method, self static", "registered dataclass",
            "namedtuple", "keyword", "np.float32", "no argument",
            "tree.map, dict of 3", "list(x) of 8 numbers", "np.asarray(x)",
        },
    }  # fmt: skip
    assert all({row.name for row in ROWS if row.target == target} == names for target, names in forms.items())


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.group.startswith("warm")], ids=lambda row: f"{row.group}: {row.name}"
)
def test_a_warm_call_gives_the_same_with_both(row, monkeypatch):
    given = {}
    monkeypatch.setattr(timing, "measure", lambda actions, **options: given.update(actions) or {})
    row.measure(LEAST)
    ours, theirs = (jax.tree.leaves(given[name]()) for name in ("jitkit", "jax"))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        assert a.dtype == b.dtype


def with_others(ratio):
    numpy = Spread(9e-3, 8e-3, 1e-2, 9)
    row = Row("run of a compiled program", f"program {ratio}", 1.02, lambda effort: {})
    return result(ratio)._replace(row=row, others={"numpy": numpy})


def test_other_libraries_have_columns_of_a_second_table():
    appendix = Peers().appendix([result(1.0), with_others(1.1)])
    assert [column.name for column in appendix.columns] == ["", "jitkit", "jax", "numpy"]
    (line,) = appendix.lines
    assert line.cells == ("program 1.1", "3.00 µs", "2.73 µs", "9.00 ms")
    assert appendix.remark.startswith("numba: it is not installed")
    assert Peers().appendix([result(1.0)]) is None


def test_a_program_without_a_time_of_numba_says_why():
    numba = Spread(4e-3, 3e-3, 5e-3, 9)
    results = [with_others(1.0), with_others(1.1)._replace(others={"numba": numba})]
    appendix = Peers().appendix(results)
    assert [line.cells[-1] for line in appendix.lines] == ["-", "4.00 ms"]
    assert appendix.remark.startswith("numba was not measured on program 1.0: its matrix products are calls of a BLAS")
    assert Peers().appendix(results[1:]).remark == ""


def test_the_programs_for_numba_compute_what_the_others_do():
    """Here Python runs them, which is slow, and gives the same results."""
    x = np.linspace(-1.0, 1.0, 12, dtype=np.float32)
    np.testing.assert_allclose(numba_programs.selu(x), programs.selu(np)(x), rtol=1e-5)
    rows = x.reshape(3, 4)
    np.testing.assert_allclose(numba_programs.softmax(rows), programs.softmax(np)(rows), rtol=1e-5)
    for lax in (jitkit.lax, jax.lax):
        turned = programs.logistic_loop(lax, 5)(np.float32(0.3))
        np.testing.assert_allclose(turned, numba_programs.logistic_loop(np.float32(0.3), 5), rtol=1e-5)


@pytest.mark.parametrize("theme", one_in(2, [LIGHT, DARK]), ids=lambda theme: theme.name)
def test_the_figures_have_a_bar_for_every_row_and_a_point_for_every_library(theme):
    results = [result(1.0), result(1.3), result(1.4), with_others(0.9), with_others(1.1)]
    drawn = {name: drawing.figure(theme) for name, drawing in Peers().drawings(results).items()}
    assert set(drawn) == {"peers", "peers-programs"}
    assert len(drawn["peers"].axes[0].patches) == 5
    labels = [text.get_text().split("  ")[1] for text in drawn["peers"].axes[0].texts]
    assert labels == ["met", "missed", "missed", "met", "not resolved"]
    colors = {patch.get_facecolor() for patch in drawn["peers"].axes[0].patches}
    assert colors == {to_rgba(color) for color in (theme.blue, theme.vermilion, theme.grey)}
    words = words_of(drawn["peers-programs"])
    assert [words.count(f"{name}  ") for name in ("jitkit", "jax", "numpy", "numba")] == [2, 2, 2, 0]
    for figure in drawn.values():
        assert overlaps(figure) == []
        assert cut_off(figure) == []


def test_the_data_are_numbers_of_both():
    data = Peers(only="one array").as_data([result(1.3)])
    assert data["complete"]
    (row,) = data["rows"]
    assert row["jitkit"]["median"] == 3e-6
    assert row["verdict"] == "missed"


def test_the_machine_is_named():
    known = machine()
    assert known["processor"]
    assert known["jax"] == jax.__version__
    assert {"cores", "python", "numpy", "jaxlib", "jitkit", "date", "device"} <= set(known)
    assert f"numpy {np.__version__}" in " ".join(in_words(known))


def test_a_busy_machine_is_said_to_be_so():
    known = machine() | {"load": 9.0, "cores": 2}
    assert in_words(known)[-1] == "The machine was busy (load 9.0 on 2 cores): these figures are rough."
    assert len(in_words(known | {"load": 1.0})) == len(in_words(known | {"load": None})) == 2


@pytest.mark.parametrize(("load", "says"), [(9.0, True), (1.0, False)])
def test_a_figure_says_so_too_when_it_was_busy_before_the_measurement(load, says):
    benchmark = Peers()
    benchmark.machine = machine() | {"load": load, "cores": 2}
    figure = benchmark.drawings([result(1.0)])["peers"].figure()
    assert ("The machine was busy (load 9.0 on 2 cores)" in words_of(figure)) is says
    assert cut_off(figure) == []


def test_ratios_below_one_mean_that_jitkit_is_faster():
    assert timing.ratio([1.0], [2.0]).median == 0.5
