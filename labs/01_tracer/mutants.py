"""Wrong answers to the exercises of lab 01, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant

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
    "the operands say which trace is the current one",
    "Where do you get the trace from: the thread, or an operand?",
    "trace = config.local.state.trace",
    "trace = next((x._trace for x in args if hasattr(x, '_trace')), config.local.state.trace)",
)


@mutant(
    "01.1",
    "parameters are operands",
    "`by=3` is not a value to compute with. How does `process_primitive` want it?",
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
    "any error message will do",
    "Somebody passed a string as the second operand of `add`. What does the error tell them?",
    "check_arrays(self, args)\n        raise",
    "raise",
)
edit(
    "01.1",
    "every TypeError is about operands",
    "Two arrays have shapes that do not fit. Which error does the user read?",
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
    "What is the dtype of `x < y`? What is the parameter `result` for?",
    "result(*operands), ",
    "operands[0].dtype, ",
    target="elementwise_aval",
)
edit(
    "01.2",
    "one weak operand makes the result weak",
    "x is a float16 array, not weakly typed. Should `x * 2.0` give way to other arrays, as the 2.0 does?",
    "all(x.weak_type",
    "any(x.weak_type",
    target="elementwise_aval",
)
edit(
    "01.2",
    "weak types do not matter",
    "Two weakly typed numbers are multiplied. Should their product still give way to an array?",
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
    "The shapes (3,) and (2, 3) have different lengths. Should the shorter one get an axis, or is that an error?",
    target="broadcast_equal_ranks",
)
def puts_axes_in_front(name, shapes):
    rank = max(map(len, shapes))
    columns = zip(*[(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes], strict=True)
    result = []
    for sizes in columns:
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            raise TypeError(f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}.")
        result.append(others.pop() if others else 1)
    return tuple(result)


# --- 01.3 Where two types meet ------------------------------------------------------------------------------------


@mutant(
    "01.3",
    "the dtype comes from the left operand",
    "a is an int8 array and b a float32 one. What is the type of `a + b`, and of `b + a`?",
)
def takes_the_first(x64, *nodes):
    bounds = upper_bounds(x64)
    for node in nodes:
        if node not in bounds:
            raise ValueError(f"dtype={node!r} is not a valid dtype for JAX type promotion.")
    return nodes[0]


@mutant(
    "01.3", "the type with more bits wins", "int32 and float16: which of the two can hold the other's kind of number?"
)
def takes_the_widest(x64, *nodes):
    bounds = upper_bounds(x64)
    for node in nodes:
        if node not in bounds:
            raise ValueError(f"dtype={node!r} is not a valid dtype for JAX type promotion.")
    return max(nodes, key=lambda node: (np.dtype(node).itemsize if isinstance(node, np.dtype) else 0, str(node)))


@mutant("01.3", "weak types do not matter", "Where does `float` stand in the lattice, below or above float16?")
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
    "Your type is above all the given ones. Is there a lower type that is above all of them, too?",
    "if common <= bounds[candidate]:",
    "if candidate == min(common, key=lambda node: len(bounds[node])):",
)
edit(
    "01.3",
    "the lattice is the same with and without 64-bit types",
    "`x64` says whether 64-bit types are switched on. In which type do int32 and uint32 meet with them, and without?",
    "bounds = upper_bounds(x64)",
    "bounds = upper_bounds(True)",
)

# --- 01.4 2 - x ---------------------------------------------------------------------------------------------------

edit(
    "01.4",
    "in a reflected method, `self` is the left operand",
    "In `2 - x`, is `self` the left operand or the right one?",
    "return function(other, self)",
    "return function(self, other)",
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
    "In `np.float32(2) - x`, is the numpy number an operand?",
    "if _takes_part[t] if t in _takes_part else takes_part(other, symbol, other, self):",
    "if t in (list, tuple, set, dict):\n            takes_part(other, symbol, other, self)\n        if t in (bool, int, float, complex):",
)
edit(
    "01.4",
    "a method that cannot help raises",
    "NotImplemented is a value that a method returns. What does Python do when it gets it?",
    "return NotImplemented",
    "raise TypeError(f'unsupported operand {type(other)}')",
)
edit(
    "01.4",
    "whatever numpy can convert may be an operand",
    "What does `takes_part` say about a list?",
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
    "One array is used twice. Where do you remember that it has a variable?",
    "var = self.constvar_of_id.get(id(x))",
    "var = None",
)


@mutant("01.5", "arrays of one type are one constant", "Two arrays of one shape and dtype: what tells them apart?")
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


@mutant("01.5", "equal arrays are one constant", "How long does it take to compare two arrays of a million numbers?")
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
    "If the tracer answers True, which branch is in the program, and for which calls?",
    "raise errors.TracerBoolConversionError(self)",
    "return True",
    target="Tracer.__bool__",
)
edit(
    "01.6",
    "an array of several elements is wrong because it is a tracer",
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
    "`range(1.5)` is a TypeError outside of a traced function. Which error should a traced 1.5 raise?",
    "    check_integer_conversion(self)\n",
    "",
    target="Tracer.__index__",
)
edit(
    "01.6",
    "a tracer can be forced",
    "What does `int` do with a tracer, and does it know what the value was needed for?",
    "if isinstance(x, Tracer):",
    "if isinstance(x, Tracer) and force is operator.index:",
    target="concrete_or_error",
)


@mutant(
    "01.3",
    "JAX may be asked",
    "If JAX did it, what would be left of the exercise? The lattice is in `upper_bounds(x64)`.",
)
def asks_jax(x64, *nodes):
    from jax._src import dtypes

    return dtypes._least_upper_bound("standard", x64, *nodes)


# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("01.1", "one receiver, and the question where it failed")
def one_receiver(self, *args, **params):
    receive = eager.apply
    if core.current_trace() is not None:
        receive = core.current_trace().process_primitive
    try:
        result = receive(self, args, params)
    except TypeError as error:
        check_arrays(self, args)
        raise error
    return result


@also_right("01.1", "a function for either case")
def two_functions(self, *args, **params):
    def attempt():
        if config.local.state.trace:
            return config.local.state.trace.process_primitive(self, args, params)
        return eager.apply(self, args, params)

    try:
        return attempt()
    except TypeError as first:
        check_arrays(self, args)
        raise first from None


@also_right("01.2", "with numpy's rule for equal ranks", target="broadcast_equal_ranks")
def as_numpy_does(name, shapes):
    import numpy as np

    ranks = [len(s) for s in shapes]
    if min(ranks) != max(ranks):
        raise TypeError(f"{name} wants operands of as many axes each; these have {ranks}")
    try:
        return np.broadcast_shapes(*[tuple(int(n) for n in s) for s in shapes])
    except ValueError:
        raise TypeError(f"{name}: the shapes {', '.join(map(str, shapes))} do not go together") from None


@also_right("01.2", "with numpy's rule for equal ranks", target="elementwise_aval")
def asks_in_turn(name, accepts, result, one_dtype, operands):
    shape = broadcast_operands(name, *operands)
    check_operands(name, accepts, *operands)
    if one_dtype:
        check_same_dtypes(name, *operands)
    weak = not [x for x in operands if not x.weak_type]
    return ShapedArray(shape, result(*operands), weak_type=weak)


@also_right("01.2", "axis by axis, growing", target="broadcast_equal_ranks")
def grows(name, shapes):
    shape = [int(n) for n in shapes[0]]
    for other in shapes[1:]:
        if len(other) != len(shape):
            raise TypeError(f"{name}: {tuple(shape)} and {tuple(other)} have different numbers of axes")
        for axis, n in enumerate(other):
            if shape[axis] == 1:
                shape[axis] = int(n)
            elif n not in (1, shape[axis]):
                raise TypeError(f"{name}: {shapes} cannot be broadcast along axis {axis}")
    return tuple(shape)


@also_right("01.3", "counts who is above whom")
def counts(x64, *nodes):
    bounds = upper_bounds(x64)
    missing = [n for n in nodes if n not in bounds]
    if missing:
        raise ValueError(f"there is no {missing[0]} in the lattice")
    above = set(bounds[nodes[0]])
    for node in nodes[1:]:
        above &= bounds[node]
    if not above or not any(above <= bounds[n] for n in above):
        raise TypePromotionError(no_promotion_path(nodes))
    return max(above, key=lambda n: len(bounds[n]))


@also_right("01.3", "asks the operands themselves first")
def operands_first(x64, *nodes):
    table = upper_bounds(x64)
    try:
        sets = [table[n] for n in nodes]
    except KeyError as error:
        raise ValueError(f"{error.args[0]} is no type that promotes") from None
    common = [n for n in table if all(n in s for s in sets)]
    lowest = [n for n in common if all(other in table[n] for other in common)]
    if not lowest:
        raise TypePromotionError(no_promotion_path(nodes))
    return lowest[0]


@also_right("01.4", "asks each time")
def asks_each_time(symbol, function):
    def method(self, other):
        if not takes_part(other, symbol, other, self):
            if getattr(other, "__jax_array__", None) is None:
                return NotImplemented
            other = other.__jax_array__()
        try:
            return function(other, self)
        except Exception as error:
            filter_traceback(error)
            raise

    return method


@also_right("01.4", "a closure with a name")
def named_closure(symbol, function):
    def reflected(x, y):
        known = _takes_part.get(type(y))
        if known is None:
            known = takes_part(y, symbol, y, x)
        give = None if known else getattr(y, "__jax_array__", None)
        if known or give is not None:
            y = give() if give is not None else y
            try:
                return function(y, x)
            except BaseException as e:
                filter_traceback(e)
                raise e
        return NotImplemented

    reflected.__name__ = "reflected"
    return reflected


@also_right("01.5", "three kinds, one after the other")
def three_kinds(self, x):
    if not isinstance(x, Tracer):
        literal = literal_form(x)
        if literal is not None:
            return Literal(literal, core.get_aval(x))
    else:
        check_lives(x)
    key = id(x)
    if key not in self.constvar_of_id:
        var = Var(core.typeof(x))
        self.consts[var] = x
        self.constvar_of_id[key] = var
    return self.constvar_of_id[key]


@also_right("01.5", "tries the table")
def tries_the_table(self, x):
    tracer = isinstance(x, Tracer)
    if tracer:
        check_lives(x)
    number = None if tracer else literal_form(x)
    if number is not None:
        return Literal(number, core.get_aval(x))
    try:
        return self.constvar_of_id[id(x)]
    except KeyError:
        pass
    self.constvar_of_id[id(x)] = new = Var(core.get_aval(x))
    self.consts[new] = x
    return new


@also_right("01.6", "by shape", target="check_bool_conversion")
def by_shape(x):
    count = 1
    for n in x.shape:
        count *= n
    if count != 1:
        raise ValueError(f"the truth of {count} elements is ambiguous")


@also_right("01.6", "by shape", target="Tracer.__bool__")
def bool_by_shape(self):
    check_bool_conversion(self)
    raise errors.TracerBoolConversionError(self) from None


@also_right("01.6", "by shape", target="concrete_or_error")
def forces(force, x, context=""):
    if not isinstance(x, Tracer):
        return force(x)
    error = errors.ConcretizationTypeError(x, context) if force is not operator.index else None
    raise error or errors.TracerIntegerConversionError(x)


@also_right("01.6", "in one expression each", target="check_bool_conversion")
def size_is_one(x):
    if not x.size == 1:
        raise ValueError("Which of the elements should decide? That is ambiguous.")


@also_right("01.6", "in one expression each", target="Tracer.__index__")
def index_after_check(self):
    check_integer_conversion(self)
    error = errors.TracerIntegerConversionError(self)
    raise error


@also_right("01.6", "in one expression each", target="concrete_or_error")
def by_match(force, x, context=""):
    match isinstance(x, Tracer), force is operator.index:
        case True, True:
            raise errors.TracerIntegerConversionError(x)
        case True, False:
            raise errors.ConcretizationTypeError(x, context=context)
    return force(x)


@also_right("01.2", "with sets of sizes", target="broadcast_equal_ranks")
def broadcast_equal_ranks_with_sets_of_sizes(name, shapes):
    ranks = {len(shape) for shape in shapes}
    if len(ranks) != 1:
        raise TypeError(f"{name}: ranks differ: {sorted(ranks)}")
    (rank,) = ranks

    def size_of(axis):
        big = {shape[axis] for shape in shapes} - {1}
        match sorted(big):
            case []:
                return 1
            case [size]:
                return size
            case sizes:
                raise TypeError(f"{name} cannot stretch {sizes} along axis {axis}")

    return tuple(size_of(axis) for axis in range(rank))


@also_right("01.2", "with sets of sizes", target="elementwise_aval")
def elementwise_aval_with_sets_of_sizes(name, accepts, result, one_dtype, operands):
    shape = broadcast_operands(name, *operands)
    check_operands(name, accepts, *operands)
    if one_dtype:
        check_same_dtypes(name, *operands)
    weak = True
    for operand in operands:
        weak &= operand.weak_type
    return ShapedArray(shape, result(*operands), weak)


@also_right("01.6", "counts, and matches", target="check_bool_conversion")
def check_bool_conversion_counts_and_matches(x):
    import numpy

    elements = int(numpy.prod(x.shape))
    if elements > 1:
        raise ValueError("several elements have no one truth")
    elif not elements:
        raise ValueError("nothing has no truth")


@also_right("01.6", "counts, and matches", target="Tracer.__bool__")
def bool_counts_and_matches(self):
    check_bool_conversion(self)
    raise errors.TracerBoolConversionError(self)


@also_right("01.6", "counts, and matches", target="Tracer.__index__")
def index_counts_and_matches(self):
    check_integer_conversion(self)
    raise errors.TracerIntegerConversionError(self)


@also_right("01.6", "counts, and matches", target="concrete_or_error")
def concrete_or_error_counts_and_matches(force, x, context=""):
    if not isinstance(x, core.Tracer):
        return force(x)
    import operator as op

    match force:
        case op.index:
            problem = errors.TracerIntegerConversionError(x)
        case _:
            problem = errors.ConcretizationTypeError(x, context)
    raise problem


# --- what learners wrote who believed something else --------------------------------------------------------------


@mutant("01.1", "there is always a trace", "What is the current trace outside of a traced function?", target="")
def no_eager(self, *args, **params):
    trace = config.local.state.trace
    try:
        return trace.process_primitive(self, args, params)
    except TypeError:
        check_arrays(self, args)
        raise


@mutant(
    "01.1",
    "every error is about the operands",
    "After which class of error should you call `check_arrays`? What should become of a ValueError?",
)
def any_error(self, *args, **params):
    trace = config.local.state.trace
    try:
        if trace is None:
            return eager.apply(self, args, params)
        return trace.process_primitive(self, args, params)
    except Exception:
        check_arrays(self, args)
        raise


@mutant(
    "01.1", "operands are checked before every operation", "When are the operands checked: always, or after an error?"
)
def checks_before(self, *args, **params):
    check_arrays(self, args)
    trace = config.local.state.trace
    if trace is None:
        return eager.apply(self, args, params)
    return trace.process_primitive(self, args, params)


@mutant(
    "01.1",
    "the trace is the one that was current when the module was loaded",
    "Which trace gets the operation: the one that is current when `bind` is called, or when the module was loaded?",
)
def by_operand(self, *args, **params):
    trace = next(
        (x._trace for x in args if isinstance(x, core.Tracer) and hasattr(x, "_trace")), config.local.state.trace
    )
    try:
        if trace is None:
            return eager.apply(self, args, params)
        return trace.process_primitive(self, args, params)
    except TypeError:
        check_arrays(self, args)
        raise


@mutant(
    "01.1",
    "`process_primitive` takes the operands one by one",
    "What does `process_primitive` receive: the operands one by one, or a tuple?",
)
def list_of_operands(self, *args, **params):
    trace = config.local.state.trace
    try:
        if trace is None:
            return eager.apply(self, list(args), params)
        return trace.process_primitive(self, list(args), params)
    except TypeError:
        check_arrays(self, args)
        raise


@also_right("01.1", "with getattr")
def chosen_first(self, *args, **params):
    current = config.local.state.trace
    run = eager.apply if current is None else current.process_primitive
    try:
        return run(self, args, params)
    except TypeError:
        check_arrays(self, args)
        raise


@mutant(
    "01.3",
    "any node above all of them is the lowest such node",
    "Several nodes are above all of them. From which one of these can all the others be reached?",
)
def first_above(x64, *nodes):
    bounds = upper_bounds(x64)
    for node in nodes:
        if node not in bounds:
            raise ValueError(node)
    common = set.intersection(*[set(bounds[n]) for n in nodes])
    if not common:
        raise TypePromotionError(no_promotion_path(nodes))
    return sorted(common, key=str)[0]


@mutant("01.3", "one of two types is always above the other", "int16 and uint16: is one of them above the other?")
def larger(x64, *nodes):
    bounds = upper_bounds(x64)
    for node in nodes:
        if node not in bounds:
            raise ValueError(node)
    found = nodes[0]
    for node in nodes[1:]:
        if node in bounds[found]:
            found = node
        elif found not in bounds[node]:
            raise TypePromotionError(no_promotion_path(nodes))
    return found


@mutant(
    "01.3",
    "a node that is not in the lattice is its own upper bound",
    "Which error should there be for a node that is not in the lattice?",
)
def unknown_is_key_error(x64, *nodes):
    bounds = upper_bounds(x64)
    common = set.intersection(*[set(bounds[n]) for n in nodes])
    for node in common:
        if common <= set(bounds[node]):
            return node
    raise TypePromotionError(no_promotion_path(nodes))


@mutant("01.3", "there is always a common upper bound", "What should happen if no type is above all of them?")
def always_one(x64, *nodes):
    bounds = upper_bounds(x64)
    for node in nodes:
        if node not in bounds:
            raise ValueError(node)
    common = set.intersection(*[set(bounds[n]) for n in nodes])
    for node in common:
        if common <= set(bounds[node]):
            return node
    return nodes[0]


@also_right("01.3", "by the number of nodes above")
def by_size(x64, *nodes):
    bounds = upper_bounds(x64)
    unknown = [n for n in nodes if n not in bounds]
    if unknown:
        raise ValueError(f"{unknown[0]} is not in the lattice")
    common = frozenset.intersection(*(frozenset(bounds[n]) for n in nodes))
    best = max(common, key=lambda n: len(bounds[n]), default=None)
    if best is None or not common <= set(bounds[best]):
        raise TypePromotionError(no_promotion_path(nodes))
    return best


edit(
    "01.4",
    "an error needs no filtering",
    "`function` raises an error. Which frames should its traceback show?",
    "            filter_traceback(error)\n",
    "",
)


edit(
    "01.4",
    "an object of an unknown class is refused at once",
    "`other` is an object of another library. What must the method return so that Python asks that object?",
    "return NotImplemented",
    "raise TypeError(symbol)",
)


edit(
    "01.4",
    "the type of `self` decides whether `other` is an operand",
    "`_takes_part` caches answers by type. By the type of which operand?",
    "t = type(other)",
    "t = type(self)",
)


edit(
    "01.4",
    "an object whose type is not in the cache is not an operand",
    "`_takes_part` only caches answers. Which function answers for a type that is not in it yet?",
    "_takes_part[t] if t in _takes_part else takes_part(other, symbol, other, self)",
    "_takes_part.get(t)",
)


edit(
    "01.4",
    "the message's operands are self and other",
    "`[1.0] - x` is refused. Which operand does the message put on the left?",
    "takes_part(other, symbol, other, self)",
    "takes_part(other, symbol, self, other)",
)


@also_right("01.4", "a nested function with early return")
def early_return(symbol, function):
    def method(self, other):
        known = _takes_part.get(type(other))
        if known is None:
            known = takes_part(other, symbol, other, self)
        if not known:
            try:
                give = other.__jax_array__
            except AttributeError:
                return NotImplemented
            if give is None:
                return NotImplemented
            other = give()
        try:
            result = function(other, self)
        except BaseException as error:
            filter_traceback(error)
            raise
        return result

    return method


edit(
    "01.5",
    "a constant's `id` is enough, without the object",
    "An `id` is free again when its object dies. Who keeps the object?",
    "        self.consts[var] = x  # keeps x alive, and so its id unique\n",
    "        self.consts[var] = getattr(x, 'aval', x) if False else x.copy() if hasattr(x, 'copy') else x\n",
)


edit(
    "01.5",
    "the tracers of an outer trace are dead",
    "Has the trace of the enclosing function ended?",
    "check_lives(x)",
    "raise errors.UnexpectedTracerError(x)",
)


edit(
    "01.5",
    "a tracer is good for ever",
    "What should be done with a tracer that outlived its trace?",
    "        check_lives(x)\n",
    "        pass\n",
)


edit(
    "01.5",
    "the scalar 0 has no literal form",
    "`literal_form(0)` is 0: is that None?",
    "(value := literal_form(x)) is not None",
    "(value := literal_form(x))",
)


edit(
    "01.6",
    "an array without elements is false",
    "Is an empty array false, as an empty list is, or is its truth an error?",
    "if x.size == 0:",
    "if False:",
    target="check_bool_conversion",
)


edit(
    "01.6",
    "only an array without axes has a truth value",
    "How many elements has f32[1,1]?",
    "if x.size > 1:",
    "if x.ndim:",
    target="check_bool_conversion",
)


edit(
    "01.6",
    "the length of the first axis is the number of elements",
    "How many elements has f32[1,3]?",
    "if x.size > 1:",
    "if x.shape and x.shape[0] > 1:",
    target="check_bool_conversion",
)


edit(
    "01.6",
    "every tracer raises the same error",
    "An array of three elements has no truth value outside of a trace, either. Which error does it raise?",
    "check_bool_conversion(self)\n",
    "pass\n",
    target="Tracer.__bool__",
)


@mutant(
    "01.2",
    "it is enough to compare each size with the next one",
    "Sizes 3, 1, 4 along an axis: 3 fits beside 1, and 1 beside 4. And all three?",
    target="broadcast_equal_ranks",
)
def neighbours(name, shapes):
    if len({len(s) for s in shapes}) > 1:
        raise TypeError(f"{name} got arrays of different rank: {shapes}.")
    out = shapes[0]
    for i in range(1, len(shapes)):
        one, other = shapes[i - 1], shapes[i]
        for a, b in zip(one, other, strict=True):
            if a != b and 1 not in (a, b):
                raise TypeError(f"{name} got incompatible shapes for broadcasting: {shapes}.")
    for other in shapes[1:]:
        out = tuple(b if a == 1 else a for a, b in zip(out, other, strict=True))
    return out


@mutant(
    "01.2",
    "numpy's error for shapes that do not fit will do",
    "Of which class is the error that `np.broadcast_shapes` raises? And which one does the docstring want?",
    target="broadcast_equal_ranks",
)
def by_numpy(name, shapes):
    import numpy as np

    if len({len(s) for s in shapes}) > 1:
        raise TypeError(f"{name} got arrays of different rank: {shapes}.")
    return np.broadcast_shapes(*shapes)


@mutant(
    "01.2",
    "a shape may be a list",
    "A shape is part of the keys under which programs are found. Can a list be part of a key?",
    target="broadcast_equal_ranks",
)
def as_a_list(name, shapes):
    if len({len(s) for s in shapes}) > 1:
        raise TypeError(f"{name} got arrays of different rank: {shapes}.")
    out = []
    for sizes in zip(*shapes, strict=True):
        others = set(sizes) - {1}
        if len(others) > 1:
            raise TypeError(f"{name} got incompatible shapes for broadcasting: {shapes}.")
        out.append(others.pop() if others else 1)
    return out


@mutant(
    "01.2",
    "a scalar must have as many axes as the other operands",
    "A scalar has no axes, and fits beside every shape. Which of the imported helpers lets it pass?",
    target="elementwise_aval",
)
def equal_ranks(name, accepts, result, one_dtype, operands):
    from jitkit.lax.utils import broadcast_equal_ranks

    shape = broadcast_equal_ranks(name, [o.shape for o in operands])
    check_operands(name, accepts, *operands)
    if one_dtype:
        check_same_dtypes(name, *operands)
    return ShapedArray(shape, result(*operands), all(o.weak_type for o in operands))


@mutant(
    "01.2",
    "dtypes are checked before shapes",
    "x has another shape and another dtype than y. Which of the two should the error be about?",
    target="elementwise_aval",
)
def dtypes_first(name, accepts, result, one_dtype, operands):
    check_operands(name, accepts, *operands)
    if one_dtype:
        check_same_dtypes(name, *operands)
    shape = broadcast_operands(name, *operands)
    return ShapedArray(shape, result(*operands), all(o.weak_type for o in operands))


@also_right("01.2", "pair by pair", target="broadcast_equal_ranks")
def pair_by_pair(name, shapes):
    shapes = list(map(tuple, shapes))
    found = shapes[0]
    for shape in shapes[1:]:
        if len(shape) != len(found):
            raise TypeError(f"{name}: shapes of different ranks, {shapes}")
        for a, b in zip(found, shape, strict=True):
            if a != b and a != 1 and b != 1:
                raise TypeError(f"{name}: shapes {shapes} do not fit")
        found = tuple([b if a == 1 else a for a, b in zip(found, shape, strict=True)])
    return found


@also_right("01.2", "numpy's, with another error", target="broadcast_equal_ranks")
def numpys(name, shapes):
    import numpy as np

    try:
        if len(set(map(len, shapes))) != 1:
            raise ValueError("ranks differ")
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise TypeError(f"{name}: {error}") from None


# --- what learners write who have read the text only -------------------------------------------------------------------


@mutant(
    "01.1",
    "all threads have one trace",
    "When another thread calls `bind` while this one traces, which trace is current there?",
    target="Primitive.bind",
)
def of_one_thread(self, *args, **params):
    trace = globals().setdefault("_STATE", config.local.state).trace
    try:
        if trace is None:
            return eager.apply(self, args, params)
        return trace.process_primitive(self, args, params)
    except TypeError:
        check_arrays(self, args)
        raise


@mutant(
    "01.1",
    "an operation without operands runs while tracing",
    "`iota` has no operands. Is it written down in a traced function?",
    target="Primitive.bind",
)
def nothing_to_trace(self, *args, **params):
    trace = config.local.state.trace
    try:
        if trace is None or not args:
            return eager.apply(self, args, params)
        return trace.process_primitive(self, args, params)
    except TypeError:
        check_arrays(self, args)
        raise


@mutant(
    "01.2",
    "there are always two operands",
    "`clamp` has three operands. Do you look at the shape of the second one?",
    target="broadcast_equal_ranks",
)
def first_and_last_shape(name, shapes):
    if len(shapes) == 1:
        return tuple(shapes[0])
    a, b = shapes[0], shapes[-1]
    if len(a) != len(b):
        raise TypeError(f"{name}: ranks differ")
    result = []
    for m, n in zip(a, b, strict=False):
        if m != n and 1 not in (m, n):
            raise TypeError(f"{name}: sizes differ")
        result.append(n if m == 1 else m)
    return tuple(result)


@mutant(
    "01.2",
    "`broadcast_equal_ranks` accepts a scalar beside an array",
    "How many axes does a scalar have, and how many must all have?",
    target="broadcast_equal_ranks",
)
def scalars_fit_here(name, shapes):
    shapes = [s for s in shapes if s != ()]
    if not shapes:
        return ()
    if len({len(s) for s in shapes}) > 1:
        raise TypeError(f"{name}: ranks differ")
    result = []
    for sizes in zip(*shapes, strict=False):
        others = set(sizes) - {1}
        if len(others) > 1:
            raise TypeError(f"{name}: sizes differ")
        result.append(others.pop() if others else 1)
    return tuple(result)


@mutant(
    "01.2",
    "size 0 fits beside every size",
    "Can an array of shape (0,) be added to one of shape (3,)?",
    target="broadcast_equal_ranks",
)
def zero_is_no_size(name, shapes):
    if len({len(s) for s in shapes}) > 1:
        raise TypeError(f"{name}: ranks differ")
    result = []
    for sizes in zip(*shapes, strict=False):
        found = 1
        for n in sizes:
            if found and found != 1 and n != 1 and n != found:
                raise TypeError(f"{name}: sizes differ")
            found = found if n == 1 else (found if found > 1 else n)
        result.append(found)
    return tuple(result)


@mutant(
    "01.2",
    "size 0 fits beside every size",
    "Can an array of shape (0,) be added to one of shape (3,)?",
    target="broadcast_equal_ranks",
)
def empty_arrays_fit(name, shapes):
    if len({len(s) for s in shapes}) > 1:
        raise TypeError(f"{name}: ranks differ")
    result = []
    for sizes in zip(*shapes, strict=False):
        if 0 in sizes:
            result.append(0)
            continue
        others = set(sizes) - {1}
        if len(others) > 1:
            raise TypeError(f"{name}: sizes differ")
        result.append(others.pop() if others else 1)
    return tuple(result)


@mutant(
    "01.2",
    "a result with a dtype of its own is never weakly typed",
    "When is a result weakly typed, according to the docstring? Does its dtype matter for that?",
    target="elementwise_aval",
)
def strong_with_another_dtype(name, accepts, result, one_dtype, operands):
    shape = broadcast_operands(name, *operands)
    check_operands(name, accepts, *operands)
    if one_dtype:
        check_same_dtypes(name, *operands)
    dtype = result(*operands)
    return ShapedArray(shape, dtype, all(o.weak_type and o.dtype == dtype for o in operands))


@mutant(
    "01.2",
    "dtypes need comparing only if there are two operands",
    "How many operands does `clamp` have, and which dtypes may they have?",
    target="elementwise_aval",
)
def two_dtypes_only(name, accepts, result, one_dtype, operands):
    shape = broadcast_operands(name, *operands)
    check_operands(name, accepts, *operands)
    if one_dtype and len(operands) == 2:
        check_same_dtypes(name, *operands)
    return ShapedArray(shape, result(*operands), all(o.weak_type for o in operands))


@mutant(
    "01.2",
    "a weakly typed operand is converted",
    "A primitive that wants one dtype gets a weak float32 and a float16. Does anything convert them here?",
    target="elementwise_aval",
)
def weak_ones_may_differ(name, accepts, result, one_dtype, operands):
    shape = broadcast_operands(name, *operands)
    check_operands(name, accepts, *operands)
    if one_dtype:
        check_same_dtypes(name, *[o for o in operands if not o.weak_type])
    return ShapedArray(shape, result(*operands), all(o.weak_type for o in operands))


@mutant(
    "01.3",
    "nodes that compare equal are the same node",
    "What does `int == np.dtype('int64')` give, and are they the same node?",
)
def equal_nodes(x64, *nodes):
    bounds = upper_bounds(x64)
    for n in nodes:
        if n not in bounds:
            raise ValueError(n)
    if all(n == nodes[0] for n in nodes):
        return nodes[0]
    common = frozenset.intersection(*(bounds[n] for n in nodes))
    for n in common:
        if bounds[n] == common:
            return n
    raise TypePromotionError(no_promotion_path(nodes))


@mutant(
    "01.3",
    "the common type can be found two types at a time",
    "Three types have no common upper bound. Which of them should the message name: two, or all?",
)
def two_at_a_time(x64, *nodes):
    bounds = upper_bounds(x64)
    for n in nodes:
        if n not in bounds:
            raise ValueError(n)
    result = nodes[0]
    for n in nodes[1:]:
        common = bounds[result] & bounds[n]
        found = [m for m in common if bounds[m] == common]
        if not found:
            raise TypePromotionError(no_promotion_path((result, n)))
        result = found[0]
    return result


@mutant(
    "01.4",
    "whatever has the attribute `__jax_array__` can convert itself",
    "JAX's tracers have the attribute `__jax_array__`. What is its value?",
)
def has_the_attribute(symbol, function):
    def method(self, other):
        if not takes_part(other, symbol, other, self):
            if not hasattr(other, "__jax_array__"):
                return NotImplemented
            other = other.__jax_array__()
        try:
            return function(other, self)
        except Exception as error:
            filter_traceback(error)
            raise

    return method


@mutant(
    "01.4",
    "`__jax_array__` is looked for first",
    "A subclass of `np.ndarray` may have `__jax_array__`, too. Is it an array?",
)
def converts_first(symbol, function):
    def method(self, other):
        convert = getattr(other, "__jax_array__", None)
        if convert is not None:
            other = convert()
        elif not takes_part(other, symbol, other, self):
            return NotImplemented
        try:
            return function(other, self)
        except Exception as error:
            filter_traceback(error)
            raise

    return method


@mutant(
    "01.4",
    "if `__jax_array__` raises an error, the method returns NotImplemented",
    "`__jax_array__` raised a KeyError. Should the user see it?",
)
def swallows_the_conversion(symbol, function):
    def method(self, other):
        if not takes_part(other, symbol, other, self):
            try:
                other = other.__jax_array__()
            except Exception:
                return NotImplemented
        try:
            return function(other, self)
        except Exception as error:
            filter_traceback(error)
            raise

    return method


@mutant(
    "01.4",
    "after a TypeError, the other operand should be asked",
    '`function` raised a TypeError with a good message. Should the user see it, or Python\'s "unsupported operand"?',
)
def passes_type_errors_on(symbol, function):
    def method(self, other):
        if not takes_part(other, symbol, other, self):
            convert = getattr(other, "__jax_array__", None)
            if convert is None:
                return NotImplemented
            other = convert()
        try:
            return function(other, self)
        except TypeError:
            return NotImplemented
        except Exception as error:
            filter_traceback(error)
            raise

    return method


@mutant("01.4", "`function` wants arrays", "`2 - x`: does `function` get the 2, or an array of it?")
def converts_numbers(symbol, function):
    def method(self, other):
        if not takes_part(other, symbol, other, self):
            convert = getattr(other, "__jax_array__", None)
            if convert is None:
                return NotImplemented
            other = convert()
        import jitkit.numpy as jnp

        try:
            return function(jnp.asarray(other), self)
        except Exception as error:
            filter_traceback(error)
            raise

    return method


@mutant(
    "01.4",
    "the array that `other` converts to is the right operand",
    "On which side of the operator did `other` stand?",
)
def converted_on_the_right(symbol, function):
    def method(self, other):
        if takes_part(other, symbol, other, self):
            left, right = other, self
        else:
            convert = getattr(other, "__jax_array__", None)
            if convert is None:
                return NotImplemented
            left, right = self, convert()
        try:
            return function(left, right)
        except Exception as error:
            filter_traceback(error)
            raise

    return method


@mutant(
    "01.4",
    "objects of one class convert to the same array",
    "Two objects of one class: do they convert to the same array?",
)
def remembers_conversions(symbol, function):
    converted = {}

    def method(self, other):
        if not takes_part(other, symbol, other, self):
            convert = getattr(other, "__jax_array__", None)
            if convert is None:
                return NotImplemented
            if type(other) not in converted:
                converted[type(other)] = convert()
            other = converted[type(other)]
        try:
            return function(other, self)
        except Exception as error:
            filter_traceback(error)
            raise

    return method


@mutant(
    "01.5",
    "the atom of an object can be kept under its `id`",
    "Who keeps a scalar alive after it became a literal? What may have its id next?",
)
def one_atom_per_object(self, x):
    from jitkit.core import Tracer

    if isinstance(x, Tracer):
        check_lives(x)
    if id(x) in self.constvar_of_id:
        return self.constvar_of_id[id(x)]
    form = literal_form(x)
    if form is not None:
        atom = Literal(form, core.get_aval(x))
    else:
        atom = Var(core.get_aval(x))
        self.consts[atom] = x
    self.constvar_of_id[id(x)] = atom
    return atom


@mutant(
    "01.5",
    "every array without axes is a literal",
    "What does `literal_form` return for an array without axes on a device?",
)
def no_axes_no_constant(self, x):
    from jitkit.core import Tracer

    if isinstance(x, Tracer):
        check_lives(x)
    elif core.get_aval(x).shape == ():
        return Literal(x, core.get_aval(x))
    var = self.constvar_of_id.get(id(x))
    if var is None:
        var = self.constvar_of_id[id(x)] = Var(core.get_aval(x))
        self.consts[var] = x
    return var


@mutant(
    "01.6",
    "an integer array of any shape is an index",
    "What does `range(np.array([1, 2]))` say?",
    target="Tracer.__index__",
)
def any_shape_is_an_index(self):
    import numpy as np

    if not np.issubdtype(self.dtype, np.integer):
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
    raise errors.TracerIntegerConversionError(self)


@mutant(
    "01.6", "a truth value is an index", "What does `operator.index(np.array(True))` say?", target="Tracer.__index__"
)
def bools_are_indices(self):
    if self.shape != () or self.dtype.kind not in "iub":
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
    raise errors.TracerIntegerConversionError(self)


@mutant(
    "01.6",
    "one integer is an index, whatever its axes",
    "What is the type of an index: i32[], or i32[1], too?",
    target="Tracer.__index__",
)
def one_element_is_an_index(self):
    if self.size != 1 or self.dtype.kind not in "iu":
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
    raise errors.TracerIntegerConversionError(self)


@mutant("01.6", "only signed integers are indices", "Can `np.uint8(3)` be an index?", target="Tracer.__index__")
def signed_indices(self):
    if self.shape != () or self.dtype.kind != "i":
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
    raise errors.TracerIntegerConversionError(self)


@mutant("01.6", "only int32 is an index", "Can `np.int8(3)` be an index?", target="Tracer.__index__")
def indices_of_32_bits(self):
    if self.shape != () or str(self.dtype) != "int32":
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
    raise errors.TracerIntegerConversionError(self)


@mutant(
    "01.6",
    "`force` can be recognised by its name",
    "What is the `__name__` of a `functools.partial`? And what if another `force` is called `index`?",
    target="concrete_or_error",
)
def asks_for_the_name(force, x, context=""):
    if core.is_concrete(x):
        return force(x)
    if force.__name__ == "index":
        raise errors.TracerIntegerConversionError(x)
    raise errors.ConcretizationTypeError(x, context)


@mutant(
    "01.6",
    "if `force` fails, the value was traced",
    "`int([1])` raises a TypeError. Has that to do with tracing?",
    target="concrete_or_error",
)
def all_errors_are_of_tracing(force, x, context=""):
    if core.is_concrete(x):
        try:
            return force(x)
        except TypeError:
            raise errors.ConcretizationTypeError(x, context) from None
    if force is operator.index:
        raise errors.TracerIntegerConversionError(x)
    raise errors.ConcretizationTypeError(x, context)


@mutant(
    "01.6",
    "whatever has an `aval` is a tracer",
    "Does an ordinary array have the attribute `aval`?",
    target="concrete_or_error",
)
def avals_are_traced(force, x, context=""):
    if not hasattr(x, "aval"):
        return force(x)
    if force is operator.index:
        raise errors.TracerIntegerConversionError(x)
    raise errors.ConcretizationTypeError(x, context)


@mutant(
    "01.6",
    "`force` need not be called for None",
    "What does `concrete_or_error(str, None)` return?",
    target="concrete_or_error",
)
def none_is_nothing(force, x, context=""):
    if x is None:
        return None
    if core.is_concrete(x):
        return force(x)
    if force is operator.index:
        raise errors.TracerIntegerConversionError(x)
    raise errors.ConcretizationTypeError(x, context)


@mutant(
    "01.5",
    "a literal holds the value as it came",
    "For a float64, `literal_form` returns another value than x. Which of the two stands in the equation?",
)
def literals_of_what_came(self, x):
    if isinstance(x, core.Tracer):
        check_lives(x)
    elif literal_form(x) is not None:
        return Literal(x, core.get_aval(x))
    var = self.constvar_of_id.get(id(x))
    if var is None:
        var = Var(core.aval_of_constant(x))
        self.constvar_of_id[id(x)] = var
        self.consts[var] = x
    return var


edit(
    "01.5", "a copy is as good as the array", "`constvar_of_id` has the `id` of x. When may another object get this id?",
    "self.consts[var] = x", "self.consts[var] = x if isinstance(x, Tracer) else __import__('numpy').asarray(x)",
)  # fmt: skip
edit(
    "01.6", "with a context, any number is an index", "Does a context change what `operator.index` asks for?",
    "if force is operator.index:", "if force is operator.index and not context:",
    target="concrete_or_error",
)  # fmt: skip
