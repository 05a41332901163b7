"""pages that are made again and again -> a browser that shows the newest

A page opened from disk may load nothing, so a small server on this machine shows the page in a frame, and announces new
ones. The server listens on the loopback address only, serves only the pages that it was given, and answers only to its own
host names, so that no page of the web can reach it under another name.
"""

from __future__ import annotations

import http.server
import json
import pathlib
import socketserver
import threading
import urllib.parse
from typing import Any

_LONGEST = 20.0  # seconds that a request waits for a new page
_OWN = ("127.0.0.1", "localhost")

_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>@title@</title>
<style>
:root { color-scheme: light dark; }
html, body { height: 100%; margin: 0; }
body { display: grid; grid-template: auto minmax(0, 1fr) / minmax(0, 1fr); font: 13px/1.45 system-ui, sans-serif; }
#said { margin: 0; padding: 4px 12px; border-bottom: 1px solid #8886; max-height: 40vh; overflow: auto; }
#said { white-space: pre-wrap; overflow-wrap: anywhere; }
#said.failed { font-family: ui-monospace, monospace; border-left: 6px solid #c0392b; }
#said.running { opacity: .7; }
iframe { border: 0; width: 100%; height: 100%; }
</style>
</head>
<body>
<p id="said" role="status" aria-live="polite"></p>
<iframe title="@title@" src="about:blank"></iframe>
<script>
const said = document.getElementById("said");
const frame = document.querySelector("iframe");
let seen = -1;
let page = null;
let made = -1;
async function listen() {
  for (;;) {
    try {
      const now = await (await fetch(`now?after=${seen}`)).json();
      seen = now.version;
      said.textContent = now.text;
      said.className = now.state;
      if (now.page && now.made !== made) {
        made = now.made;
        if (page === now.page) frame.contentWindow.location.reload(); // its address, and so what is pinned, stays
        else frame.src = `page/${encodeURIComponent(page = now.page)}${location.hash}`;
      }
    } catch {
      said.textContent = "jitkit explore --watch does not run any more. This is the last page.";
      said.className = "failed";
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}
listen();
</script>
</body>
</html>
"""


class Live:
    """A server that shows a browser the newest page, and a line above it. It is a context manager; `address` is its URL."""

    def __init__(self, title: str) -> None:
        self._changed = threading.Condition()
        self._now: dict[str, Any] = {"version": 0, "made": 0, "page": None, "text": "", "state": "running"}
        self._pages: dict[str, pathlib.Path] = {}
        live, frame = self, _FRAME.replace("@title@", title.replace("&", "&amp;").replace("<", "&lt;")).encode()

        class Handler(_Handler):
            def text_of(self, path: str, query: str) -> tuple[str, bytes] | None:
                if path == "/":
                    return "text/html; charset=utf-8", frame
                if path == "/now":
                    return "application/json", json.dumps(live.after(query)).encode()
                return live.page(path)

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.2,), daemon=True)

    def __enter__(self) -> Live:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        """The address for a browser."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def say(self, text: str, state: str) -> None:
        """Change the line above the page; `state` is "running", "failed", or "done"."""
        self._tell({"text": text, "state": state})

    def show(self, pages: list[pathlib.Path], text: str, state: str) -> None:
        """Show the first of some pages, which links to the others."""
        with self._changed:
            self._pages = {page.name: page for page in pages}
        self._tell({"page": pages[0].name, "made": self._now["made"] + 1, "text": text, "state": state})

    def _tell(self, news: dict[str, Any]) -> None:
        with self._changed:
            self._now = {**self._now, **news, "version": self._now["version"] + 1}
            self._changed.notify_all()

    def after(self, query: str) -> dict[str, Any]:
        """Wait, at most `_LONGEST` seconds, for a page or a line above it that the browser does not know; return the
        page and the line then.
        """
        known = urllib.parse.parse_qs(query).get("after", [""])[0]
        with self._changed:
            self._changed.wait_for(lambda: str(self._now["version"]) != known, _LONGEST)
            return self._now

    def page(self, path: str) -> tuple[str, bytes] | None:
        """Return type and content of one of the pages; None for any other path."""
        file = self._pages.get(urllib.parse.unquote(path.removeprefix("/page/")))
        if file is None or not path.startswith("/page/"):
            return None
        try:
            return "text/html; charset=utf-8", file.read_bytes()
        except OSError:
            return None


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET requests. `text_of` returns the type and the content of a path, or None if nothing is there."""

    protocol_version = "HTTP/1.1"

    def text_of(self, path: str, query: str) -> tuple[str, bytes] | None:
        raise NotImplementedError

    def do_GET(self) -> None:
        """Answer a request with a page; with 404 if there is none, or if another host was asked for."""
        where = urllib.parse.urlsplit(self.path)
        host = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host")
        found = self.text_of(where.path, where.query) if host in _OWN else None
        kind, content = found or ("text/plain; charset=utf-8", b"There is no such page.")
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal has the verdicts."""


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that went away in the middle of an answer."""
