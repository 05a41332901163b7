import functools
import inspect
import weakref

import numpy as np
import xla

from .control import JitCall, is_traced
from .jaxprs import hoisted, trace_tree
from .trees import flatten, unflatten
from .values import Number, thing
from .writing import text_of

KEPT = weakref.WeakKeyDictionary()


def jit(f, static_argnums=(), static_argnames=()):
    """Return a function that looks its trace up in a dict, whose key is all that a trace depends on."""
    parameters = inspect.signature(f).parameters.values()
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    nums = {static_argnums} if isinstance(static_argnums, int) else set(static_argnums)
    names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)
    nums = {n + len(places) if n < 0 else n for n in nums} | {places.index(n) for n in names if n in places}
    names |= {places[n] for n in nums if n < len(places)}

    @functools.wraps(f)
    def call(*args, **kwargs):
        fixed = {i: args[i] for i in nums if i < len(args)} | {k: v for k, v in kwargs.items() if k in names}
        try:
            key = frozenset((where, type(x), x) for where, x in fixed.items())
        except TypeError as error:
            raise ValueError(f"a static argument does not hash: {error}") from None
        rest = ([x for i, x in enumerate(args) if i not in fixed], {k: v for k, v in kwargs.items() if k not in fixed})
        leaves, structure = flatten(rest)
        leaves = [thing(x) for x in leaves]
        known = KEPT.setdefault(f, {})
        signature = (key, structure, tuple(x.aval for x in leaves))
        program, out = known.get(signature) or build(f, fixed, structure, signature[2])
        if is_traced(program, ()):  # its constants are tracers of a trace that will end
            outer, [program] = hoisted(program)
            return unflatten(out, JitCall(program, f.__name__).all(*outer, *leaves))
        known[signature] = program, out
        if is_traced(program, leaves):
            return unflatten(out, JitCall(program, f.__name__).all(*leaves))
        if not hasattr(program, "compiled"):
            program.compiled = xla.compile(text_of(program))
        for x in leaves:
            x.on_machine = x.on_machine or xla.put(x.numbers)
        buffers = program.compiled([x.on_machine for x in leaves])
        avals = [v.aval for v in program.jaxpr.outvars]
        return unflatten(out, [Number(np.asarray(b), a.weak_type, b) for b, a in zip(buffers, avals, strict=True)])

    return call


def build(f, fixed, structure, avals):
    def whole(*rest):
        args, kwargs = list(rest[0]), dict(rest[1])
        for where in sorted(w for w in fixed if isinstance(w, int)):
            args.insert(where, fixed[where])
        return f(*args, **kwargs, **{w: x for w, x in fixed.items() if isinstance(w, str)})

    return trace_tree(whole, (tuple, None, structure[2]), avals)
