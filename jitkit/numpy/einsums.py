"""einsum: products and sums written as labels of axes.

`einsum("ij,jk->ik", a, b)` names the axes of its operands; labels that are missing after the arrow are summed over. Two
operands at a time are contracted, by one `dot_general`, in the order of `einsum_paths`.

JAX: jax/_src/numpy/einsum.py:_einsum
"""

from __future__ import annotations

import collections
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax
from ..base import edits
from ..core import dtypes
from ..lax.utils import refuse_sharding
from ..pjit.jit import inlined
from . import einsum_paths, path_info
from .contractions import result_type_of
from .util import as_array, check_arraylike

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    _dot_general: Callable[..., Any] = lax.dot_general,
    out_sharding: Any = None,
) -> Any:
    """Return the sums of products over labelled axes.

    Args:
      subscripts: labels of each operand's axes, separated by commas, then `->` and the result's labels; `...` stands
        for any axes. Without an arrow, the result has the axes of `...` and the labels that occur once, in alphabetical order.
        Or the arguments are operands, each followed by a list of ints as labels, and optionally a list for the result.
      operands: arrays.
      optimize: as for `einsum_path`; a word that is not one of its words counts as "auto".
      precision, preferred_element_type, out_sharding: as in `lax.dot_general`.
      _dot_general: the function that multiplies two operands, like `lax.dot_general`; libraries pass their own.

    Raises:
      ValueError: for labels that do not fit the operands.
      NotImplementedError: if `out` is given, or an order that contracts three operands at once.
    """
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.einsum is not supported.{edits.NO_OUT}")
    refuse_sharding("einsum", out_sharding)
    if not isinstance(subscripts, str):
        subscripts, operands = _from_interleaved((subscripts, *operands))
    check_arraylike("einsum", *operands)
    shapes = [np.shape(x) for x in operands]
    inputs, result = _parse(subscripts, shapes)
    path = einsum_paths.order(optimize, inputs, result, _sizes(inputs, shapes))
    return _einsum(list(operands), tuple(inputs), result, tuple(path), precision, preferred_element_type, _dot_general)


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[Any, path_info.PathInfo]:
    """Return the order in which `einsum` would contract these operands, in a form that `optimize` accepts, and a
    description to print.

    Args:
      subscripts, operands: as for `einsum`; of the operands only the shapes are read.
      optimize: "auto": the cheapest order, or with many operands a cheap one; True or "optimal": the cheapest; False: always
        the first two that remain, whose product goes to the end; "branch-all", "branch-2", "branch-1": try all, 2 or 1 pairs for
        each step; "greedy": the pair that frees the most memory; or the order itself.

    Raises:
      ValueError: for labels that do not fit the operands.
      NotImplementedError: for opt_einsum's other searches ("dp", "auto-hq", "random-greedy").
      KeyError: for other words. (For one or two operands no word is refused.)
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _from_interleaved((subscripts, *operands))
    shapes = [np.shape(x) for x in operands]
    inputs, result = _parse(subscripts, shapes)
    sizes = _sizes(inputs, shapes)
    is_search = optimize is None or isinstance(optimize, (bool, str))
    if len(inputs) > 2 and isinstance(optimize, str):
        einsum_paths.check_word(optimize)
    path = einsum_paths.order(optimize, inputs, result, sizes) if is_search else optimize
    return path, path_info.describe(inputs, result, shapes, sizes, path)


@inlined(static_argnames=("inputs", "result", "path", "precision", "preferred_element_type", "_dot_general"))
def _einsum(
    operands: list[Any],
    inputs: tuple[str, ...],
    result: str,
    path: einsum_paths.Path,
    precision: Any,
    preferred_element_type: Any,
    _dot_general: Callable[..., Any],
) -> Any:
    operands = [as_array(x) for x in operands]
    dtype, weak_type = result_type_of("einsum", preferred_element_type, *operands)
    terms = list(zip(operands, inputs, strict=True))
    for step in path:
        chosen = [terms[i] for i in step]
        terms = [term for i, term in enumerate(terms) if i not in step]
        needed = set(result).union(*[labels for _, labels in terms])
        met = "".join(labels for _, labels in reversed(chosen))  # in this order, as opt_einsum does
        kept = "".join(label for label in dict.fromkeys(met) if label in needed) if terms else result
        terms.append((_contract(chosen, kept, dtype, precision, _dot_general), kept))
    [(total, _)] = terms
    return lax._convert_element_type(total, dtype, weak_type)


# --- labels ----------------------------------------------------------------------------------------------------------


def _from_interleaved(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return the labels and the operands of `einsum(a, [0, 1], b, [1, 2], [0, 2])`."""
    operands, lists = args[: len(args) // 2 * 2 : 2], args[1::2]

    def labels(indices: Sequence[Any]) -> str:
        return "".join("..." if i is Ellipsis else _LETTERS[operator.index(i)] for i in indices)

    text = ",".join(map(labels, lists))
    return (f"{text}->{labels(args[-1])}" if len(args) % 2 else text), operands


def _parse(subscripts: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result, one letter per axis. Raise ValueError for labels that do not
    fit the shapes.
    """
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise ValueError(
            f"Number of einsum subscripts, {len(terms)}, must be equal to the number of operands, {len(shapes)}."
        )
    for label in set(text) - set(_LETTERS) - set(".,->"):
        raise ValueError(f"Character '{label}' is not a valid symbol.")
    spare = [label for label in _LETTERS if label not in text]
    missing = [len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes, strict=True)]
    longest = max((n for term, n in zip(terms, missing, strict=True) if "..." in term), default=0)
    widest = max((len(shape) for shape in shapes), default=0)
    dots = "".join(spare[:widest])[widest - max(longest, 0) :]
    inputs: list[str] = []
    for term, n in zip(terms, missing, strict=True):
        if n < 0 or (n > 0 and "..." not in term):
            raise ValueError(
                f"Einstein sum subscript '{term}' does not contain the correct number of indices for operand {len(inputs)}."
            )
        inputs.append(term.replace("...", dots[len(dots) - n :]))
    if arrow:
        return inputs, _checked_result(right.replace("...", dots), inputs)
    counts = collections.Counter("".join(terms).replace(".", ""))
    return inputs, dots + "".join(sorted(label for label, n in counts.items() if n == 1))


def _checked_result(result: str, inputs: Sequence[str]) -> str:
    for label in result:
        if result.count(label) != 1:
            raise ValueError(f"Output character '{label}' appeared more than once in the output.")
        if label not in "".join(inputs):
            raise ValueError(f"Output character '{label}' did not appear in the input{edits.OUTPUT_LETTER}")
    return result


def _sizes(inputs: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """Return the size of each label. An axis of size 1 broadcasts against a larger one of the same label; raise
    ValueError for other different sizes.
    """
    sizes: dict[str, int] = {}
    for number, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        for label, size in zip(labels, shape, strict=True):
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                raise ValueError(
                    f"Size of label '{label}' for operand {number} ({known}) does not match previous terms ({size}).\n"
                    f"A letter has one size wherever it stands; operand {number} has the shape {shape}, with the letters "
                    f"{''.join(labels)}."
                )
    return sizes


# --- one step --------------------------------------------------------------------------------------------------------

_Term = tuple[Any, str]


def _contract(terms: list[_Term], result: str, dtype: Any, precision: Any, dot_general: Callable[..., Any]) -> Any:
    """Return the product of two labelled operands, or a single operand, summed over the labels that are not in
    `result`, with the axes of the result in this order. Raise NotImplementedError for three or more operands.
    """
    if len(terms) == 1:
        x, labels = _sum_and_take_diagonals(terms[0], set(result), dtype)
        return lax.transpose(x, [labels.index(label) for label in result]) if labels != result else x
    if len(terms) != 2:
        raise NotImplementedError(
            "jax.numpy.einsum does not support simultaneous contraction of 3 or more operands. Typically this means "
            "you've passed an unsupported path to the einsum optimize parameter."
        )
    (lhs, rhs) = (_without_ones(terms[i], terms[1 - i]) for i in (1, 0))
    lhs = _sum_and_take_diagonals(lhs, set(result) | set(rhs[1]), dtype)
    rhs = _sum_and_take_diagonals(rhs, set(result) | set(lhs[1]), dtype)
    (x, labels_x), (y, labels_y) = lhs, rhs
    batch = [label for label in result if label in labels_x and label in labels_y]
    summed = sorted(label for label in set(labels_x) & set(labels_y) if label not in result)
    only_x = [label for label in labels_x if label not in (*batch, *summed)]
    only_y = [label for label in labels_y if label not in (*batch, *summed)]
    if "".join([*batch, *only_y, *only_x]) == result:  # in the other order no transpose is needed
        (x, labels_x, only_x), (y, labels_y, only_y) = (y, labels_y, only_y), (x, labels_x, only_x)
    numbers = (
        ([labels_x.index(c) for c in summed], [labels_y.index(c) for c in summed]),
        ([labels_x.index(c) for c in batch], [labels_y.index(c) for c in batch]),
    )
    out = dot_general(x, y, numbers, precision, preferred_element_type=dtype)
    labels = "".join([*batch, *only_x, *only_y])
    return lax.transpose(out, [labels.index(label) for label in result]) if labels != result else out


def _without_ones(term: _Term, other: _Term) -> _Term:
    """Return a term without the axes of size 1 that broadcast against a larger one of the other term."""
    x, labels = term
    sizes = dict(zip(other[1], other[0].shape, strict=True))
    dropped = [i for i, label in enumerate(labels) if x.shape[i] == 1 and sizes.get(label, 1) != 1]
    return lax.squeeze(x, dropped), "".join(label for i, label in enumerate(labels) if i not in dropped)


def _sum_and_take_diagonals(term: _Term, kept: set[str], dtype: Any) -> _Term:
    """Return a term, summed over the labels that are not `kept`, with the diagonal of each label that occurs several times."""
    x, labels = term
    counts = collections.Counter(labels)
    single = sorted(label for label, n in counts.items() if n == 1 and label not in kept)
    if single:
        x = _sum(x, [labels.index(label) for label in single], dtype)
        labels = "".join(label for label in labels if label not in single)
    for label, count in counts.items():
        if count == 1:
            continue
        axes = [i for i, other in enumerate(labels) if other == label]
        x = lax.select(_diagonal_mask(x.shape, axes), x, lax.full_like(x, 0))
        summed = axes[:-1] if label in kept else axes
        x = _sum(x, summed, dtype)
        labels = "".join(other for i, other in enumerate(labels) if i not in summed)
    return x, labels


def _sum(x: Any, axes: list[int], dtype: Any) -> Any:
    if dtypes.result_type(x, dtype) != x.dtype:
        x = x.astype(dtype)
    return lax.reduce_or(x, axes) if x.dtype == np.bool_ else lax.reduce_sum(x, axes)


def _diagonal_mask(shape: tuple[int, ...], axes: Sequence[int]) -> Any:
    """Return True where the indices along all of these axes are equal."""
    part = tuple(shape[axis] for axis in axes)
    indices = [lax.broadcasted_iota(np.dtype("uint32"), part, i) for i in range(len(part))]
    equal = functools.reduce(lax.bitwise_and, map(lax.eq, indices[:-1], indices[1:]))
    return lax.broadcast_in_dim(equal, shape, axes)
