"""`jit(f).trace(x).lower().compile()`: what each station shows, as in JAX."""

from __future__ import annotations

import re
import warnings

import jax
import numpy as np
import pytest
from twin import JAX_VERSION, plain, raised, same_as_jax

import jitkit as jk
import jitkit.numpy as jnp
from jitkit import runtime


def step(params, x, *, rate=0.5):
    """Return a loss and new weights: a function with a tree, a default value, and results of several kinds."""
    loss = ((params["w"] * x).sum() - 1.0) ** 2
    return {"loss": loss, "w": params["w"] - rate * x}, (x.shape[0], None)


def arguments(jnp):
    return {"w": jnp.ones(3)}, jnp.arange(3.0)


# --- what a station knows ---------------------------------------------------------------------------------------


@same_as_jax
def test_each_station_tells_the_signature(jax, jnp):
    traced = jax.jit(step, donate_argnums=1).trace(*arguments(jnp), rate=0.25)
    lowered = traced.lower()
    compiled = lowered.compile()
    seen = []
    for station in (traced, lowered, compiled):
        seen += [
            str(station.in_tree), str(station.out_tree), station.in_avals, station.args_info, station.donate_argnums,
            station.out_info,
        ]  # fmt: skip
    infos = jax.tree_util.tree_leaves(compiled.args_info)
    return (
        seen,
        traced.fun_name,
        traced.out_avals,
        [(i.shape, i.dtype, i.donated) for i in infos],
        repr(traced.args_info),
    )


@same_as_jax
def test_a_traced_function_shows_its_jaxpr(jax, jnp):
    traced = jax.jit(step).trace(*arguments(jnp))
    return str(traced.jaxpr), [plain(a) for a in traced.jaxpr.in_avals]


@same_as_jax
def test_results_of_lowered_and_compiled_functions_have_no_weak_type_in_their_info(jax, jnp):
    traced = jax.jit(lambda x: (x, 1)).trace(2.0)
    lowered = traced.lower()
    return [s.weak_type for station in (traced, lowered, lowered.compile()) for s in station.out_info]


@same_as_jax
def test_static_arguments_are_not_part_of_the_trees(jax, jnp):
    f = jax.jit(lambda n, x, mode="a": x * n, static_argnums=0, static_argnames="mode")
    traced = f.trace(2, jnp.ones(3), mode="b")
    compiled = traced.lower().compile()
    return str(traced.in_tree), traced.in_avals, compiled(jnp.ones(3)), raised(compiled, 2, jnp.ones(3))


@same_as_jax
def test_the_stages_share_a_trace_with_the_call(jax, jnp):
    log = []
    f = jax.jit(lambda x: log.append(x) or x + 1)
    (f.trace(1.0), f.lower(1.0), f.eval_shape(1.0), f(1.0), f.trace(2.0).lower().compile()(3.0), f.lower(jnp.ones(2)))
    return len(log), f._cache_size()


# --- StableHLO --------------------------------------------------------------------------------------------------

PROGRAMS = {
    "selu": lambda jax, jnp: ((lambda x: 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)), (jnp.arange(5.0),)),
    "a tree": lambda jax, jnp: (step, arguments(jnp)),
    "a network": lambda jax, jnp: (
        (lambda ws, x: jnp.sum(jnp.tanh(jnp.tanh(x @ ws[0]) @ ws[1]) ** 2)),
        ([jnp.ones((4, 8)), jnp.ones((8, 2))], jnp.ones((3, 4))),
    ),
    "nested": lambda jax, jnp: ((lambda x: (jax.jit(jnp.sin)(x) * jax.jit(jnp.cos)(x)).sum()), (jnp.arange(100.0),)),
    "nothing": lambda jax, jnp: ((lambda: ()), ()),
    "identity": lambda jax, jnp: ((lambda x: x), (jnp.ones(3),)),
    "a constant": lambda jax, jnp: ((lambda x: x + np.arange(3.0)), (jnp.ones(3),)),
    "softmax": lambda jax, jnp: (
        (
            lambda x: (
                jnp.exp(x - x.max(axis=1, keepdims=True))
                / jnp.exp(x - x.max(axis=1, keepdims=True)).sum(1, keepdims=True)
            )
        ),
        (jnp.ones((8, 16)),),
    ),
}
every_program = pytest.mark.parametrize("program", PROGRAMS)


@every_program
def test_the_text_parses_and_has_jaxs_signature(program):
    f, args = PROGRAMS[program](jk, jnp)
    their_f, their_args = PROGRAMS[program](jax, jax.numpy)
    ours = jk.jit(f).lower(*args).as_text()
    theirs = jax.jit(their_f).lower(*their_args).as_text()

    def signature(text):
        return re.search(r"func\.func public @main\(.*", text).group()

    assert ours.split("{")[0] == theirs.split("{")[0]  # the module's name
    assert signature(ours) == signature(theirs)
    assert runtime.hlo_of_text(ours).startswith("HloModule")
    assert runtime.hlo_of_text(jk.jit(f).lower(*args).as_text(debug_info=True)).startswith("HloModule")


def fusions(text):
    return len(re.findall(r" fusion\(", text)), len(re.findall(r"%\S+ = ", text.split("ENTRY")[1]))


@every_program
@same_as_jax
def test_the_optimised_program_is_that_of_jax(jax, jnp, program):
    f, args = PROGRAMS[program](jax, jnp)
    compiled = jax.jit(f).lower(*args).compile()
    cost = compiled.cost_analysis()
    memory = compiled.memory_analysis()
    sizes = {name: getattr(memory, name) for name in dir(memory) if name.endswith("_in_bytes")}
    return fusions(compiled.as_text()), sorted(cost), cost.get("flops"), sizes


@every_program
@same_as_jax
def test_the_compiled_program_gives_what_a_call_gives(jax, jnp, program):
    f, args = PROGRAMS[program](jax, jnp)
    jitted = jax.jit(f)
    called, compiled = jitted(*args), jitted.lower(*args).compile()(*args)
    return (
        str(jax.tree_util.tree_structure(compiled)),
        plain(called) == plain(compiled),
        compiled if program != "softmax" else 0,
    )


@same_as_jax
def test_the_cost_before_optimisation_has_the_same_entries(jax, jnp):
    cost = jax.jit(lambda x: jnp.sin(x) * 2).lower(jnp.ones(10)).cost_analysis()
    return {name: cost[name] for name in ("flops", "transcendentals", "bytes accessed")}


def line_of(marker):
    with open(__file__, encoding="utf-8") as file:
        return next(i for i, line in enumerate(file, 1) if line.rstrip().endswith(f"# {marker}"))


def test_every_operation_knows_the_line_that_it_came_from():
    def f(x):
        y = jnp.sin(x["angle"])  # the sine
        return y * 2  # the product

    lowered = jk.jit(f).lower({"angle": jnp.ones(3)})
    text = lowered.as_text(debug_info=True)
    for operation, marker in (("sin", "the sine"), ("mul", "the product")):
        assert re.search(rf'loc\(fused\["jit\(f\)/{operation}", ".*test_stages\.py":{line_of(marker)}:', text)
    assert "loc(\"x['angle']\")" in text
    assert "loc(" not in lowered.as_text()
    optimised = lowered.compile().as_text()
    assert re.search(
        rf'op_name="jit\(f\)/sin" source_file=".*test_stages\.py" source_line={line_of("the sine")}', optimised
    )


def test_a_named_scope_is_part_of_the_operations_name():
    def f(x):
        with jk.named_scope("layer"):
            return jnp.sin(x)

    assert "jit(f)/layer/sin" in jk.jit(f).lower(1.0).as_text(debug_info=True)


def scoped(jax, jnp):
    """Return a function in which each kind of equation stands in a scope, and its gradient."""

    @jax.jit
    def inner(x):
        return jnp.sin(x) * 2

    def one(x):
        with jax.named_scope("A"):
            y = jax.nn.relu(inner(x))
        y = jnp.clip(jax.nn.relu(y), 0, 1)
        with jax.named_scope("L"):
            y = jax.lax.cond(y.sum() > 0, lambda z: z + 1, jnp.tan, y)
            y = jax.lax.while_loop(lambda c: c.sum() < 1, jnp.exp, y)
        return jax.vmap(jnp.tanh)(jax.checkpoint(jnp.log)(y)).sum()

    def slopes(x):
        def loss(x):
            with jax.named_scope("B"):
                return (jax.nn.softplus(jnp.sin(x) * inner(x))).sum()

        with jax.named_scope("G"):
            return jax.grad(loss)(x)

    return one, slopes


def test_the_names_of_instructions_are_jax_s():
    """In HLO, where XLA has joined those of calls and of what is in the functions that they call."""
    for ours, theirs in zip(scoped(jk, jnp), scoped(jax, jax.numpy), strict=True):
        found = [
            set(re.findall(r'op_name="(jit\([^"]*)"', lib.jit(f).lower(x).compile().as_text()))
            for lib, f, x in ((jk, ours, jnp.ones(3)), (jax, theirs, jax.numpy.ones(3)))
        ]
        assert found[0] == found[1] - {"jit(one)/L/while/while"}  # without a name in which XLA repeats a part


def test_what_a_loop_s_body_does_is_named_within_the_loop_s_scope():
    body = "closed_call" if JAX_VERSION < (0, 11) else "eval_jaxpr"

    def names(lib, numpy):
        def f(x):
            with lib.named_scope("L"):
                return lib.grad(lambda x: lib.lax.scan(lambda c, t: (numpy.cos(c) * t, None), x.sum(), x)[0])(x)

        text = lib.jit(f).lower(numpy.ones(3)).compile().as_text()
        return set(re.findall(rf'op_name="([^"]*{body}/[^"]*)"', text))

    assert names(jk, jnp) == names(jax, jax.numpy)
    assert any(f"/transpose(jvp())/while/body/{body}/" in name for name in names(jk, jnp))


@same_as_jax
def test_lowering_for_another_platform_needs_no_device_of_it(jax, jnp):
    text = jax.jit(lambda x: x + 1).trace(jnp.ones(3)).lower(lowering_platforms=("tpu",)).as_text()
    return text.split("{")[0], "stablehlo.add" in text


@same_as_jax
def test_the_dialects_of_the_text(jax, jnp):
    lowered = jax.jit(lambda x: x + 1).lower(1.0)
    return (
        lowered.as_text("hlo").split("{")[0],
        raised(lowered.as_text, "cobol"),
        lowered.as_text("stablehlo") == lowered.as_text(),
    )


def test_donation_is_an_attribute_of_the_argument():
    lowered = jk.jit(lambda x, y: (y, x + y), donate_argnums=(0, 1)).lower(jnp.ones(3), jnp.ones(3))
    text = lowered.as_text()
    assert text.count("tf.aliasing_output") == 2
    assert {"tf.aliasing_output = 0", "tf.aliasing_output = 1"} == set(re.findall(r"tf.aliasing_output = \d", text))


# --- calling a compiled function --------------------------------------------------------------------------------

WRONG_CALLS = {
    "another dtype": lambda jnp: ((arguments(jnp)[0], jnp.arange(3)), {}),
    "another shape": lambda jnp: (({"w": jnp.ones(2)}, jnp.ones(2)), {}),
    "another key": lambda jnp: (({"v": jnp.ones(3)}, jnp.ones(3)), {}),
    "a list": lambda jnp: (([jnp.ones(3)], jnp.ones(3)), {}),
    "one argument": lambda jnp: ((arguments(jnp)[0],), {}),
    "no argument": lambda jnp: ((), {}),
    "a keyword": lambda jnp: (({"w": jnp.ones(3)},), {"x": jnp.ones(3)}),
    "one keyword too many": lambda jnp: (arguments(jnp), {"rate": 1.0}),
    "a string": lambda jnp: (({"w": "text"}, jnp.ones(3)), {}),
    "a list for a leaf": lambda jnp: (({"w": [1.0, 2.0, 3.0]}, jnp.ones(3)), {}),
    "a scalar for a leaf": lambda jnp: (({"w": 1.0}, jnp.ones(3)), {}),
}


@pytest.mark.parametrize("case", WRONG_CALLS)
@same_as_jax
def test_a_compiled_function_refuses_other_signatures(jax, jnp, case):
    compiled = jax.jit(step).lower(*arguments(jnp)).compile()
    args, kwargs = WRONG_CALLS[case](jnp)
    return raised(compiled, *args, **kwargs)


def test_the_refusal_names_each_argument_with_both_types():
    compiled = jk.jit(step).lower(*arguments(jnp)).compile()
    with pytest.raises(TypeError) as error:
        compiled({"w": jnp.ones(2)}, jnp.arange(3))
    assert str(error.value).split("\n")[1:] == [
        "Argument 'params['w']' compiled with float32[3] and called with float32[2]",
        "Argument 'x' compiled with float32[3] and called with int32[3]",
    ]
    with pytest.raises(
        TypeError, match=r"at args\[0\], seen <class 'dict'> .*'w'.* but now given <class 'dict'> .*'v'"
    ):
        compiled({"v": jnp.ones(3)}, jnp.ones(3))


@same_as_jax
def test_a_compiled_function_takes_host_values_and_either_weak_type(jax, jnp):
    compiled = jax.jit(lambda x, y: x * y).lower(jnp.ones(3), 2.0).compile()
    return (
        compiled(np.arange(3, dtype=np.float32), 3.0), compiled(np.arange(3.0), np.float32(3)), compiled(jnp.ones(3), jnp.float32(2)),
        compiled(jnp.ones(3), np.float64(2)), raised(compiled, jnp.ones(3), 2), raised(compiled, jnp.ones(3), True),
    )  # fmt: skip


@same_as_jax
def test_a_compiled_function_is_not_for_traced_values(jax, jnp):
    compiled = jax.jit(lambda x: x + 1).lower(1.0).compile()
    kind, text = raised(jax.jit(lambda x: compiled(x)), 1.0)
    return kind, text.partition("Tracer type")[0]


@same_as_jax
def test_a_compiled_function_deletes_what_it_was_told_to_donate(jax, jnp):
    compiled = jax.jit(lambda x: x + 1, donate_argnums=0).lower(jnp.ones(31)).compile()
    x = jnp.ones(31) * 1
    out = compiled(x)
    # No other test uses this length: if JAX has compiled `x + 1` before, it raises another error.
    return out, x.is_deleted(), raised(lambda: x + 1)


@same_as_jax
def test_unused_arguments_are_taken_and_not_used(jax, jnp):
    f = jax.jit(lambda x, unused, y: (x + y, unused) if False else x + y)
    return f.lower(1.0, jnp.ones(3), 2.0).compile()(3.0, jnp.ones(3), 4.0), raised(
        f.lower(1.0, jnp.ones(3), 2.0).compile(), 1.0, 2.0, 3.0
    )


@same_as_jax
def test_shardings_of_arguments_and_results(jax, jnp):
    compiled = jax.jit(step).lower(*arguments(jnp)).compile()
    return [str(s) for s in jax.tree_util.tree_leaves((compiled.input_shardings, compiled.output_shardings))]


# --- types instead of values ------------------------------------------------------------------------------------


@same_as_jax
def test_a_shape_dtype_struct_stands_for_an_array(jax, jnp):
    s = jax.ShapeDtypeStruct((3,), jnp.float32)
    weak = jax.ShapeDtypeStruct((), "int32", weak_type=True)
    f = jax.jit(lambda x, y: x * y)
    compiled = f.lower(s, weak).compile()
    return (
        repr(s), str(weak), s == jax.ShapeDtypeStruct((3,), "float32"), s == weak, hash(s) == hash(jax.ShapeDtypeStruct((3,), "float32")),
        s.shape, s.dtype, s.ndim, s.size, len(s), s.update(shape=(4,)), s.update(dtype=jnp.int8, weak_type=True), f.eval_shape(s, weak),
        jax.eval_shape(lambda x: {"a": x}, s), f.trace(s, weak).in_avals, compiled(jnp.ones(3), 2), compiled(jnp.ones(3), jnp.int32(2)),
        raised(jax.ShapeDtypeStruct, (3,), None), raised(len, weak), raised(jax.ShapeDtypeStruct, 3, "int32"),
    )  # fmt: skip


@same_as_jax
def test_calling_with_a_shape_dtype_struct_is_refused(jax, jnp):
    def name(error):
        return error[0], error[1].replace("jitkit.", "jax.")

    s = jax.ShapeDtypeStruct((3,), jnp.float32)
    return name(raised(jax.jit(lambda x: x), s))


@same_as_jax
def test_eval_shape_runs_nothing_and_takes_whatever_has_a_shape_and_a_dtype(jax, jnp):
    class Spec:
        shape = (1000, 1000, 1000, 1000)
        dtype = np.dtype("float32")

    log = []

    def f(x, n):
        log.append(isinstance(x, jax.core.Tracer))
        return {"sum": x.sum(axis=0), "n": n + 1, "pair": (x[0], None)}

    return jax.eval_shape(f, Spec(), 2), log, raised(jax.eval_shape, f, "text", 1)[0]


@same_as_jax
def test_eval_shape_takes_static_arguments_as_the_jitted_function_does(jax, jnp):
    f = jax.jit(lambda x, n, *, k: x[: n + k], static_argnums=1, static_argnames="k")
    return jax.eval_shape(f, jax.ShapeDtypeStruct((9,), jnp.int8), 2, k=3)


@same_as_jax
def test_a_struct_that_reaches_a_nested_jit_is_a_constant_without_a_value(jax, jnp):
    s, weak = jax.ShapeDtypeStruct((3,), jnp.float32), jax.ShapeDtypeStruct((), jnp.float32, weak_type=True)
    double = jax.jit(lambda y: y * 2)

    def f(x):
        return double(s) + double(s) * x, jax.jit(lambda y: {"a": y})(weak), s

    ends = [
        raised(function, 1.0)[1].split("\n")[0] for function in (jax.jit(f), jax.jit(f).lower, jax.jit(lambda x: s))
    ]
    return jax.eval_shape(f, 1.0), str(jax.make_jaxpr(f)(1.0)), ends


@same_as_jax
def test_64_bit_structs_are_narrowed_like_arrays(jax, jnp):
    s = jax.ShapeDtypeStruct((2,), "float64")
    warnings.simplefilter("ignore")  # since 0.12 JAX warns of float64
    return jax.eval_shape(lambda x: x, s), jax.jit(lambda x: x).trace(s).in_avals


@same_as_jax
def test_make_jaxpr_with_static_arguments_and_shapes(jax, jnp):
    def f(x, n, *rest, k=2):
        return {"a": x * n, "b": [r + k for r in rest]}

    jaxpr, shape = jax.make_jaxpr(f, static_argnums=(1,), return_shape=True)(1.0, 3, jnp.ones(2), k=4)
    text = str(jaxpr)
    return (
        text,
        shape,
        [plain(a) for a in jaxpr.in_avals],
        [plain(a) for a in jaxpr.out_avals],
        jaxpr.jaxpr.eqns[0].primitive.name,
    )


@same_as_jax
def test_make_jaxpr_of_a_jitted_function_and_of_structs(jax, jnp):
    def f(x):
        return jnp.sin(x) + 1

    s = jax.ShapeDtypeStruct((2, 3), "bfloat16")
    return str(jax.make_jaxpr(jax.jit(f))(s)), str(jax.make_jaxpr(f)(s)), jax.make_jaxpr(f).__name__


@same_as_jax
def test_a_jaxpr_can_be_run(jax, jnp):
    table = jnp.arange(3.0)
    closed = jax.make_jaxpr(lambda x: (x + 1, table * x, 2))(1.0)
    return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 3.0)


# --- options of the compiler ------------------------------------------------------------------------------------


@same_as_jax
def test_options_reach_the_compiler_and_unknown_ones_are_refused(jax, jnp):
    lowered = jax.jit(lambda x: jnp.exp(x)).lower(jnp.ones(3))
    return [
        raised(lowered.compile, {"xla_no_such_option": 1}),
        raised(lowered.compile, compiler_options={"xla_embed_ir_in_executable": "maybe"}),
        raised(jax.jit(lambda x: x, compiler_options={"xla_no_such_option": 1}), 1.0),
        lowered.compile({"xla_embed_ir_in_executable": True})(jnp.ones(3)),
        jax.jit(lambda x: x * 2, compiler_options={"xla_backend_optimization_level": 0})(2.0),
        raised(lambda: lowered.compile({"exec_time_optimization_effort": 0.0, "memory_fitting_effort": 0.5})(jnp.ones(3))),
        raised(jax.jit(lambda x: x, compiler_options={"memory_fitting_effort": "high"}), 1.0)[0],
        JAX_VERSION < (0, 12)  # JAX 0.12 has names for the levels
        and jax.jit(lambda x: x * 2, compiler_options={"optimization_level": 1, "memory_fitting_level": 2})(2.0),
    ]  # fmt: skip


@same_as_jax
def test_hlo_before_optimisation_names_lines_if_asked(jax, jnp):
    def wave(x):
        return jnp.sin(x)

    lowered = jax.jit(wave).lower(42.0)
    told = lowered.as_text("hlo", debug_info=True)
    (sine,) = [line for line in told.splitlines() if " sine(" in line]
    return lowered.as_text("hlo"), 'op_name="jit(wave)/sin"' in sine, "test_stages.py" in told


def test_options_are_part_of_the_key():
    def f(x):
        return x * 2

    plain_jit, optimised = jk.jit(f), jk.jit(f, compiler_options={"xla_backend_optimization_level": 0})
    plain_jit(1.0)
    assert optimised._cache_size() == 0
    optimised(1.0)
    assert (plain_jit._cache_size(), optimised._cache_size()) == (1, 1)


# --- errors -----------------------------------------------------------------------------------------------------


@same_as_jax
def test_arguments_are_checked_when_tracing_as_when_calling(jax, jnp):
    f = jax.jit(step)
    return (
        [raised(stage, {"w": "text"}, 1.0) for stage in (f.trace, f.lower, f.eval_shape)],
        raised(f.lower),
        raised(f.trace, 1.0, z=2),
    )


def test_text_that_does_not_parse_is_shown_with_its_line():
    text = jk.jit(lambda x: x + 1).lower(1.0).as_text().replace("stablehlo.add", "stablehlo.bad")
    with pytest.raises(jk.errors.JaxRuntimeError) as error:
        runtime.compile_text(text, jk.devices()[:1])
    assert "line 4 of the StableHLO text:\n" in str(error.value)
    assert "stablehlo.bad" in str(error.value).splitlines()[-2]
    assert str(error.value).splitlines()[-1].strip() == "^"


@same_as_jax
def test_the_compilers_own_form_of_a_program(jax, jnp):
    lowered = jax.jit(lambda x: jnp.sin(x) + 1).lower(1.0)
    texts = [str(lowered.compiler_ir(dialect)) for dialect in (None, "stablehlo")]
    hlo = lowered.compiler_ir("hlo").as_hlo_text()
    return ["stablehlo.sine" in text for text in texts], "sine(" in hlo, raised(lambda: lowered.compiler_ir("mhlo"))
