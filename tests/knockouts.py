"""Counts how many of the Explorer's sure answers are true, on random programs: `python tests/knockouts.py 200`."""

from __future__ import annotations

import collections
import functools
import random
import sys
import warnings

import hypothesis
import knockout
import random_strategies
from hypothesis import strategies as st
from random_programs import Setting, run

import jitkit
import jitkit.numpy as jnp

MOST = 6  # how many links, and how many reasons, are checked for one program; each takes up to three compilations
SHARD = 20  # programs of one seed


def verdicts(trial, seed):
    """Return how many of a program's sure links and reasons have each verdict, and a text for each wrong one."""
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


def drawn(seed, count):
    """Return `count` random programs, each with its arguments."""
    found = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count, database=None, deadline=None, phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(st.data())
    def draw(data):
        args = tuple(data.draw(st.lists(random_strategies.arguments(), min_size=1, max_size=3)))
        found.append((data.draw(random_strategies.programs(len(args))), args))

    draw()
    return found


def random_trials(seed, count):
    """Yield a `Trial` for each of at most `count` random programs that have different equations, and links or reasons to check.

    Instructions that cannot be traced are left out, and so are programs that cannot be lowered.
    """
    seen = set()
    for program, args in drawn(seed, 3 * count):
        if len(program.instructions) < 2 or len(seen) == count:
            continue
        function = functools.partial(run, Setting(jitkit, jnp, [], failed=set()), program)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                knockout.lower_main("f", jitkit.make_jaxpr(lambda *a, f=function: f(a))(*args).jaxpr, "cpu")
            except TypeError:  # `//` of complex numbers is refused when it is lowered, as by JAX
                continue
            trial = knockout.Trial(lambda *a, f=function: f(a), args)
        shape = tuple((each.primitive, each.results) for each in trial.equations)
        if shape not in seen and (list(trial.links()) or trial.fates):
            seen.add(shape)
            yield trial


def counted(trials):
    """Return the number of programs, the counts of their verdicts, and a text for each wrong one."""
    total, wrong, count = collections.Counter(), [], 0
    for count, trial in enumerate(trials, 1):
        found, its = verdicts(trial, count)
        total += found
        wrong += [f"program {count}: {each}" for each in its]
    return count, total, wrong


def main(programs):
    """Print the counts for this many programs, drawn with the seeds 0, 1, ..."""
    total, wrong, count = collections.Counter(), [], 0
    for seed in range(-(-programs // SHARD)):
        some, found, its = counted(random_trials(seed, min(SHARD, programs - count)))
        count, total = count + some, total + found
        wrong += [f"seed {seed}, {each}" for each in its]
    for what in ("link", "reason"):
        print(
            f"{count} programs, {what}s:",
            ", ".join(f"{n} {verdict}" for (of, verdict), n in sorted(total.items()) if of == what),
        )
    print(*wrong, sep="\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
