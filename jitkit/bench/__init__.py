"""Measurements: honest stopwatches for notebooks, and the benchmarks of `jitkit bench`. Only this package and the
Explorer import JAX as a user does. In the order of reading:

    timing, fresh                          functions -> seconds, in one process or each time in a new one
    benchmark, tables, words, machine      what all benchmarks have in common
    libraries, programs                    jitkit and JAX under one name, and the programs that are measured with both
    plotting                               the look of all figures
    notebook, calls                        `timed`, `compare`, `misses`, with their figures in `notebook_figures`, `calls_figure`
    peers, peers_rows, peers_derivatives,
    peers_large, peers_ladder,
    from_scratch                           `jitkit bench peers`, with its figures in `peers_figures`
    peers_loops, by_loops                  `jitkit bench loops`, with its figure in `peers_loops_figure`
    peers_growth                           `jitkit bench growth`, with its figure in `peers_growth_figure`
    eager, numba_programs                  `jitkit bench eager`, with its figure in `eager_figure`
    scaling, growth                        `jitkit bench scaling`, with its figure in `scaling_figure`
    seeds, claims                          `jitkit bench seeds`, with its figure in `seeds_figure`
    pitfalls                               `jitkit bench pitfalls`
"""

from __future__ import annotations

from ..base import late_rooms

late_rooms.attach(__name__)
