"""Wrong versions of rung 20, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "only the last one is dead",
    "A dead equation is removed. Does any equation still read what only that one read?",
    "    needed, eqns = {v for v in jaxpr.outvars if type(v) is not Array}, []\n",
    """    read = [v for eqn in jaxpr.eqns for v in eqn.invars]
    needed, eqns = {v for v in [*read, *jaxpr.outvars] if type(v) is not Array}, []
""",
)
edit(
    "nothing is dead",
    "Which equations of a program does its result depend on?",
    "passes = [functools.partial(rewritten, Thrifty), without_dead]",
    "passes = [functools.partial(rewritten, Thrifty)]",
)
edit(
    "each equation is another one",
    "The same primitive, with the same parameters, on the same variables. Can its result be another one?",
    "        if key not in self.known:\n",
    "        if True:\n",
)
edit(
    "parameters do not count",
    "One equation converts x to an int32, another one converts x to an int8. Are their results the same?",
    ", tuple(sorted(params.items()))\n",
    "\n",
)
edit(
    "operands are a set",
    "x - y and y - x have the same operands. Are their results the same?",
    "        key = primitive, tuple(map(identity, args))",
    "        key = primitive, frozenset(map(identity, args))",
)
edit(
    "x * 1 is computed",
    "What is x * 1, for every x that there is?",
    '    **dict.fromkeys(("mul", "div", "pow")',
    '    **dict.fromkeys(("pow",)',
)
edit(
    "x + 0.0 is x",
    "What is -0.0 + 0.0, and 1 divided by that?",
    "math.copysign(1, n) < 0 if is_float else True",
    "True",
)
edit(
    "x - x is 0",
    "What is inf - inf?",
    "    if primitive in (convert_p, broadcast_p):\n",
    """    if primitive.name == "sub" and args[0] is args[1]:
        return broadcast_p(convert_p(np.float32(0) * Array(np.zeros((), aval.dtype)), new_dtype=aval.dtype, weak_type=False), shape=aval.shape)
    if primitive in (convert_p, broadcast_p):
""",
)
edit(
    "equal numbers are the same",
    "Python says that 0.0 == -0.0. What is 1 divided by each of them?",
    "    return (x.aval, np.asarray(x).tobytes()) if",
    "    return (x.aval, np.asarray(x).item()) if",
)
edit(
    "numbers are computed when it runs",
    "Both operands are numbers, now and at every call. When can the result be known?",
    "        if primitive in formulas and aval.shape == () and all(",
    "        if primitive is convert_p and all(",
)
edit(
    "types do not count",
    "A weak float32 as a float32 has the same numbers. What happens when it meets a float16?",
    "        return args[0] if args[0].aval == aval else None\n",
    "        return args[0] if args[0].aval[:2] == aval[:2] else None\n",
)
edit(
    "only `optimise` optimises",
    "`optimise` makes a smaller program. Which one do you compile?",
    "core.optimise = optimise\n",
    """

def alone(jaxpr, chosen=passes):
    global passes
    before, passes = passes, chosen
    try:
        return optimise(jaxpr)
    finally:
        passes = before


core.optimise, passes = alone, [functools.partial(rewritten, Inliner)]
""",
)
edit(
    "x / x of a number is 1",
    "What is nan / nan, and inf / inf?",
    "    if primitive in (convert_p, broadcast_p):\n",
    """    if primitive.name == "div" and args[0] is args[1] and aval.shape == ():
        return Array(np.ones((), aval.dtype), aval)
    if primitive in (convert_p, broadcast_p):
""",
)
edit("-1 is as good as 1", "What is x * -1?", "lambda n, is_float: n == 1)}", "lambda n, is_float: abs(n) == 1)}")
edit(
    "a constant that nobody needs goes",
    "A program's constants are handed over by whoever runs it. How would they know that one constant is gone?",
    "    return Jaxpr(whole.invars[: len(consts)], whole.invars[len(consts) :], whole.eqns, whole.outvars, consts)\n",
    """    read = {v for eqn in whole.eqns for v in eqn.invars if type(v) is not Array}
    kept, n = [i for i, _ in enumerate(consts) if whole.invars[i] in read], len(consts)
    return Jaxpr([whole.invars[i] for i in kept], whole.invars[n:], whole.eqns, whole.outvars, [consts[i] for i in kept])
""",
)
edit(
    "a number is its value",
    "where(p, 1, 2) and where(p, 1.0, 2.0): are these one equation?",
    "    return (x.aval, np.asarray(x).tobytes()) if type(x) is Array else x.data",
    "    return (x.shape, float(np.asarray(x)), math.copysign(1, float(np.asarray(x)))) if type(x) is Array else x.data",
)
edit(
    "a weak number is a strong one",
    "where(p, 1.0, 2.0) is weak, and where(p, float32(1), float32(2)) is not. Are these one equation?",
    "    return (x.aval, np.asarray(x).tobytes()) if type(x) is Array else x.data",
    "    return (x.dtype, np.asarray(x).tobytes()) if type(x) is Array else x.data",
)
edit(
    "a conversion there and back is nothing",
    "1.1 becomes a float16, and a float32 again. Is it 1.1?",
    "core.optimise = optimise",
    """process_of_thrifty = Thrifty.process


def process(self, primitive, args, params):
    if primitive is not convert_p or type(args[0]) is Array:
        return process_of_thrifty(self, primitive, args, params)
    sources = self.__dict__.setdefault("sources", {})
    [out] = process_of_thrifty(self, primitive, args, params)
    source, _ = sources.get(id(args[0]), (None, None))
    if source is not None and source.aval == out.aval:
        return [source]
    sources[id(out)] = args[0], out
    return [out]


Thrifty.process = process
core.optimise = optimise""",
)
edit(
    "a number times 0 is 0",
    "What is nan * 0.0, where nan is a number without axes?",
    "core.optimise = optimise",
    """unchanged_of_thrifty = unchanged


def unchanged(primitive, args, aval):
    if primitive.name == "mul" and aval.shape == () and type(args[1]) is Array and np.asarray(args[1]).item() == 0:
        return args[1]
    return unchanged_of_thrifty(primitive, args, aval)


core.optimise = optimise""",
)
edit(
    "numbers are computed with more digits",
    "How many digits of 2**24 + 1 does a float32 hold?",
    "            return impl[primitive](*args, **params)\n        if not more",
    """            if primitive.name in ("add", "sub") and aval.dtype == F32:
                one, other = [getattr(x, "exact", np.asarray(x).item()) for x in args]
                found = Array(np.asarray(one + other if primitive.name == "add" else one - other, "f"), None, aval.weak_type)
                found.exact = one + other if primitive.name == "add" else one - other
                return [found]
            return impl[primitive](*args, **params)
        if not more""",
)
edit(
    "whole numbers have no end",
    "2**31 - 1 + 1: what does an int32 make of it?",
    "            return impl[primitive](*args, **params)\n        if not more",
    """            if primitive.name == "add" and aval.dtype == I32:
                found = sum(np.asarray(x).item() for x in args)
                return [Array(np.asarray(max(min(found, 2**31 - 1), -(2**31)), I32), None, aval.weak_type)]
            return impl[primitive](*args, **params)
        if not more""",
)
edit(
    "a call within a call stays",
    "A jitted function calls another one. When the outer call is replaced by its equations, what becomes of the inner call?",
    """        if primitive in inlined:
            return super().process(primitive, args, params)
        [aval""",
    """        if primitive in inlined and getattr(self, "is_within", False):
            return JaxprTrace.process(self, primitive, args, params)
        if primitive in inlined:
            self.is_within = True
            try:
                return super().process(primitive, args, params)
            finally:
                self.is_within = False
        [aval""",
)
edit(
    "functions of numbers are computed in double",
    "A sine of a float32: how many of its digits does the program compute?",
    """            return impl[primitive](*args, **params)
        if not more""",
    """            if primitive.name in TO_FLOAT:
                exact = getattr(np, ELEMENTWISE[primitive.name])(np.asarray(args[0]).astype(float))
                return [Array(np.asarray(exact, aval.dtype), aval)]
            return impl[primitive](*args, **params)
        if not more""",
)
edit(
    "a nan is never the same number",
    "nan == nan is False. Is x - nan another number each time?",
    "    return (x.aval, np.asarray(x).tobytes()) if type(x) is Array else x.data",
    "    return (x.aval, np.asarray(x).item()) if type(x) is Array and np.asarray(x).item() != 0 else (x.aval, np.asarray(x).tobytes()) if type(x) is Array else x.data",
)
edit(
    "the program that goes in is made smaller",
    "Who else has the program that you were given?",
    """    return Jaxpr(whole.invars[: len(consts)], whole.invars[len(consts) :], whole.eqns, whole.outvars, consts)


core.optimise""",
    """    jaxpr.__init__(whole.invars[: len(consts)], whole.invars[len(consts) :], whole.eqns, whole.outvars, consts)
    return jaxpr


core.optimise""",
)
edit(
    "questions of the same operands are one",
    "x < y and x > y have the same operands. Are they equal?",
    "        key = primitive, tuple(map(identity, args)), tuple(sorted(params.items()))",
    "        key = primitive.name in ('lt', 'gt', 'le', 'ge') or primitive, tuple(map(identity, args)), tuple(sorted(params.items()))",
)
