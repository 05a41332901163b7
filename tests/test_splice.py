"""A learner's functions in place of the reference's: whose lines and decorators run, and what is refused."""

from __future__ import annotations

import ast
import importlib
import pathlib
import subprocess
import sys
import textwrap
import traceback
from fractions import Fraction

import pytest

from jitkit.kata.engine import splice
from jitkit.kata.engine.name_origins import meanings, source_path
from jitkit.kata.engine.names import globals_used
from jitkit.kata.engine.own_names import own_imports, with_own_names
from jitkit.kata.engine.reference import PACKAGE
from jitkit.kata.engine.source_edit import with_imports
from jitkit.kata.engine.splice import _takes_the_same
from jitkit.kata.engine.submission import LearnerFile, SpliceError, Submission, Target, is_stub

REFERENCE = '''
"""A module."""

import functools
import math

registry = []


def register(name):
    def decorate(function):
        registry.append((name, function))
        return function

    return decorate


def area(radius, /, *, factor=1.0):
    """Of a circle."""
    return math.pi * radius**2 * factor


@register("outer")
@functools.cache
def volume(radius, height=1.0):
    return area(radius) * height


class Shape:
    sides = 4

    def __bool__(self):
        return True

    @property
    def corners(self):
        return self.sides

    @corners.setter
    def corners(self, value):
        self.sides = value
'''


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Write a package `house` with a module `house.shapes`; yield a function that imports it with a learner's source
    spliced in.
    """
    package = tmp_path / "reference" / "house"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from .shapes import area as area\n")
    (package / "shapes.py").write_text(REFERENCE)
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    file = tmp_path / "my lösungen.py"

    def load(source, *targets, exercises=("area", "volume", "Shape.__bool__", "Shape.corners"), reference=REFERENCE):
        (package / "shapes.py").write_text(reference)
        file.write_text(textwrap.dedent(source), encoding="utf-8")
        learner = LearnerFile.parse(file.read_text(encoding="utf-8"), str(file), exercises)
        splice.install(Submission({Target.parse(f"house.shapes:{name}"): learner for name in targets}))
        return importlib.import_module("house.shapes")

    yield load
    for name in ("house.shapes", "house"):
        sys.modules.pop(name, None)


def test_the_learners_function_is_the_one_that_everybody_gets(load):
    shapes = load("def area(radius, /, *, factor=1.0):\n    return 100 * factor\n", "area")
    assert shapes.area(1.0, factor=2.0) == 200
    assert shapes.volume(3.0, 2.0) == 200
    assert sys.modules["house"].area is shapes.area


def test_decorators_stay_the_references(load):
    shapes = load("def volume(radius, height=1.0):\n    return object()\n", "volume")
    assert shapes.registry == [("outer", shapes.volume)]
    assert shapes.volume(1.0) is shapes.volume(1.0)  # functools.cache
    assert not [name for name in vars(shapes) if name.startswith("_decorator")]


DECORATED = """import functools

def marked(function):
    function.mark = "mine"
    return function

@marked
@functools.lru_cache(1)
def {}:
    return object()
"""


def test_a_decorator_of_the_learners_comes_before_the_references(load):
    area = load(DECORATED.format("area(radius, /, *, factor=1.0)"), "area").area
    assert area(1) is area(1)
    assert area.mark == "mine"
    assert area.__wrapped__.__code__.co_firstlineno == 9  # the line of its `def`


def test_a_decorator_of_the_learners_and_the_references_are_both_there(load):
    shapes = load(DECORATED.format("volume(radius, height=1.0)"), "volume")
    assert shapes.registry == [("outer", shapes.volume)]
    assert shapes.volume.__wrapped__.mark == "mine"
    assert not [name for name in vars(shapes) if name.startswith("_decorator")]


def test_the_references_decorators_may_be_repeated(load):
    source = "@register('outer')\n@functools.cache\n@abs_of\ndef volume(radius, height=1.0):\n    return -1\n\n"
    shapes = load("def abs_of(f):\n    return lambda *args: abs(f(*args))\n\n" + source, "volume")
    assert shapes.registry == [("outer", shapes.volume)]
    assert shapes.volume(2) == 1


def test_a_decorator_that_makes_no_function_is_refused(load, tmp_path):
    with pytest.raises(SpliceError, match=r"`area` cannot have the decorator `@staticmethod`: it has none") as info:
        load("\n@staticmethod\ndef area(radius, /, *, factor=1.0):\n    return 1\n", "area")
    assert (info.value.file, info.value.line) == (str(tmp_path / "my lösungen.py"), 2)
    with pytest.raises(SpliceError, match=r"reference's, `@register\('outer'\)` and `@functools.cache`"):
        load("@property\ndef volume(radius, height=1.0):\n    return 1\n", "volume")


def test_where_a_module_says_so_the_decorators_are_the_learners(load):
    source = "import functools\n\n@functools.lru_cache(1)\ndef volume(radius, height=1.0):\n    return object()\n"
    shapes = load(source, "volume", reference=REFERENCE + "\nLEARNERS_DECORATE = True\n")
    assert shapes.registry == []
    assert shapes.volume(1) is shapes.volume(1)


def test_a_traceback_has_the_learners_file_and_line(load, tmp_path):
    shapes = load(
        """
        # a comment
        def helper(x):
            return 1 / x

        def area(radius, /, *, factor=1.0):
            double = lambda y: helper(y * 2)
            return double(0)
        """,
        "area",
    )
    with pytest.raises(ZeroDivisionError) as info:
        shapes.area(1)
    frames = traceback.extract_tb(info.value.__traceback__)[1:]
    assert [(frame.lineno, frame.line) for frame in frames] == [
        (8, "return double(0)"),
        (7, "double = lambda y: helper(y * 2)"),
        (4, "return 1 / x"),
    ]
    assert {frame.filename for frame in frames} == {str(tmp_path / "my lösungen.py")}


def test_lines_of_the_reference_stay_where_they_are(load):
    shapes = load("def area(radius, /, *, factor=1.0):\n    raise KeyError\n", "area")
    assert shapes.volume.__wrapped__.__code__.co_firstlineno == 1 + REFERENCE.splitlines().index('@register("outer")')
    with pytest.raises(KeyError) as info:
        shapes.volume(1.0)
    assert traceback.extract_tb(info.value.__traceback__)[1].line == "return area(radius) * height"


def test_helpers_imports_and_constants_come_along_when_they_are_used(load):
    shapes = load(
        """
        import math
        from fractions import Fraction
        import decimal

        HALF = Fraction(1, 2)
        unused = undefined_name

        def outer_helper():
            return inner_helper() * HALF

        def inner_helper():
            return math.floor(4.5)

        def area(radius, /, *, factor=1.0):
            return outer_helper()

        print("top-level statements do not run")
        """,
        "area",
    )
    assert shapes.area(1) == 2
    assert not hasattr(shapes, "decimal")


@pytest.mark.parametrize(
    ("once", "more", "helpers"),
    [
        (
            "import math\nLIMIT = 3\ndef g(): return h()\ndef h(): return math.pi\n",
            "",
            4,
        ),  # `h` exists when `g` is called
        ("LIMIT = 3\ndef g(x=LIMIT): return x\n", "", 2),
        ("LIMIT = 3\nLIMIT = LIMIT + 1\ndef g(): return LIMIT\n", "", 5),  # the second line uses the first one
        ("LIMIT = 3\ndef g(x=LIMIT): return x\n", "LIMIT = 4\n", 5),  # the default is read between the two assignments
        ("def g(): return LIMIT\n", "def g(): return 1\n", 3),
    ],
)
def test_helpers_of_a_cell_that_is_run_again_come_once_unless_that_changes_something(once, more, helpers):
    target = "def area(radius): return g() + LIMIT\n"
    file = LearnerFile.parse(once + more + once + target, "cells", ())
    assert len(file.helpers(["area"])) == helpers


def test_statements_that_change_a_helper_come_along_and_those_that_use_exercises_do_not():
    """Loops that fill a table, an import that may fail, a class that is registered: else an honest answer ends in a KeyError."""
    kept = """\
TABLE = {}
for i in range(3):
    TABLE[i] = 0
TABLE['more'] = 1
try:
    import missing
    ZERO = 1
except ImportError:
    ZERO = 0
ZERO += 0
ROWS = []
ROWS.append(0)
ROWS.append(0)
class Node:
    pass
register(Node)"""
    lost = """
OTHERS = []
OTHERS.append(0)
print(area(TABLE))
for n in (1, 2):
    TABLE[n] = area(n)
if __name__ == '__main__':
    TABLE = None
def area(x):
    return TABLE[0], ZERO, ROWS, Node
"""
    file = LearnerFile.parse(kept + lost, "a.py", ["m:area"])
    assert "\n".join(map(ast.unparse, file.helpers(["area"]))) == kept


def test_what_has_the_name_of_a_parameter_or_a_local_is_no_helper(load):
    """As in a notebook, where a function is tried out in the next cell."""
    shapes = load(
        """
        scale = 2.0

        def area(radius, /, *, factor=1.0):
            result = radius * scale
            return [result for result in [result]][0]

        radius = area(3.0)
        result = undefined_name
        factor: float = undefined_name
        """,
        "area",
    )
    assert shapes.area(3.0) == 6.0


def test_a_global_that_a_function_sets_or_whose_name_its_default_reads_is_a_helper(load):
    shapes = load(
        """
        factor = 5.0
        calls = 0

        def area(radius, /, *, factor=1.0):
            return helper(radius)

        def helper(radius, factor=factor):
            global calls
            calls = calls + 1
            return radius * factor + calls
        """,
        "area",
    )
    assert (shapes.area(2.0), shapes.area(2.0)) == (11.0, 12.0)


def test_another_exercise_of_the_file_is_not_a_helper(load):
    shapes = load(
        """
        def area(radius, /, *, factor=1.0):
            raise NotImplementedError

        def volume(radius, height=1.0):
            return area(1.0) + height
        """,
        "volume",
    )
    assert shapes.volume(1.0, 1.0) == pytest.approx(4.14159, abs=1e-4)


SAVED = """import math

BASE = 2


def area(radius, /, *, factor=1.0):
    return BASE * radius


def volume(radius, height=1.0):
    return 1


class Shape:
    def __bool__(self):
        return False
"""


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("", "", []),
        ("return 1\n", "return 3\n", ["house.solids"]),
        ("return BASE", "return 3 * BASE", ["house.shapes"]),
        ("return False", "return True", ["house.shapes", "house.solids"]),  # any class may be a helper
        ("BASE = 2", "BASE = 3", ["house.shapes", "house.solids"]),
        ("import math", "import cmath as math", ["house.shapes", "house.solids"]),
        ("def volume", "@staticmethod\ndef volume", ["house.shapes", "house.solids"]),  # this moves the lines below
        ("return 1\n", "\n    return 1\n", ["house.shapes", "house.solids"]),
        ("def volume", "def volumes", ["house.shapes", "house.solids"]),
    ],
)
def test_a_module_is_compiled_again_where_its_code_changes_and_not_for_its_neighbours(old, new, changed):
    """An exercise that is put into another module is compiled there only, where it moves no line."""

    def keys(source):
        file = LearnerFile.parse(source, "mine.py", ("area", "volume", "Shape.__bool__"))
        places = ("house.shapes:area", "house.shapes:Shape.__bool__", "house.solids:volume")
        submission = Submission({Target.parse(place): file for place in places})
        return {module: submission.key(module) for module in submission.modules}

    before, after = keys(SAVED), keys(SAVED.replace(old, new) if old else SAVED)
    assert sorted(module for module in before if before[module] != after[module]) == changed


def test_a_method_takes_its_place_in_the_class(load):
    shapes = load(
        """
        class Shape:
            def _count(self):
                return super().__sizeof__() * 0 + self.sides

            def __bool__(self):
                return self._count() > 4
        """,
        "Shape.__bool__",
    )
    assert not shapes.Shape()
    shape = shapes.Shape()
    shape.corners = 5
    assert shape


def test_a_helper_may_not_hide_a_name_of_the_module(load):
    with pytest.raises(SpliceError, match="has a `registry` of its own") as info:
        load("registry = {}\ndef area(radius, /, *, factor=1.0):\n    return registry\n", "area")
    assert info.value.line == 1


# --- names that are something else in the module ----------------------------------------------------------------


def test_an_import_by_a_name_of_the_modules_is_the_learners_in_the_learners_functions(load):
    shapes = load(
        """
        import fractions as math
        from operator import sub as registry, mul

        class Turned:
            def __call__(self, x):
                return registry(x, math.Fraction(1, 2))

        def turned(x):
            return Turned()(x) if registry(x, x) == 0 else mul(x, 0)

        def area(radius, /, *, factor=1.0):
            \"\"\"Doc.\"\"\"
            inner = lambda: math.Fraction(1, 3)
            return turned(radius), inner()
        """,
        "area",
    )
    assert shapes.area(2) == (1.5, Fraction(1, 3))
    assert shapes.area.__doc__ == "Doc."
    assert shapes.math.__name__ == "math"  # the reference's `math`, as before
    assert shapes.registry == [("outer", shapes.volume)]


@pytest.mark.parametrize(
    "helper", ["PI = math.pi", "class Helper(math.Base):\n    pass", "def helper(x=math.pi):\n    pass"]
)
def test_such_an_import_is_refused_where_no_function_can_have_it(load, helper):
    name = "PI" if helper.startswith("PI") else helper.split()[1].partition("(")[0]
    with pytest.raises(SpliceError, match=r"`math` is `math` in the module around this exercise.*by another name"):
        load(f"import cmath as math\n{helper}\n\ndef area(radius, /, *, factor=1.0):\n    return {name}\n", "area")


def test_a_built_in_function_is_pythons_unless_it_was_imported(load):
    more = REFERENCE + "\n\ndef max(*numbers):\n    return 'the largest'\n\n\nfrom operator import add as sum\n"
    shapes = load("def area(radius, /, *, factor=1.0):\n    return max(radius, sum([1, 2]))\n", "area", reference=more)
    assert (shapes.area(2), shapes.max(1)) == (3, "the largest")
    for name in ("house.shapes", "house"):
        sys.modules.pop(name)
    theirs = "from house.shapes import max\n\ndef area(radius, /, *, factor=1.0):\n    return max(radius)\n"
    assert load(theirs, "area", reference=more).area(2) == "the largest"


def test_an_import_of_what_is_there_by_that_name_is_left_out_on_whatever_way():
    module = "jitkit.lax.control_flow.stepping"
    known = meanings(pathlib.Path(source_path(module, str(PACKAGE))).read_text(encoding="utf-8"), module)
    assert known["add"] == "jitkit.lax.elementwise.add"
    for line in ("from jitkit.lax import add", "from jitkit.lax.elementwise import add", "import operator"):
        file = LearnerFile.parse(f"{line}\ndef f(x):\n    return add(x)\n", "m.py", ("f",))
        assert own_imports(file.functions["f"], file, known) == []
    for line in ("from operator import add", "from jitkit.numpy import add", "import operator as add"):
        file = LearnerFile.parse(f"{line}\ndef f(x):\n    return add(x)\n", "m.py", ("f",))
        assert [ast.unparse(node) for node in own_imports(file.functions["f"], file, known)] == [line]


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    # a comment\n    return add(x, ä)\n",
        "def f(x): return add(x, ä)\n",
        'def f(x):\n    """Doc."""; y = x\n    return add(y, ä)\n',
        'def f(x):\n    """Doc."""\n\n    @add\n    def g(y):\n        return y\n    return g(x)\n',
    ],
)
def test_an_import_is_put_into_the_text_of_a_function_as_into_its_tree(text):
    file = LearnerFile.parse("import jitkit.numpy as np\nfrom operator import add\n\n" + text, "m.py", ("f",))
    function = file.functions["f"]
    imports = own_imports(function, file, {"add": "m.add", "np": "numpy"})
    assert [ast.unparse(node) for node in imports] == ["from operator import add"]
    written = with_imports(text, imports)
    assert ast.unparse(ast.parse(written)) == ast.unparse(with_own_names(function, file, {"add": "m.add"}))
    assert ("# a comment" in written) == ("# a comment" in text)


# --- signatures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "signature",
    [
        "radius",
        "radius, /, factor=1.0",
        "radius, /, *, factor",
        "radius, /, *, factor=1.0, more",
        "radius, more, /, *, factor=1.0",
        "r, /, *, factor=1.0",
    ],
)
def test_parameters_are_the_references(load, signature):
    with pytest.raises(SpliceError, match=r"`area` is called as `area\(radius, /, \*, factor=1.0\)`") as info:
        load(f"\n\ndef area({signature}):\n    return 1\n", "area")
    assert info.value.line == 3


@pytest.mark.parametrize(
    "signature",
    [
        "radius, /, *, factor=1.0, more=0",
        "radius, /, more=0, *, factor=1.0",
        "radius=1.0, /, *rest, factor=1.0, **more",
    ],
)
def test_more_parameters_are_right_if_they_have_defaults(load, signature):
    shapes = load(f"\n\ndef area({signature}):\n    return radius + factor\n", "area")
    assert shapes.area(2, factor=3.0) == 5.0


@pytest.mark.parametrize("more", ["args, depth=1, **params", "*args, depth=1, **params", "*args", "*args, **others"])
def test_parameters_that_take_the_rest_stay_so(more):
    """`bind(*args, **params)` is called with any names: a new parameter would take one of them away."""
    reference, theirs = (ast.parse(f"def bind({text}): pass").body[0] for text in ("*args, **params", more))
    assert _takes_the_same(reference.args, theirs.args) == (more == "*args, **others")


def test_annotations_and_other_defaults_are_the_learners_affair(load):
    shapes = load("def area(radius: float, /, *, factor: float = 3.0) -> float:\n    return factor\n", "area")
    assert shapes.area(1) == 3.0


def test_a_renamed_exercise_is_found_by_likeness(load):
    with pytest.raises(SpliceError, match="Is it `volumes` now"):
        load("def volumes(radius, height=1.0):\n    return 1\n", "volume")
    with pytest.raises(SpliceError, match=r"no function `volume` in this file\.$"):
        load("x = 1\n", "volume")


@pytest.mark.parametrize("source", ["def f(:\n", "x = 'a\n", "def area(radius):\nreturn 1\n", "a\0b"])
def test_a_syntax_error_has_its_place(source):
    with pytest.raises(SpliceError) as info:
        LearnerFile.parse(source, "mine.py", ())
    assert info.value.file == "mine.py"
    assert info.value.line >= 1


@pytest.mark.parametrize("target", ["nothing", "Shape.nothing", "Shape", "registry", "area.inner"])
def test_a_target_that_the_reference_does_not_have(load, target):
    classes = "class Shape:\n    def nothing(self): pass\nclass area:\n    def inner(self): pass\n"
    source = "def Shape(): pass\n" if target == "Shape" else f"{classes}def nothing(): pass\ndef registry(): pass\n"
    with pytest.raises(SpliceError, match="reference"):
        load(source, target, exercises=(target,))


@pytest.mark.parametrize("text", ["", "jitkit", "jitkit:", ":f", "jitkit:a b", "jit-kit:f", "jitkit:f.", "a:b:c"])
def test_a_target_is_a_module_and_a_name(text):
    with pytest.raises(ValueError, match="expected a target like"):
        Target.parse(text)


def test_a_target_prints_as_it_is_written():
    assert str(Target.parse("jitkit.core.primitive:Tracer.__bool__")) == "jitkit.core.primitive:Tracer.__bool__"


def test_what_was_imported_before_is_not_spliced(load):
    load("def area(radius, /, *, factor=1.0):\n    return 1\n", "area")
    file = LearnerFile.parse("def area(radius): pass", "x.py", ("area",))
    with pytest.raises(RuntimeError, match=r"house\.shapes was imported before"):
        splice.install(Submission({Target.parse("house.shapes:area"): file}))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("raise NotImplementedError", True),
        ("'''Doc.'''\n    raise NotImplementedError('02.3')", True),
        ("'''Doc.'''", False),
        ("raise ValueError", False),
        ("x = 1\n    raise NotImplementedError", False),
        ("return NotImplementedError", False),
    ],
)
def test_a_stub_is_recognised(body, expected):
    assert is_stub(ast.parse(f"def f():\n    {body}\n").body[0]) is expected


def test_the_reference_on_disk_keeps_its_bytecode(load, tmp_path):
    load("def area(radius, /, *, factor=1.0):\n    return 1\n", "area")
    assert not list((tmp_path / "reference" / "house").glob("__pycache__/shapes*"))


# Imports from the time when all modules of jitkit were in one folder: each of these names has moved.
BEFORE_THE_ROOMS = """
from jitkit import config, core, source_info
from jitkit import util as helpers
from jitkit.pjit.compilation_cache import Entry
from jitkit.compiler import Executable
from jitkit.dtypes import Node
from jitkit.core.effects import no_effects
from jitkit.jaxpr import Var
from jitkit.jaxpr.check import Place, same_type
from jitkit.pjit import flat_tree
from jitkit.core.tracer import Tracer
from jitkit.tree_util.nodes import DictKeys
from jitkit.lax.dot import dtypes_computed_with


def f():
    from jitkit.misses.explain import explain
    return explain
"""


def test_a_file_of_before_finds_what_it_imports_at_its_place_of_today():
    file = LearnerFile.parse(BEFORE_THE_ROOMS, "exercises.py", ())
    names = {}
    exec(compile(ast.fix_missing_locations(file.tree), "exercises.py", "exec"), names)
    assert names["helpers"].__name__ == "jitkit.base.util"
    assert names["source_info"].__name__ == "jitkit.base.source_info"
    assert names["f"]() is importlib.import_module("jitkit").explain
    assert names["dtypes_computed_with"].__module__ == "jitkit.lax.dot_products"
    assert [node.lineno for node in file.tree.body][:5] == [2, 2, 2, 3, 4]
    moved = LearnerFile.parse(
        "from jitkit.kata import mine, quiz\nfrom jitkit.kata.pitfalls import fit", "exercises.py", ()
    )
    assert ast.unparse(moved.tree).splitlines() == [
        "from jitkit.kata import mine", "from jitkit.kata.subjects import quiz", "from jitkit.kata.subjects.pitfalls import fit",
    ]  # fmt: skip
    names = "from jitkit.tree_util.nodes import DictKeys, RegisteredNode\nfrom jitkit.lax.control_flow.scanning import traced_length"
    assert ast.unparse(LearnerFile.parse(names, "exercises.py", ()).tree).splitlines() == [
        "from jitkit.tree_util.nodes import DictKeys", "from jitkit.tree_util.registered_nodes import RegisteredNode",
        "from jitkit.lax.control_flow.counting import traced_length",
    ]  # fmt: skip
    function = "from jitkit.lax import dot"
    assert ast.unparse(LearnerFile.parse(function, "exercises.py", ()).tree) == function
    today = "from jitkit.core import Tracer, dtypes\nfrom jitkit.compiler import placement\nfrom jitkit.jaxpr.check import Place"
    assert ast.unparse(LearnerFile.parse(today, "exercises.py", ()).tree) == today


# Imports from the time when promotion was in `core.dtypes`; the last import is the learner's own.
BEFORE_PROMOTION = """
from jitkit.core.dtypes import Node, TypePromotionError, no_promotion_path, upper_bounds
from jitkit.core.dtypes import kinds, python_scalar_types


def named(node):
    return node in kinds or node in python_scalar_types


def least_upper_bound(x64: bool, *nodes: Node) -> Node:
    return [node for node in nodes if named(node)][0]
"""


def test_a_function_of_core_dtypes_of_before_runs_at_its_place_of_today():
    """Its module is imported by the door that the file names: what stands below is at the door by then."""
    program = """
        import sys
        from jitkit.kata.engine import splice
        from jitkit.kata.engine.submission import globals_used, LearnerFile, Submission, Target
        target = Target.parse("jitkit.core.promotion:least_upper_bound")
        submission = Submission({target: LearnerFile.parse(sys.argv[1], "exercises.py", ["least_upper_bound"])})
        for name in [name for name in sys.modules if name.startswith("jitkit")]:
            del sys.modules[name]
        splice.install(submission)
        import jitkit
        print(jitkit.dtypes.promote_types("int8", "float32"))
        """
    command = [sys.executable, "-c", textwrap.dedent(program), BEFORE_PROMOTION]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["int8"], done.stderr


def test_names_of_inner_functions_lambdas_and_comprehensions_are_no_globals():
    def used(text):
        return sorted(globals_used(ast.parse(textwrap.dedent(text)).body[0]))

    assert used("def f(x):\n    def g(*leaves):\n        return leaves + y\n    return g") == ["y"]
    assert used("def f(x): return tuple(structure for structure in x) + z") == ["tuple", "z"]
    assert used("def f(x): return [x for x in x], {k: v for k, v in w}") == ["w"]
    assert used("def f(x): return (lambda w, k=q: w + k + v)(x)") == ["q", "v"]
    assert used("def f(x):\n    try:\n        return a\n    except E as e:\n        return e") == ["E", "a"]
    assert used("def f(x):\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n    return g") == []
    assert used("def f(x):\n    global c\n    c = 1\n    return c") == ["c"]
    assert used("def f(x: T = D) -> R:\n    return x") == ["D", "R", "T"]


def test_what_an_inner_function_calls_its_parameter_may_be_a_variable_of_a_cell(load):
    shapes = load(
        """
        leaves = undefined_elsewhere = 1 / 0 if False else 3
        leaves = __import__("house.shapes").nothing_of_this_name if False else leaves

        def area(radius, /, *, factor=1.0):
            def twice(*leaves):
                return 2 * leaves[0]
            return twice(factor) + sum(leaves for leaves in (1, 2))
        """,
        "area",
    )
    assert shapes.area(1.0, factor=2.0) == 7
    assert not hasattr(shapes, "leaves")


def test_a_function_of_another_exercise_in_another_module_can_be_called(load, tmp_path):
    other = tmp_path / "reference" / "house" / "tools.py"
    other.write_text("def moved(x):\n    return x + 1\n")
    source = """
        from house.tools import moved

        def area(radius, /, *, factor=1.0):
            return help_(radius) + moved(factor)

        def help_(x):
            return moved(x)

        def moved(x):
            raise AssertionError("it is not the one that is in place")
        """
    shapes = load(source, "area", exercises=("house.shapes:area", "house.tools:moved"))
    assert shapes.area(1, factor=2) == 5
    sys.modules.pop("house.tools", None)
