"""What the Explorer says surely, beside an oracle that looks at no names: `knockout`. On written and on random programs."""

from __future__ import annotations

import collections
import random
import warnings

import explorer_programs
import hypothesis
import jax
import knockout
import pytest
import random_strategies
from hypothesis import strategies as st
from random_programs import Setting, run
from tails import keeping

import jitkit
import jitkit.numpy as jnp
from jitkit import lax, nn

MOST = 6  # links, and reasons, that are tried of one program: each costs up to three compilations


def verdicts(trial, seed):
    """How many of a program's sure links and reasons hold, by verdict; and those that do not, in words."""
    draw, found, wrong = random.Random(seed), collections.Counter(), []
    links = list(trial.links())
    for at in draw.sample(links, min(MOST, len(links))):
        verdict = trial.link(at)
        found["link", verdict] += 1
        if verdict == "wrong":
            wrong.append(f"{at} is linked to {trial.read.links.exact[at]}")
    reasons = [int(number) for number, fate in trial.fates.items() if fate["sure"]]
    for number in draw.sample(reasons, min(MOST, len(reasons))):
        holds = trial.reason(number)
        found["reason", "right" if holds else "wrong"] += 1
        wrong += [] if holds else [f"{trial.equations[number].primitive}: {trial.fates[str(number)]}"]
    return found, wrong


def random_trials(seed, count):
    """Programs drawn by `random_strategies`, no two of the same equations, that jitkit can trace and of which something is left."""
    drawn = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=14 * count, database=None, deadline=None, phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(st.data())
    def draw(data):
        args = tuple(data.draw(st.lists(random_strategies.arguments(), min_size=1, max_size=3)))
        drawn.append((data.draw(random_strategies.programs(len(args))), args))

    draw()
    seen = set()
    for program, args in drawn:
        if len(program.instructions) < 2 or len(seen) == count:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                trial = knockout.Trial(lambda *a, p=program: run(Setting(jitkit, jnp, []), p, a), args)
            except (TypeError, ValueError, IndexError, ZeroDivisionError):  # of random programs, many are not possible
                continue
        shape = tuple((each.primitive, each.results) for each in trial.equations)
        if shape not in seen and (list(trial.links()) or trial.fates):
            seen.add(shape)
            yield trial


def hold(trials, share):
    """Whether this share of what is said surely of programs holds. Prints the count."""
    total, wrong, count = collections.Counter(), [], 0
    for count, trial in enumerate(trials, 1):
        found, its = verdicts(trial, count)
        total += found
        wrong += its
    right = total["link", "right"] + total["reason", "right"]
    print(f"{count} programs: {dict(total)}", *wrong, sep="\n")
    asked = right + total["link", "wrong"] + total["reason", "wrong"]
    assert asked
    assert right >= share * asked, wrong


def test_of_a_few_random_programs_all_that_is_said_surely_holds():
    hold(random_trials(7, 3), 1.0)


@pytest.mark.tail
def test_of_200_random_programs_99_of_100_sure_links_and_reasons_hold():
    hold(random_trials(7, 200), 0.99)


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
    trial.read.links.exact[at] = [2]  # what reads it
    assert trial.link(at) == "wrong"
    trial.fates["0"] = {"fate": "removed", "rule": "dead", "why": "", "sure": True}
    assert not trial.reason(0)
    trial.fates["1"] = {"fate": "removed", "rule": "duplicate", "why": "", "sure": True, "like": 0}
    assert not trial.reason(1)
    trial.fates["1"] = {"fate": "removed", "rule": "changes nothing", "why": "", "sure": True}
    assert not trial.reason(1)


def lines(function, *args):
    """The lines on which each line of a function is said to do arithmetic on this CPU: its offset, kernels and flops."""
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
