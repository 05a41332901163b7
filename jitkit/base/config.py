"""Options, and what the current thread is doing.

Two kinds of state decide what a call means besides its arguments: the *options* (x64, disable_jit, ...) and
the *current trace*. Both live here, in one thread-local object, because every warm call reads them: one
attribute read, `local.state.key`, tells whether the thread runs eagerly, and with which options. It is
the interned options while no trace is active, and None under a trace (or with `disable_jit`), so a dispatch
table keyed by it can never answer for a call that should have been recorded.

An option has a global value (environment variable, then `config.update`) and may be overridden for a thread
by a context manager. Options that change what a trace records or what is compiled are part of `Options`, the
interned tuple in every key; the others only change what is reported.

Nothing that is said to an option is silently nothing: an assignment, a name or a value that it does not know is an
error, and a variable of the environment that looks like one of ours and is none, a warning.

JAX: jax/_src/config.py:Config
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import itertools
import operator
import os
import re
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

from .name_stack import NameStack


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Options:
    """The options that are part of every cache key, because they change what is traced or compiled. Interned:
    equal means identical.
    """

    enable_x64: bool
    disable_jit: bool
    numpy_dtype_promotion: str
    numpy_rank_promotion: str
    default_matmul_precision: str | None
    debug_nans: bool
    debug_key_reuse: bool
    no_execution: bool
    axis_env: tuple[tuple[Hashable, int], ...]  # no option: the named axes around
    default_device: Any  # no option: what a block of `default_device` was told


_KEY_OPTIONS = tuple(
    field.name for field in dataclasses.fields(Options) if field.name not in ("axis_env", "default_device")
)


class _Option(NamedTuple):
    name: str
    default: Any
    parse: Callable[[Any], Any]
    doc: str


def _boolean(value: Any) -> bool:
    if isinstance(value, str):
        if value.lower() in ("1", "true", "on", "yes", "y", "t"):
            return True
        if value.lower() in ("0", "false", "off", "no", "n", "f", ""):
            return False
    elif value in (0, 1):  # also False, and numpy's
        return bool(value)
    raise ValueError(f"expected a boolean such as 1 or 0, got {value!r}")


def _optional_text(value: Any) -> str | None:
    if value is not None and not isinstance(value, (str, os.PathLike)):
        raise ValueError(f"expected text or None, got {value!r}")
    return None if value in (None, "") else str(value)


def _count(value: Any) -> int:
    """A whole number from 1 on: an int, or text."""
    try:
        number = int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1 or isinstance(value, bool):
        raise ValueError(f"expected a whole number, 1 or more, got {value!r}")
    return number


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _only(allowed: Any, why: str) -> Callable[[Any], Any]:
    """For options that JAX has, and we have with one value."""

    def parse(value: Any) -> Any:
        if str(value).lower() != str(allowed).lower():
            raise ValueError(f"only {allowed} is supported: {why}; got {value!r}")
        return allowed

    return parse


def _bytes(value: Any) -> int:
    """A number of bytes: an int, or text such as 1000000, 512M or "1 GiB"."""
    match = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:I?B)?", str(value).strip().upper())
    if match is None:
        raise ValueError(f"expected a number of bytes such as 1000000, 512M or 1GiB, got {value!r}")
    return int(match.group(1)) * _UNITS[match.group(2)]


def _one_of(*allowed: str | None) -> Callable[[Any], str | None]:
    """For an option with a few values; where None is one of them, a variable of the environment says so by being empty."""
    texts, or_none = [text for text in allowed if text is not None], "None or " if None in allowed else ""

    def parse(value: Any) -> str | None:
        if value in texts if isinstance(value, str) and value else or_none and value in (None, ""):
            return value or None
        raise ValueError(f"new enum value must be {or_none}in {texts}, got {value} of type {type(value)}.")

    return parse


# As in JAX: those of `lax.Precision` that are written alike everywhere, and the algorithms.
_PRECISIONS = (
    "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
    "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9", "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
)  # fmt: skip


_OPTIONS = {
    option.name: option
    for option in (
        _Option("enable_x64", False, _boolean, "keep 64-bit types instead of narrowing them to 32 bits"),
        _Option("disable_jit", False, _boolean, "run functions made by jit as plain Python"),
        _Option("numpy_dtype_promotion", "standard", _one_of("standard", "strict"), "operands of different dtypes"),
        _Option("numpy_rank_promotion", "allow", _one_of("allow", "warn", "raise"), "broadcasting of different ranks"),
        _Option("default_matmul_precision", None, _one_of(None, *_PRECISIONS), "precision of dot products"),
        _Option("debug_nans", False, _boolean, "raise FloatingPointError where a result holds a nan"),
        _Option("debug_key_reuse", False, _boolean, "raise KeyReuseError where a random key is used twice"),
        _Option("no_execution", False, _boolean, "raise RuntimeError where a compiled program would run"),
        _Option("no_tracing", False, _boolean, "raise RuntimeError where a jitted function would be traced"),
        _Option("log_compiles", False, _boolean, "log each trace, lowering and compilation with its time"),
        _Option("explain_cache_misses", False, _boolean, "log why each call missed the cache"),
        _Option("check_tracer_leaks", False, _boolean, "raise where a tracer outlives its trace"),
        _Option("traceback_filtering", "auto", _one_of("auto", "on", "off"), "hide jitkit's own frames in tracebacks"),
        _Option("compilation_cache_dir", None, _optional_text, "folder of executables kept between processes"),
        _Option("compilation_cache_max_size", 1 << 30, _bytes, "bytes that the folder may hold"),
        _Option("cc", None, _optional_text, 'the command of the C compiler that `jit(f, backend="c")` uses'),
        _Option("errors_page", None, _optional_text, "the page to whose sections messages of errors point"),
        _Option("platforms", None, _optional_text, "platforms to look for devices on, read at the first use of one"),
        _Option("jit_cache_size", 4096, _count, "signatures that one function keeps compiled, one or more"),
        _Option(
            "default_prng_impl",
            "threefry2x32",
            _only("threefry2x32", "the implementation of random keys"),
            "the implementation of random keys",
        ),
        _Option(
            "threefry_partitionable",
            True,
            _only(True, "each random number depends on its own place in the array only"),
            "random numbers that do not depend on how an array is spread over devices",
        ),
    )
}

# The environment's name for an option: JITKIT_ and the option in capitals, but for the ones with an
# established shorter name.
_ENVIRONMENT = {"compilation_cache_dir": "JITKIT_CACHE_DIR", "compilation_cache_max_size": "JITKIT_CACHE_MAX_SIZE"}


_OF_OTHERS = ("JITKIT_LABS", "JITKIT_FUZZ_EXAMPLES")  # what the course and the tests read


def _variable_of(name: str) -> str:
    return _ENVIRONMENT.get(name, "JITKIT_" + name.upper())


def _warn_of_unknown_variables() -> None:
    """Warn of variables of the environment that begin like ours, once a process: when this is imported."""
    known = [*map(_variable_of, _OPTIONS), *_OF_OTHERS]
    for variable in sorted(name for name in os.environ if name.startswith("JITKIT_") and name not in known):
        by_option = {"JITKIT_" + name.upper(): _variable_of(name) for name in _OPTIONS}
        # Imported for the few who need it: it takes as long as all of this module.
        matches = importlib.import_module("difflib").get_close_matches(variable, [*by_option, *known], 1, 0.7)
        near = [by_option.get(name, name) for name in matches]
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}."
        warnings.warn(f"jitkit knows no environment variable {variable}; {hint}", stacklevel=2)


def _from_environment(option: _Option) -> Any:
    variable = _variable_of(option.name)
    text = os.environ.get(variable)
    if text is None:
        return option.default
    try:
        return option.parse(text)
    except ValueError as error:
        raise ValueError(f"environment variable {variable}: {error}") from None


_warn_of_unknown_variables()
_globals: dict[str, Any] = {option.name: _from_environment(option) for option in _OPTIONS.values()}
_interned: dict[tuple[Any, ...], Options] = {}
_states: weakref.WeakSet[ThreadState] = weakref.WeakSet()
_lock = threading.Lock()


class ThreadState:
    """What one thread is doing: its current trace, its option overrides, and the key that sums both up for
    dispatch.
    """

    __slots__ = (
        "__weakref__",
        "axis_env",
        "compile_time",
        "default_device",
        "key",
        "name_stack",
        "options",
        "overrides",
        "run_options",
        "source",
        "trace",
        "warned",
    )

    def __init__(self) -> None:
        self.trace: Any = None  # None: run eagerly; otherwise the Trace that `Primitive.bind` hands its operands to
        self.overrides: dict[str, Any] = {}
        self.compile_time = False  # in `ensure_compile_time_eval`
        self.name_stack = NameStack()
        self.source: Any = None  # the SourceInfo of the equation that is being traced anew, if one is
        self.axis_env: tuple[tuple[Hashable, int], ...] = ()
        self.warned = False  # has the library warned since this was set to False?
        self.default_device: Any = None
        self.refresh()
        with _lock:
            _states.add(self)

    def refresh(self) -> None:
        """Recompute `options`, those that tracing reads, `run_options`, and `key` after an option has changed."""
        merged = _globals | self.overrides
        values = (*[merged[name] for name in _KEY_OPTIONS], self.axis_env, self.default_device)
        self.run_options = _interned.setdefault(values, Options(*values))
        self.options = of_traces(self.run_options)
        self.refresh_key()

    def refresh_key(self) -> None:
        """Recompute `key` after the current trace has changed."""
        self.key: Options | None = self.run_options if self.trace is None and not self.options.disable_jit else None


def of_traces(options: Options) -> Options:
    """The options without those that only runs read: what is traced for one value of `debug_nans` is good for the other."""
    if not options.debug_nans:
        return options
    values: tuple[Any, ...] = tuple(
        False if field.name == "debug_nans" else getattr(options, field.name) for field in dataclasses.fields(options)
    )
    return _interned.setdefault(values, Options(*values))


class _Local(threading.local):
    state: ThreadState

    def __init__(self) -> None:
        self.state = ThreadState()


local = _Local()  # `config.local.state` is the calling thread's ThreadState


def _canonical_name(name: str) -> str:
    """Accept JAX's spelling (`jax_enable_x64`) beside ours (`enable_x64`)."""
    short = name.removeprefix("jax_").removeprefix("jitkit_")
    short = {"platform_name": "platforms"}.get(short, short)
    if short not in _OPTIONS:
        raise AttributeError(f"Unrecognized config option: {name}\nThe options are {', '.join(_OPTIONS)}.")
    return short


def value(name: str) -> Any:
    """The option's value for this thread."""
    overrides = local.state.overrides
    return overrides[name] if name in overrides else _globals[name]


def x64() -> bool:
    """Whether this thread keeps 64-bit types."""
    return local.state.options.enable_x64


def update(name: str, new_value: Any) -> None:
    """Set an option for every thread that does not override it. Names may carry JAX's prefix:
    `jax_enable_x64`.

    AttributeError for an unknown name, with the known ones; ValueError for a value that the option does not
    take.
    """
    option = _OPTIONS[_canonical_name(name)]
    _globals[option.name] = _parsed(option, new_value)
    with _lock:
        for state in list(_states):
            state.refresh()


def parse_flags_with_absl() -> None:
    """Set the options that the program was called with: `--jax_enable_x64`, `--jax_enable_x64=false`, `--nojax_enable_x64`.

    Where the program has imported absl's flags, these learn the names, which they would refuse otherwise.
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
    """Let absl's flags have the options, where the program has imported them."""
    flags = sys.modules.get("absl.flags")
    for option in _OPTIONS.values():
        if flags is not None and f"jax_{option.name}" not in flags.FLAGS:
            define = flags.DEFINE_bool if option.parse is _boolean else flags.DEFINE_string
            define(f"jax_{option.name}", value(option.name), option.doc)


@contextlib.contextmanager
def override(**values: Any) -> Iterator[None]:
    """Set options for this thread until the block ends: `with config.override(enable_x64=True): ...`."""
    parsed = {
        option.name: _parsed(option, new)
        for name, new in values.items()
        for option in (_OPTIONS[_canonical_name(name)],)
    }
    state = local.state
    before = state.overrides
    state.overrides = before | parsed
    state.refresh()
    try:
        yield
    finally:
        state.overrides = before
        state.refresh()


@contextlib.contextmanager
def named_axis(name: Hashable, size: int) -> Iterator[None]:
    """In the block, `lax.psum` and its kin know an axis of this name and size, besides those of other names around; no
    further one, if the name is None.
    """
    if name is None:
        yield
        return
    state = local.state
    before = state.axis_env
    state.axis_env = (*[axis for axis in before if axis[0] != name], (name, size))
    state.refresh()
    try:
        yield
    finally:
        state.axis_env = before
        state.refresh()


@contextlib.contextmanager
def default_device(device: Any) -> Iterator[None]:
    """In the block, functions are traced for a default device that was named: they may ask for it."""
    state = local.state
    before, state.default_device = state.default_device, device
    state.refresh()
    try:
        yield
    finally:
        state.default_device = before
        state.refresh()


def _parsed(option: _Option, new_value: Any) -> Any:
    try:
        return option.parse(new_value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"option {option.name}: {error}") from None


def __getattr__(name: str) -> Any:
    """`config.enable_x64`, `config.jax_enable_x64`: the option's value for this thread."""
    if name.startswith("__"):
        raise AttributeError(name)
    return value(_canonical_name(name))


def describe() -> str:
    """Every option with its value and what it does, a line each."""
    return "\n".join(f"{name} = {value(name)!r}  # {option.doc}" for name, option in _OPTIONS.items())


class _Config(types.ModuleType):
    """This module, to which nothing new can be assigned: `config.enable_x64 = True` would be an attribute, and no option."""

    def __setattr__(self, name: str, new_value: Any) -> None:
        if name not in vars(self) and not name.startswith("__"):
            _canonical_name(name)
            raise AttributeError(
                "property of 'Config' object has no setter\n"
                f"Write `config.update({name!r}, {new_value!r})`, or, for a while, `with config.override(...):`."
            )
        super().__setattr__(name, new_value)


sys.modules[__name__].__class__ = _Config
