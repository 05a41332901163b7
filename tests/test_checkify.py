"""`checkify`: errors as values. Each program gives what it gives with JAX: errors in words, results, jaxprs."""

from __future__ import annotations

import re

import jax
import jax.experimental.checkify
import pytest
from lax_oracle import JAXPRS_ARE_OURS
from twin import difference, plain, raised, same_as_jax

import jitkit
import jitkit.experimental.checkify
import jitkit.numpy


def of(jax):
    return jax.experimental.checkify


class Programs:
    """Functions to check, written with one of the two libraries."""

    def __init__(self, jax, jnp):
        lax, check = jax.lax, of(jax).check

        def user(x):
            check(x > 0, "{x} needs to be positive!", x=x)
            return 1 / x

        def several(x):
            check(x > 0, "not {}", x)
            check(x > 1, "one")
            check(x > 2, "two {} {z}", x, z=jnp.int32(3))
            return x

        def cond(x):
            def above(x):
                check(x < 10, "above {}", x)
                return x * 2

            def below(x):
                check(x > -10, "below {} {y}", x, y=jnp.int32(3))
                return x / 3

            return lax.cond(x > 0, above, below, x)

        def scan(xs):
            def step(carry, x):
                check(x != 3.0, "at {}: {}", x, carry)
                return carry + jnp.log(x), carry * x

            return lax.scan(step, 0.0, xs)

        def while_loop(n, limit):
            def goes_on(v):
                check(v[0] < 5, "condition {}", v[0])
                return v[0] < n

            def body(v):
                check(v[1] < limit, "body {}", v[1])
                return v[0] + 1, v[1] * 3

            return lax.while_loop(goes_on, body, (0, 1.0))

        def with_constants(n, z):
            return lax.while_loop(lambda v: v[0] < n + z, lambda v: (v[0] + 1, jnp.sqrt(v[1] - z)), (0, 4.0))

        @jax.jit
        def jitted(x):
            check(jnp.all(x > 0), "jitted")
            return jnp.sqrt(x)

        @jax.custom_jvp
        def with_jvp(x):
            check(x < 5, "with a rule {}", x)
            return jnp.log(x)

        @with_jvp.defjvp
        def _(primals, tangents):
            return with_jvp(primals[0]), tangents[0] * 3

        @jax.custom_vjp
        def with_vjp(x):
            check(x < 5, "with a rule {}", x)
            return jnp.log(x)

        with_vjp.defvjp(lambda x: (with_vjp(x), x), lambda x, g: (g * x,))

        def debug(x):
            of(jax).debug_check(x != 0, "cannot be zero!")
            return x

        def again(x):
            error, out = jax.jit(of(jax).checkify(user))(x)
            of(jax).check_error(error)
            return out

        self.user, self.several, self.cond, self.scan, self.while_loop = user, several, cond, scan, while_loop
        self.with_constants, self.jitted, self.with_jvp, self.with_vjp = with_constants, jitted, with_jvp, with_vjp
        self.debug, self.again = debug, again
        self.jax, self.jnp, self.lax = jax, jnp, lax


# name -> the errors to check for, the function, its arguments
CASES = {
    "a check that fails": ("user", lambda p: p.user, "-3."),
    "a check that holds": ("user", lambda p: p.user, "jnp.float32(3)"),
    "the first of several": ("user", lambda p: p.several, "jnp.float32(1.5)"),
    "all of several": ("user", lambda p: p.several, "jnp.float32(-1)"),
    "division by zero": ("div", lambda p: lambda x, y: x / y, "jnp.float32(1), jnp.float32(0)"),
    "division, then nan": ("float", lambda p: lambda x, y: x / y, "jnp.float32(0), jnp.float32(0)"),
    "integers by zero": ("all", lambda p: lambda x, y: x // y, "jnp.int32(1), jnp.int32(0)"),
    "nan": ("float", lambda p: lambda x: p.jnp.sin(x) + 1, "jnp.inf"),
    "nan in a jitted function": ("all", lambda p: p.jax.jit(lambda x: p.jnp.log(x) * 2), "jnp.array([-1., 2.])"),
    "no nan was asked for": ("user", lambda p: lambda x: p.jnp.log(x), "-1."),
    "an index": ("index", lambda p: lambda x, i: x[i], "jnp.arange(5.), 7"),
    "an array of indices": ("index", lambda p: lambda x, i: x[i], "jnp.arange(5.), jnp.array([1, -9])"),
    "indices of rows": ("all", lambda p: lambda x, i: x[i, 1], "jnp.ones((3, 4)), jnp.array([1, 2])"),
    "set": ("all", lambda p: lambda x, i: x.at[i].set(1.0), "jnp.arange(5.), jnp.array([1, 9])"),
    "add nan": ("all", lambda p: lambda x, i: x.at[i].add(p.jnp.nan), "jnp.arange(5.), jnp.array([1, 2])"),
    "dynamic_slice": ("index", lambda p: lambda x, i: p.lax.dynamic_slice(x, (i,), (3,)), "jnp.arange(5.), 3"),
    "dynamic_update_slice": (
        "index",
        lambda p: lambda x, i: p.lax.dynamic_update_slice(x, p.jnp.ones(3), (i,)),
        "jnp.arange(5.), 3",
    ),
    "the first branch": ("user", lambda p: p.cond, "jnp.float32(20)"),
    "the second branch": ("user", lambda p: p.cond, "jnp.float32(-20)"),
    "neither branch": ("all", lambda p: p.cond, "jnp.float32(2)"),
    "switch": (
        "all",
        lambda p: lambda i, x: p.lax.switch(i, [lambda x: x / 0.0, p.jnp.log, p.jnp.sin], x),
        "1, jnp.float32(-1)",
    ),
    "scan": ("user", lambda p: p.scan, "jnp.arange(1., 6.)"),
    "scan, nan": ("all", lambda p: p.scan, "jnp.arange(-1., 4.)"),
    "map": ("user", lambda p: lambda x: p.lax.map(p.user, x), "jnp.array([1., -2.])"),
    "fori_loop": ("float", lambda p: lambda x: p.lax.fori_loop(0, 4, lambda i, a: a / (x - i), 1.0), "2."),
    "while, no error": ("user", lambda p: p.while_loop, "3, 100."),
    "while, in the condition": ("user", lambda p: p.while_loop, "9, 1e9"),
    "while, in the body": ("user", lambda p: p.while_loop, "4, 20."),
    "while with constants": ("all", lambda p: p.with_constants, "6, 2."),
    "calls": ("user", lambda p: lambda x: p.jitted(x) + p.jitted(x * 2), "jnp.array([1., -1.])"),
    "a batch": ("user", lambda p: p.jax.vmap(p.user), "jnp.array([1., -1., -2.])"),
    "a batch of loops": (
        "user",
        lambda p: p.jax.vmap(lambda n: p.lax.while_loop(lambda i: i < n, lambda i: i + 1, 0)),
        "jnp.arange(3)",
    ),
    "a gradient": ("user", lambda p: p.jax.grad(p.user), "-1."),
    "the gradient of a call": (
        "user",
        lambda p: p.jax.value_and_grad(lambda x: p.jitted(x).sum()),
        "jnp.array([1., -1.])",
    ),
    "a jvp": ("user", lambda p: lambda x: p.jax.jvp(p.jitted, (x,), (x,)), "jnp.array([1., -1.])"),
    "a JVP rule": ("user", lambda p: p.with_jvp, "jnp.float32(6)"),
    "a JVP rule, nan": ("all", lambda p: p.with_jvp, "jnp.float32(-1)"),
    "a VJP rule": ("user", lambda p: p.with_vjp, "jnp.float32(6)"),
    "a VJP rule, nan": ("all", lambda p: p.with_vjp, "jnp.float32(-1)"),
    "relu": ("all", lambda p: lambda x: p.jax.nn.relu(x) / 0.0, "jnp.array([1., -1.])"),
    "checkpoint": ("nan", lambda p: p.jax.checkpoint(p.jnp.log), "jnp.float32(-2)"),
    "a debug check": ("user", lambda p: p.debug, "0"),
    "an error that enters again": ("user", lambda p: p.again, "-1."),
    "associative_scan": (
        "nan",
        lambda p: lambda x: p.lax.associative_scan(p.jnp.multiply, x),
        "jnp.array([jnp.inf, 0., 3.])",
    ),
    "keys": ("all", lambda p: lambda k: p.jax.random.normal(p.jax.random.split(k)[0], (2,)), "jax.random.key(0)"),
}

# Cases that are called without `jit`, too: few, since each operation is then compiled by itself.
AT_ONCE = {
    "a check that fails", "division, then nan", "the first branch", "calls", "a JVP rule", "a VJP rule", "a batch of loops",
    "a debug check", "an error that enters again",
}  # fmt: skip


def renumbered(jaxpr):
    """Return a printed jaxpr with the codes of checks numbered from 0: JAX counts them in a whole process."""
    codes = {}
    text = re.sub(r"0x[0-9a-f]+", "0x", str(jaxpr))
    return re.sub(r"(?<![\w.\-])(\d+):i32\[\]", lambda m: f"C{codes.setdefault(m[1], len(codes))}:i32[]", text)


def found_by(case, jax, jnp):
    kinds, function, args = CASES[case]
    checkify, f = of(jax), function(Programs(jax, jnp))
    args = eval(args, {"jax": jax, "jnp": jnp})
    args = args if isinstance(args, tuple) else (args,)
    checked = checkify.checkify(f, errors=getattr(checkify, f"{kinds}_checks"))
    answers = []
    for way in (checked, jax.jit(checked)) if case in AT_ONCE else (jax.jit(checked),):
        try:
            error, out = way(*args)
        except Exception as failure:
            answers.append(plain(failure))
        else:
            kinds_found = sorted(effect.error_type.__name__ for effect in error._pred)
            answers.append([error.get(), str(error), kinds_found, plain(out)])
    try:
        answers.append(renumbered(jax.make_jaxpr(checked)(*args)) if JAXPRS_ARE_OURS else None)
    except Exception as failure:
        answers.append(plain(failure))
    return answers


@pytest.mark.parametrize("case", CASES)
def test_a_checked_function_finds_what_it_finds_in_jax(case):
    ours = found_by(case, jitkit, jitkit.numpy)
    found = difference(ours, found_by(case, jax, jax.numpy))
    assert found is None, found


def test_most_of_these_programs_find_an_error():
    """The comparison would hold, too, if neither system found anything."""
    words = [found_by(case, jitkit, jitkit.numpy)[-2][0] for case in ("a check that fails", "nan", "an index")]
    assert words == [
        "-3.0 needs to be positive! (`check` failed)",
        "nan generated by primitive: sin.",
        "out-of-bounds indexing for array of shape (5,): index 7 is out of bounds for axis 0 with size 5. ",
    ]


@same_as_jax
def test_a_checked_function_is_differentiated_and_batched(jax, jnp):
    p, answers = Programs(jax, jnp), []
    for f in (p.user, p.with_jvp, p.with_vjp, p.cond, jax.nn.relu):
        checked = of(jax).checkify(f, errors=of(jax).all_checks)

        def with_error(x, checked=checked):
            error, out = checked(x)
            return out, error

        slope = jax.grad(with_error, has_aux=True)
        for x in (3.0, -3.0):
            ways = (slope, jax.jit(slope))
            answers.extend(raised(lambda x=x, way=way: [way(x)[0], way(x)[1].get()]) for way in ways)
        error, out = jax.vmap(checked)(jnp.array([1.0, -1.0, -2.0]))
        answers.append((error.get(), out))
    return answers


@same_as_jax
def test_errors_are_thrown_and_refused_with_the_words_of_jax(jax, jnp):
    checkify, p = of(jax), Programs(jax, jnp)
    bad, _ = checkify.checkify(p.user)(jnp.float32(-1))
    good, _ = checkify.checkify(p.user)(jnp.float32(1))
    good.throw()
    checkify.check_error(good)
    return [
        raised(bad.throw),
        raised(checkify.check_error, bad),
        raised(checkify.check_error, 3),
        raised(checkify.check, 1, "x"),
        raised(checkify.check, jnp.array([True]), "x"),
        raised(checkify.check, True, "{}", 3),
        raised(checkify.debug_check, 2, "x"),
        raised(jax.jit(p.user), 1.0),
        raised(jax.lax.map, p.user, jnp.ones(2)),
        raised(p.user, jnp.float32(-2)),
        raised(jax.vmap(p.user), jnp.array([1.0, -2.0])),
        raised(p.again, jnp.float32(-2)),
        issubclass(checkify.JaxRuntimeError, ValueError),
        p.debug(0),
        jax.jit(p.debug)(0),
        checkify.init_error.get(),
    ]


def test_the_cause_of_an_error_says_where_the_check_is():
    checkify = of(jitkit)
    with pytest.raises(checkify.JaxRuntimeError) as caught:
        jitkit.jit(checkify.checkify(Programs(jitkit, jitkit.numpy).user))(-1.0)[0].throw()
    cause = caught.value.__cause__
    assert type(cause).__name__ == "FailedCheckError"
    assert any("test_checkify.py" in note for note in cause.__notes__)


def test_a_jitted_checked_function_is_compiled_once():
    f = jitkit.jit(of(jitkit).checkify(Programs(jitkit, jitkit.numpy).scan))
    for _ in range(3):
        f(jitkit.numpy.arange(4.0))
    assert f._cache_size() == 1


def test_check_is_one_equation_that_hides_its_tree():
    ours, theirs = (str(m.make_jaxpr(Programs(m, n).user)(1.0)) for m, n in ((jitkit, jitkit.numpy), (jax, jax.numpy)))
    assert "check[debug=False]" in ours
    assert not JAXPRS_ARE_OURS or renumbered(ours) == renumbered(theirs)
