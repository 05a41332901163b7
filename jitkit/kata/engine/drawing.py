"""a random generator -> random functions, as Python source, and functions with which programs of the ladder run them

Like `climbing`, this module is loaded by its path, without jitkit, and programs import it: `from drawing import pick`.
A random function is drawn as source, such as `n.where(x > 0, n.sin(x) * y, x)`. The source is the key of the function's
result, so that a difference names the function.

    pick(rng, a, b)            draws one of some values;   fill(template, draw)  puts what `draw()` returns in place of each `{}`
    vector_functions(...)      draws nested functions of two vectors;   carry(rng, parts)  draws the carry of a loop
    function(jk, rng, ...)     draws a function of six arrays, by a grammar;   world(rng, ...)  draws arrays of several types for it
    in_one(jk, f, *trees)      calls f operation by operation; in jitkit by one program, which is faster
    halves(jk, calls, at_once) computes every other call by `at_once`, and all other calls by one program
    settled(x)                 returns a result with nan for each float that is not finite
    told(jk, x)                returns a result that shows, for each number, whether its type is weak
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

Call = tuple[str, Callable[..., Any], Sequence[Any]]


def pick(rng: Any, *found: Any) -> Any:
    """Draw one of some values."""
    return found[int(rng.integers(len(found)))]


def deck(rng: Any, some: Sequence[Any]) -> Iterator[Any]:
    """Yield values for ever, in a random order: each of them comes once before one comes twice."""
    while True:
        yield from (some[i] for i in rng.permutation(len(some)))


def fill(template: str, draw: Callable[[], str]) -> str:
    """Return a template with what `draw()` returns in place of each `{}`."""
    first, *rest = template.split("{}")
    return first + "".join(draw() + part for part in rest)


def fitting(rng: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Draw a shape that can be broadcast to `shape`."""
    return tuple(n if rng.integers(3) else 1 for n in shape)[int(rng.integers(len(shape) + 1)) :]


def written(name: str, x: np.ndarray) -> str:
    """Return an array as a line of Python; a large one as its type."""
    return f"{name} = np.{x.dtype}({x.tolist()})" if x.size < 13 else f"{name}: {x.dtype}{list(x.shape)}"


# --- functions of two vectors -------------------------------------------------------------------------------------------

CALLED = (  # templates with one expression, or two drawn apart; x and y are vectors, i is an index, g and h are jitted
    "n.sin({})", "n.cos({})", "n.tan({} * 0.5)", "n.tanh({})", "n.exp({} * 0.25)", "n.log({})", "n.sqrt({})", "n.log1p({})",
    "n.expm1({})", "-{}", "n.abs({})", "n.sign({}) * {}", "n.floor({}) * {}", "({}) ** 3.0", "({}) ** 2", "({}) ** -1.0", "({}) ** 0.5",
    "2.0 ** ({})", "g({})", "jk.jit(lambda a: a * y + a)({})", "({}).astype(np.float16).astype(np.float32)", "n.sum({}) * x",
    "n.max({}) * y", "n.min({}) + {}", "n.mean({}) - x", "({})[i] * x", "({})[1:].sum() * {}", "h({}, y)", "h(2.0, {})", "h({}, 2.0)",
    "n.max(n.reshape({}, (2, -1)), axis=0).sum() * x", "n.max({}, keepdims=True) * x", "n.where(i > 1, {}, y)",
    "n.reshape(n.reshape({}, (2, -1)).T, -1)", "n.max(n.reshape({}, (2, -1)), axis=(0, 1)) * x",
)  # fmt: skip
JOINED = (  # templates that join two expressions or more
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "n.maximum({}, {})", "n.minimum({}, {})", "n.power(n.abs({}), {})",
    "n.where(x > 0.5, {}, {})", "n.dot({}, {}) * x", "jk.lax.cond(i > 1, lambda: {}, lambda: {})",
    "jk.lax.switch(i, [lambda: x, lambda: {}, lambda: {}])", "jk.lax.cond(x[0] > 0.5, lambda a: a * 2.0, lambda a: {}, {})",
    "jk.lax.scan(lambda c, r: (c * 0.5 + r, c * r), {}, n.reshape({}, (-1, 1)))[0]",
    "jk.lax.scan(lambda c, r: (c + r * x, r), {}, {}, reverse=True)[0]", "jk.lax.fori_loop(0, 3, lambda k, c: c * 0.5 + {}, {})",
    "jk.jit(lambda a, b: a * b - y)({}, {})", "n.dot(n.reshape({}, (-1, 1)) * {}, x)",
    "jk.lax.scan(lambda c, r: (c * 0.5 + r[0], r[0] * r[1] + c[0]), x, ({}, {}), reverse=True)[1]",
)  # fmt: skip
TURNED = (  # templates with integers, truth values, other shapes, several results of which one counts, and a call that fails first
    "({}) * np.int32([1, 0, 2, -1])", "n.sum(({}) > 0.5) * {}", "({}).astype(np.int32) * {}", "n.broadcast_to({}, (2, 4))[1]",
    "n.transpose(n.full((2, 1, 4), {}), (1, -1, 0))[0, :, 1]", "n.matmul(n.reshape({}, (2, 2)), n.reshape({}, (2, 2))).reshape(4)",
    "jk.jit(lambda a, b: (b, a, a * b, 3, a))({}, {})[2]", "jk.lax.cond(i > 1, lambda a: (a, a, 2), lambda a: (x, a, 3), {})[0]",
    "jk.lax.scan(lambda c, r: ((c[1], c[0] * r, c[2] + 1), (r, 1.5)), ({}, y, 0), {})[0][1]", "caught({}) * {}",
)  # fmt: skip


ARGUMENTS = (  # by which one may differentiate, or not; x is a vector
    "1.5", "True", "2", "np.float32(2)", "np.float16(2)", "np.bool_(True)", "np.int8(2)", "np.uint16(2)", "np.ones((), np.int32)",
    "[1.5, 2]",
    "(1.5, True)", "{'a': 1.5, 'b': None}", "{'a': np.uint8(1), 'b': 1.5}", "()", "[1.5, [np.float16(2)]]", "x",
    "jk.numpy.asarray(2)", "x > 1",
    "None",
)  # fmt: skip


def expression(rng: Any, templates: Sequence[Sequence[str]], depth: int) -> str:
    """Draw a function of x and y, vectors of one size, and i, an index. Templates are nested at most `depth` deep. Each of the sequences
    of templates is equally likely.
    """
    if depth == 0 or rng.integers(8) == 0:
        return str(pick(rng, "x", "x", "y", "x", "1.5 * x", "x * y", "zero", "ones"))
    template = pick(rng, *pick(rng, *templates))
    if depth == 1:
        return fill(template, lambda: pick(rng, "x", "x", "y"))
    return fill(template, lambda: f"({expression(rng, templates, depth - 1)})")


def vectors(rng: Any) -> list[np.ndarray]:
    """Draw seven vectors. Most functions are smooth at the first four, which have only positive numbers; the last two have equal
    numbers, a negative number and 0.
    """
    some = rng.integers(1, 8, 4).astype(np.float32) / 4
    ties = [rng.permutation(np.array([0, 2, 2, -1.5], np.float32)) for _ in range(2)]
    quarters, whole = np.array([0.5, 1.0, 1.0, 0.25], np.float32), np.ones(4, np.float32)
    return [some, some, quarters, whole, some * np.array([1, -1, 1, -1], np.float32), *ties]


def vector_functions(
    jk: Any, rng: Any, templates: Sequence[Sequence[str]], count: int, of: slice
) -> Iterator[tuple[str, Callable[[Any, Any], Any], Sequence[np.ndarray]]]:
    """Yield functions, each with its source and two vectors to call it on: one function for each template, then `count` random ones, up to
    three templates deep. `of` is the slice of `vectors` from which the vectors for random functions are drawn.

    Leave out a random function with both a quotient and a maximum if one of its vectors contains 0: the derivative of the maximum then has
    0 times infinity, which XLA may compute as nan or as 0.
    """
    names = {"n": jk.numpy, "np": np, "jk": jk, "g": jk.jit(lambda a: a * a * 0.5), "h": jk.jit(lambda a, b: a * b + b)}
    names |= {"zero": jk.numpy.zeros(4), "ones": jk.numpy.ones(4), "caught": functools.partial(caught, jk)}
    each = [fill(template, lambda: pick(rng, "x", "x", "y")) for template in itertools.chain(*templates)]
    for turn, text in enumerate([*each, *(expression(rng, templates, 1 + turn % 3) for turn in range(count))]):
        f = eval(f"lambda x, y, i: {text}", names)
        x, y = (pick(rng, *vectors(rng)[slice(-2, None) if turn < len(each) else of]) for _ in range(2))
        if turn >= len(each) and " / " in text and "n.max(" in text and not (x.all() and y.all()):
            continue
        key = f"x = {x.tolist()}; y = {y.tolist()}; i = {turn % 4}; {text}"
        yield key, functools.partial(f, i=turn % 4), (x, y)


def caught(jk: Any, x: Any) -> Any:
    """Return x after a jitted function has failed with a TypeError: it multiplies vectors of different lengths."""
    try:
        return jk.jit(lambda a: jk.numpy.matmul(jk.numpy.sin(a), a[1:]))(x)
    except TypeError:
        return x


# --- expressions over arrays of every type ------------------------------------------------------------------------------

GRAMMAR = {  # what an expression may be: F float, I integer, B truth value; f, i: something that need not be an Array; N: a rounded float
    "F": (
        "{F} + {F}", "{F} - {F}", "{F} * {F}", "-{F}", "n.abs({F})", "n.maximum({F}, {F})", "n.minimum({F}, {F})", "n.sign({F})",
        "n.floor({F})", "n.multiply({F}, {f})", "{f} - {F}", "n.minimum({f}, {F})", "{F} + {f}", "n.subtract({f}, {F})", "n.negative({F})",
    ),
    "I": (
        "{I} + {I}", "{I} - {I}", "{I} * {I}", "-{I}", "n.abs({I})", "n.maximum({I}, {I})", "n.minimum({i}, {I})", "n.sign({I})",
        "{i} - {I}", "{I} * {i}", "n.add({I}, {i})",
    ),
    "B": (
        "{F} < {F}", "{F} >= {f}", "{f} > {F}", "n.less_equal({f}, {F})", "{I} == {I}", "{I} != {i}", "n.greater({I}, {I})", "{i} <= {I}",
        "n.not_equal({F}, {F})", "{F} == {f}", "n.greater_equal({F}, {F})", "n.less({i}, {I})", "n.equal({f}, {F})",
    ),
    "N": (
        *(f"n.{name}({{F}})" for name in ("sin", "cos", "tanh", "exp", "log", "sqrt", "log1p", "expm1")), "n.tan({F})", "{F} / {F}",
        "{f} / {F}", "n.divide({F}, {f})", "{N} * {F}", "{F} - {N}",
    ),
}  # fmt: skip
MIXED = {  # more, for operands of several types
    "F": ("{F} + {I}", "{I} - {F}", "{B} - {F}", "n.maximum({I}, {F})", "{I} * {f}", "{f} + {I}", "n.add({F}, {i})", "{i} * {F}"),
    "I": ("{I} + {B}", "{B} * {I}", "n.maximum({B}, {I})", "{i} + {B}"),
    "B": ("{F} < {I}", "{I} == {F}", "{B} != {B}", "{B} & {B}", "~{B}", "{B} | {B}", "n.logical_and({B}, {B})", "n.maximum({B}, {B})",
          "{B} < {B}", "n.logical_not({B})", "n.equal({B}, {I})", "n.less({I}, {f})"),
    "N": ("n.cos({I})", "{I} / {I}", "{I} / {F}", "n.exp({B})", "n.sqrt({I})", "{B} / {F}", "{F} / {i}", "{N} + {B}", "{I} * {N}"),
}  # fmt: skip
ASKED = {  # more: what has no equation of its own
    "B": ("n.logical_and({F}, {I})", "n.logical_or({I}, {f})", "n.logical_not({F})", "n.logical_or({F}, {B})", "n.logical_not({I})",
          "n.add({B}, {B})"),
    "I": ("{I} & {I}", "~{I}", "n.bitwise_or({I}, {i})", "n.invert({I})", "n.bitwise_and({i}, {I})", "n.power({I}, 3)", "{I} ** 2"),
    "N": ("{F} ** 2", "n.power({F}, 3.0)", "2.0 ** {F}", "n.power({F}, -1.0)", "{F} ** 0.5", "n.power({I}, 2.0)", "{f} ** {F}"),
}  # fmt: skip


def joined(*grammars: dict[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return a grammar with the templates of several grammars."""
    return {kind: [t for grammar in grammars for t in grammar.get(kind, ())] for kind in GRAMMAR}


def grown(rng: Any, grammar: dict[str, Sequence[str]], leaves: dict[str, Sequence[str]], kind: str, depth: int) -> str:
    """Draw an expression of a kind, at most `depth` templates one in the other. Functions with rounded results (N) and comparisons (B)
    get exact operands, so that no truth value depends on a rounding.
    """
    if kind in "fi" or (depth == 0 and kind != "N"):
        return str(pick(rng, *leaves[kind]))

    def operand(found: re.Match[str]) -> str:
        return grown(rng, grammar, leaves, found[1], min(depth, 2 - (kind == "N")) - 1 if depth else 0)

    return f"({re.sub(r'{(.)}', operand, str(pick(rng, *(grammar[kind] if depth else grammar[kind][:9]))))})"


def laid_out(rng: Any, x: np.ndarray) -> np.ndarray:
    """Return an equal array that lies in memory otherwise: by columns, backwards, with gaps, or read-only."""
    ways = (
        lambda x: np.array(x, order="F"),
        lambda x: np.flip(np.flip(x).copy()),
        lambda x: np.stack([x, x], -1)[..., 0],
        np.array,
    )
    found: np.ndarray = np.asarray(pick(rng, *ways)(x))
    found.flags.writeable = bool(rng.integers(3)) and found.flags.writeable
    return found


def array(rng: Any, kind: str, shape: tuple[int, ...], odd: bool = True) -> np.ndarray:
    """Draw an array: halves from -3 to 3, or small integers; with `odd`, floats may also be -0.0, infinite or nan."""
    if not kind.startswith("float"):
        return laid_out(rng, rng.integers(0 if kind[0] in "ub" else -3, 2 if kind == "bool" else 4, shape).astype(kind))
    numbers, some = rng.integers(-6, 7, shape) / 2, pick(rng, -0.0, np.nan, np.inf, -np.inf)
    return laid_out(rng, np.where(odd and rng.integers(9, size=shape) == 0, some, numbers).astype(kind))


def world(
    rng: Any, floats: Sequence[str], integers: Sequence[str], odd: bool = True, ranked: bool = False
) -> dict[str, np.ndarray]:
    """Draw arrays of these dtypes whose shapes go together, by name: x, y, c and d floats; i, j and k integers; p and q truth values.
    With `ranked`, all arrays have the same number of axes, or none (c, d and k always have some): then JAX writes no equation for
    broadcasting.
    """
    whole = pick(rng, (2, 3), (3,), (), (3, 1), (2, 1, 3), (1, 1), (0, 2), (4,))
    kinds = [
        *((name, floats) for name in "xycd"),
        *((name, integers) for name in "ijk"),
        ("p", ("bool",)),
        ("q", ("bool",)),
    ]
    found = {}
    for name, some in kinds:
        shape = fitting(rng, whole)
        if ranked:
            shape = (
                () if rng.integers(5) == 0 and name not in "cdk" else tuple(pick(rng, n, n, 1) for n in whole or (1,))
            )
        found[name] = array(rng, pick(rng, *some), shape, odd)
    return found


LEAVES = {  # by kind; an operator always has an operand of a kind in capitals, which is an Array or traced
    "F": "xy", "I": "ij", "B": "pq", "f": ("2.0", "0.5", "-1.5", "0.0", "np.float32(2)", "c", "d", "c"), "i": "1230kk",
}  # fmt: skip
SIX = "xyijpq"


def function(
    jk: Any, rng: Any, grammar: dict[str, Sequence[str]], arrays: dict[str, Any], count: int, depth: int = 2
) -> tuple[str, Callable[..., Any]]:
    """Draw a function of x, y, i, j, p and q that computes `count` values, and returns the first or all of them; it closes over c, d and k.
    Return its source, and the function.
    """
    parts = [grown(rng, grammar, LEAVES, pick(rng, *"FIBN"), depth) for _ in range(count)]
    parts = [part if rng.integers(6) else pick(rng, "x", "i", "p", "c", "2.5", "3", "0.0", parts[0]) for part in parts]
    text = f"lambda x, y, i, j, p, q: ({', '.join(parts)},)[:{pick(rng, 1, count, count)}]"
    return text, eval(text, {"n": jk.numpy, "np": np, **{name: arrays[name] for name in "cdk"}})


# --- carries ------------------------------------------------------------------------------------------------------------


def carry(rng: Any, parts: Iterator[tuple[str, str]], at: int = 0) -> tuple[list[str], list[str], Callable[..., str]]:
    """Draw one to four parts of a loop's carry `c`, whose first part is `c[at]`. `parts` yields pairs of strings: an
    initial value, and a template of the value after one step. Return the initial values, the filled templates, and the
    function `put(i, text)` that fills a template for part i. It replaces `old` by part i, and `next` by the vector that
    follows part i among the parts; by part i itself if that is not a vector.
    """
    drawn = list(itertools.islice(parts, int(rng.integers(1, 5))))
    places = [i for i, (first, _) in enumerate(drawn) if first in "xy"]
    after = dict(zip(places, [*places[1:], *places[:1]], strict=True))

    def put(i: int, text: str) -> str:
        return text.replace("next", f"c[{after.get(i, i) + at}]").replace("old", f"c[{i + at}]")

    return [first for first, _ in drawn], [put(i, text) for i, (_, text) in enumerate(drawn)], put


# --- results ------------------------------------------------------------------------------------------------------------


def in_one(jk: Any, f: Callable[..., Any], *trees: Any) -> Any:
    """Return f's result, which a learner's package computes operation by operation, and jitkit by one program, which takes less time."""
    return f(*trees) if "xla" in sys.modules else jk.jit(f)(*trees)


def halves(
    jk: Any, calls: Iterable[Call], at_once: Callable[..., Any], exact: int | None = None
) -> list[dict[str, Any]]:
    """Compute half of the calls one by one, and the other half by one program, so that both ways are tested. Return two
    dicts from a call's key to its result: of the second, fourth, ... call, by `at_once(f, *arrays)`; and of the first,
    third, ... call. If XLA fails to run the program, these are computed one by one, too. `settled` is applied to the
    results of all calls but the first `exact`; to none if `exact` is None.
    """
    every = [(key, f, [jk.numpy.asarray(x) for x in arrays]) for key, f, arrays in calls]
    rest = {key: f for key, f, _ in every[::2]}
    compiled = jk.jit(lambda given: {key: rest[key](*arrays) for key, arrays in given.items()})
    found = [{key: by_xla(at_once, f, *arrays) for key, f, arrays in every[1::2]}]
    together = by_xla(compiled, {key: arrays for key, _, arrays in every[::2]})
    found.append(together if together != FAILED else {key: by_xla(f, *arrays) for key, f, arrays in every[::2]})
    loose = {key for key, _, _ in every[exact:]} if exact is not None else set()
    return [{key: settled(x) if key in loose else x for key, x in some.items()} for some in found]


FAILED = "XLA cannot run this."


def by_xla(f: Callable[..., Any], *args: Any) -> Any:
    """Return f's result; or `FAILED` if XLA has compiled a program that its libraries then refuse to run: "INTERNAL:
    YNNPACK operation failed: unsupported parameter".
    """
    result = None
    try:
        result = f(*args)
        settled(result)  # waits for the numbers
    except Exception as error:
        if isinstance(error, RuntimeError) and str(error).startswith("INTERNAL: "):
            return FAILED
        if result is None:  # otherwise the comparison says what is wrong with the result
            raise
    return result


def settled(result: Any) -> Any:
    """Return a result with nan for each float that is not finite: whether it is nan or an infinity can depend on the order of operations.
    Tuples become lists.
    """
    if isinstance(result, dict):
        return {key: settled(each) for key, each in result.items()}
    if isinstance(result, (tuple, list)):
        return [settled(each) for each in result]
    if not hasattr(result, "shape"):
        return result
    numbers = np.asarray(result)
    return np.where(np.isfinite(numbers), numbers, np.nan) if numbers.dtype.kind == "f" else numbers


def told(jk: Any, tree: Any, arrays: bool = True) -> Any:
    """Return a result as a tree in which each list, tuple or dict is a pair: the name of its type, and its parts. A number comes with its
    product with a small number of its kind, int8 or float16; an array, if `arrays` is true, with this product of none of its rows. The
    dtype of the product shows whether the number or array is weakly typed. Truth values and None come alone.
    """
    if type(tree) in (list, tuple, dict):
        return type(tree).__name__, [told(jk, v, arrays) for v in (tree.values() if type(tree) is dict else tree)]
    one = None if tree is None else jk.numpy.asarray(tree)
    if one is None or one.dtype.kind == "b" or (one.shape and not arrays):
        return one
    return one, (one[:0] if one.shape else one) * (np.float16(1) if one.dtype.kind == "f" else np.int8(1))
