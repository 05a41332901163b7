"""Errors that a beginner meets first: JAX's class and first line, and below it what to write instead."""

from __future__ import annotations

import dataclasses
import math
import operator
import re

import jax
import numpy as np
import pytest
from twin import JAX_VERSION

import jitkit


@dataclasses.dataclass(frozen=True)
class Layer:
    w: object


class Plain:
    def __init__(self, w):
        self.w = w


@dataclasses.dataclass(frozen=True)
class Sizes:
    sizes: list


def asserting(x):
    assert x > 0
    return x


def with_rules(lib, fun, fwd, bwd):
    f = lib.custom_vjp(fun)
    f.defvjp(fwd, bwd)
    return lib.grad(f)


def with_jvp(lib, rule):
    f = lib.custom_jvp(lambda x: x)
    f.defjvp(rule)
    return lib.grad(f)


def backward_only(lib):
    f = lib.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda r, g: (g,))
    return f


def without_i(carry):
    return carry


def into_numpy(x):
    out = np.zeros(3)
    out[0] = x[:1]
    return out


def of_two(i, total):
    return i, total


# name -> a program that fails, and words of the advice; `lib` is JAX or jitkit
PROGRAMS = {
    "a product of vectors": (lambda lib, jnp: jnp.arange(4.0) @ jnp.arange(3.0), "shapes (4,) and (3,)"),
    "a product in jit": (
        lambda lib, jnp: lib.jit(lambda x, w: x @ w)(jnp.ones((2, 4)), jnp.ones((3, 2))),
        "axis 1 of the first, and axis 0 of the second",
    ),
    "digits": (lambda lib, jnp: lib.jit(lambda x: f"{x:.3f}")(1.0), "jitkit.debug.print('{x:.3f}', x=x)"),
    "member of a set": (lambda lib, jnp: lib.jit(lambda x: x in {1, 2})(1), "(x == 1) | (x == 2)"),
    "key of a dict": (lambda lib, jnp: lib.jit(lambda x: {1: 2}[x])(1), "jnp.array(values)[i]"),
    "backward through while": (
        lambda lib, jnp: lib.grad(lambda x: lib.lax.while_loop(lambda c: c < 3, lambda c: c * 2, x))(1.0),
        "jacfwd",
    ),
    "vmap of two sizes": (
        lambda lib, jnp: lib.vmap(lambda a, b: a + b)(jnp.arange(3.0), jnp.arange(4.0)), "in_axes=(0, None)",
    ),
    "vmap of a number": (lambda lib, jnp: lib.vmap(lambda a: a)(1.0), "None among the axes"),
    "vmap over nothing": (lambda lib, jnp: lib.vmap(lambda a: a, in_axes=None)(jnp.arange(3.0)), "axis_size=3"),
    "vmap with too few axes": (
        lambda lib, jnp: lib.vmap(lambda a, b: a, in_axes=(0,))(jnp.arange(3.0), 1.0), "an axis for each argument",
    ),
    "vmap with a wrong axis out": (
        lambda lib, jnp: lib.vmap(lambda a: a, out_axes=3)(jnp.arange(3.0)), "where the batch goes",
    ),
    "custom_vjp without rules": (lambda lib, jnp: lib.grad(lib.custom_vjp(asserting))(1.0), "asserting.defvjp(fwd, bwd)"),
    "fwd without residuals": (
        lambda lib, jnp: with_rules(lib, lambda x: x, lambda x: x, lambda r, g: (g,))(1.0), "return result, None",
    ),
    "bwd without a tuple": (
        lambda lib, jnp: with_rules(lib, lambda x: x, lambda x: (x, None), lambda r, g: g)(1.0), "`return (g,)`",
    ),
    "bwd with too little": (
        lambda lib, jnp: with_rules(lib, lambda x, y: x * y, lambda x, y: (x * y, None), lambda r, g: (g,))(1.0, 2.0),
        "`return (g, g)`",
    ),
    "bwd of another shape": (
        lambda lib, jnp: with_rules(lib, lambda x: x.sum(), lambda x: (x.sum(), None), lambda r, g: (jnp.ones(5),))(jnp.ones(3)),
        "has the shape of its argument",
    ),
    "branches of two structures": (
        lambda lib, jnp: lib.lax.cond(True, lambda x: (x, x), lambda x: x, 1.0), "let the branch with less return",
    ),
    "gradient of a pair": (lambda lib, jnp: lib.grad(lambda x: (x**2, x * 3))(1.0), "has_aux=True"),
    "gradient of nothing": (lambda lib, jnp: lib.grad(lambda x: None)(1.0), "is a `return` missing?"),
    "gradient of a dict": (lambda lib, jnp: lib.grad(lambda x: {"loss": x * 3})(1.0), "has_aux=True"),
    "gradient of an array": (lambda lib, jnp: lib.grad(lambda x: x * 2)(jnp.ones(3)), "jacrev"),
    "sum of a list": (lambda lib, jnp: jnp.sum([1, 2]), "jnp.array("),
    "a seed for a key": (lambda lib, jnp: lib.random.normal(0), "jitkit.random.key(0)"),
    "a static object with an array": (
        lambda lib, jnp: lib.jit(lambda f, x: x, static_argnums=0)(Layer(jnp.ones(3)), 1.0), "register its class as a pytree",
    ),
    "a static object with a list": (
        lambda lib, jnp: lib.jit(lambda f, x: x, static_argnums=0)(Sizes([1]), 1.0), "make it a tuple or a frozenset",
    ),
    "a function of math": (lambda lib, jnp: lib.jit(lambda x: math.sin(x))(1.0), "jnp.sin(x) instead of math.sin(x)"),
    "sorted": (lambda lib, jnp: lib.jit(lambda x, y: sorted([x, y]))(1.0, 2.0), "jnp.sort(jnp.stack([x, y]))"),
    "assert": (lambda lib, jnp: lib.jit(asserting)(1.0), "check outside of the traced function"),
    "a product of batches": (
        lambda lib, jnp: jnp.ones((2, 3, 4)) @ jnp.ones((3, 4, 2)), "All axes but the last two are batch axes",
    ),
    "einsum of two sizes": (
        lambda lib, jnp: jnp.einsum("ij,jk->ik", jnp.ones((2, 3)), jnp.ones((2, 3))), "the shape (2, 3), with the letters jk",
    ),
    "lax of two ranks": (lambda lib, jnp: lib.lax.add(jnp.ones((3, 4)), jnp.ones(4)), "the `jnp` function does"),
    "lax of two dtypes": (lambda lib, jnp: lib.lax.add(jnp.ones(3), jnp.arange(3)), "`.astype(...)`"),
    "a reshape to another size": (lambda lib, jnp: jnp.ones((3, 4)).reshape(5, 2), "the product of the sizes is 12"),
    "a reshape that does not divide": (lambda lib, jnp: jnp.ones((3, 4)).reshape(-1, 5), "One of them may be -1"),
    "a reshape with two unknowns": (lambda lib, jnp: jnp.ones((3, 4)).reshape(-1, -1), "follows from the others"),
    "concatenate of two sizes": (
        lambda lib, jnp: jnp.concatenate([jnp.ones((2, 3)), jnp.ones((2, 4))]), "`jnp.stack` joins arrays of one shape",
    ),
    "concatenate of two ranks": (lambda lib, jnp: jnp.concatenate([jnp.ones((2, 3)), jnp.ones(3)]), "`x[None]` adds one"),
    "concatenate of two arguments": (lambda lib, jnp: jnp.concatenate(jnp.ones(3), jnp.ones(3)), "jnp.concatenate([x, y])"),
    "stack of two arguments": (lambda lib, jnp: jnp.stack(jnp.ones(3), jnp.ones(3)), "`jnp.stack([x, y])`"),
    "vstack of two arguments": (lambda lib, jnp: jnp.vstack(jnp.ones(3), jnp.ones(3)), "`jnp.vstack([x, y])`"),
    "hstack of two arguments": (lambda lib, jnp: jnp.hstack(jnp.ones(3), jnp.ones(3)), "`jnp.hstack([x, y])`"),
    "an object with an array": (lambda lib, jnp: lib.jit(lambda f: f.w)(Plain(jnp.ones(3))), "above `@dataclasses.dataclass`)"),
    "register_dataclass of another class": (
        lambda lib, jnp: lib.tree_util.register_dataclass(type("Model", (), {})), "write `@dataclasses.dataclass` below",
    ),
    "stack of two shapes": (lambda lib, jnp: jnp.stack([jnp.ones(2), jnp.ones(3)]), "`jnp.concatenate` joins them"),
    "an axis that is not there": (lambda lib, jnp: jnp.sum(jnp.ones((2, 3)), axis=2), "0 to 1, or from the end -1 to -2"),
    "softmax over no axis": (lambda lib, jnp: lib.nn.softmax(jnp.ones(3), axis=1), "Its only axis is 0"),
    "squeeze": (lambda lib, jnp: jnp.squeeze(jnp.ones((2, 3)), axis=0), "axes of size 1 only"),
    "broadcast_to": (lambda lib, jnp: jnp.broadcast_to(jnp.ones(3), (3, 4)), "`x[:, None]`"),
    "set of another shape": (lambda lib, jnp: jnp.ones(3).at[:2].set(jnp.ones(3)), "from their last axis to the first"),
    "split": (lambda lib, jnp: jnp.split(jnp.ones(5), 2), "jnp.array_split"),
    "an array of None": (lambda lib, jnp: jnp.array([1, None]), "jnp.nan"),
    "an array of a text": (lambda lib, jnp: jnp.array("abc"), "Keep texts in Python lists"),
    "a float for an index": (lambda lib, jnp: jnp.ones(3)[1.0], "int(i)"),
    "a text for an index": (lambda lib, jnp: jnp.ones(3)["a"], "a dict of arrays"),
    "too many indices": (lambda lib, jnp: jnp.ones(3)[0, 0], "Its shape is (3,)."),
    "a mask of another shape": (lambda lib, jnp: jnp.ones(3)[jnp.array([True, False])], "x[x > 0]"),
    "& of floats": (lambda lib, jnp: jnp.ones(3) & 1, "(x > 0) & (x < 1)"),
    "~ of floats": (lambda lib, jnp: ~jnp.ones(3), "(x > 0) & (x < 1)"),
    "jit of a result": (lambda lib, jnp: lib.jit(1.5), "jit(f)(x)"),
    "grad of a result": (lambda lib, jnp: lib.grad(1.5), "grad(f)(x)"),
    "cond of two values": (lambda lib, jnp: lib.lax.cond(True, 1.0, 2.0), "jnp.where(pred, a, b)"),
    "scan over a number": (lambda lib, jnp: lib.lax.scan(lambda c, x: (c, x), 0.0, 3), "length=n"),
    "gradient by an integer": (lambda lib, jnp: lib.grad(lambda x: x * 2)(3), "`3.0` instead of `3`"),
    "gradient of argmax": (lambda lib, jnp: lib.grad(lambda x: jnp.argmax(x))(jnp.ones(3)), "before `argmax`"),
    "has_aux without a pair": (lambda lib, jnp: lib.grad(lambda x: [1.0], has_aux=True)(1.0), "return loss, aux"),
    "gradient by an argument that is not there": (lambda lib, jnp: lib.grad(lambda x: x, argnums=1)(1.0), "from 0"),
    "gradient by keyword": (lambda lib, jnp: lib.grad(lambda x: x)(x=1.0), "instead of `grad(f)(x=x)`"),
    "gradient by a text": (lambda lib, jnp: lib.grad(lambda p: p["w"])({"w": 1.0, "name": "a"}), "Take the rest out of the tree"),
    "jvp without tuples": (lambda lib, jnp: lib.jvp(jnp.sin, 1.0, 1.0), "jvp(f, (x,), (v,))"),
    "a tangent of another dtype": (lambda lib, jnp: lib.jvp(jnp.sin, (1.0,), (1,)), "jnp.ones_like(x)"),
    "a tangent of another shape": (lambda lib, jnp: lib.jvp(jnp.sin, (jnp.ones(3),), (1.0,)), "jnp.ones_like(x)"),
    "a cotangent of another shape": (lambda lib, jnp: lib.vjp(jnp.sin, jnp.ones(3))[1](1.0), "jnp.ones_like(y)"),
    "custom_jvp without a rule": (lambda lib, jnp: lib.grad(lib.custom_jvp(asserting))(1.0), "@f.defjvp"),
    "a rule with another tangent": (lambda lib, jnp: with_jvp(lib, lambda p, t: (p[0], jnp.ones(3)))(1.0), "has the result's shape"),
    "forward through custom_vjp": (
        lambda lib, jnp: lib.jvp(backward_only(lib), (1.0,), (1.0,)), "Use `jacrev`",
    ),
    "a float for a seed": (lambda lib, jnp: lib.random.key(1.5), "random.key(0)"),
    "a key and a number": (lambda lib, jnp: lib.random.key(0) + 1, "random.fold_in(key, i)"),
    "too few leaves": (lambda lib, jnp: lib.tree.unflatten(lib.tree.structure([1, 2]), [1]), "in which `tree.flatten` returns them"),
    "keys of two kinds": (lambda lib, jnp: lib.tree.flatten({"a": 1, 2: 3}), "all texts or all numbers"),
    "an integer to a negative power": (lambda lib, jnp: jnp.arange(3) ** -1, "x.astype(float) ** -1"),
    "a convolution": (
        lambda lib, jnp: lib.lax.conv(jnp.ones((1, 3, 8, 8)), jnp.ones((4, 2, 3, 3)), (1, 1), "SAME"), "(batch, features,",
    ),
    "an f-string that is printed": (lambda lib, jnp: lib.jit(lambda x: lib.debug.print(f"{1.0}", x))(1.0), "without the f"),
    "None for a seed": (lambda lib, jnp: lib.random.key(None), "A seed must be an integer"),
    "random numbers without a key": (lambda lib, jnp: lib.random.normal((3,)), "random.normal(random.key(0), shape)"),
    "a float for a size": (lambda lib, jnp: lib.random.normal(lib.random.key(0), (3.0,)), "`n // 2` instead of `n / 2`"),
    "a float for a size of zeros": (lambda lib, jnp: jnp.zeros([2.5]), "`n // 2` instead of `n / 2`"),
    "`and` of arrays": (lambda lib, jnp: (jnp.arange(3) > 0) and (jnp.arange(3) < 2), "(a > 0) & (a < 2)"),
    "a chain of comparisons": (lambda lib, jnp: 0 < jnp.arange(3) < 2, "(a > 0) & (a < 2)"),
    "`if` of an array": (lambda lib, jnp: 1 if jnp.arange(3) > 0 else 2, "jnp.where(a > 0, x, y)"),
    "a product with a number": (lambda lib, jnp: jnp.ones((2, 2)) @ 3, "`x * 2`"),
    "fori_loop in another order": (lambda lib, jnp: lib.lax.fori_loop(0, lambda i, c: c, 3, 1.0), "(lower, upper, body_fun, init_val)"),
    "while_loop in another order": (lambda lib, jnp: lib.lax.while_loop(0, lambda c: c, lambda c: c), "(cond_fun, body_fun, init_val)"),
    "a body of fori_loop without i": (lambda lib, jnp: lib.lax.fori_loop(0, 3, without_i, 0), "`fori_loop` with (i, carry)"),
    "a body of scan without x": (lambda lib, jnp: lib.lax.scan(without_i, 0, jnp.ones(3)), "`scan` with (carry, x)"),
    "a condition with two arguments": (lambda lib, jnp: lib.lax.while_loop(of_two, of_two, (0, 1)), "`while_loop` with (carry)"),
    "branches without operands": (lambda lib, jnp: lib.lax.cond(True, without_i, without_i), "with the operands"),
    "shifts of floats": (lambda lib, jnp: jnp.ones(3) << 1, "`x * 2.0**n`"),
    "where with one value": (lambda lib, jnp: jnp.where(jnp.ones(3) > 1, jnp.ones(3)), "Pass both x and y"),
    "x.at[i] = y": (lambda lib, jnp: operator.setitem(jnp.ones(3).at, 0, 1.0), "x = x.at[index].set(y)"),
    "x.at.set(y)": (lambda lib, jnp: jnp.ones(3).at.set(1.0), "Say first where, then what"),
    "vmap and a keyword": (
        lambda lib, jnp: lib.vmap(lambda a, b: a + b, in_axes=(0, None))(jnp.ones(3), b=1.0), "all are mapped along axis 0",
    ),
    "a text for numbers": (
        lambda lib, jnp: lib.random.uniform(lib.random.key(0), (3,), minval="a"), "minval must be an array or a number here",
    ),
    "a function among the data": (lambda lib, jnp: lib.lax.map(jnp.ones(3), without_i), "The function comes first"),
    "a traced size": (lambda lib, jnp: lib.jit(lambda n: jnp.zeros(n))(3), "jit(f, static_argnames='n')"),
    "a text": (lambda lib, jnp: lib.jit(without_i)("relu"), "jit(without_i, static_argnames='carry')"),
    "two lengths": (lambda lib, jnp: jnp.ones(3) + jnp.ones(4), "two sizes must be equal, or one of them 1"),
    "a dict of axes": (lambda lib, jnp: lib.vmap(lambda d: d["a"], in_axes={"a": 0})({"a": jnp.ones(3)}), "in_axes=({'a': 0},)"),
    "jacobian by integers": (lambda lib, jnp: lib.jacfwd(lambda x: x * 2)(jnp.arange(3)), "x.astype(float)"),
    "a list added": (lambda lib, jnp: jnp.ones(3) + [1, 2, 3], "Make a list of numbers an array first"),
    "axes for a dict of other keys": (
        lambda lib, jnp: lib.vmap(lambda p, x: x @ p["w"], in_axes=({"w": None, "b": None}, 0))({"w": jnp.ones((3, 2))}, jnp.ones((4, 3))),
        "one axis, or None, for a whole tree",
    ),
    "vmap along an axis too many": (lambda lib, jnp: lib.vmap(lambda a: a, in_axes=1)(jnp.ones(3)), "the last one is 0"),
    "an argument that is not there": (
        lambda lib, jnp: lib.grad(lambda a, b: a * b, argnums=2)(1.0, 1.0), "the last one that this call has is 1",
    ),
    "gradient of a dict with an integer": (
        lambda lib, jnp: lib.grad(lambda p: p["w"] * p["n"])({"w": 1.0, "n": 2}), "pass integers in an argument of their own",
    ),
    "two values at one place": (lambda lib, jnp: jnp.zeros(3).at[0].set(jnp.ones(2)), "`x.at[:2].set(values)`"),
    "x.at[i] + y": (lambda lib, jnp: jnp.zeros(3).at[0] + 1, "`x.at[index].add(y)`"),
    "trees of other keys": (lambda lib, jnp: lib.tree.map(lambda a, b: a, {"a": 1, "b": 2}, {"a": 1}), "kinds of nodes, keys and lengths"),
    "the inverse of a row": (lambda lib, jnp: jnp.linalg.inv(jnp.ones((2, 3))), "jnp.linalg.pinv"),
    "indices with a point": (lambda lib, jnp: jnp.take(jnp.arange(5.0), jnp.array([0.0, 1.0])), "indices.astype(int)"),
    "rows of two lengths": (lambda lib, jnp: jnp.array([[1, 2], [3]]), "rows of one length"),
    "branches of two shapes": (
        lambda lib, jnp: lib.lax.cond(True, lambda x: x, lambda x: x[:2], jnp.ones(3)), "arrays of one shape: pad the smaller",
    ),
    "a static dict": (
        lambda lib, jnp: lib.jit(lambda x, c: x * c["lr"], static_argnums=1)(1.0, {"lr": 0.1}), "`dict(...)` makes a dict of it again",
    ),
    "a size that is computed": (
        lambda lib, jnp: lib.jit(lambda x: jnp.ones(jnp.prod(jnp.array(x.shape))))(jnp.ones((2, 3))), "`math.prod(x.shape)`",
    ),
    "into an array of NumPy": (lambda lib, jnp: lib.jit(into_numpy)(jnp.ones(3)), "`out = out.at[i].set(value)`"),
    "branches of which one forgets to return": (
        lambda lib, jnp: lib.lax.cond(True, lambda x: None, lambda x: x, 1.0), "One of them returns None: is a `return` missing?",
    ),
    "a letter of the output alone": (lambda lib, jnp: jnp.einsum("ij,j->ik", jnp.ones((3, 4)), jnp.ones(4)), "Each letter behind `->`"),
    "a jvp rule without a tangent": (lambda lib, jnp: with_jvp(lib, lambda p, t: p[0] * 2)(1.0), "`return result, tangent`"),
    "an array for a shape": (lambda lib, jnp: lib.random.normal(lib.random.key(0), jnp.ones(3)), "A shape is a tuple of integers"),
    "the length of a number": (lambda lib, jnp: len(jnp.ones(())), "it has no axis to go along"),
    "the length of a traced number": (lambda lib, jnp: lib.jit(len)(1.0), "it has no axis to go along"),
    "a traced number in parts": (lambda lib, jnp: lib.jit(lambda x: [*x])(1.0), "it has no axis to go along"),
    "a number in parts": (lambda lib, jnp: [*jnp.ones(())], "it has no axis to go along"),
    "half a key": (lambda lib, jnp: lib.random.split(lib.random.key(0), 2.5), "Say how many keys"),
    # 29: JAX keeps the sentence for equal sizes, and prints np.int64(5) if an earlier test gave that
    "a window that is too large": (lambda lib, jnp: lib.lax.dynamic_slice(jnp.ones(3), (0,), (29,)), "the sizes of the window"),
    "more than there are": (lambda lib, jnp: lib.lax.top_k(jnp.ones(3), 5), "min(k, x.shape[-1])"),
    "a system that is not square": (lambda lib, jnp: jnp.linalg.solve(jnp.ones((3, 4)), jnp.ones(3)), "jnp.linalg.lstsq"),
    "a system with too few rows": (lambda lib, jnp: jnp.linalg.solve(jnp.eye(3), jnp.ones(2)), "as many rows in b"),
    "the factor of a vector": (lambda lib, jnp: jnp.linalg.cholesky(jnp.ones(3)), "This takes square matrices"),
    "the eigenvalues of a row": (lambda lib, jnp: jnp.linalg.eigh(jnp.ones((3, 4))), "This takes square matrices"),
    "the determinant of a row": (lambda lib, jnp: jnp.linalg.det(jnp.ones((3, 4))), "This takes square matrices"),
    "vectors of two lengths": (lambda lib, jnp: jnp.dot(jnp.ones(3), jnp.ones(4)), "Two vectors must have one length"),
    "associative_scan of one": (lambda lib, jnp: lib.lax.associative_scan(without_i, jnp.ones(3)), "with two elements"),
    "a tree scaled": (lambda lib, jnp: jnp.ones(3) * {"a": 1}, "jax.tree.map"),
}  # fmt: skip
NAMED_OTHERWISE = {"a list added": "ArrayImpl", "a tree scaled": "jaxlib._jax.ArrayImpl"}  # JAX's class of arrays
REWORDED_SINCE_0_11 = {
    "vmap with too few axes",
    "vmap and a keyword",
    "bwd of another shape",
    "gradient of an array",
    "the factor of a vector",
    "the eigenvalues of a row",
}  # later versions of JAX add advice or a place, or raise another class


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_line_is_jax_s_and_the_help_stands_below_it(name):
    program, help_ = PROGRAMS[name]
    errors = []
    for lib in (jitkit, jax):
        with pytest.raises(Exception) as caught:
            program(lib, lib.numpy)
        errors.append(caught.value)
    ours, theirs = errors
    one, other = (re.sub(r" at 0x\w+", "", str(error).splitlines()[0]) for error in errors)
    other = other.replace(f"'{NAMED_OTHERWISE.get(name)}'", "'Array'")
    if JAX_VERSION < (0, 11) or name not in REWORDED_SINCE_0_11:
        assert type(ours).__name__ == type(theirs).__name__
        assert one.replace("test_errors_help.", "") == other.replace("test_errors_help.", "")
    if JAX_VERSION < (0, 12) or name != "gradient of an array":  # there JAX's first line has advice, too
        assert help_ in str(ours).partition("\n")[2]
    assert help_ not in str(theirs)


def test_advice_on_a_static_object_does_not_lead_into_the_next_error():
    with pytest.raises(ValueError, match="register its class"):
        jitkit.jit(lambda layer, x: x @ layer.w, static_argnums=0)(Layer(jitkit.numpy.ones((3, 2))), np.ones(3))
    jitkit.tree_util.register_dataclass(Layer, ["w"], [])
    found = jitkit.jit(lambda layer, x: x @ layer.w)(Layer(jitkit.numpy.ones((3, 2))), np.ones(3))
    np.testing.assert_array_equal(found, [3.0, 3.0])


def test_the_advice_on_an_object_with_an_array_runs():
    @jitkit.tree_util.register_dataclass
    @dataclasses.dataclass
    class Model:
        w: object

        @jitkit.jit
        def __call__(self, x):
            return self.w @ x

    assert float(Model(np.ones(3))(np.ones(3))) == 3


def test_where_a_concrete_value_was_asked_for_is_said_once():
    with pytest.raises(jitkit.errors.ConcretizationTypeError) as caught:
        jitkit.jit(lambda x: x.item())(1.0)
    assert str(caught.value).count("The error occurred while tracing") == 1


def test_what_is_called_or_put_in_another_way_than_it_must_be_is_told_how():
    jnp, lax, x = jitkit.numpy, jitkit.lax, jitkit.numpy.ones(3)
    with pytest.raises(TypeError, match=r"the function of `map` with \(x\), which is a tuple if several arrays"):
        lax.map(lambda a, b: a + b, (x, x))
    assert lax.map(lambda ab: ab[0] + ab[1], (x, x)).shape == (3,)
    with pytest.raises(ValueError, match="Give a start for each axis"):
        lax.dynamic_slice(jnp.ones((3, 4)), (0,), (1, 1))
    assert lax.dynamic_slice_in_dim(jnp.ones((3, 4)), 0, 2, 1).shape == (3, 2)
    with pytest.raises(TypeError, match="Only numbers, arrays of numbers, and trees of those"):
        jitkit.device_put("abc")


def test_a_carry_that_differs_is_told_by_what_comes_back():
    def step(c, x):
        w = c.astype("int32")  # made
        return w, x

    with pytest.raises(TypeError, match=r"What comes back for c is made at test_errors_help.py:\d+\."):
        jitkit.lax.scan(step, jitkit.numpy.zeros(2), jitkit.numpy.ones(3))


def turns(x):
    while x.sum() > 1:
        x = x / 2
    return x


def chosen(x):
    if x > 0:
        return x
    return -x


def positive(x):
    assert x > 0
    return x


def added(x, n):
    return sum(x for _ in range(n))


def entry(i):
    numbers = [10, 20, 30]
    return numbers[i]


# a program, its arguments, and the first row of the table in its message
FITTING = {
    "while": (turns, [np.ones(3)], "lax.while_loop(condition, body, start)"),
    "if": (chosen, [1.0], "lax.cond(condition, on_true, on_false, *operands)"),
    "one of two": (lambda x: x if x > 0 else -x, [1.0], "jnp.where(condition, a, b)"),
    "and": (lambda x: x > 0 and x < 1, [1.0], "&, |, ~ with parentheses: (0 < x) & (x < 1)"),
    "in": (lambda x: x in [1, 2], [1], "(x == 1) | (x == 2)"),
    "max": (lambda x, y: max(x, y), [1.0, 2.0], "jnp.minimum, jnp.maximum, jnp.sort(jnp.stack([x, y]))"),
    "assert": (positive, [1.0], "check outside of the traced function; to look: jitkit.debug.print('{}', x)"),
    "range": (added, [1.0, 2], "lax.fori_loop(0, n, body, start)"),
    "an index": (entry, [1], "jnp.array(numbers)[i]"),
    "math": (lambda x: math.exp(x), [1.0], "the one of jitkit.numpy: jnp.sin(x) instead of math.sin(x)"),
    "float": (lambda x: float(x), [1.0], "x.astype(jnp.int32), x.astype(jnp.float32)"),
    "unique": (lambda x: jitkit.numpy.unique(x), [np.ones(3)], "say how many: jnp.unique(x, size=3), jnp.nonzero(x, size=3)"),
    "a size": (lambda n: jitkit.numpy.arange(n), [3], "make that argument static: jit(f, static_argnames='n')"),
    "a sum": (lambda x: x[x > 0].sum(), [np.ones(3)], "jnp.where(mask, x, 0).sum()"),
}  # fmt: skip


@pytest.mark.parametrize("name", FITTING)
def test_the_row_that_fits_the_line_comes_first(name):
    program, args, first = FITTING[name]
    with pytest.raises((TypeError, IndexError)) as caught:
        jitkit.jit(program)(*args)
    table = str(caught.value).partition("\n\n")[2].splitlines()
    assert table[1].strip().partition("  ")[2].strip() == first


def test_an_argument_is_named_that_can_be_static_and_none_where_all_are_arrays():
    def scaled(x, times):
        return x if times > 1 else -x

    with pytest.raises(TypeError, match="jit\\(f, static_argnames='times'\\)"):
        jitkit.jit(scaled)(np.ones(3), 2)
    np.testing.assert_array_equal(jitkit.jit(scaled, static_argnames="times")(np.ones(3), 2), np.ones(3))
    with pytest.raises(TypeError) as caught:
        jitkit.jit(turns)(np.ones(3))
    assert "static" not in str(caught.value)


def test_what_the_advice_says_runs():
    jnp, lax, x = jitkit.numpy, jitkit.lax, jitkit.numpy.array([1.0, -2.0, 3.0])
    whole = jitkit.jit(lambda x: lax.while_loop(lambda x: x.sum() > 1, lambda x: x / 2, x))(x)
    np.testing.assert_allclose(whole, turns(np.array([1.0, -2.0, 3.0])))
    assert jitkit.jit(lambda x: (x == 1) | (x == 2))(2)
    assert jitkit.jit(lambda i: jnp.array([10, 20, 30])[i])(1) == 20
    assert jitkit.jit(lambda x: jnp.exp(x))(0.0) == 1.0
    assert jitkit.jit(lambda x: jnp.unique(x, size=3))(x).shape == (3,)
    assert jitkit.jit(lambda x: jnp.where(x > 0, x, 0).sum())(x) == 4.0
    assert jitkit.jit(lambda x: jnp.ones(math.prod(x.shape)))(x).shape == (3,)
    np.testing.assert_array_equal(x.at[:2].set(jnp.array([5.0, 6.0])), [5.0, 6.0, 3.0])
    np.testing.assert_array_equal(x.at[0].add(1.0), [2.0, -2.0, 3.0])
    static = jitkit.jit(lambda x, c: x * dict(c)["lr"], static_argnums=1)
    np.testing.assert_allclose(static(x, tuple({"lr": 0.5}.items())), x * 0.5)
    params, grads = {"w": x, "b": x}, {"w": x, "b": x}
    assert jitkit.tree.structure(params) == jitkit.tree.structure(grads)
    mapped = jitkit.vmap(lambda p, x: x @ p["w"], in_axes=(None, 0))
    assert mapped(params, jnp.ones((4, 3))).shape == (4,)
    assert jitkit.grad(lambda p, n: (p["w"] * n).sum())({"w": x}, 2)["w"].shape == (3,)
    assert jnp.linalg.pinv(jnp.ones((2, 3))).shape == (3, 2)
    assert jnp.take(x, jnp.array([0.0, 1.0]).astype(int)).shape == (2,)
    assert lax.cond(True, lambda x: x, lambda x: jnp.pad(x[:2], (0, 1)), x).shape == (3,)
