"""`jitkit tour`: shows one function at every stage of the JIT, then the clock, the pitfall, a network that learns, and
other chips; keeps a plot and the texts.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np

import jitkit
import jitkit.numpy as jnp

from ..problems import Problem, versions
from ..screens.terminal import Screen
from . import arrows as tour_arrows
from . import clock as tour_clock
from . import pitfall as tour_pitfall
from . import plot as tour_plot
from . import targets as tour_targets
from . import training as tour_training

SIZE = 1_000_000


def run(arguments: argparse.Namespace) -> int:
    """Take the tour, and return the exit status. Raise Problem if the folder for its files cannot be made."""
    start = time.monotonic()
    screen = Screen.of(sys.stdout)
    folder = arguments.output
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Problem(
            f"cannot write to {folder}: {error.strerror}. Choose another folder with --output DIR."
        ) from error

    screen.line()
    screen.line("One call of a jitted function, from Python to machine code", "bold")
    with screen.progress("loading XLA"):
        x_numpy = np.random.default_rng(0).standard_normal(SIZE, dtype=np.float32)
        x = jnp.asarray(x_numpy).block_until_ready()
    device = f"{os.cpu_count()} cores, running on {', '.join(sorted(str(device) for device in x.devices()))}"
    screen.text(versions())
    screen.text(device)

    tour_arrows.show_function(screen)
    tour_arrows.show_arrows(screen, x, folder)
    with screen.progress("measuring SELU"):
        times = tour_clock.measure(x, x_numpy)
    tour_clock.show(screen, times)
    with screen.progress("measuring the loops"):
        loops = tour_pitfall.measure()
    tour_pitfall.show(screen, loops)
    with screen.progress("training"):
        training = tour_training.measure()
    tour_training.show(screen, training)
    tour_targets.show(screen, x)

    screen.heading("Kept", f"{time.monotonic() - start:.0f} s in all")
    plot = folder / "tour.png"
    with screen.progress("plotting"):
        tour_plot.save(plot, times, loops, training.losses, f"jitkit {jitkit.__version__}, {device}")
    screen.line(f"  plot    {plot.resolve()}")
    for path in sorted(folder.glob("[0-9]-*")):
        screen.line(f"  text    {path.resolve()}")
    screen.text("Next: read jitkit/pjit/jitted.py, where the arrows meet; or measure: jitkit bench peers --quick", 2)
    return 0
