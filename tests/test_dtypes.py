"""Element types, narrowing and promotion, against real JAX in both x64 modes."""

from __future__ import annotations

import enum
import random
import re
import warnings
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import wording
from jax._src import core as jax_core
from jax._src import dtypes as jax_dtypes
from jax._src.literals import TypedNdArray

from jitkit.base import config
from jitkit.core import dtypes

# Some operands ask for 64-bit types explicitly. The warning itself is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:Explicitly requested dtype")

NAMES = tuple(dtypes.scalar_types)
NARROW_INTS = ("uint1", "uint2", "uint4", "int1", "int2", "int4")


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def x64(request):
    """Run a test in each mode of x64, set in JAX and in jitkit."""
    with jax.enable_x64(request.param), config.override(enable_x64=request.param):
        yield request.param


@dataclass(frozen=True)
class Aval:
    """A value that knows its dtype and weakness, as Array, Tracer and ShapedArray do."""

    dtype: Any
    weak_type: bool


class Operand:
    """One argument of a promotion, as real JAX and as jitkit see it."""

    def __init__(self, label: str, theirs: Any, ours: Any) -> None:
        self.label, self.theirs, self.ours = label, theirs, ours

    def __repr__(self) -> str:
        return self.label


def typed(name: str, weak: bool) -> Operand:
    dtype = np.dtype(dtypes.scalar_types[name])
    theirs = TypedNdArray(np.zeros((), dtype), aval=jax_core.ShapedArray((), dtype, weak_type=weak))
    return Operand(f"{'~' if weak else ''}{name}", theirs, Aval(dtype, weak))


STRONG = [typed(name, False) for name in NAMES]
# JAX has no default for weak integers of fewer than 8 bits.
WEAK = [typed(name, True) for name in NAMES if name not in NARROW_INTS]
PYTHON = [Operand(repr(x), x, x) for x in (True, 1, 2.5, 1j, int, float, complex, bool)]
NUMPY = [
    Operand(repr(x), x, x)
    for x in (np.int8(1), np.float64(1), np.uint64(1), np.ones(2, int), np.ones(2), ml_dtypes.bfloat16(1))
]
SPECS = [Operand(repr(x), x, x) for x in (None, np.dtype("int16"), "uint8", "bfloat16", np.float32, "int4")]
OPERANDS = STRONG + WEAK + PYTHON + NUMPY + SPECS


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the result of a call, or the class and the first line of its error. (JAX lists dtypes in that line in any
    order.)
    """
    try:
        return function(*args, **kwargs)
    except Exception as error:
        first_line = str(error).split("\n", maxsplit=1)[0]
        listed = re.match(r"Input dtypes \((.*?)\) (.*)", first_line)
        text: Any = first_line
        if listed:
            text = (frozenset(filter(None, listed[1].split(", "))), listed[2])
        return type(error).__name__, text


def disagreements(theirs: Any, ours: Any, cases: list[tuple[Operand, ...]], **kwargs: Any) -> list[str]:
    found = []
    for case in cases:
        expected = outcome(theirs, *(operand.theirs for operand in case), **kwargs)
        got = outcome(ours, *(operand.ours for operand in case), **kwargs)
        if got != expected:
            found.append(f"{case}: JAX gives {expected}, jitkit {got}")
    return found


PAIRS = [(a, b) for a in OPERANDS for b in OPERANDS]


def test_the_table_holds_the_types_that_jax_has():
    assert set(dtypes.kinds) == set(jax_dtypes._jax_types)
    assert dtypes.is_array_dtype(jax_dtypes.float0)
    assert dtypes.float0 == jax_dtypes.float0


def test_the_names_of_types_are_those_of_jax_numpy():
    theirs = {
        name: np.dtype(value.dtype)
        for name, value in vars(jnp).items()
        if isinstance(value, type) and isinstance(getattr(value, "dtype", None), np.dtype)
    }
    assert {name: np.dtype(cls) for name, cls in dtypes.numpy_names.items()} == theirs


def test_result_type_of_every_pair_agrees_with_jax(x64):
    assert len(PAIRS) > 5000
    assert not disagreements(jax.dtypes.result_type, dtypes.result_type, PAIRS, return_weak_type_flag=True)


def test_a_remembered_result_type_is_the_same_as_the_first_one(x64):
    cases = [(a, b) for a in STRONG + WEAK for b in STRONG + WEAK]
    first = [outcome(dtypes.result_type, a.ours, b.ours) for a, b in cases]
    again = [outcome(dtypes.result_type, a.ours, b.ours) for a, b in cases]
    assert first == again


def test_what_is_remembered_in_one_x64_mode_is_not_used_in_the_other():
    a, b = Aval(np.dtype("uint32"), False), Aval(np.dtype("int32"), False)
    assert dtypes.result_type(a, b) == np.int32
    with config.override(enable_x64=True):
        assert dtypes.result_type(a, b) == np.int64
    assert dtypes.result_type(a, b) == np.int32


def test_result_type_of_one_operand_agrees_with_jax(x64):
    cases = [(operand,) for operand in OPERANDS]
    assert not disagreements(jax.dtypes.result_type, dtypes.result_type, cases, return_weak_type_flag=True)


def test_result_type_of_three_and_four_operands_agrees_with_jax(x64):
    rng = random.Random(0)
    common = [o for o in OPERANDS if not re.search("float[468]|int[124]'?$", o.label)]
    pool = common * 3 + OPERANDS
    cases = [tuple(rng.choices(pool, k=rng.choice((3, 4)))) for _ in range(3000)]
    assert not disagreements(jax.dtypes.result_type, dtypes.result_type, cases, return_weak_type_flag=True)


def test_result_type_of_nothing_is_an_error_as_in_jax():
    assert outcome(dtypes.result_type) == outcome(jnp.result_type)


def test_lattice_result_type_keeps_the_width_of_weak_types_as_jax_does(x64):
    with_weak = [(a, b) for a in WEAK + PYTHON for b in STRONG + WEAK + PYTHON]
    assert not disagreements(jax_dtypes.lattice_result_type, dtypes.lattice_result_type, with_weak)
    weak_int16 = Aval(np.dtype("int16"), True)
    assert dtypes.lattice_result_type(weak_int16, weak_int16) == (np.int16, True)
    assert dtypes.result_type(weak_int16, weak_int16) == dtypes.default_int_dtype()


def test_promote_types_of_every_pair_agrees_with_jax(x64):
    specs = [*map(np.dtype, dtypes.scalar_types.values()), int, float, complex, bool, "int32", np.float64]
    cases = [(Operand(str(a), a, a), Operand(str(b), b, b)) for a in specs for b in specs]
    assert not disagreements(jnp.promote_types, dtypes.promote_types, cases)


def test_promotion_accepts_the_scalar_classes_of_jax_numpy(x64):
    assert dtypes.result_type(jnp.int8, jnp.float32) == np.float32
    assert dtypes.promote_types(jnp.int8, float) == jnp.promote_types(jnp.int8, float)


MIXTURES = [("float8_e5m2", "float32"), ("float6_e2m3fn", "float16"), ("int4", "int8")]


@pytest.mark.parametrize("operands", MIXTURES)
def test_mixing_narrow_types_is_an_error_that_ends_in_the_edit(operands):
    with pytest.raises(dtypes.TypePromotionError, match=r"using e\.g\. x\.astype\('\w+32'\)$") as caught:
        dtypes.result_type(*operands)
    for name in operands:
        assert f"'{name}'" in str(caught.value)


def test_the_lattice_has_no_cycle_and_every_node_is_its_own_upper_bound():
    for x64 in (False, True):
        bounds = dtypes.upper_bounds(x64)
        for node, above in bounds.items():
            assert node in above
            assert not any(node in bounds[other] for other in above if other is not node)


def test_a_dtype_outside_the_lattice_is_an_error_as_in_jax():
    assert outcome(dtypes.promote_types, "int32", "U3") == outcome(jnp.promote_types, "int32", "U3")


@pytest.mark.parametrize("spec", [*NAMES, int, float, complex, bool, np.float64, np.int64, "foo", "U3"])
def test_canonicalize_dtype_agrees_with_jax(x64, spec):
    assert outcome(dtypes.canonicalize_dtype, spec) == outcome(jax.dtypes.canonicalize_dtype, spec)


def test_default_dtypes_agree_with_jax(x64):
    for name in ("default_int_dtype", "default_uint_dtype", "default_float_dtype", "default_complex_dtype"):
        assert getattr(dtypes, name)() == getattr(jax_dtypes, name)()
    for spec in (None, int, float, complex, bool, "int16", np.float64):
        assert dtypes.jax_dtype(spec) == jax_dtypes.jax_dtype(spec)
    for kind in (bool, int, float, complex):
        assert dtypes.canonical_scalar_dtype(kind) == jax_dtypes.scalar_type_to_dtype(kind)


class Colour(enum.IntEnum):
    RED = 1


VALUES = [
    True,
    1,
    1.5,
    1j,
    Colour.RED,
    np.float64(1),
    np.float32(1),
    np.bool_(True),
    np.ones(2),
    np.ones(2, int),
    ml_dtypes.bfloat16(1),
    int,
    float,
    np.int64,
    np.int8,
    "float64",
    "int4",
    np.dtype("uint64"),
    jnp.float64,
    None,
    [1, 2],
    "U3",
    "foo",
    np.array(["a"]),
    np.array([None]),
    np.datetime64("2020-01-01"),
    jnp.array,
]


@pytest.mark.parametrize("value", VALUES, ids=[str(v)[:20] for v in VALUES])
def test_the_dtype_of_a_value_agrees_with_jax(x64, value):
    assert outcome(dtypes.dtype, value) == outcome(jax_dtypes.dtype, value)


def test_a_value_with_a_weak_type_keeps_its_dtype_in_32_bit_mode():
    assert dtypes.dtype(Aval(np.dtype("float64"), False)) == np.float64
    with jax.enable_x64(True):
        made_in_x64_mode = jnp.ones(3, "float64")
    assert dtypes.dtype(made_in_x64_mode) == np.float64


@pytest.mark.parametrize("value", [True, 1, 1.5, 1j, Colour.RED, np.float64(1), np.int64(1), np.ones(2), "a"])
def test_weakness_and_being_a_python_scalar_agree_with_jax(value):
    assert dtypes.is_weakly_typed(value) == jax_dtypes.is_weakly_typed(value)
    assert dtypes.is_python_scalar(value) == (type(value) in jax_dtypes.python_scalar_types)


def test_a_jax_array_says_itself_whether_it_is_weak():
    assert dtypes.is_weakly_typed(jnp.asarray(1.0))
    assert not dtypes.is_weakly_typed(jnp.ones(3))


@pytest.mark.parametrize("value", [True, 3, 2.5, 1j, np.int8(1), "bfloat16", "int4", "U3", dtypes.float0])
def test_the_python_type_of_an_element_agrees_with_jax(value):
    assert outcome(dtypes.scalar_type_of, value) == outcome(jax_dtypes.scalar_type_of, value)


USER_DTYPES = [*NAMES, int, float, complex, bool, np.float64, jnp.int64, None, "S", object, "foo"]


@pytest.mark.parametrize("spec", USER_DTYPES, ids=str)
def test_a_dtype_argument_gives_the_dtype_the_error_and_the_warning_that_jax_gives(x64, spec):
    def check(module: Any) -> tuple[Any, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = outcome(module.check_and_canonicalize_user_dtype, spec, "zeros")
        return result, [str(warning.message).replace("JITKIT_", "JAX_") for warning in caught]

    assert check(dtypes) == check(jax_dtypes)


def test_an_array_in_place_of_its_dtype_is_an_error_that_says_what_to_write():
    array = jnp.ones(3)
    ours = outcome(dtypes.check_and_canonicalize_user_dtype, array, "zeros")
    assert ours == outcome(jax_dtypes.check_and_canonicalize_user_dtype, array, "zeros")
    assert "dtype=arr.dtype" in ours[1]


def test_the_warning_about_narrowing_points_at_the_users_line():
    with pytest.warns(UserWarning, match="float64 requested in zeros is not available") as caught:
        dtypes.check_and_canonicalize_user_dtype("float64", "zeros")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("value", [2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63, 2**64, 3])
def test_an_int_that_does_not_fit_is_the_error_that_jax_raises(x64, value):
    ours = outcome(dtypes.scalar_type_to_dtype, int, value)
    assert ours == outcome(jax_dtypes.scalar_type_to_dtype, int, value)
    if isinstance(ours, tuple):
        assert outcome(dtypes.coerce_to_array, value) == ours


@pytest.mark.parametrize("value", [True, 7, 2.5, 1 + 2j, np.float64(3), np.ones((2, 3)), np.int16(4)])
def test_a_value_becomes_the_array_that_jax_makes_of_it(x64, value):
    ours, theirs = dtypes.coerce_to_array(value), np.asarray(jnp.asarray(value))
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


def test_an_array_that_needs_no_narrowing_is_not_copied():
    array = np.ones(3, np.float32)
    assert dtypes.coerce_to_array(array) is array


ABSTRACT = [
    np.generic,
    np.number,
    np.integer,
    np.signedinteger,
    np.unsignedinteger,
    np.inexact,
    np.floating,
    np.complexfloating,
    np.bool_,
    np.flexible,
]


@pytest.mark.parametrize("name", NAMES)
def test_issubdtype_agrees_with_jax_for_classes_dtypes_and_names(name):
    cls = dtypes.scalar_types[name]
    others = [*ABSTRACT, *dtypes.scalar_types.values(), *map(np.dtype, dtypes.scalar_types.values())]
    for a in (cls, np.dtype(cls), name):
        for b in others:
            assert dtypes.issubdtype(a, b) == jnp.issubdtype(a, b), (a, b)


@pytest.mark.parametrize("spec", [None, int, float, "f4", jnp.bfloat16])
def test_issubdtype_takes_what_numpy_takes(spec):
    for parent in ABSTRACT:
        assert dtypes.issubdtype(spec, parent) == jnp.issubdtype(spec, parent)


class KeyType(dtypes.ExtendedDType):
    name = "key<fry>"
    type = dtypes.prng_key


def test_an_extended_dtype_passes_through_everything_but_promotion_with_others():
    key = KeyType()
    value = Aval(key, False)
    assert dtypes.issubdtype(key, dtypes.prng_key)
    assert dtypes.issubdtype(key, dtypes.extended)
    assert not dtypes.issubdtype(key, np.number)
    assert not dtypes.issubdtype(np.float32, dtypes.extended)
    assert dtypes.issubdtype(key, key)
    assert dtypes.canonicalize_dtype(key) is key
    assert dtypes.dtype(value) is key
    assert dtypes.short_dtype_name(key) == "key<fry>"
    assert dtypes.result_type(value) is key
    assert dtypes.result_type(value, value) is key
    with pytest.raises(ValueError, match="is not a valid dtype for JAX type promotion" if wording.compared else None):
        dtypes.result_type(value, 1)


SINGLE_KINDS = ["bool", "signed integer", "unsigned integer", "real floating", "complex floating"]
KINDS = [*SINGLE_KINDS, "integral", "numeric", ("bool", "integral"), (np.int8, "complex floating")]


@pytest.mark.parametrize("name", NAMES)
def test_isdtype_agrees_with_jax(name):
    for kind in [*KINDS, "float32", np.int8, "nonsense", 7]:
        assert outcome(dtypes.isdtype, name, kind) == outcome(jnp.isdtype, name, kind), kind


@pytest.mark.parametrize("name", NAMES)
def test_what_is_asked_of_a_dtype_agrees_with_jax(name):
    questions = ("supports_inf", "itemsize_bits", "to_numeric_dtype", "to_inexact_dtype", "to_complex_dtype")
    for question in questions:
        assert getattr(dtypes, question)(name) == getattr(jax_dtypes, question)(name), question
    if name not in ("uint1", "int1", "uint2", "int2"):
        assert dtypes.to_floating_dtype(name) == jax_dtypes.to_floating_dtype(name)


def test_the_size_of_what_is_no_number_is_an_error():
    with pytest.raises(ValueError, match="unexpected input"):
        dtypes.itemsize_bits("U3")
    with pytest.raises(ValueError, match="None"):
        dtypes.itemsize_bits(None)


@pytest.mark.parametrize("name", NAMES)
def test_short_names_are_those_that_jax_prints_in_a_jaxpr(name):
    aval = jax_core.ShapedArray((3,), np.dtype(dtypes.scalar_types[name]))
    assert dtypes.short_dtype_name(name) + "[3]" == aval.str_short(short_dtypes=True)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float8_e5m2", "complex64"])
def test_the_limits_of_floats_agree_with_jax(name):
    for limit in ("bits", "eps", "max", "tiny"):
        assert getattr(dtypes.finfo(name), limit) == getattr(jnp.finfo(name), limit)


@pytest.mark.parametrize("name", ["int8", "uint64", "int4"])
def test_the_limits_of_integers_agree_with_jax(name):
    assert (dtypes.iinfo(name).min, dtypes.iinfo(name).max) == (jnp.iinfo(name).min, jnp.iinfo(name).max)


def test_safe_to_cast_agrees_with_jax(x64):
    names = [name for name in NAMES if not re.match("float[468]|u?int[124]$", name)]
    cases = [(Operand(a, a, a), Operand(b, b, b)) for a in names for b in names]
    cases += [(Operand(str(x), x, x), Operand(b, b, b)) for x in (1, 2.5, 1j) for b in names]
    assert not disagreements(jax_dtypes.safe_to_cast, dtypes.safe_to_cast, cases)


def test_only_types_of_numbers_are_valid_for_arrays():
    dtypes.check_valid_dtype(np.dtype("bfloat16"))
    for bad in (np.dtype("U3"), np.dtype(object), np.dtype("datetime64[s]")):
        assert outcome(dtypes.check_valid_dtype, bad) == outcome(jax_dtypes.check_valid_dtype, bad)
        assert outcome(dtypes.check_valid_dtype, bad) is not None
