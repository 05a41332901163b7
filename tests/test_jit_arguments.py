"""The arguments of a jitted function: donated ones, static ones, and those that cannot be taken, as in JAX."""

from __future__ import annotations

import contextlib
import enum
import functools
import math

import numpy as np
import pytest
from twin import JAX_VERSION, raised, same_as_jax, warned

import jitkit as jk
import jitkit.numpy as jnp
from jitkit.signature.argument_spec import resolve_spec

# --- donation -----------------------------------------------------------------------------------------------


@same_as_jax
def test_a_donated_argument_is_deleted_and_its_memory_used(jax, jnp):
    f = jax.jit(lambda x, y: (x + y, y * 2), donate_argnums=0)
    x, y = jnp.arange(37.0) * 1, jnp.ones(37) * 1  # a new shape, since JAX words the error of a cached call differently
    before = np.asarray(x).ctypes.data
    out, _ = f(x, y)
    after = np.asarray(out).ctypes.data
    deleted = x.is_deleted(), y.is_deleted()
    g = jax.jit(lambda y: (x + y, y.sum()))
    uses = [
        lambda: x + 1, lambda: np.asarray(x), lambda: jax.jit(lambda x: x)(x), lambda: jax.jit(lambda x: x + 2)([x]), lambda: x[0],
        lambda: str(x), lambda: x.tolist(), lambda: jnp.sin(x), lambda: x.at[0].set(1), lambda: list(x), lambda: x.block_until_ready(),
        lambda: jax.block_until_ready(x), lambda: g(1.0), lambda: x.devices(),
        lambda: x.item(), lambda: x.shape, lambda: len(x), lambda: x.dtype, lambda: hash(x), lambda: float(x), lambda: x == x,
    ]  # fmt: skip
    return out, before == after, deleted, [raised(use) for use in uses], out + 1


def test_negative_numbers_of_donated_arguments_count_the_parameters():
    f = jk.jit(lambda x, y=2.0: (x + y, x * y), donate_argnums=-2)
    x, z = jnp.ones(3) * 1, jnp.ones(3) * 1
    f(x)
    f(z, 3.0)
    assert x.is_deleted()
    assert z.is_deleted()


def test_the_error_on_a_donated_array_says_what_to_do():
    f = jk.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(3) * 1
    f(x)
    with pytest.raises(RuntimeError) as error:
        x + 1
    text = str(error.value)
    assert text.startswith("Array has been deleted with shape=float32[3].\n")
    assert "donate_argnums" in text
    assert repr(x) == "Array(float32[3], deleted)" or "deleted" in repr(x)


@same_as_jax
def test_a_donated_array_in_a_call(jax, jnp):
    """In a warm call XLA finds it, in a cold one and ahead of time JAX does."""

    def once(f, *args):
        f(*args)
        return f

    x = jnp.ones(3) * 1
    add = once(once(jax.jit(lambda x: x + 1, donate_argnums=0), jnp.ones(3)), x)
    tree = {"a": x}
    warm = once(jax.jit(lambda d: d["a"] * 2), {"a": jnp.ones(3)})
    static = once(jax.jit(lambda x, n: x * n, static_argnums=1), jnp.ones(3), 2)
    return [
        raised(add, x),
        raised(warm, tree),
        raised(static, x, 2),
        raised(jax.jit(lambda d: d["a"] * 3), tree),
        raised(jax.jit(lambda x: x + 1).lower(x).compile(), x),
    ]


def test_a_captured_array_that_was_donated_since_is_said_to_be_deleted():
    """JAX copies what is captured into the program; a large array is not copied here."""
    captured = jnp.ones(10_000) * 1
    f = jk.jit(lambda x: x + captured)
    compiled = f.lower(1.0).compile()
    f(1.0)
    jk.jit(lambda x: x * 2, donate_argnums=0)(captured)
    for call in (f, compiled, jk.jit(lambda x: x - captured)):
        with pytest.raises(RuntimeError, match=r"^Array has been deleted with shape=float32\[10000\]\."):
            call(2.0)


@same_as_jax
def test_donation_by_name_and_of_trees_and_by_keyword(jax, jnp):
    def make():
        return {"w": jnp.ones((2, 2)) * 1, "b": [jnp.ones(2) * 1]}

    def deleted(tree):
        return [leaf.is_deleted() for leaf in jax.tree_util.tree_leaves(tree)]

    def step(params, x):
        return jax.tree_util.tree_map(lambda p: p - x[0], params), x * 2

    log = []
    for options, by_name in [
        ({"donate_argnums": 0}, False), ({"donate_argnums": 0}, True), ({"donate_argnames": "params"}, False),
        ({"donate_argnames": "params"}, True), ({"donate_argnums": (0, 1)}, False), ({}, False),
    ]:  # fmt: skip
        f = jax.jit(step, **options)
        params, x = make(), jnp.ones((2, 2)) * 1
        out = f(params=params, x=x) if by_name else f(params, x)
        log.append((deleted(params), x.is_deleted(), out))
    return log


@same_as_jax
def test_donating_what_no_result_can_use_is_a_warning(jax, jnp):
    f = jax.jit(lambda x, y: x.sum() + y.sum(), donate_argnums=(0, 1))
    return [
        warned(f, jnp.ones(3) * 1, jnp.ones((2, 2), "int32") * 1),
        warned(f, jnp.ones(3) * 1, jnp.ones((2, 2), "int32") * 1),
    ]


@same_as_jax
def test_donating_python_and_numpy_values_is_harmless(jax, jnp):
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    value = np.ones(3, np.float32)
    return f(value), f(value), f(1.0), value


@same_as_jax
def test_donating_one_buffer_twice(jax, jnp):
    f = jax.jit(lambda x, y: (x + 1, y + 1), donate_argnums=(0, 1))
    x = jnp.ones(3) * 1
    return raised(f, x, x)[0]


@same_as_jax
def test_donating_an_argument_that_is_not_used(jax, jnp):
    f = jax.jit(lambda x, y: y + 1, donate_argnums=0)
    x = jnp.ones(3) * 1
    with contextlib.suppress(UserWarning):
        messages = warned(f, x, jnp.zeros(3))
    return messages, x.is_deleted()


@same_as_jax
def test_donation_inside_of_a_trace_is_recorded(jax, jnp):
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    jaxpr = jax.make_jaxpr(lambda x: f(x) * 2)(1.0)
    eqn = jaxpr.jaxpr.eqns[0]
    return eqn.params["donated_invars"], str(jaxpr)


@same_as_jax
def test_static_and_donated_may_not_overlap(jax, jnp):
    def f(x, y):
        return x

    return [
        raised(jax.jit, f, static_argnums=0, donate_argnums=0)[0], raised(jax.jit, f, static_argnames="x", donate_argnames="x")[0],
        raised(jax.jit, f, static_argnums=0, donate_argnames="x")[0], raised(jax.jit, f, static_argnums=(0,), donate_argnums=(1,))[0],
    ]  # fmt: skip


# --- static arguments ---------------------------------------------------------------------------------------


@same_as_jax
def test_static_values_are_told_apart_by_value_and_type(jax, jnp):
    log = []

    def f(n, x):
        log.append((type(n).__name__, n))
        return x

    f = jax.jit(f, static_argnums=0)
    sizes = []
    for n in (1, 1.0, True, 1, "1", (1,), (1.0,), None, 2, 0.0, -0.0, False):
        f(n, 1.0)
        sizes.append((f._cache_size(), len(log)))
    f(n=1, x=1.0)
    return sizes, log, f._cache_size()


@same_as_jax
def test_static_values_are_compared_by_their_own_eq_and_hash(jax, jnp):
    log = []

    class Mode:
        def __init__(self, name, note):
            self.name, self.note = name, note

        def __eq__(self, other):
            return self.name == other.name

        def __hash__(self):
            return hash(self.name)

    @functools.partial(jax.jit, static_argnames="mode")
    def f(x, mode):
        log.append(mode.note)
        return x

    f(1.0, Mode("a", 1)), f(1.0, Mode("a", 2)), f(1.0, mode=Mode("a", 3)), f(1.0, Mode("b", 4))
    return log


@same_as_jax
def test_a_static_function_or_class(jax, jnp):
    apply = jax.jit(lambda f, x: f(x), static_argnums=0)
    return apply(jnp.sin, 1.0), apply(abs, -1.0), apply(float.__abs__ if False else (lambda x: x), 2.0)


@pytest.mark.parametrize(
    "value", [[1], {"a": 1}, {1}, np.ones(2), slice(1, 2) if not hasattr(slice, "__hash__") else bytearray(b"a")]
)
@same_as_jax
def test_an_unhashable_static_value_is_refused(jax, jnp, value):
    f = jax.jit(lambda n, x: x, static_argnums=0)
    kind, text = raised(f, value, 1.0)
    return kind, text, f._cache_size(), raised(f, n=value, x=1.0)[0]


def test_the_error_on_an_unhashable_static_value_says_what_to_do():
    f = jk.jit(lambda n, x: x, static_argnums=0)
    for value, mend in (([1], "tuple"), ({"a": 1}, "dict"), ({1}, "frozenset"), (jnp.ones(2), "ordinary argument")):
        with pytest.raises(ValueError, match=mend):
            f(value, 1.0)


def test_a_mutated_static_value_is_found_out():
    class Setting:
        def __init__(self, n):
            self.n = n

        def __hash__(self):
            return hash(self.n)

        def __eq__(self, other):
            return self.n == other.n

    f = jk.jit(lambda x, s: x * s.n, static_argnums=1)
    setting = Setting(2)
    assert float(f(1.0, setting)) == 2.0
    setting.n = 3
    with pytest.raises(ValueError, match="mutated"):
        f(1.0, setting)


def test_a_static_value_that_equals_an_entry_with_another_hash_is_not_mixed_up():
    class Weird:
        def __init__(self, n):
            self.n = n

        def __hash__(self):
            return 1

        def __eq__(self, other):
            return self.n == other.n

    f = jk.jit(lambda x, s: x * s.n, static_argnums=1)
    assert [float(f(1.0, Weird(n))) for n in (1, 2, 3, 2)] == [1.0, 2.0, 3.0, 2.0]
    assert f._cache_size() == 3


def no_positional(*, x):
    return x


def two(x, y):
    return x


def with_star(x, *args):
    return x


def with_keywords(x, **kwargs):
    return x


def positional_only(x, /, y):
    return x


BAD_SPECS = {
    "out of range": (two, {"static_argnums": 2}),
    "out of range, negative": (two, {"static_argnums": -3}),
    "out of range, donated": (two, {"donate_argnums": (0, 5)}),
    "none positional": (no_positional, {"static_argnums": 0}),
    "star takes any": (with_star, {"static_argnums": 7}),
    "unknown name": (two, {"static_argnames": "z"}),
    "unknown names": (two, {"static_argnames": ("x", "z")}),
    "unknown donated name": (two, {"donate_argnames": "z"}),
    "keywords take any": (with_keywords, {"static_argnames": "z"}),
    "positional-only name": (positional_only, {"static_argnames": "x"}),
    "name of the star": (with_star, {"static_argnames": "args"}),
    "not a number": (two, {"static_argnums": "x"}),
    "not numbers": (two, {"static_argnums": (0, "x")}),
    "not a name": (two, {"static_argnames": 1}),
    "not names": (two, {"static_argnames": ("x", 1)}),
    "a float": (two, {"static_argnums": 1.0}),
    "both, disagreeing": (two, {"static_argnums": 0, "static_argnames": "y"}),
    "nothing": (two, {"static_argnums": (), "static_argnames": ()}),
    "numpy integers": (two, {"static_argnums": np.int64(1)}),
    "a range": (two, {"static_argnums": range(2)}),
    "a list": (two, {"static_argnums": [0, 1]}),
    "a set of names": (two, {"static_argnames": {"x"}}),
    "static and donated": (two, {"static_argnums": 0, "donate_argnums": 0}),
}


@pytest.mark.parametrize("case", BAD_SPECS)
@same_as_jax
def test_wrong_argument_numbers_and_names_are_refused_as_in_jax(jax, jnp, case):
    f, options = BAD_SPECS[case]
    outcome = raised(jax.jit, f, **options)
    return outcome if outcome[0] != "nothing was raised" else "nothing was raised"


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 0, "donate_argnums": -2}, {"static_argnums": 0, "donate_argnames": "x", "static_argnames": ()},
    ],
    ids=str,
)  # fmt: skip
def test_contradictions_that_jax_lets_pass_are_refused(options):
    with pytest.raises(ValueError, match="cannot intersect"):
        jk.jit(two, **options)


negative = pytest.mark.skipif(
    JAX_VERSION < (0, 12), reason="needs jax >= 0.12, where negative numbers count parameters"
)


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1}, {"static_argnames": "n"}, {"static_argnums": (1,), "static_argnames": ("n",)},
        {"static_argnums": (1, 2)}, {"static_argnames": ("n", "mode")}, {"static_argnames": "mode"},
        pytest.param({"static_argnums": -2}, marks=negative), pytest.param({"static_argnums": -1}, marks=negative),
        pytest.param({"static_argnums": (-1, 1)}, marks=negative), {"static_argnums": 1, "static_argnames": "mode"},
        {"static_argnums": (1,), "static_argnames": ()},
    ],
    ids=str,
)  # fmt: skip
@same_as_jax
def test_numbers_and_names_of_static_arguments_are_inferred_from_each_other(jax, jnp, options):
    def f(x, n=2, mode=3):
        log.append((isinstance(n, jax.core.Tracer), isinstance(mode, jax.core.Tracer)))
        return x

    results = []
    for args, kwargs in [
        ((1.0,), {}), ((1.0, 2), {}), ((1.0,), {"n": 2}), ((1.0, 2, 4), {}), ((1.0, 2), {"mode": 4}), ((1.0,), {"n": 2, "mode": 4}),
        ((), {"x": 1.0, "n": 2}),
    ]:  # fmt: skip
        log = []
        g = jax.jit(f, **options)
        error = raised(g, *args, **kwargs)
        results.append((log, error if error[0] != "nothing was raised" else None))
    return results, jax.jit(f, **options)._cache_size()


@same_as_jax
def test_a_static_number_beyond_the_call_is_no_error(jax, jnp):
    f = jax.jit(lambda x, n=3: x * n, static_argnums=1)
    g = jax.jit(lambda x, *n: x * len(n), static_argnums=(1, 2))
    return f(2.0), f(2.0, 4), g(2.0), g(2.0, "a"), g(2.0, "a", "b"), g(2.0, "a", "b", 3.0)


@same_as_jax
def test_static_keywords_without_a_parameter_of_that_name(jax, jnp):
    def f(x, **kwargs):
        log.append(isinstance(kwargs["mode"], str))
        return x

    log = []
    g = jax.jit(f, static_argnames="mode")
    return g(1.0, mode="a"), g(1.0, mode="b"), g(1.0, mode="a"), log, g._cache_size()


# --- values from the host -----------------------------------------------------------------------------------

# Each value occurs several times: a Python scalar that occurs again is kept on the device.
HOST_VALUES = {
    "signed zeros": (0.0, 0.0, 0.0, -0.0, -0.0, -0.0, 0.0, 0, 0, 0, -0.0),
    "complex": (1 + 0j, 1 + 0j, 1 + 0j, complex(1, -0.0), complex(-0.0, 1), complex(-0.0, 1), 1j, 1j, complex(0.0, 1)),
    "of equal value": (1, 1, 1, 1.0, 1.0, 1.0, True, True, True, 1 + 0j, np.float32(1), np.int8(1), np.bool_(True), 1),
    "not a number": (math.nan, math.nan, math.nan, -math.nan, math.inf, math.inf, math.inf, -math.inf),
    "too large and too small": (1e40, 1e40, 1e40, -1e40, 1e-50, 1e-50, 1e-50, 2**31 - 1, -(2**31)),
    "subclasses": (type("I", (int,), {})(3), type("F", (float,), {})(2.5), type("F", (float,), {})(-0.0)) * 3,
    "an enum": tuple(enum.IntEnum("Color", "RED BLUE")) * 3,
    "byte orders": (np.ones(3, "<f4"), np.array([1.5], np.float16), np.arange(3, dtype="<i8"), np.uint64(2**40)),
    "layouts": (
        np.arange(6.0).reshape(2, 3).T,
        np.arange(6.0)[::-2],
        np.broadcast_to(np.float32(1), (2, 2)),
        np.zeros((0, 2)),
    ),
    "subclasses of ndarray": (
        np.ones(2).view(type("S", (np.ndarray,), {})),
        np.frombuffer(b"\0" * 8, np.float32),
        np.array(2.0),
    ),
}


@pytest.mark.parametrize("values", HOST_VALUES)
@same_as_jax
def test_host_values_arrive_unchanged_however_often_they_come(jax, jnp, values):
    identity, pair = jax.jit(lambda x: x), jax.jit(lambda x, y: (x, y))
    array = jnp.ones(2)
    with np.errstate(over="ignore"):  # numpy warns JAX of numbers that do not fit
        return [(identity(x), pair(array, x)[1], pair(x, array)[0], pair(x, x)) for x in HOST_VALUES[values]]


@same_as_jax
def test_numpy_arrays_that_jax_refuses_are_refused(jax, jnp):
    f = jax.jit(lambda x: x)
    values = [
        np.ma.array([1.0]),
        np.ma.masked,
        np.ones(3, ">f4"),
        np.zeros(2, [("a", "f4")]),
        np.ones(2, np.longdouble),
        np.float128(1),
    ]
    return [(raised(f, x), raised(f, [x])) for x in values]


@same_as_jax
def test_objects_that_could_be_made_arrays_are_refused(jax, jnp):
    class WithArray:
        def __array__(self, dtype=None, copy=None):
            return np.ones(2, np.float32)

    class WithJaxArray:
        def __jax_array__(self):
            return jnp.ones(2)

    f = jax.jit(lambda x: x)
    return raised(f, WithArray()), raised(f, WithJaxArray()), raised(jnp.sin, WithArray())


# --- arguments that are no arrays ---------------------------------------------------------------------------

NO_ARRAYS = {
    "a string": "text",
    "a string in a dict": {"a": [1.0, "text"]},
    "a set": {1, 2},
    "an object": object(),
    "a function": len,
    "bytes": b"abc",
    "an array of strings": np.array(["a", "b"]),
    "an array of objects": np.array([None, 1]),
    "a datetime": np.datetime64("2020-01-01"),
    "a slice": slice(1, 2),
    "ellipsis": ...,
    "a range": range(3),
    "a class": int,
    "a large int": 2**40,
    "a large int in a list": [1, 2**70],
}


@pytest.mark.parametrize("case", NO_ARRAYS)
@same_as_jax
def test_arguments_that_are_no_arrays_are_refused_by_path(jax, jnp, case):
    def f(x, y):
        return x

    g = jax.jit(f)
    value = NO_ARRAYS[case]
    return [raised(g, 1.0, value), raised(g, 1.0, y=value), raised(jax.jit(lambda *args: 1), 1.0, value)]


@same_as_jax
def test_arguments_may_be_jax_arrays(jax, jnp):
    theirs = __import__("jax").numpy.arange(3.0)
    f = jax.jit(lambda x, y: x + y)
    return f(theirs, 1.0), f(theirs, theirs), f(jnp.arange(3.0), theirs), f._cache_size()


@same_as_jax
def test_a_jax_array_and_an_equal_array_share_an_entry(jax, jnp):
    log = []
    f = jax.jit(lambda x: log.append(x) or x)
    (
        f(__import__("jax").numpy.arange(3.0)),
        f(jnp.arange(3.0)),
        f({"a": __import__("jax").numpy.ones(2)}),
        f({"a": jnp.ones(2)}),
    )
    return len(log), f._cache_size()


def test_static_arguments_of_library_functions_are_what_their_signatures_say():
    """`inlined` reads them from the code object: a misspelt name would go unnoticed."""
    functions = [
        f._jitted for room in (jnp, jk.lax, jk.nn) for name in dir(room) if hasattr(f := getattr(room, name), "_jitted")
    ]
    assert sum(not f.staged for f in functions) > 50
    for f in functions:
        spec = f.options.spec
        assert resolve_spec(f.fun, None, spec.static_argnames or None, None, None) == spec or f.staged, f.name


def _with_rule(decorator, define):
    doubled = decorator(lambda v: v * 2)
    rules = (
        [lambda v: (v * 2, None), lambda _, ct: (ct * 2,)]
        if define == "defvjp"
        else [lambda v, t: (v[0] * 2, t[0] * 2)]
    )
    getattr(doubled, define)(*rules)
    return doubled


def _of_a_type(name):
    """Return a program that passes a ShapeDtypeStruct itself, and not its tracer, to a function of arrays."""
    return {
        "sin": lambda jax, jnp, s: jax.lax.sin(s),
        "add": lambda jax, jnp, s: jax.lax.add(s, s),
        "reshape": lambda jax, jnp, s: jax.lax.reshape(s, (3, 1)),
        "concatenate": lambda jax, jnp, s: jax.lax.concatenate([s, s], 0),
        "scan": lambda jax, jnp, s: jax.lax.scan(lambda c, x: (c + x, c), 0.0, s),
        "carry": lambda jax, jnp, s: jax.lax.scan(lambda c, x: (c + x, c), s, jnp.ones((2, 3))),
        "while_loop": lambda jax, jnp, s: jax.lax.while_loop(lambda v: v[0] < 3, lambda v: v + 1, s),
        "fori_loop": lambda jax, jnp, s: jax.lax.fori_loop(0, 3, lambda i, v: v * 2, s),
        "cond": lambda jax, jnp, s: jax.lax.cond(True, lambda v: v * 2, lambda v: v, s),
        "switch": lambda jax, jnp, s: jax.lax.switch(1, [lambda v: v * 2, lambda v: v], s),
        "map": lambda jax, jnp, s: jax.lax.map(lambda v: v * 2, s),
        "associative_scan": lambda jax, jnp, s: jax.lax.associative_scan(jax.lax.add, s),
        "jit": lambda jax, jnp, s: jax.jit(lambda v: v * 2)(s),
        "vmap": lambda jax, jnp, s: jax.vmap(lambda v: v * 2)(s),
        "grad": lambda jax, jnp, s: jax.grad(lambda v: jnp.sum(jnp.sin(v)))(s),
        "value_and_grad": lambda jax, jnp, s: jax.value_and_grad(lambda v: jnp.sum(v * v))(s),
        "jvp": lambda jax, jnp, s: jax.jvp(jnp.sin, (s,), (s,)),
        "vjp": lambda jax, jnp, s: jax.vjp(jnp.sin, s)[0],
        "linearize": lambda jax, jnp, s: jax.linearize(jnp.sin, s)[0],
        "hessian": lambda jax, jnp, s: jax.hessian(lambda v: jnp.sum(v**3))(s),
        "checkpoint": lambda jax, jnp, s: jax.checkpoint(jnp.sin)(s),
        "custom_jvp": lambda jax, jnp, s: _with_rule(jax.custom_jvp, "defjvp")(s),
        "custom_vjp": lambda jax, jnp, s: _with_rule(jax.custom_vjp, "defvjp")(s),
        "numpy's": lambda jax, jnp, s: [jnp.sin(s), jnp.dot(s, b=s), jnp.sum(s), jnp.exp(s), jnp.arctan2(s, 2)],
    }[name]


_TAKERS = (
    "sin", "add", "reshape", "concatenate", "scan", "carry", "while_loop", "fori_loop", "cond", "switch", "map",
    "associative_scan", "jit", "vmap", "grad", "value_and_grad", "jvp", "vjp", "linearize", "hessian", "checkpoint", "custom_jvp",
    "custom_vjp", "numpy's",
)  # fmt: skip


@pytest.mark.parametrize("name", _TAKERS)
@same_as_jax
def test_eval_shape_lets_a_type_stand_for_an_array_everywhere(jax, jnp, name):
    struct = jax.ShapeDtypeStruct((3,), "float32")
    return repr(jax.eval_shape(lambda x: _of_a_type(name)(jax, jnp, struct), struct))


def test_operators_of_numpy_take_a_type_where_jax_refuses_it():
    struct = jk.ShapeDtypeStruct((3,), "float32")
    found = jk.eval_shape(lambda x: [jnp.add(struct, x), jnp.maximum(struct, 2.0), jnp.logical_or(x, struct)], struct)
    assert [(s.shape, s.dtype.name) for s in found] == [((3,), "float32"), ((3,), "float32"), ((3,), "bool")]
    with pytest.raises(TypeError, match=r"Argument 'x' of shape float32\[3\]"):
        jnp.add(struct, 1.0)


@same_as_jax
def test_what_builds_arrays_of_arrays_takes_no_type_for_one(jax, jnp):
    s = jax.ShapeDtypeStruct((3,), "float32")
    takers = (
        lambda: jnp.reshape(s, (3, 1)), lambda: jnp.stack([s, s]), lambda: jnp.concatenate([s, s]), lambda: jnp.einsum("i->", s),
        lambda: jnp.var(s), lambda: jnp.transpose(s), lambda: jnp.sin([s]),
    )  # fmt: skip
    return [raised(jax.eval_shape, lambda x, f=f: f(), s)[0] for f in takers], raised(jnp.sin, s)[0]


@same_as_jax
def test_a_type_in_the_place_of_a_constant_is_printed_and_cannot_be_run(jax, jnp):
    struct = jax.ShapeDtypeStruct((3,), "float32")
    jaxpr = str(jax.make_jaxpr(lambda x: jax.lax.sin(struct) * x)(1.0))
    message = raised(lambda: jax.jit(lambda x: jax.lax.sin(struct) * x)(1.0))
    return jaxpr, str(message).splitlines()[0]


# --- device and backend -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:backend and device argument")
@same_as_jax
def test_a_device_or_a_backend_of_the_jit_is_taken_with_a_warning(jax, jnp):
    [device, *_] = jax.devices()
    place = jax.sharding.SingleDeviceSharding(device)

    def double(x):
        return x * 2

    out = [jax.jit(double, **where)(3.0) for where in ({"device": device}, {"backend": "cpu"})]
    told = [warned(lambda: jax.jit(double, device=device)), warned(lambda: jax.jit(backend="cpu")(double))]
    refused = [
        raised(lambda: jax.jit(double, device=device, backend="cpu")),
        raised(lambda: jax.jit(double, backend="cpu", in_shardings=place)),
        raised(lambda: jax.jit(double, device=device, out_shardings=place)),
        raised(lambda: jax.jit(double, backend="abacus")(1.0)),
    ]
    jaxpr = str(jax.make_jaxpr(jax.jit(double, device=device))(1.0))
    return out, [x.committed for x in out], [[str(text)[:60] for text in texts] for texts in told], refused, jaxpr


@pytest.mark.filterwarnings("ignore:backend and device argument")
def test_what_is_no_device_is_refused():
    with pytest.raises(TypeError, match="jit's device should be a device, got 'cpu'"):
        jk.jit(lambda x: x, device="cpu")
