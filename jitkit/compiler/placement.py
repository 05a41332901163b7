"""keys of a call's leaves -> where the program runs

A call runs on the default device, unless an argument is committed to a place, or `jit` was given one. If arguments are
committed to different places, the error names two of them.

JAX: jax/_src/interpreters/pxla.py:_get_and_check_device_assignment
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import runtime
from ..core import ShapedArray
from ..jaxpr import Jaxpr, Var


class Placement(NamedTuple):
    """Where a program runs, and whether its results are committed to that place."""

    sharding: runtime.Sharding
    committed: bool
    spread: tuple[runtime.Sharding, ...] = ()  # the sharding of each argument, over a mesh
    results: tuple[runtime.Sharding | None, ...] = ()  # the sharding that each result must have, if `jit` was told

    @property
    def devices(self) -> tuple[runtime.Device, ...]:
        """Its devices."""
        return runtime.sharding_devices(self.sharding)

    @property
    def platform(self) -> str:
        """The platform of its devices."""
        platform: str = self.devices[0].platform
        return platform


def default_placement() -> Placement:
    """Return the placement of a call without committed arguments: on the default device."""
    return Placement(runtime.single_device_sharding(runtime.default_device()), False)


def placement_of(
    keys: Sequence[Any],
    function: str,
    names: Sequence[str],
    results: Sequence[runtime.Sharding | None] = (),
    inside: Sequence[runtime.Sharding] = (),
) -> Placement:
    """Return where a call runs: where its committed arguments are; or else where its results must be, or where calls
    inside the program must run; or else on the default device.

    `keys` are the keys of the leaves, and `names` their names for the error; `results` has the sharding asked for each
    leaf of the results, or is empty; `inside` has the shardings that calls inside the program ask for. Raise ValueError
    if places disagree, NotImplementedError for meshes of different shapes.
    """
    chosen: runtime.Placed | None = None
    first = 0
    for i, key in enumerate(keys):
        if not isinstance(key, runtime.Placed):
            continue
        if chosen is None:
            chosen, first = key, i
        elif runtime.sharding_devices(key.sharding) != runtime.sharding_devices(chosen.sharding):
            raise ValueError(_incompatible_devices(function, (first, chosen), (i, key), names))
    asked_of_results = [sharding for sharding in results if sharding is not None]
    where = [chosen.sharding] if chosen is not None else []
    if not where and not asked_of_results and not inside:
        return default_placement()
    sharding = runtime.replicated([*where, *asked_of_results, *inside][0])
    owners = runtime.sharding_devices(sharding)
    for other in (other for other in inside if runtime.sharding_devices(other) != owners):
        whose = "jit inside jit" if not where and not asked_of_results else f"a call of {function}"
        raise ValueError(
            f"Received incompatible devices for jitted computation. Got {whose} with {_devices(sharding)} and jit inside jit "
            f"with {_devices(other)}\nA program runs on one set of devices. Give both the same, or call them one after the other."
        )
    if any(runtime.sharding_devices(asked) != owners for asked in asked_of_results):
        raise ValueError(
            f"Received incompatible devices for jitted computation. Got out_shardings {asked_of_results} of {function}, "
            f"which runs on device ids {[device.id for device in owners]}.\n"
            "A program runs on one set of devices. Move the result with `jitkit.device_put(x, sharding)` instead."
        )
    if not runtime.is_over_mesh(sharding):
        is_elsewhere = any(runtime.in_device_memory(asked) is not asked for asked in asked_of_results)
        return Placement(sharding, True, (), tuple(results) if is_elsewhere else ())
    over_mesh = runtime.is_over_mesh
    spread = tuple(
        runtime.in_device_memory(key.sharding)
        if isinstance(key, runtime.Placed) and over_mesh(key.sharding)
        else sharding
        for key in keys
    )
    results = [x if x is not None and over_mesh(x) else None for x in results]
    if any(s.mesh.shape != sharding.mesh.shape for s in (*spread, *filter(None, results), *filter(over_mesh, inside))):
        raise NotImplementedError(f"the arguments of {function} are spread over meshes of different shapes")
    return Placement(sharding, True, spread, tuple(results))


def with_memories(placement: Placement, jaxpr: Jaxpr) -> Placement:
    """Return the placement, changed if the program itself puts a result into another memory by `device_put`: then this
    result is placed there, and all results are committed. Over a mesh, return the placement unchanged.
    """
    kinds = _memories(jaxpr)
    if not any(kinds) or runtime.is_over_mesh(placement.sharding):
        return placement
    asked = placement.results or (None,) * len(kinds)
    here = placement.sharding
    results = [x or (runtime.in_memory(here, kind) if kind else None) for x, kind in zip(asked, kinds, strict=True)]
    return placement._replace(committed=True, results=tuple(results))


def _memories(jaxpr: Jaxpr) -> list[str | None]:
    """Return the kind of memory into which the program itself puts each result; None for the device's own."""
    made: dict[Any, str | None] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "device_put":
            made.update(zip(eqn.outvars, map(_memory, eqn.params["devices"]), strict=True))
        elif eqn.primitive.name == "jit":
            made.update(zip(eqn.outvars, _memories(eqn.params["jaxpr"]), strict=True))
    return [made.get(v) if type(v) is Var else None for v in jaxpr.outvars]


def _memory(place: Any) -> str | None:
    kind = getattr(place, "memory_kind", None)
    return "pinned_host" if getattr(place, "name", "") == "Host" else kind if kind != "device" else None


def placed_as_asked(key: Any, aval: ShapedArray, asked: runtime.Sharding | None) -> Any:
    """Return the key of a leaf with the sharding that `in_shardings` asks for. Raise ValueError if the leaf is
    committed to another sharding; between single devices, the leaf is moved instead, as in JAX.
    """
    if asked is None:
        return key
    one_to_one = isinstance(key, runtime.Placed) and all(
        len(runtime.sharding_devices(s)) == 1 for s in (asked, key.sharding)
    )
    if isinstance(key, runtime.Placed) and not one_to_one and not runtime.is_equivalent(asked, key.sharding, aval.ndim):
        raise ValueError(
            f"Sharding passed to jit does not match the sharding on the respective arg. Got jit sharding: {asked},\n"
            f"arg sharding: {key.sharding} for arg type: {aval.str_short()}\n"
            "Put the argument there first: `jitkit.device_put(x, sharding)`."
        )
    return runtime.placed(aval, asked)


def _incompatible_devices(
    function: str, a: tuple[int, runtime.Placed], b: tuple[int, runtime.Placed], names: Sequence[str]
) -> str:
    def describe(where: tuple[int, runtime.Placed]) -> str:
        i, key = where
        name = names[i] if i < len(names) and names[i] else f"#{i}"
        return f"argument {name} of {function} with shape {key.aval.str_short()} and with {_devices(key.sharding)}"

    return (
        f"Received incompatible devices for jitted computation. Got {describe(a)} and {describe(b)}\n"
        "Both were put there on purpose. Move one of them with `jitkit.device_put(x, device)`."
    )


def _devices(sharding: runtime.Sharding) -> str:
    owners = runtime.sharding_devices(sharding)
    return f"device ids {[d.id for d in owners]} on platform {owners[0].platform.upper()}"
