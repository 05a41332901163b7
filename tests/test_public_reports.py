"""Programs from public reports on JAX and its libraries: values, jaxprs, warnings and errors are JAX's."""

import math

import jax
import numpy as np
import pytest

import jitkit
from tests.twin import same_as_jax


def near(x):
    """Return rounded numbers: XLA fuses JAX's eager calls and ours differently."""
    return np.asarray(x).round(4)


def error_of(function):
    """Return the class and the first line of what `function()` raises."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]


# --- numbers that were wrong, or refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["hfft", "ihfft"])
@same_as_jax
def test_the_norm_of_hermitian_transforms_is_that_of_their_direction(jax, jnp, name, norm):
    x = np.array([1.0, 2.0, 3.5, -4.0], "float32")
    f = getattr(jnp.fft, name)
    return f(x, norm=norm), f(x, n=5, norm=norm), near(jax.grad(lambda x: abs(f(x, norm=norm)).sum())(x))


@same_as_jax
def test_weighted_quantiles(jax, jnp):
    rng = np.random.default_rng(0)
    a, w = rng.normal(size=(3, 4, 5)).astype("float32"), rng.uniform(size=(3, 4, 5)).astype("float32")
    bad = np.where(w < 0.1, -1, w)

    def of(q, axis, weights, keepdims=False):
        return jnp.quantile(a, jnp.asarray(q), axis=axis, method="inverted_cdf", weights=weights, keepdims=keepdims)

    def of_all_kinds():
        return [
            of(q, axis, weights, keepdims)
            for axis, weights in ((None, w), (0, w[:, 0, 0]), ((2, 0), w[:, 0].T), (1, bad))
            for q in (0.3, [0.0, 0.5, 1.0])
            for keepdims in (False, True)
        ]

    return [
        jax.jit(of_all_kinds)(),  # one program, since eagerly each operation would be compiled
        of(0.3, 1, bad),
        jnp.percentile(a, 40.0, method="inverted_cdf"),
        jax.grad(lambda a: of(0.4, None, None))(a),
        str(jax.make_jaxpr(lambda a, w: jnp.quantile(a, 0.5, axis=(0, 1), method="inverted_cdf", weights=w))(a, w)),
    ]


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        ({}, np.ones(3)),
        ({"method": "inverted_cdf"}, np.ones(2)),
        ({"method": "inverted_cdf"}, np.ones(3, complex)),
        ({"method": "inverted_cdf", "axis": 0}, np.ones(2)),
    ],
)
@same_as_jax
def test_weights_that_do_not_fit_are_refused(jax, jnp, options, weights):
    return error_of(lambda: jnp.quantile(np.arange(3.0), 0.5, weights=weights, **options))


@pytest.mark.parametrize("name", ["gamma", "loggamma"])
@same_as_jax
def test_gamma_functions_of_complex_numbers(jax, jnp, name):
    f = getattr(jax.scipy.special, name)
    z = np.array([1 + 1j, -1.5 + 2j, -3.2 - 0.1j, 0.25 - 4j, 7 + 0.5j, 0, -2, np.nan], "complex64")

    @jax.jit  # one program, since eagerly each operation would be compiled
    def in_all_ways(z):
        return f(z), jax.vmap(f)(z), jax.jvp(f, (z,), (jnp.ones_like(z),))[1]

    return [near(x) for x in in_all_ways(z)], str(jax.make_jaxpr(f)(z))


@same_as_jax
def test_sums_and_products_as_bools(jax, jnp):
    x = jnp.arange(4.0)
    both = [f(x, dtype=bool) for f in (jnp.sum, jnp.prod, jnp.nansum, jnp.nanprod)]
    more = [jnp.trace(jnp.ones((2, 2)), dtype=bool), x.sum(dtype=bool), jnp.sum(x, dtype=bool, where=x > 5)]
    return both, more, str(jax.make_jaxpr(lambda x: jnp.prod(x, dtype=bool, initial=True, keepdims=True))(x))


@pytest.mark.parametrize("n", [4, 5, 4.5, 3.25, np.float32(2.5)])
@same_as_jax
def test_frequencies_of_a_length_with_a_fraction(jax, jnp, n):
    return jnp.fft.rfftfreq(n), jnp.fft.rfftfreq(n, 0.5)


@pytest.mark.parametrize("axis", [None, 1, (0, 1), [0, 1], (), (0, 0), (0, -2), (0, 5), 1.0])
@same_as_jax
def test_the_size_along_axes(jax, jnp, axis):
    return error_of(lambda: jnp.size(jnp.ones((2, 3)), axis=axis))


# --- programs that were not JAX's -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "axis"), [((2, 3), (3,), -1), ((2, 3), (4, 1, 3), -1), ((3, 2), (3, 4, 2), 0), ((5, 3), (2, 3), -1)]
)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@same_as_jax
def test_vecdot_of_unequal_ranks_broadcasts_nothing(jax, jnp, a, b, axis, dtype):
    a, b = np.ones(a, dtype), np.ones(b, "float32")

    def f(a, b):
        return jnp.vecdot(a, b, axis=axis)

    return error_of(lambda: str(jax.make_jaxpr(f)(a, b))), error_of(lambda: f(a, b))


@pytest.mark.parametrize("power", [0, 1, 2, 3, np.int32(3), np.int8(-2)])
@same_as_jax
def test_second_derivatives_of_powers_by_ints(jax, jnp, power):
    f = jax.grad(jax.grad(lambda x: jax.lax.pow(x, power)))
    return str(jax.make_jaxpr(f)(2.0)), f(2.0), f(0.0)


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 2), (300, 2), (2, 3, 4), (2, 2, 2, 2)], ids=str)
@same_as_jax
def test_one_array_is_stacked_by_one_equation_for_all_rows(jax, jnp, name, shape):
    stack = getattr(jnp, name)
    x = np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)

    def program():
        return str(jax.make_jaxpr(stack)(x)), stack(x), stack(jnp.asarray(x))

    return error_of(program)


# --- positions of arguments -------------------------------------------------------------------------------------------

POSITIONS = [
    (0, 0), (0, -2), -3, 2, (0, 3), 1.0, "1", "ab", {0, 1}, range(2), np.array([0, 1]), [1, 0], [True], (1.0,), None,
]  # fmt: skip


@pytest.mark.parametrize("argnums", POSITIONS, ids=str)
@pytest.mark.parametrize("name", ["grad", "value_and_grad", "jacfwd", "jacrev", "hessian"])
@same_as_jax
def test_argnums_of_all_kinds(jax, jnp, name, argnums):
    return error_of(lambda: getattr(jax, name)(lambda x, y: x * y, argnums=argnums)(2.0, 3.0))


@pytest.mark.parametrize("argnums", POSITIONS, ids=str)
@same_as_jax
def test_positions_of_static_and_donated_arguments_of_all_kinds(jax, jnp, argnums):
    def f(x, y):
        return x * y

    return (
        error_of(lambda: jax.jit(f, static_argnums=argnums)(2.0, 3.0)),
        error_of(lambda: jax.jit(f, donate_argnums=argnums).lower(2.0, 3.0).args_info is None),
        error_of(lambda: str(jax.make_jaxpr(f, static_argnums=argnums)(2.0, 3.0))),
    )


@pytest.mark.parametrize("names", [("x", "x"), {"x"}, ["x", "y"], ("z",), 1, ("x", 1), np.array(["x"])], ids=str)
@same_as_jax
def test_names_of_static_arguments_of_all_kinds(jax, jnp, names):
    return error_of(lambda: jax.jit(lambda x, y: x * y, static_argnames=names)(2.0, 3.0))


# --- values under a derivative that is taken at once ------------------------------------------------------------------

ASKS_FOR_VALUES = {
    "unique": lambda jnp, x: jnp.unique(x).sum(),
    "unique, with counts": lambda jnp, x: x.sum() * jnp.unique(x, return_counts=True)[1][0],
    "union1d": lambda jnp, x: jnp.union1d(x, jnp.array([2.0])).sum(),
    "arange": lambda jnp, x: x[0] * jnp.arange(x[1]).sum(),
    "item": lambda jnp, x: x[0] * x[1].item(),
    "item, of one of several": lambda jnp, x: x[0] * x.item(2),
    "item, of several": lambda jnp, x: x[0] * x.item(),
    "tolist": lambda jnp, x: x[0] * x.tolist()[0],
    "int": lambda jnp, x: x[0] * int(x[1]),
    "bool": lambda jnp, x: x[0] if x[1] > 0 else x[1],
    "float": lambda jnp, x: x[0] * float(x[1]),
    "complex": lambda jnp, x: x[0] * complex(x[1]).real,
    "math.sin": lambda jnp, x: x[0] * math.sin(x[1]),
    "math.floor": lambda jnp, x: x[0] * math.floor(x[1]),
    "range": lambda jnp, x: x[0] * len(range(x[1])),
    "np.asarray": lambda jnp, x: x[0] * np.asarray(x)[1],
}


@pytest.mark.parametrize("asks", ASKS_FOR_VALUES)
@same_as_jax
def test_values_under_derivatives_are_there_as_in_jax(jax, jnp, asks):
    x = jnp.array([3.0, 2.0, 2.0])

    def f(x):
        return ASKS_FOR_VALUES[asks](jnp, x)

    return [
        error_of(lambda: jax.grad(f)(x)),
        error_of(lambda: jax.jvp(f, (x,), (x,))),
        error_of(lambda: jax.linearize(f, x)[1](x)),
        error_of(lambda: jax.grad(lambda x: jax.jvp(f, (x,), (x,))[1])(x)),
        error_of(lambda: jax.jit(jax.grad(f))(x)),
        error_of(lambda: jax.vmap(jax.grad(f))(x[None])),
    ]


# --- arguments that make no sense -------------------------------------------------------------------------------------


@pytest.mark.parametrize("unroll", [1.0, 2.0, 1.5, np.float32(2)])
def test_a_number_of_steps_at_once_is_whole(unroll):
    def scan(lib):
        return lib.lax.scan(lambda c, x: (c + x, x), 0, lib.numpy.arange(4), unroll=unroll)

    with pytest.raises(TypeError):
        scan(jax)
    with pytest.raises(TypeError, match=rf"`unroll` must be a `bool` or a non-negative `int`, got .*{float(unroll)}"):
        scan(jitkit)


@pytest.mark.parametrize("reverse", [False, True])
@same_as_jax
def test_a_loop_without_steps_takes_a_float_of_steps_at_once(jax, jnp, reverse):
    def loop(x):
        return jax.lax.scan(lambda c, y: (c + y, c), 0.0, x, unroll=1.0, reverse=reverse)

    empty = jnp.arange(0.0)
    return loop(empty), str(jax.make_jaxpr(loop)(empty)), jax.lax.fori_loop(0, 0, lambda i, c: c + 1, 3, unroll=1.0)


@pytest.mark.parametrize("unroll", [True, False, 0, 1, 3, np.int64(2), np.uint8(4)])
@same_as_jax
def test_whole_numbers_of_all_kinds_are_steps_at_once(jax, jnp, unroll):
    return jax.lax.scan(lambda c, x: (c + x, c), 0, jnp.arange(4), unroll=unroll)


@pytest.mark.parametrize("output", [False, True])
def test_a_length_is_not_negative(output):
    def step(carry, _):
        return carry + 1, carry if output else None

    with pytest.raises(ValueError, match=r"scan got `length` argument of -1: a number of steps must be 0 or more"):
        jitkit.lax.scan(step, 0, None, length=-1)
    with pytest.raises(ValueError, match="disagrees with leading axis sizes"):
        jitkit.lax.scan(step, 0, np.arange(3), length=-1)


# --- positions of arguments, of odd kinds ---------------------------------------------------------------------------------

POSITIONS = [
    1,
    (1,),
    [1],
    {1},
    range(1, 2),
    np.array([1]),
    np.int32(1),
    1.0,
    "1",
    None,
    (0, 0),
    5,
    -1,
    -5,
    (0, "a"),
    True,
    (0.0,),
]


def product(x, y, n=2):
    return x * y * n


@pytest.mark.parametrize("positions", POSITIONS, ids=repr)
@same_as_jax
def test_static_positions_of_all_kinds(jax, jnp, positions):
    """`checkpoint` looks at them when it is called, and `make_jaxpr` counts back from what is passed."""
    return [
        error_of(lambda: jax.checkpoint(product, static_argnums=positions)(2.0, 3.0)),
        error_of(lambda: jax.grad(jax.checkpoint(product, static_argnums=positions))(2.0, 3.0)),
        error_of(lambda: jax.grad(jax.checkpoint(product, static_argnums=positions), 1)(2.0, 3.0)),
        error_of(lambda: str(jax.make_jaxpr(product, static_argnums=positions)(2.0, 3.0))),
        error_of(lambda: jax.jit(product, static_argnums=positions)(2.0, 3.0)),
    ]


@pytest.mark.parametrize("positions", POSITIONS, ids=repr)
@same_as_jax
def test_positions_to_differentiate_by_of_all_kinds(jax, jnp, positions):
    return [
        error_of(lambda name=name: getattr(jax, name)(product, argnums=positions)(2.0, 3.0))
        for name in ("grad", "jacfwd", "jacrev", "hessian")
    ]


@pytest.mark.parametrize(
    "positions", [(1,), [1], {1}, range(1, 2), None, (), [], (np.int64(1),), "1", 1, 1.0, (0, "a"), (0.0,)]
)
@same_as_jax
def test_positions_that_a_custom_rule_does_not_differentiate(jax, jnp, positions):
    def class_of(call):
        """Return the result, or the class of the error: JAX words the errors for bad positions in several ways."""
        try:
            return call()
        except Exception as error:
            return type(error).__name__

    def jvp():
        f = jax.custom_jvp(product, nondiff_argnums=positions)
        f.defjvp(lambda *args: (args[-2][0] * 2.0, args[-1][0] * 5.0))
        return f(2.0, 3.0), jax.grad(f)(2.0, 3.0)

    def vjp():
        f = jax.custom_vjp(product, nondiff_argnums=positions)
        f.defvjp(lambda *args: (product(*args), None), lambda *args: (args[-1],) * 2)
        return f(2.0, 3.0)

    return class_of(jvp), class_of(vjp)


@pytest.mark.parametrize("names", ["n", ("n",), ["n"], {"n"}, "zz", (1,), b"n"], ids=repr)
@same_as_jax
def test_names_that_a_custom_rule_does_not_differentiate(jax, jnp, names):
    def rule():
        f = jax.custom_jvp(product, nondiff_argnames=names)
        f.defjvp(lambda *args: (args[-2][0] * 2.0, args[-1][0] * 5.0))
        return f(2.0, 3.0, 4)

    return error_of(rule)


def test_a_position_without_a_tuple_is_refused_by_custom_rules():
    """JAX takes 0 for none, in silence."""
    for decorator in (jitkit.custom_jvp, jitkit.custom_vjp):
        with pytest.raises(TypeError, match="'int' object is not iterable"):
            decorator(product, nondiff_argnums=0)


@pytest.mark.parametrize(
    "place", ["all", "0", b"1", 1, [0, 2], np.int8(1), 1.5, [True, False, True, False], 9, slice(1, 3)], ids=repr
)
@same_as_jax
def test_what_is_deleted(jax, jnp, place):
    return error_of(lambda: jnp.delete(jnp.arange(4.0), place)), error_of(
        lambda: jnp.insert(jnp.arange(4.0), place, 7.0)
    )


# --- names and keywords that were missing -----------------------------------------------------------------------------

INDICES = np.array([0, -1, 2, 5])
TAKES = {
    "rows": ((INDICES,), (0,)),
    "columns": ((INDICES,), (1,)),
    "elements": ((INDICES, INDICES), (0, 1)),
    "bytes": ((INDICES.astype("int8"),), (1,)),
    "axes that descend": ((INDICES, INDICES), (1, 0)),
    "floats": ((INDICES * 1.0,), (1,)),
    "two axes of one vector": ((INDICES[None],), (1,)),
    "nothing": ((), ()),
    "two lengths": ((INDICES, INDICES[:2]), (0, 1)),
}


@pytest.mark.parametrize("take", TAKES)
@same_as_jax
def test_slices_at_positions_modulo_the_sizes(jax, jnp, take):
    vectors, axes = TAKES[take]

    def f(x):
        return jax.lax.index_take(x, vectors, axes)

    x = jnp.arange(12.0).reshape(3, 4)
    return [
        error_of(lambda: f(x)),
        error_of(lambda: jax.vmap(f)(x[None])),
        error_of(lambda: jax.grad(lambda x: (f(x) ** 2).sum())(x)),
        error_of(lambda: str(jax.make_jaxpr(f)(x))),
    ]


@pytest.mark.parametrize("out_dtype", [None, "int32", "float32", np.int16, "float64", bool, "complex64", float, "foo"])
@same_as_jax
def test_products_of_another_dtype(jax, jnp, out_dtype):
    def f(x, y):
        return jax.lax.mul(x, y, out_dtype=out_dtype)

    x, y, z = jnp.array([0, 1, -2], "int8"), jnp.array([0.5, 1.5, 2.0], "bfloat16"), jnp.array([3.0, 0.0, 1.0])
    results = []
    for a, b in ((x, x), (x, y), (y, z), (2.0, y)):
        results += [
            error_of(lambda a=a, b=b: f(a, b)),
            error_of(lambda a=a, b=b: str(jax.make_jaxpr(f)(a, b))),
            error_of(lambda a=a, b=b: jax.grad(lambda a, b: f(a, b).sum(), 1)(a, b)),
            error_of(lambda a=a, b=b: str(jax.make_jaxpr(jax.grad(lambda a, b: f(a, b).sum(), 1))(a, b))),
            error_of(lambda a=a, b=b: str(jax.make_jaxpr(jax.vmap(f, (None, 0)))(a, jnp.stack([b, b])))),
            error_of(lambda a=a, b=b: jax.jit(f)(a, b)),
        ]
    return results


def test_a_product_of_another_dtype_in_c():
    x, y = np.array([100, 100, -2], "int8"), np.array([100, 2, 3], "int8")
    f = jitkit.jit(lambda x, y: jitkit.lax.mul(x, y, out_dtype="int32"), backend="c")
    assert f(x, y).tolist() == [10000, 200, -6]


# --- kinds of numbers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "uint32"])
@pytest.mark.parametrize("library", ["numpy", "jnp"])
@same_as_jax
def test_sizes_and_places_as_arrays_of_ints(jax, jnp, library, dtype):
    x = jnp.arange(4.0)

    def ints(*values):
        return (np if library == "numpy" else jnp).array(values, dtype)

    return [
        error_of(lambda: jnp.tile(x, ints(2))),
        error_of(lambda: jnp.tile(x, ints(2, 1))),
        error_of(lambda: jnp.tile(x, ints(2)[0])),
        error_of(lambda: jax.lax.slice(x, ints(1), ints(3))),
        error_of(lambda: jnp.reshape(x, ints(2, 2))),
        error_of(lambda: jnp.zeros(ints(2, 1))),
        error_of(lambda: jnp.broadcast_to(x, ints(2, 4))),
        error_of(lambda: jnp.split(x, ints(1, 3))),
    ]


@pytest.mark.parametrize("bounds", [(0, 2**35), (0, 2**31), (2**35, 2**36), (2**70, 0), (0, -(2**31)), (-(2**40), 0)])
@same_as_jax
def test_bounds_of_loops_beyond_the_default_integers(jax, jnp, bounds):
    return error_of(lambda: jax.lax.fori_loop(*bounds, lambda i, c: c + 1, 0))


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64", "complex128", "float32", "int8"])
@same_as_jax
def test_arrays_like_what_has_no_value(jax, jnp, dtype):
    class Duck:
        shape = (2,)

    Duck.dtype = np.dtype(dtype)
    aval = jax.core.ShapedArray((2,), np.dtype(dtype))
    return [
        error_of(lambda x=x, f=f: f(x))
        for x in (jax.ShapeDtypeStruct((2,), dtype), Duck(), np.ones(2, dtype))
        for f in (jnp.zeros_like, jnp.ones_like, jnp.result_type, lambda x: jnp.full_like(x, 2))
    ] + [
        jax.eval_shape(lambda x: x, aval),
        str(jax.make_jaxpr(lambda x: x)(aval)),
        error_of(lambda: jax.jit(lambda x: x).lower(aval).out_info.dtype),
    ]


@pytest.mark.parametrize("dtype", ["uint32", "int32", "bool", "float32", "complex64"])
@same_as_jax
def test_solutions_of_another_dtype_than_the_right_side(jax, jnp, dtype):
    """At once it is what `solve` returns; to be compiled, it is refused."""

    def solve(b):
        return jax.lax.custom_linear_solve(lambda x: 2 * x, b, lambda f, b: b / 2, symmetric=True)

    b = jnp.ones(2, dtype)
    return [
        error_of(lambda: solve(b)),
        error_of(lambda: jax.vmap(solve)(b)),
        error_of(lambda: jax.jit(solve)(b)),
        error_of(lambda: str(jax.make_jaxpr(solve)(b))),
    ]


UPDATES = {
    "the same": lambda jnp, x: x,
    "sin": lambda jnp, x: jnp.sin(x),
    "twice": lambda jnp, x: x * 2,
    "a comparison": lambda jnp, x: x == 0,
}


@pytest.mark.parametrize("dtype", ["uint32", "int32", "bool", "float32", "complex64"])
@pytest.mark.parametrize("update", UPDATES)
@same_as_jax
def test_updates_by_functions_that_return_another_dtype(jax, jnp, update, dtype):
    """They are recorded, and refused where they are lowered."""

    def apply(x):
        return x.at[0].apply(lambda x: UPDATES[update](jnp, x))

    x = jnp.ones(2, dtype)
    return (
        error_of(lambda: str(jax.make_jaxpr(apply)(x))),
        error_of(lambda: jax.jit(apply)(x)),
        error_of(lambda: apply(x)),
    )


@pytest.mark.parametrize(
    "given", [np.array(1), np.array([0, 1]), {0: 1}, [[0]], bytearray(b"1"), 3, np.int64(2), "2"], ids=repr
)
@same_as_jax
def test_sizes_of_axes_of_all_kinds(jax, jnp, given):
    return error_of(lambda: jax.vmap(lambda x, y: x * y, axis_size=given)(jnp.ones(2), jnp.ones(2)))


@pytest.mark.parametrize("given", [np.array([0, 1]), (np.float32(1),), (None,), [b"x"], {2}], ids=repr)
@same_as_jax
def test_names_that_are_none(jax, jnp, given):
    return [
        error_of(lambda: jax.jit(lambda x, y: x * y, static_argnames=given)(2.0, 3.0)),
        error_of(lambda: jax.jit(lambda x, y: x * y, donate_argnames=given)(2.0, 3.0)),
    ]
