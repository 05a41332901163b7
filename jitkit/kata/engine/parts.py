"""a reference function -> what it is built from: the names of jitkit that a stub imports, each with signature and first sentence

A learner needs to know what the helpers of an exercise take and return, and not where in jitkit they stand. So whatever the
stub of an exercise imports is a part that may be used, and so is what the reference's function asks of a module that it imports
(`config.value`). The texts are those of the functions themselves.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import itertools
import pathlib
import re
import typing
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from .manifest import Lab
from .own_names import source_path
from .reference import PACKAGE, ReferenceFunction, reference_function
from .splice import learners_decorate
from .submission import Function, Target, tree_of

_VOCABULARY = ("jitkit", "jitkit.numpy")  # which names of these to use is for the learner to find out
_WIDEST_VALUE = 60
_WIDEST_DEFAULT = 20
_WIDEST_SIGNATURE = 90


class Import(NamedTuple):
    """A name that a function uses of its module: what imports it outside."""

    name: str
    module: str
    attribute: str  # of the module; "" for the module itself

    @property
    def line(self) -> str:
        """The statement."""
        if not self.attribute:
            return f"import {self.module}{f' as {self.name}' if self.name != self.module.partition('.')[0] else ''}"
        alias = f" as {self.name}" if self.name != self.attribute else ""
        return f"from {self.module} import {self.attribute}{alias}"


class Part(NamedTuple):
    """Something of jitkit that an exercise may use.

    Attributes:
      name: as it is written in the stub's file: `check_arrays`, `config.value`.
      line: what imports it.
      signature: `(primitive, args)`; for what cannot be called, nothing.
      sentence: the first of its docstring.
      value: the thing itself.
    """

    name: str
    line: str
    signature: str
    sentence: str
    value: Any

    @property
    def docstring(self) -> str:
        """All that it says of itself."""
        return _own_docstring(self.value)


def parts_of(targets: Iterable[Target], own: Iterable[str] = ()) -> list[Part]:
    """The parts of some exercises' functions, by name. Those of the names `own`, which are exercises themselves, are left out."""
    left_out = {name.partition(".")[0] for name in own}
    found: dict[str, Part] = {}
    for target in targets:
        function = reference_function(target)
        for item in imports_of(function):
            if item.module.partition(".")[0] != "jitkit" or item.name in left_out:
                continue
            for part in _parts(item, function):
                found.setdefault(part.name, part)
    return [found[name] for name in sorted(found, key=lambda name: (name.strip("_").lower(), name))]


def _parts(item: Import, function: ReferenceFunction) -> Iterator[Part]:
    value: Any = importlib.import_module(item.module)
    if item.attribute:
        if not hasattr(value, item.attribute):
            importlib.import_module(f"{item.module}.{item.attribute}")
        value = getattr(value, item.attribute)
    if isinstance(value, typing.TypeVar):
        return
    if not isinstance(value, ModuleType) or value.__name__ in _VOCABULARY:
        yield part(item.name, item.line, value)
        return
    for chain in _chains(function.node, item.name):
        found: Any = value
        name = item.name
        for attribute in chain:
            if not hasattr(found, attribute):
                break
            name, found = f"{name}.{attribute}", getattr(found, attribute)
            if callable(found):
                break
        if not isinstance(found, ModuleType):
            yield part(name, item.line, found)


def _chains(function: Function, name: str) -> Iterator[list[str]]:
    """`["value"]` for `config.value(...)` in a function, where the name is `config`; each chain of attributes as far as it goes."""
    inner = {id(node.value) for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    for node in ast.walk(function):
        chain: list[str] = []
        if not isinstance(node, ast.Attribute) or id(node) in inner:
            continue
        at: ast.expr = node
        while isinstance(at, ast.Attribute):
            chain.insert(0, at.attr)
            at = at.value
        if isinstance(at, ast.Name) and at.id == name:
            yield chain


def part(name: str, line: str, value: Any) -> Part:
    """A part, with the words of its docstring; of a value, those of the comment beside it."""
    origin = line.split()[1] if line.startswith("from ") and "." not in name else ""
    sentence = _first_sentence(_own_docstring(value)) or (_comment_on(origin, name) if origin else "") or _what(value)
    return Part(name, line, signature_of(value), sentence, value)


def signature_of(value: Any, annotated: bool = True, returns: bool = True) -> str:
    """`(primitive, args) -> list[Any]`, with annotations as they are written, or without those of the parameters, or of the result;
    "" for what is not to be called."""
    if not callable(value) or _is_type_expression(value) or (inspect.isclass(value) and issubclass(value, enum.Enum)):
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = [
        p.replace(annotation=_written(p.annotation) if annotated else p.empty, default=_short(p.default))
        for p in signature.parameters.values()
    ]
    result = inspect.Signature.empty
    if returns and not inspect.isclass(value):
        result = _written(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=result))


def _written(annotation: Any) -> Any:
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def _short(default: Any) -> Any:
    """A default as it is printed: a function by its name, and what is long not at all."""
    if inspect.isfunction(default):
        return _Bare(default.__name__)
    return _Bare("...") if default is not inspect.Parameter.empty and len(repr(default)) > _WIDEST_DEFAULT else default


class _Bare:
    """What is printed as this text, without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _is_type_expression(value: Any) -> bool:
    """Whether it is a name for a type: `Shape`, for `tuple[int, ...]`."""
    return typing.get_origin(value) is not None or isinstance(value, typing.TypeVar)


def _own_docstring(value: Any) -> str:
    """What a module, a function or a class says of itself; of the only value of a private class, what that says."""
    if _is_type_expression(value):
        return ""
    if inspect.ismodule(value) or callable(value) or isinstance(value, property):
        text = inspect.getdoc(value) or ""
        # by NamedTuple, where nobody says more
        is_made = inspect.isclass(value) and text.startswith(f"{value.__name__}(")
        return "" if is_made else text
    kind = type(value)
    return inspect.cleandoc(kind.__dict__.get("__doc__") or "") if kind.__name__.startswith("_") else ""


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s+(?=[A-Z`])", " ".join(text.split("\n\n", maxsplit=1)[0].split()), maxsplit=1)[0]


def _what(value: Any) -> str:
    """A value in short: `An int: 64`."""
    if _is_type_expression(value):
        return f"The type `{re.sub(r'([a-z_]+[.])+(?=[A-Z])', '', str(value))}`."
    if callable(value):
        return f"That of `{value.__module__}`." if value.__module__ else ""
    if value is None:
        return "`None`."
    text, kind = repr(value), type(value).__name__
    article = "An" if kind[:1].lower() in "aeiou" else "A"
    is_told = len(text) <= _WIDEST_VALUE and " at 0x" not in text and not isinstance(value, dict | list | set)
    return f"{article} `{kind}`{f': `{text}`' if is_told else ''}."


def _comment_on(module: str, name: str) -> str:
    """What the comment beside an assignment says, or the one before it."""
    lines = pathlib.Path(source_path(module, str(PACKAGE))).read_text(encoding="utf-8").splitlines()
    place = next((i for i, line in enumerate(lines) if re.match(rf"{re.escape(name)}\b.*=", line)), None)
    if place is None:
        return ""
    _, mark, beside = lines[place].partition("  # ")
    if mark:
        return beside[:1].upper() + beside[1:]
    before = itertools.takewhile(lambda line: line.startswith("# "), reversed(lines[:place]))
    return _first_sentence(" ".join(line[2:] for line in reversed(list(before))))


def parts_named(name: str, labs: Iterable[Lab]) -> list[Part]:
    """What a name means that a stub imports, in any lab, or that is an exercise's: one part for each thing of this name. With
    the name of a class before it, what its instances can be asked."""
    labs = list(labs)
    of_labs = [[target for exercise in lab.exercises for target in exercise.targets] for lab in labs]
    targets = [target for group in of_labs for target in group]
    found = [item for group in of_labs for item in parts_of(group) if name in (item.name, item.name.rpartition(".")[2])]
    found += [
        part(target.name, f"from {target.module} import {target.path[0]}", _at(target))
        for target in targets
        if name in (target.name, target.path[-1])
    ]
    if not found:
        room, _, last = name.rpartition(".")
        owners = parts_named(room, labs) if room else []
        found = [
            method._replace(name=f"{owner.name}.{method.name}", line=owner.line)
            for owner in owners
            for method in methods_of(owner.value)
            if method.name == last
        ]
    return list({id(item.value): item for item in found}.values())


def names_of_parts(labs: Iterable[Lab]) -> list[str]:
    """All names that `parts_named` knows."""
    targets = [target for lab in labs for exercise in lab.exercises for target in exercise.targets]
    return [item.name for item in parts_of(targets)] + [target.name for target in targets]


def _at(target: Target) -> Any:
    value: Any = importlib.import_module(target.module)
    for name in target.path:
        value = getattr(value, name)
    return value


def methods_of(value: Any) -> list[Part]:
    """What can be asked of the instances of a class of jitkit: methods and attributes that have a docstring."""
    if not inspect.isclass(value):
        return []
    found = []
    for name, method in sorted(vars(value).items()):
        method = getattr(method, "__func__", method)
        if not name.startswith("_") and (callable(method) or isinstance(method, property)) and _own_docstring(method):
            found.append(part(name, "", method)._replace(signature=_without_self(method)))
    return found


def _without_self(method: Any) -> str:
    return re.sub(r"^\((self|cls)(, )?", "(", signature_of(method))


def table_of(parts: Sequence[Part]) -> str:
    """The parts as a table in Markdown. `int | None` is `int or None` there: a bar in code ends a cell, or has a backslash before it,
    which not every reader of Markdown takes away."""
    rows = []
    for item in parts:
        signatures = [item.signature, signature_of(item.value, annotated=False)]
        shortest = signature_of(item.value, annotated=False, returns=False)
        signature = next((s for s in signatures if len(s) <= _WIDEST_SIGNATURE), shortest)
        code = f"{item.name}{signature}".replace(" | ", " or ").replace("|", "\\|")
        rows.append(f"| `{code}` | {item.sentence.replace('|', chr(92) + '|')} |")
    return "\n".join(["| | |", "|---|---|", *rows])


# --- what a function imports ------------------------------------------------------------------------------------


def imports_of(function: ReferenceFunction) -> Iterator[Import]:
    """Each name that a function uses of its module, and where it is from."""
    module = function.target.module
    tree = tree_of(function.module_source)
    decorators = function.node.decorator_list if learners_decorate(tree) else []
    used = _names_used(function.node, decorators) - {function.target.path[0], "_"}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                if name in used:
                    yield Import(name, alias.name, "")
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                if name in used:
                    yield Import(name, _by_the_door(_absolute(module, node), alias.name), alias.name)
        else:
            for name in used.intersection(_defined(node)):
                yield Import(name, _by_the_door(module, name), name)


def _by_the_door(module: str, name: str) -> str:
    """`jitkit.core` for `jitkit.core.tracer` and `Tracer`: the room, where it hands the name on."""
    room, _, inside = module.rpartition(".")
    if room.count(".") != 1:
        return module
    folder = _folder(room)
    doors = [folder / f"__init__.{kind}" for kind in ("pyi", "py")]  # the stub, where there is one
    text = next(door for door in doors if door.exists()).read_text(encoding="utf-8")
    if f"from .{inside} import {name} as {name}\n" in text:
        return room
    return module


def _absolute(module: str, node: ast.ImportFrom) -> str:
    """`jitkit.core` for `from .core import ...` in `jitkit.jaxpr`."""
    if node.level == 0:
        return node.module or ""
    package = module.split(".") if _folder(module).is_dir() else module.split(".")[:-1]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def _folder(module: str) -> pathlib.Path:
    return PACKAGE.parent.joinpath(*module.split("."))


def _names_used(function: Function, decorators: Sequence[ast.expr]) -> set[str]:
    """The names that the text of a function has in it, but for its parameters; of its decorators those that learners write."""
    parts = [*decorators, function.args, *([function.returns] if function.returns else []), *function.body]
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
