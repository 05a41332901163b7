"""function -> one page: its source, jaxpr, StableHLO, what each compiler made of it, and its calls, all linked

    jitkit explore model.py:loss --shapes f32[8,16],f32[16]        writes loss.html

A function, ours or JAX's, and types -> an HTML file, and its data. Equations get numbers, which XLA keeps in its names. In reading order:

    equation, equations   an equation and what is known about it; jaxpr -> numbered equations: which are dead, constant, the same
    subject, ours, real_jax   a function of jitkit's, or of JAX's through its public API -> Subject: what is explored
    listing        lines of a text, each with its equations
    source         equations -> the Python that they were written in
    locations, stablehlo   StableHLO with locations -> the same, with more equations' numbers; -> Listing
    flow, links, shared_calls   optimised HLO -> where values go; by instruction: the equations that it came from, and how that is known
    hlo, costs, turns, copies, opcodes, again   optimised HLO -> Listing: a tree of fusions and loops; costs; why copies are there
    by_line        kernels + their links -> what each line of Python became
    machine, own_c   LLVM IR, PTX, bundles; the C of our own compiler, and its assembly -> Listing
    values, folded, reads  which equations compute a value that is there already, or a known number; which make the operands of each
    origins, parts, fates   which instructions make what an equation reads; why nothing is left of it, and how that is known
    made_of, merging, spread, dimensions   instruction that XLA has merged, or recognised as a whole -> the equations in it
    apart          kernels that read one another -> why they are not one
    rounding, residuals   which results have a smaller type than was written; which are kept for the reverse pass only
    compiling      StableHLO -> answers of the compilers, at the same time, kept by content
    calls, jax_calls, jax_words, jax_advice   a run -> its calls: what each took, and why it missed, in JAX's words for JAX's jit
    index          a run -> one page for all functions that it called
    model          all of it -> plain data
    passes         XLA's dumps after each pass -> Listing: what each pass took away, and wrote
    bundle         plain data -> one HTML file, from what is in `page/`
    beside         two pages -> one, with what is different in figures and in the jaxprs
    api            `explore`
"""

from __future__ import annotations

from .api import Exploration as Exploration
from .api import explore as explore
