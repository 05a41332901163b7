"""A module for each `jitkit VERB` but `tour`; its `run(arguments)` carries out the verb, and returns the exit status.

For a learner: start, watch, check (`checked` shows the verdicts, `junit_report` writes them), hint, show, status,
reset, run (and `jitkit python`), export. For anybody with a function: explore (`explore_again` does it after each
save), targets, bench. `on_the_ladder` has a function for each verb that means another thing in a folder of the ladder.
"""
