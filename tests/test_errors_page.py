"""JAX's page on errors, program by program. The class and first line are JAX's; below stands what the page says in
prose: the user's line, and the fix. The fixed program must run.

https://docs.jax.dev/en/latest/101/errors.html
"""

from __future__ import annotations

import re
import traceback
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from twin import OURS, THEIRS, plain, raised, same_as_jax

import jitkit
from jitkit.base import errors


class Entry(NamedTuple):
    """A program of the page: the error that it raises, the line (empty if numpy raises it), words of the message, and
    the fixed program.
    """

    error: str
    broken: Any
    line: str
    says: tuple[str, ...]
    mended: Any


def smallest_along(jax, jnp):
    def smallest(table, axis):
        return table.min(axis)

    return jax.jit(smallest)(jnp.arange(4), 0)


def smallest_along_static(jax, jnp):
    return jax.jit(lambda table, axis: table.min(axis), static_argnames="axis")(jnp.arange(4), 0)


def where_are_negatives(jax, jnp):
    def find(numbers):
        return jnp.where(numbers < 0)

    return jax.jit(find)(jnp.arange(4))


def sum_of_selected(jax, jnp):
    def total(numbers):
        chosen = jnp.where(numbers > 1)
        return numbers[chosen].sum()

    return jax.jit(total)(jnp.arange(4))


def sum_of_kept(jax, jnp):
    return jax.jit(lambda numbers: jnp.where(numbers > 1, numbers, 0).sum())(jnp.arange(4))


def positives(jax, jnp):
    def keep(numbers):
        return numbers[numbers > 0]

    return jax.jit(keep)(jnp.arange(-5, 5))


def positives_or_zero(jax, jnp):
    return jax.jit(lambda numbers: jnp.where(numbers > 0, numbers, 0))(jnp.arange(-5, 5))


def sum_of_positives(jax, jnp):
    def total(numbers):
        return numbers[numbers > 0].sum()

    return jax.jit(total)(jnp.arange(-5, 5))


def sum_of_positives_or_zero(jax, jnp):
    return jax.jit(lambda numbers: jnp.where(numbers > 0, numbers, 0).sum())(jnp.arange(-5, 5))


def clip_by_mask(jax, jnp):
    def clip(numbers):
        return numbers.at[numbers < 0].set(numbers[:1])

    return jax.jit(clip)(jnp.arange(-2, 2))


def clip_by_where(jax, jnp):
    return jax.jit(lambda numbers: jnp.where(numbers < 0, 0, numbers))(jnp.arange(-2, 2))


def sine_of_numpy(jax, jnp):
    def wave(t):
        return np.sin(t)

    return jax.jit(wave)(np.arange(4))


def sine_of_jnp(jax, jnp):
    return jax.jit(lambda t: jnp.sin(t))(np.arange(4))


def entry_of_numpy_table(jax, jnp):
    table = np.arange(10)

    def look_up(i):
        return table[i]

    return jax.jit(look_up)(0)


def entry_of_table(jax, jnp):
    table = np.arange(10)
    by_array = jax.jit(lambda i: jnp.asarray(table)[i])(0)
    return by_array, jax.jit(lambda i: table[i], static_argnums=(0,))(0)


def split_by_numpy(jax, jnp):
    def halves(numbers, axis):
        return np.split(numbers, 2, axis)

    return jax.jit(halves)(np.arange(4), 0)


def split_by_static(jax, jnp):
    return jax.jit(lambda numbers, axis: jnp.split(numbers, 2, axis), static_argnums=1)(np.arange(4), 0)


def entry_of_list(jax, jnp):
    primes = [2, 3, 5]

    def prime(i):
        return primes[i]

    return jax.jit(prime)(0)


def entry_of_array(jax, jnp):
    primes = [2, 3, 5]
    return jax.jit(lambda i: jnp.array(primes)[i])(0), jax.jit(lambda i: primes[i], static_argnums=0)(0)


def lesser_in_sum(jax, jnp):
    def lesser(a, b):
        return a if a.sum() < b.sum() else b

    return jax.jit(lesser)(jnp.ones(4), jnp.zeros(4))


def lesser_by_where(jax, jnp):
    return jax.jit(lambda a, b: jnp.where(a.sum() < b.sum(), a, b))(jnp.ones(4), jnp.zeros(4))


def flag(jax, jnp):
    def scaled(numbers, normalize=True):
        if normalize:
            return numbers / numbers.sum()
        return numbers

    return jax.jit(scaled)(jnp.arange(5), True)


def static_flag(jax, jnp):
    def scaled(numbers, normalize=True):
        return numbers / numbers.sum() if normalize else numbers

    return jax.jit(scaled, static_argnames=["normalize"])(jnp.arange(5), True)


def min_of_python(jax, jnp):
    def cap(x):
        return min(x, 0)

    return jax.jit(cap)(2)


def min_of_jnp(jax, jnp):
    return jax.jit(lambda x: jnp.minimum(x, 0))(2)


def kept_elsewhere(jax, jnp):
    kept = []

    def step(x):
        y = x + 1
        kept.append(y)

    jax.jit(step)(1)
    return kept[0] + 1


def returned(jax, jnp):
    kept = [jax.jit(lambda x: x + 1)(1)]
    return kept[0] + 1


PAGE = {
    "an axis that is traced": Entry(
        "ConcretizationTypeError", smallest_along, "return table.min(axis)",
        ("The axis argument must be known statically", "the argument axis", "static_argnames"), smallest_along_static,
    ),
    "positions, as many as there are": Entry(
        "ConcretizationTypeError", where_are_negatives, "return jnp.where(numbers < 0)",
        ("jnp.where(mask, x, 0)",), None,
    ),
    "the same, used as an index": Entry(
        "ConcretizationTypeError", sum_of_selected, "chosen = jnp.where(numbers > 1)",
        ("jnp.where(mask, x, 0)",), sum_of_kept,
    ),
    "a mask as an index": Entry(
        "NonConcreteBooleanIndexError", positives, "return numbers[numbers > 0]",
        ("x[mask]", "jnp.where(mask, x, 0)"), positives_or_zero,
    ),
    "a mask that is summed up": Entry(
        "NonConcreteBooleanIndexError", sum_of_positives, "return numbers[numbers > 0].sum()",
        ("jnp.where(mask, x, 0).sum()",), sum_of_positives_or_zero,
    ),
    "a mask that is written to": Entry(
        "NonConcreteBooleanIndexError", clip_by_mask, "return numbers.at[numbers < 0].set(numbers[:1])",
        ("jnp.where(mask, y, x)",), clip_by_where,
    ),
    "a function of NumPy": Entry(
        "TracerArrayConversionError", sine_of_numpy, "return np.sin(t)",
        ("the argument t", "jnp.sin(x) instead of np.sin(x)"), sine_of_jnp,
    ),
    "an array of NumPy, indexed": Entry(
        "TracerArrayConversionError", entry_of_numpy_table, "return table[i]",
        ("the argument i", "jnp.asarray(table)[i]", "static_argnames='i'"), entry_of_table,
    ),
    "an integer for NumPy": Entry(
        "TracerIntegerConversionError", split_by_numpy, "",
        ("the argument axis", "static_argnames"), split_by_static,
    ),
    "a list, indexed": Entry(
        "TracerIntegerConversionError", entry_of_list, "return primes[i]",
        ("the argument i", "jnp.array(numbers)[i]"), entry_of_array,
    ),
    "a condition": Entry(
        "TracerBoolConversionError", lesser_in_sum, "return a if a.sum() < b.sum() else b",
        ("the arguments a and b", "jnp.where(condition, a, b)"), lesser_by_where,
    ),
    "a flag": Entry(
        "TracerBoolConversionError", flag, "if normalize:",
        ("the argument normalize", "static_argnames='normalize'"), static_flag,
    ),
    "a function that decides": Entry(
        "TracerBoolConversionError", min_of_python, "return min(x, 0)",
        ("the argument x", "jnp.minimum"), min_of_jnp,
    ),
    "a value that is kept elsewhere": Entry(
        "UnexpectedTracerError", kept_elsewhere, "return kept[0] + 1",
        (f"{__file__}:{kept_elsewhere.__code__.co_firstlineno + 4}:", "Return the value from the function"), returned,
    ),
}  # fmt: skip
PROGRAMS = pytest.mark.parametrize("name", PAGE)


def caught(program, modules):
    """Return what a program raises."""
    with pytest.raises((TypeError, IndexError)) as info:
        program(*modules)
    return info.value


@PROGRAMS
def test_the_class_and_the_first_line_are_those_of_jax(name):
    ours, theirs = caught(PAGE[name].broken, OURS), caught(PAGE[name].broken, THEIRS)
    assert plain(ours) == plain(theirs)
    assert type(ours) is getattr(errors, PAGE[name].error)
    assert type(theirs) is getattr(jax.errors, PAGE[name].error)


@pytest.mark.parametrize("name", [name for name, entry in PAGE.items() if entry.line])
def test_the_traceback_ends_on_the_line_that_did_it(name):
    last = traceback.extract_tb(caught(PAGE[name].broken, OURS).__traceback__)[-1]
    assert (last.filename, last.line) == (__file__, PAGE[name].line)


@PROGRAMS
def test_the_message_tells_the_mend_and_ends_with_a_link_to_the_page(name):
    message = str(caught(PAGE[name].broken, OURS))
    assert [words for words in PAGE[name].says if words not in message] == []
    assert message.rsplit("\n", maxsplit=1)[-1].endswith(f"errors.md#{PAGE[name].error.lower()}")


@PROGRAMS
def test_the_message_names_the_function_and_where_it_is(name):
    program = PAGE[name].broken
    message = str(caught(program, OURS))
    (inner,) = [c for c in program.__code__.co_consts if hasattr(c, "co_name")]
    assert re.search(rf"\b{inner.co_name} at {re.escape(__file__)}:{inner.co_firstlineno}\b", message)


@pytest.mark.parametrize("name", [name for name, entry in PAGE.items() if entry.mended])
def test_the_mended_program_gives_what_it_gives_in_jax(name):
    assert plain(PAGE[name].mended(*OURS)) == plain(PAGE[name].mended(*THEIRS))


# --- the checker of leaks ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_old_to_walk")
@same_as_jax
def test_the_checker_finds_the_leak_when_the_function_returns(jax, jnp):
    kept = []

    def step(x):
        kept.append(x + 1)

    with jax.checking_leaks():
        name, line = raised(jax.jit(step), 1)
    return name, line.split(".")[0].replace("DynamicJaxprTrace", "Trace")


def test_every_class_of_the_page_is_tried_here():
    named = {entry.error for entry in PAGE.values()}
    documented = {
        "ConcretizationTypeError", "NonConcreteBooleanIndexError", "TracerArrayConversionError",
        "TracerBoolConversionError", "TracerIntegerConversionError", "UnexpectedTracerError",
    }  # fmt: skip
    assert named == documented  # and KeyReuseError in test_key_reuse.py
    assert all(getattr(jitkit.errors, name) is getattr(errors, name) for name in documented)
