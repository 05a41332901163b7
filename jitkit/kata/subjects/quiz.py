"""Which of these compiles twice? Small programs, and how many programs each of them compiles: functions of lab 10.

Each docstring has the program. `jax` is jitkit, `np` is numpy, and `x` a numpy array of float32, of shape (3,).
"""

from __future__ import annotations

# --- what is in the key of a call ---------------------------------------------------------------------------------


def in_another_order() -> int:
    """How many programs does this compile?

        difference = jax.jit(lambda pair: pair["a"] - pair["b"])
        difference({"a": x, "b": 2.0})
        difference({"b": 2.0, "a": x})

    x is a numpy array of float32, of shape (3,).
    """
    return 1


def list_or_tuple() -> int:
    """How many programs does this compile?

        difference = jax.jit(lambda pair: pair[0] - pair[1])
        difference([x, 2.0])
        difference((x, 2.0))
        difference([2.0 * x, 3.0])

    x is a numpy array of float32, of shape (3,).
    """
    return 2


def with_a_bias() -> int:
    """How many programs does this compile?

        layer = jax.jit(lambda x, bias=None: 2.0 * x if bias is None else 2.0 * x + bias)
        layer(x)
        layer(x, x)
        layer(x, None)

    x is a numpy array of float32, of shape (3,).
    """
    return 3


def step_by_step() -> int:
    """How many programs does this compile?

        power = jax.jit(lambda x, n: x * n)
        for n in range(3):
            power(x, n)
        power(x, 2.5)

    x is a numpy array of float32, of shape (3,).
    """
    return 2


def sizes() -> int:
    """How many programs does this compile? (One of the calls raises an error.)

        repeated = jax.jit(lambda x, shape: x + np.ones(shape, np.float32), static_argnums=1)
        repeated(x, (2, 3))
        repeated(x, (2, 3))
        repeated(x, (1, 3))
        with contextlib.suppress(ValueError):
            repeated(x, [2, 3])

    x is a numpy array of float32, of shape (3,).
    """
    return 2


def settings() -> int:
    """How many programs does this compile?

        class Settings:
            def __init__(self, scale):
                self.scale = scale

        scaled = jax.jit(lambda x, settings: x * settings.scale, static_argnums=1)
        for _ in range(3):
            scaled(x, Settings(2.0))

    x is a numpy array of float32, of shape (3,).
    """
    return 3


def frozen_settings() -> int:
    """How many programs does this compile?

        @dataclasses.dataclass(frozen=True)
        class Settings:
            scale: float

        scaled = jax.jit(lambda x, settings: x * settings.scale, static_argnums=1)
        for _ in range(3):
            scaled(x, Settings(2.0))

    x is a numpy array of float32, of shape (3,).
    """
    return 1


# --- which function it is, and what Python does while it is traced ------------------------------------------------


def jitted_in_a_loop() -> int:
    """How many programs does this compile?

        def double(x):
            return x * 2.0

        for _ in range(3):
            jax.jit(double)(x)

    x is a numpy array of float32, of shape (3,).
    """
    return 1


def partials() -> int:
    """How many programs does this compile?

        def scaled(scale, x):
            return x * scale

        for _ in range(3):
            jax.jit(functools.partial(scaled, 2.0))(x)

    x is a numpy array of float32, of shape (3,).
    """
    return 3


def bound_methods() -> int:
    """How many programs does this compile?

        class Model:
            def apply(self, x):
                return x * 2.0

        model = Model()
        for _ in range(3):
            jax.jit(model.apply)(x)

    x is a numpy array of float32, of shape (3,).
    """
    return 3


def pythons_if_and_for() -> int:
    """How many programs does this compile? (No call raises an error.)

        @jax.jit
        def folded(x):
            if x.ndim > 1:
                x = x[0]
            for i in range(len(x)):
                x = x + i
            return x

        folded(x)
        folded(-x)
        folded(np.stack([x, x]))

    x is a numpy array of float32, of shape (3,).
    """
    return 2


def closed_over() -> int:
    """How many programs does this compile?

        scale = 2.0
        scaled = jax.jit(lambda x: x * scale)
        scaled(x)
        scale = 3.0
        scaled(x)

    x is a numpy array of float32, of shape (3,).
    """
    return 1


def waits() -> int:
    """How many of the five calls of `step` begin only when the result of the call before is there?

        step = jax.jit(lambda x: (x * 0.5, (x * x).sum()))
        losses = []
        for _ in range(3):
            x, loss = step(x)
            losses.append(float(loss))
        for _ in range(2):
            x, loss = step(x)
            losses.append(loss)

    x is a numpy array of float32, of shape (3,).
    """
    return 3
