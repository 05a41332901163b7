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
