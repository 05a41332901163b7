"""labs -> what learners and nbgrader's students get, and the proofs of every exercise

commands          `python -m grading generate | verify | build | new`
generate          a lab's manifest and the reference -> exercises.py, solutions, a README's list of parts
notebooks         a lab -> lab.ipynb
cells             cells -> the file of a notebook
nbgrader_course   labs -> a course for nbgrader
one_sitting       the answer to the ladder -> a page
new               a name -> the skeleton of a lab, from the files in skeleton/
verify            the proofs of a lab's exercises
verify_ladder     the proofs of the ladder's rungs
failures          wrong versions of the rungs -> how each of them fails, by which a learner's mistake is recognised
mutate            automatic wrong answers -> how many the checks notice; mutants.toml lists those that are right
mutations         a function -> wrong versions of it
"""
