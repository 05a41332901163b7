"""The checks of lab 13 that are used in grading only."""

from __future__ import annotations

import re

import numpy as np

from jitkit.kata.checking import check, module


def chips(jk):
    """Return the module of the exercises."""
    return module(jk, "kata.subjects.chips")


def floats(jk, numbers):
    """Return numbers as a float32 array of jitkit's, which a traced value can index: so the programs that are to be mended run, too."""
    return jk.numpy.asarray(numbers, dtype="float32")


@check(
    "13.1",
    "A called computation runs as it is written, and what was begun elsewhere is ended for nothing.",
    hidden=True,
)
def calls(jk, rng):
    inner, called, begun = (f"{word}.{rng.integers(900)}" for word in ("inner", "called", "begun"))
    program = module(jk, "targets.hlo").Program(f"""
%{called} (p: f32[8]) -> f32[8] {{
  %p = f32[8]{{0}} parameter(0)
  ROOT %{inner} = f32[8]{{0}} exponential(%p)
}}

ENTRY %main (x: f32[8]) -> f32[8] {{
  %x = f32[8]{{0}} parameter(0)
  %{begun} = (f32[8]{{0}}, f32[8]{{0}}, u32[]) copy-start(%x)
  %d = f32[8]{{0}} copy-done(%{begun})
  ROOT %c = f32[8]{{0}} call(%d), to_apply=%{called}
}}
""")
    return [kernel.name for kernel in program.kernels], len(program.loops)


@check("13.2", "Types stand for arrays, and several results are several.", hidden=True)
def types(jk, rng):
    shape = tuple(int(n) for n in rng.integers(2, 9, size=3))
    x = jk.ShapeDtypeStruct(shape, "bfloat16")
    return chips(jk).least_bytes(lambda x, n: [x * x, {"mean": x.mean(0), "n": n}], x, np.int32(3))


@check("13.3", "For sixteen coefficients, too, and numbers of no axes.", hidden=True, tolerance=1e-3)
def sixteen(jk, rng):
    x, c = floats(jk, rng.uniform(-1, 1, size=50)), floats(jk, rng.normal(size=16))
    text = jk.jit(chips(jk).polynomial).lower(x, c).compile().as_text()
    return chips(jk).polynomial(x, c), chips(jk).polynomial(x[0], c), bool(re.search(r" (while|call)\(", text))


@check("13.4", "The rate is data, and a rate of zero forgets everything.", hidden=True, tolerance=1e-4)
def rates(jk, rng):
    f, x = jk.jit(chips(jk).decayed), floats(jk, rng.normal(size=12))
    return f(x, float(rng.uniform(0.2, 0.8))), f(x, 0.0), jk.jit(chips(jk).roughness)(x * 2)
