"""an action -> exit status: an error that it raises becomes a sentence on the screen"""

from __future__ import annotations

import _thread
import contextlib
import errno
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from ..problems import FAILED, INTERRUPTED, OK, OUR_BUG, Problem, versions
from . import hidden_modules


def guarded(action: Callable[[], int]) -> int:
    """Run an action, and return its exit status. An error becomes a message on the screen, and its kind decides the status.
    If the output is a pipe that its reader has closed, the status is 0.
    """
    try:
        with _no_interrupt_lost():
            return action()
    except Problem as problem:
        print(f"jitkit: {problem}", file=sys.stderr)
        return problem.status
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("jax", "jaxlib", "matplotlib"):
            return _our_bug()
        print(
            f"jitkit: {error.name} is not installed for {sys.executable}. Install it:\n"
            f"    {Path(sys.executable).name} -m pip install "
            f"{error.name.split('.')[0] if error.name else 'jax'}",
            file=sys.stderr,
        )
        return FAILED
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as `head`, has closed it
        with contextlib.suppress(OSError):
            _drop_output()
        return OK
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            return _our_bug()
        with contextlib.suppress(OSError):
            _drop_output()  # otherwise Python tries again to write the rest, and complains
        print(f"jitkit: there is no space left to write to: {error}", file=sys.stderr)
        return FAILED
    except Exception:
        return _our_bug()


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _no_interrupt_lost() -> Iterator[None]:
    """In the block, do not lose a Ctrl-C that comes while a destructor or a weak reference's callback runs (each import
    runs one). Python cannot raise there: it prints the error and goes on. So the signal is sent again a moment later.
    """
    before = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)
            return
        again = threading.Timer(0.01, _interrupt)
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _interrupt() -> None:
    if os.name == "nt":
        _thread.interrupt_main()
    else:  # unlike an exception, a signal also ends a wait for a lock or a process
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _our_bug() -> int:
    """Print that the fault is ours, write the traceback to a file (if that fails, print it), and return the exit status. If
    a file in the current folder hides a module that we need, print only that.
    """
    if hidden := hidden_modules.told():
        print(f"jitkit: {hidden}", file=sys.stderr)
        return FAILED
    kind, error, _ = sys.exc_info()
    report = f"{traceback.format_exc()}\n{versions()}\n"
    try:
        with tempfile.NamedTemporaryFile("w", prefix="jitkit-", suffix=".txt", delete=False, encoding="utf-8") as file:
            file.write(report)
        where = f"Please report it, with the file {file.name}."
    except OSError:
        where = f"Please report it, with these lines:\n{report}"
    print(
        f"jitkit: {kind.__name__ if kind else 'Error'}: {error}\n"
        f"This is a bug of ours, not of yours; nothing that you wrote was changed. {where}\n{versions()}",
        file=sys.stderr,
    )
    return OUR_BUG
