"""Misuse: what beginners and hurried people write, with the class and first line that JAX raises for it, and the whole text
of the errors that are ours to word.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import operator
import re
import traceback
import warnings

import jax
import numpy as np
import pytest
from tails import some_of
from twin import raised, same_as_jax, words

import jitkit as jk
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.base.jax_version import since

# --- what Python asks of a value that is not known yet, or is not what it looks for -----------------------------

ASKED = {
    "int": int, "float": float, "complex": complex, "bool": bool, "len": len, "hash": hash, "list": list, "range": range,
    "iter": lambda x: list(iter(x)), "index": lambda x: [1, 2, 3][x], "slice": lambda x: [1, 2, 3][:x], "repeat": lambda x: [0] * x,
    "key of a dict": lambda x: {x: 1}, "in a set": lambda x: {x}, "format d": lambda x: f"{x:d}", "format f": lambda x: f"{x:.2f}",
    "not": lambda x: not x, "and": lambda x: x and 1, "chained comparison": lambda x: 0 < x < 1, "min": lambda x: min(x, 1),
    "max of itself": max, "any": any, "sum": sum, "sorted": sorted, "in": lambda x: 1 in x, "in a list": lambda x: x in [1, 2],
    "math.sin": math.sin, "math.floor": math.floor, "round": lambda x: round(x).bit_length(), "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(), "np.asarray": np.asarray, "np.array": np.array, "np.add": lambda x: np.add(x, 1),
    "np.zeros of it": np.zeros, "np.sum": np.sum, "np.float32": np.float32, "an attribute": lambda x: x.numpy(),
    "a call": lambda x: x(), "unpacking": lambda x: dict([x]), "x[0] = 1": lambda x: x.__setitem__(0, 1),
    "x[0] += 1": lambda x: x.__setitem__(0, x.sum() + 1), "del": lambda x: operator.delitem(x, 0), "append": lambda x: x.append(1),
    "shape = ": lambda x: setattr(x, "shape", (1,)), "pow modulo": lambda x: 0 if isinstance(x, float) else [] + x,
    "join": lambda x: ",".join(x), "chr": chr, "nonzero": lambda x: x.nonzero(),
    "copy": lambda x: copy.deepcopy(x).shape,
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
@same_as_jax
def test_a_value_that_is_asked_for_more_than_it_has(jax, jnp, name):
    ask = ASKED[name]
    outcomes = []
    for x in some_of([1.5, 1, np.arange(3.0, dtype=np.float32)], 2):
        outcomes.append(raised(jax.jit(lambda x: (ask(x), 0)[1]), x))
        if name != "nonzero" or np.ndim(x):
            outcomes.append(raised(lambda x: (ask(jnp.asarray(x)), 0)[1], x))
    return outcomes


# --- what is no array ---------------------------------------------------------------------------------------

NO_ARRAYS = {
    "a text": "a", "an object": object(), "a function": len, "a set": {1}, "bytes": b"x", "a class": int, "a slice": slice(1),
    "an array of texts": np.array(["a"]), "an array of objects": np.array([None]), "an ellipsis": ..., "a list with a text": [1, "a"],
    "a dict with an object": {"a": object()}, "a range": range(3), "records": np.zeros(2, [("a", "i4")]),
}  # fmt: skip

USES = {
    "argument of jit": lambda jax, jnp, x: jax.jit(lambda y: 0)(x),
    "argument of jit by name": lambda jax, jnp, x: jax.jit(lambda *, y: 0)(y=x),
    "result of jit": lambda jax, jnp, x: jax.jit(lambda: x)(),
    "sin": lambda jax, jnp, x: jnp.sin(x),
    "sin while tracing": lambda jax, jnp, x: jax.jit(lambda y: jnp.sin(x))(1.0),
    "sum while tracing": lambda jax, jnp, x: jax.jit(lambda y: jnp.sum(x))(1.0),
    "right of +": lambda jax, jnp, x: jnp.arange(3) + x,
    "right of + while tracing": lambda jax, jnp, x: jax.jit(lambda y: y + x)(1.0),
    "lax.add": lambda jax, jnp, x: jax.lax.add(1.0, x),
    "index": lambda jax, jnp, x: jnp.arange(3)[x],
    "where": lambda jax, jnp, x: jnp.where(True, x, 1),
    "device_put": lambda jax, jnp, x: jax.device_put(x),
    "eval_shape": lambda jax, jnp, x: jax.eval_shape(lambda y: y, x),
    "carry": lambda jax, jnp, x: jax.lax.fori_loop(0, 3, lambda i, c: c, x),
    "operand of cond": lambda jax, jnp, x: jax.lax.cond(True, lambda y: y, lambda y: y, x),
    "predicate of cond": lambda jax, jnp, x: jax.lax.cond(x, lambda: 1, lambda: 2),
    "typeof": lambda jax, jnp, x: jax.typeof(x),
}


@pytest.mark.parametrize("use", USES)
@same_as_jax
def test_what_is_no_array_is_refused(jax, jnp, use):
    return [raised(USES[use], jax, jnp, x) for x in NO_ARRAYS.values()]


# --- values that got out of their trace ---------------------------------------------------------------------


def leaked_by_jit(jax):
    kept = []
    jax.jit(lambda x: kept.append(x))(jax.numpy.arange(3))
    return kept[0]


def leaked_by_scan(jax):
    kept = []
    jax.lax.scan(lambda c, x: (kept.append(c), (c, x))[1], 0.0, jax.numpy.arange(3.0))
    return kept[0]


def leaked_by_cond(jax):
    kept = []
    jax.lax.cond(True, lambda x: (kept.append(x), x)[1], lambda x: x, 1.0)
    return kept[0]


def leaked_by_while(jax):
    kept = []
    jax.lax.while_loop(lambda i: i < 3, lambda i: (kept.append(i), i + 1)[1], 0)
    return kept[0]


USES_OF_LEAKS = {
    "operator": lambda jax, x: x + 1,
    "in another trace": lambda jax, x: jax.jit(lambda y: y + x)(1.0),
    "as an argument": lambda jax, x: jax.jit(lambda y: y)(x),
    "returned from another trace": lambda jax, x: jax.jit(lambda: x)(),
    "bool": lambda jax, x: bool(x),
    "float": lambda jax, x: float(x.sum()),
    "numpy": lambda jax, x: np.asarray(x),
    "index": lambda jax, x: x[0],
    "item": lambda jax, x: x.item(),
    "shape": lambda jax, x: (x.shape, x.dtype.name),
    "repr": lambda jax, x: words(repr(x)).replace("JitTracer", "Tracer"),
}


@pytest.mark.parametrize("leak", [leaked_by_jit, leaked_by_scan, leaked_by_cond, leaked_by_while])
@same_as_jax
def test_a_value_that_outlives_its_trace(jax, jnp, leak):
    return [raised(use, jax, leak(jax)) for use in USES_OF_LEAKS.values()]


# --- static arguments, donation, functions ------------------------------------------------------------------


class ComparedWithAnError:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        raise RuntimeError("these are never equal")


class ComparedToAnArray:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        return np.array([True, False])


def twice_static(jax, cls):
    f = jax.jit(lambda x, n: x, static_argnums=1)
    return f(1.0, cls()), f(1.0, cls())


def donated(jax, use, length=3):
    x = jax.numpy.ones(length)
    jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    return use(x)


PROGRAMS = {
    "static values that cannot be compared": lambda jax, jnp: twice_static(jax, ComparedWithAnError),
    "static values that compare to an array": lambda jax, jnp: twice_static(jax, ComparedToAnArray),
    "a static list by name": lambda jax, jnp: jax.jit(lambda x, n: x, static_argnames="n")(1.0, n=[1]),
    "a static tracer": lambda jax, jnp: jax.jit(lambda y: jax.jit(lambda x, n: x, static_argnums=1)(1.0, [y]))(2),
    "too few arguments": lambda jax, jnp: jax.jit(lambda x, n: x)(1.0),
    "too many arguments": lambda jax, jnp: jax.jit(lambda x: x)(1.0, 2),
    "an unknown keyword": lambda jax, jnp: jax.jit(lambda x: x)(1.0, y=2),
    "an argument given twice": lambda jax, jnp: jax.jit(lambda x: x)(1.0, x=2),
    "jit of None": lambda jax, jnp: jax.jit(None),
    "jit of a number": lambda jax, jnp: jax.jit(1),
    "eval_shape of None": lambda jax, jnp: jax.eval_shape(None, 1),
    "a generator": lambda jax, jnp: jax.jit(lambda x: (yield x))(1.0),
    "jit on a method": lambda jax, jnp: jax.jit(lambda self, x: x)(object(), 1.0),
    # with a length of its own: if JAX compiled this sum before, it raises another class of error
    "a donated array, added to": lambda jax, jnp: donated(jax, lambda x: x + 1, 379),
    "a donated array, indexed": lambda jax, jnp: donated(jax, lambda x: x[0]),
    "a donated array, to NumPy": lambda jax, jnp: donated(jax, np.asarray),
    "a donated array, passed on": lambda jax, jnp: donated(jax, jax.jit(lambda x: x)),
    "a donated array, closed over": lambda jax, jnp: donated(jax, lambda x: jax.jit(lambda y: x + y)(1.0)),
    "an error of the user's": lambda jax, jnp: jax.jit(lambda x: {}["missing"])(1.0),
    "an error of the user's in a loop": lambda jax, jnp: jax.lax.fori_loop(0, 3, lambda i, c: {}["missing"], 1.0),
    "a swapped axis that is not there": lambda jax, jnp: jnp.ones((2, 3)).swapaxes(0, 5),
    "a matrix with a traced size": lambda jax, jnp: jax.jit(lambda n: jnp.eye(n))(3),
    "a shape with a traced size": lambda jax, jnp: jax.jit(lambda n: jnp.broadcast_to(1.0, (n, 3)))(3),
    "a range with a traced end": lambda jax, jnp: jax.jit(lambda n: jnp.arange(n))(3),
    "a reshape by a traced product": lambda jax, jnp: jax.jit(lambda x: x.reshape(jnp.array(x.shape).prod()))(
        jnp.ones(3)
    ),
    "a text as a number": lambda jax, jnp: jnp.float32("a"),
    "a dtype that is not there": lambda jax, jnp: jnp.zeros(3).astype("flot32"),
    "an array as a dtype": lambda jax, jnp: jax.jit(lambda x: jnp.zeros(3, dtype=x))(1.0),
    "a device by name": lambda jax, jnp: jax.jit(lambda x: jax.device_put(x, "gpu"))(1.0),
    "an option that is not there": lambda jax, jnp: jax.config.update("enable_x46", True),
    "a scope that is no text": lambda jax, jnp: jax.named_scope(1).__enter__(),
}


@pytest.mark.parametrize("name", PROGRAMS)
@same_as_jax
def test_a_program_that_cannot_run(jax, jnp, name):
    return raised(PROGRAMS[name], jax, jnp)


# --- the whole text -----------------------------------------------------------------------------------------


def f(x, n=1):
    return x


def gen(x):
    yield x


@dataclasses.dataclass
class Settings:
    rate: float = 0.5


@dataclasses.dataclass(unsafe_hash=True)
class Hashed:
    rate: float = 0.5


class Holder:
    def __jax_array__(self):
        return jnp.ones(2)


def mutated():
    settings, g = Hashed(), jk.jit(f, static_argnums=1)
    g(1.0, settings)
    settings.rate = 1.0
    g(1.0, settings)


def noeq():
    twice_static(jk, ComparedWithAnError)


def donated_unusable():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jk.jit(lambda x: x.sum(), donate_argnums=0)(jnp.ones(3))


def deleted():
    jnp.ones(3) + 1  # this compiles the sum; JAX checks the operands at each call
    donated(jk, lambda x: x + 1)


def donated_twice(jax):
    x, step = jax.numpy.ones(3), jax.jit(lambda x: x + 1, donate_argnums=0)
    step(x)
    return step(x)


DELETED = (
    "Array has been deleted with shape=float32[3].\n"
    "Its memory was given away: it was passed to a function with "
    "`donate_argnums`/`donate_argnames`, or deleted by `.delete()`. Use the result of that call "
    "instead, or do not donate an argument that is needed afterwards."
)
TEXTS = {
    "a text": (
        lambda: jk.jit(f)("relu"),
        "TypeError",
        (
            "Error interpreting argument to <function f> as an abstract array. The problematic value is "
            "of type <class 'str'> and was passed to the function at path x.\n"
            "This typically means that a jit-wrapped function was called with a non-array argument, and "
            "this argument was not marked as static using the static_argnums or static_argnames "
            "parameters of jit.\n"
            "A string is not an array. If x selects a variant of the function, make it static: jit(f, static_argnames='x')."
        ),
    ),
    "a set": (
        lambda: jk.jit(f)({1, 2}),
        "TypeError",
        (
            "Error interpreting argument to <function f> as an abstract array. The problematic value is "
            "of type <class 'set'> and was passed to the function at path x.\n"
            "This typically means that a jit-wrapped function was called with a non-array argument, and "
            "this argument was not marked as static using the static_argnums or static_argnames "
            "parameters of jit.\n"
            "A set is not a pytree, because it has no order. Pass x as a sorted list or a tuple."
        ),
    ),
    "a function": (
        lambda: jk.jit(f)(len),
        "TypeError",
        (
            "Error interpreting argument to <function f> as an abstract array. The problematic value is "
            "of type <class 'builtin_function_or_method'> and was passed to the function at path x.\n"
            "This typically means that a jit-wrapped function was called with a non-array argument, and "
            "this argument was not marked as static using the static_argnums or static_argnames "
            "parameters of jit.\n"
            "A function is not an array. Use it in the function without passing it, or make it static: "
            "jit(f, static_argnames='x')."
        ),
    ),
    "an object": (
        lambda: jk.jit(f)(Settings()),
        "TypeError",
        (
            "Error interpreting argument to <function f> as an abstract array. The problematic value is "
            "of type <class 'Settings'> and was passed to the function at path x.\n"
            "This typically means that a jit-wrapped function was called with a non-array argument, and "
            "this argument was not marked as static using the static_argnums or static_argnames "
            "parameters of jit.\n"
            "If x holds arrays, register its class as a pytree (`jitkit.tree_util.register_dataclass`); if it is a setting, "
            "make it static: jit(f, static_argnames='x')."
        ),
    ),
    "an object in a dict": (
        lambda: jk.jit(f)({"a": [1, Settings()]}),
        "TypeError",
        (
            "Error interpreting argument to <function f> as an abstract array. The problematic value is "
            "of type <class 'Settings'> and was passed to the function at path "
            "x['a'][1].\n"
            "This typically means that a jit-wrapped function was called with a non-array argument, and "
            "this argument was not marked as static using the static_argnums or static_argnames "
            "parameters of jit.\n"
            "If x['a'][1] holds arrays, register its class as a pytree (`jitkit.tree_util.register_dataclass`); if it is a setting, "
            "pass it as an argument of its own that is static."
        ),
    ),
    "a large int": (
        lambda: jk.jit(f)(2**40),
        "OverflowError",
        (
            "An overflow was encountered while parsing an argument to a jitted computation, whose "
            "argument path is x. Got <class 'int'> with value 1099511627776\n"
            "It does not fit the 32-bit integers that are the default. Pass a float, or enable 64-bit types: "
            "`jitkit.config.update('jax_enable_x64', True)`."
        ),
    ),
    "a date": (
        lambda: jk.jit(f)(np.datetime64("2020-01-01")),
        "TypeError",
        (
            "Argument '2020-01-01' of type <class 'numpy.datetime64'> is not a valid JAX type.\n"
            "It was passed as x. Arrays hold numbers: convert x to one first."
        ),
    ),
    "__jax_array__": (
        lambda: jk.jit(f)(Holder()),
        "ValueError",
        (
            "Triggering __jax_array__() during abstractification is no longer supported. To avoid this "
            "error, either explicitly convert your object using jax.numpy.array(), or register your "
            "object as a pytree.\n"
            "It was passed as x, and is of type <class 'Holder'>."
        ),
    ),
    "static list": (
        lambda: jk.jit(f, static_argnums=1)(1.0, [1]),
        "ValueError",
        (
            "Non-hashable static arguments are not supported. An error occurred while trying to hash an "
            "object of type <class 'list'>, [1]. The error was:\n"
            "TypeError: unhashable type: 'list'\n"
            "\n"
            "A static argument is part of the key under which compiled code is found, so it needs a hash."
            " Pass a tuple instead of a list."
        ),
    ),
    "static dict": (
        lambda: jk.jit(f, static_argnums=1)(1.0, {}),
        "ValueError",
        (
            "Non-hashable static arguments are not supported. An error occurred while trying to hash an "
            "object of type <class 'dict'>, {}. The error was:\n"
            "TypeError: unhashable type: 'dict'\n"
            "\n"
            "A static argument is part of the key under which compiled code is found, so it needs a hash."
            " Pass a tuple of its items (`dict(...)` makes a dict of it again), or a frozen dataclass, instead of a dict."
        ),
    ),
    "static set": (
        lambda: jk.jit(f, static_argnums=1)(1.0, {1}),
        "ValueError",
        (
            "Non-hashable static arguments are not supported. An error occurred while trying to hash an "
            "object of type <class 'set'>, {1}. The error was:\n"
            "TypeError: unhashable type: 'set'\n"
            "\n"
            "A static argument is part of the key under which compiled code is found, so it needs a hash."
            " Pass a frozenset instead of a set."
        ),
    ),
    "static array": (
        lambda: jk.jit(f, static_argnums=1)(1.0, jnp.ones(2)),
        "ValueError",
        (
            "Non-hashable static arguments are not supported. An error occurred while trying to hash an "
            "object of type <class 'Array'>, [1. 1.]. The error was:\n"
            "TypeError: unhashable type: 'Array'\n"
            "\n"
            "A static argument is part of the key under which compiled code is found, so it needs a hash."
            " Do not mark arrays as static: pass them as ordinary arguments."
        ),
    ),
    "static object": (
        lambda: jk.jit(f, static_argnums=1)(1.0, Settings()),
        "ValueError",
        (
            "Non-hashable static arguments are not supported. An error occurred while trying to hash an "
            "object of type <class 'Settings'>, Settings(rate=0.5). "
            "The error was:\n"
            "TypeError: unhashable type: 'Settings'\n"
            "\n"
            "A static argument is part of the key under which compiled code is found, so it needs a hash."
            " Give its class `__hash__` and `__eq__`, for example with `@dataclass(frozen=True)`."
        ),
    ),
    "static mutated": (
        mutated,
        "ValueError",
        (
            "Static argument 1 of f was mutated: Hashed(rate=1.0) has another hash than when "
            "it was first passed. A static argument is part of the key under which compiled code is "
            "found, so it must not change. Make a new object instead, for example with "
            "`dataclasses.replace` on a frozen dataclass."
        ),
    ),
    "static incomparable": (
        noeq,
        "ValueError",
        (
            "static arguments should be comparable using __eq__.The following error was raised when "
            "comparing two objects of types <class 'ComparedWithAnError'> and <class 'ComparedWithAnError'>. The error was:\n"
            "RuntimeError: these are never equal\n"
            "\n"
            "A static argument is part of the key under which compiled code is found: two with the same hash are "
            "compared, and `==` must return True or False. Write `__eq__` so that it does, or pass something else "
            "that identifies the value."
        ),
    ),
    "staticmethod": (
        lambda: jk.jit(staticmethod(f)),
        "TypeError",
        ("staticmethod arguments are not supported, got <staticmethod(<function f>)>\nWrite @staticmethod above @jit."),
    ),
    "generator": (
        lambda: jk.jit(gen),
        "TypeError",
        "Expected a function, got a generator function: <function gen>\nReturn a list instead of yielding.",
    ),
    "none": (
        lambda: jk.jit(None),
        "TypeError",
        "Expected a callable value, got None\nIt is what a function without `return` gives.",
    ),
    "returned text": (
        lambda: jk.jit(lambda x: {"a": (x, "s")})(1.0),
        "TypeError",
        (
            "function <lambda> at HERE traced for jit returned a value of type <class 'str'> at output "
            "component ['a'][1], which is not a valid JAX type\n"
            "Return arrays and numbers, alone or in tuples, lists and dicts. Make the rest, such as a text, a shape "
            "or a function, outside of the traced function."
        ),
    ),
    "operand": (
        lambda: lax.add(1.0, "a"),
        "TypeError",
        (
            "Error interpreting argument to add as a JAX value. The problematic value is of type <class "
            "'str'> and was passed to add at position 1.\n"
            "Operands must be arrays or numbers. Make a list an array with `jnp.array`. A text cannot be computed with: choose by it in "
            "Python, with `if`."
        ),
    ),
    "jax tracer": (
        lambda: jax.jit(lambda x: jnp.sin(x))(1.0),
        "TypeError",
        (
            "Error interpreting argument to <function sin> as an abstract array. The problematic value is"
            " of type <class 'jax._src.interpreters.partial_eval.Tracer'> and was passed to "
            "the function at path x.\n"
            "This typically means that a jit-wrapped function was called with a non-array argument, and "
            "this argument was not marked as static using the static_argnums or static_argnames "
            "parameters of jit.\n"
            "This is a tracer of jax itself: `jax.jit`, or another transformation of JAX's, was applied to a "
            "function that computes with jitkit, which it cannot see. Take both from one library: the "
            "transformation from jitkit (`import jitkit as jax`), or the operations from JAX (`import jax.numpy "
            "as jnp`)."
        ),
    ),
    "unusable donation": (
        donated_unusable,
        "UserWarning",
        (
            "Some donated buffers were not usable: float32[3].\n"
            "A buffer can be reused only by a result with as many elements. See an explanation at "
            "https://docs.jax.dev/en/latest/faq.html#buffer-donation."
        ),
    ),
    "deleted": (deleted, "RuntimeError", DELETED),
    "donated twice": (
        lambda: donated_twice(jk),
        "RuntimeError" if since(0, 11) else "ValueError",
        DELETED
        if since(0, 11)
        else "INVALID_ARGUMENT: Invalid buffer passed to Execute() as argument 0 to replica 0: INVALID_ARGUMENT: Buffer has been "
        f"deleted or donated.\n{DELETED}",
    ),
    "struct dtype": (
        lambda: jk.ShapeDtypeStruct((2,), None),
        "ValueError",
        "ShapeDtypeStruct: dtype must be specified.",
    ),
    "dialect": (
        lambda: jk.jit(f).lower(1.0).as_text("llvm"),
        "ValueError",
        "unknown dialect: llvm\nThe dialects are 'stablehlo' and 'hlo'.",
    ),
    "platforms": (
        lambda: jk.jit(f).trace(1.0).lower(lowering_platforms=("cpu", "cuda")),
        "NotImplementedError",
        (
            "jitkit lowers for one platform at a time, got lowering_platforms=('cpu', 'cuda'). Call "
            "`lower` once for each."
        ),
    ),
    "explain": (
        lambda: jk.explain(len),
        "TypeError",
        (
            "explain takes a function made by jit, got <built-in function len>.\n"
            "Pass what `jit` has returned: `f = jit(f)`, then `explain(f)`."
        ),
    ),
    "masked": (
        lambda: jnp.sin(np.ma.masked_array([1.0], [True])),
        "ValueError",
        (
            "numpy masked arrays are not supported as direct inputs to JAX functions. Use arr.filled() to"
            " convert the value to a standard numpy array."
        ),
    ),
    "struct as argument": (
        lambda: jk.jit(f)(jk.ShapeDtypeStruct((2,), "float32")),
        "TypeError",
        (
            "Argument 'x' of shape float32[2] of type <class 'jitkit.ShapeDtypeStruct'> is not a "
            "valid JAX type.\n"
            "It stands for an array without values, and is an argument for `trace`, `lower`, `eval_shape`"
            " and `make_jaxpr`; to call the function, pass an array."
        ),
    ),
    "option": (
        lambda: jk.config.update("enable_x46", True),
        "AttributeError",
        (
            "Unrecognized config option: enable_x46\n"
            "The options are enable_x64, disable_jit, numpy_dtype_promotion, numpy_rank_promotion, "
            "default_matmul_precision, debug_nans, debug_infs, debug_key_reuse, no_execution, no_tracing, "
            "transfer_guard, transfer_guard_host_to_device, transfer_guard_device_to_device, transfer_guard_device_to_host, "
            "log_compiles, explain_cache_misses, check_tracer_leaks, "
            "traceback_filtering, compilation_cache_dir, enable_compilation_cache, compilation_cache_max_size, cc, errors_page, platforms, "
            "num_cpu_devices, default_device, jit_cache_size, default_prng_impl, threefry_partitionable."
        ),
    ),
    "pred": (
        lambda: lax.cond(jnp.array([True, False]), lambda: 1, lambda: 2),
        "TypeError",
        (
            "Pred must be a scalar, got [ True False] of shape (2,).\n"
            "One branch is taken for the whole array: reduce the condition with `.all()` or `.any()`. To "
            "choose element by element, use `jnp.where`."
        ),
    ),
    "index": (
        lambda: lax.switch(jnp.float32(1), [lambda: 1, lambda: 2]),
        "TypeError",
        (
            "Index type must be an integer, got 1.0 as float32\n"
            "Convert it: `index.astype(jnp.int32)`. For two branches and a condition, use `lax.cond`."
        ),
    ),
    "while": (
        lambda: lax.while_loop(lambda i: i, lambda i: i - 1, 3),
        "TypeError",
        (
            "cond_fun must return a boolean scalar, but got output type(s) [ShapedArray(int32[], "
            "weak_type=True)].\n"
            "The condition says whether the loop goes on: compare (`i < n` instead of `n - i`), and reduce arrays "
            "with `.all()` or `.any()`."
        ),
    ),
    "fori": (
        lambda: lax.fori_loop(0, jnp.float32(3), lambda i, c: c, 0),
        "TypeError",
        (
            "lower and upper arguments to fori_loop must have equal types, got int32 and float32\n"
            "Both must be integers of one type: `int(n)`, or `n.astype(jnp.int32)` for arrays."
        ),
    ),
    "scan pair": (
        lambda: lax.scan(lambda c, x: c + x, 0, jnp.arange(3)),
        "TypeError",
        (
            "scan body output must be a pair, got int32[].\n"
            "Return the carry for the next step and the output of this one: `carry, y`; `carry, None` "
            "without output."
        ),
    ),
    "scan length": (
        lambda: lax.scan(lambda c, x: (c, x), 0, None),
        "ValueError",
        "scan got no values to scan over and `length` not provided.\nSay how many steps: `length=n`.",
    ),
    "scan sizes": (
        lambda: lax.scan(lambda c, x: (c, x), 0, (jnp.ones(2), jnp.ones(3))),
        "ValueError",
        (
            "scan got values with different leading axis sizes: 2, 3.\n"
            "Step i gets x[i] of each array. Do not scan over what all steps share: the body can use it directly, or "
            "carry it."
        ),
    ),
    "put on string": (
        lambda: jk.device_put(jnp.ones(2), "gpu"),
        "ValueError",
        (
            "`jax.device_put` only accepts `None`, `jax.sharding.Sharding`, `jax.Device`, `Format`, "
            "`jax.memory.Space` or a pytree of these values. Received invalid value: gpu\n"
            "Pass one of `jitkit.devices()`, or a Sharding."
        ),
    ),
    "put object": (
        lambda: jk.device_put(Settings()),
        "TypeError",
        (
            "Cannot interpret value of type <class 'Settings'> as an abstract array; it"
            " does not have a dtype attribute\n"
            "Only numbers, arrays of numbers, and trees of those can be put on a device."
        ),
    ),
    "broadcast": (
        lambda: jnp.ones((2, 3)) + jnp.ones(4),
        "ValueError",
        (
            "Incompatible shapes for broadcasting: shapes=[(2, 3), (4,)]\n"
            "Compare the shapes from their last axis to the first: two sizes must be equal, or one of them 1. "
            "`x[:, None]` adds an axis of size 1."
        ),
    ),
    "missing": (
        lambda: jk.legacy_prng_key,
        "AttributeError",
        (
            "module 'jitkit' has no attribute 'legacy_prng_key'\n"
            "JAX has `jax.legacy_prng_key`, and jitkit has not: docs/parity.md lists what is missing."
        ),
    ),
}


ERRORS = (TypeError, ValueError, OverflowError, AttributeError, NotImplementedError, RuntimeError, UserWarning)


@pytest.mark.parametrize("name", TEXTS)
def test_the_whole_text_of_an_error(name):
    program, kind, text = TEXTS[name]
    with pytest.raises(ERRORS) as caught:
        program()
    assert type(caught.value).__name__ == kind
    said = words(str(caught.value)).replace("JitTracer", "Tracer").replace("DynamicJaxprTracer", "Tracer")
    said = re.sub(r"at \S*test_misuse\.py:\d+", "at HERE", said).replace(f"{__name__}.", "")
    assert said == text


# --- one error, and not the one that our look-up failed with before -----------------------------------------------------


WRONG_OPERATIONS = {
    "operands of different ranks": lambda: lax.add(jnp.ones((8, 8)), jnp.ones(3)),
    "shapes that do not broadcast": lambda: jnp.ones((8, 8)) + jnp.ones(3),
    "the same, traced": lambda: jk.eval_shape(lambda x: x + jnp.ones(3), jnp.ones((8, 8))),
    "arrays to join": lambda: jnp.concatenate([jnp.ones((8, 8)), jnp.ones(3)]),
    "sizes": lambda: lax.reshape(jnp.ones((8, 8)), (3,)),
    "a text as an index": lambda: jnp.ones(3)["a"],
    "a float as an index": lambda: jnp.ones(3)[1.5],
    "a float as an axis": lambda: jnp.sum(jnp.ones(3), axis=1.5),
    "a text as a shift": lambda: jnp.roll(jnp.ones(3), "a"),
    "no operands at all": lambda: jnp.result_type(),
}


@pytest.mark.parametrize("what", WRONG_OPERATIONS)
def test_errors_of_operations_are_shown_alone(what):
    with pytest.raises(Exception) as found:
        WRONG_OPERATIONS[what]()
    shown = "".join(traceback.format_exception(found.value))
    assert "During handling" not in shown
    assert "direct cause" not in shown


@same_as_jax
def test_slices_of_wrong_kinds(jax, jnp):
    bounds = ("a", 2.5, 1j, [1], (), {}, np.float32(1), np.ones(2), None, 1, -1)
    slices = [slice(*s) for b in bounds for c in bounds for s in ((b, c), (b, 1, c), (None, b, c))]
    x = jnp.arange(3.0)
    reads = [raised(lambda s=s: x[s]) for s in slices]
    return [
        reads,
        [raised(lambda s=s: x.at[s].add(1.0)) for s in slices[::7]],
        [raised(jax.jit(lambda x, s=s: x[s]), x) for s in slices[::5]],
    ]


@same_as_jax
def test_constants_have_the_types_that_the_program_sees(jax, jnp):
    def types(dtype):
        c = np.ones(3, dtype)
        called = jax.make_jaxpr(lambda x: (jax.jit(lambda y: y * c)(x), c))(1.0)
        return [str(x.dtype) for x in (*called.consts, *jax.jit(lambda x: x + c).trace(1.0).jaxpr.consts)]

    def both():
        return [types(d) for d in ("float64", "int64", "uint64", "complex128", "float16", "int8", "bool")]

    with jax.enable_x64(True):
        wide = both()
    return both(), wide


@same_as_jax
def test_functions_outside_of_jit_convert_objects_by_their_jax_array(jax, jnp):
    class Boxed:
        def __init__(self, x):
            self.x = x

        def __jax_array__(self):
            return self.x

    x, truths = Boxed(jnp.arange(4.0)), Boxed(jnp.array([True, False, True, True]))
    return [
        *[jax.nn.gelu(x, approximate=way) for way in (True, False)],
        *[jax.nn.logsumexp(x, b=b) for b in (None, Boxed(jnp.ones(4)))],
        raised(lambda: jax.nn.logsumexp(x, where=truths)),  # the jitted `where` raises it
        jax.scipy.special.logsumexp(x),
        *[f(x) for f in (jnp.nanargmax, jnp.nanargmin, jnp.ptp)],
        jax.grad(lambda y: jax.nn.gelu(Boxed(y)).sum())(jnp.ones(3)),
    ]


@pytest.mark.parametrize("name", [3, 3.5, b"x", (), "scope", ""])
@same_as_jax
def test_the_name_of_a_named_call_may_be_anything(jax, jnp, name):
    return jax.named_call(lambda x: x + 1, name=name)(1), str(jax.make_jaxpr(jax.named_call(jnp.sin, name=name))(1.0))


@same_as_jax
def test_top_k_takes_an_array_as_k_in_a_jitted_function(jax, jnp):
    k = jnp.int32(2)
    return jax.jit(lambda x: jax.lax.top_k(x, k))(jnp.arange(4.0)), raised(
        lambda: jax.jit(jax.lax.top_k)(jnp.ones(3), 2)
    )
