"""Wrong versions of rung 01, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "the second operand comes first",
    "Which of the two operands does your primitive get first?",
    "lambda *xs: primitive(*promote(xs, to_float))",
    "lambda *xs: primitive(*promote(xs[::-1], to_float))",
)
edit(
    "`2 - x` is `x - 2`",
    "Python calls `x.__rsub__(2)` for `2 - x`. What does yours compute?",
    '    setattr(Value, f"__r{name}__", lambda x, y: function(y, x))',
    '    setattr(Value, f"__r{name}__", lambda x, y: function(x, y))',
)
edit(
    "numpy takes the operator",
    "Whose operator does Python ask first for `numpy_array * yours`, and how can numpy's be told to leave that to yours?",
    "    __array_ufunc__ = None  # numpy leaves `np_array + value` to us\n",
    "",
)
edit(
    "float64 stays float64",
    "Which dtype does numpy give to 0.1? And your package?",
    'narrow = lambda dtype: np.dtype(np.dtype(dtype).str.replace("8", "4"))',
    "narrow = lambda dtype: np.dtype(dtype)",
)
edit(
    "an Array shares the memory of its maker",
    "The caller writes into the numpy array. What does your Array hold?",
    "        return Array(np.array(x, narrow(",
    "        return Array(np.asarray(x, narrow(",
)
edit(
    "the sine of an integer is an integer",
    "sin(2): which dtype can hold it?",
    "    impl[primitive] = by_numpy(getattr(np, public))\n    function = lambda *xs: primitive(*promote(xs, to_float))",
    '    by = getattr(np, public)\n    impl[primitive] = by_numpy(lambda *xs: by(*xs).astype(xs[0].dtype) if name in TO_FLOAT else by(*xs))\n    function = lambda *xs: primitive(*promote(xs, name == "div"))',
)
edit(
    "`==` asks whether two arrays are equal",
    "What does numpy answer to `[1, 2] == [1, 3]`: one truth value, or two?",
    """# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
    """Value.__eq__ = lambda x, y: bool(np.array_equal(np.asarray(x), np.asarray(y)))

# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
)
edit(
    "a floor is an integer",
    "Which dtype does `np.floor` of a float32 have?",
    """# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
    """numpy.floor = lambda x: asarray(np.floor(np.asarray(as_value(x))).astype(np.int32))

# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
)
edit(
    "`expm1(x)` is `exp(x) - 1`",
    "What is `exp(1e-6) - 1` in float32, and what is it really?",
    """# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
    """numpy.expm1 = lambda x: numpy.exp(x) - 1

# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
)
edit(
    "`log1p(x)` is `log(1 + x)`",
    "How much of 1e-6 is left in `1 + 1e-6`, in float32?",
    """# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
    """numpy.log1p = lambda x: numpy.log(1 + as_value(x))

# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
)
edit(
    "`-x` is `0 - x`",
    "What is 1 divided by -x, for x = 0.0?",
    """# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
    """numpy.negative = Value.__neg__ = lambda x: numpy.subtract(0, x)

# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
)
edit(
    "floats that are close are equal",
    "Is 1.000001 equal to 1.0? If it were, what would `1.0 < 1.000001` be?",
    """# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
    """numpy.equal = Value.__eq__ = lambda x, y: as_value(np.isclose(*map(np.asarray, promote((x, y)))))

# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
)
edit(
    "a nan is passed over by a maximum",
    "What is the larger one of nan and 1, by numpy's `maximum`?",
    """# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
    """impl[elementwise_primitives['max']] = by_numpy(np.fmax)

# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
)
edit(
    "an array is true if a number in it is",
    "x has two numbers, and one of them is 0. What does numpy do at `if x:`?",
    """# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
    """Array.__bool__ = lambda self: bool(np.asarray(self).any())

# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
)
edit(
    "`x += 1` changes x",
    "After `y = x; y += 1`: what is x?",
    """# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
    """def add_in_place(self, other):
    self.data = np.asarray(self + other)
    return self


Array.__iadd__ = add_in_place

# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
)
edit(
    "powers are floats",
    "What is the dtype of 2 ** 3, and what is that of np.int32([2]) ** np.int32([3])?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

_pow = numpy.power
numpy.power = lambda x, y: _pow(*promote([x, y], True))
Value.__pow__ = numpy.power
Value.__rpow__ = lambda x, y: numpy.power(y, x)
""",
)
edit(
    "comparisons take the first operand's dtype",
    "Is 1 less than 1.5? Of which dtype are the two numbers when you compare them?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

for _n, _p in QUESTIONS.items():
    setattr(numpy, _p, lambda x, y, f=getattr(numpy, _p): f(x, asarray(y, as_value(x).dtype)))
    setattr(Value, f'__{_n}__', getattr(numpy, _p))
""",
)
edit(
    "a string of digits is a number",
    "What does `np.asarray('1.5', np.float32)` return, and is that what the page says?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

_av = as_value
def as_value(x):
    try:
        return _av(x)
    except TypeError:
        if isinstance(x, str):
            try:
                return Array(np.asarray(float(x), np.float32))
            except ValueError:
                raise TypeError('no number') from None
        raise
""",
)
edit(
    "True + True is 2",
    "Which dtype does numpy give to np.array([True]) + np.array([True])?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

_add = numpy.add
numpy.add = lambda x, y: _add(*[convert(as_value(v), I32) if as_value(v).dtype == BOOL else v for v in (x, y)])
Value.__add__ = numpy.add
""",
)
edit(
    "`int` rounds",
    "What is `int(2.7)` in Python?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

Array.__int__ = lambda self: round(float(np.asarray(self)))
""",
)
edit(
    "None is nan",
    "What does `np.asarray(None, np.float32)` return?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

_av = as_value
as_value = lambda x: Array(np.asarray(np.nan, np.float32)) if x is None else _av(x)
""",
)
edit(
    "`<=` is not `>`",
    "Is a nan less than or equal to 1? Is it greater?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

impl[elementwise_primitives['le']] = by_numpy(lambda x, y: ~(x > y))
""",
)
edit(
    "`!=` is less or greater",
    "Is a nan less than 1, or greater? And is it equal?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

impl[elementwise_primitives['ne']] = by_numpy(lambda x, y: (x < y) | (x > y))
""",
)
edit(
    "a function of truth values is refused",
    "What does numpy make of np.sin(True), and what is its dtype here?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

_sin = numpy.sin
def sin_(x):
    if as_value(x).dtype == BOOL: raise TypeError('truth value')
    return _sin(x)
numpy.sin = sin_
""",
)
edit(
    "two numbers of Python give a number",
    "What does the page say about the result of a function whose operands are both Python numbers?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

_add = numpy.add
numpy.add = lambda x, y: x + y if type(x) in (int, float) and type(y) in (int, float) else _add(x, y)
""",
)
edit(
    "the power of a negative number is nan",
    "What is (-2) ** 3? Does -2 have a logarithm?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

impl[elementwise_primitives['pow']] = by_numpy(lambda x, y: np.exp(y * np.log(x)).astype(np.result_type(x, y)) if np.result_type(x, y).kind == 'f' else np.power(x, y))
""",
)
edit(
    "numbers of two dtypes are never equal",
    "Is the int32 3 equal to the float32 3.0?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

_e = numpy.equal
numpy.equal = lambda x, y: _e(x, y) if as_value(x).dtype == as_value(y).dtype or as_value(y).weak_type else _e(x, y) & False
""",
)
edit(
    "True is the number 1",
    "What is the dtype of np.asarray(True)?",
    """# => Array([ 1. -1.], dtype=float32)
""",
    """# => Array([ 1. -1.], dtype=float32)

_a = asarray
def asarray(x, dtype=None):
    if type(x) is bool: return _a(int(x))
    return _a(x, dtype)
numpy.asarray = numpy.array = asarray
""",
)
edit(
    "uint64 stays uint64",
    "Which dtypes have 64 bits?",
    'narrow = lambda dtype: np.dtype(np.dtype(dtype).str.replace("8", "4"))',
    'narrow = lambda dtype: np.dtype({"float64": "float32", "int64": "int32"}.get(np.dtype(dtype).name, dtype))',
)
edit(
    "`abs(x)` is `-x` where x < 0",
    "Is -0.0 less than 0?",
    "numpy.array, numpy.asarray, Value.astype = asarray, asarray, asarray\n",
    """numpy.array, numpy.asarray, Value.astype = asarray, asarray, asarray
impl[elementwise_primitives["abs"]] = by_numpy(lambda x: np.where(x < 0, -x, x).astype(x.dtype))
""",
)
edit(
    "`logical_and` asks whether the product is 0",
    "What is 1e-30 * 1e-30 in float32?",
    "numpy.array, numpy.asarray, Value.astype = asarray, asarray, asarray\n",
    "numpy.array, numpy.asarray, Value.astype = asarray, asarray, asarray\nnumpy.logical_and = lambda x, y: truth(numpy.multiply(x, y))\n",
)
edit(
    "`logical_or` asks whether the sum is 0",
    "What is 1 + -1?",
    "numpy.array, numpy.asarray, Value.astype = asarray, asarray, asarray\n",
    "numpy.array, numpy.asarray, Value.astype = asarray, asarray, asarray\nnumpy.logical_or = lambda x, y: truth(numpy.add(x, y))\n",
)
edit(
    "a power of whole numbers is a rounded float",
    "How many digits of 7**9 does a float32 have?",
    "numpy.array, numpy.asarray, Value.astype = asarray, asarray, asarray\n",
    """numpy.array, numpy.asarray, Value.astype = asarray, asarray, asarray
impl[elementwise_primitives["pow"]] = by_numpy(
    lambda x, y: np.power(x, y) if x.dtype.kind == "f" else np.rint(np.power(x.astype("f"), y.astype("f"))).astype(x.dtype)
)
""",
)
edit(
    "of two floats the first has the dtype",
    "float16 + float32: can a float16 hold the sum?",
    "narrow(np.result_type(*(strong or [highest[0].dtype])))",
    "narrow((strong or [highest[0].dtype])[0])",
)
edit(
    "what cannot be compared is not less",
    "Can an array be less than None? What does `[1, 2] < None` say in Python?",
    "    function = lambda *xs: primitive(*promote(xs, to_float))\n",
    """    is_number = lambda x: isinstance(x, (Value, bool, int, float, np.ndarray, np.generic))
    function = lambda *xs: (
        primitive(*promote(xs, to_float)) if name not in QUESTIONS or all(map(is_number, xs)) else Array(np.array(False)))
""",
)
edit(
    "small integers give half floats",
    "What is the dtype of numpy's sine of an int8, and what is that of yours?",
    '    dtype = F32 if to_float and top < KINDS["f"] else',
    '    dtype = F32 if to_float and top < KINDS["f"] and (top == 0 or any(a.dtype.itemsize > 1 for a in avals)) else',
)
edit(
    "an unsigned number has a negative",
    "What is -200 as a uint8?",
    "    impl[primitive] = by_numpy(getattr(np, public))\n",
    """    impl[primitive] = by_numpy(
        (lambda x: np.maximum(x, -x) if x.dtype.kind == "u" else np.abs(x)) if name == "abs" else getattr(np, public))
""",
)
edit(
    "an array without axes is no array that changes",
    "`x = np.array(1.5)`, `y = asarray(x)`, `x[...] = 7.0`: what is y now?",
    "        return Array(np.array(x, narrow(np.asarray(x).dtype)), weak_type=type(x) in (int, float))\n",
    "        copy = np.array if np.ndim(x) else np.asarray\n        return Array(copy(x, narrow(np.asarray(x).dtype)), weak_type=type(x) in (int, float))\n",
)
edit(
    "an unsigned integer makes a half float a float",
    "What is the dtype of uint16 times float16?",
    "    highest = [a for a in avals if KINDS[a.dtype.kind] == top]\n",
    '    highest = [a for a in avals if KINDS[a.dtype.kind] == top or a.dtype.kind == "u"]\n',
)
edit(
    "a number of numpy's is Python's",
    "np.float32(2) times two half floats: which dtype has the product?",
    "weak_type=type(x) in (int, float))",
    "weak_type=np.ndim(x) == 0 and np.asarray(x).dtype != BOOL)",
)
edit(
    "an array with one number is a number",
    "What is float(x) for an x of shape (1, 1)?",
    'getattr(np.broadcast_to(x, x.shape if name == "__bool__" else ()), name)()',
    "getattr(np.asarray(x).item() if x.size == 1 else np.asarray(x), name)()",
)
edit(
    "an absolute value is the root of a square",
    "abs(-1e30): how large is its square?",
    """# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
    """impl[elementwise_primitives["abs"]] = by_numpy(lambda x: np.sqrt(x * x).astype(x.dtype))

# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
)
edit(
    "integers stop at the largest one",
    "2147483647 + 1 in int32?",
    """# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
    """whole = lambda x, y: x.astype("int64") + y.astype("int64")
within = lambda x, y: np.clip(whole(x, y), np.iinfo(x.dtype).min, np.iinfo(x.dtype).max).astype(x.dtype)
impl[elementwise_primitives["add"]] = by_numpy(lambda x, y: within(x, y) if x.dtype.kind in "iu" else x + y)

# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
""",
)
edit(
    "two integers are divided by Python",
    "divide(1, 0) is infinite in numpy. And in Python?",
    """    xs = [x if isinstance(x, Value) else as_value(x) for x in xs]
    dtype""",
    """    if to_float and len(xs) == 2 and all(type(x) is int for x in xs):
        xs = [xs[0] / xs[1], 1.0]
    xs = [x if isinstance(x, Value) else as_value(x) for x in xs]
    dtype""",
)
