"""Compares the parameters of every public function with JAX's, for `parity`: names, order, kinds, defaults.

Names of parameters that can only be given by position are not compared, since a user does not write them; nor is the order of those
that can only be given by name; nor are annotations.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.scipy.stats
import numpy as np

import jitkit

MODULES = (
    "",
    *("numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "nn", "nn.initializers", "random", "ops"),
    *("scipy.special", "scipy.linalg", "scipy.stats"),
    *(
        f"scipy.stats.{name}"
        for name, value in vars(jitkit.scipy.stats).items()
        if inspect.ismodule(value) and inspect.ismodule(getattr(jax.scipy.stats, name, None))
    ),
    *("tree_util", "tree", "flatten_util", "debug", "custom_derivatives", "custom_batching", "ad_checkpoint", "dtypes"),
)
# Objects whose methods are compared: name, and a function that makes the object with a library.
OBJECTS: dict[str, Callable[[Any], Any]] = {
    "Array": lambda lib: lib.numpy.ones((2, 2)),
    "Array.at[...]": lambda lib: lib.numpy.ones(2).at[0],
    "jit(f)": lambda lib: lib.jit(abs),
    "jit(f).trace()": lambda lib: lib.jit(abs).trace(1.0),
    "jit(f).lower()": lambda lib: lib.jit(abs).lower(1.0),
    "jit(f).lower().compile()": lambda lib: lib.jit(abs).lower(1.0).compile(),
}

# Why only JAX or only jitkit has a parameter, or its default differs: (pattern of `module.function: parameter`,
# reason).
REASONS: tuple[tuple[str, str], ...] = (
    (r".*: (out_)?sharding\b", "programs do not say where their parts are: no explicit sharding"),
    (
        r"(numpy\.)?(\w+): new_val",
        "a call without the value switches the option on, or is refused; in JAX a sentinel stands for the missing value",
    ),
    (r"ShapeDtypeStruct: (manual_axis_type|is_ref)", "no `shard_map`, no references"),
    (r"shard_map: in_specs", "jitkit infers no specs: `shard_map` runs on one device"),
    (r"(grad|value_and_grad|vjp|linear_transpose): reduce_axes", "deprecated in JAX, which refuses what it is given"),
    (r"vmap: sum_match", "no `shard_map`"),
    (r"lax\.all_gather: to", "no `shard_map`"),
    (r"(checkpoint|remat): concrete", "deprecated in JAX"),
    (r"jit: (in|out)_shardings", "None means that a sharding is not given"),
    (r"lax\.scan: _|numpy\.einsum: _|debug\.print: _", "private in JAX"),
    (r"lax\.linalg\.eig: use_magma", "it chooses a library for GPUs, which jitkit does not use"),
    (
        r"numpy\.(add|bitwise_\w+|logaddexp2?|logical_\w+|maximum|minimum|multiply|negative|subtract): ",
        "in jitkit the operands have names",
    ),
    (r"numpy\.array: \*", "refused in JAX, too, after a warning"),
    (r"numpy\.set_printoptions: ", "in jitkit the parameters have names"),
    (r"lax\.(cond|switch): operand", "the default is a sentinel of jitkit's own"),
    (r"lax\.random_gamma_grad: ", "in jitkit the operands have names"),
    (r"Array\.(argsort: dtype|(std|var): mean)", "jitkit's method takes what the function takes"),
    (r"tree_util\.Partial: func", "by position only, as of functools.partial"),
    (r"numpy\.result_type: return_weak_type_flag", "the result then says, too, whether the type is weak"),
    (r"dtypes\.canonicalize_dtype: allow_extended_dtype", "only JAX itself uses it"),
    (r"jit\(f\)\.trace\(\)\.lower: _", "private in JAX"),
    (r"jit\(f\)\.lower\(\)\.compile: device_assignment", "in jitkit the arguments say where a program runs"),
    (r"jit\(f\)\.lower\(\)\.compile: (target|time_limit)", "to compile for another chip, with a limit of time"),
)


def public_functions() -> Iterator[tuple[str, Any, Any]]:
    """Yield the functions of `MODULES` and methods of `OBJECTS` that both libraries have: path, ours, JAX's."""
    owners: dict[str, Callable[[Any], Any]] = {
        inside: lambda lib, inside=inside: importlib.import_module(".".join(filter(None, (lib.__name__, inside))))
        for inside in MODULES
    }
    for inside, owner in (owners | OBJECTS).items():
        ours, theirs = owner(jitkit), owner(jax)
        for name in sorted(name for name in dir(ours) if not name.startswith("_")):
            pair = [_attribute(owner, name) for owner in (ours, theirs)]
            if all(map(_is_called_by_users, pair)):
                yield ".".join(filter(None, (inside, name))), *pair


def _is_called_by_users(x: Any) -> bool:
    """Return whether users call a function or class: they do not call errors and arrays, which the library makes."""
    return callable(x) and not (isinstance(x, type) and issubclass(x, Exception | jax.Array | jitkit.Array))


def _attribute(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name, None)
    except NotImplementedError:  # an array's property that numpy has and jitkit lacks
        return None


def parameters(function: Any) -> dict[str, inspect.Parameter] | None:
    """Return the parameters by name, in the order of a call; None for a C++ function without a signature."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return None
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return {stars.get(p.kind, p.name): p for p in found}


def default(p: inspect.Parameter) -> str:
    """Return what a default is, in a form that both libraries share."""
    value = p.default
    if value is inspect.Parameter.empty:
        return ""
    if value is None or isinstance(value, bool | int | float | complex | str | tuple | np.generic):
        return repr(value)
    return getattr(value, "__name__", type(value).__name__)


def shown(p: inspect.Parameter) -> str:
    """Return a parameter as it is written."""
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    return f"{stars}{p.name}" + (f"={default(p)}" if default(p) else "")


def differences(ours: Any, theirs: Any) -> dict[str, str]:
    """Return the differences by parameter; {} if each call of one function is a call of the other, or if one has no signature."""
    ours, theirs = parameters(ours), parameters(theirs)
    if ours is None or theirs is None:
        return {}
    found = {}
    order = [
        [_place(n, p, i) for i, (n, p) in enumerate(each.items()) if p.kind != p.KEYWORD_ONLY]
        for each in (ours, theirs)
    ]
    by_name = [{n: p for n, p in each.items() if p.kind != p.POSITIONAL_ONLY} for each in (ours, theirs)]
    for name, p in by_name[1].items():
        mine = by_name[0].get(name)
        if mine is None:
            found[name] = f"JAX has `{shown(p)}`"
        elif (mine.kind, default(mine)) != (p.kind, default(p)):
            found[name] = f"`{shown(mine)}`, in JAX `{shown(p)}`" + (" of another kind" if mine.kind != p.kind else "")
    found |= {name: f"JAX has not `{shown(p)}`" for name, p in by_name[0].items() if name not in by_name[1]}
    common = [[place for place in each if place[0] not in found] for each in order]
    if common[0] != common[1] and not found:
        found["order"] = f"{', '.join(name for name, _ in order[0])}; in JAX {', '.join(name for name, _ in order[1])}"
    return found


def _place(name: str, p: inspect.Parameter, i: int) -> tuple[str, Any]:
    return (str(i), default(p)) if p.kind == p.POSITIONAL_ONLY else (name, p.kind)


@dataclasses.dataclass
class Row:
    """The comparison of one function: its parameters, and the differences, each with or without a known reason."""

    path: str
    signature: str
    found: dict[str, str]

    def reason(self, parameter: str) -> tuple[str, str] | None:
        """Return the pattern that knows this difference, and the reason."""
        return next((row for row in REASONS if re.match(row[0], f"{self.path}: {parameter}")), None)

    def markdown(self) -> str:
        """Return the row of the table."""
        by_reason: dict[str, list[str]] = {}
        for name, text in self.found.items():
            reason = self.reason(name)
            by_reason.setdefault(reason[1] if reason else "DIFFERENT", []).append(text)
        parts = [f"{', '.join(texts)}: {reason}" for reason, texts in by_reason.items()]
        cells = f"`{self.path}`", f"`{self.signature}`" if self.signature else "", "; ".join(parts) or "same"
        return "|" + "|".join(f" {cell.replace('|', chr(92) + '|')} " if cell else " " for cell in cells) + "|"

    def unexpected(self) -> list[str]:
        """Return the differences without a reason."""
        return [f"{self.path}: {text}" for name, text in self.found.items() if self.reason(name) is None]


def rows() -> list[Row]:
    """Return a row for each function and method of `public_functions`."""
    return [Row(path, signature_text(ours), differences(ours, theirs)) for path, ours, theirs in public_functions()]


def signature_text(function: Any) -> str:
    """Return the parameters as they are written, without annotations."""
    known = parameters(function)
    if known is None:
        return ""
    parts, last = [], None
    for p in known.values():
        if last == p.POSITIONAL_ONLY != p.kind:
            parts.append("/")
        if p.kind == p.KEYWORD_ONLY and last not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
            parts.append("*")
        parts.append(shown(p))
        last = p.kind
    return ", ".join([*parts, "/"] if last == inspect.Parameter.POSITIONAL_ONLY else parts)


TEXT = """\
The parameters of {count} public functions, classes and methods: {same} take what JAX's take, by name, in the same order, of the
same kind, and with the same defaults. The rows of the others say what differs, and why.

| | parameters | beside JAX's |
|---|---|---|
"""


def render() -> str:
    """Return the section of the page."""
    everything = rows()
    same = sum(not row.found for row in everything)
    head = "## Signatures\n\n" + TEXT.format(count=len(everything), same=same)
    return head + "\n".join(row.markdown() for row in everything) + "\n"
