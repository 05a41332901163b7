"""`timed`, `compare` and `misses`, as notebooks use them."""

from __future__ import annotations

import base64
import importlib
import re

import jax
import numpy as np
import pytest
from figures import cut_off, overlaps, words_of
from tails import one_in

import jitkit
import jitkit.numpy as jnp
from jitkit.bench import compare, misses, timed

X = np.arange(8, dtype=np.float32)


def double(x):
    return 2.0 * x


def triple(x):
    return 3.0 * x


def test_timed_takes_the_first_call_apart():
    shown = timed(jitkit.jit(lambda x: double(x)), X, rounds=3)
    assert list(shown.stages) == ["trace", "lower", "compile"]
    assert shown.first >= sum(shown.stages.values())
    assert shown.warm.rounds == 3
    assert [line.cells[0].strip() for line in shown.lines] == ["first call", "trace", "lower", "compile", "warm call"]
    assert shown.rows[0]["warm"]["median"] == shown.warm.median


def test_timed_says_when_the_first_call_was_not_the_first():
    f = jitkit.jit(lambda x: double(x))
    f(X)
    shown = timed(f, X, rounds=2)
    assert shown.stages == {}
    assert "was compiled before" in str(shown)


def test_compare_measures_the_functions_of_several_libraries_in_turns():
    shown = compare(
        {"jitkit": jitkit.jit(double), "jax": jax.jit(double), "numpy": double}, np.ones(4, np.float32), rounds=3
    )
    assert list(shown.spreads) == ["jitkit", "jax", "numpy"]
    assert shown.ratios["jitkit"].median == 1.0
    assert all(spread.rounds == 3 for spread in shown.spreads.values())
    assert [row["name"] for row in shown.rows] == ["jitkit", "jax", "numpy"]


def test_compare_names_functions_by_their_names():
    assert list(compare([double, triple, double], X, rounds=1).spreads) == ["double", "triple", "double (3)"]


def test_compare_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one function"):
        compare({})


def test_compare_passes_keywords():
    assert compare([lambda x, by: x * by], X, by=2.0, rounds=1).spreads


def test_misses_name_the_calls_that_missed_and_why():
    f = jitkit.jit(lambda x: double(x))
    shown = misses(f, [X, X, X[:3], X[:3], X])
    assert [row["why"] for row in shown.rows] == ["first call", "", "new shape", "", ""]
    assert [row["compiles"] for row in shown.rows] == [1, 0, 1, 0, 0]
    assert shown.title.endswith("2 of 5 calls missed the cache")
    assert "x: float32[8] before, float32[3] now" in str(shown)


def test_the_calls_that_stopwatches_make_are_those_of_the_users_line():
    f = jitkit.jit(lambda x: double(x))
    misses(f, [X, X[:3]])
    timed(f, X[:4], rounds=2)
    compare({"f": f}, X[:5], rounds=2)
    sites = [miss.call_site for miss in jitkit.explain(f).misses]
    assert len(sites) == 4
    assert all("test_bench_notebook.py" in site for site in sites)


def test_misses_takes_tuples_as_arguments_and_generators_as_programs():
    assert len(misses(jitkit.jit(lambda x, y: x + y), [(X, X), (X, 1.0)]).rows) == 2

    def program():
        for n in (1, 2, 2):
            yield jitkit.jit(double)(X[:n])

    assert [row["compiles"] for row in misses(program()).rows] == [1, 1, 0]


def test_an_error_of_the_function_is_the_users_to_see():
    with pytest.raises(ZeroDivisionError):
        misses(lambda x: 1 // 0, [X])


def test_eager_operations_that_compile_are_named_as_such():
    jitkit.clear_caches()
    shown = misses(lambda x: x * 2.0, [jitkit.device_put(X)] * 2)
    assert [row["why"] for row in shown.rows] == ["first use of an operation", ""]


def shown_by_each():
    return {
        "timed": timed(jitkit.jit(lambda x: jnp.sin(x)), X, rounds=2),
        "compare": compare({"plain": double, "jitted": jitkit.jit(double)}, X, rounds=2),
        "misses": misses(jitkit.jit(lambda x: x + 1.0), [X, X, X[:2]]),
    }


@pytest.mark.parametrize("ground", one_in(2, ["light", "dark"]))
def test_each_has_a_figure_for_both_grounds(ground):
    for name, shown in shown_by_each().items():
        figure = shown.figure(ground)
        assert overlaps(figure) == [], name
        assert cut_off(figure) == [], name
    words = words_of(shown.figure(ground))
    assert re.search(r"1 (first call|new function), 3 new shape", words)
    assert "time of the call" in words


def test_another_ground_is_refused():
    with pytest.raises(ValueError, match="one of light, dark, not 'pink'"):
        misses(double, [X]).figure("pink")


def test_in_a_notebook_each_shows_its_table_and_its_figure():
    for shown in shown_by_each().values():
        text = shown._repr_html_()
        assert text.count("<tr>") >= 3
        pictures = re.findall(r'class="jitkit-(\w+)"(.*?) alt="[^"]*" src="data:image/png;base64,([^"]+)"', text)
        assert [(theme, hidden) for theme, hidden, _ in pictures] == [("light", ""), ("dark", ' style="display:none"')]
        light, dark = (base64.b64decode(picture) for _, _, picture in pictures)
        assert light.startswith(b"\x89PNG")
        assert dark.startswith(b"\x89PNG")
        assert light != dark
        assert "<lambda>" not in text  # it would be a tag


def test_without_matplotlib_there_is_the_table_and_a_sentence(monkeypatch):
    def refuse(name, package=None):
        raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")

    shown = misses(double, [X])
    monkeypatch.setattr(importlib, "import_module", refuse)
    text = shown._repr_html_()
    assert "<table>" in text
    assert "matplotlib is not installed" in text
