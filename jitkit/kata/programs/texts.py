"""choices -> programs that write constants as text, for lab 04, and read the text as MLIR does: the numbers' bytes are compared."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..engine.choices import Choices

_DTYPES = ("float32", "int32", "float16", "float64", "complex64", "bool", "int8", "uint16", "int64", "complex128")
_SHAPES = ((), (2,), (3, 2), (70,), (0, 2), (5, 13), (1, 1), (9, 8), (2, 0))
_WAYS = ("{0}", "{0}.T", "{0}[::-1]", "np.asfortranarray({0})", "np.full_like({0}, {0}.flat[0])", "{0}.T[::-1]")
_BITS = ("7fc00001", "ffc00000", "80000000", "00000000", "7f800000", "3f800000", "3dcccccd", "00000001", "7f7fffff")


def constants(choices: Choices) -> str:
    """Return a program that writes constants: arrays of random numbers or bits in several orders in memory, and single numbers,
    among them nan and zeros of both signs.
    """
    lines = [
        "from jitkit.interpreters.mlir_text import dense, scalar_text, tensor_type",
        "from jitkit.kata.programs.texts import read",
        "found = []",
    ]
    for i in range(2):
        dtype, shape = choices.of(_DTYPES), choices.of(_SHAPES)
        numbers = f"np.random.default_rng({choices.below(999)})"
        if dtype == "bool":
            array = f"{numbers}.integers(2, size={shape}).astype(bool)"
        elif choices.chance(40):
            array = f"{numbers}.integers(-9, 9, size={shape}).astype('{dtype}')"
        else:
            array = f"np.frombuffer({numbers}.bytes(np.dtype('{dtype}').itemsize * {_size(shape)}), '{dtype}').reshape({shape})"
        lines.append(f"x{i} = np.asarray({array})")
        way = choices.of(_WAYS) if _size(shape) and shape else "{0}"
        lines.append(f"x = {way.format(f'x{i}')}")
        lines.append("found.append((tensor_type(x.shape, x.dtype), read(dense(x), x.dtype, x.shape)))")
    lines.append(
        f"special = np.frombuffer(bytes.fromhex('{choices.of(_BITS)}')[::-1], '{choices.of(('float32', 'float16'))}')"
    )
    lines.append(
        "found.append([read(scalar_text(x), x.dtype) for x in (*special, *(special.astype('complex64') * np.float32(0.1)))])"
    )
    lines.append("found")
    return "\n".join(lines)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def read(text: str, dtype: Any, shape: tuple[int, ...] = ()) -> str:
    """Return the bytes, in hexadecimal, of the numbers in MLIR text (`1.0`, `dense<[1, 2]>`). If the text has only one number, it is
    repeated for each element of the shape.
    """
    if text.startswith('dense<"'):
        return text[len('dense<"0x') : -len('">')].lower()
    numbers = re.findall(r"\([^)]*\)|[^\[\]()<>,\s]+", text.removeprefix("dense<").removesuffix(">"))
    found = [_number(number, np.dtype(dtype)) for number in numbers]
    size = _size(shape)
    return "".join(found * size if len(found) == 1 else found)


def _number(text: str, dtype: Any) -> str:
    if text.startswith("("):
        half = np.zeros((), dtype).real.dtype
        return "".join(_number(part.strip(), half) for part in text[1:-1].split(","))
    if text.startswith("0x"):
        return bytes.fromhex(text[2:])[::-1].hex()
    values = {"true": True, "false": False}
    value = values[text] if text in values else int(text) if dtype.kind in "iu" else float(text)
    return bytes(np.asarray(value, dtype).tobytes()).hex()
