"""Programs in which JAX and jitkit meet: classes that are registered with JAX, calls of JAX on our tracers, missing names."""

from __future__ import annotations

import dataclasses
import importlib
import pathlib
import re
import sys

import jax
import jax.numpy
import numpy as np
import pytest
from jax import lax as jax_lax
from jax import nn as jax_nn
from jax.numpy import cos
from jax.scipy import special as jax_special
from jax.scipy.special import xlogy

import jitkit
import jitkit.numpy as jnp
from jitkit import tree_util
from jitkit.base import missing_names, names_of_jax
from jitkit.tree_util import registry

# --- classes that are registered with JAX -----------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: object
    bias: object
    name: str = dataclasses.field(default="dense", metadata={"static": True})

    def __call__(self, x):
        return x * self.weight + self.bias


class Pair:
    def __init__(self, left, right, kind="pair"):
        self.left, self.right, self.kind = left, right, kind


class PairWithKeys(Pair):
    pass


jax.tree_util.register_pytree_node(Pair, lambda p: ([p.left, p.right], p.kind), lambda kind, parts: Pair(*parts, kind))
jax.tree_util.register_pytree_with_keys(
    PairWithKeys,
    lambda p: ([(jax.tree_util.GetAttrKey("left"), p.left), ("other", p.right)], p.kind),
    lambda kind, parts: PairWithKeys(*parts, kind),
)


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class Mode:
    name: str


TREES = [
    Layer(2.0, [1.0, {"b": 3.0}], "first"),
    Pair(1.0, (2.0, None)),
    PairWithKeys({"a": 1.0}, 2.0, "keyed"),
    Mode("train"),
    [Layer(Pair(1.0, 2.0), Mode("eval"))],
    jax.tree_util.Partial(np.add, 1.0),
]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
def test_a_class_that_jax_knows_comes_apart_as_in_jax(tree):
    leaves, treedef = tree_util.tree_flatten(tree)
    assert (leaves, str(treedef)) == (jax.tree.leaves(tree), str(jax.tree.structure(tree)))
    ours, theirs = (
        [(library.tree_util.keystr(path), leaf) for path, leaf in library.tree_util.tree_leaves_with_path(tree)]
        for library in (jitkit, jax)
    )
    assert ours == theirs
    again = treedef.unflatten([leaf + 1 for leaf in leaves])
    assert type(again) is type(tree)
    assert jax.tree.structure(again) == jax.tree.structure(tree)
    assert jax.tree.leaves(again) == [leaf + 1 for leaf in leaves]
    assert tree_util.tree_structure(again) == treedef


def test_key_entries_of_jax_become_ours():
    [(path, _), *_] = tree_util.tree_leaves_with_path(TREES[0])
    assert path == (tree_util.GetAttrKey("weight"),)


def test_an_argument_of_a_class_that_jax_knows_is_traced_and_returned():
    traced = []

    @jitkit.jit
    def scaled(layer, mode, x):
        traced.append(mode.name)
        return jitkit.tree.map(lambda leaf: leaf * 2, layer), layer(x)

    layer, y = scaled(Layer(2.0, 1.0), Mode("train"), 3.0)
    assert (type(layer), float(layer.weight), layer.name, float(y)) == (Layer, 4.0, "dense", 7.0)
    scaled(Layer(5.0, 1.0), Mode("train"), 3.0)
    assert traced == ["train"]
    scaled(Layer(5.0, 1.0), Mode("eval"), 3.0)  # static data is part of the signature
    scaled(Layer(5.0, 1.0, "other"), Mode("eval"), 3.0)
    assert traced == ["train", "eval", "eval"]


def test_a_class_that_is_registered_with_both_is_ours():
    @jax.tree_util.register_static
    @tree_util.register_static
    @dataclasses.dataclass(frozen=True)
    class Both:
        x: float

    tree_util.tree_leaves(Both(1.0))
    assert type(registry.node_types[Both]).__name__ == "CustomNode"


# --- JAX's functions on our tracers -----------------------------------------------------------------------------------------

step = jax.jit(lambda x: x + 1)
mapped = jax.vmap(lambda x: x * 2)
theirs = jax.numpy

MIXED = {
    "a ufunc": (
        lambda x: theirs.sin(x),
        "theirs: is `jax.numpy`. Change its import to `import jitkit.numpy as theirs`.",
    ),
    "indexing": (lambda x: theirs.arange(3)[x.astype(int)], "theirs: is `jax.numpy`"),
    "array": (lambda x: theirs.array([x]), "theirs: is `jax.numpy`"),
    "lax": (lambda x: jax_lax.add(x, x), "jax_lax: is `jax.lax`. Change its import to `import jitkit.lax as jax_lax`."),
    "control flow": (lambda x: jax_lax.fori_loop(0, 3, lambda i, c: c, x), "jax_lax: is `jax.lax`"),
    "nn": (lambda x: jax_nn.relu(x), "jax_nn: is `jax.nn`"),
    "one name": (lambda x: cos(x), "cos: is JAX's. Use `cos` from jitkit.numpy or jitkit.lax."),
    "jit": (lambda x: step(x), "step: was made by `jax.jit`. Make it with jitkit's `jit`."),
    "vmap": (lambda x: mapped(x), "mapped: was made by JAX, from the function `<lambda>`. Make it with jitkit."),
    "grad": (lambda x: jax.grad(lambda y: y.sum())(x), "jax: is `jax`. Change its import to `import jitkit as jax`."),
    "missing module": (lambda x: jax.image.resize(x, (3,), "linear"), "jax: is `jax`."),
    "random": (lambda x: jax.random.normal(x), "jax: is `jax`."),
    "special": (
        lambda x: jax_special.erf(x),
        "jax_special: is `jax.scipy.special`. Change its import to `import jitkit.scipy",
    ),
    "one special": (lambda x: xlogy(x, x), "xlogy: is JAX's. Use `xlogy` from jitkit.scipy.special."),
    "linalg": (lambda x: theirs.linalg.inv(x[None] * x[:, None]), "theirs: is `jax.numpy`"),
    "fft": (lambda x: theirs.fft.fft(x), "theirs: is `jax.numpy`"),
    "length": (lambda x: theirs.stack(x[0]), "theirs: is `jax.numpy`"),
    "iteration": (lambda x: theirs.vstack(list(theirs.stack(x[0]))), "theirs: is `jax.numpy`"),
    "callback": (lambda x: jax.debug.callback(print, x), "jax: is `jax`."),
}


@pytest.mark.parametrize("name", list(MIXED))
def test_a_function_of_jax_on_a_traced_value_says_which_import_to_change(name):
    function, expected = MIXED[name]
    with pytest.raises(Exception, match="A function of JAX's was called on a value that jitkit traces") as raised:
        jitkit.make_jaxpr(function)(np.ones(3, np.float32))
    text = str(raised.value)
    assert f"({__file__}:" in text
    assert f"):\n  {expected}" in text
    assert text.count("A function of JAX's") == 1


def test_the_import_is_found_in_a_call_of_several_lines():
    def loss(x):
        return jnp.sum(x + theirs.sin(x))

    with pytest.raises(TypeError, match=r"theirs: is `jax\.numpy`"):
        jitkit.jit(loss)(1.0)


@pytest.mark.parametrize("function", [step, theirs.sin, theirs.add, theirs.fft.fft, jax_special.erf, jax_lax.exp])
def test_jitting_a_function_of_jax_says_so(function):
    operands = (1.0, 1.0) if function is theirs.add else (1.0,)
    sentence = r"^.*\n\nA function of JAX's was called on a value that jitkit traces: .* what JAX computes\.\nImport jitkit instead "
    with pytest.raises(TypeError, match=sentence):
        jitkit.jit(function)(*operands)


@pytest.mark.parametrize("function", [theirs.stack, theirs.concatenate, theirs.vstack])
@pytest.mark.parametrize("transformed", [jitkit.jit, jitkit.vmap, lambda f: jitkit.grad(lambda x: f(x).sum())])
def test_what_jax_asks_a_tracer_without_axes_is_no_riddle(function, transformed):
    """It is Python that asks for the length, or the elements, of such a value."""
    x = np.ones(3, np.float32) if transformed is jitkit.vmap else 1.0
    with pytest.raises(
        TypeError, match=r"^(len|iteration).*\n\nA function of JAX's was called .*\n  function: is JAX's"
    ):
        transformed(lambda x: function(x))(x)


def test_what_a_function_of_ours_refuses_that_jax_calls_is_not_said_to_be_jax_s():
    with pytest.raises(TypeError, match=r"^len\(\)") as raised:
        jitkit.jit(lambda x: jax.tree.map(jnp.stack, x))(1.0)
    assert "A function of JAX's" not in str(raised.value)


def test_arrays_of_jax_and_errors_of_jax_are_left_alone():
    ones = jax.numpy.ones(3)
    np.testing.assert_array_equal(jitkit.jit(lambda x: (ones + x) * ones)(2.0), [3, 3, 3])
    with pytest.raises(TypeError) as raised:
        jitkit.jit(lambda x: x + (ones + jax.numpy.ones(4)))(2.0)
    assert "jitkit" not in str(raised.value)
    with pytest.raises(ValueError, match=r"^mine") as raised:
        jitkit.jit(my_error)(2.0)
    assert str(raised.value) == "mine: JitTracer(~float32[])"


def my_error(x):
    raise ValueError(f"mine: {x if jax else None}")


@pytest.mark.parametrize(
    ("transformation", "name"), [(jax.vmap, "jax.vmap"), (jax.grad, "jax.grad"), (jax.jit, "jax.jit")]
)
def test_a_transformation_of_jax_on_our_function_says_where_to_take_it_from(transformation, name):
    x = jax.numpy.ones(3) if transformation is jax.vmap else 1.0
    for function in (jitkit.jit(lambda x: x * 2), lambda x: jnp.sin(x)):
        with pytest.raises(
            TypeError, match=re.escape(f"`{name}`, or another transformation of JAX's, was applied to a function")
        ):
            transformation(function)(x)


OURS_UNDER_JAX = {
    "an update": lambda x: jnp.zeros(3).at[0].set(x),
    "an index": lambda x: jnp.arange(3.0)[x.astype(int)],
    "a shape": lambda x: jnp.reshape(jnp.zeros(3), [x.astype(int)]),
    "an array": lambda x: jnp.asarray(x),
    "an array of a list": lambda x: jnp.array([x, 1.0]),
    "a dtype": lambda x: jnp.float32(x),
    "a ufunc": lambda x: jnp.sin(x),
    "joining": lambda x: jnp.concatenate([x[None], x[None]]),
    "fft": lambda x: jnp.fft.fft(x[None]),
    "cond": lambda x: jitkit.lax.cond(x > 0, jnp.sin, jnp.cos, x),
    "scan": lambda x: jitkit.lax.scan(lambda c, _: (c, c), x, None, length=2),
    "grad": lambda x: jitkit.grad(lambda y: y * y)(x),
    "jvp": lambda x: jitkit.jvp(lambda y: y * y, (x,), (x,)),
    "vjp": lambda x: jitkit.vjp(lambda y: y * y, x)[0],
    "vmap": lambda x: jitkit.vmap(lambda y: y * y)(x[None]),
    "checkpoint": lambda x: jitkit.checkpoint(lambda y: y * y)(x),
    "device_put": lambda x: jitkit.device_put(x),
    "callback": lambda x: jitkit.pure_callback(lambda y: y, jitkit.ShapeDtypeStruct((), "float32"), x),
    "print": lambda x: jitkit.debug.print("{}", x),
    "a static value": lambda x: jitkit.random.normal(jitkit.random.key(0), (x.astype(int),)),
}


@pytest.mark.parametrize("name", list(OURS_UNDER_JAX))
def test_what_of_ours_meets_a_tracer_of_jax_s_says_so_and_no_other_sentence(name):
    with pytest.raises((TypeError, IndexError), match=r"This is a tracer of jax itself: `jax\.jit`") as raised:
        jax.jit(OURS_UNDER_JAX[name])(1.0)
    assert "A function of JAX's" not in str(raised.value)
    assert raised.value.__context__ is None or raised.value.__suppress_context__


@pytest.mark.parametrize(
    "use",
    [lambda x, i: x[i], lambda x, i: x.at[i].set(0.0), lambda x, i: x + i, lambda x, i: i + x, lambda x, i: i < x],
)
def test_a_loop_of_jax_s_in_a_function_of_ours_says_so(use):
    def f(x):
        return jax_lax.fori_loop(0, 3, lambda i, c: (use(x, i), c)[1], 0.0)

    with pytest.raises((TypeError, IndexError), match=r"This is a tracer of jax itself: `jax\.jit`"):
        jitkit.jit(f)(np.arange(3.0))


def test_an_array_of_ours_is_a_constant_for_jax():
    assert [float(jax.jit(f)(1.0)[2]) for f in (lambda x: x + jnp.arange(3.0), lambda x: jnp.arange(3.0) * x)] == [
        3.0,
        2.0,
    ]


def test_an_array_of_jax_s_that_is_indexed_by_a_traced_value_says_how():
    table = jax.numpy.arange(3.0)
    with pytest.raises(IndexError, match=r"`jnp\.asarray\(x\)` makes an array of JAX's one of jitkit's"):
        jitkit.jit(lambda i: table[i])(1)
    assert jitkit.jit(lambda i: jnp.asarray(table)[i])(1) == 1.0


LIBRARY = "import jax, jax.numpy as jnp\n\ndef double(x):\n    return {}\n"


@pytest.mark.parametrize("body", ["jnp.add(x, x)", "jnp.float32(x)", "jax.jit(lambda t: t, static_argnums=0)((x,))"])
def test_what_an_installed_library_calls_is_not_the_user_s_to_change(tmp_path, monkeypatch, body):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "doubling.py").write_text(LIBRARY.format(body))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "doubling", raising=False)
    doubling = importlib.import_module("doubling")
    with pytest.raises(
        (TypeError, ValueError), match=r"It was called by doubling \(.*doubling\.py:4\), which computes"
    ) as raised:
        jitkit.jit(doubling.double)(np.float32(1))
    assert "Change its import" not in str(raised.value)


class Parameter:
    """A parameter as in flax: it converts to an array, and its operators are the array's."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value

    def __radd__(self, other):
        return self.value.__radd__(other)


def test_an_operand_that_gives_an_array_of_jax_s_is_one():
    y = Parameter(jax.numpy.arange(3.0))
    for call in (lambda f, x: f(x), lambda f, x: jitkit.jit(f)(x), lambda f, x: jitkit.vmap(f, out_axes=1)(x)[:, 0]):
        for f in (lambda x: x + y, lambda x: x - y, lambda x: x * y):
            theirs = f(jax.numpy.ones(1))
            np.testing.assert_array_equal(call(f, jnp.ones(1)), theirs)


@pytest.mark.parametrize(
    ("ours", "error", "words"),
    [
        (jitkit.jit(lambda x: x), TypeError, r"Take both from one library: the transformation from jitkit"),
        (jnp.sin, AttributeError, r"use `jitkit\.make_jaxpr`"),
    ],
)
def test_jax_make_jaxpr_of_our_function_says_what_to_use(ours, error, words):
    with pytest.raises(error, match=words):
        jax.make_jaxpr(ours)(1.0)


# --- random keys ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use", [jitkit.random.split, jitkit.jit(lambda key: jitkit.random.normal(key, (2,)))])
def test_a_key_of_jax_says_how_to_make_one_of_ours(use):
    with pytest.raises(TypeError, match=r"a random key of jax itself. Make it with `jitkit.random.key\(seed\)`"):
        use(jax.random.key(0))
    ours = jitkit.random.wrap_key_data(jax.random.key_data(jax.random.key(3)))  # as the error advises
    assert (jitkit.random.normal(ours, (2,)) == jax.random.normal(jax.random.key(3), (2,))).all()


@pytest.mark.parametrize("use", [jax.random.normal, jax.random.split, jax.random.key_data, jax.numpy.asarray])
def test_a_key_of_ours_that_jax_is_given_says_how_to_make_one_of_jax_s(use):
    key = jitkit.random.key(3)
    with pytest.raises(TypeError, match=r"^A random key of jitkit, key<fry>\[\], was given to JAX") as raised:
        use(key)
    theirs = jax.random.wrap_key_data(jitkit.random.key_data(key))
    assert "`jax.random.wrap_key_data(jitkit.random.key_data(key))`" in str(raised.value)
    assert (jitkit.random.normal(key, (2,)) == jax.random.normal(theirs, (2,))).all()
    assert hasattr(key, "__jax_array__")  # `hasattr` works; the error comes when it is called
    with pytest.raises(TypeError, match="was given to JAX"):
        key.__jax_array__()


# --- names --------------------------------------------------------------------------------------------------------------------


def test_a_name_that_only_jax_has_is_said_to_be_missing():
    with pytest.raises(AttributeError, match=r"no attribute 'top_k'\nJAX has `jax.numpy.top_k`, and"):
        _ = jnp.top_k
    assert not hasattr(jnp, "top_k")


def test_a_name_that_a_module_of_experimental_has_only_in_jax_is_said_to_be_missing():
    with pytest.raises(
        AttributeError, match=r"no attribute 'random_bcoo'\nJAX has `jax.experimental.sparse.random_bcoo`, and"
    ):
        _ = importlib.import_module("jitkit.experimental.sparse").random_bcoo


def test_an_import_of_a_missing_name_gets_the_same_sentence():
    for statement, sentence in {
        "from jitkit import legacy_prng_key": "JAX has `jax.legacy_prng_key`, and jitkit has not",
        "from jitkit.numpy import top_k": "JAX has `jax.numpy.top_k`, and jitkit has not",
        "from jitkit.experimental import jax2tf": "JAX has `jax.experimental.jax2tf`, and jitkit has not",
        "from jitkit.scipy import spatial": "JAX has `jax.scipy.spatial`, and jitkit has not",
        "from jitkit.numpy import sinn": "Did you mean `sin`",
    }.items():
        with pytest.raises(ImportError, match=sentence):
            exec(statement, {})


def test_an_import_of_a_missing_module_gets_the_same_sentence():
    for statement, module in {
        "import jitkit.scipy.spatial": "jax.scipy.spatial",
        "from jitkit.scipy.spatial import transform": "jax.scipy.spatial",
        "import jitkit.scipy.spatial.transform": "jax.scipy.spatial",
        "import jitkit.experimental.mosaic as mosaic": "jax.experimental.mosaic",
        "from jitkit.experimental.mosaic import convert": "jax.experimental.mosaic",
    }.items():
        sentence = rf"^No module named .*\nJAX has `{module}`, and jitkit has not: docs/parity"
        with pytest.raises(ModuleNotFoundError, match=sentence) as raised:
            exec(statement, {})
        assert raised.value.name == module.replace("jax", "jitkit")
    for name in ("jitkit.nothing", "nothing"):
        with pytest.raises(ModuleNotFoundError, match=rf"^No module named '{name}'$"):
            importlib.import_module(name)


def test_a_name_that_is_elsewhere_or_misspelt_is_named():
    with pytest.raises(
        AttributeError, match=r"^module 'jitkit.numpy' has no attribute 'relu'\nThere is `jitkit.nn.relu`.$"
    ):
        _ = jnp.relu
    with pytest.raises(AttributeError, match=r"has no attribute 'relux'\nDid you mean `relu`\?$"):
        _ = jitkit.nn.relux
    with pytest.raises(AttributeError, match=r"^module 'jitkit.random' has no attribute 'nothing'$"):
        _ = jitkit.random.nothing


def test_names_that_are_made_when_asked_for_are_still_there():
    assert jitkit.sharding.Mesh is jax.sharding.Mesh
    with pytest.raises(AttributeError, match=r"JAX has `jax.sharding.auto_axes`"):
        _ = jitkit.sharding.auto_axes


def test_every_public_module_explains_what_it_has_not():
    """All that explain themselves, whatever was imported before. (Besides `odeint`, the names of JAX's `ode` are its own helpers. What
    is in `jax.extend`, `example_libraries` and the like is not looked into.)
    """
    package = pathlib.Path(jitkit.__file__).parent
    for path in package.rglob("*.py"):
        if "missing_names.explain(" in path.read_text(encoding="utf-8"):
            importlib.import_module(
                ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
            )
    explained = missing_names.public_modules()
    assert {"experimental.sparse", "profiler", "scipy.stats.norm"} <= {*explained}
    for inside, module in explained.items():
        if inside == "experimental.ode":
            assert module.odeint
        if inside == "experimental.ode" or inside not in names_of_jax.BY_MODULE:
            continue
        theirs = importlib.import_module(".".join(filter(None, ["jax", inside])))
        known = {*dir(module)} | names_of_jax.missing(inside)
        found = {name for name in dir(theirs) if not name.startswith("_") and name not in known}
        assert found <= {"Any", "TYPE_CHECKING", "annotations", "extend", "lib", "version", "typing"}, inside
