"""Measurements: honest stopwatches, and jitkit beside JAX. The only part that may import JAX as a user
does.
"""
