"""Another package for the ladder, built on other ideas: a class a primitive, the trace found among the operands, many files."""

from types import SimpleNamespace

from . import faults as errors
from . import numpy
from .jaxprs import lower, make_jaxpr, run
from .jitting import jit
from .trees import tree_util

__all__ = ["core", "errors", "jit", "lower", "make_jaxpr", "numpy", "tree_util"]
core = SimpleNamespace(eval_jaxpr=run)
