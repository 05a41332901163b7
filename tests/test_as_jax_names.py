"""Names of JAX's that libraries and programs take, beside JAX: a program prints the same on both."""

from __future__ import annotations

import pytest
from lax_oracle import JAX_VERSION
from on_jax import on_jax
from test_as_jax import as_jax, python, write

LISTENERS = """
    import jax, jax.numpy as jnp, jax.monitoring as monitoring
    x = jnp.arange(3.0)
    seen, spans, own = [], [], []
    monitoring.register_event_duration_secs_listener(lambda event, seconds, **about: seen.append((event, seconds >= 0, about)))
    monitoring.register_event_time_span_listener(lambda event, start, end, **about: spans.append((event, start <= end, about)))
    monitoring.register_scalar_listener(lambda event, value, **about: own.append((event, about)))
    monitoring.register_event_listener(lambda event, **about: own.append((event, about)) if "mine" in event else None)

    @jax.jit
    def inner(x):
        return x * 2

    @jax.jit
    def outer(x):
        return inner(x) + 1

    outer(x)
    outer(x)
    outer.lower(x[:2]).compile()
    of_outer = lambda events: [each for each in events if "outer" in each[-1].get("fun_name", "")]
    print(of_outer(seen), of_outer(spans), of_outer(own), [e for e in seen if "inner" in e[-1].get("fun_name", "")])
    monitoring.record_event("/mine/began", who="me")
    monitoring.record_scalar("/mine/loss", 0.5, step=3)
    print(own[-2:])
    monitoring.record_event_duration_secs("/mine/took", 2.0)
    monitoring.record_event_time_span("/mine/took", 2.0, 3.0)
    print(seen[-1], spans[-1])
    again = lambda event, **about: print("heard", event)
    monitoring.register_event_listener(again)
    monitoring.record_event("/mine/twice")
    monitoring.unregister_event_listener(again)
    monitoring.record_event("/mine/twice")
    monitoring.clear_event_listeners()
    count = len(seen)
    outer(jnp.ones((2, 2)))
    print(len(seen) - count)
    """
ONE_PROCESS = """
    import jax
    print(jax.distributed.is_initialized(), jax.distributed.shutdown())
    try:
        jax.distributed.initialize()
    except ValueError as error:
        print(error)
    jax.distributed.initialize("127.0.0.1:9", 1, 0) if "jitkit" in jax.jit.__module__ else None  # JAX would listen there
    print(jax.process_count(), jax.distributed.shutdown(), jax.distributed.is_initialized())
    jax.devices()
    try:
        jax.distributed.initialize("127.0.0.1:9", 1, 0)
    except RuntimeError as error:
        print(error)
    """
OLDER = """
    import jax, jax.numpy as jnp, jax.lib
    from jax.experimental import pjit
    print(jax.lib.__version__, pjit.pjit(lambda x, n: x * n, static_argnums=1)(jnp.arange(3), 2))
    print(jax.config.x64_enabled, jax.config.values["jax_enable_x64"], type(jax.config.values))
    jax.config.update("jax_enable_x64", True)
    print(jax.config.x64_enabled, jax.config.values["jax_enable_x64"])
    """
OLDER_CORE = """
    import jax
    print(jax.core.no_effects, jax.core.valid_jaxtype("a"), jax.core.get_opaque_trace_state() == jax.core.get_opaque_trace_state())
    print(jax.core.DropVar.__name__, callable(jax.core.find_top_trace))
    """
ANY_ATTRIBUTE = """
    import jax, jax.numpy as jnp

    class Wrapper:  # has each attribute that the wrapped value has
        def __init__(self, value):
            self.value = value
        def __getattr__(self, name):
            return Wrapper(getattr(self.value, name))
        def __radd__(self, other):
            return "added", other + self.value
        def __rmatmul__(self, other):
            return "multiplied", other @ self.value

    x = jnp.arange(3.0)
    k = jax.random.split(jax.random.key(0), 3)
    print(jnp.isclose(k, k[::-1]), jnp.allclose(k, k), jnp.allclose(k, jax.random.key(1)))
    print(x + Wrapper(x), x @ Wrapper(x), hasattr(x, "__jax_array__"), hasattr(jax.random.key(0), "__jax_array__"))
    """
HIDING = """
    import os, sys, traceback
    import jax
    from jax._src import traceback_util
    hidden = len(traceback_util._exclude_paths)
    folder = os.path.dirname(os.path.abspath(sys.argv[0])) + "/between"
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/theirs.py", "w") as file:
        file.write("def call(f):\\n    return f()\\n")
    sys.path.insert(0, folder)
    import theirs

    def names():
        try:
            jax.jit(lambda: theirs.call(lambda: 1 / 0))()
        except ZeroDivisionError as error:
            return [frame.name for frame in traceback.extract_tb(error.__traceback__) if frame.name in ("call", "names", "<lambda>")]

    jax.config.update("jax_traceback_filtering", "remove_frames")
    print(names())
    jax.config.update("jax_traceback_filtering", "tracebackhide")
    try:
        jax.jit(lambda: theirs.call(lambda: 1 / 0))()
    except ZeroDivisionError as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        print(len(frames) > 4, [frame.f_code.co_name for frame in frames if "__tracebackhide__" not in frame.f_locals])
    jax.config.update("jax_traceback_filtering", "quiet_remove_frames")
    traceback_util._exclude_paths.append(folder)
    print(names(), len(traceback_util._exclude_paths) - hidden)
    traceback_util._exclude_paths.remove(folder)
    print(names(), jax._src.traceback_util is traceback_util)
    """
SCOPES = """
    import jax, jax.numpy as jnp

    def f(x):
        with jax.named_scope("outer"), jax.named_scope("inner"):
            y = jnp.sin(x)
        return jnp.sum(y)

    def show(jaxpr):
        for eqn in jaxpr.eqns:
            print(eqn.primitive, str(eqn.source_info.name_stack).split("/"))
            for parameter in eqn.params.values():
                if hasattr(parameter, "eqns"):
                    show(parameter)

    for g in (f, jax.grad(f), jax.grad(jax.grad(f)), jax.jit(jax.grad(f))):
        show(jax.make_jaxpr(g)(1.0))
    show(jax.make_jaxpr(jax.vmap(f))(jnp.ones(3)))
    """
MESHES = """
    import jax, jax.numpy as jnp, numpy as np
    from jax.experimental.pjit import pjit
    from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
    jax.config.update("jax_num_cpu_devices", 8)
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
    other = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
    auto = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    x, traces = jnp.arange(32.0).reshape(8, 4), []

    def show(function):
        try:
            print(function())
        except Exception as error:
            print(type(error).__name__, str(error).splitlines()[0])

    @jax.jit
    def constrained(x):
        traces.append(1)
        return jax.lax.with_sharding_constraint(x * 2, P("x"))

    show(lambda: constrained(x))
    for block in (mesh, other, mesh):
        with block:
            show(lambda: (constrained(x).sharding, len(traces)))
    show(lambda: constrained(x))
    with mesh:
        show(lambda: pjit(lambda a: a + 1, in_shardings=P("x", "y"), out_shardings=P("y"))(x).sharding)
    by_spec = jax.jit(lambda a, b: (a["k"] + b, b), in_shardings=(P("x", "y"), P()), out_shardings=(P("y"), None))
    show(lambda: by_spec({"k": x}, 1.0))
    for block in (mesh, other, auto):
        with jax.set_mesh(block):
            show(lambda: by_spec({"k": x}, jnp.float32(1.0))[0].sharding)
    with jax.set_mesh(auto):
        abstract = NamedSharding(jax.sharding.get_abstract_mesh(), P("x"))
        show(lambda: jax.jit(lambda a: jax.lax.with_sharding_constraint(a, abstract))(x).sharding)
        show(lambda: jax.jit(lambda a: a * 2, out_shardings=P("x", "y"))(x).sharding)
        show(lambda: [jax.device_put({"a": x}, spec)["a"].sharding for spec in (P("x"), {"a": P(None, "y")})])
        show(lambda: jax.make_jaxpr(lambda a: jax.device_put(a, P("x")))(x))
        show(lambda: jax.device_put(x, P("z")))
    show(lambda: jax.device_put(x, P("x")))
    parts = jax.device_put(x, NamedSharding(mesh, P("x"))).addressable_shards
    show(lambda: [(part.index, part.device, part.replica_id, part.data, part.data.sharding, part.data + 1) for part in parts])
    keys = jax.device_put(jax.random.split(jax.random.key(0), 8), NamedSharding(mesh, P("x")))
    show(lambda: [(part.data, part.data.shape) for part in keys.addressable_shards])
    """
POLICIES = """
    import jax, jax.numpy as jnp
    from jax.ad_checkpoint import checkpoint_name
    policies = jax.checkpoint_policies

    def block(w, x):
        return x + checkpoint_name(checkpoint_name(jnp.tanh(x @ w[0]), "hidden") @ w[1], "out")

    w, x = jax.random.normal(jax.random.key(0), (2, 8, 8)), jnp.ones((4, 8))
    named = dict(names_which_can_be_saved=["hidden"], names_which_can_be_offloaded=["out"], offload_src="device")
    for policy in (
        policies.save_and_offload_only_these_names(**named, offload_dst="pinned_host"),
        policies.offload_dot_with_no_batch_dims("device", "pinned_host"),
    ):
        print(jax.grad(lambda w: jax.checkpoint(block, policy=policy)(w, x).sum())(w))
        print(jax.jit(jax.grad(lambda w: jax.checkpoint(block, policy=policy)(w, x).sum()))(w).sum())
    try:
        policies.save_and_offload_only_these_names(**{**named, "names_which_can_be_saved": ["out"]}, offload_dst="pinned_host")
    except ValueError as error:
        print(str(error).split(" Got")[0])
    """
OF_CHECKPOINTS = """
    import inspect
    import jax, jax.numpy as jnp, numpy as np
    from jax.experimental import colocated_python as cp
    from jax.experimental.layout import Format, Layout
    from jax.extend import backend, ifrt_programs
    from jax.interpreters import pxla
    import jax.experimental.colocated_python.func, jax.experimental.colocated_python.serialization

    print(cp.colocated_cpu_devices(jax.devices()))

    x, place = jnp.ones((2, 3)), jax.sharding.SingleDeviceSharding(jax.devices()[0])
    for each in (Format(), Format(None, place), Format(Layout((0, 1)), place), Layout((1, 0), ((2, 2),))):
        print(each, hash(each) == hash(each))
    print(Format(None, place) == Format(None, place), Layout((0, 1)) == Layout((1, 0)), Format() == 3)
    print(jax.device_put({"a": x}, Format(None, place)), jax.device_put(x, Format(Layout((0, 1)), place)).sharding)
    for wrong in (lambda: Format(Layout((0,))), lambda: Format((0, 1), place), lambda: Format(None, 3)):
        try:
            wrong()
        except (TypeError, ValueError) as error:
            print(type(error).__name__, str(error).split(" Got ")[0].replace(Layout.__module__, "..."))

    print(pxla.thread_resources.env.physical_mesh.empty)
    with jax.sharding.Mesh(np.array(jax.devices()), ("x",)):
        print(pxla.thread_resources.env.physical_mesh)
    print(sorted(backend.backends()), backend.get_backend().platform, backend.get_default_device())
    print(hasattr(ifrt_programs.ifrt_programs, "make_plugin_program"))
    print(jax._src.distributed.global_state.process_id, jax._src.distributed.global_state.client)
    print(jax._src.tree_util.flatten_one_level({"b": [1], "a": 2}))
    from jax._src.api_util import infer_argnums_and_argnames as infer
    signature = inspect.signature(lambda a, b, *, c: 0)
    print([infer(signature, *which) for which in ((None, None), (1, None), ((0, 1), None), (None, "b"), (None, ["a", "c"]), (0, "c"))])
    from jax._src.numpy.util import promote_dtypes_complex
    from jax._src.scipy.special import gammaln, logsumexp
    print(promote_dtypes_complex(1, jnp.float32(2)), gammaln(3.0).round(5), logsumexp(jnp.arange(3.0)))
    """
OF_PLATFORMS = """
    import functools
    import jax, jax.numpy as jnp
    from jax.extend.core import Primitive
    from jax.interpreters import batching, mlir, xla

    def make(name, *platforms):
        made = Primitive(name)
        made.def_impl(functools.partial(xla.apply_primitive, made))
        made.def_abstract_eval(lambda x, *, by: x)
        for factor, platform in enumerate(platforms):
            rule = lambda x, *, by, factor=factor: x * by + factor
            mlir.register_lowering(made, mlir.lower_fun(rule, multiple_results=False), platform=platform)
        return made

    for platforms in (["cpu"], [None, "cpu"], ["cpu", None], ["tpu", None], [None, "cuda"], ["gpu"]):
        made = make("mine", *platforms)
        for run in (made.bind, jax.jit(made.bind, static_argnames="by")):
            try:
                print(platforms, run(jnp.arange(3.0), by=2.0), run(jnp.arange(2), by=3))
            except NotImplementedError as error:
                print(str(error).splitlines()[0])

    class Mine:
        pass

    batching.register_vmappable(Mine, int, int, lambda *a: a, lambda *a: a, None)
    print(jax.vmap(lambda x: x + 1)(jnp.arange(3)))
    """
PROGRAMS = {
    "of checkpoints": OF_CHECKPOINTS,
    "of platforms": OF_PLATFORMS,
    "policies": POLICIES,
    "meshes": MESHES,
    "listeners": LISTENERS,
    "one process": ONE_PROCESS,
    "older": OLDER,
    "older core": OLDER_CORE,
    "any attribute": ANY_ATTRIBUTE,
    "hiding": HIDING,
    "scopes": SCOPES,
}


NOT_IN_LATER_JAX = pytest.mark.skipif(JAX_VERSION >= (0, 12), reason="needs jax < 0.12, which has these names")


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=NOT_IN_LATER_JAX) if x == "older core" else x for x in PROGRAMS]
)
def test_a_program_prints_what_it_prints_on_jax(tmp_path, name):
    program = write(tmp_path, "program.py", PROGRAMS[name])
    expected = on_jax(program, cwd=tmp_path)
    assert expected[0] == 0, expected[2]
    found = as_jax(program, cwd=tmp_path)
    assert found[:2] == expected[:2], found[2]


def test_a_missing_private_name_names_who_asks_for_it(tmp_path):
    library = write(tmp_path, "their_library.py", "import jax\ndef check(x):\n    return jax._src.api._check_arg(x)\n")
    said = as_jax("-c", "import their_library; their_library.check(1)", cwd=tmp_path)[2]
    assert (
        f"module 'jax._src' has no attribute 'api', which their_library ({library}:3) asks for\nThe module is private to JAX"
        in said
    )
    found = as_jax(
        "-c", "import jax; print(hasattr(jax._src, 'api'), getattr(jax._src, 'core').ShapedArray)", cwd=tmp_path
    )
    assert found[1] == "False <class 'jitkit.core.avals.ShapedArray'>\n", found[2]


def test_trees_of_arrays_are_compared_as_by_the_private_function_of_jax(tmp_path):
    program = """
        import numpy as np
        from jax._src.public_test_util import check_close

        x = {"a": np.arange(3, dtype=np.float32), "b": (1.0,)}
        for y, more in ((x, {}), ({"a": x["a"] + 1e-6, "b": (1.0,)}, {}), ({"a": x["a"] + 0.1, "b": (1.0,)}, {"atol": 1.0})):
            print(check_close(x, y, **more))
        for y in ({"a": x["a"] + 0.1, "b": (1.0,)}, {"a": x["a"][:2], "b": (1.0,)}):
            try:
                check_close(x, y)
            except AssertionError as error:
                print("differ")
        """
    file = write(tmp_path, "close.py", program)
    expected = on_jax(file, cwd=tmp_path)
    assert expected[1] == "None\nNone\nNone\ndiffer\ndiffer\n", expected[2]
    assert as_jax(file, cwd=tmp_path)[1] == expected[1]


def test_the_folder_of_executables_is_set_as_in_jax(tmp_path):
    program = """
        import os, sys, jax
        from jax.experimental.compilation_cache import compilation_cache

        compilation_cache.set_cache_dir(sys.argv[1])
        print(compilation_cache.reset_cache(), jax.config.jax_compilation_cache_dir == sys.argv[1])
        jax.jit(lambda x: x * 3)(2.0)
        print(len(os.listdir(sys.argv[1])) > 0)
        """
    said = as_jax(write(tmp_path, "kept.py", program), str(tmp_path / "kept"), cwd=tmp_path)
    assert said[1] == "None True\nTrue\n", said[2]


def test_vars_of_a_module_has_all_its_names(tmp_path):
    """scico wraps what `jax.numpy.__dict__` holds."""
    program = """
        import jax.lax, jax.numpy, jax.scipy.special

        for module, names in {
            jax: "grad jit", jax.numpy: "fix sin", jax.numpy.linalg: "norm", jax.lax: "scan", jax.scipy.special: "gammaln"
        }.items():
            print([name in vars(module) for name in names.split()], type(module.__dict__) is dict)
        print(callable(vars(jax.numpy)["sin"]), jax.numpy.__dict__["sin"] is jax.numpy.sin)
        """
    file = write(tmp_path, "wraps.py", program)
    ours, theirs = as_jax(file, cwd=tmp_path), python(file, cwd=tmp_path)
    assert ours[1] == theirs[1] != "", ours[2]


def test_pallas_can_be_imported_and_its_names_say_that_they_are_not_here(tmp_path):
    program = """
        import jax.experimental.pallas as pl
        from jax.experimental.pallas import mosaic_gpu, tpu as pltpu, triton as plt

        for module in (pl, plt, pltpu, mosaic_gpu):
            try:
                module.pallas_call
            except AttributeError as error:
                print(error)
        """
    said = as_jax(write(tmp_path, "kernels.py", program), cwd=tmp_path)[1]
    assert (
        said.splitlines()
        == [
            "module 'jax.experimental.pallas' has no attribute 'pallas_call'",
            "Pallas is not here: write the kernel with jitkit.numpy and `lax`.",
        ]
        * 4
    )


def test_what_libraries_take_when_they_are_imported_is_here(tmp_path):
    """keras, esquilax, jaxctx, tf2jax and objax; what of `jax.core` JAX hands on from `jax.extend.core`."""
    program = """
        import jax
        from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel
        from jax._src.numpy.ufuncs import ufunc
        from jax._src.typing import SupportsDType
        from jax.extend import sharding

        print(isinstance(jax.numpy.add, ufunc), hasattr(SupportsDType, "dtype"))
        seen = []
        jax.jit(lambda x: seen.append(x))(1.0)
        print(isinstance(seen[0], (jax.interpreters.partial_eval.JaxprTracer, jax.interpreters.partial_eval.DynamicJaxprTracer)))
        print(jax.core.Effects is jax.extend.core.Effects, jax.core.check_jaxpr is jax.extend.core.check_jaxpr)
        hlo = jax.sharding.SingleDeviceSharding(jax.devices()[0])._to_xla_hlo_sharding(1)
        message = sharding.get_serialized_proto_from_hlo_sharding(hlo)
        print(message, sharding.get_hlo_sharding_from_serialized_proto(message) == hlo)
        print(sharding.GSPMDSharding(jax.devices(), sharding.get_op_sharding_from_serialized_proto(message)))
        """
    file = write(tmp_path, "imports.py", program)
    ours, theirs = as_jax(file, cwd=tmp_path), python(file, cwd=tmp_path)
    assert ours[1] == theirs[1] != "", ours[2]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("from jax.extend import mlir", "JAX has `jax.extend.mlir`, and jitkit has not"),
        ("import jax.extend.mlir", "JAX has it, and jitkit has not"),
        ("import jax.cloud_tpu_init", "JAX has it, and jitkit has not"),
        ("import jax.lib.xla_bridge", "asks.py:1 imports\nNeither JAX nor jitkit has it"),
        ("import jax\njax.config.jax_scan3", "JAX has `jax.config.jax_scan3`, and jitkit has not"),
        (
            "import jax\njax.config.update('jax_scan3', 1)",
            "Unrecognized config option: jax_scan3\nJAX has `jax.config.jax_scan3`, and",
        ),
        (
            "from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as k; k.SegmentIds",
            "Of this module of JAX, jitkit has only what libraries ask for",
        ),
    ],
)
def test_a_module_that_only_jax_has_is_said_to_be_jaxs(tmp_path, line, sentence):
    assert sentence in as_jax(write(tmp_path, "asks.py", line), cwd=tmp_path)[2]


def test_meshes_may_be_asked_for_before_the_first_array(tmp_path):
    program = """
        import jitkit.as_jax; jitkit.as_jax.install()
        import jax
        jax.sharding.Mesh
        print(jax.numpy.arange(2) + jax.Array.ndim.fget(jax.numpy.ones(3)))
        """
    found = python(write(tmp_path, "meshes_first.py", program), cwd=tmp_path)
    assert found[:2] == (0, "[1 2]\n"), found[2]


def test_a_function_for_the_hosts_of_devices_runs_here(tmp_path):
    """On JAX this needs a library that the project's tests do not install; it printed the same, but for the name of numpy's class."""
    program = """
        import jax, jax.numpy as jnp, numpy as np
        from jax.experimental import colocated_python as cp

        plus = cp.colocated_python(lambda x: {"y": x + 1})
        print(plus(jnp.arange(3)), plus.specialize(devices=jax.devices())(jnp.arange(2)))
        try:
            cp.colocated_python(lambda x: np.asarray(x))(jnp.arange(3))
        except ValueError as error:
            print(error)
        """
    assert as_jax(write(tmp_path, "here.py", program), cwd=tmp_path)[1].splitlines() == [
        "{'y': Array([1, 2, 3], dtype=int32)} {'y': Array([1, 2], dtype=int32)}",
        "colocated_python only supports jax.Array as input and output, but got <class 'numpy.ndarray'>.",
    ]


def test_a_layout_that_is_not_row_major_and_a_type_with_axes_of_its_own_are_refused(tmp_path):
    program = """
        import jax, jax.numpy as jnp
        from jax.experimental.layout import Format, Layout
        from jax.interpreters import batching

        class Mine:
            pass

        batching.register_vmappable(Mine, int, int, None, None, None)
        place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
        for wrong in (
            lambda: jax.device_put(jnp.ones((2, 3)), Format(Layout((1, 0)), place)),
            lambda: jax.vmap(lambda x: x)([Mine()]),
            lambda: jax.experimental.array_serialization.serialization.GlobalAsyncCheckpointManager,
        ):
            try:
                wrong()
            except (AttributeError, NotImplementedError) as error:
                print(str(error).splitlines()[0])
        """
    printed = as_jax(write(tmp_path, "refused.py", program), cwd=tmp_path)[1].splitlines()
    assert [line.split(":")[0] for line in printed] == [
        "Layout(major_to_minor=(1, 0), tiling=None, sub_byte_element_size_in_bits=0) is not here",
        "jax.interpreters.batching.register_vmappable of Mine",
        "'jax.experimental.array_serialization.serialization.GlobalAsyncCheckpointManager' is not here",
    ]


def test_several_processes_are_refused(tmp_path):
    said = as_jax("-c", "import jax; jax.distributed.initialize('127.0.0.1:9', 2, 0)", cwd=tmp_path)[2]
    assert "NotImplementedError: jax.distributed.initialize(num_processes=2): jitkit runs in one process" in said
