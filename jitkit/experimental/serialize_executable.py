"""Compiled -> bytes -> Compiled, in another process on the same kind of machine, which does not compile again

    payload, in_tree, out_tree = serialize(jit(f).lower(x).compile())
    deserialize_and_load(payload, in_tree, out_tree)(x)

The bytes have the machine code, the types of arguments and results, and the constants of the program. A tree cannot
always become bytes, so the two trees are returned beside them; `pickle` takes trees of tuples, lists and dicts. Loading
runs `pickle`: do it only with bytes that you trust.

JAX: jax/experimental/serialize_executable.py:serialize
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import runtime
from ..base import missing_names
from ..compiler.compiler import Executable
from ..compiler.placement import Placement
from ..compiler.program import Program
from ..jaxpr import DebugInfo, Jaxpr, Var
from ..pjit.stages import Compiled
from ..runtime.compiling import deserialize
from ..runtime.compiling import serialize as code_of
from ..tree_util import PyTreeDef


class _Payload(NamedTuple):
    """The parts of a compiled program as values that can be pickled."""

    name: str
    code: bytes
    in_avals: list[Any]
    out_avals: list[Any]
    debug_info: DebugInfo
    donated: tuple[bool, ...]
    kept: list[int]
    consts: list[np.ndarray[Any, Any]]
    committed: bool


def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """Return a compiled program as bytes, with the tree of its arguments, `(args, kwargs)`, and the tree of its result.

    Raises:
      ValueError: if the program is C, or calls back into Python: `debug.print`, `pure_callback`.
      NotImplementedError: if the program is for several devices.
    """
    program, executable = compiled._program, compiled._executable
    if program.backend is not None or executable.has_effects:
        raise ValueError(
            "Compilation does not support serialization\nThe program is C, or calls Python functions of this process (`debug.print`, "
            "`pure_callback`, ...)."
        )
    if runtime.is_over_mesh(executable.sharding):
        raise NotImplementedError(
            "jitkit serializes executables for one device only: use `jitkit.export` for the program itself."
        )
    jaxpr = program.jaxpr
    payload = _Payload(
        name=program.name,
        code=code_of(executable.loaded),
        in_avals=list(jaxpr.in_avals),
        out_avals=list(jaxpr.out_avals),
        debug_info=jaxpr.debug_info,
        donated=program.donated,
        kept=executable.kept,
        consts=[np.asarray(x) for x in executable.consts],
        committed=executable.committed,
    )
    return pickle.dumps(tuple(payload)), program.in_tree, program.out_tree


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: Any = None,
    execution_devices: Sequence[runtime.Device] | None = None,
) -> Compiled:
    """Return the compiled program from the bytes and two trees of `serialize`.

    Args:
      backend: a platform's name, or a client of jaxlib's; the default one if it is None.
      execution_devices: a sequence, whose first device runs the program; by default the first device of the platform.

    Raises:
      ValueError: if the devices are not of that client.
    """
    client = runtime.devices(backend)[0].client if backend is None or isinstance(backend, str) else backend
    devices = list(execution_devices or client.devices())
    if devices[0].client != client:
        of_client, of_device = ((each.platform, each.platform_version) for each in (client, devices[0].client))
        raise ValueError(
            f"Execution devices belong to a client other than `backend`. Got backend client: {of_client} and execution devices client: "
            f"{of_device}"
        )
    payload = _Payload(*pickle.loads(serialized))
    placement = Placement(runtime.single_device_sharding(devices[0]), payload.committed)
    invars, outvars = ([Var(x) for x in avals] for avals in (payload.in_avals, payload.out_avals))
    signature = Jaxpr(
        [], invars, outvars, [], debug_info=payload.debug_info
    )  # the types only: its equations stay behind
    executable = Executable(
        payload.name,
        deserialize(payload.code, devices[:1]),
        arg_avals=payload.in_avals,
        out_avals=payload.out_avals,
        kept=payload.kept,
        consts=payload.consts,
        sharding=placement.sharding,
        committed=placement.committed,
        donates=any(payload.donated),
    )
    return Compiled(Program(payload.name, signature, in_tree, out_tree, payload.donated), executable, placement)


missing_names.explain("experimental.serialize_executable", sys.modules[__name__])
