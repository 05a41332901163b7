"""The primitives, and the functions that apply them: XLA's vocabulary, with JAX's names.

Nothing here promotes dtypes or ranks: operands are to fit. A primitive is one paragraph in its module: shape
rule, lowering, public function; the elementwise ones are rows of the table in `elementwise`.

JAX: jax/_src/lax/lax.py:add
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names

late_rooms.attach(__name__)
missing_names.explain("lax", sys.modules[__name__])
