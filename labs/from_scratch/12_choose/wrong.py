"""Wrong versions of rung 12, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'the branches are the wrong way round',
    'cond(True, f, g) is f.',
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
    'Both branches are part of the program.',
    '    traced = [trace_tree(branch, tree, [x.aval for x in leaves]) for branch in branches]\n',
    '    one = trace_tree(branches[0], tree, [x.aval for x in leaves])\n    traced = [one for branch in branches]\n',
)
edit(
    'both branches run',
    'A `select` computes both sides first.',
    '    regions = ", ".join',
    '    if len(branches) == 2:\n        no, yes = (text.block(b, xs) for b in branches)\n        p = text.op(f"stablehlo.convert {index} : (tensor<i32>) -> tensor<i1>")[0]\n        return [text.op(f"stablehlo.select {p}, {y}, {n} : tensor<i1>, {tensor(o)}")[0] for y, n, o in zip(yes, no, outs)]\n    regions = ", ".join',
)
edit(
    'an index out of range takes the last',
    'switch(-5, ...): which is the nearest?',
    '    index = text.op(f"stablehlo.maximum {index}, {text.constant(np.int32(0))} : tensor<i32>")[0]\n',
    '',
)
edit(
    'an index out of range is an error',
    'switch(9, ...) of three branches.',
    'branches[np.clip(int(index), 0, len(branches) - 1)]',
    'branches[int(index)]',
)
edit(
    'branches close over nothing',
    'Each branch uses what is traced around it.',
    '    tracers, closeds = hoist(*[closed for closed, _ in traced])\n',
    '    tracers, closeds = [], [ClosedJaxpr(c.jaxpr, [as_value(0.0) if isinstance(x, Tracer) else x for x in c.consts]) for c, _ in traced]\n',
)
edit(
    'the first branch says what all return',
    'The second branch returns something else.',
    '            if (a.shape, a.dtype) != (b.shape, b.dtype):\n                raise TypeError(f"branch',
    '            if False:\n                raise TypeError(f"branch',
)
