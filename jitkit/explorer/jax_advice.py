"""JAX's sentences on a miss -> the same, each difference with jitkit's advice below it, if any

JAX names the difference, without advice. The advice is that of `misses`, for the types that JAX's sentence names.

JAX: jax/_src/interpreters/partial_eval.py:diff_types
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..core.dtypes import DType
from ..misses import advice, cached, edits
from .jax_words import STATIC, TYPE, UNAVAILABLE, WEAK, Seen, argument_at

_TEXT = re.compile(r"(bool|bf16|(?:f|i|u|c)(?:8|16|32|64|128))\[([\d,]*)\](?:\{weak_type=(?:True|False)\})?")
_NOW = re.compile(r", now .*?Static\(val=(.*?)\) and before ")
_LONG = {"bf": "bfloat", "f": "float", "i": "int", "u": "uint", "c": "complex"}


class _Type(NamedTuple):
    dtype: DType
    shape: tuple[int, ...]
    weak_type: bool


def with_advice(sentences: Sequence[str], now: Seen, earlier: Sequence[Seen]) -> tuple[str, ...]:
    """Return the sentences on the miss `now`, with advice below the differences."""
    lines: list[str] = []
    for sentence in sentences:
        advised = _on_type(sentence, now, earlier) or _on_function(sentence, now, earlier) or _on_static(sentence)
        lines += [sentence, f"    jitkit advises: {advised}"] if advised else [sentence]
    return tuple(lines)


def _on_type(sentence: str, now: Seen, earlier: Sequence[Seen]) -> str:
    found = TYPE.search(sentence)
    if found is None or "input path" in sentence:
        return ""
    name, is_weak = found[1], now.types.get(found[1], "").endswith(WEAK)
    new, old = (_type_of(text, is_weak) for text in found.groups()[1:])
    if new is None or old is None:
        return ""
    if new.shape != old.shape:
        return _on_shapes(name, old, new, now, earlier)
    if new.dtype == old.dtype:
        return (
            "A Python scalar, and what is computed from Python scalars alone, is weakly typed: wrap it in "
            f"jnp.{new.dtype.name}(...) in every call, to share one entry."
        )
    best = min([old, *_others(name, now, earlier)], key=lambda each: advice.loss(each, new))
    return advice.conversion(name, best, new, "the entry" if best is old else f"the entry for {best.dtype.name}")


def _on_shapes(name: str, old: _Type, new: _Type, now: Seen, earlier: Sequence[Seen]) -> str:
    types = (_type_of(seen.types.get(name, "")) for seen in (*earlier, now))
    shapes = {each.shape for each in types if each is not None and len(each.shape) == len(new.shape)}
    if len(shapes) >= advice.MANY:
        return advice.of_many_shapes(name, str(len(shapes)))
    return advice.batches(old.shape, new.shape) or edits.ONE_MORE_SHAPE


def _on_static(sentence: str) -> str:
    found = STATIC.search(sentence)
    value = _NOW.search(sentence) if found else None
    return edits.one_more_static_value(value[1]) if value else ""


def _others(name: str, now: Seen, earlier: Sequence[Seen]) -> Iterator[_Type]:
    """Yield the strong types that a leaf had in earlier misses that differ from this one in nothing else."""
    for seen in reversed(earlier):
        type_ = _type_of(seen.types.get(name, ""))
        if now.distance(seen) == 1 and type_ is not None and not type_.weak_type:
            yield type_


def _on_function(sentence: str, now: Seen, earlier: Sequence[Seen]) -> str:
    found = STATIC.search(sentence)
    if found is None and UNAVAILABLE not in sentence:
        return ""
    for name in [argument_at(found[1], now.parameters)] if found else now.codes:
        code, is_known = now.codes.get(name), any(seen.statics.get(name) == now.statics.get(name) for seen in earlier)
        for seen in reversed([] if code is None or is_known else earlier):
            if code and name in seen.codes and seen.codes[name].body == code.body:
                return cached.define_once(seen.codes[name].place)
    return ""


def _type_of(text: str, is_weak: bool = False) -> _Type | None:
    """Return the type that JAX writes as f32[3,4]; None for others, such as keys and arrays on several devices."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    kind = found[1].rstrip("0123456789")
    dtype = np.dtype(f"{_LONG.get(kind, kind)}{found[1][len(kind) :]}")
    shape = tuple(int(each) for each in found[2].split(",") if each)
    return _Type(dtype, shape, WEAK in text or (is_weak and "weak_type" not in text))
