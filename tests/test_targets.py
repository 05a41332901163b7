"""Compiling for a target: tests that need no compilers of other chips, but only the CPU."""

from __future__ import annotations

import io
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import tomllib
import types

import jax
import numpy as np
import pytest

import jitkit
import jitkit.numpy as jnp
from jitkit.kata.command import cli
from jitkit.kata.functions.sample_call import parse_arguments, parse_shapes
from jitkit.kata.screens.chips import amount
from jitkit.kata.screens.terminal import Screen
from jitkit.kata.tour import targets as tour_targets
from jitkit.kata.verbs import targets as verb
from jitkit.signature.shape_struct import ShapeDtypeStruct
from jitkit.targets import TARGETS, Analysis, Compilers, TargetError, TargetProgram, process, table, worker
from jitkit.targets.hlo import Line, Program
from jitkit.targets.program import count_bundles

ROOT = pathlib.Path(jitkit.__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
X = ShapeDtypeStruct((16, 16), np.float32)


def loss(x, w):
    h = jnp.tanh(x @ w) * 2.0 + 1.0
    h = jitkit.lax.fori_loop(0, 5, lambda i, y: jnp.sin(y) + 0.5 * y, h)
    return (h * h).sum()


FIRST = loss.__code__.co_firstlineno


@pytest.fixture(scope="module")
def compiled():
    return jitkit.jit(loss).trace(X, X).lower().compile(target="cpu")


# --- what comes back ----------------------------------------------------------------------------------------


def test_the_result_tells_what_became_of_each_line(compiled):
    assert "metadata" in compiled.as_text()
    written = {line for kernel in compiled.kernels for line in kernel.lines}
    assert written <= {Line(__file__, FIRST + i) for i in (1, 2, 3)}
    assert {line.number for line in written} == {FIRST + 1, FIRST + 2, FIRST + 3}
    operations = {name for kernel in compiled.kernels for name in kernel.operations}
    assert {"dot_general", "tanh", "sin", "reduce_sum"} <= operations
    assert [loop.trips for loop in compiled.loops] == [5]
    assert 0 < len(compiled.fusions) <= len(compiled.kernels)
    assert any(len(kernel.operations) > 1 for kernel in compiled.fusions)


def test_every_number_says_who_counted_it(compiled):
    cost, memory = compiled.cost_analysis(), compiled.memory_analysis()
    assert cost["flops"] > 2 * 16**3
    assert cost["bytes accessed"] > 0
    assert "cost model" in cost.source
    assert memory["arguments"] == 2 * 16 * 16 * 4
    assert memory["results"] >= 4
    assert "CompiledMemoryStats" in memory.source
    assert compiled.seconds > 0
    assert compiled.compiler.startswith("jaxlib ")


def test_a_number_that_is_not_there_is_said_to_be_missing():
    with pytest.raises(KeyError, match="not available from this compiler"):
        Analysis({}, "nobody")["flops"]
    with pytest.raises(KeyError, match="not among bytes"):
        Analysis({"bytes": 1.0}, "somebody")["flops"]
    assert "source: nobody" in repr(Analysis({}, "nobody"))


def test_code_of_another_kind_of_chip_is_not_available(compiled):
    assert all("define " in text for text in compiled.llvm_ir().values())
    for ask in (compiled.ptx, compiled.bundles, compiled.launches):
        with pytest.raises(TargetError, match="not available from this compiler") as raised:
            ask()
        assert raised.value.reason == "unavailable"


def test_a_program_for_a_target_cannot_be_called(compiled):
    with pytest.raises(TypeError, match=r"'loss' was compiled for cpu, ahead of time, and cannot be called here"):
        compiled(np.ones((16, 16)), np.ones((16, 16)))


def test_without_a_target_it_is_compiled_to_be_called():
    add = jitkit.jit(lambda x: x + 1).trace(np.float32(1)).lower().compile()
    assert add(np.float32(1)) == 2


def test_options_of_the_compiler_reach_it():
    lowered = jitkit.jit(lambda x: jnp.sin(x) + 1).trace(X).lower()
    with pytest.raises(TargetError, match="no_such_option") as raised:
        lowered.compile({"no_such_option": True}, target="cpu")
    assert raised.value.reason == "refused"


# --- what does not --------------------------------------------------------------------------------------------


def test_an_unknown_target_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match=r"unknown target: 'tpu:v99'\nThe targets are 'cpu', 'gpu:h100'"):
        jitkit.jit(loss).trace(X, X).lower().compile(target="tpu:v99")


@pytest.mark.parametrize(("name", "extra"), [("tpu:v5e", "tpu"), ("tpu:v6e", "tpu"), ("gpu:h100", "gpu")])
def test_a_missing_compiler_is_answered_with_the_commands_that_install_it(name, extra, monkeypatch):
    monkeypatch.setattr(table, "_is_there", lambda module: False)
    with pytest.raises(TargetError) as raised:
        jitkit.jit(loss).trace(X, X).lower().compile(target=name)
    assert raised.value.reason == "missing"
    text = str(raised.value)
    assert text.startswith(f"The compiler for {name} is not installed: ")
    packages = [f'"{package}"' for package in PROJECT["optional-dependencies"][extra]]
    assert sys.platform != "linux" or f"\n    pip install {' '.join(packages)}\n" in text
    assert sys.platform != "linux" or "\n    make compilers" in text


def test_a_plugin_of_another_version_than_jaxlib_is_not_used(monkeypatch):
    monkeypatch.setattr(table, "_is_there", lambda module: True)
    monkeypatch.setattr(table, "toolkit", lambda: pathlib.Path("cuda"))
    monkeypatch.setattr(table, "version_of", lambda package: {"jaxlib": "0.10.2"}.get(package, "0.9.1"))
    obstacle = table.obstacle(TARGETS["gpu:h100"])
    assert "is jax-cuda12-pjrt 0.9.1, and has to be of jaxlib's version, 0.10.2" in str(obstacle)


def _installed(monkeypatch, folder, *modules):
    """Make only these modules count as installed, each in its own folder, and put no program on the PATH."""
    monkeypatch.setattr(table, "_is_there", lambda module: module in modules)
    monkeypatch.setattr(table, "folder_of", lambda module: folder / module)
    monkeypatch.setenv("PATH", str(folder / "path"))


def _assembler(folder):
    """Make a folder of a toolkit with an assembler."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "ptxas").write_text("#!/bin/sh\n")
    (folder / "bin" / "ptxas").chmod(0o755)


def test_the_compiler_for_gpus_is_of_the_generation_of_cuda_that_is_installed(monkeypatch, tmp_path):
    monkeypatch.setattr(table, "version_of", lambda package: "0.11.2")
    _assembler(tmp_path / "nvidia.cu13")
    _installed(monkeypatch, tmp_path, "jax_plugins.xla_cuda13", "nvidia.cu13")
    assert table.obstacle(TARGETS["gpu:a100"]) is None
    assert table.toolkit() == tmp_path / "nvidia.cu13"
    assert table.compiler_of(TARGETS["gpu:a100"]) == "jax-cuda13-pjrt 0.11.2, nvidia-cuda-nvcc 0.11.2"


def test_a_folder_of_nvidias_without_an_assembler_is_not_a_toolkit(monkeypatch, tmp_path):
    monkeypatch.setattr(table, "version_of", lambda package: "0.11.2")
    _installed(monkeypatch, tmp_path, "jax_plugins.xla_cuda13", "nvidia.cu13")
    assert "installed: nvidia-cuda-nvcc is missing" in str(table.obstacle(TARGETS["gpu:h100"]))


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX: of a program without an ending")
def test_the_assembler_of_the_machine_will_do(monkeypatch, tmp_path):
    monkeypatch.setattr(table, "version_of", lambda package: "unknown" if "nvcc" in package else "0.11.2")
    _installed(monkeypatch, tmp_path, "jax_plugins.xla_cuda13")
    _assembler(tmp_path / "cuda")
    monkeypatch.setenv("PATH", str(tmp_path / "cuda" / "bin"))
    assert table.obstacle(TARGETS["gpu:h100"]) is None
    assert table.toolkit() == tmp_path / "cuda"
    assert table.compiler_of(TARGETS["gpu:h100"]) == "jax-cuda13-pjrt 0.11.2, this machine's ptxas"


def test_what_the_compiler_objects_to_is_passed_on():
    with Compilers() as compilers, pytest.raises(TargetError, match=r"refused 'f':\n.*stablehlo.nothing") as raised:
        compilers.compile("f", 'module { func.func @main() { "stablehlo.nothing"() : () -> () } }', TARGETS["cpu"])
    assert raised.value.reason == "refused"


def test_a_routine_that_the_compiler_does_not_know_is_named_in_a_sentence():
    program = """module { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.custom_call @solver_nothing_ffi(%a) {api_version = 4 : i32} : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32> } }"""
    with Compilers() as compilers, pytest.raises(TargetError) as raised:
        compilers.compile("f", program, TARGETS["cpu"])
    assert raised.value.reason == "refused"
    assert str(raised.value).startswith(
        "'f' calls solver_nothing_ffi, which is no part of the compiler for cpu: it is a routine of a library"
    )
    assert "NOT_FOUND" not in str(raised.value)


TEXT = jitkit.jit(lambda x: x + 1).trace(np.float32(1)).lower(lowering_platforms=("cpu",)).as_text()


def test_after_a_refusal_the_same_process_goes_on():
    with Compilers() as compilers:
        with pytest.raises(TargetError):
            compilers.compile("f", "nonsense", TARGETS["cpu"])
        first = compilers._workers["cpu"]
        assert compilers.compile("g", TEXT, TARGETS["cpu"]).name == "g"
        assert compilers._workers["cpu"] is first


@pytest.fixture
def another_worker(monkeypatch, tmp_path):
    """Return a function that lets a given program run in place of the compiler."""

    def use(program):
        path = tmp_path / "worker.py"
        path.write_text(textwrap.dedent(program), encoding="utf-8")
        monkeypatch.setattr(process, "PROGRAM", [str(path)])

    return use


def test_a_compiler_that_takes_too_long_is_stopped(another_worker):
    another_worker("import time; time.sleep(600)")
    with Compilers(time_limit=0.2) as compilers:
        with pytest.raises(TargetError, match=r"had not finished 'f' after 0.2 s, and was stopped") as raised:
            compilers.compile("f", TEXT, TARGETS["cpu"])
        assert raised.value.reason == "timeout"
        assert not compilers._workers


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX: signals")
def test_a_compiler_that_crashes_leaves_us_alone_and_its_last_words(another_worker, monkeypatch):
    another_worker("""
        import os, sys
        sys.stdin.readline()
        print("Check failed: the end", file=sys.stderr, flush=True)
        os.abort()
        """)
    with Compilers() as compilers:
        with pytest.raises(TargetError, match="was ended by signal 6 while it compiled 'f'") as raised:
            compilers.compile("f", TEXT, TARGETS["cpu"])
        assert raised.value.reason == "crashed"
        assert "Check failed: the end" in str(raised.value)
        monkeypatch.undo()
        assert compilers.compile("f", TEXT, TARGETS["cpu"]).kernels


def test_a_compiler_that_ends_without_a_word_is_a_crash(another_worker):
    another_worker("")
    with Compilers() as compilers, pytest.raises(TargetError, match=r"ended with status 0 .*\. It said nothing"):
        compilers.compile("f", TEXT, TARGETS["cpu"])


def test_what_a_compiler_prints_goes_nowhere_near_the_terminal(another_worker, capfd):
    another_worker("""
        import sys
        print("noise", file=sys.stderr)
        """)
    with Compilers() as compilers, pytest.raises(TargetError):
        compilers.compile("f", TEXT, TARGETS["cpu"])
    assert capfd.readouterr() == ("", "")


def test_arrays_spread_over_devices_are_not_for_one_chip():
    lowered = jitkit.jit(lambda x: x + 1).trace(X).lower()
    lowered._module.partitions = 8
    with pytest.raises(NotImplementedError, match="spread over 8 devices, and is compiled ahead of time for one chip"):
        lowered.compile(target="cpu")


def test_a_program_that_calls_python_is_not_for_another_machine():
    def f(x):
        jitkit.debug.print("{}", x)
        return x

    with pytest.raises(NotImplementedError, match="calls back into this Python process"):
        jitkit.jit(f).trace(X).lower().compile(target="cpu")


# --- the other process ----------------------------------------------------------------------------------------


def test_the_other_process_gets_nothing_that_was_meant_for_this_one(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "toolkit", lambda: tmp_path)
    ours = {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cuda",
        "JITKIT_X64": "1",
        "LIBTPU_INIT_ARGS": "--mine",
        "PATH": "/usr/local/cuda/bin",
        "LANG": "C",
    }
    for target in TARGETS.values():
        env = process.environment(target, tmp_path, ours)
        assert env["LANG"] == "C"
        assert env["JAX_PLATFORMS"] == "cpu"
        assert not {"XLA_FLAGS", "JITKIT_X64"} & set(env)
        assert str(pathlib.Path(jitkit.__file__).parents[1]) in env["PYTHONPATH"].split(os.pathsep)
        assert (env["PATH"] == ours["PATH"]) == (target.platform != "gpu")
        assert "--mine" not in env.get("LIBTPU_INIT_ARGS", "")
        assert ("ALLOW_MULTIPLE_LIBTPU_LOAD" in env) == (target.platform == "tpu")


class Told(Exception):
    """Raised instead of compiling, with the chip that the compiler would compile for."""


@pytest.mark.parametrize("platform", ["gpu", "tpu"])
def test_a_compiler_is_told_of_the_chip_that_was_asked_for(platform, tmp_path, monkeypatch):
    """Of each row of the table, and of one more: nothing of a chip is known elsewhere."""

    class WithoutPlugin(worker.COMPILERS[platform]):
        def load(self):
            return "plugin"

        def options(self):
            return []

        def compile(self, device, text, options):
            raise Told(device.description)

    def describe(plugin, *description):
        device = types.SimpleNamespace(id=0, description=description)
        return types.SimpleNamespace(_make_compile_only_devices=lambda: [device])

    rows = [target for target in TARGETS.values() if target.platform == platform]
    another = rows[0]._replace(name="another", description="what makes another chip another")
    monkeypatch.setitem(TARGETS, another.name, another)
    monkeypatch.setattr(worker, "_ext", types.SimpleNamespace(get_c_api_topology=describe))
    compiler = WithoutPlugin(tmp_path)
    for target in (*rows, another, rows[0]):
        with pytest.raises(Told) as told:
            worker.answer(compiler, {"target": target.name, "text": TEXT, "options": []})
        [(name, options)] = told.value.args
        assert target.description in (name, *options.values())
    assert len({target.description for target in TARGETS.values()}) == len(TARGETS)


@pytest.mark.parametrize(
    "page", sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]), ids=lambda page: page.name
)
def test_pages_name_chips_of_the_table(page):
    assert set(re.findall(r"\b(?:gpu|tpu):[a-z]\w*", page.read_text(encoding="utf-8"))) <= set(TARGETS)


def test_the_page_on_targets_and_the_help_of_the_command_list_all_chips(capsys):
    rows = re.findall(r"(?m)^\| (`\"\w.*?) \|", (ROOT / "docs" / "targets.md").read_text(encoding="utf-8"))
    assert re.findall(r"`\"(.*?)\"`", " ".join(rows)) == list(TARGETS)
    for verb_of_chips, others in (("targets", ()), ("explore", ("c (our own compiler)",))):
        with pytest.raises(SystemExit):
            cli.main([verb_of_chips, "--help"])
        assert f"--target NAME {', '.join([*TARGETS, *others])}; may be" in " ".join(capsys.readouterr().out.split())


PLUGINS = """
    import importlib.util, sys
    from jitkit import runtime
    import jitkit.numpy as jnp
    print((jnp.ones(3) + 1).sum(), importlib.util.find_spec("jax_plugins.xla_cuda12") is not None)
    print("loaded" if "initialized" in dir(sys) else "left alone")
"""


def test_a_plugin_for_a_gpu_that_is_not_there_is_left_alone(tmp_path):
    """It is installed to compile ahead of time; jax would start it, and it would complain on the terminal."""
    plugin = tmp_path / "jax_plugins" / "xla_cuda12" / "__init__.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("import sys\ndef initialize():\n    sys.initialized = True\n    raise RuntimeError('noise')\n")
    env = {k: v for k, v in os.environ.items() if k != "JAX_PLATFORMS"}
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(pathlib.Path(jitkit.__file__).parents[1])])
    command = [sys.executable, "-c", textwrap.dedent(PLUGINS)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    if not any(os.path.exists(device) for device in ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg")):
        assert done.stdout.splitlines() == ["6.0 True", "left alone"]
        assert "noise" not in done.stderr


# --- lowered for the platform ---------------------------------------------------------------------------------

COMPLEX = np.ones((1, 2, 5), np.complex64)
PLATFORM_DEPENDENT = {
    "a convolution of complex numbers": (
        lambda lax: lambda x, k: lax.conv_general_dilated(x, k, (1,), "SAME"),
        (COMPLEX, COMPLEX),
        "stablehlo.convolution",
    ),
    "a product of mixed dtypes": (
        lambda lax: lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ()))),
        (np.ones((2, 3), np.float32), np.ones((3, 2), np.float16)),
        "stablehlo.dot_general",
    ),
    "a sum into places, complex": (
        lambda lax: lambda x, i, y: lax.scatter_add(x, i, y, lax.ScatterDimensionNumbers((), (0,), (0,))),
        (np.ones(4, np.complex128), np.ones((2, 1), np.int32), np.ones(2, np.complex128)),
        "stablehlo.scatter",
    ),
    "a difference into places, complex": (
        lambda lax: lambda x, i, y: lax.scatter_sub(x, i, y, lax.ScatterDimensionNumbers((), (0,), (0,))),
        (np.ones(4, np.complex128), np.ones((2, 1), np.int32), np.ones(2, np.complex128)),
        "stablehlo.scatter",
    ),
}


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
@pytest.mark.parametrize("name", PLATFORM_DEPENDENT)
def test_rules_that_depend_on_the_platform_are_those_of_jax(name, platform):
    make, args, operation = PLATFORM_DEPENDENT[name]
    found = []
    for library in (jitkit, jax):
        with library.enable_x64(True):
            lowered = library.jit(make(library.lax)).trace(*args).lower(lowering_platforms=(platform,))
        lines = [line for line in lowered.as_text().splitlines() if operation in line]
        found.append([re.findall(r"tensor<[^>]*(?:<f\d+>)?>", line.rpartition(" : ")[2]) for line in lines])
    assert found[0]
    assert found[0] == found[1]


def test_a_program_is_lowered_anew_for_the_platform_of_its_target(monkeypatch):
    seen = []
    monkeypatch.setattr(Compilers, "compile", lambda self, name, text, target, options=(): seen.append(text))
    convolution = PLATFORM_DEPENDENT["a convolution of complex numbers"]
    lowered = jitkit.jit(convolution[0](jitkit.lax)).trace(*convolution[1]).lower()
    for name in TARGETS:
        lowered.compile(target=name)
    expected = [1 if target.platform == "tpu" else 3 for target in TARGETS.values()]
    assert [text.count("stablehlo.convolution") for text in seen] == expected


# --- reading HLO ----------------------------------------------------------------------------------------------

HLO = """\
HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

%inner (p.0: f32[4]) -> f32[4] {
  %p.0 = f32[4]{0:T(8,128)S(1)} parameter(0)
  ROOT %exp.1 = f32[4]{0} exponential(%p.0), metadata={op_name="jit(f)/exp" source_file="/m.py" source_line=3}
}

%fused (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %f.1 = f32[4]{0} fusion(%p), kind=kLoop, calls=%inner
  ROOT %mul = f32[4]{0} multiply(%f.1, %p), metadata={op_name="jit(f)/g/mul" source_file="/m.py" source_line=2}
}

%body (t: (s32[], f32[4])) -> (s32[], f32[4]) {
  %t = (s32[], /*index=1*/f32[4]{0}) parameter(0)
  %x = f32[4]{0} get-tuple-element(%t), index=1
  %fusion.2 = f32[4]{0} fusion(%x), kind=kInput, calls=%fused, metadata={op_name="jit(f)/g/mul" source_file="/m.py" source_line=2}
  ROOT %out = (s32[], f32[4]{0}) tuple(%x, %fusion.2)
}

%condition (t: (s32[], f32[4])) -> pred[] {
  %t = (s32[], f32[4]{0}) parameter(0)
  ROOT %lt = pred[] compare(%t, %t), direction=LT
}

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %start = ((f32[4]{0}), f32[4]{0}) custom-call-start(%x), custom_call_target="sort"
  %done = f32[4]{0} custom-call-done(%start)
  %w = (s32[], f32[4]{0}) while(%done), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"7"}}
  ROOT %r = f32[4]{0} get-tuple-element(%w), index=1
}
"""


def test_kernels_are_what_runs_from_the_entry_on_and_not_what_is_inside_of_fusions():
    program = Program(HLO)
    assert [(kernel.name, kernel.opcode, kernel.kind) for kernel in program.kernels] == [
        ("start", "custom-call-start", ""),
        ("lt", "compare", ""),
        ("fusion.2", "fusion", "input"),
    ]
    fusion = program.kernels[-1]
    assert fusion.operations == ("exp", "mul")
    assert fusion.lines == (Line("/m.py", 2), Line("/m.py", 3))
    assert [(loop.name, loop.trips) for loop in program.loops] == [("w", 7)]


MERGED = """\
%fused (p: f32[4], wq: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0), metadata={op_name="params['jit(g)/x']"}
  %wq = f32[4]{0} parameter(1), metadata={op_name="wq"}
  %copy.1 = f32[4]{0} copy(%wq), metadata={op_name="wq"}
  %copy.2 = f32[4]{0} copy(%p), metadata={op_name="params['jit(g)/x']"}
  %zero = f32[4]{0} broadcast(%p), metadata={op_name="jit(f)/jit(relu)/custom_jvp_call"}
  %pow = f32[4]{0} add(%p, %wq), metadata={op_name="jit(f)/add;jit(f)/jit(g)/integer_pow"}
  ROOT %max = f32[4]{0} maximum(%pow, %zero), metadata={op_name="jit(f)/jit(relu)/jit"}
}

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  ROOT %f = f32[4]{0} fusion(%x, %x), kind=kLoop, calls=%fused, metadata={op_name="jit(f)/max"}
}
"""


def test_operations_are_equations_and_not_arguments_or_calls():
    [kernel] = Program(MERGED).kernels
    assert kernel.operations == ("add", "integer_pow", "max")


def test_operations_of_a_function_in_a_function_are_its_own(compiled):
    def f(x, wq):
        return jitkit.nn.relu(jnp.where(x @ wq > 0, x, wq))

    program = jitkit.jit(f).trace(X, X).lower().compile(target="cpu")
    operations = {name for kernel in program.kernels for name in kernel.operations}
    assert {"dot_general", "gt", "select_n", "max"} <= operations
    assert not {"x", "wq", "jit", "custom_jvp_call"} & operations


def test_text_without_an_entry_has_no_kernels():
    assert Program("HloModule empty").kernels == []


# --- counting bundles -------------------------------------------------------------------------------------------

# Lines of libtpu's output, without most instructions: straight code, a loop, a loop in a loop, and code after a branch.
BUNDLES = """\
= control target key start
LB: loop body
PF: predicated region fallthrough
= control target key end

     0   :  { %s550_s0 = sld [smem:[#allocation20]] } /* Start region 0 :: Start region 542 */
   0x1   :  {}
  0x5a PF:  { %406 = vsettm 1 } /* Start/End empty region 132 */
  0xab LB: > { %s831_s21 = sld [smem:[#allocation27_spill]] } /* Start region 186 :: Start region 558 */
  0xac   : > { %v905_v3 = vmax.f32 %v647_v0, %v648_v1  ;;  %v639_v4 = vld [vmem:[%s10855_s16] sm:$0xff] }
  0xbe LB: >> { %s837_s0 = sld [smem:[#allocation28_spill]] } /* Start region 171 :: Start region 561 */
  0xbf   : >> { %838 = sst [smem:[#allocation28_spill]] %s837_s0 } /* End region 72 */
  0xc4 PF: >> { %714 = dma.done.wait [#allocation13], 16 /* local-dma-wait */ }
base_bounds: (1)
"""


def test_bundles_in_loops_and_branches_are_counted():
    assert count_bundles(BUNDLES) == 8


def test_of_two_counts_of_bundles_the_compilers_own_is_given():
    answer = {"seconds": 0.1, "hlo": "", "cost": ({}, ""), "memory": ({}, ""), "launches": []}
    code = {"fusion.1": BUNDLES, "fusion.2": BUNDLES}
    program = TargetProgram("f", TARGETS["tpu:v5e"], answer | {"code": code, "bundles": {"fusion.1": 10}})
    assert program.bundles() == {"fusion.1": 10, "fusion.2": 8}
    assert program.code_size() == (18, "bundles")


# --- the command ----------------------------------------------------------------------------------------------


def test_shapes_are_read_as_they_are_printed():
    found = parse_shapes("f32[2, 3],i32[],bool[4]") + parse_shapes("float32[2] u8")
    assert [(s.shape, s.dtype.name) for s in found] == [
        ((2, 3), "float32"),
        ((), "int32"),
        ((4,), "bool"),
        ((2,), "float32"),
        ((), "uint8"),
    ]


def test_a_type_from_the_command_line_may_be_that_of_random_keys():
    found = parse_shapes("key[], key<fry>[2], f32[3]") + parse_shapes("key<rbg>[]")
    keys = [jitkit.random.key(0), jitkit.random.split(jitkit.random.key(0)), jnp.ones(3)]
    keys += [jitkit.random.key(0, impl="rbg")]
    assert [(s.shape, s.dtype) for s in found] == [(key.shape, key.dtype) for key in keys]
    [tree, alone] = parse_arguments('{"key": key<fry>[], "x": f32[2]}, key[]')
    drawn = jitkit.eval_shape(lambda t, k: jitkit.random.normal(t["key"], (2,)) + jitkit.random.normal(k), tree, alone)
    assert drawn.shape == (2,)
    page = jitkit.explore(jax.jit(jax.random.normal), *parse_shapes("key<rbg>[]"), targets="cpu").data
    assert page["library"] == "jax"
    assert page["failure"] is None


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(
        "import jitkit as jax\nimport jitkit.numpy as jnp\n\n"
        "@jax.jit\ndef loss(w, x):\n    return jnp.tanh(x @ w).sum()\n\n"
        "def broken(x):\n    return x.no_such_thing\n",
        encoding="utf-8",
    )
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--target", "gpu:tin"], 2, "unknown target: 'gpu:tin'. The targets are 'cpu'"),
        (["--shapes", "f32[2"], 2, "'f32[2' is not a type such as f32[1024,8]"),
        (["--shapes", "f33[2]"], 2, "'f33' in 'f33[2]' is not a dtype; there are f32, f16, bf16"),
        (["nowhere.py"], 2, "does not name a function"),
        (["nowhere.py:f"], 2, "there is no file 'nowhere.py'"),
        (["{model}:gain"], 1, "has no function 'gain'. It has loss, broken."),
        (["{model}:loss"], 1, "loss was called with no arguments. Give a type for each array: --shapes"),
        (["{model}:loss", "--shapes", "f32[2,2]"], 1, "missing 1 required positional argument: 'x'"),
        (["{model}:loss", "--shapes", "f32[2,2],f32[3]"], 1, "TypeError: dot_general requires contracting dim"),
        (["{model}:broken", "--shapes", "f32[2]"], 1, "AttributeError"),
        (
            ["{model}:broken", "--shapes", "f32[2]"],
            1,
            "broken was called with float32[2], and raised at line 9; --shapes",
        ),
    ],
)
def test_wrong_arguments_are_answered_in_a_sentence(arguments, status, words, model, capsys):
    assert cli.main(["targets", "--target", "cpu", *(a.format(model=model) for a in arguments)]) == status
    shown = capsys.readouterr()
    assert words in shown.err
    assert "Traceback" not in shown.err
    assert shown.out == ""


def test_a_jitted_method_is_compiled_as_it_is_bound(tmp_path, capsys):
    (tmp_path / "model.py").write_text(
        "import functools\nimport jitkit\n\nclass Net:\n    @functools.partial(jitkit.jit, static_argnums=0)\n"
        "    def loss(self, x):\n        return x * 2.0\n\nnet = Net()\n"
    )
    assert cli.main(["targets", f"{tmp_path / 'model.py'}:net.loss", "--shapes", "f32[3]", "--target", "cpu"]) == 0
    assert "loss(x: float32[3])" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:", "is not Python"),
        ("import nothing_like_this", "line 1: ModuleNotFoundError"),
        ("exit(3)", "SystemExit"),
    ],
)
def test_a_file_that_cannot_be_imported_is_said_to_be_one(text, words, tmp_path, capsys):
    (tmp_path / "odd.py").write_text(text, encoding="utf-8")
    assert cli.main(["targets", f"{tmp_path / 'odd.py'}:f"]) == 1
    assert words in capsys.readouterr().err


OF_JAX = """\
import jax, jax.numpy as jnp
from jax import lax, nn as layers
import jitkit.numpy

def plain(x):
    return jnp.sin(x)

jitted = jax.jit(plain)
mapped = jax.vmap(plain)

def calls(x):
    return lax.sin(x)

def inside(x):
    return (lambda y: jitted(y))(x)

def local(x):
    import jax.scipy
    return jax.scipy.special.erf(x)

def ours(x):
    return jitkit.numpy.sin(x) @ x
"""


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("plain", "plain calls JAX (jnp), and jitkit compiles functions of its own"),
        ("jitted", "plain is a function of JAX's, and jitkit compiles functions of its own"),
        ("mapped", "plain is a function of JAX's"),
        ("calls", "calls calls JAX (lax)"),
        ("inside", "inside calls JAX (jitted)"),
        ("local", "local calls JAX (jax.scipy)"),
        ("ours", ""),
    ],
)
def test_a_function_of_jax_is_said_to_be_one_with_the_imports_to_change(function, words, tmp_path, capfd):
    (tmp_path / "model.py").write_text(OF_JAX, encoding="utf-8")
    status = cli.main(["targets", f"{tmp_path}/model.py:{function}", "--shapes", "f32[2]", "--target", "cpu"])
    shown = capfd.readouterr()
    if not words:
        assert status == 0
        return
    assert status == 2
    assert words in shown.err
    assert shown.err.splitlines()[1:4] == [
        "    line 1: import jitkit as jax",
        "    line 1: import jitkit.numpy as jnp",
        "    line 2: from jitkit import lax, nn as layers",
    ]
    assert "Traceback" not in shown.err
    assert "bug" not in shown.err


def test_imports_are_changed_in_the_file_that_was_named_or_where_the_function_stands(tmp_path, capfd):
    (tmp_path / "model.py").write_text("import os\nfrom jax.nn import relu\n", encoding="utf-8")
    assert cli.main(["targets", f"{tmp_path}/model.py:relu", "--shapes", "f32[2]"]) == 2
    assert capfd.readouterr().err.endswith("imports of model.py:\n    line 2: from jitkit.nn import relu\n")
    (tmp_path / "of_jax_layers.py").write_text(OF_JAX, encoding="utf-8")
    (tmp_path / "model.py").write_text("from of_jax_layers import jitted, plain\n", encoding="utf-8")
    assert cli.main(["targets", f"{tmp_path}/model.py:plain", "--shapes", "f32[2]"]) == 2
    assert "Change the imports of of_jax_layers.py:\n    line 1:" in capfd.readouterr().err
    assert cli.main(["targets", f"{tmp_path}/model.py:jitted", "--shapes", "f32[2]"]) == 2
    assert "Where it is written, change the imports: `import jitkit as jax`" in capfd.readouterr().err


def test_the_kernels_below_the_table_add_up_to_those_in_it(compiled):
    stream = io.StringIO()
    screen = Screen(stream, width=100, interactive=False, color=False, unicode=True)
    verb.show(screen, loss, jitkit.jit(loss).trace(X, X), {TARGETS["cpu"]: compiled})
    table, below = stream.getvalue().split("Fused for cpu")
    [row] = [line.split() for line in table.splitlines() if line.startswith("  cpu ")]
    joined = len(re.findall(r"^    lines? ", below, re.MULTILINE))
    within = sum(map(int, re.findall(r"(\d+) fusions? of the steps", below)))
    alone = sum(map(int, re.findall(r"(\d+) kernels? (?:that|not)", below)))
    assert [int(row[1]), int(row[2])] == [joined + within + alone, joined + within]


def test_the_table_of_a_function_has_a_row_and_the_fused_lines(model, capsys):
    assert cli.main(["targets", f"{model}:loss", "--shapes", "f32[8,8],f32[8,8]", "--target", "cpu"]) == 0
    shown = capsys.readouterr().out
    assert "loss(w: float32[8,8], x: float32[8,8])" in shown
    assert "   6      return jnp.tanh(x @ w).sum()" in shown
    assert "target  kernels  fused  loops" in shown
    assert "a: XLA's cost model for CPUs" in shown
    assert "Fused for cpu (jaxlib " in shown
    assert "line 6: " in shown
    assert max(map(len, shown.splitlines())) < 80
    assert "\x1b" not in shown


def test_without_arguments_it_shows_an_example_and_how_to_get_what_is_missing(capsys, monkeypatch):
    monkeypatch.setattr(table, "_is_there", lambda module: module == "jaxlib")
    assert cli.main(["targets"]) == 0
    shown = capsys.readouterr().out
    assert "layer(x: float32[256,512]" in shown
    assert f"No compilers for {', '.join(name for name in TARGETS if name != 'cpu')} here." in shown
    assert (
        sys.platform != "linux" or 'pip install "jax[cuda12-local]" "nvidia-cuda-nvcc-cu12>=12.6" "jax[tpu]"' in shown
    )


def test_a_compiler_that_was_asked_for_and_is_missing_is_a_failure(capsys, monkeypatch):
    monkeypatch.setattr(table, "_is_there", lambda module: module == "jaxlib")
    assert cli.main(["targets", "--target", "tpu:v5e"]) == 1
    assert "tpu:v5e" in capsys.readouterr().out


def test_as_json_it_says_the_same_as_data(model, capsys, monkeypatch):
    monkeypatch.setattr(table, "_is_there", lambda module: module == "jaxlib")
    command = ["targets", f"{model}:loss", "--shapes", "f32[8,8]", "f32[8,8]", "--json"]
    assert cli.main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["function"] == "loss"
    cpu, *others = found["targets"]
    assert cpu["target"] == "cpu"
    assert cpu["cost"]["numbers"]["flops"] > 0
    assert cpu["cost"]["source"]
    assert any(f"{model}:6" in kernel["lines"] for kernel in cpu["kernels"])
    assert [other["reason"] for other in others] == ["missing"] * (len(TARGETS) - 1)


def test_the_tour_says_how_to_get_the_other_chips(monkeypatch):
    monkeypatch.setattr(table, "_is_there", lambda module: module == "jaxlib")
    stream = io.StringIO()
    tour_targets.show(Screen(stream, width=80, interactive=False, color=False, unicode=True), np.ones(3, np.float32))
    assert "Other chips" in stream.getvalue()
    assert "`make compilers` installs them" in " ".join(stream.getvalue().split())


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_the_table_fits_narrow_and_plain_terminals(compiled, width):
    stream = io.StringIO()
    screen = Screen(stream, width=width, interactive=False, color=False, unicode=False)
    traced = jitkit.jit(loss).trace(X, X)
    missing = TargetError("missing", "not here")
    refused = TargetError("refused", "The compiler refused 'f':\nwords")
    outcomes = {TARGETS["cpu"]: compiled, TARGETS["tpu:v5e"]: missing, TARGETS["gpu:h100"]: refused}
    verb.show(screen, loss, traced, outcomes)
    shown = stream.getvalue()
    commands = ("pip install", "or, in a clone")
    assert shown.isascii()
    assert max(len(line) for line in shown.splitlines() if not any(c in line for c in commands)) <= width
    assert "kernels" in shown
    assert "refused 'f'" in shown


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (999, "999"), (1234, "1.23 k"), (33.6e6, "33.6 M"), (2e9, "2.00 G"), (999999, "1.00 M")],
)
def test_amounts_have_three_digits_and_a_prefix(value, text):
    assert amount(value, "") == text
