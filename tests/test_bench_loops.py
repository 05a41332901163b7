"""`jitkit bench loops` measures our own compiler and XLA on the same six programs."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from figures import cut_off, overlaps, words_of

import jitkit
from jitkit.bench import by_loops
from jitkit.bench.libraries import LIBRARIES, OURS, THEIRS
from jitkit.bench.peers_loops import LOOPS_ROWS, TARGETS, Loops, Result
from jitkit.bench.peers_rows import Effort
from jitkit.bench.plotting import LIGHT

LEAST = Effort(rounds=1, batch=1e-4, once=1, processes=1, seconds=0.0)


@pytest.mark.parametrize("name", by_loops.PROGRAMS)
def test_the_programs_compute_the_same_with_both_compilers(name):
    found = []
    for library in LIBRARIES:
        function, arguments = by_loops.PROGRAMS[name](library)
        jitted = jitkit.jit(function, backend="c") if library is OURS else jax.jit(function)
        found.append(np.asarray(jitted(*arguments)))
    np.testing.assert_allclose(*found, rtol=2e-4, atol=2e-5)


def test_a_program_is_measured_in_a_process_of_its_own_with_both_compilers():
    found = by_loops.measured("softmax, 1,000 rows", LEAST)
    for seconds in (found.compile, found.run):
        assert set(seconds) == {OURS.name, THEIRS.name}
        assert all(len(values) >= 1 and min(values) > 0 for values in seconds.values())
    assert found.passes[OURS.name] == 3
    assert found.bytes[OURS.name] == 2 * 4 * 1_000_000  # read and written once
    assert found.bytes[THEIRS.name] > found.bytes[OURS.name]


def test_a_program_that_fails_is_an_error_with_its_message():
    with pytest.raises(RuntimeError, match="KeyError: 'no such program'"):
        by_loops.measured("no such program", LEAST)


def test_the_rows_of_peers_have_the_targets_that_were_set(monkeypatch):
    asked = []
    monkeypatch.setattr(by_loops, "measured", lambda name, effort: asked.append(name) or found())
    assert {row.name: row.target for row in LOOPS_ROWS} == {**TARGETS, "compile SELU": 1.5}
    assert [row.measure(LEAST)[OURS.name] for row in LOOPS_ROWS] == [[2e-3]] * 5 + [[0.3]]
    assert asked == [*TARGETS, "SELU, 1,000,000 numbers"]


def found():
    return by_loops.Measured(
        {OURS.name: [0.3], THEIRS.name: [0.2]},
        {OURS.name: [2e-3], THEIRS.name: [1e-3]},
        {OURS.name: 3, THEIRS.name: 4},
        {OURS.name: 8e6, THEIRS.name: 2e7},
    )


def test_the_table_the_data_and_the_figure_have_every_number():
    benchmark, results = Loops(), [Result("softmax, 1,000 rows", found()), Result("SELU, 1,000,000 numbers", found())]
    [line] = benchmark.lines(results[0])
    assert line.cells == (
        "softmax, 1,000 rows", "200 ms", "300 ms", "4 / 3", "20 MB", "8.0 MB", "1.00 ms", "2.00 ms", "2.00", "(2.00-2.00)",
    )  # fmt: skip
    [sentence] = benchmark.summary(results[:1])
    assert sentence == "Fewer bytes than XLA: softmax, 1,000 rows. Less time than XLA: none."
    data = benchmark.row_data(results[0])
    assert (data["passes"], data["ratio"]["median"]) == ({OURS.name: 3, THEIRS.name: 4}, 2.0)
    figure = benchmark.drawings(results)["loops"].figure(LIGHT)
    assert [words_of(figure).count(word) for word in ("0.40", "2.00")] == [2, 2]
    assert overlaps(figure) == []
    assert cut_off(figure) == []
