"""Wrong versions of rung 07, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "numpy computes, in the place of XLA",
    "The result is right. Was it computed by XLA, or operation by operation?",
    "impl[jit_p] = lambda *args, jaxpr, name: jaxpr.run(args)",
    "impl[jit_p] = lambda *args, jaxpr, name: as_function(jaxpr)(*args)",
)
edit(
    "keywords are left out",
    "f(x, scale=3.0): where does 3.0 go?",
    "flatten_values((args, kwargs))",
    "flatten_values((args, {}))",
)
edit(
    "results do not stay on the device",
    "The result of one call is passed to another call, or to an eager operation. Of which class must it be?",
    "    return list(map(Array, jaxpr.executable([x.data for x in args]), jaxpr.out_avals))",
    "    return jaxpr.executable([x.data for x in args])",
)
edit(
    "an error leaves the tracer at the door",
    "The traced function raised. Who stands at the door?",
    "    try:\n        return f(*args, **kwargs)\n    finally:\n        door.trace = before",
    "    found = f(*args, **kwargs)\n    door.trace = before\n    return found",
)
edit(
    "results go by way of numpy",
    "The next call needs the buffer that XLA returned. How often do you copy it?",
    "    return list(map(Array, jaxpr.executable([x.data for x in args]), jaxpr.out_avals))",
    "    return list(map(Array, map(np.asarray, jaxpr.executable([x.data for x in args])), jaxpr.out_avals))",
)
edit(
    "constants come last",
    "A program is called with what it closed over, and then with its arguments. In which order does it take them?",
    "variables + jaxpr.invars",
    "jaxpr.invars + variables",
)
edit(
    "keywords go to their parameters in the order of the call",
    "`f(x, shift=y, scale=2)`: who says which of the two is `scale`?",
    "lambda args, kwargs: self.__wrapped__(*args, **kwargs), tree, avals)",
    "lambda args, kwargs: self.__wrapped__(*args, *kwargs.values()), tree, avals)",
)
edit(
    "arguments are strong",
    "`f(2.0) * h` for half floats h: what did `f` know of its argument?",
    """        leaves, tree = flatten_values((args, kwargs))
        consts, jaxpr, out_tree = self.trace(tree, tuple([x.aval for x in leaves]))
        return unflatten(out_tree, jit_p.bind(*consts, *leaves, jaxpr=jaxpr, name=getattr(self, "__name__", "f")))""",
    """        leaves, tree = flatten((args, kwargs))
        leaves = [x if isinstance(x, Value) else as_value(np.asarray(x)) for x in leaves]
        consts, jaxpr, out_tree = self.trace(tree, tuple([x.aval for x in leaves]))
        return unflatten(out_tree, jit_p.bind(*consts, *leaves, jaxpr=jaxpr, name=getattr(self, "__name__", "f")))""",
)
edit(
    "an argument that is returned is the caller's",
    "The caller writes into the array that it passed. What does the result hold?",
    """        leaves, tree = flatten_values((args, kwargs))
        consts, jaxpr, out_tree = self.trace(tree, tuple([x.aval for x in leaves]))
        return unflatten(out_tree, jit_p.bind(*consts, *leaves, jaxpr=jaxpr, name=getattr(self, "__name__", "f")))""",
    """        leaves, tree = flatten_values((args, kwargs))
        consts, jaxpr, out_tree = self.trace(tree, tuple([x.aval for x in leaves]))
        mine = flatten((args, kwargs))[0]
        outs = list(jit_p.bind(*consts, *leaves, jaxpr=jaxpr, name=getattr(self, "__name__", "f")))
        places = {id(v): i for i, v in enumerate(jaxpr.invars[len(consts):])}
        outs = [mine[places[id(v)]] if id(v) in places else out for v, out in zip(jaxpr.outvars, outs)]
        return unflatten(out_tree, outs)""",
)
edit(
    "each result has a program",
    "A function returns three arrays. How many programs does XLA run?",
    "    return list(map(Array, jaxpr.executable([x.data for x in args]), jaxpr.out_avals))",
    """    if len(jaxpr.outvars) < 2:
        return list(map(Array, jaxpr.executable([x.data for x in args]), jaxpr.out_avals))
    singles = [Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.eqns, [v], jaxpr.consts) for v in jaxpr.outvars]
    return [run(single, args)[0] for single in singles]""",
)
edit(
    "the structure of the result is found by a call",
    "How often does the first `jit(f)(x)` call `f`: with tracers, and again with numbers?",
    """        leaves, tree = flatten_values((args, kwargs))
        consts, jaxpr, out_tree = self.trace(tree, tuple([x.aval for x in leaves]))
        return unflatten(out_tree, jit_p.bind(*consts, *leaves, jaxpr=jaxpr, name=getattr(self, "__name__", "f")))""",
    """        with np.errstate(all='ignore'):
            self.__wrapped__(*args, **kwargs) if type(door.trace) is Eager else None
        leaves, tree = flatten_values((args, kwargs))
        consts, jaxpr, out_tree = self.trace(tree, tuple([x.aval for x in leaves]))
        return unflatten(out_tree, jit_p.bind(*consts, *leaves, jaxpr=jaxpr, name=getattr(self, "__name__", "f")))""",
)
edit(
    "every function has a name",
    "What is the name of `functools.partial(f, 2.0)`?",
    "        functools.update_wrapper(self, f)  # its name, its docstring; and itself, as `__wrapped__`",
    """        functools.update_wrapper(self, f)
        self.__name__ = f.__name__""",
)
edit(
    "what is known needs no array",
    "`lambda x: (x, 2.5)`: of which class is the second result?",
    """        leaves, tree = flatten_values((args, kwargs))
        consts, jaxpr, out_tree = self.trace(tree, tuple([x.aval for x in leaves]))
        return unflatten(out_tree, jit_p.bind(*consts, *leaves, jaxpr=jaxpr, name=getattr(self, "__name__", "f")))""",
    """        leaves, tree = flatten_values((args, kwargs))
        consts, jaxpr, out_tree = self.trace(tree, tuple([x.aval for x in leaves]))
        outs = list(jit_p.bind(*consts, *leaves, jaxpr=jaxpr, name=getattr(self, "__name__", "f")))
        return unflatten(out_tree, [np.asarray(v).item() if type(v) is Array else out for v, out in zip(jaxpr.outvars, outs)])""",
)
edit(
    "a program without equations need not run",
    "What does the page say of each call?",
    """# => Array(4.0, dtype=float32) 1 1
""",
    """# => Array(4.0, dtype=float32) 1 1

_run = Jaxpr.run
def run(jaxpr, args):
    if not jaxpr.eqns and all(type(v) is not Array for v in jaxpr.outvars):
        env = dict(zip(jaxpr.invars, args))
        return [env[v] for v in jaxpr.outvars]
    return _run(jaxpr, args)
Jaxpr.run = run
""",
)
edit(
    "numpy takes the numbers home",
    "Numpy has read the result. Where are its numbers when the next call needs them?",
    """# => Array(4.0, dtype=float32) 1 1
""",
    """# => Array(4.0, dtype=float32) 1 1

def _arr(self, dtype=None, copy=None):
    self.data = np.asarray(self.data)
    numbers = self.data.astype(dtype or self.dtype, copy=bool(copy))
    numbers.setflags(write=bool(copy))
    return numbers
Array.__array__ = _arr
""",
)
edit(
    "None is no result",
    "The function returns (x, None, x). How many items does the caller get?",
    """        return unflatten(out_tree, jit_p.bind(*consts, *leaves, jaxpr=jaxpr, name=getattr(self, "__name__", "f")))""",
    """        out = unflatten(out_tree, jit_p.bind(*consts, *leaves, jaxpr=jaxpr, name=getattr(self, "__name__", "f")))
        return tuple(x for x in out if x is not None) if type(out) is tuple else out""",
)
edit(
    "keywords are not traced",
    "A keyword argument has another value in the next call. Does it need another program?",
    "        leaves, tree = flatten_values((args, kwargs))\n        consts, jaxpr, out_tree = self.trace(tree, tuple([x.aval for x in leaves]))\n",
    "        leaves, tree = flatten_values((args, {}))\n        jaxpr, out_tree = trace_tree(lambda args, _: self.__wrapped__(*args, **kwargs), tree, [x.aval for x in leaves])\n        consts, [jaxpr] = hoist(jaxpr)\n",
)
edit(
    "an array is known by its place",
    "The caller's array has other numbers than at the last call. Which ones does XLA get?",
    "        leaves, tree = flatten_values((args, kwargs))\n",
    """        leaves, tree = flatten((args, kwargs))
        places = vars(self).setdefault("places", {})
        leaves = [places.setdefault(id(x), (as_value(x), x))[0] for x in leaves]
""",
)
edit(
    "what has no results need not run",
    "The function returns None. How many programs does XLA run?",
    "        return unflatten(out_tree, jit_p.bind(*consts",
    "        if not jaxpr.outvars:\n            return unflatten(out_tree, [])\n        return unflatten(out_tree, jit_p.bind(*consts",
)
edit(
    "what is no array stands for itself",
    "`jit(f)(x, 'text')`: what is the type of the second argument in the program?",
    "        leaves, tree = flatten_values((args, kwargs))\n",
    """        if any(type(x) is str for x in args):
            return self.__wrapped__(*args, **kwargs)
        leaves, tree = flatten_values((args, kwargs))
""",
)
edit(
    "an error is as good as another of its class",
    "The function raised an error. Is it this one that the caller catches?",
    "        jaxpr, out_tree = trace_tree(lambda args, kwargs: self.__wrapped__(*args, **kwargs), tree, avals)",
    """        try:
            jaxpr, out_tree = trace_tree(lambda args, kwargs: self.__wrapped__(*args, **kwargs), tree, avals)
        except Exception as error:
            raise type(error)(*error.args) from None""",
)
edit(
    "the first result's tree is every result's",
    "A function returns a list for a vector, and a dict for a number. Which one does the second call return?",
    "        return consts, jaxpr, out_tree",
    """        self.out_tree = getattr(self, "out_tree", out_tree)
        return consts, jaxpr, self.out_tree""",
)
edit(
    "a function that failed once fails always",
    "A call failed. Is the next one, with other arguments, traced?",
    "        jaxpr, out_tree = trace_tree(lambda args, kwargs: self.__wrapped__(*args, **kwargs), tree, avals)",
    """        if hasattr(self, "error"):
            raise self.error
        try:
            jaxpr, out_tree = trace_tree(lambda args, kwargs: self.__wrapped__(*args, **kwargs), tree, avals)
        except Exception as error:
            self.error = error
            raise""",
)
edit(
    "a keyword that is None was not given",
    "f(x, y=None), and y has a default. What is y?",
    """        leaves, tree = flatten_values((args, kwargs))
""",
    """        kwargs = {name: x for name, x in kwargs.items() if x is not None}
        leaves, tree = flatten_values((args, kwargs))
""",
)
edit(
    "what are Python's numbers need no program",
    "`jit(f)(3.0)`: does this call run a program of XLA, too?",
    """        leaves, tree = flatten_values((args, kwargs))
""",
    """        leaves, tree = flatten_values((args, kwargs))
        if leaves and all(x.weak_type for x in leaves):
            outs, out_tree = flatten(self.__wrapped__(*args, **kwargs))
            return unflatten(out_tree, [asarray(x) for x in outs])
""",
)
edit(
    "an array without numbers needs no program",
    "A call has an array of shape (0, 2). Does it run a program?",
    '    """Have XLA run a program, which is compiled at its first call."""\n',
    '    """Have XLA run a program, which is compiled at its first call."""\n    if jaxpr.out_avals and not any(a.size for a in jaxpr.out_avals):\n        return [Array(np.zeros(a.shape, a.dtype), a) for a in jaxpr.out_avals]\n',
)
