"""A user's function, and types -> its trace; and its program for each chip, or the error."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jitkit
from jitkit import ShapeDtypeStruct
from jitkit.base.errors import JaxRuntimeError
from jitkit.pjit.function import is_jitted, unbound
from jitkit.pjit.stages import Traced
from jitkit.targets import Compilers, Target, TargetError, TargetProgram, find

from ..problems import Problem, WrongUsage
from . import of_jax
from .sample_call import shapes_needed

Outcome = TargetProgram | TargetError


def choose(names: Iterable[str], *more: Target) -> list[Target]:
    """Return the targets of these names, each once, from the table or from `more`. Raise WrongUsage for an unknown
    name.
    """
    others = {target.name: target for target in more}
    try:
        return [others[name] if name in others else find(name) for name in dict.fromkeys(names)]
    except ValueError as error:
        raise WrongUsage(str(error).replace("\n", ". ")) from None


def trace(function: Callable[..., Any], shapes: Sequence[ShapeDtypeStruct], file: str) -> Traced:
    """Trace a function of `file`, jitted or not, for these types. Raise Problem, with the reason, if that fails. Raise WrongUsage, which
    says what to change, for a function that JAX made, and if tracing fails in a function that uses JAX's names.
    """
    if of_jax.made_by_jax(function):
        raise WrongUsage(of_jax.sentence(function, file))
    plain, arguments = unbound(function, shapes)
    jitted: Any = plain if is_jitted(plain) else jitkit.jit(plain)
    try:
        traced: Traced = jitted.trace(*arguments)
    except Exception as error:
        # An error of the user's function is for the user to read.
        said = f"{type(error).__name__}: {error}"
        if of_jax.names_of_jax(function):
            first, *_ = said.splitlines()  # the error's later lines give advice on imports, too
            raise WrongUsage(f"{of_jax.sentence(function, file)}\n{first}") from None
        lines = [
            line
            for frame, line in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename == os.path.abspath(file)
        ]
        raise Problem(f"{shapes_needed(function, shapes, lines[-1] if lines else None)}\n{said}") from None
    return traced


def compile_for(traced: Traced, target: Target, compilers: Compilers) -> Outcome:
    """Return a traced function's program for a target, or the error that says why there is none."""
    try:
        return traced.lower(lowering_platforms=(target.platform,))._compile_for(target, compilers)
    except TargetError as error:
        return error
    # no lowering or program for this platform: a rule is missing, or the function calls Python back or takes several devices
    except (NotImplementedError, ValueError, JaxRuntimeError) as error:
        return TargetError("refused", str(error))


def signature(traced: Traced) -> str:
    """Return the signature of a traced function: `layer(x: float32[8], b: float32[])`."""
    avals = traced.jaxpr.in_avals
    names = traced.jaxpr.debug_info.safe_arg_names(len(avals))
    arguments = ", ".join(f"{n}: {a.str_short()}" for n, a in zip(names, avals, strict=True))
    return f"{traced.fun_name}({arguments})"
