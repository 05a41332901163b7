"""Wrong versions of rung 12, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'the branches are the wrong way round',
    'cond(True, f, g): is it f, or g? And which of the two comes first in your list of branches?',
    '[false_fun, true_fun], *operands)',
    '[true_fun, false_fun], *operands)',
)
edit(
    'the decision is made while tracing',
    'The predicate is a tracer. When is the decision made?',
    '    return switch(pred if pred.dtype == BOOL else pred != 0,',
    '    return switch(True,',
)
edit(
    'only one branch is traced',
    'Both branches are part of the program. How often is each of them traced?',
    '    jaxprs, out_trees = unzip([trace_tree(branch, tree, [x.aval for x in leaves]) for branch in branches])\n',
    '    jaxprs, out_trees = unzip([trace_tree(branches[0], tree, [x.aval for x in leaves])] * len(branches))\n',
)
edit(
    'both branches run',
    'A `select` is given both results. What had to be computed for that?',
    '    regions = ", ".join',
    '    if len(branches) == 2:\n        no, yes = (text.block(b, xs) for b in branches)\n        p = text.op(f"stablehlo.convert {index}", avals[:1], [Aval((), BOOL)])[0]\n        return [text.op(f"stablehlo.select {p}, {y}, {n}", [Aval((), BOOL), o, o], [o])[0] for y, n, o in zip(yes, no, outs)]\n    regions = ", ".join',
)
edit(
    'an index out of range takes the last',
    'switch(-5, ...): which is the nearest?',
    '(("minimum", len(branches) - 1), ("maximum", 0))',
    '(("minimum", len(branches) - 1),)',
)
edit(
    'an index out of range is an error',
    'switch(9, ...) of three branches: which one is the nearest?',
    'branches[np.clip(int(index), 0, len(branches) - 1)]',
    'branches[int(index)]',
)
edit(
    'branches close over nothing',
    "Each branch uses what is traced around it. How does that come into the branch's program?",
    '    tracers, jaxprs = hoist(*jaxprs)\n',
    '    tracers = []\n    for jaxpr in jaxprs:\n        jaxpr.consts = [as_value(0.0) if type(x) is Tracer else x for x in jaxpr.consts]\n',
)
edit(
    'the first branch says what all return',
    'The second branch returns something else. Who looks?',
    '        if types_ != returned[0]:\n',
    '        if False:\n',
)
edit(
    'branches are traced to see their types, and again for the program',
    'How often does Python run each branch?',
    '    jaxprs, out_trees = unzip([trace_tree(branch, tree, [x.aval for x in leaves]) for branch in branches])\n',
    '    for _ in range(2):\n        jaxprs, out_trees = unzip([trace_tree(branch, tree, [x.aval for x in leaves]) for branch in branches])\n',
)
