"""`jitkit bench seeds`: the claims of the tutorials are measured for what they say."""

from __future__ import annotations

import math
import re

import jax
import numpy as np
import pytest
from figures import cut_off, overlaps, words_of

import jitkit
from jitkit.bench import claims, programs
from jitkit.bench.claims import CLAIMS
from jitkit.bench.libraries import LIBRARIES, OURS, THEIRS
from jitkit.bench.plotting import DARK, LIGHT
from jitkit.bench.seeds import Effort, Measured, Seeds, measure_claim, verdict
from jitkit.bench.timing import Spread

LEAST = Effort(rounds=1, batch=1e-5, once=1)
CLAIM = {claim.name: claim for claim in CLAIMS}


def test_the_published_figures_are_those_of_the_tutorials():
    published = {claim.name: [side.published for side in claim.sides] for claim in CLAIMS}
    assert published == {
        "SELU of 1,000,000 numbers": [2.76e-3, 1.01e-3],
        "W @ x + b, 16 by 16": [26.1e-6, 7.62e-6],
        "1,000 useless multiplications": [81.9e-3, 8.7e-6],
        "... and their first call": [800e-3, 81.9e-3],
        "jit in a loop of 20 turns": [218e-3, 227e-3, 2.28e-3],
        "... in another tutorial": [203e-3, 15.2e-3],
        "arrays of random lengths": [4.55e-3, 7.3e-6],
        "x + y of 10 numbers": [7.27e-6, 1.17e-6],
        "two functions of 1,000,000 numbers": [None, None],
    }


@pytest.mark.parametrize(
    ("published", "measured", "expected"),
    [
        (4.0, 4.0, "holds"),
        (4.0, 2.0, "holds"),
        (4.0, 1.9, "holds, but less so"),
        (4.0, 1.05, "no longer holds"),
        (1e4, 99.0, "holds, but less so"),
        (None, 1.2, "holds"),
        (None, 0.9, "no longer holds"),
    ],
)
def test_a_claim_holds_by_half_of_its_logarithm(published, measured, expected):
    assert verdict(published, measured) == expected


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_is_measured_with_both_libraries(claim, monkeypatch):
    if "arrays" not in claim.name:  # once is enough for what takes a second
        monkeypatch.setattr(claims, "TURNS", 2)
    result = measure_claim(claim, LEAST)
    assert len(result.spreads) == len(claim.sides)
    for spreads in result.spreads:
        assert set(spreads) == {"jitkit", "jax"}
        assert all(spread.median > 0 for spread in spreads.values())
    assert set(result.factors) == {"jitkit", "jax"}


# --- what is behind the figures: counts -----------------------------------------------------------------------


def fusions(compiled_text):
    return len(re.findall(r"= \S+ fusion\(", compiled_text.split("ENTRY")[1]))


def test_selu_is_five_programs_op_by_op_and_one_fusion_jitted(count):
    x = jitkit.numpy.arange(1000)
    selu = programs.selu(jitkit.numpy)
    jitkit.clear_caches()
    with count() as n:
        selu(x)
    assert n.compiles >= 4
    assert fusions(jitkit.jit(selu).lower(x).compile().as_text()) == 1


def test_two_functions_are_two_fusions_in_two_jits_and_one_in_one():
    x = np.ones(1000, np.float32)
    one = jitkit.jit(lambda v: claims.second_half(claims.first_half(v)))
    halves = [jitkit.jit(claims.first_half), jitkit.jit(claims.second_half)]
    assert fusions(one.lower(x).compile().as_text()) == 1
    assert [fusions(half.lower(x).compile().as_text()) for half in halves] == [1, 1]


@pytest.mark.parametrize("library", [jitkit, jax], ids=["jitkit", "jax"])
def test_useless_multiplications_are_traced_and_dropped_before_xla(library):
    x = np.ones(10, np.float32)
    lowered = library.jit(claims.useless).lower(x)
    assert "multiply" not in lowered.as_text()
    assert "multiply" not in lowered.compile().as_text()
    assert str(library.make_jaxpr(claims.useless)(x)).count(" mul ") == 1000


def test_a_lambda_in_a_loop_compiles_every_turn_and_the_function_once(count):
    library = OURS
    with count("<lambda>") as n:
        claims._loop_of_lambdas(library)()
    assert (n.traces, n.compiles) == (20, 20)
    jitkit.clear_caches()
    with count("body") as n:
        claims._loop_of_the_function(library)()
    assert (n.traces, n.compiles) == (1, 1)


def test_every_random_length_is_new(count):
    call = claims._new_lengths(OURS)
    with count("add_one") as n:
        call()
        call()
    assert n.compiles == 6


# --- table and figure -----------------------------------------------------------------------------------------


def measured(claim, factor):
    """What it would be if every claim were measured to have this factor."""
    last = len(claim.sides) - 1
    spreads = []
    for i in range(len(claim.sides)):
        seconds = 1e-5 * (factor if i < last else 1.0)
        spread = Spread(seconds, seconds * 0.9, seconds * 1.2, 9)
        spreads.append({library.name: spread for library in LIBRARIES})
    return Measured(claim, tuple(spreads), {n.name: Spread(factor, factor, factor, 9) for n in LIBRARIES})


def test_a_claim_that_no_longer_holds_is_said_to_be_so_with_the_reason():
    lines = Seeds().lines(measured(CLAIM["W @ x + b, 16 by 16"], 1.0))
    assert [line.cells[0] for line in lines] == ["op by op", "jitted"]
    assert lines[1].notes[0] == "published 3.4x, jitkit 1.0x, jax 1.0x: no longer holds."
    assert "Dispatch" in lines[1].notes[1]
    assert len(Seeds().lines(measured(CLAIM["W @ x + b, 16 by 16"], 3.0))[1].notes) == 1


def test_every_claim_has_a_reason_to_tell():
    assert all(claim.reason.endswith(".") and len(claim.reason) > 40 for claim in CLAIMS)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_figure_has_the_published_point_beside_ours(theme):
    results = [
        measured(claim, factor)
        for claim, factor in zip(CLAIMS, (3, 1, 5e3, 9, 80, 90, 700, 6, 2), strict=True)
    ]
    (drawing,) = Seeds().drawings(results).values()
    figure = drawing.figure(theme)
    (axes,) = figure.axes
    published = [side.published for claim in CLAIMS for side in claim.sides if side.published is not None]
    drawn = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D" and len(line.get_xdata())]
    assert drawn == published
    for marker in ("s", "o"):
        points = [line for line in axes.lines if line.get_marker() == marker and len(line.get_xdata())]
        assert len(points) == sum(len(claim.sides) for claim in CLAIMS)
    words = words_of(figure)
    assert all(claim.name in words for claim in CLAIMS)
    assert "no longer holds" in words
    assert {"published", "JAX, here and now", "jitkit, here and now"} <= set(words.splitlines())
    assert overlaps(figure) == []
    assert cut_off(figure) == []


def test_the_data_have_factors_and_verdicts():
    (row,) = Seeds(only="SELU").as_data([measured(CLAIM["SELU of 1,000,000 numbers"], 2.0)])["rows"]
    assert math.isclose(row["published factor"], 2.76 / 1.01)
    assert row["verdicts"] == {"jitkit": "holds", "jax": "holds"}
    assert row["reason"] is None
    assert THEIRS.name in row["sides"][0]
