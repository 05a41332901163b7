"""Wrong answers to the exercises of lab 07, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant
from jitkit.lax.control_flow.conditionals import NOT_GIVEN

# --- 07.1 cond ----------------------------------------------------------------------------------------------------

edit(
    "07.1",
    "only the taken branch is traced",
    "Your function calls one branch whenever the predicate is known. In which case only is there no program to write?",
    "config.local.state.options.disable_jit and core.is_concrete(pred)",
    "core.is_concrete(pred)",
)
edit("07.1", "a number is an index", "Is 2 true? And is there a branch 2?", "pred = truth_of(pred)", "truth_of(pred)")
edit(
    "07.1",
    "the index is the predicate",
    "Which type does an index have that goes into an equation?",
    "index = convert_element_type(pred, np.int32)",
    "index = pred",
)
edit(
    "07.1",
    "there is always a program",
    "Where jit is disabled, nothing is traced. Who chooses then?",
    "config.local.state.options.disable_jit and core.is_concrete(pred)",
    "False",
)
edit(
    "07.1",
    "both functions always run",
    "How many of the two functions do you call?",
    "return (true_fun if pred else false_fun)(*operands)",
    "return [false_fun(*operands), true_fun(*operands)][bool(pred)]",
)


edit(
    "07.1",
    "a predicate may be an array",
    "Which branch is taken when one element is true and another one is not?",
    "pred = truth_of(pred)",
    "pred = pred.any() if np.ndim(pred) else truth_of(pred)",
)
edit(
    "07.1",
    "cond can be called in one way only",
    "What is `operand=` for, and what does `all_operands` do with it?",
    "operands = all_operands(operands, operand)",
    "operands = operands",
)

# --- 07.2 switch --------------------------------------------------------------------------------------------------

edit(
    "07.2",
    "the index is used as it is",
    "What should the program do with an index of 7, for three branches?",
    "index = clamp(np.array(0, np.int32), convert_element_type(index, np.int32), last)",
    "index = convert_element_type(index, np.int32)",
)
edit(
    "07.2",
    "a bad index wraps around",
    "Which branch should a negative index choose, and which does `%` give?",
    "index = clamp(np.array(0, np.int32), convert_element_type(index, np.int32), last)",
    "index = convert_element_type(index, np.int32) % (last + 1)",
)
edit(
    "07.2",
    "a negative index counts from the end",
    "Is the list of branches indexed by Python's rules?",
    "index = clamp(np.array(0, np.int32), convert_element_type(index, np.int32), last)",
    "index = convert_element_type(index, np.int32)\n"
    "    index = clamp(np.array(0, np.int32), index + (index < 0) * (last + 1), last)",
)


edit(
    "07.2",
    "a bad index raises",
    "You raise for what Python can see. What does the program do with an index that Python cannot see?",
    "index = clamp(np.array(0, np.int32), convert_element_type(index, np.int32), last)",
    "if core.is_concrete(index) and not 0 <= int(index) <= last:\n        raise IndexError(index)\n"
    "    index = convert_element_type(index, np.int32)\n    index = index * ((index >= 0) & (index <= last))",
)
edit("07.2", "any number is an index", "Which branch is number 1.5?", "    check_index(index)\n", "")
edit(
    "07.2",
    "even a single branch needs a switch",
    "One branch: what is there to choose?",
    "        return branches[0](*operands)\n",
    "",
)
edit(
    "07.2",
    "there is always a program",
    "Where jit is disabled, nothing is traced. Who chooses then?",
    "config.local.state.options.disable_jit and core.is_concrete(index)",
    "False",
)

# --- 07.3 All branches, one equation ------------------------------------------------------------------------------

edit(
    "07.3",
    "the true branch comes first",
    "Which number is False, and so which branch is the first of a cond?",
    '    if what == "cond":\n        branches.reverse()  # False is 0\n',
    "",
)
edit(
    "07.3",
    "each branch brings operands of its own",
    "Two branches use the same array. How often is it passed?",
    "consts = list({id(x): x for t in traced for x in t.consts}.values())",
    "consts = [x for t in traced for x in t.consts]",
)
edit(
    "07.3",
    "a branch brings along what it closes over",
    "The jaxprs have inputs for what was closed over. Where do their values come from?",
    "consts = list({id(x): x for t in traced for x in t.consts}.values())",
    "consts = []",
)
edit(
    "07.3",
    "a result is a list of arrays",
    "`bind_branches` returns leaves. What did the functions return?",
    "return tree_unflatten(traced[0].out_tree, outs)",
    "return outs",
)
edit(
    "07.3",
    "branch types may differ",
    "Who compares what the branches return, and says it in words that the user knows?",
    "    check_branches(what, list(functions), bodies, traced)\n",
    "",
)
edit(
    "07.3",
    "only the taken branch is traced",
    "Which branch will be taken is data. Which ones do you have to trace?",
    "for body in bodies]",
    "for body in bodies[:1]] * len(bodies)",
)
edit(
    "07.3",
    "the functions are put in the equation's order before they are traced",
    "Something happens while a function is traced, a print for instance. In which order would the user expect it?",
    "traced = [trace_body(body, in_tree, avals) for body in bodies]",
    "traced = [trace_body(body, in_tree, avals) for body in bodies[::-1]][::-1]",
)

# --- 07.4 Branches agree ------------------------------------------------------------------------------------------

edit(
    "07.4",
    "results with the same leaves agree",
    "One branch returns a list, the other one a tuple. What can the caller of cond rely on?",
    "        if other.out_tree != first.out_tree:\n            raise structure_error(what, i, names, bodies, traced)\n",
    "",
)


@mutant("07.4", "branch types may differ", "What follows the cond is compiled once. For which of the two types?")
def compares_trees_only(what, names, bodies, traced):
    for i, other in enumerate(traced):
        if other.out_tree != traced[0].out_tree:
            raise structure_error(what, i, names, bodies, traced)


edit(
    "07.4",
    "a weak type is another type",
    "Weakness steers promotion while tracing. What is promoted after the branches were traced?",
    "all(same_type(one, two) for one, two in pairs)",
    "all(one == two for one, two in pairs)",
)
edit(
    "07.4",
    "types with the same dtype agree",
    "Two float32 arrays have different lengths. Can the code after the cond be compiled for both?",
    "all(same_type(one, two) for one, two in pairs)",
    "all(one.dtype == two.dtype for one, two in pairs)",
)
edit(
    "07.4",
    "branches are promoted to a common type",
    "Who would convert the int32 to a float32? And did the user mean that?",
    "all(same_type(one, two) for one, two in pairs)",
    "all(one.shape == two.shape for one, two in pairs)",
)
edit(
    "07.4",
    "it is enough to compare two branches",
    "How many branches can a switch have?",
    "enumerate(traced)",
    "enumerate(traced[:2])",
)

# --- 07.5 case ----------------------------------------------------------------------------------------------------

edit(
    "07.5",
    "the true branch comes first",
    "The branches stand in the equation in the order of the index. In which order are your regions?",
    "[([], region) for region in regions]",
    "[([], region) for region in regions[::-1]]",
)


@mutant(
    "07.5",
    "the index is known when the text is written",
    "When is this function called: when the program runs, or when it is written?",
)
def lowers_the_first(ctx, index, *args, branches):
    return ctx.lower_region(branches[0], args, "cond/branch_0_fun")


@mutant(
    "07.5",
    "both functions always run",
    "Your regions only return names. Where in the text are the values computed, and when?",
)
def computes_before(ctx, index, *args, branches):
    names = [ctx.lower_region(branch, args, f"cond/branch_{i}_fun") for i, branch in enumerate(branches)]
    out_avals = list(ctx.avals_out)
    regions = [([], lambda outs=outs: list(zip(outs, out_avals, strict=True))) for outs in names]
    return ctx.emit_regions(
        f'"stablehlo.case"({index})',
        regions,
        f"({type_of(ctx.avals_in[0])}) -> ({', '.join(map(type_of, out_avals))})",
        len(out_avals),
    )


edit(
    "07.5",
    "an operation has one result",
    "How many results does the equation have, and how many names do you return?",
    "        len(out_avals),\n",
    "        1,\n",
)
edit(
    "07.5",
    "a branch without prints returns no token",
    "One branch prints, and returns a token. What does the other one return in its place?",
    "ordered = ordered_effects(no_effects.union(*(branch.effects for branch in branches)))",
    "ordered = ordered_effects(branches[0].effects)",
)

# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("07.1", "the functions first")
def functions_first(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    if not (callable(true_fun) and callable(false_fun)):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = all_operands(operands, operand)
    truth = truth_of(pred)
    is_known = core.is_concrete(truth)
    if is_known and config.value("disable_jit"):
        chosen = true_fun if bool(truth) else false_fun
        return chosen(*operands)
    functions = dict(true_fun=true_fun, false_fun=false_fun)
    return choose("cond", convert_element_type(truth, "int32"), functions, operands)


@also_right("07.1", "the index first")
def index_first(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    both = {"true_fun": true_fun, "false_fun": false_fun}
    if not all(map(callable, both.values())):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    args = all_operands(operands, operand)
    index = convert_element_type(truth_of(pred), np.int32)
    if config.local.state.options.disable_jit and core.is_concrete(index):
        return [false_fun, true_fun][int(index)](*args)
    return choose("cond", index, both, args)


@also_right("07.2", "clamped before it is converted")
def clamps_before_it_converts(index, branches, *operands, operand=NOT_GIVEN):
    from jitkit.core.dtypes import dtype

    if not all(callable(b) for b in branches):
        raise TypeError("a branch is no function")
    operands = all_operands(operands, operand)
    check_index(index)
    if not len(branches):
        raise ValueError("there must be a branch")
    if len(branches) == 1:
        return branches[0](*operands)
    own = dtype(index)
    if own == np.int32:
        index = clamp(np.int32(0), index, np.int32(len(branches) - 1))
    else:
        bounds = (np.array(0, own), np.array(len(branches) - 1, own))
        index = convert_element_type(clamp(bounds[0], index, bounds[1]), np.int32)
    if config.value("disable_jit") and core.is_concrete(index):
        return branches[int(index)](*operands)
    return choose("switch", index, {f"branch {i}": b for i, b in enumerate(branches)}, operands)


@also_right("07.2", "Python's way first")
def pythons_way_first(index, branches, *operands, operand=NOT_GIVEN):
    branches = list(branches)
    for branch in branches:
        if not callable(branch):
            raise TypeError("lax.switch wants functions")
    args = all_operands(operands, operand)
    check_index(index)
    match branches:
        case []:
            raise ValueError("no branches")
        case [only]:
            return only(*args)
    if config.value("disable_jit") and core.is_concrete(index):
        return branches[min(max(int(index), 0), len(branches) - 1)](*args)
    names = [f"branch {i}" for i in range(len(branches))]
    last = np.int32(len(branches) - 1)
    within = clamp(np.int32(0), convert_element_type(index, np.int32), last)
    return choose("switch", within, dict(zip(names, branches, strict=False)), args)


@also_right("07.3", "constants in a loop")
def constants_in_a_loop(what, index, functions, operands):
    leaves, tree = tree_flatten(operands)
    names = list(functions)
    bodies, traced = [], []
    for name in names:
        bodies.append(Body(functions[name], functions[name], what))
        traced.append(trace_body(bodies[-1], tree, avals_of(leaves)))
    check_branches(what, names, bodies, traced)
    consts, ids = [], set()
    for t in traced:
        for const in t.consts:
            if id(const) not in ids:
                ids.add(id(const))
                consts.append(const)
    branches = []
    for k in range(len(traced)):
        branches.append(with_consts_of_all(traced[k], k, traced, consts))
    if what == "cond":
        branches = branches[::-1]
    return tree_unflatten(traced[-1].out_tree, bind_branches(index, branches, consts + leaves))


@also_right("07.3", "constants by comparing")
def constants_by_comparing(what, index, functions, operands):
    flat, in_tree = tree_flatten(operands)
    bodies = {name: Body(f, f, what) for name, f in functions.items()}
    traced = tuple(trace_body(body, in_tree, avals_of(flat)) for body in bodies.values())
    check_branches(what, tuple(bodies), tuple(bodies.values()), traced)
    consts = []
    for x in (c for t in traced for c in t.consts):
        if not any(x is known for known in consts):
            consts.append(x)
    branches = [with_consts_of_all(t, k, traced, consts) for k, t in enumerate(traced)]
    in_order = list(reversed(branches)) if what == "cond" else branches
    return tree_unflatten(traced[0].out_tree, bind_branches(index, in_order, (*consts, *flat)))


@also_right("07.4", "by index")
def by_index(what, names, bodies, traced):
    for i in range(1, len(traced)):
        if traced[i].out_tree != traced[0].out_tree:
            raise structure_error(what, i, names, bodies, traced)
        for one, two in zip(traced[0].jaxpr.outvars, traced[i].jaxpr.outvars, strict=False):
            if not same_type(one.aval, two.aval):
                raise type_error(what, i, names, bodies, traced)


@also_right("07.4", "the reason first")
def reason_first(what, names, bodies, traced):
    first, *others = traced
    for i, other in enumerate(others, 1):
        error = None
        if not (first.out_tree == other.out_tree):
            error = structure_error
        elif [1 for a, b in zip(other.jaxpr.out_avals, first.jaxpr.out_avals, strict=False) if not same_type(a, b)]:
            error = type_error
        if error is not None:
            raise error(what, i, names, bodies, traced)


@also_right("07.5", "region by region")
def region_by_region(ctx, index, *args, branches):
    effects = no_effects
    for branch in branches:
        effects |= branch.effects
    ordered = ordered_effects(effects)
    results = [type_of(abstract_token) for _ in ordered] + [type_of(aval) for aval in ctx.avals_out]
    regions = []
    for i, branch in enumerate(branches):
        regions.append(([], region_of(ctx, branch, args, f"cond/branch_{i}_fun", ordered)))
    signature = f"({type_of(ctx.avals_in[0])}) -> ({', '.join(results)})"
    names = ctx.emit_regions(f'"stablehlo.case"({index})', regions, signature, len(results))
    return ctx.take_tokens(ordered, names)


@also_right("07.5", "effects as a set of all")
def effects_as_a_set(ctx, index, *args, branches):
    ordered = ordered_effects(frozenset(e for b in branches for e in b.effects))
    avals = [*[abstract_token] * len(ordered), *ctx.avals_out]
    outs = ctx.emit_regions(
        '"stablehlo.case"(%s)' % index,
        [([], region_of(ctx, b, args, "cond/branch_%d_fun" % i, ordered)) for i, b in enumerate(branches)],
        "(tensor<i32>) -> (%s)" % ", ".join(type_of(a) for a in avals),
        len(avals),
    )
    return ctx.take_tokens(ordered, outs)


@also_right("07.1", "Python's way first")
def cond_python_s_way_first(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    for function in (true_fun, false_fun):
        if not callable(function):
            return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    given = all_operands(operands, operand)
    truth = truth_of(pred)
    by_hand = config.local.state.options.disable_jit and core.is_concrete(truth)
    if by_hand:
        if bool(truth):
            return true_fun(*given)
        return false_fun(*given)
    return choose("cond", convert_element_type(truth, np.int32), dict(true_fun=true_fun, false_fun=false_fun), given)


@also_right("07.2", "by how many there are")
def switch_by_how_many_there_are(index, branches, *operands, operand=NOT_GIVEN):
    functions = tuple(branches)
    for function in functions:
        if not callable(function):
            raise TypeError(f"{function} is no function")
    check_index(index)
    given = all_operands(operands, operand)
    match len(functions):
        case 0:
            raise ValueError("switch needs a branch")
        case 1:
            names = {"branch 0": functions[0]}
            return functions[0](*given)
        case n:
            names = {f"branch {i}": f for i, f in enumerate(functions)}
    if config.local.state.options.disable_jit and core.is_concrete(index):
        return functions[min(max(0, int(index)), n - 1)](*given)
    i = convert_element_type(clamp(np.int32(0), convert_element_type(index, np.int32), np.int32(n - 1)), np.int32)
    return choose("switch", i, names, given)


# --- what learners wrote who believed something else --------------------------------------------------------------


@mutant("07.1", "a number is true when it is positive", "Is -1 true in Python?")
def positive(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    if not callable(true_fun) or not callable(false_fun):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = all_operands(operands, operand)
    truth_of(pred)
    pred = pred if core.dtypes.dtype(pred) == bool else pred > 0
    if config.local.state.options.disable_jit and core.is_concrete(pred):
        return (true_fun if pred else false_fun)(*operands)
    return choose(
        "cond", convert_element_type(pred, np.int32), {"true_fun": true_fun, "false_fun": false_fun}, operands
    )


@mutant("07.1", "a tree of operands is spread", "The operand is a tuple. What does the function get?")
def spread(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    if not callable(true_fun) or not callable(false_fun):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = all_operands(operands, operand)
    if len(operands) == 1 and isinstance(operands[0], tuple):
        operands = operands[0]
    pred = truth_of(pred)
    if config.local.state.options.disable_jit and core.is_concrete(pred):
        return (true_fun if pred else false_fun)(*operands)
    return choose(
        "cond", convert_element_type(pred, np.int32), {"true_fun": true_fun, "false_fun": false_fun}, operands
    )


@mutant(
    "07.1", "`operand=None` means that there is no operand", "`cond(p, f, g, operand=None)`: what is `f` called with?"
)
def none_is_not_given(pred, true_fun, false_fun, *operands, operand=None):
    if not callable(true_fun) or not callable(false_fun):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    if operand is not None and operand is not NOT_GIVEN:
        operands = (*operands, operand)
    pred = truth_of(pred)
    if config.local.state.options.disable_jit and core.is_concrete(pred):
        return (true_fun if pred else false_fun)(*operands)
    return choose(
        "cond", convert_element_type(pred, np.int32), {"true_fun": true_fun, "false_fun": false_fun}, operands
    )


@mutant(
    "07.1",
    "with jit disabled, the value of a tracer is known",
    "Where jit is disabled within a traced function: is the predicate known?",
)
def python_always(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    if not callable(true_fun) or not callable(false_fun):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = all_operands(operands, operand)
    pred = truth_of(pred)
    if config.local.state.options.disable_jit:
        return (true_fun if pred else false_fun)(*operands)
    return choose(
        "cond", convert_element_type(pred, np.int32), {"true_fun": true_fun, "false_fun": false_fun}, operands
    )


@mutant(
    "07.1", "in the equation, the true branch comes first", "The index is 0 for False. Which branch must be number 0?"
)
def turns_them(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    if not callable(true_fun) or not callable(false_fun):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = all_operands(operands, operand)
    pred = truth_of(pred)
    if config.local.state.options.disable_jit and core.is_concrete(pred):
        return (true_fun if pred else false_fun)(*operands)
    return choose(
        "cond", convert_element_type(pred, np.int32), {"false_fun": false_fun, "true_fun": true_fun}, operands
    )


@mutant(
    "07.1",
    "an operand that is a tuple is spread over the parameters",
    "`operand=(x, y)` is one operand. How many do the functions get?",
)
def keyword_spread(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    if not callable(true_fun) or not callable(false_fun):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = (
        tuple(operand)
        if operand is not NOT_GIVEN and isinstance(operand, (tuple, list))
        else all_operands(operands, operand)
    )
    pred = truth_of(pred)
    if config.local.state.options.disable_jit and core.is_concrete(pred):
        return (true_fun if pred else false_fun)(*operands)
    return choose(
        "cond", convert_element_type(pred, np.int32), {"true_fun": true_fun, "false_fun": false_fun}, operands
    )


@also_right("07.1", "a table of both, and an early return")
def table(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    table = {name: f for name, f in (("true_fun", true_fun), ("false_fun", false_fun))}
    if False in [callable(f) for f in table.values()]:
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    arguments = all_operands(operands, operand)
    truth = truth_of(pred)
    if not (core.is_concrete(truth) and config.local.state.options.disable_jit):
        return choose("cond", convert_element_type(truth, np.dtype("int32")), table, arguments)
    return table["true_fun" if truth else "false_fun"](*arguments)


@mutant(
    "07.2",
    "an index too large is the first branch",
    "There are three branches, and the index is 7. Which branch should run?",
)
def outside_is_first(index, branches, *operands, operand=NOT_GIVEN):
    if not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = all_operands(operands, operand)
    check_index(index)
    branches = tuple(branches)
    if len(branches) < 2:
        if not branches:
            raise ValueError("Empty branch sequence")
        return branches[0](*operands)
    index = convert_element_type(index, np.int32)
    index = index * convert_element_type((index >= 0) & (index < len(branches)), np.int32)
    if config.local.state.options.disable_jit and core.is_concrete(index):
        return branches[int(index)](*operands)
    return choose("switch", index, {f"branch {i}": b for i, b in enumerate(branches)}, operands)


@mutant(
    "07.2",
    "the largest index is the number of branches",
    "There are three branches, counted from 0. Which is the largest index?",
)
def clamps_to_len(index, branches, *operands, operand=NOT_GIVEN):
    if not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = all_operands(operands, operand)
    check_index(index)
    branches = tuple(branches)
    if len(branches) < 2:
        if not branches:
            raise ValueError("Empty branch sequence")
        return branches[0](*operands)
    index = clamp(np.array(0, np.int32), convert_element_type(index, np.int32), np.array(len(branches), np.int32))
    if config.local.state.options.disable_jit and core.is_concrete(index):
        return branches[min(int(index), len(branches) - 1)](*operands)
    return choose("switch", index, {f"branch {i}": b for i, b in enumerate(branches)}, operands)


@mutant("07.2", "a single branch needs no index", "switch(0.5, [f]): which branch is number 0.5?")
def single_unchecked(index, branches, *operands, operand=NOT_GIVEN):
    if not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = all_operands(operands, operand)
    branches = tuple(branches)
    if not branches:
        raise ValueError("Empty branch sequence")
    if len(branches) == 1:
        return branches[0](*operands)
    check_index(index)
    index = clamp(np.array(0, np.int32), convert_element_type(index, np.int32), np.array(len(branches) - 1, np.int32))
    if config.local.state.options.disable_jit and core.is_concrete(index):
        return branches[int(index)](*operands)
    return choose("switch", index, {f"branch {i}": b for i, b in enumerate(branches)}, operands)


@mutant(
    "07.2",
    "a switch of two branches is a cond",
    "Which of two branches does the index 5 choose? And how does a message name branch 0 of a switch?",
)
def two_are_cond(index, branches, *operands, operand=NOT_GIVEN):
    if not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = all_operands(operands, operand)
    check_index(index)
    branches = tuple(branches)
    if len(branches) < 2:
        if not branches:
            raise ValueError("Empty branch sequence")
        return branches[0](*operands)
    index = clamp(np.array(0, np.int32), convert_element_type(index, np.int32), np.array(len(branches) - 1, np.int32))
    if config.local.state.options.disable_jit and core.is_concrete(index):
        return branches[int(index)](*operands)
    if len(branches) == 2:
        return choose("cond", index, {"true_fun": branches[1], "false_fun": branches[0]}, operands)
    return choose("switch", index, {f"branch {i}": b for i, b in enumerate(branches)}, operands)


@mutant(
    "07.2",
    "the index is clamped after it is converted to its width",
    "An index of uint32 4294967295: is it the first branch, or the last?",
)
def int8_clamp(index, branches, *operands, operand=NOT_GIVEN):
    if not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = all_operands(operands, operand)
    check_index(index)
    branches = tuple(branches)
    if len(branches) < 2:
        if not branches:
            raise ValueError("Empty branch sequence")
        return branches[0](*operands)
    index = clamp(np.array(0, np.int8), convert_element_type(index, np.int8), np.array(len(branches) - 1, np.int8))
    index = convert_element_type(index, np.int32)
    if config.local.state.options.disable_jit and core.is_concrete(index):
        return branches[int(index)](*operands)
    return choose("switch", index, {f"branch {i}": b for i, b in enumerate(branches)}, operands)


@mutant("07.2", "equal branches are merged", "switch(i, [f, g, f]): how many branches does the equation have?")
def by_function(index, branches, *operands, operand=NOT_GIVEN):
    if not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = all_operands(operands, operand)
    check_index(index)
    branches = tuple(dict.fromkeys(branches))
    if len(branches) < 2:
        if not branches:
            raise ValueError("Empty branch sequence")
        return branches[0](*operands)
    index = clamp(np.array(0, np.int32), convert_element_type(index, np.int32), np.array(len(branches) - 1, np.int32))
    if config.local.state.options.disable_jit and core.is_concrete(index):
        return branches[int(index)](*operands)
    return choose("switch", index, {f"branch {i}": b for i, b in enumerate(branches)}, operands)


@mutant("07.2", "`branches` is a list", "May `branches` be a tuple? What does the docstring say?")
def wants_list(index, branches, *operands, operand=NOT_GIVEN):
    if not isinstance(branches, list) or not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = all_operands(operands, operand)
    check_index(index)
    if len(branches) < 2:
        if not branches:
            raise ValueError("Empty branch sequence")
        return branches[0](*operands)
    index = clamp(np.array(0, np.int32), convert_element_type(index, np.int32), np.array(len(branches) - 1, np.int32))
    if config.local.state.options.disable_jit and core.is_concrete(index):
        return branches[int(index)](*operands)
    return choose("switch", index, {f"branch {i}": b for i, b in enumerate(branches)}, operands)


@also_right("07.2", "bounds by a helper")
def with_where(index, branches, *operands, operand=NOT_GIVEN):
    from jitkit.lax import max as larger
    from jitkit.lax import min as smaller

    if [b for b in branches if not callable(b)]:
        raise TypeError("every branch must be a function")
    args = all_operands(operands, operand)
    check_index(index)
    count = len(branches)
    if count == 0:
        raise ValueError("no branch to call")
    if count == 1:
        (only,) = branches
        return only(*args)
    wide = convert_element_type(index, "int32")
    within = larger(np.int32(0), smaller(wide, np.int32(count - 1)))
    if config.local.state.options.disable_jit and core.is_concrete(within):
        return branches[int(within)](*args)
    return choose("switch", within, {"branch " + str(i): branches[i] for i in range(count)}, args)


@mutant(
    "07.3",
    "a branch that closes over nothing gets no constants",
    "One branch closes over a table, the other over nothing. What are their inputs?",
)
def own_consts(what, index, functions, operands):
    args, in_tree = tree_flatten(operands)
    avals = avals_of(args)
    bodies = [Body(function, function, what) for function in functions.values()]
    traced = [trace_body(body, in_tree, avals) for body in bodies]
    check_branches(what, list(functions), bodies, traced)
    consts = list(traced[0].consts)
    branches = [with_consts_of_all(t, k, traced, consts) for k, t in enumerate(traced)]
    if what == "cond":
        branches.reverse()
    return tree_unflatten(traced[0].out_tree, bind_branches(index, branches, [*consts, *args]))


@mutant("07.3", "equal arrays are one constant", "Two arrays of the same numbers: are they the same object?")
def equal_consts(what, index, functions, operands):
    args, in_tree = tree_flatten(operands)
    avals = avals_of(args)
    bodies = [Body(function, function, what) for function in functions.values()]
    traced = [trace_body(body, in_tree, avals) for body in bodies]
    check_branches(what, list(functions), bodies, traced)
    consts = list({(repr(x), id(x) if isinstance(x, core.Tracer) else 0): x for t in traced for x in t.consts}.values())
    branches = [with_consts_of_all(t, k, traced, consts) for k, t in enumerate(traced)]
    if what == "cond":
        branches.reverse()
    return tree_unflatten(traced[0].out_tree, bind_branches(index, branches, [*consts, *args]))


@mutant("07.3", "operands come before constants", "Which inputs of a branch come first?")
def args_first(what, index, functions, operands):
    args, in_tree = tree_flatten(operands)
    avals = avals_of(args)
    bodies = [Body(function, function, what) for function in functions.values()]
    traced = [trace_body(body, in_tree, avals) for body in bodies]
    check_branches(what, list(functions), bodies, traced)
    consts = list({id(x): x for t in traced for x in t.consts}.values())
    branches = [with_consts_of_all(t, k, traced, consts) for k, t in enumerate(traced)]
    if what == "cond":
        branches.reverse()
    return tree_unflatten(traced[0].out_tree, bind_branches(index, branches, [*args, *consts]))


@mutant(
    "07.3",
    "when the branches are reversed, the index is, too",
    "In a cond the branch for False is the first. What is the index of True then?",
)
def turns_both(what, index, functions, operands):
    args, in_tree = tree_flatten(operands)
    avals = avals_of(args)
    bodies = [Body(function, function, what) for function in functions.values()]
    traced = [trace_body(body, in_tree, avals) for body in bodies]
    check_branches(what, list(functions), bodies, traced)
    consts = list({id(x): x for t in traced for x in t.consts}.values())
    branches = [with_consts_of_all(t, k, traced, consts) for k, t in enumerate(traced)]
    if what == "cond":
        index = 1 - index
    return tree_unflatten(traced[0].out_tree, bind_branches(index, branches, [*consts, *args]))


@mutant(
    "07.3",
    "the constants are those of the first two branches",
    "The third branch closes over something, too. Is it among the constants?",
)
def consts_in_pairs(what, index, functions, operands):
    args, in_tree = tree_flatten(operands)
    avals = avals_of(args)
    bodies = [Body(function, function, what) for function in functions.values()]
    traced = [trace_body(body, in_tree, avals) for body in bodies]
    check_branches(what, list(functions), bodies, traced)
    consts = []
    for t in traced[:2]:
        consts += [c for c in t.consts if not any(c is known for known in consts)]
    branches = [with_consts_of_all(t, k, traced, consts) for k, t in enumerate(traced)]
    if what == "cond":
        branches.reverse()
    return tree_unflatten(traced[0].out_tree, bind_branches(index, branches, [*consts, *args]))


@mutant("07.3", "None is an operand of the equation", "None has no leaves. How does the function get it back?")
def leaves_only(what, index, functions, operands):
    args = [x for x in operands if x is not None]
    args, in_tree = tree_flatten(tuple(args))
    avals = avals_of(args)
    bodies = [Body(function, function, what) for function in functions.values()]
    traced = [trace_body(body, in_tree, avals) for body in bodies]
    check_branches(what, list(functions), bodies, traced)
    consts = list({id(x): x for t in traced for x in t.consts}.values())
    branches = [with_consts_of_all(t, k, traced, consts) for k, t in enumerate(traced)]
    if what == "cond":
        branches.reverse()
    return tree_unflatten(traced[0].out_tree, bind_branches(index, branches, [*consts, *args]))


@also_right("07.3", "recursion for the constants")
def recursive_consts(what, index, functions, operands):
    def unique(xs):
        if not xs:
            return []
        head, *rest = xs
        return [head, *unique([x for x in rest if x is not head])]

    leaves, tree = tree_flatten(operands)
    bodies = [Body(f, f, what) for f in functions.values()]
    programs = [trace_body(b, tree, avals_of(leaves)) for b in bodies]
    check_branches(what, [*functions], bodies, programs)
    shared = unique([c for p in programs for c in p.consts])
    made = [with_consts_of_all(p, i, programs, shared) for i, p in enumerate(programs)]
    outs = bind_branches(index, made[::-1] if what == "cond" else made, shared + leaves)
    return tree_unflatten(programs[0].out_tree, outs)


@mutant(
    "07.4", "it is enough to compare each branch with the next one", "Which branch do you compare the third one with?"
)
def neighbours(what, names, bodies, traced):
    for i in range(1, len(traced), 2):
        if traced[i].out_tree != traced[i - 1].out_tree:
            raise structure_error(what, i, names, bodies, traced)
        pairs = zip(traced[i - 1].jaxpr.out_avals, traced[i].jaxpr.out_avals, strict=True)
        if not all(same_type(one, two) for one, two in pairs):
            raise type_error(what, i, names, bodies, traced)


@mutant(
    "07.4",
    "all trees are compared before any types",
    "The second branch differs in type, the third in tree. About which is the error?",
)
def trees_first(what, names, bodies, traced):
    first = traced[0]
    for i, other in enumerate(traced):
        if other.out_tree != first.out_tree:
            raise structure_error(what, i, names, bodies, traced)
    for i, other in enumerate(traced):
        pairs = zip(first.jaxpr.out_avals, other.jaxpr.out_avals, strict=True)
        if not all(same_type(one, two) for one, two in pairs):
            raise type_error(what, i, names, bodies, traced)


@mutant(
    "07.4",
    "branches agree if one leaf does",
    "Two leaves: the first has the same type in both branches, the second has not. Do the branches agree?",
)
def any_leaf(what, names, bodies, traced):
    first = traced[0]
    for i, other in enumerate(traced):
        if other.out_tree != first.out_tree:
            raise structure_error(what, i, names, bodies, traced)
        pairs = list(zip(first.jaxpr.out_avals, other.jaxpr.out_avals, strict=True))
        if pairs and not any(same_type(one, two) for one, two in pairs):
            raise type_error(what, i, names, bodies, traced)


@mutant(
    "07.4",
    "the error is about the last branch that differs",
    "Several branches differ from the first. Which of them is the error about?",
)
def last_differs(what, names, bodies, traced):
    first = traced[0]
    for i in reversed(range(len(traced))):
        other = traced[i]
        if other.out_tree != first.out_tree:
            raise structure_error(what, i, names, bodies, traced)
        pairs = zip(first.jaxpr.out_avals, other.jaxpr.out_avals, strict=True)
        if not all(same_type(one, two) for one, two in pairs):
            raise type_error(what, i, names, bodies, traced)


@mutant("07.4", "shapes of the same size agree", "f32[2,3] and f32[3,2] have six numbers each. Are they one type?")
def sizes(what, names, bodies, traced):
    first = traced[0]
    for i, other in enumerate(traced):
        if other.out_tree != first.out_tree:
            raise structure_error(what, i, names, bodies, traced)
        pairs = zip(first.jaxpr.out_avals, other.jaxpr.out_avals, strict=True)
        if not all(one.size == two.size and one.dtype == two.dtype for one, two in pairs):
            raise type_error(what, i, names, bodies, traced)


@mutant("07.4", "dtypes of the same kind agree", "float16 and float32 are both floats. Are they one type?")
def kinds(what, names, bodies, traced):
    first = traced[0]
    for i, other in enumerate(traced):
        if other.out_tree != first.out_tree:
            raise structure_error(what, i, names, bodies, traced)
        pairs = zip(first.jaxpr.out_avals, other.jaxpr.out_avals, strict=True)
        if not all(
            one.shape == two.shape and np.dtype(one.dtype).kind == np.dtype(two.dtype).kind for one, two in pairs
        ):
            raise type_error(what, i, names, bodies, traced)


@mutant(
    "07.4",
    "the message counts branches from the second one",
    "Branches 0 and 1 agree, and branch 2 differs. Which branch does the message name?",
)
def index_off(what, names, bodies, traced):
    first = traced[0]
    for i, other in enumerate(traced[1:]):
        if other.out_tree != first.out_tree:
            raise structure_error(what, max(i, 1), names, bodies, traced)
        pairs = zip(first.jaxpr.out_avals, other.jaxpr.out_avals, strict=True)
        if not all(same_type(one, two) for one, two in pairs):
            raise type_error(what, max(i, 1), names, bodies, traced)


@also_right("07.4", "next and a generator")
def with_next(what, names, bodies, traced):
    first = traced[0]

    def fault(other):
        if other.out_tree != first.out_tree:
            return structure_error
        same = map(same_type, first.jaxpr.out_avals, other.jaxpr.out_avals)
        return None if all(same) else type_error

    found = next(((i, fault(t)) for i, t in enumerate(traced) if fault(t)), None)
    if found:
        raise found[1](what, found[0], names, bodies, traced)


@mutant(
    "07.5",
    "a region of `case` takes the operands as arguments",
    "Does a region of `stablehlo.case` have arguments? The README shows one.",
)
def with_arguments(ctx, index, *args, branches):
    ordered = ordered_effects(no_effects.union(*(branch.effects for branch in branches)))
    out_avals = [abstract_token] * len(ordered) + list(ctx.avals_out)
    regions = [region_of(ctx, branch, args, f"cond/branch_{i}_fun", ordered) for i, branch in enumerate(branches)]
    outs = ctx.emit_regions(
        f'"stablehlo.case"({index})',
        [(list(ctx.avals_in[1:]), lambda *_, region=region: region()) for region in regions],
        f"({type_of(ctx.avals_in[0])}) -> ({', '.join(map(type_of, out_avals))})",
        len(out_avals),
    )
    return ctx.take_tokens(ordered, outs)


@mutant(
    "07.5",
    "`case` takes the operands beside the index",
    "How many operands does `stablehlo.case` have? The README shows one.",
)
def operands_beside(ctx, index, *args, branches):
    ordered = ordered_effects(no_effects.union(*(branch.effects for branch in branches)))
    out_avals = [abstract_token] * len(ordered) + list(ctx.avals_out)
    regions = [region_of(ctx, branch, args, f"cond/branch_{i}_fun", ordered) for i, branch in enumerate(branches)]
    outs = ctx.emit_regions(
        f'"stablehlo.case"({", ".join((index, *args))})',
        [([], region) for region in regions],
        f"({', '.join(map(type_of, ctx.avals_in))}) -> ({', '.join(map(type_of, out_avals))})",
        len(out_avals),
    )
    return ctx.take_tokens(ordered, outs)


@mutant(
    "07.5",
    "each branch returns only the tokens of its own effects",
    "All regions of a `case` return the same types. One branch prints: what must the others return in the place of its token?",
)
def own_effects(ctx, index, *args, branches):
    ordered = ordered_effects(no_effects.union(*(branch.effects for branch in branches)))
    out_avals = [abstract_token] * len(ordered) + list(ctx.avals_out)
    regions = [
        region_of(ctx, branch, args, f"cond/branch_{i}_fun", ordered_effects(branch.effects))
        for i, branch in enumerate(branches)
    ]
    outs = ctx.emit_regions(
        f'"stablehlo.case"({index})',
        [([], region) for region in regions],
        f"({type_of(ctx.avals_in[0])}) -> ({', '.join(map(type_of, out_avals))})",
        len(out_avals),
    )
    return ctx.take_tokens(ordered, outs)


@mutant(
    "07.5",
    "tokens are among the results of the equation",
    "Which names should your rule return: those of the tokens, too?",
)
def tokens_kept(ctx, index, *args, branches):
    ordered = ordered_effects(no_effects.union(*(branch.effects for branch in branches)))
    out_avals = [abstract_token] * len(ordered) + list(ctx.avals_out)
    regions = [region_of(ctx, branch, args, f"cond/branch_{i}_fun", ordered) for i, branch in enumerate(branches)]
    outs = ctx.emit_regions(
        f'"stablehlo.case"({index})',
        [([], region) for region in regions],
        f"({type_of(ctx.avals_in[0])}) -> ({', '.join(map(type_of, out_avals))})",
        len(out_avals),
    )
    return outs


@mutant("07.5", "the results come before the tokens", "In which order does the operation return tokens and results?")
def tokens_last(ctx, index, *args, branches):
    ordered = ordered_effects(no_effects.union(*(branch.effects for branch in branches)))
    out_avals = list(ctx.avals_out) + [abstract_token] * len(ordered)
    regions = [region_of(ctx, branch, args, f"cond/branch_{i}_fun", ordered) for i, branch in enumerate(branches)]
    outs = ctx.emit_regions(
        f'"stablehlo.case"({index})',
        [([], region) for region in regions],
        f"({type_of(ctx.avals_in[0])}) -> ({', '.join(map(type_of, out_avals))})",
        len(out_avals),
    )
    return ctx.take_tokens(ordered, outs)


@mutant("07.5", "results have the operands' types", "Which types are those of the results?")
def types_of_in(ctx, index, *args, branches):
    ordered = ordered_effects(no_effects.union(*(branch.effects for branch in branches)))
    out_avals = [abstract_token] * len(ordered) + list(ctx.avals_in[1 : 1 + len(ctx.avals_out)])
    regions = [region_of(ctx, branch, args, f"cond/branch_{i}_fun", ordered) for i, branch in enumerate(branches)]
    outs = ctx.emit_regions(
        f'"stablehlo.case"({index})',
        [([], region) for region in regions],
        f"({type_of(ctx.avals_in[0])}) -> ({', '.join(map(type_of, out_avals))})",
        len(out_avals),
    )
    return ctx.take_tokens(ordered, outs)


@mutant(
    "07.5",
    "all branches have the scope of the first",
    "A profile shows `cond/branch_1_fun`. What should that tell its reader?",
)
def one_scope(ctx, index, *args, branches):
    ordered = ordered_effects(no_effects.union(*(branch.effects for branch in branches)))
    out_avals = [abstract_token] * len(ordered) + list(ctx.avals_out)
    regions = [region_of(ctx, branch, args, "cond/branch_0_fun", ordered) for branch in branches]
    outs = ctx.emit_regions(
        f'"stablehlo.case"({index})',
        [([], region) for region in regions],
        f"({type_of(ctx.avals_in[0])}) -> ({', '.join(map(type_of, out_avals))})",
        len(out_avals),
    )
    return ctx.take_tokens(ordered, outs)


@mutant("07.5", "there are always two branches", "How many branches can a switch have?")
def two_branches(ctx, index, *args, branches):
    branches = (branches[0], branches[-1])
    ordered = ordered_effects(no_effects.union(*(branch.effects for branch in branches)))
    out_avals = [abstract_token] * len(ordered) + list(ctx.avals_out)
    regions = [region_of(ctx, branch, args, f"cond/branch_{i}_fun", ordered) for i, branch in enumerate(branches)]
    outs = ctx.emit_regions(
        f'"stablehlo.case"({index})',
        [([], region) for region in regions],
        f"({type_of(ctx.avals_in[0])}) -> ({', '.join(map(type_of, out_avals))})",
        len(out_avals),
    )
    return ctx.take_tokens(ordered, outs)


edit(
    "07.1",
    "only the first function need be callable",
    "What is the third argument of `cond(p, f, 3.0, g, x)`?",
    "if not callable(true_fun) or not callable(false_fun):",
    "if not callable(true_fun):",
)


edit(
    "07.1",
    "with jit disabled, both functions are called, to compare them",
    "With `disable_jit`, Python's `print` shows what happens. Which of the two functions should print?",
    "        return (true_fun if pred else false_fun)(*operands)",
    "        results = true_fun(*operands), false_fun(*operands)\n        return results[0] if pred else results[1]",
)


edit(
    "07.1",
    "the index is a truth value",
    "What is the dtype of the index of `cond` in the program that the docstring shows?",
    "    index = convert_element_type(pred, np.int32)\n",
    "    index = pred\n",
)


edit(
    "07.2",
    "with jit disabled, an index works as in a Python list",
    "`disable_jit` and the index -5: which branch is it?",
    "    last = np.array(len(branches) - 1, np.int32)\n",
    "    if config.local.state.options.disable_jit and core.is_concrete(index):\n"
    "        return branches[int(index)](*operands)\n    last = np.array(len(branches) - 1, np.int32)\n",
)


edit(
    "07.2",
    "an index that is known needs no clamp",
    "`switch(9, ...)` in a traced function: who takes 9 to the last branch?",
    "    index = clamp(np.array(0, np.int32), convert_element_type(index, np.int32), last)",
    "    index = convert_element_type(index, np.int32) if core.is_concrete(index) else clamp(np.array(0, "
    "np.int32), convert_element_type(index, np.int32), last)",
)


edit(
    "07.2",
    "without branches there is no result, and no error",
    "`switch(0, [])`: what should a user see?",
    '            raise ValueError("Empty branch sequence\\n`switch` calls one of its branches: pass at least one.")',
    "            return None",
)


edit(
    "07.2",
    "all branches may have the same name in messages",
    "Which branch is the error about, if the third one differs?",
    'names = {f"branch {i}": branch for',
    'names = {f"branch {i + 1}": branch for',
)


edit(
    "07.3",
    "constants are those of the first function",
    "The second function closes over another array. Where does the equation get it?",
    "for t in traced for x in t.consts}",
    "for t in traced[:1] for x in t.consts}",
)


edit(
    "07.3",
    "functions are compared in the equation's order",
    "The error says `true_fun output` and `false_fun output`: which of the two comes first?",
    "    check_branches(what, list(functions), bodies, traced)",
    "    check_branches(what, list(functions)[::-1], bodies[::-1], traced[::-1])",
)


edit(
    "07.3",
    "no operand is weakly typed",
    "An operand is a Python number. Is its type weak in the branches, too?",
    "    avals = avals_of(args)\n",
    "    avals = [a.update(weak_type=False) for a in avals_of(args)]\n",
)


edit(
    "07.4",
    "results without leaves agree",
    "One branch returns None, the other one `()`. Is that one structure?",
    "        if other.out_tree != first.out_tree:",
    "        if other.out_tree != first.out_tree and other.out_tree.num_leaves + first.out_tree.num_leaves > 0:",
)


edit(
    "07.4",
    "it is enough to compare the first leaf",
    "The branches return (f32, i32) and (f32, f32). Do they agree?",
    "if not all(same_type(one, two) for one, two in pairs):",
    "if not all(same_type(one, two) for one, two in list(pairs)[:1]):",
)


edit(
    "07.4",
    "the error is about the last branch that differs",
    "The second and the fourth differ from the first. Which one is the error about?",
    "    for i, other in enumerate(traced):",
    "    for i, other in reversed(list(enumerate(traced))):",
)


edit(
    "07.5",
    "the scopes of the branches are counted from 1",
    "What is the scope of the first branch called?",
    'f"cond/branch_{i}_fun"',
    'f"cond/branch_{i + 1}_fun"',
)


edit(
    "07.5",
    "the index has the type of the last operand",
    "Which operand of the equation is the index: the first one, or the last one?",
    "({type_of(ctx.avals_in[0])}) ->",
    "({type_of(ctx.avals_in[-1])}) ->",
)


edit(
    "07.5",
    "the number of results is that of the equation",
    "With a token for each effect: how many results does the operation have?",
    "        len(out_avals),\n",
    "        len(ctx.avals_out),\n",
)


# --- what learners write who have read the text only -------------------------------------------------------------------


@mutant(
    "07.1",
    "a cond with the same function twice is not a choice",
    "`cond(p, f, f, x)`: does the docstring make an exception for it? Which equation should the program have?",
)
def nothing_to_choose(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    from jitkit.lax.control_flow.conditionals import choose

    if not (callable(true_fun) and callable(false_fun)):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = all_operands(operands, operand)
    pred = truth_of(pred)
    if true_fun is false_fun or (config.local.state.options.disable_jit and core.is_concrete(pred)):
        return true_fun(*operands) if true_fun is false_fun or pred else false_fun(*operands)
    return choose(
        "cond", convert_element_type(pred, np.int32), {"true_fun": true_fun, "false_fun": false_fun}, operands
    )


@mutant(
    "07.1",
    "`operand=None` means that there is no operand",
    "`cond(p, f, g, operand=None)`: with how many arguments is `f` called?",
)
def none_is_no_operand(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    from jitkit.lax.control_flow.conditionals import NOT_GIVEN, choose

    if not (callable(true_fun) and callable(false_fun)):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    if operand is not None and operand is not NOT_GIVEN:
        operands = all_operands(operands, operand)
    pred = truth_of(pred)
    if config.local.state.options.disable_jit and core.is_concrete(pred):
        return true_fun(*operands) if pred else false_fun(*operands)
    return choose(
        "cond", convert_element_type(pred, np.int32), {"true_fun": true_fun, "false_fun": false_fun}, operands
    )


@mutant(
    "07.1",
    "with jit disabled, any predicate will do",
    "Which error should an array of three predicates raise, with jit disabled?",
)
def python_asks_the_predicate(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    from jitkit.lax.control_flow.conditionals import choose

    if not (callable(true_fun) and callable(false_fun)):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = all_operands(operands, operand)
    if config.local.state.options.disable_jit and core.is_concrete(pred):
        return true_fun(*operands) if pred else false_fun(*operands)
    return choose(
        "cond", convert_element_type(truth_of(pred), np.int32), {"true_fun": true_fun, "false_fun": false_fun}, operands
    )


@mutant(
    "07.3",
    "functions are compared while they are traced",
    "The second of three functions returns another type. Is the third one traced?",
)
def compares_while_tracing(what, index, functions, operands):
    from jitkit.lax.control_flow.conditionals import check_branches

    leaves, tree = tree_flatten(operands)
    bodies, traced = [], []
    for f in functions.values():
        bodies.append(Body(f, f, what))
        traced.append(trace_body(bodies[-1], tree, avals_of(leaves)))
        check_branches(what, list(functions)[: len(bodies)], bodies, traced)
    consts = list({id(c): c for t in traced for c in t.consts}.values())
    branches = [with_consts_of_all(t, k, traced, consts) for k, t in enumerate(traced)]
    if what == "cond":
        branches.reverse()
    return tree_unflatten(traced[0].out_tree, bind_branches(index, branches, [*consts, *leaves]))


@mutant(
    "07.3",
    "every function is traced anew",
    "`trace_body` finds a trace by the `user` of a Body, a function. Is yours the same object at the next call?",
)
def traces_anew(what, index, functions, operands):
    from jitkit.lax.control_flow.conditionals import check_branches

    leaves, tree = tree_flatten(operands)
    bodies = [Body(lambda *a, f=f: f(*a), lambda *a, f=f: f(*a), what) for f in functions.values()]
    traced = [trace_body(b, tree, avals_of(leaves)) for b in bodies]
    check_branches(what, list(functions), bodies, traced)
    consts = list({id(c): c for t in traced for c in t.consts}.values())
    branches = [with_consts_of_all(t, k, traced, consts) for k, t in enumerate(traced)]
    if what == "cond":
        branches.reverse()
    return tree_unflatten(traced[0].out_tree, bind_branches(index, branches, [*consts, *leaves]))


@mutant("07.4", "trees that print the same are the same", "Two classes may have one name. How do their trees print?")
def prints_the_trees(what, names, bodies, traced):
    for i in range(1, len(traced)):
        if str(traced[i].out_tree) != str(traced[0].out_tree):
            raise structure_error(what, i, names, bodies, traced)
        if not all(
            same_type(a.aval, b.aval) for a, b in zip(traced[0].jaxpr.outvars, traced[i].jaxpr.outvars, strict=False)
        ):
            raise type_error(what, i, names, bodies, traced)


@mutant(
    "07.5",
    "the operation returns the tokens of every branch",
    "Two branches print in order. How many tokens does the operation return?",
)
def adds_tokens_up(ctx, index, *args, branches):
    ordered = [e for b in branches for e in ordered_effects(b.effects)]
    outs = [abstract_token] * len(ordered) + list(ctx.avals_out)
    regions = [([], region_of(ctx, b, args, f"cond/branch_{i}_fun", ordered)) for i, b in enumerate(branches)]
    signature = f"({type_of(ctx.avals_in[0])}) -> ({', '.join(map(type_of, outs))})"
    results = ctx.emit_regions(f'"stablehlo.case"({index})', regions, signature, len(outs))
    return ctx.take_tokens(ordered, results)


@mutant(
    "07.1",
    "with jit disabled, a function gets one operand",
    "`cond(p, f, g, x, y)`: with how many operands are the functions called?",
)
def one_operand_without_jit(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    if not (callable(true_fun) and callable(false_fun)):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = all_operands(operands, operand)
    pred = truth_of(pred)
    if config.local.state.options.disable_jit and core.is_concrete(pred):
        return true_fun(*operands[:1]) if pred else false_fun(*operands[:1])
    index = convert_element_type(pred, np.int32)
    return choose("cond", index, {"true_fun": true_fun, "false_fun": false_fun}, operands)


@mutant(
    "07.4",
    "the same types in another order agree",
    "One branch returns (f32, i32), the other one (i32, f32). Do their first leaves have one type?",
)
def compares_sorted_types(what, names, bodies, traced):
    first = traced[0]
    for i, other in enumerate(traced[1:], 1):
        if other.out_tree != first.out_tree:
            raise structure_error(what, i, names, bodies, traced)
        pairs = zip(sorted(first.jaxpr.out_avals, key=str), sorted(other.jaxpr.out_avals, key=str), strict=False)
        if not all(same_type(a, b) for a, b in pairs):
            raise type_error(what, i, names, bodies, traced)


@also_right("07.3", "with a list of constants, and the branches turned round at the end")
def constants_in_a_list(what, index, functions, operands):
    leaves, in_tree = tree_flatten(operands)
    avals = avals_of(leaves)
    bodies = [Body(f, f, what) for f in functions.values()]
    traced = [trace_body(b, in_tree, avals) for b in bodies]
    check_branches(what, list(functions), bodies, traced)
    constants = []
    for t in traced:
        for c in t.consts:
            if not any(c is d for d in constants):
                constants.append(c)
    branches = []
    for k, t in enumerate(traced):
        one = with_consts_of_all(t, k, traced, constants)
        branches = [one, *branches] if what == "cond" else [*branches, one]
    return tree_unflatten(traced[0].out_tree, bind_branches(index, branches, constants + leaves))


edit(
    "07.3", "the result has the tree of the operands", "Both functions take one array and return one. What does `cond` return?",
    "traced[0].out_tree", "(in_tree if len(outs) == in_tree.num_leaves else traced[0].out_tree)",
)  # fmt: skip
