"""`jax.experimental.serialize_executable`: a compiled function in another process, or loaded again in this one."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import jitkit
import jitkit.numpy as jnp
from jitkit.experimental.serialize_executable import deserialize_and_load, serialize

_LARGE = np.arange(4096, dtype=np.float32)  # lowering keeps it outside of the text
_LOAD = """\
import pickle, sys
import jitkit.runtime, jitkit.numpy as jnp
from jitkit.experimental.serialize_executable import deserialize_and_load
texts, compile_text = [], jitkit.runtime.compile_text
def recorded(text, *args):
    texts.append(text)
    return compile_text(text, *args)
jitkit.runtime.compile_text = recorded
with open(sys.argv[1], "rb") as file:
    loaded = deserialize_and_load(*pickle.load(file))
args = {"w": jnp.ones((3, 3))}, jnp.arange(3.0) + 0
before = len(texts)
result = loaded(*args, k=2.0)
print(result["a"].tolist(), before, len(texts) - before)
"""


def _f(p: dict[str, jitkit.Array], y: jitkit.Array, *, k: float) -> dict[str, jitkit.Array]:
    return {"a": p["w"] @ y, "c": _LARGE * k}


def _compiled() -> jitkit.stages.Compiled:
    return jitkit.jit(_f).lower({"w": jnp.ones((3, 3))}, jnp.arange(3.0), k=2.0).compile()


def test_another_process_runs_a_compiled_function_that_it_does_not_have(tmp_path: pathlib.Path) -> None:
    parts = serialize(_compiled())
    assert [type(part) for part in parts] == [bytes, type(parts[1]), type(parts[1])]
    (tmp_path / "f").write_bytes(pickle.dumps(parts))
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, str(tmp_path / "f")], capture_output=True, text=True, check=True
    )
    said, before, during = done.stdout.rsplit(" ", 2)
    assert said == "[3.0, 3.0, 3.0]"
    assert int(before) > 0
    assert int(during) == 0


def test_a_loaded_function_knows_its_signature_and_checks_its_arguments() -> None:
    compiled = _compiled()
    loaded = deserialize_and_load(*serialize(compiled))
    assert loaded.in_tree == compiled.in_tree
    assert loaded.out_tree == compiled.out_tree
    assert loaded.args_info == compiled.args_info
    assert loaded.as_text() == compiled.as_text()
    with pytest.raises(TypeError, match=r"'y' compiled with float32\[3\] and called with float32\[4\]"):
        loaded({"w": jnp.ones((3, 3))}, jnp.arange(4.0), k=2.0)
    with pytest.raises(TypeError, match="input pytree"):
        loaded({"w": jnp.ones((3, 3))}, jnp.arange(3.0))


def test_donated_and_unused_arguments_stay_so() -> None:
    f = jitkit.jit(lambda x, unused, y: x + y, donate_argnums=0)
    args = jnp.arange(4.0), jnp.ones(3), jnp.ones(4)
    loaded = deserialize_and_load(*serialize(f.lower(*args).compile()))
    assert loaded(*args).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert args[0].is_deleted()
    assert loaded.donate_argnums == (0,)


def test_programs_that_need_this_process_are_refused() -> None:
    def f(x: jitkit.Array) -> jitkit.Array:
        jitkit.debug.print("{}", x)
        return x

    with pytest.raises(ValueError, match="does not support serialization"):
        serialize(jitkit.jit(f).lower(1.0).compile())


def test_devices_are_of_the_backend() -> None:
    parts = serialize(_compiled())
    device = jitkit.devices()[0]
    for backend in (None, "cpu", device.client):
        loaded = deserialize_and_load(*parts, backend=backend, execution_devices=[device])
        assert loaded({"w": jnp.ones((3, 3))}, jnp.arange(3.0), k=2.0)["a"].tolist() == [3.0] * 3
