"""`scipy.optimize.minimize`: results to the bit, programs and refusals as JAX's."""

from __future__ import annotations

import jax
import jax.scipy.optimize
import numpy as np
import pytest
from lax_oracle import error_of
from tails import keeping, one_row_in

import jitkit

BFGS, LBFGS = "BFGS", "l-bfgs-experimental-do-not-rely-on-this"


def rosenbrock(jnp, x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def eggs(jnp, x):
    far = jnp.sqrt(jnp.abs(x[0] - x[1] - 47))
    return -(x[1] + 47) * jnp.sin(jnp.sqrt(jnp.abs(x[0] / 2 + x[1] + 47))) - x[0] * jnp.sin(far)


FUNCTIONS = {
    "a valley": (rosenbrock, np.float32([0, 0, 0])),
    "of one number": (lambda jnp, x: (x[0] - 3) ** 2, np.float32([1])),
    "with a corner": (lambda jnp, x: jnp.sum(jnp.abs(x)), np.float32([1, 1])),
    "with many minima": (eggs, np.float32([100, 3])),
    "without a minimum": (lambda jnp, x: x.sum(), np.float32([1, 2])),
    "at its minimum": (lambda jnp, x: (x**2).sum(), np.float32([0, 0])),
    "a constant": (lambda jnp, x: 0.0 * x.sum(), np.float32([1, 2])),
    "with nan": (lambda jnp, x: jnp.log(x).sum() + x.sum(), np.float32([0.5, 2])),
}
OPTIONS = [
    (BFGS, {}),
    (BFGS, {"maxiter": 2}),
    (BFGS, {"norm": 2, "gtol": 1e-2, "line_search_maxiter": 2}),
    (LBFGS, {}),
    (LBFGS, {"maxiter": 3, "maxcor": 2}),
    (LBFGS, {"maxfun": 4, "ftol": 0.0, "norm": 1}),
    (LBFGS, {"maxgrad": 5, "maxls": 2, "gtol": 1e-2}),
]


@pytest.mark.tail
def test_each_case_is_one_that_ends_otherwise():
    """The functions and options reach every status of BFGS, and those of L-BFGS but its own."""
    found = set()
    for name in FUNCTIONS:
        for method, options in OPTIONS:
            found.add((method, int(minimized(jitkit, name, method, options).status)))
    assert {status for method, status in found if method == BFGS} >= {0, 1, 3}
    assert {status for method, status in found if method == LBFGS} >= {0, 1, 2, 3, 5}


def minimized(library, name, method, options):
    function, x = FUNCTIONS[name]
    minimize = library.scipy.optimize.minimize
    return minimize(lambda x: function(library.numpy, x), library.numpy.asarray(x), method=method, options=options)


@pytest.mark.parametrize(
    ("name", "method", "options"), one_row_in(9, [(name, *row) for row in OPTIONS for name in FUNCTIONS])
)
def test_results_have_the_bits_of_jaxs(name, method, options):
    ours, theirs = (minimized(library, name, method, options) for library in (jitkit, jax))
    assert ours._fields == theirs._fields
    for field, mine, other in zip(ours._fields, ours, theirs, strict=True):
        if mine is None or other is None:
            assert mine is other
            continue
        assert mine.aval.str_short() == other.aval.str_short(), field
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(other), err_msg=field)


def program(library, name, method):
    function, x = FUNCTIONS[name]

    def best(x):
        return library.scipy.optimize.minimize(lambda x: function(library.numpy, x), x, method=method)

    return str(library.make_jaxpr(best)(x))


@pytest.mark.parametrize("method", [BFGS, LBFGS])
@pytest.mark.parametrize("name", keeping(list(FUNCTIONS), "a valley", "of one number"))
def test_programs_are_those_of_jax(name, method):
    assert program(jitkit, name, method) == program(jax, name, method)


@pytest.mark.parametrize("method", [BFGS, LBFGS])
def test_it_can_be_jitted_and_mapped(method):
    """Over places to begin at, and over arguments."""

    def found(library):
        def best(x, a):
            return library.scipy.optimize.minimize(lambda x, a: ((x - a) ** 2).sum(), x, (a,), method=method).x

        return library.jit(library.vmap(best))(np.eye(3, dtype=np.float32), np.float32([1, 2, 3]))

    np.testing.assert_array_equal(np.asarray(found(jitkit)), np.asarray(found(jax)))
    np.testing.assert_allclose(np.asarray(found(jitkit)), [[1] * 3, [2] * 3, [3] * 3], rtol=1e-5)


def test_a_complex_place_is_found_by_l_bfgs():
    def found(library):
        x = library.numpy.array([1 + 1j, 2 - 1j])
        return library.scipy.optimize.minimize(lambda x: (library.numpy.abs(x - 1j) ** 2).sum(), x, method=LBFGS).x

    np.testing.assert_array_equal(np.asarray(found(jitkit)), np.asarray(found(jax)))


REFUSALS = [
    "minimize(lambda x: x.sum(), jnp.ones(2), method='newton')",
    "minimize(lambda x, a: x.sum(), jnp.ones(2), 3, method='BFGS')",
    "minimize(lambda x: x, jnp.ones(2), method='BFGS')",
    "minimize(lambda x: x.sum(), jnp.arange(2), method='BFGS')",
    "minimize(lambda x: x.sum(), jnp.float32(2), method='BFGS')",
    "minimize(lambda x: x.sum(), jnp.ones(2), method='BFGS', options={'steps': 3})",
    "minimize(lambda x: x.sum(), jnp.ones(2))",
]


@pytest.mark.parametrize("code", REFUSALS)
def test_what_is_no_minimization_is_refused_as_in_jax(code):
    def tried(library):
        return eval(code, {"minimize": library.scipy.optimize.minimize, "jnp": library.numpy})

    ours, theirs = (error_of(tried, library) for library in (jitkit, jax))
    assert theirs is not None
    assert ours == theirs
