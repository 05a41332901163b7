"""optimised HLO + its kernels -> for each kernel that reads another kernel's result, why the two are not one

XLA's decisions leave no trace in the program. But some pairs of kernels show why they cannot be one, or what one would
cost:

- *loop*, *branch*: one of them is a `while` or a `conditional`, which is not a kernel itself, but runs others.
- *routine*, *library*: one of them is code that XLA only calls.
- *whole*: one of them has no result, or cannot begin, before all of an array is there: a sort, a scatter.
- *product*: a product reads each element of its operand several times. XLA for CPUs puts no operation after a product,
  and none before a product unless its result is a vector. For GPUs and TPUs XLA puts some operations before and after a
  product, so there this may be the reason.
- *parts*: a product was cut along the axis that it sums over, and the second kernel adds the parts.
- *spread*: the second kernel broadcasts the result of the first. One kernel would compute each element several times.
- *several readers*: each kernel that reads the first one's result would compute it. This is a reason on CPUs only,
  where each kernel has one result.
- *scalar*: one of them computes a single number, which a TPU does in its scalar unit.
- *generator*: on a GPU, Triton compiles one of them, and XLA's own code generator the other.

*Spread* and *several readers* are only given if the first kernel computes something expensive: XLA computes cheap
operations several times. For all other pairs the reason is XLA's own choice.

JAX: jax/_src/stages.py:Compiled.as_text
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..targets.hlo import Instruction, called
from . import by_line
from .costs import elements_of
from .flow import Key
from .hlo import Fused

_NOT_BY_ELEMENT = frozenset({
    "reduce", "reduce-window", "dot", "convolution", "sort", "scatter", "gather", "concatenate", "pad", "slice", "dynamic-slice",
    "dynamic-update-slice", "custom-call", "constant", "iota", "while", "conditional", "rng-bit-generator", "map", "fft",
})  # fmt: skip
_MOVES = frozenset({"bitcast", "copy", "copy-done", "copy-start", "async-done", "opt-barrier", "reshape"})
_WALKED = frozenset({"call", "async-start"})
_RUN_OTHERS = {"while": ("loop", "a loop"), "conditional": ("branch", "a branch")}
_PRODUCTS = frozenset({"dot", "convolution"})
_WHOLE = {
    "sort": "a sort", "fft": "a Fourier transform", "cholesky": "a Cholesky factorisation", "scatter": "a scatter",
    "triangular-solve": "a triangular solve", "all-reduce": "a sum over devices", "all-gather": "a gathering of all devices",
}  # fmt: skip
# expensive operations: XLA does not compute them twice to save a kernel
_DEAR = frozenset({
    "exponential", "exponential-minus-one", "log", "log-plus-one", "power", "sine", "cosine", "tan", "tanh", "atan2", "sqrt", "rsqrt",
    "cbrt", "erf", "logistic", "divide", "remainder", "reduce", "reduce-window", "dot", "convolution", "sort", "scatter",
    "map", "rng-bit-generator",
})  # fmt: skip
# instructions into which XLA for CPUs puts no other operation
_ALONE = {"scatter": "a scatter", "reduce-window": "an operation on windows", "select-and-scatter": "a scatter"}
_LIBRARIES = {"__ynn_fusion": "YNNPACK", "__onednn_fusion": "oneDNN", "__cudnn$fusion": "cuDNN"}
_LIBRARY = re.compile(r'"kind":"(__[\w$]+)"')
_ROUTINE = re.compile(r'custom_call_target="([^"]*)"')
_KIND = re.compile(r"\bkind=k(\w+)")
_INDEX = re.compile(r"\bindex=(\d+)")
_TRITON = '"kind":"__triton'  # what the configuration of a fusion says if Triton compiles it
_SCALAR_MEMORY = "S(6)"  # what the type of a number says if it is in the memory of a TPU's scalar unit
_RANK_1 = re.compile(r"\w+\[\d*\]")


class Reason(NamedTuple):
    """Why two kernels are not one: a word for the kind (empty if it is XLA's choice), a sentence, and whether the
    reason is certain.
    """

    rule: str
    why: str
    sure: bool = True


def apart(left: Fused, platform: str) -> list[dict[str, Any]]:
    """Return `{"first", "second", "rule", "why", "sure"}` for each pair of kernels in which the second reads the first
    one's result. Kernels are given by their rows.
    """
    finder = _Neighbours(left, platform)
    return [
        {
            "first": left.rows[first],
            "second": left.rows[second],
            "rule": reason.rule,
            "why": reason.why,
            "sure": bool(reason.rule) and reason.sure,
        }
        for first, second, reason in finder.found()
    ]


class _Neighbours:
    """Finds pairs of kernels in which the second reads the first one's result."""

    def __init__(self, left: Fused, platform: str) -> None:
        program = left.program
        self._left, self._program, self._data, self._platform = left, program, left.links.data, platform
        kernels = [(name, each.name) for name, each, _ in by_line.launched(program) if not by_line.is_copy(each)]
        runs = [at for at, each in self._data.at.items() if each.opcode in _RUN_OTHERS]
        self._kernels = dict.fromkeys(at for at in (*kernels, *runs) if self._data.at[at].opcode != "copy")
        self._roots = {
            name: (name, each.name) for name, body in program.computations.items() for each in body if each.is_root
        }
        self._pairs = list(dict.fromkeys(self._neighbours()))
        self._readers: dict[Key, set[Key]] = {}
        for first, second in self._pairs:
            self._readers.setdefault(first, set()).add(second)

    def found(self) -> Iterator[tuple[Key, Key, Reason]]:
        """Yield `(first kernel, second kernel, reason)` for each pair, in the order of the second kernels."""
        for first, second in self._pairs:
            yield first, second, self._reason(first, second)

    def _neighbours(self) -> Iterator[tuple[Key, Key]]:
        for second in self._kernels:
            for operand in self._data.operands[second]:
                yield from ((first, second) for first in self._makers(operand) if first in self._kernels)

    def _makers(self, at: Key) -> Iterator[Key]:
        """Yield the kernels that write a value; for a tuple, the kernels that write its elements."""
        element: int | None = None
        while at in self._data.at:
            instruction, operands = self._data.at[at], self._data.operands[at]
            if instruction.opcode == "tuple":
                if element is None or element >= len(operands):
                    for each in operands:
                        yield from self._makers(each)
                    return
                at, element = operands[element], None
            elif instruction.opcode in _MOVES:
                at = operands[0]
            elif instruction.opcode == "get-tuple-element":
                index = _INDEX.search(instruction.rest)
                at, element = operands[0], int(index[1]) if index else None
            elif instruction.opcode in _WALKED and called(instruction):
                at = self._roots.get(called(instruction)[0], ("", ""))
            elif instruction.opcode == "parameter" and at[0] != self._program.entry:
                callers = self._data.callers.get(at[0], [])
                number = int(instruction.rest.partition(")")[0])
                if len(callers) != 1 or self._data.at[callers[0]].opcode not in _WALKED:
                    return
                at = self._data.operands[callers[0]][number]
            else:
                yield at
                return

    def _operand(self, first: Key, second: Key) -> Key:
        """Return the operand of the kernel `second` that the kernel `first` has written."""
        return next(each for each in self._data.operands[second] if first in self._makers(each))

    def _body(self, at: Key) -> list[Instruction]:
        """Return the instructions of a kernel."""
        instruction = self._data.at[at]
        if instruction.opcode != "fusion":
            return [instruction]
        return [each for name in called(instruction) for each in self._program.computations.get(name, ())]

    def _reason(self, first: Key, second: Key) -> Reason:
        rules = (self._by_what_they_are, self._by_products, self._by_what_it_would_cost, self._by_its_unit)
        found = (rule(first, second) for rule in rules)
        return next(filter(None, found), Reason("", "XLA's own choice: the program does not show why"))

    # --- what they are ---

    def _by_what_they_are(self, first: Key, second: Key) -> Reason | None:
        opcodes = [self._data.at[at].opcode for at in (first, second)]
        for at, opcode in zip((first, second), opcodes, strict=True):
            if opcode in _RUN_OTHERS:
                rule, words = _RUN_OTHERS[opcode]
                when = (
                    "its results are there when it has ended"
                    if at == first
                    else "it begins when its operands are there"
                )
                return Reason(rule, f"{at[1]} is {words}, which runs kernels of its own; {when}")
        for at, opcode in zip((first, second), opcodes, strict=True):
            if opcode == "custom-call":
                target = _ROUTINE.search(self._data.at[at].rest)
                return Reason(
                    "routine",
                    f"{at[1]} calls {target[1] if target else 'a routine'}, a routine whose code XLA does not write",
                )
        libraries = [self._library(at) for at in (first, second)]
        if libraries[0] != libraries[1]:
            at, name = next((at, name) for at, name in zip((first, second), libraries, strict=True) if name)
            other = second if at == first else first
            return Reason("library", f"{at[1]} is run by {name}, a library, and {other[1]} is not")
        for at in (first, second):
            for each in self._body(at):
                if each.opcode not in _WHOLE or (at == first and not self._is_result(at, each)):
                    continue
                if at == first:
                    return Reason("whole", f"{at[1]} is {_WHOLE[each.opcode]}, which has no result before its end")
                if each.opcode != "scatter":
                    return Reason(
                        "whole", f"{at[1]} is {_WHOLE[each.opcode]}, which needs its whole operand before it begins"
                    )
                if self._reads(second, each, first):
                    return Reason("whole", f"{at[1]} is a scatter, which changes the array of {first[1]} where it is")
        alone = [_ALONE[each.opcode] for each in self._body(second) if each.opcode in _ALONE]
        if alone and self._platform == "cpu":
            return Reason("whole", f"{second[1]} is {alone[0]}, into which XLA for CPUs puts no other operation")
        return None

    def _is_result(self, at: Key, each: Instruction) -> bool:
        return each.is_root or self._data.at[at].opcode != "fusion"

    def _reads(self, second: Key, each: Instruction, first: Key) -> bool:
        """Return whether the first operand of `each`, an instruction in the kernel `second`, is the result of the kernel `first`."""
        if self._data.at[second].opcode != "fusion":
            return first in self._makers(self._data.operands[second][0])
        at = self._data.operands[called(self._data.at[second])[0], each.name][0]
        return self._is_read(second, at, first)

    def _is_read(self, second: Key, at: Key, first: Key) -> bool:
        """Return whether the value `at` in the fusion `second` is a parameter that holds the result of the kernel `first`."""
        while self._data.at[at].opcode in _MOVES:
            at = self._data.operands[at][0]
        if self._data.at[at].opcode != "parameter":
            return False
        number = int(self._data.at[at].rest.partition(")")[0])
        return first in self._makers(self._data.operands[second][number])

    def _library(self, at: Key) -> str:
        found = _LIBRARY.search(self._data.at[at].rest) if self._data.at[at].opcode == "fusion" else None
        return _LIBRARIES.get(found[1], "") if found else ""

    def _by_products(self, first: Key, second: Key) -> Reason | None:
        reader, maker = self._data.at[second], self._data.at[first]
        if reader.opcode in _PRODUCTS:
            read = elements_of(self._data.at[self._operand(first, second)].type)
            times = self._left.flops_at(second) // 2 // max(read, 1)
            if times > 1:
                return Reason(
                    "product", f"{second[1]} is a product, which reads each element of {first[1]} {times} times"
                )
        for at, each in ((first, maker), (second, reader)):
            # XLA for CPUs does put operations before a product that makes a vector
            is_vector = at == second and _RANK_1.match(each.type)
            if each.opcode in _PRODUCTS and self._platform == "cpu" and not is_vector:
                return Reason("product", f"{at[1]} is a product, into which XLA for CPUs puts no other operation")
        return None if self._platform == "cpu" else self._by_fused_products(first, second)

    def _by_fused_products(self, first: Key, second: Key) -> Reason | None:
        """Return the reason why two kernels on a GPU or TPU, one of which contains a product, are not one; None if
        there is none.
        """
        exact, made = self._left.links.exact, self._products_in(first)
        for at in self._inside(second):
            each = self._data.at[at]
            operands = self._data.operands[at]
            is_of_it = each.opcode == "reduce" and any(set(exact[at]) & set(exact[one]) for one in made)
            if is_of_it and self._derives(second, operands[0], first):
                return Reason("parts", f"{second[1]} adds the parts of the product {first[1]}, which XLA has cut")
            if each.opcode not in _PRODUCTS:
                continue
            for operand in operands:
                size = elements_of(self._data.at[operand].type) if operand in self._data.at else 0
                times = self._left.flops_at(at) // 2 // max(size, 1)
                if times > 1 and self._derives(second, operand, first):
                    words = f"the product {second[1]} reads each element of {first[1]} {times} times"
                    return Reason("product", f"it may be since {words}", sure=False)
        if made and not self._products_in(second):
            return Reason(
                "product", f"it may be since {first[1]} is a product: XLA puts few operations behind one", sure=False
            )
        return None

    def _inside(self, at: Key) -> list[Key]:
        """Return the instructions of a kernel, including those of the fusions in it."""
        if self._data.at[at].opcode != "fusion":
            return [at]
        bodies = [(name, each.name) for name in called(self._data.at[at]) for each in self._program.computations[name]]
        return [one for each in bodies for one in self._inside(each)]

    def _products_in(self, at: Key) -> list[Key]:
        return [each for each in self._inside(at) if self._data.at[each].opcode in _PRODUCTS]

    def _derives(self, second: Key, at: Key, first: Key) -> bool:
        """Return whether the value `at` in the kernel `second` is the result of the kernel `first`, or is computed from
        it element by element.
        """
        waiting, seen = [at], set[Key]()
        while waiting:
            each = waiting.pop()
            if each in seen or each not in self._data.at:
                continue
            seen.add(each)
            instruction = self._data.at[each]
            if each[0] == second[0]:
                if first in self._makers(each):
                    return True
            elif instruction.opcode == "parameter":
                caller = next(iter(self._data.callers.get(each[0], [])), None)
                number = int(instruction.rest.partition(")")[0])
                waiting += [self._data.operands[caller][number]] if caller else []
            elif instruction.opcode == "fusion":
                waiting += [self._roots[name] for name in called(instruction) if name in self._roots]
            elif instruction.opcode not in _NOT_BY_ELEMENT:
                waiting += self._data.operands[each]
        return False

    # --- what one kernel would cost ---

    def _by_what_it_would_cost(self, first: Key, second: Key) -> Reason | None:
        dear = next((each.opcode for each in self._body(first) if each.opcode in _DEAR), None)
        kind = _KIND.search(self._data.at[second].rest) if self._data.at[second].opcode == "fusion" else None
        if dear is None or self._platform == "tpu" or (kind and kind[1] not in ("Loop", "Input")):
            return None
        times = self._times(first, second)
        if times > 1:
            return Reason(
                "spread",
                f"{second[1]} reads each element of {first[1]} {times} times: in one kernel its {dear} would be computed as often",
            )
        readers = len(self._readers[first])
        if readers > 1 and self._platform == "cpu":
            return Reason(
                "several readers", f"{readers} kernels read {first[1]}: its {dear} would be computed in each of them"
            )
        if self._platform == "cpu" and self._is_returned(first):
            words = f"{first[1]} is a result, too, and is written in any case"
            return Reason("several readers", f"{words}: its {dear} would be computed once more")
        return None

    def _is_returned(self, at: Key) -> bool:
        """Return whether the result of a kernel is also a result of the program or of a loop's body."""
        root = self._roots[at[0]]
        returned = self._data.operands[root] if self._data.at[root].opcode == "tuple" else [root]
        return any(at in self._makers(each) for each in returned)

    def _by_its_unit(self, first: Key, second: Key) -> Reason | None:
        """Return a reason if a TPU computes one of the two in its scalar unit, or if on a GPU Triton compiles only one
        of them; else None.
        """
        by_triton = [at for at in (first, second) if _TRITON in self._data.at[at].rest]
        if len(by_triton) == 1:
            [at], other = by_triton, second if by_triton[0] == first else first
            words = f"it may be since {at[1]} is compiled by Triton, and {other[1]} is not"
            return Reason("generator", words, sure=False)
        single = [at for at in (first, second) if self._platform == "tpu" and self._is_scalar(at)]
        if not single:
            return None
        shows = any(_SCALAR_MEMORY in self._data.at[at].type for at in (first, second))
        words = f"{single[0][1]} computes a single number, which a TPU does in its scalar unit, apart from vectors"
        return Reason("scalar", words if shows else f"it may be since {words}", sure=shows)

    def _is_scalar(self, at: Key) -> bool:
        instruction = self._data.at[at]
        return "[]" in instruction.type and instruction.opcode not in _NOT_BY_ELEMENT | _WALKED | {"fusion"}

    def _times(self, first: Key, second: Key) -> int:
        """Return how often `second` reads each element of the result of `first`, if it broadcasts that result; otherwise 1."""
        reader = self._data.at[second]
        if reader.opcode == "broadcast":
            return elements_of(reader.type) // max(elements_of(self._data.at[self._data.operands[second][0]].type), 1)
        if reader.opcode != "fusion" or not called(reader):
            return 1
        inside, most = called(reader)[0], 1
        for each in self._program.computations.get(inside, ()):
            if each.opcode == "broadcast":
                [at] = self._data.operands[inside, each.name]
                if self._derives(second, at, first):  # perhaps after elementwise operations
                    size = elements_of(self._data.at[at].type)
                    most = max(most, elements_of(each.type) // max(size, 1))
        return most
