"""traced call -> module -> executable

This module connects the stages: it removes dead code and unused arguments, `mlir` writes the rest as StableHLO, with
attributes for donation and sharding, and `compiler` compiles it. First calls of `jit`, eager operations, and `stages`
use it.

JAX: jax/_src/interpreters/pxla.py:lower_sharding_computation
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import core, runtime
from ..base import late_rooms, stage_log, traceback_util
from ..core.effects import ordered_effects
from ..interpreters.mlir_main import lower_main
from ..interpreters.mlir_module import Module
from ..jaxpr import Jaxpr, dce_jaxpr
from ..tree_util import PyTreeDef, keystr, skeleton, tree_flatten_with_path
from .compiler import CompilerOptions, EffectfulExecutable, Executable, compile_module
from .placement import Placement


class Program(NamedTuple):
    """One function traced for one signature, with everything that later stages need.

    `jaxpr` takes the leaves of `(args, kwargs)`, whose tree is `in_tree`, and returns the leaves of `out_tree`.
    `donated` has a flag per leaf, or is empty.
    """

    name: str
    jaxpr: Jaxpr
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    donated: tuple[bool, ...] = ()
    keep_unused: bool = False  # whether the executable takes also the arguments on which no result depends
    options: CompilerOptions = ()  # XLA's own options, as pairs of name and value
    backend: str | None = None  # "c": compiled by the package `loops`; None: by XLA


def lower_program(
    program: Program, platform: str | None = None, placement: Placement | None = None
) -> tuple[Module, list[int]]:
    """Lower a traced program, for this platform, or else the default device's. Return the module, and the positions of the
    arguments that it takes.

    Without the program's `keep_unused`, dead code and unused arguments are left out. `placement` says where committed
    arguments will be. Raise ValueError for ordered effects on several devices.
    """
    start = time.perf_counter()
    jaxpr = program.jaxpr
    kept = list(range(len(jaxpr.invars)))
    if not program.keep_unused:
        jaxpr, used = dce_jaxpr(jaxpr, True)
        kept = [i for i, is_used in enumerate(used) if is_used]
    stage_log.log_compiling(program.name, jaxpr.in_avals, placement.sharding if placement else None)
    attributes = _donation_attributes(jaxpr, [program.donated[i] for i in kept] if any(program.donated) else [])
    spread = [placement.spread[i] for i in kept] if placement and placement.spread else []
    if placement and len(placement.devices) > 1:
        _refuse_order(jaxpr)
    if spread:
        attributes = _sharding_attributes(jaxpr, spread, attributes)
    paths, _ = tree_flatten_with_path(skeleton(program.out_tree))
    labels = [f"result{keystr(path)}" for path, _ in paths]
    where = placement.results if placement and runtime.is_over_mesh(placement.sharding) else ()
    of_results = ["" if x is None else _sharding_attribute(x, a) for x, a in zip(where, jaxpr.out_avals, strict=False)]
    module = lower_main(program.name, jaxpr, platform or runtime.lowering_platform(), attributes, labels, of_results)
    if placement and runtime.is_over_mesh(placement.sharding):
        module.partitions, module.mesh = len(placement.devices), runtime.mesh_text(placement.sharding)
    stage_log.log_stage("lowering", program.name, time.perf_counter() - start)
    return module, kept


def _refuse_order(jaxpr: Jaxpr) -> None:
    """Raise ValueError for ordered effects in a program for several devices."""
    if ordered := ordered_effects(jaxpr.effects):
        raise ValueError(
            f"The following ordered effects are not supported for more than 1 device: {ordered}\n"
            "Devices do not wait for each other. Leave `ordered=True` out, or put the arguments on one device."
        )


def _donation_attributes(jaxpr: Jaxpr, donated: Sequence[bool]) -> list[str] | None:
    """Return the attribute of each argument that donates its memory, "" for the others; None if nothing is donated.

    The memory goes to the first free result of the same shape and dtype; if there is none, XLA may use it for a result
    with as many elements. If there is none of those either, warn of the argument.
    """
    if not any(donated):
        return None
    free: dict[tuple[Any, ...], list[int]] = {}
    tokens = len(ordered_effects(jaxpr.effects))  # tokens are returned before all results
    for i, aval in enumerate(jaxpr.out_avals):
        free.setdefault((aval.shape, aval.dtype), []).append(i)
    attributes = []
    for aval, is_donated in zip(jaxpr.in_avals, donated, strict=True):
        results = free.get((aval.shape, aval.dtype)) if is_donated else None
        attributes.append(f"tf.aliasing_output = {tokens + results.pop(0)} : i32" if results else "")
    # The other donated buffers may fit a result with as many elements; XLA decides.
    sizes = [jaxpr.out_avals[i].size for results in free.values() for i in results]
    unusable = []
    for i, (aval, is_donated) in enumerate(zip(jaxpr.in_avals, donated, strict=True)):
        if is_donated and not attributes[i]:
            if aval.size in sizes:
                sizes.remove(aval.size)
                attributes[i] = "jax.buffer_donor = true"
            else:
                unusable.append(str(aval))
    if unusable:
        warnings.warn(
            f"Some donated buffers were not usable: {', '.join(unusable)}.\n"
            "A buffer can be reused only by a result with as many elements. "
            "See an explanation at https://docs.jax.dev/en/latest/faq.html#buffer-donation.",
            stacklevel=traceback_util.stacklevel(),
        )
    return attributes


def _sharding_attribute(sharding: runtime.Sharding, aval: Any) -> str:
    return f"sdy.sharding = {runtime.sharding_text(sharding, core.physical_aval(aval).ndim)}"


def _sharding_attributes(jaxpr: Jaxpr, spread: Sequence[Any], donation: list[str] | None) -> list[str]:
    """Return the attributes that say how each argument is spread over the devices. XLA decides whether a result can use
    the memory of a donated argument.
    """
    attributes = [_sharding_attribute(sharding, aval) for sharding, aval in zip(spread, jaxpr.in_avals, strict=True)]
    given_away = donation or [""] * len(attributes)
    return [f"{a}, jax.buffer_donor = true" if d else a for a, d in zip(attributes, given_away, strict=True)]


def build_executable(
    program: Program, module: Module, kept: Sequence[int], placement: Placement, options: CompilerOptions = ()
) -> Executable:
    """Return the executable of a program for a placement; `module` and `kept` are those from `lower_program`. `options` are XLA's,
    in place of those in `program`.
    """
    if program.backend is not None:
        return _by_loops(program, placement, options)
    loaded = compile_module(program.name, module, placement.devices, options)
    parts: dict[str, Any] = {
        "arg_avals": program.jaxpr.in_avals,
        "out_avals": program.jaxpr.out_avals,
        "kept": kept,
        "consts": list(module.hoisted.values()),
        "sharding": placement.sharding,
        "committed": placement.committed,
        "spread": placement.spread,
        "results": placement.results,
        "donates": any(program.donated),
    }
    if module.host_callbacks:
        ordered = ordered_effects(program.jaxpr.effects)
        is_pure = not program.jaxpr.effects
        return EffectfulExecutable(program.name, loaded, ordered=ordered, is_pure=is_pure, **parts)
    return Executable(program.name, loaded, **parts)


def compile_program(program: Program, placement: Placement) -> Executable:
    """Return the executable of a traced program: lower it (`lower_program`) for the platform of its placement, and compile
    it for the placement's devices with the program's own options (`build_executable`).

    If no argument is committed to a device, the text must not mention devices: lower without a placement.
    """
    if program.backend is not None:
        return _by_loops(program, placement, program.options)
    module, kept = lower_program(program, placement.platform, placement if placement.committed else None)
    return build_executable(program, module, kept, placement, program.options)


def _by_loops(program: Program, placement: Placement, options: CompilerOptions) -> Executable:
    """Return the executable that the package `loops` makes; it is imported only here."""
    made: Executable = late_rooms.import_room("jitkit.compiler.by_loops").compile_by_loops(program, placement, options)
    return made
