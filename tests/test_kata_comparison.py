"""Results compared by meaning: what counts as the same, and what is said of the first difference."""

from __future__ import annotations

import json

import numpy as np
import pytest

import jitkit as jk
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.kata.engine.comparison import first_difference
from jitkit.kata.engine.plain import Raised, Stablehlo, Unordered, raised, to_plain
from jitkit.kata.engine.run_stablehlo import run_stablehlo

X = jnp.arange(3.0)


def jaxpr(f, *args):
    return jk.make_jaxpr(f)(*(args or (X,)))


def difference(expected, actual, **options):
    """Return the first difference between two values, after sending them through JSON, as between processes."""
    one, other = (json.loads(json.dumps(to_plain(value))) for value in (expected, actual))
    return first_difference(one, other, **options)


SAME = [
    (None, None),
    (True, True),
    (3, 3),
    (1.5, 1.5 + 1e-12),
    (float("nan"), float("nan")),
    (1 + 2j, 1 + 2j),
    ("text", "text"),
    ([1, (2, 3)], [1, (2, 3)]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (Unordered([1, 2]), Unordered([2, 1])),
    (np.float32(1.0), np.float32(1.000001)),
    (np.array([np.nan, np.inf]), np.array([np.nan, np.inf])),
    (jnp.zeros((0, 3)), jnp.zeros((0, 3))),
    (jnp.ones(2, jnp.bfloat16), jnp.ones(2, jnp.bfloat16)),
    (X, np.arange(3, dtype=np.float32)),
    (jk.tree_util.tree_structure({"a": 1}), jk.tree_util.tree_structure({"a": 2})),
    (X.aval, X.aval),
    # numpy's scalars where a Python number is expected
    (1.5, np.median([1.0, 2.0])),
    (8, np.int64(8)),
    (2, np.array([1, 5, 9]).argmax()),
    (True, np.all([True])),
]


@pytest.mark.parametrize(("expected", "actual"), SAME)
def test_these_are_the_same(expected, actual):
    assert difference(expected, actual) is None


DIFFERENT = [
    (1.5, np.float64(2.5), "result", "The numbers differ."),
    (8, np.int64(9), "result", "The values differ."),
    (8, np.array(8), "result", "A number is expected, and an array came."),
    (8, X[0].astype(int), "result", "A number is expected, and an array came."),
    (1.5, np.float32(1.5), "result", "A float is expected, and an array came."),
    (1, np.bool_(True), "result", "A number is expected, and an array came."),
    (None, 1, "result", "None is expected, and a number came."),
    (1, 1.0, "result", "A number is expected, and a float came."),
    (True, 1, "result", "A truth value is expected, and a number came."),
    (1, 2, "result", "The values differ."),
    (1.0, 1.1, "result", "The numbers differ."),
    (0.0, float("nan"), "result", "The numbers differ."),
    ([1, 2], [1, 3], "result[1]", "The values differ."),
    ([1, 2], [1], "result", "The list should have 2 items, and has 1."),
    ((1,), [1], "result", "A tuple is expected, and a list came."),
    ({"a": [1]}, {"a": [2]}, "result['a'][0]", "The values differ."),
    ({"a": 1, "b": 2}, {"a": 1}, "result", "The key 'b' is missing."),
    ({"a": 1}, {"a": 1, "b": 2}, "result", "The key 'b' should not be there."),
    (Unordered([1, 2]), Unordered([2, 2]), "result", "One of the values is missing."),
    (Unordered([1]), Unordered([1, 1]), "result", "There is one value too many."),
    (np.zeros(3), np.zeros(4), "result", "The shapes differ."),
    (np.zeros(3), np.zeros(3, np.float32), "result", "The dtypes differ."),
    (
        jnp.zeros(3),
        jnp.zeros(3) * 1.0 + 1,
        "result[0]",
        "3 of 3 numbers differ; the first is 0.0 in the expected array, 1.0 here.",
    ),
    (np.eye(2), np.array([[1.0, 0], [5, 1]]), "result[1, 0]", "1 of 4 numbers differ"),
    (jnp.float32(1.0), jk.jit(lambda: 1.0)(), "result", "The type should be strong."),
    (jk.jit(lambda: 1.0)(), jnp.float32(1.0), "result", "The type should be weak: it came from a Python number."),
    (1, object(), "result", "A number is expected, and a builtins.object came."),
]


@pytest.mark.parametrize(("expected", "actual", "where", "sentence"), DIFFERENT)
def test_the_first_difference_is_named_with_its_place(expected, actual, where, sentence):
    found = difference(expected, actual)
    assert found.where == where
    assert found.sentence.startswith(sentence)
    assert found.expected != found.actual


def test_a_tolerance_can_be_given():
    assert difference(1.0, 1.01) is not None
    assert difference(1.0, 1.01, tolerance=0.1) is None
    assert difference(np.float32(1.0), np.float32(1.01), tolerance=0.1) is None


def fail(kind, text):
    raise kind(text)


def test_errors_are_compared_by_class_and_by_the_words_that_matter():
    expected = raised(fail, TypeError, "carry 'x' is float32", parts=["'x'"])
    assert difference(expected, raised(fail, TypeError, "of 'x', that is")) is None
    assert difference(expected, raised(fail, jk.errors.JAXTypeError, "of 'x'")) is None
    found = difference(expected, raised(fail, TypeError, "something else"))
    assert found.sentence == "The message of the TypeError should name \"'x'\"."
    assert found.line[0] == __file__
    found = difference(expected, raised(fail, ValueError, "'x'"))
    assert found.sentence == "A TypeError should have been raised, and it was a ValueError."
    assert difference(expected, 3).sentence == "A TypeError should have been raised, and was not."
    assert difference(3, raised(fail, IndexError, "no")).sentence == "The program ended in an IndexError."


def test_raised_hands_a_result_on():
    assert raised(max, 1, 2) == 2
    assert isinstance(raised(max, 1, "a"), Raised)


SAME_PROGRAM = [
    (lambda x: jnp.sin(x) * 2, lambda y: jnp.sin(y) * 2),
    (lambda x: (jnp.sin(x), jnp.cos(x)), lambda x: tuple(reversed((jnp.cos(x), jnp.sin(x))))),
    (lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x)),
    (lambda x: jk.jit(lambda y: y + 1)(x), lambda x: jk.jit(lambda z: z + 1)(x)),
]


@pytest.mark.parametrize(("f", "g"), SAME_PROGRAM)
def test_names_and_the_order_of_independent_equations_do_not_matter(f, g):
    assert difference(jaxpr(f), jaxpr(g)) is None


def two(x, y):
    return x - y


OTHER_PROGRAM = [
    (jnp.sin, jnp.cos, "There is `cos` where `sin` should be.", "b:f32[3] = sin a", "b:f32[3] = cos a"),
    (
        lambda x: jnp.sin(jnp.exp(x)) + 1,
        lambda x: jnp.sin(jnp.exp2(x)) + 1,
        "There is `exp2` where `exp` should be.",
        "b:f32[3] = exp a",
        "b:f32[3] = exp2 a",
    ),
    (
        lambda x: jnp.exp(x) - jnp.sin(x),
        lambda x: jnp.sin(x) - jnp.exp(x),
        "The operands of `sub` are in another order.",
        "d:f32[3] = sub b c",
        "d:f32[3] = sub c b",
    ),
    (
        lambda x: x * 2,
        lambda x: x * 3,
        "Operand 1 of `mul` is 3.0, and should be 2.0.",
        "b:f32[3] = mul a 2.0:f32[]",
        "b:f32[3] = mul a 3.0:f32[]",
    ),
    (lambda x: x.sum(), lambda x: x.reshape(3, 1).sum(0)[0], "There is `", "b:f32[] = reduce_sum[axes=(0,)] a", None),
    (lambda x: x, jnp.sin, "Output 0 is a result of `sin`, and should be input 0.", "in (a,)", "in (a',)"),
    (lambda x: (x, x), lambda x: x, "The program should have 2 outputs, and has 1.", "in (a, a)", "in (a,)"),
    (lambda x: x + X, lambda x: x + (X + 1), "Operand 1 of `add` is ", None, None),
    (
        lambda x: x.sum(keepdims=False),
        lambda x: lax.reduce_sum_p.bind(x, axes=()),
        "The parameter `axes` of `reduce_sum` should be (0,), and is ().",
        None,
        None,
    ),
]


@pytest.mark.parametrize(("f", "g", "sentence", "expected", "actual"), OTHER_PROGRAM)
def test_the_equation_that_differs_is_shown_with_the_cause(f, g, sentence, expected, actual):
    found = difference(jaxpr(f), jaxpr(g))
    assert found.sentence.startswith(sentence)
    assert expected is None or found.expected == expected
    assert actual is None or found.actual == actual


def test_the_line_of_the_learners_equation_is_given():
    def mine(x):
        y = jnp.exp(x)
        return jnp.cos(y)

    found = difference(jaxpr(lambda x: jnp.sin(jnp.exp(x))), jaxpr(mine))
    assert found.line == (__file__, mine.__code__.co_firstlineno + 2)


def test_a_literal_is_its_number_and_its_type():
    one, other = (to_plain(jaxpr(lambda x: x * 2.0)) for _ in range(2))
    literal = other["equations"][0]["operands"][1]
    literal["literal"] = to_plain(2.0)
    assert first_difference(one, other) is None
    literal["type"] = "float32*[]"
    found = first_difference(one, other)
    assert found.sentence.startswith("Operand 1 of `mul` has the type ~f32[], and should have f32[] (`~`")


def test_inputs_and_weak_types_are_compared():
    one, other = jaxpr(lambda x: x, X), jaxpr(lambda x: x, 1.0)
    found = difference(jaxpr(lambda x: x, jnp.float32(1)), other)
    assert found.sentence.startswith("Input 0 should be f32[], and is ~f32[] (`~` marks a weak type")
    assert difference(one, jaxpr(two, X, X)).sentence == "The program should have 1 input, and has 2."


def test_a_closed_over_array_that_became_an_input_is_called_by_its_name():
    found = difference(jaxpr(lambda x: x + X), jaxpr(lambda x, y: x + y, X, X))
    assert found.sentence.endswith("and has 2: an array that the function closes over is a constant.")


def test_an_equation_that_nothing_needs_is_a_difference():
    def wasteful(x):
        jnp.cos(x)
        return jnp.sin(x)

    found = difference(jaxpr(jnp.sin), jaxpr(wasteful))
    assert found.sentence == "This `cos` should not be there: no output needs it."
    assert found.actual == "a':f32[3] = cos a"
    assert difference(jaxpr(wasteful), jaxpr(jnp.sin)).sentence.startswith("A `cos` is missing.")


def test_a_difference_inside_of_an_inner_jaxpr_is_found_there():
    def program(g):
        return jaxpr(lambda x: lax.fori_loop(0, 3, lambda i, c: g(c), x))

    found = difference(program(jnp.sin), program(jnp.cos))
    assert found.sentence.startswith("Inside of `scan`, in its `jaxpr`: ")
    assert "`cos` where `sin` should be" in found.sentence


def test_stablehlo_is_compared_by_what_it_computes():
    def results(text, arguments):
        return [arguments[0] * (2 if "two" in text else 3)]

    data = np.arange(3, dtype=np.float32)
    same = difference(Stablehlo("two", [data]), Stablehlo("also two", [data]), run_stablehlo=results)
    assert same is None
    found = difference(Stablehlo("two", [data]), Stablehlo("three", [data]), run_stablehlo=results)
    assert "its result 0 is float32[3] [0., 3., 6.]; float32[3] [0., 2., 4.] is expected" in found.sentence


def test_stablehlo_that_xla_refuses_is_a_difference_with_its_message():
    def results(text, arguments):
        raise RuntimeError("line 3: expected SSA operand")

    found = difference(Stablehlo("a", []), Stablehlo("b", []), run_stablehlo=results)
    assert found.sentence == "XLA refuses the program: line 3: expected SSA operand"


def test_a_value_without_end_is_an_object():
    endless = []
    endless.append(endless)
    deep = to_plain([0] * 200_000)
    assert "more parts" in json.dumps(deep["items"][-1])
    with pytest.raises(RecursionError):
        to_plain(endless)


def test_what_xla_refuses_is_told_with_the_line_that_it_means():
    right = "func.func public @main(%a: tensor<f32>) -> tensor<f32> {\n  return %a : tensor<f32>\n}\n"
    wrong = right.replace("return %a", "return %b")
    one, other = (to_plain(Stablehlo(text, [np.float32(1)]), run_stablehlo) for text in (right, wrong))
    found = first_difference(one, other)
    assert found is not None
    assert found.sentence.endswith("use of undeclared SSA value name, in line 2: `return %b : tensor<f32>`")
