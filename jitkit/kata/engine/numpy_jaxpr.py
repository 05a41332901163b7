"""jaxpr + arrays -> arrays, by numpy

A check that compares only results need not wait for a compiler: a jaxpr of plain arithmetic, with its loops and
branches, runs here, one equation at a time. Primitives that are in none of the tables below are compiled and run by
jitkit.

JAX: jax/_src/core.py:eval_jaxpr
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Arrays = list[Any]


def run_by_numpy(jaxpr: Any, *arguments: Any) -> Arrays:
    """Return the outputs of a closed jaxpr for some arguments, as numpy arrays of the types in the jaxpr."""
    with np.errstate(all="ignore"):
        return _run(jaxpr, [np.asarray(x) for x in arguments])


def _run(jaxpr: Any, arguments: Sequence[Any]) -> Arrays:
    values = dict(zip(jaxpr.constvars, map(np.asarray, jaxpr.consts), strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))

    def read(atom: Any) -> Any:
        return np.asarray(atom.val, atom.aval.dtype) if hasattr(atom, "val") else values[atom]

    for eqn in jaxpr.eqns:
        operands = [read(atom) for atom in eqn.invars]
        for var, result in zip(eqn.outvars, _apply(eqn, operands), strict=True):
            made = np.asarray(result)
            assert made.shape == var.aval.shape, f"numpy gave {made.shape} for {eqn.primitive} -> {var.aval}"
            values[var] = made.astype(var.aval.dtype)
    return [read(atom) for atom in jaxpr.outvars]


def _apply(eqn: Any, operands: Arrays) -> Sequence[Any]:
    name, params = eqn.primitive.name, eqn.params
    if name in _ARITHMETIC:
        return [_ARITHMETIC[name](*operands)]
    if name in _WITH_PARAMS:
        return [_WITH_PARAMS[name](params, *operands)]
    if name in _WITH_JAXPRS:
        return _WITH_JAXPRS[name](params, operands)
    results = eqn.primitive.bind(*operands, **params)
    return list(results) if eqn.primitive.multiple_results else [results]


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "add": np.add, "add_any": np.add, "and": np.bitwise_and,
    "atan2": np.arctan2, "ceil": np.ceil, "clamp": lambda low, x, high: np.clip(x, low, high), "copy": np.copy, "cos": np.cos,
    "cosh": np.cosh, "div": np.divide, "eq": np.equal, "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "floor": np.floor, "imag": np.imag, "is_finite": np.isfinite, "log1p": np.log1p, "rem": np.fmod, "tan": np.tan,
    "ge": np.greater_equal, "gt": np.greater,
    "le": np.less_equal, "log": np.log, "logistic": lambda x: 1 / (1 + np.exp(-x)), "lt": np.less, "max": np.maximum,
    "min": np.minimum, "mul": np.multiply, "ne": np.not_equal, "neg": np.negative, "not": np.invert,
    "one_minus_square": lambda x: (1 + x) * (1 - x),
    "or": np.bitwise_or, "pow": np.power, "real": np.real, "shift_left": np.left_shift,
    "shift_right_arithmetic": lambda x, n: x.view(f"i{x.itemsize}") >> n.view(f"i{n.itemsize}"),
    "shift_right_logical": lambda x, n: x.view(f"u{x.itemsize}") >> n.view(f"u{n.itemsize}"),
    "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt,
    "square": np.square, "stop_gradient": lambda x: x, "sub": np.subtract, "tanh": np.tanh, "xor": np.bitwise_xor,
    "select_n": lambda which, *cases: np.choose(np.asarray(which, int), cases),
}  # fmt: skip


def _along(reduce: Callable[..., Any]) -> Callable[..., Any]:
    return lambda params, x: reduce(x, axis=tuple(map(int, params["axes"])))


def _broadcast_in_dim(params: dict[str, Any], x: Any) -> Any:
    places = {int(place): size for place, size in zip(params["broadcast_dimensions"], x.shape, strict=True)}
    shape = [places.get(i, 1) for i in range(len(params["shape"]))]
    return np.broadcast_to(x.reshape(shape), params["shape"])


def _reshape(params: dict[str, Any], x: Any) -> Any:
    order = params.get("dimensions")
    return (x if order is None else x.transpose(order)).reshape(params["new_sizes"])


def _dot_general(params: dict[str, Any], lhs: Any, rhs: Any) -> Any:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = params["dimension_numbers"]
    left, right = [f"l{i}" for i in range(lhs.ndim)], [f"r{i}" for i in range(rhs.ndim)]
    for mine, other in zip((*lhs_contract, *lhs_batch), (*rhs_contract, *rhs_batch), strict=True):
        right[other] = left[mine]
    batch = [left[i] for i in lhs_batch]
    kept = [a for i, a in enumerate(left) if i not in (*lhs_contract, *lhs_batch)]
    kept += [a for i, a in enumerate(right) if i not in (*rhs_contract, *rhs_batch)]
    number = {a: i for i, a in enumerate(dict.fromkeys([*left, *right]))}
    return np.einsum(lhs, [number[a] for a in left], rhs, [number[a] for a in right], [number[a] for a in batch + kept])


def _pad(params: dict[str, Any], x: Any, value: Any) -> Any:
    """Return x, padded as XLA does: between elements and around them. A negative count at an end removes elements there."""
    config = params["padding_config"]
    spread = [n + max(n - 1, 0) * interior for n, (_, _, interior) in zip(x.shape, config, strict=True)]
    out = np.full(spread, value, x.dtype)
    out[tuple(slice(None, None, interior + 1) for _, _, interior in config)] = x
    out = np.pad(out, [(max(low, 0), max(high, 0)) for low, high, _ in config], constant_values=value)
    ends = [n + min(high, 0) for n, (_, high, _) in zip(out.shape, config, strict=True)]
    return out[tuple(slice(max(-low, 0), end) for (low, _, _), end in zip(config, ends, strict=True))]


def _iota(params: dict[str, Any]) -> Any:
    shape, axis = params["shape"], params["dimension"]
    along = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.broadcast_to(along, shape)


def _round(params: dict[str, Any], x: Any) -> Any:
    """Return x, rounded: half a unit goes to the even neighbour (method 1), or away from zero (0)."""
    whole = np.trunc(x)
    return np.rint(x) if params["rounding_method"] else whole + np.sign(x) * (np.abs(x - whole) >= 0.5)


def _slice(params: dict[str, Any], x: Any) -> Any:
    steps = params["strides"] or (1,) * x.ndim
    return x[tuple(map(slice, params["start_indices"], params["limit_indices"], steps))]


_WITH_PARAMS: dict[str, Callable[..., Any]] = {
    "argmax": lambda params, x: np.argmax(x, int(params["axes"][0])),
    "argmin": lambda params, x: np.argmin(x, int(params["axes"][0])),
    "broadcast_in_dim": _broadcast_in_dim,
    "concatenate": lambda params, *xs: np.concatenate(xs, params["dimension"]),
    "convert_element_type": lambda params, x: x,  # `_run` converts the result to the variable's type
    "dot_general": _dot_general,
    "empty2": lambda params: np.zeros((), params["dtype"]),
    "integer_pow": lambda params, x: x ** x.dtype.type(params["y"]),
    "iota": _iota,
    "pad": _pad,
    "reduce_max": _along(np.max),
    "reduce_min": _along(np.min),
    "reduce_prod": _along(np.prod),
    "reduce_sum": _along(np.sum),
    "reshape": _reshape,
    "round": _round,
    "slice": _slice,
    "rev": lambda params, x: np.flip(x, tuple(map(int, params["dimensions"]))),
    "squeeze": lambda params, x: np.squeeze(x, tuple(params["dimensions"])),
    "stack": lambda params, *xs: np.stack(xs, int(params["axis"])),
    "transpose": lambda params, x: x.transpose(params["permutation"]),
}


# --- programs in programs ---------------------------------------------------------------------------------------------


def _jit(params: dict[str, Any], operands: Arrays) -> Arrays:
    return _run(params["call_jaxpr"] if "call_jaxpr" in params else params["jaxpr"], operands)


def _cond(params: dict[str, Any], operands: Arrays) -> Arrays:
    branches = params["branches"]
    return _run(branches[int(np.clip(operands[0], 0, len(branches) - 1))], operands[1:])


def _while(params: dict[str, Any], operands: Arrays) -> Arrays:
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    cond_consts, body_consts, carry = operands[:first], operands[first:second], operands[second:]
    while _run(params["cond_jaxpr"], [*cond_consts, *carry])[0]:
        carry = _run(params["body_jaxpr"], [*body_consts, *carry])
    return carry


def _scan(params: dict[str, Any], operands: Arrays) -> Arrays:
    jaxpr, first = params["jaxpr"], params["num_consts"]
    count, length = params["num_carry"], params["length"]
    consts, carry, xs = operands[:first], operands[first : first + count], operands[first + count :]
    rows: list[Any] = [None] * length
    for i in reversed(range(length)) if params["reverse"] else range(length):
        outs = _run(jaxpr, [*consts, *carry, *(x[i] for x in xs)])
        carry, rows[i] = outs[:count], outs[count:]
    types = jaxpr.out_avals[count:]
    ys = [
        np.stack([row[k] for row in rows]) if rows else np.zeros((0, *aval.shape), aval.dtype)
        for k, aval in enumerate(types)
    ]
    return [*carry, *ys]


_WITH_JAXPRS: dict[str, Callable[[dict[str, Any], Arrays], Arrays]] = {
    "closed_call": _jit,
    "cond": _cond,
    "jit": _jit,
    "pjit": _jit,
    "remat2": _jit,
    "scan": _scan,
    "unstack": lambda params, operands: list(np.moveaxis(operands[0], int(params["axis"]), 0)),
    "while": _while,
}
