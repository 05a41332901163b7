"""Wrong versions of rung 09, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "static arguments are traced, too",
    "Can `range(n)` be asked of a tracer?",
    "super().__call__(*[self.marked(*named) for named in args], **kwargs)",
    "super().__call__(*[x for _, x in args], **kwargs)",
)
edit(
    "keywords are never static",
    "f(x, n=2), with `n` static: is 2 taken out before the leaves are traced?",
    "        kwargs = {name: self.marked(name, x) for name, x in kwargs.items()}\n",
    "",
)
edit(
    "numbers and names have nothing to do with each other",
    "`static_argnums=1`, and the call says `n=2`: who knows that these are the same argument?",
    "        self.chosen = {*chosen, *[self.parameters[n] for n in numbers]}\n",
    '        self.chosen = {*chosen, *[f"number {n % len(self.parameters)}" for n in numbers]}\n        self.parameters = [f"number {i}" for i in range(len(self.parameters))]\n',
)
edit(
    "static values are not in the key",
    "f(x, 1), then f(x, 2): the same program?",
    "containers[Static] = (lambda x: ((), (type(x.value), x.value)), lambda data, children: data[1])",
    "class Alike:\n    def __init__(self, value):\n        self.value = value\n\n    def __eq__(self, other):\n        return True\n\n    def __hash__(self):\n        return 0\n\n\ncontainers[Static] = (lambda x: ((), Alike(x.value)), lambda data, children: data.value)",
)
edit(
    "equal means the same object",
    "Two equal tuples that are not one object: one program, or two?",
    "(type(x.value), x.value)",
    "(id(x.value), x.value)",
)
edit(
    "equal values are the same argument",
    "1 == 1.0 == True. Is a program for one of them right for the others?",
    "(type(x.value), x.value)",
    "(None, x.value)",
)
edit(
    "a value without a hash is turned into text",
    "[1, 2] has no hash. Whose mistake is that, and which error should they read?",
    "            hash(x)\n",
    "            hash(str(x))\n",
)
edit(
    "a hash is as good as the value",
    "hash(-1) == hash(-2). Are they one argument?",
    "containers[Static] = (lambda x: ((), (type(x.value), x.value)), lambda data, children: data[1])\n",
    "ByHash = type('ByHash', (Static,), {'__hash__': lambda x: hash(x.value), '__eq__': lambda x, y: hash(x) == hash(y)})\n"
    "containers[Static] = (lambda x: ((), (type(x.value), ByHash(x.value))), lambda data, children: data[1].value)\n",
)
edit(
    "a negative number counts from the front",
    "`static_argnums=-1` of f(x, y, n, m): which parameter is that?",
    "[self.parameters[n] for n in numbers]",
    "[self.parameters[abs(n) % len(self.parameters)] for n in numbers]",
)
edit(
    "a name is a list of letters",
    "`static_argnames='scale'`: what is `tuple('scale')`?",
    "        numbers, chosen = (np.ravel(x).tolist() for x in (static_argnums, static_argnames))  # one, or several",
    "        numbers, chosen = np.ravel(static_argnums).tolist(), list(static_argnames)",
)
edit(
    "static values come in the order of `static_argnums`",
    "`static_argnums=(2, 1)`: which argument is the value 5 of `f(x, 3, 5)`?",
    """# >>> times = jit(lambda x, n: [x * i for i in range(n)], static_argnums=1)
""",
    """class InTheirOrder(StaticJit):
    def __init__(self, f, static_argnums=(), static_argnames=()):
        super().__init__(f, static_argnums, static_argnames)
        self.numbers = np.ravel(static_argnums).astype(int).tolist()

    def __call__(self, *args, **kwargs):
        if self.numbers and max(self.numbers) < len(args):
            values, args = [args[n] for n in self.numbers], list(args)
            for n, value in zip(sorted(n % len(args) for n in self.numbers), values, strict=True):
                args[n] = value
        return super().__call__(*args, **kwargs)


def jit(f, **static):
    return InTheirOrder(f, **static) if static else RememberingJit(f)


# >>> times = jit(lambda x, n: [x * i for i in range(n)], static_argnums=1)
""",
)
edit(
    "a number is a static argument",
    "f(x, 2, 0.5), then f(x, 2, 0.7), where only the 2 is static: how many programs are needed?",
    """        if name not in self.chosen:
            return x""",
    """        if name not in self.chosen and type(x) not in (int, float):
            return x""",
)
edit(
    "only a list has no hash",
    "How do you find out whether a value has a hash: from its class, or by asking for it?",
    """# => [Array(0.0, dtype=float32), Array(2.0, dtype=float32), Array(4.0, dtype=float32)]
""",
    """# => [Array(0.0, dtype=float32), Array(2.0, dtype=float32), Array(4.0, dtype=float32)]

def marked(self, name, x):
    if name not in self.chosen: return x
    if isinstance(x, (list, dict)): raise ValueError('Non-hashable static arguments are used: static')
    return Static(x)
StaticJit.marked = marked
""",
)
edit(
    "strings are compared without their case",
    'f(x, "a") and f(x, "A"), with static strings: how many programs are needed?',
    """lambda x: ((), (type(x.value), x.value))""",
    """lambda x: ((), (type(x.value), x.value.lower() if type(x.value) is str else x.value))""",
)
edit(
    "a tuple is a set",
    "(2, 3) and (3, 2) are two static values. Which program does a call with the second one run?",
    """    return StaticJit(f, **static) if static else RememberingJit(f)""",
    """    return StaticJit(f, **static) if static else RememberingJit(f)
containers[Static] = (lambda x: ((), (type(x.value), TT(x.value) if type(x.value) is tuple else x.value)), lambda data, children: tuple(data[1]) if type(data[1]) is TT else data[1])
class TT(tuple):
    def __eq__(self, o): return set(self) == set(o)
    def __hash__(self): return hash(frozenset(self))""",
)
edit(
    "a float becomes one of numpy's",
    "What is the class of the value that the function gets for 2.5?",
    """lambda data, children: data[1])""",
    """lambda data, children: np.asarray(data[1])[()] if type(data[1]) is float else data[1])""",
)
edit(
    "a set has no hash, frozen or not",
    "Has frozenset((1, 2)) a hash?",
    """            hash(x)
""",
    """            hash(x)
            if isinstance(x, frozenset): raise TypeError
""",
)
edit(
    "a number of numpy's becomes Python's",
    "What is the dtype of `h * n`, if h is a float16 and n is np.float32(2)?",
    "        return Static(x)\n",
    "        return Static(x.item() if isinstance(x, np.generic) else x)\n",
)
edit(
    "items of `*args` are data",
    "`def f(*xs)` has one parameter. Which argument is number 1?",
    "        self.parameters += range(len(self.parameters), 1 + max(numbers, default=0))  # items of `*args` have numbers only\n        self.chosen = {*chosen, *[self.parameters[n] for n in numbers]}\n",
    "        self.chosen = {*chosen, *[self.parameters[n] for n in numbers if n < len(self.parameters)]}\n",
)
edit(
    "each `jit` with static arguments has a cache of its own",
    "`jit(f, static_argnums=1)`, twice: how many caches does `f` have?",
    "        numbers, chosen = (np.ravel(x)",
    "        self.known = {}\n        numbers, chosen = (np.ravel(x)",
)
edit(
    "a jitted function with static arguments has no name",
    "What does `jit(f, static_argnums=1).__name__` say?",
    "    return StaticJit(f, **static) if static else RememberingJit(f)",
    "    if not static:\n        return RememberingJit(f)\n    inner = StaticJit(f, **static)\n    return lambda *args, **kwargs: inner(*args, **kwargs)",
)
edit(
    "a program with static arguments keeps its function",
    "When nobody else holds `f`, who still does?",
    "    return StaticJit(f, **static) if static else RememberingJit(f)",
    "    key = f, str(static)\n    made[key] = made.get(key) or (StaticJit(f, **static) if static else RememberingJit(f))\n    return made[key]\n\n\nmade = {}",
)
edit(
    "a static value that failed once fails always",
    "What is in the cache after a trace that failed?",
    "# => [Array(0.0, dtype=float32), Array(2.0, dtype=float32), Array(4.0, dtype=float32)]\n",
    '# => [Array(0.0, dtype=float32), Array(2.0, dtype=float32), Array(4.0, dtype=float32)]\n\nclass Failing(StaticJit):\n    def trace(self, tree, avals):\n        if ("failed", tree) in self.known:\n            raise KeyError("failed before")\n        try:\n            return super().trace(tree, avals)\n        except KeyError:\n            self.known["failed", tree] = True\n            raise\n\n\ndef jit(f, **static):\n    return Failing(f, **static) if static else RememberingJit(f)\n\n',
)
edit(
    "static arguments by name have a cache of their own",
    "jit(f, static_argnums=1) and jit(f, static_argnames='n'), where `n` is parameter 1: how many caches do they use?",
    "        numbers, chosen = (np.ravel(x).tolist() for x in (static_argnums, static_argnames))  # one, or several\n",
    "        self.known = self.known.setdefault((repr(static_argnums), repr(static_argnames)), {})\n        numbers, chosen = (np.ravel(x).tolist() for x in (static_argnums, static_argnames))  # one, or several\n",
)
edit(
    "a static value is copied",
    "Is the value that the function gets the one that the caller passed?",
    "        return Static(x)",
    '        return Static(__import__("copy").deepcopy(x))',
)
edit(
    "static keywords in another order are another call",
    "f(x, a=1, b=2) and f(x, b=2, a=1): how many programs?",
    """        kwargs = {name: self.marked(name, x) for name, x in kwargs.items()}
        return super().__call__(*[self.marked(*named) for named in args], **kwargs)
""",
    """        self.order = tuple(kwargs)
        kwargs = {name: self.marked(name, x) for name, x in kwargs.items()}
        return super().__call__(*[self.marked(*named) for named in args], **kwargs)

    def trace(self, tree, avals):
        if (tree, avals, self.order) not in self.known:
            self.known[tree, avals, self.order] = Jit.trace(self, tree, avals)
        return self.known[tree, avals, self.order]
""",
)
edit(
    "close floats are one value",
    "1.0000001 and 1.0000002: how many programs?",
    "containers[Static] = (lambda x: ((), (type(x.value), x.value)), lambda data, children: data[1])",
    """class Kept(namedtuple("Kept", "value")):
    __eq__, __hash__ = lambda a, b: True, lambda a: 1


about = lambda v: f"{v:.4g}" if type(v) is float else v
containers[Static] = (lambda x: ((), (type(x.value), about(x.value), Kept(x.value))), lambda data, children: data[2].value)""",
)
edit(
    "methods of two objects are one value",
    "Two objects of one class have a method. Is it one function?",
    "containers[Static] = (lambda x: ((), (type(x.value), x.value)), lambda data, children: data[1])",
    """class Kept(namedtuple("Kept", "value")):
    __eq__, __hash__ = lambda a, b: True, lambda a: 1


about = lambda v: getattr(v, "__func__", v)
containers[Static] = (lambda x: ((), (type(x.value), about(x.value), Kept(x.value))), lambda data, children: data[2].value)""",
)
