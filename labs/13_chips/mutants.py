"""Plausible wrong answers to the exercises of lab 13, each with what its author believes."""

from __future__ import annotations

import jitkit as jax
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.kata.mutants import also_right, edit, mutant
from jitkit.targets.hlo import _FREE, _TRIPS, _WALKED, Loop, called
from jitkit.tree_util import tree_leaves

# --- 13.1 What runs -----------------------------------------------------------------------------------------------

edit(
    "13.1",
    "the instructions inside a fusion are kernels, too",
    "A fusion calls a computation. Is that launched, or is it what the kernel does inside?",
    "if instruction.opcode in _WALKED:",
    'if instruction.opcode in _WALKED or instruction.opcode == "fusion":',
)
edit(
    "13.1",
    "every instruction is a kernel",
    "Does a parameter run? Does a tuple?",
    'elif instruction.opcode not in _FREE and not instruction.opcode.endswith(("-update", "-done")):',
    "else:",
)
edit(
    "13.1",
    "only fusions run",
    "What becomes of an operation that the compiler could not fuse with anything: does it not run?",
    'elif instruction.opcode not in _FREE and not instruction.opcode.endswith(("-update", "-done")):',
    'elif instruction.opcode == "fusion":',
)
edit(
    "13.1",
    "a loop is one kernel",
    "What happens in a turn of the loop? Where does it stand in the text?",
    "if instruction.opcode in _WALKED:",
    'if instruction.opcode in _WALKED - {"while"}:',
)
edit(
    "13.1",
    "the compiler knows how often a loop runs",
    "Of some loops the number of turns depends on data. What do their attributes say?",
    "int(trips[1]) if trips else None",
    "int(trips[1]) if trips else 1",
)


@mutant(
    "13.1",
    "a computation is listed once for each caller",
    "Two branches may be one computation. How often is it in the list?",
)
def walks_again(self, computation, seen):
    for instruction in self.computations.get(computation, ()):
        if instruction.opcode == "while":
            trips = _TRIPS.search(instruction.rest)
            self.loops.append(Loop(instruction.name, int(trips[1]) if trips else None))
        if instruction.opcode in _WALKED:
            for name in called(instruction):
                self.walk(name, seen)
        elif instruction.opcode not in _FREE and not instruction.opcode.endswith(("-update", "-done")):
            self.kernels.append(self._kernel(instruction))


@also_right("13.1", "asking for what is free first")
def free_first(self, computation, seen):
    if computation not in seen:
        seen.add(computation)
        for each in self.computations.get(computation, []):
            if each.opcode in _FREE or each.opcode.endswith("-done") or each.opcode.endswith("-update"):
                continue
            if each.opcode == "while":
                found = _TRIPS.search(each.rest)
                self.loops.append(Loop(each.name, None if found is None else int(found.group(1))))
            if each.opcode not in _WALKED:
                self.kernels.append(self._kernel(each))
            else:
                [self.walk(name, seen) for name in called(each)]


@also_right("13.1", "with a stack")
def with_a_stack(self, computation, seen):
    pending = [] if computation in seen else [iter(self.computations.get(computation, ()))]
    seen.add(computation)
    while pending:
        instruction = next(pending[-1], None)
        if instruction is None:
            pending.pop()
        elif instruction.opcode in _WALKED:
            if instruction.opcode == "while":
                trips = _TRIPS.search(instruction.rest)
                self.loops.append(Loop(instruction.name, int(trips[1]) if trips else None))
            fresh = [name for name in dict.fromkeys(called(instruction)) if name not in seen]
            seen.update(fresh)
            pending += [iter(self.computations.get(name, ())) for name in reversed(fresh)]
        elif instruction.opcode not in _FREE and not instruction.opcode.endswith(("-update", "-done")):
            self.kernels.append(self._kernel(instruction))


# --- 13.2 The least -----------------------------------------------------------------------------------------------

edit("13.2", "results cost nothing", "Where is a result when the program has ended?", "(args, fun(*args))", "args")
edit(
    "13.2",
    "an element has four bytes",
    "How many bytes does a bfloat16 have, and how many does a bool have?",
    "x.dtype.itemsize",
    "4",
)
edit(
    "13.2",
    "a Python number takes no memory",
    "How does a Python number reach the device?",
    "for x in tree_leaves(types))",
    "for x in tree_leaves(types) if x.shape)",
)


@mutant(
    "13.2",
    "intermediate values are moved through memory, too",
    "A fusion computes an element from beginning to end. Which of its intermediate values is ever in memory?",
)
def every_equation(fun, *args):
    program = jax.make_jaxpr(fun)(*args)
    avals = [*program.in_avals, *(v.aval for eqn in program.eqns for v in eqn.outvars)]
    return sum(aval.size * aval.dtype.itemsize for aval in avals)


@also_right("13.2", "from the jaxpr")
def from_the_jaxpr(fun, *args):
    program = jax.make_jaxpr(fun)(*args)
    return sum(aval.size * aval.dtype.itemsize for aval in [*program.in_avals, *program.out_avals])


@also_right("13.2", "in two sums")
def in_two_sums(fun, *args):
    def size(tree):
        return sum(x.size * x.dtype.itemsize for x in tree_leaves(tree))

    return size(jax.eval_shape(lambda *xs: xs, *args)) + size(jax.eval_shape(fun, *args))


# --- 13.3 One fusion ----------------------------------------------------------------------------------------------


@mutant("13.3", "a `lax` loop is unrolled by the compiler", "Look at the compiled text. Is there a `while`?")
def as_it_was(x, coefficients):
    return lax.fori_loop(0, len(coefficients), lambda i, y: y * x + coefficients[i], jnp.zeros_like(x))


@mutant("13.3", "a scan is not a loop", "What does a scan become in StableHLO (lab 09)?")
def by_scan(x, coefficients):
    return lax.scan(lambda y, c: (y * x + c, None), jnp.zeros_like(x), coefficients)[0]


@mutant(
    "13.3", "one line of Python is one kernel", "How large is the array of all powers, and does it go through memory?"
)
def all_powers(x, coefficients):
    n = coefficients.shape[0]
    powers = jnp.stack([x ** (n - 1 - i) for i in range(n)], -1)
    return jnp.dot(powers, coefficients)


@mutant(
    "13.3",
    "the coefficients are part of the program",
    "Are the values of the coefficients known while the function is traced?",
)
def as_numbers(x, coefficients):
    y = jnp.zeros_like(x)
    for c in coefficients.tolist():
        y = y * x + c
    return y


edit(
    "13.3",
    "the first coefficient is the constant",
    "Which power does the first coefficient belong to?",
    "y = y * x + coefficients[i]",
    "y = y * x + coefficients[coefficients.shape[0] - 1 - i]",
)


@also_right("13.3", "as a reduction")
def reduced(x, coefficients):
    return jax.tree.reduce(lambda y, c: y * x + c, list(coefficients), jnp.zeros_like(x))


@also_right("13.3", "from the first coefficient on")
def from_the_first(x, coefficients):
    y = jnp.full_like(x, coefficients[0])
    for i in range(1, len(coefficients)):
        y = coefficients[i] + x * y
    return y


# --- 13.4 A loop of scalars ---------------------------------------------------------------------------------------


@mutant(
    "13.4",
    "a `lax` loop is unrolled by the compiler",
    "Look at the compiled text. Is there a `while`?",
    target="roughness",
)
def rough_as_it_was(x):
    return lax.fori_loop(1, len(x), lambda i, total: total + (x[i] - x[i - 1]) ** 2, jnp.float32(0))


edit(
    "13.4",
    "an array is a ring",
    "Which neighbour does the first element have?",
    "x[1:] - x[:-1]",
    "x - jnp.roll(x, 1)",
    target="roughness",
)


@mutant("13.4", "a scan is not a loop", "What does a scan become in StableHLO (lab 09)?", target="decayed")
def decayed_as_it_was(x, rate):
    return lax.scan(lambda y, e: (rate * y + e, rate * y + e), jnp.float32(0), x)[1]


@mutant(
    "13.4",
    "what is right on paper is right in float32",
    "How large is the rate to the power of -40, and how large can a float32 be?",
    target="decayed",
)
def by_powers(x, rate):
    powers = jnp.float32(rate) ** jnp.arange(x.shape[0])
    return jnp.cumsum(x / powers) * powers


edit(
    "13.4",
    "the new element is multiplied by the rate",
    "After two steps, b is made of two numbers. Which of them was multiplied by the second rate?",
    "c * b + d",
    "a * d + b",
    target="decayed",
)


@also_right("13.4", "from differences, and by a triangle of powers", target="roughness")
def rough_by_diff(x):
    return jnp.square(jnp.diff(x)).sum()


@also_right("13.4", "from differences, and by a triangle of powers", target="decayed")
def by_a_triangle(x, rate):
    steps = jnp.arange(x.shape[0])
    age = steps[:, None] - steps[None, :]
    weights = jnp.where(age >= 0, jnp.float32(rate) ** jnp.maximum(age, 0), 0.0)
    return jnp.sum(weights * x, axis=1)


@also_right("13.4", "by hand", target="roughness")
def rough_by_dot(x):
    d = x[:-1] - x[1:]
    return (d * d).sum()


@also_right("13.4", "by hand", target="decayed")
def by_doubling(x, rate):
    y, weight, reach = x, jnp.float32(rate), 1
    while reach < x.shape[0]:
        y = y + weight * jnp.concatenate([jnp.zeros_like(x)[:reach], y[:-reach]])
        weight, reach = weight * weight, 2 * reach
    return y


# --- What learners wrote ------------------------------------------------------------------------------------------

edit(
    "13.1",
    "an instruction can stand for its kernel",
    "`kernels` is a list of `Kernel`. What does `self._kernel(instruction)` know more than the instruction?",
    "self.kernels.append(self._kernel(instruction))",
    "self.kernels.append(instruction)",
)


@mutant(
    "13.1",
    "the kernels of a loop come at the end of the list",
    "A kernel comes after the loop in the text. Does it run before the kernels of the body?",
)
def loops_at_the_end(self, computation, seen):
    if computation in seen:
        return
    seen.add(computation)
    later = []
    for instruction in self.computations.get(computation, ()):
        if instruction.opcode == "while":
            trips = _TRIPS.search(instruction.rest)
            self.loops.append(Loop(instruction.name, int(trips[1]) if trips else None))
        if instruction.opcode in _WALKED:
            later += called(instruction)
        elif instruction.opcode not in _FREE and not instruction.opcode.endswith(("-update", "-done")):
            self.kernels.append(self._kernel(instruction))
    for name in later:
        self.walk(name, seen)


@mutant(
    "13.2",
    "an argument has the bytes of its numpy dtype",
    "A numpy float64 becomes an argument. Which dtype does the argument have?",
)
def bytes_of_numpy(fun, *args):
    outs = jax.eval_shape(fun, *args)
    own = sum(x.size * x.dtype.itemsize if hasattr(x, "dtype") else 4 for x in tree_leaves(args))
    return own + sum(x.size * x.dtype.itemsize for x in tree_leaves(outs))


@mutant(
    "13.2",
    "the function has to be run to know its result's type",
    "What tells the type of a result without computing it?",
)
def runs_it(fun, *args):
    leaves = tree_leaves((args, fun(*args)))
    types = [jax.eval_shape(lambda x: x, leaf) for leaf in leaves]
    return sum(x.size * x.dtype.itemsize for x in types)


@mutant(
    "13.4",
    "an unrolled loop runs in parallel",
    "The loop is gone, and its turns still wait for each other. For 1000 elements, how many turns wait for another one?",
    target="decayed",
)
def unrolled(x, rate):
    y, ys = jnp.float32(0), []
    for i in range(x.shape[0]):
        y = rate * y + x[i]
        ys.append(y)
    return jnp.stack(ys)


@mutant(
    "13.4",
    "elements long ago do not count",
    "At a rate of 0.99, what is the weight of an element of a hundred steps ago?",
    target="decayed",
)
def a_window(x, rate):
    n, total, weight = x.shape[0], x, jnp.float32(1)
    for age in range(1, min(n, 16)):
        weight = weight * rate
        total = total + weight * jnp.concatenate([jnp.zeros_like(x)[:age], x[:-age]])
    return total


@also_right("13.4", "by halves", target="decayed")
def by_halves(x, rate):
    n = x.shape[0]
    if n == 1:
        return x
    even, odd = x[0::2], x[1::2]
    inner = decayed(odd + rate * even[: odd.shape[0]], rate * rate)
    between = even.at[1:].add(rate * inner[: even.shape[0] - 1])
    return jnp.zeros_like(x).at[1::2].set(inner).at[0::2].set(between)


@also_right("13.4", "by halves", target="roughness")
def rough_by_halves(x):
    return jnp.vdot(x[1:] - x[:-1], x[1:] - x[:-1])


# --- what learners wrote who believed something else --------------------------------------------------------------


@mutant("13.2", "every number has four bytes", "How many bytes does a bfloat16 have, and how many does a bool have?")
def four_bytes(fun, *args):
    types = jax.eval_shape(lambda *args: (args, fun(*args)), *args)
    return sum(x.size * 4 for x in tree_leaves(types))


@mutant(
    "13.2",
    "an argument that is returned is free",
    "`lambda x: x` has an argument and a result. How many arrays are moved?",
)
def returned_is_free(fun, *args):
    types = jax.eval_shape(lambda *args: args, *args)
    jaxpr = jax.make_jaxpr(fun)(*args)
    outs = (
        [v.aval for v in jaxpr.jaxpr.outvars if v not in jaxpr.jaxpr.invars]
        if hasattr(jaxpr, "jaxpr")
        else [v.aval for v in jaxpr.outvars if v not in jaxpr.invars]
    )
    return sum(x.size * x.dtype.itemsize for x in [*tree_leaves(types), *outs])


@mutant(
    "13.2",
    "Python numbers move no bytes",
    "A Python number that is an argument is an array without axes. How many bytes does it have?",
)
def numbers_are_free(fun, *args):
    out = jax.eval_shape(fun, *args)
    return sum(x.size * x.dtype.itemsize for x in tree_leaves((args, out)) if hasattr(x, "dtype"))


@mutant(
    "13.2", "a Python float has eight bytes", "What is the dtype of a Python float in a program, without 64-bit types?"
)
def eight_bytes(fun, *args):
    import numpy as np

    out = jax.eval_shape(fun, *args)
    return sum(
        np.asarray(x).nbytes if not hasattr(x, "dtype") else x.size * x.dtype.itemsize for x in tree_leaves((args, out))
    )


@mutant("13.2", "the same array twice is read once", "How many arguments does the program of `f(x, x)` take?")
def same_once(fun, *args):
    out = jax.eval_shape(fun, *args)
    leaves = list({id(x): x for x in tree_leaves(args)}.values())
    types = jax.eval_shape(lambda *a: a, *leaves)
    return sum(x.size * x.dtype.itemsize for x in tree_leaves((types, out)))


@also_right("13.2", "with make_jaxpr")
def with_make_jaxpr(fun, *args):
    jaxpr = jax.make_jaxpr(fun)(*args)
    total = 0
    for aval in list(jaxpr.in_avals) + list(jaxpr.out_avals):
        size = 1
        for n in aval.shape:
            size *= n
        total += size * aval.dtype.itemsize
    return total


@also_right("13.2", "one after the other")
def one_after_another(fun, *args):
    def bytes_of(tree):
        return sum(leaf.dtype.itemsize * leaf.size for leaf in tree_leaves(tree))

    def same(*xs):
        return xs

    return bytes_of(jax.eval_shape(same, *args)) + bytes_of(jax.eval_shape(fun, *args))


@mutant("13.3", "the coefficients start with the lowest power", "Which power of x does c[0] belong to?")
def lowest_first(x, coefficients):
    y = jnp.zeros_like(x)
    for i in reversed(range(coefficients.shape[0])):
        y = y * x + coefficients[i]
    return y


@mutant("13.3", "jit makes it one kernel", "Does `jit` take the loop away?")
def jitted(x, coefficients):
    def step(i, y):
        return y * x + coefficients[i]

    return jax.jit(lambda: lax.fori_loop(0, coefficients.shape[0], step, jnp.zeros_like(x)))()


@mutant(
    "13.3", "a loop that is partly unrolled is not a loop any more", "Is there a loop left, with sixteen coefficients?"
)
def unrolled_twice(x, coefficients):
    def step(i, y):
        return y * x + coefficients[i]

    return lax.fori_loop(0, coefficients.shape[0], step, jnp.zeros_like(x), unroll=4)


@mutant("13.3", "one product of matrices is one kernel", "All the powers of x: how many bytes are they?")
def powers(x, coefficients):
    n = coefficients.shape[0]
    powers = jnp.stack([x**k for k in range(n)][::-1], -1)
    return powers @ coefficients


@mutant("13.3", "the last coefficient is multiplied by x, too", "What becomes of the last coefficient?")
def forgets_last(x, coefficients):
    y = jnp.zeros_like(x)
    for i in range(coefficients.shape[0] - 1):
        y = (y + coefficients[i]) * x
    return y


@also_right("13.3", "by recursion")
def by_recursion(x, coefficients):
    def of(n):
        return jnp.zeros_like(x) if n == 0 else of(n - 1) * x + coefficients[n - 1]

    return of(coefficients.shape[0])


@also_right("13.3", "a sum of powers")
def sum_of_powers(x, coefficients):
    n = coefficients.shape[0]
    total, power = jnp.zeros_like(x), jnp.ones_like(x)
    for i in reversed(range(n)):
        total = total + coefficients[i] * power
        power = power * x
    return total


@mutant(
    "13.4",
    "every element is compared with one before it",
    "How many differences are there between n elements?",
    target="roughness",
)
def rolled(x):
    return jnp.sum((x - jnp.roll(x, 1)) ** 2)


@mutant(
    "13.4",
    "the mean can be returned for the sum",
    "Does the docstring divide by the number of differences?",
    target="roughness",
)
def mean(x):
    return jnp.mean((x[1:] - x[:-1]) ** 2)


@mutant(
    "13.4",
    "the absolute difference can be used for its square",
    "Is a difference squared in the docstring, or its absolute value taken?",
    target="roughness",
)
def absolute(x):
    return jnp.sum(jnp.abs(x[1:] - x[:-1]))


@also_right("13.4", "by doubling", target="decayed")
def doubling(x, rate):
    n = x.shape[0]
    y, r, k = x, jnp.float32(rate), 1
    while k < n:
        y = y + r * jnp.concatenate([jnp.zeros(k, x.dtype), y[: n - k]])
        r, k = r * r, k * 2
    return y


@also_right("13.4", "by doubling", target="roughness")
def diff(x):
    d = jnp.diff(x)
    return jnp.vdot(d, d)


@mutant(
    "13.1",
    "an operation that only starts another one does not run",
    "An `all-reduce` is two instructions, `-start` and `-done`. Is `all-reduce-start` in `_FREE`?",
)
def believes_what_begins_something_does_not_run(self, computation, seen):
    seen.add(computation)
    for instruction in self.computations[computation]:
        if instruction.opcode == "while":
            found = _TRIPS.search(instruction.rest)
            self.loops.append(Loop(instruction.name, int(found.group(1)) if found else None))
        if instruction.opcode in _WALKED:
            for name in called(instruction):
                if name in self.computations and name not in seen:
                    self.walk(name, seen)
        elif instruction.opcode not in _FREE and (not instruction.opcode.endswith(("-update", "-done", "-start"))):
            self.kernels.append(self._kernel(instruction))


@mutant(
    "13.1",
    "a `-done` or `-update` instruction is a kernel of its own",
    "Which instructions only wait for work that another one has started?",
)
def believes_an_update_runs_on_its_own(self, computation, seen):
    seen.add(computation)
    for instruction in self.computations[computation]:
        if instruction.opcode == "while":
            found = _TRIPS.search(instruction.rest)
            self.loops.append(Loop(instruction.name, int(found.group(1)) if found else None))
        if instruction.opcode in _WALKED:
            for name in called(instruction):
                if name in self.computations and name not in seen:
                    self.walk(name, seen)
        elif instruction.opcode not in _FREE and (not instruction.opcode.endswith("-done")):
            self.kernels.append(self._kernel(instruction))


@mutant(
    "13.4", "an unrolled scan is parallel", "How many steps of an unrolled scan wait for each other?", target="decayed"
)
def believes_an_unrolled_scan_is_parallel(x, rate):

    def step(y, element):
        y = rate * y + element
        return (y, y)

    return lax.scan(step, jnp.float32(0), x, unroll=True)[1]


@mutant("13.2", "a closed-over array is an argument", "Who passes an array from outside: the caller, or nobody?")
def constants_are_arguments(fun, *args):
    program = jax.make_jaxpr(fun)(*args)
    avals = [v.aval for v in (*program.constvars, *program.invars, *program.outvars)]
    return sum(int(aval.size) * aval.dtype.itemsize for aval in avals)
