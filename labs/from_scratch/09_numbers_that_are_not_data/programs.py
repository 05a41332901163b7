"""Rung 09: static arguments."""

import gc
import weakref

import numpy as np
from climbing import counted, program, raised
from drawing import pick


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


def power(traces):
    def f(x, n, *, flip=False):
        traces.append((n, flip))
        for _ in range(n):
            x = x * 2.0
        return -x if flip else x

    return f


@program("09", "A static argument is a Python value in the function.", against=["static arguments are traced, too"])
def by_number(jk, rng):
    traces = []
    f = jk.jit(power(traces), static_argnums=1)
    return {"result": f(floats(rng, 3), 3), "traces": traces}


@program("09", "Another value is another program; the same value is not.", against=["static values are not in the key"])
def by_value(jk, rng):
    traces = []
    f, x = jk.jit(power(traces), static_argnums=(1,)), floats(rng, 3)
    results = [f(x, n) for n in (1, 2, 1, 2)]
    again = counted(f, x, 2, compiled=0, executed=1)
    return {"results": results, "traces": len(traces), "once more": again}


@program("09", "Arguments are static by name, and may be given by keyword.", against=["keywords are never static"])
def by_name(jk, rng):
    traces = []
    f = jk.jit(power(traces), static_argnames=("n", "flip"))
    x = floats(rng, 3)
    return {"results": [f(x, n=2, flip=True), f(x, n=2, flip=False)], "traces": traces}


@program(
    "09",
    "A static number implies the parameter's name, and a name the number.",
    against=["numbers and names have nothing to do with each other"],
)
def inferred(jk, rng):
    traces = []
    f, g = jk.jit(power(traces), static_argnums=1), jk.jit(power(traces), static_argnames=["n", "flip"])
    x = floats(rng, 2)
    return {"results": [f(x, n=2), g(x, 1, flip=True)], "traces": traces}


@program(
    "09",
    "Equal static values share a program: hash and equality decide, not identity.",
    against=["equal means the same object"],
)
def equality(jk, rng):
    traces = []

    def f(x, names):
        traces.append(1)
        return x * float(len(names[0]))

    g, x, letters = jk.jit(f, static_argnums=1), floats(rng, 2), ["a", "b"]
    return {"results": [g(x, ("".join(letters),)) for _ in range(2)], "traces": len(traces)}


@program(
    "09", "1, 1.0 and True are equal, and are not the same argument.", against=["equal values are the same argument"]
)
def one(jk, rng):
    f = jk.jit(lambda x, c: x * c if isinstance(c, int) else x + c, static_argnums=1)
    x = floats(rng, 2)
    return [f(x, 1), f(x, 1.0), f(x, True)]


@program(
    "09",
    "A static argument without a hash is a ValueError that says so.",
    against=["a value without a hash is turned into text"],
)
def unhashable(jk, rng):
    f = jk.jit(lambda x, sizes: x * float(len(sizes)), static_argnums=1)
    return raised(f, floats(rng, 2), [1, 2], parts=["static"])


@program("09", "Functions are static arguments, too.")
def functions(jk, rng):
    f = jk.jit(lambda act, x: act(x), static_argnums=0)
    x = floats(rng, 3)
    return f(jk.numpy.sin, x), f(jk.numpy.exp, x)


@program(
    "09",
    "Negative numbers count from the end.",
    against=["a negative number counts from the front", "static values come in the order of `static_argnums`"],
)
def negative(jk, rng):
    traces = []

    def f(x, y, n, m):
        traces.append((n, m))
        return x * float(n) - y * float(m)

    x, y = floats(rng, 2), floats(rng, 2)
    return {"result": jk.jit(f, static_argnums=(-1, -2))(x, y, 3, 5), "traces": traces}


class Level:
    """Two levels are equal if their numbers are; all have one hash."""

    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __hash__(self):
        return 7

    def __repr__(self):
        return "Level"


@program(
    "09",
    "Equality decides, and a hash is only the way to it: -1 and -2 hash alike, and are two arguments.",
    against=["a hash is as good as the value"],
)
def collisions(jk, rng):
    f, x = jk.jit(lambda x, n: x * float(getattr(n, "n", n)), static_argnums=1), floats(rng, 2)
    return [f(x, -1), f(x, -2), f(x, Level(2)), f(x, Level(3)), f(x, Level(2))]


@program("09", "Two functions with the same name are two arguments.")
def lambdas(jk, rng):
    f, x = jk.jit(lambda g, x: g(x), static_argnums=0), floats(rng, 2)
    return [f(lambda x: x + 1.0, x), f(lambda x: x * 10.0, x)]


# JAX up to 0.12 gives the first one's numbers: its key has no static positions.
@program("09", "Which argument is static belongs to the key: `jit` of one function, twice, with another number.")
def which(jk, rng):
    def f(a, b):
        return a - b

    x = np.int32(rng.integers(10, 20))
    return jk.jit(f, static_argnums=0)(3, x), jk.jit(f, static_argnums=1)(x, 3), jk.jit(f)(x, 3)


@program("09", "An item of `*args` can be static, too.", against=["items of `*args` are data"])
def rest(jk, rng):
    f, x = lambda *xs: xs[0] * float(len(range(xs[1]))), floats(rng, 2)
    return jk.jit(f, static_argnums=1)(x, 4), jk.jit(f, static_argnums=(2, 1))(x, 3, None)


@program(
    "09",
    "With static arguments, too, each function has one cache, which is freed with it, and its name; a failed trace leaves nothing behind.",
    against=[
        "each `jit` with static arguments has a cache of its own",
        "static arguments by name have a cache of their own",
        "a jitted function with static arguments has no name",
        "a program with static arguments keeps its function",
        "a static value that failed once fails always",
        "a name is a list of letters",
    ],
)
def as_before(jk, rng):
    traces, fails, x = [], [True], floats(rng, 2)

    def scaled(x, n, *, flip=False):
        traces.append(n)
        if n == 7 and fails:
            raise KeyError(fails.pop())
        return -x * float(n) if flip else x * float(n)

    first, second = (jk.jit(scaled, static_argnums=1, static_argnames="flip") for _ in range(2))
    third = jk.jit(scaled, static_argnames=("n", "flip"))
    found = [first(x, 2), second(x, 2), third(x, 2), first(x, 3, flip=True), second(x, 3, flip=True)]
    failed = [raised(first, x, 7), first(x, 7), first(x, 2)]

    def freed(**static):
        f = lambda x, n: x * float(n)
        jk.jit(f, **static)(x, 2), jk.jit(f, **static)(x, n=3)
        return weakref.ref(f)

    refs = [freed(static_argnums=1), freed(static_argnames="n")]
    gc.collect()
    return found, failed, traces, first.__name__, [f() is None for f in refs]


@program(
    "09",
    "One name is a string, a list or a tuple; static values go to their places in whatever order the numbers are.",
    against=["a name is a list of letters", "static values come in the order of `static_argnums`"],
)
def one_name(jk, rng):
    x = floats(rng, 2)
    f = lambda x, times, minus=1: x * float(times) - float(minus)
    names = [jk.jit(f, static_argnames=names)(x, times=3) for names in ("times", ["times"], ("times", "minus"))]
    return names, [jk.jit(f, static_argnums=n)(x, 3, 5) for n in ((2, 1), [1, 2], (-1, 1))]


@program("09", "The other numbers are data: with another one of them nothing is traced.",
         against=["a number is a static argument"])  # fmt: skip
def data(jk, rng):
    traces = []

    def f(x, n, c):
        traces.append(n)
        return x * float(n) + c

    g, x = jk.jit(f, static_argnums=1), floats(rng, 2)
    return [g(x, 2, float(c)) for c in rng.uniform(size=3)], [g(x, 2, n) for n in (3, 4)], traces


@program(
    "09",
    "Whatever has no hash is a ValueError: a set, a dict, an array, a tuple with a list in it; by number and by name.",
    against=["only a list has no hash"],
)
def all_unhashable(jk, rng):
    f, x = lambda x, n: x * 2.0, floats(rng, 2)
    values = [{1, 2}, {"a": 1}, np.ones(2), (1, [2]), bytearray(b"x")]
    by_number, by_name = jk.jit(f, static_argnums=1), jk.jit(f, static_argnames="n")
    return [raised(lambda n: by_number(x, n), n, parts=["static"]) for n in values] + [
        raised(lambda n: by_name(x, n=n), n, parts=["static"]) for n in values
    ]


@program("09", "None, strings, types and tuples are values, too; a static argument may be left to its default.")
def any_value(jk, rng):
    traces = []

    def f(x, how=None, *, times=(2, 3)):
        traces.append((str(how), times))
        return x * float(len(traces)) + (0.0 if how is None else 1.0)

    g, x = jk.jit(f, static_argnames=("how", "times")), floats(rng, 2)
    calls = [g(x), g(x, None), g(x, "a"), g(x, how="a"), g(x, int), g(x, times=(3, 2)), g(x), g(x, "a", times=(2, 3))]
    return [c.shape for c in calls], sorted(set(traces))


@program("09", "A number of numpy's stays one: the function gets it, with its dtype.",
         against=["a number of numpy's becomes Python's", "a float becomes one of numpy's"])  # fmt: skip
def numbers_of_numpy(jk, rng):
    seen, h = [], floats(rng, 2).astype(np.float16)
    f = jk.jit(lambda x, n: (seen.append(type(n).__name__), x * n)[1], static_argnums=1)
    return [f(h, n).dtype.name for n in (np.float32(2), np.int64(3), np.bool_(True), 2.0)], seen


# --- random values ------------------------------------------------------------------------------------------------------

VALUES = [
    1, 1.0, True, 0, False, 2, -1, -2, 2.5, "a", "A", "", "b", "1", None, (), (1, 2), (2, 1), (1, 2, 2), ((1, 2),), (1, (2,)),
    ("a", "b"), ("b", "a"), frozenset((1, 2)), frozenset(), frozenset((2,)), int, float, str, np.sin, np.cos, b"a", range(2), range(3),
    Level(2), Level(3), 2**70, (None,), ("a", None),
]  # fmt: skip


def said(value):
    """Return a static value as text, with its class."""
    inside = sorted(value) if isinstance(value, frozenset) else value.n if isinstance(value, Level) else value
    return f"{type(value).__name__} {getattr(inside, '__name__', inside)!r}"


def made_anew(value):
    """Return an equal object, which is another one."""
    if type(value) in (str, bytes):
        return value[:1] + value[1:] if len(value) < 2 else type(value)().join([value[:1], value[1:]])
    kinds = {tuple: lambda: (*value,), frozenset: lambda: frozenset([*value]), Level: lambda: Level(value.n)}
    return kinds.get(type(value), lambda: value)()


def called(jk, rng, count):
    """Call functions with random static arguments, which differ little from earlier ones. A result says what its trace was given."""

    def ways(f, within):
        static = {
            "numbers": {"static_argnums": pick(rng, (1, 2, 3), (3, 1, 2), [1, 2, 3], (-1, -2, -3), (-3, 2, 3))},
            "names": {"static_argnames": pick(rng, ("a", "bb", "how"), ["how", "a", "bb"])},
        }[within]
        return jk.jit(f, **static)

    found, traces = {}, []

    def f(x, a, bb, how):
        traces.append(1)
        return {f"trace {len(traces)}, of {said(a)}, {said(bb)}, {said(how)}": x * 2.0}

    x, values = floats(rng, 2), [pick(rng, *VALUES) for _ in range(3)]
    for within in ("numbers", "names")[:: int(rng.choice([-1, 1]))][: 1 + (count > 99)]:
        g, first, known = ways(f, within), int(rng.integers(3)), [values]
        for turn in range(count):
            values = [made_anew(v) for v in (known[-1] if turn < len(VALUES) else pick(rng, *known))]
            at, other = map(int, rng.permutation(3)[:2])
            if turn < len(VALUES):
                values[first] = VALUES[turn]  # beside which stand those that are nearly the same
            elif rng.integers(3) == 0:
                values[at], values[other] = values[other], values[at]
            else:
                values[at] = pick(rng, *VALUES)
            known.append(values)
            key = f"call {turn} by {within}: {', '.join(map(said, values))}"
            if within == "names":
                found[key] = g(x, how=values[2], bb=values[1], a=values[0])
            else:
                found[key] = g(x, *values)
    return found, len(traces)


@program(
    "09",
    "Calls with random static values run the right program: equal and new values of many classes, in other places, "
    "by number or by name.",
    against=[
        "strings are compared without their case",
        "a tuple is a set",
        "a float becomes one of numpy's",
        "a set has no hash, frozen or not",
    ],
)
def random_values(jk, rng):
    return called(jk, rng, 70)


@program("09", "Hundreds of calls with random static values run the right program.", hidden=True)
def many_random_values(jk, rng):
    return called(jk, rng, 100)


@program(
    "09",
    "The function gets the static value itself, by position and by keyword, and keywords have no order.",
    against=["a static value is copied", "static keywords in another order are another call"],
)
def itself(jk, rng):
    seen, x, values = [], floats(rng, 2), [Level(1), ("a", Level(2)), np.sin, object(), int(rng.integers(1000, 9999))]

    def f(x, a, b):
        seen.append((a, b))
        return x * float(len(seen))

    g = jk.jit(f, static_argnames=("a", "b"))
    pairs = [(v, w) for v in values for w in values[:2]]
    results = [(g(x, a=v, b=w), g(x, b=w, a=v), g(b=w, x=x, a=v), g(a=v, x=x, b=w)) for v, w in pairs]
    results += [g(x, v, w) for v, w in pairs] + [jk.jit(f, static_argnums=(1, 2))(x, w, v) for v, w in pairs[2:]]
    return results, [any({id(v), id(w)} == {id(a), id(b)} for v, w in pairs) for a, b in seen]


class Scale:
    """Something that multiplies."""

    def __init__(self, by):
        self.by = by

    def times(self, x):
        """Return the product."""
        return x * self.by


@program(
    "09",
    "Values that differ a little are other values: close floats, methods of two objects, functions that one function made.",
    against=["close floats are one value", "methods of two objects are one value"],
)
def nearly_alike(jk, rng):
    c, x = float(rng.uniform(1, 2)), floats(rng, 2)
    scaled = lambda by: lambda x: x * by
    f, traces = jk.jit(lambda x, n, k: n(x) if callable(n) else x * float(k), static_argnums=(1, 2)), []
    values = [scaled(2.0), scaled(3.0), Scale(2.0).times, Scale(3.0).times]
    g = jk.jit(lambda x, n: (traces.append(n), x)[1], static_argnums=1)
    close = [c, float(np.nextafter(c, 9)), c * (1 + 1e-9), -c, float(np.float32(c)), complex(c), int(c)]
    return [f(x, v, 1) for v in values], [g(x, v) for v in [*close, *close[::-1]]], traces
