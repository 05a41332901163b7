"""`python -m jitkit` runs what the script `jitkit` does, where that is not on the path."""

from __future__ import annotations

import sys

from jitkit.kata.__main__ import main

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # as in `kata/__main__.py`
    sys.exit(main())
