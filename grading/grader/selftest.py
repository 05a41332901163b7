"""Is the jail one? A worker tries what a submission might, and says what it could do

It is done before each batch, with the same jail and the same worker. A worker that gets anywhere is a reason not to grade.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import pathlib
import secrets
import socket
import tempfile
from typing import Any

from .jail import JailError, Limits, ProtocolError, Zygote


def self_test() -> list[str]:
    """What a worker could do and should not; nothing, where the jail holds. JailError where there is none."""
    with tempfile.NamedTemporaryFile("w", prefix="jitkit-canary-") as canary, socket.socket() as listener:
        canary.write(secrets.token_hex())
        canary.flush()
        os.chmod(canary.name, 0o644)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        here = str(pathlib.Path(__file__).resolve())
        facts = {"canary": canary.name, "here": here, "port": listener.getsockname()[1], "pid": os.getpid(), "home": os.path.expanduser("~")}
        source = f"{inspect.getsource(probe)}\nimport json\nraise ImportError(json.dumps(probe({facts!r})))\n"
        code = compile(ast.parse(source), "/jitkit/__init__.py", "exec")
        zygote = Zygote({"jitkit": ("/jitkit/__init__.py", True, code)}, uses_xla=False)
        try:
            with zygote.start(Limits(seconds=20.0, processes=40)) as worker:
                frame = worker.load({"text": None, "modules": {}, "spliced": None, "own": []}, 40.0)
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


def probe(facts: dict[str, Any]) -> list[str]:
    """What can be done here. It runs in the jail, and is sent there as source."""
    import ctypes
    import os
    import signal
    import socket

    leaks = []
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, data)
    if any(data):
        leaks.append("it has capabilities")
    if os.getpid() != 1:
        leaks.append("it shares its processes")
    if os.listdir("/proc"):
        leaks.append("it sees /proc")
    if libc.unshare(0x10000000) == 0:
        leaks.append("it may make namespaces")
    if libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None) == 0:
        leaks.append("it may mount")
    if libc.ptrace(0, 0, 0, 0) == 0:
        leaks.append("it may trace")
    leaks += [f"it sees {path}" for path in (facts["canary"], facts["here"]) if os.path.exists(path)]
    for place in ("/", "/usr/lib", "/jail", "/dev", "/etc", os.path.dirname(os.__file__)):
        try:
            os.close(os.open(os.path.join(place, "jitkit-probe"), os.O_CREAT | os.O_WRONLY))
            leaks.append(f"it may write to {place}")
        except OSError:
            pass
    for port, host in ((facts["port"], "127.0.0.1"), (53, "1.1.1.1")):
        with socket.socket() as client:
            client.settimeout(0.5)
            try:
                client.connect((host, port))
                leaks.append(f"it reaches {host}")
            except OSError:
                pass
    try:
        with open("/tmp/large", "wb") as file:
            for _ in range(100):
                file.write(bytes(1 << 20))
        leaks.append("it may fill the disk")
    except OSError:
        pass
    if os.path.exists("/tmp/large"):
        os.unlink("/tmp/large")
    try:
        os.kill(facts["pid"], 0)
        if facts["pid"] != 1:
            leaks.append("it may signal the grader")
    except OSError:
        pass
    children = 0
    try:
        for children in range(1, 200):
            if os.fork() == 0:
                signal.pause()
        leaks.append("it may start any number of processes")
    except OSError:
        pass
    try:
        bytearray(64 << 30)
        leaks.append("it may have any amount of memory")
    except MemoryError:
        pass
    if len(os.environ) > 12:
        leaks.append("it sees the grader's environment")
    return leaks
