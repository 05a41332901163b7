"""Sparse arrays, beside JAX: a program prints the same on both."""

from __future__ import annotations

import pytest
from on_jax import on_jax
from test_as_jax import python, write

HEAD = """
    import sys
    library = sys.argv[1]
    if library == "jitkit":
        import jitkit.as_jax
        jitkit.as_jax.install()
    import jax, jax.numpy as jnp, numpy as np
    from jax.experimental import sparse
    from jax.experimental.sparse import BCOO

    def show(*values):
        for x in values:
            if isinstance(x, sparse.JAXSparse):
                print(x, np.asarray(x.data).tolist(), np.asarray(x.indices).tolist(), x.indices_sorted, x.unique_indices, x.indices.dtype)
            elif hasattr(x, "dtype"):
                print(x.dtype, np.asarray(x).tolist())
            else:
                print(x)

    random = np.random.RandomState(0)
    d = jnp.array(random.randn(5, 7) * (random.rand(5, 7) > 0.6), jnp.float32)
    M, v = BCOO.fromdense(d), jnp.array(random.randn(7), jnp.float32)
    """
CONVERSIONS = """
    import scipy.sparse
    double = BCOO((jnp.array([1.0, 2, 3, 0, 5]), jnp.array([[0, 1], [0, 1], [2, 0], [1, 1], [9, 9]])), shape=(3, 3))
    show(M, M.todense(), M.T, M.transpose((1, 0)), M.astype(jnp.int32), jax.tree.leaves(M)[0], jax.tree.structure(M))
    show(double, double.todense(), double.sort_indices(), double.sum_duplicates(), double.sum_duplicates(remove_zeros=False))
    show(double.sum_duplicates(nse=6), double.sum_duplicates(nse=1), double.nse, double.n_sparse, double.n_dense, double.n_batch)
    show(double.size, double.ndim, len(double), double.dtype, sparse.todense(double), sparse.todense(3.0))
    show(BCOO.from_scipy_sparse(scipy.sparse.csr_matrix(np.asarray(d))), BCOO.fromdense(jnp.array([0, 3, 4])))
    show(sparse.empty((3, 4)), sparse.empty((3, 4), jnp.int32, nse=2), sparse.eye(3), sparse.eye(3, 4, 1))
    show(sparse.eye(4, 3, -2, dtype=jnp.int8), sparse.eye(2, 2, 5))
    show(jax.jit(lambda m: m)(M), jax.jit(lambda d: BCOO.fromdense(d, nse=20))(d), jax.jit(lambda m: m.todense())(M))
    dense_rows = BCOO.fromdense(jnp.array(random.randn(3, 4, 2) * (random.rand(3, 4, 1) > 0.5), jnp.float32), n_dense=1)
    show(dense_rows, dense_rows.todense(), dense_rows.sum(0).todense(), dense_rows.transpose((1, 0, 2)), dense_rows.sum(2))
    show(BCOO.fromdense(jnp.float32(2)), BCOO.fromdense(jnp.float32(2)).todense())
    for wrong in (
        lambda: jax.jit(BCOO.fromdense)(d), lambda: BCOO((jnp.ones(3), jnp.ones((2, 1), int)), shape=(4,)), lambda: hash(M),
        lambda: M @ jnp.ones(3), lambda: M.transpose((0, 0)),
    ):
        try:
            print(wrong())
        except Exception as error:
            print(type(error).__name__, str(error).splitlines()[0])
    """
ARITHMETIC = """
    A, w = jnp.array(random.randn(7, 4), jnp.float32), jnp.array(random.randn(5, 3), jnp.float32)
    show(M.sum(), M.sum(0), M.sum(axis=1).todense(), M.sum((0, 1)), M.sum(-1))
    show(M @ v, M @ A, w.T @ M, jnp.arange(5.0) @ M, M.T @ w, jax.jit(lambda m, v: m @ v)(M, v), M @ jnp.arange(7))
    show(M * 2, 3.0 * M, M * d, M * v, -M, M + M, M + M.T.T, (M - M * 2).todense(), M / 2, abs(M))
    one = BCOO.fromdense(jnp.array([0, 3, 4]))
    show(one @ jnp.arange(3), jnp.arange(3.0) @ one, one @ jnp.ones((3, 2)), jax.vmap(lambda v: M @ v)(jnp.stack([v, v * 2])))
    show(sparse.bcoo_dot_general(M, A, dimension_numbers=(([1], [0]), ([], []))))
    show(*jax.grad(lambda x, v: jnp.sum((BCOO((x, M.indices), shape=M.shape) @ v) ** 2), (0, 1))(M.data, v))
    show(jax.grad(lambda d: jnp.sum(BCOO.fromdense(d, nse=20) @ v))(d))
    """
SOLVING = """
    import scipy.sparse
    from jax.experimental.sparse.linalg import spsolve
    matrix = np.eye(5) * 3 + random.randn(5, 5) * (random.rand(5, 5) > 0.5)
    rows = scipy.sparse.csr_matrix(matrix, dtype=np.float32)
    data, indices, indptr, b = jnp.array(rows.data), jnp.array(rows.indices), jnp.array(rows.indptr), jnp.arange(5.0)
    solve = lambda data, b: spsolve(data, indices, indptr, b)
    show(solve(data, b), jax.jit(solve)(data, b), *jax.jvp(lambda b: solve(data, b), (b,), (b + 1,)))
    show(jax.grad(lambda b: solve(data, b).sum())(b), jax.grad(lambda d: (solve(d, b) ** 2).sum())(data))
    print(jax.make_jaxpr(solve)(data, b))
    for wrong in (lambda: spsolve(data, indices, indptr, b[1:]), lambda: solve(data, b.astype(int)), lambda: solve(data, b[None])):
        try:
            print(wrong())
        except ValueError as error:
            print(str(error)[:40])
    """
PROGRAMS = {"conversions": CONVERSIONS, "arithmetic": ARITHMETIC, "solving": SOLVING}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sparse_arrays_are_those_of_jax(tmp_path, name):
    program = write(tmp_path, "sparse_arrays.py", HEAD + PROGRAMS[name])
    theirs, ours = on_jax(program, "jax", cwd=tmp_path), python(program, "jitkit", cwd=tmp_path)
    assert theirs[0] == 0, theirs[2]
    assert ours[:2] == theirs[:2], ours[2]
