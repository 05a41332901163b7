"""a name -> a lab with one exercise that is proven, for its author to change"""

from __future__ import annotations

import pathlib
import re

from jitkit.kata.engine.manifest import read_lab

from .generate import write_generated

_SKELETON = pathlib.Path(__file__).with_name("skeleton")
_NAME = re.compile(r"(\d\d)_([a-z]\w*)")


class NewLabError(Exception):
    """Raised if a lab cannot be begun: its name makes no sense, or its number is taken."""


def new_lab(name: str, root: pathlib.Path) -> tuple[pathlib.Path, list[pathlib.Path]]:
    """Write the skeleton of a lab into a clone; return its folder and the files. Raise NewLabError if the
    name makes no sense, or its number is taken.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise NewLabError(f"{name!r} should be a number and a name, such as 20_sorting")
    number, word = match.groups()
    taken = sorted((root / "labs").glob(f"{number}_*"))
    if taken:
        raise NewLabError(f"there is a lab {taken[0].name} already: choose another number")
    folder = root / "labs" / name
    hidden = root / "grading" / "hidden" / f"{name}.py"
    written = []
    for template in sorted(_SKELETON.glob("*.in")):
        path = hidden if template.stem == "hidden.py" else folder / template.stem
        text = template.read_text(encoding="utf-8").replace("NN", number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("TITLE", word.replace("_", " ").capitalize()), encoding="utf-8")
        written.append(path)
    return folder, [*written, *write_generated(read_lab(folder), root)]
