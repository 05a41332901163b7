"""The rules of this house, as data and as tests. Each says why it is there."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import importlib.util
import io
import pathlib
import re
import subprocess
import sys
import textwrap
import tokenize
from collections.abc import Callable, Iterable

import pytest
import tails
from rest import REST

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = ROOT / "jitkit"

# The rooms of jitkit, from the ground up: a module may import from its own room and from those before it. At the top
# stand, besides, only modules that programs written for JAX import by name.
ROOMS = (
    # what everything stands on, values, trees of them, programs
    "base", "core", "tree_util", "jaxpr",
    # the machine, and the five arrows
    "runtime", "signature", "interpreters", "loops", "compiler", "targets", "misses", "pjit",
    # primitives, and functions with derivatives of their own
    "lax", "derivatives", "custom_derivatives",
    # the user's vocabulary
    "numpy", "random", "nn", "scipy", "ops", "debug", "flatten_util", "experimental",
    "example_libraries", "export", "ffi",
    "image", "tree", "sharding", "extend", "api_util", "profiler", "monitoring", "distributed", "lib", "dlpack",
    "ad_checkpoint", "custom_batching", "test_util", "typing", "errors", "dtypes", "stages", "explorer",
    # `jitkit` itself, what is built on it, and `python -m jitkit`
    "__init__", "as_jax", "bench", "kata", "__main__",
)  # fmt: skip
POSITION = {room: place for place, room in enumerate(ROOMS)}

# The rooms of the course, by floors: a module imports from its own room and from lower floors. Its command names verbs by text.
FLOORS_OF_KATA = (
    ("problems", "subjects", "engine"),
    ("command", "programs", "functions", "workspace"),
    ("screens", "speed", "__main__"),
    ("ladder", "tour"),
    ("verbs", "pytest"),
)
# What files of authors and learners import. Each hands names on and does nothing else, so it stands on no floor.
DOORS_OF_KATA = ("checking", "mutants", "notebook", "mine", "small_jit", "ladder.pytest_rungs")

# The arrows of one call, in order: the first line of each stage's docstring. A stage takes what earlier stages return.
ARROWS = {
    "signature.api_util": "call -> signature + leaves",
    "interpreters.partial_eval": "function + avals -> Jaxpr",
    "interpreters.mlir": "Jaxpr -> StableHLO",
    "compiler.compiler": "StableHLO -> executable",
    "pjit.compilation_cache": "signature -> executable",
}

# What `runtime` may ask of jax: devices, placement, the types of buffers, errors. Nothing that traces,
# compiles or computes.
GATE_MODULES = {
    "jax", "jaxlib._jax", "jaxlib.xla_client", "jaxlib.version", "jax._src.sharding_impls",
    # the tables in which JAX looks up types of values, and their data: Array is registered there
    "jax._src.core", "jax._src.interpreters.pxla", "jax._src.dtypes",
    # the mesh of a block `with mesh:`
    "jax._src.mesh",
    # which accelerators there are, and JAX's tables of backends
    "jax._src.hardware_utils", "jax._src.xla_bridge",
    # LAPACK's routines, which programs call by name
    "jaxlib.lapack", "jaxlib.gpu_solver",
    # a parser for the text of programs with callbacks, which jaxlib does not take as text
    "jaxlib.mlir.ir", "jaxlib.mlir._mlir_libs._jax_mlir_ext", "jaxlib.mlir.dialects.stablehlo",
    "jaxlib.mlir.dialects.chlo", "jaxlib.mlir.dialects.sdy",
    # how a program in XLA's own language is printed
    "jaxlib._hlo",
}  # fmt: skip
GATE_NAMES = {
    "devices",
    "local_devices",
    "default_backend",
    "device_put",
    "sharding",
    "core",
    "errors",
    "config",
    "enable_x64",
    "dlpack",
}


# Modules that may import jax: the room that talks to jaxlib; the program that drives the compilers of other chips, in
# its own process; and modules that explore functions of JAX. None of them traces or runs our functions with JAX.
GATES = (
    "runtime.jaxlib", "runtime.python_halves", "runtime.beside_jax", "runtime.accelerators", "runtime.devices", "runtime.compiling",
    "targets.worker", "explorer.real_jax", "explorer.jax_calls",
    "profiler",  # its classes are jaxlib's
    "kata.engine.worker",  # it starts XLA before the learner's jitkit can be imported
)  # fmt: skip


def name_of(path: pathlib.Path) -> str:
    """Return the name of a module: `interpreters.mlir` for jitkit/interpreters/mlir.py, a package's name for its
    `__init__`.
    """
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


SOURCES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
# The stubs of packages whose names are imported only when they are used: they say where each name comes from.
STUBS = {name_of(path): path for path in sorted(PACKAGE.rglob("__init__.pyi"))}
REFERENCE = [name for name in SOURCES if name.split(".")[0] not in ("kata", "bench", "__main__")]
MODULES = [name for name in REFERENCE if SOURCES[name].name != "__init__.py"]


@functools.cache
def tree_of(name: str) -> ast.Module:
    """Return the syntax tree of a module. It is read only when a test needs it: every worker of pytest collects this
    file, and few run it.
    """
    return ast.parse(SOURCES[name].read_text(encoding="utf-8"))


def found_in(names: Iterable[str], look: Callable[[str], object]) -> dict[str, object]:
    """Return what a rule finds, by module; {} if all modules follow it. Each rule is one test, since a test for each file would
    cost more than the rule itself.
    """
    return {name: found for name in names if (found := look(name))}


@functools.cache
def imports(name: str) -> list[tuple[int, str]]:
    """Return the line and the absolute name of everything that a module imports: modules, and names in modules."""
    package = ["jitkit", *name.split(".")]
    if SOURCES[name].name != "__init__.py":
        package.pop()
    elif name == "__init__":
        package = ["jitkit"]
    found = []
    stub = ast.parse(STUBS[name].read_text(encoding="utf-8")) if name in STUBS else ast.Module([], [])
    for node in [*ast.walk(tree_of(name)), *ast.walk(stub)]:
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            found += [(node.lineno, f"{origin}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "import_room", "__import__", "find_spec"):
                target = str(node.args[0].value)
                found.append((node.lineno, ".".join(package) + target if target.startswith(".") else target))
    return found


@functools.cache
def own_imports(name: str) -> set[str]:
    """Return the modules of jitkit that a module imports, as keys of SOURCES."""
    found = set()
    for _, target in imports(name):
        if target.split(".")[0] != "jitkit":
            continue
        inside = target.split(".")[1:]
        while inside and ".".join(inside) not in SOURCES:
            inside.pop()  # the last part is a name in a module
        found.add(".".join(inside) or "__init__")
    return found - {name}


def test_every_module_has_a_room():
    """A module without one would be a module that may import anything; and the top is kept for what users import."""
    assert {name.split(".")[0] for name in SOURCES} <= set(POSITION)


def test_imports_point_down():
    """Whoever reads from the ground up has always read what a module stands on; and there is no cycle to be
    hidden. What must reach up is a slot that is filled from there.
    """

    def above(name):
        here = name.split(".")[0]
        rooms = {other: other.split(".")[0] for other in own_imports(name)}
        return [other for other, room in rooms.items() if room != here and POSITION[room] > POSITION[here]]

    assert found_in(SOURCES, above) == {}


def test_no_modules_import_each_other():
    """The same inside of packages, where the table says nothing."""
    graph = {name: own_imports(name) for name in SOURCES}
    assert list(graphlib.TopologicalSorter(graph).static_order())


def test_rooms_of_the_course_stand_on_floors():
    """The course is as large as the JIT. What its verbs share is below them, so that a verb is read without the others."""
    floor = {room: height for height, rooms in enumerate(FLOORS_OF_KATA) for room in rooms}

    def above(name):
        room = name.split(".")[1]
        others = {other.split(".")[1] for other in own_imports(name) if other.startswith("kata.")}
        return sorted(other for other in others - {room} if floor[other] >= floor[room])

    doors = {f"kata.{door}" for door in DOORS_OF_KATA}
    behind_doors = {name for name in SOURCES if name.startswith("kata.")} - doors
    assert {name.split(".")[1] for name in behind_doors} == set(floor)
    assert found_in(behind_doors, above) == {}
    assert found_in(behind_doors, lambda name: doors & own_imports(name)) == {}
    code = {door: [node for node in tree_of(door).body[1:] if not isinstance(node, ast.ImportFrom)] for door in doors}
    assert {ast.unparse(node).partition(" =")[0] for nodes in code.values() for node in nodes} == {"__all__"}


def test_the_guide_for_contributors_shows_the_floors():
    """The map at the door is the one that the test above keeps."""
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d \| (.*) \|$", guide, re.MULTILINE)
    assert [tuple(re.findall(r"(?:^| · )`(\w+)`", row)) for row in rows] == list(FLOORS_OF_KATA)


def test_imports_stand_at_module_top():
    """An import inside a function hides a cycle, and costs time in every call.

    What few programs need, and every start would pay for, comes by `importlib.import_module` with a literal name, which the
    rules about directions see; what mypy has to know of it stands at the top, under `if TYPE_CHECKING`.
    """

    def lines_inside(name):
        body = tree_of(name).body
        for_mypy = [node for node in body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
        at_top = {*body, *(each for node in for_mypy for each in node.body)}
        return [
            node.lineno
            for node in ast.walk(tree_of(name))
            if isinstance(node, (ast.Import, ast.ImportFrom)) and node not in at_top
        ]

    assert found_in(SOURCES, lines_inside) == {}


def test_only_the_runtime_imports_jax():
    """The point is to write what JAX does, and one gate can be read, guarded, and mended when jaxlib
    changes.
    """

    def of_jax(name):
        return [(line, target) for line, target in imports(name) if target.split(".")[0] in ("jax", "jaxlib")]

    behind_the_gate = [n for n in SOURCES if n not in GATES and not n.startswith("bench.")]  # bench measures beside JAX
    assert found_in(behind_the_gate, of_jax) == {}


def test_the_runtime_uses_jax_for_devices_and_buffers_only():
    """Never its jit, tracing, jax.numpy, jax.lax, trees or random: those are what jitkit is."""
    room = [name for name in SOURCES if name.split(".")[0] == "runtime"]
    modules = {target for name in room for _, target in imports(name) if target.split(".")[0] in ("jax", "jaxlib")}
    assert modules <= GATE_MODULES
    used = {
        node.attr
        for name in room
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "jax()"
    }
    assert used
    assert used <= GATE_NAMES


def test_the_reference_does_not_know_the_course():
    """The reference is the answer key: it must run, and be read, without what is built around it."""

    def of_the_course(name):
        above = [other for other in own_imports(name) if other.split(".")[0] in ("kata", "bench")]
        return above + [target for _, target in imports(name) if target.split(".")[0] in ("grading", "matplotlib")]

    assert found_in(REFERENCE, of_the_course) == {}


# Names that register a derivative: functions whose first argument is the primitive, or tables whose key it is.
REGISTRATIONS = {"defjvp", "defjvp_zero", "deflinear", "defbilinear", "primitive_jvps", "primitive_transposes"}
ELSEWHERE = {
    "lax.bessel": "lax.elementwise",  # the derivative of each Bessel function takes the series of the other
    "lax.joining": "lax.slicing",  # the transpose of a slice is a `pad`, and that of a `pad` a slice
}


def test_a_derivative_stands_beside_its_primitive():
    """Who looks for the derivative of what a module makes looks there, and then in the modules of its folder that are called after
    derivatives: nowhere else.
    """

    def registered(name):
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.Call) and node.args:
                called, primitive = node.func, node.args[0]
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                called, primitive = node.value, node.slice
            else:
                continue
            table = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if table in REGISTRATIONS and isinstance(primitive, ast.Name):
                yield primitive.id

    def strays(name):
        room, _, last = name.rpartition(".")
        origins = {target.rpartition(".")[2]: target.rpartition(".")[0] for _, target in imports(name)}
        made = {p: origins[p].removeprefix("jitkit.") for p in registered(name) if p in origins}
        is_for_derivatives = last == "derivatives" or last.endswith("_derivatives")
        return sorted(
            primitive
            for primitive, origin in made.items()
            if ELSEWHERE.get(name) != origin and not (is_for_derivatives and origin.rpartition(".")[0] == room)
        )

    assert sum(len(list(registered(name))) for name in MODULES) > 100
    assert found_in(MODULES, strays) == {}


# --- without jax --------------------------------------------------------------------------------------------

BLOCKER = """
import sys

class NoJax:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("jax", "jaxlib", "scipy", "matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r} (blocked by the test)", name=name)

sys.meta_path.insert(0, NoJax())
"""


def run_without_jax(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh Python in which jax and jaxlib cannot be imported."""
    text = BLOCKER + textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=ROOT, check=False)


def test_importing_jitkit_needs_no_jax():
    """The gate opens late, so that a reader's first look costs a tenth of a second."""
    done = run_without_jax("import jitkit, jitkit.numpy; print('imported', jitkit.__version__)")
    assert done.stdout.startswith("imported"), done.stderr


def test_the_stages_up_to_stablehlo_need_no_jax():
    """Tracing and lowering are plain Python: they can be read, run and taught without XLA."""
    done = run_without_jax("""
        import jitkit as jax
        import jitkit.numpy as jnp
        import numpy as np

        def selu(x, alpha=1.67, lmbda=1.05):
            return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

        x = jax.ShapeDtypeStruct((3,), np.float32)
        print(jax.make_jaxpr(selu)(x))
        print(jax.eval_shape(selu, x))
        print(jax.jit(selu).trace(x).lower().as_text())
        print(jax.jit(selu).trace(np.ones(3, np.float32)).jaxpr.eqns[0].primitive)
        """)
    assert not done.returncode, done.stderr
    assert "{ lambda ; a:f32[3]. let" in done.stdout
    assert "ShapeDtypeStruct(shape=(3,), dtype=float32)" in done.stdout
    assert "stablehlo.exponential" in done.stdout


def test_without_jax_the_gate_says_what_is_missing():
    """Whoever asks for an array without jaxlib learns the name of what to install."""
    done = run_without_jax("import jitkit.numpy as jnp; jnp.ones(3) + 1")
    assert done.returncode == 1
    assert re.search(r"ModuleNotFoundError: .*\bjax", done.stderr)


def test_importing_jitkit_does_not_import_jax_where_it_is_installed():
    """Half of the time until the first line of a script runs would go there."""
    program = "import sys, jitkit, jitkit.numpy; print({m.split('.')[0] for m in sys.modules} & {'jax', 'jaxlib'})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "set()"


def test_what_few_programs_need_is_not_imported_at_the_start():
    """Rooms that are imported when they are asked for are there all the same; and nothing large of Python's library comes along."""
    program = """
        import sys, jitkit
        late = {"random", "nn", "ops", "scipy", "flatten_util", "targets", "explorer", "derivatives",
                "custom_derivatives", "interpreters.ad",
                "lax.elementwise", "numpy.ufuncs", "numpy.array_methods",
                "debug", "test_util", "jaxpr.html", "interpreters.key_reuse"}
        late = {f"jitkit.{room}" for room in late}
        large = {"importlib.metadata", "logging", "json", "difflib", "hashlib", "email"}
        print(sorted(name for name in sys.modules if name.split(".")[0] in ("numpy", "ml_dtypes", "jaxlib")))
        jitkit.jit
        print(sorted((late | large) & set(sys.modules)), {"random", "nn", "flatten_util"} <= set(dir(jitkit)))
        from jitkit import nn
        print(jitkit.random.__name__, nn.__name__, jitkit.flatten_util.__name__)
        """
    done = run_without_jax(program)
    assert done.stdout.splitlines() == ["[]", "[] True", "jitkit.random jitkit.nn jitkit.flatten_util"], done.stderr


def test_a_first_call_imports_what_it_uses_and_no_more():
    """Who writes `x @ w + b` does not wait for the rooms of the other operators and methods; each is imported when it is asked for."""
    program = """
        import sys, jitkit, numpy as np
        x = jitkit.numpy.asarray(np.ones((3, 3), np.float32))
        others = {f"jitkit.numpy.{room}" for room in ("arithmetic", "indexing", "sorting", "statistics")}
        print(jitkit.jit(lambda x: x @ x + x)(x).shape, sorted(others & set(sys.modules)))
        print(x.mean(), (x % 2.0).shape, x[0].shape, x.sort().shape, sorted(others - set(sys.modules)))
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stdout.splitlines() == ["(3, 3) []", "1.0 (3, 3) (3,) (3, 3) []"], done.stderr


def test_a_package_has_the_names_of_its_stub():
    """It reads its stub line by line. And a module with the name of what its package hands on would take that one's place."""
    for name, path in STUBS.items():
        package = importlib.import_module(f"jitkit.{name}".removesuffix(".__init__"))
        lines = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
        names = {alias.asname for node in lines for alias in node.names}
        rooms = {alias.asname for node in lines for alias in node.names if not node.module}
        assert names <= set(dir(package))
        assert set(package.__all__) == {each for each in names if not each.startswith("_")}
        assert not [each for each in names if not hasattr(package, each)]
        beside = {each for each in names if ("" if name == "__init__" else f"{name}.") + each in SOURCES}
        assert beside == rooms, f"jitkit.{name}: each of these is a room, or is handed on"


def test_what_stands_above_comes_when_it_is_called_for_in_a_fresh_process():
    """Here, everything is imported: only a process that did nothing else shows what is missing."""
    program = "import jitkit.numpy as jnp; x = jnp.arange(3); print(int(x[1]), int(x[1:][0]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout.split() == ["1", "1"], done.stderr


def test_a_late_room_that_fails_raises_its_own_error(tmp_path, monkeypatch):
    """An AttributeError from within would be taken for a name that is missing; there it is an ImportError that says more."""
    package = tmp_path / "house_of_errors"
    package.mkdir()
    (package / "__init__.py").write_text("from jitkit.base import late_rooms\nlate_rooms.attach(__name__)\n")
    stub = "from . import attribute as attribute\nfrom .key import lost as lost\nfrom .sound import high as high\n"
    (package / "__init__.pyi").write_text(stub)
    (package / "attribute.py").write_text("import math\nmath.no_such_name\n")
    (package / "key.py").write_text("lost = {}['lost']\n")
    (package / "absent.py").write_text("import no_such_module_at_all\n")
    (package / "sound.py").write_text("high = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    house = importlib.import_module("house_of_errors")
    with pytest.raises(
        ImportError, match=r"attribute could not be imported: module 'math' has no attribute 'no_such_name'"
    ):
        hasattr(house, "attribute")
    with pytest.raises(KeyError, match="lost"):
        hasattr(house, "lost")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        hasattr(house, "absent")
    with pytest.raises(AttributeError, match="module 'house_of_errors' has no attribute 'nowhere'"):
        _ = house.nowhere
    assert (house.high, house.sound.high, {"attribute", "high", "lost"} - {*dir(house)}) == (1, 1, set())


def test_any_room_can_be_the_first_that_is_entered():
    """What a room needs of others comes with it, or through a slot: nothing relies on what was imported before by chance."""
    program = """
        import importlib, os, sys
        import jitkit, ml_dtypes, numpy
        for first in sys.argv[1:]:
            if not os.fork():
                importlib.import_module(first)
                x = jitkit.ShapeDtypeStruct((3,), "float32")
                text = jitkit.jit(lambda tree: jitkit.numpy.sin(tree["a"] * 2)).lower({"a": x}).as_text()
                if "stablehlo.sine" not in text:
                    print(first, text)
                os._exit(0)
            if os.wait()[1]:
                print(first)
        """
    rooms = sorted(
        {f"jitkit.{name.split('.')[0]}" for name in MODULES}
        | {f"jitkit.{name}" for name in ("lax.linalg", "numpy.fft")}
    )
    command = [sys.executable, "-c", textwrap.dedent(program), *rooms]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert (done.stdout, len(rooms) > 20) == ("", True), done.stderr


RULES_OF_A_PROCESS = """
import gc, importlib, os, pickle, sys
import jitkit
from jitkit.core import Primitive
from jitkit.interpreters import ad_linearize, ad_rules, batching, mlir, partial_eval
from jitkit.jaxpr import dce_rules, pp_eqn_rules

tables = {
    "lowering": mlir.lowering_rules, "batching": batching.primitive_batchers, "dce": dce_rules, "print": pp_eqn_rules,
    "staging": partial_eval.staging_rules, "jvp": ad_rules.primitive_jvps, "transpose": ad_rules.primitive_transposes,
    "linearize": ad_linearize.linearize_rules, "partial eval": ad_linearize.partial_eval_rules,
}

def rules_after(rooms):
    found = os.pipe()
    if not os.fork():
        for room in rooms:
            importlib.import_module(room)
        primitives = [each for each in gc.get_objects() if isinstance(each, Primitive)]
        rules = {
            each.name: {name for name, table in tables.items() if each in table}
            | {slot for slot in ("_shape_rule", "effects") if getattr(each, slot, None)}
            for each in primitives
        }
        os.write(found[1], pickle.dumps(rules))
        os._exit(0)
    os.close(found[1])
    with open(found[0], "rb") as file:
        return pickle.load(file)

rooms = sys.argv[1:]
every = rules_after(["jitkit.derivatives", *rooms])
for room in (each for each in rooms if each.split(".")[1] in ("lax", "random", "pjit", "debug")):
    for primitive, rules in rules_after(["jitkit.derivatives", room]).items():
        if every[primitive] - rules:
            print(room, "without", sorted(every[primitive] - rules), "of", primitive)
print(len(every), "primitives")
"""


def test_whoever_has_a_primitive_has_all_of_its_rules():
    """Rooms come when they are asked for, so what a rule is registered in must come with what it is registered for: with its
    module, with another one through a slot, or with `derivatives`.
    """
    rooms = [f"jitkit.{name}" for name, path in SOURCES.items() if name in MODULES]
    done = subprocess.run(
        [sys.executable, "-c", RULES_OF_A_PROCESS, *rooms], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert re.fullmatch(r"[12]\d\d primitives\n", done.stdout), done.stdout


# --- what modules say of themselves -------------------------------------------------------------------------


def test_every_module_says_in_its_first_line_what_it_is():
    """A reader who opens the folder chooses by these lines; and 25 lines are enough before the code."""

    def complaint(name):
        lines = (ast.get_docstring(tree_of(name)) or "").splitlines() or [""]
        return "does not say what it is" * (len(lines[0].split()) < 2) or "an essay" * (len(lines) > 28)

    assert found_in(SOURCES, complaint) == {}


MOST_LINES = 400


def test_no_module_is_longer_than_a_sitting():
    """Where a module grows beyond it, it has begun a second subject, or the first one has a part with a name: cut there."""
    modules = [path for folder in ("jitkit", "grading") for path in sorted((ROOT / folder).rglob("*.py"))]
    lines = {str(path.relative_to(ROOT)): path.read_bytes().count(b"\n") for path in modules}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_every_reason_for_a_skip_was_agreed_on():
    """Else the test fails, and only on the machine that lacks something."""
    listed = re.search(
        r"ACCEPTED_SKIPS = \((.*?)\n\)", (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"), re.DOTALL
    )
    accepted = tuple(ast.literal_eval(f"({listed[1]})"))
    pattern = re.compile(r"""(?:skip(?:if)?\([^\n]*reason=|pytest\.skip\()f?(["'])(.*?)\1""")
    found = {
        f"{path.name}: {reason}"
        for path in sorted((ROOT / "tests").glob("test_*.py"))
        for _, reason in pattern.findall(path.read_text(encoding="utf-8"))
        if not reason.startswith(accepted)
    }
    assert found == set()


def test_a_stage_begins_with_its_arrow():
    """The docs show these lines; they are kept here, and nowhere by hand."""
    assert {name: ast.get_docstring(tree_of(name)).split("\n")[0] for name in ARROWS} == ARROWS


def test_the_arrows_chain():
    """What a stage takes, the one before gives: that is what makes a pipeline of them."""
    (_, _), (_, traced), (takes, lowered), (takes_text, compiled), (key, found) = (
        a.split(" -> ") for a in ARROWS.values()
    )
    assert traced == takes
    assert lowered == takes_text
    assert compiled == found
    assert key in ARROWS["signature.api_util"]


def test_the_walk_through_the_code_shows_the_arrows():
    """One pipeline, told once."""
    walk = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
    assert all(arrow in walk for arrow in ARROWS.values())


@functools.cache
def defined_names(path: pathlib.Path) -> set[str]:
    """Return the names that a module defines at top level, under `if` and `try`, too, and `Class.method`."""
    found = set()
    bodies = [ast.parse(path.read_text(encoding="utf-8")).body]
    while bodies:
        for node in bodies.pop():
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.add(node.name)
                if isinstance(node, ast.ClassDef):
                    found |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
            elif isinstance(node, (ast.If, ast.Try)):
                bodies += [node.body, node.orelse]
    return found


def test_a_module_names_its_counterpart_in_jax():
    """A reader goes from ours to JAX's, and finds it there: in the oldest JAX that we support as in the
    newest. The last line of the docstring is such as `JAX: jax/_src/core.py:Primitive`.
    """
    (folder,) = importlib.util.find_spec("jax").submodule_search_locations

    def complaint(name):
        last = (ast.get_docstring(tree_of(name)) or "").splitlines()[-1]
        match = re.fullmatch(r"JAX: (jax/[\w/]+\.py):(\w+(?:\.\w+)?)", last)
        if not match:
            return f"the docstring ends with {last!r}"
        path = pathlib.Path(folder).parent / match[1]
        if not path.is_file():
            return f"the installed JAX does not have {match[1]}"
        return "" if match[2] in defined_names(path) else f"{match[1]} has no {match[2]}"

    assert found_in(MODULES, complaint) == {}


# --- what is not written here -------------------------------------------------------------------------------

SUPPRESSION = re.compile(r"#\s*(type:\s*ignore|noqa|pyright:|mypy:|ruff:|pylint:|pragma)", re.IGNORECASE)
NOTE_TO_SELF = re.compile(r"#\s*(TODO|FIXME|XXX|HACK)\b")


def test_nothing_is_suppressed_or_put_off():
    """A check that is switched off in one line is off for good; a note to oneself is an issue that nobody
    tracks.
    """
    found = {}
    for path in (path for folder in ("jitkit", "tests") for path in (ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if SUPPRESSION.search(text) or NOTE_TO_SELF.search(text):  # in a comment, or in a string such as this test's
            found |= {
                (str(path.relative_to(ROOT)), token.start[0]): token.string
                for token in tokenize.generate_tokens(io.StringIO(text).readline)
                if token.type == tokenize.COMMENT
                and (SUPPRESSION.match(token.string) or NOTE_TO_SELF.match(token.string))
            }
    assert found == {}


def test_every_assertion_says_what_we_believed():
    """An assertion that fails accuses us: it must say of what."""

    def silent(name):
        return [node.lineno for node in ast.walk(tree_of(name)) if isinstance(node, ast.Assert) and node.msg is None]

    assert found_in(SOURCES, silent) == {}


# Rooms of the course whose functions are called from threads.
WITH_THREADS = ("kata.engine", "kata.ladder", "kata.screens", "kata.verbs", "kata.workspace")
PARSES = ("kata.engine.names", "kata.engine.random_programs")


def test_where_threads_are_one_function_parses():
    """Python 3.11 raises a SystemError now and then when two threads parse at once."""

    def parses(name):
        return [
            node.lineno
            for node in ast.walk(tree_of(name))
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "ast.parse"
        ]

    course = [name for name in SOURCES if name.startswith(WITH_THREADS)]
    assert list(found_in(course, parses)) == [*PARSES]


def test_no_names_are_imported_wholesale():
    """With `import *` a reader cannot tell where a name comes from."""
    assert found_in(SOURCES, lambda name: [target for _, target in imports(name) if target.endswith(".*")]) == {}


def test_what_is_left_to_the_tail_exists():
    """A test that was renamed would have all of its rows again, and nobody would see it."""
    tests = pathlib.Path(__file__).parent
    texts = {file: (tests / file).read_text(encoding="utf-8") for file in {**tails.ONE_IN, **REST}}
    named = [(file, name) for table in (tails.ONE_IN, REST) for file, names in table.items() for name in names]
    assert [(file, name) for file, name in named if f"\ndef {name}(" not in texts[file]] == []
