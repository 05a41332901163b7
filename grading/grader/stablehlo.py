"""StableHLO in an answer -> what it computes: run without the student's code, in a worker of its own"""

from __future__ import annotations

import time
from typing import Any

from .bench import Bench
from .bubblewrap import JAX
from .images import Images
from .jail import IMPORT_SECONDS, Limits, ProtocolError
from .verdict import programs

MOST_TIMEOUTS = 2  # of an exercise; then its other checks are not tried, and no other programs run
_NOT_RUN = (
    "It was not run: there are more programs than in the right answer, or others before it came to no end."
)


class Programs:
    """Runs them."""

    def __init__(self, images: Images, limits: Limits) -> None:
        self.images = images
        self.limits = limits

    def run(
        self,
        bench: Bench,
        value: Any,
        right: Any,
        tries: int = MOST_TIMEOUTS,
        deadline: float = float("inf"),
    ) -> int:
        """What the StableHLO in a value computes, on the inputs of the reference's: found out in a process without the student's code. What
        the value itself says of that is forgotten. There are as many as in the right value, whatever a student's has.

        Args:
          tries, deadline: how many may come to no end, and until when they are run; others are not.

        Returns:
          how many came to no end.
        """
        ours = list(programs(right))
        endless = 0
        for i, program in enumerate(list(programs(value))):
            program.pop("results", None)
            program.pop("refused", None)
            if value is not right:
                if i >= len(ours) or endless >= tries or time.monotonic() > deadline:
                    program["refused"] = _NOT_RUN
                    continue
                program["arguments"] = ours[i]["arguments"]
                if program["text"] == ours[i]["text"]:
                    program |= {k: v for k, v in ours[i].items() if k in ("results", "refused")}
                    continue
            found = self.run_one(bench, program["text"], program["arguments"], deadline)
            endless += found is None
            program |= found if found is not None else {"refused": "XLA did not come to an end with it."}
        return endless

    def run_one(
        self, bench: Bench, text: str, arguments: list[Any], deadline: float
    ) -> dict[str, Any] | None:
        """What a program computes on some arguments, `{"results": ...}`, or what XLA says of it, `{"refused": ...}`. None where it comes to
        no end."""
        image = {
            "text": {"program": text, "arguments": arguments},
            "fills": self.images.fills(None, bench.kept()),
        }
        seconds = min(self.limits.seconds + IMPORT_SECONDS, max(1.0, deadline - time.monotonic()))
        with bench.zygote(JAX, True).start(self.limits) as worker:
            try:
                return worker.load(image, seconds)
            except (TimeoutError, ProtocolError):
                return None
