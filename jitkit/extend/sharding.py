"""Shardings in XLA's form: JAX's own class of them, and jaxlib's messages, under the names of `jax.extend.sharding`

JAX: jax/_src/sharding_impls.py:GSPMDSharding
"""

from __future__ import annotations

import sys
from typing import Any

from ..base import missing_names
from ..runtime import beside_jax
from ..runtime.jaxlib import gate


def __getattr__(name: str) -> Any:
    if name != "GSPMDSharding":
        raise AttributeError(f"module 'jitkit.extend.sharding' has no attribute {name!r}")
    return beside_jax.module_of_jax("jax._src.sharding_impls").GSPMDSharding


def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """Return the sharding, a jaxlib `OpSharding`, that a message in bytes describes."""
    proto = gate().xla_client.OpSharding()
    proto.ParseFromString(sharding)
    return proto


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """Return the sharding, a jaxlib `HloSharding`, that a message in bytes describes."""
    return gate().xla_client.HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """Return the message of a jaxlib `HloSharding`, in bytes."""
    message: bytes = sharding.to_proto().SerializeToString()
    return message


missing_names.explain("extend.sharding", sys.modules[__name__])
