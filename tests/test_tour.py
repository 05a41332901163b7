"""The tour shows what really happens, on any terminal."""

from __future__ import annotations

import io
import re
import sys

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest

import jitkit
from jitkit.bench.timing import Spread
from jitkit.kata.command import cli
from jitkit.kata.screens.terminal import Screen
from jitkit.kata.tour import arrows as tour_arrows
from jitkit.kata.tour import clock as tour_clock
from jitkit.kata.tour import example as tour_example
from jitkit.kata.tour import pitfall as tour_pitfall
from jitkit.kata.tour import training as tour_training


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    """Run the tour with its output going to a file; return the output, and the folder in which the tour wrote files."""
    folder = tmp_path_factory.mktemp("a tour")
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    before, sys.stdout = sys.stdout, stream
    try:
        status = cli.main(["tour", "--output", str(folder)])
    finally:
        sys.stdout = before
    stream.seek(0)
    return status, stream.read(), folder


def selu_of_jax(x, alpha=1.67, lmbda=1.05):
    return lmbda * jax_numpy.where(x > 0, x, alpha * jax_numpy.exp(x) - alpha)


def test_the_tour_ends_well(tour):
    assert tour[0] == 0


def test_the_tour_goes_through_all_five_arrows(tour):
    arrows = (
        "call → signature + leaves",
        "function + avals → Jaxpr",
        "Jaxpr → StableHLO",
        "StableHLO → executable",
        "signature → executable",
    )
    positions = [tour[1].find(arrow) for arrow in arrows]
    assert -1 not in positions
    assert positions == sorted(positions)


def test_the_tour_prints_the_jaxpr_that_jax_prints(tour):
    x = jax.ShapeDtypeStruct((1_000_000,), np.float32)
    expected = str(jax.make_jaxpr(selu_of_jax)(x))
    assert "\n".join("    " + line for line in expected.splitlines()) in tour[1]
    assert (tour[2] / "2-selu.jaxpr.txt").read_text(encoding="utf-8").strip() == expected


def test_the_texts_are_kept_whole(tour):
    assert "stablehlo.exponential" in (tour[2] / "3-selu.stablehlo.mlir").read_text(encoding="utf-8")
    assert "ENTRY" in (tour[2] / "4-selu.optimised-hlo.txt").read_text(encoding="utf-8")


def test_the_plot_is_a_png(tour):
    assert (tour[2] / "tour.png").read_bytes().startswith(b"\x89PNG")
    assert str(tour[2] / "tour.png") in tour[1]


def test_the_tour_is_plain_and_80_columns_wide_in_a_file(tour):
    lines = [line for line in tour[1].splitlines() if str(tour[2]) not in line]
    assert "\x1b" not in tour[1]
    assert max(map(len, lines)) < 80


def test_the_tour_points_out_the_fusion(tour):
    assert "one pass over memory" in tour[1]
    assert "← exp" in tour[1]


def test_the_tour_says_the_speed_up_in_a_sentence(tour):
    assert re.search(r"Jitted, SELU is ([\d.]+ times (faster|slower) than|as fast as)\s+numpy\s+and", tour[1])


def test_the_tour_tells_why_the_half_array_missed(tour):
    assert "x: float32[1000000] before, float32[500000] now" in tour[1]


def test_the_tour_gives_the_reasons_of_the_loops(tour):
    assert "define it once, outside of the loop" in " ".join(tour[1].split())


@pytest.mark.parametrize("shape", [(), (7,), (3, 4)])
def test_the_tours_functions_agree_with_jax(shape):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    expected = selu_of_jax(x)
    assert np.allclose(tour_example.selu(x), expected, atol=1e-6)
    assert np.allclose(jitkit.jit(tour_example.selu)(x), expected, atol=1e-6)
    assert np.allclose(tour_example.selu_numpy(x), expected, atol=1e-6)


def test_the_loops_count_what_jax_counts():
    lambdas, partials, function = tour_pitfall.measure()
    assert (lambdas.traces, lambdas.compiles) == (20, 20)
    assert (partials.traces, partials.compiles) == (20, 20)
    assert (function.traces, function.compiles) == (1, 1)
    assert [len(loop.reasons) for loop in (lambdas, partials, function)] == [20, 20, 1]


def test_the_loops_compute_what_they_should():
    for _, _, loop in tour_pitfall._LOOPS:
        assert int(loop(np.int32(3), 4)) == 7


def test_the_network_learns_and_its_step_is_compiled_once(tour):
    assert "traced once, compiled once" in " ".join(tour[1].split())
    shares = re.search(
        r"Of the points, (\d+)% were on the right side before, and (\d+)% are now", " ".join(tour[1].split())
    )
    assert int(shares[1]) < 80 < 98 <= int(shares[2])
    losses = [float(value) for value in re.findall(r"loss before step +\d+ +([\d.]+)", tour[1])]
    assert len(losses) == 8
    assert losses[-1] < losses[0] / 5


def test_the_step_of_the_tour_is_that_of_jax():
    x, y = tour_training.points()
    params = tour_training.weights()

    def loss(params, x, y):
        scores = jax_numpy.tanh(x @ params["w1"] + params["b1"]) @ params["w2"]
        return jax_numpy.mean(jax.nn.softplus(-y * scores))

    expected, slopes = jax.jit(jax.value_and_grad(loss))(params, x, y)
    value, better = jitkit.jit(tour_example.step)(params, x, y)
    assert np.allclose(value, expected, atol=1e-6)
    for name, old in params.items():
        assert np.allclose(old - np.asarray(better[name]), slopes[name], atol=1e-6), name
    by_gradient, by_differences = tour_training._slopes(jitkit.tree.map(jitkit.numpy.asarray, params), x, y)
    assert by_gradient == pytest.approx(by_differences, rel=1e-2)


def test_equations_of_inner_jaxprs_are_counted_once():
    jaxpr = jitkit.make_jaxpr(tour_example.selu)(np.ones(3, np.float32))
    assert tour_arrows.count_equations(jaxpr) == 6


def test_the_source_is_shown_without_docstring_and_annotations():
    assert tour_arrows.source_of(tour_example.body) == "def body(i):\n    return i + 1"


HLO = """HloModule jit_f, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

%fused_computation (param_0: f32[8]) -> f32[8] {
  %param_0 = f32[8]{0} parameter(0)
  %constant.1 = f32[] constant(2)
  %broadcast.1 = f32[8]{0} broadcast(%constant.1), dimensions={}
  ROOT %mul.0 = f32[8]{0} multiply(%param_0, %broadcast.1), metadata={op_name="jit(f)/g/mul" id=2}
}

ENTRY %main.2 (x.1: f32[8]) -> f32[8] {
  %x.1 = f32[8]{0} parameter(0), metadata={op_name="x"}
  ROOT %mul_fusion = f32[8]{0} fusion(%x.1), kind=kLoop, calls=%fused_computation, metadata={op_name="f"}
}
"""


def test_the_fusion_is_found_and_its_lines_know_their_equations():
    fused, entry = tour_arrows.fusion_and_entry(HLO)
    assert fused == [
        ("%fused_computation (param_0: f32[8]) -> f32[8] {", ""),
        ("  %param_0 = f32[8] parameter(0)", ""),
        ("  ROOT %mul.0 = f32[8] multiply(%param_0, 2)", "mul"),
        ("}", ""),
    ]
    assert entry[2] == ("  ROOT %mul_fusion = f32[8] fusion(%x.1), kind=kLoop, calls=%fused_computation", "")


def test_a_program_without_a_fusion_has_none():
    fused, entry = tour_arrows.fusion_and_entry("ENTRY %main (x: f32[]) -> f32[] {\n  ROOT %s = f32[] sine(%x)\n}\n")
    assert fused == []
    assert len(entry) == 3


def times(numpy, eager, jitted, first=0.05):
    spread = {name: Spread.of([value]) for name, value in (("numpy", numpy), ("eager", eager), ("jitted", jitted))}
    return tour_clock.Times(**spread, first=first, stages={"tracing": 0.01, "compilation": 0.03}, difference=0.0)


def test_the_verdict_says_what_was_measured():
    assert tour_clock.verdict(times(8e-3, 5e-3, 1e-3)) == (
        "Jitted, SELU is 8.0 times faster than numpy and 5.0 times faster than op by op, on this machine. "
        "The first call has paid for itself after 12 calls."
    )


def test_the_verdict_does_not_boast_where_jit_lost():
    text = tour_clock.verdict(times(1e-3, 1e-3, 2e-3))
    assert "2.0 times slower than numpy" in text
    assert "paid" not in text


def test_the_first_call_is_shown_stage_by_stage():
    stream = io.StringIO()
    tour_clock.show(Screen(stream, width=80, interactive=False, color=False, unicode=True), times(8e-3, 5e-3, 1e-3))
    assert (
        "The first jitted call, for which XLA compiled anew, took 50.0 ms: trace 10.0 ms, compile 30.0 ms, the rest, "
        "with the run 10.0 ms."
    ) in " ".join(stream.getvalue().split())


def test_a_folder_that_cannot_be_written_is_the_users_problem(tmp_path, capsys):
    (tmp_path / "taken").write_text("a file")
    assert cli.main(["tour", "--output", str(tmp_path / "taken" / "inside")]) == 1
    assert "--output DIR" in capsys.readouterr().err
