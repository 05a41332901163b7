"""Wrong answers to the exercises of lab 05, each with what its author believes."""

from jitkit.jaxpr import eval_jaxpr
from jitkit.kata.mutants import also_right, edit, mutant

# --- 05.1 The key -----------------------------------------------------------------------------------------------------


@mutant(
    "05.1",
    "the key has the values of arrays",
    "What in your key is different for two arrays of one type?",
    target="Traceable.trace_key",
)
def has_values(self, arguments, tree, avals):
    leaves = tree_flatten((arguments.args, arguments.kwargs))[0]
    values = [str(x) for x in leaves]
    return (config.local.state.options, tree, api_util.static_key(arguments.statics), *avals, *values)


edit(
    "05.1", "types of one size are one type", "A float32 and an int32 have four bytes each. Can one program compute with both?",
    "*avals", "*[aval.size * aval.dtype.itemsize for aval in avals]", target="Traceable.trace_key",
)  # fmt: skip
edit(
    "05.1", "weak types do not matter", "`x + 1.0`, and `x + np.float32(1)`: which dtype does each result have when x is a float16?",
    "*avals", "*[aval.strip_weak_type() for aval in avals]", target="Traceable.trace_key",
)  # fmt: skip
edit(
    "05.1", "static values are not part of a key", "Two calls differ in a static argument only. Do they have one key?",
    "not arguments.statics and tree is flat_tree(len(keys))", "tree is flat_tree(len(keys))", target="Jitted.key_of_call",
)  # fmt: skip
edit(
    "05.1", "only the leaves count", "Do `f((x, y))` and `f([x, y])` run the same Python?",
    "tree, api_util", "api_util", target="Traceable.trace_key",
)  # fmt: skip
edit(
    "05.1", "options do not change a program", "The same call, with another default precision. Is it the same program?",
    "config.local.state.options, ", "", target="Traceable.trace_key",
)  # fmt: skip
edit(
    "05.1", "every key has a tree", "A key has one of two forms. Which of them does the key of `f(x, 2.0)` have?",
    "not arguments.statics and tree is flat_tree(len(keys))", "False", target="Jitted.key_of_call",
)  # fmt: skip

# --- 05.2 Trace once --------------------------------------------------------------------------------------------------

edit(
    "05.2", "each call traces", "Where do you look before you trace?",
    "self.cache.traces.get(key)", "None", target="Traceable.traced",
)  # fmt: skip
edit(
    "05.2", "what was traced is good for ever", "The jaxpr has tracers of an outer trace among its constants. When is that of any use?",
    "known is not None and known.is_current()", "known is not None", target="Traceable.traced",
)  # fmt: skip


@mutant(
    "05.2",
    "a trace that failed is kept",
    "What is in the cache after `trace_now` raised an error?",
    target="Traceable.traced",
)
def remembers_failures(self, arguments, tree, avals, names):
    key = self.trace_key(arguments, tree, avals)
    known = self.cache.traces.get(key)
    if isinstance(known, Exception):
        raise known
    if known is not None and known.is_current():
        return known, False
    try:
        with self.cache.tracing(key, self.name):
            traced = self.trace_now(arguments, tree, avals, names)
    except Exception as error:
        self.cache.traces[key] = error
        raise
    self.cache.remember_trace(key, traced)
    return traced, True


@mutant(
    "05.2",
    "a function that calls itself comes to an end",
    "While a function is traced it calls itself. What will the inner call do?",
    target="Traceable.traced",
)
def does_not_mark_what_is_traced(self, arguments, tree, avals, names):
    key = self.trace_key(arguments, tree, avals)
    known = self.cache.traces.get(key)
    if known is not None and known.is_current():
        return known, False
    traced = self.trace_now(arguments, tree, avals, names)
    self.cache.remember_trace(key, traced)
    return traced, True


@mutant(
    "05.2", "a cache belongs to a jit", "`jit(f)` is called a second time. Which cache does it find?", target="cache_of"
)
def makes_a_new_one(fun):
    return FunctionCache()


@mutant(
    "05.2",
    "functions of one source are one function",
    "What does a function know that its source does not tell?",
    target="cache_of",
)
def finds_by_source(fun):
    with _caches_lock:
        try:
            code = getattr(fun, "__code__", fun)
            cache = _caches.get(code)
            if cache is None:
                cache = _caches[code] = FunctionCache()
        except TypeError:
            cache = FunctionCache()
    return cache


@mutant(
    "05.2",
    "a cache keeps its functions",
    "Only your table still refers to the function. When is it freed?",
    target="cache_of",
)
def keeps_functions(fun):
    with _caches_lock:
        kept = cache_of.__dict__.setdefault("kept", {})
        try:
            if fun not in kept:
                kept[fun] = FunctionCache()
            return kept[fun]
        except TypeError:
            return FunctionCache()


@mutant(
    "05.2",
    "every callable has a hash",
    "What does a WeakKeyDictionary raise if it is asked for an object without a hash?",
    target="cache_of",
)
def expects_a_hash(fun):
    with _caches_lock:
        cache = _caches.get(fun)
        if cache is None:
            cache = _caches[fun] = FunctionCache()
    return cache


# --- 05.3 A bounded memory --------------------------------------------------------------------------------------------

edit(
    "05.3", "a cache keeps everything", "A million shapes mean a million executables. Who frees them?",
    "while len(self.entries) > limit:", "while False:", target="Table.insert",
)  # fmt: skip
edit(
    "05.3", "the entry that was inserted first goes first", "Which entry was used last: the one that "
    "was inserted last, or the one that was touched last?",
    "self.entries[key] = entry", "self.entries = {key: entry, **self.entries}", target="Table.touch",
)  # fmt: skip
edit(
    "05.3", "records may stay when their entries go", "An entry is dropped. What else knows its key?",
    "del self.entries[oldest], self.records[oldest]", "del self.entries[oldest]", target="Table.insert",
)  # fmt: skip
edit(
    "05.3", "a touch puts an entry into the table", "Another thread may have dropped the entry a moment ago. What should a touch do then?",
    "if self.entries.pop(key, None) is not None:", "if self.entries.pop(key, None) is not None or True:", target="Table.touch",
)  # fmt: skip
edit(
    "05.3", "the order matters from the beginning", "Each touch costs time in each warm call. From when on is it worth it?",
    "(0 if limit <= EXACT_LRU_SIZE else limit // 2)", "0", target="Table.insert",
)  # fmt: skip
edit(
    "05.3", "an executable is freed by itself", "Who else holds an executable, beside its entries?",
    "self.drop_unused_executables()", "pass", target="Table.insert",
)  # fmt: skip
edit(
    "05.3", "a key that failed once counts as failed for ever", "The call failed before, and now "
    "there is an entry. Should its key still be in `failed`?",
    "self.failed.pop(key, None)", "pass", target="Table.insert",
)  # fmt: skip

edit(
    "05.3",
    "a crowded table stays crowded",
    "Somebody raises `jit_cache_size`. When must `crowded` be decided again?",
    "self.crowded = len(self.entries)",
    "self.crowded |= len(self.entries)",
    target="Table.insert",
)

# --- 05.4 A miss ------------------------------------------------------------------------------------------------------

edit(
    "05.4", "a compiled program is found without being entered", "How does the next call find the entry?",
    "self.table.insert(key, entry, record)", "pass", target="Jitted.make_entry",
)  # fmt: skip
edit(
    "05.4", "each key has an executable of its own",
    "An earlier call with another key had the same jaxpr. Under what did you keep its executable?",
    "self.table.executables.get(slot)", "None", target="Jitted.compiled",
)  # fmt: skip
edit(
    "05.4", "a program is the same everywhere",
    "An argument is committed to a device. Is that in the key under which you keep the executable?",
    "(program.jaxpr, program.donated, placement)", "(program.jaxpr, program.donated)", target="Jitted.compiled",
)  # fmt: skip
edit(
    "05.4", "arguments are on the device", "Who tells the entry that an argument is in the host's memory?",
    "Entry(executable, traced.out_tree, keys)", "Entry(executable, traced.out_tree, avals)", target="Jitted.make_entry",
)  # fmt: skip
edit(
    "05.4", "the result has the tree of the arguments", "What is the tree of the result? Who knows it?",
    "Entry(executable, traced.out_tree, keys)", "Entry(executable, tree.children()[0], keys)", target="Jitted.make_entry",
)  # fmt: skip
edit(
    "05.4", "compiling counts as tracing", "`traced` also returns whether the function was traced now. Which method needs to know that?",
    "names, was_traced, was_compiled)", "names, True, was_compiled)", target="Jitted.make_entry",
)  # fmt: skip

# --- 05.5 Why did it miss? --------------------------------------------------------------------------------------------


@mutant(
    "05.5",
    "each part of a type is a difference",
    "The shape is another, and so is the dtype. How many differences should a reader see?",
    target="changed_leaves",
)
def tells_all_parts(leaves):
    for path, before, now in leaves:
        old, new = aval_of(before), aval_of(now)
        for kind, part in (("shape", "shape"), ("dtype", "dtype"), ("weak type", "weak_type")):
            if getattr(old, part) != getattr(new, part):
                yield Change(kind, path, before, now)
        if old is new and isinstance(before, OnHost) != isinstance(now, OnHost):
            yield Change("host", path, before, now)


edit(
    "05.5", "types can differ only in shape and dtype", "When are two types the same: when shape and dtype are?",
    "if old is not new:", "if (old.shape, old.dtype) != (new.shape, new.dtype):", target="changed_leaves",
)  # fmt: skip
edit(
    "05.5", "it does not matter where a value is", "Two leaves have the same type and different keys. In what do they differ?",
    'yield Change("host", path, before, now)', "pass", target="changed_leaves",
)  # fmt: skip
edit(
    "05.5", "a new type on a new place is two differences",
    "For a leaf of a new type the function is traced. Should the reader hear that the leaf is on the device now, too?",
    "elif old is new:", "elif isinstance(before, OnHost) != isinstance(now, OnHost):", target="changed_leaves",
)  # fmt: skip


@mutant(
    "05.5",
    "a call is compared with the one before",
    "Two shapes come in turn, and then a third one. With which call will the reader compare it?",
    target="closest",
)
def takes_the_last(records, record, weight):
    if not records:
        return None, ()
    return records[-1], distance(records[-1], record, weight)


edit(
    "05.5", "of several calls that are equally near, the first one counts",
    "`latest_first` gives the latest record first. Should a record that is equally near replace the best one?",
    "counts < fewest", "counts <= fewest", target="closest",
)  # fmt: skip


@mutant(
    "05.5",
    "all differences weigh the same",
    "From one known call, ten values have moved to the device; from another, one shape has changed. Which call is nearer?",
    target="distance",
)
def counts_alike(old, new, weight):
    return (sum(change.size for change in changes(old, new, weight)),)


# --- 05.6 A jit in a jit ----------------------------------------------------------------------------------------------


@mutant("05.6", "a nested call is written out", "How many equations does a nested call have?", target="NestedCall.bind")
def writes_the_body(self, leaves):
    jaxpr = self.params["jaxpr"]
    return tree_unflatten(self.out_tree, eval_jaxpr(jaxpr, jaxpr.consts, *self.outer, *leaves))


edit(
    "05.6", "each nested call has to be prepared anew", "What does `find_nested` find when the same function is called again?",
    "self.table.remember_nested(self.trace_key(arguments, tree, avals), call)", "pass", target="Jitted.nested_call",
)  # fmt: skip
edit(
    "05.6", "a closed-over tracer is a constant",
    "The inner jaxpr becomes a function of the module. How does the value of the closed-over tracer get into it?",
    "if any(isinstance(const, Tracer) for const in jaxpr.consts):", "if False:", target="NestedCall.__init__",
)  # fmt: skip
edit(
    "05.6", "every constant becomes an argument", "An array from outside has its value already. Must the caller pass it?",
    "if any(isinstance(const, Tracer) for const in jaxpr.consts):", "if jaxpr.consts:", target="NestedCall.__init__",
)  # fmt: skip
edit(
    "05.6", "donation is for the outermost jit", "How many flags does `donated_invars` have, and which of them belong to the arguments?",
    "(False,) * len(self.outer) + donated", "(False,) * (len(self.outer) + len(donated))", target="NestedCall.__init__",
)  # fmt: skip
edit(
    "05.6", "a call returns a list", "`jit_p.bind` returns a flat list. What does the user's function return?",
    "return tree_unflatten(self.out_tree, jit_p.bind(*self.outer, *leaves, **self.params))",
    "return jit_p.bind(*self.outer, *leaves, **self.params)", target="NestedCall.bind",
)  # fmt: skip


# --- 05.7 The warm path -------------------------------------------------------------------------------------------

edit(
    "05.7",
    "results are a list",
    "A function may return one array. What comes back then?",
    "if out_tree is not LEAF:",
    "if True:\n        return lambda leaves: list(map(Array, run(leaves), avals, keys))\n    if out_tree is not LEAF:",
    target="runner",
)
edit(
    "05.7",
    "all results have the same type",
    "Does the second result have the type of the first?",
    "arrays(run(leaves), avals, keys)",
    "(Array(b, avals[0], keys[0]) for b in run(leaves))",
    target="runner",
)
edit(
    "05.7",
    "a result needs no key until it is asked for",
    "Who looks for the key of this result when it is an argument of the next call?",
    "avals, keys = executable.out_avals, executable.out_keys",
    "avals, keys = executable.out_avals, [None] * len(executable.out_avals)",
    target="runner",
)
edit(
    "05.7",
    "a program takes exactly the leaves",
    "Does the program take constants? And all of the leaves?",
    "        and not executable.consts\n        and executable.kept == list(range(len(leaf_keys)))\n",
    "",
    target="takes_buffers_as_they_are",
)
edit(
    "05.7",
    "if the counts are equal, the arguments are the leaves",
    "Two leaves come in, and two arguments are taken: a constant and one of the leaves. Are they the same two?",
    "        and not executable.consts\n        and executable.kept == list(range(len(leaf_keys)))\n",
    "        and len(executable.consts) + len(executable.kept) == len(leaf_keys)\n",
    target="takes_buffers_as_they_are",
)
edit(
    "05.7",
    "every leaf has a buffer",
    "A numpy array is in the memory of Python. Who brings it to the device?",
    "        and not any(isinstance(key, OnHost) for key in leaf_keys)\n",
    "",
    target="takes_buffers_as_they_are",
)

# --- 05.8 A key that forgets --------------------------------------------------------------------------------------

edit(
    "05.8",
    "one program is enough for all calls",
    "Under which key did you look the program up?",
    "found = key(x)",
    "found = None",
)
edit(
    "05.8",
    "the function is traced at each call, to be sure",
    "In `jit`, what says whether a compiled program fits a call: another trace, or the key?",
    "if found not in programs:",
    "if found not in programs or jax.make_jaxpr(fun)(x).in_avals != programs[found].arg_avals:",
)
edit(
    "05.8",
    "each call's result has the type of its argument",
    "Which call decided on the type of the result: this one, or the one for which the program was compiled?",
    "return executable.wrap(executable.run([*executable.consts, x._buf]))[0]",
    "return executable.wrap(executable.run([*executable.consts, x._buf]))[0].astype(x.dtype)",
)
edit(
    "05.8",
    "the executable converts numbers",
    "The program is for float32, and x is int32. What does an executable look at: the dtype, or the number of bytes?",
    "x = jax.device_put(x)\n        found = key(x)\n",
    "x = jax.device_put(x)\n        found = key(x)\n        x = x.astype(programs[found].arg_avals[0].dtype) if found in programs else x\n",
)
edit(
    "05.8",
    "the key has the values of arrays",
    "Does the program depend on the numbers?",
    "found = key(x)",
    "found = (key(x), str(x))",
)
edit(
    "05.8",
    "all constants are in the program's text",
    "A large constant is hoisted out of the text. Who passes it?",
    "[*executable.consts, x._buf]",
    "[x._buf]",
)
edit(
    "05.8",
    "`key` can be called with whatever was passed",
    "`key` reads `x.dtype`. Does the number 1.5 have a dtype?",
    "x = jax.device_put(x)\n        found = key(x)\n",
    "found = key(x)\n        x = jax.device_put(x)\n",
)


# --- right answers in other words ---------------------------------------------------------------------------------


@also_right("05.1", "by adding tuples", target="Traceable.trace_key")
def trace_key_by_adding(self, arguments, tree, avals):
    head = config.local.state.options, tree, api_util.static_key(arguments.statics)
    return head + tuple(avals)


@also_right("05.1", "by adding tuples", target="Jitted.key_of_call")
def key_by_adding(self, arguments, tree, keys):
    key = [config.local.state.key]
    if arguments.statics or flat_tree(len(keys)) is not tree:
        key += [tree, api_util.static_key(arguments.statics)]
    return tuple(key + list(keys))


@also_right("05.1", "in another order", target="Traceable.trace_key")
def trace_key_in_another_order(self, arguments, tree, avals):
    return (tree, config.local.state.options, tuple(avals), api_util.static_key(arguments.statics))


@also_right("05.2", "the shortest way out", target="Traceable.traced")
def looks_then_traces(self, arguments, tree, avals, names):
    key = self.trace_key(arguments, tree, avals)
    if key in self.cache.traces:
        found = self.cache.traces[key]
        if found.is_current():
            return found, False
    with self.cache.tracing(key, self.name):
        new = self.trace_now(arguments, tree, avals, names)
    self.cache.remember_trace(key, new)
    return new, True


@also_right("05.2", "the shortest way out", target="cache_of")
def cache_by_trying(fun):
    with _caches_lock:
        try:
            return _caches[fun]
        except KeyError:
            cache = FunctionCache()
            _caches[fun] = cache
            return cache
        except TypeError:
            return FunctionCache()


@also_right("05.2", "setdefault", target="cache_of")
def cache_by_setdefault(fun):
    new = FunctionCache()
    with _caches_lock:
        try:
            return _caches.setdefault(fun, new)
        except TypeError:
            return new


@also_right("05.3", "counts what is too many", target="Table.insert")
def counts_what_is_too_many(self, key, entry, record):
    limit = config.value("jit_cache_size")
    with self.lock:
        if key in self.failed:
            del self.failed[key]
        self.entries[key] = entry
        self.records[key] = record
        for oldest in list(self.entries)[: max(0, len(self.entries) - limit)]:
            self.entries.pop(oldest)
            self.records.pop(oldest)
        if limit <= EXACT_LRU_SIZE or len(self.entries) > limit // 2:
            self.crowded = True
        else:
            self.crowded = False
        if len(self.executables) > limit:
            self.drop_unused_executables()


@also_right("05.3", "counts what is too many", target="Table.touch")
def touch_if_there(self, key, entry):
    with self.lock:
        if key in self.entries:
            del self.entries[key]
            self.entries[key] = entry


@also_right("05.3", "takes it out, and puts it in again", target="Table.insert")
def takes_out_and_puts_in(self, key, entry, record):
    limit = config.value("jit_cache_size")
    with self.lock:
        self.failed.pop(key, None)
        for table, value in ((self.entries, entry), (self.records, record)):
            table.pop(key, None)
            table[key] = value
        while len(self.entries) > limit:
            first, *_ = self.entries
            self.entries.pop(first)
            del self.records[first]
        if limit > EXACT_LRU_SIZE:
            self.crowded = len(self.entries) > limit // 2
        else:
            self.crowded = True
        if len(self.executables) > limit:
            self.drop_unused_executables()


@also_right("05.4", "stage by stage", target="Jitted.make_entry")
def stage_by_stage(self, start, key, arguments, tree, keys):
    avals = avals_of(keys)
    names = api_util.argument_names(self.fun, arguments)
    traced, traced_now = self.traced(arguments, tree, avals, names)
    donated = self.donated(arguments)
    program = self.program(traced, tree, donated)
    placement = self.placement(keys, arguments, traced, avals, names)
    executable, compiled_now = self.compiled(program, placement)
    entry = Entry(executable, traced.out_tree, keys)
    if config.local.state.options.debug_key_reuse:
        from jitkit.interpreters import key_reuse

        entry.run = key_reuse.checked(entry.run, traced.jaxpr, "jit-compiled function")
    record = self.note_miss(start, arguments, tree, keys, names, traced_now, compiled_now)
    self.table.insert(key, entry, record)
    return entry


@also_right("05.4", "stage by stage", target="Jitted.compiled")
def compiled_by_trying(self, program, placement):
    slot = program.jaxpr, program.donated, placement
    try:
        return self.table.executables[slot], False
    except KeyError:
        self.table.executables[slot] = made = compile_program(program, placement)
        return made, True


@also_right("05.4", "with `in`", target="Jitted.compiled")
def compiled_with_in(self, program, placement):
    known = self.table.executables
    slot = (program.jaxpr, program.donated, placement)
    is_new = slot not in known
    if is_new:
        known[slot] = compile_program(program, placement)
    return known[slot], is_new


@also_right("05.5", "type and place apart", target="changed_leaves")
def type_and_place_apart(leaves):
    for path, before, now in leaves:
        old_type, new_type = aval_of(before), aval_of(now)
        same = old_type is new_type
        if not same:
            kinds = kinds_of_types(old_type, new_type)
            yield Change(kinds[0], path, before, now, len(kinds))
        placed = [isinstance(k, Placed) for k in (before, now)]
        if any(placed):
            if sharding_of(before) != sharding_of(now):
                yield Change("device", path, before, now)
            continue
        if same and isinstance(before, OnHost) is not isinstance(now, OnHost):
            yield Change("host", path, before, now)


@also_right("05.5", "type and place apart", target="distance")
def distance_by_weight(old, new, weight):
    found = list(changes(old, new, weight))
    return tuple(sum(c.size for c in found if c.weight == w) for w in range(TRACES, weight - 1, -1))


@also_right("05.5", "type and place apart", target="closest")
def closest_with_min(records, record, weight):
    found = []
    for candidate in latest_first(records, record):
        counts = distance(candidate, record, weight)
        found.append((counts, candidate))
        if not any(counts):
            break
    if not found:
        return None, ()
    counts, nearest = min(found, key=lambda pair: pair[0])
    return nearest, counts


@also_right("05.5", "with a table of counts", target="distance")
def distance_with_a_table(old, new, weight):
    counts = dict.fromkeys(range(weight, TRACES + 1), 0)
    for change in changes(old, new, weight):
        counts[change.weight] += change.size
    return tuple(counts[w] for w in sorted(counts, reverse=True))


@also_right("05.6", "step by step", target="Jitted.nested_call")
def nested_step_by_step(self, args, kwargs):
    arguments, tree, avals = self.signature(args, kwargs)
    donated = api_util.donated_leaves(self.options.spec, arguments)
    if not donated:
        donated = tuple(False for _ in avals)
    traced = self.traced_alone(arguments, tree, avals)
    options = self.options
    call = NestedCall(traced, donated, options.inline, options.keep_unused, self.name)
    if self.is_placed:
        ins, outs = self.shardings(arguments, traced, avals)
        call.place(ins, outs)
    self.table.remember_nested(self.trace_key(arguments, tree, avals), call)
    return call


@also_right("05.6", "step by step", target="NestedCall.__init__")
def init_step_by_step(self, traced, donated, inline, keep_unused, name):
    jaxpr, outer = traced.jaxpr, ()
    if [c for c in jaxpr.consts if isinstance(c, Tracer)]:
        outer = tuple(jaxpr.consts)
        jaxpr = convert_constvars_jaxpr(jaxpr)
    self.outer = outer
    self.out_tree = traced.out_tree
    self.params = dict(
        donated_invars=tuple([False] * len(outer)) + tuple(donated),
        inline=inline,
        jaxpr=jaxpr,
        keep_unused=keep_unused,
        name=name,
    )


@also_right("05.6", "step by step", target="NestedCall.bind")
def bind_step_by_step(self, leaves):
    operands = list(self.outer)
    operands.extend(leaves)
    results = jit_p.bind(*operands, **self.params)
    return self.out_tree.unflatten(results)


@also_right("05.6", "by keys", target="NestedCall.bind")
def bind_by_keys(self, leaves):
    params = {key: self.params[key] for key in self.params}
    return tree_unflatten(self.out_tree, jit_p.bind(*(*self.outer, *leaves), **params))


@also_right("05.7", "one way for all", target="runner")
def run_and_unflatten(executable, out_tree, leaf_keys):
    gather = buffers_runner(executable, leaf_keys)
    types = list(zip(executable.out_avals, executable.out_keys, strict=True))

    def call(leaves):
        buffers = gather(leaves)
        arrays = [Array(buffer, aval, key) for buffer, (aval, key) in zip(buffers, types, strict=True)]
        return arrays[0] if out_tree is LEAF else compile_put_together(out_tree)(arrays)

    return call


@also_right("05.7", "one way for all", target="takes_buffers_as_they_are")
def takes_in_order(executable, leaf_keys):
    if executable.committed or executable.has_effects or len(executable.consts) > 0:
        return False
    if len(executable.kept) != len(leaf_keys):
        return False
    return all(
        i == k and not isinstance(key, OnHost)
        for i, (k, key) in enumerate(zip(executable.kept, leaf_keys, strict=True))
    )


@also_right("05.7", "by the tree's own means", target="runner")
def run_by_tree(executable, out_tree, leaf_keys):
    from jitkit.tree_util import tree_unflatten

    run = buffers_runner(executable, leaf_keys)
    return lambda leaves: tree_unflatten(
        out_tree, list(map(Array, run(leaves), executable.out_avals, executable.out_keys))
    )


@also_right("05.8", "with get")
def small_with_get(key, fun):
    kept = {}

    def call(x):
        array = jax.device_put(x)
        executable = kept.get(key(array))
        if executable is None:
            traced = jax.make_jaxpr(fun)(array)
            of_arguments, of_result = tree_structure(((array,), {})), tree_structure(array)
            executable = kept[key(array)] = compile_program(
                Program("anything", traced, of_arguments, of_result, (), True), default_placement()
            )
        buffers = list(executable.consts)
        buffers.append(array._buf)
        (result,) = executable.wrap(executable.run(buffers))
        return result

    return call


@also_right("05.8", "in two functions")
def small_in_two(key, fun):
    def compiled(x):
        program = Program("f", jax.make_jaxpr(fun)(x), tree_structure(((0,), {})), tree_structure(0), keep_unused=True)
        return compile_program(program, default_placement())

    memory = {}

    def call(x):
        x = jax.device_put(x)
        k = key(x)
        try:
            executable = memory[k]
        except KeyError:
            executable = memory.setdefault(k, compiled(x))
        return executable.wrap(executable.run(executable.consts + [x._buf]))[0]

    return call


# --- wrong answers that fresh eyes tried ---------------------------------------------------------------------------

edit(
    "05.1", "the key of an array is its type", "One array is in the host's memory, another one on the "
    "device. What has to be done with the first before a program can run?",
    "return (options, *keys)", "return (options, *(aval_of(key) for key in keys))", target="Jitted.key_of_call",
)  # fmt: skip
edit(
    "05.2", "the types alone decide about the program", "What decides, besides types, what Python does while it traces?",
    "key = self.trace_key(arguments, tree, avals)", "key = tuple(avals)", target="Traceable.traced",
)  # fmt: skip
edit(
    "05.2", "a function that is being traced may not be called", "`power(x, 3)` calls `power(x, 2)`, n being static. Is that without end?",
    "self.cache.tracing(key, self.name)", "self.cache.tracing((), self.name)", target="Traceable.traced",
)  # fmt: skip
edit(
    "05.2", "there is room for all traces", "Who throws away what was traced a week ago?",
    "self.cache.remember_trace(key, traced)", "self.cache.traces[key] = traced", target="Traceable.traced",
)  # fmt: skip
edit(
    "05.5", "every changed leaf counts the same", "In one call a leaf has another shape, in another "
    "call another shape and another dtype. Which call is nearer?",
    "change.size", "1", target="distance",
)  # fmt: skip
edit(
    "05.5", "all calls are compared", "A function has ten thousand signatures. How long may a miss take, only to be explained?",
    "latest_first(records, record)", "records[::-1]", target="closest",
)  # fmt: skip


@also_right("05.3", "what is too much at once", target="Table.insert")
def insert_what_is_too_much_at_once(self, key, entry, record):
    with self.lock:
        room = int(config.value("jit_cache_size"))
        self.failed.pop(key, None)
        self.entries.pop(key, None)
        self.records.pop(key, None)
        self.entries[key] = entry
        self.records[key] = record
        for old in list(self.entries)[: max(0, len(self.entries) - room)]:
            self.entries.pop(old)
            self.records.pop(old, None)
        if room <= EXACT_LRU_SIZE:
            self.crowded = True
        else:
            self.crowded = 2 * len(self.entries) > room
        if len(self.executables) > room:
            self.drop_unused_executables()


@also_right("05.3", "what is too much at once", target="Table.touch")
def touch_what_is_too_much_at_once(self, key, entry):
    with self.lock:
        if self.entries.get(key) is not entry:
            return
        self.entries[key] = self.entries.pop(key)


@also_right("05.5", "with min", target="changed_leaves")
def changed_leaves_with_min(leaves):
    for path, before, now in leaves:
        old, new = aval_of(before), aval_of(now)
        same_type = old is new
        if not same_type:
            kind, *others = kinds_of_types(old, new)
            yield Change(kind, path, before, now, 1 + len(others))
        placed = [isinstance(key, Placed) for key in (before, now)]
        if any(placed):
            if not sharding_of(before) == sharding_of(now):
                yield Change("device", path, before, now)
            continue
        if same_type and isinstance(before, OnHost) is not isinstance(now, OnHost):
            yield Change("host", path, before, now)


@also_right("05.5", "with min", target="distance")
def distance_with_min(old, new, weight):
    counts = {w: 0 for w in range(TRACES, weight - 1, -1)}
    for change in changes(old, new, weight):
        counts[change.weight] += change.size
    return tuple(counts.values())


@also_right("05.5", "with min", target="closest")
def closest_with_min_of_pairs(records, record, weight):
    pairs = [(distance(other, record, weight), i, other) for i, other in enumerate(latest_first(records, record))]
    if not pairs:
        return None, ()
    far, _, best = min(pairs, key=lambda pair: pair[:2])
    return best, far


# --- What learners wrote ------------------------------------------------------------------------------------------


@mutant(
    "05.1",
    "a hash is as good as the value",
    "`hash(-1) == hash(-2)`. What do calls with n=-1 and n=-2 find?",
    target="Traceable.trace_key",
)
def a_hash(self, arguments, tree, avals):
    return (hash((config.local.state.options, tree, api_util.static_key(arguments.statics), *avals)),)


edit(
    "05.1", "trees that print alike are the same", "Two classes may have one name. What does `str` say of their trees?",
    "tree, api_util", "str(tree), api_util", target="Traceable.trace_key",
)  # fmt: skip


@mutant(
    "05.2",
    "all callables without a hash can share a cache",
    "Two callables without a hash multiply by 2, and by 3. Which cache does each of them find?",
    target="cache_of",
)
def one_for_all_without_a_hash(fun):
    with _caches_lock:
        try:
            cache = _caches.get(fun)
            if cache is None:
                cache = _caches[fun] = FunctionCache()
        except TypeError:
            cache = _caches.get(FunctionCache)
            if cache is None:
                cache = _caches[FunctionCache] = FunctionCache()
    return cache


edit(
    "05.2", "every function is called f", "Whose name should the error about endless recursion have?",
    "self.cache.tracing(key, self.name)", 'self.cache.tracing(key, "f")', target="Traceable.traced",
)  # fmt: skip


# --- what learners wrote who believed something else --------------------------------------------------------------


edit(
    "05.4",
    "an entry needs only the types",
    "The entry copies values in the host's memory to the device. What says which values these are: the types, or the keys?",
    "Entry(executable, traced.out_tree, keys)",
    "Entry(executable, traced.out_tree, avals)",
    target="Jitted.make_entry",
)


edit(
    "05.4",
    "placement follows from types",
    "`device_put(x, device)` has the type of x. What does its key say besides the type?",
    "self.placement(keys, arguments, traced, avals, names)",
    "self.placement(avals, arguments, traced, avals, names)",
    target="Jitted.make_entry",
)


edit(
    "05.4",
    "nothing is donated",
    "Which arguments may the program overwrite?",
    "self.donated(arguments)",
    "()",
    target="Jitted.make_entry",
)


edit(
    "05.4",
    "random keys are always checked",
    "With which option should random keys be checked?",
    "if config.local.state.options.debug_key_reuse:",
    "if True:",
    target="Jitted.make_entry",
)


@also_right("05.4", "with a try", target="Jitted.compiled")
def with_a_try(self, program, placement):
    known = self.table.executables
    slot = program.jaxpr, program.donated, placement
    try:
        return known[slot], False
    except KeyError:
        made = compile_program(program, placement)
    known[slot] = made
    return made, True


edit(
    "05.6",
    "each call needs a trace of its own",
    "A hundred layers call one function. How often is it traced?",
    "traced = self.traced_alone(arguments, tree, avals)",
    "traced = self.trace_now(arguments, tree, avals) if hasattr(self, 'trace_now') else self.traced_alone(arguments, tree, avals)",
    target="Jitted.nested_call",
)


edit(
    "05.6",
    "nothing is donated in a nested call",
    "Which leaves may the inner program overwrite?",
    "api_util.donated_leaves(self.options.spec, arguments) or (False,) * len(avals)",
    "(False,) * len(avals)",
    target="Jitted.nested_call",
)


edit(
    "05.6",
    "arrays that were closed over become inputs, too",
    "Only an array is closed over: what is the equation's jaxpr?",
    "if any(isinstance(const, Tracer) for const in jaxpr.consts):",
    "if jaxpr.consts:",
    target="NestedCall.__init__",
)


edit(
    "05.6",
    "of the closed-over values, only the tracers become inputs",
    "A tracer x and an array a are closed over. What are the first inputs of the jaxpr?",
    "self.outer, jaxpr = jaxpr.consts, convert_constvars_jaxpr(jaxpr)",
    "self.outer, jaxpr = [c for c in jaxpr.consts if isinstance(c, Tracer)], convert_constvars_jaxpr(jaxpr)",
    target="NestedCall.__init__",
)


@also_right("05.6", "constants apart", target="NestedCall.__init__")
def constants_apart(self, traced, donated, inline, keep_unused, name):
    self.out_tree = traced.out_tree
    program, outer = traced.jaxpr, ()
    for const in program.consts:
        if isinstance(const, Tracer):
            outer = tuple(program.consts)
            program = convert_constvars_jaxpr(program)
            break
    self.outer = outer
    flags = tuple(False for _ in outer) + tuple(donated)
    self.params = dict(donated_invars=flags, inline=inline, jaxpr=program, keep_unused=keep_unused, name=name)


edit(
    "05.7",
    "a call with one leaf passes one buffer",
    "One argument, and a constant before it: what does `execute` take?",
    "len(leaf_keys) != 1 or not takes_buffers_as_they_are(executable, leaf_keys)",
    "len(leaf_keys) != 1",
    target="runner",
)


edit(
    "05.7",
    "all results have the aval of the first",
    "Two results of different types: what is the aval of the second?",
    "return lambda leaves: put_together(arrays(run(leaves), avals, keys))",
    "return lambda leaves: put_together(arrays(run(leaves), avals[:1] * len(avals), keys[:1] * len(keys)))",
    target="runner",
)


edit(
    "05.7",
    "a tuple of one result is that result",
    "`LEAF` is the tree of a single result. Is it also the tree of `(x,)`?",
    "if out_tree is not LEAF:",
    "if out_tree.num_leaves != 1:",
    target="runner",
)


edit(
    "05.7",
    "a program takes all leaves",
    "An argument that nothing reads is not passed. What does `kept` say?",
    "        and executable.kept == list(range(len(leaf_keys)))\n",
    "",
    target="takes_buffers_as_they_are",
)


@also_right("05.7", "a list of reasons", target="takes_buffers_as_they_are")
def list_of_reasons(executable, leaf_keys):
    if executable.committed or executable.has_effects or len(executable.consts):
        return False
    for _place, key in enumerate(leaf_keys):
        if isinstance(key, OnHost):
            return False
    return [*executable.kept] == [*range(len(leaf_keys))]


edit(
    "05.8",
    "the key is computed from what was passed",
    "`key` is called with x. With an Array, or with what the caller passed?",
    "x = jax.device_put(x)\n        found = key(x)",
    "found = key(x)\n        x = jax.device_put(x)",
)


edit(
    "05.8",
    "the hash of a key is enough",
    "`hash(-1) == hash(-2)`. Can two different keys have one hash?",
    "found = key(x)",
    "found = hash(key(x))",
)


edit(
    "05.8",
    "the text of a key is enough",
    "Are 1 and '1' one key? What does `str` make of them?",
    "found = key(x)",
    "found = str(key(x))",
)


edit(
    "05.8",
    "it is enough to keep the latest program",
    "Three signatures in turn: how often is each compiled?",
    "if found not in programs:",
    "if found not in programs and not programs.clear():",
)


@also_right("05.8", "a helper that compiles")
def helper_that_compiles(key, fun):
    known = {}

    def compiled(x):
        jaxpr = jax.make_jaxpr(fun)(x)
        trees = tree_structure(((0,), {})), tree_structure(0)
        return compile_program(Program("f", jaxpr, *trees, keep_unused=True), default_placement())

    def call(x):
        x = jax.device_put(x)
        k = key(x)
        run = known.get(k)
        if run is None:
            known[k] = run = compiled(x)
        (out,) = run.wrap(run.run(list(run.consts) + [x._buf]))
        return out

    return call


@mutant(
    "05.1",
    "static values have no order",
    "Two static arguments change places. Is that the same call?",
    target="Traceable.trace_key",
)
def believes_static_values_are_a_set(self, arguments, tree, avals):
    return (config.local.state.options, tree, frozenset(api_util.static_key(arguments.statics)), tuple(avals))


@mutant("05.1", "the kind of a dtype is enough", "Are float16 and float32 of one kind?", target="Traceable.trace_key")
def believes_a_kind_of_numbers_is_a_dtype(self, arguments, tree, avals):
    return (
        config.local.state.options,
        tree,
        api_util.static_key(arguments.statics),
        tuple(((a.shape, a.dtype.kind, a.weak_type) if hasattr(a, "dtype") else a for a in avals)),
    )


@mutant(
    "05.1",
    "a jit has traces of its own",
    "Two jits of one function: how often is it traced?",
    target="Traceable.trace_key",
)
def believes_a_jit_has_traces_of_its_own(self, arguments, tree, avals):
    return (config.local.state.options, tree, api_util.static_key(arguments.statics), tuple(avals), id(self))


@mutant(
    "05.1",
    "a thread has traces of its own",
    "What is different about a program that another thread traces?",
    target="Traceable.trace_key",
)
def believes_a_thread_has_traces_of_its_own(self, arguments, tree, avals):
    return (
        config.local.state.options,
        tree,
        api_util.static_key(arguments.statics),
        tuple(avals),
        __import__("threading").get_ident(),
    )


@mutant(
    "05.2",
    "a trace within another trace is not kept",
    "Is a function's program another one if it is traced within another trace?",
    target="Traceable.traced",
)
def believes_what_is_traced_within_another_trace_is_not_kept(self, arguments, tree, avals, names):
    key = self.trace_key(arguments, tree, avals)
    found = self.cache.traces.get(key)
    if found is not None and found.is_current():
        return (found, False)
    with self.cache.tracing(key, self.name):
        made = self.trace_now(arguments, tree, avals, names)
    from jitkit import core

    if core.current_trace() is None:
        self.cache.remember_trace(key, made)
    return (made, True)


@mutant(
    "05.2",
    "a trace with constants is not kept",
    "A function closes over an array. Will it be another array next time?",
    target="Traceable.traced",
)
def believes_a_trace_with_constants_is_not_kept(self, arguments, tree, avals, names):
    key = self.trace_key(arguments, tree, avals)
    found = self.cache.traces.get(key)
    if found is not None and found.is_current():
        return (found, False)
    with self.cache.tracing(key, self.name):
        made = self.trace_now(arguments, tree, avals, names)
    if not made.jaxpr.consts:
        self.cache.remember_trace(key, made)
    return (made, True)


@mutant(
    "05.2",
    "only writing needs the lock",
    "You look without the lock, and then take it. What may another thread do in between?",
    target="cache_of",
)
def believes_only_what_is_written_needs_the_lock(fun):
    if True:
        try:
            found = _caches.get(fun)
            if found is None:
                with _caches_lock:
                    found = _caches[fun] = FunctionCache()
            return found
        except TypeError:
            return FunctionCache()


@mutant(
    "05.2",
    "a wrapper shares the cache of the function that it wraps",
    "Does a wrapper do what the function inside does?",
    target="cache_of",
)
def believes_a_wrapped_function_is_the_one_inside(fun):
    with _caches_lock:
        fun = getattr(fun, "__wrapped__", fun)
        try:
            found = _caches.get(fun)
            if found is None:
                found = _caches[fun] = FunctionCache()
            return found
        except TypeError:
            return FunctionCache()


@mutant(
    "05.2",
    "a bound method shares the cache of its function",
    "Two methods of one function, of two objects: do they compute the same?",
    target="cache_of",
)
def believes_a_method_is_its_function(fun):
    with _caches_lock:
        fun = getattr(fun, "__func__", fun)
        try:
            found = _caches.get(fun)
            if found is None:
                found = _caches[fun] = FunctionCache()
            return found
        except TypeError:
            return FunctionCache()


@mutant(
    "05.2",
    "a partial function shares the cache of the function inside",
    "A partial function has a function inside. What else does it have?",
    target="cache_of",
)
def believes_a_partial_function_is_its_function(fun):
    with _caches_lock:
        fun = getattr(fun, "func", fun)
        try:
            found = _caches.get(fun)
            if found is None:
                found = _caches[fun] = FunctionCache()
            return found
        except TypeError:
            return FunctionCache()


@mutant(
    "05.3",
    "records are dropped in an order of their own",
    "Which record belongs to the entry that goes?",
    target="Table.insert",
)
def believes_records_go_in_their_own_order(self, key, entry, record):
    with self.lock:
        room = config.value("jit_cache_size")
        self.entries.pop(key, None)
        self.entries[key] = entry
        self.records[key] = record
        self.failed.pop(key, None)
        while len(self.entries) > room:
            oldest = next(iter(self.entries))
            del self.entries[oldest]
            self.records.pop(next(iter(self.records)), None)
        self.crowded = room <= EXACT_LRU_SIZE or 2 * len(self.entries) > room
        if len(self.executables) > room:
            self.drop_unused_executables()


@mutant(
    "05.3",
    "the first record of a key stays",
    "A key is inserted again. Which record belongs to its entry?",
    target="Table.insert",
)
def believes_the_first_record_of_a_key_stays(self, key, entry, record):
    with self.lock:
        room = config.value("jit_cache_size")
        self.entries.pop(key, None)
        self.entries[key] = entry
        self.records.setdefault(key, record)
        self.failed.pop(key, None)
        while len(self.entries) > room:
            oldest = next(iter(self.entries))
            del self.entries[oldest]
            self.records.pop(oldest, None)
        self.crowded = room <= EXACT_LRU_SIZE or 2 * len(self.entries) > room
        if len(self.executables) > room:
            self.drop_unused_executables()


@mutant(
    "05.3",
    "after a success, no key has failed",
    "One key was inserted. Which keys have to be taken out of `failed`?",
    target="Table.insert",
)
def believes_one_success_forgets_all_failures(self, key, entry, record):
    with self.lock:
        room = config.value("jit_cache_size")
        self.entries.pop(key, None)
        self.entries[key] = entry
        self.records[key] = record
        self.failed.clear()
        while len(self.entries) > room:
            oldest = next(iter(self.entries))
            del self.entries[oldest]
            self.records.pop(oldest, None)
        self.crowded = room <= EXACT_LRU_SIZE or 2 * len(self.entries) > room
        if len(self.executables) > room:
            self.drop_unused_executables()


@mutant(
    "05.3",
    "there may be as many executables as entries",
    "How many executables may there be without an entry?",
    target="Table.insert",
)
def believes_there_are_as_many_executables_as_entries(self, key, entry, record):
    with self.lock:
        room = config.value("jit_cache_size")
        self.entries.pop(key, None)
        self.entries[key] = entry
        self.records[key] = record
        self.failed.pop(key, None)
        while len(self.entries) > room:
            oldest = next(iter(self.entries))
            del self.entries[oldest]
            self.records.pop(oldest, None)
        self.crowded = room <= EXACT_LRU_SIZE or 2 * len(self.entries) > room
        if len(self.executables) > len(self.entries):
            self.drop_unused_executables()


@mutant("05.5", "a distance is one number", "Two calls are both to be traced. Which one is nearer?", target="closest")
def believes_only_the_first_number_of_a_distance_counts(records, record, weight):
    best, least = (None, ())
    for other in latest_first(records, record):
        far = distance(other, record, weight)
        if best is None or far[0] < least[0]:
            best, least = (other, far)
    return (best, least)


@mutant(
    "05.5", "a call without a difference is left out", "What is the distance of a call to itself?", target="closest"
)
def believes_a_call_without_a_difference_is_not_compared(records, record, weight):
    best, least = (None, ())
    for other in latest_first(records, record):
        far = distance(other, record, weight)
        if not any(far):
            continue
        if best is None or far < least:
            best, least = (other, far)
    return (best, least)


@mutant(
    "05.6", "without results nothing is recorded", "Is a call without results an equation?", target="NestedCall.bind"
)
def believes_without_results_nothing_is_recorded(self, leaves):
    if not self.params["jaxpr"].outvars:
        return tree_unflatten(self.out_tree, [])
    return tree_unflatten(self.out_tree, jit_p.bind(*self.outer, *leaves, **self.params))


@mutant("05.6", "a result without leaves is None", "What does `lambda x: ()` return?", target="NestedCall.bind")
def believes_no_leaves_are_none(self, leaves):
    out = jit_p.bind(*self.outer, *leaves, **self.params)
    return tree_unflatten(self.out_tree, out) if out else None


@mutant(
    "05.6", "every function has a `__name__`", "Does a partial function have a `__name__`?", target="Jitted.nested_call"
)
def believes_every_function_has_a___name(self, args, kwargs):
    arguments, tree, avals = self.signature(args, kwargs)
    traced = self.traced_alone(arguments, tree, avals)
    donated = api_util.donated_leaves(self.options.spec, arguments) or (False,) * len(avals)
    call = NestedCall(traced, donated, self.options.inline, self.options.keep_unused, self.fun.__name__)
    if self.is_placed:
        call.place(*self.shardings(arguments, traced, avals))
    self.table.remember_nested(self.trace_key(arguments, tree, avals), call)
    return call


@mutant(
    "05.7",
    "all results have the key of the first",
    "Two results have different types. What is the key of the second?",
    target="runner",
)
def believes_all_results_have_the_key_of_the_first(executable, out_tree, leaf_keys):
    run = buffers_runner(executable, leaf_keys)
    avals, keys = (executable.out_avals, executable.out_keys)
    if out_tree is LEAF:
        aval, key = (avals[0], keys[0])

        def one(leaves):
            return Array(run(leaves)[0], aval, key)

        return one
    together = compile_put_together(out_tree)

    def several(leaves):
        return together([Array(b, a, keys[0]) for b, a, k in zip(run(leaves), avals, keys, strict=False)])

    return several


@mutant(
    "05.7",
    "without results there is nothing to run",
    "A program without results may print. Does it run?",
    target="runner",
)
def believes_without_results_there_is_nothing_to_run(executable, out_tree, leaf_keys):
    run = buffers_runner(executable, leaf_keys)
    avals, keys = (executable.out_avals, executable.out_keys)
    if out_tree is LEAF:
        aval, key = (avals[0], keys[0])

        def one(leaves):
            return Array(run(leaves)[0], aval, key)

        return one
    if not avals:
        return lambda leaves: tree_unflatten(out_tree, [])
    together = compile_put_together(out_tree)

    def several(leaves):
        return together([Array(b, a, k) for b, a, k in zip(run(leaves), avals, keys, strict=False)])

    return several


@mutant(
    "05.1",
    "without leaves, the key is empty",
    "f(2) and f(3) have static arguments, and nothing else. Is it one call?",
    target="Jitted.key_of_call",
)
def believes_without_leaves_every_key_is_short(self, arguments, tree, keys):
    options = config.local.state.key
    if not keys or (not arguments.statics and tree is flat_tree(len(keys))):
        return (options, *keys)
    return (options, tree, api_util.static_key(arguments.statics), *keys)


@mutant(
    "05.2",
    "a trace counts as new only the first time",
    "A kept trace is not current any more, and you trace again. Was it traced now?",
    target="Traceable.traced",
)
def believes_only_the_first_time_is_now(self, arguments, tree, avals, names):
    key = self.trace_key(arguments, tree, avals)
    found = self.cache.traces.get(key)
    if found is not None and found.is_current():
        return (found, False)
    with self.cache.tracing(key, self.name):
        made = self.trace_now(arguments, tree, avals, names)
    self.cache.remember_trace(key, made)
    return (made, found is None)


@mutant(
    "05.3",
    "a record stays as long as its executable",
    "There are too many executables, and an entry goes. Does its record go, too?",
    target="Table.insert",
)
def believes_records_stay_with_executables(self, key, entry, record):
    with self.lock:
        room = config.value("jit_cache_size")
        self.entries.pop(key, None)
        self.entries[key] = entry
        self.records[key] = record
        self.failed.pop(key, None)
        while len(self.entries) > room:
            oldest = next(iter(self.entries))
            del self.entries[oldest]
            self.records.pop(oldest, None) if len(self.executables) <= room else None
        self.crowded = room <= EXACT_LRU_SIZE or 2 * len(self.entries) > room
        if len(self.executables) > room:
            self.drop_unused_executables()


@mutant(
    "05.4",
    "after `f.trace(key)`, random keys are not checked",
    "`f.trace(key)` was called before. Does the entry of f(key) check the random keys?",
    target="Jitted.make_entry",
)
def believes_what_was_traced_before_is_not_checked(self, start, key, arguments, tree, keys):
    avals = avals_of(keys)
    names = api_util.argument_names(self.fun, arguments)
    traced, was_traced = self.traced(arguments, tree, avals, names)
    placement = self.placement(keys, arguments, traced, avals, names)
    program = self.program(traced, tree, self.donated(arguments))
    executable, was_compiled = self.compiled(program, placement)
    entry = Entry(executable, traced.out_tree, keys)
    if config.local.state.options.debug_key_reuse and was_traced:
        checked = late_rooms.import_room("jitkit.interpreters.key_reuse").checked
        entry.run = checked(entry.run, traced.jaxpr, "jit-compiled function")
    record = self.note_miss(start, arguments, tree, keys, names, was_traced, was_compiled)
    self.table.insert(key, entry, record)
    return entry


@mutant(
    "05.4",
    "after `f.trace(x)`, x is not donated",
    "`f.trace(x)` was called before. Is x donated in f(x)?",
    target="Jitted.make_entry",
)
def believes_what_was_traced_before_is_not_donated(self, start, key, arguments, tree, keys):
    avals = avals_of(keys)
    names = api_util.argument_names(self.fun, arguments)
    traced, was_traced = self.traced(arguments, tree, avals, names)
    placement = self.placement(keys, arguments, traced, avals, names)
    program = self.program(traced, tree, () if not was_traced else self.donated(arguments))
    executable, was_compiled = self.compiled(program, placement)
    entry = Entry(executable, traced.out_tree, keys)
    if config.local.state.options.debug_key_reuse:
        checked = late_rooms.import_room("jitkit.interpreters.key_reuse").checked
        entry.run = checked(entry.run, traced.jaxpr, "jit-compiled function")
    record = self.note_miss(start, arguments, tree, keys, names, was_traced, was_compiled)
    self.table.insert(key, entry, record)
    return entry


@mutant(
    "05.5",
    "a value that was on the host cannot differ in its device",
    "A value was on the host, and is committed to a device now. Which difference is it?",
    target="changed_leaves",
)
def believes_who_comes_from_the_host_has_no_device(leaves):
    for path, before, now in leaves:
        if before is now:
            continue
        old, new = (aval_of(before), aval_of(now))
        moved = sharding_of(before) != sharding_of(now)
        if old is not new:
            kinds = kinds_of_types(old, new)
            yield Change(kinds[0], path, before, now, len(kinds))
        if moved and (not isinstance(before, OnHost)):
            yield Change("device", path, before, now)
        elif old is new and isinstance(before, OnHost) != isinstance(now, OnHost):
            yield Change("host", path, before, now)


@mutant(
    "05.6",
    "a nested call is remembered under its types",
    "Under which key will somebody look for the call?",
    target="Jitted.nested_call",
)
def believes_a_call_is_remembered_by_its_types(self, args, kwargs):
    arguments, tree, avals = self.signature(args, kwargs)
    traced = self.traced_alone(arguments, tree, avals)
    donated = api_util.donated_leaves(self.options.spec, arguments) or (False,) * len(avals)
    call = NestedCall(traced, donated, self.options.inline, self.options.keep_unused, self.name)
    if self.is_placed:
        call.place(*self.shardings(arguments, traced, avals))
    self.table.remember_nested(tuple(avals), call)
    return call


@mutant(
    "05.6",
    "an inlined function closes over nothing",
    "The function closes over a tracer. What are the inputs of its jaxpr?",
    target="NestedCall.bind",
)
def believes_what_is_inlined_closes_over_nothing(self, leaves):
    from jitkit.jaxpr import eval_jaxpr

    j = self.params["jaxpr"]
    if self.params["inline"] != Inline.JAX_EARLY:
        return tree_unflatten(self.out_tree, jit_p.bind(*self.outer, *leaves, **self.params))
    return tree_unflatten(self.out_tree, eval_jaxpr(j, j.consts, *leaves))


@mutant(
    "05.7",
    "each call has a runner of its own",
    "How often do you call `buffers_runner` for three hits?",
    target="runner",
)
def believes_each_call_has_a_runner_of_its_own(executable, out_tree, leaf_keys):

    def run(leaves):
        return buffers_runner(executable, leaf_keys)(leaves)

    avals, keys = (executable.out_avals, executable.out_keys)
    if out_tree is LEAF:
        aval, key = (avals[0], keys[0])

        def one(leaves):
            return Array(run(leaves)[0], aval, key)

        return one
    together = compile_put_together(out_tree)

    def several(leaves):
        return together([Array(b, a, k) for b, a, k in zip(run(leaves), avals, keys, strict=False)])

    return several
