"""functions of a learner -> `jitkit` with them in place

A submission is the source of some functions, each with the target that it replaces: `jitkit.jaxpr.language:eval_jaxpr`,
`jitkit.core.primitive:Tracer.__bool__`. Importing `jitkit` while a `SplicingFinder` is installed gives a `jitkit` made
of the reference's source and these functions. A module's syntax tree is changed before the module runs: the learner's
definition replaces the reference's. So if a rule is registered where it is defined, the learner's is registered from
the start; other modules that import the function get the learner's; and nothing is patched afterwards.

What comes from where:

    the body and the signature    the learner's; others must be able to call it as they call the reference's
    decorators, registrations     the reference's: a learner cannot lose them. The learner's own come first, next to the function. If
                                  decorating is a part of the exercises, and the module says so, only the learner's
    helpers and imports           the learner's, as far as the functions use them; they stand before the first function. An import of
                                  a name that is something else in the module goes into the functions (`own_names`)
    file names and line numbers   of the file in which the line was written: tracebacks and debuggers point into the learner's file

Before the tree is compiled, the learner's lines get numbers beyond all others (`_FAR`). So the code objects show which
lines are the learner's: these then get their own numbers and file name again.

Splicing must happen in a fresh process, before `jitkit` is imported, and never in the process that talks to the
learner.
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

from .name_origins import meanings, source_path
from .names import Function, globals_used, names_bound, names_used, tree_of
from .own_names import name_is_taken, other_names, stays_outside, with_own_names
from .plain_imports import stars_needed
from .submission import LearnerFile, SpliceError, Submission, Target, defines

# A module sets this to True if learners decorate its functions themselves, because `jit` is the subject there.
_LEARNERS_DECORATE = "LEARNERS_DECORATE"

# Decorators that change how a method is called.
_KINDS, _ACCESSORS = ("staticmethod", "classmethod", "property"), ("setter", "getter", "deleter", "cached_property")

_FAR = 1_000_000  # more lines than a module has; the learner's n-th file is moved by n times as many


# --- one module -----------------------------------------------------------------------------------------------


def splice_source(source: str, filename: str, module: str, submission: Submission) -> CodeType:
    """Return the code of a module of the reference, with the submission's functions in it.

    Raises:
      SpliceError: a target does not exist, a signature or a decorator does not fit, a helper has a name that the module uses or
        differs from another file's, or an import cannot be put in.
    """
    tree = tree_of(source, filename)
    by_file: dict[str, list[Target]] = {}
    for target in submission.targets_in(module):
        by_file.setdefault(submission.functions[target].path, []).append(target)
    known = meanings(source, module)
    helped: dict[str, tuple[str, str]] = {}
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

    Raise SpliceError for a helper (a function, a class or a variable) with a known name: it would change the reference; and if a name is
    needed from an `import *` of which nobody knows what it imports, or an import cannot be put in.
    """
    kept: list[ast.stmt] = []
    others = set(other_names(file, known))
    names = [target.name for target in targets]
    helpers = file.helpers(names)
    _check_stars(file, [*(file.functions[name] for name in names if name in file.functions), *helpers], known)
    for node in helpers:
        if isinstance(node, ast.Import | ast.ImportFrom):
            aliases = [alias for alias in node.names if stays_outside(node, alias, file, known)]
            if aliases:
                reduced = copy.copy(node)
                reduced.names = aliases
                kept.append(reduced)
            continue
        for name in sorted(known.keys() & set(names_bound(node))):
            raise _helper_is_taken(name, node, file.path)
        kept.append(_with_own_names(node, file, known, others))
    return kept


def _check_stars(file: LearnerFile, used: Sequence[ast.stmt], known: Mapping[str, str]) -> None:
    """Raise SpliceError if these statements need names of a `from module import *` whose names are not known."""
    for star, missing in stars_needed(file.tree, {name for node in used for name in globals_used(node)}, known):
        names = ", ".join(missing)
        raise SpliceError(
            f"`{ast.unparse(star)}` does not say which names it imports, and here nothing imports it to find out. Name them: "
            f"`from {'.' * star.level}{star.module or ''} import {names}`.",
            file.path,
            star.lineno,
        )


def _helper_is_taken(name: str, node: ast.stmt, path: str) -> SpliceError:
    """Return the error for a helper that has a name of the module it goes into."""
    imported = {
        a.asname or a.name for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names
    }
    where = {ast.Try: "try", ast.If: "if"}.get(type(node))
    told = f"The module around this exercise has a `{name}` of its own. Give your helper another name."
    if name in imported and where is not None:
        told = (
            f"The module around this exercise has a `{name}` of its own, and yours is imported below `{where}`, where it may be "
            f"another one. Import it without `{where}`."
        )
    return SpliceError(told, path, node.lineno)


def _with_own_names(node: Any, file: LearnerFile, known: Mapping[str, str], others: set[str]) -> Any:
    """Return a helper in which names mean the same as in the learner's file. Raise SpliceError if a needed import cannot be put in."""
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
    """Replace the reference's function by the learner's, and put the methods that help it beside it; return the position of the
    top-level statement around it. Raise SpliceError if the reference has no such function, or has it with another signature; if a
    decorator does not fit; or if an import cannot be put in.
    """
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
    """Return whether a module of the reference leaves the decorators of its functions to learners."""
    return any(isinstance(node, ast.Assign) and _LEARNERS_DECORATE in names_bound(node) for node in tree.body)


def _decorated(function: Function, reference: Function, path: str, offset: int) -> list[ast.stmt]:
    """Return statements that define the learner's function and apply the reference's decorators and the learner's own as plain
    calls. (With `@`, the function would begin at the line of a decorator.) Raise SpliceError for an own decorator such as
    `property`.
    """
    try:
        own = added_decorators(function, reference)
    except SpliceError as error:
        raise SpliceError(str(error), path, error.line - offset) from None
    function.decorator_list = []
    before: list[ast.stmt] = []
    after: list[ast.stmt] = []
    for i, (decorator, origin) in enumerate(
        [*((d, reference) for d in reference.decorator_list), *((d, d) for d in own)]
    ):
        name = f"_decorator_{i}"
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(function.name, ast.Load())], [])
        parts = [
            ast.Assign([ast.Name(name, ast.Store())], decorator),
            ast.Assign([ast.Name(function.name, ast.Store())], call),
            ast.Delete([ast.Name(name, ast.Del())]),
        ]
        parts = [ast.copy_location(node, origin) for node in parts]
        before.append(parts[0])
        after.insert(0, parts[1])
        after.append(parts[2])
    return [*before, function, *after]


def added_decorators(function: Function, reference: Function) -> list[ast.expr]:
    """Return the decorators that a learner's function has in addition to the reference's, which it may repeat above them.

    Raises:
      SpliceError: one of them makes a method static, a class method or a property.
    """
    texts = [ast.unparse(decorator) for decorator in reference.decorator_list]
    own = function.decorator_list
    if texts and [ast.unparse(decorator) for decorator in own[: len(texts)]] == texts:
        own = own[len(texts) :]
    for decorator in own:
        text = ast.unparse(decorator)
        if text in _KINDS or text.rpartition(".")[2] in _ACCESSORS:
            theirs = " and ".join(f"`@{each}`" for each in texts)
            place = f"it is put under the reference's, {theirs}" if theirs else "it has none in its place"
            raise SpliceError(
                f"`{function.name}` cannot have the decorator `@{text}`: {place}. Take it away.", "", decorator.lineno
            )
    return own


def _check_signature(reference: Function, theirs: Function, path: str, offset: int) -> None:
    if type(reference) is not type(theirs) or not _takes_the_same(reference.args, theirs.args):
        raise SpliceError(
            f"`{reference.name}` is called as `{reference.name}({ast.unparse(_bare(reference.args))})`, and here it is "
            f"`{theirs.name}({ast.unparse(_bare(theirs.args))})`. Give it its parameters back: others call it with them.",
            path,
            theirs.lineno - offset,
        )


def _takes_the_same(reference: ast.arguments, theirs: ast.arguments) -> bool:
    """Return whether every call of the reference's function is a call of the learner's, with the same meaning. The
    learner's may have more parameters, if these have defaults, and more defaults.
    """
    own, there = [[arg.arg for arg in (*args.posonlyargs, *args.args)] for args in (theirs, reference)]
    needed = own[: len(own) - len(theirs.defaults)]
    keywords = {a.arg: d is not None for a, d in zip(theirs.kwonlyargs, theirs.kw_defaults, strict=True)}
    there_keywords = {a.arg: d is not None for a, d in zip(reference.kwonlyargs, reference.kw_defaults, strict=True)}
    more_places, more_keywords = len(own) > len(there), keywords.keys() > there_keywords.keys()
    return (
        own[: len(there)] == there
        and [arg.arg for arg in theirs.posonlyargs] == [arg.arg for arg in reference.posonlyargs]
        and len(needed) <= len(there) - len(reference.defaults)
        and there_keywords.keys() <= keywords.keys()
        and all(has_default or not there_keywords.get(name, True) for name, has_default in keywords.items())
        and (reference.vararg is None or (theirs.vararg is not None and not more_places))
        and (reference.kwarg is None or (theirs.kwarg is not None and not more_places and not more_keywords))
    )


def _bare(args: ast.arguments) -> ast.arguments:
    """Return the parameters without annotations."""
    bare = copy.deepcopy(args)
    for node in ast.walk(bare):
        if isinstance(node, ast.arg):
            node.annotation = None
    return bare


def _check_helpers(helpers: Sequence[ast.stmt], known: dict[str, tuple[str, str]], path: str) -> None:
    """Add helpers to `known`, by name, each with its file and source. Raise SpliceError if another file has a different helper of the
    same name for the module.
    """
    for node in helpers:
        text = ast.unparse(node)
        for name in names_bound(node):
            other, its_text = known.setdefault(name, (path, text))
            if other != path and its_text != text:
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
