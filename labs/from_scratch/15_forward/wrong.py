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
    'by_partials(P.mul, lambda x, y, out, t: t * y, lambda x, y, out, t: x * t)',
    'by_partials(P.mul, lambda x, y, out, t: t * y, lambda x, y, out, t: x * t * 0.0)',
)
edit(
    'constants move',
    'What does not depend on the argument has a tangent of zeros.',
    'unflatten(flat.out_tree, list(map(zero_for_none, dots, outs)))',
    'unflatten(flat.out_tree, [numpy.ones_like(x) if t is None else t for t, x in zip(dots, outs, strict=True)])',
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
    '        return x.data if belongs(x, self) else (x, None)',
    '        return x.data if type(x) is Tracer and isinstance(x.trace, JVPTrace) else (x, None)',
)
edit(
    "a loop's tangent is that of its first turn",
    'The tangent goes round with the carry.',
    '        return outs, filled(moved, outs)',
    '        return outs, state[1]',
)
