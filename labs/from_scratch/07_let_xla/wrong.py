"""Wrong versions of rung 07, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "numpy computes, in the place of XLA",
    "The result is right. Who computed it?",
    "impl[jit_p] = lambda *args, jaxpr, name: jaxpr.run(args)",
    "impl[jit_p] = lambda *args, jaxpr, name: as_function(jaxpr)(*args)",
)
edit(
    "keywords are left out",
    "f(x, scale=3.0): where does 3.0 go?",
    "flatten_values((args, kwargs))",
    "flatten_values((args, {}))",
)
edit(
    "results do not stay on the device",
    "The result of one call is passed to another, or to an eager operation. What must it be?",
    "    return list(map(Array, jaxpr.executable([x.data for x in args]), jaxpr.out_avals))",
    "    return jaxpr.executable([x.data for x in args])",
)
edit(
    "an error leaves the tracer at the door",
    "The traced function raised. Who stands at the door?",
    "    try:\n        return f(*args, **kwargs)\n    finally:\n        door.trace = before",
    "    found = f(*args, **kwargs)\n    door.trace = before\n    return found",
)
edit(
    "results go by way of numpy",
    "The next call needs the buffer that XLA returned. How often do you copy it?",
    "    return list(map(Array, jaxpr.executable([x.data for x in args]), jaxpr.out_avals))",
    "    return list(map(Array, map(np.asarray, jaxpr.executable([x.data for x in args])), jaxpr.out_avals))",
)
edit(
    "constants come last",
    "A program is called with what it closed over, and then with its arguments. In which order does it take them?",
    "variables + jaxpr.invars",
    "jaxpr.invars + variables",
)
