"""The engine: functions of a learner -> verdict. It knows no workspace and no screen.

manifest      labs/NN_name/lab.toml -> Lab
submission    files of a learner -> functions; `old_places`: where what they import is today
splice        functions of a learner -> `jitkit` with them in place; `source_edit`, `reference`: the same as text
running       a submission + checks -> an outcome for each check, from a process of its own: `worker`
plain         value -> plain data; `comparison`, `jaxpr_comparison`, `witness`: the first difference, and numbers for it
verdicts      an exercise + a learner's files -> verdict
"""
