"""Mistakes that readers found on the Explorer's pages: products in branches, sums, `cumsum` of JAX's, and what is computed twice."""

from __future__ import annotations

import jax
import jax.numpy as jax_numpy
import pytest

import jitkit
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.explorer import hlo, locations, stablehlo


def spec(*shape, dtype="float32"):
    return jitkit.ShapeDtypeStruct(shape, dtype)


def seen(function, *args):
    """Return the data of a page, this CPU's part of it, and for each line of its program the primitives that it is surely linked
    to.
    """
    data = jitkit.explore(function, *args, targets=["cpu"]).data
    [cpu] = data["targets"]
    names = [[data["equations"][n]["primitive"] for n in numbers] for numbers in cpu["hlo"]["equations"]]
    return data, cpu, list(zip(map(str.strip, cpu["hlo"]["lines"]), names, strict=True))


def by_jax(function, *args):
    return seen(jax.jit(function), *(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in args))


def fates_of(data, cpu, primitive):
    numbers = [n for n, each in enumerate(data["equations"]) if each["primitive"] == primitive]
    return [cpu["fates"].get(str(n)) for n in numbers]


@pytest.mark.parametrize("look", [seen, by_jax])
def test_a_product_in_a_branch_is_of_its_own_line_and_not_of_the_cond(look):
    like = lax if look is seen else jax.lax

    def up(m, p, z):
        r = z - p @ m
        return m + p.T @ r, p * 2.0

    def f(ok, m, p, z):
        return like.cond(ok, up, lambda m, p, z: (m, p), m, p, z)

    _, cpu, rows = look(f, spec(dtype="bool"), spec(4), spec(4, 4), spec(4))
    products = [names for line, names in rows if " dot(" in line]
    assert products == [["dot_general"], ["dot_general"]]
    conds = [each for line, each in rows if "conditional(" in line]
    assert conds == [["cond"]]
    assert cpu["by_line"]["flops"] == 88
    assert sorted(each["flops"] for each in cpu["by_line"]["lines"]) == [0, 36, 52]  # the cond itself computes nothing


@pytest.mark.parametrize("look", [seen, by_jax])
@pytest.mark.parametrize("size", [150, 1000])
def test_a_sum_has_the_flops_of_all_its_additions(look, size):
    _, cpu, _ = look(lambda x: x.sum(), spec(size))
    assert size - 1 <= cpu["by_line"]["flops"] == cpu["cost"]["numbers"]["flops"] < 1.1 * size


def test_a_reduction_by_several_operations_counts_each_of_them_and_a_window_its_padding():
    text = """\
HloModule jit_f

%apply (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  %m = f32[] multiply(%a, %b)
  ROOT %s = f32[] add(%m, %b)
}

ENTRY %main (x: f32[8,6], zero: f32[]) -> (f32[8], f32[8,3]) {
  %x = f32[8,6] parameter(0)
  %zero = f32[] parameter(1)
  %rows = f32[8] reduce(%x, %zero), dimensions={1}, to_apply=%apply
  %pairs = f32[8,3] reduce-window(%x, %zero), window={size=1x4 stride=1x2 pad=0_0x1_1}, to_apply=%apply
  ROOT %out = (f32[8], f32[8,3]) tuple(%rows, %pairs)
}
"""
    read = hlo.read(text)
    assert read.flops_at(("main", "rows")) == 2 * (48 - 8)
    assert read.flops_at(("main", "pairs")) == 2 * 24 * 3


@pytest.mark.parametrize("after", [lambda x: x, lambda x: x / 3.0, lambda x: x / x.shape[0] + x])
@pytest.mark.parametrize("shape", [(150, 4), (1000,)])
def test_the_windows_of_a_cumsum_of_jaxs_are_the_cumsum(after, shape):
    data, cpu, rows = by_jax(lambda x: after(jax_numpy.cumsum(x, axis=0)), spec(*shape))
    windows = [names for line, names in rows if " reduce-window(" in line]
    assert windows
    assert {tuple(each) for each in windows} == {("cumsum",)}
    assert fates_of(data, cpu, "cumsum") == [None]
    assert cpu["by_line"]["flops"] == cpu["cost"]["numbers"]["flops"]


def test_a_function_that_two_equations_call_is_of_neither():
    def f(x, y):
        return jax.lax.cumsum(x) / 3.0 + jax_numpy.sin(jax.lax.cumsum(y))

    _, _, rows = by_jax(f, spec(150), spec(150))
    windows = [names for line, names in rows if " reduce-window(" in line]
    assert len(windows) == 4
    assert not any(set(names) & {"div", "sin", "add"} for names in windows)


CALLED = """\
#loc = loc(unknown)
#loc1 = loc("jit(f)/eqn~0/jit(g)")
#loc2 = loc("eqn~1")
#loc3 = loc("reduce_window_sum")
module @jit_f {
  func.func public @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %0 = call @g(%arg0) : (tensor<3xf32>) -> tensor<3xf32> loc(#loc2)
    return %0 : tensor<3xf32> loc(#loc)
  } loc(#loc)
  func.func private @g(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.sine %arg0 : tensor<3xf32> loc(#loc3)
    return %0 : tensor<3xf32> loc(#loc2)
  } loc(#loc2)
} loc(#loc)
"""


def test_operations_of_a_function_have_the_number_of_its_only_caller():
    text = locations.with_numbers(CALLED)
    assert stablehlo.written(stablehlo.listing(text))[1] == {"sine"}
    assert '= loc("eqn~1/reduce_window_sum")' in text
    [call] = [line for line in CALLED.splitlines() if "call @g" in line]
    two = CALLED.replace(call, f"{call}\n{call.replace('#loc2', '#loc1')}")
    assert locations.with_numbers(two) == two


@pytest.mark.parametrize("look", [seen, by_jax])
def test_a_product_that_is_computed_twice_is_not_said_to_be_computed_once(look):
    def f(h, p):
        a = h @ p
        b = (h @ p).T
        return a @ h.T, b + 1.0

    data, cpu, rows = look(f, spec(2, 4), spec(4, 4))
    assert sum(" dot(" in line for line, _ in rows) == 3
    first, second, _ = fates_of(data, cpu, "dot_general")
    assert first is None
    assert second is None or second["rule"] != "duplicate"
    shared = [numbers for numbers in cpu["hlo"]["equations"] if len(numbers) > 1]
    assert not shared  # each product belongs to one equation only


def test_where_two_products_in_a_branch_read_the_same_it_is_not_known_which_is_whose():
    def up(h, p, r):
        s = h @ p @ h.T + jnp.eye(2)
        return (jnp.linalg.solve(s, h @ p).T @ r, p)

    def f(ok, h, p, r):
        return lax.cond(ok, up, lambda h, p, r: (p[0], p), h, p, r)

    data, cpu, rows = seen(f, spec(dtype="bool"), spec(2, 4), spec(4, 4), spec(2))
    assert sum(" dot(" in line for line, _ in rows) == 4
    assert not [each for each in fates_of(data, cpu, "dot_general") if each and "computed once" in each["why"]]


def test_the_second_factorisation_of_a_matrix_is_a_common_subexpression():
    def f(s, r):
        return jax_numpy.linalg.solve(s, r) + jax_numpy.linalg.slogdet(s)[1]

    data, cpu, rows = by_jax(f, spec(3, 3), spec(3))
    assert sum("lapack_sgetrf" in line for line, _ in rows) == 1
    first, second = fates_of(data, cpu, "lu")
    assert first is None
    assert second is None or (second["rule"], second["sure"]) == ("duplicate", True)


@pytest.mark.parametrize("shape", [(2, 3), (2, 2)])
def test_a_transposed_constant_is_folded_as_the_shape_or_the_axes_of_the_product_tell(shape):
    table = jax_numpy.arange(float(shape[0] * shape[1])).reshape(shape)
    data, cpu, _ = by_jax(lambda x: x @ table.T, spec(5, shape[1]))
    [fate] = fates_of(data, cpu, "transpose")
    assert (fate["sure"], "constant folded" in fate["why"]) == (True, True)
    data, cpu, _ = by_jax(lambda x: jax_numpy.sin(x) + table.T, spec(*shape[::-1]))
    [fate] = fates_of(data, cpu, "transpose")
    assert "constant folded" in fate["why"]


def test_an_equation_of_the_way_back_is_not_guessed_to_be_one_of_the_way_forward():
    def loss(w, x, y):
        err = jnp.tanh(x @ w) - y
        return jnp.mean(err * err)

    data, cpu, _ = seen(jitkit.value_and_grad(loss), spec(8, 8), spec(8, 8), spec(8, 8))
    guessed = {int(n): each for n, each in cpu["fates"].items() if each["rule"] == "renamed?"}
    for number, fate in guessed.items():
        owners = {data["equations"][n]["way"] for n in cpu["hlo"]["equations"][fate["row"]]}
        assert data["equations"][number]["way"] in owners
