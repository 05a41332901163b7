"""The site as it was built, and a browser that looks at it"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "_build" / "html"
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def site():
    """The folder of the site; `make docs` writes it."""
    assert (SITE / "index.html").is_file(), "there is no site: make docs"
    return SITE


@pytest.fixture(scope="session")
def browser():
    """Chromium: that of CHROMIUM, one that is installed, or the one that `playwright install chromium` has brought."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="session")
def axe():
    """The text of axe-core, which npm brings into `docs/_build` and nobody else needs."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: axe-core comes from there")
    folder = ROOT / "docs" / "_build" / "npm"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "axe-core@4.10"]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    return script.read_text(encoding="utf-8")
