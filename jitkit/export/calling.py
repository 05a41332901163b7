"""Calls an Exported: as an operation, whose lowering copies the functions of its module under free names

    b:f32[3] = call_exported[exported=...] a

JAX: jax/_src/export/_export.py:call_exported_p
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..core import Primitive, get_aval, is_array_value
from ..custom_derivatives import custom_vjp
from ..interpreters.mlir import LoweringContext, register_lowering
from ..interpreters.mlir_module import Function, Module
from ..interpreters.mlir_text import symbol_text, type_of
from ..pjit.applying import apply_primitive
from ..tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from .exported import DisabledSafetyCheck, Exported, float0_zeros, is_differentiable, later

call_exported_p = Primitive("call_exported", multiple_results=True)


@call_exported_p.def_abstract_eval
def _(*avals: Any, exported: Exported) -> list[Any]:
    return list(exported.out_avals)


@call_exported_p.def_impl
def _(*args: Any, exported: Exported) -> list[Any]:
    found: list[Any] = apply_primitive(call_exported_p, *args, exported=exported)
    return found


class _Copied(Function):
    """A function of another module, as text."""

    copied: list[str]

    def text(self, numbers: dict[str, int] | None) -> list[str]:
        """Return the lines as they are. They have no locations."""
        return self.copied


_HEAD = re.compile(r"^  func\.func (?:public|private) @(\w[\w.$-]*|\"[^\"]*\")\(")


def _copy_functions(module: Module, name: str, text: str) -> Function:
    """Add the functions of a module's text to another module, renamed if their names are taken. Return the copy of `main`."""
    lines = text.splitlines()
    names = [found.group(1) for line in lines if (found := _HEAD.match(line))]
    symbols = {each: module.symbol(name if each == "main" else each.strip('"')) for each in names}
    words = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    is_name = re.compile(f"@({words})(?![\\w.$-])")
    copies: dict[str, _Copied] = {}
    copy: _Copied | None = None
    for line in lines:
        head = _HEAD.match(line)
        if head:
            copy = copies[head.group(1)] = _Copied(module, symbols[head.group(1)], "private")
            copy.copied = []
            module.functions.append(copy)
            line = line.replace("func.func public", "func.func private", 1)
            line = re.sub(r" \{(tf\.aliasing_output = \d+ : i32|jax\.buffer_donor = true)\}", "", line)
        if copy is not None:
            copy.copied.append(is_name.sub(lambda m: f"@{symbol_text(symbols[m.group(1)])}", line))
        if line == "  }":
            copy = None
    return copies["main"]


@register_lowering(call_exported_p)
def _(ctx: LoweringContext, *args: str, exported: Exported) -> list[str]:
    _check_platform(exported, ctx.module.platform)
    key = ("call_exported", id(exported))
    function = ctx.module.function_of_jaxpr.get(key)
    if function is None:
        function = _copy_functions(ctx.module, exported.fun_name, exported.mlir_module())
        ctx.module.function_of_jaxpr[key] = function
    constants = [(ctx.array_constant(value, get_aval(value)), get_aval(value)) for value in exported.constants]
    kept = [(args[i], exported.in_avals[i]) for i in exported.module_kept_var_idx]
    operands = [*constants, *kept]
    types = ", ".join(type_of(aval) for _, aval in operands)
    results = [type_of(aval) for aval in exported.out_avals]
    of_results = results[0] if len(results) == 1 else f"({', '.join(results)})"
    names = ", ".join(name for name, _ in operands)
    text = f"call @{symbol_text(function.symbol)}({names}) : ({types}) -> {of_results}"
    called = ctx.emit_text(text, len(results))
    return [called] if len(results) == 1 else [f"{called}#{i}" for i in range(len(results))]


def _check_platform(exported: Exported, platform: str) -> None:
    names = {"gpu": ("cuda", "rocm", "gpu")}.get(platform, (platform,))
    if DisabledSafetyCheck.platform() not in exported.disabled_safety_checks and not set(names) & set(
        exported.platforms
    ):
        raise ValueError(
            f"Function '{exported.fun_name}' was exported for platforms '{exported.platforms}' but it is used on '{names[:1]}'."
        )


def _call(exported: Exported, *args: Any, **kwargs: Any) -> Any:
    leaves, tree = tree_flatten((args, kwargs))
    if tree != exported.in_tree:
        raise ValueError(
            "The invocation args and kwargs must have the same pytree structure as when the function "
            f"'{exported.fun_name}' was exported, but they have the following structural differences:\n"
            f"  exported: {exported.in_tree}\n  called:   {tree}"
        )
    _check_avals(exported, leaves, (args, kwargs))
    return tree_unflatten(exported.out_tree, _differentiable(exported)(*leaves))


def _check_avals(exported: Exported, leaves: Sequence[Any], tree: Any) -> None:
    paths = [path for path, _ in tree_flatten_with_path(tree)[0]]
    for path, leaf, expected in zip(paths, leaves, exported.in_avals, strict=True):
        if not is_array_value(leaf):
            continue  # binding the operation raises TypeError for this value
        aval = get_aval(leaf)
        name = f"args{keystr(path[1:])}" if path[0].idx == 0 else f"kwargs{keystr(path[1:])}"
        if len(aval.shape) != len(expected.shape):
            raise ValueError(f"Rank mismatch for {name}: expected {expected.shape} and called with {aval.shape}")
        if aval.dtype != expected.dtype:
            raise ValueError(f"Dtype mismatch for {name}: expected {expected.dtype} and called with {aval.dtype}")
        for i, (size, asked) in enumerate(zip(aval.shape, expected.shape, strict=True)):
            if size != asked:
                raise ValueError(
                    f"Shape mismatch for {name}.shape[{i}] (expected same constant): expected {expected.shape} and called with "
                    f"{aval.shape}"
                )


def _differentiable(exported: Exported) -> Any:
    """Return the function of leaves, with the exported reverse pass as its derivative."""

    @custom_vjp
    def flat(*leaves: Any) -> list[Any]:
        found: list[Any] = call_exported_p.bind(*leaves, exported=exported)
        return found

    def forward(*leaves: Any) -> tuple[list[Any], tuple[Any, ...]]:
        return flat(*leaves), leaves

    def backward(leaves: tuple[Any, ...], cts: Sequence[Any]) -> tuple[Any, ...]:
        reverse = exported.vjp()
        given = [
            ct if is_differentiable(aval) else _zeros(aval) for ct, aval in zip(cts, exported.out_avals, strict=True)
        ]
        found = _differentiable(reverse)(*leaves, *given)
        return tuple(
            ct if is_differentiable(aval) else float0_zeros(aval)
            for ct, aval in zip(found, exported.in_avals, strict=True)
        )

    flat.defvjp(forward, backward)
    return flat


def _zeros(aval: Any) -> Any:
    return float0_zeros(aval).astype(bool).astype(aval.dtype)


later.call = _call
