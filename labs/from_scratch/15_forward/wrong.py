"""Wrong versions of rung 15, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'the derivative of cos is sin',
    'Draw cos near zero: does it rise?',
    'lambda x, out, t: -t * numpy.sin(x)',
    'lambda x, out, t: t * numpy.sin(x)',
)
edit(
    'only the first operand moves',
    'x * y: what if y moves?',
    '    "mul": by_partials(lambda x, y, out, t: t * y, lambda x, y, out, t: x * t)',
    '    "mul": by_partials(lambda x, y, out, t: t * y, lambda x, y, out, t: x * t * 0.0)',
)
edit(
    'constants move',
    'What does not depend on the argument has a tangent of zeros.',
    '    out_dots = [numpy.zeros_like(x) if t is None else t for x, t in zip(outs, out_dots, strict=True)]',
    '    out_dots = [numpy.ones_like(x) if t is None else t for x, t in zip(outs, out_dots, strict=True)]',
)
edit(
    'a maximum moves as all of its operands do',
    'Only one of the operands is the maximum.',
    '    return [out], [numpy.sum(t * is_there, axes) / numpy.sum(is_there, axes)]',
    '    return [out], [numpy.sum(t, axes)]',
)
edit(
    'tangents of two derivatives are mixed up',
    'Two derivatives, one in the other. Whose tangent is it?',
    '        pairs = [x.data if type(x) is Tracer and x.trace is self else (x, None) for x in args]\n        primals, tangents = [p for p',
    '        pairs = [x.data if type(x) is Tracer and isinstance(x.trace, JVPTrace) else (x, None) for x in args]\n        primals, tangents = [p for p',
)
edit(
    "a loop's tangent is that of its first turn",
    'The tangent goes round with the carry.',
    '        out = jvp_closed(body, consts + carry + list(rows))[1][: len(carry)]\n        more = [a or b for a, b in zip(carry, out, strict=True)]',
    '        more = carry',
)
