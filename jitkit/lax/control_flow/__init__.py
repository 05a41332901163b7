"""Conditionals and loops on values that are known only when the program runs.

The user's functions are traced once, to jaxprs, which are parameters of one equation. In the order of reading:

    common, agreement        a user's function as a jaxpr; checks that structures and types agree
    conditionals             cond and switch; their derivatives are in `conditionals_derivatives`
    platforms                platform_dependent: a choice made at lowering
    loops                    while_loop; its derivatives are in `loops_derivatives`
    scanning, stepping       scan, its lowering to a while loop, and its number of steps (`counting`); its derivatives
                             are in `scanning_derivatives`
    derived                  fori_loop, map and associative_scan, built from the above
    solves                   custom_root and custom_linear_solve

JAX: jax/_src/lax/control_flow/loops.py:while_loop
"""

from __future__ import annotations

from ...base import late_rooms

late_rooms.attach(__name__)
