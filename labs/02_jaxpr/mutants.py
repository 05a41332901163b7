"""Wrong answers to the exercises of lab 02, each with what its author believes."""

from jitkit.kata.mutants import edit, mutant

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
    "Must you look at the equations that are there already? And what if the operation is a print?",
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
    "an operation only computes",
    "What does `primitive.effects(params)` say of a print?",
    "no_effects if primitive.effects is None else primitive.effects(params)",
    "no_effects",
    target="DynamicJaxprTrace.emit",
)
edit(
    "02.1",
    "where it came from can be found later",
    "Who will know the user's line when the program is compiled?",
    "source = source_info.current()",
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
    "what the trace has seen is in the program",
    "Which constants does nobody read?",
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
    "a program only computes",
    "What is the union of the effects of the equations?",
    "no_effects.union(*(eqn.effects for eqn in self.eqns if eqn.effects))",
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
    "fun(*[trace.new_arg(aval) for aval in avals])\n            trace.invars.clear(), trace.eqns.clear()\n            outs = fun(",
)


@mutant(
    "02.3", "after an error the trace is over", "Who sets the current trace back when `fun` raises an error?"
)
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


edit(
    "02.3",
    "a tracer can be used for ever",
    "Which method tells a trace that it is over?",
    "trace.end()",
    "pass",
)
edit(
    "02.3",
    "after an error there is nothing to be tidied up",
    "Is your trace ended when `fun` raises an error?",
    "finally:\n        trace.end()",
    "finally:\n        if 'jaxpr' in locals():\n            trace.end()",
)
edit(
    "02.3",
    "whatever comes back is a result",
    "What if the function returns a text? `check_results` has an answer.",
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
    "leaks show themselves",
    "What should be done with the option `check_tracer_leaks`?",
    'if config.value("check_tracer_leaks"):',
    "if False:",
)

edit(
    "02.3",
    "a local variable is no reference",
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
    "jaxprs hold values",
    "What is a value while another function is being traced?",
    "return [read(atom) for atom in jaxpr.outvars]",
    "return [__import__('numpy').asarray(read(atom)) for atom in jaxpr.outvars]",
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
    "who calls it counts",
    "What does somebody read who passed one value of two?",
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
    "only equations read",
    "What does the last place of a program read?",
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
    "One equation, two results, one variable: is it in `place.bound` when you look?",
    "if var in place.bound or var in here:",
    "if var in place.bound or (var in here and place.eqn is None):",
    target="second_bindings",
)
edit(
    "02.5",
    "the type beside a variable is a remark",
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


@mutant(
    "02.6",
    "operands of a dropped equation are needed",
    "An equation is dropped. Does it still read anything?",
)
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
    "You collected from the end. In which order do you return?",
    "return left[::-1], live",
    "return left, live",
)
edit(
    "02.6",
    "all outputs are of interest",
    "Which variables are live before you have looked at an equation?",
    "live = set(outputs)",
    "live = {*outputs, *(var for eqn in eqns for var in eqn.outvars)} - {v for e in eqns for v in e.invars if type(v) is Var}",
)


@mutant("02.6", "what nobody reads is dead", "What becomes of a print, of which nobody reads anything?")
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
    "02.6",
    "all results of an equation are needed, or none",
    "One result of two is live. Is the equation needed?",
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
