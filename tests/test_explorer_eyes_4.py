"""Programs of new readers: loops of one iteration, and broadcasts that XLA moved past several operations."""

from __future__ import annotations

import knockout
import numpy as np
import pytest
from test_explorer_eyes_3 import answered, spec

import jitkit
import jitkit.numpy as jnp
from jitkit import lax


def linked(trial, opcode):
    """Return the primitives of the equations that each instruction with this opcode is linked to. All its links have to hold."""
    found = [at for at in trial.links() if trial.cones.at[at].opcode == opcode]
    assert [at for at in found if trial.link(at) != "right"] == []
    return [[trial.equations[n].primitive for n in trial.read.links.exact[at]] for at in found]


def test_a_sum_behind_a_loop_of_one_turn_is_not_of_the_loop_s_counter():
    def f(x):
        def turn(carry):
            return carry[0] + 1, jnp.broadcast_to(jnp.sin(carry[1]).sum(), (3,))

        return lax.while_loop(lambda carry: carry[0] < 1, turn, (0, x))[1].sum(keepdims=True)

    assert linked(knockout.Trial(f, (spec(3),)), "multiply") == [["reduce_sum"]]


def test_a_broadcast_that_was_moved_behind_several_operations_is_of_all_of_them():
    def f(x):
        rows = jnp.broadcast_to(x.sum(axis=1)[:, None], (4, 3)) != 0
        others = jnp.broadcast_to(jnp.sin(x).sum(axis=1)[:, None], (4, 3)) != 0
        chosen = jnp.broadcast_to((x[:, 0] > 0)[:, None], (4, 3))
        return jnp.where(chosen, rows, others).astype("float32") == 0.5

    [owners] = linked(knockout.Trial(f, (spec(4, 3),)), "broadcast")[-1:]
    assert owners.count("broadcast_in_dim") == 3
    assert {"select_n", "convert_element_type", "eq"} <= {*owners}


def test_a_widening_and_a_narrowing_undo_each_other_also_around_what_changes_nothing():
    def f(x):
        widened = lax.reduce_sum_p.bind(x.astype("float16").astype("float32"), axes=(), out_sharding=None)
        return jnp.sin(widened.astype("float16").astype("float32"))

    found, unknown = answered(f, spec(8))
    assert [name for name, _ in found["cancels"]] == ["convert_element_type"] * 2
    assert [name for name, _ in found["changes nothing"]] == ["reduce_sum"]
    assert unknown == []


def test_a_narrowing_is_not_undone_by_a_widening():
    found, _ = answered(lambda x: jnp.sin(x.astype("int8").astype("float32") + x), spec(8))
    assert "cancels" not in found


def test_what_is_in_a_loop_that_is_removed_is_dead_too():
    def f(x):
        turned, _ = lax.scan(lambda c, _: ((c * 5 + 1) ^ (c * 5), None), x, None, length=3)
        return x + (turned < turned)

    found, unknown = answered(f, spec(8, dtype="int32"))
    assert sorted(name for name, _ in found["dead"]) == ["add", "mul", "mul", "scan", "xor"]
    assert "duplicate" not in found
    assert unknown == []


def test_a_branch_that_is_never_taken_is_dead():
    def f(x):
        length = jnp.sum((x == x).astype("int32"))
        return lax.switch(jnp.clip(length - 4, 0, 2), [lambda x: x * 3, lambda x: x * 5 + 7, lambda x: x ^ 9], x)

    found, unknown = answered(f, spec(5, dtype="int32"))
    reasons = dict(found["dead"])
    assert sorted(name for name, _ in found["dead"]) == ["mul", "xor"]
    assert reasons["xor"] == "dead code: never taken, since the index is always 1"
    assert unknown == []


def test_two_products_that_read_the_same_and_different_constants_are_told_apart():
    kernel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], np.float32)[None, None]

    def f(x):
        across, down = (
            lax.conv_general_dilated(jnp.sin(x), each, (1, 1), "SAME") for each in (kernel, kernel.swapaxes(2, 3))
        )
        return jnp.sqrt(across**2 + down**2)

    trial = knockout.Trial(f, (spec(2, 1, 16, 16),))
    products = [n for n, each in enumerate(trial.equations) if each.primitive == "conv_general_dilated"]
    at = [at for at, each in trial.cones.at.items() if each.opcode == "convolution"]
    assert sorted(trial.read.links.exact[each] for each in at) == [[n] for n in products]
    assert [trial.link(each) for each in at] == ["right", "right"]
    assert len({trial.fates[str(n)]["row"] for n in products}) == 2


def batch_of_loops(starts, end):
    def solve(x, end):
        return lax.while_loop(
            lambda c: (c[0] < end) & (c[1] < 100), lambda c: (c[0] + jnp.sin(end - c[0]) * x, c[1] + 1), (0.0, 0)
        )

    return jitkit.vmap(solve, in_axes=(0, None))(starts, end)


def broadcasts(trial):
    """Return each broadcast's type, and the equations that it is linked to."""
    found = ((trial.cones.at[at].type[:3], trial.read.links.exact[at]) for at in trial.read.rows)
    return [
        (kind, numbers)
        for at, (kind, numbers) in zip(trial.read.rows, found, strict=True)
        if trial.cones.at[at].opcode == "broadcast"
    ]


def test_zeros_of_different_types_are_filled_by_different_kernels():
    trial = knockout.Trial(batch_of_loops, (spec(16), spec()))
    zeros = [n for n, each in enumerate(trial.equations) if each.constant and each.fill == 0]
    assert len(zeros) == 2
    fills = {n: kind for kind, numbers in broadcasts(trial) for n in numbers if n in zeros}
    assert [fills[n] for n in zeros] == ["f32", "s32"]
    assert all(len({*zeros}.intersection(numbers)) < 2 for _, numbers in broadcasts(trial))


def test_a_number_that_a_loop_s_condition_and_its_body_broadcast_belongs_to_both():
    trial = knockout.Trial(batch_of_loops, (spec(16), spec()))
    compares, subtracts = (
        next(n for n, e in enumerate(trial.equations) if e.primitive == name) for name in ("lt", "sub")
    )
    owners = [numbers for _, numbers in broadcasts(trial) if {compares, subtracts}.intersection(numbers)]
    assert owners
    assert all({compares, subtracts} <= {*numbers} for numbers in owners if len(numbers) > 1 or subtracts in numbers)
    assert [compares, subtracts] in owners


def test_a_clamp_is_of_the_maximum_and_of_the_minimum():
    [owners] = linked(knockout.Trial(lambda x: jnp.sin(jnp.clip(jnp.cos(x), -0.5, 0.5)), (spec(8),)), "clamp")
    assert sorted(owners) == ["max", "min"]


@pytest.mark.tail  # the flags of hurried tests make a loop of a scatter
def test_a_sum_with_a_scatter_into_zeros_is_in_the_scatter():
    def f(nodes, receive, messages, times=1):
        for _ in range(times):
            nodes = nodes + jnp.zeros_like(nodes).at[receive].add(messages)
            messages = jnp.sin(nodes[receive])
        return nodes.mean(0)

    args = (spec(10, 8), spec(20, dtype="int32"), spec(20, 8))
    assert [sorted(owners) for owners in linked(knockout.Trial(f, args), "scatter")] == [["add", "scatter-add"]]
    found, unknown = answered(f, *args)
    assert "adds to its other operand at once" in dict(found["merged"])["add"]
    assert unknown == []
    trial = knockout.Trial(lambda *args: f(*args, times=2), args)
    whys = [fate["why"] for fate in trial.fates.values() if "at once, not to zeros" in fate["why"]]
    assert len(whys) == len({*whys}) == 2


def test_the_arranged_operand_of_a_convolution_without_a_name_belongs_to_it():
    def f(x, kernel):
        y = lax.conv_general_dilated(jnp.sin(x), kernel, (1, 1), "SAME")
        return y * y, y * 3.0

    trial = knockout.Trial(f, (spec(2, 3, 8, 8), spec(1, 3, 3, 3)))
    assert linked(trial, "convolution") == [["conv_general_dilated"]]
    [kernel] = [at for at, each in trial.cones.at.items() if each.opcode == "transpose" and "[3,3,3,1]" in each.type]
    assert [trial.equations[n].primitive for n in trial.read.links.exact[kernel]] == ["conv_general_dilated"]
    assert trial.link(kernel) == "right"


def test_a_copy_of_a_copy_that_two_loops_begin_with_is_there_since_others_read_it():
    def loss(w, xs):
        return lax.scan(lambda c, x: (jnp.tanh(c @ w + x), None), jnp.zeros((4, 8)), xs)[0].sum()

    [cpu] = jitkit.explore(jitkit.grad(loss), spec(8, 8), spec(5, 4, 8), targets="cpu").data["targets"]
    lines = {
        line.split()[0]: row for row, line in enumerate(cpu["hlo"]["lines"]) if " copy(copy" in line and "s32[]" in line
    }
    assert lines
    assert all("others read this value, too" in cpu["hlo"]["notes"][str(row)] for row in lines.values())
