"""Wrong answers to the exercises of lab 02, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant

# --- 02.1 Write one equation down ---------------------------------------------------------------------------------

edit(
    "02.1",
    "operand order does not matter",
    "In which order are the atoms in your equation?",
    "var = Var(out)",
    "var, atoms = Var(out), atoms[::-1]",
    target="DynamicJaxprTrace.emit",
)
edit(
    "02.1",
    "variables of one type are one variable",
    "Two arguments of one type: how do equations tell them apart?",
    "var = Var(aval)",
    "var = next((v for v in self.invars if v.aval == aval), None) or Var(aval)",
    target="DynamicJaxprTrace.new_arg",
)


@mutant(
    "02.1",
    "equal operations are one equation",
    "The same operation comes twice. Must you look for its first equation? And what if the operation is a print?",
    target="DynamicJaxprTrace.emit",
)
def looks_for_the_same(self, primitive, atoms, params, out):
    source = source_info.current()
    effects = no_effects if primitive.effects is None else primitive.effects(params)
    for eqn in self.eqns:
        if eqn.primitive is primitive and eqn.invars == atoms and eqn.params == params:
            found = [DynamicJaxprTracer(self, var.aval, var, source) for var in eqn.outvars]
            return found if primitive.multiple_results else found[0]
    outvars = [Var(aval) for aval in (out if primitive.multiple_results else [out])]
    self.eqns.append(JaxprEqn(atoms, outvars, primitive, params, effects, source))
    tracers = [DynamicJaxprTracer(self, var.aval, var, source) for var in outvars]
    return tracers if primitive.multiple_results else tracers[0]


edit(
    "02.1",
    "an equation has one result",
    "What is `out` for a primitive with `multiple_results`?",
    "    if not primitive.multiple_results:",
    "    if primitive.multiple_results:\n        out = out[0]\n    if True:",
    target="DynamicJaxprTrace.emit",
)
edit(
    "02.1",
    "no operation has an effect",
    "What does `primitive.effects(params)` say about a print?",
    "no_effects if primitive.effects is None else primitive.effects(params)",
    "no_effects",
    target="DynamicJaxprTrace.emit",
)
edit(
    "02.1",
    "the line of an operation can be found later",
    "Who will know the user's line when the program is compiled?",
    "source = source_info.current(3)",
    "source = source_info.UNKNOWN",
    target="DynamicJaxprTrace.emit",
)

# --- 02.2 Close the program ---------------------------------------------------------------------------------------

edit(
    "02.2",
    "every output is a result of an equation",
    "What is the output of `lambda x: x`?",
    "outvars = [self.to_tracer(x).atom for x in outs]",
    "outvars = [eqn.outvars[0] for eqn in self.eqns[-len(outs):]]",
)
edit(
    "02.2",
    "closed-over arrays are inputs",
    "Does the caller of the program pass the table?",
    "list(consts), self.invars, outvars, self.eqns, effects, debug_info, tuple(consts.values())",
    "[], [*consts, *self.invars], outvars, self.eqns, effects, debug_info, ()",
)
edit(
    "02.2",
    "constants are what equations read",
    "`return table`: which equation reads the table?",
    "used.update(atom for atom in outvars if type(atom) is Var)",
    "used.update(self.invars)",
)
edit(
    "02.2",
    "every constant of the trace belongs to the program",
    "Is there a constant that no equation and no output reads?",
    "if var in used}",
    "if used is not None}",
)
edit(
    "02.2",
    "dead code vanishes by itself",
    "Is it the task of this function to find out which equations are needed?",
    "self.invars, outvars, self.eqns,",
    "self.invars, outvars, [eqn for eqn in self.eqns if eqn.effects or used.intersection(eqn.outvars)],",
)
edit(
    "02.2",
    "unused arguments vanish by themselves",
    "The caller has two arguments. How many does your program take?",
    "self.invars, outvars, self.eqns,",
    "[var for var in self.invars if var in used], outvars, self.eqns,",
)
edit(
    "02.2",
    "no program has an effect",
    "One equation prints. Which effects does the program have?",
    "set[Effect]().union(*(eqn.effects for eqn in self.eqns if eqn.effects))",
    "no_effects",
)

# --- 02.3 Trace a function ----------------------------------------------------------------------------------------

edit(
    "02.3",
    "a function is traced on example values",
    "What does the function do to an array of zeros, and who writes it down?",
    "trace.new_arg(aval) for aval in avals",
    "__import__('numpy').zeros(trace.new_arg(aval).shape, aval.dtype) for aval in avals",
)
edit(
    "02.3",
    "print runs at every call",
    "How often does your function call `fun`?",
    "outs = fun(",
    "fun(*[trace.new_arg(aval) for aval in avals])\n            trace.invars.clear(), trace.eqns.clear()\n"
    "            outs = fun(",
)


@mutant("02.3", "after an error the trace is over", "Who sets the current trace back when `fun` raises an error?")
def sets_the_trace_without_with(fun, avals, debug_info):
    before = core.current_trace()
    trace = DynamicJaxprTrace(before, debug_info)
    config.local.state.trace = trace
    config.local.state.refresh_key()
    try:
        outs = fun(*[trace.new_arg(aval) for aval in avals])
        check_results(outs, debug_info)
        jaxpr = trace.to_jaxpr(outs, debug_info)
        config.local.state.trace = before
        config.local.state.refresh_key()
        del outs
    finally:
        trace.end()
    if config.value("check_tracer_leaks"):
        check_no_leaks(trace)
    return jaxpr


edit("02.3", "a tracer can be used for ever", "Which method tells a trace that it is over?", "trace.end()", "pass")
edit(
    "02.3",
    "after an error there is nothing to be tidied up",
    "Is your trace ended when `fun` raises an error?",
    "finally:\n        trace.end()",
    "finally:\n        if 'jaxpr' in locals():\n            trace.end()",
)
edit(
    "02.3",
    "whatever the function returns can be a result",
    "What if the function returns a string? `check_results` has an answer.",
    "check_results(outs, debug_info)",
    "pass",
)
edit(
    "02.3",
    "there is one trace at a time",
    "What is the parent of the new trace, when a traced function calls another one?",
    "with core.set_current_trace(trace), empty_name_stack():",
    "with core.set_current_trace(core.current_trace() or trace), empty_name_stack():",
)
edit(
    "02.3",
    "a leaked tracer shows itself",
    "What should be done with the option `check_tracer_leaks`?",
    'if config.value("check_tracer_leaks"):',
    "if False:",
)

edit(
    "02.3",
    "the function's own variables do not keep tracers alive",
    "When the search for leaks begins, which of your variables still refer to tracers?",
    "        del outs\n",
    "",
)

# --- 02.4 Run a jaxpr ---------------------------------------------------------------------------------------------

edit(
    "02.4",
    "operand order does not matter",
    "In which order do you hand the operands to `bind`?",
    "map(read, eqn.invars)",
    "map(read, reversed(eqn.invars))",
)
edit(
    "02.4",
    "closed-over arrays are inputs",
    "Who gives the constvars their values, `consts` or `args`?",
    "zip(jaxpr.constvars, consts, strict=True)",
    "zip(jaxpr.constvars, args, strict=False)",
)
edit(
    "02.4",
    "an equation has one result",
    "What does `bind` return for a primitive with several results?",
    "results if eqn.primitive.multiple_results else [results]",
    "[results]",
)
edit(
    "02.4",
    "the values can always be converted to numpy",
    "If `eval_jaxpr` runs while another function is traced, what are the values?",
    "return [read(atom) for atom in jaxpr.outvars]",
    "return [__import__('numpy').asarray(read(atom)) for atom in jaxpr.outvars]",
)
edit(
    "02.4",
    "only the sum of constants and arguments matters",
    "What if somebody gives all values as arguments, and no constants?",
    "len(consts) != len(jaxpr.constvars) or len(args) != len(jaxpr.invars)",
    "len(consts) + len(args) != len(jaxpr.constvars) + len(jaxpr.invars)",
)
edit(
    "02.4",
    "what nobody reads need not be run",
    "Does a print have a result that somebody reads?",
    "        results = eqn.perform(",
    "        if set(eqn.outvars) <= set(dead):\n            for var in set(dead) - set(eqn.outvars):\n"
    "                del env[var]\n            continue\n        results = eqn.perform(",
)
edit(
    "02.4",
    "a value stays until the end",
    "A program of a thousand equations, each with a result of a gigabyte: how many are kept?",
    "            del env[var]",
    "            pass",
)
edit(
    "02.4",
    "the caller passes the right number of values",
    "Somebody passed one value where there should be two. What do they read?",
    "if len(consts) != len(jaxpr.constvars) or len(args) != len(jaxpr.invars):",
    "if False:",
)

# --- 02.5 Three laws ----------------------------------------------------------------------------------------------

edit(
    "02.5",
    "the order of equations does not matter",
    "Is it enough that some equation of the program binds the variable?",
    "atom not in place.bound:",
    "atom not in place.bound.union(*(eqn.outvars for eqn in place.jaxpr.eqns)):",
    target="unbound_reads",
)
edit(
    "02.5",
    "only equations read variables",
    "The outputs are a place, too. What do they read?",
    "for atom in place.reads:",
    "for atom in place.reads if place.eqn else ():",
    target="unbound_reads",
)
edit(
    "02.5",
    "variables of one type are one variable",
    "How do you find out that a variable is bound: by its type?",
    "atom not in place.bound:",
    "atom.aval not in {var.aval for var in place.bound}:",
    target="unbound_reads",
)
edit(
    "02.5",
    "a variable can be assigned again",
    "Which variables were bound before this place?",
    "if var in place.bound or var in here:",
    "if var in here and place.eqn:",
    target="second_bindings",
)
edit(
    "02.5",
    "one equation cannot bind twice",
    "One equation binds a variable to both of its results. Is the variable in `place.bound` when you look?",
    "if var in place.bound or var in here:",
    "if var in place.bound or (var in here and place.eqn is None):",
    target="second_bindings",
)
edit(
    "02.5",
    "the type of a variable need not be checked",
    "Who says which type the result of an equation has?",
    "if not same_type(var.aval, aval):",
    "if var.aval.shape != aval.shape:",
    target="ill_typed_results",
)
edit(
    "02.5",
    "weak types must agree",
    "Promotion is over when an equation is written. Does weakness still matter?",
    "if not same_type(var.aval, aval):",
    "if var.aval != aval:",
    target="ill_typed_results",
)

# --- 02.6 Dead code -----------------------------------------------------------------------------------------------


@mutant("02.6", "operands of a dropped equation are needed", "An equation is dropped. Does it still read anything?")
def makes_all_operands_live(eqns, outputs):
    live = set(outputs)
    left = []
    for eqn in reversed(eqns):
        rule = dce_rules.get(eqn.primitive, keep_or_drop)
        _, rest = rule([var in live for var in eqn.outvars], eqn)
        live.update(x for x in eqn.invars if isinstance(x, Var))
        if rest is not None:
            left.append(rest)
    return left[::-1], live


edit(
    "02.6",
    "equations can stand in any order",
    "You collected the equations from the end. In which order do you return them?",
    "return left[::-1], live",
    "return left, live",
)
edit(
    "02.6",
    "a list is as good as a set",
    "As what does the signature return the live variables: as a list, or as a set?",
    "return left[::-1], live",
    "return left[::-1], list(live)",
)


@mutant(
    "02.6",
    "an equation with an effect is kept whole",
    "An inner program prints, and has a result that nobody reads. What does the rule of `jit` leave of its equation?",
)
def keeps_effects_whole(eqns, outputs):
    live = set(outputs)
    left = []
    for eqn in reversed(eqns):
        rule = dce_rules.get(eqn.primitive, keep_or_drop)
        needed, rest = rule([var in live for var in eqn.outvars], eqn)
        if eqn.effects:
            needed, rest = [True] * len(eqn.invars), eqn
        live.update(x for x, kept in zip(eqn.invars, needed, strict=True) if kept and isinstance(x, Var))
        if rest is not None:
            left.append(rest)
    return left[::-1], live


@mutant(
    "02.6",
    "`outputs` can be iterated over many times",
    "`outputs` is any iterable. What is left of a generator when you have looked for one variable in it?",
)
def goes_through_outputs_again(eqns, outputs):
    live = set()
    left = []
    for eqn in reversed(eqns):
        rule = dce_rules.get(eqn.primitive, keep_or_drop)
        needed, rest = rule([var in live or var in outputs for var in eqn.outvars], eqn)
        live.update(x for x, kept in zip(eqn.invars, needed, strict=True) if kept and isinstance(x, Var))
        if rest is not None:
            left.append(rest)
    return left[::-1], live | set(outputs)


edit(
    "02.6",
    "all outputs are of interest",
    "Which variables are live before you have looked at any equation?",
    "live = set(outputs)",
    "live = {*outputs, *(var for eqn in eqns for var in eqn.outvars)} - {v for e in eqns for v in e.invars if "
    "type(v) is Var}",
)


@mutant(
    "02.6", "an equation whose results nobody reads is dead", "What becomes of a print? Nobody reads a result of it."
)
def forgets_effects(eqns, outputs):
    live = set(outputs)
    left = []
    for eqn in reversed(eqns):
        results = [var in live for var in eqn.outvars]
        if not any(results):
            continue
        needed, rest = dce_rules.get(eqn.primitive, keep_or_drop)(results, eqn)
        live.update(x for x, kept in zip(eqn.invars, needed, strict=True) if kept and isinstance(x, Var))
        if rest is not None:
            left.append(rest)
    return left[::-1], live


@mutant(
    "02.6", "an equation is needed only if all of its results are", "One result of two is live. Is the equation needed?"
)
def needs_all_results(eqns, outputs):
    live = set(outputs)
    left = []
    for eqn in reversed(eqns):
        if eqn.effects or all(var in live for var in eqn.outvars):
            live.update(x for x in eqn.invars if isinstance(x, Var))
            left.append(eqn)
    return left[::-1], live


@mutant(
    "02.6",
    "an equation is kept whole or dropped",
    "What does the rule of `jit` say when one of its two results is not live?",
)
def asks_no_rule(eqns, outputs):
    live = set(outputs)
    left = []
    for eqn in reversed(eqns):
        if eqn.effects or any(var in live for var in eqn.outvars):
            live.update(x for x in eqn.invars if isinstance(x, Var))
            left.append(eqn)
    return left[::-1], live


# --- 02.7 An operation arrives ------------------------------------------------------------------------------------

edit(
    "02.7",
    "every operand comes from outside",
    "Which operands are of this trace already? Where is their variable?",
    "x.atom if type(x) is DynamicJaxprTracer and x._trace is self else self.lift(x)",
    "self.lift(x)",
)
edit(
    "02.7",
    "an operand is a tracer",
    "What is the `2.0` of `x * 2.0`? Does it have an atom?",
    "x.atom if type(x) is DynamicJaxprTracer and x._trace is self else self.lift(x)",
    "x.atom",
)
edit(
    "02.7",
    "every tracer belongs to this trace",
    "An operand may be a tracer of an outer trace. Whose variable would you write down then?",
    "if type(x) is DynamicJaxprTracer and x._trace is self else",
    "if type(x) is DynamicJaxprTracer else",
)
edit(
    "02.7",
    "parameters are for running only",
    "Can the shape of a sum be told without its axis?",
    "primitive.abstract_eval(*avals, **params)",
    "primitive.abstract_eval(*avals)",
)
edit(
    "02.7",
    "a shape rule needs values",
    "What does a shape rule need to know of an operand, and where is it?",
    "avals.append(atom.aval)",
    "avals.append(x)",
)
edit(
    "02.7",
    "an operation has one result",
    "What does `emit` return for a sort of two arrays?",
    "return self.emit(primitive, atoms, params, primitive.abstract_eval(*avals, **params))",
    "out = self.emit(primitive, atoms, params, primitive.abstract_eval(*avals, **params))\n"
    "    return out[0] if isinstance(out, list) else out",
)
edit(
    "02.7",
    "every operation leaves an equation",
    "Is there a rule for the primitive in `staging_rules`? What does it return for `x.astype(x.dtype)`?",
    "if primitive in staging_rules:",
    "if False:",
)
edit(
    "02.7",
    "an operation with a rule is never recorded",
    "A rule may decline. What does it return then, and what do you do?",
    "        if result is not NotImplemented:\n            return result",
    "        return result",
)
edit(
    "02.7",
    "a result that is false means that the rule declined",
    "A rule may return None, 0 or an empty list. Which one value says that it declined?",
    "if result is not NotImplemented:",
    "if result:",
)
edit(
    "02.7",
    "a rule takes operands of any kind",
    "A rule in `staging_rules` reads `operand.atom`. Does a numpy array have one?",
    "tracers = [self.to_tracer(x) for x in args]",
    "tracers = list(args)",
)


# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("02.1", "one way for all", target="DynamicJaxprTrace.new_arg")
def new_arg_in_one(self, aval):
    self.invars += [Var(aval)]
    return DynamicJaxprTracer(self, aval, self.invars[-1], source_info.UNKNOWN)


@also_right("02.1", "one way for all", target="DynamicJaxprTrace.emit")
def one_way(self, primitive, atoms, params, out):
    here = source_info.current()
    avals = out if primitive.multiple_results else [out]
    results = [Var(aval) for aval in avals]
    effects = primitive.effects(params) if primitive.effects else no_effects
    self.eqns.append(JaxprEqn(atoms, results, primitive, params, effects, here))
    tracers = [DynamicJaxprTracer(self, var.aval, var, here) for var in results]
    return tracers if primitive.multiple_results else tracers[0]


@also_right("02.1", "a helper inside", target="DynamicJaxprTrace.emit")
def helper_inside(self, primitive, atoms, params, out):
    source = source_info.current()
    outvars = []

    def result(aval):
        outvars.append(Var(aval))
        return DynamicJaxprTracer(self, aval, outvars[-1], source)

    if primitive.multiple_results:
        answer = list(map(result, out))
    else:
        answer = result(out)
    effects = no_effects
    if primitive.effects is not None:
        effects = primitive.effects(params)
    self.eqns.append(JaxprEqn(atoms, outvars, primitive, params, effects, source))
    return answer


@also_right("02.2", "asks each constant")
def asks_each_constant(self, outs, debug_info):
    outputs = [self.to_tracer(x).atom for x in outs]
    read = [a for eqn in self.eqns for a in eqn.invars] + outputs
    constvars, values = [], []
    for var, value in self.consts.items():
        if any(var is a for a in read):
            constvars.append(var)
            values.append(value)
    effects = no_effects
    for eqn in self.eqns:
        effects = effects | eqn.effects
    return Jaxpr(constvars, self.invars, outputs, self.eqns, effects, debug_info, tuple(values))


@also_right("02.2", "with sets of ids")
def sets_of_ids(self, outs, debug_info):
    atoms = [self.to_tracer(out).atom for out in outs]
    ids = {id(a) for eqn in self.eqns for a in eqn.invars}
    ids |= {id(a) for a in atoms}
    kept = [(v, x) for v, x in self.consts.items() if id(v) in ids]
    effects = frozenset().union(*[eqn.effects for eqn in self.eqns])
    return Jaxpr(
        [v for v, _ in kept], list(self.invars), atoms, list(self.eqns), effects, debug_info, tuple(x for _, x in kept)
    )


@also_right("02.3", "with blocks one after the other")
def block_after_block(fun, avals, debug_info):
    trace = DynamicJaxprTrace(core.current_trace(), debug_info)
    try:
        with empty_name_stack(), core.set_current_trace(trace):
            outs = fun(*(trace.new_arg(a) for a in avals))
            check_results(outs, debug_info)
            program = trace.to_jaxpr(outs, debug_info)
            outs = None
    except BaseException:
        trace.end()
        raise
    trace.end()
    if config.value("check_tracer_leaks"):
        check_no_leaks(trace)
    return program


@also_right("02.3", "with an inner function")
def inner_function(fun, avals, debug_info):
    trace = DynamicJaxprTrace(core.current_trace(), debug_info)

    def run():
        outs = fun(*map(trace.new_arg, avals))
        check_results(outs, debug_info)
        return trace.to_jaxpr(outs, debug_info)

    with core.set_current_trace(trace), empty_name_stack():
        try:
            jaxpr = run()
        finally:
            trace.end()
    if config.value("check_tracer_leaks"):
        check_no_leaks(trace)
    return jaxpr


@also_right("02.4", "with a list of values")
def list_of_values(jaxpr, consts, *args):
    for given, wanted in ((consts, jaxpr.constvars), (args, jaxpr.invars)):
        if len(given) != len(wanted):
            raise TypeError(f"expected {len(wanted)} values, got {len(given)}")
    values = {}
    for var, value in [*zip(jaxpr.constvars, consts, strict=False), *zip(jaxpr.invars, args, strict=False)]:
        values[var] = value

    def value_of(atom):
        if isinstance(atom, Literal):
            return literal_value(atom)
        return values[atom]

    for i, dead in enumerate(last_uses(jaxpr)):
        eqn = jaxpr.eqns[i]
        result = eqn.primitive.bind(*[value_of(a) for a in eqn.invars], **eqn.params)
        if not eqn.primitive.multiple_results:
            result = [result]
        for var, value in zip(eqn.outvars, result, strict=False):
            values[var] = value
        result = value = None
        for var in dead:
            values.pop(var)
    return [value_of(a) for a in jaxpr.outvars]


@also_right("02.4", "writes by a function")
def writes_by_a_function(jaxpr, consts, *args):
    env = {}

    def write(names, values):
        if len(names) != len(values):
            raise TypeError(f"there should be {len(names)} values, and there are {len(values)}")
        env.update(zip(names, values, strict=False))

    def read(atoms):
        return [literal_value(a) if isinstance(a, Literal) else env[a] for a in atoms]

    write(jaxpr.constvars, consts)
    write(jaxpr.invars, args)
    for eqn, unused in zip(jaxpr.eqns, last_uses(jaxpr), strict=False):
        outs = eqn.primitive.bind(*read(eqn.invars), **eqn.params)
        write(eqn.outvars, outs if eqn.primitive.multiple_results else [outs])
        outs = None
        for var in unused:
            del env[var]
    return read(jaxpr.outvars)


@also_right("02.5", "as generator expressions", target="unbound_reads")
def unbound_by_expression(place):
    yield from (
        f"Variable '{place.name(a)}' not defined" for a in place.reads if isinstance(a, Var) and a not in place.bound
    )


@also_right("02.5", "as generator expressions", target="second_bindings")
def second_by_index(place):
    for i, var in enumerate(place.binds):
        if var in place.bound or var in place.binds[:i]:
            yield f"Variable '{place.name(var)}' already bound"


@also_right("02.5", "as generator expressions", target="ill_typed_results")
def ill_typed_by_index(place):
    avals = result_types(place.eqn) if place.eqn is not None else []
    for i, aval in enumerate(avals):
        var = place.binds[i]
        if same_type(aval, var.aval):
            continue
        name, has, wants = place.name(var), pp_aval(aval), pp_aval(var.aval)
        yield f"Value for variable '{name}' inconsistently typed as {has} for let-binder of type {wants}"


@also_right("02.5", "with lists", target="second_bindings")
def second_with_list(place):
    known = list(place.bound)
    messages = []
    for var in place.binds:
        if var in known:
            messages.append(f"Variable '{place.name(var)}' already bound")
        known.append(var)
    return iter(messages)


@also_right("02.6", "by index, from the end")
def by_index(eqns, outputs):
    live, kept = set(outputs), []
    for i in range(len(eqns) - 1, -1, -1):
        eqn = eqns[i]
        rule = dce_rules[eqn.primitive] if eqn.primitive in dce_rules else keep_or_drop
        reads, rest = rule([v in live for v in eqn.outvars], eqn)
        for atom, is_read in zip(eqn.invars, reads, strict=False):
            if is_read and not isinstance(atom, Literal):
                live.add(atom)
        if rest is not None:
            kept.insert(0, rest)
    return kept, live


@also_right("02.6", "reads what is left")
def reads_what_is_left(eqns, outputs):
    live = {v for v in outputs}
    kept = []
    for eqn in list(eqns)[::-1]:
        used = [out in live for out in eqn.outvars]
        needed, rest = dce_rules.get(eqn.primitive, keep_or_drop)(used, eqn)
        if rest is None:
            continue
        kept.append(rest)
        live |= {a for a, n in zip(eqn.invars, needed, strict=False) if n and isinstance(a, Var)}
    kept.reverse()
    return kept, live


@also_right("02.7", "with to_tracer for all")
def all_by_to_tracer(self, primitive, args, params):
    rule = staging_rules.get(primitive)
    if rule is not None:
        result = rule(self, list(map(self.to_tracer, args)), params)
        if result is not NotImplemented:
            return result
    tracers = [self.to_tracer(x) for x in args]
    out = primitive.abstract_eval(*(t.aval for t in tracers), **params)
    return self.emit(primitive, [t.atom for t in tracers], params, out)


@also_right("02.7", "atoms first, and a loop")
def atoms_first(self, primitive, args, params):
    result = NotImplemented
    if primitive in staging_rules:
        result = staging_rules[primitive](self, [self.to_tracer(x) for x in args], params)
    if result is NotImplemented:
        atoms = []
        for x in args:
            ours = isinstance(x, DynamicJaxprTracer) and x._trace is self
            atoms.append(x.atom if ours else self.lift(x))
        types = [a.aval for a in atoms]
        result = self.emit(primitive, atoms, params, primitive.abstract_eval(*types, **params))
    return result


@also_right("02.4", "with a class that reads")
def eval_jaxpr_with_a_class_that_reads(jaxpr, consts, *args):
    for what, variables, values in (("consts", jaxpr.constvars, consts), ("args", jaxpr.invars, args)):
        if len(variables) != len(values):
            raise TypeError(f"{len(variables)} {what} are needed, and there are {len(values)}")
    values_of = {**dict(zip(jaxpr.constvars, consts, strict=False)), **dict(zip(jaxpr.invars, args, strict=False))}

    class Reader:
        def __getitem__(self, atom):
            match atom:
                case Literal():
                    return literal_value(atom)
                case _:
                    return values_of[atom]

    read = Reader()
    dead_after = list(last_uses(jaxpr))
    for number in range(len(jaxpr.eqns)):
        eqn = jaxpr.eqns[number]
        outs = eqn.primitive.bind(*[read[atom] for atom in eqn.invars], **eqn.params)
        if not eqn.primitive.multiple_results:
            outs = (outs,)
        values_of.update(zip(eqn.outvars, outs, strict=False))
        outs = None
        for variable in dead_after[number]:
            values_of.pop(variable, None)
    return [read[atom] for atom in jaxpr.outvars]


@also_right("02.7", "in comprehensions")
def process_primitive_in_comprehensions(self, primitive, args, params):
    rule = staging_rules.get(primitive)
    if rule:
        changed = rule(self, tuple(map(self.to_tracer, args)), params)
        if changed is not NotImplemented:
            return changed
    atoms = [x.atom if isinstance(x, DynamicJaxprTracer) and x._trace is self else self.lift(x) for x in args]
    types = tuple(atom.aval for atom in atoms)
    answer = primitive.abstract_eval(*types, **params)
    return self.emit(primitive, atoms, params, answer)


# --- what learners wrote who believed something else ----------------------------------------------------------------

edit(
    "02.1",
    "weak types are for Python's numbers only",
    "An argument x was passed as a Python number. Is the type of `x * 2.0` as weak as that of x?",
    "        var = Var(out)\n",
    "        out = out.update(weak_type=False)\n        var = Var(out)\n",
    target="DynamicJaxprTrace.emit",
)
edit(
    "02.1",
    "an operation of one result has no effects",
    "Whether a primitive has effects is said by `primitive.effects`. Do you ask it in both cases?",
    "JaxprEqn(atoms, [var], primitive, params, effects, source)",
    "JaxprEqn(atoms, [var], primitive, params, no_effects, source)",
    target="DynamicJaxprTrace.emit",
)
edit(
    "02.2",
    "the order of constants does not matter",
    "`consts` of the trace has the constants in the order in which they came. In which order are they in yours?",
    "in self.consts.items() if",
    "in reversed(self.consts.items()) if",
)
edit(
    "02.2",
    "an operation has two operands",
    "`clamp` has three operands. Which of them may be constants?",
    "for atom in eqn.invars if type(atom) is Var}",
    "for atom in eqn.invars[:2] if type(atom) is Var}",
)
edit(
    "02.2",
    "the outputs are in reverse order",
    "Three outputs: which atom is the third?",
    "[self.to_tracer(x).atom for x in outs]",
    "[self.to_tracer(outs[0] if i == 2 else x).atom for i, x in enumerate(outs)]",
)
edit(
    "02.3",
    "errors of tracing are TypeErrors",
    "The user's function raises a `ZeroDivisionError`. What does the user expect to catch?",
    "    finally:\n",
    "    except Exception as error:\n        raise TypeError(str(error)) from error\n    finally:\n",
)


edit(
    "02.5",
    "a variable is known by its printed name",
    "Can two variables be printed alike?",
    "atom not in place.bound",
    "place.name(atom) not in {place.name(v) for v in place.bound}",
    target="unbound_reads",
)


edit(
    "02.5",
    "a literal has to be bound, too",
    "Does this rule apply to an atom that is not a variable?",
    "isinstance(atom, Var) and atom not in place.bound",
    "atom not in place.bound",
    target="unbound_reads",
)


edit(
    "02.5",
    "an equation may read what it binds itself",
    'The docstring says "bound before". Before this equation, or before its end?',
    "atom not in place.bound",
    "atom not in place.bound and atom not in place.binds",
    target="unbound_reads",
)


edit(
    "02.1",
    "a list of one result is that result",
    "`emit` is told `[aval]`, for a primitive of several results. What does its caller unpack?",
    "    return [DynamicJaxprTracer(self, var.aval, var, source) for var in outvars]",
    "    tracers = [DynamicJaxprTracer(self, var.aval, var, source) for var in outvars]\n"
    "    return tracers[0] if len(tracers) == 1 else tracers",
    target="DynamicJaxprTrace.emit",
)


edit(
    "02.1",
    "the newest argument is the first",
    "The caller hands over its arguments in their order. Where does the second one go in `invars`?",
    "self.invars.append(var)",
    "self.invars.insert(0, var)",
    target="DynamicJaxprTrace.new_arg",
)


edit(
    "02.1",
    "an operation without results leaves nothing",
    "`debug.print` has no results. Should it be in the program?",
    "    outvars = [Var(aval) for aval in out]\n",
    "    outvars = [Var(aval) for aval in out]\n    if not outvars:\n        return []\n",
    target="DynamicJaxprTrace.emit",
)


edit(
    "02.2",
    "the effects are those of the last equation",
    "The first line prints, the last one adds. Does the program have an effect?",
    "(*(eqn.effects for eqn in self.eqns if eqn.effects))",
    "(*(eqn.effects for eqn in self.eqns[-1:] if eqn.effects))",
)


edit(
    "02.2",
    "a result that comes twice is one result",
    "`return x, x`: how many outputs does the program have?",
    "outvars = [self.to_tracer(x).atom for x in outs]",
    "outvars = list(dict.fromkeys(self.to_tracer(x).atom for x in outs))",
)


edit(
    "02.2",
    "arrays that look alike are one constant",
    "Two arrays of one type were closed over. Are they one constant?",
    "consts = {var: value for var, value in self.consts.items() if var in used}",
    "consts = {var: value for var, value in self.consts.items() if var in used}\n"
    "    consts = {var: value for var, value in consts.items() if not any(o is not var and str(o.aval) == "
    "str(var.aval) for o in list(consts)[: list(consts).index(var)])}",
)


edit(
    "02.3",
    "the scopes around the call name the inner function's equations, too",
    "Two `named_scope`s stand around the call. Should their names be in the equations of the inner function?",
    "with core.set_current_trace(trace), empty_name_stack():",
    "with core.set_current_trace(trace):",
)


edit(
    "02.3",
    "the outermost trace is the one to go back to",
    "A function is traced while another one is. Which trace is current after the inner function?",
    "    finally:\n        trace.end()\n",
    "    finally:\n        trace.end()\n        core.set_current_trace(None).__enter__()\n",
)


edit(
    "02.3",
    "the function may be called once before it is traced",
    "How often does the function run, and what does it print?",
    "            outs = fun(*[trace.new_arg(aval) for aval in avals])",
    "            tracers = [trace.new_arg(aval) for aval in avals]\n            fun(*tracers)\n"
    "            outs = fun(*tracers)",
)


edit(
    "02.4",
    "only arguments are counted",
    "A constant is missing. Which error should there be, and what should it say?",
    "    if len(consts) != len(jaxpr.constvars) or len(args) != len(jaxpr.invars):",
    "    if len(args) != len(jaxpr.invars):",
)


edit(
    "02.4",
    "a single result is returned without a list",
    "A jaxpr with one output: what is `eval_jaxpr(...)[0]`?",
    "    return [read(atom) for atom in jaxpr.outvars]",
    "    outs = [read(atom) for atom in jaxpr.outvars]\n    return outs[0] if len(outs) == 1 else outs",
)


edit(
    "02.5",
    "one message is enough",
    "Two unknown variables stand in one equation. How many messages should there be?",
    "            yield f\"Variable '{place.name(atom)}' not defined\"",
    "            yield f\"Variable '{place.name(atom)}' not defined\"\n            return",
    target="unbound_reads",
)


edit(
    "02.5",
    "only the type of the first result needs checking",
    "An equation has two results, and the second one has the wrong type. Do you find it?",
    "            if not same_type(var.aval, aval):",
    "            if var is place.binds[0] and not same_type(var.aval, aval):",
    target="ill_typed_results",
)


edit(
    "02.5",
    "the message names the variable's type first",
    "Which type does the rule give, and which type does the variable have?",
    'inconsistently typed as {pp_aval(aval)} "\n                    f"for let-binder of type {pp_aval(var.aval)}"',
    'inconsistently typed as {pp_aval(var.aval)} "\n                    f"for let-binder of type {pp_aval(aval)}"',
    target="ill_typed_results",
)


edit(
    "02.6",
    "the equations are returned from the last to the first",
    "The equations are gone through from the end. In which order are they returned?",
    "    return left[::-1], live",
    "    return left, live",
)


edit(
    "02.6",
    "only what an equation reads is live",
    "An output is an argument, unchanged. Is it live?",
    "    return left[::-1], live",
    "    return left[::-1], {x for eqn in left for x in eqn.invars if isinstance(x, Var)}",
)


edit(
    "02.6",
    "an equation with a live result stays as it is",
    "A loop's rule leaves a smaller equation. Which one goes into the list?",
    "            left.append(rest)",
    "            left.append(eqn)",
)


edit(
    "02.7",
    "only the shape rule needs the parameters",
    "`reduce_sum[axes=(0,)]`: what does the equation know of the axes?",
    "return self.emit(primitive, atoms, params, primitive.abstract_eval",
    "return self.emit(primitive, atoms, {}, primitive.abstract_eval",
)


edit(
    "02.7",
    "the same operand twice is one operand",
    "`x * x`: how many operands does the equation have?",
    "        atoms.append(atom)\n        avals.append(atom.aval)",
    "        if not any(atom is other for other in atoms):\n            atoms.append(atom)\n"
    "        avals.append(atom.aval)",
)


# --- what learners write who have read the text only -------------------------------------------------------------------


@mutant(
    "02.2",
    "constants are in the order of their readers",
    "A constant came first and is read last. Where does it stand among the constants?",
)
def in_the_order_of_readers(self, outs, debug_info):
    outvars = [self.to_tracer(x).atom for x in outs]
    kept = {}
    for a in [*(a for eqn in self.eqns for a in eqn.invars), *outvars]:
        if isinstance(a, Var) and a in self.consts:
            kept[a] = self.consts[a]
    effects = set().union(*(e.effects for e in self.eqns))
    return Jaxpr(list(kept), self.invars, outvars, self.eqns, effects, debug_info, list(kept.values()))


@mutant(
    "02.2",
    "every returned tracer belongs to this trace",
    "An inner function returns a value of the outer one. To which of the two programs does its atom belong?",
)
def all_tracers_are_mine(self, outs, debug_info):
    outvars = [x.atom if isinstance(x, DynamicJaxprTracer) else self.to_tracer(x).atom for x in outs]
    used = {a for eqn in self.eqns for a in eqn.invars if isinstance(a, Var)} | {
        a for a in outvars if isinstance(a, Var)
    }
    kept = [(v, c) for v, c in self.consts.items() if v in used]
    effects = set().union(*(e.effects for e in self.eqns))
    return Jaxpr([v for v, _ in kept], self.invars, outvars, self.eqns, effects, debug_info, [c for _, c in kept])


@mutant("02.3", "only an Exception ends a function early", "Is KeyboardInterrupt derived from Exception?")
def errors_only(fun, avals, debug_info):
    from jitkit.interpreters.partial_eval import DynamicJaxprTrace

    trace = DynamicJaxprTrace(core.current_trace(), debug_info)
    with core.set_current_trace(trace), empty_name_stack():
        try:
            outs = fun(*[trace.new_arg(a) for a in avals])
            check_results(outs, debug_info)
            jaxpr = trace.to_jaxpr(outs, debug_info)
        except Exception:
            trace.end()
            raise
    trace.end()
    del outs
    if config.value("check_tracer_leaks"):
        check_no_leaks(trace)
    return jaxpr


@mutant(
    "02.3",
    "the jaxpr of a function can be kept, and returned whenever the types are the same",
    "The function reads a global, which has changed since. Must the second program be the same?",
)
def once_for_its_types(fun, avals, debug_info):
    from jitkit.interpreters.partial_eval import DynamicJaxprTrace

    known, key = globals().setdefault("_TRACED", {}), (fun, tuple(avals))
    if key in known:
        return known[key]
    trace = DynamicJaxprTrace(core.current_trace(), debug_info)
    try:
        with core.set_current_trace(trace), empty_name_stack():
            outs = fun(*[trace.new_arg(a) for a in avals])
            check_results(outs, debug_info)
            jaxpr = trace.to_jaxpr(outs, debug_info)
            del outs
    finally:
        trace.end()
    if config.value("check_tracer_leaks"):
        check_no_leaks(trace)
    known[key] = jaxpr
    return jaxpr


@mutant(
    "02.3", "an error of the function may be changed", "Is the error that the caller catches the one that was raised?"
)
def says_where_it_was(fun, avals, debug_info):
    from jitkit.interpreters.partial_eval import DynamicJaxprTrace

    trace = DynamicJaxprTrace(core.current_trace(), debug_info)
    try:
        with core.set_current_trace(trace), empty_name_stack():
            outs = fun(*[trace.new_arg(a) for a in avals])
            check_results(outs, debug_info)
            jaxpr = trace.to_jaxpr(outs, debug_info)
            del outs
    except Exception as error:
        raise type(error)(f"while tracing: {error}") from error
    finally:
        trace.end()
    if config.value("check_tracer_leaks"):
        check_no_leaks(trace)
    return jaxpr


@mutant(
    "02.4",
    "only what is returned is run",
    "What is recorded when a program with an unread equation runs under a trace?",
)
def runs_what_is_returned(jaxpr, consts, *args):
    if len(consts) != len(jaxpr.constvars) or len(args) != len(jaxpr.invars):
        raise TypeError(f"expected {len(jaxpr.constvars)} consts and {len(jaxpr.invars)} arguments")
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=False))

    def read(a):
        return literal_value(a) if isinstance(a, Literal) else env[a]

    live = {a for a in jaxpr.outvars if isinstance(a, Var)}
    keep = set()
    for i in reversed(range(len(jaxpr.eqns))):
        eqn = jaxpr.eqns[i]
        if eqn.effects or live & set(eqn.outvars):
            keep.add(i)
            live |= {a for a in eqn.invars if isinstance(a, Var)}
    for i, (eqn, dead) in enumerate(zip(jaxpr.eqns, last_uses(jaxpr), strict=False)):
        if i in keep:
            out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.primitive.get_bind_params(eqn.params))
            env.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=False))
        for v in dead:
            env.pop(v, None)
    return [read(a) for a in jaxpr.outvars]


@mutant("02.4", "a result that nobody reads takes no memory", "When can a result be freed that no equation reads?")
def keeps_the_unread(jaxpr, consts, *args):
    if len(consts) != len(jaxpr.constvars) or len(args) != len(jaxpr.invars):
        raise TypeError(f"expected {len(jaxpr.constvars)} consts and {len(jaxpr.invars)} arguments")
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=False))

    def read(a):
        return literal_value(a) if isinstance(a, Literal) else env[a]

    for eqn, dead in zip(jaxpr.eqns, last_uses(jaxpr), strict=False):
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.primitive.get_bind_params(eqn.params))
        env.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=False))
        for v in dead:
            if v in eqn.invars:
                env.pop(v, None)
    return [read(a) for a in jaxpr.outvars]


@mutant(
    "02.5",
    "a variable is bound twice only if its two places are neighbours",
    "An equation binds a, b, a. Which of them is bound twice?",
    target="second_bindings",
)
def side_by_side(place):
    previous = None
    for v in place.binds:
        if v in place.bound or v is previous:
            yield f"Variable '{place.name(v)}' already bound"
        previous = v


@mutant(
    "02.5",
    "shapes with the same number of elements are the same",
    "Are f32[2,3] and f32[3,2] the same type?",
    target="ill_typed_results",
)
def counts_elements(place):
    if place.eqn is None:
        return
    for v, t in zip(place.binds, result_types(place.eqn), strict=False):
        if v.aval.size != t.size or v.aval.dtype != t.dtype:
            yield f"Value for variable '{place.name(v)}' inconsistently typed as {pp_aval(t)} for let-binder of type {pp_aval(v.aval)}"


@mutant(
    "02.6",
    "the rule's list is about the operands of the equation that is left",
    "An inner program lost its first input, so the new equation has fewer operands. Whose operands does the rule's list count?",
)
def in_the_old_places(eqns, outputs):
    live, kept = set(outputs), []
    for eqn in reversed(eqns):
        needed, rest = dce_rules.get(eqn.primitive, keep_or_drop)([v in live for v in eqn.outvars], eqn)
        if rest is not None:
            kept.append(rest)
            live.update(a for n, a in zip(needed, rest.invars, strict=False) if n and isinstance(a, Var))
    return kept[::-1], live


@mutant(
    "02.6",
    "an equation without operands is not needed",
    "How many operands does `iota` have, and may its result be needed?",
)
def needs_something(eqns, outputs):
    live, kept = set(outputs), []
    for eqn in reversed(eqns):
        needed, rest = dce_rules.get(eqn.primitive, keep_or_drop)([v in live for v in eqn.outvars], eqn)
        if any(needed):
            kept.append(rest)
            live.update(a for n, a in zip(needed, eqn.invars, strict=False) if n and isinstance(a, Var))
    return kept[::-1], live


@mutant(
    "02.6",
    "the caller's set of outputs may be changed",
    "`outputs` may be a set of the caller's. What should be in it after the call?",
)
def fills_the_outputs(eqns, outputs):
    live, kept = outputs if isinstance(outputs, set) else set(outputs), []
    for eqn in reversed(eqns):
        needed, rest = dce_rules.get(eqn.primitive, keep_or_drop)([v in live for v in eqn.outvars], eqn)
        if rest is not None:
            kept.append(rest)
            live.update(a for n, a in zip(needed, eqn.invars, strict=False) if n and isinstance(a, Var))
    return kept[::-1], live


@mutant(
    "02.7",
    "the type of a result follows from the operands alone",
    "`iota` has no operands. What does the type of its result depend on?",
)
def remembers_types(self, primitive, args, params):
    rule = staging_rules.get(primitive)
    if rule is not None:
        result = rule(self, [self.to_tracer(a) for a in args], params)
        if result is not NotImplemented:
            return result
    known = globals().setdefault("_SHAPES", {})
    avals = [core.get_aval(a) for a in args]
    key = (primitive, tuple(str(a) for a in avals), tuple(params))
    if key not in known:
        known[key] = primitive.abstract_eval(*avals, **params)
    atoms = [a.atom if isinstance(a, DynamicJaxprTracer) and a._trace is self else self.lift(a) for a in args]
    return self.emit(primitive, atoms, params, known[key])


@mutant(
    "02.7",
    "an operation on known values is computed at once",
    "Who decides whether an operation runs: its operands, or the trace?",
)
def computes_what_is_known(self, primitive, args, params):
    if args and all(core.is_concrete(a) for a in args):
        with core.set_current_trace(None):
            return primitive.bind(*args, **params)
    rule = staging_rules.get(primitive)
    if rule is not None:
        result = rule(self, [self.to_tracer(a) for a in args], params)
        if result is not NotImplemented:
            return result
    atoms = [a.atom if isinstance(a, DynamicJaxprTracer) and a._trace is self else self.lift(a) for a in args]
    return self.emit(primitive, atoms, params, primitive.abstract_eval(*[core.get_aval(a) for a in args], **params))


@mutant("02.4", "literals are the last operands", "In `sub 2.0 a`, which operand comes first?")
def literals_last(jaxpr, consts, *args):
    for variables, values in ((jaxpr.constvars, consts), (jaxpr.invars, args)):
        if len(variables) != len(values):
            raise TypeError(f"{len(variables)} values are needed")
    env = {**dict(zip(jaxpr.constvars, consts, strict=False)), **dict(zip(jaxpr.invars, args, strict=False))}

    def read(atom):
        return literal_value(atom) if isinstance(atom, Literal) else env[atom]

    for eqn, dead in zip(jaxpr.eqns, last_uses(jaxpr), strict=False):
        operands = sorted(eqn.invars, key=lambda atom: isinstance(atom, Literal))
        out = eqn.primitive.bind(*map(read, operands), **eqn.params)
        env.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=False))
        out = None
        for var in dead:
            env.pop(var, None)
    return [read(atom) for atom in jaxpr.outvars]
