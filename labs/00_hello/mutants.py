"""Wrong answers to the exercise of lab 00, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant

edit(
    "00.1", "the sign is what goes", "What should -3 become: 3 or 0?",
    "jnp.maximum(x, 0)", "jnp.abs(x)",
)  # fmt: skip
edit(
    "00.1", "numpy's functions work on traced values", "Whose `maximum` is it: numpy's, or jitkit's?",
    "jnp.maximum(x, 0)", "np.maximum(x, 0)",
)  # fmt: skip
edit(
    "00.1", "Python's max works on arrays", "Python's `max(x, 0)` asks whether 0 > x. Who can say so while x has no numbers?",
    "jnp.maximum(x, 0)", "max(x, 0)",
)  # fmt: skip
edit(
    "00.1", "0 and 0.0 are the same", "Which dtype does an integer array have after it met a 0.0?",
    "jnp.maximum(x, 0)", "jnp.maximum(x, 0.0)",
)  # fmt: skip


@mutant(
    "00.1", "`if x > 0` works on traced values", "Which branch should Python take at your `if`, while x has no numbers?"
)
def chooses_in_python(x):
    if x > 0:
        return x
    return jnp.zeros_like(x)


# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("00.1", "by choosing")
def chooses(x):
    return jnp.where(x > 0, x, jnp.zeros_like(x))


@also_right("00.1", "with the bounds of clip")
def clips(x):
    return jnp.clip(x, 0, None)


@also_right("00.1", "with a zero for each")
def relu_with_a_zero_for_each(x):
    nothing = jnp.zeros_like(x)
    return jnp.where(x < nothing, nothing, x)
