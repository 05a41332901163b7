"""`jit(f, backend="c")`: a compiler of our own, beside XLA. Values agree within what XLA's own targets differ by."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import jax
import numpy as np
import pytest
from loops_programs import program
from tails import keeping

import jitkit as jk
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.base import config, stage_log
from jitkit.loops import native
from jitkit.loops.source import write

F32 = np.float32
RNG = np.random.default_rng(0)
MATRIX = RNG.standard_normal((3, 4)).astype(F32)
SPECIAL = np.array(
    [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 88.8, 89, -88, -104, -200, 1e30, 5e-5, 0.625, -0.624, 3], F32
)


def agrees(f, *args, tolerance=1e-5):
    """Check that values, shapes, dtypes and weak types are those of XLA's program."""
    expected, found = jk.jit(f)(*args), jk.jit(f, backend="c")(*args)
    assert jk.tree.structure(expected) == jk.tree.structure(found)
    for x, y in zip(jk.tree.leaves(expected), jk.tree.leaves(found), strict=True):
        assert (x.aval, x.device) == (y.aval, y.device)
        np.testing.assert_allclose(np.asarray(y), np.asarray(x), rtol=tolerance, atol=tolerance)


def c_of(f, *args):
    """Return the C of a function from its loops on, and its whole `Source`."""
    source = write("f", jk.make_jaxpr(f)(*args))
    return source.text[source.text.index("#define LOOP") :], source


# --- values -----------------------------------------------------------------------------------------------------

UNARY = (
    "exp", "log", "tanh", "logistic", "sign", "abs", "floor", "ceil", "sqrt", "rsqrt", "cbrt", "exp2", "expm1",
    "log1p", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh",
    "erf", "erfc", "square", "neg", "is_finite",
)  # fmt: skip
BINARY = [
    "max",
    "min",
    "atan2",
    "pow",
    "rem",
    "nextafter",
    "div",
    "add",
    "sub",
    "mul",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
]
OF_INTEGERS = (
    "max", "min", "div", "rem", "add", "sub", "mul", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left",
    "shift_right_logical", "shift_right_arithmetic", "eq", "lt", "ge",
)  # fmt: skip
INTEGERS = ["int8", "int16", "int32", "uint8", "uint16", "uint32"]


def test_each_elementwise_operation_agrees_on_special_values_too():
    """All operations are in one program for each dtype, because compiling takes most of the time."""
    agrees(
        lambda x: [getattr(lax, name)(x) for name in UNARY] + [lax.round(x, lax.RoundingMethod(k)) for k in (0, 1)],
        SPECIAL,
    )

    def pairs(x):
        a, b = jnp.broadcast_to(x[:, None], (len(SPECIAL),) * 2), jnp.broadcast_to(x, (len(SPECIAL),) * 2)
        return [getattr(lax, name)(a, b) for name in BINARY]

    agrees(pairs, SPECIAL)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_divide_and_shift_as_xla_has_it(dtype):
    edges = np.array([0, 1, 2, 3, 7, 100, np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)

    def all_of_them(x, floats):
        a, b = jnp.broadcast_to(x[:, None], (8, 8)), jnp.broadcast_to(x, (8, 8))
        found = [getattr(lax, name)(a, b) for name in OF_INTEGERS]
        names = ["sign", "neg", "bitwise_not", "population_count", "clz", *(["abs"] if dtype[0] == "i" else [])]
        found += [getattr(lax, name)(x) for name in names]
        found += [x.astype(other) for other in (*INTEGERS, "float32", "bool")] + [
            floats.astype(dtype),
            lax.integer_pow(x, 3),
        ]
        found += [x.sum(), x.max(), x.min(), x.prod(), jnp.argmax(x), jnp.argmin(x), jnp.cumsum(x)]
        return [*found, jnp.stack([x, x]) @ jnp.stack([x, x], 1)]

    agrees(all_of_them, edges, SPECIAL * 3)


def test_bools_agree():
    agrees(
        lambda b: (
            b.all(),
            b.any(),
            ~b,
            b & b,
            b | b,
            b ^ ~b,
            b.astype(int),
            b.sum(),
            jnp.argmax(b),
            jnp.max(b),
            jnp.cumsum(b),
        ),
        np.array([True, False, True]),
    )


def test_64_bits_agree():
    with jk.enable_x64(True):
        x = RNG.standard_normal((30, 40))
        agrees(
            lambda x: (jnp.exp(x), jnp.tanh(x) @ x.T, x.sum(0), x.astype("int64").sum(), x.max()), x, tolerance=1e-12
        )


DERIVED = {
    "gradient of softmax": (jk.grad(lambda x: (jk.nn.softmax(x) ** 2).sum() * x.mean()), MATRIX),
    "batch of loops": (
        jk.vmap(lambda x: lax.while_loop(lambda c: c.sum() < 10, lambda c: c + jnp.abs(x) + 0.1, x)),
        MATRIX,
    ),
    "gradient of scan": (jk.grad(lambda x: lax.scan(lambda c, y: (jnp.sin(c * y.sum()), c), 1.0, x)[0]), MATRIX),
    "gradient of cond": (jk.grad(lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x).sum()), MATRIX),
    "gradient of checkpoint": (jk.grad(lambda x: jk.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x).sum()), MATRIX),
    "hessian": (jk.hessian(lambda x: jnp.tanh(x).sum() * x[0]), MATRIX[0]),
    "switch": (
        lambda x: lax.switch(x[0].astype(int), [lambda x: x, lambda x: x * 2, lambda x: x * 3], x),
        np.array([2, 1], F32),
    ),
    "outputs of all kinds": (
        lambda x: (x, x, x.T, x.sum(), 3.0, jnp.zeros((2, 0)), x[:0].sum(0), jnp.arange(4)),
        MATRIX,
    ),
    "products": (lambda x: (x @ x.T, jnp.einsum("ij,kj->ik", x, x[:2]), x[0] @ x[1], x.T @ x[:, 1]), MATRIX),
}


@pytest.mark.parametrize("name", DERIVED)
def test_transformed_programs_agree(name):
    agrees(*DERIVED[name], tolerance=1e-4)


def test_products_in_tiles_agree_whatever_the_order_of_axes():
    x = RNG.standard_normal((20, 3, 30)).astype(F32)

    def f(x):
        cube = jnp.transpose(x, (1, 0, 2))
        return (
            jnp.einsum("bij,bkj->bik", cube, cube), jnp.einsum("ibj,jbk->bik", x, jnp.transpose(x, (2, 1, 0))),
            jnp.einsum("abc,dbc->ad", x, x), x[:, 0].T @ x[:, 1, :17], jnp.einsum("abc,cd->abd", x, x[:, 0].T),
        )  # fmt: skip

    agrees(f, x, tolerance=1e-4)


def test_a_layer_and_its_gradient_agree():
    shapes = ((4, 32), (32,), (32, 8), (8,))
    params = [RNG.standard_normal(shape).astype(F32) for shape in shapes]

    def loss(params, x):
        w, b, v, c = params
        return ((jk.nn.relu(x @ w + b) @ v + c) ** 2).mean()

    agrees(jk.value_and_grad(loss), params, RNG.standard_normal((16, 4)).astype(F32), tolerance=1e-4)


def test_expressions_of_any_depth_agree():
    def deep(x):
        for _ in range(1000):
            x = jnp.sin(x) * 1.01 + x * 0.1
        return x

    agrees(deep, MATRIX, tolerance=1e-3)


def test_a_constant_that_was_closed_over_is_passed():
    table = jnp.asarray(MATRIX)
    agrees(lambda x: x @ table.T + table.sum(), MATRIX)
    agrees(lambda: jnp.arange(3.0))


@pytest.mark.parametrize("seed", keeping(range(1000), *range(20), 594))
def test_random_programs_agree(seed):
    f, args = program(seed)
    with config.override(cc=f"{_compiler()} -O1"):
        agrees(f, *args, tolerance=2e-4)


def _compiler():
    from_option = config.value("cc")
    return from_option or "cc"


# --- loops and memory -------------------------------------------------------------------------------------------


def test_elementwise_operations_are_one_loop():
    text, source = c_of(lambda x: jnp.tanh(x * 2 + 1) / (1 + jnp.exp(-x)), MATRIX)
    assert (source.loops, text.count("for (")) == (1, 1)
    assert source.costs["bytes accessed"] == 2 * MATRIX.nbytes


def test_a_sum_of_everything_does_not_join_a_nest_of_rows():
    """It would begin again with each row."""

    def f(x, y):
        a = jnp.clip(x, -3, 3)[None]
        total = jnp.arctan(a) + a
        return jnp.maximum(a, total), jnp.where(total.sum() > 0, total * 2, total), y

    agrees(f, np.array([[1.5], [1.0], [-1.0], [-0.5]], F32), MATRIX)


def test_softmax_of_rows_is_one_nest_and_keeps_one_row():
    text, source = c_of(jk.nn.softmax, np.ones((64, 128), F32))
    assert (text.count("LOOP loop"), source.loops) == (1, 3)
    assert source.workspace <= 128 * 4 + 128
    assert source.costs["bytes accessed"] == 2 * 64 * 128 * 4


def test_equal_dead_and_idle_operations_are_left_out():
    def f(x):
        a, b = jnp.sin(x) * 1, jnp.sin(x) - 0.0
        jnp.cos(x)
        return a + b

    text, _ = c_of(f, MATRIX)
    assert (text.count("__builtin_sinf"), text.count("__builtin_cosf")) == (1, 0)


def test_a_zero_is_added_where_it_makes_a_difference():
    """-0.0 + 0.0 is 0.0, so `x + 0.0` is not x."""
    found = np.asarray(jk.jit(lambda x: x + 0.0, backend="c")(np.array([-0.0], F32)))
    assert not np.signbit(found)[0]


def test_bytes_of_a_chain_do_not_grow_with_its_length():
    def chain(length):
        def f(x):
            for _ in range(length):
                x = lax.cumsum(x) * 0.5
            return x

        return write("f", jk.make_jaxpr(f)(np.ones(1000, F32))).workspace

    assert chain(40) == chain(5)


def test_a_broadcast_is_not_stored():
    text, source = c_of(lambda x, y: x[:, None] * y[None, :], np.ones(50, F32), np.ones(60, F32))
    assert (source.workspace, text.count("LOOP loop")) == (64, 1)


def test_the_memory_of_a_large_result_is_used_again_once_nobody_holds_it():
    f, x = jk.jit(lambda x: x + 1, backend="c"), jnp.zeros(100_000)

    def address(result):
        return np.asarray(result).ctypes.data

    first = f(x)
    where, view = address(first), np.asarray(first)[::1000]
    del first
    second = f(x)
    assert address(second) != where  # since a view keeps the first memory
    np.testing.assert_array_equal(view, np.ones(100, F32))
    del view
    third = f(second)
    assert address(third) == where
    np.testing.assert_array_equal(np.asarray(second)[::1000], np.ones(100, F32))
    np.testing.assert_array_equal(np.asarray(third)[::1000], np.full(100, 2, F32))


def test_results_that_others_still_read_keep_their_memory():
    """XLA reads ours while we go on; numpy, `jax` and DLPack hold it."""
    f, g = jk.jit(lambda x: x * 2, backend="c"), jk.jit(lambda x: jnp.cumsum(jnp.sin(x)))
    x = jnp.arange(100_000, dtype=F32)
    sums = [g(f(x + i)) for i in range(8)]
    held = [(np.from_dlpack(f(x + i)), jax.numpy.asarray(f(x + i))) for i in range(8)]
    for _ in range(4):
        f(x)
    numbers = np.arange(100_000, dtype=F32)
    for i, (found, both) in enumerate(zip(sums, held, strict=True)):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(g((numbers + i) * 2)))
        for one in both:
            np.testing.assert_array_equal(np.asarray(one), (numbers + i) * 2)


# --- the surface ------------------------------------------------------------------------------------------------


def test_compiled_shows_c_its_costs_and_its_memory():
    compiled = jk.jit(jk.nn.softmax, backend="c").lower(MATRIX).compile()
    assert "exp_f32" in compiled.as_text()
    assert re.search(r"// exp  test_loops\.py:\d+|// exp  ", compiled.as_text())
    assert compiled.cost_analysis()["loops"] == 3
    memory = compiled.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (48, 48)
    assert "run" in compiled.runtime_executable().assembly()
    assert repr(compiled).startswith("Compiled softmax(x: float32[3,4]")
    np.testing.assert_allclose(np.asarray(compiled(MATRIX)), np.asarray(jk.nn.softmax(MATRIX)), rtol=1e-6)


def test_each_backend_has_a_table_of_its_own_and_explain_says_so():
    def f(x):
        return x * 2.5

    by_xla, by_c = jk.jit(f), jk.jit(f, backend="c")
    by_xla(MATRIX)
    by_c(MATRIX)
    said = str(jk.explain(by_c))
    assert "backend" in said
    assert (by_xla._cache_size(), by_c._cache_size()) == (1, 1)


def test_host_values_scalars_and_donated_arrays_are_arguments():
    f = jk.jit(lambda x, y: x + y, backend="c")
    for _ in range(3):
        assert float(f(1.5, 2)) == 3.5
        np.testing.assert_array_equal(np.asarray(f(MATRIX, jnp.asarray(MATRIX))), MATRIX * 2)
    given = jnp.ones(3)
    assert jk.jit(lambda x: x + 1, backend="c", donate_argnums=0)(given).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(given)


def test_other_backends_are_as_in_jax():
    with pytest.warns(DeprecationWarning, match="deprecated"):
        assert jk.jit(lambda x: x + 1, backend="cpu")(1.0) == 2
    with pytest.warns(DeprecationWarning, match="deprecated"), pytest.raises(RuntimeError, match="nope"):
        jk.jit(lambda x: x, backend="nope")
    with pytest.raises(ValueError, match="device should not be specified"):
        jk.jit(lambda x: x, backend="c", device=jk.devices()[0])
    with pytest.raises(ValueError, match="takes no compiler_options"):
        jk.jit(lambda x: x, backend="c", compiler_options={"xla_cpu_enable_fast_math": True})(1.0)


REFUSED = {
    "primitive 'sort'": lambda x: jnp.sort(x),
    "primitive 'random_seed'": lambda x: jk.random.normal(jk.random.key(0), (3,)) + x[0, 0],
    "type bfloat16": lambda x: x.astype(jnp.bfloat16),
    "type complex64": lambda x: x + 1j,
    "primitive 'top_k'": lambda x: lax.top_k(x, 2)[0],
    "primitive 'cholesky'": lambda x: lax.cond(True, lambda x: jnp.linalg.cholesky(x @ x.T), lambda x: x @ x.T, x),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_has_no_c_is_refused_by_name_when_it_is_traced(what):
    f = jk.jit(REFUSED[what], backend="c")
    for call in (f, f.trace):
        with pytest.raises(
            NotImplementedError, match=rf"has no C for the (primitive|type) .*{what.split()[1]}"
        ) as caught:
            call(MATRIX)
        assert "test_loops.py:" in str(caught.value)


# --- the C compiler ---------------------------------------------------------------------------------------------


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"needs a C compiler, and there is none.*\n.*pip install ziglang"):
        jk.jit(lambda x: x * 7.5, backend="c")(MATRIX)


def test_a_compiler_that_cannot_be_run_is_named():
    with config.override(cc="/no/such/cc"), pytest.raises(RuntimeError, match=r"/no/such/cc cannot be run"):
        jk.jit(lambda x: x * 8.5, backend="c")(MATRIX)


def test_a_compiler_that_fails_is_quoted_with_the_lines_of_c_and_of_python(tmp_path):
    """It complains about the line of the multiplication; its message is not ours."""
    script = tmp_path / "cc.py"
    script.write_text(
        textwrap.dedent("""
        import sys
        if "--version" in sys.argv: sys.exit(print("cc 1.0"))
        path = next(x for x in sys.argv if x.endswith("program.c"))
        number = next(i for i, line in enumerate(open(path), 1) if "// mul" in line and "=" in line)
        sys.exit(f"{path}:{number}:5: error: out of registers")
        """)
    )
    f = jk.jit(lambda x: jnp.sin(x) * 9.5, backend="c")
    with config.override(cc=f"{sys.executable} {script}"), pytest.raises(RuntimeError) as caught:
        f(MATRIX)
    said = str(caught.value)
    assert "error: out of registers" in said
    assert re.search(r"line \d+ of the C text:\n  f32 w\d+ = .*\nwhich is for mul test_loops\.py:\d+", said)
    np.testing.assert_allclose(np.asarray(f(MATRIX)), np.sin(MATRIX) * 9.5, rtol=1e-5)  # the failure is not cached


def test_a_compiler_without_libgcc_links_as_it_is_used_to(tmp_path):
    script, real = tmp_path / "cc.py", native.command()
    script.write_text(
        textwrap.dedent(f"""
        import subprocess, sys
        if "-lgcc" in sys.argv: sys.exit("cannot find -lgcc")
        sys.exit(subprocess.call({real!r} + sys.argv[1:]))
        """)
    )
    with config.override(cc=f"{sys.executable} {script}"):
        found = jk.jit(lambda x: jnp.sin(x) * 10.5, backend="c")(MATRIX)
    np.testing.assert_allclose(np.asarray(found), np.sin(MATRIX) * 10.5, rtol=1e-5)


def test_the_disk_cache_keeps_machine_code(tmp_path):
    def f(x):
        return x * 10.5

    with config.override(compilation_cache_dir=str(tmp_path)):
        jk.jit(f, backend="c")(MATRIX)
        assert len(list(tmp_path.glob("*.jitkit"))) == 1
        jk.clear_caches()
        with stage_log.listen() as events:
            np.testing.assert_array_equal(np.asarray(jk.jit(f, backend="c")(MATRIX)), MATRIX * F32(10.5))
        assert "disk cache hit" in [event.stage for event in events]
        with config.override(cc="gcc -O1" if _compiler() != "gcc -O1" else "cc"):  # another compiler makes another file
            jk.jit(lambda x: x * 10.5, backend="c")(MATRIX)
    assert len(list(tmp_path.glob("*.jitkit"))) == 2


def test_threads_run_one_program_at_once():
    f = jk.jit(lambda x: jnp.cumsum(jnp.exp(x) * 0 + x).sum(), backend="c")
    results = {}

    def work(i):
        results[i] = [float(f(np.full(5000, i, F32))) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {i: float(jk.jit(lambda x: jnp.cumsum(x).sum())(np.full(5000, i, F32))) for i in range(6)}
    assert {i: len(set(found)) for i, found in results.items()} == dict.fromkeys(range(6), 1)
    np.testing.assert_allclose([results[i][0] for i in range(6)], [expected[i] for i in range(6)], rtol=1e-4)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX: Windows has no SIGINT for another process")
def test_ctrl_c_ends_the_wait_for_the_compiler(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(
        f"import sys, time\nif '--version' in sys.argv: sys.exit(print('slow'))\nopen({str(tmp_path / 'on')!r}, 'w')\ntime.sleep(60)\n"
    )
    code = """
        import signal, jitkit as jk
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell runs in the background ignores it
        try:
            jk.jit(lambda x: x + 1, backend="c")(1.0)
        except KeyboardInterrupt:
            print("interrupted")
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    env = os.environ | {"JITKIT_CC": f"{sys.executable} {script}"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        while not (tmp_path / "on").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[0] == "interrupted\n"
