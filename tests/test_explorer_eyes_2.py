"""Questions of readers that the Explorer's pages did not answer, or answered wrongly: copies, iterations of loops, conversions, transposes
in branches.
"""

from __future__ import annotations

import re

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest
from test_explorer_eyes import by_jax, fates_of, seen, spec
from twin import JAX_VERSION

import jitkit
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.explorer import fates, hlo, ours, stablehlo
from jitkit.explorer.dimensions import axes
from jitkit.explorer.equations import descendants
from jitkit.targets import process, table
from jitkit.targets.hlo import Program


def copies(cpu):
    """Return for each copy in the program its line, and its note."""
    listing = cpu["hlo"]
    return [
        (line.strip(), listing["notes"].get(str(row), listing["notes"].get(row, "")))
        for row, line in enumerate(listing["lines"])
        if re.search(r" copy\(", line)
    ]


def notes(function, *args):
    return [note for _, note in copies(seen(function, *args)[1])]


# --- why a copy is there --------------------------------------------------------------------------------------------


def test_a_copy_of_a_donated_argument_says_so_and_is_there_for_no_other_reason():
    def step(w, x):
        y = x @ w
        return w - 0.1 * (x.T @ y), (y @ w.T).sum()

    args = spec(8, 8), spec(4, 8)
    donated = notes(jitkit.jit(step, donate_argnums=0), *args)
    assert len(donated) == 1
    assert "the argument is donated: result 0 is written into its memory" in donated[0]
    assert not notes(jitkit.jit(step), *args)


def test_the_carry_of_a_loop_is_copied_where_its_parts_change_places():
    def f(x, y):
        return lax.fori_loop(0, 9, lambda i, c: (c[1], jnp.sin(c[0])), (x, y))

    found = notes(f, spec(8), spec(8))
    assert any("hands part" in each for each in found)
    straight = notes(lambda x, y: lax.fori_loop(0, 9, lambda i, c: (jnp.sin(c[0]), c[1]), (x, y)), spec(8), spec(8))
    assert not any("hands part" in each for each in straight)


@pytest.mark.parametrize(("donate", "words"), [((), "the argument is not donated"), ((0,), None)])
def test_a_loop_copies_an_argument_only_if_it_is_not_donated(donate, words):
    def f(x):
        return lax.fori_loop(0, 9, lambda i, c: jnp.sin(c) * 2, x)

    found = [each for each in notes(jitkit.jit(f, donate_argnums=donate), spec(64)) if "argument" in each]
    assert [words in each for each in found] == [True] if words else not found


def test_a_constant_at_the_start_of_a_loop_is_copied_since_it_has_to_stay():
    assert any("a constant has to stay as it is" in each for each in notes(
        lambda x: lax.fori_loop(0, 9, lambda i, c: jnp.sin(c) + i, x), spec(8)
    ))  # fmt: skip


def test_a_result_that_is_an_argument_has_memory_of_its_own():
    assert any("a result of the function is this argument" in each for each in notes(lambda x: (x, x + 1), spec(8)))


def test_a_copy_into_another_layout_or_memory_says_which():
    text = """\
HloModule jit_f

ENTRY %main (x: f32[8,6]) -> f32[8,6] {
  %x = f32[8,6]{1,0:T(8,128)} parameter(0)
  %a = f32[8,6]{0,1:T(8,128)} copy(%x)
  %b = f32[8,6]{0,1:T(8,128)S(1)} copy(%a)
  ROOT %c = f32[8,6]{0,1:T(8,128)S(1)} negate(%b)
}
"""
    listing = hlo.read(text).listing
    said = [listing.notes.get(row, "") for row, line in enumerate(listing.lines) if " copy(" in line]
    assert "in another layout: the axes in memory are {0,1} after {1,0}" in said[0]
    assert "into another memory: S(1) from S(0)" in said[1]


# --- how often a loop turns -----------------------------------------------------------------------------------------

LOOP = """\
HloModule jit_f

%condition (c: (s32[], f32[8])) -> pred[] {
  %c = (s32[], f32[8]) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %n = s32[] constant(BOUND)
  ROOT %less = pred[] compare(%i, %n), direction=DIRECTION
}

%body (c: (s32[], f32[8])) -> (s32[], f32[8]) {
  %c = (s32[], f32[8]) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %x = f32[8] get-tuple-element(%c), index=1
  %by = s32[] constant(STEP)
  %next = s32[] add(%i, %by)
  %y = f32[8] add(%x, %x)
  ROOT %out = (s32[], f32[8]) tuple(%next, %y)
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8] parameter(0)
  %zero = s32[] constant(START)
  %first = s32[] copy(%zero)
  %given = (s32[], f32[8]) tuple(%first, %x)
  %loop = (s32[], f32[8]) while(%given), condition=%condition, body=%body
  ROOT %y = f32[8] get-tuple-element(%loop), index=1
}
"""


def turned(start, bound, step, direction):
    text = LOOP.replace("START", str(start)).replace("BOUND", str(bound)).replace("STEP", str(step))
    return hlo.read(text.replace("DIRECTION", direction))


@pytest.mark.parametrize(
    ("start", "bound", "step", "direction", "turns"),
    [(0, 16, 1, "LT", 16), (3, 16, 4, "LT", 4), (0, 16, 4, "LE", 5), (9, 0, -1, "GT", 9), (9, 0, -2, "GE", 5)],
)
def test_the_turns_of_a_loop_are_read_from_its_counter(start, bound, step, direction, turns):
    assert len(range(start, bound + {"LE": 1, "GE": -1}.get(direction, 0), step)) == turns
    read = turned(start, bound, step, direction)
    assert sum((read.run_flops or {}).values()) == turns * (8 + 1 + 1)  # the addition, the counter, and the comparison
    assert any(f"runs {turns} times" in note for note in read.listing.notes.values())


@pytest.mark.parametrize("broken", ["direction=NE", "direction=GT"])
def test_a_loop_whose_counter_tells_nothing_has_no_number_of_turns(broken):
    text = LOOP.replace("START", "0").replace("BOUND", "16").replace("STEP", "1").replace("direction=DIRECTION", broken)
    assert hlo.read(text).run_flops is None
    argument = LOOP.replace("%zero = s32[] constant(START)", "%zero = s32[] parameter(1)")
    argument = argument.replace("BOUND", "16").replace("STEP", "1").replace("DIRECTION", "LT")
    assert hlo.read(argument).run_flops is None


# --- one function called several times ------------------------------------------------------------------------------


def test_two_calls_of_one_function_are_not_one_equation_computed_again():
    @jitkit.jit
    def wave(x):
        return jnp.sin(x)

    _, cpu, _ = seen(lambda x, y: (wave(x).sum(), wave(y).sum()), spec(64), spec(64))
    assert cpu["again"] == {}


# --- what became of it ----------------------------------------------------------------------------------------------


def test_a_transpose_in_a_branch_of_a_loop_is_in_the_dimension_numbers_of_the_product():
    def f(u, m, us):
        def turn(u, x):
            return lax.cond(x.sum() > 0, lambda u, m: (m @ u) @ m.T, lambda u, m: u, u, m), None

        return lax.scan(turn, u, us)[0]

    data, cpu, _ = seen(f, spec(8, 8), spec(8, 8), spec(5, 3))
    [fate] = fates_of(data, cpu, "transpose")
    assert fate["sure"]
    assert re.match(r"merged into the dimension numbers of \S+", fate["why"])


def test_a_transpose_of_which_the_axes_do_not_tell_is_not_said_to_be_in_the_product():
    dot = "  ROOT %d = f32[8,8] dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    text = f"HloModule m\n\nENTRY %main (a: f32[8,8]) -> f32[8,8] {{\n  %a = f32[8,8] parameter(0)\n{dot}\n}}\n"
    assert axes(Program(text).computations["main"][1]) == ((1,), (0,))
    convolution = "  ROOT %d = f32[8,8] convolution(%a, %b), dim_labels=bf_oi->bf"
    assert axes(Program(text.replace(dot, convolution)).computations["main"][1]) == ((1,), (1,))


def test_a_conversion_of_a_value_that_is_computed_in_its_type_was_not_merged_into_dimension_numbers():
    def f(x, w):
        return jnp.maximum(x, 0).astype(jnp.float32) @ w

    data, cpu, _ = seen(f, spec(8, 8, dtype="bfloat16"), spec(8, 8))
    fates = [each for each in fates_of(data, cpu, "convert_element_type") if each]
    if JAX_VERSION < (0, 12):  # the XLA of later versions leaves the conversion where it is
        assert [each for each in fates if each["rule"] == "merged"]
    assert not any("dimension numbers" in each["why"] for each in fates)


def test_a_product_with_another_number_or_of_another_part_is_not_under_another_name():
    def loss(h, noise):
        mean, spread = jnp.split(h, 2, axis=-1)
        z = mean + jnp.exp(0.5 * spread) * noise
        return jnp.sum(jnp.tanh(z)) - 0.5 * jnp.sum(1 + spread - mean**2 - jnp.exp(spread))

    data, cpu, _ = seen(jitkit.grad(loss), spec(4, 16), spec(4, 8))
    halves = [row for row, line in enumerate(cpu["hlo"]["lines"]) if "exponential(mul" in line]
    assert halves
    of_the_square = next(n for n, each in enumerate(data["equations"]) if each["primitive"] == "integer_pow")
    doubled = [
        n for n, each in enumerate(data["equations"])
        if each["primitive"] == "mul" and each["line"] == data["equations"][of_the_square]["line"] and each["way"] == "forward"
    ]  # fmt: skip
    told = [cpu["fates"].get(str(n)) for n in doubled]
    assert not any(each and each["fate"] == "renamed" and each["sure"] for each in told)


def test_a_remainder_is_computed_once_for_a_quotient_and_a_remainder():
    data, cpu, rows = seen(lambda i: (i // 7, i % 7), spec(64, dtype="int32"))
    assert sum(" remainder(" in line for line, _ in rows) == 1
    told = [each for each in fates_of(data, cpu, "rem") if each]
    assert [(each["rule"], each["sure"]) for each in told] == [("duplicate", True)]
    unknown = [each for each in cpu["fates"].values() if each["fate"] == "unknown"]
    assert not unknown


@pytest.mark.parametrize(
    ("operation", "number", "words"),
    [
        (jnp.not_equal, False, "x != False is x"),
        (jnp.equal, True, "x == True is x"),
        (jnp.logical_and, True, "x & True is x"),
    ],
)
def test_a_comparison_of_a_truth_value_with_a_constant_changes_nothing(operation, number, words):
    _, cpu, _ = seen(lambda x: operation(x > 0, np.bool_(number)), spec(64))
    whys = [each["why"] for each in cpu["fates"].values()]
    assert words in whys


@pytest.mark.parametrize(
    ("routine", "is_there", "words"),
    [
        ("cusolver_getrf_ffi", False, "install jax-cuda12-plugin (`pip install jax-cuda12-plugin`)"),
        ("cusolver_getrf_ffi", True, "registers it only in processes of its own"),
        ("mine_ffi", False, "registers it only in processes of its own"),
    ],
)
def test_a_routine_of_jaxs_that_the_compiler_lacks_has_a_package_to_install(monkeypatch, routine, is_there, words):
    monkeypatch.setattr(table, "has_operations", lambda: is_there)
    monkeypatch.setattr(table, "operations", lambda: "jax_cuda12_plugin")
    error = f"No FFI handler registered for {routine} on platform CUDA"
    said = process._refusal_text("f", table.find("gpu:h100"), error)
    assert said.startswith(f"'f' calls {routine}, which is no part of the compiler for gpu:h100")
    assert words in said


def test_a_loop_whose_carry_divides_rows_has_a_page():
    def fit(length, x):
        def turn(length, _):
            return length - jitkit.grad(lambda length: jnp.sum(jnp.exp(-((x / length) ** 2))))(length), None

        return lax.scan(turn, length, None, length=3)[0]

    _, cpu, _ = seen(fit, spec(3), spec(6, 3))
    assert cpu["fates"]


def test_a_bound_that_is_one_number_in_all_calls_is_in_the_clamp():
    @jitkit.jit
    def within(x, low, high):
        return jnp.minimum(jnp.maximum(x, low), high)

    data, cpu, _ = seen(lambda x, y: within(jnp.sin(x), -1.0, 0.5) * within(jnp.cos(y), -1.0, 0.5), spec(64), spec(64))
    assert [each["rule"] for each in fates_of(data, cpu, "max") if each] == ["clamp"]
    assert not any(each["fate"] == "unknown" for each in cpu["fates"].values())


def test_an_iota_is_never_negative():
    data, cpu, _ = seen(lambda x: x + (jnp.arange(64) < 0) + (jnp.arange(64) >= 0), spec(64))
    told = [each["why"] for name in ("lt", "ge") for each in fates_of(data, cpu, name)]
    assert told == ["constant folded: an iota is never negative, and was computed by the compiler"] * 2


def test_a_sum_is_not_guessed_to_be_a_maximum():
    def loss(logits, label):
        return -jnp.mean(jnp.sum(jitkit.nn.log_softmax(logits) * jitkit.nn.one_hot(label, 5), -1))

    _, cpu, _ = seen(jitkit.value_and_grad(loss), spec(4, 5), spec(4, dtype="int32"))
    whys = [each["why"] for each in cpu["fates"].values()]
    assert whys
    assert not any("it may be reduce_max" in each for each in whys)


@pytest.mark.parametrize("lib", [jitkit, jax])
def test_a_function_of_the_library_that_is_called_twice_has_its_kernels_at_both_lines(lib):
    numpy = jnp if lib is jitkit else jax_numpy

    def f(x, y):
        a = numpy.cumsum(x)
        b = numpy.cumsum(y * 3)
        return a + b

    @lib.jit
    def scaled(x):
        return numpy.cumsum(x) * 2

    look = seen if lib is jitkit else by_jax
    for function in (f, lambda x, y: scaled(x) + numpy.sin(scaled(y))):
        _, cpu, _ = look(function, spec(150), spec(150))
        windows = [
            set(numbers)
            for line, numbers in zip(cpu["hlo"]["lines"], cpu["hlo"]["equations"], strict=True)
            if " reduce-window(" in line
        ]
        assert len(windows) == 4
        assert all(len(each) == 1 for each in windows)
        assert sorted(map(windows.count, windows)) == [2, 2, 2, 2]
        assert not any(each["fate"] == "unknown" for each in cpu["fates"].values())


def test_a_broadcast_behind_a_comparison_belongs_to_what_is_compared_too():
    def f(n, x):
        rows = jnp.broadcast_to(jnp.arange(3) + n, (3, 3))
        return rows.astype(jnp.float32) == x

    data, cpu, _ = seen(f, spec(dtype="int32"), spec())
    listing = cpu["hlo"]
    [last] = [row for row, line in enumerate(listing["lines"]) if line.strip().startswith("ROOT broadcast")]
    assert {data["equations"][n]["primitive"] for n in listing["equations"][last]} == {"broadcast_in_dim", "eq"}


ATTENTION = """\
HloModule jit_f

ENTRY %main (x: f32[8,8], v: f32[8,4]) -> f32[8,4] {
  %x = f32[8,8]{1,0} parameter(0)
  %v = f32[8,4]{1,0} parameter(1)
  %online-softmax = f32[8,4]{1,0} custom-call(%x, %v), custom_call_target="tpu_custom_call"
  ROOT %copy = f32[8,4]{0,1} copy(%online-softmax), metadata={op_name="online-softmax"}
}
"""

GRADIENT = """\
HloModule jit_f

ENTRY %main (x: f32[8,8], v: f32[8,4]) -> (f32[8,4], f32[8,8]) {
  %x = f32[8,8]{1,0} parameter(0)
  %v = f32[8,4]{1,0} parameter(1)
  %online-softmax = f32[8,4]{1,0} custom-call(%x, %v), custom_call_target="tpu_custom_call"
  %twice = f32[8,4]{1,0} sine(%online-softmax), metadata={op_name="jit(f)/eqn~LAST/sin"}
  %again = f32[8,8]{1,0} exponential(%x), metadata={op_name="jit(f)/eqn~EXP/exp"}
  ROOT %out = (f32[8,4], f32[8,8]) tuple(%twice, %again)
}
"""


def linked_in(text, function, *args):
    """Return the primitives that a kernel without a name is linked to, if the compiler answers with the program `text`."""
    subject = ours.subject(function, args)
    numbers = {each.primitive: n for n, each in enumerate(subject.equations)}
    text = text.replace("LAST", str(numbers.get("sin", 0))).replace("EXP", str(numbers["exp"]))
    read = hlo.read(text, subject.equations)
    wrote = stablehlo.written(stablehlo.listing(subject.shown("cpu")))
    fates.fates(subject.equations, wrote, read, descendants(subject.equations))
    data = read.listing.as_data()
    [row] = [i for i, line in enumerate(data["lines"]) if "custom-call(" in line]
    return {subject.equations[n].primitive for n in data["equations"][row]}, data["notes"][str(row)]


def test_a_kernel_of_the_compilers_own_is_found_where_it_makes_the_result_and_where_parts_are_computed_again():
    def soft(x, v):
        e = jnp.exp(x)
        return (e / e.sum(1, keepdims=True)) @ v, e

    found, note = linked_in(ATTENTION, lambda x, v: soft(x, v)[0], spec(8, 8), spec(8, 4))
    assert found >= {"exp", "reduce_sum", "div", "dot_general"}
    assert "made of what lies between" in note
    found, note = linked_in(GRADIENT, lambda x, v: (jnp.sin(soft(x, v)[0]), soft(x, v)[1]), spec(8, 8), spec(8, 4))
    assert found >= {"exp", "reduce_sum", "div", "dot_general"}
    assert "sin" not in found


def test_the_margin_names_the_rules_that_are_found_last():
    _, cpu, rows = seen(lambda x: (x + 1.0) @ (x * 2.0 + 1.0).T, spec(8, 8, dtype="bfloat16"))
    noted = {note.rpartition(" · ")[2] for note in cpu["hlo"]["notes"].values()}
    assert "converted for its only reader" in noted
    assert not [row for row in cpu["hlo"]["guesses"] if rows[int(row)][1]]
