"""The programs that the exercises of lab 06 must run like the reference."""

from __future__ import annotations

import functools
import inspect
import types
from typing import NamedTuple

import numpy as np

from jitkit.kata.checking import Unordered, check, modules_of_jax, of_calls, raised, random_programs


class Layer(NamedTuple):
    """A node whose children have names."""

    w: object
    b: object


def plain(x, y, n, m=1):
    return x * n


def every_kind(a, b, /, c, d, *, e, f=1):
    return a


def any_number(x, *rest, n=1):
    return x


def only_collected(*args, **options):
    return args


def any_name(x, /, y, **options):
    return x


def some(rng, count, size):
    """Return `size` different numbers below `count`, in random order."""
    return tuple(int(i) for i in rng.permutation(count)[:size])


# --- 06.1 Numbers and names ---------------------------------------------------------------------------------------


def inferred(jk, function, nums, names):
    """Call `infer_missing`. Return its result for comparison: the part that was given as it is, the inferred one in any order."""
    both = jk.signature.argument_spec.infer_missing(inspect.signature(function), nums, names)
    return [part if given is not None else Unordered(part) for given, part in zip((nums, names), both, strict=True)]


@check(
    "06.1",
    "A position gives the name of the parameter: the argument is static when it is passed by keyword, too.",
    against=["keywords bypass `static_argnums`", "given positions have to be sorted"],
)
def names_from_positions(jk, rng):
    x, n = np.ones(2, "float32"), int(rng.integers(2, 99))
    program = jk.jit(lambda x, n: x * n, static_argnums=1).trace(x, n=n).jaxpr
    order = some(rng, 4, 2)
    return [inferred(jk, plain, positions, None) for positions in (order, order[::-1])], program


@check(
    "06.1",
    "A name gives the position of the parameter: the argument is static when it is passed by position, too.",
    against=["a name says nothing of positions"],
)
def positions_from_names(jk, rng):
    x, n = np.ones(2, "float32"), int(rng.integers(2, 99))
    program = jk.jit(lambda x, n: x * n, static_argnames="n").trace(x, n).jaxpr
    names = tuple("xynm"[i] for i in some(rng, 4, 2))
    return inferred(jk, plain, None, names), program


@check(
    "06.1",
    "Where both are given, nothing is inferred.",
    against=["numbers and names are each completed from the other"],
)
def both_given(jk, rng):
    (i,), (j,) = some(rng, 4, 1), some(rng, 4, 1)
    return (
        inferred(jk, plain, (7, 4), None),
        inferred(jk, only_collected, (-1,), None),
        inferred(jk, plain, (i,), ("xynm"[j],)),
        inferred(jk, plain, (), ("n",)),
        inferred(jk, plain, (i,), ()),
        inferred(jk, any_name, (1,), (f"n{j}", "y")),
    )


@check(
    "06.1",
    "Positional-only parameters have no name to infer, and keyword-only ones no position.",
    against=["each parameter has a position and a name", "every parameter with a position can be passed by name"],
)
def kinds_of_parameters(jk, rng):
    nums, names = some(rng, 4, 3), tuple("cdef"[i] for i in some(rng, 4, 3))
    only_by_position = inferred(jk, every_kind, None, ("ab"[int(rng.integers(2))], "d"))
    return inferred(jk, every_kind, nums, None), inferred(jk, every_kind, None, names), only_by_position


@check(
    "06.1",
    "The function works out numbers and names itself, without asking JAX.",
    against=["JAX may be asked"],
    fixed="nobody is asked",
)
def without_jax(jk, rng):
    nums, names = some(rng, 4, 2), tuple("xynm"[i] for i in some(rng, 4, 2))
    return modules_of_jax(lambda: [inferred(jk, plain, nums, None), inferred(jk, plain, None, names)])


@check(
    "06.1",
    "A negative position counts from the last parameter that takes one.",
    against=[
        "negative positions count from the last parameter",
        "if names are given, negative positions stay negative",
    ],
)
def negative_positions(jk, rng):
    i, j = (-1 - i for i in some(rng, 4, 2))
    with_names = inferred(jk, plain, (i, j), ("x",))
    return inferred(jk, every_kind, (i, j), None), inferred(jk, plain, (i, j), None), with_names


@check(
    "06.1",
    "With `*args`, only a call can tell what a negative position means.",
    against=["the signature tells the number of arguments", "`*rest` has a position and a name"],
)
def negative_positions_of_any_number(jk, rng):
    negative = inferred(jk, any_number, (-1 - int(rng.integers(3)), 0), None)
    return negative, inferred(jk, any_number, some(rng, 3, 3), None), inferred(jk, any_number, None, ("rest", "x", "n"))


# --- 06.2 What does not fit ---------------------------------------------------------------------------------------


def checked(jk, function, what, entries, *parts):
    """Return the error of `check_positions` or `check_names` for some entries; `what` is "static_argnums" or "static_argnames"."""
    check_entries = (
        jk.signature.argument_spec.check_positions if "nums" in what else jk.signature.argument_spec.check_names
    )
    return raised(check_entries, function, inspect.signature(function), entries, what, parts=parts)


@check(
    "06.2",
    "A position beyond the last parameter, or before the first one, is an error.",
    against=["a position or a name that does not exist is ignored"],
    fixed="an error of fixed words",
)
def positions_out_of_range(jk, rng):
    beyond, before = 4 + int(rng.integers(5)), -5 - int(rng.integers(5))
    parts = ["has static_argnums=", "only accepts 4 positional arguments"]
    return [
        checked(jk, plain, "static_argnums", entries, *parts)
        for i in (beyond, before, int(rng.integers(4)), -1 - int(rng.integers(4)))
        for entries in ((i,), (0, i), (i, 1))
    ]


@check(
    "06.2",
    "The first and the last position are accepted, counted from either end.",
    against=["the last position equals the number of parameters"],
)
def first_and_last(jk, rng):
    what = str(rng.choice(["donate_argnums", "static_argnums", "my_argnums", "his_argnums"]))
    right = [checked(jk, plain, what, (i,)) for i in (0, 3, -1, -4)]
    return right, checked(jk, plain, what, (4,), what)


@check(
    "06.2",
    "Keyword-only parameters take no position.",
    against=["every parameter takes a position"],
    fixed="an error of fixed words",
)
def keyword_only(jk, rng):
    return checked(jk, every_kind, "static_argnums", (int(rng.integers(4, 6)),), "only accepts 4 positional")


@check(
    "06.2",
    "A name that no parameter has is an error, unless there is a `**kwargs`; with `*args` every position is right.",
    against=[
        "a position or a name that does not exist is ignored",
        "`*args` and `**options` do not take the names and positions that are left",
        "only parameters with positions have names",
        "the errors are about static arguments only",
        "`options=1` cannot be passed to a function with `**options`",
    ],
)
def unknown_names(jk, rng):
    name = f"n{int(rng.integers(99))}"
    refused = [
        checked(
            jk,
            plain,
            "donate_argnames",
            names,
            *parts,
            "donate_argnames",
            "does not take these args",
            "The function is plain(x, y, n",
        )
        for names, parts in ((("n", name), (name,)), ((name, "other"), (name, "other")))
    ]
    taken = [checked(jk, any_name, "static_argnames", (taken,)) for taken in (name, "options")]
    known = [checked(jk, plain, "static_argnames", names) for names in ((), ("m",), ("n", "x"))]
    known.append(checked(jk, every_kind, "static_argnames", ("c", "e", "f")))
    only = checked(jk, plain, "static_argnames", ("m", name, "x"), f"invalid argnames {{'{name}'}} in")
    return refused, taken, checked(jk, any_number, "static_argnums", (int(rng.integers(9)), -5)), known, only


@check(
    "06.2",
    "The name of a positional-only parameter is refused, even where `**kwargs` would take it.",
    against=[
        "every parameter can be named",
        "`**kwargs` takes the name of `*args`",
        "the error about unknown names comes first",
    ],
)
def positional_only_names(jk, rng):
    name = "ab"[int(rng.integers(2))]
    return [
        checked(jk, every_kind, "static_argnames", ("c", name), name, "These are positional-only"),
        checked(jk, any_name, "static_argnames", ("x",), "'x'", "These are positional-only"),
        checked(jk, any_number, "donate_argnames", ("rest",), "'rest'", "donate_argnames"),
        checked(jk, every_kind, "static_argnames", ("a", "b"), "'a'", "'b'", "These are positional-only"),
        checked(jk, every_kind, "static_argnames", ("c", name), f"invalid argnames {{'{name}'}} in"),
        checked(jk, only_collected, "static_argnames", ("args",), "{'args'}", "These are positional-only"),
        checked(jk, every_kind, "static_argnames", ("other", name), f"{{'{name}'}}", "These are positional-only"),
    ]


@check(
    "06.2",
    "The errors name the function, with what it takes.",
    against=[
        "an error need only name the option",
        "every callable has a `__name__`",
        "there is always a position",
        "the message shows only the wrong positions",
    ],
    fixed="an error of fixed words",
)
def which_function(jk, rng):
    n = int(rng.integers(4, 9))
    partial = functools.partial(plain, n)
    of_partials = [
        checked(jk, partial, "static_argnums", (n,), "accepts 3 positional", "The function is plain(y, n, m=1)."),
        checked(jk, partial, "static_argnames", (f"m{n}",), "The function is plain(y, n, m=1)."),
        checked(jk, partial, "static_argnums", (0, 9), "static_argnums=(0, 9)"),
    ]
    wrong_number = raised(jk.jit, plain, static_argnums=n, parts=["plain(x, y, n, m=1)"])
    return of_partials, wrong_number, raised(jk.jit, plain, static_argnames=f"m{n}", parts=["plain(x, y, n, m=1)"])


# --- 06.3 Take a call apart ---------------------------------------------------------------------------------------


def spec(jk, nums=(), names=()):
    return jk.signature.api_util.ArgumentSpec(tuple(nums), tuple(names), (), ())


def split(jk, nums, names, *args, **kwargs):
    """Return the parts of a call as plain data."""
    arguments = jk.signature.api_util.split_call(spec(jk, nums, names), args, kwargs)
    return arguments.args, dict(sorted(arguments.kwargs.items())), values_of(arguments.statics), arguments.arity


def values_of(statics):
    """Return the places and values of static arguments, in a list or a tuple, as the function returned them."""
    pairs = [(where, static.value) for where, static in statics]
    return tuple(pairs) if isinstance(statics, tuple) else pairs


def merged(arguments, args, kwargs):
    """Return the arguments with which the function is called. The positional ones may be in a list or a tuple."""
    positional, named = arguments.merged_with(args, kwargs)
    return list(positional), named


@check(
    "06.3",
    "Static arguments are returned with their positions, wherever they stand.",
    against=[
        "static arguments come last",
        "static arguments come first",
        "an argument that is None or False is not there",
        "the arity counts the dynamic arguments only",
        "where there are static positions, all keywords are dynamic",
    ],
)
def places(jk, rng):
    values = [int(n) for n in rng.integers(999, size=5)]
    arguments = jk.signature.api_util.split_call(spec(jk, some(rng, 4, 2)), tuple(values), {})
    tracers = [f"tracer{i}" for i in range(3)]
    between = merged(jk.signature.api_util.split_call(spec(jk, (1, 3)), tuple(values), {}), tracers, {})
    of_nothing = split(jk, (0, 2, 3), ("flag",), None, values[0], 0, (), flag=None)
    together = merged(arguments, tracers, {}), between
    return arguments.args, values_of(arguments.statics), arguments.arity, together, of_nothing


@check(
    "06.3",
    "Static keywords are found by their names, and are put back among the dynamic ones.",
    against=["static keywords stay among the others"],
)
def static_keywords(jk, rng):
    n, m = (int(k) for k in rng.integers(999, size=2))
    arguments = jk.signature.api_util.split_call(spec(jk, (), ("n",)), (1.0,), {"n": n, "m": m})
    several = split(jk, (9, 1, 8), ("n",), *range(10), n=n, m=m, a=1, b=2)
    dynamic_first = split(jk, (), ("n",), 1.0, m=m, n=n, a=m), split(jk, (), (), n=n)
    return split(jk, (), ("n",), 1.0, n=n, m=m), merged(arguments, ["x"], {"m": "tracer"}), several, dynamic_first


@check("06.3", "The order of keywords makes no difference to what is static.", against=["the order of keywords counts"])
def order_of_keywords(jk, rng):
    names = [f"{letter}{int(rng.integers(99))}" for letter in rng.permutation(list("abcde"))]
    values = dict.fromkeys(names, 1) | {names[0]: 2}
    return [
        split(jk, (), [names[i] for i in some(rng, 5, 5)], **{name: values[name] for name in order})[2]
        for order in (names, reversed(names))
    ]


@check(
    "06.3",
    "It is not an error if the call lacks a static argument.",
    against=["a call has every static argument", "a position that the call does not have is an error"],
)
def left_out(jk, rng):
    n = int(rng.integers(999))
    return split(jk, (1, 3), ("n", "m"), 1.0, n), split(jk, (1, 3), ("n", "m"), 1.0, m=n)


@check(
    "06.3",
    "A negative position counts from the end of the call's positional arguments, and must not be before the first.",
    against=[
        "a negative position works like any other",
        "a negative position is taken modulo the number of arguments",
        "a position that is given twice is static twice",
        "a call without arguments is always right",
    ],
)
def from_the_end(jk, rng):
    n = int(rng.integers(999))
    calls = [split(jk, nums, (), *range(n, n + count)) for count in (2, 3, 5) for nums in ((-2,), (1, -1), (-2, 0))]
    parts = ["greater than or equal to -len(args)", "got value -2", "for len(args) == 1"]
    without_any = raised(split, jk, (-1,), (), parts=["got value -1 for len(args) == 0"])
    return calls, [raised(split, jk, nums, (), n, parts=parts) for nums in ((-2,), (0, -2), (-2, -1))], without_any


# --- 06.4 Values in a key -----------------------------------------------------------------------------------------


def static(jk, value):
    return jk.signature.api_util.Static(value)


def key(jk, *statics):
    return jk.signature.api_util.static_key(tuple((where, static(jk, value)) for where, value in statics))


def traces(jk, *values):
    """Return, as texts, the values for which a function was traced: it is called once with each of `values` as its static argument."""
    seen = []

    def f(x, n):
        seen.append(repr(n))
        return x

    traced = jk.jit(f, static_argnums=1)
    for value in values:
        traced.trace(np.ones(2, "float32"), value)
    return seen


@check(
    "06.4",
    "Values that are equal are the same, also when they are two objects.",
    against=["a static value is known by its identity", "equal values print alike"],
)
def equal_values(jk, rng):
    n = int(rng.integers(1000, 9999))
    one, two = (str(n), (n, 2)), (str(n), (n, 2))
    same = [static(jk, one) == static(jk, two), hash(static(jk, one)) == hash(static(jk, two))]
    same += [static(jk, Settings(n)) == static(jk, Settings(m)) for m in (n, n + 1)]  # their texts say where they are
    return same, key(jk, (0, one)) == key(jk, (0, two)), traces(jk, one, two, (n,), one)


@check(
    "06.4",
    "1, 1.0 and True are three values: each gives another program.",
    against=[
        "equal values are the same value",
        "types of the same name are the same",
        "a value of a derived class has the same type",
    ],
)
def equal_of_other_types(jk, rng):
    values = [[1, 1.0, True][i] for i in rng.permutation(3)]
    equal = [static(jk, a) == static(jk, b) for a in values for b in values]
    looks_like_one = types.SimpleNamespace(value=values[0], hash=hash(values[0]))
    equal += [static(jk, values[0]) == other for other in (values[0], None, looks_like_one)]
    keys = [key(jk, (0, values[0])) == key(jk, (0, value)) for value in values]
    twins = [type("Count", (int,), {})(values[0]) for _ in range(2)]  # of two classes with one name
    keys.append(key(jk, (0, twins[0])) == key(jk, (0, twins[1])))
    return equal, static(jk, twins[0]) == static(jk, twins[1]), keys, traces(jk, *values, *values)


@check(
    "06.4",
    "Different values with one hash are different: -1 and -2 have the same hash.",
    against=["equal hashes mean equal values"],
)
def one_hash(jk, rng):
    n = int(rng.integers(2, 99))
    pairs = [(-1, -2), ((n, -1), (n, -2)), (n, n), (n, n + 1), ("n", "n")]
    pairs = [pairs[i] for i in rng.permutation(5)]
    equal = [static(jk, a) == static(jk, b) for a, b in pairs]
    return equal, [key(jk, ("n", a)) == key(jk, ("n", b)) for a, b in pairs], traces(jk, -1, -2, -1)


@check(
    "06.4",
    "A list or an array cannot be static, and the error says what can.",
    against=["anything can be static", "arrays can be static", "any error of `__hash__` means that there is none"],
    fixed="an error of fixed words",
)
def without_a_hash(jk, rng):
    n = int(rng.integers(99))
    values = [[n], {"n": n}, np.full(2, n, "float32"), (n, [n])]
    without = [raised(static, jk, value, parts=["Non-hashable static arguments"]) for value in values]
    return without, raised(static, jk, Settings("big"))


class Settings:
    """An object whose hash changes when the object changes, which is a mistake."""

    def __init__(self, size):
        self.size = size

    def __hash__(self):
        if isinstance(self.size, str):
            raise LookupError("no size")  # another error than that there is no hash
        return self.size

    def __eq__(self, other):
        return self.size == other.size


@check(
    "06.4",
    "The hash is the one that the value had at the beginning, so a value that was changed is noticed.",
    against=["the hash can be taken when it is needed"],
)
def remembered_hash(jk, rng):
    n = int(rng.integers(99))
    settings = Settings(n)
    kept = static(jk, settings)
    before = hash(kept), kept.mutated
    settings.size += 1
    return before, hash(kept), kept.mutated


@check(
    "06.4",
    "The same value as another argument is another key.",
    against=["it does not matter which argument has a value"],
)
def places_in_the_key(jk, rng):
    n, m = (int(k) for k in rng.permutation(99)[:2])
    keys = [key(jk, (0, n)), key(jk, (1, n)), key(jk, ("n", n)), key(jk, (12, n), (2, m)), key(jk)]
    return (
        [len(k) for k in keys],
        [keys[i] == keys[j] for i in range(5) for j in range(5)],
        hash(keys[3]) != 0,
        [part.__name__ if isinstance(part, type) else part for part in keys[3]],
    )


# --- 06.5 What a leaf is called -----------------------------------------------------------------------------------


def called(jk, function, *args, static=(), **kwargs):
    """Return the names of the leaves of a call."""
    arguments = jk.signature.api_util.split_call(spec(jk, static), args, kwargs)
    return jk.signature.api_util.argument_names(function, arguments)


@check(
    "06.5",
    "The name of a leaf is its argument's, followed by the path to the leaf.",
    against=[
        "an argument is a leaf",
        "keywords are in the order of the call",
        "every leaf has the name of its argument",
        "each argument has at least one leaf",
        "every path is written as keys in brackets",
    ],
)
def leaves_of_trees(jk, rng):
    keys = [f"{letter}{int(rng.integers(99))}" for letter in "ba"]
    params = {keys[0]: [1, (2, 3)], keys[1]: {"n": Layer(4, [5])}, "none": None}
    without_leaves = called(jk, plain, None, 1, [(), 2], m={})
    return called(jk, plain, params, 1, [2]), called(jk, plain, 1, y=2, n=params), without_leaves


@check(
    "06.5",
    "Static arguments have no leaves, but they count among the positions of the call.",
    against=["leaves are counted like arguments", "the dynamic arguments are the first ones"],
)
def after_static_arguments(jk, rng):
    return [called(jk, plain, 1, (2, 3), 4, 5, static=some(rng, 4, k)) for k in (1, 2, 3)]


@check(
    "06.5",
    "What `*args` and `**kwargs` collect is named like their items: `args[0]`, `kwargs['n']`.",
    against=[
        "what `*args` collects is one argument",
        "a keyword's leaf is named by its key alone",
        "`*xs` collects items called args",
        "`**options` collects items called kwargs",
        "collected items are counted from the first argument of the call",
    ],
)
def collected(jk, rng):
    count, name = int(rng.integers(1, 4)), f"n{int(rng.integers(99))}"
    both = called(jk, only_collected, *range(count), **{name: [3]})
    renamed = called(jk, lambda x, *rest, **more: x, *range(count + 1), **{name: 1})
    of_few = jk.signature.api_util.positional_names(inspect.signature(plain), 2)
    of_none = called(jk, lambda *rest, **more: rest, *range(count)), called(jk, lambda **more: more, **{name: 1})
    of_calls = called(jk, any_number, *range(count + 1), n=2), called(jk, any_name, 1, 2, **{name: [3]})
    return of_calls, both, renamed, of_few, of_none


@check(
    "06.5",
    "A keyword that `**options` collects is not the parameter that happens to have its name.",
    against=["a keyword is always the parameter of that name", "`**options` collects keyword-only parameters, too"],
)
def collected_keyword(jk, rng):
    (n,) = some(rng, 9, 1)
    name = f"option{rng.integers(999)}"
    beside = called(jk, lambda *args, n, **options: n, n=n, args=2, options=3, **{name: 4})
    return called(jk, any_name, n, 2, x=n), called(jk, any_name, n, y=2), beside


@check(
    "06.5",
    "Functions without a signature work, too: their arguments are numbered.",
    against=["every function has a signature"],
)
def without_signature(jk, rng):
    count = int(rng.integers(1, 5))
    of_calls = (
        jk.signature.api_util.positional_names(None, count),
        jk.signature.api_util.keyword_name(None, f"n{count}"),
    )
    return of_calls, called(jk, max, *range(count), key=0)


@check(
    "06.5",
    "An error says which argument it is about.",
    against=["an argument is a leaf", "leaves are counted like arguments"],
)
def in_an_error(jk, rng):
    name = f"w{int(rng.integers(99))}"
    f = jk.jit(lambda mode, params, x: x, static_argnums=0)
    return raised(f.trace, "train", {"a": 1.0, name: "text"}, 1.0, parts=[f"at path params['{name}']"])


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random programs, new ones at each save."


@check("06.1", NEW, drawn=True)
def programs_1(jk, rng):
    return random_programs(jk, rng, of_calls.signatures, 16, graded=40, by_numpy=False)


@check("06.2", NEW, drawn=True)
def programs_2(jk, rng):
    return random_programs(jk, rng, of_calls.signatures, 16, by_numpy=False)


@check(
    "06.3",
    NEW,
    drawn=True,
    against=[
        "the caller's dict may be emptied",
        "dynamic keywords are sorted",
        "the same object is the same argument",
        "`merged_with` may write into the dict that it is passed",
        "a static value of 0 or None is not there",
    ],
)
def programs_3(jk, rng):
    return random_programs(jk, rng, of_calls.splits, 16, graded=40, by_numpy=False)


@check("06.4", NEW, drawn=True)
def programs_4(jk, rng):
    return random_programs(jk, rng, of_calls.statics, 16, by_numpy=False)


@check("06.5", NEW, drawn=True)
def programs_5(jk, rng):
    return random_programs(jk, rng, of_calls.names_of_leaves, 10, by_numpy=False)
