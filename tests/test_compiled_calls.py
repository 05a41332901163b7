"""A compiled program refuses at each call what it refuses at the first."""

import numpy as np
import pytest
from twin import raised, same_as_jax

import jitkit


def cold_and_warm(make, good, wrong):
    """Return the errors of wrong calls of a program that was not called before, and of one that was."""
    cold = [raised(lambda call=call: call(make())) for call in wrong]
    warm = make()
    results = [good(warm), good(warm)]
    return cold, results, [raised(call, warm) for call in wrong], good(warm)


@same_as_jax
def test_static_arguments_are_refused(jax, jnp):
    return cold_and_warm(
        lambda: jax.jit(lambda x, n: x * n, static_argnames="n").lower(1.0, n=3).compile(),
        lambda c: c(2.0),
        [lambda c: c(2.0, n=5), lambda c: c(2.0, n=3), lambda c: c(2.0, 3), lambda c: c(2.0, nonsense=object())],
    )


@same_as_jax
def test_optional_arguments_are_refused(jax, jnp):
    return cold_and_warm(
        lambda: jax.jit(lambda x, y=0.0, **more: x + y).lower(1.0).compile(),
        lambda c: c(1.0),
        [lambda c: c(1.0, y=10.0), lambda c: c(1.0, 10.0), lambda c: c(1.0, y=None), lambda c: c(1.0, z=())],
    )


@same_as_jax
def test_surplus_keywords_are_refused(jax, jnp):
    return cold_and_warm(
        lambda: jax.jit(lambda x, *, y: x - y).lower(1.0, y=2.0).compile(),
        lambda c: c(1.0, y=2.0),
        [lambda c: c(1.0, y=5.0, z=1.0), lambda c: c(1.0, z=1.0), lambda c: c(1.0), lambda c: c(x=1.0, y=2.0)],
    )


@same_as_jax
def test_keywords_of_a_function_of_any_keywords_are_refused(jax, jnp):
    return cold_and_warm(
        lambda: jax.jit(lambda **k: sum(k.values())).lower(a=1.0, b=2.0).compile(),
        lambda c: c(a=1.0, b=2.0),
        [lambda c: c(a=1.0, b=2.0, c=3.0), lambda c: c(b=2.0), lambda c: c(1.0, a=1.0, b=2.0), lambda c: c()],
    )


@same_as_jax
def test_any_argument_of_a_function_of_none_is_refused(jax, jnp):
    return cold_and_warm(
        lambda: jax.jit(lambda: jnp.ones(2)).lower().compile(),
        lambda c: c(),
        [lambda c: c(1), lambda c: c(()), lambda c: c(None), lambda c: c(a=1), lambda c: c(1, a=1)],
    )


@same_as_jax
def test_arguments_beside_donated_ones_are_refused(jax, jnp):
    return cold_and_warm(
        lambda: jax.jit(lambda x, n=2: x * n, donate_argnames="x", static_argnums=1).lower(jnp.ones(2), 3).compile(),
        lambda c: c(jnp.ones(2)),
        [lambda c: c(jnp.ones(2), n=4), lambda c: c(jnp.ones(2), 4), lambda c: c(x=jnp.ones(2))],
    )


@pytest.mark.parametrize("size", [3, 300])
@same_as_jax
def test_arguments_beside_trees_are_refused(jax, jnp, size):
    tree = {f"k{i}": jnp.float32(i) for i in range(size)}
    return cold_and_warm(
        lambda: jax.jit(lambda t, s=1.0: t["k1"] * s).lower(tree).compile(),
        lambda c: c(tree),
        [lambda c: c(tree, s=2.0), lambda c: c(tree, 2.0), lambda c: c({**tree, "more": 1.0}), lambda c: c(t=tree)],
    )


# --- arrays that are gone ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
@same_as_jax
def test_which_error_a_deleted_argument_is_depends_on_the_first_call(jax, jnp, compiled):
    """As long as the first call of a program failed, JAX looks at arguments itself; afterwards XLA does."""
    found = []

    def donating():
        f = jax.jit(lambda x, y: x + y, donate_argnums=0)
        return f.lower(jnp.ones(3), jnp.ones(3)).compile() if compiled else f

    def gone():
        x = jnp.ones(3)
        x.delete()
        return x

    def call(f, x):
        try:
            f(x, jnp.ones(3))
        except (RuntimeError, ValueError) as error:
            found.append((type(error).__name__, str(error).split("\n")[0][:40]))
        else:
            found.append("well")

    well, failed = donating(), donating()
    for x in (jnp.ones(3), gone(), jnp.ones(3), gone()):
        call(well, x)
    for x in (gone(), gone(), jnp.ones(3), gone(), gone()):
        call(failed, x)
    return found


def test_compiled_programs_look_for_nans_where_they_are_asked_to():
    compiled = jitkit.jit(jitkit.numpy.log).lower(1.0).compile()
    assert np.isnan(compiled(-1.0))
    with jitkit.debug_nans(True), pytest.raises(FloatingPointError):
        compiled(-1.0)
    assert np.isnan(compiled(-1.0))


@same_as_jax
def test_derivatives_donate_what_the_function_donates(jax, jnp):
    double = jax.jit(lambda x: x * 2, donate_argnums=0)
    sine = jax.jit(jnp.sin, donate_argnums=0)

    def after(call):
        x = jnp.arange(3.0) + 0
        try:
            return call(x), x.is_deleted()
        except (RuntimeError, ValueError) as error:  # JAX raises one or the other, depending on earlier calls
            return "deleted" in str(error)

    return [
        [after(jax.grad(lambda x, f=f: f(x).sum())) for f in (double, sine)],
        [after(lambda x, f=f: jax.jvp(f, (x,), (jnp.ones(3),))) for f in (double, sine)],
        [after(jax.vmap(f)) for f in (double, sine)],
        [after(jax.jit(jax.grad(lambda x, f=f: f(x).sum()))) for f in (double, sine)],
        after(jax.grad(lambda x: (double(x) * x).sum())),
        after(lambda x: jax.grad(lambda a, b: (double(a) * b).sum(), argnums=1)(x, x)),
        after(lambda x: [jax.grad(lambda y: double(y).sum())(x) for _ in range(2)]),
    ]
