"""pytest in a workspace of jitkit: each check is a test item, `02_jaxpr/exercises.py::02.3::operands_in_order`.

pytest loads this file in every project of an environment in which jitkit is installed. So it imports nothing, and does nothing
until it meets the `exercises.py` of a workspace; the rest is in `jitkit.kata.pytest.labs`. It is a module of its own because
a module inside of `jitkit` would import jitkit.
"""

from __future__ import annotations

import importlib
import pathlib
from typing import Any


def pytest_collect_file(file_path: pathlib.Path, parent: Any) -> Any:
    """The checks of a lab, where a file is the learner's file of one."""
    if file_path.name != "exercises.py" or not (file_path.parents[1] / ".jitkit").is_dir():
        return None
    return importlib.import_module("jitkit.kata.pytest.labs").ExercisesFile.from_parent(parent, path=file_path)
