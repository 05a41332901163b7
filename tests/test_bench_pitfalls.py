"""Every pitfall counts what it says it counts, is explained, shown and drawn."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest
from figures import cut_off, overlaps, words_of
from matplotlib.colors import to_rgba

import jitkit
from jitkit.bench.calls import watch
from jitkit.bench.pitfalls import BY_NAME, THEMES
from jitkit.bench.pitfalls.measured import Effort, Pitfalls, counts, explanation, measure_pair
from jitkit.bench.pitfalls.pair import CALLS
from jitkit.bench.pitfalls.source import sources
from jitkit.bench.plotting import DARK, LIGHT
from jitkit.pjit import compilation_cache

LEAST = Effort(least=1, most=1, seconds=0.0)
every_pitfall = pytest.mark.parametrize("name", list(BY_NAME))


@pytest.fixture(scope="module")
def measured():
    """Each pitfall, measured when it is first asked for."""
    known = {}

    def measure(name):
        if name not in known:
            known[name] = measure_pair(BY_NAME[name], LEAST)
        return known[name]

    return measure


def test_there_are_more_than_twenty_and_no_name_twice():
    assert len(BY_NAME) == sum(map(len, THEMES.values())) > 20
    assert all(re.fullmatch(r"[a-z-]{3,17}", name) for name in BY_NAME)


@every_pitfall
def test_both_programs_trace_and_compile_as_often_as_is_said(name, measured):
    pitfall, result = BY_NAME[name], measured(name)
    assert counts(result.slow) == pitfall.slow_counts
    assert counts(result.mended) == pitfall.mended_counts
    assert result.as_expected


@every_pitfall
def test_the_mended_program_makes_all_its_calls_and_never_compiles_more(name, measured):
    result = measured(name)
    assert result.mended.error is None
    assert len(result.mended.calls) == CALLS
    if result.pitfall.raises is None:
        assert len(result.slow.calls) == CALLS
        assert result.mended.compiles <= result.slow.compiles


@every_pitfall
def test_once_it_is_mended_the_last_call_hits_the_cache(name, measured):
    last = measured(name).mended.calls[-1]
    assert (last.why, last.compiles, last.misses) == ("", 0, ())


@pytest.mark.parametrize("name", [n for n, p in BY_NAME.items() if not p.is_wrong and p.raises is None])
def test_a_slow_program_means_the_same_as_the_mended_one(name, measured):
    result = measured(name)
    last = zip(result.slow.results[-1:], result.mended.results[-1:], strict=True)
    for slow, mended in last:
        pairs = zip(jitkit.tree.leaves(slow), jitkit.tree.leaves(mended), strict=True)
        for a, b in pairs:
            a, b = np.asarray(a).ravel(), np.asarray(b).ravel()
            if name == "growing":  # the mended one has its final size from the beginning
                a, b = a[-CALLS:], b[-CALLS:]
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["global", "side-effect", "printing"])
def test_a_wrong_program_gives_another_result(name, measured):
    result = measured(name)
    slow, mended = (
        np.concatenate([np.ravel(x) for x in jitkit.tree.leaves(calls.results[-1])])
        for calls in (result.slow, result.mended)
    )
    assert not np.allclose(slow, mended)


def test_a_stopwatch_reads_what_the_program_says(measured):
    calls = measured("stopwatch").mended
    assert [call.seconds for call in calls.calls] == list(calls.results)


def test_what_cannot_be_hashed_ends_in_the_error_that_is_told(measured):
    result = measured("static-unhashable")
    assert isinstance(result.slow.error, ValueError)
    assert explanation(result.slow)[0].startswith("ValueError: Non-hashable static arguments")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lambda", r"made by the lambda at identity.py:\d+; .*define it once"),
        ("partial", r"functools.partial of scaled at identity.py:\d+; .*make the partial once"),
        ("closure", r"made by `def step`.*pass what changes as an argument"),
        ("method", r"bound method of Layer.apply.*jit it once"),
        ("lengths", r"x: float32\[31\] before, float32\[5\] now\. .*pad it to one of a few sizes"),
        ("weak-types", r"of a Python float before, float32\[\] now\. A Python scalar is weakly typed"),
        ("int-or-float", r"Python's ints and floats have different types"),
        ("dtype-flips", r"float32\[3\] before, int32\[3\] now"),
        ("lists", r"arrays was a list of 7 and is a list of 8"),
        ("key-order", r"params had its keys in the order"),
        ("optional-key", r"batch\['weights'\]"),
        ("static-changes", r"epoch \(static\): 6 before, 7 now"),
        ("static-identity", r"Config has no __eq__.*frozen dataclass"),
        ("static-function", r"A function is equal to itself only"),
        ("unrolled", r"Only first calls missed the cache"),
        ("eager", r"No jitted function was called"),
    ],
)  # fmt: skip
def test_explain_says_what_is_wrong_with_the_slow_program(name, says):
    """Measured again: what happened earlier in this process must not show."""
    compilation_cache.forget_history()
    said = " ".join(explanation(watch(BY_NAME[name].slow())))
    assert re.search(says, said), said


def test_misses_are_named_by_their_reason(measured):
    assert [call.why for call in measured("lengths").slow.calls] == ["first call"] + ["new shape"] * (
        CALLS - 1
    )
    assert [call.why for call in measured("weak-types").slow.calls[:3]] == ["first call", "new weak type", ""]


# --- shown ----------------------------------------------------------------------------------------------------


@every_pitfall
def test_its_programs_are_shown_whole_and_without_annotations(name):
    for text in sources(BY_NAME[name]):
        tree = ast.parse(text)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        assert functions
        assert all(
            node.returns is None and not any(a.annotation for a in node.args.args) for node in functions
        )
        assert "yield" in text


def test_a_shown_program_brings_what_it_calls_and_its_comments():
    slow, mended = sources(BY_NAME["lambda"])
    assert "def double(x):" in slow
    assert "# every turn makes another lambda" in slow
    assert "lambda v" not in mended
    assert "# the same function every time" in mended
    assert (
        "@dataclasses.dataclass(frozen=True)\nclass FrozenConfig:" in sources(BY_NAME["static-identity"])[1]
    )


# --- drawn ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_figures_have_every_pair_and_name_the_misses(measured, theme):
    results = [measured(name) for name in BY_NAME]
    drawn = {name: drawing.figure(theme) for name, drawing in Pitfalls().drawings(results).items()}
    assert set(drawn) == {"pitfalls-calls", "pitfalls-pairs"}
    pairs = words_of(drawn["pitfalls-pairs"])
    assert all(result.pitfall.title in pairs for result in results if result.slow.error is None)
    calls = words_of(drawn["pitfalls-calls"])
    assert f"2-{CALLS} new function" in calls
    assert "number of the call" in calls
    panels = [axes for axes in drawn["pitfalls-calls"].axes if axes.lines]
    assert len(panels) == 6
    for axes in panels:
        labels = {line.get_label() for line in axes.lines}
        assert {"slow: hit", "slow: miss", "mended: hit", "mended: miss"} <= labels
        assert sum(len(line.get_xdata()) for line in axes.lines if ":" in line.get_label()) == 2 * CALLS
    for figure in drawn.values():
        assert figure.get_facecolor() == to_rgba(theme.ground)
        assert overlaps(figure) == []
        assert cut_off(figure) == []


def test_one_pitfall_has_a_figure_of_its_own(measured):
    result = measured("weak-types")
    (drawing,) = Pitfalls(name="weak-types").drawings([result]).values()
    figure = drawing.figure()
    assert "2 new weak type" in words_of(figure)
    assert overlaps(figure) == []


def test_the_table_has_counts_times_lesson_and_explanation(measured):
    (line,) = Pitfalls().lines(measured("lambda"))
    assert line.group == "a new function every time"
    assert line.cells[:3] == ("lambda", f"{CALLS} -> 1", f"{CALLS} -> 1")
    assert "Define the function once" in line.notes[0]
    assert line.notes[1].startswith("explain: ")


def test_the_data_have_every_call(measured):
    data = Pitfalls(name="lengths").as_data([measured("lengths")])
    (row,) = data["rows"]
    assert data["complete"]
    assert [call["compiles"] for call in row["slow"]["calls"]] == [1] * CALLS
    assert row["slow"]["seconds"]["low"] <= row["slow"]["seconds"]["median"] <= row["slow"]["seconds"]["high"]
    assert row["mended"]["compiles"] == 2


def test_a_pitfall_that_does_not_exist_is_named_with_the_nearest():
    with pytest.raises(LookupError, match="no pitfall called 'lamda'; did you mean 'lambda'"):
        Pitfalls(name="lamda")


def test_an_error_that_no_pitfall_is_about_is_not_taken_for_a_result():
    def broken():
        raise AttributeError("a bug of ours")
        yield

    for broken_pair in (
        BY_NAME["lambda"]._replace(mended=broken),
        BY_NAME["static-unhashable"]._replace(slow=broken),
    ):
        with pytest.raises(AttributeError, match="a bug of ours"):
            measure_pair(broken_pair, LEAST)
