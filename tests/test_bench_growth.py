"""`jitkit bench growth`, and the rows of `bench peers` about large programs: both libraries run the same programs, and slopes are fitted
right.
"""

from __future__ import annotations

import json

import jax
import numpy as np
import pytest
from figures import cut_off, overlaps

import jitkit
from jitkit.bench import peers_growth, peers_large, programs
from jitkit.bench.libraries import LIBRARIES, OURS, THEIRS
from jitkit.bench.peers_growth import ROWS, Growth, Result, Row, measure_row
from jitkit.bench.peers_rows import Effort
from jitkit.bench.plotting import THEMES

LEAST = Effort(rounds=1, batch=0.0, once=2, processes=1, seconds=0.0)


def of_law(exponent: float, group: str = "things", name: str = "a row") -> Result:
    """Return a row whose ratio grows with this exponent."""

    def measure(size: int, effort: Effort) -> dict[str, list[float]]:
        return {OURS.name: [1e-3 * size ** (1 + exponent)] * 5, THEIRS.name: [2e-3 * size] * 5}

    return measure_row(Row(group, name, "things", (10, 100, 1000), measure), (10, 100, 1000), LEAST)


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 0.25])
def test_the_slope_is_that_of_the_ratio(exponent: float) -> None:
    result = of_law(exponent)
    assert result.slope.value == pytest.approx(exponent, abs=1e-9)
    assert result.ratios[10].median == pytest.approx(0.5 * 10**exponent)
    lines = Growth().lines(result)
    assert [line.cells[1] for line in lines] == ["10 things", "100 things", "1,000 things"]
    assert [line.cells[-1] for line in lines] == ["", "", f"{exponent + 0:+.2f} ± 0.00"]


def test_what_grows_faster_than_jax_is_named() -> None:
    assert Growth().summary([of_law(0.0), of_law(-0.2)]) == ["Nothing was seen to grow faster than JAX's."]
    assert Growth().summary([of_law(0.0), of_law(0.3, name="steep")]) == ["Grows faster than JAX's: steep (+0.30)."]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.group}: {row.name}")
def test_each_row_measures_both_libraries(row: Row) -> None:
    measured = row.measure(row.sizes[0], LEAST)
    assert set(measured) == {OURS.name, THEIRS.name}
    assert all(seconds and min(seconds) >= 0 for seconds in measured.values())


def test_the_data_and_the_figure_hold_each_ratio() -> None:
    results = [of_law(0.1, "one", "first"), of_law(-0.1, "one", "second"), of_law(0.0, "two", "third")]
    data = json.loads(json.dumps(Growth().as_data(results)))
    assert data["rows"][0]["sizes"]["100"]["ratio"]["median"] == pytest.approx(0.5 * 100**0.1)
    for theme in THEMES:
        [drawn] = [drawing.figure(theme) for drawing in Growth().drawings(results).values()]
        texts = [text.get_text() for axes in drawn.axes for text in axes.get_legend().get_texts()]
        assert texts == ["first: slope +0.10", "second: slope -0.10", "third: slope +0.00"]
        assert cut_off(drawn) == []
        assert overlaps(drawn) == []


def test_the_transformer_is_the_same_program_in_both_libraries() -> None:
    blocks, x, classes = programs.transformer_data(2)
    losses = [
        library.value_and_grad(programs.transformer(library.np, library.lax))(blocks, x, classes)[0]
        for library in LIBRARIES
    ]
    np.testing.assert_allclose(*losses, rtol=1e-4)
    for what in ("loss", "grad", "vmap(grad)", "hvp"):
        ours, theirs = (peers_large.traced_model(library, what, 1)() for library in LIBRARIES)
        assert str(ours.jaxpr) == str(theirs.jaxpr)


@pytest.mark.parametrize("leaves", [10, 400, 4000])
def test_a_tree_of_parts_has_about_as_many_leaves_as_asked_for(leaves: int) -> None:
    tree = programs.tree_of_parts(leaves)
    count = len(jax.tree_util.tree_leaves(tree))
    assert count == len(jitkit.tree_util.tree_leaves(tree))
    assert count == pytest.approx(leaves, rel=0.3)


def test_a_row_is_chosen_by_a_word() -> None:
    assert [step.name for step in Growth(only="hvp").steps()] == ["trace of a transformer: hvp"]
    assert peers_growth.Growth(quick=True).effort != Growth().effort
