"""cells -> the file of a notebook, as a string, in nbformat 4.5

This module does not use nbformat, so that the generated files are the same with every version of nbformat. The caller gives
the ids of cells; none is drawn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

Cell = dict[str, Any]

NOT_RUN = "Not run yet. This is what jitkit's own functions print; run the cell, and yours stands here.\n"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def markdown(id: str, text: str, metadata: dict[str, Any] | None = None) -> Cell:
    """Return a cell of Markdown. Raise ValueError for an id that nbformat does not allow."""
    return {"cell_type": "markdown", **_common(id, text, metadata)}


def code(id: str, text: str, metadata: dict[str, Any] | None = None, output: str = "") -> Cell:
    """Return a cell of Python that was not run. Until it is run, it shows `output`, if there is some, below a line that says that
    the reference printed it. Raise ValueError for an id that nbformat does not allow.
    """
    lines = [NOT_RUN, *output.splitlines(keepends=True)] if output else []
    outputs = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
    return {"cell_type": "code", "execution_count": None, "outputs": outputs, **_common(id, text, metadata)}


def _common(id: str, text: str, metadata: dict[str, Any] | None) -> Cell:
    if not _ID.fullmatch(id):
        raise ValueError(f"{id!r} cannot be the id of a cell")
    return {"id": id, "metadata": metadata or {}, "source": text.strip("\n").splitlines(keepends=True)}


def notebook_text(cells: Sequence[Cell]) -> str:
    """Return the file of a notebook as a string, as nbformat would write it. Raise ValueError if two cells have one id."""
    ids = [cell["id"] for cell in cells]
    twice = sorted({id for id in ids if ids.count(id) > 1})
    if twice:
        raise ValueError(f"several cells have the id {', '.join(twice)}")
    data = {
        "cells": list(cells),
        "metadata": {"kernelspec": _KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
