"""BCSR, and `sparsify`: values, types, texts and errors are JAX's. Both libraries run the same lines."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

_A = np.array([[0, 2.5, 0, 0], [1, 0, -4, 0], [0, 0, 0, 0.5]], np.float32)
_V, _W = np.float32([1.5, -2, 3, 0.25]), np.float32([1, 0.5, -3])
_DATA, _PLACES = np.float32([1, 2, 3, 4]), np.int32([[2, 1], [0, 0], [2, 1], [0, 3]])

BCSR = [
    "BCSR.fromdense(A)",
    "BCSR.fromdense(A, nse=9)",
    "BCSR.fromdense(A, index_dtype=np.int16)",
    "BCSR.fromdense(np.ones((2, 3, 2), np.float32), n_dense=1)",
    "BCSR.fromdense(V)",
    "BCSR.fromdense(A).todense()",
    "BCSR.fromdense(A).to_bcoo()",
    "BCSR.from_bcoo(BCOO.fromdense(A))",
    "BCSR.from_bcoo(TWICE)",
    "BCSR.from_bcoo(TWICE).sum_duplicates()",
    "BCSR.from_bcoo(TWICE).sum_duplicates(nse=6, remove_zeros=False)",
    "BCSR.from_bcoo(BCOO.fromdense(V))",
    "BCSR((DATA, np.int32([0, 1, 2, 0]), np.int32([0, 1, 2])), shape=(3, 4))",
    "BCSR((DATA[1:], np.int32([0, 1, 2, 0]), np.int32([0, 1, 2, 4])), shape=(3, 4))",
    "BCSR.fromdense(A) @ V",
    "BCSR.fromdense(A) @ jnp.stack([V, V + 1], 1)",
    "BCSR.fromdense(A).T",
    "BCSR.fromdense(A).sum()",
    "-BCSR.fromdense(A)",
    "BCSR.fromdense(A) + BCSR.fromdense(A)",
    "bcsr_todense(bcsr_fromdense(A))",
    "bcsr_dot_general(BCSR.fromdense(A), V, dimension_numbers=(([1], [0]), ([], [])))",
    "jax.jit(lambda m, v: m @ v)(BCSR.fromdense(A), V)",
    "jax.jit(lambda a: BCSR.fromdense(a, nse=5) @ V)(A)",
    "jax.jit(lambda a: BCSR.fromdense(a) @ V)(A)",
    "jax.grad(lambda v: (BCSR.fromdense(A) @ v).sum())(V)",
    "jax.tree.map(lambda x: x, BCSR.fromdense(A))",
    "todense(BCSR.fromdense(A))",
]
SPARSIFY = [
    "sparsify(lambda m, w: 2 * m.T @ w)(M, W)",
    "sparsify(lambda m, v: m @ v)(BCSR.fromdense(A), V)",
    "jax.jit(sparsify(lambda m, v: m @ v))(M, V)",
    "sparsify(lambda w, m: w @ m)(W, M)",
    "sparsify(lambda m, b: m @ (b @ b.T))(M, jnp.stack([V, V + 1], 1))",
    "jax.grad(lambda v: sparsify(lambda m, v: m @ v)(M, v).sum())(V)",
    *[
        f"sparsify(lambda m: {body})({operand})"
        for operand in ("M", "TWICE")
        for body in (
            "m + m",
            "-m",
            "jnp.sin(m)",
            "jnp.abs(m) * 3",
            "m.sum()",
            "m.sum(0)",
            "m.T",
            "m / 2",
            "m ** 2",
            "m ** 0",
            "m.astype(int)",
            "m + jnp.ones(m.shape)",
            "m + 1.0",
            "3 - m",
            "1 / m",
            "jnp.cos(m)",
            "jax.jit(lambda x: x * 2 + x)(m)",
            "{'x': m, 'y': jnp.ones(2)}",
            "jnp.expm1(m) - m",
        )
    ],
    "sparsify(lambda m: m * m)(M)",
]
TWO_SPARSE = [
    *[
        f"{body.replace('a', left).replace('b', right)}"
        for left, right in (("M", "TWICE"), ("TWICE", "M"), ("TWICE", "ROOMY"), ("ROOMY", "INTS"))
        for body in (
            "a * b", "a @ b.T", "a.T @ b", "sparsify(jnp.multiply)(a, b)", "sparsify(jnp.dot)(a.T, b)",
            "jax.jit(lambda x, y: x @ y.T)(a, b)",
            "bcoo_multiply_sparse(a, b)", "bcoo_dot_general(a, b, dimension_numbers=(([0, 1], [0, 1]), ([], [])))",
        )
    ],
    "M * M",
    "TWICE * TWICE",
    "sparsify(lambda m: m * m)(TWICE)",
    "sparsify(lambda m: m @ m.T)(M)",
    "M @ BCOO.fromdense(V)",
    "BCOO.fromdense(W) @ M",
    "BCOO.fromdense(V) @ BCOO.fromdense(V + 1)",
    "M @ M",
    "M * BCOO.fromdense(V)",
    "bcoo_multiply_sparse(M, BCOO.fromdense(V))",
    "bcoo_multiply_sparse(M, BCOO.fromdense(A[:1]))",
    "jax.jvp(lambda d: (BCOO((d, TWICE.indices), shape=(3, 4)) @ M.T).data, (TWICE.data,), (TWICE.data,))",
    "BCOO.fromdense(V) * M",
    "jax.grad(lambda d: (BCOO((d, TWICE.indices), shape=(3, 4)) * M).data.sum())(TWICE.data)",
]  # fmt: skip


def _outcome(library: str, expression: str) -> object:
    jax = importlib.import_module(library)
    sparse = importlib.import_module(f"{library}.experimental.sparse")
    names = {name: getattr(sparse, name) for name in ("BCSR", "BCOO", "sparsify", "todense")}
    of_bcoo = ("bcoo_multiply_sparse", "bcoo_dot_general")
    names.update(
        {name: getattr(sparse, name) for name in ("bcsr_todense", "bcsr_fromdense", "bcsr_dot_general", *of_bcoo)}
    )
    twice = sparse.BCOO((_DATA, _PLACES), shape=(3, 4))
    names["ROOMY"], names["INTS"] = sparse.BCOO.fromdense(_A * 3, nse=5), sparse.BCOO.fromdense(np.int32(_A * 2))
    names.update(A=_A, V=_V, W=_W, DATA=_DATA, TWICE=twice, M=sparse.BCOO.fromdense(_A), np=np, jax=jax, jnp=jax.numpy)
    try:
        result = eval(expression, names)
    except Exception as error:
        first = " ".join(str(error).replace("jax.experimental", "jitkit.experimental").split())
        return type(error).__name__, first[:60]
    leaves, tree = jax.tree.flatten(result, is_leaf=lambda x: isinstance(x, sparse.JAXSparse))
    text = [repr(x) for x in leaves if isinstance(x, sparse.JAXSparse)]
    arrays = [np.asarray(x) for x in jax.tree.leaves(result)]
    return text, str(tree), [(x.dtype.name, x.shape, x.tobytes()) for x in arrays]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", [*BCSR, *SPARSIFY, *TWO_SPARSE])
def test_sparse_rows_and_sparsified_functions_are_jaxs(expression: str) -> None:
    assert _outcome("jitkit", expression) == _outcome("jax", expression)


def test_a_dense_array_may_stand_before_a_sparse_matrix_of_rows() -> None:
    """JAX raises NotImplementedError here."""
    jnp = importlib.import_module("jitkit.numpy")
    sparse = importlib.import_module("jitkit.experimental.sparse")
    assert (jnp.asarray(_W) @ sparse.BCSR.fromdense(_A)).tolist() == (_W @ _A).tolist()
