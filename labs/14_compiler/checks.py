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
    "A broadcast reads its operand by the axes in `broadcast_dimensions`.",
    against=[
        "the new axes of a broadcast come last",
        "the operand's axes are the last ones of the result",
        "the axes of a broadcast are the last ones",
    ],
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
    against=["an axis of one element can be read at any index", "an axis of size 1 in the result is broadcast"],
)
def stretched(jk, rng):
    a, b = rng.integers(2, 5, size=2).tolist()
    params = {"shape": (a, b), "broadcast_dimensions": (0, 1)}
    return [moved(jk, "broadcast_in_dim", params, shape, (a, b)) for shape in ((1, b), (a, 1), (1, 1), (a, b))]


@check(
    "14.1",
    "A transpose of three axes reads the right element of its operand.",
    against=["a permutation is its own inverse"],
)
def transposes(jk, rng):
    shape = tuple(rng.integers(2, 5, size=3).tolist())
    orders = [(1, 2, 0), (2, 0, 1), tuple(rng.permutation(3).tolist())]
    return [moved(jk, "transpose", {"permutation": p}, shape, tuple(shape[k] for k in p)) for p in orders]


@check(
    "14.1", "A slice begins at its start and goes in its steps; without strides every step is 1.",
    against=[
        "the start of a slice is multiplied by its step", "`strides` is always a tuple", "a slice begins at 0",
        "the start of a slice is multiplied, too",
    ],
)  # fmt: skip
def slices(jk, rng):
    n, start, step = 12, int(rng.integers(1, 4)), int(rng.integers(2, 4))
    length = -(-(n - start) // step)
    one = {"start_indices": (start, 0), "limit_indices": (n, 3), "strides": (step, 1)}
    two = {"start_indices": (start, 1), "limit_indices": (n, 3), "strides": None}
    return moved(jk, "slice", one, (n, 3), (length, 3)), moved(jk, "slice", two, (n, 3), (n - start, 2))


@check(
    "14.1",
    "`rev` reads from the last element on, along its axes only.",
    against=["the last element is at the size", "all axes are reversed"],
)
def reversals(jk, rng):
    shape = tuple(rng.integers(2, 5, size=3).tolist())
    return [moved(jk, "rev", {"dimensions": axes}, shape, shape) for axes in ((0,), (1, 2), ())]


@check(
    "14.1",
    "An index may be any expression, and the result can be put into other expressions.",
    against=["an expression can be put into another one without parentheses"],
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
    "A chain of such operations is one loop, which stores its result and nothing else.",
    against=["an axis of one element can be read at any index"],
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


@check(
    "14.2",
    "What this nest does not write is read from memory.",
    against=["the nest has written everything that it reads"],
)
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
    "14.2", "An element that was stored in this iteration is in its variable; one at another index is not there yet.",
    against=[
        "a stored element has to be read from memory", "the variable holds every element",
        "an element that the loop will write is already in memory",
    ],
)  # fmt: skip
def the_same_loop(jk, rng):
    name, _ = names(rng)
    return [
        decide(jk, (3, 4), (k - 1, ROW, name, False), index, k)
        for k in (1, 2, 3)
        for index in (ROW, OTHER, ("i1", "i0"))
    ]


@check(
    "14.2", "What is stored after a loop can be read by later loops, and not within it.",
    against=[
        "what is stored after a loop can be read within it", "the sum of this row has to be read from memory",
        "the variable has the sum of any row",
    ],
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
    against=["an earlier loop has written all rows", "an earlier loop has written nothing", "the variable holds every element"],
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
    "Without outer loops, an earlier loop has written the whole buffer.",
    against=["every nest has outer loops", "what was stored after an earlier loop is not in memory"],
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
    "14.2", "The nest cannot read a part of a buffer that it writes, nor a buffer whose `when` is -1: that is a Conflict.",
    against=["a part of a buffer is read like the whole buffer", "a buffer that was written can always be read"],
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
    "14.2", "For random nests and random elements, the answer is the one that the docstring gives.",
    against=["a nest of one axis has an outer loop", "the first index alone says which row it is"],
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
    "14.2", "An operation that needs rows which the nest has not written yet goes into another nest.",
    against=["an earlier loop has written all rows", "an element that the loop will write is already in memory"],
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
    against=["a sum is added up in memory", "a sum of everything needs a loop for each row"],
)
def sums(jk, rng):
    return by_hand(jk, lambda x: (x * 2).sum(), floats(rng, *rng.integers(2, 6, size=2).tolist()))


@check(
    "14.3", "Each kind of reduction begins with the number that changes nothing.",
    against=["every accumulator begins with 0", "every reduction is a sum",
             "an accumulator always has the same type", "every reduction is one loop over all elements"],
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
    "The result of each row is stored once, after its loop.",
    against=["a sum is added up in memory", "the sum is stored while it grows"],
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


@check(
    "14.3",
    "A sum of everything does not begin again in each row.",
    against=["a sum of everything fits into a nest with rows"],
)
def not_in_rows(jk, rng):
    a, b = rng.integers(2, 5, size=2).tolist()

    def f(x):
        y = x - x.max(1, keepdims=True)
        return y.sum(1), y.sum(), y

    return by_hand(jk, f, floats(rng, a, b))


@check(
    "14.3",
    "The loop's pragma says that the order of the sum is free, and the accumulator has the right type.",
    against=["the compiler sees by itself that the order of a sum is free", "every accumulator is a float"],
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
    "14.3", "A reduction counts one operation for each element in `flops`, and the comment above its loop names it.",
    against=["the comment above a loop need not name the reduction", "additions cost nothing", "the note needs only the operation's name",
             "the loop of a reduction does nothing else"],
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
    "Buffers whose lives do not meet may share bytes; buffers whose lives have a step in common do not.",
    against=[
        "two lives that share one step do not meet",
        "every array can have its own memory",
        "a life that ends where another one begins does not meet it",
    ],
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
    "A buffer goes into the lowest gap that is wide enough.",
    against=[
        "a new buffer always goes to the end",
        "the first gap is wide enough",
        "of buffers that begin together, the smallest is placed first",
        "offsets must be multiples of 64",
        "the tightest gap should be used",
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
    "Of buffers whose lives begin together, the largest is placed first.",
    against=["buffers are placed in the order of the dictionary"],
)
def order(jk, rng):
    sizes = [64 * int(n) for n in rng.permutation(6) + 1]
    lives = {name: (int(first), int(first) + 2) for name, first in zip("fedcba", (2, 1, 0, 2, 1, 0), strict=True)}
    return places(jk, lives, dict(zip(lives, sizes, strict=True)))


@check(
    "14.4",
    "Each buffer gets an offset, also one without bytes, however the lives overlap.",
    against=["a free place begins where the last neighbour ends", "a buffer without bytes needs no place"],
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
    "14.4", "A buffer that a loop reads from outside lives until the loop ends; one that it makes itself does not.",
    against=["the last use in the text is the last", "a loop keeps everything", "every life begins where the loop begins"],
)  # fmt: skip
def in_loops(jk, rng):
    whole, n = module(jk, "loops.plan").whole_regions, int(rng.integers(1, 20))
    asked = ((0, 4), (2, 4), (0, 3), (0, 8), (3, 4), (5, 8), (0, 1), (8, 9), (3, 8), (0, 2))
    return [whole(first + n, last + n, [(3 + n, 8 + n)]) for first, last in asked], whole(n, n + 1, [])


@check(
    "14.4",
    "Loops in loops: the life ends with the outermost one that it enters.",
    against=["a life is extended only to the end of the innermost loop"],
)
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
    against=["every array can have its own memory", "two lives that share one step do not meet"],
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
    "An array that every turn of a loop reads keeps its values in every turn.",
    against=["the last use in the text is the last"],
)
def read_in_every_turn(jk, rng):
    lax, jnp = jk.lax, jk.numpy

    def f(x):
        table = lax.cumsum(x)
        return lax.fori_loop(0, 3, lambda i, c: lax.cumsum(lax.cumsum(c * table) * 0.1)[::-1] + jnp.tanh(c), x)

    return by_hand(jk, f, floats(rng, 7))


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random programs, new ones at each save."


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
