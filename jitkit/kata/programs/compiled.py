"""choices -> programs that compile a function of arrays to C, and run the C line by line in Python."""

from __future__ import annotations

from ..engine.choices import Choices

_SHAPES = ((3, 4), (5,), (2, 3, 4), (4, 1), (1, 6), (1,), (3, 3), (2, 0), (4, 2))
_UNARY = (
    "jnp.exp(-jnp.abs({0}))",
    "{0} * 2",
    "jnp.tanh({0})",
    "{0} - 1",
    "-{0}",
    "jnp.where({0} > 0, {0}, 0.5 * {0})",
    "{0} * {0}",
)
_BINARY = ("{0} + {1}", "{0} * {1}", "{0} - {1}", "jnp.maximum({0}, {1})", "jnp.where({0} > {1}, {0}, {1})")
_MOVES = ("transpose", "rev", "slice", "broadcast", "expand", "transpose")
_OTHERS = {
    "any": "({0} > 0.5).any", "all": "({0} > -0.5).all", "of integers": "jnp.round({0} * 9).astype('int32').max",
    "of small integers": "jnp.round({0} * 9).astype('int8').min",
}  # fmt: skip
_REDUCE = ("sum", "max", "min", "prod", "mean", *_OTHERS)


class _Program:
    """The lines of a program, and the names and shapes of its arrays."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        shape = choices.of(_SHAPES)
        self.pool: list[tuple[str, tuple[int, ...]]] = [("x", shape), ("y", shape)]
        self.lines: list[str] = []

    def add(self, expression: str, shape: tuple[int, ...]) -> None:
        name = "abcdefghijklmnop"[len(self.lines)]
        self.lines.append(f"    {name} = {expression}")
        self.pool.append((name, shape))

    def take(self) -> tuple[str, tuple[int, ...]]:
        """Return the name and shape of an array. The first option, which shortening prefers, is the newest array."""
        return self.pool[-1 - self.choices.below(len(self.pool))]

    def elementwise(self) -> None:
        name, shape = self.take()
        alike = [other for other, size in self.pool if size == shape]
        if self.choices.chance(50):
            self.add(self.choices.of(_BINARY).format(name, self.choices.of(alike)), shape)
        else:
            self.add(self.choices.of(_UNARY).format(name), shape)

    def move(self) -> None:
        name, shape = self.take()
        n, kind = len(shape), self.choices.of(_MOVES)
        axis = self.choices.below(n) if n else 0
        if kind == "broadcast" or not n:
            place = self.choices.below(n + 1)
            new = (*shape[:place], 2 + self.choices.below(2), *shape[place:])
            kept = tuple(k for k in range(n + 1) if k != place)
            self.add(f"lax.broadcast_in_dim({name}, {new}, {kept})", new)
        elif kind == "transpose":
            order = list(range(n))
            order = order[axis:] + order[:axis]
            if self.choices.chance(50) or order == sorted(order):
                order.reverse()
            self.add(f"jnp.transpose({name}, {tuple(order)})", tuple(shape[k] for k in order))
        elif kind == "rev":
            axes = tuple(k for k in range(n) if k == axis or self.choices.chance(30))
            self.add(f"lax.rev({name}, {axes})", shape)
        elif kind == "expand" and shape[axis] == 1:
            new = (*shape[:axis], 3, *shape[axis + 1 :])
            self.add(f"lax.broadcast_in_dim({name}, {new}, {tuple(range(n))})", new)
        else:
            start = self.choices.below(shape[axis]) if shape[axis] else 0
            step = 1 + self.choices.below(3)
            end = shape[axis] - (self.choices.below(shape[axis] - start) if shape[axis] > start else 0)
            self.add(
                f"lax.slice_in_dim({name}, {start}, {end}, {step}, {axis})",
                (*shape[:axis], -(-(end - start) // step), *shape[axis + 1 :]),
            )

    def reduce(self) -> None:
        name, shape = self.take()
        n = len(shape)
        if not n or 0 in shape:
            self.elementwise()
            return
        axis = n - 1 - self.choices.below(n)
        axes = self.choices.of((axis, None, tuple(range(axis + 1))))
        keep = self.choices.chance(50)
        gone = range(n) if axes is None else axes if isinstance(axes, tuple) else (axes,)
        left = tuple(1 if k in gone else size for k, size in enumerate(shape))
        kept = tuple(size for k, size in enumerate(shape) if k not in gone)
        kind = self.choices.of(_REDUCE)
        if kind in _OTHERS:  # these give another type, and `* 1.0` converts back
            self.add(f"{_OTHERS[kind].format(name)}(axis={axes}, keepdims={keep}) * 1.0", left if keep else kept)
        elif keep and self.choices.chance(60):
            self.add(f"{name} - {name}.{kind}(axis={axes}, keepdims=True)", shape)
        else:
            self.add(f"{name}.{kind}(axis={axes}{', keepdims=True' if keep else ''})", left if keep else kept)

    def store(self) -> None:
        """Add a cumulative operation, whose operand and result are in memory; if the array drawn is a scalar, add an elementwise one."""
        name, shape = self.take()
        if shape:
            axis = self.choices.below(len(shape))
            self.add(f"{self.choices.of(('lax.cumsum', 'lax.cummax'))}({name}, axis={axis})", shape)
        else:
            self.elementwise()

    def repeat(self) -> None:
        """Add a loop."""
        name, shape = self.take()
        other, _ = self.choices.of([each for each in self.pool if each[1] == shape])
        body = self.choices.of(("0.5 * c + {0}", "jnp.tanh(c + i) * {0}", "lax.cumsum(c, axis=0) * 0.1 + {0}"))
        body = body.format(other) if shape else f"c + {other}"
        self.add(f"lax.fori_loop(0, {self.choices.below(4)}, lambda i, c: {body}, {name})", shape)

    def text(self, what: str = "") -> str:
        """Return the source of the program, whose function has one result or two. `what` is appended to the call of `ran`."""
        shape = self.pool[0][1]
        results = [self.pool[-1][0]]
        if self.choices.chance(50):
            results.append(self.choices.of([name for name, _ in self.pool[2:]] or ["x"]))
        size = int(np_size(shape))
        wave = f"np.{{0}}({{1}} * np.arange({size}.0)).astype('float32').reshape({shape})"
        one, two = 1 + self.choices.below(5), 1 + self.choices.below(5)
        lines = self.lines or ["    a = x * 2"]
        return "\n".join(
            [
                "from jitkit.kata.subjects.c_by_hand import ran", "def f(x, y):", *lines,
                f"    return {', '.join(results) if self.lines else 'a'}",
                f"x, y = {wave.format('sin', one)}, {wave.format('cos', two)}", f"ran(f, x, y){what}",
            ]
        )  # fmt: skip


def np_size(shape: tuple[int, ...]) -> int:
    """Return the number of elements of a shape."""
    size = 1
    for n in shape:
        size *= n
    return size


def _of(kinds: str, most: int = 6) -> object:
    """Return a function that writes a program of one to `most` operations; `kinds` names the methods of `_Program` to choose from."""
    names = kinds.split()

    def write(choices: Choices) -> str:
        program = _Program(choices)
        for _ in range(1 + choices.below(most)):
            getattr(program, choices.of(names))()
        return program.text()

    return write


moved = _of("move move elementwise")
fused = _of("elementwise reduce move store")
reduced = _of("reduce elementwise reduce move")
planned = _of("store elementwise repeat store reduce", 8)


def buffers(choices: Choices) -> str:
    """Return a call of `placed` on lives of buffers and their sizes in bytes. Lives may touch, or be the same."""
    names = [f"b{i}" for i in range(1 + choices.below(9))]
    lives, sizes = {}, {}
    for name in names:
        first = choices.below(8)
        lives[name] = (first, first + choices.below(5))
        sizes[name] = 64 * choices.of((1, 2, 3, 4, 8, 1, 2, 0))
    return f"from jitkit.loops.plan import placed\nplaced({lives}, {sizes})"
