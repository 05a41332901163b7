"""a package with its own compiler -> what the programs of rungs 19 and up ask about it

Like `climbing`, it is loaded by its path, without jitkit. The package runs with `xla` and, if it imports it, `cc`. The
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
    """Return `jit(f)` by a package's own compiler. The reference uses XLA, and computes the same."""
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
    """Return what a call returns, and what it asked of `cc`: the number of texts, of loops in them, of bytes alive at
    one time, and how often the texts name a function of C (`{"sin": 1}` counts `sinf(`, too). Meanwhile XLA must run
    nothing, and `cc` must run something.

    The arguments are bounds. A count within its bound is returned as the bound, which is also the reference's answer.
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
    """Return what both machines were asked so far. With `start`, the peak `most` is counted anew from here."""
    cc: Any = sys.modules.get("cc")
    if cc is not None and start:
        cc.most = cc.alive
    found = {name: getattr(cc, name, 0) for name in ("compiled", "loops", "executed", "alive", "most")}
    return found | {"texts": list(getattr(cc, "texts", ())), "by xla": getattr(sys.modules.get("xla"), "executed", 0)}


def optimised(jk: Any, f: Callable[..., Any], *args: Any, left: Sequence[str]) -> dict[str, Any]:
    """Return the equations that `core.optimise` leaves of a program, by the names of primitives, and what the program
    returns.
    """
    closed = jk.make_jaxpr(f)(*args)
    names = list(left)
    if _is_package():
        closed = jk.core.optimise(closed)
        names = [str(eqn.primitive.name) for eqn in closed.jaxpr.eqns]
    result = jk.core.eval_jaxpr(closed.jaxpr, closed.consts, *args)
    return {"result": list(result), "equations that are left": sorted(names)}


def refused(f: Callable[..., Any], *args: Any, word: str) -> str:
    """Return how a program without C is refused: by a NotImplementedError with this word in it."""
    right = f"a NotImplementedError that says {word}"
    if not _is_package():
        return right
    try:
        f(*args)
    except NotImplementedError as error:
        return right if word in str(error) else f"NotImplementedError: {error}"
    return "it was not refused"
