"""The bottom room: options, errors, source positions, reports and printing. Nothing here knows arrays.

Input: users' settings, and positions in their programs. Output: the state of the thread (`config.local`), error
classes, tracebacks that end in the user's code, logs. Read `config` first, the others when something above uses them:

    config             the values of options, and what the current thread is doing
    options            the list of options, and their allowed values
    errors             tracer -> error: why a value that is not known yet cannot be used in this way
    edits              error -> what to write instead
    habits             name of PyTorch's or NumPy's -> what to write instead
    pythons_errors     error of Python's own -> what to write instead
    jax_version        the installed JAX -> the version to behave like
    source_info        where in the user's program a value was made
    traceback_util     tracebacks without our own frames
    mixed_with_jax     JAX's error about our value -> which import to change
    missing_names      missing name -> whether JAX has it, or what was meant; from the table `names_of_jax`
    switches           options and names of operations in a `with` block
    late_rooms         name of a room -> the room, imported on first use
    stage_log          which stages ran, and how long they took
    pretty_printer     document -> text of at most 80 columns
    whole_file         content -> a file, written atomically
    rich_display       a program's text -> HTML for notebooks
    util               small helpers on lists
"""
