"""Wrong versions of rung 13, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "the test is made after the turn",
    "Does a loop run whose test is false from the beginning?",
    "    while as_function(cond_jaxpr)(*consts, *carry)[0]:\n",
    "    carry = as_function(body_jaxpr)(*consts, *carry)\n    while as_function(cond_jaxpr)(*consts, *carry)[0]:\n",
)
edit(
    "the loop is unrolled while tracing",
    "The number of turns depends on data. How often can Python have called the body?",
    '    body, out_tree, carry = trace_body("body_fun"',
    '    for _ in range(4):\n        trace_body("body_fun", lambda carry, _: (body_fun(carry), None), init, [], flatten(None)[1])\n    body, out_tree, carry = trace_body("body_fun"',
)
edit(
    "loops close over nothing",
    "The body uses what is traced around it. How does that get into the loop?",
    "    consts, [test, body] = hoist(test, body)\n",
    "    consts, [test, body] = hoist(test, body)\n    consts = [as_value(np.zeros(x.shape, x.dtype)) for x in consts]\n",
)
edit(
    "the carry always has the type that it came in with",
    "The body returns an array of another shape. Can the next turn take it?",
    '    must_agree(f"{name} carry input',
    '    0 and must_agree(f"{name} carry input',
)
edit(
    "any test that Python takes for true will do",
    "A test that returns an array of three: does the loop go on?",
    '    must_agree("cond_fun output',
    '    0 and must_agree("cond_fun output',
)
edit(
    "weak numbers are made strong until none changes",
    "After the second trace another part comes out with another type. JAX does not trace a third time. What does it do?",
    "rows_tree, again=False)",
    "rows_tree)",
)
edit(
    "a loop turns once at least",
    "The condition is false at once. How often does the body run?",
    "    while as_function(cond_jaxpr)(*consts, *carry)[0]:\n        carry = as_function(body_jaxpr)(*consts, *carry)\n    return carry",
    "    while True:\n        carry = as_function(body_jaxpr)(*consts, *carry)\n        if not as_function(cond_jaxpr)(*consts, *carry)[0]:\n            return carry",
)
edit(
    "a carry is a list of leaves",
    "The carry is a dict. What comes back?",
    "    return unflatten(out_tree, outs)[0]\n\n\nlax.while_loop",
    "    return list(outs) if len(outs) > 1 else unflatten(out_tree, outs)[0]\n\n\nlax.while_loop",
)
edit(
    "a strong number gives way, too",
    "A float32 goes in, and a float16 comes out: who may be converted?",
    "convert(x, a.dtype, a.weak_type) if x.weak_type else x for x, a",
    "convert(x, a.dtype, a.weak_type) for x, a",
)
edit(
    "a shape is not a type",
    "f32[3] goes in, f32[] comes out. Is the carry the same?",
    "[(a.shape, a.dtype) for a in avals] != [(a.shape, a.dtype) for a in others]",
    "[a.dtype for a in avals] != [a.dtype for a in others]",
)
edit(
    "a carry's structure is its leaves",
    "A tuple goes in, a list comes out. Has the carry kept its structure?",
    "    if tree != other_tree or [(a.shape",
    "    if [(a.shape",
)
edit(
    "one condition for many examples",
    "The condition is an array of three truth values. Does the loop go on?",
    'must_agree("cond_fun output and a boolean scalar", test.out_avals, [Aval((), BOOL)], tree, LEAF)',
    'must_agree("cond_fun output and a boolean scalar", [a.dtype for a in test.out_avals] and [Aval((), a.dtype) for a in test.out_avals], [Aval((), BOOL)], tree, LEAF)',
)
edit(
    "the carry is written in the order of the dict",
    "In the regions' arguments, which name belongs to which part?",
    'region(text, jaxpr, consts + xs, f"^bb0({declared}):\\n")',
    'region(text, jaxpr, consts + xs[::-1], f"^bb0({declared}):\\n")',
)
