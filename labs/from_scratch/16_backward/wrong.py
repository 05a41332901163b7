"""Wrong versions of rung 16, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'at a fan-out the last cotangent wins',
    'y is used three times. What becomes of the first two cotangents?',
    '            cts[v] = cts[v] + ct if v in cts else ct  # fan-out: what was used twice has two cotangents',
    '            cts[v] = ct',
)
edit(
    "a division's cotangent is multiplied",
    'The derivative of x / y by x.',
    'linear_in(P.div)([lambda ct, x, y: gather_up(ct / y, x.aval), None])',
    'linear_in(P.div)([lambda ct, x, y: gather_up(ct * y, x.aval), None])',
)
edit(
    'a cotangent has the shape of the result',
    'x was broadcast to a larger shape. Which shape has its derivative?',
    '    return reshape(numpy.sum(ct, axes) if axes else ct, aval.shape)',
    '    return ct',
)
edit(
    'the transpose of `@` is `@`',
    'ct @ b, or ct @ b.T?',
    '        return [contract(cts[0], out, y, ys, xs), None]',
    '        return [contract(cts[0], out, y, ys[::-1], xs), None]',
)
edit(
    'what does not matter has no derivative',
    'An argument that is not used.',
    '        return unflatten(tree, [zero_for_none(g, a) for g, a in zip(grads, avals, strict=True)])',
    '        return unflatten(tree, grads)',
)
edit(
    'both sides have a derivative',
    'The derivative is that of the side that was taken.',
    '    return [None, *at_linear(args, cond_p.bind(index, *known, *cts, branches=backwards))]',
    '    return [None, *at_linear(args, cond_p.bind(0, *known, *cts, branches=backwards))]',
)
edit(
    'the backward loop runs forward',
    'The cotangent comes from the last turn.',
    '        reverse=not reverse, num_consts=0',
    '        reverse=reverse, num_consts=0',
)
edit(
    'a while loop has the derivative zero',
    'How many turns would have to be remembered?',
    'splits[eqn.primitive](eqn, flags)',
    'splits[eqn.primitive](eqn, flags) if eqn.primitive is not while_p else (eqn, eqn, [False] * len(eqn.outvars))',
)
edit(
    'an array is summed by itself',
    'The derivative of an array is no gradient.',
    '        if out.shape != ():\n            raise TypeError(f"Gradient',
    '        if False:\n            raise TypeError(f"Gradient',
)
