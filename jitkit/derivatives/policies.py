"""operation -> whether its result is kept for the way back

The policies of `checkpoint`. One is asked of each operation that can be computed before any cotangent is known, by its
primitive, the types of its operands and its parameters.

JAX: jax/_src/ad_checkpoint.py:checkpoint_policies
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any

from .. import lax
from ..core import Primitive
from .residuals import name_p

Policy = Callable[..., bool]


def everything_saveable(*operation: Any, **params: Any) -> bool:
    """All that it computes: as without `checkpoint`."""
    return True


def nothing_saveable(*operation: Any, **params: Any) -> bool:
    """Nothing but its arguments."""
    return False


@dataclasses.dataclass(frozen=True)
class DotsSaveable:
    """The products of matrices, and convolutions; or only the products without batch axes: those with parameters, in a
    network.
    """

    only_if_no_batch_dims: bool

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> bool:
        """Whether it is such a product."""
        if self.only_if_no_batch_dims:
            return primitive is lax.dot_general_p and not any(params["dimension_numbers"][1])
        return primitive in (lax.dot_general_p, lax.conv_general_dilated_p)


@dataclasses.dataclass(frozen=True)
class SaveOnlyTheseNames:
    """What `checkpoint_name` gave one of these names."""

    saveable_names: frozenset[str]

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> bool:
        """Whether it gives such a name."""
        return primitive is name_p and params["name"] in self.saveable_names


@dataclasses.dataclass(frozen=True)
class SaveAnyNamesButThese:
    """What `checkpoint_name` gave any other name."""

    names: frozenset[str]

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> bool:
        """Whether it gives such a name."""
        return primitive is name_p and params["name"] not in self.names


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """What `checkpoint_name` gave one of these names."""
    return SaveOnlyTheseNames(frozenset(names_which_can_be_saved))


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """What `checkpoint_name` gave any other name."""
    return SaveAnyNamesButThese(frozenset(names_not_to_save))


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """All that it computes: what has one of these names had none a step before, and is kept so."""
    return lambda *operation, **params: True


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """What one of two policies keeps, or the other. ValueError, under a derivative, for one that does not answer with a
    bool.
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
    save_from_both_policies=save_from_both_policies,
)
