"""What can be traced can be compiled for each chip: each primitive, for each dtype."""

from __future__ import annotations

import concurrent.futures

import all_rooms
import pytest
import surface
from samples import SAMPLES

import jitkit
from jitkit.interpreters import mlir
from jitkit.targets import TARGETS, Compilers

PLATFORMS = {
    platform: [name for name, target in TARGETS.items() if target.platform == platform] for platform in ("gpu", "tpu")
}
AT_ONCE = 40

# What these compilers cannot compile. A test fails also if an entry is no longer refused.
NO_CODE = {
    "gpu:a100": {("conv_general_dilated", "int32 int32")},
    "gpu:h100": {("conv_general_dilated", "int32 int32")},
    "tpu:v5e": {("clamp", "bool bool bool")},
    "tpu:v6e": {("clamp", "bool bool bool")},
}

# Primitives that have no equation in a program that can be compiled ahead of time.
NEVER_ALONE = {
    "after_all": "orders effects, and there are none without callbacks",
    "debug_callback": "calls Python",
    "debug_print": "calls Python",
    "io_callback": "calls Python",
    "pure_callback": "calls Python",
    "eval_jaxpr": "what loops and branches are lowered through",
    "iota_2x32_shape": "what random_bits is lowered through",
    "threefry2x32": "what random_bits is lowered through",
    "stage": "goes while tracing",
    "custom_lin": "goes while a derivative is taken",
    "psum": "goes with the axis that vmap names",
    "pmax": "goes with the axis that vmap names",
    "pmin": "goes with the axis that vmap names",
    "check": "goes when checkify makes its error a result",
    "sharding_constraint": "names the devices of a mesh",
} | dict.fromkeys(
    ("cholesky", "eig", "eigh", "geqp3", "geqrf", "hessenberg", "householder_product", "lu", "lu_pivots_to_permutation",
     "ormqr", "qr", "schur", "svd", "triangular_solve", "tridiagonal"),
    "LAPACK's, which is there for the CPU",
) | dict.fromkeys(("cholesky_update", "symmetric_product"), "a routine's on GPUs, which JAX's package for CUDA brings")  # fmt: skip


@pytest.fixture(scope="session")
def equations():
    return surface.equations()


@pytest.fixture(scope="session")
def refusals(equations):
    """Return for each target the kinds of equations that its compiler refused. The platforms compile at the same time."""

    def ask(platform):
        found = {}
        items = [item for item in equations.items() if platform == "gpu" or not surface.is_wide(item[0])]
        with Compilers() as compilers:
            for name in PLATFORMS[platform]:
                found[name] = {}
                for i in range(0, len(items), AT_ONCE):
                    found[name] |= surface.refused(compilers, TARGETS[name], items[i : i + AT_ONCE])
        return found

    with concurrent.futures.ThreadPoolExecutor() as pool:
        return {name: kinds for found in pool.map(ask, PLATFORMS) for name, kinds in found.items()}


@pytest.mark.parametrize("target", NO_CODE)
def test_every_kind_of_equation_compiles(target, refusals):
    surprises = {kind: text for kind, text in refusals[target].items() if kind not in NO_CODE[target]}
    assert not surprises
    assert set(refusals[target]) == NO_CODE[target]


def test_there_is_an_equation_of_every_primitive(equations):
    covered = {primitive for primitive, _ in equations} | surface.CALLS
    for function, *shapes in SAMPLES.values():
        covered |= {eqn.primitive.name for eqn in surface.equations_in(jitkit.make_jaxpr(function)(*shapes))}
    all_rooms.enter()
    registered = {primitive.name for primitive in mlir.lowering_rules}
    assert len(equations) > 500
    assert registered - covered == set(NEVER_ALONE)
