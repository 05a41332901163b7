"""in_shardings and out_shardings of `jit` -> a sharding for each leaf

A user gives shardings of arguments and results as a tree, which may end above the leaves: one sharding for a whole
dictionary of arrays, or `None`, which leaves the choice to XLA. This module expands the tree to the leaves, and checks
it against the arrays. The shardings are JAX's; XLA's partitioner decides what each device computes and sends.

JAX: jax/_src/pjit.py:pjit_check_aval_sharding
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import runtime
from ..base.late_rooms import import_room
from ..runtime.devices import is_spec
from ..tree_util import (
    PyTreeDef,
    broadcast_over,
    broadcast_prefix,
    keystr,
    skeleton,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)


class ShardingTree:
    """A hashable tree of shardings; None at a leaf leaves the choice to XLA."""

    __slots__ = ("leaves", "treedef")

    def __init__(self, leaves: Sequence[runtime.Sharding | None], treedef: PyTreeDef) -> None:
        self.leaves = tuple(leaves)
        self.treedef = treedef

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShardingTree) and self.leaves == other.leaves and self.treedef == other.treedef

    def __hash__(self) -> int:
        return hash((self.leaves, self.treedef))

    def __repr__(self) -> str:
        return repr(self.tree())

    def tree(self) -> Any:
        """Return the tree that the user gave."""
        return tree_unflatten(self.treedef, self.leaves)

    def over(self, tree: Any) -> list[runtime.Sharding | None]:
        """Return the sharding of each leaf of another tree. Raise ValueError unless this tree is a prefix of it."""
        return broadcast_prefix(self.tree(), tree, _is_none)


def _is_none(x: Any) -> bool:
    return x is None


def sharding_tree(shardings: Any, what: str) -> ShardingTree | None:
    """Return a ShardingTree of the argument `what` of `jit`; None if that is not given.

    A `PartitionSpec` becomes a sharding at a call, over the mesh of the context. Raise TypeError for a leaf that is not a
    sharding, a `PartitionSpec` or None.
    """
    if isinstance(shardings, list):
        shardings = tuple(shardings)
    leaves, treedef = tree_flatten(shardings, _is_none)
    for leaf in leaves:
        if leaf is not None and not is_sharding(leaf) and not is_spec(leaf):
            raise _no_sharding(leaf, what)
    return ShardingTree(leaves, treedef) if any(leaf is not None for leaf in leaves) else None


def is_sharding(x: Any) -> bool:
    """Return whether x is a sharding, perhaps over a mesh without devices."""
    return hasattr(type(x), "device_set")


def _no_mesh(who: str, what: str, edit: str) -> RuntimeError:
    return RuntimeError(
        f"{who} requires a non-empty mesh in context if you are passing `PartitionSpec`s to {what}. You can define a "
        "context mesh via `jax.set_mesh(mesh)`. Alternatively, provide `Sharding`s to "
        f"{what} and then the mesh context manager is not required.\n{edit}"
    )


def _no_sharding(x: Any, what: str) -> TypeError:
    return TypeError(
        f"{what} leaf specifications are expected to be PartitionSpec instances or None, but got {x}\n"
        "Pass a `jax.sharding.Sharding` for each array, or for a tree of them."
    )


def in_mesh(given: Any, mesh: Any, what: str, who: str) -> runtime.Sharding:
    """Return the sharding over a mesh for a `PartitionSpec`, or for None, which does not spread any axis; a sharding
    unchanged.

    If the mesh has no axes, raise RuntimeError for a `PartitionSpec` and ValueError for None. Raise TypeError for
    anything else.
    """
    if is_sharding(given):
        return given
    if given is not None and not is_spec(given):
        raise _no_sharding(given, what)
    if mesh.empty and given is None:
        raise ValueError(
            f"One of {who} arguments got sharding None which is not allowed. Please only pass `jax.sharding.Sharding` instances."
        )
    if mesh.empty:
        raise _no_mesh(who, what, f"Or pass `NamedSharding(mesh, {given})`.")
    of_jax = runtime.jax().sharding
    return of_jax.NamedSharding(mesh, of_jax.PartitionSpec() if given is None else given)


def _over_devices(shardings: Sequence[Any], what: str) -> list[runtime.Sharding | None]:
    """Return the shardings, each `PartitionSpec` as a sharding over the mesh of the context. Raise RuntimeError for one
    if no mesh is set.
    """
    specs = [each for each in shardings if is_spec(each)]
    mesh = import_room("jitkit.runtime.meshes").devices_of_context() if specs else None
    return [in_mesh(each, mesh, what, "jit") if is_spec(each) else each for each in shardings]


def of_arguments(
    shardings: ShardingTree | None, args: Sequence[Any], kwargs: Any, avals: Sequence[Any], names: Sequence[str]
) -> tuple[runtime.Sharding | None, ...]:
    """Return the sharding that each leaf of the arguments must have; an empty tuple if `in_shardings` was not given.

    Raise ValueError for keyword arguments, a tree of another form, and an array that cannot be divided in this way.
    """
    if shardings is None:
        return ()
    if kwargs:
        raise ValueError(
            "pjit does not support kwargs when in_shardings is specified.\n"
            f"Pass {', '.join(kwargs)} by position: in_shardings are those of the positional arguments."
        )
    given = shardings.tree()
    if isinstance(given, tuple) and len(given) != len(args):
        raise ValueError(
            "pjit in_shardings specification must be a tree prefix of the positional arguments tuple. In particular, pjit "
            "in_shardings must either be a Sharding, a PartitionSpec, or a tuple of length equal to the number of "
            f"positional arguments. But pjit in_shardings is the wrong length: got a tuple or list of length {len(given)} "
            f"for an args tuple of length {len(args)}."
        )
    found = _over_devices(shardings.over(tuple(args)), "in_shardings")
    check(found, avals, names, "pjit arguments")
    return tuple(found)


def of_results(
    shardings: ShardingTree | None, out_tree: PyTreeDef, avals: Sequence[Any]
) -> tuple[runtime.Sharding | None, ...]:
    """Return the sharding that each leaf of the result must have; empty if none was given. Raise ValueError for a tree
    of another form, and an array that cannot be divided in this way.
    """
    if shardings is None:
        return ()
    try:
        given = broadcast_over(shardings.tree(), out_tree, _is_none)
    except ValueError as error:
        raise ValueError(f"out_shardings do not fit the result of the function: {error}") from None
    found = _over_devices(given, "out_shardings")
    names = [f"result{keystr(path)}" for path, _ in tree_flatten_with_path(skeleton(out_tree, avals))[0]]
    check(found, avals, names, "pjit outputs")
    return tuple(found)


def check(
    shardings: Sequence[runtime.Sharding | None],
    avals: Sequence[Any],
    names: Sequence[str],
    what: str,
    evenly: bool = True,
) -> None:
    """Raise ValueError for an array that has too few axes for its sharding, or with `evenly` one that its devices do not divide."""
    for sharding, aval, name in zip(shardings, avals, names, strict=True):
        if sharding is None:
            continue
        try:
            sharding.check_compatible_aval(aval.shape)
        except ValueError as error:
            where = f" with pytree key path {name}" if name else ""
            raise ValueError(
                f"One of {what}{where} is incompatible with its sharding annotation {sharding}: {error}"
            ) from None
        if evenly:
            sharding.shard_shape(aval.shape)  # raises when the devices do not divide it
