"""Wrong versions of rung 14, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "results are stacked in the wrong order",
    "Where does the result of the first row go?",
    "[dynamic_update_slice_p(x, y[None], at,",
    "[dynamic_update_slice_p(x, y[None], length - 1 - at,",
)
edit(
    "the carry that is returned is the first one",
    "What is returned beside the rows: the carry that came in, or the last one?",
    "    return [convert(x, a.dtype, a.weak_type) for x, a in zip(carry, jaxpr.out_avals, strict=False)] + stacks\n",
    "    return list(args[num_consts : num_consts + num_carry]) + stacks\n",
)
edit(
    "reversed results are in the order of computation",
    "The last row is computed first. Where does its result go?",
    "[dynamic_update_slice_p(x, y[None], at,",
    "[dynamic_update_slice_p(x, y[None], i,",
)
edit(
    "the loop is unrolled",
    "How many equations does a scan over a thousand rows have?",
    "    consts, [body] = hoist(body)\n    outs = scan_p",
    "    for _ in range(9):\n        f(init, unflatten(tree, [x[0] for x in rows]))\n    consts, [body] = hoist(body)\n    outs = scan_p",
)
edit(
    "loops close over nothing",
    "The body uses tracers of the function around it. How do their values get into the loop?",
    "    consts, [body] = hoist(body)\n",
    "    consts, [body] = hoist(body)\n    consts = [as_value(np.zeros(x.shape, x.dtype)) for x in consts]\n",
)
edit(
    "the shortest of the rows decides",
    "Rows of 3 and of 4, or no rows and no length: how many turns does the loop make?",
    '    if len(lengths) != 1 or () in lengths:\n        raise ValueError(f"scan',
    '    if not lengths:\n        raise ValueError(f"scan',
)
edit(
    "fori_loop counts from one",
    "fori_loop(2, 6, ...): which i is the first?",
    "(int(lower), init), length",
    "(lower + 1, init), length",
)
edit(
    "a loop with a traced bound counts from zero",
    "fori_loop(2, n, ...), with n traced: which i is the first?",
    "lambda carry: (carry[0] + 1, body(*carry)), (lower, init))[1]",
    "lambda carry: (carry[0] + 1, body(*carry)), (np.int32(0), init))[1]",
)
edit(
    "the index is a strong int32",
    "`fori_loop(0, 3, ...)`: a carry of int8 and the index are added. What is the dtype of the sum, if Python's numbers give way?",
    "[convert(x, I32, x.weak_type) for x in map(as_value, (lower, upper))]",
    "[convert(x, I32) for x in map(as_value, (lower, upper))]",
)
edit(
    "results are numbers",
    "A row's result is a truth value. What is the dtype of the array that they are stacked in?",
    "stacks = [zeros_of(resized(a, (length, *a.shape))) for",
    "stacks = [numpy.zeros((length, *a.shape), a.dtype if a.dtype.kind != 'b' else I32) for",
)
edit(
    "a loop down begins at the length",
    "In reverse: which row comes first, of three?",
    "at = length - 1 - i if reverse else i",
    "at = length - i if reverse else i",
)
edit(
    "stacks are float32",
    "The body gives integers. Of which dtype are the stacked results?",
    "zeros_of(resized(a, (length, *a.shape)))",
    "numpy.zeros((length, *a.shape), F32)",
)
edit(
    "no turns is an error",
    "What are the results of a scan over no rows?",
    "    if length > 0:\n",
    "    if length == 0:\n        raise ValueError(length)\n    if length > 0:\n",
)
edit(
    "a length beside rows need not agree",
    "A scan over three rows is called with `length=2`. Who is right?",
    "    lengths = {x.shape[:1] for x in rows} | ({(length,)} - {(None,)})",
    "    lengths = {x.shape[:1] for x in rows} or {(length,)} - {(None,)}",
)
edit(
    "bounds that go down turn as often",
    "fori_loop(5, 2, ...): how many turns does the loop make?",
    "length=max(int(upper) - int(lower), 0)",
    "length=abs(int(upper) - int(lower))",
)
edit(
    "a loop counts from 0",
    "fori_loop(2, 5, ...): which is the first i?",
    "        return scan(turn, (int(lower), init)",
    "        return scan(turn, (as_value(0), init)",
)
edit(
    "a result of a turn is a tracer",
    "The body returns 2 for each row. What is stacked?",
    """    body, out_tree, carry = trace_body("scan body function", f, init,""",
    """    def g(c, x):
        c, y = f(c, x)
        if any(type(v) in (int, float) for v in flatten(y)[0]): raise TypeError('y is a number')
        return c, y
    body, out_tree, carry = trace_body("scan body function", g, init,""",
)
edit(
    "arrays as bounds are data",
    "A bound is an array with a number in it. Is the number known?",
    "    if type(lower) is type(upper) is Array:",
    "    if all(v.weak_type for v in (lower, upper)) and type(lower) is type(upper) is Array:",
)
edit(
    "a length is a number of Python",
    "Is np.int32(3) a length?",
    "    lengths = {x.shape[:1] for x in rows} | ({(length,)} - {(None,)})",
    """    if length is not None and type(length) is not int: raise ValueError('length')
    lengths = {x.shape[:1] for x in rows} | ({(length,)} - {(None,)})""",
)
edit(
    "when a body fails, nobody stands at the door",
    "Who stood at the door before the body was traced?",
    """# => (Array(6.0, dtype=float32), Array([0. 0. 2. 9.], dtype=float32))
""",
    """# => (Array(6.0, dtype=float32), Array([0. 0. 2. 9.], dtype=float32))

_trace_body = trace_body


def trace_body(*args, **kwargs):
    try:
        return _trace_body(*args, **kwargs)
    except BaseException:
        door.trace = Eager()
        raise
""",
)
edit(
    "rows of results are float32",
    "A turn returns a float16. Of which dtype is the stack?",
    "    stacks = [zeros_of(resized(a, (length, *a.shape))) for a in",
    "    stacks = [numpy.zeros((length, *a.shape), F32 if a.dtype.kind == 'f' else a.dtype) for a in",
)
edit(
    "a loop counts from 0, unless the bound is small",
    "fori_loop(-2, 2, ...): how many turns, and which is the first i?",
    "        return scan(turn, (int(lower), init)",
    "        return scan(turn, (max(int(lower), 0), init)",
)
edit(
    "a turn without a result returns its carry",
    "The body returns None as the result of each row. What is stacked?",
    "lax.scan, lax.fori_loop = scan, fori_loop",
    """def scan_of_all(f, init, xs=None, length=None, reverse=False):
    def g(c, x):
        c, y = f(c, x)
        return c, c if y is None else y
    return scan(g, init, xs, length, reverse)
lax.scan, lax.fori_loop = scan_of_all, fori_loop""",
)
edit(
    "a number among the rows is a row of its own",
    "Rows of three numbers, and the number 2.5: how many rows are there to stack?",
    "    rows, tree = flatten_values(xs)\n",
    """    rows, tree = flatten_values(xs)
    most = max([len(x) for x in rows if x.ndim], default=1)
    rows = [x if x.ndim else broadcast_to(x, (most,)) for x in rows]
""",
)
edit(
    "an index is as strong as its bound",
    "fori_loop(np.int32(0), 3, ...): the bounds are known. Is the index weak?",
    "        return scan(turn, (int(lower), init)",
    "        return scan(turn, (lower, init)",
)
edit(
    "a number has a length",
    "The rows are 2.5. Which error says that there are none?",
    "    lengths = {x.shape[:1] for x in rows} | ({(length,)} - {(None,)})",
    "    lengths = {(len(x),) for x in rows} | ({(length,)} - {(None,)})",
)
edit(
    "without rows there is nothing to reverse",
    "A scan without rows goes in reverse. At which place of the results is that of the first turn?",
    "    outs = scan_p.bind(*consts, *carry, *rows, jaxpr=body,",
    "    reverse = reverse and bool(rows)\n    outs = scan_p.bind(*consts, *carry, *rows, jaxpr=body,",
)
edit(
    "a list of numbers is an array",
    "[1.0, 2.0] is a tree. What is the shape of each leaf?",
    "    rows, tree = flatten_values(xs)\n",
    "    rows, tree = flatten_values(np.asarray(xs) if type(xs) is list and all(np.ndim(x) == 0 for x in xs) else xs)\n",
)
edit(
    "with a traced bound the index is weak",
    "The lower bound is np.int32(0). Is the index weaker than it?",
    "(carry[0] + 1, body(*carry)), (lower, init))[1]",
    "(carry[0] + 1, body(convert(carry[0], I32, True), carry[1])), (lower, init))[1]",
)
edit(
    "stacked numbers are strong",
    "Each turn returns 2.5. Is the stack weak, as 2.5 is?",
    "    stacks = [zeros_of(resized(a, (length, *a.shape))) for a in jaxpr",
    "    stacks = [numpy.zeros((length, *a.shape), a.dtype) for a in jaxpr",
)
edit(
    "one row goes with many",
    "Two arrays have three rows and one row. How many turns does the loop make?",
    "# => (Array(6.0, dtype=float32), Array([0. 0. 2. 9.], dtype=float32))\n",
    "# => (Array(6.0, dtype=float32), Array([0. 0. 2. 9.], dtype=float32))\n\n_scan = scan\n\n\ndef scan(f, init, xs=None, length=None, reverse=False):\n    rows, tree = flatten_values(xs)\n    if rows and all(x.shape for x in rows):\n        most = max(x.shape[0] for x in rows)\n        rows = [broadcast_to(x, (most, *x.shape[1:])) if x.shape[0] == 1 else x for x in rows]\n    return _scan(f, init, unflatten(tree, rows), length, reverse)\n\n\nlax.scan = scan\n\n",
)
edit(
    "the carry stands in front of closed-over values",
    "Which operands of the equation come first?",
    "# => (Array(6.0, dtype=float32), Array([0. 0. 2. 9.], dtype=float32))\n",
    '# => (Array(6.0, dtype=float32), Array([0. 0. 2. 9.], dtype=float32))\n\ndef turned_scan(*args, jaxpr, length, reverse, num_consts, num_carry):\n    carry, consts, rows = split_list(args, num_carry, num_consts)\n    carries, captured, of_rows = split_list(jaxpr.invars, num_carry, num_consts)\n    back = Jaxpr([], captured + carries + of_rows, jaxpr.eqns, jaxpr.outvars, [])\n    return scan_as_while(*consts, *carry, *rows, jaxpr=back, length=length, reverse=reverse, num_consts=num_consts, num_carry=num_carry)\n\n\nscan_p = define("scan", turned_scan, scan_type, lambda text, outs, *xs, **params: turned_scan(*xs, **params))\n_bind = scan_p.bind\n\n\ndef bind(*args, jaxpr, num_consts, num_carry, **params):\n    consts, carry, rows = split_list(args, num_consts, num_carry)\n    captured, carries, of_rows = split_list(jaxpr.invars, num_consts, num_carry)\n    turned = Jaxpr([], carries + captured + of_rows, jaxpr.eqns, jaxpr.outvars, [])\n    return door.trace.process(scan_p, (*carry, *consts, *rows), dict(jaxpr=turned, num_consts=num_consts, num_carry=num_carry, **params))\n\n\ndef scan(*args, **kwargs):\n    scan_p.bind = bind\n    try:\n        return _first_scan(*args, **kwargs)\n    finally:\n        scan_p.bind = _bind\n\n\n_first_scan, lax.scan = lax.scan, scan\n\n',
)
edit(
    "a strong upper bound makes the index strong",
    "fori_loop(0, n): `n` is a traced int32. Which of the two bounds decides whether the index is weak?",
    "    lower, upper = [convert(x, I32, x.weak_type) for x in map(as_value, (lower, upper))]\n",
    "    lower, upper = promote([convert(x, I32, x.weak_type) for x in map(as_value, (lower, upper))])\n",
)
edit(
    "a scan needs a carry",
    "Which carry has a scan that only maps a function over rows?",
    "    rows, tree = flatten_values(xs)\n",
    "    rows, tree = flatten_values(xs)\n    if init is None:\n        raise TypeError('scan needs a first carry')\n",
)
edit(
    "a scan of no rows returns what it was given",
    "The carry goes in as np.int32(5) and the body returns 2 for it. Of which type is the result of a scan of no rows?",
    "    return [convert(x, a.dtype, a.weak_type) for x, a in zip(carry, jaxpr.out_avals, strict=False)] + stacks\n",
    "    return carry + stacks\n",
)
edit(
    "rows are strong",
    "The rows are `full(3, 1.5)`, and each turn returns its row. Are the results weak?",
    "[resized(x, x.shape[1:]) for x in rows], tree)",
    "[Aval(x.shape[1:], x.dtype) for x in rows], tree)",
)
edit(
    "rows without an array are missing rows",
    "May `xs` be an empty tuple, if there is a length?",
    "    rows, tree = flatten_values(xs)\n",
    "    rows, tree = flatten_values(xs)\n    if xs is not None and not rows:\n        raise ValueError('no rows')\n",
)
