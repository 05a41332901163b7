"""a package with a compiler of its own -> what its programs ask of it: what they say in rungs 19 and up of the ladder

Like `climbing`, it is loaded by its path, without jitkit. The package runs with `xla` and, if it imports it, `cc`; the
reference has neither, and answers with what is right.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def _is_package() -> bool:
    return "xla" in sys.modules


def own(jk: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    """`jit(f)` by a package's own compiler. The reference has XLA, and computes the same."""
    found: Callable[..., Any] = jk.jit(f, backend="own") if _is_package() else jk.jit(f)
    return found


def behind(
    f: Callable[..., Any],
    *args: Any,
    compiled: int | None = None,
    loops: int | None = None,
    memory: int | None = None,
    says: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """What a call returns, and what it asked of `cc`: at most so many texts, loops in them, and bytes alive at one time, and how often
    they say a function of C (`{"sin": 1}` counts `sinf(`, too). XLA runs nothing meanwhile, and `cc` something. What is within its bound
    is given as the bound, which is also what the reference answers.
    """
    before = _asked(start=True)
    found = {"result": f(*args)}
    after = _asked()
    texts = "\n".join(after["texts"][len(before["texts"]) :])
    bounds = {
        "texts of C that were compiled": (compiled, after["compiled"] - before["compiled"]),
        "loops that stand in no other": (loops, after["loops"] - before["loops"]),
        "bytes alive at one time": (memory, after["most"] - before["alive"]),
    }
    for word, times in (says or {}).items():
        bounds[f"times that the C says {word}"] = times, len(re.findall(rf"\b{word}f?\s*\(", texts))
    found |= {what: max(bound, actual) for what, (bound, actual) in bounds.items() if bound is not None}
    found["programs executed by XLA"] = after["by xla"] - before["by xla"]
    found["a program of cc was run"] = not _is_package() or after["executed"] > before["executed"]
    return found


def _asked(start: bool = False) -> dict[str, Any]:
    """What was asked of both machines so far. From the start on, `most` is counted anew."""
    cc: Any = sys.modules.get("cc")
    if cc is not None and start:
        cc.most = cc.alive
    found = {name: getattr(cc, name, 0) for name in ("compiled", "loops", "executed", "alive", "most")}
    return found | {"texts": list(getattr(cc, "texts", ())), "by xla": getattr(sys.modules.get("xla"), "executed", 0)}


def optimised(jk: Any, f: Callable[..., Any], *args: Any, left: Sequence[str]) -> dict[str, Any]:
    """What `core.optimise` leaves of a program, by the names of primitives, and what that returns."""
    closed = jk.make_jaxpr(f)(*args)
    names = list(left)
    if _is_package():
        closed = jk.core.optimise(closed)
        names = [str(eqn.primitive.name) for eqn in closed.jaxpr.eqns]
    result = jk.core.eval_jaxpr(closed.jaxpr, closed.consts, *args)
    return {"result": list(result), "equations that are left": sorted(names)}


def refused(f: Callable[..., Any], *args: Any, word: str) -> str:
    """How a program is refused that has no C: by a NotImplementedError with this word in it."""
    right = f"a NotImplementedError that says {word}"
    if not _is_package():
        return right
    try:
        f(*args)
    except NotImplementedError as error:
        return right if word in str(error) else f"NotImplementedError: {error}"
    return "it was not refused"
