"""`jitkit.export`: jitted function -> bytes -> a function, in another process or at another time

    exported = export.export(jit(f))(jnp.ones(3))       its StableHLO, with the types of arguments and results
    export.deserialize(exported.serialize()).call(x)    and no Python of `f` any more

Input: a jitted function, and the types of its arguments. Output: an `Exported`, a module in StableHLO's portable form,
which later versions of XLA can read. It can be called alone, and in `jit` and `grad`. In the order of reading:

    exported         jitted function -> Exported
    calling          a call of an Exported: an operation whose lowering copies the functions of the module
    serialization    Exported -> bytes -> Exported

One platform at a time, one device, and known shapes; JAX exports more. The bytes have jitkit's own form, not JAX's.

JAX: jax/_src/export/_export.py:export
"""

from __future__ import annotations

import sys

from ..base import missing_names
from . import calling as calling
from .exported import DisabledSafetyCheck as DisabledSafetyCheck
from .exported import Exported as Exported
from .exported import default_export_platform as default_export_platform
from .exported import export as export
from .exported import is_symbolic_dim as is_symbolic_dim
from .exported import maximum_supported_calling_convention_version as maximum_supported_calling_convention_version
from .exported import minimum_supported_calling_convention_version as minimum_supported_calling_convention_version
from .serialization import deserialize as deserialize
from .serialization import register_namedtuple_serialization as register_namedtuple_serialization
from .serialization import register_pytree_node_serialization as register_pytree_node_serialization

missing_names.explain(
    "export",
    sys.modules[__name__],
    dict.fromkeys(
        ("SymbolicScope", "symbolic_args_specs", "symbolic_shape"),
        "jitkit exports functions of known shapes only: there are no symbolic sizes. Export once for each shape.",
    ),
)
