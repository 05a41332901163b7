"""Options for a while, and questions about the machine, under JAX's names."""

from __future__ import annotations

import subprocess
import sys
import typing

import jax
import numpy as np
import pytest
from twin import raised, same_as_jax

import jitkit
from jitkit.base import config

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


@pytest.mark.parametrize(
    "precision", ["float32", "highest", "high", "tensorfloat32", "bfloat16", "default", None]
)
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
    return add("allow"), kind, line.split(" For more")[0]  # the address of the page depends on the version


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


def test_another_default_device_is_refused():
    with (
        pytest.raises(NotImplementedError, match="device_put"),
        jitkit.default_device(object()),
    ):
        raise AssertionError("the block is not entered")


@same_as_jax
def test_an_unknown_option_is_refused(jax, jnp):
    return raised(jax.config.update, "jax_nope", 1)


def test_the_options_are_listed_where_one_is_unknown():
    with pytest.raises(AttributeError, match=r"(?s)nope\n.*enable_x64"):
        config.update("nope", 1)


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

    assert members(jitkit.typing.ArrayLike) == members(jax.typing.ArrayLike) - {
        "TypedNdArray",
        "LiteralArray",
    }
    assert members(jitkit.typing.DTypeLike) == members(jax.typing.DTypeLike)
