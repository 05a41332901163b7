"""Where in the user's program an equation comes from, under the names of `jax.extend.source_info_util`

JAX: jax/_src/source_info_util.py:summarize
"""

from __future__ import annotations

import contextlib
import sys

from ..base import missing_names, source_info
from ..base.source_info import SourceInfo, current, summarize
from ..base.switches import named_scope
from ..base.traceback_util import hide_files

__all__ = [
    "SourceInfo",
    "current",
    "extend_name_stack",
    "new_source_info",
    "register_exclusion",
    "summarize",
    "user_context",
]


def new_source_info() -> SourceInfo:
    """Return a SourceInfo for an equation that does not come from user code."""
    return source_info.UNKNOWN


def register_exclusion(path: str) -> None:
    """Hide the frames of a file, or of all files below a folder, in tracebacks and in the sources of equations."""
    hide_files(path)
    source_info.forget_files()


def extend_name_stack(name: str) -> contextlib.AbstractContextManager[None]:
    """Name the equations recorded in the block, as `named_scope` does."""
    return named_scope(name)


def user_context(traceback: SourceInfo | None, *, name_stack: object = None) -> contextlib.AbstractContextManager[None]:
    """Record the equations of the block with the source line of another equation, whose `SourceInfo.traceback` is given:
    so a library that evaluates a jaxpr anew keeps the lines of the user's program. `name_stack` is not used: the scopes
    are those that are open now, followed by those of `traceback`.
    """
    return source_info.at(traceback)


missing_names.explain("extend.source_info_util", sys.modules[__name__])
