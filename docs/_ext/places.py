"""a name in a file of the repository -> its line; a link to a file -> the page of the site that stands for it"""

from __future__ import annotations

import ast
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[\])+)\]\((\.\./[^)#\s]+)(?:#([\w.]+))?\)")
_PAGES = {"README.md": "index", "CHANGELOG.md": "generated/changelog"}  # of files that are pages under another name


def line_of(path: pathlib.Path, name: str) -> int | None:
    """The line of a file where `function`, `Class.method` or a variable of the module is written; None where it has none."""
    return _lines(path).get(name)


@functools.cache
def _lines(path: pathlib.Path) -> dict[str, int]:
    found: dict[str, int] = {}

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.setdefault(prefix + node.name, node.lineno)
                walk(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for name in (part for target in targets for part in ast.walk(target)):
                    if isinstance(name, ast.Name):
                        found.setdefault(prefix + name.id, node.lineno)
            elif isinstance(node, (ast.If, ast.Try)):
                walk([*node.body, *node.orelse], prefix)

    walk(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return found


def with_links(text: str, page: str) -> str:
    """The page's text, with links to files of the repository made links within the site."""

    def link(match: re.Match[str]) -> str:
        label, path, name = match.groups()
        inside = (ROOT / "docs" / page).parent.joinpath(path).resolve().relative_to(ROOT).as_posix()
        lab = re.fullmatch(r"labs/(\d\d_\w+)/(?:README\.md)?", inside + "/" * (ROOT / inside).is_dir())
        known = f"generated/labs/{lab[1]}" if lab else _PAGES.get(inside)
        if known:
            up = "../" * page.count("/")
            return f"[{label}]({up}{known}.md)"
        return f"{{source}}`{label.strip('`')} <{inside}{'#' + name if name else ''}>`"

    return LINK.sub(link, text)
