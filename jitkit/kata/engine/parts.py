"""a reference function -> its parts: the names of jitkit that a stub imports, each with its signature and first
sentence

A learner needs to know what an exercise's helpers take and return, not where they are in jitkit. So the parts are the
names that the stub imports, the names that the reference's function takes from a module (`config.value`), and the
methods of `self` that it calls (`BatchTrace.wrap`). Their texts are the docstrings.
"""

from __future__ import annotations

import ast
import copy
import enum
import functools
import importlib
import inspect
import itertools
import pathlib
import re
import typing
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from .manifest import Lab
from .members import Member, member, members_of
from .name_origins import source_path
from .names import Function, globals_used, names_bound
from .reference import PACKAGE, ReferenceFunction, reference_function
from .splice import learners_decorate
from .submission import Target

_VOCABULARY = ("jitkit", "jitkit.numpy")  # each is one part: the learner should find out which of its names to use
_WIDEST_VALUE, _WIDEST_DEFAULT = 60, 20


class Import(NamedTuple):
    """A name that a function takes from its module, and the import statement that gives other files the same name."""

    name: str
    module: str
    attribute: str  # the name in the module; "" for the module itself

    @property
    def line(self) -> str:
        """The import as a statement."""
        if not self.attribute:
            return f"import {self.module}{f' as {self.name}' if self.name != self.module.partition('.')[0] else ''}"
        alias = f" as {self.name}" if self.name != self.attribute else ""
        return f"from {self.module} import {self.attribute}{alias}"


class Part(NamedTuple):
    """A helper that an exercise may use.

    Attributes:
      name: the name as the stub's file writes it: `check_arrays`, `config.value`.
      line: the import of the name.
      signature: `(primitive, args)`; `: type` for a value of an instance; else empty.
      sentence: the first sentence of its docstring.
      value: the object itself; None for a value of an instance.
      labs: the numbers of the labs whose exercises use it, if that was asked for.
    """

    name: str
    line: str
    signature: str
    sentence: str
    value: Any
    labs: tuple[str, ...] = ()

    @property
    def docstring(self) -> str:
        """Its whole docstring."""
        return _own_docstring(self.value)


def parts_of(targets: Iterable[Target], own: Iterable[str] = ()) -> list[Part]:
    """Return the parts of some exercises' functions, sorted by name, without the names `own`, which are exercises themselves."""
    own = frozenset(own)
    left_out = {name.partition(".")[0] for name in own}
    found: dict[str, Part] = {}
    for target in targets:
        function = reference_function(target)
        for item in imports_of(function):
            if item.module.partition(".")[0] != "jitkit" or item.name in left_out:
                continue
            for part in _parts(item, function):
                found.setdefault(part.name, part)
        for part in _asked_of_instances(function, own):
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


def _asked_of_instances(function: ReferenceFunction, own: frozenset[str]) -> Iterator[Part]:
    """Yield a part for each method or value that a function reads from `self`, or from another variable whose class is
    known.
    """
    for name, cls in _instances(function):
        for chain in _chains(function.node, name):
            found = member(cls, chain[0]) if f"{cls.__name__}.{chain[0]}" not in own else None
            if found is not None:
                yield _part_of_member(cls, found)


def _instances(function: ReferenceFunction) -> Iterator[tuple[str, type]]:
    """Yield each variable of a function whose class is known to be one of jitkit's, with that class."""
    module, parameters = importlib.import_module(function.target.module), function.node.args.args
    cls = _class_of(function.target)
    if cls is not None and parameters:
        yield parameters[0].arg, cls
    for parameter in parameters:
        kind = vars(module).get(parameter.annotation.id) if isinstance(parameter.annotation, ast.Name) else None
        if inspect.isclass(kind) and kind.__module__ == module.__name__:
            yield parameter.arg, kind
    for node in ast.walk(function.node):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
            kind = vars(module).get(node.value.func.id)
            if inspect.isclass(kind) and kind.__module__.partition(".")[0] == "jitkit":
                yield from ((target.id, kind) for target in node.targets if isinstance(target, ast.Name))


def _class_of(target: Target) -> Any:
    return getattr(importlib.import_module(target.module), target.path[0]) if len(target.path) > 1 else None


def _part_of_member(cls: type, found: Member) -> Part:
    name, line = f"{cls.__name__}.{found.name}", f"from {cls.__module__} import {cls.__name__}"
    if found.is_value:
        told = f"{found.told[:1].upper()}{found.told[1:].rstrip('.')}." if found.told else ""
        return Part(name, line, f": {found.value}" if found.value else "", told, None)
    return part(name, line, found.value)._replace(signature=_without_self(found.value))


def _chains(function: Function, name: str) -> Iterator[list[str]]:
    """Yield the chains of attributes of a name in a function: `["value"]` for `config.value(...)`, if the name is `config`."""
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
    """Return a part. Its sentence is the first one of the docstring, else the comment at the assignment, else its type and value."""
    origin = line.split()[1] if line.startswith("from ") and "." not in name else ""
    sentence = _first_sentence(_own_docstring(value)) or (_comment_on(origin, name) if origin else "") or _what(value)
    return Part(name, line, signature_of(value), sentence, value)


def signature_of(value: Any, annotated: bool = True, returns: bool = True) -> str:
    """Return `(primitive, args) -> list[Any]`; "" if the value cannot be called. Without `annotated`, leave out the parameters'
    annotations; without `returns`, leave out the result's annotation.
    """
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
    """Return what stands for a default value: a function's name, `...` for a long value, else the value."""
    if inspect.isfunction(default):
        return _Bare(default.__name__)
    return _Bare("...") if default is not inspect.Parameter.empty and len(repr(default)) > _WIDEST_DEFAULT else default


class _Bare:
    """An object whose `repr` is `text`, without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _is_type_expression(value: Any) -> bool:
    """Return whether a value is a name for a type, as `Shape` is for `tuple[int, ...]`."""
    return typing.get_origin(value) is not None or isinstance(value, typing.TypeVar)


def _own_docstring(value: Any) -> str:
    """Return the docstring of a module, function or class; for an instance of a private class, the class's; else ""."""
    if _is_type_expression(value):
        return ""
    if inspect.ismodule(value) or callable(value) or isinstance(value, property):
        text = inspect.getdoc(value) or ""
        # the docstring that NamedTuple generates, which says nothing
        is_made = inspect.isclass(value) and text.startswith(f"{value.__name__}(")
        return "" if is_made else text
    kind = type(value)
    return inspect.cleandoc(kind.__dict__.get("__doc__") or "") if kind.__name__.startswith("_") else ""


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s+(?=[A-Z`])", " ".join(text.split("\n\n", maxsplit=1)[0].split()), maxsplit=1)[0]


def _what(value: Any) -> str:
    """Return a value in a few words, "An `int`: `64`."; "" if there is nothing to say."""
    if _is_type_expression(value):
        return f"The type `{re.sub(r'([a-z_]+[.])+(?=[A-Z])', '', str(value))}`."
    if callable(value):
        return f"Defined in `{value.__module__}`." if value.__module__ else ""
    if value is None:
        return "`None`."
    text, kind = repr(value), type(value).__name__
    article = "An" if kind[:1].lower() in "aeiou" else "A"
    is_told = len(text) <= _WIDEST_VALUE and " at 0x" not in text and not isinstance(value, dict | list | set)
    return f"{article} `{kind}`{f': `{text}`' if is_told else ''}."


def _comment_on(module: str, name: str) -> str:
    """Return the comment beside an assignment, or the first sentence of the comment before it; "" if there is neither."""
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
    """Return the parts of the labs (`_parts_of_lab`) that have this name, each once, with the numbers of its labs. If
    there are none, and the name is one such as `Tracer.shape`, return the methods or values of this name that
    instances of the class have.
    """
    found: dict[int, Part] = {}
    for lab in labs:
        for item in _parts_of_lab(lab):
            if name in (item.name, item.name.rpartition(".")[2]):
                key = id(item.value) if item.value is not None else hash(item.name)
                known = found.get(key, item)
                found[key] = known._replace(labs=tuple(dict.fromkeys([*known.labs, lab.number])))
    room, _, last = name.rpartition(".")
    if found or not room:
        return list(found.values())
    owners = [owner for owner in parts_named(room, labs) if inspect.isclass(owner.value)]
    pairs = [(owner, member(owner.value, last)) for owner in owners]
    return [_part_of_member(owner.value, one)._replace(labs=owner.labs) for owner, one in pairs if one is not None]


def names_of_parts(labs: Iterable[Lab]) -> list[str]:
    """Return the names of the parts of all labs, for `parts_named`. A part of several labs is listed several times."""
    return [item.name for lab in labs for item in _parts_of_lab(lab)]


@functools.lru_cache(maxsize=64)
def _parts_of_lab(lab: Lab) -> tuple[Part, ...]:
    """Return the parts of a lab: the imports of its stubs, and its exercises. For exercises that are methods, add their
    classes, the base classes, and jitkit's other classes in the same modules, whose instances the exercises receive.
    """
    targets = [target for exercise in lab.exercises for target in exercise.targets]
    found = [*parts_of(targets), *(part(t.name, f"from {t.module} import {t.path[0]}", _at(t)) for t in targets)]
    for target in targets:
        cls = _class_of(target)
        inside = vars(importlib.import_module(target.module)).values() if cls is not None else ()
        classes = [*(cls.__mro__ if cls is not None else ()), *(x for x in inside if inspect.isclass(x))]
        ours = [each for each in classes if each.__module__.partition(".")[0] == "jitkit"]
        found += [part(each.__name__, f"from {each.__module__} import {each.__name__}", each) for each in ours]
    return tuple(found)


def _at(target: Target) -> Any:
    value: Any = importlib.import_module(target.module)
    for name in target.path:
        value = getattr(value, name)
    return value


def parts_of_class(value: Any) -> list[Part]:
    """Return a part for each member of a class of jitkit, own or inherited: for methods that have a docstring, and for values. Return []
    for anything but a class.
    """
    return [_part_of_member(value, each) for each in members_of(value)] if inspect.isclass(value) else []


def _without_self(method: Any) -> str:
    return re.sub(r"^\((self|cls)(, )?", "(", signature_of(method))


# --- what a function imports ------------------------------------------------------------------------------------


def imports_of(function: ReferenceFunction) -> Iterator[Import]:
    """Yield an import for each name that a function takes from its module. Names in decorators count only where learners write these."""
    module = function.target.module
    tree = function.module_tree
    decorators = function.node.decorator_list if learners_decorate(tree) else []
    node = copy.copy(function.node)
    node.decorator_list = decorators
    used = globals_used(node) - {function.target.path[0], "_"}
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                name = alias.asname or alias.name.partition(".")[0]
                if name in used:
                    yield Import(name, alias.name, "")
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                name = alias.asname or alias.name
                if name in used:
                    yield Import(name, _by_the_door(_absolute(module, statement), alias.name), alias.name)
        else:
            for name in used.intersection(names_bound(statement)):
                yield Import(name, _by_the_door(module, name), name)


def _by_the_door(module: str, name: str) -> str:
    """Return the package that exports a name of one of its modules: `jitkit.core` for `jitkit.core.tracer` and `Tracer`. If the package
    does not export the name, return the module.
    """
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
    """Return the absolute name of a module: `jitkit.core` for `from .core import ...` in `jitkit.jaxpr`."""
    if node.level == 0:
        return node.module or ""
    package = module.split(".") if _folder(module).is_dir() else module.split(".")[:-1]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def _folder(module: str) -> pathlib.Path:
    return PACKAGE.parent.joinpath(*module.split("."))
