"""Wrong answers to the exercises of lab 05, each with what its author believes."""

from jitkit.kata.mutants import edit, mutant

# --- 05.1 The key -----------------------------------------------------------------------------------------------------


@mutant(
    "05.1",
    "the values are in the key",
    "What in your key is different for two arrays of one type?",
    target="Traceable.trace_key",
)
def has_values(self, arguments, tree, avals):
    leaves = tree_flatten((arguments.args, arguments.kwargs))[0]
    values = [str(x) for x in leaves]
    return (config.local.state.options, tree, api_util.static_key(arguments.statics), *avals, *values)


edit(
    "05.1", "types of one size are one type", "A float32 and an int32 have four bytes each. Is it the same program?",
    "*avals", "*[aval.size * aval.dtype.itemsize for aval in avals]", target="Traceable.trace_key",
)  # fmt: skip
edit(
    "05.1", "weak types do not matter", "`x + 1.0`, and `x + np.float32(1)`: of which dtype is the result when x is a float16?",
    "*avals", "*[aval.strip_weak_type() for aval in avals]", target="Traceable.trace_key",
)  # fmt: skip
edit(
    "05.1", "static values are no part of a key", "Two calls differ in a static argument only. Do they have one key?",
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
    "05.1", "every key has a tree", "Which of the two forms has the key of `f(x, 2.0)`?",
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
    "a trace that failed is a trace",
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
    "05.2",
    "a cache belongs to a jit",
    "`jit(f)` is called a second time. Which cache does it find?",
    target="cache_of",
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
    "Nobody has the function any more, but your table. When does it go?",
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
    "What says a WeakKeyDictionary when it is asked for an object without a hash?",
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
    "05.3", "what is in a cache stays there", "A million shapes, a million executables. Who lets them go?",
    "while len(self.entries) > limit:", "while False:", target="Table.insert",
)  # fmt: skip
edit(
    "05.3", "first in, first out", "Which entry was used last: the one that was inserted last, or the one that was touched last?",
    "self.entries[key] = entry", "self.entries = {key: entry, **self.entries}", target="Table.touch",
)  # fmt: skip
edit(
    "05.3", "records cost nothing", "An entry is dropped. What else knows its key?",
    "del self.entries[oldest], self.records[oldest]", "del self.entries[oldest]", target="Table.insert",
)  # fmt: skip
edit(
    "05.3", "a touch puts an entry into the table", "Another thread may have dropped the entry a moment ago. What should a touch do then?",
    "if self.entries.pop(key, None) is not None:", "if self.entries.pop(key, None) is not None or True:", target="Table.touch",
)  # fmt: skip
edit(
    "05.3", "a limit of 0 is a limit of 0", "With a limit of 0, what happens to the entry that was just inserted?",
    'max(1, config.value("jit_cache_size"))', 'config.value("jit_cache_size")', target="Table.insert",
)  # fmt: skip
edit(
    "05.3", "the order matters from the beginning", "Each touch costs time in each warm call. From when on is it worth it?",
    "(0 if limit <= EXACT_LRU_SIZE else limit // 2)", "0", target="Table.insert",
)  # fmt: skip
edit(
    "05.3", "an executable goes by itself", "Who else holds an executable, beside its entries?",
    "self.drop_unused_executables()", "pass", target="Table.insert",
)  # fmt: skip
edit(
    "05.3", "once failed, always failed", "The call failed before, and now there is an entry. How often is its key counted?",
    "self.failed.pop(key, None)", "pass", target="Table.insert",
)  # fmt: skip

# --- 05.4 A miss ------------------------------------------------------------------------------------------------------

edit(
    "05.4", "what was compiled is found by itself", "How does the next call find the entry?",
    "self.table.insert(key, entry, record)", "pass", target="Jitted.make_entry",
)  # fmt: skip
edit(
    "05.4", "each key has an executable of its own", "Another key led to the same jaxpr. What did you keep of it?",
    "self.table.executables.get(slot)", "None", target="Jitted.compiled",
)  # fmt: skip
edit(
    "05.4", "a program is the same everywhere", "An argument is committed to a device. Is that in your slot?",
    "(program.jaxpr, program.donated, placement)", "(program.jaxpr, program.donated)", target="Jitted.compiled",
)  # fmt: skip
edit(
    "05.4", "arguments are on the device", "Who tells the entry that an argument is in the host's memory?",
    "Entry(executable, traced.out_tree, keys)", "Entry(executable, traced.out_tree, avals)", target="Jitted.make_entry",
)  # fmt: skip
edit(
    "05.4", "the result has the tree of the arguments", "Which tree has the result? Who knows it?",
    "Entry(executable, traced.out_tree, keys)", "Entry(executable, tree.children()[0], keys)", target="Jitted.make_entry",
)  # fmt: skip
edit(
    "05.4", "to compile is to trace", "Does `traced` say whether it was traced now? Whom should you tell?",
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
    "05.5", "only shape and dtype differ", "When are two types the same: when shape and dtype are?",
    "if old is not new:", "if (old.shape, old.dtype) != (new.shape, new.dtype):", target="changed_leaves",
)  # fmt: skip
edit(
    "05.5", "where a value is does not matter", "The type is the same, and the keys are not. Why?",
    'yield Change("host", path, before, now)', "pass", target="changed_leaves",
)  # fmt: skip
edit(
    "05.5", "a new type on a new place is two differences", "It is traced anew for its type. Does it matter that it is on the device now?",
    "elif old is new and isinstance(before, OnHost)", "elif isinstance(before, OnHost)", target="changed_leaves",
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
    "05.5", "of several the first one counts", "In which order do you go through the records, and when do you change your mind?",
    "counts < fewest", "counts <= fewest", target="closest",
)  # fmt: skip


@mutant(
    "05.5",
    "all differences weigh the same",
    "Ten values have moved to the device, or one shape is new. Which is closer?",
    target="distance",
)
def counts_alike(old, new, weight):
    return (sum(change.size for change in changes(old, new, weight)),)


# --- 05.6 A jit in a jit ----------------------------------------------------------------------------------------------


@mutant(
    "05.6",
    "a nested call is written out",
    "How many equations does a nested call have?",
    target="NestedCall.bind",
)
def writes_the_body(self, leaves):
    return tree_unflatten(self.out_tree, self.bind_inline(leaves))


edit(
    "05.6", "each call is worked out anew", "What does `find_nested` find when the same function is called again?",
    "self.table.remember_nested(self.trace_key(arguments, tree, avals), call)", "pass", target="Jitted.nested_call",
)  # fmt: skip
edit(
    "05.6", "a closed-over tracer is a constant", "Who passes the outer value to the function of the module that the inner jaxpr becomes?",
    "if any(isinstance(const, Tracer) for const in jaxpr.consts):", "if False:", target="NestedCall.__init__",
)  # fmt: skip
edit(
    "05.6", "every constant becomes an argument", "An array from outside has its value already. Must the caller pass it?",
    "if any(isinstance(const, Tracer) for const in jaxpr.consts):", "if jaxpr.consts:", target="NestedCall.__init__",
)  # fmt: skip
edit(
    "05.6", "donation is for the outermost jit", "How many flags has `donated_invars`, and which of them belong to the arguments?",
    "(False,) * len(self.outer) + donated", "(False,) * (len(self.outer) + len(donated))", target="NestedCall.__init__",
)  # fmt: skip
edit(
    "05.6", "inlining is XLA's business", "What was `jit` told by `inline`?",
    "if self.inline is Inline.JAX_EARLY:", "if False:", target="NestedCall.bind",
)  # fmt: skip
edit(
    "05.6", "a call returns a list", "`bind` returns a list. And the function?",
    "return tree_unflatten(self.out_tree, jit_p.bind(*self.outer, *leaves, **self.params))",
    "return jit_p.bind(*self.outer, *leaves, **self.params)", target="NestedCall.bind",
)  # fmt: skip
