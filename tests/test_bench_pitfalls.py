"""Every pitfall counts what it says it counts, is explained, shown and drawn."""

from __future__ import annotations

import ast
import pathlib
import re
import sys

import jax
import numpy as np
import pytest
from figures import cut_off, overlaps, words_of
from matplotlib.colors import to_rgba
from tails import keeping, one_in

import jitkit
from jitkit.bench.calls import watch
from jitkit.bench.pitfalls import BY_NAME, THEMES
from jitkit.bench.pitfalls.measured import Effort, Pitfalls, counts, explanation, measure_pair
from jitkit.bench.pitfalls.pair import CALLS
from jitkit.bench.pitfalls.source import sources
from jitkit.bench.plotting import DARK, LIGHT
from jitkit.pjit import compilation_cache

LEAST = Effort(least=1, most=1, seconds=0.0)
# Pitfalls of each theme that differ from each other; the rest are variants of lambdas, lengths and static values.
KEPT = (
    "lambda", "method", "lengths", "last-batch", "weak-types", "optional-key",
    "static-changes", "static-positions", "static-unhashable", "x64", "committed", "stale-array", "leaked-tracer",
    "unrolled", "tiny-jits", "eager", "stopwatch", "first-call", "donation", "donated-reused",
)  # fmt: skip
every_pitfall = pytest.mark.parametrize("name", keeping(list(BY_NAME), *KEPT))


@pytest.fixture(scope="module")
def measured():
    """Return a function that measures a pitfall at its first call, and then returns the kept result."""
    known = {}

    def measure(name):
        if name not in known:
            known[name] = measure_pair(BY_NAME[name], LEAST)
        return known[name]

    return measure


def test_there_are_as_many_as_is_written_and_no_name_twice():
    assert len(BY_NAME) == sum(map(len, THEMES.values()))
    root = pathlib.Path(__file__).resolve().parents[1]
    (count,) = re.findall(r"\| (\d+) programs that recompile", (root / "docs" / "using.md").read_text(encoding="utf-8"))
    assert int(count) == len(BY_NAME)
    assert all(re.fullmatch(r"[a-z0-9-]{3,17}", name) for name in BY_NAME)


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


def differing(slow, mended):
    """Return the numbers of the calls, from 1, whose results differ."""
    differ = []
    for i, (a, b) in enumerate(zip(slow.results, mended.results, strict=True), 1):
        pairs = zip(jitkit.tree.leaves(a), jitkit.tree.leaves(b), strict=True)
        if not all(np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=1e-4, atol=1e-4) for x, y in pairs):
            differ.append(i)
    return differ


CLOCKS = ("stopwatch", "first-call")  # their results are readings of a clock
COMPARED = [name for name, pitfall in BY_NAME.items() if pitfall.raises is None and name not in CLOCKS]


@pytest.mark.parametrize("name", keeping(COMPARED, *(name for name in KEPT if name in COMPARED)))
def test_both_programs_give_the_same_at_every_call_or_differ_exactly_where_the_pitfall_is_that(name, measured):
    result = measured(name)
    wrong_from = result.pitfall.wrong_from
    if name == "donation":  # every result but the last was donated
        pairs = [calls._replace(results=calls.results[-1:]) for calls in (result.slow, result.mended)]
        assert differing(*pairs) == []
        return
    assert differing(result.slow, result.mended) == (list(range(wrong_from, CALLS + 1)) if wrong_from else [])


def test_where_jax_takes_other_static_arguments_for_the_same_it_gives_the_numbers_of_before():
    """What the pitfall "static-positions" says of JAX."""
    x = np.float32(2)

    def numbers(library):
        def f(tens, ones):
            return 10 * tens + ones

        calls = library.jit(f, static_argnums=0)(3, x), library.jit(f, static_argnums=1)(x, 3)
        return list(map(float, calls))

    assert numbers(jitkit) == [32.0, 23.0]
    assert numbers(jax) == [32.0, 32.0]


def test_no_data_are_all_alike():
    """With ones everywhere a sum, a largest element and a mean do not tell which elements were taken."""
    modules = [sys.modules[pitfalls[0].slow.__module__] for pitfalls in THEMES.values()]
    arrays = [value for module in modules for value in vars(module).values() if isinstance(value, np.ndarray)]
    assert len(arrays) >= 8
    for array in arrays:
        assert len(np.unique(array)) > 0.5 * array.size


def test_the_mend_of_the_last_batch_takes_its_rows_and_no_others(measured):
    assert [float(x) for x in measured("last-batch").mended.results[-2:]] == [44.0, 12.0]


def test_a_wrong_reading_is_one_that_does_not_wait_or_one_that_compiles(measured):
    for name in CLOCKS:
        assert BY_NAME[name].is_wrong
    asked, waited = measured("stopwatch").slow, measured("stopwatch").mended
    assert sorted(asked.results)[CALLS // 2] < sorted(waited.results)[CALLS // 2]
    first, run = measured("first-call").slow, measured("first-call").mended
    assert [call.compiles for call in first.calls] == [1] + [0] * (CALLS - 1)
    assert [call.compiles for call in run.everything] == [1] + [0] * CALLS
    assert first.results[0] > sorted(run.results)[CALLS // 2]


def test_a_stopwatch_reads_what_the_program_says(measured):
    calls = measured("stopwatch").mended
    assert [call.seconds for call in calls.calls] == list(calls.results)


def test_what_cannot_be_hashed_ends_in_the_error_that_is_told(measured):
    result = measured("static-unhashable")
    assert isinstance(result.slow.error, ValueError)
    said = " ".join(explanation(result.slow))
    assert said.startswith("ValueError: Non-hashable static arguments")
    assert "The error was: TypeError: unhashable type: 'list'. A static" in said
    assert said.endswith("Pass a tuple instead of a list.")


@pytest.mark.parametrize(
    ("name", "begins", "ends"),
    [
        (
            "leaked-tracer",
            "UnexpectedTracerError: Encountered an unexpected tracer",
            "when it stands for nothing any more.",
        ),
        (
            "donated-reused",
            "RuntimeError: Array has been deleted",
            "do not donate an argument that is needed afterwards.",
        ),
        ("residuals", "MemoryError: 6 MiB are needed, and the device has 4", "the reverse pass recomputes them."),
    ],
)
def test_an_error_is_told_with_its_mend(name, begins, ends, measured):
    said = " ".join(explanation(measured(name).slow))
    assert said.startswith(begins)
    assert said.endswith(ends)


SAYINGS = {
    "lambda": r"made by the lambda at identity.py:\d+; .*define it once",
    "partial": r"functools.partial of scaled at identity.py:\d+; .*make the partial once",
    "closure": r"made by `def step`.*pass what changes as an argument",
    "method": r"bound method of Layer.apply.*jit it once",
    "lengths": r"x: float32\[31\] before, float32\[5\] now\. .*pad it to one of a few sizes",
    "weak-types": r"of a Python float before, float32\[\] now\. A Python scalar is weakly typed",
    "int-or-float": r"Python's ints? and floats? have different types",
    "dtype-flips": r"float32\[3\] before, int32\[3\] now",
    "lists": r"arrays was a list of 7 and is a list of 8",
    "key-order": r"params had its keys in the order",
    "optional-key": r"batch\['weights'\]",
    "static-changes": r"epoch \(static\): 6 before, 7 now",
    "static-identity": r"Config has no __eq__.*frozen dataclass",
    "static-function": r"A function is equal to itself only",
    "call-forms": r"by: passed by position before, passed by keyword now",
    "x64": r"the option enable_x64: False before, True now",
    "committed": r"x: not committed to a device before, committed to cpu:0 now",
    "stale-array": r"Only first calls missed the cache",
    "mutated-self": r"Only first calls missed the cache",
    "unrolled": r"Only first calls missed the cache",
    "grad-lambda": r"wrapper of <lambda> at transforms.py:\d+; .*make it once",
    "jit-in-vmap": r"made by the lambda at transforms.py:\d+; .*define it once",
    "eager": r"No jitted function was called",
}
SAID = (
    "lambda",
    "closure",
    "method",
    "lengths",
    "weak-types",
    "key-order",
    "static-changes",
    "call-forms",
    "stale-array",
    "eager",
)


@pytest.mark.parametrize("name", keeping(list(SAYINGS), *SAID))
def test_explain_says_what_is_wrong_with_the_slow_program(name):
    """Measured again: what happened earlier in this process must not show."""
    compilation_cache.forget_history()
    said = " ".join(explanation(watch(BY_NAME[name].slow())))
    assert re.search(SAYINGS[name], said), said


def test_misses_are_named_by_their_reason(measured):
    assert [call.why for call in measured("lengths").slow.calls] == ["first call"] + ["new shape"] * (CALLS - 1)
    assert [call.why for call in measured("weak-types").slow.calls[:3]] == ["first call", "new weak type", ""]


# --- shown ----------------------------------------------------------------------------------------------------


def test_their_programs_are_shown_whole_and_without_annotations():
    for text in (text for pitfall in BY_NAME.values() for text in sources(pitfall)):
        tree = ast.parse(text)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        assert functions
        assert all(node.returns is None and not any(a.annotation for a in node.args.args) for node in functions)
        assert "yield" in text


def test_a_shown_program_brings_what_it_calls_and_its_comments():
    slow, mended = sources(BY_NAME["lambda"])
    assert "def double(x):" in slow
    assert "# every turn makes another lambda" in slow
    assert "lambda v" not in mended
    assert "# the same function every time" in mended
    assert "@dataclasses.dataclass(frozen=True)\nclass FrozenConfig:" in sources(BY_NAME["static-identity"])[1]


# --- drawn ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", one_in(2, [KEPT, tuple(BY_NAME)]), ids=len)
@pytest.mark.parametrize("theme", one_in(2, [LIGHT, DARK]), ids=lambda theme: theme.name)
def test_the_figures_have_every_pair_and_name_the_misses(measured, theme, names):
    results = [measured(name) for name in names]
    drawn = {name: drawing.figure(theme) for name, drawing in Pitfalls().drawings(results).items()}
    parts = [figure for name, figure in drawn.items() if name.startswith("pitfalls-pairs-")]
    assert set(drawn) == {"pitfalls-calls", *(f"pitfalls-pairs-{i}" for i in range(1, len(parts) + 1))}
    assert len(parts) >= 3
    rows = [label.get_text() for figure in parts for axes in figure.axes for label in axes.get_yticklabels()]
    slow = [r.pitfall.title for r in results if r.slow.error is None and not r.pitfall.is_wrong]
    assert sorted(rows) == sorted(slow)  # each once; a pitfall whose results are wrong has no times to show
    for figure in parts:
        assert 1 <= len(figure.axes[0].get_yticks()) <= 11
        is_growing = "Compiled again at each call" in words_of(figure)
        assert is_growing == (f"{CALLS} -> 1 compiled" in words_of(figure))
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


def test_what_ends_in_an_error_is_not_drawn_beside_others(measured):
    results = [measured("static-unhashable"), measured("leaked-tracer"), measured("lambda")]
    assert set(Pitfalls().drawings(results)) == {"pitfalls-calls"}


def test_the_table_has_counts_times_lesson_and_explanation(measured):
    (line,) = Pitfalls().lines(measured("lambda"))
    assert line.group == "a new function every time"
    assert line.cells[:3] == ("lambda", f"{CALLS} -> 1", f"{CALLS} -> 1")
    assert "Define the function once" in line.notes[0]
    assert line.notes[1].startswith("explain: ")
    assert line.cells[-1] == "grows"
    (warm,) = Pitfalls().lines(measured("eager"))
    assert warm.cells[0] == "eager w"
    assert warm.cells[-1].endswith("x")
    costs = {name: measured(name).cost for name in ("first-call", "stale-array", "leaked-tracer")}
    assert costs == {"first-call": "wrong", "stale-array": "wrong", "leaked-tracer": "error"}


def test_the_dearest_is_looked_for_among_those_that_are_alike(measured):
    names = ("lambda", "lengths", "unrolled", "weak-types", "eager", "tiny-jits")
    results = [measured(name) for name in names]
    count, cold, warm = Pitfalls().summary(results)
    assert count == "6 pitfalls; 2 of them compile at every call."
    assert re.match(r"The slowest of the others, from empty caches: (a Python loop|a new length|a Python scalar)", cold)
    assert re.match(r"The slowest of the others, once everything is compiled: a (hot loop|tiny)", warm)


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

    for broken_pair in (BY_NAME["lambda"]._replace(mended=broken), BY_NAME["static-unhashable"]._replace(slow=broken)):
        with pytest.raises(AttributeError, match="a bug of ours"):
            measure_pair(broken_pair, LEAST)
