"""Where code stands, in words: a file and a line, and in a notebook the cell."""

from __future__ import annotations

import sys
import types

import pytest

import jitkit as jk
from jitkit.base import source_info
from jitkit.misses.origin import origin_of

CELL = "/tmp/ipykernel_26861/3902580990.py"


@pytest.fixture
def notebook(monkeypatch):
    """IPython as ipykernel leaves it, with one cell run, and a function that runs code as that cell."""
    compiler = types.SimpleNamespace(format_code_name={CELL: ("Cell", "In[7]")}.get)
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(compile=compiler)
    monkeypatch.setitem(sys.modules, "IPython", ipython)

    def run(code):
        names = {"jk": jk, "__name__": "__main__"}
        exec(compile(code, CELL, "exec"), names)
        return names

    return run


def test_a_line_of_a_cell_is_named_as_ipythons_tracebacks_name_it(notebook):
    assert source_info.place(CELL, 3) == "Cell In[7], line 3"
    assert source_info.place(__file__, 3) == f"{__file__}:3"


def test_what_is_said_of_a_function_in_a_cell_names_the_cell(notebook):
    f = notebook("@jk.jit\ndef f(x):\n    return x + 1\n\nf(1.0)\nf(1)")["f"]
    assert origin_of(f.__wrapped__).function == "f at Cell In[7], line 1"
    jaxpr = jk.make_jaxpr(f.__wrapped__)(1.0)
    assert jaxpr.debug_info.func_src_info == "f at Cell In[7], line 1"
    assert source_info.summarize(jaxpr.eqns[0].source_info) == "Cell In[7], line 3 (f)"
    told = str(jk.explain(f))
    assert "#1 Cell In[7], line 5: traced and compiled" in told
    assert "#2 Cell In[7], line 6: traced and compiled" in told
    assert "ipykernel" not in told


def test_an_ipython_without_a_shell_or_of_another_version_changes_nothing(monkeypatch):
    ipython = types.ModuleType("IPython")
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    for shell in (None, types.SimpleNamespace(compile=types.SimpleNamespace())):
        ipython.get_ipython = lambda shell=shell: shell
        assert source_info.place(CELL, 3) == f"{CELL}:3"
