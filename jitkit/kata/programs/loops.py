"""choices -> programs with a loop or a choice whose types may disagree: the carry with what the body returns, or one branch with
another (weak types, ints that become floats, different trees)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..engine.choices import Choices

_STARTS = ("0.0", "0", "x", "np.float32(2)", "x[0]", "1.0", "h", "1", "np.int32(3)", "k")
_TREES = ("(0, 1.0)", "{'a': 1, 'b': x}", "None", "[x]")
_NEXT = ("{0}", "{0} * 2", "{0} + 1", "{0} * 0.5", "-{0}", "{0} + x[0]", "{0} + 1")
_UNLIKE = ("{0} + k[0]", "{1}", "x", "{0} + h[1]", "({0}, {1})", "0", "{0} + x", "{0}.astype('int8')", "{0} > 1")
_RESULTS = ("{0}", "{0} * 2", "{0} + 1.0", "{1}", "x", "0", "0.0", "h", "({0}, x)", "[{1}]", "None", "{0} + k[0]")
_HEAD = "x, h, k = np.float32([1, 2, 3]), np.float16([1, 2, 3]), np.int32([3, 1, 2])\n"


def unsettled(*kinds: str) -> Callable[[Choices], str]:
    """Return a writer of programs with a loop (`while`, `fori`, `scan`) or a choice (`cond`, `switch`) of one of these kinds. jitkit
    refuses some of the programs.
    """

    def write(choices: Choices) -> str:
        kind = choices.of(kinds)
        return _HEAD + (_choice(choices, kind) if kind in ("cond", "switch") else _loop(choices, kind))

    return write


def _parts(choices: Choices) -> tuple[list[str], list[str], list[str]]:
    """Return the names of a carry's parts, their first values, and the expressions for their next values."""
    count = 1 + choices.below(3)
    names = list("abc"[:count])
    starts = [choices.of(_TREES if choices.chance(8) else _STARTS) for _ in names]
    turned = choices.chance(20)
    after = [
        choices.of(_UNLIKE if choices.chance(12) else _NEXT).format(
            names[(i + turned) % count], names[choices.below(count)]
        )
        for i in range(count)
    ]
    return names, starts, after


def _row(values: Sequence[str]) -> str:
    return f"({', '.join(values)},)"


# For each kind of carry: how it is written, how it is taken apart, and how many parts it has.
_NAMED = "import collections\nP = collections.namedtuple('P', 'a b c')\n"
_CARRIES = {
    "bare": ("{0}", "a = s", 1),
    "tuple": ("({0},)", "a, = s", 1),
    "list": ("[{0}]", "a, = s", 1),
    "dict": ("{{'p': {0}}}", "a = s['p']", 1),
    "named": ("P({0}, {1}, {2})", "a, b, c = s", 3),
    "nested": ("({0}, {{'q': ({1},), 'p': {2}}})", "a, b, c = s[0], s[1]['q'][0], s[1]['p']", 3),
    "nothing": ("()", "a = 1", 0),
}
_GROWS = ("a * 2 + 1", "a + 2.5", "a + k[0]", "a + h[1]", "a * x[2] + 1", "a + 1")
_BOUNDS = (("0", "2"), ("0", "1"), ("1", "k[0]"), ("k[2]", "3"), ("2", "3"), ("2", "1"), ("k[1]", "k[0]"))


def _other_loop(choices: Choices, kind: str) -> str:
    """Return a program with a loop whose carry is not a flat tuple of several parts, or whose parts become
    floats one after the other.
    """
    carry = choices.of(tuple(_CARRIES))
    written, taken, count = _CARRIES[carry]
    back = choices.of(tuple(_CARRIES)) if choices.chance(8) else carry
    starts = [choices.of(("0", "1.0", "k[1]", "x[0]", "1", "0.0", "h[0]")) for _ in range(count)]
    after = [choices.of((*_GROWS, "{0}", "x[1]")).format("abc"[i]) for i in range(count)]
    test = choices.of(("(a > 0) & (a < 40)", "x[0] > 5")) if count == 1 else "x[0] > 5"
    if test[0] == "(":  # this test reads the carry, which must grow, so that the loop ends
        starts, after = [choices.of(("1.0", "1", "k[1]", "x[0]", "0"))], [choices.of(_GROWS)]
    # the first part gets a value that became a float one or two iterations before
    if count == 3 and choices.chance(40):
        starts = [choices.of(("0", "1", "0.0", "k[1]")) for _ in range(count)]
        after = ["b", "c", choices.of(("c + x[0]", "a + h[0]", "a * 2", "c"))]
    if count == 3 and kind == "while" and choices.chance(40):  # a part is the condition itself
        starts[0], after[0], test = choices.of((("x[0] > 5", "a", "a"), ("x[0] > 0", "(a & (x[0] > 5))", "a")))
    start = written.format(*starts)
    end = _CARRIES[back][0].format(*(after or ["0"]), *["0"] * 2)
    if kind == "while":
        head = f"def go(s):\n    {taken}\n    return {test}\ndef step(s):\n    {taken}\n    return {end}\n"
        call = f"lax.while_loop(go, step, {start})"
    elif kind == "fori":
        lower, upper = choices.of(_BOUNDS)
        head, call = (
            f"def step(i, s):\n    {taken}\n    return {end}\n",
            f"lax.fori_loop({lower}, {upper}, step, {start})",
        )
    else:
        over = choices.of(("x", "x, length=3", "None, length=2", "(x, k), length=2", "h", "x[:0]", "x[:1]"))
        head, call = (
            f"def step(s, y):\n    {taken}\n    return {end}, {choices.of(('a', 'y', '(y, a)'))}\n",
            f"lax.scan(step, {start}, {over})",
        )
    indented = "    with jax.disable_jit():\n        " if kind != "while" and choices.chance(25) else "    "
    return (
        f"{_NAMED}def f(x, h, k):\n"
        + "".join(f"    {line}\n" for line in head.splitlines())
        + f"{indented}return {call}\nf(x, h, k)"
    )


def _loop(choices: Choices, kind: str) -> str:
    if choices.chance(40):
        return _other_loop(choices, kind)
    names, starts, after = _parts(choices)
    turns = choices.of((2, 1, 0, 3))
    if kind == "while":
        test = choices.of(("n < {turns}", "(n < {turns}) & (x[0] > 0)", "n != {turns}")).format(turns=turns)
        lines = [
            f"def go(s):\n    n, {', '.join(names)}, = s\n    return {test}",
            f"def step(s):\n    n, {', '.join(names)}, = s\n    return {_row(['n + 1', *after])}",
            f"(lambda x, h, k: lax.while_loop(go, step, {_row(['0', *starts])}))(x, h, k)",
        ]
    elif kind == "fori":
        lower, upper = choices.of(
            (
                ("0", str(turns)),
                ("0", "1"),
                ("1", "k[0]"),
                ("k[1]", "3"),
                ("np.int8(0)", "2"),
                ("-1", "k[2]"),
                ("2", "1"),
            )
        )
        extra = choices.of(("", " + i", ""))
        lines = [
            f"def step(i, s):\n    {', '.join(names)}, = s\n    return {_row([after[0] + extra, *after[1:]])}",
            f"(lambda x, h, k: lax.fori_loop({lower}, {upper}, step, {_row(starts)}))(x, h, k)",
        ]
    else:
        row = choices.of(("None", "a", "y", "(y, a)", "{'y': y}"))
        over, length = choices.of(
            (
                ("x", ""),
                ("(x, k)", ""),
                ("None", f", length={turns}"),
                ("{'x': x}", ""),
                ("x[:0]", ""),
                ("x", ", length=2"),
            )
        )
        reverse = ", reverse=True" if choices.chance(30) else ""
        lines = [
            f"def step(s, y):\n    {', '.join(names)}, = s\n    return {_row(after)}, {row}",
            f"(lambda x, h, k: lax.scan(step, {_row(starts)}, {over}{length}{reverse}))(x, h, k)",
        ]
    return "\n".join(lines)


_CLASSES = """\
import collections
Pair = collections.namedtuple("Pair", "a b")
def a_class():
    class P:
        def __init__(self, x): self.x = x
    jax.tree_util.register_pytree_node(P, lambda p: ((p.x,), None), lambda _, x: P(*x))
    return P
P, Q = a_class(), a_class()
"""
_TREES_ALIKE = (  # in each row, the trees have different structures
    ("P({0})", "Q({0})"), ("({0}, x)", "Pair({0}, x)", "[{0}, x]"), ("None", "()", "{{}}"),
    ("{{'a': {0}}}", "{{'b': {0}}}", "{{'a': ({0},)}}"),
)  # fmt: skip


def _branches(choices: Choices, names: Sequence[str], count: int) -> tuple[list[str], list[str]]:
    """Return lines that define `count` functions, and the names of `count` branches. The branches are all of the functions, or
    are drawn from them, so that some branches may be the same.
    """
    alike = choices.of(_TREES_ALIKE) if choices.chance(30) else None
    first = alike[0] if alike else choices.of(_RESULTS)
    others = alike or _RESULTS
    results = [first, *(choices.of(others) if choices.chance(50 if alike else 20) else first for _ in range(count - 1))]
    parameters = ", ".join(names)
    lines = [f"def f{i}({parameters}): return {r.format(names[0], names[-1])}" for i, r in enumerate(results)]
    same = choices.chance(20)
    return lines, [f"f{choices.below(count) if same else i}" for i in range(count)]


def _choice(choices: Choices, kind: str) -> str:
    operands = [choices.of(("x", "h", "2.0", "x[0]", "k", "3", "(x, k)[1]")) for _ in range(1 + choices.below(2))]
    names = list("ab"[: len(operands)])
    lines, branches = _branches(choices, names, 2 if kind == "cond" else 1 + choices.below(4))
    given = ", ".join(operands)
    if len(operands) == 1 and choices.chance(25):
        given = f"operand={choices.of((given, 'None'))}"
    if kind == "cond":
        chooser = choices.of(
            ("x[0] > 1", "True", "False", "k[0]", "0", "x[2] > 1", "x[0]", "h[0] > 0", "np.bool_(True)", "2", "x > 1", "None", "[1]")
        )  # fmt: skip
        call = f"lax.cond({chooser}, {', '.join(branches)}, {given})"
    else:
        chooser = choices.of(("k[1]", "0", "k[0]", "-k[0]", "1", "7", "np.int8(1)", "-2", "k[2]", "k[0] * 0", "x[0]"))
        call = f"lax.switch({chooser}, [{', '.join(branches)}], {given})"
    # without jit Python chooses by an index that is known; whether one that was clamped under a trace is known, is left open
    is_open = kind == "switch" and chooser in ("0", "1", "7", "np.int8(1)", "-2")
    around = "with jax.disable_jit(): " if choices.chance(20) and not is_open else ""
    inside = [*lines, f"{around}return {call}"]
    head = _CLASSES if any("P(" in line or "Q(" in line or "Pair(" in line for line in lines) else ""
    return head + "def chosen(x, h, k):\n    " + "\n    ".join(inside) + "\nchosen(x, h, k)"


_VALUES = (
    "np.float32([1, 2, 3])", "2", "1.5", "True", "np.int32([3, 1, 2])", "np.float16([1, 2, 3])", "np.asarray([1, 2, 3], jnp.bfloat16)",
    "np.uint8([1, 2, 3])", "np.int8(2)", "np.array([True, False, True])", "np.float32(2)", "np.float32([[1], [2]])", "1j",
    "np.int16([1, 2, 3])", "np.uint32(3)", "np.float32([1, 2])", "np.asarray(2, jnp.bfloat16)", "False", "0",
)  # fmt: skip
_USES = (
    "1 if a else 2", "not a", "bool(a > 0)", "list(range(a))", "[10, 20, 30][a]", "int(a)", "a and 3", "'x' * a", "jnp.ones(3).sum(a)",
    "np.arange(4)[a]", "float(a)", "a == 2 or 5", "jnp.zeros(a)", "slice(a).indices(3)", "round(3.7, a)", "any([a, a])", "a.shape",
    "jnp.split(jnp.arange(6), a)[0]", "jnp.repeat(jnp.arange(3), 2, total_repeat_length=a)", "jnp.repeat(jnp.arange(3), a)",
)  # fmt: skip
_CONVERTED = (
    "2",
    "np.int32(1)",
    "1.5",
    "True",
    "np.float32([1, 2, 3])",
    "np.int32([2])",
    "0",
    "np.bool_(False)",
    "np.uint8(2)",
)


def conversions(choices: Choices) -> str:
    """Return a program in which Python needs the number itself (`int(x)`, `if x`) of a traced value, and of a value
    with a tangent.
    """
    value, use = choices.of(_CONVERTED), choices.of(_USES)
    other = choices.of(_USES)
    return (
        "def tried(call, *args):\n    try: return str(call(*args))\n"
        "    except NotImplementedError: raise\n    except Exception as error: return type(error).__name__\n"
        f"traced = tried(jax.make_jaxpr(lambda a: ({use}, a)[1]), {value})\n"
        f"again = tried(jax.make_jaxpr(lambda a: ({other}, a)[1]), {value})\n"
        f"changes = tried(lambda x: jax.jvp(lambda a: ({use}, a * 2.0)[1], (x,), (x,)), {choices.of(('1.0', '2.0', '0.0'))})\n"
        "traced, again, changes"
    )


_OPERATORS = ("+", "-", "*", "/", "<", "==", "//", "%", "**", "&", "|", ">=", "^", "!=", "@", "<<")


def operators(choices: Choices) -> str:
    """Return a call of a function with an operator between arrays or numbers of all types, at least one of them traced; sometimes with
    `jnp.maximum`, `jnp.where` or `abs` in place of the operator.
    """
    one, other, operator = choices.of(_VALUES), choices.of(_VALUES), choices.of(_OPERATORS)
    ways = (
        f"(lambda a, b: a {operator} b)({one}, {other})",
        f"(lambda a: a {operator} {other})({one})",
        f"(lambda b: {one} {operator} b)({other})",
    )
    more = (
        f"(lambda a, b: jnp.maximum(a, b) + a)({one}, {other})",
        f"(lambda a, b: jnp.where(a > 0, a, b))({one}, {other})",
        f"(lambda a: -abs(a))({one})",
    )
    return choices.of((*ways, *ways, *more))
