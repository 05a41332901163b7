"""target -> the reference's source: the function of an exercise, to be shown as a stub or as the solution."""

from __future__ import annotations

import ast
import functools
import pathlib
import textwrap
from typing import NamedTuple

from .name_origins import source_path
from .names import Function, tree_of
from .splice import learners_decorate
from .submission import SpliceError, Target, defines

PACKAGE = pathlib.Path(__file__).resolve().parents[2]


class ReferenceFunction(NamedTuple):
    """A function of the reference: its source, dedented, and its parts. The source has the decorators only where learners
    write them.
    """

    target: Target
    source: str
    node: Function
    module_source: str
    module_tree: ast.Module

    @property
    def docstring(self) -> str:
        """The function's docstring, or "" if it has none."""
        return ast.get_docstring(self.node) or ""

    @property
    def signature(self) -> str:
        """The lines of its `def`, as they are written: `def f(x: int) -> int:`."""
        first = self.node.body[0]
        lines = self.module_source.splitlines()[self.node.lineno - 1 : first.lineno - 1]
        if not lines:  # a body on the line of `def`
            return self.source.split(":\n")[0] + ":"
        return textwrap.dedent("\n".join(lines))


@functools.cache
def reference_function(target: Target) -> ReferenceFunction:
    """Return the reference's function for a target. Raise SpliceError if there is none."""
    path = source_path(target.module, str(PACKAGE))
    source, tree = _module(path)
    body: list[ast.stmt] = tree.body
    node: ast.stmt | None = None
    for name in target.path:
        node = next((n for n in body if defines(n, name)), None)
        if node is None:
            raise SpliceError(f"The reference has no `{target}`.")
        body = getattr(node, "body", [])
    if not isinstance(node, Function):
        raise SpliceError(f"`{target}` is not a function of the reference.")
    first = node.lineno
    if learners_decorate(tree):
        first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
    lines = source.splitlines()[first - 1 : node.end_lineno]
    return ReferenceFunction(target, textwrap.dedent("\n".join(lines)), node, source, tree)


@functools.cache
def _module(path: str) -> tuple[str, ast.Module]:
    try:
        source = pathlib.Path(path).read_text(encoding="utf-8")
    except OSError:
        raise SpliceError(f"The reference has no module at {path}.") from None
    return source, tree_of(source)
