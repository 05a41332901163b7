"""The learner's engine: the command line, and what it shows. It uses jitkit; jitkit does not know it.

problems    what a command ends with: exit statuses, and the errors that a user can fix
engine      functions of a learner -> verdict
subjects    the functions of exercises that no stage of jitkit has
command     words -> exit status
programs    writers of random programs, of which the last check of an exercise is made
functions   FILE:FUNCTION of the command line -> a function, and types to trace it with
workspace   a learner's folder
screens     what a terminal and a notebook show
speed       what `jitkit bench kata` measures
ladder      from an empty file to one's own JAX
tour        `jitkit tour`
verbs       what each other `jitkit VERB` does
pytest      what pytest runs in a learner's folder

Beside the rooms stand the ways in, each a few lines: learners import `notebook` and `mine`, authors of labs `checking` and `mutants`;
a notebook of before names `small_jit`.
"""
