"""Elementwise operation -> expression of C

Each row of the table makes an expression from the names of the operands. Anything longer is a function in `HELPERS`,
which the C text includes if it is called.

Exponential, logarithm and hyperbolic tangent of float32 are polynomials without branches, so that the compiler computes
eight or sixteen numbers at once. The C library's functions take one number, and are forty times as slow in a loop. With
`-ffast-math` a compiler uses vectorised functions, but may also reorder sums and ignore nan, which would change
results. Coefficients: S. Moshier, Cephes Mathematical Library, single precision (expf, logf, tanhf), 1984-2000.

JAX: jax/_src/lax/lax.py:standard_naryop
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .language import ELEMENTS, Op

# arguments: the operation, its operands' names, the C type of the first
Formula = Callable[[Op, Sequence[str], str], str]


def c_type(aval: Any) -> str:
    """Return the C type of an element."""
    return ELEMENTS[aval.dtype.name]


def literal(number: Any) -> str:
    """Return the text in C of exactly this number."""
    kind, name = number.dtype.kind, ELEMENTS[number.dtype.name]
    if kind == "f":
        value, suffix = float(number), "f" if name == "f32" else ""
        if np.isnan(value):
            return f'__builtin_nan{suffix}("")'
        if np.isinf(value):
            return f"({'-' if value < 0 else ''}__builtin_inf{suffix}())"
        return f"({value.hex()}{suffix})" if value < 0 or value != int(value) else f"{value.hex()}{suffix}"
    if kind == "i" and number == np.iinfo(number.dtype).min:
        return f"(({name})({int(number) + 1}LL - 1))"
    return f"(({name}){int(number)}{'ULL' if name == 'u64' else 'LL' if abs(int(number)) > 2**31 else ''})"


def _function(name: str) -> Formula:
    """Return a formula that calls a function of C's library, by the compiler's name for it."""
    return lambda op, x, t: f"__builtin_{name}{'f' if t == 'f32' else ''}({', '.join(x)})"


def _helper(name: str) -> Formula:
    """Return a formula that calls a function of HELPERS for the operand's type."""
    return lambda op, x, t: f"{name}_{t}({', '.join(x)})"


def _either(name: str, library: str) -> Formula:
    """Return a formula that uses our function for float32, and the C library's for float64."""
    return lambda op, x, t: (_helper(name) if t == "f32" else _function(library))(op, x, t)


def _text(template: str) -> Formula:
    """Return a formula from a template: {0} and {1} are the operands, {t} is the type."""
    return lambda op, x, t: template.format(*x, t=t)


def _of_floats(formula: Formula, name: str) -> Formula:
    """Return a formula that is `formula` for floats, and a call of the helper `name` for integers."""
    return lambda op, x, t: (formula if t[0] == "f" else _helper(name))(op, x, t)


def _not(op: Op, x: Sequence[str], t: str) -> str:
    return f"!{x[0]}" if op.outs[0].aval.dtype == np.bool_ else f"~{x[0]}"


def _shift(operator: str) -> Formula:
    """Return a formula for a shift with this operator. A shift by all bits or more gives 0."""

    def formula(op: Op, x: Sequence[str], t: str) -> str:
        bits = t[1:]
        return f"((u{bits}){x[1]} < {bits} ? ({t})((u{bits}){x[0]} {operator} {x[1]}) : 0)"

    return formula


def _arithmetic_shift(op: Op, x: Sequence[str], t: str) -> str:
    """Return the C of an arithmetic right shift, for signed and unsigned types; a shift by all bits or more leaves only
    copies of the sign bit.
    """
    bits = int(t[1:])
    return f"({t})((i{bits}){x[0]} >> ((u{bits}){x[1]} < {bits} ? {x[1]} : {bits - 1}))"


def _power(op: Op, x: Sequence[str], t: str) -> str:
    if t[0] != "f":
        return f"ipow_{t}({x[0]}, {x[1]})"
    return _function("pow")(op, [x[0], f"({t}){x[1]}"], t)


def _integer_power(op: Op, x: Sequence[str], t: str) -> str:
    exponent = int(op.params["y"])
    power, factor, text = abs(exponent), x[0], ""
    while power:  # repeated squaring: x**5 is x * (x*x)*(x*x)
        if power & 1:
            text = f"{text}*{factor}" if text else factor
        power >>= 1
        factor = f"({factor}*{factor})"
    text = text or f"({t})1"
    return f"({t})1/({text})" if exponent < 0 else text


def _convert(op: Op, x: Sequence[str], t: str) -> str:
    new = op.outs[0].aval.dtype
    to = ELEMENTS[new.name]
    if new == np.bool_:
        return f"{x[0]} != 0"
    return f"to_{to}_of_{t}({x[0]})" if t[0] == "f" and to[0] != "f" else f"({to}){x[0]}"


def _select(op: Op, x: Sequence[str], t: str) -> str:
    if len(x) > 3:
        cases = "".join(f"{x[0]} == {i} ? {case} : " for i, case in enumerate(x[1:-1]))
        return f"({cases}{x[-1]})"
    return f"({x[0]} ? {x[2]} : {x[1]})" if len(x) == 3 else x[1]


def _round(op: Op, x: Sequence[str], t: str) -> str:
    return _function("rint" if int(op.params["rounding_method"]) == 1 else "round")(op, x, t)


FORMULAS: dict[str, Formula] = {
    "add": _text("{0} + {1}"), "add_any": _text("{0} + {1}"), "sub": _text("{0} - {1}"), "mul": _text("{0}*{1}"),
    "div": _of_floats(_text("{0}/{1}"), "div"), "rem": _of_floats(_function("fmod"), "rem"),
    "max": _helper("max"), "min": _helper("min"), "neg": _text("-{0}"), "sign": _helper("sign"),
    "abs": lambda op, x, t: _function("fabs")(op, x, t) if t[0] == "f" else f"({x[0]} < 0 ? -{x[0]} : {x[0]})",
    "floor": _function("floor"), "ceil": _function("ceil"), "round": _round,
    "is_finite": _text("{0} - {0} == 0"), "exp": _either("exp", "exp"), "exp2": _function("exp2"), "expm1": _function("expm1"),
    "log": _either("log", "log"), "log2": _function("log2"), "log1p": _function("log1p"),
    "logistic": lambda op, x, t: f"1/(1 + {_either('exp', 'exp')(op, ['-' + x[0]], t)})",
    "tanh": _either("tanh", "tanh"), "sin": _function("sin"), "cos": _function("cos"), "tan": _function("tan"),
    "asin": _function("asin"), "acos": _function("acos"), "atan": _function("atan"), "sinh": _function("sinh"),
    "cosh": _function("cosh"), "asinh": _function("asinh"), "acosh": _function("acosh"), "atanh": _function("atanh"),
    "sqrt": _function("sqrt"), "rsqrt": lambda op, x, t: f"1/{_function('sqrt')(op, x, t)}", "cbrt": _function("cbrt"),
    "square": _text("{0}*{0}"), "one_minus_square": _text("(1 + {0})*(1 - {0})"), "erf": _function("erf"),
    "erfc": _function("erfc"), "lgamma": _function("lgamma"), "atan2": _function("atan2"), "nextafter": _function("nextafter"),
    "not": _not, "and": _text("{0} & {1}"), "or": _text("{0} | {1}"), "xor": _text("{0} ^ {1}"),
    "population_count": lambda op, x, t: f"__builtin_popcountll((u64)(u{t[1:]}){x[0]})", "clz": _helper("clz"),
    "shift_left": _shift("<<"), "shift_right_logical": _shift(">>"), "shift_right_arithmetic": _arithmetic_shift,
    "eq": _text("{0} == {1}"), "ne": _text("{0} != {1}"), "lt": _text("{0} < {1}"), "le": _text("{0} <= {1}"),
    "gt": _text("{0} > {1}"), "ge": _text("{0} >= {1}"), "pow": _power, "integer_pow": _integer_power,
    "convert_element_type": _convert, "select_n": _select,
    "clamp": lambda op, x, t: f"min_{t}(max_{t}({x[1]}, {x[0]}), {x[2]})",
}  # fmt: skip

# Operations each of which costs as much as 20 additions (`cost`).
DEAR = {
    "exp", "exp2", "expm1", "log", "log2", "log1p", "logistic", "tanh", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "asinh", "acosh", "atanh", "cbrt", "erf", "erfc", "lgamma", "atan2", "pow", "rem",
}  # fmt: skip


def cost(name: str) -> int:
    """Return the cost of an operation, estimated in additions."""
    return 20 if name in DEAR else 5 if name in ("div", "sqrt", "rsqrt") else 1


# --- reductions: how two results become one, and what they begin with --------------------------------------------

COMBINE = {  # kind of reduction -> an expression of C for two numbers
    "sum": "{0} + {1}", "prod": "{0}*{1}", "max": "max_{t}({0}, {1})", "min": "min_{t}({0}, {1})", "and": "{0} & {1}",
    "or": "{0} | {1}", "xor": "{0} ^ {1}",
}  # fmt: skip


def neutral(kind: str, dtype: np.dtype[Any]) -> str:
    """Return the number with which a reduction begins, as C."""
    if kind in ("max", "min"):
        if dtype.kind == "f":
            return literal(dtype.type(-np.inf if kind == "max" else np.inf))
        if dtype.kind == "b":
            return "0" if kind == "max" else "1"
        info = np.iinfo(dtype)
        return literal(dtype.type(info.min if kind == "max" else info.max))
    if kind == "and":
        return "1" if dtype.kind == "b" else f"({ELEMENTS[dtype.name]})-1"
    return "1" if kind == "prod" else "0"


# --- functions ----------------------------------------------------------------------------------------------------

TYPES = """typedef signed char i8; typedef short i16; typedef int i32; typedef long long i64;
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;
typedef float f32; typedef double f64;
#define INLINE static inline __attribute__((always_inline))
#define LOOP static __attribute__((noinline)) void
"""

_EXP = """INLINE f32 exp_f32(f32 x) {
  x = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
  f32 shifted = x*1.44269504f + 12582912.0f, n = shifted - 12582912.0f;  /* 1.5 * 2**23: what is added to it is rounded */
  f32 r = x - n*0.693359375f + n*2.12194440e-4f, p = 1.9875691500e-4f;  /* x = n log(2) + r */
  p = p*r + 1.3981999507e-3f; p = p*r + 8.3334519073e-3f; p = p*r + 4.1665795894e-2f;
  p = p*r + 1.6666665459e-1f; p = p*r + 5.0000001201e-1f; p = p*r*r + r + 1.0f;
  i32 i; __builtin_memcpy(&i, &shifted, 4); i -= 0x4b400000;
  i32 half = i >> 1, a = (half + 127) << 23, b = (i - half + 127) << 23;  /* 2**n in two steps, which 2**128 needs */
  f32 s, t; __builtin_memcpy(&s, &a, 4); __builtin_memcpy(&t, &b, 4);
  return p*s*t;
}
"""
_TANH = """INLINE f32 tanh_f32(f32 x) {
  f32 a = __builtin_fabsf(x), z = x*x, p = -5.70498872745e-3f;
  p = p*z + 2.06390887954e-2f; p = p*z - 5.37397155531e-2f; p = p*z + 1.33314422036e-1f; p = p*z - 3.33332819422e-1f;
  f32 near = p*z*x + x, far = 1.0f - 2.0f/(exp_f32(a + a) + 1.0f);
  return a < 0.625f ? near : __builtin_copysignf(far, x);
}
"""
_LOG = """INLINE f32 log_f32(f32 x) {
  f32 scaled = x < 1.17549435e-38f ? x*8388608.0f : x;  /* what is not normal, times 2**23 */
  i32 i; __builtin_memcpy(&i, &scaled, 4);
  i32 e = ((i - 0x3f3504f3) >> 23), m = i - (int)((u32)e << 23);  /* scaled = 2**e m, with m from sqrt(1/2) to sqrt(2) */
  f32 n = (f32)e - (x < 1.17549435e-38f ? 23.0f : 0.0f), f; __builtin_memcpy(&f, &m, 4); f -= 1.0f;
  f32 z = f*f, p = 7.0376836292e-2f;
  p = p*f - 1.1514610310e-1f; p = p*f + 1.1676998740e-1f; p = p*f - 1.2420140846e-1f; p = p*f + 1.4249322787e-1f;
  p = p*f - 1.6668057665e-1f; p = p*f + 2.0000714765e-1f; p = p*f - 2.4999993993e-1f; p = p*f + 3.3333331174e-1f;
  f32 y = p*f*z - n*2.12194440e-4f - 0.5f*z + f + n*0.693359375f;
  y = x == __builtin_inff() ? x : y;
  return x > 0 ? y : x == 0 ? -__builtin_inff() : __builtin_nanf("");
}
"""


def _helpers() -> dict[str, str]:
    found = {"exp_f32": _EXP, "tanh_f32": _TANH, "log_f32": _LOG}
    for t in sorted(set(ELEMENTS.values())):
        is_float, bits = t[0] == "f", int(t[1:])
        head = f"INLINE {t} NAME_{t}({t} a, {t} b)"
        for name, sign in (("max", ">"), ("min", "<")):
            nan = " || a != a" if is_float else ""
            found[f"{name}_{t}"] = f"{head.replace('NAME', name)} {{ return a {sign} b{nan} ? a : b; }}\n"
        if is_float:
            suffix = "f" if t == "f32" else ""
            one = f"__builtin_copysign{suffix}(1, x)"
            found[f"sign_{t}"] = f"INLINE {t} sign_{t}({t} x) {{ return x == 0 || x != x ? x : {one}; }}\n"
            for to in sorted(each for each in set(ELEMENTS.values()) if each[0] != "f"):
                found[f"to_{to}_of_{t}"] = _float_to_integer(to, t)
            continue
        found[f"sign_{t}"] = f"INLINE {t} sign_{t}({t} x) {{ return (x > 0) - (x < 0); }}\n"
        negative, zero = (f"b == -1 ? ({t})(0 - (u64)a) : ", "b == -1 ? 0 : ") if t[0] == "i" else ("", "")
        found[f"div_{t}"] = f"{head.replace('NAME', 'div')} {{ return b == 0 ? ({t})-1 : {negative}a/b; }}\n"
        found[f"rem_{t}"] = f"{head.replace('NAME', 'rem')} {{ return b == 0 ? a : {zero}a%b; }}\n"
        found[f"clz_{t}"] = (
            f"INLINE {t} clz_{t}({t} x) {{ return (u{bits})x ? __builtin_clzll((u64)(u{bits})x) - {64 - bits} : {bits}; }}\n"
        )
        found[f"ipow_{t}"] = (
            f"INLINE {t} ipow_{t}({t} x, i64 n) {{\n  {t} y = 1;\n"
            f"  for (; n > 0; n >>= 1) {{ if (n & 1) y *= x; x *= x; }}\n  return y;\n}}\n"
        )
    return found


def _float_to_integer(to: str, t: str) -> str:
    """Return a function in C that converts a float to an integer as XLA does: a number out of range becomes the nearest
    integer of the type, and nan becomes 0.
    """
    bits = int(to[1:])
    low, high = (0, 2**bits - 1) if to[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    edge = f"{float(high + 1).hex()}{'f' if t == 'f32' else ''}"
    least = f"{float(low).hex()}{'f' if t == 'f32' else ''}"
    largest = f"({to}){high}{'ULL' if to == 'u64' else 'LL'}"
    smallest = f"({to})({low + 1}LL - 1)" if low else "0"
    return (
        f"INLINE {to} to_{to}_of_{t}({t} x) {{\n"
        f"  return x != x ? 0 : x >= {edge} ? {largest} : x <= {least} ? {smallest} : ({to})x;\n}}\n"
    )


HELPERS = _helpers()
_CALL = re.compile(r"\b(\w+_[iuf]\d+)\(")


def helpers_of(text: str) -> str:
    """Return the helpers that a piece of C calls, directly or through other helpers; a callee comes before its caller."""
    wanted: list[str] = []
    waiting = [text]
    while waiting:
        for name in _CALL.findall(waiting.pop()):
            if name in HELPERS:
                wanted = [name, *(each for each in wanted if each != name)]
                waiting += [HELPERS[name].split("{", 1)[1]]
    return "".join(HELPERS[name] for name in wanted)
