"""Wrong versions of rung 13, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'the test is made after the turn',
    'Does a loop run whose test is false from the beginning?',
    '    while as_function(cond_jaxpr)(*cond_consts, *carry)[0]:\n        carry = as_function(body_jaxpr)(*body_consts, *carry)\n',
    '    carry = as_function(body_jaxpr)(*body_consts, *carry)\n    while as_function(cond_jaxpr)(*cond_consts, *carry)[0]:\n        carry = as_function(body_jaxpr)(*body_consts, *carry)\n',
)
edit(
    'the loop is unrolled while tracing',
    'The number of turns depends on data. How often can Python have called the body?',
    '    body, out_tree, carry = trace_body("body_fun"',
    '    for _ in range(4):\n        trace_body("body_fun", lambda carry, _: (body_fun(carry), None), init)\n    body, out_tree, carry = trace_body("body_fun"',
)
edit(
    'loops close over nothing',
    'The body uses what is traced around it. How does that come into the loop?',
    '    body_consts, [body] = hoist(body)\n',
    '    body_consts = []\n    body.consts = [as_value(0.0) if type(x) is Tracer else x for x in body.consts]\n',
)
edit(
    'the carry has the type that it came with',
    'The body returns an array of another shape. Where does it go round?',
    '            if x.shape != out.shape or (x.dtype != out.dtype and not x.weak_type):\n',
    '            if False:\n',
)
edit(
    'the test is whatever Python takes for true',
    'A test that returns an array of three: does the loop go on?',
    '    if [(a.shape, a.dtype) for a in test.out_avals] != [((), BOOL)]:',
    '    if False:',
)
