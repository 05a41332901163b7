"""Polynomials, elements taken out and put in, functions of parts, files: values, gradients, batches and refusals as JAX's."""

from __future__ import annotations

import io

import jax
import jax.numpy
import jax.scipy.ndimage
import jax.scipy.sparse.linalg
import numpy as np
import pytest
from lax_oracle import error_of

import jitkit

X = np.float32([[0.5, 0.25, 0.75], [1.5, -0.5, 2.0]])
V = np.float32([0.5, -1.5, 2.0, 3.0])

PROGRAMS = [
    "jnp.apply_along_axis(lambda a: a * a.sum(), 0, x)",
    "jnp.apply_along_axis(lambda a, b: jnp.outer(a, a) + b, 1, x, b=2)",
    "jnp.apply_over_axes(jnp.sum, x, [0, 1])",
    "jnp.delete(x, 1, 1)",
    "jnp.delete(v, slice(1, None, 2))",
    "jnp.delete(v, np.array([0, 0, -1]))",
    "jnp.insert(x, 1, 7.0, axis=0)",
    "jnp.insert(v, np.array([2, 0]), x[0, :2])",
    "jnp.choose(np.array([0, 1, 1]), x)",
    "jnp.compress(np.array([True, False, True]), x, axis=1)",
    "jnp.compress(np.array([0, 2, 0, 1]), v, size=3, fill_value=7)",
    "jnp.partition(x, 1)",
    "jnp.partition(v, -2)",
    "jnp.partition(x, 0, axis=0)",
    "jnp.argpartition(jnp.stack([x, -x]), 1, axis=1) * v.sum()",
    "jnp.argpartition(v.astype('uint8'), 2) * v.sum()",
    "jnp.asarray(x).byteswap()",
    "jnp.asarray(x + 1j).byteswap().imag",
    "jnp.asarray(x).astype('bool').byteswap() * v.sum()",
    "jnp.arange(2).choose(list(x.T), mode='wrap')",
    "jnp.asarray(x).compress(np.array([False, True]), axis=0)",
    "jnp.asarray(x).argpartition(0) * v.sum()",
    "jnp.fromfunction(lambda i, j: i * v[0] + j, (2, 3))",
    "jnp.poly(v)",
    "jnp.polyadd(v, x[0])",
    "jnp.polysub(x[0], v)",
    "jnp.polymul(v, x[0])",
    "jnp.polydiv(v, x[0])[0]",
    "jnp.polyint(v, 2, 3)",
    "jnp.polyder(v, 2)",
    "jnp.polyfit(v, v ** 2 + 1, 2)",
    "jnp.vander(v)",
]


def function(library, code):
    """Return the program as a function of a matrix and a vector."""
    return lambda x, v: eval(code, {"jnp": library.numpy, "np": np, "x": x, "v": v})


@pytest.mark.parametrize("code", PROGRAMS)
def test_values_gradients_and_batches_are_those_of_jax(code):
    found = []
    for library in (jitkit, jax):
        plain = function(library, code)
        slope = library.grad(lambda x, v, plain=plain: (plain(x, v) ** 2).sum(), (0, 1))
        batch = library.vmap(plain, (None, 0))
        # as one program: eagerly, these would be dozens of operations
        in_one = (lambda f: f) if "compress" in code or "choose(" in code else library.jit  # these need concrete values
        both = in_one(lambda x, v, vs, slope=slope, batch=batch: (slope(x, v), batch(x, vs)))
        found.append(library.tree.leaves([plain(X, V), both(X, V, np.stack([V, V + 1]))]))
    for ours, theirs in zip(*found, strict=True):
        assert ours.aval.str_short() == theirs.aval.str_short()
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "code",
    [
        "jnp.delete(x, 5, 1)",
        "jnp.delete(v, np.array([True, False]))",
        "jnp.insert(v, np.ones((2, 2), int), 1)",
        "jnp.insert(v, np.array([0.5, 1.5]), 1)",
        "jnp.choose(np.array([0, 5]), x)",
        "jnp.choose(v, x)",
        "jnp.choose(np.array([0, 1, 1]), x, mode='bend')",
        "jnp.compress(x, v)",
        "jnp.compress(np.array([True] * 5), v)",
        "jnp.compress(np.array([True]), v, size=5)",
        "jnp.compress(np.array([True]), v, out=v)",
        "jnp.partition(v, 4)",
        "jnp.partition(v + 1j, 1)",
        "jnp.argpartition(v + 1j, 1)",
        "jnp.argpartition(x, 1, axis=2)",
        "jnp.asarray(x).choose([v])",
        "jnp.ravel_multi_index((np.array([3]),), (3,))",
        "jnp.ravel_multi_index((v,), (3,))",
        "jnp.ravel_multi_index((np.array([3]),), (3,), dtype='float32')",
        "jnp.ravel_multi_index((np.array([3]),), (300,), dtype='uint8')",
        "jnp.ravel_multi_index((np.array([0]),), (3,), mode='bend')",
        "jnp.ravel_multi_index((np.array([0]),), (3,), order='K')",
        "jnp.apply_over_axes(lambda a, axis: a.sum(), x, (0,))",
        "jnp.apply_along_axis(jnp.sum, 3, x)",
        "jnp.roots(x)",
        "jnp.poly(x)",
        "jnp.polyder(v, -1)",
        "jnp.polyint(v, -1)",
        "jnp.polyint(v, 2, [1, 2, 3])",
        "jnp.polyfit(x, v, 1)",
        "jnp.polyfit(v, x[0], 1)",
        "jnp.polyfit(v, v, -1)",
        "jnp.polyfit(v, v, 3, cov=True)",
        "jnp.vander(x)",
        "jnp.setdiff1d(None, v)",
    ],
)
def test_what_jax_refuses_is_refused_in_its_words(code):
    ours, theirs = (error_of(function(library, code), X, V) for library in (jitkit, jax))
    assert theirs is not None
    assert ours == theirs


@pytest.mark.parametrize(
    "code",
    [
        "jnp.roots(np.array([0.0, 0.0, 1.0, -3.0, 2.0]))",
        "jnp.roots(np.array([0.0, 1.0, -3.0, 2.0]), strip_zeros=False)",
        "jnp.roots(np.array([0.0, 0.0, 0.0]))",
        "jnp.setdiff1d(np.array([3, 1, 3, 2]), np.array([2, 9]))",
        "jnp.setdiff1d(np.array([3, 1, 3, 2]), np.array([2, 9]), size=5, fill_value=-1)",
        "jnp.setdiff1d(np.array([3, 1, 3, 2]), np.array([2, 9]), assume_unique=True)",
        "jnp.trim_zeros(np.array([0, 0, 1, 0, 2, 0]))",
        "jnp.trim_zeros(np.array([0, 0, 1, 0, 2, 0]), 'b')",
        "jnp.trim_zeros(np.array([[0, 0, 0], [0, 1, 0]]))",
        "jnp.polydiv(np.array([1.0, 2.0, 1.0]), np.array([1.0, 1.0]), trim_leading_zeros=True)",
        "jnp.polymul(np.array([0, 1, 2]), np.array([0, 3]), trim_leading_zeros=True)",
        "jnp.polyfit(v, v ** 2, 1, full=True)",
        "jnp.polyfit(v, v ** 2, 1, cov=True)",
        "jnp.ravel_multi_index((np.array([1, 2]), np.array([0, 3])), (3, 4), order='F')",
    ],
)
def test_what_needs_values_has_those_of_jax(code):
    found = [library.tree.leaves(function(library, code)(X, V)) for library in (jitkit, jax)]
    for ours, theirs in zip(*found, strict=True):
        assert ours.aval.str_short() == theirs.aval.str_short()
        a, b = (np.sort_complex(np.asarray(x).ravel()) for x in (ours, theirs))
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["roots", "setdiff1d", "trim_zeros"])
def test_what_needs_values_is_not_traced(name):
    for library in (jitkit, jax):
        call = getattr(library.numpy, name)
        with pytest.raises(library.errors.ConcretizationTypeError):
            library.jit(lambda v, call=call, name=name: call(v, v) if name == "setdiff1d" else call(v))(V)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "bfloat16"])
def test_a_file_gives_back_what_was_saved(dtype):
    file, x = io.BytesIO(), jitkit.numpy.asarray(X).astype(dtype)
    jitkit.numpy.save(file, x)
    file.seek(0)
    theirs = jax.numpy.load(file)
    file.seek(0)
    ours = jitkit.numpy.load(file)
    assert isinstance(ours, jitkit.Array)
    assert ours.aval.str_short() == theirs.aval.str_short() == x.aval.str_short()
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(x))


def test_an_archive_stays_numpys():
    file = io.BytesIO()
    jitkit.numpy.savez(file, a=jitkit.numpy.ones(2), b=np.zeros(3))
    file.seek(0)
    found = jitkit.numpy.load(file)
    assert {name: found[name].tolist() for name in found.files} == {"a": [1, 1], "b": [0, 0, 0]}


# --- systems solved step by step, arrays read between their elements --------------------------------------------------


MATRIX = np.float32([[4, 1, 0], [1, 3, 0.5], [0, 0.5, 2]])
STEPPED = [
    "cg(a, b)[0]",
    "cg(lambda x: a @ x, b, tol=1e-7, M=lambda x: x / 3)[0]",
    "cg(lambda x: {'u': 2 * x['u'], 'w': a @ x['w']}, {'u': b[0], 'w': b})[0]['w']",
    "bicgstab(a + np.triu(np.ones((3, 3), 'f'), 1), b, tol=1e-7)[0]",
    "bicgstab(a, b, x0=b, atol=1e-6, M=np.eye(3, dtype='f') / 2)[0]",
    "gmres(a + np.triu(np.ones((3, 3), 'f'), 1), b, tol=1e-7)[0]",
    "gmres(a, b, solve_method='incremental')[0]",
    "gmres(a, b, x0=b, restart=2, maxiter=3, M=lambda x: x / 3)[0]",
    "gmres(a, b, x0=b, restart=2, atol=0.5, solve_method='incremental', M=np.eye(3, dtype='f') / 2)[0]",
    "gmres(lambda x: {'u': 2 * x['u'] + x['w'][0], 'w': a @ x['w']}, {'u': b[0], 'w': b})[0]['w']",
    "abs(gmres(a * (1 + 2j), b * (1 + 1j))[0])",
    "gmres(a * 0, b)[0] * 0 + gmres(a, b)[1]",
]


@pytest.mark.parametrize("code", STEPPED)
def test_steps_lead_to_jaxs_solution_and_its_gradient(code):
    found = []
    for library in (jitkit, jax):
        names = {name: getattr(library.scipy.sparse.linalg, name) for name in ("cg", "bicgstab", "gmres")}

        def solution(a, b, names=names):
            return eval(code, names | {"np": np, "a": a, "b": b})

        slope = library.grad(lambda a, b, solution=solution: (solution(a, b) ** 2).sum(), (0, 1))
        operands = MATRIX, np.float32([1, 2, 3])
        traced = library.jit(lambda *xs, slope=slope, solution=solution: (solution(*xs), slope(*xs)))
        found.append(library.tree.leaves(traced(*operands)))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "code",
    [
        "cg(a[:2], b)",
        "cg(3, b)",
        "cg(a, b, x0=b[:2])",
        "cg(a, b, x0=(b,))",
        "gmres(a, b, solve_method='x')",
        "gmres(a, b, x0=(b,))",
        "gmres(a[:2], b)",
    ],
)
def test_systems_that_do_not_fit_are_refused(code):
    errors = []
    for library in (jitkit, jax):
        names = {name: getattr(library.scipy.sparse.linalg, name) for name in ("cg", "gmres")}
        errors.append(error_of(lambda a, b, names=names: eval(code, names | {"a": a, "b": b}), MATRIX, V[:3]))
    ours, theirs = (error.partition("shapes: ")[0] for error in errors)  # JAX prints an iterator after this word
    assert ours == theirs


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_coordinates_outside_are_read_as_by_jax(mode, order):
    places = np.linspace(-4, 6, 23, dtype="f").reshape(1, 23)
    for x in (X, (X * 10).astype(int)):
        found = []
        for library in (jitkit, jax):

            def read(x, p, library=library):
                return library.scipy.ndimage.map_coordinates(x, [p / 3, p], order, mode, cval=2)

            slope = library.jit(lambda x, p, read=read, library=library: library.vjp(read, X, p)[1](read(X, p)))
            found.append([read(x, places), *slope(x, places)])
        for ours, theirs in zip(*found, strict=True):
            assert ours.aval.str_short() == theirs.aval.str_short()
            np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-4, atol=1e-4)


def test_a_sum_begins_with_what_its_method_is_told():
    """The method of JAX 0.10 leaves `initial` out; `jnp.sum` and JAX 0.12 do not."""
    x = jitkit.numpy.asarray(X)
    np.testing.assert_array_equal(x.sum(axis=1, initial=1.5), jax.numpy.sum(X, axis=1, initial=1.5))
    is_left_out = np.array_equal(jax.numpy.asarray(X).sum(axis=1, initial=1.5), X.sum(axis=1))
    assert is_left_out == (jax.__version_info__ < (0, 12))
