"""Control groups limit a jail's memory and processes as a whole, if we may make one. The limits of each process hold in
any case.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pathlib
import time

GROUPS = pathlib.Path("/sys/fs/cgroup")
_NUMBERS = itertools.count(1)


class ControlGroup:
    """A control group of one jail, if we may make one, in the first or second version of control groups."""

    MEMORY = 4 << 30
    PROCESSES = 256 + 4 * (os.cpu_count() or 1)

    def __init__(self) -> None:
        self.folders: list[pathlib.Path] = []
        name = f"jitkit-{os.getpid()}-{next(_NUMBERS)}"
        with contextlib.suppress(OSError):
            if (GROUPS / "cgroup.controllers").is_file():
                own = pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").rpartition("::")[2].strip()
                self._make(
                    (GROUPS / own.lstrip("/")).parent / name, {"pids.max": self.PROCESSES, "memory.max": self.MEMORY}
                )
            else:
                self._make(GROUPS / "pids" / name, {"pids.max": self.PROCESSES})
                self._make(GROUPS / "memory" / name, {"memory.limit_in_bytes": self.MEMORY})

    def _make(self, folder: pathlib.Path, values: dict[str, int]) -> None:
        folder.mkdir()
        try:
            for file, value in values.items():
                (folder / file).write_text(str(value), encoding="ascii")
        except OSError:
            folder.rmdir()
            raise
        self.folders.append(folder)

    def wrap(self, command: list[str]) -> list[str]:
        """Return the command that runs `command` in the group; without a group, `command` itself."""
        if not self.folders:
            return command
        enter = "; ".join(f"echo $$ > {folder}/cgroup.procs" for folder in self.folders)
        return ["/bin/sh", "-c", f'{enter}; exec "$@"', "sh", *command]

    @property
    def kills(self) -> int:
        """How many processes of the group the kernel has killed because the group's memory was used up; 0 without a
        group.
        """
        for folder in self.folders:
            for file in ("memory.events", "memory.oom_control"):
                with contextlib.suppress(OSError):
                    words = (folder / file).read_text(encoding="ascii").split()
                    return int(words[words.index("oom_kill") + 1])
        return 0

    def close(self) -> None:
        """Remove the group, once its processes are gone; if some are left after a second, leave it to `leftovers`."""
        for folder in self.folders:
            for _ in range(50):
                try:
                    folder.rmdir()
                    break
                except OSError:
                    time.sleep(0.02)
