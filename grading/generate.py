"""labs/*/lab.toml + the reference -> exercises.py, lab.ipynb, solutions/*.py

Nothing that a learner sees of an exercise is written by hand twice: signature and docstring are the reference's, the words
are the manifest's. The files are committed, and `python -m grading generate --check` says whether they are fresh.
"""

from __future__ import annotations

import ast
import pathlib
import textwrap
from collections.abc import Iterator, Sequence

from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.reference import ReferenceFunction, reference_function
from jitkit.kata.engine.submission import Function, tree_of
from jitkit.kata.mutants import in_its_class

from .notebooks import lab_notebook

ROOT = pathlib.Path(__file__).resolve().parents[1]
_WIDTH = 110


class GenerateError(Exception):
    """Two files that are to be one cannot be: which name means two things."""


def generated_files(lab: Lab, root: pathlib.Path = ROOT) -> dict[pathlib.Path, str]:
    """The path and the text of each file that is made from a lab of a clone."""
    return {
        lab.folder / "exercises.py": exercises_text(lab),
        lab.folder / "lab.ipynb": lab_notebook(lab, imports_of_lab(lab), stubs_by_exercise(lab)),
        root / "solutions" / f"{lab.name}.py": solutions_text(lab),
    }


def stale_files(lab: Lab, root: pathlib.Path = ROOT) -> dict[pathlib.Path, str]:
    """Those that are not as they would be written now."""
    files = generated_files(lab, root).items()
    return {p: text for p, text in files if not p.is_file() or p.read_text(encoding="utf-8") != text}


def write_generated(lab: Lab, root: pathlib.Path = ROOT) -> list[pathlib.Path]:
    """Write those; returns their paths."""
    stale = stale_files(lab, root)
    for path, text in stale.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(stale)


def exercises_text(lab: Lab) -> str:
    """`exercises.py`: for each function its signature, its docstring and `raise NotImplementedError`."""
    doc = (
        f"{lab.number} {lab.title}: the exercises. README.md beside this file tells what they are about.\n\n"
        f"Write the functions. `jitkit` checks each one when you save; `jitkit hint {lab.ids[0]}` helps, one step further each\n"
        "time. You may add helpers and imports: functions, classes, constants. Other statements at the top are not run. The\n"
        "parameters stay as they are: other code calls these functions. A class has only those methods that are yours to write;\n"
        "the others are the reference's.\n"
    )
    parts = [f'"""{doc}"""', "from __future__ import annotations", imports_of_lab(lab)]
    for exercise in lab.exercises:
        points = "1 point" if exercise.points == 1 else f"{exercise.points} points"
        comment = [_rule(f"{exercise.id} {exercise.title} ({points})"), *_comment(exercise.task)]
        parts.append("\n".join(comment))
        parts += _stubs(exercise)
    return _joined(parts)


def stubs_by_exercise(lab: Lab) -> dict[str, str]:
    """The stubs of each exercise, as a cell of a notebook."""
    return {exercise.id: "\n\n\n".join(_stubs(exercise)) for exercise in lab.exercises}


def _stubs(exercise: Exercise) -> list[str]:
    return by_class([_stub(reference_function(target), exercise) for target in exercise.targets])


def solutions_text(lab: Lab) -> str:
    """`solutions/NN_name.py`: the reference's functions, with why they are so, the usual mistakes, and JAX's place."""
    parts = [
        f'"""{lab.number} {lab.title}: the solutions, as the reference has them, and why."""',
        "from __future__ import annotations",
        imports_of_lab(lab),
    ]
    for exercise in lab.exercises:
        lines = [_rule(f"{exercise.id} {exercise.title}"), *_comment(exercise.why), "#", "# Usual mistakes:"]
        for mistake in exercise.mistakes:
            lines += _comment(mistake, "#   - ", "#     ")
        lines += ["#", f"# In JAX: {exercise.jax}"]
        parts.append("\n".join(lines))
        parts += by_class([in_its_class(t, reference_function(t).source) for t in exercise.targets])
    return _joined(parts)


def by_class(functions: Sequence[str]) -> list[str]:
    """The texts of functions, with methods of one class that follow each other under one `class` line."""
    parts: list[str] = []
    for text in functions:
        head, _, body = text.partition("\n")
        if parts and head.startswith("class ") and parts[-1].startswith(f"{head}\n"):
            parts[-1] += f"\n\n{body}"
        else:
            parts.append(text)
    return parts


def _stub(function: ReferenceFunction, exercise: Exercise) -> str:
    """A function without its body."""
    doc = function.node.body[0] if function.docstring else None
    lines = function.module_source.splitlines()
    text = textwrap.dedent("\n".join(lines[function.node.lineno - 1 : function.node.body[0].lineno - 1]))
    if doc is not None:
        end = doc.end_lineno or doc.lineno
        text = textwrap.dedent("\n".join(lines[function.node.lineno - 1 : end]))
    return in_its_class(function.target, f'{text}\n    raise NotImplementedError("{exercise.id}")')


def imports_of_lab(lab: Lab) -> str:
    """The imports that the functions of a lab need, as a file outside of jitkit writes them."""
    source: dict[str, str] = {}
    for exercise in lab.exercises:
        for target in exercise.targets:
            function = reference_function(target)
            for name, line in _imports_of(function):
                if source.setdefault(name, line) != line:
                    raise GenerateError(f"{lab.name}: `{name}` is {source[name]!r} and {line!r}")
    plain = sorted(line for line in set(source.values()) if line.startswith("import "))
    froms: dict[str, set[str]] = {}
    for line in set(source.values()):
        if line.startswith("from "):
            module, _, name = line.removeprefix("from ").partition(" import ")
            froms.setdefault(module, set()).add(name)
    own = [
        f"from {m} import {', '.join(sorted(names))}"
        for m, names in sorted(froms.items())
        if m.startswith("jitkit")
    ]
    other = [
        f"from {m} import {', '.join(sorted(names))}"
        for m, names in sorted(froms.items())
        if not m.startswith("jitkit")
    ]
    return "\n\n".join("\n".join(block) for block in ([*plain, *other], own) if block)


def _imports_of(function: ReferenceFunction) -> Iterator[tuple[str, str]]:
    """Each name that a function uses of its module, and the import that gives it outside."""
    module = function.target.module
    tree = tree_of(function.module_source)
    used = _names_used(function.node) - {function.target.path[0], "_"}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                if name in used:
                    yield name, f"import {alias.name}{f' as {alias.asname}' if alias.asname else ''}"
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                if name in used:
                    origin = _by_the_door(_absolute(module, node), alias.name)
                    yield (
                        name,
                        f"from {origin} import {alias.name}{f' as {alias.asname}' if alias.asname else ''}",
                    )
        else:
            for name in used.intersection(_defined(node)):
                yield name, f"from {_by_the_door(module, name)} import {name}"


def _by_the_door(module: str, name: str) -> str:
    """`jitkit.core` for `jitkit.core.tracer` and `Tracer`: the room, where it hands the name on."""
    room, _, inside = module.rpartition(".")
    if room.count(".") != 1:
        return module
    doors = [ROOT.joinpath(*room.split("."), f"__init__.{kind}") for kind in ("pyi", "py")]  # the stub, where there is one
    text = next(door for door in doors if door.exists()).read_text(encoding="utf-8")
    if f"from .{inside} import {name} as {name}\n" in text:
        return room
    return module


def _absolute(module: str, node: ast.ImportFrom) -> str:
    """`jitkit.core` for `from .core import ...` in `jitkit.jaxpr`."""
    if node.level == 0:
        return node.module or ""
    path = ROOT.joinpath(*module.split("."))
    package = module.split(".") if path.is_dir() else module.split(".")[:-1]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def _names_used(function: Function) -> set[str]:
    """The names that the text of a function has in it, but for its parameters and its decorators, which it comes without."""
    parts = [function.args, *([function.returns] if function.returns else []), *function.body]
    nodes = [node for part in parts for node in ast.walk(part)]
    parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    return {node.id for node in nodes if isinstance(node, ast.Name)} - parameters


def _defined(node: ast.AST) -> Iterator[str]:
    """The names that a statement of a module gives values to; those in comprehensions and lambdas are their own."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            yield node.id
    elif not isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _defined(child)


# --- text -----------------------------------------------------------------------------------------------------


def _rule(title: str) -> str:
    return f"# --- {title} ".ljust(_WIDTH, "-")


def _comment(text: str, first: str = "# ", rest: str = "# ") -> list[str]:
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        lines += ["#"] if lines else []
        lines += textwrap.wrap(
            " ".join(paragraph.split()),
            _WIDTH,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
        )
    return lines


def _joined(parts: Sequence[str]) -> str:
    """The parts of a module, with the empty lines that are usual between them."""
    head, code = parts[:3], parts[3:]
    text = "\n\n".join(part for part in head if part)
    return text + "\n\n\n" + "\n\n\n".join(code).replace("-\n\n\nclass", "-\n\nclass") + "\n"
