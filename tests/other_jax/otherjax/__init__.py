"""Another package for the ladder, of another design: a class for each primitive, traces found among the operands, many files."""

from types import SimpleNamespace

from . import faults as errors
from . import numpy
from .control import cond, fori_loop, scan, switch, while_loop
from .jaxprs import make_jaxpr, run
from .jitting import jit
from .transforms import grad, jvp, value_and_grad, vmap
from .trees import tree_util
from .words import hessian, jacfwd, jacrev, nn
from .writing import lower

__all__ = ["core", "errors", "grad", "hessian", "jacfwd", "jacrev", "jit", "jvp", "lax", "lower", "make_jaxpr", "nn", "numpy", "tree_util",
           "value_and_grad", "vmap"]  # fmt: skip
core = SimpleNamespace(eval_jaxpr=run)
lax = SimpleNamespace(cond=cond, switch=switch, while_loop=while_loop, scan=scan, fori_loop=fori_loop)
