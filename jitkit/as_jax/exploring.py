"""The calls of a run -> the Explorer's page of each jitted function, and an index of them

JAX: jax/_src/dispatch.py:log_elapsed_time
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

from ..explorer import calls, index
from ..explorer.api import exploration, file_name, subject_of
from ..explorer.model import versions


def write_pages(recorded: calls.Recording, program: str, folder: pathlib.Path) -> Iterator[str]:
    """Write the Explorer's page of each traced function, for this machine and the types of its last trace, and the
    index of all functions; yield the paths, the index first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = index.functions(recorded.calls, {})
    rows: list[tuple[index.Function, str | None, str]] = []
    for function, address in zip(found, index.addresses(found, file_name), strict=True):
        traced = [number for number, call in enumerate(function.calls) if call.arguments is not None]
        if not traced:
            rows.append((function, None, "no call of it was traced in this run"))
            continue
        last = function.calls[traced[-1]]
        seen = calls.as_data(function.calls, f"of {program}, which was run") | {"shown": traced[-1] + 1}
        subject = subject_of(last.function, *(last.arguments or ((), {})))
        subject.name = function.name
        exploration(subject, ["cpu"], seen=seen).save(folder / address)
        rows.append((function, address, ""))
    yield str(index.write(folder, index.page(program, rows, versions(), recorded.more)))
    yield from (str(folder / address) for _, address, _ in rows if address)
