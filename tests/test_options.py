"""Options for a while, and questions about the machine, under JAX's names."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import typing

import jax
import numpy as np
import pytest
from twin import raised, same_as_jax

import jitkit
from jitkit.base import config, options

ROWS = np.float32([[1, 2], [3, 4]])


@same_as_jax
def test_one_process_drives_all_devices(jax, jnp):
    return (
        jax.process_index(),
        jax.process_count(),
        jax.process_indices(),
        jax.local_device_count(),
        jax.device_count() == len(jax.devices()) == len(jax.local_devices()),
        jax.local_device_count("cpu"),
        raised(jax.process_count, "abacus")[0],
    )


@pytest.mark.parametrize("precision", ["float32", "highest", "high", "tensorfloat32", "bfloat16", "default", None])
def test_the_precision_of_products_is_that_of_the_block(precision):
    with jax.default_matmul_precision(precision), jitkit.default_matmul_precision(precision):
        ours, theirs = (str(lib.make_jaxpr(lambda x: x @ x)(ROWS)) for lib in (jitkit, jax))
    assert ours == theirs
    assert ("HIGH" in ours) == (precision in ("float32", "highest", "high", "tensorfloat32"))


@same_as_jax
def test_another_precision_is_another_program(jax, jnp):
    traces = []
    f = jax.jit(lambda x: traces.append(1) or x @ x)
    f(ROWS)
    with jax.default_matmul_precision("highest"):
        f(ROWS), f(ROWS)
    f(ROWS)
    return len(traces)


@same_as_jax
def test_ranks_that_differ_can_be_refused_in_a_block(jax, jnp):
    def add(mode):
        with jax.numpy_rank_promotion(mode):
            return (jnp.ones((2, 2)) + jnp.ones(2)).shape

    kind, line = raised(add, "raise")
    return add("allow"), kind, line.split(" For more")[0]  # the page's address depends on the version


OPERANDS = [
    True,
    1,
    1.0,
    1j,
    *(np.ones(2, name) for name in ("bool", "int8", "uint32", "int32", "float16", "float32", "complex64")),
]
MIXED = {
    "add": lambda jnp, x, y: x + y,
    "where": lambda jnp, x, y: jnp.where(True, x, y),
    "concatenate": lambda jnp, x, y: jnp.concatenate([jnp.atleast_1d(x), jnp.atleast_1d(y)]),
    "result_type": lambda jnp, x, y: str(jnp.result_type(x, y)),
    "promote_types": lambda jnp, x, y: str(
        jnp.promote_types(getattr(x, "dtype", type(x)), getattr(y, "dtype", type(y)))
    ),
    "of three": lambda jnp, x, y: str(jnp.result_type(x, y, 1.0)),
}


@pytest.mark.parametrize("name", MIXED)
@same_as_jax
def test_dtypes_that_differ_can_be_refused_in_a_block(jax, jnp, name):
    """What of two dtypes stands first in the sentence is chance in JAX. All pairs are traced; those with `1.0` also run."""

    def mixed(x, y):
        x, y = (jnp.asarray(z) if isinstance(z, np.ndarray) else z for z in (x, y))
        program = functools.partial(MIXED[name], jnp, x, y)
        runs = float in (type(x), type(y)) or name not in ("add", "where", "concatenate")
        kind, found = raised(program)[:2] if runs else raised(jax.eval_shape, program)[:2]
        if kind == "TypePromotionError":
            return kind, sorted(re.findall(r"'([^']*)'", found)), found.split(")")[-1]
        return getattr(found, "dtype", type(found)), getattr(found, "weak_type", found)

    with jax.numpy_dtype_promotion("strict"):
        strict = [str(mixed(x, y)) for x in OPERANDS for y in OPERANDS]
    return strict, [str(mixed(x, y)) for x in OPERANDS for y in OPERANDS]


@same_as_jax
def test_the_mode_of_promotion_is_part_of_what_a_function_was_traced_for(jax, jnp):
    traces = []
    f = jax.jit(lambda x: traces.append(1) or x + np.int32(1))
    f(np.float32(1))
    with jax.numpy_dtype_promotion("strict"):
        kind = raised(f, np.float32(1))[0]
        f(np.int32(1))
    f(np.int32(1)), f(np.float32(1))
    return kind, len(traces)


@same_as_jax
def test_libraries_work_where_promotion_is_strict(jax, jnp):
    with jax.numpy_dtype_promotion("strict"):
        x = jax.random.normal(jax.random.key(1), (3,))
        return [
            x,
            jax.random.split(jax.random.key(1), 2).shape,
            raised(lambda: jnp.r_[1:3, 0.5])[0],
            jnp.mgrid[0:2, 0:1:0.5],
            jnp.linspace(0, 1, 3),
            jax.nn.softmax(x).shape,
            jax.grad(lambda x: jax.scipy.special.logsumexp(x * 2))(x).dtype,
        ]


@pytest.mark.usefixtures("nothing_old_to_walk")
@same_as_jax
def test_leaks_are_found_in_a_block(jax, jnp):
    def leak():
        kept = []
        with jax.check_tracer_leaks():
            jax.jit(lambda x: kept.append(x) or x)(1.0)

    return raised(leak)[0]


@same_as_jax
def test_new_arrays_are_on_the_default_device(jax, jnp):
    with jax.default_device(jax.devices()[0]):
        x = jnp.ones(2)
    with jax.default_device(None):
        y = jnp.ones(2)
    return x, x.devices() == y.devices(), x.committed


@pytest.mark.parametrize("what", [object(), 3, "nope", "tpu"])
@same_as_jax
def test_what_is_no_device_is_refused(jax, jnp, what):
    def enter():
        with jax.default_device(what):  # "tpu" is only checked when the device is needed
            jnp.ones(2)

    return raised(enter)


@same_as_jax
def test_an_unknown_option_is_refused(jax, jnp):
    return raised(jax.config.update, "jax_nope", 1)


def test_the_options_are_listed_where_one_is_unknown():
    with pytest.raises(AttributeError, match=r"(?s)nope\n.*enable_x64"):
        config.update("nope", 1)


@pytest.mark.parametrize("name", ["enable_x64", "jax_enable_x64", "jit_cache_size"])
def test_an_option_that_is_assigned_to_is_an_error_and_stays_as_it_was(name):
    before = getattr(config, name)
    with pytest.raises(AttributeError) as caught:
        setattr(jitkit.config, name, True)
    assert getattr(config, name) == before
    assert str(caught.value) == (
        "property of 'Config' object has no setter\n"
        f"Write `config.update({name!r}, True)`, or, for a while, `with config.override(...):`."
    )


def test_jax_refuses_to_assign_to_an_option_too():
    with pytest.raises(AttributeError, match="has no setter"):
        jax.config.jax_enable_x64 = True


def test_what_is_no_option_cannot_be_assigned_either():
    with pytest.raises(AttributeError, match=r"^Unrecognized config option: enable_x46\nThe options are "):
        jitkit.config.enable_x46 = True


def test_options_of_jax_that_do_not_say_what_is_computed_have_its_defaults_and_keep_what_is_set():
    for name, option in options.WITHOUT_EFFECT.items():
        if f"jax_{name}" in jax.config.values:  # later versions of JAX dropped some of these
            assert jitkit.config.values[f"jax_{name}"] == jax.config.values[f"jax_{name}"] == option.default
    for name, value in (
        ("persistent_cache_min_compile_time_secs", 0),
        ("persistent_cache_min_entry_size_bytes", -1),
        ("persistent_cache_enable_xla_caches", "all"),
        ("pprint_use_color", False),
        ("hlo_source_file_canonicalization_regex", ".*"),
    ):
        before = config.value(name)
        try:
            jitkit.config.update(f"jax_{name}", value)
            assert getattr(jitkit.config, f"jax_{name}") == value
        finally:
            jitkit.config.update(name, before)
    for name, value in (
        ("pprint_use_color", "maybe"),
        ("persistent_cache_min_compile_time_secs", "soon"),
        ("logging_level", 3),
    ):
        with pytest.raises(ValueError, match=f"^option {name}: "):
            jitkit.config.update(name, value)
    with pytest.raises(AttributeError, match=r"JAX has `jax\.config\.jax_softmax_custom_jvp`"):
        jitkit.config.update("jax_softmax_custom_jvp", True)  # this option would change what is recorded


GOOD = {
    "enable_x64": [True, 0, 1, "on", "False", np.True_],
    "jit_cache_size": [1, "64", np.int64(3)],
    "compilation_cache_max_size": [0, -1, "-1", np.int64(-1), 10**9, "1 GiB", "512M"],
    "compilation_cache_dir": ["/tmp/x", None, ""],
    "numpy_dtype_promotion": ["strict"],
    "numpy_rank_promotion": ["warn"],
    "traceback_filtering": ["off", "remove_frames", "tracebackhide"],
    "default_matmul_precision": ["highest", "tensorfloat32", "BF16_BF16_F32_X3", None, ""],
    "errors_page": ["errors.html", "file:///tmp/errors.html", None, ""],
    "cc": ["clang", "/usr/bin/gcc -O2", None, ""],
    "platforms": ["cpu", None],
    "threefry_partitionable": [False, 1, "off"],
    "default_device": ["cpu", "tpu", None, jitkit.devices()[0], ""],
}
BAD = {
    "enable_x64": ["maybe", 2, None, [], [1], 0.5],
    "debug_nans": ["maybe"],
    "debug_infs": ["maybe"],
    "num_cpu_devices": [0, -2, "many", 1.5, None, True, ""],
    "jit_cache_size": [0, "0", -1, "-1", "many", 1.5, None, True, ""],
    "compilation_cache_max_size": [-2, "1 parsec", True, 1e9, None],
    "compilation_cache_dir": [3, True],
    "numpy_dtype_promotion": ["loose", None],
    "numpy_rank_promotion": ["sometimes", None, 1],
    "traceback_filtering": [True, "quiet"],
    "default_matmul_precision": [32, "HIGHEST", "bf16", jitkit.lax.Precision.HIGH, ["high"]],
    "errors_page": [3, True],
    "cc": [3, True],
    "platforms": [["cpu"]],
    "default_device": ["cpu:0", 3, True, ["cpu"]],
    "default_prng_impl": ["philox", None],
    "threefry_partitionable": ["older", None, 2],
    **{
        f"transfer_guard{way}": ["forbid", True, 3]
        for way in ("", "_host_to_device", "_device_to_device", "_device_to_host")
    },
}


@pytest.mark.parametrize(("name", "value"), [(name, v) for name, values in GOOD.items() for v in values])
def test_a_value_that_an_option_takes_is_kept(name, value):
    with config.override(**{name: value}):
        assert name in config.local.state.overrides  # as given, or converted: 512M is a number of bytes


@pytest.mark.parametrize(("name", "value"), [(name, v) for name, values in BAD.items() for v in values])
def test_a_value_that_an_option_does_not_take_is_refused_with_a_sentence(name, value):
    before = config.value(name)
    with pytest.raises(ValueError, match=rf"^option {name}: (expected|only|new enum value must be) ") as caught:
        config.update(name, value)
    assert f"{value!r}" in str(caught.value) or f"got {value} of type" in str(caught.value)
    assert config.value(name) == before


@pytest.mark.parametrize("value", ["x", 32, "HIGHEST"])
@pytest.mark.parametrize("name", ["default_matmul_precision", "numpy_rank_promotion"])
def test_a_choice_is_refused_in_jax_s_words_when_it_is_made(name, value):
    with pytest.raises(ValueError, match="new enum value") as theirs:
        jax.config.update(f"jax_{name}", value)
    with pytest.raises(ValueError, match="new enum value") as ours, config.override(**{name: value}):
        pass
    assert str(ours.value) == f"option {name}: {theirs.value}"


def test_every_precision_that_an_option_may_name_is_one_of_a_product():
    for name in options.PRECISIONS:
        with jax.default_matmul_precision(name), jitkit.default_matmul_precision(name):
            theirs = jax.make_jaxpr(jax.numpy.dot)(np.ones(2, np.float32), np.ones(2, np.float32))
            assert str(jitkit.make_jaxpr(jitkit.numpy.dot)(np.ones(2, np.float32), np.ones(2, np.float32))) == str(
                theirs
            )


def test_every_option_has_values_that_are_refused():
    booleans = {name for name, option in options.OPTIONS.items() if option.parse is options.boolean}
    assert set(options.OPTIONS) - booleans <= set(BAD)


def imported_with(**variables):
    """Import jitkit in a process with these environment variables; return the process."""
    program = "import jitkit; from jitkit.base import config; print(config.value('jit_cache_size'))"
    env = {**os.environ, **variables}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=env)


def test_a_variable_that_is_none_of_ours_is_warned_of_once_with_the_nearest():
    done = imported_with(JITKIT_NONSENSE="1", JITKIT_ENABLE_X46="1", JITKIT_COMPILATION_CACHE_DIR="x", JITKIT_LABS="x")
    warnings = [line.partition("Warning: ")[2] for line in done.stderr.splitlines() if "Warning: " in line]
    assert [text.split(" there are")[0] for text in warnings] == [
        "jitkit knows no environment variable JITKIT_COMPILATION_CACHE_DIR; did you mean JITKIT_CACHE_DIR?",
        "jitkit knows no environment variable JITKIT_ENABLE_X46; did you mean JITKIT_ENABLE_X64?",
        "jitkit knows no environment variable JITKIT_NONSENSE;",
    ]
    assert done.stdout == "4096\n"


def test_a_variable_with_a_bad_value_stops_the_import_with_a_sentence():
    done = imported_with(JITKIT_JIT_CACHE_SIZE="-1")
    sentence = "environment variable JITKIT_JIT_CACHE_SIZE: expected a whole number, 1 or more, got '-1'"
    assert done.stderr.splitlines()[-1] == f"ValueError: {sentence}"
    assert imported_with(JITKIT_JIT_CACHE_SIZE="7").stdout == "7\n"


def test_platforms_are_chosen_before_the_first_device_is_asked_for():
    program = (
        "import jitkit, jitkit.numpy as jnp\n"
        "jitkit.config.update('jax_platform_name', 'abacus')\n"
        "try: jnp.ones(2)\n"
        "except RuntimeError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "abacus" in done.stdout, done.stderr


def test_types_for_annotations_are_those_of_jax():
    def members(alias):
        return {(typing.get_origin(part) or part).__name__.split(".")[-1] for part in typing.get_args(alias)}

    assert members(jitkit.typing.ArrayLike) == members(jax.typing.ArrayLike) - {"TypedNdArray", "LiteralArray"}
    assert members(jitkit.typing.DTypeLike) == members(jax.typing.DTypeLike)


@pytest.mark.parametrize(
    "context",
    [
        lambda jax: jax.debug_nans(True),
        lambda jax: jax.debug_infs(True),
        lambda jax: jax.default_device(jax.devices()[0]),
        lambda jax: jax.default_device("cpu"),
        lambda jax: jax.default_device(None),
        lambda jax: jax.enable_x64(True),
        lambda jax: jax.default_matmul_precision("float32"),
        lambda jax: jax.numpy_rank_promotion("raise"),
        lambda jax: jax.numpy_dtype_promotion("strict"),
        lambda jax: jax.log_compiles(False),
        lambda jax: jax.explain_cache_misses(False),
        lambda jax: jax.checking_leaks(),
    ],
)
@same_as_jax
def test_which_contexts_a_function_is_traced_anew_for(jax, jnp, context):
    traces, inner_traces = [], []
    inner = jax.jit(lambda x: inner_traces.append(1) or x * 2)
    f = jax.jit(lambda x: traces.append(1) or inner(x) + 1)
    f(1.0)
    with context(jax):
        f(1.0), inner(1.0)
    f(1.0)
    with context(jax):
        f(1.0)
    return len(traces), len(inner_traces), f._cache_size(), inner._cache_size()


def test_explain_names_the_context():
    f = jitkit.jit(lambda x: x + 1)
    f(1.0)
    with jitkit.default_device(jitkit.devices()[0]):
        f(1.0)
    assert "the option default_device: None before, CpuDevice(id=0) now" in str(jitkit.explain(f))
    with jitkit.debug_nans(True):
        f(1.0)
    last = str(jitkit.explain(f)).rsplit("\n\n", 1)[-1]
    assert "debug_nans: False before, True now" in last
    assert "traced" not in last or "neither traced" in last


def test_a_nan_is_found_in_what_was_traced_before():
    f = jitkit.jit(lambda x: jitkit.numpy.log(x))
    f(-1.0)
    with jitkit.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        f(-1.0)
    assert np.isnan(f(-1.0))
