"""Twenty programs on the Explorer's page, of jitkit's and of JAX's: nothing that was traced stays without a link."""

from __future__ import annotations

import functools

import explorer_programs
import jax
import pytest
from tails import keeping

import jitkit
from jitkit.explorer.api import exploration, explore, subject_of

LIBRARIES = {"jitkit": jitkit, "jax": jax}


@functools.cache
def programs(library):
    return explorer_programs.programs(LIBRARIES[library])


NAMES = list(programs("jitkit"))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", keeping(NAMES, "network", "recurrent", "choose"))
def test_every_traced_line_every_equation_and_nearly_every_operation_is_linked(library, name):
    function, args = programs(library)[name]
    data = exploration(subject_of(function, args, {}, library == "jax"), ["cpu"], keep=False).data
    equations = data["equations"]
    assert data["failure"] is None
    assert data["library"] == library

    def family(number):
        found = {number}
        for other, each in enumerate(equations):
            if each["parent"] in found:
                found.add(other)
        return found

    lit = {number for numbers in data["python"]["equations"] for number in numbers}
    assert lit == set(range(len(equations)))
    printed = {number for numbers in data["jaxpr"]["equations"] for number in numbers}
    assert printed == lit
    written = {number for numbers in data["stablehlo"]["equations"] for number in numbers}
    around = {}
    for number in range(len(equations)):
        for each in family(number):
            around.setdefault(each, set()).add(number)
    nothing = [n for n, each in enumerate(equations) if each["live"] and not (family(n) | around[n]) & written]
    # equations that change neither values nor types are lowered to no operation, by JAX and by us
    assert {equations[n]["primitive"] for n in nothing} <= {
        "convert_element_type", "stop_gradient", "random_wrap", "random_unwrap", "broadcast_in_dim", "reshape", "copy"
    }  # fmt: skip
    linked = data["targets"][0]["linked"]
    assert linked["exact"] >= 0.95 * linked["operations"]


def test_a_jitted_function_of_jax_s_is_known_as_such():
    @jax.jit
    def f(x):
        return jax.numpy.sin(x) * 2.0

    data = explore(f, jax.ShapeDtypeStruct((3,), "float32"), targets=["cpu"]).data
    assert data["library"] == "jax"
    assert data["signature"] == "f(x: float32[3])"
    assert [each["primitive"] for each in data["equations"]] == ["sin", "mul"]
    printed = str(jax.make_jaxpr(lambda x: jax.numpy.sin(x) * 2.0)(jax.numpy.ones(3)))
    assert "\n".join(data["jaxpr"]["lines"]).split() == printed.split()


def test_a_function_of_jax_s_that_cannot_be_traced_shows_the_error_and_its_line():
    def f(x):
        return x if x.sum() > 0 else -x

    data = exploration(subject_of(f, (jax.ShapeDtypeStruct((3,), "float32"),), {}, True), []).data
    assert data["failure"]["type"] == "TracerBoolConversionError"
    assert "if x.sum() > 0" in data["python"]["lines"][data["failure"]["row"]]


def test_large_constants_of_jax_s_functions_are_left_out():
    table = jax.numpy.arange(1_000_000.0)
    page = explore(jax.jit(lambda x: x + table[:3]), jax.ShapeDtypeStruct((3,), "float32"), targets=["cpu"])
    assert "float32[1000000]" in page.data["notes"][0]
    assert len(page.html) < 300_000


def test_a_module_of_flax():
    nnx = pytest.importorskip("flax.nnx", reason="needs a browser: flax and equinox come with its extra")

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(4, 8, rngs=rngs)

        def __call__(self, x):
            return nnx.relu(self.first(x))

    graph, state = nnx.split(Model(nnx.Rngs(0)))

    def apply(state, x):
        return nnx.merge(graph, state)(x).sum()

    of_module(apply, state, "self.first(x)")


def test_a_module_of_equinox():
    eqx = pytest.importorskip("equinox", reason="needs a browser: flax and equinox come with its extra")

    class Model(eqx.Module):
        first: eqx.nn.Linear

        def __call__(self, x):
            return jax.nn.relu(self.first(x))

    model = Model(eqx.nn.Linear(4, 8, key=jax.random.key(0)))
    arrays, rest = eqx.partition(model, eqx.is_array)

    def apply(arrays, x):
        return jax.vmap(eqx.combine(arrays, rest))(x).sum()

    of_module(apply, arrays, "self.first(x)")


def test_a_module_of_equinox_with_a_list_in_it_is_explored_as_it_is():
    """It has no hash, which `jax.jit` asks for."""
    eqx = pytest.importorskip("equinox", reason="needs a browser: flax and equinox come with its extra")

    class Model(eqx.Module):
        layers: list

        def __call__(self, rows):
            return jax.vmap(self.layers[0])(rows)

    model = Model([eqx.nn.Linear(4, 8, key=jax.random.key(0))])
    for function in (model, eqx.filter_jit(model)):
        data = exploration(subject_of(function, (jax.numpy.ones((2, 4)),), {}, True), [], keep=False).data
        assert data["failure"] is None
        assert "dot_general" in [each["primitive"] for each in data["equations"]]
        assert data["signature"].endswith("(rows: float32[2,4])")


def of_module(apply, state, line):
    """Check a module of a library: its equations belong to lines of the user, not to lines of the library."""
    data = exploration(subject_of(apply, (state, jax.numpy.ones((2, 4))), {}, True), ["cpu"], keep=False).data
    [row] = [row for row, text in enumerate(data["python"]["lines"]) if line in text]
    primitives = {data["equations"][number]["primitive"] for number in data["python"]["equations"][row]}
    assert "dot_general" in primitives
    linked = data["targets"][0]["linked"]
    assert linked["exact"] + linked["guessed"] >= 0.95 * linked["operations"]
