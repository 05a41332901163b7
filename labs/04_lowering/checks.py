"""The programs that the exercises of lab 04 must run like the reference."""

from __future__ import annotations

import contextlib
import itertools
import re

import ml_dtypes
import numpy as np

from jitkit.kata.checking import Stablehlo, check, module, of_arrays, of_texts, raised, random_programs


def lowered(jk, f, *arguments):
    """Return the StableHLO of a function, which is compared by running it."""
    return Stablehlo(text_of(jk, f, *arguments), arguments)


def text_of(jk, f, *arguments, debug_info=False):
    return module_of(jk, f, *arguments).text(debug_info)


def module_of(jk, f, *arguments):
    return jk.interpreters.mlir_main.lower_main("f", jk.make_jaxpr(f)(*arguments), "cpu")


def constants(jk, *arrays):
    """Return a program that returns some arrays, written by `dense` and `tensor_type`."""
    text = jk.interpreters.mlir_text
    types = [text.tensor_type(x.shape, x.dtype) for x in arrays]
    lines = [
        f"    %{i} = stablehlo.constant {text.dense(x)} : {kind}"
        for i, (x, kind) in enumerate(zip(arrays, types, strict=True))
    ]
    names = ", ".join(f"%{i}" for i in range(len(arrays)))
    head = f"  func.func public @main() -> ({', '.join(types)}) {{"
    return Stablehlo("\n".join(["module {", head, *lines, f"    return {names} : {', '.join(types)}", "  }", "}"]), [])


def scalars(jk, values, dtype):
    return constants(jk, *(np.array(value, dtype) for value in values))


def floats(rng, *shape):
    return rng.normal(size=shape).astype("float32")


# --- 04.1 Types and constants ---------------------------------------------------------------------------------------


@check(
    "04.1",
    "A type has the sizes, each followed by an x, and then the element type; a scalar has no sizes.",
    against=["a scalar is an array of one element", "the type of an element comes first"],
)
def types(jk, rng):
    shape = tuple(int(n) for n in rng.integers(1, 9, size=3))
    tensor_type = jk.interpreters.mlir_text.tensor_type
    return [tensor_type(shape[:n], dtype) for n in range(4) for dtype in ("float32", "bool", "uint8", "complex64")]


@check(
    "04.1",
    "Integers and bools are written as MLIR reads them.",
    against=["MLIR writes numbers as Python does", "an integer can be written like a float"],
)
def whole_numbers(jk, rng):
    numbers = [np.array(x, "int32") for x in rng.integers(-99, 99, size=3)]
    numbers += [np.array(2**62 + int(rng.integers(1, 99)), "int64"), np.array(2**64 - 1, "uint64")]
    found = constants(jk, *numbers, np.array(True), np.array(False), np.array(255, "uint8"))
    return found, jk.interpreters.mlir_text.scalar_text(np.zeros((), jk.core.dtypes.float0)[()])


@check(
    "04.1",
    "The text is read back as the same number, to the last bit.",
    against=[
        "six digits are enough",
        "a number in text is a double",
        "bytes are written as they lie in memory",
        "six digits are enough if they look like the number",
    ],
)
def exact_numbers(jk, rng):
    x = (*rng.normal(size=3), 1 / 3)  # 1/3 has no text of six digits; three numbers by chance may all have one
    return constants(jk, *(np.array(value, dtype) for value in x for dtype in ("float32", "float64", "float16")))


@check("04.1", "nan and the infinities are written, too.", against=["every float has a decimal text"])
def no_decimals(jk, rng):
    values = [np.nan, np.inf, -np.inf, float(rng.normal())]
    return scalars(jk, values, "float32"), scalars(jk, values, ml_dtypes.bfloat16)


@check("04.1", "A complex number is written as its two parts.")
def complex_numbers(jk, rng):
    return scalars(jk, [complex(*rng.normal(size=2)), 1.5 - 2j], "complex64")


@check(
    "04.1",
    "Arrays are written in row-major order, however they lie in memory.",
    against=["elements are written as they lie in memory"],
)
def order(jk, rng):
    return constants(jk, floats(rng, 3, 2).T, floats(rng, 12, 30).T, rng.normal(size=(2, 3, 2)) > 0)


@check("04.1", "Two elements are the same only if their bits are.", against=["equal numbers are the same number"])
def zeros_of_both_signs(jk, rng):
    zero = np.zeros(int(rng.integers(2, 9)), "float32")
    mixed = np.where(np.arange(zero.size) == 1, np.float32(-0.0), zero)
    program, one = constants(jk, mixed, zero, -zero), np.ones_like(zero)
    kind = f"tensor<{zero.size}xf32>"  # 1 / 0.0 is inf, 1 / -0.0 is -inf
    shown = program.text.replace("main()", f"main(%one: {kind})").replace(
        "    return %0", f"    %r = stablehlo.divide %one, %0 : {kind}\n    return %r"
    )
    return Stablehlo(shown, [one])


@check(
    "04.1",
    "A thousand zeros are written as one number; a thousand different numbers as eight digits each.",
    against=["each element has to be written"],
    fixed="only a bound is asked for",
)
def lengths(jk, rng):
    dense = jk.interpreters.mlir_text.dense
    return len(dense(np.zeros((40, 25), "float32"))) < 40, len(dense(floats(rng, 40, 25))) < 8100


def form(text):
    """Return which of the four forms a `dense<...>` has."""
    forms = {"dense<>": "nothing", 'dense<"0x': "bytes", "dense<[": "rows"}
    return next((name for start, name in forms.items() if text.startswith(start)), "one number")


@check(
    "04.1",
    "Up to 64 elements are written row by row, and so are bools; more are written as bytes; an empty array as nothing.",
    against=["each element has to be written", "bools are written as bytes, too"],
)
def forms(jk, rng):
    dense = jk.interpreters.mlir_text.dense
    mixed = [dense(floats(rng, n)) for n in (2, 64, 65)]
    bools = dense(np.arange(int(rng.integers(65, 99))) == 3)
    same = [dense(np.full(n, rng.normal(), "float32")) for n in (1, 2, 1023)]
    others = [
        dense(np.zeros((0, 3), "float32")),
        dense(np.float32(rng.normal()).reshape(())),
        dense(np.full((1, 1), 2)),
    ]
    texts = [*mixed, bools, *same, *others]
    return [form(texts[i]) for i in rng.permutation(len(texts))]


@check(
    "04.1",
    "The text of an array without elements, or of integers of 2 or 4 bits, is read back as that array.",
    against=["an int4 is written like any integer"],
)
def small_ones(jk, rng):
    arrays = [np.zeros((0, 3), "float32"), rng.integers(-8, 8, size=(2, 3)).astype(ml_dtypes.int4)]
    arrays += [rng.integers(-8, 8, size=70).astype(ml_dtypes.int4)]
    arrays += [rng.integers(16, size=70).astype(ml_dtypes.uint4), np.full(3, -1, ml_dtypes.int2)]
    return [jk.interpreters.mlir_text.tensor_type(x.shape, x.dtype) for x in arrays], [
        jk.interpreters.mlir_text.dense(x) for x in arrays
    ]


# --- 04.2 Operands ----------------------------------------------------------------------------------------------------


@check("04.2", "A traced scalar beside an array is broadcast by a line of its own.", against=["StableHLO broadcasts"])
def a_scalar_beside_an_array(jk, rng):
    return lowered(jk, lambda x, s: (x * s, s - x), floats(rng, 2, 3), np.float32(rng.normal()))


@check(
    "04.2",
    "Axes of size 1 are stretched.",
    against=["only scalars are broadcast", "a constant can be found by its number of elements"],
)
def axes_of_size_1(jk, rng):
    without_any = jk.jit(jk.lax.sub)(np.zeros((1, 0), "float32"), np.zeros((int(rng.integers(2, 9)), 0), "float32"))
    return lowered(jk, jk.lax.sub, floats(rng, 4, 1), floats(rng, 1, 3)), without_any


@check("04.2", "A value that has the shape already is read as it is: it needs no line.")
def shape_already(jk, rng):
    spread_p, found = jk.core.Primitive("spread"), []
    spread_p.def_abstract_eval(lambda x: x)

    @jk.interpreters.mlir.register_lowering(spread_p)
    def rule(ctx, x):
        var = module(jk, "jaxpr.language").Var(ctx.avals_in[0])
        found.append(ctx.read_spread(var, {var: x}, var.aval.shape) == x)
        return x

    return lowered(jk, spread_p.bind, floats(rng, *(int(n) for n in rng.integers(1, 5, size=2)))), found


@check(
    "04.2",
    "A literal becomes a constant of its own type, whatever the other operand is.",
    against=["a number in a program is a double", "only real numbers can be literals"],
)
def literals(jk, rng):
    x = rng.normal(size=5)
    half, single, whole = x.astype("float16"), x.astype("float32"), rng.integers(9, size=5).astype("int8")
    flags, scale = x > 0, float(x[0])

    def f(a, b, c, d, z):
        return (
            b * scale,
            z * (1.5 - 2.5j),
            a * 2.5,
            b + 2.5,
            c - 3,
            d | True,
            b * np.inf,
            b + np.nan,
            c + np.int8(-4),
            a - np.float16(0.1),
        )

    return lowered(jk, f, half, single, whole, flags, x.astype("complex64"))


@check(
    "04.2",
    "An array that a rule fills with a number has the type that the rule asks for.",
    against=["a Python number already has the dtype of the literal"],
)
def filled_arrays(jk, rng):
    filled_p = jk.core.Primitive("filled")
    filled_p.def_abstract_eval(lambda x, value: x)

    @jk.interpreters.mlir.register_lowering(filled_p)
    def rule(ctx, x, value):
        return ctx.splat(value, ctx.avals_out[0])

    value, x = float(rng.normal()), floats(rng, 2, 3)
    half, whole = x.astype("float16"), np.ones(3, "int8")
    return lowered(
        jk, lambda x, y, n: (filled_p.bind(x, value=value), filled_p.bind(y, value=value), filled_p.bind(n, value=7)),
        x, half, whole,
    )  # fmt: skip


@check(
    "04.2",
    "A literal by itself, or beside a scalar, keeps the type that the jaxpr gives it.",
    against=[
        "a literal is always a float32",
        "a literal is known by its number",
        "the type of a literal is that of its Python value",
    ],
)
def types_of_literals(jk, rng):
    k, n = int(rng.integers(2, 99)), np.int32(rng.integers(99))
    h = np.float16(rng.normal())
    program = jk.make_jaxpr(lambda h: jk.lax.reshape(h, (1,)) * np.float16(0.5))(h)
    eqns = [eqn.replace(invars=[weak_half(jk, atom) for atom in eqn.invars]) for eqn in program.eqns]
    program = program.replace(eqns=eqns, outvars=[*program.outvars, jk.jaxpr.Literal(0.25, half(jk))])
    text = jk.interpreters.mlir_main.lower_main("f", program, "cpu").text()
    found = lowered(jk, lambda n, h: (n + k, n - 1, k, True, 0.5, h * 0.5, h > 1, 1, 1.0), n, h)
    return found, Stablehlo(text, [h]), re.findall(r"tensor<f\d+>|tensor<1xf\d+>", text.partition("return")[2])


def half(jk):
    return jk.core.ShapedArray((), "float16", True)


def weak_half(jk, atom):
    """Return the atom; if it is a float16 literal, return a weakly typed one with the number as a Python float instead."""
    is_half = isinstance(atom, jk.jaxpr.Literal) and atom.aval.dtype == "float16"
    return jk.jaxpr.Literal(float(atom.val), half(jk)) if is_half else atom


@check(
    "04.2",
    "A literal beside an array is written as an array right away.",
    against=["a literal is broadcast like a variable"],
)
def no_line_for_a_literal(jk, rng):
    numbers = [i + 0.5 for i in range(int(rng.integers(1, 7)))]

    def f(x):
        for number in numbers:
            x = x * number
        return jk.numpy.maximum(x, 0.25)

    text = text_of(jk, f, floats(rng, int(rng.integers(2, 9))))
    return text.count("broadcast_in_dim"), text.count("stablehlo.constant")


@check("04.2", "A number that is used twice is written once.", against=["each use of a number is a constant"])
def written_once(jk, rng):
    numbers = [0.5 + i * 1e-5 for i in range(int(rng.integers(1, 7)))]

    def f(x):
        for number in numbers:
            x = (x + number) * number - number
        return x

    text = text_of(jk, f, floats(rng, 4))
    return text.count("stablehlo.constant")


@check(
    "04.2",
    "0.0 and -0.0 are two constants, and so are 0 and 0.0, and 0.0 in two shapes.",
    against=[
        "equal numbers are one constant",
        "equal bits are one constant",
        "the shape of a constant is not part of its key",
    ],
)
def zeros(jk, rng):
    def f(x, n, y):
        return x / 0.0, x / -0.0, x + 0.0, n + 0, y / 0.0

    x, y = np.abs(floats(rng, 3)), floats(rng, 2)
    return lowered(jk, f, x, rng.integers(9, size=3).astype("int32"), y)


@check(
    "04.2",
    "A constant that was written in a branch cannot be used after it.",
    against=["a constant is known in the whole function"],
)
def constants_in_branches(jk, rng):
    def f(x, flag):
        x = jk.lax.cond(flag, lambda x: x * 7.0, lambda x: x - 7.0, x)
        return x + 7.0

    return lowered(jk, f, floats(rng, 3), np.bool_(rng.integers(2)))


# --- 04.3 Equations ---------------------------------------------------------------------------------------------------


@check(
    "04.3",
    "Equations come one after the other, each with its operands in their order; each of them is written.",
    against=[
        "operand order does not matter",
        "an equation whose results nobody reads is not written",
        "the result has the shape of the largest operand",
    ],
)
def some_equations(jk, rng):
    x, y = floats(rng, 2, 3)
    speaks = text_of(jk, lambda x: (jk.debug.print("{}", x), x + 1.0)[1], x)  # the print has no result that is read
    stretched = lowered(jk, jk.lax.sub, floats(rng, 4, 1), floats(rng, 1, 3))
    return lowered(jk, lambda x, y: (x - y) / (y * y + 1.0), x, y), speaks.count("custom_call"), stretched


@check(
    "04.3",
    "An output may be an argument, a number, or the same thing twice.",
    against=["every output is a result of an equation"],
)
def outputs(jk, rng):
    x = floats(rng, 2)
    return lowered(jk, lambda x, y: (y, 2.5, jk.numpy.sin(x), x, y), x, x + 1)


@check(
    "04.3",
    "An equation may have several results; a rule may return a list of one.",
    against=[
        "an equation has one result",
        "a rule that returns a list returns several results",
        "results are in the order of their shapes",
    ],
)
def several_results(jk, rng):
    def f(x):
        matrix, number, rest = jk.jit(lambda x: (x[:, None] * x, x.sum(), x[1:]))(x)
        return *jk.lax.sort([x, -x], num_keys=1)[::-1], jk.lax.sort(x), matrix + number, rest

    return lowered(jk, f, floats(rng, 5))


@check(
    "04.3",
    "Arrays from outside are constants of the program, also of one without equations; each is written once.",
    against=[
        "a program has no constants",
        "constants are written by the equations that read them",
        "every array is written into the text",
    ],
)
def closed_over_arrays(jk, rng):
    table, other, x = floats(rng, 3, 4)
    large = floats(rng, 5000)  # it becomes an argument of `main`
    text = text_of(jk, lambda x: (x * table - other) / table, x)
    return (
        lowered(jk, lambda x: (x * table - other) / table, x),
        lowered(jk, lambda x: other, x),
        text.count("constant"),
        len(module_of(jk, lambda x: x + large.sum() + jk.numpy.max(large), x).hoisted),
    )


@check(
    "04.3",
    "Parameters go to the rule by name.",
    against=["a rule needs only the operands", "the same primitive on the same operands gives the same result"],
)
def parameters(jk, rng):
    axis = int(rng.integers(2))

    def f(x):
        return jk.lax.cumsum(x, axis=axis, reverse=True), jk.lax.cumsum(x, axis=1 - axis)

    return lowered(jk, f, floats(rng, 3, 2))


@check(
    "04.3",
    "A rule sees the types that its operands have once they are broadcast.",
    against=["operands have the types of the jaxpr", "the first operand always has the shape of the result"],
)
def types_of_operands(jk, rng):
    return lowered(jk, lambda x, s: (x < s, jk.lax.nextafter(x, s), s < x), floats(rng, 4), np.float32(0.5))


@check("04.3", "While a rule runs, the context is that of its equation: the primitive, the types, in their order.")
def what_a_rule_sees(jk, rng):
    seen = []
    riddle_p = jk.core.Primitive("riddle")
    riddle_p.multiple_results = True
    riddle_p.def_abstract_eval(lambda x, y, n: [y, x.update(shape=())])

    def rule(ctx, *names, n):
        types = [jk.core.ShapedArray(a.shape, a.dtype) for a in (*ctx.avals_in, *ctx.avals_out)]
        seen.append((ctx.primitive is riddle_p, types, len(names), n))
        return [names[1], names[0]]

    jk.interpreters.mlir.register_lowering(riddle_p)(rule)
    n = int(rng.integers(2, 9))
    text_of(jk, lambda x, y: riddle_p.bind(jk.numpy.sin(x), y, n=n), np.float32(1), np.ones(n, "int32"))
    return seen


@check("04.3", "Each line has the position of its equation.", against=["where a line comes from does not matter"])
def lines(jk, rng):
    f, g = (getattr(jk.numpy, name) for name in rng.permutation(["sin", "cos", "tanh", "exp", "log"])[:2])
    text = text_of(jk, lambda x: f(x) + g(x), floats(rng, 3), debug_info=True)
    return sorted(set(re.findall(r'"(jit\(f\)[^"]*)"', text)))


@check(
    "04.3",
    "Lines that a rule writes into its region have the position of the enclosing equation.",
    against=["every line belongs to the equation that is written now"],
)
def lines_of_regions(jk, rng):
    name = f"scope{rng.integers(999)}"

    def f(x):
        with jk.named_scope(name):
            return jk.numpy.argmax(x)

    text = text_of(jk, f, floats(rng, 3), debug_info=True)
    return sorted(set(re.findall(r'"(jit\(f\)[^"]*)"', text)))


@check("04.3", "A missing rule is an error that names the primitive.", against=["every primitive has a rule"])
def no_rule(jk, rng):
    primitive = jk.core.Primitive(f"riddle_{int(rng.integers(100))}")
    primitive.def_abstract_eval(lambda x: x)
    return raised(text_of, jk, primitive.bind, np.float32(1), parts=[primitive.name])


# --- 04.4 A matrix product --------------------------------------------------------------------------------------------


@check("04.4", "A product of matrices is rows times columns.", against=["the operands of a product can be exchanged"])
def matrices(jk, rng):
    return lowered(jk, jk.lax.dot, floats(rng, 2, 3), floats(rng, 3, 4))


@check(
    "04.4",
    "Axes of the left operand are contracted with axes of the right one.",
    against=["a product contracts the last axis with the first one"],
)
def contracted_axes(jk, rng):
    x, y = floats(rng, 3, 2, 4), floats(rng, 4, 5, 3)
    return lowered(jk, lambda x, y: jk.lax.dot_general(x, y, (((0, 2), (2, 0)), ((), ()))), x, y)


@check(
    "04.4",
    "Batch axes are paired, in the order that they are given in, and stay in the result.",
    against=["batch axes are contracted, too", "a product has one batch axis", "batch axes are in ascending order"],
)
def batch_axes(jk, rng):
    x, y = floats(rng, 3, 2, 4), floats(rng, 4, 3, 5)
    one = lowered(jk, lambda x, y: jk.lax.dot_general(x, y, (((2,), (0,)), ((0,), (1,)))), x, y)
    n, m = map(int, rng.integers(2, 4, size=2))
    x, y = floats(rng, m, n, n, 4), floats(rng, n, 4, m, n)
    return one, lowered(jk, lambda x, y: jk.lax.dot_general(x, y, (((3,), (1,)), ((2, 1), (0, 3)))), x, y)


@check(
    "04.4",
    "Operands of two dtypes are converted to those with which the platform computes.",
    against=["StableHLO converts"],
)
def two_dtypes(jk, rng):
    x, y = floats(rng, 2, 3), rng.integers(9, size=(3, 2)).astype("int8")

    def f(x, y):
        return jk.lax.dot(x, y), jk.lax.dot(y, x)

    # XLA for the CPU would convert by itself; a TPU takes two dtypes as they are
    program = jk.make_jaxpr(f)(x, y)
    types = [
        types_of_products(jk.interpreters.mlir_main.lower_main("f", program, chip).text()) for chip in ("cpu", "tpu")
    ]
    return lowered(jk, f, x, y), types


def types_of_products(text):
    """Return the types of the products in a text, in their order."""
    return re.findall(r"stablehlo.dot_general.*? : (\(.*?\) -> [^ ]*>)", text)


@check(
    "04.4",
    "The sum has the dtype of the result, which may be wider than that of the operands.",
    against=["the result has the dtype of the operands"],
)
def wide_sums(jk, rng):
    x = rng.integers(99, size=(2, 9)).astype("int8")
    algorithm = jk.lax.DotAlgorithmPreset.BF16_BF16_F32
    text = text_of(jk, lambda x: jk.lax.dot(x, x, precision=algorithm), floats(rng, 2, 2))
    program = lowered(jk, lambda x, y: jk.lax.dot(x, y, preferred_element_type="int32"), x, x.T)
    half = floats(rng, 2, 2).astype("float16")  # the sum is float32, and the result float16
    narrow = text_of(jk, lambda x: jk.lax.dot(x, x, precision=algorithm), half)
    texts = (text, narrow)
    return program, [(types_of_products(t), t.count("algorithm = "), t.count("stablehlo.convert")) for t in texts]


@check(
    "04.4",
    "The precision that was asked for is written, and behind it the algorithm.",
    against=["the precision is XLA's business", "the algorithm comes before the precision"],
)
def precision(jk, rng):
    x, asked = floats(rng, 2, 2), tuple(map(str, rng.permutation(["highest", "high", "default"])[:2]))
    text = text_of(jk, lambda x: jk.lax.dot(x, x, precision=asked), x)
    algorithm = jk.lax.DotAlgorithmPreset.F32_F32_F32
    by_algorithm = lowered(jk, lambda x: jk.lax.dot(x, x, precision=algorithm), x)
    return re.findall(r"precision = \[(.*?)\]", text), text.count("batching_dims"), by_algorithm


# --- 04.5 A reduction with its region ---------------------------------------------------------------------------------


@check(
    "04.5",
    "The maximum of an empty array is the least value of the dtype.",
    against=[
        "a maximum begins with 0",
        "-inf is in every dtype",
        "a maximum begins with the least finite number",
        "0 is the least value",
        "every float dtype has an infinity",
        "the lowest float is as good as -inf",
        "numpy knows all integer dtypes",
        "a maximum of complex numbers does not exist",
    ],
)
def neutral_elements(jk, rng):
    names = ["float32", "int8", "uint16", "bool", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, "int32", "complex64"]
    names += [ml_dtypes.int4, ml_dtypes.uint2]
    values = [jk.lax.reduction.max_identity(np.dtype(names[i])) for i in rng.permutation(len(names))]
    return [(str(x.dtype), x.shape, str(complex(x))) for x in values]


@check(
    "04.5",
    "Pairs are folded by a function of pairs.",
    against=["a region takes two numbers", "the neutral elements come first"],
)
def pairs(jk, rng):
    return lowered(jk, lambda x: jk.lax.argmax(x, 1, "int32"), floats(rng, 3, 4))


@check(
    "04.5",
    "The accumulated values come first, the new elements second.",
    against=["the order of the region's arguments does not matter"],
)
def order_in_the_region(jk, rng):
    i, j = rng.integers(2, size=2)

    def step(*both):
        return both[i] * both[j] * 0 + sum(both)

    def f(x):
        return jk.lax.reduce(x, np.float32(0), step, (0,))

    text = text_of(jk, f, floats(rng, 3))
    [arguments] = re.findall(r"\^bb0\((%\w+): .*?, (%\w+): ", text)
    return [arguments.index(name) for name in re.findall(r"multiply (%\w+), (%\w+)", text)[0]]


@check("04.5", "Several axes may be reduced at once, and the result lacks them.", against=["a reduction has one axis"])
def several_axes(jk, rng):
    x = floats(rng, 2, 3, 4) + 1j * floats(rng, 2, 3, 4)
    axes = tuple(int(axis) for axis in rng.permutation(3)[:2])
    return lowered(jk, lambda x: jk.lax.reduce_max(x, sorted(axes)), x.astype("complex64"))


@check("04.5", "Results have dtypes of their own.", against=["all results have the dtype of the first one"])
def dtypes_of_results(jk, rng):
    x, n = floats(rng, 4, 2), rng.integers(9, size=(4, 2)).astype("int32")
    zeros = np.float32(0), np.int32(1)

    def f(x, n):
        return jk.lax.reduce((x, n), zeros, lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,))

    return lowered(jk, f, x, n)


# --- 04.6 Functions that call functions -------------------------------------------------------------------------------


@check("04.6", "A nested jit is a call of a private function.", against=["a nested jit is always inlined"])
def a_call(jk, rng):
    inner = jk.jit(lambda x, y: x - y)
    x, y = floats(rng, 2, 3)
    module = module_of(jk, lambda x, y: inner(y, x) * 2.0, x, y)
    shown = [(function.visibility, len(function.arguments)) for function in module.functions]
    return Stablehlo(module.text(), [x, y]), sorted(shown)


@check("04.6", "A function that is called twice is written once.", against=["each call has a function of its own"])
def called_twice(jk, rng):
    inner = jk.jit(lambda x: x * x + 1.0)
    x = floats(rng, 3)
    module = module_of(jk, lambda x: inner(inner(x)) - inner(x), x)
    return Stablehlo(module.text(), [x]), len(module.functions), module.text().count("call @")


@check(
    "04.6",
    "Two functions of one name are two functions.",
    against=[
        "functions are known by their names",
        "functions are known by their jaxpr only",
        "a function is known once per name",
    ],
)
def one_name(jk, rng):
    def make(scale):
        def inner(x):
            return x * scale

        return jk.jit(inner)

    double, triple = make(2.0), make(3.0)
    x = floats(rng, 3)
    module = module_of(jk, lambda x: double(x) - triple(x), x)
    kept = sorted(name for name, _ in module.function_of_jaxpr)
    return Stablehlo(module.text(), [x]), sorted(function.symbol for function in module.functions), kept


@check(
    "04.6",
    "A function may have several results, or none that is computed.",
    against=[
        "a call has one result",
        "results of a function have the arguments' types",
        "every effect has a token",
        "a result that comes twice is one result",
    ],
)
def several_results_of_a_call(jk, rng):
    def several(x):
        y = x + 1.0
        jk.debug.print("{}", x)  # it is not ordered, so it need not keep its place
        return y, {"minus": -x}, 3, y

    inner, x = jk.jit(several), floats(rng, 3)
    module = module_of(jk, lambda x: jk.tree_util.tree_leaves(inner(x))[::-1], x)
    found = [(len(function.ordered), len(function.results)) for function in module.functions]
    of_two = jk.jit(lambda x: (x + 1.0, {"minus": -x}, 3, x + 1.0))
    return lowered(jk, lambda x: jk.tree_util.tree_leaves(of_two(x))[::-1], x), sorted(found)


@check(
    "04.6",
    "A large constant travels from main to the function that needs it; in a call it stands behind the tokens.",
    against=[
        "a function has its constants without being passed them",
        "large constants stand before the tokens",
        "a large constant has the same name everywhere",
        "a function closes over one large constant at most",
        "large constants are passed in any order",
    ],
)
def large_constants(jk, rng):
    table = floats(rng, 70, 80)
    x = floats(rng, 80)
    inner = jk.jit(lambda x: jk.jit(lambda x: table @ x)(x) + 1.0)
    module = module_of(jk, lambda x: inner(x) - inner(-x), x)
    a, b, c = table[::-1].copy(), table * 2, table + 1
    of_three = jk.jit(lambda x: (a @ x) * 4.0 - (b @ x) * 2.0 + c @ x)
    several = module_of(jk, lambda x: c @ x - of_three(x), x)  # main has its last constant first

    @jk.jit
    def speaks(x):
        jk.debug.print("{}", x[0], ordered=True)
        return table @ x

    text = module_of(jk, lambda x: speaks(x) * 2.0, x).text()
    (first,) = re.findall(r" call @\w+\((%\w+)", text)
    is_a_token = re.search(rf"{first}(:| = stablehlo.constant.*:) tensor", text) is None
    three = Stablehlo(several.text(), [*several.hoisted.values(), x])
    return Stablehlo(module.text(), [*module.hoisted.values(), x]), len(module.hoisted), is_a_token, three


@check(
    "04.6",
    "Two functions whose jaxprs print alike are two functions, each with its own constant; a function may take no arguments.",
    against=[
        "programs that print alike are one",
        "every function has arguments",
        "all arguments of a call have one type",
    ],
)
def alike(jk, rng):
    a, b, x = floats(rng, 3, 40)
    f, g, h = jk.jit(lambda y: y * a), jk.jit(lambda y: y * b), jk.jit(lambda: jk.numpy.sin(a[:1]))
    of_two = jk.jit(lambda y, n: y[:2] * n)
    return lowered(jk, lambda x: f(x) - g(x) + h(), x), lowered(jk, lambda x, n: of_two(x, n) + n, x, np.int32(3))


@check(
    "04.6",
    "What is printed in a function that is called is printed in order.",
    against=["only arguments are passed to a function"],
)
def tokens(jk, rng):
    def speak(x):
        jk.debug.print("{}", x, ordered=True)
        return x + 1

    inner, times = jk.jit(speak), int(rng.integers(2, 7))

    def f(x):
        for _ in range(times):
            x = inner(x)
        return x

    text = text_of(jk, f, np.float32(rng.normal()))
    calls = re.findall(r"(%\w+)(?::\d+)? = call @\w+\((%\w+)(?:#0)?, .*? : \(!stablehlo.token, ", text)
    follows = [taken == before for (before, _), (_, taken) in itertools.pairwise(calls)]
    return follows, len(calls)


@check(
    "04.6",
    "A function takes the tokens of its own effects, each in its place.",
    against=["a function takes all tokens", "tokens are all alike"],
)
def tokens_of_two_effects(jk, rng):
    def call(x):
        jk.experimental.io_callback(lambda x: None, None, x, ordered=True)
        return x + 1

    def both(x):
        jk.debug.print("{}", x, ordered=True)
        return call(x)

    functions = [jk.jit(both), jk.jit(call)]
    order = [*rng.permutation([0, 0, 1]), 1, *rng.integers(2, size=2)]

    def f(x):
        for i in order:
            x = functions[i](x)
        return x

    text = text_of(jk, f, np.float32(rng.normal()))
    lines = re.findall(r"(%\w+)(?::\d+)? = call @(\w+)\((.*?)\) : \((.*?)\) ->", text)
    # which call made each token that a call takes, and which of its results it is
    makers = {name: i for i, (name, *_) in enumerate(lines)}
    taken = []
    for _, symbol, operands, types in lines:
        names = operands.split(", ")[: types.count("!stablehlo.token")]
        taken.append((symbol, [(makers.get(n.partition("#")[0], "main"), n.partition("#")[2]) for n in names]))
    return taken


@check(
    "04.6",
    "The lines of a function have only the scopes inside of it in their names: XLA puts the name of each call in front.",
    against=[
        "a function belongs to the scope that called it first",
        "a function's lines are named after the caller's scopes",
    ],
)
def name_stacks(jk, rng):
    f, g = (getattr(jk.numpy, name) for name in rng.permutation(["sin", "cos", "tanh", "exp", "log"])[:2])
    inner = jk.jit(lambda x: f(x) * 2.0)

    @jk.jit
    def outer(x):
        return inner(x) + 1.0

    text = text_of(jk, lambda x: g(outer(x)), floats(rng, int(rng.integers(2, 9))), debug_info=True)
    return sorted(set(re.findall(r'loc\((?:fused\[)?"([^"]*)"', text)))


@check(
    "04.6",
    "`lower_function` writes the lines of a function with the name stack that it is passed.",
    against=["`lower_function` writes without a name stack"],
)
def a_name_stack_of_its_own(jk, rng):
    scope = f"scope{rng.integers(99)}"
    module = module_of(jk, lambda x: x + 1.0, floats(rng, 3))
    jaxpr = jk.make_jaxpr(lambda x: jk.numpy.sin(x) * 2.0)(floats(rng, 3))
    lower_function = jk.interpreters.mlir.lower_function
    symbols = [lower_function(module, "mine", jaxpr, stack).symbol for stack in (scope, "")]
    names = re.findall(r'loc\((?:fused\[)?"([^"]*)"', module.text(debug_info=True))
    return symbols, sorted(name for name in set(names) if scope in name or "sin" in name)


# --- 04.7 Compile -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def replaced(module, **values):
    """Within the block, give names of a module another meaning."""
    before = {name: getattr(module, name) for name in values}
    vars(module).update(values)
    try:
        yield
    finally:
        vars(module).update(before)


def compiled_by(jk, log, *programs, cache=True, known=(), setting=1):
    """Return the results of `load_or_compile` for some programs, in order; append to `log` what it loads, stores and compiles."""
    stored = dict(known)

    def load(text, owners, options):
        log.append(("load", "loc(" in text, options))
        return stored.get(text)

    def store(text, owners, options, loaded):
        log.append(("store", "loc(" in text, options))
        stored[text] = loaded

    def compile_text(text, owners, options=()):
        log.append(("compile", "loc(" in text, options))
        return len(log)

    compiler = module(jk, "compiler.compiler")
    with (
        replaced(compiler.disk_cache, enabled=lambda: cache, load=load, store=store),
        replaced(compiler.runtime, compile_text=compile_text),
    ):
        return [compiler.load_or_compile(program, [], (("some_option", setting),)) for program in programs]


def two_places(jk, rng):
    """Return the modules of one function that is written at two lines."""
    x, factor = floats(rng, 3), float(rng.normal())
    functions = [lambda x: jk.numpy.sin(x) * factor, lambda x: jk.numpy.sin(x) * factor]
    return [module_of(jk, f, x) for f in functions]


@check(
    "04.7",
    "Without a disk cache, XLA compiles the text with its lines, each time.",
    against=["the text for XLA needs no lines of Python", "there is always a cache"],
)
def without_cache(jk, rng):
    log, setting = [], int(rng.integers(99))
    return compiled_by(jk, log, *two_places(jk, rng), cache=False, setting=setting), log


@check(
    "04.7",
    "Without a cache, the text without lines is not written, since nobody needs it.",
    fixed="whether it is asked for",
    against=["what the cache does not have need not be compiled", "the lines are a part of the key"],
)
def texts_made(jk, rng):
    found = []
    for cache in (True, False):
        module, asked, log = two_places(jk, rng)[0], [], []
        text = type(module).text

        def noting(self, debug_info=False, asked=asked, text=text):
            asked.append(debug_info)
            return text(self, debug_info)

        with replaced_method(type(module), "text", noting):
            compiled_by(jk, log, module, cache=cache)
        found.append(sorted(set(asked)))
    return found


@contextlib.contextmanager
def replaced_method(kind, name, method):
    """Within the block, replace a method by another one."""
    before = getattr(kind, name)
    setattr(kind, name, method)
    try:
        yield
    finally:
        setattr(kind, name, before)


@check(
    "04.7",
    "A compiled program is stored, and found again even if the function has moved to another line.",
    against=[
        "another line is another program",
        "what is found is compiled all the same",
        "somebody else stores the program",
    ],
)
def with_cache(jk, rng):
    log, setting = [], int(rng.integers(99))
    return compiled_by(jk, log, *two_places(jk, rng), setting=setting), log


@check("04.7", "A program that an earlier process stored is used.", against=["what is found is compiled all the same"])
def from_an_earlier_process(jk, rng):
    log, modules, known = [], two_places(jk, rng), f"machine code {rng.integers(99)}"
    return compiled_by(jk, log, *modules, known={modules[0].text(): known}), log


@check("04.7", "A traced program is lowered and compiled: it can be run.")
def compiled_and_run(jk, rng):
    x, y = floats(rng, 2, 3)
    return jk.jit(lambda x, y: {"sum": x + y, "twice": 2 * x})(x, y), jk.jit(lambda x, unread: x * 3.0)(x, y)


@check(
    "04.7",
    'A program whose `backend` is "c" is compiled by `_by_loops`, and not lowered.',
    against=["every program is compiled by XLA"],
)
def compiled_by_loops(jk, rng):
    program, found = module(jk, "compiler.program"), []
    default = module(jk, "compiler.placement").default_placement()
    options = (("some_option", int(rng.integers(9))),)

    def by_loops(traced, placement, options):
        found.append((traced.backend, placement is default, options))
        return "machine code"

    some = program.Program("f", None, None, None, options=options, backend="c")
    with replaced(program, _by_loops=by_loops):
        return program.compile_program(some, default), found


@check(
    "04.7",
    "A program is lowered for the platform of its placement; the devices themselves are passed only if "
    "the program is committed to them.",
    against=[
        "every program is bound to its devices",
        "every program is for the CPU",
        "every program is for the default device's platform",
    ],
)
def places(jk, rng):
    found = []
    program = module(jk, "compiler.program")
    placements = module(jk, "compiler.placement")
    default = placements.default_placement()

    class Elsewhere(placements.Placement):
        """A placement on another device than the default one."""

        platform = "tpu"

    def lower_program(traced, platform=None, placement=None):
        found.append((traced, platform or default.platform, placement and placement.committed))
        return "the module", [1, 2]

    def build_executable(traced, module, kept, placement, options=()):
        return traced, module, kept, placement.committed, options

    some = program.Program("f", None, None, None, options=(("some_option", int(rng.integers(9))),))
    with replaced(program, lower_program=lower_program, build_executable=build_executable):
        for committed, kind in itertools.product((False, True), (type(default), Elsewhere)):
            found.append(program.compile_program(some, kind(*default._replace(committed=committed))))
    return [[x if type(x) in (str, bool, list, tuple) else None for x in parts] for parts in found]


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random programs, new ones at each save."


@check(
    "04.1",
    "Each function alone writes random constants, new ones at each save, and the texts are read back as MLIR reads them.",
    drawn=True,
    against=["all nans are alike", "the parts of a complex number have six digits"],
)
def alone_1(jk, rng):
    return random_programs(jk, rng, of_texts.constants, 16, graded=60, by_numpy=False)


@check("04.1", NEW, drawn=True, tolerance=1e-4)
def programs_1(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.plain(
            "unary binary constant cast", dtypes=("float32", "int32", "float16", "bool"), way="jax.jit(f)({args})"
        ),
        2,
        graded=20,
        by_numpy=False,
    )


@check("04.2", NEW, drawn=True, tolerance=1e-4)
def programs_2(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.plain("unary stretched binary constant scaled", way="jax.jit(f)({args})"),
        2,
        graded=20,
        by_numpy=False,
    )


@check("04.3", NEW, drawn=True, tolerance=1e-4)
def programs_3(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.plain(
            "unary twice binary stretched scaled reduction moved constant numbered jit branches scan",
            way="jax.jit(f)({args})",
        ),
        2,
        graded=20,
        by_numpy=False,
    )


@check("04.4", NEW, drawn=True, tolerance=1e-4)
def programs_4(jk, rng):
    return random_programs(
        jk, rng, of_arrays.plain("product moved product", way="jax.jit(f)({args})"), 2, graded=20, by_numpy=False
    )


@check("04.5", NEW, drawn=True, tolerance=1e-4)
def programs_5(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.plain("reduction unary reduction", dtypes=("float32", "int32"), way="jax.jit(f)({args})"),
        2,
        graded=20,
        by_numpy=False,
    )


@check("04.6", NEW, drawn=True, tolerance=1e-4)
def programs_6(jk, rng):
    return random_programs(
        jk, rng, of_arrays.plain("jit branches unary", way="jax.jit(f)({args})"), 2, graded=20, by_numpy=False
    )


@check("04.7", NEW, drawn=True, tolerance=1e-4)
def programs_7(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.plain("unary binary scaled reduction moved constant jit branches scan", way="jax.jit(f)({args})"),
        2,
        graded=20,
        by_numpy=False,
    )
