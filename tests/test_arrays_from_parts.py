"""Arrays made of parts that are given, and what a program learns of its arrays and its machine."""

from __future__ import annotations

import gc
import os
import pathlib
import subprocess
import sys

import jax
import numpy as np
import pytest
from twin import raised, same_as_jax

import jitkit

PROGRAM = pathlib.Path(__file__).with_name("sharded_parts.py")


def printed(*command, **variables):
    environment = os.environ | {"PYTHONPATH": str(PROGRAM.parents[1]), "JAX_PLATFORMS": "cpu"} | variables
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_arrays_are_made_of_parts_and_refused_as_in_jax():
    ours, theirs = (
        printed(str(PROGRAM), name, XLA_FLAGS="--xla_force_host_platform_device_count=8") for name in ("jitkit", "jax")
    )
    assert len(theirs) > 40
    assert ours == theirs


@same_as_jax
def test_one_process_has_all_of_an_array(jax, jnp):
    make, place, data = (
        jax.make_array_from_process_local_data,
        jnp.ones(1).sharding,
        {"a": np.ones((2, 3)), "b": np.ones(2)},
    )
    return (
        make(place, data["a"]),
        make({"a": place, "b": place}, data, {"a": (2, 3), "b": None}),
        make(place, data["a"], (2, 3)).committed,
        raised(make, place, data["a"], (4, 3)),
        raised(make, place, data, {"a": (2, 3)})[0],
    )


def test_keys_are_parts_too():
    keys = jitkit.random.split(jitkit.random.key(0), 4)
    whole = jitkit.make_array_from_callback((4,), keys.sharding, lambda index: keys[index])
    assert (whole.shape, whole.dtype, whole.committed) == ((4,), keys.dtype, True)
    again = jitkit.make_array_from_single_device_arrays((4,), keys.sharding, [whole])
    assert (jitkit.random.key_data(again) == jitkit.random.key_data(keys)).all()


def test_one_device_needs_no_jax():
    code = """
        import sys, jitkit, numpy as np
        x = jitkit.numpy.arange(3.0)
        made = jitkit.make_array_from_callback((3,), x.sharding, lambda index: np.ones(3)[index])
        print(made + jitkit.make_array_from_single_device_arrays((3,), x.sharding, [x]), "jax" in sys.modules)
        print(len(jitkit.live_arrays()) > 0, "jax" in sys.modules)
    """
    found = printed("-c", "\n".join(line[8:] for line in code.splitlines()))
    assert found == ["[1. 2. 3.] False", "True False"]


@pytest.mark.parametrize("lib", [jitkit, jax], ids=lambda lib: lib.__name__)
def test_live_arrays_are_those_that_take_memory(lib):
    def of_this_shape():
        return [each for each in lib.live_arrays() if each.shape == (7, 11, 13)]

    gc.collect()
    assert of_this_shape() == []
    kept, dropped = lib.numpy.ones((7, 11, 13), "int8"), lib.device_put(np.ones((7, 11, 13), np.float32))
    assert sorted(str(each.dtype) for each in of_this_shape()) == ["float32", "int8"]
    assert sorted(each.committed for each in of_this_shape()) == [False, False]
    del dropped
    gc.collect()
    (found,) = of_this_shape()
    assert isinstance(found, lib.Array)
    assert (found == kept).all()
    assert of_this_shape() != []
    found.delete()
    assert kept.is_deleted()
    assert of_this_shape() == []
    assert lib.live_arrays("cpu") is not None
    assert raised(lib.live_arrays, "abacus")[0] == "RuntimeError"


def test_the_environment_is_told_as_jax_tells_it(monkeypatch, capsys):
    monkeypatch.setenv("JAX_OF_THIS_TEST", "1")
    ours, theirs = (lib.print_environment_info(return_string=True).splitlines() for lib in (jitkit, jax))
    assert [line for line in ours if not line.startswith(("jitkit: ", "JITKIT_"))] == theirs
    assert f"jitkit: {jitkit.__version__}" in ours
    assert "JAX_OF_THIS_TEST=1" in ours
    assert jitkit.print_environment_info() is None
    assert capsys.readouterr().out.splitlines() == ours
