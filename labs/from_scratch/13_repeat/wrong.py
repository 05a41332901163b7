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
    'The number of turns depends on data.',
    '    carry, tree = flatten(init)\n    body, _, carry',
    '    for _ in range(4):\n        trace_tree(body_fun, TreeDef(tuple, None, (flatten(init)[1],)), [as_value(x).aval for x in flatten(init)[0]])\n    carry, tree = flatten(init)\n    body, _, carry',
)
edit(
    'loops close over nothing',
    'The body uses what is traced around it.',
    '    body_consts, [body] = hoist(body)\n',
    '    body_consts, body = [], ClosedJaxpr(body.jaxpr, [as_value(0.0) if isinstance(x, Tracer) else x for x in body.consts])\n',
)
edit(
    'the carry has the type that it came with',
    'The body returns an array of another shape. Where does it go round?',
    '            if (x.aval.shape, x.aval.dtype) != (out.shape, out.dtype) and not (x.aval.weak_type and x.shape == out.shape):',
    '            if False:',
)
edit(
    'the test is whatever Python takes for true',
    'A test that returns an array of three.',
    '    if [(a.shape, a.dtype) for a in test.out_avals] != [((), BOOL)]:',
    '    if False:',
)
