"""Programs of new readers: what XLA's algebraic simplifier makes of products, sums, and bools."""

from __future__ import annotations

import functools
import warnings

import knockout
import pytest
from twin import JAX_VERSION

import jitkit
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.explorer import fates, hlo, ours, stablehlo


def spec(*shape, dtype="float32"):
    return jitkit.ShapeDtypeStruct(shape, dtype)


def answered(function, *args):
    """Return the primitives that are removed for sure, by rule. Check that all links and reasons hold."""
    trial = knockout.Trial(function, args)
    assert [at for at in trial.links() if trial.link(at) == "wrong"] == []
    sure = {int(number): fate for number, fate in trial.fates.items() if fate["sure"]}
    assert [trial.fates[str(number)] for number in sure if not trial.reason(number)] == []
    found = {}
    for number, fate in sure.items():
        found.setdefault(fate["rule"], []).append((trial.equations[number].primitive, fate["why"]))
    unknown = [fate["why"] for fate in trial.fates.values() if fate["fate"] == "unknown"]
    return found, unknown


MAKES_ONE_FACTOR = pytest.mark.skipif(
    JAX_VERSION >= (0, 12), reason="needs jax < 0.12, whose XLA makes one factor of two"
)


@MAKES_ONE_FACTOR
def test_numbers_of_two_products_are_one():
    found, unknown = answered(lambda x: jnp.sin(x * 2.0 * 3.0), spec(8))
    assert [(name, why.rpartition(" ")[2]) for name, why in found["one factor"]] == [("mul", "6")]
    found, _ = answered(lambda x: jnp.sin(x / 4.0 * 3.0), spec(8))
    assert [(name, why.rpartition(" ")[2]) for name, why in found["one factor"]] == [("div", "0.75")]
    assert unknown == []


@MAKES_ONE_FACTOR
def test_the_gradient_of_a_mean_of_squares_has_one_number():
    found, unknown = answered(jitkit.grad(lambda x, y: jnp.mean((x - y) ** 2)), spec(8), spec(8))
    assert [(name, why.rpartition(" ")[2]) for name, why in found["one factor"]] == [("mul", "0.25")]
    assert unknown == []
    found, _ = answered(jitkit.grad(lambda x, y: jnp.tanh(jnp.mean((x - y) ** 2))), spec(8), spec(8))
    assert [(name, why.rpartition(" ")[2]) for name, why in found["one factor"]] == [("mul", "0.25"), ("div", "0.25")]


def test_products_by_other_numbers_than_the_program_has_are_not_one():
    found, _ = answered(lambda x: (y := x * 2.0, jnp.sin(y * 3.0)), spec(8))
    assert "one factor" not in found


@pytest.mark.parametrize("turns", [False, True])
def test_a_number_that_is_factored_out_of_a_sum_is_not_called_an_addition(turns):
    def mixed(h, x):
        return 0.5 * h + 0.5 * jnp.tanh(x - h)

    def loop(h, x):
        return lax.while_loop(lambda c: c[1] < 20, lambda c: (mixed(c[0], x), c[1] + 1), (h, 0))[0]

    found, unknown = answered(loop if turns else lambda h, x: jnp.sin(mixed(h, x)), spec(8), spec(8))
    assert [name for name, _ in found["factored"]] == ["mul", "mul", "add"]
    assert "0.5 is factored out of the sum" in found["factored"][0][1]
    assert "rewritten" not in found
    assert unknown == []


def test_a_truth_value_that_is_multiplied_with_is_chosen_by():
    found, unknown = answered(lambda x, y: jnp.sin(x * (y > 0).astype("float32") + 1), spec(8), spec(8))
    assert "chooses by the truth value itself" in found["merged"][0][1]
    assert unknown == []
    found, _ = answered(lambda x, y: jnp.sin((x * x) / (1 + (y > 0).astype("float32"))), spec(8), spec(8))
    assert not any("truth value" in why for _, why in found.get("merged", ()))


def test_a_sum_of_equal_elements_that_became_a_product_is_not_of_its_reader():
    trial = knockout.Trial(lambda x: jnp.broadcast_to(x.sum(), (3, 4)).sum() != 0, (spec(5),))
    products = [at for at in trial.links() if trial.cones.at[at].opcode == "multiply"]
    assert [trial.link(at) for at in products] == ["right"] * len(products)
    assert products


def test_a_constant_array_is_not_said_to_be_computed_when_the_program_runs():
    def spectrum(x):
        y = jnp.fft.irfft(jnp.fft.rfft(x) * 2.0, 16)
        return jnp.mean(y**2)

    data = jitkit.explore(jitkit.grad(spectrum), spec(16), targets="cpu").data
    [cpu] = data["targets"]
    folded = {int(n) for n, fate in cpu["fates"].items() if fate["rule"] == "constant"}
    inside = [
        numbers
        for line, numbers in zip(cpu["hlo"]["lines"], cpu["hlo"]["equations"], strict=True)
        if " multiply(" in line and "ROOT" in line
    ]
    assert inside
    assert folded
    assert folded.isdisjoint(number for numbers in inside for number in numbers)


def test_a_call_of_which_nothing_is_left_has_its_reason():
    def f(x):
        inner = jitkit.jit(lambda x: (x + 0.0, 0j))
        return jnp.sin(inner(x)[0])

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a complex number is not read as a real one
        found, unknown = answered(f, spec(8))
    assert {"changes nothing"} <= found.keys()
    assert unknown == []


@pytest.mark.parametrize(
    ("transform", "shape", "dtype"),
    [(jnp.fft.rfft, (1016,), "float32"), (jnp.fft.irfft, (509,), "complex64"), (jnp.fft.fft2, (3, 8, 16), "complex64")],
)
def test_a_fourier_transform_has_the_flops_of_xla_s_estimate(transform, shape, dtype):
    [cpu] = jitkit.explore(transform, spec(*shape, dtype=dtype), targets="cpu").data["targets"]
    assert cpu["by_line"]["flops"] == cpu["cost"]["numbers"]["flops"] > 8 * max(shape)
    assert cpu["by_line"]["flops_besides"] == 0


def test_a_transpose_of_axes_of_one_element_changes_nothing():
    found, unknown = answered(lambda x, y: jnp.sin(x).T * y + (jnp.cos(y) @ x).T, spec(1, 1), spec(1, 1))
    assert [name for name, _ in found["changes nothing"]].count("transpose") == 2
    assert unknown == []
    found, _ = answered(lambda x: jnp.sin(x).T @ x, spec(2, 3))
    assert "transpose" not in [name for name, _ in found.get("changes nothing", ())]


def test_a_result_of_a_branch_is_copied_into_the_memory_of_the_donated_argument():
    @functools.partial(jitkit.jit, donate_argnums=(0, 1))
    def step(w, v, x):
        h = jnp.tanh(x @ w)
        w, v = w - x.T @ (h @ v.T @ v), v - (h.T @ h).sum() * v
        return lax.cond((h > 0.5).sum() > 9, lambda w, v: (w * 0.9, v * 0.9), lambda w, v: (w, v), w, v)

    [cpu] = jitkit.explore(step, spec(8, 16), spec(4, 16), spec(32, 8), targets="cpu").data["targets"]
    rows = [row for row, line in enumerate(cpu["hlo"]["lines"]) if " copy(get-tuple-element" in line]
    assert rows
    assert all("which is donated, and was made elsewhere" in cpu["hlo"]["notes"][str(row)] for row in rows)


def test_a_constant_transposed_in_a_loop_is_folded_though_its_shape_is_the_same():
    def kalman(p, zs):
        step = jnp.array([[1.0, 0.1], [0.0, 1.0]])

        def turn(p, z):
            return step @ p @ step.T + z, None

        return lax.scan(turn, p, zs)[0]

    found, unknown = answered(kalman, spec(2, 2), spec(20, 1))
    assert [name for name, _ in found["constant"]].count("transpose") == 1
    assert unknown == []


EXCHANGED = """\
HloModule jit_f

ENTRY %main.1 (a: f32[4,4], b: f32[4,4]) -> f32[4,4] {
  %a = f32[4,4] parameter(0)
  %b = f32[4,4] parameter(1)
  ROOT %product = f32[4,4] convolution(%FIRST, %SECOND), dim_labels=fb_io->bf, metadata={op_name="jit(f)/eqn~0/dot_general"}
}
"""


def test_a_transpose_of_a_product_is_in_the_product_whose_operands_are_exchanged():
    subject = ours.subject(lambda a, b: lax.dot_general(a, b, (((0,), (0,)), ((), ()))).T, (spec(4, 4), spec(4, 4)))
    wrote = stablehlo.written(stablehlo.listing(subject.shown("cpu")))
    for first, second, rule in (("b", "a", "merged"), ("a", "b", "unknown")):
        text = EXCHANGED.replace("FIRST", first).replace("SECOND", second)
        fate = fates.fates(subject.equations, wrote, hlo.read(text, subject.equations), {})["1"]
        assert fate["rule"] == rule
        assert ("with its operands exchanged" in fate["why"]) == (rule == "merged")
