"""Holds a program while it is written: a module, and its functions line by line.

A function keeps its lines as text, each with the equation that it came from. Locations (`loc(...)`) are written only on
request.

JAX: jax/_src/interpreters/mlir.py:ModuleContext
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.util import scopes_of
from ..core.effects import Effect
from ..jaxpr import JaxprEqn
from .mlir_text import quoted, symbol_text, type_of

# in a program for several devices, the name of the mesh of an operation that runs on the first device only
FIRST_DEVICE = "maximal_mesh_0"

_WHOLE_NUMBERS = re.compile(r"[<x]u?i\d+>$")  # the type of an integer tensor

# The origin of a line: the functions around its equation ("jit(f)/jit(g)"), and the equation
Origin = tuple[str, JaxprEqn]
_AS_WRITTEN = {"scan": "while"}  # primitive -> the name of its operation in StableHLO, if it has another name


def origin_text(origin: Origin) -> str:
    """Return an origin as an MLIR location: the name that profiles and HLO show, and the Python line."""
    name_stack, eqn = origin
    # XLA inlines calls, and writes the name of the call before the names of what is in the function
    own = eqn.primitive.name
    name = quoted(joined(name_stack, eqn, f"jit({eqn.params['name']})" if own == "jit" else _AS_WRITTEN.get(own, own)))
    position = eqn.source_info.position
    if position is None:
        return f'loc("{name}")'
    return f'loc(fused["{name}", "{quoted(position.file)}":{position.line}:{position.column}])'


def joined(name_stack: str, eqn: JaxprEqn | None, own: str) -> str:
    """Return a name behind a name stack and the scopes of an equation: `jit(f)/A/jvp(B)/sin`."""
    scopes = scopes_of(eqn.source_info.name_stack) if eqn is not None else ()
    return "/".join(filter(None, (name_stack, *scopes, own)))


def location_suffix(line: str, origin: Origin | None, numbers: dict[str, int]) -> str:
    """Return the text to append to a line for its location: ` loc(#loc3)` for a line with an origin, whose number
    stands in `numbers` or is added there; ` loc(unknown)` for a constant without one; nothing for any other line.
    """
    if origin is not None:
        return f" loc(#loc{numbers.setdefault(origin_text(origin), len(numbers))})"
    return " loc(unknown)" if " = stablehlo.constant " in line else ""


class Module:
    """The shared parts of one program: its functions' texts, their symbol names, and the locations of their lines."""

    def __init__(self, name: str, platform: str) -> None:
        self.name = name
        self.platform = platform
        self.functions: list[Function] = []
        self.symbols: set[str] = set()
        self.renamed = 0
        self.function_of_jaxpr: dict[Any, Function] = {}
        self.hoisted: dict[int, Any] = {}  # id -> constant, in the order of main's arguments
        self.host_callbacks: list[Callable[..., Any]] = []  # Python functions that the program calls
        self.partitions = 1  # devices that the program is spread over
        self.mesh = ""  # how the devices are arranged, as Shardy writes it

    def symbol(self, name: str) -> str:
        """Return a function name that is not taken: `f`, or `f_0`. All functions share one count, so the next is `g_1`."""
        found = name
        while found in self.symbols:
            found = f"{name}_{self.renamed}"
            self.renamed += 1
        self.symbols.add(found)
        return found

    def text(self, debug_info: bool = False) -> str:
        """Return the whole module as text. With `debug_info`, a line from an equation ends in the number of its
        location, and the locations stand at the end.
        """
        attributes = f"mhlo.num_partitions = {self.partitions} : i32, mhlo.num_replicas = 1 : i32"
        head = f"module @{symbol_text(self.name)} attributes {{{attributes}}} {{"
        mesh = [f"  sdy.mesh @mesh = {self.mesh}"] if self.mesh else []
        if self.host_callbacks:
            mesh.append(f"  sdy.mesh @{FIRST_DEVICE} = <[], device_ids=[0]>")
        numbers: dict[str, int] | None = {} if debug_info else None  # location -> its number, each written once
        body = [line for function in self.functions for line in function.text(numbers)]
        tail = [f"#loc{n} = {text}" for text, n in (numbers or {}).items()]
        return "\n".join([head, *mesh, *body, "}", *tail]) + "\n"


class Function:
    """A function being written: the lines of its body so far, and the constants that it needs from its caller."""

    def __init__(self, module: Module, symbol: str, visibility: str, ordered: Sequence[Effect] = ()) -> None:
        self.module = module
        self.symbol = symbol
        self.visibility = visibility
        self.ordered = ordered  # the effects whose tokens it takes before its arguments, and returns before its results
        self.arguments: list[str] = []  # `%arg0: tensor<f32>`, with attributes
        self.argument_names: Sequence[str] = ()  # the user's names of the arguments, written only with locations
        self.results: list[str] = []  # the types of what it returns
        self._call_types: str | None = None
        self.hoisted: dict[int, tuple[str, str]] = {}  # id of the constant -> name and type of the argument
        self.lines: list[str] = []
        self.origins: list[Origin | None] = []
        self.counter = 0
        self.constant_stems: set[str] = set()
        self.renamed_constants = 0
        self.indent = "    "

    def fresh(self) -> str:
        """Return a new SSA name."""
        self.counter += 1
        return f"%{self.counter - 1}"

    def fresh_constant(self, type_text: str) -> str:
        """Return a new name for a constant, as MLIR gives them: `%c` for integers, `%cst` for others, then `%c_0`, `%cst_1`."""
        stem = "%c" if _WHOLE_NUMBERS.search(type_text) else "%cst"
        if stem not in self.constant_stems:
            self.constant_stems.add(stem)
            return stem
        self.renamed_constants += 1
        return f"{stem}_{self.renamed_constants - 1}"

    def write(self, line: str, origin: Origin | None) -> None:
        """Append one line to the body."""
        self.lines.append(self.indent + line)
        self.origins.append(origin)

    def define(self, text: str, origin: Origin | None, results: int = 1) -> str:
        """Append `%n = text`, or `%n:2 = text` for two results; return the new name `%n`."""
        name = f"%{self.counter}"
        self.counter += 1
        defined = name if results == 1 else f"{name}:{results}"
        self.lines.append(f"{self.indent}{defined} = {text}")
        self.origins.append(origin)
        return name

    def hoist(self, value: Any, type_text: str) -> str:
        """Make a large constant an argument of this function, and return the argument's name."""
        key = id(value)
        if key not in self.module.hoisted:
            # The owner of a numpy array may change it later: copy it.
            self.module.hoisted[key] = value.copy() if isinstance(value, np.ndarray) else value
        return self.take_hoisted(key, type_text)

    def take_hoisted(self, key: int, type_text: str) -> str:
        """Make the constant under this key in the module's `hoisted` an argument of this function, and return its name."""
        if key not in self.hoisted:
            self.hoisted[key] = f"%const{len(self.hoisted)}", type_text
        return self.hoisted[key][0]

    def call_types(self, arg_avals: Sequence[Any]) -> str:
        """Return the types of a call, `(tensor<f32>) -> tensor<f32>`. `arg_avals` are the types of the arguments
        without tokens and constants, the same in all calls, so the text is made once.
        """
        if self._call_types is None:
            tokens = ["!stablehlo.token"] * len(self.ordered)
            consts = (kind for _, kind in self.hoisted.values())
            types_out = [*tokens, *self.results]
            out_text = types_out[0] if len(types_out) == 1 else f"({', '.join(types_out)})"
            self._call_types = f"({', '.join([*tokens, *consts, *map(type_of, arg_avals)])}) -> {out_text}"
        return self._call_types

    def text(self, numbers: dict[str, int] | None) -> list[str]:
        """Return the lines of the function. With `numbers`, lines end in the numbers of their locations (`location_suffix`)."""
        own = self.arguments
        if numbers is not None and self.argument_names:
            located_names = zip(own, self.argument_names, strict=True)
            own = [f'{argument} loc("{quoted(name)}")' if name else argument for argument, name in located_names]
        tokens = [f"%token{i}: !stablehlo.token" for i in range(len(self.ordered))]
        arguments = ", ".join([*tokens, *(f"{name}: {t}" for name, t in self.hoisted.values()), *own])
        types = ["!stablehlo.token"] * len(tokens) + self.results
        results = ", ".join(types)
        if len(types) > 1 or "{" in results:
            results = f"({results})"
        arrow = " -> " if results else ""
        head = f"  func.func {self.visibility} @{symbol_text(self.symbol)}({arguments}){arrow}{results} {{"
        if numbers is None:
            return [head, *self.lines, "  }"]
        located = [
            f"{line}{location_suffix(line, origin, numbers)}"
            for line, origin in zip(self.lines, self.origins, strict=True)
        ]
        return [head, *located, "  }"]
