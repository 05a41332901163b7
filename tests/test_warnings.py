"""Warnings are part of the interface: JAX's warnings, in its words, and no others."""

import contextlib
import warnings

import jax
import numpy as np
import pytest
from tails import some_of

import jitkit
from tests import twin
from tests.twin import OURS, THEIRS, same_as_jax

X = np.arange(4, dtype="float32")
BIG = 1e50


def warned(function, *args, **kwargs):
    """Return the warnings of a call, with JAX's name for our environment variables."""
    return [(kind, text.replace("JITKIT_", "JAX_")) for kind, text in twin.warned(function, *args, **kwargs)]


def clear(jax):
    """Clear JAX's caches: a jitted function warns only while it is traced."""
    jax.clear_caches()


def wide(jax, jnp):
    """Return arrays of 64-bit types, by name, for use with x64 mode off."""
    with jax.enable_x64(True):
        return {
            "int64": jnp.arange(3),
            "float64": jnp.arange(3.0),
            "complex128": jnp.array([1j]),
            "a scalar": jnp.float64(1.5),
        }


REDUCTIONS = ["sum", "prod", "mean", "std", "var", "nanprod", "nanmean", "nanstd", "nanvar", "cumsum", "cumprod"]
REDUCTIONS += ["nancumsum", "nancumprod", "ones_like", "zeros_like", "empty_like"]
DTYPES = ["float64", "complex128", np.float64, float, "float32", "int64", int]


@pytest.mark.parametrize("name", REDUCTIONS)
@same_as_jax
def test_a_dtype_of_64_bits_that_a_function_is_asked_for(jax, jnp, name):
    def asked(dtype, is_called=False):
        clear(jax)
        with contextlib.suppress(TypeError, ValueError):  # both libraries refuse `std` of ints
            if is_called:
                getattr(jnp, name)(X, dtype=dtype)
            else:  # `eval_shape` takes a tenth of the time
                jax.eval_shape(lambda x: getattr(jnp, name)(x, dtype=dtype), X)

    turn = REDUCTIONS.index(name) % len(DTYPES)  # the first dtype is called, and differs from row to row
    dtypes = some_of(DTYPES[turn:] + DTYPES[:turn], 3)
    return [(str(dtype), warned(asked, dtype, dtype is dtypes[0])) for dtype in dtypes]


def test_the_sum_without_nans_says_its_own_name():
    """JAX calls it nanprod."""
    [(kind, said)] = warned(jitkit.numpy.nansum, X, dtype="float64")
    assert kind == "UserWarning"
    assert said.startswith("Explicitly requested dtype float64 requested in nansum is not available")


# One call for each way to ask for a 64-bit dtype; only its warnings are compared.
ASKED = {
    "trace": lambda jax, jnp: jnp.trace(jnp.ones((2, 2)), dtype="int64"),
    "zeros": lambda jax, jnp: jnp.zeros(2, "float64"),
    "eye": lambda jax, jnp: jnp.eye(2, dtype="float64"),
    "arange": lambda jax, jnp: jnp.arange(2, dtype="int64"),
    "arange without a dtype": lambda jax, jnp: jnp.arange(2),
    "linspace": lambda jax, jnp: jnp.linspace(0, 1, 3, dtype="float64"),
    "array": lambda jax, jnp: jnp.array([1.0], "float64"),
    "array of numpy": lambda jax, jnp: jnp.array(np.arange(3.0)),
    "asarray": lambda jax, jnp: jnp.asarray([1.0], "float64"),
    "astype": lambda jax, jnp: jnp.ones(2).astype("int64"),
    "astype of a type of Python": lambda jax, jnp: jnp.ones(2).astype(int),
    "view": lambda jax, jnp: jnp.ones(2).view("int64"),
    "a scalar type": lambda jax, jnp: jnp.float64(1),
    "convert_element_type": lambda jax, jnp: jax.lax.convert_element_type(X, "float64"),
    "lax.full": lambda jax, jnp: jax.lax.full((2,), 1, "float64"),
    "iota": lambda jax, jnp: jax.lax.iota("int64", 2),
    "argmax": lambda jax, jnp: jax.lax.argmax(X, 0, "int64"),
    "dot": lambda jax, jnp: jnp.dot(X, X, preferred_element_type="float64"),
    "normal": lambda jax, jnp: jax.random.normal(jax.random.key(0), (2,), "float64"),
    "randint": lambda jax, jnp: jax.random.randint(jax.random.key(0), (2,), 0, 3, "int64"),
    "poisson": lambda jax, jnp: jax.random.poisson(jax.random.key(0), 1.0, (2,), "int64"),
    "one_hot": lambda jax, jnp: jax.nn.one_hot(np.arange(3), 3, dtype="float64"),
    "initializer": lambda jax, jnp: jax.nn.initializers.normal()(jax.random.key(0), (2, 2), "float64"),
    "in jit": lambda jax, jnp: jax.jit(lambda x: x.astype("float64"))(X),
    "a sum in vmap": lambda jax, jnp: jax.vmap(lambda x: jnp.sum(x, dtype="float64"))(X),
    "an argument of numpy": lambda jax, jnp: jax.jit(lambda x: x)(np.arange(3.0)),
    "an operand of numpy": lambda jax, jnp: jnp.add(np.arange(3.0), np.arange(3)),
    "a shape of numpy's ints": lambda jax, jnp: jnp.ones(tuple(np.array([2, 3]))),
    "an update": lambda jax, jnp: jnp.ones(3).at[0].set(np.float64(2)),
    "a carry": lambda jax, jnp: jax.lax.scan(lambda c, _: (c, None), np.float64(1), None, length=1),
    "complex to real": lambda jax, jnp: jnp.array([1 + 1j]).astype("float32"),
    "complex to real, in array": lambda jax, jnp: jnp.array(np.array([1j]), "float32"),
    "complex to real, in lax": lambda jax, jnp: jax.lax.convert_element_type(jnp.array([1j]), "float32"),
    "complex to real, in an update": lambda jax, jnp: jnp.ones(3).at[0].set(1j),
    "float into ints": lambda jax, jnp: jnp.arange(3).at[0].set(1.5),
}

# JAX 0.12 warns of these types, once for each time that it checks them; earlier versions do not.
WITHOUT_VALUES = {
    "eval_shape": lambda jax, f, x: jax.eval_shape(f, x),
    "eval_shape of jit": lambda jax, f, x: jax.eval_shape(jax.jit(f), x),
    "lower": lambda jax, f, x: jax.jit(f).lower(x),
    "trace": lambda jax, f, x: jax.jit(f).trace(x),
    "make_jaxpr": lambda jax, f, x: jax.make_jaxpr(f)(x),
    "linear_transpose": lambda jax, f, x: jax.linear_transpose(f, x),
    "zeros_like": lambda jax, f, x: jax.numpy.zeros_like(x),
}


@pytest.mark.parametrize("dtype", ["float64", "int64", "float32"])
@pytest.mark.parametrize("way", WITHOUT_VALUES)
@same_as_jax
def test_what_is_warned_of_structs_of_64_bits(jax, jnp, way, dtype):
    clear(jax)
    x = jax.ShapeDtypeStruct((2,), dtype)
    return sorted({str(each) for each in warned(WITHOUT_VALUES[way], jax, lambda x: x, x)})


@pytest.mark.parametrize("name", ASKED)
@same_as_jax
def test_what_is_warned_of(jax, jnp, name):
    clear(jax)
    return warned(ASKED[name], jax, jnp)


USES = {
    "plus a number": lambda jax, jnp, x: x + 1,
    "a number plus it": lambda jax, jnp, x: 1 + x,
    "plus itself": lambda jax, jnp, x: x + x,
    "negative": lambda jax, jnp, x: -x,
    "compared": lambda jax, jnp, x: x == 1,
    "sin": lambda jax, jnp, x: jnp.sin(x),
    "exp": lambda jax, jnp, x: jnp.exp(x),
    "abs": lambda jax, jnp, x: jnp.abs(x),
    "sum": lambda jax, jnp, x: jnp.sum(x),
    "mean": lambda jax, jnp, x: jnp.mean(x),
    "where": lambda jax, jnp, x: jnp.where(True, x, 1),
    "asarray": lambda jax, jnp, x: jnp.asarray(x),
    "array": lambda jax, jnp, x: jnp.array(x),
    "jit": lambda jax, jnp, x: jax.jit(lambda x: x + 1)(x),
    "reshape": lambda jax, jnp, x: x.reshape(-1),
    "stack": lambda jax, jnp, x: jnp.stack([x, x]),
    "concatenate with floats": lambda jax, jnp, x: jnp.concatenate([x.reshape(-1), X]),
    "astype": lambda jax, jnp, x: x.astype("complex64"),
    "lax.add": lambda jax, jnp, x: jax.lax.add(x, x),
    "repr": lambda jax, jnp, x: repr(x),
    "device_put": lambda jax, jnp, x: jax.device_put(x),
    "zeros_like": lambda jax, jnp, x: jnp.zeros_like(x),
    "cumsum": lambda jax, jnp, x: jnp.cumsum(x.reshape(-1)),
    "sort": lambda jax, jnp, x: jnp.sort(x.reshape(-1)),
    "round": lambda jax, jnp, x: jnp.round(x),
    "power": lambda jax, jnp, x: x**2,
}


@pytest.mark.parametrize("use", USES)
@same_as_jax
def test_arrays_of_64_bits_where_x64_mode_is_off(jax, jnp, use):
    found = []
    for name, x in wide(jax, jnp).items():
        clear(jax)
        found.append((name, warned(USES[use], jax, jnp, x)))
    return found


OVERFLOWS = {
    "array": lambda jax, jnp: jnp.array(BIG),
    "array of a list": lambda jax, jnp: jnp.array([BIG]),
    "asarray of numpy": lambda jax, jnp: jnp.asarray(np.array([BIG])),
    "a scalar of numpy's": lambda jax, jnp: jnp.asarray(np.float64(BIG)),
    "an argument": lambda jax, jnp: jax.jit(lambda x: x)(BIG),
    "an argument of numpy": lambda jax, jnp: jax.jit(lambda x: x)(np.array([BIG])),
    "an operand": lambda jax, jnp: jnp.ones(2) + BIG,
    "device_put": lambda jax, jnp: jax.device_put(BIG),
    "float16": lambda jax, jnp: jnp.array(1e10, "float16"),
    "cond": lambda jax, jnp: jax.lax.cond(True, lambda: BIG, lambda: 1.0),
    "vmap": lambda jax, jnp: jax.vmap(lambda x: x * BIG)(X),
    "inf": lambda jax, jnp: jnp.array(float("inf")),
    "nan": lambda jax, jnp: jnp.array(float("nan")),
    "what is too small": lambda jax, jnp: jnp.array(1e-50),
    "computed": lambda jax, jnp: jnp.float32(3e38) * 10,
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_numbers_that_do_not_fit(name):
    """How often JAX says it depends on what it has compiled before; that it is said does not."""
    found = []
    for lib in (OURS, THEIRS):
        clear(lib[0])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            OVERFLOWS[name](*lib)
        found.append({(w.category, str(w.message)) for w in caught})
    assert found[0] == found[1]


class Once:
    def __iter__(self):
        return self

    def __next__(self):
        raise StopIteration


ITERATORS = {
    "a generator": lambda: (i for i in range(2)), "map": lambda: map(abs, [1]), "zip": lambda: zip([1], [2], strict=True),
    "filter": lambda: filter(None, []), "enumerate": lambda: enumerate([]), "reversed": lambda: reversed(()),
    "of a list": lambda: iter([]), "of a tuple": lambda: iter(()), "of a set": lambda: iter({1}), "of a dict": lambda: iter({1: 2}),
    "of values": lambda: iter({1: 2}.values()), "of items": lambda: iter({1: 2}.items()), "values": lambda: {1: 2}.values(),
    "keys": lambda: {1: 2}.keys(), "items": lambda: {1: 2}.items(), "a range": lambda: range(2), "of a range": lambda: iter(range(2)),
    "of a text": lambda: iter("ab"), "a reversed list": lambda: reversed([1]), "one's own": Once, "a set": lambda: {1},
    "within a tree": lambda: {"a": [map(abs, [1]), zip()], "b": filter(None, [])},
}  # fmt: skip


@pytest.mark.parametrize("name", ITERATORS)
@same_as_jax
def test_iterators_as_leaves(jax, jnp, name):
    t = jax.tree_util
    return [
        warned(f, ITERATORS[name]())
        for f in (
            t.tree_leaves,
            t.tree_structure,
            t.tree_flatten_with_path,
            lambda x: t.tree_map(lambda leaf: leaf, x),
            lambda x: t.tree_map(lambda a, b: a, x, x),
            lambda x: t.tree_leaves(x, is_leaf=lambda leaf: not isinstance(leaf, dict | list)),
            lambda x: t.tree_leaves(x, is_leaf=lambda leaf: False),
        )
    ]


def test_an_iterator_as_an_argument_is_warned_of_before_it_is_refused():
    for lib in (jitkit, jax):
        with pytest.warns(DeprecationWarning, match="Python iterable type 'generator'"), pytest.raises(TypeError):
            lib.jit(lambda x: x)(i for i in range(2))
