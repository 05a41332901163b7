"""The machine behind the door. This file is given, for rungs 19 and up: text of C goes in, a function of arrays comes out.

    run = cc.compile(text)          # text with a function `void run(...)`, whose parameters are pointers
    y = cc.alloc((3, 4), "float32") # memory for an array, with any numbers in it; all memory that `run` works in comes from here
    run(cc.put(x), y)               # `run` gets a pointer to the first number of each; the numbers of an array lie row after row

Nothing checks that a pointer has the type that the text says, or that an index stays within its array: a mistake gives wrong numbers, or
ends the process. `compiled`, `loops` (the outermost loops in all texts), `executed`, `most` (the most bytes that were alive at one time)
and `texts` count and keep what was asked of the machine.
"""

import ctypes
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import weakref

import numpy as np

compiled = loops = executed = alive = most = 0
texts = []
_alive = {}  # where memory begins that `alloc` gave, and that is not gone -> its bytes
# -ffast-math is not among them: it lets a compiler take x - x for 0 and forget that nan exists.
FLAGS = [
    "-O3",
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fopenmp-simd",
    "-w",
]


class Buffer(np.ndarray):
    """Memory of this machine, as an array of numpy."""


def alloc(shape, dtype):
    """Return memory for an array."""
    global alive, most
    shape, dtype = tuple(np.atleast_1d(shape).astype(int).tolist()), np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.empty(size + 64, np.uint8)  # some more, so that it can begin where a line of the cache does
    start = -memory.ctypes.data % 64
    alive += size
    most = max(most, alive)
    _alive[memory.ctypes.data] = size
    weakref.finalize(memory, _gone, memory.ctypes.data)
    return memory[start : start + size].view(dtype).reshape(shape).view(Buffer)


def _gone(place):
    global alive
    alive -= _alive.pop(place)


def _is_ours(x):
    """Whether x is an array in memory that `alloc` gave."""
    whole = x
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    return isinstance(x, Buffer) and whole.ctypes.data in _alive and x.flags.c_contiguous


def put(x):
    """Return memory with the numbers of a numpy array, row after row."""
    x = np.asarray(x)
    buffer = alloc(x.shape, x.dtype)
    buffer[...] = x
    return buffer


def compile(source):
    """Compile a text of C. Return its function `run`, which takes Buffers; if the text is wrong, raise the compiler's message."""
    global compiled, loops
    library = translate(source)
    compiled, loops = compiled + 1, loops + outermost_loops(source)
    texts.append(source)
    folder = tempfile.mkdtemp()
    try:
        path = os.path.join(folder, "program.so")
        with open(path, "wb") as file:
            file.write(library)
        run = ctypes.CDLL(path).run
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # it is loaded; Windows keeps the file
    run.restype = None

    def program(*buffers):
        global executed
        for x in buffers:
            if not _is_ours(x):
                raise TypeError(
                    f"{type(x)} is not memory of this machine: cc.put(x) and cc.alloc(shape, dtype) give some"
                )
        executed += 1
        run(*[ctypes.c_void_p(x.__array_interface__["data"][0]) for x in buffers])

    return program


def translate(source):
    """Return the machine code of a text: the bytes of a shared library."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path, made = os.path.join(folder, "program.c"), os.path.join(folder, "program.so")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        command = [*compiler(), *FLAGS, "-shared", "-fPIC", "-o", made, path, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise ValueError(f"the C compiler has an objection to the text:\n{done.stderr[:2000]}")
        with open(made, "rb") as file:
            return file.read()


@functools.cache
def compiler():
    """Return the command of a C compiler: cc, clang or gcc, or that of the package ziglang."""
    for name in ("cc", "clang", "gcc"):
        if found := shutil.which(name):
            return [found]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise RuntimeError(
        "there is no C compiler here: no cc, clang or gcc on the PATH. `pip install ziglang` brings one."
    )


def outermost_loops(source):
    """Return the number of `for` and `while` loops in a C text that are in no other loop: each is a pass over memory."""
    source = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|^\s*#[^\n]*', " ", source, flags=re.DOTALL | re.MULTILINE)
    found, depth, inside = 0, 0, None  # `inside` is the depth of braces and parentheses at which the loop at hand began
    for token in re.findall(r"\b(?:for|while)\b|[(){};]", source):
        if token in "({":
            depth += 1
        elif token in ")}":
            depth -= 1
        elif token != ";" and inside is None:
            found, inside = found + 1, depth
        if inside is not None and depth == inside and token in ";}":
            inside = None
    return found
