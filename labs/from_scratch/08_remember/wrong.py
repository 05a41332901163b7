"""Wrong versions of rung 08, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "results right, traced at every call",
    "How often is `f` called for two calls with arrays of one shape?",
    "found = consts, *_ = self.known.get(key) or super()",
    "found = consts, *_ = self.known.clear() or super()",
)
edit(
    "the key is the shape",
    "float32[3] and int32[3] have the same shape. Do they have the same program?",
    "        key = tree, avals\n",
    "        key = tree, tuple([a.shape for a in avals])\n",
)
edit(
    "the key is the function",
    "Another shape needs another program. Where does your key say so?",
    "        key = tree, avals\n",
    "        key = tree\n",
)
edit(
    "weak types are not in the key",
    "2.0 and np.float32(2.0): do they promote alike?",
    "        key = tree, avals\n",
    "        key = tree, tuple([(a.shape, a.dtype) for a in avals])\n",
)
edit(
    "only leaves are in the key",
    "f([x]) and f((x,)) have the same leaves. Is their program the same?",
    "        key = tree, avals\n",
    "        key = avals\n",
)
edit(
    "each `jit(f)` begins anew",
    "`jit(f)(x)` in a loop: is `f` another function each time?",
    "        self.known = memories.setdefault(f, {})\n",
    "        self.known = {}\n",
)
edit(
    "functions are kept for ever",
    "The user dropped the function. Who still holds it?",
    "memories = weakref.WeakKeyDictionary()",
    "memories = {}",
)
edit(
    "the answer is kept instead of the program",
    "The second call brings other numbers. Whose result comes back?",
    "\njit = RememberingJit\n",
    """
answers = weakref.WeakKeyDictionary()
impl[jit_p] = lambda *args, jaxpr, name: answers.setdefault(jaxpr, None) or answers.update({jaxpr: run(jaxpr, args)}) or answers[jaxpr]
jit = RememberingJit
""",
)
edit(
    "the key has the number of axes and the size",
    "float32[2,3] and float32[3,2] have the same number of axes, and the same size. Do they have the same program?",
    "        key = tree, avals\n",
    "        key = tree, tuple([(a.ndim, a.size, a.dtype, a.weak_type) for a in avals])\n",
)
edit(
    "the structure of the result belongs to the function",
    "One f returns a list for one call and a tuple for another. Which of them comes back at the third call, which is the first one again?",
    """jit = RememberingJit
""",
    """class OneTree(RememberingJit):
    def trace(self, tree, avals):
        is_new = (tree, avals) not in self.known
        found = super().trace(tree, avals)
        self.last = found[2] if is_new else getattr(self, 'last', found[2])
        return (*found[:2], self.last)


jit = OneTree
""",
)
edit(
    "an array of numpy's is another argument than ours",
    "x is a numpy array at the first call, and a result of yours at the second. Do their types differ?",
    """        avals = tuple([x.aval for x in args])
        consts, jaxpr, out_tree = self.known.get(avals) or self.known.setdefault(
            avals, self.trace(flatten((args, {}))[1], avals))""",
    """        avals = tuple([x.aval for x in args])
        consts, jaxpr, out_tree = self.known.get(avals) or self.known.setdefault(
            avals, Jit.trace(self, flatten((args, {}))[1], avals))""",
)
edit(
    "keywords in another order are another call",
    "`f(a=x, b=y)` and `f(b=y, a=x)`: what does f see of the order?",
    """jit = RememberingJit
""",
    """class InOrder(RememberingJit):
    def __call__(self, *args, **kwargs):
        self.order = tuple(kwargs)
        return super().__call__(*args, **kwargs)

    def trace(self, tree, avals):
        key = tree, avals, self.order
        if not kwargs_in(tree):
            return super().trace(tree, avals)
        if key not in self.known:
            self.known[key] = Jit.trace(self, tree, avals)
        return self.known[key]


kwargs_in = lambda tree: tree.children[1].children
jit = InOrder
""",
)
edit(
    "the names of keywords are not in the key",
    "f(x, a=y) and f(x, b=y) have leaves of the same types. Are they the same call?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        key = str(tree.children[0]), len(tree.children[1].children), avals
        if key not in self.known: self.known[key] = Jit.trace(self, tree, avals)
        return self.known[key]
    def __call__(self, *args, **kwargs):
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "closed-over numbers are part of the key",
    "A global has changed. Does JAX trace the function again?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        cells = tuple(c.cell_contents for c in (getattr(self.__wrapped__, '__closure__', None) or ()) if type(c.cell_contents) in (int, float))
        key = tree, avals, cells
        found = self.known.get(key) or Jit.trace(self, tree, avals)
        if not any(type(x) is Tracer for x in found[0]): self.known[key] = found
        return found
    def __call__(self, *args, **kwargs):
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "a failure empties the cache",
    "A trace failed. Why should that concern the programs that were kept before?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        try:
            return super().trace(tree, avals)
        except BaseException:
            self.known.clear()
            raise
jit = J8
""",
)
edit(
    "only Python's numbers are weak",
    "Of which type is `sin(1.0)`: weak, or strong?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def __call__(self, *args, **kwargs):
        leaves, tree = flatten((args, kwargs))
        leaves = [x if type(x) in (int, float) else (convert(as_value(x), as_value(x).dtype) if type(as_value(x)) is Array else as_value(x)) for x in leaves]
        args, kwargs = unflatten(tree, leaves)
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "where an argument stands does not matter",
    "x and y have different types. Are f(x, y) and f(y, x) calls of one program?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        key = tree, tuple(sorted(map(repr, avals))), tuple(sorted(str(a.weak_type) for a in avals))
        if key not in self.known: self.known[key] = Jit.trace(self, tree, avals)
        return self.known[key]
    def __call__(self, *args, **kwargs):
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "one weak argument is as good as another",
    "f(2.0, x) and f(x, 2.0): which operand is weak in the program?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        key = tree, tuple((a.shape, a.dtype) for a in avals), any(a.weak_type for a in avals)
        if key not in self.known: self.known[key] = Jit.trace(self, tree, avals)
        return self.known[key]
    def __call__(self, *args, **kwargs):
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "None is no part of the tree",
    "f((None, x)) and f((x, None)) have the same leaves. Does the function see the same?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        strip = lambda t: (t.kind, t.data, tuple(strip(c) for c in t.children if c.kind is not type(None)))
        key = strip(tree), avals
        if key not in self.known: self.known[key] = Jit.trace(self, tree, avals)
        return self.known[key]
    def __call__(self, *args, **kwargs):
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "constants belong to the function",
    "For another shape the function closes over another array. Which one does the program get?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        found = super().trace(tree, avals)
        if found[0] and type(door.trace) is Eager:
            self.c = getattr(self, 'c', {})
            consts = self.c.setdefault(len(found[0]), found[0])
            if [x.aval for x in consts] == [x.aval for x in found[0]]: return (consts, *found[1:])
        return found
    def __call__(self, *args, **kwargs):
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "rank and first size are the shape",
    "Which two shapes of one size begin with the same number?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        key = tree, tuple((a.ndim, a.shape[:1], a.size, a.dtype, a.weak_type) for a in avals)
        if key not in self.known: self.known[key] = Jit.trace(self, tree, avals)
        return self.known[key]
    def __call__(self, *args, **kwargs):
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "a tuple of arguments is the arguments",
    "f((x, y), z) and f(x, y, z): how many arguments does f have?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        def flat(t): return [t.kind] if t.kind is None else [x for c in t.children for x in flat(c)] if t.kind is tuple else [t]
        key = tuple(flat(tree)), avals
        if key not in self.known: self.known[key] = Jit.trace(self, tree, avals)
        return self.known[key]
    def __call__(self, *args, **kwargs):
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "truth values and bytes are one dtype",
    "A truth value takes one byte. Which other dtype does?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        key = tree, tuple((a.shape, a.dtype.itemsize, a.dtype.kind == 'f', a.weak_type) for a in avals)
        if key not in self.known: self.known[key] = Jit.trace(self, tree, avals)
        return self.known[key]
    def __call__(self, *args, **kwargs):
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "thirty-two programs are enough",
    "How many shapes will a user's function see? What does a call cost whose program is not kept any more?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        key = tree, avals
        if len(self.known) >= 32 and key not in self.known: self.known.pop(next(iter(self.known)))
        if key not in self.known: self.known[key] = Jit.trace(self, tree, avals)
        return self.known[key]
    def __call__(self, *args, **kwargs):
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "integers are never weak",
    "Of which dtype is 3 + float16, and of which np.int32(3) + float16?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        key = tree, tuple((a.shape, a.dtype, a.weak_type and a.dtype.kind == 'f') for a in avals)
        if key not in self.known: self.known[key] = Jit.trace(self, tree, avals)
        return self.known[key]
    def __call__(self, *args, **kwargs):
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "the first argument has the dtype of all",
    "Can two arguments have two dtypes?",
    """# => traced for f32[]
""",
    """# => traced for f32[]

class J8(RememberingJit):
    def trace(self, tree, avals):
        key = tree, tuple((a.shape, a.weak_type) for a in avals), tuple(a.dtype for a in avals[:1])
        if key not in self.known: self.known[key] = Jit.trace(self, tree, avals)
        return self.known[key]
    def __call__(self, *args, **kwargs):
        return Jit.__call__(self, *args, **kwargs)
jit = J8
""",
)
edit(
    "a quick way needs no structure of the result",
    "Your quick way knows the types of the arguments. Where does it get the tree of the result?",
    "            avals, self.trace(flatten((args, {}))[1], avals))\n",
    """            avals, self.trace(flatten((args, {}))[1], avals))
        self.out_tree = out_tree = getattr(self, "out_tree", out_tree)
""",
)
edit(
    "the key is a hash",
    "hash(-1) == hash(-2). Are two keys equal if their hashes are?",
    "        key = tree, avals\n",
    "        key = hash((tree, avals))\n",
)
edit(
    "arrays with axes are never weak",
    "asarray([1, 2]) * 2.0 is an array. Is it weak?",
    "        key = tree, avals\n",
    "        key = tree, tuple([(a.shape, a.dtype, a.weak_type and not a.shape) for a in avals])\n",
)
edit(
    "int8 and uint8 are one dtype",
    "int8 and uint8 have one byte each. Do they share a program?",
    "        key = tree, avals\n",
    '        key = tree, tuple([(a.shape, short(a.dtype).replace("u", "i"), a.weak_type) for a in avals])\n',
)
edit(
    "programs are an attribute of their function",
    "functools.wraps(f)(g) gives g the attributes of f. Whose programs does g have then?",
    "        self.known = memories.setdefault(f, {})",
    '        self.known = vars(f).setdefault("_programs", {}) if hasattr(f, "__dict__") else {}',
)
edit(
    "each thread has programs of its own",
    "A second thread calls the function. Is it traced again?",
    "        self.known = memories.setdefault(f, {})",
    """        self.f = f

    @property
    def known(self):
        thread = __import__("threading").get_ident()
        return memories.setdefault(self.f, {}).setdefault(thread, {})""",
)
edit(
    "a program without results is not kept",
    "A function returns None. How often is it traced?",
    """            self.known[key] = found
""",
    """            if found[1].outvars:
                self.known[key] = found
""",
)
edit(
    "programs for large arrays are not kept",
    "Does a program for a large array need more room than one for a small array?",
    "        if not any(type(x) is Tracer for x in consts):  # a tracer",
    "        if not any(type(x) is Tracer for x in consts) and sum(a.size for a in avals) < 50_000:  # a tracer",
)
edit(
    "keys of a dict are kept as strings",
    "f({1: x}) and f({'1': x}): one call?",
    """        key = tree, avals
""",
    """        said = lambda t: (t.kind, tuple(map(str, t.data)) if t.kind is dict else t.data, tuple(map(said, t.children)))
        key = said(tree), avals
""",
)
