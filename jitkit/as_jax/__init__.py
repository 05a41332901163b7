"""Within this process the name `jax` means jitkit: programs and libraries that were written for JAX run on it unmodified.

    python -m jitkit.as_jax train.py --lr 0.1       also -m MODULE and -c CODE
    python -m jitkit.as_jax --explain train.py      and at the end: what each jitted function was traced and compiled for
    python -m pytest -p jitkit.as_jax tests         other people's tests
    import jitkit.as_jax; jitkit.as_jax.install()   the first line of a notebook

Comes in: a program that says `import jax`. Goes out: what it does, with `sys.modules["jax"] is jitkit`. In the order of reading:

    finding         name of a module of JAX's -> our module of that name, one object, executed once
    set_aside       JAX itself, which the gate imports -> out of the way
    private_names   the few names of `jax._src` that libraries take, and who takes them
    refusals        what is said where the name cannot be had: JAX was imported before, or jitkit lacks a module
    programs        FILE, -m MODULE or -c CODE -> the program, run as Python runs it
    arguments       words of the command line -> what is run, and what is told of it at the end
    explaining      the misses of a run -> a table of jitted functions, the dearest first

JAX: jax/_src/api.py:jit
"""

from __future__ import annotations

from .finding import install as install
from .finding import is_installed as is_installed


def pytest_addoption() -> None:
    """Install when pytest reads `-p jitkit.as_jax`: before any `conftest.py`, and before other plugins import JAX."""
    install()
