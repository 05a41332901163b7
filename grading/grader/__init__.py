"""submissions -> grades: intake, jail, verdicts by value, a store, and what is made of it

commands        `python -m grading grade | report | mark | export | regrade | serve-gradescope | image`
policy          course.toml -> what a course wants
roster          the CSV files beside it: who is in the course, who asks for another look
records         what passes from the intake to the store

A submission is read, never run:

handed_over     a folder or a zip of a class, or a learning platform's -> submissions, and whose they are
files           a folder, an archive or a file -> the files in it that may contain answers
sources         a module or a notebook -> its source, as a string
answers         sources -> for each exercise its functions, spliced into jitkit
suspicion       functions -> flags: what a person should look at
passed_over     an exercise without an answer -> places where there may be one nevertheless
rungs           the ladder as a lab, whose answer is a whole package
intake          a submission -> all of this, in a process of its own

Its functions run in a jail:

shipped_code    jitkit's code for one exercise, without the exercise's functions; the checks, one by one
drawn           random programs -> code, once for all students
holes           functions -> code that fills the holes of a jitkit that is imported already
inside          in the jail: a clean process that forks workers, the worker, and the wall around it
bubblewrap      the wall around a jail
control_groups  limits of a jail as a whole
compiler        C -> machine code, in a jail of its own, for packages that ask for it
jail            the jail from outside: starts workers, sends them code, reads their answers
time_limits     how long a task in a worker may take
branches        a process for each exercise, in a jail, that starts its workers
workers         the jails and the intake that one thread works with
in_memory       what a jail has of Python and its packages, as copies in memory
leftovers       removes what killed graders have left
probe           what a submission might try, run in the jail
selftest        runs the probe: does the jail hold?

Their answers are judged outside the jail:

verdict         bytes from a worker -> outcome
patience        limits of time, for a verdict and a submission
right_answers   an answer's bytes -> whether they are the right ones
stablehlo       programs in answers -> what they compute
reused          what XLA made for the reference's programs -> executables for students' equal programs
trials          an exercise's functions and its checks -> verdicts
grade           one submission -> its grades; what the reference computes
batch           a folder of submissions -> grades in the store: threads or a scheduler's workers grade, and one thread writes

What was graded:

store           SQLite: only added to
standing        rows of the store -> what stands, by student, lab and exercise
points          points in cents, which add up
explain         a grade -> why it is what it is: its checks, flags and marks, and its verdict computed again
similarity      submissions -> pairs that read alike
tables          cells, JSON, and what a student is told of a check
gradebooks      what stands -> Canvas, Moodle, Gradescope, nbgrader
figures         figures of the class: labs, exercises, checks, misconceptions
anonymous       what stands -> the same without names
exports         what stands -> files for other programs; a format is a row
report          what stands -> pages for the instructor, feedback for students
pages           their templates, style and script

Where else it runs:

container       without bubblewrap: in Docker or Podman
gradescope      the files of an autograder for Gradescope, and the Containerfile
"""
