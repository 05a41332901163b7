"""Conditionals and loops on values that are known only when the program runs.

The functions of the user are traced once, to jaxprs, which are parameters of one equation. To be read in this
order: `common`, `agreement`, `conditionals`, `loops`, `scanning`, `stepping`, `derived`, `solves`.

JAX: jax/_src/lax/control_flow/loops.py:while_loop
"""

from __future__ import annotations

from ...base import late_rooms

late_rooms.attach(__name__)
