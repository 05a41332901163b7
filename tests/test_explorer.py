"""The Explorer's data: links of programs whose equations we know, and pages for bad input."""

from __future__ import annotations

import ast
import base64
import errno
import functools
import importlib
import json
import os
import pathlib
import re
import runpy
import shutil
import signal
import subprocess
import sys
import threading
import time
import types
import zipfile
import zlib

import jax
import pytest
from twin import JAX_VERSION

import jitkit
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.base import whole_file
from jitkit.explorer import (
    beside,
    bundle,
    by_line,
    calls,
    compiling,
    costs,
    equations,
    hlo,
    jax_calls,
    machine,
    passes,
    rounding,
    stablehlo,
)
from jitkit.explorer.api import exploration, explore, subject_of
from jitkit.explorer.equation import Equation
from jitkit.explorer.listing import Listing, owners
from jitkit.kata import problems
from jitkit.kata.command import cli
from jitkit.kata.functions import recorded
from jitkit.targets import process

HERE = pathlib.Path(__file__).name


def spec(*shape, dtype="float32"):
    return jitkit.ShapeDtypeStruct(shape, dtype)


@pytest.fixture(autouse=True)
def a_cache_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(compiling, "folder", lambda: tmp_path / "cache" / "explorer")


def layer(x, w):
    return jnp.maximum(x @ w, 0.0)


def network(x, w):
    hidden = layer(x, w)
    jnp.sin(x)  # nothing reads it
    fixed = jnp.ones(4) * 2.0
    twice = jnp.exp(hidden) + jnp.exp(hidden)
    return twice.sum() + fixed.sum()


def summing(xs):
    def body(carry, x):
        return carry + jnp.sin(x), carry * 2.0

    return lax.scan(body, jnp.float32(0.0), xs)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """`network`, compiled for the CPU."""
    subject = subject_of(network, (spec(8, 4), spec(4, 4)), {})
    return exploration(subject, ["cpu"], keep=False).data


def primitives(data, numbers):
    return [data["equations"][n]["primitive"] for n in numbers]


def rows_with(listing, word):
    return [row for row, line in enumerate(listing["lines"]) if word in line]


# --- links ----------------------------------------------------------------------------------------------------


def test_each_line_of_python_that_was_traced_has_its_equations(seen):
    python = seen["python"]
    [row] = rows_with(python, "twice = jnp.exp")
    assert primitives(seen, python["equations"][row]) == ["exp", "exp", "add"]
    [row] = rows_with(python, "jnp.maximum(x @ w")
    assert primitives(seen, python["equations"][row]) == ["dot_general", "max"]
    lit = {number for numbers in python["equations"] for number in numbers}
    assert lit == set(range(len(seen["equations"])))


def test_each_equation_has_its_line_in_the_jaxpr_and_the_printed_text_is_jitkits(seen):
    assert seen["jaxpr"]["lines"] == str(jitkit.make_jaxpr(network)(spec(8, 4), spec(4, 4))).splitlines()
    for number, equation in enumerate(seen["equations"]):
        [first, *_] = [r for r, numbers in enumerate(seen["jaxpr"]["equations"]) if number in numbers]
        assert equation["primitive"] in seen["jaxpr"]["lines"][first]


def test_each_equation_that_writes_something_has_its_lines_of_stablehlo(seen):
    listing = seen["stablehlo"]
    [row] = rows_with(listing, "stablehlo.maximum")
    assert primitives(seen, listing["equations"][row]) == ["max"]
    assert not any("eqn~" in line or "loc(" in line for line in listing["lines"])
    written = {number for numbers in listing["equations"] for number in numbers}
    dead = {number for number, each in enumerate(seen["equations"]) if not each["live"]}
    assert written == set(range(len(seen["equations"]))) - dead
    assert primitives(seen, dead) == ["sin"]


def test_nearly_all_operations_of_the_optimised_program_are_linked(seen):
    [cpu] = seen["targets"]
    assert cpu["linked"]["operations"] > 5
    assert cpu["linked"]["exact"] >= 0.95 * cpu["linked"]["operations"]
    [row] = rows_with(cpu["hlo"], " exponential(")
    assert primitives(seen, cpu["hlo"]["equations"][row]) == ["exp"]


def test_a_fusion_stands_for_all_that_is_in_it(seen):
    [cpu] = seen["targets"]
    listing = cpu["hlo"]
    fusions = [row for row, note in listing["notes"].items() if note.startswith("fusion of")]
    assert fusions
    for row in map(int, fusions):
        depth = len(listing["lines"][row]) - len(listing["lines"][row].lstrip())
        inner = set()
        for below in range(row + 1, len(listing["lines"])):
            line = listing["lines"][below]
            if len(line) - len(line.lstrip()) <= depth:
                break
            inner.update(listing["equations"][below])
        assert inner <= set(listing["equations"][row])


def fates_of(data, target=0):
    """Return the fates of equations, by primitive and the text of their line: what became of those that XLA changed or
    removed.
    """
    found = {}
    lines = dict(zip(data["python"]["numbers"], data["python"]["lines"], strict=True))
    for number, fate in data["targets"][target]["fates"].items():
        equation = data["equations"][int(number)]
        found.setdefault((equation["primitive"], lines.get(equation["line"], "").strip()), []).append(fate)
    return found


def test_what_is_gone_says_why(seen):
    found = {primitive: told for (primitive, _), [told, *_] in fates_of(seen).items()}
    assert found["sin"] == {
        "fate": "dropped",
        "rule": "dead",
        "why": "dead code: no result depends on it",
        "sure": True,
    }
    assert (found["exp"]["fate"], found["exp"]["rule"], found["exp"]["sure"]) == ("removed", "duplicate", True)
    assert seen["equations"][found["exp"]["like"]]["primitive"] == "exp"
    assert (found["mul"]["fate"], found["mul"]["rule"], found["mul"]["sure"]) == ("removed", "constant", True)


def simplified(x, w, y, s):
    hidden = jnp.maximum(x @ w + 0.0, 0.0)
    scaled = 1.0 * hidden
    there_and_back = jnp.exp(scaled).T.T
    negated = jnp.negative(jnp.negative(there_and_back))
    turned = y.T @ there_and_back
    mean = negated / 128.0
    again = jnp.exp(scaled) + 1.0
    return turned, mean, again.sum() * s.astype("float32")


def test_what_xla_removed_dropped_or_called_otherwise_is_told_apart_and_shown_to_be_so():
    data = exploration(
        subject_of(simplified, (spec(8, 16), spec(16, 4), spec(8, 4), spec()), {}), ["cpu"], keep=False
    ).data
    found = fates_of(data)
    told = {(primitive, line.partition(" = ")[0]): fates for (primitive, line), fates in found.items()}
    lines = data["targets"][0]["hlo"]["lines"]

    [plus_zero] = told["add", "hidden"]  # its constant 0.0 is still there, under its name
    assert (plus_zero["fate"], plus_zero["rule"], plus_zero["why"]) == ("removed", "changes nothing", "x + 0.0 is x")
    [times_one] = told["mul", "scaled"]
    assert (times_one["rule"], times_one["why"]) == ("changes nothing", "x * 1.0 is x")
    there, back = told["transpose", "there_and_back"]
    assert there["rule"] == back["rule"] == "cancels"
    assert "undo each other" in back["why"]
    assert [each["rule"] for each in told["neg", "negated"]] == ["cancels", "cancels"]
    [operand] = told["transpose", "turned"]
    assert operand["rule"] == "merged"
    assert "merged into the dimension numbers of dot" in operand["why"]
    assert " dot(" in lines[operand["row"]]
    [product] = told["div", "mean"]
    assert (product["fate"], product["why"].split(",")[0]) == ("rewritten", "is now a multiply")
    assert " multiply(" in lines[product["row"]]
    [twice] = told["exp", "again"]
    assert (twice["rule"], data["equations"][twice["like"]]["primitive"]) == ("duplicate", "exp")
    assert all(each["sure"] for fates in found.values() for each in fates)
    assert ("max", "hidden") not in told
    assert ("add", "again") not in told


@pytest.mark.parametrize(
    ("function", "primitive", "rule"),
    [
        (lambda x: jnp.exp(x)[:, None].sum(1), "reduce_sum", "cancels"),  # a sum over one element each
        (lambda x: jnp.exp(x)[:, None].sum(1), "broadcast_in_dim", "cancels"),
        (lambda x: jnp.maximum(jnp.exp(x), -jnp.inf), "max", "changes nothing"),
        (lambda x: jnp.exp(x) + jnp.zeros(3), "add", "changes nothing"),
        (
            lambda x: jnp.exp(x) * lax.select(x > 0, jnp.ones(3, bool), jnp.zeros(3, bool)),
            "select_n",
            "changes nothing",
        ),
        (lambda x: lax.pad(jnp.exp(x), 0.0, [(0, 0, 0)]), "pad", "changes nothing"),
    ],
)
def test_each_identity_is_known_where_xla_used_it(function, primitive, rule):
    data = exploration(subject_of(function, (spec(3),), {}), ["cpu"], keep=False).data
    told = [fate for (own, _), fates in fates_of(data).items() for fate in fates if own == primitive]
    assert [(each["fate"], each["rule"]) for each in told] == [("removed", rule)]


def test_a_maximum_and_the_minimum_of_it_that_became_a_clamp_are_both_told():
    def bounded(x):
        return jnp.minimum(2.0, jnp.maximum(jnp.exp(x), -1.0)) + jnp.maximum(x, 5.0)

    data = exploration(subject_of(bounded, (spec(3),), {}), ["cpu"], keep=False).data
    told = {primitive: fates for (primitive, _), fates in fates_of(data).items()}
    assert [each["why"].split(",")[0] for each in told["min"]] == ["is now a clamp"]
    [inner] = told["max"]  # not the outer one, which is still there
    assert (inner["fate"], inner["rule"], inner["sure"]) == ("renamed", "clamp", True)
    assert "one clamp with the min of line" in inner["why"]
    assert " clamp(" in data["targets"][0]["hlo"]["lines"][inner["row"]]


@pytest.mark.parametrize(
    ("function", "args", "kept"),
    [
        (lambda x: x + 1.0, (spec(3),), "add"),
        (lambda x: x - 0.5, (spec(3),), "sub"),
        (lambda x: jnp.sin(x).T.T[:, ::-1] * 2.0, (spec(3, 4),), "rev"),
        (lambda x: jnp.transpose(jnp.transpose(jnp.exp(x), (1, 2, 0)), (1, 2, 0)), (spec(2, 3, 4),), "transpose"),
        (lambda x: jnp.exp(x)[:, None] + jnp.exp(x + 1.0)[None, :], (spec(3),), "exp"),
    ],
)
def test_what_is_needed_is_not_said_to_change_nothing(function, args, kept):
    data = exploration(subject_of(function, args, {}), ["cpu"], keep=False).data
    rules = {
        data["equations"][int(number)]["primitive"]: fate["rule"]
        for number, fate in data["targets"][0]["fates"].items()
    }
    assert kept in [each["primitive"] for each in data["equations"]]
    assert rules.get(kept) not in (
        "changes nothing",
        "cancels" if kept != "transpose" else "changes nothing",
        "duplicate",
        "constant",
    )


ROUNDED = """HloModule jit_f, entry_computation_layout={(f32[4,4])->f32[4,4]}

ENTRY %main (x: f32[4,4]) -> f32[4,4] {
  %x = f32[4,4]{1,0} parameter(0)
  %convolution = bf16[4,4]{1,0} convolution(%x, %x), dim_labels=bf_io->bf, metadata={op_name="jit(f)/eqn~0/dot_general"}
  ROOT %sin = f32[4,4]{1,0} sine(%convolution), metadata={op_name="jit(f)/eqn~1/sin"}
}
"""


def test_a_result_in_a_smaller_type_than_was_written_is_told():
    subject = subject_of(lambda x: jnp.sin(x @ x), (spec(4, 4),), {})
    assert rounding.rounded(subject.equations, hlo.read(ROUNDED)) == {"0": "bf16"}
    assert rounding.rounded(subject.equations, hlo.read(ROUNDED.replace("bf16", "f32"))) == {}


def test_a_loop_s_equations_are_linked_through_its_regions():
    subject = subject_of(summing, (spec(5),), {})
    data = exploration(subject, ["cpu"], keep=False).data
    scan = next(n for n, each in enumerate(data["equations"]) if each["primitive"] == "scan")
    sine = next(n for n, each in enumerate(data["equations"]) if each["primitive"] == "sin")
    assert data["equations"][sine]["parent"] == scan
    [row] = rows_with(data["stablehlo"], "stablehlo.sine")
    assert data["stablehlo"]["equations"][row] == [sine]
    heads = rows_with(data["stablehlo"], "stablehlo.while")
    assert any(scan in data["stablehlo"]["equations"][head] for head in heads)
    linked = data["targets"][0]["linked"]
    assert linked["exact"] + linked["guessed"] >= 0.95 * linked["operations"]


def test_a_function_that_is_called_twice_is_one_jaxpr_with_one_set_of_numbers():
    inner = jitkit.jit(lambda x: jnp.sin(x) + 1.0)
    subject = subject_of(lambda x: inner(x) * inner(x), (spec(3),), {})
    assert [each.primitive for each in subject.equations] == ["jit", "sin", "add", "jit", "mul"]


def test_numbers_survive_what_xla_writes():
    assert equations.numbers_in("jit(f)/eqn~12/while/body/eqn~14/mul") == [14]
    assert equations.numbers_in("jit(f)/eqn~1/add;jit(f)/eqn~2/mul") == [1, 2]
    assert equations.numbers_in("jit(f)/while/cond") == []
    assert equations.without_marks('op_name="jit(f)/eqn~3/mul"') == 'op_name="jit(f)/mul"'


def test_lines_of_parameters_belong_to_their_equation():
    lines = ["{ lambda ; a. let", "    b = scan[", "      jaxpr={ lambda ; c. let", "          d = sin c", "        in (d,) }",
             "    ] a", "    e = cos b", "  in (e,) }"]  # fmt: skip
    assert owners(lines, [None, 0, None, 1, None, None, 2, None]) == [None, 0, 0, 1, 0, 0, 2, None]


# --- reading HLO ----------------------------------------------------------------------------------------------

HLO = """\
HloModule jit_f, entry_computation_layout={(f32[8,4]{1,0})->f32[8,4]{1,0}}

%fused (p.1: f32[8,4]) -> f32[8,4] {
  %p.1 = f32[8,4]{1,0} parameter(0)
  %e.1 = f32[8,4]{1,0} exponential(%p.1), metadata={op_name="jit(f)/eqn~0/exp" source_line=3}
  ROOT %m.1 = f32[8,4]{1,0} multiply(%e.1, %e.1), metadata={op_name="jit(f)/eqn~1/mul}odd" source_line=4}
}

ENTRY %main (x: f32[8,4]) -> f32[8,4] {
  %x = f32[8,4]{1,0} parameter(0), metadata={op_name="x"}
  %f = f32[8,4]{1,0} fusion(%x), kind=kLoop, calls=%fused, backend_config={"a":{"b":"c"}}
  ROOT %copy.1 = f32[8,4]{0,1} copy(%f)
}
"""


def test_a_program_becomes_a_tree_with_costs_and_guesses():
    read = hlo.read(HLO)
    assert read.listing.lines == [
        "ENTRY main",
        "  x = f32[8,4]{1,0} parameter(0)",
        "  f = f32[8,4]{1,0} fusion(x), kind=kLoop",
        "    p.1 = f32[8,4]{1,0} parameter(0)",
        "    e.1 = f32[8,4]{1,0} exponential(p.1)",
        "    ROOT m.1 = f32[8,4]{1,0} multiply(e.1, e.1)",
        "  ROOT copy.1 = f32[8,4]{0,1} copy(f)",
    ]
    assert read.listing.equations[2] == [0, 1]
    assert read.listing.notes[2] == "fusion of 2 operations · 64 flop · 256 B moved"
    assert read.listing.equations[6] == [1]  # the fusion's last operation belongs to this equation
    layout = "in another layout: the axes in memory are {0,1} after {1,0}"
    assert read.listing.notes[6] == f"its value, moved or rounded · {layout}"
    assert read.listing.guesses == {}
    assert read.linked == (4, 4, 3, 0)
    # without the copy, which has no name
    assert [number for numbers in read.links.own.values() for number in numbers] == [0, 1]


NAMELESS = """HloModule m

%applied (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%laid_out (p: f32[4,8]) -> f32[8,4] {
  %p = f32[4,8]{1,0} parameter(0)
  ROOT %t = f32[8,4]{0,1} transpose(%p), dimensions={1,0}
}

ENTRY %main (x: f32[4,8], y: f32[4]) -> (f32[8], f32[8,4], f32[8]) {
  %x = f32[4,8]{1,0} parameter(0), metadata={op_name="x"}
  %y = f32[4]{0} parameter(1), metadata={op_name="y"}
  %y.1 = f32[4]{0} copy(%y)
  %zero = f32[] constant(0)
  %f = f32[8,4]{0,1} fusion(%x), kind=kLoop, calls=%laid_out
  %wide = f32[8,4]{0,1} broadcast(%y.1), dimensions={1}
  %sum = f32[8,4]{0,1} add(%f, %wide), metadata={op_name="jit(f)/eqn~1/add"}
  %also = f32[8,4]{0,1} multiply(%sum, %wide), metadata={op_name="jit(f)/eqn~2/mul"}
  %r = f32[8]{0} reduce(%also, %zero), dimensions={1}, to_apply=%applied, metadata={op_name="jit(f)/eqn~3/reduce_sum"}
  %n = f32[8]{0} negate(%r)
  %odd = f32[8,4]{0,1} negate(%wide)
  ROOT %out = (f32[8]{0}, f32[8,4]{0,1}, f32[8]{0}) tuple(%n, %odd, %r)
}
"""


def whose_results(results):
    """Return five equations; `results` maps a position among the program's results to the equation that computes it."""
    return [Equation(None, None, None, tuple(at for at, number in results.items() if number == n)) for n in range(5)]


def test_what_has_no_name_is_linked_by_what_its_value_is_or_by_all_that_reads_it():
    read = hlo.read(NAMELESS, whose_results({0: 4}))

    def of(word):
        [row] = [
            row
            for row, line in enumerate(read.listing.lines)
            if line.strip().removeprefix("ROOT ").startswith(f"{word} =")
        ]
        return (
            read.listing.equations[row],
            read.listing.notes.get(row, "").split(" · ")[-1],
            read.listing.guesses.get(row, []),
        )

    assert of("f") == ([1], "only this equation reads it", [])
    assert of("t") == ([1], "only this equation reads it", [])
    assert of("n") == ([4], "only this equation reads it", [])  # the program's first result
    assert of("s") == ([3], "", [])  # the function that a reduction applies belongs to the reduction
    assert of("a") == ([3], "", [])
    assert of("wide") == ([], "", [1, 2])  # two equations read it, and it leads to a result of unknown origin
    assert of("odd")[0] == []
    assert {number for numbers in read.links.own.values() for number in numbers} == {1, 2, 3}
    assert read.linked.exact - read.linked.by_name == 3


def test_a_copy_of_an_argument_is_linked_to_all_that_reads_it():
    text = NAMELESS.replace("tuple(%n, %odd, %r)", "tuple(%n, %sum, %r)").replace(
        "  %odd = f32[8,4]{0,1} negate(%wide)\n", ""
    )
    read = hlo.read(text, whose_results({0: 4, 1: 1}))
    for word in ("y.1", "wide"):
        [row] = rows_with({"lines": read.listing.lines}, f"{word} =")
        assert (read.listing.equations[row], read.listing.notes[row]) == ([1, 2], "copies an argument")
    assert read.linked.guessed == 0


def test_a_broadcast_of_a_constant_is_linked_to_all_that_reads_it():
    def f(x, y):
        return jnp.exp(x * 2.0) + y * 2.0

    data = exploration(subject_of(f, (spec(5), spec(5)), {}), ["cpu"], keep=False).data
    listing = data["targets"][0]["hlo"]
    [row] = [row for row in rows_with(listing, " broadcast(") if listing["equations"][row] == [0, 2]]
    assert primitives(data, [0, 2]) == ["mul", "mul"]
    assert listing["notes"][str(row)].endswith("copies a constant")
    assert data["targets"][0]["linked"]["guessed"] == 0


def test_each_line_has_its_kernels_their_bytes_and_its_own_flops(seen):
    [cpu] = seen["targets"]
    told, lines = cpu["by_line"], seen["python"]["lines"]
    assert told["kernels"] == len({row for each in told["lines"] for row in each["kernels"]})
    assert told["flops"] == sum(each["flops"] for each in told["lines"])
    assert told["flops"] == pytest.approx(cpu["cost"]["numbers"]["flops"], rel=0.2)
    by_text = {lines[each["row"]].strip(): each for each in told["lines"]}
    assert by_text["return jnp.maximum(x @ w, 0.0)"]["flops"] == 2 * 8 * 4 * 4 + 8 * 4
    assert not any("sin(x)" in text for text in by_text)
    for each in told["lines"]:
        for row in each["kernels"]:
            numbers = set(cpu["hlo"]["equations"][row])
            assert numbers & set(seen["python"]["equations"][each["row"]])
        assert each["shared"] <= len(each["kernels"])


LOOPED = """HloModule m

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %v = f32[8]{0} get-tuple-element(%p), index=1
  %w = f32[8]{0} multiply(%v, %v), metadata={op_name="jit(f)/eqn~0/while/body/eqn~1/mul"}
  ROOT %t = (s32[], f32[8]{0}) tuple(%i, %w)
}

%condition (q: (s32[], f32[8])) -> pred[] {
  %q = (s32[], f32[8]{0}) parameter(0)
  ROOT %c = pred[] constant(true)
}

ENTRY %main (x: (s32[], f32[8]), a: f32[4,6], b: f32[6,2]) -> (s32[], f32[8]) {
  %x = (s32[], f32[8]{0}) parameter(0)
  %a = f32[4,6]{1,0} parameter(1)
  %b = f32[6,2]{1,0} parameter(2)
  %gemm = (f32[4,2]{1,0}, s8[64]{0}) custom-call(%a, %b), custom_call_target="g", backend_config=CONFIG, metadata={op_name="eqn~2/dot"}
  %product = f32[4,2]{1,0} convolution(%a, %b), dim_labels=bf_io->bf, metadata={op_name="jit(f)/eqn~3/dot"}
  %sorted = f32[4,6]{1,0} custom-call(%a), custom_call_target="Sort", metadata={op_name="jit(f)/eqn~4/sort"}
  ROOT %loop = (s32[], f32[8]{0}) while(%x), condition=%condition, body=%body, metadata={op_name="jit(f)/eqn~0/while"}
}
"""


def counting_down(n):
    def body(carry):
        n, k = carry
        m = n + 0
        return m - 3, k + 1

    return lax.while_loop(lambda carry: carry[0] > 1, body, (n, 0))[1]


def going_round(x):
    def body(carry, _):
        a, b, unread = carry
        return (b, a * 2.0, unread + 1.0), None

    return lax.scan(body, (x, x, x), None, length=5)[0][0]


@pytest.mark.parametrize("through", ["jitkit", "jax"])
def test_a_carry_is_read_by_the_next_turn_and_by_the_condition(through):
    if through == "jax":
        translated = {"lax": jax.lax}
        down, round_ = (
            jax.jit(types.FunctionType(f.__code__, {**globals(), **translated})) for f in (counting_down, going_round)
        )
        arguments = jax.numpy.int32(7), jax.numpy.float32(1)
    else:
        down, round_, arguments = counting_down, going_round, (jnp.int32(7), jnp.float32(1))
    first, second = (subject_of(f, (x,), {}, through == "jax") for f, x in zip((down, round_), arguments, strict=True))
    assert [each.primitive for each in first.equations if not each.live] == []
    dead = [each.primitive for each in second.equations if not each.live]
    assert dead == ["add"]  # `unread`, and nothing else


def recurrent(w, xs):
    def step(h, x):
        h = jnp.tanh(h @ w + x)  # the product
        return h, None

    return lax.scan(step, jnp.zeros(4), xs)[0]  # the loop


def test_a_product_in_a_loop_is_of_its_own_line():
    """XLA gives what it puts in the place of a product the name of the loop, without a position."""
    data = explore(recurrent, spec(4, 4), spec(16, 4), targets=["cpu"]).data
    lines, table = data["python"]["lines"], data["targets"][0]["by_line"]["lines"]
    flops = {lines[each["row"]].partition("# ")[2]: each["flops"] for each in table if each["row"] is not None}
    assert flops == {"the product": 2 * 4 * 4 + 8, "the loop": 2}


def loss_of_three_parts(w, x):
    return (w * x + w * w * jnp.sin(w)).sum()


def test_sums_of_cotangents_stand_at_the_lines_of_the_function():
    w = jnp.float32(1)
    w * w + w  # a jaxpr that was first traced for this eager call must not keep this line
    equations = jitkit.make_jaxpr(jitkit.grad(loss_of_three_parts))(1.0, 2.0).eqns
    sums = [eqn.source_info.position for eqn in equations if eqn.primitive.name == "add_any"]
    assert sums
    assert {each.function for each in sums} == {"loss_of_three_parts"}


def test_kernels_in_loops_library_calls_and_products_are_told_apart():
    read = hlo.read(LOOPED.replace("CONFIG", '{"lhs_contracting_dimensions":["1"]}'))
    by_name = {read.listing.lines[each.row].split(" = ")[0].strip(): each for each in read.kernels}
    assert {name: (each.in_loop, each.untold) for name, each in by_name.items()} == {
        "gemm": (False, False), "product": (False, False), "sorted": (False, True), "w": (True, False),
    }  # fmt: skip
    assert {number: count for number, count in read.flops.items() if count} == {1: 8, 2: 2 * 6 * 8, 3: 2 * 6 * 8}
    table = by_line.table(read.kernels, read.flops, {0: 5, 1: 5, 2: 6, 3: 6})
    assert [(each["row"], len(each["kernels"]), each["in_loop"], each["untold"]) for each in table["lines"]] == [
        (5, 1, 1, 0), (6, 2, 0, 0), (None, 1, 0, 1),
    ]  # fmt: skip
    assert table["bytes"] == 2 * 8 * 4 + 2 * (4 * 6 + 6 * 2 + 4 * 2) * 4 + 64 + 2 * 4 * 6 * 4


FETCHED = """HloModule m

ENTRY %main (a: f32[4,6], b: f32[6,2]) -> f32[4,2] {
  %a = f32[4,6]{1,0:T(8,128)} parameter(0)
  %b = f32[6,2]{1,0:T(8,128)} parameter(1)
  %start = (f32[4,6]{1,0:T(8,128)S(1)}, f32[4,6]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(%a), cross_program_prefetch_index=0
  %done = f32[4,6]{1,0:T(8,128)S(1)} copy-done(%start)
  ROOT %product = f32[4,2]{1,0:T(8,128)} convolution(%done, %b), dim_labels=bf_io->bf, metadata={op_name="jit(f)/eqn~0/dot"}
}
"""


def test_what_an_asynchronous_copy_moves_is_of_the_line_that_it_is_for():
    read = hlo.read(FETCHED)
    compilers = 4 * (4 * 4 * 6) + 4 * (6 * 2 + 4 * 2) + 1000
    table = by_line.table(read.kernels, read.flops, {0: 5}, read.copies, {"bytes accessed": compilers})
    [line] = table["lines"]
    assert (line["row"], len(line["kernels"]), line["bytes"], line["copied"]) == (5, 1, 4 * (24 + 12 + 8), 2 * 4 * 24)
    assert table["kernels"] == 1
    assert table["bytes"] + table["copied"] + table["besides"] == compilers
    assert by_line.table(read.kernels, read.flops, {0: 5})["besides"] is None


def two_layers(w, b, v, x):
    return (jnp.tanh(x @ w + b) @ v).sum()


def attention(q, k, v):
    scores = q @ k.T / 8.0
    return jitkit.nn.softmax(scores) @ v


BLOCKS = [(two_layers, (spec(784, 512), spec(512), spec(512, 10), spec(64, 784))), (attention, (spec(256, 64),) * 3)]


@pytest.mark.parametrize(("function", "args"), BLOCKS, ids=lambda each: getattr(each, "__name__", ""))
def test_the_lines_bytes_are_those_of_the_compiler(function, args):
    """Every kernel is there once: XLA's model of a CPU counts the same."""
    [cpu] = exploration(subject_of(function, args, {}), ["cpu"], keep=False).data["targets"]
    told = cpu["by_line"]
    assert (told["bytes"], told["copied"], told["besides"]) == (cpu["cost"]["numbers"]["bytes accessed"], 0, 0)


@pytest.mark.parametrize(
    ("type_", "elements", "size"),
    [
        ("f32[8,4]{1,0}", 32, 128),
        ("(f32[2], bf16[3]{0:T(8)})", 5, 14),
        ("pred[]", 1, 1),
        ("c64[2]", 2, 16),
        ("s4[3]", 3, 2),
    ],
)
def test_sizes_of_types(type_, elements, size):
    assert (costs.elements_of(type_), costs.bytes_of(type_)) == (elements, size)


def test_a_product_costs_two_flops_for_each_product():
    text = HLO.replace("exponential(%p.1)", "dot(%p.1, %p.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}")
    assert "288 flop" in hlo.read(text).listing.notes[2]  # 2 * 4 * 32 + 32


def test_locations_of_both_libraries_are_read_and_taken_out():
    text = """\
#loc = loc(unknown)
module @jit_f {
  func.func public @main(%arg0: tensor<f32> loc("x")) -> (tensor<f32>) {
    %0 = stablehlo.sine %arg0 : tensor<f32> loc(#loc2)
    %1 = stablehlo.cosine %0 : tensor<f32> loc(#loc3)
    return %1 : tensor<f32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("/a.py":1:0)
#loc2 = loc("jit(f)/eqn~0/sin"(#loc1))
#loc3 = loc(fused["jit(f)/eqn~1/cos", "/a.py":2:4])
"""
    listing = stablehlo.listing(text)
    assert listing.lines[1:4] == [
        "  func.func public @main(%arg0: tensor<f32>) -> (tensor<f32>) {",
        "    %0 = stablehlo.sine %arg0 : tensor<f32>",
        "    %1 = stablehlo.cosine %0 : tensor<f32>",
    ]
    assert listing.equations == [[], [], [0], [1], [], [], []]


# --- calls ----------------------------------------------------------------------------------------------------


def test_a_recording_tells_hits_from_misses_and_what_became_different():
    @jitkit.jit
    def step(w, lr):
        return w - lr * w.sum()

    with calls.recording() as found:
        step(jnp.ones(3), 0.1)
        step(jnp.ones(3), 0.2)
        step(jnp.ones(4), 0.1)
    data = calls.as_data(found.of("step"), "here")
    first, second, third = data["entries"]
    assert [entry["hit"] for entry in data["entries"]] == [False, True, False]
    assert [name for name, _ in first["stages"]] == ["trace", "lower", "compile", "run"]
    assert [name for name, _ in second["stages"]] == ["run"]
    assert first["versus"] is None
    assert third["versus"] == 1
    assert any("float32[4]" in line and "float32[3]" in line for line in third["sentences"])
    assert "call #1" in third["sentences"][0]
    was, now = (data["jaxprs"][entry["jaxpr"]] for entry in (first, third))
    assert "f32[3]" in was[0]
    assert "f32[4]" in now[0]
    assert third["at"].startswith(str(pathlib.Path(__file__)))


def test_a_call_inside_of_another_trace_is_no_call_of_the_run():
    inner = jitkit.jit(lambda x: x + 1.0)
    outer = jitkit.jit(lambda x: inner(x) * 2.0)
    with calls.recording() as found:
        outer(jnp.ones(2))
    assert [call.jitted.fun for call in found.calls if call.jitted.fun in (inner.__wrapped__, outer.__wrapped__)] == [
        outer.__wrapped__
    ]


def test_the_misses_of_a_function_that_was_called_are_on_its_page():
    @jitkit.jit
    def f(x):
        return x * 2.0

    f(jnp.ones(2))
    f(jnp.ones(3))
    f(jnp.ones(3))
    data = explore(f, spec(3), targets=["cpu"]).data["calls"]
    assert [entry["hit"] for entry in data["entries"]] == [False, False]
    assert data["entries"][1]["versus"] == 1
    assert explore(lambda x: x, spec(3), targets=[]).data["calls"] is None


def test_calls_of_a_function_of_jaxs_are_told_in_its_words(tmp_path, capfd):
    before = jax.jit, jax.config.jax_explain_cache_misses
    with jax_calls.recording() as found:

        @functools.partial(jax.jit, static_argnames="power")
        def step(w, lr, power=1):
            return helper(w - lr * w.sum()) ** power

        @jax.jit
        def helper(w):
            return w * 2.0

        class Model:
            @jax.jit
            def scaled(self):
                return self

        for size, power in ((3, 1), (3, 1), (4, 1), (4, 2)):
            step(jax.numpy.ones(size), 0.1, power=power)
        jax.grad(lambda w: step(w, 0.1).sum())(jax.numpy.ones(3))  # a call inside a trace
        assert jax.make_jaxpr(step)(1.0, 2.0).eqns[0].params["name"] == "step"
        assert step.lower(1.0, 2.0).compile()(1.0, 2.0).shape == ()
        assert Model.scaled(jax.numpy.ones(2)).shape == (2,)
    assert (jax.jit, jax.config.jax_explain_cache_misses) == before
    assert [call.name for call in found.calls] == ["step"] * 4 + ["scaled"]
    data = calls.as_data(found.of("step", __file__), "here")
    first, second, third, fourth = data["entries"]
    assert [entry["hit"] for entry in data["entries"]] == [False, True, False, False]
    assert [name for name, _ in first["stages"]] == ["trace", "lower", "compile", "run"]
    assert [name for name, _ in second["stages"]] == ["run"]
    nearest = 3 if JAX_VERSION < (0, 11) else 1  # the earlier call that JAX compares the fourth one with
    assert [entry.get("versus") for entry in data["entries"]] == [None, None, 1, nearest]
    assert third["sentences"][0] == "JAX says:"
    assert any("f32[4]" in line and "f32[3]" in line for line in third["sentences"])
    assert data["jaxprs"][fourth["jaxpr"]] == str(step.trace(jax.numpy.ones(4), 0.1, power=2).jaxpr).splitlines()
    assert first["at"].startswith(__file__)
    assert "CACHE MISS" not in capfd.readouterr().err


# --- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numpy", [jnp, jax.numpy], ids=["jitkit", "jax"])
def test_a_function_that_cannot_be_traced_shows_how_far_it_came(numpy):
    def f(x):
        y = numpy.sin(x)
        if y.sum() > 0:
            return y
        return -y

    data = explore(jax.jit(f) if numpy is jax.numpy else f, spec(3)).data
    assert data["failure"]["type"] == "TracerBoolConversionError"
    assert data["failure"]["stage"] == "tracing"
    assert [each["primitive"] for each in data["equations"]] == ["sin", "reduce_sum", "gt"]
    assert "if y.sum() > 0" in data["python"]["lines"][data["failure"]["row"]]
    assert data["targets"] == []
    assert "f32[3] = sin" in "\n".join(data["jaxpr"]["lines"])


def test_a_function_without_source_keeps_its_links():
    names = {"jnp": jnp}
    exec("def f(x):\n    y = jnp.sin(x)\n    return y * 2.0", names)
    data = explore(names["f"], spec(3), targets=[]).data
    assert data["python"]["numbers"][1:] == [1, 2, 3]
    assert data["python"]["equations"][2:] == [[0], [1]]
    assert "keeps no source" in data["python"]["sentences"][0]


def test_a_function_in_a_zip_is_shown_with_its_source(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as file:
        file.writestr("in_a_zip.py", "import jitkit.numpy as jnp\ndef f(x):\n    y = jnp.sin(x)\n    return y * 2.0\n")
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip"))
    python = explore(importlib.import_module("in_a_zip").f, spec(3), targets=[]).data["python"]
    assert dict(zip(python["lines"], python["equations"], strict=True))["    y = jnp.sin(x)"] == [0]
    assert python["sentences"] == []


def test_a_jaxpr_on_one_line_has_all_its_equations_there():
    jaxpr = explore(lambda x: jnp.sin(x) * 2.0, spec(3), targets=[]).data["jaxpr"]
    assert len(jaxpr["lines"]) == 1
    assert jaxpr["equations"] == [[0, 1]]


def test_a_lambda_is_shown_with_its_line():
    data = explore(lambda x: jnp.cos(x) + 1.0, spec(3), targets=[]).data
    lit = [line for line, numbers in zip(data["python"]["lines"], data["python"]["equations"], strict=True) if numbers]
    assert len(lit) == 1
    assert "jnp.cos" in lit[0]


def test_a_source_that_has_changed_since_is_said_to_have(tmp_path):
    file = tmp_path / "changing.py"
    file.write_text("import jitkit.numpy as jnp\ndef f(x):\n    return jnp.sin(x)\n")
    names = {"__name__": "changing"}
    exec(compile(file.read_text(), str(file), "exec", dont_inherit=True), names)
    assert explore(names["f"], spec(3), targets=[]).data["python"]["sentences"] == []
    file.write_text("import jitkit.numpy as jnp\n\ndef f(x):\n    return jnp.cos(x)\n")
    [sentence] = explore(names["f"], spec(3), targets=[]).data["python"]["sentences"]
    assert "has changed since it was imported" in sentence


def test_large_constants_are_not_on_the_page():
    table = jnp.arange(1_000_000.0)
    small = jnp.arange(300.0)
    page = explore(lambda x: x + table[:3] + small[:3], spec(3), targets=["cpu"])
    assert len(page.html) < 300_000
    assert "float32[1000000]" in page.data["notes"][0]
    assert "1200 bytes" in "\n".join(page.data["stablehlo"]["lines"])


def test_names_of_the_program_are_data_and_never_markup():
    names = {"jnp": jnp}
    exec(compile("def f(x):\n    return jnp.sin(x)", "</script><img src=x onerror=alert(1)>.py", "exec"), names)
    f = names["f"]
    f.__name__ = f.__qualname__ = "<script>alert(1)</script>"
    page = explore(f, spec(3), targets=["cpu"])
    assert page.html.count("<script") == 2  # the data, and our script
    assert "<img" not in page.html
    inside = page.html.split('id="model">')[1].split("</script>")[0]
    assert json.loads(inside) == page.data


def test_a_compiler_that_is_not_there_says_how_to_get_it(monkeypatch):
    missing = compiling.TargetError("missing", "The compiler for tpu:v5e is not installed")
    monkeypatch.setattr(compiling, "obstacle", lambda target: missing if target.platform == "tpu" else None)
    data = explore(network, spec(8, 4), spec(4, 4), targets=["cpu", "tpu:v5e"]).data
    assert data["targets"][1] == {
        "name": "tpu:v5e", "chip": "one TPU v5e", "code": "VLIW bundles", "reason": "missing",
        "error": "The compiler for tpu:v5e is not installed",
    }  # fmt: skip
    assert "hlo" in data["targets"][0]


def test_a_program_that_calls_python_is_shown_as_far_as_stablehlo():
    def f(x):
        jitkit.debug.print("x {}", x)
        return x + 1.0

    data = explore(f, spec(3), targets=["cpu"]).data
    assert data["targets"][0]["reason"] == "refused"
    assert "calls back into this Python process" in data["targets"][0]["error"]
    assert data["stablehlo"]["lines"]


# --- files ----------------------------------------------------------------------------------------------------


def test_a_page_is_written_whole_and_nothing_foreign_is_overwritten(tmp_path, monkeypatch):
    page = explore(lambda x: x * 2.0, spec(3), targets=[])
    where = page.save(tmp_path / "f.html")
    assert where.read_text(encoding="utf-8") == page.html
    assert page.save(where) == where  # it may replace one of our own pages
    (tmp_path / "mine.html").write_text("mine")
    with pytest.raises(FileExistsError, match="not a page of the Explorer"):
        page.save(tmp_path / "mine.html")

    def interrupted(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr(whole_file.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        page.save(tmp_path / "half.html")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["f.html", "mine.html"]


def test_what_is_around_a_jitted_function_is_what_is_explored():
    @jitkit.jit
    def f(x):
        return (x * x).sum()

    for outer in (jitkit.grad(f), functools.wraps(f)(lambda x: jnp.sin(f(x)))):
        data = explore(outer, spec(3), targets=[]).data
        assert data["equations"][0]["primitive"] == "jit"
        assert len(data["equations"]) > 2
    data = explore(jitkit.vmap(jnp.dot), spec(2, 3), spec(2, 3), targets=[]).data
    assert data["failure"] is None
    assert data["jaxpr"]["lines"][0].startswith("{ lambda ; a:f32[2,3] b:f32[2,3]. let")


def test_a_cell_is_compiled_statement_by_statement_and_has_not_changed(tmp_path, monkeypatch):
    """Where `jnp` is imported in the same piece, Python 3.11 compiles `jnp.sin(x)` in another way."""
    path = tmp_path / "cell.py"
    monkeypatch.setattr("jitkit.explorer.source.cell", lambda file: "Cell In[1]" if file == str(path) else None)
    path.write_text("import jitkit.numpy as jnp\nf = lambda x: jnp.sin(x)\n")
    names = {}
    for part in ast.parse(path.read_text()).body:
        exec(compile(ast.Module([part], []), str(path), "exec", dont_inherit=True), names)
    assert explore(names["f"], spec(3), targets=[]).data["python"]["sentences"] == []
    path.write_text("import jitkit.numpy as jnp\nf = lambda x: jnp.cos(x)\n")
    [said] = explore(names["f"], spec(3), targets=[]).data["python"]["sentences"]
    assert "Cell In[1] has changed since it was imported" in said


def test_a_page_is_saved_in_a_folder_too_and_wrong_arguments_are_said(tmp_path):
    page = explore(network, spec(8, 4), spec(4, 4), targets="cpu")
    assert [each["name"] for each in page.data["targets"]] == ["cpu"]
    assert page.save(tmp_path) == tmp_path / "network.html"
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: '.*nowhere'"):
        page.save(tmp_path / "nowhere" / "x.html")
    with pytest.raises(ValueError, match="a time_limit of 0 seconds or more, got -1"):
        explore(network, spec(8, 4), spec(4, 4), targets=["cpu"], time_limit=-1)


def test_a_file_that_was_executed_has_not_changed(tmp_path):
    """`exec` in this module takes its `annotations` along, which is in the flags of the code."""
    path = tmp_path / "taken.py"
    path.write_text("import jitkit.numpy as jnp\n\ndef f(x):\n    return jnp.sin(x)\n")
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    assert explore(names["f"], spec(3), targets=[]).data["python"]["sentences"] == []
    path.write_text("import jitkit.numpy as jnp\n\ndef f(x):\n    return jnp.cos(x)\n")
    [said] = explore(names["f"], spec(3), targets=[]).data["python"]["sentences"]
    assert "taken.py has changed since it was imported" in said


def test_a_file_that_is_gone_is_said_to_be(tmp_path):
    (tmp_path / "lost.py").write_text("import jitkit.numpy as jnp\n\ndef f(x):\n    return jnp.sin(x)\n")
    f = runpy.run_path(str(tmp_path / "lost.py"))["f"]
    (tmp_path / "lost.py").unlink()
    python = explore(f, spec(3), targets=[]).data["python"]
    assert python["lines"][1:] == ["line 3", "line 4"]
    assert python["sentences"][0].endswith(
        "lost.py is not there any more, or cannot be read: the numbers of its lines stand here."
    )


def test_a_function_that_ends_the_process_has_a_page(tmp_path, monkeypatch, capsys):
    (tmp_path / "model.py").write_text("import sys\n\ndef f(x):\n    y = x + 1\n    sys.exit(4)\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["explore", "model.py:f", "--shapes", "f32[3]"]) == problems.FAILED
    assert "f could not be traced. SystemExit: 4" in capsys.readouterr().out
    assert "sys.exit(4)" in (tmp_path / "f.html").read_text(encoding="utf-8")


def test_the_data_of_a_large_program_are_deflated_and_the_same(tmp_path, monkeypatch):
    page = explore(network, spec(8, 4), spec(4, 4), targets=[])
    plain = page.html
    monkeypatch.setattr(bundle, "_MOST_PLAIN", 1000)
    assert len(page.html) < len(plain) - len(bundle.as_json(page.data)) / 2
    packed = page.html.split('data-packed="deflate" id="model">')[1].split("</script>")[0]
    assert zlib.decompress(base64.b64decode(packed)).decode() == bundle.as_json(page.data)
    where = page.save(tmp_path / "f.html")
    assert page.save(where) == where  # the file is recognised as one of our pages


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX: a process that is asked whether it is there")
def test_an_interrupt_while_compilers_run_ends_them_and_does_not_wait(tmp_path, monkeypatch, heard_interrupts):
    pids = tmp_path / "pids"
    program = f"import os, time\nopen({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\ntime.sleep(100)"
    monkeypatch.setattr(process, "PROGRAM", ["-c", program])

    def interrupt():
        while not pids.is_file() or not pids.read_text().endswith("\n"):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        explore(layer, spec(2, 3), spec(3, 4), targets=["cpu"])
    assert time.perf_counter() - start < 60
    with pytest.raises(ProcessLookupError):
        os.kill(int(pids.read_text()), 0)


def test_an_answer_is_kept_by_content_and_a_damaged_one_is_made_anew(monkeypatch):
    asked = []
    compile_ = compiling.Compilers.compile
    monkeypatch.setattr(compiling.Compilers, "compile", lambda self, *args: asked.append(1) or compile_(self, *args))
    first = explore(layer, spec(2, 3), spec(3, 4), targets=["cpu"]).data
    again = explore(layer, spec(2, 3), spec(3, 4), targets=["cpu"]).data
    assert len(asked) == 1
    assert again == first
    explore(layer, spec(2, 3), spec(3, 5), targets=["cpu"])
    assert len(asked) == 2
    for path in compiling.folder().iterdir():
        path.write_bytes(b"damaged")
    explore(layer, spec(2, 3), spec(3, 4), targets=["cpu"])
    assert len(asked) == 3


def test_a_notebook_gets_the_page_in_a_frame_that_reaches_nothing():
    page = explore(lambda x: x * 2.0, spec(3), targets=[])
    shown = page._repr_html_()
    assert shown.startswith("<style>.jitkit-untrusted{display:none}</style>")
    assert '<iframe srcdoc="' in shown
    assert 'sandbox="allow-scripts"' in shown
    assert "<script" not in shown


def test_the_page_s_modules_have_no_name_in_common():
    """They are written one after the other into one, where a second name would be an error."""
    names = []
    for path in bundle.PAGE.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        names += re.findall(r"^(?:export )?(?:const|let|class|function) (\w+)", text, re.MULTILINE)
        names += [
            name
            for group in re.findall(r"^(?:export )?const \{([^}]*)\}", text, re.MULTILINE)
            for name in group.split(",")
        ]
    assert len(names) == len(set(names))
    assert "import " not in bundle.script().split("//")[0]
    assert "\nexport " not in bundle.script()


def test_importing_jitkit_does_not_import_the_explorer():
    program = "import sys, jitkit; print([m for m in sys.modules if 'explorer' in m or m.startswith('pygments')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- the command ----------------------------------------------------------------------------------------------

PROGRAM = """\
import jitkit as jax, jitkit.numpy as jnp

@jax.jit
def step(w, lr):
    return w - lr * w.sum()

if __name__ == "__main__":
    step(jnp.ones(3), 0.1)
    step(jnp.ones(3), 0.1)
    step(jnp.ones(4), 0.1)
"""


def command(tmp_path, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "jitkit.kata", "explore", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )


@pytest.mark.parametrize("library", ["jitkit", "jax"])
def test_the_command_writes_a_page_of_a_run(tmp_path, library):
    (tmp_path / "model.py").write_text(PROGRAM.replace("jitkit", library))
    of_jax = ["--jax"] if library == "jax" else []
    done = command(tmp_path, "model.py:step", "--calls", *of_jax, "--target", "cpu")
    assert done.returncode == 0, done.stderr
    assert "step.html" in done.stdout
    text = (tmp_path / "step.html").read_text(encoding="utf-8")
    data = json.loads(text.split('id="model">')[1].split("</script>")[0])
    assert [entry["hit"] for entry in data["calls"]["entries"]] == [False, True, False]
    assert data["signature"] == "step(w: float32[4], lr: float32[] (weak type))"
    assert data["calls"]["shown"] == [each["number"] for each in data["calls"]["entries"] if not each["hit"]][-1]


NAMED_OTHERWISE = """\
import functools
import jitkit as jax, jitkit.numpy as jnp

def loss(w, x):
    return (w * x).sum()

step = jax.jit(jax.grad(loss))
part = jax.jit(functools.partial(loss, jnp.ones(3)))
twice = jax.jit(lambda x: x * 2.0)
rows = jax.jit(jax.vmap(loss))

if __name__ == "__main__":
    step(jnp.ones(3), jnp.ones(3))
    step(jnp.ones(4), jnp.ones(4))
    part(jnp.ones(3))
    twice(1.0)
    rows(jnp.ones((2, 3)), jnp.ones((2, 3)))
    jax.jit(loss)(1.0 * jnp.ones(2), jnp.ones(2))
"""


@pytest.mark.parametrize("library", ["jitkit", "jax"])
def test_calls_are_those_of_the_object_that_was_named(tmp_path, library, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("model.py").write_text(NAMED_OTHERWISE.replace("jitkit", library))
    for name, many in (("step", 2), ("part", 1), ("twice", 1), ("rows", 1)):
        _, own, _ = recorded.calls_of(f"model.py:{name}", "model.py", library == "jax")
        assert len(own) == many, name
    _, own, _ = recorded.calls_of("model.py:loss", "model.py", library == "jax")  # `loss` is not jitted
    assert "loss" in {call.name for call in own}


@pytest.mark.parametrize("library", ["jitkit", "jax"])
def test_the_page_and_its_file_are_called_as_the_function_was_asked_for(tmp_path, library):
    (tmp_path / "model.py").write_text(
        f"import functools\nimport {library} as jax, {library}.numpy as jnp\n"
        "g = lambda x: jnp.sin(x)\nh = jax.jit(g)\np = functools.partial(jnp.multiply, 2.0)\n"
    )
    for name in "ghp":
        done = command(
            tmp_path,
            f"model.py:{name}",
            "--shapes",
            "f32[3]",
            "--target",
            "cpu",
            *(["--jax"] if library == "jax" else []),
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{name}.html ")
        text = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        data = json.loads(text.split('id="model">')[1].split("</script>")[0])
        assert (data["function"], data["signature"].partition("(")[0]) == (name, name)


METHODS = """\
import functools, sys
import {library} as jax, {library}.numpy as jnp

SIZE = int(sys.argv[1]) if len(sys.argv) > 1 else 3

class Net:
    @functools.partial(jax.jit, static_argnums=0)
    def loss(self, x):
        return jnp.sin(x).sum()

    def plain(self, x):
        from beside import twice
        return twice(self.loss(x))

net = Net()

if __name__ == "__main__":
    net.loss(jnp.ones(SIZE))
    net.loss(jnp.ones(SIZE + 1))
"""


@pytest.mark.parametrize("library", ["jitkit", "jax"])
def test_methods_are_explored_as_they_are_bound(tmp_path, library):
    """Also a module that imports when it is called, and reads its own arguments."""
    (tmp_path / "model.py").write_text(METHODS.format(library=library))
    (tmp_path / "beside.py").write_text("def twice(x):\n    return x + x\n")
    of_jax = ["--jax"] if library == "jax" else []
    for name, primitive, arguments in [
        ("net.loss", "sin", ["--shapes", "f32[3]"]),
        ("net.plain", "add", ["--shapes", "f32[3]", *of_jax]),
        ("net.loss", "reduce_sum", ["--calls", *of_jax]),
    ]:
        done = command(tmp_path, f"model.py:{name}", *arguments, "--target", "cpu")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{name.replace('.', '_')}.html ")
        text = (tmp_path / f"{name.replace('.', '_')}.html").read_text(encoding="utf-8")
        data = json.loads(text.split('id="model">')[1].split("</script>")[0])
        assert data["library"] == library
        assert primitive in [each["primitive"] for each in data["equations"]]
        assert any("jnp.sin(x)" in line for line in data["python"]["lines"])
    assert [entry["hit"] for entry in data["calls"]["entries"]] == [False, False]


def test_a_module_of_a_package_imports_its_neighbours(tmp_path):
    inner = tmp_path / "models" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "models" / "__init__.py").touch()
    (tmp_path / "models" / "parts.py").write_text("def twice(x):\n    return x + x\n")
    (inner / "net.py").write_text("from ..parts import twice\n\ndef apply(x):\n    return twice(x)\n")
    arguments = ["models/inner/net.py:apply", "--shapes", "f32[3]", "--target", "cpu"]
    done = command(tmp_path, *arguments)
    assert done.returncode == 1
    assert "Relative imports work in packages: put an __init__.py into models/inner" in " ".join(done.stderr.split())
    (inner / "__init__.py").touch()
    done = command(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert "return x + x" in (tmp_path / "apply.html").read_text(encoding="utf-8")


def test_the_command_says_what_is_wrong(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(PROGRAM)
    cases = [
        (("model.py:step", "--shapes", "f32[3]", "--target", "cpu"), 1, "could not be traced"),
        (("model.py:other", "--shapes", "f32[3]"), 1, "has no function 'other'"),
        (("model.py:other", "--calls"), 1, "did not call a jitted other"),
        (("model.py:step", "--calls", "--jax"), 1, "did not call a jitted step of JAX's"),
        (("model.py", "--shapes", "f32[3]"), 2, "does not name a function"),
        (("model.py:step", "--calls", "--target", "cpu", "-o", "no/where.html"), 1, "cannot be written"),
        (("model.py:step", "--calls", "--target", "cpu", "-o", "model.py"), 1, "not a page of the Explorer"),
    ]
    for arguments, status, words in cases:
        done = command(tmp_path, *arguments)
        assert done.returncode == status, (arguments, done.stderr)
        assert words in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_a_compiler_that_takes_too_long_leaves_the_page_to_the_others(tmp_path, monkeypatch, capsys):
    """And while it is waited for, it is named; what has answered is not."""
    monkeypatch.setattr(compiling, "obstacle", lambda target: None)
    monkeypatch.setattr(process.table, "obstacle", lambda target: None)
    monkeypatch.setattr(compiling, "compiler_of", lambda target: "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(PROGRAM)
    types = ["--shapes", "f32[3],f32[]"]
    assert cli.main(["explore", "model.py:step", *types, "--target", "cpu"]) == problems.OK  # now the program is cached
    capsys.readouterr()
    monkeypatch.setattr(process, "PROGRAM", ["-c", "import time; time.sleep(1000)"])
    status = cli.main(
        ["explore", "model.py:step", *types, "--target", "cpu", "--target", "tpu:v5e", "--time-limit", "2"]
    )
    said = capsys.readouterr()
    assert status == problems.FAILED
    assert (
        "  (compiling step for tpu:v5e)" in said.err.splitlines()
    )  # on a busy machine other steps may take long enough to be shown, too
    assert "for cpu" not in said.err
    assert "compiled for cpu\n" in said.out
    assert "had not finished 'step' after 2 s" in said.out
    assert "--time-limit SECONDS" in " ".join(said.out.split())
    text = (tmp_path / "step.html").read_text(encoding="utf-8")
    cpu, tpu = json.loads(text.split('id="model">')[1].split("</script>")[0])["targets"]
    assert cpu["hlo"]["lines"]
    assert tpu["reason"] == "timeout"


def write_fails(error, after=0):
    """Return a function that writes the first `after` bytes of a file, and then raises the error."""

    def written(path, content):
        pathlib.Path(path).write_bytes(content[:after])
        raise error

    return written


def explored(folder, monkeypatch, capsys):
    """Run `jitkit explore` in this process; return its status and output, without the progress lines of a slow machine."""
    monkeypatch.chdir(folder)
    (folder / "model.py").write_text(PROGRAM)
    status = cli.main(["explore", "model.py:step", "--shapes", "f32[3],f32[]", "--target", "cpu"])
    said = capsys.readouterr()
    return status, "".join(
        line for line in (said.out + said.err).splitlines(keepends=True) if not line.startswith("  (")
    )


@pytest.mark.parametrize("there", ["", "an earlier page"])
def test_a_full_disk_is_a_sentence_and_leaves_what_was_there(tmp_path, monkeypatch, capsys, there):
    page, words = tmp_path / "step.html", b""
    if there:
        words = explore(lambda x: x * 2.0, spec(3), targets=[]).save(page).read_bytes()
    with monkeypatch.context() as full:
        full.setattr(whole_file, "_write_new", write_fails(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 1000))
        status, said = explored(tmp_path, full, capsys)
    assert status == problems.FAILED
    assert said.splitlines() == [
        "jitkit: the page cannot be written (No space left on device). Name a folder that can be written: --output FOLDER/FILE.html"
    ]
    assert (page.read_bytes() if page.exists() else b"") == words
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "model.py",
        *(["step.html"] if there else []),
    ]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path, monkeypatch, capsys, number):
    """Patched, since tests may be run by root, whom no folder refuses."""

    def refused(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(whole_file, "_write_new", refused)
    status, said = explored(tmp_path, monkeypatch, capsys)
    assert (status, said.count("\n")) == (problems.FAILED, 1)
    assert f"the page cannot be written ({os.strerror(number)})" in said
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["model.py"]


def test_of_two_who_write_one_page_at_once_each_reader_gets_one_whole(tmp_path):
    pages = [exploration(subject_of(function, (spec(3),), {}), []) for function in (jnp.sin, lambda x: (x * 2.0).sum())]
    where, whole, seen_pages = tmp_path / "page.html", {page.html for page in pages}, set()
    pages[0].save(where)
    barrier, errors = threading.Barrier(len(pages)), []

    def write(page):
        barrier.wait()
        try:
            for _ in range(40):
                page.save(where)
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(page,)) for page in pages]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        seen_pages.add(where.read_text(encoding="utf-8"))
    assert errors == []
    assert seen_pages <= whole
    assert where.read_text(encoding="utf-8") in whole
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["page.html"]


def test_machine_code_is_linked_by_kernel(seen):
    [cpu] = seen["targets"]
    machine, fusions = cpu["machine"], cpu["hlo"]
    heads = [row for row, line in enumerate(machine["lines"]) if line.startswith("; ") and machine["equations"][row]]
    assert heads
    for head in heads:
        assert machine["lines"][head + 1].startswith("  ")
        assert any(set(machine["equations"][head]) <= set(numbers) for numbers in fusions["equations"])


def test_a_kernel_of_many_equations_has_them_once():
    listing = Listing("hlo")
    listing.add("  fusion.1 = f32[] fusion()", range(1000))
    found = machine.listing("gpu", {"fusion_1": ".version 8\n.visible .entry fusion_1(\nret;\n"}, listing)
    assert [len(numbers) for numbers in found.equations] == [1000, 0, 0, 0]


def test_a_program_that_was_folded_to_a_constant_is_linked_by_the_result_that_it_is():
    data = exploration(subject_of(lambda: jnp.ones(3) * 2.0, (), {}), ["cpu"], keep=False).data
    [cpu] = data["targets"]
    operations = cpu["linked"]["operations"]
    assert cpu["linked"] == {"operations": operations, "exact": operations, "by_name": 0, "guessed": 0}
    whys = {data["equations"][int(number)]["primitive"]: fate["rule"] for number, fate in cpu["fates"].items()}
    assert whys == {"mul": "constant", "broadcast_in_dim": "constant"}


def test_what_an_instruction_of_another_name_does_is_not_said_to_be_gone():
    """The backward product of a layer has its operands changed over, and the name of the transpose that was merged into it."""

    def loss(w, x):
        return jnp.tanh(x @ w).sum()

    args = (spec(16, 32), spec(4, 16))
    data = exploration(subject_of(jitkit.grad(loss), args, {}), ["cpu"], keep=False).data
    products = [number for number, each in enumerate(data["equations"]) if each["primitive"] == "dot_general"]
    [cpu] = data["targets"]
    assert len(rows_with(cpu["hlo"], " dot(")) == len(products) == 2
    for number in products:
        assert cpu["fates"].get(str(number), {"fate": "renamed"})["fate"] == "renamed"


def test_a_program_that_calls_lapack_is_compiled_for_this_machine():
    data = exploration(subject_of(lambda x: jnp.linalg.cholesky(x @ x.T), (spec(3, 3),), {}), ["cpu"], keep=False).data
    assert "lapack" in "\n".join(data["targets"][0]["hlo"]["lines"])


def test_objects_that_can_be_called_are_explored_too():
    class Model:
        def __call__(self, x):
            return jnp.sin(x)

    data = explore(Model(), spec(3), targets=[]).data
    lit = [line for line, numbers in zip(data["python"]["lines"], data["python"]["equations"], strict=True) if numbers]
    assert lit == ["            return jnp.sin(x)"]
    assert explore(Model(), targets=[]).data["failure"]["type"] == "TypeError"


ARGUMENTS = """
import jitkit.numpy as jnp

def loss(params, xs, n=1, axis=None):
    x, y = xs
    for _ in range(n):
        x = jnp.tanh(x @ params["w"] + params["b"])
    return ((x - y) ** 2).sum(axis)
"""


def explored_with(tmp_path, capsys, *arguments):
    (tmp_path / "trees.py").write_text(ARGUMENTS, encoding="utf-8")
    status = cli.main(["explore", f"{tmp_path / 'trees.py'}:loss", "--json", "--target", "cpu", *arguments])
    shown = capsys.readouterr()
    return status, json.loads(shown.out) if status == 0 else shown.err


def test_the_command_takes_trees_and_values(tmp_path, capsys):
    trees = ['{w: f32[8,8], "b": f32[8]}', "(f32[4,8], f32[4,8])"]
    status, data = explored_with(tmp_path, capsys, "--shapes", *trees, "--static", "n=3", "--static", "axis=0")
    assert status == 0
    assert data["signature"] == (
        "loss(params['b']: float32[8], params['w']: float32[8,8], xs[0]: float32[4,8], xs[1]: float32[4,8])"
    )
    assert [each["primitive"] for each in data["equations"]].count("tanh") == 3
    assert data["equations"][-1]["results"] == "f32[8]"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "missing a required argument: 'params'. Give their types: --shapes"),
        (["--shapes", "{w: f32[8"], "is not a tree of types. Write it as Python does"),
        (["--shapes", "(f32[8], 3)"], "A value is given by name: --static n=3"),
        (["--shapes", "f32[8]", "--static", "n"], "'n' is not NAME=VALUE"),
    ],
)
def test_arguments_that_cannot_be_read_say_how_they_are_written(tmp_path, capsys, arguments, said):
    status, words = explored_with(tmp_path, capsys, *arguments)
    assert status == 2
    assert said in " ".join(words.split())


# --- passes of XLA, and two versions --------------------------------------------------------------------------


def test_each_pass_of_xla_says_what_it_took_away_and_wrote():
    def f(x, y):
        half = (x + y) / 2.0
        return jnp.where(x > 0, half, y)

    data = exploration(subject_of(f, (spec(8), spec(8)), {}), ["cpu"], keep=False).data
    listing = data["targets"][0]["passes"]
    heads = [row for row, line in enumerate(listing["lines"]) if not line.startswith(" ")]
    [simplified] = [row for row in heads if listing["lines"][row].startswith("algsimp (")]
    end = next(row for row in [*heads, len(listing["lines"])] if row > simplified)
    rows = range(simplified + 1, end)
    [gone] = [row for row in rows if re.match(r"  - .* divide\(", listing["lines"][row])]
    [new] = [row for row in rows if re.match(r"  \+ .* multiply\(", listing["lines"][row])]
    assert primitives(data, listing["equations"][gone]) == primitives(data, listing["equations"][new]) == ["div"]
    assert re.fullmatch(r"\d+ instructions? gone, \d+ new", listing["notes"][str(simplified)])
    assert any("fusion" in listing["lines"][row] for row in heads)
    assert not any("metadata" in line or "{0}" in line for line in listing["lines"])


def test_where_a_compiler_wrote_no_passes_down_there_are_none():
    assert passes.listing([]).lines == []
    same = "ENTRY main {\n  ROOT x = f32[8]{0} parameter(0)\n}\n"
    assert passes.listing([("before", same), ("dce (simplification)", same)]).lines == []


VERSIONS = """
import jitkit.numpy as jnp

def loss(w, x):
    h = jnp.tanh(x @ w)
    return (h**2).sum()

def shorter(w, x):
    return (jnp.tanh(x @ w) ** 2).sum()

def other(w, x):
    h = jnp.tanh(x @ w)
    return jnp.vdot(h, h) + jnp.sin(h).sum()
"""


def against(tmp_path, name, *arguments):
    (tmp_path / "two.py").write_text(VERSIONS, encoding="utf-8")
    page = tmp_path / "loss.html"
    types = ["--shapes", "f32[8,8],f32[4,8]", "--target", "cpu", "--output", str(page)]
    status = cli.main(["explore", f"{tmp_path / 'two.py'}:loss", "--against", name, *types, *arguments])
    return status, page


def test_two_versions_stand_side_by_side_with_what_is_different(tmp_path):
    status, page = against(tmp_path, "other")
    text = page.read_text(encoding="utf-8")
    assert status == problems.OK
    assert text.count("<iframe srcdoc=") == 2
    before, now = (
        exploration(subject_of(getattr(runpy_of(tmp_path), name), (spec(8, 8), spec(4, 8)), {}), ["cpu"]).data
        for name in ("loss", "other")
    )
    counts = {(where, what): numbers for where, what, *numbers in beside.figures(before, now)}
    assert counts["", "equations"] == [len(before["equations"]), len(now["equations"])]
    assert counts["cpu", "flops"][0] < counts["cpu", "flops"][1]
    for line in ("integer_pow[y=2]", "sin d"):
        assert re.search(rf'<td class="(was|is)">[^<]*{re.escape(line)}', text)
    assert against(tmp_path, f"{tmp_path / 'two.py'}:other")[0] == problems.OK, "its own page is overwritten"


def runpy_of(tmp_path):
    return types.SimpleNamespace(**runpy.run_path(str(tmp_path / "two.py")))


def test_a_variable_s_name_is_no_difference_between_two_versions():
    before = ["{ lambda ; a:f32[3]. let", "    b:f32[3] = sin a", "    c:f32[3] = mul b a", "  in (c,) }"]
    more = [
        "{ lambda ; a:f32[3]. let",
        "    b:f32[3] = exp a",
        "    c:f32[3] = sin a",
        "    d:f32[3] = mul c a",
        "  in (d,) }",
    ]
    rows = "".join(beside._rows(before, more))
    assert [line for line in more if f'class="is">{line}<' in rows] == ["    b:f32[3] = exp a"]
    assert 'class="was"' not in rows
    swapped = [*before[:2], "    c:f32[3] = mul a b", before[3]]
    assert 'class="is">    c:f32[3] = mul a b' in "".join(beside._rows(before, swapped))


def test_two_versions_with_one_jaxpr_are_said_to_be_the_same(tmp_path):
    _, page = against(tmp_path, "shorter")
    assert "They are the same, line by line." in page.read_text(encoding="utf-8")


def test_a_comparison_is_of_two_programs_and_not_of_calls(tmp_path, capsys):
    assert against(tmp_path, "other", "--json")[0] == problems.USAGE
    assert "--against takes neither --json nor --calls" in capsys.readouterr().err


def test_a_miss_of_jaxs_is_compared_with_the_call_that_its_sentence_speaks_of():
    def step(w, x):
        return (x @ w).sum()

    with jax_calls.recording() as found:
        jitted = jax.jit(step)
        w = jax.numpy.ones((4, 4))
        for x in (jax.numpy.ones((3, 4)), jax.numpy.ones((5, 4)), jax.numpy.ones((3, 4), "bfloat16")):
            jitted(w, x)
    entries = calls.as_data(found.of("step"), "of a test")["entries"]
    [sentence] = [line for line in entries[-1]["sentences"] if "and before" in line]
    assert sentence.endswith("now bf16[3,4] and before f32[3,4]")
    assert [each["versus"] for each in entries] == [None, 1, 1]


def test_a_miss_of_jaxs_has_a_kind_and_is_compared_with_the_call_that_differs_least():
    @functools.partial(jax.jit, static_argnames=("steps", "act"))
    def rolled(x, steps, act):
        return act(x) * steps

    @jax.jit
    def scaled(w, factor):
        return w["a"] * factor

    # the decorators of this test ran before the recording
    with jax_calls.recording() as found:
        roll = jax.jit(rolled.__wrapped__, static_argnames=("steps", "act"))
        scale = jax.jit(scaled.__wrapped__)
        x = jax.numpy.ones(3)
        for steps, act in ((2, jax.numpy.sin), (3, jax.numpy.sin), (2, jax.numpy.cos)):
            roll(x, steps=steps, act=act)
        for factor in (2.0, 2, jax.numpy.float32(2)):
            scale({"a": x}, factor)
        scale({"a": x, "b": x}, 2)
        with jax.default_matmul_precision("float32"):
            scale({"a": x}, 2)
    told = [
        [(each["reason"], each["versus"]) for each in calls.as_data(found.of(name), "")["entries"]]
        for name in ("rolled", "scaled")
    ]
    static = "another static value"
    assert told[0] == [("first call", None), (static, 1), (static, 1)]  # not call 2, in which `steps` differs, too
    assert told[1][:3] == [("first call", None), ("other types", 1), ("other types", 1)]
    assert told[1][3:] == [("another structure", 2), ("another option", 2)]


def test_that_a_line_defines_functions_again_is_said_where_jax_says_it():
    for _ in range(2):  # JAX remembers the lines of an earlier recording
        with jax_calls.recording() as found:

            @jax.jit
            def one(x):
                return x + 1

            @jax.jit
            def two(x):
                return x * 2

            one(1.0)
            two(1.0)
            for _ in range(2):
                jax.jit(lambda x: x - 1.0)(1.0)
        said = ["seen another function" in " ".join(each.miss.lines()) for each in found.calls]
        assert said == [False, False, False, True]


def test_a_miss_of_jaxs_has_the_advice_that_a_miss_of_ours_has():
    with jax_calls.recording() as found:

        @jax.jit
        def mean(x):
            return x.mean(0)

        @functools.partial(jax.jit, static_argnums=1)
        def applied(x, act):
            return act(x)

        def numbers(dtype, rows=10):
            return jax.numpy.ones((rows, 3), dtype)

        for x in (numbers("float32"), numbers("bfloat16"), numbers("int32"), numbers("float32", rows=4)):
            mean(x)
        for _ in range(2):
            applied(1.0, lambda x: x * 2)
        applied(1.0, lambda x: x * 3)
        doubled = jax.jit(lambda x: x + x)
        doubled(jax.numpy.float32(1))
        doubled(1.0)
    advised = [
        [line.partition("jitkit advises: ")[2] for line in call.miss.lines() if "jitkit advises" in line]
        for call in found.calls
        if call.miss
    ]
    share = "convert x before the call, with `.astype(jnp.float32)`, to share the entry"
    assert advised[:4] == [
        [],
        [f"C{share[1:]}."],
        [f"float32 holds whole numbers up to 16,777,216: if they are no larger, {share} for float32."],
        [
            "If this is the last, shorter batch: pad it to 10 rows, and mask what was added out of sums and means, to share the entry."
        ],
    ]
    explained = int(JAX_VERSION < (0, 12))  # later versions say nothing of another static function
    assert [len(each) for each in advised[4:]] == [0, 1, explained, 0, 1], advised
    assert advised[6] == explained * [
        "No edit is needed: this program is compiled once, and found again at the next such call."
    ]
    assert "The code is that of the lambda at" in advised[5][0]
    assert "wrap it in jnp.float32(...) in every call" in advised[8][0]


def test_a_short_jaxpr_has_a_line_for_each_equation():
    first = "c:f32[4] = jit[jaxpr={ lambda ; d:f32[]. let e:f32[] = mul d d; in (e,) }] a"
    short = f"{{ lambda ; a:f32[4] b:f32[]. let {first}; f:f32[4] = mul c b in (f,) }}"
    assert calls.lines_of(short) == [
        "{ lambda ; a:f32[4] b:f32[]. let",
        f"    {first}",
        "    f:f32[4] = mul c b",
        "  in (f,) }",
    ]
    assert calls.lines_of("{ lambda ; a:f32[4]. let  in (a,) }") == ["{ lambda ; a:f32[4]. let  in (a,) }"]
    long = str(jax.make_jaxpr(lambda x: jax.numpy.sin(x) * 2 + 1)(1.0))
    assert calls.lines_of(long) == long.splitlines()


@pytest.mark.skipif(
    shutil.which("node") is None, reason="needs a browser, or node, which runs the page's functions here"
)
def test_what_became_different_in_a_jaxpr_is_counted_wherever_it_stands():
    def lines(*equations):
        return ["{ lambda ; a:f32[4] b:f32[4] c:f32[]. let", *(f"    {each}" for each in equations), "  in (z,) }"]

    def static(value):
        return f"<class 'jax._src.tree_util.Static'> with pytree metadata Static(val={value})"

    both = "d:f32[4] = mul a c", "e:f32[4] = sub b d"
    pairs = [
        (lines("d:f32[4] = convert_element_type c", "z:f32[4] = mul a d"), lines("z:f32[4] = mul a c")),
        (lines(*both), lines(*both, "f:f32[3] = mul b c", "z:f32[3] = sub f e")),
        (lines(*both), lines(*reversed(both))),
        (lines(*both), lines(*both)),
        (lines("z:f32[4] = mul a c"), lines("z:f32[8] = mul a c")),
    ]
    reasons = [
        ["JAX says:", "  different input types:", "  * at x, now f32[4] and before f32[8]"],
        ["JAX says:", "  Tracing context doesn't match, e.g. due to config or context manager."],
        [
            "JAX says:",
            "  different input pytree:",
            f"  * at input path [1]['n'], now {static(3)} and before {static(2)}, so they differ",
        ],
        ["A new signature:", "  x: float32[3] before, float32[4] now", "    Pad it."],
        ["A new signature:", "  x: f32[3] before, f32[4] now", "  y: f32[3] before, f32[4] now", "    Pad them."],
    ]
    words = pathlib.Path(jitkit.explorer.__path__[0], "page", "words.js")
    script = (
        f"import {{ changes, whyOf }} from {json.dumps(words.as_uri())};"
        f"const [pairs, reasons] = {json.dumps([pairs, reasons])};"
        "console.log(JSON.stringify([pairs.map(([a, b]) => changes(a, b)), reasons.map((sentences) => whyOf({ sentences }))]));"
    )
    answer = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(answer.stdout) == [
        [
            "convert_element_type is gone",
            "mul and sub are new",
            "the operations are the same, in another order or of other values",
            "no line differs",
            "1 of 3 lines has other types or numbers",
        ],
        [
            "at x, now f32[4] and before f32[8]",
            "Tracing context doesn't match, e.g. due to config or context manager",
            "at input path [1]['n'], now 3 and before 2",
            "x: float32[3] before, float32[4] now. Pad it",
            "x: f32[3] before, f32[4] now; y: f32[3] before, f32[4] now. Pad them",
        ],
    ]


def test_a_miss_has_an_edit_on_the_page_or_a_line_that_there_is_none():
    @functools.partial(jitkit.jit, static_argnames="n")
    def grown(x, y, n):
        return (x * y)[:n]

    with calls.recording() as found:
        for rows, n in ((8, 2), (9, 2), (9, 3), (5, 3)):
            grown(jnp.ones(rows), jnp.ones(rows), n=n)
    entries = calls.as_data(found.of("grown"), "of a test")["entries"]
    advised = [[line.strip() for line in each["sentences"] if line.startswith("    ")] for each in entries]
    assert [len(each) for each in advised] == [0, 1, 1, 1]
    assert advised[1][0].endswith("If sizes keep coming, pad to a few of them, and mask what was added.")
    assert advised[2][0].endswith("If it is to compute with, and no shape, make it an ordinary argument.")
    assert "pad it to 9 rows" in advised[3][0]


def test_a_miss_of_jaxs_has_an_edit_or_a_line_that_there_is_none():
    with jax_calls.recording() as found:
        grown = jax.jit(lambda x, n: x * n, static_argnums=1)
        for rows, n in ((8, 2), (9, 2), (9, 3)):
            grown(jax.numpy.ones(rows), n)
        longer = jax.jit(lambda x: x + 1)
        for rows in (8, 9, 10, 11):
            longer(jax.numpy.ones(rows))
    lines = [each.miss.lines() for each in found.calls]
    advised = [[line.partition("advises: ")[2] for line in each if "advises" in line] for each in lines]
    said = [each[0].rpartition("such call. ")[2].partition(",")[0] for each in advised[1:3]]
    assert said[0] == "If sizes keep coming"
    if JAX_VERSION < (0, 12):  # later versions compare the third call with the first one
        assert said[1] == "If it is to compute with"
    assert advised[-1][0].startswith("x has come in 4 shapes")


def test_what_is_computed_in_several_kernels_and_what_goes_back_is_told():
    def two(x):
        y = x @ x + 1.0
        return jnp.maximum(y, 0) @ x, jnp.where(y > 0, 2.0, 1.0) @ x

    x = jitkit.ShapeDtypeStruct((64, 64), "float32")
    data = jitkit.explore(two, x, targets="cpu").data
    [cpu] = data["targets"]
    [add] = [number for number, each in enumerate(data["equations"]) if each["primitive"] == "add"]
    assert cpu["again"] == {str(add): 2}
    assert cpu["by_line"]["backward"] == 0
    [cpu] = jitkit.explore(lambda x: jnp.sin(x + 1.0), x, targets="cpu").data["targets"]
    assert cpu["again"] == {}
    [cpu] = jitkit.explore(jitkit.grad(lambda x: jnp.sin(x @ x).sum()), x, targets="cpu").data["targets"]
    assert 0 < cpu["by_line"]["backward"] <= cpu["by_line"]["kernels"]


def test_a_division_that_became_a_product_is_computed_in_several_kernels_too():
    def norm(x):
        mean = x.mean(axis=-1, keepdims=True)
        return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5)

    data = jitkit.explore(norm, jitkit.ShapeDtypeStruct((32, 64), "float32"), targets="cpu").data
    first = next(number for number, each in enumerate(data["equations"]) if each["primitive"] == "div")
    assert data["targets"][0]["again"][str(first)] == 2


def test_a_number_that_two_equations_spread_is_of_the_one_that_reads_it():
    """The 1 / 64 of both means has one name; the copy of it that only the second mean reads is the second's."""

    def norm(x):
        mean = x.mean(axis=-1, keepdims=True)
        return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5)

    data = jitkit.explore(norm, jitkit.ShapeDtypeStruct((32, 64), "float32"), targets="cpu").data
    first, second, _ = [number for number, each in enumerate(data["equations"]) if each["primitive"] == "div"]
    [cpu] = data["targets"]
    lines, links = cpu["hlo"]["lines"], cpu["hlo"]["equations"]
    for row, line in enumerate(lines):
        if " multiply(" in line and links[row] in ([first], [second]):
            name = line.split("(")[1].split(", ")[1].rstrip(")")
            spread = next(at for at, each in enumerate(lines) if each.strip().startswith(f"{name} = "))
            assert links[spread] == links[row], (line, lines[spread])


def test_a_constant_that_a_kernel_fills_is_not_called_removed():
    data = jitkit.explore(
        lambda x: x @ jnp.ones((3, 3)), jitkit.ShapeDtypeStruct((2, 3), "float32"), targets="cpu"
    ).data
    [cpu] = data["targets"]
    fate = cpu["fates"]["0"]
    assert (data["equations"][0]["primitive"], fate["fate"]) == ("broadcast_in_dim", "renamed")
    assert " broadcast(" in cpu["hlo"]["lines"][fate["row"]]
    assert 0 in cpu["hlo"]["equations"][fate["row"]]


def test_a_clamp_of_integers_is_both_its_bounds():
    """The bounds are converted, in the jaxpr, from Python's numbers."""

    def wrapped(s):
        i = jnp.clip((s * 4).astype(int), 0, 15)
        return jnp.where(i < 0, i + 16, i)

    data = jitkit.explore(wrapped, jitkit.ShapeDtypeStruct((100,), "float32"), targets="cpu").data
    said = {
        data["equations"][int(number)]["primitive"]: each["why"] for number, each in data["targets"][0]["fates"].items()
    }
    assert said["max"].startswith("is in clamp")
    assert said["min"].startswith("is now a clamp")


def test_what_a_loop_does_is_counted_for_all_its_turns_where_these_are_known():
    w = jitkit.ShapeDtypeStruct((64, 64), "float32")

    def scanned(w):
        return lax.scan(lambda c, _: (jnp.tanh(c @ w), None), w, None, length=25)[0]

    def unrolled(w):
        c = w
        for _ in range(25):
            c = jnp.tanh(c @ w)
        return c

    one, other = jitkit.explore(scanned, w, targets="cpu"), jitkit.explore(unrolled, w, targets="cpu")
    [cpu], [flat] = one.data["targets"], other.data["targets"]
    assert 25 * cpu["by_line"]["flops"] == pytest.approx(flat["by_line"]["flops"], rel=0.01)
    assert cpu["by_line"]["run_flops"] == pytest.approx(flat["by_line"]["run_flops"], rel=0.01)
    assert flat["by_line"]["run_bytes"] == flat["by_line"]["bytes"]
    [flops] = [each for each in beside.figures(one.data, other.data) if each[1] == "flops"]
    assert flops[2] == pytest.approx(flops[3], rel=0.01)

    def until(w):
        return lax.while_loop(lambda c: c.sum() < 9.0, lambda c: c @ w, w)

    known = jitkit.explore(until, w, targets="cpu").data
    assert known["targets"][0]["by_line"]["run_flops"] is None
    assert "flops of one turn" in [what for _, what, *_ in beside.figures(known, other.data)]


def test_numbers_that_are_computed_from_numbers_are_known():
    def f(x):
        low, high = jnp.full((3,), 1.0), jnp.full((3,), 2.0)
        return x * (high - low) + (low - 1.0)

    x = jitkit.ShapeDtypeStruct((3,), "float32")
    data = jitkit.explore(f, x, targets="cpu").data
    said = {
        data["equations"][int(number)]["primitive"]: each["why"] for number, each in data["targets"][0]["fates"].items()
    }
    assert (said["mul"], said["add"]) == ("x * 1.0 is x", "x + 0.0 is x")


def test_a_number_that_is_converted_is_the_converted_one():
    def f(x):
        return x * jnp.full((3,), 1.5).astype(int) + x // jnp.full((3,), True).astype(int)

    data = jitkit.explore(f, jitkit.ShapeDtypeStruct((3,), "int32"), targets="cpu").data
    whys = [fate["why"] for fate in data["targets"][0]["fates"].values()]
    assert "x * 1 is x" in whys
    assert "x / 1 is x" in whys


def test_what_a_scatter_applies_is_not_listed_and_a_page_of_a_hessian_is_written(tmp_path):
    def f(x):
        return x.at[jnp.array([0, 1])].add(2.0), jitkit.hessian(lambda x: (x**3).sum())(x)

    page = jitkit.explore(f, jitkit.ShapeDtypeStruct((3,), "float32"), targets="cpu")
    page.save(tmp_path / "f.html")
    applied = [
        n
        for n, each in enumerate(page.data["equations"])
        if page.data["equations"][each["parent"] or 0]["primitive"] == "scatter-add"
    ]
    assert applied
    assert not {*map(str, applied)} & {*page.data["targets"][0]["fates"]}


def test_random_bits_are_not_called_computed_again():
    def f(seed):
        one, other = jitkit.random.split(jitkit.random.key(seed))
        return jitkit.random.normal(one, (8,)), jitkit.random.uniform(other, (8,))

    data = jitkit.explore(f, jitkit.ShapeDtypeStruct((), "uint32"), targets="cpu").data
    again = {data["equations"][int(number)]["primitive"] for number in data["targets"][0]["again"]}
    assert not {name for name in again if name.startswith("random_")}
