"""Conditionals and loops on values that are known only when the program runs.

The functions of the user are traced once, to jaxprs, which are parameters of one equation. To be read in this
order: `common`, `agreement`, `conditionals`, `loops`, `scanning`, `stepping`, `derived`.

JAX: jax/_src/lax/control_flow/loops.py:while_loop
"""

from __future__ import annotations

from . import conditionals_derivatives as conditionals_derivatives
from . import loops_derivatives as loops_derivatives
from . import scanning_derivatives as scanning_derivatives
from .conditionals import cond as cond
from .conditionals import cond_p as cond_p
from .conditionals import switch as switch
from .derived import associative_scan as associative_scan
from .derived import fori_loop as fori_loop
from .derived import map as map
from .loops import while_loop as while_loop
from .loops import while_p as while_p
from .scanning import scan as scan
from .scanning import scan_p as scan_p
