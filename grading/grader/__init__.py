"""submissions -> grades: intake, jail, verdicts by value, a store, and what is made of it

intake       a student's files -> functions; parses, never runs
inside       in the jail: a clean process that forks workers, the worker, and the wall around it
bubblewrap   the wall around all of these
jail         the same from outside: start them, send them code, read their answers
images       jitkit's code for one exercise, with a hole where it is; the checks, one by one
trials       an exercise's functions and its checks -> verdicts: run in workers, judged outside
stablehlo    programs in answers: what they compute
grade        one submission -> grades; what the reference computes
batch        a folder of them: threads or a scheduler's workers, and one that writes
store        SQLite: what was graded, append-only
policy       course.toml
exports      json, csv, gradescope, junit, nbgrader, canvas
report       pages for the instructor, feedback for students
"""
