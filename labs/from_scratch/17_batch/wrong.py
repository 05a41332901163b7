"""Wrong versions of rung 17, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "the batch is a loop of Python",
    "How many equations are there for 50 examples, and how many for 2?",
    "        outs, flags = vmap_flat(flat, size, [axis is not None for axis in axes], leaves)",
    "        n, flags = size, [True] * 99\n        rows = [flat(*[x if axis is None else x[i] for x, axis in zip(leaves, axes)]) for i in range(n)]\n        outs = [scan(lambda c, i: (c, switch(i, [lambda r=r: as_value(r) for r in column])), None, numpy.arange(n))[1] for column in zip(*rows)]\n        flags = [True] * len(outs)",
)
edit(
    "the batch is always the first axis",
    "in_axes=1: where is the batch?",
    "        leaves = [x if axis is None else move_axis(x, axis, 0) for x, axis in zip(leaves, axes, strict=True)]",
    "        leaves = [x if axis is None else reshape(x, (x.shape[axis], *without(x.shape, (axis,)))) for x, axis in zip(leaves, axes, strict=True)]",
)
edit(
    "None is axis 0",
    "None means the same for all examples. Is there an axis to map over?",
    "    return [axis] * len(flatten(x)[0])\n",
    "    return [axis or 0] * len(flatten(x)[0])\n",
)
edit(
    "the batch takes part in broadcasting",
    "f32[3] and f32[] in each of 3 examples: which axis meets which?",
    "    return p.bind(*aligned(flags, xs, max(x.ndim - b for x, b in zip(xs, flags, strict=True))))",
    "    return p.bind(*xs)",
)
edit(
    "`@` of two batches multiplies all with all",
    "With which example of the other batch is example i multiplied?",
    "    return dot_p.bind(x, y, letters=(new * flags[0] + xs, new * flags[1] + ys, new + out))",
    "    y, both = y[0] if all(flags) else y, all(flags)\n    return dot_p.bind(x, y, letters=(new * flags[0] + xs, new * (flags[1] and not both) + ys, new + out))",
)
edit(
    "axes are counted with the batch",
    "Each example is summed over axis 0. Over which axis is the batch summed?",
    "reduce_sum_p.bind(x, axis=shifted(axis))",
    "reduce_sum_p.bind(x, axis=axis)",
)
edit(
    "the first example decides for all",
    "Each example has its own predicate. Can one branch run for all of them?",
    "    outs, *others = [function(*xs)",
    "    return choose(index[0], functions, xs)\n    outs, *others = [function(*xs)",
)
edit(
    "examples that are done go on",
    "The loop goes on for others. What happens to an example that is done?",
    "        return [pick(going, new, old) for new, old in zip(body(*consts, *carry), carry, strict=True)]",
    "        return body(*consts, *carry)",
)
edit(
    "batches within batches are one batch",
    "One batch is within another. To which of the two does a tracer belong?",
    "        flags = tuple([belongs(x, self) for x in args])\n",
    "        flags = tuple([type(x) is Tracer and isinstance(x.trace, BatchTrace) for x in args])\n",
)
edit(
    "the smallest batch decides",
    "Batches of 3 and of 4: how many examples are there?",
    '        if len(sizes) != 1:\n            raise ValueError(f"vmap',
    '        if False:\n            raise ValueError(f"vmap',
)
edit(
    "a jitted function is for one example",
    "A jitted function meets a batch. What is the program of the batch?",
    "batchers |= {jit_p: batch_jit, cond_p",
    "batchers |= {cond_p",
)
edit(
    "an axis counts from the front",
    "out_axes=-1: where is the batch axis of the result?",
    "    order.insert(to % x.ndim, source % x.ndim)",
    "    order.insert(to, source % x.ndim)",
)
edit(
    "one axis for all arguments",
    "in_axes=(0, None): which argument has which axis?",
    "        axes = axes_of_leaves(in_axes, args) + axes_of_leaves(0, kwargs)",
    "        axes = axes_of_leaves(in_axes[0] if isinstance(in_axes, tuple) else in_axes, args) + axes_of_leaves(0, kwargs)",
)
edit(
    "the results are stacked along the first axis",
    "out_axes=1: where is the batch?",
    "x if axis is None else move_axis(x if b else repeated(x, size), 0, axis)",
    "x if axis is None else move_axis(x if b else repeated(x, size), 0, 0)",
)
edit(
    "what is the same for all has no batch",
    "`vmap(lambda x: 2.0)` of three examples: what shape?",
    "move_axis(x if b else repeated(x, size), 0, axis)",
    "move_axis(x, 0, axis) if b else x",
)
edit(
    "a maximum is that of the batch",
    "Each example has its maximum over axis 0. Over which axis is the batch reduced?",
    "reduce_max_p: lambda size, flags, x, axis: reduce_max_p.bind(x, axis=shifted(axis))",
    "reduce_max_p: lambda size, flags, x, axis: reduce_max_p.bind(x, axis=axis)",
)
edit(
    "a transposition keeps the batch where it is",
    "Each example is transposed by a permutation. By which permutation is the batch transposed?",
    "transpose_p: lambda size, flags, x, axes: [transpose(x, (0, *shifted(axes)))]",
    "transpose_p: lambda size, flags, x, axes: [transpose(x, (*axes, x.ndim - 1))]",
)
edit(
    "the rows of a scan are the examples",
    "Each example is scanned over its rows. Which axis of the batch are the rows?",
    "    rows = [move_axis(x, 0, 1) if b else x for x, b in zip(rows, row_flags, strict=True)]\n",
    "",
)
edit(
    "batches are kept by the size",
    "The first argument was batched, and now it is the second one. Is the kept function right for it?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_kept17 = {}
def vmapped(jaxpr, size, flags):
    key = id(jaxpr), size
    if key not in _kept17: _kept17[key] = (jaxpr, flags, lambda *xs: batch_all(size, *vmap_flat(as_function(jaxpr), size, _kept17[key][1], xs)[::-1]))
    return _kept17[key][2]
""",
)
edit(
    "batches are kept by what is batched",
    "There were 2 examples, and now there are 3. Is the kept function right for them?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_kept17 = {}
def vmapped(jaxpr, size, flags):
    key = id(jaxpr), flags
    if key not in _kept17: _kept17[key] = (jaxpr, lambda *xs: batch_all(size, *vmap_flat(as_function(jaxpr), size, flags, xs)[::-1]))
    return _kept17[key][1]
""",
)
edit(
    "every choice becomes a `select`",
    "All examples decide alike. How many branches have to be computed?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

def batch_cond(size, flags, index, *xs, branches):
    functions = [vmapped(branch, size, flags[1:]) for branch in branches]
    index = index if flags[0] else repeated(index, size)
    outs, *others = [function(*xs) for function in functions]
    for i, more in enumerate(others, 1):
        outs = [pick(index >= i, new, old) for new, old in zip(more, outs, strict=True)]
    return outs
batchers[cond_p] = batch_cond
""",
)
edit(
    "missing axes are None",
    "Two arguments, and `in_axes` is a tuple of one axis. What is the axis of the other argument?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_vm = vmap
def vmap(f, in_axes=0, out_axes=0):
    def g(*a, **k):
        ax = (*in_axes, *[None] * (len(a) - len(in_axes))) if isinstance(in_axes, tuple) else in_axes
        return _vm(f, ax, out_axes)(*a, **k)
    return g
""",
)
edit(
    "a number has an axis of its own",
    "Along which axis can 3.0 be cut into examples?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_vm = vmap
def vmap(f, in_axes=0, out_axes=0):
    def g(*a, **k):
        return _vm(f, in_axes, out_axes)(*[asarray([x]) if type(x) in (int, float) and in_axes == 0 else x for x in a], **k)
    return g
""",
)
edit(
    "when a batch fails, nobody stands at the door",
    "Who stood at the door before the batch began?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_vf = vmap_flat
def vmap_flat(f, size, flags, leaves):
    try: return _vf(f, size, flags, leaves)
    except BaseException:
        door.trace = Eager()
        raise
""",
)
edit(
    "batches of one size are one batch",
    "Two batches of 3 examples, one within the other: to which of them does a tracer belong?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

def vmap_flat(f, size, flags, leaves):
    trace = BatchTrace(size)
    outs = list(map(as_value, asked(trace, f, *map(trace.wrap, leaves, flags))))
    return unzip([(x.data, True) if type(x) is Tracer and type(x.trace) is BatchTrace and x.trace.size == size else (x, False) for x in outs])
""",
)
edit(
    "a batch of one goes with any",
    "Are batches of 1 and of 3 examples of the same size?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_vm = vmap
def vmap(f, in_axes=0, out_axes=0):
    def g(*a, **k):
        sizes = [np.shape(x)[0] for x in a if np.ndim(x)]
        if in_axes == 0 and 1 in sizes and max(sizes) > 1 and not any(type(x) in (dict, list, tuple) for x in a): a = [broadcast_to(asarray(x), (max(sizes), *np.shape(x)[1:])) if np.shape(x)[:1] == (1,) else x for x in a]
        return _vm(f, in_axes, out_axes)(*a, **k)
    return g
""",
)
edit(
    "the axes of results are a number",
    "What may `out_axes` be, if the result is a dict?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_vm = vmap
def vmap(f, in_axes=0, out_axes=0):
    def g(*a, **k):
        if isinstance(out_axes, dict): raise TypeError('out_axes')
        return _vm(f, in_axes, out_axes)(*a, **k)
    return g
""",
)
edit(
    "keywords have the axis of the last argument",
    "Along which axis does the page batch keyword arguments?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_vm = vmap
def vmap(f, in_axes=0, out_axes=0):
    def g(*a, **k):
        ax = in_axes if isinstance(in_axes, int) else in_axes[-1] if isinstance(in_axes, tuple) and isinstance(in_axes[-1], int) else 0
        k = {n: move_axis(as_value(x), ax, 0) if np.ndim(x) else x for n, x in k.items()}
        return _vm(f, in_axes, out_axes)(*a, **k)
    return g
""",
)
edit(
    "indices beyond the end go round in a batch",
    "x has 3 rows. Which one is x[7], in a batch as elsewhere?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_bw = batch_window
batchers[dynamic_slice_p] = lambda size, flags, *xs, **p: _bw(dynamic_slice_p, 1, size, flags, xs[0], *[where(c >= xs[0].shape[flags[0] + i], c - xs[0].shape[flags[0] + i], c) if b else c for i, (c, b) in enumerate(zip(xs[1:], flags[1:]))], **p)
""",
)
edit(
    "rows of results have the batch in the second place",
    "Where is the batch axis in the rows that a scan stacks, and where does the result need it?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_bs = batch_scan
def bs(size, flags, *xs, **p):
    out = _bs(size, flags, *xs, **p)
    n = p['num_carry']
    return out[:n] + [move_axis(y, 1, 0) if y.ndim > 2 and y.shape[0] == y.shape[1] else y for y in out[n:]]
batchers[scan_p] = bs
""",
)
edit(
    "whole numbers have their maximum along the batch",
    "Which axis of the batch is axis 0 of the example?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_rm = batchers[reduce_max_p]
batchers[reduce_max_p] = lambda size, flags, x, axis: reduce_max_p.bind(x, axis=tuple(i % (x.ndim - 1) + (1 if axis else 0) for i in axis)) if x.dtype != I32 else reduce_max_p.bind(x, axis=axis if len(axis) == 1 and x.ndim == 2 and x.shape[0] == x.shape[1] else shifted(axis))
""",
)
edit(
    "a shared array with the batch's size is batched",
    "An array of shape [3,3,3] is shared by 3 examples. Does its shape say so?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_vm = vmap
def vmap(f, in_axes=0, out_axes=0):
    def g(*a, **k):
        if in_axes is not None and isinstance(in_axes, tuple) and None in in_axes and len(in_axes) == len(a):
            n = [np.shape(v)[x] for x, v in zip(in_axes, a) if isinstance(x, int)]
            if n: return _vm(f, tuple(0 if x is None and np.shape(v)[:1] == (n[0],) and np.ndim(v) > 2 else x for x, v in zip(in_axes, a)), out_axes)(*a, **k)
        return _vm(f, in_axes, out_axes)(*a, **k)
    return g
""",
)
edit(
    "a choice is between three",
    "How many branches may a `switch` have?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_bc = batch_cond
def bc(size, flags, index, *xs, branches):
    return _bc(size, flags, numpy.minimum(index, 2) if flags[0] else index, *xs, branches=branches)
batchers[cond_p] = bc
""",
)
edit(
    "the last axis is counted in the example",
    "The result of an example has two axes. How many axes do the results of a batch have, and which of them is the axis -1?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_vm = vmap
def vmap(f, in_axes=0, out_axes=0):
    def g(*a, **k):
        out = _vm(f, in_axes, out_axes)(*a, **k)
        return move_axis(out, -1, -2) if out_axes == -1 and hasattr(out, 'ndim') and out.ndim == 3 else out
    return g
""",
)
edit(
    "shared rows of the batch's size are batched",
    "A scan goes over 3 shared rows, for 3 examples. Which axis is the batch?",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }
""",
    """# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

_bs = batch_scan
def bs(size, flags, *xs, **p):
    nc = p['num_consts'] + p['num_carry']
    flags = tuple(b or (i >= nc and x.ndim > 1 and x.shape[1] == size) for i, (b, x) in enumerate(zip(flags, xs)))
    return _bs(size, flags, *[move_axis(x, 1, 0) if False else x for x in xs], **p)
batchers[scan_p] = bs
""",
)
edit(
    "only two axes are moved",
    "An example has three axes. Where is the last of them in the batch?",
    """def shifted(axes):
    return tuple([i + 1 for i in axes])""",
    """def shifted(axes):
    return tuple([i + 1 if i < 2 else i for i in axes])""",
)
edit(
    "a shared vector meets the first axis",
    "f32[3,3] + f32[3] in each example: which axis meets the vector's?",
    """    return [reshape(x, (len(x), *[1] * (ndim + 1 - x.ndim), *x.shape[1:])) if b else x
""",
    """    return [reshape(x, (len(x), *[1] * (ndim + 1 - x.ndim), *x.shape[1:])) if b else reshape(x, (*x.shape, *[1] * (ndim - x.ndim))) if x.ndim == 1 and ndim == 2 and False in flags and x.shape[0] == 3 else x
""",
)
edit(
    "missing axes are 0",
    "How many axes does `in_axes=(0,)` name, and how many arguments are there?",
    "        children, parts = (containers[type(tree)][0](tree)[0] for tree in (axis, x))\n",
    "        children, parts = (containers[type(tree)][0](tree)[0] for tree in (axis, x))\n        children = [*children, *[0] * (len(parts) - len(children))]\n",
)
edit(
    "an index for each example is a slice for each",
    "How many slices does the program have for 50 examples?",
    "        return scan(lambda _, row: (None, p.bind(*row, **params)), None, batch_all(size, flags, xs))[1]",
    """        rows = [p.bind(*[x[i] if b else x for x, b in zip(xs, flags)], **params)[0] for i in range(size)]
        out = zeros_of(resized(rows[0], (size, *rows[0].shape)))
        for i, row in enumerate(rows):
            out = dynamic_update_slice_p(out, row[None], *[as_value(np.int32(n)) for n in (i, *[0] * row.ndim)])
        return [out]""",
)
edit(
    "axes too many do no harm",
    "`in_axes=(0, 0)` names two axes. How many arguments are there?",
    "for one, other in zip(children, parts, strict=True) for a in axes_of_leaves(one, other)]",
    "for one, other in zip(children, parts, strict=len(children) < len(parts)) for a in axes_of_leaves(one, other)]",
)
edit(
    "None in a tree takes the first example",
    "A part of a result differs from example to example, and its axis is None. Which example is it?",
    """        if any(axis is None and b for axis, b in zip(axes, flags, strict=True)):
""",
    """        outs = [x[0] if axis is None and b and out_axes is not None else x for x, axis, b in zip(outs, axes, flags)]
        flags = [b and (axis is not None or out_axes is None) for axis, b in zip(axes, flags)]
        if any(axis is None and b for axis, b in zip(axes, flags, strict=True)):
""",
)
edit(
    "a loop runs until the largest of no tests is false",
    "There are no examples. What is the largest of no numbers?",
    "numpy.sum(*test(*consts, *carry)) > 0",
    "numpy.max(*test(*consts, *carry))",
)
edit(
    "what is the same for all is stacked along the first axis",
    "`out_axes=1`: where is the new axis of a result that is the same for all?",
    "x if axis is None else move_axis(x if b else repeated(x, size), 0, axis)",
    "x if axis is None else move_axis(x, 0, axis) if b else repeated(x, size)",
)
edit(
    "a batch of weak numbers is strong",
    "Each example chooses between 2.0 and 3.0, and the result is multiplied with a float16. Which dtype does the product have?",
    "        return Tracer(self, resized(x, x.shape[1:]), x) if is_batched else x",
    "        return Tracer(self, Aval(tuple(x.shape[1:]), x.dtype), x) if is_batched else x",
)
