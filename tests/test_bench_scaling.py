"""`jitkit bench scaling`: slopes are fitted right, and nothing of ours grows faster than what it is given."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from figures import cut_off, overlaps
from tails import one_in

import jitkit
from jitkit import lax
from jitkit.base import stage_log
from jitkit.bench import growth
from jitkit.bench.growth import Axis, Effort, Result, Slope, fit, fit_growth, measure_axis
from jitkit.bench.plotting import DARK, LIGHT
from jitkit.bench.scaling import AXES, Scaling

LEAST = Effort(rounds=1, seconds=0.0, patience=60.0)


@pytest.mark.parametrize("axis", [axis for axis in AXES if axis.name != "cache entries"], ids=lambda axis: axis.name)
def test_each_round_compiles(axis):
    """And takes no executable from a cache."""
    with stage_log.listen() as events:
        point = axis.measure(axis.sizes[0], Effort(rounds=3, seconds=60.0, patience=60.0), True)
    assert len(point["compile"]) == 3
    assert sum(event.stage == "compilation" for event in events) >= 3


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_the_slope_of_a_power_law_is_its_exponent(exponent):
    slope = fit([(n, 3e-6 * n**exponent) for n in (10, 100, 1000, 10_000)])
    assert slope.value == pytest.approx(exponent)
    assert slope.error == pytest.approx(0.0, abs=1e-9)


def test_what_scatters_has_an_uncertain_slope():
    rng = np.random.default_rng(0)
    points = [(n, n * float(rng.lognormal(sigma=0.2))) for n in (10, 100, 1000, 10_000) for _ in range(5)]
    slope = fit(points)
    xs, ys = np.log([x for x, _ in points]), np.log([y for _, y in points])
    (expected, _), covariance = np.polyfit(xs, ys, 1, cov="unscaled")
    residual = np.sum((ys - np.polyval(np.polyfit(xs, ys, 1), xs)) ** 2) / (len(xs) - 2)
    assert slope.value == pytest.approx(expected)
    assert slope.error == pytest.approx(np.sqrt(covariance[0, 0] * residual))


@pytest.mark.parametrize(
    ("slope", "words"),
    [
        (Slope(0.1, 0.0), "constant"),
        (Slope(0.5, 0.1), "sublinear"),
        (Slope(0.5, 0.2), "unclear"),
        (Slope(0.8, 0.1), "unclear"),
        (Slope(1.1, 0.0), "linear"),
        (Slope(1.5, 0.3), "linear"),
        (Slope(1.5, 0.1), "superlinear"),
        (Slope(float("nan"), float("nan"), 4e-6), "hidden"),
    ],
)
def test_growth_is_named_as_far_as_it_can_be_told(slope, words):
    assert slope.words == words


SIZES = (10, 100, 1000, 10_000, 100_000)


def grown(law, sizes=SIZES, noise=0.03):
    rng = np.random.default_rng(0)
    return {n: [law(n) * float(rng.lognormal(sigma=noise)) for _ in range(9)] for n in sizes}


def test_what_a_call_costs_anyway_does_not_make_a_linear_cost_sublinear():
    """A loop of n turns: microseconds for the call, nanoseconds a turn."""
    slope = fit_growth(grown(lambda n: 4e-6 + 6e-9 * n, SIZES[:4]))
    assert fit([(n, 4e-6 + 6e-9 * n) for n in SIZES[1:4]]).words == "sublinear"
    assert slope.words == "linear"
    assert slope.value == pytest.approx(1.0, abs=0.15)
    assert slope.constant == pytest.approx(4e-6, rel=0.1)


def test_growth_below_what_a_call_costs_is_hidden_and_not_given_a_number():
    slope = fit_growth(grown(lambda n: 4e-6 + 6e-9 * n, (10, 100, 300, 1000), noise=0.005))
    assert slope.words == "hidden"
    assert slope.constant == pytest.approx(4e-6, rel=0.1)


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (lambda n: 3e-6 * n**0.5, "sublinear"),
        (lambda n: 3e-6, "constant"),
        (lambda n: 3e-6 * n, "linear"),
        (lambda n: 3e-6 * n**1.5, "superlinear"),
        (lambda n: 3e-6 + 1e-9 * n**1.5, "superlinear"),
    ],
)
def test_growth_without_a_bend_is_what_it_is(law, words):
    slope = fit_growth(grown(law))
    assert (slope.words, slope.constant) == (words, 0.0)


# --- our own code, counted: calls of functions, in Python and in C, do not depend on the clock ----------------


def calls_in(action):
    """Return how many functions are called, in Python and in C, while an action runs."""
    made = 0

    def profile(frame, event, argument):
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return made


def chain(n):
    def run(x):
        for i in range(n):
            x = lax.sin(x) if i % 2 else lax.mul(x, x)
        return x

    return jitkit.jit(run), (np.ones(4, np.float32),)


def leaves(n, name="layer"):
    jitted = jitkit.jit(lambda params: {name: value * 0.9 for name, value in params.items()})
    return jitted, ({f"{name}_{i:05}": np.ones(4, np.float32) for i in range(n)},)


@pytest.mark.parametrize("make", [chain, leaves])
@pytest.mark.parametrize("stage", ["trace", "lower"])
def test_the_work_of_tracing_and_lowering_is_linear(make, stage):
    counts = []
    for n in (10, 10, 10, 100, 400):
        jitted, arguments = make(n)
        traced = []
        counts.append(calls_in(lambda f=jitted, a=arguments, to=traced: to.append(f.trace(*a))))
        if stage == "lower":
            counts[-1] = calls_in(traced[0].lower)
    *_, small, middle, large = counts  # without the first two, which fill caches
    assert middle > small
    assert (large - middle) / 300 <= 1.2 * (middle - small) / 90


@pytest.mark.parametrize("nth", [2, 3])
def test_the_work_of_a_call_is_linear_in_the_leaves_of_its_tree(nth):
    """The second call writes the function that finds the entry of the third. Trees have names of their own: what another test's
    tree had written is not written again.
    """
    counts = []
    for n in (10, 100, 300):
        jitted, arguments = leaves(n, name=f"in_call_{nth}")
        for _ in range(nth - 1):
            jitted(*arguments)
        counts.append(calls_in(lambda f=jitted, a=arguments: f(*a)))
    small, middle, large = counts
    assert (large - middle) / 200 <= 1.2 * max(middle - small, 90) / 90


def test_the_work_of_a_miss_is_linear_in_what_is_cached():
    """The closest of the known signatures is looked for among all of them."""
    x = np.ones(4, np.float32)
    other = jitkit.jit(lambda x, k: x, static_argnums=1)
    for k in (0, 1):  # the first miss of a process imports the module that explains misses
        other.trace(x, k)
    jitted = jitkit.jit(lambda x, k: x + 1.0, static_argnums=1)
    counts = {}
    for k in range(402):
        if k in (1, 101, 401):
            counts[k] = calls_in(lambda k=k: jitted.trace(x, k))
        else:
            jitted.trace(x, k)
    assert (counts[401] - counts[101]) / 300 <= 1.2 * (counts[101] - counts[1]) / 100


def test_the_work_of_a_hit_does_not_depend_on_what_is_cached():
    jitted = jitkit.jit(lambda x, k: x + 1.0, static_argnums=1)
    x = jitkit.device_put(np.ones(4, np.float32))
    counts = []
    for k in range(12):
        jitted(x, k)
        jitted(x, 0)
        counts.append(calls_in(lambda: jitted(x, 0)))
    assert len(set(counts)) == 1


# --- measuring ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", one_in(4, AXES), ids=lambda axis: axis.name)
def test_every_axis_gives_its_quantities(axis):
    result = measure_axis(axis, (2, 4, 8), LEAST)
    assert list(result.points) == [2, 4, 8]
    assert {"trace", "run", "Python memory"} <= set(result.quantities)
    if axis.name != "cache entries":
        assert {"lower", "compile", "program memory"} <= set(result.quantities)
    for point in result.points.values():
        assert all(values and all(value > 0 for value in values) for values in point.values())
    assert result.uncompiled == ()


def test_memory_of_arrays_is_what_they_hold():
    sizes = (1000, 10_000, 100_000)
    (axis,) = [axis for axis in AXES if axis.name == "array size"]
    result = measure_axis(axis, sizes, LEAST)
    for n in sizes:
        assert result.points[n]["program memory"][0] >= 8 * n  # float32 in, float32 out
    assert result.slopes["program memory"].words == "linear"
    assert result.slopes["Python memory"].words == "constant"


def test_a_compilation_that_would_outlast_the_patience_is_left_out_and_said_so():
    def measure(n, effort, compiles):
        return {"trace": [1e-6 * n], **({"compile": [1e-3 * n]} if compiles else {})}

    axis = Axis("things", "things", (), (), measure)
    result = measure_axis(axis, (10, 100, 1000, 10_000, 100_000), LEAST._replace(patience=5.0))
    assert result.uncompiled == (10_000, 100_000)
    assert list(result.values("compile")) == [10, 100, 1000]
    assert result.slopes["trace"].value == pytest.approx(1.0)
    lines = Scaling().lines(result)
    assert lines[1].notes == ("up to 1,000 only",)
    assert "Not compiled, since XLA would have taken too long: 10,000 things, 100,000 things." in Scaling().summary(
        [result]
    )


def test_superlinear_growth_of_ours_is_reported_and_that_of_xla_is_not_blamed_on_us():
    def measure(n, effort, compiles):
        return {"trace": [1e-9 * n**2], "compile": [1e-9 * n**2]}

    result = measure_axis(Axis("things", "things", (), (), measure), (10, 100, 1000), LEAST)
    assert Scaling().summary([result])[0] == "Superlinear in jitkit's own stages: trace with things."
    assert [line.is_good for line in Scaling().lines(result)] == [False, None]


def synthetic(axis):
    points = {
        n: {
            "trace": [1e-5 * n, 1.4e-5 * n],
            "lower": [8e-6 * n, 9e-6 * n],
            "compile": [2e-2 + 1e-6 * n**1.3],
            "run": [3e-6 + 1e-8 * n],
            "Python memory": [900.0 * n],
            "program memory": [8.0 * n],
        }
        for n in axis.sizes
    }
    slopes = {q: fit([(n, point[q][0]) for n, point in points.items()]) for q in points[axis.sizes[0]]}
    return Result(axis, points, slopes, ())


@pytest.mark.parametrize("theme", one_in(2, [LIGHT, DARK]), ids=lambda theme: theme.name)
def test_the_figures_have_a_panel_an_axis_and_a_line_a_quantity_with_its_slope(theme):
    results = [synthetic(axis) for axis in AXES]
    drawn = {name: drawing.figure(theme) for name, drawing in Scaling().drawings(results).items()}
    assert set(drawn) == {"scaling", "scaling-memory"}
    for name, quantities in (("scaling", growth.SECONDS), ("scaling-memory", growth.BYTES)):
        figure = drawn[name]
        panels = [axes for axes in figure.axes if axes.lines]
        assert [axes.get_title(loc="left") for axes in panels] == [axis.name for axis in AXES]
        for axes, axis in zip(panels, AXES, strict=True):
            assert [line.get_label() for line in axes.lines] == list(quantities)
            assert all(list(line.get_xdata()) == list(axis.sizes) for line in axes.lines)
            assert axes.get_legend() is None  # a legend would cover the lines
            assert len(axes.texts) == len(quantities)
        (free,) = [axes for axes in figure.axes if not axes.lines]
        assert [text.get_text() for text in free.get_legend().get_texts()] == list(quantities)
        assert "$n^{1.00}$" in [text.get_text() for text in panels[0].texts]
        assert overlaps(figure) == []
        assert cut_off(figure) == []


def test_one_axis_has_its_legend_outside_and_what_is_hidden_is_said_to_be():
    result = synthetic(AXES[2])
    slopes = result.slopes | {"run": Slope(1.0, 0.1, 4e-6), "compile": Slope(float("nan"), float("nan"), 4e-6)}
    figure = Scaling().drawings([result._replace(slopes=slopes)])["scaling"].figure()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(growth.SECONDS)
    assert {"c + $n^{1.00}$", "?"} <= {text.get_text() for text in figure.axes[0].texts}
    assert overlaps(figure) == []
    assert cut_off(figure) == []
    lines = {line.cells[0]: line for line in Scaling().lines(result._replace(slopes=slopes))}
    assert lines["run"].notes == ("beyond a constant part of 4.00 µs",)
    assert lines["compile"].cells[4:] == ("-", "hidden")
    assert lines["compile"].notes == ("hidden by a constant part of 4.00 µs",)
    row = Scaling().row_data(result._replace(slopes=slopes))
    assert row["slopes"]["compile"] == {"value": None, "error": None, "constant": 4e-6, "growth": "hidden"}


def test_the_table_shows_both_ends_and_the_slope():
    lines = Scaling().lines(synthetic(AXES[0]))
    assert lines[0].group == "equations: 10 to 10,000 equations in a jaxpr"
    assert lines[0].cells[0] == "trace"
    assert lines[0].cells[4:] == ("1.00 ± 0.00", "linear")
    assert lines[4].cells[:3] == ("Python memory", "9.0 kB", "9.0 MB")
