"""vmap beside JAX's: axes, trees, nests, jit inside and outside, collectives over named axes, errors, and what it costs."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import wording
from batching_oracle import assert_same_batches, mapped
from twin import OURS, THEIRS, difference, plain, raised, same_as_jax

import jitkit
import jitkit.numpy as jnp
from jitkit import lax

ROWS = np.arange(9, dtype=np.float32).reshape(3, 3) + 0.5
TABLE = np.arange(12, dtype=np.float32).reshape(3, 4) + 0.5
TWO, THREE, FOUR = (np.arange(n, dtype=np.int32) for n in (2, 3, 4))

# --- axes, trees, nests -----------------------------------------------------------------------------------------------------


def test_axes_are_taken_from_where_they_are_and_put_where_they_are_wanted():
    programs = {
        "first": lambda jax, jnp, x: jax.vmap(lambda v: jnp.sin(v) * v.sum())(x),
        "last in, last out": lambda jax, jnp, x: jax.vmap(lambda v: v * 2 + v.sum(), -1, -1)(x),
        "second in, first out": lambda jax, jnp, x: jax.vmap(lambda v: v[::2], 1)(x),
        "results that are no batches": lambda jax, jnp, x: jax.vmap(lambda v: (v, 3.0, np.ones(2)))(x),
        "left as they are": lambda jax, jnp, x: jax.vmap(lambda v: {"a": v, "b": 3.0}, 0, {"a": 0, "b": None})(x),
        "keywords": lambda jax, jnp, x: jax.vmap(lambda v, k: v + k, (None,))(x, k=x[0]),
        "a list of axes": lambda jax, jnp, x: jax.vmap(lambda v, k: v + k, [0, None])(x, x[0]),
        "trees": lambda jax, jnp, x: jax.vmap(lambda d, k: d["w"] + d["b"][0] * k, ({"w": 0, "b": None}, 1))(
            {"w": x, "b": (x[0],)}, x.T
        ),
        "None among arguments": lambda jax, jnp, x: jax.vmap(lambda v, k: (v, k))(x, None),
        "a text beside": lambda jax, jnp, x: jax.vmap(lambda v, k: v if k == "yes" else -v, (0, None))(x, "yes"),
        "no argument": lambda jax, jnp, x: jax.vmap(lambda: 1.0, axis_size=3)(),
        "no batch": lambda jax, jnp, x: jax.vmap(lambda v: v + 1, None, axis_size=2)(x),
        "no elements": lambda jax, jnp, x: jax.vmap(lambda v: v.sum())(x[:0]),
        "two axes": lambda jax, jnp, x: jax.vmap(jax.vmap(lambda v: v * 2 + 1))(x),
        "two axes the other way": lambda jax, jnp, x: jax.vmap(jax.vmap(jnp.sin, out_axes=0), 1, 1)(x),
        "all pairs": lambda jax, jnp, x: jax.vmap(jax.vmap(lambda a, b: a * b, (0, None)), (None, 0))(x[0], x[1]),
        "closed over": lambda jax, jnp, x: jax.vmap(lambda v: jax.vmap(lambda u: u @ v)(x))(x),
        "an attribute of tracers": lambda jax, jnp, x: jax.vmap(lambda v: jnp.zeros(v.shape, v.dtype) + len(v))(x),
    }
    assert_same_batches(programs, TABLE)


def test_a_jitted_function_is_one_equation_and_batched_once():
    traces = []

    def f(jax):
        def function(v, w):
            traces.append(jax)
            return v * w + v.sum()

        return jax.jit(function)

    def program(jax, jnp, x):
        g = f(jax)
        return (
            jax.vmap(g)(x, x),
            jax.vmap(g)(x + 1, x),
            jax.vmap(jax.vmap(g, (None, 0)))(x, x[None, :, :, None] + x[:, None, :, None]),
        )

    assert_same_batches({"jit": lambda jax, jnp, x: program(jax, jnp, x)[:2]}, ROWS, check_values=False)
    assert_same_batches(
        {
            "in a loop": lambda jax, jnp, x: jax.vmap(
                lambda v: jax.lax.fori_loop(0, 3, lambda i, c: jax.jit(jnp.sin)(c) + i, v)
            )(x),
            "jit of vmap of jit": lambda jax, jnp, x: jax.jit(jax.vmap(jax.jit(lambda v: v @ v)))(x),
            "inline": lambda jax, jnp, x: jax.vmap(jax.jit(lambda v: v * 2, inline=True))(x),
            "static": lambda jax, jnp, x: jax.vmap(lambda v: jax.jit(lambda a, n: a**n, static_argnums=1)(v, 3))(x),
            "closed over": lambda jax, jnp, x: jax.vmap(lambda v: jax.jit(lambda: v + x[0])())(x),
        },
        ROWS,
    )


def test_a_nested_jit_is_traced_once_for_all_batches():
    traces = []

    @jitkit.jit
    def f(v):
        traces.append(v.shape)
        return jnp.sin(v)

    for batch in (ROWS, ROWS + 1, np.ones((5, 3), np.float32)):
        jitkit.vmap(f)(batch)
        jitkit.jit(jitkit.vmap(f))(batch)
    assert traces == [(3,)]


@same_as_jax
def test_without_jit_each_call_runs_the_function_once(jax, jnp):
    calls = []

    def f(v):
        calls.append(v)
        return v * 2

    results = jax.vmap(f)(ROWS), jax.vmap(f)(ROWS), jax.jit(jax.vmap(f))(ROWS)
    return len(calls), [type(call).__name__.replace("BatchTracer", "VmapTracer") for call in calls], results


@same_as_jax
def test_the_name_and_the_text_of_a_mapped_function(jax, jnp):
    def f(v):
        """Doubles."""
        return v * 2

    g = jax.vmap(f)
    return g.__name__, g.__doc__.split("\n"), g.__wrapped__ is f, jax.vmap(lambda v: v).__doc__


def test_a_miss_says_under_which_transformations_a_function_was_traced():
    @jitkit.jit
    def f(v):
        return v * 2

    jitkit.vmap(f)(ROWS)
    jitkit.grad(lambda x: jitkit.vmap(f, axis_name="i")(x).sum())(ROWS)
    first, second = jitkit.explain(f).misses
    assert (first.inside, first.happened) == ("vmap over 3 elements", "traced under vmap over 3 elements")
    assert second.inside == "vmap over 3 elements along 'i', grad or linearize"
    assert [d.sentence for d in second.differences] == ["the named axes around: none before, 'i' of 3 elements now"]


def test_a_tracer_shows_the_element_and_the_batch():
    seen = []
    jitkit.vmap(lambda v: seen.append((repr(v), v.shape, v.ndim, v.dtype.name, v.weak_type)) or v, 1)(TABLE)
    assert seen == [("VmapTracer(aval=float32[3], batched=float32[3,4])", (3,), 1, "float32", False)]


def test_a_batch_is_freed_with_its_trace():
    kept = []

    def f(v):
        kept.append(weakref.ref(v))
        return v * 2

    jitkit.vmap(f)(ROWS)
    gc.collect()
    assert kept[0]() is None


# --- named axes -------------------------------------------------------------------------------------------------------------

COLLECTIVES = {
    "psum": lambda jax, jnp, v: jax.lax.psum(v, "i"),
    "psum of what is known": lambda jax, jnp, v: v + jax.lax.psum(1, "i") + jax.lax.psum(np.ones(3), "i"),
    "psum of bools": lambda jax, jnp, v: jax.lax.psum(v > 2, "i"),
    "psum of a tree": lambda jax, jnp, v: jax.lax.psum({"a": v, "b": (v, 2)}, "i"),
    "pmean": lambda jax, jnp, v: v - jax.lax.pmean(v, "i"),
    "pmax": lambda jax, jnp, v: jax.lax.pmax(v, "i"),
    "pmin": lambda jax, jnp, v: jax.lax.pmin(v, "i") * v,
    "axis_index": lambda jax, jnp, v: v * jax.lax.axis_index("i"),
    "axis_size": lambda jax, jnp, v: v * jax.lax.axis_size("i"),
    "all_gather": lambda jax, jnp, v: jax.lax.all_gather(v, "i"),
    "all_gather behind": lambda jax, jnp, v: jax.lax.all_gather(v, "i", axis=-1),
    "all_gather tiled": lambda jax, jnp, v: jax.lax.all_gather(v, "i", tiled=True),
    "psum_scatter": lambda jax, jnp, v: jax.lax.psum_scatter(v, "i"),
    "psum_scatter tiled": lambda jax, jnp, v: jax.lax.psum_scatter(v, "i", tiled=True),
    "ppermute": lambda jax, jnp, v: jax.lax.ppermute(v, "i", [(0, 1), (1, 2), (2, 0)]),
    "pshuffle": lambda jax, jnp, v: jax.lax.pshuffle(v, "i", [1, 2, 0]),
    "all_to_all": lambda jax, jnp, v: jax.lax.all_to_all(jnp.stack([v, v + 1], 1), "i", 0, 1),
    "all_to_all tiled": lambda jax, jnp, v: jax.lax.all_to_all(v[None] * v[:, None], "i", 1, 0, tiled=True),
    "pswapaxes": lambda jax, jnp, v: jax.lax.pswapaxes(v, "i", 0),
    "in a jit": lambda jax, jnp, v: jax.jit(lambda v: jax.lax.psum(v, "i") * jax.lax.axis_index("i"))(v),
    "in a scan": lambda jax, jnp, v: jax.lax.scan(lambda c, x: (c + jax.lax.psum(x, "i"), x), v[0], v),
    "in a branch": lambda jax, jnp, v: jax.lax.cond(True, lambda v: jax.lax.pmax(v, "i"), lambda v: v, v),
}


def test_collectives_are_operations_along_the_batch_axis():
    programs = {}
    for name, program in COLLECTIVES.items():
        programs[name] = mapped(program, 0, axis_name="i")
        programs[f"{name} over the second axis"] = mapped(program, 1, axis_name="i")
        if name.startswith(("all_to_all", "pswapaxes")):  # over the second axis, JAX returns another shape
            continue
        programs[f"{name} of what is no batch"] = mapped(
            lambda jax, jnp, v, program=program: program(jax, jnp, ROWS[0] + 0 * jnp.float32(1)), 0, axis_name="i"
        )
    assert_same_batches(programs, ROWS)


@pytest.mark.parametrize("names", [("i", "j"), ("j", "i")])
def test_collectives_go_over_the_axis_of_their_name(names):
    outer, inner = names

    def nested(program):
        return lambda jax, jnp, x: jax.vmap(
            jax.vmap(lambda v: program(jax, jnp, v[None] + jnp.zeros(3)), axis_name=inner), axis_name=outer
        )(x)

    programs = {name: nested(program) for name, program in COLLECTIVES.items()}
    programs["over both"] = nested(lambda jax, jnp, v: jax.lax.psum(v, ("i", "j")) + jax.lax.axis_index(("i", "j")))
    assert_same_batches(programs, ROWS, check_values=False)


@same_as_jax
def test_a_jit_is_traced_anew_for_another_size_of_a_named_axis(jax, jnp):
    f = jax.jit(lambda v: v * jax.lax.psum(1, "i"))
    return [jax.vmap(f, axis_name="i")(jnp.ones(n)) for n in (3, 5, 3)]


@same_as_jax
def test_results_that_are_the_same_for_all_may_be_left_without_an_axis(jax, jnp):
    return jax.vmap(lambda v: jax.lax.psum(v, "i"), axis_name="i", out_axes=None)(ROWS)


def test_the_value_of_one_element_for_all():
    """(JAX's own rule fails: it passes a list to `take`.)"""
    taken = jitkit.vmap(lambda v: lax.pbroadcast(v, "i", 1), axis_name="i")(ROWS)
    np.testing.assert_array_equal(taken, ROWS[[1, 1, 1]])
    weights = np.arange(3, dtype=np.float32)
    gradient = jitkit.grad(
        lambda x: jitkit.vmap(lambda v, w: (lax.pbroadcast(v, "i", 1) * w).sum(), axis_name="i")(x, weights).sum()
    )(ROWS)
    np.testing.assert_array_equal(gradient, [[0, 0, 0], [3, 3, 3], [0, 0, 0]])


def test_all_to_all_over_two_axes_is_one_exchange():
    x = np.arange(2 * 3 * 6, dtype=np.float32).reshape(2, 3, 6)
    exchanged = jitkit.vmap(
        jitkit.vmap(lambda v: lax.all_to_all(v, ("i", "j"), 0, 0, tiled=True), axis_name="j"), axis_name="i"
    )(x)
    np.testing.assert_array_equal(exchanged, x.reshape(6, 6).T.reshape(2, 3, 6))


def test_a_permutation_has_a_pair_for_each_element():
    with pytest.raises(AssertionError, match=r"^Permutation doesn't match the axis size!\n.*'i' has 3 elements"):
        jitkit.vmap(lambda v: lax.ppermute(v, "i", [(0, 1)]), axis_name="i")(ROWS)


@pytest.mark.parametrize("collective", [lax.psum, lax.pmax, lax.all_gather])
def test_groups_of_a_named_axis_are_refused(collective):
    with pytest.raises(NotImplementedError, match=r"^axis_index_groups not supported in vmap"):
        jitkit.vmap(lambda v: collective(v, "i", axis_index_groups=[[0], [1, 2]]), axis_name="i")(ROWS)


# --- errors -----------------------------------------------------------------------------------------------------------------

REFUSED = {
    "sizes": lambda jax: jax.vmap(lambda x, k: x)(ROWS, TWO),
    "sizes of a tree": lambda jax: jax.vmap(lambda x: x)({"a": ROWS, "b": [TWO, THREE]}),
    "sizes and axis_size": lambda jax: jax.vmap(lambda x, *rest, z=3: x, axis_size=3, in_axes=(0, 1, None, -1))(
        ROWS, TABLE, THREE, TWO, z=FOUR[:1]
    ),
    "axis_size": lambda jax: jax.vmap(lambda x: x, axis_size=4)(ROWS),
    "no axis": lambda jax: jax.vmap(lambda x: x, in_axes=None)(ROWS),
    "no argument": lambda jax: jax.vmap(lambda: 1)(),
    "a scalar": lambda jax: jax.vmap(lambda x: x)(1.0),
    "a text": lambda jax: jax.vmap(lambda x: x)("text"),
    "no such axis": lambda jax: jax.vmap(lambda x: x, in_axes=2)(ROWS),
    "no such axis from behind": lambda jax: jax.vmap(lambda x: x, in_axes=-3)(ROWS),
    "as many in_axes": lambda jax: jax.vmap(lambda x: x, in_axes=(0, 0))(ROWS),
    "in_axes of a kind": lambda jax: jax.vmap(lambda x: x, in_axes="a")(ROWS),
    "in_axes with leaves of a kind": lambda jax: jax.vmap(lambda x: x, in_axes=({"x": "k"},))(ROWS),
    "in_axes no prefix": lambda jax: jax.vmap(lambda x: x, in_axes=({"x": 0},))(ROWS),
    "out_axes of a kind": lambda jax: jax.vmap(lambda x: x, out_axes=1.5)(ROWS),
    "out_axes no prefix": lambda jax: jax.vmap(lambda x: (x, x), out_axes=(0, 0, 0))(ROWS),
    "out_axes out of range": lambda jax: jax.vmap(lambda x: x, out_axes=5)(ROWS),
    "out_axes out of range for no batch": lambda jax: jax.vmap(lambda x: 3.0, out_axes=5)(ROWS),
    "out_axes None": lambda jax: jax.vmap(lambda x: x, out_axes=None)(ROWS),
    "out_axes None in a tree": lambda jax: jax.vmap(lambda x: {"q": (x, 1)}, out_axes={"q": (None, 0)})(ROWS),
    "out_axes None of a named axis": lambda jax: jax.vmap(lambda x: x, out_axes=None, axis_name="i")(ROWS),
    "a text returned": lambda jax: jax.vmap(lambda x: "text")(ROWS),
    "no function": lambda jax: jax.vmap(3)(ROWS),
    "a name of no axis": lambda jax: jax.vmap(lambda x: jax.lax.psum(x, "k"), axis_name="i")(ROWS),
    "an index of no axis": lambda jax: jax.vmap(lambda x: jax.lax.axis_index("k"), axis_name="i")(ROWS),
    "a size of no axis": lambda jax: jax.lax.axis_size("k"),
    "gathered over no axis": lambda jax: jax.vmap(lambda x: jax.lax.all_gather(x, "k"))(ROWS),
    "no permutation": lambda jax: jax.vmap(lambda x: jax.lax.pshuffle(x, "i", [1, 1, 0]), axis_name="i")(ROWS),
    "a truth value": lambda jax: jax.vmap(lambda x: x if x.sum() > 0 else -x)(ROWS),
    "a number": lambda jax: jax.vmap(lambda x: float(x[0]))(ROWS),
    "a numpy function": lambda jax: jax.vmap(lambda x: np.sin(x))(ROWS),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_errors_begin_as_those_of_jax(refused):
    ours, theirs = (raised(refused, modules[0]) for modules in (OURS, THEIRS))
    assert ours[0] == theirs[0]
    if wording.compared:
        assert ours[1].removesuffix(".") == theirs[1].removesuffix(".")  # later versions of JAX end it with a period


@pytest.mark.parametrize("name", ["sizes", "sizes of a tree", "sizes and axis_size"])
def test_inconsistent_sizes_are_listed_with_their_arguments(name):
    messages = []
    for modules in (OURS, THEIRS):
        with pytest.raises(ValueError) as caught:
            REFUSED[name](modules[0])
        messages.append([line for line in str(caught.value).split("\n") if line.startswith("  *")])
    assert messages[0] == messages[1]


@same_as_jax
def test_a_leaked_tracer_is_met_where_it_is_used(jax, jnp):
    leaked = []
    jax.vmap(lambda v: leaked.append(v) or v)(jnp.ones((3, 2)))
    return [
        raised(lambda: leaked[0] + 1),
        raised(lambda: jax.jit(lambda: leaked[0] + 1)()),
        raised(lambda: jax.vmap(lambda v: v + leaked[0])(jnp.ones(3))),
    ]


@pytest.mark.usefixtures("nothing_old_to_walk")
@same_as_jax
def test_a_leaked_tracer_is_found_at_the_end_of_its_trace(jax, jnp):
    leaked = []

    def f(v):
        leaked.append(v)
        return v * 2

    with jax.checking_leaks():
        return raised(jax.vmap(f), ROWS), raised(jax.vmap(jnp.sin), ROWS[0])[0]


@same_as_jax
def test_a_name_for_devices_changes_nothing_where_no_sharding_is_constrained(jax, jnp):
    mapped = jax.vmap(jnp.sin, spmd_axis_name="devices")
    return mapped(jnp.arange(3.0)), str(jax.make_jaxpr(mapped)(jnp.arange(3.0)))


# --- made of it -------------------------------------------------------------------------------------------------------------


def test_lax_map_by_batches():
    sizes = {"some left over": 2, "none left over": 3, "more than there are": 5, "all": 0}
    programs = {
        name: lambda jax, jnp, x, size=size: jax.lax.map(
            lambda v: {"sum": v["w"].sum(), "twice": v["w"] * 2}, {"w": x}, batch_size=size
        )
        for name, size in sizes.items()
    }
    assert_same_batches(programs, ROWS)


CUBE = np.stack([ROWS, ROWS + 1])
VECTORIZED = {
    "no signature": lambda jnp: jnp.vectorize(lambda a, b: jnp.where(a > b, a, b))(CUBE, ROWS),
    "results of any shape": lambda jnp: jnp.vectorize(lambda a, b: jnp.stack([a, b]))(CUBE[:, :1], ROWS),
    "matrices and vectors": lambda jnp: jnp.vectorize(jnp.dot, signature="(n,m),(m)->(n)")(CUBE, ROWS[:2]),
    "one vector": lambda jnp: jnp.vectorize(jnp.dot, signature="(n,m),(m)->(n)")(CUBE, ROWS[0]),
    "axes of size 1": lambda jnp: jnp.vectorize(jnp.dot, signature="(n,m),(m)->(n)")(CUBE[:1, None], ROWS[:1]),
    "two results": lambda jnp: jnp.vectorize(lambda a: (a.sum(), a * 2), signature="(n)->(),(n)")(CUBE[:, :1]),
    "excluded": lambda jnp: jnp.vectorize(lambda a, b: a * b.sum(), excluded={1})(CUBE, ROWS),
    "excluded by name": lambda jnp: jnp.vectorize(lambda a, k: a * k.sum(), excluded={"k"})(CUBE, k=ROWS),
    "None": lambda jnp: jnp.vectorize(lambda a, b: a if b is None else b)(CUBE, None),
}


def test_vectorize_broadcasts_in_front_of_the_functions_own_axes():
    assert_same_batches({name: lambda jax, jnp, call=call: call(jnp) for name, call in VECTORIZED.items()})


NOT_VECTORIZED = {
    "sizes": lambda jnp: jnp.vectorize(jnp.dot, signature="(n,m),(m)->(n)")(CUBE, ROWS[:, :2]),
    "output shape": lambda jnp: jnp.vectorize(jnp.dot, signature="(n,m),(m)->(n,m)")(CUBE, ROWS[:2]),
    "several outputs": lambda jnp: jnp.vectorize(jnp.dot, signature="(n,m),(m)->(m),(n)")(CUBE, ROWS[:2]),
    "as many outputs": lambda jnp: jnp.vectorize(lambda a: (a, a, a), signature="(m)->(m),(m)")(CUBE),
    "output size": lambda jnp: jnp.vectorize(lambda a: a[:1], signature="(m)->(m)")(CUBE),
    "as many operands": lambda jnp: jnp.vectorize(jnp.dot, signature="(n,m)->(n)")(CUBE, ROWS),
    "no signature": lambda jnp: jnp.vectorize(jnp.dot, signature="(n,m,(m)->(n)")(CUBE, ROWS),
    "axes": lambda jnp: jnp.vectorize(jnp.dot, signature="(n,m),(m)->(n)")(CUBE, 1.0),
    "None with axes": lambda jnp: jnp.vectorize(lambda a, b: a, signature="(n),(n)->(n)")(CUBE, None),
    "excluded of a kind": lambda jnp: jnp.vectorize(lambda a, b: a, excluded={1.5})(CUBE, 2),
    "excluded negative": lambda jnp: jnp.vectorize(lambda a, b: a, excluded={-1})(CUBE, 2),
    "shapes": lambda jnp: jnp.vectorize(lambda a, b: a)(CUBE[:, :2], ROWS),
}


@pytest.mark.parametrize("refused", NOT_VECTORIZED.values(), ids=NOT_VECTORIZED)
def test_what_does_not_fit_its_signature_is_refused_as_in_jax(refused):
    ours, theirs = (raised(refused, modules[1]) for modules in (OURS, THEIRS))
    assert ours == theirs
    assert ours[0] != "nothing was raised"


def test_eager_and_jitted_batches_are_equal():
    def f(v):
        return jnp.sort(v)[::-1] * v.max() + jnp.cumsum(v)

    assert difference(plain(jitkit.vmap(f)(ROWS)), plain(jitkit.jit(jitkit.vmap(f))(ROWS))) is None


@pytest.mark.parametrize("way", [lambda jax, f: jax.vmap(f), lambda jax, f: jax.jit(jax.vmap(f))])
@same_as_jax
def test_shapes_that_do_not_fit_in_a_batch_are_named_as_in_jax(jax, jnp, way):
    lax, x, y = jax.lax, jnp.ones((2, 3)), jnp.ones((2, 4))
    calls = [lambda a, b: lax.clamp(a, b, b), lambda a, b: lax.clamp(b, a, b), lambda a, b: lax.clamp(0.0, b, a)]
    return [raised(way(jax, call), x, y) for call in calls]


def test_a_choice_of_another_shape_in_a_batch_is_refused():
    """JAX raises an AssertionError without a message."""
    with pytest.raises(TypeError, match="must be scalar or have the same shape as cases"):
        jitkit.vmap(lambda a, b: jitkit.lax.select_n(a > 0, b, b))(np.ones((2, 3)), np.ones((2, 4)))


@pytest.mark.parametrize("source", [3, -1])
def test_a_broadcast_from_a_place_that_an_axis_has_not_is_refused(source):
    """JAX raises an AssertionError."""
    with pytest.raises(ValueError, match=f"pbroadcast from place {source} of the axis 'i', whose size is 3"):
        jitkit.vmap(lambda v: lax.pbroadcast(v, "i", source), axis_name="i")(np.ones(3))
