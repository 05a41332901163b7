"""Bad input to `jitkit.numpy`: the class and the first line of each error are those of `jax.numpy`, called eagerly and traced."""

from __future__ import annotations

import numpy as np
import pytest
from numpy_oracle import check_error, linalg_of

VECTOR = np.arange(5, dtype=np.float32)
MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)
CUBE = np.zeros((2, 3, 4), np.float32)
INTS = np.int32([3, -4, 0])
BOOLS = np.array([True, False])
COMPLEX = np.complex64([1 + 2j, 3])
NOTHING = np.zeros(0, np.float32)


def set_item(jnp, x):
    x[0] = 1


OBJECT = object()  # one object for both libraries, since messages contain its address
ERRORS = {
    # what is not an array
    **{
        f"{name} of a list": (lambda jnp, name=name, args=args: getattr(jnp, name)([1, 2, 3], *args),)
        for name, args in {
            "sin": (),
            "negative": (),
            "add": ([1],),
            "where": (1, 2),
            "sum": (),
            "mean": (),
            "cumsum": (),
            "sort": (),
            "reshape": ((3,),),
            "transpose": (),
            "dot": ([1],),
            "matmul": ([1],),
            "clip": (),
            "argmax": (),
            "squeeze": (),
            "expand_dims": (0,),
            "take": (0,),
            "split": (1,),
            "tile": (2,),
            "repeat": (2,),
            "flip": (),
            "roll": (1,),
            "tril": (),
            "round": (),
            "var": (),
            "std": (),
            "median": (),
            "max": (),
            "any": (),
            "nonzero": (),
            "einsum": (),
            "broadcast_to": ((3,),),
            "ravel": (),
            "diff": (),
            "pad": (1,),
        }.items()
        if name != "einsum"
    },
    **{
        f"{name} of None": (lambda jnp, name=name: getattr(jnp, name)(None),)
        for name in ("sin", "sum", "sort", "clip", "abs", "isnan", "sqrt")
    },
    "a list beside an array": (lambda jnp, x: jnp.add(x, [1]), VECTOR),
    "an object in a list": (lambda jnp: jnp.array(OBJECT),),
    "a string": (lambda jnp: jnp.array("a"),),
    "None": (lambda jnp: jnp.array(None),),
    "None in a list": (lambda jnp: jnp.array([None]),),
    "a ragged list": (lambda jnp: jnp.array([[1], [1, 2]]),),
    "a dict": (lambda jnp: jnp.array({}),),
    "a set": (lambda jnp: jnp.array({1}),),
    "an int too large": (lambda jnp: jnp.array(2**40),),
    # shapes and dtypes
    "shapes that do not broadcast": (lambda jnp, x, y: x + y, np.ones(3), np.ones(4)),
    "axes that do not match": (lambda jnp, x, y: x @ y, np.ones((3, 2)), np.ones(4)),
    "matmul of a scalar": (lambda jnp, x: jnp.matmul(x, 2.0), VECTOR),
    "batches that do not match": (lambda jnp, x, y: jnp.matmul(x, y), np.ones((2, 3, 4)), np.ones((3, 4, 5))),
    "dot of matrices that do not match": (lambda jnp, x, y: jnp.dot(x, y), np.ones((3, 2)), np.ones((3, 2))),
    "vecdot of lengths that differ": (lambda jnp, x, y: jnp.vecdot(x, y), VECTOR, VECTOR[:3]),
    "a string dtype": (lambda jnp: jnp.zeros(2, dtype="S3"),),
    "an object dtype": (lambda jnp: jnp.zeros(2, dtype=object),),
    "a dtype that does not exist": (lambda jnp: jnp.zeros(2, dtype="nope"),),
    "astype to strings": (lambda jnp, x: x.astype("S"), VECTOR),
    "an array as a dtype": (lambda jnp, x: jnp.zeros(2, dtype=x), VECTOR),
    "bools subtracted": (lambda jnp, x: x - x, BOOLS),
    "a bool negated": (lambda jnp, x: -x, BOOLS),
    "a float inverted": (lambda jnp, x: ~x, VECTOR),
    "bits of floats": (lambda jnp, x: x & x, VECTOR),
    "a float shifted": (lambda jnp, x: x << 1, VECTOR),
    "an integer to a negative power": (lambda jnp, x: x**-1, INTS),
    "complex numbers divided without rest": (lambda jnp, x: x // 2, COMPLEX),
    "hypot of complex numbers": (lambda jnp, x: jnp.hypot(x, x), COMPLEX),
    "signbit of complex numbers": (lambda jnp, x: jnp.signbit(x), COMPLEX),
    "clip of complex numbers": (lambda jnp, x: jnp.clip(x, 0, 1), COMPLEX),
    # indices
    "a string as an index": (lambda jnp, x: x["a"], VECTOR),
    "a float as an index": (lambda jnp, x: x[1.0], VECTOR),
    "a list as an index": (lambda jnp, x: x[[1, 2]], VECTOR),
    "lists in a list as an index": (lambda jnp, x: x[[[1, 2], [1, 2]]], MATRIX),
    "too many indices": (lambda jnp, x: x[1, 2, 3], MATRIX),
    "two ellipses": (lambda jnp, x: x[..., ...], MATRIX),
    "floats as indices": (lambda jnp, x, y: x[y], VECTOR, VECTOR),
    "a type as an index": (lambda jnp, x: x[object], VECTOR),
    "a mask of another shape": (lambda jnp, x: x[np.array([True, False])], VECTOR),
    "an int on an empty axis": (lambda jnp, x: x[0], np.zeros((0, 3), np.float32)),
    "a step of zero": (lambda jnp, x: x[::0], VECTOR),
    "a traced mask": (lambda jnp, x: x[x > 1], VECTOR),
    "an update by a traced mask": (lambda jnp, x: x.at[x > 1].set(0), VECTOR),
    "item assignment": (set_item, VECTOR),
    "a mode that does not exist": (lambda jnp, x: x.at[0].set(1, mode="zzz"), VECTOR),
    "a mode of get that does not exist": (lambda jnp, x: x.at[0].get(mode="zzz"), VECTOR),
    "an update of another shape": (lambda jnp, x: x.at[:3].set(x), VECTOR),
    "take that raises": (lambda jnp, x: jnp.take(x, 0, mode="raise"), VECTOR),
    "take in an unknown mode": (lambda jnp, x: jnp.take(x, 0, mode="x"), VECTOR),
    "take from nothing": (lambda jnp, x: jnp.take(x, 0), NOTHING),
    "take_along_axis by floats": (lambda jnp, x: jnp.take_along_axis(x, x, 0), VECTOR),
    "take_along_axis of other ranks": (lambda jnp, x: jnp.take_along_axis(x, np.array([1]), 0), MATRIX),
    # axes
    "an axis out of bounds": (lambda jnp, x: jnp.sum(x, axis=3), VECTOR),
    "an axis twice": (lambda jnp, x: jnp.sum(x, axis=(0, 0)), MATRIX),
    "a float as an axis": (lambda jnp, x: jnp.sum(x, axis=1.5), MATRIX),
    "squeeze of an axis of three": (lambda jnp, x: jnp.squeeze(x, 0), MATRIX),
    "an axis twice in transpose": (lambda jnp, x: jnp.transpose(x, (0, 0)), MATRIX),
    "too few axes in transpose": (lambda jnp, x: jnp.transpose(x, (0,)), MATRIX),
    "expand_dims out of bounds": (lambda jnp, x: jnp.expand_dims(x, 9), VECTOR),
    "roll along an axis out of bounds": (lambda jnp, x: jnp.roll(x, 1, axis=5), VECTOR),
    "trace of one axis": (lambda jnp, x: jnp.trace(x, axis1=0, axis2=0), MATRIX),
    # sizes
    "reshape to another size": (lambda jnp, x: x.reshape(2, 2), VECTOR),
    "reshape that does not divide": (lambda jnp, x: x.reshape(2, -1), VECTOR),
    "reshape of two unknown sizes": (lambda jnp, x: x.reshape(-1, -1), VECTOR),
    "reshape to a float": (lambda jnp, x: x.reshape(2.5), VECTOR),
    "reshape in an unknown order": (lambda jnp, x: jnp.reshape(x, (5,), order="Q"), VECTOR),
    "a negative size": (lambda jnp: jnp.zeros(-1),),
    "a float as a size": (lambda jnp: jnp.zeros(2.5),),
    "two sizes without a tuple": (lambda jnp: jnp.zeros(2, 3),),
    "a generator as a shape": (lambda jnp: jnp.zeros(i for i in (1, 2)),),
    "arange of an array": (lambda jnp: jnp.arange(np.arange(3)),),
    "arange of a complex": (lambda jnp: jnp.arange(1j),),
    "arange of a list": (lambda jnp: jnp.arange([1]),),
    "a negative number of samples": (lambda jnp: jnp.linspace(0, 1, -2),),
    "a negative eye": (lambda jnp: jnp.eye(-1),),
    "concatenate of other shapes": (lambda jnp, x: jnp.concatenate([x, jnp.ones((3, 3))]), VECTOR),
    "concatenate of nothing": (lambda jnp: jnp.concatenate([]),),
    "concatenate of scalars": (lambda jnp: jnp.concatenate([1, 2]),),
    "stack of nothing": (lambda jnp: jnp.stack([]),),
    "stack of other shapes": (lambda jnp, x, y: jnp.stack([x, y]), VECTOR, MATRIX),
    "split that does not divide": (lambda jnp, x: jnp.split(x, 2), VECTOR),
    "broadcast_to another size": (lambda jnp, x: jnp.broadcast_to(x, (3,)), VECTOR),
    "broadcast_to fewer axes": (lambda jnp, x: jnp.broadcast_to(x, (3,)), MATRIX),
    "broadcast_arrays that do not": (lambda jnp, x, y: jnp.broadcast_arrays(x, y), VECTOR, MATRIX),
    "broadcast_shapes that do not": (lambda jnp: jnp.broadcast_shapes((2,), (3,)),),
    "where of shapes that do not broadcast": (lambda jnp, x, y: jnp.where(x > 1, x, y), VECTOR, MATRIX),
    "where of two arguments": (lambda jnp, x: jnp.where(x, x), VECTOR),
    "the diagonal of a cube": (lambda jnp, x: jnp.diag(x), CUBE),
    "tril of a vector": (lambda jnp, x: jnp.tril(x), VECTOR),
    "meshgrid of a matrix": (lambda jnp, x: jnp.meshgrid(x), MATRIX),
    "nonzero of a scalar": (lambda jnp, x: jnp.nonzero(x), 2.0),
    "bincount of floats": (lambda jnp, x: jnp.bincount(x, length=3), VECTOR),
    # reductions
    "max of nothing": (lambda jnp, x: jnp.max(x), NOTHING),
    "argmax of nothing": (lambda jnp, x: jnp.argmax(x), NOTHING),
    "max of a mask": (lambda jnp, x: jnp.max(x, where=x > 1), VECTOR),
    "sum into an array": (lambda jnp, x: jnp.sum(x, out=x), VECTOR),
    "mean into an array": (lambda jnp, x: jnp.mean(x, out=x), VECTOR),
    "cumsum into an array": (lambda jnp, x: jnp.cumsum(x, out=x), VECTOR),
    "a mask of floats": (lambda jnp, x: jnp.sum(x, where=x), VECTOR),
    "an initial value with axes": (lambda jnp, x: jnp.sum(x, initial=x), VECTOR),
    "a deviation in integers": (lambda jnp, x: jnp.std(x, dtype=int), VECTOR),
    "two corrections": (lambda jnp, x: jnp.var(x, ddof=1, correction=1), VECTOR),
    "a quantile by an unknown method": (lambda jnp, x: jnp.quantile(x, 0.5, method="x"), VECTOR),
    # the rest
    "a kind of sort": (lambda jnp, x: jnp.sort(x, kind="quicksort"), VECTOR),
    "an unknown padding": (lambda jnp, x: jnp.pad(x, 1, mode="x"), VECTOR),
    "an option of another padding": (lambda jnp, x: jnp.pad(x, 1, mode="edge", constant_values=1), VECTOR),
    "a negative padding": (lambda jnp, x: jnp.pad(x, -1), VECTOR),
    "padding of three widths": (lambda jnp, x: jnp.pad(x, (1, 2, 3)), VECTOR),
    "a float as padding": (lambda jnp, x: jnp.pad(x, 1.5), VECTOR),
    "einsum of too few operands": (lambda jnp, x: jnp.einsum("i,i", x), VECTOR),
    "einsum of another rank": (lambda jnp, x: jnp.einsum("ij", x), VECTOR),
    "einsum of an unknown label": (lambda jnp, x: jnp.einsum("i->j", x), VECTOR),
    "einsum of two sizes": (lambda jnp, x, y: jnp.einsum("i,i", x, y), VECTOR, VECTOR[:3]),
    "tensordot over too many axes": (lambda jnp, x: jnp.tensordot(x, x, 3), MATRIX),
    "tensordot over a string": (lambda jnp, x: jnp.tensordot(x, x, "a"), MATRIX),
    "a norm over three axes": (lambda jnp, x: linalg_of(jnp).norm(x, axis=(0, 1, 2)), CUBE),
    "an unknown norm": (lambda jnp, x: linalg_of(jnp).norm(x, ord="x"), MATRIX),
    "flat": (lambda jnp, x: x.flat, VECTOR),
    "an array in an array": (lambda jnp, x: x in x, VECTOR),
    "the length of a scalar": (lambda jnp, x: len(jnp.asarray(x)), 2.0),
    "iteration over a scalar": (lambda jnp, x: list(jnp.asarray(x)), 2.0),
    "array in an order": (lambda jnp: jnp.array([1], order="C"),),
}

# Arguments that must be known while tracing: refused in a trace, accepted eagerly.
TRACED = {
    "a slice that ends at a traced place": (lambda jnp, x, i: x[:i], VECTOR, 1),
    "zeros of a traced size": (lambda jnp, n: jnp.zeros(n), 3),
    "arange to a traced end": (lambda jnp, n: jnp.arange(n), 3),
    "arange from 0 to a traced end": (lambda jnp, n: jnp.arange(0, n), 3),
    "a traced number of samples": (lambda jnp, n: jnp.linspace(0, 1, n), 3),
    "the positions of what is not zero": (lambda jnp, x: jnp.nonzero(x), VECTOR),
    "the positions where it is": (lambda jnp, x: jnp.where(x), VECTOR),
    "a traced number of repetitions": (lambda jnp, x, n: jnp.repeat(x, n), VECTOR, 2),
    "bincount without a length": (lambda jnp, x: jnp.bincount(x), np.int32([1, 2])),
    "a traced padding": (lambda jnp, x, n: jnp.pad(x, n), VECTOR, 1),
}


@pytest.mark.parametrize("case", ERRORS)
def test_the_error_is_that_of_jax(case):
    check_error((case, *ERRORS[case]))


@pytest.mark.parametrize("case", TRACED)
def test_what_must_be_known_while_tracing_is_the_error_of_jax(case):
    check_error((case, *TRACED[case]))
