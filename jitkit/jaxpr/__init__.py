"""Defines the jaxpr, the small typed language that traced functions become.

Input: equations, from a trace. Output: a program as data, which can be run, pruned, checked, printed, and lowered. In the
order of reading:

    language    Var, Literal, JaxprEqn, Jaxpr; `eval_jaxpr`
    pruning     dead code elimination: `dce_jaxpr`
    rearranging makes jaxprs from jaxprs: other outputs, other orders; each is made once
    check       the rules: when a jaxpr is well-formed, and when two are the same program
    printer     Jaxpr -> text, in JAX's layout
    html        Jaxpr -> HTML for notebooks

JAX: jax/_src/core.py:Jaxpr
"""

from __future__ import annotations

from .language import Atom as Atom
from .language import DebugInfo as DebugInfo
from .language import Jaxpr as Jaxpr
from .language import JaxprEqn as JaxprEqn
from .language import Literal as Literal
from .language import Var as Var
from .language import eval_jaxpr as eval_jaxpr
from .language import jaxpr_as_fun as jaxpr_as_fun
from .language import jaxprs_in_params as jaxprs_in_params
from .language import join_effects as join_effects
from .language import last_uses as last_uses
from .language import literal_value as literal_value
from .language import pp_eqn_rules as pp_eqn_rules
from .language import printing as printing
from .language import subjaxprs as subjaxprs
from .pruning import DCERule as DCERule
from .pruning import dce_jaxpr as dce_jaxpr
from .pruning import dce_rules as dce_rules
from .pruning import keep_or_drop as keep_or_drop
from .pruning import live_equations as live_equations
from .pruning import prune_jaxpr as prune_jaxpr
from .rearranging import close_jaxpr as close_jaxpr
from .rearranging import convert_constvars_jaxpr as convert_constvars_jaxpr
from .rearranging import drop_unused as drop_unused
from .rearranging import forwarded_inputs as forwarded_inputs
from .rearranging import in_order as in_order
from .rearranging import in_order_of_need as in_order_of_need
from .rearranging import interleaved as interleaved
from .rearranging import keep_outputs as keep_outputs
from .rearranging import known_outputs as known_outputs
from .rearranging import move_inputs_to_front as move_inputs_to_front
from .rearranging import remembered as remembered
from .rearranging import sort_consts as sort_consts
