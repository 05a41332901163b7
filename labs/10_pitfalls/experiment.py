"""Requests of random lengths: how long they take, jitted plainly, and with the learner's buckets."""

from __future__ import annotations

import importlib
import random
import time


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Measure, request by request, the seconds that the requests so far have taken, and the programs compiled for them."""
    draw = random.Random(10)
    lengths = [draw.randint(1, 1000) for _ in range(20 if quick else 80)]
    numpy = importlib.import_module("numpy")
    rows = [numpy.ones(n, "float32") for n in lengths]
    mended = importlib.import_module(f"{jk.__name__}.kata.subjects.pitfalls")

    @jk.jit
    def variance(row):
        return jk.numpy.mean((row - jk.numpy.mean(row)) ** 2)

    seconds, programs = so_far(jk, variance, rows)
    bucket_seconds, bucket_programs = so_far(jk, lambda row: mended.variances([row]), rows)
    return {
        "requests": [float(i + 1) for i in range(len(rows))],
        "a program per length (s)": seconds,
        "a program per bucket (s)": bucket_seconds,
        "programs, one per length": programs,
        "programs, one per bucket": bucket_programs,
    }


def so_far(jk, function, rows):
    """Return, from empty caches, the seconds and the number of compiled programs after each row."""
    jk.clear_caches()
    seconds, programs = [0.0], [0.0]
    for row in rows:
        with jk.base.stage_log.listen() as events:
            start = time.perf_counter()
            jk.block_until_ready(function(row))
            seconds.append(seconds[-1] + time.perf_counter() - start)
        programs.append(programs[-1] + sum(event.stage == "compilation" for event in events))
    return seconds[1:], programs[1:]


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw two lines: one grows at every new length, the other at every new bucket, of which there are few."""
    n = data["requests"]
    for kind, color, style in (("length", "#D55E00", "--"), ("bucket", "#0072B2", "-")):
        line = data[f"a program per {kind} (s)"]
        axes.plot(n, line, style, color=color, linewidth=2)
        text = f"one per {kind}: {data[f'programs, one per {kind}'][-1]:.0f} programs, {line[-1]:.2g} s"
        axes.annotate(text, (n[-1], line[-1]), xytext=(-6, 8), textcoords="offset points", ha="right", color=color)
    axes.set_xlabel("requests so far, of random lengths up to 1000")
    axes.set_ylabel("time that they took in all, in seconds")
    axes.set_title("Every new shape is a new program")
    axes.set_xlim(0, n[-1])
    axes.set_ylim(0, 1.2 * max(max(data[f"a program per {kind} (s)"]) for kind in ("length", "bucket")))
    axes.grid(True, alpha=0.3)
