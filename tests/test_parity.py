"""`docs/parity.md` says what is so: every section is compared with JAX again."""

from __future__ import annotations

import pkgutil
import re

import jax
import parity
import parity_samples
import pytest
import signatures
from tails import keeping

import jitkit
from jitkit.base import names_of_jax

PAGE = parity.PATH.read_text(encoding="utf-8")
SHORT = ("norm", "ops", "tree", "nn.initializers", "errors", "Jaxprs")  # sections with few names


def page_section(heading):
    """Return the part of the page below a heading."""
    title = f"`{heading}`" if heading.startswith("jitkit") else heading
    return re.search(rf"^## {re.escape(title)}$.*?(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)[0].strip()


def without_other_operands(table):
    """Return the rows of a table without their last cell."""
    return [row.rsplit(" | ", 1)[0].rstrip(" |") if row.startswith("|") else row for row in table.splitlines()]


@pytest.mark.parametrize("alias", keeping(list(parity.SECTIONS), *SHORT, mark=pytest.mark.rest))
def test_the_page_says_what_a_comparison_finds(alias):
    """Each name with one other kind of operand, and the next name with the next kind; the results of one call in eight."""
    comparison = parity.Comparison(alias, one_kind_in=11, one_result_in=8)
    assert comparison.unexpected == []
    if jax.__version__ != parity.VERSION:  # the page is about another version of JAX, so other rows may differ
        return
    [(heading, rows)] = comparison.sections.items()
    found = parity.render_section(heading, rows).strip()
    assert without_other_operands(page_section(heading)) == without_other_operands(found)


@pytest.mark.tail
@pytest.mark.parametrize("alias", list(parity.SECTIONS))
def test_the_page_says_what_a_comparison_with_all_kinds_of_operand_finds(alias):
    comparison = parity.Comparison(alias)
    assert comparison.unexpected == []
    if jax.__version__ == parity.VERSION:
        [(heading, rows)] = comparison.sections.items()
        assert page_section(heading) == parity.render_section(heading, rows).strip()


def test_the_page_says_what_differs_from_later_versions_only():
    assert parity.render_later() in PAGE


def test_the_page_says_which_rules_primitives_have():
    if jax.__version__ == parity.VERSION:
        assert page_section("Primitives") == parity.render_primitives().strip()


def test_every_reason_for_a_difference_is_on_the_page():
    assert {reason for _, reason in parity.REASONS if reason not in PAGE} == set()
    assert "DIFFERENT" not in PAGE


def test_parameters_of_public_functions_are_those_of_jax_or_there_is_a_reason():
    rows = signatures.rows()
    if jax.__version__ == parity.VERSION:
        assert [text for row in rows for text in row.unexpected()] == []
        used = {row.reason(name) for row in rows for name in row.found}
        assert {reason for reason in signatures.REASONS if reason not in used} == set()
        assert page_section("Signatures") == signatures.render().strip()
    else:  # a later JAX has more parameters; it also takes all of ours, except for one with another name
        ours_only = {text for row in rows for text in row.unexpected() if "JAX has not" in text}
        in_cpp = {text for text in ours_only if re.match(r"tree_util\.\w+Key:", text)}  # without signatures
        assert ours_only - in_cpp <= {"make_mesh: JAX has not `axis_shapes`"}


def test_parameters_that_differ_are_found():
    def differences(ours, theirs):
        return list(signatures.differences(ours, theirs))

    assert differences(lambda x, y=1: 0, lambda x, y=1: 0) == []
    assert differences(lambda a, /, y=1: 0, lambda b, /, y=1: 0) == []
    assert differences(lambda x, *, a=1, b=2: 0, lambda x, *, b=2, a=1: 0) == []
    assert differences(lambda x, y=1: 0, lambda x, y=2: 0) == ["y"]
    assert differences(lambda x, y=1: 0, lambda x, *, y=1: 0) == ["y"]
    assert differences(lambda x, y=1: 0, lambda x, z=1: 0) == ["z", "y"]
    assert differences(lambda x, y: 0, lambda y, x: 0) == ["order"]
    assert differences(lambda a, /: 0, lambda a, b, /: 0) == ["order"]


def test_nothing_that_differs_is_said_to_be_the_same():
    sample = parity.Sample("jnp", "sin", "jnp.sin(x)")
    ours = parity.results([sample], jitkit)[0]
    other = parity.results([parity.Sample("jnp", "cos", "jnp.cos(x)")], jax)[0]
    comparison = parity.Comparison("debug")
    comparison.unexpected.clear()
    row = comparison.program_row(sample, parity.different(ours, other), None)
    assert (row.values, row.jaxpr) == ("DIFFERENT", "same")
    assert comparison.unexpected[0].startswith("jnp.sin(x)")
    assert parity.same_result(jitkit.numpy.ones(2), jax.numpy.ones(2)) is None
    assert parity.same_result(jitkit.numpy.ones(2), jax.numpy.ones(2, int)) is not None
    assert parity.same_result(jitkit.numpy.asarray(1.0), jax.numpy.float32(1)) is not None  # one is weakly typed
    assert parity.same_result(jitkit.numpy.ones(2), jax.numpy.ones(2) * 1.001) is not None
    assert parity.same_result((1, 2), (1, 3)) is not None


def test_names_without_a_comparison_are_few_and_known():
    missing = re.findall(r"^\| `(\w+)` \| not compared", PAGE, re.MULTILINE)
    assert set(missing) == set(parity_samples.NOT_COMPARED)


def test_every_public_module_of_jax_is_looked_into():
    modules = {each.name for each in pkgutil.iter_modules(jax.__path__) if not each.name.startswith("_")}
    looked_into = {inside.partition(".")[0] for inside in names_of_jax.BY_MODULE}
    without_names_for_users = {"cloud_tpu_init", "collect_profile", "lib", "tools", "version"}
    assert modules - looked_into - without_names_for_users <= {
        "extend",
        "example_libraries",
    }  # the page leaves these out


def test_the_page_says_what_jax_has_besides():
    missing = parity.missing()
    for inside, names in missing.items():
        # the table also has names of later versions of JAX
        assert set(names) <= names_of_jax.missing(inside), inside
    if jax.__version__ == parity.VERSION:
        assert page_section("What JAX has besides") == parity.render_missing(missing).strip()
