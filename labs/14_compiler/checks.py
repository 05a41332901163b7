"""The programs that the exercises of lab 14 must run like the reference. No C compiler is asked: the C is run line by line in Python,
which counts its loops, and what it reads and writes."""

from __future__ import annotations

import re

import numpy as np

from jitkit.kata.checking import check, module, of_c, random_programs


def by_hand(jk, fun, *args):
    """Run the C of a function. Return its results, and the numbers of its loops and inner loops, and of elements read and written."""
    did = module(jk, "kata.subjects.c_by_hand").ran(fun, *args)
    counts = {"loops": did.loops, "inner loops": did.passes, "elements read": did.reads, "written": did.writes}
    return did.results, counts


def floats(rng, *shape):
    return rng.normal(size=shape).astype("float32")


# --- 14.1 The same element, elsewhere -----------------------------------------------------------------------------


def moved(jk, name, params, shape, new, written=None):
    """Return, for each element of the result of an operation that moves elements, where it is in the operand. `written` is the index of
    the element, as texts. Each text of the answer is evaluated as a factor of a product in a sum, once as the last and once as the
    first one, so missing parentheses are noticed.
    """
    language, maps = module(jk, "loops.language"), module(jk, "loops.index_maps")
    of, out = (language.Value(jk.core.ShapedArray(size, np.dtype("float32"))) for size in (shape, new))
    op = language.Op(name, params, [of], [out], None)
    texts = written or tuple(f"i{k}" for k in range(len(new)))
    found = getattr(maps, f"{name.removesuffix('_in_dim')}_index")(op, texts)
    places = [{f"i{k}": i for k, i in enumerate(each)} for each in np.ndindex(*new)]
    return [[(eval(f"100 - 10*{text}", {}, at), eval(f"{text}*7 - 1", {}, at)) for text in found] for at in places]


@check(
    "14.1",
    "A broadcast reads the axes that it had before.",
    against=["new axes are the last", "an axis is read where it is", "the axes of a broadcast are the last ones"],
)
def broadcasts(jk, rng):
    a, b, c = rng.integers(2, 5, size=3).tolist()
    params = [
        ({"shape": (a, b, c), "broadcast_dimensions": (0, 2)}, (a, c)), ({"shape": (a, b), "broadcast_dimensions": (1,)}, (b,)),
        ({"shape": (a, b), "broadcast_dimensions": (0,)}, (a,)), ({"shape": (a, b), "broadcast_dimensions": ()}, ()),
    ]  # fmt: skip
    return [moved(jk, "broadcast_in_dim", each, shape, each["shape"]) for each, shape in params]


@check(
    "14.1",
    "An axis of one element is read at 0, whatever the loop's index is.",
    against=["one element is at every index", "a broadcast axis is one whose size is 1"],
)
def stretched(jk, rng):
    a, b = rng.integers(2, 5, size=2).tolist()
    params = {"shape": (a, b), "broadcast_dimensions": (0, 1)}
    return [moved(jk, "broadcast_in_dim", params, shape, (a, b)) for shape in ((1, b), (a, 1), (1, 1), (a, b))]


@check(
    "14.1", "A transpose of three axes is read where its elements are.", against=["a permutation is its own inverse"]
)
def transposes(jk, rng):
    shape = tuple(rng.integers(2, 5, size=3).tolist())
    orders = [(1, 2, 0), (2, 0, 1), tuple(rng.permutation(3).tolist())]
    return [moved(jk, "transpose", {"permutation": p}, shape, tuple(shape[k] for k in p)) for p in orders]


@check(
    "14.1", "A slice begins at its start and goes in its steps; without strides every step is 1.",
    against=["the start is counted in steps", "there are always strides", "a slice begins at 0", "a start is multiplied, too"],
)  # fmt: skip
def slices(jk, rng):
    n, start, step = 12, int(rng.integers(1, 4)), int(rng.integers(2, 4))
    length = -(-(n - start) // step)
    one = {"start_indices": (start, 0), "limit_indices": (n, 3), "strides": (step, 1)}
    two = {"start_indices": (start, 1), "limit_indices": (n, 3), "strides": None}
    return moved(jk, "slice", one, (n, 3), (length, 3)), moved(jk, "slice", two, (n, 3), (n - start, 2))


@check(
    "14.1",
    "Reversed, the last element comes first, along these axes only.",
    against=["the last element is at the size", "all axes turn"],
)
def reversals(jk, rng):
    shape = tuple(rng.integers(2, 5, size=3).tolist())
    return [moved(jk, "rev", {"dimensions": axes}, shape, shape) for axes in ((0,), (1, 2), ())]


@check(
    "14.1",
    "An index may be any expression, and what is made of it goes into others.",
    against=["texts keep their parts together"],
)
def expressions(jk, rng):
    n, start, step = int(rng.integers(3, 6)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    texts = ("(i0 + 2)", "0")
    params = {"start_indices": (start, 0), "limit_indices": (99, 1), "strides": (step, 1)}
    turned, from_zero = {"dimensions": (0, 1)}, {"start_indices": (0,), "limit_indices": (99,), "strides": (step,)}
    every = moved(jk, "slice", from_zero, (99,), (n,))
    return (
        every,
        moved(jk, "slice", params, (99, 1), (n, 1), texts),
        moved(jk, "rev", turned, (n + 9, 4), (n + 9, 4), texts),
    )


@check(
    "14.1",
    "A chain of them is one loop, which stores its result and nothing else.",
    against=["one element is at every index"],
)
def chains(jk, rng):
    lax, a, b = jk.lax, *rng.integers(2, 5, size=2).tolist()

    def f(x, y):
        x = lax.rev(jk.numpy.transpose(x), (0,))
        return lax.slice_in_dim(x, 1, None, 2, 1) * 2 + lax.broadcast_in_dim(y, (b, a), (0, 1))[:, : a // 2]

    return by_hand(jk, f, floats(rng, a, b), floats(rng, 1, a))


# --- 14.2 When two loops may be one -------------------------------------------------------------------------------


def decide(jk, shape, written, asked, inner=1, flat=False, base=""):
    """Return the answer of `forwarded` about an element: the name, None or `"Conflict"`."""
    nests = module(jk, "loops.nests")
    nest = nests.Nest(1, shape, flat, 1)
    for _ in range(inner):
        nest.begin_inner()
    buffer, other = (nests.Buffer(name, np.dtype("float32"), int(np.prod(shape)), True) for name in ("t0", "t1"))
    if written is not None:
        nest.written[buffer] = written
    nest.written[other] = (0, asked, "never", False)
    try:
        return nest.forwarded(nests.Place(buffer, shape, base), asked)
    except nests.Conflict:
        return "Conflict"


def names(rng):
    return f"w{rng.integers(1, 99)}", f"a{rng.integers(100, 199)}"


ROW, OTHER = ("i0", "i1"), ("i0", "(3 - i1)")


@check("14.2", "What this nest does not write is read from memory.", against=["a nest writes all that it reads"])
def not_written(jk, rng):
    n = int(rng.integers(2, 9))
    found = [
        decide(jk, (n, 4), None, ROW),
        decide(jk, (n,), None, ("i0",), 2),
        decide(jk, (n, 4), None, ROW, 3, base="k1*4"),
        decide(jk, (n, 4), (0, ROW, names(rng)[0], False), ROW),  # and one that it writes
    ]
    return [found[i] for i in rng.permutation(4)]


@check(
    "14.2", "What was stored in this iteration is in its variable; at another index it is not there yet.",
    against=["what was stored is read from memory", "the variable has every element", "memory has what a loop is writing"],
)  # fmt: skip
def the_same_loop(jk, rng):
    name, _ = names(rng)
    return [
        decide(jk, (3, 4), (k - 1, ROW, name, False), index, k)
        for k in (1, 2, 3)
        for index in (ROW, OTHER, ("i1", "i0"))
    ]


@check(
    "14.2", "What is stored behind a loop is there for the loops after it, and not within it.",
    against=["what is stored behind a loop is there in it", "a sum of a row is read from memory", "another row's sum is known"],
)  # fmt: skip
def behind_a_loop(jk, rng):
    _, name = names(rng)
    kinds = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3))
    return [
        decide(jk, (3, 4), (when, ("i0",), name, True), index, inner)
        for when, inner in kinds
        for index in (("i0",), ("(2 - i0)",))
    ]


@check(
    "14.2", "An earlier inner loop has written this row, and no other.",
    against=["an earlier loop has written all rows", "an earlier loop has written nothing", "the variable has every element"],
)  # fmt: skip
def rows(jk, rng):
    name, _ = names(rng)
    asked = (ROW, OTHER, ("i0", "0"), ("(2 - i0)", "i1"), ("i1", "i0"), ("0", "i1"), ("i0",), ("i0", "i1", "0"))
    return [
        decide(jk, (3, 4), (0, ROW, name, False), index, inner)
        for index in [asked[i] for i in rng.permutation(len(asked))]
        for inner in (2, 3)
    ]


@check(
    "14.2",
    "Without outer loops, an earlier loop has written all of it.",
    against=["every nest has rows", "what stands behind a loop is not in memory"],
)
def without_outer_loops(jk, rng):
    name, n = names(rng)[0], int(rng.integers(2, 9))
    flat = module(jk, "loops.nests").FLAT
    one = [decide(jk, (n,), (0, ("i0",), name, False), index, 2) for index in (("i0",), ("(3 - i0)",), ("0",), ("1",))]
    return (
        [one[i] for i in rng.permutation(4)],
        decide(jk, (n, 3), (0, flat, name, False), flat, 2, flat=True),
        decide(jk, (n,), (1, ("i0",), name, False), ("0",), 2),
        decide(jk, (n,), (0, ("i0",), name, False), ("i0",)),
        decide(jk, (n, 3), (0, ("0",), name, True), flat, 2, flat=True),
        decide(jk, (n,), (0, ("0",), name, True), ("i0",), 2, flat=True),
        decide(jk, (n,), (0, ("0",), name, True), ("0",), 2, flat=True),
    )


@check(
    "14.2", "Parts of a buffer that the nest writes, and what is not to be read, cannot be read by it.",
    against=["a part is like the whole", "what is written can be read"],
)  # fmt: skip
def parts(jk, rng):
    name, _ = names(rng)
    cases = [
        (0, 1, "k1*4", False),
        (0, 2, "k1*4", False),
        (-1, 1, "", False),
        (-1, 2, "", False),
        (-1, 2, "", True),
        (0, 1, "", False),
    ]
    return [
        decide(jk, (3, 4), (when, ROW, name, after), ROW, inner, base=base)
        for when, inner, base, after in [cases[i] for i in rng.permutation(6)]
    ]


@check(
    "14.2", "Whatever a nest has written, and whichever element is asked for, the answer is the one that the text gives.",
    against=["one axis is an outer loop", "the first entry of an index says which row"],
)  # fmt: skip
def any_state(jk, rng):
    found, flat = [], module(jk, "loops.nests").FLAT
    texts = ("i0", "i1", "i2", "0", "(3 - i1)")

    def asked_of(index):
        """Return, drawn at random, this index, one that differs in an entry or in its length, or any index."""
        kind, other = rng.integers(8), texts[rng.integers(5)]
        if kind == 0 or not index:
            return tuple(texts[i] for i in rng.integers(5, size=rng.integers(4)))
        if kind < 4:
            at = rng.integers(len(index))
            return (*index[:at], other, *index[at + 1 :])
        return index if kind < 6 else (*index, other) if kind == 6 else index[1:]

    for _ in range(300):
        axes, inner = int(rng.choice([1, 2, 3, 3])), int(rng.choice([1, 2, 2, 3]))
        shape, is_flat, is_after = (2, 3, 4)[:axes], rng.random() < 0.2, rng.random() < 0.3
        where = texts[: axes - is_after] if rng.random() < 0.8 else asked_of(texts[:axes])
        where = flat if is_flat and not is_after else where
        asked = where if is_flat and rng.random() < 0.5 else asked_of(where)
        written = (int(rng.integers(-1, inner) if rng.random() < 0.5 else inner // 2), where, "name", bool(is_after))
        found.append(decide(jk, shape, written, asked, inner, bool(is_flat), base="k0*2" if rng.random() < 0.1 else ""))
    return found


@check(
    "14.2",
    "Softmax of rows is one nest, and reads each element where it is known.",
    against=["an earlier loop has written nothing"],
)
def softmax(jk, rng):
    return by_hand(jk, jk.nn.softmax, floats(rng, *rng.integers(2, 5, size=2).tolist()))


@check(
    "14.2", "What needs other rows is another nest.",
    against=["an earlier loop has written all rows", "memory has what a loop is writing"],
)  # fmt: skip
def other_rows(jk, rng):
    jnp, (a, b) = jk.numpy, rng.integers(2, 5, size=2).tolist()

    def f(x):
        y = jnp.exp(x - x.max(1, keepdims=True))
        return y, y[::-1] + x, jnp.transpose(y) * 2

    return by_hand(jk, f, floats(rng, a, b))


# --- 14.3 One number for a row ------------------------------------------------------------------------------------


@check(
    "14.3",
    "The sum of all elements is one loop, which writes one number.",
    against=["a sum is added up in memory", "each row has its sum"],
)
def sums(jk, rng):
    return by_hand(jk, lambda x: (x * 2).sum(), floats(rng, *rng.integers(2, 6, size=2).tolist()))


@check(
    "14.3", "Each kind of reduction begins with the number that changes nothing.",
    against=["every accumulator begins with 0", "every reduction is a sum",
             "an accumulator has the type of the text", "every reduction is flat"],
)  # fmt: skip
def kinds(jk, rng):
    jnp, x = jk.numpy, floats(rng, *rng.integers(2, 5, size=2).tolist())
    whole = (x * 9).astype("int32")
    return [
        by_hand(jk, lambda x: (x.max(1), x.min(1), x.prod(1), x.sum(1)), -np.abs(x) - 1),
        by_hand(jk, lambda x: (x.max(1), x.min(1), jnp.all(x > -99, 1), jnp.any(x > 3, 1)), whole),
    ]


@check(
    "14.3",
    "The result of each row is stored once, behind its loop.",
    against=["a sum is added up in memory", "it is stored while it grows"],
)
def per_row(jk, rng):
    return by_hand(jk, lambda x: x.sum(1), floats(rng, *rng.integers(2, 6, size=2).tolist()))


@check(
    "14.3", "Several accumulators share a loop, each with a name of its own.",
    against=["one accumulator is enough", "every reduction needs a loop of its own"],
)  # fmt: skip
def together(jk, rng):
    return by_hand(
        jk, lambda x: (x.sum(1), x.max(1), (x * x).sum(1)), floats(rng, *rng.integers(2, 6, size=2).tolist())
    )


@check("14.3", "A sum of everything is not begun again with each row.", against=["a sum fits into every nest"])
def not_in_rows(jk, rng):
    a, b = rng.integers(2, 5, size=2).tolist()

    def f(x):
        y = x - x.max(1, keepdims=True)
        return y.sum(1), y.sum(), y

    return by_hand(jk, f, floats(rng, a, b))


@check(
    "14.3",
    "The compiler is told that the order of a sum is free, and of which type it is.",
    against=["a compiler sees that by itself", "every number is a float"],
)
def told(jk, rng):
    write, x = module(jk, "loops.source").write, floats(rng, *rng.integers(2, 5, size=2).tolist())
    times = int(rng.integers(1, 6))

    def totals(x):
        return [(x * (i + 2.0)).sum(1) for i in range(times)]

    text = write("f", jk.make_jaxpr(lambda x: (x.max(1), *totals(x), (x > 0).any(1)))(x)).text
    whole = write(
        "f", jk.make_jaxpr(lambda x: (x.max(1), x.min(), x.astype("int8").min(1)))((x * 9).astype("int32"))
    ).text
    kinds = sorted(re.sub(r"a\d+", "a", found) for found in re.findall(r"reduction\((\S+:\w+)\)", text))
    names = re.findall(r"reduction\(\S+:(\w+)\)", text)
    combined = [sorted(re.findall(r"\b(?:max|min)_\w+(?=\()", each)) for each in (text, whole)]
    return kinds, [len(re.findall(rf"\b{name} = ", text)) for name in names], "// reduce_sum  " in text, combined


@check(
    "14.3", "A reduction is counted: as an operation, and among what a loop does.",
    against=["what a loop does can be seen in it", "additions cost nothing", "a source is the operation's name",
             "a reduction is all that its loop does"],
)  # fmt: skip
def counted(jk, rng):
    write, x = module(jk, "loops.source").write, floats(rng, *rng.integers(2, 5, size=2).tolist())
    source = write("f", jk.make_jaxpr(lambda x: (x.max(1), x.sum()))(x))
    # the comments above a loop have each operation and its line
    lines = [(line.split()[1], ":" in line) for line in source.text.splitlines() if line.startswith("// reduce")]
    noted = [line.split("//")[1].split()[0] for line in source.text.splitlines() if "//" in line and " = " in line]
    scaled = write("f", jk.make_jaxpr(lambda x: ((x * 3.0 - 1.0).max(1), (x * x).sum(1)))(x))
    return lines, sorted(noted), source.costs["flops"], scaled.costs["flops"]


# --- 14.4 Who lives here ------------------------------------------------------------------------------------------


def places(jk, lives, sizes):
    return module(jk, "loops.plan").placed(dict(lives), dict(sizes))


@check(
    "14.4",
    "Lives that do not meet share bytes; those that have one step in common do not.",
    against=["touching is not meeting", "memory is free", "lives that touch do not meet"],
)
def sharing(jk, rng):
    size, first, more = (64 * int(n) for n in rng.integers(1, 9, size=3))
    step = int(rng.integers(1, 9))
    apart = places(jk, {"a": (step, step + 1), "b": (step + 2, step + 5)}, {"a": size, "b": first})
    touching = places(jk, {"a": (step, step + 2), "b": (step + 2, step + 5)}, {"a": size, "b": first})
    chain = places(jk, {k: (k, k + 1) for k in range(12)}, dict.fromkeys(range(12), more))
    return apart, touching, chain


@check(
    "14.4",
    "A gap that is wide enough is used, and the lowest one of them.",
    against=[
        "there is room at the end",
        "the first gap is wide enough",
        "the smallest first",
        "arrays begin at multiples of 64",
        "the tightest gap is the best",
    ],
)
def gaps(jk, rng):
    units = int(rng.integers(1, 5)) * 64, int(rng.integers(1, 60))
    lives = {"a": (0, 1), "b": (0, 9), "c": (0, 1), "d": (0, 9), "e": (3, 5), "f": (3, 5), "g": (6, 7)}
    drawn = ((5, 4, 3, 2, 3, 5, 1), (3, 9, 5, 1, 5, 3, 3), (8, 7, 6, 5, 9, 1, 1))
    return [
        places(jk, lives, dict(zip(lives, (n * size for size in sizes), strict=True))) for n in units for sizes in drawn
    ]


@check(
    "14.4",
    "Of those that begin together the largest has its place first.",
    against=["the order is that of the dictionary"],
)
def order(jk, rng):
    sizes = [64 * int(n) for n in rng.permutation(6) + 1]
    lives = {name: (int(first), int(first) + 2) for name, first in zip("fedcba", (2, 1, 0, 2, 1, 0), strict=True)}
    return places(jk, lives, dict(zip(lives, sizes, strict=True)))


@check(
    "14.4",
    "Each buffer has its place, one without bytes too, however lives and bytes overlap.",
    against=["a place is behind the last neighbour", "what has no bytes has no place"],
)
def many_lives(jk, rng):
    found = []
    for _ in range(12):
        count = int(rng.integers(3, 12))
        first = rng.integers(0, 8, size=count).tolist()
        lives = {f"b{k}": (a, a + int(rng.integers(0, 6))) for k, a in enumerate(first)}
        found.append(places(jk, lives, {name: 64 * int(rng.integers(0, 6)) for name in lives}))
    return found


@check(
    "14.4", "What a loop reads from outside lives until the loop ends; what it makes itself does not.",
    against=["the last use in the text is the last", "a loop keeps everything", "a life begins where the loop begins"],
)  # fmt: skip
def in_loops(jk, rng):
    whole, n = module(jk, "loops.plan").whole_regions, int(rng.integers(1, 20))
    asked = ((0, 4), (2, 4), (0, 3), (0, 8), (3, 4), (5, 8), (0, 1), (8, 9), (3, 8), (0, 2))
    return [whole(first + n, last + n, [(3 + n, 8 + n)]) for first, last in asked], whole(n, n + 1, [])


@check("14.4", "Loops in loops: the life ends with the outermost one that it enters.", against=["one loop is enough"])
def nested_loops(jk, rng):
    whole, n = module(jk, "loops.plan").whole_regions, int(rng.integers(1, 20))
    regions = [(2 + n, 20 + n), (5 + n, 9 + n), (6 + n, 7 + n), (12 + n, 15 + n)]
    regions = [regions[k] for k in rng.permutation(4)]
    return [
        whole(a + n, b + n, regions)
        for a, b in ((0, 6), (2, 6), (3, 13), (5, 7), (5, 6), (6, 13), (0, 21), (21, 22), (12, 14))
    ]


@check(
    "14.4",
    "A long chain needs as much memory as a short one, and its numbers are right.",
    against=["memory is free", "touching is not meeting"],
)
def a_chain(jk, rng):
    lax, x = jk.lax, floats(rng, 9)

    def chain(x, n):
        for _ in range(n):
            x = lax.cumsum(x) * 0.5 + x[::-1]
        return x

    ran = module(jk, "kata.subjects.c_by_hand").ran
    return [(did.results, did.workspace) for did in (ran(lambda x, n=n: chain(x, n), x) for n in (3, 9))]


@check(
    "14.4",
    "An array that every turn of a loop reads is whole in every turn.",
    against=["the last use in the text is the last"],
)
def read_in_every_turn(jk, rng):
    lax, jnp = jk.lax, jk.numpy

    def f(x):
        table = lax.cumsum(x)
        return lax.fori_loop(0, 3, lambda i, c: lax.cumsum(lax.cumsum(c * table) * 0.1)[::-1] + jnp.tanh(c), x)

    return by_hand(jk, f, floats(rng, 7))


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Programs that nobody wrote before: others at each save."


@check("14.1", NEW, drawn=True)
def programs_1(jk, rng):
    return random_programs(jk, rng, of_c.moved, 6, by_numpy=False)


@check("14.2", NEW, drawn=True)
def programs_2(jk, rng):
    return random_programs(jk, rng, of_c.fused, 6, by_numpy=False)


@check("14.3", NEW, drawn=True)
def programs_3(jk, rng):
    return random_programs(jk, rng, of_c.reduced, 6, by_numpy=False)


@check("14.4", NEW, drawn=True)
def programs_4(jk, rng):
    return random_programs(jk, rng, of_c.planned, 6, by_numpy=False)
