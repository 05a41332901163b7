"""a submission -> for each exercise its functions, spliced into jitkit as code, or why not; nothing of it is run

It is done in a process of its own, which forks one for each submission, with limits of memory and time: a file that ends the
parser ends nothing else. What comes out is a frame of JSON: texts for people, code as bytes that only a worker reads.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import functools
import hashlib
import io
import json
import keyword
import marshal
import os
import pathlib
import re
import resource
import signal
import struct
import sys
import tokenize
import unicodedata
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from jitkit.kata.engine.manifest import Exercise, Lab, all_labs, nearest
from jitkit.kata.engine.reference import PACKAGE, reference_function
from jitkit.kata.engine.splice import source_path, splice_source
from jitkit.kata.engine.submission import LearnerFile, SpliceError, Submission, Target, is_stub, tree_of

from .files import Found, Invalid, read_files, shown
from .images import neutral_path

READY, TODO, BROKEN, MISSING, INVALID = "ready", "todo", "broken", "missing", "invalid"

_SECONDS, _MEMORY, _LONGEST_FRAME = 30, 2 << 30, 64 << 20
_DEFINES = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_GRAM = 12  # tokens
_TELLING = 60  # nodes of syntax: what is shorter is written alike by everyone

# Ways to look around, out of the process or into others, to code that writes code, and to the real thing.
_SUSPECT_MODULES = frozenset(
    {
        "_ctypes", "_thread", "atexit", "builtins", "ctypes", "faulthandler", "gc", "imp", "importlib", "inspect", "jax", "jaxlib",
        "marshal", "mmap", "multiprocessing", "os", "pathlib", "pickle", "pty", "resource", "runpy", "shutil", "signal", "socket",
        "subprocess", "sys", "tempfile", "threading", "traceback", "tracemalloc", "urllib", "zipimport",
    }
)  # fmt: skip
_SUSPECT_NAMES = frozenset(
    {
        "__bases__", "__builtins__", "__closure__", "__code__", "__globals__", "__import__", "__loader__", "__mro__", "__reduce__",
        "__spec__", "__subclasses__", "__traceback__", "_exit", "_getframe", "breakpoint", "compile", "cr_frame", "eval", "exec",
        "exit", "f_back", "f_globals", "f_locals", "get_ipython", "gi_frame", "globals", "input", "meta_path", "open", "quit",
        "setprofile", "settrace", "tb_frame", "tb_next", "vars",
    }
)  # fmt: skip


class Source(NamedTuple):
    """A file of a submission as text, with what is known of it."""

    path: str
    text: str
    hint: str  # the number of the lab that its path names, or nothing
    broken: dict[str, tuple[str, int]]  # functions whose cell is no Python: why, and where
    flags: tuple[str, ...]
    duplicated: frozenset[str] = frozenset()  # functions in several cells of one grade id that differ
    module: str = ""  # of a whole package: the module of jitkit


def read_submission(path: pathlib.Path, labs: Sequence[Lab], only: Iterable[str] = ()) -> dict[str, Any]:
    """What is in a submission, as data for JSON."""
    digest = hashlib.sha256(
        f"{path.name} {path.lstat().st_size} {path.lstat().st_mtime_ns}".encode("utf-8", "surrogateescape")
    ).hexdigest()[:24]
    base: dict[str, Any] = {"exercises": {}, "flags": [], "handed_in": newest(path)}
    try:
        found = read_files(path)
        digest = hashlib.sha256(
            b"".join(
                f.path.encode("utf-8", "surrogateescape") + b"\0" + hashlib.sha256(f.data).digest()
                for f in found
            )
        ).hexdigest()[:24]
        if not found:
            raise Invalid("There is no Python file and no notebook in it.")
        sources, problems = [], []
        for file in found:
            try:
                sources.append(_source(file, labs))
            except Invalid as error:
                problems.append((file.path, str(error)))
    except Invalid as error:
        return base | {"status": INVALID, "sentence": str(error), "digest": digest}
    base["digest"] = digest
    wanted = set(only)
    reader = _Reader(sources, labs)
    exercises: dict[str, dict[str, Any]] = {}
    for lab in labs:
        if wanted and lab.number not in wanted:
            continue
        hurt = [(p, s) for p, s in problems if _hint(p, labs) in (lab.number, "")]
        present = reader.has(lab)
        if not present and not any(_hint(p, labs) == lab.number for p, _ in hurt):
            continue
        for exercise in lab.exercises:
            item = reader.exercise(lab, exercise)
            if hurt and item["status"] == MISSING:
                item |= {"status": INVALID, "sentence": hurt[0][1]}
            exercises[exercise.id] = item
    flags = sorted({flag for source in sources for flag in source.flags})
    if not exercises:
        names = {n for s in sources for n in _DEFINES.findall(s.text)}
        known = {t.path[-1] for lab in labs for e in lab.exercises for t in e.targets}
        near = next(
            (f"; is `{n}` to be `{nearest(n, known)}`?" for n in sorted(names) if nearest(n, known)), "."
        )
        sentence = problems[0][1] if problems else f"None of the functions of the labs is in it{near}"
        return base | {"status": INVALID, "sentence": sentence, "flags": flags}
    if all(item["status"] == INVALID for item in exercises.values()):
        sentence = next(iter(exercises.values()))["sentence"]
        return base | {"status": INVALID, "sentence": sentence, "flags": flags}
    return base | {"status": "OK", "sentence": "", "exercises": exercises, "flags": flags}


def newest(path: pathlib.Path) -> float:
    """When the newest file of a submission was written."""
    times = [path.lstat().st_mtime] if not path.is_dir() else []
    for place, _, names in os.walk(path):
        times += [os.lstat(os.path.join(place, name)).st_mtime for name in names[:1000]]
    return max(times, default=0.0)


# --- texts --------------------------------------------------------------------------------------------------------------


def _hint(path: str, labs: Sequence[Lab]) -> str:
    for part in reversed(pathlib.PurePosixPath(path).parts):
        for lab in labs:
            if part == lab.name or pathlib.PurePosixPath(part).stem == lab.name:
                return lab.number
    return ""


def _source(file: Found, labs: Sequence[Lab]) -> Source:
    name = shown(unicodedata.normalize("NFC", file.path))
    try:
        text = file.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = file.data[: error.start].count(b"\n") + 1
        raise Invalid(
            f"{name} is not in UTF-8 (byte {file.data[error.start]:#x} in line {line}). Save it as UTF-8."
        ) from None
    if "\0" in text:
        raise Invalid(
            f"{name} has a NUL byte in line {text[: text.index(chr(0))].count(chr(10)) + 1}: it is no text."
        )
    hint = _hint(file.path, labs)
    if file.path.lower().endswith(".ipynb"):
        return _notebook(name, text, hint, labs)
    parts = pathlib.PurePosixPath(file.path).with_suffix("").parts
    module = ""
    if "jitkit" in parts:
        inside = parts[len(parts) - 1 - parts[::-1].index("jitkit") :]
        module = ".".join(inside[:-1] if inside[-1] == "__init__" else inside)
        if module not in {t.module for lab in labs for e in lab.exercises for t in e.targets}:
            module = ""
            text = ""  # the rest of a package of their own: the reference stands in for it
    return Source(name, text, hint, {}, (), frozenset(), module)


def _notebook(name: str, text: str, hint: str, labs: Sequence[Lab]) -> Source:
    """The code cells of a notebook as one file."""
    try:
        data = json.loads(text)
        cells = data["cells"]
        code = [c for c in cells if c["cell_type"] == "code"]
        texts = ["".join(c["source"]) if isinstance(c["source"], list) else str(c["source"]) for c in code]
        metas = [c.get("metadata", {}).get("nbgrader", {}) for c in code]
        ids = [str(m.get("grade_id", "")) if isinstance(m, dict) else "" for m in metas]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Invalid(f"{name} is no notebook: {type(error).__name__}: {shown(str(error))}") from None
    targets = {t.path[-1] for lab in labs for e in lab.exercises for t in e.targets}
    lines: list[str] = []
    broken: dict[str, tuple[str, int]] = {}
    versions: dict[tuple[str, str], set[str]] = {}
    flags: set[str] = set()
    for source, id in zip(texts, ids, strict=True):
        cell = _without_magics(source)
        try:
            tree = tree_of(cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = len(lines) + (getattr(error, "lineno", 1) or 1)
            for function in targets.intersection(_DEFINES.findall(source)):
                broken[function] = (f"{getattr(error, 'msg', None) or error} (a cell of {name})", line)
            cell = ""
        else:
            for node in ast.walk(tree):
                if id and isinstance(node, ast.FunctionDef) and node.name in targets and not is_stub(node):
                    versions.setdefault((id, node.name), set()).add(ast.dump(node))
        count = source.count("\n") + 1
        kept = cell.split("\n")
        lines += kept + [""] * (count - len(kept))
    doubled = frozenset(function for (_, function), texts_ in versions.items() if len(texts_) > 1)
    twice = sorted({i for i in ids if i and ids.count(i) > 1})
    if twice:
        flags.add(f"grade ids occur twice: {', '.join(map(shown, twice[:3]))}")
    graded = {i for i, m in zip(ids, metas, strict=True) if isinstance(m, dict) and m.get("grade")}
    lab = next((x for x in labs if x.number == hint), None)
    if graded or any(ids):
        flags.update(_tampered(lab, graded, dict(zip(ids, texts, strict=True))))
    return Source(name, "\n".join(lines) + "\n", hint, broken, tuple(sorted(flags)), doubled)


def _tampered(lab: Lab | None, graded: set[str], texts: dict[str, str]) -> Iterable[str]:
    """Cells of nbgrader's that are gone, or ask for something else. They are not what is graded here, but why are they changed?"""
    if lab is None:
        return
    present = {
        e.id.replace(".", "-") for e in lab.exercises if any(f"-{e.id.replace('.', '-')}" in i for i in texts)
    }
    for number in sorted(present):
        own = {i for i in graded if i.startswith(f"check-{number}")}
        if not own:
            yield f"the cells with points of {number.replace('-', '.')} are gone"
        elif any(f"verdict_{number.replace('-', '_')}.require" not in texts[i] for i in own):
            yield f"cells with points of {number.replace('-', '.')} were edited"


def _without_magics(text: str) -> str:
    """A cell as Python: lines for IPython are empty; a cell of another language is."""
    if re.match(r"\s*%%", text):
        first, _, rest = text.lstrip().partition("\n")
        if first.split()[0] not in ("%%time", "%%timeit", "%%capture"):
            return ""
        text = "\n" + rest
    return "\n".join(
        "" if re.match(r"[ \t]*[!%?]", line) or line.rstrip().endswith("?") else line
        for line in text.split("\n")
    )


# --- functions ----------------------------------------------------------------------------------------------------------


class _Reader:
    """Finds the functions of exercises in the sources of one submission."""

    def __init__(self, sources: Sequence[Source], labs: Sequence[Lab]) -> None:
        self.labs = labs
        self.sources = [s for s in sources if s.text]
        self.names = frozenset(t.name for lab in labs for e in lab.exercises for t in e.targets)
        self.parsed: dict[tuple[str, str], LearnerFile | SpliceError] = {}

    def of_lab(self, lab: Lab) -> list[Source]:
        """The files that may be about a lab: those which say so, or, where none does, those with a function of that name."""
        modules = {t.module for e in lab.exercises for t in e.targets}
        hinted = [s for s in self.sources if s.hint == lab.number or s.module in modules]
        names = {t.path[-1] for e in lab.exercises for t in e.targets}
        free = [
            s for s in self.sources if not s.hint and not s.module and names & set(_DEFINES.findall(s.text))
        ]
        return hinted or free

    def has(self, lab: Lab) -> bool:
        """Whether any file is about a lab."""
        return bool(self.of_lab(lab))

    def file(self, source: Source, lab: Lab) -> LearnerFile | SpliceError:
        """A source, parsed for a lab; or why it is no Python."""
        key = (source.path, lab.number)
        if key not in self.parsed:
            try:
                file = LearnerFile.parse(source.text, source.path, lab.names)
                self.parsed[key] = _of_package(file, source.module, lab) if source.module else file
            except SpliceError as error:
                self.parsed[key] = error
            except (RecursionError, MemoryError):
                self.parsed[key] = SpliceError("an expression is nested too deeply", source.path, 1)
        return self.parsed[key]

    def exercise(self, lab: Lab, exercise: Exercise) -> dict[str, Any]:
        """What there is for an exercise."""
        item: dict[str, Any] = {
            "status": READY,
            "sentence": "",
            "line": None,
            "flags": [],
            "grams": [],
            "path": "",
        }
        functions: dict[Target, LearnerFile] = {}
        for target in exercise.targets:
            try:
                file = self.candidate(lab, target)
            except Invalid as error:
                return item | {"status": INVALID, "sentence": str(error)}
            except SpliceError as error:
                return item | {"status": BROKEN, "sentence": str(error), "line": [error.file, error.line]}
            except LookupError as error:
                return item | {"status": MISSING, "sentence": str(error.args[0])}
            functions[target] = file
        item["path"] = next(iter(functions.values())).path
        if any(is_stub(f.find(t)) for t, f in functions.items()):
            return item | {"status": TODO, "sentence": "It is not written yet."}
        if all(s.module for s in self.sources if s.path == item["path"]) and all(
            _is_ours(f, t) for t, f in functions.items()
        ):
            sentence = (
                "It is the reference's, word for word: in a package of your own that counts as not written."
            )
            return item | {"status": TODO, "sentence": sentence, "flags": ["the reference's, word for word"]}
        try:
            item |= _spliced(functions)
        except SpliceError as error:
            return item | {"status": BROKEN, "sentence": str(error), "line": [error.file, error.line]}
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            text = f"Python cannot compile it: {type(error).__name__}: {shown(str(error))}"
            return item | {
                "status": BROKEN,
                "sentence": text,
                "line": [item["path"], getattr(error, "lineno", None) or 1],
            }
        return item

    def candidate(self, lab: Lab, target: Target) -> LearnerFile:
        """The file that has a function. Invalid where several have different ones, SpliceError for no Python, LookupError."""
        found: dict[str, LearnerFile] = {}
        stubs: list[LearnerFile] = []
        error: SpliceError | None = None
        near = ""
        for source in self.of_lab(lab):
            if source.module not in ("", target.module):
                continue
            if target.path[-1] in source.broken:
                error = SpliceError(
                    source.broken[target.path[-1]][0], source.path, source.broken[target.path[-1]][1]
                )
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
                        f"`{target.name}` is written in two cells of one grade id of {source.path}, and differently. Keep one."
                    )
                found.setdefault(ast.dump(function), file)
        if len(found) > 1:
            paths = " and ".join(sorted({f.path for f in found.values()}))
            raise Invalid(f"`{target.name}` is written in {paths}, and differently. Hand in one.")
        if found:
            return next(iter(found.values()))
        if error is not None:
            raise error
        if stubs:
            return stubs[0]
        hint = f" Is it `{near}` now? Name it `{target.name}` again." if near else ""
        raise LookupError(f"There is no function `{target.name}` in it.{hint}")


def _of_package(file: LearnerFile, module: str, lab: Lab) -> LearnerFile:
    """A module of a package of a student's own, without what the reference's module has of the same name."""
    names = frozenset(t.name for e in lab.exercises for t in e.targets if t.module == module)
    reference = tree_of(pathlib.Path(source_path(module, str(PACKAGE))).read_text(encoding="utf-8"))
    known = {getattr(n, "name", "") for n in reference.body}
    known |= {
        n.id
        for s in reference.body
        if isinstance(s, ast.Assign | ast.AnnAssign)
        for n in ast.walk(s)
        if isinstance(n, ast.Name)
    }
    tops = {name.partition(".")[0] for name in names}
    body = []
    for node in file.tree.body:
        bound = {getattr(node, "name", "")} | {
            n.id
            for n in ast.walk(node)
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and isinstance(n, ast.Name)
            and isinstance(n.ctx, ast.Store)
        }
        if bound & tops or not bound & known:
            body.append(node)
    return file._replace(tree=ast.Module(body, []), exercises=names)


def _is_ours(file: LearnerFile, target: Target) -> bool:
    return _bare(file.find(target)) == _bare_reference(target)


@functools.cache
def _bare_reference(target: Target) -> str:
    return _bare(reference_function(target).node)


@functools.cache
def _suspects_of_reference(target: Target) -> frozenset[str]:
    return frozenset(_suspects([tree_of(reference_function(target).module_source)]))


@functools.cache
def _size(target: Target) -> int:
    return len(list(ast.walk(reference_function(target).node)))


def _bare(function: ast.AST) -> str:
    node = tree_of(ast.unparse(function)).body[0]
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
        if ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.dump(node)


def _spliced(functions: dict[Target, LearnerFile]) -> dict[str, Any]:
    submission = Submission(functions)
    modules = {}
    for module in sorted(submission.modules):
        path = source_path(module, str(PACKAGE))
        is_package = path.endswith("__init__.py")
        neutral = neutral_path(module, is_package)
        code = splice_source(pathlib.Path(path).read_text(encoding="utf-8"), neutral, module, submission)
        modules[module] = (neutral, is_package, code)
    nodes: list[ast.AST] = []
    text: list[str] = []
    for file in {f.path: f for f in functions.values()}.values():
        targets = [t for t, f in functions.items() if f.path == file.path]
        own = [file.find(t) for t in targets]
        methods = {id(m): m for t in targets for m in file.helping_methods(t)}
        helpers = file.helpers([t.name for t in targets])
        nodes += [*own, *methods.values(), *helpers]
        text += [ast.unparse(n) for n in (*own, *methods.values(), *helpers)]
    suspects = sorted(_suspects(nodes).difference(*map(_suspects_of_reference, functions)))
    flags = [f"uses {name}" for name in suspects]
    if sum(map(_size, functions)) > _TELLING and all(_is_ours(f, t) for t, f in functions.items()):
        flags.append("the reference's, word for word")
    # with lines and files, which a verdict names; not of the code, whose bytes are not the same in every process
    places = "\n".join([*submission.files, *(ast.dump(n, include_attributes=True) for n in nodes)])
    data = marshal.dumps(modules)
    return {
        "modules": base64.b64encode(data).decode("ascii"),
        "digest": hashlib.sha256(places.encode("utf-8", "surrogatepass")).hexdigest()[:24],
        "files": list(submission.files),
        "place": [submission.files[0], next(iter(functions.values())).find(next(iter(functions))).lineno],
        "flags": flags,
        "grams": _grams("\n".join(text)),
    }


def _suspects(nodes: Sequence[ast.AST]) -> set[str]:
    found: set[str] = set()
    for top in nodes:
        for node in ast.walk(top):
            match node:
                case ast.Import(names=names):
                    found |= {a.name.partition(".")[0] for a in names} & _SUSPECT_MODULES
                    found |= {"jitkit.kata" for a in names if a.name.startswith("jitkit.kata")}
                case ast.ImportFrom(module=module):
                    found |= {(module or "").partition(".")[0]} & _SUSPECT_MODULES
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    found |= {name} & _SUSPECT_NAMES
                case ast.Constant(value=str() as value):
                    found |= {value} & (_SUSPECT_NAMES | {"jax", "jax.numpy", "jaxlib"})
    return found


def _grams(source: str) -> list[int]:
    """Hashes of runs of tokens, names and numbers made equal: what is left of a text when it is renamed."""
    kinds: list[str] = []
    with contextlib.suppress(tokenize.TokenError, SyntaxError, IndentationError):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NAME:
                kinds.append(token.string if keyword.iskeyword(token.string) else "n")
            elif token.type == tokenize.NUMBER:
                kinds.append("0")
            elif token.type == tokenize.OP:
                kinds.append(token.string)
    grams = {
        zlib.crc32(" ".join(kinds[i : i + _GRAM]).encode()) for i in range(max(0, len(kinds) - _GRAM + 1))
    }
    return sorted(grams)[:2000]


# --- the process ----------------------------------------------------------------------------------------------------------


def serve(labs_folder: str) -> int:
    """Requests are lines of JSON, answers frames. Each submission is read by a fork."""
    labs = all_labs(pathlib.Path(labs_folder))
    for lab in labs:
        for exercise in lab.exercises:
            for target in exercise.targets:  # what all forks need is found out before
                _bare_reference(target), _suspects_of_reference(target), _size(target)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        ours, theirs = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(ours)
            _answer(request, labs, theirs)
        os.close(theirs)
        with open(ours, "rb") as stream:
            data = stream.read(_LONGEST_FRAME)
        _, status = os.waitpid(pid, 0)
        if status or not data:
            signal_ = os.waitstatus_to_exitcode(status)
            data = json.dumps(
                {
                    "status": INVALID,
                    "sentence": _DIED,
                    "exercises": {},
                    "flags": [],
                    "digest": f"ended {signal_}",
                }
            ).encode()
        sys.stdout.buffer.write(struct.pack(">Q", len(data)) + data)
        sys.stdout.buffer.flush()
    return 0


_DIED = "Reading it took more time or memory than any honest file does: nothing of it was run."


def _answer(request: dict[str, Any], labs: Sequence[Lab], pipe: int) -> None:
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(2 * _SECONDS)
        data = read_submission(pathlib.Path(request["path"]), labs, request["only"])
        with open(pipe, "wb") as stream:
            stream.write(json.dumps(data).encode("utf-8", "replace"))
        os._exit(0)
    except (MemoryError, RecursionError):
        os._exit(9)
    except OSError as error:
        sentence = f"It cannot be read: {error.strerror}."
        with contextlib.suppress(OSError), open(pipe, "wb") as stream:
            stream.write(
                json.dumps(
                    {
                        "status": "INFRA",
                        "sentence": sentence,
                        "exercises": {},
                        "flags": [],
                        "digest": "",
                        "handed_in": 0.0,
                    }
                ).encode()
            )
        os._exit(0)
    finally:
        os._exit(1)


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1]))
