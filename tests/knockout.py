"""Checks the Explorer's links without reading names: knock an equation out, compile again, and see which instructions change.

Instructions of two programs are compared by what they compute: opcode, type, attributes, and the same for everything that they read, up
to the arguments. For an equation `e`, two other programs are compiled:

- *without its operands*: `e` reads new arguments instead. Instructions of `e`, and those after it, change; all others stay.
- *without its results*: equations that read `e` read new arguments instead, and the program also returns `e`. Instructions after `e`
  change; those of `e` stay.

So an instruction belongs to `e` if it changes in the first program and stays in the second. If it stays in the first, it has nothing to do
with `e`, whatever its name is. If it changes in both, it comes after `e`, or XLA has merged `e` with an equation that reads it.
The Explorer's reason for a removed equation is checked in the same way: the value that it names is put in the equation's place, and the
compiled program must stay the same.
"""

from __future__ import annotations

import functools
import itertools
import re

import jitkit
import jitkit.numpy as jnp
from jitkit.compiler import compiler
from jitkit.compiler.placement import default_placement
from jitkit.explorer import equations as numbering
from jitkit.explorer import fates, flow, hlo, ours, stablehlo
from jitkit.interpreters.mlir_main import lower_main
from jitkit.jaxpr import Jaxpr, Literal, Var
from jitkit.targets.hlo import Program, called

CALLS = {
    "jit": "jaxpr",
    "remat2": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}
PLUMBING = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "copy"})
RUNS = frozenset({"fusion", "call"})
RUNS_OTHERS = RUNS | {"while", "conditional", "async-start"}
MOVES = frozenset(
    {"copy", "bitcast", "transpose", "reshape", "convert", "broadcast", "get-tuple-element", "fusion", "parameter"}
)
OF_OTHERS = RUNS | {"while", "conditional"}  # their results are those of the instructions inside
COMMUTE = frozenset({"add", "multiply", "maximum", "minimum", "and", "or", "xor"})


def compiled(jaxpr):
    """Return the optimised HLO of a jaxpr on this CPU, and its StableHLO with locations."""
    module = lower_main("f", jaxpr, "cpu")
    options = (("xla_backend_optimization_level", 0),)  # an option of LLVM, which runs after the HLO that we read
    loaded = compiler.compile_module("f", module, default_placement().devices, options)
    return loaded.hlo_modules()[0].to_string(), module.text(debug_info=True)


# --- what an instruction computes -----------------------------------------------------------------------------

ATTRIBUTES = re.compile(
    r', (?:metadata|backend_config|frontend_attributes|origin)=\{(?:[^{}"]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*\}'
)
REFERENCES = re.compile(
    r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%?[\w.<>-]+|(?:branch_computations|called_computations)=\{[^}]*\}"
)
LAYOUT = re.compile(r"\{[\d,]*(?::[^}]*)?\}")


class Cones:
    """Gives each instruction of a program a number that says what it computes: equal numbers mean equal computations."""

    def __init__(self, text):
        self.program = Program(text)
        self.at = {(name, each.name): each for name, body in self.program.computations.items() for each in body}
        self.roots = {
            name: (name, each.name) for name, body in self.program.computations.items() for each in body if each.is_root
        }
        self.callers = {}
        for at, each in self.at.items():
            for inner in called(each):
                self.callers.setdefault(inner, []).append(at)
        self.known = {}

    def operands(self, at):
        return [(at[0], each) for each in flow.operands(self.at[at])]

    def of(self, at, element=None):
        key = at, element
        if key not in self.known:
            self.known[key] = hash(("in a circle", at[0]))
            what = self._what(at, element)
            self.known[key] = what if isinstance(what, int) else hash(what)  # `hash` would change a large int
        return self.known[key]

    def _what(self, at, element):
        each = self.at[at]
        operands = self.operands(at)
        if each.opcode == "parameter":
            return self._parameter(at, element)
        if each.opcode == "get-tuple-element":
            return self.of(operands[0], int(re.search(r"index=(\d+)", each.rest)[1]))
        if each.opcode == "tuple":
            return self.of(operands[element]) if element is not None else ("tuple", *map(self.of, operands))
        if each.opcode in ("bitcast", "copy"):
            return self.of(operands[0])
        if each.opcode in RUNS:
            return self.of(self.roots[called(each)[0]], element)
        if each.opcode == "while":
            body = next(name for name in called(each) if f"body=%{name}" in each.rest or f"body={name}" in each.rest)
            ends = [self.of(self.roots[name]) for name in called(each) if name != body]
            return ("while", self.of(operands[0], element), self.of(self.roots[body], element), *ends)
        if each.opcode == "conditional":
            return ("conditional", self.of(operands[0]), *[self.of(self.roots[name], element) for name in called(each)])
        rest = each.rest[hlo.end_of_operands(each.rest) + 1 :]
        rest = LAYOUT.sub("", REFERENCES.sub("", ATTRIBUTES.sub("", rest)))
        inner = [self.of(self.roots[name]) for name in called(each) if name in self.roots]
        text = each.rest[: hlo.end_of_operands(each.rest)] if each.opcode == "constant" else ""
        reads = [self.of(one) for one in operands if one in self.at]
        reads = sorted(reads) if each.opcode in COMMUTE else reads
        return each.opcode, LAYOUT.sub("", each.type), text, rest, element, *inner, *reads

    def _parameter(self, at, element):
        number = int(self.at[at].rest.partition(")")[0])
        callers = self.callers.get(at[0], [])
        if at[0] == self.program.entry:
            return "argument", number, element
        caller = callers[0] if len(callers) == 1 else None
        opcode = self.at[caller].opcode if caller else "applied"
        if opcode in RUNS:
            return self.of(self.operands(caller)[number], element)
        if opcode == "while":
            start = self.of(self.operands(caller)[0], element)
            return start if self._stays(caller, element) else ("carry", element, start)
        if opcode == "conditional":
            return self.of(self.operands(caller)[1 + called(self.at[caller]).index(at[0])], element)
        return "applied to", number, element

    def _stays(self, loop, element):
        """Return whether each iteration of a loop passes an element of the carry on unchanged. Then the element's position does not
        matter.
        """
        body = next(
            name for name in called(self.at[loop]) if re.search(rf"body=%?{re.escape(name)}\b", self.at[loop].rest)
        )
        root = self.roots[body]
        if element is None or self.at[root].opcode != "tuple":
            return False
        handed = self.at[self.operands(root)[element]]
        return (
            handed.opcode == "get-tuple-element"
            and f"index={element}," in f"{handed.rest},"
            and self.at[self.operands((body, handed.name))[0]].opcode == "parameter"
        )

    @functools.cached_property
    def all(self):
        return {self.of(at) for at, each in self.at.items() if each.opcode not in PLUMBING | OF_OTHERS}

    @functools.cached_property
    def with_loops(self):
        """Return the numbers of all instructions, and of each element of each loop's carry."""
        loops = [at for at, each in self.at.items() if each.opcode == "while"]
        carries = [
            (at, i) for at in loops for i in range(self.at[at].type.count("[")) if self.at[at].type.startswith("(")
        ]
        return self.all | {self.of(*each) for each in carries}

    def readers(self, at, element=None):
        """Yield what reads a value: instructions, and loops with the position in the carry. If the value is a tuple, `element` says
        which of its elements.
        """
        if at in self.roots.values():
            for caller in self.callers.get(at[0], ()):
                yield from self.readers(caller, element) if self.at[caller].opcode in RUNS else ()
        for name, each in ((key, each) for key, each in self.at.items() if key[0] == at[0]):
            for place, operand in enumerate(self.operands(name)):
                if operand != at:
                    continue
                if each.opcode in ("bitcast", "copy"):
                    yield from self.readers(name, element)
                elif each.opcode == "tuple":
                    yield from self.readers(name, place)
                elif each.opcode == "get-tuple-element":
                    yield from self.readers(name) if f"index={element}," in f"{each.rest}," else ()
                elif each.opcode in RUNS:
                    inside = called(each)[0]
                    its = [k for k, i in self.at.items() if k[0] == inside and i.opcode == "parameter"]
                    yield from self.readers(next(k for k in its if self.at[k].rest.startswith(f"{place})")), element)
                else:
                    yield name, element if each.opcode == "while" else None

    def behind(self, at):
        """Return the instruction from which an instruction that only moves a value gets this value."""
        each = self.at[at]
        if each.opcode == "fusion":
            return self.roots[called(each)[0]]
        if each.opcode == "parameter" and at[0] != self.program.entry:
            return self.operands(self.callers[at[0]][0])[int(each.rest.partition(")")[0])]
        return self.operands(at)[0]

    def depends(self, at, element=None, seen=frozenset()):
        """Return whether an instruction, or an element of its result, depends on an argument. Each element of a loop's carry is
        followed by itself.
        """
        if (at, element) in seen:
            return False
        seen |= {(at, element)}
        each, operands = self.at[at], [one for one in self.operands(at) if one in self.at]
        if each.opcode == "parameter":
            number, callers = int(each.rest.partition(")")[0]), self.callers.get(at[0], [])
            return at[0] == self.program.entry or any(self._is_given(at, number, element, one, seen) for one in callers)
        if each.opcode == "get-tuple-element":
            return self.depends(operands[0], int(re.search(r"index=(\d+)", each.rest)[1]), seen)
        if each.opcode == "tuple" and element is not None:
            return self.depends(operands[element], None, seen)
        if each.opcode in RUNS:
            return self.depends(self.roots[called(each)[0]], element, seen)
        return any(self.depends(one, None, seen) for one in operands)

    def _is_given(self, at, number, element, caller, seen):
        """Return whether the operand that a caller passes for a parameter depends on an argument of the program."""
        each, operands = self.at[caller], self.operands(caller)
        if each.opcode in RUNS:
            return self.depends(operands[number], element, seen)
        if each.opcode == "while":
            ends = [self.roots[name] for name in called(each) if self.at[self.roots[name]].opcode == "tuple"]
            return any(self.depends(one, element, seen) for one in (operands[0], *ends))
        if each.opcode == "conditional":
            return self.depends(operands[1 + called(each).index(at[0])], element, seen)
        return any(self.depends(one, None, seen) for one in operands if one in self.at)

    def result(self, place):
        """Return the number of the program's result at this position."""
        root = self.roots[self.program.entry]
        return self.of(root, place) if self.at[root].type.startswith("(") else self.of(root)

    @functools.cached_property
    def whole(self):
        """Return the number of all results of the program together."""
        return self.of(self.roots[self.program.entry])


# --- knocking out ---------------------------------------------------------------------------------------------


class Knock:
    """Replaces operands or results of some equations of a jaxpr by new arguments. The program also returns the replaced operands, and
    with `keep` the replaced results, so that XLA does not remove them.

    `operands` are pairs: the number of an equation, and the position of an operand. `results` are numbers of equations.
    """

    def __init__(self, number_of, operands=(), results=(), keep=True):
        self.keep = keep
        self.number_of, self.operands, self.results = number_of, set(operands), set(results)
        self.done = {}

    def __call__(self, jaxpr):
        inner, fresh, kept = self.inside(jaxpr)
        return inner.replace(invars=[*inner.invars, *fresh], outvars=[*inner.outvars, *kept])

    def concerns(self, jaxpr):
        for eqn in jaxpr.eqns:
            number = self.number_of[id(eqn)]
            if number in self.results or any(number == each for each, _ in self.operands):
                return True
            if any(self.concerns(each) for each in inner_jaxprs(eqn)):
                return True
        return False

    def inside(self, jaxpr):
        """Return the changed jaxpr, its new input variables, and the values that it has to return besides its results."""
        if id(jaxpr) in self.done:
            return self.done[id(jaxpr)]
        fresh, kept, env, eqns = [], [], {}, []

        def read(atom):
            return atom if isinstance(atom, Literal) else env.get(atom, atom)

        for eqn in jaxpr.eqns:
            number = self.number_of[id(eqn)]
            invars = [read(atom) for atom in eqn.invars]
            for place, atom in enumerate(invars):
                if (number, place) in self.operands:
                    new = Var(atom.aval)
                    fresh.append(new)
                    kept += [] if isinstance(atom, Literal) else [atom]
                    invars[place] = new
            eqn = eqn.replace(invars=invars)
            if any(self.concerns(each) for each in inner_jaxprs(eqn)):
                eqn, more, out = self.nested(eqn)
                fresh += more
                kept += out
            eqns.append(eqn)
            if number in self.results:
                for var in eqn.outvars:
                    env[var] = Var(var.aval)
                    fresh.append(env[var])
                    kept += [var] if self.keep else []
        self.done[id(jaxpr)] = jaxpr.replace(eqns=eqns, outvars=[read(atom) for atom in jaxpr.outvars]), fresh, kept
        return self.done[id(jaxpr)]

    def nested(self, eqn):
        name, params = eqn.primitive.name, eqn.params
        if name in CALLS:
            inner, fresh, kept = self.inside(params[CALLS[name]])
            outer, out = [Var(v.aval) for v in fresh], [Var(atom.aval) for atom in kept]
            inner = inner.replace(invars=[*inner.invars, *fresh], outvars=[*inner.outvars, *kept])
            changed = {CALLS[name]: inner}
            if "donated_invars" in params:
                changed["donated_invars"] = (False,) * len(inner.invars)
            return (
                eqn.replace(invars=[*eqn.invars, *outer], outvars=[*eqn.outvars, *out], params=params | changed),
                outer,
                out,
            )
        if name == "scan":
            inner, fresh, kept = self.inside(params["jaxpr"])
            at = params["num_consts"]
            outer = [Var(v.aval) for v in fresh]
            out = [Var(atom.aval.update(shape=(params["length"], *atom.aval.shape))) for atom in kept]
            inner = inner.replace(
                invars=[*inner.invars[:at], *fresh, *inner.invars[at:]], outvars=[*inner.outvars, *kept]
            )
            eqn = eqn.replace(
                invars=[*eqn.invars[:at], *outer, *eqn.invars[at:]], outvars=[*eqn.outvars, *out],
                params=params | {"jaxpr": inner, "num_consts": at + len(fresh)},
            )  # fmt: skip
            return eqn, outer, out
        if name == "while":
            cond, of_cond, _ = self.inside(params["cond_jaxpr"])
            body, of_body, kept = self.inside(params["body_jaxpr"])
            first, second = params["cond_nconsts"], params["body_nconsts"]
            seen, outer, starts = ([Var(v.aval) for v in many] for many in (of_cond, of_body, kept))
            more = [[Var(v.aval) for v in kept] for _ in range(2)]
            cond = cond.replace(invars=[*cond.invars[:first], *of_cond, *cond.invars[first:], *more[0]])
            body = body.replace(
                invars=[*body.invars[:second], *of_body, *body.invars[second:], *more[1]],
                outvars=[*body.outvars, *kept],
            )
            given = eqn.invars
            out = [Var(v.aval) for v in kept]
            eqn = eqn.replace(
                invars=[*given[:first], *seen, *given[first : first + second], *outer, *given[first + second :], *starts],
                outvars=[*eqn.outvars, *out],
                params=params
                | {"cond_jaxpr": cond, "body_jaxpr": body}
                | {"cond_nconsts": first + len(seen), "body_nconsts": second + len(outer)},
            )  # fmt: skip
            return eqn, [*seen, *outer, *starts], out
        assert name == "cond", name
        parts = [self.inside(each) for each in params["branches"]]
        fresh = [[Var(v.aval) for v in new] for _, new, _ in parts]
        out = [[Var(atom.aval) for atom in kept] for _, _, kept in parts]
        other = [[Var(atom.aval) for atom in kept] for _, _, kept in parts]  # placeholders in the other branches
        branches = []
        for i, (inner, _, kept) in enumerate(parts):
            ins = [
                [*(parts[j][1] if i == j else [Var(v.aval) for v in new]), *[Var(v.aval) for v in other[j]]]
                for j, new in enumerate(fresh)
            ]
            outs = [kept if i == j else ins[j][len(fresh[j]) :] for j in range(len(parts))]
            branches.append(
                inner.replace(
                    invars=[*inner.invars, *itertools.chain(*ins)], outvars=[*inner.outvars, *itertools.chain(*outs)]
                )
            )
        outer = [v for new, spare in zip(fresh, other, strict=True) for v in [*new, *spare]]
        outs = list(itertools.chain(*out))
        eqn = eqn.replace(
            invars=[*eqn.invars, *outer], outvars=[*eqn.outvars, *outs], params=params | {"branches": tuple(branches)}
        )
        return eqn, outer, outs


def inner_jaxprs(eqn):
    for value in eqn.params.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Jaxpr):
                yield item


def replaced(jaxpr, number_of, number, value):
    """Return the jaxpr with `value(operands)`, an atom for each result, in place of the results of one equation."""

    def inside(jaxpr):
        eqns, env = [], {}

        def read(atom):
            return atom if isinstance(atom, Literal) else env.get(atom, atom)

        for eqn in jaxpr.eqns:
            own = number_of[id(eqn)]
            params = {
                name: tuple(map(deep, item)) if type(item) is tuple else deep(item) for name, item in eqn.params.items()
            }
            eqns.append(eqn.replace(invars=[read(atom) for atom in eqn.invars], params=params))
            if own == number:
                env.update(zip(eqn.outvars, value(eqn, eqns), strict=True))
        return jaxpr.replace(eqns=eqns, outvars=[read(atom) for atom in jaxpr.outvars])

    def deep(item):
        return inside(item) if isinstance(item, Jaxpr) and holds(item, number_of, number) else item

    return inside(jaxpr)


def filled(aval, number, eqns):
    """Return atoms for an array of this type that is filled with a number; the equations that make it are appended to `eqns`."""
    made = jitkit.make_jaxpr(lambda: jnp.full(aval.shape, number, aval.dtype))().jaxpr
    eqns += made.eqns
    return made.outvars


def holds(jaxpr, number_of, number):
    return any(
        number_of[id(eqn)] == number or any(holds(each, number_of, number) for each in inner_jaxprs(eqn))
        for eqn in jaxpr.eqns
    )


# --- the verdicts ---------------------------------------------------------------------------------------------


class Trial:
    """A traced program with the Explorer's answers for this CPU, and methods that check them by knocking out."""

    def __init__(self, function, args):
        traced = ours.jit(function).trace(*args)
        self.jaxpr, self.equations = numbering.numbered(traced._program.jaxpr, ours._OurDialect())
        self.number_of = {id(each.eqn): number for number, each in enumerate(self.equations)}
        self.text, self.stablehlo = compiled(self.jaxpr)
        self.cones = Cones(self.text)
        self.known = {}
        self.read = hlo.read(self.text, self.equations)
        written = stablehlo.written(stablehlo.listing(self.stablehlo))
        self.fates = fates.fates(self.equations, written, self.read, numbering.descendants(self.equations))

    def without_operands(self, *numbers):
        places = [(n, i) for n in numbers for i in range(len(self.equations[n].eqn.invars))]
        return self._knocked("operands", numbers, operands=places)

    def without_results(self, *numbers):
        return self._knocked("results", numbers, results=numbers)

    def alone(self, *numbers):
        places = [(n, i) for n in numbers for i in range(len(self.equations[n].eqn.invars))]
        return self._knocked("both", numbers, operands=places, results=numbers)

    def without(self, *numbers):
        return self._knocked("all", numbers, results=numbers, keep=False)

    def _knocked(self, what, numbers, **knock):
        if (what, numbers) not in self.known:
            self.known[what, numbers] = Cones(compiled(Knock(self.number_of, **knock)(self.jaxpr))[0])
        return self.known[what, numbers]

    def alike(self, number):
        """Return the equations that XLA may have merged with this one: those of the same primitive. Their shapes may differ, since
        there may be reshapes between them.
        """
        this = self.equations[number].primitive
        return [
            n
            for n, each in enumerate(self.equations)
            if n != number and each.primitive == this and self.can_be_knocked(n)
        ]

    def links(self):
        """Yield, in the order of the program, the instructions that compute something and have a sure link."""
        for at, instruction in self.cones.at.items():
            applied = all(self.cones.at[each].opcode not in RUNS_OTHERS for each in self.cones.callers.get(at[0], [at]))
            if instruction.opcode not in PLUMBING | OF_OTHERS and (at[0] == self.cones.program.entry or not applied):
                yield from [at] if self.read.links.exact.get(at) else []

    def link(self, at):
        """Return the verdict on an instruction's sure link, as `is_of` does for the equations that it is linked to. An instruction that
        only moves a value is judged by where the value comes from.
        """
        numbers = self.read.links.exact[at]
        if self.read.links.rules.get(at, "").startswith("its value"):
            while self.cones.at[at].opcode in MOVES:
                at = self.cones.behind(at)
        return self.is_of(at, numbers)

    def is_of(self, at, numbers):
        """Return whether an instruction belongs to these equations: "right", "wrong", "merged" with what reads them, or "untold" for a
        constant that others may need, too.
        """
        numbers, cone = tuple(numbers), self.cones.of(at)
        if not self.cones.depends(at):  # a constant, which may be there for other equations, too
            is_theirs = cone not in self.without(*numbers).all or self.reads(at, numbers)
            return "right" if is_theirs else "untold"
        if cone in self.without_operands(*numbers).all:
            twins = tuple(n for number in numbers for n in self.alike(number) if n not in numbers)
            twins = tuple(dict.fromkeys((*twins, *(n for n in self.of_the_same(cone) if n not in numbers))))
            both = (*numbers, *twins)
            if any(self.shares(cone, numbers, other) for other in self.beside(numbers)):
                return "right"
            return (
                "right"
                if twins and not (cone in self.without_operands(*both).all and cone in self.without(*both).all)
                else "wrong"
            )
        if cone in self.without_results(*numbers).all or self.moves_what_is_new(at, numbers):
            return "right"
        if self.are_made_one(at, numbers):
            return "right"
        for other in dict.fromkeys(
            (*self.readers(numbers), *self.behind_which(at, numbers), *numbers[len(numbers) < 2 :])
        ):
            if cone not in self.without_operands(other).all and cone in self.without_results(other).all:
                return "right" if self.has_passed(at, numbers, other) else "wrong"
        return "right" if self.is_its_own(at, numbers) or self.ends_a_turn(at, numbers) else "merged"

    def of_the_same(self, cone):
        """Return the equations that are linked to instructions with the same computation, and the equations that XLA merged with
        these. (A comparison with zero is a conversion to bool; a square root of complex numbers takes their real parts.)
        """
        found = [n for at in self.links() if self.cones.of(at) == cone for n in self.read.links.exact[at]]
        found += [each for n in found for each in self.equations[n].same_as]
        return [n for n in dict.fromkeys(found) if self.can_be_knocked(n)]

    def are_made_one(self, at, numbers):
        """Return whether XLA has made one instruction of several equations. It stays if the results of the last ones are knocked
        out; it goes if the operands of any one are; and if the results of any other one are, there are fewer instructions of its
        kind.
        """
        ends = [n for n in numbers if not any(n in self.origins(other) for other in numbers if other != n)]
        others = [n for n in numbers if n not in ends]
        cone = self.cones.of(at)

        def count(cones):
            this = self.kind(self.cones.at[at])
            return sum(self.kind(each) == this for each in cones.at.values())

        def again(cones):  # without the result, a sum appears again beside a scatter, or a transpose after a product
            opcode = {"scatter": "add", "dot": "transpose"}.get(self.cones.at[at].opcode)
            return sum(each.opcode == opcode and "[]" not in each.type for each in cones.at.values())

        return (
            bool(others)
            and cone in self.without_results(*ends).all
            and all(cone not in self.without_operands(n).all for n in numbers)
            and all(
                count(cones) < count(self.cones) or again(cones) > again(self.cones)
                for cones in map(self.without_results, others)
            )
        )

    @staticmethod
    def kind(instruction):
        """Return what an instruction does to its operands, whatever they are."""
        rest = instruction.rest[hlo.end_of_operands(instruction.rest) + 1 :]
        return instruction.opcode, LAYOUT.sub("", instruction.type), ATTRIBUTES.sub("", rest)

    def moves_what_is_new(self, at, numbers):
        """Return whether an instruction is a transpose that is applied to the new argument if the equation reads one. (If the
        program returns the transpose, XLA writes a copy in another layout instead, so `without_results` has no transpose.)
        """
        this, new = self.cones.at[at], self.without_operands(*numbers)
        if this.opcode != "transpose":
            return False
        read = self.cones.of(self.cones.operands(at)[0])
        stays = self.without_results(*numbers)
        before = {stays.of(each) for each in stays.at if stays.at[each].opcode in PLUMBING} | stays.all
        return read in before and any(
            each.opcode == "transpose"
            and LAYOUT.sub("", each.type) == LAYOUT.sub("", this.type)
            and each.rest.partition("dimensions=")[2].partition("}")[0]
            == this.rest.partition("dimensions=")[2].partition("}")[0]
            and new.of(new.operands(other)[0]) in {hash(("argument", place, None)) for place in self.fresh(new)}
            for other, each in new.at.items()
        )

    def fresh(self, cones):
        """Return the positions of the new arguments of a changed program."""
        count = [
            sum(i.opcode == "parameter" for at, i in each.at.items() if at[0] == each.program.entry)
            for each in (self.cones, cones)
        ]
        return range(*count)

    def beside(self, numbers):
        """Return the other equations that read an operand of these."""
        read = {each for n in numbers for made in self.equations[n].operands for each in made}
        others = [n for n in range(len(self.equations)) if n not in numbers and self.can_be_knocked(n)]
        return [n for n in others if any(read & made for made in self.equations[n].operands)]

    def can_be_knocked(self, number):
        """Return whether the jaxpr around an equation may get more arguments. The function inside a scatter may not."""
        parent = self.equations[number].parent
        return parent is None or (
            self.equations[parent].primitive in (*CALLS, "scan", "while", "cond") and self.can_be_knocked(parent)
        )

    def shares(self, cone, numbers, other):
        """Return whether some equations and another one need the same computation, such as the real part of `z` in `z * z` and in
        `z.real`. It stays if one of the two is knocked out, and goes if both are.
        """
        return cone in self.without_operands(other).all and cone not in self.without_operands(*numbers, other).all

    def reads(self, at, numbers):
        """Return whether all instructions that read a constant belong to some equations: they stay without the equations' results, and go
        without their operands. If other equations compute the same, the instructions stay with either, and go without both.
        """
        readers = {self.cones.of(*reader) for reader in self.cones.readers(at)}
        twins = [n for number in numbers for n in self.alike(number) if n not in numbers]
        if not readers or not readers <= self.without_results(*numbers).with_loops:
            return False
        if not readers & self.without(*numbers).with_loops:
            return True
        alone, gone = self.without(*twins), self.without(*numbers, *twins)
        return bool(twins) and readers <= alone.with_loops and not readers & gone.with_loops

    def ends_a_turn(self, at, numbers):
        """Return whether an instruction, and its equations, are the result of a loop's condition. A condition returns nothing else, so the
        equations' results cannot be kept. But no equation reads them, so the instruction was not merged with a reader.
        """
        is_end = all(self.is_condition(n) for n in numbers)
        while is_end and self.cones.at[at].is_root:
            [caller, *_] = [*self.cones.callers.get(at[0], ()), None]
            opcode = caller and self.cones.at[caller].opcode
            if opcode not in RUNS:
                condition = rf"condition=%?{re.escape(at[0])}\b"
                return opcode == "while" and re.search(condition, self.cones.at[caller].rest) is not None
            at = caller
        return False

    def is_condition(self, number):
        """Return whether an equation computes the result of a loop's condition."""
        parent = self.equations[number].parent
        if parent is None or self.equations[parent].primitive != "while" or self.readers([number]):
            return False
        returned = self.equations[parent].eqn.params["cond_jaxpr"].outvars
        return any(var is atom for var in self.equations[number].eqn.outvars for atom in returned)

    def behind_which(self, at, numbers):
        """Return the equations that an instruction's operands are linked to, except `numbers` and those that `numbers` depend on."""
        found = [n for operand in self.cones.operands(at) for n in self.read.links.exact.get(operand, ())]
        return [n for n in found if n not in numbers and not any(n in self.origins(each) for each in numbers)]

    def is_its_own(self, at, numbers):
        """Return whether an instruction belongs to equations that read their own earlier results, as in an unrolled loop, where knocking
        out changes each iteration. It does if the equations alone, with new arguments, make such an instruction, and there are fewer
        without them.
        """

        def of_this_kind(cones):
            this = self.cones.at[at]
            same = (one for one, each in cones.at.items() if each.opcode == this.opcode)
            return {cones.of(one) for one in same if LAYOUT.sub("", cones.at[one].type) == LAYOUT.sub("", this.type)}

        fewer = len(of_this_kind(self.without(*numbers))) < len(of_this_kind(self.cones))
        return fewer and bool(of_this_kind(self.alone(*numbers)))

    def has_passed(self, at, numbers, other):
        """Return whether XLA moved an instruction that only moves a value past an equation that reads it. Then, without the reader, the
        instruction is found before the reader; without its own equation, it is not found.
        """
        if self.cones.at[at].opcode not in MOVES | {"negate"}:
            return False

        def this(each):
            if each.opcode == "negate":  # it may negate a sum whose operands were negated before
                return each.opcode, ""
            if each.opcode == "broadcast" and "dimensions={}" in each.rest:
                return each.opcode, "of a single number"  # the shape may differ, if other operations moved, too
            return each.opcode, re.sub(
                r"^\w+", "", LAYOUT.sub("", each.type)
            )  # the dtype may differ, if it moved past a conversion

        def count(cones):
            same = (one for one, each in cones.at.items() if this(each) == this(self.cones.at[at]))
            return sum(map(cones.depends, same))

        return count(self.without(*numbers)) < count(self.cones) and count(self.without_operands(other)) > 0

    def readers(self, numbers):
        return [
            n
            for n, each in enumerate(self.equations)
            if n not in numbers and any(set(numbers) & made for made in each.operands)
        ]

    # --- reasons ---

    def same(self, number, value):
        """Return whether the compiled program stays the same with `value(operands)` in place of an equation's results."""
        try:
            return Cones(compiled(replaced(self.jaxpr, self.number_of, number, value))[0]).whole == self.cones.whole
        except (KeyError, ValueError):  # the value cannot be read here: it is in another jaxpr, or comes later
            return False

    def reason(self, number):
        """Return whether the Explorer's sure reason for a removed equation is true."""
        fate, eqn = self.fates[str(number)], self.equations[number].eqn
        rule, like = fate["rule"], fate.get("like")
        if rule == "dead":
            changed = self.without(number)  # the loop gets no further results, so positions in its carry stay the same
            return all(changed.result(i) == self.cones.result(i) for i in range(len(self.jaxpr.outvars)))
        if rule == "duplicate":
            first, second = sorted((number, like))
            return self.same(second, lambda *_: self.equations[first].eqn.outvars) or self.are_one(first, second)
        if rule == "cancels":
            outer, inner = (number, like) if self.equations[number].unchanged else (like, number)
            [source, *_] = [atom for atom in self.equations[inner].eqn.invars if not isinstance(atom, Literal)]
            return self.same(outer, lambda *_: [source])
        if rule in ("changes nothing", "no operation"):
            return any(
                self.same(number, lambda new, _, i=i: [new.invars[i]])
                for i, atom in enumerate(eqn.invars)
                if (atom.aval.shape, atom.aval.dtype) == (eqn.outvars[0].aval.shape, eqn.outvars[0].aval.dtype)
            )
        if rule == "constant" and self.equations[number].why_constant:
            becomes = self.equations[number].becomes
            return self.same(number, lambda _, eqns: filled(eqn.outvars[0].aval, becomes, eqns))
        if rule == "constant" and self.equations[number].parent is None:
            alone = Cones(compiled(self.jaxpr.replace(outvars=eqn.outvars))[0])
            folded = (
                PLUMBING | RUNS | {"broadcast"} | ({"iota"} if self.equations[number].primitive == "iota" else set())
            )
            return all(each.opcode in folded for each in alone.at.values())
        if rule == "constant":
            return not any(origin < 0 for origin in self.origins(number))
        if rule == "inside":
            return all(self.reason(n) for n, each in enumerate(self.equations) if each.parent == number)
        if rule == "empty":
            return bool(eqn.params["length"] == 0)
        at = next(at for at, row in self.read.rows.items() if row == fate["row"])
        if rule == "merged":
            return self.goes(at, number)
        if rule in ("one factor", "factored") and self.equations[number].primitive in ("mul", "div"):
            return self.goes(at, number) and self.is_one_product(at, number)
        if rule == "clamp":
            return self.is_merged_with_its_reader(at, number)
        while self.cones.at[at].opcode in ("bitcast", "copy") and rule == "renamed":
            return True  # nothing is computed there
        linked = self.read.links.exact[at]
        return self.is_of(at, linked if number in linked else [number]) != "wrong"

    def are_one(self, first, second):
        """Return whether one instruction belongs to two equations and their twins, and stays while one of these is left. Then XLA has
        merged the two, but too late to simplify what follows.
        """
        all_ = tuple(sorted({first, second, *self.equations[first].same_as, *self.equations[second].same_as}))
        for at, instruction in self.cones.at.items():
            cone = self.cones.of(at)
            if (
                instruction.opcode not in PLUMBING | OF_OTHERS
                and cone in self.without_operands(first).all & self.without_operands(second).all
                and cone not in self.without_operands(*all_).all
                and cone in self.without_results(*all_).all
            ):
                return True
        return False

    def goes(self, at, number):
        """Return whether an instruction goes if an equation's operands are knocked out. If other equations of the primitive compute
        the same, as in a branch that gets the operand, the instruction must stay without the others' operands, and go without all.
        """
        cone = self.cones.of(at)
        if cone not in self.without_operands(number).all:
            return True
        others = [n for n in self.alike(number) if cone in self.without_operands(n).all]
        return (
            bool(others)
            and cone in self.without_operands(*others).all
            and cone not in self.without_operands(number, *others).all
        )

    def is_one_product(self, at, number):
        """Return whether one product does the work of several: there are more products if an equation's result becomes a new
        argument.
        """

        def count(cones):
            return sum(each.opcode == self.cones.at[at].opcode for each in cones.at.values())

        return count(self.without_results(number)) > count(self.cones)

    def is_merged_with_its_reader(self, at, number):
        """Return whether XLA merged an equation with its reader, to which the instruction is linked. Then the instruction goes
        without the equation's operands, and stays without the reader's results; without the equation's results there are fewer such
        instructions.
        """

        def count(cones):
            return len({cones.of(one) for one, each in cones.at.items() if each.opcode == self.cones.at[at].opcode})

        readers = [n for n in self.read.links.exact[at] if n != number]
        stays = self.cones.of(at) in self.without_results(*readers).all
        return self.goes(at, number) and stays and count(self.without_results(number)) < count(self.cones)

    def origins(self, number):
        """Return the equations that an equation depends on, and the arguments, as negative numbers. A constant equation, which is checked
        separately, depends on nothing.
        """
        found, waiting = set(), [number]
        while waiting:
            equation = self.equations[waiting.pop()]
            for made in () if equation.why_constant else equation.operands:
                waiting += [each for each in made - found if each >= 0]
                found |= made
        return found
