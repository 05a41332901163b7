"""the lines on a miss -> the same lines, and below each difference without advice that no edit is needed

`explain` says so once, below all misses. The Explorer's page shows one miss at a time, so it says so for each miss.

JAX: jax/_src/interpreters/partial_eval.py:diff_types
"""

from __future__ import annotations

from collections.abc import Sequence

from .differences import Difference

_NO_EDIT = "No edit is needed: this program is compiled once, and found again at the next such call."
ONE_MORE_SHAPE = f"{_NO_EDIT} If sizes keep coming, pad to a few of them, and mask what was added."


def with_edits(lines: Sequence[str], differences: Sequence[Difference]) -> list[str]:
    """Return the lines on a miss. For each kind of difference without advice, add a line that no edit is needed, below
    the first difference of that kind.
    """
    found, kinds = [*lines], {each.kind for each in differences if each.advice}
    for difference in differences:
        if difference.kind not in kinds:
            kinds.add(difference.kind)
            at = found.index(f"  {difference.sentence}") + 1
            found.insert(at, f"    {_without_an_edit(difference)}")
    return found


def _without_an_edit(difference: Difference) -> str:
    if difference.kind == "shape":
        return ONE_MORE_SHAPE
    return one_more_static_value(difference.now) if difference.kind == "static" else _NO_EDIT


def one_more_static_value(text: str) -> str:
    """Return the sentence for one more value of a static argument; `text` is that value."""
    is_number = text.removeprefix("-")[:1].isdigit()
    return (
        f"{_NO_EDIT} If it is to compute with, and no shape, make it an ordinary argument." if is_number else _NO_EDIT
    )
