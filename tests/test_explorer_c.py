"""The Explorer shows what our own compiler writes: C and its assembly, linked to equations."""

from __future__ import annotations

import re

import jax
import pytest

import jitkit
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.base import config
from jitkit.explorer import bundle, explore, own_c
from jitkit.explorer.api import exploration, subject_of
from jitkit.kata.command.cli import main
from jitkit.loops import native


def spec(*shape):
    return jitkit.ShapeDtypeStruct(shape, "float32")


def softmax(x):
    e = jnp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def data():
    return exploration(subject_of(softmax, (spec(8, 16),), {}), ["c"], keep=False).data


def primitives(data, numbers):
    return [data["equations"][number]["primitive"] for number in numbers]


def test_each_line_of_c_has_its_equation(data):
    listing = data["c"]["listing"]
    found = {
        line.strip(): primitives(data, numbers)
        for line, numbers in zip(listing["lines"], listing["equations"], strict=True)
    }
    for wanted, of in (
        (r"f32 w\d+ = w\d+ - a\d+;  // sub ", ["sub"]),
        (r"f32 w\d+ = exp_f32\(w\d+\);  // exp ", ["exp"]),
        (r"a\d+ = a\d+ \+ w\d+;  // reduce_sum ", ["reduce_sum"]),
        (r"a\d+ = max_f32\(a\d+, w\d+\);  // reduce_max ", ["reduce_max"]),
        (r"out0\[.*\] = w\d+;", ["div"]),
        (r"INLINE f32 exp_f32\(f32 x\) \{", ["exp"]),
        (r"f32 w\d+ = in0\[", []),
    ):
        assert [numbers for line, numbers in found.items() if re.match(wanted, line)][:1] == [of], wanted
    assert not any("eqn~" in line for line in listing["lines"])  # `eqn~` is our own mark
    assert data["c"]["costs"]["loops"] == 3
    heads = [row for row, line in enumerate(listing["lines"]) if line.startswith("LOOP")]
    assert {*primitives(data, listing["equations"][heads[0]])} >= {"reduce_max", "sub", "exp", "reduce_sum", "div"}


def test_instructions_have_the_equations_of_their_line_of_c(data):
    assembly, c = data["c"]["assembly"], data["c"]["listing"]
    assert assembly["lines"]
    assert not data["c"]["no_assembly"]
    assert not any(line.lstrip().startswith((".cfi", ".loc")) for line in assembly["lines"])
    linked = {primitive for numbers in assembly["equations"] for primitive in primitives(data, numbers)}
    assert linked >= {"exp", "div", "sub"}
    assert sum(map(bool, assembly["equations"])) > len(assembly["lines"]) / 3
    noted = {int(row): int(note.removeprefix("C ")) for row, note in assembly["notes"].items()}
    assert noted
    for row, number in noted.items():
        assert assembly["equations"][row] == c["equations"][number - 1]


def test_a_helper_of_several_equations_is_linked_by_a_guess():
    found = own_c.panes(subject_of(lambda x: jnp.exp(x) + jnp.tanh(x), (spec(8),), {}), with_assembly=False)
    listing = found["listing"]
    [row] = [row for row, line in enumerate(listing["lines"]) if line.startswith("INLINE f32 exp_f32")]
    assert (listing["equations"][row], listing["guesses"][str(row)]) == ([], [0, 1])  # tanh calls it, too
    [row] = [row for row, line in enumerate(listing["lines"]) if line.startswith("INLINE f32 tanh_f32")]
    assert listing["equations"][row] == [1]
    assert (found["assembly"]["lines"], found["no_assembly"]) == ([], own_c.NOT_ASKED)


def test_what_is_called_and_what_loops_are_linked_to_equations_inside():
    @jitkit.jit
    def g(x):
        return jnp.sin(x) * 2

    found = exploration(
        subject_of(lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c) + g(x), g(x)), (spec(8),), {}), [], keep=False
    ).data
    listing = found["c"]["listing"]
    linked = {name for numbers in listing["equations"] for name in primitives(found, numbers)}
    assert linked >= {"tanh", "sin", "mul", "add"}


def test_what_has_no_c_and_where_there_is_no_compiler_are_sentences(monkeypatch):
    found = exploration(subject_of(lambda x: jnp.sort(x), (spec(8),), {}), [], keep=False).data
    assert found["c"]["error"].startswith("jit(<lambda>, backend=\"c\") has no C for the primitive 'sort', at ")
    found = exploration(subject_of(jax.jit(lambda x: x + 1), (jax.ShapeDtypeStruct((3,), "float32"),), {}), []).data
    assert found["c"]["error"] == "Functions of jitkit's have C, those of JAX's have none."
    found = exploration(subject_of(lambda x: x[5.0], (spec(8),), {}), []).data
    assert (found["failure"]["stage"], found["c"]) == ("tracing", None)
    monkeypatch.setattr(native.shutil, "which", lambda name: None)
    monkeypatch.setattr(native.importlib.util, "find_spec", lambda name: None)
    with config.override(cc=None):
        found = own_c.panes(subject_of(lambda x: x + 1, (spec(8),), {}))
    assert found["listing"]["lines"]
    assert found["no_assembly"].startswith('jit(f, backend="c") needs a C compiler')


def test_c_alone_is_a_target_of_both_doors(tmp_path, monkeypatch, capsys):
    assert explore(softmax, spec(8, 16), targets="c").data["targets"] == []
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text("import jitkit.numpy as jnp\n\ndef f(x):\n    return jnp.sin(x) * 2\n")
    assert main(["explore", "model.py:f", "--shapes", "f32[8]", "--target", "c"]) == 0
    page = (tmp_path / "f.html").read_text(encoding="utf-8")
    assert "// sin  model.py:4" in page
    assert '["c", "C"]' in bundle.script()


def test_a_scope_of_the_users_stands_behind_the_line():
    def f(x):
        with jitkit.named_scope("attention"):
            return jnp.sin(x)

    text = jitkit.jit(f, backend="c").lower(spec(8)).compile().as_text()
    assert re.search(r"// sin  test_explorer_c.py:\d+  attention$", text, re.MULTILINE)
