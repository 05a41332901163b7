"""`jitkit bench peers` measures what it says, for both libraries alike."""

from __future__ import annotations

import io

import jax
import jax.lax
import numpy as np
import pytest
from figures import cut_off, overlaps, words_of
from tails import one_in

import jitkit.lax
from jitkit.bench import fresh, numba_programs, programs, timing
from jitkit.bench.libraries import OURS, THEIRS
from jitkit.bench.machine import in_words, machine
from jitkit.bench.peers import Peers, Result
from jitkit.bench.peers_rows import ROWS, Effort, Row
from jitkit.bench.plotting import DARK, LIGHT
from jitkit.bench.timing import Spread
from jitkit.kata.screens.terminal import Screen
from jitkit.kata.verbs import bench

LEAST = Effort(rounds=1, batch=1e-4, once=1, processes=1)


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


@pytest.mark.parametrize("row", one_in(2, ROWS), ids=lambda row: f"{row.group}: {row.name}")
def test_every_row_gives_times_of_both(row):
    measured = row.measure(LEAST)
    assert {"jitkit", "jax"} <= set(measured) <= {"jitkit", "jax", "numpy", "numba"}
    assert ("numpy" in measured) == row.group.startswith("run of")
    assert all(len(seconds) == 1 and 0 < seconds[0] < 60 for seconds in measured.values())


def test_warm_rows_do_not_compile_while_they_are_measured(count):
    rows = [row for row in ROWS if row.group.startswith(("warm", "eager"))]
    for row in rows:
        with count() as n:
            row.measure(LEAST)
        assert n.compiles <= 12, (
            row.name
        )  # one for the row, and those of its eager operations, before the clock starts


def test_first_calls_compile_in_every_round(count):
    (row,) = [row for row in ROWS if row.name == "in a warm process"]
    with count("network") as n:
        row.measure(LEAST._replace(once=3))
    assert (n.traces, n.compiles) == (4, 4)  # the first turn is for warming up


def test_a_failing_program_of_a_fresh_process_is_an_error_with_its_message():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        fresh._run("1 / 0")


def result(ratio, target=1.15):
    spread = Spread(ratio, ratio * 0.9, ratio * 1.1, 9)
    row = Row("warm call of a compiled function", "one array", target, lambda effort: {})
    return Result(row, Spread(3e-6, 3e-6, 3e-6, 9), Spread(3e-6 / ratio, 1e-6, 1e-6, 9), spread)


@pytest.mark.parametrize(("ratio", "met"), [(1.0, True), (1.15, True), (1.154, True), (1.16, False)])
def test_a_target_is_met_by_the_digits_that_are_shown(ratio, met):
    assert result(ratio).met is met


def test_the_table_says_met_or_missed_with_the_spread():
    stream = io.StringIO()
    screen = Screen(stream, width=80, interactive=False, color=False, unicode=True)
    bench.show_row(screen, Peers(), [result(1.0)])
    bench.show_row(screen, Peers(), [result(1.0), result(1.3)])
    title, first, second = stream.getvalue().splitlines()
    assert title == "warm call of a compiled function"
    assert first.split() == ["one", "array", "3.00", "µs", "3.00", "µs", "1.00", "(0.90-1.10)", "1.15", "met"]
    assert second.endswith("missed")
    assert max(len(first), len(second)) < 80


def with_others(ratio):
    numpy = Spread(9e-3, 8e-3, 1e-2, 9)
    row = Row("run of a compiled program", f"program {ratio}", 1.02, lambda effort: {})
    return result(ratio)._replace(row=row, others={"numpy": numpy})


def test_other_libraries_have_columns_of_a_second_table():
    appendix = Peers().appendix([result(1.0), with_others(1.1)])
    assert [column.name for column in appendix.columns] == ["", "jitkit", "jax", "numpy"]
    (line,) = appendix.lines
    assert line.cells == ("program 1.1", "3.00 µs", "2.73 µs", "9.00 ms")
    assert appendix.remark == "numba is not installed."
    assert Peers().appendix([result(1.0)]) is None


def test_the_programs_for_numba_compute_what_the_others_do():
    """Without their compiler, which is slow, and right."""
    x = np.linspace(-1.0, 1.0, 12, dtype=np.float32)
    np.testing.assert_allclose(numba_programs.selu(x), programs.selu(np)(x), rtol=1e-5)
    rows = x.reshape(3, 4)
    np.testing.assert_allclose(numba_programs.softmax(rows), programs.softmax(np)(rows), rtol=1e-5)
    for lax in (jitkit.lax, jax.lax):
        turned = programs.logistic_loop(lax, 5)(np.float32(0.3))
        np.testing.assert_allclose(turned, numba_programs.logistic_loop(np.float32(0.3), 5), rtol=1e-5)


@pytest.mark.parametrize("theme", one_in(2, [LIGHT, DARK]), ids=lambda theme: theme.name)
def test_the_figures_have_a_bar_for_every_row_and_a_point_for_every_library(theme):
    results = [result(1.0), result(1.3), with_others(0.9), with_others(1.1)]
    drawn = {name: drawing.figure(theme) for name, drawing in Peers().drawings(results).items()}
    assert set(drawn) == {"peers", "peers-programs"}
    assert len(drawn["peers"].axes[0].patches) == 4
    assert words_of(drawn["peers"]).count("missed") == 2
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
    assert row["met"] is False


def test_the_machine_is_named():
    known = machine()
    assert known["processor"]
    assert known["jax"] == jax.__version__
    assert {"cores", "python", "numpy", "jaxlib", "jitkit", "date", "device"} <= set(known)
    assert f"numpy {np.__version__}" in " ".join(in_words(known))


def test_a_busy_machine_is_said_to_be_so():
    known = machine() | {"load": 9.0, "cores": 2}
    assert in_words(known)[-1] == "The machine is busy (load 9.0 on 2 cores): what follows is rough."
    assert len(in_words(known | {"load": 1.0})) == len(in_words(known | {"load": None})) == 2


def test_ratios_below_one_mean_that_jitkit_is_faster():
    assert timing.ratio([1.0], [2.0]).median == 0.5
