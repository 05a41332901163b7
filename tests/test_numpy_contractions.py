"""Products of matrices, einsum and norms: `jitkit.numpy` against `jax.numpy`."""

from __future__ import annotations

import functools
import random

import jax
import ml_dtypes
import numpy as np
import pytest
from lax_oracle import JAX_VERSION, error_of
from numpy_oracle import accepted, check, check_error, linalg_of

import jitkit

VECTOR = np.arange(5, dtype=np.float32)
MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)
TURNED = MATRIX.T.copy()
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
TURNED_CUBE = CUBE.transpose(0, 2, 1).copy()
INTS = np.int32([0, 2, 1, 3])
BFLOATS = np.array([1.5, 2, -3], ml_dtypes.bfloat16)
COMPLEX = np.complex64([1 + 2j, -3 - 1j, 0.5j, 2])

PAIRS = {
    "vectors": (VECTOR, VECTOR),
    "matrices": (MATRIX, TURNED),
    "matrix and vector": (MATRIX, MATRIX[0]),
    "vector and matrix": (TURNED[0], MATRIX),
    "integers": (INTS, INTS),
    "integers and floats": (INTS, INTS.astype(np.float32)),
    "batch and matrix": (CUBE, TURNED),
    "batches": (CUBE, TURNED_CUBE),
    "bfloat16": (BFLOATS, BFLOATS),
    "bfloat16 and float16": (BFLOATS, np.float16([1, 2, 3])),
    "complex numbers": (COMPLEX, COMPLEX),
    "bools": (VECTOR > 2, VECTOR > 1),
    "a Python float": (2.0, VECTOR),
    "a Python int": (VECTOR, 3),
    "batches that broadcast": (CUBE[None], TURNED_CUBE),
    "a batch of one": (CUBE[:1], TURNED_CUBE),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_products_agree_with_jax(kind):
    rows = [
        (name, lambda jnp, x, y, name=name: getattr(jnp, name)(x, y), *PAIRS[kind])
        for name in ("dot", "matmul", "inner", "outer", "vdot", "tensordot", "kron")
    ]
    good = [row for row in rows if accepted(row)]
    check(good, eager=kind in ("matrices", "integers and floats", "a Python float"))
    for row in rows:
        if row not in good:
            check_error(row)


def test_products_by_operators_and_with_options_agree_with_jax():
    check(
        [
            ("@", lambda jnp, x: x @ x.T, MATRIX),
            ("dot as a method", lambda jnp, x: x.dot(x.T), MATRIX),
            ("dot in another dtype", lambda jnp, x: jnp.dot(x, x, preferred_element_type=np.float32), BFLOATS),
            ("matmul of a precision", lambda jnp, x: jnp.matmul(x, x.T, precision="highest"), MATRIX),
            (
                "tensordot over lists of axes",
                lambda jnp, x, y: jnp.tensordot(x, y, axes=([1, 2], [0, 1])),
                CUBE,
                MATRIX,
            ),
            ("tensordot over one axis", lambda jnp, x: jnp.tensordot(x, x.T, 1), MATRIX),
            ("tensordot over a pair", lambda jnp, x: jnp.tensordot(x, x, (0, 0)), MATRIX),
            ("vecdot", lambda jnp, x: jnp.vecdot(x, x), MATRIX),
            ("vecdot along the first axis", lambda jnp, x: jnp.vecdot(x, x, axis=0).sum(), MATRIX),
        ]
    )


SUBSCRIPTS = [
    ("ij,jk->ik", MATRIX, TURNED),
    ("ij,kj->ik", MATRIX, MATRIX),
    ("ij,ij->", MATRIX, MATRIX),
    ("ij->ji", MATRIX),
    ("ii->i", MATRIX[:, :3]),
    ("ii", MATRIX[:, :3]),
    ("ij->j", MATRIX),
    ("ij->", MATRIX),
    ("bij,bjk->bik", CUBE, TURNED_CUBE),
    ("i,j->ij", VECTOR, VECTOR),
    ("...ij,...jk", CUBE, TURNED),
    ("ij,jk,kl->il", MATRIX, TURNED, MATRIX),
    ("ij,j", MATRIX, MATRIX[0]),
    ("bij->ib", CUBE),
    ("ij,ik->jk", MATRIX, MATRIX),
    ("i,i", INTS, INTS),
    ("ij,jk->ki", MATRIX, TURNED),
    ("ab,cd->abcd", MATRIX, MATRIX),
    ("ij,kl->", MATRIX, MATRIX),
    ("iij->j", np.ones((3, 3, 2), np.float32)),
    ("i,i", INTS, INTS.astype(np.float32)),
    ("ij,jk,kl,lm->im", MATRIX, TURNED, MATRIX, TURNED),
    ("i...,i...->...", CUBE, CUBE),
    ("ij,ij->ij", MATRIX, MATRIX[:1]),
]


def test_einsum_agrees_with_jax():
    check(
        [
            *[
                (f"einsum {text}", lambda jnp, *xs, text=text: jnp.einsum(text, *xs), *operands)
                for text, *operands in SUBSCRIPTS
            ],
            ("einsum with lists", lambda jnp, x: jnp.einsum(x, [0, 1], x, [2, 1], [0, 2]), MATRIX),
            ("einsum from left to right", lambda jnp, x: jnp.einsum("ij,jk,kl", x, x.T, x, optimize=False), MATRIX),
            ("einsum in an order", lambda jnp, x: jnp.einsum("ij,jk,kl", x, x.T, x, optimize=[(1, 2), (0, 1)]), MATRIX),
        ]
    )


SEARCHES = ["auto", True, False, "optimal", "Branch-All", "branch-2", "branch-1", "greedy", "eager", None]


def facts(library, text, *operands, **options):
    path, info = library.numpy.einsum_path(text, *operands, **options)
    names = (
        "eq",
        "naive_cost",
        "opt_cost",
        "speedup",
        "largest_intermediate",
        "scale_list",
        "size_list",
        "shapes",
        "path",
    )
    steps = [tuple(step) for step in info.contraction_list]
    return path, str(info), steps, info.size_dict, info.indices, [getattr(info, name) for name in names]


@pytest.mark.parametrize("row", SUBSCRIPTS, ids=lambda row: row[0])
def test_the_order_of_a_contraction_is_described_as_jax_does(row):
    for search in SEARCHES:
        ours, theirs = (facts(library, *row, optimize=search) for library in (jitkit, jax))
        assert ours == theirs, search


@pytest.mark.parametrize(
    "text", ["ab,bc,cd,de,ef", "ab,bc,cd,de,ef,fa,ac", "abc,ade,fbe,fdc,ghi->", "a,b,c,d,e,f", "ab,ac,cb,ca,ab"]
)
def test_the_order_for_many_operands_is_described_as_jax_does(text):
    sizes = dict(zip("abcdefghi", (2, 3, 9, 4, 8, 2, 7, 2, 5), strict=True))
    operands = [np.ones([sizes[label] for label in labels]) for labels in text.removesuffix("->").split(",")]
    for search in [*SEARCHES, [(0, 1)] * (len(operands) - 1)]:
        assert facts(jitkit, text, *operands, optimize=search) == facts(jax, text, *operands, optimize=search)
        program = functools.partial(jitkit.numpy.einsum, text, optimize=search)
        theirs = functools.partial(jax.numpy.einsum, text, optimize=search)
        assert search is None or str(jitkit.make_jaxpr(program)(*operands)) == str(jax.make_jaxpr(theirs)(*operands))


@pytest.mark.parametrize(
    "program",
    [
        lambda jnp, x: jnp.einsum_path("ij,jk", x),
        lambda jnp, x: jnp.einsum_path("ij,jk", x, x),
        lambda jnp, x: jnp.einsum_path("i", x),
        lambda jnp, x: jnp.einsum_path("ij->k", x),
    ],
)
def test_labels_of_an_order_that_do_not_fit_are_refused_as_in_jax(program):
    x = np.ones((2, 3))
    assert error_of(program, jitkit.numpy, x) == error_of(program, jax.numpy, x)


def test_a_search_for_an_order_that_is_not_here_is_refused():
    x = np.ones((2, 2))
    with pytest.raises(NotImplementedError, match="jitkit has auto, optimal, branch-all"):
        jitkit.numpy.einsum_path("ij,jk,kl", x, x, x, optimize="dp")
    with pytest.raises(KeyError, match="Path optimizer 'best' not found, valid options are"):
        jitkit.numpy.einsum_path("ij,jk,kl", x, x, x, optimize="best")


@pytest.mark.parametrize("count", [3, 4, 5, 6, 7, 9, 12, 15, 18])
@pytest.mark.parametrize("search", ["auto", "greedy"])
def test_operands_are_contracted_in_the_order_of_jax(count, search):
    """Random labels, of which some are of size 1: what costs the same then decides the order."""
    rng = random.Random(count)
    for _ in range(5):
        sizes = {label: rng.choice([1, 1, 2, 3, 4]) for label in "ijklmn"}
        inputs = ["".join(rng.sample("ijklmn", rng.choice([1, 2, 2, 3]))) for _ in range(count)]
        text = f"{','.join(inputs)}->{''.join(label for label in sorted(set(''.join(inputs))) if rng.random() < 0.4)}"
        operands = [np.ones([sizes[label] for label in labels], np.float32) for labels in inputs]
        ours, theirs = (
            str(library.make_jaxpr(functools.partial(library.numpy.einsum, text, optimize=search))(*operands))
            for library in (jitkit, jax)
        )
        assert ours == theirs, text


def test_norms_agree_with_jax():
    check(
        [
            ("norm", lambda jnp, x: linalg_of(jnp).norm(x), VECTOR),
            *[
                (f"norm {ord}", lambda jnp, x, ord=ord: linalg_of(jnp).norm(x, ord=ord), VECTOR)
                for ord in (1, 2, np.inf, -np.inf, 0, 3)
            ],
            *[
                (
                    f"norm {ord} of rows",
                    lambda jnp, x, ord=ord: linalg_of(jnp).norm(x, ord=ord, axis=1, keepdims=True),
                    MATRIX,
                )
                for ord in (None, 1, 2, np.inf, -np.inf, 0, 3)
            ],
            *[
                (f"norm {ord} of a matrix", lambda jnp, x, ord=ord: linalg_of(jnp).norm(x, ord=ord), MATRIX)
                for ord in (None, "fro", 1, -1, np.inf, -np.inf)
            ],
            *[
                (
                    f"norm {ord} of a matrix, keeping axes",
                    lambda jnp, x, ord=ord: linalg_of(jnp).norm(x, ord=ord, axis=(0, 1), keepdims=True),
                    MATRIX,
                )
                for ord in (1, -1, np.inf, -np.inf)
            ],
            ("norm over two axes", lambda jnp, x: linalg_of(jnp).norm(x, axis=(0, 2)), CUBE),
            ("norm of complex numbers", lambda jnp, x: linalg_of(jnp).norm(x), COMPLEX),
            ("norm of integers", lambda jnp, x: linalg_of(jnp).norm(x), INTS),
        ]
    )


def test_cross_products_agree_with_jax():
    vectors = np.float32([[1, 2, 3], [4, 5, 7]])
    rows = [
        ("cross", lambda jnp, x: jnp.cross(x, x[::-1]), vectors),
        ("cross along the first axis", lambda jnp, x: jnp.cross(x.T, x[::-1].T, axis=0), vectors),
    ]
    in_the_plane = [
        ("cross in the plane", lambda jnp, x: jnp.cross(x[:, :2], x[::-1, :2]), vectors),
        ("cross of two and three", lambda jnp, x: jnp.cross(x[:, :2], x), vectors),
    ]
    check(rows)
    for row in in_the_plane:  # JAX 0.12 refuses these
        (check if JAX_VERSION < (0, 12) else check_error)(row if JAX_VERSION >= (0, 12) else [row])
