"""functions of a learner -> `jitkit` with them in place

A submission is the source of some functions, each with the target it takes the place of: `jitkit.jaxpr.language:eval_jaxpr`,
`jitkit.core.primitive:Tracer.__bool__`. Importing `jitkit` while a `SplicingFinder` is installed gives a `jitkit` made of the
reference's source and these functions. A module's syntax tree is changed before the module runs: the learner's definition
replaces the reference's. So if a rule is registered where it is defined, the learner's is registered from the start; other
modules that import the function get the learner's; and nothing is patched afterwards.

What comes from where:

    the body and the signature    the learner's
    decorators, registrations     the reference's: a learner cannot lose them, and a decorator of theirs is refused. If decorating is
                                  a part of the exercises, and the module says so, the learner's
    helpers and imports           the learner's, as far as the functions use them; they stand before the first function. An import of
                                  a name that is something else in the module goes into the functions (`own_names`)
    file names and line numbers   of the file in which the line was written: tracebacks and debuggers point into the learner's file

Line numbers are kept by moving the learner's lines beyond all others (`_FAR`) before the tree is compiled, and back
afterwards, in the code objects, together with the name of the file.

Splicing must happen in a fresh process, before `jitkit` is imported, and never in the process that talks to the learner.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib.machinery
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from types import CodeType, ModuleType
from typing import Any

from .own_names import meanings, name_is_taken, other_names, source_path, stays_outside, with_own_names
from .submission import (
    Function,
    LearnerFile,
    SpliceError,
    Submission,
    Target,
    defines,
    names_bound,
    names_used,
    tree_of,
)

# A module sets this to True if learners decorate its functions themselves, because `jit` is the subject there.
_LEARNERS_DECORATE = "LEARNERS_DECORATE"

_FAR = 1_000_000  # more lines than a module has; the learner's n-th file is moved by n times as many


# --- one module -----------------------------------------------------------------------------------------------


def splice_source(source: str, filename: str, module: str, submission: Submission) -> CodeType:
    """Return the code of a module of the reference, with the submission's functions in it.

    Raises:
      SpliceError: a target does not exist, a signature differs, or a helper has a name that the module uses.
    """
    tree = tree_of(source, filename)
    by_file: dict[str, list[Target]] = {}
    for target in submission.targets_in(module):
        by_file.setdefault(submission.functions[target].path, []).append(target)
    known = meanings(source, module)
    helped: dict[str, str] = {}
    for path, targets in by_file.items():
        offset = _FAR * (1 + submission.files.index(path))
        file = submission.functions[targets[0]]
        places = [_replace(tree, target, file, known, offset) for target in targets]
        helpers = added_statements(known, file, targets)
        _check_helpers(helpers, helped, path)
        tree.body[min(places) : min(places)] = [_moved(node, offset) for node in helpers]
    return _relocated(compile(ast.fix_missing_locations(tree), filename, "exec"), submission.files)


def added_statements(known: Mapping[str, str], file: LearnerFile, targets: Sequence[Target]) -> list[ast.stmt]:
    """Return the helpers and imports that functions of a file need in a module of the reference, which has `known` names
    (`meanings`). If the module has the same thing under the same name, the import is left out.

    Raise SpliceError for a helper (a function, a class or a variable) with a known name: it would change the reference.
    """
    kept: list[ast.stmt] = []
    others = set(other_names(file, known))
    for node in file.helpers([target.name for target in targets]):
        if isinstance(node, ast.Import | ast.ImportFrom):
            aliases = [alias for alias in node.names if stays_outside(node, alias, known)]
            if aliases:
                reduced = copy.copy(node)
                reduced.names = aliases
                kept.append(reduced)
            continue
        for name in sorted(known.keys() & set(names_bound(node))):
            raise SpliceError(
                f"The module around this exercise has a `{name}` of its own. Give your helper another name.",
                file.path,
                node.lineno,
            )
        kept.append(_with_own_names(node, file, known, others))
    return kept


def _with_own_names(node: Any, file: LearnerFile, known: Mapping[str, str], others: set[str]) -> Any:
    """Return a helper in which names mean the same as in the learner's file. Raise SpliceError if an import of theirs cannot be put in."""
    if isinstance(node, Function):
        return with_own_names(node, file, known)
    if not others & names_used(node):
        return node
    if isinstance(node, ast.ClassDef):
        result = copy.copy(node)
        result.body = [_with_own_names(part, file, known, others) for part in node.body]
        node = result
        parts = [*node.bases, *node.keywords, *node.decorator_list]
    else:
        parts = [node]
    for name in sorted(others & {name for part in parts for name in names_used(part)}):
        raise name_is_taken(name, known, file.path, node.lineno)
    return node


def _replace(tree: ast.Module, target: Target, file: LearnerFile, known: Mapping[str, str], offset: int) -> int:
    """Replace the reference's function by the learner's; return the position of the top-level statement."""
    theirs = _moved(with_own_names(file.find(target), file, known), offset)
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
            raise SpliceError(f"`{target}` is not a function of the reference.")
        _check_signature(node, theirs, file.path, offset)
        there = {getattr(other, "name", None) for other in body}
        added = [f for f in file.helping_methods(target) if f.name not in there]
        methods = [_moved(with_own_names(f, file, known), offset) for f in added]
        put = [theirs] if learners_decorate(tree) else _decorated(theirs, node, file.path, offset)
        body[index : index + 1] = [*methods, *put]
    return place


def learners_decorate(tree: ast.Module) -> bool:
    """Whether a module of the reference leaves the decorators of its functions to learners."""
    return any(isinstance(node, ast.Assign) and _LEARNERS_DECORATE in names_bound(node) for node in tree.body)


def _decorated(function: Function, reference: Function, path: str, offset: int) -> list[ast.stmt]:
    """Return the learner's function with the reference's decorators, as plain calls, since the function would get the line number of
    a decorator. Raise SpliceError for a decorator of the learner's, which would be lost.
    """
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
    """Return the parts of a signature on which callers depend: the names and kinds of parameters, and which of them
    have defaults.
    """
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
    """Return the parameters without annotations."""
    bare = copy.deepcopy(args)
    for node in ast.walk(bare):
        if isinstance(node, ast.arg):
            node.annotation = None
    return bare


def _check_helpers(helpers: Sequence[ast.stmt], known: dict[str, str], path: str) -> None:
    """Check that helpers with the same name, from two files, are the same if they go into one module; add them to `known`."""
    for node in helpers:
        text = ast.unparse(node)
        for name in names_bound(node):
            if known.setdefault(name, text) != text:
                raise SpliceError(
                    f"Two of your files have a `{name}` each, for functions of one module, and they differ. Rename one.",
                    path,
                    node.lineno,
                )


def _moved(node: Any, offset: int) -> Any:
    return ast.increment_lineno(copy.deepcopy(node), offset)


def _relocated(code: CodeType, files: Sequence[str]) -> CodeType:
    """Return the code, in which the parts from a learner's file have its file name and line numbers again."""
    number, line = divmod(code.co_firstlineno, _FAR)
    consts = tuple(_relocated(const, files) if isinstance(const, CodeType) else const for const in code.co_consts)
    if number == 0:
        return code.replace(co_consts=consts)
    return code.replace(co_consts=consts, co_filename=files[number - 1], co_firstlineno=line)


def original_position(filename: str, line: int, files: Sequence[str]) -> tuple[str, int]:
    """Return the file and line of a frame in a spliced module. Its line is still moved by `_FAR` if the frame ran while
    the module was imported, as for a helper's default value.
    """
    number, own_line = divmod(line, _FAR)
    return (files[number - 1], own_line) if number else (filename, line)


# --- the import -----------------------------------------------------------------------------------------------


class SplicingFinder(MetaPathFinder):
    """Finds the modules that a submission changes. All other modules are found in the usual way.

    Args:
      known: code that was spliced before, by the submission's key for its module.
    """

    def __init__(self, submission: Submission, known: Mapping[tuple[Any, ...], CodeType]) -> None:
        self.submission = submission
        self.known = known

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a changed module, with a loader that splices; None for any other. Raise SpliceError if there is no such
        module.
        """
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
        """Return the code of the module, compiled in memory; the reference's bytecode on disk does not change."""
        known = self.known.get(self.submission.key(fullname))
        if known is not None:
            return known
        source = self.get_source(fullname) or ""
        return splice_source(source, self.path, fullname, self.submission)


def spliced_code(submission: Submission, package_folder: str) -> dict[tuple[Any, ...], CodeType]:
    """Return the code of all modules that a submission changes, without running them; `install` takes it as `known`. A module that
    cannot be spliced is left out.
    """
    code = {}
    for module in submission.modules:
        path = source_path(module, package_folder)
        with contextlib.suppress(OSError, SpliceError, SyntaxError), open(path, encoding="utf-8") as file:
            code[submission.key(module)] = splice_source(file.read(), path, module, submission)
    return code


def install(submission: Submission, known: Mapping[tuple[Any, ...], CodeType] | None = None) -> None:
    """Make `import jitkit` import the spliced package from now on. Call it once in a process, before the first import of a module
    that changes: afterwards it raises RuntimeError.
    """
    early = sorted(module for module in submission.modules if module in sys.modules)
    if early:
        raise RuntimeError(f"{', '.join(early)} was imported before it could be spliced")
    sys.meta_path.insert(0, SplicingFinder(submission, known or {}))
