"""Pitfalls that tutorials on `jit` warn of: impure functions, state, shapes that depend on values, needless recompilation. Each
program prints, returns, raises and counts the same with jitkit and with JAX.
"""

from __future__ import annotations

import contextlib
import functools
import io
import operator
import re

import numpy as np
from twin import raised, same_as_jax, words


def printed(program, *args):
    """Return what a program prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        program(*args)
    return words(out.getvalue())


def jaxpr_of(jax, f, *args, **options):
    """Return the jaxpr as text."""
    return str(jax.make_jaxpr(f, **options)(*args))


# --- impure functions ------------------------------------------------------------------------------------------------


@same_as_jax
def test_a_print_is_seen_once_for_each_type(jax, jnp):
    @jax.jit
    def area(r):
        print("tracing area of", r)
        return jnp.pi * r**2

    def program():
        for r in (1.0, 2.0, 3, np.float32(4), jnp.ones(2), jnp.zeros(2), [1.0][0]):
            print(area(r))

    return printed(program), area._cache_size()


@same_as_jax
def test_a_global_is_seen_again_only_by_a_new_shape(jax, jnp):
    rate = 0.5

    @jax.jit
    def decay(x):
        return x * rate

    seen = [decay(jnp.ones(1))]
    rate = 0.25
    seen += [decay(jnp.ones(1)), decay(jnp.ones(2)), decay(jnp.ones(1))]
    decay.clear_cache()
    return [*seen, decay(jnp.ones(1)), decay._cache_size()]


@same_as_jax
def test_a_closed_over_array_is_not_looked_at_again(jax, jnp):
    settings = {"shift": jnp.arange(3.0)}
    f = jax.jit(lambda x: x + settings["shift"])
    before = f(1.0)
    settings["shift"] = jnp.full(3, 100.0)
    return before, f(1.0), f(jnp.float32(1))


@same_as_jax
def test_a_list_of_intermediate_results_holds_tracers(jax, jnp):
    history = []

    @jax.jit
    def step(x):
        y = jnp.cos(x)
        history.append(y)
        return y

    x = step(step(jnp.float32(1.0)))
    kinds = [type(y).__name__ in ("JitTracer", "DynamicJaxprTracer") for y in history]
    later = [raised(lambda: history[0] + 1), raised(lambda: jax.jit(lambda z: z + history[0])(1.0))]
    return (float(x), len(history), kinds, history[0].shape, [(kind, text.split(".")[0]) for kind, text in later])


@same_as_jax
def test_results_are_collected_by_returning_them(jax, jnp):
    @jax.jit
    def steps(x):
        history = []
        for _ in range(3):
            x = jnp.cos(x)
            history.append(x)
        return history

    return steps(1.0), jnp.stack(steps(1.0))


@same_as_jax
def test_an_iterator_is_read_while_tracing(jax, jnp):
    numbers = iter(range(10))
    f = jax.jit(lambda x: x + next(numbers))
    looped = jax.lax.fori_loop(0, 10, lambda i, x: x + next(iter(range(10))), 0)
    return f(0), f(0), f(0.0), looped, next(numbers)


@same_as_jax
def test_a_counter_in_an_object_counts_traces(jax, jnp):
    class Counter:
        def __init__(self):
            self.n = 0

        def count(self):
            self.n += 1
            return self.n

    counter = Counter()
    fast = jax.jit(counter.count)
    return [int(fast()) for _ in range(3)], counter.n, [counter.count() for _ in range(2)]


@same_as_jax
def test_state_is_passed_in_and_returned(jax, jnp):
    @jax.jit
    def count(state):
        return state["n"], {**state, "n": state["n"] + state["by"]}

    state, seen = {"n": 0, "by": 2}, []
    for _ in range(3):
        value, state = count(state)
        seen.append(int(value))
    return seen, state, count._cache_size()


@same_as_jax
def test_an_exception_leaves_what_was_done_before(jax, jnp):
    log = []

    @jax.jit
    def f(x):
        log.append("begun")
        if x.ndim > 1:
            raise ValueError(f"rank {x.ndim} is too much")
        return x.sum()

    return raised(f, jnp.ones((2, 2))), f(jnp.ones(2)), f(jnp.ones(2)), log


# --- static, traced, and what Python decides -------------------------------------------------------------------------


@same_as_jax
def test_a_static_mode_chooses_the_program(jax, jnp):
    traces = []

    @functools.partial(jax.jit, static_argnames=("mode", "n"))
    def norm(x, mode="l2", *, n=1):
        traces.append((mode, n))
        if mode == "l1":
            return n * jnp.abs(x).sum()
        return n * jnp.sqrt((x**2).sum())

    x = jnp.array([3.0, -4.0])
    calls = [norm(x), norm(x, "l2"), norm(x, mode="l1"), norm(x, "l1", n=2), norm(x, mode="l1")]
    return calls, traces, norm._cache_size(), raised(norm, x, ["l1"])


@same_as_jax
def test_ones_of_a_traced_length_and_of_a_static_one(jax, jnp):
    def ones(n):
        return jnp.ones((n,)) * 2

    static = jax.jit(ones, static_argnums=0)
    return raised(jax.jit(ones), 3), static(3), static(4), static(3), static._cache_size()


@same_as_jax
def test_random_lengths_compile_anew(jax, jnp):
    traces = []

    @jax.jit
    def total(x):
        traces.append(x.shape)
        return (x * x).sum()

    lengths = [3, 5, 3, 8, 5, 2]
    padded = jax.jit(lambda x, n: jnp.where(jnp.arange(8) < n, x * x, 0).sum())
    exact = [total(jnp.arange(n, dtype="float32")) for n in lengths]
    filled = [padded(jnp.pad(jnp.arange(n, dtype="float32"), (0, 8 - n)), n) for n in lengths]
    return exact, filled, traces, total._cache_size(), padded._cache_size()


@same_as_jax
def test_a_boolean_mask_is_refused_and_where_is_not(jax, jnp):
    def positives(x):
        return x[x > 0]

    def sum_of_positives(x):
        return jnp.where(x > 0, x, 0).sum()

    x = jnp.array([-1.0, 2.0, -3.0, 4.0])
    return (
        positives(x),
        raised(jax.jit(positives), x),
        positives(x).sum(),
        jax.jit(sum_of_positives)(x),
        jax.jit(lambda x: jnp.nonzero(x > 0, size=3, fill_value=-1))(x),
        jaxpr_of(jax, sum_of_positives, x),
    )


@same_as_jax
def test_a_shape_is_known_and_a_value_is_not(jax, jnp):
    def flat(x):
        return x.reshape(jnp.array(x.shape).prod())

    def flat_by_numpy(x):
        return x.reshape(np.prod(x.shape))

    x = jnp.ones((2, 3))
    return (
        raised(jax.jit(flat), x),
        jax.jit(flat_by_numpy)(x),
        jax.jit(lambda x: x.shape[0] * x.size + x.ndim + len(x))(x),
        raised(jax.jit(lambda x: [0] * x.astype(int)[0, 0]), x),
    )


@same_as_jax
def test_numpy_in_a_traced_function_sees_constants_only(jax, jnp):
    def f(x):
        table = np.sin(np.arange(3.0))  # a constant
        return x + table.astype(np.float32)

    return jax.jit(f)(1.0), jaxpr_of(jax, f, 1.0), raised(jax.jit(lambda x: np.sin(x)), 1.0)


@same_as_jax
def test_short_circuits_and_chains_ask_for_a_value(jax, jnp):
    programs = [
        lambda x: x > 0 and x < 1,
        lambda x: 0 < x < 1,
        lambda x: x or 1.0,
        lambda x: max(x, 0),
        lambda x: any([x > 1, x > 2]),
        lambda x: not x,
        lambda x: assert_positive(x),
        lambda x: list(range(x)),
    ]

    def assert_positive(x):
        assert x > 0
        return x

    rewritten = jax.jit(lambda x: ((x > 0) & (x < 1), jnp.logical_not(x > 0), jnp.maximum(x, 0)))
    return [raised(jax.jit(p), 0.5) for p in programs], rewritten(0.5)


# --- methods ---------------------------------------------------------------------------------------------------------


@same_as_jax
def test_a_method_needs_its_self_to_be_static_or_a_tree(jax, jnp):
    class Scale:
        def __init__(self, factor, on):
            self.factor, self.on = factor, on

        def apply(self, x):
            return self.factor * x if self.on else x

    scale = Scale(2.0, True)
    refused = raised(jax.jit(Scale.apply), scale, 3.0)
    static = jax.jit(Scale.apply, static_argnums=0)
    seen = [static(scale, 3.0)]
    scale.on = False  # `jit` does not notice: it is the same object, with the same hash
    seen.append(static(scale, 3.0))
    return (refused[0], re.sub(r"<class '.*?Scale'>", "Scale", refused[1])), seen, static._cache_size()


@same_as_jax
def test_equal_objects_share_a_program(jax, jnp):
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def __hash__(self):
            return hash(self.factor)

        def __eq__(self, other):
            return self.factor == other.factor

        @functools.partial(jax.jit, static_argnums=0)
        def apply(self, x):
            traces.append(self.factor)
            return self.factor * x

    traces = []
    return [Scale(f).apply(3.0) for f in (2.0, 2.0, 5.0, 2.0)], traces, Scale.apply._cache_size()


@same_as_jax
def test_a_registered_class_is_traced_like_any_container(jax, jnp):
    class Scale:
        def __init__(self, factor, on):
            self.factor, self.on = factor, on

        @jax.jit
        def apply(self, x):
            traces.append(self.on)
            return self.factor * x if self.on else x

    traces = []
    jax.tree_util.register_pytree_node(Scale, lambda s: ((s.factor,), s.on), lambda on, children: Scale(*children, on))
    calls = [(2.0, True), (3.0, True), (3.0, False), (3, True)]
    return [Scale(*c).apply(4.0) for c in calls], traces, jax.tree.leaves(Scale(2.0, True))


# --- where jit is called ---------------------------------------------------------------------------------------------


@same_as_jax
def test_jit_of_a_new_lambda_each_time_compiles_each_time(jax, jnp):
    traces = []

    def make(k):
        return jax.jit(lambda x: traces.append(k) or x + 1)

    kept = make("kept")
    return [float(make(i)(1.0)) for i in range(3)], [float(kept(1.0)) for _ in range(3)], traces


@same_as_jax
def test_only_the_loop_body_may_be_jitted_when_the_count_is_a_value(jax, jnp):
    body = jax.jit(lambda i: i * 2 + 1)

    def looped(x, n):
        i = x
        while i < n:
            i = body(i)
        return i

    static = jax.jit(looped, static_argnames=("x", "n"))  # within a trace, `body` returns a tracer
    return looped(1, 50), body._cache_size(), raised(jax.jit(looped), 1, 50), raised(static, 1, 50)


@same_as_jax
def test_types_that_change_compile_anew(jax, jnp):
    traces = []

    @jax.jit
    def f(x):
        traces.append(str(jax.typeof(x)))
        return x + 1

    for x in (1, 2, 1.0, True, 1j, np.int32(1), np.float64(1), np.int8(1), jnp.int32(1), jnp.array([1])):
        f(x)
    return traces, f._cache_size()


@same_as_jax
def test_containers_are_part_of_the_type(jax, jnp):
    traces = []

    @jax.jit
    def f(tree):
        traces.append(type(tree).__name__)
        return jax.tree.map(lambda x: x + 1, tree)

    results = [f((1, 2)), f([1, 2]), f({"a": 1}), f({"b": 1}), f({"a": 1}), f((1, None)), f(None), f(())]
    return results, traces, f._cache_size()


# --- what XLA makes of it --------------------------------------------------------------------------------------------


@same_as_jax
def test_a_thousand_products_that_nobody_needs_are_dropped_by_xla(jax, jnp):
    def wasteful(x):
        for _ in range(1000):
            x * x
        return x + 1

    x = jnp.ones(4)
    jaxpr = jax.make_jaxpr(wasteful)(x)
    optimised = jax.jit(wasteful).lower(x).compile().as_text()
    return (
        [eqn.primitive.name for eqn in jaxpr.jaxpr.eqns].count("mul"),
        optimised.count("multiply"),
        jax.jit(wasteful)(x),
    )


@same_as_jax
def test_a_loop_stays_one_equation_where_python_unrolls(jax, jnp):
    def unrolled(x):
        for _ in range(1000):
            x = x * 1.001
        return x

    def looped(x):
        return jax.lax.fori_loop(0, 1000, lambda i, x: x * 1.001, x)

    counts = [len(jax.make_jaxpr(f)(1.0).jaxpr.eqns) for f in (unrolled, looped)]
    lines = [jax.jit(f).lower(1.0).as_text().count("stablehlo.multiply") for f in (unrolled, looped)]
    return counts, lines, jax.jit(looped)(1.0), jaxpr_of(jax, looped, 1.0)


@same_as_jax
def test_adding_and_subtracting_again_rounds_eagerly_and_jitted(jax, jnp):
    def f(x, y):
        return x + y - x

    x, y = jnp.float32(1e8), jnp.float32(1.5)
    big, small = jnp.float32(3e38), jnp.float32(3e38)
    return f(x, y), jax.jit(f)(x, y), f(big, small), jax.jit(f)(big, small), jaxpr_of(jax, f, x, y)


@same_as_jax
def test_constants_are_folded_by_xla_and_not_by_the_tracer(jax, jnp):
    def f(x):
        return x + jnp.sin(0.0) * jnp.arange(3.0).sum()

    text = jax.jit(f).lower(1.0).compile().as_text()
    return jaxpr_of(jax, f, 1.0), "sine(" in text, jax.jit(f)(1.0)


# --- indices ---------------------------------------------------------------------------------------------------------


@same_as_jax
def test_reads_beyond_the_end_are_clamped_and_writes_are_dropped(jax, jnp):
    x = jnp.arange(5.0)

    @jax.jit
    def read(i):
        return x[i], x.at[i].get(mode="fill", fill_value=-1.0), x.at[i].get(mode="clip")

    @jax.jit
    def write(i):
        return x.at[i].set(9.0), x.at[i].add(1.0), x.at[i].multiply(2.0, mode="clip")

    places = [0, 4, 5, 100, -1, -5, -6]
    return [read(i) for i in places], [write(i) for i in places], raised(lambda: np.arange(5.0)[100])


@same_as_jax
def test_repeated_places_of_an_update(jax, jnp):
    i = jnp.array([0, 1, 1, 2, 1])
    counts = jnp.zeros(4, int).at[i].add(1)
    table = jnp.zeros((2, 3)).at[:, jnp.array([0, 2])].set(jnp.array([[1.0], [2.0]]))
    return counts, table, jnp.ones(4).at[i].multiply(2), jnp.zeros(3).at[i].max(jnp.arange(5.0))


@same_as_jax
def test_arrays_are_immutable(jax, jnp):
    x = jnp.zeros(3)

    def assign():
        x[0] = 1.0

    y = x
    y += 1  # makes a new array, and leaves the old one unchanged
    return raised(assign), x, y, raised(lambda: operator.delitem(x, 0))


# --- randomness ------------------------------------------------------------------------------------------------------


@same_as_jax
def test_a_key_gives_the_same_numbers_every_time(jax, jnp):
    key = jax.random.key(42)
    a, b = jax.random.split(key)
    draws = [jax.random.normal(k, (2,)) for k in (key, key, a, b)]
    jitted = jax.jit(lambda k: jax.random.uniform(k, (3,)))
    return draws, jitted(a), jitted(a), jax.random.uniform(a, (3,)), jax.random.key_data(b)


@same_as_jax
def test_old_keys_are_arrays_of_two_words(jax, jnp):
    key = jax.random.PRNGKey(0)
    keys = jax.random.split(key, 3)
    return key, keys, [jax.random.normal(k) for k in keys], jax.random.fold_in(key, 7), key.dtype == "uint32"


@same_as_jax
def test_a_key_is_carried_through_a_loop(jax, jnp):
    def step(key, _):
        key, used = jax.random.split(key)
        return key, jax.random.uniform(used)

    @jax.jit
    def draws(key):
        return jax.lax.scan(step, key, length=4)[1]

    return draws(jax.random.key(1)), draws(jax.random.PRNGKey(1))


# --- the stages, as the documentation walks through them --------------------------------------------------------------


@same_as_jax
def test_a_program_of_scalars_is_lowered_to_the_same_text(jax, jnp):
    programs = [
        (lambda x, y: 2 * x + y, (3, 4)),
        (lambda x: jnp.sin(x) * 2.5 + 3.5, (1.0,)),
        (lambda n, x: (n + 7, x > 0.5, n == 9), (1, 2.0)),
    ]
    texts = [jax.jit(f).lower(*args).as_text() for f, args in programs]
    return [text.replace("jit__lambda_", "jit__lambda") for text in texts]
