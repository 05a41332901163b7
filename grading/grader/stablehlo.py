"""StableHLO in an answer -> what it computes: run without the student's code, in a worker of its own"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

from .bubblewrap import JAX, JailError
from .jail import IMPORT_SECONDS, Limits, ProtocolError
from .patience import clock
from .shipped_code import ShippedCode
from .verdict import programs
from .workers import Workers

MOST_TIMEOUTS = 2  # after this many timeouts in an exercise, its other checks and programs are not run
_NOT_RUN = "It was not run: there are more programs than in the right answer, or others before it came to no end."
_MOST_KEPT, _LONGEST_KEPT = 2_000, 20_000  # how many results are kept, and how many characters each may have


class Programs:
    """Runs the StableHLO programs of answers, in processes without any student's code: so a result depends on the program and its
    arguments alone.
    Results are kept, unless they are long, so that few programs are run twice on the same arguments.
    """

    def __init__(self, shipped: ShippedCode, limits: Limits) -> None:
        self.shipped = shipped
        self.limits = limits
        self.lock = threading.Lock()
        self.kept: dict[str, str] = {}  # results as JSON, the least recently used first

    def run(
        self, workers: Workers, value: Any, right: Any, tries: int = MOST_TIMEOUTS, deadline: float = float("inf")
    ) -> int:
        """Replace the results of each StableHLO program in a value by those that it computes on the reference's inputs, in a process
        without the student's code. Return how many programs ran out of time, or ended their process. At most as many programs run as the
        right value has. A program that equals the right one gets its results, and is not run.

        Args:
          tries: how many programs may run out of time or end their process before the others are no longer run.
          deadline: until when programs are run.
        """
        ours = list(programs(right))
        endless = 0
        for i, program in enumerate(list(programs(value))):
            program.pop("results", None)
            program.pop("refused", None)
            if value is not right:
                if i >= len(ours) or endless >= tries or clock.now() > deadline:
                    program["refused"] = _NOT_RUN
                    continue
                program["arguments"] = ours[i]["arguments"]
                if program["text"] == ours[i]["text"]:
                    program |= {k: v for k, v in ours[i].items() if k in ("results", "refused")}
                    continue
            found = self.known_or_run(workers, program["text"], program["arguments"], deadline)
            endless += found is None
            program |= found if found is not None else {"refused": "XLA did not come to an end with it."}
        return endless

    def known_or_run(self, workers: Workers, text: str, arguments: list[Any], deadline: float) -> dict[str, Any] | None:
        """Return the result of `run_one`; take it from memory if the same program ran on the same arguments before."""
        key = hashlib.sha256(json.dumps([text, arguments]).encode()).hexdigest()
        with self.lock:
            known = self.kept.pop(key, "")
            if known:
                self.kept[key] = known
        if known:
            found: dict[str, Any] = json.loads(known)
            return found
        made = self.run_one(workers, text, arguments, deadline)
        # a refusal is not kept: its cause may have been temporary, so the program runs again for the next answer
        if made is not None and "results" in made and len(told := json.dumps(made)) <= _LONGEST_KEPT:
            with self.lock:
                self.kept[key] = told
                if len(self.kept) > _MOST_KEPT:
                    del self.kept[next(iter(self.kept))]
        return made

    def run_one(self, workers: Workers, text: str, arguments: list[Any], deadline: float) -> dict[str, Any] | None:
        """Return what a program computes on some arguments, `{"results": ...}`, or XLA's refusal, `{"refused": ...}`.
        Return None if it runs out of time, or its process dies, or sends bytes that are not a frame. Raise JailError for any other
        answer.
        """
        image = {"text": {"program": text, "arguments": arguments}, "fills": self.shipped.fills(None, workers.kept())}
        seconds = min(self.limits.seconds + IMPORT_SECONDS, max(1.0, deadline - clock.now()))
        with workers.zygote(JAX, True).start(self.limits) as worker:
            try:
                found = worker.load(image, seconds)
            except (TimeoutError, ProtocolError):
                return None
        if found is not None and not found.keys() & {"results", "refused"}:
            raise JailError(f"StableHLO could not be run: {found.get('text', 'there is no answer')}")
        return found
