"""Does the jail hold? A worker tries what a submission might, and reports what it could do

This runs before each batch, with the same jail and the same worker. Any success of the worker is a reason not to grade.
"""

from __future__ import annotations

import json
import os
import pathlib
import secrets
import socket
import tempfile

from .bubblewrap import NUMPY, JailError
from .jail import Limits, ProtocolError, Zygote
from .leftovers import name_for

_PROBE = pathlib.Path(__file__).with_name("probe.py")


def self_test(compiles: bool = False) -> list[str]:
    """Return what a worker could do and should not; [] if the jail holds. Raise JailError if there is no jail.

    Args:
      compiles: whether to test a worker that may load machine code.
    """
    with tempfile.NamedTemporaryFile("w", prefix=name_for("canary")) as canary, socket.socket() as listener:
        canary.write(secrets.token_hex())
        canary.flush()
        os.chmod(canary.name, 0o644)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        here = str(pathlib.Path(__file__).resolve())
        facts = {
            "canary": canary.name,
            "here": here,
            "port": listener.getsockname()[1],
            "pid": os.getpid(),
            "home": os.path.expanduser("~"),
        }
        source = f"{_PROBE.read_text(encoding='utf-8')}\nimport json\nraise ImportError(json.dumps(probe({facts!r})))\n"
        code = compile(source, "/jitkit/__init__.py", "exec")
        zygote = Zygote({"jitkit": ("/jitkit/__init__.py", True, code)}, NUMPY)
        try:
            with zygote.start(Limits(seconds=20.0, processes=40), compiles=compiles) as worker:
                frame = worker.load({}, 40.0)
        except (TimeoutError, ProtocolError) as error:
            raise JailError(f"the self-test did not end: {error}") from None
        finally:
            zygote.close()
    if frame is None:
        raise JailError("the worker of the self-test died")
    text = str(frame.get("text", ""))
    name, _, found = text.partition(": ")
    if name != "ImportError":
        raise JailError(f"the self-test failed: {text}")
    leaks: list[str] = json.loads(found)
    return leaks
