"""JAX's function + types -> Subject, through JAX's public API

This module does the same to JAX's jaxprs as `equations` does to ours: each equation gets a scope with its number. Then the marked jaxpr
becomes a function (`jax.extend.core.jaxpr_as_fun`), which `jax.jit` traces and lowers like any other. JAX evaluates each equation in its
scopes, so XLA compiles the user's program, with the numbers of its equations.

Large constants become arguments, so that they are not written into the text.

Besides `runtime` and `bench`, only this module and `jax_calls` import JAX. They explore JAX's functions; no call of ours goes through them.

JAX: jax/_src/stages.py:Traced
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Sequence
from typing import Any

from ..base import traceback_util
from . import equations
from .equation import Equation, Place, file_in
from .listing import Listing, owners
from .locations import with_numbers
from .subject import Failure, Subject, argument, cut_short

_PLATFORMS = {"gpu": "cuda"}
_HOISTED_BYTES = 1 << 14
_ANNOTATION = re.compile(r"\s+# \[([^\]]*)\]\s*$")


def made_by_jax(function: Callable[..., Any]) -> bool:
    """Return whether `jax.jit` made this function, or the function of this bound method."""
    function = getattr(function, "__func__", function)
    return hasattr(function, "lower") and (type(function).__module__ or "").partition(".")[0] in ("jax", "jaxlib")


class _JaxDialect:
    """Implements `Dialect` for JAX's jaxprs."""

    def __init__(self, core: Any) -> None:
        self.core = core

    def inside(self, value: Any) -> Any:
        if isinstance(value, self.core.ClosedJaxpr):
            return value.jaxpr
        return value if isinstance(value, self.core.Jaxpr) else None

    def with_equations(self, value: Any, eqns: list[Any]) -> Any:
        if isinstance(value, self.core.ClosedJaxpr) and value.jaxpr is not value:
            return value.replace(jaxpr=value.jaxpr.replace(eqns=eqns))
        return value.replace(eqns=eqns)

    def marked(self, eqn: Any, params: dict[str, Any], mark: str) -> Any:
        source = eqn.source_info
        return eqn.replace(params=params, source_info=source.replace(name_stack=source.name_stack.extend(mark)))

    def place(self, eqn: Any) -> Place | None:
        return _place(eqn.source_info.traceback)

    def names(self, eqn: Any) -> str:
        return str(eqn.source_info.name_stack)

    def is_library_s(self, inner: Any) -> bool:
        file = file_in(getattr(inner.debug_info, "func_src_info", None))
        return bool(file) and _is_jax(file)

    def is_literal(self, atom: Any) -> bool:
        return isinstance(atom, self.core.Literal)


def _place(traceback: Any) -> Place | None:
    """Return the innermost line of the user's code, or else of another library's; None if all lines are JAX's."""
    if traceback is None:
        return None
    library: Place | None = None
    for frame in traceback.frames:
        if _is_jax(frame.file_name):
            continue
        place = Place(frame.file_name, frame.line_num, frame.function_name)
        if not _is_installed(frame.file_name):
            return place
        library = library or place
    return library


def _is_jax(file: str) -> bool:
    loaded = [sys.modules[name] for name in ("jax", "jaxlib") if name in sys.modules]
    folders = [os.path.dirname(module.__file__ or "") for module in loaded]
    return file.startswith("<frozen") or any(file.startswith(folder + os.sep) for folder in folders)


def is_machinery(file: str) -> bool:
    """Return whether a file is JAX's or ours."""
    return _is_jax(file) or traceback_util.is_own_file(file)


def _is_installed(file: str) -> bool:
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return any(file.startswith(folder + os.sep) for folder in folders) or traceback_util.is_own_file(file)


def jaxpr_listing(jaxpr: Any) -> Listing:
    """Return the lines of the jaxpr as JAX prints it, each with its equation. It comes from `equations.numbered`, so
    the numbers are in the name stacks, which JAX prints if asked.
    """
    lines: list[str] = []
    begun: list[int | None] = []
    for line in jaxpr.pretty_print(use_color=False, name_stack=True).rstrip().splitlines():
        found = _ANNOTATION.search(line)
        marks = equations.numbers_in(found[1]) if found else []
        lines.append(line[: found.start()] if found else line)
        begun.append(marks[0] if marks else None)
    listing = Listing("jaxpr")
    for text, number in zip(lines, owners(lines, begun), strict=True):
        listing.add(text, [] if number is None else [number])
    return listing


def subject(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Subject:
    """Trace `function`, jitted or not, with JAX, and return it as a Subject. If its code raises, the subject has a `Failure`."""
    jax, core = importlib.import_module("jax"), importlib.import_module("jax.extend.core")
    plain = inspect.unwrap(function)
    name = getattr(function, "__name__", type(function).__name__)
    args, kwargs = [_spec(jax, arg) for arg in args], kwargs or {}
    jitted: Any = function if made_by_jax(function) else jax.jit(_hashable(function))
    filtering = jax.config.jax_traceback_filtering
    try:
        jax.config.update("jax_traceback_filtering", "off")  # keep JAX's frames: one of them has the trace
        traced = jitted.trace(*args, **kwargs)
    except (Exception, SystemExit) as error:
        return _failed(core, plain, name, error)
    finally:
        jax.config.update("jax_traceback_filtering", filtering)
    closed, found = equations.numbered(traced.jaxpr, _JaxDialect(core))
    large = [i for i, const in enumerate(closed.consts) if getattr(const, "nbytes", 0) > _HOISTED_BYTES]
    consts = list(closed.consts)

    def with_marks(*values: Any) -> Any:
        own = list(consts)
        for i, value in zip(large, values, strict=False):
            own[i] = value
        return core.jaxpr_as_fun(closed.replace(consts=own))(*values[len(large) :])

    with_marks.__name__ = with_marks.__qualname__ = name
    types = [jax.ShapeDtypeStruct(consts[i].shape, consts[i].dtype) for i in large]
    types += [jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type) for aval in closed.in_avals]

    def stablehlo(platform: str) -> str:
        lowered = jax.jit(with_marks).trace(*types).lower(lowering_platforms=(_PLATFORMS.get(platform, platform),))
        return with_numbers(lowered.as_text(debug_info=True))

    arguments = _arguments(closed.jaxpr.debug_info, closed.in_avals)
    constants = [aval.str_short() for aval in (var.aval for var in closed.jaxpr.constvars)]
    return Subject("jax", name, plain, arguments, found, jaxpr_listing(closed.jaxpr), stablehlo, stablehlo, constants)


def _arguments(debug_info: Any, avals: Sequence[Any]) -> list[str]:
    names = getattr(debug_info, "arg_names", None) or ()
    if len(names) != len(avals):
        names = [f"argument {i}" for i in range(len(avals))]
    return [argument(n, aval) for n, aval in zip(names, avals, strict=True)]


def _hashable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that has a hash, as `jax.jit` demands. A callable object with arrays in it, such as an equinox
    module, has none.
    """
    try:
        hash(function)
        return function
    except TypeError:

        def called(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        vars(called)["__signature__"] = inspect.signature(function)  # the names of the arguments
        return called


def _spec(jax: Any, value: Any) -> Any:
    """Return an argument with jitkit's `ShapeDtypeStruct` replaced by JAX's; return any other argument unchanged."""
    if type(value).__name__ == "ShapeDtypeStruct" and not isinstance(value, jax.ShapeDtypeStruct):
        impl = getattr(value.dtype, "_impl", None)  # only the dtype of random keys has one
        return jax.ShapeDtypeStruct(value.shape, jax.random.key(0, impl=impl.name).dtype if impl else value.dtype)
    return value


def _failed(core: Any, function: Callable[..., Any], name: str, error: BaseException) -> Subject:
    """Return the subject of a function that raised while it was traced: the failure, and the equations that the
    outermost trace recorded before it.
    """
    frame: Any = None
    place: Place | None = None
    link = error.__traceback__
    while link is not None:
        code = link.tb_frame.f_code
        if frame is None and _is_jax(code.co_filename):
            frame = getattr(link.tb_frame.f_locals.get("trace"), "frame", None)
        if not _is_jax(code.co_filename) and not _is_installed(code.co_filename):
            place = Place(code.co_filename, link.tb_lineno, code.co_qualname, code)
        link = link.tb_next
    numbered: list[Equation] = []
    listing = Listing("jaxpr")
    arguments: list[str] = []
    if hasattr(frame, "get_eqns"):  # a private name of JAX's: in a release without it, the page shows the error alone
        arguments = _arguments(frame.debug_info, [var.aval for var in frame.invars])
        partial = core.Jaxpr(
            [], list(frame.invars), [], frame.get_eqns(), debug_info=frame.debug_info._replace(result_paths=())
        )
        marked, numbered = equations.numbered(partial, _JaxDialect(core))
        listing = cut_short(jaxpr_listing(marked), numbered)
    failure = Failure("tracing", type(error).__name__, str(error), place)
    return Subject("jax", name, function, arguments, numbered, listing, None, None, [], failure)
