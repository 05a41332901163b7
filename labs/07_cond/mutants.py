"""Wrong answers to the exercises of lab 07, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant
from jitkit.lax.control_flow.conditionals import NOT_GIVEN

# --- 07.1 cond ----------------------------------------------------------------------------------------------------

edit(
    "07.1",
    "only the taken branch is traced",
    "You look at the predicate because you happen to know it. When may you, and when is a program to be written?",
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
    "both always run",
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
    "there is one way to call it",
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
    "index = convert_element_type(index, np.int32)\n    index = clamp(np.array(0, np.int32), index + (index < 0) * (last + 1), last)",
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
    "one branch is a choice, too",
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
    "a branch keeps what it closes over",
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
    "the functions are turned round before they are traced",
    "Something happens while a function is traced, a print for instance. In which order would the user expect it?",
    "traced = [trace_body(body, in_tree, avals) for body in bodies]",
    "traced = [trace_body(body, in_tree, avals) for body in bodies[::-1]][::-1]",
)

# --- 07.4 Branches agree ------------------------------------------------------------------------------------------

edit(
    "07.4",
    "the same leaves are the same result",
    "What does the caller of cond do with a list, where the other branch gives a tuple?",
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
    "a type is a dtype",
    "Two float32 arrays of different lengths: can they stand in one place?",
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
    "comparing two is enough",
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


@mutant("07.5", "the index is known", "When is this function called: when the program runs, or when it is written?")
def lowers_the_first(ctx, index, *args, branches):
    return ctx.lower_region(branches[0], args, "cond/branch_0_fun")


@mutant("07.5", "both always run", "Your regions only return names. Where in the text are they computed, and when?")
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
    "How many results has the equation, and how many names do you return?",
    "        len(out_avals),\n",
    "        1,\n",
)
edit(
    "07.5",
    "a branch without prints needs no token",
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
