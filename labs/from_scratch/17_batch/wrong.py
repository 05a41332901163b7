"""Wrong versions of rung 17, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'the batch is a loop of Python',
    'As many equations for 50 examples as for 2.',
    '        outs = vmap_flat(flat, sizes.pop(), [axis is not None for axis in per_leaf], leaves)',
    '        n = sizes.pop()\n        rows = [flat(*[x[i] if axis is not None else x for x, axis in zip(leaves, per_leaf)]) for i in range(n)]\n        outs = [concatenate([reshape(as_value(r[k]), (1, *as_value(r[k]).shape)) for r in rows]) for k in range(len(rows[0]))]',
)
edit(
    'the batch is always the first axis',
    'in_axes=1: where is the batch?',
    '        leaves = [x if axis is None else move_axis(x, axis, 0) for x, axis in zip(leaves, per_leaf, strict=True)]',
    '        leaves = [x if axis is None else reshape(x, (x.shape[axis], *without(x.shape, (axis,)))) for x, axis in zip(leaves, per_leaf, strict=True)]',
)
edit(
    'None is axis 0',
    'None: the same for all examples.',
    '    return [axis] * len(flatten(x)[0])\n',
    '    return [axis or 0] * len(flatten(x)[0])\n',
)
edit(
    'the batch takes part in broadcasting',
    'f32[3] and f32[] in each of 3 examples.',
    '        return p.bind(*[reshape(x, (size, *[1] * (ndim + 1 - x.ndim), *x.shape[1:])) if b else x',
    '        return p.bind(*[x if b else x',
)
edit(
    '`@` of two batches multiplies all with all',
    'Example i of one with example i of the other.',
    '    return [contract(x, "z" * flags[0] + xs, y, "z" * flags[1] + ys, "z" + out)]',
    '    return [contract(x, "z" * flags[0] + xs, y[0] if all(flags) else y, ("z" * flags[1] + ys)[all(flags):], "z" + out)]',
)
edit(
    'axes are counted with the batch',
    'sum over axis 0 of an example is over axis 1 of the batch.',
    'p.bind(x, axes=shifted(axes))',
    'p.bind(x, axes=axes)',
)
edit(
    'the first example decides for all',
    'Each example has a decision of its own.',
    '    results = [as_function(closed)(*xs) for closed in closeds]\n',
    '    return cond_p.bind(index[0], *xs, branches=tuple(closeds))\n    results = [as_function(closed)(*xs) for closed in closeds]\n',
)
edit(
    'examples that are done go on',
    'The loop goes on for others.',
    '        return [pick(which, new, old) for new, old in zip(as_function(body)(*for_body, *now), now, strict=True)]',
    '        return as_function(body)(*for_body, *now)',
)
edit(
    'batches within batches are one batch',
    'Two batches, one in the other. Whose tracer is it?',
    '        flags = [type(x) is Tracer and x.trace is self for x in args]\n',
    '        flags = [type(x) is Tracer and isinstance(x.trace, BatchTrace) for x in args]\n',
)
edit(
    'the smallest batch decides',
    'Batches of 3 and of 4.',
    '        if len(sizes) != 1:\n            raise ValueError(f"vmap',
    '        if False:\n            raise ValueError(f"vmap',
)
