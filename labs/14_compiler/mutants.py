"""Plausible wrong answers to the exercises of lab 14, each with what its author believes."""

from __future__ import annotations

from jitkit.kata.mutants import also_right, edit, mutant
from jitkit.loops.formulas import COMBINE, c_type, neutral
from jitkit.loops.index_maps import plus
from jitkit.loops.nests import Conflict
from jitkit.loops.plan import meet

# --- 14.1 The same element, elsewhere -----------------------------------------------------------------------------


@mutant(
    "14.1",
    "the new axes of a broadcast come last",
    "Which axes of the result are the operand's? The parameters say so.",
    target="broadcast_index",
)
def the_first_axes(op, index):
    return tuple(i if size != 1 else "0" for i, size in zip(index, op.ins[0].shape, strict=False))


@mutant(
    "14.1",
    "the operand's axes are the last ones of the result",
    "Axis 1 of the operand is axis 2 of the result. Which index reads it?",
    target="broadcast_index",
)
def the_last_axes(op, index):
    shape = op.ins[0].shape
    return tuple(i if size != 1 else "0" for i, size in zip(index[len(index) - len(shape) :], shape, strict=True))


@mutant(
    "14.1",
    "an axis of one element can be read at any index",
    "The axis has one element. What is read at index 2 of it?",
    target="broadcast_index",
)
def not_at_zero(op, index):
    return tuple(index[axis] for axis in op.params["broadcast_dimensions"])


@mutant(
    "14.1",
    "a permutation is its own inverse",
    "Axis 0 of the result is axis 2 of the operand. At which place of the operand's index does the result's first index go?",
    target="transpose_index",
)
def permuted_forwards(op, index):
    return tuple(index[axis] for axis in op.params["permutation"])


@mutant(
    "14.1",
    "the start of a slice is multiplied by its step",
    "A slice from 3 in steps of 2: where is its element 1?",
    target="slice_index",
)
def steps_from_the_start(op, index):
    starts = op.params["start_indices"]
    strides = op.params["strides"] or (1,) * len(starts)
    return tuple(f"(({i} + {start})*{step})" for i, start, step in zip(index, starts, strides, strict=True))


@mutant(
    "14.1",
    "`strides` is always a tuple",
    "What is the value of the parameter `strides` for `x[2:5]`?",
    target="slice_index",
)
def with_strides(op, index):
    pairs = zip(index, op.params["start_indices"], op.params["strides"], strict=True)
    return tuple(f"({i}*{step} + {start})" for i, start, step in pairs)


@mutant("14.1", "a slice begins at 0", "Which element of x is element 0 of `x[2:]`?", target="slice_index")
def from_zero(op, index):
    strides = op.params["strides"] or (1,) * len(index)
    return tuple(f"({i}*{step})" for i, step in zip(index, strides, strict=True))


edit(
    "14.1", "the last element is at the size", "An axis has 4 elements. At which index is the last one?",
    "{sizes[k] - 1} - {i}", "{sizes[k]} - {i}", target="rev_index",
)  # fmt: skip
edit(
    "14.1", "an expression can be put into another one without parentheses",
    "The caller multiplies your `3 - i0` by 4, for the next axis. What does `3 - i0*4` mean?",
    'f"({sizes[k] - 1} - {i})"', 'f"{sizes[k] - 1} - {i}"', target="rev_index",
)  # fmt: skip


@mutant("14.1", "all axes are reversed", "Which parameter says which axes are reversed?", target="rev_index")
def all_turn(op, index):
    return tuple(f"({size - 1} - {i})" for i, size in zip(index, op.ins[0].shape, strict=True))


@also_right("14.1", "with dictionaries", target="broadcast_index")
def broadcast_with_a_loop(op, index):
    found = []
    for place, size in enumerate(op.ins[0].shape):
        axis = op.params["broadcast_dimensions"][place]
        found.append("0" if size == 1 else index[axis])
    return tuple(found)


@also_right("14.1", "with dictionaries", target="transpose_index")
def transpose_with_a_dictionary(op, index):
    known = dict(zip(op.params["permutation"], index, strict=True))
    return tuple(known[axis] for axis in sorted(known))


@also_right("14.1", "with dictionaries", target="slice_index")
def slice_in_full(op, index):
    strides = op.params["strides"] or [1 for _ in index]
    return tuple(
        f"({i}*{step} + {start})" for i, start, step in zip(index, op.params["start_indices"], strides, strict=True)
    )


@also_right("14.1", "with dictionaries", target="rev_index")
def rev_from_the_end(op, index):
    found = list(index)
    for axis in op.params["dimensions"]:
        found[axis] = f"(-{index[axis]} + {op.ins[0].shape[axis] - 1})"
    return tuple(found)


@also_right("14.1", "with helpers", target="broadcast_index")
def broadcast_by_the_result(op, index):
    shape, axes, sizes = op.params["shape"], op.params["broadcast_dimensions"], op.ins[0].shape
    return tuple(["0", index[axis]][sizes[k] == shape[axis]] for k, axis in enumerate(axes))


@also_right("14.1", "with helpers", target="transpose_index")
def transpose_by_assignment(op, index):
    found = [""] * len(index)
    for place, axis in enumerate(op.params["permutation"]):
        found[axis] = index[place]
    return tuple(found)


@also_right("14.1", "with helpers", target="slice_index")
def slice_with_plus(op, index):
    starts, strides = op.params["start_indices"], op.params["strides"]
    scaled = index if strides is None else [f"({i}*{step})" for i, step in zip(index, strides, strict=True)]
    return tuple(map(plus, scaled, starts))


@also_right("14.1", "with helpers", target="rev_index")
def rev_with_a_test(op, index):
    return tuple(
        f"({op.ins[0].shape[k] - 1} - {i})" if k in op.params["dimensions"] else i for k, i in enumerate(index)
    )


# --- 14.2 When two loops may be one -------------------------------------------------------------------------------


@mutant("14.2", "the nest has written everything that it reads", "Who has written the argument of the program?")
def no_others(self, place, index):
    when, where, name, is_after = self.written[place.buffer]
    if place.base or when < 0:
        raise Conflict
    if when == len(self.inner) - 1:
        if index == where and not is_after:
            return name
        raise Conflict
    if index == where and is_after:
        return name
    if self.flat or len(self.shape) <= 1:
        return None
    if len(index) == len(self.shape) == len(where) and index[:-1] == where[:-1]:
        return None
    raise Conflict


edit(
    "14.2", "a stored element has to be read from memory", "The element is still in its variable. "
    "Does the loop have to read it from memory?",
    "if index == where and not is_after:\n            return name", "if index == where and not is_after:\n"
    "            return None",
)  # fmt: skip


@mutant(
    "14.2",
    "the variable holds every element",
    "The loop has just stored element i. What is in the variable if element i + 1 is wanted?",
)
def any_index(self, place, index):
    if place.buffer not in self.written:
        return None
    when, where, name, is_after = self.written[place.buffer]
    if place.base or when < 0:
        raise Conflict
    if not is_after or index == where:
        return name
    raise Conflict


edit(
    "14.2", "an element that the loop will write is already in memory", "The loop is at element 2, and wants element 3, which it will "
    "write. What is in memory?",
    "if index == where and not is_after:\n            return name\n        raise Conflict",
    "if index == where and not is_after:\n            return name\n        return None",
)  # fmt: skip
edit(
    "14.2", "what is stored after a loop can be read within it", "The sum is stored after the loop "
    "over the row. What has been added up at element 1?",
    "index == where and not is_after", "index == where",
)  # fmt: skip
edit(
    "14.2", "the sum of this row has to be read from memory", "An earlier loop of this row made the sum. Is its variable gone?",
    "if index == where and is_after:\n        return name", "if index == where and is_after:\n        return None",
)  # fmt: skip
edit(
    "14.2", "the variable has the sum of any row", "The variable has this row's sum. Which row is asked for?",
    "if index == where and is_after:", "if is_after:",
)  # fmt: skip
edit(
    "14.2", "an earlier loop has written all rows", "Which rows has the inner loop written when the second "
    "inner loop begins?",
    "index[:-1] == where[:-1]", "True",
)  # fmt: skip


@mutant(
    "14.2",
    "an earlier loop has written nothing",
    "The first inner loop is over when the second one begins. What of this row is in memory?",
)
def only_this_loop(self, place, index):
    if place.buffer not in self.written:
        return None
    when, where, name, is_after = self.written[place.buffer]
    if place.base or when < 0 or index != where or is_after == (when == len(self.inner) - 1):
        raise Conflict
    return name


edit(
    "14.2", "a nest of one axis has an outer loop", "A nest has one axis. Does it have an outer loop?",
    "if self.flat or len(self.shape) == 1:", "if self.flat:",
)  # fmt: skip
edit(
    "14.2", "every nest has outer loops", "A nest of one axis has no outer loop. What has its first loop written when "
    "it is over?",
    "if self.flat or len(self.shape) == 1:\n        return None  # an earlier loop has written all of it\n", "pass\n",
)  # fmt: skip
edit(
    "14.2", "what was stored after an earlier loop is not in memory", "The earlier loop is over, and "
    "its sum was stored after it. Is it in memory now?",
    "if self.flat or len(self.shape) == 1:", "if (self.flat or len(self.shape) == 1) and not is_after:",
)  # fmt: skip
edit(
    "14.2", "a part of a buffer is read like the whole buffer", "The place is a part of a buffer: it begins at element k. "
    "Which element of the buffer was stored?",
    "place.base or when < 0", "when < 0",
)  # fmt: skip
edit(
    "14.2", "a buffer that was written can always be read", "What does the docstring say about `when` being -1?",
    "place.base or when < 0", "place.base",
)  # fmt: skip


@also_right("14.2", "by cases")
def by_cases(self, place, index):
    entry = self.written.get(place.buffer)
    if entry is None:
        return None
    when, where, name, is_after = entry
    is_now, is_same = when == len(self.inner) - 1, index == where
    if place.base == "" and when >= 0:
        if is_same and is_now != is_after:
            return name
        no_rows = self.flat or len(self.shape) < 2
        if not is_now and (no_rows or (index[:-1] == where[:-1] and {len(index), len(where)} == {len(self.shape)})):
            return None
    raise Conflict


@also_right("14.2", "negatively")
def negatively(self, place, index):
    if place.buffer in self.written:
        when, where, name, is_after = self.written[place.buffer]
        in_this_loop = when + 1 == len(self.inner)
        if when == -1 or place.base:
            raise Conflict
        if index == where and ((in_this_loop and not is_after) or (is_after and not in_this_loop)):
            return name
        if in_this_loop:
            raise Conflict
        if (
            len(self.shape) > 1
            and not self.flat
            and not (len(where) == len(index) == len(self.shape) and where[:-1] == index[:-1])
        ):
            raise Conflict
    return None


# --- 14.3 One number for a row ------------------------------------------------------------------------------------

edit(
    "14.3", "every accumulator begins with 0", "What is the maximum of -3 and -5, if 0 was there first?",
    "{neutral(kind, dtype)}", "0", target="Nest.fold",
)  # fmt: skip
edit(
    "14.3", "every reduction is a sum", "How does a maximum combine two numbers?",
    "COMBINE[kind].format(accumulator, name, t=ctype)", "accumulator} + {name", target="Nest.fold",
)  # fmt: skip
edit(
    "14.3", "one accumulator is enough", "A sum and a maximum stand in one loop. How many variables are needed?",
    "self.counted += 1", "pass", target="Nest.fold",
)  # fmt: skip
edit(
    "14.3", "the compiler sees by itself that the order of a sum is free", "Sums of floats depend on their order. May a compiler change it "
    "if nobody says so?",
    "self.loop.folds.append((kind, accumulator, ctype))", "pass", target="Nest.fold",
)  # fmt: skip
edit(
    "14.3", "the sum is stored while it grows", "How often does your loop write, and how often must it?",
    ", after=True)", ")", target="fold_in_register",
)  # fmt: skip


@mutant(
    "14.3",
    "a sum is added up in memory",
    "How many elements does your loop read and write for each one that it adds?",
    target="fold_in_register",
)
def in_memory(writer, op, place):
    (x,), (out,) = op.ins, op.outs
    kind, is_all = op.name.removeprefix("reduce_"), len(op.params["axes"]) == len(x.shape)

    def body(nest, index):
        target = nest.access(place, () if is_all else index[:-1], True)
        combined = COMBINE[kind].format(target, writer.emit(nest, x, index), t=c_type(out.aval))
        nest.loop.body.append(f"{target} = {combined};")
        nest.sources[f"{op.name}  {op.line}"] = None
        nest.flops += 1

    writer.nest(out.shape, lambda nest, index: nest.store(place, index, neutral(kind, out.aval.dtype)))
    writer.nest(x.shape, body, flat=False, alone=True)


edit(
    "14.3", "a sum of everything fits into a nest with rows", "The outer loop goes over rows. Where is the accumulator declared, "
    "and how often?",
    "        if is_all and not nest.flat:\n            raise Conflict\n", "", target="fold_in_register",
)  # fmt: skip
edit(
    "14.3", "a sum of everything needs a loop for each row", "All axes are summed. Does the loop have to know where a row ends?",
    "flat=is_all)", "flat=False)", target="fold_in_register",
)  # fmt: skip
edit(
    "14.3", "every reduction needs a loop of its own", "Two sums of the same rows read the same elements. How "
    "many loops are that?",
    "flat=is_all)", "flat=is_all, alone=True)", target="fold_in_register",
)  # fmt: skip
edit(
    "14.3", "the comment above a loop need not name the reduction", "The comment above a loop names "
    "its operations and their lines. Where does it get the reduction from?",
    '        nest.sources[f"{op.name}  {op.line}"] = None\n', "", target="fold_in_register",
)  # fmt: skip
edit(
    "14.3", "additions cost nothing", "`cost_analysis()` says how many operations a program does. Who tells it "
    "of the sum?",
    "        nest.flops += 1\n", "", target="fold_in_register",
)  # fmt: skip


@also_right("14.3", "with the line first", target="Nest.fold")
def fold_with_a_line(self, kind, dtype, ctype, name, note):
    self.counted += 1
    total = f"a{self.counted}"
    loop = self.inner[-1]
    loop.folds += [(kind, total, ctype)]
    loop.before += [f"{ctype} {total} = {neutral(kind, dtype)};"]
    combined = COMBINE[kind].format(total, name, t=ctype)
    loop.body += [f"{total} = {combined};  // {note}"]
    return total


@also_right("14.3", "with the line first", target="fold_in_register")
def register_with_a_line(writer, op, place):
    x, out = op.ins[0], op.outs[0]
    everything = set(op.params["axes"]) == set(range(len(x.shape)))
    line = f"{op.name}  {op.line}"

    def body(nest, index):
        if everything and len(x.shape) > 1 and not nest.flat:
            raise Conflict
        nest.sources[line] = None
        nest.flops = nest.flops + 1
        number = writer.emit(nest, x, index)
        total = nest.fold(op.name[len("reduce_") :], out.aval.dtype, c_type(out.aval), number, line)
        nest.store(place, () if everything else index[:-1], total, after=True)

    writer.nest(x.shape, body, everything)


@also_right("14.3", "in two branches", target="Nest.fold")
def fold_counting_last(self, kind, dtype, ctype, name, note):
    accumulator = f"a{self.counted + 1}"
    self.loop.body.append(f"{accumulator} = {COMBINE[kind].format(accumulator, name, t=ctype)};  // {note}")
    self.loop.folds.append((kind, accumulator, ctype))
    self.loop.before.append(f"{ctype} {accumulator} = {neutral(kind, dtype)};")
    self.counted += 1
    return accumulator


@also_right("14.3", "in two branches", target="fold_in_register")
def register_in_two_branches(writer, op, place):
    (x,), (out,) = op.ins, op.outs

    def accumulated(nest, index):
        number = writer.emit(nest, x, index)
        nest.sources[f"{op.name}  {op.line}"] = None
        nest.flops += 1
        return nest.fold(op.name.partition("_")[2], out.aval.dtype, c_type(out.aval), number, f"{op.name}  {op.line}")

    def of_all(nest, index):
        if len(x.shape) > 1 and not nest.flat:
            raise Conflict
        nest.store(place, (), accumulated(nest, index), after=True)

    def of_rows(nest, index):
        nest.store(place, index[:-1], accumulated(nest, index), after=True)

    if len(op.params["axes"]) == len(x.shape):
        writer.nest(x.shape, of_all)
    else:
        writer.nest(x.shape, of_rows, flat=False)


# --- 14.4 Who lives here ------------------------------------------------------------------------------------------


@mutant(
    "14.4",
    "every array can have its own memory",
    "Two arrays never live together. How many bytes do both need?",
    target="placed",
)
def one_after_the_other(lives, sizes):
    offsets, at = {}, 0
    for x in sorted(lives, key=lambda each: (lives[each][0], -sizes[each])):
        offsets[x] = at
        at += sizes[x]
    return offsets


@mutant(
    "14.4",
    "two lives that share one step do not meet",
    "One step reads a and writes b. Where are both then?",
    target="placed",
)
def ends_are_free(lives, sizes):
    offsets = {}
    for x in sorted(lives, key=lambda each: (lives[each][0], -sizes[each])):
        at = 0
        begin, end = lives[x]
        for low, high in sorted(
            (offsets[y], offsets[y] + sizes[y]) for y in offsets if lives[y][0] < end and begin < lives[y][1]
        ):
            if at + sizes[x] <= low:
                break
            at = max(at, high)
        offsets[x] = at
    return offsets


@mutant(
    "14.4",
    "a new buffer always goes to the end",
    "Between two arrays is a gap that is wide enough. Does your function find it?",
    target="placed",
)
def behind_all(lives, sizes):
    offsets = {}
    for x in sorted(lives, key=lambda each: (lives[each][0], -sizes[each])):
        offsets[x] = max((offsets[y] + sizes[y] for y in offsets if meet(lives[x], lives[y])), default=0)
    return offsets


edit(
    "14.4", "the first gap is wide enough", "The gap has 64 bytes, and the array 128. Does it fit?",
    "if at + sizes[x] <= low:", "if at < low:", target="placed",
)  # fmt: skip
edit(
    "14.4", "buffers are placed in the order of the dictionary", "Which buffer is placed first: the "
    "first in the dictionary, or the one whose life begins first?",
    "sorted(lives, key=lambda each: (lives[each][0], -sizes[each]))", "lives", target="placed",
)  # fmt: skip


@mutant(
    "14.4",
    "the last use in the text is the last",
    "A loop reads the array in its first step. Who reads it in the second turn?",
    target="whole_regions",
)
def as_it_stands(first, last, regions):
    return first, last


@mutant(
    "14.4",
    "a loop keeps everything",
    "A loop makes an array in each turn, and reads it in the same turn. When may its bytes be used again?",
    target="whole_regions",
)
def all_of_the_loop(first, last, regions):
    return first, max([last, *(end for begin, end in regions if begin <= last <= end)])


@mutant(
    "14.4",
    "a life is extended only to the end of the innermost loop",
    "The loop stands in another loop, which began before it. What happens in the next turn of the outer loop?",
    target="whole_regions",
)
def the_innermost(first, last, regions):
    found = [(end - begin, end) for begin, end in regions if first < begin <= last <= end]
    return first, min(found)[1] if found else last


@also_right("14.4", "with gaps and with a loop", target="placed")
def by_gaps(lives, sizes):
    offsets = {}
    for x in sorted(lives, key=lambda each: (lives[each][0], -sizes[each])):
        taken = sorted((offsets[y], offsets[y] + sizes[y]) for y in offsets if meet(lives[y], lives[x]))
        starts = sorted({0, *(high for _, high in taken)})
        offsets[x] = next(s for s in starts if all(s + sizes[x] <= low or high <= s for low, high in taken))
    return offsets


@also_right("14.4", "with gaps and with a loop", target="whole_regions")
def one_by_one(first, last, regions):
    for begin, end in sorted(regions, key=lambda each: each[1] - each[0]):
        if first < begin <= last < end:
            last = end
    return first, last


@also_right("14.4", "by trying", target="placed")
def by_trying(lives, sizes):
    order = sorted(sorted(lives, key=lambda each: -sizes[each]), key=lambda each: lives[each][0])
    offsets = {}
    for x in order:
        others = [y for y in offsets if lives[y][0] <= lives[x][1] and lives[x][0] <= lives[y][1]]
        at = 0
        while clash := [y for y in others if offsets[y] < at + sizes[x] and at < offsets[y] + sizes[y]]:
            at = min(offsets[y] + sizes[y] for y in clash)
        offsets[x] = at
    return offsets


@also_right("14.4", "by trying", target="whole_regions")
def the_outermost(first, last, regions):
    ends = [end for begin, end in regions if begin > first and begin <= last <= end]
    return first, max(ends) if ends else last


# --- what learners wrote who believed something else --------------------------------------------------------------


@also_right("14.1", "a product has no parentheses", target="slice_index")
def product_as_it_is(op, index):
    starts = op.params["start_indices"]
    strides = op.params["strides"] or (1,) * len(starts)
    found = []
    for i, start, stride in zip(index, starts, strides, strict=True):
        text = i if stride == 1 else f"{i}*{stride}"
        found.append(text if start == 0 else f"({text} + {start})")
    return tuple(found)


edit(
    "14.4",
    "a life that ends where another one begins does not meet it",
    "One step reads a and writes b. Can they have the same bytes?",
    "meet(lives[y], lives[x])",
    "lives[y][0] < lives[x][1] and lives[x][0] < lives[y][1]",
    target="placed",
)


edit(
    "14.4",
    "of buffers that begin together, the smallest is placed first",
    "Two lives begin at the same step. Which one is placed first?",
    "-sizes[each]",
    "sizes[each]",
    target="placed",
)


edit(
    "14.1",
    "an axis of size 1 in the result is broadcast",
    "An operand's axis of size 1 may be of size 1 in the result, too, and the result may have new axes of size 1. "
    "Which sizes have to be compared?",
    'index[axis] if size == shape[axis] else "0"',
    'index[axis] if shape[axis] != 1 else "0"',
    target="broadcast_index",
)


edit(
    "14.1",
    "the axes of a broadcast are the last ones",
    "`broadcast_dimensions=(0,)` of a vector in a matrix: which index does it read?",
    "index[axis] if size",
    "index[axis - len(op.ins[0].shape)] if size",
    target="broadcast_index",
)


edit(
    "14.1",
    "the start of a slice is multiplied, too",
    "Element 2 of `x[3::5]`: is it x[3 + 2 * 5] or x[(3 + 2) * 5]?",
    '    steps = (i if s == 1 or i == "0" else f"({i}*{s})" for i, s in zip(index, strides, strict=True))\n'
    "    return tuple(plus(i, start) for i, start in zip(steps, starts, strict=True))",
    "    sums = (plus(i, start) for i, start in zip(index, starts, strict=True))\n"
    '    return tuple(i if s == 1 else f"({i}*{s})" for i, s in zip(sums, strides, strict=True))',
    target="slice_index",
)


edit(
    "14.3",
    "an accumulator always has the same type",
    "A sum of int8 in an int32 variable: with which type is `{t}` filled?",
    "COMBINE[kind].format(accumulator, name, t=ctype)",
    "COMBINE[kind].format(accumulator, name, t='float')",
    target="Nest.fold",
)


edit(
    "14.3",
    "every reduction is one loop over all elements",
    "A sum over the last axis has a result for each row. Is it one loop over all elements?",
    "flat=is_all)",
    "flat=True)",
    target="fold_in_register",
)


edit(
    "14.3",
    "the note needs only the operation's name",
    "Which line of Python does the note name?",
    'nest.sources[f"{op.name}  {op.line}"] = None',
    "nest.sources[op.name] = None",
    target="fold_in_register",
)


edit(
    "14.4",
    "offsets must be multiples of 64",
    "Does the docstring ask for multiples of 64? Can 12 be an offset?",
    "            at = max(at, high)\n",
    "            at = max(at, -(-high // 64) * 64)\n",
    target="placed",
)


edit(
    "14.4",
    "the tightest gap should be used",
    "Two gaps are wide enough. Which one does the docstring choose?",
    "        at = 0\n        for low, high in sorted((offsets[y], offsets[y] + sizes[y]) for y in offsets if "
    "meet(lives[y], lives[x])):\n            if at + sizes[x] <= low:\n                break\n"
    "            at = max(at, high)\n",
    "        at, gaps = 0, []\n"
    "        for low, high in sorted((offsets[y], offsets[y] + sizes[y]) for y in offsets if meet(lives[y], "
    "lives[x])):\n            if at + sizes[x] <= low:\n                gaps.append((low - at, at))\n"
    "            at = max(at, high)\n        at = min(gaps)[1] if gaps else at\n",
    target="placed",
)


edit(
    "14.4",
    "every life begins where the loop begins",
    "A buffer is written within a loop, at step 5. Does its life begin there, or where the loop begins?",
    "    return first, max(",
    "    return next((begin for begin, end in regions if begin <= first <= end), first), max(",
    target="whole_regions",
)


@mutant("14.2", "the first index alone says which row it is", "A nest has three axes. Which of them are outer loops?")
def believes_the_first_entry_of_an_index_says_which_row(self, place, index):
    if place.buffer not in self.written:
        return None
    when, where, name, is_after = self.written[place.buffer]
    if place.base or when < 0:
        raise Conflict
    now = len(self.inner) - 1
    if index == where and (when < now if is_after else when == now):
        return name
    if when < now:
        if self.flat or len(self.shape) == 1:
            return None
        if len(index) == len(where) == len(self.shape) and index[:1] == where[:1]:
            return None
    raise Conflict


@mutant(
    "14.3", "every accumulator is a float", "Which type stands for `{t}` if the elements are ints?", target="Nest.fold"
)
def believes_every_number_is_a_float(self, kind, dtype, ctype, name, note):
    self.counted += 1
    acc = f"a{self.counted}"
    loop = self.loop
    loop.before.append(f"{ctype} {acc} = {neutral(kind, dtype)};")
    loop.body.append(f"{acc} = {COMBINE[kind].format(acc, name, t='f32')};  // {note}")
    loop.folds.append((kind, acc, ctype))
    return acc


@mutant(
    "14.3",
    "the loop of a reduction does nothing else",
    "How many operations does the nest have, if the operand is computed in it, too?",
    target="fold_in_register",
)
def believes_a_reduction_is_all_that_its_loop_does(writer, op, place):
    x = op.ins[0]
    everything = len(op.params["axes"]) == len(x.shape)
    note = f"{op.name}  {op.line}"

    def body(nest, index):
        if everything and (not nest.flat):
            raise Conflict
        name = writer.emit(nest, x, index)
        acc = nest.fold(op.name.removeprefix("reduce_"), x.aval.dtype, c_type(x.aval), name, note)
        nest.store(place, () if everything else index[:-1], acc, after=True)
        nest.flops = 1
        nest.sources[note] = None

    writer.nest(x.shape, body, flat=everything)


@mutant(
    "14.4",
    "a free place begins where the last neighbour ends",
    "Of two neighbours, one lies from 0 to 100, the other from 10 to 20 (they never meet). Where does free room begin?",
    target="placed",
)
def believes_a_place_is_behind_the_last_neighbour(lives, sizes):
    offsets = {}
    for b in sorted(lives, key=lambda b: (lives[b][0], -sizes[b])):
        at = 0
        others = [o for o in offsets if meet(lives[o], lives[b])]
        for o in sorted(others, key=lambda o: offsets[o]):
            if at + sizes[b] <= offsets[o]:
                break
            at = offsets[o] + sizes[o]
        offsets[b] = at
    return offsets


@mutant(
    "14.4",
    "a buffer without bytes needs no place",
    "For which buffers does the caller want an offset?",
    target="placed",
)
def believes_what_has_no_bytes_has_no_place(lives, sizes):
    offsets = {}
    for b in sorted(lives, key=lambda b: (lives[b][0], -sizes[b])):
        if not sizes[b]:
            continue
        at = 0
        others = [o for o in offsets if meet(lives[o], lives[b])]
        for o in sorted(others, key=lambda o: offsets[o]):
            if at + sizes[b] <= offsets[o]:
                break
            at = max(at, offsets[o] + sizes[o])
        offsets[b] = at
    return offsets
