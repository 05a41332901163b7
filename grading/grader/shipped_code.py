"""an exercise -> what a worker receives: jitkit's code without the exercise's functions, and the checks, one by one

The code of jitkit comes in two parts. `base` has the modules without exercises; the zygote has them. All other modules
are sent to each worker with its task. Among them, the module of the graded exercise has the student's functions in it
(`intake` has spliced it). Or the zygote has imported all modules with holes (`holes`), and a worker receives the code that
fills them. In both ways, no process that runs a student's code contains the reference's function.

A check is sent alone, without its sentence, its misconceptions and the words that a message must have (`parts`): only the
judge needs these. Line numbers stay, since some checks are about lines. A worker that runs the reference gets the words, too.
"""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import importlib.machinery
import marshal
import pathlib
import threading
from collections.abc import Collection, Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from jitkit.kata.engine.checking import Check, load_checks
from jitkit.kata.engine.exchange import LATE
from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.name_origins import source_path
from jitkit.kata.engine.names import names_bound, tree_of
from jitkit.kata.engine.reference import PACKAGE
from jitkit.kata.engine.reference_code import files_of_reference
from jitkit.kata.engine.submission import Target
from jitkit.kata.ladder.rungs import given_files

from . import holes
from .inside import PLAIN

Modules = dict[str, tuple[str, bool, CodeType]]  # name -> file, whether it is a package, code

CHECKS_PATH = "/checks.py"
ENTRY = "the_program_of_the_check"
_DECORATORS = ("check", "program")  # the decorators of labs, and of the ladder
_OF_THE_COURSE = (  # files of the course that only grading ships, in addition to `files_of_reference`
    "kata/engine/run_stablehlo.py",
    "kata/subjects/__init__.py",
    "kata/subjects/c_by_hand.py",
    "kata/subjects/run_c.py",
)


class ShippedCode:
    """The code of jitkit, divided into what every worker has and what depends on the exercise, for the exercises of some labs."""

    def __init__(self, labs: Sequence[Lab]) -> None:
        targets = dict.fromkeys(t for lab in labs for e in lab.exercises for t in e.targets)
        self.taken = frozenset(t.module for t in targets)
        self.modules = dict(_modules(self.taken))
        self.base = {name: module for name, module in self.modules.items() if name not in self.taken}
        self.codes = holes.reference_codes(self.modules, targets)
        engine = PACKAGE / "kata" / "engine"
        # modules for a package from scratch: the helpers of its programs, and the given machines
        self.ladder: Modules = {
            name: _module_alone(path)
            for name, path in (
                ("climbing", engine / "climbing.py"),
                ("behind", engine / "behind.py"),
                ("drawing", engine / "drawing.py"),
                (PLAIN, engine / "plain.py"),
                *((path.stem, path) for path in given_files()),
            )
        }
        self.kept: frozenset[str] | None = (
            None  # the functions that are called while jitkit is imported, once they are known
        )
        self.lock = threading.Lock()
        self._marshalled = {str(t): marshal.dumps(code) for t, code in self.codes.items()}

    def rest(self, spliced: Modules, exercise: Exercise | None) -> Modules:
        """Return the modules that are sent in addition to `base`: `spliced`, and the reference's modules with functions of
        exercises. Left out are the modules of `exercise`, and those of the course (`LATE`), which contain other answers.
        """
        own = {t.module for t in exercise.targets} if exercise is not None else set()
        rest = {name: self.modules[name] for name in self.taken if name not in own and not name.startswith(LATE)}
        return rest | spliced

    def with_holes(self, kept: Collection[str], how: str = holes.EMPTY) -> Modules:
        """Return all modules, to be imported at once. Each function that an exercise asks for is a hole of the kind `how`
        (`holes.with_holes`), except the functions in `kept`.
        """
        by_module: dict[str, dict[Target, str]] = {}
        for target in self.codes:
            if str(target) not in kept:
                by_module.setdefault(target.module, {})[target] = how
        found = {name: m for name, m in self.modules.items() if not (name in self.taken and name.startswith(LATE))}
        for name, targets in by_module.items():
            path, is_package, _ = found[name]
            source = pathlib.Path(source_path(name, str(PACKAGE))).read_text(encoding="utf-8")
            found[name] = path, is_package, holes.with_holes(source, path, targets)
        return found

    def fills(self, exercise: Exercise | None, kept: Collection[str]) -> list[tuple[str, bytes]]:
        """Return the reference's code for all holes (functions that were imported without a body), except those of
        `exercise`, if it is not None. Functions in `kept` have a body and need no code.
        """
        own = {str(t) for t in exercise.targets} if exercise is not None else set()
        return [(t, code) for t, code in self._marshalled.items() if t not in own and t not in kept]


def _module_alone(path: pathlib.Path) -> tuple[str, bool, CodeType]:
    place = f"/{path.name}"
    return place, False, compile(path.read_text(encoding="utf-8"), place, "exec", dont_inherit=True)


def neutral_path(module: str, is_package: bool) -> str:
    """Return a path for a module that does not show in which folder of this machine it is."""
    path = "/" + module.replace(".", "/")
    return f"{path}/__init__.py" if is_package else f"{path}.py"


def _modules(taken: frozenset[str]) -> Iterator[tuple[str, tuple[str, bool, CodeType]]]:
    for path in _files(taken):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        code = importlib.machinery.SourceFileLoader(name, str(path)).get_code(name)
        assert code is not None, f"{path} has source"
        neutral = neutral_path(name, is_package)
        yield name, (neutral, is_package, _renamed(code, neutral))


def _files(taken: frozenset[str]) -> Iterator[pathlib.Path]:
    yield from files_of_reference(PACKAGE)
    for name in _OF_THE_COURSE:
        yield PACKAGE / name
    for module in sorted(taken):
        if module.startswith("jitkit.kata."):
            yield PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")


def _renamed(code: CodeType, path: str) -> CodeType:
    consts = tuple(_renamed(c, path) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=path, co_consts=consts)


# --- checks -----------------------------------------------------------------------------------------------------------


class CheckFile(NamedTuple):
    """A file of checks: a lab's, or the hidden ones."""

    source: str
    checks: tuple[Check, ...]
    prefix: str = ""  # what a check's name has before the name of its function

    @classmethod
    def read(cls, path: pathlib.Path) -> CheckFile:
        """Return the checks in a file; none if it does not exist."""
        if not path.is_file():
            return cls("", ())
        source = path.read_text(encoding="utf-8")
        return cls(source, load_checks(source, str(path)))

    def of(self, exercise: str) -> list[Check]:
        """Return the checks of an exercise, in order."""
        return [c for c in self.checks if c.exercise == exercise]

    def version(self, check: Check) -> str:
        """Return a hash of a check: its program with everything that it uses, its name, its tolerance, and whether it is hidden."""
        tree = reduced(self.source, check.name.removeprefix(self.prefix), strip=False)
        text = f"{ast.dump(tree)} {check.name} {check.tolerance} {check.hidden}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def request(self, check: Check, seed: int, strip: bool = True, programs: bytes = b"") -> bytes:
        """Return what a worker receives for one check, marshalled. With `strip`, leave out the words that error
        messages must contain. `programs` are the random programs of the check, from `drawn_programs`.
        """
        return _request(self.source, check.name.removeprefix(self.prefix), strip, seed, check.name, programs)


@functools.lru_cache(maxsize=4096)
def _request(source: str, function: str, strip: bool, seed: int, name: str, programs: bytes) -> bytes:
    request = {
        "code": compile(reduced(source, function, strip), CHECKS_PATH, "exec"),
        "name": ENTRY,
        "path": CHECKS_PATH,
        "state": generator_state(seed, name),
        "programs": programs,
    }
    return marshal.dumps(request)


def generator_state(seed: int, name: str) -> dict[str, Any]:
    """Return the state of a check's random generator. A submission can read it.

    The seed is hashed with the check's name, since numpy's own mixing of seeds can be undone: a submission that knew the seed
    would know the inputs of all checks.
    """
    mixed = hashlib.sha256(f"{seed} {name}".encode()).digest()
    state = dict(np.random.default_rng(int.from_bytes(mixed, "big")).bit_generator.state)
    return {k: dict(v) if isinstance(v, dict) else v for k, v in state.items()}


class _Part(NamedTuple):
    """A statement of a file of checks, whether it is a check, and the names that it binds, reads and calls."""

    node: ast.stmt
    is_check: bool
    binds: frozenset[str]
    uses: frozenset[str]
    calls: frozenset[str]


@functools.lru_cache(maxsize=64)
def _parts(source: str, strip: bool) -> tuple[_Part, ...]:
    """Return the statements of a file of checks, with the words that messages must have, or (`strip`) without. The nodes
    are shared: copy one before changing it. Docstrings are left out.
    """
    tree = tree_of(source)
    if strip:
        tree = _Stripper().visit(tree)
    found = []
    for node in tree.body:
        if not _is_docstring(node):
            calls = (c.func for c in ast.walk(node) if isinstance(c, ast.Call))
            called = frozenset(f.id for f in calls if isinstance(f, ast.Name))
            found.append(_Part(node, _is_check(node), frozenset(names_bound(node)), frozenset(_uses(node)), called))
    return tuple(found)


def reduced(source: str, name: str, strip: bool) -> ast.Module:
    """Return a file of checks with one check, called `ENTRY`, and the statements that it uses. With `strip`, the words that a
    message must have are left out.
    """
    parts = _parts(source, strip)
    wanted, called, chosen = {name}, {name}, set[int]()
    grew = True
    while grew:
        grew = False
        for i, part in enumerate(parts):
            # a variable may have another check's name
            if i not in chosen and part.binds & (called if part.is_check else wanted):
                chosen.add(i)
                wanted |= part.uses
                called |= part.calls
                grew = True
    kept = [_as_entry(parts[i].node, name) for i in sorted(chosen) if not _is_only_a_type(parts[i].node)]
    future = [part.node for part in parts if _is_future(part.node)]
    return ast.Module(future + [n for n in kept if not _is_future(n)], [])


def _as_entry(node: ast.stmt, name: str) -> ast.stmt:
    """Return a check without the decorator that makes it one; the check `name` is renamed to `ENTRY`. Return any other statement
    unchanged.
    """
    if not isinstance(node, ast.FunctionDef) or not _is_check(node):
        return node
    entry = copy.copy(node)
    entry.name = ENTRY if node.name == name else node.name
    entry.decorator_list = [d for d in node.decorator_list if not _is_mark(d)]
    return entry


class _Stripper(ast.NodeTransformer):
    """Removes the words that error messages must have (`parts`)."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return `raised(f, x, parts=[...])` without `parts`, the words that the error must have."""
        self.generic_visit(node)
        if getattr(node.func, "id", "") == "raised":
            node.keywords = [k for k in node.keywords if k.arg != "parts"]
        return node


def _uses(node: ast.stmt) -> set[str]:
    """Return the names that a statement uses, except those in the decorator of a check, which is not sent."""
    marks = {n for d in getattr(node, "decorator_list", []) if _is_mark(d) for n in ast.walk(d)}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n not in marks}


def _is_check(node: ast.stmt) -> bool:
    return any(map(_is_mark, getattr(node, "decorator_list", [])))


def _is_mark(decorator: ast.expr) -> bool:
    """Return whether a decorator is `check` or `program`, which make a function a check."""
    return isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") in _DECORATORS


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_only_a_type(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign) and node.value is None
