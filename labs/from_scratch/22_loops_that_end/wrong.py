"""Wrong versions of rung 22, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "a reshape copies",
    "Before and after a reshape the numbers lie row after row. What is there to be moved?",
    "enders |= {dot_p: write_dot,",
    """copy = lambda writer, eqn, targets, shape: writer.store(targets, targets[0][0].aval.shape)
enders |= {reshape_p: copy, transpose_p: copy, dot_p: write_dot,""",
)
edit(
    "axes go where their number says",
    "In transpose(x, (1, 2, 0)), axis 0 of the result is x's axis 1. Which axis of the result is x's axis 0?",
    'at[eqn.params["axes"].index(axis)]',
    'at[eqn.params["axes"][axis]]',
)
edit(
    "an equation has one line",
    "sin(x) - sin(x).T: at how many indices is the sine needed, in one turn?",
    "names[v, spread(v.aval.shape, at)]\n        operand",
    "names[v, next(iter(wanted[v]))]\n        operand",
)
edit(
    "sizes are multiples of a tile",
    "37 columns in tiles of 32: who computes the last five?",
    "l{c} < {sizes[c]}; l{c} += ",
    "l{c} + {tile.get(c, 1)} <= {sizes[c]}; l{c} += ",
)
edit(
    "both branches run",
    "Both branches were traced, and both are in the C. Which of them may run?",
    'f"if ({which} == {number})"',
    'f"if ({which} >= 0)"',
)
edit(
    "a branch needs no memory of its own",
    "What a branch stores between its loops has a place in memory. Does another array that is alive then have the same place?",
    "    writer.lives[within.room][2] = within.work\n",
    "",
)
edit(
    "the condition comes after the body",
    "How often does the body run, if the condition is false at once?",
    '*test, f"if (!{goes_on}[0]) break;", *body, *moves, "}"]',
    '*body, *moves, *test, f"if (!{goes_on}[0]) break;", "}"]',
)
edit(
    "the carry changes while it is read",
    "Two arrays change places. The first has got its new numbers: what does the second one read?",
    "    following = [writer.take(c_type(v.aval), bytes_of(v)) for v in eqn.outvars]\n",
    "    following = [out for _, out in targets]\n",
)
edit(
    "the first branch may run",
    "The result is that of the second branch. Did the first branch run before it?",
    'f"if ({which} == {number})"',
    'f"if ({which} == {number} || {number} == 0)"',
)
edit(
    "a product is added up in floats",
    "A float32 has 24 bits for digits. How many bits do the digits of an int32 need?",
    """    lines += [f"{c_type(v.aval)} a{''.join(""",
    """    lines += [f"float a{''.join(""",
)
edit(
    "a product's operand is dead in its loop",
    "Each number of an operand is read for many results. In which turn is it read for the last time?",
    "                if self.memory.get(v) in self.lives:\n",
    "                if self.memory.get(v) in self.lives and (eqn is None or eqn.primitive is not dot_p):\n",
)
edit(
    "what a body reads is dead in its loop",
    "A body reads an array in each turn. Where does it write meanwhile?",
    "                if self.memory.get(v) in self.lives:\n",
    "                if self.memory.get(v) in self.lives and (eqn is None or eqn.primitive not in (while_p, cond_p)):\n",
)
edit(
    "programs within stay as they are",
    "`optimise` sees the equations of a program. Who sees those of a branch?",
    "    trace = Thrifty([x.aval for x in operands])  #",
    "    trace = Inliner([x.aval for x in operands])  #",
)
edit(
    "a reshape to the sizes of a transpose is one",
    "f32[2,3] is reshaped to [3,2]. Is that its transpose?",
    "    if [n for n in x.aval.shape if n != 1] == [n for n in out.aval.shape if n != 1]:",
    "    if sorted([n for n in x.aval.shape if n != 1]) == sorted([n for n in out.aval.shape if n != 1]):",
)
edit(
    "an empty product is what was there",
    "x has no columns. How often does the loop over k store a number of x @ y?",
    '    lines += [*adding(ends), *within(ends, f"{place(out, zs)} = {a};")]',
    '    lines += [*adding(ends), *(within(ends, f"{place(out, zs)} = {a};") if all(sizes[c] for c in summed) else [])]',
)
edit(
    "products of truth values are added",
    "`x @ y` of truth values adds up 256 products that are True, in one byte. What is in it then?",
    'add, times = ("or", "and") if v.aval.dtype == BOOL else ("add", "mul")',
    'add, times = "add", "mul"',
)
edit(
    "later branches write over what earlier ones wrote",
    "The third branch is taken. Which of the others run?",
    """writer.lines += [f"if ({which} == {number})", *inner(writer, branch, operands, [out for _, out in targets])]""",
    """writer.lines += [f"if ({which} {'>=' if number else '=='} {number})", *inner(writer, branch, operands, [out for _, out in targets])]""",
)
edit(
    "each number of a carry has four bytes",
    "How many bytes does a carry of five int8 have?",
    'f"__builtin_memcpy({out}, {new}, {bytes_of(v)});"',
    'f"__builtin_memcpy({out}, {new}, {4 * v.aval.size});"',
)
edit(
    "the axes that are left are read from the last",
    "f32[2,3] becomes f32[2,1,3]. Which axis of the result is which of the operand?",
    """return ["0" if n == 1 else known.pop(0) for n in x.aval.shape]""",
    """return ["0" if n == 1 else known.pop() for n in x.aval.shape]""",
)
edit(
    "an equation lives by its first result",
    "A loop has a counter and an array as its results. Which of them does somebody read?",
    """inlined[scan_p] = scan_as_while
""",
    """inlined[scan_p] = scan_as_while


def without_dead(jaxpr):
    needed, eqns = {v for v in jaxpr.outvars if type(v) is not Array}, []
    for eqn in reversed(jaxpr.eqns):
        if eqn.outvars[0] in needed:
            eqns.append(eqn)
            needed.update([v for v in eqn.invars if type(v) is not Array])
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns[::-1], jaxpr.outvars, jaxpr.consts)


passes[1] = without_dead
""",
)
edit(
    "within a program, what is dead is kept",
    "A branch computes a sum that nobody reads. Who drops its loop?",
    "    within = Writer(without_dead(trace.jaxpr(asked(trace, as_function(jaxpr), *given))))\n",
    "    within = Writer(trace.jaxpr(asked(trace, as_function(jaxpr), *given)))\n",
)
edit(
    "a branch may write over what it reads",
    "A branch returns the transpose of an array that is dead afterwards. May both have the same bytes?",
    "self.lives[self.memory[v]][1] = self.number  # it is read here, and perhaps not again",
    "self.lives[self.memory[v]][1] = max(self.lives[self.memory[v]][1], self.number - (eqn is not None and eqn.primitive is cond_p))",
)
edit(
    "a result that is returned twice is stored once",
    "A branch returns one array as two results. How many places are written?",
    "    within.outs = list(zip(within.jaxpr.outvars, outs, strict=True))",
    "    within.outs = list({(v if type(v) is not Array else out): (v, out) for v, out in zip(within.jaxpr.outvars, outs, strict=True)}.values())",
)
edit(
    "choices of the same operands are the same",
    "Two choices have the same index and the same operands. In what else can they differ?",
    "        key = primitive, tuple(map(identity, args)), tuple(sorted(params.items()))",
    "        key = primitive, tuple(map(identity, args)), tuple(sorted((k, v) for k, v in params.items() if k not in ('branches', 'cond_jaxpr', 'body_jaxpr')))",
)
