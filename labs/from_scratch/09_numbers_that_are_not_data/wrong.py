"""Wrong versions of rung 09, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'static arguments are traced, too',
    'Can `range(n)` be asked of a tracer?',
    '        if not self.nums and not self.names:\n            return super().split(args, kwargs)',
    '        return super().split(args, kwargs)',
)
edit(
    'keywords are never static',
    'f(x, n=2), with `n` static.',
    '        statics += [(name, kwargs[name]) for name in sorted(self.names) if name in kwargs]\n',
    '        self.names = set()\n',
)
edit(
    'numbers and names have nothing to do with each other',
    '`static_argnums=1`, and the call says `n=2`.',
    '        self.nums = {n % len(parameters) if n < 0 else n for n in nums} | {parameters.index(n) for n in names if n in parameters}\n        self.names = {*names, *(parameters[n] for n in self.nums if n < len(parameters))}',
    '        self.nums, self.names = set(nums), set(names)',
)
edit(
    'static values are not in the key',
    'f(x, 1), then f(x, 2): the same program?',
    '[(where, type(value), value) for where, value in statics]',
    '[(where, type(value), Alike(value)) for where, value in statics]',
)
edit(
    'the same means the same object',
    'Two equal tuples that are not one object.',
    '[(where, type(value), value) for where, value in statics]',
    '[(where, id(value), value) for where, value in statics]',
)
edit(
    'equal values are the same argument',
    '1 == 1.0 == True.',
    '[(where, type(value), value) for where, value in statics]',
    '[(where, None, value) for where, value in statics]',
)
edit(
    'what does not hash is turned into text',
    '[1, 2] does not hash. Whose mistake is it, and who should say so?',
    '                hash(value)\n',
    '                hash(str(value))\n',
)
