import numpy as np

from . import movers
from .primitives import ALL, logical, user
from .values import thing

for _public, _name, _floating in [
    ("sin", "sin", 1), ("cos", "cos", 1), ("tan", "tan", 1), ("tanh", "tanh", 1), ("exp", "exp", 1), ("log", "log", 1),
    ("sqrt", "sqrt", 1), ("log1p", "log1p", 1), ("expm1", "expm1", 1), ("negative", "neg", 0), ("abs", "abs", 0),
    ("sign", "sign", 0), ("invert", "not", 0), ("bitwise_and", "and", 0), ("bitwise_or", "or", 0), ("add", "add", 0),
    ("subtract", "sub", 0), ("multiply", "mul", 0), ("divide", "div", 1), ("maximum", "max", 0), ("minimum", "min", 0),
    ("power", "pow", 0), ("less", "lt", 0), ("less_equal", "le", 0), ("greater", "gt", 0), ("greater_equal", "ge", 0),
    ("equal", "eq", 0), ("not_equal", "ne", 0),
]:  # fmt: skip
    globals()[_public] = user(_name, bool(_floating))
for _name in ("and", "or", "not"):
    globals()[f"logical_{_name}"] = logical(_name)


def floor(x):
    return ALL["floor"].do(thing(x)) if thing(x).dtype.kind == "f" else thing(x)


def asarray(x):
    return thing(np.asarray(x) if isinstance(x, (list, tuple)) else x)


array = asarray


globals().update({_name: getattr(movers, _name) for _name in movers.__all__})
