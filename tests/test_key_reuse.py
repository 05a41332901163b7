"""`debug_key_reuse`: where JAX says that a key is used twice, and where it does not; and which two lines the error names."""

from __future__ import annotations

import gc
import os
import pathlib
import subprocess
import sys

import jax
import numpy as np
import pytest
from tails import one_in
from twin import raised, same_as_jax

import jitkit as jk
from jitkit.interpreters import key_reuse

HERE = pathlib.Path(__file__).parents[1]


def split_and_use_each(jax):
    key, subkey = jax.random.split(jax.random.key(0))
    return jax.random.uniform(key), jax.random.normal(subkey)


def twice(jax):
    key = jax.random.key(0)
    return jax.random.uniform(key), jax.random.uniform(key)


def drawn_and_split(jax):
    key = jax.random.key(0)
    jax.random.bits(key)
    return jax.random.split(key)


def split_and_drawn(jax):
    key = jax.random.key(0)
    jax.random.split(key)
    return jax.random.bits(key)


def folded_twice(jax):
    key = jax.random.key(0)
    return jax.random.uniform(jax.random.fold_in(key, 0)), jax.random.uniform(jax.random.fold_in(key, 1))


def cloned(jax):
    key = jax.random.key(0)
    return jax.random.uniform(jax.random.clone(key)), jax.random.uniform(key)


def made_anew(jax):
    return jax.random.uniform(jax.random.key(0)), jax.random.uniform(jax.random.key(0))


def twice_in_jit(jax):
    return jax.jit(lambda key: jax.random.uniform(key) + jax.random.normal(key))(jax.random.key(0))


def twice_through_bits_in_jit(jax):
    return jax.jit(lambda key: jax.random.bits(key) + jax.random.bits(key))(jax.random.key(0))


def once_in_jit_once_outside(jax):
    key = jax.random.key(0)
    jax.jit(jax.random.normal)(key)
    return jax.random.uniform(key)


def same_jit_twice(jax):
    key, draw = jax.random.key(0), jax.jit(lambda key: jax.random.uniform(key))
    return draw(key), draw(key)


def handed_through_jit(jax):
    key = jax.random.key(0)
    draw = jax.jit(lambda key: (key, jax.random.uniform(key)))
    key, _ = draw(key)
    return draw(key)


def split_in_jit(jax):
    key = jax.random.key(0)
    step = jax.jit(lambda key: tuple(jax.random.split(key)))
    for _ in range(3):
        key, subkey = step(key)
        jax.random.uniform(subkey)
    return jax.random.uniform(key)


def closed_over(jax):
    key = jax.random.key(0)
    draw = jax.jit(lambda x: x + jax.random.uniform(key))
    return draw(1.0), draw(2.0)


def elements_of_one_array(jax):
    keys = jax.random.split(jax.random.key(0), 3)
    return jax.jit(lambda keys: jax.random.uniform(keys[0]) + jax.random.uniform(keys[1]))(keys)


def one_element_twice(jax):
    keys = jax.random.split(jax.random.key(0), 3)
    return jax.jit(lambda keys: jax.random.uniform(keys[0]) + jax.random.uniform(keys[0]))(keys)


def one_element_twice_eagerly(jax):
    keys = jax.random.split(jax.random.key(0), 3)
    return jax.random.uniform(keys[0]), jax.random.uniform(keys[0])


def reshaped(jax):
    def draw(key):
        return jax.random.uniform(key), jax.random.uniform(key.reshape(1)[0])

    return jax.jit(draw)(jax.random.key(0))


def in_one_branch_and_after(jax):
    def draw(key, x):
        y = jax.lax.cond(x > 0, lambda: jax.random.uniform(key), lambda: 0.0)
        return y + jax.random.uniform(key)

    return jax.jit(draw)(jax.random.key(0), 1.0)


def in_both_branches(jax):
    def draw(key, x):
        return jax.lax.cond(x > 0, jax.random.uniform, jax.random.normal, key)

    return jax.jit(draw)(jax.random.key(0), 1.0)


def closed_over_in_scan(jax):
    key = jax.random.key(0)
    return jax.jit(lambda: jax.lax.scan(lambda c, _: (c + jax.random.uniform(key), None), 0.0, None, length=3))()


def carried_unchanged_in_scan(jax):
    def body(key, _):
        return key, jax.random.uniform(key)

    return jax.jit(lambda key: jax.lax.scan(body, key, None, length=3)[1])(jax.random.key(0))


def carried_and_split_in_scan(jax):
    def body(key, _):
        key, subkey = jax.random.split(key)
        return key, jax.random.uniform(subkey)

    return jax.jit(lambda key: jax.lax.scan(body, key, None, length=3)[1])(jax.random.key(0))


def folded_in_scan(jax):
    def body(total, i):
        return total + jax.random.uniform(jax.random.fold_in(jax.random.key(0), i)), None

    return jax.jit(lambda: jax.lax.scan(body, 0.0, jax.numpy.arange(3))[0])()


def keys_as_xs_of_scan(jax):
    def body(total, key):
        return total + jax.random.uniform(key), None

    return jax.jit(lambda keys: jax.lax.scan(body, 0.0, keys)[0])(jax.random.split(jax.random.key(0), 3))


def carried_and_split_in_while(jax):
    def body(carry):
        i, key = carry
        key, subkey = jax.random.split(key)
        return i + jax.random.bernoulli(subkey).astype("int32") + 1, key

    return jax.jit(lambda key: jax.lax.while_loop(lambda c: c[0] < 5, body, (0, key))[0])(jax.random.key(0))


def joined_and_used(jax):
    def draw(a, b):
        both = jax.numpy.stack([a, b])
        return jax.random.uniform(both[0]), jax.random.uniform(a)

    return jax.jit(draw)(jax.random.key(0), jax.random.key(1))


def compared(jax):
    key = jax.random.key(0)
    return key == key, jax.random.uniform(key)


def of_the_older_style(jax):
    key = jax.random.PRNGKey(0)
    return jax.random.uniform(key), jax.random.uniform(key)


PROGRAMS = [
    split_and_use_each, twice, drawn_and_split, split_and_drawn, folded_twice, cloned, made_anew, twice_in_jit,
    twice_through_bits_in_jit, once_in_jit_once_outside, same_jit_twice, handed_through_jit, split_in_jit, closed_over,
    elements_of_one_array, one_element_twice, one_element_twice_eagerly, reshaped, in_one_branch_and_after,
    in_both_branches, closed_over_in_scan, carried_unchanged_in_scan, carried_and_split_in_scan, folded_in_scan,
    keys_as_xs_of_scan, carried_and_split_in_while, joined_and_used, compared, of_the_older_style,
]  # fmt: skip


def test_keys_are_unpacked_any_number_of_times():
    once, again, and_again = [split_and_use_each(jk)[0] for _ in range(3)]
    with jk.debug_key_reuse(True):
        checked = [split_and_use_each(jk)[0] for _ in range(3)]
    assert float(once) == float(again) == float(and_again) == float(checked[0]) == float(checked[2])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@same_as_jax
def test_a_key_is_said_to_be_used_twice_where_jax_says_so(jax, jnp, program):
    with jax.debug_key_reuse(True):
        return raised(program, jax)


WHILE = "while_loop body function leads to key reuse when repeatedly executed: "


@same_as_jax
def test_a_while_loop_that_uses_one_key_each_time_is_refused(jax, jnp):
    def body(carry):
        i, key = carry
        return i + jax.random.bits(key).astype("int32"), key

    with jax.debug_key_reuse(True):
        run = jax.jit(lambda key: jax.lax.while_loop(lambda c: c[0] < 5, body, (0, key))[0])
        name, line = raised(run, jax.random.key(0))
    return name, line[: len(WHILE)]


@pytest.mark.parametrize("program", one_in(5, PROGRAMS), ids=lambda program: program.__name__)
def test_nothing_is_checked_without_the_option(program):
    ours, theirs = (m.tree_util.tree_leaves(program(m)) for m in (jk, jax))
    assert [np.shape(x) for x in ours] == [np.shape(x) for x in theirs]


def message_of(program):
    with jk.debug_key_reuse(True), pytest.raises(jk.errors.KeyReuseError) as caught:
        program()
    return str(caught.value)


def test_an_eager_reuse_names_both_lines_and_the_mend():
    def program():
        key = jk.random.key(0)
        first = jk.random.uniform(key)
        return first + jk.random.normal(key)

    start = program.__code__.co_firstlineno
    head, _, rest = message_of(program).partition("\n\n")
    assert head == "Previously-consumed key passed to jit-compiled function at index 0"
    assert f"was first used at {__file__}:{start + 2}:" in rest
    assert "first = jk.random.uniform(key)" in rest
    assert f"is used again at {__file__}:{start + 3}:" in rest
    assert "return first + jk.random.normal(key)" in rest
    assert "key, subkey = random.split(key)" in rest
    # without a clone, the address is that of JAX's page
    assert rest.endswith(("errors.md#keyreuseerror", "errors.html#jax.errors.KeyReuseError"))


def test_a_reuse_inside_of_jit_names_both_lines():
    @jk.jit
    def draw(key):
        a = jk.random.bits(key)
        return a + jk.random.bits(key)

    start = draw.__wrapped__.__code__.co_firstlineno
    message = message_of(lambda: draw(jk.random.key(0)))
    assert message.startswith("In random_bits, argument 0 is already consumed.\n\n")
    assert f"was first used at {__file__}:{start + 2}:" in message
    assert f"is used again at {__file__}:{start + 3}:" in message


def test_a_reuse_in_a_loop_names_the_loop_and_its_mend():
    def program():
        def body(key, _):
            return key, jk.random.uniform(key)

        return jk.jit(lambda key: jk.lax.scan(body, key, None, length=3))(jk.random.key(0))

    message = message_of(program)
    assert f"The loop is at {__file__}:{program.__code__.co_firstlineno + 4}:" in message
    assert "random.fold_in(key, i)" in message


def test_a_call_that_was_refused_uses_nothing_up():
    with jk.debug_key_reuse(True):
        used, fresh = jk.random.key(0), jk.random.key(1)
        jk.random.uniform(used)
        both = jk.jit(lambda a, b: jk.random.uniform(a) + jk.random.uniform(b))
        with pytest.raises(jk.errors.KeyReuseError, match="at index 1"):
            both(fresh, used)
        assert jk.random.uniform(fresh).shape == ()


def test_nothing_is_kept_of_keys_that_are_gone():
    with jk.debug_key_reuse(True):
        gc.collect()  # keys of other tests, which reference cycles with tracebacks may keep alive
        before = set(key_reuse._used)
        jk.random.uniform(jk.random.key(0))
        assert set(key_reuse._used) <= before


def test_the_environment_turns_the_check_on():
    code = "import jitkit as jk; k = jk.random.key(0); jk.random.bits(k); jk.random.bits(k)"
    environment = os.environ | {"JITKIT_DEBUG_KEY_REUSE": "1"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=HERE, check=False)
    assert "KeyReuseError: Previously-consumed key passed to random_bits at index 0" in done.stderr
