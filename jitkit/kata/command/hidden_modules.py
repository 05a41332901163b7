"""Python's path -> a sentence about files that hide modules that we need

A learner may name a file `json.py`, or `numpy.py`. If the folder of this file is on Python's path, for example by
PYTHONPATH, Python imports the file in place of its own module, or of numpy. This module imports almost nothing, since
it is used when imports fail.
"""

from __future__ import annotations

import os
import sys

_NEEDED = sys.stdlib_module_names | {"numpy", "ml_dtypes", "jaxlib", "jax"}


def told() -> str:
    """Return a sentence with the files of the current folder that hide a module, and advice; "" if there are none."""
    here = os.path.realpath(os.curdir)
    taken = {
        os.path.dirname(os.path.realpath(getattr(sys.modules.get(name), "__file__", None) or "/")) for name in _NEEDED
    }
    if here not in taken.union(map(os.path.realpath, sys.path)):
        return ""
    names = sorted(
        {name.partition(".")[0] for name in os.listdir(here) if _is_module(os.path.join(here, name))} & _NEEDED
    )
    if not names:
        return ""
    files = ", ".join(name + (".py" if os.path.isfile(os.path.join(here, name + ".py")) else "/") for name in names)
    what, it = (
        (f"a module that is called {names[0]}, too", "it")
        if len(names) == 1
        else ("modules that are called so, too", "them")
    )
    return (
        f"this folder has {files}, and jitkit needs {what}. Python finds yours first, since {here} is on its path "
        f"(by PYTHONPATH, or by `python -m`): rename {it}, or take the folder off the path."
    )


def _is_module(path: str) -> bool:
    return path.endswith(".py") or os.path.isfile(os.path.join(path, "__init__.py"))
