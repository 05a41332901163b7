"""Compares programs under `vmap` in `jitkit` and in `jax`: their jaxprs must be the same to the letter, and their results the same.

A program is a function `program(jax, jnp, *elements)`. The programs of a table are first compared by their jaxprs, one by one,
which is cheap; then by their results, all at once, with one compilation on each side.
"""

from __future__ import annotations

import re

import jax
import jax.numpy
import numpy as np
import wording
from lax_oracle import JAXPRS_ARE_OURS, describe
from twin import OURS, THEIRS, difference, plain

import jitkit
from jitkit.jaxpr.check import check_jaxpr

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def mapped(program, in_axes=0, **options):
    """Return `program` under vmap, as a program of batches."""

    def program_of_batches(jax, jnp, *batches):
        return jax.vmap(lambda *elements: program(jax, jnp, *elements), in_axes, **options)(*batches)

    return program_of_batches


def assert_same_batches(programs, *batches, check_values=True):
    """Check that each of the programs, which take batches, has the same jaxpr as with JAX, and that all have the same
    results. A later JAX, or a learner's rules, may give other jaxprs: then compare only the results, up to rounding.
    Without `check_values`, compare results only in runs that do not compare jaxprs (`wording`).
    """
    for name, program in programs.items():
        ours, theirs = (bound(program, modules) for modules in (OURS, THEIRS))
        our_jaxpr = jitkit.make_jaxpr(ours)(*batches)
        check_jaxpr(our_jaxpr)
        if JAXPRS_ARE_OURS and wording.compared:
            printed = [_ADDRESS.sub("", str(jaxpr)) for jaxpr in (our_jaxpr, jax.make_jaxpr(theirs)(*batches))]
            assert printed[0] == printed[1], name
    if check_values or not wording.compared:
        ours, theirs = (bound(_all_of(programs), modules) for modules in (OURS, THEIRS))
        results, expected = jitkit.jit(ours)(*batches), jax.jit(theirs)(*batches)
        if JAXPRS_ARE_OURS and wording.compared:
            found = difference(plain(results), plain(expected))
            assert found is None, found
        else:  # later versions of JAX, and learners, compute some derivatives in another way
            assert jax.tree.map(describe, expected) == jitkit.tree.map(describe, results)
            for x, y in zip(jitkit.tree.leaves(results), jax.tree.leaves(expected), strict=True):
                np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=2e-6, atol=2e-6)


def bound(program, modules):
    return lambda *args: program(*modules, *args)


def _all_of(programs):
    return lambda jax, jnp, *args: {name: program(jax, jnp, *args) for name, program in programs.items()}
