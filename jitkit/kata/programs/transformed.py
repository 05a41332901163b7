"""choices -> programs that define a function of arrays, and call it, under `vmap` or not, or its derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..engine.choices import Choices
from .arrays import Value, Writer
from .nested import OPERATIONS

_SHAPES = ((3,), (), (2, 3), (3, 3), (1,), (0,))


def _function(writer: Writer, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str], most: int) -> list[Value]:
    """Write `def f` with a parameter for each shape and dtype; return the values that `f` returns."""
    parameters = [Value(f"x{i}", shape, dtype) for i, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))]
    writer.line(f"def f({', '.join(value.name for value in parameters)}):")
    writer.margin, writer.scope = "    ", list(parameters)
    writer.step()
    writer.steps(most)
    results = [writer.scope[-1], *(writer.choices.of(writer.scope[::-1]) for _ in range(writer.choices.below(2)))]
    names = [value.name for value in results]
    writer.line(f"return {', '.join(names)}")
    writer.margin = ""
    writer.line("")
    return results


def plain(
    operations: str, most: int = 4, dtypes: Sequence[str] = ("float32",), way: str | Sequence[str] = "f({args})"
) -> Callable[[Choices], str]:
    """Return a function that writes a random program. The program defines a function of one step and up to `most` more, with these
    operations (their names, with spaces between), and calls it. `way` is the source of the call, with `{args}` for the arguments, or
    several such strings, of which one is chosen.
    """
    ways = (way,) if isinstance(way, str) else tuple(way)

    def write(choices: Choices) -> str:
        writer = Writer(choices, [OPERATIONS[word] for word in operations.split()])
        count = 1 + choices.below(3)
        shapes = [choices.of(_SHAPES) for _ in range(count)]
        kinds = [choices.of(dtypes) for _ in range(count)]
        _function(writer, shapes, kinds, most)
        for i, (shape, kind) in enumerate(zip(shapes, kinds, strict=True)):
            writer.line(f"x{i} = {writer.data(shape, kind)}")
        one = choices.of(ways) if len(ways) > 1 else ways[0]
        writer.line(one.format(args=", ".join(f"x{i}" for i in range(count))))
        return "\n".join(writer.lines)

    return write


def _drawn(
    choices: Choices, operations: str, most: int, dtypes: Sequence[str]
) -> tuple[Writer, list[tuple[int, ...]], list[str], list[Value]]:
    """Write `def f` with one to three parameters; return the writer, the parameters' shapes and dtypes, and the values
    that `f` returns.
    """
    writer = Writer(choices, [OPERATIONS[word] for word in operations.split()])
    count = 1 + choices.below(3)
    shapes = [choices.of(_SHAPES[:5]) for _ in range(count)]
    kinds = [choices.of(dtypes) for _ in range(count)]
    return writer, shapes, kinds, _function(writer, shapes, kinds, most)


def mapped(operations: str, most: int = 4, dtypes: Sequence[str] = ("float32",)) -> Callable[[Choices], str]:
    """Return a function that writes a random program: a function of these operations, as in `plain`, and a call of it under `vmap`.
    Batch axes may be anywhere, and some operands have none.
    """

    def write(choices: Choices) -> str:
        writer, shapes, kinds, results = _drawn(choices, operations, most, dtypes)
        count = len(shapes)
        size = choices.of((2, 3, 1))
        batched: list[int | None] = [
            choices.of((0, *range(1, len(shape) + 1), -1)) if i == 0 or choices.chance(60) else None
            for i, shape in enumerate(shapes)
        ]
        first = choices.below(count)  # the batched argument is not always the first one
        batched[0], batched[first] = batched[first], batched[0] if first and batched[0] is not None else batched[first]
        if all(axis is None for axis in batched):
            batched[first] = 0
        places = [_fits(axis, shape) for axis, shape in zip(batched, shapes, strict=True)]
        out = [choices.of((0, *range(1, len(r.shape) + 1), -1, -len(r.shape) - 1)) for r in results]
        arguments = []
        for i, (shape, kind, axis) in enumerate(zip(shapes, kinds, places, strict=True)):
            whole = list(shape)
            if axis is not None:
                whole.insert(axis % (len(shape) + 1), size)
            writer.line(f"a{i} = {writer.data(whole, kind)}")
            arguments.append(f"a{i}")
        ins = f"({', '.join(map(str, places))}{',' if count == 1 else ''})"
        outs = str(out[0]) if len(out) == 1 else f"({', '.join(map(str, out))})"
        result_tree = choices.of(("f", "f", "lambda *xs: [f(*xs)]")) if len(results) == 1 else "f"
        call = f"jax.vmap({result_tree}, in_axes={ins}, out_axes={outs})"
        if choices.chance(30):  # `vmap` once more, over an axis in front of one of the arguments
            i = choices.below(count)
            writer.line(f"a{i} = np.stack([a{i}, -a{i}, a{i}, a{i} * 2])")
            outer = [0 if i == j else None for j in range(count)]
            call = f"jax.vmap({call}, in_axes=({', '.join(map(str, outer))},))"
        writer.line(f"{call}({', '.join(arguments)})")
        return "\n".join(writer.lines)

    return write


def _fits(axis: int | None, shape: tuple[int, ...]) -> int | None:
    return axis if axis is None or axis <= len(shape) else 0


PARTLY_USED = (
    "made = jax.make_jaxpr(f)({args})\njax.jaxpr.dce_jaxpr(made, [i % 2 == 0 for i in range(len(made.outvars))])",
    "made = jax.make_jaxpr(f)({args})\njax.jaxpr.dce_jaxpr(made, True)",
    "made = jax.make_jaxpr(f)({args})\njax.jaxpr.dce_jaxpr(made, [i % 2 == 1 for i in range(len(made.outvars))])",
    "made = jax.make_jaxpr(f)({args})\njax.jaxpr.dce_jaxpr(made, True, instantiate=[i == 0 for i in range(len(made.invars))])",
)
_BROKEN = """\
from jitkit.jaxpr.check import check_jaxpr
made = jax.make_jaxpr(f)({args})
i = len(made.eqns) // 2
def check():
    if made.eqns: CHANGE
    try: check_jaxpr(made)
    except TypeError as error: return type(error).__name__
check()"""
BROKEN = tuple(
    _BROKEN.replace("CHANGE", change)
    for change in (
        "pass",
        "made.eqns.append(made.eqns[i])",
        "made.eqns.reverse()",
        "made.outvars[:] = [*made.eqns[i].outvars, made.eqns[0].outvars[0]]; made.eqns.pop(0)",
        "made.eqns[i].outvars[0].aval = jax.core.ShapedArray((7,), 'float16')",
        "made.eqns[i] = made.eqns[i].replace(outvars=made.invars[:1] or made.eqns[i].outvars)",
    )
)
IN_PYTHON = """\
with jax.disable_jit():
    made = jax.make_jaxpr(f)({args})
(lambda *xs: jax.jaxpr.eval_jaxpr(made, made.consts, *xs))({args})"""
_WAYS = (
    "jax.grad({loss}, {numbers})({args})",
    "jax.value_and_grad({loss}, {numbers})({args})",
    "(lambda {args}: jax.jvp(f, ({some},), ({args},)))({args})",
    "jax.jit(jax.grad({loss}, {numbers}))({args})",
    "(lambda {args}: jax.linearize(f, {some})[1]({args}))({args})",
    "(lambda {args}: jax.vjp(f, {some})[1](f({args})))({args})",
)


def differentiated(
    operations: str, most: int = 4, dtypes: Sequence[str] = ("float32",), ways: Sequence[int] = range(len(_WAYS))
) -> Callable[[Choices], str]:
    """Return a function that writes a random program: a function of these operations, as in `plain`, and a call of one of its
    derivatives. `ways` has the positions in `_WAYS` to choose from.
    """

    def write(choices: Choices) -> str:
        writer, shapes, kinds, results = _drawn(choices, operations, most, dtypes)
        count = len(shapes)
        arguments = []
        for i, (shape, kind) in enumerate(zip(shapes, kinds, strict=True)):
            writer.line(f"x{i} = {writer.data(shape, kind)}")
            arguments.append(f"x{i}")
        args = ", ".join(arguments)
        one = choices.below(len(results))
        result = f"f({args})" if len(results) == 1 else f"f({args})[{one}]"
        loss = f"lambda {args}: {result}.astype('float32').sum()"
        numbers = choices.of((0, tuple(range(count)) if count > 1 else (0,), count - 1))
        way = _WAYS[choices.of(list(ways))]
        some = list(arguments)  # one array may be several arguments
        for i in range(1, count):
            if (shapes[i], kinds[i]) == (shapes[0], kinds[0]) and choices.chance(40):
                some[i] = some[0]
        writer.line(way.format(loss=loss, numbers=numbers, args=args, some=", ".join(some)))
        return "\n".join(writer.lines)

    return write


def gradients(choices: Choices) -> str:
    """Return a program that calls `entropy`, `cube_root` or `through_layers`, of lab 11, or its gradient. The array may be
    empty, the entropy's may contain zeros, and `cube_root` may take many steps or none.
    """
    shape = choices.of(((3,), (), (2, 3), (1,), (0,)))
    writer = Writer(choices, ())
    name = choices.of(("entropy", "cube_root", "through_layers"))
    writer.line(f"from jitkit.kata.subjects.gradients import {name}")
    writer.line(f"x = abs({writer.data(shape)}){'' if name == 'entropy' else ' + 0.5'}")
    if name == "entropy":
        writer.line(
            choices.of(("jax.value_and_grad(entropy)(x)", "jax.grad(lambda x: entropy(x * 0.5) * 2)(x)", "entropy(x)"))
        )
    elif name == "cube_root":
        way = choices.of(("jax.grad(lambda x: cube_root(x, {0}).sum())(x)", "cube_root(x, {0})"))
        writer.line(
            way.format(choices.of((3, 1, 0, 6, 25)))
            if way[0] == "j"
            else f"(lambda x: {way.format(choices.of((3, 1, 0, 6, 25)))})(x)"
        )
    else:
        size = choices.of((3, 1, 2))
        writer.lines[-1] = f"x = {writer.data((size,))}"
        writer.line(f"w = {writer.data((choices.of((2, 1, 4)), size))}")
        writer.line(
            choices.of(("jax.grad(lambda x, w: through_layers(x, w).sum(), (0, 1))(x, w)", "through_layers(x, w)"))
        )
    return "\n".join(writer.lines)
