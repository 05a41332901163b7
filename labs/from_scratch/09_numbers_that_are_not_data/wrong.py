"""Wrong versions of rung 09, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'static arguments are traced, too',
    'Can `range(n)` be asked of a tracer?',
    '        args = [self.static(i, x) if i in self.nums else x for i, x in enumerate(args)]\n        kwargs',
    '        return super().split(args, kwargs)\n        kwargs',
)
edit(
    'keywords are never static',
    'f(x, n=2), with `n` static: is 2 taken out before the leaves are traced?',
    'self.static(name, x) if name in self.names else x',
    'x',
)
edit(
    'numbers and names have nothing to do with each other',
    '`static_argnums=1`, and the call says `n=2`: who knows that these are the same argument?',
    '        self.nums = {n % len(known) if n < 0 else n for n in nums} | {known.index(n) for n in names if n in known}\n        self.names = {*names, *[known[n] for n in self.nums if n < len(known)]}',
    '        self.nums, self.names = set(nums), set(names)',
)
edit(
    'static values are not in the key',
    'f(x, 1), then f(x, 2): the same program?',
    'containers[Static] = (lambda x: ((), (type(x.value), x.value)),',
    'class Alike:\n    def __init__(self, value):\n        self.value = value\n\n    def __eq__(self, other):\n        return True\n\n    def __hash__(self):\n        return 0\n\n\ncontainers[Static] = (lambda x: ((), (type(x.value), Alike(x.value))),',
)
edit(
    'the same means the same object',
    'Two equal tuples that are not one object: one program, or two?',
    '(type(x.value), x.value)',
    '(id(x.value), x.value)',
)
edit(
    'equal values are the same argument',
    '1 == 1.0 == True. Is a program for one of them right for the others?',
    '(type(x.value), x.value)',
    '(None, x.value)',
)
edit(
    'what does not hash is turned into text',
    '[1, 2] does not hash. Whose mistake is it, and who should say so?',
    '            hash(value)\n',
    '            hash(str(value))\n',
)
