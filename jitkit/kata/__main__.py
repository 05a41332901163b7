"""arguments -> exit status: the script `jitkit`, and `python -m jitkit.kata`, which needs no script.

Ctrl-C prints "interrupted" and exits with status 130, also while the command's modules are still being imported.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import NoReturn

from jitkit.kata.command import hidden_modules


def main() -> int:
    """Run the command line, and return its exit status."""
    heard = (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )  # in a shell script, `jitkit ... &` starts with Ctrl-C ignored: leave it so
    if heard:
        signal.signal(signal.SIGINT, _end)
    try:
        cli = importlib.import_module("jitkit.kata.command.cli")
    except Exception:
        if hidden := hidden_modules.told():
            os.write(2, f"jitkit: {hidden}\n".encode())
            return 1
        raise
    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        status: int = cli.main()
    except KeyboardInterrupt:  # outside of the block that `cli.guarded` covers
        _end()
    return status


def _end(*_: object) -> NoReturn:
    os.write(2, b"\ninterrupted\n")
    os._exit(130)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # the current folder, whose json.py or numpy.py would hide the module that we need
        del sys.path[0]
    sys.exit(main())
