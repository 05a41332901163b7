"""Plausible wrong answers to the exercises of lab 10, each with what its author believes."""

from __future__ import annotations

import time
from functools import partial

import jitkit as jax
from jitkit.kata.mutants import also_right, edit, mutant

# --- 10.1 Measure honestly ----------------------------------------------------------------------------------------

edit(
    "10.1",
    "dispatch time is run time",
    "What has happened when `function(*args)` returns, and what has not?",
    "jax.block_until_ready(function(*args))",
    "function(*args)",
)
edit(
    "10.1",
    "the first call is typical",
    "In which of your two numbers is the compilation?",
    "statistics.median(seconds[1:])",
    "statistics.median(seconds)",
)
edit(
    "10.1",
    "the mean is typical",
    "Eight tries took half a second and one took a minute. What is the mean?",
    "statistics.median(seconds[1:])",
    "statistics.mean(seconds[1:])",
)
edit(
    "10.1",
    "a result is one array",
    "What if the function returns a dict of arrays?",
    "jax.block_until_ready(function(*args))",
    "function(*args).block_until_ready()",
)


@mutant(
    "10.1",
    "waiting once, at the end, is the same",
    "Which call does the waiting belong to? Can the work of one call overlap with another's?",
)
def waits_at_the_end(function, *args, tries=9, clock=time.perf_counter):
    start = clock()
    jax.block_until_ready(function(*args))
    first = clock() - start
    seconds, results = [], []
    for _ in range(tries):
        start = clock()
        results.append(function(*args))
        seconds.append(clock() - start)
    jax.block_until_ready(results)
    return first, statistics.median(seconds)


@mutant(
    "10.1", "one more call for warming up does no harm", "How often is the function called, and how often should it be?"
)
def warms_up_twice(function, *args, tries=9, clock=time.perf_counter):
    seconds = []
    for _ in range(2 + tries):
        start = clock()
        jax.block_until_ready(function(*args))
        seconds.append(clock() - start)
    return seconds[0], statistics.median(seconds[2:])


# --- 10.2 A jit in a loop -----------------------------------------------------------------------------------------


@mutant(
    "10.2",
    "two lambdas with the same code are the same function",
    "How many lambdas does your loop make, and how does jit tell functions apart?",
)
def jits_in_the_loop(gradient, x, rates):
    x = np.asarray(x, np.float32)
    for rate in rates:
        x = jax.jit(lambda x, rate: x - rate * gradient(x))(x, float(rate))
    return x


@mutant("10.2", "static is a cure-all", "Is the rate something that decides which operations are in the program?")
def makes_the_rate_static(gradient, x, rates):
    step = jax.jit(lambda x, rate: x - rate * gradient(x), static_argnums=1)
    x = np.asarray(x, np.float32)
    for rate in rates:
        x = step(x, float(rate))
    return x


@mutant(
    "10.2",
    "every step uses the first rate",
    "Your step uses a rate from outside. When is that rate read: at each call, or while tracing?",
)
def closes_over_the_rate(gradient, x, rates):
    x = np.asarray(x, np.float32)

    current = {}

    @jax.jit
    def step(x):
        return x - current["rate"] * gradient(x)

    for current["rate"] in map(float, rates):
        x = step(x)
    return x


@mutant(
    "10.2",
    "jitting the costly part is enough",
    "Which operations of a step are in your jitted function, and who runs the others?",
)
def jits_the_gradient_only(gradient, x, rates):
    gradient = jax.jit(gradient)
    x = np.asarray(x, np.float32)
    for rate in rates:
        x = jnp.subtract(x, float(rate) * gradient(x))
    return x


edit(
    "10.2",
    "the type of the first x does not matter",
    "What is the type of x in the first step, and what is it in the second?",
    "x = np.asarray(x, np.float32)",
    "x = x if isinstance(x, (int, float)) else np.asarray(x)",
)
edit(
    "10.2",
    "1 and 1.0 are the same to jit",
    "Which types do the rates have that `step` sees?",
    "x = step(x, float(rate))",
    "x = step(x, rate)",
)

# --- 10.3 Buckets -------------------------------------------------------------------------------------------------

edit(
    "10.3",
    "the next multiple of 8 will do",
    "How many multiples of 8 are there up to 1024, and how many powers of two?",
    "max(8, 1 << (n - 1).bit_length())",
    "-(-n // 8) * 8",
    target="bucket_size",
)
edit(
    "10.3",
    "a bucket must be larger than its row",
    "A row of exactly 16 numbers: how many places does it need?",
    "(n - 1).bit_length()",
    "n.bit_length()",
    target="bucket_size",
)


@mutant(
    "10.3",
    "zeros do not change the variance",
    "Zeros do not change the sum. How far are they from the mean?",
    target="variance_of_first",
)
@jax.jit
def trusts_zeros(x, n):
    mean = jnp.sum(x) / n
    return jnp.sum((x - mean) ** 2) / n


@mutant(
    "10.3",
    "the length of x is the number of its elements",
    "By what do you divide, and what is n for?",
    target="variance_of_first",
)
@jax.jit
def divides_by_the_size(x, n):
    is_used = jnp.arange(x.shape[0]) < n
    mean = jnp.mean(jnp.where(is_used, x, 0.0))
    return jnp.mean(jnp.where(is_used, (x - mean) ** 2, 0.0))


@mutant("10.3", "multiplying by 0 makes everything 0", "How much is 0 times nan?", target="variance_of_first")
@jax.jit
def multiplies_by_weights(x, n):
    weights = jnp.where(jnp.arange(x.shape[0]) < n, 1.0, 0.0)
    mean = jnp.sum(weights * x) / n
    return jnp.sum(weights * (x - mean) ** 2) / n


@mutant(
    "10.3", "jit handles any shape", "It handles any shape. How often does it compile for that?", target="variances"
)
def does_not_pad(rows):
    return [variance_of_first(np.asarray(row, np.float32), len(row)) for row in rows]


@mutant(
    "10.3", "padding to the longest row is enough", "How long is the longest row of the next list?", target="variances"
)
def pads_to_the_longest(rows):
    size = max(map(len, rows))
    results = []
    for row in rows:
        padded = np.zeros(size, np.float32)
        padded[: len(row)] = row
        results.append(variance_of_first(padded, len(row)))
    return results


@mutant(
    "10.3",
    "padding with jnp costs nothing",
    "What does `jnp.pad` do with a shape that it has not met?",
    target="variances",
)
def pads_with_jnp(rows):
    results = []
    for row in rows:
        padded = jnp.pad(np.asarray(row, np.float32), (0, bucket_size(len(row)) - len(row)))
        results.append(variance_of_first(padded, len(row)))
    return results


@mutant(
    "10.3",
    "every call gets the length of the last row",
    "Which length does each of your calls get?",
    target="variances",
)
def keeps_one_length(rows):
    results = []
    n = len(rows[-1])
    for row in rows:
        padded = np.zeros(bucket_size(len(row)), np.float32)
        padded[: len(row)] = row
        results.append(variance_of_first(padded, n))
    return results


# --- 10.4 Chosen by a mask ----------------------------------------------------------------------------------------


@mutant(
    "10.4",
    "a mask is an index like any other",
    "Which shape would the result have, and who knows it while tracing?",
    target="mean_above",
)
@jax.jit
def indexes_with_the_mask(x, threshold):
    return jnp.mean(x[x > threshold])


@mutant("10.4", "the mean is over all elements", "By how many do you divide?", target="mean_above")
@jax.jit
def divides_by_all(x, threshold):
    return jnp.mean(jnp.where(x > threshold, x, 0.0))


edit(
    "10.4",
    "something is always chosen",
    "How much is 0 divided by 0?",
    "jnp.maximum(jnp.sum(is_chosen), 1)",
    "jnp.sum(is_chosen)",
    target="mean_above",
)
edit(
    "10.4",
    "multiplying by 0 makes everything 0",
    "How much is 0 times infinity?",
    "jnp.sum(jnp.where(is_chosen, x, 0.0))",
    "jnp.sum(jnp.where(is_chosen, 1.0, 0.0) * x)",
    target="mean_above",
)


@mutant(
    "10.4",
    "the first chosen elements are the largest ones",
    "You sort the values. In which order were they?",
    target="first_above",
)
@partial(jax.jit, static_argnames="size")
def sorts_the_values(x, threshold, size):
    is_chosen = x > threshold
    largest = -jnp.sort(-x)[:size]
    return jnp.where(largest > threshold, largest, 0.0), jnp.sum(is_chosen)


edit(
    "10.4",
    "the unused places may hold anything",
    "What stands in the places that no chosen element takes?",
    "jnp.where(is_chosen[order], x[order], 0.0)",
    "x[order]",
    target="first_above",
)
edit(
    "10.4",
    "the count is that of the elements that fit",
    "Ten are chosen and three fit. Which number is asked for?",
    "jnp.sum(is_chosen)",
    "jnp.sum(is_chosen[order])",
    target="first_above",
)

# --- 10.5 A global that changes -----------------------------------------------------------------------------------


@mutant(
    "10.5",
    "a changed global is seen",
    "How often does Python run `probabilities`, and when does it look into `settings`?",
    target="sweep",
)
def reads_a_global(logits, schedule):
    settings = {}

    @jax.jit
    def probabilities(logits):
        function = jax.nn.log_softmax if settings["in_logs"] else jax.nn.softmax
        return function(logits / settings["temperature"])

    results = []
    for settings["temperature"], settings["in_logs"] in schedule:
        results.append(probabilities(logits))
    return results


edit(
    "10.5",
    "static is a cure-all",
    "Which of the two arguments decides what operations there are?",
    'static_argnames="in_logs"',
    'static_argnames=("temperature", "in_logs")',
    target="probabilities",
)
edit(
    "10.5",
    "1 and 1.0 are the same to jit",
    "What are the types of the temperatures that your function sees?",
    "float(temperature)",
    "temperature",
    target="sweep",
)
edit(
    "10.5",
    "an `if` works on any argument",
    "Python's `if` asks for the value of `in_logs` while the function is traced. Who knows it then?",
    '@partial(jax.jit, static_argnames="in_logs")',
    "@jax.jit",
    target="probabilities",
)


@mutant(
    "10.5",
    "a new closure for each setting is cheap",
    "How many functions does your loop make, and what does jit know of them?",
    target="sweep",
)
def makes_a_closure_each(logits, schedule):
    results = []
    for temperature, in_logs in schedule:
        function = jax.nn.log_softmax if in_logs else jax.nn.softmax
        results.append(jax.jit(lambda x, t=temperature, f=function: f(x / t))(logits))
    return results


# --- 10.6 A tracer that gets away ---------------------------------------------------------------------------------

edit(
    "10.6",
    "whatever has a shape and a dtype is a tracer",
    "What else has a shape and a dtype?",
    "isinstance(leaf, Tracer)",
    'hasattr(leaf, "shape") and hasattr(leaf, "dtype")',
    target="leaks",
)


@mutant(
    "10.6", "a leaked tracer is at the top of the tree", "What if the tracer is in a list in the state?", target="leaks"
)
def looks_at_the_top(state):
    items = state.items() if isinstance(state, dict) else enumerate(state)
    return [f"[{key!r}]" for key, value in sorted(items) if isinstance(value, Tracer)]


edit(
    "10.6",
    "the distance is from the old mean",
    "From which mean is the distance that is returned?",
    "    mean = mean + (x - mean) / count\n    return mean, count, x - mean",
    "    return mean + (x - mean) / count, count, x - mean",
    target="observed",
)


@mutant(
    "10.6",
    "what a traced function assigns is assigned at every call",
    "Who runs the assignment to `self`, how often, and what is on its right side?",
    target="RunningMean.update",
)
def assigns_in_the_trace(self, x):
    def traced(x):
        self.mean, self.count, distance = observed(self.mean, self.count, x)
        return distance

    return jax.jit(traced)(x)


@mutant(
    "10.6",
    "each object needs a program of its own",
    "How many objects are there, and how many functions do you jit?",
    target="RunningMean.update",
)
def jits_in_the_object(self, x):
    if not hasattr(self, "program"):
        self.program = jax.jit(partial(observed))
    self.mean, self.count, distance = self.program(self.mean, self.count, x)
    return distance


@mutant(
    "10.6",
    "a Python number will do to begin with",
    "What are the type and shape of the mean on the first call, and on the second?",
    target="RunningMean.update",
)
def begins_with_a_number(self, x):
    mean = self.mean if self.count > 0 else 0.0
    self.mean, self.count, distance = observed(mean, self.count, x)
    return distance


@mutant(
    "10.6",
    "state may change before the result is there",
    "The shape of x does not fit, and `observed` raises. What has changed by then?",
    target="RunningMean.update",
)
def counts_first(self, x):
    count = self.count
    self.count = np.int32(count + 1)
    self.mean, self.count, distance = observed(self.mean, count, x)
    return distance


edit(
    "10.3",
    "static is a cure-all",
    "Does n decide which operations are in the program? How many programs are there when it is static?",
    "@jax.jit",
    "@partial(jax.jit, static_argnums=1)",
    target="variance_of_first",
)
edit(
    "10.3",
    "the caller will jit the function",
    "Who compiles your function? Without a decorator each of its operations is a program of its own.",
    "@jax.jit\n",
    "",
    target="variance_of_first",
)
edit(
    "10.4",
    "`>` and `>=` are the same",
    "An element is exactly the threshold. Is it chosen?",
    "is_chosen = x > threshold",
    "is_chosen = x >= threshold",
    target="mean_above",
)
edit(
    "10.5",
    "the logarithm of softmax is as good as log_softmax",
    "A softmax of logits that are far apart has probabilities that are rounded to 0. What is the logarithm of 0?",
    "function = jax.nn.log_softmax if in_logs else jax.nn.softmax\n    return function(logits / temperature)",
    "p = jax.nn.softmax(logits / temperature)\n    return jnp.log(p) if in_logs else p",
    target="probabilities",
)

# --- 10.7 Which argument? -----------------------------------------------------------------------------------------

edit(
    "10.7",
    "a new value of an argument is a new key",
    "Are values in the key? Which line of the explanation comes again at every step?",
    '"log", "rate"',
    '"rate", "x"',
    target="to_blame",
)
edit(
    "10.7",
    "the first difference is the reason",
    "`rate` is named in entry #2 of the explanation. Is it also named in #3 and #4?",
    '"log", "rate"',
    '"rate", "log"',
    target="to_blame",
)
edit(
    "10.7",
    "the input is always to blame",
    "Does the explanation say a word about x?",
    '"log", "rate"',
    '"log", "x"',
    target="to_blame",
)
edit(
    "10.7",
    "the loss is computed after the step",
    "Does the loss belong to the old x or to the new one?",
    "return x - rate * 2.0 * x, jnp.sum(x * x)",
    "x = x - rate * 2.0 * x\n        return x, jnp.sum(x * x)",
    target="fit",
)
edit(
    "10.7",
    "1 and 1.0 are the same to jit",
    "One rate is an int, the next a float. Do they have the same type?",
    "step(x, float(rate))",
    "step(x, rate)",
    target="fit",
)
edit(
    "10.7",
    "a float is as good as an array",
    "Who has to wait when you write `float(loss)`?",
    "    return x, log",
    "    return x, {name: float(loss) for name, loss in log.items()}",
    target="fit",
)


@mutant(
    "10.7",
    "the log can be passed to the step and returned",
    "How many keys does the log have in the third step? Are they in the key of the call?",
    target="fit",
)
def fit_with_log_inside(x, rates):
    @jax.jit
    def step(x, rate, log):
        return x - rate * 2.0 * x, {**log, f"loss {len(log)}": jnp.sum(x * x)}

    log = {}
    for rate in rates:
        x, log = step(x, float(rate), log)
    return x, log


@mutant("10.7", "each step may define its own function", "How many different functions does `fit` jit?", target="fit")
def fit_with_lambda(x, rates):
    log = {}
    for i, rate in enumerate(rates):
        x, log[f"loss {i}"] = jax.jit(lambda x, rate: (x - rate * 2.0 * x, jnp.sum(x * x)))(x, float(rate))
    return x, log


# --- 10.8 and 10.9 Which of these compiles twice? -----------------------------------------------------------------


def says(exercise, target, right, wrong, misconception, hint):
    """Make a mutant that predicts the wrong number."""
    edit(exercise, misconception, hint, f"return {right}", f"return {wrong}", target=target)


says(
    "10.8",
    "in_another_order",
    1,
    2,
    "the order of keys is in the tree",
    "How does `tree_flatten` order the leaves of a dict?",
)
says("10.8", "list_or_tuple", 2, 1, "a list is as good as a tuple", "Could the function ask `isinstance(pair, list)`?")
says("10.8", "list_or_tuple", 2, 3, "each call has its numbers", "Are the numbers in the key?")
says("10.8", "with_a_bias", 3, 2, "what is left out is None", "Does `(x,)` have the structure of `(x, None)`?")
says(
    "10.8",
    "step_by_step",
    2,
    4,
    "each call has its numbers",
    "Nothing is static here. What is in the key of `power(x, 0)`, and of `power(x, 1)`?",
)
says(
    "10.8",
    "step_by_step",
    2,
    1,
    "an int is as good as a float",
    "Which dtype does a Python int have, and which a Python float?",
)
says(
    "10.8",
    "sizes",
    2,
    3,
    "a list is as good as a tuple",
    "Can a list be hashed? What happens before anything is traced?",
)
says("10.8", "settings", 3, 1, "objects that look alike are equal", "Is `Settings(2.0) == Settings(2.0)`? Ask Python.")
says(
    "10.8",
    "frozen_settings",
    1,
    3,
    "every object is itself only",
    "Is `Settings(2.0) == Settings(2.0)`, with a dataclass? Ask Python.",
)
says(
    "10.9",
    "jitted_in_a_loop",
    1,
    3,
    "each jit has a cache of its own",
    "Whose is the cache: the function's, or what `jit` returned?",
)
says(
    "10.9",
    "partials",
    3,
    1,
    "the code is the same, so it is one function",
    "Is `partial(f, 2.0) == partial(f, 2.0)`? Ask Python.",
)
says(
    "10.9",
    "bound_methods",
    3,
    1,
    "the code is the same, so it is one function",
    "How long does the object `model.apply` live, after the line in which it is written?",
)
says(
    "10.9",
    "pythons_if_and_for",
    2,
    1,
    "an `if` in a traced function is an error",
    "What does `x.ndim` ask: a value, or the type? And when is it asked?",
)
says(
    "10.9",
    "pythons_if_and_for",
    2,
    3,
    "an `if` in a traced function is an error",
    "Do calls with `x` and with `-x` have different keys?",
)
says("10.9", "closed_over", 1, 2, "a changed variable is seen", "When does Python look up `scale`? Is it in the key?")
says("10.9", "waits", 3, 0, "float costs nothing", "What does `float(loss)` need, and from whom?")
says("10.9", "waits", 3, 4, "float costs nothing", "The last call comes after one whose loss nobody has read.")


@mutant(
    "10.2",
    "numpy may compute what is left of a step",
    "Where is the subtraction computed? Who has to wait for the gradient then, in each step?",
)
def gradient_jitted_the_rest_in_numpy(gradient, x, rates):
    compiled = jax.jit(gradient)
    x = np.asarray(x, np.float32)
    for rate in rates:
        x = x - np.float32(rate) * np.asarray(compiled(x))
    return jax.device_put(x)


@mutant("10.4", "the caller will jit the function", "Which program does your function compile?", target="first_above")
def chosen_by_numpy(x, threshold, size):
    chosen = np.asarray(x)[np.asarray(x) > threshold]
    return jnp.asarray(np.pad(chosen[:size], (0, max(0, size - len(chosen))))), jnp.int32(len(chosen))


@mutant(
    "10.6",
    "the caller will jit the function",
    "Code without `jit` calls `observed`. Is anything compiled then?",
    target="observed",
)
def observed_by_numpy(mean, count, x):
    count = np.asarray(count) + np.int32(1)
    mean = (mean + (x - mean) / count).astype(np.float32)
    return mean, count, x - mean


@mutant("10.7", "the caller will jit the function", "Which program does your function compile?", target="fit")
def fits_with_numpy(x, rates):
    log = {}
    for i, rate in enumerate(rates):
        log[f"loss {i}"] = jnp.asarray(np.sum(x * x))
        x = x - np.float32(2 * rate) * x
    return jnp.asarray(x), log


# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("10.1", "the first call apart")
def the_first_call_apart(function, *args, tries=9, clock=time.perf_counter):
    def once():
        began = clock()
        jax.block_until_ready(function(*args))
        return clock() - began

    first = once()
    others = sorted(once() for _ in range(tries))
    middle = tries // 2
    typical = others[middle] if tries % 2 else (others[middle - 1] + others[middle]) / 2
    return first, typical


@also_right("10.1", "leaf by leaf")
def leaf_by_leaf(function, *args, tries=9, clock=time.perf_counter):
    times = []
    for _ in range(tries + 1):
        start = clock()
        for leaf in jax.tree.leaves(function(*args)):
            if hasattr(leaf, "block_until_ready"):
                leaf.block_until_ready()
        times.append(clock() - start)
    return times[0], float(np.median(times[1:]))


@also_right("10.1", "waiting over the tree; the median is numpy's")
def waiting_over_the_tree(function, *args, tries=9, clock=time.perf_counter):
    def once():
        start = clock()
        jax.tree.map(lambda x: x.block_until_ready(), function(*args))
        return clock() - start

    first, *others = [once() for _ in range(1 + tries)]
    return first, np.median(others)


@also_right("10.1", "reading the numbers")
def reading_the_numbers(function, *args, tries=9, clock=time.perf_counter):
    times = np.empty(tries + 1)
    for i in range(tries + 1):
        start = clock()
        for leaf in jax.tree.leaves(function(*args)):
            np.asarray(leaf)
        times[i] = clock() - start
    return times[0], float(np.median(times[1:]))


@also_right("10.2", "jit applied once, by hand")
def jit_applied_once(gradient, x, rates):
    step = jax.jit(lambda x, rate: x - rate * gradient(x))
    x = np.array(x, dtype=np.float32)
    for rate in rates:
        x = step(x, np.float32(rate))
    return x


@also_right("10.2", "all rates as an array of numpy's")
def rates_as_an_array(gradient, x, rates):
    @jax.jit
    def step(position, rate):
        return jnp.subtract(position, jnp.multiply(rate, gradient(position)))

    position = np.asarray(x).astype(np.float32)
    for rate in np.asarray(list(rates), np.float32):
        position = step(position, rate)
    return position


@also_right("10.2", "one scan, of arrays made by jnp")
def one_scan(gradient, x, rates):
    @jax.jit
    def run(x, rates):
        return jax.lax.scan(lambda x, rate: (x - rate * gradient(x), None), x, rates)[0]

    return run(jnp.asarray(x, jnp.float32), jnp.asarray(rates, jnp.float32))


@also_right("10.3", "numpy's integer", target="bucket_size")
def numpys_integer(n):
    return np.maximum(8, 2 ** np.ceil(np.log2(n)).astype(np.int64))


@also_right("10.3", "rows made arrays of jitkit after the padding", target="variances")
def padded_then_arrays(rows):
    arrays = [np.pad(np.asarray(row, np.float32), (0, bucket_size(len(row)) - len(row))) for row in rows]
    return [variance_of_first(jnp.asarray(x), len(row)) for x, row in zip(arrays, rows, strict=True)]


@also_right("10.3", "doubling; one jit by hand", target="bucket_size")
def doubles(n):
    size = 8
    while size < n:
        size *= 2
    return size


@also_right("10.3", "doubling; one jit by hand", target="variance_of_first")
def variance_by_where_of_mean(x, n):
    used = jnp.arange(x.shape[0]) < n
    mean = jnp.mean(x, where=used)
    return jnp.mean(jnp.square(x - mean), where=used)


@also_right("10.3", "doubling; one jit by hand", target="variances")
def variances_by_one_jit(rows):
    compiled = jax.jit(variance_of_first)
    found = []
    for row in rows:
        n = len(row)
        padded = np.pad(np.asarray(row, np.float32), (0, bucket_size(n) - n))
        found.append(compiled(padded, n))
    return found


@also_right("10.3", "with nan as padding", target="variance_of_first")
@jax.jit
def variance_without_padding(x, n):
    is_used = jnp.arange(len(x)) < n
    x = jnp.where(is_used, x, 0.0)
    distance = jnp.where(is_used, x - x.sum() / n, 0.0)
    return (distance * distance).sum() / n


@also_right("10.3", "with nan as padding", target="variances")
def variances_with_nan(rows):
    arrays = [np.asarray(row, dtype="float32") for row in rows]
    padded = [np.full(bucket_size(a.size), np.nan, "float32") for a in arrays]
    for whole, a in zip(padded, arrays, strict=False):
        whole[: a.size] = a
    return [variance_of_first(whole, a.size) for whole, a in zip(padded, arrays, strict=False)]


@also_right("10.4", "with cumsum", target="mean_above")
@jax.jit
def mean_by_counting(x, threshold):
    chosen = x > threshold
    count = chosen.sum()
    return jnp.where(count == 0, 0.0, jnp.where(chosen, x, 0).sum() / jnp.where(count == 0, 1, count))


@also_right("10.4", "with cumsum", target="first_above")
@partial(jax.jit, static_argnums=2)
def first_by_cumsum(x, threshold, size):
    chosen = x > threshold
    place = jnp.where(chosen, jnp.cumsum(chosen) - 1, size)
    values = jnp.zeros(size, x.dtype).at[place].set(x, mode="drop")
    return values, jnp.sum(chosen, dtype="int32")


@also_right("10.4", "by sorting places", target="first_above")
@partial(jax.jit, static_argnames=["size"])
def first_by_places(x, threshold, size):
    chosen = x > threshold
    places = jnp.sort(jnp.where(chosen, jnp.arange(x.shape[0]), x.shape[0]))[:size]
    values = jnp.where(places < x.shape[0], x[jnp.minimum(places, x.shape[0] - 1)], 0.0)
    return values, jnp.sum(chosen)


@also_right("10.5", "by number", target="probabilities")
@partial(jax.jit, static_argnums=2)
def probabilities_by_number(logits, temperature, in_logs):
    scaled = logits / temperature
    if in_logs:
        return jax.nn.log_softmax(scaled)
    return jax.nn.softmax(scaled)


@also_right("10.5", "by number", target="sweep")
def sweeps_by_number(logits, schedule):
    results = []
    for temperature, in_logs in schedule:
        results.append(probabilities(logits, np.float32(temperature), bool(in_logs)))
    return results


@also_right("10.5", "logits made an array once", target="sweep")
def sweeps_over_an_array(logits, schedule):
    logits = jnp.asarray(logits)
    return [probabilities(logits, jnp.float32(temperature), in_logs) for temperature, in_logs in schedule]


@also_right("10.5", "the type made inside", target="sweep")
def sweeps_with_arrays(logits, schedule):
    temperatures = np.array([t for t, _ in schedule], np.float32)
    return [probabilities(logits, t, in_logs=flag) for t, (_, flag) in zip(temperatures, schedule, strict=False)]


@also_right("10.6", "in a loop", target="leaks")
def leaks_in_a_loop(state):
    places = []
    for path, leaf in tree_flatten_with_path(state)[0]:
        if isinstance(leaf, jax.core.Tracer):
            places.append(keystr(path))
    return places


@also_right("10.6", "in a loop", target="observed")
@jax.jit
def observed_by_distance(mean, count, x):
    new_count = count + 1
    new_mean = mean + (x - mean) / new_count
    return new_mean, new_count, x - new_mean


@also_right("10.6", "in a loop", target="RunningMean.update")
def update_by_names(self, x):
    mean, count, distance = observed(self.mean, self.count, x)
    self.mean = mean
    self.count = count
    return distance


@also_right("10.6", "all at once", target="RunningMean.update")
def update_all_at_once(self, x):
    results = observed(self.mean, self.count, x)
    vars(self).update(mean=results[0], count=results[1])
    return results[2]


@also_right("10.7", "the step by number", target="to_blame")
def blamed_by_reading():
    explained = {"x": 0, "rate": 1, "log": 3}  # how many of the misses name it
    ranking = sorted(explained, key=explained.get, reverse=True)
    return ranking[0], ranking[1]


@also_right("10.7", "the step by number", target="fit")
def fit_with_two_lists(x, rates):
    step = jax.jit(lambda x, rate: (x * (1 - 2 * rate), (x**2).sum()))
    losses = []
    for rate in np.asarray(list(rates), np.float32):
        x, loss = step(x, rate)
        losses.append(loss)
    return x, {f"loss {i}": loss for i, loss in enumerate(losses)}


@also_right("10.7", "x made an array first", target="fit")
def fit_of_an_array(x, rates):
    @jax.jit
    def step(x, rate):
        return x - rate * 2.0 * x, jnp.sum(x * x)

    x, log = jnp.asarray(x, jnp.float32), {}
    for i, rate in enumerate(rates):
        x, log[f"loss {i}"] = step(x, jnp.asarray(rate, jnp.float32))
    return x, log


@also_right("10.7", "state in one tree", target="fit")
def fit_with_a_tree(x, rates):
    @jax.jit
    def step(state, rate):
        x = state["x"]
        return {"x": jnp.subtract(x, jnp.multiply(2 * x, rate)), "loss": jnp.vdot(x, x)}

    log, state = {}, {"x": x}
    for rate in rates:
        state = step({"x": state["x"]}, np.float32(rate))
        log["loss %d" % len(log)] = state["loss"]
    return state["x"], log


@also_right("10.8", "by the number of keys", target="in_another_order")
def equal_trees():
    import jitkit as jax

    keys = {jax.tree.structure({"a": 0, "b": 0}), jax.tree.structure({"b": 0, "a": 0})}
    return len(keys)


@also_right("10.8", "by the number of keys", target="list_or_tuple")
def two_trees():
    import jitkit as jax

    return len({jax.tree.structure(pair) for pair in ([0, 0], (0, 0), [1, 1])})


@also_right("10.8", "by the number of keys", target="with_a_bias")
def three_trees():
    import jitkit as jax

    return len({jax.tree.structure(args) for args in ((0,), (0, 0), (0, None))})


@also_right("10.8", "by running it", target="step_by_step")
def types_of_numbers():
    return len({type(n) for n in (*range(3), 2.5)})


@also_right("10.8", "by running it", target="settings")
def by_running_settings():
    import jitkit as jax

    class Settings:
        def __init__(self, scale):
            self.scale = scale

    traced = []
    scaled = jax.jit(lambda x, settings: (traced.append(None), x * settings.scale)[1], static_argnums=1)
    for _ in range(3):
        scaled(2.0, Settings(2.0))
    return len(traced)


@also_right("10.9", "by running it", target="partials")
def by_running_partials():
    import functools

    import jitkit as jax

    traced = []

    def scaled(scale, x):
        traced.append(None)
        return x * scale

    for _ in range(3):
        jax.jit(functools.partial(scaled, 2.0))(1.0)
    return len(traced)


@also_right("10.9", "by running it", target="jitted_in_a_loop")
def by_running_one_function():
    import jitkit as jax

    traced = []

    def double(x):
        traced.append(None)
        return x * 2.0

    for _ in range(3):
        jax.jit(double)(1.0)
    return len(traced)


@also_right("10.9", "by reasoning", target="waits")
def calls_after_a_float():
    calls = ["float", "float", "float", "kept", "kept"]
    return sum(before == "float" for before in calls[:-1])


@also_right("10.9", "by reasoning", target="pythons_if_and_for")
def shapes_that_come():
    return len({(3,), (2, 3)})


edit(
    "10.3",
    "each row may keep its own dtype",
    "One row of ints, one of floats: how many programs are compiled for them?",
    "np.zeros(bucket_size(len(row)), np.float32)",
    "np.zeros(bucket_size(len(row)), np.asarray(row).dtype)",
    target="variances",
)


# --- what learners wrote who believed something else --------------------------------------------------------------


@mutant(
    "10.4",
    "adding 1e-6 to a divisor changes nothing",
    "You added 1e-6 to the divisor, so that it is never 0. What is the mean of one element then?",
    target="mean_above",
)
@jax.jit
def plus_epsilon(x, threshold):
    chosen = x > threshold
    return jnp.sum(jnp.where(chosen, x, 0.0)) / (jnp.sum(chosen) + 1e-6)


@mutant(
    "10.4",
    "a sum may begin with 1e-6",
    "What is the mean of one element? Is yours the same, to the last digit?",
    target="mean_above",
)
@jax.jit
def result_plus(x, threshold):
    chosen = x > threshold
    return jnp.sum(jnp.where(chosen, x, 0.0)) / jnp.maximum(jnp.sum(chosen), 1) + 1e-6 * jnp.any(chosen)


@mutant(
    "10.4",
    "an element must be greater by 1e-6",
    "Of 1.0 and a threshold just below it: is 1.0 greater?",
    target="mean_above",
)
@jax.jit
def not_close(x, threshold):
    chosen = x > threshold + 1e-6
    return jnp.sum(jnp.where(chosen, x, 0.0)) / jnp.maximum(jnp.sum(chosen), 1)


@mutant(
    "10.4",
    "an element that is hardly greater may be left out",
    "The threshold is 1, and an element 1.0000001. Is it greater?",
    target="first_above",
)
@partial(jax.jit, static_argnames="size")
def first_not_close(x, threshold, size):
    is_chosen = x > threshold + 1e-6
    order = jnp.argsort(~is_chosen, stable=True)[:size]
    return jnp.where(is_chosen[order], x[order], 0.0), jnp.sum(is_chosen)


@mutant(
    "10.3",
    "the count needs an added 1e-6",
    "n is at least 1. Can it be a divisor as it is?",
    target="variance_of_first",
)
@jax.jit
def variance_eps(x, n):
    is_used = jnp.arange(x.shape[0]) < n
    mean = jnp.sum(jnp.where(is_used, x, 0.0)) / (n + 1e-6)
    return jnp.sum(jnp.where(is_used, (x - mean) ** 2, 0.0)) / (n + 1e-6)


@mutant(
    "10.3", "the variance needs an added 1e-6", "What is the variance of equal numbers?", target="variance_of_first"
)
@jax.jit
def variance_floor(x, n):
    is_used = jnp.arange(x.shape[0]) < n
    mean = jnp.sum(jnp.where(is_used, x, 0.0)) / n
    return jnp.sum(jnp.where(is_used, (x - mean) ** 2, 0.0)) / n + 1e-6


@mutant("10.5", "the softmax needs an added 1e-6", "Do the probabilities add up to 1?", target="probabilities")
@partial(jax.jit, static_argnames="in_logs")
def softmax_eps(logits, temperature, in_logs):
    z = logits / (temperature + 1e-6)
    return jax.nn.log_softmax(z) if in_logs else jax.nn.softmax(z)


@mutant(
    "10.5",
    "the logarithm needs an added 1e-6",
    "A probability has the logarithm -30. How much is `log(p + 1e-6)`?",
    target="probabilities",
)
@partial(jax.jit, static_argnames="in_logs")
def log_eps(logits, temperature, in_logs):
    p = jax.nn.softmax(logits / temperature)
    return jnp.log(p + 1e-6) if in_logs else p


@mutant(
    "10.5",
    "the logarithm may be taken of the softmax",
    "What is the logarithm of a probability that is 0 in float32?",
    target="probabilities",
)
@partial(jax.jit, static_argnames="in_logs")
def log_of_softmax(logits, temperature, in_logs):
    p = jax.nn.softmax(logits / temperature)
    return jnp.log(p) if in_logs else p


@mutant("10.5", "exp never overflows", "What is exp(100) in float32?", target="probabilities")
@partial(jax.jit, static_argnames="in_logs")
def plain_exp(logits, temperature, in_logs):
    e = jnp.exp(logits / temperature)
    return jax.nn.log_softmax(logits / temperature) if in_logs else e / e.sum()


@mutant(
    "10.6",
    "the number of observations needs an added 1e-6",
    "How small can the count be when you divide by it?",
    target="observed",
)
@jax.jit
def observed_eps(mean, count, x):
    count = count + 1
    mean = mean + (x - mean) / (count + 1e-6)
    return mean, count, x - mean


@mutant(
    "10.1", "the fastest try is typical", "Is the fastest try the typical one? Which time does the docstring ask for?"
)
def least_of_times(function, *args, tries=9, clock=time.perf_counter):
    times = []
    for _ in range(1 + tries):
        start = clock()
        jax.block_until_ready(function(*args))
        times.append(clock() - start)
    return times[0], min(times[1:])


@mutant("10.1", "the first call is one of the tries", "How often is the function called?")
def first_is_a_try(function, *args, tries=9, clock=time.perf_counter):
    times = []
    for _ in range(tries):
        start = clock()
        jax.block_until_ready(function(*args))
        times.append(clock() - start)
    return times[0], statistics.median(times)


@mutant("10.1", "one of the times is always in the middle", "Of four times, which is the middle?")
def upper_middle(function, *args, tries=9, clock=time.perf_counter):
    times = []
    for _ in range(1 + tries):
        start = clock()
        jax.block_until_ready(function(*args))
        times.append(clock() - start)
    return times[0], sorted(times[1:])[tries // 2]


@also_right("10.1", "with a helper")
def with_a_helper(function, *args, tries=9, clock=time.perf_counter):
    def once():
        before = clock()
        jax.tree_util.tree_map(jax.block_until_ready, function(*args))
        return clock() - before

    first = once()
    rest = sorted(once() for _ in range(tries))
    middle = (rest[(tries - 1) // 2] + rest[tries // 2]) / 2
    return first, middle


@mutant("10.2", "the rate is static", "How many programs do ten rates need?")
def static_rate(gradient, x, rates):
    step = jax.jit(lambda x, rate: x - rate * gradient(x), static_argnums=1)
    x = jnp.asarray(x, jnp.float32)
    for rate in rates:
        x = step(x, float(rate))
    return x


@mutant(
    "10.2",
    "ints and floats are one type to jit",
    "For the rates 1, 0.5 and np.float64(0.25), how often is the function traced?",
)
def as_they_are(gradient, x, rates):
    step = jax.jit(lambda x, rate: x - rate * gradient(x))
    x = jnp.asarray(x, jnp.float32)
    for rate in rates:
        x = step(x, rate)
    return x


@mutant("10.2", "x becomes a float by itself", "x is an int: what does the second step get?")
def x_as_it_is(gradient, x, rates):
    step = jax.jit(lambda x, rate: x - rate * gradient(x))
    x = jnp.asarray(x)
    for rate in rates:
        x = step(x, jnp.float32(rate))
    return x


@also_right("10.2", "a scan")
def by_scan(gradient, x, rates):
    rates = np.array([float(rate) for rate in rates], np.float32)

    def step(x, rate):
        return x - rate * gradient(x), None

    x = jnp.asarray(x, jnp.float32)
    return jax.jit(lambda x, rates: jax.lax.scan(step, x, rates)[0])(x, rates)


@mutant(
    "10.5",
    "the sum of the exponentials needs an added 1e-6",
    "The sum of the exponentials is never 0. To what do the probabilities add up?",
    target="probabilities",
)
@partial(jax.jit, static_argnames="in_logs")
def denominator_eps(logits, temperature, in_logs):
    z = logits / temperature
    e = jnp.exp(z - jnp.max(z))
    return jax.nn.log_softmax(z) if in_logs else e / (jnp.sum(e) + 1e-6)


@mutant(
    "10.2",
    "without rates, x is returned as it came",
    "x is an int, and there are no rates. Of which class and which dtype is the result?",
)
def nothing_to_do(gradient, x, rates):
    if not len(rates):
        return x
    x = jnp.asarray(x, jnp.float32)
    step = jax.jit(lambda x, rate: x - rate * gradient(x))
    for rate in rates:
        x = step(x, jnp.float32(rate))
    return x


@mutant(
    "10.3",
    "the variance is best computed as mean(x²) - mean(x)²",
    "Take numbers around 10000 that differ by 1. How many digits do their squares have, and how many can a float32 hold?",
    target="variance_of_first",
)
@jax.jit
def by_squares(x, n):
    x = jnp.where(jnp.arange(x.shape[0]) < n, x, 0.0)
    mean = jnp.sum(x) / n
    return jnp.sum(x * x) / n - mean * mean


@mutant(
    "10.3",
    "the divisor of the variance is n - 1",
    "By which number does the docstring divide?",
    target="variance_of_first",
)
@jax.jit
def of_a_sample(x, n):
    used = jnp.arange(x.shape[0]) < n
    mean = jnp.sum(jnp.where(used, x, 0.0)) / n
    return jnp.sum(jnp.where(used, (x - mean) ** 2, 0.0)) / jnp.maximum(n - 1, 1)


@mutant(
    "10.4",
    "only the returned elements are counted",
    "Ten elements are larger than the threshold, and `size` is 3. Which count is asked for?",
    target="first_above",
)
@partial(jax.jit, static_argnames="size")
def counts_what_it_returns(x, threshold, size):
    above = x > threshold
    places = jnp.nonzero(above, size=size, fill_value=x.shape[0])[0]
    chosen = jnp.where(places < x.shape[0], x[jnp.minimum(places, x.shape[0] - 1)], 0.0)
    return chosen, jnp.minimum(jnp.sum(above, dtype=jnp.int32), size)


@mutant(
    "10.4",
    "the mean of a matrix is a row",
    "`x` may have any shape. How many numbers are the mean?",
    target="mean_above",
)
@jax.jit
def mean_of_rows(x, threshold):
    above = x > threshold
    count = jnp.sum(above, axis=-1)
    return jnp.where(count > 0, jnp.sum(jnp.where(above, x, 0.0), axis=-1) / jnp.maximum(count, 1), 0.0)


@mutant(
    "10.5",
    "the result is divided by the temperature",
    "Do probabilities at temperature 2 add up to 1?",
    target="probabilities",
)
@partial(jax.jit, static_argnames="in_logs")
def divides_afterwards(logits, temperature, in_logs):
    return (jax.nn.log_softmax if in_logs else jax.nn.softmax)(logits) / temperature


@mutant(
    "10.6",
    "the mean is divided by the old count",
    "At the second observation the old count is 1. By which number is the distance divided: 1 or 2?",
    target="observed",
)
@jax.jit
def by_the_old_count(mean, count, x):
    mean = mean + (x - mean) / jnp.maximum(count, 1)
    return mean, count + 1, x - mean


@mutant(
    "10.7",
    "the loss is that of the last step",
    "The log has an entry for each rate. Which loss is `loss 0`?",
    target="fit",
)
def last_loss_first(x, rates):
    step = jax.jit(lambda x, rate: (x - rate * 2.0 * x, jnp.sum(x * x)))
    losses = []
    for rate in rates:
        x, loss = step(x, jnp.float32(rate))
        losses.append(loss)
    return x, {f"loss {i}": loss for i, loss in enumerate(losses[::-1])}


@also_right("10.3", "by a matrix of distances", target="variance_of_first")
@jax.jit
def by_distances(x, n):
    used = jnp.arange(x.shape[0]) < n
    y = jnp.where(used, x, 0.0)
    pairs = jnp.where(used[:, None] & used, (y[:, None] - y) ** 2, 0.0)
    return jnp.sum(pairs) / (2.0 * n * n)


@mutant(
    "10.2",
    "the caller does not use x any more",
    "Whose array is the x of the first step? What can its owner do with it afterwards?",
)
def believes_the_first_x_is_not_used_any_more(gradient, x, rates):

    @partial(jax.jit, donate_argnums=0)
    def step(x, rate):
        return x - rate * gradient(x)

    x = jnp.asarray(x, dtype=jnp.float32)
    for rate in rates:
        x = step(x, np.float32(rate))
    return x


@mutant("10.2", "a float16 is exact enough for a rate", "Which number is `np.float16(2051)`?")
def believes_half_of_the_digits_will_do_for_a_rate(gradient, x, rates):

    @jax.jit
    def step(x, rate):
        return x - rate * gradient(x)

    x = jnp.asarray(x, dtype=jnp.float32)
    for rate in rates:
        x = step(x, np.float16(rate))
    return x


@mutant(
    "10.3",
    "only one of several rows of the same length counts",
    "Two rows have three numbers each. How many variances come back?",
    target="variances",
)
def believes_rows_of_one_length_are_one_row(rows):
    rows = list({len(row): row for row in rows}.values())
    found = []
    for row in rows:
        padded = np.zeros(bucket_size(len(row)), np.float32)
        padded[: len(row)] = row
        found.append(variance_of_first(padded, len(row)))
    return found


@mutant("10.3", "the caller's rows may grow", "Whose list is `row`? How long is it afterwards?", target="variances")
def believes_the_caller_s_rows_may_grow(rows):
    found = []
    for row in rows:
        n = len(row)
        if isinstance(row, list):
            row.extend([0.0] * (bucket_size(n) - n))
            padded = np.asarray(row, np.float32)
        else:
            padded = np.zeros(bucket_size(n), np.float32)
            padded[:n] = row
        found.append(variance_of_first(padded, n))
    return found


@mutant(
    "10.3",
    "a float16 is exact enough for the number of elements",
    "Which number is `np.float16(2051)`?",
    target="variance_of_first",
)
@jax.jit
def believes_half_of_the_digits_will_do_for_a_number_of_numbers(x, n):
    n = jnp.asarray(n).astype(jnp.float16)
    used = jnp.arange(x.shape[0]) < n
    mean = jnp.sum(jnp.where(used, x, 0.0)) / n
    return jnp.sum(jnp.where(used, (x - mean) ** 2, 0.0)) / n


@mutant("10.4", "a count fits into a byte", "How much is 127 + 1 in an int8?", target="mean_above")
@jax.jit
def believes_a_count_fits_into_a_byte(x, threshold):
    above = x > threshold
    count = jnp.sum(above, dtype=jnp.int8)
    total = jnp.sum(jnp.where(above, x, 0.0))
    return jnp.where(count > 0, total / jnp.maximum(count, 1), 0.0)


@mutant("10.4", "a float16 is exact enough for a count", "Which number is `np.float16(2051)`?", target="mean_above")
@jax.jit
def believes_half_of_the_digits_will_do_for_a_count(x, threshold):
    above = x > threshold
    count = jnp.sum(above.astype(jnp.float16))
    total = jnp.sum(jnp.where(above, x, 0.0))
    return jnp.where(count > 0, total / jnp.maximum(count, 1), 0.0)


@mutant("10.4", "x always has an axis 0", "What are the axes of an array of shape `()`?", target="mean_above")
@jax.jit
def believes_there_is_an_axis_0(x, threshold):
    above = x > threshold
    count = jnp.sum(above, axis=0).sum()
    total = jnp.sum(jnp.where(above, x, 0.0), axis=0).sum()
    return jnp.where(count > 0, total / jnp.maximum(count, 1), 0.0)


@mutant("10.4", "the elements that are not chosen are finite", "What is 0 times -inf?", target="first_above")
@partial(jax.jit, static_argnames="size")
def believes_what_is_not_chosen_is_finite(x, threshold, size):
    above = x > threshold
    order = jnp.argsort(~above, stable=True)
    count = jnp.sum(above)
    return (x[order[:size]] * (jnp.arange(size) < count), count)


@mutant("10.4", "an element that is 0 is never chosen", "Is 0 greater than -1?", target="first_above")
@partial(jax.jit, static_argnames="size")
def believes_who_is_0_is_not_chosen(x, threshold, size):
    above = x > threshold
    kept = jnp.where(above, x, 0.0)
    order = jnp.argsort(kept == 0, stable=True)
    return (kept[order[:size]], jnp.sum(kept != 0))


@mutant(
    "10.5",
    "a temperature always has the same result",
    "The schedule has a temperature twice, once in logarithms. Are the results equal?",
    target="sweep",
)
def believes_one_temperature_has_one_result(logits, schedule):
    kept = {}
    return [kept.setdefault(t, probabilities(logits, np.float32(t), in_logs)) for t, in_logs in schedule]


@mutant("10.6", "paths are sorted", "In which order are the leaves of a list of twelve?", target="leaks")
def believes_paths_are_sorted(state):
    return sorted([keystr(path) for path, leaf in tree_flatten_with_path(state)[0] if isinstance(leaf, Tracer)])


@mutant(
    "10.6",
    "whatever cannot be read is a tracer",
    "A donated array cannot be read any more. Is it a tracer?",
    target="leaks",
)
def believes_what_cannot_be_read_is_a_tracer(state):

    def _unreadable(leaf):
        try:
            np.asarray(leaf)
        except Exception:
            return True
        return False

    return [keystr(path) for path, leaf in tree_flatten_with_path(state)[0] if _unreadable(leaf)]


@mutant(
    "10.7",
    "the caller does not use x any more",
    "Whose array is the x of the first step? What can its owner do with it afterwards?",
    target="fit",
)
def believes_the_first_x_is_used_up(x, rates):

    @partial(jax.jit, donate_argnums=0)
    def step(x, rate):
        return (x - rate * 2.0 * x, jnp.sum(x * x))

    log = {}
    for i, rate in enumerate(rates):
        x, log[f"loss {i}"] = step(x, np.float32(rate))
    return (x, log)


@mutant(
    "10.7",
    "waiting for each loss costs nothing",
    "`block_until_ready` reads no number. How long does Python wait in it?",
    target="fit",
)
def believes_who_waits_reads_nothing(x, rates):

    @jax.jit
    def step(x, rate):
        return (x - rate * 2.0 * x, jnp.sum(x * x))

    log = {}
    for i, rate in enumerate(rates):
        x, log[f"loss {i}"] = jax.block_until_ready(step(x, np.float32(rate)))
    return (x, log)


@mutant("10.2", "equal rates are used once", "The same rate comes twice. How many steps are that?")
def believes_equal_rates_are_one_rate(gradient, x, rates):

    @jax.jit
    def step(x, rate):
        return x - rate * gradient(x)

    x = np.asarray(x, np.float32)
    for rate in dict.fromkeys(rates):
        x = step(x, jnp.float32(rate))
    return jnp.asarray(x)


@mutant(
    "10.3",
    "a float16 or float32 is exact enough for the logarithm of a length",
    "What is the logarithm of 2 ** 20 + 1, in the dtype that you take it in?",
    target="bucket_size",
)
def believes_half_of_the_digits_will_do_for_a_length(n):
    return max(8, 2 ** int(np.ceil(np.log2(np.float16(n)))))


@mutant(
    "10.3", "no row is longer than 1024", "A row has 1500 numbers. How many of them do you use?", target="variances"
)
def believes_no_row_is_longer_than_1024(rows):

    def one(row):
        row = np.array(row, np.float32)
        full = np.full(min(1024, bucket_size(row.size)), np.inf, np.float32)
        full[: row.size] = row[: full.size]
        return variance_of_first(full, np.int32(row.size))

    return list(map(one, rows))


@mutant(
    "10.3",
    "the caller's rows may be changed",
    "If the caller's array is a float32 already, is yours a copy of it, or the same array?",
    target="variances",
)
def believes_the_caller_s_rows_are_mine(rows):

    def one(row):
        row = np.asarray(row, np.float32)
        row -= row.mean()
        full = np.full(bucket_size(row.size), np.inf, np.float32)
        full[: row.size] = row
        return variance_of_first(full, np.int32(row.size))

    return list(map(one, rows))


@mutant("10.4", "a threshold is finite", "How much is -inf + inf?", target="mean_above")
@jax.jit
def believes_a_threshold_is_finite(x, threshold):
    flat = jnp.ravel(x)
    chosen = flat > threshold
    many = chosen.sum()
    jnp.sum(flat, where=chosen)
    return jnp.where(
        many == 0, 0.0, threshold + jnp.sum(jnp.maximum(flat - threshold, 0)) / jnp.where(many == 0, 1, many)
    )


@mutant(
    "10.5", "a temperature is positive", "What are the probabilities at a temperature of -2?", target="probabilities"
)
@partial(jax.jit, static_argnums=2)
def believes_a_temperature_is_positive(logits, temperature, in_logs):
    scaled = logits / abs(temperature)
    if in_logs:
        return jax.nn.log_softmax(scaled)
    return jax.nn.softmax(scaled)


@mutant("10.6", "a tuple is one leaf", "A tuple has a tracer in it. What is the path to it?", target="leaks")
def believes_a_tuple_is_one_place(state):
    found = []
    for path, leaf in tree_flatten_with_path(state, lambda x: x is None or isinstance(x, tuple))[0]:
        if isinstance(leaf, Tracer):
            found.append(keystr(path))
    return found


@mutant(
    "10.6",
    "the root of the tree has no path",
    "The state is one tracer. What is its path, and is it a leak?",
    target="leaks",
)
def believes_the_root_is_not_a_place(state):
    found = []
    for path, leaf in tree_flatten_with_path(state)[0]:
        if path and isinstance(leaf, Tracer):
            found.append(keystr(path))
    return found


@mutant(
    "10.6",
    "the attributes of any object are part of the tree",
    "An object of a class that is not registered: is it a leaf?",
    target="leaks",
)
def believes_the_attributes_of_an_object_are_places(state):
    found = []
    for path, leaf in tree_flatten_with_path(vars(state) if hasattr(state, "__dict__") else state)[0]:
        if isinstance(leaf, Tracer):
            found.append(keystr(path))
    return found


@mutant(
    "10.6",
    "the first observation may have any shape",
    "The first x has another shape than the mean. Can it be used?",
    target="RunningMean.update",
)
def believes_the_first_observation_is_the_mean_whatever_it_is(self, x):
    if int(self.count) == 0:
        self.mean = jnp.asarray(x)
        self.count = self.count + 1
        return jnp.zeros_like(self.mean)
    state = observed(self.mean, self.count, x)
    self.mean, self.count = state[:2]
    return state[2]


@mutant(
    "10.6",
    "an observation only needs as many elements as the mean",
    "An x has four numbers, and the mean has the shape (2, 2). Can it be used?",
    target="RunningMean.update",
)
def believes_as_many_numbers_are_an_observation(self, x):
    state = observed(self.mean, self.count, jnp.reshape(x, self.mean.shape))
    self.mean, self.count = state[:2]
    return state[2]


@mutant("10.6", "nan is not an observation", "What is the mean of 1 and nan?", target="RunningMean.update")
def believes_nan_is_not_an_observation(self, x):
    state = observed(self.mean, self.count, x)
    if not bool(jnp.isnan(state[2]).any()):
        self.mean, self.count = state[:2]
    return state[2]


@mutant("10.7", "loss 10 comes after loss 1", "After eleven steps: in which order are the names, sorted as strings?")
def believes_loss_10_comes_after_loss_1(x, rates):

    @jax.jit
    def step(x, rate):
        return (x - rate * (2.0 * x), jnp.vdot(x, x))

    losses = {}
    x = jnp.asarray(x, jnp.float32)
    for rate in map(np.float32, rates):
        x, losses["loss " + str(len(losses))] = step(x, rate)
    return (x, dict(zip(losses, [losses[k] for k in sorted(losses)], strict=False)))
