"""plain data -> one HTML file: the page, its style, its modules and the data, which opens from disk without anything else

The modules of the page import each other, as modules do, which a file opened from disk cannot. So they are written one after the
other, those that are imported first, without the words `import` and `export`. No two of them have a name at the top in common,
which a test keeps.

Whatever comes from the program is data, and becomes text nodes; `<` does not stand in the JSON, so nothing in it can end the
element that it stands in. The page may load nothing and talk to nobody: its policy says so to the browser.

JAX: jax/_src/stages.py:Compiled
"""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

PAGE = pathlib.Path(__file__).parent / "page"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|let|function|class)\b)", re.MULTILINE)


def page(model: dict[str, Any]) -> str:
    """The HTML of a page."""
    parts = {
        "title": _escaped(f"{model['function']}: what jit did"),
        "style": (PAGE / "style.css").read_text(encoding="utf-8"),
        "model": as_json(model),
        "script": script(),
    }
    template = (PAGE / "page.html").read_text(encoding="utf-8")
    return re.sub(r"@(title|style|model|script)@", lambda match: parts[match[1]], template)


def as_json(model: dict[str, Any]) -> str:
    """JSON that can stand in a `<script>`: the same data, for every reader of JSON."""
    text = json.dumps(model, ensure_ascii=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates, which no file can hold
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def script() -> str:
    """The modules in order, as one."""
    done: list[str] = []
    texts: list[str] = []

    def take(name: str) -> None:
        if name in done:
            return
        done.append(name)
        text = (PAGE / name).read_text(encoding="utf-8")
        for imported in _IMPORT.findall(text):
            take(imported)
        texts.append(_EXPORT.sub("", _IMPORT.sub("", text)))

    take("main.js")
    return "\n".join(texts)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").encode("utf-8", "replace").decode()
