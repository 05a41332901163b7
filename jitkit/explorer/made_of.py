"""equations that are gone + links -> the instructions that contain them, under another name or without one

When XLA merges instructions, it keeps one name; when it recognises a group of them as a whole, it keeps none. The
operands and the readers of such an instruction say what it contains:

- *a kernel of the compiler's own* is a custom call without a name, such as libtpu's `online-softmax`. It contains the
  equations between the values that it reads and the equations that read it.
- *a product of several*: XLA merges products that have an operand in common into one product, with their other operands
  side by side. It has the name of the first product.
- *an operand of several*: operations that broadcast the same value to the same shape read one broadcast. It has the name
  of one of them; it belongs to each of them. Or XLA does the operation first, and broadcasts its result.

Equations are given by number. `gone` has those of which no instruction has the name, `named` maps an equation to the
instructions with its name, and an equation's `readers` are the equations that read its result.

JAX: jax/_src/lax/lax.py:dot_general_p
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from .costs import bytes_of, elements_of
from .equation import Equation
from .flow import Key
from .links import Links
from .reads import given, source_of

_PRODUCTS = frozenset({"dot", "convolution", "custom-call"})
# types of HLO, as numpy names them
NUMPY_S = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
# kinds of numpy's dtypes -> how the names of HLO's types begin; `V` is bfloat16
_KINDS = {"b": "p", "i": "s", "u": "u", "f": "f", "V": "b", "c": "c"}
_DIMENSIONS = re.compile(r"\bdimensions=\{[\d,]*\}")


def own_kernels(
    equations: Sequence[Equation], gone: Collection[int], links: Links, arranges: Callable[[int], bool]
) -> dict[Key, list[int]]:
    """Return the equations in each custom call without a name: those between its operands and its readers, and readers
    without an instruction of their own, unless they only arrange elements (`arranges(number)`). `gone` has the equations
    without an instruction. A call is left out if it has no equations, or if its readers depend on a value that it does
    not read.
    """
    found: dict[Key, list[int]] = {}
    for at, instruction in links.data.at.items():
        if instruction.opcode != "custom-call" or links.called[at]:
            continue
        inputs = origins_of(at, links)
        readers = links.readers(at) or []
        last = {number for number in readers if number in gone and not arranges(number)}
        inner = between(equations, gone, inputs, readers) | last if inputs else set()
        if inputs and not inner:  # look again for equations that other kernels compute, too, as in a gradient
            inner = between(equations, gone, inputs, readers, alone=False)
            lost = {n for n in inner & {*gone} if not arranges(n) and equations[n].unchanged is None}
            inner = inner if lost and not equations[max(lost)].same_as else set()
        if not all(origins & (inputs | inner) for n in last for origins in equations[n].operands if origins):
            inner = set()
        if inner:
            found[at] = sorted(inner)
    return found


def origins_of(at: Key, links: Links) -> set[int]:
    """Return the equations whose values an instruction reads; `~i` stands for the i-th argument."""
    found: set[int] = set()
    for operand in links.data.operands[at]:
        for each in links.data.above(operand):
            argument = links.data.argument(each)
            found.update([] if argument is None else [~argument])
            found.update(links.own.get(each, ()))
    return found


def between(
    equations: Sequence[Equation], gone: Collection[int], inputs: set[int], sinks: Sequence[int], alone: bool = True
) -> set[int]:
    """Return the equations on all paths from `inputs` to `sinks`, without these two. Only those paths count whose last equation, which a
    sink reads, is in `gone`. Return set() if a path comes from an argument that is not in `inputs`, or, with `alone`, from
    an equation that is neither in `inputs` nor in `gone`, and so has an instruction of its own.
    """
    # loop -> the equations in it that make its results: if only one turn is left, the loop has no instruction of its own
    results: dict[int, list[int]] = {}
    for number, each in enumerate(equations):
        if each.parent is not None and each.is_result:
            results.setdefault(each.parent, []).append(number)

    def read_by(number: int) -> set[int]:
        reads = zip(equations[number].eqn.invars, equations[number].operands, strict=True)
        pairs = {(each, _type(atom)) for atom, origins in reads for each in origins}
        return {inner for each, type_ in pairs for inner in ([each] if each in inputs else made_in(each, *type_))}

    def made_in(number: int, shape: tuple[int, ...], dtype: str) -> list[int]:
        """Return the equations that make a loop's results of this type in a turn; the equation itself if it is not a loop."""
        stacked = {shape[1:]} if equations[number].primitive == "scan" else set()
        types = {(each, dtype) for each in {shape, *stacked}}
        return [n for n in results.get(number, ()) if types & {*map(_type, equations[n].eqn.outvars)}] or [number]

    found: set[int] = set()
    waiting = [origin for sink in sinks for origin in read_by(sink) if origin in gone]
    while waiting:
        number = waiting.pop()
        if number in found:
            continue
        found.add(number)
        for origin in read_by(number) - inputs:
            if origin < 0 or (alone and origin not in gone):
                return set()
            waiting.append(origin)
    return found


def products(
    equations: Sequence[Equation],
    is_product: Callable[[int], bool],
    named: Mapping[int, Sequence[Key]],
    links: Links,
    through: Callable[[Collection[int]], Collection[int]],
) -> dict[Key, list[int]]:
    """Return the equations in each product that contains others than its name says: an equation without a product of its
    own is in the one that reads its operands. `named` maps equations to the instructions with their name;
    `through(origins)` adds to equations those that compute the same, and what those without an instruction read.
    """
    found: dict[Key, list[int]] = {}
    opcodes = {at: each.opcode for at, each in links.data.at.items() if each.opcode in _PRODUCTS}
    lost = [n for n, _ in enumerate(equations) if is_product(n) and not any(at in opcodes for at in named.get(n, ()))]
    for at in opcodes if lost else ():
        called = links.called[at]
        reads = [_gathered(operand, links) for operand in links.data.operands[at]]
        for number in lost:
            asked = [set(through(origins)) for origins in equations[number].operands if origins]
            is_twin = not {*equations[number].same_as}.isdisjoint(called)  # whether both are the same product
            if (
                called
                and not is_twin
                and len(asked) == 2
                and all(any(origins & read for read in reads) for origins in asked)
            ):
                found.setdefault(at, [n for n in called if is_product(n)]).append(number)
    for at in [*found]:  # XLA may split a product along the contracted axis, and add up the parts
        for reader in links.data.read_by(links.data.beyond(at)) or ():
            for each in (reader, *(links.data.read_by(reader) or ())):
                numbers = links.called[each]
                reduces = any(equations[number].primitive.startswith("reduce_") for number in numbers)
                if links.data.at[each].opcode == "reduce" and not reduces:
                    found[each] = found[at]
    return found


def _gathered(at: Key, links: Links) -> set[int]:
    """Return the equations and arguments whose values an operand contains, alone or concatenated."""
    found: set[int] = set()
    waiting, seen = [at], set()
    while waiting:
        for each in links.data.above(waiting.pop()):
            argument = links.data.argument(each)
            found.update([] if argument is None else [~argument])
            own = links.called.get(each, [])
            found.update(own)
            if each not in seen and links.data.at[each].opcode == "concatenate":
                seen.add(each)
                waiting += links.data.operands[each]
    return found


def operands_of_several(
    equations: Sequence[Equation],
    wrote: Mapping[int, Collection[str]],
    gone: Collection[int],
    links: Links,
    has: Callable[[Sequence[Key], frozenset[int]], bool],
) -> dict[Key, list[int]]:
    """Return, for each broadcast with more readers than its name says, the equations that wrote it.

    `wrote` has the operations that each equation wrote into StableHLO; `has(operands, origins)` says whether one of the
    operands is a value that these equations made. XLA copies a broadcast into each fusion that reads it: the copies count
    as one.
    """
    data = links.data
    copies: dict[tuple[object, ...], list[Key]] = {}
    for at, instruction in data.at.items():
        if instruction.opcode == "broadcast" and links.called[at]:
            [operand] = data.operands[at]
            source = [(data.argument(each), *links.called[each]) for each in data.above(operand)]
            shape = instruction.type, data.at[operand].type, tuple(_DIMENSIONS.findall(instruction.rest))
            copies.setdefault((*links.called[at], *shape, *source[-1:]), []).append(at)

    sources = given(equations)

    def wrote_it(number: int, at: Key) -> bool:
        """Return whether an equation wrote a broadcast of the same value to as many elements."""
        [operand], eqn, named = data.operands[at], equations[number].eqn, equations[links.called[at][0]].eqn
        size, spread = elements_of(data.at[operand].type), elements_of(data.at[at].type)
        if "broadcast" not in wrote.get(number, ()) or all(_size(var) != spread for var in eqn.outvars):
            return False
        return any(
            any(_is_same(atom, each, sources) for each in named.invars) or (origins and has([operand], origins))
            for atom, origins in zip(eqn.invars, equations[number].operands, strict=True)
            if _size(atom) == size
        )

    def behind(at: Key) -> list[int]:
        """Return the equations that read a broadcast, and all gone equations on whose results these depend."""
        waiting, seen = [*(links.readers(at) or ())], dict[int, bool]()
        while waiting:
            number = waiting.pop(0)
            if number not in seen:
                seen[number] = True
                waiting += [each for origins in equations[number].operands for each in origins if each in gone]
        return list(seen)

    found: dict[Key, list[int]] = {}
    for alike in copies.values():
        numbers, read = links.called[alike[0]], {at: behind(at) for at in alike}
        seen = dict.fromkeys(each for at in alike for each in read[at])
        makers = [*numbers, *(each for each in seen if each not in numbers and wrote_it(each, alike[0]))]
        for at in alike:
            if _constant(at, links) is not None:  # each copy of a number belongs to its own readers
                read_it = [each for each in links.readers(at) or () if _has_number(each, numbers, equations, gone)]
                own = [each for each in read[at] if each in makers or each in read_it]
                found.update({at: own} if own and own != numbers else {})
            elif len(makers) > len(numbers):
                found[at] = makers
    return found


def _has_number(number: int, others: Collection[int], equations: Sequence[Equation], gone: Collection[int]) -> bool:
    """Return whether an equation has a number among its operands, and otherwise reads nothing that `others` may have made."""
    waiting, seen = [number], set[int]()
    while waiting:
        made = {each for origins in equations[waiting.pop()].operands for each in origins} - seen
        seen |= made
        waiting += [each for each in made if each in gone]
    return not seen.intersection(others) and any(hasattr(atom, "val") for atom in equations[number].eqn.invars)


def _is_same(atom: Any, other: Any, sources: Mapping[int, Any]) -> bool:
    """Return whether two operands are the same: the same variable, perhaps given to a branch or a loop, or the same number."""
    one, two = (source_of(each, sources) for each in (atom, other))
    if one is two:
        return True
    if not hasattr(one, "val") or not hasattr(two, "val"):
        return False
    return str(one.aval) == str(two.aval) and bool(one.val == two.val)


def fills(
    number: int, equations: Sequence[Equation], consumers: Collection[int], rows: Collection[Key], links: Links
) -> list[Key]:
    """Return those of the instructions `rows` that make the value of the constant equation `number` when the program runs:
    broadcasts of its one number, named after it or its `consumers`. XLA has not folded such a value into a constant.
    """
    equation, data = equations[number], links.data
    size = sum(_size(var) * getattr(getattr(var.aval, "dtype", None), "itemsize", 0) for var in equation.eqn.outvars)
    kinds = {_KINDS.get(getattr(getattr(var.aval, "dtype", None), "kind", "")) for var in equation.eqn.outvars}
    if not isinstance(equation.fill, int | float):
        return []
    return [
        at
        for at in rows
        if data.at[at].opcode == "broadcast"
        and bytes_of(data.at[at].type) == size
        and data.at[at].type[:1] in kinds
        and elements_of(data.at[at].type) == equation.size
        and links.exact[at]
        and {*links.exact[at]} <= {number, *consumers}
        and _constant(at, links) is not None
        and math.isclose(_constant(at, links) or 0.0, equation.fill, rel_tol=1e-6)
    ]


def _constant(at: Key, links: Links) -> float | None:
    """Return the number that a broadcast spreads, if it is written in the program, else None."""
    source = links.data.source(links.data.operands[at][0])
    if source is None or links.data.at[source].opcode != "constant":
        return None
    text = links.data.at[source].rest.partition(")")[0]
    try:
        return float({"true": "1", "false": "0"}.get(text, text))
    except ValueError:
        return None


def clamps(
    number: int,
    equations: Sequence[Equation],
    readers: Sequence[int],
    named: Mapping[int, Sequence[Key]],
    links: Links,
    has: Callable[[Sequence[Key], frozenset[int]], bool],
) -> Iterator[tuple[int, Key]]:
    """If the equation `number` is a maximum or a minimum that became a clamp together with one of its `readers`, yield
    this reader and the clamp. `has(operands, origins)` says whether one of the instructions `operands` is a value that
    these equations made.
    """
    other = {"max": "min", "min": "max"}.get(equations[number].primitive)
    # a bound that depends on no argument has no origin to look for
    asked = [o for o in equations[number].operands if any(n < 0 or not equations[n].constant for n in o)]
    for reader in readers:
        for at in named.get(reader, ()) if equations[reader].primitive == other else ():
            if links.data.at[at].opcode == "clamp" and all(has(links.data.operands[at], o) for o in asked):
                yield reader, at


def made_for_a_reader(
    equations: Sequence[Equation], wrote: Mapping[int, Collection[str]], links: Links
) -> dict[Key, list[int]]:
    """Return the conversions that XLA has put in front of a reader, such as a product of small floats, mapped to their
    only reader. Each has the name of the equation whose value it converts, but that equation did not write it.
    """
    found: dict[Key, list[int]] = {}
    for at, instruction in links.data.at.items():
        numbers = links.exact[at]
        if instruction.opcode != "convert" or len(numbers) != 1 or "convert" in wrote.get(numbers[0], ()):
            continue
        kinds = {str(getattr(var.aval, "dtype", "")) for var in equations[numbers[0]].eqn.outvars}
        makers = {number for each in links.data.above(links.data.operands[at][0]) for number in links.exact[each]}
        readers = links.readers(at) or []
        is_own = NUMPY_S.get(instruction.type.partition("[")[0], "") in {"", *kinds}
        if numbers[0] in makers and not is_own and len(readers) == 1 and readers != numbers:
            found[at] = readers
    return found


def given_by_a_loop(
    number: int, equations: Sequence[Equation], readers: Sequence[int], named: Mapping[int, Sequence[Key]], links: Links
) -> Iterator[Key]:
    """Yield the instructions that directly read a value that a loop gives to its body, although equation `number`, which
    is gone, rearranged it. Such an instruction belongs to a reader of the equation, reads a value of the loop with as
    many elements, and has no other operand that can be this value.
    """
    this, data = equations[number], links.data
    if this.parent is None or equations[this.parent].primitive not in ("scan", "while") or any(this.operands):
        return
    size = _size(this.eqn.invars[0])
    for reader in readers:
        atoms = zip(equations[reader].eqn.invars, equations[reader].operands, strict=True)
        can_be = [made for atom, made in atoms if not (made or hasattr(atom, "val")) and _size(atom) == size]
        unknown = [*can_be, *(made for made in equations[reader].operands if number in made)]
        for at in named.get(reader, ()) if len(unknown) == 1 else ():
            for operand in data.operands[at]:
                source = data.source(operand)
                if source is None:
                    continue
                is_given = set(links.own.get(source, ())) <= {this.parent} and data.at[source].opcode != "constant"
                if is_given and elements_of(data.at[operand].type) == size:
                    yield at


def reads_a_constant(
    number: int, equations: Sequence[Equation], readers: Sequence[int], named: Mapping[int, Sequence[Key]], links: Links
) -> Iterator[tuple[Key, bool, bool]]:
    """Yield the instructions of the equation's readers that read a constant with as many elements: `(instruction, whether it has the
    shape of the equation's result, whether it has that of its operand)`. The operand must be a value that no equation makes, and that is
    not an argument.
    """
    this, data = equations[number], links.data
    if len(this.eqn.invars) != 1 or any(this.operands) or hasattr(this.eqn.invars[0], "val"):
        return
    shapes = [f"[{','.join(map(str, var.aval.shape))}]" for var in (this.eqn.outvars[0], this.eqn.invars[0])]

    def is_computed(origins: Collection[int]) -> bool:
        return any(n < 0 or any(data.at[at].opcode != "constant" for at in named.get(n, ())) for n in origins)

    for reader in readers:
        pairs = zip(equations[reader].eqn.invars, equations[reader].operands, strict=True)
        others = [is_computed(made) or _size(atom) != this.size for atom, made in pairs if number not in made]
        for at in named.get(reader, ()) if all(others) else ():
            for operand in data.operands[at]:
                source = data.source(operand)
                if source and data.at[source].opcode == "constant" and elements_of(data.at[source].type) == this.size:
                    is_result, is_operand = (shape in data.at[source].type for shape in shapes)
                    yield at, is_result, is_operand


def counted(
    number: int, readers: Sequence[int], named: Mapping[int, Sequence[Key]], links: Links
) -> tuple[bool, Key | None]:
    """Return `(whether the iota has the equation's name, iota)` for the `iota` that computes a constant equation when the
    program runs: one with the equation's name, or else with a reader's name. Return `(False, None)` if there is none.
    """

    def iotas(numbers: Sequence[int]) -> list[Key]:
        return [at for each in numbers for at in named.get(each, ()) if links.data.at[at].opcode == "iota"]

    own = iotas([number])
    return bool(own), next(iter([*own, *iotas(readers)]), None)


def _type(atom: Any) -> tuple[tuple[int, ...], str]:
    return tuple(getattr(atom.aval, "shape", ())), str(getattr(atom.aval, "dtype", ""))


def _size(atom: Any) -> int:
    return getattr(atom.aval, "size", 0)
