"""The programs of JAX's tutorial on `jit`, and the mistakes that it and its sisters warn of: what they print, return and raise."""

from __future__ import annotations

import contextlib
import functools
import io

import jax as real_jax
import numpy as np
import pytest
from twin import JAX_VERSION, OURS, THEIRS, raised, same_as_jax, words

import jitkit


@same_as_jax
def test_the_jaxpr_of_log2_has_its_constants_inside(jax, jnp):
    global_list = []

    def log2(x):
        global_list.append(x)
        return jnp.log(x) / jnp.log(2.0)

    return str(jax.make_jaxpr(log2)(3.0)), len(global_list)


@same_as_jax
def test_a_print_in_a_traced_function_shows_a_tracer_once(jax, jnp):
    def log2_with_print(x):
        print("printed x:", x)
        return jnp.log(x) / jnp.log(2.0)

    with contextlib.redirect_stdout(io.StringIO()) as out:
        jaxpr = jax.make_jaxpr(log2_with_print)(3.0)
        jitted = jax.jit(log2_with_print)
        results = [float(jitted(8.0)), float(jitted(4.0))]
    return str(jaxpr), words(out.getvalue()), results


@same_as_jax
def test_a_condition_on_the_rank_is_decided_while_tracing(jax, jnp):
    def log2_if_rank_2(x):
        if x.ndim == 2:
            return jnp.log(x) / jnp.log(2.0)
        return x

    vector, matrix = jnp.array([1, 2, 3]), jnp.ones((2, 2))
    return str(jax.make_jaxpr(log2_if_rank_2)(vector)), str(jax.make_jaxpr(log2_if_rank_2)(matrix))


@same_as_jax
def test_selu_is_the_same_number_by_number(jax, jnp):
    def selu(x, alpha=1.67, lambda_=1.05):
        return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    x = jnp.arange(100.0) - 50
    return str(jax.make_jaxpr(selu)(x)), str(jax.make_jaxpr(jax.jit(selu))(x)), jax.jit(selu)(x)


@same_as_jax
def test_a_condition_on_a_value_is_refused(jax, jnp):
    def f(x):
        if x > 0:
            return x
        return 2 * x

    return raised(jax.jit(f), 10)


@same_as_jax
def test_a_loop_on_a_value_is_refused(jax, jnp):
    @jax.jit
    def g(x, n):
        i = 0
        while i < n:
            i += 1
        return x + i

    return raised(g, 10, 20)


@same_as_jax
def test_a_static_argument_may_decide(jax, jnp):
    log = []

    def f(x):
        log.append(x)
        return x if x > 0 else 2 * x

    def g(x, n):
        log.append(n)
        i = 0
        while i < n:
            i += 1
        return x + i

    f_jitted = jax.jit(f, static_argnums=0)
    g_numbered = jax.jit(g, static_argnums=1)
    g_named = jax.jit(g, static_argnames=["n"])

    @functools.partial(jax.jit, static_argnames=["n"])
    def g_decorated(x, n):
        return g(x, n)

    results = [f_jitted(10), f_jitted(-10), f_jitted(10), g_numbered(10, 20), g_named(10, n=20), g_named(10, 20)]
    return (
        results,
        g_decorated(10, 20),
        log,
        [f_jitted._cache_size(), g_numbered._cache_size(), g_named._cache_size()],
    )


@same_as_jax
def test_a_function_made_anew_in_a_loop_is_compiled_anew(jax, jnp):
    log = []

    def body(x):
        log.append("traced")
        return x * 2 + 1

    for make in (lambda: lambda v: body(v), lambda: functools.partial(body), lambda: body):
        i = jnp.float32(0)
        for _ in range(5):
            i = jax.jit(make())(i)
        log.append(float(i))
    return log


@same_as_jax
def test_globals_are_captured_when_the_function_is_traced(jax, jnp):
    scale = [1.0]
    f = jax.jit(lambda x: x + scale[0])
    seen = [float(f(4.0))]
    scale[0] = 10.0
    seen.append(float(f(5.0)))
    return seen, f(jnp.array([4.0]))


@same_as_jax
def test_a_thousand_useless_multiplications_are_in_the_jaxpr(jax, jnp):
    def f(x):
        for _ in range(1000):
            y = x @ x
        del y
        return x + 1

    jaxpr = jax.make_jaxpr(f)(jnp.ones((8, 8)))
    optimised = jax.jit(f).lower(jnp.ones((8, 8))).compile().as_text()
    return len(jaxpr.jaxpr.eqns), optimised.count(" dot("), jax.jit(f)(jnp.ones((2, 2)))


@same_as_jax
def test_a_network_of_dictionaries_is_one_argument(jax, jnp):
    def predict(params, x):
        for layer in params[:-1]:
            x = jnp.maximum(x @ layer["w"] + layer["b"], 0)
        return x @ params[-1]["w"] + params[-1]["b"]

    params = [{"w": jnp.full((3, 4), 0.1), "b": jnp.zeros(4)}, {"w": jnp.full((4, 2), -0.2), "b": jnp.ones(2)}]
    x = jnp.arange(6.0).reshape(2, 3)
    return (jax.jit(predict)(params, x), str(jax.make_jaxpr(predict)(params, x)), jax.jit(predict)(params, x[:1]))


@same_as_jax
def test_out_of_bounds_reads_clamp_and_writes_vanish(jax, jnp):
    x = jnp.arange(10)
    return x[11], x.at[11].add(23), x[jnp.array([0, 20, -1])], x.at[-1].set(5)


@same_as_jax
def test_indexing_a_closed_over_table_is_recorded(jax, jnp):
    table = jnp.arange(12.0).reshape(3, 4)

    def f(i):
        return table[i], table * i, table.at[i].set(0.0)

    return str(jax.make_jaxpr(f)(2)), jax.jit(f)(2)


# --- mistakes -----------------------------------------------------------------------------------------------

MISTAKES = {
    "int": lambda jnp, np: lambda x: int(x[0]),
    "float": lambda jnp, np: lambda x: float(x[0]),
    "complex": lambda jnp, np: lambda x: complex(x[0]),
    "bool": lambda jnp, np: lambda x: bool(x[0]),
    "bool of several": lambda jnp, np: lambda x: bool(x),
    "and": lambda jnp, np: lambda x: x[0] > 0 and x[1] > 0,
    "not": lambda jnp, np: lambda x: not x[0],
    "while": lambda jnp, np: lambda x: [None for _ in iter(lambda: bool(x[0] < 0), True)],
    "range": lambda jnp, np: lambda x: list(range(x.astype(int)[0])),
    "index of a list": lambda jnp, np: lambda x: [1, 2, 3][x.astype(int)[0]],
    "numpy": lambda jnp, np: lambda x: np.sin(x),
    "asarray": lambda jnp, np: lambda x: np.asarray(x),
    "tolist": lambda jnp, np: lambda x: x.tolist(),
    "item": lambda jnp, np: lambda x: x[0].item(),
    "a shape": lambda jnp, np: lambda x: jnp.zeros(x.astype(int)[0]),
    "a reshape": lambda jnp, np: lambda x: x.reshape(x.astype(int)[0], 1),
    "arange": lambda jnp, np: lambda x: jnp.arange(x[0]),
    "a boolean mask": lambda jnp, np: lambda x: x[x > 0],
    "nonzero": lambda jnp, np: lambda x: jnp.nonzero(x),
    "a slice": lambda jnp, np: lambda x: x[: x.astype(int)[0]],
    "item assignment": lambda jnp, np: lambda x: x.__setitem__(0, 1.0),
    "shapes": lambda jnp, np: lambda x: x + jnp.ones(4),
    "matrix shapes": lambda jnp, np: lambda x: x @ jnp.ones((4, 2)),
    "concatenation": lambda jnp, np: lambda x: jnp.concatenate([x, jnp.ones((2, 2))]),
    "a list": lambda jnp, np: lambda x: jnp.sin([1, 2]),
    "plus a list": lambda jnp, np: lambda x: x + [1, 2, 3],
    "hash": lambda jnp, np: lambda x: {x: 1},
    "attribute": lambda jnp, np: lambda x: x.nothing,
    "iteration over a scalar": lambda jnp, np: lambda x: list(x[0]),
    "len of a scalar": lambda jnp, np: lambda x: len(x[0]),
    "a string result": lambda jnp, np: lambda x: "text",
    "a string deep in the result": lambda jnp, np: lambda x: {"a": [x, "text"]},
    "too many indices": lambda jnp, np: lambda x: x[0, 0, 0],
    "a float index": lambda jnp, np: lambda x: x[1.5],
    "a format": lambda jnp, np: lambda x: f"{x[0]:.2f}",
    "unpacking": lambda jnp, np: lambda x: [a for a, b in [x]],
    "an axis": lambda jnp, np: lambda x: jnp.sum(x, axis=3),
    "a dtype": lambda jnp, np: lambda x: x.astype("text"),
    "bits of a float": lambda jnp, np: lambda x: x & 1,
    "a missing argument": lambda jnp, np: lambda x, y: x,
}


# Messages of JAX 0.10, which jitkit uses, and which later versions word differently.
REWORDED = {"a slice": "Array slice indices must have static start/stop/step to be used with NumPy indexing syntax."}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_jax_s_error(mistake):
    def outcome(jax, jnp):
        f = MISTAKES[mistake](jnp, np)
        f.__name__ = f.__qualname__ = "f"
        return raised(jax.jit(f), jnp.array([1.0, 2.0, 3.0]))

    ours, theirs = outcome(*OURS), outcome(*THEIRS)
    if mistake in REWORDED and real_jax.__version_info__ >= (0, 11):
        assert ours[0] == theirs[0]
        assert theirs[1].startswith(REWORDED[mistake])
    else:
        assert ours == theirs


@pytest.mark.parametrize(
    "argument",
    [
        "text",
        object(),
        {1, 2},
        {"a": [1, object()]},
        np.array(["a"]),
        np.array([object()]),
        2**40,
        b"bytes",
        range(3),
        len,
        1 << 80,
    ],
    ids=lambda x: type(x).__name__,
)
def test_an_argument_that_is_no_array_is_named_by_its_path(argument):
    def outcome(jax, jnp):
        def f(x, *rest):
            return x

        return raised(jax.jit(f), argument), raised(jax.jit(f), 1, argument)

    assert outcome(*OURS) == outcome(*THEIRS)


def message_of(function, *args):
    """Return the whole text of what a call raises."""
    with pytest.raises(Exception) as caught:
        function(*args)
    return str(caught.value)


def test_a_refused_condition_names_function_file_line_and_argument():
    def is_positive(x, y):
        if x["a"][0] + 1 > 0:
            return y
        return x

    line = is_positive.__code__.co_firstlineno
    text = message_of(jitkit.jit(is_positive), {"a": [1.0]}, 2.0)
    assert f"is_positive at {__file__}:{line} for jit" in text
    assert "depends on the value of the argument x['a'][0]." in text
    assert "jnp.where" in text
    assert "static_argnames" not in text, "a dict cannot be static"
    text = message_of(jitkit.jit(lambda n, x: x if n > 0 else -x), 3, 2.0)
    assert "depends on the value of the argument n." in text
    assert "static_argnames='n'" in text


def test_a_traceback_ends_in_the_user_s_line_and_shows_none_of_ours():
    def f(x):
        return int(x)

    with pytest.raises(TypeError) as caught:
        jitkit.jit(f)(1.0)
    files = [
        entry.path.__fspath__() if hasattr(entry.path, "__fspath__") else str(entry.path) for entry in caught.traceback
    ]
    assert files[-1] == __file__
    assert all("jitkit/jitkit" not in file and "/jitkit/pjit" not in file for file in files)


def test_numpy_of_jax_on_our_tracer_says_what_to_import():
    def f(x):
        return real_jax.numpy.sin(x)

    with pytest.raises(TypeError) as caught:
        jitkit.jit(f)(1.0)
    shown = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert "Change its import to `import jitkit as real_jax`" in shown


@same_as_jax
def test_debug_nans_names_the_operation(jax, jnp):
    def f(x):
        return jnp.sqrt(x) + 1

    def looped(x):
        return jax.lax.scan(lambda c, _: (jnp.log(c), None), x, length=2)[0]

    nested = jax.jit(lambda x: jax.jit(lambda y: jax.lax.log(y))(x) * 2)
    x, zero = jnp.float32(-1), jnp.zeros(2)
    calls = [
        lambda: jnp.log(x),
        lambda: jax.jit(f)(x),
        lambda: zero / zero,
        lambda: jax.jit(lambda x: x / x)(zero),
        lambda: jax.jit(lambda x: x / x)(0.0),
        lambda: jax.lax.log(x),
        lambda: nested(x),
        lambda: looped(x),
        lambda: jax.jit(looped)(x),
    ]
    seen = []
    with jax.debug_nans(True):
        for call in calls:
            with contextlib.redirect_stdout(io.StringIO()) as out:  # it prints when it looks the operation up
                seen.append(raised(call))
            seen.append(out.getvalue())
        return seen, jax.jit(f)(4.0), jax.jit(lambda x: jnp.where(x > 0, jnp.log(x), 0.0))(x)


OF_THIS_VERSION = pytest.mark.skipif(
    JAX_VERSION >= (0, 12), reason="needs jax < 0.12, whose infinities and last bits these are"
)


@pytest.mark.parametrize(
    "call",
    [
        lambda jax, jnp, x: 1 / x,
        lambda jax, jnp, x: jax.jit(lambda x: 1 / x)(x),
        lambda jax, jnp, x: jax.jit(lambda x: jnp.log(x) * 0)(x),  # the result is nan
        lambda jax, jnp, x: jax.grad(jnp.sqrt)(0.0),
        lambda jax, jnp, x: jax.jit(jax.grad(jnp.sqrt))(0.0),
        lambda jax, jnp, x: jax.grad(jax.jit(lambda y: jnp.sqrt(y) * 2))(0.0),
        lambda jax, jnp, x: jax.vmap(jnp.log)(x),
        lambda jax, jnp, x: [jnp.max(x), jnp.max(x, initial=-jnp.inf), jax.nn.softmax(x), jax.nn.logsumexp(x)],
        lambda jax, jnp, x: jax.vmap(jax.nn.softmax)(x[None]),
        pytest.param(lambda jax, jnp, x: jax.grad(jax.nn.logsumexp)(x), marks=OF_THIS_VERSION),
        lambda jax, jnp, x: [jnp.isinf(x), jnp.sort(x), jnp.median(x), jax.lax.cummax(x)],
        lambda jax, jnp, x: jax.vmap(lambda k: jax.random.normal(k, (3,)))(jax.random.split(jax.random.key(0))),
        lambda jax, jnp, x: jnp.where(x > 0, jnp.log(x), 0.0),
        lambda jax, jnp, x: jax.vmap(lambda x: jnp.where(x > 0, x, -jnp.inf))(x),
        lambda jax, jnp, x: jax.lax.fori_loop(0, 2, lambda i, c: c / 0.0, 1.0),
        pytest.param(lambda jax, jnp, x: jax.scipy.special.ndtri(jnp.array([0.25, 0.5])), marks=OF_THIS_VERSION),
        lambda jax, jnp, x: jnp.exp(1000.0),
    ],
)
@same_as_jax
def test_debug_infs_names_the_operation(jax, jnp, call):
    with jax.debug_infs(True), contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            found = call(jax, jnp, jnp.array([1.0, 0.0]))
        except FloatingPointError as error:
            found = str(error)
    return found, bool(out.getvalue())


def test_an_infinity_that_no_operation_makes_is_found_too():
    with jitkit.debug_infs(), pytest.raises(FloatingPointError, match=r"\(inf\)(.|\n)*may be an argument"):
        jitkit.jit(lambda x: x * np.inf)(2.0)
    with jitkit.debug_infs(), pytest.raises(FloatingPointError):
        jitkit.scipy.special.ndtri(jitkit.numpy.zeros(1))


@same_as_jax
def test_numbers_that_do_not_fit_are_refused(jax, jnp):
    x = jnp.arange(3)
    x + 1  # compiles the sum with an int beforehand
    return [
        raised(lambda: jax.jit(lambda x: (x * 2**31, x < 2**31))(x)),
        raised(lambda: jnp.array(300, dtype="uint8")),
        raised(lambda: jnp.uint8(-1)),
        raised(lambda: jnp.array(float("nan"), dtype=int)),
        raised(lambda: jnp.array(1e20, dtype=int)),
    ]


@same_as_jax
def test_what_depends_on_a_traced_value_waits_for_it(jax, jnp):
    def f(x):
        with jax.ensure_compile_time_eval():
            n = jnp.arange(3).sum()
            return x + int(n), x * 2

    return jax.jit(f)(1.0), str(jax.make_jaxpr(f)(1.0))


@same_as_jax
def test_a_numpy_constant_is_read_when_it_is_lowered(jax, jnp):
    constant = np.ones(100_000, np.float32)
    lowered = jax.jit(lambda x: x + constant).lower(1.0)
    constant[:] = 9
    return lowered.compile()(1.0)[0]


@same_as_jax
def test_a_buffer_may_be_donated_to_a_result_of_the_same_size(jax, jnp):
    x = jnp.ones(2)
    jax.jit(lambda x: x.astype("int32"), donate_argnums=0)(x)
    return x.is_deleted(), bytes(jnp.arange(3)), [int(i) for i in jnp.arange(3)], list(jnp.ones((2, 2)))


@same_as_jax
def test_library_functions_name_the_argument_that_is_no_array(jax, jnp):
    return [
        raised(lambda: jnp.sin("a")),
        raised(lambda: jax.jit(lambda x: jnp.sin("a") + x)(1.0)),
        raised(lambda: jax.device_put("a")),
    ]
