"""Lists the options: name, default, allowed values and meaning; and reads the environment.

An environment variable that looks like one of ours, but is not, causes a warning.

JAX: jax/_src/config.py:bool_state
"""

from __future__ import annotations

import importlib
import operator
import os
import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple


class Option(NamedTuple):
    """An option: its value until it is set (`default`), and what it does (`doc`). `parse` converts a given value, and raises
    ValueError, or TypeError, for one that the option does not allow.
    """

    name: str
    default: Any
    parse: Callable[[Any], Any]
    doc: str


def boolean(value: Any) -> bool:
    """Return a bool, given as bool, 0, 1, or text. Raise ValueError for anything else."""
    if isinstance(value, str):
        if value.lower() in ("1", "true", "on", "yes", "y", "t"):
            return True
        if value.lower() in ("0", "false", "off", "no", "n", "f", ""):
            return False
    elif value in (0, 1):  # also numpy's False
        return bool(value)
    raise ValueError(f"expected a boolean such as 1 or 0, got {value!r}")


def _optional_text(value: Any) -> str | None:
    if value is not None and not isinstance(value, (str, os.PathLike)):
        raise ValueError(f"expected text or None, got {value!r}")
    return None if value in (None, "") else str(value)


def _count(value: Any) -> int:
    """Return an integer from 1 on, given as int or text. Raise ValueError for anything else."""
    try:
        number = int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1 or isinstance(value, bool):
        raise ValueError(f"expected a whole number, 1 or more, got {value!r}")
    return number


def _devices(value: Any) -> int:
    """Return a number of devices, given as int or text, or -1: as many as XLA makes by itself. Raise ValueError for anything else."""
    return -1 if str(value) == "-1" else _count(value)


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _bytes(value: Any) -> int:
    """Return a number of bytes, given as int, or as text such as 1000000, 512M or "1 GiB"; -1, JAX's default, means no
    limit. Raise ValueError for anything else.
    """
    if str(value).strip() == "-1":
        return -1
    match = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:I?B)?", str(value).strip().upper())
    if match is None:
        raise ValueError(f"expected a number of bytes such as 1000000, 512M or 1GiB, got {value!r}")
    return int(match.group(1)) * _UNITS[match.group(2)]


def _one_of(*allowed: str | None) -> Callable[[Any], str | None]:
    """Return the parser of an option with a few values. If None is one of them, an empty text means None."""
    texts, or_none = [text for text in allowed if text is not None], "None or " if None in allowed else ""

    def parse(value: Any) -> str | None:
        if value in texts if isinstance(value, str) and value else or_none and value in (None, ""):
            return value or None
        raise ValueError(f"new enum value must be {or_none}in {texts}, got {value} of type {type(value)}.")

    return parse


# As in JAX: the names of `lax.Precision` with one spelling everywhere, and the algorithms.
PRECISIONS = (
    "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
    "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9", "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
)  # fmt: skip


def is_place(value: Any) -> bool:
    """Return whether a value says where new arrays go: a device, the name of a platform, or None."""
    platforms = ("cpu", "gpu", "cuda", "rocm", "tpu")
    return value is None or (value in platforms if isinstance(value, str) else hasattr(value, "client"))


def _place(value: Any) -> Any:
    """Return a device, or the name of a platform; None for an empty text. Raise ValueError for anything else."""
    if value != "" and not is_place(value):
        raise ValueError(f"expected a device, or the name of a platform such as 'cpu', got {value!r}")
    return None if value == "" else value


_FILTERING = _one_of(
    "auto", "on", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"
)  # the last two are "on"
_LEVEL = _one_of(None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")

OPTIONS = {
    option.name: option
    for option in (
        Option("enable_x64", False, boolean, "keep 64-bit types instead of narrowing them to 32 bits"),
        Option("disable_jit", False, boolean, "run functions made by jit as plain Python"),
        Option("numpy_dtype_promotion", "standard", _one_of("standard", "strict"), "operands of different dtypes"),
        Option("numpy_rank_promotion", "allow", _one_of("allow", "warn", "raise"), "broadcasting of different ranks"),
        Option("default_matmul_precision", None, _one_of(None, *PRECISIONS), "precision of dot products"),
        Option("debug_nans", False, boolean, "raise FloatingPointError where a result holds a nan"),
        Option("debug_infs", False, boolean, "raise FloatingPointError where a result holds an infinity"),
        Option("debug_key_reuse", False, boolean, "raise KeyReuseError where a random key is used twice"),
        Option("no_execution", False, boolean, "raise RuntimeError where a compiled program would run"),
        Option("no_tracing", False, boolean, "raise RuntimeError where a jitted function would be traced"),
        Option("transfer_guard", None, _LEVEL, "copies between the host and devices, in any direction"),
        Option("transfer_guard_host_to_device", None, _LEVEL, "copies from the host to devices"),
        Option("transfer_guard_device_to_device", None, _LEVEL, "copies from one device to another"),
        Option("transfer_guard_device_to_host", None, _LEVEL, "copies from devices to the host"),
        Option("log_compiles", False, boolean, "log each trace, lowering and compilation with its time"),
        Option("explain_cache_misses", False, boolean, "log why each call missed the cache"),
        Option("check_tracer_leaks", False, boolean, "raise where a tracer outlives its trace"),
        Option("traceback_filtering", "auto", _FILTERING, "hide jitkit's own frames in tracebacks"),
        Option("compilation_cache_dir", None, _optional_text, "folder of executables kept between processes"),
        Option("enable_compilation_cache", True, boolean, "use the folder of executables, if there is one"),
        Option(
            "compilation_cache_max_size",
            1 << 30,
            _bytes,
            "bytes that the folder may hold; 0 turns it off, -1 sets no limit",
        ),
        Option("cc", None, _optional_text, 'the command of the C compiler that `jit(f, backend="c")` uses'),
        Option("errors_page", None, _optional_text, "the page to whose sections messages of errors point"),
        Option("platforms", None, _optional_text, "platforms to look for devices on, read at the first use of one"),
        Option("num_cpu_devices", -1, _devices, "devices that the CPU is divided into, read at the first use of one"),
        Option(
            "default_device", None, _place, "where new arrays and functions go: a device, or the name of a platform"
        ),
        Option("jit_cache_size", 4096, _count, "signatures that one function keeps compiled, one or more"),
        Option(
            "default_prng_impl",
            "threefry2x32",
            _one_of("threefry2x32", "rbg", "unsafe_rbg"),
            "the implementation of random keys",
        ),
        Option(
            "threefry_partitionable",
            True,
            boolean,
            "each random number depends only on the key and its place in the array; off: JAX's older algorithm",
        ),
    )
}


def _like(default: Any) -> Callable[[Any], Any]:
    """Return the parser of an option whose values are of the default's kind: bools, numbers, or texts and None."""
    if isinstance(default, bool):
        return boolean
    return _number if isinstance(default, (int, float)) else _optional_text


def _number(value: Any) -> int | float:
    if isinstance(value, str):
        value = float(value)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ValueError(f"expected a number, got {value!r}")
    return value


# Options of JAX's that say how JAX works, or what it logs. A program may set and read them; they have no effect here.
# Name -> JAX's default.
_OF_JAX = {
    "captured_constants_report_frames": 0,
    "captured_constants_warn_bytes": 2_000_000_000,
    "compilation_cache_check_contents": False,
    "compilation_cache_expect_pgle": False,
    "compilation_cache_include_metadata_in_key": False,
    "compiler_detailed_logging_min_ops": 10,
    "cpu_enable_async_dispatch": True,
    "debug_log_modules": "",
    "disable_most_optimizations": False,
    "distributed_debug": False,
    "enable_checks": False,
    "enable_pgle": False,
    "exec_time_optimization_effort": 0.0,
    "hlo_source_file_canonicalization_regex": None,
    "include_debug_info_in_dumps": True,
    "include_full_tracebacks_in_locations": True,
    "logging_level": "NOTSET",
    "memory_fitting_effort": 0.0,
    "memory_fitting_level": "O2",
    "optimization_level": "UNKNOWN",
    "persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
    "persistent_cache_min_compile_time_secs": 1.0,
    "persistent_cache_min_entry_size_bytes": 0,
    "pprint_use_color": True,
    "raise_persistent_cache_errors": False,
    "traceback_in_locations_limit": 100,
    "tracer_error_num_traceback_frames": 5,
    "use_shardy_partitioner": True,
}
_PARSERS = dict.fromkeys(("optimization_level", "memory_fitting_level"), _one_of("UNKNOWN", "O0", "O1", "O2", "O3"))
WITHOUT_EFFECT = {
    name: Option(name, default, _PARSERS.get(name) or _like(default), "an option of JAX's, without effect here")
    for name, default in _OF_JAX.items()
}

# Options that set others: name -> the names of the others.
PARTS = {"transfer_guard": [name for name in OPTIONS if name.startswith("transfer_guard_")]}

# An option's environment variable: JITKIT_ and the option in capitals, except for some established shorter names.
ENVIRONMENT = {"compilation_cache_dir": "JITKIT_CACHE_DIR", "compilation_cache_max_size": "JITKIT_CACHE_MAX_SIZE"}


_OF_OTHERS = ("JITKIT_LABS", "JITKIT_FUZZ_EXAMPLES")  # variables that the course and the tests read


def _variable_of(name: str) -> str:
    return ENVIRONMENT.get(name, "JITKIT_" + name.upper())


def from_variables_of_jax() -> dict[str, Any]:
    """Return the values of options whose variable of JAX's (`JAX_ENABLE_X64`) is set, and jitkit's own is not. Raise
    ValueError for a value that the option does not take.
    """
    found = {}
    for option in (*OPTIONS.values(), *WITHOUT_EFFECT.values()):
        variable = f"JAX_{option.name.upper()}"
        if variable in os.environ and _variable_of(option.name) not in os.environ:
            found[option.name] = _parsed_text(option, variable)
    return found


def _warn_of_unknown_variables() -> None:
    """Warn of environment variables that begin like ours and are not known, once in a process, at import."""
    known = [*map(_variable_of, OPTIONS), *_OF_OTHERS]
    for variable in sorted(name for name in os.environ if name.startswith("JITKIT_") and name not in known):
        by_option = {"JITKIT_" + name.upper(): _variable_of(name) for name in OPTIONS}
        # Rarely needed, and slow to import: it takes as long as all of this module.
        matches = importlib.import_module("difflib").get_close_matches(variable, [*by_option, *known], 1, 0.7)
        near = [by_option.get(name, name) for name in matches]
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}."
        warnings.warn(f"jitkit knows no environment variable {variable}; {hint}", stacklevel=2)


def from_environment(option: Option) -> Any:
    """Return an option's value from the environment, or else its default. Raise ValueError for a value that it does not take."""
    variable = _variable_of(option.name)
    return _parsed_text(option, variable) if variable in os.environ else option.default


def _parsed_text(option: Option, variable: str) -> Any:
    try:
        return option.parse(os.environ[variable])
    except ValueError as error:
        raise ValueError(f"environment variable {variable}: {error}") from None


_warn_of_unknown_variables()
