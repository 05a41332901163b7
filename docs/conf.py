"""docs/ -> docs/_build/html: the site, read from disk or from a server

    make docs

Pages are the Markdown files beside this one, and those that the extensions of `_ext` write into `generated/` from what is in the
repository: labs, pitfalls, the public names, the source itself. Programs on a page are run while it is built (`_ext/cells.py`),
so what stands below them is what they print.
"""

from __future__ import annotations

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
(HERE / "generated" / "extra").mkdir(parents=True, exist_ok=True)  # filled while the site is built; Sphinx asks before

project = "jitkit"
copyright = "the authors of jitkit, Apache License 2.0"  # what Sphinx calls it
html_title = "jitkit"
language = "en"

extensions = [
    "myst_nb", "sphinx_copybutton", "sphinx_design", "cells", "sources", "public_names", "lab_pages", "ladder_pages",
    "pitfall_pages", "explorer_page", "search_context",
]  # fmt: skip
exclude_patterns = ["_build", "_ext", "_static", "tests", "generated/extra"]
nitpicky = True
# parity.md and the labs go from a heading to one two levels below; our errors quote code, which Pygments' tracebacks do not know
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

# --- Markdown, and the programs in it ---------------------------------------------------------------------------------------
myst_enable_extensions = ["attrs_inline", "attrs_block", "colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 4
myst_fence_as_directive = []
nb_execution_mode = "cache"  # a page is run again when its programs changed; `make clean` forgets
nb_execution_cache_path = str(HERE / "_build" / "cells")
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True
highlight_language = "text"  # of a block without a language: commands, messages, tables
nb_render_error_lexer = "text"  # a message is prose: its `for` and `in` are not keywords
# Kernels find jitkit and the ladder's xla.py, and are not asked for another chip by somebody's environment.
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), str(HERE.parent / "labs" / "from_scratch")])
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["JITKIT_ERRORS_PAGE"] = "errors.html"  # what messages point at, in the page itself

# --- the look ---------------------------------------------------------------------------------------------------------------
html_theme = "furo"
html_static_path = ["_static"]
html_extra_path = ["generated/extra"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # it would fetch pages, which a browser refuses for files
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
templates_path = ["_templates"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def _levels(app, page, template, context, doctree):
    """The theme's captions are headings without a level, which readers of screens need."""
    tree = context.get("furo_navigation_tree")
    if tree:
        context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')


def setup(app):
    """Called by Sphinx."""
    app.connect("html-page-context", _levels, priority=900)
