"""Why two kernels are not one: the Explorer's reasons, each beside the same program without what the reason names, which is one kernel."""

from __future__ import annotations

import jax
import pytest

import jitkit
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.explorer import apart, hlo


def spec(*shape, dtype="float32"):
    return jitkit.ShapeDtypeStruct(shape, dtype)


def pairs(function, *args):
    """Return the kernels that read one another on this CPU: opcode of the first, of the second, rule, and sentence."""
    [cpu] = jitkit.explore(function, *args, targets=["cpu"]).data["targets"]

    def opcode(row):
        return cpu["hlo"]["lines"][row].partition("(")[0].split()[-1]

    return [(opcode(each["first"]), opcode(each["second"]), each["rule"], each["why"]) for each in cpu["apart"]]


def read_twice(x):
    t = jnp.tanh(x)
    return t * 2, jnp.flip(t, 0) + 1


X, ROW = spec(64, 64), spec(64)
WHOLE = spec(64, 64, dtype="int32")

# rule -> a program of several kernels, and the same program without what the rule names: then it is one kernel
PROGRAMS = {
    "several readers": (read_twice, lambda x: jnp.flip(jnp.tanh(x), 0) + 1, [X]),
    "spread": (lambda x, v: jnp.exp(v) * x, lambda x, v: jnp.exp(x) * v, [X, ROW]),
    "whole": (lambda x: jnp.sort(x * 2) + 1, lambda x: jnp.flip(x * 2) + 1, [ROW]),
    "product": (lambda x, y: (x * 2) @ y * 3, lambda x, y: (x * 2) * y * 3, [WHOLE, WHOLE]),
    "loop": (
        lambda x, n: lax.fori_loop(0, n, lambda i, c: c * 2, x * 3) + 1,
        lambda x, n: lax.fori_loop(0, 1, lambda i, c: c * 2, x * 3) + 1,
        [ROW, spec(dtype="int32")],
    ),
    "branch": (
        lambda x, p: lax.cond(p, lambda x: jnp.sort(x), lambda x: -jnp.sort(-x), x * 3) + 1,
        lambda x, p: jnp.where(p, x, -x) + 1,
        [ROW, spec(dtype="bool")],
    ),
    "routine": (lambda x: jnp.linalg.cholesky(x * 3) + 1, lambda x: jnp.tril(x * 3) + 1, [X]),
}


@pytest.mark.parametrize("rule", PROGRAMS)
def test_two_kernels_are_not_one_for_the_reason_that_is_told_and_are_one_without_it(rule):
    function, without, args = PROGRAMS[rule]
    assert rule in {told for _, _, told, _ in pairs(function, *args)}
    assert pairs(without, *args) == []


def returned_too(x):
    t = jnp.tanh(x)
    return t, jnp.flip(t, 0) + 1


# other causes of the same rules, and words of their sentences
MORE = {
    "a result": ("several readers", "is a result, too", returned_too, lambda x: jnp.flip(jnp.tanh(x), 0) + 1, [X]),
    "before a product": (
        "product", "is a product, into which", lambda v, x: (v * 2) @ x, lambda v, x: (v * 2)[:, None] * x, [spec(1, 8), spec(8, 8)],
    ),
    "before a scatter": (
        "whole", "is a scatter, into which",
        lambda x, i: x.at[i * 2 + 1].add(jnp.sin(x[:4])), lambda x, i: x[i * 2 + 1] + jnp.sin(x[:4]),
        [ROW, spec(4, dtype="int32")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("cause", MORE)
def test_other_causes_of_a_rule_are_told_and_without_them_there_is_one_kernel(cause):
    rule, words, function, without, args = MORE[cause]
    assert [why for _, _, told, why in pairs(function, *args) if told == rule and words in why]
    assert not [why for _, _, told, why in pairs(without, *args) if told == rule and words in why]


LIBRARY = """HloModule f

%sums (p: f32[8,8]) -> f32[8] {
  %p = f32[8,8]{1,0} parameter(0)
  %zero = f32[] constant(0)
  ROOT %sum = f32[8]{0} reduce(%p, %zero), dimensions={1}, to_apply=%add
}

%spread (p.1: f32[8,8], p.2: f32[8]) -> f32[8,8] {
  %p.1 = f32[8,8]{1,0} parameter(0)
  %p.2 = f32[8]{0} parameter(1)
  %b = f32[8,8]{1,0} broadcast(%p.2), dimensions={0}
  ROOT %d = f32[8,8]{1,0} divide(%p.1, %b)
}

ENTRY %main (x: f32[8,8]) -> f32[8,8] {
  %x = f32[8,8]{1,0} parameter(0)
  %total = f32[8]{0} fusion(%x), kind=kCustom, calls=%sums, backend_config={"fusion_config":{"kind":"__ynn_fusion"}}
  ROOT %share = f32[8,8]{1,0} fusion(%x, %total), kind=kLoop, calls=%spread
}
"""


@pytest.mark.parametrize(
    ("old", "new", "platform", "rule"),
    [
        ("", "", "cpu", "library"),
        ('"__ynn_fusion"', '"other"', "cpu", "spread"),  # the sum would be computed for each of eight columns
        ('"__ynn_fusion"', '"other"', "gpu", "spread"),
        ('"__ynn_fusion"', '"other"', "tpu", ""),  # we do not know how a TPU's kernel broadcasts a value
        ("broadcast(%p.2), dimensions={0}", "broadcast(%p.1), dimensions={0,1}", "cpu", "library"),
        ("kind=kLoop", "kind=kCustom", "gpu", "library"),
        ('"__ynn_fusion"', '"__triton"', "cpu", "spread"),
    ],
)
def test_a_kernel_of_a_library_is_told_from_one_of_xla_s(old, new, platform, rule):
    [found] = apart.apart(hlo.read(LIBRARY.replace(old, new) if old else LIBRARY), platform)
    assert found["rule"] == rule
    assert found["sure"] == bool(rule)
    assert (found["why"] == "total is run by YNNPACK, a library, and share is not") == (rule == "library")


SCALAR = """HloModule f

%scaled (p: f32[16], m: f32[]) -> f32[16] {
  %p = f32[16]{0} parameter(0)
  %m = f32[] parameter(1)
  %b = f32[16]{0} broadcast(%m), dimensions={}
  ROOT %d = f32[16]{0} subtract(%p, %b)
}

ENTRY %main (x: f32[16], n: f32[]) -> f32[16] {
  %x = f32[16]{0} parameter(0)
  %n = f32[] parameter(1)
  %mean = f32[]{:T(128)S(6)} multiply(%n, %n)
  ROOT %share = f32[16]{0} fusion(%x, %mean), kind=kLoop, calls=%scaled
}
"""


@pytest.mark.parametrize(("memory", "sure"), [("S(6)", True), ("", False)])
def test_a_single_number_is_computed_in_the_scalar_unit_of_a_tpu(memory, sure):
    [found] = apart.apart(hlo.read(SCALAR.replace("S(6)", memory)), "tpu")
    assert (found["rule"], found["sure"], "may be" in found["why"]) == ("scalar", sure, not sure)
    [found] = apart.apart(hlo.read(SCALAR), "gpu")
    assert found["rule"] == ""


def test_a_kernel_of_triton_is_told_from_one_of_xla_s_own_generator():
    text = (
        LIBRARY.replace('"__ynn_fusion"', '"__triton"')
        .replace("divide(", "add(")
        .replace("reduce(%p, %zero)", "slice(%p)")
    )
    [found] = apart.apart(hlo.read(text), "gpu")
    assert (found["rule"], found["sure"]) == ("generator", False)
    assert found["why"] == "it may be since total is compiled by Triton, and share is not"


def test_the_figures_in_a_reason_are_those_of_the_program():
    [(_, _, rule, why)] = pairs(lambda x, v: jnp.exp(v) * x, spec(50, 64), ROW)
    assert (rule, "50 times" in why) == ("spread", True)
    found = pairs(lambda x, y: (x * 2) @ y, spec(8, 16, dtype="int32"), spec(16, 32, dtype="int32"))
    [why] = [why for _, second, rule, why in found if second == "dot" and rule == "product"]
    assert "32 times" in why


def test_where_the_program_does_not_show_why_it_is_xla_s_own_choice():
    [cpu] = jitkit.explore(lambda x: jnp.cumsum(x * 2) + 1, spec(64, dtype="int32"), targets=["cpu"]).data["targets"]
    own = [each for each in cpu["apart"] if not each["rule"]]
    assert own
    assert {(each["why"], each["sure"]) for each in own} == {("XLA's own choice: the program does not show why", False)}


def test_a_scatter_changes_its_array_where_it_is_and_has_no_result_before_its_end():
    found = pairs(lambda x, i: jnp.sin(x).at[i].add(1.0) * 2, ROW, spec(10, dtype="int32"))
    of_it = [why for _, _, rule, why in found if rule == "whole"]
    said = [why for why in of_it if "puts no other operation" not in why]  # without the scatter's indices and updates
    assert (len(said), len(of_it)) == (2, 4)
    assert "where it is" in said[0] or "where it is" in said[1]


def test_what_reads_the_same_and_not_one_another_is_no_pair():
    assert pairs(lambda x: (jnp.sin(x) + 1, jnp.cos(x) * 2), X) == []


def test_jax_s_programs_have_reasons_too():
    function = jax.jit(lambda x: jax.numpy.sort(x * 2) + 1)
    assert {rule for _, _, rule, _ in pairs(function, jax.ShapeDtypeStruct((64,), "float32"))} == {"whole"}


CHEAP_BEFORE = """HloModule f

%dear (v: f32[16]) -> f32[16] {
  %v = f32[16] parameter(0)
  ROOT %e = f32[16] exponential(%v)
}

%spread (x: f32[8,16], m: f32[16]) -> f32[8,16] {
  %x = f32[8,16] parameter(0)
  %m = f32[16] parameter(1)
  %half = f32[] constant(0.5)
  %halves = f32[16] broadcast(%half), dimensions={}
  %scaled = f32[16] multiply(%m, %halves)
  %rows = f32[8,16] broadcast(%scaled), dimensions={1}
  ROOT %left = f32[8,16] subtract(%x, %rows)
}

ENTRY %main (x: f32[8,16], v: f32[16]) -> f32[8,16] {
  %x = f32[8,16] parameter(0)
  %v = f32[16] parameter(1)
  %first = f32[16] fusion(%v), kind=kLoop, calls=%dear
  ROOT %second = f32[8,16] fusion(%x, %first), kind=kLoop, calls=%spread
}
"""


def test_what_is_spread_after_a_cheap_operation_has_its_reason_too():
    [pair] = apart.apart(hlo.read(CHEAP_BEFORE), "cpu")
    words = "second reads each element of first 8 times: in one kernel its exponential would be computed as often"
    assert (pair["rule"], pair["sure"], pair["why"]) == ("spread", True, words)


SPLIT = """HloModule f

%sums (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%product (x: f32[8,16], y: f32[16,4]) -> f32[8,4] {
  %x = f32[8,16] parameter(0)
  %y = f32[16,4] parameter(1)
  %e = f32[8,16] exponential(%x), metadata={op_name="jit(f)/eqn~0/exp"}
  ROOT %d = f32[8,4] dot(%e, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/eqn~1/dot_general"}
}

%parts (p: f32[2,16,4]) -> f32[16,4] {
  %p = f32[2,16,4] parameter(0)
  %zero = f32[] constant(0)
  ROOT %added = f32[16,4] reduce(%p, %zero), dimensions={0}, to_apply=%sums, metadata={op_name="jit(f)/eqn~2/dot_general"}
}

%cut (u: f32[2,16,32], w: f32[2,32,4]) -> f32[2,16,4] {
  %u = f32[2,16,32] parameter(0)
  %w = f32[2,32,4] parameter(1)
  ROOT %c = f32[2,16,4] dot(%u, %w), DIMENSIONS, metadata={op_name="jit(f)/eqn~2/dot_general"}
}

ENTRY %main (x: f32[8,16], u: f32[2,16,32], w: f32[2,32,4]) -> f32[8,4] {
  %x = f32[8,16] parameter(0)
  %u = f32[2,16,32] parameter(1)
  %w = f32[2,32,4] parameter(2)
  %gemm_fusion_cut = f32[2,16,4] fusion(%u, %w), kind=kCustom, calls=%cut
  %loop_reduce_fusion = f32[16,4] fusion(%gemm_fusion_cut), kind=kLoop, calls=%parts
  ROOT %gemm_fusion_dot = f32[8,4] fusion(%x, %loop_reduce_fusion), kind=kCustom, calls=%product
}
""".replace("DIMENSIONS", "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}")


@pytest.mark.parametrize("platform", ["gpu", "tpu"])
def test_products_in_fusions_have_their_reasons_and_what_is_not_certain_says_so(platform):
    found = [(each["rule"], each["sure"], each["why"]) for each in apart.apart(hlo.read(SPLIT), platform)]
    assert found == [
        ("parts", True, "loop_reduce_fusion adds the parts of the product gemm_fusion_cut, which XLA has cut"),
        (
            "product",
            False,
            "it may be since the product gemm_fusion_dot reads each element of loop_reduce_fusion 8 times",
        ),
    ]
