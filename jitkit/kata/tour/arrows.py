"""Shows the five stages of one call, each by its result."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jitkit
from jitkit.base import stage_log
from jitkit.jaxpr import Jaxpr, subjaxprs
from jitkit.misses.explain import explain

from ..screens.terminal import Screen, duration
from .example import selu


def show_function(screen: Screen) -> None:
    """Show the function that goes through the stages, as its author wrote it."""
    screen.heading("The function")
    screen.code(source_of(selu))
    screen.code("x = one million normally distributed float32 numbers, on the device")


def source_of(function: Callable[..., Any]) -> str:
    """Return the source of a function without its docstring and annotations, which only our own checks need. Raise TypeError for
    anything but a `def`.
    """
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    if not isinstance(tree, ast.FunctionDef):
        raise TypeError(f"expected the source of a function, got {ast.dump(tree)}")
    tree.returns = None
    for argument in tree.args.args:
        argument.annotation = None
    tree.body = tree.body[1:] if ast.get_docstring(tree) else tree.body
    return ast.unparse(tree)


def show_arrows(screen: Screen, x: Any, folder: Path) -> None:
    """Show the five stages of `selu(x)`, each by its result. The full texts go to files in the folder."""
    jitted = jitkit.jit(selu)
    with stage_log.listen() as events:
        traced = jitted.trace(x)
        _show_signature(screen, traced)
        _show_jaxpr(screen, traced.jaxpr)
        lowered = traced.lower()
        _show_stablehlo(screen, lowered.as_text())
        with screen.progress("XLA compiles"):
            compiled = lowered.compile()
        seconds = {event.stage: event.seconds for event in events if event.function == "selu"}
        _show_hlo(screen, compiled, seconds.get("compilation", 0.0))
    _show_cache(screen, jitted, x)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("2-selu.jaxpr.txt", traced.jaxpr.pretty_print(use_color=False)),
        ("3-selu.stablehlo.mlir", lowered.as_text(debug_info=True)),
        ("4-selu.optimised-hlo.txt", compiled.as_text()),
    ):
        (folder / name).write_text(text + "\n", encoding="utf-8")


def _show_signature(screen: Screen, traced: Any) -> None:
    screen.heading("1  Signature", "call → signature + leaves")
    screen.text(
        "Arguments are flattened to arrays, and each array is reduced to its type. Of the million numbers "
        "only this is left, and it is all that the compiled program will depend on:",
        2,
    )
    names = traced.jaxpr.debug_info.arg_names
    for name, aval in zip(names, traced.jaxpr.in_avals, strict=True):
        screen.code(f"{name}: {aval.str_short()}")
    screen.code(f"tree of (args, kwargs): {traced.in_tree}")
    screen.text("alpha and lmbda were not passed: they are Python numbers inside the function.", 2, "dim")


def _show_jaxpr(screen: Screen, jaxpr: Jaxpr) -> None:
    screen.heading("2  Trace", "function + avals → Jaxpr")
    screen.text(
        "Python ran the function once, on a tracer in place of x. It saw a type and no numbers; each "
        "operation was written down as an equation.",
        2,
    )
    screen.code(jaxpr.pretty_print(use_color=False))
    count = count_equations(jaxpr)
    screen.text(
        f"{count} operations; f32 is float32, and 1.6699999570846558 is the float32 next to 1.67. The 0.0 is float32[] "
        "and not float32[1000000]: a scalar stays one. jnp.where is jitted itself, so it is an equation with a "
        "jaxpr inside, which shares the letters of its operands.",
        2,
        "dim",
    )


def count_equations(jaxpr: Jaxpr) -> int:
    """Return the number of equations of a jaxpr and of the jaxprs inside it, without the equations that call `jit`."""
    calls = sum(eqn.primitive.name == "jit" for eqn in jaxpr.eqns)
    return len(jaxpr.eqns) - calls + sum(count_equations(inner) for inner in subjaxprs(jaxpr))


def _show_stablehlo(screen: Screen, text: str) -> None:
    screen.heading("3  Lower", "Jaxpr → StableHLO")
    screen.text(
        "Each equation became a line or two in the language that XLA reads. Nothing is optimised yet, and "
        "every intermediate result is an array of a million numbers.",
        2,
    )
    screen.code(text)


def _show_hlo(screen: Screen, compiled: Any, seconds: float) -> None:
    screen.heading("4  Compile", "StableHLO → executable")
    text = compiled.as_text()
    fused, entry = fusion_and_entry(text)
    if fused:
        screen.text(
            f"XLA took {duration(seconds)}, and put all of it into one loop, a fusion. At the right edge, "
            "the equation that a line came from:",
            2,
        )
        screen.code(
            "\n".join(line for line, _ in fused), notes={i: f"← {note}" for i, (_, note) in enumerate(fused) if note}
        )
    else:
        screen.text(f"XLA took {duration(seconds)}. On this device it left the operations apart:", 2)
    screen.code(
        "\n".join(line for line, _ in entry),
        notes={i: "← one pass over memory" for i, (line, _) in enumerate(entry) if " fusion(" in line},
    )
    costs = compiled.cost_analysis()
    if costs.get("bytes accessed", 0) > 0:
        screen.text(
            f"Memory traffic, as XLA counts it: {costs['bytes accessed'] / 1e6:.0f} MB. x is read once, the "
            "result written once, 4 MB each; nothing in between touches memory.",
            2,
            "dim",
        )


_LINE = re.compile(r"^\s*(?:ROOT )?(?P<name>%[\w.-]+) = \S+ (?P<operation>[\w-]+)\((?P<operands>[^)]*)\)")
_EQUATION = re.compile(r'op_name="[^"]*?(?P<name>\w+)"')


def fusion_and_entry(hlo: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the body of a program's first fusion, and its entry function: lines, each with the name of its equation.

    Layouts and metadata are left out, and constants are written where they are used. The body is empty if nothing is
    fused.
    """
    blocks = re.findall(r"^((?:ENTRY )?%[\w.-]+ \(.*?^\})$", hlo, re.MULTILINE | re.DOTALL)
    entry = next((block for block in blocks if block.startswith("ENTRY")), "")
    called = re.search(r"fusion\(.*?calls=(%[\w.-]+)", entry)
    fused = next((block for block in blocks if called and block.startswith(called[1] + " ")), "")
    return _tidy(fused), _tidy(entry)


def _tidy(block: str) -> list[tuple[str, str]]:
    lines = []
    constants: dict[str, str] = {}
    for line in block.splitlines():
        match = _LINE.match(line)
        if match and match["operation"] == "constant":
            constants[match["name"]] = match["operands"]
        elif match and match["operation"] == "broadcast" and match["operands"] in constants:
            constants[match["name"]] = constants[match["operands"]]
        else:
            bare = re.sub(r", (?:metadata|backend_config)=\{.*", "", line)
            bare = re.sub(r"(?<=\])\{[\d,]*\}", "", bare)
            bare = re.sub(r"%[\w.-]+", lambda operand: constants.get(operand[0], operand[0]), bare)
            note = _EQUATION.search(line)
            computes = match and match["operation"] not in ("parameter", "fusion", "call")
            lines.append((bare, note["name"] if note and computes else ""))
    return lines


def _show_cache(screen: Screen, jitted: Any, x: Any) -> None:
    screen.heading("5  Cache", "signature → executable")
    jitted.clear_cache()
    half = x[: x.size // 2]
    rows = [("call", "traced", "compiled", "entries in the cache")]
    for label, argument in (("selu(x)", x), ("selu(x), again", x), ("selu(half of x)", half)):
        with stage_log.listen() as events:
            jitted(argument).block_until_ready()
        stages = [event.stage for event in events if event.function == "selu"]
        rows.append(
            (label, _yes(stages.count("tracing")), _yes(stages.count("compilation")), str(jitted._cache_size()))
        )
    screen.text(
        "The executable is kept under the signature. A call with a signature that is known does none of the above:", 2
    )
    screen.table(rows, align="<<<<", indent=4)
    screen.text("Why the last call missed, as jitkit.explain(selu) puts it:", 2)
    for line in explain(jitted).misses[-1].lines():
        screen.text(line.strip(), 4)


def _yes(count: int) -> str:
    return "yes" if count else "-"
