"""`jitkit bench eager`: every side computes the same, and is measured."""

from __future__ import annotations

import re
import types

import numpy as np
import pytest
from figures import cut_off, overlaps, words_of
from tails import one_in

import jitkit
from jitkit.bench import eager, numba_programs
from jitkit.bench.eager import PROGRAMS, SIDES, Compared, Eager, Effort, actions_of, measure_program
from jitkit.bench.plotting import DARK, LIGHT
from jitkit.bench.timing import Spread

LEAST = Effort(rounds=1, batch=1e-6, seconds=0.0, firsts=1)
SMALL = {  # smaller data, since numba's programs run here without numba's compiler
    "SELU": lambda data: (data[0][:200],),
    "stencil": lambda data: (data[0][:12, :9],),
    "reduction": lambda data: (data[0][:200],),
    "n-body": lambda data: (data[0][:7], data[1][:7]),
}


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.name)
def program(request, monkeypatch):
    """Return a program with little data, after replacing numba by a function that returns its argument."""
    monkeypatch.setattr(numba_programs, "find_njit", lambda: lambda function: function)
    monkeypatch.setattr(eager, "TURNS", 20)
    smaller = next((cut for word, cut in SMALL.items() if word in request.param.name), lambda data: data)
    return request.param._replace(data=lambda: smaller(request.param.data()))


def test_every_side_of_a_program_computes_the_same(program):
    results = {name: make()() for name, make in actions_of(program).items()}
    assert set(results) == set(SIDES) - (set() if program.compiled else {"numba"})
    for name, result in results.items():
        np.testing.assert_allclose(result, results["jitkit jit"], rtol=1e-4, atol=1e-5, err_msg=name)
        assert np.asarray(result).dtype == np.float32, name


def test_op_by_op_and_jitted_are_what_they_are_called(program, count):
    makers = actions_of(program)
    jitted, op_by_op = makers["jitkit jit"](), makers["jitkit eager"]()
    jitkit.clear_caches()
    with count() as n:
        jitted()
    assert n.compiles == 1
    with count() as n:
        op_by_op()
    assert n.compiles >= 2


def test_what_is_measured_are_warm_calls_and_first_calls_of_all_but_numpy(count):
    (network,) = [program for program in PROGRAMS if "network" in program.name]
    with count("network") as n:
        result = measure_program(network, LEAST._replace(firsts=2))
    assert n.compiles == 3  # two first calls, and one for the warm ones
    assert set(result.warm) == set(SIDES) - {"numba"}
    assert set(result.first) == set(SIDES) - {"numba", "numpy"}
    assert result.first["jitkit jit"].rounds == 2


def test_the_programs_are_the_six_that_are_promised():
    assert [re.split(r" of|,|:", program.name)[0] for program in PROGRAMS] == [
        "SELU",
        "a network",
        "a loop over a scalar",
        "a stencil",
        "a reduction",
        "n-body",
    ]


# --- table and figure -----------------------------------------------------------------------------------------


def compared(program, slow=8e-3, fast=1e-3, first=0.1):
    """Return the result that `bench` would have if eager calls took `slow` seconds, jitted ones `fast`, and a first
    call `first`.
    """
    sides = [side for side in SIDES if side != "numba" or program.compiled]
    seconds = {side: fast if side.endswith(("jit", "numba")) else slow for side in sides}
    warm = {side: Spread(s, s * 0.8, s * 1.3, 9) for side, s in seconds.items()}
    return Compared(program, warm, {side: Spread(first, first, first, 1) for side in sides if side != "numpy"})


def test_the_table_has_all_sides_with_the_first_call_below_the_warm_one():
    selu = PROGRAMS[0]
    warm, first = Eager().lines(compared(selu))
    assert warm.group == first.group == selu.name
    assert warm.cells == ("warm call", "8.00 ms", "1.00 ms", "8.00 ms", "1.00 ms", "8.00 ms", "1.00 ms")
    assert first.cells == ("first call", "100 ms", "100 ms", "100 ms", "100 ms", "-", "100 ms")
    assert first.notes == (
        "With jitkit, jit is 8.0x as fast as op by op. After 15 warm calls it has saved as much time as its first call takes.",
    )
    assert Eager().summary([compared(selu), compared(selu, slow=2e-3)]) == [
        "With jitkit a jitted call is 2.0x to 8.0x as fast as the same op by op."
    ]


def test_where_jit_saves_nothing_it_is_said_so():
    (note,) = Eager().lines(compared(PROGRAMS[0], slow=1e-3, fast=2e-3))[1].notes
    assert note == "With jitkit, jit saves nothing here."


def test_an_empty_cell_has_a_reason(monkeypatch):
    _, network, loop = PROGRAMS[:3]
    assert Eager().lines(compared(network))[0].cells[-1] == "-"
    monkeypatch.setattr(numba_programs, "find_njit", lambda: types.SimpleNamespace())
    assert Eager().footnotes()[0].startswith(f"numba was not measured on {network.name}: its matrix products are calls")
    monkeypatch.setattr(numba_programs, "find_njit", lambda: None)
    assert Eager().footnotes() == ["numba: it is not installed (`pip install numba`), or does not go with this numpy."]
    assert "a loop in Python" in Eager().lines(compared(loop))[1].notes[1]


def test_the_data_are_seconds_of_all_sides():
    data = Eager(only="SELU").as_data([compared(PROGRAMS[0])])
    assert data["complete"]
    (row,) = data["rows"]
    assert row["warm"]["numpy"]["median"] == 8e-3
    assert row["first"]["JAX jit"]["median"] == 0.1
    assert row["pays after calls"] == 15


@pytest.mark.parametrize("theme", one_in(2, [LIGHT, DARK]), ids=lambda theme: theme.name)
def test_the_figure_has_a_panel_a_program_and_both_calls_of_each_side(theme):
    results = [compared(program, slow=10.0 ** (i - 5)) for i, program in enumerate(PROGRAMS)]
    (drawing,) = Eager().drawings(results).values()
    figure = drawing.figure(theme)
    for axes, result in zip(figure.axes, results, strict=True):
        assert axes.get_title(loc="left") == result.program.name
        points = {marker: sum(line.get_marker() == marker for line in axes.lines) for marker in "oD"}
        assert points == {"o": len(result.warm), "D": len(result.first)}
        labels = [label.get_text() for label in axes.get_yticklabels()]
        assert ("Python" in labels) == ("loop" in result.program.name)
    assert "8.00 ms, first 100 ms" in words_of(Eager().drawings([compared(PROGRAMS[0])])["eager"].figure())
    assert overlaps(figure) == []
    assert cut_off(figure) == []
