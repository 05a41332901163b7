"""The instructor's side of jitkit, run from a clone: `python -m grading`. What learners install has none of it.

__main__     the command line: the commands of the two rooms
shared       what both rooms know: where files are, how points are divided, how cells are called
authoring    labs -> what learners get, and the proofs of every exercise
grader       submissions -> grades
hidden       the hidden checks of each lab, as files
"""
