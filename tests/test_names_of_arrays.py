"""Small names that arrays, programs and functions over devices have in JAX; arrays that stand for dtypes."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from twin import JAX_VERSION, raised, same_as_jax, warned

import jitkit
import jitkit.numpy as jnp


@same_as_jax
def test_pmap_on_one_device_takes_each_axis_for_results(jax, jnp):
    x, traces = jnp.arange(3.0)[None], []

    def total(v, n=1):
        traces.append(n)
        return {"total": v.sum() * n, "all": v, "one": 1.0}

    axes = {"total": None, "all": -1, "one": None}
    mapped = jax.pmap(total, out_axes=axes)
    return [
        mapped(x),
        mapped(x + 1),
        len(traces),
        jax.grad(lambda x: mapped(x)["total"])(x),
        jax.pmap(lambda v: jax.lax.pmean(v, "i"), axis_name="i", out_axes=None)(x),
        jax.pmap(lambda n, v: v * n, static_broadcasted_argnums=0)(2, x),
        raised(jax.pmap(lambda v: v, in_axes=None), x),
        raised(jax.pmap(lambda v: v), 1.0),
        raised(jax.pmap, lambda v: v, in_axes=1.0),
        raised(jax.pmap, lambda v: v, out_axes="0"),
        raised(jax.pmap, lambda v: v, devices=[]),
        type_of_error(jax.pmap(lambda v: v, in_axes=(0, 0)), x),
    ]


def type_of_error(function, *args):
    with pytest.raises(Exception) as caught:
        function(*args)
    return caught.type.__name__


@same_as_jax
def test_arrays_of_a_tree_are_copied_to_the_host(jax, jnp):
    x = jnp.ones(3)
    tree = {"a": x, "b": (2, "text", None)}
    copied = jax.copy_to_host_async(tree)
    return copied is tree, jax.copy_to_host_async(x), jax.copy_to_host_async([1.0])


@same_as_jax
def test_a_compiled_program_says_how_arguments_and_results_lie_in_memory(jax, jnp):
    def f(x, key, *, y):
        return {"x": x.T, "y": (y, key)}

    x, key = jnp.ones((2, 3)), jax.random.key(0)
    compiled = jax.jit(f).lower(x, key, y=jnp.ones(2, "int4")).compile()
    gone = jnp.ones(2)
    gone.delete()
    said = compiled.input_formats, compiled.output_formats, x.format, gone.format
    return str(said), said[2] == jax.jit(lambda x: x).lower(x).compile().output_formats


ASKED = {
    "numpy.dtype": lambda jax, jnp, x: np.dtype(x),
    "numpy.zeros": lambda jax, jnp, x: np.zeros(2, x),
    "issubdtype": lambda jax, jnp, x: jnp.issubdtype(x, jnp.floating),
    "promote_types": lambda jax, jnp, x: jnp.promote_types(x, "int8"),
    "can_cast": lambda jax, jnp, x: jnp.can_cast(x, "float32"),
    "isdtype": lambda jax, jnp, x: jnp.isdtype(x, "real floating"),
    "==": lambda jax, jnp, x: np.dtype("float16") == x,
    "ShapeDtypeStruct": lambda jax, jnp, x: jax.ShapeDtypeStruct((2,), x).dtype,
    "eval_shape": lambda jax, jnp, x: jax.eval_shape(jnp.sin, jax.ShapeDtypeStruct((2,), x)).dtype,
    "finfo": lambda jax, jnp, x: jnp.finfo(x).bits,
    "result_type": lambda jax, jnp, x: jnp.result_type(x),
    "ones": lambda jax, jnp, x: jnp.ones(2, x),
    "astype": lambda jax, jnp, x: jnp.ones(2).astype(x),
    "normal": lambda jax, jnp, x: jax.random.normal(jax.random.key(0), (), x),
}


@pytest.mark.parametrize("name", ASKED)
@same_as_jax
def test_an_array_that_stands_for_its_dtype_is_warned_about_or_refused(jax, jnp, name):
    """What only has a dtype, such as a ShapeDtypeStruct, is taken everywhere."""

    def asked(x):
        found: list[object] = []
        words = warned(lambda: found.append(str(raised(ASKED[name], jax, jnp, x))))
        return found, sorted(set(words)) if words else words

    class Own:
        dtype = np.dtype("float16")

    structs = jax.ShapeDtypeStruct((), "float16"), jax.core.ShapedArray((), "float16"), Own()
    return [asked(x) for x in (jnp.ones(3, "float16"), np.ones(3, "float16"), *structs)]


@same_as_jax
def test_values_without_bytes_cannot_fill_what_is_out_of_bounds(jax, jnp):
    empty = np.zeros(3, jax.dtypes.float0)

    def refused(f):
        return raised(lambda: f() and None)

    return [
        refused(lambda: jnp.take(empty, 0)),
        refused(lambda: jax.jit(lambda x: jnp.take(x, np.array([0, 1])))(empty)),
        jnp.take(empty, np.array([0, 1]), mode="clip").shape,
        jax.jit(lambda x: x[0])(empty).shape,
        [jnp.take(jnp.ones(1, d), 3) for d in ("bool", "uint8", "int8", "bfloat16")],
    ]


@same_as_jax
def test_the_transpose_of_a_library_function_takes_its_constants_first(jax, jnp):
    a, b = jnp.array([[4.0, 1.0], [1.0, 3.0]]), jnp.array([1.0, 2.0])

    def solved(b, start):
        def solve(matvec, b):
            return b - matvec(start)

        return jax.lax.custom_linear_solve(lambda x: a @ x, b, solve, solve)

    outside = jax.linear_transpose(lambda x: a @ x, b)
    raw = jax.linear_transpose(lambda x: jax.lax.dot(a, x), b)
    programs = [
        jax.make_jaxpr(lambda: outside(b))(),
        jax.make_jaxpr(lambda: raw(b))(),
        jax.make_jaxpr(lambda b: jax.linear_transpose(lambda x: a @ x, b)(a[0]))(b),
        jax.make_jaxpr(lambda b: solved(b, jnp.zeros_like(b)))(b),
    ]
    if JAX_VERSION < (0, 12):  # the reverse pass of 0.12 is not followed in each order
        programs.append(jax.make_jaxpr(jax.grad(lambda b: solved(b, b).sum()))(b))
    return list(map(str, programs))


LEVELS = ("O0", "O3", "UNKNOWN", 29, 0)


@pytest.mark.parametrize("option", ["optimization_level", "memory_fitting_level"])
def test_levels_of_the_compiler_have_names_with_jax_0_12(option):
    def compiled(level):
        return jitkit.jit(lambda x: x + 1, compiler_options={option: level})(1.0)

    named = [*LEVELS, jitkit.CompilerEffortLevel.O1] if JAX_VERSION >= (0, 12) else [29, 0]
    assert [float(compiled(level)) for level in named] == [2.0] * len(named)
    for wrong in ("o1", "O9", None):
        with pytest.raises(ValueError if JAX_VERSION >= (0, 12) else TypeError):
            compiled(wrong)
    assert jitkit.CompilerEffortLevel("O1") is jitkit.CompilerEffortLevel(19)
    with pytest.raises(ValueError, match="new enum value must be in"):
        jitkit.config.update("jax_" + option, "O9")


def test_memory_of_an_array_is_seen_by_python():
    """A class in Python can show its memory from Python 3.12 on; before, `bytes(x)` and numpy do."""
    x = jnp.arange(3, dtype="int16")
    assert bytes(x) == np.asarray(x).tobytes()
    view = x.__buffer__(0)
    assert view.tobytes() == bytes(x)
    assert view.nbytes == x.nbytes


def test_a_layout_equals_jaxs_and_nothing_else():
    ours = jnp.zeros((2, 3)).format.layout
    assert ours == jax.numpy.zeros((2, 3)).format.layout
    assert ours not in (jax.numpy.zeros(3).format.layout, (0, 1), 5, None)
