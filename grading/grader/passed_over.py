"""an exercise without an answer -> places where its author may have written one nevertheless

No point is lost silently: before an exercise counts as "not written", the grader looks at all files that it did not
take. If one may contain an answer, the exercise is INVALID, with the place, and a person decides.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.names import Function
from jitkit.kata.engine.submission import LearnerFile, SpliceError, Target, is_stub

from .answers import Answers
from .files import Invalid, Passed, shown
from .sources import Source, was_handed_out


def elsewhere(
    reader: Answers, lab: Lab, exercise: Exercise, unreadable: Sequence[Passed], passed: Iterable[Passed]
) -> str:
    """Return a sentence about an answer that was not taken, or "" if there is none.

    Args:
      unreadable: the sources that could not be read. Their `why` is the sentence to return.
      passed: the files that were not read.
    """
    for target in exercise.targets:
        name = target.path[-1]
        if _is_written(reader, lab, target):
            continue
        for file in unreadable:
            if name in file.functions:
                return file.why
        for file in passed:
            if name in file.functions:
                return f"`{target.name}` seems to be in {shown(file.path)}, which was not read: {file.why}."
            if "archive" in file.why:
                return f"It is not in the files that were read, and {shown(file.path)} is {file.why}. Hand in a zip, or the files."
        for source in reader.sources:
            if not source.module and (sentence := _in_source(reader, lab, target, source)):
                return sentence
    return ""


def _is_written(reader: Answers, lab: Lab, target: Target) -> bool:
    try:
        return not is_stub(reader.candidate(lab, target).find(target))
    except (Invalid, SpliceError, LookupError):
        return False


def _in_source(reader: Answers, lab: Lab, target: Target, source: Source) -> str:
    """Return a sentence about an answer in a source that was read, but from which it was not taken; "" if there is none."""
    name = target.path[-1]
    if name in source.unread:
        return f"`{target.name}` is in {source.path}, {source.unread[name]}; that was not read."
    if name not in reader.bound[source.path]:
        return ""
    file = reader.file(source, lab)
    if isinstance(file, SpliceError):
        return "" if source in reader.of_lab(lab) else f"{source.path} has no Python in it that can be read: {file}."
    if source not in reader.of_lab(lab):
        own = source.hint and any(target.name in other.names for other in reader.labs if other.number == source.hint)
        function = file.functions.get(target.name)
        if own or function is None or is_stub(function) or was_handed_out(source.path, source.text, reader.labs):
            return ""
        why = "which is named after another lab" if source.hint else "beside the files that are named after the lab"
        return f"`{target.name}` is written in {source.path}, {why}, and was not taken. Hand it in with the lab's own file."
    for line, why in _misplaced(file, target):
        return f"`{target.name}` is in line {line} of {source.path}, {why}."
    return ""


def _misplaced(file: LearnerFile, target: Target) -> Iterator[tuple[int, str]]:
    """Yield the lines at which a file has a function in a place from which it is not taken, with the reason."""
    counts = file.functions.get(target.name)
    for place, node in _functions(file.tree.body, ()):
        if node.name != target.path[-1] or is_stub(node) or node is counts:
            continue
        if place == target.path:
            if counts is not None and is_stub(counts):
                yield node.lineno, f"and once more, unwritten, in line {counts.lineno}, which counts: delete that one"
        elif ("" in place or ".".join(place) not in file.exercises) and (len(target.path) == 1 or len(place) == 1):
            yield node.lineno, f"but not at its place: it is to be `{target.name}`, not inside of anything else"
    for statement in file.tree.body:
        names = [t.id for t in getattr(statement, "targets", ()) if isinstance(t, ast.Name)]
        if names == [target.name]:
            yield statement.lineno, "as a value: write it with `def`"


def _functions(body: Sequence[ast.stmt], place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Function]]:
    """Yield the functions of a module or class, each with its place. The place is a tuple: the names of the classes around the function,
    a "" for each `if`, `try`, `with` or loop, and the function's name.
    """
    for node in body:
        if isinstance(node, Function):
            yield (*place, node.name), node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, (*place, node.name))
        else:
            for part in ("body", "orelse", "finalbody", "handlers"):
                inside = [n for n in getattr(node, part, ()) if isinstance(n, ast.stmt | ast.ExceptHandler)]
                for each in inside:
                    inner = each.body if isinstance(each, ast.ExceptHandler) else [each]
                    yield from _functions(inner, (*place, ""))
