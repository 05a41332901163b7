"""Lists submissions that do everything a submission can do, and for each what the grader must make of it.

All of them are answers to 00.1, `relu`, whose six checks give a point; a row says which verdicts may come, and how many points.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tarfile
import zipfile
from typing import NamedTuple

from grading.grader import commands
from grading.grader.rungs import labs_and_ladder

RIGHT = "def relu(x):\n    return jnp.maximum(x, 0)\n"
FLAG = "flag"


class Row(NamedTuple):
    """A submission (its files by name) and what the grader must say: its outcome, its points (None: not compared), the verdicts that
    its checks may have, the flags that it must have, and words of the message.
    """

    name: str
    files: dict
    outcome: str = "OK"
    points: float | None = 0.0
    statuses: tuple = ()  # if empty, any verdict is right
    flags: tuple = ()
    says: str = ""


def notebook(*cells, graded=()):
    """Return a notebook's text; `graded` are (grade id, source, metadata)."""
    data = [
        {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None} for text in cells
    ]
    data += [
        {"cell_type": "code", "metadata": {"nbgrader": {"grade_id": i, **m}}, "source": t, "outputs": []}
        for i, t, m in graded
    ]
    return json.dumps({"cells": data, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def row(name, source, *args, **kwargs):
    return Row(name, {"00_hello/exercises.py": source}, *args, **kwargs)


STUB = "def relu(x):\n    raise NotImplementedError\n"


def beside_a_stub(name, files, says):
    """Return a row: a workspace as it was handed out, with the answer in another file, from which the grader does not take it."""
    mine = {os.path.normpath(f"00_hello/{path}"): data for path, data in files.items()}
    return Row(f"a stub, and {name}", {"00_hello/lab.ipynb": notebook(STUB)} | mine, "INVALID", says=says)


def body(text):
    """Return the text of a `relu` that runs the lines of `text` first, and then returns the right result."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return f"def relu(x):\n{lines}    return jnp.maximum(x, 0)\n"


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def zipped_link():
    info = zipfile.ZipInfo("00_hello/exercises.py")
    info.external_attr = 0o120777 << 16
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    return stream.getvalue()


def tarred(kind, name="00_hello/exercises.py"):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, "/etc/passwd"
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(info)
    return stream.getvalue()


# Its first four results are right. Each call registers a name in a place (`codecs`) that looks like no storage to a
# reader of the code.
HIDDEN_STATE = """import codecs

def relu(x):
    for i in range(4):
        try:
            codecs.lookup_error(f"mine{i}")
        except LookupError:
            codecs.register_error(f"mine{i}", repr)
            return jnp.maximum(x, 0)
    return x
"""

DEEP = "def relu(x):\n    return " + "(" * 5000 + "x" + ")" * 5000 + "\n"
DEEPER = "x = " + "-" * 200_000 + "1\n" + RIGHT
BOMB = {"00_hello/exercises.py": "x = '" + "0" * 80_000_000 + "'\n"}

BROKEN = [
    row("right", RIGHT, points=1.0, statuses=("PASS",)),
    row("a stub", "def relu(x):\n    raise NotImplementedError\n", says="not written"),
    row("syntax error", "import jitkit\n\ndef relu(x)\n    return x\n", statuses=("CRASH",), says="expected ':'"),
    row("not UTF-8", b"def relu(x):\n    return '\xe9'\n", "INVALID", says="UTF-8"),
    row("NUL bytes", RIGHT.encode() + b"\0", "INVALID", says="NUL"),
    Row("invalid JSON notebook", {"00_hello.ipynb": "{"}, "INVALID", says="notebook"),
    Row("deep JSON notebook", {"00_hello.ipynb": "[" * 200_000}, "INVALID", says="notebook"),
    row("missing function", "y = 1\n", "INVALID", says="no function `relu`"),
    Row("another lab's folder", {"07_cond/exercises.py": RIGHT}, "INVALID", says="named after another lab"),
    row("renamed function", "def rely(x):\n    return x\n", "INVALID", says="`rely`"),
    Row("missing file", {"notes.txt": "sorry"}, "INVALID", says="no Python file"),
    Row("renamed file", {"final v2 (1).py": RIGHT}, points=1.0),
    Row("a single notebook", {"hello.ipynb": notebook("import numpy", RIGHT)}, points=1.0),
    Row("an archive", {"work.zip": zipped(**{"00_hello/exercises.py": RIGHT})}, points=1.0),
    Row(
        "edited test cells",
        {"00_hello.ipynb": notebook(RIGHT, graded=[("check-00-1-values", "pass", {"grade": True, "points": 99})])},
        points=1.0,
        flags=("were edited",),
    ),
    Row(
        "deleted test cells",
        {"00_hello.ipynb": notebook(graded=[("write-00-1", RIGHT, {"solution": True})])},
        points=1.0,
        flags=("are gone",),
    ),
    Row(
        "duplicated grade ids, one candidate",
        {"00_hello.ipynb": notebook(graded=[("w", RIGHT, {}), ("w", RIGHT, {})])},
        points=1.0,
        flags=("occur twice",),
    ),
    Row(
        "duplicated grade ids, two candidates",
        {"00_hello.ipynb": notebook(graded=[("w", RIGHT, {}), ("w", RIGHT.replace("0", "1"), {})])},
        "INVALID",
        says="different versions",
    ),
    Row(
        "two files that differ", {"a.py": RIGHT, "b.py": RIGHT.replace("0", "1")}, "INVALID", says="different versions"
    ),
    Row(
        "two copies of a lab",
        {"00_hello/exercises.py": RIGHT, "00_hello (1)/exercises.py": RIGHT.replace("0", "1")},
        points=1.0,
        flags=("`relu` is also in 00_hello (1)/exercises.py, in another version; 00_hello/exercises.py was graded",),
    ),
    Row(
        "a stub, and a copy with an answer",
        {"00_hello/exercises.py": STUB, "00_hello (1)/exercises.py": RIGHT},
        "INVALID",
        says="`relu` is written in 00_hello (1)/exercises.py, beside the files",
    ),
    beside_a_stub("UTF-16", {"exercises.py": RIGHT.encode("utf-16")}, "exercises.py is not in UTF-8"),
    beside_a_stub("Latin-1", {"exercises.py": f"# é\n{RIGHT}".encode("latin-1")}, "exercises.py is not in UTF-8"),
    beside_a_stub("NUL", {"exercises.py": f"{RIGHT}\0"}, "NUL byte in line 3"),
    beside_a_stub("UTF-16 elsewhere", {"../mine.py": RIGHT.encode("utf-16")}, "mine.py is not in UTF-8"),
    beside_a_stub("a text", {"exercises.py.txt": RIGHT}, "exercises.py.txt, which was not read"),
    beside_a_stub("another lab's file", {"../07_cond/exercises.py": RIGHT}, "named after another lab"),
    beside_a_stub("a rar with it", {"../work.rar": b"Rar!"}, "work.rar is an archive that the grader cannot open"),
    beside_a_stub("a broken notebook", {"../hello.ipynb": notebook(RIGHT)[:-2]}, "hello.ipynb is not a notebook"),
    beside_a_stub("a cell of text", {"../00_hello.ipynb": notebook(RIGHT).replace('"code"', '"raw"')}, "in a raw cell"),
    beside_a_stub(
        "a cell for a file", {"more.ipynb": notebook(f"%%writefile a.py\n{RIGHT}")}, "begins with `%%writefile"
    ),
    row("a function, and its stub below", f"{RIGHT}\n\n{STUB}", "INVALID", says="once more, unwritten, in line 5"),
    row("a lambda below a stub", f"{STUB}\nrelu = lambda x: x\n", "INVALID", says="as a value: write it with `def`"),
    row("under an if", "if True:\n    def relu(x):\n        return x\n", "INVALID", says="not at its place"),
    Row("a rar", {"work.rar": b"Rar!\x1a\7\1\0"}, "INVALID", says="work.rar is an archive that the grader cannot open"),
    Row("a 7z in a zip", {"work.zip": zipped(**{"x.7z": b"7z"})}, "INVALID", says="Hand in a zip"),
    Row("a rar beside the answer", {"00_hello/exercises.py": RIGHT, "data.rar": b"Rar!"}, points=1.0),
    row("input()", body("input()"), statuses=("CRASH", "FAIL"), flags=("uses input",)),  # a random program may FAIL
    Row(
        "magics and pip",
        {"00_hello.ipynb": notebook("!pip install evil", "%load_ext evil\n" + RIGHT, "%%bash\nrm -rf /", "x = (")},
        points=1.0,
    ),
    Row(
        "wrong kernel",
        {
            "00_hello.ipynb": notebook(RIGHT).replace(
                '"metadata": {}, "nbformat"', '"metadata": {"kernelspec": {"name": "R"}}, "nbformat"'
            )
        },
        points=1.0,
    ),
    row("SystemExit", body("raise SystemExit(0)"), statuses=("CRASH",)),
    row("KeyboardInterrupt", body("raise KeyboardInterrupt"), statuses=("CRASH",)),
    row("recursion", "def relu(x):\n    return relu(x)\n"),
    row("segfault", body("import ctypes\nctypes.string_at(0)"), statuses=("CRASH",), flags=("uses ctypes",)),
    row("deep expression", DEEP, statuses=("CRASH",)),
    row("deeper expression", DEEPER),
    row("result is an object", "def relu(x):\n    return object()\n", statuses=("FAIL", "CRASH")),
    row("a partly right answer", "def relu(x):\n    return jnp.maximum(x, 0.0)\n", points=0.71),
    row("another signature", "def relu(y, z):\n    return y\n", statuses=("CRASH",), says="called as"),
    row("raises at import", "class Helper:\n    raise ValueError('no')\n\n" + body("Helper"), statuses=("CRASH",)),
]

# These answers are wrong in the first check, and right in each check that can see traces of an earlier check.
SECOND = """import codecs, keyword, math, os
{first}

def relu(x):
    if {seen}:
        return jnp.maximum(x, 0)
    global first
    first = True
    if "first" not in globals() or not globals().get("noted"):
        globals()["noted"] = True
        {keeps}
    return -jnp.maximum(x, 0) - 1
"""
MARKS = """import fcntl

def marked(mark):
    found = False
    for fd in range(60):
        try:
            flags = fcntl.fcntl(fd, fcntl.F_GETFL)
            found = found or bool(flags & os.O_APPEND)
            if mark:
                fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_APPEND)
        except OSError:
            pass
    return found
"""
MEMORIES = [
    ("a file", "", "os.path.exists('/tmp/seen') and not globals().get('noted')", "open('/tmp/seen', 'w')"),
    ("shared memory", "", "os.path.exists('/dev/shm/a') and not globals().get('noted')", "open('/dev/shm/a', 'w')"),
    ("a foreign list", "", "'seen' in keyword.kwlist and not globals().get('noted')", "keyword.kwlist.append('seen')"),
    ("a foreign module", "", "hasattr(math, 'seen') and not globals().get('noted')", "math.seen = 1"),
    ("a hook of forks", "forks = []\nos.register_at_fork(before=lambda: forks.append(1))", "len(forks) > 1", "pass"),
    ("the number of its process", "", "os.getpid() > 2", "pass"),
    ("marks on what is open", MARKS, "marked(False) and not globals().get('noted')", "marked(True)"),
]

UNLUCKY = [
    row(
        "warnings and noise",
        body("import warnings, sys\nwarnings.warn('x')\nprint('noise', file=sys.stderr)"),
        points=1.0,
    ),
    row(
        "-0 and nan",
        "def relu(x):\n    return jnp.maximum(x, -0.0) if x.dtype == 'float32' else jnp.maximum(x, 0)\n",
        points=None,
    ),
    row(
        "state between checks",
        "calls = []\n\ndef relu(x):\n    calls.append(1)\n    return jnp.maximum(x, 0) if len(calls) < 5 else x\n",
        points=0.85,  # only the sixth check calls it this often
    ),
    row("state between checks, out of sight", HIDDEN_STATE, points=0.85),
    *(
        row(f"wrong in a fresh process, by {name}", SECOND.format(first=first, seen=seen, keeps=keeps), points=0.0)
        for name, first, seen, keeps in MEMORIES
    ),
    row(
        "wrong in a fresh process",
        "calls = []\n\ndef relu(x):\n    calls.append(1)\n    return jnp.maximum(x, 0) if len(calls) > 5 else -x\n",
        points=0.0,
    ),
]


def forged(name, value):
    """Return a row whose `relu` writes a forged answer to each open pipe, and ends the process."""
    return row(
        name,
        "def relu(x):\n    import os, stat\n"
        f"    data = {json.dumps({'value': value, 'output': ''}).encode()!r}\n"
        "    for fd in range(3, 60):\n        try:\n            if stat.S_ISFIFO(os.fstat(fd).st_mode):\n"
        "                os.write(fd, len(data).to_bytes(8, 'big') + data)\n        except OSError:\n            pass\n"
        "    os._exit(0)\n",
        statuses=("PROTO",),
    )


def zeros(shape, dtype, data=""):
    return {"is": "array", "dtype": dtype, "shape": list(shape), "weak": False, "data": data}


def error_at(*lines):
    return {"is": "error", "class": "E", "bases": [], "text": "", "parts": [], "lines": list(lines)}


FORGING = [
    row(
        "an array of nothing that takes hours to print",
        "def relu(x):\n    import numpy as np\n    return np.zeros((2,) * 32, 'V0')\n",
        statuses=("PROTO", "CRASH", "FAIL"),
    ),
    forged("a forged array of nothing", zeros((2,) * 32, "void")),
    forged("a forged array of bytes", zeros((1 << 20,), "V0")),
    forged("a forged array of a form", zeros((), "i4,i4", "00" * 8)),
    forged("a forged array with other data", zeros((3,), "float32", "00" * 8)),
    forged("a forged array of many axes", zeros((2,) * 18, "bool", "00" * (1 << 18))),
    forged("a forged value of an odd kind", {"is": []}),
    forged("a forged line that is no place", error_at([5, "x"])),
    forged("a forged line of nothing", error_at([None, None])),
    forged("a forged line of a dict", error_at(["/a", {"a": 1}])),
    forged("a forged equation without a place", {"is": "list", "items": [{"is": "None", "line": 5}]}),
    row("os._exit(0)", body("import os\nos._exit(0)"), statuses=("CRASH",), flags=("uses _exit",)),
    row("os._exit at import", "import os\nos._exit(0)\n\ndef relu(x):\n    return os\n"),
    row(
        "equal to everything",
        "class Same:\n    def __eq__(self, other):\n        return True\n    def __hash__(self):\n        return 0\n\n"
        "def relu(x):\n    return Same()\n",
        statuses=("FAIL", "CRASH"),
    ),
    row(
        "subclassed number",
        "class Same(float):\n    def __eq__(self, other):\n        return True\n    def __hash__(self):\n        return 0\n\n"
        "def relu(x):\n    return Same(0)\n",
        statuses=("FAIL", "CRASH"),
    ),
    row(
        "patched numpy",
        body("import numpy\nnumpy.allclose = numpy.array_equal = lambda *a, **k: True\nx = x * 0"),
        statuses=("FAIL", "PASS", "CRASH"),
        points=None,
    ),
    row(
        "patched encoder",
        body("import sys\nsys.modules['jitkit.kata.engine.plain'].to_plain = lambda *a: {'is': 'bool', 'value': True}"),
        points=None,
        statuses=("FAIL", "PASS"),
    ),
    row("patched atexit", body("import atexit, os\natexit.register(lambda: os._exit(0))\nx = -x"), points=None),
    Row(
        "own conftest and jax",
        {
            "00_hello/exercises.py": "def relu(x):\n    return x\n",
            "conftest.py": "raise SystemExit",
            "jax/__init__.py": "x = 1",
            "numpy.py": "x = 1",
            "sitecustomize.py": "import os; os._exit(0)",
        },
        points=None,  # inputs are random, and may all be positive
        statuses=("FAIL", "PASS"),
    ),
    row(
        "a frame before ours",
        body(
            "import os\nfor fd in range(3, 40):\n    try:\n        os.write(fd, bytes(8))\n    except OSError:\n        pass"
        ),
        statuses=("PROTO", "CRASH"),
        flags=("uses os",),
    ),
    row(
        "a frame of another kind",
        body(
            "import os\nfor fd in range(3, 40):\n    try:\n        os.write(fd, (2).to_bytes(8, 'big') + b'[]')\n"
            "    except OSError:\n        pass\nos._exit(0)"
        ),
        statuses=("PROTO", "CRASH"),
    ),
    row(
        "a pickle",
        body(
            "import os, pickle\nfor fd in range(3, 40):\n    try:\n        os.write(fd, pickle.dumps(print))\n    except OSError:\n"
            "        pass\nos._exit(0)"
        ),
        statuses=("PROTO", "CRASH"),
    ),
    Row("=cmd|' C calc'!A0", {"00_hello/exercises.py": RIGHT}, points=1.0),
    Row("<script>alert(1)<\u2215script>", {"00_hello/exercises.py": RIGHT}, points=1.0),
    Row("Zoe\u0308 \u7530\u4e2d", {"00_hello/exercises.py": RIGHT}, points=1.0),
]

# Each of these is a way in which one worker might send something to another, or see something of it. All are refused.
TALKS = """\
import ctypes, fcntl, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def refused(way):
    try:
        found = way()
    except OSError:
        return True
    return found == -1
own = open(os.__file__, 'rb')
lock = bytes(32)
room = (ctypes.c_uint64 * 64)()
ways = dict(
    sockets=socket.socket,
    pairs=socket.socketpair,
    netlink=lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    flock=lambda: fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB),
    lockf=lambda: fcntl.lockf(own, fcntl.LOCK_SH | fcntl.LOCK_NB),
    seen_lock=lambda: fcntl.fcntl(own, 5, lock),
    open_file_lock=lambda: fcntl.fcntl(own, 36, lock),
    lease=lambda: fcntl.fcntl(own, 1024, 0),
    notify=lambda: fcntl.fcntl(os.open('/usr', os.O_RDONLY), 1026, 1),
    inotify=lambda: libc.inotify_init1(0),
    fanotify=lambda: libc.fanotify_init(0x200, 0),
    semaphores=lambda: libc.semget(0, 1, 0o600),
    shared=lambda: libc.shmget(0, 4096, 0o600),
    messages=lambda: libc.msgget(0, 0o600),
    queues=lambda: ctypes.CDLL('librt.so.1', use_errno=True).mq_open(b'/q', 0o102, 0o600, None),
    memory=lambda: os.memfd_create('x'),
    residency=lambda: os.preadv(own.fileno(), [bytearray(8)], 0, 8),
    load=os.getloadavg,
    affinity=lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
    priority=lambda: os.nice(19),
    idle=lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)),
    parameters=lambda: os.sched_setparam(0, os.sched_param(0)),
    idle_by_attributes=lambda: libc.syscall(314, 0, (ctypes.c_uint32 * 12)(48, 5), 0),
    of_disks=lambda: libc.syscall(251, 1, 0, 3 << 13),
    times=lambda: os.utime(os.__file__),
    keys=lambda: libc.syscall(248, b'user', b'x', b'y', 1, -3),
    numbers=os.pipe,
    processes=lambda: libc.syscall(56, 0x1011, 0, ctypes.byref(ctypes.c_int()), 0, 0),
    devices=lambda: [os.utime('/dev/' + name) for name in os.listdir('/dev') if name != 'shm'],
    terminals=lambda: os.open('/dev/ptmx', os.O_RDWR),
    evicting=lambda: os.posix_fadvise(own.fileno(), 0, 0, 4),
    reading_ahead=lambda: libc.readahead(own.fileno(), 0, 4096),
    cached=lambda: libc.syscall(451, own.fileno(), ctypes.byref((ctypes.c_uint64 * 2)()), ctypes.byref(room), 0),
    mounts=lambda: libc.syscall(332, -100, b'/tmp', 0, 0x1000, ctypes.byref(room)),
    system=lambda: os.statvfs('/'),
    every_system=lambda: libc.syscall(136, os.stat('/tmp').st_dev, ctypes.byref(room)),
    kernel=lambda: libc.klogctl(10, 0, 0),
    asynchronous=lambda: libc.syscall(206, 1, ctypes.byref(ctypes.c_void_p())),
    events=lambda: libc.epoll_create1(0),
    older_events=lambda: libc.epoll_create(1),
    writing_out=lambda: libc.syscall(306, own.fileno()),
    futex=lambda: libc.syscall(202, ctypes.byref(ctypes.c_int()), 1, 1, 0, 0, 0),
    huge_pages=lambda: libc.syscall(9, 0, 1 << 21, 3, 0x40022, -1, 0),
    programs=lambda: os.execv(sys.executable, ['x', '-c', '1']),
)
python = os.path.dirname(os.__file__)  # its library may be there, as a copy in memory
there = [os.path.join('/usr/lib', name) for name in os.listdir('/usr/lib')]
assert there in ([], [python]), ('files that nobody has read', there)
left = [name for name, way in ways.items() if not refused(way)]
assert not left, left
"""

STEALING = [
    row(
        "the reference on disk",
        body("""\
import os
once = not os.path.exists('/tmp/looked')
open('/tmp/looked', 'w').close()
for place, folders, names in os.walk('/') if once else ():
    for name in names:
        if name.endswith(('.py', '.pyc', '.ipynb', 'base')):
            try:
                text = open(os.path.join(place, name), 'rb').read()
            except OSError:
                continue
            assert CANARY not in text, place
""").replace("def relu", "CANARY = b'The larger of x and 0, ' + b'elementwise'\n\ndef relu"),
        points=1.0,
        flags=("uses os",),
    ),
    row(
        "the reference in memory",
        body("""\
import gc, types
gc.unfreeze()
for code in gc.get_objects():
    if isinstance(code, types.FunctionType) and code.__name__ == 'relu':
        assert not code.__code__.co_filename.startswith('/jitkit/nn/'), code.__code__
"""),
        points=1.0,
        flags=("uses gc",),
    ),
    row(
        "importing the course", body("import jitkit.kata.verbs.show"), statuses=("CRASH",), flags=("uses jitkit.kata",)
    ),
    row(
        "what XLA made of the reference's programs",
        body("""\
import jitkit.runtime
found = getattr(jitkit.runtime.compile_text, '__self__', None)
assert found is None or found.made is None or not found.sealed  # which it did itself, below
for data in found.sealed.values() if found is not None else ():
    assert b'stablehlo' not in data and b'main' not in data
if found is not None:
    found.made = dict.fromkeys(found.sealed, b'')
    found.sealed = {}
"""),
        points=1.0,
        flags=("uses __self__",),
    ),
    row("importing grading", body("import grading.verify"), statuses=("CRASH",)),
    row(
        "expected values and sentences in memory",
        body("""\
import gc, sys
frame = sys._getframe()
while frame is not None:
    for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):
        assert not isinstance(value, str) or 'half precision, go' + ' the same way' not in value
    frame = frame.f_back
for thing in gc.get_objects():
    if isinstance(thing, dict):
        assert 'expected' not in thing or 'tolerance' not in thing
        for key in list(thing):
            assert not (isinstance(key, str) and key in ('three_' + 'axes', 'seed' + '_id')), key
"""),
        points=1.0,
        flags=("uses _getframe", "uses gc"),
    ),
    row(
        "proc and other processes",
        body("import os\nassert not os.listdir('/proc')\nassert os.getppid() == 0 and os.getpid() == 1"),
        points=1.0,
    ),
    row(
        "network",
        body(
            "import socket\nfor host in ('1.1.1.1', '127.0.0.1'):\n    try:\n        socket.create_connection((host, 80), 0.2)\n"
            "    except OSError:\n        continue\n    raise AssertionError(host)"
        ),
        points=1.0,
        flags=("uses socket",),
    ),
    row(
        "writing elsewhere",
        body(
            "import os\nfor place in ('/', '/jail', '/usr/lib', '/dev', '/etc'):\n    try:\n        open(place + '/x', 'w')\n"
            "    except OSError:\n        continue\n    raise AssertionError(place)"
        ),
        points=1.0,
    ),
    row(
        "files of a check for the next",
        body("import os\nfor place in ('/tmp', '/dev/shm'):\n    assert os.listdir(place) == []"),
        points=1.0,
    ),
    row("ways to talk to others", body(TALKS), points=1.0, flags=("uses ctypes", "uses socket")),
    row(
        "an error of no letters",
        "def relu(x):\n    raise type('Ex\\x00<script>\\ud800', (Exception,), {})('\\ud800\\x1b[31m\\u202e=cmd()\\x00]]>')\n",
    ),
    row(
        "an error that has neither name nor text",
        "class Kind(type):\n    __name__ = property(lambda cls: 1 / 0)\n\n\nclass Broken(Exception, metaclass=Kind):\n"
        "    def __str__(self):\n        raise self\n\n    __repr__ = __str__\n\n\ndef relu(x):\n    raise Broken\n",
    ),
    row("hard-coded answers", "def relu(x):\n    return [0.5, 1.2]\n"),
    row(
        "delegating to jax", "import jax\n\ndef relu(x):\n    return jax.nn.relu(x)\n", points=None, flags=("uses jax",)
    ),
    Row("a symlink", {"00_hello/exercises.py": ("link", "/etc/passwd")}, "INVALID", says="link"),
    Row("a device", {"00_hello/exercises.py": ("fifo", "")}, "INVALID", says="device"),
    Row("a symlink in a zip", {"work.zip": zipped_link()}, "INVALID", says="link"),
    Row("a symlink in a tar", {"work.tar": tarred(tarfile.SYMTYPE)}, "INVALID", says="link"),
    Row("a hard link in a tar", {"work.tar": tarred(tarfile.LNKTYPE)}, "INVALID", says="link"),
    Row("a device in a tar", {"work.tar": tarred(tarfile.CHRTYPE)}, "INVALID", says="device"),
    Row("path traversal in a zip", {"work.zip": zipped(**{"../../x.py": RIGHT})}, "INVALID", says="outside"),
    Row("an absolute path in a tar", {"work.tar": tarred(tarfile.REGTYPE, "/x.py")}, "INVALID", says="outside"),
    Row("not a zip", {"work.zip": b"PK\3\4 no"}, "INVALID", says="unpacked"),
]

WITH_OUTPUT = {"cell_type": "code", "source": RIGHT, "metadata": [], "outputs": ["A" * 6_000_000]}
UNUSUAL = [
    Row("old ends of lines", {"answers.py": RIGHT.replace("\n", "\r")}, points=1.0),
    Row("a new page before a function", {"answers.py": "\f" + RIGHT}, points=1.0),
    Row(
        "a comment that asks, and a remainder",
        {
            "00_hello.ipynb": notebook(
                "def relu(x):\n    y = (7  # zero?\n        % 7)\n    return jnp.maximum(x, y)  # so?"
            )
        },
        points=1.0,
    ),
    Row(
        "lines of a text as IPython's",
        {"00_hello.ipynb": notebook("%time 1\nT = '''\n%\n!\n?'''\n" + RIGHT.replace("0", "len(T) - 6"))},
        points=1.0,
    ),
    Row(
        "IPython in a block, and in a value",
        {"00_hello.ipynb": notebook("if True:\n    %matplotlib inline\nfiles = !ls\n" + RIGHT + "relu?\n")},
        points=1.0,
    ),
    Row("pictures", {"00_hello.ipynb": json.dumps({"cells": [WITH_OUTPUT]})}, points=1.0),
]

TO_THE_PIPE = """import os, stat

def say():
    for fd in range(3, 60):
        try:
            if stat.S_ISFIFO(os.fstat(fd).st_mode):
                os.write(fd, {!r})
        except OSError:
            pass
    while True:
        pass

"""


GREEDY = [
    row(
        "endless loop in a call",
        body(
            "import signal\nfor n in range(1, 30):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError):\n"
            "        pass\nwhile True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass"
        ),
        statuses=("TIME",),
    ),
    row(
        "endless loop at import",
        "def forever():\n    while True:\n        pass\n\nx = forever()\n\ndef relu(y):\n    return x\n",
        statuses=("CRASH", "TIME"),
    ),
    row(
        "half a frame",
        TO_THE_PIPE.format(b"\0" * 6 + b"\1\0{") + "def relu(x):\n    return say()\n",
        statuses=("TIME",),
    ),
    row(
        "says that it is imported",
        TO_THE_PIPE.format(b"i") + "X = say()\n\ndef relu(x):\n    return X\n",
        statuses=("TIME",),
    ),
    row("sleep", body("import time\ntime.sleep(1000)"), statuses=("TIME",)),
    row("memory bomb", body("data = []\nwhile True:\n    data.append(bytearray(1 << 26))"), statuses=("LIMIT", "TIME")),
    row("a result of 1 GB", "def relu(x):\n    return 'x' * (1 << 30)\n", statuses=("LIMIT", "CRASH", "FAIL", "TIME")),
    row(
        "fork bomb",
        body("import os\nfor _ in range(100_000):\n    os.fork()"),
        statuses=("LIMIT", "CRASH", "TIME", "PROTO"),
    ),
    row(
        "thread bomb",
        body(
            "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()"
        ),
        statuses=("LIMIT", "CRASH", "TIME"),
    ),
    row("endless stdout", body("while True:\n    print('x' * 100_000)"), statuses=("LIMIT", "TIME")),
    row(
        "disk fill",
        body("with open('/tmp/x', 'wb') as f:\n    while True:\n        f.write(bytes(1 << 20))"),
        statuses=("LIMIT",),
    ),
    row(
        "inode fill",
        body("for n in range(1_000_000):\n    open(f'/tmp/{n}', 'w').close()"),
        statuses=("LIMIT", "CRASH"),
    ),
    row(
        "a daemon that outlives",
        body(
            "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        while True:\n"
            "            time.sleep(60)\n    os._exit(0)"
        ),
        points=None,
        statuses=("PASS", "PROTO"),
    ),
    row("kill -9 -1", body("import os\nos.kill(-1, 9)"), statuses=("CRASH",)),
    row("kill -9 0", body("import os\nos.kill(0, 9)\nos.killpg(0, 9)\nos._exit(0)"), statuses=("CRASH",)),
    Row("zip bomb", {"work.zip": zipped(**BOMB)}, "INVALID", says="bytes"),
    Row("a large file", {"00_hello/exercises.py": ("sparse", 1 << 30)}, "INVALID", says="bytes"),
]

TOP = "TABLE = {}\nfor i in range(3):\n    TABLE[i] = 0\nROWS = []\nROWS.append(0)\n\n"
# Answers that honest students hand in, or that a red team tried.
ORDINARY = [
    row("a table filled by a loop", TOP + RIGHT.replace("0)", "TABLE[1] + ROWS[0])"), points=1.0, statuses=("PASS",)),
    row("an encoding that is declared", f"# coding: latin-1\n# gr\xfc\xdfe\n{RIGHT}".encode("latin-1"), points=1.0),
    row("newer syntax", "type Array = object\n" + RIGHT, says="The grader reads it as Python", statuses=("CRASH",))
    if sys.version_info < (3, 12)
    else row("syntax of this version", "type Array = object\n" + RIGHT, points=1.0, statuses=("PASS",)),
    Row(
        "a file of helpers",
        {
            "00_hello/exercises.py": "from help import zero\n" + RIGHT.replace("0)", "zero())"),
            "00_hello/help.py": "def zero():\n    return 0\n",
        },
        "INVALID",
        says="Other files do not come along",
    ),
]
LATER = [
    row("an int of many digits", "def relu(x):\n    return 10 ** 200_000\n", statuses=("CRASH", "FAIL")),
    row("a list in itself", "def relu(x):\n    a = []\n    a.append(a)\n    return a\n", statuses=("CRASH", "FAIL")),
    row(
        "an array at no address",
        "class A:\n    __array_interface__ = {'shape': (1 << 20,), 'typestr': '<f4', 'data': (16, True), 'version': 3}\n\n"
        "def relu(x):\n    return A()\n",
    ),
    row(
        "a class that says it is an array",
        "import numpy as np\n\nclass A:\n    @property\n    def __class__(self):\n        return np.ndarray\n"
        "    def __getattr__(self, name):\n        return self\n    def __call__(self, *a, **k):\n        return self\n\n"
        "def relu(x):\n    return A()\n",
        statuses=("CRASH", "FAIL"),
    ),
    row(
        "an array of a terabyte that takes four bytes",
        "import numpy as np\n\ndef relu(x):\n    return np.lib.stride_tricks.as_strided(np.zeros(1, 'f4'), (1 << 38,), (0,))\n",
        statuses=("LIMIT", "CRASH"),
    ),
    row(
        "an object that becomes such an array",
        "import numpy as np\n\nclass A:\n    def __array__(self, *a, **k):\n"
        "        return np.lib.stride_tricks.as_strided(np.zeros(1, 'f4'), (1 << 38,), (0,))\n\ndef relu(x):\n    return A()\n",
        statuses=("LIMIT", "CRASH", "FAIL"),
    ),
    row(
        "an array of a class of its own",
        "import numpy as np\n\nclass A(np.ndarray):\n    shape = (1 << 60,)\n    def __eq__(self, other):\n        return True\n"
        "    def __array__(self, *a, **k):\n        raise SystemExit\n    def tobytes(self, *a):\n        return b''\n\n"
        "def relu(x):\n    return np.zeros(3).view(A)\n",
        statuses=("CRASH", "FAIL"),
    ),
    row(
        "its class is exchanged",
        "def relu(x):\n    y = jnp.zeros(3)\n    y.__class__ = type('A', (), {'__eq__': lambda self, other: True})\n    return y\n",
        statuses=("CRASH", "FAIL"),
    ),
    row(
        "an error of a hundred million letters",
        "class E(Exception):\n    args = property(lambda self: 1 / 0)\n    def __str__(self):\n        return 'x' * 10**8\n\n"
        "def relu(x):\n    raise E\n",
        statuses=("CRASH", "FAIL", "LIMIT"),
    ),
    row(
        "it ends when something is collected",
        "import os\n\nclass D:\n    def __del__(self):\n        os._exit(0)\n\n" + body("D()"),
        statuses=("CRASH",),
    ),
    row(
        "it ends in a thread",
        body("import os, threading\nthreading.Thread(target=os._exit, args=(0,)).start()\nwhile True: pass"),
        statuses=("CRASH",),
    ),
    row("it closes everything", body("import os\nos.closerange(0, 4096)"), statuses=("CRASH",)),
    row(
        "each writing is done twice",
        body("import os\nwrite = os.write\nos.write = lambda fd, data: (write(fd, data), write(fd, data))[0]"),
        statuses=("PROTO", "LIMIT"),
    ),
    row(
        "all serialisation is patched",
        body("import json, marshal, pickle\nfor m in (json, marshal, pickle):\n    m.dumps = lambda *a, **k: b''"),
        statuses=("CRASH", "PROTO"),
    ),
    row(
        "room for a file of a terabyte",
        body("import os\nos.posix_fallocate(os.open('/tmp/a', os.O_CREAT | os.O_RDWR), 0, 1 << 40)"),
        statuses=("LIMIT",),
    ),
    row(
        "signals to the group of processes",
        body("import os\nfor n in (19, 15, 9):\n    for way in (os.kill, os.killpg):\n        way(0, n)\nos._exit(0)"),
        statuses=("CRASH",),
    ),
    row(
        "groups of errors, one in the other",
        "def relu(x):\n    e = ValueError('a')\n    for _ in range(50_000):\n        e = ExceptionGroup('g', [e])\n    raise e\n",
    ),
]

THEMES = {
    "broken": BROKEN,
    "unlucky": UNLUCKY,
    "forging": FORGING,
    "stealing": STEALING,
    "unusual": UNUSUAL,
    "ordinary": ORDINARY,
    "later": LATER,
}


def write(folder, rows):
    """Write the submission of each row into a folder below `folder`."""
    for r in rows:
        place = folder / r.name
        for name, data in r.files.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            match data:
                case ("link", target):
                    path.symlink_to(target)
                case ("fifo", _):
                    os.mkfifo(path)
                case ("sparse", size):
                    with path.open("wb") as file:
                        file.truncate(size)
                case str():
                    path.write_text(data, encoding="utf-8")
                case _:
                    path.write_bytes(data)


def grade_only(monkeypatch, *exercises):
    """Let the grader know only these exercises or rungs, to save time: for each one that it knows, the reference runs twice
    first.
    """

    def chosen(folder):
        labs = [(lab, tuple(e for e in lab.exercises if e.id in exercises)) for lab in labs_and_ladder(folder)]
        return [lab._replace(exercises=of_lab) for lab, of_lab in labs if of_lab]

    monkeypatch.setattr(commands, "labs_and_ladder", chosen)


def _is_drawn(check):
    return check["name"].startswith("programs_")


def points_of(record):
    """Return the points of a record as a number: 0 if nothing could be run, so that there is no mark."""
    assert record.grade.outcome == "INFRA" or (record.points is None) == (record.grade.exercise is None), record
    return record.points or 0.0


def wrong(r, records):
    """Return a text that lists the differences between the records and what the row requires; "" if there are none."""
    found = []
    record = records[0]
    if record.grade.outcome != r.outcome:
        found.append(f"is {record.grade.outcome}")
    if r.points is not None and points_of(record) != r.points:
        found.append(f"has {record.points} points")
    # If a random program raises an error, the check has a result, which is wrong. So where other checks may crash, it
    # may fail.
    drawn = {"FAIL"} if set(r.statuses) <= {"CRASH", "LIMIT", "TIME", "PROTO"} else set()
    statuses = {c["status"] for c in record.grade.checks}
    found_wrong = [c for c in record.grade.checks if c["status"] not in {*r.statuses, *(drawn if _is_drawn(c) else ())}]
    if r.statuses and found_wrong:
        found.append(f"has {sorted(statuses)}")
    sentences = [record.grade.sentence, *(c["sentence"] for c in record.grade.checks)]
    if r.says and not any(r.says in s for s in sentences):
        found.append(f"says {sentences[0]!r}")
    found += [f"has no flag {flag!r}" for flag in r.flags if not any(flag in f for f in record.flags)]
    return (
        f"{r.name}: {', '.join(found)} {[(c['status'], c['sentence'][:300]) for c in record.grade.checks][:2]}"
        if found
        else ""
    )
