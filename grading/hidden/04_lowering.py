"""The checks of lab 04 that are used in grading only."""

from __future__ import annotations

import tempfile

import numpy as np

from jitkit.kata.checking import Stablehlo, check, module


def module_of(jk, f, *arguments):
    return jk.interpreters.mlir_main.lower_main("f", jk.make_jaxpr(f)(*arguments), "cpu")


def lowered(jk, f, *arguments):
    return Stablehlo(module_of(jk, f, *arguments).text(), arguments)


def floats(rng, *shape):
    return rng.normal(size=shape).astype("float32")


@check("04.1", "Constants of several dtypes and sizes in one program.", hidden=True)
def arrays_from_outside(jk, rng):
    tables = [
        rng.normal(size=(7, 11)).astype("float16"),
        rng.normal(size=(3, 2)) > 0,
        rng.integers(0, 255, size=(9, 9)).astype("uint8").T,
        np.full((2, 500), rng.normal(), "float32"),
        np.array([1 + 2j, np.nan], "complex64"),
        np.zeros((2, 0), "float32"),
    ]
    text = jk.interpreters.mlir_text
    kinds = [text.tensor_type(x.shape, x.dtype) for x in tables]
    lines = [f"%{i} = stablehlo.constant {text.dense(x)} : {kinds[i]}" for i, x in enumerate(tables)]
    names = ", ".join(f"%{i}" for i in range(len(tables)))
    types = ", ".join(kinds)
    body = "\n".join([*lines, f"return {names} : {types}"])
    return Stablehlo(f"module {{ func.func public @main() -> ({types}) {{\n{body}\n}} }}", [])


@check("04.2", "Operands of three shapes, constants in two branches.", hidden=True)
def operands(jk, rng):
    def f(x, row, s):
        y = jk.lax.cond(s > 0, lambda y: y * 0.0 - 1.5, lambda y: y + 1.5, x + row)
        return jk.lax.clamp(np.float32(-1.5), y, s) / -0.0, y / 0.0

    text = module_of(jk, f, floats(rng, 4, 3), floats(rng, 1, 3), np.float32(rng.normal())).text()
    return lowered(jk, f, floats(rng, 4, 3), floats(rng, 1, 3), np.float32(rng.normal())), text.count("constant")


@check("04.3", "A loop with a branch in it.", hidden=True)
def equations(jk, rng):
    table = floats(rng, 6)

    def f(x):
        def body(i, x):
            return jk.lax.cond(x[0] > 0, lambda x: x - table, lambda x: x + i, x)

        return jk.lax.fori_loop(0, 5, body, x), table[2]

    return lowered(jk, f, floats(rng, 6))


@check("04.4", "A contraction of two axes in a batch of two axes, in half precision.", hidden=True)
def products(jk, rng):
    x, y = floats(rng, 2, 3, 4, 2), floats(rng, 2, 3, 2, 5)
    half = x.astype("float16")
    numbers = (((3,), (2,)), ((0, 1), (0, 1)))
    return lowered(
        jk,
        lambda x, y, h: (jk.lax.dot_general(x, y, numbers), jk.lax.dot_general(h, y, numbers)),
        x, y, half,
    )  # fmt: skip


@check("04.5", "Positions and values of the least elements; a fold of three arrays.", hidden=True)
def reductions(jk, rng):
    x = rng.integers(-9, 9, size=(3, 5)).astype("int16")

    def f(x):
        zeros = np.int16(0), np.int16(1), np.int16(-99)
        folded = jk.lax.reduce(
            (x, x, x), zeros, lambda a, b: (a[0] + b[0], a[1] * b[1], jk.lax.max(a[2], b[2])), (0, 1)
        )
        return folded, jk.lax.argmin(x, 0, "int32"), jk.lax.reduce_max(x - 20, (1,))

    values = [float(jk.lax.reduction.max_identity(np.dtype(n))) for n in ("int16", "float16", "uint8")]
    return lowered(jk, lambda x: jk.tree_util.tree_leaves(f(x)), x), values


@check("04.6", "Calls in calls, in loops, with constants and with one name.", hidden=True)
def calls(jk, rng):
    table = floats(rng, 90, 60)

    @jk.jit
    def step(x):
        return jk.numpy.tanh(table.T @ (table @ x)), x

    def f(x):
        x, before = step(x)
        return jk.lax.fori_loop(0, 3, lambda i, x: step(x)[0] - before, x), step(before)[1]

    x = floats(rng, 60)
    module = module_of(jk, f, x)
    return Stablehlo(module.text(), [*module.hoisted.values(), x]), len(module.functions)


@check("04.7", "From a folder, by another jit of the same lines.", hidden=True, tolerance=1e-5)
def by_the_folder(jk, rng):
    compiler = module(jk, "compiler.compiler")
    compile_text, texts = compiler.runtime.compile_text, []

    def noting(text, owners, options=()):
        texts.append("loc(" in text)
        return compile_text(text, owners, options)

    x, factor = rng.normal(size=3).astype("float32"), float(rng.normal())
    with tempfile.TemporaryDirectory() as folder:
        before = jk.base.config.value("compilation_cache_dir")
        jk.config.update("compilation_cache_dir", folder)
        compiler.runtime.compile_text = noting
        try:
            results = [jk.jit(lambda x: jk.numpy.cos(x) * factor)(x), jk.jit(lambda x: jk.numpy.cos(x) * factor)(x)]
        finally:
            compiler.runtime.compile_text = compile_text
            jk.config.update("compilation_cache_dir", before)
    return results, texts
