"""Wrong versions of rung 15, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "the derivative of cos is sin",
    "Draw cos between 0 and 1: does it rise?",
    "lambda x, out, t: -t * numpy.sin(x)",
    "lambda x, out, t: t * numpy.sin(x)",
)
edit(
    "only the first operand moves",
    "x * y: what if y moves?",
    "by_partials(P.mul, lambda x, y, out, t: t * y, lambda x, y, out, t: x * t)",
    "by_partials(P.mul, lambda x, y, out, t: t * y, lambda x, y, out, t: x * t * 0.0)",
)
edit(
    "constants move",
    "Which tangent does a value have that does not depend on the argument?",
    "unflatten(flat.out_tree, map(zero_for_none, dots, outs))",
    "unflatten(flat.out_tree, [full(x.shape, 1.0) if t is None else t for t, x in zip(dots, outs, strict=True)])",
)
edit(
    "a maximum moves as all of its operands do",
    "Which of the operands is the maximum, and do the others matter?",
    "    return [out], [numpy.sum(t * is_there, axis) / numpy.sum(is_there, axis)]",
    "    return [out], [numpy.sum(t, axis)]",
)
edit(
    "tangents of two derivatives are mixed up",
    "One derivative is computed within another. Whose tangent is it?",
    "        return x.data if belongs(x, self) else (x, None)",
    "        return x.data if type(x) is Tracer and isinstance(x.trace, JVPTrace) else (x, None)",
)
edit(
    "a loop's tangent is that of its first turn",
    "The tangent of the first turn's result: where does it go in the second?",
    "        return outs, filled(moved, outs)",
    "        return outs, state[1]",
)
edit(
    "if two are largest, the first one moves",
    "maximum(x, y) with x equal to y: if only y moves, does the result?",
    "t * where(x == out, where(y == out, 0.5, 1.0), 0.0)",
    "t * where(x == out, 1.0, 0.0)",
)
edit(
    "what does not move at first never moves",
    "`a, b = b, x * b`: does a move in the first turn? And in the second?",
    "        return outs, filled(moved, outs)\n",
    "        return outs, [t if d is not None or t is None else numpy.zeros_like(t) for t, d in zip(filled(moved, outs), dots, strict=True)]\n",
)
edit(
    "the derivative of abs is 1",
    "Draw abs left of 0: does it rise?",
    "by_partials(P.abs, lambda x, out, t: where(x >= 0, t, -t))",
    "by_partials(P.abs, lambda x, out, t: t)",
)
edit(
    "at 0 abs still falls",
    "abs at 0: in JAX its slope there is that of one side. Of which?",
    "where(x >= 0, t, -t)",
    "where(x > 0, t, -t)",
)
edit(
    "to the power of 0 is flat everywhere",
    "x ** 0 at 0: the rule is y * x ** (y - 1), and JAX has no exception. What does 0 * 0 ** -1 give?",
    "y * x ** (y - 1)",
    "y * x ** where(y == 0, 1, y - 1)",
)
edit(
    "a logarithm needs a little",
    "What is the derivative of log at 1e-5?",
    "by_partials(P.log, lambda x, out, t: t / x)",
    "by_partials(P.log, lambda x, out, t: t / (x + 1e-6))",
)
edit(
    "a root needs a little",
    "What is the derivative of sqrt at 1e-8?",
    "by_partials(P.sqrt, lambda x, out, t: t * (0.5 / out))",
    "by_partials(P.sqrt, lambda x, out, t: t * (0.5 / (out + 1e-6)))",
)
edit(
    "only one operand moves",
    "Both operands of a product move. How does the product?",
    "        moved = [d(*primals, out, t) for d, t in zip(partials, tangents, strict=False) if t is not None]",
    "        moved = [d(*primals, out, t) for d, t in zip(partials, tangents, strict=False) if t is not None][:1]",
)
edit(
    "the larger operand is the second",
    "The operands of a maximum are equal. Whose tangent does it have?",
    "t * where(x == out, where(y == out, 0.5, 1.0), 0.0)",
    "t * where(x == out, 1.0, 0.0)",
)
edit(
    "a maximum moves with the first",
    "Two elements are the largest. What is the tangent of the maximum?",
    "    return [out], [numpy.sum(t * is_there, axis) / numpy.sum(is_there, axis)]",
    "    return [out], [numpy.sum(t * is_there, axis)]",
)
edit(
    "a count needs a little",
    "How many elements are equal to the maximum, at least? Is that ever 0?",
    "    return [out], [numpy.sum(t * is_there, axis) / numpy.sum(is_there, axis)]",
    "    return [out], [numpy.sum(t * is_there, axis) / (numpy.sum(is_there, axis) + 1e-6)]",
)
edit(
    "a quotient needs a little",
    "What is the slope of x / y at y = 0? And is anything added to it elsewhere?",
    "lambda x, y, out, t: t / y, lambda x, y, out, t: -t * (out / y))",
    "lambda x, y, out, t: t / (y + 1e-6), lambda x, y, out, t: -t * (out / (y + 1e-6)))",
)
edit(
    "a conversion keeps the tangent",
    "The value becomes a float16. And its tangent?",
    """# =>   in (f, i) }
""",
    """# =>   in (f, i) }

jvps[convert_p] = lambda primals, tangents, new_dtype, weak_type: (convert_p.bind(*primals, new_dtype=new_dtype, weak_type=weak_type), [tangents[0] if new_dtype.kind == 'f' else None])
""",
)
edit(
    "when a derivative fails, nobody stands at the door",
    "Who stood at the door before the derivative began?",
    """# =>   in (f, i) }
""",
    """# =>   in (f, i) }

def jvp_flat(f, primals, tangents):
    trace = JVPTrace()
    before, door.trace = door.trace, trace
    try: outs = f(*map(trace.join, primals, tangents))
    except BaseException:
        door.trace = Eager()
        raise
    door.trace = before
    return unzip([trace.apart(as_value(x)) for x in outs])
""",
)
edit(
    "closed-over values of a jitted function stand still",
    "The inner function reads x from outside, and x moves. Does the result?",
    """# =>   in (f, i) }
""",
    """# =>   in (f, i) }

def jit_jvp(primals, tangents, jaxpr, name):
    k = len(primals) - len(jaxpr.invars) if False else 0
    return jit_p.bind(*primals, jaxpr=jaxpr, name=name), jit(tangents_of(jaxpr))(primals, [None if (i == 0 and len(primals) > 1 and tangents[1] is not None) else t for i, t in enumerate(tangents)])
jvps[jit_p] = jit_jvp
""",
)
edit(
    "missing tangents are zeros",
    "Two primals, one tangent. How many tangents does the page ask for?",
    """# =>   in (f, i) }
""",
    """# =>   in (f, i) }

_jvp = jvp
def jvp(f, primals, tangents):
    if len(tangents) < len(primals): tangents = (*tangents, *[np.zeros_like(np.asarray(p, np.float32)) for p in primals[len(tangents):]])
    return _jvp(f, primals, tangents)
""",
)
edit(
    "what is at a traced index stands still",
    "x[i] with a traced i: which of the two has a tangent?",
    """# =>   in (f, i) }
""",
    """# =>   in (f, i) }

_ds = jvps[dynamic_slice_p]
jvps[dynamic_slice_p] = lambda primals, tangents, **p: (dynamic_slice_p.bind(*primals, **p), [None]) if any(type(c) is Tracer for c in primals[1:]) else _ds(primals, tangents, **p)
""",
)
edit(
    "a root of 0 is level",
    "How steep is sqrt at 0?",
    """         while_p: while_jvp, scan_p: scan_jvp}""",
    """         while_p: while_jvp, scan_p: scan_jvp}
by_partials(P.sqrt, lambda x, out, t: t * where(out == 0, 0, 0.5 / where(out == 0, 1, out)))""",
)
edit(
    "a logarithm of 0 is level",
    "How steep is log at 0?",
    """         while_p: while_jvp, scan_p: scan_jvp}""",
    """         while_p: while_jvp, scan_p: scan_jvp}
by_partials(P.log, lambda x, out, t: t * where(x == 0, 0, 1 / where(x == 0, 1, x)))""",
)
edit(
    "a negative number has no power",
    "What is the slope of x ** 3.0 at -2?",
    """         while_p: while_jvp, scan_p: scan_jvp}""",
    """         while_p: while_jvp, scan_p: scan_jvp}
by_partials(P.pow, lambda x, y, out, t: t * y * numpy.exp((y - 1) * numpy.log(x)) if False else t * where(x < 0, 0, y * numpy.abs(x) ** (y - 1)), lambda x, y, out, t: t * (out * numpy.log(where(x == 0, 1, x))))""",
)
edit(
    "ties are counted along one axis",
    "A maximum over two axes occurs twice. What is the share of each of the two?",
    """         while_p: while_jvp, scan_p: scan_jvp}""",
    """         while_p: while_jvp, scan_p: scan_jvp}
def max_jvp(primals, tangents, axis):
    [x], [t] = primals, tangents
    out = reduce_max_p(x, axis=axis)
    is_there = convert(x == reshape(out, without(x.shape, axis, ones=True)), x.dtype)
    return [out], [numpy.sum(t * is_there, axis) / (numpy.sum(is_there, axis) if len(axis) == 1 else 1.0)]
jvps[reduce_max_p] = max_jvp""",
)
edit(
    "what moves is kept with the function",
    "h(x, y) is differentiated by x, and later by y. Which operand moves?",
    """         while_p: while_jvp, scan_p: scan_jvp}""",
    """         while_p: while_jvp, scan_p: scan_jvp}
KEPT = {}
def jit_jvp(primals, tangents, jaxpr, name):
    kept = KEPT.setdefault(jaxpr, [t is None for t in tangents])
    tangents = [None if k else t for k, t in zip(kept, tangents)]
    return jit_p.bind(*primals, jaxpr=jaxpr, name=name), jit(tangents_of(jaxpr))(primals, tangents)
jvps[jit_p] = jit_jvp""",
)
edit(
    "a reversed scan's tangents go forward",
    "A scan of two arrays goes from the end. Where do the tangents begin?",
    """    dots, y_dots = scan(moved, filled(dots, carry), (carries, rows, row_dots), length, reverse)""",
    """    dots, y_dots = scan(moved, filled(dots, carry), (carries, rows, row_dots), length, reverse and len(rows) < 2)""",
)
edit(
    "an integer of Python is any tangent",
    "The primal is 1.0, a weak float32; the tangent is 1. What is its dtype?",
    '        if x.dtype.kind != "f" or t.dtype != x.dtype:',
    '        if x.dtype.kind != "f" or t.dtype != x.dtype and not (t.dtype == I32 and t.weak_type):',
)
edit(
    "a jitted function is differentiated equation by equation",
    "b = jit[jaxpr=g] a: how many equations does its derivative have, beside the program?",
    "    return jit_p.bind(*primals, jaxpr=jaxpr, name=name), jit(tangents_of(jaxpr))(primals, tangents)",
    "    return jvp_flat(as_function(jaxpr), primals, tangents)",
)
edit(
    "a truth value moves",
    "Does True have a tangent?",
    '        if x.dtype.kind != "f" or t.dtype != x.dtype:',
    '        if x.dtype.kind in "iu" or t.dtype != x.dtype:',
)
edit(
    "the first primal must be a float",
    "The first primal is 1.5, the second one 2. Is that refused?",
    "    for x, t in zip(xs, dots, strict=True):\n        if x.dtype.kind",
    "    for x, t in [*zip(xs, dots, strict=True)][:1]:\n        if x.dtype.kind",
)
