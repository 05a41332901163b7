"""Wrong answers to the exercises of lab 04, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant

# --- 04.1 Types and constants ---------------------------------------------------------------------------------------

edit(
    "04.1", "a scalar is an array of one element", "How many sizes does a scalar have: one, or none?",
    "for n in shape)}", "for n in shape or (1,))}", target="tensor_type",
)  # fmt: skip
edit(
    "04.1", "the type of an element comes first", "What comes last in `tensor<3x4xf32>`?",
    "{''.join(f'{n}x' for n in shape)}{element_type(dtype)}", "{element_type(dtype)}{''.join(f'x{n}' for n in shape)}",
    target="tensor_type",
)  # fmt: skip
edit(
    "04.1", "MLIR writes numbers as Python does", "Python writes `True`. What does MLIR write?",
    'return "true" if x else "false"', "return str(bool(x))", target="scalar_text",
)  # fmt: skip
edit(
    "04.1", "six digits are enough", "`dtype.type(float(text))` reads your text: is that x again? Try 1/3.",
    " and dtype.type(float(decimal)) == x", "", target="scalar_text",
)  # fmt: skip
edit(
    "04.1", "every float has a decimal text", "What does `f'{x:.6e}'` give for nan?",
    "DECIMAL.fullmatch(decimal) and dtype.type(float(decimal)) == x",
    "not np.isfinite(x) or dtype.type(float(decimal)) == x", target="scalar_text",
)  # fmt: skip
edit(
    "04.1", "a number in text is a double", "How many bytes does a float32 have, and how many do you write?",
    "np.asarray(x).tobytes()", "np.float64(x).tobytes()", target="scalar_text",
)  # fmt: skip
edit(
    "04.1", "bytes are written as they lie in memory", "Which byte of a number lies first in memory: the highest, or the lowest?",
    "[::-1]", "", target="scalar_text",
)  # fmt: skip
edit(
    "04.1", "elements are written as they lie in memory", "How does the transpose of an array lie in memory, and how is it to be written?",
    "np.ascontiguousarray(value).tobytes()", 'value.tobytes("A")', target="dense",
)  # fmt: skip
edit(
    "04.1", "equal numbers are the same number", "Is 0.0 equal to -0.0? Is it the same?",
    "all_same(value)", "bool((value == value.reshape(-1)[0]).all())", target="dense",
)  # fmt: skip


@mutant("04.1", "each element has to be written", "How long is your text for a thousand zeros?", target="dense")
def writes_every_element(value):
    return f"dense<{nested_text(value)}>" if value.size else "dense<>"


edit(
    "04.1", "an integer can be written like a float", "What becomes of 2**62 + 1 on the way through your function?",
    "str(int(x))", "str(int(float(x)))", target="scalar_text",
)  # fmt: skip


# --- 04.2 Operands ----------------------------------------------------------------------------------------------------

edit(
    "04.2", "StableHLO broadcasts", "What are the shapes of the operands of your `stablehlo.multiply`?",
    "return self.broadcast_in_dim(env[atom], atom.aval, shape, range(atom.aval.ndim))", "return env[atom]",
    target="LoweringContext.read_spread",
)  # fmt: skip
edit(
    "04.2", "only scalars are broadcast", "Which axis of the result is axis 1 of an operand of shape (4, 1)?",
    "range(atom.aval.ndim)", "()", target="LoweringContext.read_spread",
)  # fmt: skip
edit(
    "04.2", "a literal is broadcast like a variable", "Is there a shorter way to an array of twos than a 2 and a broadcast?",
    "return self.splat(atom.val, with_shape(atom.aval, shape))",
    "return self.broadcast_in_dim(self.read(atom, env), atom.aval, shape, ())", target="LoweringContext.read_spread",
)  # fmt: skip
edit(
    "04.2", "a number in a program is a double", "Which dtype does 2.5 get beside a float16 array?",
    "np.asarray(value, aval.dtype)[()]", "np.float64(value)", target="LoweringContext.splat",
)  # fmt: skip


@mutant(
    "04.2",
    "each use of a number is a constant",
    "The program uses 3.0 in ten places. How many constants do you write?",
    target="LoweringContext.splat",
)
def writes_each_time(self, value, aval):
    name = self.function.fresh_constant(type_of(aval))
    text = scalar_text(np.asarray(value, aval.dtype)[()])
    self.function.write(f"{name} = stablehlo.constant dense<{text}> : {type_of(aval)}", self.origin)
    return name


edit(
    "04.2", "equal numbers are one constant", "Under which key do you look for 0.0, and under which for -0.0?",
    "scalar.tobytes()", "float(scalar.real)", target="LoweringContext.splat",
)  # fmt: skip
edit(
    "04.2", "equal bits are one constant", "What are the bits of the int32 0, and what are those of the float32 0.0?",
    "(scalar.tobytes(), aval)", "scalar.tobytes()", target="LoweringContext.splat",
)  # fmt: skip


@mutant(
    "04.2", "a constant is known in the whole function", "Can a line behind a branch use what was written in the branch?",
    target="LoweringContext.splat",
)  # fmt: skip
def keeps_constants_for_the_function(self, value, aval):
    known = self.function.__dict__.setdefault("splats", {})
    scalar = np.asarray(value, aval.dtype)[()]
    key = (scalar.tobytes(), aval)
    if key not in known:
        name = self.function.fresh_constant(type_of(aval))
        self.function.write(f"{name} = stablehlo.constant dense<{scalar_text(scalar)}> : {type_of(aval)}", self.origin)
        known[key] = name
    return known[key]


edit(
    "04.2", "a Python number already has the dtype of the literal", "The number may be Python's 0.3. Which dtype does the array have?",
    "np.asarray(value, aval.dtype)[()]", "np.asarray(value)[()]", target="LoweringContext.splat",
)  # fmt: skip
edit(
    "04.2", "only real numbers can be literals", "What becomes of 1.5 - 2.5j?",
    "np.asarray(value, aval.dtype)[()]", "np.asarray(np.real(value), aval.dtype)[()]", target="LoweringContext.splat",
)  # fmt: skip
edit(
    "04.2", "the shape of a constant is not part of its key", "The name that you found stands for three zeros. How many were asked for?",
    "(scalar.tobytes(), aval)", "(scalar.tobytes(), aval.dtype)", target="LoweringContext.splat",
)  # fmt: skip


# --- 04.3 Equations ---------------------------------------------------------------------------------------------------

edit(
    "04.3", "operand order does not matter", "In which order does the rule get the names?",
    "for atom in invars:", "for atom in reversed(invars):", target="LoweringContext.lower_equation",
)  # fmt: skip
edit(
    "04.3", "every output is a result of an equation", "What is the name of the number 2.5, which a function returns?",
    "return [self.read(atom, env) for atom in jaxpr.outvars]", "return [env[atom] for atom in jaxpr.outvars]",
    target="LoweringContext.lower_jaxpr",
)  # fmt: skip
edit(
    "04.3", "an equation has one result", "What does a rule return for a primitive with `multiple_results`?",
    "if primitive.multiple_results:", "if len(outvars) != len(self.avals_out):", target="LoweringContext.lower_equation",
)  # fmt: skip
edit(
    "04.3", "a program has no constants", "Which variables have values before the first equation, beside the arguments?",
    "env[var] = self.array_constant(value, var.aval)", "pass", target="LoweringContext.lower_jaxpr",
)  # fmt: skip
edit(
    "04.3", "a rule needs only the operands", "Along which axis should the rule sum? Who told it?",
    "rule(self, *names, **eqn.params)", "rule(self, *names)", target="LoweringContext.lower_equation",
)  # fmt: skip
edit(
    "04.3", "operands have the types of the jaxpr", "The scalar was broadcast before the rule was called. What is its type in `avals_in`?",
    "avals_in.append(with_shape(aval, shape))", "avals_in.append(aval)",
    target="LoweringContext.lower_equation",
)  # fmt: skip
edit(
    "04.3", "where a line comes from does not matter", "To which equation does `origin` belong while the rule writes?",
    "self.origin = (self.name_stack, eqn)", "pass", target="LoweringContext.lower_equation",
)  # fmt: skip
edit(
    "04.3", "every line belongs to the equation that is written now", "To which equation do lines belong while the context is `_inlining`?",
    "if not self._inlining:", "if True:", target="LoweringContext.lower_equation",
)  # fmt: skip
edit(
    "04.3", "every primitive has a rule", "What does the author of a primitive read if it has no rule?",
    "if rule is None:", "if False:", target="LoweringContext.lower_equation",
)  # fmt: skip

edit(
    "04.3", "a rule that returns a list returns several results", "A sort of one array returns a list. How many names are in it?",
    "if primitive.multiple_results:", "if len(outvars) > 1:", target="LoweringContext.lower_equation",
)  # fmt: skip
edit(
    "04.3", "the first operand always has the shape of the result", "In `s < x` the scalar comes first. Which shape does the result have?",
    "shape = outvars[0].aval.shape", "shape = invars[0].aval.shape", target="LoweringContext.lower_equation",
)  # fmt: skip

# --- 04.4 A matrix product --------------------------------------------------------------------------------------------

edit(
    "04.4", "the operands of a product can be exchanged", "Which operand does StableHLO read first, and is A times B also B times A?",
    "{lhs}, {rhs}{batching}", "{rhs}, {lhs}{batching}",
)  # fmt: skip
edit(
    "04.4", "a product contracts the last axis with the first one", "Which axes are contracted? Which parameter says so?",
    "{list(lhs_contract)} x {list(rhs_contract)}", "[{lhs_aval.ndim - 1}] x [0]",
)  # fmt: skip
edit(
    "04.4", "batch axes are contracted, too", "Which axes are paired, but not summed over? Where do you write them?",
    'f", batching_dims = {list(lhs_batch)} x {list(rhs_batch)}" if lhs_batch else ""', '""',
)  # fmt: skip
edit(
    "04.4", "a product has one batch axis", "How many pairs of batch axes may there be?",
    "{list(lhs_batch)} x {list(rhs_batch)}", "{list(lhs_batch)[:1]} x {list(rhs_batch)[:1]}",
)  # fmt: skip
edit(
    "04.4", "batch axes are in ascending order",
    "The first batch axis of one side belongs to the first of the other. Are they still a pair if you sort each side?",
    "{list(lhs_batch)} x {list(rhs_batch)}", "{sorted(lhs_batch)} x {sorted(rhs_batch)}",
)  # fmt: skip
edit(
    "04.4", "StableHLO converts", "What are the dtypes of the operands of your line?",
    "lhs, rhs = ctx.convert(lhs, lhs_aval, lhs_dtype), ctx.convert(rhs, rhs_aval, rhs_dtype)", "pass",
)  # fmt: skip
edit(
    "04.4", "the result has the dtype of the operands", "127 times 127 does not fit into int8. Which dtype does the sum have?",
    "summed = with_dtype(out, sum_dtype)", "summed = with_dtype(out, lhs_dtype)",
)  # fmt: skip
edit(
    "04.4", "the precision is XLA's business", "Where does your line get its precision from?",
    'precisions = ", ".join([chosen.name for chosen in precision_pair(precision)])', 'precisions = "DEFAULT, DEFAULT"',
)  # fmt: skip

# --- 04.5 A reduction with its region ---------------------------------------------------------------------------------


@mutant("04.5", "a maximum begins with 0", "What is the maximum of -3 and -2?", target="max_identity")
def begins_with_zero(dtype):
    return np.array(0, dtype)


@mutant("04.5", "-inf is in every dtype", "What is -inf as an int8?", target="max_identity")
def begins_with_minus_infinity(dtype):
    return np.array(-np.inf).astype(dtype)


@mutant(
    "04.5", "a maximum begins with the least finite number", "What is the maximum of an array of nothing but -inf?",
    target="max_identity",
)  # fmt: skip
def begins_with_a_finite_number(dtype):
    if dtypes.issubdtype(dtype, np.inexact):
        return np.array(dtypes.finfo(dtype).min, dtype)
    return np.array(dtypes.iinfo(dtype).min if dtypes.issubdtype(dtype, np.integer) else False, dtype)


edit(
    "04.5", "a region takes two numbers", "Two arrays are folded together. How many arguments does the region have?",
    "([*scalars, *scalars],", "([*scalars[:1], *scalars[:1]],", target="emit_reduce",
)  # fmt: skip
edit(
    "04.5", "the order of the region's arguments does not matter", "Which of the region's arguments is what was accumulated?",
    "reducer(*args)", "reducer(*args[len(args) // 2 :], *args[: len(args) // 2])", target="emit_reduce",
)  # fmt: skip
edit(
    "04.5", "a reduction has one axis", "Which axes are missing in the result?",
    "integer_array(axes)", "integer_array(axes[:1])", target="emit_reduce",
)  # fmt: skip
edit(
    "04.5", "all results have the dtype of the first one", "Which type does the second result have?",
    "types_out = [type_of(aval) for aval in avals_out]", "types_out = [type_of(avals_out[0])] * len(avals_out)", target="emit_reduce",
)  # fmt: skip

# --- 04.6 Functions that call functions -------------------------------------------------------------------------------


@mutant(
    "04.6",
    "a nested jit is always inlined",
    "A jitted function calls another one. How many functions does the module have?",
    target="LoweringContext.call_jaxpr",
)
def inlines(self, name, jaxpr, args):
    return self.inline(jaxpr, args)


edit(
    "04.6", "each call has a function of its own", "Where do you look whether the function is there already?",
    "self.module.function_of_jaxpr.get((name, jaxpr))", "None", target="LoweringContext.call_jaxpr",
)  # fmt: skip


@mutant(
    "04.6", "functions are known by their names", "Two different programs are both named `inner`. Which one is called?",
    target="LoweringContext.call_jaxpr",
)  # fmt: skip
def looks_up_by_name(self, name, jaxpr, args):
    function = self.module.function_of_jaxpr.get(name)
    if function is None:
        function = lower_function(self.module, name, jaxpr, "")
        self.module.function_of_jaxpr[name] = function
    tokens = [self.tokens[effect] for effect in function.ordered]
    consts = [self.function.take_hoisted(key, kind) for key, (_, kind) in function.hoisted.items()]
    names = self.emit_call(function, [*tokens, *consts, *args], jaxpr.in_avals)
    return self.take_tokens(function.ordered, names)


edit(
    "04.6", "a call has one result", "A function returns two arrays. How many types does your function have in `results`?",
    "function.results = [type_of(aval) for aval in jaxpr.out_avals]", "function.results = [type_of(jaxpr.out_avals[0])]",
    target="lower_function",
)  # fmt: skip
edit(
    "04.6", "a function has its constants without being passed them", "Who gives the function the table that it reads?",
    "[*tokens, *consts, *args]", "[*tokens, *args]", target="LoweringContext.call_jaxpr",
)  # fmt: skip
edit(
    "04.6", "only arguments are passed to a function", "A function that prints is called twice. Which token does the second call take?",
    "return self.take_tokens(function.ordered, names)", "return list(names[len(function.ordered) :])",
    target="LoweringContext.call_jaxpr",
)  # fmt: skip


@mutant(
    "04.6", "functions are known by their jaxpr only",
    "One jaxpr may be called under two names. Under which key should each function be kept?",
    target="LoweringContext.call_jaxpr",
)  # fmt: skip
def knows_jaxprs_only(self, name, jaxpr, args):
    known = self.module.function_of_jaxpr
    if jaxpr not in known:
        known[jaxpr] = lower_function(self.module, name, jaxpr, "")
    function = known[jaxpr]
    operands = [self.tokens[effect] for effect in function.ordered]
    operands += [self.function.take_hoisted(key, kind) for key, (_, kind) in function.hoisted.items()]
    return self.take_tokens(function.ordered, self.emit_call(function, [*operands, *args], jaxpr.in_avals))


edit(
    "04.6", "a function takes all tokens",
    "The caller has a token for each of its effects. Which of these effects does the called function have, too?",
    "for effect in function.ordered]", "for effect in self.tokens]", target="LoweringContext.call_jaxpr",
)  # fmt: skip
edit(
    "04.6", "tokens are all alike", "The function takes two tokens. Which one comes first?",
    "for effect in function.ordered]", "for effect in reversed(function.ordered)]", target="LoweringContext.call_jaxpr",
)  # fmt: skip
edit(
    "04.6", "a function belongs to the scope that called it first", "Two scopes call one function. Whose name do its lines have?",
    'jaxpr, "")', "jaxpr, self.name_stack)", target="LoweringContext.call_jaxpr",
)  # fmt: skip
edit(
    "04.6", "a function's lines are named after the caller's scopes", "What is the name stack of the context that writes the function?",
    "LoweringContext(function, name_stack)", 'LoweringContext(function, f"jit({name})")', target="lower_function",
)  # fmt: skip

# --- 04.7 Compile -------------------------------------------------------------------------------------------------

edit(
    "04.7",
    "the text for XLA needs no lines of Python",
    "XLA writes errors and profiles. With which text can these name a line of Python?",
    "runtime.compile_text(module.text(debug_info=True)",
    "runtime.compile_text(module.text()",
    target="load_or_compile",
)
edit(
    "04.7",
    "there is always a cache",
    "Without a disk cache, what is the text without lines needed for?",
    'module.text() if disk_cache.enabled() else ""',
    "module.text()",
    target="load_or_compile",
)
edit(
    "04.7",
    "another line is another program",
    "Is a function that was moved down by a line another program?",
    'module.text() if disk_cache.enabled() else ""',
    'module.text(debug_info=True) if disk_cache.enabled() else ""',
    target="load_or_compile",
)
edit(
    "04.7",
    "what is found is compiled all the same",
    "The program was loaded from the disk cache. Must XLA compile it?",
    "if loaded is None:",
    "if True:",
    target="load_or_compile",
)
edit(
    "04.7",
    "somebody else stores the program",
    "Which code puts a compiled program into the cache?",
    "disk_cache.store(known_by, owners, options, loaded)",
    "pass",
    target="load_or_compile",
)
edit(
    "04.7",
    "every program is bound to its devices",
    "No argument is committed. May its text name devices?",
    "placement if placement.committed else None",
    "placement",
    target="compile_program",
)
edit(
    "04.7",
    "every program is for the CPU",
    "Rules may write other lines for another platform. For which one is this program?",
    "placement.platform,",
    '"gpu",',
    target="compile_program",
)


edit(
    "04.7", "every program is for the default device's platform", "Which platform do the arguments' "
    "devices belong to? It may be another one than the default device's.",
    "placement.platform,", "None,", target="compile_program",
)  # fmt: skip


@also_right("04.7", "writes the text where it is needed", target="load_or_compile")
def texts_where_needed(module, owners, options):
    cached = disk_cache.enabled()
    machine_code = disk_cache.load(module.text(), owners, options) if cached else None
    if machine_code is None:
        machine_code = runtime.compile_text(module.text(debug_info=True), owners, options)
        if cached:
            disk_cache.store(module.text(), owners, options, machine_code)
    return machine_code


# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("04.1", "joined", target="tensor_type")
def joined(shape, dtype):
    return "tensor<" + "x".join([*map(str, shape), element_type(dtype)]) + ">"


@also_right("04.1", "joined", target="scalar_text")
def asks_for_the_kind(x):
    import math

    if x.dtype == dtypes.float0:
        return "false"
    if x.dtype.kind == "b":
        return str(bool(x)).lower()
    if x.dtype.kind == "c":
        return "(" + scalar_text(x.real) + ", " + scalar_text(x.imag) + ")"
    if dtypes.issubdtype(x.dtype, np.integer):
        return f"{int(x)}"
    text = format(float(x), ".6e")
    is_minus_zero = x == 0 and math.copysign(1.0, float(x)) < 0
    if DECIMAL.fullmatch(text) and not is_minus_zero and np.asarray(float(text), x.dtype).tobytes() == x.tobytes():
        return text
    return "0x" + "".join(f"{byte:02X}" for byte in reversed(x.tobytes()))


@also_right("04.1", "joined", target="dense")
def dense_in_other_order(value):
    if value.dtype.name in ("int2", "int4", "uint2", "uint4"):
        value = value.astype(np.int8)
    if value.size == 0:
        return "dense<>"
    if value.ndim == 0 or all_same(value):
        return f"dense<{scalar_text(value[(0,) * value.ndim])}>"
    if value.dtype == bool or value.size <= 64:
        return "dense<" + nested_text(value) + ">"
    return 'dense<"0x' + value.tobytes().hex().upper() + '">'


@also_right("04.1", "floats always by their bytes", target="scalar_text")
def floats_by_their_bytes(x):
    if x.dtype in (np.bool_, dtypes.float0):
        return "true" if x.dtype != dtypes.float0 and x else "false"
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return f"({scalar_text(x.real)}, {scalar_text(x.imag)})"
    if dtypes.issubdtype(x.dtype, np.integer):
        return str(int(x))
    return "0x" + x.tobytes()[::-1].hex().upper()


@also_right("04.2", "by one another", target="LoweringContext.read")
def read_variables_first(self, atom, env):
    if isinstance(atom, Var):
        return env[atom]
    return self.splat(atom.val, atom.aval)


@also_right("04.2", "by one another", target="LoweringContext.read_spread")
def spread_by_one_another(self, atom, env, shape):
    if isinstance(atom, Literal):
        return self.splat(atom.val, atom.aval if atom.aval.shape == shape else with_shape(atom.aval, shape))
    name = self.read(atom, env)
    if atom.aval.shape != shape:
        name = self.broadcast_in_dim(name, atom.aval, shape, tuple(range(len(atom.aval.shape))))
    return name


@also_right("04.2", "by one another", target="LoweringContext.splat")
def splat_tries(self, value, aval):
    number = np.asarray(value).astype(aval.dtype)[()]
    place = number.tobytes(), aval
    try:
        return self._constants[place]
    except KeyError:
        self._constants[place] = name = self.emit_constant(f"dense<{scalar_text(number)}>", type_of(aval))
        return name


@also_right("04.2", "looks, and then writes", target="LoweringContext.splat")
def number_of_the_dtype(self, value, aval):
    scalar = np.array(value, dtype=aval.dtype)[()]
    key = (scalar.tobytes(), aval)
    if key not in self._constants:
        self._constants[key] = self.emit_constant(f"dense<{scalar_text(scalar)}>", type_of(aval))
    return self._constants[key]


@also_right("04.3", "operands by a helper", target="LoweringContext.lower_equation")
def operands_by_a_helper(self, eqn, env):
    rule = lowering_rule(eqn.primitive)
    if rule is None:
        raise NotImplementedError(f"nobody knows how to write {eqn.primitive}")
    if not self._inlining:
        self.origin = (self.name_stack, eqn)
    self.primitive = eqn.primitive
    out_avals = [v.aval for v in eqn.outvars]
    in_avals = []
    names = []
    for atom in eqn.invars:
        if eqn.primitive in rank_polymorphic:
            shape = out_avals[0].shape
            names.append(self.read_spread(atom, env, shape))
            in_avals.append(with_shape(atom.aval, shape))
        else:
            names.append(self.read(atom, env))
            in_avals.append(atom.aval)
    self.avals_in, self.avals_out = in_avals, out_avals
    results = rule(self, *names, **eqn.params)
    if not eqn.primitive.multiple_results:
        results = [results]
    for var, name in zip(eqn.outvars, results, strict=False):
        env[var] = name


@also_right("04.3", "operands by a helper", target="LoweringContext.lower_jaxpr")
def jaxpr_with_loops(self, jaxpr, args):
    env = {}
    for var, name in zip(jaxpr.invars, args, strict=False):
        env[var] = name
    env |= {v: self.array_constant(x, v.aval) for v, x in zip(jaxpr.constvars, jaxpr.consts, strict=False)}
    for eqn in jaxpr.eqns:
        self.lower_equation(eqn, env)
    results = []
    for atom in jaxpr.outvars:
        results.append(self.read(atom, env))
    return results


@also_right("04.3", "constants first", target="LoweringContext.lower_jaxpr")
def constants_first(self, jaxpr, args):
    consts = [self.array_constant(x, var.aval) for x, var in zip(jaxpr.consts, jaxpr.constvars, strict=False)]
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=False))
    [self.lower_equation(eqn, env) for eqn in jaxpr.eqns]
    return [env[a] if isinstance(a, Var) else self.read(a, env) for a in jaxpr.outvars]


@also_right("04.4", "part by part")
def part_by_part(ctx, lhs, rhs, *, dimension_numbers, precision, preferred_element_type):
    a, b = ctx.avals_in
    product = ctx.avals_out[0]
    a_dtype, b_dtype, dtype, algorithm = dtypes_computed_with(
        ctx.module.platform, a.dtype, b.dtype, product.dtype, precision
    )
    lhs = ctx.convert(lhs, a, a_dtype)
    rhs = ctx.convert(rhs, b, b_dtype)
    contract, batch = dimension_numbers
    parts = [f"stablehlo.dot_general {lhs}, {rhs}"]
    if batch[0]:
        parts.append(f"batching_dims = [{', '.join(map(str, batch[0]))}] x [{', '.join(map(str, batch[1]))}]")
    parts.append(f"contracting_dims = {list(contract[0])} x {list(contract[1])}")
    parts.append("precision = [" + ", ".join(str(p) for p in precision_pair(precision)) + "]" + algorithm)
    wide = product.update(dtype=dtype)
    name = ctx.emit_op(", ".join(parts), [a.update(dtype=a_dtype), b.update(dtype=b_dtype)], wide)
    return ctx.convert(name, wide, product.dtype)


@also_right("04.4", "with a format")
def with_a_format(ctx, lhs, rhs, *, dimension_numbers, precision, preferred_element_type):
    left, right = ctx.avals_in
    out = ctx.avals_out[0]
    *wanted, algorithm = dtypes_computed_with(ctx.module.platform, left.dtype, right.dtype, out.dtype, precision)
    lhs, rhs = (ctx.convert(n, aval, dtype) for n, aval, dtype in zip((lhs, rhs), (left, right), wanted, strict=False))
    avals = [aval.update(dtype=dtype) for aval, dtype in zip((left, right, out), wanted, strict=False)]
    (lc, rc), (lb, rb) = dimension_numbers
    p, q = precision_pair(precision)
    text = "stablehlo.dot_general {}, {}{}, contracting_dims = {} x {}, precision = [{}, {}]{}".format(
        lhs, rhs, f", batching_dims = {list(lb)} x {list(rb)}" if len(lb) else "", list(lc), list(rc), p, q, algorithm
    )
    result = ctx.emit_op(text, avals[:2], avals[2])
    return ctx.convert(result, avals[2], out.dtype)


@also_right("04.5", "case by case", target="max_identity")
def identity_case_by_case(dtype):
    if np.dtype(dtype) == np.bool_:
        return np.array(False)
    if dtypes.issubdtype(dtype, np.integer):
        return np.array(dtypes.iinfo(dtype).min, dtype)
    if dtypes.supports_inf(dtype):
        return np.array(float("-inf"), dtype)
    return np.array(dtypes.finfo(dtype).min, dtype)


@also_right("04.5", "case by case", target="emit_reduce")
def reduce_with_a_region(ctx, operands, inits, axes, avals_out, reducer):
    n = len(operands)
    scalars = [a.update(shape=()) for a in avals_out]

    def region(*names):
        return [(name, aval) for name, aval in zip(reducer(*names), scalars, strict=False)]

    inputs = ", ".join(map(type_of, [*ctx.avals_in[:n], *scalars]))
    outputs = ", ".join(map(type_of, avals_out))
    head = f'"stablehlo.reduce"({", ".join(list(operands) + list(inits))}) <{{dimensions = {integer_array(axes)}}}>'
    return ctx.emit_regions(head, [(scalars + scalars, region)], f"({inputs}) -> ({outputs})", n)


@also_right("04.5", "from the operands", target="emit_reduce")
def reduce_from_the_operands(ctx, operands, inits, axes, avals_out, reducer):
    count = len(operands)
    arrays = list(ctx.avals_in)[:count]
    scalars = [a.update(shape=()) for a in avals_out]
    signature = "({}) -> ({})".format(
        ", ".join(type_of(a) for a in arrays + scalars), ", ".join(type_of(a) for a in avals_out)
    )
    names = ", ".join((*operands, *inits))
    operation = '"stablehlo.reduce"(' + names + ") <{dimensions = " + integer_array(axes) + "}>"
    return ctx.emit_regions(
        operation,
        [([*scalars, *scalars], lambda *xs: list(zip(reducer(*xs), scalars, strict=False)))],
        signature,
        count,
    )


@also_right("04.6", "in small steps", target="lower_function")
def function_in_small_steps(module, name, jaxpr, name_stack):
    symbol = module.symbol(name)
    function = Function(module, symbol, "private", ordered_effects(jaxpr.effects))
    args = []
    for i, var in enumerate(jaxpr.invars):
        args.append(f"%arg{i}")
        function.arguments.append(f"%arg{i}: {type_of(var.aval)}")
    function.results = [type_of(x.aval) for x in jaxpr.outvars]
    context = LoweringContext(function, name_stack)
    write_body(context, jaxpr, args)
    module.functions.append(function)
    return function


@also_right("04.6", "in small steps", target="LoweringContext.call_jaxpr")
def call_in_small_steps(self, name, jaxpr, args):
    known = self.module.function_of_jaxpr
    if (name, jaxpr) not in known:
        known[name, jaxpr] = lower_function(self.module, name, jaxpr, name_stack="")
    function = known[name, jaxpr]
    operands = [self.tokens[e] for e in function.ordered]
    for key, (_, kind) in function.hoisted.items():
        operands.append(self.function.take_hoisted(key, kind))
    operands += args
    return self.take_tokens(function.ordered, self.emit_call(function, operands, jaxpr.in_avals))


@also_right("04.6", "tries first", target="LoweringContext.call_jaxpr")
def call_tries_first(self, name, jaxpr, args):
    try:
        function = self.module.function_of_jaxpr[name, jaxpr]
    except KeyError:
        function = lower_function(self.module, name, jaxpr, str())
        self.module.function_of_jaxpr[name, jaxpr] = function
    large = [self.function.take_hoisted(k, v[1]) for k, v in function.hoisted.items()]
    tokens = [self.tokens[effect] for effect in function.ordered]
    results = self.emit_call(function, tokens + large + list(args), jaxpr.in_avals)
    return self.take_tokens(function.ordered, results)


@also_right("04.7", "two ways apart", target="load_or_compile")
def two_ways(module, owners, options):
    if not disk_cache.enabled():
        return runtime.compile_text(module.text(debug_info=True), owners, options)
    known_by = module.text()
    found = disk_cache.load(known_by, owners, options)
    if found is None:
        found = runtime.compile_text(module.text(True), owners, options)
        disk_cache.store(known_by, owners, options, found)
    return found


@also_right("04.7", "by keywords", target="compile_program")
def compile_by_keywords(program, placement):
    if program.backend == "c":
        return _by_loops(program, placement, options=program.options)
    committed_to = None
    if placement.committed:
        committed_to = placement
    lowered = lower_program(program, platform=placement.platform, placement=committed_to)
    return build_executable(program, *lowered, placement, options=program.options)


@also_right("04.5", "asks numpy, and halves", target="max_identity")
def max_identity_asks_numpy_and_halves(dtype):
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return np.array(False)
    try:
        least = dtypes.iinfo(kind).min
    except (ValueError, TypeError):
        least = -np.inf if dtypes.supports_inf(kind) else dtypes.finfo(kind).min
    return np.array(least, kind)


@also_right("04.5", "asks numpy, and halves", target="emit_reduce")
def emit_reduce_asks_numpy_and_halves(ctx, operands, inits, axes, avals_out, reducer):
    arrays = list(ctx.avals_in)[: len(operands)]
    scalars = [ShapedArray((), aval.dtype) for aval in arrays]

    def region(*names):
        half = len(names) // 2
        return [(name, scalar) for name, scalar in zip(reducer(*names[:half], *names[half:]), scalars, strict=False)]

    def types(avals):
        return ", ".join(type_of(aval) for aval in avals)

    where = f": {', '.join(str(int(axis)) for axis in axes)}" if len(axes) else ""
    head = f'"stablehlo.reduce"({", ".join([*operands, *inits])}) <{{dimensions = array<i64{where}>}}>'
    signature = f"({types([*arrays, *scalars])}) -> ({types(avals_out)})"
    return ctx.emit_regions(head, [(scalars * 2, region)], signature, len(operands))


edit(
    "04.2",
    "a literal is always a float32",
    "`n + 3` of an int32: what is the type of the constant 3?",
    "self.splat(atom.val, atom.aval)",
    "self.splat(float(atom.val), atom.aval.update(dtype=np.dtype('float32')))",
    target="LoweringContext.read",
)

edit(
    "04.6",
    "every function has arguments",
    "A function of no arguments is called, too. Where is its text?",
    "    module.functions.append(function)\n",
    "    if jaxpr.invars:\n        module.functions.append(function)\n",
    target="lower_function",
)
edit(
    "04.6",
    "programs that print alike are one",
    "Two jaxprs that print alike close over two arrays. Are they one function?",
    "self.module.function_of_jaxpr.get((name, jaxpr))",
    "next((f for (n, j), f in self.module.function_of_jaxpr.items() if n == name and str(j) == str(jaxpr)), None)",
    target="LoweringContext.call_jaxpr",
)


# --- what learners wrote who believed something else --------------------------------------------------------------


edit(
    "04.5",
    "0 is the least value",
    "What is the maximum of an array of negative numbers?",
    "np.array(-np.inf if dtypes.supports_inf(dtype) else dtypes.finfo(dtype).min, dtype)",
    "np.array(0, dtype)",
    target="max_identity",
)


edit(
    "04.5",
    "every float dtype has an infinity",
    "Which float dtypes have no infinity? Try the float8 ones.",
    "-np.inf if dtypes.supports_inf(dtype) else dtypes.finfo(dtype).min",
    "-np.inf",
    target="max_identity",
)


edit(
    "04.5",
    "the lowest float is as good as -inf",
    "What is the maximum of an array of nothing but -inf?",
    "-np.inf if dtypes.supports_inf(dtype) else dtypes.finfo(dtype).min",
    "dtypes.finfo(dtype).min",
    target="max_identity",
)


edit(
    "04.1",
    "bools are written as bytes, too",
    "A mask of a hundred truth values: which of the four forms is it?",
    "    if value.size <= 64 or value.dtype == np.bool_:\n",
    "    if value.size <= 64:\n",
    target="dense",
)


edit(
    "04.1",
    "an int4 is written like any integer",
    "numpy keeps an int4 in a byte. As what is it written?",
    '    if value.dtype.name in ("int2", "int4", "uint2", "uint4"):\n        value = value.astype(np.int8)\n',
    "",
    target="dense",
)


edit(
    "04.1",
    "six digits are enough if they look like the number",
    "1/3 in six digits: is it 1/3 when MLIR reads it?",
    " and dtype.type(float(decimal)) == x:",
    ":",
    target="scalar_text",
)


edit(
    "04.5",
    "the neutral elements come first",
    "Does `stablehlo.reduce` take the arrays first, or the initial values? In which order do you write their types?",
    "(*ctx.avals_in[: len(operands)], *scalars)",
    "(*scalars, *ctx.avals_in[: len(operands)])",
    target="emit_reduce",
)


edit(
    "04.6",
    "large constants stand before the tokens",
    "A call passes tokens, constants and arguments. In which order?",
    "[*tokens, *consts, *args]",
    "[*consts, *tokens, *args]",
    target="LoweringContext.call_jaxpr",
)


edit(
    "04.6",
    "a function is known once per name",
    "Two functions are called `f`. Which of the two is found?",
    "self.module.function_of_jaxpr.get((name, jaxpr))",
    "next((f for (n, _), f in self.module.function_of_jaxpr.items() if n == name), None)",
    target="LoweringContext.call_jaxpr",
)


edit(
    "04.6",
    "results of a function have the arguments' types",
    "A function of a float32 returns a bool. Which type does the first line of the function have for its result?",
    "[type_of(aval) for aval in jaxpr.out_avals]",
    "[type_of(v.aval) for v in jaxpr.invars][: len(jaxpr.out_avals)]",
    target="lower_function",
)


edit(
    "04.7",
    "what the cache does not have need not be compiled",
    "The disk cache does not have this program. Who compiles it, and should it be stored?",
    "    if loaded is None:\n",
    "    if loaded is None and not known_by:\n",
    target="load_or_compile",
)


edit(
    "04.7",
    "the lines are a part of the key",
    "The function moved down by a line. Should it be compiled again?",
    "    known_by = module.text() if",
    "    known_by = module.text(debug_info=True) if",
    target="load_or_compile",
)


# --- what learners write who have read the text only -------------------------------------------------------------------


@mutant(
    "04.1",
    "all nans are alike",
    "Many bit patterns of a float32 are nan. Which one should the text have?",
    target="scalar_text",
)
def one_nan(x):
    dtype = x.dtype
    if dtype == bool or dtype == dtypes.float0:
        return "true" if dtype == bool and x else "false"
    if dtypes.issubdtype(dtype, np.integer):
        return str(int(x))
    if dtypes.issubdtype(dtype, np.complexfloating):
        return f"({scalar_text(x.real)}, {scalar_text(x.imag)})"
    if x != x:
        x = dtype.type(float("nan"))
    text = f"{float(x):.6e}"
    if DECIMAL.fullmatch(text) and dtype.type(float(text)) == x:
        return text
    return "0x" + np.asarray(x, dtype).tobytes()[::-1].hex().upper()


@mutant(
    "04.1",
    "the parts of a complex number have six digits",
    "Is 1/3 exact in six digits, in a complex number?",
    target="scalar_text",
)
def six_digits_of_parts(x):
    dtype = x.dtype
    if dtype == bool or dtype == dtypes.float0:
        return "true" if dtype == bool and x else "false"
    if dtypes.issubdtype(dtype, np.integer):
        return str(int(x))
    if dtypes.issubdtype(dtype, np.complexfloating):
        return f"({float(x.real):.6e}, {float(x.imag):.6e})"
    text = f"{float(x):.6e}"
    if DECIMAL.fullmatch(text) and dtype.type(float(text)) == x:
        return text
    return "0x" + x.tobytes()[::-1].hex().upper()


@mutant(
    "04.2",
    "a constant can be found by its number of elements",
    "How many elements do f32[1,0] and f32[3,0] have?",
    target="LoweringContext.read_spread",
)
def as_many_elements(self, atom, env, shape):
    if isinstance(atom, Literal):
        return self.splat(atom.val, with_shape(atom.aval, shape))
    size = 1
    for n in shape:
        size *= n
    if atom.aval.size == size and atom.aval.shape:
        return env[atom]
    return self.broadcast_in_dim(env[atom], atom.aval, shape, tuple(range(len(atom.aval.shape))))


@mutant(
    "04.2",
    "the type of a literal is that of its Python value",
    "The literal's aval is f16[], and its value a Python float. What is its type?",
    target="LoweringContext.read_spread",
)
def python_says_the_type(self, atom, env, shape):
    if isinstance(atom, Literal):
        return self.splat(atom.val, ShapedArray(shape, np.asarray(atom.val).dtype))
    return self.broadcast_in_dim(env[atom], atom.aval, shape, tuple(range(len(atom.aval.shape))))


@mutant(
    "04.2",
    "the type of a literal is that of its Python value",
    "The literal's aval is f16[], and its value a Python float. What is its type?",
    target="LoweringContext.read",
)
def python_says_the_type_here_too(self, atom, env):
    if isinstance(atom, Literal):
        kinds = {float: np.float32, int: np.int32}
        return self.splat(atom.val, ShapedArray((), kinds.get(type(atom.val), atom.aval.dtype)))
    return env[atom]


@mutant(
    "04.2",
    "a literal is known by its number",
    "What does `1 == 1.0 == True` give? Are the three one constant?",
    target="LoweringContext.read",
)
def literals_by_number(self, atom, env):
    if isinstance(atom, Literal):
        key = atom.val if isinstance(atom.val, (int, float, bool)) else id(atom)
        if key not in env:
            env[key] = self.splat(atom.val, atom.aval)
        return env[key]
    return env[atom]


@mutant(
    "04.3",
    "the result has the shape of the largest operand",
    "To which shape are f32[4,1] and f32[1,3] broadcast together?",
    target="LoweringContext.lower_equation",
)
def longest_operand(self, eqn, env):
    rule = lowering_rules.get(eqn.primitive)
    if rule is None:
        raise NotImplementedError(f"no rule for {eqn.primitive.name}")
    ins, outs = [a.aval for a in eqn.invars], [v.aval for v in eqn.outvars]
    if eqn.primitive in rank_polymorphic:
        shape = max((a.shape for a in ins), key=len, default=())
        names = [self.read_spread(a, env, shape) for a in eqn.invars]
        ins = [with_shape(a, shape) for a in ins]
    else:
        names = [self.read(a, env) for a in eqn.invars]
    saved = self.primitive, self.avals_in, self.avals_out, self.origin
    self.primitive, self.avals_in, self.avals_out = eqn.primitive, ins, outs
    if not self._inlining:
        self.origin = (self.name_stack, eqn)
    results = rule(self, *names, **eqn.params)
    self.primitive, self.avals_in, self.avals_out, self.origin = saved
    env.update(zip(eqn.outvars, [results] if isinstance(results, str) else results, strict=False))


@mutant(
    "04.3",
    "the same primitive on the same operands gives the same result",
    "`cumsum` along axis 0 and along axis 1: what else belongs to an equation?",
    target="LoweringContext.lower_equation",
)
def done_before(self, eqn, env):
    rule = lowering_rules.get(eqn.primitive)
    if rule is None:
        raise NotImplementedError(f"no rule for {eqn.primitive.name}")
    ins, outs = [a.aval for a in eqn.invars], [v.aval for v in eqn.outvars]
    if eqn.primitive in rank_polymorphic:
        shape = outs[0].shape
        names = [self.read_spread(a, env, shape) for a in eqn.invars]
        ins = [with_shape(a, shape) for a in ins]
    else:
        names = [self.read(a, env) for a in eqn.invars]
    key = (eqn.primitive, tuple(names))
    known = env.setdefault("known", {})
    if key in known:
        env.update(zip(eqn.outvars, known[key], strict=False))
        return
    saved = self.primitive, self.avals_in, self.avals_out, self.origin
    self.primitive, self.avals_in, self.avals_out = eqn.primitive, ins, outs
    if not self._inlining:
        self.origin = (self.name_stack, eqn)
    results = rule(self, *names, **eqn.params)
    self.primitive, self.avals_in, self.avals_out, self.origin = saved
    known[key] = [results] if isinstance(results, str) else results
    env.update(zip(eqn.outvars, known[key], strict=False))


@mutant(
    "04.3",
    "an equation whose results nobody reads is not written",
    "Who reads the result of a print?",
    target="LoweringContext.lower_jaxpr",
)
def writes_what_is_read(self, jaxpr, args):
    env = dict(zip(jaxpr.invars, args, strict=False))
    for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=False):
        env[v] = self.array_constant(c, v.aval)
    live = {a for a in jaxpr.outvars if isinstance(a, Var)}
    todo = []
    for eqn in reversed(jaxpr.eqns):
        if live & set(eqn.outvars):
            todo.append(eqn)
            live |= {a for a in eqn.invars if isinstance(a, Var)}
    for eqn in reversed(todo):
        self.lower_equation(eqn, env)
    return [self.read(a, env) for a in jaxpr.outvars]


@mutant("04.5", "numpy knows all integer dtypes", "What does `np.iinfo` say of an int4?", target="max_identity")
def numpy_integers(dtype):
    if dtype == bool:
        return np.array(False)
    if dtypes.issubdtype(dtype, np.integer):
        return np.array(np.iinfo(dtype).min, dtype)
    return np.array(-np.inf if dtypes.supports_inf(dtype) else dtypes.finfo(dtype).min, dtype)


@mutant(
    "04.6",
    "every effect has a token",
    "Only ordered effects have tokens. Which of the effects are ordered?",
    target="lower_function",
)
def a_token_for_each(module, name, jaxpr, name_stack):
    from jitkit.interpreters.mlir import LoweringContext

    function = Function(module, module.symbol(name), "private", list(jaxpr.effects))
    names = [f"%arg{i}" for i in range(len(jaxpr.invars))]
    function.arguments.extend(f"{n}: {type_of(v.aval)}" for n, v in zip(names, jaxpr.invars, strict=False))
    function.results.extend(type_of(a.aval) for a in jaxpr.outvars)
    write_body(LoweringContext(function, name_stack), jaxpr, names)
    module.functions.append(function)
    return function


@mutant(
    "04.6",
    "a result that comes twice is one result",
    "`return y, -x, y`: how many results does the function have?",
    target="lower_function",
)
def results_once(module, name, jaxpr, name_stack):
    from jitkit.interpreters.mlir import LoweringContext

    function = Function(module, module.symbol(name), "private", ordered_effects(jaxpr.effects))
    names = [f"%arg{i}" for i in range(len(jaxpr.invars))]
    function.arguments.extend(f"{n}: {type_of(v.aval)}" for n, v in zip(names, jaxpr.invars, strict=False))
    function.results.extend(type_of(a.aval) for a in list(dict.fromkeys(a for a in jaxpr.outvars)))
    write_body(LoweringContext(function, name_stack), jaxpr, names)
    module.functions.append(function)
    return function


@mutant(
    "04.6",
    "a large constant has the same name everywhere",
    "What is the constant called in the function that calls?",
    target="LoweringContext.call_jaxpr",
)
def one_name_for_a_constant(self, name, jaxpr, args):
    from jitkit.interpreters.mlir import lower_function

    known = self.module.function_of_jaxpr
    key = (name, jaxpr)
    function = known.get(key)
    if function is None:
        function = known[key] = lower_function(self.module, name, jaxpr, "")
    tokens = [self.tokens[e] for e in function.ordered]
    hoisted = [n for k, (n, t) in function.hoisted.items()]
    for k, (_, t) in function.hoisted.items():
        self.function.take_hoisted(k, t)
    results = self.emit_call(function, [*tokens, *hoisted, *args], [v.aval for v in jaxpr.invars])
    return self.take_tokens(function.ordered, results)


@mutant(
    "04.3",
    "results are in the order of their shapes",
    "A call returns a matrix, a number and a row. Which name belongs to which result?",
    target="LoweringContext.lower_equation",
)
def believes_results_are_in_the_order_of_their_shapes(self, eqn: JaxprEqn, env: dict[Var, str]) -> None:
    primitive, invars, outvars = (eqn.primitive, eqn.invars, eqn.outvars)
    rule = lowering_rules.get(primitive)
    if rule is None:
        raise NotImplementedError(f"primitive {primitive} has no lowering to StableHLO")
    self.primitive = primitive
    if not self._inlining:
        self.origin = (self.name_stack, eqn)
    self.avals_out = [var.aval for var in outvars]
    self.avals_in = avals_in = []
    names = []
    shape = outvars[0].aval.shape if primitive in rank_polymorphic else None
    for atom in invars:
        aval = atom.aval
        if shape is None or aval.shape == shape:
            names.append(env[atom] if type(atom) is Var else self.read(atom, env))
            avals_in.append(aval)
        else:
            names.append(self.read_spread(atom, env, shape))
            avals_in.append(with_shape(aval, shape))
    out = rule(self, *names, **eqn.params)
    if primitive.multiple_results:
        env.update(zip(sorted(outvars, key=lambda v: v.aval.shape), out, strict=False))
    else:
        env[outvars[0]] = out


@mutant(
    "04.3",
    "constants are written by the equations that read them",
    "A program returns an array from outside, and has no equations. Who writes it?",
    target="LoweringContext.lower_jaxpr",
)
def believes_constants_belong_to_equations(self, jaxpr: Jaxpr, args: Sequence[str]) -> list[str]:
    env: dict[Var, str] = dict(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.eqns:
        for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=False):
            env[var] = self.array_constant(value, var.aval)
        self.lower_equation(eqn, env)
    return [self.read(atom, env) for atom in jaxpr.outvars]


@mutant(
    "04.4",
    "the algorithm comes before the precision",
    "In which order does StableHLO read the precision and the algorithm?",
)
def believes_the_algorithm_comes_before_the_precision(
    ctx: LoweringContext,
    lhs: str,
    rhs: str,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: Any,
) -> str:
    lhs_aval, rhs_aval = ctx.avals_in
    [out] = ctx.avals_out
    lhs_dtype, rhs_dtype, sum_dtype, algorithm = dtypes_computed_with(
        ctx.module.platform, lhs_aval.dtype, rhs_aval.dtype, out.dtype, precision
    )
    lhs, rhs = (ctx.convert(lhs, lhs_aval, lhs_dtype), ctx.convert(rhs, rhs_aval, rhs_dtype))
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    batching = f", batching_dims = {list(lhs_batch)} x {list(rhs_batch)}" if lhs_batch else ""
    precisions = ", ".join([chosen.name for chosen in precision_pair(precision)])
    first = f"{algorithm.lstrip(', ')}, " if algorithm else ""
    text = (
        f"stablehlo.dot_general {lhs}, {rhs}{batching}, contracting_dims = {list(lhs_contract)} x "
        f"{list(rhs_contract)}, {first}precision = [{precisions}]"
    )
    summed = with_dtype(out, sum_dtype)
    result = ctx.emit_op(text, [with_dtype(lhs_aval, lhs_dtype), with_dtype(rhs_aval, rhs_dtype)], summed)
    return ctx.convert(result, summed, out.dtype)


@mutant(
    "04.5",
    "a maximum of complex numbers does not exist",
    "With what does the maximum of complex numbers begin?",
    target="max_identity",
)
def believes_a_complex_number_has_no_order(dtype: Any) -> np.ndarray[Any, Any]:
    if dtypes.issubdtype(dtype, np.floating):
        return np.array(-np.inf if dtypes.supports_inf(dtype) else dtypes.finfo(dtype).min, dtype)
    return np.array(dtypes.iinfo(dtype).min if dtypes.issubdtype(dtype, np.integer) else False, dtype)


@mutant(
    "04.6",
    "all arguments of a call have one type",
    "The arguments of a call have two types. In which order are these written?",
    target="LoweringContext.call_jaxpr",
)
def believes_arguments_have_one_type(self, name: str, jaxpr: Jaxpr, args: Sequence[str]) -> list[str]:
    function = self.module.function_of_jaxpr.get((name, jaxpr))
    if function is None:
        function = lower_function(self.module, name, jaxpr, "")
        self.module.function_of_jaxpr[name, jaxpr] = function
    tokens = [self.tokens[effect] for effect in function.ordered]
    hoisted = function.hoisted.items()
    consts = [self.function.take_hoisted(key, kind) for key, (_, kind) in hoisted]
    names = self.emit_call(function, [*tokens, *consts, *args], [v.aval for v in jaxpr.invars][::-1])
    return self.take_tokens(function.ordered, names)


@mutant(
    "04.6",
    "`lower_function` writes without a name stack",
    "With which name stack does `lower_function` write?",
    target="lower_function",
)
def believes_a_function_has_no_name_stack(module: Module, name: str, jaxpr: Jaxpr, name_stack: str) -> Function:
    function = Function(module, module.symbol(name), "private", ordered_effects(jaxpr.effects))
    names = [f"%arg{i}" for i in range(len(jaxpr.invars))]
    function.arguments = [f"{n}: {type_of(v.aval)}" for n, v in zip(names, jaxpr.invars, strict=True)]
    function.results = [type_of(aval) for aval in jaxpr.out_avals]
    write_body(LoweringContext(function, ""), jaxpr, names)
    module.functions.append(function)
    return function


@mutant(
    "04.7",
    "every program is compiled by XLA",
    'Who compiles a program whose `backend` is "c"?',
    target="compile_program",
)
def believes_every_program_is_for_xla(program: Program, placement: Placement) -> Executable:
    module, kept = lower_program(program, placement.platform, placement if placement.committed else None)
    return build_executable(program, module, kept, placement, program.options)


edit(
    "04.3", "every array is written into the text", "What does `array_constant` do with a large array?",
    "self.array_constant(value, var.aval)", "self.constant(np.asarray(value))",
    target="LoweringContext.lower_jaxpr",
)  # fmt: skip
edit(
    "04.6", "a function closes over one large constant at most", "How many arrays may a function close over?",
    "in hoisted]", "in list(hoisted)[:1]]", target="LoweringContext.call_jaxpr",
)  # fmt: skip
edit(
    "04.6", "large constants are passed in any order", "In which order does the called function take its constants?",
    "in hoisted]", "in reversed(hoisted)]", target="LoweringContext.call_jaxpr",
)  # fmt: skip
