"""code of a target -> Listing: LLVM IR, PTX or bundles, each linked to its kernel

A kernel has the name of its instruction, with an underscore for each dot. That links it: the equations stand at its first
line, and the indented lines below belong to it. (With the equations of a large kernel at each line, a page of 10,000
equations would have 150 MB.)

JAX: jax/_src/stages.py:Compiled.runtime_executable
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .listing import Listing

MOST_CHARACTERS = 150_000  # more of a target's code is left out
_DEFINED = re.compile(r'^define [^@]*@"?([\w.$-]+)"?\(|^\s*\.visible \.entry\s+([\w$]+)|^\.entry\s+([\w$]+)')
_LANGUAGES = {"cpu": "llvm", "gpu": "ptx", "tpu": "bundles"}


def listing(platform: str, code: Mapping[str, str], hlo: Listing) -> Listing:
    """Return a listing of the code of all kernels, one below the other. After `MOST_CHARACTERS` it says how many lines
    are left out.
    """
    of_kernel: dict[str, list[int]] = {}
    for line, numbers in zip(hlo.lines, hlo.equations, strict=True):
        name, equals, _ = line.strip().removeprefix("ROOT ").partition(" = ")
        if equals and numbers:
            of_kernel.setdefault(_plain(name), numbers)
    found = Listing(_LANGUAGES[platform])
    left = MOST_CHARACTERS
    total = sum(text.count("\n") + 1 for text in code.values())
    for name, text in code.items():
        if left <= 0:
            break
        head = found.add(f"; {name}" if platform == "cpu" else f"// {name}", of_kernel.get(_plain(name), []))
        for line in text.rstrip().expandtabs(4).splitlines():
            row = found.add(f"  {line}" if line.strip() else "")
            left -= len(found.lines[row])
            defined = _DEFINED.match(line)
            if defined:
                symbol = _plain(next(group for group in defined.groups() if group))
                own = of_kernel.get(symbol) or of_kernel.get(symbol.removesuffix("_kernel")) or []
                found.equations[head] += [number for number in own if number not in found.equations[head]]
            if left <= 0:
                break
    if total > len(found.lines):
        found.add(f"... {total - len(found.lines)} lines more are left out here")
    return found


def _plain(name: str) -> str:
    return re.sub(r"\W", "_", name)
