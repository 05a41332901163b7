"""Holds the options, and what the current thread is doing.

Besides its arguments, two kinds of state decide what a call does: the *options* (x64, disable_jit, ...) and the
*current trace*. Both live here, in one thread-local object, because every warm call reads them: one attribute,
`local.state.key`, tells whether the thread runs eagerly, and with which options. While no trace is active it is the
interned options; under a trace (or with `disable_jit`) it is None, which is never a key of a dispatch table, so the
call is recorded.

An option has a global value (environment variable, then `config.update`), which a context manager may override for a
thread. Options that change what a trace records or what is compiled are part of `Options`, the interned tuple in every
key; the others (reports, caches, guards) are not.

Nothing is silently ignored: an assignment to this module, an unknown name or a wrong value is an error. `options` lists
the options, and those of JAX's that have no effect here.

JAX: jax/_src/config.py:Config
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import itertools
import sys
import threading
import types
import weakref
from collections.abc import Callable, Hashable, Iterator
from typing import Any, ClassVar

from . import late_rooms
from .options import OPTIONS, PARTS, WITHOUT_EFFECT, Option, boolean, from_environment
from .util import NameStack


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Options:
    """The options in every cache key, because they change what is traced or compiled. Interned: equal ones are identical."""

    enable_x64: bool
    disable_jit: bool
    numpy_dtype_promotion: str
    numpy_rank_promotion: str
    default_matmul_precision: str | None
    debug_nans: bool
    debug_infs: bool
    debug_key_reuse: bool
    no_execution: bool
    default_prng_impl: str
    threefry_partitionable: bool
    default_device: Any
    axis_env: tuple[tuple[Hashable, int], ...]  # not an option: the named axes
    mesh: Any  # not an option: the mesh of `set_mesh`, or else of a block `with mesh:`


_KEY_OPTIONS = tuple(field.name for field in dataclasses.fields(Options) if field.name not in ("axis_env", "mesh"))


_globals: dict[str, Any] = {option.name: from_environment(option) for option in OPTIONS.values()}
_globals |= {option.name: option.default for option in WITHOUT_EFFECT.values()}
when_updated: dict[
    str, Callable[[str, Any], None]
] = {}  # beginning of options' names, up to a "_" -> function to call with the name and the new value
read_once: set[str] = set()  # options that cannot change any more, since they were used
_interned: dict[tuple[Any, ...], Options] = {}
_states: weakref.WeakSet[ThreadState] = weakref.WeakSet()
_lock = threading.Lock()


class ThreadState:
    """The state of one thread: its current trace, its overridden options, and the key that combines both for dispatch."""

    __slots__ = (
        "__weakref__",
        "axis_env",
        "compile_time",
        "key",
        "mesh",
        "mesh_block",
        "name_stack",
        "options",
        "overrides",
        "run_options",
        "source",
        "trace",
        "warned",
    )
    knows_x64: ClassVar[bool] = False  # whether x64 mode has ever been on, in any thread

    def __init__(self) -> None:
        self.trace: Any = None  # None: run eagerly; otherwise the Trace that `Primitive.bind` hands its operands to
        self.overrides: dict[str, Any] = {}
        self.compile_time = False  # whether we are in `ensure_compile_time_eval`
        self.name_stack = NameStack()
        self.source: Any = None  # the SourceInfo of the equation that is being traced again, if any
        self.axis_env: tuple[tuple[Hashable, int], ...] = ()
        self.mesh: Any = None  # the mesh of `set_mesh`
        self.mesh_block: Any = None  # the mesh of a block `with mesh:`
        self.warned = False  # whether the library has warned since this was set to False
        self.refresh()
        with _lock:
            _states.add(self)

    def refresh(self) -> None:
        """Recompute `run_options`, `options` (only those that tracing reads) and `key` after an option has changed."""
        merged = _globals | self.overrides
        ThreadState.knows_x64 |= merged["enable_x64"]
        values = (
            *[merged[name] for name in _KEY_OPTIONS],
            self.axis_env,
            self.mesh_block if self.mesh is None else self.mesh,
        )
        self.run_options = _interned.setdefault(values, Options(*values))
        self.options = of_traces(self.run_options)
        self.refresh_key()

    def refresh_key(self) -> None:
        """Recompute `key` after the current trace has changed."""
        self.key: Options | None = self.run_options if self.trace is None and not self.options.disable_jit else None


def of_traces(options: Options) -> Options:
    """Return the options that tracing reads. Others are read when a program runs: `debug_nans` does not need another trace."""
    if not (options.debug_nans or options.debug_infs):
        return options
    values: tuple[Any, ...] = tuple(
        False if field.name in ("debug_nans", "debug_infs") else getattr(options, field.name)
        for field in dataclasses.fields(options)
    )
    return _interned.setdefault(values, Options(*values))


class _Local(threading.local):
    state: ThreadState

    def __init__(self) -> None:
        self.state = ThreadState()


local = _Local()  # `config.local.state` is the calling thread's ThreadState


def _canonical_name(name: str) -> str:
    """Return our name of an option (`enable_x64`), given that or JAX's (`jax_enable_x64`). Raise AttributeError for another name."""
    short = name.removeprefix("jax_").removeprefix("jitkit_")
    short = {"platform_name": "platforms"}.get(short, short)
    if short not in _globals:
        names_of_jax = late_rooms.import_room(".names_of_jax", __package__)
        known = (
            f"\n{names_of_jax.sentence(f'jax.config.jax_{short}')}" if short in names_of_jax.missing("config") else ""
        )
        raise AttributeError(f"Unrecognized config option: {name}{known}\nThe options are {', '.join(OPTIONS)}.")
    return short


def _option(name: str) -> Option:
    """Return an option, given its name or JAX's. Raise AttributeError for another name."""
    short = _canonical_name(name)
    return OPTIONS.get(short) or WITHOUT_EFFECT[short]


def value(name: str) -> Any:
    """Return the option's value for this thread."""
    overrides = local.state.overrides
    return overrides[name] if name in overrides else _globals[name]


def x64() -> bool:
    """Return whether this thread keeps 64-bit types."""
    return local.state.options.enable_x64


def update(name: str, new_value: Any) -> None:
    """Set an option, and the options that it sets (`PARTS`), for every thread that does not override them. The name may
    carry JAX's prefix: `jax_enable_x64`.

    Raise AttributeError for an unknown name, with the known ones; ValueError for a value that the option does not take;
    RuntimeError for a new value after the option was read for good.
    """
    option = _option(name)
    parsed = _parsed(option, new_value)
    if option.name in read_once and parsed != _globals[option.name]:
        raise RuntimeError(
            f"jax_{option.name} config should be updated before backends are initialized i.e. before any JAX operation is executed. "
            "You should initialize this config immediately after `import jax`."
        )
    _globals[option.name] = parsed
    for name in PARTS.get(option.name, ()):
        update(name, parsed)
    with _lock:
        for state in list(_states):
            state.refresh()
    for beginning, then in when_updated.items():
        if option.name.startswith(f"{beginning}_"):
            then(option.name, parsed)


def parse_flags_with_absl() -> None:
    """Set the options from the command line: `--jax_enable_x64`, `--jax_enable_x64=false`, `--nojax_enable_x64`.

    If the program has imported absl's flags, register the names there, so that absl does not refuse them.
    """
    config_with_absl()
    before = itertools.takewhile(lambda word: word != "--", sys.argv[1:])
    for word in [each.lstrip("-") for each in before if each.startswith("-")]:
        name, is_given, text = word.partition("=")
        if name.startswith("nojax_"):
            update(name.removeprefix("no"), False)
        elif name.startswith("jax_"):
            update(name, text if is_given else True)


def config_with_absl() -> None:
    """Define an absl flag for each option, if the program has imported absl's flags: when absl's app has parsed the command
    line, the flags that stand there set their options.
    """
    flags = sys.modules.get("absl.flags")
    if flags is None:
        return
    for option in OPTIONS.values():
        if f"jax_{option.name}" not in flags.FLAGS:
            define = flags.DEFINE_bool if option.parse is boolean else flags.DEFINE_string
            now = value(option.name)
            define(
                f"jax_{option.name}",
                str(now) if isinstance(now, int) and option.parse is not boolean else now,
                option.doc,
            )
    importlib.import_module("absl.app").call_after_init(lambda: _take_flags(flags.FLAGS))


def _take_flags(flags: Any) -> None:
    for name in [f"jax_{option}" for option in OPTIONS]:
        if name in flags and flags[name].present:
            update(name, flags[name].value)


@contextlib.contextmanager
def override(**values: Any) -> Iterator[None]:
    """Set options for this thread within the block: `with config.override(enable_x64=True): ...`. Raise AttributeError
    for an unknown option, ValueError for a value that it does not take.
    """
    parsed = {option.name: _parsed(option, new) for name, new in values.items() for option in (_option(name),)}
    state = local.state
    before = state.overrides
    state.overrides = before | parsed
    try:
        state.refresh()
        yield
    finally:
        state.overrides = before
        state.refresh()


@contextlib.contextmanager
def named_axis(name: Hashable, size: int) -> Iterator[None]:
    """Make an axis of this name and size known to `lax.psum` and other collectives in the block, beside outer ones of
    other names. With the name None, add none.
    """
    if name is None:
        yield
        return
    state = local.state
    before = state.axis_env
    state.axis_env = (*[axis for axis in before if axis[0] != name], (name, size))
    try:
        state.refresh()  # an error leaves nothing behind: a value may have no hash
        yield
    finally:
        state.axis_env = before
        state.refresh()


def _parsed(option: Option, new_value: Any) -> Any:
    try:
        return option.parse(new_value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"option {option.name}: {error}") from None


def __getattr__(name: str) -> Any:
    """Return an option's value for this thread: `config.enable_x64`, `config.jax_enable_x64`. Raise AttributeError for another name."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "values":  # all options, as JAX has them
        return {f"jax_{each}": value(each) for each in _globals}
    try:
        return value(_canonical_name("enable_x64" if name == "x64_enabled" else name))
    except AttributeError as error:
        rest = str(error).partition("\n")[2]
        raise AttributeError(f"'Config' object has no attribute {name!r}\n{rest}") from None


def read(name: str) -> Any:
    """Return an option's value for this thread, like the attribute of `config`. Raise AttributeError for another name."""
    return value(_canonical_name(name))


def describe() -> str:
    """Return a text with a line for each option: its name, value and effect."""
    return "\n".join(f"{name} = {value(name)!r}  # {option.doc}" for name, option in OPTIONS.items())


class _Config(types.ModuleType):
    """This module's class: it refuses assignments, since `config.enable_x64 = True` would set an attribute, not the option."""

    def __setattr__(self, name: str, new_value: Any) -> None:
        if name not in vars(self) and not name.startswith("__"):
            _canonical_name(name)
            raise AttributeError(
                "property of 'Config' object has no setter\n"
                f"Write `config.update({name!r}, {new_value!r})`, or, for a while, `with config.override(...):`."
            )
        super().__setattr__(name, new_value)


sys.modules[__name__].__class__ = _Config
