"""traced call -> C -> executable: `jit(f, backend="c")`

This module does with the package `loops` what `program` and `compiler` do with XLA: it writes the jaxpr as C, and
compiles that to a library, unless the disk cache has it.

JAX: jax/_src/interpreters/pxla.py:lower_sharding_computation
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from .. import core, runtime
from ..base import stage_log
from ..jaxpr import dce_jaxpr
from ..loops import native
from ..loops.program import Loaded, without_notes
from ..loops.source import write
from . import disk_cache
from .compiler import CompilerOptions, Executable
from .placement import Placement

Program = Any  # the class of this name in `program`, which imports this module


class LoopsExecutable(Executable):
    """A compiled C program, called like an `Executable`."""

    __slots__ = ()

    def host_dispatcher(self) -> Callable[..., Any]:
        """Return a function that takes host values, and copies each to a buffer in Python: jaxlib's dispatcher can only
        call XLA's programs.
        """
        taken = [None] * len(self.consts) + [self.arg_avals[i] for i in self.kept]

        def dispatch(*values: Any) -> Any:
            buffers = [x if aval is None else self.place(x, aval) for x, aval in zip(values, taken, strict=True)]
            results = self.run(buffers)
            return results[0] if len(results) == 1 else results

        return dispatch

    def text(self) -> str:
        """Return the C."""
        text: str = self.loaded.text
        return text

    def costs(self) -> dict[str, float]:
        """Return, by name, the numbers of operations and bytes in the loops, and of the loops themselves."""
        return {**self.loaded.costs, "loops": self.loaded.loops}

    def memory(self) -> Any:
        """Return the bytes of arguments, results, workspace and code."""
        return self.loaded.memory()


def compile_by_loops(program: Program, placement: Placement, options: CompilerOptions = ()) -> Executable:
    """Write a traced program as C, compile it for the processor, and return the executable. A call copies uncommitted
    arguments to the processor's memory. Raise NotImplementedError for arguments committed to another platform or to
    several devices.
    """
    refuse_options(program.name, options)
    if placement.platform != "cpu" and not placement.committed:
        placement = Placement(runtime.single_device_sharding(runtime.devices("cpu")[0]), False)
    if placement.platform != "cpu" or len(placement.devices) > 1:
        raise NotImplementedError(
            f'jit({program.name}, backend="c") runs on one processor, and its arguments are on {placement.sharding}.\n'
            "Leave `backend` out: XLA compiles it for other devices, and for several."
        )
    start = time.perf_counter()
    jaxpr, kept = program.jaxpr, list(range(len(program.jaxpr.invars)))
    if not program.keep_unused:
        jaxpr, used = dce_jaxpr(jaxpr, True)
        kept = [i for i, is_used in enumerate(used) if is_used]
    source = write(program.name, jaxpr)
    stage_log.log_stage("lowering", program.name, time.perf_counter() - start)
    start = time.perf_counter()
    known_by = (without_notes(source.text), native.fingerprint(tuple(native.command())), runtime.cpu_features())
    library = disk_cache.load_library(known_by) if disk_cache.enabled() else None
    if library is None:
        library = native.compiled(source.text)
        if disk_cache.enabled():
            disk_cache.store_library(known_by, library)
    donated = _donated(program, kept, len(source.consts))
    in_avals = [*(core.get_aval(x) for x in source.consts), *jaxpr.in_avals]
    loaded = Loaded(source, library, in_avals, jaxpr.out_avals, placement.sharding, placement.committed, donated)
    stage_log.log_stage("compilation", program.name, time.perf_counter() - start)
    return LoopsExecutable(
        program.name,
        loaded,
        arg_avals=program.jaxpr.in_avals,
        out_avals=program.jaxpr.out_avals,
        kept=kept,
        consts=source.consts,
        sharding=placement.sharding,
        committed=placement.committed,
        donates=bool(donated),
    )


def _donated(program: Program, kept: Sequence[int], consts: int) -> list[int]:
    """Return the positions of donated arguments, among those that are passed."""
    return [consts + at for at, i in enumerate(kept) if program.donated and program.donated[i]]


def refuse_options(function: str, options: CompilerOptions) -> None:
    """Raise ValueError if there are compiler options: they are XLA's."""
    if options:
        raise ValueError(
            f'jit({function}, backend="c") takes no compiler_options, got {dict(options)}\n'
            "Those are XLA's. The C compiler is chosen by the option `cc` (JITKIT_CC)."
        )
