"""numbered equations -> the arrays that loops of the forward pass keep only for the reverse pass of a gradient

JAX: jax/_src/interpreters/ad.py:linearize_jaxpr
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .equation import Equation


def kept(equations: Sequence[Equation]) -> list[dict[str, Any]]:
    """Return the arrays that only the reverse pass reads, among those that a `scan` of the forward pass stacks turn by turn.

    Each is a dict: "equation" is the number of the `scan`, "of" that of the equation in its body that makes the elements
    (None for an input of the turn, such as its carry), "type" and "bytes" are the array's.
    """
    found = []
    for number, scan in enumerate(equations):
        if scan.primitive != "scan" or scan.way != "forward" or not scan.live or scan.parent is not None:
            continue
        if scan.returned_at:  # perhaps one of these arrays is a result
            continue
        body = scan.eqn.params["jaxpr"]
        made = getattr(body, "jaxpr", body).outvars
        for place, var in enumerate(scan.eqn.outvars):
            readers = [each for each in equations if each.live and any(atom is var for atom in each.eqn.invars)]
            if place < scan.eqn.params["num_carry"] or not readers or any(each.way != "backward" for each in readers):
                continue
            of = [
                inner
                for inner, each in enumerate(equations)
                if each.parent == number and any(out is made[place] for out in each.eqn.outvars)
            ]
            kind = var.aval.str_short(short_dtypes=True)
            size = var.aval.size * var.aval.dtype.itemsize
            found.append({"equation": number, "of": of[0] if of else None, "type": kind, "bytes": size})
    return found
