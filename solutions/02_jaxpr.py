"""02 Jaxprs: the solutions, as the reference has them, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitkit.jaxpr import Atom, Jaxpr, Literal, Var, last_uses, literal_value


# --- 02.4 Run a jaxpr ---------------------------------------------------------------------------------------
# An interpreter that binds primitives is all there is to running a jaxpr. Since `bind` asks the current trace
# what to do, the same loop computes when nothing is traced, and records when something is: so it inlines one
# program into another.
#
# Usual mistakes:
#   - Reading `eqn.invars` as values: they are variables, and some of them literals.
#   - Forgetting that a primitive with `multiple_results` gives a list even for one result.
#   - Running the Python function again, instead of the equations: the jaxpr has forgotten it.
#
# In JAX: jax/_src/core.py:eval_jaxpr


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Run a jaxpr, equation by equation, by binding each primitive: so under a trace this records, and
    without one it computes.

    `consts` and `args` are the values of `constvars` and `invars`. A value is let go as soon as nothing later
    reads it. The results come as a list. TypeError for a wrong number of values.
    """
    if len(consts) != len(jaxpr.constvars) or len(args) != len(jaxpr.invars):
        raise TypeError(
            f"the jaxpr takes {len(jaxpr.constvars)} constants and {len(jaxpr.invars)} arguments, "
            f"got {len(consts)} and {len(args)}"
        )
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Atom) -> Any:
        return literal_value(atom) if isinstance(atom, Literal) else env[atom]

    for eqn, dead in zip(jaxpr.eqns, last_uses(jaxpr), strict=True):
        results = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        env.update(zip(eqn.outvars, results if eqn.primitive.multiple_results else [results], strict=True))
        for var in dead:
            del env[var]
    return [read(atom) for atom in jaxpr.outvars]
