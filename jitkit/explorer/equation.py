"""An equation of a traced function, and the known facts about it

Its jaxpr is ours or JAX's: a `Dialect` has the few things in which they differ.

JAX: jax/_src/core.py:JaxprEqn
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class Place(NamedTuple):
    """A position in a Python file. `code` is the code object there, or None if it is not known."""

    file: str
    line: int
    function: str
    code: Any = None


def file_in(source: str | None) -> str:
    """Return the file in `f at /path/file.py:12`; "" if there is none."""
    return (source or "").partition(" at ")[2].rpartition(":")[0]


class Dialect(Protocol):
    """The differences between our jaxprs and JAX's."""

    def inside(self, value: Any) -> Any:
        """Return the jaxpr (the object with `eqns`) in a parameter, or None."""

    def with_equations(self, value: Any, eqns: list[Any]) -> Any:
        """Return the parameter with these equations in its jaxpr."""

    def marked(self, eqn: Any, params: dict[str, Any], mark: str) -> Any:
        """Return the equation with these parameters, and one more scope around it."""

    def place(self, eqn: Any) -> Place | None:
        """Return the place where the user wrote the equation; None if it is not known."""

    def names(self, eqn: Any) -> str:
        """Return the equation's name stack as text: `G/transpose(jvp(B))`."""

    def is_library_s(self, inner: Any) -> bool:
        """Return whether a jaxpr is one of the library's own functions, such as `relu`."""

    def is_literal(self, atom: Any) -> bool:
        """Return whether an operand is a scalar that is written into the program."""


class Unchanged(NamedTuple):
    """Why an equation's result is a value that already exists: `words` says it, or the equation undoes the equation
    `partner`. `kept` is the position of the operand that the result equals.
    """

    words: str
    partner: int | None = None
    kept: int | None = None


@dataclasses.dataclass
class Equation:
    """One equation. `parent` is the number of the equation in whose jaxpr it stands.

    - `returned_at`: the positions of its results among the function's results.
    - `live`: whether a result or an effect depends on it; `is_result`: whether it makes a result of the function, a
      branch or a turn.
    - `constant`: whether its result does not depend on the arguments; `why_constant`: the reason, if it reads arguments
      nevertheless (`x & False`); `becomes`: the number that the result then is.
    - `never_taken`: why the branch in which it stands is never taken, or "".
    - `fill`: the number that all elements of its result are, if they are equal.
    - `same_as`: the numbers of the equations that compute the same; `unchanged`: why its result is a value that exists
      already, or None.
    - `operands`: for each operand, the equations that make it (`~i` is the i-th argument).
    - `way`: "forward" or "backward" in code that was differentiated.
    """

    eqn: Any
    parent: int | None
    place: Place | None
    returned_at: tuple[int, ...] = ()
    live: bool = False
    is_result: bool = False
    constant: bool = False
    why_constant: str = ""
    becomes: Any = None
    never_taken: str = ""
    fill: Any = None
    same_as: tuple[int, ...] = ()
    unchanged: Unchanged | None = None
    operands: tuple[frozenset[int], ...] = ()
    way: str | None = None

    @property
    def primitive(self) -> str:
        """The name of its primitive."""
        return str(self.eqn.primitive.name)

    @property
    def size(self) -> int:
        """How many elements its results have."""
        return sum(getattr(var.aval, "size", 0) for var in self.eqn.outvars)

    @property
    def results(self) -> str:
        """The types of its results: `f32[3] f32[]`."""
        return " ".join(
            var.aval.str_short(short_dtypes=True) if hasattr(var.aval, "str_short") else str(var.aval)
            for var in self.eqn.outvars
        )


def all_behind(equations: Sequence[Equation], number: int) -> set[int]:
    """Return the equations that an equation depends on, directly or through others."""
    found: set[int] = set()
    waiting = [number]
    while waiting:
        made = {each for origins in equations[waiting.pop()].operands for each in origins if each >= 0} - found
        found |= made
        waiting += made
    return found


def is_applied(equations: Sequence[Equation], number: int) -> bool:
    """Return whether an equation is in a function that a scatter applies to pairs of elements. Such an equation does
    not become its own operation.
    """
    parent = equations[number].parent
    return parent is not None and equations[parent].primitive.startswith("scatter")
