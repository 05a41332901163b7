"""files of a learner -> functions, each with the target that it replaces

A submission is the source of some functions, by target: `jitkit.jaxpr.language:eval_jaxpr`,
`jitkit.core.primitive:Tracer.__bool__`. Helpers and imports that stand beside them in a file come along, as far as the
functions use them.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .names import Function, globals_used, names_bound, names_used, tree_of, walk
from .old_places import todays_imports
from .plain_imports import plain_imports

_IMPORTS = ast.Import | ast.ImportFrom
_PLACES = ast.Attribute | ast.Subscript
# Statements, besides definitions, that may change what a function uses.
_OTHERS = (
    ast.AugAssign | ast.For | ast.While | ast.If | ast.Match | ast.Try | ast.TryStar | ast.With | ast.Expr | ast.Delete
)

_DEEPEST = 200  # levels of a syntax tree; what people write has about twenty


class SpliceError(Exception):
    """Raised for a submission that cannot be put in place. The message is for its author; `file` and `line` say where."""

    def __init__(self, message: str, file: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.file = file
        self.line = line


class Target(NamedTuple):
    """A function of the reference: its module, and its place there, `("Tracer", "__bool__")` for a method."""

    module: str
    path: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Target:
        """Parse `jitkit.core.primitive:Tracer.__bool__`. Raise ValueError for anything else."""
        module, colon, path = text.partition(":")
        names = tuple(path.split("."))
        if not colon or not all(name.isidentifier() for name in (*module.split("."), *names)):
            raise ValueError(f"expected a target like `jitkit.core.primitive:Tracer.__bool__`, got {text!r}")
        return cls(module, names)

    @property
    def name(self) -> str:
        """The dotted name in its module: `Tracer.__bool__`."""
        return ".".join(self.path)

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


class LearnerFile(NamedTuple):
    """A learner's file, parsed. `functions` maps dotted names to definitions, and `exercises` are the names that are
    exercises. `homes` maps each exercise that is a function, and not a method, to its module.
    """

    path: str
    source: str
    tree: ast.Module
    functions: dict[str, Function]
    exercises: frozenset[str]
    homes: Mapping[str, str] = {}

    @classmethod
    def parse(cls, source: str, path: str, exercises: Iterable[str]) -> LearnerFile:
        """Parse a file. Raise SpliceError, with the line, if it is not valid Python or is nested too deeply. `exercises` are targets,
        or their dotted names.
        """
        try:
            tree = tree_of(source, path)
            if _is_deep(tree):
                raise RecursionError
            tree = plain_imports(todays_imports(tree))
        except SyntaxError as error:
            raise SpliceError(error.msg, path, error.lineno or 1) from None
        except ValueError as error:  # a null byte
            raise SpliceError(str(error), path, 1) from None
        except (RecursionError, MemoryError):
            raise SpliceError("An expression is nested too deeply for Python to read it.", path, 1) from None
        pairs = [(text.rpartition(":")[2], text.partition(":")[0]) for text in exercises]
        homes = {name: module for name, module in pairs if "." not in name and module != name}
        return cls(path, source, tree, dict(_functions(tree.body)), frozenset(name for name, _ in pairs), homes)

    def find(self, target: Target) -> Function:
        """Return the learner's definition for a target; raise SpliceError, with the nearest name, if there is none."""
        found = self.functions.get(target.name)
        if found is not None:
            return found
        near = difflib.get_close_matches(
            target.name, [name for name in self.functions if name not in self.exercises], n=1
        )
        hint = f" Is it `{near[0]}` now? Name it `{target.name}` again." if near else ""
        line = self.functions[near[0]].lineno if near else 1
        raise SpliceError(f"There is no function `{target.name}` in this file.{hint}", self.path, line)

    def helpers(self, names: Iterable[str]) -> list[ast.stmt]:
        """Return the top-level statements that define or change what these functions use, directly or through each other, in the
        order of the file, each once, however often a notebook's cell was run. Exercises are left out, because the reference has a
        function of that name, and so are loops and calls that use them, and `if __name__ == "__main__"`.
        """
        names = list(names)
        classes = {path.rpartition(".")[0] for path in names} - {""}
        added = (f for f in self.functions if f.rpartition(".")[0] in classes and f not in self.exercises)
        wanted = {name for path in (*names, *added) for name in globals_used(self.functions[path])}
        exercises = {path.partition(".")[0] for path in self.exercises}
        own = {
            name for node in self.tree.body if not isinstance(node, _IMPORTS | Function) for name in names_bound(node)
        }
        candidates = [(node, given) for node in self.tree.body if (given := _given(node, own, exercises))]
        chosen: set[int] = set()
        grew = True
        while grew:
            grew = False
            for i, (node, given) in enumerate(candidates):
                if i not in chosen and wanted & given:
                    chosen.add(i)
                    wanted |= globals_used(node)
                    grew = True
        return _without_repeats([_only(candidates[i][0], wanted) for i in sorted(chosen)])

    def helping_methods(self, target: Target) -> list[Function]:
        """Return the other methods that the learner's file has in the class of a target, without exercises; [] for a function that is in
        no class.
        """
        *classes, _ = target.path
        return [
            function
            for path, function in self.functions.items()
            if classes and path.split(".")[:-1] == classes and path not in self.exercises
        ]


class Submission:
    """The functions that replace the reference's, by target, each with its file."""

    def __init__(self, functions: dict[Target, LearnerFile]) -> None:
        self.functions = functions
        self.files = sorted({file.path for file in functions.values()})

    def targets_in(self, module: str) -> list[Target]:
        """Return the targets in one module."""
        return [target for target in self.functions if target.module == module]

    @property
    def modules(self) -> set[str]:
        """The modules into which the functions go."""
        return {target.module for target in self.functions}

    def without(self, modules: Container[str]) -> Submission:
        """Return the functions that do not go into these modules."""
        return Submission({target: file for target, file in self.functions.items() if target.module not in modules})

    def key(self, module: str) -> tuple[Any, ...]:
        """Return a key of a module's code: equal keys mean equal code. Of exercises that are put elsewhere only the
        names count: if one of these is changed, the module need not be compiled again.
        """
        targets = self.targets_in(module)
        names = {target.path[0] for target in targets}
        files = {self.functions[target].path: self.functions[target] for target in targets}
        parts = ((path, *_written(file, names)) for path, file in sorted(files.items()))
        where = sorted((str(target), self.functions[target].path) for target in targets)
        return (module, tuple(self.files), *where, *parts)


def _written(file: LearnerFile, names: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the top-level statements of a file, each as its line and its source. For an exercise that is not in `names`, yield only its
    name.
    """
    lines = file.source.split("\n")
    for node in file.tree.body:
        if isinstance(node, Function) and node.name in file.exercises - names:
            yield 0, node.name
        else:
            first = min(part.lineno for part in (node, *getattr(node, "decorator_list", ())))
            yield first, "\n".join(lines[first - 1 : node.end_lineno])


def is_stub(function: Function) -> bool:
    """Return whether nothing has been written yet: the body is `raise NotImplementedError`, perhaps after a docstring."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    match body:
        case [ast.Raise(exc=ast.Name("NotImplementedError") | ast.Call(func=ast.Name("NotImplementedError")))]:
            return True
        case _:
            return False


# --- names ----------------------------------------------------------------------------------------------------


def defines(node: ast.stmt, name: str) -> bool:
    """Return whether a statement defines the class or function with this name. An `@overload` does not count."""
    decorators = map(ast.unparse, getattr(node, "decorator_list", ()))
    return getattr(node, "name", None) == name and not any(d in ("overload", "typing.overload") for d in decorators)


def _is_deep(tree: ast.AST) -> bool:
    """Return whether a tree is nested so deeply that a recursive function may exceed Python's recursion limit."""
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _functions(body: Sequence[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Function]]:
    for node in body:
        if isinstance(node, Function) and defines(node, node.name):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.")


def _only(node: ast.stmt, wanted: set[str]) -> ast.stmt:
    """Return an import reduced to the wanted names; return any other statement unchanged. The import goes into another module, and
    when that runs, the other names may not be importable yet.
    """
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return node
    reduced = copy.copy(node)
    reduced.names = [a for a in node.names if (a.asname or a.name.partition(".")[0]) in wanted]
    return reduced


def _without_repeats(statements: Iterable[ast.stmt]) -> list[ast.stmt]:
    """Return the statements without repetitions that change nothing: the same statement came before, and the names that it reads and
    binds are unchanged since.
    """
    kept: list[ast.stmt] = []
    latest: dict[str, int] = {}  # a name -> which of `kept` bound it
    known: dict[str, dict[str, int | None]] = {}  # source of a statement -> what it read and bound
    for node in statements:
        words, bound, read = ast.unparse(node), set(names_bound(node)), _read_at_once(node)
        if not bound or isinstance(node, _OTHERS):  # it changes something, and so does its repetition
            latest.update(dict.fromkeys(read | bound, len(kept)))
            kept.append(node)
            continue
        if known.get(words) == {name: latest.get(name) for name in bound | read}:
            continue
        known[words] = {**dict.fromkeys(bound, len(kept)), **{name: latest.get(name) for name in read}}
        latest.update(dict.fromkeys(bound, len(kept)))
        kept.append(node)
    return kept


def _read_at_once(node: ast.stmt) -> set[str]:
    """Return the names that a statement reads when it is run. (The body of a function runs later.)"""
    args = node.args if isinstance(node, Function) else None
    parts = (
        [node]
        if args is None
        else [*getattr(node, "decorator_list", ()), *args.defaults, *filter(None, args.kw_defaults)]
    )
    return {n.id for part in parts for n in walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _may_help(node: ast.stmt) -> bool:
    """Return whether a top-level statement may be needed by a function: it defines, imports or assigns."""
    if isinstance(node, ast.ImportFrom):
        return node.module != "__future__"
    definitions = Function | ast.ClassDef | ast.Import | ast.Assign | ast.AnnAssign
    return isinstance(node, definitions) or type(node).__name__ == "TypeAlias"  # `type X = ...`, since Python 3.12


def _given(node: ast.stmt, own: set[str], exercises: set[str]) -> set[str]:
    """Return the names that a top-level statement defines or changes, without `exercises`. Return an empty set for a loop, an `if`
    or a call that uses an exercise or tests `__name__`.

    Args:
      own: the names of the file's variables and classes. A statement changes one by storing into it; a statement that is not an
        assignment also by calling one of its methods, or, for a class, by passing it to a call: `register(A)`.
    """
    given = set(names_bound(node)) - exercises if _may_help(node) or isinstance(node, _OTHERS) else set()
    if isinstance(node, _OTHERS) and (names_used(node) & exercises or _is_for_the_program(node)):
        return set()
    if isinstance(node, ast.Assign | ast.AnnAssign | _OTHERS):
        parts = walk(node)
        places: list[ast.AST] = [n for n in parts if isinstance(n, _PLACES) and not isinstance(n.ctx, ast.Load)]
        if isinstance(node, _OTHERS):
            calls = [n for n in parts if isinstance(n, ast.Call)]
            places += [n.func for n in calls if isinstance(n.func, ast.Attribute)]
            given |= {a.id for n in calls for a in n.args if isinstance(a, ast.Name) and a.id[:1].isupper()} & own
        given |= {root for place in places if (root := _root(place)) in own}
    return given


def _root(node: ast.AST) -> str:
    """Return the first name of `a.b[0].c`: `a`; "" if it does not begin with a name."""
    while isinstance(node, _PLACES):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_for_the_program(node: ast.stmt) -> bool:
    """Return whether a statement is an `if` that tests `__name__`, such as `if __name__ == "__main__"`."""
    return isinstance(node, ast.If) and "__name__" in names_used(node.test)
