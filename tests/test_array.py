"""Arrays: how they print, what Python and numpy can do with them, and where they are, as in JAX."""

from __future__ import annotations

import copy
import math
import operator
import os
import pathlib
import pickle
import subprocess
import sys
import warnings

import jax
import matplotlib
import matplotlib.figure
import numpy as np
import pytest
from tails import some_of
from twin import plain, raised, same_as_jax, words

import jitkit as jk
import jitkit.numpy as jnp
from jitkit import core

ROOT = pathlib.Path(__file__).parents[1]

VALUES = {
    "a vector": lambda jnp: jnp.arange(3.0),
    "a long vector": lambda jnp: jnp.arange(2000.0),
    "a vector of several lines": lambda jnp: jnp.arange(40.0) * 1.5,
    "a vector whose type does not fit in the line": lambda jnp: jnp.ones(50),
    "a matrix": lambda jnp: jnp.arange(6).reshape(2, 3),
    "a large matrix": lambda jnp: jnp.ones((60, 60)),
    "three axes": lambda jnp: jnp.arange(24.0).reshape(2, 3, 4),
    "a scalar": lambda jnp: jnp.float32(1.5),
    "a weak float": lambda jnp: jnp.asarray(2.0),
    "a weak int": lambda jnp: jnp.asarray(2),
    "an int": lambda jnp: jnp.int32(3),
    "one element": lambda jnp: jnp.array([[7.5]]),
    "one int": lambda jnp: jnp.array([7]),
    "bfloat16": lambda jnp: jnp.ones(3, "bfloat16") * 1.1,
    "a bfloat16 scalar": lambda jnp: jnp.bfloat16(1.1),
    "float16": lambda jnp: jnp.float16(0.1),
    "float8": lambda jnp: jnp.ones(2, "float8_e4m3fn"),
    "booleans": lambda jnp: jnp.array([True, False]),
    "a boolean": lambda jnp: jnp.array(True),
    "complex": lambda jnp: jnp.array([1 + 2j, 3]),
    "a complex scalar": lambda jnp: jnp.array(1 + 2j),
    "int8": lambda jnp: jnp.array([1, -2], "int8"),
    "int4": lambda jnp: jnp.array([1, 2], "int4"),
    "uint8": lambda jnp: jnp.uint8(200),
    "nothing": lambda jnp: jnp.array([]),
    "an empty matrix": lambda jnp: jnp.zeros((0, 3)),
    "nan and inf": lambda jnp: jnp.array([np.nan, np.inf, -np.inf, -0.0]),
    "small and large": lambda jnp: jnp.array([1e-10, 1e10]),
}
every_value = pytest.mark.parametrize("value", VALUES)


# --- printing ---------------------------------------------------------------------------------------------------


@every_value
@same_as_jax
def test_arrays_print_as_in_jax(jax, jnp, value):
    x = VALUES[value](jnp)
    specs = [raised(format, x, spec) for spec in ("", ".2f", "d", ">10", "10", "e", "s", "x")]
    return repr(x), str(x), f"{x}", f"{x!r:.100}", specs, repr([x]), repr({"x": (x,)})


@same_as_jax
def test_print_options_of_numpy_are_respected(jax, jnp):
    x = jnp.arange(40.0) / 3
    with np.printoptions(precision=2, linewidth=40, threshold=10, edgeitems=1):
        return repr(x), str(x), repr(jnp.arange(8)), str(x[0])


def test_a_deleted_array_prints_as_such():
    x = jnp.ones(3) * 1
    x.delete()
    assert repr(x) == "Array(float32[3], deleted)"


# --- Python's protocols -----------------------------------------------------------------------------------------

PROTOCOLS = {
    "bool": bool, "int": int, "float": float, "complex": complex, "index": operator.index, "len": len, "list": list, "tuple": tuple,
    "hash": lambda x: hash(x), "in a set": lambda x: {x}, "abs": abs, "round": round, "round to": lambda x: round(x, 1),
    "floor": math.floor, "ceil": math.ceil, "math": math.sqrt, "length_hint": operator.length_hint, "tolist": lambda x: x.tolist(),
    "item": lambda x: x.item(), "item of": lambda x: x.item(0), "tobytes": lambda x: x.tobytes(), "next": lambda x: next(iter(x)),
    "reversed": lambda x: list(reversed(x)) if x.ndim else 0, "contains": lambda x: 1 in x, "range": lambda x: list(range(3)[: int(x)]),
    "a list's index": lambda x: [1, 2, 3, 4, 5][x], "numpy's index": lambda x: np.arange(10)[x], "unpacking": lambda x: [*x],
    "item assignment": lambda x: operator.setitem(x, 0, 1), "divmod": lambda x: divmod(x, 2),
    "an attribute": lambda x: x.no_such_attribute, "shape assignment": lambda x: setattr(x, "shape", (1,)),
    "not": lambda x: not x, "and": lambda x: x and 1, "compared with None": lambda x: (operator.eq(x, None), operator.ne(x, None)),
    "compared with text": lambda x: (x == "a", x != "a"), "ordered with text": lambda x: x < "a", "plus a list": lambda x: x + [1.0],
    "plus None": lambda x: x + None, "plus text": lambda x: x + "a", "a list plus": lambda x: [1.0] + x,
}  # fmt: skip


@pytest.mark.parametrize("protocol", PROTOCOLS)
@same_as_jax
def test_arrays_follow_pythons_protocols(jax, jnp, protocol):
    found = {}
    turn = list(PROTOCOLS).index(protocol) % 3
    for name, value in some_of([*VALUES.items()][turn:] + [*VALUES.items()][:turn], 3):
        if name in ("a large matrix", "a long vector", "a vector of several lines"):
            continue
        error = raised(PROTOCOLS[protocol], value(jnp))
        kind, result = error[0], error[1]
        if isinstance(result, str):
            result = words(result).replace("'Array'", "'jaxlib._jax.Array'")
        found[name] = kind, type(result).__name__.replace("ArrayImpl", "Array"), plain(result)
    return found


ATTRIBUTES = (
    "shape", "dtype", "ndim", "size", "itemsize", "nbytes", "weak_type", "T", "mT", "real", "imag", "aval", "committed", "device",
    "sharding",
    "is_fully_addressable", "is_fully_replicated", "__array_priority__",
)  # fmt: skip


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@same_as_jax
def test_arrays_have_jaxs_attributes(jax, jnp, attribute):
    return [raised(lambda value=value: str(getattr(value(jnp), attribute))) for value in VALUES.values()]


@same_as_jax
def test_arrays_have_jaxs_methods(jax, jnp):
    x = jnp.arange(3.0) * 1
    shards = x.addressable_shards
    return (
        [str(d) for d in x.devices()], x.is_ready() in (True, False), x.block_until_ready() is x, x.is_deleted(),
        x.on_device_size_in_bytes(),
        x.copy_to_host_async(), x.unsafe_buffer_pointer() == np.asarray(x).ctypes.data, len(shards), np.asarray(shards[0].data),
        x.copy() is x, x.to_device(jax.devices()[0]),
    )  # fmt: skip


@every_value
@same_as_jax
def test_arrays_are_copied_and_pickled(jax, jnp, value):
    x = VALUES[value](jnp)
    copies = copy.copy(x), copy.deepcopy(x), x.copy(), copy.deepcopy({"a": [x]})
    if "bfloat" in value or "float8" in value or "int4" in value:
        return copies
    return copies, pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps([x, {"a": x}]))


@same_as_jax
def test_a_copy_survives_its_original(jax, jnp):
    x = jnp.ones(3) * 2
    copies = [copy.copy(x), copy.deepcopy(x), x.copy(), jnp.array(x), jnp.copy(x), x + 0]
    same = [jnp.asarray(x), jax.device_put(x)]
    x.delete()
    return [c.is_deleted() for c in copies + same], copies


# --- numpy ------------------------------------------------------------------------------------------------------


@every_value
@same_as_jax
def test_numpy_takes_arrays(jax, jnp, value):
    x = VALUES[value](jnp)
    asked = [
        np.asarray(x),
        np.array(x),
        np.asarray(x, copy=False),
        np.array(x, copy=None),
        np.asarray(x, "complex64"),
        np.asarray(x, x.dtype),
    ]
    flags = [
        np.asarray(x).flags.writeable,
        np.array(x, copy=True).flags.writeable,
        np.asarray(x, "complex64").flags.writeable,
    ]
    return asked, flags, np.shape(x), np.ndim(x), np.size(x)


@same_as_jax
def test_a_copy_that_is_needed_and_forbidden_is_an_error(jax, jnp):
    return raised(np.asarray, jnp.arange(3.0), "int32", copy=False)[0], raised(
        jnp.arange(3.0).__array__, np.int32, copy=False
    )[0]


def test_numpy_sees_the_same_memory():
    x = jnp.arange(1000.0) * 1
    a, b = np.asarray(x), np.asarray(x)
    assert a.ctypes.data == b.ctypes.data == x.unsafe_buffer_pointer()
    assert not a.flags.writeable
    assert np.array(x).ctypes.data != a.ctypes.data
    del x
    assert a[999] == 999.0  # the view keeps the memory alive


def test_what_one_does_to_its_view_of_an_array_others_do_not_see():
    x = jnp.arange(6.0) * 1
    for _ in range(4):  # later calls of `asarray` take another path than the first
        seen = np.asarray(x)
        assert seen.shape == (6,)
        assert seen.ctypes.data == x.unsafe_buffer_pointer()
        with pytest.raises(ValueError, match="WRITEABLE"):
            seen.flags.writeable = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # later releases of numpy warn
            seen.shape = (2, 3)


@pytest.mark.parametrize("looks", range(4))
@same_as_jax
def test_an_array_that_was_looked_at_can_be_given_away(jax, jnp, looks):
    step = jax.jit(lambda x, y: (x + y, y), donate_argnums=0)
    one = jax.jit(lambda x: x + 1, donate_argnums=0)
    found = []
    for call in (one, one, lambda x: step(x, 1.0)[0], lambda x: jax.jit(one).lower(x).compile()(x)):
        x = jnp.arange(100_000.0) * 1
        for _ in range(looks):
            np.asarray(x)
        place = x.unsafe_buffer_pointer()
        y = call(x)
        found.append((x.is_deleted(), y.unsafe_buffer_pointer() == place, float(y[1])))
        if x.is_deleted():
            found.append(raised(np.asarray, x))
    return found


@pytest.mark.parametrize("looks", range(1, 4))
def test_a_view_outlives_its_deleted_array(looks):
    x = jnp.arange(100_000.0) * 1
    views = [np.asarray(x) for _ in range(looks)]
    x.delete()
    assert raised(np.asarray, x)[0] == "RuntimeError"
    for _ in range(3):
        jnp.zeros(100_000).block_until_ready()
    assert all((view == np.arange(100_000)).all() for view in views)


@pytest.mark.parametrize("dtype", ["bfloat16", "int4", "float8_e4m3fn", "bool", "complex64", "int8"])
@same_as_jax
def test_every_look_at_an_array_has_its_type(jax, jnp, dtype):
    x = jnp.ones((2, 3), dtype)
    return [np.asarray(x).dtype.name for _ in range(4)], [np.asarray(x, "complex64").dtype.name for _ in range(2)]


@same_as_jax
def test_numpy_on_the_left_leaves_the_work_to_arrays(jax, jnp):
    x = jnp.arange(3.0)
    left = np.ones(3, np.float32)
    results = [
        left + x,
        left - x,
        left * x,
        left / x,
        left**x,
        left < x,
        left == x,
        np.float32(2) * x,
        np.float64(2) + x,
        left @ x,
        -left // (x + 1),
    ]
    return (
        results,
        [type(r).__name__.replace("ArrayImpl", "Array") for r in results],
        np.arange(3) % (x + 1),
        np.int64(3) << jnp.arange(3),
    )


@same_as_jax
def test_functions_of_numpy_compute_with_numpy(jax, jnp):
    x = jnp.arange(3.0)
    return (
        np.sin(x),
        np.add(x, 1),
        np.concatenate([x, x]),
        np.stack([x, x]),
        np.where(x > 1, x, 0),
        np.testing.assert_allclose(x, x),
        np.sum(x),
    )


@same_as_jax
def test_numpy_arrays_can_be_filled_from_arrays(jax, jnp):
    target = np.zeros((2, 3), np.float32)
    target[0] = jnp.arange(3.0)
    target[1, jnp.int32(2)] = jnp.float32(7)
    np.copyto(target[1, :2], jnp.ones(2))
    return target, np.array([jnp.float32(1), jnp.float32(2)]), np.array([jnp.arange(2), jnp.arange(2)]).shape


def test_a_buffer_can_be_taken_where_python_asks_for_one():
    x = jnp.arange(3, dtype="int32")
    assert x.tobytes() == np.arange(3, dtype=np.int32).tobytes()
    if sys.version_info >= (3, 12):
        assert np.asarray(memoryview(x)).tolist() == [0, 1, 2]
        assert bytes(x) == x.tobytes()


# --- DLPack -----------------------------------------------------------------------------------------------------


def test_dlpack_hands_arrays_out_without_a_copy():
    x = jnp.arange(100.0) * 1
    assert np.from_dlpack(x).ctypes.data == x.unsafe_buffer_pointer()
    theirs = jax.dlpack.from_dlpack(x)
    assert theirs.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    np.testing.assert_array_equal(theirs, np.arange(100.0))


def test_dlpack_takes_arrays_in_without_a_copy():
    theirs = jax.numpy.arange(100.0) * 1
    ours = jnp.from_dlpack(theirs)
    assert type(ours) is jk.Array
    assert ours.unsafe_buffer_pointer() == theirs.unsafe_buffer_pointer()
    host = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(jnp.from_dlpack(host), host)
    assert jnp.from_dlpack(host).dtype == np.int32


# --- jax.Array in and out ---------------------------------------------------------------------------------------


def test_a_jax_array_comes_in_without_a_copy():
    theirs = jax.numpy.arange(1000.0) * 1
    for take in (jk.device_put, jnp.asarray):
        ours = take(theirs)
        assert type(ours) is jk.Array
        assert ours.unsafe_buffer_pointer() == theirs.unsafe_buffer_pointer()
    assert plain(jk.jit(lambda x: x * 2)(theirs)) == plain(jax.jit(lambda x: x * 2)(theirs))


def test_an_array_goes_out_to_jax_without_a_copy():
    ours = jnp.arange(1000.0) * 1
    theirs = jax.numpy.asarray(ours)
    assert isinstance(theirs, jax.Array)
    assert theirs.unsafe_buffer_pointer() == ours.unsafe_buffer_pointer()
    np.testing.assert_array_equal(jax.numpy.sin(ours), jnp.sin(ours))
    np.testing.assert_array_equal(jax.jit(lambda x: x * 2)(theirs), ours * 2)
    assert float(jax.numpy.sum(ours)) == float(ours.sum())


@same_as_jax
def test_weak_types_go_in_and_out(jax, jnp):
    weak = __import__("jax").numpy.asarray(2.0)
    return (
        jnp.asarray(weak).weak_type,
        (jnp.asarray(weak) * jnp.ones(2, "bfloat16")).dtype,
        jax.jit(lambda x: x * 2)(weak),
    )


def test_operators_take_jax_arrays_on_either_side():
    ours, theirs = jnp.arange(3.0), jax.numpy.ones(3)
    for result in (
        ours + theirs,
        ours * theirs,
        ours[jax.numpy.array([0, 2])],
        jnp.where(theirs > 0, ours, theirs),
        jnp.add(theirs, theirs),
    ):
        assert type(result) is jk.Array
    np.testing.assert_array_equal(theirs + ours, np.arange(3) + 1.0)


def test_matplotlib_draws_arrays():
    matplotlib.use("agg")
    figure = matplotlib.figure.Figure()
    axes = figure.subplots()
    x = jnp.linspace(0.0, 1.0, 20)
    (line,) = axes.plot(x, jnp.sin(x))
    axes.imshow(jnp.ones((3, 3)))
    axes.hist(x, bins=5)
    axes.scatter(x, x, c=x)
    axes.set_title(f"{x.max():.2f}")
    figure.canvas.draw()
    np.testing.assert_array_equal(line.get_xdata(), np.asarray(x))


# --- types ------------------------------------------------------------------------------------------------------


@same_as_jax
def test_isinstance_holds_for_tracers_and_not_for_numpy(jax, jnp):
    seen = []

    def f(x):
        seen.append(
            (
                isinstance(x, jax.Array),
                isinstance(x, jnp.ndarray),
                isinstance(x, jax.core.Tracer),
                isinstance(x, (int, float)),
            )
        )
        return x

    jax.jit(f)(1.0), f(jnp.ones(2)), f(np.ones(2)), f(1.0), f(jnp.ones(2)[0])
    return seen, jnp.ndarray is jax.Array, issubclass(type(jnp.ones(2)), jax.Array)


def test_a_jax_array_is_an_array_and_an_array_is_hashable_by_nobody():
    assert isinstance(jax.numpy.ones(2), jk.Array)
    with pytest.raises(TypeError, match="unhashable type: 'Array'"):
        hash(jnp.ones(2))
    with pytest.raises(AttributeError):
        jnp.ones(2).anything = 1


def test_typeof_and_avals():
    x = jnp.ones((2, 3), "bfloat16")
    assert x.aval is core.ShapedArray((2, 3), "bfloat16")
    assert jk.typeof(x) is x.aval
    assert str(jk.typeof(1.0)) == str(jax.typeof(1.0))
    assert str(jk.typeof(np.ones(3))) == str(jax.typeof(np.ones(3)))


# --- waiting and deleting ---------------------------------------------------------------------------------------


@same_as_jax
def test_block_until_ready_takes_trees(jax, jnp):
    tree = {"a": [jnp.ones(3) * 2, 1.0], "b": (None, "text", np.ones(2))}
    return (jax.block_until_ready(tree) is tree, plain(tree), jax.block_until_ready(None), jax.block_until_ready(3))


class Pending:
    """A result of another library, for which `block_until_ready` can wait."""

    def __init__(self):
        self.waits = 0

    def block_until_ready(self):
        self.waits += 1


@same_as_jax
def test_block_until_ready_waits_for_leaves_of_other_kinds(jax, jnp):
    tree = [Pending(), {"a": Pending(), "b": jnp.ones(2)}]
    jax.block_until_ready(tree)
    return tree[0].waits, tree[1]["a"].waits


def test_a_deleted_array_stays_deleted_quietly():
    x = jnp.ones(3) * 1
    x.delete()
    x.delete()
    assert x.is_deleted()
    assert (x.shape, str(x.dtype), len(x)) == ((3,), "float32", 3)
    with pytest.raises(RuntimeError, match="Array has been deleted with shape=float32"):
        np.asarray(x)
    with pytest.raises(jk.errors.JaxRuntimeError, match="donate_argnums"):
        x.block_until_ready()


# --- several devices --------------------------------------------------------------------------------------------


def run_with_devices(package):
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
    }
    program = [sys.executable, str(ROOT / "tests" / "several_devices.py"), package]
    done = subprocess.run(program, capture_output=True, text=True, env=environment, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_computations_follow_committed_arrays_as_in_jax():
    ours, theirs = run_with_devices("jitkit"), run_with_devices("jax")
    assert len(theirs) > 70
    assert ours == theirs


@same_as_jax
def test_device_put_says_whether_memory_is_shared(jax, jnp):
    device = jax.devices()[0]
    found = []
    for place in (None, device, jax.sharding.SingleDeviceSharding(device)):
        for options in ({}, {"may_alias": True}, {"may_alias": False}, {"donate": True}, {"donate": False}):
            x = jax.device_put(np.arange(8), device)
            put = jax.device_put(x, place, **options)
            found.append((put is x, put.committed, x.is_deleted(), np.asarray(put)))
    tree = {"a": jnp.ones(2), "b": [jnp.zeros(3)]}
    put = jax.device_put(tree, may_alias={"a": False, "b": True})
    return found, put["a"] is tree["a"], put["b"][0] is tree["b"][0]


@pytest.mark.parametrize(
    "options", [{"may_alias": True, "donate": True}, {"may_alias": [True]}, {"donate": {"b": True}}]
)
def test_what_device_put_does_not_take_is_refused_as_by_jax(options):
    first = []
    for lib in (jk, jax):
        with pytest.raises(ValueError) as error:
            lib.device_put({"a": lib.numpy.ones(2)}, **options)
        first.append(str(error.value).splitlines()[0])
    assert first[0] == first[1]


@pytest.mark.parametrize("copy", [None, True, False])
def test_arrays_of_other_libraries_come_in_by_the_module_dlpack(copy):
    memory = np.arange(80, dtype=np.float32)
    start = -memory.ctypes.data % 64 // 4  # XLA takes memory without a copy if it begins at a multiple of 64 bytes
    host = memory[start : start + 64]
    ours, theirs = (library.dlpack.from_dlpack(host, copy=copy) for library in (jk, jax))
    assert type(ours) is type(jnp.ones(2))
    assert ours.aval.str_short() == theirs.aval.str_short()
    np.testing.assert_array_equal(ours, theirs)
    same = [x.unsafe_buffer_pointer() == host.ctypes.data for x in (ours, theirs)]
    assert same[0] == same[1]
    assert same[0] or copy


def test_the_module_dlpack_knows_the_dtypes_that_jaxs_knows_and_refuses_what_it_refuses():
    for dtype in ("bool", "int8", "uint64", "f", jnp.bfloat16, float, "complex128", jnp.float8_e4m3fn, "U3", jnp.int4):
        assert jk.dlpack.is_supported_dtype(dtype) == jax.dlpack.is_supported_dtype(dtype), dtype
    for call in (lambda dlpack: dlpack.from_dlpack([1.0]), lambda dlpack: dlpack.is_supported_dtype(None)):
        assert raised(call, jk.dlpack) == raised(call, jax.dlpack)
        assert raised(call, jk.dlpack)[0] == "TypeError"
