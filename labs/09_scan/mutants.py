"""Wrong answers to the exercises of lab 09, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant

# --- 09.1 What a scan means ---------------------------------------------------------------------------------------

edit(
    "09.1",
    "`ys` holds the carries",
    "`f` returns two things. Which one goes to the next step, and which one goes out?",
    "outputs.append(y)",
    "outputs.append(carry)",
    target="scan_in_python",
)
edit(
    "09.1",
    "a step gets all of `xs`",
    "What is the shape of the `x` that a step gets?",
    "tree_map(lambda x, i=i: index_in_dim(x, i, keepdims=False), xs)",
    "xs",
    target="scan_in_python",
)
edit(
    "09.1",
    "with `reverse`, the outputs come in reverse order",
    "In reverse, `x[2]` is handled first. Where does its output belong?",
    "stack_elements(ys, reverse)",
    "stack_elements(ys)",
    target="scan_in_python",
)
edit(
    "09.1",
    "`reverse` reverses only the outputs",
    "In reverse, which element does the first step get?",
    "reversed(range(length)) if reverse else range(length)",
    "range(length)",
    target="scan_in_python",
)
edit(
    "09.1",
    "without steps, an empty list of outputs will do",
    "Which shape would the outputs have, if `f` was never called?",
    "if length == 0:",
    "if length == 0:\n        return carry, None\n    if length < 0:",
    target="scan_in_python",
)
edit(
    "09.1",
    "outputs are joined end to end",
    "Four steps return an array of shape (2, 2) each. What is the shape of the result?",
    "[expand_dims(y, (0,)) for y in in_order]",
    "[y if y.ndim else expand_dims(y, (0,)) for y in in_order]",
    target="stack_elements",
)

# --- 09.2 How many steps ------------------------------------------------------------------------------------------

edit(
    "09.2",
    "the shortest array counts",
    "A step takes one element of each array. What if one array has no element left?",
    "if len(set(sizes)) > 1:",
    "if len(set(sizes)) > 1:\n        return min(sizes)\n    if False:",
)
edit(
    "09.2",
    "the first array decides about the number of steps",
    "Which of the arrays did you look at?",
    "if len(set(sizes)) > 1:",
    "if False:",
)
edit(
    "09.2",
    "`length` cuts the arrays",
    "`xs` has 8 elements and `length` is 5. Which of the two did the author mean?",
    "if any(size != int(length) for size in sizes):",
    "if any(size < int(length) for size in sizes):",
)
edit(
    "09.2",
    "`length` is never needed",
    "How many steps does a scan over None have?",
    "    if length is not None:",
    "    if False:",
)
edit(
    "09.2",
    "the number of steps may be data",
    "What is the shape of the outputs, and when must it be known?",
    "if isinstance(length, core.Tracer):",
    "if False:",
)
edit(
    "09.2",
    "a number has one element",
    "Which element of 2.0 does the second step get?",
    'if not all(hasattr(x, "shape") for x in xs):',
    'xs = [x for x in xs if hasattr(x, "shape")]\n    if False:',
)

# --- 09.3 One equation --------------------------------------------------------------------------------------------

edit(
    "09.3",
    "a step gets all of `xs`",
    "For which type do you trace the body: that of the array, or that of an element?",
    "elements = [element_of(aval) for aval in x_avals]",
    "elements = x_avals",
)


@mutant(
    "09.3", "the body is called for each step", "All steps have the same types. How often must Python call the body?"
)
def python_runs_it(body, init, xs, length, reverse, unroll):
    length = scan_length(tree_flatten(xs)[0], length)
    return scan_in_python(body.fun, init, xs, length, reverse)


edit(
    "09.3",
    "a start value keeps its type",
    "A scan starts from 0 and adds floats. Must its author write `0.0`?",
    "if traced.out_tree.children()[0].num_leaves == len(init_leaves):",
    "if False:",
)
edit(
    "09.3",
    "one trace is enough",
    "The start has another type now. For which type was the body traced?",
    "        if changed:\n            traced = trace_step(body, in_tree, [*avals_of(init_leaves), *elements])\n",
    "",
)
edit(
    "09.3",
    "the carry's type may drift",
    "The second step gets what the first one returned. Which type does it expect?",
    '    check_carry("scan body", body, in_tree, traced.out_tree.children()[0], traced)\n',
    "",
)
edit(
    "09.3",
    "the outputs must agree with the inputs, too",
    "The body returns a pair. Which part of it must agree with what goes in?",
    '"scan body", body, in_tree, traced.out_tree.children()[0], traced',
    '"scan body", body, in_tree, traced.out_tree, traced',
)
edit(
    "09.3",
    "`unroll` is True or False",
    "How many steps at once does the equation say, for `unroll=True`?",
    "reverse, length, steps_at_once(unroll, length))",
    "reverse, length, unroll)",
)
edit(
    "09.3",
    "there is always a program",
    "Where jit is disabled, nothing is traced. Who runs the loop then?",
    "if config.local.state.options.disable_jit:",
    "if False:",
)

# --- 09.4 A scan is a while loop ----------------------------------------------------------------------------------


@mutant(
    "09.4",
    "the arrays are shortened and carried",
    "How much is copied in each trip, if the arrays are shortened and handed on?",
    target="loop_over",
)
def hands_on_the_rest(step, carry, xs, y_avals, length, reverse):
    ys = [empty((length, *aval.shape), aval.dtype) for aval in y_avals]
    if not length:
        return carry, ys
    first, rest, last = (length - 1, (0, length - 1), True) if reverse else (0, (1, length), False)

    def trip(state):
        i, carry, ys, left = state
        at = sub(length - 1, i) if reverse else i
        heads = [slice_in_dim(x, first, first + 1) for x in left]
        carry, y = step(carry, [index_in_dim(x, first, keepdims=False) for x in left])
        tails = [slice_in_dim(x, *rest) for x in left]
        left = [concatenate([h, t] if last else [t, h], 0) for h, t in zip(heads, tails, strict=True)]
        return (add(i, 1), carry, [write_element(whole, part, at) for whole, part in zip(ys, y, strict=True)], left)

    def goes_on(state):
        return lt(state[0], length)

    state = (0, carry, ys, list(xs))
    _, carry, ys, _ = run_while(Body(goes_on, goes_on, "while_cond"), Body(trip, trip, "while_body"), state)
    return carry, ys


edit(
    "09.4",
    "the loop begins at 1",
    "Which element does the first trip read?",
    '"while_body"), (0, carry, ys)',
    '"while_body"), (1, carry, ys)',
    target="loop_over",
)
edit(
    "09.4",
    "`ys` holds the carries",
    "A step returns the carry, and something else. Which of the two is written?",
    "for whole, part in zip(ys, y, strict=True)]",
    "for whole, part in zip(ys, carry)]",
    target="loop_over",
)
edit(
    "09.4",
    "with `reverse`, the outputs come in reverse order",
    "The output that was made of `x[2]`: at which place do you write it?",
    "[write_element(whole, part, at)",
    "[write_element(whole, part, i)",
    target="loop_over",
)
edit(
    "09.4",
    "`reverse` reverses only the outputs",
    "In reverse, which element does the first trip read?",
    "[read_element(x, at) for x in xs]",
    "[read_element(x, i) for x in xs]",
    target="loop_over",
)
edit(
    "09.4",
    "a loop of no trips can be written like any other",
    "Which element would the body be traced for, in an array of none?",
    "    if not length:\n        return carry, ys\n",
    "",
    target="loop_over",
)
edit(
    "09.4",
    "an element keeps its axis",
    "What is the shape of `x[i]`, for a matrix x?",
    "squeeze(dynamic_slice_in_dim(x, i, 1, allow_negative_indices=False), (0,))",
    "dynamic_slice_in_dim(x, i, 1, allow_negative_indices=False)",
    target="read_element",
)
edit(
    "09.4",
    "an index may be negative",
    "The index is within bounds. What would have to be computed if it were not known to be?",
    ", allow_negative_indices=False",
    "",
    target="write_element",
)

# --- 09.5 Unroll --------------------------------------------------------------------------------------------------

edit(
    "09.5",
    "unroll divides the length",
    "Ten steps, four at a time: how many are done by whole blocks?",
    "    if rest:\n",
    "    if False:\n",
)
edit(
    "09.5",
    "in reverse the last elements are left over",
    "A scan backwards begins at the end. Which elements come last?",
    "first, last = (rest, length) if reverse else (0, length - rest)",
    "first, last = (0, length - rest)",
)
edit(
    "09.5",
    "what is left over comes first",
    "In which order do the two lists of outputs belong?",
    "zip(more, ys, strict=True) if reverse else zip(ys, more, strict=True)",
    "zip(ys, more, strict=True) if reverse else zip(more, ys, strict=True)",
)
edit(
    "09.5",
    "all steps may be unrolled",
    "How long is your program for 1000 steps, 4 at a time?",
    "if (trips, rest) == (1, 0):",
    "if True:",
)
edit(
    "09.5",
    "unrolling needs a loop",
    "How many trips would the loop have?",
    "    if (trips, rest) == (1, 0):\n        trips, rest = 0, length\n",
    "",
)
edit(
    "09.5",
    "0 means no unrolling",
    "What does `unroll=0` mean, and what does `divmod(length, 0)` do?",
    "divmod(length, unroll) if unroll else (0, length)",
    "divmod(length, unroll or 1)",
)

# --- 09.6 Dead code in a loop -------------------------------------------------------------------------------------


@mutant(
    "09.6", "everything is needed", "Nobody reads a part's last value, and no step reads the part. Who would miss it?"
)
def keeps_all(jaxpr, num_consts, carry, ys):
    dce_jaxpr(jaxpr, carry + ys)
    return [True] * len(carry)


@mutant(
    "09.6",
    "a carry is needed when its last value is used",
    "Each step computes an output from a part of the carry. Must that part go round?",
)
def asks_nobody(jaxpr, num_consts, carry, ys):
    return carry


@mutant(
    "09.6",
    "going over the parts once is enough",
    "You found a part that is needed. What does *it* need, in the step before?",
)
def looks_once(jaxpr, num_consts, carry, ys):
    used = dce_jaxpr(jaxpr, carry + ys)[1]
    reads = used[num_consts : num_consts + len(carry)]
    return [before or now for before, now in zip(carry, reads, strict=True)]


edit(
    "09.6",
    "the carry is the first input",
    "What are the first inputs of the jaxpr of a body that closes over arrays?",
    "used[num_consts : num_consts + len(carry)]",
    "used[: len(carry)]",
)

# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("09.1", "x[i], as it is said", target="scan_in_python")
def elements_by_index(f, carry, xs, length, reverse):
    if not length:
        raise ValueError("a scan of no steps has outputs of no known type")
    order = list(range(length))
    if reverse:
        order = order[::-1]
    ys = []
    for i in order:
        carry, y = f(carry, tree_map(lambda x: x[i], xs))
        ys.append(y)
    return carry, tree_map(lambda *parts: stack_elements(parts, reverse), *ys)


@also_right("09.1", "x[i], as it is said", target="stack_elements")
def stacks_a_list(ys, reverse=False):
    parts = []
    for y in ys:
        parts.append(expand_dims(y, (0,)))
    if reverse:
        parts.reverse()
    return concatenate(parts, 0)


@also_right("09.1", "leaf by leaf", target="scan_in_python")
def leaf_by_leaf(f, carry, xs, length, reverse):
    if length < 1:
        raise ValueError("no steps")
    leaves, tree = tree_flatten(xs)
    trees = [tree_unflatten(tree, [index_in_dim(x, i, keepdims=False) for x in leaves]) for i in range(length)]
    outputs = []
    for elements in trees[::-1] if reverse else trees:
        carry, out = f(carry, elements)
        outputs.append(tree_flatten(out))
    stacked = [stack_elements(ys, reverse) for ys in zip(*[leaves for leaves, _ in outputs], strict=False)]
    return carry, tree_unflatten(outputs[0][1], stacked)


@also_right("09.2", "question by question")
def question_by_question(xs, length):
    for x in xs:
        if not hasattr(x, "shape"):
            raise no_leading_axis(xs)
    sizes = [x.shape[0] for x in xs]
    if isinstance(length, core.Tracer):
        raise traced_length(length)
    if length is None:
        if len(sizes) == 0:
            raise ValueError("neither arrays nor a length")
        if min(sizes) != max(sizes):
            raise ValueError(f"leading axes of different sizes: {sizes}")
        return sizes[0]
    steps = int(length)
    for size in sizes:
        if size != steps:
            raise ValueError(f"length is {steps}, and there are arrays of {size} elements")
    return steps


@also_right("09.2", "with a set of sizes")
def set_of_sizes(xs, length):
    if [x for x in xs if not hasattr(x, "shape")]:
        raise no_leading_axis(xs)
    sizes = {x.shape[0] for x in xs}
    if length is not None:
        if isinstance(length, core.Tracer):
            raise traced_length(length)
        length = int(length)
        if sizes - {length}:
            raise ValueError(f"sizes {sizes} are not {length}")
        return length
    match len(sizes):
        case 0:
            raise ValueError("how many steps?")
        case 1:
            return sizes.pop()
    raise ValueError("sizes differ")


@also_right("09.3", "a helper that traces")
def helper_that_traces(body, init, xs, length, reverse, unroll):
    carry, carry_tree = tree_flatten(init)
    arrays, xs_tree = tree_flatten(xs)
    array_avals = avals_of(arrays)
    steps = scan_length(arrays, length)
    if config.value("disable_jit"):
        return scan_in_python(body.fun, init, xs, steps, reverse)
    in_tree = treedef_tuple((carry_tree, xs_tree))

    def trace():
        traced = trace_step(body, in_tree, avals_of(carry) + [element_of(a) for a in array_avals])
        return traced, traced.out_tree.children()[0]

    traced, out_carry = trace()
    n = len(carry)
    if out_carry.num_leaves == n:
        carry, changed = promote_weak_inputs(carry, avals_of(carry), traced.jaxpr.out_avals[:n])
        if changed:
            traced, out_carry = trace()
    check_carry("scan body", body, in_tree, out_carry, traced)
    outs = bind_scan(traced, carry, arrays, reverse, steps, steps_at_once(unroll, steps))
    return tree_unflatten(traced.out_tree, outs)


@also_right("09.3", "twice at most")
def twice_at_most(body, init, xs, length, reverse, unroll):
    init_leaves, init_tree = tree_flatten(init)
    x_leaves, x_tree = tree_flatten(xs)
    elements = [element_of(a) for a in avals_of(x_leaves)]
    length = scan_length(x_leaves, length)
    if config.local.state.options.disable_jit:
        return scan_in_python(body.fun, init, xs, length, reverse)
    in_tree = treedef_tuple((init_tree, x_tree))
    again = True
    retraced = False
    while again:
        traced = trace_step(body, in_tree, list(avals_of(init_leaves)) + elements)
        again = False
        carry_tree = traced.out_tree.children()[0]
        if not retraced and carry_tree.num_leaves == len(init_leaves):
            retraced = True
            carry_avals = traced.jaxpr.out_avals[: carry_tree.num_leaves]
            init_leaves, again = promote_weak_inputs(init_leaves, avals_of(init_leaves), carry_avals)
    check_carry("scan body", body, in_tree, carry_tree, traced)
    results = bind_scan(traced, init_leaves, x_leaves, reverse, length, steps_at_once(unroll, length))
    carry, ys = tree_unflatten(traced.out_tree, results)
    return carry, ys


@also_right("09.4", "reshape for squeeze", target="loop_over")
def loops_with_named_parts(step, carry, xs, y_avals, length, reverse):
    outputs = [empty((length,) + tuple(aval.shape), aval.dtype) for aval in y_avals]
    if length == 0:
        return carry, outputs

    def goes_on(state):
        done, _, _ = state
        return lt(done, length)

    def trip(state):
        done, carry, outputs = state
        place = done
        if reverse:
            place = sub(length - 1, done)
        elements = [read_element(x, place) for x in xs]
        carry, parts = step(carry, elements)
        outputs = [write_element(out, part, place) for out, part in zip(outputs, parts, strict=False)]
        return add(done, 1), carry, outputs

    state = run_while(Body(goes_on, goes_on, "while_cond"), Body(trip, trip, "while_body"), (0, carry, outputs))
    return state[1], state[2]


@also_right("09.4", "reshape for squeeze", target="read_element")
def reads_by_reshape(x, i):
    return reshape(dynamic_slice_in_dim(x, i, 1, allow_negative_indices=False), x.shape[1:])


@also_right("09.4", "reshape for squeeze", target="write_element")
def writes_by_reshape(x, element, i):
    one = reshape(element, (1, *x.shape[1:]))
    return dynamic_update_slice_in_dim(x, one, i, axis=0, allow_negative_indices=False)


@also_right("09.4", "a tuple of all", target="loop_over")
def loops_with_a_flat_tuple(step, carry, xs, y_avals, length, reverse):
    ys = [empty((length, *a.shape), a.dtype) for a in y_avals]
    if length < 1:
        return carry, ys

    def trip(state):
        i, carry, ys = state
        at = sub(length - 1, i) if reverse else i
        carry, parts = step(carry, [read_element(x, at) for x in xs])
        new = []
        for k in range(len(ys)):
            new.append(write_element(ys[k], parts[k], at))
        return add(i, 1), carry, new

    def cond(state):
        return lt(state[0], length)

    last = run_while(Body(cond, cond, "while_cond"), Body(trip, trip, "while_body"), (0, carry, ys))
    return last[1], last[2]


@also_right("09.5", "no loop, no blocks")
def no_loop_no_blocks(step, carry, xs, y_avals, length, reverse, unroll):
    if length == 0:
        return loop_over(step, carry, xs, y_avals, 0, reverse)
    if unroll == 0 or (length // unroll < 2 and length % unroll == 0) or length < unroll:
        return one_after_the_other(step, carry, xs, length, reverse)
    blocks, rest = divmod(length, unroll)
    start = rest if reverse else 0
    stop = start + blocks * unroll
    whole = [reshape(slice_in_dim(x, start, stop), (blocks, unroll) + tuple(x.shape[1:])) for x in xs]
    avals = [a.update(shape=(unroll, *a.shape)) for a in y_avals]
    carry, ys = loop_over(
        lambda c, x: one_after_the_other(step, c, x, unroll, reverse), carry, whole, avals, blocks, reverse
    )
    ys = [reshape(y, (blocks * unroll, *y.shape[2:])) for y in ys]
    if not rest:
        return carry, ys
    lo, hi = (0, rest) if reverse else (stop, length)
    carry, more = one_after_the_other(step, carry, [slice_in_dim(x, lo, hi) for x in xs], rest, reverse)
    return carry, [concatenate([b, a] if reverse else [a, b], 0) for a, b in zip(ys, more, strict=False)]


@also_right("09.5", "a guard around the loop")
def guard_around_the_loop(step, carry, xs, y_avals, length, reverse, unroll):
    if not length:
        return loop_over(step, carry, xs, y_avals, 0, reverse)
    unroll = unroll or length
    blocks, rest = divmod(length, unroll) if unroll else (0, 0)
    if blocks == 1 and rest == 0:
        blocks, rest = 0, length
    done = []
    if blocks:
        first = rest if reverse else 0
        inner = [slice_in_dim(x, first, first + blocks * unroll) for x in xs]
        inner = [reshape(x, (blocks, unroll, *x.shape[1:])) for x in inner]

        def block(carry, elements):
            return one_after_the_other(step, carry, elements, unroll, reverse)

        carry, ys = loop_over(
            block, carry, inner, [a.update(shape=(unroll, *a.shape)) for a in y_avals], blocks, reverse
        )
        done = [reshape(y, (blocks * unroll, *y.shape[2:])) for y in ys]
    if rest or not blocks:
        lo = 0 if reverse else length - rest
        carry, more = one_after_the_other(step, carry, [slice_in_dim(x, lo, lo + rest) for x in xs], rest, reverse)
        if not done:
            return carry, more
        done = [concatenate((m, y) if reverse else (y, m), 0) for y, m in zip(done, more, strict=False)]
    return carry, done


@also_right("09.6", "until nothing is new")
def until_nothing_is_new(jaxpr, num_consts, carry, ys):
    needed = list(carry)
    for _ in range(len(carry) + 1):
        used = dce_jaxpr(jaxpr, needed + list(ys))[1]
        for i in range(len(carry)):
            needed[i] = needed[i] or used[num_consts + i]
    return needed


@also_right("09.6", "by recursion")
def by_recursion(jaxpr, num_consts, carry, ys):
    inputs = dce_jaxpr(jaxpr, [*carry, *ys])[1]
    more = [c or inputs[num_consts + i] for i, c in enumerate(carry)]
    return carry if more == carry else needed_carry(jaxpr, num_consts, more, ys)


edit(
    "09.3",
    "outputs are a list",
    "What does the body return beside the carry: an array, or a tree? And what does `scan` return for it?",
    "tree_unflatten(traced.out_tree, outs)",
    "(tree_unflatten(carry_tree, outs[: len(init_leaves)]), outs[len(init_leaves) :])",
)


@also_right("09.1", "with reshape, by place", target="scan_in_python")
def by_place(f, carry, xs, length, reverse):
    if length == 0:
        raise ValueError("no steps, and so no outputs")
    results = {}
    for i in range(length - 1, -1, -1) if reverse else range(length):
        carry, results[i] = f(carry, tree_map(lambda x: index_in_dim(x, i, keepdims=False), xs))
    return carry, tree_map(lambda *ys: stack_elements(ys), *[results[i] for i in range(length)])


@also_right("09.1", "with reshape, by place", target="stack_elements")
def by_reshape(ys, reverse=False):
    rows = [reshape(y, (1, *getattr(y, "shape", ()))) for y in ys]
    return concatenate(rows[::-1] if reverse else rows, 0)


@also_right("09.3", "the parts apart")
def in_two_parts(body, init, xs, length, reverse, unroll):
    start, carry_tree = tree_flatten(init)
    arrays, xs_tree = tree_flatten(xs)
    elements = [element_of(aval) for aval in avals_of(arrays)]
    steps = scan_length(arrays, length)
    if config.local.state.options.disable_jit:
        return scan_in_python(body.fun, init, xs, steps, reverse)
    in_tree = treedef_tuple((carry_tree, xs_tree))
    traced = trace_step(body, in_tree, [*avals_of(start), *elements])
    carry_out, ys_out = traced.out_tree.children()
    if carry_out.num_leaves == len(start):
        start, again = promote_weak_inputs(start, avals_of(start), traced.jaxpr.out_avals[: len(start)])
        if again:
            traced = trace_step(body, in_tree, [*avals_of(start), *elements])
            carry_out, ys_out = traced.out_tree.children()
    check_carry("scan body", body, in_tree, carry_out, traced)
    results = bind_scan(traced, start, arrays, reverse, steps, steps_at_once(unroll, steps))
    return tree_unflatten(carry_tree, results[: len(start)]), tree_unflatten(ys_out, results[len(start) :])


# --- what learners wrote who believed something else ----------------------------------------------------------------

edit(
    "09.3",
    "with jit disabled, the loop runs forwards",
    "Where jit is disabled: which element does the first step get, with `reverse`?",
    "scan_in_python(body.fun, init, xs, length, reverse)",
    "scan_in_python(body.fun, init, xs, length, False)",
)
edit(
    "09.4",
    "one step needs no loop",
    "One step, and no loop: where does its output come from?",
    "    if not length:\n        return carry, ys\n",
    "    if length <= 1:\n        return carry, ys\n",
    target="loop_over",
)
edit(
    "09.5",
    "an element is a number",
    "The elements of `f32[8,3]` have the type `f32[3]`. What is the shape of a block of two of them?",
    "(trips, unroll, *x.shape[1:])",
    "(trips, unroll)",
)


edit(
    "09.1",
    "the outputs stand in the order in which they were made",
    "With `reverse`, the first output was made from the last element. At which place of the stack does it belong?",
    "stack_elements(ys, reverse), *outputs)",
    "stack_elements(ys), *outputs)",
    target="scan_in_python",
)


edit(
    "09.1",
    "`reverse` reverses the elements' own axes",
    "Which axis of `xs` is that of the steps?",
    "lambda x, i=i: index_in_dim(x, i, keepdims=False)",
    "lambda x, i=i: index_in_dim(x, i, axis=-1, keepdims=False)",
    target="scan_in_python",
)


edit(
    "09.1",
    "`xs` is one array",
    "`xs` may be a dict of arrays, or None. What does the body get?",
    "tree_map(lambda x, i=i: index_in_dim(x, i, keepdims=False), xs)",
    "xs if xs is None else index_in_dim(xs, i, keepdims=False)",
    target="scan_in_python",
)


edit(
    "09.1",
    "a carry that is a tree comes back as a list of its leaves",
    "`f` returned a dict as the carry. What should `scan` return?",
    "return carry, tree_map(",
    "carry = tree_flatten(carry)[0] if len(tree_flatten(carry)[0]) > 1 else carry\n    return carry, tree_map(",
    target="scan_in_python",
)


@also_right("09.1", "by recursion", target="scan_in_python")
def step_by_recursion(f, carry, xs, length, reverse):
    if not length:
        raise ValueError("what would f return?")

    def steps(carry, order):
        if not order:
            return carry, []
        carry, y = f(carry, tree_map(lambda x: index_in_dim(x, order[0], keepdims=False), xs))
        last, rest = steps(carry, order[1:])
        return last, [y] + rest

    order = [*range(length)]
    carry, ys = steps(carry, order[::-1] if reverse else order)
    return carry, tree_map(lambda *parts: stack_elements(parts, reverse=reverse), *ys)


edit(
    "09.2",
    "`length=0` is the same as no `length`",
    "May a scan over nothing have `length=0`?",
    "if length is not None:",
    "if length:",
)


edit(
    "09.2",
    "the other arrays need not be compared with the first",
    "Do the other arrays have as many elements as the first?",
    "if len(set(sizes)) > 1:",
    "if False:",
)


edit(
    "09.2",
    "the last axis gives the number of steps",
    "Which axis is scanned over?",
    "x.shape[0] for x in xs",
    "x.shape[-1] for x in xs",
)


edit(
    "09.2",
    "a leaf without axes is given to each step",
    "`xs = (f32[3], 1.0)`: is 1.0 given to each step?",
    '    if not all(hasattr(x, "shape") for x in xs):\n        raise no_leading_axis(xs)\n'
    "    sizes: list[int] = [x.shape[0] for x in xs]",
    "    sizes: list[int] = [x.shape[0] for x in xs if getattr(x, 'shape', ())]",
)


@also_right("09.2", "a loop that remembers")
def remembers(xs, length):
    if not all([hasattr(x, "shape") for x in xs]):
        raise no_leading_axis(xs)
    seen = None if length is None or isinstance(length, core.Tracer) else int(length)
    sizes = []
    for x in xs:
        size, *_ = x.shape if x.shape else (x.shape[0],)
        sizes.append(size)
    if isinstance(length, core.Tracer):
        raise traced_length(length)
    for size in sizes:
        if seen is None:
            seen = size
        elif size != seen:
            raise ValueError(f"{size} steps or {seen}?")
    if seen is None:
        raise ValueError("no arrays, and no length")
    return seen


edit(
    "09.4",
    "the last trip is one too many",
    "How many trips does a scan of three steps make, and how many does yours?",
    "return lt(state[0], length)",
    "return lt(state[0], length - 1)",
    target="loop_over",
)


@also_right("09.4", "the state by names", target="loop_over")
def state_by_names(step, carry, xs, y_avals, length, reverse):
    outputs = [empty((length, *y.shape), y.dtype) for y in y_avals]
    if length <= 0:
        return carry, outputs
    place = (lambda i: sub(length - 1, i)) if reverse else (lambda i: i)

    def more(state):
        return lt(state[0], length)

    def once(state):
        count, inner, written = state
        where = place(count)
        inner, news = step(inner, list(map(lambda x: read_element(x, where), xs)))
        for k, new in enumerate(news):
            written = [*written[:k], write_element(written[k], new, where), *written[k + 1 :]]
        return add(count, 1), inner, written

    end = run_while(Body(more, more, "while_cond"), Body(once, once, "while_body"), (0, carry, outputs))
    return end[1], end[2]


edit(
    "09.5",
    "blocks are cut from the beginning",
    "In reverse, the steps of the last elements come first. Which elements are left over?",
    "first, last = (rest, length) if reverse else (0, length - rest)",
    "first, last = (0, length - rest)",
)


edit(
    "09.5",
    "what is left over are the last elements",
    "In reverse, which elements are done last?",
    "first, last = (0, rest) if reverse else (length - rest, length)",
    "first, last = (length - rest, length)",
)


edit(
    "09.5",
    "steps that do not fill a block are dropped",
    "7 steps, 2 at a time: who does the seventh?",
    "    if rest:\n",
    "    if False:\n",
)


@also_right("09.5", "a function for the rest")
def function_for_the_rest(step, carry, xs, y_avals, length, reverse, unroll):
    def some(carry, low, high):
        return one_after_the_other(step, carry, [slice_in_dim(x, low, high) for x in xs], high - low, reverse)

    count = length // unroll if unroll else 0
    rest = length - count * unroll
    if not length:
        return loop_over(step, carry, xs, y_avals, length, reverse)
    if count == 0 or (count == 1 and not rest):
        return some(carry, 0, length)
    low = rest if reverse else 0
    high = low + count * unroll
    shaped = [reshape(slice_in_dim(x, low, high), (count, unroll, *x.shape[1:])) for x in xs]
    types = [aval.update(shape=(unroll, *aval.shape)) for aval in y_avals]
    carry, ys = loop_over(
        lambda c, x: one_after_the_other(step, c, x, unroll, reverse), carry, shaped, types, count, reverse
    )
    ys = [reshape(y, (high - low, *y.shape[2:])) for y in ys]
    if not rest:
        return carry, ys
    carry, others = some(carry, 0, rest) if reverse else some(carry, high, length)
    return carry, [concatenate([o, y] if reverse else [y, o], 0) for y, o in zip(ys, others, strict=False)]


@mutant(
    "09.6",
    "a part is needed if the step reads it, whatever for",
    "A step computes the next c from c, and nothing else from it. Nobody uses the last c. Is c needed?",
)
def reads_itself(jaxpr, num_consts, carry, ys):
    used = dce_jaxpr(jaxpr, [True] * len(carry) + list(ys))[1]
    return [a or b for a, b in zip(carry, used[num_consts : num_consts + len(carry)], strict=True)]


@mutant(
    "09.6",
    "going over the parts twice is enough",
    "A step computes a from b, b from c, and c from d. Only a is used. How often must one go over the parts to find d?",
)
def twice(jaxpr, num_consts, carry, ys):
    for _ in range(2):
        used = dce_jaxpr(jaxpr, carry + ys)[1]
        carry = [a or b for a, b in zip(carry, used[num_consts : num_consts + len(carry)], strict=True)]
    return carry


@mutant(
    "09.6",
    "a part is needed only if a step reads it",
    "The last value is used after the loop, and no step reads it. Is it needed?",
)
def only_reads(jaxpr, num_consts, carry, ys):
    needed = list(carry)
    while True:
        used = dce_jaxpr(jaxpr, needed + list(ys))[1]
        reads = list(used[num_consts : num_consts + len(carry)])
        if reads == needed:
            return reads
        if all(n or not r for n, r in zip(needed, reads, strict=False)) and needed != carry:
            return reads
        needed = reads


@mutant("09.6", "a part that only outputs read is not needed", "An output of each step is used. What does it read?")
def no_outputs(jaxpr, num_consts, carry, ys):
    while True:
        used = dce_jaxpr(jaxpr, carry + [False] * len(ys))[1]
        needed = [a or b for a, b in zip(carry, used[num_consts : num_consts + len(carry)], strict=True)]
        if needed == carry:
            return carry
        carry = needed


@mutant("09.6", "all outputs are used", "Some outputs are not used after the loop. Which argument says so?")
def all_outputs(jaxpr, num_consts, carry, ys):
    while True:
        used = dce_jaxpr(jaxpr, carry + [True] * len(ys))[1]
        needed = [a or b for a, b in zip(carry, used[num_consts : num_consts + len(carry)], strict=True)]
        if needed == carry:
            return carry
        carry = needed


@mutant("09.6", "if one part is needed, all are", "One part is needed. Does it read the others?")
def one_for_all(jaxpr, num_consts, carry, ys):
    used = dce_jaxpr(jaxpr, carry + ys)[1]
    reads = used[num_consts : num_consts + len(carry)]
    return [any(carry) or any(reads)] * len(carry)


@also_right("09.6", "a set that grows")
def set_that_grows(jaxpr, num_consts, carry, ys):
    needed = {i for i, is_used in enumerate(carry) if is_used}
    while True:
        reads = dce_jaxpr(jaxpr, [i in needed for i in range(len(carry))] + list(ys))[1]
        more = needed | {i for i in range(len(carry)) if reads[num_consts + i]}
        if more == needed:
            return [i in needed for i in range(len(carry))]
        needed = more


edit(
    "09.2",
    "`length` is an int already",
    "`length=np.int32(3)`: may a length be a number of numpy's?",
    "return int(length)",
    "return length",
)


edit(
    "09.2",
    "a size of 1 stretches to the number of steps",
    "An array has one element, and there are three steps. Is this allowed?",
    "len(set(sizes)) > 1",
    "len(set(sizes) - {1}) > 1",
)


edit(
    "09.5",
    "no steps can be treated as steps that are left over",
    "If there are no steps, what is the shape of the outputs?",
    "    if rest:\n",
    "    if not length:\n        return one_after_the_other(step, carry, xs, 0, reverse)\n    if rest:\n",
)


edit(
    "09.1",
    "the carry need not be handed on",
    "`f` returns the next carry. Who hands it to the next step?",
    "        carry, y = f(carry,",
    "        _, y = f(carry,",
)


edit(
    "09.1",
    "one more call of `f` does no harm",
    "How often should `f` be called for three elements?",
    "    outputs = []\n",
    "    outputs = []\n    f(carry, tree_map(lambda x: index_in_dim(x, 0, keepdims=False), xs))\n",
    target="scan_in_python",
)


edit(
    "09.1",
    "an element has a shape",
    "`ys` may be Python numbers. Do they have a `shape`?",
    "concatenate([expand_dims(y, (0,)) for y in in_order], 0)",
    "concatenate([reshape(y, (1, *y.shape)) for y in in_order], 0)",
    target="stack_elements",
)


edit(
    "09.2",
    "arrays are compared with each other first",
    "Two sizes and a `length` that agrees with one of them: what is the error about?",
    "    if length is not None:\n",
    "    if length is not None and len(set(sizes)) <= 1:\n",
)


edit(
    "09.2",
    "`length=1` agrees with every array",
    "`xs` is a f32[3], and `length` is 1. Do they agree?",
    "        if any(size != int(length) for size in sizes):",
    "        if int(length) != 1 and any(size != int(length) for size in sizes):",
)


edit(
    "09.3",
    "the carry comes last",
    "The jaxpr of the body returns leaves of the carry and outputs. Which come first?",
    "        outs = traced.jaxpr.out_avals[: len(init_leaves)]",
    "        outs = traced.jaxpr.out_avals[-len(init_leaves) :]",
)


edit(
    "09.3",
    "the steps are counted before the types are checked",
    "`xs` is a string. Which function should raise the error, `avals_of` or `scan_length`?",
    "    x_avals = avals_of(x_leaves)\n    length = scan_length(x_leaves, length)\n",
    "    length = scan_length(x_leaves, length)\n    x_avals = avals_of(x_leaves)\n",
)


edit(
    "09.3",
    "the equation gets the carry as the caller passed it",
    "The start was an int, and was made a float. Which leaves does the equation get?",
    "        init_leaves, changed = promote_weak_inputs(init_leaves, avals_of(init_leaves), outs)\n"
    "        if changed:\n            traced = trace_step(body, in_tree, [*avals_of(init_leaves), *elements])",
    "        promoted, changed = promote_weak_inputs(init_leaves, avals_of(init_leaves), outs)\n"
    "        if changed:\n            traced = trace_step(body, in_tree, [*avals_of(promoted), *elements])",
)


edit(
    "09.4",
    "an output has the dtype of the elements",
    "The step compares its element with 0. What is the dtype of its output?",
    "ys = [empty((length, *aval.shape), aval.dtype) for aval in y_avals]",
    "ys = [empty((length, *aval.shape), xs[0].dtype if xs else aval.dtype) for aval in y_avals]",
)


edit(
    "09.4",
    "a scan with an empty carry has no outputs",
    "A scan with an empty carry: does it still have outputs?",
    "    if not length:\n        return carry, ys",
    "    if not length or not carry:\n        return carry, ys",
    target="loop_over",
)


edit(
    "09.4",
    "in reverse the last element is at `length`",
    "In reverse, at i = 0: what is the index of the element that is read?",
    "at = sub(length - 1, i) if reverse else i",
    "at = sub(length, i) if reverse else i",
)


edit(
    "09.5",
    "the steps that are left over begin with the first carry",
    "After the loop of blocks there are two steps left. Which carry do they get?",
    "    carry, ys = loop_over(block, carry, blocks, block_avals, trips, reverse)",
    "    _, ys = loop_over(block, carry, blocks, block_avals, trips, reverse)",
)


edit(
    "09.5",
    "a block always goes forwards",
    "In reverse, which element of a block is the first?",
    "one_after_the_other(step, carry, xs, unroll, reverse)",
    "one_after_the_other(step, carry, xs, unroll, False)",
)


edit(
    "09.6",
    "an output needs the whole carry",
    "The output is made of one part of the carry. Are the other parts needed?",
    "    while True:\n",
    "    if any(ys):\n        return [True] * len(carry)\n    while True:\n",
)


edit(
    "09.6",
    "constants come after the carry",
    "In which order are the inputs of the step's jaxpr?",
    "used[num_consts : num_consts + len(carry)]",
    "used[: len(carry)]",
)


edit(
    "09.6",
    "what a second look does not find is not needed",
    "The part `a` is used after the loop, and no step reads it. Is it still in your answer after a second look at the body?",
    "needed = [before or now for before, now in zip(carry, reads, strict=True)]",
    "needed = [before or now for before, now in zip(carry, reads, strict=True)] if any(reads) else reads",
)


@mutant("09.2", "only integers can be a `length`", "`length=3.0`: does `int` take it?")
def believes_only_what_can_be_an_index_is_a_number_of_steps(xs, length):
    if any((not hasattr(x, "shape") for x in xs)):
        raise no_leading_axis(xs)
    sizes = [x.shape[0] for x in xs]
    if isinstance(length, core.Tracer):
        raise traced_length(length)
    if length is not None:
        n = __import__("operator").index(length)
        if any((size != n for size in sizes)):
            raise ValueError("`length` differs from a size")
        return n
    if not sizes:
        raise ValueError("nothing says how many steps")
    if any((size != sizes[0] for size in sizes)):
        raise ValueError("sizes differ")
    return sizes[0]


@mutant(
    "09.3",
    "weak parts are promoted until all parts agree",
    "How often are weak leaves promoted? What happens to a part that would become a float only in a third trace?",
)
def believes_it_promotes_until_all_parts_agree(body, init, xs, length, reverse, unroll):
    carry, carry_tree = tree_flatten(init)
    rows, xs_tree = tree_flatten(xs)
    carry_avals, xs_avals = (avals_of(carry), avals_of(rows))
    length = scan_length(rows, length)
    if config.local.state.options.disable_jit:
        return scan_in_python(body.fun, init, xs, length, reverse)
    in_tree = treedef_tuple((carry_tree, xs_tree))
    elements = [element_of(a) for a in xs_avals]
    traced = trace_step(body, in_tree, [*carry_avals, *elements])
    out_tree = traced.out_tree.children()[0]
    if out_tree.num_leaves == len(carry):
        [v.aval for v in traced.jaxpr.outvars[: len(carry)]]
        changed = True
        while changed:
            carry, changed = promote_weak_inputs(
                carry, avals_of(carry), [v.aval for v in traced.jaxpr.outvars[: len(carry)]]
            )
            traced = trace_step(body, in_tree, [*avals_of(carry), *elements])
            out_tree = traced.out_tree.children()[0]
    check_carry("scan body", body, in_tree, out_tree, traced)
    leaves = bind_scan(traced, carry, rows, reverse, length, steps_at_once(unroll, length))
    n = len(carry)
    return (tree_unflatten(carry_tree, leaves[:n]), tree_unflatten(traced.out_tree.children()[1], leaves[n:]))


@mutant(
    "09.3", "with jit disabled, `length` need not be checked", "`length` is wrong, and jit is disabled. Who says so?"
)
def believes_where_python_runs_the_loop_the_arrays_say_how_long_it_is(body, init, xs, length, reverse, unroll):
    carry, carry_tree = tree_flatten(init)
    rows, xs_tree = tree_flatten(xs)
    carry_avals, xs_avals = (avals_of(carry), avals_of(rows))
    if config.local.state.options.disable_jit and length is not None:
        return scan_in_python(body.fun, init, xs, length, reverse)
    length = scan_length(rows, length)
    if config.local.state.options.disable_jit:
        return scan_in_python(body.fun, init, xs, length, reverse)
    in_tree = treedef_tuple((carry_tree, xs_tree))
    elements = [element_of(a) for a in xs_avals]
    traced = trace_step(body, in_tree, [*carry_avals, *elements])
    out_tree = traced.out_tree.children()[0]
    if out_tree.num_leaves == len(carry):
        outs = [v.aval for v in traced.jaxpr.outvars[: len(carry)]]
        carry, changed = promote_weak_inputs(carry, carry_avals, outs)
        if changed:
            traced = trace_step(body, in_tree, [*avals_of(carry), *elements])
            out_tree = traced.out_tree.children()[0]
    check_carry("scan body", body, in_tree, out_tree, traced)
    leaves = bind_scan(traced, carry, rows, reverse, length, steps_at_once(unroll, length))
    n = len(carry)
    return (tree_unflatten(carry_tree, leaves[:n]), tree_unflatten(traced.out_tree.children()[1], leaves[n:]))


@mutant(
    "09.3",
    "with jit disabled, the user's function is what `scan` calls",
    "A `Body` has a `fun` and a `user`. Which of them takes the carry and an element?",
)
def believes_what_python_runs_is_the_user_s_function(body, init, xs, length, reverse, unroll):
    carry, carry_tree = tree_flatten(init)
    rows, xs_tree = tree_flatten(xs)
    carry_avals, xs_avals = (avals_of(carry), avals_of(rows))
    length = scan_length(rows, length)
    if config.local.state.options.disable_jit:
        return scan_in_python(body.user, init, xs, length, reverse)
    in_tree = treedef_tuple((carry_tree, xs_tree))
    elements = [element_of(a) for a in xs_avals]
    traced = trace_step(body, in_tree, [*carry_avals, *elements])
    out_tree = traced.out_tree.children()[0]
    if out_tree.num_leaves == len(carry):
        outs = [v.aval for v in traced.jaxpr.outvars[: len(carry)]]
        carry, changed = promote_weak_inputs(carry, carry_avals, outs)
        if changed:
            traced = trace_step(body, in_tree, [*avals_of(carry), *elements])
            out_tree = traced.out_tree.children()[0]
    check_carry("scan body", body, in_tree, out_tree, traced)
    leaves = bind_scan(traced, carry, rows, reverse, length, steps_at_once(unroll, length))
    n = len(carry)
    return (tree_unflatten(carry_tree, leaves[:n]), tree_unflatten(traced.out_tree.children()[1], leaves[n:]))


@mutant("09.5", "every output is a float32", "Which types do the outputs of a block have?")
def believes_an_output_is_a_float32(step, carry, xs, y_avals, length, reverse, unroll):
    if length == 0:
        return loop_over(step, carry, xs, y_avals, length, reverse)
    unroll = unroll or length
    blocks, rest = divmod(length, unroll)
    if blocks == 1 and rest == 0:
        return one_after_the_other(step, carry, xs, length, reverse)
    start, stop = (rest, length) if reverse else (0, length - rest)
    cut = [reshape(slice_in_dim(x, start, stop), (blocks, unroll, *x.shape[1:])) for x in xs]

    def block(carry, parts):
        return one_after_the_other(step, carry, parts, unroll, reverse)

    avals = [core.ShapedArray((unroll, *a.shape), "float32") for a in y_avals]
    carry, ys = loop_over(block, carry, cut, avals, blocks, reverse)
    ys = [reshape(y, (blocks * unroll, *a.shape)) for y, a in zip(ys, y_avals, strict=False)]
    if rest:
        left = [slice_in_dim(x, 0, rest) if reverse else slice_in_dim(x, stop, length) for x in xs]
        carry, more = one_after_the_other(step, carry, left, rest, reverse)
        ys = [concatenate([m, y] if reverse else [y, m], 0) for y, m in zip(ys, more, strict=False)]
    return (carry, ys)


@mutant(
    "09.5", "every output has one axis", "An output may be a matrix. What is the shape of the outputs of all steps?"
)
def believes_an_output_has_one_axis(step, carry, xs, y_avals, length, reverse, unroll):
    if length == 0:
        return loop_over(step, carry, xs, y_avals, length, reverse)
    unroll = unroll or length
    blocks, rest = divmod(length, unroll)
    if blocks == 1 and rest == 0:
        return one_after_the_other(step, carry, xs, length, reverse)
    start, stop = (rest, length) if reverse else (0, length - rest)
    cut = [reshape(slice_in_dim(x, start, stop), (blocks, unroll, *x.shape[1:])) for x in xs]

    def block(carry, parts):
        return one_after_the_other(step, carry, parts, unroll, reverse)

    avals = [core.ShapedArray((unroll, *a.shape), a.dtype) for a in y_avals]
    carry, ys = loop_over(block, carry, cut, avals, blocks, reverse)
    ys = [reshape(y, (blocks * unroll, *a.shape[:1])) for y, a in zip(ys, y_avals, strict=False)]
    if rest:
        left = [slice_in_dim(x, 0, rest) if reverse else slice_in_dim(x, stop, length) for x in xs]
        carry, more = one_after_the_other(step, carry, left, rest, reverse)
        ys = [concatenate([m, y] if reverse else [y, m], 0) for y, m in zip(ys, more, strict=False)]
    return (carry, ys)


@mutant("09.6", "going over the parts three times is enough", "How long may a chain of parts be?")
def believes_three_looks_are_enough(jaxpr, num_consts, carry, ys):
    n = len(carry)
    needed = list(carry)
    for _ in range(3):
        read = dce_jaxpr(jaxpr, [*needed, *ys])[1][num_consts : num_consts + n]
        grown = [a or b for a, b in zip(needed, read, strict=False)]
        if grown == needed:
            return needed
        needed = grown
    return needed


@mutant(
    "09.6", "the caller's list of used parts may be changed", "Whose list is `carry`, and what is in it after the call?"
)
def believes_the_list_of_used_parts_can_be_written_to(jaxpr, num_consts, carry, ys):
    n = len(carry)
    needed = carry
    while True:
        read = dce_jaxpr(jaxpr, [*needed, *ys])[1][num_consts : num_consts + n]
        grown = [a or b for a, b in zip(needed, read, strict=False)]
        if grown == needed:
            return needed
        needed[:] = grown


@mutant("09.2", "an array of one element fits every `length`", "Does scan repeat an element?")
def stretches_to_the_length(xs, length):
    if any(not hasattr(x, "shape") for x in xs):
        raise no_leading_axis(xs)
    sizes = [x.shape[0] for x in xs]
    if length is not None:
        if isinstance(length, core.Tracer):
            raise traced_length(length)
        length = int(length)
        if any(size not in (1, length) for size in sizes[1:]) or sizes[:1] not in ([], [length]):
            raise ValueError(f"{length} steps, and sizes {sizes}")
        return length
    if len(set(sizes)) != 1:
        raise ValueError(f"sizes {sizes}")
    return int(sizes[0])
