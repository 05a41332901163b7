"""Wrong answers to the exercises of lab 11, each with what its author believes."""

from jitkit.kata.mutants import edit, mutant

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
    "the derivative is in terms of x",
    "In y (1 - y), which of the parameters is y?",
    "mul(y, sub(constant_like(y, 1), y))",
    "mul(x, sub(constant_like(x, 1), x))",
    target="jvp_logistic",
)


@mutant(
    "11.1",
    "a derivative is computed from x, and x alone",
    "Somebody has computed logistic(x) already. What is it called in your function?",
    target="jvp_logistic",
)
def computes_it_again(g, y, x):
    one = constant_like(x, 1)
    again = div(one, one + np.e**-x)
    return mul(g, mul(again, sub(constant_like(again, 1), again)))


edit(
    "11.1",
    "one element only is the maximum",
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
    "of several, the first is the maximum",
    "Two elements are the maximum. Whose tangent did you take, and why not the other one's?",
    target="jvp_extreme",
)
def first_of_them(g, out, x, *, axes):
    kept = [i for i in range(x.ndim) if i not in axes]
    order = (*kept, *axes)
    moved = x.transpose(order).reshape(*out.shape, -1)
    tangents = g.transpose(order).reshape(moved.shape)
    is_extreme = eq(moved, reshape(out, (*out.shape, 1)))
    place = (is_extreme * -np.arange(1.0, moved.shape[-1] + 1, dtype="float32") - 99.0 * ~is_extreme).argmax(
        -1
    )
    is_first = eq(reshape(place, (*out.shape, 1)), np.arange(moved.shape[-1], dtype="int32"))
    return reduce_sum(mul(tangents, convert_element_type(is_first, g.dtype)), (out.ndim,))


edit(
    "11.1",
    "the last operand decides",
    "x and y both change. How much of the change of x y is due to x?",
    "return out, functools.reduce(add_tangents, parts, zero_tangent(out))",
    "return out, parts[-1] if parts else zero_tangent(out)",
    target="sum_of_shares",
)
edit(
    "11.1",
    "a share is a product",
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
    "no share, no tangent",
    "Each result has a tangent. What is that of a step function?",
    "return out, functools.reduce(add_tangents, parts, zero_tangent(out))",
    "return out, functools.reduce(add_tangents, parts) if parts else None",
    target="sum_of_shares",
)
edit(
    "11.1",
    "None is a function",
    "What stands in `shares` for an operand that contributes nothing?",
    "if share is not None and type(t) is not Zero",
    "if type(t) is not Zero",
    target="sum_of_shares",
)

# --- 11.2 A function of pairs -------------------------------------------------------------------------------------


@mutant(
    "11.2",
    "tangents come in the place of values",
    "cos(x) in the tangent of sin(x): of which x?",
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
    "exp(3.0) changes with nothing. Who should compute it?",
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
    "every pair is mine",
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
    "there is one trace",
    "This derivative was taken inside of something. Which trace is around yours?",
    "trace = JVPTrace(core.current_trace())",
    "trace = JVPTrace(None)",
    target="jvp",
)
edit(
    "11.2",
    "other data have tangents, too",
    "What is left in `aux` when the trace has ended?",
    "    if aux is not None:\n            aux[:] = map(trace.strip, aux)\n",
    "",
    target="jvp",
)
edit(
    "11.2",
    "the function is called for values, and for tangents",
    "How often does `fun` print, if it prints?",
    "    try:\n",
    "    fun(*primals)\n    try:\n",
    target="jvp",
)
edit(
    "11.2",
    "a trace ends by itself",
    "Somebody put a tracer into a list. Who tells them, later?",
    "trace.end()",
    "pass",
    target="jvp",
)
edit(
    "11.2",
    "all inputs have tangents",
    "How many inputs has the jaxpr of pairs of `x * a`, where only x changes?",
    "for aval, nz in zip(avals, nonzero, strict=True) if nz)]",
    "for aval, nz in zip(avals, nonzero, strict=True))]",
    target="jvp_jaxpr",
)
edit(
    "11.2",
    "pairs stand beside each other",
    "Which outputs come first?",
    "return [*outs, *(t for t in made if type(t) is not Zero)]",
    "return [x for out, t in zip(outs, made) for x in ((out,) if type(t) is Zero else (out, t))]",
    target="jvp_jaxpr",
)
edit(
    "11.2",
    "no output does without a tangent",
    "`y > 0` is an output. What is its tangent good for?",
    "instantiate_zeros(t) if inst else t",
    "instantiate_zeros(t)",
    target="jvp_jaxpr",
)
edit(
    "11.2",
    "nobody asks for zeros",
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
    "a tangent is a value",
    "Which value has a tangent, while the function is linearised?",
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
    "the function is called for values, and for tangents",
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
    "there is one trace",
    "A linear program is itself linearised. Which trace is around yours?",
    "parent = core.current_trace()",
    "parent = None",
    target="linearize",
)
edit(
    "11.3",
    "a trace ends by itself",
    "Somebody put a tracer into a list. Who tells them, later?",
    "        trace.end()\n        tangent_trace.end()",
    "        pass",
    target="linearize",
)

# --- 11.4 Backwards -----------------------------------------------------------------------------------------------

edit(
    "11.4",
    "fan-out overwrites",
    "x was read by two equations. The second one told you its cotangent. What became of the first?",
    "add_tangents(totals[atom], ct) if atom in totals else ct",
    "ct",
    target="backward_pass",
)
edit(
    "11.4",
    "the first reader counts",
    "x was read by two equations. What did the second one tell you?",
    "totals[atom] = add_tangents(totals[atom], ct) if atom in totals else ct",
    "totals.setdefault(atom, ct)",
    target="backward_pass",
)
edit(
    "11.4",
    "programs are read from the start",
    "Of which value do you know the cotangent at first?",
    "for eqn in reversed(linear):",
    "for eqn in linear:",
    target="backward_pass",
)
edit(
    "11.4",
    "outputs are made by equations",
    "A function returns x, and 2 x. What does x count?",
    "cotangents, strict=True):\n        add(atom, ct)\n",
    "cotangents, strict=True):\n        if atom not in jaxpr.invars:\n            add(atom, ct)\n",
    target="backward_pass",
)
edit(
    "11.4",
    "what nobody reads has no cotangent",
    "The loss does not depend on y. What is its gradient by y?",
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
    "everybody starts from zero",
    "What did the inputs have, before the first equation was asked?",
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
    "a scalar counts once",
    "2.0 was added to each of 12 elements. How much does it count?",
    "return reduce_sum(ct, range(len(shape)))",
    "return reshape(ct, (-1,))[0]",
    target="unbroadcast",
)
edit(
    "11.4",
    "an axis of size 1 goes with the sum",
    "The operand was of shape (2, 1). Which shape has its cotangent?",
    "return reshape(reduce_sum(ct, axes), aval.shape)",
    "return reduce_sum(ct, axes)",
    target="unbroadcast",
)
edit(
    "11.4",
    "the mean is as good as the sum",
    "2.0 was added to each of 12 elements. How much does it count: like one of them, or like all?",
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
    "`grad(f, argnums=1)`: by which argument?",
    "fix_others(fun, numbers, argnums, args, kwargs)",
    "fix_others(fun, 0, 0, args, kwargs)",
    target="value_and_grad",
)
edit(
    "11.5",
    "one number is a tuple of one",
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
    "other data are differentiated",
    "`fun` returns a pair. Of which part is the gradient?",
    "value, fun_vjp, *aux = vjp(fun_of_some, *some, has_aux=has_aux)",
    "value, fun_vjp, *aux = vjp(fun_of_some, *some)",
    target="value_and_grad",
)
edit(
    "11.5",
    "other data stand beside the value",
    "With `has_aux`, of how many parts is the result of `value_and_grad`?",
    "return ((value, *aux) if has_aux else value), grads",
    "return (value, grads, *aux)",
    target="value_and_grad",
)
edit(
    "11.5",
    "a sum is meant",
    "The result has four elements. The gradient of which one do you return?",
    "        check_scalar(value)\n",
    "        if not isinstance(value, tuple):\n"
    "            value, fun_vjp = vjp(lambda *some: fun_of_some(*some).sum(), *some)\n",
    target="value_and_grad",
)
edit(
    "11.5",
    "shape (1,) is a number",
    "Is an array of one element a scalar?",
    "        check_scalar(value)\n",
    "        if getattr(value, 'size', 2) != 1:\n            check_scalar(value)\n        value = lax.reshape(value, ())\n",
    target="value_and_grad",
)
edit(
    "11.5",
    "an integer has a tangent of its own type",
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
    "backwards is forwards with other numbers",
    "Which step of the loop do you transpose first?",
    "reverse=not reverse,",
    "reverse=reverse,",
    target="transpose_scan",
)
edit(
    "11.6",
    "backwards is True",
    "The loop ran from its end to its start. Where does its transpose begin?",
    "reverse=not reverse,",
    "reverse=True,",
    target="transpose_scan",
)
edit(
    "11.6",
    "the start is out of the loop's reach",
    "The carry that went in: which output of the other loop is its cotangent?",
    "of_carry = [ct if is_undefined(x) else None for x, ct in zip(carry, made, strict=False)]",
    "of_carry = [g if is_undefined(x) else None for x, g, _ in zip(carry, ct_carry, made, strict=False)]",
    target="transpose_scan",
)
edit(
    "11.6",
    "only the last carry counts",
    "Each step has an output, and each of those has a cotangent. Who adds it?",
    "    ct_carry = [instantiate_zeros(ct) for ct in ct_carry]\n",
    "    ct_carry = [instantiate_zeros(ct) for ct in ct_carry]\n    ct_ys = [Zero(core.get_aval(ct)) for ct in ct_ys]\n",
    target="transpose_scan",
)
edit(
    "11.6",
    "every output has a cotangent",
    "Nobody uses an output. Does the loop go over an array of zeros for it?",
    "    nonzero =",
    "    ct_ys = [instantiate_zeros(ct) for ct in ct_ys]\n    nonzero =",
    target="transpose_scan",
)
edit(
    "11.6",
    "what is shared counts once",
    "A constant was used in every step. What does the last trip of the other loop know of the trips before?",
    "backward_pass(jaxpr, jaxpr.consts, inputs, cts, before=sums)",
    "backward_pass(jaxpr, jaxpr.consts, inputs, cts)",
    target="transposed_body",
)
edit(
    "11.6",
    "everybody starts from zero",
    "What did the step after this one tell the carry?",
    "cts = [*ct_carry, *ad.with_zeros(ct_ys, nonzero_ys, jaxpr.out_avals[num_carry:])]",
    "cts = [*(Zero(x.aval) for x in ct_carry), *ad.with_zeros(ct_ys, nonzero_ys, jaxpr.out_avals[num_carry:])]",
    target="transposed_body",
)
edit(
    "11.6",
    "fan-out overwrites",
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
    "the gradient is mended afterwards",
    "The second derivative: who mends that one?",
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
    "11.7",
    "the compiler will not mind",
    "How many equations has your program for 500 steps?",
    target="cube_root",
)
def unrolled(a, steps):
    x = jnp.ones_like(a)
    for _ in range(steps):
        x = x - (x**3 - a) / (3 * x**2)
    return x


@mutant(
    "11.7",
    "a loop is a constant",
    "The gradient is 0, or too small. What does it know of a?",
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
    "what is kept costs nothing",
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
