"""random programs that the reference has drawn -> code, which a worker need not write and compile again

A check of random programs draws the same programs for each student, since its random generator has the same state. The reference's results
contain the programs' sources. Each is compiled here, once, and goes to a worker only with the check that draws it.
"""

from __future__ import annotations

import functools
import marshal
from collections.abc import Mapping

from jitkit.kata.engine.plain import Plain
from jitkit.kata.engine.random_programs import compiled


def drawn_programs(values: Mapping[str, Plain]) -> dict[str, bytes]:
    """Return, for each check whose result is a list of random programs, what `random_programs.give` takes, marshalled.

    Args:
      values: the reference's results, by check.
    """
    found: dict[str, bytes] = {}
    for name, value in values.items():
        items = value["items"] if value["is"] == "list" else []
        if items and all(item["is"] == "program" for item in items):
            found[name] = _marshalled(tuple((item["text"], tuple(item["choices"])) for item in items))
    return found


@functools.lru_cache(maxsize=1024)
def _marshalled(programs: tuple[tuple[str, tuple[int, ...]], ...]) -> bytes:
    return marshal.dumps([(text, list(choices), *compiled(text)) for text, choices in programs])
