"""sources of a submission -> for each exercise its functions, spliced into jitkit as code, or why not; nothing is run"""

from __future__ import annotations

import ast
import base64
import builtins
import copy
import hashlib
import importlib.util
import marshal
import pathlib
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jitkit.kata.engine.exchange import LATE
from jitkit.kata.engine.manifest import Exercise, Lab, nearest
from jitkit.kata.engine.name_origins import bound_by, meanings, source_path
from jitkit.kata.engine.names import globals_used, names_bound, tree_of
from jitkit.kata.engine.plain_imports import stars_needed
from jitkit.kata.engine.reference import PACKAGE, reference_function
from jitkit.kata.engine.splice import splice_source
from jitkit.kata.engine.submission import LearnerFile, SpliceError, Submission, Target, is_stub

from . import holes
from .files import Invalid, shown
from .records import Item, ItemStatus
from .records import item as empty_item
from .shipped_code import Modules, neutral_path
from .sources import DEFINES, Source
from .suspicion import flags_of, grams, is_ours, keeps_state

_ASSIGNED = re.compile(r"^(\w+)[ \t]*=", re.MULTILINE)
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_INSTALLED = frozenset({*sys.stdlib_module_names, "jitkit", "jax", "numpy", "ml_dtypes"})
_HANDED_OUT = ("exercises.py", "lab.ipynb")
_MOST_COPIES = 10  # at most this many other versions of a function are named


class Answers:
    """Finds the functions of exercises in the sources of one submission. For an exercise in `whole` the code of whole
    modules is always made; for others only if their functions cannot fill the holes of an imported jitkit, or are in a
    module of `LATE`.
    """

    def __init__(self, sources: Sequence[Source], labs: Sequence[Lab], whole: Collection[str] = ()) -> None:
        self.labs = labs
        self.whole = frozenset(whole)
        self.sources = [s for s in sources if s.text]
        self.names = frozenset(t.name for lab in labs for e in lab.exercises for t in e.targets)
        self.parsed: dict[tuple[str, str], LearnerFile | SpliceError] = {}
        self.bound = {s.path: frozenset(DEFINES.findall(s.text) + _ASSIGNED.findall(s.text)) for s in self.sources}

    def of_lab(self, lab: Lab) -> list[Source]:
        """Return the files that may be about a lab: those whose path or module names it. If there are none, return the
        files that name no lab at all and define one of its functions.
        """
        modules = {t.module for e in lab.exercises for t in e.targets}
        hinted = [s for s in self.sources if s.hint == lab.number or s.module in modules]
        names = {t.path[-1] for e in lab.exercises for t in e.targets}
        free = [s for s in self.sources if not s.hint and not s.module and names & set(DEFINES.findall(s.text))]
        return hinted or free

    def has(self, lab: Lab) -> bool:
        """Return whether any file is about a lab."""
        return bool(self.of_lab(lab))

    def file(self, source: Source, lab: Lab) -> LearnerFile | SpliceError:
        """Return a source, parsed for a lab, or the reason why it is not Python."""
        key = (source.path, lab.number)
        if key not in self.parsed:
            try:
                file = LearnerFile.parse(source.text, source.path, lab.targets)
                self.parsed[key] = _of_package(file, source.module, lab) if source.module else file
            except SpliceError as error:
                self.parsed[key] = error
            except (RecursionError, MemoryError):
                self.parsed[key] = SpliceError("an expression is nested too deeply", source.path, 1)
        return self.parsed[key]

    def exercise(self, lab: Lab, exercise: Exercise) -> Item:
        """Return the item of an exercise: READY with the code to run; or MISSING, TODO, BROKEN or INVALID, with a
        sentence.
        """
        item = empty_item(ItemStatus.READY)
        functions: dict[Target, LearnerFile] = {}
        for target in exercise.targets:
            try:
                file = self.candidate(lab, target)
            except Invalid as error:
                return item | {"status": ItemStatus.INVALID, "sentence": str(error)}
            except SpliceError as error:
                sentence = f"{error} (The grader reads it as Python {_PYTHON}.)"
                return item | {"status": ItemStatus.BROKEN, "sentence": sentence, "line": [error.file, error.line]}
            except LookupError as error:
                return item | {"status": ItemStatus.MISSING, "sentence": str(error.args[0])}
            functions[target] = file
        item["path"] = next(iter(functions.values())).path
        item["flags"] = self.others(lab, functions)
        if any(is_stub(f.find(t)) for t, f in functions.items()):
            return item | {"status": ItemStatus.TODO, "sentence": "It is not written yet."}
        if sentence := self.files_imported(functions):
            return item | {"status": ItemStatus.INVALID, "sentence": sentence}
        if all(s.module for s in self.sources if s.path == item["path"]) and all(
            is_ours(f, t) for t, f in functions.items()
        ):
            sentence = "It is the reference's, word for word. In a package of your own that counts as not written."
            flags = [*item["flags"], "the reference's, word for word"]
            return item | {"status": ItemStatus.TODO, "sentence": sentence, "flags": flags}
        try:
            return _put_in(item, functions, exercise.id in self.whole)
        except SpliceError as error:
            return item | {"status": ItemStatus.BROKEN, "sentence": str(error), "line": [error.file, error.line]}
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            text = f"Python cannot compile it: {type(error).__name__}: {shown(str(error))}"
            line = getattr(error, "lineno", None)
            item.update({"status": ItemStatus.BROKEN, "sentence": text, "line": [item["path"], line or 1]})
            return item

    def candidate(self, lab: Lab, target: Target) -> LearnerFile:
        """Return the file that has a function; if no file has it, one that has its stub. If a file with the place and the name of one that
        the course hands out has it, other files do not count.

        Raises:
          Invalid: several files, or two cells with the same grade id, have different versions of the function.
          SpliceError: no file has it, and a file that may have it is not Python.
          LookupError: no file has it or its stub.
        """
        found: list[tuple[ast.AST, LearnerFile]] = []
        stubs: list[LearnerFile] = []
        error: SpliceError | None = None
        near = ""
        for source in self.of_lab(lab):
            if source.module not in ("", target.module):
                continue
            if target.path[-1] in source.broken:
                error = SpliceError(source.broken[target.path[-1]][0], source.path, source.broken[target.path[-1]][1])
                continue
            file = self.file(source, lab)
            if isinstance(file, SpliceError):
                error = file
                continue
            function = file.functions.get(target.name)
            if function is None:
                near = near or nearest(target.name, set(file.functions) - self.names)
            elif is_stub(function):
                stubs.append(file)
            else:
                if target.path[-1] in source.duplicated:
                    raise Invalid(
                        f"`{target.name}` has different versions in two cells of {source.path} with the same grade id. Keep one of them."
                    )
                found.append((function, file))
        own = [(function, file) for function, file in found if _is_ours_by_name(file.path, lab)]
        found = own or found
        if len(found) > 1 and len({ast.dump(function) for function, _ in found}) > 1:
            paths = " and ".join(sorted({f.path for _, f in found}))
            raise Invalid(f"`{target.name}` has different versions in {paths}. Hand in one of them.")
        if found:
            return found[0][1]
        if error is not None:
            raise error
        if stubs:
            return stubs[0]
        hint = f" Is it `{near}` now? Name it `{target.name}` again." if near else ""
        raise LookupError(f"There is no function `{target.name}` in it.{hint}")

    def files_imported(self, functions: Mapping[Target, LearnerFile]) -> str:
        """Return a sentence if the functions import another file of the submission: only code in their own file is
        taken along. Return "" otherwise.
        """
        files = {pathlib.PurePosixPath(s.path).stem: s.path for s in self.sources if not s.module}
        for target, file in functions.items():
            found = files.keys() - {pathlib.PurePosixPath(file.path).stem} - _INSTALLED
            nodes = [file.find(target), *file.helping_methods(target), *file.helpers([target.name])]
            known = meanings(reference_function(target).module_source, target.module)
            used = {name for node in nodes for name in globals_used(node)}
            for node in (*nodes, *(star for star, _ in stars_needed(file.tree, used, known))):
                for name in sorted(_imported_by(node) & found):
                    told = f"It imports `{name}`, which is {files[name]}."
                    return f"{told} Other files do not come along: copy what you need into {file.path}."
        return ""

    def others(self, lab: Lab, functions: Mapping[Target, LearnerFile]) -> list[str]:
        """Return flags for files with another version of a function than the one that was taken. Such a file lies outside of any lab's
        folder (such as `00_hello (1)/`), or beside the file that was handed out (a draft). Name at most `_MOST_COPIES`.
        """
        flags = []
        candidates = [s for s in self.of_lab(lab) if _is_ours_by_name(s.path, lab)]
        for source in self.sources:
            if source in candidates or source.hint not in ("", lab.number) or source.module:
                continue
            named = {t for t in functions if t.path[-1] in DEFINES.findall(source.text)}
            file = self.file(source, lab) if named else None
            if not isinstance(file, LearnerFile):
                continue
            for target in sorted(named):
                other = file.functions.get(target.name)
                taken = functions[target]
                if other is not None and not is_stub(other) and ast.dump(other) != ast.dump(taken.find(target)):
                    flags.append(
                        f"`{target.name}` is also in {source.path}, in another version; {taken.path} was graded"
                    )
        more = [f"and {len(flags) - _MOST_COPIES} more of these"] if len(flags) > _MOST_COPIES else []
        return [*flags[:_MOST_COPIES], *more]


def _is_ours_by_name(path: str, lab: Lab) -> bool:
    """Return whether a file has the name of one that the course hands out, and lies in the lab's folder. Such a file is preferred."""
    place = pathlib.PurePosixPath(path)
    return place.parent.name == lab.name and place.name in _HANDED_OUT


def _imported_by(node: ast.AST) -> set[str]:
    """Return the names of the modules that this code imports and that may be files beside it."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in part.names}
        elif isinstance(part, ast.ImportFrom):
            found |= {part.module.partition(".")[0]} if part.module else {alias.name for alias in part.names}
    return found


def _of_package(file: LearnerFile, module: str, lab: Lab) -> LearnerFile:
    """Return a module of a student's own copy of jitkit, as a file with exercises. The reference's module stays around it, so statements
    that bind one of that module's names are left out, unless they define an exercise. Relative imports become absolute.
    """
    names = frozenset(t.name for e in lab.exercises for t in e.targets if t.module == module)
    path = source_path(module, str(PACKAGE))
    known = set(names_bound(tree_of(pathlib.Path(path).read_text(encoding="utf-8"))))
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    tops = {name.partition(".")[0] for name in names}
    body = []
    for node in file.tree.body:
        bound = set(names_bound(node))
        if isinstance(node, ast.Import | ast.ImportFrom):
            body += _other_imports(node, known, package)
        elif bound & tops or not bound & known:
            body.append(node)
    return file._replace(tree=ast.Module(body, []), exercises=names)


def _other_imports(node: ast.Import | ast.ImportFrom, known: Collection[str], package: str) -> list[ast.stmt]:
    """Return the import, absolute and without the names that are `known`; [] if no name is left."""
    other = copy.copy(node)
    other.names = [alias for alias in node.names if bound_by(alias) not in known]
    if isinstance(other, ast.ImportFrom) and other.level:
        try:
            other.module = importlib.util.resolve_name("." * other.level + (other.module or ""), package)
        except ImportError:  # it leads out of the package
            return []
        other.level = 0
    return [other] if other.names else []


def _put_in(item: Item, functions: dict[Target, LearnerFile], whole: bool) -> Item:
    """Return the item with the code of an exercise, digests of it, and flags. The code is a patch for the holes, if one can be made. The
    code of whole modules is added if there is no patch, if a target is in a module of `LATE`, or with `whole`.
    """
    submission = Submission(functions)
    patch = holes.patch(functions)
    whole = whole or patch is None or any(target.module.startswith(LATE) for target in functions)
    nodes: list[ast.AST] = []
    text: list[str] = []
    written = {f.path: f for f in functions.values()}.values()
    for file in written:
        targets = [t for t, f in functions.items() if f.path == file.path]
        own = [file.find(t) for t in targets]
        methods = {id(m): m for t in targets for m in file.helping_methods(t)}
        helpers = file.helpers([t.name for t in targets])
        nodes += [*own, *methods.values(), *helpers]
        text += [ast.unparse(n) for n in (*own, *methods.values(), *helpers)]
    # Hash the syntax trees with their lines, and the files' names, since a verdict names lines and files; and the built-in
    # names that a file hides, which `with_own_names` needs. Do not hash the code: its bytes differ between processes.
    hides = {n for f in written for node in f.tree.body for n in names_bound(node)} & vars(builtins).keys()
    places = "\n".join([*submission.files, *sorted(hides), *(ast.dump(n, include_attributes=True) for n in nodes)])
    flags = flags_of(functions, nodes)
    return item | {
        "modules": _as_text(_spliced(submission)) if whole else "",
        "patch": _as_text(patch) if patch is not None else "",
        "digest": _digest(places),
        "code": _digest("\n".join([*sorted(hides), *text])),
        "files": list(submission.files),
        "flags": item["flags"] + flags,
        "keeps": keeps_state(nodes) or any(flag.startswith("uses ") for flag in flags),
        "grams": grams("\n".join(text)),
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _spliced(submission: Submission) -> Modules:
    """Return the modules of the functions, with the student's functions in place of the reference's."""
    modules = {}
    for module in sorted(submission.modules):
        path = source_path(module, str(PACKAGE))
        is_package = path.endswith("__init__.py")
        neutral = neutral_path(module, is_package)
        code = splice_source(pathlib.Path(path).read_text(encoding="utf-8"), neutral, module, submission)
        modules[module] = (neutral, is_package, code)
    return modules


def _as_text(data: Any) -> str:
    return base64.b64encode(marshal.dumps(data)).decode("ascii")
