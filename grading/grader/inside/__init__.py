"""what runs in the jail; nothing here imports other modules of the grader

zygote        a clean process that forks workers
walls         what a worker does to itself first: namespaces, limits, a filter of system calls
large_pages   moves memory to large pages, so that forks take less time
warmth        makes XLA do before the forks what it does once in a process
first_programs  runs programs before the forks, since the first programs of a process are slow
libraries     loads the system's libraries that Python's own modules need
imports       code that was handed over -> modules; the holes in them
executables   StableHLO text -> executable, without compiling if the reference's program is the same
worker        runs checks with a student's functions, and sends what they compute
"""

ASK_FOR_CHECK = b"c"  # a worker gets this byte before each check, with the descriptor of the pipe for the answer
IMPORTED = b"i"  # a check's process writes this byte before its answer, once the functions are imported
PLAIN = "jitkit_plain"  # the name of `jitkit.kata.engine.plain` beside a package from scratch, none of whose files may be called so
