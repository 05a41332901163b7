"""Draws random calls of one function: arguments are trees with leaves of all kinds, passed by position or keyword, and
some are static.

An argument is described by plain data, so that it can be built with jitkit and with JAX: `("full", shape, value, dtype)`.
"""

from __future__ import annotations

import collections

import jax
import numpy as np
from hypothesis import strategies as st

NUMBERS = (0, 1, -1, 2, 3, -0.0, 0.0, 0.5, 1.5)
SHAPES = st.sampled_from([(), (1,), (2,), (2, 1), (0,)])
DTYPES = st.sampled_from(["float32", "int32", "bool", "float16", "int8", "complex64", "uint8"])
STATICS = (1, 1.0, True, "s", None, (1,), (1.0,), 2, "t", False, 0, 0.0, frozenset({1}), b"x", 3 + 0j)
NAMES = ("n", "x", "y", "k", "z", "w")  # the names of the function's parameters, and two more keywords

numbers = st.sampled_from(NUMBERS)
python_scalars = st.one_of(
    numbers, numbers.map(int), numbers.map(bool), st.builds(complex, numbers, st.sampled_from([0.0, -0.0, 1.0]))
).map(lambda value: ("value", value))
host_arrays = st.builds(
    lambda shape, value, dtype: ("value", np.full(shape, abs(value), dtype)), SHAPES, numbers, DTYPES
)
wide_arrays = st.builds(lambda shape, value: ("value", np.full(shape, value, "float64")), SHAPES, numbers)
host_scalars = st.builds(lambda value, dtype: ("value", np.dtype(dtype).type(abs(value))), numbers, DTYPES)
arrays = st.tuples(
    st.sampled_from(["full", "full", "full, committed", "full, of jax"]),
    SHAPES,
    numbers.map(lambda value: abs(int(value))),
    st.one_of(DTYPES, st.just("bfloat16")),
)
weak_arrays = numbers.map(lambda value: ("weak", float(value)))
leaves = st.one_of(
    python_scalars, arrays, arrays, host_arrays, wide_arrays, host_scalars, weak_arrays, st.just(("value", None))
)


def containers(children):
    keyed = st.dictionaries(st.sampled_from("abcd"), children, max_size=2)
    listed = st.lists(children, max_size=2)
    return st.one_of(
        st.tuples(st.sampled_from(["list", "tuple"]), listed), st.tuples(st.sampled_from(["dict", "ordered"]), keyed)
    )


trees = st.recursive(leaves, containers, max_leaves=4)

jit_options = st.one_of(
    st.just({}),
    st.sampled_from([0, 1, (0,), (0, 1), ()]).map(lambda n: {"static_argnums": n}),
    st.sampled_from(["n", "k", ("n", "k"), "x"]).map(lambda n: {"static_argnames": n}),
    st.just({"keep_unused": True}),
    st.just({"inline": True}),
)


def static_names(options):
    """Return the names of the parameters that are static with these options."""
    nums, names = options.get("static_argnums", ()), options.get("static_argnames", ())
    nums = nums if isinstance(nums, tuple) else (nums,)
    names = names if isinstance(names, tuple) else (names,)
    return {NAMES[i] for i in nums} | set(names)


@st.composite
def call_sequences(draw):
    """Draw options of `jit`, and the arguments of some calls. Few of the calls differ, so that many hit the cache."""
    options = draw(jit_options)
    static = static_names(options)
    values = st.sampled_from(STATICS).map(lambda value: ("value", value))
    pools = {name: draw(st.lists(values if name in static else trees, min_size=1, max_size=3)) for name in NAMES}
    calls = []
    for _ in range(draw(st.integers(2, 7))):
        args, kwargs = [], {}
        for name in NAMES:
            if name in ("k", "z", "w", "y") and not draw(st.booleans()):
                continue
            value = draw(st.sampled_from(pools[name]))
            if name in ("k", "z", "w") or kwargs or draw(st.integers(0, 3)) == 0:
                kwargs[name] = value
            else:
                args.append(value)
        calls.append((args, dict(draw(st.permutations(list(kwargs.items()))))))
    return options, calls


def build(described, lib, jnp):
    """Return the argument that is described, made with a library and its numpy."""
    kind, *parts = described
    if kind == "value":
        return parts[0]
    if kind == "weak":
        return jnp.asarray(parts[0])
    if kind == "full, of jax":
        return jax.numpy.full(*parts)
    if kind == "full, committed":
        return lib.device_put(jnp.full(*parts), lib.devices()[0])
    if kind == "full":
        return jnp.full(*parts)
    if kind in ("list", "tuple"):
        return {"list": list, "tuple": tuple}[kind](build(child, lib, jnp) for child in parts[0])
    items = [(name, build(child, lib, jnp)) for name, child in parts[0].items()]
    return dict(items) if kind == "dict" else collections.OrderedDict(items)
