"""The learner's engine: the command line, and what it shows. It uses jitkit; jitkit does not know it.

problems    what a command ends with: exit statuses, and the errors that a user can mend
engine      functions of a learner -> verdict
programs    writers of random programs, of which the last check of an exercise is made
subjects    the functions of exercises that no stage of jitkit has
workspace   a learner's folder
screens     what a terminal shows, and its keys
ladder      from an empty file to one's own JAX
functions   FILE:FUNCTION of the command line -> a function, and types to trace it with
tour        `jitkit tour`
pytest      what pytest runs in a learner's folder
speed       what `jitkit bench kata` measures
verbs       what each other `jitkit VERB` does
cli         arguments -> exit status; `guard`: whatever a verb raises -> exit status; `hidden_modules`: why an import failed

Further ways in: `mine` for programs, `notebook`. Authors of labs import `checking` and `mutants`; a notebook of before names
`small_jit`.
"""
