"""Conditionals and loops on values that are known only when the program runs.

The functions of the user are traced once, to jaxprs, which are parameters of one equation. To be read in this
order:

    common, agreement        a function of the user as a jaxpr; what must agree
    conditionals             cond and switch; their derivatives are in `conditionals_derivatives`
    platforms                platform_dependent: a choice that is made when the program is lowered
    loops                    while_loop; its derivatives are in `loops_derivatives`
    scanning, stepping       scan, and how it becomes a while loop, of how many steps (`counting`); its derivatives are in
                             `scanning_derivatives`
    derived                  fori_loop, map, associative_scan
    solves                   custom_root and custom_linear_solve

JAX: jax/_src/lax/control_flow/loops.py:while_loop
"""

from __future__ import annotations

from ...base import late_rooms

late_rooms.attach(__name__)
