"""`jitkit.export`: functions as bytes. Values, derivatives and errors beside `jax.export`'s"""

from __future__ import annotations

import collections
import importlib
import subprocess
import sys

import numpy as np
import pytest
from twin import same_as_jax

import jitkit
import jitkit.numpy as jnp
from jitkit import export

X = np.linspace(0.1, 1, 12, dtype=np.float32).reshape(3, 4)


def of(jax):
    return importlib.import_module(f"{jax.__name__}.export")


@same_as_jax
def test_an_exported_function_says_what_it_takes_and_returns(jax, jnp):
    @jax.jit
    def f(x, *, scale, unused):
        return {"a": jnp.cumsum(x * scale), "b": (x.sum(), None)}

    found = of(jax).export(f)(X, scale=2.0, unused=np.ones(3, np.int32))
    return [
        found.fun_name, str(found.in_tree), str(found.out_tree), [str(a) for a in found.in_avals], [str(a) for a in found.out_avals],
        found.platforms, found.module_kept_var_idx, found.nr_devices, found.has_vjp(), str(found), found.calling_convention_version,
    ]  # fmt: skip


@same_as_jax
def test_it_is_called_alone_in_jit_and_twice(jax, jnp):
    def f(x, y):
        return jax.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + y, x), jnp.sort(x)

    e = of(jax).export(jax.jit(f))(X, 1.0)
    sums = jax.jit(lambda x: e.call(x, 2.0)[0] + e.call(x + 1, 3.0)[1])
    return e.call(X, 1.0), sums(X), jax.jit(f)(X, 1.0)


@same_as_jax
def test_its_reverse_pass_is_exported_on_demand(jax, jnp):
    @jax.jit
    def f(x, n, tree):
        return (jnp.sin(x) * n * tree["w"]).sum(), n + 1

    w = {"w": X[0]}
    e = of(jax).export(f)(X, np.int32(2), w)

    def loss(x, tree):
        value, _ = e.call(x, np.int32(2), tree)
        return value**2

    return jax.grad(loss, (0, 1))(X, w), [str(a) for a in e.vjp().in_avals[:3]]


def test_bytes_give_the_function_back_with_its_reverse_passes():
    e = export.export(jitkit.jit(lambda x: jnp.tanh(x) ** 3))(X)
    again = export.deserialize(e.serialize(vjp_order=2))

    def second(f):
        return jitkit.grad(lambda x: jitkit.grad(lambda y: f(y).sum())(x).sum())(X)

    assert np.array_equal(again.call(X), e.call(X))
    np.testing.assert_allclose(second(again.call), second(lambda x: jnp.tanh(x) ** 3), rtol=1e-5)
    assert again.vjp().has_vjp()
    assert not again.vjp().vjp().has_vjp()
    without = export.deserialize(e.serialize())
    with pytest.raises(ValueError, match="No VJP is available"):
        jitkit.grad(lambda x: without.call(x).sum())(X)


def test_another_process_calls_the_function_without_its_python(tmp_path):
    table = jnp.arange(5000, dtype=jnp.float32)  # large enough to become an argument of the program
    e = export.export(jitkit.jit(lambda i, half: (table[i] * 2, half + 1)))(
        np.int32([3, 4999]), jnp.ones(2, jnp.bfloat16)
    )
    (tmp_path / "f").write_bytes(e.serialize())
    program = (
        "import sys, numpy as np; from jitkit import export, numpy as jnp\n"
        "f = export.deserialize(open(sys.argv[1], 'rb').read())\n"
        "print(*map(str, f.call(np.int32([7, 4999]), jnp.ones(2, jnp.bfloat16))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "f")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[  14. 9998.] [2 2]"


Pair = collections.namedtuple("Pair", "a b")


def test_trees_with_own_nodes_are_kept_if_they_are_registered():
    e = export.export(jitkit.jit(lambda p: collections.OrderedDict(z=p.a, y=[None, p.b])))(Pair(X, 1.0))
    with pytest.raises(NotImplementedError, match="Cannot serialize PyTreeDef with node type"):
        e.serialize()
    export.register_namedtuple_serialization(Pair, serialized_name="tests.Pair")
    again = export.deserialize(e.serialize())
    assert again.in_tree == e.in_tree
    assert again.out_tree == e.out_tree
    assert list(again.call(Pair(X, 1.0))) == ["z", "y"]
    with pytest.raises(ValueError, match="Duplicate serialization registration for type"):
        export.register_namedtuple_serialization(Pair, serialized_name="tests.Other")


@pytest.mark.parametrize(
    "args",
    [(X[0],), (X.astype(np.int32),), (X[:, :2],), (X, X), ([X],)],
    ids=["rank", "dtype", "size", "count", "tree"],
)
@same_as_jax
def test_other_arguments_are_refused(jax, jnp, args):
    e = of(jax).export(jax.jit(lambda x: x + 1))(X)
    with pytest.raises(ValueError) as error:
        e.call(*args)
    return error.value


@same_as_jax
def test_what_cannot_be_exported_is_refused(jax, jnp):
    found = []
    for function, error in (
        (lambda x: x, ValueError),
        (jax.jit(lambda x: jax.debug.print("{}", x)), NotImplementedError),
    ):
        with pytest.raises(error) as caught:
            of(jax).export(function)(1.0)
        found.append(str(caught.value).partition(" but is")[0])
    return found


def test_another_platform_is_refused_and_damaged_bytes_too():
    e = export.export(jitkit.jit(lambda x: x + 1), platforms=["tpu"])(X)
    with pytest.raises(ValueError, match="was exported for platforms '\\('tpu',\\)' but it is used on"):
        e.call(X)
    with pytest.raises(ValueError, match="damaged"):
        export.deserialize(e.serialize()[:-3])
    with pytest.raises(ValueError, match="were not written by jitkit"):
        export.deserialize(b"something")


def test_a_call_is_one_operation_and_the_copied_functions_have_free_names():
    f = jitkit.jit(lambda x: jnp.cumsum(x, 1))
    e = export.export(f)(X)
    g = jitkit.jit(lambda x: f(e.call(x)) + e.call(x))
    assert "call_exported" in str(jitkit.make_jaxpr(lambda x: e.call(x))(X))
    text = g.lower(X).as_text()
    heads = [line.split("(")[0] for line in text.splitlines() if "func.func" in line]
    assert len(heads) == len(set(heads)) == 5
    np.testing.assert_allclose(g(X), np.cumsum(np.cumsum(X, 1), 1) + np.cumsum(X, 1), rtol=1e-6)
