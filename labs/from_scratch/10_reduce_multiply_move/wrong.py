"""Wrong versions of rung 10, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "a negative axis is not an axis",
    "Which axis is axis=-1?",
    "    return tuple(np.arange(ndim)[slice(None) if axis is None else np.ravel(axis).astype(int)].tolist())",
    "    return tuple(np.arange(ndim)[slice(None) if axis is None else np.maximum(np.ravel(axis), 0)].tolist())",
)
edit(
    "every reduction begins with zero",
    "With which number does the maximum of negative numbers begin?",
    '"maximum", lowest)',
    '"maximum", lambda dtype: 0)',
)
edit("the right matrix is transposed", "(a @ b)[i, k] sums over which axis of b?", '(y, "kj"))', '(y, "jk"))')
edit(
    "-1 is one",
    "reshape(x, (4, -1)): how many numbers are left for the second axis?",
    "[x.size // max(-math.prod(shape), 1) if n == -1 else n for n in shape]",
    "[1 if n == -1 else n for n in shape]",
)
edit(
    "a transpose is a reshape",
    "Where does the number at [0, 1] go?",
    "    return x if axes == tuple(range(x.ndim)) else transpose_p(x, axes=axes)",
    "    return reshape(x, [x.shape[i] for i in axes])",
)
edit(
    "`where` takes the first operand when the condition is false",
    "where(True, x, y): is it x, or y? And which of the two does your operation want first?",
    "    return select_p(truth(which), yes, no)",
    "    return select_p(truth(which), no, yes)",
)
edit(
    "-1 is an index before the beginning",
    "Which one is x[-1]?",
    "    return i + n * (i < 0) if isinstance(i, int) else where(i < 0, i + n, i), 1",
    "    return i, 1",
)
edit(
    "a traced index is refused",
    "A size may not be data. May an index?",
    "    return i + n * (i < 0) if isinstance(i, int) else where(i < 0, i + n, i), 1",
    "    return i.__index__() % n, 1",
)
edit(
    "a traced index does not count from the end",
    "The index is data, and negative. Which element does it mean?",
    "    return i + n * (i < 0) if isinstance(i, int) else where(i < 0, i + n, i), 1",
    "    return i % n if isinstance(i, int) else i, 1",
)
edit(
    "`dot` is `@`",
    "dot(a, b) of shapes (2, 3, 4) and (2, 4, 5): which shape does numpy give it?",
    "matmul=matmul, dot=dot)",
    "matmul=matmul, dot=matmul)",
)
edit(
    "-1 is the last",
    "`reshape(x, (-1, 3))` of 12 numbers: how many rows?",
    "    shape = [x.size // max(-math.prod(shape), 1) if n == -1 else n for n in shape]\n",
    "    if shape and shape[-1] == -1:\n        shape[-1] = x.size // max(math.prod(shape[:-1]), 1)\n",
)
edit(
    "a predicate belongs to the first axis",
    "The predicate has 4 elements, and what is chosen from is 4 by 4. Along which axis do they decide?",
    "    which, yes, no = [broadcast_to(x, shape) for x in (which, yes, no)]\n",
    "    which = reshape(which, which.shape + (1,) * (len(shape) - which.ndim))\n    which, yes, no = [broadcast_to(x, shape) for x in (which, yes, no)]\n",
)
edit(
    "a maximum of truth values begins with True",
    "The maximum of False and False: with which value do you begin?",
    "else False if dtype == BOOL",
    "else True if dtype == BOOL",
)
edit(
    "a mean needs a little",
    "Of how many numbers is the mean taken? Is it 4, or 4.000001?",
    "/ math.prod([x.shape[i] for i in as_axes(axis, x.ndim)])",
    "/ (math.prod([x.shape[i] for i in as_axes(axis, x.ndim)]) + 1e-6)",
)
