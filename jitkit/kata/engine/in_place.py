"""Runs a program with a learner's functions in place

`jitkit run FILE` and `jitkit python` start this as a script, by its path, so that jitkit is not imported before the
functions are in place: `python in_place.py REQUEST [FILE ARGUMENTS...]`. REQUEST is a file of JSON, which is read and
removed:

  {"files": {path: {"source": ..., "exercises": [...]}}, "targets": {target: path}, "as_jax": options or None}

With `as_jax`, the program's `jax` is jitkit: `jitkit.as_jax` runs it, and has these options.

Without a FILE, the script prepares the prompt of `python -i`, and leaves only the names `jitkit` and `jnp`. If the
input is not a terminal, it runs the program that it reads there.
"""

import importlib
import json
import os
import pathlib
import signal
import sys
from types import ModuleType
from typing import Any

_PACKAGE = pathlib.Path(__file__).resolve().parents[2]
_BESIDE = "_jitkit_engine"
CANNOT = 3  # exit status if jitkit cannot be imported with the functions in it; a sentence says why


def main(request: str, *arguments: str) -> int:
    """Put the functions in place, run the program, and return its exit status; `CANNOT` if they could not be put in place."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # our parent ignores Ctrl-C, and we inherit that
    splice = _load_beside("splice")
    path = pathlib.Path(request)
    data = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0])) if arguments else ""
    sys.path.insert(1, str(_PACKAGE.parent))
    try:
        put_in_place(data, splice)
    except Exception as error:
        print(f"jitkit: {sentence_of(error, splice, data['files'])}", file=sys.stderr)
        return CANNOT
    sys.modules[_BESIDE].__dict__["in_place"] = True
    sys.argv = list(arguments) or [""]
    if data["as_jax"] is not None:
        as_jax = importlib.import_module("jitkit.as_jax.arguments")
        as_jax.run(as_jax.parsed([*data["as_jax"], *arguments]))
        return 0
    if arguments:
        return _run(pathlib.Path(arguments[0]).read_bytes(), arguments[0])
    return 0 if sys.flags.interactive else _run(sys.stdin.read(), "<stdin>")


def is_in_place() -> bool:
    """Return whether `main` has put the functions in place in this process."""
    return _BESIDE in sys.modules and "in_place" in sys.modules[_BESIDE].__dict__


def put_in_place(request: dict[str, Any], splice: ModuleType) -> ModuleType:
    """Import jitkit with the functions of a request in it, and return it. Raise SpliceError, or an error that the functions raise at the
    import.
    """
    files = {
        path: splice.LearnerFile.parse(item["source"], path, item["exercises"])
        for path, item in request["files"].items()
    }
    functions = {splice.Target.parse(target): files[path] for target, path in request["targets"].items()}
    submission = splice.Submission(functions)
    splice.install(submission)
    jitkit = importlib.import_module("jitkit")
    for module in sorted(submission.modules):
        importlib.import_module(module)  # so that their errors are reported here, and not in the middle of a program
    importlib.import_module("jitkit.interpreters.replaying").__dict__["is_on"] = False
    for path in files:  # hide the learner's files: equations then name lines of the program
        importlib.import_module("jitkit.base.source_info").__dict__["_hidden_file"][path] = True
    return jitkit


def sentence_of(error: Exception, splice: ModuleType, own: Any) -> str:
    """Return a sentence that says why the functions could not be put in place, and where."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        path, line = splice.original_position(trace.tb_frame.f_code.co_filename, trace.tb_lineno, sorted(own))
        if path in own:
            place = f"{path}:{line}"
        trace = trace.tb_next
    if isinstance(error, splice.SpliceError):
        return f"{f'{error.file}:{error.line}: ' if error.file else ''}{error}"
    raised = f"{type(error).__name__}: {error}"
    return f"jitkit cannot be imported with your functions in it{f', {place}' if place else ''}: {raised}"


def _run(source: str | bytes, path: str) -> int:
    """Run a program as `python FILE` does: as `__main__`, and with tracebacks that begin in the program. Return its
    exit status. SystemExit passes through.
    """
    program = sys.modules["__main__"] = ModuleType("__main__")
    program.__file__ = path
    try:
        exec(compile(source, path, "exec"), program.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _load_beside(name: str) -> ModuleType:
    """Return a module of this folder. It, and the modules of the folder that it imports, get a package of another name,
    since importing the real package would import jitkit.
    """
    package = sys.modules.setdefault(_BESIDE, ModuleType(_BESIDE))
    package.__path__ = [str(pathlib.Path(__file__).parent)]
    return importlib.import_module(f"{_BESIDE}.{name}")


if __name__ == "__main__":
    _status = main(*sys.argv[1:])
    if not sys.flags.interactive:
        sys.exit(_status)
    if _status:
        os._exit(_status)
    jitkit, jnp = sys.modules["jitkit"], importlib.import_module("jitkit.numpy")
    for _name in [name for name in globals() if name not in ("jitkit", "jnp") and not name.startswith("__")]:
        del globals()[_name]
    del _name
