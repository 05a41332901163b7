"""a file of a submission (a module or a notebook) -> its source, as a string; nothing is run"""

from __future__ import annotations

import ast
import codecs
import contextlib
import json
import pathlib
import re
import types
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jitkit.kata.engine.manifest import Lab
from jitkit.kata.engine.names import tree_of
from jitkit.kata.engine.submission import is_stub

from .files import Found, Invalid, shown

DEFINES = re.compile(r"^[ \t\f]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)


_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)")  # PEP 263
_OF_BYTES = re.compile(r"iso8859-\d+|cp125\d|mac-roman")
_MOST_MAGICS = 100  # more magics in a cell are not looked for: to find each, the cell is parsed again
_FOR_IPYTHON = re.compile(
    r"""([ \t]*)(?:[!%?].*|[\w., \t]+=[ \t]*[!%].*|[\w.*]+\?{1,2}[ \t]*)$"""  # %time f(), files = !ls, help?
)


class Source(NamedTuple):
    """The source of a file of a submission, and what is known about it."""

    path: str
    text: str
    hint: str  # the number of the lab that its path names, or ""
    broken: dict[str, tuple[str, int]]  # functions in cells that are not valid Python: why not, and in which line
    flags: tuple[str, ...]
    duplicated: frozenset[str] = frozenset()  # functions that differ in two cells with the same grade id
    module: str = ""  # in a whole package: the module of jitkit that this file is
    time: float = 0.0  # when the file was written
    unread: Mapping[str, str] = types.MappingProxyType({})  # functions in cells that are not read: why not


def hint_of(path: str, labs: Sequence[Lab]) -> str:
    """Return the number of the lab that a path names, or ""."""
    for part in reversed(pathlib.PurePosixPath(path).parts):
        for lab in labs:
            if part == lab.name or pathlib.PurePosixPath(part).stem == lab.name:
                return lab.number
    return ""


def was_handed_out(path: str, text: str | None, labs: Sequence[Lab]) -> bool:
    """Return whether a file is one that the course hands out, unchanged. Its place decides, and for a source also its content."""
    lab = next((lab for lab in labs if lab.number == hint_of(path, labs)), None)
    ours = lab.folder / pathlib.PurePosixPath(path).name if lab is not None else None
    if ours is None or not ours.is_file():
        return False
    return text is None or _lines(ours.read_text(encoding="utf-8")) == text


def source_of(file: Found, labs: Sequence[Lab]) -> Source:
    """Return a submitted file as a Source. Raise Invalid if its bytes are not text, or it is called a notebook and is not one."""
    name = shown(unicodedata.normalize("NFC", file.path))
    try:
        text = file.data.decode(_declared(file) or "utf-8-sig")
    except UnicodeDecodeError as error:
        line = file.data[: error.start].count(b"\n") + 1
        raise Invalid(
            f"{name} is not in UTF-8 (byte {file.data[error.start]:#x} in line {line}). Save it as UTF-8."
        ) from None
    if "\0" in text:
        raise Invalid(
            f"{name} has a NUL byte in line {text[: text.index(chr(0))].count(chr(10)) + 1}: it is not a text."
        )
    text = _lines(text)
    hint = hint_of(file.path, labs)
    if file.path.lower().endswith(".ipynb"):
        return _notebook(name, text, hint, labs)._replace(time=file.time)
    parts = pathlib.PurePosixPath(file.path).with_suffix("").parts
    module = ""
    if "jitkit" in parts:
        inside = parts[len(parts) - 1 - parts[::-1].index("jitkit") :]
        module = ".".join(inside[:-1] if inside[-1] == "__init__" else inside)
        if module not in {t.module for lab in labs for e in lab.exercises for t in e.targets}:
            module = ""
            text = ""  # a module of the student's whole package without exercises: the reference's module is used
    return Source(name, text, hint, {}, (), frozenset(), module, file.time)


def _declared(file: Found) -> str:
    """Return the encoding that a source declares in its first two lines, if it has one byte for each character;
    otherwise "".
    """
    if not file.path.lower().endswith(".py"):
        return ""
    for line in file.data.splitlines()[:2]:
        if (said := _COOKIE.match(line)) is not None:
            with contextlib.suppress(LookupError):
                name = codecs.lookup(said[1].decode("ascii")).name
                return name if _OF_BYTES.fullmatch(name) else ""
    return ""


def _notebook(name: str, text: str, hint: str, labs: Sequence[Lab]) -> Source:
    """Return the code cells of a notebook as one Source, without magics. A cell that is not valid Python becomes empty lines, and the
    functions in it are `broken`. Also note functions in cells that are not read, functions that differ in two cells with one
    grade id, and signs of tampering. Raise Invalid if the text is not a notebook.
    """
    try:
        data = json.loads(text)
        cells = data["cells"]
        code = [c for c in cells if c["cell_type"] == "code"]
        others = [(c["cell_type"], c.get("source", "")) for c in cells if c["cell_type"] != "code"]
        written = [c.get("source", "") for c in code]
        texts = [_lines("".join(t) if isinstance(t, list) else str(t)) for t in written]
        metas = [m.get("nbgrader", {}) if isinstance(m := c.get("metadata"), dict) else {} for c in code]
        ids = [str(m.get("grade_id", "")) if isinstance(m, dict) else "" for m in metas]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Invalid(f"{name} is not a notebook: {type(error).__name__}: {shown(str(error))}") from None
    targets = {t.path[-1] for lab in labs for e in lab.exercises for t in e.targets}
    lines: list[str] = []
    broken: dict[str, tuple[str, int]] = {}
    versions: dict[tuple[str, str], set[str]] = {}
    flags: set[str] = set()
    unread = _of_other_cells(others, targets)
    for source, id in zip(texts, ids, strict=True):
        cell = _without_magics(source)
        if not cell:
            first = source.strip().partition("\n")[0]
            why = f"in a cell that begins with `{shown(first)[:40]}`"
            unread |= dict.fromkeys(targets.intersection(DEFINES.findall(source)), why)
        try:
            tree = tree_of(cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = len(lines) + (getattr(error, "lineno", 1) or 1)
            for function in targets.intersection(DEFINES.findall(source)):
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
    return Source(name, "\n".join(lines) + "\n", hint, broken, tuple(sorted(flags)), doubled, unread=unread)


def _of_other_cells(cells: Iterable[tuple[str, Any]], targets: Collection[str]) -> dict[str, str]:
    """Return the functions in cells that contain Python, but are not code cells (one keystroke in Jupyter changes that), with the
    kind of cell. Prose with an example in it is not Python.
    """
    found: dict[str, str] = {}
    for kind, written in cells:
        text = _lines("".join(written) if isinstance(written, list) else str(written))
        if not set(targets) & set(DEFINES.findall(text)):
            continue
        try:
            functions = [n for n in tree_of(text).body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        nodes = [n for top in functions for n in ast.walk(top) if isinstance(n, ast.FunctionDef) and not is_stub(n)]
        found |= {n.name: f"in a {shown(str(kind))} cell: make it a code cell" for n in nodes if n.name in targets}
    return found


def _tampered(lab: Lab | None, graded: set[str], texts: dict[str, str]) -> Iterable[str]:
    """Yield a sentence for each exercise whose nbgrader cells with points were removed or changed. The grader does not use them, but
    a person should ask why.
    """
    if lab is None:
        return
    present = {e.id.replace(".", "-") for e in lab.exercises if any(f"-{e.id.replace('.', '-')}" in i for i in texts)}
    for number in sorted(present):
        own = {i for i in graded if i.startswith(f"check-{number}")}
        if not own:
            yield f"the cells with points of {number.replace('-', '.')} are gone"
        elif any(f"verdict_{number.replace('-', '_')}.require" not in texts[i] for i in own):
            yield f"cells with points of {number.replace('-', '.')} were edited"


def _without_magics(text: str) -> str:
    """Return a cell as Python: lines for IPython become `pass` or empty lines, and a cell in another language becomes
    empty.
    """
    if re.match(r"\s*%%", text):
        first, _, rest = text.lstrip().partition("\n")
        if first.split()[0] not in ("%%time", "%%timeit", "%%capture"):
            return ""
        text = "\n" + rest
    lines = text.split("\n")
    for _ in range(
        _MOST_MAGICS
    ):  # look only where Python fails: a line inside a string or a longer expression may begin like a magic
        broken = _broken_line("\n".join(lines))
        if broken is None:
            return "\n".join(lines)
        found = _FOR_IPYTHON.match(lines[broken - 1]) if 0 < broken <= len(lines) else None
        if found is None:
            break
        lines[broken - 1] = found[1] + "pass"
    return "\n".join("" if _FOR_IPYTHON.match(line) else line for line in text.split("\n"))


def _broken_line(text: str) -> int | None:
    """Return the line at which Python fails to parse a string; 0 if Python does not say, None for valid Python."""
    try:
        tree_of(text)
    except SyntaxError as error:
        return error.lineno or 0
    except (ValueError, RecursionError, MemoryError):
        return 0
    return None


def _lines(text: str) -> str:
    """Return a string with a line feed for each line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
