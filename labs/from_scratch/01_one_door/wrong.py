"""Wrong versions of rung 01, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'the second operand comes first',
    'Which of the two operands does your primitive get first?',
    '        return primitive(*promote(xs, to_float))',
    '        return primitive(*promote(xs[::-1], to_float))',
)
edit(
    '`2 - x` is `x - 2`',
    'Python calls `x.__rsub__(2)` for `2 - x`. What does yours compute?',
    '    setattr(Value, f"__r{name}__", lambda x, y: function(y, x))',
    '    setattr(Value, f"__r{name}__", lambda x, y: function(x, y))',
)
edit(
    'numpy takes the operator',
    'Who is asked first for `numpy_array * yours`, and how can it be told to leave that to you?',
    '    __array_ufunc__ = None  # numpy leaves `np_array + value` to us\n',
    '',
)
edit(
    'float64 stays float64',
    'What is the dtype of what numpy makes of 0.1? And of yours?',
    'NARROW = {np.dtype("float64"): F32, np.dtype("int64"): I32, np.dtype("uint64"): np.dtype("uint32")}',
    'NARROW = {}',
)
edit(
    'an Array shares the memory of its maker',
    'The caller writes into the numpy array. What does your Array hold?',
    '        data = np.array(x, narrow(',
    '        data = np.asarray(x, narrow(',
)
edit(
    'the sine of an integer is an integer',
    'sin(2): which dtype can hold it?',
    'for name, public in ELEMENTWISE.items():\n    setattr(numpy, public, elementwise(name, getattr(np, public), name in (*TO_FLOAT, "div")))',
    'for name, public in ELEMENTWISE.items():\n    by = lambda *xs, f=getattr(np, public): f(*xs).astype(np.result_type(*xs) if xs[0].dtype.kind == "i" else None)\n    setattr(numpy, public, elementwise(name, by if name in TO_FLOAT else getattr(np, public), name == "div"))',
)
