"""functions of a learner -> `jitkit` with them in place

A submission is the source of some functions, each with the target it takes the place of: `jitkit.jaxpr.language:eval_jaxpr`,
`jitkit.core.primitive:Tracer.__bool__`. Importing `jitkit` while a `SplicingFinder` is installed gives a `jitkit` made of the
reference's source and these functions. It is done before any module runs, on its syntax tree: where the reference
defines the function, the learner's definition is put. So a rule that is registered when it is defined is the learner's
from the start, other modules that import the function get the learner's, and nothing is patched afterwards.

What comes from where:

    the body and the signature    the learner's
    decorators, registrations     the reference's: a learner cannot lose them, and a decorator of theirs is refused; but where
                                  decorating is a part of the exercises, and the module says so, the learner's
    helpers and imports           the learner's, as far as the functions use them; they stand before the first function
    file names and line numbers   of whoever wrote the line, so tracebacks and debuggers point into the learner's file

Line numbers are kept by moving the learner's lines beyond all others (`_FAR`) before the tree is compiled, and back
afterwards, in the code objects, together with the name of the file.

It must happen in a fresh process, before `jitkit` is imported, and never in the one that talks to the learner.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import difflib
import functools
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from types import CodeType, ModuleType
from typing import Any, NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef

# What a module assigns True to whose functions learners decorate themselves: `jit` is the subject there.
_LEARNERS_DECORATE = "LEARNERS_DECORATE"

_one_at_a_time = threading.Lock()


def tree_of(source: str, filename: str = "<unknown>") -> ast.Module:
    """The syntax tree of a text. One thread at a time: Python 3.11 counts how deep it is in a tree for all threads together, and
    where two of them do this at once, now and then one ends in a SystemError.

    Raises:
      SyntaxError, ValueError: as `ast.parse`.
    """
    with _one_at_a_time:
        return ast.parse(source, filename)


_DEEPEST = 200  # levels of a syntax tree: what people write has twenty
_FAR = 1_000_000  # more lines than a module has; the learner's n-th file is moved by n times as many


class SpliceError(Exception):
    """A submission that cannot be put in place. The message is for its author; `file` and `line` say where."""

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
        """From `jitkit.core.primitive:Tracer.__bool__`. ValueError for anything else."""
        module, colon, path = text.partition(":")
        names = tuple(path.split("."))
        if not colon or not all(name.isidentifier() for name in (*module.split("."), *names)):
            raise ValueError(f"expected a target like `jitkit.core.primitive:Tracer.__bool__`, got {text!r}")
        return cls(module, names)

    @property
    def name(self) -> str:
        """`Tracer.__bool__`."""
        return ".".join(self.path)

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


class LearnerFile(NamedTuple):
    """A file of a learner, parsed: its functions by their dotted names, which of these names are exercises, and the
    statements beside them."""

    path: str
    source: str
    tree: ast.Module
    functions: dict[str, Function]
    exercises: frozenset[str]

    @classmethod
    def parse(cls, source: str, path: str, exercises: Iterable[str]) -> LearnerFile:
        """SpliceError, with the line, where the source is not Python."""
        try:
            tree = tree_of(source, path)
            if _is_deep(tree):
                raise RecursionError
            tree = _TodaysModules().visit(tree)
        except SyntaxError as error:
            raise SpliceError(error.msg, path, error.lineno or 1) from None
        except ValueError as error:  # a null byte
            raise SpliceError(str(error), path, 1) from None
        except (RecursionError, MemoryError):
            raise SpliceError("An expression is nested too deeply for Python to read it.", path, 1) from None
        return cls(path, source, tree, dict(_functions(tree.body)), frozenset(exercises))

    def find(self, target: Target) -> Function:
        """The learner's definition for a target. SpliceError, with the nearest name, where there is none."""
        found = self.functions.get(target.name)
        if found is not None:
            return found
        near = difflib.get_close_matches(target.name, self.functions, n=1)
        hint = f" Is it `{near[0]}` now? Name it `{target.name}` again." if near else ""
        line = self.functions[near[0]].lineno if near else 0
        raise SpliceError(f"There is no function `{target.name}` in this file.{hint}", self.path, line)

    def helpers(self, names: Iterable[str]) -> list[ast.stmt]:
        """The top-level statements that define what functions of these dotted names use, directly or by each other,
        in the order of the file. Exercises are none: the reference has a function of that name."""
        names = list(names)
        classes = {path.rpartition(".")[0] for path in names} - {""}
        added = (f for f in self.functions if f.rpartition(".")[0] in classes and f not in self.exercises)
        wanted = {name for path in (*names, *added) for name in _globals_used(self.functions[path])}
        exercises = {path.partition(".")[0] for path in self.exercises}
        candidates = [node for node in self.tree.body if _may_help(node)]
        chosen: set[int] = set()
        grew = True
        while grew:
            grew = False
            for i, node in enumerate(candidates):
                if i not in chosen and wanted.intersection(set(_names_bound(node)) - exercises):
                    chosen.add(i)
                    wanted |= _globals_used(node)
                    grew = True
        return [_only(candidates[i], wanted) for i in sorted(chosen)]

    def helping_methods(self, target: Target) -> list[Function]:
        """The methods that the learner added to the class of a target."""
        *classes, _ = target.path
        return [
            function
            for path, function in self.functions.items()
            if classes and path.split(".")[:-1] == classes and path not in self.exercises
        ]


class Submission:
    """The functions that take the place of the reference's, by target, each with the file that it is from."""

    def __init__(self, functions: dict[Target, LearnerFile]) -> None:
        self.functions = functions
        self.files = sorted({file.path for file in functions.values()})

    def targets_in(self, module: str) -> list[Target]:
        """The targets in one module."""
        return [target for target in self.functions if target.module == module]

    @property
    def modules(self) -> set[str]:
        """The modules that differ from the reference's."""
        return {target.module for target in self.functions}

    def key(self, module: str) -> tuple[Any, ...]:
        """What the code of a module depends on: equal keys, equal code."""
        parts = ((str(t), self.functions[t].path, self.functions[t].source) for t in self.targets_in(module))
        return (module, tuple(self.files), *sorted(parts))


def is_stub(function: Function) -> bool:
    """Whether nothing was written yet: the body is a docstring, or none, and `raise NotImplementedError`."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    match body:
        case [
            ast.Raise(exc=ast.Name("NotImplementedError") | ast.Call(func=ast.Name("NotImplementedError")))
        ]:
            return True
        case _:
            return False


# --- one module -----------------------------------------------------------------------------------------------


def splice_source(source: str, filename: str, module: str, submission: Submission) -> CodeType:
    """The code of a module of the reference, with the submission's functions in it.

    Raises:
      SpliceError: a target does not exist, a signature differs, or a helper has a name that the module uses.
    """
    tree = tree_of(source, filename)
    by_file: dict[str, list[Target]] = {}
    for target in submission.targets_in(module):
        by_file.setdefault(submission.functions[target].path, []).append(target)
    names_of_module = set(_names_bound(tree))
    helped: dict[str, str] = {}
    for path, targets in by_file.items():
        offset = _FAR * (1 + submission.files.index(path))
        file = submission.functions[targets[0]]
        places = [_replace(tree, target, file, offset) for target in targets]
        helpers = _added_statements(names_of_module, file, targets)
        _check_helpers(helpers, helped, path)
        tree.body[min(places) : min(places)] = [_moved(node, offset) for node in helpers]
    return _relocated(compile(ast.fix_missing_locations(tree), filename, "exec"), submission.files)


def added_statements(reference: str, file: LearnerFile, targets: Sequence[Target]) -> list[ast.stmt]:
    """What comes along with functions of a file into a module whose source is `reference`: helpers and imports."""
    return _added_statements(set(names_of(reference)), file, targets)


@functools.lru_cache(maxsize=256)
def names_of(source: str) -> frozenset[str]:
    """The names that a module of the reference has."""
    return frozenset(_names_bound(tree_of(source)))


def _added_statements(known: set[str], file: LearnerFile, targets: Sequence[Target]) -> list[ast.stmt]:
    return _without_known_imports(file.helpers([target.name for target in targets]), known, file.path)


def _replace(tree: ast.Module, target: Target, file: LearnerFile, offset: int) -> int:
    """Put the learner's function where the reference has its own; returns the place of the top-level statement."""
    theirs = _moved(file.find(target), offset)
    body: list[ast.stmt] = tree.body
    place = 0
    for depth, name in enumerate(target.path):
        index = next((i for i, node in enumerate(body) if defines(node, name)), None)
        if index is None:
            raise SpliceError(f"The reference has no `{target}`.")
        place = index if depth == 0 else place
        node = body[index]
        if depth < len(target.path) - 1:
            body = getattr(node, "body", [])
            continue
        if not isinstance(node, Function):
            raise SpliceError(f"`{target}` is no function of the reference.")
        _check_signature(node, theirs, file.path, offset)
        known = {getattr(other, "name", None) for other in body}
        methods = [_moved(f, offset) for f in file.helping_methods(target) if f.name not in known]
        put = [theirs] if learners_decorate(tree) else _decorated(theirs, node, file.path, offset)
        body[index : index + 1] = [*methods, *put]
    return place


def defines(node: ast.stmt, name: str) -> bool:
    """Whether a statement is the class or the function of a name; one of its `@overload`s is not."""
    decorators = map(ast.unparse, getattr(node, "decorator_list", ()))
    return getattr(node, "name", None) == name and not any(
        d in ("overload", "typing.overload") for d in decorators
    )


def learners_decorate(tree: ast.Module) -> bool:
    """Whether a module of the reference leaves the decorators of its functions to learners."""
    return any(
        isinstance(node, ast.Assign) and _LEARNERS_DECORATE in _names_bound(node) for node in tree.body
    )


def _decorated(function: Function, reference: Function, path: str, offset: int) -> list[ast.stmt]:
    """The learner's function, decorated as the reference's is, with plain calls: a decorator's line number would become
    the function's. SpliceError for a decorator of the learner's, which would be lost."""
    if function.decorator_list:
        first = function.decorator_list[0]
        theirs = " and ".join(f"`@{ast.unparse(decorator)}`" for decorator in reference.decorator_list)
        place = f"it is put under the reference's, {theirs}" if theirs else "it has none in its place"
        raise SpliceError(
            f"`{function.name}` cannot have the decorator `@{ast.unparse(first)}`: {place}. Take it away, or decorate a helper.",
            path,
            first.lineno - offset,
        )
    before: list[ast.stmt] = []
    after: list[ast.stmt] = []
    for i, decorator in enumerate(reference.decorator_list):
        name = f"_decorator_{i}"
        before.append(ast.Assign([ast.Name(name, ast.Store())], decorator))
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(function.name, ast.Load())], [])
        after.insert(0, ast.Assign([ast.Name(function.name, ast.Store())], call))
        after.append(ast.Delete([ast.Name(name, ast.Del())]))
    for node in (*before, *after):
        ast.copy_location(node, reference)
    return [*before, function, *after]


def _check_signature(reference: Function, theirs: Function, path: str, offset: int) -> None:
    if type(reference) is not type(theirs) or _parameters(reference.args) != _parameters(theirs.args):
        raise SpliceError(
            f"`{reference.name}` is called as `{reference.name}({ast.unparse(_bare(reference.args))})`, and here it is "
            f"`{theirs.name}({ast.unparse(_bare(theirs.args))})`. Give it its parameters back: others call it with them.",
            path,
            theirs.lineno - offset,
        )


def _parameters(args: ast.arguments) -> tuple[Any, ...]:
    """What callers depend on: names, kinds, and which parameters may be left out."""
    return (
        [arg.arg for arg in args.posonlyargs],
        [arg.arg for arg in args.args],
        args.vararg and args.vararg.arg,
        [arg.arg for arg in args.kwonlyargs],
        args.kwarg and args.kwarg.arg,
        len(args.defaults),
        [default is not None for default in args.kw_defaults],
    )


def _bare(args: ast.arguments) -> ast.arguments:
    """The parameters without annotations."""
    bare = copy.deepcopy(args)
    for node in ast.walk(bare):
        if isinstance(node, ast.arg):
            node.annotation = None
    return bare


def _without_known_imports(helpers: Sequence[ast.stmt], known: set[str], path: str) -> list[ast.stmt]:
    """The helpers to be added to a module that has `known` names: imports of those are left out, they are there.

    SpliceError for a function, a class or a variable of such a name: it would change the reference around it.
    """
    kept: list[ast.stmt] = []
    for node in helpers:
        if isinstance(node, ast.Import | ast.ImportFrom):
            aliases = [a for a in node.names if (a.asname or a.name.partition(".")[0]) not in known]
            if aliases:
                reduced = copy.copy(node)
                reduced.names = aliases
                kept.append(reduced)
            continue
        taken = sorted(known.intersection(_names_bound(node)))
        if taken:
            raise SpliceError(
                f"The module around this exercise has a `{taken[0]}` of its own. Give your helper another name.",
                path,
                node.lineno,
            )
        kept.append(node)
    return kept


def _check_helpers(helpers: Sequence[ast.stmt], known: dict[str, str], path: str) -> None:
    """Helpers of two files that meet in one module may have one name only when they are the same. `known` is added to."""
    for node in helpers:
        text = ast.unparse(node)
        for name in _names_bound(node):
            if known.setdefault(name, text) != text:
                raise SpliceError(
                    f"Two of your files have a `{name}` each, for functions of one module, and they differ. Rename one.",
                    path,
                    node.lineno,
                )


def _moved(node: Any, offset: int) -> Any:
    return ast.increment_lineno(copy.deepcopy(node), offset)


def _relocated(code: CodeType, files: Sequence[str]) -> CodeType:
    """The code, with the parts that came from a learner's file at home there again."""
    number, line = divmod(code.co_firstlineno, _FAR)
    consts = tuple(
        _relocated(const, files) if isinstance(const, CodeType) else const for const in code.co_consts
    )
    if number == 0:
        return code.replace(co_consts=consts)
    return code.replace(co_consts=consts, co_filename=files[number - 1], co_firstlineno=line)


def original_position(filename: str, line: int, files: Sequence[str]) -> tuple[str, int]:
    """File and line of a frame of a spliced module: a statement of the learner's that ran while the module was
    imported, such as a helper's default value, has its line moved."""
    number, own_line = divmod(line, _FAR)
    return (files[number - 1], own_line) if number else (filename, line)


# --- names ----------------------------------------------------------------------------------------------------

# Where modules of jitkit are that stood beside each other before there were rooms: files of learners name the old places.
_ROOMS = {
    "base": "config errors util traceback_util source_info report pretty_printer rich_display",
    "core": "element_types dtypes effects operators avals tracer",
    "tree_util": "tree_nodes=nodes tree_registry=registry treedef tree_paths=paths tree_compile=compiled",
    "jaxpr": "jaxpr_printer=printer jaxpr_html=html jaxpr_check=check",
    "runtime": "array tokens",
    "signature": "api_util argument_spec argument_errors shape_struct",
    "compiler": "compiler disk_cache placement program jit_shardings=shardings",
    "misses": "function_origin=origin call_record=record call_differences=differences explain=sentences",
    "pjit": "calling compilation_cache key_reuse stages dispatch jit_call tracing pjit=jitted api",
    "lax": "callback",
}
_MOVED = {
    old: (room, new or old)
    for room, modules in _ROOMS.items()
    for old, _, new in (module.partition("=") for module in modules.split())
} | {"lax.dot": ("lax", "dot_products")}


class _TodaysModules(ast.NodeTransformer):
    """Imports from modules of jitkit, with each at its place of today."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | list[ast.stmt]:
        """One statement, or one for each of its names where they are in different rooms now."""
        package, _, module = (node.module or "").partition(".")
        if node.level or package != "jitkit":
            return node
        found = [self.moved(module, alias) for alias in node.names]
        if all(old is new for old, (_, new) in zip(node.names, found, strict=True)):
            return node
        return [ast.copy_location(ast.ImportFrom(origin, [alias], 0), node) for origin, alias in found]

    def moved(self, module: str, alias: ast.alias) -> tuple[str, ast.alias]:
        """Where a name of a module is now, and how it is imported from there."""
        if (
            not module and alias.name in _MOVED and alias.name != "explain"
        ):  # the module itself; `explain` is a function, too
            room, name = _MOVED[alias.name]
            same = alias.asname is None and name == alias.name
            return f"jitkit.{room}", ast.alias(name, None if same else alias.asname or alias.name)
        if module in _MOVED and alias.name not in _ROOMS.get(module, "").split():
            return f"jitkit.{'.'.join(_MOVED[module])}", ast.alias(alias.name, alias.asname)
        return ".".join(filter(None, ("jitkit", module))), alias


def _is_deep(tree: ast.AST) -> bool:
    """Whether something is nested so deeply that a function which walks the tree by calling itself may not come back."""
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
    """An import of nothing but the wanted names; another statement as it is. The module that it goes to may be one that
    the rest of the names cannot be imported in yet.
    """
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return node
    reduced = copy.copy(node)
    reduced.names = [a for a in node.names if (a.asname or a.name.partition(".")[0]) in wanted]
    return reduced


def _may_help(node: ast.stmt) -> bool:
    """Whether a top-level statement may be needed by a function: it defines, imports or assigns."""
    if isinstance(node, ast.ImportFrom):
        return node.module != "__future__"
    return isinstance(node, Function | ast.ClassDef | ast.Import | ast.Assign | ast.AnnAssign)


def _names_used(node: ast.AST) -> set[str]:
    """The names that are read somewhere in a statement."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _globals_used(node: ast.stmt) -> set[str]:
    """The names that are read somewhere in a statement and are not a function's own: in `def f(x): return x + y`, `y`. A notebook may
    well have an `x = f(3.0)` beside it, which is no helper of f's.
    """
    if not isinstance(node, Function):
        return _names_used(node)
    args = node.args
    parts = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    own = {part.arg for part in parts if part is not None}
    own.update(name for child in node.body for name in _names_bound(child))
    outside = [
        *node.decorator_list,
        *args.defaults,
        *args.kw_defaults,
        node.returns,
        *(p.annotation for p in parts if p),
    ]
    own -= {name for part in outside if part is not None for name in _names_used(part)}
    own -= {name for child in ast.walk(node) if isinstance(child, ast.Global) for name in child.names}
    return _names_used(node) - own


def _names_bound(node: ast.AST) -> Iterator[str]:
    """The names that a statement, or the body of a module, gives values to, in its own scope."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return
    for child in ast.iter_child_nodes(node):
        yield from _names_bound(child)


# --- the import -----------------------------------------------------------------------------------------------


class SplicingFinder(MetaPathFinder):
    """Finds the modules that a submission changes; those it does not are found as always, and quickly.

    Args:
      known: code that was spliced before, by the submission's key for its module.
    """

    def __init__(self, submission: Submission, known: Mapping[tuple[Any, ...], CodeType]) -> None:
        self.submission = submission
        self.known = known

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a changed module, with a loader that splices."""
        if fullname not in self.submission.modules:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is None or found.origin is None:
            raise SpliceError(f"The reference has no module `{fullname}`.")
        loader = _SplicingLoader(fullname, found.origin, self.submission, self.known)
        locations = found.submodule_search_locations
        return importlib.util.spec_from_file_location(
            fullname, found.origin, loader=loader, submodule_search_locations=locations
        )


class _SplicingLoader(importlib.machinery.SourceFileLoader):
    def __init__(
        self, fullname: str, path: str, submission: Submission, known: Mapping[tuple[Any, ...], CodeType]
    ) -> None:
        super().__init__(fullname, path)
        self.submission = submission
        self.known = known

    def get_code(self, fullname: str) -> CodeType:
        """Compiled in memory: the reference's bytecode on disk is not touched."""
        known = self.known.get(self.submission.key(fullname))
        if known is not None:
            return known
        source = self.get_source(fullname) or ""
        return splice_source(source, self.path, fullname, self.submission)


def spliced_code(submission: Submission, package_folder: str) -> dict[tuple[Any, ...], CodeType]:
    """The code of all modules that a submission changes, without running them: what `install` takes as `known`. One that
    cannot be spliced is left out."""
    code = {}
    for module in submission.modules:
        path = source_path(module, package_folder)
        with contextlib.suppress(OSError, SpliceError, SyntaxError), open(path, encoding="utf-8") as file:
            code[submission.key(module)] = splice_source(file.read(), path, module, submission)
    return code


def install(submission: Submission, known: Mapping[tuple[Any, ...], CodeType] | None = None) -> None:
    """From now on `import jitkit` gives the spliced one. Once in a process, before the first import of what changes."""
    early = sorted(module for module in submission.modules if module in sys.modules)
    if early:
        raise RuntimeError(f"{', '.join(early)} was imported before it could be spliced")
    sys.meta_path.insert(0, SplicingFinder(submission, known or {}))


def source_path(module: str, package_folder: str) -> str:
    """The file of a module of the reference, for those who read it and do not import it: `package_folder` is
    `.../jitkit`."""
    parts = module.split(".")[1:]
    plain = os.path.join(package_folder, *parts)
    return f"{plain}.py" if os.path.isfile(f"{plain}.py") else os.path.join(plain, "__init__.py")
