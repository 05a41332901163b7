"""Writes functions inside a function: functions under `jit`, branches, and bodies of loops, each line by line.

Such a function takes a few values in scope as its operands, and may close over others. The call of it has one result or
several, and later lines may use some, all or none of them. Inside the body of such a function no further function is
written: the operations here return False.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from . import arrays
from .arrays import Value, Writer

_DEEPEST = 1
_MOST_LINES = 2  # a function inside of a function has at most this many lines


def _is_small(value: Value) -> bool:
    return value.dtype in ("float32", "float16") and len(value.shape) <= 2


@contextlib.contextmanager
def _inside(writer: Writer, parameters: Sequence[Value]) -> Iterator[None]:
    """Within the block, indent the lines that are written, as the body of a function. In scope are its parameters, and perhaps the values
    around it.
    """
    before, margin = list(writer.scope), writer.margin
    closes_over = not parameters or writer.choices.chance(50)
    writer.scope = [*(before if closes_over else ()), *parameters]
    writer.margin, writer.depth = margin + "    ", writer.depth + 1
    yield
    writer.scope, writer.margin, writer.depth = before, margin, writer.depth - 1


def _some(writer: Writer, most: int) -> list[Value]:
    """Return values to be operands, or the parts of a carry: at least one, and perhaps the same one twice; [] if no
    value in scope is small.
    """
    small = [value for value in reversed(writer.scope) if _is_small(value)]
    return [writer.choices.of(small) for _ in range(1 + writer.choices.below(most))] if small else []


def _named(writer: Writer, values: Sequence[Value]) -> list[Value]:
    return [value._replace(name=next(writer.names)) for value in values]


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _body(writer: Writer, parameters: Sequence[Value], wanted: Sequence[Value]) -> None:
    """Write lines, and a `return` of values that have the wanted types."""
    with _inside(writer, parameters):
        for _ in range(writer.choices.below(_MOST_LINES + 1)):
            writer.step()
        writer.line(f"return {_tuple([writer.of_type(value.shape, value.dtype) for value in wanted])}")


def _results(writer: Writer, expression: str, like: Sequence[Value]) -> None:
    made = _named(writer, like)
    names = [value.name for value in made]
    writer.line(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {expression}")
    writer.scope += made


def _too_deep(writer: Writer) -> bool:
    return writer.depth >= _DEEPEST


def jit(writer: Writer) -> bool:
    """Write a jitted function and a call of it. Return False, and write nothing, if no value suits or a body is being written."""
    operands = _some(writer, 2)
    if not operands or _too_deep(writer):
        return False
    name, parameters = next(writer.names), _named(writer, operands)
    wanted = [writer.choices.of(operands) for _ in range(1 + writer.choices.below(2))]
    writer.line("@jax.jit")
    writer.line(f"def {name}({', '.join(value.name for value in parameters)}):")
    _body(writer, parameters, wanted)
    _results(writer, f"{name}({', '.join(value.name for value in operands)})", wanted)
    return True


def branches(writer: Writer) -> bool:
    """Write a `cond`, or a `switch` with three branches, and the value that chooses. Return False, and write nothing, if no value
    suits or a body is being written.
    """
    operands = _some(writer, 2)
    chooser = writer.pick(lambda value: value.dtype != "bool")
    if not operands or chooser is None or _too_deep(writer):
        return False
    count = 2 + writer.choices.below(2)
    number = f"{chooser.name}.sum()" if chooser.shape else chooser.name
    closed = writer.choices.chance(30)
    names = [next(writer.names) for _ in range(count)]
    wanted = [writer.choices.of(operands) for _ in range(1 + writer.choices.below(2))]
    for name in names:
        parameters = [] if closed else _named(writer, operands)
        writer.line(f"def {name}({', '.join(value.name for value in parameters)}):")
        _body(writer, parameters, wanted)
    passed = "" if closed else "".join(f", {value.name}" for value in operands)
    if count == 2:
        _results(writer, f"lax.cond({number} > 0.5, {', '.join(names)}{passed})", wanted)
    else:
        _results(writer, f"lax.switch({number}.astype('int32'), [{', '.join(names)}]{passed})", wanted)
    return True


def scan(writer: Writer) -> bool:
    """Write a scan, forwards or in reverse, over the first axis of a value or with a given length. Return False, and write
    nothing, if no value suits or a body is being written.
    """
    carry = _some(writer, 3)
    if not carry or _too_deep(writer):
        return False
    over = [value for value in reversed(writer.scope) if _is_small(value) and value.shape and value.shape[0]]
    xs = [] if not over or writer.choices.chance(15) else [writer.choices.of(over)]
    name, state, x = next(writer.names), next(writer.names), next(writer.names)
    parts = _named(writer, carry)
    element = [Value(x, xs[0].shape[1:], xs[0].dtype)] if xs else []
    ys = [writer.choices.of([*parts, *element]) for _ in range(writer.choices.below(2))]
    length = xs[0].shape[0] if xs else writer.choices.of((2, 1, 0, 3))
    weak = [value.shape == () and value.dtype == "float32" and writer.choices.chance(20) for value in carry]
    writer.line(f"def {name}({state}, {x}):")
    with _inside(writer, [*parts, *element]):
        writer.line(f"{_tuple([value.name for value in parts])} = {state}")
        for _ in range(writer.choices.below(_MOST_LINES + 1)):
            writer.step()
        ends = [writer.of_type(value.shape, value.dtype) for value in carry]
        rows = [writer.of_type(value.shape, value.dtype) for value in ys]
        writer.line(f"return {_tuple(ends)}, {_tuple(rows) if rows else None}")
    start = _tuple(["0.0" if is_weak else value.name for value, is_weak in zip(carry, weak, strict=True)])
    given = xs[0].name if xs else f"None, length={length}"
    reverse = ", reverse=True" if writer.choices.chance(30) else ""
    made, stacked = _named(writer, carry), [Value(next(writer.names), (length, *y.shape), y.dtype) for y in ys]
    results = f"{_tuple([v.name for v in made])}, {_tuple([v.name for v in stacked]) if stacked else '_'}"
    writer.line(f"{results} = lax.scan({name}, {start}, {given}{reverse})")
    writer.scope += [*made, *stacked]
    return True


def _turn(writer: Writer, carry: Sequence[Value], counts: bool) -> str:
    """Write the body of a loop with this carry, and return the body's name. Its first parameter is the number of the
    turn; with `counts`, the body itself counts, and the number is the first part of the carry.
    """
    name, state, parts = next(writer.names), next(writer.names), _named(writer, carry)
    number = Value(next(writer.names), (), "int32")
    writer.line(f"def {name}({state}):" if counts else f"def {name}({number.name}, {state}):")
    with _inside(writer, [*parts, number]):
        writer.line(f"{_tuple([value.name for value in ([number, *parts] if counts else parts)])} = {state}")
        for _ in range(writer.choices.below(_MOST_LINES + 1)):
            writer.step()
        ends = [writer.of_type(value.shape, value.dtype) for value in carry]
        writer.line(f"return {_tuple([f'{number.name} + 1', *ends] if counts else ends)}")
    return name


def counted(writer: Writer) -> bool:
    """Write a `fori_loop`. Return False, and write nothing, if no value suits or a body is being written."""
    carry = _some(writer, 3)
    if not carry or _too_deep(writer):
        return False
    name = _turn(writer, carry, counts=False)
    start, end = writer.choices.of((0, 1, -1)), writer.choices.of((2, 1, 0, 3))
    _results(writer, f"lax.fori_loop({start}, {end}, {name}, {_tuple([v.name for v in carry])})", carry)
    return True


def repeated(writer: Writer) -> bool:
    """Write a `while_loop` whose carry has a counter, which bounds the number of turns. Return False, and write nothing, if no value
    suits or a body is being written.
    """
    carry = _some(writer, 3)
    if not carry or _too_deep(writer):
        return False
    name = _turn(writer, carry, counts=True)
    limit = writer.choices.of((2, 1, 0, 3))
    made = Value(next(writer.names), (), "int32")
    start = _tuple(["0", *(value.name for value in carry)])
    _results(writer, f"lax.while_loop(lambda s: s[0] < {limit}, {name}, {start})", [made, *carry])
    return True


def unrolled(writer: Writer) -> bool:
    """Write an unrolled scan: each trip makes several steps, or all of them. Return False where `scan` does."""
    if not scan(writer):
        return False
    writer.lines[-1] = f"{writer.lines[-1][:-1]}, unroll={writer.choices.of((2, 3, True, 4))})"
    return True


OPERATIONS = {
    **arrays.OPERATIONS, "jit": jit, "branches": branches, "scan": scan, "counted": counted, "repeated": repeated,
    "unrolled": unrolled,
}  # fmt: skip
