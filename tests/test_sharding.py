"""Programs over several devices: XLA partitions them, jitkit says where the parts are."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import jax
import pytest
from lax_oracle import JAXPRS_ARE_OURS

import jitkit
import jitkit.sharding

ROOT = pathlib.Path(__file__).parents[1]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(ROOT),
    "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8",
    "JAX_PLATFORMS": "cpu",
}


def run(*command):
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_in_shardings_out_shardings_and_device_put_do_what_they_do_in_jax():
    program = str(ROOT / "tests" / "sharded_calls.py")
    # JAX 0.12 prints the line at fault, in addition to the error.
    ours, theirs = ([x for x in run(program, name) if program not in x] for name in ("jitkit", "jax"))
    assert len(theirs) > 30
    assert ours == theirs


PROGRAM = """
    import json
    import numpy as np
    import jitkit as jax, jitkit.numpy as jnp
    from jitkit.sharding import Mesh, NamedSharding, PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    place = lambda x, *axes: jax.device_put(x, NamedSharding(mesh, P(*axes)))
    draw = np.random.default_rng(0).standard_normal
    x, w = draw((64, 32), dtype=np.float32), draw((32, 16), dtype=np.float32) / 10

    def loss(w, x):
        return jnp.mean(jnp.tanh(x @ w) ** 2)

    def layer(x, w):
        return jnp.tanh(x @ w)

    def steps(x, w):
        return jax.lax.fori_loop(0, 3, lambda i, y: jnp.sin(y @ w @ w.T), x)

    found = {}
    for name, f, args, spread in (
        ("a data-parallel reduction", loss, (w, x), (place(w), place(x, "data"))),
        ("a sharded matmul", layer, (x, w), (place(x, "data"), place(w, None, "model"))),
        ("a matmul over the summed axis", layer, (x, w), (place(x, None, "data"), place(w, "data"))),
        ("a loop", steps, (x, w), (place(x, "data"), place(w, None, "model"))),
    ):
        jitted = jax.jit(f)
        alone, together = jitted(*args), jitted(*spread)
        text = jitted.lower(*spread).compile().as_text()
        found[name] = {
            "difference": float(np.abs(np.asarray(alone) - np.asarray(together)).max()),
            "devices": len(together.devices()),
            "collectives": sorted({w for w in ("all-reduce", "all-gather") if w + "(" in text}),
            "spec": str(together.sharding.spec),
            "shardy": "sdy.mesh" in jitted.lower(*spread).as_text(),
        }
    print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def runs():
    [line] = run("-c", textwrap.dedent(PROGRAM))
    return json.loads(line)


@pytest.mark.parametrize(
    ("name", "spec", "collectives"),
    [
        ("a data-parallel reduction", "P()", ["all-reduce"]),
        ("a sharded matmul", "P('data', 'model')", []),
        ("a matmul over the summed axis", "P()", ["all-reduce"]),
        ("a loop", "P('data',)", ["all-reduce"]),
    ],
)
def test_spread_over_eight_devices_a_program_gives_what_it_gives_on_one(runs, name, spec, collectives):
    found = runs[name]
    assert found["difference"] < 1e-5
    assert found["devices"] == 8
    assert found["shardy"]
    assert found["spec"] == spec
    assert found["collectives"] == collectives


def test_a_jit_with_shardings_in_another_one_is_what_it_is_in_jax():
    """What is recorded, to the letter; where results are, and their values; or what is refused."""
    program = str(ROOT / "tests" / "sharded_inside.py")
    ours, theirs = (run(program, name) for name in ("jitkit", "jax"))
    assert len(theirs) > 500
    values = [
        [line for line in lines if not JAXPRS_ARE_OURS and line.startswith("value")] or lines
        for lines in (ours, theirs)
    ]
    assert values[0] == values[1]


def test_a_constraint_is_written_around_the_call_of_a_function_with_shardings():
    program = """
        import numpy as np
        import jitkit as jax
        from jitkit.sharding import Mesh, NamedSharding, PartitionSpec as P

        mesh = Mesh(np.array(jax.devices()).reshape(8), ("x",))
        inner = jax.jit(lambda x: x + 1, in_shardings=NamedSharding(mesh, P("x")), out_shardings=NamedSharding(mesh, P()))
        print(jax.jit(lambda x: inner(x) * 2).lower(np.ones(8, np.float32)).as_text())
        """
    text = "\n".join(run("-c", textwrap.dedent(program)))
    assert "mhlo.num_partitions = 8" in text
    assert 'sdy.mesh @mesh = <["x"=8]>' in text
    order = (
        '%0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}]>',
        "call @",
        "%2 = sdy.sharding_constraint %1 <@mesh, [{}]>",
    )
    assert sorted(map(text.index, order)) == list(map(text.index, order))


def test_the_classes_of_jitkit_sharding_are_those_of_jax():
    assert jitkit.sharding.NamedSharding is jax.sharding.NamedSharding
    assert "PartitionSpec" in dir(jitkit.sharding)
    with pytest.raises(AttributeError, match=r"jitkit\.sharding"):
        jitkit.sharding.__getattr__("Fence")
