"""The learner's engine: the command line, and what it shows. It uses jitkit; jitkit does not know it."""
