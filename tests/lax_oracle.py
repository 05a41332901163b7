"""Compares programs, run with `jax.lax` and with `jitkit.lax`: jaxprs, types and values must be the same.

A program is a function `program(lax, *args)` that returns an array or a list of arrays.
"""

from __future__ import annotations

import contextlib
import re
import warnings
import zlib

import jax
import ml_dtypes
import numpy as np
import tails
import wording
from tails import keeping

import jitkit
from jitkit.base import config
from jitkit.base.jax_version import since

JAX_VERSION = tuple(int(part) for part in jax.__version__.split(".")[:2])
# Operations that later versions of JAX lower by other algorithms: last bits differ, and so do the edge cases of complex
# numbers.
LOWERED_OTHERWISE = () if JAX_VERSION < (0, 11) else ("lgamma", "asin", "abs")


@contextlib.contextmanager
def x64():
    """Let both systems keep 64-bit types."""
    with jax.enable_x64(True), config.override(enable_x64=True):
        yield


def results(function, args):
    out = function(*args)
    return list(out) if isinstance(out, (list, tuple)) else [out]


def describe(x):
    """Return the type of an array: what can be seen of it besides its values."""
    return f"{'~' if x.weak_type else ''}{x.dtype}{list(x.shape)}"


def assert_same_values(ours, theirs, label=""):
    """Check that two arrays are equal to the last bit, nans and signs of zeros included."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.dtype.name.startswith(("float4", "float6", "float8", "bfloat16", "int2", "int4", "uint2", "uint4")):
        ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    np.testing.assert_array_equal(ours, theirs, err_msg=label)
    if ours.dtype.kind in "fc":
        for part in ("real", "imag"):
            a, b = getattr(ours, part), getattr(theirs, part)
            numbers = ~np.isnan(a)
            np.testing.assert_array_equal(np.signbit(a[numbers]), np.signbit(b[numbers]), err_msg=f"{label} signs")


def assert_close_numbers(ours, theirs, label=""):
    """Check that two arrays are equal up to rounding, where both are finite."""
    ours, theirs = np.asarray(ours, np.complex128), np.asarray(theirs, np.complex128)
    finite = np.isfinite(ours) & np.isfinite(theirs)
    np.testing.assert_allclose(ours[finite], theirs[finite], rtol=1e-2, atol=1e-5, err_msg=label)


def assert_same(program, *args, labels=None, eager=True):
    """Check the program's printed jaxpr, and the types and values of its results, traced, jitted and run eagerly. `make
    test` saves compilations: a program of one equation, which an eager call compiles as `jit` does, is only called
    eagerly; of longer programs, every third one is called eagerly.
    """

    def theirs(*xs):
        return program(jax.lax, *xs)

    def ours(*xs):
        return program(jitkit.lax, *xs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        their_jaxpr, our_jaxpr = jax.make_jaxpr(theirs)(*args), jitkit.make_jaxpr(ours)(*args)
        assert str(our_jaxpr) == str(their_jaxpr)
        assert list(map(describe, our_jaxpr.out_avals)) == list(map(describe, their_jaxpr.out_avals))
        expected = results(jax.jit(theirs), args)
        is_one = len(our_jaxpr.eqns) == 1
        eager = eager and (tails.with_tails or is_one or zlib.crc32(str(our_jaxpr).encode()) % 3 == 0)
        runs = {"eager": results(ours, args)} if eager else {}
        if tails.with_tails or not eager or not is_one:
            runs["jitted"] = results(jitkit.jit(ours), args)
    for how, got in runs.items():
        assert len(got) == len(expected)
        for i, (a, b) in enumerate(zip(got, expected, strict=True)):
            name = labels[i] if labels else f"result {i}"
            assert describe(a) == describe(b), f"{name}, {how}"
            check_values = assert_close_numbers if name in LOWERED_OTHERWISE else assert_same_values
            check_values(a, b, f"{name}, {how}")


_KINDS = re.compile(r"(?<=subtypes of )[\w, ]+(?=\.)")


def first_line(error):
    """Return an error's class and first line. JAX lists the kinds of dtype in the order of a set: here they are sorted."""
    if not wording.compared:
        return type(error).__name__
    return f"{type(error).__name__}: {with_sorted_kinds(str(error).split(chr(10))[0])}"


def with_sorted_kinds(line):
    """Return a line of an error, in which the kinds of dtype are in the order of the alphabet."""
    return _KINDS.sub(lambda m: ", ".join(sorted(m[0].split(", "))), line)


def error_of(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*args)
        except Exception as error:
            return first_line(error)
    return None


def assert_same_error(program, *args):
    """Check that the program fails with the same class and first line, called eagerly and traced."""
    expected = error_of(lambda *xs: program(jax.lax, *xs), *args)
    assert expected is not None, "JAX accepts this"
    assert error_of(lambda *xs: program(jitkit.lax, *xs), *args) == expected
    assert error_of(jitkit.make_jaxpr(lambda *xs: program(jitkit.lax, *xs)), *args) == expected


def accepted_by_jax(program, *args):
    return error_of(jax.make_jaxpr(lambda *xs: program(jax.lax, *xs)), *args) is None


# --- values at the edges of each dtype -----------------------------------------------------------------------

DTYPES = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "bfloat16", "float32", "complex64",
]  # fmt: skip
DTYPES_X64 = ["int64", "uint64", "float64", "complex128"]
NARROW_DTYPES = ["int4", "uint4", "float8_e4m3fn", "float8_e5m2"]
EACH_DTYPE = keeping(DTYPES, "bool", "int8", "uint32", "bfloat16", "float32", "complex64")
EACH_DTYPE_X64 = keeping(DTYPES_X64, "uint64", "float64")


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or getattr(np, name if name != "bool" else "bool_"))


def edge_values(name):
    """Return zeros of both signs, small and large numbers, halves, infinities and nan; of integers the extremes."""
    dtype = dtype_of(name)
    if name == "bool":
        return np.array([True, False])
    if "int" in name:
        info = ml_dtypes.iinfo(dtype)
        candidates = [0, 1, 2, 3, 5, 7, 31, 100, -1, -2, -3, -7, info.min, info.min + 1, info.max, info.max - 1]
        return np.array(sorted({int(c) for c in candidates if info.min <= c <= info.max}), dtype)
    if "complex" in name:
        parts = [0.0, -0.0, 0.5, -1.5, 3.0, np.inf, -np.inf, np.nan]
        return np.array([complex(a, b) for a in parts for b in parts], dtype)
    info = ml_dtypes.finfo(dtype)
    halves = [0.0, -0.0, 0.1, -0.1, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.5, -2.5, 3.5, 10.0, -10.0, 100.0]
    limits = [info.max, info.min, info.tiny, info.smallest_subnormal]
    extremes = [np.nan] if name == "float8_e4m3fn" else [np.nan, np.inf, -np.inf]
    return np.concatenate([np.array(part, np.float64).astype(dtype) for part in (halves, limits, extremes)])


def pairs(values):
    """Return every value with every other."""
    return np.repeat(values, len(values)), np.tile(values, len(values))


# Whether to compare printed jaxprs of derivatives and batches: they are those of JAX 0.10. With a newer JAX, only
# values and types are.
JAXPRS_ARE_OURS = not since(0, 11)
