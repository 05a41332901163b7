"""Wrong versions of rung 14, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'results are stacked in the wrong order',
    'Where does the result of the first row lie?',
    '    columns = zip(*rows[:: -1 if reverse else 1], strict=True)',
    '    columns = zip(*rows[::-1], strict=True)',
)
edit(
    'the carry is the first',
    'What is returned beside the rows: the carry that came in, or the last one?',
    '        carry = outs[:num_carry]\n        rows.append',
    '        rows.append',
)
edit(
    'reversed results lie in the order of computation',
    'The last row is computed first. Where does its result lie?',
    '    columns = zip(*rows[:: -1 if reverse else 1], strict=True)',
    '    columns = zip(*rows, strict=True)',
)
edit(
    'the loop is unrolled',
    'How many equations has a scan over a thousand rows?',
    '    consts, [body] = hoist(body)\n    outs = scan_p',
    '    for _ in range(9):\n        f(unflatten(tree, carry), unflatten(xs_tree, [x[0] for x in rows]))\n    consts, [body] = hoist(body)\n    outs = scan_p',
)
edit(
    'loops close over nothing',
    'The body uses what is traced around it.',
    '    consts, [body] = hoist(body)\n    outs = scan_p',
    '    consts, body = [], ClosedJaxpr(body.jaxpr, [as_value(0.0) if isinstance(x, Tracer) else x for x in body.consts])\n    outs = scan_p',
)
edit(
    'the shortest of the rows decides',
    'Rows of 3 and of 4.',
    '    if len(lengths) != 1:\n        raise ValueError(f"scan',
    '    if not lengths:\n        raise ValueError(f"scan',
)
edit(
    'fori_loop counts from one',
    'fori_loop(2, 6, ...): the first i is 2.',
    '(numpy.int32(lower), init), length',
    '(numpy.int32(lower + 1), init), length',
)
