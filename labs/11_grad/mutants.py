"""Wrong answers to the exercises of lab 11, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant

# --- 11.1 Rules for pairs -----------------------------------------------------------------------------------------

edit(
    "11.1",
    "the chain rule is somebody else's job",
    "x changes by g. You returned how y changes when x changes by 1. Where does g come in?",
    "mul(g, mul(y, sub(constant_like(y, 1), y)))",
    "mul(y, sub(constant_like(y, 1), y))",
    target="jvp_logistic",
)
edit(
    "11.1",
    "the formula y (1 - y) is about x",
    "In y (1 - y), which of the parameters is y?",
    "mul(y, sub(constant_like(y, 1), y))",
    "mul(x, sub(constant_like(x, 1), x))",
    target="jvp_logistic",
)


@mutant(
    "11.1",
    "a derivative is computed from x alone",
    "Somebody has computed logistic(x) already. What is it called in your function?",
    target="jvp_logistic",
)
def computes_it_again(g, y, x):
    one = constant_like(x, 1)
    again = div(one, one + np.e**-x)
    return mul(g, mul(again, sub(constant_like(again, 1), again)))


edit(
    "11.1",
    "the tangents of all maxima are added",
    "Two elements are the maximum. You added their tangents. By how much does the maximum change, if both change by 1?",
    "return div(reduce_sum(mul(g, is_extreme), axes), count)",
    "return reduce_sum(mul(g, is_extreme), axes)",
    target="jvp_extreme",
)


@mutant(
    "11.1",
    "the tangent of a maximum is the largest tangent",
    "The largest element changes by 0.1, another one by 5. By how much does the maximum change?",
    target="jvp_extreme",
)
def largest_tangent(g, out, x, *, axes):
    return g.max(axes)


@mutant(
    "11.1",
    "of several equal maxima, only the first one counts",
    "Two elements are the maximum. Whose tangent did you take, and why not the other one's?",
    target="jvp_extreme",
)
def first_of_them(g, out, x, *, axes):
    kept = [i for i in range(x.ndim) if i not in axes]
    order = (*kept, *axes)
    moved = x.transpose(order).reshape(*out.shape, -1)
    tangents = g.transpose(order).reshape(moved.shape)
    is_extreme = eq(moved, reshape(out, (*out.shape, 1)))
    place = (is_extreme * -np.arange(1.0, moved.shape[-1] + 1, dtype="float32") - 99.0 * ~is_extreme).argmax(-1)
    is_first = eq(reshape(place, (*out.shape, 1)), np.arange(moved.shape[-1], dtype="int32"))
    return reduce_sum(mul(tangents, convert_element_type(is_first, g.dtype)), (out.ndim,))


edit(
    "11.1",
    "only the last operand has a share",
    "x and y both change. How much of the change of x y is due to x?",
    "return out, functools.reduce(add_tangents, parts, zero_tangent(out))",
    "return out, parts[-1] if parts else zero_tangent(out)",
    target="sum_of_shares",
)
edit(
    "11.1",
    "the shares are multiplied",
    "What are the shares of x and y in the change of x y, and what is done with the two?",
    "return out, functools.reduce(add_tangents, parts, zero_tangent(out))",
    "return out, functools.reduce(lambda a, b: a * b, parts) if parts else zero_tangent(out)",
    target="sum_of_shares",
)
edit(
    "11.1",
    "the tangent of a constant is an array of zeros",
    "How many multiplications does the tangent of `x * 3` need?",
    " and type(t) is not Zero\n    ]",
    "\n    ]",
    target="sum_of_shares",
)
edit(
    "11.1",
    "a result without shares has no tangent",
    "No operand contributes anything. By how much does the result change, and which object says so?",
    "return out, functools.reduce(add_tangents, parts, zero_tangent(out))",
    "return out, functools.reduce(add_tangents, parts) if parts else None",
    target="sum_of_shares",
)
edit(
    "11.1",
    "every operand has a function in `shares`",
    "What stands in `shares` for an operand that contributes nothing?",
    "if share is not None and type(t) is not Zero",
    "if type(t) is not Zero",
    target="sum_of_shares",
)

# --- 11.2 A function of pairs -------------------------------------------------------------------------------------


@mutant(
    "11.2",
    "the operands of an operation are their tangents",
    "cos(x) in the tangent of sin(x): which x is that?",
    target="DualTrace.process_primitive",
)
def on_tangents(self, primitive, args, params):
    primals, tangents = self.pairs(args)
    if all(type(t) is Zero for t in tangents):
        with core.set_current_trace(self.parent):
            return primitive.bind(*primals, **params)
    swapped = [x if type(t) is Zero else t for x, t in zip(primals, tangents, strict=True)]
    out, tangent = self.differentiate(primitive, swapped, tangents, params)
    if primitive.multiple_results:
        return [self.with_tangent(x, t) for x, t in zip(out, tangent, strict=True)]
    return self.with_tangent(out, tangent)


edit(
    "11.2",
    "every operation has a tangent",
    "exp(3.0) does not depend on the argument. Which trace should compute it?",
    "if all(type(t) is Zero for t in tangents):",
    "if False:",
    target="DualTrace.process_primitive",
)
edit(
    "11.2",
    "an operation has one result",
    "A `cond` that returns two values: how many tangents came back?",
    "if primitive.multiple_results:",
    "if False:",
    target="DualTrace.process_primitive",
)


@mutant(
    "11.2",
    "every pair belongs to this trace",
    "A derivative in a derivative: to which of the two does this pair belong?",
    target="DualTrace.process_primitive",
)
def takes_all_pairs(self, primitive, args, params):
    primals = [x.primal if isinstance(x, DualTracer) else x for x in args]
    tangents = [x.tangent if isinstance(x, DualTracer) else zero_tangent(x) for x in args]
    if all(type(t) is Zero for t in tangents):
        with core.set_current_trace(self.parent):
            return primitive.bind(*primals, **params)
    out, tangent = self.differentiate(primitive, primals, tangents, params)
    if primitive.multiple_results:
        return [self.with_tangent(x, t) for x, t in zip(out, tangent, strict=True)]
    return self.with_tangent(out, tangent)


edit(
    "11.2",
    "there is only one trace at a time",
    "This derivative was taken inside of something. Which trace is around yours?",
    "trace = JVPTrace(core.current_trace())",
    "trace = JVPTrace(None)",
    target="jvp",
)
edit(
    "11.2",
    "`aux` may hold pairs",
    "What is left in `aux` when the trace has ended?",
    "    if aux is not None:\n            aux[:] = map(trace.strip, aux)\n",
    "",
    target="jvp",
)
edit(
    "11.2",
    "the function may be called twice, for values and for tangents",
    "How often does `fun` print, if it prints?",
    "    try:\n",
    "    fun(*primals)\n    try:\n",
    target="jvp",
)
edit(
    "11.2",
    "a trace ends by itself",
    "Somebody put a tracer into a list. Which error will tell them, later?",
    "trace.end()",
    "pass",
    target="jvp",
)
edit(
    "11.2",
    "all inputs have tangents",
    "How many inputs does the jaxpr of pairs of `x * a` have, where only x changes?",
    "for aval, nz in zip(avals, nonzero, strict=True) if nz)]",
    "for aval, nz in zip(avals, nonzero, strict=True))]",
    target="jvp_jaxpr",
)
edit(
    "11.2",
    "each output is followed by its tangent",
    "In which order should the outputs be: y1, y2, t1, t2, or y1, t1, y2, t2?",
    "return [*outs, *(t for t in made if type(t) is not Zero)]",
    "return [x for out, t in zip(outs, made) for x in ((out,) if type(t) is Zero else (out, t))]",
    target="jvp_jaxpr",
)
edit(
    "11.2",
    "every output must have a tangent",
    "`y > 0` is an output. What is its tangent good for?",
    "instantiate_zeros(t) if inst else t",
    "instantiate_zeros(t)",
    target="jvp_jaxpr",
)
edit(
    "11.2",
    "a tangent that is Zero is never wanted as an array",
    "The carry of a loop begins with a tangent. What if a step returns one that is Zero?",
    "instantiate_zeros(t) if inst else t",
    "t",
    target="jvp_jaxpr",
)

# --- 11.3 What is known goes, what is linear stays ----------------------------------------------------------------


@mutant(
    "11.3",
    "everything is written down",
    "cos(x) is in the rule of sine. Does it depend on a tangent?",
    target="PartialTrace.process_primitive",
)
def writes_all(self, primitive, args, params):
    return self.write_down(primitive, args, params)


@mutant(
    "11.3",
    "tangents already have values",
    "While the function is linearised, is any tangent known?",
    target="PartialTrace.process_primitive",
)
def computes_all(self, primitive, args, params):
    with core.set_current_trace(self.parent):
        return primitive.bind(*args, **params)


edit(
    "11.3",
    "values are computed later",
    "An operation without tangents is to be done now. Which trace does that?",
    "with core.set_current_trace(self.parent):",
    "with core.set_current_trace(self.tangents):",
    target="PartialTrace.process_primitive",
)
edit(
    "11.3",
    "the function may be called twice, for values and for tangents",
    "How often does `fun` print, if it prints?",
    "        tracers =",
    "        fun(*primals)\n        tracers =",
    target="linearize",
)
edit(
    "11.3",
    "every result has a tangent",
    "`sin(a)` does not change with x. Is it in the program for tangents?",
    "            outs, tangents = trace.pairs(fun(*tracers))\n",
    "            outs, tangents = trace.pairs(fun(*tracers))\n"
    "        with core.set_current_trace(tangent_trace):\n"
    "            tangents = [instantiate_zeros(t) for t in tangents]\n",
    target="linearize",
)
edit(
    "11.3",
    "there is only one trace at a time",
    "A linear program is itself linearised. Which trace is around yours?",
    "parent = core.current_trace()",
    "parent = None",
    target="linearize",
)
edit(
    "11.3",
    "a trace ends by itself",
    "Somebody put a tracer into a list. Which error will tell them, later?",
    "        trace.end()\n        tangent_trace.end()",
    "        pass",
    target="linearize",
)

# --- 11.4 Backwards -----------------------------------------------------------------------------------------------

edit(
    "11.4",
    "a second cotangent replaces the first",
    "x was read by two equations, and each gives it a cotangent. What became of the first one?",
    "add_tangents(totals[atom], ct) if atom in totals else ct",
    "ct",
    target="backward_pass",
)
edit(
    "11.4",
    "only the first cotangent counts",
    "x was read by two equations. Which cotangent does the second one give it?",
    "totals[atom] = add_tangents(totals[atom], ct) if atom in totals else ct",
    "totals.setdefault(atom, ct)",
    target="backward_pass",
)
edit(
    "11.4",
    "programs are read from the start",
    "Which value's cotangent do you know first?",
    "for eqn in reversed(linear):",
    "for eqn in linear:",
    target="backward_pass",
)
edit(
    "11.4",
    "outputs are made by equations",
    "A function returns x, and 2 x. What is the cotangent of x?",
    "cotangents, strict=True):\n        add(atom, ct)\n",
    "cotangents, strict=True):\n        if atom not in jaxpr.invars:\n            add(atom, ct)\n",
    target="backward_pass",
)
edit(
    "11.4",
    "an unused input has no cotangent",
    "The loss does not depend on y. What is its gradient with respect to y?",
    "totals.pop(var) if var in totals else Zero(tangent_aval(var.aval))",
    "totals.pop(var, None)",
    target="backward_pass",
)
edit(
    "11.4",
    "all operands are linear",
    "In `mul t cos_x`, which operand is linear, and which has a value?",
    "operands = [read(values, atom) for atom in eqn.invars]",
    "operands = [UndefinedPrimal(atom.aval) for atom in eqn.invars]",
    target="backward_pass",
)
edit(
    "11.4",
    "all cotangents start from zero",
    "Which cotangents do the inputs have before the first equation is transposed?",
    "dict(zip(linear_inputs, before, strict=False))",
    "{}",
    target="backward_pass",
)
edit(
    "11.4",
    "an operation has one result",
    "A scan has a carry and outputs. How many cotangents does its rule want?",
    "given = cts if eqn.primitive.multiple_results else cts[0]",
    "given = cts[0]",
    target="backward_pass",
)
edit(
    "11.4",
    "the rule is called in any case",
    "All cotangents are Zero. What could a rule return but Zero?",
    "if all(type(ct) is Zero for ct in cotangents) and not jaxpr.effects:",
    "if False:",
    target="backward_pass",
)
edit(
    "11.4",
    "an equation without cotangents need not be run",
    "The program prints. Does it still print when nobody wants its derivative?",
    " and not jaxpr.effects:",
    ":",
    target="backward_pass",
)
edit(
    "11.4",
    "a scalar counts once",
    "2.0 was added to each of 12 elements. What is its cotangent?",
    "return reduce_sum(ct, range(len(shape)))",
    "return reshape(ct, (-1,))[0]",
    target="unbroadcast",
)
edit(
    "11.4",
    "the sum removes an axis of size 1",
    "The operand was of shape (2, 1). What is the shape of its cotangent?",
    "return reshape(reduce_sum(ct, axes), aval.shape)",
    "return reduce_sum(ct, axes)",
    target="unbroadcast",
)
edit(
    "11.4",
    "the mean is as good as the sum",
    "2.0 was added to each of 12 elements. Is its cotangent their mean, or their sum?",
    "return reshape(reduce_sum(ct, axes), aval.shape)",
    "return reshape(reduce_sum(ct, axes), aval.shape) / float(np.prod([shape[i] for i in axes]))",
    target="unbroadcast",
)

# --- 11.5 grad ----------------------------------------------------------------------------------------------------


@mutant(
    "11.5",
    "an argument is one array",
    "The argument is a dict of arrays. What do you check, and what do you return?",
    target="value_and_grad",
)
def one_array(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    numbers = as_argnums(argnums)

    def value_and_gradient(*args, **kwargs):
        fun_of_some, some = fix_others(fun, numbers, argnums, args, kwargs)
        for x in some:
            check_input("grad", x, holomorphic, allow_int)
        value, fun_vjp, *aux = vjp(fun_of_some, *some, has_aux=has_aux)
        check_scalar(value)
        check_output("grad", value, holomorphic)
        grads = fun_vjp(lax.full_like(value, 1, shape=()))
        grads = grads if isinstance(numbers, tuple) else grads[0]
        return ((value, *aux) if has_aux else value), grads

    return value_and_gradient


edit(
    "11.5",
    "the first argument is meant",
    "`grad(f, argnums=1)`: with respect to which argument?",
    "fix_others(fun, numbers, argnums, args, kwargs)",
    "fix_others(fun, 0, 0, args, kwargs)",
    target="value_and_grad",
)
edit(
    "11.5",
    "an argnum and a tuple of one argnum are the same",
    "`grad(f, argnums=1)` and `grad(f, argnums=(1,))`: which of the two returns a tuple?",
    "grads = grads if isinstance(numbers, tuple) else grads[0]",
    "grads = grads if len(grads) > 1 else grads[0]",
    target="value_and_grad",
)
edit(
    "11.5",
    "the value is computed again",
    "What did `vjp` return besides the function?",
    "        return ((value, *aux) if has_aux else value), grads",
    "        if not has_aux:\n            value = fun(*args, **kwargs)\n        return ((value, *aux) if has_aux else value), grads",
    target="value_and_grad",
)
edit(
    "11.5",
    "the other data are differentiated, too",
    "`fun` returns a pair. Which part is differentiated?",
    "value, fun_vjp, *aux = vjp(fun_of_some, *some, has_aux=has_aux)",
    "value, fun_vjp, *aux = vjp(fun_of_some, *some)",
    target="value_and_grad",
)
edit(
    "11.5",
    "with `has_aux`, the other data stand beside value and gradient",
    "With `has_aux`, how many parts does the result of `value_and_grad` have?",
    "return ((value, *aux) if has_aux else value), grads",
    "return (value, grads, *aux)",
    target="value_and_grad",
)
edit(
    "11.5",
    "the gradient of an array is that of its sum",
    "The result has four elements. The gradient of which one do you return?",
    "        check_scalar(value)\n",
    "        if not isinstance(value, tuple):\n"
    "            value, fun_vjp = vjp(lambda *some: fun_of_some(*some).sum(), *some)\n",
    target="value_and_grad",
)
edit(
    "11.5",
    "an array of shape (1,) is a scalar",
    "Is an array of one element a scalar?",
    "        check_scalar(value)\n",
    "        if getattr(value, 'size', 2) != 1:\n            check_scalar(value)\n        value = lax.reshape(value, ())\n",
    target="value_and_grad",
)
edit(
    "11.5",
    "the tangent of an integer is an integer",
    "By how little can an integer change?",
    'check_input("grad", leaf, holomorphic, allow_int)',
    'check_input("grad", leaf, holomorphic, True)',
    target="value_and_grad",
)
edit(
    "11.5",
    "whatever comes out can be differentiated",
    "An index comes out of `argmax`. What would its gradient say?",
    '        check_output("grad", value, holomorphic)\n',
    "",
    target="value_and_grad",
)
edit(
    "11.5",
    "grad returns the value as well",
    "What does `grad(f)(x)` return?",
    "return (grads, value[1]) if has_aux else grads",
    "return (grads, value[1]) if has_aux else (value, grads)",
    target="grad",
)

# --- 11.6 A loop, backwards ---------------------------------------------------------------------------------------

edit(
    "11.6",
    "the loop of cotangents runs in the same direction",
    "Which step of the loop do you transpose first?",
    "reverse=not reverse,",
    "reverse=reverse,",
    target="transpose_scan",
)
edit(
    "11.6",
    "the loop of cotangents always has `reverse=True`",
    "The loop ran from its end to its start. Where does its transpose begin?",
    "reverse=not reverse,",
    "reverse=True,",
    target="transpose_scan",
)
edit(
    "11.6",
    "the start of the loop has no cotangent",
    "Which output of the transposed loop is the cotangent of the carry that went in?",
    "of_carry = [ct if is_undefined(x) else None for x, ct in zip(carry, made, strict=False)]",
    "of_carry = [g if is_undefined(x) else None for x, g, _ in zip(carry, ct_carry, made, strict=False)]",
    target="transpose_scan",
)
edit(
    "11.6",
    "only the last carry has a cotangent",
    "Each step has an output, and each of those has a cotangent. Where is it added?",
    "    ct_carry = [instantiate_zeros(ct) for ct in ct_carry]\n",
    "    ct_carry = [instantiate_zeros(ct) for ct in ct_carry]\n    ct_ys = [Zero(core.get_aval(ct)) for ct in ct_ys]\n",
    target="transpose_scan",
)
edit(
    "11.6",
    "every output has a cotangent",
    "Nobody uses an output. Does the transposed loop scan over an array of zeros for it?",
    "    nonzero =",
    "    ct_ys = [instantiate_zeros(ct) for ct in ct_ys]\n    nonzero =",
    target="transpose_scan",
)
edit(
    "11.6",
    "every operand has a cotangent",
    "A part of the carry is a value, not linear. Who asks for its cotangent?",
    "of_carry = [ct if is_undefined(x) else None for x, ct in zip(carry, made, strict=False)]",
    "of_carry = [ct for _, ct in zip(carry, made, strict=False)]",
    target="transpose_scan",
)
edit(
    "11.6",
    "a constant of the body gets one cotangent only",
    "A constant was used in every step. What does the last trip of the transposed loop know of the trips before?",
    "backward_pass(jaxpr, jaxpr.consts, inputs, cts, before=sums)",
    "backward_pass(jaxpr, jaxpr.consts, inputs, cts)",
    target="transposed_body",
)
edit(
    "11.6",
    "all cotangents start from zero",
    "Which cotangent of the carry comes from the step after this one?",
    "cts = [*ct_carry, *ad.with_zeros(ct_ys, nonzero_ys, jaxpr.out_avals[num_carry:])]",
    "cts = [*(Zero(x.aval) for x in ct_carry), *ad.with_zeros(ct_ys, nonzero_ys, jaxpr.out_avals[num_carry:])]",
    target="transposed_body",
)
edit(
    "11.6",
    "a second cotangent replaces the first",
    "The sums go round. Which of them is handed to the next trip: that of this step, or that of all so far?",
    "return [instantiate_zeros(ct) for ct in found if ct is not None]",
    "outs = [instantiate_zeros(ct) for ct in found if ct is not None]\n"
    "        return [x - y for x, y in zip(outs, sums)] + outs[num_sums:]",
    target="transposed_body",
)

# --- 11.7 Programs that have a gradient ---------------------------------------------------------------------------


@mutant(
    "11.7",
    "a masked nan is harmless",
    "`where` throws the nan away. What does its gradient do with the branch that was not taken: 0 times what?",
    target="entropy",
)
def masks_the_result(p):
    return -jnp.sum(jnp.where(p > 0, p * jnp.log(p), 0.0))


@mutant(
    "11.7",
    "a small number makes logarithms safe",
    "What is the gradient at 0 now, and what is the entropy of very small probabilities?",
    target="entropy",
)
def adds_an_epsilon(p):
    return -jnp.sum(p * jnp.log(p + 1e-6))


@mutant(
    "11.7",
    "the gradient can be corrected afterwards",
    "Your rule corrects the first derivative. What is the derivative of the rule itself where p is 0?",
    target="entropy",
)
def mends_the_gradient(p):
    @jax.custom_jvp
    def f(p):
        return -jnp.sum(jnp.where(p > 0, p * jnp.log(p), 0.0))

    @f.defjvp
    def _(primals, tangents):
        [p], [t] = primals, tangents
        slope = -jnp.log(p) - 1
        return f(p), jnp.sum(t * jnp.where(jnp.isinf(slope), 0.0, slope))

    return f(p)


@mutant(
    "11.7",
    "a while loop can be reversed",
    "How many steps were there, and what was the carry in each? Where would a while loop keep that?",
    target="cube_root",
)
def by_while(a, steps):
    def goes_on(state):
        return state[0] < steps

    def step(state):
        i, x = state
        return i + 1, x - (x**3 - a) / (3 * x**2)

    return lax.while_loop(goes_on, step, (0, jnp.ones_like(a)))[1]


@mutant(
    "11.7", "the compiler will not mind", "How many equations does your program for 500 steps have?", target="cube_root"
)
def unrolled(a, steps):
    x = jnp.ones_like(a)
    for _ in range(steps):
        x = x - (x**3 - a) / (3 * x**2)
    return x


@mutant(
    "11.7",
    "a loop can be treated as a constant",
    "Your loop has no derivative, so the gradient is 0, or too small. How does the root depend on a?",
    target="cube_root",
)
def stops(a, steps):
    b = lax.stop_gradient(a)
    return lax.fori_loop(0, steps, lambda i, x: x - (x**3 - b) / (3 * x**2), jnp.ones_like(a))


@mutant(
    "11.7",
    "the number of steps does not matter",
    "What is your answer after 3 steps, where Newton's method is still on its way?",
    target="cube_root",
)
def at_once(a, steps):
    return a ** (1 / 3)


@mutant(
    "11.7",
    "values that are kept cost nothing",
    "Count what `jax.vjp(f, x, weights)[1]` holds. What of it could be computed from the x of a layer?",
    target="through_layers",
)
def keeps_all(x, weights):
    return lax.scan(lambda x, w: (jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2))), None), x, weights)[0]


@mutant(
    "11.7",
    "nothing needs to be kept",
    "The whole loop is computed again on the way back. What does the second run keep?",
    target="through_layers",
)
def remembers_nothing(x, weights):
    @jax.checkpoint
    def f(x, weights):
        return lax.scan(lambda x, w: (jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2))), None), x, weights)[0]

    return f(x, weights)


# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("11.1", "with operators and loops", target="jvp_logistic")
def slope_first(g, y, x):
    return (y - y * y) * g


@also_right("11.1", "with operators and loops", target="jvp_extreme")
def weights(g, out, x, *, axes):
    kept = reshape(out, [1 if i in axes else n for i, n in enumerate(x.shape)])
    weight = convert_element_type(eq(x, kept), x.dtype)
    return (g * weight).sum(tuple(axes)) / weight.sum(tuple(axes))


@also_right("11.1", "with operators and loops", target="sum_of_shares")
def adds_up(primitive, shares, primals, tangents, **params):
    out = primitive.bind(*primals, **params)
    total = zero_tangent(out)
    for share, tangent in zip(shares, tangents, strict=False):
        if share is None or isinstance(tangent, Zero):
            continue
        total = add_tangents(total, share(tangent, out, *primals, **params))
    return out, total


@also_right("11.1", "row by row", target="jvp_logistic")
def expanded(g, y, x):
    return sub(mul(g, y), mul(mul(g, y), y))


@also_right("11.1", "row by row", target="jvp_extreme")
def chosen(g, out, x, *, axes):
    kept = [i for i in range(x.ndim) if i not in axes]
    order = (*kept, *axes)
    rows, dots = (v.transpose(order).reshape(*out.shape, -1) for v in (x, g))
    is_extreme = (rows == out[..., None]).astype(g.dtype)
    return (dots * is_extreme).sum(-1) / is_extreme.sum(-1)


@also_right("11.2", "early returns, and pairs one by one", target="DualTrace.process_primitive")
def one_by_one(self, primitive, args, params):
    primals, tangents = [], []
    for x in args:
        primal, tangent = self.pair(x)
        primals.append(primal)
        tangents.append(tangent)
    if not [t for t in tangents if not isinstance(t, Zero)]:
        with core.set_current_trace(self.parent):
            return primitive.bind(*primals, **params)
    result = self.differentiate(primitive, primals, tangents, params)
    if not primitive.multiple_results:
        return self.with_tangent(*result)
    return list(map(self.with_tangent, *result))


@also_right("11.2", "early returns, and pairs one by one", target="jvp")
def with_a_loop(fun, primals, tangents, aux=None):
    trace = JVPTrace(core.current_trace())
    arguments = list(map(trace.with_tangent, primals, tangents))
    try:
        with core.set_current_trace(trace):
            outs = fun(*arguments)
        for i, x in enumerate(aux or ()):
            aux[i] = trace.pair(x)[0]
        pairs = list(map(trace.pair, outs))
    finally:
        trace.end()
    return [x for x, _ in pairs], [t for _, t in pairs]


@also_right("11.2", "early returns, and pairs one by one", target="jvp_jaxpr")
def by_hand(jaxpr, nonzero, instantiate):
    n, found = len(jaxpr.invars), []

    def both(*values):
        dots = list(values[n:])
        tangents = []
        for aval, nz in zip(jaxpr.in_avals, nonzero, strict=False):
            tangents.append(dots.pop(0) if nz else Zero(tangent_aval(aval)))
        outs, made = jvp(jaxpr_as_fun(jaxpr), list(values[:n]), tangents)
        result = list(outs)
        for i, t in enumerate(made):
            wanted = instantiate if instantiate is True or instantiate is False else instantiate[i]
            t = instantiate_zeros(t) if wanted else t
            found.append(not isinstance(t, Zero))
            if found[-1]:
                result.append(t)
        return result

    avals = jaxpr.in_avals + [tangent_aval(jaxpr.in_avals[i]) for i in range(n) if nonzero[i]]
    program = partial_eval.trace_to_jaxpr(both, avals, jaxpr.debug_info.with_unknown_names())
    return program, tuple(found)


@also_right("11.2", "asking the tracer", target="DualTrace.process_primitive")
def asks_the_tracer(self, primitive, args, params):
    primals, tangents = self.pairs(args)
    if any(not isinstance(t, Zero) for t in tangents):
        out, tangent = self.differentiate(primitive, primals, tangents, params)
        if primitive.multiple_results:
            return [self.with_tangent(*pair) for pair in zip(out, tangent, strict=False)]
        return self.with_tangent(out, tangent)
    with core.set_current_trace(self.parent):
        return primitive.bind(*primals, **params)


@also_right("11.3", "the other question first", target="PartialTrace.process_primitive")
def known_first(self, primitive, args, params):
    unknown = [x for x in args if self.is_tangent(x)]
    if not unknown:
        with core.set_current_trace(self.parent):
            return primitive.bind(*args, **params)
    return self.write_down(primitive, args, params)


@also_right("11.3", "the other question first", target="linearize")
def step_by_step(fun, primals, debug_info, aux=None):
    around = core.current_trace()
    writer = DynamicJaxprTrace(around, debug_info)
    own = LinearizeTrace(around, writer)
    types = [tangent_aval(core.get_aval(x)) for x in primals]
    arguments = list(map(own.new_arg, primals, types))
    try:
        with core.set_current_trace(own):
            results = list(fun(*arguments))
        if aux is not None:
            aux[:] = [own.strip(x) for x in aux]
        outs, tangents = own.pairs(results)
        program = finish(writer, tangents, debug_info)
    finally:
        writer.end()
        own.end()
    return outs, program


@also_right("11.3", "the function unpacked", target="linearize")
def unpacked(fun, primals, debug_info, aux=None):
    parent = core.current_trace()
    tangent_trace = DynamicJaxprTrace(parent, debug_info)
    trace = LinearizeTrace(parent, tangent_trace)
    try:
        avals = [tangent_aval(core.typeof(x)) for x in primals]
        with core.set_current_trace(trace):
            flat = fun(*map(trace.new_arg, primals, avals))
        pairs = [trace.pair(x) for x in flat]
        if aux:
            aux[:] = map(trace.strip, aux)
        program = finish(tangent_trace, [t for _, t in pairs], debug_info)
        return [x for x, _ in pairs], program
    finally:
        for each in (trace, tangent_trace):
            each.end()


@also_right("11.4", "with lists of what was told", target="backward_pass")
def lists(jaxpr, consts, inputs, cotangents, before=()):
    if not jaxpr.effects and all(isinstance(ct, Zero) for ct in cotangents):
        known = iter(before)
        return [next(known, Zero(x.aval)) if is_undefined(x) else None for x in inputs]
    values, linear = linear_equations(jaxpr, consts, inputs)
    told = {}

    def tell(atoms, cts):
        for atom, ct in zip(atoms, cts, strict=False):
            if ct is not None and isinstance(atom, Var) and is_undefined(read(values, atom)):
                told.setdefault(atom, []).append(ct)

    def sum_of(var):
        return functools.reduce(add_tangents, told.get(var, ()), Zero(tangent_aval(var.aval)))

    tell([v for v, x in zip(jaxpr.invars, inputs, strict=False) if is_undefined(x)], before)
    tell(jaxpr.outvars, cotangents)
    for eqn in linear[::-1]:
        cts = list(map(sum_of, eqn.outvars))
        if not eqn.primitive.multiple_results:
            [cts] = cts
        rule = transpose_rule(eqn.primitive)
        tell(eqn.invars, rule(cts, *[read(values, a) for a in eqn.invars], **eqn.params))
    return [sum_of(v) if is_undefined(x) else None for v, x in zip(jaxpr.invars, inputs, strict=False)]


@also_right("11.4", "with lists of what was told", target="unbroadcast")
def keeps_axes(aval, ct):
    if aval.shape == np.shape(ct):
        return ct
    if aval.shape == ():
        return ct.sum()
    return ct.sum(tuple(i for i in range(ct.ndim) if aval.shape[i] != ct.shape[i]), keepdims=True)


@also_right("11.4", "with zeros to begin with", target="backward_pass")
def zeros_first(jaxpr, consts, inputs, cotangents, before=()):
    unknown = [is_undefined(x) for x in inputs]
    if not jaxpr.effects and not [ct for ct in cotangents if type(ct) is not Zero]:
        known = list(before)
        return [(known.pop(0) if known else Zero(x.aval)) if u else None for x, u in zip(inputs, unknown, strict=False)]
    values, linear = linear_equations(jaxpr, consts, inputs)
    count = {v: Zero(tangent_aval(v.aval)) for v, x in values.items() if is_undefined(x)}
    first = [v for v, u in zip(jaxpr.invars, unknown, strict=False) if u]
    count.update(zip(first, before, strict=False))
    for atom, ct in zip(jaxpr.outvars, cotangents, strict=False):
        if isinstance(atom, Var) and atom in count:
            count[atom] = add_tangents(count[atom], ct)
    while linear:
        eqn = linear.pop()
        cts = [count[v] for v in eqn.outvars]
        operands = [read(values, atom) for atom in eqn.invars]
        out = transpose_rule(eqn.primitive)(cts if eqn.primitive.multiple_results else cts[0], *operands, **eqn.params)
        for atom, x, ct in zip(eqn.invars, operands, out, strict=False):
            if is_undefined(x) and ct is not None:
                count[atom] = add_tangents(count[atom], ct)
    return [count[v] if u else None for v, u in zip(jaxpr.invars, unknown, strict=False)]


@also_right("11.5", "value_and_grad by hand", target="value_and_grad")
def by_hand_too(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    api_util.check_callable(fun)
    which = as_argnums(argnums)

    @functools.wraps(fun)
    def both(*args, **kwargs):
        f, chosen = fix_others(fun, which, argnums, args, kwargs)
        for x in chosen:
            for leaf in tree_leaves(x):
                check_input("grad", leaf, holomorphic, allow_int)
        result = vjp(f, *chosen, has_aux=has_aux)
        value, pull_back = result[0], result[1]
        check_scalar(value)
        check_output("grad", value, holomorphic)
        grads = pull_back(lax.full_like(value, 1))
        if isinstance(which, int):
            (grads,) = grads
        if has_aux:
            return (value, result[2]), grads
        return value, grads

    return both


@also_right("11.5", "value_and_grad by hand", target="grad")
def without_the_value(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    both = value_and_grad(fun, argnums=argnums, has_aux=has_aux, holomorphic=holomorphic, allow_int=allow_int)

    @functools.wraps(fun)
    def gradient(*args, **kwargs):
        result, slope = both(*args, **kwargs)
        if not has_aux:
            return slope
        return slope, result[1]

    return gradient


@also_right("11.5", "grad by a function of its own", target="grad")
def with_a_partial(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    def second(*args, **kwargs):
        out = both(*args, **kwargs)
        return (out[1], out[0][1]) if has_aux else out[1]

    return functools.wraps(fun)(second)


@also_right("11.6", "loops of Python for the bookkeeping", target="transpose_scan")
def plain_loops(cts, *operands, reverse, jaxpr, num_consts, num_carry, **params):
    first_x = num_consts + num_carry
    shared, sums, rows = [], [], []
    for x in operands[:num_consts]:
        if is_undefined(x):
            sums.append(zeros_like_aval(tangent_aval(x.aval)))
        else:
            shared.append(x)
    rows += [x for x in operands[first_x:] if not is_undefined(x)]
    back = sums + [instantiate_zeros(ct) for ct in cts[:num_carry]]
    ys = cts[num_carry:]
    given = [not isinstance(ct, Zero) for ct in ys]
    over = [ct for ct in ys if not isinstance(ct, Zero)] + rows
    types = [core.get_aval(x) for x in shared + back] + [element_of(core.get_aval(x)) for x in over]
    body = transposed_body(jaxpr, len(shared), len(sums), num_carry, len(rows), tuple(given), tuple(types))
    counts = {"num_consts": len(shared), "num_carry": len(back)}
    outs = list(scan_p.bind(*shared, *back, *over, jaxpr=body, reverse=not reverse, **counts, **params))
    result = []
    for i, x in enumerate(operands):
        takes_one = is_undefined(x) or num_consts <= i < first_x
        ct = outs.pop(0) if takes_one else None
        result.append(ct if is_undefined(x) else None)
    return result


@also_right("11.6", "loops of Python for the bookkeeping", target="transposed_body")
def plain_body(jaxpr, num_shared, num_sums, num_carry, num_rows, nonzero_ys, avals):
    def body(*args):
        args = list(args)
        shared, args = args[:num_shared], args[num_shared:]
        sums, args = args[:num_sums], args[num_sums:]
        carry, args = args[:num_carry], args[num_carry:]
        ys = [
            args.pop(0) if nz else Zero(tangent_aval(aval))
            for nz, aval in zip(nonzero_ys, jaxpr.out_avals[num_carry:], strict=False)
        ]
        middle = jaxpr.in_avals[num_shared : len(jaxpr.in_avals) - num_rows]
        unknown = [UndefinedPrimal(tangent_aval(aval)) for aval in middle]
        cts = backward_pass(jaxpr, jaxpr.consts, shared + unknown + args, carry + ys, sums)
        return [instantiate_zeros(ct) for ct in cts[num_shared : num_shared + len(unknown)]]

    return trace_to_jaxpr(body, avals, jaxpr.debug_info.with_unknown_names())


@also_right("11.6", "the sums added by hand", target="transposed_body")
def adds_sums(jaxpr, num_shared, num_sums, num_carry, num_rows, nonzero_ys, avals):
    def body(*args):
        sizes = [num_shared, num_sums, num_carry, sum(nonzero_ys)]
        shared, sums, ct_carry, ct_ys, rows = split_list(args, sizes)
        linear = jaxpr.in_avals[num_shared : len(jaxpr.invars) - num_rows]
        inputs = [*shared, *(UndefinedPrimal(tangent_aval(aval)) for aval in linear), *rows]
        cts = [*ct_carry, *ad.with_zeros(ct_ys, nonzero_ys, jaxpr.out_avals[num_carry:])]
        found = [ct for ct in backward_pass(jaxpr, jaxpr.consts, inputs, cts) if ct is not None]
        totals = [add_tangents(total, ct) for total, ct in zip(sums, found, strict=False)]
        return totals + [instantiate_zeros(ct) for ct in found[num_sums:]]

    return trace_to_jaxpr(body, avals, jaxpr.debug_info.with_unknown_names())


@also_right("11.7", "other functions of numpy", target="entropy")
def safe_logarithm(p):
    logs = jnp.log(jnp.where(p == 0, 1, p))
    return jnp.sum(jnp.where(p == 0, 0, -p * logs))


@also_right("11.7", "other functions of numpy", target="cube_root")
def by_scan(a, steps):
    return lax.scan(lambda x, _: (x - (x**3 - a) / (3 * x**2), None), jnp.ones_like(a), None, length=steps)[0]


@also_right("11.7", "other functions of numpy", target="through_layers")
def checkpointed_step(x, weights):
    def step(x, w):
        return jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2))), None

    return lax.scan(jax.checkpoint(step), x, weights)[0]


@also_right("11.7", "with a way back of its own", target="through_layers")
def layers_with_a_rule(x, weights):
    def one(w, x):
        return jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2)))

    @jax.custom_vjp
    def layer(x, w):
        return one(w, x)

    def back(saved, ct):
        x, w = saved
        to_w, to_x = jax.vjp(one, w, x)[1](ct)
        return to_x, to_w

    layer.defvjp(lambda x, w: (layer(x, w), (x, w)), back)
    return lax.scan(lambda x, w: (layer(x, w), None), x, weights)[0]


@also_right("11.7", "the product of x log x, and one step by hand", target="entropy")
def by_product(p):
    safe = jnp.where(p > 0, p, 1.0)
    return jnp.sum(-safe * jnp.log(safe))


@also_right("11.7", "the product of x log x, and one step by hand", target="cube_root")
def simplified(a, steps):
    return lax.fori_loop(0, steps, lambda _, x: (2 * x + a / (x * x)) / 3, jnp.ones_like(a))


@also_right("11.1", "in the words of numpy", target="jvp_logistic")
def logistic_with_jnp(g, y, x):
    return jnp.multiply(g, y - jnp.square(y))


@also_right("11.1", "in the words of numpy", target="jvp_extreme")
def extreme_with_jnp(g, out, x, *, axes):
    is_extreme = jnp.equal(x, jnp.expand_dims(out, axes)).astype(g.dtype)
    return jnp.sum(g * is_extreme, axis=axes) / jnp.sum(is_extreme, axis=axes)


@also_right("11.4", "in the words of numpy", target="unbroadcast")
def unbroadcast_with_jnp(aval, ct):
    if np.shape(ct) == aval.shape:
        return ct
    if not aval.shape:
        return jnp.sum(ct)
    axes = tuple(i for i, size in enumerate(aval.shape) if size == 1)
    return jnp.sum(ct, axis=axes, keepdims=True)


# --- What learners wrote ------------------------------------------------------------------------------------------


@mutant(
    "11.1",
    "an element near the maximum is a maximum",
    "x is [0, 0.0001]. Which of the two is the maximum?",
    target="jvp_extreme",
)
def nearly(g, out, x, *, axes):
    shape = [1 if i in axes else size for i, size in enumerate(x.shape)]
    away = sub(x, reshape(out, shape))
    is_extreme = convert_element_type(mul(away, away) < 1e-6, g.dtype)
    return div(reduce_sum(mul(g, is_extreme), axes), reduce_sum(is_extreme, axes))


@mutant(
    "11.1",
    "floats are never equal",
    "The maximum is one of the elements, bit by bit. What does `isclose` add to that?",
    target="jvp_extreme",
)
def with_isclose(g, out, x, *, axes):
    shape = [1 if i in axes else size for i, size in enumerate(x.shape)]
    is_extreme = convert_element_type(jnp.isclose(x, reshape(out, shape)), g.dtype)
    return div(reduce_sum(mul(g, is_extreme), axes), reduce_sum(is_extreme, axes))


edit(
    "11.1",
    "a mask is always a float32",
    "x and its tangent are float16. Which dtype does the mask have?",
    "eq(x, reshape(out, shape)), g.dtype",
    'eq(x, reshape(out, shape)), "float32"',
    target="jvp_extreme",
)
edit(
    "11.1",
    "the number 1 is always a float32",
    "y is float16. Which dtype must 1 - y have?",
    "sub(constant_like(y, 1), y)",
    "sub(np.float32(1), y)",
    target="jvp_logistic",
)
edit(
    "11.3",
    "a tangent has the type of its value",
    "Which type does the tangent of an int32 have?",
    "tangent_aval(core.get_aval(x))",
    "core.get_aval(x)",
    target="linearize",
)
edit(
    "11.3",
    "integers have no tangent",
    "`finish` wants an argument for each of `primals`. Does it get one for an integer?",
    "[trace.new_arg(x, tangent_aval(core.get_aval(x))) for x in primals]",
    '[trace.new_arg(x, tangent_aval(core.get_aval(x))) if core.get_aval(x).dtype.kind == "f" else x for x in primals]',
    target="linearize",
)
edit(
    "11.4",
    "an equation is transposed only if all of its results have cotangents",
    "A scan has a carry that nobody uses, and outputs that count. Is there something to do?",
    "        given = cts if",
    "        if any(type(ct) is Zero for ct in cts):\n            continue\n        given = cts if",
    target="backward_pass",
)
edit(
    "11.4",
    "an equation has each operand only once",
    "In `add x x`, what is the cotangent of x? What becomes of equal keys of a dict?",
    "in zip(eqn.invars, transpose_rule(eqn.primitive)(cts, *operands, **params), strict=True):",
    "in dict(zip(eqn.invars, transpose_rule(eqn.primitive)(cts, *operands, **params), strict=True)).items():",
    target="backward_pass",
)
edit(
    "11.4",
    "`before` has an entry for each input",
    "The first input is a value, the second one is linear. To which of the two does the first of `before` belong?",
    "dict(zip(linear_inputs, before, strict=False))",
    "{var: ct for var, ct in zip(jaxpr.invars, before, strict=False) if var in linear_inputs}",
    target="backward_pass",
)
edit(
    "11.4",
    "if all cotangents are Zero, `before` does not matter",
    "All cotangents are Zero, and an input has one in `before`. What is the input's sum?",
    "next(known, Zero(x.aval))",
    "Zero(x.aval)",
    target="backward_pass",
)
edit(
    "11.4",
    "a sum is always a float32",
    "The operand is float16. Which dtype does its cotangent have?",
    "return reduce_sum(ct, range(len(shape)))",
    'return reduce_sum(convert_element_type(ct, "float32"), range(len(shape)))',
    target="unbroadcast",
)
edit(
    "11.5",
    "the other data are arrays",
    "The other data (`has_aux`) may be a string. What is `asarray` of that?",
    "((value, *aux) if has_aux else value), grads",
    "((value, *(jax.tree.map(jnp.asarray, one) for one in aux)) if has_aux else value), grads",
    target="value_and_grad",
)


@mutant(
    "11.6",
    "cotangents of constants are stacked, and summed up later",
    "A weight has a million numbers, and the loop a thousand steps. How many numbers do you stack?",
    target="transpose_scan",
)
def stacks_constants(cts, *operands, reverse, jaxpr, num_consts, num_carry, **params):
    consts, carry, xs = split_list(operands, [num_consts, num_carry])
    ct_carry, ct_ys = split_list(cts, [num_carry])
    ct_carry = [instantiate_zeros(ct) for ct in ct_carry]
    shared = [x for x in consts if not is_undefined(x)]
    rows = [x for x in xs if not is_undefined(x)]
    linear = [x for x in consts if is_undefined(x)]
    sums = [zeros_like_aval(tangent_aval(x.aval)) for x in linear]
    nonzero = tuple(type(ct) is not Zero for ct in ct_ys)
    scanned = [*compress(ct_ys, nonzero), *rows]
    start = [*sums, *ct_carry]
    avals = (*map(core.get_aval, (*shared, *start)), *(element_of(core.get_aval(x)) for x in scanned))
    body = transposed_body(jaxpr, len(shared), len(sums), num_carry, len(rows), nonzero, avals)
    count = len(sums)

    def step(*args):
        given = [*args[: len(shared)], *sums, *args[len(shared) :]]
        found = jaxpr_as_fun(body)(*given)
        return [*found[count : count + num_carry], *found[:count], *found[count + num_carry :]]

    inner = (*map(core.get_aval, (*shared, *ct_carry)), *(element_of(core.get_aval(x)) for x in scanned))
    made = scan_p.bind(
        *shared, *ct_carry, *scanned, reverse=not reverse, jaxpr=trace_to_jaxpr(step, inner, jaxpr.debug_info.with_unknown_names()),
        num_consts=len(shared), num_carry=num_carry, **params,
    )  # fmt: skip
    stacked = iter([reduce_sum(x, (0,)) for x in made[num_carry : num_carry + count]])
    of_xs = iter(made[num_carry + count :])
    of_consts = [next(stacked) if is_undefined(x) else None for x in consts]
    of_carry = [ct if is_undefined(x) else None for x, ct in zip(carry, made, strict=False)]
    return [*of_consts, *of_carry, *(next(of_xs) if is_undefined(x) else None for x in xs)]


edit(
    "11.4",
    "a cotangent is an array",
    "`jax.vjp(lambda x, y: x + y, 2.0, 3.0)[1](1.0)`: what is the cotangent that your rule is handed?",
    "shape = np.shape(ct)",
    "shape = ct.shape",
    target="unbroadcast",
)


@mutant(
    "11.4",
    "a sum over no axes does no harm",
    "Most operations broadcast nothing. What does the backward pass of each of them have in it, that computes nothing?",
    target="unbroadcast",
)
def sums_along_no_axis(aval, ct):
    shape = np.shape(ct)
    if not aval.shape:
        return reduce_sum(ct, range(len(shape)))
    axes = [i for i, (new, old) in enumerate(zip(shape, aval.shape, strict=True)) if new != old]
    return reshape(reduce_sum(ct, axes), aval.shape)


# --- what learners wrote who believed something else --------------------------------------------------------------


@mutant(
    "11.1",
    "the derivative of logistic needs an added 1e-6",
    "The derivative at 30 is about 1e-13. How much is yours?",
    target="jvp_logistic",
)
def logistic_eps(g, y, x):
    return mul(g, add(mul(y, sub(constant_like(y, 1), y)), constant_like(y, 1e-6)))


@mutant(
    "11.7",
    "an added 1e-6 in the logarithm does no harm",
    "How far is p log(p + 1e-6) from p log(p), for p = 1e-6?",
    target="entropy",
)
def entropy_eps(p):
    safe = jnp.where(p > 0, p, 1.0)
    return -jnp.sum(jnp.where(p > 0, p * jnp.log(safe + 1e-6), 0.0))


@mutant(
    "11.7",
    "the divisor of Newton's method needs an added 1e-6",
    "Is 3 x**2 ever 0 on the way from 1 to the root?",
    target="cube_root",
)
def root_eps(a, steps):
    def step(i, x):
        return x - (x**3 - a) / (3 * x**2 + 1e-6)

    return lax.fori_loop(0, steps, step, jnp.ones_like(a))


@mutant("11.7", "twenty steps are always enough", "How many steps does the caller ask for?", target="cube_root")
def twenty(a, steps):
    def step(i, x):
        return x - (x**3 - a) / (3 * x**2)

    return lax.fori_loop(0, min(steps, 20), step, jnp.ones_like(a))


@mutant(
    "11.1",
    "the number of maxima needs an added 1e-6",
    "At least one element is the maximum. If exactly one is, what is the mean of its tangent?",
    target="jvp_extreme",
)
def extreme_eps(g, out, x, *, axes):
    shape = [1 if i in axes else n for i, n in enumerate(x.shape)]
    there = convert_element_type(eq(x, reshape(out, shape)), g.dtype)
    total = reduce_sum(mul(g, there), tuple(axes))
    return div(total, lax.add(reduce_sum(there, tuple(axes)), constant_like(total, 1e-6)))


edit(
    "11.1",
    "a count fits into a byte",
    "How much is 127 + 1 in an int8?",
    "count = reduce_sum(is_extreme, axes)",
    'count = convert_element_type(reduce_sum(convert_element_type(is_extreme, "int8"), axes), g.dtype)',
    target="jvp_extreme",
)

edit(
    "11.1",
    "a result has the type of its first operand",
    "What is the type of `x > y`, and what is that of a sum?",
    "zero_tangent(out))",
    "zero_tangent(primals[0]))",
    target="sum_of_shares",
)

edit(
    "11.1",
    "there are always two operands",
    "How many operands does `select_n` have?",
    "zip(shares, tangents, strict=True)",
    "zip(shares[:2], tangents[:2], strict=True)",
    target="sum_of_shares",
)

edit(
    "11.2",
    "a tangent has the type of its value",
    "An integer cannot change by a little. What is the dtype of its tangent?",
    "tangent_aval(aval) for aval, nz in",
    "aval for aval, nz in",
    target="jvp_jaxpr",
)

edit(
    "11.3",
    "an operation without operands belongs to the linear program",
    "Which operand of `iota` is a tangent?",
    "any(map(self.is_tangent, args))",
    "not args or any(map(self.is_tangent, args))",
    target="PartialTrace.process_primitive",
)

edit(
    "11.4",
    "a Zero has the type of the value, not of its tangent",
    "An integer cannot change by a little. What is the dtype of its tangent?",
    "else Zero(tangent_aval(var.aval))",
    "else Zero(var.aval)",
    target="backward_pass",
)

edit(
    "11.4",
    "`consts` need not be used",
    "`backward_pass` gets `consts`. Which values should the constants have: these, or those in the jaxpr?",
    "linear_equations(jaxpr, consts, inputs)",
    "linear_equations(jaxpr, jaxpr.consts, inputs)",
    target="backward_pass",
)

edit(
    "11.4",
    "an equation without cotangents does nothing",
    "No result of an equation has a cotangent, but the equation prints. When does it print?",
    "given = cts if eqn.primitive.multiple_results else cts[0]",
    "if all(type(ct) is Zero for ct in cts):\n            continue\n        given = cts if eqn.primitive.multiple_results else cts[0]",
    target="backward_pass",
)

edit(
    "11.4",
    "the caller's list `before` may be changed",
    "`before` is the caller's list. What is in it after the call?",
    "totals: dict[Var, Any] = dict(zip(linear_inputs, before, strict=False))",
    "totals: dict[Var, Any] = dict(zip(linear_inputs, before, strict=False))\n    if isinstance(before, list):\n        before.clear()",
    target="backward_pass",
)

edit(
    "11.4",
    "a broadcast axis is longer than 1",
    "How long is an axis of size 1 that was broadcast to size 0?",
    "if new != old]",
    "if new > old]",
    target="unbroadcast",
)

edit(
    "11.4",
    "shapes with as many elements are the same",
    "Arrays of shape (0, 3) and of shape (0, 1) have as many elements. Are the shapes equal?",
    "if aval.shape == shape:",
    "if len(aval.shape) == len(shape) and aval.size == np.size(ct):",
    target="unbroadcast",
)

edit(
    "11.5",
    "the cotangent 1 only needs the dtype of the result",
    "Is the gradient of `x * x` at the Python number 3.0 weakly typed?",
    "lax.full_like(value, 1, shape=())",
    "jnp.ones((), value.dtype)",
    target="value_and_grad",
)

edit(
    "11.5",
    "`holomorphic` is only about the result",
    "`holomorphic=True`, and x is a float. Which check refuses it?",
    'check_input("grad", leaf, holomorphic, allow_int)',
    'check_input("grad", leaf, False, allow_int)',
    target="value_and_grad",
)


@mutant(
    "11.5",
    "an object that cannot be called is refused when the gradient is computed",
    "When is `grad(3)` an error: now, or when it is called?",
    target="value_and_grad",
)
def believes_who_is_called_says_later_that_he_cannot_be(
    fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False
):
    numbers = as_argnums(argnums)

    @wraps(fun)
    def both(*args, **kwargs):
        api_util.check_callable(fun)
        of_these, values = fix_others(fun, numbers, argnums, args, kwargs)
        for leaf in tree_leaves(values):
            check_input("grad", leaf, holomorphic, allow_int)
        out, pull, *aux = vjp(of_these, *values, has_aux=has_aux)
        check_scalar(out)
        check_output("grad", out, holomorphic)
        grads = pull(lax.full_like(out, 1))
        gradient = grads[0] if isinstance(numbers, int) else tuple(grads)
        return ((out, aux[0]) if has_aux else out, gradient)

    return both


@mutant(
    "11.5",
    "the arguments' types can be checked after the call",
    "`fun` fails with an integer. Which error does the caller of `grad(fun)` see?",
    target="value_and_grad",
)
def believes_types_are_looked_at_when_the_value_is_there(
    fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False
):
    api_util.check_callable(fun)
    numbers = as_argnums(argnums)

    @wraps(fun)
    def both(*args, **kwargs):
        of_these, values = fix_others(fun, numbers, argnums, args, kwargs)
        out, pull, *aux = vjp(of_these, *values, has_aux=has_aux)
        check_scalar(out)
        for leaf in tree_leaves(values):
            check_input("grad", leaf, holomorphic, allow_int)
        check_output("grad", out, holomorphic)
        grads = pull(lax.full_like(out, 1))
        gradient = grads[0] if isinstance(numbers, int) else tuple(grads)
        return ((out, aux[0]) if has_aux else out, gradient)

    return both


@mutant(
    "11.5",
    "gradients can be kept under the first argument",
    "The first argument is the same, and the second one is not. Is the gradient the same?",
    target="value_and_grad",
)
def believes_the_first_argument_tells_one_call_from_another(
    fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False
):
    api_util.check_callable(fun)
    numbers = as_argnums(argnums)
    kept = {}

    @wraps(fun)
    def both(*args, **kwargs):
        if args and kept.get("args") is args[0]:
            return kept["out"]
        of_these, values = fix_others(fun, numbers, argnums, args, kwargs)
        for leaf in tree_leaves(values):
            check_input("grad", leaf, holomorphic, allow_int)
        out, pull, *aux = vjp(of_these, *values, has_aux=has_aux)
        check_scalar(out)
        check_output("grad", out, holomorphic)
        grads = pull(lax.full_like(out, 1))
        gradient = grads[0] if isinstance(numbers, int) else tuple(grads)
        kept.update(args=args[0] if args else None, out=((out, aux[0]) if has_aux else out, gradient))
        return kept["out"]

    return both


@mutant(
    "11.5",
    "a new function has no name",
    "Which `__name__` should `value_and_grad(loss)` have?",
    target="value_and_grad",
)
def believes_a_new_function_has_no_name(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    api_util.check_callable(fun)
    numbers = as_argnums(argnums)

    def both(*args, **kwargs):
        of_these, values = fix_others(fun, numbers, argnums, args, kwargs)
        for leaf in tree_leaves(values):
            check_input("grad", leaf, holomorphic, allow_int)
        out, pull, *aux = vjp(of_these, *values, has_aux=has_aux)
        check_scalar(out)
        check_output("grad", out, holomorphic)
        grads = pull(lax.full_like(out, 1))
        gradient = grads[0] if isinstance(numbers, int) else tuple(grads)
        return ((out, aux[0]) if has_aux else out, gradient)

    return both


@mutant("11.5", "grad needs no name", "Which `__name__` should `grad(loss)` have?", target="grad")
def believes_grad_needs_no_name(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    def gradient_of(*args, **kwargs):
        out, gradient = both(*args, **kwargs)
        return (gradient, out[1]) if has_aux else gradient

    return gradient_of


@mutant(
    "11.5",
    "a gradient is always a float32",
    "What is the dtype of the gradient with respect to a float16?",
    target="grad",
)
def believes_a_gradient_is_of_float32(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @wraps(fun)
    def gradient_of(*args, **kwargs):
        out, gradient = both(*args, **kwargs)
        return (
            (gradient, out[1])
            if has_aux
            else jax.tree.map(lambda g: jnp.asarray(g, jnp.float32) if g.dtype == "float16" else g, gradient)
        )

    return gradient_of


edit(
    "11.6",
    "the loop of cotangents is not unrolled",
    "The scan had `unroll=4`. How should its transpose be unrolled?",
    "body = transposed_body(",
    'params["unroll"] = 1\n    body = transposed_body(',
    target="transpose_scan",
)

edit(
    "11.6",
    "if no output has a cotangent, there is nothing to do",
    "No output has a cotangent. Does the last carry have one?",
    "ct_carry = [instantiate_zeros(ct) for ct in ct_carry]",
    "nothing = ct_ys and all(type(ct) is Zero for ct in ct_ys)\n"
    "    if nothing:\n        return [Zero(tangent_aval(x.aval)) if is_undefined(x) else None for x in operands]\n"
    "    ct_carry = [instantiate_zeros(ct) for ct in ct_carry]",
    target="transpose_scan",
)

edit(
    "11.6",
    "all parts of the carry have the same type",
    "A number and a row go round. What is the type of the Zero of the row?",
    "ct_carry = [instantiate_zeros(ct) for ct in ct_carry]",
    "first = jaxpr.in_avals[num_consts]\n    ct_carry = [zeros_like_aval(first) if type(ct) is Zero else ct for ct in ct_carry]",
    target="transpose_scan",
)

edit(
    "11.6",
    "the body's jaxpr has no constants",
    "Where does a jaxpr keep the values of its constants?",
    "backward_pass(jaxpr, jaxpr.consts, inputs",
    "backward_pass(jaxpr, (), inputs",
    target="transposed_body",
)


@mutant(
    "11.3",
    "two arguments that are the same array share a tangent",
    "In `f(x, x)`, by how much does each of the arguments change?",
    target="linearize",
)
def each_array_once(fun, primals, debug_info, aux=None):
    outer = core.current_trace()
    tangents = DynamicJaxprTrace(outer, debug_info)
    trace = LinearizeTrace(outer, tangents)
    try:
        args = {id(x): trace.new_arg(x, tangent_aval(core.get_aval(x))) for x in primals}
        with core.set_current_trace(trace):
            outs = fun(*[args[id(x)] for x in primals])
        results, out_tangents = trace.pairs(outs)
        if aux is not None:
            aux[:] = map(trace.strip, aux)
        return results, finish(tangents, out_tangents, debug_info)
    finally:
        trace.end()
        tangents.end()


@mutant(
    "11.1",
    "the derivative of logistic is never 0",
    "logistic(30) is 1 in float32. How much does it change?",
    target="jvp_logistic",
)
def believes_no_sigmoid_is_quite_flat(g, y, x):
    return mul(g, mul(y, jnp.maximum(sub(constant_like(y, 1), y), 1e-07)))


@mutant("11.1", "infinities are never equal", "How much is inf - inf?", target="jvp_extreme")
def believes_infinities_are_never_equal(g, out, x, *, axes):
    shape = tuple((1 if k in axes else n for k, n in enumerate(x.shape)))
    chosen = (x - reshape(out, shape) == 0).astype(g.dtype)
    return jnp.sum(g * chosen, axis=axes) / jnp.sum(chosen, axis=axes)


@mutant(
    "11.1",
    "the maximum is the element with the largest absolute value",
    "In [3, -3], which element is the maximum?",
    target="jvp_extreme",
)
def believes_the_largest_is_the_farthest_from_0(g, out, x, *, axes):
    shape = tuple((1 if k in axes else n for k, n in enumerate(x.shape)))
    chosen = (jnp.abs(x) == jnp.abs(reshape(out, shape))).astype(g.dtype)
    return jnp.sum(g * chosen, axis=axes) / jnp.sum(chosen, axis=axes)


@mutant(
    "11.1",
    "the same value as two operands has one share",
    "In `x * x`, how many operands change?",
    target="sum_of_shares",
)
def believes_operands_that_are_one_value_change_once(primitive, shares, primals, tangents, **params):
    out = primitive.bind(*primals, **params)
    seen = 0
    total = zero_tangent(out)
    for share, tangent in zip(shares, tangents, strict=False):
        if any((tangent is t for t in tangents[:seen])):
            seen += 1
            continue
        seen += 1
        if share is not None and (not isinstance(tangent, Zero)):
            total = add_tangents(total, share(tangent, out, *primals, **params))
    return (out, total)


@mutant(
    "11.1",
    "the operands after one without a share have none, either",
    "The first share is None. Is there a second one?",
    target="sum_of_shares",
)
def believes_after_an_operand_without_a_share_there_is_none(primitive, shares, primals, tangents, **params):
    out = primitive.bind(*primals, **params)
    total = zero_tangent(out)
    for share, tangent in zip(shares, tangents, strict=False):
        if share is None:
            break
        if share is not None and (not isinstance(tangent, Zero)):
            total = add_tangents(total, share(tangent, out, *primals, **params))
    return (out, total)


@mutant(
    "11.2",
    "a rule always returns an array",
    "`sign(x)` does not change when x changes a little. Does its tangent need an array?",
    target="DualTrace.process_primitive",
)
def believes_what_a_rule_returns_is_an_array(self, primitive, args, params):
    primals, tangents = self.pairs(args)
    with core.set_current_trace(self.parent):
        if all((isinstance(t, Zero) for t in tangents)):
            return primitive.bind(*primals, **params)
        out, out_tangents = self.differentiate(primitive, primals, tangents, params)
    if primitive.multiple_results:
        return [self.with_tangent(p, t) for p, t in zip(out, out_tangents, strict=False)]
    return self.with_tangent(out, instantiate_zeros(out_tangents))


@mutant(
    "11.2",
    "`end` restores the trace that was current before",
    "Which trace is the current one after the call?",
    target="jvp",
)
def believes_a_trace_that_has_ended_is_not_the_current_one(fun, primals, tangents, aux=None):
    trace = JVPTrace(core.current_trace())
    try:
        if True:
            core.set_current_trace(trace).__enter__()
            outs = fun(*[trace.with_tangent(p, t) for p, t in zip(primals, tangents, strict=False)])
        found = trace.pairs(outs)
        if aux is not None:
            aux[:] = [trace.strip(x) for x in aux]
        return found
    finally:
        trace.end()


@mutant(
    "11.2",
    "constants are the first inputs",
    "The jaxpr has values for its constants. Who passes them?",
    target="jvp_jaxpr",
)
def believes_constants_are_the_first_inputs(jaxpr, nonzero, instantiate):
    avals = [v.aval for v in jaxpr.invars]
    t_avals = [tangent_aval(a) for a in avals]
    wanted = [instantiate] * len(jaxpr.outvars) if isinstance(instantiate, bool) else instantiate
    has = []

    def pairs(*args):
        primals, rest = (args[: len(avals)], args[len(avals) :])
        outs, tangents = jvp(jaxpr_as_fun(jaxpr, *jaxpr.consts), primals, ad.with_zeros(rest, nonzero, t_avals))
        tangents = [instantiate_zeros(t) if w else t for t, w in zip(tangents, wanted, strict=False)]
        has[:] = [not isinstance(t, Zero) for t in tangents]
        return [*outs, *[t for t in tangents if not isinstance(t, Zero)]]

    made = trace_to_jaxpr(pairs, [*avals, *[a for a, z in zip(t_avals, nonzero, strict=False) if z]], jaxpr.debug_info)
    return (made, tuple(has))


edit(
    "11.1", "an empty tuple of axes means the first axis", "Which axes does `reduce_max(x, ())` reduce?",
    "1 if i in axes else size", "1 if i in (axes or (0,)) else size",
    target="jvp_extreme",
)  # fmt: skip
