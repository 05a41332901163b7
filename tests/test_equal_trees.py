"""Trees whose metadata are equal but have different types: one structure for control flow and derivatives, but two programs for
`jit`.
"""

import dataclasses
import functools
import operator
from typing import Any

import numpy as np
import pytest
from twin import raised, same_as_jax

import jitkit


@functools.cache
def tagged(lib):
    @lib.tree_util.register_dataclass
    @dataclasses.dataclass(frozen=True)
    class Tagged:
        x: Any
        tag: Any = dataclasses.field(default=1, metadata={"static": True})

    return Tagged


EQUAL = [1, True, 1.0, np.int64(1), 1 + 0j, np.float32(1)]


@pytest.mark.parametrize("other", EQUAL, ids=repr)
@same_as_jax
def test_equal_metadata_are_one_structure(jax, jnp, other):
    T = tagged(jax)
    a, b = T(jnp.float32(1), 1), T(jnp.float32(2), other)

    @jax.custom_vjp
    def rule(t):
        return t.x * 2.0

    rule.defvjp(lambda t: (t.x * 2.0, t), lambda t, ct: (T(ct, other),))
    lax = jax.lax
    return [
        jax.tree.structure(a) == jax.tree.structure(b),
        jax.tree.structure([a, {"k": b}]) == jax.tree.structure([b, {"k": a}]),
        lax.scan(lambda c, _: (T(c.x + 1, other), None), a, None, length=2)[0].x,
        lax.while_loop(lambda c: c.x < 3, lambda c: T(c.x + 1, other), a).x,
        lax.fori_loop(0, 2, lambda i, c: T(c.x + 1, other), a).x,
        lax.cond(True, lambda: a, lambda: b).x,
        lax.switch(1, [lambda: a, lambda: b]).x,
        jax.tree.map(lambda p, q: p + q, a, b).x,
        jax.vjp(lambda t: T(t.x * 2, 1), a)[1](b)[0].x,
        jax.jvp(lambda t: t.x * 2, (a,), (b,)),
        jax.linearize(lambda t: t.x * 2, a)[1](b),
        jax.vmap(lambda t: t.x, in_axes=(T(0, other),))(T(jnp.arange(2.0), 1)),
        jax.vmap(lambda t: t, out_axes=T(0, other))(T(jnp.arange(2.0), 1)).x,
        jax.grad(rule)(a).x,
        jax.jit(lambda t: t.x).lower(a).compile()(b),
        lax.associative_scan(lambda p, q: T(p.x + q.x, other), T(jnp.arange(3.0), 1)).x,
    ]


class Unhashable:
    """Metadata that equal a number, and have no hash."""

    def __eq__(self, other):
        return other == 1 or isinstance(other, Unhashable)

    __hash__ = None  # ty' + ''


@same_as_jax
def test_a_dict_takes_equal_structures_for_one(jax, jnp):
    T, structure = tagged(jax), jax.tree.structure
    f = abs
    tags = [*EQUAL, (1,), (True,), [1], [1.0], 2]
    nested = [structure([T(0, tag), {"k": T(0, tag)}]) for tag in tags]
    keys = [structure({key: 0, 5: (0, None)}) for key in (1, True, 1.0)]
    own = [structure(T(0, Unhashable())), structure(T(0, Unhashable()))]
    return [
        len(set(nested)),
        len(set(keys)),
        [{nested[0]: 3}.get(treedef) for treedef in nested],
        [{keys[0]: 3}.get(treedef) for treedef in keys],
        len(set(own)),
        {structure(jax.tree_util.Partial(f, nested[0])): 3}.get(structure(jax.tree_util.Partial(f, nested[1]))),
    ]


def test_a_dict_finds_the_structure_of_what_was_compiled():
    """In JAX 0.10 and 0.12 `in_tree` equals this structure and has another hash, where it has a dataclass in it."""
    T = tagged(jitkit)
    f = jitkit.jit(lambda t: t.x)
    for tag in EQUAL:
        lowered = f.lower(T(1.0, tag))
        asked = {jitkit.tree.structure(((T(0, 1),), {})): "found"}
        assert asked.get(lowered.in_tree) == asked.get(lowered.compile().in_tree) == "found"


@same_as_jax
def test_equal_keys_are_one_structure(jax, jnp):
    one, true, point = ({k: jnp.float32(2)} for k in (1, True, 1.0))
    return [
        jax.tree.structure(one) == jax.tree.structure(true) == jax.tree.structure(point),
        list(jax.lax.cond(True, lambda: one, lambda: true).values()),
        list(jax.lax.scan(lambda c, _: ({1.0: c[1] + 1}, None), one, None, length=2)[0].values()),
        list(jax.tree.map(lambda a, b: a + b, one, point).values()),
        jax.jit(lambda d: d[1]).lower(one).compile()(true),
        jax.jvp(lambda d: d[1] * 2, (one,), (point,)),
    ]


@pytest.mark.parametrize("other", [2, "1", None, 1.5, (1,)], ids=repr)
@same_as_jax
def test_metadata_that_differ_are_named(jax, jnp, other):
    T = tagged(jax)
    a, b = T(jnp.float32(1), 1), T(jnp.float32(2), other)
    return [
        jax.tree.structure(a) == jax.tree.structure(b),
        raised(lambda: jax.lax.cond(True, lambda: a, lambda: b)),
        raised(lambda: jax.lax.scan(lambda c, _: (b, None), a, None, length=2)),
        raised(lambda: jax.lax.while_loop(lambda c: True, lambda c: b, a)),
    ]


class NeverEqual:
    """Metadata that are not even equal to themselves."""

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 1


def test_structures_that_differ_nowhere_are_shown_whole():
    class Odd:
        pass

    jitkit.tree_util.register_pytree_node(Odd, lambda odd: ((1.0,), NeverEqual()), lambda data, children: Odd())
    a, b = Odd(), Odd()
    for call in (
        lambda: jitkit.lax.cond(True, lambda: a, lambda: b),
        lambda: jitkit.lax.scan(lambda c, _: (b, None), a, None, length=1),
        lambda: jitkit.lax.while_loop(lambda c: True, lambda c: b, a),
    ):
        with pytest.raises(TypeError, match=r"has the structure PyTreeDef\(CustomNode\(Odd"):
            call()


def test_jit_compiles_for_each_type_of_equal_metadata():
    T = tagged(jitkit)
    f = jitkit.jit(lambda t: t.x * t.tag)
    results = [f(T(jitkit.numpy.float32(3), tag)) for tag in EQUAL]
    assert f._cache_size() == len(EQUAL)
    assert [x.dtype for x in results] == ["float32"] * 4 + ["complex64", "float32"]


@dataclasses.dataclass(frozen=True)
class Own:
    name: str


def test_jit_compiles_for_each_type_beside_metadata_with_an_equality_of_their_own():
    T = tagged(jitkit)
    f = jitkit.jit(lambda t: t.x * t.tag[0])
    values = [f(T(1.0, (tag, Own("a")))) for tag in (1, True, 1.0, 1 + 0j)]
    assert f._cache_size() == 4
    assert values[3].dtype == "complex64"


def test_the_class_that_holds_an_array_as_metadata_is_named():
    T = tagged(jitkit)
    one, two = ({"m": [T(1.0, np.arange(3))]} for _ in range(2))
    with pytest.raises(ValueError, match=r"of pytree node of type <class '.*Tagged'>\. Make sure"):
        operator.eq(jitkit.tree.structure(one), jitkit.tree.structure(two))


# --- one function, jitted twice -------------------------------------------------------------------------------


def test_another_static_argument_is_another_program():
    """JAX 0.10 and 0.12 give 32 each time: the key of their C++ dispatcher has no static positions."""

    def f(a, b):
        return a * 10 + b

    x = jitkit.numpy.float32(2)
    assert float(jitkit.jit(f, static_argnums=0)(3, x)) == 32
    assert float(jitkit.jit(f, static_argnums=1)(x, 3)) == 23
    assert float(jitkit.jit(f, static_argnames="b")(x, 3)) == 23
    assert float(jitkit.jit(f, static_argnames="a")(3, x)) == 32
    assert float(jitkit.jit(f, static_argnames="b")(a=x, b=3)) == 23
