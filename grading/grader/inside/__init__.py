"""what runs in the jail: a zygote, the workers that it forks, and the wall around each of them; nothing here imports the rest"""

ASK_FOR_CHECK, ASK_FOR_EXECUTABLES = b"c", b"e"  # the first byte of what a worker is sent after its image
PLAIN = "jitkit_plain"  # what `jitkit.kata.engine.plain` is called beside a package from scratch, whose files may have any name but that
