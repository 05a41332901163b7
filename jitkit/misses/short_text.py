"""value -> a few words, without an address; two values -> words that show where they differ

JAX: jax/_src/interpreters/partial_eval.py:diff_types
"""

from __future__ import annotations

import functools
import re
import types
from typing import Any

from .origin import origin_of
from .record import safe_repr

_WIDE = 80  # a longer text of a value is shortened


def static_text(value: Any) -> str:
    """Return a static value in a few words, without an address; a function by where it was defined."""
    return shortened(whole_text(value))


def whole_text(value: Any) -> str:
    """Return a value as text, in full: a function by where it was defined, anything else by its `repr` without an address."""
    if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)) or hasattr(value, "_jitted"):
        return origin_of(value).describe()
    return " ".join(re.sub(r" at 0x[0-9a-fA-F]+", "", safe_repr(value)).split())


def shortened(text: str) -> str:
    """Return the text; if it has more than 80 characters, the first 77 and three dots."""
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 3]}..."


def shortened_pair(one: str, two: str) -> tuple[str, str]:
    """Return both texts, shortened. If they differ only after the first 77 characters, their beginning is cut off too,
    to show the difference.
    """
    if one != two and one[: _WIDE - 3] == two[: _WIDE - 3]:
        alike = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
        start = alike - _WIDE // 4
        one, two = f"...{one[start:]}", f"...{two[start:]}"
    return shortened(one), shortened(two)
