"""The free names of a function, and the names that a statement binds: they agree with Python's symbol table."""

from __future__ import annotations

import ast
import pathlib
import symtable
import sys

import pytest

from jitkit.kata.engine.names import globals_used, names_bound
from jitkit.kata.engine.submission import LearnerFile


def free_by_python(text):
    """Return the names of a module with one function that Python's symbol table calls global, or that its header reads."""

    def of(table):
        whole = table.get_type() == "module"
        found = {s.get_name() for s in table.get_symbols() if (s.is_referenced() if whole else s.is_global())}
        return found.union(*map(of, table.get_children()))

    return sorted(of(symtable.symtable(text, "text", "exec")) - {"__class__"})


def free(text):
    return sorted(globals_used(ast.parse(text).body[0]))


FUNCTIONS = {
    "patterns": "def f(q):\n match q:\n  case [a, *b] | {'a': a, **b}: return a, b, c\n  case E(c=1 as d) if g: return d",
    "except": "def f():\n try: pass\n except E as e: pass\n return lambda: e",
    "except star": "def f():\n try: pass\n except* E as e: pass\n return e",
    "except global": "def f():\n global e\n try: pass\n except E as e: pass",
    "walrus": "def f():\n if (n := g()): return n",
    "walrus in a comprehension": "def f(x): return any((last := y) > x for y in x), last, y",
    "walrus in two": "def f(x): return [[last := y for y in row] for row in x], last, row",
    "walrus in a lambda": "def f(x): return [lambda: (inner := y) for y in x], inner",
    "walrus in a header": "def f():\n def g(a=(b := c)): pass\n class D(e := h): pass\n return b, e",
    "lambda": "def f(x): return (lambda w, /, *a, k=q, **kw: (v := w) + k + v + a + kw)(x), w",
    "comprehensions": "def f(x): return [y for y in y if y for z in y if z], {k: v for k, v in z}, {y for y in x}",
    "del": "def f():\n del x, y[z]\n return x",
    "import": "def f():\n import a.b as c, d.e\n from g import h, i as j\n return a, b, c, d, e, g, h, i, j",
    "for": "def f():\n for i, (j, *k) in x: pass\n else: return i, j, k",
    "with": "def f():\n with a as b, c as (d, e.f[g]): return b, d",
    "global": "def f():\n x = 1\n def g():\n  global x\n  return x\n return g",
    "nonlocal": "def f(x):\n def g():\n  nonlocal x\n  x += y\n return g",
    "class": "def f():\n class C(B, metaclass=M):\n  a: T = 1\n  b = a\n  def m(self): return super().m(), a, C, b\n return C",
    "class and comprehension": "def f():\n class C:\n  a = 1\n  c = [b for b in a]\n return C.a",
    "function": "def f(q):\n @d(q)\n def g(a=q, *b: q, c: t = z) -> r: return g, a, b, c\n return g",
    "async": "async def f():\n async with a as b:\n  async for c in b: return [await d async for d in c], d",
    "annotations": "def f(x: R, *y: S) -> x:\n x: int\n y: T = x\n z[0]: S = y",
    "text": "def f(): return f'{x!r:{w}}', [f for f in f], f",
}
if sys.version_info >= (3, 12):
    FUNCTIONS |= {
        "type parameters": "def f[T: (int, S), *Ts, **P](x: T = T, *y: Ts) -> P: return T, U",
        "of a class": "def f():\n class C[T: B](D[T]):\n  a: T\n  def m[S](self, x: S) -> T: return a\n return T, C",
        "of a type": "def f():\n type A[T] = dict[T, S]\n return A, T",
    }


@pytest.mark.parametrize("text", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_free_names_of_a_function_are_those_of_pythons_symbol_table(text):
    assert free(text) == free_by_python(text)


@pytest.mark.parametrize("name", ["ast", "argparse", "dataclasses", "inspect", "statistics", "typing", "asyncio/tasks"])
def test_the_free_names_of_functions_of_the_standard_library(name):
    tree = ast.parse((pathlib.Path(ast.__file__).parent / f"{name}.py").read_text(encoding="utf-8"))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    plain = [n for n in functions if not any(isinstance(p, ast.ClassDef | ast.Nonlocal) for p in ast.walk(n))]
    assert len(plain) > 20
    different = [n.name for n in plain if sorted(globals_used(n)) != free_by_python(ast.unparse(n))]
    assert different == []


def test_a_class_reads_the_name_around_it_before_it_binds_its_own():
    assert free("def f():\n class C:\n  a = 1\n  b = [a for _ in a]\n return C") == [
        "a"
    ]  # the function does not see the class's name
    assert free("def f():\n class C:\n  shape = shape\n return C") == ["shape"]
    assert free("class C:\n shape = 1\n def size(self, rows): return [rows for columns in shape]") == ["shape"]


def test_a_statement_binds_what_its_patterns_and_walruses_bind():
    def bound(text):
        return sorted({*names_bound(ast.parse(text))})

    assert bound("match q:\n case [a, *b, {'c': C(d=1 as d), **e}]: f = 1\n case _: pass") == ["a", "b", "d", "e", "f"]
    assert bound("found = [last := y for y in x]") == ["found", "last"]
    assert bound("try: import a.b, c as d\nexcept E as e: d = None") == ["a", "d"]
    assert bound("def f(a, b=(c := 1)): d = 2\nclass C: x = 1") == ["C", "c", "f"]


def test_a_variable_of_a_cell_is_no_helper_of_a_function_with_a_capture_of_its_name():
    for body in ("match x:\n  case [rows]: return rows", "try: return 1\n except E as rows: return rows"):
        file = LearnerFile.parse(f"def f(x):\n {body}\n\nrows = f([undefined])\n", "exercises.py", ["f"])
        assert file.helpers(["f"]) == []


def test_a_match_statement_that_defines_what_a_function_uses_is_its_helper():
    source = (
        "import sys\nmatch sys.platform:\n case 'none': scale = 1\n case _: scale = 2\n\ndef f(x): return scale * x\n"
    )
    helpers = LearnerFile.parse(source, "exercises.py", ["f"]).helpers(["f"])
    assert [type(node) for node in helpers] == [ast.Import, ast.Match]
