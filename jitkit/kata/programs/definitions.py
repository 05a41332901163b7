"""the source of a program -> the source, below the definitions that it needs"""

from __future__ import annotations

import re
from collections.abc import Mapping


def defined(definitions: Mapping[str, str], text: str) -> str:
    """Return a program below the definitions that it needs: those that define a name which occurs in it."""
    words = set(re.findall(r"\w+", text))
    return "\n".join([*(lines for names, lines in definitions.items() if not words.isdisjoint(names.split())), text])
