"""Wrong answers to the exercises of lab 02, each with what its author believes."""

from jitkit.kata.mutants import edit

edit(
    "02.4", "operand order does not matter", "In which order do you hand the operands to `bind`?",
    "map(read, eqn.invars)", "map(read, reversed(eqn.invars))",
)  # fmt: skip
edit(
    "02.4", "closed-over arrays are inputs", "Who gives the constvars their values, `consts` or `args`?",
    "zip(jaxpr.constvars, consts, strict=True)", "zip(jaxpr.constvars, args, strict=False)",
)  # fmt: skip
edit(
    "02.4", "an equation has one result", "What does `bind` return for a primitive with several results?",
    "results if eqn.primitive.multiple_results else [results]", "[results]",
)  # fmt: skip
edit(
    "02.4", "jaxprs hold values", "What is a value while another function is being traced?",
    "return [read(atom) for atom in jaxpr.outvars]", "return [__import__('numpy').asarray(read(atom)) for atom in jaxpr.outvars]",
)  # fmt: skip
