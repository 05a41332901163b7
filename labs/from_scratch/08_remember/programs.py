"""Rung 08: one trace a signature."""

import functools
import gc
import sys
import threading
import weakref
from typing import NamedTuple

import numpy as np
from climbing import counted, program


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


def tracing(jk, body=lambda x: x * 2.0):
    """Return a jitted function, and the list of its traces."""
    traces = []

    def f(*args):
        traces.append(1)
        return body(*args)

    return jk.jit(f), traces


@program("08", "A second call with other numbers of the same type traces nothing and compiles nothing.",
         against=["results right, traced at every call", "the answer is kept instead of the program"])  # fmt: skip
def once(jk, rng):
    f, traces = tracing(jk)
    f(floats(rng, 3))
    again = counted(f, floats(rng, 3), compiled=0, executed=1)
    return {"second call": again, "traces": len(traces)}


@program(
    "08",
    "Each shape and each dtype has a program of its own.",
    against=["the key is the shape", "the key is the function"],
)
def types(jk, rng):
    f, traces = tracing(jk)
    xs = [floats(rng, 3), floats(rng, 4), floats(rng, 3, 1), np.arange(3, dtype=np.int32), np.arange(4, dtype=np.int32)]
    return {"results": [f(x) for x in xs + xs], "traces": len(traces)}


@program(
    "08",
    "A weak type has its own program, too: 2.0 and np.float32(2.0) are not the same.",
    against=["weak types are not in the key"],
)
def weak(jk, rng):
    f, traces = tracing(jk, lambda x: x + np.ones(2, np.float16))
    return {"results": [f(2.0), f(np.float32(2.0)), f(3.0)], "traces": len(traces)}


@program(
    "08",
    "The tree is in the key: a list is not a tuple, and a dict with other keys is another call.",
    against=["only leaves are in the key"],
)
def trees(jk, rng):
    f, traces = tracing(
        jk, lambda t: [x * len(k) for k, x in t.items()] if isinstance(t, dict) else type(t)(x + 1.0 for x in t)
    )
    x = floats(rng, 2)
    results = [f([x]), f((x,)), f({"a": x}), f({"bb": x})]
    return {"results": results, "traces": len(traces)}


@program("08", "A dict that was filled in another order is the same call.")
def order(jk, rng):
    f, traces = tracing(jk, lambda d: d["a"] - d["b"])
    x, y = floats(rng, 2), floats(rng, 2)
    return {"results": [f({"a": x, "b": y}), f({"b": x, "a": y})], "traces": len(traces)}


@program(
    "08",
    "A value that the function closed over stays what it was when it was traced.",
    against=["the key is the function"],
)
def frozen(jk, rng):
    state = {"c": 2.0}
    f = jk.jit(lambda x: x * state["c"])
    x = floats(rng, 3)
    first = f(x)
    state["c"] = 9.0
    return first, f(x), f(floats(rng, 4))


@program(
    "08",
    "`jit(f)` twice is one function: its programs are shared.",
    against=["each `jit(f)` begins anew", "results right, traced at every call"],
)
def shared(jk, rng):
    traces = []

    def f(x):
        traces.append(1)
        return x + 1.0

    x = floats(rng, 3)
    results = [jk.jit(f)(x) for _ in range(3)]
    return {"results": results, "once more": counted(jk.jit(f), x, compiled=0), "traces": len(traces)}


@program("08", "A lambda that is made in a loop is traced each time: it is another function.")
def lambdas(jk, rng):
    traces, x = [], floats(rng, 3)
    results = [jk.jit(lambda x, i=i: (traces.append(i), x * float(i))[1])(x) for i in range(3)]
    return {"results": results, "traces": traces}


@program(
    "08",
    "When nobody holds a function any more, it is freed, and its programs with it.",
    against=["functions are kept for ever"],
)
def forgotten(jk, rng):
    def make():
        def f(x):
            return x * 3.0

        return f

    f = make()
    y = jk.jit(f)(floats(rng, 2))
    there = weakref.ref(f)
    del f
    gc.collect()
    return {"result": y, "the function is freed": there() is None}


@program("08", "A failed trace leaves nothing behind.")
def failed(jk, rng):
    fail = [True]

    def f(x):
        if fail[0]:
            raise ValueError
        return x + 1.0

    g, x = jk.jit(f), floats(rng, 2)
    try:
        g(x)
    except ValueError:
        fail[0] = False
    return g(x)


@program(
    "08",
    "Other shapes of the same size, other dtypes of the same size, and other ranks are other signatures, though XLA would not notice.",
    against=["the key is the function", "the key has the number of axes and the size"],
)
def alike(jk, rng):
    f, traces = tracing(jk, lambda x: x + x)
    xs = [floats(rng, 2, 3), floats(rng, 3, 2), floats(rng, 6), floats(rng, 6, 1), rng.integers(1, 9, 6).astype(np.int32),
          floats(rng, 6).astype(np.float16), rng.uniform(size=6) > 0.5]  # fmt: skip
    return {"shapes": [[tuple(f(x).shape), f(x) * 1] for x in xs[:6]], "traces": len(traces)}


@program("08", "Many shapes are many programs, and the first one is still there.")
def many(jk, rng):
    f, traces = tracing(jk)
    for n in [*range(1, 14), 1, 13]:
        f(floats(rng, n))
    return len(traces)


@program(
    "08",
    "Each program knows the tree of its own results: a list, a tuple and a dict, in turn.",
    against=["the structure of the result belongs to the function", "a quick way needs no structure of the result"],
)
def result_trees(jk, rng):
    f, traces = tracing(jk, lambda t: {"a": t[0]} if len(t) == 1 else [t[1], t] if isinstance(t, list) else (t, t[0]))
    x = floats(rng, 2)
    calls = [(x,), (x, x), [x, x]]
    quick, asarray = jk.jit(lambda x: (x, x) if x.ndim else [x]), jk.numpy.asarray
    arrays = [asarray(x), asarray(x[0])]
    return [quick(x) for x in arrays * 2], {
        "results": [f(t) for t in (*calls, *calls, *calls[::-1])],
        "traces": len(traces),
    }


@program(
    "08",
    "A numpy array, one of yours and a result of a call have one type, and keywords no order.",
    against=["an array of numpy's is another argument than ours", "keywords in another order are another call"],
)
def same_types(jk, rng):
    f, traces = tracing(jk)
    x, more = floats(rng, 2), []
    y = f(x)
    results = [f(y), f(jk.numpy.asarray(x)), f(x)]
    g = jk.jit(lambda *, a, b: (more.append(1), a - b)[1])
    return results, len(traces), [g(a=x, b=y), g(b=x, a=y)], len(more)


@program("08", "Functions that come and go have programs of their own, though Python reuses their addresses.")
def come_and_go(jk, rng):
    x, numbers = floats(rng, 2), rng.integers(2, 99, 6)
    return [jk.jit(lambda x, n=n: x * float(n))(x) for n in numbers]


@program(
    "08",
    "The names of keywords are in the key; arguments by position and by keyword are other calls.",
    against=["the names of keywords are not in the key"],
)
def keywords(jk, rng):
    f = jk.jit(lambda x, a=0.0, b=0.0: x + 2.0 * a - 3.0 * b)
    x, y = floats(rng, 2), floats(rng, 2)
    return [f(x, a=y), f(x, b=y), f(x, y), f(x, y, b=x), f(x, b=y, a=x), f(x, a=y)]


@program(
    "08",
    "A number that was closed over, or a global, is not part of the key: if it changes, nothing is traced again.",
    against=["closed-over numbers are part of the key"],
)
def closed_over(jk, rng):
    traces, k, table = [], 2.0, {"c": 3.0}

    def f(x, default=4.0):
        traces.append(1)
        return x * k + table["c"] * default

    g, x = jk.jit(f), floats(rng, 2)
    first = g(x)
    k, table["c"], f.__defaults__ = 9.0, 9.0, (9.0,)
    return first, g(x), jk.jit(f)(x), len(traces)


@program(
    "08",
    "A trace that failed leaves what was kept before, and what others kept.",
    against=["a failure empties the cache"],
)
def failed_between(jk, rng):
    def body(x):
        if x.shape == (3,):
            raise ValueError("three")
        return x + 1.0

    f, traces = tracing(jk, body)
    results = [f(floats(rng, 2)), f(floats(rng, 4))]
    for _ in range(2):
        try:
            f(floats(rng, 3))
        except ValueError as error:
            results.append(str(error))
    return results, f(floats(rng, 2)), f(floats(rng, 4)), len(traces)


@program(
    "08",
    "An array that is weak, computed at once or by a call, is another argument than a strong one.",
    against=["arrays with axes are never weak", "only Python's numbers are weak"],
)
def weak_arrays(jk, rng):
    h = floats(rng, 2).astype(np.float16)
    f, traces = tracing(jk, lambda x: x * h)
    c = float(rng.uniform())
    strong, weak = [np.float32(c), jk.numpy.asarray(np.float32(c))], [c, jk.numpy.sin(c), jk.jit(lambda c: c * 2.0)(c)]
    pair = [floats(rng, 2), jk.numpy.asarray(np.int32([1, 2])) * c]
    return [f(x) for x in strong + weak + strong + pair], len(traces)


@program(
    "08",
    "The key says which argument has which type, and which one is weak; None is a part of the tree.",
    against=[
        "where an argument stands does not matter",
        "one weak argument is as good as another",
        "None is no part of the tree",
    ],
)
def which_argument(jk, rng):
    h = np.float16([1.0, 2.0])
    f, traces = tracing(jk, lambda x, y: (x * 3.0, y * 2.0) if x.shape else (x * h, y * h))
    g, more = tracing(jk, lambda t: t[1] if t[0] is None else t[0])
    c, a, b, x, y = float(rng.uniform()), np.float32(2), np.float32(3), floats(rng, 2), floats(rng, 3)
    numbers = [f(c, a), f(a, c), f(b, a), f(c, 2.0), f(a, c)]
    return numbers, [f(x, y), f(y, x), f(x, x)], len(traces), [g((None, x)), g((x, None)), g((x, x, None))], len(more)


@program(
    "08",
    "Each program has constants of its own, also where they are of one type.",
    against=["constants belong to the function"],
)
def own_constants(jk, rng):
    tables = {(2,): floats(rng, 3), (3,): floats(rng, 3)}
    g, more = tracing(jk, lambda x: (x, jk.numpy.multiply(np.float32(2), jk.numpy.asarray(tables[x.shape]))))
    xs = [floats(rng, 2), floats(rng, 3), floats(rng, 2)]
    return [g(x) for x in xs], len(more)


# --- random signatures --------------------------------------------------------------------------------------------------

ALIKE = [  # dtypes of one size; "weak": a number of Python
    ["float32", "int32", "weak float", "weak int"],
    ["bool", "int8", "uint8"],
    ["float16", "float16", "float32"],
]


class Leaf(NamedTuple):
    """An array or a number: its dtype, or "weak float" or "weak int", and its shape."""

    kind: str
    shape: tuple


def leaf(rng):
    """Draw a leaf: a dtype and a shape."""
    kind = str(rng.choice(ALIKE[int(rng.integers(3))]))
    return Leaf(
        kind,
        ()
        if kind.startswith("weak")
        else tuple(map(int, rng.permutation([2, 3, 4])[: int(rng.choice([0, 1, 2, 3, 3]))])),
    )


def changed(rng, x):
    """Return a leaf that is nearly the same: its shape has the same size, or its dtype does."""
    (kind, shape), way = x, int(rng.integers(4))
    if way < 2 and len(shape) > 1:
        i, j = sorted(map(int, rng.permutation(len(shape))[:2]))
        return Leaf(kind, (*shape[:i], shape[j], *shape[i + 1 : j], shape[i], *shape[j + 1 :]))
    if way == 2 and shape:
        return Leaf(kind, [(*shape, 1), (1, *shape), (int(np.prod(shape)),)][int(rng.integers(3))])
    alike = next(kinds for kinds in ALIKE if kind in kinds)
    kind = str(rng.choice([k for k in alike if k != kind and (shape == () or not k.startswith("weak"))] or [kind]))
    return Leaf(kind, shape)


def regrouped(rng, tree):
    """Return a tree with nearly the same structure around the same leaves."""
    if type(tree) is dict:
        return list(tree.values()) if rng.integers(2) else {k + "x": x for k, x in tree.items()}
    others = [tuple(tree), list(tree), tree[::-1], (None, *tree), (*tree, None), (tuple(tree[:1]), *tree[1:]), tuple(tree), [tree],
              (*tree[:-1], [tree[-1]]), {"ab"[i % 2] * (1 + i // 2): x for i, x in enumerate(tree)}]  # fmt: skip
    parts = [x for x in tree if type(x) in (tuple, list)]
    if parts and type(parts[0]) is tuple and rng.integers(2):
        return tuple(y for x in tree for y in (x if x is parts[0] else [x]))  # the parentheses are left out
    if rng.integers(3) == 0:
        return (*tree[:-2], tuple(tree[-2:]))
    return others[int(rng.integers(len(others)))]


def each(f, tree):
    """Return the tree with f of each leaf."""
    if tree is None or type(tree) is Leaf:
        return tree if tree is None else f(tree)
    return {k: each(f, x) for k, x in tree.items()} if type(tree) is dict else type(tree)(each(f, x) for x in tree)


def leaves(tree):
    found = []
    each(found.append, tree)
    return found


def drawn(rng, count):
    """Draw arguments of calls. Most differ little from earlier ones: in a leaf (`changed`), or in the tree around it (`regrouped`)."""
    every = [(leaf(rng), (leaf(rng), leaf(rng)))]
    while len(every) < count:
        tree = (leaf(rng), leaf(rng)) if rng.integers(4) == 0 else every[-1 - int(rng.integers(min(3, len(every))))]
        found = leaves(tree)
        at = int(rng.integers(len(found)))
        new = iter([*found[:at], changed(rng, found[at]), *found[at + 1 :]])
        other = each(lambda _, new=new: next(new), tree) if rng.integers(2) else regrouped(rng, tree)
        if type(other) is tuple and other not in every and 1 <= len(leaves(other)) < 6:
            every.append(other)
    return every


def written(tree):
    """Return arguments as text: f32[2,3] for arrays, 2.0 and 3 for weak numbers."""
    kind, shape = tree if type(tree) is Leaf else ("", ())
    if kind:
        return {"weak float": "2.0", "weak int": "3"}.get(kind) or f"{kind}[{','.join(map(str, shape))}]"
    if type(tree) is dict:
        return "{" + ", ".join(f"{k!r}: {written(x)}" for k, x in tree.items()) + "}"
    if tree is None:
        return "None"
    inside = ", ".join(map(written, tree))
    return f"[{inside}]" if type(tree) is list else f"({inside}{',' * (len(tree) == 1)})"


def numbers(kind_and_shape):
    kind, shape = kind_and_shape
    return {"weak float": 2.0, "weak int": 3}.get(kind) or np.ones(shape, kind)


def called(jk, rng, count):
    """Call one function with random arguments, all of them twice. Each result says in which trace it was made."""
    traces = []

    def f(*args):
        traces.append(1)
        found = []
        each_of(found.append, args)
        return {f"the result of trace {len(traces)}": found}

    def each_of(note, x):
        if isinstance(x, (tuple, list, dict)):
            for y in x.values() if isinstance(x, dict) else x:
                each_of(note, y)
        elif x is not None:
            note(x)

    calls = drawn(rng, count)
    order = [*range(count), *map(int, rng.permutation(count)[: 2 + count // 4])]
    g = jk.jit(f)
    return {f"call {n}: f{written(calls[i])}": g(*each(numbers, calls[i])) for n, i in enumerate(order)}


@program(
    "08",
    "Random calls run the right program: each differs a little from an earlier one, in a shape or dtype of the same size, or in its tree.",
    against=[
        "rank and first size are the shape",
        "a tuple of arguments is the arguments",
        "truth values and bytes are one dtype",
        "int8 and uint8 are one dtype",
        "integers are never weak",
        "the first argument has the dtype of all",
        "thirty-two programs are enough",
    ],
)
def random_arguments(jk, rng):
    return called(jk, rng, 66)


@program("08", "Hundreds of random calls run the right program, each nearly like an earlier one.", hidden=True)
def many_random_arguments(jk, rng):
    return called(jk, rng, 300)


def kept(jk, rng, count):
    """Call a function with `count` signatures, then with the first two again. Return these two results, and the number of traces above
    `count`. (jitkit has only a few signatures: each would be compiled.)
    """
    count = count if "xla" in sys.modules else 3
    f, traces = tracing(jk, lambda d: d)
    x, first = np.float32(rng.uniform()), int(rng.integers(99))
    results = [f({f"name {n}": x}) for n in [*range(first, first + count), first, first + 1]]
    return results[-2:], len(traces) - count


@program(
    "08", "There is no limit: after 270 programs the first is still there.", against=["thirty-two programs are enough"]
)
def no_limit(jk, rng):
    return kept(jk, rng, 270)


@program("08", "There is no limit: after 300 programs the first is still there.", hidden=True)
def no_limit_at_all(jk, rng):
    return kept(jk, rng, 300)


@program(
    "08",
    "Data and keys are compared by `==`, whatever their hashes: -1 and -2 have the same, and so have these objects.",
    against=["the key is a hash"],
)
def one_hash(jk, rng):
    class Same(tuple):
        def __hash__(self):
            return 1

    class Own:
        def __init__(self, x, data):
            self.x, self.data = x, data

    jk.tree_util.register_pytree_node(Own, lambda o: ((o.x,), o.data), lambda data, xs: Own(*xs, data))
    f, traces = tracing(
        jk, lambda o: o.x * o.data[0] if type(o) is Own else next(iter(o.values())) * float(next(iter(o)))
    )
    x, numbers = floats(rng, 2), [int(n) for n in rng.permutation(9)[:2]]
    calls = [Own(x, (-1,)), Own(x, (-2,)), {-1: x}, {-2: x}, *(Own(x, Same((n,))) for n in numbers)]
    return [f(o) for o in [*calls, *calls[::-1]]], len(traces)


@program(
    "08",
    "A function that has another one's name, text and attributes is another function, with programs of its own.",
    against=["programs are an attribute of their function"],
)
def wrapped(jk, rng):
    traces, x = [], floats(rng, 2)

    def f(x):
        traces.append("f")
        return x * 2.0

    def other(by):
        @functools.wraps(f)
        def g(x):
            traces.append(by)
            return f(x) * by if by < 3.0 else x + by

        return g

    results = [jk.jit(f)(x)]
    fs = [other(2.0), other(5.0)]
    return results, [jk.jit(g)(x) for g in (f, *fs, f, *fs)], traces


@program(
    "08",
    "There is one trace for each signature, also from another thread, without results, with a large array; the keys 1 and '1' differ.",
    against=[
        "each thread has programs of its own",
        "a program without results is not kept",
        "programs for large arrays are not kept",
        "keys of a dict are kept as strings",
    ],
)
def traced_once(jk, rng):
    found = []
    for body, calls in (
        (lambda x: x * 2.0, [floats(rng, 2)] * 2),
        (lambda x: None, [floats(rng, 2), 1.0]),
        (lambda x: (), [floats(rng, 3)]),
        (lambda x: x + 1.0, [floats(rng, 70_000), floats(rng, 3, 20_000)]),
        (lambda d: [float(k) * x for k, x in d.items()], [{1: 2.0}, {"1": 2.0}, {1.5: 2.0}, {"1.5": 3.0}]),
        (
            lambda x: {"a": None, "b": x},
            [np.zeros((0, 2), np.float32), np.zeros((0, 3), np.float32), np.zeros((2, 0), np.float32)],
        ),
    ):
        f, traces = tracing(jk, body)
        results = [f(x) for x in calls]
        thread = threading.Thread(target=lambda f=f, calls=calls: [f(x) for x in calls])
        thread.start()
        thread.join()
        results += [f(x) for x in calls[::-1]]
        found.append((results if np.size(calls[0]) < 99 else [r.shape for r in results], len(traces)))
    return found
