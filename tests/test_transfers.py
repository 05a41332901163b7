"""Transfer guards: a copy to a device raises where JAX raises, with the same message."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest

import jitkit
from jitkit.base import config

LEVELS = ["allow", "log", "disallow", "log_explicit", "disallow_explicit", None]
GUARDS = [
    "transfer_guard",
    *(f"transfer_guard_{way}" for way in ("host_to_device", "device_to_device", "device_to_host")),
]
X = np.ones(3, np.float32)
COPIES = {
    "numpy argument": lambda lib, f, x: f(X),
    "number": lambda lib, f, x: f(2.0),
    "array": lambda lib, f, x: f(x),
    "at once": lambda lib, f, x: x + 1,
    "numpy at once": lambda lib, f, x: x * X,
    "array of numpy": lambda lib, f, x: lib.numpy.array(X),
    "array of a list": lambda lib, f, x: lib.numpy.asarray([1, 2]),
    "zeros": lambda lib, f, x: lib.numpy.zeros(3),
    "arange": lambda lib, f, x: lib.numpy.arange(5),
    "scalar": lambda lib, f, x: lib.numpy.float32(1),
    "put": lambda lib, f, x: lib.device_put(X),
    "get": lambda lib, f, x: lib.device_get(f(x)),
    "numpy of an array": lambda lib, f, x: np.asarray(f(x)),
    "element": lambda lib, f, x: x[0],
    "float": lambda lib, f, x: float(f(x).sum()),
    "list": lambda lib, f, x: f(x).tolist(),
    "text": lambda lib, f, x: str(x),
    "key": lambda lib, f, x: lib.random.key(0),
    "constant": lambda lib, f, x: lib.jit(lambda a: a + X)(x),
}


def outcomes(lib, manager):
    """Yield the outcome of each kind of copy under a guard."""
    f, x = lib.jit(lambda a: a + 1), lib.numpy.arange(3.0)
    for argument in (x, X, 1.0):
        f(argument)
    found = {}
    for name, copy in COPIES.items():
        try:
            with manager():
                copy(lib, f, x)
        except lib.errors.JaxRuntimeError as error:
            found[name] = re.sub(r"<.*?> ", "", str(error).splitlines()[0])
        else:
            found[name] = "passes"
    return found


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("level", ["allow", "disallow", "disallow_explicit"])
def test_what_is_copied_to_a_device_raises_as_in_jax(guard, level):
    ours, theirs = (outcomes(lib, lambda lib=lib: getattr(lib, guard)(level)) for lib in (jitkit, jax))
    assert ours == theirs
    refused = {name for name, outcome in ours.items() if outcome != "passes"}
    assert ("numpy argument" in refused) == (level != "allow" and guard in GUARDS[:2])
    assert ("put" in refused) == (level == "disallow_explicit" and guard in GUARDS[:2])


def test_guards_are_nested_and_end_with_their_blocks():
    with jitkit.transfer_guard("disallow"):
        assert config.jax_transfer_guard == config.transfer_guard_device_to_host == "disallow"
        with jitkit.transfer_guard_host_to_device("allow"):
            jitkit.numpy.array(X)
        with pytest.raises(jitkit.errors.JaxRuntimeError, match="Disallowed host-to-device transfer"):
            jitkit.numpy.array(X)
    assert config.transfer_guard is None
    jitkit.numpy.array(X)


def test_an_option_guards_the_whole_process():
    config.update("jax_transfer_guard", "disallow")
    try:
        assert config.transfer_guard_host_to_device == "disallow"
        with pytest.raises(jitkit.errors.JaxRuntimeError, match="Disallowed host-to-device transfer"):
            jitkit.numpy.array(X)
        with jitkit.transfer_guard("allow"):
            jitkit.numpy.array(X)
        jitkit.device_put(X)
    finally:
        config.update("jax_transfer_guard", None)
    jitkit.numpy.array(X)


@pytest.mark.parametrize("level", ["x", 3, *LEVELS])
def test_a_level_is_refused_as_in_jax(level):
    def error_of(lib):
        try:
            with lib.transfer_guard(level):
                return None
        except ValueError as error:
            return str(error).removeprefix("option transfer_guard_host_to_device: ")

    assert error_of(jitkit) == error_of(jax)
