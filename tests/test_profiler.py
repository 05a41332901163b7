"""Profiles: jaxlib takes them, of programs of jitkit's as of JAX's."""

from __future__ import annotations

import gzip
import importlib
import json

import numpy as np
import pytest
from twin import same_as_jax

import jitkit
import jitkit.numpy as jnp
from jitkit import profiler


def _events(folder):
    """Return the names of a profile's events."""
    (written,) = folder.glob("plugins/profile/*/perfetto_trace.json.gz")
    return {event.get("name") for event in json.loads(gzip.decompress(written.read_bytes()))["traceEvents"]}


def test_a_profile_names_programs_blocks_steps_and_functions(tmp_path):
    @profiler.annotate_function
    def my_function(x):
        return f(x).block_until_ready()

    f = jitkit.jit(lambda x: jnp.sin(x @ x).sum())
    x = jnp.ones((50, 50))
    with profiler.trace(tmp_path, create_perfetto_trace=True):
        with profiler.TraceAnnotation("my block", note=3):
            f(x).block_until_ready()
        with profiler.StepTraceAnnotation("train", step_num=1):
            f(x).block_until_ready()
        assert float(my_function(x)) == float(f(x))
        with pytest.raises(RuntimeError, match="Profile has already been started"):
            profiler.start_trace(tmp_path)
    found = _events(tmp_path)
    assert {"my block", "train"} <= found
    assert any(str(name).endswith("my_function") for name in found)
    assert any("jit__lambda" in str(name) for name in found)  # XLA's compilation


def test_options_say_what_a_profile_has(tmp_path):
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    profiler.start_trace(tmp_path, create_perfetto_trace=True, profiler_options=options)
    try:
        with profiler.TraceAnnotation("my block"):
            _called_in_a_profile()
    finally:
        profiler.stop_trace()
    found = _events(tmp_path)
    assert "my block" in found
    assert not any("_called_in_a_profile" in str(name) for name in found)


def _called_in_a_profile():
    return jnp.ones(3) + 1


@same_as_jax
def test_what_was_not_started_cannot_be_stopped(jax, jnp):
    profiler = importlib.import_module(f"{jax.__name__}.profiler")
    found = []
    for stop in (profiler.stop_trace, profiler.stop_server):
        try:
            found.append(stop())
        except (RuntimeError, ValueError) as error:
            found.append((type(error).__name__, str(error)))
    return found


def test_nothing_is_served_to_perfetto(tmp_path):
    with pytest.raises(NotImplementedError, match="Pass create_perfetto_trace=True, and open the file"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)


def test_a_profile_of_memory_names_the_place_where_an_array_was_made(tmp_path):
    kept = jnp.ones((64, 64))
    profiler.save_device_memory_profile(str(tmp_path / "memory.prof"), backend="cpu")
    found = gzip.decompress((tmp_path / "memory.prof").read_bytes())
    assert np.size(kept) == 4096
    assert b"buffer" in found
    assert gzip.decompress(profiler.device_memory_profile())[:1] == found[:1]
