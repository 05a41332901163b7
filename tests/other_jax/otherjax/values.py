import dataclasses
import math

import numpy as np

from . import faults


@dataclasses.dataclass(frozen=True)
class Type:
    shape: tuple
    dtype: np.dtype
    weak_type: bool = False

    def __str__(self):
        short = {"float32": "f32", "int32": "i32", "float16": "f16"}.get(self.dtype.name, self.dtype.name)
        return f"{short}[{','.join(map(str, self.shape))}]"


class Thing:
    __array_ufunc__ = None
    __hash__ = None
    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    size = property(lambda self: math.prod(self.aval.shape))

    def __getattr__(self, name):
        raise AttributeError(name)


class Number(Thing):
    def __init__(self, numbers, weak=False, on_machine=None):
        self.numbers, self.aval = numbers, Type(tuple(numbers.shape), np.dtype(numbers.dtype), weak)
        self.on_machine = on_machine

    def __array__(self, dtype=None, copy=None):
        if copy:
            return np.array(self.numbers, dtype)
        seen = np.asarray(self.numbers, dtype).view()
        seen.flags.writeable = False
        return seen

    def __bool__(self):
        return bool(np.asarray(self.numbers))

    def __float__(self):
        return float(np.asarray(self.numbers))

    def __int__(self):
        return int(np.asarray(self.numbers))

    def __index__(self):
        return np.asarray(self.numbers)[()].__index__()


def no(error):
    def method(self, *args, **kwargs):
        raise error(f"{self.aval} is traced: it has no number")

    return method


class Symbol(Thing):
    """A tracer, which is also the variable of its value in the jaxpr."""

    def __init__(self, page, aval):
        self.page, self.aval = page, aval

    __bool__ = no(faults.TracerBoolConversionError)
    __float__ = __int__ = no(faults.ConcretizationTypeError)
    __index__ = no(faults.TracerIntegerConversionError)
    __array__ = no(faults.TracerArrayConversionError)
    __eq__ = object.__eq__
    __hash__ = object.__hash__


NARROW = {"float64": "float32", "int64": "int32"}


def narrow(x):
    x = np.array(x)
    return x.astype(NARROW.get(x.dtype.name, x.dtype))


def thing(x):
    if isinstance(x, Thing):
        return x
    if isinstance(x, (bool, int, float)) and not isinstance(x, np.generic):
        return Number(narrow(x), weak=not isinstance(x, bool))
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biuf":
        return Number(narrow(x))
    raise TypeError(f"no array and no number: {x!r}")
