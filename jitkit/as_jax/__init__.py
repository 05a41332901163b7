"""Makes the name `jax` mean jitkit in this process: programs and libraries written for JAX run on it unmodified.

    python -m jitkit.as_jax train.py --lr 0.1       also -m MODULE and -c CODE
    python -m jitkit.as_jax --explain train.py      and report at the end why each jitted function was traced and
                                                    compiled
    python -m jitkit.as_jax --explore DIR train.py  and write the Explorer's page of each jitted function into DIR
    python -m pytest -p jitkit.as_jax tests         other people's tests
    import jitkit.as_jax; jitkit.as_jax.install()   the first line of a notebook

Input: a program that says `import jax`. Output: its output, with `sys.modules["jax"] is jitkit`. In the order of
reading:

    finding         name of a JAX module -> our module of that name, one object, executed once
    set_aside       keeps JAX itself, which the gate imports, out of `sys.modules`
    private_names   the few names of `jax._src` that libraries use, and which libraries
    refusals        errors where `jax` cannot be replaced: JAX was imported before, or jitkit lacks a module
    programs        FILE, -m MODULE or -c CODE -> the program, run as Python runs it
    arguments       command line -> what to run, and what to report at the end
    explaining      the misses of a run -> a table of jitted functions, the most expensive first
    exploring       the calls of a run -> the Explorer's page of each jitted function, and an index

JAX: jax/_src/api.py:jit
"""

from __future__ import annotations

from .finding import install as install
from .finding import is_installed as is_installed


def pytest_addoption() -> None:
    """Install jitkit as JAX when pytest reads `-p jitkit.as_jax`: before any `conftest.py`, and before other plugins import JAX."""
    install()
