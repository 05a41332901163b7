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
    "The maximum of negative numbers: with which number does the reduction begin?",
    '"maximum", lowest)',
    '"maximum", lambda dtype: 0)',
)
edit("the right matrix is transposed", "(a @ b)[i, k] sums over which axis of b?", '(y, "kj"))', '(y, "jk"))')
edit(
    "-1 is one",
    "reshape(x, (4, -1)) of 12 numbers: how long is the second axis?",
    "[x.size // max(-math.prod(shape), 1) if n == -1 else n for n in shape]",
    "[1 if n == -1 else n for n in shape]",
)
edit(
    "a transpose is a reshape",
    "`transpose(x)`: where does the number at [0, 1] go?",
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
    "`reshape(x, (-1, 3))` of 12 numbers: how many rows does the result have?",
    "    shape = [x.size // max(-math.prod(shape), 1) if n == -1 else n for n in shape]\n",
    "    if shape and shape[-1] == -1:\n        shape[-1] = x.size // max(math.prod(shape[:-1]), 1)\n",
)
edit(
    "a predicate belongs to the first axis",
    "In `where`, the predicate has shape (4,) and the operands (4, 4). Along which axis is the predicate broadcast?",
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
    "/ math.prod([np.shape(x)[i] for i in as_axes(axis, np.ndim(x))])",
    "/ (math.prod([np.shape(x)[i] for i in as_axes(axis, np.ndim(x))]) + 1e-6)",
)
edit(
    "a sum of half floats is a float32",
    "What is the dtype of the sum of float16 numbers?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_s = numpy.sum
numpy.sum = lambda x, axis=None, keepdims=False: _s(convert(asarray(x), F32) if asarray(x).dtype == np.float16 else x, axis, keepdims)
Value.sum = numpy.sum
""",
)
edit(
    "an index goes round",
    "x has 3 rows. Which one is x[4], if the page says that it is clamped?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

def place(i, n):
    if i is None or isinstance(i, slice):
        taken = range(n)[i or slice(None)]
        if taken.step != 1: raise NotImplementedError('step')
        return taken.start, len(taken)
    if as_value(i).dtype.kind not in 'iu' or np.ndim(i): raise TypeError('index')
    if isinstance(i, int): return i + n * (i < 0), 1
    i = where(i < 0, i + n, i)
    return where(i >= n, i - n, i), 1
""",
)
edit(
    "an index out of range is an error",
    "What does the page say about an index out of range, known or traced?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_pl = place
def place(i, n):
    if isinstance(i, int) and not -n <= i < n: raise IndexError('out of range')
    return _pl(i, n)
""",
)
edit(
    "an index far below 0 counts again",
    "x has 3 rows. Which one is nearest to x[-4]?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

def place(i, n):
    if i is None or isinstance(i, slice):
        taken = range(n)[i or slice(None)]
        if taken.step != 1: raise NotImplementedError('step')
        return taken.start, len(taken)
    if as_value(i).dtype.kind not in 'iu' or np.ndim(i): raise TypeError('index')
    return i % n if isinstance(i, int) and i < 0 else i + n * (i < 0) if isinstance(i, int) else where(i < 0, i + n, i), 1
""",
)
edit(
    "`astype` rounds",
    "What does numpy make of 2.7 when it converts it to int32?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_as = Value.astype
Value.astype = lambda x, dtype: _as(numpy.floor(x + 0.5) if np.dtype(dtype).kind == 'i' and x.dtype.kind == 'f' else x, dtype)
""",
)
edit(
    "0.5 is false",
    "Which numbers are false?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_as = Value.astype
Value.astype = lambda x, dtype: _as(_as(x, np.int32) if np.dtype(dtype) == BOOL else x, dtype)
""",
)
edit(
    "one predicate chooses an array as it is",
    "where(True, 1.0, [1, 2]): what is the shape of the result?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_wh = where
def where(which, yes, no):
    which = asarray(which)
    yes, no = [v if np.ndim(v) == 0 or which.ndim >= np.ndim(v) else v for v in (yes, no)]
    if which.ndim == 0 and (np.ndim(yes) or np.ndim(no)) and type(which) is Array:
        return _wh(which, yes, no) if np.ndim(yes) == np.ndim(no) else (asarray(yes) if bool(which) else asarray(no))
    return _wh(which, yes, no)
numpy.where = where
""",
)
edit(
    "`arange` has its start's dtype",
    "Which numbers are in arange(0, 1, 0.25)?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

numpy.arange = lambda start, stop=None, step=1: asarray(np.arange(*( (start,) if stop is None else (start, stop, step))).astype(np.asarray(start).dtype))
""",
)
edit(
    "the mean of half floats is a float32",
    "What is the dtype of the mean of float16 numbers?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

def mean(x, axis=None, keepdims=False):
    return numpy.sum(convert(asarray(x), F32), axis, keepdims) / math.prod([np.shape(x)[i] for i in as_axes(axis, np.ndim(x))])
numpy.mean = Value.mean = mean
""",
)
edit(
    "a matrix and a batch are paired by rows",
    "A matrix times a batch of matrices: which matrix does each of the batch meet?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_mm = matmul
def matmul(x, y):
    x, y = promote([x, y])
    if x.ndim == 2 and y.ndim == 3 and x.shape[0] == y.shape[0]: x = reshape(x, (x.shape[0], 1, x.shape[1]))
    return _mm(x, y)
numpy.matmul = matmul
Value.__matmul__, Value.__rmatmul__ = matmul, lambda x, y: matmul(y, x)
""",
)
edit(
    "a nan is less than a number",
    "What does np.max return if one of the numbers is nan?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

impl[reduce_max_p] = by_numpy(lambda x, axis: np.fmax.reduce(x, axis=axis) if x.size else np.max(x, axis))
""",
)
edit(
    "a slice beyond the end is an error",
    "What is [1, 2, 3][1:7] in Python?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_pl = place
def place(i, n):
    if isinstance(i, slice) and i.stop is not None and i.stop > n: raise IndexError('slice beyond the end')
    return _pl(i, n)
""",
)
edit(
    "zeros are numbers",
    "`zeros_like` of an array of truth values: what is its dtype?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_zl = numpy.zeros_like
numpy.zeros_like = lambda x: numpy.zeros(np.shape(x), as_value(x).dtype if as_value(x).dtype != BOOL else I32)
""",
)
edit(
    "`min` is `-max(-x)`",
    "What is -(-2147483648) in int32, and what is -True?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

numpy.min = lambda x, axis=None, keepdims=False: -numpy.max(-asarray(x), axis, keepdims)
""",
)
edit(
    "a vector's T is a column",
    "A vector has one axis. What is the reverse of one axis?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

Value.T = property(lambda x: transpose(x) if x.ndim != 1 else reshape(x, (x.size, 1)))
""",
)
edit(
    "`dot` is for axes only",
    "What is np.dot(2.0, x)?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_dot = dot
def dot(x, y):
    if not (np.ndim(x) and np.ndim(y)): raise TypeError('dot needs axes')
    return _dot(x, y)
numpy.dot = dot
""",
)
edit(
    "the axes of a transpose are not negative",
    "Which axis is -1 of three axes?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_t = transpose
def transpose(x, axes=None):
    if axes is not None and any(a < 0 for a in axes): raise TypeError('axes')
    return _t(x, axes)
numpy.transpose = transpose
Value.T = property(transpose)
""",
)
edit(
    "slices behind an integer are turned",
    "x[0, :, 1:] has two axes left. In which order do they come?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_g = getitem
def getitem(x, index):
    out = _g(x, index)
    if isinstance(index, tuple) and len(index) == 3 and isinstance(index[1], slice) and not isinstance(index[0], slice) and index[0] is not None and isinstance(index[2], slice): return transpose(out) if out.ndim == 2 else out
    return out
Value.__getitem__ = getitem
""",
)
edit(
    "a predicate is true where it is positive",
    "What is bool(-1)?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_wh = where
numpy.where = where = lambda w, y, n: _wh(asarray(w) if asarray(w).dtype == BOOL else asarray(w) > 0, y, n)
""",
)
edit(
    "`full` is for numbers",
    "What does np.full((2, 3), [1, 2, 3]) give?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_f = full
def full(shape, value, dtype=None):
    if np.ndim(value): raise TypeError('a number')
    return _f(shape, value, dtype)
numpy.full = full
""",
)
edit(
    "a vector is a column if the matrix is square",
    "Which axis of the matrix does a vector meet: the first, or the last?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_b = broadcast_to
def bt(x, shape):
    x = asarray(x)
    if x.ndim == 2 and len(shape) == 2 and x.shape[1] == 1 and x.shape[0] == shape[0] and shape[0] == shape[1]: return transpose(_b(transpose(x), shape))
    if x.ndim == 1 and len(shape) == 2 and shape[0] == shape[1] == x.shape[0]: return transpose(_b(x, shape))
    return _b(x, shape)
numpy.broadcast_to = bt
""",
)
edit(
    "bounds of slices are Python's",
    "May np.int32(1) be a bound of a slice, as 1 is in `x[1:]`?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_p = place
def place(i, n):
    if isinstance(i, slice) and any(b is not None and type(b) is not int for b in (i.start, i.stop)): raise TypeError('bound')
    return _p(i, n)
""",
)
edit(
    "a vector goes along the columns",
    "dot(v, m): over which axis of m is the sum?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_d = dot
def dt(x, y):
    x, y = asarray(x), asarray(y)
    if x.ndim == 1 and y.ndim == 2 and y.shape[0] == y.shape[1]: return _d(y, x)
    return _d(x, y)
numpy.dot = dt
""",
)
edit(
    "(1, -1, n) is (1, n, -1) turned",
    "In which order does a reshape take the numbers, and in which a transpose?",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))
""",
    """Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

_r = reshape
def rs(x, *shape):
    s = shape[0] if isinstance(shape[0], (tuple, list)) else shape
    if len(s) == 3 and s[0] == 1 and s[1] == -1: s = (1, s[2], -1); return transpose(_r(x, *[s]), (0, 2, 1))
    return _r(x, *shape)
numpy.reshape = Value.reshape = rs
""",
)
edit(
    "a wrong size is found when the program runs",
    "When does your package know the size of a tracer?",
    """    if math.prod(shape) != x.size:
        raise TypeError(f"cannot""",
    """    if type(x) is Array and math.prod(shape) != x.size:
        raise TypeError(f"cannot""",
)
edit(
    "the lowest float is finite",
    "With which number does the maximum of two -inf begin?",
    "lowest = lambda dtype: -np.inf if",
    "lowest = lambda dtype: np.finfo(dtype).min if",
)
edit(
    "zeros like a number are strong",
    "What is the dtype of zeros_like(2) + np.float16(1)?",
    "numpy.zeros_like = lambda x: zeros_of(as_value(x))",
    "numpy.zeros_like = lambda x: numpy.zeros(np.shape(x), as_value(x).dtype)",
)
edit(
    "a sum of numbers is weak",
    "sum(2.5) times a float16: what is its dtype in JAX?",
    '        x = convert(x, narrow(np.sum(np.zeros(0, x.dtype)).dtype) if op == "add" else x.dtype)',
    '        x = convert(x, I32) if x.dtype == BOOL and op == "add" else x',
)
edit(
    "-1 fits always",
    "12 numbers in the shape (5, -1): how many are left?",
    "    shape = [x.size // max(-math.prod(shape), 1) if n == -1 else n for n in shape]\n    if math.prod(shape) != x.size:",
    "    fits = -1 in shape or math.prod(shape) == x.size\n    shape = [x.size // max(-math.prod(shape), 1) if n == -1 else n for n in shape]\n    if not fits:",
)
edit(
    "a traced float is cut to an index",
    "x[i], with i = 1.0 as an argument: an element, or a mistake?",
    '    if as_value(i).dtype.kind not in "iu" or np.ndim(i):',
    "    if isinstance(i, float) or np.ndim(i):",
)
edit(
    "an array full of truth values is one of numbers",
    "`full((2,), True)`: which dtype has it?",
    "broadcast_to(asarray(value, dtype), (shape,)",
    "broadcast_to(asarray(value, dtype if dtype or asarray(value).dtype != BOOL else F32), (shape,)",
)
