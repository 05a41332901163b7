"""Wrong answers to the exercise of lab 00, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant

edit(
    "00.1", "relu takes away the sign", "What should -3 become: 3 or 0?",
    "jnp.maximum(x, 0)", "jnp.abs(x)",
)  # fmt: skip
edit(
    "00.1", "numpy's functions work on traced values", "Whose `maximum` do you call: numpy's, or jitkit's?",
    "jnp.maximum(x, 0)", "np.maximum(x, 0)",
)  # fmt: skip
edit(
    "00.1", "Python's max works on arrays", "Python's `max(x, 0)` asks whether 0 > x. Who can say so while x has no numbers?",
    "jnp.maximum(x, 0)", "max(x, 0)",
)  # fmt: skip
edit(
    "00.1", "0 and 0.0 are the same", "What is the dtype of `jnp.maximum(x, 0.0)` for an array x of integers?",
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


@also_right("00.1", "with the bounds of clip")
def clips(x):
    return jnp.clip(x, 0, None)


@also_right("00.1", "with a zero for each")
def relu_with_a_zero_for_each(x):
    nothing = jnp.zeros_like(x)
    return jnp.where(x < nothing, nothing, x)


# --- what learners wrote who believed something else --------------------------------------------------------------


@mutant(
    "00.1",
    "half of the sum with the absolute value",
    "Of which dtype is `3 / 2`? And what is `x + jnp.abs(x)` if x is -inf?",
)
def half_of_the_sum(x):
    return (x + jnp.abs(x)) / 2


@mutant("00.1", "a little of what is negative stays", "What should -3 become: 0, or a tenth of it?")
def leaks(x):
    return jnp.maximum(x, x // 10)


@mutant("00.1", "what is negative is left out", "How many numbers go in, and how many come out?")
def filters(x):
    return x[x > 0]


@mutant(
    "00.1", "an array can be written to", "The caller has this array, too: may it change? What does `x.at` do instead?"
)
def writes(x):
    x[x < 0] = 0
    return x


@mutant(
    "00.1",
    "`maximum` returns the largest element of an array",
    "numpy has `max` and `maximum`. Which of them compares two arrays element by element?",
)
def one_largest(x):
    return jnp.maximum(jnp.max(x), 0)


@mutant("00.1", "relu is smooth at 0", "What is relu(-1.0), to the last digit?")
def smooth(x):
    return jnp.log(1 + jnp.exp(x))


@mutant("00.1", "x minus its negative part is 0 wherever x is negative", "What is -inf minus -inf?")
def minus_the_negative(x):
    return x - jnp.minimum(x, 0)


@also_right("00.1", "negative ones replaced")
def replaced(x):
    return jnp.where(x < 0, 0, x)


@also_right("00.1", "by a method")
def by_a_method(x):
    return jnp.asarray(x).clip(0)


@also_right("00.1", "the other way round")
def other_way_round(x):
    return jnp.maximum(0, x)


# --- what learners write who have read the text only -------------------------------------------------------------------


@mutant(
    "00.1",
    "nan becomes 0, since it is not positive",
    "Is nan negative? What does the exercise say of everything that is not negative?",
)
def takes_what_is_positive(x):
    return jnp.where(x > 0, x, 0)


@mutant("00.1", "multiplying by a mask of zeros makes anything 0", "What is nan times 0?")
def masks(x):
    return x * (x > 0)
