"""choices -> programs that call functions of lab 00 or 10, or `jit_by` (a jit with the user's own cache key), on
arguments of many kinds
"""

from __future__ import annotations

from ..engine.choices import Choices
from .arrays import Writer

_PITFALLS = "from jitkit.kata.subjects.pitfalls import "
_STARTS = (
    "jnp.ones((2, 2))", "jnp.float32([1, 2])", "2.0", "[1, 2]", "np.float64([1, 2, 3])", "3", "np.int8([1, 5])", "True",
    "np.float32([2, 1])",
)  # fmt: skip
_RATES = ("0.5", "1", "np.float32(0.25)", "-0.5", "np.int32(2)", "np.float64(0.125)", "0")


def _data(choices: Choices, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[str, ...] = ("float32",)) -> str:
    return Writer(choices, ()).data(choices.of(shapes), choices.of(dtypes))


def activation(choices: Choices) -> str:
    """Return a program that calls `relu` on arrays of many shapes and dtypes: plainly, under `vmap`, or in a
    derivative.
    """
    shapes, floats = ((3,), (), (2, 3), (0,)), ("float32", "float16", "bfloat16")
    if choices.chance(60):
        if choices.chance(25):
            special = [choices.of(("nan", "-inf", "-2.5", "inf", "0.5")) for _ in range(1 + choices.below(3))]
            return f"nan, inf = np.nan, np.inf\nx = np.array([{', '.join(special)}], '{choices.of(floats[:2])}')\njax.nn.relu(x)"
        return f"x = {_data(choices, shapes, (*floats, 'int32', 'int8', 'int32', 'int8'))}\njax.nn.relu(x)"
    ways = ("jax.grad(lambda x: (jax.nn.relu(x) * x).sum().astype('float32'))(x)", "jax.vmap(jax.nn.relu)(x)")
    return f"x = {_data(choices, ((3,), (2, 3), (1, 1)), floats)}\n{choices.of(ways)}"


def stopwatch(choices: Choices) -> str:
    """Return a call of `call_seconds` on a function that moves a clock by the seconds in a list, and returns an array,
    a tree or None.
    """
    tries = choices.of((3, 1, 2, 5, 9))
    seconds = [choices.of((1, 2, 5, 0.5, 60, 3)) for _ in range(1 + tries)]
    result = choices.of(("x", "{'a': x, 'b': [x, None]}", "None", "()", "jnp.ones(3)"))
    return f"""\
{_PITFALLS}call_seconds
now, calls, seconds = [0.0], [], {seconds}
x = jnp.zeros(2)
def function(*args):
    now[0] += seconds[len(calls)]
    calls.append(args)
    return {result}
given = {choices.of(("()", "(1,)", "(1, 'a')"))}
call_seconds(function, *given, tries={tries}, clock=lambda: now[0]), calls"""


def descent(choices: Choices) -> str:
    """Return a program with gradient descents on several functions, from numbers, lists and arrays, with rates of many
    types, or without any. It returns the first x, too, which must still be there.
    """
    gradient = choices.of(("x * 2", "jnp.sin(x)", "jax.grad(lambda y: (y * y * c).sum())(x)", "jnp.ones_like(x)"))
    start = choices.of(_STARTS if choices.chance(50) else _STARTS[:2])
    rates = [choices.of(_RATES if "sin" in gradient else (*_RATES, "2049", "1e5")) for _ in range(choices.below(5))]
    rates = rates * 2 if choices.chance(40) else rates
    return f"""\
{_PITFALLS}descend
traced, c = [], {choices.of(("1.0", "np.float32(3)"))}
def gradient(x):
    traced.append((x.shape, str(x.dtype)))
    return {gradient}
start = {start}
x = descend(gradient, start, [{", ".join(rates)}])
x, str(x.dtype), len(traced) > 1, set(traced) if {bool(rates)} else 0, np.asarray(start)"""


def buckets(choices: Choices) -> str:
    """Return a program on rows of many lengths, some of them equal, with numbers near zero and far from it, and any padding.
    It returns the rows, too, which must be as they were.
    """
    kinds = (
        "[0.5, 1.5, 4]",
        "[2, 8, 1]",
        "[3]",
        "np.arange(9.0)",
        "list(range(17))",
        "np.ones(8)",
        "np.arange(65.0) % 7 + 50",
        "np.float32([1, 2, 5])",
    )
    rows = [choices.of(kinds if choices.chance(60) else kinds[:2]) for _ in range(choices.below(5))]
    padding = choices.of(("0", "np.nan", "np.inf", "1e30"))
    numbers = choices.of(("[1, 2, 4]", "[5]", "[-1, 1]", "[100, 101, 103]"))
    numbers = "[2, 4] * 1025 + [3]" if choices.chance(6) else numbers
    if choices.chance(15):
        rows.append("np.arange(1500.0) % 5 + (np.arange(1500) > 1024)")
    lengths = [1 + choices.below(choices.of((9, 70, 5000))) for _ in range(3)]
    lengths.append(2 ** (3 + choices.below(25)) + choices.of((0, 1, 1, -1)))
    return f"""\
{_PITFALLS}bucket_size, variance_of_first, variances
numbers = {numbers}
padded = np.float32([*numbers, *[{padding}] * {1 + choices.below(5)}])
rows = [{", ".join(rows)}]
found = variances(rows)
[bucket_size(n) for n in {lengths}], found, variance_of_first(padded, len(numbers)), [np.asarray(row) for row in rows]"""


def masks(choices: Choices) -> str:
    """Return a program on arrays that contain infinities, with thresholds above all elements, below all, or between
    them, and sizes from nothing to all.
    """
    numbers = [choices.of(("1.5", "-2", "0", "4", "np.inf", "-np.inf", "0.5")) for _ in range(choices.of((3, 1, 5)))]
    count, many = len(numbers), " * 67" if choices.chance(15) else ""
    size = choices.of((1, 0, count))
    shape = choices.of(("()", "-1", "1, -1") if count == 1 and not many else ("-1", "1, -1"))
    threshold = choices.of(
        ("0.0", "1", "100.0", "-100", "np.float32(0.5)", "0", "-3", "-0.5", "-np.inf", "-np.inf", "np.inf")
    )
    return f"""\
{_PITFALLS}first_above, mean_above
x = np.float32([{", ".join(numbers)}]{many})
mean_above(x.reshape({shape}), {threshold}), first_above(x, {threshold}, size={size})"""


def temperatures(choices: Choices) -> str:
    """Return a program with one or two sweeps over temperatures of many types; each step asks for probabilities or their logarithms."""
    kinds = ("1.0", "2", "np.float32(0.5)", "100.0", "np.float64(3)", "np.int32(4)", "-2.0")
    schedules = [
        ", ".join(f"({choices.of(kinds[: choices.of((6, 1))])}, {choices.chance(50)})" for _ in range(choices.below(5)))
        for _ in range(1 + choices.below(2))
    ]
    return f"""\
{_PITFALLS}probabilities, sweep
logits = {_data(choices, ((3,), (1,), (5,)))}
probabilities(logits, {choices.of(kinds)}, in_logs={choices.chance(50)}), {", ".join(f"sweep(logits, [{s}])" for s in schedules)}"""


def tracers(choices: Choices) -> str:
    """Return a program on trees with a tracer somewhere, or without one, and on running means of arrays,
    some of which have another shape.
    """
    leaves = ("t", "t", "1.0", "x", "None", "np.ones(2)", "'text'", "gone")
    tree = choices.of(
        (
            "[{0}, {1}]",
            "{{'b': {0}, 'a': ({1}, {2})}}",
            "{0}",
            "({0}, [{1}, {{'k': {2}}}])",
            "[]",
            "[t, *[1.0] * 8, {0}, t]",
            "Pair(t, {0})",
            "Holder({0})",
            "[(t, {1}), Holder({0})]",
            "t",
        )
    )
    tree = tree.format(*(choices.of(leaves) for _ in range(3)))
    shape = choices.of(((2,), (), (2, 2)))
    updates = [
        choices.of(("good", "good * 3", "good - 1", "good * np.nan", "bad", "longer"))
        for _ in range(1 + choices.below(4))
    ]
    return f"""\
{_PITFALLS}RunningMean, leaks, observed
import collections
Pair = collections.namedtuple("Pair", "second first")
class Holder:
    def __init__(self, inside): self.inside = inside
found, x, gone = [], jnp.zeros(3), jnp.ones(2)
gone.delete()
def f(t):
    found.append(leaks({tree}))
    return t * 2
jax.make_jaxpr(f)(1.0)
mean, good, bad = RunningMean({shape}), np.full({shape}, 1.5, np.float32), np.zeros(7, np.float32)
longer = np.ravel(good) if good.ndim > 1 else bad
for each in [{", ".join(updates)}]:
    try: found.append(mean.update(each))
    except (TypeError, ValueError): found.append("refused")
    found.append((mean.mean.shape, mean.mean, mean.count))
found, leaks(vars(mean)), observed(np.float32(1), np.int32({choices.below(5)}), np.float32(4))"""


def fits(choices: Choices) -> str:
    """Return a program that calls `fit` with up to four rates of many types, perhaps followed by ten more of one type. It
    returns the last x, the log of losses, and the first x, which must still be there.
    """
    rates = [choices.of(_RATES) for _ in range(choices.below(5))]
    rates += ["0.125"] * 10 if choices.chance(25) else []
    return f"""\
{_PITFALLS}fit
start = jnp.asarray({_data(choices, ((3,), (), (2, 2)))})
x, log = fit(start, [{", ".join(rates)}])
x, sorted(log), [log[key] for key in sorted(log)], np.asarray(start)"""


def keyed(choices: Choices) -> str:
    """Return a program that calls a function of `jit_by`. Its cache key is complete, or lacks a part that does not
    matter for these calls.
    """
    function = choices.of(
        ("x + 1", "x * 2", "jnp.sin(x)", "x[::-1]", "x + table[:3]", "jnp.ones(3)", "x * jnp.max(table)")
    )
    key = choices.of(("x.aval", "(x.shape, x.dtype)", "x.shape", "x.dtype", "None"))
    kinds: tuple[str, ...] = (
        "np.float32([1, 2, 3])",
        "jnp.arange(3.0)",
        "np.float32([0, -1, 5])",
        "np.int32([1, 2, 3])",
    )
    if key == "x.dtype":
        kinds = kinds[:3]
    if key in ("x.aval", "(x.shape, x.dtype)"):
        kinds = (*kinds, "np.ones((2, 3), 'float32')", "np.float16([1, 2, 3])", "np.ones(3, bool)")
    given = [choices.of(kinds) for _ in range(1 + choices.below(4))]
    return f"""\
from jitkit.kata.subjects.small_jit import jit_by
table, traced = np.arange(5000.0, dtype="float32"), []
def fun(x):
    traced.append(str(x.aval))
    return {function}
f = jit_by(lambda x: {key}, fun)
found = [f({given[0]})]
{chr(10).join(f"found.append(f({each}))" for each in given[1:])}
found, [str(each.dtype) for each in found], traced"""
