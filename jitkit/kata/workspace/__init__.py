"""A learner's folder: what is in it, what was reached, and what is kept beside it in `.jitkit`.

workspace    a folder -> the labs in it
state        a learner's progress <-> `.jitkit/state.json`
judge        a workspace + an exercise -> report: the verdict, and whose functions it was reached with
changes      folders -> the moment at which something in them was written, or a key was pressed
finished     which functions are in place where the learner runs programs of their own; `mine`: puts them there in this process
hint_steps   an exercise + what the learner wrote -> the next hint
stubs        a lab's exercises.py -> the part that belongs to one exercise
guide        the README.md of a workspace
"""
