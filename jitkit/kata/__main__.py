"""arguments -> exit status: the script `jitkit`, and `python -m jitkit.kata`, which does without it.

Ctrl-C ends it with a word and status 130 from the first line of ours on: while the command's modules are imported, too.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import NoReturn


def main() -> int:
    """Run the command line, and return its exit status."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # what was started with `nohup` goes on
    if heard:
        signal.signal(signal.SIGINT, _end)
    cli = importlib.import_module("jitkit.kata.cli")
    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        status: int = cli.main()
    except KeyboardInterrupt:  # outside of what `cli.guarded` is around
        _end()
    return status


def _end(*_: object) -> NoReturn:
    os.write(2, b"\ninterrupted\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
