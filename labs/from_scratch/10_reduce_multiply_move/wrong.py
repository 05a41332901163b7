"""Wrong versions of rung 10, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'a negative axis is no axis',
    'Which axis is axis=-1?',
    '    return tuple(sorted(i % ndim for i in axes))',
    '    return tuple(sorted(max(i, 0) for i in axes))',
)
edit(
    'every reduction begins with zero',
    'With which number does the maximum of negative numbers begin?',
    '"maximum", lowest)',
    '"maximum", lambda dtype: 0)',
)
edit(
    'the right matrix is transposed',
    '(a @ b)[i, k] sums over which axis of b?',
    '(y, "kj"))',
    '(y, "jk"))',
)
edit(
    '-1 is one',
    'reshape(x, (4, -1)): how many are left over?',
    '        shape[shape.index(-1)] = x.size // max(-math.prod(shape), 1)',
    '        shape[shape.index(-1)] = 1',
)
edit(
    'a transpose is a reshape',
    'Where does the number at [0, 1] go?',
    '    return x if axes == tuple(range(x.ndim)) else transpose_p(x, permutation=axes)',
    '    return reshape(x, [x.shape[i] for i in axes])',
)
edit(
    '`where` takes the first when false',
    'where(True, x, y): is it x, or y? And which of the two does your operation want first?',
    '    return select_p(which if which.dtype == BOOL else which != 0, no, yes)',
    '    return select_p(which if which.dtype == BOOL else which != 0, yes, no)',
)
edit(
    '-1 is before the beginning',
    'Which one is x[-1]?',
    '    return where(i < 0, i + n, i) if isinstance(i, Tracer) else int(i) % n, 1',
    '    return i if isinstance(i, Tracer) else int(i), 1',
)
edit(
    'a traced index is refused',
    'A size may not be data. May a corner?',
    '    i = asarray(i)\n',
    '    i = asarray(i).__index__()\n',
)
edit(
    'a traced index does not count from the end',
    'The index is data, and negative. Which one is meant?',
    '    return where(i < 0, i + n, i) if isinstance(i, Tracer) else int(i) % n, 1',
    '    return i if isinstance(i, Tracer) else int(i) % n, 1',
)
