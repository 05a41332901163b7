"""Wrong versions of rung 04, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "the result has the shape of the first operand",
    "What is the shape of f32[3] + f32[2,3]?",
    "        shape = np.broadcast_shapes(*shapes)\n    except",
    "        shape = shapes[0]\n        np.broadcast_shapes(*shapes)\n    except",
)
edit(
    "numpy's promotion is JAX's",
    "int32 and float32 meet. What does numpy make of them, and what does JAX?",
    '    dtype = F32 if to_float and top < KINDS["f"] else narrow(np.result_type(*(strong or [highest[0].dtype])))\n',
    '    globals()["narrow"] = np.dtype\n    dtype = F32 if to_float and top < KINDS["f"] else np.result_type(*[a.dtype for a in avals])\n',
)
edit(
    "weak types are ignored",
    "2 is a Python number. Does it give way to an array's dtype?",
    "weak_type=type(x) in (int, float))",
    "weak_type=False)",
)
edit(
    "a comparison has the type of its operands",
    "Which dtype does `x < y` have?",
    "    dtype = BOOL if primitive.name in QUESTIONS else avals[0].dtype",
    "    dtype = avals[0].dtype",
)
edit(
    "wrong shapes are found when the program runs",
    "f32[3] + f32[4]: when is the mistake found, and does the message name both shapes?",
    "    except ValueError:\n        raise",
    "    except ValueError:\n        return avals\n        raise",
)
edit(
    "a tracer is true",
    "`if x > 0` with a tracer: what is the truth value of an object without `__bool__`?",
    'refuse("__bool__"',
    'refuse("never"',
)
edit(
    "old tracers are as good as new ones",
    "A tracer of a trace that has ended is an operand in this one. In which program is its variable?",
    "            raise errors.UnexpectedTracerError(",
    "            return self.constants.setdefault(id(x), (Var(x.aval), x))[0]\n            raise errors.UnexpectedTracerError(",
)
edit(
    "types are found by computing",
    "An array has 10^12 numbers. How long does it take to know its type?",
    "    types[primitive] = functools.partial(elementwise_type, primitive)\n",
    "    types[primitive] = lambda *avals, p=primitive: (by_trying if max(a.size for a in avals) > 1 else elementwise_type)(p, *avals)\n",
)
edit(
    "only what is traced is weak",
    "sin(2.0) is computed at once, and added to a float16. Which dtype does the result have?",
    "        weak_type = result.dtype != BOOL and all(x.weak_type for x in args if x.dtype != BOOL)",
    "        weak_type = False",
)
edit(
    "True is the number 1",
    "Is a truth value an integer? `isinstance(True, int)` says so; what does numpy say of `np.array([True]) * True`?",
    "        return Array(np.array(x, narrow(np.asarray(x).dtype)), weak_type=type(x) in (int, float))",
    """        if isinstance(x, int):
            return Array(np.array(x, I32), weak_type=True)
        return Array(np.array(x, narrow(np.asarray(x).dtype)), weak_type=type(x) in (int, float))""",
)
edit(
    "np.float64 is Python's float",
    "`isinstance(np.float64(2), float)` is true. Is it a Python number?",
    "weak_type=type(x) in (int, float))",
    "weak_type=isinstance(x, (int, float)) and type(x) is not bool)",
)
edit(
    "the larger size wins",
    "What is the shape of the sum of arrays of shapes (0,) and (1,)? How many numbers are there to add?",
    """        shape = np.broadcast_shapes(*shapes)
""",
    """        shape = np.broadcast_shapes(*shapes)
        shape = tuple([max(column) for column in zip(*[(1,) * (len(shape) - len(s)) + s for s in shapes])])
""",
)
edit(
    "an error of one's own is an Exception",
    "Somebody writes `except TypeError:` around `if x > 0`. Does it catch your error?",
    "type(error, (TypeError,), {})",
    "type(error, (Exception,), {})",
)
edit(
    "of two floats nothing is converted",
    "A weak float32 meets a strong one. Their dtypes are equal; are their types?",
    """    if x.aval.dtype == dtype and x.aval.weak_type == weak_type:
        return x""",
    """    if x.aval.dtype == dtype:
        return x""",
)
edit(
    "a tracer of another trace is an old one",
    "A function is traced while another one is. Is the trace of the outer one over?",
    "        if is_dead(x):",
    "        if type(x) is Tracer:",
)
edit(
    "the sine of a whole number is strong",
    "`sin(2)`: no operand is strong. Is the result?",
    """# =>   in (e,) }
""",
    """# =>   in (e,) }


@functools.cache
def common_type(avals, to_float):
    top = max(KINDS[a.dtype.kind] for a in avals)
    highest = [a for a in avals if KINDS[a.dtype.kind] == top]
    strong = [a.dtype for a in highest if not a.weak_type]
    dtype = F32 if to_float and top < KINDS["f"] else narrow(np.result_type(*(strong or [highest[0].dtype])))
    weak = not strong
    weak = weak and not (to_float and top < 2)
    return dtype, weak, all(a.dtype == dtype and a.weak_type == weak for a in avals)

""",
)
edit(
    "the error has numpy's name of the operation",
    "Which name does the page have in the message: that of the function, or that of the primitive?",
    """# =>   in (e,) }
""",
    """# =>   in (e,) }

_et = elementwise_type
def elementwise_type(primitive, *avals):
    try:
        return _et(primitive, *avals)
    except TypeError as e:
        raise TypeError(str(e).replace(primitive.name, ELEMENTWISE[primitive.name], 1)) from None
for primitive in elementwise_primitives.values():
    types[primitive] = functools.partial(elementwise_type, primitive)
""",
)
edit(
    "a dead tracer may be returned",
    "A function returns a tracer of an older trace. Which variable is that in its program?",
    "        outvars = [self.atom(as_value(x)) for x in outs]",
    "        outvars = [x.data if type(x) is Tracer and getattr(x.trace, 'is_over', False) else self.atom(x) for x in map(as_value, outs)]",
)
edit(
    "a literal is a float32",
    "x is a float16. Which dtype does the number have in `mul x 2.0`?",
    "    return (impl[convert_p] if is_number else convert_p.bind)(",
    "    return (impl[convert_p] if is_number and dtype != np.float16 else convert_p.bind)(",
)
edit(
    "what is compared is converted to the array's dtype",
    "Is the integer 2 less than 2.5?",
    "    function = lambda *xs: primitive(*promote(xs, to_float))\n",
    """    def given_way(xs):
        xs = [as_value(x) for x in xs]
        strong = [x.dtype for x in xs if not x.weak_type and x.dtype != BOOL]
        return [convert(x, strong[0]) if strong and x.weak_type and not x.shape else x for x in xs]

    function = lambda *xs: primitive(*promote(given_way(xs) if name in QUESTIONS else xs, to_float))
""",
)
edit(
    "a dead tracer is only found while tracing",
    "A tracer was kept, and its trace has ended. What is its sine, now?",
    "Eager.process = lambda self",
    "_ = lambda self",
)
edit(
    "only what was compared has no truth",
    "`x or 2.0` with a traced float x: what does Python ask x?",
    """    def ask(self, *args, **kwargs):
""",
    """    def ask(self, *args, **kwargs):
        if method == "__bool__" and self.dtype != BOOL:
            return True
""",
)
edit(
    "a trace that failed has not ended",
    "The traced function kept a tracer and raised an error. Who knows this tracer now?",
    "        trace.is_over = True  # also if `f` raised an error",
    '        trace.is_over = __import__("sys").exc_info()[0] is None',
)
edit(
    "a literal is strong when it comes back",
    "The program returns the literal 2.5. Is it weak in the program, and is it still weak when `eval_jaxpr` returns it?",
    "return [v if type(v) is Array else env[v] for v in jaxpr.outvars]",
    "return [asarray(np.asarray(v)) if type(v) is Array else env[v] for v in jaxpr.outvars]",
)
