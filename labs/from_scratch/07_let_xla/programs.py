"""Rung 07: `jit`, compiled and run by XLA."""

import functools

import numpy as np
from climbing import counted, program, raised
from drawing import ASKED, GRAMMAR, MIXED, SIX, function, joined, pick, world


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


@program(
    "07",
    "`jit(f)(x)` is `f(x)`, computed by one program of XLA.",
    against=["numpy computes, in the place of XLA", "results do not stay on the device"],
)
def one(jk, rng):
    f = jk.jit(lambda x, y: jk.numpy.sin(x) * y + jk.numpy.exp(-x) / (y + 1.0))
    return counted(f, floats(rng, 4), floats(rng, 4), compiled=1, executed=1)


@program("07", "Trees go in and come out.", against=["results do not stay on the device"])
def trees(jk, rng):
    f = jk.jit(lambda p, x: {"y": p["w"] * x + p["b"], "z": (p["b"], None)})
    return f({"b": floats(rng, 3), "w": floats(rng, 3)}, floats(rng, 3))


@program(
    "07",
    "Keywords are arguments like others.",
    against=["keywords are left out", "keywords go to their parameters in the order of the call"],
)
def keywords(jk, rng):
    f = jk.jit(lambda x, *, scale, shift=1.0: x * scale - shift)
    x = floats(rng, 3)
    return f(x, scale=3.0), f(x, shift=floats(rng, 3), scale=2)


@program("07", "Numbers, integers and truth values are arguments, too.")
def scalars(jk, rng):
    f = jk.jit(lambda x, n, b: (x * n, n + 1, jk.numpy.logical_not(b)))
    return f(float(rng.uniform()), int(rng.integers(9)), True)


@program("07", "A closed-over array has its value, and arguments have theirs.", against=["constants come last"])
def closure(jk, rng):
    c, d, x, y = (floats(rng, 3) for _ in range(4))
    f = jk.jit(lambda x, y: (x - jk.numpy.asarray(c)) * y - jk.numpy.asarray(d))
    return f(x, y)


@program(
    "07",
    "The result of one call is the argument of another, and is not copied for it.",
    against=["results do not stay on the device", "results go by way of numpy"],
)
def chain(jk, rng):
    f = jk.jit(lambda x: x * 1.5 + 0.25)
    x = f(floats(rng, 3))
    return counted(lambda x: f(f(x)), x, executed=2, copied=0), jk.numpy.sin(x), x + 1


@program("07", "`jit` is a decorator, and keeps the function's name.")
def decorator(jk, rng):
    @jk.jit
    def selu(x):
        return jk.numpy.maximum(x, 0.1)

    return selu.__name__, selu(floats(rng, 3))


@program(
    "07",
    "An error in the function reaches the caller, and later calls work.",
    against=["an error leaves the tracer at the door"],
)
def errors(jk, rng):
    x = floats(rng, 3)

    def broken(x):
        raise KeyError("mine")

    return raised(jk.jit(broken), x, parts=["mine"]), jk.jit(lambda x: x + 1)(x), jk.numpy.add(x, x)


@program("07", "An `if` on a value is refused here as in `make_jaxpr`, also on that of a keyword.",
         against=["keywords are not traced", "what are Python's numbers need no program"])  # fmt: skip
def refused(jk, rng):
    f = jk.jit(lambda x, *, c=1.0: x if c > 0 else -x)
    return raised(jk.jit(lambda x: x if x > 0 else -x), 1.0), raised(lambda: f(1.0, c=2.0))


@program("07", "A function may have no arguments, or no results.", against=["what is known needs no array"])
def nothing(jk, rng):
    return jk.jit(lambda: 2.5)(), jk.jit(lambda x: None)(floats(rng, 2))


@program("07", "A result may be weak: then it gives way to other dtypes.", against=["arguments are strong"])
def weak_results(jk, rng):
    h = floats(rng, 2).astype(np.float16)
    return [jk.jit(lambda: 2.0)() * h, jk.jit(lambda c: c * 3.0)(float(rng.uniform())) * h, jk.jit(lambda x: x)(2) * h]


@program("07", "Dtypes and shapes stay what they were: half floats, integers, truth values, empty arrays, one row.")
def kinds(jk, rng):
    xs = [floats(rng, 3).astype(np.float16), rng.integers(-9, 9, (2, 1)).astype(np.int32), np.array([True, False]),
          np.zeros((0, 2), np.float32), floats(rng, 1, 3), floats(rng)]  # fmt: skip
    f = jk.jit(lambda *xs: [[x, x + x] for x in xs if x.dtype != bool] + [~x for x in xs if x.dtype == bool])
    return f(*xs)


@program(
    "07",
    "Several results are results of one program; what is returned unchanged does not change with the caller's array.",
    against=["each result has a program", "an argument that is returned is the caller's"],
)
def several_results(jk, rng):
    x = floats(rng, 3)
    f = jk.jit(lambda x: (x, x + 1.0, [jk.numpy.sin(x), x]))
    results = counted(f, x, compiled=1, executed=1)
    y = jk.jit(lambda x: (x, {"a": x}))(x)
    x[:] = 9.0
    return results, y


@program(
    "07",
    "A first call calls the function once, with tracers.",
    against=["the structure of the result is found by a call"],
)
def calls(jk, rng):
    seen = []

    def f(x):
        seen.append(type(x).__name__)
        return x * 2.0

    jk.jit(f)(floats(rng, 2))
    return len(seen)


@program(
    "07",
    "Anything that can be called: a method, a partial, an object. Keywords find their parameters by name.",
    against=["every function has a name", "keywords go to their parameters in the order of the call",
             "arguments are strong", "what is known needs no array"],
)  # fmt: skip
def callables(jk, rng):
    class Scale:
        by = 3.0

        def __call__(self, x, b=0.0, a=1.0):
            return x * a - b * self.by

        def half(self, x):
            return x / 2.0, 1.5

    x, h, scale = floats(rng, 2), floats(rng, 2).astype(np.float16), Scale()
    fs = [functools.partial(lambda a, x: x - a, 2.0), scale, scale.half, jk.numpy.sin]
    half, known = jk.jit(scale.half)(4.0)
    return [jk.jit(f)(x) for f in fs], jk.jit(scale)(x, a=2.0, b=x), half * h, known * h


@program(
    "07",
    "Each call runs one program, also one without equations; a second call of a function without arguments, too.",
    against=["a program without equations need not run"],
)
def always_run(jk, rng):
    x = jk.jit(lambda x: x * 1.0)(floats(rng, 2))
    fs = [(lambda x: x, (x,)), (lambda x, y: (y, x), (x, x)), (lambda: 2.5, ()), (lambda x: 1.0, (x,))]
    return [[counted(g, *xs, executed=1) for g in [jk.jit(f)] for _ in range(2)] for f, xs in fs]


@program(
    "07",
    "A result stays on the device, though numpy has read it, and though eager operations have used it.",
    against=["numpy takes the numbers home"],
)
def read_between(jk, rng):
    f = jk.jit(lambda x: x * 1.5 + 0.25)
    x = f(floats(rng, 3))
    seen = [np.asarray(x), np.array(x), float(np.asarray(x).sum()), x + 1.0, str(x) != "", x == x]
    return seen[:5], counted(f, x, executed=1, copied=0)


@program("07", "None among the results stays in its place; so do empty containers.", against=["None is no result"])
def nothing_among(jk, rng):
    x = floats(rng, 2)
    return jk.jit(lambda x: (x, None, [x + 1.0, None], {"a": None, "b": ()}))(x), jk.jit(lambda x: [None])(x)


@program(
    "07",
    "Each call runs with the numbers that its arguments have now: the same array again, changed, or passed twice.",
    against=["an array is known by its place"],
)
def changed_between(jk, rng):
    x, y = floats(rng, 3), floats(rng, 3)
    c = floats(rng, 3)
    f = jk.jit(lambda t, x: {"sum": t["a"] + 2.0 * x, "a": t["a"], "c": x * jk.numpy.asarray(c)})
    found = [f({"a": x}, y), f({"a": x}, x), f({"a": y}, x)]
    x[:], y[0] = floats(rng, 3), 7.0
    return found, f({"a": x}, y), f({"a": x}, x), f({"a": y}, x)


@program(
    "07",
    "A call without results runs a program, too. What is no array is refused, in a tree and by keyword as well.",
    against=["what has no results need not run", "what is no array stands for itself"],
)
def none_and_refused(jk, rng):
    x, f = floats(rng, 2), jk.jit(lambda x, y=1.0: x)
    nothing = [(lambda x: None, (x,)), (lambda x: {"a": (), "b": [None]}, (x,)), (lambda: (), ()), (lambda x: 3, (x,))]
    wrong = ["text", {1.5}, object()]
    return (
        [counted(jk.jit(g), *xs, executed=1) for g, xs in nothing],
        [
            raised(use)
            for w in wrong
            for use in (lambda w=w: f(w), lambda w=w: f(x, w), lambda w=w: f([x, {"a": w}]), lambda w=w: f(x, y=w))
        ],
        raised(jk.jit(lambda x: "text"), x),
    )


# --- random calls -------------------------------------------------------------------------------------------------------

EVERY = joined(GRAMMAR, MIXED, ASKED)


def put_together(kind, xs):
    """Return results in a tree that depends on the type of the first argument."""
    return [xs, {"b": xs[0], "a": list(xs)}, [None, *xs, ()], (xs[-1], {"c": None}), {"z": [xs[0]], "y": xs}][kind % 5]


def called(jk, rng, count):
    """Call jitted random functions: by position, in a dict, by keyword in any order; with arrays of other types, and after a failure."""
    found = {}
    for turn in range(count):
        first, second = (world(rng, ("float32", "float16"), ("int32", "int8")) for _ in range(2))
        source, f = function(
            jk, rng, EVERY, {name: jk.numpy.asarray(np.float32(2)) for name in "cd"} | {"k": 2}, 4, 1 + turn % 2
        )
        where = [pick(rng, "position", "dict", "keyword") for _ in SIX]
        fails, offset = [], int(rng.integers(5))

        def g(t, *xs, f=f, where=where, fails=fails, offset=offset, **more):
            if fails:
                raise fails.pop()
            by = {"position": iter(xs), "dict": iter(t["in"]), "keyword": iter([more[name] for name in sorted(more)])}
            args = [next(by[place]) for place in where]
            return put_together(len(args[0].shape) + offset + (args[0].dtype == np.float16), f(*args))

        h = jk.jit(g)

        def call(numbers, h=h, where=where):
            at = {place: [i for i, w in enumerate(where) if w == place] for place in ("position", "dict", "keyword")}
            values = [numbers[name] for name in SIX]
            keywords = {f"k{i}": values[i] for i in rng.permutation(at["keyword"]).astype(int).tolist()}
            return counted(
                lambda: h({"in": [values[i] for i in at["dict"]]}, *[values[i] for i in at["position"]], **keywords),
                executed=1,
            )

        own = {name: jk.numpy.asarray(x) for name, x in first.items()}
        found[f"{source}, {', '.join(where)}"] = [call(first)]
        error = pick(rng, ValueError, KeyError, ZeroDivisionError)("mine", turn)
        fails.append(error)
        try:
            call(second)
        except Exception as caught:
            found[f"the error itself, {turn}"] = caught is error
        found[f"{source}, again"] = [call(second), call(own), call(first | {"x": 1.5, "i": 2}), call(first), own]
    return found


@program(
    "07",
    "Random functions are called in random ways: by keyword in any order, with other types, again, and after a call that failed.",
    against=[
        "an error is as good as another of its class",
        "the first result's tree is every result's",
        "a function that failed once fails always",
    ],
)
def random_calls(jk, rng):
    return called(jk, rng, 1)


@program("07", "Many random functions are called in random ways.", hidden=True)
def many_random_calls(jk, rng):
    return called(jk, rng, 6)


@program(
    "07",
    "None is an argument like others: it is not the default, by position or by keyword, and the function gets it.",
    against=["a keyword that is None was not given"],
)
def none_is_given(jk, rng):
    f, x = lambda x, y=5.0, *, z=3.0: [x if y is None else x + y, x if z is None else x * z], floats(rng, 2)
    g = jk.jit(f)
    return g(x), g(x, None), g(x, y=None), g(x, z=None), g(x, None, z=None), g(x, y=2.0, z=None), g(x, 1, z=2)


@program(
    "07",
    "Whatever the arguments are, each call runs one program: of Python numbers only, of empty arrays, of a single truth value.",
    against=["an array without numbers needs no program", "what are Python's numbers need no program"],
)
def whatever_runs(jk, rng):
    calls = [
        (lambda x: x * 2, (3.0,)),
        (lambda x, y: x + y, (2, True)),
        (lambda b: ~b, (np.bool_(True),)),
        (lambda x: -x, (np.zeros((0, 2), np.float32),)),
        (lambda x: (x, x > 1.0), (np.zeros(0, np.float16),)),
        (lambda x, y: x, (np.zeros(0, np.int32), floats(rng, 2))),
        (lambda x: x, (2,)),
    ]
    return [[counted(f, *xs, executed=1) for f in [jk.jit(g)] for _ in range(2)] for g, xs in calls]
