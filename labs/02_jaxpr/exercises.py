"""02 Jaxprs: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 02.4` helps, one step further each
time. You may add helpers and imports. The parameters stay as they are: other code calls these functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitkit.jaxpr import Atom, Jaxpr, Literal, Var, last_uses, literal_value


# --- 02.4 Run a jaxpr (3 points) ----------------------------------------------------------------------------
# A jaxpr is a program: run it, by binding each of its primitives to the values of its operands.


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Run a jaxpr, equation by equation, by binding each primitive: so under a trace this records, and
    without one it computes.

    `consts` and `args` are the values of `constvars` and `invars`. A value is let go as soon as nothing later
    reads it. The results come as a list. TypeError for a wrong number of values.
    """
    raise NotImplementedError("02.4")
