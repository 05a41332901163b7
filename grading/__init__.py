"""The instructor's side: generates what learners get, and proves the exercises. Run from a clone: `python -m grading`."""
