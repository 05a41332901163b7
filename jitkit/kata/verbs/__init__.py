"""What `jitkit VERB` does: a module a verb, with `run(arguments)`, which returns the exit status."""
