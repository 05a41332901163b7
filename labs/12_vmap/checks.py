"""The programs that the exercises of lab 12 must run like the reference."""

from __future__ import annotations

import itertools

import numpy as np

from jitkit.kata.checking import check, module, of_arrays, raised, random_programs, run_by_numpy


def normal(rng, *shape):
    """Return normal random numbers as float32."""
    return rng.normal(size=shape).astype("float32")


def mapped(jk, f, *arguments, in_axes=0, out_axes=0):
    """Return the results of `vmap(f)`, which numpy computes from its jaxpr, and the jaxpr."""
    program = jk.make_jaxpr(jk.vmap(f, in_axes, out_axes))(*arguments)
    return run_by_numpy(program, *jk.tree_util.tree_leaves(arguments)), program


def values(jk, f, *arguments, **axes):
    """Return the results of `vmap(f)`."""
    return mapped(jk, f, *arguments, **axes)[0]


def count(program, *names):
    """Count the equations of these primitives (without names, of all) in a jaxpr, and in the jaxprs inside of it."""
    total = 0
    for eqn in program.eqns:
        total += eqn.primitive.name in names or not names
        for value in eqn.params.values():
            inner = value if isinstance(value, tuple) else (value,)
            total += sum(count(x, *names) for x in inner if type(x).__name__ == "Jaxpr")
    return total


def at_most(most, number, what):
    """Return a text for a number: one text for all numbers up to `most`; otherwise the number itself."""
    return f"{what}: {f'{most} or fewer' if number <= most else number}"


# --- 12.1 One operation for all elements --------------------------------------------------------------------------


@check(
    "12.1",
    "The function sees elements; the operations in the enclosing trace see batches.",
    against=["an operation on a batch is the operation on a long element", "the batch axis is the first one"],
)
def elements_and_batches(jk, rng):
    seen, x, y = [], normal(rng, 3, 4), normal(rng, 4, 3)

    def f(x, y):
        seen.append((str(x.aval), str(y.aval)))
        return jk.lax.sin(x).sum() * jk.lax.cos(y)

    return values(jk, f, x, y, in_axes=(0, 1)), seen


@check(
    "12.1",
    "There are as many operations for a thousand elements as for one.",
    against=["a batch is a loop over its elements"],
)
def no_loop(jk, rng):
    n, times = int(rng.integers(3, 9)), int(rng.integers(1, 6))

    def f(x):
        for _ in range(times):
            x = jk.lax.cos(x)
        return x

    return [count(mapped(jk, f, normal(rng, n, 2))[1]), count(mapped(jk, jk.lax.sin, normal(rng, 100 * n))[1])]


@check(
    "12.1",
    "An operation whose operands are all the same for all elements is done once, as it is.",
    against=["everything is a batch", "unmapped arguments are batched"],
)
def the_same_for_all(jk, rng):
    a, n = normal(rng, 4), int(rng.integers(3, 9))
    rules, asked = jk.interpreters.batching.primitive_batchers, []
    known = dict(rules)
    for primitive, rule in known.items():
        rules.update({primitive: lambda *xs, r=rule, p=primitive, **params: asked.append(p.name) or r(*xs, **params)})

    def f(x, a):
        b = jk.lax.exp(jk.lax.sin(a))
        return jk.lax.neg(x), b

    x = normal(rng, n)
    try:
        results, program = mapped(jk, f, x, a, in_axes=(0, None), out_axes=(0, None))
    finally:
        rules.update(known)
    return results, asked, [aval.shape for aval in program.out_avals]


@check(
    "12.1",
    "An operation with several results has a batch axis for each of them.",
    against=["an operation has one result"],
)
def several_results(jk, rng):
    n = int(rng.integers(2, 9))
    x, k = normal(rng, n, 4), rng.permutation(4 * n).reshape(n, 4).astype("int32")
    program = jk.make_jaxpr(jk.vmap(lambda k, x: jk.lax.sort((k, x), num_keys=1)))(k, x)
    return [aval.shape for aval in program.out_avals], program


@check(
    "12.1",
    "Batches of batches: an inner trace leaves the axes of the outer one alone.",
    against=["every batch belongs to this trace", "rules run in their own trace"],
)
def nested(jk, rng):
    x, y, z = normal(rng, 3, 4, 2), normal(rng, 3, 4), normal(rng, 4)

    def f(x, y, z):
        return jk.vmap(lambda x: jk.lax.sin(x) * y + z, in_axes=1, out_axes=1)(x)

    return values(jk, f, x, y, z, in_axes=(0, 0, None))


@check(
    "12.1",
    "An operation without a rule is refused, with its name in the error.",
    against=["without a rule, the operation can be applied to the batch as it is"],
)
def without_a_rule(jk, rng):
    name = f"strange{rng.integers(999)}"
    strange = jk.core.Primitive(name)
    strange.def_abstract_eval(lambda x: x)
    x = normal(rng, 3)
    alone = jk.make_jaxpr(jk.vmap(lambda x, a: (x, strange.bind(a)), in_axes=(0, None), out_axes=(0, None)))
    return count(alone(x, x), name), raised(jk.make_jaxpr(jk.vmap(strange.bind)), x, parts=[name])


@check(
    "12.1",
    "The rules of some primitives are called in any case: their inner programs may name the axis.",
    against=["an operation without batches does not need the axis"],
)
def asked_in_any_case(jk, rng):
    x, a = normal(rng, int(rng.integers(2, 9))), normal(rng, 2)

    def f(x, a):
        return x + jk.jit(lambda a: a.sum() + jk.lax.axis_index("i"))(a)

    program = jk.make_jaxpr(jk.vmap(f, in_axes=(0, None), axis_name="i"))(x, a)
    return [aval.shape for aval in program.out_avals], count(program, "axis_index")


# --- 12.2 Elementwise ---------------------------------------------------------------------------------------------


def shapes_of_operands(program, name):
    """Return the shapes of the operands of all equations of a primitive."""
    return [tuple(atom.aval.shape for atom in eqn.invars) for eqn in program.eqns if eqn.primitive.name == name]


@check(
    "12.2",
    "On batches of one shape, with their axes at the same place, the operation is applied as it is.",
    against=["axes are always moved"],
)
def as_it_is(jk, rng):
    x, y = normal(rng, 3, 4), normal(rng, 3, 4)
    results = []
    for axis in (0, 1):
        found, program = mapped(jk, jk.lax.mul, x, y, in_axes=axis, out_axes=axis)
        results.append((found, count(program)))
    return results


@check(
    "12.2",
    "For a primitive with several results, the rule returns a list of results, and a list of their batch axes.",
    against=["an operation has one result"],
)
def several_results_of_elements(jk, rng):
    pair = jk.core.Primitive("pair", multiple_results=True)
    pair.def_abstract_eval(lambda x, y, how: [x, y])
    jk.interpreters.batching.defbroadcasting(pair)
    n = int(rng.integers(2, 9))
    x, y = normal(rng, 3, n), normal(rng, 3, n)

    def bind(x, y):
        return pair.bind(x, y, how="in order")

    alike = jk.make_jaxpr(jk.vmap(bind, in_axes=1, out_axes=[1, 0]))(x, y)
    moved = jk.make_jaxpr(jk.vmap(bind, in_axes=(0, 1), out_axes=[1, 0]))(x, normal(rng, n, 3))
    return [[aval.shape for aval in program.out_avals] for program in (alike, moved)], count(alike, "transpose")


@check(
    "12.2",
    "Axes at different places are brought to the same one.",
    against=["the result's batch axis is where the operand's was", "the numbers of axes stay the same in a batch"],
)
def different_places(jk, rng):
    x, y = normal(rng, 3, 3, 2), normal(rng, 3, 2, 3)
    return [
        values(jk, jk.lax.sub, x, y, in_axes=(0, 2)),
        values(jk, jk.lax.sub, x, x, in_axes=(0, 1)),
        values(jk, jk.lax.max, y, x, in_axes=(1, 2)),
        values(jk, jk.lax.select, x > y.transpose(0, 2, 1), x, x, in_axes=(0, 1, 0)),
    ]


@check(
    "12.2",
    "An operand that is the same for all elements gets an axis of size 1: nothing is repeated.",
    against=["unmapped arguments are batched", "broadcasting lines up the right axes"],
)
def unmapped_operands(jk, rng):
    n = int(rng.integers(4, 9))
    x, a = normal(rng, n, 3), normal(rng, 3)
    square = normal(rng, 3, 3)
    found, program = mapped(jk, lambda x, a: x * a, x, a, in_axes=(0, None))
    return [
        found,
        max(int(np.prod(eqn.outvars[0].aval.shape)) for eqn in program.eqns[:-1]),
        values(jk, lambda x, a: a - x, square, a, in_axes=(1, None)),
        values(jk, lambda x, a: a - x, square, a, in_axes=(0, None)),
    ]


@check(
    "12.2",
    "A Python number may stand beside batches whose axes are in different places.",
    against=["every operand has a `shape`"],
)
def numbers_of_python(jk, rng):
    middle, number = jk.core.Primitive("between"), float(np.float32(rng.normal()))
    middle.def_abstract_eval(lambda low, x, high: x)
    jk.interpreters.batching.defbroadcasting(middle)
    x, y = normal(rng, 3, 4), normal(rng, 4, 3)
    return jk.make_jaxpr(jk.vmap(lambda x, y: middle.bind(number, x, y), (0, 1)))(x, y)


@check("12.2", "A scalar is left as it is, also a Python number.", against=["every operand needs a batch axis"])
def scalars(jk, rng):
    x, s = normal(rng, 3, 4), np.float32(rng.normal())
    found, program = mapped(jk, jk.lax.mul, x, s, in_axes=(1, None), out_axes=1)
    bind = jk.lax.mul_p.bind
    number = float(np.float32(rng.normal()))
    before, after = mapped(jk, jk.lax.mul, s, x, in_axes=(None, 1), out_axes=1)
    least, most = normal(rng, 3), abs(normal(rng, 4, 3))
    middle = jk.core.Primitive("middle")
    middle.def_abstract_eval(lambda low, x, high: x)
    jk.interpreters.batching.defbroadcasting(middle)
    programs = [
        jk.make_jaxpr(jk.vmap(middle.bind, axes))(*operands)
        for axes, operands in (
            ((None, 0, 1), (s, x, most)),
            ((0, 1, None), (least, most, s)),
            ((0, 1, 0), (least, most, x)),
        )
    ]
    return [
        found,
        count(program),
        before,
        count(after),
        values(jk, lambda x: bind(number, x), x, in_axes=1),
        [shapes_of_operands(program, "middle") for program in programs],
        values(jk, jk.lax.clamp, least, x, np.float32(2), in_axes=(0, 0, None)),
        values(jk, lambda x: bind(x, number), x),
        values(jk, lambda x: bind(x, number), x[0]),
    ]


@check(
    "12.2",
    "Where a batch of scalars meets an array, its batch axis is not lined up with an axis of the array's elements.",
    against=["broadcasting lines up the right axes"],
)
def batches_of_scalars(jk, rng):
    s, x, m = normal(rng, 3), normal(rng, 3, 3), normal(rng, 2, 3, 3)
    mul = jk.lax.mul_p.bind
    return [
        values(jk, mul, s, x),
        values(jk, mul, x, s, in_axes=(1, 0)),
        values(jk, mul, s, x[0], in_axes=(0, None)),
        values(jk, mul, m, s, in_axes=(1, 0)),
    ]


@check(
    "12.2",
    "The axis goes to its place, and the others keep their order; a value without a batch axis is repeated along a new one.",
    against=["moving an axis swaps two axes", "`transpose(axes)` says where each axis goes"],
)
def moves(jk, rng):
    batching, x = jk.interpreters.batching, normal(rng, 2, 3, 4, 5)
    programs = [jk.make_jaxpr(lambda x, a=a, b=b: batching.moveaxis(x, a, b))(x) for a in range(4) for b in (0, 2, 3)]
    there = [jk.make_jaxpr(lambda x, a=a, b=b: batching.move_to(x, a, b, 2))(x) for a, b in ((None, 1), (0, 3), (3, 0))]
    still = jk.make_jaxpr(lambda x: batching.move_to(x, 2, 2, 4))(x)
    itself = [batching.moveaxis(x, axis, axis) is x for axis in range(4)]
    return [run_by_numpy(program, x) for program in (*programs, *there)], count(still), itself


# --- 12.3 Reductions ----------------------------------------------------------------------------------------------


@check(
    "12.3",
    "The axes to reduce are those of an element; in the batch they may have the next number.",
    against=[
        "the numbers of axes stay the same in a batch",
        "all axes are shifted",
        "the batch axis of a reduction's result comes first",
        "all reduced axes were before it",
        "the axes after the batch axis keep their numbers",
    ],
)
def reduced_axes(jk, rng):
    x = normal(rng, 3, 3, 3)
    lax = jk.lax
    return [
        values(jk, lambda x, a=axes: lax.reduce_sum(x, a), x, in_axes=place)
        for place in (0, 1, 2)
        for axes in ((0,), (1,))
    ]


@check(
    "12.3",
    "An axis that the element does not have is an error, although the batch has one with this number.",
    against=["the primitive itself refuses wrong axes"],
)
def axes_of_the_element_only(jk, rng):
    x, last = normal(rng, 2, 3, 4), int(rng.integers(3, 7))
    right = jk.vmap(lambda x: jk.lax.reduce_sum(x, (1,)), in_axes=1)(x)
    errors = [
        raised(jk.vmap(lambda x, a=axes: jk.lax.reduce_sum(x, a), in_axes=dim), x)
        for axes in ((2,), (0, 2), (last,))
        for dim in range(3)
    ]
    return errors, right


@check(
    "12.3",
    "The batch axis moves to the front by as many places as were reduced before it.",
    against=["the batch axis stays where it was", "the batch axis is the first one"],
)
def place_of_the_result(jk, rng):
    x = normal(rng, 2, 3, 4, 2)
    lax = jk.lax
    return [
        values(jk, lambda x, a=axes: lax.reduce_max(x, a), x, in_axes=place, out_axes=-1)
        for place, axes in ((3, (0, 1)), (2, (0,)), (1, (2,)), (3, (0, 1, 2)), (0, (0, 2)))
    ]


@check(
    "12.3",
    "The rule makes one reduction, and keeps its other parameters.",
    against=["a batch is a loop over its elements", "the batch axis has to be in front"],
)
def one_reduction(jk, rng):
    x = normal(rng, *rng.integers(2, 9, size=3))
    programs = [
        mapped(jk, lambda x: jk.lax.reduce_min(x, (0,)), x, in_axes=1)[1],
        mapped(jk, lambda x: jk.lax.argmax(x, 1, "int16"), x, in_axes=2)[1],
    ]
    return [(count(program), [str(aval) for aval in program.out_avals]) for program in programs]


@check(
    "12.3",
    "Axes before the batch axis keep their numbers; those from it on have the next ones.",
    against=[
        "the numbers of axes stay the same in a batch",
        "all axes are shifted",
        "only the axes after the batch axis are shifted",
    ],
)
def shifts(jk, rng):
    shifted = jk.interpreters.batching.shifted
    axes = [int(a) for a in rng.permutation(5)]
    return [list(shifted(axes, dim)) for dim in range(6)]


# --- 12.4 dot_general ---------------------------------------------------------------------------------------------


def product(jk, rng, lhs_shape, rhs_shape, numbers, lhs_dim, rhs_dim, size=3):
    """Map a `dot_general`, with batch axes of this size in the operands. Return its values, and how many products and sums it becomes."""
    lhs, rhs = list(lhs_shape), list(rhs_shape)
    if lhs_dim is not None:
        lhs.insert(lhs_dim, size)
    if rhs_dim is not None:
        rhs.insert(rhs_dim, size)
    arguments = normal(rng, *lhs), normal(rng, *rhs)
    found, program = mapped(jk, lambda x, y: jk.lax.dot_general(x, y, numbers), *arguments, in_axes=(lhs_dim, rhs_dim))
    return found, count(program, "dot_general"), count(program, "reduce_sum")


MATRICES = (((1,), (0,)), ((), ()))


@check(
    "12.4",
    "If both operands are batches, their axes are paired, and become a batch axis of the product.",
    against=["the two batch axes of a product are kept apart", "batch axes come last"],
)
def two_batches(jk, rng):
    return [
        product(jk, rng, (2, 4), (4, 5), MATRICES, 0, 0),
        product(jk, rng, (2, 4), (4, 5), MATRICES, 2, 1),
        product(jk, rng, (2, 4, 2), (2, 4, 5), (((1,), (1,)), ((0,), (0,))), 1, 2),
    ]


@check(
    "12.4",
    "If only the left operand is a batch, its axis stands among the left operand's kept axes.",
    against=[
        "the batch axis comes first",
        "the numbers of axes stay the same in a batch",
        "the batch axis keeps its number in the product",
        "batch axes come last in a product",
    ],
)
def left(jk, rng):
    return [
        product(jk, rng, (2, 4), (4, 5), MATRICES, 0, None),
        product(jk, rng, (2, 4), (4, 5), MATRICES, 1, None),
        product(jk, rng, (4, 2), (4, 5), (((0,), (0,)), ((), ())), 2, None),
        product(jk, rng, (2, 4, 3, 2), (2, 4), (((1,), (1,)), ((0,), (0,))), 3, None),
    ]


@check(
    "12.4",
    "If only the right operand is a batch, its axis stands among the right operand's kept axes, after those of the left one.",
    against=[
        "the batch axis comes first",
        "the numbers of axes stay the same in a batch",
        "the kept axes of the right operand come first",
        "the axes of the right operand come right after the batch axes",
    ],
)
def right(jk, rng):
    return [
        product(jk, rng, (2, 4), (4, 5), MATRICES, None, 0),
        product(jk, rng, (2, 4), (4, 5), MATRICES, None, 1),
        product(jk, rng, (2, 4), (4, 5), MATRICES, None, 2),
        product(jk, rng, (2, 4, 3), (2, 5, 4), (((1,), (2,)), ((0,), (0,))), None, 2),
    ]


@check(
    "12.4",
    "An operand that is the same for all elements stays as it is.",
    against=["unmapped arguments are batched"],
    fixed="only a bound is asked for",
)
def one_is_no_batch(jk, rng):
    w, x = normal(rng, 4, 5), normal(rng, 3, 4)
    program = mapped(jk, lambda w, x: x @ w, w, x, in_axes=(None, 0))[1]
    [dot] = [eqn for eqn in program.eqns if eqn.primitive.name == "dot_general"]
    return at_most(2, max(len(atom.aval.shape) for atom in dot.invars), "axes of an operand")


@check(
    "12.4",
    "The function returns the dimension numbers of the product, and the place of its batch axis.",
    against=["batch axes come last", "the batch axis comes first", "only contracting axes are shifted"],
)
def numbers(jk, rng):
    ask = module(jk, "lax.dot_products").batched_dimension_numbers
    given = (((1,), (2,)), ((0,), (0,)))  # (b, c, k) with (b, l, c)
    cases = [(4, 3, dim, None) for dim in range(4)] + [(3, 4, None, dim) for dim in range(4)]
    found, cases = [], [cases[i] for i in rng.permutation(len(cases))]
    for lhs_ndim, rhs_ndim, lhs_dim, rhs_dim in cases:
        (contract, batch), place = ask(lhs_ndim, rhs_ndim, lhs_dim, rhs_dim, given)
        found.append(([list(map(list, contract)), list(map(list, batch))], int(place)))
    return found


# --- 12.5 vmap ----------------------------------------------------------------------------------------------------


@check(
    "12.5",
    "The function is called once, with elements, and its result has the axis in front.",
    against=["a batch is a loop over its elements"],
)
def called_once(jk, rng):
    calls, n = [], int(rng.integers(3, 9))

    def f(x):
        calls.append(x.shape)
        return {"a": x * 2, "b": (x.sum(), None)}

    x = normal(rng, n, 2)
    found, _ = mapped(jk, f, x)
    return found, calls, jk.tree_util.tree_structure(jk.eval_shape(jk.vmap(f), x))


@check(
    "12.5",
    "`in_axes` is one axis for all arguments, a tuple with an axis for each, or a tree; None is for what every call gets as it is.",
    against=["in_axes is one number", "None means 0"],
)
def axes_of_arguments(jk, rng):
    x, y = normal(rng, 3, 3), {"a": normal(rng, 3), "b": normal(rng, 2, 3)}

    def f(x, y):
        return x.sum() * y["a"] + y["b"].sum()

    return [
        values(jk, f, x, y, in_axes=axes)
        for axes in ((0, {"a": 0, "b": 1}), (1, {"a": None, "b": 1}), (None, {"a": 0, "b": None}))
    ]


@check(
    "12.5", "A negative axis is counted from the end of its own leaf.", against=["-1 is the same axis for all leaves"]
)
def negative_axes(jk, rng):
    x, y = normal(rng, 2, 3), normal(rng, 4, 2, 3)
    return [
        values(jk, lambda x, y: (x, y * x[0]), x, y, in_axes=-1),
        values(jk, lambda x, y: y.sum() * x.sum(), x, y, in_axes=(-2, -2)),
    ]


@check("12.5", "Keyword arguments are mapped over their first axis.", against=["only positional arguments are mapped"])
def keywords(jk, rng):
    x, y = normal(rng, 2, 3), normal(rng, 3, 2)
    f = jk.make_jaxpr(lambda x, y: jk.vmap(lambda x, *, y: x * y, in_axes=1)(x, y=y))(x, y)
    return run_by_numpy(f, x, y)


@check(
    "12.5",
    "`out_axes` says where the axis goes in each result; a negative one counts from the end.",
    against=["the axis of a result is always the first one", "out_axes is one number"],
)
def axes_of_results(jk, rng):
    x = normal(rng, 4, 2, 3)

    def f(x):
        return x * 2, {"s": x.sum(), "t": jk.lax.transpose(x, (1, 0))}

    return [values(jk, f, x, out_axes=axes) for axes in ((1, {"s": 0, "t": 2}), (-1, 0), (2, {"s": -1, "t": -3}))]


@check(
    "12.5",
    "A result that is the same for all elements is repeated if `out_axes` gives it an axis, and left alone if it is None.",
    against=["a result that is the same for all elements needs no axis", "None drops the batch"],
)
def constant_results(jk, rng):
    x, a = normal(rng, 4), normal(rng, 2)

    def f(x):
        return x, a * 2, 3.0

    batch = jk.make_jaxpr(jk.vmap(f, out_axes=(None, 0, 0)))
    return [
        values(jk, f, x, out_axes=0),
        values(jk, f, x, out_axes=(0, 1, None)),
        values(jk, f, x, out_axes=(0, None, -1)),
        raised(batch, x, parts=["axis spec None", "batched"]),
    ]


@check(
    "12.5",
    "A place that the result does not have is refused, and so is a result that is not an array.",
    against=["numpy complains if a result is not an array", "an axis out of range means the last axis"],
    fixed="an error of fixed words",
)
def refused(jk, rng):
    x = normal(rng, 4)

    def use(f, out_axes):
        return raised(jk.make_jaxpr(jk.vmap(f, out_axes=out_axes)), x)

    return [
        use(lambda x: x, 1),
        use(lambda x: x, -2),
        use(lambda x: "no", 0),
        raised(jk.vmap(lambda x: "no", out_axes=None), x),
        use(lambda x: 2.0, 1),
    ]


@check(
    "12.5",
    "All mapped axes have one size; `axis_size` is enough where nothing is mapped. The axis may have a name.",
    against=["the axis has no name"],
)
def sizes(jk, rng):
    x, y = normal(rng, 4), normal(rng, 3)
    f = jk.make_jaxpr(jk.vmap(lambda x, y: x * y))
    none = jk.make_jaxpr(jk.vmap(lambda x: x * 2, in_axes=None, axis_size=3))(np.float32(2))
    named = jk.make_jaxpr(jk.vmap(lambda x: x - jk.lax.axis_index("i"), axis_name="i"))(x)
    return [raised(f, x, y, parts=["inconsistent sizes"]), run_by_numpy(none, np.float32(2)), run_by_numpy(named, x)]


# --- 12.6 cond becomes select -------------------------------------------------------------------------------------


@check(
    "12.6",
    "With one predicate for all elements it is still a cond, whose branches work on batches.",
    against=["vmap of cond is select", "unmapped arguments are batched"],
)
def one_predicate(jk, rng):
    x, p = normal(rng, 3, 2, 4), bool(rng.integers(2))

    def f(p, x):
        return jk.lax.cond(p, lambda x: (jk.lax.sin(x), 1.0), lambda x: (x * 2, 0.5), x)

    found, program = mapped(jk, f, p, x, in_axes=(None, 2))
    return found, count(program, "cond"), count(program, "select_n")


@check(
    "12.6",
    "With a predicate for each element, all branches run, and each element gets the result of its own branch.",
    against=["the first element decides", "the branches are in reverse order"],
)
def a_predicate_for_each(jk, rng):
    x, y = normal(rng, 5), normal(rng, 2, 5)

    def f(x, y):
        return jk.lax.cond(x > 0, lambda: (x * 2, y, np.float32(1)), lambda: (-x, y * x, x))

    found, program = mapped(jk, f, x, y, in_axes=(0, 1))
    return found, count(program, "cond")


@check(
    "12.6",
    "There may be more than two branches, and an index beyond the last one.",
    against=["there are always two branches", "the branches are in reverse order"],
)
def switches(jk, rng):
    x, i = normal(rng, 6), rng.integers(-1, 4, size=6).astype("int32")
    a = normal(rng, 3)

    def f(i, x):
        return jk.lax.switch(i, [lambda x: x * a, lambda x: x + a, lambda x: a], x)

    return values(jk, f, i, x), values(jk, f, np.int32(1), x, in_axes=(None, 0))


@check(
    "12.6",
    "If a result is a batch in one branch, it becomes one in all branches; other results do not.",
    against=[
        "the first branch decides which results are batches",
        "each branch decides by itself which of its results are batches",
        "unmapped arguments are batched",
    ],
)
def branches_agree(jk, rng):
    x, a, p = normal(rng, 4), normal(rng, 2), bool(rng.integers(2))

    def f(p, x, a):
        return jk.lax.cond(p, lambda: (a * x, a, a), lambda: (a, a + 1, a * x))

    return values(jk, f, p, x, a, in_axes=(None, 0, None), out_axes=(0, None, 0))


@check(
    "12.6",
    "An element gets no derivative from a branch that it did not take, even where that derivative would be nan.",
    against=["a masked nan is harmless"],
)
def no_nan(jk, rng):
    x = np.abs(normal(rng, 4)) + np.float32(0.1)
    x[int(rng.integers(4))] = 0

    def f(x):
        return jk.lax.cond(x > 0, lambda x: jk.lax.log(x) * x, lambda x: x * 3, x)

    program = jk.make_jaxpr(jk.grad(lambda x: jk.vmap(f)(x).sum()))(x)
    return run_by_numpy(program, x)


@check(
    "12.6",
    "With several branches, each element gets the derivative of its own branch.",
    against=["the index is a truth value"],
)
def derivatives_of_each_branch(jk, rng):
    places, x = rng.permutation(4).astype("int32"), np.abs(normal(rng, 4)) + np.float32(0.1)
    by = [float(n) for n in rng.permutation(range(2, 9))[:4]]

    def f(i, x):
        return jk.lax.switch(i, [lambda x, n=n: jk.lax.log(x) * n for n in by], x)

    return run_by_numpy(jk.make_jaxpr(jk.grad(lambda x: jk.vmap(f)(places, x).sum()))(x), x)


@check(
    "12.6",
    "A branch that writes is refused, with one predicate for all elements as well.",
    against=["vmap of cond is select"],
    fixed="an error of fixed words",
)
def branches_that_write(jk, rng):
    x = normal(rng, 3)

    def writes(x):
        jk.experimental.io_callback(lambda x: None, None, x)
        return x

    def f(p, x):
        return jk.lax.cond(p, writes, lambda x: x * 2, x)

    parts = ["IO effect not supported in vmap-of-cond"]
    return [raised(jk.make_jaxpr(jk.vmap(f, axes)), p, x, parts=parts) for p, axes in ((x > 0, 0), (True, (None, 0)))]


# --- 12.7 scan over a batch ---------------------------------------------------------------------------------------


def scans_of(program):
    """Return, for each scan in a program, the shapes of its operands, and how many constants and parts of the carry it has."""
    return [
        (sorted(atom.aval.shape for atom in eqn.invars), eqn.params["num_consts"], eqn.params["num_carry"])
        for eqn in program.eqns
        if eqn.primitive.name == "scan"
    ]


@check(
    "12.7",
    "All elements take their steps together, in one scan.",
    against=["a batch is a loop over its elements", "the batch axis is scanned over"],
)
def one_scan(jk, rng):
    xs = normal(rng, 3, 4)

    def f(xs):
        return jk.lax.scan(lambda c, x: (c * 0.5 + x, c), 0.0, xs)

    found, program = mapped(jk, f, xs)
    other = values(jk, f, xs, in_axes=1)
    return found, other, count(program, "scan")


@check(
    "12.7",
    "The axis of the scan stays in front of what is scanned over; the batch axis comes behind it.",
    against=["the batch axis is scanned over", "the stacked outputs have their batch axis in front"],
)
def axes_of_both(jk, rng):
    xs, c = normal(rng, 3, 3, 3), normal(rng, 3, 3)

    def f(c, xs):
        return jk.lax.scan(lambda c, x: (jk.lax.sin(c + x), c * x), c, xs, reverse=True)

    return [values(jk, f, c, xs, in_axes=axes) for axes in ((0, 0), (1, 1), (0, 2))]


@check(
    "12.7",
    "A carry that is not a batch at first becomes one if a step makes it one, maybe through another part of the carry.",
    against=["a part of the carry is a batch only if it begins as one", "going over the parts once is enough"],
)
def carries_become_batches(jk, rng):
    n = int(rng.integers(3, 6))
    a, xs = normal(rng, 4), normal(rng, 3)

    def f(a, xs):
        def step(c, x):
            return (*(one + other * x for one, other in itertools.pairwise(c)), a), c[0]

        return jk.lax.scan(step, (np.float32(1),) * n, xs)

    return values(jk, f, a, xs, in_axes=(0, None))


@check(
    "12.7",
    "What is the same for all elements stays so: constants, elements and parts of the carry.",
    against=["unmapped arguments are batched", "one batch makes all of them batches"],
)
def unmapped_parts(jk, rng):
    x, a, xs = normal(rng, 4), normal(rng, 2), normal(rng, 3)

    def f(x, a, xs):
        def step(c, y):
            return (c[0] + x * y, c[1] * a), (c[1], y * 2)

        return jk.lax.scan(step, (np.float32(0), a), xs)

    found, program = mapped(jk, f, x, a, xs, in_axes=(0, None, None), out_axes=((0, None), (None, None)))
    return found, scans_of(program)


@check(
    "12.7",
    "A scan can be batched if only the closed-over values are batches, or only the scanned arrays; it may have zero steps.",
    against=[
        "a part of the carry is a batch only if it begins as one",
        "the stacked outputs have their batch axis in front",
    ],
)
def all_kinds(jk, rng):
    a, xs = normal(rng, 3, 2), normal(rng, 3, 4, 2)

    def f(a, xs):
        return jk.lax.scan(lambda c, x: (c + (x * a).sum(), (x, c * 2)), 0.0, xs)

    return [
        values(jk, f, a, xs[0], in_axes=(0, None)),
        values(jk, f, a[0], xs, in_axes=(None, 0)),
        values(jk, f, a, xs[:, :0]),
        values(
            jk, lambda xs: jk.lax.scan(lambda c, x: (c + x[0] * x[1]["b"], x), 0.0, (xs, {"b": xs * 2})), a, in_axes=1
        ),
        values(jk, lambda a: jk.lax.scan(lambda c, _: (c * a, c), 1.0, None, length=3), a[0]),
    ]


@check(
    "12.7",
    "A part of the carry is a batch if it begins as one, or becomes one in any step.",
    against=[
        "a part of the carry is a batch only if it begins as one",
        "going over the parts once is enough",
        "one batch makes all of them batches",
    ],
)
def parts_of_a_carry(jk, rng):
    n = int(rng.integers(3, 6))
    ask = jk.lax.control_flow.common.batched_carry
    axis = jk.interpreters.batching.AxisData(None, 4)
    ones = [np.float32(1)] * (n + 1)
    shift = jk.make_jaxpr(lambda a, *c: (*c[1:], a))(*ones)
    stay = jk.make_jaxpr(lambda *c: c[:-1])(*ones)
    meet = jk.make_jaxpr(lambda a, b, c, x: (b + c, c * a, x))(*ones[:1] * 4)
    first = [True] + [False] * (n - 1)
    return [
        list(ask(shift, axis, [True], [False] * n)),
        list(ask(shift, axis, [False], [False] * n)),
        list(ask(stay, axis, [], first, [True])),
        [
            list(ask(meet, axis, [a], [False, c], [x]))
            for a in (False, True)
            for c in (False, True)
            for x in (False, True)
        ],
    ]


# --- What learners wrote ------------------------------------------------------------------------------------------


@check(
    "12.7",
    "The constants and the initial carry of a scan may have their batch axes anywhere.",
    against=["constants have their batch axis in front"],
)
def constants_with_an_axis_elsewhere(jk, rng):
    w, xs = normal(rng, 3, 3), normal(rng, 4)

    def f(w, xs):
        return jk.lax.scan(lambda c, x: (c + (w * x)[0], c), 0.0, xs)

    return [values(jk, f, w, xs, in_axes=(place, None)) for place in (0, 1)]


@check(
    "12.7",
    "A part of the carry that begins as a batch stays one, though each step overwrites it.",
    against=["a part of the carry is a batch only if the step makes it one"],
)
def delay_lines(jk, rng):
    c, xs = normal(rng, 4), normal(rng, 3)
    ask = jk.lax.control_flow.common.batched_carry
    delay = jk.make_jaxpr(lambda c, x: (x, c))(*normal(rng, 2))
    found = list(ask(delay, jk.interpreters.batching.AxisData(None, 4), [], [True], [False]))
    return found, values(jk, lambda c, xs: jk.lax.scan(lambda c, x: (x, c), c, xs)[1], c, xs, in_axes=(0, None))


@check(
    "12.6",
    "An operand that is the same for all elements gets no derivative from a branch that no element took, either.",
    against=["only batches need to be stopped"],
)
def no_nan_for_all(jk, rng):
    by = float(np.float32(rng.normal()))
    p, a = np.zeros(3, bool), np.float32(0)

    def f(p, a):
        return jk.lax.cond(p, lambda a: jk.lax.log(a) * a, lambda a: a * by, a)

    return run_by_numpy(jk.make_jaxpr(jk.grad(lambda a: jk.vmap(f, in_axes=(0, None))(p, a).sum()))(a), a)


@check(
    "12.5",
    "A negative place counts from the end of the result, even if the result is the same for all elements.",
    against=["-1 counts from the end of an unbatched result as it is"],
)
def negative_places_of_constants(jk, rng):
    x, a = normal(rng, 3), normal(rng, 2)
    return [values(jk, lambda x: (a * 2, x[None] * a), x, out_axes=place) for place in (-1, -2)]


@check(
    "12.1",
    "Each result has its batch axis where the rule says; None means that it is not a batch.",
    against=["all results have their axis at the same place", "an unbatched result has its axis in front"],
)
def a_place_for_each(jk, rng):
    x, a = normal(rng, *rng.integers(2, 9, size=2)), normal(rng, 2)
    two = jk.core.Primitive("two", multiple_results=True)
    two.def_abstract_eval(lambda x, a: [x, a])
    jk.interpreters.batching.fancy_primitive_batchers[two] = lambda axis, vals, dims: (list(vals), list(dims))
    program = jk.make_jaxpr(jk.vmap(lambda x, a: tuple(two.bind(x, a)), in_axes=(1, None), out_axes=(0, None)))
    other = jk.make_jaxpr(jk.vmap(lambda a, x: tuple(two.bind(a, x)), in_axes=(None, 1), out_axes=(0, 0)))
    return [aval.shape for aval in (*program(x, a).out_avals, *other(a, x).out_avals)]


@check(
    "12.1",
    "An error that a rule raises reaches the user unchanged.",
    against=["any error means that the rule is missing"],
)
def an_error_in_a_rule(jk, rng):
    picky, name = jk.core.Primitive("picky"), f"picky{rng.integers(999)}"
    picky.def_abstract_eval(lambda x: x)

    def refuses(axis, vals, dims):
        raise LookupError(name)

    jk.interpreters.batching.fancy_primitive_batchers[picky] = refuses
    return raised(jk.make_jaxpr(jk.vmap(picky.bind)), normal(rng, 3), parts=[name])


@check(
    "12.1", "Without an enclosing trace, the operations are done at once.", against=["there is always an outer trace"]
)
def at_once(jk, rng):
    return jk.vmap(jk.lax.neg)(normal(rng, int(rng.integers(2, 9)), 2))


@check(
    "12.1",
    "A rule gets the axis of its own trace, also in a `vmap` inside a `vmap`.",
    against=["there is only one axis"],
)
def the_axis_of_its_own(jk, rng):
    x, y = normal(rng, 3, 2), normal(rng, 4)

    def f(x):
        return jk.vmap(lambda y: jk.lax.psum(y * x[0], "inner") + jk.lax.axis_index("outer"), axis_name="inner")(y)

    return values(jk, jk.vmap(f, axis_name="outer"), x[:, None], in_axes=0)


@check(
    "12.2",
    "An array of one element has axes, which a scalar does not have.",
    against=["an array of one element is a scalar", "batches with the same number of elements have the same shape"],
)
def arrays_of_one_element(jk, rng):
    s, one = normal(rng, 4), normal(rng, 1)
    mul = jk.lax.mul_p.bind
    return [
        values(jk, mul, s, one, in_axes=(0, None)),
        values(jk, mul, one, s, in_axes=(None, 0)),
        values(jk, mul, s, normal(rng, 4, 1)),
        values(jk, mul, normal(rng, 4, 1, 1), s),
    ]


@check(
    "12.2",
    "A single number that is the same for all elements is repeated, too.",
    against=["a scalar cannot be broadcast along a new axis"],
)
def repeated_numbers(jk, rng):
    x, size = np.float32(rng.normal()), int(rng.integers(2, 9))
    return run_by_numpy(jk.make_jaxpr(lambda x: jk.interpreters.batching.move_to(x, None, 0, size))(x), x)


@check(
    "12.5",
    "`axis_size` is compared with the sizes of the mapped axes.",
    against=["`axis_size` need not be compared with the arrays"],
)
def a_size_that_differs(jk, rng):
    n = int(rng.integers(2, 9))
    right = jk.make_jaxpr(jk.vmap(lambda x: x * 2, axis_size=n))(normal(rng, n))
    return right, raised(jk.make_jaxpr(jk.vmap(lambda x: x * 2, axis_size=n + 1)), normal(rng, n))


@check(
    "12.5",
    "An argument that is not mapped arrives as it was passed: Python can count with its number.",
    against=["every argument of the function is traced"],
)
def numbers_that_count(jk, rng):
    x, n = normal(rng, 3), int(rng.integers(1, 5))

    def power(x, n):
        y = x if n % 2 else 1.0
        for _ in range(n // 2):
            y = y * x * x
        return y

    return values(jk, lambda x: jk.vmap(power, in_axes=(0, None))(x, n), x[:, None])


@check("12.5", "A list of one result is a list.", against=["a result with one leaf is an array"])
def trees_of_one_leaf(jk, rng):
    x, key = normal(rng, 3), f"k{rng.integers(99)}"
    found = [jk.eval_shape(jk.vmap(f), x) for f in (lambda x: [x], lambda x: {key: (x, None)}, lambda x: x)]
    return [str(jk.tree_util.tree_structure(tree)) for tree in found]


@check(
    "12.6",
    "With several branches, an element gets no derivative from any that it did not take.",
    against=["it is enough to stop the operands in two branches"],
)
def no_nan_from_any_branch(jk, rng):
    linear, by = int(rng.integers(1, 4)), float(np.float32(rng.normal()))
    places, x = rng.permutation(4).astype("int32"), np.abs(normal(rng, 4)) + np.float32(0.1)
    x[places == linear] = 0
    branches = [lambda x, n=n: x * by if n == linear else jk.lax.log(x) * x for n in range(4)]
    gradient = jk.grad(lambda x: jk.vmap(lambda i, x: jk.lax.switch(i, branches, x))(places, x).sum())
    return run_by_numpy(jk.make_jaxpr(gradient)(x), x)


@check(
    "12.6",
    "With an index for each element every result is a batch, also where no branch looks at its operands.",
    against=["constants in the branches are the same for all elements"],
)
def constants_of_branches(jk, rng):
    i, numbers = rng.integers(0, 3, size=5).astype("int32"), [float(x) for x in normal(rng, 3)]
    branches = [lambda x, n=n: (np.float32(n), x) for n in numbers]
    return values(jk, lambda i, x: jk.lax.switch(i, branches, x), i, np.float32(1), in_axes=(0, None))


@check("12.7", "The new scan keeps `unroll` and `reverse`.", against=["the new scan need not be unrolled"])
def unrolled_as_it_was(jk, rng):
    xs, unroll, reverse = normal(rng, 2, 12), int(rng.choice([2, 3, 4, 6])), bool(rng.integers(2))

    def f(xs):
        return jk.lax.scan(lambda c, x: (c + x, c), 0.0, xs, unroll=unroll, reverse=reverse)[1]

    found, program = mapped(jk, f, xs)
    [scan] = [eqn for eqn in program.eqns if eqn.primitive.name == "scan"]
    return found, {name: scan.params[name] for name in ("unroll", "reverse", "length")}


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random functions under vmap, new ones at each save."


@check("12.1", NEW, drawn=True)
def programs_1(jk, rng):
    return random_programs(jk, rng, of_arrays.mapped("unary binary scaled reduction moved jit branches scan"), 6)


@check("12.2", NEW, drawn=True)
def programs_2(jk, rng):
    return random_programs(jk, rng, of_arrays.mapped("binary unary scaled constant cast"), 6)


@check("12.3", NEW, drawn=True)
def programs_3(jk, rng):
    return random_programs(jk, rng, of_arrays.mapped("reduction unary moved reduction"), 6)


@check("12.4", NEW, drawn=True)
def programs_4(jk, rng):
    return random_programs(jk, rng, of_arrays.mapped("product moved unary product"), 6)


@check("12.5", NEW, drawn=True)
def programs_5(jk, rng):
    return random_programs(jk, rng, of_arrays.mapped("unary moved constant reduction"), 6)


@check("12.6", NEW, drawn=True)
def programs_6(jk, rng):
    return random_programs(jk, rng, of_arrays.mapped("branches unary binary constant branches"), 6)


@check("12.7", NEW, drawn=True)
def programs_7(jk, rng):
    return random_programs(jk, rng, of_arrays.mapped("scan unary binary constant counted scan"), 6)
