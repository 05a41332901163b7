"""The ground: options, errors, source positions, reports and printing. Nothing here knows an array.

Comes in: what users set, and where they are in their program. Goes out: the state of the thread (`config.local`), error
classes, tracebacks that end in the user's code, logs. Read `config` first, the others when something above uses them:

    config             the values of options, and what the current thread is doing
    options            which options there are, and which values they take
    errors             tracer -> error: what was asked of a value that is not known yet
    edits              error that many functions raise -> what to write instead
    jax_version        the installed JAX -> the version whose ways are followed
    source_info        where in the user's program a value was made
    traceback_util     tracebacks without our own frames
    mixed_with_jax     refusal by JAX -> which import to change
    missing_names      name that is not here -> whether JAX has it, or what was meant; from the table `names_of_jax`
    switches           what holds in a `with` block: options of the thread, and the name of its operations
    late_rooms         name of a room -> the room, imported when somebody asks for it
    report             which stages ran, and how long they took
    pretty_printer     document -> text of at most 80 columns
    whole_file         content -> a file that has all of it, or nothing of it
    rich_display       a program's text -> HTML for notebooks
    util               small helpers on lists
"""
