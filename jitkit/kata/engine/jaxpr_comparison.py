"""two jaxprs as plain data -> the first equation in which they differ

Two jaxprs are the same program if their outputs are computed in the same way from their inputs. Names of variables and
the order of independent equations do not matter. So each variable gets a number that says how it is computed: equal
primitive, parameters, operands, types and effects give an equal number. If the numbers of an output differ, following the
operands that differ leads back to the equation that is to blame.

In the text that is shown, a learner's variable has the name of the reference's variable that is computed in the same way.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from .plain import Plain, array_of

Numbers = dict[Any, int]

_SHORT = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i", "complex": "c"}
_KIND = re.compile(r"^(bfloat|float|uint|int|complex)(\d.*)")
_DTYPE = re.compile(r"\bdtype\('?([\w.]+)'?\)")  # a dtype as numpy prints it
_UNSAID = [["sharding", "None"], ["out_sharding", "None"]]  # parameters with these values are not shown


class JaxprDifference(NamedTuple):
    """The equations in which two jaxprs differ, as text, and a sentence that says how. One of the equations may be missing."""

    sentence: str
    expected: str
    actual: str
    line: tuple[str, int] | None  # the source line of the learner's equation


def compare_jaxprs(expected: Plain, actual: Plain) -> JaxprDifference | None:
    """Return the first difference between two jaxprs, or None if they are the same program."""
    numbers: Numbers = {}
    return _Comparison(_Program(expected, numbers), _Program(actual, numbers)).first_difference()


class _Program:
    """A jaxpr with a number for each variable and each equation."""

    def __init__(self, jaxpr: Plain, numbers: Numbers) -> None:
        self.jaxpr = jaxpr
        self.numbers = numbers
        self.number_of_var: dict[int, int] = {}
        self.maker_of_var: dict[int, Plain] = {}
        self.number_of_eqn: list[int] = []
        for i, binder in enumerate(jaxpr["inputs"]):
            self.number_of_var[binder["var"]] = self.intern(("input", i, binder["type"]))
        for binder, value in itertools.zip_longest(jaxpr["constants"], jaxpr["values"]):
            if binder is not None:
                self.number_of_var[binder["var"]] = self.intern(("const", json.dumps(value), binder["type"]))
        for eqn in jaxpr["equations"]:
            operands = tuple(self.number_of(atom) for atom in eqn["operands"])
            types = tuple(binder["type"] for binder in eqn["results"])
            effects = tuple(eqn["effects"])
            number = self.intern(("eqn", eqn["primitive"], self.params_key(eqn), operands, types, effects))
            self.number_of_eqn.append(number)
            for i, binder in enumerate(eqn["results"]):
                self.number_of_var[binder["var"]] = self.intern(("result", number, i))
                self.maker_of_var[binder["var"]] = eqn

    def intern(self, key: Any) -> int:
        return self.numbers.setdefault(key, len(self.numbers))

    def number_of(self, atom: Plain) -> int:
        """Return a number that says how an operand or an output is computed: equal numbers mean equal computations.
        A variable that nothing binds has -1.
        """
        if "literal" in atom:
            return self.intern(("literal", _literal(atom["literal"]), atom["type"]))
        return self.number_of_var.get(atom["var"], -1)

    def maker(self, atom: Plain) -> Plain | None:
        """Return the equation that made an operand; None if none did."""
        return self.maker_of_var.get(atom.get("var", -1))

    def params_key(self, eqn: Plain) -> Any:
        return tuple((name, self.param_key(value)) for name, value in eqn["params"])

    def param_key(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(self.param_key, value))
        return _Program(value, self.numbers).key if isinstance(value, dict) else value

    @property
    def key(self) -> Any:
        """Return a key that is equal for two jaxprs if they are the same program."""
        outputs = tuple(self.number_of(atom) for atom in self.jaxpr["outputs"])
        types = tuple(binder["type"] for binder in self.jaxpr["inputs"])
        return ("jaxpr", types, outputs, tuple(sorted(self.number_of_eqn)), tuple(self.acts()))

    def acts(self) -> Iterator[int]:
        """Yield the numbers of the equations without results, in order. They run only for their effects."""
        for eqn, number in zip(self.jaxpr["equations"], self.number_of_eqn, strict=True):
            if not eqn["results"]:
                yield number


class _Comparison:
    def __init__(self, expected: _Program, actual: _Program) -> None:
        self.expected = expected
        self.actual = actual
        self.names = _names(expected, actual)

    def first_difference(self) -> JaxprDifference | None:
        """Return the first difference: in the inputs, then in the computation of the outputs, then in equations that no
        output needs; None if there is none.
        """
        if self.expected.key == self.actual.key:
            return None
        return self.in_inputs() or self.in_outputs() or self.in_the_rest()

    def in_inputs(self) -> JaxprDifference | None:
        ours, theirs = self.expected.jaxpr["inputs"], self.actual.jaxpr["inputs"]
        constants = len(self.expected.jaxpr["constants"]), len(self.actual.jaxpr["constants"])
        head = _head(self.expected, self.names[0]), _head(self.actual, self.names[1])
        if len(ours) != len(theirs):
            why = ""
            if len(theirs) > len(ours) and constants[1] < constants[0]:
                why = ": an array that the function closes over is a constant"
            return JaxprDifference(
                f"The program should have {_count(len(ours), 'input')}, and has {len(theirs)}{why}.", *head, None
            )
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            if one["type"] != other["type"]:
                sentence = f"Input {i} should be {short_type(one['type'])}, and is {short_type(other['type'])}{_weakness(one, other)}."
                return JaxprDifference(sentence, *head, None)
        return None

    def in_outputs(self) -> JaxprDifference | None:
        ours, theirs = self.expected.jaxpr["outputs"], self.actual.jaxpr["outputs"]
        if len(ours) != len(theirs):
            sentence = f"The program should have {_count(len(ours), 'output')}, and has {len(theirs)}."
            return JaxprDifference(sentence, self.tail(0), self.tail(1), None)
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            if self.expected.number_of(one) != self.actual.number_of(other):
                return self.between(one, other, None, None, f"Output {i}")
        return None

    def between(
        self, one: Plain, other: Plain, eqn: Plain | None, other_eqn: Plain | None, what: str
    ) -> JaxprDifference:
        """Return the difference that makes two atoms (operands or outputs) unequal. If both were made by equations, look for it
        in these.
        """
        maker, other_maker = self.expected.maker(one), self.actual.maker(other)
        if maker is not None and other_maker is not None:
            return self.between_equations(maker, other_maker)
        if "literal" in one and "literal" in other:
            if _literal(one["literal"]) == _literal(other["literal"]):
                how = f"has the type {short_type(other['type'])}, and should have {short_type(one['type'])}{_weakness(one, other)}"
            else:
                how = f"is {_literal(other['literal'])}, and should be {_literal(one['literal'])}"
        elif other.get("var") == -1 and "literal" not in other:
            how = "is a variable that nothing defines"
        elif self.kind(1, other) == self.kind(0, one):
            types = f"{short_type(other['type'])} for {short_type(one['type'])}"
            how = f"is another constant than it should be, or one without its value ({types})"
        else:
            how = f"is {self.kind(1, other)}, and should be {self.kind(0, one)}"
        return self.report(f"{what} {how}.", eqn, other_eqn)

    def between_equations(self, eqn: Plain, other: Plain) -> JaxprDifference:
        if eqn["primitive"] != other["primitive"]:
            return self.report(f"There is `{other['primitive']}` where `{eqn['primitive']}` should be.", eqn, other)
        mine = [self.expected.number_of(atom) for atom in eqn["operands"]]
        yours = [self.actual.number_of(atom) for atom in other["operands"]]
        if len(mine) != len(yours):
            sentence = f"`{eqn['primitive']}` should have {_count(len(mine), 'operand')}, and has {len(yours)}."
            return self.report(sentence, eqn, other)
        if mine != yours and sorted(mine) == sorted(yours):
            return self.report(f"The operands of `{eqn['primitive']}` are in another order.", eqn, other)
        for i, (one, two) in enumerate(zip(mine, yours, strict=True)):
            if one != two:
                what = f"Operand {i} of `{eqn['primitive']}`"
                return self.between(eqn["operands"][i], other["operands"][i], eqn, other, what)
        params, other_params = dict(map(tuple, eqn["params"])), dict(map(tuple, other["params"]))
        for name in dict.fromkeys([*params, *other_params]):
            found = self.in_param(name, params.get(name), other_params.get(name), eqn, other)
            if found is not None:
                return found
        for one, two in zip(eqn["results"], other["results"], strict=False):
            if one["type"] != two["type"]:
                types = f"{short_type(one['type'])}, and is {short_type(two['type'])}{_weakness(one, two)}"
                sentence = f"The result of `{eqn['primitive']}` should be {types}."
                return self.report(sentence, eqn, other)
        if eqn["effects"] != other["effects"]:
            sides = [", ".join(side["effects"]) or "none" for side in (eqn, other)]
            return self.report(
                f"The effects of `{eqn['primitive']}` should be {sides[0]}, and are {sides[1]}.", eqn, other
            )
        return self.report(f"The results of `{eqn['primitive']}` are used in another way.", eqn, other)

    def in_param(self, name: str, one: Any, other: Any, eqn: Plain, other_eqn: Plain) -> JaxprDifference | None:
        """Return a difference in a parameter; for an inner jaxpr, the difference inside it; None if they are equal."""
        if self.expected.param_key(one) == self.actual.param_key(other):
            return None
        for inner, other_inner in zip(_jaxprs(one), _jaxprs(other), strict=False):
            found = compare_jaxprs(inner, other_inner)
            if found is not None:
                return found._replace(sentence=f"Inside of `{eqn['primitive']}`, in its `{name}`: {found.sentence}")
        if one is None or other is None:
            how = "is not there" if other is None else "should not be there"
        else:
            how = f"should be {_param(one, {})}, and is {_param(other, {})}"
        return self.report(f"The parameter `{name}` of `{eqn['primitive']}` {how}.", eqn, other_eqn)

    def in_the_rest(self) -> JaxprDifference:
        """Return a difference if the outputs agree: an equation is missing, an equation is added, or effects come in
        another order.
        """
        missing = Counter(self.expected.number_of_eqn) - Counter(self.actual.number_of_eqn)
        extra = Counter(self.actual.number_of_eqn) - Counter(self.expected.number_of_eqn)
        if extra:
            eqn = self.equation_with(self.actual, extra)
            return self.report(f"This `{eqn['primitive']}` should not be there: no output needs it.", None, eqn)
        if missing:
            eqn = self.equation_with(self.expected, missing)
            why = "It is there for what it does." if eqn["effects"] else "No output needs it, and yet it belongs there."
            return self.report(f"A `{eqn['primitive']}` is missing. {why}", eqn, None)
        return self.report("The equations that do something are in another order.", None, None)

    def equation_with(self, program: _Program, numbers: Counter[int]) -> Plain:
        eqns = zip(program.jaxpr["equations"], program.number_of_eqn, strict=True)
        found: Plain = next(eqn for eqn, number in eqns if number in numbers)
        return found

    def report(self, sentence: str, eqn: Plain | None, other: Plain | None) -> JaxprDifference:
        line = other.get("line") if other is not None else None
        if eqn is not None and other is not None and len(eqn["results"]) == len(other["results"]):
            for one, two in zip(
                eqn["results"], other["results"], strict=True
            ):  # results at the same position get the same name
                self.names[1][two["var"]] = self.names[0][one["var"]]
        yours = self.tail(1) if other is None else "\n".join([*self.makers(other), _equation(other, self.names[1])])
        sides = _equation(eqn, self.names[0]) if eqn is not None else self.tail(0), yours
        plain = sides[0].replace("~", ""), sides[1].replace("~", "")
        return JaxprDifference(
            sentence, *(plain if plain[0] != plain[1] else sides), (line[0], line[1]) if line else None
        )

    def makers(self, eqn: Plain) -> Iterator[str]:
        """Yield, as text, the learner's equations that compute an equation's operands in another way than the reference does."""
        makers = (
            self.actual.maker(atom)
            for atom in eqn["operands"]
            if self.names[1].get(atom.get("var", -1), "")[-1:] == "'"
        )
        yield from dict.fromkeys(
            _equation(maker, self.names[1]) for maker in makers if maker is not None and maker is not eqn
        )

    def tail(self, side: int) -> str:
        program = (self.expected, self.actual)[side]
        return f"in {_outputs(program.jaxpr, self.names[side])}"

    def kind(self, side: int, atom: Plain) -> str:
        """Return the kind of an atom in words: a literal, the result of an equation, an input or a constant."""
        program = (self.expected, self.actual)[side]
        maker = program.maker(atom)
        if "literal" in atom:
            return f"the literal {_literal(atom['literal'])}"
        if maker is not None:
            return f"a result of `{maker['primitive']}`"
        inputs = [binder["var"] for binder in program.jaxpr["inputs"]]
        return f"input {inputs.index(atom['var'])}" if atom["var"] in inputs else "a constant"


# --- text -------------------------------------------------------------------------------------------------------


def program_text(jaxpr: Plain) -> str:
    """Return a whole jaxpr as text, one equation a line, as jitkit prints it."""
    names = _fresh_names(jaxpr)
    constants, inputs = _binders(jaxpr["constants"], names), _binders(jaxpr["inputs"], names)
    lines = [f"{{ lambda {constants}{' ' * bool(constants)}; {inputs}. let"]
    lines += [f"    {_equation(eqn, names)}" for eqn in jaxpr["equations"]]
    return "\n".join([*lines, f"  in {_outputs(jaxpr, names)} }}"]).replace("~", "")


def _outputs(jaxpr: Plain, names: dict[int, str]) -> str:
    outputs = [_atom(x, names) for x in jaxpr["outputs"]]
    return f"({', '.join(outputs)}{',' * (len(outputs) == 1)})"


def _names(expected: _Program, actual: _Program) -> tuple[dict[int, str], dict[int, str]]:
    """Return names for the variables of both jaxprs; variables that are computed alike have the same name."""
    mine = _fresh_names(expected.jaxpr)
    name_of_number = {number: mine[var] for var, number in expected.number_of_var.items()}
    fresh = (f"{letters}'" for letters in map(_letters, itertools.count()))
    yours = {var: name_of_number.get(number) or next(fresh) for var, number in actual.number_of_var.items()}
    return mine, yours


def _fresh_names(jaxpr: Plain) -> dict[int, str]:
    binders = [*jaxpr["constants"], *jaxpr["inputs"], *(b for eqn in jaxpr["equations"] for b in eqn["results"])]
    return {binder["var"]: _letters(i) for i, binder in enumerate(binders)}


def _letters(n: int) -> str:
    rest, digit = divmod(n, 26)
    return (_letters(rest - 1) if rest else "") + chr(ord("a") + digit)


def _head(program: _Program, names: dict[int, str]) -> str:
    jaxpr = program.jaxpr
    constants, inputs = _binders(jaxpr["constants"], names), _binders(jaxpr["inputs"], names)
    return f"lambda {constants}{' ' * bool(constants)}; {inputs}."


def _binders(binders: list[Plain], names: dict[int, str]) -> str:
    return " ".join(f"{names[b['var']]}:{short_type(b['type'])}" for b in binders)


def _equation(eqn: Plain, names: dict[int, str]) -> str:
    params = " ".join(f"{name}={_param(value, names)}" for name, value in eqn["params"] if [name, value] not in _UNSAID)
    operands = " ".join(_atom(x, names) for x in eqn["operands"])
    left = f"{_binders(eqn['results'], names)} = " if eqn["results"] else ""
    return f"{left}{eqn['primitive']}{f'[{params}]' if params else ''} {operands}".rstrip()


def _param(value: Any, names: dict[int, str]) -> str:
    if isinstance(value, dict):
        return program_text(value).replace("\n   ", "").replace("\n ", "")
    if isinstance(value, list):
        return f"({', '.join(_param(x, names) for x in value)})"
    return _DTYPE.sub(r"\1", str(value))


def short_type(type: str) -> str:
    """Return a type as jaxprs write it: `f32[3]` for `float32[3]`. A weak type, which has a star in plain data, gets a
    tilde: `~f32[]`.
    """
    name, bracket, shape = type.partition("[")
    short = _KIND.sub(lambda match: _SHORT[match[1]] + match[2], name.rstrip("*"))
    return f"{'~' if name.endswith('*') else ''}{short}{bracket}{shape}"


def _atom(atom: Plain, names: dict[int, str]) -> str:
    if "literal" in atom:
        return f"{_literal(atom['literal'])}:{short_type(atom['type'])}"
    return names.get(atom["var"], "?")


def _literal(value: Plain) -> str:
    if value["is"] == "float":
        return repr(float.fromhex(value["value"]))
    if value["is"] == "array":
        return str(array_of(value))
    return str(value.get("value", value["is"]))


def _jaxprs(param: Any) -> list[Plain]:
    items = param if isinstance(param, list) else [param]
    return [x for x in items if isinstance(x, dict) and x.get("is") == "jaxpr"]


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _weakness(one: Plain, other: Plain) -> str:
    """Return a remark if two types differ only in whether they are weak; else ""."""
    if one["type"].replace("*", "") != other["type"].replace("*", ""):
        return ""
    return " (`~` marks a weak type: one that came from a Python number and gives way in promotion)"
