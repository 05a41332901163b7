"""leaves of a call -> executable -> tree of Arrays

The last steps of every call, warm or cold: gather the arguments' buffers, execute, wrap the results. `runner` makes the
function for this once per signature. The signature fixes the kind of each leaf, so the function checks nothing.

There are three kinds of leaves. An Array holds its buffer. A `jax.Array` is a buffer. A host value must be copied to
the device: from Python this costs 2.8 us, as much as running a small program. So numpy arrays go to jaxlib's own
dispatcher, which copies them faster. An int or a float that comes a second time stays on the device, for the next `x *
2.0` (except 0.0, which equals -0.0). A committed program first moves leaves to its devices.

JAX: jax/_src/interpreters/pxla.py:ExecuteReplicated
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from .. import runtime
from ..compiler.compiler import Executable
from ..core import ShapedArray, abstract_token, dtypes, is_of_arrays, physical_aval
from ..runtime import Elsewhere, OnHost
from ..runtime.array import Array
from ..runtime.tokens import Token
from ..tree_util import PyTreeDef, tree_structure
from ..tree_util.compiled import compile_put_together

LEAF = tree_structure(0)  # the structure of a single leaf
Leaves = Sequence[Any]
Buffers = Sequence[runtime.Buffer]
_new = Array.__new__


# With this tuple the dispatcher runs a program itself, without a `runner`, if the program takes at most one array and
# returns one. It has the function that executes, the handlers of its results, the dtype to which a host value is
# converted (None for other values), and the result's aval and key. A plain tuple is unpacked fast: a warm call takes 4
# us, and each Python function in it 0.15 us.
Direct = tuple[Callable[..., Any], Sequence[Any], "np.dtype[Any] | None", ShapedArray, Any]


def direct(executable: Executable, out_tree: PyTreeDef, leaf_keys: Sequence[Any]) -> Direct | None:
    """Return the tuple with which the dispatcher runs an executable itself, or None if it cannot."""
    if out_tree is not LEAF or len(leaf_keys) > 1:
        return None
    (aval,), (key,) = executable.out_avals, executable.out_keys
    if not is_of_arrays(aval):
        return None
    if takes_buffers_as_they_are(executable, leaf_keys):
        return executable.execute, executable.handlers, None, aval, key
    if leaf_keys and _takes_one_numpy_array(executable, leaf_keys[0]):
        return executable.host_dispatcher(), (), executable.arg_avals[0].dtype, aval, key
    return None


def runner_of_all(executable: Executable, out_tree: PyTreeDef, leaf_keys: Sequence[Any]) -> Callable[[Leaves], Any]:
    """Return the `runner` of an executable, also for results that are not Arrays: tokens, and float0 tangents of
    integers, which users get as numpy arrays.
    """
    avals, keys = executable.out_avals, executable.out_keys
    if all(map(is_of_arrays, avals)):
        return runner(executable, out_tree, leaf_keys)
    run = buffers_runner(executable, leaf_keys)
    return lambda leaves: out_tree.unflatten(list(map(_result, run(leaves), avals, keys)))


def arrays(buffers: Buffers, avals: Sequence[ShapedArray], keys: Sequence[Any]) -> list[Array]:
    """Return an `Array(buffer, aval, key)` for each buffer. Without a Python call for each, this takes 0.13 us instead of 0.17."""
    made: list[Array] = list(map(_new, repeat(Array, len(avals))))
    x: Array
    for x, x._buf, x.aval, x._key in zip(made, buffers, avals, keys, strict=True):
        x._view = None
    return made


def _result(buffer: runtime.Buffer, aval: Any, key: Any) -> Any:
    if is_of_arrays(aval):
        return Array(buffer, aval, key)
    return Token(buffer) if aval is abstract_token else np.zeros(aval.shape, aval.dtype)


def runner(executable: Executable, out_tree: PyTreeDef, leaf_keys: Sequence[Any]) -> Callable[[Leaves], Any]:
    """Return the function that runs `executable` on the leaves of a call whose keys are `leaf_keys`, and returns the
    results in their tree.

    It is made once per signature and called at every hit, so decide here whatever depends on the keys only.
    `buffers_runner` gives the function from leaves to the buffers of the results. Each buffer becomes an `Array` with
    its aval and key (`out_avals`, `out_keys`); `compile_put_together(out_tree)` gives a function that makes the tree of
    them. The tree of a single result is `LEAF`.
    """
    avals, keys = executable.out_avals, executable.out_keys
    run = buffers_runner(executable, leaf_keys)
    if out_tree is not LEAF:
        put_together = compile_put_together(out_tree)
        return lambda leaves: put_together(arrays(run(leaves), avals, keys))
    (aval,), (key,) = avals, keys
    if len(leaf_keys) != 1 or not takes_buffers_as_they_are(executable, leaf_keys):
        return lambda leaves: Array(run(leaves)[0], aval, key)
    execute, handlers = executable.execute, executable.handlers

    def run_one(leaves: Leaves) -> Any:  # saves a function call and a list
        x = leaves[0]
        buffers = execute([x._buf if type(x) is Array else x]).consume_with_handlers(handlers)
        return Array(buffers[0], aval, key)

    return run_one


def takes_buffers_as_they_are(executable: Executable, leaf_keys: Sequence[Any]) -> bool:
    """Whether `executable.execute` takes the buffers of the leaves, in their order, and nothing else: the fastest case.

    This is not so if a leaf is `OnHost` and has no buffer yet; if the program takes only some of the leaves (`kept` lists
    their positions), or takes constants before them (`consts`); if it is `committed` to devices, to which leaves may have
    to be moved; or if it `has_effects`, whose tokens are further arguments.
    """
    return (
        not executable.committed
        and not executable.has_effects
        and not executable.consts
        and executable.kept == list(range(len(leaf_keys)))
        and not any(isinstance(key, OnHost) for key in leaf_keys)
    )


def _takes_one_numpy_array(executable: Executable, key: Any) -> bool:
    return (
        type(key) is OnHost
        and is_of_arrays(key.aval)
        and not key.aval.weak_type
        and key.aval.dtype.kind != "b"  # Python's bools come here, too, and have no dtype
        and not executable.committed
        and executable.kept == [0]
        and not executable.consts
        and not executable.has_effects
    )


def buffers_runner(executable: Executable, leaf_keys: Sequence[Any]) -> Callable[[Leaves], Buffers]:
    """Return the function that runs `executable` on leaves and returns the buffers of the results."""
    execute, handlers = executable.execute, executable.handlers
    if takes_buffers_as_they_are(executable, leaf_keys):
        return lambda leaves: execute([x._buf if type(x) is Array else x for x in leaves]).consume_with_handlers(
            handlers
        )
    place, kept, consts = executable.place, executable.kept, executable.consts
    if executable.committed or executable.has_effects or any(isinstance(leaf_keys[i], Elsewhere) for i in kept):
        taken = [(i, executable.arg_avals[i], executable.spread[i]) for i in kept]
        return lambda leaves: executable.run([*consts, *[place(leaves[i], aval, where) for i, aval, where in taken]])
    if any(isinstance(leaf_keys[i], OnHost) for i in kept):
        return _host_runner(executable, leaf_keys)
    return lambda leaves: executable.run([*consts, *[_buffer(leaves[i]) for i in kept]])


def _buffer(x: Any) -> runtime.Buffer:
    return x._buf if type(x) is Array else x


# --- host values --------------------------------------------------------------------------------------------


def _host_runner(executable: Executable, leaf_keys: Sequence[Any]) -> Callable[[Leaves], Buffers]:
    """Return the function that runs `executable` on leaves, some of which are on the host."""
    execute, handlers, consts = executable.execute, executable.handlers, executable.consts
    dispatcher, has_one = executable.host_dispatcher(), len(executable.out_avals) == 1
    plan = [(i, physical_aval(executable.arg_avals[i]), isinstance(leaf_keys[i], OnHost)) for i in executable.kept]
    taken = [(i, aval.dtype if on_host and not aval.weak_type else None) for i, aval, on_host in plan]

    def copy_and_run(leaves: Leaves) -> Buffers:
        values = list(consts)
        for i, dtype in taken:
            x = leaves[i]
            if type(x) is Array:
                x = x._buf
            elif dtype is not None and (type(x) is not np.ndarray or x.dtype is not dtype):
                x = in_dtype(x, dtype)
            values.append(x)
        results = dispatcher(*values)
        return [results] if has_one else results

    if any(on_host and not aval.weak_type for _, aval, on_host in plan) or executable.donates:
        return copy_and_run
    scalars = [(i, _scalars_of(aval) if on_host else None) for i, aval, on_host in plan]

    def run(leaves: Leaves) -> Buffers:
        buffers = list(consts)
        for i, known in scalars:
            x = leaves[i]
            if known is None:
                buffers.append(x._buf if type(x) is Array else x)
            elif (buffer := known.buffers.get(x)) is not None:
                buffers.append(buffer)
            else:
                known.notice(x)
                return copy_and_run(leaves)
        results: Buffers = execute(buffers).consume_with_handlers(handlers)
        return results

    return run


def in_dtype(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return a host value, converted to the dtype that the program takes: the executable does not check dtypes. For a
    Token, wait until it is ready, and return the empty array that stands for it; for a float0 array, return zeros.
    """
    if type(x) is Token:
        return x.as_argument()
    if getattr(x, "dtype", None) == dtypes.float0:
        return np.zeros(np.shape(x), dtype)
    return np.asarray(x, dtype) if isinstance(x, np.ndarray) else dtype.type(x)


class _Scalars:
    """Keeps Python scalars of one type on the device, if they came at least twice; at most `LIMIT` of them."""

    LIMIT = 1024

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval
        self.buffers: dict[Any, runtime.Buffer] = {}
        self.seen: set[Any] = set()

    def notice(self, x: Any) -> None:
        """Remember that x came; the second time, put it on the device. Leave out 0.0, which equals -0.0, and complex
        numbers, whose parts may be such zeros.
        """
        if x not in self.seen:
            if len(self.seen) >= self.LIMIT:
                self.seen.clear()
            self.seen.add(x)
        elif type(x) is int or (type(x) is float and x != 0):
            if len(self.buffers) >= self.LIMIT:
                self.buffers.clear()
            sharding = runtime.single_device_sharding(runtime.first_device())
            self.buffers[x] = runtime.put(x, self.aval, sharding, False)


_scalars: dict[ShapedArray, _Scalars] = {}


def _scalars_of(aval: ShapedArray) -> _Scalars:
    return _scalars.setdefault(aval, _Scalars(aval))


def _forget_scalars() -> None:
    for known in _scalars.values():
        known.buffers.clear()


runtime.before_guards.append(_forget_scalars)
