"""Where code stands, in words: a file and a line, and in a notebook the cell."""

from __future__ import annotations

import argparse
import ast
import dis
import inspect
import pathlib
import sys
import tarfile
import types

import pytest

import jitkit as jk
from jitkit.base import source_info
from jitkit.misses.origin import origin_of

CELL = "/tmp/ipykernel_26861/3902580990.py"


@pytest.fixture
def notebook(monkeypatch):
    """Fake the state of IPython under ipykernel after one cell; return a function that runs code as that cell."""
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


# --- loops ----------------------------------------------------------------------------------------------------

TURNS = {
    "for": "for _ in range(2):\n    note()",
    "while": "n = 0\nwhile n < 2:\n    n += 1\n    note()",
    "a comprehension": "[note() for _ in range(2)]",
    "a function called in a loop": "def f():\n    note()\nfor _ in range(2):\n    f()",
    "a method of an object": "class A:\n    def f(self):\n        note()\nfor a in [A(), A()]:\n    a.f()",
    "the last line of a long body": "for n in range(2):\n    if n > 5:\n        continue\n    note()",
}
LINES = {
    "one line": "note()",
    "two lines": "note()\nnote()",
    "after a loop": "for _ in range(2):\n    pass\nnote()",
    "before one": "note()\nwhile False:\n    pass",
    "recursion": "def f(n):\n    note()\n    return n and f(n - 1)\nf(2)",
    "a function that has a loop elsewhere": "def f():\n    for _ in range(2):\n        pass\n    note()\nf()\nf()",
    "a library that calls": "import functools\nfunctools.reduce(lambda a, b: note(), [1, 2, 3])",
    "an await": "async def g():\n    note()\nasync def f():\n    await g()\ntry:\n    f().send(None)\nexcept StopIteration:\n    pass",
}


def in_loop(source):
    """Run a module; return what `source_info.in_loop` says at its calls of `note`."""
    said = []
    names = {"note": lambda: said.append(source_info.in_loop()), "__name__": "program"}
    exec(compile(source, "/home/user/program.py", "exec"), names)
    return set(said)


@pytest.mark.parametrize("name", list(TURNS))
def test_what_runs_in_turns_is_in_a_loop(name):
    assert in_loop(TURNS[name]) == {True}


@pytest.mark.parametrize("name", list(LINES))
def test_what_runs_line_by_line_is_in_none(name):
    for _ in range(2):  # a loop around the module does not count as the module's loop
        assert in_loop(LINES[name]) == {False}


def again(run, *sources):
    """Run some cells; return what `explain` says of the function `f` that the last one made."""
    for source in sources:
        names = run(source)
    return jk.explain(names["f"]).misses[0].sentence


def test_running_a_cell_again_is_called_that(notebook):
    cell = "f = jk.jit(lambda x: x - 3)\nf(1.0)"
    assert again(notebook, cell, cell) == (
        "<lambda> is new to jit. It is the 2nd function made by the lambda at Cell In[7], line 1; jit knows functions by "
        "identity: the cell was run again, which made a new one. In a cell that is not run again it would keep its programs."
    )


def test_a_loop_in_a_cell_is_called_a_loop(notebook):
    cell = "for n in range(2):\n    f = jk.jit(lambda x: x - 4)\n    f(1.0)"
    assert again(notebook, cell).endswith("define it once, outside of the loop, and pass what changes as an argument.")


def test_calling_twice_what_makes_a_function_is_no_loop(notebook):
    cell = "def make():\n    return jk.jit(lambda x: x - 5)\nmake()(1.0)\nf = make()\nf(1.0)"
    assert again(notebook, cell).endswith("identity: define it once, and pass what changes as an argument.")


def test_an_equation_of_a_primitive_that_the_user_binds_is_from_the_users_line():
    def f(x):
        return jk.lax.sin_p.bind(x)  # only one frame of ours, `bind`, is between this line and the trace

    def on_batches(x):
        return jk.vmap(f)(x)

    for function, x in ((f, 1.0), (on_batches, jk.numpy.arange(3.0))):
        [eqn] = jk.make_jaxpr(function)(x).eqns
        position = eqn.source_info.position
        assert position.line == f.__code__.co_firstlineno + 1


def of_dis(code):
    jumps = (i for i in dis.get_instructions(code) if "JUMP_BACKWARD" in i.opname and "NO_INTERRUPT" not in i.opname)
    return [(jump.argval, jump.offset) for jump in jumps]


def all_codes(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from all_codes(const)


@pytest.mark.parametrize("module", [argparse, ast, inspect, tarfile], ids=lambda module: module.__name__)
def test_loops_are_found_in_the_bytes_of_a_code_object_as_dis_finds_them(module):
    text = pathlib.Path(module.__file__).read_text(encoding="utf-8")
    codes = list(all_codes(compile(text, module.__file__, "exec")))
    expected = {code: of_dis(code) for code in codes}
    assert sum(map(len, expected.values())) > 20
    assert {code: source_info._loops(code) for code in codes} == expected
