"""Wrong answers to the exercises of lab 08, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant

# --- 08.1 The loop ------------------------------------------------------------------------------------------------

edit(
    "08.1",
    "a carry that is a tuple is several arguments",
    "How many parameters does the body have, and what is the tree of the tuple of its arguments?",
    "in_tree = treedef_tuple((carry_tree,))",
    "in_tree = carry_tree if carry_tree.children() else treedef_tuple((carry_tree,))",
)
edit(
    "08.1",
    "a result is a list of arrays",
    "`bind_while` returns leaves. What did the caller pass?",
    "return tree_unflatten(traced.out_tree, bind_while(traced_cond, traced, init))",
    "return bind_while(traced_cond, traced, init)",
)


@mutant(
    "08.1",
    "Python calls the body for each step",
    "Python cannot know how many steps there will be. How often can it call the body?",
)
def unrolls_a_little(cond, body, init_val):
    for _ in range(2):
        cond.fun(init_val)
        init_val = body.fun(init_val)
    init, carry_tree = tree_flatten(init_val)
    in_tree = treedef_tuple((carry_tree,))
    traced_cond, traced = trace_both(cond, body, in_tree, avals_of(init))
    check_carry("while_loop body", body, in_tree, traced.out_tree, traced)
    return tree_unflatten(traced.out_tree, bind_while(traced_cond, traced, init))


edit(
    "08.1",
    "a start value keeps its type",
    "`while_loop(..., lambda v: v + 0.5, 0)`: must its author write `0.0` instead of `0`?",
    "if len(traced.jaxpr.outvars) == len(init):",
    "if False:",
)
edit(
    "08.1",
    "one trace is enough",
    "The start has another type now. For which type was the body traced?",
    "        if changed:\n            traced_cond, traced = trace_both(cond, body, in_tree, avals_of(init))\n",
    "",
)
edit(
    "08.1",
    "the carry's type may drift",
    "The second step gets what the first one returned. Which type does it expect?",
    '    check_carry("while_loop body", body, in_tree, traced.out_tree, traced)\n',
    "",
)

# --- 08.2 Starting from 0 -----------------------------------------------------------------------------------------


@mutant("08.2", "a start value keeps its type", "In `while_loop(..., 0)`, has the user chosen a dtype for the 0?")
def promotes_nothing(leaves, avals, out_avals):
    return list(leaves), False


edit(
    "08.2",
    "any start gives way",
    "`np.int32(0)` was given a dtype by its author. May you change it?",
    "if aval.weak_type and not same_type(aval, out)",
    "if not same_type(aval, out)",
)
edit(
    "08.2",
    "the start takes the dtype that came out",
    "A start of 0.5, and the body returns an int32. What would become of the half?",
    "convert_element_type(x, dtypes.result_type(x, out))",
    "convert_element_type(x, out.dtype)",
)
edit(
    "08.2",
    "a weak start becomes strong",
    "The same type came out as went in. What is there to convert?",
    "if aval.weak_type and not same_type(aval, out)",
    "if aval.weak_type",
)
edit(
    "08.2",
    "only numbers are weak",
    "`jnp.full(3, 0)` has a dtype that nobody chose. What does its aval say?",
    "if aval.weak_type and not same_type(aval, out)",
    "if aval.weak_type and not aval.shape and not same_type(aval, out)",
)
edit(
    "08.2",
    "everything is converted",
    "Is a leaf that you need not convert the same object afterwards?",
    "if aval.weak_type and not same_type(aval, out) else x",
    "if not aval.weak_type or not same_type(aval, out) else x",
)
edit(
    "08.2",
    "the flag may always say that something is new",
    "What does the caller do when the flag says that something is new, and what does that cost?",
    "any(new is not old for new, old in zip(promoted, leaves, strict=True))",
    "True",
)

# --- 08.3 The carry agrees with itself ----------------------------------------------------------------------------


@mutant("08.3", "the carry's type may drift", "You compare trees. What if the tree is right, and a leaf is not?")
def compares_trees_only(what, body, in_tree, out_tree, traced):
    if in_tree.children()[0] != out_tree:
        raise carry_structure_error(what, body, in_tree, out_tree)


edit(
    "08.3",
    "it is enough to check the first part of the carry",
    "How many leaves does the carry have, and how many do you compare?",
    "all(same_type(before, after) for before, after in pairs)",
    "all(same_type(before, after) for before, after in pairs[:1])",
)
edit(
    "08.3",
    "it is enough to check the last part of the carry",
    "How many leaves does the carry have, and how many do you compare?",
    "all(same_type(before, after) for before, after in pairs)",
    "all(same_type(before, after) for before, after in pairs[-1:])",
)
edit(
    "08.3",
    "only the parts that disagree are passed to the error",
    "The error gets names, and pairs of types. If you leave out pairs that agree, does the first name still go with the first pair?",
    "raise carry_type_error(what, jaxpr, names, pairs)",
    "raise carry_type_error(what, jaxpr, names, [pair for pair in pairs if not same_type(*pair)])",
)


edit(
    "08.3",
    "shapes with as many elements are the same",
    "A carry of shape (2, 3), then of (3, 2). Is it the same array to the next step?",
    "all(same_type(before, after) for before, after in pairs)",
    "all((before.dtype, before.size) == (after.dtype, after.size) for before, after in pairs)",
)
edit(
    "08.3",
    "None need not be compared",
    "A body without `return` gives None, a tree without leaves. With what does the next step go on?",
    "if carry_tree != out_tree:\n        raise carry_structure_error(what, body, in_tree, out_tree)\n"
    "    start, count, jaxpr = len(traced.consts), carry_tree.num_leaves, traced.jaxpr",
    "if out_tree.num_leaves == carry_tree.num_leaves and carry_tree != out_tree:\n"
    "        raise carry_structure_error(what, body, in_tree, out_tree)\n"
    "    start, count, jaxpr = len(traced.consts), min(out_tree.num_leaves, carry_tree.num_leaves), traced.jaxpr",
)


@mutant(
    "08.3",
    "types come before trees",
    "The carry was a tuple, and comes out as a list with another dtype. Which of the two is the error about?",
)
def compares_types_first(what, body, in_tree, out_tree, traced):
    carry_tree, jaxpr, start = in_tree.children()[0], traced.jaxpr, len(traced.consts)
    pairs = list(zip(jaxpr.in_avals[start : start + carry_tree.num_leaves], jaxpr.out_avals, strict=False))
    if not all(same_type(before, after) for before, after in pairs):
        names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))[start:]
        raise carry_type_error(what, jaxpr, names, pairs)
    if carry_tree != out_tree:
        raise carry_structure_error(what, body, in_tree, out_tree)


edit(
    "08.3",
    "the carry may grow",
    "A carry of two elements, then of three. How much room does the program keep for it?",
    "all(same_type(before, after) for before, after in pairs)",
    "all(before.dtype == after.dtype for before, after in pairs)",
)
edit(
    "08.3",
    "trees with as many leaves are the same",
    "What does the next step do with a list where it expects a tuple?",
    "if carry_tree != out_tree:",
    "if carry_tree.num_leaves != out_tree.num_leaves:",
)
edit(
    "08.3",
    "the carry is the first input",
    "What are the first inputs of the jaxpr of a body that closes over an array?",
    "len(traced.consts), carry_tree.num_leaves",
    "0, carry_tree.num_leaves",
)
edit(
    "08.3",
    "a weak type is another type",
    "Weakness steers promotion while tracing. What is promoted when the loop runs?",
    "all(same_type(before, after) for before, after in pairs)",
    "all(before == after for before, after in pairs)",
)
edit(
    "08.3",
    "the whole input of a body must have the types of its output",
    "The body of a scan takes an element beside the carry, and returns an output beside it. Must these agree?",
    "zip(jaxpr.in_avals[start : start + count], jaxpr.out_avals[:count], strict=True)",
    "zip(jaxpr.in_avals[start:], jaxpr.out_avals)",
)

# --- 08.4 What never changes --------------------------------------------------------------------------------------


@mutant("08.4", "every part of the carry goes round", "Which parts of the carry are the same in all steps?")
def keeps_all(cond, body):
    return cond.jaxpr, body.jaxpr, [False] * (len(body.jaxpr.invars) - len(body.consts))


edit(
    "08.4",
    "the condition reads nothing",
    "The condition sees the carry only. What if you take out what it compares with?",
    "constant = [not is_used for is_used in used[len(cond.consts) :]]",
    "constant = [not c for c in changes]",
)
edit(
    "08.4",
    "a part that no equation computes stays the same",
    "`lambda c: (c[1], c[0])` computes nothing. Is `c[0]` the same in the next step?",
    "place != nconsts + i for i, place",
    "place is None for i, place",
)
edit(
    "08.4",
    "the carry is the first input",
    "At which input does the carry start, when the body closes over an array?",
    "place != nconsts + i for i, place",
    "place != i for i, place",
)

edit(
    "08.4",
    "the condition's dead equations may be dropped in any case",
    "No part was taken out of the carry. Is the condition's jaxpr still the same object?",
    "return cond.jaxpr, body.jaxpr, constant",
    "return pruned, body.jaxpr, constant",
)

# --- 08.5 stablehlo.while -----------------------------------------------------------------------------------------

edit(
    "08.5",
    "a region may read what is around it",
    "The body's region returns the constants unchanged. By which names: its own arguments', or those of the loop's operands?",
    "zip(cond_consts + body_consts + carry, ctx.avals_in, strict=True)",
    "zip([*args[: cond_nconsts + body_nconsts], *carry], ctx.avals_in, strict=True)",
)
edit(
    "08.5",
    "the scopes of the lines do not matter",
    "A profiler shows a slow line of your loop. How would one know whether it belongs to the condition or to the body?",
    'ctx.lower_region(cond_jaxpr, cond_consts + carry, "while/cond")',
    'ctx.lower_region(cond_jaxpr, cond_consts + carry, "while/body")',
)

edit(
    "08.5",
    "only the carry goes round",
    "What the body's region returns becomes the arguments of the next round. Does it return enough of them?",
    "zip(cond_consts + body_consts + carry, ctx.avals_in, strict=True)",
    "zip(carry, ctx.avals_in[cond_nconsts + body_nconsts :], strict=True)",
)
edit(
    "08.5",
    "both functions have the same constants",
    "`split_list` gives three lists. Which two does the condition need, and which the body?",
    "        cond_consts, _, carry = split_list(names, sizes)\n",
    "        _, cond_consts, carry = split_list(names, sizes)\n",
)
edit(
    "08.5",
    "the parts of the carry may change places",
    "The i-th result of the body is the i-th argument of the next step. Is that so in the text that you write?",
    'carry = ctx.lower_region(body_jaxpr, body_consts + carry, "while/body")',
    'carry = ctx.lower_region(body_jaxpr, body_consts + carry[::-1], "while/body")[::-1]',
)
edit(
    "08.5",
    "the body runs at least once",
    "What should happen when the condition does not hold at the start?",
    "outs = write_while(ctx, args, condition, body, body_jaxpr.effects)",
    "n = cond_nconsts + body_nconsts\n"
    '    done = ctx.lower_region(body_jaxpr, args[cond_nconsts:], "while/body")\n'
    "    outs = write_while(ctx, [*args[:n], *done], condition, body, body_jaxpr.effects)",
)
edit(
    "08.5",
    "the body is written once for each step",
    "How often does your text contain the body, and how often must it?",
    'carry = ctx.lower_region(body_jaxpr, body_consts + carry, "while/body")',
    'for _ in range(2):\n            carry = ctx.lower_region(body_jaxpr, body_consts + carry, "while/body")',
)
edit(
    "08.5",
    "an effect in a loop happens once",
    "Which effects does `write_while` have to know of?",
    "body_jaxpr.effects",
    "frozenset()",
)

# --- 08.6 fori_loop -----------------------------------------------------------------------------------------------

edit(
    "08.6",
    "fori_loop is always a while loop",
    "What is known of a loop from 0 to 10 that is not known of one from 0 to n?",
    "if trips is not None:",
    "if trips is not None and unroll:",
    target="fori_loop",
)
edit(
    "08.6",
    "the trip count must be known",
    "The bound is a tracer. Which of the two kinds of loop does not need to know it?",
    "trips = known_trips(lower, upper)",
    "trips = max(0, int(upper) - int(lower))",
    target="fori_loop",
)
edit(
    "08.6",
    "a loop counts from 0",
    "What is the index in the first step?",
    "count_by_scan(lower, trips",
    "count_by_scan(0, trips",
    target="fori_loop",
)
edit(
    "08.6",
    "any loop can be unrolled",
    "How many copies of the body would you write, if the number of steps is data?",
    "if unroll not in (None, 1) and unroll is not False:",
    "if False:",
    target="fori_loop",
)
edit(
    "08.6",
    "only Python ints are known bounds",
    "`fori_loop(np.int32(0), np.int32(5), ...)`: is there anything that is not known?",
    "trips = known_trips(lower, upper)",
    "trips = known_trips(lower, upper) if type(lower) is type(upper) is int else None",
    target="fori_loop",
)
edit(
    "08.6",
    "only Python ints are weakly typed",
    "`f(0, np.int16(5))` under `jit`: the first bound is a tracer of a Python int. What is its dtype, and is it weak?",
    "bound if dtypes.dtype(bound) == dtype else",
    "bound if dtypes.dtype(bound) == dtype or not isinstance(bound, int) else",
    target="fori_loop",
)
edit(
    "08.6",
    "known bounds are Python numbers",
    "`fori_loop(np.int8(0), np.int16(5), ...)`: both bounds are known, and have two dtypes. Is that accepted?",
    "dtype = dtype_of_bounds(lower, upper)\n    trips = known_trips(lower, upper)",
    "trips = known_trips(lower, upper)\n    dtype = dtype_of_bounds(lower, upper) if trips is None else None",
    target="fori_loop",
)
edit(
    "08.6",
    "the index is always an int32",
    "`fori_loop(0, n, ...)`, where `n` is a traced int8: what is the dtype of the index?",
    "dtype = dtype_of_bounds(lower, upper)",
    "dtype = np.dtype('int32')",
    target="fori_loop",
)
edit(
    "08.6",
    "the upper bound is included",
    "What is the last index of `range(2, 5)`?",
    "(lower, upper, init_val))",
    "(lower, add(upper, np.array(1, dtypes.dtype(upper))), init_val))",
    target="count_by_while",
)
edit(
    "08.6",
    "the value comes first",
    "In which order does the user's function take its two arguments?",
    "body_fun(i, val)",
    "body_fun(val, i)",
    target="count_by_while",
)
edit(
    "08.6",
    "an error may name the parameters of my own step",
    "Whose parameters does the user know: those of your step, or those of `body_fun`?",
    "Body(step, body_fun,",
    "Body(step, step,",
    target="count_by_while",
)
edit(
    "08.6",
    "1 added to a weak index makes it strong",
    "The index is a traced Python int, so it is weak. Is it still weak after you have added `np.int32(1)` to it?",
    "constant_like(i, 1)",
    "i.dtype.type(1)",
    target="count_by_while",
)

# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("08.1", "a helper that traces")
def helper_that_traces(cond, body, init_val):
    leaves, tree = tree_flatten(init_val)
    in_tree = treedef_tuple((tree,))

    def traced(leaves):
        return trace_both(cond, body, in_tree, avals_of(leaves))

    cond_traced, body_traced = traced(leaves)
    out_avals = body_traced.jaxpr.out_avals
    if len(out_avals) == len(leaves):
        leaves, is_new = promote_weak_inputs(leaves, avals_of(leaves), out_avals)
        if is_new:
            cond_traced, body_traced = traced(leaves)
    check_carry("while_loop body", body, in_tree, body_traced.out_tree, body_traced)
    return tree_unflatten(tree, bind_while(cond_traced, body_traced, leaves))


@also_right("08.1", "twice at most")
def twice_at_most(cond, body, init_val):
    init, carry_tree = tree_flatten(init_val)
    in_tree = treedef_tuple((carry_tree,))
    for attempt in range(2):
        both = trace_both(cond, body, in_tree, avals_of(init))
        outs = both[1].jaxpr.out_avals
        if attempt or len(outs) != len(init):
            break
        init, changed = promote_weak_inputs(init, avals_of(init), outs)
        if not changed:
            break
    check_carry("while_loop body", body, in_tree, both[1].out_tree, both[1])
    return tree_unflatten(carry_tree, bind_while(*both, init))


@also_right("08.2", "a loop with a flag")
def loop_with_a_flag(leaves, avals, out_avals):
    changed = False
    result = []
    for i, x in enumerate(leaves):
        if avals[i].weak_type:
            if not same_type(avals[i], out_avals[i]):
                x = convert_element_type(x, dtypes.result_type(x, out_avals[i]))
                changed = changed or x is not leaves[i]
        result.append(x)
    return result, changed


@also_right("08.2", "an inner function")
def inner_function(leaves, avals, out_avals):
    def promoted(x, aval, out):
        if not aval.weak_type or same_type(out, aval):
            return x
        return convert_element_type(x, dtypes.result_type(x, out))

    new = list(map(promoted, leaves, avals, out_avals))
    return new, [id(x) for x in new] != [id(x) for x in leaves]


@also_right("08.3", "pair by pair")
def pair_by_pair(what, body, in_tree, out_tree, traced):
    carry = in_tree.children()[0]
    if not carry == out_tree:
        raise carry_structure_error(what, body, in_tree, out_tree)
    jaxpr, skip = traced.jaxpr, len(traced.consts)
    pairs = []
    for i in range(carry.num_leaves):
        pairs.append((jaxpr.in_avals[skip + i], jaxpr.out_avals[i]))
    if any(not same_type(a, b) for a, b in pairs):
        names = jaxpr.debug_info.safe_arg_names(len(jaxpr.in_avals))
        raise carry_type_error(what, jaxpr, names[skip:], pairs)


@also_right("08.3", "without the constants")
def without_the_constants(what, body, in_tree, out_tree, traced):
    tree, *_ = in_tree.children()
    if tree != out_tree:
        raise carry_structure_error(what, body, in_tree, out_tree)
    n = tree.num_leaves
    invars = traced.jaxpr.invars[len(traced.consts) :]
    before = [v.aval for v in invars[:n]]
    after = [v.aval for v in traced.jaxpr.outvars[:n]]
    for x, y in zip(before, after, strict=False):
        if same_type(x, y):
            continue
        names = traced.jaxpr.debug_info.safe_arg_names(len(traced.jaxpr.invars))
        names = names[len(traced.consts) :]
        raise carry_type_error(what, traced.jaxpr, names, list(zip(before, after, strict=False)))


@also_right("08.4", "with index sets")
def index_sets(cond, body):
    k = len(body.consts)
    forwarded = forwarded_inputs(body.jaxpr)
    same = {i for i, source in enumerate(forwarded) if source == k + i}
    count = len(forwarded)
    keep = [True] * len(cond.consts) + [i not in same for i in range(count)]
    smaller, there = dce_jaxpr(cond.jaxpr, True, instantiate=keep)
    out = [not there[len(cond.consts) + i] for i in range(count)]
    if True not in out:
        return cond.jaxpr, body.jaxpr, out
    kept = keep_outputs(body.jaxpr, tuple(not o for o in out))
    return smaller, move_inputs_to_front(kept, tuple([False] * k + out)), out


@also_right("08.4", "with tuples of truth values")
def tuples_of_truth_values(cond, body):
    n_cond, n_body = len(cond.consts), len(body.consts)
    _, is_read = dce_jaxpr(cond.jaxpr, [True])
    sources = forwarded_inputs(body.jaxpr)
    out = tuple(sources[i] == n_body + i and not is_read[n_cond + i] for i in range(len(sources)))
    if not any(out):
        return [cond.jaxpr, body.jaxpr, out]
    kept = tuple(not o for o in out)
    body_jaxpr = keep_outputs(move_inputs_to_front(body.jaxpr, (False,) * n_body + out), kept)
    return [dce_jaxpr(cond.jaxpr, True, (True,) * n_cond + kept)[0], body_jaxpr, out]


@also_right("08.4", "asks in a loop")
def asks_in_a_loop(cond, body):
    n_body, n_cond = len(body.consts), len(cond.consts)
    must_stay = [True for _ in range(n_cond)]
    for i, source in enumerate(forwarded_inputs(body.jaxpr)):
        must_stay.append(source is None or source != i + n_body)
    cond_jaxpr, used = dce_jaxpr(cond.jaxpr, True, instantiate=must_stay)
    taken = [not u for u in used[n_cond:]]
    if any(taken):
        stays = tuple(used[n_cond:])
        body_jaxpr = move_inputs_to_front(keep_outputs(body.jaxpr, stays), (False,) * n_body + tuple(taken))
        return cond_jaxpr, body_jaxpr, taken
    return cond.jaxpr, body.jaxpr, taken


@also_right("08.5", "with slices")
def with_slices(ctx, *args, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    first = cond_nconsts + body_nconsts

    def condition(*names):
        inputs = [*names[:cond_nconsts], *names[first:]]
        results = ctx.lower_region(cond_jaxpr, inputs, "while/cond")
        return [(name, aval) for name, aval in zip(results, cond_jaxpr.out_avals, strict=False)]

    def body(*names):
        results = ctx.lower_region(body_jaxpr, list(names[cond_nconsts:]), "while/body")
        return list(zip([*names[:first], *results], ctx.avals_in, strict=False))

    return list(write_while(ctx, args, condition, body, body_jaxpr.effects)[first:])


@also_right("08.5", "with an index for each part")
def index_for_each_part(ctx, *args, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    def parts(names):
        names = list(names)
        return names[:cond_nconsts], names[cond_nconsts:][:body_nconsts], names[cond_nconsts + body_nconsts :]

    def condition(*names):
        mine, _, carry = parts(names)
        [truth] = ctx.lower_region(cond_jaxpr, mine + carry, "while/cond")
        return [(truth, cond_jaxpr.outvars[0].aval)]

    def body(*names):
        theirs, mine, carry = parts(names)
        new = ctx.lower_region(body_jaxpr, mine + carry, "while/body")
        consts = theirs + mine
        pairs = list(zip(consts, ctx.avals_in[: len(consts)], strict=False))
        return pairs + list(zip(new, ctx.avals_in[len(consts) :], strict=False))

    return parts(write_while(ctx, args, condition, body, body_jaxpr.effects))[2]


@also_right("08.6", "bound by bound", target="fori_loop")
def bound_by_bound(lower, upper, body_fun, init_val, *, unroll=None):
    if not callable(body_fun):
        raise TypeError("body_fun is no function")
    dtype = dtype_of_bounds(lower, upper)
    steps = known_trips(lower, upper)
    if steps is None:
        if unroll is not None and unroll is not False and unroll != 1:
            raise ValueError("unroll is only for bounds that are known")
        if dtypes.dtype(lower) != dtype:
            lower = convert_element_type(lower, dtype)
        if dtypes.dtype(upper) != dtype:
            upper = convert_element_type(upper, dtype)
        return count_by_while(lower, upper, body_fun, init_val)
    if unroll is None:
        unroll = False
    return count_by_scan(lower, steps, body_fun, init_val, unroll)


@also_right("08.6", "bound by bound", target="count_by_while")
def counts_by_named_parts(lower, upper, body_fun, init_val):
    def step(state):
        i, end, value = state
        one = np.ones((), i.dtype)[()]
        return add(i, one.item() if i.weak_type else one), end, body_fun(i, value)

    def view(state):
        return state[0], state[2]

    loop = Body(step, body_fun, "fori_loop", view)
    goes_on = Body(below_upper, below_upper, "while_cond")
    return run_while(goes_on, loop, (lower, upper, init_val))[2]


@also_right("08.6", "the value before the index", target="count_by_while")
def value_before_the_index(lower, upper, body_fun, init_val):
    def step(carry):
        i, upper, val = carry
        val = body_fun(i, val)
        return add(i, 1 if i.weak_type else i.dtype.type(1)), upper, val

    return run_while(
        Body(below_upper, below_upper, "while_cond"),
        Body(step, body_fun, "fori_loop", lambda carry: (carry[0], carry[2])),
        (lower, upper, init_val),
    )[-1]


@also_right("08.4", "with numpy's truth values")
def without_constant_carry_with_numpy_s_truth_values(cond, body):
    n_cond, n_body = len(cond.consts), len(body.consts)
    sources = forwarded_inputs(body.jaxpr)
    places = np.arange(len(sources)) + n_body
    stays_same = np.array(
        [source is not None and source == place for source, place in zip(sources, places, strict=False)], bool
    )
    keep = tuple(np.concatenate([np.ones(n_cond, bool), ~stays_same]).tolist())
    cond_jaxpr, there = dce_jaxpr(cond.jaxpr, True, instantiate=keep)
    out = ~np.array(there[n_cond:], bool)
    if not out.any():
        return cond.jaxpr, body.jaxpr, out.tolist()
    body_jaxpr = keep_outputs(body.jaxpr, tuple(~out))
    body_jaxpr = move_inputs_to_front(body_jaxpr, tuple([False] * n_body) + tuple(out))
    return cond_jaxpr, body_jaxpr, out.tolist()


@also_right("08.6", "a class that is called", target="fori_loop")
def fori_loop_a_class_that_is_called(lower, upper, body_fun, init_val, *, unroll=None):
    if callable(body_fun) is False:
        raise TypeError("the body is no function")
    one_type = dtype_of_bounds(lower, upper)
    n = known_trips(lower, upper)
    if n is not None:
        return count_by_scan(lower, n, body_fun, init_val, False if unroll is None else unroll)
    match unroll:
        case None | False | 1:
            pass
        case _:
            raise ValueError("how often is not known, so nothing can be unrolled")
    bounds = [
        bound if dtypes.dtype(bound) == one_type else convert_element_type(bound, one_type) for bound in (lower, upper)
    ]
    return count_by_while(*bounds, body_fun, init_val)


@also_right("08.6", "a class that is called", target="count_by_while")
def count_by_while_a_class_that_is_called(lower, upper, body_fun, init_val):
    class Step:
        def __call__(self, carry):
            index, last, value = carry
            following = add(index, constant_like(index, 1))
            return following, last, body_fun(index, value)

    whole = run_while(
        Body(fun=below_upper, user=below_upper, traced_for="while_cond"),
        Body(fun=Step(), user=body_fun, traced_for="fori_loop", view=lambda carry: carry[::2]),
        (lower, upper, init_val),
    )
    return whole[2]


# --- What learners wrote ------------------------------------------------------------------------------------------


@mutant(
    "08.1",
    "a carry that was promoted need not be checked",
    "One part was promoted. Can another part still come out with the wrong type?",
)
def checks_only_what_is_unchanged(cond, body, init_val):
    init, carry_tree = tree_flatten(init_val)
    in_tree = treedef_tuple((carry_tree,))
    traced_cond, traced = trace_both(cond, body, in_tree, avals_of(init))
    changed = False
    if len(traced.jaxpr.outvars) == len(init):
        init, changed = promote_weak_inputs(init, avals_of(init), traced.jaxpr.out_avals)
        if changed:
            traced_cond, traced = trace_both(cond, body, in_tree, avals_of(init))
    if not changed:
        check_carry("while_loop body", body, in_tree, traced.out_tree, traced)
    return tree_unflatten(traced.out_tree, bind_while(traced_cond, traced, init))


edit(
    "08.2", "the flag is about the last value", "The first of two values was converted, and the second was not. What does the flag say?",
    "any(new is not old for new, old in zip(promoted, leaves, strict=True))", "bool(leaves) and promoted[-1] is not leaves[-1]",
)  # fmt: skip


# --- what learners wrote who believed something else --------------------------------------------------------------


edit(
    "08.4",
    "any forwarded input is unchanged",
    "Two parts change places. Does each come out in its own place?",
    "[place != nconsts + i for i, place in enumerate(forwarded_inputs(body.jaxpr))]",
    "[place is None for place in forwarded_inputs(body.jaxpr)]",
)


edit(
    "08.4",
    "the first input of the body is a part of the carry",
    "What are the first inputs of the body's jaxpr?",
    "place != nconsts + i for",
    "place != i for",
)


edit(
    "08.4",
    "the constants that the condition does not read are dropped",
    "`cond_consts` are passed as before. Which constants must the condition's jaxpr still have?",
    "instantiate=[True] * len(cond.consts) + changes",
    "instantiate=[False] * len(cond.consts) + changes",
)


edit(
    "08.4",
    "the parts that were taken out are the last inputs of the body",
    "In which order are the inputs of the body afterwards?",
    "move_inputs_to_front(jaxpr, (False,) * nconsts + tuple(constant))",
    "jaxpr",
)


edit(
    "08.4",
    "the body still returns the parts that were taken out",
    "A part was taken out of the carry. Does the body still return it?",
    "keep_outputs(body.jaxpr, tuple(not c for c in constant))",
    "body.jaxpr",
)


@also_right("08.4", "sets of places")
def sets_of_places(cond, body):
    nc, nb = len(cond.consts), len(body.consts)
    count = len(body.jaxpr.outvars) if hasattr(body.jaxpr, "outvars") else len(forwarded_inputs(body.jaxpr))
    same = {i for i, place in enumerate(forwarded_inputs(body.jaxpr)) if place is not None and place - nb == i}
    keep = [True] * nc + [i not in same for i in range(count)]
    smaller, there = dce_jaxpr(cond.jaxpr, True, instantiate=keep)
    out = [i in same and not there[nc + i] for i in range(count)]
    if True not in out:
        return cond.jaxpr, body.jaxpr, out
    left = keep_outputs(body.jaxpr, tuple(not is_out for is_out in out))
    return smaller, move_inputs_to_front(left, (*[False] * nb, *out)), out


edit(
    "08.1",
    "condition and body are traced for the types that came in",
    "A start of 0 becomes a float. For which type were both traced?",
    "if changed:",
    "if False:",
)


edit(
    "08.1",
    "the carry is a tuple of leaves",
    "The carry is a dict. What is the result?",
    "return tree_unflatten(traced.out_tree, bind_while(traced_cond, traced, init))",
    "outs = bind_while(traced_cond, traced, init)\n    return tuple(outs) if len(outs) > 1 else outs[0]",
)


edit(
    "08.1",
    "the result has the tree that the body returns",
    "The carry is a tuple, and the body returns a list. Which function refuses that?",
    '    check_carry("while_loop body", body, in_tree, traced.out_tree, traced)\n',
    "",
)


@mutant(
    "08.1",
    "weak parts are promoted until all parts agree",
    "How often are weak leaves promoted? What happens to a part that would become a float only in a third trace?",
)
def believes_it_promotes_until_all_parts_agree(cond, body, init_val):
    leaves, carry_tree = tree_flatten(init_val)
    in_tree = treedef_tuple((carry_tree,))
    avals = avals_of(leaves)
    c, b = trace_both(cond, body, in_tree, avals)
    outs = [v.aval for v in b.jaxpr.outvars]
    if len(outs) == len(leaves):
        changed = True
        while changed:
            leaves, changed = promote_weak_inputs(leaves, avals_of(leaves), [v.aval for v in b.jaxpr.outvars])
            if changed:
                c, b = trace_both(cond, body, in_tree, avals_of(leaves))
    check_carry("while_loop body", body, in_tree, b.out_tree, b)
    return tree_unflatten(carry_tree, bind_while(c, b, leaves))


@mutant("08.1", "a single leaf needs no tree", "What comes back for the carry `(x,)`?")
def believes_a_single_leaf_needs_no_tree(cond, body, init_val):
    leaves, carry_tree = tree_flatten(init_val)
    in_tree = treedef_tuple((carry_tree,))
    avals = avals_of(leaves)
    c, b = trace_both(cond, body, in_tree, avals)
    outs = [v.aval for v in b.jaxpr.outvars]
    if len(outs) == len(leaves):
        leaves, changed = promote_weak_inputs(leaves, avals, outs)
        if changed:
            c, b = trace_both(cond, body, in_tree, avals_of(leaves))
    check_carry("while_loop body", body, in_tree, b.out_tree, b)
    out = bind_while(c, b, leaves)
    return out[0] if len(out) == 1 else tree_unflatten(carry_tree, out)


@mutant(
    "08.1", "a carry without leaves needs no loop", "Who checks the tree that the body returns, if there are no leaves?"
)
def believes_a_carry_of_nothing_needs_no_loop(cond, body, init_val):
    leaves, carry_tree = tree_flatten(init_val)
    if not leaves:
        return init_val
    in_tree = treedef_tuple((carry_tree,))
    avals = avals_of(leaves)
    c, b = trace_both(cond, body, in_tree, avals)
    outs = [v.aval for v in b.jaxpr.outvars]
    if len(outs) == len(leaves):
        leaves, changed = promote_weak_inputs(leaves, avals, outs)
        if changed:
            c, b = trace_both(cond, body, in_tree, avals_of(leaves))
    check_carry("while_loop body", body, in_tree, b.out_tree, b)
    return tree_unflatten(carry_tree, bind_while(c, b, leaves))


@mutant(
    "08.2",
    "two types differ only if their dtypes do",
    "A weak number goes in, and an array of the same dtype comes out. Are these two types the same?",
)
def believes_another_shape_is_no_other_type(leaves, avals, out_avals):
    new, changed = ([], False)
    for leaf, aval, out in zip(leaves, avals, out_avals, strict=True):
        if aval.weak_type and aval.dtype != out.dtype:
            leaf = convert_element_type(leaf, dtypes.result_type(leaf, out))
            changed = True
        new.append(leaf)
    return (new, changed)


@mutant(
    "08.2", "a value that keeps its dtype stays weak", "A weak float meets an int. Is the float still weak afterwards?"
)
def believes_who_is_as_wide_stays(leaves, avals, out_avals):
    new, changed = ([], False)
    for leaf, aval, out in zip(leaves, avals, out_avals, strict=True):
        if aval.weak_type and (not same_type(aval, out)) and (dtypes.result_type(leaf, out) != aval.dtype):
            leaf = convert_element_type(leaf, dtypes.result_type(leaf, out))
            changed = True
        new.append(leaf)
    return (new, changed)


@mutant(
    "08.4",
    "what the body closes over does not change",
    "For a part of the carry, the body returns an array that it closed over. Is that the part as it came?",
)
def believes_what_the_body_closes_over_does_not_change(cond, body):
    nc, nb = (len(cond.consts), len(body.consts))
    n = len(body.jaxpr.outvars)
    used = dce_jaxpr(cond.jaxpr, True, instantiate=[True] * nc + [False] * n)[1]
    reads = used[nc:]
    fwd = forwarded_inputs(body.jaxpr)
    out = [fwd[i] is not None and (fwd[i] < nb or fwd[i] == nb + i) and (not reads[i]) for i in range(n)]
    if not any(out):
        return (cond.jaxpr, body.jaxpr, out)
    keep = [not o for o in out]
    smaller_cond = dce_jaxpr(cond.jaxpr, True, instantiate=[True] * nc + keep)[0]
    smaller_body = keep_outputs(body.jaxpr, tuple(keep))
    smaller_body = move_inputs_to_front(smaller_body, (False,) * nb + tuple(out))
    return (smaller_cond, smaller_body, out)


@mutant("08.4", "only operations read a part", "A condition returns a part of the carry. Did it read the part?")
def believes_an_operation_is_what_reads(cond, body):
    nc, nb = (len(cond.consts), len(body.consts))
    n = len(body.jaxpr.outvars)
    dce_jaxpr(cond.jaxpr, True, instantiate=[True] * nc + [False] * n)[1]
    reads = [any((v is x for e in cond.jaxpr.eqns for x in e.invars)) for v in cond.jaxpr.invars[nc:]]
    fwd = forwarded_inputs(body.jaxpr)
    out = [fwd[i] == nb + i and (not reads[i]) for i in range(n)]
    if not any(out):
        return (cond.jaxpr, body.jaxpr, out)
    keep = [not o for o in out]
    smaller_cond = dce_jaxpr(cond.jaxpr, True, instantiate=[True] * nc + keep)[0]
    smaller_body = keep_outputs(body.jaxpr, tuple(keep))
    smaller_body = move_inputs_to_front(smaller_body, (False,) * nb + tuple(out))
    return (smaller_cond, smaller_body, out)


@mutant(
    "08.4",
    "every part that occurs in the condition is needed",
    "The condition computes something, and does not return it. Are the parts needed from which that was computed?",
)
def believes_what_occurs_is_read(cond, body):
    nc, nb = (len(cond.consts), len(body.consts))
    n = len(body.jaxpr.outvars)
    dce_jaxpr(cond.jaxpr, True, instantiate=[True] * nc + [False] * n)[1]
    reads = [
        any((v is x for e in cond.jaxpr.eqns for x in e.invars)) or any((v is x for x in cond.jaxpr.outvars))
        for v in cond.jaxpr.invars[nc:]
    ]
    fwd = forwarded_inputs(body.jaxpr)
    out = [fwd[i] == nb + i and (not reads[i]) for i in range(n)]
    if not any(out):
        return (cond.jaxpr, body.jaxpr, out)
    keep = [not o for o in out]
    smaller_cond = dce_jaxpr(cond.jaxpr, True, instantiate=[True] * nc + keep)[0]
    smaller_body = keep_outputs(body.jaxpr, tuple(keep))
    smaller_body = move_inputs_to_front(smaller_body, (False,) * nb + tuple(out))
    return (smaller_cond, smaller_body, out)


@mutant("08.6", "a single step needs no loop", "Who checks the carry, if there is no loop?", target="fori_loop")
def believes_a_single_step_needs_no_loop(lower, upper, body_fun, init_val, *, unroll=None):
    if not callable(body_fun):
        raise TypeError("the body of a fori_loop is a function")
    dtype = dtype_of_bounds(lower, upper)
    trips = known_trips(lower, upper)
    if trips == 1:
        return body_fun(lower, init_val)
    if trips is not None:
        return count_by_scan(lower, trips, body_fun, init_val, False if unroll is None else unroll)
    if unroll is not None and unroll is not False and (unroll != 1):
        raise ValueError("a loop whose bounds are traced cannot be unrolled")
    if dtypes.dtype(lower) != dtype:
        lower = convert_element_type(lower, dtype)
    if dtypes.dtype(upper) != dtype:
        upper = convert_element_type(upper, dtype)
    return count_by_while(lower, upper, body_fun, init_val)


@mutant("08.1", "None is a leaf of the carry", "How many leaves does the tree `(x, None)` have?")
def believes_none_is_a_leaf_of_the_carry(cond, body, init_val):
    leaves, carry_tree = tree_flatten(init_val, lambda x: x is None)
    in_tree = treedef_tuple((carry_tree,))
    avals = avals_of(leaves)
    c, b = trace_both(cond, body, in_tree, avals)
    outs = [v.aval for v in b.jaxpr.outvars]
    if len(outs) == len(leaves):
        leaves, changed = promote_weak_inputs(leaves, avals, outs)
        if changed:
            c, b = trace_both(cond, body, in_tree, avals_of(leaves))
    check_carry("while_loop body", body, in_tree, b.out_tree, b)
    return tree_unflatten(carry_tree, bind_while(c, b, leaves))


@mutant(
    "08.2",
    "one object is converted once, to one type",
    "The 0 of two parts is one object in Python. Do both parts have the same type?",
)
def believes_a_number_is_converted_once(leaves, avals, out_avals):
    new, changed = ([], False)
    for leaf, aval, out in zip(leaves, avals, out_avals, strict=True):
        if aval.weak_type and (not same_type(aval, out)):
            if any((leaf is x for x in leaves[: len(new)])):
                new.append(next((n for n, x in zip(new, leaves, strict=False) if x is leaf)))
                continue
            leaf = convert_element_type(leaf, dtypes.result_type(leaf, out))
            changed = True
        new.append(leaf)
    return (new, changed)


@mutant(
    "08.3",
    "a size of 1 agrees with every size",
    "A row of three goes in, and a row of one comes out. Is that the same shape?",
)
def believes_sizes_of_1_stretch(what, body, in_tree, out_tree, traced):
    carry_tree = in_tree.children()[0]
    if carry_tree != out_tree:
        raise carry_structure_error(what, body, in_tree, out_tree)
    jaxpr = traced.jaxpr
    n, k = (out_tree.num_leaves, len(traced.consts))
    names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))[k:]
    ins, outs = (jaxpr.invars[k : k + n], jaxpr.outvars[:n])
    pairs = [(i.aval, o.aval) for i, o in zip(ins, outs, strict=False)]
    if not all(
        (
            same_type(a, b)
            or (
                a.dtype == b.dtype
                and len(a.shape) == len(b.shape)
                and all((m in (n, 1) for m, n in zip(b.shape, a.shape, strict=False)))
            )
            for a, b in pairs
        )
    ):
        raise carry_type_error(what, jaxpr, names, pairs)


@mutant(
    "08.4", "a condition reads everything if the body prints", "The body prints. Does the condition read more for that?"
)
def believes_who_prints_reads_everything(cond, body):
    nc, nb = (len(cond.consts), len(body.consts))
    n = len(body.jaxpr.outvars)
    used = dce_jaxpr(cond.jaxpr, True, instantiate=[True] * nc + [False] * n)[1]
    reads = used[nc:] if not body.jaxpr.effects else [True] * n
    fwd = forwarded_inputs(body.jaxpr)
    out = [fwd[i] == nb + i and (not reads[i]) for i in range(n)]
    if not any(out):
        return (cond.jaxpr, body.jaxpr, out)
    keep = [not o for o in out]
    smaller_cond = dce_jaxpr(cond.jaxpr, True, instantiate=[True] * nc + keep)[0]
    smaller_body = keep_outputs(body.jaxpr, tuple(keep))
    smaller_body = move_inputs_to_front(smaller_body, (False,) * nb + tuple(out))
    return (smaller_cond, smaller_body, out)


@mutant(
    "08.4", "something is always left in the carry", "The body returns its carry as it came. What is left of the carry?"
)
def believes_a_loop_carries_something(cond, body):
    nc, nb = (len(cond.consts), len(body.consts))
    n = len(body.jaxpr.outvars)
    used = dce_jaxpr(cond.jaxpr, True, instantiate=[True] * nc + [False] * n)[1]
    reads = used[nc:]
    fwd = forwarded_inputs(body.jaxpr)
    out = [fwd[i] == nb + i and (not reads[i]) for i in range(n)]
    if all(out):
        out[-1] = False
    if not any(out):
        return (cond.jaxpr, body.jaxpr, out)
    keep = [not o for o in out]
    smaller_cond = dce_jaxpr(cond.jaxpr, True, instantiate=[True] * nc + keep)[0]
    smaller_body = keep_outputs(body.jaxpr, tuple(keep))
    smaller_body = move_inputs_to_front(smaller_body, (False,) * nb + tuple(out))
    return (smaller_cond, smaller_body, out)


@mutant(
    "08.6",
    "equal bounds need no loop and no check",
    "In `fori_loop(n, n, ...)` there are no steps. When is a wrong body refused?",
    target="fori_loop",
)
def believes_bounds_that_are_one_object_need_no_loop(lower, upper, body_fun, init_val, *, unroll=None):
    if not callable(body_fun):
        raise TypeError("the body of a fori_loop is a function")
    dtype = dtype_of_bounds(lower, upper)
    if lower is upper:
        return init_val
    trips = known_trips(lower, upper)
    if trips is not None:
        return count_by_scan(lower, trips, body_fun, init_val, False if unroll is None else unroll)
    if unroll is not None and unroll is not False and (unroll != 1):
        raise ValueError("a loop whose bounds are traced cannot be unrolled")
    if dtypes.dtype(lower) != dtype:
        lower = convert_element_type(lower, dtype)
    if dtypes.dtype(upper) != dtype:
        upper = convert_element_type(upper, dtype)
    return count_by_while(lower, upper, body_fun, init_val)


@mutant(
    "08.3",
    "trees that print alike are the same",
    "Two classes have one name, and the same fields. Is it one structure?",
)
def believes_structures_that_print_alike_are_one(what, body, in_tree, out_tree, traced):
    carry_tree = in_tree.children()[0]
    if str(carry_tree) != str(out_tree):
        raise carry_structure_error(what, body, in_tree, out_tree)
    jaxpr = traced.jaxpr
    n, k = (out_tree.num_leaves, len(traced.consts))
    names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))[k:]
    ins, outs = (jaxpr.invars[k : k + n], jaxpr.outvars[:n])
    pairs = [(i.aval, o.aval) for i, o in zip(ins, outs, strict=False)]
    if not all((same_type(a, b) for a, b in pairs)):
        raise carry_type_error(what, jaxpr, names, pairs)


edit(
    "08.6", "`unroll=0` is the same as no `unroll`", "What does `unroll=0` mean in `scan`: no unrolling, or all steps?",
    "False if unroll is None else unroll", "unroll or False",
    target="fori_loop",
)  # fmt: skip
