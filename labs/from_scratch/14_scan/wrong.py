"""Wrong versions of rung 14, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "results are stacked in the wrong order",
    "Where does the result of the first row lie?",
    "[with_row(x, at, y) for x, y in",
    "[with_row(x, length - 1 - at, y) for x, y in",
)
edit(
    "the carry is the first",
    "What is returned beside the rows: the carry that came in, or the last one?",
    "    return carry + stacks\n",
    "    return list(args[num_consts : num_consts + num_carry]) + stacks\n",
)
edit(
    "reversed results lie in the order of computation",
    "The last row is computed first. Where does its result lie?",
    "[with_row(x, at, y) for x, y in",
    "[with_row(x, i, y) for x, y in",
)
edit(
    "the loop is unrolled",
    "How many equations has a scan over a thousand rows?",
    "    consts, [body] = hoist(body)\n    outs = scan_p",
    "    for _ in range(9):\n        f(init, unflatten(tree, [x[0] for x in rows]))\n    consts, [body] = hoist(body)\n    outs = scan_p",
)
edit(
    "loops close over nothing",
    "The body uses what is traced around it. How does that come into the loop?",
    "    consts, [body] = hoist(body)\n",
    "    consts, [body] = hoist(body)\n    consts = [as_value(np.zeros(x.shape, x.dtype)) for x in consts]\n",
)
edit(
    "the shortest of the rows decides",
    "Rows of 3 and of 4, or no rows and no length: how many turns?",
    '    if len(lengths) != 1:\n        raise ValueError(f"scan',
    '    if not lengths:\n        raise ValueError(f"scan',
)
edit(
    "fori_loop counts from one",
    "fori_loop(2, 6, ...): which i is the first?",
    "(np.int32(lower), init), length",
    "(np.int32(lower + 1), init), length",
)
