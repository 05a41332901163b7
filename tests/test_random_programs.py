"""Random programs mean the same on jitkit and on JAX: values, dtypes, weak types, jaxprs to the letter, traces, errors."""

from __future__ import annotations

import re
import warnings

import hypothesis
import jax
import jax.numpy
import numpy as np
from hypothesis import strategies as st
from random_programs import arguments, programs, run

import jitkit
import jitkit.numpy

# jitkit prints jaxprs as jax 0.10 does, to the letter.
JAX_IS_REFERENCE = jax.__version_info__ < (0, 11)
JITKIT = (jitkit, jitkit.numpy)
JAX = (jax, jax.numpy)


def outcome(library, program, args):
    """Everything that can be compared of one program: its jaxpr, results, number of traces; or its error."""
    lib, jnp = library
    log = []

    def f(*xs):
        log.append("outer")
        return run(jnp, lib.jit, program, xs, log)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of overflow and truncation: both warn, about the same
        try:
            jitted = lib.jit(f)
            outs = jitted(*args)
            jitted(*args)
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]
        traces = len(log)
        jaxpr = str(lib.make_jaxpr(f)(*args))
    return outs, jaxpr if JAX_IS_REFERENCE else unfolded(jaxpr), traces


def unfolded(jaxpr):
    """A printed jaxpr without line breaks, and without what later versions print otherwise: the parameter that jax 0.11
    added to reductions, which is always None, and those in which a scan says what is constant and what is carried.
    """
    one_line = re.sub(r"\s+", " ", re.sub(r"\s*out_sharding=None", "", jaxpr)).replace("[ ", "[").replace(" ]", "]")
    return re.sub(r"ft_in=.*? jaxpr=", "jaxpr=", re.sub(r"num_carry=\d+ num_consts=\d+ ", "", one_line))


def same_error(ours, theirs):
    """Whether two errors are the same. Where JAX stumbles over a shape, ours may say what was wrong; later versions reword."""
    if ours != theirs == ("IndexError", "tuple index out of range"):
        return ours[0] == "ValueError" and "out of bounds for array of dimension" in ours[1]
    return ours == theirs if JAX_IS_REFERENCE else ours[0] == theirs[0]


def same_values(ours, theirs):
    """Compare arrays by dtype, weak type, shape and value."""
    assert str(ours.dtype) == str(theirs.dtype)
    assert ours.weak_type == theirs.weak_type
    assert ours.shape == theirs.shape
    a, b = np.asarray(ours), np.asarray(theirs)
    wide = np.complex64 if a.dtype.kind == "c" else np.float64
    tolerance = 1e-5 if a.dtype.itemsize >= 4 else 2e-2
    np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=tolerance, atol=tolerance)


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=300)
def test_a_random_program_is_the_same_on_jitkit_and_on_jax(data):
    args = tuple(data.draw(st.lists(arguments(), min_size=1, max_size=3), label="arguments"))
    program = data.draw(programs(len(args)), label="program")
    ours, theirs = outcome(JITKIT, program, args), outcome(JAX, program, args)
    if len(theirs) == 2:
        assert same_error(ours, theirs), f"jitkit: {ours}\nJAX: {theirs}"
        return
    assert len(ours) == 3, f"jitkit raised {ours}"
    assert ours[1] == theirs[1]
    assert ours[2] == theirs[2]
    for x, y in zip(ours[0], theirs[0], strict=True):
        same_values(x, y)
