"""plain data -> one HTML file that opens from disk: the page, its style, its modules and the data

The page's modules import each other, which a browser does not allow in a file opened from disk. So they are joined in
one script, imported modules first, without the words `import` and `export`. A test checks that no two of them have a
top-level name in common.

Everything that comes from the user's program is data, and becomes text nodes. The JSON contains no `<`, so it cannot
close its script element. Long data are compressed: 10,000 equations on four targets take 2 MB instead of 17. The page's
content security policy lets it load nothing and send nothing.

JAX: jax/_src/stages.py:Compiled
"""

from __future__ import annotations

import base64
import json
import pathlib
import re
import zlib
from typing import Any

_MOST_PLAIN = 2_000_000  # characters of JSON; a longer text is compressed
PAGE = pathlib.Path(__file__).parent / "page"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|let|function|class)\b)", re.MULTILINE)


def page(model: dict[str, Any]) -> str:
    """Return the HTML of a page."""
    parts = {
        "title": _escaped(f"{model['function']}: what jit did"),
        "style": (PAGE / "style.css").read_text(encoding="utf-8"),
        "model": _element(as_json(model), model["format"]),
        "script": script(),
    }
    template = (PAGE / "page.html").read_text(encoding="utf-8")
    return re.sub(r"@(title|style|model|script)@", lambda match: parts[match[1]], template)


def _element(text: str, of: str) -> str:
    """Return the script element that holds the data: as JSON, or compressed if that is long."""
    if len(text) <= _MOST_PLAIN:
        return f'<script type="application/json" id="model">{text}</script>'
    packed = base64.b64encode(zlib.compress(text.encode("utf-8"), 6)).decode("ascii")
    return (
        f'<script type="application/octet-stream" data-format="{of}" data-packed="deflate" id="model">{packed}</script>'
    )


def is_page(text: str, of: str) -> bool:
    """Return whether a string is a page of this format."""
    return f'"format":"{of}"' in text or f'data-format="{of}"' in text


def as_json(model: dict[str, Any]) -> str:
    """Return the model as JSON that can stand in a `<script>`: without `<` and without line separators of
    JavaScript.
    """
    text = json.dumps(model, ensure_ascii=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode("utf-8")  # replaces lone surrogates, which UTF-8 cannot encode
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def script() -> str:
    """Return all modules joined in one script, each below those that it imports."""
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
