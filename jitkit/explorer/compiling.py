"""StableHLO -> the compilers' answers: several run at once, and their answers are kept

Each compiler runs in its own process (`targets.process`). Their answers depend only on the text, the target and the
packages (for the target "cpu", also on this machine's processor). They are kept in the user's cache folder under a hash
of the text, the target and the packages, as plain JSON: nothing in the folder is ever run as code. If the folder cannot
be written, they are not kept, without an error.

JAX: jax/_src/compilation_cache.py:put_executable_and_time
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import sys
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..base.errors import JaxRuntimeError
from ..base.whole_file import write_whole
from ..targets import Compilers, Target, TargetError, TargetProgram, obstacle
from ..targets.table import compiler_of

_FORMAT = "3"  # the version of the form in which answers are kept
_MOST_BYTES = 256 << 20  # all answers together may take this on disk
_MOST_FOR_PASSES = 400_000  # characters of StableHLO; the passes of longer programs are not dumped
TIME_LIMIT = 100.0  # seconds: the page waits for the slowest target (libtpu needs minutes for 10,000 equations)


def compile_all(
    name: str,
    stablehlo: Callable[[str], str],
    targets: Sequence[Target],
    time_limit: float | None = None,
    keep: bool = True,
    answered: Callable[[str], object] = lambda target: None,
) -> dict[str, dict[str, Any]]:
    """Compile for each target. Return the answers by the targets' names: `hlo`, `cost`, `memory`, `code` and so on, or
    `reason` and `error`.

    Args:
      name: the function's, for messages.
      stablehlo: returns the program's text for a platform.
      time_limit: seconds for each target; None means `TIME_LIMIT`.
      keep: whether to look for answers in the user's cache folder, and to keep new ones there.
      answered: called from another thread with the name of each target that is done.
    """
    texts: dict[str, str | Exception] = {}
    for target in targets:
        if target.platform not in texts and obstacle(target) is None:
            texts[target.platform] = _lowered(stablehlo, target.platform)

    asked = {target.name: Compilers(TIME_LIMIT if time_limit is None else time_limit) for target in targets}

    def one(target: Target) -> dict[str, Any]:
        text = texts.get(target.platform)
        try:
            absent = obstacle(target)
            if absent is not None:
                raise absent
            if isinstance(text, Exception) or text is None:
                raise TargetError("refused", str(text))
            path = _path(target, name, text)
            known = _load(path) if keep else None
            if known is None:
                with asked[target.name] as compilers:
                    options = [("xla_dump_hlo_pass_re", ".*")] if len(text) < _MOST_FOR_PASSES else []
                    known = _answer(compilers.compile(name, text, target, options))
                if keep:
                    _store(path, known)
        except TargetError as error:
            known = {"reason": error.reason, "error": str(error)}
        answered(target.name)
        return known

    with ThreadPoolExecutor(max_workers=max(1, len(targets))) as pool:
        try:
            return dict(zip((target.name for target in targets), pool.map(one, targets), strict=True))
        except BaseException:  # after Ctrl-C nobody wants the results, and leaving the pool would wait for them
            for compilers in asked.values():
                compilers.abandon()
            raise


def _lowered(stablehlo: Callable[[str], str], platform: str) -> str | Exception:
    try:
        return stablehlo(platform)
    # for example, this platform lacks a lowering rule that the program needs
    except (NotImplementedError, ValueError, TypeError, JaxRuntimeError) as error:
        return error


def _answer(program: TargetProgram) -> dict[str, Any]:
    cost, memory, size = program.cost_analysis(), program.memory_analysis(), program.code_size()
    return {
        "hlo": program.as_text(),
        "cost": {"numbers": dict(cost), "source": cost.source},
        "memory": {"numbers": dict(memory), "source": memory.source},
        "code": program.code(),
        "size": {"size": size[0], "unit": size[1]} if size else None,
        "launches": program.launches() if program.target.platform == "gpu" else [],
        "passes": program.passes,
        "seconds": program.seconds,
        "compiler": program.compiler,
    }


# --- the folder -----------------------------------------------------------------------------------------------


def folder() -> pathlib.Path:
    """Return the folder of the answers: `explorer` in jitkit's part of the user's cache folder."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(pathlib.Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(pathlib.Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
    return pathlib.Path(base) / "jitkit" / "explorer"


def _path(target: Target, name: str, text: str) -> pathlib.Path | None:
    key = "\0".join([_FORMAT, target.name, target.description, compiler_of(target), name, text])
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    try:
        return folder() / f"{digest[:40]}.json.z"
    except RuntimeError:  # the user has no home folder
        return None


def _load(path: pathlib.Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        found: dict[str, Any] = json.loads(zlib.decompress(path.read_bytes()))
        os.utime(path)
    except (OSError, ValueError, zlib.error):  # not there, or damaged: it is made anew
        return None
    return found if found.keys() >= {"hlo", "cost", "memory", "code"} else None


def _store(path: pathlib.Path | None, answer: dict[str, Any]) -> None:
    if path is None:
        return
    with contextlib.suppress(OSError):
        write_whole(path, zlib.compress(json.dumps(answer).encode(), 3), make_folder=True)
        _make_room(path.parent)


def _make_room(where: pathlib.Path) -> None:
    """Delete the least recently used answers, until the others fit."""
    files = sorted(where.glob("*.json.z"), key=lambda each: each.stat().st_mtime, reverse=True)
    total = 0
    for each in files:
        total += each.stat().st_size
        if total > _MOST_BYTES:
            each.unlink(missing_ok=True)
