"""Collects every kind of equation that the functions of `lax`, `numpy` and `nn` write, as far as the tests call them.

The tables of the other tests have programs to be compared with JAX. Here they are only traced, and one equation is kept from
their jaxprs for each primitive and each combination of operand dtypes. Many equations are compiled together; if a compiler
refuses them, each half is tried, until it is known which equations it refuses.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import warnings

import numpy as np
import pytest
from _pytest.mark import ParameterSet

import jitkit
from jitkit.base import config
from jitkit.jaxpr import Literal, subjaxprs
from jitkit.targets import TargetError

TABLES = [
    "test_lax_dot", "test_lax_elementwise", "test_lax_reduction", "test_lax_shaping", "test_lax_slicing",
    "test_lax_sorting", "test_nn", "test_numpy_contractions", "test_numpy_creation", "test_numpy_elementwise",
    "test_numpy_indexing", "test_numpy_methods", "test_numpy_reductions", "test_numpy_shaping",
]  # fmt: skip


class Recorder:
    """Replaces the functions by which those tests compare, and keeps the jaxprs of the programs."""

    def __init__(self):
        self.jaxprs = []

    def program(self, function, args):
        with warnings.catch_warnings(), contextlib.suppress(TypeError, ValueError, NotImplementedError):
            warnings.simplefilter("ignore")
            self.jaxprs.append(jitkit.make_jaxpr(function)(*args))

    def assert_same(self, program, *args, **_):
        """Replace `lax_oracle.assert_same`."""
        self.program(lambda *xs: program(jitkit.lax, *xs), args)

    def check(self, rows, **_):
        """Replace `numpy_oracle.check`."""
        for _, program, *args in rows:
            self.program(lambda *xs, program=program: program(jitkit.numpy, *xs), args)

    def nothing(self, *_, **__):
        """Replace functions that compare errors, and do nothing."""


def calls_of(test):
    """Return the keyword arguments of each call that pytest would make of a test; none for a test that takes fixtures."""
    axes = []
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize":
            names, values = mark.args[:2]
            names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
            # includes rows of the tail
            rows = [v.values if isinstance(v, ParameterSet) else v if len(names) > 1 else (v,) for v in values]
            axes.append([dict(zip(names, row, strict=True)) for row in rows])
    calls = [{k: v for part in parts for k, v in part.items()} for parts in itertools.product(*axes)]
    return [call for call in calls if set(inspect.signature(test).parameters) == set(call)]


def recorded(module_name, recorder):
    """Run the tests of a module with the recorder in place of the comparison."""
    module = importlib.import_module(module_name)
    with pytest.MonkeyPatch.context() as patch:
        for name, stand_in in {
            "assert_same": recorder.assert_same,
            "check": recorder.check,
            "assert_same_error": recorder.nothing,
            "check_error": recorder.nothing,
        }.items():
            if hasattr(module, name):
                patch.setattr(module, name, stand_in)
        for name, test in list(vars(module).items()):
            if name.startswith("test_") and inspect.isfunction(test):
                for call in calls_of(test):
                    with contextlib.suppress(Exception):  # errors do not matter here: pytest runs this test elsewhere
                        test(**call)


def equations_in(jaxpr):
    """Yield the equations of a jaxpr, and of the jaxprs inside of it."""
    yield from jaxpr.eqns
    for inner in subjaxprs(jaxpr):
        yield from equations_in(inner)


# Only some of the narrow dtypes are tried. Wide dtypes are tried on the GPU only: TPUs emulate them, which takes minutes to compile.
USUAL = {"float32", "bfloat16", "float16", "int32", "uint32", "int8", "bool", "complex64"}
WIDE = {"float64", "int64", "complex128"}
CALLS = {"jit", "custom_jvp_call"}  # their jaxprs are looked into


def kind_of(equation):
    """Return the primitive of an equation and the dtypes of its operands; None for an equation on tokens or keys, and for a call."""
    names = [str(getattr(atom.aval, "dtype", "token")) for atom in equation.invars]
    known = set(names) <= USUAL | WIDE and equation.primitive.name not in CALLS
    return (equation.primitive.name, " ".join(names)) if known else None


def equations():
    """Return one equation of each kind, by kind."""
    recorder = Recorder()
    for table in TABLES:
        recorded(table, recorder)
    found = {}
    for jaxpr in recorder.jaxprs:
        for equation in equations_in(jaxpr):
            if kind := kind_of(equation):
                found.setdefault(kind, equation)
    return found


def is_wide(kind):
    return bool(set(kind[1].split()) & WIDE)


def text_of(group, platform):
    """Return the StableHLO of a program that has these equations, each with arguments of its own."""

    def program(*operands):
        results = []
        for equation, values in zip(group, operands, strict=True):
            rest = iter(values)
            atoms = [literal(a) if isinstance(a, Literal) else next(rest) for a in equation.invars]
            results.append(equation.primitive.bind(*atoms, **equation.params))
        return results

    def literal(atom):
        return np.asarray(atom.val, atom.aval.dtype)

    structs = [
        [jitkit.ShapeDtypeStruct(a.aval.shape, a.aval.dtype) for a in equation.invars if not isinstance(a, Literal)]
        for equation in group
    ]
    with config.override(enable_x64=True):
        traced = jitkit.jit(program, keep_unused=True).trace(*structs)
        return traced.lower(lowering_platforms=(platform,)).as_text()


def refused(compilers, target, items):
    """Return the kinds among `items` that the compiler refuses, each with its message."""
    try:
        compilers.compile("equations", text_of([equation for _, equation in items], target.platform), target)
    except (TargetError, TypeError, ValueError, NotImplementedError) as error:
        if len(items) == 1:
            return {items[0][0]: f"{type(error).__name__}: {error}"}
        middle = len(items) // 2
        return refused(compilers, target, items[:middle]) | refused(compilers, target, items[middle:])
    return {}
