"""Wrong answers to the exercises of lab 01, each with what its author believes."""

from jitkit.kata.mutants import edit, mutant

# --- 01.1 Bind a primitive ----------------------------------------------------------------------------------------

edit(
    "01.1",
    "an operation on known numbers runs at once",
    "Does your function look for a tracer among the operands? It need not.",
    "if trace is None:",
    "if trace is None or not any(hasattr(x, '_trace') for x in args):",
)
edit(
    "01.1",
    "the operands say which trace it is",
    "Where do you get the trace from: the thread, or an operand?",
    "trace = config.local.state.trace",
    "trace = next((x._trace for x in args if hasattr(x, '_trace')), config.local.state.trace)",
)


@mutant(
    "01.1",
    "parameters are operands",
    "`by=3` is no value to compute with. How does `process_primitive` want it?",
    target="Primitive.bind",
)
def hands_parameters_to_the_operands(self, *args, **params):
    trace = config.local.state.trace
    receive = eager.apply if trace is None else trace.process_primitive
    try:
        return receive(self, (*args, *params.values()), {})
    except TypeError:
        check_arrays(self, args)
        raise


edit(
    "01.1",
    "the error of whoever stumbles first will do",
    "What does the error say to somebody who passed a text as the second operand of `add`?",
    "check_arrays(self, args)\n        raise",
    "raise",
)
edit(
    "01.1",
    "every TypeError is about operands",
    "What does the user read whose two arrays have shapes that do not fit?",
    "check_arrays(self, args)\n        raise",
    "raise TypeError(f'an operand of {self.name} is no array') from None",
)

# --- 01.2 The type of a result ------------------------------------------------------------------------------------

edit(
    "01.2",
    "the shape is the first operand's",
    "What is the shape of a scalar plus a matrix?",
    "ShapedArray(shape, ",
    "ShapedArray(operands[0].shape, ",
    target="elementwise_aval",
)
edit(
    "01.2",
    "the larger size wins",
    "An axis of size 1 meets one of size 0. How many elements come out?",
    "others.pop() if others else 1",
    "max(sizes)",
    target="broadcast_equal_ranks",
)
edit(
    "01.2",
    "the dtype of a result is that of its operands",
    "Which dtype has `x < y`? What is the parameter `result` for?",
    "result(*operands), ",
    "operands[0].dtype, ",
    target="elementwise_aval",
)
edit(
    "01.2",
    "one weak operand makes the result weak",
    "x is a float16 array. Should `(x * 2.0)` give way to a float32 one like a Python number?",
    "all(x.weak_type",
    "any(x.weak_type",
    target="elementwise_aval",
)
edit(
    "01.2",
    "weak types do not matter",
    "Two Python numbers were multiplied. Is their product still a number that gives way?",
    "all(x.weak_type for x in operands)",
    "False",
    target="elementwise_aval",
)
edit(
    "01.2",
    "the dtype comes from the left operand",
    "What should happen to an int32 array that is added to a float32 one, where nothing is converted?",
    "    if one_dtype:\n        check_same_dtypes(name, *operands)\n",
    "",
    target="elementwise_aval",
)


@mutant(
    "01.2",
    "a missing axis is put in front, as in numpy",
    "Which of two shapes of different lengths should get more axes? The docstring says: none.",
    target="broadcast_equal_ranks",
)
def puts_axes_in_front(name, shapes):
    rank = max(map(len, shapes))
    columns = zip(*[(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes], strict=True)
    result = []
    for sizes in columns:
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            raise TypeError(
                f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}."
            )
        result.append(others.pop() if others else 1)
    return tuple(result)


# --- 01.3 Where two types meet ------------------------------------------------------------------------------------


@mutant("01.3", "the dtype comes from the left operand", "What is the type of `a + b`, and of `b + a`?")
def takes_the_first(x64, *nodes):
    bounds = upper_bounds(x64)
    for node in nodes:
        if node not in bounds:
            raise ValueError(f"dtype={node!r} is not a valid dtype for JAX type promotion.")
    return nodes[0]


@mutant(
    "01.3",
    "the type with more bits wins",
    "int32 and float16: which of the two can hold the other's kind of number?",
)
def takes_the_widest(x64, *nodes):
    bounds = upper_bounds(x64)
    for node in nodes:
        if node not in bounds:
            raise ValueError(f"dtype={node!r} is not a valid dtype for JAX type promotion.")
    return max(
        nodes, key=lambda node: (np.dtype(node).itemsize if isinstance(node, np.dtype) else 0, str(node))
    )


@mutant(
    "01.3", "weak types do not matter", "Where does `float` stand in the lattice, below or above float16?"
)
def makes_weak_types_strong(x64, *nodes):
    bounds = upper_bounds(x64)
    for node in nodes:
        if node not in bounds:
            raise ValueError(f"dtype={node!r} is not a valid dtype for JAX type promotion.")
    strong = {int: np.dtype("int32"), float: np.dtype("float32"), complex: np.dtype("complex64")}
    common = frozenset.intersection(*(bounds[strong.get(node, node)] for node in nodes))
    for candidate in common:
        if common <= bounds[candidate]:
            return candidate
    raise TypePromotionError(no_promotion_path(nodes))


edit(
    "01.3",
    "any type above all will do",
    "Your type is above all of them. Is there another one below it?",
    "if common <= bounds[candidate]:",
    "if candidate == min(common, key=lambda node: len(bounds[node])):",
)
edit(
    "01.3",
    "there is one lattice",
    "What is `x64` for?",
    "bounds = upper_bounds(x64)",
    "bounds = upper_bounds(True)",
)

# --- 01.4 2 - x ---------------------------------------------------------------------------------------------------

edit(
    "01.4",
    "a reflected operator is the operator",
    "In `2 - x`, is `self` the left operand or the right one?",
    "function(other, self)",
    "function(self, other)",
)
edit(
    "01.4",
    "`2 * x` needs no reflection",
    "What does `(2).__mul__(x)` say? And whom does Python ask then?",
    "return function(other, self)",
    "return NotImplemented",
)
edit(
    "01.4",
    "only Python's numbers stand on the left",
    "What about a number that came out of a numpy array?",
    "if _takes_part[t] if t in _takes_part else takes_part(other, symbol, other, self):",
    "if t in (list, tuple, set, dict):\n            takes_part(other, symbol, other, self)\n        if t in (bool, int, float, complex):",
)
edit(
    "01.4",
    "a method that cannot help raises",
    "NotImplemented is a value to be returned. Who goes on with it?",
    "return NotImplemented",
    "raise TypeError(f'unsupported operand {type(other)}')",
)
edit(
    "01.4",
    "everything that numpy converts takes part",
    "What does `takes_part` say to a list?",
    "if _takes_part[t] if t in _takes_part else takes_part(other, symbol, other, self):",
    "if t in (list, tuple) or (_takes_part[t] if t in _takes_part else takes_part(other, symbol, other, self)):",
)

# --- 01.5 Constants -----------------------------------------------------------------------------------------------

edit(
    "01.5",
    "every constant is an array",
    "How does `mul a 2.0` differ from `mul a b`, with a constant b?",
    "elif (value := literal_form(x)) is not None:",
    "elif (value := literal_form(x)) is not None and False:",
)
edit(
    "01.5",
    "every use is a constant of its own",
    "The table is used twice. Where do you remember that it has a variable?",
    "var = self.constvar_of_id.get(id(x))",
    "var = None",
)


@mutant(
    "01.5", "arrays of one type are one constant", "Two arrays of one shape and dtype: what tells them apart?"
)
def looks_up_by_type(self, x):
    if isinstance(x, Tracer):
        check_lives(x)
    elif (value := literal_form(x)) is not None:
        return Literal(value, core.get_aval(x))
    aval = core.get_aval(x)
    for var in self.consts:
        if var.aval == aval:
            return var
    var = Var(aval)
    self.consts[var] = x
    return var


@mutant(
    "01.5",
    "equal arrays are one constant",
    "How long does it take to find out that two arrays of a million numbers are equal?",
)
def looks_up_by_value(self, x):
    if isinstance(x, Tracer):
        check_lives(x)
    elif (value := literal_form(x)) is not None:
        return Literal(value, core.get_aval(x))
    for var, known in self.consts.items():
        if known is x or (type(known) is np.ndarray is type(x) and np.array_equal(known, x)):
            return var
    var = Var(core.get_aval(x))
    self.consts[var] = x
    return var


edit(
    "01.5",
    "an outer tracer has its variable already",
    "The variable of an outer tracer belongs to the outer program. Can an equation of the inner one read it?",
    "        check_lives(x)\n",
    "        check_lives(x)\n        return x.atom\n",
)
edit(
    "01.5",
    "a tracer can be used for ever",
    "What does a tracer stand for after its function has returned?",
    "        check_lives(x)\n",
    "        pass\n",
)

# --- 01.6 When Python asks for the value --------------------------------------------------------------------------

edit(
    "01.6",
    "`if x > 0` works on tracers",
    "Which branch would be in the program, and for which calls?",
    "raise errors.TracerBoolConversionError(self)",
    "return True",
    target="Tracer.__bool__",
)
edit(
    "01.6",
    "an array of several is one tracer, and that is what is wrong with it",
    "`if x:` for three numbers: is it an error outside of a traced function, too?",
    "    check_bool_conversion(self)\n",
    "",
    target="Tracer.__bool__",
)
edit(
    "01.6",
    "only a scalar has a truth value",
    "How many numbers are in an array of shape (1, 1)?",
    "if x.size > 1:",
    "if x.ndim > 0:",
    target="check_bool_conversion",
)
edit(
    "01.6",
    "a traced integer is an integer",
    "Which integer would `range` get, and who knows it?",
    "raise errors.TracerIntegerConversionError(self)",
    "return 1",
    target="Tracer.__index__",
)
edit(
    "01.6",
    "an index may be any number",
    "`range(1.5)` is an error of another kind. Which one?",
    "    check_integer_conversion(self)\n",
    "",
    target="Tracer.__index__",
)
edit(
    "01.6",
    "a tracer can be forced",
    "What does `int` say to a tracer, and does it know what the value was needed for?",
    "if isinstance(x, Tracer):",
    "if isinstance(x, Tracer) and force is operator.index:",
    target="concrete_or_error",
)
