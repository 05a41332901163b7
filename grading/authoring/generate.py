"""labs/*/lab.toml + the reference -> exercises.py, lab.ipynb, solutions/*.py, and the table of helpers in README.md

Nothing about an exercise is written by hand twice: signature and docstring come from the reference, and what else is said
about it from the manifest. The files are committed; `python -m grading generate --check` says whether they are fresh.
"""

from __future__ import annotations

import pathlib
import re
import textwrap
from collections.abc import Sequence

from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.mutants import in_its_class
from jitkit.kata.engine.parts import Part, imports_of, parts_of, signature_of
from jitkit.kata.engine.reference import ReferenceFunction, reference_function

from ..shared import ROOT
from .notebooks import BUILD, USE, WIDTH, lab_notebook, sections_of

_WIDTH = 110  # of the comments and rules in exercises.py

_WIDEST_SIGNATURE = 90  # in the table of helpers
_USE = """\
The table lists what the stubs import from jitkit, and the attributes of `self` and of other objects that you meet
(`Class.name`), each with the first sentence of its docstring. For the whole docstring give the name, as in
`jitkit show {first}`; `jitkit show {lab}.1` shows the rows for one exercise. `jitkit run FILE` runs a program of yours with the
functions that you have finished, and `jitkit python` is a prompt with them.
"""


class GenerateError(Exception):
    """Raised if a lab's files cannot be made: a name means two things, two checks of an exercise have one name, or a function's body
    begins on the line of its `def`.
    """


def generated_files(lab: Lab, root: pathlib.Path = ROOT) -> dict[pathlib.Path, str]:
    """Return the path and the content of each file that is generated for a lab of the clone at `root`; a README only if the lab has one."""
    path = lab.folder / "README.md"
    readme = {path: readme_text(lab)} if path.is_file() else {}
    return {
        lab.folder / "exercises.py": exercises_text(lab),
        **readme,
        lab.folder / "lab.ipynb": lab_notebook(lab, imports_of_lab(lab), stubs_by_exercise(lab), *readme.values()),
        root / "solutions" / f"{lab.name}.py": solutions_text(lab),
    }


def stale_files(lab: Lab, root: pathlib.Path = ROOT) -> dict[pathlib.Path, str]:
    """Return the generated files that are missing or out of date, each with its new content."""
    files = generated_files(lab, root).items()
    return {p: text for p, text in files if not p.is_file() or p.read_text(encoding="utf-8") != text}


def write_generated(lab: Lab, root: pathlib.Path = ROOT) -> list[pathlib.Path]:
    """Write the stale files, and return their paths."""
    stale = stale_files(lab, root)
    for path, text in stale.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(stale)


def exercises_text(lab: Lab) -> str:
    """Return `exercises.py`: the imports, and for each exercise its task as a comment, and its stubs."""
    doc = (
        f"{lab.number} {lab.title}: the exercises. README.md beside this file tells what they are about.\n\n"
        f"Write the functions. `jitkit` checks each one when you save; `jitkit hint {lab.ids[0]}` helps, one\n"
        "step further each time. You may add helpers and imports: functions, classes, constants. Other\n"
        "statements at the top are not run. The parameters stay as they are: other code calls these\n"
        "functions. A class has only those methods that are yours to write; the others are the\n"
        "reference's.\n"
    )
    parts = [f'"""{doc}"""', "from __future__ import annotations", imports_of_lab(lab)]
    for exercise in lab.exercises:
        points = "1 point" if exercise.points == 1 else f"{exercise.points} points"
        comment = [_rule(f"{exercise.id} {exercise.title} ({points})"), *_comment(exercise.task)]
        parts.append("\n".join(comment))
        parts += _stubs(exercise)
    return _joined(parts)


def stubs_by_exercise(lab: Lab) -> dict[str, str]:
    """Return the stubs of each exercise, by its id, as the source of a notebook's cell."""
    return {exercise.id: "\n\n\n".join(_stubs(exercise)) for exercise in lab.exercises}


def _stubs(exercise: Exercise) -> list[str]:
    return by_class([_stub(reference_function(target), exercise) for target in exercise.targets])


def solutions_text(lab: Lab) -> str:
    """Return `solutions/NN_name.py`: the reference's functions. Above those of each exercise a comment says why they are so, what the
    usual mistakes are, and where JAX does the same.
    """
    parts = [
        f'"""{lab.number} {lab.title}: the solutions, as the reference has them, and why."""',
        "from __future__ import annotations",
        imports_of_lab(lab),
    ]
    for exercise in lab.exercises:
        lines = [_rule(f"{exercise.id} {exercise.title}"), *_comment(exercise.why), "#", "# Usual mistakes:"]
        for mistake in exercise.mistakes:
            lines += _comment(mistake, "#   - ", "#     ")
        lines += ["#", f"# In JAX: {exercise.jax}"]
        parts.append("\n".join(lines))
        parts += by_class([in_its_class(t, reference_function(t).source) for t in exercise.targets])
    return _joined(parts)


def by_class(functions: Sequence[str]) -> list[str]:
    """Return the sources of functions. Methods of one class that follow each other stand under one `class` line."""
    parts: list[str] = []
    for text in functions:
        head, _, body = text.partition("\n")
        if parts and head.startswith("class ") and parts[-1].startswith(f"{head}\n"):
            parts[-1] += f"\n\n{body}"
        else:
            parts.append(text)
    return parts


def _stub(function: ReferenceFunction, exercise: Exercise) -> str:
    """Return a function's signature and docstring, with `raise NotImplementedError` as its body."""
    doc = function.node.body[0] if function.docstring else None
    lines = function.module_source.splitlines()
    text = textwrap.dedent("\n".join(lines[function.node.lineno - 1 : function.node.body[0].lineno - 1]))
    if doc is not None:
        end = doc.end_lineno or doc.lineno
        text = textwrap.dedent("\n".join(lines[function.node.lineno - 1 : end]))
    width = WIDTH - 4 * (len(function.target.path) - 1)
    return in_its_class(function.target, f'{narrowed(text, width)}\n    raise NotImplementedError("{exercise.id}")')


def readme_text(lab: Lab) -> str:
    """Return `README.md` with a fresh table of helpers; the rest of the file is written by hand."""
    text = (lab.folder / "README.md").read_text(encoding="utf-8")
    parts = parts_of([target for exercise in lab.exercises for target in exercise.targets], lab.names)
    sections = [part for part in sections_of(text) if not part.startswith(f"## {USE}\n")]
    place = 1 + max(
        (i for i, part in enumerate(sections) if part.startswith(f"## {BUILD}\n")), default=len(sections) - 1
    )
    use = f"## {USE}\n\n{_USE.format(lab=lab.number, first=parts[0].name)}\n{table_of(parts)}\n\n" if parts else ""
    return "".join([*sections[:place], use, *sections[place:]])


def imports_of_lab(lab: Lab) -> str:
    """Return the imports that a lab's functions need, as a file outside of jitkit writes them. Names of exercises are
    defined in that file, and not imported. Raise GenerateError if two functions need different things under one name.
    """
    defined = {name.partition(".")[0] for name in lab.names}
    source: dict[str, str] = {}
    for exercise in lab.exercises:
        for target in exercise.targets:
            function = reference_function(target)
            for name, line in ((item.name, item.line) for item in imports_of(function) if item.name not in defined):
                if source.setdefault(name, line) != line:
                    raise GenerateError(f"{lab.name}: `{name}` comes from two imports, {source[name]!r} and {line!r}")
    plain = sorted(line for line in set(source.values()) if line.startswith("import "))
    froms: dict[str, set[str]] = {}
    for line in set(source.values()):
        if line.startswith("from "):
            module, _, name = line.removeprefix("from ").partition(" import ")
            froms.setdefault(module, set()).add(name)
    own = [_import_line(m, sorted(names)) for m, names in sorted(froms.items()) if m.startswith("jitkit")]
    other = [_import_line(m, sorted(names)) for m, names in sorted(froms.items()) if not m.startswith("jitkit")]
    return "\n\n".join("\n".join(block) for block in ([*plain, *other], own) if block)


# --- text -----------------------------------------------------------------------------------------------------


def _import_line(module: str, names: Sequence[str]) -> str:
    """Return `from module import names`, in parentheses if it is too long for a line."""
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    listed = textwrap.fill(", ".join(names), WIDTH - 1, initial_indent="    ", subsequent_indent="    ")
    return f"from {module} import (\n{listed},\n)"


_ARGUMENT = re.compile(r"\s*[\w*.]+(, [\w*.]+)*: ")
_CODE = re.compile(r"`[^`]*`")


def narrowed(stub: str, width: int) -> str:
    """Return a stub with its signature, and the sentences of its docstring, wrapped to `width` characters. Examples and tables
    stay as they are, however long.
    """
    head, quotes, doc = stub.partition('"""')
    head = _signature(head, width)
    if not quotes:
        return head
    one_line = "\n" not in doc
    lines = f'    """{doc}'.removesuffix('"""').rstrip().split("\n")
    found: list[str] = []
    while lines:
        indent = _indent(lines[0])
        is_sentence = indent == 4 or (indent == 6 and not lines[0].lstrip().startswith("- "))
        item = [lines.pop(0)]
        hanging = indent + 2 if indent == 6 and _ARGUMENT.match(item[0]) else indent
        while is_sentence and lines and lines[0] and _indent(lines[0]) == hanging:
            if hanging == 6 and _ARGUMENT.match(lines[0]):
                break
            item.append(lines.pop(0))
        found += _filled(item, width, indent, hanging) if is_sentence and max(map(len, item)) > width else item
    closing = '"""' if one_line and len(found) == 1 and len(found[0]) + 3 <= width else '\n    """'
    return head + ("\n".join(found) + closing).removeprefix("    ")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _filled(item: Sequence[str], width: int, indent: int, hanging: int) -> list[str]:
    """Return the lines `item` as one paragraph, wrapped to `width`. The first line begins with `indent` spaces, the
    others with `hanging`. Text between backquotes is not split.
    """
    text = _CODE.sub(lambda m: m[0].replace(" ", "\0"), " ".join(line.strip() for line in item))
    first, rest = " " * indent, " " * hanging
    lines = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


def _signature(head: str, width: int) -> str:
    """Return `head`, the lines before a docstring, wrapped: if one is longer than `width`, the parameters go to a line
    below `def`, or to one line each if they do not fit there.
    """
    if max(map(len, head.split("\n"))) <= width:
        return head
    before, define, signature = head.partition("def ")
    name, _, rest = " ".join(signature.split()).partition("(")
    parts, depth = [""], 1
    while depth:
        sign, rest = rest[0], rest[1:]
        depth += (sign in "([{") - (sign in ")]}")
        parts[-1] += sign
        if sign == "," and depth == 1:
            parts.append("")
    parameters = [part.rstrip(",").strip() for part in (*parts[:-1], parts[-1][:-1]) if part.strip(", )")]
    together = f"    {', '.join(parameters)}"
    listed = [together] if len(together) <= width else [f"    {parameter}," for parameter in parameters]
    return f"{before}{define}{name}(\n" + "\n".join(listed) + f"\n){rest}\n    "


def _rule(title: str) -> str:
    return f"# --- {title} ".ljust(_WIDTH, "-")


def _comment(text: str, first: str = "# ", rest: str = "# ") -> list[str]:
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        lines += ["#"] if lines else []
        lines += textwrap.wrap(
            " ".join(paragraph.split()), _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False
        )
    return lines


def _joined(parts: Sequence[str]) -> str:
    """Return the parts of a module, joined: one empty line after each of the first two, and between a rule and a class; two elsewhere."""
    head, code = parts[:3], parts[3:]
    text = "\n\n".join(part for part in head if part)
    return text + "\n\n\n" + "\n\n\n".join(code).replace("-\n\n\nclass", "-\n\nclass") + "\n"


def table_of(parts: Sequence[Part]) -> str:
    """Return the helpers as a table in Markdown. A signature that is too wide stands without annotations. The table has
    `int or None` for `int | None`: a bar ends a cell, and not every reader of Markdown removes the backslash before one.
    """
    rows = []
    for item in parts:
        signatures = [item.signature, signature_of(item.value, annotated=False)]
        shortest = signature_of(item.value, annotated=False, returns=False)
        signature = next((s for s in signatures if len(s) <= _WIDEST_SIGNATURE), shortest)
        code = f"{item.name}{signature}".replace(" | ", " or ").replace("|", "\\|")
        rows.append(f"| `{code}` | {item.sentence.replace('|', chr(92) + '|')} |")
    return "\n".join(["| | |", "|---|---|", *rows])
