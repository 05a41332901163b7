"""Wrong versions of rung 16, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "at a fan-out the last cotangent wins",
    "y is used three times. What happens to the first two cotangents?",
    "            cts[v] = cts[v] + ct if v in cts else ct  # fan-out: what was used twice has two cotangents",
    "            cts[v] = ct",
)
edit(
    "a division's cotangent is multiplied",
    "What is the derivative of x / y with respect to x?",
    "linear_in(P.div, lambda ct, x, y: ct / y)",
    "linear_in(P.div, lambda ct, x, y: ct * y)",
)
edit(
    "a cotangent has the shape of the result",
    "x was broadcast to a larger shape. Which shape does its derivative have?",
    "    return reshape(reduce_sum_p(ct, axis=tuple(axes)) if axes else ct, x.aval.shape)",
    "    return ct",
)
edit(
    "the transpose of `@` is `@`",
    "For a @ b: is the cotangent of a ct @ b, or ct @ b.T?",
    "dot_p(ct, y, letters=letters[::-1])",
    "dot_p(ct, y, letters=(letters[2], letters[1][::-1], letters[0]))",
)
edit(
    "an unused argument has no derivative",
    "An argument that is not used: what is its derivative, and of which shape?",
    "    return [zero_for_none(cts.get(v), v.aval) if type(x) is Linear else None\n",
    "    return [cts.get(v) if type(x) is Linear else None\n",
)
edit(
    "both sides have a derivative",
    "Which branch of the choice was taken, and how does the backward pass know?",
    "    return [None, *choose(index, [transposed",
    "    return [None, *choose(as_value(np.int32(0)), [transposed",
)
edit(
    "the backward loop runs forward",
    "Which turn's result was the last to be used? Where does the cotangent begin?",
    "(rows, ct_ys), length, not reverse)",
    "(rows, ct_ys), length, reverse)",
)
edit(
    "a while loop has the derivative zero",
    "How many turns would have to be remembered?",
    "    if primitive not in transposes:\n        raise ValueError(",
    "    if primitive not in transposes:\n        return lambda cts, *xs, **params: [None] * len(xs)\n        raise ValueError(",
)
edit(
    "an array is summed by itself",
    "The argument is an array. Which shape does its gradient have?",
    "            return tuple(out) if has_aux else (out, None)",
    "            return out if has_aux else (numpy.sum(out), None)",
)
edit(
    "a permutation is its own inverse",
    "Axis 0 went to place 2. Which permutation brings it back?",
    "np.argsort(axes).tolist()",
    "axes",
)
edit(
    "if numbers are equal, the first one has the derivative",
    "maximum(x, 1.0) at x = 1.0: to the left it does not rise, to the right it does. What does JAX say in the middle?",
    "by_partials(P.max, share, lambda x, y, out, t: share(y, x, out, t))",
    "by_partials(P.max, lambda x, y, out, t: t * where(x >= y, 1.0, 0.0), lambda x, y, out, t: t * where(x < y, 1.0, 0.0))",
)
edit(
    "a tuple of one is one",
    "`argnums=(1,)`, in parentheses: what does the user expect, a gradient or a tuple of them?",
    "grads[0] if isinstance(argnums, int) else grads",
    "grads[0] if len(grads) == 1 else grads",
)
edit(
    "the cotangent of a broadcast is the largest",
    "A number is added to each of three elements. Is its cotangent the largest of theirs, or their sum?",
    "reshape(reduce_sum_p(ct, axis=tuple(axes)) if axes else ct, x.aval.shape)",
    "reshape(numpy.max(ct, axes) if axes else ct, x.aval.shape)",
)
edit(
    "a window's cotangent is as large as the window",
    "x[1:3] of five: what is the cotangent of the other three?",
    "lambda ct, x, *corner, sizes: dynamic_update_slice_p(zeros_of(x.aval), ct, *corner))",
    "lambda ct, x, *corner, sizes: broadcast_to(reshape(ct, -1)[0], x.aval.shape))",
)
edit(
    "a pullback is of one cotangent",
    "An equation has two results, and only one of them has a cotangent. Is it transposed?",
    "        if any(v in cts for v in eqn.outvars):\n",
    "        if all(v in cts for v in eqn.outvars):\n",
)
edit(
    "permutations are undone by themselves",
    "transpose(x, (1, 2, 0)): which permutation leads back?",
    "transpose(ct, np.argsort(axes).tolist())",
    "transpose(ct, list(axes))",
)
edit(
    "the gradient with respect to an integer is zeros",
    "How does an int32 move a little?",
    '            if x.dtype.kind != "f":\n                raise TypeError("grad requires',
    '            if False:\n                raise TypeError("grad requires',
)
edit(
    "a count needs a little, backward, too",
    "A cotangent of 1 comes to x / 2. What goes on to x: a half, or nearly a half?",
    "linear_in(P.div, lambda ct, x, y: ct / y)",
    "linear_in(P.div, lambda ct, x, y: ct / (y + 1e-6))",
)
edit(
    "keywords are refused",
    "May a caller of grad(f) name an argument?",
    """# => [Array(3.0, dtype=float32)]
""",
    """# => [Array(3.0, dtype=float32)]

_vg = value_and_grad
def value_and_grad(f, argnums=0, has_aux=False):
    g = _vg(f, argnums, has_aux)
    def h(*a, **k):
        if k: raise TypeError('no keyword arguments')
        return g(*a)
    return h
""",
)
edit(
    "an array of one number is a loss",
    "What does the page say about a result of shape (1,)?",
    """# => [Array(3.0, dtype=float32)]
""",
    """# => [Array(3.0, dtype=float32)]

_vg = value_and_grad
def value_and_grad(f, argnums=0, has_aux=False):
    def g(*a, **k):
        out = f(*a, **k)
        if not has_aux and isinstance(out, Value) and out.size == 1 and out.ndim == 1: return reshape(out, ())
        return out
    return _vg(g, argnums, has_aux)
""",
)
edit(
    "the value is a number of Python",
    "What is the dtype of the value that value_and_grad returns?",
    """# => [Array(3.0, dtype=float32)]
""",
    """# => [Array(3.0, dtype=float32)]

_vg = value_and_grad
def value_and_grad(f, argnums=0, has_aux=False):
    g = _vg(f, argnums, has_aux)
    def h(*a, **k):
        v, gr = g(*a, **k)
        return (float(v) if type(v) is Array else v), gr
    return h
""",
)
edit(
    "a negative `argnums` counts the parameters",
    "f has two parameters, and gets one argument. Which one is the last?",
    """# => [Array(3.0, dtype=float32)]
""",
    """# => [Array(3.0, dtype=float32)]

_vg = value_and_grad
def value_and_grad(f, argnums=0, has_aux=False):
    n = len(inspect.signature(f).parameters)
    fix = lambda a: a + n if a < 0 else a
    return _vg(f, fix(argnums) if isinstance(argnums, int) else tuple(map(fix, argnums)), has_aux)
""",
)
edit(
    "when a gradient fails, nobody stands at the door",
    "Who stood at the door before the gradient began?",
    """# => [Array(3.0, dtype=float32)]
""",
    """# => [Array(3.0, dtype=float32)]

_ol = linearize
def linearize(f, primals):
    try: return _ol(f, primals)
    except BaseException:
        before = door.trace
        door.trace = Eager()
        raise
""",
)
edit(
    "no aux is no result",
    "f returns (loss, None) with has_aux. What does grad return?",
    """transposes |= {jit_p: jit_transpose, cond_p: cond_transpose, scan_p: scan_transpose}""",
    """transposes |= {jit_p: jit_transpose, cond_p: cond_transpose, scan_p: scan_transpose}
_vg = value_and_grad
def grad(f, argnums=0, has_aux=False):
    def g(*a, **k):
        v, d = value_and_grad(f, argnums, has_aux)(*a, **k)
        return (d, v[1]) if has_aux and v[1] is not None else d
    return g""",
)
edit(
    "a sum's cotangent is broadcast as it is",
    "Rows of a square matrix are summed. To which elements does the cotangent of the second sum belong?",
    """transposes |= {jit_p: jit_transpose, cond_p: cond_transpose, scan_p: scan_transpose}""",
    """transposes |= {jit_p: jit_transpose, cond_p: cond_transpose, scan_p: scan_transpose}
linear_in(reduce_sum_p, lambda ct, x, axis: broadcast_to(reshape(ct, without(x.aval.shape, axis, ones=True)) if len(axis) != 1 or x.aval.ndim != 2 or x.aval.shape[0] != x.aval.shape[1] else ct, x.aval.shape))""",
)
edit(
    "a transposition undoes itself",
    "Axes go round: (1, 2, 0). Which order brings them back?",
    """transposes |= {jit_p: jit_transpose, cond_p: cond_transpose, scan_p: scan_transpose}""",
    """transposes |= {jit_p: jit_transpose, cond_p: cond_transpose, scan_p: scan_transpose}
linear_in(transpose_p, lambda ct, x, axes: transpose(ct, list(axes)) if [x.aval.shape[i] for i in axes] == list(ct.shape) and sorted(axes) == list(range(ct.ndim)) and transpose(ct, list(axes)).shape == x.aval.shape else transpose(ct, np.argsort(axes).tolist()))""",
)
edit(
    "a cotangent has any dtype",
    "A half float becomes a float32. What is the dtype of its gradient?",
    """transposes |= {jit_p: jit_transpose, cond_p: cond_transpose, scan_p: scan_transpose}""",
    """transposes |= {jit_p: jit_transpose, cond_p: cond_transpose, scan_p: scan_transpose}
linear_in(convert_p, lambda ct, x, **params: ct)""",
)
edit(
    "what was not chosen has the cotangent times 0",
    "The cotangent is inf. What is 0 times that?",
    """transposes |= {jit_p: jit_transpose, cond_p: cond_transpose, scan_p: scan_transpose}""",
    """transposes |= {jit_p: jit_transpose, cond_p: cond_transpose, scan_p: scan_transpose}
linear_in(select_p, None, lambda ct, which, yes, no: ct * convert(which, ct.dtype), lambda ct, which, yes, no: ct * convert(~which, ct.dtype))""",
)
edit(
    "no argument may be an integer",
    "Which arguments does `argnums` name? May the others be integers?",
    "        for x in flatten_values([args[i] for i in nums])[0]:\n",
    "        for x in flatten_values(args)[0]:\n",
)
edit(
    "keywords are arguments to differentiate",
    "Can `argnums` name a keyword argument?",
    "        for x in flatten_values([args[i] for i in nums])[0]:\n",
    "        for x in flatten_values([[args[i] for i in nums], kwargs])[0]:\n",
)
edit(
    "the logarithm of 0 is a part of the slope",
    "What is 0 * log(0) in float32?",
    "numpy.log(where(x == 0, 1, x))))",
    "numpy.log(x)))",
)
edit(
    "all arguments are made arrays",
    "grad(f)(x, 'square'): what does `f` get?",
    "    def with_gradient(*args, **kwargs):\n",
    "    def with_gradient(*args, **kwargs):\n        args, kwargs = tree_map(as_value, args), tree_map(as_value, kwargs)\n",
)
edit(
    "an integer in a tree has a gradient of zeros",
    'grad(f)({"x": x, "n": 2}): which of the two leaves has a derivative?',
    '            if x.dtype.kind != "f":\n                raise TypeError("grad requires',
    '            if x.dtype.kind != "f" and len(flatten(args)[0]) == 1:\n                raise TypeError("grad requires',
)
edit(
    "of several arguments the first must be a float",
    "grad(f, (0, 1))(2.0, 3): which of the two has no derivative?",
    "        for x in flatten_values([args[i] for i in nums])[0]:\n",
    "        for x in flatten_values(args[nums[0]])[0]:\n",
)
edit(
    "every while loop is refused",
    "A loop counts, and its condition reads x. Does its carry move?",
    "def while_jvp(primals, tangents, num_consts, cond_jaxpr, body_jaxpr):\n",
    'def while_jvp(primals, tangents, num_consts, cond_jaxpr, body_jaxpr):\n    if isinstance(door.trace, LinearTrace):\n        raise ValueError("Reverse-mode differentiation does not work for while")\n',
)
edit(
    "one may differentiate by truth values",
    "Does True have a derivative?",
    '            if x.dtype.kind != "f":\n                raise TypeError("grad requires',
    '            if x.dtype.kind in "iu":\n                raise TypeError("grad requires',
)
edit(
    "a result that is given twice has the last one's cotangent",
    "The loss is also a part of aux: it stands twice among the results. Which cotangents does it have?",
    "    for v, ct in zip(jaxpr.outvars, cotangents, strict=True):\n        give(v, ct)\n",
    "    cts.update((v, ct) for v, ct in zip(jaxpr.outvars, cotangents, strict=True) if type(v) is Var)\n",
)
