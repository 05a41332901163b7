"""The names of `jax.profiler`: profiles of what the host and the devices do, for XProf, TensorBoard and Perfetto

jaxlib's profiler takes them: calls of Python functions, XLA's compilations and programs, kernels of a GPU.

JAX: jax/_src/profiler.py:start_trace
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import importlib
import json
import os
import pathlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from . import runtime
from .base import missing_names

_profiler: Any = importlib.import_module("jaxlib._profiler")
_profile_data: Any = importlib.import_module("jaxlib._profile_data")
ProfileData, ProfilePlane = _profile_data.ProfileData, _profile_data.ProfilePlane
ProfileEvent = _profile_data.ProfileEvent
# Says what a profile has. Set its attributes: with `python_tracer_level = 0` it has no calls of Python functions.
ProfileOptions: Any = _profiler.ProfileOptions
# A block `with TraceAnnotation(name):` has a name in a profile. Keyword arguments are shown with it.
TraceAnnotation: Any = _profiler.TraceMe
# The same for one step of a training loop: `step_num=` numbers it.
StepTraceAnnotation: Any = functools.partial(TraceAnnotation, _r=1)


def annotate_function(func: Callable[..., Any], name: str | None = None, **decorator_kwargs: Any) -> Callable[..., Any]:
    """Return a function like `func`, whose calls have a name in a profile: `name`, or its own."""
    title = name or getattr(func, "__qualname__", None) or func.__name__

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(title, **decorator_kwargs):
            return func(*args, **kwargs)

    return wrapper


class _Profile:
    """The profile that is being taken, and where it will be written. `session` is None if there is none."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: Any = None
        self.folder = ""
        self.for_perfetto = False


_profile = _Profile()


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Begin a profile, which `stop_trace` writes to the folder `log_dir`/plugins/profile/TIME; with
    `create_perfetto_trace` also perfetto_trace.json.gz, which https://ui.perfetto.dev opens.

    Raises:
      RuntimeError: a profile has begun, and has not been stopped.
      NotImplementedError: for `create_perfetto_link`: jitkit serves no files.
    """
    if create_perfetto_link:
        raise NotImplementedError(
            "create_perfetto_link=True: jitkit serves no files. Pass create_perfetto_trace=True, and open the file that "
            "stop_trace writes, perfetto_trace.json.gz, at https://ui.perfetto.dev."
        )
    with _profile.lock:
        if _profile.session is not None:
            raise RuntimeError("Profile has already been started. Only one profile may be run at a time.")
        runtime.default_device()  # the devices must be there before their tracers begin
        _profile.session = _profiler.ProfilerSession(profiler_options or ProfileOptions())
        _profile.folder, _profile.for_perfetto = str(log_dir), create_perfetto_trace


def stop_trace() -> None:
    """End the profile, and write it to the folder that `start_trace` was given. Raise RuntimeError if none has begun."""
    with _profile.lock:
        session, _profile.session = _profile.session, None
        if session is None:
            raise RuntimeError("No profile started")
        session.stop_and_export(_profile.folder)
        if _profile.for_perfetto:
            _write_for_perfetto(pathlib.Path(_profile.folder))


def _write_for_perfetto(folder: pathlib.Path) -> None:
    """Write the last profile in a folder once more, without the metadata that Perfetto's page refuses."""
    last = max((folder / "plugins" / "profile").iterdir(), key=os.path.getmtime)
    (written,) = last.glob("*.trace.json.gz")
    events = json.loads(gzip.decompress(written.read_bytes()))
    del events["metadata"]
    (last / "perfetto_trace.json.gz").write_bytes(gzip.compress(json.dumps(events).encode()))


@contextlib.contextmanager
def trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """Take a profile of a block; arguments and errors are those of `start_trace`."""
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


_servers: list[Any] = []  # at most one; jaxlib stops it when it is dropped


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Start a server on this port, from which XProf and TensorBoard get profiles. `requires_backend` says whether the
    devices are looked up first. Raise ValueError if a server is running.
    """
    if _servers:
        raise ValueError("Only one profiler server can be active at a time.")
    if requires_backend:
        runtime.default_device()
    _servers.append(_profiler.start_server(port))
    return _servers[0]


def stop_server() -> None:
    """Stop the server that `start_server` started. Raise ValueError if there is none."""
    if not _servers:
        raise ValueError("No active profiler server.")
    _servers.clear()


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Include in this process's profiles those of another one, whose server listens to `port`. Return a function that ends this."""
    end: Callable[[], None] = _profiler.register_subprocess(pid, port)
    return end


def device_memory_profile(backend: str | None = None) -> bytes:
    """Return which arrays and executables hold a device's memory, in the format of pprof, compressed."""
    client = (runtime.devices(backend)[0] if backend else runtime.default_device()).client
    return gzip.compress(client.heap_profile())


def save_device_memory_profile(filename: str, backend: str | None = None) -> None:
    """Write the result of `device_memory_profile` to a file."""
    pathlib.Path(filename).write_bytes(device_memory_profile(backend))


missing_names.explain("profiler", sys.modules[__name__])
