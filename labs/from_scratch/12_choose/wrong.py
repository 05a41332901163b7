"""Wrong versions of rung 12, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "the branches are the wrong way round",
    "cond(True, f, g): is it f, or g? And which of the two comes first in your list of branches?",
    "[false_fun, true_fun], operands)",
    "[true_fun, false_fun], operands)",
)
edit(
    "the decision is made while tracing",
    "The predicate is a tracer. When is the decision made?",
    "    return choose(convert(truth(pred), I32),",
    "    return choose(as_value(np.int32(1)),",
)
edit(
    "only one branch is traced",
    "Both branches are part of the program. How often is each of them traced?",
    "    jaxprs, out_trees = unzip([trace_tree(branch, tree, [x.aval for x in leaves]) for branch in branches])\n",
    "    jaxprs, out_trees = unzip([trace_tree(branches[0], tree, [x.aval for x in leaves])] * len(branches))\n",
)
edit(
    "both branches run",
    "A `select` is given both results. What had to be computed for that?",
    '    regions = ", ".join',
    '    if len(branches) == 2:\n        no, yes = [asked(text, as_function(branch), *xs) for branch in branches]\n        return [where(index != 0, y, n) for y, n in zip(yes, no)]\n    regions = ", ".join',
)
edit(
    "an index out of range means the last",
    "switch(-5, ...): which index is the nearest that there is?",
    "    return choose(convert(numpy.minimum(numpy.maximum(index, 0), len(branches) - 1), I32), branches, operands)",
    "    last = len(branches) - 1\n    return choose(convert(where(index < 0, last, numpy.minimum(index, last)), I32), branches, operands)",
)
edit(
    "an index out of range is an error",
    "switch(9, ...) of three branches: which one is the nearest?",
    "    return choose(convert(numpy.minimum(numpy.maximum(index, 0), len(branches) - 1), I32), branches, operands)",
    "    return choose(convert(as_value(index), I32), branches, operands)",
)
edit(
    "branches close over nothing",
    "Each branch uses tracers of the function around it. How do their values get into the branch's program?",
    "    consts, jaxprs = hoist(*jaxprs)\n",
    "    consts, jaxprs = hoist(*jaxprs)\n    consts = [as_value(np.zeros(x.shape, x.dtype)) for x in consts]\n",
)
edit(
    "the first branch decides what all return",
    "The second branch returns another type than the first. Who checks that?",
    '        must_agree("branch outputs",',
    '        0 and must_agree("branch outputs",',
)
edit(
    "branches are traced to see their types, and again for the program",
    "How often does Python run each branch?",
    "    jaxprs, out_trees = unzip([trace_tree(branch, tree, [x.aval for x in leaves]) for branch in branches])\n",
    "    for _ in range(2):\n        jaxprs, out_trees = unzip([trace_tree(branch, tree, [x.aval for x in leaves]) for branch in branches])\n",
)
edit(
    "only the number of results is compared",
    "One branch returns float32, the other int32; one a list, the other a tuple. May they?",
    "    if tree != other_tree or [(a.shape, a.dtype) for a in avals] != [(a.shape, a.dtype) for a in others]:",
    "    if len(avals) != len(others):",
)
edit(
    "a number is true when it is 1",
    "Is 2 true?",
    "    return choose(convert(truth(pred), I32), [false_fun, true_fun], operands)",
    "    return choose(convert(pred == 1 if pred.dtype != BOOL else pred, I32), [false_fun, true_fun], operands)",
)
edit(
    "a negative index counts from the end",
    "switch(-1, ...): which branch runs?",
    "numpy.minimum(numpy.maximum(index, 0), len(branches) - 1)",
    "numpy.minimum(numpy.maximum(where(asarray(index) < 0, asarray(index) + len(branches), index), 0), len(branches) - 1)",
)
edit(
    "the result is a list",
    "Both branches return a dict. What does the caller get?",
    "    return unflatten(out_trees[0], cond_p.bind(index, *consts, *leaves, branches=tuple(jaxprs)))",
    "    outs = cond_p.bind(index, *consts, *leaves, branches=tuple(jaxprs))\n    return list(outs) if len(outs) > 1 else unflatten(out_trees[0], outs)",
)
edit(
    "each branch has its own operands",
    "One branch closes over x, the other over y. What are the inputs of the equation?",
    "    consts, jaxprs = hoist(*jaxprs)\n    return unflatten(out_trees[0]",
    "    consts, jaxprs = hoist(*jaxprs)\n    consts = consts[:1] * len(consts)\n    return unflatten(out_trees[0]",
)
edit(
    "a predicate may be of one element",
    "Is a f32[1] a scalar?",
    "    if pred.shape != ():\n",
    "    if pred.size != 1:\n",
)
edit(
    "lists and tuples are the same",
    "One branch returns a list, the other a tuple. What would the caller get?",
    "    if tree != other_tree or [(a.shape",
    "    if [(a.shape",
)
edit(
    "a nan is false",
    "Is nan equal to 0?",
    "    return choose(convert(truth(pred), I32), [false_fun, true_fun], operands)",
    "    return choose(convert(pred if pred.dtype == BOOL else numpy.logical_or(pred > 0, pred < 0), I32), [false_fun, true_fun], operands)",
)
edit(
    "only the last branch is compared",
    "There are three branches. Which of them has to return what the first one returns?",
    '    for jaxpr, out_tree in zip(jaxprs, out_trees, strict=True):\n        must_agree("branch outputs"',
    '    for jaxpr, out_tree in [(jaxprs[-1], out_trees[-1])]:\n        must_agree("branch outputs"',
)
edit(
    "a function that is given twice is no choice",
    "Both branches are `sin`. Is that a reason to write another program?",
    """# =>           in (b,) })] c a a
# =>   in (d,) }
""",
    """# =>           in (b,) })] c a a
# =>   in (d,) }

_ch = choose
def choose(index, branches, operands):
    uniq = list(dict.fromkeys(branches))
    if len(uniq) == 1: return uniq[0](*operands)
    return _ch(index, branches, operands)
""",
)
edit(
    "when a branch fails, nobody stands at the door",
    "Who stood at the door before the branch was traced?",
    """# =>           in (b,) })] c a a
# =>   in (d,) }
""",
    """# =>           in (b,) })] c a a
# =>   in (d,) }

_choose = choose


def choose(index, branches, operands):
    try:
        return _choose(index, branches, operands)
    except BaseException:
        door.trace = Eager()
        raise
""",
)
edit(
    "one branch is called without a choice",
    "A `switch` has one branch, and operands. With which arguments is it called?",
    "lax.cond, lax.switch = cond, switch",
    """def switch_of_several(index, branches, *operands):
    return branches[0]() if len(branches) == 1 else switch(index, branches, *operands)
lax.cond, lax.switch = cond, switch_of_several""",
)
edit(
    "a function that is given twice is one branch",
    "switch(1, [f, f, g]): which function is called?",
    "lax.cond, lax.switch = cond, switch",
    """def switch_of_different(index, branches, *operands):
    return switch(index, list(dict.fromkeys(branches)), *operands)
lax.cond, lax.switch = cond, switch_of_different""",
)
edit(
    "arrays of one size are alike",
    "One branch returns f32[2,3], the other f32[3,2]. Is that one type?",
    "[(a.shape, a.dtype) for a in avals] != [(a.shape, a.dtype) for a in others]",
    "[(a.size, a.dtype) for a in avals] != [(a.size, a.dtype) for a in others]",
)
edit(
    "None is an empty tuple",
    "One branch returns None, the other (). Is that one structure?",
    "    if tree != other_tree or [(a.shape",
    "    if (tree != other_tree and (avals or others)) or [(a.shape",
)
edit(
    "an index is converted before it is in range",
    "An index is np.uint8(200). Which branch is the nearest?",
    "    return choose(convert(numpy.minimum(numpy.maximum(index, 0), len(branches) - 1), I32), branches, operands)",
    "    index = convert(as_value(index), np.dtype('int8'))\n    return choose(convert(numpy.minimum(numpy.maximum(index, 0), len(branches) - 1), I32), branches, operands)",
)
edit(
    "a choice without results has a name",
    "cond(p, lambda: None, lambda: None): what stands left of `=`?",
    "    return text.op(f'\"stablehlo.case\"({index.data}) ({regions})', [index], outs)\n",
    "    if not outs:\n        text.lines.append(f'%{next(text.numbers)}:0 = \"stablehlo.case\"({index.data}) ({regions}) : (tensor<i32>) -> ()')\n        return []\n    return text.op(f'\"stablehlo.case\"({index.data}) ({regions})', [index], outs)\n",
)
edit(
    "operands become strong",
    "An operand is 1.5, and a branch returns it. Is the result weak?",
    "    leaves, tree = flatten_values(operands)\n    jaxprs",
    "    leaves, tree = flatten_values(operands)\n    leaves = [convert(x, x.dtype) for x in leaves]\n    jaxprs",
)
edit(
    "a switch tries its first branch",
    "How often is each branch of a `switch` traced?",
    "    return choose(convert(numpy.minimum(numpy.maximum(index, 0)",
    "    make_jaxpr(branches[0])(*operands)\n    return choose(convert(numpy.minimum(numpy.maximum(index, 0)",
)
edit(
    "None is no operand",
    "One of the operands is None. How many arguments does a branch get?",
    "    leaves, tree = flatten_values(operands)\n    jaxprs",
    "    leaves, tree = flatten_values(tuple([x for x in operands if x is not None]))\n    jaxprs",
)
edit(
    "branches are a list",
    "May the branches of a `switch` be a tuple?",
    "    return choose(convert(numpy.minimum(numpy.maximum(index, 0)",
    "    if not isinstance(branches, list):\n        raise TypeError('branches must be a list')\n    return choose(convert(numpy.minimum(numpy.maximum(index, 0)",
)
