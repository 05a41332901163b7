"""an error of Python's own -> what to write instead

`0.1 * grads` for a dict, `x.shape()`, `total += x` in the body of a loop: Python refuses these itself, with a message
that knows nothing of arrays. When such an error leaves a traced function, and comes from a line of the user's, `amend`
adds the edit below the message.

Each row has a pattern of the whole message, so a message is amended only once.

JAX: jax/_src/traceback_util.py:api_boundary
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from . import edits, habits

_ROOMS = "numpy", "nn", "random", "lax", "numpy.linalg", "tree"
_MEMBERS = (
    "shape|dtype|ndim|size|T|at|sum|mean|max|min|std|var|prod|any|all|dot|reshape|astype|ravel|flatten|transpose|squeeze|"
    "argmax|argmin|argsort|cumsum|clip|repeat|swapaxes|item|block_until_ready"
)
_CALL = re.compile(
    r"(\w+)\(\) (?:takes .*\bpositional arguments? but .* given|missing \d+ required .*|got an unexpected keyword argument .*|"
    r"got multiple values for argument .*)"
)


class _Row(NamedTuple):
    """A kind of error: its class, a pattern of its message, the edit, and a pattern of the user's line (any, without one)."""

    kind: type[BaseException]
    message: str
    edit: str
    line: str = ""
    inside: bool = False  # whether the innermost frame may be ours


_ROWS = (
    _Row(TypeError, r"(unsupported operand|'\S+' not supported).*'NoneType'.*", edits.IS_NONE),
    _Row(TypeError, r"cannot unpack non-iterable NoneType object|'NoneType' object is not \w+", edits.IS_NONE),
    _Row(AttributeError, r"'NoneType' object has no attribute .*", edits.IS_NONE),
    _Row(TypeError, r"unsupported operand .*'(dict|list|tuple)'.*", edits.OF_TREES),
    _Row(TypeError, r"unsupported operand .*'str'.*", edits.OF_A_TEXT),
    _Row(TypeError, r"can't multiply sequence by non-int of type 'float'", edits.OF_TREES),
    _Row(TypeError, r"'\w+' object is not callable", edits.NO_METHOD, r"\.(shape|ndim|size|dtype|T|mT|nbytes)\("),
    _Row(TypeError, r"'(Array|\w+Tracer)' object is not callable", edits.NOT_CALLED),
    _Row(AttributeError, r"'numpy\.ndarray' object has no attribute 'at'", edits.AT_OF_NUMPY),
    _Row(AttributeError, rf"'list' object has no attribute '({_MEMBERS})'", edits.OF_A_LIST_OF_NUMBERS),
    _Row(AttributeError, rf"'tuple' object has no attribute '({_MEMBERS})'", edits.OF_A_TUPLE),
    _Row(AttributeError, rf"'dict' object has no attribute '({_MEMBERS})'", edits.OF_A_TREE),
    _Row(AttributeError, r"'dict' object has no attribute '\w+'", edits.ITEM_OF_A_DICT),
    _Row(AttributeError, rf"'(float|int|bool|complex)' object has no attribute '({_MEMBERS})'", edits.OF_A_NUMBER),
    _Row(TypeError, r"list indices must be integers or slices, not tuple", edits.INDICES_OF_A_LIST),
    _Row(TypeError, r"'float' object cannot be interpreted as an integer", edits.INTEGER_SIZE),
    _Row(ValueError, r"(too many|not enough) values to unpack \(expected .*", edits.UNPACKED),
    _Row(ValueError, r"setting an array element with a sequence\.", edits.INTO_NUMPY),
    _Row(UnboundLocalError, r"cannot access local variable .*", edits.CARRIED),
    _Row(RecursionError, r"maximum recursion depth exceeded.*", edits.RECURSION, inside=True),
    _Row(TypeError, r"'\w+' object is not iterable", edits.SWITCH_ORDER, r"\bswitch\(", inside=True),
)


def amend(error: BaseException, is_hidden: Callable[[str], bool]) -> None:
    """Add to the message of an error of Python's own what to write instead, if known. `is_hidden` says which files are
    not the user's.
    """
    if len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    rows = [row for row in _ROWS if type(error) is row.kind and re.fullmatch(row.message, error.args[0])]
    call = _CALL.fullmatch(error.args[0]) if type(error) is TypeError else None
    if not rows and not call:
        return
    frame, number, is_innermost = _users_line(error, is_hidden)
    line = linecache.getline(frame.f_code.co_filename, number)
    fitting = (row.edit for row in rows if (row.inside or is_innermost) and re.search(row.line, line))
    edit = _about_call(call, frame, line) if call else next(fitting, "")
    error.args = (f"{error.args[0]}{edit}",)


def _users_line(error: BaseException, is_hidden: Callable[[str], bool]) -> tuple[types.FrameType, int, bool]:
    """Return the user's frame nearest to the error, its line, and whether the error was raised there. The frame is in
    the traceback, or called the function of ours through which the error passes now.
    """
    node, found = error.__traceback__, None
    while node is not None:
        if not is_hidden(node.tb_frame.f_code.co_filename):
            found = node.tb_frame, node.tb_lineno, node.tb_next is None
        elif found is not None:
            found = *found[:2], False
        node = node.tb_next
    frame = sys._getframe()
    while found is None and frame.f_back is not None and is_hidden(frame.f_code.co_filename):
        frame = frame.f_back
    return found or (frame, frame.f_lineno, False)


# --- calls that do not fit -----------------------------------------------------------------------------------


def _about_call(call: re.Match[str], frame: types.FrameType, line: str) -> str:
    """Return our name of a keyword of another library, or how the function of ours in the user's line is called; "" if
    it is not ours.
    """
    name = call[1]
    if name in ("jit", "grad", "vmap") and "positional" in call[0]:
        return edits.APPLIED_TWICE.format(name)
    function = _ours(name, frame, line)
    if function is None:
        return ""
    names = inspect.signature(function).parameters
    keyword = habits.about_keyword(call[0], set(names))
    return keyword or f"\nIt is called as `{name}({', '.join(map(_shown, names.values()))})`."


def _ours(name: str, frame: types.FrameType, line: str) -> Any:
    """Return the public function of this name that the user's line calls, or None."""
    names = {**frame.f_globals, **frame.f_locals}
    rooms = [sys.modules.get(f"{__package__.partition('.')[0]}.{room}") for room in _ROOMS]
    for function in filter(callable, (getattr(room, name, None) for room in rooms)):
        is_called = names[name] is function if name in names else not line or f".{name}(" in line
        if is_called and isinstance(inspect.unwrap(function), types.FunctionType):
            return function
    return None


def _shown(parameter: inspect.Parameter) -> str:
    """Return a parameter as a signature shows it: without types, and with `...` for a default that is no literal."""
    default = parameter.default
    literal = default is inspect.Parameter.empty or isinstance(default, str | int | float | tuple | None)
    return str(parameter.replace(annotation=inspect.Parameter.empty, default=default if literal else ...)).replace(
        "Ellipsis", "..."
    )
