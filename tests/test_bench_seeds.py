"""`jitkit bench seeds`: the claims of the tutorials are measured for what they say."""

from __future__ import annotations

import math
import re

import jax
import numpy as np
import pytest
from figures import cut_off, overlaps, words_of
from tails import one_in

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
        "x @ W + b, W of 4 by 2": [26.1e-6, 7.62e-6],
        "1,000 useless multiplications": [81.9e-3, 8.7e-6],
        "... and their first call": [800e-3, 81.9e-3],
        "jit in a loop of 20 turns": [218e-3, 227e-3, 2.28e-3],
        "arrays of random lengths": [4.55e-3, 7.3e-6],
        "x @ y of 4 numbers": [7.27e-6, 1.17e-6],
        "a + b of two numbers": [None, None],
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
        (1.15, 1.12, "holds"),
        (None, 100.0, "no number was published"),
    ],
)
def test_a_claim_holds_by_the_square_root_of_what_was_published(published, measured, expected):
    assert verdict(published, measured) == expected


@pytest.mark.parametrize("claim", one_in(3, CLAIMS), ids=lambda claim: claim.name)
def test_every_claim_is_measured_with_both_libraries(claim, monkeypatch):
    if "arrays" not in claim.name:  # the claims about arrays take a second: once is enough
        monkeypatch.setattr(claims, "TURNS", 2)
    result = measure_claim(claim, LEAST)
    assert len(result.spreads) == len(claim.sides)
    for spreads in result.spreads:
        assert set(spreads) == {"jitkit", "jax"}
        assert all(spread.median > 0 for spread in spreads.values())


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
    x, function = np.ones(10, np.float32), claims.useless(library.numpy)
    lowered = library.jit(function).lower(x)
    assert "multiply" not in lowered.as_text()
    assert "multiply" not in lowered.compile().as_text()
    assert str(library.make_jaxpr(function)(x)).count(" mul ") == 1000


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
    with count("cube") as n:
        call()
        call()
    assert n.compiles == 6


# --- table and figure -----------------------------------------------------------------------------------------


def measured(claim, factor):
    """Return the result of a claim as if it were measured to have this factor."""
    last = len(claim.sides) - 1
    spreads = []
    for i in range(len(claim.sides)):
        seconds = 1e-5 * (factor if i < last else 1.0)
        spread = Spread(seconds, seconds * 0.9, seconds * 1.2, 9)
        spreads.append({library.name: spread for library in LIBRARIES})
    return Measured(claim, tuple(spreads))


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_the_printed_factor_is_that_of_the_printed_times(claim):
    ours = [3.1415e-6 * 7 ** (len(claim.sides) - i) for i in range(len(claim.sides))]
    spreads = [{"jitkit": Spread(t, t / 9, t * 3, 9), "jax": Spread(t * 1.3, t, t * 2, 7)} for t in ours]
    lines = Seeds().lines(Measured(claim, tuple(spreads)))
    units = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3}
    for column, name in ((2, "jitkit"), (4, "jax")):
        slow, fast = (
            float(number) * units[unit]
            for number, unit in (line.cells[column].split() for line in (lines[0], lines[-1]))
        )
        printed = float(re.search(rf"{name} ([\d.]+)x", lines[-1].notes[0])[1])
        assert printed == pytest.approx(slow / fast, rel=0.02)


def test_every_claim_has_a_source_and_every_source_a_claim_and_all_are_listed():
    assert {claim.source for claim in CLAIMS} == set(claims.SOURCES)
    assert len(claims.SOURCES) == 4
    footnotes = Seeds().footnotes()
    for i, source in enumerate(claims.SOURCES, 1):
        assert footnotes[i - 1].startswith(f"[{i}] {source.author}, {source.title}")
        assert source.address in footnotes[i - 1]
        assert re.fullmatch(r"(https://\S+)?", source.address)
    assert CLAIM["SELU of 1,000,000 numbers"].title.endswith(" [1]")


def test_a_claim_without_a_number_does_not_hold_and_is_not_counted():
    results = [measured(CLAIM["a + b of two numbers"], 50.0), measured(CLAIM["x @ y of 4 numbers"], 5.0)]
    assert Seeds().lines(results[0])[-1].notes[0] == "jitkit 50x, jax 50x: no number was published."
    assert Seeds().summary(results) == ["1 of 1 published claims hold with jitkit, on this machine."]


def test_what_is_to_be_known_of_a_claim_is_told_whatever_is_measured():
    lines = Seeds().lines(measured(CLAIM["x @ W + b, W of 4 by 2"], 1.0))
    assert [line.cells[0] for line in lines] == ["op by op", "jitted"]
    assert lines[1].notes[0] == "published 3.4x, jitkit 1.0x, jax 1.0x: no longer holds."
    assert "dispatch" in lines[1].notes[1]
    for claim in CLAIMS:
        for factor in (1.0, 1e5):
            assert Seeds().lines(measured(claim, factor))[-1].notes[1] == claim.remark
        assert claim.remark.endswith(".")
        assert len(claim.remark) > 40


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_figure_has_the_published_point_beside_ours(theme):
    results = [measured(claim, factor) for claim, factor in zip(CLAIMS, (3, 1, 5e3, 9, 80, 700, 6, 1, 2), strict=True)]
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
    assert all(claim.title in words for claim in CLAIMS)
    assert all(source.title in words and source.address in words for source in claims.SOURCES)
    assert "at least the square root of the published one" in words
    assert "no longer holds" in words
    assert {"published", "JAX, here and now", "jitkit, here and now"} <= set(words.splitlines())
    assert overlaps(figure) == []
    assert cut_off(figure) == []


def test_the_data_have_factors_and_verdicts():
    (row,) = Seeds(only="SELU").as_data([measured(CLAIM["SELU of 1,000,000 numbers"], 2.0)])["rows"]
    assert math.isclose(row["published factor"], 2.76 / 1.01)
    assert row["verdicts"] == {"jitkit": "holds", "jax": "holds"}
    assert row["remark"] == CLAIM["SELU of 1,000,000 numbers"].remark
    assert row["source"]["address"].startswith("https://docs.jax.dev/")
    assert THEIRS.name in row["sides"][0]
