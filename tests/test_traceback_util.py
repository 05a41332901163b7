"""Tracebacks without jitkit's frames: what is hidden, what stays, and that nothing is kept alive by it."""

from __future__ import annotations

import dataclasses
import gc
import os
import traceback
import warnings
import weakref

import jax
import jax.numpy as jnp
import pytest

import jitkit
from jitkit.base import config, traceback_util
from jitkit.core import dtypes

PACKAGE = os.path.dirname(os.path.dirname(traceback_util.__file__))

# Stands in for our own modules: code whose file name is in the package.
OWN_SOURCE = """
from jitkit.base.traceback_util import api_boundary, filter_traceback, stacklevel
import warnings

def inner(f, *args):
    return f(*args)

@api_boundary
def call(f, *args):
    return inner(f, *args)

def call_without_boundary(f, *args):
    return inner(f, *args)

def call_inline(f, *args):
    try:
        return inner(f, *args)
    except BaseException as error:
        filter_traceback(error)
        raise

@api_boundary
def fail():
    return inner(fail_here)

def fail_here():
    raise ValueError("ours")

@api_boundary
def chained(f):
    try:
        inner(f)
    except ValueError as error:
        raise TypeError("second") from error

@api_boundary
def call_after_a_miss(f):
    try:
        return {}["signature"]
    except KeyError:
        try:
            return {}["function"]
        except KeyError:
            return inner(f)

@api_boundary
def refuse(x):
    raise TypeError(f"add requires ndarray or scalar arguments, got {type(x)} at position 0.")

def warn():
    inner(lambda: warnings.warn("look here", stacklevel=stacklevel()))
"""


def module_at(filename, source=OWN_SOURCE):
    names: dict = {"__name__": "stand_in"}
    exec(compile(source, filename, "exec"), names)
    return type("Module", (), {name: staticmethod(f) for name, f in names.items() if callable(f)})


own = module_at(os.path.join(PACKAGE, "interpreters", "stand_in.py"))


def raised(function, *args):
    """Return the exception that a call raises. Its traceback begins with the frame of this function."""
    try:
        function(*args)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def functions_in(tb):
    return [frame.name for frame in traceback.extract_tb(tb)]


def user_fails(*_):
    raise ZeroDivisionError("mine")


def test_a_traceback_goes_from_the_users_call_to_the_users_line():
    error = raised(own.call, user_fails)
    assert functions_in(error.__traceback__) == ["raised", "user_fails"]


def test_an_error_of_ours_ends_at_the_users_call():
    assert functions_in(raised(own.fail).__traceback__) == ["raised"]


def test_frames_of_the_user_between_ours_stay():
    def user_calls_again(f):
        return own.call(f)

    error = raised(own.call, user_calls_again, user_fails)
    assert functions_in(error.__traceback__) == ["raised", "user_calls_again", "user_fails"]


def test_a_boundary_written_out_in_the_function_hides_it_too():
    assert functions_in(raised(own.call_inline, user_fails).__traceback__) == ["raised", "user_fails"]


def test_the_line_numbers_of_what_stays_are_right():
    error = raised(own.call, user_fails)
    last = traceback.extract_tb(error.__traceback__)[-1]
    assert (last.filename, last.line) == (__file__, 'raise ZeroDivisionError("mine")')

    def user_calls_again():
        return own.call_without_boundary(user_fails)

    middle = raised(own.call, user_calls_again).__traceback__.tb_next
    assert middle.tb_lineno == user_calls_again.__code__.co_firstlineno + 1


def test_the_message_the_class_and_the_arguments_are_untouched():
    error = raised(own.call, user_fails)
    assert (type(error), str(error), error.args) == (ZeroDivisionError, "mine", ("mine",))


def test_the_whole_traceback_can_still_be_reached():
    error = raised(own.call, user_fails)
    hidden = functions_in(error.__jitkit_traceback__)
    assert hidden == ["call_and_filter_traceback", "call", "inner", "user_fails"]


def test_the_whole_traceback_of_nested_boundaries_has_every_frame_once():
    def middle():
        return own.call(user_fails)

    error = raised(own.call, middle)
    one_boundary = ["call_and_filter_traceback", "call", "inner"]
    assert functions_in(error.__jitkit_traceback__) == [*one_boundary, "middle", *one_boundary, "user_fails"]
    error = raised(own.call, own.fail)
    inner_boundary = ["call_and_filter_traceback", "fail", "inner", "fail_here"]
    assert functions_in(error.__jitkit_traceback__) == one_boundary + inner_boundary


def test_a_note_says_once_how_to_see_more():
    error = raised(own.call, own.call, own.call, user_fails)
    (note,) = error.__notes__
    assert "JITKIT_TRACEBACK_FILTERING=off" in note
    assert "\n" not in note
    assert note in "".join(traceback.format_exception(error))


def test_mode_on_hides_frames_without_a_note():
    with config.override(traceback_filtering="on"):
        error = raised(own.call, user_fails)
    assert functions_in(error.__traceback__) == ["raised", "user_fails"]
    assert not hasattr(error, "__notes__")


def test_mode_off_shows_everything():
    with config.override(traceback_filtering="off"):
        error = raised(own.call, user_fails)
    assert functions_in(error.__traceback__) == ["raised", "call_and_filter_traceback", "call", "inner", "user_fails"]
    assert not hasattr(error, "__notes__")
    assert not hasattr(error, "__jitkit_traceback__")


def test_the_exceptions_printed_with_it_lose_our_frames_too():
    error = raised(own.chained, lambda: int("x"))
    assert isinstance(error, TypeError)
    assert functions_in(error.__traceback__) == ["raised"]
    assert functions_in(error.__cause__.__traceback__) == ["<lambda>"]
    assert "stand_in.py" not in "".join(traceback.format_exception(error))


def test_what_we_raised_and_caught_ourselves_is_not_printed():
    error = raised(own.call_after_a_miss, user_fails)
    assert error.__context__ is None
    assert "KeyError" not in "".join(traceback.format_exception(error))


def test_what_the_user_was_handling_is_printed():
    def user():
        try:
            user_fails()
        except ZeroDivisionError:
            own.call_after_a_miss(lambda: int("x"))

    error = raised(own.call_after_a_miss, user)
    assert isinstance(error, ValueError)
    assert isinstance(error.__context__, ZeroDivisionError)
    assert functions_in(error.__context__.__traceback__) == ["user", "user_fails"]
    assert error.__context__.__context__ is None


def test_in_mode_off_what_we_were_handling_is_printed_too():
    with config.override(traceback_filtering="off"):
        error = raised(own.call_after_a_miss, user_fails)
    assert isinstance(error.__context__, KeyError)


def test_an_exception_of_the_users_own_that_ours_is_chained_to_is_left_alone():
    cause = raised(user_fails)
    before = cause.__traceback__

    def user():
        raise TypeError("second") from cause

    assert raised(own.call, user).__cause__ is cause
    assert cause.__traceback__ is before
    assert not hasattr(cause, "__jitkit_traceback__")


def test_a_circle_of_causes_comes_to_an_end():
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first

    def user():
        raise first

    error = raised(own.call, user)
    assert error is first
    assert functions_in(error.__traceback__) == ["raised", "user"]


def test_an_exception_that_is_raised_again_by_the_user_keeps_the_users_frames():
    kept = []

    def user_catches():
        try:
            own.call(user_fails)
        except ZeroDivisionError as error:
            kept.append(error)
        raise kept[0]

    error = raised(own.call, user_catches)
    assert functions_in(error.__traceback__) == ["raised", "user_catches", "user_catches", "user_fails"]
    assert len(error.__notes__) == 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration])
def test_every_kind_of_exception_passes_through(kind):
    def user():
        raise kind

    error = raised(own.call, user)
    assert type(error) is kind
    assert functions_in(error.__traceback__) == ["raised", "user"]


def test_an_exception_that_forbids_attributes_is_filtered_all_the_same():
    @dataclasses.dataclass(frozen=True)
    class Frozen(Exception):
        code: int

    def user():
        raise Frozen(3)

    error = raised(own.call, user)
    assert error == Frozen(3)
    assert functions_in(error.__traceback__) == ["raised", "user"]


def test_recursion_without_end_is_a_recursion_error_through_many_boundaries():
    def user():
        return own.call(user)

    error = raised(own.call, user)
    assert type(error) is RecursionError
    assert set(functions_in(error.__traceback__)) == {"raised", "user"}
    assert len(error.__notes__) == 1


def test_an_error_where_the_stack_is_nearly_used_up_is_not_replaced_by_another():
    raised_deep_down = []

    @traceback_util.api_boundary
    def user():
        try:
            return user()
        except RecursionError:
            raised_deep_down.append(ValueError("no way further"))
            raise raised_deep_down[-1] from None

    assert raised(user) is raised_deep_down[0]
    assert len(raised_deep_down) == 1


def test_a_learners_function_in_place_of_ours_stays_visible():
    theirs = module_at("/home/learner/course/02_jaxpr.py", "def eval_jaxpr(f):\n    return f()\n")
    error = raised(own.call, theirs.eval_jaxpr, user_fails)
    assert functions_in(error.__traceback__) == ["raised", "eval_jaxpr", "user_fails"]


@pytest.mark.parametrize(
    ("parts", "is_own"),
    [
        (("core.py",), True),
        (("interpreters", "mlir.py"), True),
        (("kata", "watch.py"), False),
        (("kata", "workspace", "02_jaxpr.py"), False),
        (("bench", "peers.py"), False),
        (("..", "tests", "test_core.py"), False),
        (("..", "jitkit_of_mine", "core.py"), False),
    ],
)
def test_a_file_is_ours_by_the_folder_it_is_in(parts, is_own):
    assert traceback_util.is_own_file(os.path.join(PACKAGE, *parts)) is is_own
    relative = os.path.relpath(os.path.join(PACKAGE, *parts))
    assert traceback_util.is_own_file(relative) is is_own


@pytest.mark.parametrize("name", ["<stdin>", "<ipython-input-1>", "<string>", "<frozen importlib>"])
def test_code_without_a_file_is_not_ours(name):
    assert not traceback_util.is_own_file(name)


def test_a_boundary_keeps_the_functions_name_text_and_result():
    @traceback_util.api_boundary
    def double(x: int) -> int:
        """Twice as much."""
        return 2 * x

    assert (double.__name__, double.__doc__, double(x=4)) == ("double", "Twice as much.", 8)


class Value:
    """A value that must not stay alive, as a tracer must not."""


@pytest.mark.parametrize("mode", ["auto", "on", "off"])
def test_what_the_frames_held_is_free_as_soon_as_the_exception_is(mode):
    gone = []

    def user(value):
        gone.append(weakref.ref(value))
        raise ZeroDivisionError

    gc.collect()
    gc.disable()
    try:
        with config.override(traceback_filtering=mode):
            with pytest.raises(ZeroDivisionError):
                own.call(own.call, user, Value())
            assert gone[0]() is None
            try:
                own.call(user, Value())
            except ZeroDivisionError:
                held = gone[1]() is not None
        assert held
        assert gone[1]() is None
    finally:
        gc.enable()


def test_the_hint_at_our_numpy_is_given_where_jax_refuses_one_of_our_values():
    ours = type("JitTracer", (), {"__module__": "jitkit.interpreters.partial_eval"})()

    functions = (jnp.sin, jax.lax.sin, jnp.sum, jax.nn.relu, jax.jit(lambda x: x))
    for refused in (*functions, lambda x: jnp.add(x, 1), lambda x: jnp.where(x, 1, 2)):
        error = raised(own.call, refused, ours)
        assert "A function of JAX's was called on a value that jitkit traces" in str(error), refused


def test_the_hint_is_not_given_for_other_errors():
    ours = type("JitTracer", (), {"__module__": "jitkit.interpreters.partial_eval"})()
    option = config.local.state
    for other in (lambda x: x + 1, lambda x: jnp.sin("a"), lambda x: own.refuse(option), lambda x: int("no")):
        error = raised(own.call, other, ours)
        assert "A function of JAX's was called" not in str(error), other


def test_a_warning_can_point_at_the_users_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        own.warn()
    assert [(str(w.message), w.filename) for w in caught] == [("look here", __file__)]


def test_a_real_error_of_the_library_is_shown_at_the_users_line():
    promote = traceback_util.api_boundary(dtypes.result_type)
    error = raised(promote, "float8_e5m2", "float32")
    assert isinstance(error, dtypes.TypePromotionError)
    assert functions_in(error.__traceback__) == ["raised"]
    assert "least_upper_bound" in functions_in(error.__jitkit_traceback__)


@pytest.mark.parametrize("mode", ["off", "auto", "remove_frames", "tracebackhide"])
def test_what_a_function_holds_is_freed_with_its_error(mode):
    class Held:
        pass

    def fail_with(held):
        def fail(x):
            raise ValueError(held)

        try:  # `pytest.raises` would keep the error
            jitkit.jit(fail)(1.0)
        except ValueError:
            return weakref.ref(held)

    gc.collect()
    gc.disable()
    try:
        with config.override(traceback_filtering=mode):
            left = fail_with(Held())
        assert left() is None
    finally:
        gc.enable()
