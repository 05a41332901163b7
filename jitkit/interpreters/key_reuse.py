"""jaxpr -> which keys it consumes: with `debug_key_reuse`, using a random key twice is an error

A key gives the same numbers each time, so a program that draws twice from one key gets numbers that are not
independent, and no error. With the option on, each array of keys knows which of its elements have been used.

Every operation, and so every program, has a *signature* for keys: operands that it consumes (sinks, with a mask of
their elements), results that are new keys (sources), and results that are an operand in another form (forwards). A
table has the signatures of primitives; the signature of a jaxpr follows from its equations. A jaxpr is checked when it
is traced: consuming a variable twice is an error. A loop repeats its body, so the body may not consume constants, and
must return a new key for each key of the carry that it consumes. When a program is called, keys that earlier calls
consumed must not be passed to be consumed again.

Old-style keys are plain integers; as in JAX, they are not checked.

JAX: jax/experimental/key_reuse/_core.py:jaxpr_type_signature
"""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import source_info
from ..base.errors import KeyReuseError
from ..base.source_info import SourceInfo
from ..core import dtypes
from ..jaxpr import Atom, Jaxpr, JaxprEqn, Var
from ..runtime.array import Array
from ..tree_util import tree_leaves

Mask = Any  # a numpy array of bools: which elements of an array of keys
_ALL: Mask = np.True_


class Signature(NamedTuple):
    """The effect of a program on keys, by the numbers of its operands and results."""

    sinks: Mapping[int, Mask]  # operand -> which of its elements are consumed
    sources: frozenset[int]  # the results that are new keys
    forwards: Mapping[int, int]  # result -> the operand that it is, in another form


class _Use(NamedTuple):
    """Which elements of an array of keys were consumed, and the line that did so last."""

    mask: Mask
    where: SourceInfo


def is_key(aval: Any) -> bool:
    """Return whether values of this type are random keys."""
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and dtypes.issubdtype(dtype, dtypes.prng_key)


# --- the signatures of primitives ---------------------------------------------------------------------------


def _fixed(sinks: Sequence[int] = (), sources: Sequence[int] = (), forwards: Sequence[int] = ()) -> Any:
    made = Signature(dict.fromkeys(sinks, _ALL), frozenset(sources), dict.fromkeys(forwards, 0))
    return lambda eqn: made


def _unknown(eqn: JaxprEqn) -> Signature:
    """Return the signature of a primitive without a rule: it consumes all its keys."""
    return Signature({i: _ALL for i, x in enumerate(eqn.invars) if is_key(x.aval)}, frozenset(), {})


def _slice(eqn: JaxprEqn) -> Signature:
    """Return the signature of slicing: it consumes the elements that it copies, and the slice has new keys."""
    starts, limits = eqn.params["start_indices"], eqn.params["limit_indices"]
    strides = eqn.params["strides"] or (1,) * len(starts)
    mask = np.zeros(eqn.invars[0].aval.shape, bool)
    mask[tuple(map(slice, starts, limits, strides))] = True
    return Signature({0: mask}, frozenset([0]), {})


def _concatenate(eqn: JaxprEqn) -> Signature:
    if len(eqn.invars) == 1:
        return Signature({}, frozenset(), {0: 0})
    return Signature(dict.fromkeys(range(len(eqn.invars)), _ALL), frozenset([0]), {})


def _unstack(eqn: JaxprEqn) -> Signature:
    return Signature({0: _ALL}, frozenset(range(len(eqn.outvars))), {})


def _call(eqn: JaxprEqn) -> Signature:
    return signature(eqn.params["jaxpr"])


def _cond(eqn: JaxprEqn) -> Signature:
    """Return the signature of `cond`: it consumes what any branch consumes, and a result is a new key if it is new in all branches."""
    branches = [signature(branch) for branch in eqn.params["branches"]]
    sinks: dict[int, Mask] = {}
    for branch in branches:
        for i, mask in branch.sinks.items():
            sinks[i + 1] = np.logical_or(sinks.get(i + 1, np.False_), mask)
    forwards = set.intersection(*[set(branch.forwards.items()) for branch in branches])
    sources = frozenset.intersection(*[branch.sources for branch in branches])
    return Signature(sinks, sources, {result: operand + 1 for result, operand in forwards})


_IN_A_LOOP = (
    "\n\nThe body of a loop runs more than once, and would use the same key each time. Carry a key through the loop, "
    "and split it in\nthe body: `key, subkey = random.split(key)`; or make a key for each step: "
    "`random.fold_in(key, i)`."
)


def _scan(eqn: JaxprEqn) -> Signature:
    body = signature(eqn.params["jaxpr"])
    consts, carried = eqn.params["num_consts"], eqn.params["num_carry"]
    start = "scan body function leads to key reuse when repeatedly executed, because "
    if any(i < consts for i in body.sinks):
        raise KeyReuseError(f"{start}key constants are repeatedly consumed:{_IN_A_LOOP}{_at(eqn)}")
    if not {i - consts for i in body.sinks if i < consts + carried} <= body.sources:
        raise KeyReuseError(f"{start}consumed inputs don't match sourced outputs:{_IN_A_LOOP}{_at(eqn)}")
    return body


def _while(eqn: JaxprEqn) -> Signature:
    test, body = signature(eqn.params["cond_jaxpr"]), signature(eqn.params["body_jaxpr"])
    in_test, in_body = (
        {i - eqn.params[count] for i in program.sinks}
        for program, count in ((test, "cond_nconsts"), (body, "body_nconsts"))
    )
    for name, used in (("cond", in_test), ("body", in_body)):
        if not used <= body.sources:  # a constant has a negative number, so it is not a result
            raise KeyReuseError(
                f"while_loop {name} function leads to key reuse when repeatedly executed: {_IN_A_LOOP}{_at(eqn)}"
            )
    if in_test & in_body:
        raise KeyReuseError(f"while_loop cond and body functions both use the same key: {_IN_A_LOOP}{_at(eqn)}")
    consts = eqn.params["cond_nconsts"]
    sinks = {i + consts: mask for i, mask in body.sinks.items()}
    return Signature(sinks, body.sources, {result: i + consts for result, i in body.forwards.items()})


_NOTHING = _fixed()
_RULES: dict[str, Callable[[JaxprEqn], Signature]] = {
    "random_seed": _fixed(sources=[0]),
    "random_wrap": _fixed(sources=[0]),
    "random_clone": _fixed(sources=[0]),
    "random_fold_in": _fixed(sources=[0]),
    "random_split": _fixed(sinks=[0], sources=[0]),
    "random_bits": _fixed(sinks=[0]),
    "random_gamma": _fixed(sinks=[0]),
    "random_unwrap": _NOTHING,
    "eq": _NOTHING,
    "ne": _NOTHING,
    "debug_callback": _NOTHING,
    "dynamic_update_slice": _fixed(sinks=[1], forwards=[0]),
    "scatter": _fixed(sinks=[2], forwards=[0]),
    "slice": _slice,
    "concatenate": _concatenate,
    "unstack": _unstack,
    "jit": _call,
    "cond": _cond,
    "scan": _scan,
    "while": _while,
} | dict.fromkeys(
    ("broadcast_in_dim", "copy", "stage", "convert_element_type", "reshape", "squeeze", "dynamic_slice", "gather"),
    _fixed(forwards=[0]),
)  # fmt: skip


# --- the signature of a jaxpr -------------------------------------------------------------------------------

_memo: weakref.WeakKeyDictionary[Jaxpr, Signature] = weakref.WeakKeyDictionary()


def signature(jaxpr: Jaxpr) -> Signature:
    """Return the signature of a program. Its operands are the inputs, then the constants.

    Raises:
      KeyReuseError: the program uses a key twice, or would do so in a loop.
    """
    known = _memo.get(jaxpr)
    if known is None:
        known = _memo[jaxpr] = _signature(jaxpr)
    return known


def _signature(jaxpr: Jaxpr) -> Signature:
    uses: dict[Var, _Use] = {}
    same_as: dict[Var, Var] = {}  # a variable -> the earlier variable for the same key
    for eqn in jaxpr.eqns:
        if not any(is_key(x.aval) for x in (*eqn.invars, *eqn.outvars)):
            continue
        of_eqn = _RULES.get(eqn.primitive.name, _unknown)(eqn)
        for i, mask in of_eqn.sinks.items():
            _use_up(eqn, i, mask, uses, same_as)
        for i, var in enumerate(eqn.outvars):
            operand = eqn.invars[of_eqn.forwards[i]] if i in of_eqn.forwards else None
            if isinstance(operand, Var):
                same_as[var] = same_as.get(operand, operand)
            elif i not in of_eqn.sources:
                uses[var] = _Use(_ALL, eqn.source_info)
    inputs = {var: i for i, var in enumerate((*jaxpr.invars, *jaxpr.constvars)) if is_key(var.aval)}
    results = [same_as.get(x, x) if isinstance(x, Var) else None for x in jaxpr.outvars]
    return Signature(
        {i: uses[var].mask for var, i in inputs.items() if var in uses},
        frozenset(i for i, x in enumerate(results) if x and is_key(x.aval) and x not in inputs and x not in uses),
        {i: inputs[x] for i, x in enumerate(results) if x in inputs},
    )


def _use_up(eqn: JaxprEqn, i: int, mask: Mask, uses: dict[Var, _Use], same_as: Mapping[Var, Var]) -> None:
    """Note that an equation consumes its i-th operand; raise KeyReuseError if that was consumed before."""
    operand: Atom = eqn.invars[i]
    if not isinstance(operand, Var) or not is_key(operand.aval) or not np.any(mask):
        return
    var = same_as.get(operand, operand)
    if var is not operand and np.shape(mask) != var.aval.shape:
        mask = _ALL
    before = uses.get(var)
    if before is not None and np.any(np.logical_and(before.mask, mask)):
        raise KeyReuseError(
            f"In {eqn.primitive}, argument {i} is already consumed.{_both(before.where, eqn.source_info)}"
        )
    uses[var] = _Use(mask if before is None else np.logical_or(before.mask, mask), eqn.source_info)


# --- between programs ---------------------------------------------------------------------------------------

_used: dict[int, _Use] = {}  # id of an Array -> its use; the entry is removed when the Array is deleted


def checked(run: Callable[[Sequence[Any]], Any], jaxpr: Jaxpr, name: str) -> Callable[[Sequence[Any]], Any]:
    """Return a function that calls `run`, the program `jaxpr` on leaves, and notes which keys it consumes. Before the
    call, it raises KeyReuseError for a key that an earlier program has consumed; the message calls the program `name`.
    """
    of_program = signature(jaxpr)

    def run_and_note(leaves: Sequence[Any]) -> Any:
        operands = [*leaves, *jaxpr.consts]
        sinks = [(i, operands[i], mask) for i, mask in of_program.sinks.items() if isinstance(operands[i], Array)]
        here = source_info.current()
        for i, x, mask in sinks:
            before = _used.get(id(x))
            if before is not None and np.any(np.logical_and(before.mask, mask)):
                raise KeyReuseError(f"Previously-consumed key passed to {name} at index {i}{_both(before.where, here)}")
        result = run(leaves)
        for _, x, mask in sinks:
            before = _used.get(id(x))
            _note(x, _Use(mask if before is None else np.logical_or(before.mask, mask), here))
        for i, x in enumerate(tree_leaves(result)):
            if not is_key(x.aval) or i in of_program.sources:
                continue
            operand = operands[of_program.forwards[i]] if i in of_program.forwards else None
            use = _Use(_ALL, here) if operand is None else _used.get(id(operand))
            if use is not None and x is not operand:
                _note(x, _Use(use.mask if np.shape(use.mask) == x.shape else np.any(use.mask), use.where))
        return result

    return run_and_note


def _note(x: Array, use: _Use) -> None:
    if id(x) not in _used:
        weakref.finalize(x, _used.pop, id(x), None)
    _used[id(x)] = use


# --- words --------------------------------------------------------------------------------------------------


def _both(first: SourceInfo, second: SourceInfo) -> str:
    return (
        f"\n\nThe key was first used {''.join(_line(first))}\nand is used again {''.join(_line(second))}\n\n"
        "A key gives the same numbers each time. Make new ones, and use each once: `key, subkey = random.split(key)`.\n"
        "Where the same numbers are what you want, say so: `random.clone(key)`."
    )


def _at(eqn: JaxprEqn) -> str:
    return f"\n\nThe loop is {''.join(_line(eqn.source_info))}"


def _line(where: SourceInfo) -> Iterator[str]:
    yield f"at {source_info.summarize(where)}"
    if where.position is not None:
        yield f"\n  {linecache.getline(where.position.file, where.position.line).strip()}"
