"""Wrong versions of rung 19, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "each operation has a loop",
    "You store an intermediate array. Who reads it after the loop is over?",
    "        for shape in dict.fromkeys([v.aval.shape for v, _ in self.outs]):\n",
    """        for eqn in self.jaxpr.eqns:
            [v], name = eqn.outvars, f"t{len(self.memory)}"
            self.lines.append(f"static {c_type(v.aval)} {name}[{v.aval.size} + 1];")
            self.store([(v, name)], v.aval.shape)
            self.memory[v] = name
        for shape in dict.fromkeys([v.aval.shape for v, _ in self.outs]):
""",
)
edit(
    "XLA runs it after all",
    "The result is right. Which program computed it: XLA's, or your own?",
    "        if type(jaxpr) is not Own:\n",
    "        if False:\n",
)
edit(
    "an axis of size 1 goes on",
    "A column is read by each number of its row. By how much does its index grow along the row?",
    '"0" if n == 1 else i for i, n in',
    "i for i, n in",
)
edit(
    "axes are counted from the left",
    "An operand has fewer axes than the result. Which of them does it lack, the first or the last?",
    "at[len(at) - len(shape) :]",
    "at[: len(shape)]",
)
edit(
    "each result has a loop",
    "Two results have the same shape. What would a second loop compute anew?",
    """        for shape in dict.fromkeys([v.aval.shape for v, _ in self.outs]):
            self.store([out for out in self.outs if out[0].aval.shape == shape], shape)
""",
    """        for out in self.outs:
            self.store([out], out[0].aval.shape)
""",
)
edit(
    "six digits are enough",
    "16777215.0 has eight digits, and is a float32. What does your C say?",
    "n.hex() if isinstance(n, float)",
    "f'{n:g}' if isinstance(n, float)",
)
edit(
    "a nan is not the largest",
    "`a > b ? a : b`, where a is nan: what is its value?",
    '"max": "{0} > {1} || {0} != {0} || ',
    '"max": "{0} > {1} || ',
)
edit(
    "~True is -2",
    "In C a truth value is a number. Which bits does `~` flip?",
    '{"not": "!{0}", "abs"',
    '{"not": "~{0}", "abs"',
)
edit(
    "an integer is computed as a float",
    "A float32 has 24 bits for digits. How many bits do the digits of an int32 need?",
    '"power({0}, {1})"',
    '"powf({0}, {1})"',
)
edit(
    "a truth value is any number",
    "256 as an unsigned char is 0. Is it false?",
    "{' != 0' * (v.aval.dtype == BOOL)}",
    "",
)
edit(
    "each call compiles",
    "The second call has the same types. Where is its machine code?",
    '        if not hasattr(self, "executable"):\n            self.executable = compile_own(self)\n',
    "        self.executable = compile_own(self)\n",
)
edit(
    "what is unknown is left out",
    "A primitive stands in the program, and you have no C for it. Which error does the caller get?",
    "formulas |= dict.fromkeys(elementwise_primitives.values(), formula)\n",
    """class Guessing(dict):
    __contains__ = lambda self, primitive: True
    __missing__ = lambda self, primitive: lambda eqn: "{0}"


formulas = Guessing(formulas | dict.fromkeys(elementwise_primitives.values(), formula))
""",
)
edit(
    "floor goes towards 0",
    "What is the largest integer that is not above -1.5?",
    'special.get(name) or FORMULAS.get(name, f"{name}f({{0}})")',
    'special.get(name) or FORMULAS.get(name, f"{name}f({{0}})").replace("floorf", "truncf")',
)
edit(
    "nan has no sign",
    "nan > 0 is false, and nan < 0 is false. Is its sign 0?",
    '"{0} > 0 ? 1 : {0} < 0 ? -1 : {0}"',
    '"({0} > 0) - ({0} < 0)"',
)
edit(
    "log1p(x) is log(1 + x)",
    "What is 1 + 1e-9, in a float32?",
    'special.get(name) or FORMULAS.get(name, f"{name}f({{0}})")',
    'special.get(name) or FORMULAS.get(name, f"{name}f({{0}})").replace("log1pf(", "logf(1 + ")',
)
edit(
    "0.0 and -0.0 are equally large",
    "0.0 > -0.0 is false. Which of the two is their maximum, and what is 1 divided by it?",
    " || {0} == {1} && signbit({1})",
    "",
)
edit(
    "C's cast will do",
    "C leaves open what (int)3e9 and (int)NAN are. What does XLA make of them?",
    '    if eqn.invars[0].aval.dtype.kind != "f" or aval.dtype.kind not in "iu":\n',
    "    if True:\n",
)
edit(
    "a truth value is an integer first",
    "0.5 is not 0. What is left of it in an integer?",
    '    if eqn.invars[0].aval.dtype.kind != "f" or aval.dtype.kind not in "iu":\n',
    '    if aval.dtype == BOOL:\n        return "(int){0}"\n    if eqn.invars[0].aval.dtype.kind != "f" or aval.dtype.kind not in "iu":\n',
)
edit(
    "True + True is 2",
    "A truth value has two values. How many does an unsigned char have?",
    "{' != 0' * (v.aval.dtype == BOOL)}",
    "{' != 0' * (v.aval.dtype == BOOL and '+' not in said)}",
)
edit(
    "there are at most 256 numbers",
    "Up to which number does your counter count?",
    "for (long {i} = 0;",
    "for (unsigned char {i} = 0; {i} < 255 &&",
)
edit(
    "a function has its programs, whoever compiled them",
    "`jit(f)` has compiled f for these types. Is that a program of yours?",
    "own_memories.setdefault(f, {})",
    "memories.setdefault(f, {})",
)
edit(
    "a weak number is one like others",
    "2.0 times a float16 is a float16. What is your result times a float16?",
    "list(map(Array, self.executable([x.data for x in args]), self.out_avals))",
    "list(map(Array, self.executable([x.data for x in args])))",
)
edit(
    "static arguments are for XLA",
    '`jit(f, static_argnums=1, backend="own")`: is argument 1 a Python value in `f`?',
    "OwnJit(f, **static) if",
    "OwnJit(f) if",
)
edit(
    "the absolute value of the smallest number is the largest one",
    "What is |-2147483648| as an int32?",
    "own_memories = weakref.WeakKeyDictionary()",
    'OF_INTEGERS["abs"] = "{0} < 0 ? ({0} == (-2147483647-1) ? 2147483647 : -{0}) : {0}"'
    "\nown_memories = weakref.WeakKeyDictionary()",
)
edit(
    "numbers are compared as floats",
    "Is 16777217 == 16777216?",
    "own_memories = weakref.WeakKeyDictionary()",
    'FORMULAS |= {name: "(float){0} " + op + " (float){1}" for name, op in dict(lt="<", le="<=", gt=">", ge=">=", eq="==", ne="!=").items()}'
    "\nown_memories = weakref.WeakKeyDictionary()",
)
edit(
    "-x is 0 - x",
    "What is -0.0, and what is 0 - 0.0?",
    "own_memories = weakref.WeakKeyDictionary()",
    'FORMULAS["neg"] = "0 - {0}"\nown_memories = weakref.WeakKeyDictionary()',
)
edit(
    "a negative number has the root 0",
    "What is the square root of -1.0?",
    "own_memories = weakref.WeakKeyDictionary()",
    'OF_FLOATS["sqrt"] = "{0} < 0 ? 0 : sqrtf({0})"\nown_memories = weakref.WeakKeyDictionary()',
)
edit(
    "a power is made by a logarithm",
    "What is (-2.0) ** 3.0?",
    "own_memories = weakref.WeakKeyDictionary()",
    'OF_FLOATS["pow"] = "{1} == 2 ? {0} * {0} : expf({1} * logf({0}))"\nown_memories = weakref.WeakKeyDictionary()',
)
edit(
    "nan - 1 is 0",
    "Is nan greater than 1, or less? What is nan - 1?",
    "own_memories = weakref.WeakKeyDictionary()",
    'FORMULAS["sub"] = "{0} > {1} ? {0} - {1} : ({0} < {1} ? -({1} - {0}) : 0)"'
    "\nown_memories = weakref.WeakKeyDictionary()",
)
edit(
    "an unsigned number is a signed one",
    "40000 is a uint16. What is it as a short?",
    "own_memories = weakref.WeakKeyDictionary()",
    'C_TYPES["uint16"] = "short"\nown_memories = weakref.WeakKeyDictionary()',
)
edit(
    "a number too small is the smallest one",
    "-129 is an int32. What does it become as an int8?",
    '    if eqn.invars[0].aval.dtype.kind != "f" or aval.dtype.kind not in "iu":',
    '    from_, to = eqn.invars[0].aval.dtype, aval.dtype\n    if from_.kind not in "fi" or to.kind not in "iu" or from_.itemsize <= to.itemsize and from_.kind != "f":',
)
edit(
    "a maximum of integers goes by floats",
    "Which integers does a float not have?",
    '"max": "{0} > {1} || {0} != {0} ? {0} : {1}", "min"',
    '"max": "fmaxf({0}, {1})", "min"',
)
