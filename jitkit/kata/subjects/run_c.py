"""C of `jit(f, backend="c")` + arrays -> arrays, line by line in Python, without a C compiler

A check of loops asks what they compute, and how often they read and write memory. This module finds out both: the lines of C become lines
of Python, and arrays count their reads and writes. The workspace begins as nan, so a result that uses an element which was never written
is nan. A name that is not declared where it is read is an error here, as in a compiler; an index beyond the end of an array is an error,
too, which a compiler does not see.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

_KINDS = {"i": ("int", (8, 16, 32, 64)), "u": ("uint", (8, 16, 32, 64)), "f": ("float", (32, 64))}
_TYPES = {f"{kind}{bits}": np.dtype(f"{name}{bits}") for kind, (name, sizes) in _KINDS.items() for bits in sizes}
_TOKEN = re.compile(
    r"\s*(0x[0-9a-f.]+p[+-]?\d+f?|\d+\.\d+(?:e[+-]?\d+)?f?|\d+[UL]*|\"\"|[A-Za-z_]\w*|<<|>>|[<>=!]=|&&|\|\||\S)"
)
_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_FOR = re.compile(r"for \(i64 (\w+) = (-?\d+); \w+ (<|>=) (\d+); \w+(?:\+\+|--)\) ?")
_SWAP = re.compile(r"\{ void \*p = (\w+); \w+ = (\w+); \w+ = p; \}")
_IF = re.compile(r"if \((.*)\) \{ (.*) \}")
_DECLARATION = re.compile(r"([iuf]\d+) (\w+) = (.*)")
_POINTER = re.compile(r"[iuf]\d+ \*(\w+) = (?:(in|out)\[(\d+)\]|\(void \*\)\(work \+ (\d+)\))")
_PARAMETER = re.compile(r"(\w+)$")


class CError(Exception):
    """Raised for C that a compiler would refuse, for a line of a form that jitkit's compiler does not write, and for an index
    outside of an array.
    """


class Memory:
    """An array in memory, as a pointer to it sees it. It counts the elements that are read and written."""

    def __init__(self, name: str, array: np.ndarray[Any, Any], counts: dict[str, int], start: int = 0) -> None:
        self.name, self.array, self.counts, self.start = name, array, counts, start

    def __add__(self, count: int) -> Memory:
        return Memory(self.name, self.array, self.counts, self.start + count)

    def _at(self, index: int) -> int:
        place = self.start + index
        if not 0 <= place < len(self.array):
            raise CError(f"element {place} of {self.name} does not exist: it has {len(self.array)}")
        return place

    def __getitem__(self, index: int) -> Any:
        self.counts["reads"] += 1
        return self.array.item(self._at(index))

    def __setitem__(self, index: int, value: Any) -> None:
        self.counts["writes"] += 1
        self.array[self._at(index)] = _converted(self.array.dtype, value)


class Ran(NamedTuple):
    """What a C program did: its results, and the elements that it read from memory and wrote there."""

    results: list[np.ndarray[Any, Any]]
    reads: int
    writes: int


def run_c(
    text: str, workspace: int, inputs: Sequence[np.ndarray[Any, Any]], types: Sequence[tuple[tuple[int, ...], Any]]
) -> Ran:
    """Run a program on arrays, and return its results and what it read and wrote.

    Args:
      text: the C.
      workspace: how many bytes of memory it has besides inputs and results.
      types: shape and dtype of each result.

    Raises:
      CError: a C compiler would refuse the C, a line has a form that jitkit's compiler does not write, or an index is beyond the end of
        an array.
    """
    counts = {"reads": 0, "writes": 0}
    results = [np.full(shape, 77, dtype) for shape, dtype in types]
    names = {name: function for name in set(re.findall(r"\b(\w+)\(", text)) if (function := _function(name))}
    code = _Code(names)
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith(("LOOP ", "void run("))]
    for start in starts:
        end = next(i for i in range(start, len(lines)) if lines[i] == "}")
        code.function(lines[start:end])
    memory = np.frombuffer(np.full(workspace + 8, 255, np.uint8), np.uint8)
    space: dict[str, Any] = {
        **names, "_div": _divide, "_rem": math.fmod, "_to": _converted, "_types": _TYPES, "_work": (memory, workspace), "_counts": counts,
        "_memory": _memory,
    }  # fmt: skip
    exec(compile("\n".join(code.lines), "<C as Python>", "exec"), space)
    with np.errstate(all="ignore"):
        space["run"](
            [Memory(f"in{i}", np.ascontiguousarray(x).reshape(-1).view(_plain(x.dtype)), counts) for i, x in enumerate(inputs)],
            [Memory(f"out{i}", x.reshape(-1).view(_plain(x.dtype)), counts) for i, x in enumerate(results)],
        )  # fmt: skip
    return Ran(results, counts["reads"], counts["writes"])


def _plain(dtype: Any) -> Any:
    return np.uint8 if dtype == np.bool_ else dtype


def _memory(name: str, ctype: str, offset: int, work: tuple[Any, int], counts: dict[str, int]) -> Memory:
    dtype = _TYPES[ctype]
    memory, size = work
    count = max((size - offset) // dtype.itemsize, 0)
    return Memory(name, memory[offset : offset + count * dtype.itemsize].view(dtype), counts)


def _converted(dtype: Any, value: Any) -> Any:
    """Return a value converted to a dtype as an assignment in C does: integers wrap."""
    if dtype.kind == "f":
        return float(value)
    number, bits = int(value), 8 * dtype.itemsize
    number &= (1 << bits) - 1
    return number - (1 << bits) if dtype.kind == "i" and number >> (bits - 1) else number


def _divide(x: Any, y: Any) -> Any:
    if isinstance(x, int) and isinstance(y, int):
        return int(x / y)
    return float(np.float64(x) / np.float64(y))


# --- functions that the text calls ----------------------------------------------------------------------------------


def _of_numpy(name: str) -> Callable[..., Any]:
    function = getattr(np, name)
    return lambda *x: float(function(*map(np.float64, x)))


_BY_NAME: dict[str, Callable[..., Any]] = {
    "max": lambda a, b: a if a > b or a != a else b, "min": lambda a, b: a if a < b or a != a else b,
    "sign": lambda x: (x > 0) - (x < 0) if x == x else x, "rem": lambda a, b: int(math.fmod(a, b)) if b else a,
    "div": lambda a, b: (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else -1,
    "fabs": abs, "rint": lambda x: float(np.rint(x)), "fmod": lambda x, y: float(np.fmod(x, y)), "pow": _of_numpy("power"),
    "inf": lambda: math.inf, "nan": lambda text: math.nan, "erf": math.erf,
    "ipow": operator.pow, "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x) if math.isfinite(x) else x,
}  # fmt: skip
_OF_NUMPY = {
    "exp", "log", "tanh", "exp2", "expm1", "log2", "log1p", "sin", "cos", "tan", "sinh", "cosh", "sqrt", "cbrt", "floor", "ceil",
} | {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}.keys()  # fmt: skip


def _function(name: str) -> Callable[..., Any] | None:
    """Return a function for a name of the C library, or for a helper of `loops.formulas`; None for other names."""
    if match := re.fullmatch(r"to_([iu]\d+)_of_f\d+", name):
        info = np.iinfo(_TYPES[match[1]])
        return lambda x: 0 if x != x else int(min(max(x, info.min), info.max))
    if re.fullmatch(r"gemm_f\d+", name):
        return _gemm
    word = re.sub(r"_[iuf]\d+$", "", name.removeprefix("__builtin_"))
    if name.startswith("__builtin_") and word not in _BY_NAME and word not in _OF_NUMPY:
        word = word.removesuffix("f")
    if name.startswith("__builtin_") and word in ("inff", "nanf", "fmodf", "fabsf", "rintf", "powf", "roundf"):
        word = word[:-1]
    if word in _BY_NAME:
        return _BY_NAME[word]
    if word in _OF_NUMPY:
        return _of_numpy(word.replace("a", "arc", 1) if word in ("asin", "acos", "atan", "atan2") else word)
    return None


def _gemm(m: int, n: int, k: int, a: Any, am: int, ak: int, b: Any, bk: int, bn: int, c: Any, cm: int, cn: int) -> None:
    for i in range(m):
        for j in range(n):
            c[i * cm + j * cn] = c[i * cm + j * cn] + sum(a[i * am + p * ak] * b[p * bk + j * bn] for p in range(k))


# --- C -> Python -----------------------------------------------------------------------------------------------------


class _Code:
    """Lines of Python for lines of C."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.lines: list[str] = []
        self.known = known
        self.scopes: list[set[str]] = []

    def put(self, line: str) -> None:
        self.lines.append("    " * len(self.scopes) + line)

    def function(self, lines: Sequence[str]) -> None:
        """Add the lines of Python for a function of C."""
        head = lines[0]
        name, inside = head.removeprefix("LOOP ").removeprefix("void ").rstrip("{ ").split("(", 1)
        parameters = [found[1] for part in inside.rstrip(") ").split(",") if (found := _PARAMETER.search(part.strip()))]
        parameters = [] if parameters == ["void"] else ["_in", "_out"] if name == "run" else parameters
        self.put(f"def {name}({', '.join(parameters)}):")
        self.scopes = [set(parameters)]
        self.put("pass")
        for line in lines[1:]:
            self.line(re.sub(r"\s*//.*", "", line).strip())
        self.scopes = []

    def line(self, line: str) -> None:
        """Add the lines of Python for a line of C. Raise CError for a line of another form than jitkit's compiler writes."""
        if not line or line.startswith("#"):
            return
        if match := _FOR.match(line):
            name, first, word, last = match.groups()
            self.put(f"for {name} in range({first}, {last if word == '<' else f'{int(last) - 1}, -1'}):")
            self.scopes.append({name})
            self.put("pass")
            rest = line[match.end() :]
            if rest != "{":
                self.line(rest)
                self.scopes.pop()
        elif match := _SWAP.fullmatch(line):
            self.put(f"{match[1]}, {match[2]} = {match[2]}, {match[1]}")
        elif match := _IF.fullmatch(line):
            self.put(f"if {self.expression(match[1])}:")
            self.scopes.append(set())
            for each in match[2].split("; "):
                self.statement(each.rstrip("; "))
            self.scopes.pop()
        elif line.endswith("{"):
            if line.startswith("}"):
                self.scopes.pop()
                line = line[1:].strip()
            test = re.fullmatch(r"(else if|if|else|for)? ?(?:\((.*)\))? ?\{", line)
            if test is None:
                raise CError(f"a line that is not understood: {line}")
            word, inside = test.groups()
            what = {None: "if True", "for": "while True", "else": "else"}.get(word)
            self.put(f"{what or ('elif' if word == 'else if' else 'if') + ' ' + self.expression(inside)}:")
            self.scopes.append(set())
            self.put("pass")
        elif line == "}":
            self.scopes.pop()
        elif match := re.fullmatch(r"if \((.*)\) break;", line):
            self.put(f"if {self.expression(match[1])}: break")
        else:
            self.statement(line.rstrip("; "))

    def statement(self, text: str) -> None:
        """Add a declaration, an assignment or a call."""
        if match := _POINTER.fullmatch(text):
            name, kind, number, offset = match.groups()
            made = f"_memory({name!r}, {text.split(maxsplit=1)[0]!r}, {offset}, _work, _counts)"
            self.put(f"{name} = _{kind}[{number}]" if kind else f"{name} = {made}")
            self.scopes[-1].add(name)
        elif match := _DECLARATION.fullmatch(text):
            ctype, name, value = match.groups()
            self.put(f"{name} = _to(_types[{ctype!r}], {self.expression(value)})")
            self.scopes[-1].add(name)
        elif " = " in text:
            target, value = text.split(" = ", 1)
            self.put(f"{self.expression(target)} = {self.expression(value)}")
        elif match := re.fullmatch(r"(loop\d+)\((.*)\)", text):
            self.put(f"{match[1]}({match[2]})")
        else:
            self.put(self.expression(text))

    def expression(self, text: str) -> str:
        """Return the expression of Python for one of C. Raise CError for a name that is not declared here."""
        tokens = _TOKEN.findall(text)
        made, rest = self._choice(tokens, text)
        if rest:
            raise CError(f"this is not an expression: {text}")
        return made

    def _choice(self, tokens: list[str], text: str) -> tuple[str, list[str]]:
        test, tokens = self._binary(0, tokens, text)
        if tokens[:1] != ["?"]:
            return test, tokens
        yes, tokens = self._choice(tokens[1:], text)
        if tokens[:1] != [":"]:
            raise CError(f"`?` without `:` in {text}")
        no, tokens = self._choice(tokens[1:], text)
        return f"({yes} if {test} else {no})", tokens

    def _binary(self, level: int, tokens: list[str], text: str) -> tuple[str, list[str]]:
        if level == len(_LEVELS):
            return self._unary(tokens, text)
        left, tokens = self._binary(level + 1, tokens, text)
        while tokens and tokens[0] in _LEVELS[level]:
            operation = tokens[0]
            right, tokens = self._binary(level + 1, tokens[1:], text)
            if operation == "/":
                left = f"_div({left}, {right})"
            else:
                left = f"({left} {({'&&': 'and', '||': 'or'}).get(operation, operation)} {right})"
        return left, tokens

    def _unary(self, tokens: list[str], text: str) -> tuple[str, list[str]]:
        if not tokens:
            raise CError(f"an expression ends too early: {text}")
        token, rest = tokens[0], tokens[1:]
        if token in ("-", "+", "~", "!"):
            inner, rest = self._unary(rest, text)
            return f"({'not ' if token == '!' else token}{inner})", rest
        if token == "(" and rest[:1] and rest[0] in _TYPES and rest[1:2] == [")"]:
            inner, after = self._unary(rest[2:], text)
            return f"_to(_types[{rest[0]!r}], {inner})", after
        if token == "(":
            inner, rest = self._choice(rest, text)
            return f"({inner})", _after(")", rest, text)
        if token == '""':
            return token, rest
        if token[0].isdigit():
            return _number(token), rest
        return self._name(token, rest, text)

    def _name(self, name: str, rest: list[str], text: str) -> tuple[str, list[str]]:
        if rest[:1] == ["("]:
            if name not in self.known:
                raise CError(f"there is no function {name}, in {text}")
            arguments, rest = [], rest[1:]
            while rest[:1] != [")"]:
                one, rest = self._choice(rest[1:] if rest[:1] == [","] else rest, text)
                arguments.append(one)
            return f"{name}({', '.join(arguments)})", rest[1:]
        if not any(name in scope for scope in self.scopes):
            raise CError(f"{name!r} is not declared where it is read: {text}")
        if rest[:1] == ["["]:
            inner, rest = self._choice(rest[1:], text)
            return f"{name}[{inner}]", _after("]", rest, text)
        return name, rest


def _after(token: str, tokens: list[str], text: str) -> list[str]:
    if tokens[:1] != [token]:
        raise CError(f"{token!r} is missing in {text}")
    return tokens[1:]


def _number(token: str) -> str:
    if token.startswith("0x"):
        return repr(float.fromhex(token.removesuffix("f")))
    return token.rstrip("ULf")
