"""Random programs mean the same on jitkit and on JAX: values, dtypes, weak types, jaxprs to the letter, traces, the number of
signatures that are cached, errors.
"""

from __future__ import annotations

import warnings

import hypothesis
import jax
import jax.numpy
import numpy as np
import wording
from hypothesis import strategies as st
from lax_oracle import with_sorted_kinds
from random_programs import Setting, pack, run, unpack, without
from random_strategies import arguments, layouts, programs

import jitkit
import jitkit.numpy

JITKIT = (jitkit, jitkit.numpy)
JAX = (jax, jax.numpy)


def outcome(library, program, layout, args):
    """Return everything that is compared for a program: results, jaxpr, traces and cache sizes; or its error. It is
    called twice with one signature, once with another static number, and once with arrays in place of Python numbers.
    """
    lib, jnp = library
    log, sizes = [], []

    def f(tree, n):
        log.append(("outer", n))
        results = run(Setting(lib, jnp, log, n), program, tuple(unpack(layout, tree)))
        return {"all": results, "last": [results[-1]]}

    def call(values, *more, **named):
        result = jitted(pack(layout, iter(values)), *more, **named)
        sizes.append(jitted._cache_size())
        return result

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both libraries warn of overflow and truncation
        try:
            jitted = lib.jit(f, static_argnums=1)
            outs = [call(args, 2), call(args, n=2), call(args, 1), call([np.asarray(x) for x in args], 2)]
        except Exception as error:
            return type(error).__name__, with_sorted_kinds(str(error).split("\n")[0])
        traces = list(log)
        jaxpr = str(lib.make_jaxpr(f, static_argnums=1)(pack(layout, iter(args)), 2))
    values = [value for out in outs for value in (*out["all"], *out["last"])]
    return values, jaxpr, traces, sizes


def what_jax_accepts(program, layout, args):
    """Return the program without the instructions that JAX refuses: often one in eight."""
    failed = {None}
    while failed:  # a failed instruction may have hidden another failure
        failed = set()
        setting = Setting(jax, jax.numpy, [], failed=failed)

        def f(tree, setting=setting, program=program):
            return run(setting, program, tuple(unpack(layout, tree)))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jax.eval_shape(f, pack(layout, iter(args)))
        program = without(program, failed)
    return program


def same_error(ours, theirs):
    """Return whether two errors are the same. For JAX's bare "tuple index out of range", ours may say what is wrong."""
    if ours != theirs == ("IndexError", "tuple index out of range"):
        return ours[0] == "ValueError" and "out of bounds for array of dimension" in ours[1]
    return ours == theirs if wording.compared else ours[0] == theirs[0]


def same_values(ours, theirs):
    """Check that two arrays have the same dtype, weak type, shape and values."""
    assert str(ours.dtype) == str(theirs.dtype)
    assert ours.weak_type == theirs.weak_type
    assert ours.shape == theirs.shape
    a, b = np.asarray(ours), np.asarray(theirs)
    wide = np.complex64 if a.dtype.kind == "c" else np.float64
    tolerance = 1e-5 if a.dtype.itemsize >= 4 else 2e-2
    np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=tolerance, atol=tolerance)


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=200)
def test_a_random_program_is_the_same_on_jitkit_and_on_jax(data):
    args = tuple(data.draw(st.lists(arguments(), min_size=1, max_size=3), label="arguments"))
    program = data.draw(programs(len(args)), label="program")
    layout = data.draw(layouts(len(args)), label="layout")
    if data.draw(st.integers(0, 3), label="errors left out"):
        program = what_jax_accepts(program, layout, args)
    ours, theirs = outcome(JITKIT, program, layout, args), outcome(JAX, program, layout, args)
    if len(theirs) == 2:
        assert same_error(ours, theirs), f"jitkit: {ours}\nJAX: {theirs}"
        return
    assert len(ours) == 4, f"jitkit raised {ours}"
    assert ours[1:] == theirs[1:]
    for x, y in zip(ours[0], theirs[0], strict=True):
        same_values(x, y)
