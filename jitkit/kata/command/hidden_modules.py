"""the path -> a sentence on files that Python takes for modules that we need

A learner calls a file `json.py`, or `numpy.py`. Where the folder that we are in is on Python's path, by PYTHONPATH say, such a file is
imported in the place of Python's own, or numpy. It needs next to nothing, since it is asked when imports fail.
"""

from __future__ import annotations

import os
import sys

_NEEDED = sys.stdlib_module_names | {"numpy", "ml_dtypes", "jaxlib", "jax"}


def told() -> str:
    """Which files of this folder hide a module, and what to do; nothing where there are none."""
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
