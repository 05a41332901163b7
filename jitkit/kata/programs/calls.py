"""choices -> programs on the caches of `jit`: which calls share a trace, static arguments, signatures, names of arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ..engine.choices import Choices
from .definitions import defined

_DEFINITIONS = {
    "P Q": """\
def a_class(way):
    class P:
        def __init__(self, x): self.x = x
        def __repr__(self): return "P"
    jax.tree_util.register_pytree_node(P, lambda p: ((p.x,), None), lambda _, x: P(*x))
    return P
P, Q = a_class(2), a_class(3)""",
    "Pair": 'import collections\nPair = collections.namedtuple("Pair", "a b")',
    "Mode": """\
import dataclasses
@dataclasses.dataclass(frozen=True)
class Mode:
    n: int""",
    "x y h k": "x, y, h, k = np.float32([1, 2, 3]), np.float32([2, 0, 1]), np.float16([1, 2, 3]), np.int32([3, 1, 2])",
    "log": "log = []",
}
_ARGUMENTS = (
    "x", "y", "x[:2]", "h", "k", "2.0", "3.0", "2", "True", "np.float32(2)", "np.int32(2)", "[x, y]", "(x, y)", "{'a': x, 'b': y}",
    "{'b': x, 'a': y}", "Pair(x, y)", "P(x)", "Q(x)", "None", "(x, None)", "((x,), y)", "(x, (y,))", "np.ones((3, 1), 'float32')", "1j",
)  # fmt: skip
_STATICS = (
    "-1",
    "-2",
    "1",
    "True",
    "1.0",
    "0",
    "'a'",
    "('a', 1)",
    "Mode(1)",
    "Mode(2)",
    "None",
    "2 ** 61 - 2",
    "frozenset([1])",
    "0.0",
    "-0.0",
)

_KEY = """\
def key(f, *args, **kwargs):
    return f._jitted.key_of_call(*f._jitted.signature(args, kwargs))"""


def calls(runs: bool = False) -> Callable[[Choices], str]:
    """Return a writer of programs that trace (or, with `runs`, run) calls of a jitted function, and note after each call how
    often Python has run the function. Programs that trace also say which calls have equal cache keys.
    """

    def write(choices: Choices) -> str:
        static = choices.of((None, "static_argnums=1", "static_argnames='n'"))
        lines: list[str] = []
        parameters = "t" if static is None else "t, n=None"
        body = "t" if static is None else "(t, repr(n))"
        lines.append(
            f"def f({parameters}, **more):\n    log.append(1)\n    return {body.replace(', repr(n))', ')') if runs else 't'}"
        )
        options = f", {static}" if static else ""
        lines.append(f"jitted = [jax.jit(f{options}), jax.jit(f{options})]")
        pool = [choices.of(_ARGUMENTS) for _ in range(2 + choices.below(3))]
        values = [choices.of(_STATICS) for _ in range(1 + choices.below(3))]
        lines += ["found, keys = [], []", _KEY] if not runs else ["found = []"]
        for _ in range(2 + choices.below(5)):
            argument, value = choices.of(pool), choices.of(values)
            given = argument if static is None else f"{argument}, {'n=' if choices.chance(40) else ''}{value}"
            if choices.chance(20):
                given += f", more={choices.of(pool)}"
            which = choices.of((0, 0, 1))
            around = choices.of(
                ("", "", "", "with jax.default_matmul_precision('highest'): ", "with jax.enable_x64(True): ")
            )
            if runs:
                lines.append(f"{around}found.append((str(jitted[{which}]({given})), len(log)))")
            else:
                traced = f"{around}found.append((str(jitted[{which}].trace({given}).jaxpr.out_avals), len(log)))"
                lines.append(f"{traced}; keys.append(key(jitted[{which}], {given}))")
        lines.append("found, [keys.index(one) for one in keys]" if not runs else "found")
        return defined(_DEFINITIONS, "\n".join(lines))

    return write


def functions(choices: Choices) -> str:
    """Return a program that jits several functions: some defined by the same line, some equal, some without a hash,
    some that fail at first.
    """
    lines: list[str] = []
    lines.append("""\
def maker(scale):
    def g(t):
        log.append(scale)
        return t * scale
    return g
class Call:
    def __init__(self, scale): self.scale = scale
    def __call__(self, t): log.append(self.scale); return t * self.scale
    def __eq__(self, other): return isinstance(other, Call)
class Equal(Call):
    def __hash__(self): return 1
    def __eq__(self, other): return isinstance(other, Equal) and other.scale == self.scale
class Fails:
    def __init__(self): self.times = 0
    def __call__(self, t):
        self.times += 1
        log.append(self.times)
        if self.times < 2: raise KeyError("not yet")
        return t
def tried(f, *args):
    try: return str(f.trace(*args).jaxpr)
    except Exception as error: return type(error).__name__""")
    makers = (
        "maker(2)",
        "maker(3)",
        "Call(2)",
        "Call(3)",
        "Equal(2)",
        "Equal(2)",
        "Equal(3)",
        "Fails()",
        "lambda t: t",
        "jnp.sin",
    )
    count = 1 + choices.below(3)
    lines += [f"f{i} = {choices.of(makers)}" for i in range(count)]
    lines.append("found = []")
    for _ in range(2 + choices.below(4)):
        i, argument = choices.below(count), choices.of(("x", "y", "2.0", "x[:2]"))
        lines.append(f"found.append((tried(jax.jit(f{i}), {argument}), list(log)))")
    lines.append("found")
    return defined(_DEFINITIONS, "\n".join(lines))


def misses(choices: Choices) -> str:
    """Return a program that traces several calls of a function, and asks for the reason of each miss."""
    static = choices.chance(50)
    lines = [f"f = jax.jit(lambda t, n=None, **more: t{', static_argnums=1' if static else ''})"]
    pool = [choices.of(_ARGUMENTS[:21]) for _ in range(2 + choices.below(2))]
    for _ in range(2 + choices.below(4)):
        value = f", {choices.of(_STATICS[:10])}" if static else ""
        more = f", more={choices.of(pool)}" if choices.chance(30) else ""
        lines.append(f"f.trace({choices.of(pool)}{value}{more})")
    lines.append(
        "[(m.reason, m.closest, [(d.kind, d.argument) for d in m.differences]) for m in jax.explain(f).misses]"
    )
    return defined(_DEFINITIONS, "\n".join(lines))


def tables(choices: Choices) -> str:
    """Return a program that looks up keys in a small `Table`, the LRU cache of a jitted function. After each hit and miss it notes the
    entries in order, which executables are kept, and whether the table is crowded.
    """
    size = choices.of((2, 1, 3, 4))
    lines = [
        "import types",
        "from jitkit.base import config",
        "from jitkit.pjit.compilation_cache import Table",
        "table, story = Table(), []",
        f"with config.override(jit_cache_size={size}):",
    ]
    keys = [choices.below(size + 3) for _ in range(3 + choices.below(12))]
    lines.append(f"    for number, key in enumerate({keys}):")
    lines.append("""\
        entry = table.entries.get((key,))
        if entry is None:
            entry = types.SimpleNamespace(executable=object())
            table.executables[number] = entry.executable
            table.insert((key,), entry, number)
        elif table.crowded:
            table.touch((key,), entry)
        story.append((list(table.entries), sorted(table.executables), table.crowded))
repr(story)""")
    return defined(_DEFINITIONS, "\n".join(lines))


def warm(choices: Choices) -> str:
    """Return a program that calls one function with many kinds of arguments: unused, donated, Python numbers, arrays of
    numpy and of jitkit.
    """
    lines: list[str] = []
    used = choices.of(
        ("a * 2 + b", "a", "(a, {'b': b})", "b.sum()", "[b, a, a]", "(None, a + 1)", "(a, 3.0)", "a * table[:3]")
    )
    donated = choices.of(("", ", donate_argnums=0"))
    lines.append("table = np.arange(5000.0, dtype='float32')")
    lines.append(f"f = jax.jit(lambda a, b, unread: {used}{donated})")
    kinds = (
        "x",
        "2.0",
        "jnp.asarray(x)",
        "jax.device_put(y)",
        "True",
        "h",
        "np.float32(1.5)",
        "jnp.ones(3)",
        "np.asarray(x[::-1])",
        "7",
    )
    unread = ("x", "None", "'no'", "(x, 1)", "{}")[:2]
    chosen = [choices.of(kinds) for _ in range(2 + choices.below(2))]
    lines.append("found = []")
    for _ in range(2 + choices.below(4)):
        a, b = choices.of(chosen), choices.of(chosen)
        lines.append(f"found.append(f({a}, {b}, {choices.of(unread)}))")
    lines.append("[jax.tree.leaves(each) for each in found], str(jax.tree.structure(found)), f._cache_size()")
    return defined(_DEFINITIONS, "\n".join(lines))


_TRIED = """\
def tried(call):
    try:
        return call()
    except (TypeError, ValueError) as error:
        return type(error).__name__"""
_SIGNATURES = (
    "a, b=2",
    "a, b, c",
    "a, *rest",
    "a, b=2, *, c=3",
    "a, /, b=2",
    "a, b, **more",
    "a, /, **more",
    "*rest, c=1",
    "a=1, b=2",
)


def signatures(choices: Choices) -> str:
    """Return a program with functions of many signatures. Their static arguments are given by number, by name, or both,
    and they are called by position and by keyword.
    """
    signature = choices.of(_SIGNATURES)
    names = [name for name in ("a", "b", "c", "rest", "more") if name in signature]
    lines = [
        f"def f({signature}):\n    log.append([repr(n) for n in ({', '.join(names)},) if isinstance(n, int)])\n    return x"
    ]
    options = []
    if choices.chance(60):
        options.append(
            f"static_argnums={choices.of(('0', '1', '-1', '(0, 1)', '(0, -1)', '()', '(1, 1)', '5', '-3', '2'))}"
        )
    if choices.chance(60) or not options:
        said = [choices.of((*names, *names, "unknown")) for _ in range(choices.below(4))]
        options.append(f"static_argnames={tuple(said) if len(said) != 1 else said[0]!r}")
    lines.append(_TRIED)
    lines.append(f"g = tried(lambda: jax.jit(f, {', '.join(options)}))")
    for _ in range(1 + choices.below(3)):
        given = [choices.of(("1", "x", "2", "[1]", "-1", "2.5")) for _ in range(choices.below(4))]
        given += [
            f"{key}={choices.of(('1', '3', 'y', '-2'))}"
            for key in ("b", "c", "a", "rest", "more")
            if choices.chance(25)
        ]
        lines.append(f"if callable(g): log.append(type(tried(lambda: g.trace({', '.join(given)}))).__name__)")
    lines.append("g if isinstance(g, str) else str(log)")
    return defined(_DEFINITIONS, "\n".join(lines))


def splits(choices: Choices) -> str:
    """Return a program that splits a call's arguments into static and traced ones, and merges the static ones with
    other values. It also shows that the given arguments have not changed.
    """
    positions, names = ("0", "1", "2", "-1", "-2", "5"), ("b", "a", "n", "unknown")
    nums = [choices.of(positions) for _ in range(choices.below(4))]
    said = [choices.of(names) for _ in range(choices.below(4))]
    values = ("one", "one", "1", "None", "0", "()", "two", "'a'", "[1]")
    keys = dict.fromkeys(choices.of(("n", "a", "c", "b")) for _ in range(choices.below(5)))
    given = [choices.of(values) for _ in range(choices.below(5))]
    lines = [
        "from jitkit.signature.api_util import split_call",
        "from jitkit.signature.argument_spec import ArgumentSpec",
        "one, two = object.__new__(type('One', (), {'__repr__': lambda self: 'one'})), 2.5",
        f"spec = ArgumentSpec(({''.join(n + ', ' for n in nums)}), {tuple(said)!r}, (), ())",
        f"args, kwargs = ({''.join(n + ', ' for n in given)}), {{{', '.join(f'{k!r}: {choices.of(values)}' for k in keys)}}}",
        "call = split_call(spec, args, kwargs)",
        "place = [(where, static.value) for where, static in call.statics]",
        "traced, named = [f't{i}' for i in range(len(call.args))], {key: f't_{key}' for key in call.kwargs}",
        "positional, keywords = call.merged_with(traced, named)",
        "found = [call.args, list(call.kwargs.items()), place, call.arity, list(positional), sorted(keywords.items())]",
        "repr((found, list(kwargs.items()), traced, list(named.items())))",
    ]
    return "\n".join(lines)


def names_of_leaves(choices: Choices) -> str:
    """Return a program that names the leaves of a call: trees, arguments without leaves, static ones, and those that
    `*rest` and `**more` collect. In 40 of 100 cases, return a program of `misses` instead.
    """
    if choices.chance(40):
        return misses(choices)
    signature = choices.of(_SIGNATURES)
    keys = dict.fromkeys(choices.of(("b", "c", "a", "rest", "more")) for _ in range(choices.below(4)))
    count, taken = _taken(signature, choices.below(4), keys)
    given = [choices.of((*_ARGUMENTS, "{}", "[None, y]", "()")) for _ in range(count)]
    given += [f"{key}={choices.of(_ARGUMENTS)}" for key in taken]
    lines = [
        "from jitkit.signature.api_util import argument_names, split_call",
        "from jitkit.signature.argument_spec import ArgumentSpec",
        f"def f({signature}): return x",
        f"static = ArgumentSpec({choices.of(((), (0,), (1,), (-1,), (0, 2)))}, {choices.of(((), ('b',)))}, (), ())",
        "def call(*args, **kwargs): return argument_names(f, split_call(static, args, kwargs))",
        _TRIED,
        f"tried(lambda: call({', '.join(given)}))",
    ]
    return defined(_DEFINITIONS, "\n".join(lines))


def _taken(signature: str, count: int, keys: Iterable[str]) -> tuple[int, list[str]]:
    """Return how many positional arguments a call of a function with this signature may have (`count` if possible, else another number),
    and those of `keys` that the function then takes as keywords.
    """
    parameters = inspect.signature(eval(f"lambda {signature}: 0"))

    def binds(bind: Callable[..., Any], count: int, keys: Iterable[str]) -> bool:
        try:
            bind(*range(count), **dict.fromkeys(keys))
        except TypeError:
            return False
        return True

    numbers = (*range(count, 5), *range(count))
    calls = [(n, [key for key in keys if binds(parameters.bind_partial, n, [key])]) for n in numbers]
    return next(call for call in calls if binds(parameters.bind, *call))


def statics(choices: Choices) -> str:
    """Return a program that compares static values: which are equal as keys, and which have the same hash."""
    values = [
        choices.of((*_STATICS, "[1]", "{}", "(1, True)", "(1, 1)", "Mode(1)")) for _ in range(2 + choices.below(4))
    ]
    lines = ["from jitkit.signature.api_util import Static, static_key", f"values = [{', '.join(values)}]"]
    lines.append(_TRIED)
    lines.append("found = [tried(lambda: Static(value)) for value in values]")
    lines.append("made = [one for one in found if isinstance(one, Static)]")
    lines.append("keys = [static_key(((0, one), (1, other))) for one in made for other in made]")
    lines.append("equal = [[one == other for other in (*made, *values)] for one in made]")
    lines.append("found = [one if isinstance(one, str) else hash(one) == hash(one.value) for one in found]")
    lines.append("equal, found, len(set(made)), len(set(keys))")
    return defined(_DEFINITIONS, "\n".join(lines))
