"""The ladder: from an empty file to one's own JAX. A package instead of functions, and else what the labs have.

rungs      labs/from_scratch/NN_name -> Rung: page, programs, hints
climbing   a package + rungs -> verdicts: the programs of these rungs, run on the package and on jitkit
place      a folder with a package, `xla.py`, and what is remembered of it
verbs      `check`, `hint`, `status`, `show`, `reset`, `watch` in such a folder
report     what a package can do, measured
"""
