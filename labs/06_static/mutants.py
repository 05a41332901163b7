"""Wrong answers to the exercises of lab 06, each with what its author believes."""

from jitkit.kata.mutants import also_right, edit, mutant

# --- 06.1 Numbers and names ---------------------------------------------------------------------------------------

edit(
    "06.1",
    "keywords bypass `static_argnums`",
    "With `static_argnums=1`, is n static in `f(x, n=3)`? Where do you return its name?",
    "names = tuple(name for i, name in both_ways.items() if i in nums)",
    "names = ()",
)
edit(
    "06.1",
    "a name says nothing of positions",
    "With `static_argnames='n'`, is n static in `f(x, 3)`? Where do you return its position?",
    "return tuple([i for i, name in both_ways.items() if names and name in names]), names or ()",
    "return (), names or ()",
)


@mutant(
    "06.1",
    "numbers and names are each completed from the other",
    "Somebody gives the number of one argument and the name of another. May you add to the numbers, or to the names?",
)
def completes_both(signature, nums, names):
    parameters = list(signature.parameters.values())
    both_ways = {i: p.name for i, p in enumerate(parameters) if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD}
    nums, names = nums or (), names or ()
    if not any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        count = sum(p.kind in POSITIONAL for p in parameters)
        nums = tuple(n % count if n < 0 else n for n in nums)
    all_nums = {*nums, *[i for i, name in both_ways.items() if name in names]}
    all_names = {*names, *[both_ways[i] for i in nums if i in both_ways]}
    return tuple(sorted(all_nums)), tuple(sorted(all_names))


edit(
    "06.1",
    "each parameter has a position and a name",
    "Can the caller write the name of a parameter before the `/`?",
    " if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD",
    "",
)
edit(
    "06.1",
    "negative positions count from the last parameter",
    "Which parameter is the last one that takes a position? Are there others after it?",
    "count = sum(p.kind in POSITIONAL for p in parameters)",
    "count = len(parameters)",
)
edit(
    "06.1",
    "the signature tells the number of arguments",
    "`def f(x, *args)`: how many positional arguments does a call have?",
    "if not any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):",
    "if True:",
)

edit(
    "06.1",
    "if names are given, negative positions stay negative",
    "`static_argnums=-1, static_argnames='x'`: which position is -1 of a function without `*args`?",
    "if not any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):",
    "if names is None and not any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):",
)
edit(
    "06.1",
    "every parameter with a position can be passed by name",
    "Can the parameter a of `def f(a, /, b)` be passed by its name?",
    "return tuple([i for i, name in both_ways.items() if names and name in names]), names or ()",
    "return tuple([i for i, p in enumerate(parameters) if p.kind in POSITIONAL and p.name in (names or ())]), "
    "names or ()",
)

# --- 06.2 What does not fit ---------------------------------------------------------------------------------------


@mutant(
    "06.2",
    "a position or a name that does not exist is ignored",
    "Somebody counted from 1. What do they see, and when?",
    target="check_positions",
)
def lets_all_positions_pass(fun, signature, nums, what):
    return None


edit(
    "06.2",
    "a position or a name that does not exist is ignored",
    "Somebody mistyped a name. What do they see, and when?",
    "unknown = {name for name in names if kinds.get(name) not in KEYWORD}",
    "unknown = set()",
    target="check_names",
)
edit(
    "06.2",
    "the last position equals the number of parameters",
    "Four parameters take a position. Which number has the last one, counted from the front, and the first one, counted from the end?",
    "if -min(nums) > count or max(nums) >= count:",
    "if -min(nums) >= count or max(nums) > count:",
    target="check_positions",
)
edit(
    "06.2",
    "every parameter takes a position",
    "Which parameters of `f(x, *, n)` can be passed without their names?",
    "sum(kind in POSITIONAL for kind in kinds)",
    "len(kinds)",
    target="check_positions",
)
edit(
    "06.2",
    "`*args` and `**options` do not take the names and positions that are left",
    "`def f(x, **options)` is called with `f(1, n=2)`. Does it take n?",
    "if unknown and inspect.Parameter.VAR_KEYWORD not in kinds.values():",
    "if unknown:",
    target="check_names",
)


@mutant(
    "06.2",
    "every parameter can be named",
    "Can a caller write `x=` for `def f(x, /, **options)`, and would it be the parameter x?",
    target="check_names",
)
def takes_all_names(fun, signature, names, what):
    kinds = {p.name: p.kind for p in signature.parameters.values()}
    unknown = {name for name in names if name not in kinds}
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds.values():
        raise ValueError(
            f"Jitted function has invalid argnames {unknown} in {what}. Function does not take these args.\n"
            f"The function is {name_of(fun)}{signature}."
        )


edit(
    "06.2",
    "an error need only name the option",
    "A program has forty jitted functions. Which one is the error about?",
    '\\n"\n            f"The function is {name_of(fun)}{signature}."',
    '"',
    target="check_names",
)

edit(
    "06.2",
    "only parameters with positions have names",
    "Can `def f(x, *, n)` be called with `n=3`? Then n can be static by its name.",
    "unknown = {name for name in names if kinds.get(name) not in KEYWORD}",
    "unknown = {name for name in names if kinds.get(name) not in POSITIONAL}",
    target="check_names",
)
edit(
    "06.2",
    "`**kwargs` takes the name of `*args`",
    "`def f(*args, **options)`: can a caller pass the collected positions by the name `args`?",
    "never_by_name = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)",
    "never_by_name = (inspect.Parameter.POSITIONAL_ONLY,)",
    target="check_names",
)


@mutant(
    "06.2",
    "the error about unknown names comes first",
    "One name is that of a positional-only parameter, the other one is unknown. Which of the two is the error about?",
    target="check_names",
)
def unknown_first(fun, signature, names, what):
    kinds = {p.name: p.kind for p in signature.parameters.values()}
    unknown = {name for name in names if name not in kinds}
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds.values():
        raise ValueError(
            f"Jitted function has invalid argnames {unknown} in {what}. Function does not take these args.\n"
            f"The function is {name_of(fun)}{signature}."
        )
    never_by_name = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    positional_only = {name for name in names if kinds.get(name) in never_by_name}
    if positional_only:
        raise ValueError(f"Jitted function has invalid argnames {positional_only} in {what}. These are positional-only")


edit(
    "06.2",
    "every callable has a `__name__`",
    "What is the name of `functools.partial(f, 1)`? Is there a helper that knows?",
    "{name_of(fun)}",
    "{fun.__name__}",
    target="check_positions",
)

# --- 06.3 Take a call apart ---------------------------------------------------------------------------------------


@mutant(
    "06.3",
    "static arguments come last",
    "In `f(a, b, c)` b is static. In which order does your function return the three?",
    target="Arguments.merged_with",
)
def appends(self, args, kwargs):
    positional = [static.value for where, static in self.statics if not isinstance(where, str)]
    named = {where: static.value for where, static in self.statics if isinstance(where, str)}
    return [*args, *positional], kwargs | named


edit(
    "06.3",
    "static keywords stay among the others",
    "n is static. What does `jit` do with it if it is still among the dynamic keywords?",
    "{name: x for name, x in kwargs.items() if name not in spec.static_argnames}",
    "dict(kwargs)",
    target="split_call",
)
edit(
    "06.3",
    "the order of keywords counts",
    "`f(m=1, n=2)` and `f(n=2, m=1)`: are their statics the same tuple?",
    "for name in sorted({*spec.static_argnames}) if name in kwargs",
    "for name in kwargs if name in spec.static_argnames",
    target="split_call",
)
edit(
    "06.3",
    "a call has every static argument",
    "A static argument has a default value, and was left out. Does your function look for its position all the same?",
    "{i % count for i in spec.static_argnums if i < count}",
    "{i % count if i < 0 else i for i in spec.static_argnums}",
    target="split_call",
)
edit(
    "06.3",
    "a negative position works like any other",
    "Which of the arguments is number -2? Is it still among the dynamic ones?",
    "{i % count for i in spec.static_argnums if i < count}",
    "{i for i in spec.static_argnums if i < count}",
    target="split_call",
)


@mutant(
    "06.3",
    "a negative position is taken modulo the number of arguments",
    "There is one argument, and number -2 is static. Which one do you take?",
    target="split_call",
)
def takes_remainders(spec, args, kwargs):
    count = len(args)
    positions = {i % count for i in spec.static_argnums if i < count} if count else set()
    statics = [(i, Static(args[i])) for i in sorted(positions)]
    statics += [(name, Static(kwargs[name])) for name in sorted({*spec.static_argnames}) if name in kwargs]
    dynamic = tuple([x for i, x in enumerate(args) if i not in positions])
    rest = {name: x for name, x in kwargs.items() if name not in spec.static_argnames}
    return Arguments(dynamic, rest, tuple(statics), count)


edit(
    "06.3",
    "an argument that is None or False is not there",
    "`f(x, mode=None)`, and `mode` is static. Is there a static argument in this call?",
    "for name in sorted({*spec.static_argnames}) if name in kwargs",
    "for name in sorted({*spec.static_argnames}) if kwargs.get(name)",
    target="split_call",
)
edit(
    "06.3",
    "a call without arguments is always right",
    "There are no arguments, and number -1 is static. Which argument is that?",
    "if spec.static_argnums and min(spec.static_argnums) < -count:",
    "if count and spec.static_argnums and min(spec.static_argnums) < -count:",
    target="split_call",
)
edit(
    "06.3",
    "a position that is given twice is static twice",
    "There are two arguments, and 1 and -1 are static. How many static arguments does the call have?",
    "{i % count for i in spec.static_argnums if i < count}",
    "[i % count for i in spec.static_argnums if i < count]",
    target="split_call",
)

# --- 06.4 Values in a key -----------------------------------------------------------------------------------------

edit(
    "06.4",
    "a static value is known by its identity",
    "A call passes `(3, 3)`, a new tuple each time. How often is its program compiled?",
    "return bool(self.value == other.value)",
    "return self.value is other.value",
    target="Static.__eq__",
)
edit(
    "06.4",
    "equal values are the same value",
    "Is `x * True` the same program as `x * 1`? What does your `__eq__` say of the two?",
    "if not isinstance(other, Static) or type(self.value) is not type(other.value):",
    "if not isinstance(other, Static):",
    target="Static.__eq__",
)


@mutant(
    "06.4",
    "equal values are the same value",
    "`1 == True` in Python: what else must be in the key?",
    target="static_key",
)
def leaves_out_types(statics):
    return tuple(part for where, static in statics for part in (where, static.value, static.hash))


edit(
    "06.4",
    "equal hashes mean equal values",
    "Try `hash(-1) == hash(-2)`. What does a dict do after it found the hash?",
    "return bool(self.value == other.value)",
    "return hash(self) == hash(other)",
    target="Static.__eq__",
)


@mutant(
    "06.4",
    "anything can be static",
    "A list is static by its `id`. It gets one more item, and the function is called again: which code runs?",
    target="Static.__init__",
)
def invents_a_hash(self, value):
    self.value = value
    try:
        self.hash = hash(value)
    except TypeError:
        self.hash = id(value)


@mutant(
    "06.4",
    "arrays can be static",
    "What does `==` give for two arrays? And should there be a program for each array of numbers?",
    target="Static.__init__",
)
def hashes_arrays(self, value):
    self.value = value
    try:
        self.hash = hash(value.tobytes() if hasattr(value, "tobytes") else value)
    except TypeError as error:
        raise argument_errors.unhashable_static(value, error) from None


edit(
    "06.4",
    "the hash can be taken when it is needed",
    "A value is changed after the call. How would anybody notice?",
    "return self.hash",
    "return hash(self.value)",
    target="Static.__hash__",
)


@mutant(
    "06.4",
    "it does not matter which argument has a value",
    "`f(3, x)` and `f(x, 3)`: is it the same program?",
    target="static_key",
)
def leaves_out_places(statics):
    return tuple(part for _, static in statics for part in (type(static.value), static.value))


edit(
    "06.4",
    "equal values print alike",
    "The text of an object of your own class says where in memory it is. Who says whether two of them are equal?",
    "return bool(self.value == other.value)",
    "return repr(self.value) == repr(other.value)",
    target="Static.__eq__",
)
edit(
    "06.4",
    "types of the same name are the same",
    "Two modules have a class `Config` each. Is either the other's type?",
    "type(self.value) is not type(other.value)",
    "type(self.value).__name__ != type(other.value).__name__",
    target="Static.__eq__",
)
edit(
    "06.4",
    "any error of `__hash__` means that there is none",
    "The `__hash__` of a class has a bug, and ends in a KeyError. Would it help the author to read of "
    "unhashable arguments?",
    "except TypeError as error:",
    "except Exception as error:",
    target="Static.__init__",
)

# --- 06.5 What a leaf is called -----------------------------------------------------------------------------------

edit(
    "06.5",
    "an argument is a leaf",
    "An argument is a dict of two arrays. Are their names different?",
    "names.append(name + keystr(tuple(rest)))",
    "names.append(name)",
    target="argument_names",
)
edit(
    "06.5",
    "leaves are counted like arguments",
    "The first argument is static. Which parameter is the first dynamic argument?",
    "of_args = [of_call[i] for i in arguments.dynamic_positions]",
    "of_args = of_call",
    target="argument_names",
)
edit(
    "06.5",
    "what `*args` collects is one argument",
    "`*args` collected three arrays. What should each of them be called?",
    '[f"{collector}[{i}]" for i in range(count - len(names))]',
    "[collector] * (count - len(names))",
    target="positional_names",
)


@mutant(
    "06.5",
    "a keyword is always the parameter of that name",
    "`def f(x, /, **options)` is called with `f(1, x=2)`. Where is the 2?",
    target="keyword_name",
)
def takes_the_key(signature, key):
    return key


@mutant(
    "06.5",
    "every function has a signature",
    "What is `signature` for a builtin function that has none?",
    target="positional_names",
)
def needs_a_signature(signature, count):
    parameters = list(signature.parameters.values())
    names = [p.name for p in parameters if p.kind in POSITIONAL][:count]
    collector = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), "args")
    return names + [f"{collector}[{i}]" for i in range(count - len(names))]


@mutant("06.1", "JAX may be asked", "JAX has this function, too. What will you do when it is not there?")
def asks_jax(signature, nums, names):
    from jax._src import api_util

    return api_util.infer_argnums_and_argnames(signature, nums, names)


edit(
    "06.5",
    "`**options` collects keyword-only parameters, too",
    "`def f(*args, n, **options)` is called with `n=1`. Does `**options` collect it?",
    "parameters[key].kind in KEYWORD",
    "parameters[key].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD",
    target="keyword_name",
)


@mutant(
    "06.5",
    "keywords are in the order of the call",
    "In which order does a dict give its leaves?",
    target="argument_names",
)
def names_in_the_order_of_the_call(fun, arguments):
    signature = signature_of(fun)
    of_call = positional_names(signature, arguments.arity)
    named = [(of_call[i], x) for i, x in zip(arguments.dynamic_positions, arguments.args, strict=True)]
    named += [(keyword_name(signature, key), x) for key, x in arguments.kwargs.items()]
    return tuple([name + keystr(path) for name, x in named for path, _ in tree_flatten_with_path(x)[0]])


# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("06.1", "a loop over the parameters")
def loops_over_the_parameters(signature, nums, names):
    kinds = inspect.Parameter
    parameters = list(signature.parameters.values())
    takes_all = any(p.kind == kinds.VAR_POSITIONAL for p in parameters)
    positional = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    if nums is not None and not takes_all:
        nums = tuple(n + len(positional) if n < 0 else n for n in nums)
    inferred_nums, inferred_names = [], []
    for i, p in enumerate(positional):
        if p.kind == kinds.POSITIONAL_OR_KEYWORD:
            if names is not None and p.name in names:
                inferred_nums.append(i)
            if nums is not None and i in nums:
                inferred_names.append(p.name)
    if nums is None:
        nums = tuple(inferred_nums)
    if names is None:
        names = tuple(inferred_names)
    return nums, names


@also_right("06.1", "in the order in which they were given")
def in_the_given_order(signature, nums, names):
    parameters = list(signature.parameters.values())
    both = [p.name if p.kind is p.POSITIONAL_OR_KEYWORD else None for p in parameters]
    if nums is None and names is None:
        return (), ()
    if nums is None:
        return tuple(both.index(name) for name in names if name in both), names
    if all(p.kind is not p.VAR_POSITIONAL for p in parameters):
        count = len([p for p in parameters if p.kind in POSITIONAL])
        nums = tuple([n if n >= 0 else count + n for n in nums])
    if names is None:
        names = tuple(both[n] for n in nums if 0 <= n < len(both) and both[n])
    return nums, names


@also_right("06.2", "a bad one is found first", target="check_positions")
def finds_a_bad_position(fun, signature, nums, what):
    parameters = signature.parameters.values()
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return
    count = len([p for p in parameters if p.kind in POSITIONAL])
    if any(n not in range(-count, count) for n in nums):
        raise ValueError(
            f"Jitted function has {what}={nums}, but only accepts {count} positional arguments.\n"
            f"The function is {name_of(fun)}{signature}."
        )


@also_right("06.2", "a bad one is found first", target="check_names")
def finds_bad_names(fun, signature, names, what):
    P = inspect.Parameter
    kinds = {name: p.kind for name, p in signature.parameters.items()}
    bad = {n for n in names if n in kinds and kinds[n] in (P.POSITIONAL_ONLY, P.VAR_POSITIONAL)}
    start = "Jitted function has invalid argnames"
    if bad:
        raise ValueError(f"{start} {bad} in {what}. These are positional-only")
    if P.VAR_KEYWORD in kinds.values():
        return
    bad = {n for n in names if n not in kinds or kinds[n] not in KEYWORD}
    if bad:
        raise ValueError(
            f"{start} {bad} in {what}. Function does not take these args.\nThe function is {name_of(fun)}{signature}."
        )


@also_right("06.2", "with sets", target="check_names")
def names_with_sets(fun, signature, names, what):
    parameters = signature.parameters.values()
    forbidden = {p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)}
    taken = {p.name for p in parameters if p.kind in KEYWORD}
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    if set(names) & forbidden:
        raise ValueError(
            f"Jitted function has invalid argnames {set(names) & forbidden} in {what}. These are positional-only"
        )
    if not takes_all and set(names) - taken:
        raise ValueError(
            f"Jitted function has invalid argnames {set(names) - taken} in {what}. "
            f"Function does not take these args.\nThe function is {name_of(fun)}{signature}."
        )


@also_right("06.3", "one pass over the call", target="split_call")
def one_pass(spec, args, kwargs):
    count = len(args)
    low = min(spec.static_argnums, default=0)
    if low < -count:
        raise ValueError(
            "Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal to "
            f"-len(args) and less than len(args), but got value {low} for len(args) == {count}."
        )
    positions = {n if n >= 0 else n + count for n in spec.static_argnums}
    dynamic, statics = [], []
    for i, x in enumerate(args):
        if i in positions:
            statics.append((i, Static(x)))
        else:
            dynamic.append(x)
    rest = {}
    for name in kwargs:
        if name not in spec.static_argnames:
            rest[name] = kwargs[name]
    for name in sorted(kwargs):
        if name in spec.static_argnames:
            statics.append((name, Static(kwargs[name])))
    return Arguments(args=tuple(dynamic), kwargs=rest, statics=tuple(statics), arity=count)


@also_right("06.3", "one pass over the call", target="Arguments.merged_with")
def merges_by_inserting(self, args, kwargs):
    full = list(args)
    named = dict(kwargs)
    for where, static in self.statics:
        if isinstance(where, int):
            full.insert(where, static.value)
        else:
            named[where] = static.value
    return full, named


@also_right("06.3", "with slots", target="Arguments.merged_with")
def merges_with_slots(self, args, kwargs):
    hole = object()
    slots = [hole] * self.arity
    for where, static in self.statics:
        if type(where) is int:
            slots[where] = static.value
    rest = list(args)
    full = [rest.pop(0) if slot is hole else slot for slot in slots]
    return full, {**kwargs, **{w: s.value for w, s in self.statics if isinstance(w, str)}}


@also_right("06.4", "the other way about", target="Static.__init__")
def init_hash_first(self, value):
    try:
        hashed = hash(value)
    except TypeError as problem:
        raise argument_errors.unhashable_static(value, problem) from problem
    self.value, self.hash = value, hashed


@also_right("06.4", "the other way about", target="Static.__eq__")
def eq_in_one(self, other):
    return isinstance(other, Static) and type(self.value) == type(other.value) and bool(self.value == other.value)


@also_right("06.4", "the other way about", target="static_key")
def static_key_by_adding(statics):
    key = ()
    for where, static in statics:
        key += (where, type(static.value), static.value)
    return key


@also_right("06.4", "with an iterator", target="static_key")
def static_key_with_chain(statics):
    import itertools

    return tuple(itertools.chain.from_iterable((w, s.value.__class__, s.value) for w, s in statics))


@also_right("06.5", "case by case", target="argument_names")
def names_case_by_case(fun, arguments):
    signature = signature_of(fun)
    all_names = positional_names(signature, arguments.arity)
    names = []
    paths, _ = tree_flatten_with_path((arguments.args, arguments.kwargs))
    for path, _ in paths:
        if path[0].idx == 0:
            name = all_names[list(arguments.dynamic_positions)[path[1].idx]]
        else:
            name = keyword_name(signature, path[1].key)
        names += [name + keystr(path[2:])]
    return tuple(names)


@also_right("06.5", "case by case", target="positional_names")
def positional_case_by_case(signature, count):
    names, collector = [], "args"
    for p in signature.parameters.values() if signature is not None else ():
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
        elif p.kind is p.VAR_POSITIONAL:
            collector = p.name
    return [names[i] if i < len(names) else f"{collector}[{i - len(names)}]" for i in range(count)]


@also_right("06.5", "case by case", target="keyword_name")
def keyword_case_by_case(signature, key):
    collector = "kwargs"
    if signature is not None:
        for name, p in signature.parameters.items():
            if name == key and p.kind in KEYWORD:
                return name
            if p.kind is p.VAR_KEYWORD:
                collector = name
    return f"{collector}[{key!r}]"


@also_right("06.5", "with lists", target="keyword_name")
def keyword_with_lists(signature, key):
    parameters = list(signature.parameters.values()) if signature else []
    if any(p.name == key for p in parameters if p.kind in KEYWORD):
        return key
    collectors = [p.name for p in parameters if p.kind == inspect.Parameter.VAR_KEYWORD]
    return (collectors or ["kwargs"])[0] + "[" + repr(key) + "]"


@also_right("06.2", "kind by kind", target="check_positions")
def check_positions_kind_by_kind(fun, signature, nums, what):
    takes = 0
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            return
        takes += parameter.kind in POSITIONAL
    outside = [n for n in nums if n not in range(-takes, takes)]
    if outside:
        s = "s" if takes != 1 else ""
        raise ValueError(
            f"Jitted function has {what}={nums}, but only accepts {takes} positional argument{s}.\n"
            f"The function is {name_of(fun)}{signature}."
        )


@also_right("06.2", "kind by kind", target="check_names")
def check_names_kind_by_kind(fun, signature, names, what):
    wrong_kind, by_name, takes_all = [], [], False
    P = inspect.Parameter
    for name, parameter in signature.parameters.items():
        match parameter.kind:
            case P.POSITIONAL_ONLY | P.VAR_POSITIONAL:
                wrong_kind.append(name)
            case P.VAR_KEYWORD:
                takes_all = True
            case _:
                by_name.append(name)
    bad = {name for name in names if name in wrong_kind}
    if bad:
        raise ValueError(f"Jitted function has invalid argnames {bad} in {what}. These are positional-only")
    unknown = {name for name in names if name not in by_name}
    if unknown and not takes_all:
        raise ValueError(
            f"Jitted function has invalid argnames {unknown} in {what}. Function does not take these args.\n"
            f"The function is {name_of(fun)}{signature}."
        )


@also_right("06.3", "places first, then comprehensions", target="split_call")
def split_call_places_first_then_comprehensions(spec, args, kwargs):
    n = len(args)
    for position in spec.static_argnums:
        if position < -n and position < 0:
            raise ValueError(
                "Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal to "
                f"-len(args) and less than len(args), but got value {position} for len(args) == {n}."
            )
    positions = sorted({position % n for position in spec.static_argnums if -n <= position < n}) if n else []
    names = sorted(set(spec.static_argnames) & set(kwargs))
    statics = tuple((i, Static(args[i])) for i in positions) + tuple((name, Static(kwargs[name])) for name in names)
    return Arguments(
        args=tuple(x for i, x in enumerate(args) if i not in positions),
        kwargs={name: x for name, x in kwargs.items() if name not in names},
        statics=statics,
        arity=n,
    )


@also_right("06.3", "places first, then comprehensions", target="Arguments.merged_with")
def merged_with_places_first_then_comprehensions(self, args, kwargs):
    static = dict(self.statics)
    rest = iter(args)
    positional = [static[i].value if i in static else next(rest) for i in range(self.arity)]
    keywords = dict(kwargs)
    for place, value in static.items():
        if isinstance(place, str):
            keywords[place] = value.value
    return positional, keywords


@also_right("06.3", "a tuple of positional arguments", target="Arguments.merged_with")
def merged_with_a_tuple(self, args, kwargs):
    waiting, named = list(args), dict(kwargs)
    for place, static in self.statics:
        if isinstance(place, int):
            waiting.insert(place, static.value)
        else:
            named |= {place: static.value}
    return tuple(waiting), named


@mutant(
    "06.3",
    "static arguments come first",
    "In `f(a, b, c)` b is static. Where does it stand among the three that your function returns?",
    target="Arguments.merged_with",
)
def begins_with_static_ones(self, args, kwargs):
    positional = [static.value for where, static in self.statics if not isinstance(where, str)]
    named = {where: static.value for where, static in self.statics if isinstance(where, str)}
    return [*positional, *args], kwargs | named


# --- what learners wrote who believed something else --------------------------------------------------------------


edit(
    "06.5",
    "the dynamic arguments are the first ones",
    "Argument 0 is static. Which parameter is the first dynamic argument?",
    "of_call[i] for i in arguments.dynamic_positions",
    "of_call[i] for i in range(len(arguments.dynamic_positions))",
    target="argument_names",
)


edit(
    "06.5",
    "a keyword's leaf is named by its key alone",
    "Is the keyword a parameter of the function, or does `**options` collect it? What is its leaf called in each case?",
    "keyword_name(signature, which.key)",
    "which.key",
    target="argument_names",
)


edit(
    "06.5",
    "every leaf has the name of its argument",
    "The argument `params` is a dict of lists. How should a leaf in it be called?",
    "names.append(name + keystr(tuple(rest)))",
    "names.append(name)",
    target="argument_names",
)


edit(
    "06.1",
    "given positions have to be sorted",
    "`static_argnums=(2, 0)`: what does the docstring say of positions that are given?",
    "nums = tuple(n % count if n < 0 else n for n in nums)",
    "nums = tuple(sorted(n % count if n < 0 else n for n in nums))",
)


edit(
    "06.2",
    "there is always a position",
    "What does `min(())` do, if `static_argnums` is empty?",
    "if not nums or inspect.Parameter.VAR_POSITIONAL in kinds:",
    "if inspect.Parameter.VAR_POSITIONAL in kinds:",
    target="check_positions",
)


edit(
    "06.2",
    "the message shows only the wrong positions",
    "`static_argnums=(0, 3)`: what does the message show?",
    'f"Jitted function has {what}={nums}, but',
    'f"Jitted function has {what}={tuple(n for n in nums if n >= count)}, but',
    target="check_positions",
)


edit(
    "06.2",
    "the errors are about static arguments only",
    "`donate_argnames` is checked as well. Which option does the message name?",
    "in {what}. Function does not",
    "in static_argnames. Function does not",
    target="check_names",
)


edit(
    "06.3",
    "the arity counts the dynamic arguments only",
    "`f(x, 3)` with a static 3: how many positional arguments did the call have?",
    "return Arguments(dynamic, dynamic_kwargs, tuple(statics), count)",
    "return Arguments(dynamic, dynamic_kwargs, tuple(statics), len(dynamic))",
    target="split_call",
)


edit(
    "06.3",
    "a position that the call does not have is an error",
    "`static_argnums=(0, 1)`, called as `f(x, n=3)`. Is position 1 there?",
    "    positions = {i % count for i in spec.static_argnums if i < count}\n",
    "    if spec.static_argnums and max(spec.static_argnums) >= count:\n"
    "        raise ValueError('too few arguments')\n"
    "    positions = {i % count for i in spec.static_argnums if i < count}\n",
    target="split_call",
)


edit(
    "06.3",
    "where there are static positions, all keywords are dynamic",
    "`static_argnums=1` means `static_argnames='n'`, too. Is n static in the call `f(x, n=3)`?",
    "in sorted({*spec.static_argnames}) if name in kwargs]",
    "in sorted({*spec.static_argnames}) if name in kwargs and not spec.static_argnums]",
    target="split_call",
)


edit(
    "06.4",
    "a value of a derived class has the same type",
    "`True == 1`, and `isinstance(True, int)`. Are they exactly of one type?",
    "type(self.value) is not type(other.value)",
    "not isinstance(self.value, type(other.value))",
    target="Static.__eq__",
)


edit(
    "06.5",
    "`*xs` collects items called args",
    "`def f(*xs)`: what is the second argument of a call called?",
    "next((p.name for p in parameters if",
    'next(("args" for p in parameters if',
    target="positional_names",
)


edit(
    "06.5",
    "`**options` collects items called kwargs",
    "`def f(**options)` is called with `n=3`. What is that argument called in a message?",
    "{kinds.get(inspect.Parameter.VAR_KEYWORD, 'kwargs')}",
    "kwargs",
    target="keyword_name",
)


edit(
    "06.5",
    "collected items are counted from the first argument of the call",
    "`def f(x, *rest)`: what is the number of the second argument of a call in `rest`?",
    "for i in range(count - len(names))]",
    "for i in range(len(names), count)]",
    target="positional_names",
)


# --- what learners write who have read the text only -------------------------------------------------------------------


@mutant("06.1", "`*rest` has a position and a name", "Can a caller write `rest=...` for `def f(x, *rest)`?")
def collectors_have_positions(signature, nums, names):
    params = list(signature.parameters.values())
    count = sum(p.kind in POSITIONAL for p in params)
    both = {p.name: i for i, p in enumerate(params) if p.kind in (p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)}
    if nums is not None and not any(p.kind is p.VAR_POSITIONAL for p in params):
        nums = tuple(n + count if n < 0 else n for n in nums)
    if nums is None:
        nums = tuple(i for name, i in both.items() if name in (names or ()))
    elif names is None:
        names = tuple(name for name, i in both.items() if i in nums)
    return nums or (), names or ()


@mutant(
    "06.2",
    "`options=1` cannot be passed to a function with `**options`",
    "What does `f(x, options=1)` do for `def f(x, **options)`?",
    target="check_names",
)
def names_of_collectors(fun, signature, names, what):
    params = signature.parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in params.values())
    wrong = {n for n in names if n in params and params[n].kind not in KEYWORD}
    if wrong:
        raise ValueError(f"Jitted function has invalid argnames {wrong} in {what}. These are positional-only")
    wrong = {n for n in names if n not in params}
    if wrong and not takes_all:
        raise ValueError(
            f"Jitted function has invalid argnames {wrong} in {what}. Function does not take these args.\n"
            f"The function is {name_of(fun)}{signature}."
        )


@mutant(
    "06.3",
    "the caller's dict may be emptied",
    "`kwargs` is the caller's dict. What is in it after the call?",
    target="split_call",
)
def empties_the_dict(spec, args, kwargs):
    from jitkit.signature.api_util import Arguments, Static

    nums = set()
    for n in spec.static_argnums:
        if n < -len(args):
            raise ValueError(
                "Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal to "
                f"-len(args) and less than len(args), but got value {n} for len(args) == {len(args)}."
            )
        n = n + len(args) if n < 0 else n
        if n < len(args):
            nums.add(n)
    nums = sorted(nums)
    names = sorted(k for k in kwargs if k in spec.static_argnames)
    statics = [(n, Static(args[n])) for n in nums] + [(k, Static(kwargs.pop(k))) for k in names]
    return Arguments(tuple(a for i, a in enumerate(args) if i not in nums), kwargs, tuple(statics), len(args))


@mutant("06.3", "dynamic keywords are sorted", "In which order do the dynamic arguments stay?", target="split_call")
def sorted_keywords(spec, args, kwargs):
    from jitkit.signature.api_util import Arguments, Static

    nums = set()
    for n in spec.static_argnums:
        if n < -len(args):
            raise ValueError(
                "Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal to "
                f"-len(args) and less than len(args), but got value {n} for len(args) == {len(args)}."
            )
        n = n + len(args) if n < 0 else n
        if n < len(args):
            nums.add(n)
    nums = sorted(nums)
    names = sorted(k for k in kwargs if k in spec.static_argnames)
    statics = [(n, Static(args[n])) for n in nums] + [(k, Static(kwargs[k])) for k in names]
    left = {k: v for k, v in sorted(kwargs.items()) if k not in names}
    return Arguments(tuple(a for i, a in enumerate(args) if i not in nums), left, tuple(statics), len(args))


@mutant(
    "06.3",
    "the same object is the same argument",
    "`f(x, x)`, and the first is static. How many dynamic arguments are there?",
    target="split_call",
)
def by_identity(spec, args, kwargs):
    from jitkit.signature.api_util import Arguments, Static

    nums = set()
    for n in spec.static_argnums:
        if n < -len(args):
            raise ValueError(
                "Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal to "
                f"-len(args) and less than len(args), but got value {n} for len(args) == {len(args)}."
            )
        n = n + len(args) if n < 0 else n
        if n < len(args):
            nums.add(n)
    nums = sorted(nums)
    names = sorted(k for k in kwargs if k in spec.static_argnames)
    statics = [(n, Static(args[n])) for n in nums] + [(k, Static(kwargs[k])) for k in names]
    taken = [id(args[n]) for n in nums]
    left = {k: v for k, v in kwargs.items() if k not in names}
    return Arguments(tuple(a for a in args if id(a) not in taken), left, tuple(statics), len(args))


@mutant(
    "06.3",
    "`merged_with` may write into the dict that it is passed",
    "`kwargs` is the caller's dict. What should be in it after the call?",
    target="Arguments.merged_with",
)
def fills_the_dict(self, args, kwargs):
    result = list(args)
    for place, static in self.statics:
        if isinstance(place, int):
            result.insert(place, static.value)
        else:
            kwargs[place] = static.value
    return result, kwargs


@mutant(
    "06.3",
    "a static value of 0 or None is not there",
    "What if the static value is 0, or None?",
    target="Arguments.merged_with",
)
def or_next(self, args, kwargs):
    statics = dict(self.statics)
    rest = iter(args)
    result = [(statics[i].value if i in statics else None) or next(rest, None) for i in range(self.arity)]
    return result, {**kwargs, **{k: s.value for k, s in self.statics if isinstance(k, str)}}


@mutant("06.5", "each argument has at least one leaf", "How many leaves does None have?", target="argument_names")
def a_leaf_at_least(fun, arguments):
    signature = signature_of(fun)
    names = positional_names(signature, arguments.arity)
    result = []
    for position, value in zip(arguments.dynamic_positions, arguments.args, strict=False):
        paths = [path for path, _ in tree_flatten_with_path(value)[0]] or [()]
        result += [names[position] + keystr(path) for path in paths]
    for key, value in sorted(arguments.kwargs.items()):
        paths = [path for path, _ in tree_flatten_with_path(value)[0]] or [()]
        result += [keyword_name(signature, key) + keystr(path) for path in paths]
    return tuple(result)


@mutant(
    "06.5",
    "every path is written as keys in brackets",
    "How does `keystr` print the field of a named tuple?",
    target="argument_names",
)
def keys_in_brackets(fun, arguments):
    signature = signature_of(fun)
    names = positional_names(signature, arguments.arity)
    positions = list(arguments.dynamic_positions)
    leaves, _ = tree_flatten_with_path((arguments.args, arguments.kwargs))

    def way(keys):
        return "".join(f"[{getattr(k, 'key', getattr(k, 'idx', getattr(k, 'name', k)))!r}]" for k in keys)

    return tuple(
        (names[positions[p[1].idx]] if p[0].idx == 0 else keyword_name(signature, p[1].key)) + way(p[2:])
        for p, _ in leaves
    )


@also_right("06.5", "a keyword that nobody takes is called by its name", target="keyword_name")
def keyword_by_its_name(signature, key):
    if signature is None:
        return f"kwargs[{key!r}]"
    collector = ""
    for p in signature.parameters.values():
        if p.name == key and p.kind in KEYWORD:
            return key
        if p.kind is p.VAR_KEYWORD:
            collector = p.name
    return f"{collector}[{key!r}]" if collector else key
