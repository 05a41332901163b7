"""What a user gets from the compilers of GPUs and TPUs."""

from __future__ import annotations

import io
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from samples import SAMPLES

import jitkit
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.kata.command import cli
from jitkit.kata.screens.terminal import Screen
from jitkit.kata.tour import targets as tour_targets
from jitkit.signature.shape_struct import ShapeDtypeStruct
from jitkit.targets import TARGETS, TargetError
from jitkit.targets.program import count_bundles

HERE = pathlib.Path(__file__).parents[2]
OTHERS = [name for name in TARGETS if name != "cpu"]
TPUS = [name for name, target in TARGETS.items() if target.platform == "tpu"]
X = ShapeDtypeStruct((256, 256), np.float32)


def layer(x, w):
    h = jnp.tanh(x @ w + 1.0)
    h = lax.fori_loop(0, 5, lambda i, y: jnp.sin(y) * 1.5 - y, h)
    return h.sum()


FIRST = layer.__code__.co_firstlineno


@pytest.fixture(scope="module")
def programs(compilers):
    traced = jitkit.jit(layer).trace(X, X)
    return {
        name: traced.lower(lowering_platforms=(TARGETS[name].platform,))._compile_for(TARGETS[name], compilers)
        for name in TARGETS
    }


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("target", OTHERS)
def test_programs_of_control_flow_and_random_numbers_compile(target, name, compilers):
    function, *shapes = SAMPLES[name]
    lowered = jitkit.jit(function).trace(*shapes).lower(lowering_platforms=(TARGETS[target].platform,))
    assert "ENTRY" in lowered._compile_for(TARGETS[target], compilers).as_text()


@pytest.mark.parametrize("target", TARGETS)
def test_lines_of_python_are_found_in_the_fusions(target, programs):
    program = programs[target]
    lines = {line.number - FIRST for kernel in program.kernels for line in kernel.lines if line.file == __file__}
    assert lines == {1, 2, 3}
    assert any({"dot_general", "tanh"} <= set(kernel.operations) for kernel in program.fusions) or target != "tpu:v5e"
    assert len(program.loops) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_costs_and_memory_come_with_their_source(target, programs):
    cost, memory = programs[target].cost_analysis(), programs[target].memory_analysis()
    assert cost["flops"] >= 2 * 256**3
    assert cost["bytes accessed"] > 0
    assert ("libtpu" in cost.source) == target.startswith("tpu")
    assert ("no estimate of its own" in cost.source) == target.startswith("gpu")
    assert memory["arguments"] == 2 * X.size * 4
    assert memory.source


@pytest.mark.parametrize(("target", "architecture"), [("gpu:h100", "sm_90a"), ("gpu:a100", "sm_80")])
def test_a_gpu_gets_ptx_of_its_architecture_and_a_list_of_launches(target, architecture, programs):
    program = programs[target]
    texts = program.ptx()
    assert all(f".target {architecture}" in text and f".entry {kernel}" in text for kernel, text in texts.items())
    assert len([line for line in program.launches() if "Kernel" in line]) >= 3
    assert program.code_size() == (sum(text.count("\n") for text in texts.values()), "lines of PTX")


@pytest.mark.parametrize("target", TPUS)
def test_a_tpu_gets_bundles(target, programs):
    bundles = programs[target].bundles()
    assert all(count > 0 for count in bundles.values())
    assert {kernel.name for kernel in programs[target].fusions} & set(bundles)
    assert programs[target].code_size() == (sum(bundles.values()), "bundles")
    with pytest.raises(TargetError, match="PTX is not available from this compiler"):
        programs[target].ptx()


def attention(x, wq, wk, wv, wo):
    q, k, v = x @ wq, x @ wk, x @ wv
    weights = jitkit.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / 16.0, axis=-1)
    return jitkit.nn.relu((weights @ v) @ wo)


@pytest.mark.parametrize("target", TPUS)
def test_bundles_of_an_attention_block_are_counted_as_libtpu_counts_them(target, compilers):
    weights = [ShapeDtypeStruct((256, 256), np.float32)] * 4
    traced = jitkit.jit(attention).trace(ShapeDtypeStruct((4, 256, 256), np.float32), *weights)
    program = traced.lower(lowering_platforms=("tpu",))._compile_for(TARGETS[target], compilers)
    assert program._bundles == {kernel: count_bundles(text) for kernel, text in program._code.items()}
    assert program.bundles() == program._bundles
    assert sum(text.count("> {") for text in program._code.values()) > 200  # bundles in loops and branches
    operations = {name for kernel in program.kernels for name in kernel.operations}
    assert {"dot_general", "max"} <= operations
    assert not {"x", "wq", "wk", "wv", "wo", "jit", "custom_jvp_call"} & operations


@pytest.mark.parametrize("name", ["cholesky", "eigh", "inv", "qr", "svd"])
def test_a_gpu_gets_calls_of_cusolver(name, compilers):
    traced = jitkit.jit(getattr(jnp.linalg, name)).trace(ShapeDtypeStruct((64, 64), np.float32))
    program = traced.lower(lowering_platforms=("cuda",))._compile_for(TARGETS["gpu:h100"], compilers)
    assert 'custom_call_target="cusolver_' in program.as_text()


def test_a_cuda_toolkit_on_the_path_is_not_asked(tmp_path, monkeypatch):
    """It would be of another version than what was installed with the plugin, and hide that this is needed."""
    for tool in ("ptxas", "nvcc", "nvlink", "fatbinary"):
        (tmp_path / tool).write_text(f"#!/bin/sh\necho {tool} >> {tmp_path}/asked\nexit 1\n", encoding="utf-8")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    compiled = jitkit.jit(layer).trace(X, X).lower().compile(target="gpu:h100")
    assert compiled.ptx()
    assert not (tmp_path / "asked").exists()


def test_two_processes_compile_for_a_tpu_at_a_time(compilers):
    """libtpu locks a file when it is loaded, unless it is told that this is meant."""
    traced = jitkit.jit(layer).trace(X, X)
    here = traced.lower().compile(target="tpu:v5e")  # without the fixture `compilers`
    assert (
        traced.lower(lowering_platforms=("tpu",))._compile_for(TARGETS["tpu:v5e"], compilers).as_text()
        == here.as_text()
    )


QUIET = """
    import jitkit as jax, jitkit.numpy as jnp
    print(jax.jit(lambda x: jnp.sin(x).sum())(jnp.zeros(3)), jax.default_backend())
"""


def test_with_all_plugins_installed_a_program_on_the_cpu_prints_its_own_lines_only():
    env = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "TPU_"))} | {"PYTHONPATH": str(HERE)}
    command = [sys.executable, "-c", textwrap.dedent(QUIET)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    if "cpu" in done.stdout:  # on a machine with an accelerator, the program runs there
        assert done.stdout == "0.0 cpu\n"
        assert done.stderr == ""


def test_the_command_shows_all_targets(capsys):
    assert cli.main(["targets"]) == 0
    shown = capsys.readouterr().out
    rows = [line.split()[0] for line in shown.splitlines() if line.endswith((" s", " ms"))]
    assert [row for row in rows if row in TARGETS] == list(TARGETS)
    assert shown.count("Fused for ") == len(TARGETS)
    assert "Targets are not ranked" in shown
    assert max(map(len, shown.splitlines())) < 80


def test_the_tour_has_a_row_for_each_chip():
    stream = io.StringIO()
    tour_targets.show(Screen(stream, width=80, interactive=False, color=False, unicode=True), X)
    assert all(f"\n  {name} " in stream.getvalue() for name in TARGETS)
    assert "Fused into one kernel for" in stream.getvalue()


def test_the_command_gives_data(capsys):
    assert cli.main(["targets", "--json", "--target", "tpu:v6e", "--target", "gpu:h100"]) == 0
    found = json.loads(capsys.readouterr().out)["targets"]
    assert [target["target"] for target in found] == ["tpu:v6e", "gpu:h100"]
    assert [target["code"]["unit"] for target in found] == ["bundles", "lines of PTX"]
    assert found[0]["cost"]["source"] != found[1]["cost"]["source"]


@pytest.mark.parametrize("target", OTHERS)
def test_the_explorer_s_lines_have_the_bytes_that_the_compiler_counts(target):
    """But for a TPU's padding, and its copies, of which the compiler counts both ends at both ends."""

    def two_layers(w, b, v, x):
        return (jnp.tanh(x @ w + b) @ v).sum()

    types = [ShapeDtypeStruct(shape, np.float32) for shape in ((784, 512), (512,), (512, 10), (64, 784))]
    [found] = jitkit.explore(two_layers, *types, targets=[target]).data["targets"]
    told = found["by_line"]
    total = found["cost"]["numbers"]["bytes accessed"]
    assert told["bytes"] + told["copied"] + told["besides"] == total
    if target.startswith("tpu"):
        assert told["copied"] >= 2 * 4 * 784 * 512  # the weights are fetched ahead
        assert told["copied"] == sum(line["copied"] for line in told["lines"])
        assert told["bytes"] + 2 * told["copied"] == pytest.approx(total, rel=0.05)
    else:
        assert (told["copied"], told["besides"]) == (0, 0)
