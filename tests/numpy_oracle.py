"""Compares programs, run with `jax.numpy` and with `jitkit.numpy`: jaxprs, types and values must be the same.

A row is `(name, program, *args)`, where `program(jnp, *args)` returns an array or a tree of them. Jaxprs are compared row
by row; to save compilations, values are compared for all rows of a table at once.

Not all jaxprs can be equal; tables list the exceptions. A row that differs without an entry fails, and so does a row with an entry
that does not differ.
"""

from __future__ import annotations

import re
import warnings

import jax
import jax.nn
import jax.numpy
import numpy as np
import wording
from lax_oracle import JAX_VERSION, describe, error_of
from tails import some_of

import jitkit
import jitkit.nn
import jitkit.numpy

# Rows for which JAX 0.12 has new primitives, while jitkit writes the equations of 0.10: name of the row, and the
# reason.
DIFFERENT_IN_0_12 = (
    (r"hypot\b", "computed by scaling"),
    (r"sinc\b|polyval", "by polynomials"),
    (r"frexp|ldexp", "an operation for frexp"),
    (r"nonzero|flatnonzero|positions where|tri[lu]_indices|triangles of|unique|union1d", "an operation for nonzero"),
    (
        r"histogram|interp|digitize(?! without bins)|search(sorted|ing)|isin (binary_search|sort)",
        "an operation for searchsorted",
    ),
)
OTHER_VALUES_SINCE_0_11 = {"sinc", "hypot"}  # edge cases differ by more than rounding
REWORDED_SINCE_0_11 = {"a slice that ends at a traced place"}


def _values_are_of(library):
    return {jax: jax.numpy, jitkit: jitkit.numpy}[library]


def nn_of(jnp):
    """Return the module `nn` of the library whose numpy this is."""
    return jax.nn if jnp is jax.numpy else jitkit.nn


def linalg_of(jnp):
    """Return the module `linalg` of this numpy."""
    return jnp.linalg


def leaves(out):
    """Return the arrays of a result, those of tuples and lists among them."""
    return [leaf for part in out for leaf in leaves(part)] if isinstance(out, (list, tuple)) else [out]


def is_known_to_differ(name):
    """Return whether this JAX is 0.12 or later, and the table of differences from it has the row."""
    return JAX_VERSION >= (0, 12) and any(re.match(pattern, name) for pattern, _ in DIFFERENT_IN_0_12)


def has_other_values(name):
    """Return whether this version of JAX computes the row by another method than JAX 0.10 does."""
    return JAX_VERSION >= (0, 11) and name.split(" ")[0] in OTHER_VALUES_SINCE_0_11


def assert_same_jaxpr(row):
    """Check that the printed jaxprs are equal, unless a table says why they cannot be; and that the results have the
    same types, weakness included.
    """
    name, program, *args = row
    theirs = jax.make_jaxpr(lambda *xs: program(jax.numpy, *xs))(*args)
    ours = jitkit.make_jaxpr(lambda *xs: program(jitkit.numpy, *xs))(*args)
    if is_known_to_differ(name):
        assert str(ours) != str(theirs), f"{name}: no longer different, so take it out of the table"
    else:
        assert str(ours) == str(theirs), name
    if not has_other_values(name):
        assert list(map(describe, ours.out_avals)) == list(map(describe, theirs.out_avals)), name


def assert_same_results(name, how, ours, theirs, rtol):
    """Check types, weak types, and values up to rounding."""
    ours, theirs = leaves(ours), leaves(theirs)
    assert len(ours) == len(theirs), f"{name}, {how}"
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        label = f"{name}, {how}, result {i}"
        if hasattr(b, "weak_type"):
            assert describe(a) == describe(b), label
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype, label
        if a.dtype.kind == "V":
            a, b = a.astype(np.float32), b.astype(np.float32)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=label)


def as_array_of(jnp):
    """Turn numpy arrays into arrays of the library; Python scalars stay."""
    return lambda x: jnp.asarray(x) if isinstance(x, np.ndarray) else x


def check(rows, run=True, eager=True):
    """Check all rows: the same jaxpr; with `run` also the same results as JAX's program, jitted and (with `eager`)
    called eagerly. Since equal jaxprs compute the same, `make test` runs only every fourth of the rows whose jaxprs are
    equal.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in rows:
            assert_same_jaxpr(row)
        if run:
            once_more = {row[0] for row in rows} - {row[0] for row in some_of(rows, 4)}
            kept = [row for row in rows if is_known_to_differ(row[0]) or row[0] not in once_more]
            check_results([row for row in kept if not has_other_values(row[0])], eager)


def check_results(rows, eager):
    """Check the results of all rows, from one program of each library; some of ours also operation by operation."""
    everything = [args for _, _, *args in rows]

    def program_of(jnp):
        return lambda arguments: [row[1](jnp, *args) for row, args in zip(rows, arguments, strict=True)]

    theirs = jax.jit(program_of(jax.numpy))(everything)
    ours = jitkit.jit(program_of(jitkit.numpy))(everything)
    for row, a, b in zip(rows, ours, theirs, strict=True):
        assert_same_results(row[0], "jitted", a, b, 1e-5 if is_known_to_differ(row[0]) else 1e-6)
    for row, b in some_of(list(zip(rows, theirs, strict=True))) if eager else ():
        check_eager(row, b)


def check_eager(row, jitted):
    """Check that an eager call of ours gives what JAX's jitted program gave. If it differs, compare it with an eager
    call of JAX, which is slow because JAX compiles each operation.
    """
    name, program, *args = row
    ours = program(jitkit.numpy, *map(as_array_of(jitkit.numpy), args))
    tolerance = 1e-5 if is_known_to_differ(name) else 2e-6
    try:
        assert_same_results(name, "eagerly", ours, jitted, tolerance)
    except (AssertionError, AttributeError):  # the results have another type: an eager call may return a Python number
        theirs = program(jax.numpy, *map(as_array_of(jax.numpy), args))
        assert_same_results(name, "eagerly", ours, theirs, tolerance)


def errors(row, library):
    """Return the class and first line of the error that a row raises: called eagerly, and traced."""
    _, program, *args = row
    jnp = _values_are_of(library)
    eagerly = error_of(lambda *xs: program(jnp, *map(as_array_of(jnp), xs)), *args)
    return eagerly, error_of(library.make_jaxpr(lambda *xs: program(jnp, *xs)), *args)


def accepted(row):
    """Return whether JAX traces the row without an error."""
    _, program, *args = row
    return error_of(jax.make_jaxpr(lambda *xs: program(jax.numpy, *xs)), *args) is None


def check_error(row):
    """Check that a row fails as in JAX, or not at all, called eagerly and traced; at least one of the two must fail."""
    theirs, ours = errors(row, jax), errors(row, jitkit)
    assert theirs != (None, None), "JAX accepts this"
    if not wording.compared or (JAX_VERSION >= (0, 11) and row[0] in REWORDED_SINCE_0_11):
        theirs, ours = ([error and error.split(":")[0] for error in both] for both in (theirs, ours))
    assert ours == theirs
