"""What pytest runs in a learner's folder.

labs    a workspace: a lab's checks as items, which `pytest_jitkit` collects
rungs   a folder of the ladder: its programs as parameters of a test
"""
