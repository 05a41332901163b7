"""A learner's folder: the labs in it, the learner's progress, and the files that are kept in `.jitkit`.

workspace    a folder -> the labs in it
state        a learner's progress <-> `.jitkit/state.json`
judge        a workspace + an exercise -> report: the verdict, and whose functions it was reached with
changes      folders -> the moment at which something in them was written, or a key was pressed
finished     which of the learner's functions are in place when they run their own programs; `mine`: puts them there in this process
hint_steps   an exercise + what the learner wrote -> the next hint
stubs        a lab's exercises.py -> the part that belongs to one exercise
guide        the README.md of a workspace
"""
