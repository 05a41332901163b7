"""The names of `jax.example_libraries.optimizers`: optimizers as three functions

    init, update, get_params = adam(1e-3)
    state = init(params)
    state = update(step, grads, state)
    params = get_params(state)

Each is written for one array, most as a `_Rule` that returns the next array and the state to keep. `optimizer` turns
these into functions of trees of arrays.

JAX: jax/example_libraries/optimizers.py:adam
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from .. import numpy as jnp
from ..base.util import safe_zip
from ..tree_util import register_pytree_node, tree_flatten, tree_leaves, tree_map, tree_unflatten

Schedule = Callable[[Any], Any]  # number of a step -> size of the step


class Optimizer(NamedTuple):
    """An optimizer for trees of arrays: parameters -> state; number of a step, gradients and state -> state; state -> parameters."""

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """The state of an optimizer: the leaves of each array's state, the structure of the tree of arrays, and the
    structure of each array's state.
    """

    packed_state: Sequence[Any]
    tree_def: Any
    subtree_defs: Sequence[Any]


register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda trees, packed: OptimizerState(packed[0], *trees),
)


def _subtrees(state: Any) -> list[Any]:
    return [tree_unflatten(tree, leaves) for tree, leaves in safe_zip(state[2], state[0])]


def _packed(subtrees: Sequence[Any], tree: Any) -> OptimizerState:
    flat = [tree_flatten(subtree) for subtree in subtrees]
    return OptimizerState(tuple(leaves for leaves, _ in flat), tree, tuple(inner for _, inner in flat))


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Turn a function that returns the three functions for one array into one that returns them for trees of arrays.
    The new `update` raises TypeError for gradients of another tree than the parameters, and if the state's tree
    changes.
    """

    @functools.wraps(opt_maker)
    def of_trees(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        @functools.wraps(init)
        def init_all(params: Any) -> OptimizerState:
            leaves, tree = tree_flatten(params)
            return _packed([init(x) for x in leaves], tree)

        @functools.wraps(update)
        def update_all(step: Any, grads: Any, state: Any) -> OptimizerState:
            leaves, tree = tree_flatten(grads)
            if tree != state[1]:
                raise TypeError(
                    "optimizer update function was passed a gradient tree that did not match the parameter tree structure with which "
                    f"it was initialized: parameter tree {state[1]} and grad tree {tree}."
                )
            after = _packed([update(step, g, kept) for g, kept in safe_zip(leaves, _subtrees(state))], tree)
            for before, now in safe_zip(state[2], after.subtree_defs):
                if before != now:
                    raise TypeError(
                        "optimizer update function produced an output structure that did not match its input structure: input "
                        f"{before} and output {now}."
                    )
            return after

        @functools.wraps(get_params)
        def all_params(state: Any) -> Any:
            return tree_unflatten(state[1], [get_params(kept) for kept in _subtrees(state)])

        return Optimizer(init_all, update_all, all_params)

    return of_trees


# --- optimizers: each says what it keeps of an array, all zeros at first, and what becomes of it in a step ------------

# (step, gradient, array, *kept) -> (array, *kept)
_Rule = Callable[..., tuple[Any, ...]]


def _keeping(kept: int, rule: _Rule) -> tuple[Callable[..., Any], ...]:
    """Return init, update and get_params for one array. `rule` keeps `kept` more arrays beside it, zeros at first."""
    return (
        lambda x: (x, *[jnp.zeros_like(x) for _ in range(kept)]),
        lambda step, g, state: rule(step, g, *state),
        lambda state: state[0],
    )


@optimizer
def sgd(step_size: Any) -> Any:
    """Return gradient descent. `step_size` is a number, or a function of the step's number."""
    size = make_schedule(step_size)
    return Optimizer(lambda x: x, lambda step, g, x: x - size(step) * g, lambda x: x)


@optimizer
def momentum(step_size: Any, mass: Any) -> Any:
    """Return gradient descent with momentum: each step keeps the fraction `mass` of the velocity."""
    size = make_schedule(step_size)

    def rule(step: Any, g: Any, x: Any, velocity: Any) -> tuple[Any, ...]:
        velocity = mass * velocity + g
        return x - size(step) * velocity, velocity

    return _keeping(1, rule)


@optimizer
def nesterov(step_size: Any, mass: Any) -> Any:
    """Return gradient descent with Nesterov's momentum."""
    size = make_schedule(step_size)

    def rule(step: Any, g: Any, x: Any, velocity: Any) -> tuple[Any, ...]:
        velocity = mass * velocity + g
        return x - size(step) * (mass * velocity + g), velocity

    return _keeping(1, rule)


@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> Any:
    """Return Adagrad: gradients are divided by the root of the sum of their squares so far (J. Duchi et al., 2011). `momentum` is
    the weight of the earlier steps in a running mean of steps.
    """
    size = make_schedule(step_size)

    def rule(step: Any, g: Any, x: Any, squares: Any, mean: Any) -> tuple[Any, ...]:
        squares += jnp.square(g)
        scale = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)
        mean = (1.0 - momentum) * (g * scale) + momentum * mean
        return x - size(step) * mean, squares, mean

    return _keeping(2, rule)


@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8) -> Any:
    """Return RMSProp: gradients are divided by the root of a running mean of their squares plus `eps`; `gamma` is the weight of
    the earlier squares in the mean.
    """
    size = make_schedule(step_size)

    def rule(step: Any, g: Any, x: Any, squares: Any) -> tuple[Any, ...]:
        squares = squares * gamma + jnp.square(g) * (1.0 - gamma)
        return x - size(step) * g / jnp.sqrt(squares + eps), squares

    return _keeping(1, rule)


@optimizer
def rmsprop_momentum(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8, momentum: Any = 0.9) -> Any:
    """Return `rmsprop` with momentum: each step adds `momentum` times the one before; `gamma` and `eps` are as for `rmsprop`."""
    size = make_schedule(step_size)

    def rule(step: Any, g: Any, x: Any, squares: Any, velocity: Any) -> tuple[Any, ...]:
        squares = squares * gamma + jnp.square(g) * (1.0 - gamma)
        velocity = momentum * velocity + size(step) * g / jnp.sqrt(squares + eps)
        return x - velocity, squares, velocity

    return _keeping(2, rule)


@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """Return Adam: a running mean of gradients over the root of one of their squares, both corrected for their start
    (D. Kingma, J. Ba, 2015). `b1` and `b2` are the weights of the earlier values in the two means; `eps` is added to
    the root.
    """
    size = make_schedule(step_size)

    def rule(step: Any, g: Any, x: Any, mean: Any, squares: Any) -> tuple[Any, ...]:
        mean = (1 - b1) * g + b1 * mean
        squares = (1 - b2) * jnp.square(g) + b2 * squares
        corrected = mean / (1 - jnp.asarray(b1, mean.dtype) ** (step + 1))
        corrected_squares = squares / (1 - jnp.asarray(b2, mean.dtype) ** (step + 1))
        return x - size(step) * corrected / (jnp.sqrt(corrected_squares) + eps), mean, squares

    return _keeping(2, rule)


@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """Return Adam with the largest gradient, weighted by age (powers of `b2`), in place of the root of squares."""
    size = make_schedule(step_size)

    def rule(step: Any, g: Any, x: Any, mean: Any, largest: Any) -> tuple[Any, ...]:
        mean = (1 - b1) * g + b1 * mean
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        corrected = size(step) / (1 - jnp.asarray(b1, mean.dtype) ** (step + 1))
        return x - corrected * mean / (largest + eps), mean, largest

    return _keeping(2, rule)


@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> Any:
    """Return SM3: Adagrad with one sum for each index of each axis instead of one for each element (R. Anil et al.,
    2019). `momentum` is as for `adagrad`.
    """
    size = make_schedule(step_size)

    def along(axis: int, values: Any, ndim: int) -> Any:
        return values[tuple(slice(None) if a == axis else None for a in range(ndim))]

    def init(x: Any) -> tuple[Any, ...]:
        shape, x = x.shape, jnp.atleast_1d(x)
        per_axis = [jnp.zeros(count, dtype=x.dtype) for count in x.shape]
        return x, jnp.zeros_like(x), per_axis, shape

    def update(step: Any, g: Any, state: Any) -> tuple[Any, ...]:
        x, mean, per_axis, shape = state
        sums = [along(axis, values, g.ndim) for axis, values in enumerate(per_axis)]
        squares = functools.reduce(jnp.minimum, sums) + jnp.square(g)
        scale = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0)
        mean = (1.0 - momentum) * (g * scale) + momentum * mean
        x = x - size(step) * mean
        largest = [squares.max([a for a in range(x.ndim) if a != axis]) for axis in range(x.ndim)]
        return x, mean, largest, shape

    return init, update, lambda state: state[0].reshape(state[3])


# --- schedules --------------------------------------------------------------------------------------------------------


def constant(step_size: Any) -> Schedule:
    """Return a schedule with the same size for each step."""
    return lambda step: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """Return a schedule of `step_size` times a power of `decay_rate`; the exponent grows evenly, by 1 in `decay_steps` steps."""
    return lambda step: step_size * decay_rate ** (step / decay_steps)


def inverse_time_decay(step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Schedule:
    """Return the schedule `step_size / (1 + decay_rate * step / decay_steps)`; `staircase` rounds `step / decay_steps` down."""
    if staircase:
        return lambda step: step_size / (1 + decay_rate * jnp.floor(step / decay_steps))
    return lambda step: step_size / (1 + decay_rate * step / decay_steps)


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0) -> Schedule:
    """Return a schedule from `step_size` to `final_step_size` in `decay_steps` steps: the rest of the way falls as `(1
    - step / decay_steps) ** power`.
    """

    def schedule(step: Any) -> Any:
        step = jnp.minimum(step, decay_steps)
        share = (1 - step / decay_steps) ** power
        return share * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """Return a schedule with the i-th value up to the i-th boundary. Raise ValueError unless there is one value more
    than boundaries.
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if not boundaries.ndim == values.ndim == 1:
        raise ValueError("boundaries and values must be sequences")
    if boundaries.shape[0] != values.shape[0] - 1:
        raise ValueError("boundaries length must be one shorter than values length")
    return lambda step: values[jnp.sum(step > boundaries)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """Return a schedule: a given schedule unchanged, or for a number a constant schedule. Raise TypeError for an array with axes."""
    if callable(scalar_or_schedule):
        schedule: Schedule = scalar_or_schedule
        return schedule
    if jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(type(scalar_or_schedule))


# --- gradients, and states that are written down ----------------------------------------------------------------------


def l2_norm(tree: Any) -> Any:
    """Return the norm of all leaves together."""
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Return the gradients, scaled down to the norm `max_norm` if theirs is larger."""
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


class JoinPoint:
    """One array's state, wrapped as a leaf of a tree. Iterating over it gives the state, once."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Iterator[Any]:
        yield self.subtree


def unpack_optimizer_state(opt_state: Any) -> Any:
    """Return the state as a tree like the parameters', with a JoinPoint for each array, to save it without loss."""
    return tree_unflatten(opt_state[1], [JoinPoint(subtree) for subtree in _subtrees(opt_state)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """Return the state from which `unpack_optimizer_state` made a tree."""
    points, tree = tree_flatten(marked_pytree)
    assert all(isinstance(point, JoinPoint) for point in points), "each leaf of a marked tree is a JoinPoint"
    return _packed([point.subtree for point in points], tree)
