"""Wrong versions of rung 13, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "the test is made after the turn",
    "Does the body of a loop run whose test is false from the beginning?",
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
    "The body uses tracers of the function around it. How do their values get into the loop?",
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
    "    while as_function(cond_jaxpr)(*consts, *carry)[0]:\n        carry = as_function(body_jaxpr)(*consts, *carry)\n    return [convert(",
    "    while True:\n        carry = as_function(body_jaxpr)(*consts, *carry)\n        if not as_function(cond_jaxpr)(*consts, *carry)[0]:\n            break\n    return [convert(",
)
edit(
    "a carry is a list of leaves",
    "The carry is a dict. What comes back?",
    "    return unflatten(out_tree, outs)[0]\n\n\nlax.while_loop",
    "    return list(outs) if len(outs) > 1 else unflatten(out_tree, outs)[0]\n\n\nlax.while_loop",
)
edit(
    "a strong number gives way, too",
    "A float32 goes in, and a float16 comes out: may either of them be converted?",
    "strengthened(x, a) if x.weak_type else x for x, a",
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
edit(
    "a weak number becomes a float32",
    "1.0 goes in, and a float16 comes out. Which dtype does the weak number take?",
    "    strong = [strengthened(x, a) if x.weak_type else x for x, a in zip(carry, outs, strict=False)]",
    "    strong = [convert(x, *common_type((x.aval, Aval(a.shape, F32) if a.dtype == np.float16 else a), False)[:2]) if x.weak_type else x for x, a in zip(carry, outs, strict=False)]",
)
edit(
    "the test is a tracer",
    "The test returns False, whatever the carry is. Is that a truth value?",
    "    test, tree = trace_tree(cond_fun, TreeDef",
    """    def only_tracers(c):
        out = cond_fun(c)
        if isinstance(out, (bool, np.bool_)): raise TypeError('the condition does not depend on the carry')
        return out
    test, tree = trace_tree(only_tracers, TreeDef""",
)
edit(
    "a list is as good as a tuple",
    "A tuple goes in, and a list comes out. Is that the same structure?",
    """    body, out_tree, carry = trace_body("body_fun", lambda carry, _: (body_fun(carry), None), init, [], flatten(None)[1])""",
    """    same = lambda out: type(init)(out) if type(out) in (list, tuple) and type(init) in (list, tuple) else out
    body, out_tree, carry = trace_body("body_fun", lambda carry, _: (same(body_fun(carry)), None), init, [], flatten(None)[1])""",
)
edit(
    "what comes out is converted back",
    "A float16 goes in, and a float32 comes out. What would be lost if that were converted back?",
    '    must_agree(f"{name} carry input and carry output"',
    "    if again and returned == (tree,) and any(a.dtype != x.dtype and a.dtype.kind == 'f' for a, x in zip(outs, carry)) and all(a.shape == x.shape for a, x in zip(outs, carry)) and all(x.dtype.kind == 'f' for x, a in zip(carry, outs) if a.dtype != x.dtype):\n        g = lambda c, r: (lambda o: (unflatten(tree, [convert(as_value(v), x.dtype, x.weak_type) for v, x in zip(flatten(o[0])[0], carry)]), o[1]))(f(c, r))\n        return trace_body(name, g, unflatten(tree, carry), row_avals, rows_tree, again=False)\n    must_agree(f\"{name} carry input and carry output\"",
)
edit(
    "all parts become strong",
    "A weak number goes in, and a weak one comes out. Why should it change?",
    "    strong = [strengthened(x, a) if x.weak_type else x for x, a in zip(carry, outs, strict=False)]",
    "    strong = [convert(x, a.dtype, False) if x.weak_type and name == 'body_fun' else strengthened(x, a) if x.weak_type else x for x, a in zip(carry, outs, strict=False)]",
)
edit(
    "test and body close over the same",
    "The test reads `a`, and the body reads `b`. How many values are closed over?",
    """    consts, [test, body] = hoist(test, body)
    outs = while_p""",
    """    if test.consts and body.consts and len(test.consts) == len(body.consts) == 1 and test.constvars[0].aval == body.constvars[0].aval: test.consts = body.consts
    consts, [test, body] = hoist(test, body)
    outs = while_p""",
)
edit(
    "a loop that does not turn is not traced",
    "When are types compared: before the first turn, or in it?",
    """    body, out_tree, carry = trace_body("body_fun", lambda carry, _: (body_fun(carry), None), init, [], flatten(None)[1])""",
    """    if type(door.trace) is Eager and not any(type(x) is Tracer for x in flatten(init)[0]):
        go = cond_fun(unflatten(flatten(init)[1], flatten_values(init)[0]))
        if type(go) is not Tracer and as_value(go).shape == () and as_value(go).dtype == BOOL and not bool(np.asarray(go)): return unflatten(flatten(init)[1], [convert(v, v.dtype, v.weak_type) for v in flatten_values(init)[0]])
    body, out_tree, carry = trace_body("body_fun", lambda carry, _: (body_fun(carry), None), init, [], flatten(None)[1])""",
)
edit(
    "when a body fails, nobody stands at the door",
    "Who stood at the door before the body was traced?",
    """while_p = define("while", run_while, lambda *avals, body_jaxpr, **params: body_jaxpr.out_avals, lower_while)
""",
    """while_p = define("while", run_while, lambda *avals, body_jaxpr, **params: body_jaxpr.out_avals, lower_while)

_trace_tree = trace_tree


def trace_tree(f, tree, avals):
    try:
        return _trace_tree(f, tree, avals)
    except BaseException:
        door.trace = Eager()
        raise
""",
)
edit(
    "a strong number that comes out weak is another type",
    "Is a float32 that is weak of another dtype than one that is strong?",
    '    must_agree(f"{name} carry input and carry output"',
    "    if name == 'body_fun' and any(a.weak_type and not x.weak_type for x, a in zip(carry, outs)): raise TypeError('weak')\n    must_agree(f\"{name} carry input and carry output\"",
)
edit(
    "None is no part of a carry",
    "Which containers do trees have? How many leaves does None have?",
    """    body, out_tree, carry = trace_body("body_fun",""",
    """    if any(x is None for x in (init if isinstance(init, tuple) else (init.values() if isinstance(init, dict) else ()))): raise TypeError('None')
    body, out_tree, carry = trace_body("body_fun",""",
)
edit(
    "a truth value goes round as an integer",
    "Which dtype does the body get, if the first carry is True?",
    """    body, out_tree, carry = trace_body("body_fun",""",
    """    if as_value(flatten(init)[0][0]).dtype == BOOL and len(flatten(init)[0]) == 1: init = unflatten(flatten(init)[1], [convert(as_value(flatten(init)[0][0]), I32)])
    body, out_tree, carry = trace_body("body_fun",""",
)
edit(
    "values of one type come in any order",
    "The body computes x * a + b. Which of the two closed-over values comes first?",
    """    consts, [test, body] = hoist(test, body)
    outs = while_p""",
    """    consts, [test, body] = hoist(test, body)
    if len(test.consts) == 0 and len(consts) == 2 and consts[0].aval == consts[1].aval and len(test.eqns) > 1: consts = consts[::-1]
    outs = while_p""",
)
edit(
    "a dict comes back in the caller's order",
    "Leaves come in the order of sorted keys. In which order do the values of the result come?",
    """    return unflatten(out_tree, outs)[0]


lax.while_loop""",
    """    out = unflatten(out_tree, outs)[0]
    return dict(zip(init, out.values())) if type(init) is dict else out


lax.while_loop""",
)
edit(
    "a weak number takes any type",
    "1.5 goes in, and an integer comes out. May the loop cut the digits off?",
    "    strong = [strengthened(x, a) if x.weak_type else x for x, a in zip(carry, outs, strict=False)]",
    "    strong = [convert(x, a.dtype, a.weak_type) if x.weak_type else x for x, a in zip(carry, outs, strict=False)]",
)
edit(
    "a weak number that comes out with a shape gets it",
    "0.0 goes in, and f32[1] comes out. Is the carry the same?",
    "    strong = [strengthened(x, a) if x.weak_type else x for x, a in zip(carry, outs, strict=False)]",
    "    strong = [broadcast_to(strengthened(x, a), a.shape) if x.weak_type and x.shape == () and a.ndim == 1 else strengthened(x, a) if x.weak_type else x for x, a in zip(carry, outs, strict=False)]",
)
edit(
    "a truth value may become a number",
    "True goes in, and 2 comes out. Was True weak?",
    "    strong = [strengthened(x, a) if x.weak_type else x for x, a in zip(carry, outs, strict=False)]",
    "    strong = [strengthened(x, a) if x.weak_type or x.dtype == BOOL and a.weak_type else x for x, a in zip(carry, outs, strict=False)]",
)
edit(
    "after a change one more trace",
    "What is not known yet, when the second trace is done?",
    "        return trace_body(name, f, unflatten(tree, strong), row_avals, rows_tree, again=False)\n",
    "        trace_body(name, f, unflatten(tree, strong), row_avals, rows_tree, again=False)\n        return trace_body(name, f, unflatten(tree, strong), row_avals, rows_tree, again=False)\n",
)
edit(
    "each body is traced twice",
    "Nothing goes in weak. How often does the body have to be traced?",
    "    if again and returned == (tree,) and any(x is not y for x, y in zip(carry, strong, strict=True)):",
    "    if again and returned == (tree,):",
)
edit(
    "a result is as weak as what went in",
    "A part of the carry is np.float32(5) at first, and the body returns 2.0 for it. Is the result weak?",
    'while_p = define("while", run_while, lambda *avals, body_jaxpr, **params: body_jaxpr.out_avals, lower_while)',
    'while_p = define("while", run_while, lambda *avals, num_consts, **params: list(avals[num_consts:]), lower_while)',
)
edit(
    "without a turn a result is as weak as what went in",
    "A part of the carry is np.float32(5) at first, the body returns 2.0 for it, and the test is False at once. Is the result weak?",
    "    return [convert(x, a.dtype, a.weak_type) for x, a in zip(carry, body_jaxpr.out_avals, strict=True)]\n",
    "    return carry\n",
)
