"""Wrong versions of rung 21, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "what two loops need is computed twice",
    "A loop adds up exponentials, the next one divides each of them. How many exponentials are there for each number?",
    "        return {v: first for v, first in firsts.items() if first is not None and first != needed[v][-1]}\n",
    "        return {}\n",
)
edit("a maximum begins with 0", "What is the largest of -1 and -2?", "lowest)}\n", "lambda dtype: 0)}\n")
edit(
    "a nan is passed over",
    "`a > x ? a : x`, again and again: what becomes of a nan that has come?",
    'reduce_max_p: (FORMULAS["max"],',
    'reduce_max_p: ("{0} > {1} ? {0} : {1}",',
)
edit(
    "everybody has a place of his own",
    "The array of the first step was read for the last time. Which other array could get its bytes?",
    "for o in offsets if lives[o][0] <= last and first <= lives[o][1]]",
    "for o in offsets]",
)
edit(
    "a place is free after the first reader",
    "Two loops read an array. If another array gets its bytes after the first of them, what does the second one find there?",
    "                    self.lives[self.memory[v]][1] = self.number  #",
    "                    life = self.lives[self.memory[v]]\n                    life[1] = self.number if life[0] == life[1] else life[1]  #",
)
edit(
    "a place is free in the step of its last reader",
    "A loop reads a row for each row of the matrix that it writes. May that matrix begin where the row lies?",
    "first <= lives[o][1]]",
    "first < lives[o][1]]",
)
edit(
    "an array of C's own is as good",
    "Who counts the bytes of an array that is declared in C?",
    """        self.lines = [f"{self.types[t]} *{t} = (void *)({self.room} + {at});" for t, at in offsets.items()] + self.lines
""",
    """        places = [f"{self.types[t]} *{t} = (void *)(own_work + {at});" for t, at in offsets.items()]
        self.lines = [f"static char own_work[{self.work + 64}];", *places, *self.lines]
""",
)
edit(
    "a workspace is kept for the next call",
    "The call is over, and its results are there. Who needs the other arrays of the workspace?",
    """    def executable(buffers):
        outs = [cc.alloc(v.aval.shape, v.aval.dtype) for v in jaxpr.outvars]
        run(*buffers, *outs, cc.alloc(writer.work, np.uint8))
""",
    """    kept = cc.alloc(writer.work, np.uint8)

    def executable(buffers):
        outs = [cc.alloc(v.aval.shape, v.aval.dtype) for v in jaxpr.outvars]
        run(*buffers, *outs, kept)
""",
)
edit(
    "nothing is smaller than -3.4e38",
    "What is the largest of -inf and -inf?",
    'reduce_max_p: (FORMULAS["max"], lowest)}',
    'reduce_max_p: (FORMULAS["max"], lambda dtype: -3.4e38 if dtype.kind == "f" else lowest(dtype))}',
)
edit(
    "sums are floats",
    "A float32 has 24 bits for digits. How many bits do the digits of a sum of int32 need?",
    '        lines = [f"{c_type(out.aval)} a = {begin};", *turns,',
    "        lines = [f\"{c_type(out.aval) if eqn.primitive is not reduce_sum_p else 'float'} a = {begin};\", *turns,",
)
edit(
    "any loop can store",
    "A loop over no rows: how often does it store what each row reads?",
    "if steps[n][2] == v.aval.shape), None)",
    "if steps[n][2] is not None and steps[n][2][-len(v.aval.shape):] == v.aval.shape), None)",
)
edit(
    "a sum of truth values is a truth value",
    "The sum of three truth values counts those that are true. Is a count a truth value?",
    """        x = convert(x, narrow(np.sum(np.zeros(0, x.dtype)).dtype) if op == "add" else x.dtype)
""",
    "",
)
edit(
    "nothing is smaller than -127",
    "Of which number of 8 bits is every other one at least as large?",
    'folds |= {reduce_sum_p: ("{0} + {1}", lambda dtype: 0), reduce_max_p: (FORMULAS["max"], lowest)}',
    'folds |= {reduce_sum_p: ("{0} + {1}", lambda dtype: 0), reduce_max_p: (FORMULAS["max"], lambda d: -127 if d == np.int8 else lowest(d))}',
)
edit(
    "numbers of two bytes take one",
    "How many bytes does an array of 40 int16 have?",
    "        offsets, self.work = plan(self.lives)\n",
    """        lives = {t: [*life[:2], life[2] // 2 if "short" in self.types[t] else life[2]] for t, life in self.lives.items()}
        offsets, self.work = plan(lives)[0], plan(self.lives)[1]
""",
)
edit(
    "what is left of a cube lies the other way round",
    "A cube is summed along one axis. In which order are the others?",
    "        outer = [i for i in range(len(shape)) if i not in inner]",
    "        outer = [i for i in range(len(shape)) if i not in inner]\n        outer = outer[::-1] if len(outer) == 2 and shape[outer[0]] == shape[outer[1]] else outer",
)
edit(
    "no axes are all axes",
    "`axis=()`: how many axes are that?",
    'axes, inner = counters(shape), eqn.params["axis"]',
    'axes, inner = counters(shape), eqn.params["axis"] or tuple(range(len(shape)))',
)
edit(
    "what is returned is computed for that",
    "A result is an exponential that a sum needs as well. How often is it computed?",
    "return {v: first for v, first in firsts.items() if first is not None and first != needed[v][-1]}",
    "return {v: first for v, first in firsts.items() if first is not None and first != needed[v][-1] and not any(o is v for o, _ in self.outs)}",
)
