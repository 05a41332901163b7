"""Errors that Python itself raises: JAX's message, and below it an edit that runs. Also mistakes of users of NumPy and PyTorch whose
errors only repeated JAX's.
"""

from __future__ import annotations

import inspect
import linecache
import re
import textwrap
from typing import NamedTuple

import jax
import numpy as np
import pytest

import jitkit
from jitkit.base import edits, pythons_errors

CODE = re.compile(r"`([^`]+)`")


class Mistake(NamedTuple):
    """A wrong program, the beginning of the advice, and the program fixed as the advice says."""

    wrong: str
    says: str
    mended: str


IN_A_TRACED_FUNCTION = {
    "a step on a dict": Mistake("p - 0.1 * p", edits.OF_TREES, "jax.tree.map(lambda p, g: p - 0.1 * g, p, p)"),
    "a step on a list": Mistake("xs - 0.1 * xs", edits.OF_TREES, "jax.tree.map(lambda p, g: p - 0.1 * g, xs, xs)"),
    "a difference of tuples": Mistake("pair - pair", edits.OF_TREES, "jax.tree.map(lambda p, g: p - g, pair, pair)"),
    "an argument left out": Mistake("x + nothing", edits.IS_NONE, "x + 1"),
    "a layer without return": Mistake("nothing + 1", edits.IS_NONE, "x + 1"),
    "an attribute of None": Mistake("nothing.sum()", edits.IS_NONE, "x.sum()"),
    "a text": Mistake("x + text", edits.OF_A_TEXT, "x + float(text)"),
    "shape()": Mistake("x.shape()", edits.NO_METHOD, "x.shape[0]"),
    "T()": Mistake("x.T()", edits.NO_METHOD, "x.T"),
    "parentheses for brackets": Mistake("x(0)", edits.NOT_CALLED, "x[0]"),
    "at of NumPy's array": Mistake("np.zeros(3).at[0].set(1)", edits.AT_OF_NUMPY, "jnp.asarray(np.zeros(3)).at[0].set(1)"),
    "the mean of a list": Mistake("xs.mean()", edits.OF_A_LIST_OF_NUMBERS, "jnp.stack(xs).mean()"),
    "the mean of a tuple": Mistake("pair.mean()", edits.OF_A_TUPLE, "pair[0].mean()"),
    "the sum of a dict": Mistake("p.sum()", edits.OF_A_TREE, "jax.tree.map(lambda leaf: leaf.sum(), p)"),
    "an attribute of a dict": Mistake("p.w", edits.ITEM_OF_A_DICT, "p['w']"),
    "the shape of a number": Mistake("(3.0).shape", edits.OF_A_NUMBER, "jnp.asarray(3.0)"),
    "a column of a list": Mistake("xs[:, 0]", edits.INDICES_OF_A_LIST, "jnp.array(xs)[:, 0]"),
    "range of half a size": Mistake("list(range(x.shape[0] / 2))", edits.INTEGER_SIZE, "list(range(x.shape[0] // 2))"),
    "two names for three rows": Mistake("(lambda: [a for a, b in [x]])()", edits.UNPACKED, "(lambda: [a for a, b, c in [x]])()"),
    "a variable of the function around": Mistake(
        "jax.lax.fori_loop(0, 3, adds, 0)", edits.CARRIED, "jax.lax.fori_loop(0, 3, lambda i, total: total + i, 0)"
    ),
    "a recursion": Mistake("factorial(x.sum())", edits.RECURSION, "jax.lax.fori_loop(1, 4, lambda i, n: n * i, 1)"),
    "torch.linspace's option": Mistake("jnp.linspace(0, 1, steps=5)", "It is called as `linspace(start, stop", "jnp.linspace(0, 1, num=5)"),
    "a mean and a deviation": Mistake(
        "jax.random.normal(key, 0.0, 1.0, (3,))", "\nIt is called as `normal(key, shape=(), ", "jax.random.normal(key, (3,))"
    ),
    "a product of three": Mistake("jnp.dot(x, x, x)", "\nIt is called as `dot(a, b, ", "jnp.dot(x, x)"),
    "waiting": Mistake("x.block_until_ready()", edits.NOTHING_TO_WAIT_FOR, "x"),
}  # fmt: skip

OUTSIDE = {
    "jit(f, x)": Mistake("jax.jit(jnp.sin, x)", edits.APPLIED_TWICE.format("jit"), "jax.jit(jnp.sin)(x)"),
    "grad(f, x)": Mistake("jax.grad(jnp.sum, x)", edits.APPLIED_TWICE.format("grad"), "jax.grad(jnp.sum)(x)"),
    "grad(f, params)": Mistake("jax.grad(jnp.sum, [x, x])", edits.APPLIED_TWICE.format("grad"), "jax.grad(jnp.sum)(x)"),
    "vmap(f, x)": Mistake("jax.vmap(jnp.sin, x)", edits.APPLIED_TWICE.format("vmap"), "jax.vmap(jnp.sin)(x)"),
    "argnums by name": Mistake("jax.grad(jnp.sum, argnums='a')(x)", edits.ARGNUMS, "jax.grad(jnp.sum, argnums=0)(x)"),
    "static_argnums by name": Mistake(
        "jax.jit(lambda x, n: x, static_argnums='n')(1, 2)",
        "\nstatic_argnums must be an int or a sequence of ints, got 'n'. Names are passed as static_argnames='n'.",
        "jax.jit(lambda x, n: x, static_argnames='n')(1, 2)",
    ),
    "switch without a list": Mistake(
        "jax.lax.switch(0, lambda x: x, lambda x: -x, 1.0)", edits.SWITCH_ORDER, "jax.lax.switch(0, [jnp.sin, jnp.cos], 1.0)"
    ),
    "the tree first": Mistake("jax.tree.map({'a': 1}, abs)", edits.MAPPED_FIRST, "jax.tree.map(abs, {'a': 1})"),
    "the key second": Mistake("jax.random.choice(x, key)", edits.KEY_FIRST, "jax.random.choice(key, x)"),
    "one key for two names": Mistake("(lambda: [k for k, l in [key]])()", edits.ONE_KEY, "jax.random.split(key)"),
    "an array of texts": Mistake("jnp.asarray(np.array(['a', 'b']))", edits.NO_TEXT, "jnp.array([0, 1])"),
    "an unknown dtype": Mistake("x.astype('torch.float32')", edits.A_DTYPE, "x.astype('float32')"),
    "two axes of argmax": Mistake("jnp.argmax(x, axis=(0, 1))", edits.ONE_AXIS, "jnp.argmax(x.reshape(-1))"),
    "eye of a shape": Mistake("jnp.eye((3, 3))", edits.TWO_SIZES, "jnp.eye(3, 3)"),
    "the sum of a dict": Mistake("jnp.sum({'a': 1.0})", edits.TREE_OF_ARRAYS, "jax.tree.map(jnp.sum, {'a': x})"),
    "a dict looked up by an array": Mistake("{1: 'one'}[jnp.array(1)]", edits.NO_HASH, "{1: 'one'}[int(jnp.array(1))]"),
    "vmap that returns a text": Mistake("jax.vmap(lambda x: 'a')(x)", edits.RETURN_ARRAYS, "jax.vmap(lambda x: x)(x)"),
}  # fmt: skip

FUNCTION = """
import numpy as np

def factorial(n):
    return jax.lax.cond(n == 0, lambda: 1, lambda: n * factorial(n - 1))

def run(x, key):
    p, xs, pair, nothing, text = {"w": x}, [x, x], (x, x), None, "3"
    total = 0
    def adds(i, carry):
        total += i
        return carry
    return EXPRESSION
"""


def tried(library, expression, jitted):
    """Run an expression in a function, which is traced if `jitted`; return the class and message of its error, or None."""
    file = f"<{library.__name__}: {expression}>"
    source = FUNCTION.replace("EXPRESSION", expression)
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    names = {"jax": library, "jnp": library.numpy}
    exec(compile(source, file, "exec"), names)
    run = library.jit(names["run"]) if jitted else names["run"]
    try:
        run(library.numpy.ones(3, "int32"), library.random.key(0)) if jitted else run(
            library.numpy.ones(3), library.random.key(0)
        )
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def check(mistake, jitted):
    kind, said = tried(jitkit, mistake.wrong, jitted)
    jaxs, first = tried(jax, mistake.wrong, jitted)
    assert kind == jaxs
    plain = [
        re.sub(r"jaxlib\._jax\.Array(Impl)?|\bArrayImpl\b", "Array", text.partition("\n")[0]) for text in (said, first)
    ]
    names_differ = plain[0].startswith(("JAX encountered invalid PRNG", "maximum recursion", "Value"))
    assert plain[0] == plain[1] or names_differ
    assert mistake.says.strip() in said
    assert mistake.says.strip() not in first
    assert tried(jitkit, mistake.mended, jitted) is None


@pytest.mark.parametrize("name", IN_A_TRACED_FUNCTION)
def test_a_mistake_in_a_traced_function_says_what_to_write_instead(name):
    check(IN_A_TRACED_FUNCTION[name], jitted=True)


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_mistake_outside_of_traced_functions_says_what_to_write_instead(name):
    check(OUTSIDE[name], jitted=False)


def test_each_row_is_tried():
    said = {mistake.says for mistake in IN_A_TRACED_FUNCTION.values()} | {edits.INTO_NUMPY, edits.SWITCH_ORDER}
    assert {row.edit for row in pythons_errors._ROWS} <= said


@pytest.mark.parametrize("name", ["OF_TREES", "AT_OF_NUMPY", "ONE_AXIS", "CARRIED", "ONE_KEY"])
def test_the_code_in_an_advice_runs(name):
    x = jitkit.numpy.ones((2, 3))
    names = {"jax": jitkit, "jnp": jitkit.numpy, "x": x, "params": [x], "grads": [x], "key": jitkit.random.key(0)}
    for code in CODE.findall(getattr(edits, name)):
        if code not in ("=", "cond", "at"):
            exec(code, names)


def test_a_function_of_the_user_s_that_has_the_name_of_ours_is_not_explained():
    def linspace(start):
        return start

    for call in (lambda x: linspace(x, 1), lambda x: linspace(x, steps=3)):
        with pytest.raises(TypeError) as info:
            jitkit.jit(call)(1.0)
        assert "\n" not in str(info.value)


def test_an_error_in_code_of_ours_and_an_error_with_other_words_stay_as_they_are():
    def of_the_users(x):
        raise TypeError("unsupported colour 'NoneType' in a text of the user's own, \n and more")

    with pytest.raises(TypeError) as info:
        jitkit.jit(of_the_users)(1.0)
    assert str(info.value).endswith("and more")


def test_advice_is_added_once_in_nested_functions():
    inner = jitkit.jit(lambda x: x + None)
    with pytest.raises(TypeError) as info:
        jitkit.jit(lambda x: jitkit.vmap(inner)(x))(np.ones(3))
    assert str(info.value).count("One value is None") == 1


def test_a_vmap_without_jit_does_not_advise_static_arguments():
    for transform, ones in ((jitkit.vmap, np.ones(3)), (jitkit.grad, 1.0)):
        with pytest.raises(TypeError) as info:
            transform(lambda x: np.sin(x))(ones)
        assert "make it static" not in str(info.value)


def test_what_is_to_be_looked_at_or_converted_comes_first_in_the_table(tmp_path):
    for expression, row in (
        ("x.sum().item()", "to use it in Python"),
        ("print('%f' % x.sum())", "to look at it"),
        ("str(float(x.sum()))", "to look at it"),
    ):
        _, said = tried(jitkit, expression, True)
        rows = [line.split("  ")[1] for line in said.splitlines() if line.startswith("  ")]
        assert row in rows[:2], said


def test_a_range_as_an_index_and_a_dtype_of_numpy_as_a_function_say_what_to_write_instead():
    _, said = tried(jitkit, "x.reshape(3, 1)[range(3), x]", True)
    assert said.endswith(edits.OF_A_RANGE)
    assert tried(jitkit, "x.reshape(3, 1)[jnp.arange(3), x]", True) is None
    _, said = tried(jitkit, "np.float32(x.sum())", True)
    rows = [line for line in said.splitlines() if line.startswith("  ")]
    assert rows[0].strip().startswith("a dtype of NumPy's")
    assert tried(jitkit, "x.sum().astype(np.float32)", True) is None


def test_the_signature_in_the_advice_is_the_function_s():
    for function in (jitkit.numpy.linspace, jitkit.random.normal, jitkit.numpy.dot):
        shown = [pythons_errors._shown(each) for each in inspect.signature(function).parameters.values()]
        exec(textwrap.dedent(f"def f({', '.join(shown)}): pass"))
