"""jaxpr -> numbered equations, so that every later text can say which equation it came from

Lines and names do not identify an equation: two equations may share a line. So each equation gets a number, and the
number goes into its name stack as one more scope, `eqn~12`. Lowering writes name stacks into locations, and XLA keeps
them as `op_name` of an instruction, through fusion, inlining and most rewriting:
`jit(loss)/eqn~12/while/body/eqn~14/mul`. The last number in a name is the equation. Where XLA has merged instructions,
it writes all their names, one after the other.

This module also finds what the equations alone tell: which of them no result depends on, and, by `values`, which of
them compute a value that already exists. That explains why an operation has disappeared.

JAX: jax/_src/source_info_util.py:NameStack
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

from .equation import Dialect, Equation
from .reads import find_operands
from .values import CALLS, find_same, jaxprs_of

_MARK = re.compile(r"eqn~(\d+)")
# the second form is in `jvp(eqn~3)/sin`, which becomes `jvp()/sin`
_SCOPE = re.compile(r"eqn~\d+/|eqn~\d+(?=\))")


def numbers_in(name: str, equations: Sequence[Equation] = ()) -> list[int]:
    """Return the equations that a location or an `op_name` names, each once. Where scopes are nested, the innermost
    counts.

    A function that is called twice is traced once, so its equations have the lines of the first call. With `equations`,
    a name that leads through a later call counts as the equation of that call.
    """
    return list(dict.fromkeys(_one_of(marks, equations) for marks in paths_in(name)))


def paths_in(name: str) -> list[list[int]]:
    """Return the equations in each path of a name, outermost first."""
    paths = [list(map(int, _MARK.findall(path))) for path in name.split(";")]
    return [marks for marks in paths if marks]


def _one_of(marks: list[int], equations: Sequence[Equation]) -> int:
    """Return the equation that one path names: the last one, except in a library function.

    A library function is traced once, so in a later call its equations still have the line of the first call. Then
    return the later call. (XLA writes the name of an inlined call before the names of its operations.)
    """
    for outer, inner in itertools.pairwise(marks):
        first = equations[inner].parent if inner < len(equations) else None
        if first is not None and first != outer and equations[inner].place == equations[first].place:
            return outer
    return marks[-1]


def without_marks(text: str) -> str:
    """Return a string without the scopes that have equations' numbers."""
    return _SCOPE.sub("", text)


def numbered(jaxpr: Any, dialect: Dialect) -> tuple[Any, list[Equation]]:
    """Return the jaxpr with marked equations, and the list of these, by number. A jaxpr that is used twice is marked
    once. `dialect` says how to read and rewrite such jaxprs: jitkit's own, or JAX's.
    """
    equations: list[Equation] = []
    known: dict[int, tuple[Any, Any]] = {}  # id -> the value (kept alive by this), and what it became

    def mark(value: Any, parent: int | None) -> Any:
        if id(value) in known:
            return known[id(value)][1]
        inner = dialect.inside(value)
        if inner is None:
            return type(value)(mark(item, parent) for item in value) if type(value) in (tuple, list) else value
        eqns = []
        around = equations[parent].place if parent is not None else None
        # a library function is traced once, and keeps the line of its first caller, perhaps in another program
        borrowed = around is not None and dialect.is_library_s(inner)
        for eqn in inner.eqns:
            number = len(equations)
            equations.append(Equation(eqn, parent, around if borrowed else dialect.place(eqn) or around))
            outer = equations[parent].way if parent is not None else None
            equations[number].way = outer or _way(dialect.names(eqn))
            params = {name: mark(param, number) for name, param in eqn.params.items()}
            marked = equations[number].eqn = dialect.marked(eqn, params, f"eqn~{number}")
            eqns.append(marked)
        out = dialect.with_equations(value, eqns)
        known[id(value)] = value, out
        return out

    marked = mark(jaxpr, None)
    by_eqn = {id(equation.eqn): number for number, equation in enumerate(equations)}
    returned: dict[int, list[int]] = {}
    for place, atom in enumerate(dialect.inside(marked).outvars):
        returned.setdefault(id(atom), []).append(place)
    for equation in equations:
        if equation.parent is None:
            equation.returned_at = tuple(place for var in equation.eqn.outvars for place in returned.get(id(var), ()))
    _find_live(dialect.inside(marked), None, equations, by_eqn, dialect)
    find_same(dialect.inside(marked), equations, by_eqn, dialect)
    find_operands(dialect.inside(marked), equations, by_eqn, dialect)
    return marked, equations


def _way(names: str) -> str | None:
    """Return "forward" or "backward" if a name stack belongs to a derivative's forward or reverse pass, else None."""
    return "backward" if "transpose(" in names else "forward" if "jvp(" in names else None


def _find_live(
    jaxpr: Any, used: Sequence[bool] | None, equations: list[Equation], by_eqn: dict[int, int], dialect: Dialect
) -> list[bool]:
    """Mark the equations that results or effects depend on as `live`; return which inputs of the jaxpr these read, or the
    jaxpr returns. `used` says which outputs count; None means all. `by_eqn` maps the ids of equations to their numbers.
    """
    asked = used or [True] * len(jaxpr.outvars)
    needed = {id(atom) for atom, is_used in zip(jaxpr.outvars, asked, strict=True) if is_used}
    for eqn in reversed(jaxpr.eqns):
        results = [id(var) in needed for var in eqn.outvars]
        if not any(results) and not eqn.effects:
            continue
        equations[by_eqn[id(eqn)]].live = True

        def inside(inner: Any, used: Sequence[bool] | None) -> list[bool]:
            return _find_live(inner, used, equations, by_eqn, dialect)

        read = _mark_loop(eqn, results, inside, dialect) if not eqn.effects else None
        read = read or _mark_inside(eqn, results, inside, dialect)
        needed.update(id(atom) for atom, is_read in zip(eqn.invars, read, strict=True) if is_read)
    return [id(var) in needed for var in jaxpr.invars]


def _mark_inside(
    eqn: Any, results: list[bool], inside: Callable[[Any, Sequence[bool] | None], list[bool]], dialect: Dialect
) -> list[bool]:
    """Mark the live equations in an equation's jaxprs; return which of its operands are read. For a call or a branch without
    effects, these are the ones that used results depend on; else all. `results` says which results are used;
    `inside(jaxpr, used)` marks one jaxpr (`_find_live`).
    """
    jaxprs, operands = list(jaxprs_of(eqn, dialect)), eqn.invars
    is_branch = str(eqn.primitive.name) == "cond"
    if is_branch and dialect.is_literal(eqn.invars[0]):  # the predicate is a constant: one branch always runs
        jaxprs = [jaxprs[min(max(int(eqn.invars[0].val), 0), len(jaxprs) - 1)]]
    found: list[list[bool]] = []
    for inner in jaxprs:
        one_to_one = len(inner.outvars) == len(results) and not eqn.effects
        found.append(inside(inner, results if one_to_one else None))
    given = operands[1:] if is_branch else operands
    is_known = is_branch or (len(jaxprs) == 1 and str(eqn.primitive.name) in CALLS)
    if eqn.effects or not is_known or any(len(read) != len(given) for read in found):
        return [True] * len(operands)
    return [True] * is_branch + [any(reads) for reads in zip(*found, strict=True)]


def _mark_loop(
    eqn: Any, results: list[bool], inside: Callable[[Any, Sequence[bool] | None], list[bool]], dialect: Dialect
) -> list[bool] | None:
    """Mark the live equations in a loop's body; return which of the loop's operands are read, or None if the equation
    is not a loop. `results` and `inside` are those of `_mark_inside`.

    The next turn reads a carry, and the condition of a `while` may, even if nobody reads the loop's result. So the set
    of live carries grows until it contains all carries that it depends on.
    """
    params = eqn.params
    if params.get("length") == 0:  # a loop without turns: nothing in its body is live
        return [True] * len(eqn.invars)
    before: list[bool] = []  # which constants of the condition are read
    if "cond_jaxpr" in params:
        tested = inside(dialect.inside(params["cond_jaxpr"]), None)
        before, tested = tested[: params["cond_nconsts"]], tested[params["cond_nconsts"] :]
        body, first, carries = dialect.inside(params["body_jaxpr"]), params["body_nconsts"], len(results)
    elif "num_carry" in params or "ft_in" in params:
        if "ft_in" in params:  # since JAX 0.11 a scan has these: the trees of constants, carry and xs
            first, carries, _ = (len(list(part)) for part in params["ft_in"].unpack())
        else:
            first, carries = params["num_consts"], params["num_carry"]
        body, tested = dialect.inside(params["jaxpr"]), [False] * carries
    else:
        return None
    asked = [one or other for one, other in zip(results, tested + [False] * (len(results) - carries), strict=True)]
    while True:
        read = inside(body, asked)
        again = read[first : first + carries]
        more = [one or other for one, other in zip(asked, again + [False] * (len(asked) - carries), strict=True)]
        if more == asked:
            return [*before, *read[:first], *asked[:carries], *read[first + carries :]]
        asked = more


def descendants(equations: Sequence[Equation]) -> dict[int, list[int]]:
    """Return, for each equation with jaxprs in it, all equations inside."""
    found: dict[int, list[int]] = {}
    for number, equation in enumerate(equations):
        parent = equation.parent
        while parent is not None:
            found.setdefault(parent, []).append(number)
            parent = equations[parent].parent
    return found
