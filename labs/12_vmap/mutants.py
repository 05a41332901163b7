"""Wrong answers to the exercises of lab 12, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant

# --- 12.1 One operation for all elements --------------------------------------------------------------------------


@mutant(
    "12.1", "a batch is a loop over its elements", "How many equations does your program have for a thousand elements?"
)
def loops(self, primitive, args, params):
    pairs = [self.unwrap(x) for x in args]
    with core.set_current_trace(self.parent):
        if primitive in higher_order or primitive.multiple_results or primitive not in primitive_batchers:
            out, dim = primitive_batchers[primitive](self.axis, [v for v, _ in pairs], [d for _, d in pairs], **params)
            if primitive.multiple_results:
                return [self.wrap(x, d) for x, d in zip(out, dim, strict=True)]
            return self.wrap(out, dim)
        if all(dim is None for _, dim in pairs):
            return primitive.bind(*args, **params)
        for i in range(self.axis.size):
            elements = [v if d is None else v[(slice(None),) * d + (i,)] for v, d in pairs]
            made = primitive.bind(*elements, **params)
            out = broadcast(made, self.axis.size, 0) if i == 0 else out.at[i].set(made)
    return self.wrap(out, 0)


edit(
    "12.1",
    "the batch axis is the first one",
    "`vmap(f, in_axes=1)`: where is the axis in the operand, and where in the result?",
    "return self.wrap(out, out_dim)",
    "return self.wrap(out, 0)",
)


@mutant(
    "12.1",
    "an operation on a batch is the operation on a long element",
    "The operation was meant for one element. What does `sum` do to the batch?",
)
def binds_it(self, primitive, args, params):
    pairs = [self.unwrap(x) for x in args]
    dim = next((d for _, d in pairs if d is not None), None)
    with core.set_current_trace(self.parent):
        out = primitive.bind(*[v for v, _ in pairs], **params)
    if primitive.multiple_results:
        return [self.wrap(x, dim) for x in out]
    return self.wrap(out, dim)


edit(
    "12.1",
    "everything is a batch",
    "None of the operands has a batch axis. Which rule should be asked, and what would it do?",
    "if primitive not in higher_order and dims.count(None) == len(dims):",
    "if False:",
)


@mutant(
    "12.1",
    "unmapped arguments are batched",
    "An argument is the same for all elements. How often is it stored, in your version?",
)
def repeats(self, primitive, args, params):
    pairs = [self.unwrap(x) for x in args]
    with core.set_current_trace(self.parent):
        pairs = [(broadcast(v, self.axis.size, 0), 0) if d is None else (v, d) for v, d in pairs]
        if primitive not in primitive_batchers:
            raise NotImplementedError(f"Batching rule for '{primitive}' not implemented")
        out, dim = primitive_batchers[primitive](self.axis, [v for v, _ in pairs], [d for _, d in pairs], **params)
    if primitive.multiple_results:
        return [self.wrap(x, d) for x, d in zip(out, dim, strict=True)]
    return self.wrap(out, dim)


edit(
    "12.1",
    "an operation has one result",
    "`sort` of two arrays gives two. Which of them did you wrap?",
    "if primitive.multiple_results:",
    "if False:",
)


@mutant("12.1", "every batch belongs to this trace", "A vmap in a vmap: whose axis is `batch_dim` of this tracer?")
def takes_all_batches(self, primitive, args, params):
    vals = [x.val if hasattr(x, "batch_dim") else x for x in args]
    dims = [x.batch_dim if hasattr(x, "batch_dim") else None for x in args]
    with core.set_current_trace(self.parent):
        if primitive not in higher_order and dims.count(None) == len(dims):
            return primitive.bind(*vals, **params)
        rule = primitive_batchers.get(primitive)
        if rule is None:
            raise NotImplementedError(f"Batching rule for '{primitive}' not implemented")
        out, out_dim = rule(self.axis, vals, dims, **params)
    if primitive.multiple_results:
        return [self.wrap(x, dim) for x, dim in zip(out, out_dim, strict=True)]
    return self.wrap(out, out_dim)


edit(
    "12.1",
    "rules run in their own trace",
    "The rule's operations are on batches. Which trace should see them?",
    "with core.set_current_trace(self.parent):",
    "with core.set_current_trace(self):",
)
edit(
    "12.1",
    "without a rule, the operation can be applied to the batch as it is",
    "There is no rule. How do you know that the operation does to each row what it does to one?",
    "if rule is None:",
    "if rule is None:\n            return self.wrap(primitive.bind(*vals, **params), dims[0])\n        if False:",
)
edit(
    "12.1",
    "an operation without batches does not need the axis",
    "A nested jit has no batches among its operands, and calls `axis_index` inside. Which rule must be "
    "called so that it finds the axis?",
    "if primitive not in higher_order and dims.count(None) == len(dims):",
    "if dims.count(None) == len(dims):",
)

# --- 12.2 Elementwise ---------------------------------------------------------------------------------------------

edit(
    "12.2",
    "axes are always moved",
    "Both batches have their axis at the end. What is there to move?",
    "    for x, d in zip(vals, dims, strict=True):\n        if (",
    "    for x, d in zip(vals, dims, strict=True):\n        if True or (",
    target="broadcast_batcher",
)
edit(
    "12.2",
    "the numbers of axes stay the same in a batch",
    "One batch axis is the first, the other the last. Which elements meet?",
    "(d != dim or x.shape != shape) and np.ndim(x)",
    "d is None and np.ndim(x)",
    target="broadcast_batcher",
)
edit(
    "12.2",
    "unmapped arguments are batched",
    "An argument is the same for all elements, and size 1 stretches. How much did you write to memory?",
    "bdim_at_front(x, d, 1)",
    "bdim_at_front(x, d, axis.size)",
    target="broadcast_batcher",
)
edit(
    "12.2",
    "every operand needs a batch axis",
    "2.0 times a batch: which axes does the 2.0 need?",
    "(d != dim or x.shape != shape) and np.ndim(x)",
    "d != dim or np.shape(x) != shape",
    target="broadcast_batcher",
)
edit(
    "12.2",
    "broadcasting lines up the right axes",
    "A batch of three scalars, beside rows of three numbers. With which axis of the rows did you line up the batch axis of the scalars?",
    "    vals = [x if d is None else with_axes_behind(x, rank) for x, d in zip(vals, dims, strict=True)]\n",
    "",
    target="broadcast_batcher",
)
edit(
    "12.2",
    "an operation has one result",
    "A primitive has two results. What does the trace expect from its rule?",
    "    out = primitive.bind(*vals, **params)\n    return (out, [0] * len(out)) if primitive.multiple_results else (out, 0)",
    "    return primitive.bind(*vals, **params), 0",
    target="broadcast_batcher",
)
edit(
    "12.2",
    "moving an axis swaps two axes",
    "Axis 0 of (2, 3, 4) goes to the end. What is the shape then?",
    "axes = [axis for axis in range(np.ndim(x)) if axis != source]\n    axes.insert(destination, source)",
    "axes = list(range(np.ndim(x)))\n    axes[source], axes[destination] = axes[destination], axes[source]",
    target="moveaxis",
)
edit(
    "12.2",
    "`transpose(axes)` says where each axis goes",
    "`transpose(axes)`: does `axes[0]` say where axis 0 goes, or which axis comes first?",
    "axes.insert(destination, source)",
    "axes.insert(destination, source)\n    axes = [axes.index(i) for i in range(len(axes))]",
    target="moveaxis",
)

# --- 12.3 Reductions ----------------------------------------------------------------------------------------------

edit(
    "12.3",
    "the numbers of axes stay the same in a batch",
    "The element's axis 0: what is it called in a batch whose first axis is the batch's?",
    "axes=shifted_by_numpy(axes, dim)",
    "axes=tuple(axes)",
    target="reduction_batcher",
)
edit(
    "12.3",
    "all axes are shifted",
    "The batch axis is the last one. What is the element's axis 0 called in the batch?",
    "axes=shifted_by_numpy(axes, dim)",
    "axes=tuple(a + 1 for a in axes)",
    target="reduction_batcher",
)
edit(
    "12.3",
    "the batch axis stays where it was",
    "Two axes stood before the batch axis, and one of them is gone. Where is the batch axis now?",
    "kept = dim - sum(reduced < dim for reduced in axes)",
    "kept = dim",
    target="reduction_batcher",
)
edit(
    "12.3",
    "the batch axis is the first one",
    "Only axes after the batch axis, or only some before it, are reduced. Where is the batch axis now?",
    "kept = dim - sum(reduced < dim for reduced in axes)",
    "kept = 0",
    target="reduction_batcher",
)


@mutant(
    "12.3",
    "the batch axis has to be in front",
    "What does a transpose cost, and what is it good for here?",
    target="reduction_batcher",
)
def moves_first(primitive, axis, vals, dims, *, axes, **params):
    x = moveaxis(vals[0], dims[0], 0)
    return primitive.bind(x, axes=tuple(a + 1 for a in axes), **params), 0


@mutant(
    "12.3",
    "a batch is a loop over its elements",
    "How many reductions does your program for a thousand elements have?",
    target="reduction_batcher",
)
def loops_over_elements(primitive, axis, vals, dims, *, axes, **params):
    x = moveaxis(vals[0], dims[0], 0)
    made = [primitive.bind(x[i], axes=axes, **params) for i in range(axis.size)]
    out = broadcast(made[0], axis.size, 0)
    for i, element in enumerate(made[1:], 1):
        out = out.at[i].set(element)
    return out, 0


edit(
    "12.3",
    "only the axes after the batch axis are shifted",
    "The batch axis is at 1. What is the element's axis 1 called?",
    "axis + (axis >= dim)",
    "axis + (axis > dim)",
    target="shifted",
)


@mutant(
    "12.3",
    "the primitive itself refuses wrong axes",
    "An element has two axes. Which error does a user get for axis 4, and which one does the docstring promise?",
    target="reduction_batcher",
)
def leaves_it_to_the_primitive(primitive, axis, vals, dims, *, axes, **params):
    [x], [dim] = vals, dims
    kept = dim - sum(reduced < dim for reduced in axes)
    return primitive.bind(x, axes=tuple(shifted(axes, dim)), **params), kept


# --- 12.4 dot_general ---------------------------------------------------------------------------------------------


@mutant(
    "12.4",
    "the numbers of axes stay the same in a batch",
    "The dimension numbers name axes of an element. Which axes of the batch are these?",
)
def does_not_shift(lhs_ndim, rhs_ndim, lhs_dim, rhs_dim, dimension_numbers):
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    if lhs_dim is not None and rhs_dim is not None:
        return ((lhs_contract, rhs_contract), ((lhs_dim, *lhs_batch), (rhs_dim, *rhs_batch))), 0
    if lhs_dim is not None:
        kept = [a for a in range(lhs_ndim) if a not in (*lhs_contract, *lhs_batch)]
        place = len(lhs_batch) + (kept.index(lhs_dim) if lhs_dim in kept else 0)
    else:
        kept = [a for a in range(rhs_ndim) if a not in (*rhs_contract, *rhs_batch)]
        place = lhs_ndim - len(lhs_contract) + (kept.index(rhs_dim) if rhs_dim in kept else 0)
    return ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)), place


edit(
    "12.4",
    "only contracting axes are shifted",
    "The product has batch dimensions already. Which numbers do they get in an operand whose batch axis stands before them?",
    "tuple(shifted(lhs_contract, lhs_dim)), tuple(shifted(lhs_batch, lhs_dim))",
    "tuple(shifted(lhs_contract, lhs_dim)), lhs_batch",
)


@mutant(
    "12.4",
    "the two batch axes of a product are kept apart",
    "Two batches of three: is the product to have three results, or nine?",
)
def all_pairs(lhs_ndim, rhs_ndim, lhs_dim, rhs_dim, dimension_numbers):
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    if lhs_dim is not None:
        lhs_contract, lhs_batch = tuple(shifted(lhs_contract, lhs_dim)), tuple(shifted(lhs_batch, lhs_dim))
    if rhs_dim is not None:
        rhs_contract, rhs_batch = tuple(shifted(rhs_contract, rhs_dim)), tuple(shifted(rhs_batch, rhs_dim))
    if lhs_dim is not None:
        kept = [a for a in range(lhs_ndim) if a not in (*lhs_contract, *lhs_batch)]
        place = len(lhs_batch) + kept.index(lhs_dim)
    else:
        kept = [a for a in range(rhs_ndim) if a not in (*rhs_contract, *rhs_batch)]
        place = lhs_ndim - len(lhs_contract) + kept.index(rhs_dim)
    return ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)), place


edit(
    "12.4",
    "batch axes come last",
    "Of a product's axes, which ones come first?",
    "        return (contract, batch), 0\n",
    "        return (contract, batch), lhs_ndim + rhs_ndim - 2 * len((*batch[0], *contract[0])) + len(batch[0]) - 1\n",
)
edit(
    "12.4",
    "the batch axis comes first",
    "One operand is a batch. Among which axes of the product is its axis?",
    "(lhs_batch, rhs_batch)), place",
    "(lhs_batch, rhs_batch)), 0",
)
edit(
    "12.4",
    "the kept axes of the right operand come first",
    "Whose kept axes come first in the product?",
    "place = lhs_ndim - len(lhs_contract) + kept.index(rhs_dim)",
    "place = len(rhs_batch) + kept.index(rhs_dim)",
)


@mutant(
    "12.4",
    "unmapped arguments are batched",
    "The weights are the same for all elements. Is there a product that reads them only once?",
)
def refuses_one(lhs_ndim, rhs_ndim, lhs_dim, rhs_dim, dimension_numbers):
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_contract, lhs_batch = (tuple(shifted(lhs_contract, lhs_dim or 0)), tuple(shifted(lhs_batch, lhs_dim or 0)))
    rhs_contract, rhs_batch = (tuple(shifted(rhs_contract, rhs_dim or 0)), tuple(shifted(rhs_batch, rhs_dim or 0)))
    batch = (lhs_dim or 0, *lhs_batch), (rhs_dim or 0, *rhs_batch)
    return ((lhs_contract, rhs_contract), batch), 0


# --- 12.5 vmap ----------------------------------------------------------------------------------------------------


@mutant(
    "12.5",
    "a batch is a loop over its elements",
    "How often is your function called, for a thousand elements?",
    target="call_on_batches",
)
def calls_for_each(fun, args, kwargs, in_axes, out_axes, axis_name=None, axis_size=None):
    leaves, in_tree = tree_flatten((args, kwargs))
    dims = axis_of_each_argument(in_tree, in_axes)
    size = mapped_size(fun, in_tree, leaves, dims, axis_size)
    results = []
    for i in range(size):
        element = [
            x if d is None else x[(slice(None),) * (d % np.ndim(x)) + (i,)] for x, d in zip(leaves, dims, strict=True)
        ]
        own_args, own_kwargs = tree_unflatten(in_tree, element)
        results.append(tree_flatten(fun(*own_args, **own_kwargs)))
    outs = [move_to(x, None, 0, size) for x in results[0][0]]
    for i, (leaves, _) in enumerate(results):
        outs = [out.at[i].set(x) for out, x in zip(outs, leaves, strict=True)]
    tree = results[0][1]
    return tree_unflatten(tree, moved(AxisData(axis_name, size), outs, [0] * len(outs), tree, out_axes))


edit(
    "12.5",
    "in_axes is one number",
    "`in_axes=(0, None)`: which argument is mapped?",
    "dims = axis_of_each_argument(in_tree, in_axes)",
    "dims = [in_axes if isinstance(in_axes, int) else 0] * len(leaves)",
    target="call_on_batches",
)
edit(
    "12.5",
    "None means 0",
    "`None` in `in_axes`: is this argument cut into elements?",
    "dims = axis_of_each_argument(in_tree, in_axes)",
    "dims = [d or 0 for d in axis_of_each_argument(in_tree, in_axes)]",
    target="call_on_batches",
)
edit(
    "12.5",
    "-1 is the same axis for all leaves",
    "-1 of a matrix, -1 of a vector: which axes are these?",
    "dim % np.ndim(x)",
    "dim % max(map(np.ndim, leaves))",
    target="call_on_batches",
)
edit(
    "12.5",
    "only positional arguments are mapped",
    "`vmap(f)(x, scale=s)`: what is `s` in `f`?",
    "dims = axis_of_each_argument(in_tree, in_axes)",
    "dims = axis_of_each_argument(in_tree, in_axes)\n    count = in_tree.children()[1].num_leaves\n"
    "    dims = dims[: len(dims) - count] + [None] * count",
    target="call_on_batches",
)
edit(
    "12.5",
    "the axis has no name",
    "`psum(x, 'i')` in the function: how would it know your axis?",
    "AxisData(axis_name, ",
    "AxisData(None, ",
    target="call_on_batches",
)
edit(
    "12.5",
    "the axis of a result is always the first one",
    "`out_axes=1`: where does the axis go?",
    "x = move_to(x, dim, to % rank, axis.size)",
    "x = move_to(x, dim, 0, axis.size)",
    target="moved",
)
edit(
    "12.5",
    "out_axes is one number",
    "Two results, and `out_axes` is a tuple of two: which axis belongs to which result?",
    'wanted = axis_of_each_leaf("vmap out_axes", out_axes, tree)',
    "wanted = [out_axes if isinstance(out_axes, int) else 0] * len(outs)",
    target="moved",
)
edit(
    "12.5",
    "a result that is the same for all elements needs no axis",
    "One result is the same for all elements, and its `out_axes` is 0. Which shape does the caller expect?",
    "        if to is not None:\n",
    "        if to is not None and dim is not None:\n",
    target="moved",
)
edit(
    "12.5",
    "None drops the batch",
    "The elements differ in this result. Which of them did the caller get?",
    "            raise not_the_same_for_all(axis, tree, i, dim)\n",
    "            x = x[(slice(None),) * dim + (0,)]\n",
    target="moved",
)
edit(
    "12.5",
    "numpy complains if a result is not an array",
    "A result is a string. Is it an array?",
    "if not core.is_array_value(x):",
    "if False:",
    target="moved",
)
edit(
    "12.5",
    "an axis out of range means the last axis",
    "The result has one axis, that of the batch. Which axis is `out_axes=1`, or -2?",
    "if not -rank <= to < rank:",
    "if False:",
    target="moved",
)

# --- 12.6 cond becomes select -------------------------------------------------------------------------------------

edit(
    "12.6",
    "vmap of cond is select",
    "The predicate is the same for all elements. Must the other branch run?",
    "if index_dim is None:",
    "if False:",
)
edit(
    "12.6",
    "each branch decides by itself which of its results are batches",
    "From one branch a result is a batch, from the other it is not. What is the type of the result of the `cond`?",
    "batch_jaxpr_if(branch, axis, is_batch, outs_are)[0] for branch in branches",
    "batch_jaxpr_if(branch, axis, is_batch)[0] for branch in branches",
)
edit(
    "12.6",
    "unmapped arguments are batched",
    "An operand, or a result, is the same for all elements. Does it need an axis?",
    "outs_are = [any(flags) for flags in zip(*each, strict=True)]",
    "outs_are = [True for flags in zip(*each, strict=True)]",
)


@mutant("12.6", "the first element decides", "Each element has its own predicate. Whose predicate did you use?")
def asks_the_first(axis, vals, dims, *, branches):
    (index, *operands), (index_dim, *operand_dims) = vals, dims
    if index_dim is not None:
        index = index[0]
    is_batch = [dim is not None for dim in operand_dims]
    operands = [x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(operands, operand_dims, strict=True)]
    batched = tuple(batch_jaxpr_if(branch, axis, is_batch, True)[0] for branch in branches)
    return cond_p.bind(index, *operands, branches=batched), [0] * len(branches[0].outvars)


edit(
    "12.6",
    "the branches are in reverse order",
    "Which branch does the index 0 choose?",
    "outs = [select_case(index, *cases) for cases in zip(*results, strict=True)]",
    "outs = [select_case(index, *cases) for cases in zip(*reversed(results), strict=True)]",
)
edit(
    "12.6",
    "there are always two branches",
    "`switch` has three branches. What happens to the third?",
    "outs = [select_case(index, *cases) for cases in zip(*results, strict=True)]",
    "outs = [select_case(eq(index, np.int32(1)), *cases) for cases in zip(*results[:2], strict=True)]",
)
edit(
    "12.6",
    "a masked nan is harmless",
    "`select` throws the nan away. What does its gradient do with the branch that was not taken: 0 times what?",
    "safe = [select_case(is_taken, stop_gradient(x), x) for x in operands]",
    "safe = operands",
)

# --- 12.7 scan over a batch ---------------------------------------------------------------------------------------


@mutant(
    "12.7",
    "a batch is a loop over its elements",
    "How many scans does your program have, for a thousand elements?",
    target="batch_scan",
)
def scans_for_each(axis, vals, dims, *, jaxpr, num_consts, num_carry, **params):
    results = []
    for i in range(axis.size):
        element = [x if d is None else x[(slice(None),) * d + (i,)] for x, d in zip(vals, dims, strict=True)]
        sizes = {"num_consts": num_consts, "num_carry": num_carry}
        results.append(scan_p.bind(*element, jaxpr=jaxpr, **sizes, **params))
    outs = [move_to(x, None, 0, axis.size) for x in results[0]]
    for i, made in enumerate(results):
        outs = [out.at[i].set(x) for out, x in zip(outs, made, strict=True)]
    return outs, [0] * len(outs)


edit(
    "12.7",
    "the batch axis is scanned over",
    "A scan goes over the leading axis. Which axis of these arrays is that, after your move?",
    "places = [0] * (num_consts + num_carry) + [1] * len(xs)",
    "places = [0] * (num_consts + num_carry) + [0] * len(xs)",
    target="batch_scan",
)
edit(
    "12.7",
    "the stacked outputs have their batch axis in front",
    "An output of a step has the batch axis in front. Where is it after the outputs of all steps were stacked?",
    "places = [0] * num_carry + [1] * num_ys",
    "places = [0] * num_carry + [0] * num_ys",
    target="batch_scan",
)
edit(
    "12.7",
    "a part of the carry is a batch only if it begins as one",
    "The carry begins as 0.0, and a step adds something that is a batch. What comes out of that step?",
    "    carry = batched_carry(jaxpr, axis, consts, carry, xs)\n",
    "",
    target="batch_scan",
)
edit(
    "12.7",
    "unmapped arguments are batched",
    "A constant is the same for all elements. Who needs it to be repeated?",
    "    consts, carry, xs = split_list([dim is not None for dim in dims], [num_consts, num_carry])\n",
    "    consts, carry, xs = split_list([True for dim in dims], [num_consts, num_carry])\n",
    target="batch_scan",
)
edit(
    "12.7",
    "going over the parts once is enough",
    "You found a part that becomes a batch. Which parts does *it* go into, in the next step?",
    "        if after == now:\n            return now\n        now = after",
    "        return after",
    target="batched_carry",
)


@mutant(
    "12.7",
    "one batch makes all of them batches",
    "One part of the carry is a batch. Does a counter beside it have to be one?",
    target="batched_carry",
)
def all_or_none(jaxpr, axis, consts, carry, xs=()):
    return [any((*consts, *carry, *xs))] * len(carry)


# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("12.1", "two lists, and the rule first")
def two_lists(self, primitive, args, params):
    vals, dims = [], []
    for x in args:
        val, dim = self.unwrap(x)
        vals.append(val)
        dims.append(dim)
    is_needed = primitive in higher_order or any(dim is not None for dim in dims)
    with core.set_current_trace(self.parent):
        if not is_needed:
            return primitive.bind(*vals, **params)
        if primitive not in primitive_batchers:
            raise NotImplementedError(f"vmap does not know what to do with {primitive.name}")
        result = primitive_batchers[primitive](self.axis, vals, dims, **params)
    if not primitive.multiple_results:
        return self.wrap(*result)
    return list(map(self.wrap, *result))


@also_right("12.1", "looking at what is a batch")
def looks_at_tracers(self, primitive, args, params):
    mine = [self.unwrap(x)[1] is not None for x in args]
    vals = [x.val if is_batch else x for x, is_batch in zip(args, mine, strict=True)]
    dims = [x.batch_dim if is_batch else None for x, is_batch in zip(args, mine, strict=True)]
    with core.set_current_trace(self.parent):
        if not any(mine) and primitive not in higher_order:
            return primitive.bind(*args, **params)
        try:
            rule = primitive_batchers[primitive]
        except KeyError:
            raise NotImplementedError(f"no batching rule: {primitive}") from None
        out, places = rule(self.axis, vals, dims, **params)
    if primitive.multiple_results:
        return [self.wrap(x, place) for x, place in zip(out, places, strict=True)]
    return self.wrap(out, places)


@also_right("12.2", "by reshape, and in two functions", target="broadcast_batcher")
def by_shapes(primitive, axis, vals, dims, **params):
    batches = [(x, d) for x, d in zip(vals, dims, strict=True) if d is not None]
    others = [x for x, d in zip(vals, dims, strict=True) if d is None]
    place = batches[0][1]
    alike = {(x.shape, d) for x, d in batches}
    if len(alike) > 1 or any(np.ndim(x) for x in others):
        place = 0
        rank = max([np.ndim(x) for x, _ in batches] + [np.ndim(x) + 1 for x in others if np.ndim(x)])
        made = []
        for x, d in zip(vals, dims, strict=True):
            if d is not None:
                x = moveaxis(x, d, 0)
                x = x.reshape(x.shape + (1,) * (rank - x.ndim))
            elif np.ndim(x):
                x = x.reshape((1, *x.shape))
            made.append(x)
        vals = made
    out = primitive.bind(*vals, **params)
    return (out, [place for _ in out]) if primitive.multiple_results else (out, place)


@also_right("12.2", "by reshape, and in two functions", target="moveaxis")
def by_pop(x, source, destination):
    axes = list(range(np.ndim(x)))
    axes.insert(destination, axes.pop(source))
    return x if source == destination else x.transpose(axes)


@also_right("12.2", "by reshape, and in two functions", target="move_to")
def by_cases(x, dim, destination, size):
    if dim is None:
        return broadcast(x, size, destination)
    if dim == destination:
        return x
    return moveaxis(x, dim, destination)


@also_right("12.2", "axes told one by one", target="moveaxis")
def told_one_by_one(x, source, destination):
    if source == destination:
        return x
    rest = iter([i for i in range(x.ndim) if i != source])
    return x.transpose([source if i == destination else next(rest) for i in range(x.ndim)])


@also_right("12.3", "from all axes", target="reduction_batcher")
def from_all_axes(primitive, axis, vals, dims, *, axes, **params):
    x, dim = vals[0], dims[0]
    of_element = [i for i in range(x.ndim) if i != dim]
    reduced = tuple(of_element[i] for i in axes)
    left = [i for i in range(x.ndim) if i not in reduced]
    return primitive.bind(x, axes=reduced, **params), left.index(dim)


@also_right("12.3", "from all axes", target="shifted")
def by_condition(axes, dim):
    return [axis if axis < dim else axis + 1 for axis in axes]


@also_right("12.3", "counting", target="reduction_batcher")
def counts(primitive, axis, vals, dims, *, axes, **params):
    (x,), (dim,) = vals, dims
    if max(axes, default=0) > x.ndim - 2:
        raise IndexError(f"an element has {x.ndim - 1} axes")
    place = dim
    for a in axes:
        if a < dim:
            place -= 1
    return primitive.bind(x, axes=tuple(shifted(axes, dim)), **params), place


@also_right("12.4", "with lists of all kept axes")
def lists_of_axes(lhs_ndim, rhs_ndim, lhs_dim, rhs_dim, dimension_numbers):
    (lc, rc), (lb, rb) = dimension_numbers

    def later(axes, dim):
        return tuple(axes) if dim is None else tuple(a + 1 if a >= dim else a for a in axes)

    lc, lb, rc, rb = later(lc, lhs_dim), later(lb, lhs_dim), later(rc, rhs_dim), later(rb, rhs_dim)
    if lhs_dim is not None and rhs_dim is not None:
        return ((lc, rc), ((lhs_dim, *lb), (rhs_dim, *rb))), 0
    left = [("l", a) for a in range(lhs_ndim) if a not in lc + lb]
    right = [("r", a) for a in range(rhs_ndim) if a not in rc + rb]
    axes = [("b", i) for i in range(len(lb))] + left + right
    return ((lc, rc), (lb, rb)), axes.index(("l", lhs_dim) if rhs_dim is None else ("r", rhs_dim))


@also_right("12.4", "counting kept axes")
def counts_kept(lhs_ndim, rhs_ndim, lhs_dim, rhs_dim, dimension_numbers):
    contract, batch = map(list, dimension_numbers)
    for side, dim in enumerate((lhs_dim, rhs_dim)):
        if dim is not None:
            contract[side] = tuple(shifted(contract[side], dim))
            batch[side] = tuple(shifted(batch[side], dim))
    if None not in (lhs_dim, rhs_dim):
        batch = [(dim, *axes) for dim, axes in zip((lhs_dim, rhs_dim), batch, strict=True)]
        return (tuple(contract), tuple(batch)), 0
    side, dim = (0, lhs_dim) if rhs_dim is None else (1, rhs_dim)
    before = dim - sum(a < dim for a in (*contract[side], *batch[side]))
    if side == 1:
        before += lhs_ndim - len(contract[0]) - len(batch[0])
    return (tuple(contract), tuple(batch)), len(batch[0]) + before


@also_right("12.5", "with a dict of what is found", target="call_on_batches")
def with_a_list(fun, args, kwargs, in_axes, out_axes, axis_name=None, axis_size=None):
    leaves, in_tree = tree_flatten((args, kwargs))
    dims = axis_of_each_argument(in_tree, in_axes)
    size = mapped_size(fun, in_tree, leaves, dims, axis_size)
    positive = []
    for x, dim in zip(leaves, dims, strict=True):
        positive.append(dim + len(np.shape(x)) if dim is not None and dim < 0 else dim)
    found = {}

    def flat(*values):
        own_args, own_kwargs = tree_unflatten(in_tree, values)
        result = fun(*own_args, **own_kwargs)
        outs, found["tree"] = tree_flatten(result)
        return outs

    data = AxisData(axis_name, size)
    outs, places = batch(flat, data, leaves, positive)
    tree = found["tree"]
    return tree_unflatten(tree, moved(data, outs, places, tree, out_axes))


@also_right("12.5", "with a dict of what is found", target="moved")
def by_ranks(axis, outs, dims, tree, out_axes):
    results = []
    places = axis_of_each_leaf("vmap out_axes", out_axes, tree)
    for i in range(len(outs)):
        x, dim, to = outs[i], dims[i], places[i]
        if not core.is_array_value(x):
            raise TypeError(f"{x!r} is no array")
        if to is None:
            if dim is not None:
                raise not_the_same_for_all(axis, tree, i, dim)
            results.append(x)
            continue
        rank = len(np.shape(x)) + (1 if dim is None else 0)
        if to < 0:
            to += rank
        if to not in range(rank):
            raise ValueError(f"no axis {places[i]} in a result of {rank} axes")
        results.append(move_to(x, dim, to, axis.size))
    return results


@also_right("12.5", "the results one by one", target="moved")
def one_by_one(axis, outs, dims, tree, out_axes):
    def place(i, x, dim, to):
        if not core.is_array_value(x):
            raise TypeError(f"Output {x!r} is not a valid JAX type")
        if to is None and dim is not None:
            raise not_the_same_for_all(axis, tree, i, dim)
        if to is None:
            return x
        rank = np.ndim(x) if dim is not None else np.ndim(x) + 1
        if to >= rank or to < -rank:
            raise ValueError(f"axis {to} is out of bounds for array of dimension {rank}")
        return move_to(x, dim, range(rank)[to], axis.size)

    wanted = axis_of_each_leaf("vmap out_axes", out_axes, tree)
    return [place(*each) for each in zip(range(len(outs)), outs, dims, wanted, strict=True)]


@also_right("12.6", "the two cases apart")
def cases_apart(axis, vals, dims, *, branches):
    refuse_effects(branches)

    def one_for_all():
        flags = [dim is not None for dim in dims[1:]]
        operands = [moveaxis(x, d, 0) if d is not None else x for x, d in zip(vals[1:], dims[1:], strict=True)]
        found = [batch_jaxpr_if(branch, axis, flags)[1] for branch in branches]
        musts = [any(of_branch[i] for of_branch in found) for i in range(len(found[0]))]
        made = [batch_jaxpr_if(branch, axis, flags, musts)[0] for branch in branches]
        outs = cond_p.bind(vals[0], *operands, branches=tuple(made))
        return outs, [0 if must else None for must in musts]

    def one_for_each():
        front = [bdim_at_front(x, d, axis.size) for x, d in zip(vals, dims, strict=True)]
        which, operands, outs = front[0], front[1:], None
        for i in range(len(branches)):
            program, _ = batch_jaxpr_if(branches[i], axis, [True] * len(operands), True)
            mine = eq(which, np.int32(i))
            mine_only = [select_case(mine, stop_gradient(x), x) for x in operands]
            made = eval_jaxpr(program, program.consts, *mine_only)
            outs = made if outs is None else [select_case(mine, a, b) for a, b in zip(outs, made, strict=True)]
        return outs, [0] * len(outs)

    return one_for_all() if dims[0] is None else one_for_each()


@also_right("12.7", "asking for all in one list", target="batch_scan")
def one_list(axis, vals, dims, *, jaxpr, num_consts, num_carry, **params):
    flags = [dim is not None for dim in dims]
    first_x = num_consts + num_carry
    flags[num_consts:first_x] = batched_carry(
        jaxpr, axis, flags[:num_consts], flags[num_consts:first_x], flags[first_x:]
    )
    musts = flags[num_consts:first_x] + [False] * (len(jaxpr.outvars) - num_carry)
    step, made = batched_step(jaxpr, axis, flags, musts)
    operands = []
    for i, (x, dim) in enumerate(zip(vals, dims, strict=True)):
        operands.append(move_to(x, dim, int(i >= first_x), axis.size) if flags[i] else x)
    sizes = {"num_consts": num_consts, "num_carry": num_carry}
    outs = scan_p.bind(*operands, jaxpr=step, **sizes, **params)
    return outs, [int(i >= num_carry) if is_batch else None for i, is_batch in enumerate(made)]


@also_right("12.7", "asking for all in one list", target="batched_carry")
def as_often_as_there_are_parts(jaxpr, axis, consts, carry, xs=()):
    flags = list(carry)
    rest = [False] * (len(jaxpr.outvars) - len(flags))
    for _ in range(len(flags)):
        found = batch_jaxpr_if(jaxpr, axis, [*consts, *flags, *xs], flags + rest)[1]
        flags = [a or b for a, b in zip(flags, found[: len(flags)], strict=True)]
    return flags


@also_right("12.7", "by recursion", target="batched_carry")
def by_recursion(jaxpr, axis, consts, carry, xs=()):
    musts = list(carry) + [False] * (len(jaxpr.outvars) - len(carry))
    found = batch_jaxpr_if(jaxpr, axis, [*consts, *carry, *xs], musts)[1][: len(carry)]
    more = [bool(a) or bool(b) for a, b in zip(carry, found, strict=True)]
    return more if more == list(carry) else batched_carry(jaxpr, axis, consts, more, xs)


@also_right("12.6", "with sets of places", target="")
def sets_of_places(axis, vals, dims, *, branches):
    refuse_effects(branches)
    index, operands = vals[0], list(vals[1:])
    if dims[0] is not None:
        index = moveaxis(index, dims[0], 0)
        operands = [bdim_at_front(x, d, axis.size) for x, d in zip(operands, dims[1:], strict=True)]
        columns = []
        for i, branch in enumerate(branches):
            safe = [select_case(eq(index, np.int32(i)), stop_gradient(x), x) for x in operands]
            on_batches = batch_jaxpr_if(branch, axis, [True for _ in operands], True)[0]
            columns.append(eval_jaxpr(on_batches, on_batches.consts, *safe))
        return [select_case(index, *row) for row in zip(*columns, strict=True)], [0] * len(columns[0])
    is_batch = [d is not None for d in dims[1:]]
    operands = [moveaxis(x, d or 0, 0) if b else x for x, d, b in zip(operands, dims[1:], is_batch, strict=True)]
    places = set()
    for branch in branches:
        places |= {i for i, flag in enumerate(batch_jaxpr_if(branch, axis, is_batch)[1]) if flag}
    musts = [i in places for i in range(len(branches[0].outvars))]
    batched = tuple(batch_jaxpr_if(branch, axis, is_batch, musts)[0] for branch in branches)
    return cond_p.bind(index, *operands, branches=batched), [0 if must else None for must in musts]


# --- What learners wrote ------------------------------------------------------------------------------------------

edit(
    "12.7",
    "constants have their batch axis in front",
    "A constant of the step comes with its batch axis at 1. Where does the step look for it?",
    "if batch else x\n        for x, dim, to, batch in zip(vals, dims, places, is_batch, strict=True)",
    "if batch and i >= num_consts else x\n"
    "        for i, (x, dim, to, batch) in enumerate(zip(vals, dims, places, is_batch, strict=True))",
    target="batch_scan",
)


@mutant(
    "12.7",
    "a part of the carry is a batch only if the step makes it one",
    "A step returns `x` for the carry, and the old carry as y. The carry began as a batch. What is it in the first step?",
    target="batched_carry",
)
def forgets_the_start(jaxpr, axis, consts, carry, xs=()):
    now = list(carry)
    for _ in range(len(now) + 1):
        outs = batch_jaxpr_if(jaxpr, axis, [*consts, *now, *xs], [False] * len(jaxpr.outvars))[1]
        now = list(outs[: len(now)])
    return now


edit(
    "12.6",
    "only batches need to be stopped",
    "An operand is 0 for all, and nobody takes the branch with its logarithm. What is the gradient with respect to it?",
    "safe = [select_case(is_taken, stop_gradient(x), x) for x in operands]",
    "safe = [\n            select_case(is_taken, stop_gradient(x), x) if d is not None else x\n"
    "            for x, d in zip(operands, operand_dims, strict=True)\n        ]",
)
edit(
    "12.5",
    "-1 counts from the end of an unbatched result as it is",
    "The result will have one more axis. Does -1 count from the end with it, or without it?",
    "move_to(x, dim, to % rank, axis.size)",
    "move_to(x, dim, to % max(np.ndim(x), 1) if to < 0 else to, axis.size)",
    target="moved",
)
edit(
    "12.1",
    "all results have their axis at the same place",
    "A rule says where the axis of each result is. Which of them do you read?",
    "[self.wrap(x, dim) for x, dim in zip(out, out_dim, strict=True)]",
    "[self.wrap(x, out_dim[0]) for x in out]",
)
edit(
    "12.1",
    "an unbatched result has its axis in front",
    "The rule returns None as the batch axis of a result. What is `None or 0`?",
    "[self.wrap(x, dim) for x, dim in zip(out, out_dim, strict=True)]",
    "[self.wrap(x, dim or 0) for x, dim in zip(out, out_dim, strict=True)]",
)


# --- what learners wrote who believed something else --------------------------------------------------------------


edit(
    "12.3",
    "the batch axis of a reduction's result comes first",
    "Where is the batch axis of x, and which axes before it go?",
    "kept = dim - sum(reduced < dim for reduced in axes)",
    "kept = 0",
    target="reduction_batcher",
)


edit(
    "12.3",
    "all reduced axes were before it",
    "Do you count only those reduced axes that stand before the batch axis?",
    "kept = dim - sum(reduced < dim for reduced in axes)",
    "kept = dim - len(axes)",
    target="reduction_batcher",
)


edit(
    "12.3",
    "the axes after the batch axis keep their numbers",
    "The batch axis is 0. What is the number of the element's axis 1 in the batch?",
    "shifted_by_numpy(axes, dim)",
    "tuple(axes)",
    target="reduction_batcher",
)


edit(
    "12.4",
    "the axes of the right operand come right after the batch axes",
    "Which axes of the product stand before the kept axes of the right operand?",
    "place = lhs_ndim - len(lhs_contract) + kept.index(rhs_dim)",
    "place = len(lhs_batch) + kept.index(rhs_dim)",
)


edit(
    "12.4",
    "the batch axis keeps its number in the product",
    "Which axes stand before the batch axis in the product, and which axes of the operand are contracted?",
    "place = len(lhs_batch) + kept.index(lhs_dim)",
    "place = lhs_dim",
)


edit(
    "12.4",
    "batch axes come last in a product",
    "Which axes of a product come first: batch axes, or kept ones?",
    "place = len(lhs_batch) + kept.index(lhs_dim)",
    "place = kept.index(lhs_dim)",
)


# --- what others believed who read only the text ------------------------------------------------------------------


edit(
    "12.2",
    "every operand has a `shape`",
    "`lax.clamp(0.0, x, y)`: what is `(0.0).shape`? Which function gives the shape of a Python number, too?",
    "bdim_at_front(x, d, 1) if np.ndim(x) else x",
    "bdim_at_front(x, d, 1) if d is not None or x.shape else x",
    target="broadcast_batcher",
)
edit(
    "12.2",
    "the result's batch axis is where the operand's was",
    "You moved all batch axes to the front. Where is the result's?",
    "(out, [0] * len(out)) if primitive.multiple_results else (out, 0)",
    "(out, [dim] * len(out)) if primitive.multiple_results else (out, dim)",
    target="broadcast_batcher",
)
edit(
    "12.6",
    "the index is a truth value",
    "There are four branches. Which elements take the third one?",
    "eq(index, np.int32(i))",
    "eq(index, np.int32(min(i, 1)))",
)
edit(
    "12.6",
    "the first branch decides which results are batches",
    "A result is a batch in the second branch only. Is it one in the end?",
    "[any(flags) for flags in zip(*each, strict=True)]",
    "list(each[0])",
)


@mutant(
    "12.1",
    "any error means that the rule is missing",
    "A rule exists, and raises an error itself. Which error comes out of `vmap`?",
)
def believes_any_error_of_a_rule_is_a_missing_rule(self, primitive, args, params):
    pairs = [self.unwrap(x) for x in args]
    vals, dims = ([v for v, _ in pairs], [d for _, d in pairs])
    with core.set_current_trace(self.parent):
        if any((d is not None for d in dims)) or primitive in higher_order:
            try:
                result, where = primitive_batchers[primitive](self.axis, vals, dims, **params)
            except Exception:
                raise NotImplementedError(f"no batching rule for {primitive}") from None
        else:
            return primitive.bind(*vals, **params)
    if not primitive.multiple_results:
        return self.wrap(result, where)
    return list(map(self.wrap, result, where))


@mutant("12.1", "there is only one axis", "In a `vmap` in a `vmap`, whose axis do you hand to the rule?")
def believes_there_is_one_axis(self, primitive, args, params):
    pairs = [self.unwrap(x) for x in args]
    vals, dims = ([v for v, _ in pairs], [d for _, d in pairs])
    with core.set_current_trace(self.parent):
        if any((d is not None for d in dims)) or primitive in higher_order:
            try:
                rule = primitive_batchers[primitive]
            except KeyError:
                raise NotImplementedError(f"no batching rule for {primitive}") from None
            result, where = rule(getattr(self.parent, "axis", self.axis), vals, dims, **params)
        else:
            return primitive.bind(*vals, **params)
    if not primitive.multiple_results:
        return self.wrap(result, where)
    return list(map(self.wrap, result, where))


@mutant("12.1", "there is always an outer trace", "`vmap` is called without `jit`. What is `self.parent` then?")
def believes_there_is_always_an_outer_trace(self, primitive, args, params):
    pairs = [self.unwrap(x) for x in args]
    vals, dims = ([v for v, _ in pairs], [d for _, d in pairs])
    with core.set_current_trace(self.parent or self):
        if any((d is not None for d in dims)) or primitive in higher_order:
            try:
                rule = primitive_batchers[primitive]
            except KeyError:
                raise NotImplementedError(f"no batching rule for {primitive}") from None
            result, where = rule(self.axis, vals, dims, **params)
        else:
            return primitive.bind(*vals, **params)
    if not primitive.multiple_results:
        return self.wrap(result, where)
    return list(map(self.wrap, result, where))


@mutant(
    "12.2",
    "an array of one element is a scalar",
    "How many axes does an array of shape (1,) have? How many does a scalar have?",
    target="broadcast_batcher",
)
def believes_who_has_one_element_is_a_scalar(primitive, axis, vals, dims, **params):

    def out(where, vals):
        result = primitive.bind(*vals, **params)
        return (result, [where for _ in result]) if primitive.multiple_results else (result, where)

    batches = {(np.shape(x), d) for x, d in zip(vals, dims, strict=False) if d is not None}
    rest = [x for x, d in zip(vals, dims, strict=False) if d is None]
    if len(batches) == 1 and (not any((np.size(x) > 1 for x in rest))):
        return out(next(iter(batches))[1], vals)
    moved = []
    for x, d in zip(vals, dims, strict=False):
        if d is not None:
            moved.append(moveaxis(x, d, 0))
        elif np.ndim(x) == 0:
            moved.append(x)
        else:
            moved.append(x.reshape((1, *x.shape)))
    most = max((np.ndim(x) for x in moved))
    return out(0, [with_axes_behind(x, most) if d is not None else x for x, d in zip(moved, dims, strict=False)])


@mutant(
    "12.2",
    "batches with the same number of elements have the same shape",
    "A batch of shape (4,) and one of (4, 1): is it one shape?",
    target="broadcast_batcher",
)
def believes_sizes_are_shapes(primitive, axis, vals, dims, **params):

    def out(where, vals):
        result = primitive.bind(*vals, **params)
        return (result, [where for _ in result]) if primitive.multiple_results else (result, where)

    batches = {(np.size(x), d) for x, d in zip(vals, dims, strict=False) if d is not None}
    rest = [x for x, d in zip(vals, dims, strict=False) if d is None]
    if len(batches) == 1 and (not any((np.ndim(x) for x in rest))):
        return out(next(iter(batches))[1], vals)
    moved = []
    for x, d in zip(vals, dims, strict=False):
        if d is not None:
            moved.append(moveaxis(x, d, 0))
        elif np.ndim(x) == 0:
            moved.append(x)
        else:
            moved.append(x.reshape((1, *x.shape)))
    most = max((np.ndim(x) for x in moved))
    return out(0, [with_axes_behind(x, most) if d is not None else x for x, d in zip(moved, dims, strict=False)])


@mutant(
    "12.2",
    "a scalar cannot be broadcast along a new axis",
    "What is the shape of a scalar after it was broadcast along a new axis of size n?",
    target="move_to",
)
def believes_a_number_has_no_axis_to_get(x, dim, destination, size):
    if dim is not None:
        return moveaxis(x, dim, destination)
    return broadcast(x, size, destination) if np.ndim(x) else x


@mutant(
    "12.5",
    "`axis_size` need not be compared with the arrays",
    "`axis_size` says 3, and the arrays have 4. What happens?",
    target="call_on_batches",
)
def believes_the_given_size_is_the_size(fun, args, kwargs, in_axes, out_axes, axis_name=None, axis_size=None):
    leaves, tree = tree_flatten((args, kwargs))
    dims = axis_of_each_argument(tree, in_axes)
    size = axis_size or mapped_size(fun, tree, leaves, dims, axis_size)
    axis = AxisData(axis_name, size)
    where = []
    for x, d in zip(leaves, dims, strict=False):
        where.append(d + np.ndim(x) if d is not None and d < 0 else d)
    result = {}

    def flat(*xs):
        a, k = tree_unflatten(tree, list(xs))
        outs, result["tree"] = tree_flatten(fun(*a, **k))
        return outs

    outs, out_dims = batch(flat, axis, leaves, where)
    return tree_unflatten(result["tree"], moved(axis, outs, out_dims, result["tree"], out_axes))


@mutant(
    "12.5",
    "every argument of the function is traced",
    "An argument with the axis None is the number 3 of Python. May the function write `range(n)`?",
    target="call_on_batches",
)
def believes_the_function_is_compiled(fun, args, kwargs, in_axes, out_axes, axis_name=None, axis_size=None):
    leaves, tree = tree_flatten((args, kwargs))
    dims = axis_of_each_argument(tree, in_axes)
    size = mapped_size(fun, tree, leaves, dims, axis_size)
    axis = AxisData(axis_name, size)
    where = []
    for x, d in zip(leaves, dims, strict=False):
        where.append(d + np.ndim(x) if d is not None and d < 0 else d)
    result = {}

    def flat(*xs):
        a, k = tree_unflatten(tree, list(xs))
        outs, result["tree"] = tree_flatten(fun(*a, **k))
        return outs

    outs, out_dims = batch(__import__("jitkit").jit(flat), axis, leaves, where)
    return tree_unflatten(result["tree"], moved(axis, outs, out_dims, result["tree"], out_axes))


@mutant(
    "12.5",
    "a result with one leaf is an array",
    "What does `vmap(lambda x: [x])(xs)` return?",
    target="call_on_batches",
)
def believes_one_leaf_has_no_tree(fun, args, kwargs, in_axes, out_axes, axis_name=None, axis_size=None):
    leaves, tree = tree_flatten((args, kwargs))
    dims = axis_of_each_argument(tree, in_axes)
    size = mapped_size(fun, tree, leaves, dims, axis_size)
    axis = AxisData(axis_name, size)
    where = []
    for x, d in zip(leaves, dims, strict=False):
        where.append(d + np.ndim(x) if d is not None and d < 0 else d)
    result = {}

    def flat(*xs):
        a, k = tree_unflatten(tree, list(xs))
        outs, result["tree"] = tree_flatten(fun(*a, **k))
        return outs

    outs, out_dims = batch(flat, axis, leaves, where)
    if len(outs) == 1:
        return moved(axis, outs, out_dims, result["tree"], out_axes)[0]
    return tree_unflatten(result["tree"], moved(axis, outs, out_dims, result["tree"], out_axes))


@mutant(
    "12.6",
    "it is enough to stop the operands in two branches",
    "There are three branches. Is an element that takes the third stopped in the second?",
)
def believes_the_other_branches_are_one(axis, vals, dims, *, branches):
    refuse_effects(branches)
    which, operands = (vals[0], list(vals[1:]))
    if dims[0] is not None:
        which = bdim_at_front(which, dims[0], axis.size)
        operands = [bdim_at_front(x, d, axis.size) for x, d in zip(operands, dims[1:], strict=False)]
        outs = []
        for number, branch in enumerate(branches):
            batched, _ = batch_jaxpr_if(branch, axis, [True] * len(operands), True)
            mine = eq(which, np.int32(0)) if number == 0 else ~eq(which, np.int32(0))
            guarded = [select_case(mine, stop_gradient(x), x) for x in operands]
            outs.append(eval_jaxpr(batched, batched.consts, *guarded))
        return ([select_case(which, *cases) for cases in zip(*outs, strict=False)], [0] * len(branches[0].outvars))
    marks = [d is not None for d in dims[1:]]
    operands = [moveaxis(x, d, 0) if d is not None else x for x, d in zip(operands, dims[1:], strict=False)]
    musts = [False] * len(branches[0].outvars)
    for branch in branches:
        musts = [a or b for a, b in zip(musts, batch_jaxpr_if(branch, axis, marks)[1], strict=False)]
    new = tuple((batch_jaxpr_if(branch, axis, marks, musts)[0] for branch in branches))
    return (cond_p.bind(which, *operands, branches=new), [0 if m else None for m in musts])


@mutant(
    "12.6",
    "constants in the branches are the same for all elements",
    "Each branch returns a constant of its own. Is the result the same for all elements?",
)
def believes_constant_results_are_the_same_for_all(axis, vals, dims, *, branches):
    refuse_effects(branches)
    which, operands = (vals[0], list(vals[1:]))
    if dims[0] is not None:
        which = bdim_at_front(which, dims[0], axis.size)
        operands = [bdim_at_front(x, d, axis.size) for x, d in zip(operands, dims[1:], strict=False)]
        outs = []
        for number, branch in enumerate(branches):
            batched, _ = batch_jaxpr_if(branch, axis, [True] * len(operands), True)
            mine = eq(which, np.int32(number))
            guarded = [select_case(mine, stop_gradient(x), x) for x in operands]
            outs.append(eval_jaxpr(batched, batched.consts, *guarded))
        flags = [
            any(f)
            for f in zip(
                *(batch_jaxpr_if(b, axis, [d is not None for d in dims[1:]])[1] for b in branches), strict=False
            )
        ]
        return (
            [
                select_case(which, *cases) if f else cases[0][0]
                for cases, f in zip(zip(*outs, strict=False), flags, strict=False)
            ],
            [0 if f else None for f in flags],
        )
    marks = [d is not None for d in dims[1:]]
    operands = [moveaxis(x, d, 0) if d is not None else x for x, d in zip(operands, dims[1:], strict=False)]
    musts = [False] * len(branches[0].outvars)
    for branch in branches:
        musts = [a or b for a, b in zip(musts, batch_jaxpr_if(branch, axis, marks)[1], strict=False)]
    new = tuple((batch_jaxpr_if(branch, axis, marks, musts)[0] for branch in branches))
    return (cond_p.bind(which, *operands, branches=new), [0 if m else None for m in musts])


@mutant(
    "12.7", "the new scan need not be unrolled", "The scan had `unroll=4`. How is yours unrolled?", target="batch_scan"
)
def believes_a_new_scan_is_not_unrolled(axis, vals, dims, *, jaxpr, num_consts, num_carry, **params):
    first_x = num_consts + num_carry
    marks = [d is not None for d in dims]
    carry = batched_carry(jaxpr, axis, marks[:num_consts], marks[num_consts:first_x], marks[first_x:])
    marks[num_consts:first_x] = carry
    ys = len(jaxpr.outvars) - num_carry
    step, out_marks = batched_step(jaxpr, axis, marks, list(carry) + [False] * ys)
    operands = []
    for i, (x, d, m) in enumerate(zip(vals, dims, marks, strict=False)):
        operands.append(move_to(x, d, int(i >= first_x), axis.size) if m else x)
    outs = scan_p.bind(*operands, jaxpr=step, num_consts=num_consts, num_carry=num_carry, **{**params, "unroll": 1})
    return (outs, [int(i >= num_carry) if m else None for i, m in enumerate(out_marks)])
