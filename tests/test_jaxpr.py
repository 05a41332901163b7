"""Jaxprs: printed as JAX prints them, checked rule by rule, run, pruned and compared."""

from __future__ import annotations

import gc
import itertools
import textwrap
import weakref

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import wording
from jax import lax
from jax._src import core as jax_core
from jax._src.interpreters import partial_eval as jax_pe
from jaxpr_from_jax import convert, primitive_like

from jitkit import core
from jitkit.base.errors import JaxprTypeError
from jitkit.core.effects import no_effects
from jitkit.jaxpr import (
    DebugInfo,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    close_jaxpr,
    convert_constvars_jaxpr,
    dce_jaxpr,
    dce_rules,
    eval_jaxpr,
    jaxpr_as_fun,
    jaxprs_in_params,
    last_uses,
    subjaxprs,
)
from jitkit.jaxpr.check import RULES, check_jaxpr, jaxprs_equal
from jitkit.jaxpr.printer import JaxprPpContext, name_shared_jaxprs

# --- printing, against JAX ----------------------------------------------------------------------------------


@jax.jit
def g(x):
    return jnp.sin(x) * 2


@jax.jit
def b(x):
    return jnp.cos(x) + 1


def long(x):
    for i in range(12):
        x = jnp.sin(x) + i
    return x


def scoped(x):
    with jax.named_scope("outer"), jax.named_scope("inner"):
        return jnp.sin(x)


def unused(x):
    jnp.cos(x)
    return lax.top_k(x, 2)[0]


def same_name(x):
    first, second = jax.jit(lambda x: x + 1), jax.jit(lambda x: x * 2)
    return first(first(x)) + second(second(x))


def branches(x):
    return lax.cond(x > 0, lambda x: x, lambda x: g(x) + long(x), x)


def deep(x):
    f = jnp.sin
    for _ in range(6):
        f = jax.jit(lambda x, f=f: f(f(x)))
    return f(x)


matrix = np.ones((3, 3), np.float32)
vector = np.ones(3, np.float32)
f32_scalar = jax.ShapeDtypeStruct((), "float32")
PROGRAMS = {
    "no inputs, no outputs": (lambda: (), ()),
    "identity": (lambda x: x, (1.0,)),
    "on one line": (lambda x: jnp.sin(jnp.sin(x)), (1.0,)),
    "just too long for one line": (lambda x: x * 2 + 1, (1.0,)),
    "a constant": (lambda x: x * vector, (1.0,)),
    "unused results": (unused, (vector,)),
    "unused results inside": (lambda x: jax.jit(unused)(x), (vector,)),
    "nested jit": (lambda x: g(x), (1.0,)),
    "shared jit": (lambda x: g(g(x)), (1.0,)),
    "jit of jit of jit": (jax.jit(lambda x: jax.jit(lambda y: g(y) + y)(x) * x), (1.0,)),
    "a shared jit with the name of a variable": (lambda x: b(b(x)), (1.0,)),
    "two shared jits of one name": (same_name, (1.0,)),
    "long jit": (jax.jit(long), (1.0,)),
    "long branch": (branches, (1.0,)),
    "deep sharing": (deep, (1.0,)),
    "jit with donation": (jax.jit(lambda x, y: x + y, donate_argnums=1), (1.0, vector)),
    "jit that swaps": (lambda x, y: jax.jit(lambda x, y: (y, x, x))(x, y), (1.0, 2)),
    "jit with one operand twice": (lambda x: jax.jit(lambda x, y: x - y)(x, x), (1.0,)),
    "jit of literals": (lambda: jax.jit(lambda x: (x, 1.0))(2.0), ()),
    "cond": (lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x), (1.0,)),
    "scan": (lambda x: lax.scan(lambda c, y: (c + y, c * y), 0.0, x), (vector,)),
    "while": (lambda x: lax.while_loop(lambda c: c < 10, lambda c: c + 1, x), (1,)),
    "effects": (lambda x: jax.debug.print("x is {}", x), (1.0,)),
    "functions as parameters": (lambda x: jax.pure_callback(np.sin, f32_scalar, x), (1.0,)),
    "library functions": (lambda x: jnp.linalg.norm(x @ x.T) + jnp.var(x), (matrix,)),
    "random": (lambda x: jax.random.normal(jax.random.key(x), (3,)), (1,)),
    "batched": (jax.vmap(branches), (vector,)),
    "many variables": (lambda *xs: [x + y for x, y in itertools.pairwise(xs)], (1.0,) * 500),
    "scopes": (scoped, (1.0,)),
}  # fmt: skip

SETTINGS = {
    "plain": {},
    "source_info": {"source_info": True},
    "name_stack": {"name_stack": True},
    "both annotations": {"source_info": True, "name_stack": True},
    "no shapes": {"print_shapes": False},
    "effects": {"print_effects": True},
    "no rules": {"custom_pp_eqn_rules": False},
    "narrow": {"width": 30},
    "wide": {"width": 1000},
    "colour": {"use_color": True},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize(("function", "args"), PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_jaxpr_prints_as_in_jax(function, args, settings):
    theirs = jax.make_jaxpr(function)(*args)
    assert convert(theirs).pretty_print(**settings) == theirs.pretty_print(**settings)


def test_equations_print_as_in_jax():
    theirs = jax.make_jaxpr(unused)(vector)
    for ours, eqn in zip(convert(theirs).eqns, theirs.eqns, strict=True):
        assert repr(ours) == repr(eqn)


@pytest.mark.parametrize(
    "value",
    [True, False, 0, -7, 0.1, 1e30, float("inf"), float("nan"), -0.0, 1j, 1 - 2.5j]
    + [np.dtype(t).type(1) for t in ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"]]
    + [np.dtype(t).type(0.1) for t in ["float16", "float32", "complex64"]]
    + [ml_dtypes.bfloat16(0.1), ml_dtypes.float8_e4m3fn(0.1), ml_dtypes.int4(-3)],
    ids=lambda value: f"{type(value).__name__} {value}",
)
def test_a_literal_prints_as_in_jax(value):
    theirs = jax_core.Literal(value, jax_core.typeof(value))
    ours = Literal(value, core.get_aval(value))
    text = theirs.pretty_print(jax_core.JaxprPpContext())
    assert str(Jaxpr([], [], [ours], [])) == "{ lambda ; . let  in (" + text + ",) }"


def test_variables_are_named_as_in_jax():
    theirs, ours = jax_core.JaxprPpContext(), JaxprPpContext()
    for _ in range(2000):
        assert ours.name(Var(F32)) == theirs.var_names[jax_core.Var(jax_core.ShapedArray((), "float32"))]


def test_how_often_a_jaxpr_is_used_is_counted_in_linear_time():
    inner = Jaxpr([], [], [], [])
    for _ in range(60):  # 2**60 paths lead to the innermost jaxpr
        eqns = [JaxprEqn([], [], call_p, {"jaxpr": inner, "name": "f"})] * 2
        inner = Jaxpr([], [], [], eqns)
    names = list(name_shared_jaxprs(inner).values())
    assert names[:3] == ["f", "f1", "f2"]
    assert len(names) == 60


def test_the_printer_does_not_recurse_along_equations():
    x = Var(F32)
    eqns = [JaxprEqn([x], [Var(F32)], sin_p, {}) for _ in range(5000)]
    assert str(Jaxpr([], [x], [x], eqns)).count("\n") == 5001


def test_a_variable_shows_its_type():
    assert repr(Var(F32)).endswith("):float32[]")
    assert repr(Literal(2.0, F32)) == "Literal(2.0)"


# --- little programs, made by hand --------------------------------------------------------------------------

F32 = core.ShapedArray((), np.float32)
I32 = core.ShapedArray((), np.int32)
F32x3 = core.ShapedArray((3,), np.float32)

sin_p = core.Primitive("sin")
mul_p = core.Primitive("mul")
split_p = core.Primitive("split", multiple_results=True)
print_p = core.Primitive("print", multiple_results=True)
call_p = core.Primitive("call", multiple_results=True, pure_shape_rule=False)

sin_p.def_abstract_eval(lambda x: x)
split_p.def_abstract_eval(lambda x: [x, x])
print_p.def_abstract_eval(lambda x: [])
print_p.effects = lambda params: frozenset({"Print"})
call_p.def_abstract_eval(lambda *xs, jaxpr: jaxpr.out_avals)


@mul_p.def_abstract_eval
def _(x, y):
    if x.shape != y.shape:
        raise TypeError(f"shapes {x.shape} and {y.shape} differ")
    return x


def eqn(primitive, invars, outvars, effects=no_effects, **params):
    return JaxprEqn(invars, outvars, primitive, params, effects)


class Numpy(core.Trace):
    """Computes with numpy; counts which primitives ran."""

    def __init__(self):
        super().__init__(None)
        self.ran = []

    def process_primitive(self, primitive, args, params):
        self.ran.append(primitive.name)
        match primitive.name:
            case "sin":
                return np.sin(args[0])
            case "mul":
                return np.multiply(*args)
            case "split":
                return [args[0] + 1, args[0] + 2]
            case "print":
                return []


# --- the law ------------------------------------------------------------------------------------------------

a_, b_, c_ = Var(F32), Var(F32), Var(F32)
stray, wide = Var(F32), Var(F32x3)
ILL_FORMED = {
    "R1": (
        Jaxpr([], [a_], [b_], [eqn(mul_p, [a_, stray], [b_])]),
        """\
        Variable 'c' not defined

        rule R1: every variable is bound before it is read

        in equation 0 of 1:

          b:f32[] = mul a c

        while checking jaxpr:

        { lambda ; a:f32[]. let b:f32[] = mul a c in (b,) }""",
    ),
    "R1 at the outputs": (
        Jaxpr([], [a_], [stray], [eqn(sin_p, [a_], [b_])]),
        """\
        Variable 'b' not defined

        rule R1: every variable is bound before it is read

        while checking jaxpr:

        { lambda ; a:f32[]. let _:f32[] = sin a in (b,) }""",
    ),
    "R2": (
        Jaxpr([], [a_], [b_], [eqn(sin_p, [a_], [b_]), eqn(sin_p, [b_], [b_])]),
        """\
        Variable 'b' already bound

        rule R2: no variable is bound twice

        in equation 1 of 2:

          b:f32[] = sin b

        while checking jaxpr:

        { lambda ; a:f32[]. let b:f32[] = sin a; b:f32[] = sin b in (b,) }""",
    ),
    "R2 at the inputs": (
        Jaxpr([], [a_, a_], [a_], []),
        """\
        Variable 'a' already bound

        rule R2: no variable is bound twice

        while checking jaxpr:

        { lambda ; a:f32[] a:f32[]. let  in (a,) }""",
    ),
    "R3": (
        Jaxpr([], [a_], [b_], [eqn(mul_p, [a_, Literal(2, F32)], [b_])]),
        """\
        Literal value 2 does not match its type annotation f32[]

        rule R3: a literal is a scalar of the type written beside it

        in equation 0 of 1:

          b:f32[] = mul a 2:f32[]

        while checking jaxpr:

        { lambda ; a:f32[]. let b:f32[] = mul a 2:f32[] in (b,) }""",
    ),
    "R4": (
        Jaxpr([], [a_], [b_], [eqn(mul_p, [a_, 2.0], [b_])]),
        """\
        Operand 2.0 is neither a variable nor a literal

        rule R4: operands are variables or literals, results are variables

        in equation 0 of 1:

          b:f32[] = mul a 2.0

        while checking jaxpr:

        { lambda ; a:f32[]. let b:f32[] = mul a 2.0 in (b,) }""",
    ),
    "R4 at a result": (
        Jaxpr([], [a_], [a_], [eqn(sin_p, [a_], [Literal(2.0, F32)])]),
        """\
        Only variables can be bound, not Literal(2.0)

        rule R4: operands are variables or literals, results are variables

        in equation 0 of 1:

          2.0:f32[] = sin a

        while checking jaxpr:

        { lambda ; a:f32[]. let 2.0:f32[] = sin a in (a,) }""",
    ),
    "R5": (
        Jaxpr([wide], [], [wide], [], consts=[np.zeros(4, np.float32)]),
        """\
        Constant of type f32[4] given for constvar 'a' of type f32[3]

        rule R5: consts are as many as constvars, and of their types

        while checking jaxpr:

        { lambda a:f32[3]; . let  in (a,) }""",
    ),
    "R5 by number": (
        Jaxpr([wide], [], [wide], [], consts=[1, 2]),
        """\
        Jaxpr has 1 constvar and 2 consts

        rule R5: consts are as many as constvars, and of their types

        while checking jaxpr:

        { lambda a:f32[3]; . let  in (a,) }""",
    ),
    "R6": (
        Jaxpr([], [a_], [b_], [eqn(call_p, [a_], [b_], jaxpr=Jaxpr([wide], [c_], [c_], []))]),
        """\
        Jaxpr in a parameter is not closed: it has 1 constvar and 0 consts

        rule R6: jaxprs in parameters are closed, and obey these rules

        in equation 0 of 1:

          b:f32[] = call[jaxpr={ lambda c:f32[3]; d:f32[]. let  in (d,) }] a

        while checking jaxpr:

        { lambda ; a:f32[]. let
            b:f32[] = call[jaxpr={ lambda c:f32[3]; d:f32[]. let  in (d,) }] a
          in (b,) }""",
    ),
    "R6 because of R1 inside": (
        Jaxpr([], [a_], [b_], [eqn(call_p, [a_], [b_], jaxpr=Jaxpr([], [c_], [a_], []))]),
        """\
        Variable 'b' not defined

        rule R1: every variable is bound before it is read

        while checking jaxpr:

        { lambda ; a:f32[]. let  in (b,) }

        rule R6: jaxprs in parameters are closed, and obey these rules

        in equation 0 of 1:

          b:f32[] = call[jaxpr={ lambda ; c:f32[]. let  in (a,) }] a

        while checking jaxpr:

        { lambda ; a:f32[]. let
            b:f32[] = call[jaxpr={ lambda ; c:f32[]. let  in (a,) }] a
          in (b,) }""",
    ),
    "R7": (
        Jaxpr([], [a_, wide], [b_], [eqn(mul_p, [a_, wide], [b_])]),
        """\
        Primitive mul does not accept these operands and parameters: shapes () and (3,) differ

        rule R7: the primitive accepts the operands and parameters

        in equation 0 of 1:

          c:f32[] = mul a b

        while checking jaxpr:

        { lambda ; a:f32[] b:f32[3]. let c:f32[] = mul a b in (c,) }""",
    ),
    "R8": (
        Jaxpr([], [a_], [b_], [eqn(split_p, [a_], [b_])]),
        """\
        Primitive split gives 2 results, but the equation binds 1 variable

        rule R8: an equation binds a variable to each result

        in equation 0 of 1:

          b:f32[] = split a

        while checking jaxpr:

        { lambda ; a:f32[]. let b:f32[] = split a in (b,) }""",
    ),
    "R9": (
        Jaxpr([], [a_], [wide], [eqn(sin_p, [a_], [wide])]),
        """\
        Value for variable 'b' inconsistently typed as f32[] for let-binder of type f32[3]

        rule R9: a variable has the type of the result it is bound to

        in equation 0 of 1:

          b:f32[3] = sin a

        while checking jaxpr:

        { lambda ; a:f32[]. let b:f32[3] = sin a in (b,) }""",
    ),
    "R10": (
        Jaxpr([], [a_], [a_], [eqn(print_p, [a_], [])]),
        """\
        Inferred effects do not match equation effects. Equation effects: {}. Inferred effects: {Print}

        rule R10: the effects of an equation are those of its primitive

        in equation 0 of 1:

          print a

        while checking jaxpr:

        { lambda ; a:f32[]. let print a in (a,) }""",
    ),
    "R11": (
        Jaxpr([], [a_], [a_], [eqn(print_p, [a_], [], frozenset({"Print"}))]),
        """\
        Equation effect not present in jaxpr effects. Equation effect: Print. Jaxpr effects: {}

        rule R11: the effects of a jaxpr are those of its equations

        in equation 0 of 1:

          print a

        while checking jaxpr:

        { lambda ; a:f32[]. let print a in (a,) }""",
    ),
    "R11 by invention": (
        Jaxpr([], [a_], [a_], [], frozenset({"Print"})),
        """\
        Jaxpr effect Print is not the effect of any equation

        rule R11: the effects of a jaxpr are those of its equations

        while checking jaxpr:

        { lambda ; a:f32[]. let  in (a,) }""",
    ),
}


@pytest.mark.parametrize(("jaxpr", "message"), ILL_FORMED.values(), ids=ILL_FORMED.keys())
def test_an_ill_formed_jaxpr_is_refused_by_its_rule(jaxpr, message):
    with pytest.raises(JaxprTypeError) as caught:
        check_jaxpr(jaxpr)
    assert str(caught.value) == textwrap.dedent(message)


def test_every_rule_has_an_example_above():
    assert [rule.number for rule in RULES] == list(dict.fromkeys(case.split()[0] for case in ILL_FORMED))


def test_a_well_formed_jaxpr_with_everything_in_it_is_accepted():
    x, y, z, k, p, q = Var(F32x3), Var(F32x3), Var(F32x3), Var(F32x3), Var(F32x3), Var(F32x3)
    weak = Var(core.ShapedArray((3,), np.float32, weak_type=True))
    effects = frozenset({"Print"})
    inner = Jaxpr([], [p], [q], [eqn(sin_p, [p], [q])])
    jaxpr = Jaxpr(
        [k],
        [x],
        [weak, y, Literal(2.0, F32), Literal(np.int32(1), I32)],
        [
            eqn(split_p, [x], [y, z]),
            eqn(call_p, [y], [weak], jaxpr=inner),
            eqn(mul_p, [k, weak], [Var(F32x3)]),
            eqn(print_p, [x], [], effects),
        ],
        effects,
        consts=[np.ones(3, np.float32)],
    )
    checked = set()
    check_jaxpr(jaxpr, checked)
    assert checked == {jaxpr, inner}


def test_a_jaxpr_that_is_shared_is_checked_once():
    asked = []
    once_p = core.Primitive("once", pure_shape_rule=False)
    once_p.def_abstract_eval(lambda x: asked.append(x) or x)
    x, y = Var(F32), Var(F32)
    check_jaxpr(Jaxpr([], [x], [y], [eqn(once_p, [x], [y])]))
    alone = len(asked)
    inner = Jaxpr([], [x], [y], [eqn(once_p, [x], [y])])
    u = [Var(F32) for _ in range(4)]
    asked.clear()
    check_jaxpr(Jaxpr([], u[:1], u[3:], [eqn(call_p, [u[i]], [u[i + 1]], jaxpr=inner) for i in range(3)]))
    assert len(asked) == alone


def test_python_scalars_fit_a_width_of_any_size_and_others_only_their_own():
    good = [(True, "bool"), (1, "int8"), (1, "uint64"), (1.0, "bfloat16"), (1.0, "float64"), (1j, "complex64")]
    good += [(np.float32(1), "float32"), (np.float64(1), "float32"), (np.float64(1), "float64")]
    bad = [(1, "float32"), (1.0, "int32"), (True, "int32"), (1j, "float32"), (np.float16(1), "float32"), ("a", "int8")]
    for value, dtype in good:
        check_jaxpr(Jaxpr([], [], [Literal(value, core.ShapedArray((), np.dtype(dtype)))], []))
    for value, dtype in bad:
        with pytest.raises(JaxprTypeError, match="does not match its type annotation"):
            check_jaxpr(Jaxpr([], [], [Literal(value, core.ShapedArray((), np.dtype(dtype)))], []))


def test_only_the_neighbourhood_of_an_equation_is_shown():
    variables = [Var(F32) for _ in range(101)]
    eqns = [eqn(sin_p, [x], [y]) for x, y in itertools.pairwise(variables)]
    eqns[50] = eqn(sin_p, [stray], [variables[51]])
    with pytest.raises(JaxprTypeError, match="in equation 50 of 100:") as caught:
        check_jaxpr(Jaxpr([], variables[:1], variables[-1:], eqns))
    shown = str(caught.value).split("while checking jaxpr:\n\n")[1].split("\n")
    assert [line.strip() for line in shown[1:3]] == ["...", "bp:f32[] = sin bo"]
    assert len(shown) == 24


def _first_line_of(check, jaxpr, error):
    with pytest.raises(error) as caught:
        check(jaxpr)
    return str(caught.value).split("\n")[0]


def _break_1(eqns):
    return eqns[1:]


def _break_2(eqns):
    return eqns[:1] + eqns


def _break_3(eqns):
    bad = jax_core.Literal(2.0, jax_core.ShapedArray((), np.dtype("int32")))
    return [eqns[0], eqns[1].replace(invars=[eqns[1].invars[0], bad]), *eqns[2:]]


def _break_9(eqns):
    bad = jax_core.Var(jax_core.ShapedArray((3,), np.dtype("float32")))
    return [eqns[0], eqns[1].replace(outvars=[bad]), *eqns[2:]]


@pytest.mark.words
@pytest.mark.parametrize("break_it", [_break_1, _break_2, _break_3, _break_9])
def test_the_first_line_of_the_message_is_that_of_jax(break_it):
    theirs = jax.make_jaxpr(lambda x: jnp.sin(x) * 2 + jnp.cos(x))(1.0).jaxpr
    for good in theirs.eqns:
        primitive_like(good.primitive).def_abstract_eval(lambda *avals, **params: avals[0])
    theirs = theirs.replace(eqns=break_it(theirs.eqns))
    expected = _first_line_of(jax_core.check_jaxpr, theirs, jax.errors.JaxprTypeError)
    assert _first_line_of(check_jaxpr, convert(theirs), JaxprTypeError) == expected


# --- running ------------------------------------------------------------------------------------------------


def _little_program():
    """Return a jaxpr with a const, a literal, an unused result, and a primitive of two results."""
    k, x, p, q, s, t = (Var(F32x3) for _ in range(6))
    eqns = [eqn(split_p, [x], [p, q]), eqn(sin_p, [q], [s]), eqn(mul_p, [s, k], [t])]
    return Jaxpr([k], [x], [t, x, Literal(7.0, F32)], eqns, consts=[np.full(3, 2, np.float32)])


def test_eval_jaxpr_binds_the_primitives_in_order():
    jaxpr, trace, x = _little_program(), Numpy(), np.arange(3, dtype=np.float32)
    with core.set_current_trace(trace):
        product, same, literal = eval_jaxpr(jaxpr, [np.float32(3)], x)
        by_its_consts = jaxpr_as_fun(jaxpr)(x)
    np.testing.assert_array_equal(product, np.sin(x + 2) * np.float32(3))
    assert same is x
    assert literal == 7.0
    np.testing.assert_array_equal(by_its_consts[0], np.sin(x + 2) * np.float32(2))
    assert trace.ran == ["split", "sin", "mul"] * 2


def test_eval_jaxpr_lets_values_go_after_their_last_use():
    class Value:
        pass

    alive = weakref.WeakSet()

    class Counting(core.Trace):
        def process_primitive(self, primitive, args, params):
            del args
            gc.collect()
            counts.append(len(alive))
            value = Value()
            alive.add(value)
            return value

    counts = []
    variables = [Var(F32) for _ in range(8)]
    eqns = [eqn(sin_p, [x], [y]) for x, y in itertools.pairwise(variables)]
    with core.set_current_trace(Counting(None)):
        eval_jaxpr(Jaxpr([], variables[:1], variables[-1:], eqns), [], None)
    assert counts == [0, 1, 1, 1, 1, 1, 1]  # only the operand is alive


def test_the_last_use_of_a_result_that_nobody_reads_is_its_equation():
    jaxpr = _little_program()
    (k,), (p, q), (s,) = jaxpr.constvars, jaxpr.eqns[0].outvars, jaxpr.eqns[1].outvars
    assert last_uses(jaxpr) == [{p}, {q}, {s, k}]


def test_eval_jaxpr_says_how_many_values_it_takes():
    with pytest.raises(TypeError) as caught:
        eval_jaxpr(_little_program(), [], 1, 2)
    if wording.compared:
        assert str(caught.value) == "the jaxpr takes 1 constants and 1 arguments, got 0 and 2"


# --- dead code ----------------------------------------------------------------------------------------------

_steps = st.lists(st.tuples(st.sampled_from(["sin", "mul", "top_k", "print"]), st.integers(0, 50), st.integers(0, 50)))


def _straight_line(steps):
    def program(*values):
        values = list(values)
        for name, i, j in steps:
            x, y = values[i % len(values)], values[j % len(values)]
            match name:
                case "sin":
                    values.append(lax.sin(x))
                case "mul":
                    values.append(lax.mul(x, y))
                case "top_k":
                    values.append(lax.top_k(x, 3)[0])
                case "print":
                    jax.debug.print("{}", x)
        return values[-4:]

    return program


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(_steps, st.data())
def test_dead_code_is_what_jax_takes_for_dead(steps, data):
    theirs = jax.make_jaxpr(_straight_line(steps))(vector, vector, vector).jaxpr
    bools = st.booleans()
    used = data.draw(st.lists(bools, min_size=len(theirs.outvars), max_size=len(theirs.outvars)))
    keep = data.draw(bools | st.lists(bools, min_size=3, max_size=3))
    expected, expected_inputs = jax_pe.dce_jaxpr(theirs, used, keep)
    pruned, used_inputs = dce_jaxpr(convert(theirs), used, keep)
    assert used_inputs == expected_inputs
    assert str(pruned) == str(expected)
    assert len(pruned.effects) == len(expected.effects)
    assert pruned.debug_info.arg_names == expected.debug_info.arg_names
    assert pruned.debug_info.result_paths == expected.debug_info.result_paths


def test_an_unused_const_is_dropped_with_its_constvar_and_an_open_jaxpr_keeps_it():
    jaxpr = _little_program()
    pruned, used_inputs = dce_jaxpr(jaxpr, [False, True, False])
    assert (pruned.constvars, pruned.consts, pruned.eqns, used_inputs) == ([], [], [], [True])
    pruned, _ = dce_jaxpr(jaxpr.replace(consts=()), [False, True, False])
    assert pruned.constvars == jaxpr.constvars


def test_dead_code_of_one_jaxpr_is_found_once_and_forgotten_with_it():
    jaxpr = _little_program()
    pruned, _ = dce_jaxpr(jaxpr, True)
    assert dce_jaxpr(jaxpr, [True] * 3)[0] is pruned
    assert dce_jaxpr(jaxpr, False)[0] is not pruned
    gone = weakref.ref(jaxpr), weakref.ref(pruned)
    del jaxpr, pruned
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_a_primitive_can_have_its_own_rule_for_dead_code(monkeypatch):
    def only_used_results(used, call):
        inner, used_inputs = dce_jaxpr(call.params["jaxpr"], used)
        operands = [x for x, kept in zip(call.invars, used_inputs, strict=True) if kept]
        results = [x for x, kept in zip(call.outvars, used, strict=True) if kept]
        return used_inputs, call.replace(invars=operands, outvars=results, params={"jaxpr": inner})

    monkeypatch.setitem(dce_rules, call_p, only_used_results)
    p, q, r, x, y, u, v = (Var(F32) for _ in range(7))
    inner = Jaxpr([], [p, q], [r, q], [eqn(sin_p, [p], [r])])
    jaxpr = Jaxpr([], [x, y], [u], [eqn(call_p, [x, y], [v, u], jaxpr=inner)])
    pruned, used_inputs = dce_jaxpr(jaxpr, True)
    assert used_inputs == [False, True]
    assert str(pruned) == (
        "{ lambda ; a:f32[]. let\n    b:f32[] = call[jaxpr={ lambda ; c:f32[]. let  in (c,) }] a\n  in (b,) }"
    )


# --- parts --------------------------------------------------------------------------------------------------


def test_constvars_become_the_first_inputs():
    info = DebugInfo("jit", "f at here.py:1", ("x",), ("", "", ""))
    jaxpr = _little_program().replace(debug_info=info)
    converted = convert_constvars_jaxpr(jaxpr)
    assert (converted.constvars, converted.consts) == ([], [])
    assert converted.invars == jaxpr.constvars + jaxpr.invars
    assert converted.debug_info.arg_names == ("", "x")
    assert convert_constvars_jaxpr(jaxpr) is converted
    assert convert_constvars_jaxpr(converted) is converted


def test_closing_a_jaxpr_needs_a_const_for_each_constvar():
    opened = _little_program().replace(consts=())
    assert close_jaxpr(opened, [1]).consts == [1]
    with pytest.raises(ValueError, match=r"^the jaxpr has 1 constvars, got 2 consts for them$"):
        close_jaxpr(opened, [1, 2])


def test_a_jaxpr_is_its_own_closed_jaxpr():
    jaxpr = _little_program()
    assert jaxpr.jaxpr is jaxpr
    assert jaxpr.literals is jaxpr.consts
    assert jaxpr.in_avals == [F32x3]
    assert jaxpr.out_avals == [F32x3, F32x3, F32]


def test_replace_forgets_names_only_where_inputs_or_outputs_change():
    info = DebugInfo("jit", "f at here.py:1", ("x",), ("", "", ""))
    jaxpr = _little_program().replace(debug_info=info)
    assert jaxpr.replace(eqns=[]).debug_info is info
    assert jaxpr.replace(invars=list(jaxpr.invars)).debug_info is info
    assert jaxpr.replace(invars=[]).debug_info.arg_names == ()
    assert jaxpr.replace(invars=[], debug_info=info).debug_info is info
    with pytest.raises(TypeError, match="unexpected keyword argument 'equations'"):
        jaxpr.replace(equations=[])


def test_an_equation_is_replaced_by_parts():
    old = eqn(sin_p, [a_], [b_], accuracy=None)
    new = old.replace(params={})
    assert (new.invars, new.outvars, new.primitive, new.params) == ([a_], [b_], sin_p, {})
    assert old.params == {"accuracy": None}


def test_debug_info_knows_the_function_and_is_silent_about_names_that_do_not_fit():
    info = DebugInfo("jit", "f at a folder/here.py:1", ("x",))
    assert info.func_name == "f"
    assert info.safe_arg_names(1) == ("x",)
    assert info.safe_arg_names(2) == ("", "")
    assert info.safe_result_paths(2) == ("", "")


def test_inner_jaxprs_are_found_bare_and_in_tuples_and_not_inside_of_each_other():
    innermost = Jaxpr([], [], [], [])
    middle = Jaxpr([], [], [], [eqn(call_p, [], [], jaxpr=innermost)])
    branches = {"jaxpr": middle, "branches": (innermost, innermost), "other": [innermost], "n": 1}
    assert list(jaxprs_in_params(branches)) == [middle, innermost, innermost]
    assert list(subjaxprs(Jaxpr([], [], [], [eqn(call_p, [], [], jaxpr=middle)] * 2))) == [middle, middle]


# --- sameness -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "args"), PROGRAMS.values(), ids=PROGRAMS.keys())
def test_two_copies_of_a_jaxpr_are_equal(function, args):
    theirs = jax.make_jaxpr(function)(*args)
    assert jaxprs_equal(convert(theirs), convert(theirs))


def _variant(operands=(0, 1), literal=2.0, const=1.0, aval=F32, primitive=mul_p, output=0, effects=(), **params):
    k, x, y, z, w = Var(F32), Var(aval), Var(aval), Var(aval), Var(aval)
    pair = [x, y]
    inner = Jaxpr([], [Var(F32)], [Literal(literal, F32)], [])
    eqns = [
        eqn(primitive, [pair[i] for i in operands], [z]),
        eqn(call_p, [k], [w], frozenset(effects), jaxpr=inner, branches=(inner, inner), **params),
    ]
    return Jaxpr([k], [x, y], [[z, w][output], Literal(1.0, F32)], eqns, frozenset(effects), consts=[np.float32(const)])


@pytest.mark.parametrize(
    "difference",
    [
        {"operands": (1, 0)},
        {"operands": (0, 0)},
        {"operands": (0,)},
        {"literal": 3.0},
        {"literal": -2.0},
        {"const": 2.0},
        {"aval": I32},
        {"primitive": sin_p},
        {"output": 1},
        {"effects": ("Print",)},
        {"axis": 0},
    ],
    ids=str,
)
def test_jaxprs_that_differ_in_anything_but_names_are_not_equal(difference):
    assert jaxprs_equal(_variant(), _variant())
    assert not jaxprs_equal(_variant(), _variant(**difference))
    assert not jaxprs_equal(_variant(**difference), _variant())


def test_nans_are_equal_and_zeros_of_two_signs_are_not():
    assert jaxprs_equal(_variant(literal=float("nan")), _variant(literal=float("nan")))
    assert not jaxprs_equal(_variant(const=0.0), _variant(const=-0.0))
    assert jaxprs_equal(_variant(table=np.zeros(2)), _variant(table=np.zeros(2)))
    assert not jaxprs_equal(_variant(table=np.zeros(2)), _variant(table=np.zeros(3)))
