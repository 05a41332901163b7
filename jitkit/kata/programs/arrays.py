"""choices -> lines of a program on arrays, whose shapes and dtypes go together

`Writer` knows the values in scope, with their shapes and dtypes, and writes one line after the other: `step` takes one
of the operations that it was made with. Data are small multiples of a quarter, with zeros, equal numbers and negative
numbers among them, so that most sums are exact and ties occur.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..engine.choices import Choices

_FLOATS = (0.5, 1.0, -1.0, 2.0, 0.0, 0.25, 1.0, -0.5, 1.5, 3.0, -2.0)
_INTS = (1, 2, 0, 3, -1, 2, 5)
_LETTERS = "abcdeghkmnpqrstuvwyz"  # not f, the function; not i, j, l, o, x


class Value(NamedTuple):
    """A name in scope."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def is_float(self) -> bool:
        """Whether its dtype is a float, so that a derivative can be taken with respect to it."""
        return "float" in self.dtype


class Writer:
    """Writes the lines of a random program.

    Args:
      choices: the source of its random choices.
      operations: the operations that `step` may write, the plainest first: see `OPERATIONS` here and in `nested`. Each
        returns whether it found operands, and so wrote something.
    """

    def __init__(self, choices: Choices, operations: Sequence[Callable[[Writer], bool]]) -> None:
        self.choices = choices
        self.operations = tuple(operations)
        self.lines: list[str] = []
        self.margin = ""
        self.scope: list[Value] = []
        self.depth = 0
        self.names: Iterator[str] = (letter + (str(n) if n else "") for n in itertools.count() for letter in _LETTERS)

    def line(self, text: str) -> None:
        """Write a line, indented like the body that is being written."""
        self.lines.append(self.margin + text)

    def value(self, expression: str, shape: Sequence[int], dtype: str) -> Value:
        """Write a line that gives an expression a name. Return this value, which is in scope from now on."""
        made = Value(next(self.names), tuple(shape), dtype)
        self.line(f"{made.name} = {expression}")
        self.scope.append(made)
        return made

    def pick(self, suits: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """Return a value in scope for which `suits` is true, or None if there is none. The latest one is the plainest
        choice.
        """
        found = [value for value in reversed(self.scope) if suits(value)]
        return self.choices.of(found) if found else None

    def data(self, shape: Sequence[int], dtype: str = "float32") -> str:
        """Return an expression for an array of this shape and dtype; the numbers in it are drawn."""
        count = math.prod(shape)
        start, stride = self.choices.below(11), 1 + self.choices.below(9)
        table = {"bool": (True, False, True)}.get(dtype, _FLOATS if "float" in dtype else _INTS)
        numbers = [table[(start + stride * i) % len(table)] for i in range(count)]
        if not shape:
            return f"{_constructor(dtype)}({numbers[0]}{_end(dtype)})"
        listed = f"{_constructor(dtype)}([{', '.join(map(str, numbers))}]{_end(dtype)})"
        return listed if len(shape) == 1 else f"{listed}.reshape({', '.join(map(str, shape))})"

    def step(self) -> None:
        """Write one of the operations; if there are no operands for it, write a `unary` one."""
        if not self.choices.of(self.operations)(self):
            unary(self)

    def steps(self, most: int) -> None:
        """Draw a number from 0 to `most`, and call `step` that many times."""
        for _ in range(self.choices.below(most + 1)):
            self.step()

    def of_type(self, shape: tuple[int, ...], dtype: str) -> str:
        """Return an expression of this shape and dtype: a value in scope that has both. If there is none, return the sum of a float
        value in scope, converted and broadcast; if there is no such value either, `jnp.ones`.
        """
        same = [value for value in reversed(self.scope) if value.shape == shape and value.dtype == dtype]
        if same:
            return self.choices.of(same).name
        numbers = [value for value in reversed(self.scope) if value.is_float]
        if not numbers:
            return f"jnp.ones({shape}, {dtype!r})"
        one = self.choices.of(numbers)
        text = f"{one.name}.sum()" if one.shape else one.name
        text = text if one.dtype == dtype else f"{text}.astype({dtype!r})"
        return text if not shape else f"jnp.broadcast_to({text}, {shape})"


def _constructor(dtype: str) -> str:
    return f"np.{dtype}" if dtype in ("float32", "float16", "int32") else "np.asarray"


def _end(dtype: str) -> str:
    if dtype in ("float32", "float16", "int32"):
        return ""
    return f", {dtype!r}" if dtype in ("bool", "int8", "uint8") else f", jnp.{dtype}"


# --- operations: each writes a line, or returns False where nothing in scope suits ------------------------------------

_UNARY = (
    "{0} * 2", "-{0}", "{0} + 1", "jnp.sin({0})", "{0} * {0}", "1 - {0}", "jnp.tanh({0})", "jnp.exp({0} * 0.5)", "jnp.abs({0})",
    "jnp.maximum({0}, 0)", "jnp.where({0} > 0.5, {0}, 0)", "{0} - {0}.max()", "lax.logistic({0})",
)  # fmt: skip
_OF_INTEGERS = ("{0} * 2", "-{0}", "{0} + 1", "{0} * {0}")
_BINARY = (
    "{0} + {1}", "{0} * {1}", "{0} - {1}", "jnp.maximum({0}, {1})", "jnp.minimum({1}, {0})", "jnp.where({0} > {1}, {0}, {1})",
    "{1} * 0.5 - {0}",
)  # fmt: skip


def unary(writer: Writer) -> bool:
    """Write an elementwise function of one value. Return False if no value suits."""
    x = writer.pick()
    if x is None:
        return False
    if x.dtype == "bool":
        writer.value(f"{x.name}.astype('float32')", x.shape, "float32")
    elif x.is_float:
        templates = _UNARY if math.prod(x.shape) else _UNARY[:8]
        writer.value(writer.choices.of(templates).format(x.name), x.shape, x.dtype)
    else:
        writer.value(writer.choices.of(_OF_INTEGERS).format(x.name), x.shape, x.dtype)
    return True


def binary(writer: Writer) -> bool:
    """Write an elementwise operation on two values, perhaps the same one, whose shapes broadcast. Return False if none
    suit.
    """
    x = writer.pick(lambda value: value.dtype != "bool")
    if x is None:
        return False
    y = writer.pick(lambda value: value.dtype != "bool" and _broadcast(x.shape, value.shape) is not None)
    assert y is not None, "x itself suits"
    shape = _broadcast(x.shape, y.shape)
    assert shape is not None, "they were chosen so"
    dtype = promoted(x.dtype, y.dtype)
    templates: Sequence[str] = _BINARY if dtype != "int32" else _BINARY[:6]
    if dtype != x.dtype and dtype != y.dtype:
        templates = _BINARY[:3]
    writer.value(writer.choices.of(templates).format(x.name, y.name), shape, dtype)
    return True


def scaled(writer: Writer) -> bool:
    """Write a product of a value and a scalar, which is an element or the sum of another value. Return False if no value suits."""
    x, y = writer.pick(lambda value: value.is_float), writer.pick(lambda value: value.is_float and bool(value.shape))
    if x is None or y is None:
        return False
    dtype = promoted(x.dtype, y.dtype)
    place = ", ".join(str(writer.choices.below(n)) if n else "..." for n in y.shape)
    one = f"{y.name}.sum()" if writer.choices.chance(50) or not math.prod(y.shape) else f"{y.name}[{place}]"
    writer.value(f"{x.name} * {one}", x.shape, dtype)
    return True


def reduction(writer: Writer) -> bool:
    """Write a reduction (a sum, a maximum, an `argmax`) along one axis or all. Return False if no value suits."""
    x = writer.pick(lambda value: value.dtype != "bool" and bool(value.shape) and bool(math.prod(value.shape)))
    if x is None:
        return False
    name = writer.choices.of(("sum", "max", "min", "prod", "mean", "argmax"))
    if name == "mean" and not x.is_float:
        name = "sum"
    axis = writer.choices.of((None, *range(len(x.shape)), -1))
    if axis is None:
        writer.value(f"{x.name}.{name}()", (), x.dtype if name != "argmax" else "int32")
        return True
    shape = [n for i, n in enumerate(x.shape) if i != axis % len(x.shape)]
    writer.value(f"{x.name}.{name}({axis})", shape, x.dtype if name != "argmax" else "int32")
    return True


def moved(writer: Writer) -> bool:
    """Write a statement that transposes, reshapes, joins or indexes a value. Return False if no value has an axis."""
    x = writer.pick(lambda value: bool(value.shape))
    if x is None:
        return False
    n, rank, name = x.shape, len(x.shape), x.name
    ways: list[tuple[str, tuple[int, ...]]] = [
        (f"{name}.T", n[::-1]),
        (f"{name}.reshape(-1)", (math.prod(n),)),
        (f"{name}[None]", (1, *n)),
        (f"{name}[..., None]", (*n, 1)),
        (f"jnp.stack([{name}, {name}])", (2, *n)),
        (f"jnp.broadcast_to({name}, {(2, *n)})", (2, *n)),
        (f"jnp.concatenate([{name}, {name}], {rank - 1})", (*n[:-1], 2 * n[-1])),
        (f"jnp.moveaxis({name}, 0, -1)", (*n[1:], n[0])),
    ]
    if n[0]:
        ways += [(f"{name}[{writer.choices.below(n[0])}]", n[1:]), (f"{name}[1:]", (n[0] - 1, *n[1:]))]
    if n[-1]:
        ways.append((f"{name}[..., -1]", n[:-1]))
    expression, shape = writer.choices.of([way for way in ways if len(way[1]) <= 3 and math.prod(way[1]) <= 36])
    writer.value(expression, shape, x.dtype)
    return True


def constant(writer: Writer) -> bool:
    """Write a constant array of float32 with the shape of a value in scope, or a scalar if there is none. Return True."""
    x = writer.pick()
    shape = x.shape if x is not None else ()
    writer.value(writer.data(shape), shape, "float32")
    return True


def numbered(writer: Writer) -> bool:
    """Write a `broadcasted_iota`, which has no operands, with the shape of a value in scope. Return False if none has an axis."""
    x = writer.pick(lambda value: bool(value.shape))
    if x is None:
        return False
    axis = writer.choices.below(len(x.shape))
    writer.value(f"lax.broadcasted_iota('float32', {x.shape}, {axis})", x.shape, "float32")
    return True


def stretched(writer: Writer) -> bool:
    """Write an operation of `lax` on two arrays of one rank, in which some axes have size 1. Return False if no value suits."""
    x = writer.pick(lambda value: value.is_float and bool(value.shape))
    if x is None:
        return False
    rank = len(x.shape)
    axis, operation = writer.choices.below(rank), writer.choices.of(("sub", "add", "mul"))
    narrow = f"lax.slice_in_dim({x.name}, 0, {min(1, x.shape[axis])}, axis={axis})"
    other = x.name
    if rank > 1 and writer.choices.chance(40):  # both stretch
        across = (axis + 1) % rank
        other = f"lax.slice_in_dim({x.name}, 0, {min(1, x.shape[across])}, axis={across})"
    operands = (narrow, other) if writer.choices.chance(50) else (other, narrow)
    writer.value(f"lax.{operation}({', '.join(operands)})", x.shape, x.dtype)
    return True


def twice(writer: Writer) -> bool:
    """Write the difference of two calls of one operation, on one operand, with different parameters. Return False if no value suits."""
    x = writer.pick(lambda value: value.is_float and bool(value.shape))
    if x is None:
        return False
    last = len(x.shape) - 1
    one, other = writer.choices.of(
        (
            (f"lax.cumsum({x.name}, 0)", f"lax.cumsum({x.name}, {last}, reverse=True)"),
            (f"lax.rev({x.name}, (0,))", f"lax.rev({x.name}, ({last},))"),
            (f"lax.cummax({x.name}, {last})", f"lax.cummax({x.name}, 0, reverse=True)"),
        )
    )
    writer.value(f"{one} - {other}", x.shape, x.dtype)
    return True


def cast(writer: Writer) -> bool:
    """Write a conversion to another dtype. Return False if no value suits."""
    x = writer.pick()
    if x is None:
        return False
    dtype = writer.choices.of(("float32", "float16", "int32"))
    writer.value(f"{x.name}.astype({dtype!r})", x.shape, dtype)
    return True


def product(writer: Writer) -> bool:
    """Write a `dot_general` that sums over one axis of each of two operands; another pair of axes may be a batch axis.
    Return False if no value suits.
    """
    x = writer.pick(lambda value: value.is_float and bool(value.shape))
    if x is None:
        return False
    pairs = [
        (y, i, j)
        for y in reversed(writer.scope)
        if y.dtype == x.dtype and len(x.shape) + len(y.shape) <= 5
        for i, n in enumerate(x.shape)
        for j, m in enumerate(y.shape)
        if n == m
    ]
    y, i, j = writer.choices.of(pairs)
    kept = [n for axis, n in enumerate(x.shape) if axis != i], [n for axis, n in enumerate(y.shape) if axis != j]
    others = [(a, b) for a, n in enumerate(x.shape) for b, m in enumerate(y.shape) if a != i and b != j and n == m]
    if others and writer.choices.chance(40):  # one more pair of axes: a batch axis
        a, b = writer.choices.of(others)
        shape = [x.shape[a], *(n for axis, n in enumerate(x.shape) if axis not in (i, a))]
        shape += [n for axis, n in enumerate(y.shape) if axis not in (j, b)]
        numbers = f"((({i},), ({j},)), (({a},), ({b},)))"
    else:
        shape = [*kept[0], *kept[1]]
        numbers = f"((({i},), ({j},)), ((), ()))"
    writer.value(f"lax.dot_general({x.name}, {y.name}, {numbers})", shape, x.dtype)
    return True


def promoted(one: str, other: str) -> str:
    """Return the dtype to which two dtypes promote; all three are names, such as "float32"."""
    if one == other:
        return one
    floats = [dtype for dtype in (one, other) if "float" in dtype]
    if len(floats) == 1:
        return floats[0]
    return "float32" if floats else next(dtype for dtype in (one, other) if dtype != "bool")


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    rank = max(len(one), len(other))
    pairs = zip((*[1] * (rank - len(one)), *one), (*[1] * (rank - len(other)), *other), strict=True)
    shape = []
    for n, m in pairs:
        if n != m and 1 not in (n, m):
            return None
        shape.append(m if n == 1 else n)
    return tuple(shape)


OPERATIONS: Mapping[str, Callable[[Writer], bool]] = {
    "unary": unary, "binary": binary, "scaled": scaled, "reduction": reduction, "moved": moved, "constant": constant,
    "cast": cast, "numbered": numbered, "stretched": stretched, "twice": twice, "product": product,
}  # fmt: skip
