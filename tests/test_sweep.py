"""The sweep over public functions finds what `sweep_differences.txt` holds, and nothing else; and it does find what differs."""

from __future__ import annotations

import inspect
import os
import pathlib
import subprocess
import sys

import jax
import numpy as np
import parity
import parity_samples
import pytest
import sweep
import sweep_calls

import jitkit

SOME = [call for call in sweep.calls_of() if sweep.share(call.text) % 151 == 0]


def needs_its_jax():
    """Skip unless this is the version of JAX that the sweep and docs/parity.md are about: other versions compute some
    results differently.
    """
    if jax.__version__ != parity.VERSION:
        pytest.skip("needs jax < 0.11: what is compared is that version")


@pytest.mark.parametrize("part", range(4))
def test_some_calls_give_what_they_give_with_jax(part):
    needs_its_jax()
    report = sweep.Report()
    for call in SOME[part::4]:
        sweep.sweep_call(report, call, sweep.Some(kinds_each=1, run_one_in=2))
    assert report.unexpected() == []


@pytest.mark.tail
@pytest.mark.parametrize("number", range(sweep.SHARDS))
def test_calls_give_what_they_give_with_jax(number):
    """In a process of its own, which compiles cheaply and gives back its memory."""
    needs_its_jax()
    environment = os.environ | {"XLA_FLAGS": sweep.CHEAP_COMPILES}
    command = [sys.executable, str(pathlib.Path(sweep.__file__)), "--tail", str(number)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def outcome(library, text, kind="float32"):
    tried = sweep.Tried(library, sweep_calls.Call("jax.numpy", text), kind)
    return {"at once": tried.at_once()} | {way: tried.traced(way) for way in tried.ways()}


def test_a_call_is_tried_in_all_ways():
    found = outcome(jitkit, "jnp.sin(s)")
    assert list(found) == ["at once", "jit", "vmap", "grad", "jit(vmap(grad))", "hessian"][: len(found)]
    assert all(each.error == "" and each.types for each in found.values())


@pytest.mark.parametrize(
    ("ours", "theirs", "way", "word"),
    [
        ("jnp.sin(x)", "jnp.cos(x)", "at once", "value"),
        ("jnp.sin(x)", "jnp.sin(x) * jnp.float32(1.00001)", "at once", "value"),
        ("jnp.zeros_like(x)", "-jnp.zeros_like(x)", "at once", "value"),
        ("jnp.sin(x)", "jnp.sin(x).astype('float16')", "jit", "type"),
        ("jnp.asarray(0.5)", "jnp.float32(0.5)", "jit", "type"),
        ("jnp.sin(x)", "jnp.sin(x, None, None)", "grad", "error"),
        ("x.undefined", "jnp.sin(x + undefined)", "vmap", "class"),
    ],
)
def test_what_differs_is_found(ours, theirs, way, word):
    found = sweep.difference(outcome(jitkit, ours)[way], outcome(jax, theirs)[way])
    assert found is not None
    assert found.startswith(f"{word}: ")


def test_values_of_traced_calls_are_compared():
    ours, theirs = outcome(jitkit, "jnp.sin(x)")["vmap"], outcome(jax, "jnp.cos(x)")["vmap"]
    sweep.give_values(jitkit, [ours])
    sweep.give_values(jax, [theirs])
    assert sweep.difference(ours, theirs).startswith("value: ")
    assert np.allclose(ours.values[0][0], np.sin(parity_samples.OPERANDS["x"]))


def test_a_program_that_does_not_compile_leaves_the_others_their_values():
    good, bad = outcome(jax, "jnp.sin(x)")["jit"], outcome(jax, "lax.fft(x, 'FFT', (3,))")["jit"]
    bad.program = (bad.program[0], [])  # a program without its argument fails
    sweep.give_values(jax, [good, bad])
    assert good.error == ""
    assert good.values is not None
    assert bad.error


def test_a_known_difference_that_has_gone_is_found(monkeypatch):
    monkeypatch.setattr(sweep, "known", lambda: {"jnp.sin(x) | float32 | jit": "no reason"})
    report = sweep.Report()
    report.add("jax.numpy", "jnp.sin(x) | float32 | jit", None)
    assert report.unexpected() == ["no longer different: jnp.sin(x) | float32 | jit"]
    report.add("jax.numpy", "jnp.cos(x) | float32 | jit", "value: 1, in JAX 2")
    assert report.unexpected()[0] == "jnp.cos(x) | float32 | jit\n    value: 1, in JAX 2"


def test_known_differences_are_of_calls_that_there_are():
    there_are = {(call.text, kind) for call in sweep.calls_of() for kind in call.kinds()}
    assert [cell for cell in sweep.known() if tuple(cell.rsplit(" | ", 2)[:2]) not in there_are] == []
    assert "" not in sweep.known().values(), "each has its reason"


@pytest.mark.parametrize("module", sweep_calls.MODULES)
def test_every_public_function_of_a_module_is_called(module):
    texts = [call.text for call in sweep_calls.calls(module)]
    missing = []
    for alias in set(sweep_calls.MODULES[module]) & parity.MODULES.keys():
        answered = {sample.name for sample in parity.samples_of(alias, parity_samples.ANSWERS)}
        functions = {n for n in parity.public_names(alias) if inspect.isroutine(getattr(parity.module(jax, alias), n))}
        called = {n for n in functions if any(f"{alias}.{n}(" in text for text in texts)}
        missing += [f"{alias}.{name}" for name in functions - called - answered]
    not_called = [name.rpartition(".") for name in sweep_calls.NOT_CALLED]
    assert sorted(missing) == sorted(
        f"{alias}.{name}"
        for alias, _, name in not_called
        if alias in sweep_calls.MODULES[module] and hasattr(parity.module(jax, alias), name)
    )


def test_the_page_says_what_was_tried():
    if jax.__version__ == parity.VERSION:
        assert sweep.render() in parity.PATH.read_text(encoding="utf-8")
