"""choices -> programs that call a function of lab 01, with operands that may be refused (shapes, types, objects, traced values), or three
rules of `check_jaxpr` (lab 02), with places of a jaxpr that may break them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.choices import Choices

_TRIED = """\
def tried(call, *args):
    try: return call(*args)
    except NotImplementedError: raise
    except Exception as error: return type(error).__name__
"""
_DTYPES = ("float32", "int32", "bool", "float16", "int8", "uint8", "complex64", "uint32")


def _row(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _shapes(choices: Choices, count: int) -> list[str]:
    """Return `count` shapes, as strings, that often broadcast: they have one rank, and each size is that of a common shape, or 1. Some
    have another shape or another last size.
    """
    whole = [choices.of((2, 3, 0, 1)) for _ in range(choices.below(4))]
    shapes = [[1 if choices.chance(40) else size for size in whole] for _ in range(count)]
    for shape in shapes:
        if choices.chance(12):
            shape[:] = choices.of(([], [2], [1], [0, 1], [3, 3], [1, 1]))
    if whole and choices.chance(30):
        choices.of(shapes)[-1:] = [choices.of((0, 3, 2))]
    return [_row(list(map(str, shape))) for shape in shapes]


def shapes(choices: Choices) -> str:
    """Return a program that finds the common shape of some arrays, or the type of an operation on operands of many types."""
    if choices.chance(50):
        several = [_shapes(choices, 1 + choices.below(4)) for _ in range(3)]
        listed = ", ".join(f"[{', '.join(given)}]" for given in several)
        return (
            _TRIED + "from jitkit.lax.utils import broadcast_equal_ranks\n"
            f"[tried(broadcast_equal_ranks, 'mix', given) for given in ({listed})]"
        )
    count = 1 + choices.below(4)
    given = _shapes(choices, count)
    dtype = choices.of(_DTYPES)
    odd = choices.below(count) if choices.chance(50) else None  # which operand has another dtype
    operands = [
        f"ShapedArray({shape}, '{choices.of(_DTYPES) if i == odd else dtype}', {choices.chance(60)})"
        for i, shape in enumerate(given)
    ]
    kinds = [choices.of(("ANY", "ANY", "ANY", "NUMBER", "NUMBER", "FLOAT", "INTEGER")) for _ in operands]
    result = choices.of(("operands[-1].dtype", "np.dtype(bool)", "operands[0].dtype", "np.dtype('float32')"))
    return (
        _TRIED + "from jitkit.core import ShapedArray\nfrom jitkit.lax import elementwise_rules as rules\n"
        f"operands = [{', '.join(operands)}]\n"
        f"accepts = {_row([f'rules.{kind}' for kind in kinds])}\n"
        "def result(*operands): return " + result + "\n"
        "[tried(rules.elementwise_aval, 'mix', accepts, result, one_dtype, operands) for one_dtype in (True, False)]"
    )


_NODES = (
    "'int32'", "int", "'float32'", "float", "'int64'", "'bool'", "'float64'", "complex", "'uint8'", "'int8'", "'float16'", "jnp.bfloat16",
    "'complex128'", "'uint64'", "jnp.float8_e4m3fn", "'uint32'", "'complex64'", "jnp.float8_e5m2", "str",
)  # fmt: skip


def bounds(choices: Choices) -> str:
    """Return a program with a call of `least_upper_bound` on one to four types, of which some may be the same."""
    few = [choices.of(_NODES) for _ in range(3)]
    if choices.chance(30):  # these are equal in Python
        few = choices.of((["int", "'int64'"], ["'float64'", "float"], ["'complex128'", "complex"]))
    nodes = [choices.of(few) for _ in range(1 + choices.below(4))]
    listed = ", ".join(node if node in ("int", "float", "complex", "str") else f"np.dtype({node})" for node in nodes)
    return (
        _TRIED + "from jitkit.core.dtypes import least_upper_bound\n"
        f"found = tried(least_upper_bound, {choices.chance(50)}, {listed})\n"
        "found.__name__ if isinstance(found, type) else str(found)"
    )


_OBJECTS = """\
class Gives:
    def __init__(self, x): self.x = x
    def __jax_array__(self): return self.x
class Row(np.ndarray):
    def __jax_array__(self): return 0.0
class Fails:
    def __jax_array__(self): raise KeyError("not now")
class Nothing:
    __jax_array__ = None
class Whole(int): pass
"""
_LEFT = (
    "2", "1.5", "Gives(7.0)", "Gives(3)", "object()", "np.float32([1, 2]).view(Row)", "Fails()", "Nothing()", "True", "np.int8(3)",
    "[1]", "'a'", "None", "Gives(1), Gives(2)", "np.float32(2)", "1j", "Whole(4)", "{}",
)  # fmt: skip


def reflected(choices: Choices) -> str:
    """Return a program with calls of a reflected method, with objects of many kinds on the left and a function that may fail."""
    error = choices.of(("TypeError", "ValueError", "KeyError"))
    does = choices.of(("return type(left).__name__, left, right", f"raise {error}(right)"))
    lefts = [choices.of(_LEFT) for _ in range(2 + choices.below(3))]
    return (
        f"{_TRIED}{_OBJECTS}from jitkit.core.operators import reflected_method\n"
        f"def function(left, right): {does}\n"
        f"method = reflected_method({choices.of(('-', '/', '**'))!r}, function)\n"
        f"[tried(method, np.float32(9), left) for left in [{', '.join(lefts)}]]"
    )


_KNOWN = (
    "np.int32(2)", "2.5", "None", "'7'", "jnp.asarray(np.float32(3))", "jnp.asarray(1)",
    "np.bool_(True)", "np.int32([3, 1])", "np.uint8(1)", "[1]", "True",
)  # fmt: skip
_TRACED = (
    "np.int32(2)", "np.float32(2)", "np.bool_(True)", "np.int32([2])", "np.int8(2)", "np.uint8(2)", "np.int32([[1]])", "np.int32([3, 1])",
    "np.uint32(1)", "np.zeros((0,), 'int32')", "np.asarray(1, jnp.bfloat16)", "np.zeros((1, 3), bool)", "np.int16(2)", "1j", "1", "True",
    "np.zeros((3, 0))", "np.ones((1, 1))",
)  # fmt: skip
_FORCES = (
    "int", "operator.index", "bool", "float", "str", "functools.partial(int)", "lambda x: 5", "seen.append", "index", "type", "np.asarray",
)  # fmt: skip


def questions(choices: Choices) -> str:
    """Return a program that converts traced values to a bool or an int, and passes traced and known values to `concrete_or_error`."""
    ways = [
        choices.of(
            (
                "bool(a)",
                "operator.index(a)",
                "range(a)",
                "not a",
                "[1, 2, 3][a]",
                "force(a)",
                "force(a, 'It is a size.')",
            )
        )
        for _ in range(2)
    ]
    ways = [way.replace("force(", f"concrete_or_error({choices.of(_FORCES)}, ") for way in ways]
    asked = [f"tried(jax.make_jaxpr(lambda a: told({way})), {choices.of(_TRACED)})" for way in ways]
    asked += [
        f"tried(lambda a: told(concrete_or_error({choices.of(_FORCES)}, a)), {choices.of(_KNOWN)})" for _ in range(2)
    ]
    return (
        "import functools, operator\nfrom jitkit.core import concrete_or_error\nseen = []\n"
        "def index(x): return 3\ndef told(answer):\n    seen.append(str(answer))\n    return 1.0\n"
        "def tried(call, *args):\n    try: return str(call(*args))\n    except NotImplementedError: raise\n"
        "    except Exception as error: return type(error).__name__, 'a size' in str(error)\n"
        f"{', '.join(asked)}, seen"
    )


_TYPES = (
    "float32[2,3]",
    "float32[2,3]",
    "float32[2,3] weak",
    "float32[3,2]",
    "int32[2,3]",
    "float32[6]",
    "float16[2,3]",
)
_PLACES = """\
from jitkit.core import ShapedArray
from jitkit.jaxpr import Literal, Var
from jitkit.jaxpr.check import Place, ill_typed_results, second_bindings, unbound_reads
made = jax.make_jaxpr(lambda x: lax.sort([x, -x, x * 2], num_keys=1))(np.ones((2, 3), 'float32'))
eqn = made.eqns[-1]
def typed(text):
    kind, _, sizes = text.split()[0][:-1].partition('[')
    return Var(ShapedArray(tuple(map(int, sizes.split(','))), kind, 'weak' in text))
a, b, c, d, e = [*made.invars, *made.eqns[0].outvars, *eqn.outvars[:2], typed('int32[4]')]
two = Literal(2.0, jax.core.get_aval(2.0))
"""


def laws(choices: Choices) -> str:
    """Return a program that makes two `Place`s of a jaxpr, and applies three rules of `check_jaxpr` to both. Variables in them may be
    unbound, bound twice or of the wrong type.
    """
    reads = [choices.of(("a", "b", "c", "two", "d", "e")) for _ in range(choices.below(4))]
    binds = [choices.of(("c", "d", "b", "e", "a")) for _ in range(choices.below(4))]
    bound = [choices.of(("a", "b", "c")) for _ in range(choices.below(3))]
    types = [choices.of(_TYPES) for _ in range(3)]
    return (
        f"{_PLACES}outs = [typed(text) for text in {types}]\n"
        f"place = Place(made, 1, None, [{', '.join(reads)}], [{', '.join(binds)}], set([{', '.join(bound)}]), set())\n"
        "other = Place(made, 1, eqn.replace(outvars=outs), eqn.invars, outs, set(), set())\n"
        "told = [sorted(set(rule(at))) for at in (place, other) for rule in (unbound_reads, second_bindings, ill_typed_results)]\n"
        "told, len(place.bound), len(other.bound)"
    )
