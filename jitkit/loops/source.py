"""Nests, steps and a plan -> C

Each nest is a function, and its buffers are arguments with `restrict`: the plan ensures that no two buffers share
memory within a nest, and the compiler cannot move reads between functions. `run` takes the pointers of the inputs, the
pointers of the outputs, and the workspace.

JAX: jax/_src/interpreters/mlir.py:lower_jaxpr_to_module
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..jaxpr import Jaxpr
from . import control, folding, joining
from .formulas import TYPES, c_type, helpers_of, neutral
from .language import ELEMENTS, Block, Reader, check
from .nests import Buffer, Inner, Nest, Place
from .passes import optimised
from .plan import LINE, Plan, plan_of
from .products import GEMM
from .writer import Writer, known_primitives

RULES_OF = (control, folding, joining)  # importing these fills the writer's table of rules
_TOKEN = re.compile("\x01(\\w+)\\|([^|]*)\\|([^\x02]*)\x02")
_COUNTER = re.compile(r"\bk\d+\b")


@dataclasses.dataclass(frozen=True)
class Source:
    """A C program, with the size of its workspace in bytes, its loops and costs, and the arrays that are passed before
    the arguments.
    """

    text: str
    workspace: int
    loops: int
    costs: dict[str, float]
    consts: tuple[Any, ...]


def refuse_unknown(function: str, jaxpr: Jaxpr) -> None:
    """Raise NotImplementedError for an operation or a type without C, with its name and line."""
    check(function, jaxpr, known_primitives())


def write(function: str, jaxpr: Jaxpr) -> Source:
    """Return a traced function as C. Its inputs are its `consts`, then the inputs of the jaxpr."""
    refuse_unknown(function, jaxpr)
    reader = Reader()
    block = reader.block(jaxpr)
    block = optimised(Block([*reader.const_values, *block.ins], block.ops, block.outs))
    writer = Writer()
    fixed: list[tuple[Buffer, str, bool]] = []
    for number, value in enumerate(block.ins):
        buffer = Buffer(f"in{number}", value.aval.dtype, value.aval.size, True)
        fixed.append((buffer, f"in[{number}]", False))
        writer.where[value] = Place(buffer, tuple(value.shape))
    aims = []
    for number, out in enumerate(block.outs):
        buffer = Buffer(f"out{number}", out.aval.dtype, out.aval.size, True)
        fixed.append((buffer, f"out[{number}]", True))
        aims.append(Place(buffer, tuple(out.shape)))
    writer.block(block, aims)
    nests = [step for step in writer.steps if isinstance(step, Nest)]
    plan = plan_of(writer.buffers, nests, writer.regions)
    functions, steps, depth = [], [], 1
    for step in writer.steps:
        depth -= not isinstance(step, Nest) and step.startswith("}")
        line = step if not isinstance(step, Nest) else ""
        if isinstance(step, Nest):
            function_text, line = _function(step, plan)
            functions.append(function_text)
        steps.append("  " * depth + line)
        depth += line.endswith("{")
    declared = [f"  {c_type(b)} *{b.name} = {where};" for b, where, _ in fixed if _is_named(b, steps)]
    declared += [
        f"  {c_type(b)} *{b.name} = (void *)(work + {plan.offsets[b]});" for b in writer.buffers if b in plan.offsets
    ]
    run = "\n".join(["void run(void **in, void **out, char *work) {", *declared, *steps, "}", ""])
    body = "\n".join([*functions, run])
    gemms = [GEMM.replace("TYPE", t) for t in ("f32", "f64") if f"gemm_{t}(" in body]
    text = "\n".join(
        [
            f"// {function}\n{TYPES}",
            helpers_of(body),
            _reductions(body),
            *gemms[:1],
            *(g.split("\n", 1)[1] for g in gemms[1:]),
            body,
        ]
    )
    loops = (
        sum(max(len(nest.inner), 1) if nest.shape else 0 for nest in nests)
        + body.count("  gemm_")
        + text.count(") gemm_")
    )
    return Source(text, plan.size + LINE, loops, _costs(writer, nests, plan), tuple(reader.consts))


def _is_named(buffer: Buffer, steps: Sequence[str]) -> bool:
    return any(re.search(rf"\b{buffer.name}\b", line) for line in steps)


def _function(nest: Nest, plan: Plan) -> tuple[str, str]:
    """Return a nest as a function in C, and the call of that function."""
    writes = {access.buffer for access in nest.accesses if access.is_write}
    used = {access.buffer.name: access.buffer for access in nest.accesses if access.buffer not in plan.unread}
    rows = {buffer.name for buffer in plan.rows}
    unread = {buffer.name for buffer in plan.unread}

    def element(match: re.Match[str]) -> str:
        name, outer, inner = match.groups()
        parts = [part for part in (("" if name in rows else outer), inner) if part not in ("", "0")]
        return f"{name}[{' + '.join(parts) or 0}]"

    def lines(of: Sequence[str], indent: int) -> list[str]:
        kept = [line for line in of if not ((match := _TOKEN.match(line)) and match[1] in unread)]
        return ["  " * indent + _TOKEN.sub(element, line) for line in kept]

    depth = max(len(nest.shape) - 1, 0)
    text = ["  " * (k + 1) + _head(nest, k) for k in range(depth)]
    for inner in nest.inner:
        text += lines(inner.before, depth + 1)
        if nest.shape:
            text += [*_pragmas(inner, depth + 1), "  " * (depth + 1) + _head(nest, depth)]
            text += lines(inner.body, depth + 2)
            text.append("  " * (depth + 1) + "}")
        else:
            text += lines(inner.body, depth + 1)
        text += lines(inner.after, depth + 1)
    text += ["  " * k + "}" for k in range(depth, 0, -1)]
    body = "\n".join(text)
    arguments = [f"{'' if b in writes else 'const '}{c_type(b)} *restrict {name}" for name, b in used.items()]
    counters = sorted(set(_COUNTER.findall(body)))
    arguments += [f"i64 {name}" for name in counters]
    name = f"loop{nest.number}"
    about = "\n".join(f"// {source.rstrip()}" for source in nest.sources)
    head = f"LOOP {name}({', '.join(arguments) or 'void'}) {{"
    call = f"{name}({', '.join([*used, *counters])});"
    return "\n".join([*([about] if about else []), head, body, "}", ""]), call


def _head(nest: Nest, depth: int) -> str:
    return f"for (i64 i{depth} = 0; i{depth} < {nest.shape[depth]}; i{depth}++) {{"


def _pragmas(inner: Inner, indent: int) -> list[str]:
    """Return the pragma that lets the compiler vectorise this loop, and reorder its reductions; [] if the loop is `serial`."""
    if inner.serial:
        return []
    folds = []
    for kind, name, ctype in inner.folds:
        if kind in ("sum", "prod"):
            folds.append(f" reduction({'+' if kind == 'sum' else '*'}:{name})")
        elif kind in ("max", "min"):
            folds.append(f" reduction({kind}_{ctype}:{name})")
        else:
            folds.append(f" reduction({ {'and': '&', 'or': '|', 'xor': '^'}[kind] }:{name})")
    return [f"{'  ' * indent}#pragma omp simd{''.join(folds)}"]


def _reductions(body: str) -> str:
    """Return pragmas that define the reductions in the C text `body`, such as `reduction(max_f32:a)`."""
    lines = []
    for name in sorted(set(re.findall(r"reduction\((\w+_\w+):", body))):
        kind, ctype = name.split("_")
        least = neutral(kind, np.dtype(next(dtype for dtype, t in ELEMENTS.items() if t == ctype)))
        what = f"omp declare reduction({name} : {ctype} : omp_out = {name}(omp_out, omp_in)) initializer(omp_priv = {least})"
        lines.append(f"#pragma {what}\n")
    return "".join(lines)


def _costs(writer: Writer, nests: Sequence[Nest], plan: Plan) -> dict[str, float]:
    """Return the numbers of operations ("flops"), of expensive ones among them ("transcendentals"), and of bytes moved
    ("bytes accessed"): a nest counts each array that it reads or writes once.
    """
    costs: dict[str, float] = dict(writer.costs)
    for nest in nests:
        turns, elements = writer.trips_of[nest.number], 1
        for size in nest.shape:
            elements *= size
        costs["flops"] += turns * elements * nest.flops
        costs["transcendentals"] += turns * elements * nest.dear
        kept = {access.buffer for access in nest.accesses} - plan.rows - plan.unread
        costs["bytes accessed"] += turns * sum(min(b.size, max(elements, 1)) * b.dtype.itemsize for b in kept)
    return costs
