"""a lab's exercises.py -> the part that belongs to one exercise

The file of stubs comes with the lab. A learner gets a part of it when an exercise is new, or its stub is restored.
"""

from __future__ import annotations

import ast
import re

from ..engine.manifest import Exercise, Lab
from ..engine.names import tree_of
from ..engine.source_edit import function_text
from ..engine.submission import LearnerFile, SpliceError, Target

_RULE = re.compile(r"^# --- (\d\d\.\d) .*$", re.MULTILINE)


def stubs_text(lab: Lab) -> str:
    """Return the whole file of stubs."""
    return (lab.folder / "exercises.py").read_text(encoding="utf-8")


def section(text: str, id: str) -> str:
    """Return the part of one exercise in a file of stubs, or in a learner's that has kept its headings; "" if it is
    missing.
    """
    start, end = section_place(text, id)
    return text[start:end].rstrip() + "\n" if end else ""


def section_place(text: str, id: str) -> tuple[int, int]:
    """Return where an exercise's section begins and ends, as positions in the text; two zeros if there is none."""
    rules = list(_RULE.finditer(text))
    for i, rule in enumerate(rules):
        if rule[1] == id:
            return rule.start(), rules[i + 1].start() if i + 1 < len(rules) else len(text)
    return 0, 0


def stub_of(lab: Lab, target: Target) -> str:
    """Return a function's stub, at the left margin."""
    text = stubs_text(lab)
    function = LearnerFile.parse(text, str(lab.folder / "exercises.py"), ()).find(target)
    return function_text(text, function)


def missing_exercises(lab: Lab, source: str) -> list[Exercise]:
    """Return the exercises without a function in a learner's file, or without a heading if the file is not Python."""
    try:
        functions = LearnerFile.parse(source, "", ()).functions
    except SpliceError:
        return [e for e in lab.exercises if not section(source, e.id)]
    return [e for e in lab.exercises if not any(target.name in functions for target in e.targets)]


def with_sections(lab: Lab, source: str, exercises: list[Exercise]) -> str:
    """Return a learner's file with the stubs of exercises after its last line, and the imports that they need; for an empty file,
    the whole file of stubs.
    """
    text = stubs_text(lab)
    imports = missing_imports(text, source)
    parts = [section(text, e.id) for e in exercises]
    body = "\n\n".join(part for part in ("\n".join(imports), *parts) if part)
    return f"{source.rstrip()}\n\n\n{body}" if source.strip() else text


def missing_imports(stubs: str, source: str) -> list[str]:
    """Return the imports of the file of stubs whose names a learner's file does not import; all of them if that file is not Python."""
    try:
        known = {name for name, _ in _imports(source)}
    except SyntaxError:
        known = set()
    return list(dict.fromkeys(line for name, line in _imports(stubs) if name not in known))


def _imports(source: str) -> list[tuple[str, str]]:
    found = []
    for node in tree_of(source).body:
        if isinstance(node, ast.Import):
            found += [(a.asname or a.name, ast.unparse(ast.Import([a]))) for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            found += [
                (a.asname or a.name, ast.unparse(ast.ImportFrom(node.module, [a], node.level))) for a in node.names
            ]
    return found
