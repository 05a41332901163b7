"""The Explorer's sure answers, checked by an oracle that does not read names (`knockout`), on given and on random programs."""

from __future__ import annotations

import collections

import explorer_programs
import jax
import knockout
import pytest
from knockouts import SHARD, counted, random_trials
from tails import keeping
from twin import JAX_VERSION

import jitkit
import jitkit.numpy as jnp
from jitkit import lax, nn
from jitkit.explorer import fates, hlo, ours, stablehlo


def hold(trials, share):
    """Check that at least this share of the Explorer's sure answers holds; print the counts."""
    count, total, wrong = counted(trials)
    right = total["link", "right"] + total["reason", "right"]
    print(f"{count} programs: {dict(total)}", *wrong, sep="\n")
    asked = right + total["link", "wrong"] + total["reason", "wrong"]
    assert asked
    assert right >= share * asked, wrong


def test_of_a_few_random_programs_all_that_is_said_surely_holds():
    hold(random_trials(0, 3), 1.0)


@pytest.mark.tail
@pytest.mark.parametrize("seed", range(200 // SHARD))
def test_of_200_random_programs_99_of_100_sure_links_and_reasons_hold(seed):
    hold(random_trials(seed, SHARD), 0.99)


NAMES = list(explorer_programs.programs(jitkit))


@pytest.mark.parametrize("name", keeping(NAMES, "selu"))
def test_of_a_tutorial_s_program_all_that_is_said_surely_holds(name):
    function, args = explorer_programs.programs(jitkit)[name]
    hold([knockout.Trial(function, args)], 0.99)


def spec(*shape):
    return jitkit.ShapeDtypeStruct(shape, "float32")


def test_the_oracle_finds_a_wrong_link_and_a_wrong_reason():
    trial = knockout.Trial(lambda x: jnp.sin(x) * jnp.cos(x), (spec(5),))
    [at] = [at for at, each in trial.cones.at.items() if each.opcode == "sine"]
    assert trial.link(at) == "right"
    trial.read.links.exact[at] = [1]  # the cosine
    assert trial.link(at) == "wrong"
    trial.read.links.exact[at] = [2]  # its reader
    assert trial.link(at) == "wrong"
    trial.fates["0"] = {"fate": "removed", "rule": "dead", "why": "", "sure": True}
    assert not trial.reason(0)
    trial.fates["1"] = {"fate": "removed", "rule": "duplicate", "why": "", "sure": True, "like": 0}
    assert not trial.reason(1)
    trial.fates["1"] = {"fate": "removed", "rule": "changes nothing", "why": "", "sure": True}
    assert not trial.reason(1)


def test_a_product_that_is_spread_afterwards_is_linked_to_all_that_spread():
    trial = knockout.Trial(lambda x: jnp.sin(jnp.broadcast_to(x, (3, 3)) * x[None]), (spec(3),))
    [product] = [at for at, each in trial.cones.at.items() if each.opcode == "multiply"]
    [spread] = [at for at, each in trial.cones.at.items() if each.opcode == "broadcast"]
    assert trial.read.links.rules[spread] == "spread behind it, not before"
    assert trial.link(product) == trial.link(spread) == "right"
    trial.read.links.exact[spread] = trial.read.links.called[spread]  # links by the name alone
    assert trial.link(spread) == "wrong"


def test_a_broadcast_that_was_moved_behind_two_operations_is_linked_to_both():
    def f(x, y, z):
        return jnp.where(x + z * 0 != 0, jnp.float32(3), y)

    trial = knockout.Trial(f, (spec(3, 3), spec(), jitkit.ShapeDtypeStruct((2, 3, 3), "int32")))
    spread = [
        at for at, each in trial.cones.at.items() if trial.read.links.rules.get(at) == "spread behind it, not before"
    ]
    assert spread
    hold([trial], 1.0)


def test_several_broadcasts_that_became_one_are_linked_to_it_whatever_its_name():
    def f(x):
        return -jnp.broadcast_to(jnp.sin(jnp.broadcast_to(jnp.sin(x), (3,)))[:, None], (3, 3)).T

    trial = knockout.Trial(f, (spec(),))
    [spread] = [at for at, each in trial.cones.at.items() if each.opcode == "broadcast"]
    made = [n for n, each in enumerate(trial.equations) if each.primitive == "broadcast_in_dim"]
    assert {*made} <= {*trial.read.links.exact[spread]}
    assert trial.read.links.rules[spread] == "spread behind it, not before"
    hold([trial], 1.0)


def test_a_product_that_makes_its_transpose_at_once_is_of_both():
    trial = knockout.Trial(lambda h, w: jnp.sin((jnp.cos(h) @ w).T), (spec(6, 4), spec(4, 5)))
    [product] = [at for at, each in trial.cones.at.items() if each.opcode == "dot"]
    linked = [trial.equations[n].primitive for n in trial.read.links.exact[product]]
    assert linked == ["dot_general", "transpose"]
    assert trial.read.flops[trial.read.links.exact[product][0]] == 2 * 6 * 4 * 5
    hold([trial], 1.0)
    trial.read.links.exact[product] = [0, *trial.read.links.exact[product]]  # the cosine does not belong to it
    assert trial.link(product) == "wrong"


def test_a_reciprocal_root_is_of_the_square_root_and_of_the_division_by_it():
    trial = knockout.Trial(lambda x: x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5), (spec(4, 8),))
    [root] = [at for at, each in trial.cones.at.items() if each.opcode == "rsqrt"]
    assert [trial.equations[n].primitive for n in trial.read.links.exact[root]] == ["sqrt", "div"]
    hold([trial], 1.0)


def test_what_a_conversion_computes_elsewhere_does_not_make_a_link_wrong():
    def f(x, y):
        return lax.cond(x.astype(bool), lambda x: jnp.where(x != 0, x, y), lambda x: jnp.sin(y).astype("int32"), x)

    hold([knockout.Trial(f, (jitkit.ShapeDtypeStruct((), "int32"), jitkit.ShapeDtypeStruct((), "int32")))], 1.0)


def test_what_two_equations_need_a_part_of_is_of_each():
    z = jitkit.ShapeDtypeStruct((3,), "complex64")
    trial = knockout.Trial(lambda z: (jnp.real(z) > 0, z * z), (z,))
    hold([trial], 1.0)


def test_a_choice_between_two_that_are_spread_is_spread_afterwards():
    def f(a, x, y):
        return jnp.where(a > 0, jnp.broadcast_to(x, (2, 3)), y)

    trial = knockout.Trial(f, (spec(), spec(), spec()))
    hold([trial], 1.0)


def test_what_goes_through_two_that_undo_each_other_is_not_called_dead():
    def f(xs):
        return lax.map(lambda x: jnp.broadcast_to(jnp.cos(x).sum(), (1,)) != 0, xs)

    trial = knockout.Trial(f, (spec(3, 1),))
    [cos] = [number for number, each in enumerate(trial.equations) if each.primitive == "cos"]
    assert trial.fates.get(str(cos), {}).get("rule") != "dead"


def test_what_is_made_of_no_argument_and_was_moved_is_not_called_folded():
    trial = knockout.Trial(lambda x: x.at[jnp.flip(1 - jnp.arange(2))].add(1.0), (spec(2, 3),))
    hold([trial], 1.0)
    [moved] = [number for number, each in enumerate(trial.equations) if each.primitive == "sub"]
    assert trial.fates.get(str(moved), {}).get("rule") != "constant"
    trial.fates[str(moved)] = {"fate": "removed", "rule": "constant", "why": "", "sure": True}
    assert not trial.reason(moved)


def test_the_oracle_tells_a_true_merger_that_is_there_twice_from_a_false_one():
    def f(x, y):
        s = jnp.sign(x)
        return lax.cond(
            jnp.any(s), lambda s: lax.cond(jnp.any(s), lambda s: s * 3, lambda s: s, s), lambda s: -s, s
        ), jnp.sin(y)

    trial = knockout.Trial(f, (ints(1), spec(5)))
    merged = [int(number) for number, fate in trial.fates.items() if fate["rule"] == "merged"]
    assert len(merged) == 2
    assert all(map(trial.reason, merged))
    [sine] = [at for at, each in trial.cones.at.items() if each.opcode == "sine"]
    for number in merged:
        trial.fates[str(number)]["row"] = trial.read.rows[sine]
        assert not trial.reason(number)


def test_the_oracle_tells_a_true_clamp_from_a_false_one():
    trial = knockout.Trial(lambda x: jnp.sin(jnp.clip(jnp.cos(x), -1, 0)), (spec(5),))
    by_primitive = {each.primitive: number for number, each in enumerate(trial.equations)}
    fate = trial.fates[str(by_primitive["max"])]
    assert fate["rule"] == "clamp"
    assert trial.reason(by_primitive["max"])
    for wrong in ("cos", "sin"):
        trial.fates[str(by_primitive[wrong])] = fate
        assert not trial.reason(by_primitive[wrong])


def test_the_condition_of_a_loop_is_of_its_equation_and_of_no_other():
    def f(n, x):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 2, c[1] * 3.0), (0, x))[1]

    trial = knockout.Trial(f, (ints(), spec(3)))
    by_primitive = {each.primitive: number for number, each in enumerate(trial.equations)}
    [end] = [at for at in trial.links() if trial.cones.at[at].opcode == "compare"]
    assert trial.link(end) == "right"
    for other in ("add", "mul"):
        trial.read.links.exact[end] = [by_primitive[other]]
        assert trial.link(end) != "right"
    [product] = [at for at in trial.links() if trial.cones.at[at].opcode == "multiply"]
    trial.read.links.exact[product] = [by_primitive["lt"]]
    assert trial.link(product) != "right"


def test_a_constant_that_two_equations_need_is_of_the_one_that_reads_it():
    trial = knockout.Trial(lambda x, y: (jnp.sin(x + 1.0), (y > 1.0) & (y > 1.0)), (spec(3), spec(3)))
    spread = [at for at in trial.links() if trial.cones.at[at].opcode == "broadcast"]
    assert {trial.link(at) for at in spread} == {"right"}
    one, other = (trial.read.links.exact[at] for at in spread)
    for at, numbers in zip(spread, (other, one), strict=True):
        trial.read.links.exact[at] = numbers
        assert trial.link(at) != "right"


def ints(*shape):
    return jitkit.ShapeDtypeStruct(shape, "int32")


# a program, and the reason for each removed equation: primitive -> words
FOLDED = {
    "a constant predicate": (
        lambda x, y: jnp.where(True, x, 2 * y) + 1, [spec(8), spec(8)],
        {"mul": "once the", "jit": "its condition is always True", "select_n": "its condition is always True"},
    ),
    "a predicate of constants": (
        lambda x, y: jnp.where(jnp.ones(8, bool), x, y) * 2, [spec(8), spec(8)],
        {"broadcast_in_dim": "constant", "jit": "its condition is always True", "select_n": "its condition is always True"},
    ),
    "a mask that is never true": (
        lambda x, y: jnp.where((x > 0) & False, x, y), [spec(8), spec(8)],
        {"gt": "once the and", "and": "x & 0 is 0", "jit": "always False", "select_n": "always False"},
    ),
    "two choices that are one": (lambda x, y: jnp.where(x > 0, y, y) * x, [spec(8), spec(8)], {
        "gt": "once the", "jit": "both of its choices are the same", "select_n": "both of its choices are the same",
    }),
    "an integer equal to itself": (
        lambda x, y: jnp.where(x == x, y, 2 * y), [ints(8), spec(8)],
        {"eq": "x == x is True", "mul": "once the", "jit": "always True", "select_n": "always True"},
    ),
    "a difference of one integer": (lambda x, y: (x - x) + y, [ints(8), ints(8)], {"sub": "x - x is 0", "add": "x + 0 is x"}),
    "a product with zero": (lambda x, y: x * 0 + y, [ints(8), ints(8)], {"mul": "x * 0 is 0", "add": "x + 0 is x"}),
    "a maximum of one value": (lambda x: jnp.maximum(x, x) + jnp.sin(x), [spec(8)], {"max": "max(x, x) is x"}),
    "a branch that is never taken": (
        lambda x: lax.cond(True, lambda x: x + 1, lambda x: x * 2, x), [spec(8)], {"mul": "dead code"},
    ),
    "a float beside itself, which may be nan": (lambda x, y: jnp.where(x == x, y, 2 * y), [spec(8), spec(8)], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDED)
def test_what_can_be_told_from_the_operands_has_its_reason(name):
    function, args, words = FOLDED[name]
    trial = knockout.Trial(function, args)
    told = {trial.equations[int(number)].primitive: fate for number, fate in trial.fates.items()}
    assert told.keys() == words.keys()
    assert {
        primitive for primitive, fate in told.items() if not fate["sure"] or words[primitive] not in fate["why"]
    } == set()
    hold([trial], 1.0)


def test_what_a_function_does_that_a_dead_branch_calls_too_is_not_dead():
    shared = jitkit.jit(lambda x: jnp.tanh(x) * 1.0)

    def f(p, x):
        lax.cond(p, lambda x: shared(x), lambda x: x, x)
        return shared(x)

    trial = knockout.Trial(f, (jitkit.ShapeDtypeStruct((), "bool"), spec(8)))
    [why] = {fate["why"] for n, fate in trial.fates.items() if trial.equations[int(n)].primitive == "mul"}
    assert why == "x * 1.0 is x"


def spread_twice(x, y):
    a = y + x
    return a, x < a


def spread_in_a_branch(p, x, y):
    return lax.cond(p, spread_twice, lambda x, y: (y, y < 3), x, y)


def spread_in_a_loop(x, y):
    return lax.fori_loop(0, 9, lambda i, c: (c[0] + 1, jnp.where(c[0] < c[1], c[1] * c[0], c[1])), (x, y))


def spread_by_hand_too(x, y):
    return (jnp.broadcast_to(x, (7,)) * y).astype("float32"), jnp.maximum(x, y)


def spread_for_three(x, y):
    return jnp.cumsum(x + y), x * y, jnp.cumsum(jnp.minimum(y, x))


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (spread_twice, [ints(), ints(7)]),
        (spread_in_a_branch, [jitkit.ShapeDtypeStruct((), "bool"), ints(), ints(7)]),
        (spread_in_a_loop, [ints(), ints(7)]),
        (spread_by_hand_too, [ints(), ints(7)]),
        (spread_for_three, [ints(), ints(7)]),
    ],
)
def test_a_broadcast_that_several_equations_wrote_is_of_all_of_them(function, args):
    trial = knockout.Trial(function, args)
    spread = [at for at in trial.links() if trial.cones.at[at].opcode == "broadcast" and trial.cones.depends(at)]
    assert {trial.link(at) for at in spread} == {"right"}
    assert max(len(trial.read.links.exact[at]) for at in spread) > 1
    for at in spread:
        numbers = trial.read.links.exact[at]
        for number in numbers:  # it stays while one of the equations is there, since each computes it
            others = [each for each in numbers if each != number]
            assert not others or trial.cones.of(at) in trial.without_operands(*others).all


def lines(function, *args):
    """Return for each line of a function that does arithmetic on this CPU its offset, its kernels and its flops."""
    data = jitkit.explore(function, *args, targets=["cpu"]).data
    [cpu] = data["targets"]
    first = function.__code__.co_firstlineno
    found = {data["python"]["numbers"][each["row"]] - first: each for each in cpu["by_line"]["lines"]}
    return {line: (len(each["kernels"]), each["flops"]) for line, each in found.items()}, cpu


def test_the_second_call_of_a_library_function_is_at_its_own_line():
    def relus(x, y):
        a = nn.relu(x)
        b = nn.relu(y * 2.0)
        return a @ b

    found, cpu = lines(relus, spec(8, 8), spec(8, 8))
    assert {line: flops for line, (_, flops) in found.items()} == {1: 64, 2: 128, 3: 1024}
    assert cpu["fates"] == {}


def test_a_function_of_the_user_s_that_is_called_twice_is_there_twice():
    @jitkit.jit
    def layer(x, w):
        return jnp.tanh(x @ w)

    def net(x, w, v):
        x = layer(x, w)
        return layer(x, v)

    data = jitkit.explore(net, spec(8, 8), spec(8, 8), spec(8, 8), targets=["cpu"]).data
    [cpu] = data["targets"]
    assert cpu["fates"] == {}
    [line] = cpu["by_line"]["lines"]
    assert (line["flops"], line["shared"]) == (2 * (1024 + 64), 0)


def test_a_product_that_has_a_neighbours_name_is_at_its_own_line():
    def scores(x, wq, wk, wo):
        q = x @ wq
        k = x @ wk
        s = q @ k.T
        return s @ wo

    found, _ = lines(scores, spec(128, 64), spec(64, 64), spec(64, 64), spec(128, 8))
    product = 2 * 128 * 64 * 64
    assert {line: flops for line, (_, flops) in found.items()} == {
        1: product,
        2: product,
        3: 2 * product,
        4: 2 * 128 * 128 * 8,
    }


def test_a_turn_of_a_loop_reads_the_carry_that_no_result_is():
    def turns(n):
        def body(c):
            n, k = c
            m = n + 0
            return m - 3, k + 1

        return lax.while_loop(lambda c: c[0] > 1, body, (n, 0))[1]

    cpu = lines(turns, jitkit.ShapeDtypeStruct((), "int32"))[1]
    assert {fate["rule"] for fate in cpu["fates"].values()}.isdisjoint({"dead"})


@pytest.mark.parametrize("name", ["network", "norm", "attention", "cross_entropy"])
def test_bytes_and_flops_by_line_add_up_to_the_compiler_s(name):
    function, args = explorer_programs.programs(jitkit)[name]
    [cpu] = jitkit.explore(function, *args, targets=["cpu"]).data["targets"]
    numbers, told = cpu["cost"]["numbers"], cpu["by_line"]
    assert told["bytes"] == numbers["bytes accessed"]
    assert told["flops"] == numbers["flops"] + numbers["transcendentals"]
    assert (told["besides"], told["flops_besides"]) == (0, 0)


def test_a_slice_is_charged_as_a_slice():
    def f(table, i):
        return lax.dynamic_slice(table, (i, 0), (1, 8)) * 2.0

    cpu = lines(f, spec(1000, 8), jitkit.ShapeDtypeStruct((), "int32"))[1]
    assert cpu["by_line"]["bytes"] <= 3 * 4 * 8


@pytest.mark.parametrize("library", [jitkit, jax], ids=["jitkit", "jax"])
def test_the_way_back_of_a_gradient_is_told_from_the_way_forward(library):
    def loss(w, x):
        h = library.numpy.tanh(x @ w)
        return (h**2).sum()

    types = [library.ShapeDtypeStruct(shape, "float32") for shape in ((8, 8), (4, 8))]
    data = jitkit.explore(library.jit(library.grad(loss)), *types, targets=["cpu"]).data
    ways = collections.Counter((each["primitive"], each["way"]) for each in data["equations"])
    assert ways["tanh", "forward"] == 1
    assert ways["dot_general", "forward"] == ways["dot_general", "backward"] == 1
    first = loss.__code__.co_firstlineno
    [cpu] = data["targets"]
    rows = [each for each in cpu["by_line"]["lines"] if each["row"] is not None]
    told = {data["python"]["numbers"][each["row"]] - first: each for each in rows}
    assert 0 < told[1]["backward"] < len(told[1]["kernels"])


ONE_REDUCER = """\
HloModule jit_f

%add.1 (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0), metadata={op_name="jit(f)/eqn~1/reduce_sum"}
  %b = f32[] parameter(1), metadata={op_name="jit(f)/eqn~1/reduce_sum"}
  ROOT %s = f32[] add(%a, %b), metadata={op_name="jit(f)/eqn~1/reduce_sum"}
}

ENTRY %main.9 (x: f32[8,4]) -> (f32[8], f32[4]) {
  %x = f32[8,4] parameter(0)
  %zero = f32[] constant(0)
  %rows = f32[8] reduce(%x, %zero), dimensions={1}, to_apply=%add.1, metadata={op_name="jit(f)/eqn~1/reduce_sum"}
  %columns = f32[4] reduce(%x, %zero), dimensions={0}, to_apply=%add.1, metadata={op_name="jit(f)/eqn~2/reduce_sum"}
  ROOT %out = (f32[8], f32[4]) tuple(%rows, %columns)
}
"""


def test_a_computation_that_two_reductions_apply_links_neither_to_the_other():
    exact = hlo.read(ONE_REDUCER).links.exact
    assert (exact["main.9", "rows"], exact["main.9", "columns"]) == ([1], [2])
    assert exact["add.1", "s"] == [1, 2]


ONLINE_SOFTMAX = """\
HloModule jit_f

ENTRY %main.9 (s: f32[8,8], v: f32[8,4]) -> f32[8,4] {
  %s = f32[8,8] parameter(0)
  %v = f32[8,4] parameter(1)
  %online-softmax = f32[8,4] custom-call(%s, %v), custom_call_target="tpu_custom_call"
  ROOT %copy.1 = f32[8,4] copy(%online-softmax)
}
"""


def test_a_kernel_without_a_name_that_makes_the_result_is_of_the_product_at_its_end_too():
    args = jitkit.numpy.ones((8, 8)), jitkit.numpy.ones((8, 4))
    subject = ours.subject(lambda s, v: nn.softmax(s) @ v, args)
    left = hlo.read(ONLINE_SOFTMAX, subject.equations)
    wrote = stablehlo.written(stablehlo.listing(subject.shown("cpu")))
    found = fates.fates(subject.equations, wrote, left, {})
    product = len(subject.equations) - 1
    assert subject.equations[product].primitive == "dot_general"
    assert product in left.links.exact["main.9", "online-softmax"]
    assert found[str(product)]["rule"] == "merged"


MERGED = """\
HloModule jit_f

ENTRY %main.9 (u: f32[4,8], v: f32[4,8], h: f32[6,4]) -> (f32[6,8], f32[6,8]) {
  %u = f32[4,8] parameter(0)
  %v = f32[4,8] parameter(1)
  %h = f32[6,4] parameter(2)
  %a = f32[4,8] sine(%u), metadata={op_name="jit(f)/eqn~0/sin"}
  %b = f32[4,8] sine(%v), metadata={op_name="jit(f)/eqn~4/sin"}
  %both = f32[4,16] concatenate(%a, %b), dimensions={1}, metadata={op_name="jit(f)/eqn~0/sin"}
  %dot.1 = f32[6,16] dot(%h, %both), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/eqn~4/sin"}
  %p = f32[6,8] slice(%dot.1), slice={[0:6], [0:8]}
  %q = f32[6,8] slice(%dot.1), slice={[0:6], [8:16]}
  ROOT %out = (f32[6,8], f32[6,8]) tuple(%p, %q)
}
"""


def test_a_product_of_several_is_of_those_that_read_through_what_is_gone_too():
    args = jitkit.numpy.ones((4, 8)), jitkit.numpy.ones((4, 8)), jitkit.numpy.ones((6, 4))
    subject = ours.subject(lambda u, v, h: (h @ jnp.sin(u).T.T, h @ jnp.sin(v)), args)
    names = [each.primitive for each in subject.equations]
    assert names == ["sin", "transpose", "transpose", "dot_general", "sin", "dot_general"]
    left = hlo.read(MERGED, subject.equations)
    fates.fates(subject.equations, stablehlo.written(stablehlo.listing(subject.shown("cpu"))), left, {})
    assert sorted(left.links.exact["main.9", "dot.1"]) == [3, 5]
    assert left.flops[3] == left.flops[5] == 2 * 6 * 4 * 8


def told(trial):
    """Return the rules of the equations' fates, each with whether it is sure, by primitive, in the order of the
    program.
    """
    found = collections.defaultdict(list)
    for number, fate in trial.fates.items():
        found[trial.equations[int(number)].primitive].append((fate["rule"], fate["sure"]))
    return dict(found)


def test_what_is_true_for_all_arguments_is_said_to_be_so_and_not_to_be_computed_once():
    def f(x):
        always = lax.switch(jnp.sum(x == x, dtype="int32"), [jnp.sin, jnp.cos], x.astype("float32"))
        return always, (x & x) == x

    trial = knockout.Trial(f, (ints(),))
    first = next(n for n, each in enumerate(trial.equations) if each.primitive == "eq")
    assert trial.fates[str(first)]["rule"] == "constant"
    assert "x == x is True" in trial.fates[str(first)]["why"]
    hold([trial], 1.0)


def test_a_call_that_nothing_reads_says_nothing_of_what_its_function_does_in_another_call():
    def f(x):
        one = x == x
        constant = one // one
        x // constant  # its jaxpr for `where` is the same object, and nothing reads the result
        return constant * 2

    trial = knockout.Trial(f, (ints(),))
    [where] = [n for n, each in enumerate(trial.equations) if each.primitive == "select_n"]
    assert "its condition is always False" in trial.fates[str(where)]["why"]
    hold([trial], 1.0)


def test_what_is_dead_inside_of_a_call_or_of_a_loop_is_told_as_dead():
    two = jitkit.jit(lambda x: (jnp.sin(x), jnp.log(x)))

    def f(x, unread):
        wave, _ = two(x)
        _, ys = lax.scan(lambda c, x: (c, (x + 1, c + unread)), jnp.float32(0), x)
        return wave, ys[0]

    trial = knockout.Trial(f, (spec(8), jnp.float32(2)))
    assert told(trial)["log"] == [("dead", True)]
    assert told(trial)["add"] == [("dead", True)]
    hold([trial], 1.0)


def test_two_factors_that_make_one_undo_each_other():
    for f in (lambda x: jnp.sin(x * 2.0 / 2.0), lambda x: jnp.sin(2.0 * x * 0.5), lambda x: jnp.sin(x / 3.0 * 3.0)):
        trial = knockout.Trial(f, (spec(8),))
        if JAX_VERSION < (0, 12):  # the XLA of later versions keeps `x / 3.0 * 3.0`
            assert [rules for rules in told(trial).values() if ("cancels", True) not in rules] == []
        hold([trial], 1.0)
    assert "cancels" not in str(told(knockout.Trial(lambda x: jnp.sin(x * 2.0 / 4.0), (spec(8),))))


def test_what_only_arranges_the_operand_of_a_product_without_a_name_is_in_that_product():
    trial = knockout.Trial(lambda h, u: jnp.tanh(h @ u[0]), (spec(16), spec(2, 16, 16)))
    assert told(trial) == {"squeeze": [("merged", True)]}
    hold([trial], 1.0)


def test_a_row_that_a_scan_gives_to_each_turn_is_merged_into_the_operation_that_spreads_it():
    def f(x, rows):
        return lax.scan(lambda c, row: (jnp.tanh(c + row), None), x, rows)[0]

    trial = knockout.Trial(f, (spec(4, 8), spec(3, 8)))
    assert told(trial)["broadcast_in_dim"] == [("merged", True)]
    hold([trial], 1.0)


def test_an_operation_without_a_name_is_of_the_equation_whose_function_it_alone_applies():
    def f(p, x):
        return lax.cond(p, jnp.cumsum, lambda x: x * 2, x)

    trial = knockout.Trial(f, (jitkit.ShapeDtypeStruct((), "bool"), spec(16)))
    assert "cumsum" not in told(trial)
    [window] = [at for at, each in trial.cones.at.items() if each.opcode == "reduce-window"]
    assert [trial.equations[n].primitive for n in trial.read.links.exact[window]] == ["cumsum"]
    hold([trial], 1.0)


def test_a_square_that_a_third_power_has_computed_is_that_one_s():
    trial = knockout.Trial(lambda x: (jnp.sin(x) ** 3, jnp.sin(x) ** 2), (spec(8),))
    assert {each for each, sure in told(trial)["integer_pow"] if sure} == {"renamed"}
    hold([trial], 1.0)


def test_what_a_sum_of_negated_terms_reads_is_found_behind_the_negation_of_the_sum():
    trial = knockout.Trial(lambda x, y: (-x).sum(1).reshape(8, 1) / y, (spec(8, 4), spec(8, 1)))
    assert told(trial)["reshape"] != [("unknown", False)]
    hold([trial], 1.0)


def test_a_conversion_in_front_of_a_product_is_of_the_product_and_not_of_what_it_converts():
    x, y = (jitkit.ShapeDtypeStruct(shape, "float16") for shape in ((6, 4), (4, 5)))
    trial = knockout.Trial(lambda x, y, i: (x[i], x[i] @ jnp.log1p(y)), (x, y, ints(6)))
    widened = [at for at, each in trial.cones.at.items() if each.opcode == "convert" and each.type.startswith("f32")]
    assert widened
    for at in widened:
        named = {trial.equations[n].primitive for n in trial.read.links.exact[at]}
        # later versions of XLA convert in a separate loop, which the page links to the gather that it reads
        assert named == {"dot_general"} or (JAX_VERSION >= (0, 12) and named == {"gather"})
        assert trial.link(at) != "wrong"


def test_a_loop_without_a_turn_is_told_as_such():
    trial = knockout.Trial(lambda x: lax.scan(lambda c, x: (c + 1, x * 2), 1.0, x), (spec(0),))
    assert told(trial) == {"scan": [("empty", True)], "add": [("dead", True)], "mul": [("dead", True)]}
    hold([trial], 1.0)


def test_a_transpose_is_found_though_xla_writes_none_where_it_is_a_result():
    trial = knockout.Trial(
        lambda x: jnp.broadcast_to(x.T[:, None], (3, 2, 3)), (jitkit.ShapeDtypeStruct((3, 3), "bool"),)
    )
    [at] = [each for each in trial.links() if trial.cones.at[each].opcode == "transpose"]
    assert trial.link(at) == "right"
    after = knockout.Trial(lambda x: jnp.broadcast_to(jnp.sin(x).T[:, None], (3, 2, 3)).sum(1) * x, (spec(3, 3),))
    sine = next(n for n, each in enumerate(after.equations) if each.primitive == "sin")
    moves = [each for each in after.cones.at if after.cones.at[each].opcode == "transpose"]
    assert not any(after.is_of(each, [sine]) == "right" for each in moves)
