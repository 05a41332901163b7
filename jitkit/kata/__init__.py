"""The learner's engine: the command line, and what it shows.

problems    what a command ends with: exit statuses, and the errors that a user can fix
engine      functions of a learner -> verdict
subjects    functions of exercises that are not a part of jitkit's own stages
command     words -> exit status
programs    writers of random programs, which the last check of an exercise runs
functions   FILE:FUNCTION of the command line -> a function, and types to trace it with
workspace   a learner's folder
screens     what a terminal and a notebook show
speed       what `jitkit bench kata` measures
ladder      from an empty file to one's own JAX
tour        `jitkit tour`
verbs       what each other `jitkit VERB` does
pytest      what pytest runs in a learner's folder

Beside the rooms are modules of a few lines that others import: learners import `notebook` and `mine`, authors of labs `checking` and
`mutants`; old notebooks import `small_jit`.
"""
