"""a generator, or a list of numbers -> the choices that a random program is made of

A writer of programs asks for numbers in turn. The numbers are kept, so that the program can be written again. With fewer or
smaller numbers the program becomes simpler: the first option of each choice is the plainest, and after the end of the
list the first option is always taken. In this way programs that show a difference are shortened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

_MOST = 400  # choices of one program; after them the first option is taken
_LARGE = 1 << 30


class Choices:
    """The choices of one program.

    Attributes:
      made: the choices so far, each as the number of the option that was taken, from 0.
    """

    def __init__(self, given: Sequence[int]) -> None:
        self.given = given
        self.made: list[int] = []

    @classmethod
    def drawn(cls, rng: Any) -> Choices:
        """Return new choices, drawn by a `numpy.random.Generator`."""
        return cls(rng.integers(_LARGE, size=_MOST).tolist())

    def below(self, count: int) -> int:
        """Return the next choice, a number from 0 to `count - 1`; 0 if there are no more."""
        place = len(self.made)
        number = self.given[place] % count if place < len(self.given) else 0
        self.made.append(number)
        return number

    def of(self, options: Sequence[T]) -> T:
        """Return one of the options; the first should be the plainest."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """Return True in `percent` of a hundred cases; False is the plainer choice."""
        return self.below(100) >= 100 - percent


def shorter(made: Sequence[int]) -> Iterator[list[int]]:
    """Yield smaller lists of choices, to shrink a program: with a part left out, with a part set to zero, or with one
    number made smaller.
    """
    count = len(made)
    for size in (16, 8, 4, 2, 1):
        for start in range(0, count, max(size // 2, 1)):
            rest = [*made[:start], *made[start + size :]]
            if size < count and len(rest) < count:
                yield rest
    for start in range(0, count, 4):
        if any(made[start : start + 4]):
            yield [*made[:start], *[0] * len(made[start : start + 4]), *made[start + 4 :]]
    for place, number in enumerate(made):
        for smaller in {0, number // 2, number - 1}:
            if 0 <= smaller < number:
                yield [*made[:place], smaller, *made[place + 1 :]]
