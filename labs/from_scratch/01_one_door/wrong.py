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
    "Who is asked first for `numpy_array * yours`, and how can it be told to leave that to you?",
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
