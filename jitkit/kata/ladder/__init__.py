"""The ladder: from an empty file to one's own JAX. Learners write a package instead of functions; all else is as in the labs.

rungs          labs/from_scratch/NN_name -> Rung: page, programs, hints
climber        a package + rungs -> verdicts: the programs of these rungs, run on the package and on jitkit
wrong          a verdict -> the misconceptions that the package's author may have
place          a folder with a package, `xla.py`, and the learner's progress
guide          the files that such a folder begins with
display        verdicts -> what a terminal shows, or JSON
abilities      what a package can do, measured

What `jitkit VERB` does in such a folder is in `verbs.on_the_ladder`. `pytest_rungs` is an old name of `pytest.rungs`.
"""
