"""jitkit works on jaxlib alone, and beside JAX in either order of import. Each program runs in a fresh process."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
import tails

ROOT = pathlib.Path(__file__).parents[1]

HAS_NO_JAX = """
import sys
import numpy as np
import jitkit as jk
import jitkit.numpy as jnp

def of_jax():
    return [name for name in sys.modules if name.partition(".")[0] == "jax"]
"""

CANNOT_IMPORT_JAX = """
import sys

class NoJax:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "jax":
            raise ModuleNotFoundError(f"No module named {name!r} (blocked by the test)", name=name)

sys.meta_path.insert(0, NoJax())
"""


def run(program: str, before: str = HAS_NO_JAX, *arguments: str, **environment: str) -> list[str]:
    """Return the lines that a program prints, which must end well, on the CPU unless `environment` says something else. In
    `make test` XLA compiles there as it does here: in a fraction of its time.
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_", "JITKIT_"))}
    if not tails.with_tails:
        env["XLA_FLAGS"] = os.environ["XLA_FLAGS"]
    done = subprocess.run(
        [sys.executable, "-c", before + textwrap.dedent(program), *arguments],
        capture_output=True, text=True, cwd=ROOT, check=False, env=env | environment, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# --- stage by stage, JAX is not imported ----------------------------------------------------------------------------

STAGES = {
    "eager": "assert np.allclose(jnp.sin(jnp.arange(3.0)) * 2, np.sin([0, 1, 2]) * 2, atol=1e-6)",
    "jit": "assert jk.jit(lambda x: x + 1)(jnp.ones(3)).tolist() == [2, 2, 2]",
    "jit of host values": """
        f = jk.jit(lambda x, y: x * y)
        assert [f(np.arange(3.0), 2.0).dtype.name for _ in range(3)] == ["float32"] * 3
        assert f(2.0, np.float64(3)).tolist() == 6 == f(3, 2).tolist()
        with jk.enable_x64(True):
            assert [f(np.arange(3.0), 2.0).dtype.name for _ in range(3)] == ["float64"] * 3
            assert f(np.arange(3.0), 2.0).tolist() == [0, 2, 4]
        """,
    "grad": "assert jk.grad(lambda x: (x ** 2).sum())(jnp.arange(3.0)).tolist() == [0, 2, 4]",
    "vmap": "assert jk.vmap(lambda x: x @ x)(jnp.ones((2, 3))).tolist() == [3, 3]",
    "control flow": "assert jk.lax.scan(lambda c, x: (c + x, c), 0.0, jnp.arange(3.0))[1].tolist() == [0, 0, 1]",
    "random": "assert jk.random.normal(jk.random.key(0), (2,)).shape == (2,)",
    "lapack": "assert np.allclose(jnp.linalg.inv(jnp.eye(3) * 2), np.eye(3) / 2)",
    "the sharding of an array": """
        x = jnp.arange(3.0)
        f = jk.jit(lambda x, y: x * 2 + y, in_shardings=(None, x.sharding), out_shardings=x.sharding)
        assert f(x, x).tolist() == f.lower(x, x).compile()(x, x).tolist() == jk.jit(f)(x, x).tolist() == [0, 3, 6]
        """,
    "programs that are compared by running": """
        from jitkit.kata.engine.run_stablehlo import run_stablehlo
        for f in (lambda x: x * 2, lambda x: (x > 1, x.astype("bfloat16"), x[:0], jnp.float16(2))):
            expected = [np.asarray(leaf) for leaf in jk.tree.leaves(f(jnp.arange(3.0)))]
            found = run_stablehlo(jk.jit(f).lower(jnp.arange(3.0)).as_text(), [np.arange(3, dtype=np.float32)])
            assert [(x.dtype, x.tolist()) for x in found] == [(x.dtype, x.tolist()) for x in expected]
        """,
    "callbacks": """
        shape = jk.ShapeDtypeStruct((3,), np.float32)
        f = jk.jit(lambda x: jk.pure_callback(lambda x: np.asarray(x) + 1, shape, x))
        assert f(jnp.zeros(3)).tolist() == [1, 1, 1]
        """,
    "ordered effects": """
        @jk.jit
        def f(x):
            jk.debug.print("x={x}", x=x, ordered=True)
            return x + 1
        f(f(jnp.zeros(2)))
        jk.effects_barrier()
        """,
    "ahead of time": """
        lowered = jk.jit(jnp.sin).lower(jnp.ones(3))
        compiled = lowered.compile()
        assert compiled(jnp.zeros(3)).tolist() == [0, 0, 0] and compiled.cost_analysis() and compiled.memory_analysis()
        assert "HloModule" in lowered.compiler_ir("hlo").as_hlo_text() and "sine" in str(lowered.compiler_ir())
        """,
    "donation": """
        x = jnp.ones(3) + 0
        jk.jit(lambda x: x * 2, donate_argnums=0)(x)
        assert x.is_deleted()
        try:
            x + 1
        except (RuntimeError, ValueError) as error:
            assert "donate_argnums" in str(error)
        """,
    "errors of XLA": """
        try:
            jk.runtime.compile_text("no module", jk.devices())
        except jk.errors.JaxRuntimeError as error:
            assert "line 1 of the StableHLO text" in str(error)
        """,
    "what an array says of its place": """
        x = jnp.arange(3.0)
        y = jk.device_put(x, jk.devices()[0])
        assert (x.committed, y.committed) == (False, True) and y.tolist() == [0, 1, 2]
        assert x.sharding == y.sharding and hash(x.sharding) == hash(y.sharding) and x.device in x.devices()
        assert y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer() == np.asarray(x).ctypes.data
        assert x.is_fully_addressable and x.is_fully_replicated and x.on_device_size_in_bytes() == 12
        assert jk.jit(lambda x, y: x + y)(x, y).committed and jk.device_put(x, x.sharding).committed
        x.copy_to_host_async()
        assert jk.default_backend() == "cpu" and jk.device_count() == 1
        """,
    "numbers that Python's buffers do not know": """
        for name in ("bfloat16", "float8_e4m3fn"):
            x = jnp.array([[1.0, 2.0, -3.0]], name)
            assert np.asarray(x).dtype == name and np.asarray(x).astype(float).tolist() == [[1, 2, -3]]
            assert float((x + x)[0, 1]) == 4 and np.asarray(jnp.zeros((0, 2), name)).shape == (0, 2)
            view = np.asarray(x)
            x.delete()
            assert view.astype(float).tolist() == [[1, 2, -3]] and not view.flags.writeable
        """,
    "DLPack": """
        x = jnp.arange(3.0)
        assert np.from_dlpack(x).ctypes.data == x.unsafe_buffer_pointer()
        assert jnp.from_dlpack(np.arange(3, dtype=np.float32)).tolist() == [0, 1, 2]
        """,
    "pickle": """
        import pickle
        assert pickle.loads(pickle.dumps(jnp.arange(3))).tolist() == [0, 1, 2]
        """,
    "platforms that are not there": """
        try:
            jk.devices("tpu")
        except RuntimeError as error:
            assert "Unknown backend tpu" in str(error)
        """,
    "threads": """
        import threading
        results = []
        def work(i):
            results.append((jk.jit(lambda x: x + i)(jnp.arange(3)).sum().item(), id(jk.devices()[0])))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        [thread.start() for thread in threads], [thread.join() for thread in threads]
        assert sorted(total for total, _ in results) == [3 + 3 * i for i in range(8)] and len({d for _, d in results}) == 1
        """,
    "the end of a process that is computing": "jk.jit(lambda x: jk.lax.fori_loop(0, 300, lambda i, x: x @ x, x))(jnp.ones((100, 100)))",
}  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_does_not_import_jax(stage):
    program = (
        textwrap.dedent(STAGES[stage]) + "\nassert of_jax() == [], of_jax()\nprint('without', jk.jit(jnp.sin)(0.0))"
    )
    assert run(program)[-1] == "without 0.0"


def test_a_first_jitted_result_loads_no_derivatives_and_nothing_large_of_the_library():
    program = """
        jk.jit(lambda x: jnp.sin(x) * 2 + x.sum())(jnp.arange(3.0))
        ours = [name for name in sys.modules if name.startswith("jitkit")]
        late = {"jitkit.derivatives", "jitkit.custom_derivatives.vjp", "jitkit.lax.linalg", "jitkit.lax.convolution", "importlib.metadata"}
        print(sorted(late & set(sys.modules)), len(ours) <= 125)
        print(jk.custom_vjp.__name__, jk.custom_derivatives.custom_jvp is jk.custom_jvp, len(dir(jk.custom_derivatives)) > 20)
        """
    assert run(program) == ["[] True", "custom_vjp True True"]


def test_every_stage_works_where_jax_cannot_be_imported():
    program = "\n".join(textwrap.dedent(STAGES[stage]) for stage in STAGES)
    numbers_of_4_bits = "assert (jnp.array([1, -2, 3], 'int4') + 1).tolist() == [2, -1, 4]"
    assert run(f"{program}\n{numbers_of_4_bits}\nprint(of_jax())", CANNOT_IMPORT_JAX + HAS_NO_JAX)[-1] == "[]"


def test_the_tour_works_where_jax_cannot_be_imported(tmp_path):
    program = "from jitkit.kata.command import cli; status = cli.main(['tour', '--output', sys.argv[1]]); print(status)"
    lines = run(program, CANNOT_IMPORT_JAX, str(tmp_path))
    assert lines[-1] == "0"
    assert (tmp_path / "tour.png").exists()
    for arrow in ("call → signature + leaves", "function + avals → Jaxpr", "StableHLO → executable"):
        assert any(arrow in line for line in lines)


def test_executables_are_kept_on_disk_without_jax(tmp_path):
    program = """
        jk.config.update("compilation_cache_dir", sys.argv[1])
        print(jk.jit(lambda x: jnp.linalg.inv(x) + 1)(jnp.eye(2)).tolist(), of_jax())
        """
    first, second = (run(program, HAS_NO_JAX, str(tmp_path)) for _ in range(2))
    assert first == second == ["[[2.0, 1.0], [1.0, 2.0]] []"]
    assert any(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX: processes that fork")
def test_a_process_that_has_opened_the_gate_may_fork_before_it_asks_for_a_device():
    program = """
        import os
        jk.runtime.gate()
        child = os.fork()
        if not child:
            os._exit(int(jnp.arange(4).sum()))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), of_jax())
        """
    assert run(program, OPENBLAS_NUM_THREADS="1") == ["6 []"]


# --- beside JAX -----------------------------------------------------------------------------------------------------

SHARED = """
assert jax.devices() == jk.devices() and jax.devices()[0] is jk.devices()[0]
theirs = jax.numpy.arange(3.0) + 1
assert jnp.asarray(theirs).unsafe_buffer_pointer() == theirs.unsafe_buffer_pointer()
assert jax.numpy.asarray(ours).unsafe_buffer_pointer() == ours.unsafe_buffer_pointer()
assert jax.numpy.sin(ours).tolist() == jnp.sin(ours).tolist()
assert jax.jit(lambda x, y: x + y)(ours, put).tolist() == [0, 2, 4] == jk.jit(lambda x, y: x + y)(ours, put).tolist()
assert jax.jit(lambda x: x + 1)(brain).tolist() == [1, 2, 3] and np.asarray(brain).astype(int).tolist() == [0, 1, 2]
assert jax.vmap(lambda x: x * 2)(compiled(ours)).tolist() == [4, 6, 8] == (compiled(theirs) * 2 - 2).tolist()
assert (ours + theirs).tolist() == [1, 3, 5] and jax.numpy.asarray(jnp.arange(3) * 2.0).weak_type
put_by_jax = jax.device_put(ours, jax.devices()[0])
compiled_twice = jk.jit(lambda x: traced.append(x) or x + 1)
assert compiled_twice(put).tolist() == compiled_twice(put_by_jax).tolist() == [1, 2, 3] and len(traced) == 1
assert put.sharding == put_by_jax.sharding == jax.sharding.SingleDeviceSharding(jax.devices()[0])
assert repr(put.sharding) == repr(put_by_jax.sharding) and isinstance(put.sharding, jk.sharding.Sharding)
assert [shard.data.tolist() for shard in ours.addressable_shards] == [[0, 1, 2]]
assert jnp.from_dlpack(theirs).unsafe_buffer_pointer() == theirs.unsafe_buffer_pointer()
assert jax.dlpack.from_dlpack(ours).tolist() == [0, 1, 2]
assert jax.numpy.linalg.inv(jax.numpy.eye(2) * 2).tolist() == jnp.linalg.inv(jnp.eye(2) * 2).tolist()
donated = jnp.ones(3) + 0
jax.numpy.asarray(donated)
jk.jit(lambda x: x * 2, donate_argnums=0)(donated)
assert donated.is_deleted()
for x64 in (False, True):
    with jax.enable_x64(x64), jk.enable_x64(not x64):
        assert jk.jit(lambda x, y: x * y)(2.0, np.arange(3.0)).dtype == jnp.arange(3.0).dtype
        assert jax.jit(lambda x, y: x * y)(2.0, np.arange(3.0)).dtype == jax.numpy.arange(3.0).dtype
print("shared")
"""

OURS = """
ours, traced = jnp.arange(3.0), []
put, brain, compiled = jk.device_put(ours, jk.devices()[0]), jnp.arange(3).astype("bfloat16"), jk.jit(lambda x: x + 2)
compiled(ours), compiled(np.arange(3.0)), jk.jit(lambda x: traced.append(x) or x + 1)(put), jnp.linalg.inv(jnp.eye(2))
traced.clear()
"""

ORDERS = {
    "jax before jitkit": "import jax, jax.numpy",
    "jax between the import and the first array": HAS_NO_JAX + "import jax, jax.numpy",
    "jax after the first array": HAS_NO_JAX + OURS + "assert of_jax() == []\nimport jax, jax.numpy",
    "jax's first array before ours": HAS_NO_JAX + "import jax, jax.numpy; jax.numpy.ones(3)",
    "jax's first array before the import": "import jax, jax.numpy; jax.numpy.ones(3)",
    "jax after the gate, before a device": HAS_NO_JAX + "jk.runtime.gate(); import jax, jax.numpy; jax.numpy.ones(3)",
    "jax because several devices are asked for": HAS_NO_JAX + OURS + "jk.sharding.Mesh; import jax.numpy, jax",
}


@pytest.mark.parametrize("order", ORDERS)
def test_jax_and_jitkit_share_client_and_buffers(order):
    program = ORDERS[order]
    rest = SHARED if "ours, traced" in program else OURS + SHARED
    assert run(rest, f"{program}\n{HAS_NO_JAX}\n") == ["shared"]


def test_jax_may_be_imported_by_one_thread_while_another_makes_the_first_array():
    program = """
        import threading, importlib
        go = threading.Barrier(2)
        def of_jaxs():
            go.wait()
            global jax
            jax = importlib.import_module("jax")
            jax.numpy.ones(3)
        thread = threading.Thread(target=of_jaxs)
        thread.start()
        go.wait()
        jnp.arange(3.0) + 1
        thread.join()
        """
    assert run(textwrap.dedent(program) + OURS + SHARED) == ["shared"]


def test_what_jax_sets_to_the_classes_of_jaxlib_takes_the_place_of_what_we_set():
    program = """
        jnp.ones(3)
        classes = [getattr(jk.runtime.gate().ext, name) for name in ("Sharding", "SingleDeviceSharding", "ArrayImpl")]
        was = [(each, name, method) for each in classes for name, method in vars(each).items()]
        ours = [entry for entry in was if "python_halves" in str(getattr(getattr(entry[2], "fget", entry[2]), "__module__", ""))]
        import jax
        print(len(ours) > 8, [name for each, name, method in ours if vars(each)[name] is method])
        """
    assert run(program) == ["True []"]


def test_several_devices_come_from_one_client_in_either_order():
    program = """
        x = jnp.arange(8.0)
        assert len(jk.devices()) == 4 and of_jax() == []
        import jax
        mesh = jk.sharding.Mesh(np.array(jk.devices()), ("x",))
        spread = jk.device_put(x, jk.sharding.NamedSharding(mesh, jk.sharding.PartitionSpec("x")))
        assert len(spread.addressable_shards) == 4 and len(spread.devices()) == 4 and jax.devices() == jk.devices()
        print(jk.jit(lambda x: x * 2)(spread).sharding == spread.sharding, jax.numpy.sum(spread), jnp.sum(spread))
        second = jk.device_put(x, jk.devices()[1])
        print(second.devices(), jk.jit(lambda x: x + 1)(second).device)
        """
    lines = run(program, XLA_FLAGS="--xla_force_host_platform_device_count=4")
    assert lines == ["True 28.0 28.0", "{CpuDevice(id=1)} TFRT_CPU_1"] or lines == [
        "True 28.0 28.0",
        "{CpuDevice(id=1)} cpu:1",
    ]


def test_options_of_jaxs_that_say_how_to_start_the_cpu_are_heard():
    assert run("print(len(jk.devices()))", JAX_NUM_CPU_DEVICES="3") == ["3"]


def test_an_option_of_jaxs_that_comes_after_the_cpu_was_started_is_refused():
    program = """
        jnp.ones(3)
        import jax
        jax.config.update("jax_num_cpu_devices", 2)
        try:
            jax.devices()
        except RuntimeError as error:
            print("jitkit has started the CPU with 1 device(s)" in str(error))
        """
    assert run(program) == ["True"]


PLUGIN = "def initialize(): pass\n"


@pytest.mark.parametrize(("plugin", "asked"), [("xla_mine", True), ("xla_cuda12", False)])
def test_where_a_plugin_may_be_for_this_machine_jax_chooses_the_devices(plugin, asked, tmp_path):
    (tmp_path / "jax_plugins").mkdir()
    (tmp_path / "jax_plugins" / f"{plugin}.py").write_text(PLUGIN)
    program = "jnp.ones(3); print(bool(of_jax()))"
    assert run(program, f"import sys; sys.path.append({str(tmp_path)!r})\n" + HAS_NO_JAX) == [str(asked)]


def test_a_plugin_that_is_an_entry_point_is_found(tmp_path):
    (tmp_path / "mine-1.0.dist-info").mkdir()
    (tmp_path / "mine-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (tmp_path / "mine-1.0.dist-info" / "entry_points.txt").write_text(
        "[a]\nb = c\n[jax_plugins]\nmine = mine_of_jax\n[d]\n"
    )
    (tmp_path / "mine_of_jax.py").write_text(PLUGIN)
    program = "jnp.ones(3); print(bool(of_jax()))"
    assert run(program, f"import sys; sys.path.append({str(tmp_path)!r})\n" + HAS_NO_JAX) == ["True"]
