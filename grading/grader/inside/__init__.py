"""what runs in the jail; nothing here imports the rest

zygote        a clean process that forks workers
walls         what a worker does to itself first: namespaces, limits, a filter of system calls
large_pages   its memory, so that forks take less
warmth        what XLA does once in a process, before the forks
first_programs  what is slow in the first programs of a process: done before the forks, too
libraries     the system's, which Python's own modules need
imports       code that was handed over -> modules; the holes in them
executables   StableHLO text -> executable, without compiling where it is known
worker        runs checks with a student's functions, and sends what they compute
"""

ASK_FOR_CHECK = b"c"  # a worker gets this byte after its image, with a descriptor
PLAIN = "jitkit_plain"  # the name of `jitkit.kata.engine.plain` beside a package from scratch, none of whose files may be called so
