"""Users' classes whose constructors check their fields, passed to every function that takes trees."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.custom_batching
import jax.flatten_util
import numpy as np
import pytest

import jitkit
import jitkit.custom_batching
import jitkit.flatten_util

# --- the classes ----------------------------------------------------------------------------------------------


def wants_shape(lib: Any) -> type:
    class WantsShape:
        def __init__(self, x: Any, y: Any) -> None:
            if not (hasattr(x, "shape") and hasattr(y, "shape")):
                raise LookupError("x and y must be arrays")
            self.x, self.y = x, y

    return WantsShape


def refuses_ints(lib: Any) -> type:
    class RefusesInts:
        def __init__(self, x: Any, y: Any) -> None:
            if isinstance(x, int) or isinstance(y, int):
                raise LookupError("x and y must not be integers")
            self.x, self.y = x, y

    return RefusesInts


def makes_arrays(lib: Any) -> type:
    class MakesArrays:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = lib.numpy.asarray(x), lib.numpy.asarray(y)

    return MakesArrays


def computes(lib: Any) -> type:
    class Computes:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x * 1.0, y + 0.0

    return Computes


def has_slots(lib: Any) -> type:
    class HasSlots:
        __slots__ = ("x", "y")

        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y
            if len(x.shape) > 9:
                raise LookupError

    return HasSlots


def is_frozen(lib: Any) -> type:
    @dataclasses.dataclass(frozen=True)
    class Frozen:
        x: Any
        y: Any

        def __post_init__(self) -> None:
            if self.x.dtype == bool:
                raise LookupError("a mask")

        def __eq__(self, other: object) -> bool:
            raise LookupError("whoever compares arrays gets arrays")

        __hash__ = None

    return Frozen


def does_not_look(lib: Any) -> type:
    class DoesNotLook:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

    return DoesNotLook


def by_dataclass(lib: Any, cls: type) -> type:
    return lib.tree_util.register_dataclass(cls, ["x", "y"], [])


def by_class(lib: Any, cls: type) -> type:
    cls.tree_flatten = lambda self: ((self.x, self.y), None)
    cls.tree_unflatten = classmethod(lambda cls, data, children: cls(*children))
    return lib.tree_util.register_pytree_node_class(cls)


def by_function(lib: Any, cls: type) -> type:
    lib.tree_util.register_pytree_node(cls, lambda n: ((n.x, n.y), "m"), lambda data, children: cls(*children))
    return cls


def with_keys(lib: Any, cls: type) -> type:
    key = lib.tree_util.GetAttrKey
    lib.tree_util.register_pytree_with_keys(
        cls, lambda n: (((key("x"), n.x), (key("y"), n.y)), None), lambda data, children: cls(*children)
    )
    return cls


CLASSES = [wants_shape, refuses_ints, makes_arrays, computes, has_slots, is_frozen]
WAYS = [by_dataclass, by_class, by_function, with_keys]


@functools.cache
def class_of(lib: Any, make: Callable[..., type], way: Callable[..., type]) -> type:
    cls = make(lib)
    cls.__name__ = cls.__qualname__ = "Node"
    return way(lib, cls)


# --- what is done with them -----------------------------------------------------------------------------------

Program = Callable[[Any, Any], Any]
PROGRAMS: dict[str, Program] = {}


def program(fun: Program) -> Program:
    PROGRAMS[fun.__name__] = fun
    return fun


def one(lib: Any, c: type) -> Any:
    return c(lib.numpy.float32(1.5), lib.numpy.float32(2.0))


def many(lib: Any, c: type) -> Any:
    return c(lib.numpy.arange(3.0), lib.numpy.arange(3.0) + 2.0)


def double(c: type) -> Callable[[Any], Any]:
    return lambda node: c(node.x * 2.0, node.y + node.x)


@program
def jit(lib, c):
    f = lib.jit(double(c))
    return f(one(lib, c)), f(one(lib, c)), f._cache_size()


@program
def jit_in_containers(lib, c):
    return lib.jit(lambda t: {"a": [c(t["a"][0].y, t["a"][0].x)], "b": None})({"a": [one(lib, c)], "b": None})


@program
def jit_keywords_and_donation(lib, c):
    return lib.jit(lambda *, node: double(c)(node), donate_argnames="node")(node=many(lib, c))


@program
def nested_jit(lib, c):
    return lib.jit(lambda node: lib.jit(double(c))(double(c)(node)))(one(lib, c))


@program
def ahead_of_time(lib, c):
    compiled = lib.jit(double(c)).lower(one(lib, c)).compile()
    return compiled(one(lib, c)), compiled(one(lib, c))


@program
def ahead_of_time_args_info(lib, c):
    return lib.tree_util.tree_leaves(lib.jit(double(c)).lower(one(lib, c)).args_info)[0].donated


@program
def ahead_of_time_out_info(lib, c):
    return [x.shape for x in lib.tree_util.tree_leaves(lib.jit(double(c)).lower(one(lib, c)).out_info)]


@program
def ahead_of_time_in_avals(lib, c):
    return [x.shape for x in lib.tree_util.tree_leaves(lib.jit(double(c)).lower(one(lib, c)).in_avals)]


@program
def eval_shape(lib, c):
    return [x.shape for x in lib.tree_util.tree_leaves(lib.eval_shape(double(c), one(lib, c)))]


@program
def make_jaxpr(lib, c):
    return str(lib.make_jaxpr(double(c))(one(lib, c)))


@program
def scan_carry(lib, c):
    return lib.lax.scan(lambda n, _: (double(c)(n), n), one(lib, c), None, length=3)


@program
def scan_elements(lib, c):
    return lib.lax.scan(lambda s, n: (s + n.x, double(c)(n)), 0.0, many(lib, c))


@program
def scan_unrolled_and_reversed(lib, c):
    return lib.lax.scan(lambda n, m: (c(n.x + m.y, n.y), m), one(lib, c), many(lib, c), reverse=True, unroll=2)


@program
def scan_of_wrong_carry(lib, c):
    return lib.lax.scan(lambda n, _: (c(n.x.astype(int), n.y), None), one(lib, c), None, length=3)


@program
def scan_of_wrong_structure(lib, c):
    return lib.lax.scan(lambda n, _: ((n.x, n.y), None), one(lib, c), None, length=3)


@program
def scan_of_no_pair(lib, c):
    return lib.lax.scan(lambda n, _: n, one(lib, c), None, length=3)


@program
def while_loop(lib, c):
    return lib.lax.while_loop(lambda n: n.x < 9.0, double(c), one(lib, c))


@program
def fori_loop(lib, c):
    return lib.lax.fori_loop(0, 3, lambda i, n: c(n.x + i, n.y), one(lib, c))


@program
def fori_loop_of_traced_bound(lib, c):
    return lib.jit(lambda k: lib.lax.fori_loop(0, k, lambda i, n: c(n.x + i, n.y), one(lib, c)))(3)


@program
def cond(lib, c):
    return lib.lax.cond(True, double(c), lambda n: n, one(lib, c))


@program
def cond_of_wrong_types(lib, c):
    return lib.lax.cond(True, double(c), lambda n: c(n.x.astype(int), n.y), one(lib, c))


@program
def cond_of_wrong_structure(lib, c):
    return lib.lax.cond(True, double(c), lambda n: (n.x, n.y), one(lib, c))


@program
def switch(lib, c):
    return lib.jit(lambda i: lib.lax.switch(i, [double(c), lambda n: n, lambda n: c(n.y, n.x)], one(lib, c)))(2)


@program
def map_(lib, c):
    return lib.lax.map(double(c), many(lib, c))


@program
def map_in_batches(lib, c):
    return lib.lax.map(double(c), many(lib, c), batch_size=2)


@program
def associative_scan(lib, c):
    return lib.lax.associative_scan(lambda n, m: c(n.x + m.x, n.y * m.y), many(lib, c))


@program
def checkpoint(lib, c):
    return lib.checkpoint(double(c))(one(lib, c))


@program
def grad_of_checkpoint(lib, c):
    return lib.grad(lambda n: lib.checkpoint(double(c))(n).x)(one(lib, c))


@program
def vmap(lib, c):
    return lib.vmap(double(c))(many(lib, c))


@program
def vmap_with_tuple_of_axes(lib, c):
    return lib.vmap(lambda n, k: c(n.x * k, n.y), in_axes=(0, None), out_axes=0)(many(lib, c), 3.0)


@program
def vmap_in_containers(lib, c):
    f = lib.vmap(lambda t: {"r": double(c)(t["n"])}, in_axes=({"n": 0},), out_axes={"r": 0})
    return f({"n": many(lib, c)})


@program
def vmap_of_wrong_sizes(lib, c):
    return lib.vmap(lambda n, k: n.x * k)(many(lib, c), lib.numpy.arange(2.0))


@program
def vmap_of_wrong_prefix(lib, c):
    return lib.vmap(double(c), in_axes=((0, 0),))(many(lib, c))


@program
def vmap_of_out_axes_none(lib, c):
    return lib.vmap(double(c), out_axes=None)(many(lib, c))


@program
def vmap_of_control_flow(lib, c):
    def f(n):
        n = lib.lax.cond(n.x > 1.0, double(c), lambda n: n, n)
        return lib.lax.scan(lambda n, _: (double(c)(n), n.x), n, None, length=2)

    return lib.vmap(f)(many(lib, c))


@program
def grad(lib, c):
    return lib.value_and_grad(lambda n: n.x * n.y)(one(lib, c))


@program
def grad_with_aux(lib, c):
    return lib.grad(lambda n: (n.x * n.y, n), has_aux=True)(one(lib, c))


@program
def grad_of_scan(lib, c):
    return lib.grad(lambda n: lib.lax.scan(lambda n, m: (c(n.x * m.y, n.y), None), n, many(lib, c))[0].x)(one(lib, c))


@program
def jvp(lib, c):
    return lib.jvp(double(c), (one(lib, c),), (one(lib, c),))


@program
def jvp_of_wrong_structure(lib, c):
    return lib.jvp(double(c), (one(lib, c),), ((1.0, 2.0),))


@program
def linearize(lib, c):
    out, push = lib.linearize(double(c), one(lib, c))
    return out, push(one(lib, c))


@program
def linear_transpose(lib, c):
    return lib.linear_transpose(double(c), one(lib, c))(one(lib, c))


@program
def vjp(lib, c):
    out, pull = lib.vjp(double(c), one(lib, c))
    return out, pull(one(lib, c))


@program
def vjp_of_wrong_structure(lib, c):
    return lib.vjp(double(c), one(lib, c))[1]((1.0, 2.0))


@program
def jacfwd(lib, c):
    return lib.jacfwd(lambda n: n.x * n.y)(many(lib, c))


@program
def jacrev(lib, c):
    return lib.jacrev(lambda n: n.x * n.y)(many(lib, c))


@program
def jacobian_of_nodes(lib, c):
    return lib.jacfwd(lambda x: c(x * x, x))(lib.numpy.arange(3.0))


@program
def hessian(lib, c):
    return lib.tree_util.tree_leaves(lib.hessian(lambda n: (n.x * n.y).sum())(many(lib, c)))


@program
def custom_vjp(lib, c):
    f = lib.custom_vjp(lambda n: n.x * n.y)
    f.defvjp(lambda n: (n.x * n.y, n), lambda n, ct: (c(ct * n.y, ct * n.x),))
    return f(one(lib, c)), lib.grad(f)(one(lib, c)), lib.jit(lib.grad(f))(one(lib, c)), lib.vmap(f)(many(lib, c))


@program
def custom_vjp_of_nodes(lib, c):
    f = lib.custom_vjp(double(c))
    f.defvjp(lambda n: (double(c)(n), n), lambda n, ct: (c(ct.x * 2.0 + ct.y, ct.y),))
    return f(one(lib, c)), lib.vjp(f, one(lib, c))[1](one(lib, c))


@program
def custom_jvp(lib, c):
    f = lib.custom_jvp(double(c))
    f.defjvp(lambda primals, tangents: (double(c)(*primals), double(c)(*tangents)))
    return f(one(lib, c)), lib.jvp(f, (one(lib, c),), (one(lib, c),)), lib.grad(lambda n: f(n).x)(one(lib, c))


@program
def custom_vmap(lib, c):
    f = lib.custom_batching.custom_vmap(double(c))
    f.def_vmap(lambda size, batched, n: (double(c)(n), lib.tree_util.tree_map(lambda _: True, double(c)(n))))
    return f(one(lib, c)), lib.vmap(f)(many(lib, c))


@program
def sequential_vmap(lib, c):
    return lib.vmap(lib.custom_batching.sequential_vmap(lambda n: n.x * n.y))(many(lib, c))


@program
def custom_root(lib, c):
    def f(n):
        return c(n.x - 3.0, n.y - 1.0)

    return lib.lax.custom_root(f, one(lib, c), lambda f, n: c(n.x * 0 + 3.0, n.y * 0 + 1.0), lambda g, n: n)


@program
def custom_linear_solve(lib, c):
    def half(n):
        return c(n.x / 2, n.y / 2)

    return lib.lax.custom_linear_solve(lambda n: c(n.x * 2, n.y * 2), one(lib, c), lambda _, b: half(b))


@program
def device_put(lib, c):
    return lib.device_put(one(lib, c)), lib.jit(lambda n: lib.device_put(double(c)(n)))(one(lib, c))


@program
def block_until_ready(lib, c):
    return lib.block_until_ready(one(lib, c))


@program
def ravel_pytree(lib, c):
    flat, unravel = lib.flatten_util.ravel_pytree(many(lib, c))
    return flat, unravel(flat * 2.0)


@program
def closure_convert(lib, c):
    k = lib.numpy.float32(2.0)
    converted, consts = lib.closure_convert(lambda n: double(c)(n).x * k, one(lib, c))
    return converted(one(lib, c), *consts)


@program
def optimization_barrier(lib, c):
    return lib.lax.optimization_barrier(one(lib, c))


@program
def tree_functions(lib, c):
    tree = lib.tree_util
    node = one(lib, c)
    leaves, treedef = tree.tree_flatten(node)
    return (
        tree.tree_map(lambda a, b: a + b, node, node),
        [str(path) for path, _ in tree.tree_flatten_with_path(node)[0]],
        tree.tree_map_with_path(lambda path, a: a * 2, node),
        tree.tree_unflatten(treedef, leaves),
        tree.tree_all(tree.tree_map(lambda a: a > 0, [1.0])),
        tree.tree_reduce(lambda a, b: a + b, node),
        treedef == tree.tree_structure(one(lib, c)),
        list(tree.tree_structure([node, 1]).flatten_up_to([node, {"a": 2}]))[1],
    )


@program
def tree_map_of_bad_prefix(lib, c):
    return lib.tree_util.tree_map(lambda a, b: a, [one(lib, c)], [(1.0, 2.0)])


@program
def tree_transpose(lib, c):
    tree = lib.tree_util
    node = one(lib, c)
    pairs = tree.tree_map(lambda a: (a, a + 1), node)
    return tree.tree_transpose(tree.tree_structure(node), tree.tree_structure((0, 0)), pairs)


@program
def pure_callback(lib, c):
    f = lib.jit(lambda n: lib.pure_callback(lambda n: np.float32(n.x), lib.ShapeDtypeStruct((), np.float32), n))
    return f(one(lib, c))


@program
def callbacks_that_return_a_node(lib, c):
    io_callback = lib.experimental.io_callback
    return [
        lib.jit(lambda n, call=call: call(lambda n: n, n, n))(one(lib, c)) for call in (lib.pure_callback, io_callback)
    ]


@program
def reduce_(lib, c):
    zeros = c(lib.numpy.float32(0), lib.numpy.float32(0))
    return lib.lax.reduce(many(lib, c), zeros, lambda a, b: c(a.x + b.x, a.y + b.y), [0])


@program
def saved_residuals_and_checkpoint_policy(lib, c):
    policy = lib.checkpoint_policies.everything_saveable
    return lib.grad(lambda n: lib.checkpoint(lambda n: double(c)(n).x, policy=policy)(n))(one(lib, c))


# --- beside JAX -----------------------------------------------------------------------------------------------


def observed(lib: Any, c: type, run: Program) -> Any:
    """Return the leaves of what a program returned and the classes around them, or the class of its error."""
    try:
        result = run(lib, c)
    except Exception as error:
        line = (str(error).splitlines() or [""])[0]
        return f"{type(error).__name__}: {line.partition(', got ')[0]}"  # they print the value differently
    return [
        x if isinstance(x, (str, bool, int)) else (np.asarray(x).tolist(), str(np.asarray(x).dtype))
        for x in lib.tree_util.tree_leaves(result)
    ], _classes(result)


def _classes(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: _classes(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [_classes(each) for each in x]
    return "leaf" if not hasattr(x, "x") else (type(x).__name__, _classes(x.x), _classes(x.y))


# Here JAX returns users' classes whose fields are descriptions of arrays; so must we, and constructors must accept
# these.
OF_DESCRIPTIONS = {"ahead_of_time_args_info", "ahead_of_time_in_avals", "ahead_of_time_out_info", "eval_shape"}
# Here the program itself builds nodes of the class: from pairs, from bools (which results of a rule are batches), from
# nodes.
SHOWS = {"tree_transpose", "custom_vmap", "sequential_vmap", "hessian"}
# The error's message has a tree of types. Since JAX 0.11, an error of the constructor may come out instead.
IN_MESSAGES = {"scan_of_no_pair"}
# Nodes of nodes: both libraries call the constructor with nodes as fields, and let its errors pass.
OF_NODES = {"hessian"}


def row(i: int, name: str, j: int, make: Any, k: int, way: Any) -> Any:
    """Return a program with a class and a way to register it. `make test` takes each program in every way, each with another
    class, and each class and way in every sixth program; the last test of this file looks at all constructors' arguments.
    """
    marks = () if (j - k - i) % len(CLASSES) == 0 else (pytest.mark.tail,)
    return pytest.param(name, make, way, id=f"{name}-{make.__name__}-{way.__name__}", marks=marks)


ROWS = [
    row(i, name, j, make, k, way)
    for i, name in enumerate(PROGRAMS)
    for j, make in enumerate(CLASSES)
    for k, way in enumerate(WAYS)
]


@pytest.mark.parametrize(("name", "make", "way"), ROWS)
def test_classes_that_look_at_their_fields_go_where_they_go_in_jax(name: str, make: Any, way: Any) -> None:
    ours, theirs = (observed(lib, class_of(lib, make, way), PROGRAMS[name]) for lib in (jitkit, jax))
    if isinstance(ours, str) and name in OF_DESCRIPTIONS | OF_NODES:
        assert isinstance(theirs, str)
    elif (
        ours != theirs
    ):  # JAX put an object() or a type into the user's class, and we did not: as for a class that checks nothing
        assert ours == observed(jax, class_of(jax, does_not_look, way), PROGRAMS[name])


class Pair(NamedTuple):
    x: Any
    y: Any


RETURNED = {
    "a tuple": lambda lib, c, n: (n + 1.0, n),
    "a list": lambda lib, c, n: [n + 1.0, n],
    "a named tuple": lambda lib, c, n: Pair(n + 1.0, n),
    "a dict": lambda lib, c, n: {"carry": n + 1.0, "y": n},
    "a node": lambda lib, c, n: c(n + 1.0, n),
    "three": lambda lib, c, n: (n, n, n),
    "one": lambda lib, c, n: n,
    "None": lambda lib, c, n: None,
}


@pytest.mark.parametrize("returned", RETURNED)
def test_what_scan_takes_for_a_pair(returned: str) -> None:
    def run(lib: Any, c: type) -> Any:
        return lib.lax.scan(lambda n, _: RETURNED[returned](lib, c, n), lib.numpy.float32(1), None, length=2)

    ours, theirs = (observed(lib, class_of(lib, does_not_look, WAYS[0]), run) for lib in (jitkit, jax))
    assert ours == theirs


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_constructor_is_called_with_anything_but_arrays(name: str) -> None:
    seen: list[type] = []

    class Watched:
        def __init__(self, x: Any, y: Any) -> None:
            seen.extend(map(type, (x, y)))
            self.x, self.y = x, y

    observed(jitkit, with_keys(jitkit, Watched), PROGRAMS[name])
    arrays = (jitkit.Array, jitkit.core.Tracer, np.ndarray, np.generic, float)
    shown = {tuple, bool, Watched} if name in SHOWS else set()
    if name not in OF_DESCRIPTIONS | IN_MESSAGES:
        assert [cls for cls in seen if not issubclass(cls, arrays) and cls not in shown] == []
