"""Interpreters: what else can be done with a function besides calling it."""
