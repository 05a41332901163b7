"""`jitkit bench peers` measures what it says, for both libraries alike."""

from __future__ import annotations

import io
import json

import jax
import numpy as np
import pytest

from jitkit.bench import fresh, peers, programs, timing
from jitkit.bench.peers import OURS, THEIRS, Effort, Result, Row
from jitkit.bench.timing import Spread
from jitkit.kata import bench
from jitkit.kata.terminal import Screen

LEAST = Effort(rounds=1, batch=1e-4, once=1, processes=1)


@pytest.mark.parametrize("program", [programs.selu, programs.add_one, programs.step_all, programs.network])
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


@pytest.mark.parametrize("row", peers.ROWS, ids=lambda row: f"{row.group}: {row.name}")
def test_every_row_gives_times_of_both(row):
    measured = row.measure(LEAST)
    assert set(measured) == {"jitkit", "jax"}
    assert all(len(seconds) == 1 and 0 < seconds[0] < 60 for seconds in measured.values())


def test_warm_rows_do_not_compile_while_they_are_measured(count):
    rows = [row for row in peers.ROWS if row.group.startswith(("warm", "eager"))]
    for row in rows:
        with count() as n:
            row.measure(LEAST)
        assert n.compiles <= 12, (
            row.name
        )  # one for the row, and those of its eager operations, before the clock starts


def test_first_calls_compile_in_every_round(count):
    (row,) = [row for row in peers.ROWS if row.name == "in a warm process"]
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
    bench.show_row(screen, [result(1.0)])
    bench.show_row(screen, [result(1.0), result(1.3)])
    title, first, second = stream.getvalue().splitlines()
    assert title == "warm call of a compiled function"
    assert first.split() == ["one", "array", "3.00", "µs", "3.00", "µs", "1.00", "(0.90-1.10)", "1.15", "met"]
    assert second.endswith("missed")
    assert max(len(first), len(second)) < 80


def test_what_is_saved_is_the_table_the_data_and_a_plot(tmp_path):
    results = [result(1.0), result(1.3)]
    data = json.dumps(peers.as_data(results, LEAST))
    paths = bench.save(tmp_path / "new folder", results, data, LEAST, 12.0)
    assert [path.name for path in paths] == ["peers.txt", "peers.json", "peers.png"]
    assert "1 of 2 targets met" in paths[0].read_text(encoding="utf-8")
    assert [row["met"] for row in json.loads(paths[1].read_text(encoding="utf-8"))["rows"]] == [True, False]
    assert paths[2].read_bytes().startswith(b"\x89PNG")


def test_the_machine_is_named():
    machine = peers.machine()
    assert machine["processor"]
    assert machine["jax"] == jax.__version__


def test_ratios_below_one_mean_that_jitkit_is_faster():
    assert timing.ratio([1.0], [2.0]).median == 0.5
