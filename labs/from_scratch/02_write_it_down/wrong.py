"""Wrong versions of rung 02, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "an expression is a tree",
    "A value is used twice. Is it computed twice?",
    "        return outs\n\n    def atom",
    "        self.eqns.append(self.eqns[-1]._replace(outvars=[Var(x.aval) for x in outs]))\n        return outs\n\n    def atom",
)
edit(
    "the result is what was computed last",
    "The function returns (cos(y), x). What does your program return?",
    "        outvars = [self.atom(as_value(x)) for x in outs]",
    "        outvars = self.eqns[-1].outvars * len(outs)",
)
edit(
    "constants are forgotten",
    "The function closes over an array. Where is its value?",
    "        return Jaxpr(variables, self.invars, self.eqns, outvars, values)",
    "        return Jaxpr([], self.invars, self.eqns, outvars, [])",
)
edit(
    "the operands are swapped",
    "In which order are the operands of `x - y`?",
    "Equation(primitive, invars, params",
    "Equation(primitive, invars[::-1], params",
)
edit(
    "the printer leaves types out",
    "What stands after the colon of each variable?",
    '        return " ".join([f"{atom(v) if id(v) in used else \'_\'}:{v.aval}" for v in variables])',
    '        return " ".join([atom(v) if id(v) in used else "_" for v in variables])',
)
edit(
    "the writer never leaves the door",
    "The function raised an error. Who stands at the door now?",
    "    try:\n        return f(*args, **kwargs)\n    finally:\n        door.trace = before",
    "    found = f(*args, **kwargs)\n    door.trace = before\n    return found",
)
edit(
    "an argument that is not used is not an argument",
    "The caller passes two arrays. Into how many variables will they go?",
    "        return Jaxpr(variables, self.invars, self.eqns, outvars, values)",
    """        used = {id(v) for eqn in self.eqns for v in eqn.invars} | set(map(id, outvars))
        return Jaxpr(variables, [v for v in self.invars if id(v) in used], self.eqns, outvars, values)""",
)
edit(
    "what is not returned is not written",
    "Who decides that a result is not needed, and when is it known?",
    "        return Jaxpr(variables, self.invars, self.eqns, outvars, values)",
    """        needed, kept = set(map(id, outvars)), []
        for eqn in reversed(self.eqns):
            if any(id(v) in needed for v in eqn.outvars):
                needed.update(map(id, eqn.invars))
                kept.insert(0, eqn)
        return Jaxpr(variables, self.invars, kept, outvars, values)""",
)
edit(
    "the same operation twice is one equation",
    "The function computes `sin(x)` in two places. How often does Python call your `sin`, and how many equations are that?",
    """        self.eqns.append(Equation(primitive, invars, params, [x.data for x in outs]))
        return outs""",
    """        for eqn in self.eqns:
            if eqn.primitive is primitive and list(map(id, eqn.invars)) == list(map(id, invars)) and eqn.params == params:
                return [Tracer(self, v.aval, v) for v in eqn.outvars]
        self.eqns.append(Equation(primitive, invars, params, [x.data for x in outs]))
        return outs""",
)
edit(
    "an `id` names an object for ever",
    "Python frees an array, and makes another one at the same place. Which of them is in your table?",
    "        return self.constants.setdefault(id(x), (Var(x.aval), x))[0]",
    "        return self.constants.setdefault(id(x), (Var(x.aval), Array(np.array(x)) if type(x) is Array else x))[0]",
)
edit(
    "an array that is passed twice is one argument",
    "`f(x, x)`: how many parameters does f have, and how many variables does its program have?",
    """# >>> print(make_jaxpr(lambda x: 3 - numpy.sqrt(x) * x)(4.0))
""",
    """def make_jaxpr(f, once=make_jaxpr):
    def traced(*args):
        firsts = [next(i for i, y in enumerate(args) if y is x) for x in args]
        kept = sorted(set(firsts))
        return once(lambda *xs: f(*[xs[kept.index(i)] for i in firsts]))(*[args[i] for i in kept])

    return traced


# >>> print(make_jaxpr(lambda x: 3 - numpy.sqrt(x) * x)(4.0))
""",
)
edit(
    "`x > y` is `y < x`",
    "Which primitive does JAX write down for `x > y`, and in which order are its operands?",
    """# >>> print(make_jaxpr(lambda x: 3 - numpy.sqrt(x) * x)(4.0))
""",
    """Value.__gt__, Value.__ge__ = (lambda x, y: numpy.less(y, x)), (lambda x, y: numpy.less_equal(y, x))

# >>> print(make_jaxpr(lambda x: 3 - numpy.sqrt(x) * x)(4.0))
""",
)
edit(
    "an operation that changes nothing needs no equation",
    "Is `x * 1.0` an operation? Who may leave it out, and who has to write it down?",
    """# >>> print(make_jaxpr(lambda x: 3 - numpy.sqrt(x) * x)(4.0))
""",
    """multiply = numpy.multiply
numpy.multiply = Value.__mul__ = lambda x, y: x if isinstance(x, Tracer) and type(y) in (int, float) and y == 1 else multiply(x, y)

# >>> print(make_jaxpr(lambda x: 3 - numpy.sqrt(x) * x)(4.0))
""",
)
edit(
    "after a trace the eager interpreter stands at the door",
    "Who stood at the door before the trace began: always the same one?",
    """    before, door.trace = door.trace, trace
    try:""",
    """    before, door.trace = Eager(), trace
    try:""",
)
edit(
    "six digits are enough",
    "How is 1234567.0 printed, and which number does one read there?",
    'f"{np.asarray(v).item()}:{v.aval}"',
    'f"{np.asarray(v).item():.6}:{v.aval}" if v.dtype == F32 else f"{np.asarray(v).item()}:{v.aval}"',
)
edit(
    "an argument that is not used gets no letter",
    "Which letter names the second argument of `lambda x, y: sin(x)` in JAX?",
    "set(map(id, jaxpr.constvars + jaxpr.invars + operands + jaxpr.outvars))",
    "set(map(id, jaxpr.constvars + operands + jaxpr.outvars))",
)
edit(
    "a result that is a number is a constant",
    "The function returns 2.0. Is that a value that it closed over?",
    "        outvars = [self.atom(as_value(x)) for x in outs]",
    "        outvars = [self.constants.setdefault(id(x), (Var(x.aval), x))[0] if type(x) is Array else self.atom(x) for x in map(as_value, outs)]",
)
edit(
    "arguments keep numpy's dtype",
    "The caller passes float64. Of which dtype is the argument's variable?",
    """        leaves, tree = flatten_values(args)
        return trace_tree(f, tree, [x.aval for x in leaves])[0]""",
    """        leaves, tree = flatten_values(args)
        raw = flatten(args)[0]
        return trace_tree(f, tree, [Aval(x.shape, x.dtype) if isinstance(x, np.ndarray) else v.aval for x, v in zip(raw, leaves)])[0]""",
)
edit(
    "what only an unused result uses is unused",
    "`sin(cos(x))` is not returned. Does an equation use the result of `cos`?",
    """    operands = [v for eqn in jaxpr.eqns for v in eqn.invars]
    names, used = {}, set(map(id, jaxpr.constvars + jaxpr.invars + operands + jaxpr.outvars))""",
    """    operands, live = [], set(map(id, jaxpr.outvars))
    for eqn in reversed(jaxpr.eqns):
        if any(id(v) in live for v in eqn.outvars):
            live |= set(map(id, eqn.invars))
            operands += eqn.invars
    names, used = {}, set(map(id, jaxpr.constvars + jaxpr.invars + operands + jaxpr.outvars))""",
)
edit(
    "there are 676 names",
    "zz is the 676th variable. What is the next one called?",
    """(letters(n // 26) if n >= 26 else "")""",
    "LETTERS[n // 26 % 26] * (n >= 26)",
)
edit(
    "constants of equal bytes are one",
    "Are two arrays with equal bytes equal, if one is of floats and the other of integers?",
    "        return self.constants.setdefault(id(x), (Var(x.aval), x))[0]",
    "        return self.constants.setdefault(np.asarray(x).tobytes(), (Var(x.aval), x))[0]",
)
edit(
    "what is an argument is no constant",
    "The caller passes the array that the function closes over. What if another call passes another one?",
    """# =>   in (d,) }
""",
    """# =>   in (d,) }

def make_jaxpr(f):
    def traced(*args):
        leaves, tree = flatten_values(args)
        raw = flatten(args)[0]
        trace = JaxprTrace([x.aval for x in leaves])
        for r, v in zip(raw, trace.invars):
            if isinstance(r, Array): trace.constants[id(r)] = (v, r)
        flat = Flat(f, tree)
        outs = asked(trace, flat, *trace.tracers)
        j = trace.jaxpr(outs)
        keep = [(v, c) for v, c in zip(j.constvars, j.consts) if v not in j.invars]
        j.constvars, j.consts = [v for v, _ in keep], [c for _, c in keep]
        return j
    return traced
""",
)
edit(
    "an array with one number is a literal",
    "What is the shape of [0.5]?",
    "        if type(x) is Array and x.shape == ():\n            return x\n        if is_dead(x)",
    "        if type(x) is Array and x.size == 1:\n            return x\n        if is_dead(x)",
)
edit(
    "letters are given when a variable is made",
    "The program begins with its constants. Which letter names the first of them?",
    '    lines = [f"{{ lambda {binders(jaxpr.constvars)}',
    '    list(map(atom, jaxpr.invars))\n    lines = [f"{{ lambda {binders(jaxpr.constvars)}',
)
edit(
    "what is only returned is unused",
    "The function returns sin(x) and cos(x). Which of the two does nothing use?",
    "operands + jaxpr.outvars))",
    "operands + jaxpr.outvars[:1]))",
)
edit(
    "arguments are strong",
    "`make_jaxpr(f)(2.0)`: what will `x * h` be, with h a half float?",
    "        return trace_tree(f, tree, [x.aval for x in leaves])[0]",
    "        return trace_tree(f, tree, [Aval(x.shape, x.dtype) for x in leaves])[0]",
)
edit(
    "a function has one program",
    "The same function is traced for arrays of another shape. Which program do you return?",
    "        return trace_tree(f, tree, [x.aval for x in leaves])[0]",
    '        return vars(traced).setdefault("program", trace_tree(f, tree, [x.aval for x in leaves])[0])',
)
edit(
    "a tracer is a variable of whoever traces",
    "A tracer of the outer function is an operand in the inner one. Is its variable one of the inner program's?",
    "invars = [x.data if type(x) is Tracer and x.trace is self else self.atom(x) for x in args]",
    "invars = [x.data if type(x) is Tracer else self.atom(x) for x in args]",
)
edit(
    "what is closed over keeps numpy's dtype",
    "An array of float64 is closed over. Which type has its variable?",
    "        return Array(np.array(x, narrow(np.asarray(x).dtype)), weak_type",
    """        wide = type(door.trace) is JaxprTrace and np.ndim(x)
        return Array(np.array(x, np.asarray(x).dtype if wide else narrow(np.asarray(x).dtype)), weak_type""",
)
