"""`python -m jitkit.kata`: the command `jitkit`, without relying on an installed script."""

from __future__ import annotations

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
