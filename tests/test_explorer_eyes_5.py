"""What new readers missed on the pages of three programs: reciprocals, padded types, late readers of carries, residuals, rows of vmap."""

from __future__ import annotations

import knockout
import pytest
from test_explorer import subject_of
from test_explorer_eyes_2 import notes
from test_explorer_eyes_3 import answered, spec

import jitkit
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.explorer import fates, hlo, rounding, stablehlo

PADDED = """\
HloModule jit_f

ENTRY %main.1 (x: f32[4,6]) -> f32[4,8] {
  %x = f32[4,6] parameter(0)
  %number = f32[] constant(0.00392156886)
  %zero = f32[] constant(0)
  %numbers = f32[4,6] broadcast(%number), dimensions={}
  %multiply = f32[4,6] multiply(%x, %numbers), metadata={op_name="jit(f)/eqn~0/div"}
  ROOT %pad = f32[4,8] pad(%multiply, %zero), padding=0_0x0_2, metadata={op_name="jit(f)/eqn~0/div"}
}
"""

WIDER = """\
HloModule jit_f

ENTRY %main (x: f32[4,4]) -> bf16[4,5] {
  %x = f32[4,4]{1,0} parameter(0)
  ROOT %product = bf16[4,5]{1,0} OPERATION(%x, %x), metadata={op_name="jit(f)/eqn~0/dot_general"}
}
"""


def test_a_division_by_a_value_for_each_row_is_a_product_with_its_reciprocal():
    found, _ = answered(lambda x: jnp.sin(x) / jnp.sin(x).max(axis=(1, 2), keepdims=True), spec(4, 64, 64))
    [(name, why)] = found["rewritten"]
    assert name == "div"
    assert "is now a multiply with the reciprocal" in why
    found, _ = answered(lambda x, y: jnp.sin(x) / y, spec(4, 64), spec(4, 64))
    assert "rewritten" not in found


def test_a_division_that_is_padded_after_it_became_a_product_is_rewritten():
    subject = subject_of(lambda x: x / 255.0, (spec(4, 6),), {})
    wrote = stablehlo.written(stablehlo.listing(subject.shown("cpu")))
    fate = fates.fates(subject.equations, wrote, hlo.read(PADDED, subject.equations), {})["0"]
    assert (fate["fate"], fate["why"]) == ("rewritten", "is now a multiply, multiply")


@pytest.mark.parametrize(("operation", "told"), [("convolution", {"0": "bf16"}), ("add", {})])
def test_a_product_in_a_smaller_type_is_told_though_it_is_padded(operation, told):
    subject = subject_of(lambda x: x @ x, (spec(4, 4),), {})
    read = hlo.read(WIDER.replace("OPERATION", operation), subject.equations)
    assert rounding.rounded(subject.equations, read) == told


def late(function, *args):
    return [note for note in notes(function, *args) if "which makes the next one" in note]


def test_a_part_of_a_carry_is_copied_if_what_reads_it_need_not_run_before_the_next_part_is_made():
    def f(x, stored):
        return lax.scan(lambda c, _: (jnp.sin(c) * 2, c if stored else None), x, None, length=9)

    stored = late(lambda x: f(x, True), spec(8, 8))
    assert len(stored) == 2  # the carry, and the counter
    assert all("dynamic-update-slice_fusion reads this part, and need not run before" in each for each in stored)
    assert late(lambda x: f(x, False), spec(8, 8)) == []


def rows_of(page, words):
    [cpu] = page.data["targets"]
    return [cpu["hlo"]["lines"][int(row)] for row, note in cpu["hlo"]["notes"].items() if words in note]


def test_what_vmap_adds_to_a_loop_says_so():
    def f(x, end):
        return lax.while_loop(lambda c: c < end, lambda c: jnp.where(c > 0.5, c + 0.2, c + 0.1), x)

    many = jitkit.explore(jitkit.vmap(f, in_axes=(0, None)), spec(8), spec(), targets="cpu")
    [selects, reduces] = (
        rows_of(many, f"added since vmap has many rows in one loop: {it}") for it in ("a row", "it goes")
    )
    assert len(selects) == len(reduces) == 1
    assert " select(" in selects[0]
    assert " reduce(" in reduces[0]
    assert rows_of(jitkit.explore(f, spec(), spec(), targets="cpu"), "vmap") == []


def test_what_a_scan_keeps_for_the_reverse_pass_only():
    def loss(w, xs):
        def turn(c, x):
            c = jnp.tanh(c @ w + x)
            return c, c.sum()

        return (lax.scan(turn, jnp.zeros((4, 8)), xs)[1] ** 2).sum()

    data = jitkit.explore(jitkit.value_and_grad(loss), spec(8, 8), spec(5, 4, 8), targets="cpu").data
    kept = [each for each in data["kept"] if each["type"] == "f32[5,4,8]"]
    assert len(kept) == len(data["kept"]) == 3  # the f32[5] that `loss` itself reads is not a residual
    assert {data["equations"][each["equation"]]["primitive"] for each in kept} == {"scan"}
    of = [each["of"] for each in kept]
    assert sorted("" if n is None else data["equations"][n]["primitive"] for n in of) == ["", "sub", "tanh"]
    assert [each["bytes"] for each in kept] == [640] * 3
    assert jitkit.explore(loss, spec(8, 8), spec(5, 4, 8), targets="cpu").data["kept"] == []


SHARED = """\
HloModule jit_f

%fused (x: f32[8], y: f32[]) -> f32[8] {
  %x = f32[8] parameter(0)
  %y = f32[] parameter(1)
  %rows = f32[8] broadcast(%y), dimensions={}, metadata={op_name="jit(f)/eqn~0/lt"}
  ROOT %sub = f32[8] subtract(%x, %rows), metadata={op_name="jit(f)/eqn~1/sub"}
}

ENTRY %main (x: f32[8], y: f32[]) -> f32[8] {
  %x = f32[8] parameter(0)
  %y = f32[] parameter(1)
  ROOT %fusion = f32[8] fusion(%x, %y), kind=kLoop, calls=%fused, metadata={op_name="jit(f)/eqn~1/sub"}
}
"""


def test_a_kernel_that_only_broadcasts_for_an_equation_does_not_count_at_its_line():
    subject = subject_of(lambda x, y: (x < y, x - y), (spec(8), spec()), {})
    assert [each.equations for each in hlo.read(SHARED, subject.equations).kernels] == [[1]]
    compares = SHARED.replace(" broadcast(%y), dimensions={}", " maximum(%x, %x)")
    assert [sorted(each.equations) for each in hlo.read(compares, subject.equations).kernels] == [[0, 1]]


def test_loops_with_one_condition_may_be_read_even_if_nobody_reads_one_of_them():
    def more(carry):
        return carry[0] < 2

    def turn(c, _):
        lax.while_loop(more, lambda carry: (carry[0] + 1, carry[1] * 3.0), (0, c))
        return lax.while_loop(more, lambda carry: (carry[0] + 1, jnp.sin(carry[1])), (0, c))[1], None

    trial = knockout.Trial(lambda x: lax.scan(turn, x, None, length=3)[0], (spec(3),))
    assert {each.primitive: len(each.operands) for each in trial.equations}["mul"] == 2
    assert [at for at in trial.links() if trial.link(at) == "wrong"] == []
