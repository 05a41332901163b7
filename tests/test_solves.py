"""custom_root and custom_linear_solve, against JAX: values, derivatives, batches, what is recorded, what is refused."""

from __future__ import annotations

import functools
import re

import jax
import numpy as np
import pytest
from lax_oracle import JAXPRS_ARE_OURS
from twin import raised, same_as_jax

import jitkit

GUESS = np.float32(4)
MANY = np.float32([1, 2, 3])
LOWER = np.float32([[2, 0, 0], [1, 2, 0], [0, 0.5, 2]])
SIDE = np.float32([0, 1, 2])
MATRICES, SIDES = np.stack([LOWER, LOWER * 2]), np.stack([SIDE, SIDE + 1])


def square_root(jax, has_aux=False):
    """Return a function that finds a root by Newton's method, in a loop without a reverse-mode derivative."""

    def root(x):
        def solve(f, guess):
            found = jax.lax.while_loop(lambda y: abs(f(y)) > 1e-4, lambda y: y - f(y) / (2 * y), guess)
            return (found, jax.numpy.array(3.0)) if has_aux else found

        return jax.lax.custom_root(lambda y: y**2 - x, 1.0 * x, solve, lambda g, y: y / g(1.0), has_aux=has_aux)

    return root


def system(jax, kind):
    """Return a function that solves a lower triangular system, or a system whose matrix is the number 2."""

    def solve(a, b, transposed=False):
        found = jax.lax.linalg.triangular_solve(a, b[:, None], left_side=True, lower=True, transpose_a=transposed)
        return found[:, 0]

    def solution(a, b):
        more = {
            "forward only": {},
            "with a transpose": {"transpose_solve": lambda f, b: solve(a, b, True)},
            "symmetric": {"symmetric": True},
        }
        if kind == "with other data":
            return jax.lax.custom_linear_solve(
                lambda x: 2.0 * x, b, lambda f, b: (b / 2.0, jax.numpy.sum(b)), symmetric=True, has_aux=True
            )
        return jax.lax.custom_linear_solve(lambda x: a @ x, b, lambda f, b: solve(a, b), **more[kind])

    return solution


def first_sum(jax, f):
    """Return a function that sums the first leaf of f's result."""
    return lambda *args: jax.tree.leaves(f(*args))[0].sum()


OF_A_ROOT = {
    "value": lambda jax, f: (f, GUESS),
    "gradient": lambda jax, f: (jax.grad(first_sum(jax, f)), GUESS),
    "second": lambda jax, f: (jax.grad(jax.grad(first_sum(jax, f))), GUESS),
    "jvp": lambda jax, f: (lambda x: jax.jvp(f, (x,), (1.0,)), GUESS),
    "batch": lambda jax, f: (jax.vmap(f), MANY),
    "batch of gradients": lambda jax, f: (jax.vmap(jax.grad(first_sum(jax, f))), MANY),
    "jitted": lambda jax, f: (jax.jit(jax.grad(first_sum(jax, jax.jit(f)))), GUESS),
}
OF_A_SYSTEM = {
    "value": lambda jax, f: (f, LOWER, SIDE),
    "jitted": lambda jax, f: (jax.jit(f), LOWER, SIDE),
    "jvp": lambda jax, f: (lambda a, b: jax.jvp(f, (a, b), (a, b)), LOWER, SIDE),
    "jvp by the side": lambda jax, f: (lambda a, b: jax.jvp(lambda b: f(a, b), (b,), (b,)), LOWER, SIDE),
    "gradient": lambda jax, f: (jax.grad(first_sum(jax, f), (0, 1)), LOWER, SIDE),
    "gradient by the side": lambda jax, f: (jax.grad(first_sum(jax, f), 1), LOWER, SIDE),
    "second": lambda jax, f: (jax.grad(lambda a, b: jax.grad(first_sum(jax, f))(a, b).sum()), LOWER, SIDE),
    "batch": lambda jax, f: (jax.vmap(f), MATRICES, SIDES),
    "batch of matrices": lambda jax, f: (jax.vmap(f, (0, None)), MATRICES, SIDE),
    "batch of sides": lambda jax, f: (jax.vmap(f, (None, 0)), LOWER, SIDES),
    "sides in columns": lambda jax, f: (jax.vmap(f, (None, 1), -1), LOWER, SIDES.T),
    "batch of gradients": lambda jax, f: (jax.vmap(jax.grad(first_sum(jax, f), (0, 1))), MATRICES, SIDES),
    "gradient of a batch": lambda jax, f: (jax.grad(first_sum(jax, jax.vmap(f)), (0, 1)), MATRICES, SIDES),
    "jitted gradient": lambda jax, f: (jax.jit(jax.grad(jax.jit(first_sum(jax, f)), (0, 1))), LOWER, SIDE),
}
CASES = {
    f"root, {name}{', other data' * aux}": (functools.partial(square_root, has_aux=aux), case)
    for name, case in OF_A_ROOT.items()
    for aux in (False, True)
} | {
    f"system {kind}, {name}": (functools.partial(system, kind=kind), case)
    for name, case in OF_A_SYSTEM.items()
    for kind in ("forward only", "with a transpose", "symmetric", "with other data")
}


def same_program(name, cases):
    """Run a case, `case(library, make(library))`, with both libraries; compare the values or the error, and the jaxpr or the
    error.
    """
    make, case = cases[name]
    found = []
    for library in (jitkit, jax):
        fun, *args = case(library, make(library))
        values = raised(values_of, library, fun, args)
        found.append(
            (values, raised(lambda library, fun, args: str(library.make_jaxpr(fun)(*args)), library, fun, args))
        )
    (ours, our_jaxpr), (theirs, their_jaxpr) = found
    if theirs[0] == "nothing was raised":
        for a, b in zip(ours[1], theirs[1], strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-5)
    else:
        assert ours == theirs
    assert our_jaxpr == their_jaxpr or not JAXPRS_ARE_OURS


def values_of(library, fun, args):
    """Return the leaves of a result, as numpy arrays."""
    return [np.asarray(x) for x in library.tree.leaves(fun(*args))]


@pytest.mark.parametrize("name", CASES)
def test_solutions_and_their_derivatives_are_jaxs(name):
    same_program(name, CASES)


@same_as_jax
def test_trees_are_solved_for(jax, jnp):
    def solution(a, b):
        def halves(f, b):
            return {"x": b["x"] / 2, "y": b["y"] / 2}

        return jax.lax.custom_linear_solve(lambda x: {"x": a * x["x"], "y": 2 * x["y"]}, b, halves, symmetric=True)

    b = {"x": SIDE, "y": GUESS}
    batch = {"x": SIDES, "y": GUESS}
    return [
        solution(2.0, b),
        jax.grad(lambda a, b: solution(a, b)["x"].sum(), (0, 1))(2.0, b),
        jax.vmap(solution, (None, {"x": 0, "y": None}))(2.0, batch),
        jax.jit(solution).lower(2.0, b).out_tree.num_leaves,
    ]


@same_as_jax
def test_functions_that_do_not_fit_an_equation_are_refused(jax, jnp):
    root, solve = jax.lax.custom_root, jax.lax.custom_linear_solve

    def same(f, x):
        return x

    def twice(f, x):
        return x, x

    def grown(f, x):
        return jnp.concatenate([x, x])

    return [
        raised(root, lambda y: (y, y), 1.0, same, same),
        raised(root, lambda y: y, 1.0, twice, same),
        raised(root, lambda y: y, 1.0, same, twice),
        raised(root, lambda y: y, 1.0, same, same, has_aux=True),
        raised(solve, lambda x: (x, x), SIDE, same)[0],
        raised(solve, lambda x: x[:2], SIDE, same),
        raised(solve, lambda x: x, SIDE, grown),
        raised(solve, lambda x: x, SIDE, same, grown),
        raised(solve, lambda x: x, SIDE, twice, same),
        raised(jax.grad(lambda b: solve(lambda x: x, b, same).sum()), SIDE),
    ]


def test_a_system_is_one_call_of_its_solver_in_a_compiled_program():
    """The other three functions are for derivatives and batches: nothing of them is computed."""
    lowered = jitkit.jit(system(jitkit, "with a transpose")).lower(LOWER, SIDE).as_text()
    assert len(re.findall(r"custom_call @\w*trsm|triangular_solve", lowered)) == 1
    assert "stablehlo.dot_general" not in lowered


TRANSPOSED_LATER = {
    "a number": lambda jnp, x: 2.0 * x,
    "a quotient": lambda jnp, x: x / 2,
    "twice": lambda jnp, x: 2 * x + 2.0 * x,
    "a number of numpy's type": lambda jnp, x: np.arange(3.0) * x,
    "computed": lambda jnp, x: jnp.sin(2.0) * x,
    "indices": lambda jnp, x: x.at[0].multiply(2.0),
}


@pytest.mark.parametrize("name", TRANSPOSED_LATER)
@same_as_jax
def test_known_values_of_a_transposed_function_are_computed_once_and_passed_on(jax, jnp, name):
    """A program that calls the transpose takes them as operands: loops do not compute them again in each step."""

    def fun(x):
        return TRANSPOSED_LATER[name](jnp, x)

    def in_loop(ct):
        transposed = jax.linear_transpose(fun, ct)
        return jax.lax.scan(lambda c, _: (transposed(c)[0], None), ct, None, length=2)[0]

    def in_call(ct):
        transposed = jax.linear_transpose(fun, ct)
        return jax.jit(lambda c: transposed(c)[0])(ct)

    return [(str(jax.make_jaxpr(f)(jnp.ones(3))), f(jnp.ones(3))) for f in (in_loop, in_call)]


@same_as_jax
def test_the_transposed_matrix_of_a_system_takes_its_numbers_as_operands(jax, jnp):
    def total(b):
        return jax.lax.custom_linear_solve(lambda x: 2.0 * x, b, lambda _, b: b / 2, lambda _, b: b / 2).sum()

    ways = (jax.grad(total), jax.grad(jax.jit(total)), jax.hessian(total))
    return [(str(jax.make_jaxpr(f)(jnp.ones(3))), f(jnp.ones(3))) for f in ways]
