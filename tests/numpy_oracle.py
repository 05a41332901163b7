"""One program, run with `jax.numpy` and with `jitkit.numpy`: everything that can be seen of it must be the same.

A case is a name, a function `program(jnp, *args)` and its arguments. Newer versions of JAX write some programs differently; which ones is
known here, in one table, and a case that differs without being in it is a failure on every version, as is one that is in it and does not differ.
"""

from __future__ import annotations

import re
import warnings
from typing import NamedTuple

import jax
import jax.numpy
import numpy as np
from lax_oracle import JAX_VERSION, describe, error_of

import jitkit
import jitkit.numpy

# Parameters that later versions print and 0.10 does not, removed before comparing.
_LATER_PARAMETERS = re.compile(r"(?<=\]) out_sharding=None|(?<=\)) out_sharding=None") if JAX_VERSION >= (0, 11) else None

# What JAX 0.12 computes by other equations than 0.10.2, whose jaxprs ours are equal to: name of the case -> what is different.
DIFFERENT_IN_0_12 = {}


class Case(NamedTuple):
    name: str
    program: object
    args: tuple = ()


def cases(*rows):
    """Rows `(name, program, *args)` as pytest parameters."""
    return [Case(name, program, args) for name, program, *args in rows]


def name_of(case):
    return case.name


def leaves(out):
    return jax.tree.leaves(out) if not isinstance(out, (list, tuple)) else [leaf for part in out for leaf in leaves(part)]


def is_array(x):
    return hasattr(x, "weak_type")


def printed(jaxpr):
    text = str(jaxpr)
    return text if _LATER_PARAMETERS is None else _LATER_PARAMETERS.sub("", text)


def assert_same_results(ours, theirs, how, rtol):
    ours, theirs = leaves(ours), leaves(theirs)
    assert len(ours) == len(theirs), how
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        label = f"result {i}, {how}"
        assert is_array(a) == is_array(b), label
        if is_array(a):
            assert describe(a) == describe(b), label
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind == "V":
            a, b = a.astype(np.float32), b.astype(np.float32)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=0 if rtol == 0 else 1e-6, err_msg=label)


def assert_same(case):
    """The printed jaxpr, and the results' values, dtypes, shapes and weak types, jitted and eagerly."""

    def theirs(*xs):
        return case.program(jax.numpy, *xs)

    def ours(*xs):
        return case.program(jitkit.numpy, *xs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        their_jaxpr, our_jaxpr = jax.make_jaxpr(theirs)(*case.args), jitkit.make_jaxpr(ours)(*case.args)
        if JAX_VERSION >= (0, 11) and case.name in DIFFERENT_IN_0_12:
            assert printed(our_jaxpr) != printed(their_jaxpr), "no longer different: take it out of the table"
        else:
            assert printed(our_jaxpr) == printed(their_jaxpr)
        assert_same_results(jitkit.jit(ours)(*case.args), jax.jit(theirs)(*case.args), "jitted", 2e-7)
        eager = ours(*map(_array(jitkit.numpy), case.args)), theirs(*map(_array(jax.numpy), case.args))
        assert_same_results(*eager, "eagerly", 1e-6)


def _array(jnp):
    return lambda x: jnp.asarray(x) if isinstance(x, np.ndarray) else x


def assert_same_error(case, traced_too=True):
    """The class and the first line of the error, called eagerly and traced."""
    expected = error_of(lambda *xs: case.program(jax.numpy, *map(_array(jax.numpy), xs)), *case.args)
    assert expected is not None, "JAX accepts this"
    assert error_of(lambda *xs: case.program(jitkit.numpy, *map(_array(jitkit.numpy), xs)), *case.args) == expected
    if traced_too:
        expected = error_of(jax.make_jaxpr(lambda *xs: case.program(jax.numpy, *xs)), *case.args)
        assert error_of(jitkit.make_jaxpr(lambda *xs: case.program(jitkit.numpy, *xs)), *case.args) == expected
