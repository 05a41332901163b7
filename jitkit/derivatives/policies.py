"""operation -> whether its result is saved for the reverse pass

`checkpoint` calls its policy for each operation that depends on no tangent, with the primitive, the avals of its
operands and its parameters. (It does not ask about an operation with an effect other than a print: that is never
recomputed.)

JAX: jax/_src/ad_checkpoint.py:checkpoint_policies
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import lax
from ..core import Primitive
from .residuals import name_p


class SaveableType:
    """The class of `Saveable`, which a policy may return instead of True."""


class RecomputeType:
    """The class of `Recompute`, which a policy may return instead of False."""

    def __bool__(self) -> bool:
        return False


class Offloadable(NamedTuple):
    """A policy's answer for a value that waits in another memory until the reverse pass. Here it stays on the device."""

    src: str
    dst: str

    def __bool__(self) -> bool:
        return True


Saveable, Recompute = SaveableType(), RecomputeType()
Policy = Callable[..., bool | SaveableType | RecomputeType | Offloadable]


def everything_saveable(*operation: Any, **params: Any) -> bool:
    """Return True: save every result, as without `checkpoint`."""
    return True


def nothing_saveable(*operation: Any, **params: Any) -> bool:
    """Return False: save only the arguments."""
    return False


@dataclasses.dataclass(frozen=True)
class DotsSaveable:
    """Saves matrix products and convolutions; with `only_if_no_batch_dims`, only matrix products without batch axes, which
    are, in a network, the products with weights.
    """

    only_if_no_batch_dims: bool

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> bool:
        """Return whether to save the result of the operation."""
        if self.only_if_no_batch_dims:
            return primitive is lax.dot_general_p and not any(params["dimension_numbers"][1])
        return primitive in (lax.dot_general_p, lax.conv_general_dilated_p)


@dataclasses.dataclass(frozen=True)
class SaveOnlyTheseNames:
    """Saves values that `checkpoint_name` gave one of these names."""

    saveable_names: frozenset[str]

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> bool:
        """Return whether the operation is `checkpoint_name` with one of these names."""
        return primitive is name_p and params["name"] in self.saveable_names


@dataclasses.dataclass(frozen=True)
class SaveAnyNamesButThese:
    """Saves values that `checkpoint_name` gave another name than these."""

    names: frozenset[str]

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> bool:
        """Return whether the operation is `checkpoint_name` with a name that is not in `names`."""
        return primitive is name_p and params["name"] not in self.names


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Return a policy that saves the values that `checkpoint_name` gave one of these names."""
    return SaveOnlyTheseNames(frozenset(names_which_can_be_saved))


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Return a policy that saves the values that `checkpoint_name` gave another name than these."""
    return SaveAnyNamesButThese(frozenset(names_not_to_save))


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Return a policy that saves every result: as in JAX, a named value is a copy of an unnamed one, which is saved, so
    excluding names has no effect.
    """
    return lambda *operation, **params: True


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Sequence[str],
    names_which_can_be_offloaded: Sequence[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Return a policy that saves the values that `checkpoint_name` gave one of these names. In JAX, those of the second
    sequence wait in another memory, such as "pinned_host"; here all stay on the device. Raise ValueError for a name in
    both.
    """
    saved, offloaded = set(names_which_can_be_saved), set(names_which_can_be_offloaded)
    if both := saved & offloaded:
        raise ValueError(
            "The names should be exclusive and should not intersect in `names_which_can_be_saved` and "
            f"`names_which_can_be_offloaded`. Got names_which_can_be_saved={saved}, "
            f"names_which_can_be_offloaded={offloaded} and the intersection={both}"
        )

    def policy(primitive: Primitive, *avals: Any, **params: Any) -> Any:
        if primitive is name_p and params["name"] in saved:
            return Saveable
        if primitive is name_p and params["name"] in offloaded:
            return Offloadable(offload_src, offload_dst)
        return Recompute

    return policy


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Return a policy that saves matrix products without batch axes. In JAX these wait in another memory; here they
    stay on the device.
    """

    def policy(primitive: Primitive, *avals: Any, **params: Any) -> Any:
        is_saved = primitive is lax.dot_general_p and not any(params["dimension_numbers"][1])
        return Offloadable(offload_src, offload_dst) if is_saved else Recompute

    return policy


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Return a policy that saves a value if at least one of the two policies saves it. It raises ValueError unless both
    return bools.
    """

    def policy(*operation: Any, **params: Any) -> bool:
        one, two = policy_1(*operation, **params), policy_2(*operation, **params)
        if not (isinstance(one, bool) and isinstance(two, bool)):
            raise ValueError(
                f"The return value of the policies should be a boolean. Got: {one} and {two}. Please write a custom policy "
                "function directly, rather than using this helper function."
            )
        return one or two

    return policy


checkpoint_policies = types.SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=DotsSaveable(False),
    checkpoint_dots=DotsSaveable(False),
    dots_with_no_batch_dims_saveable=DotsSaveable(True),
    checkpoint_dots_with_no_batch_dims=DotsSaveable(True),
    save_anything_except_these_names=save_anything_except_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_only_these_names=save_only_these_names,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_from_both_policies=save_from_both_policies,
)
