"""The errors of traced values, against real JAX's: classes, bases, first lines, and what stands below."""

from __future__ import annotations

import gc
import pathlib
import re
import types
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jitkit.errors
from jitkit.base import config, errors

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "errors.md"


class FakeTracer:
    """Has the attributes of a tracer that our error classes, and real JAX's, read."""

    def __init__(self, shape: str = "float32[3]", origin: str = "\nIt came from there.") -> None:
        self.shape, self.origin = shape, origin
        self._trace = types.SimpleNamespace()

    def __repr__(self) -> str:
        return f"FakeTracer({self.shape})"

    def _error_repr(self) -> str:
        return f"traced array with shape {self.shape}"

    def _static_name(self):
        return None

    def _origin_msg(self) -> str:
        return self.origin


OF_TRACERS = [
    "ConcretizationTypeError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TracerArrayConversionError",
    "NonConcreteBooleanIndexError",
]
OF_MESSAGES = ["UnexpectedTracerError", "KeyReuseError"]


# JAX's error classes, without InconclusiveDimensionOperation: jitkit has no symbolic dimensions.
OF_JAX = {name for name in vars(jax.errors) if name.endswith("Error")}


@pytest.mark.parametrize("name", sorted(OF_JAX))
def test_every_class_that_jax_has_is_here_with_the_same_bases(name):
    theirs = [base.__name__ for base in getattr(jax.errors, name).__mro__]
    ours = [base.__name__ for base in getattr(errors, name).__mro__]
    mixins = {"_JAXErrorMixin", "_LinkedError"}
    assert [base for base in ours if base not in mixins] == [base for base in theirs if base not in mixins]


def without_link(message: str) -> str:
    body, _, link = message.rpartition("\nSee ")
    assert link.startswith(("https://docs.jax.dev/", str(PAGE)))
    return body


@pytest.mark.parametrize("name", OF_TRACERS)
@pytest.mark.parametrize("origin", ["", "\nThe error occurred while tracing f at f.py:1 for jit. "])
def test_a_message_begins_with_all_that_jax_says_and_ends_with_the_address_of_its_section(name, origin):
    tracer = FakeTracer("bool[]", origin)
    ours, theirs = getattr(errors, name)(tracer), getattr(jax.errors, name)(tracer)
    assert without_link(str(ours)).startswith(without_link(str(theirs)).rstrip("\n"))
    assert str(ours).endswith(f"\nSee {PAGE}#{name.lower()}")


def test_every_class_has_its_section_on_the_page():
    headings = re.findall(r"^## (\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted(name for name, found in vars(jitkit.errors).items() if isinstance(found, type))


def test_the_page_is_a_choice_and_where_there_is_no_clone_it_is_that_of_jax(monkeypatch):
    theirs = str(jax.errors.KeyReuseError("Say this.")).rpartition("#")[2]
    with config.override(errors_page="https://example.org/errors.html"):
        assert str(errors.KeyReuseError("Say this.")).endswith("\nSee https://example.org/errors.html#keyreuseerror")
    monkeypatch.setattr(errors, "_OWN_PAGE", PAGE.with_name("no such page"))
    ours = str(errors.KeyReuseError("Say this."))
    assert ours.startswith("Say this.\nSee https://docs.jax.dev/")
    assert ours.endswith(f"#{theirs}")


@pytest.mark.parametrize("name", OF_MESSAGES)
def test_an_error_made_from_a_message_is_that_message_and_the_link(name):
    ours, theirs = getattr(errors, name)("Say this."), getattr(jax.errors, name)("Say this.")
    assert without_link(str(ours)) == without_link(str(theirs)) == "Say this."


def test_the_context_of_a_concretization_stands_where_jax_has_it():
    context = "The axis argument must be known statically."
    ours = errors.ConcretizationTypeError(FakeTracer(), context)
    theirs = jax.errors.ConcretizationTypeError(FakeTracer(), context)
    assert context in str(ours)
    assert str(ours).startswith(without_link(str(theirs)))


def raised_by_jax(function, *args):
    with pytest.raises((TypeError, IndexError)) as caught:
        jax.jit(function)(*args)
    return caught.value


PROGRAMS = [
    (lambda x: 1 if x else 2, "TracerBoolConversionError", "bool[]", True),
    (lambda x: [1, 2][x], "TracerIntegerConversionError", "int32[]", 1),
    (lambda x: np.sin(x), "TracerArrayConversionError", "float32[3]", np.ones(3, np.float32)),
    (lambda x: jnp.arange(x), "ConcretizationTypeError", "int32[]", 3),
    (lambda x: x[x > 0], "NonConcreteBooleanIndexError", "bool[3]", np.ones(3, np.float32)),
]


@pytest.mark.parametrize(("function", "name", "shape", "argument"), PROGRAMS)
def test_the_first_line_is_the_one_that_a_program_gets_from_jax(function, name, shape, argument):
    theirs = raised_by_jax(function, argument)
    subject = shape if name == "NonConcreteBooleanIndexError" else FakeTracer(shape)
    ours = getattr(errors, name)(subject)
    assert type(theirs).__name__ == type(ours).__name__
    assert str(ours).splitlines()[0] == str(theirs).splitlines()[0]


EDITS = {
    "ConcretizationTypeError": ["static_argnames", "x.astype", "jnp.where", "debug.print"],
    "TracerBoolConversionError": ["jnp.where", "lax.cond", "lax.while_loop", "static_argnames"],
    "TracerIntegerConversionError": ["lax.fori_loop", "jnp.array", "lax.switch", "static_argnames"],
    "TracerArrayConversionError": [
        *("jnp.sin(x) instead of np.sin(x)", "import jitkit.numpy", "jnp.asarray"),
        *("debug.callback", "pure_callback"),
    ],
    "NonConcreteBooleanIndexError": ["jnp.where(mask, x, 0)", "jnp.where(mask, y, x)"],
}


@pytest.mark.parametrize("name", OF_TRACERS)
def test_a_message_names_the_edits_that_mend_the_program(name):
    message = str(getattr(errors, name)(FakeTracer()))
    assert [edit for edit in EDITS[name] if edit not in message] == []
    assert max(map(len, message.splitlines())) <= 110


@pytest.mark.parametrize("name", OF_TRACERS)
def test_an_error_does_not_keep_the_tracer_alive(name):
    tracer = FakeTracer()
    gone = weakref.ref(tracer)
    error = getattr(errors, name)(tracer)
    del tracer
    assert gone() is None
    assert str(error)


def test_errors_of_the_runtime_are_caught_under_both_names():
    assert errors.XlaRuntimeError is errors.JaxRuntimeError
    with pytest.raises(errors.XlaRuntimeError, match="INTERNAL: no"):
        raise errors.JaxRuntimeError("INTERNAL: no")


log: list = []


@pytest.mark.usefixtures("nothing_old_to_walk")
def test_a_leak_is_the_class_and_first_line_of_jax_and_says_where_the_tracer_is_kept():
    with jax.checking_leaks(), pytest.raises(Exception, match="Leaked") as caught:
        jax.jit(lambda x: log.append(x))(1.0)
    log.clear()
    tracer = FakeTracer()
    tracer._trace = type("DynamicJaxprTrace", (), {})()
    log.extend(["first", tracer])
    gc.unfreeze()  # otherwise the search would skip objects that pytest made before the test
    ours = errors.leaked_tracer_error("jit", [tracer])
    log.clear()
    gc.freeze()
    assert type(ours) is type(caught.value) is Exception
    assert str(ours).splitlines()[0] == str(caught.value).splitlines()[0]
    assert "FakeTracer(float32[3])\nIt came from there." in str(ours)
    assert f"in item 1 of a list, in the variable `log` of the module {__name__}" in str(ours)


class Model:
    pass


def kept_by(keep):
    """Return what the error says about a tracer that `keep` keeps alive; `keep` returns the object that refers to it."""
    tracers = [FakeTracer()]
    alive = keep(tracers[0])
    message = str(errors.leaked_tracer_error("jit", tracers))
    assert alive is not None
    return message


@pytest.mark.usefixtures("nothing_old_to_walk")
def test_a_leak_through_an_attribute_or_a_dict_or_a_closure_is_described():
    def attribute(tracer):
        model = Model()
        model.weights = tracer
        return model

    def closure(tracer):
        def remember():
            return tracer

        return remember

    assert "in the attribute `weights` of a Model" in kept_by(attribute)
    assert "under the key `loss` of a dict" in kept_by(lambda tracer: {"loss": tracer})
    assert "closure.<locals>.remember refers to" in kept_by(closure)


def test_a_tracer_that_only_the_error_knows_is_listed_without_a_keeper():
    gc.collect()
    assert "It is kept" not in str(errors.leaked_tracer_error("jit", [FakeTracer()]))
