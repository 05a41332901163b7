"""Plausible wrong answers to the exercises of lab 10, each with what its author believes."""

from __future__ import annotations

import time

from jitkit.kata.mutants import edit, mutant

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
    "10.1",
    "another call for warming up does no harm",
    "How often is the function called, and how often should it be?",
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


@mutant(
    "10.2",
    "static is a cure-all",
    "Is the rate something that decides which operations are in the program?",
)
def makes_the_rate_static(gradient, x, rates):
    step = jax.jit(lambda x, rate: x - rate * gradient(x), static_argnums=1)
    x = np.asarray(x, np.float32)
    for rate in rates:
        x = step(x, float(rate))
    return x


@mutant(
    "10.2",
    "the first rate is everybody's",
    "Your step uses a rate from outside. When does it look at it?",
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
    "Which type has x in the first step, and which in the second?",
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
    "a bucket is larger than what is in it",
    "A row of exactly 16 numbers: how many places does it need?",
    "(n - 1).bit_length()",
    "n.bit_length()",
    target="bucket_size",
)


@mutant(
    "10.3",
    "zeros change nothing",
    "They do not change the sum. How far are they from the mean?",
    target="variance_of_first",
)
def trusts_zeros(x, n):
    mean = jnp.sum(x) / n
    return jnp.sum((x - mean) ** 2) / n


@mutant(
    "10.3",
    "the length of x is the number of its elements",
    "By what do you divide, and what is n for?",
    target="variance_of_first",
)
def divides_by_the_size(x, n):
    is_used = jnp.arange(x.shape[0]) < n
    mean = jnp.mean(jnp.where(is_used, x, 0.0))
    return jnp.mean(jnp.where(is_used, (x - mean) ** 2, 0.0))


@mutant(
    "10.3",
    "multiplying by 0 makes everything 0",
    "How much is 0 times nan?",
    target="variance_of_first",
)
def multiplies_by_weights(x, n):
    weights = jnp.where(jnp.arange(x.shape[0]) < n, 1.0, 0.0)
    mean = jnp.sum(weights * x) / n
    return jnp.sum(weights * (x - mean) ** 2) / n


@mutant(
    "10.3",
    "jit handles any shape",
    "It does. How often does it compile for that?",
    target="variances",
)
def does_not_pad(rows):
    return [variance_of_first(np.asarray(row, np.float32), len(row)) for row in rows]


@mutant(
    "10.3",
    "padding to the longest row is enough",
    "How long is the longest row of the next list?",
    target="variances",
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
    "the last row's length is everybody's",
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
def indexes_with_the_mask(x, threshold):
    return jnp.mean(x[x > threshold])


@mutant(
    "10.4",
    "the mean is over all elements",
    "By how many do you divide?",
    target="mean_above",
)
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
    "the first are the largest",
    "You sort the values. In which order were they?",
    target="first_above",
)
def sorts_the_values(x, threshold, size):
    is_chosen = x > threshold
    largest = -jnp.sort(-x)[:size]
    return jnp.where(largest > threshold, largest, 0.0), jnp.sum(is_chosen)


edit(
    "10.4",
    "what is left over is nobody's business",
    "What stands in the places that no chosen element takes?",
    "jnp.where(is_chosen[order], x[order], 0.0)",
    "x[order]",
    target="first_above",
)
edit(
    "10.4",
    "as many are chosen as fit",
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
)
edit(
    "10.5",
    "1 and 1.0 are the same to jit",
    "Which types have the temperatures that your function sees?",
    "float(temperature)",
    "temperature",
)
edit(
    "10.5",
    "an `if` works on any argument",
    "Python's `if` asks for the value of `in_logs` while the function is traced. Who knows it then?",
    '@partial(jax.jit, static_argnames="in_logs")',
    "@jax.jit",
)


@mutant(
    "10.5",
    "a new closure for each setting is cheap",
    "How many functions does your loop make, and what does jit know of them?",
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
    "10.6",
    "leaks are at the top",
    "What if the tracer is in a list in the state?",
    target="leaks",
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
    "Which type and shape has the mean on the first call, and which on the second?",
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
