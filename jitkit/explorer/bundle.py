"""plain data -> one HTML file: the page, its style, its modules and the data, which opens from disk without anything else

The modules of the page import each other, as modules do, which a file opened from disk cannot. So they are written one after the
other, those that are imported first, without the words `import` and `export`. No two of them have a name at the top in common,
which a test keeps.

Whatever comes from the program is data, and becomes text nodes; `<` does not stand in the JSON, so nothing in it can end the
element that it stands in. Data of a large program are written deflated: 10,000 equations on four targets would be 17 MB, and
are 2. The page may load nothing and talk to nobody: its policy says so to the browser.

JAX: jax/_src/stages.py:Compiled
"""

from __future__ import annotations

import base64
import json
import pathlib
import re
import zlib
from typing import Any

_MOST_PLAIN = 2_000_000  # characters of JSON; more of them are written deflated
PAGE = pathlib.Path(__file__).parent / "page"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|let|function|class)\b)", re.MULTILINE)


def page(model: dict[str, Any]) -> str:
    """The HTML of a page."""
    parts = {
        "title": _escaped(f"{model['function']}: what jit did"),
        "style": (PAGE / "style.css").read_text(encoding="utf-8"),
        "model": _element(as_json(model), model["format"]),
        "script": script(),
    }
    template = (PAGE / "page.html").read_text(encoding="utf-8")
    return re.sub(r"@(title|style|model|script)@", lambda match: parts[match[1]], template)


def _element(text: str, of: str) -> str:
    """The element that holds the data."""
    if len(text) <= _MOST_PLAIN:
        return f'<script type="application/json" id="model">{text}</script>'
    packed = base64.b64encode(zlib.compress(text.encode("utf-8"), 6)).decode("ascii")
    return (
        f'<script type="application/octet-stream" data-format="{of}" data-packed="deflate" id="model">{packed}</script>'
    )


def is_page(text: str, of: str) -> bool:
    """Whether a text is a page whose data are of this format."""
    return f'"format":"{of}"' in text or f'data-format="{of}"' in text


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
