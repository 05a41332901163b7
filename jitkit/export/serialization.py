"""Exported -> bytes -> Exported

The bytes are a magic line, the length of a header, the header as JSON, and the parts that it names by offset and
length: the portable StableHLO, constants, and reverse passes in the same form.

JAX: jax/_src/export/serialization.py:serialize
"""

from __future__ import annotations

import base64
import collections
import importlib
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import ShapedArray
from ..tree_util import PyTreeDef, tree_structure
from ..tree_util.registry import registered
from .exported import DisabledSafetyCheck, Exported, later

_MAGIC = b"jitkit-exported-1\n"

# class of a node -> its name, and metadata -> bytes; name -> class, bytes -> metadata, and the node of metadata and children
_writers: dict[type, tuple[str, Callable[[Any], bytes]]] = {}
_readers: dict[str, tuple[type, Callable[[bytes], Any], Callable[[Any, Sequence[Any]], Any]]] = {}


def register_pytree_node_serialization(
    nodetype: type,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type:
    """Say how the trees of exported functions keep a registered type of node. Return the type.

    Args:
      serialized_name: the name of the type in the bytes.
      serialize_auxdata, deserialize_auxdata: metadata of a node -> bytes, and back.
      from_children: metadata and children -> node; by default the registered function.

    Raises:
      ValueError: if the type or the name was given in an earlier call, or without `from_children` if the type is not
        registered.
    """
    if nodetype in _writers:
        raise ValueError(
            f"Duplicate serialization registration for type `{nodetype}`. Previous registration was with serialized_name "
            f"`{_writers[nodetype][0]}`."
        )
    if serialized_name in _readers:
        raise ValueError(
            f"Duplicate serialization registration for serialized_name `{serialized_name}`. Previous registration was for type "
            f"`{_readers[serialized_name][0]}`."
        )
    if from_children is None:
        if nodetype not in registered:
            raise ValueError(
                "If `from_children` is not present, you must call first"
                f"`jax.tree_util.register_pytree_node` for `{nodetype}`"
            )
        from_children = registered[nodetype].unflatten
    _writers[nodetype] = (serialized_name, serialize_auxdata)
    _readers[serialized_name] = (nodetype, deserialize_auxdata, from_children)
    return nodetype


def register_namedtuple_serialization(nodetype: type, *, serialized_name: str) -> type:
    """Say that the trees of exported functions may have this type of named tuple. Return it. Raise ValueError for another type."""
    if not (issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(
            "Use `jax.export.register_pytree_node_serialization` for types other than `collections.namedtuple`."
        )
    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda _: b"",
        deserialize_auxdata=lambda _: None,
        from_children=lambda _, children: nodetype(*children),
    )


register_pytree_node_serialization(
    collections.OrderedDict,
    serialized_name="OrderedDict",
    serialize_auxdata=lambda keys: "\0".join(_texts(keys)).encode(),
    deserialize_auxdata=lambda data: data.decode().split("\0") if data else [],
    from_children=lambda keys, children: collections.OrderedDict(zip(keys, children, strict=True)),
)


# --- trees ------------------------------------------------------------------------------------------------------------


def _texts(keys: Sequence[Any]) -> list[str]:
    for key in keys:
        if not isinstance(key, str):
            raise NotImplementedError(
                f"Serialization is supported only for dictionaries with string keys. Found key {key} of type {type(key)}."
            )
    return list(keys)


def _tree_to_json(tree: PyTreeDef) -> Any:
    data = tree.node_data()
    if data is None:
        return "leaf"
    kind, meta = data
    children = [_tree_to_json(child) for child in tree.children()]
    if kind is type(None):
        return None
    if kind in (tuple, list):
        return [kind.__name__, children]
    if kind is dict:
        return ["dict", children, _texts(meta)]
    if kind not in _writers:
        raise NotImplementedError(
            f"Cannot serialize PyTreeDef with node type `{kind}`; it must be registered with "
            "`export.register_pytree_node_serialization` or `export.register_namedtuple_serialization`"
        )
    name, write = _writers[kind]
    return ["node", children, name, base64.b64encode(write(meta)).decode()]


def _example(tree: Any) -> Any:
    """Return a tree with the structure that this JSON describes; its leaves are 0. Raise ValueError for an unregistered node type."""
    if tree is None or tree == "leaf":
        return None if tree is None else 0
    kind, children, *rest = tree
    parts = [_example(child) for child in children]
    if kind == "dict":
        return dict(zip(rest[0], parts, strict=True))
    if kind != "node":
        return tuple(parts) if kind == "tuple" else parts
    name, data = rest
    if name not in _readers:
        raise ValueError(
            f"Cannot deserialize a PyTreeDef containing an unregistered type `{name}`. Register it with "
            "`export.register_pytree_node_serialization` or `export.register_namedtuple_serialization`."
        )
    _, read, from_children = _readers[name]
    return from_children(read(base64.b64decode(data)), parts)


# --- functions --------------------------------------------------------------------------------------------------------


def _avals_to_json(avals: Sequence[ShapedArray]) -> Any:
    return [[list(aval.shape), str(aval.dtype), aval.weak_type] for aval in avals]


def _avals(rows: Any) -> tuple[ShapedArray, ...]:
    return tuple(ShapedArray(tuple(shape), np.dtype(dtype), weak) for shape, dtype, weak in rows)


def _serialize(exported: Exported, vjp_order: int) -> bytearray:
    parts = [exported.mlir_module_serialized]
    parts += [each.tobytes() for each in exported.constants]
    if vjp_order > 0:
        parts.append(bytes(_serialize(exported.vjp(), vjp_order - 1)))
    header = {
        "fun_name": exported.fun_name,
        "in_tree": _tree_to_json(exported.in_tree),
        "in_avals": _avals_to_json(exported.in_avals),
        "out_tree": _tree_to_json(exported.out_tree),
        "out_avals": _avals_to_json(exported.out_avals),
        "platforms": exported.platforms,
        "checks": [str(each) for each in exported.disabled_safety_checks],
        "kept": exported.module_kept_var_idx,
        "constants": [[each.shape, str(each.dtype)] for each in exported.constants],
        "has_vjp": vjp_order > 0,
        "sizes": [len(part) for part in parts],
    }
    text: bytes = importlib.import_module("json").dumps(header).encode()
    return bytearray(b"".join([_MAGIC, struct.pack("<Q", len(text)), text, *parts]))


def deserialize(blob: bytes | bytearray) -> Exported:
    """Return the Exported that `serialize` wrote. Raise ValueError for other bytes, also those of JAX's own `serialize`."""
    data = bytes(blob)
    if not data.startswith(_MAGIC):
        raise ValueError("These bytes were not written by jitkit's `Exported.serialize`. (JAX's are of another form.)")
    start = len(_MAGIC) + 8
    [length] = struct.unpack("<Q", data[len(_MAGIC) : start])
    header = importlib.import_module("json").loads(data[start : start + length])
    parts, place = [], start + length
    for size in header["sizes"]:
        parts.append(data[place : place + size])
        place += size
    if place != len(data):
        raise ValueError(f"The bytes of an exported function are damaged: {len(data)} of {place}.")
    pairs = zip(header["constants"], parts[1:], strict=False)
    constants = tuple(np.frombuffer(part, np.dtype(dtype)).reshape(shape) for (shape, dtype), part in pairs)
    return Exported(
        header["fun_name"], tree_structure(_example(header["in_tree"])), _avals(header["in_avals"]),
        tree_structure(_example(header["out_tree"])), _avals(header["out_avals"]), tuple(header["platforms"]),
        tuple(map(DisabledSafetyCheck, header["checks"])), parts[0], tuple(header["kept"]), constants,
        (lambda: deserialize(parts[-1])) if header["has_vjp"] else None,
    )  # fmt: skip


later.serialize = _serialize
