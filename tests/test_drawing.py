"""`drawing`, which draws the ladder's random programs: a learner does not fail for a program that XLA cannot run."""

from __future__ import annotations

import numpy as np
import pytest

import jitkit
import jitkit.numpy
from jitkit.kata.engine import drawing

OF_XLA = "INTERNAL: Error dispatching computation: YNNPACK operation failed: unsupported parameter"


def _refused(*arrays):
    raise RuntimeError(OF_XLA)


def _calls(*functions):
    return [(f"call {i}", f, [np.float32([1.0, 2.0])]) for i, f in enumerate(functions)]


def test_a_call_that_xla_fails_to_run_is_told_apart_and_the_others_keep_their_numbers():
    def double(x):
        return x * 2

    def apply(f, *arrays):
        return f(*arrays)

    at_once, together = drawing.halves(jitkit, _calls(_refused, _refused, double, double), apply)
    assert at_once["call 1"] == together["call 0"] == drawing.FAILED
    assert at_once["call 3"].tolist() == together["call 2"].tolist() == [2.0, 4.0]


def test_other_errors_are_the_packages_own():
    def broken(x):
        raise RuntimeError("not of XLA")

    with pytest.raises(RuntimeError, match="not of XLA"):
        drawing.halves(jitkit, _calls(broken), lambda f, *arrays: f(*arrays))


def test_a_result_that_cannot_be_read_is_compared_as_it_is():
    class Unreadable:
        shape = ()

        def __array__(self, *args, **kwargs):
            raise TypeError("no numbers")

    result = Unreadable()
    assert drawing.by_xla(lambda: result) is result
