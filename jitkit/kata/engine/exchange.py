"""a learner's functions -> code for the functions of a jitkit that is imported already

Importing jitkit takes longer than most checks. So a process imports it with the reference's functions while it waits, and exchanges
their code for a learner's afterwards (`function.__code__ = code`). Decorators, registries and other modules hold the functions, and so
see the new code. The result is the same as with splicing before the import (`splice`), except in two cases: functions that are called
while jitkit is imported (`Ahead` notices these), and changes that an exchange of code cannot make (`patch` returns None).

The grader does the same with holes in the place of the reference's functions (`grading.grader.holes`).
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import functools
import gc
import importlib
import pathlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType, FunctionType
from typing import Any

from .name_origins import meanings
from .names import Function, tree_of
from .own_names import with_own_names
from .reference import reference_function
from .splice import added_statements, install, spliced_code
from .submission import LearnerFile, Submission, Target

# Functions of exercises that are called while jitkit is imported: their exercises are spliced. A test checks this list.
CALLED_AT_IMPORT = (
    "jitkit.tree_util.registry:find_node_type", "jitkit.tree_util.registry:register",
    "jitkit.tree_util.functions:flatten_into",
)  # fmt: skip
# Functions that are called while a room (a package of jitkit) that only some programs use is imported. For exercises about these
# functions, that room is not imported ahead.
CALLED_LATER = (
    "jitkit.tree_util.functions:flatten_until", "jitkit.pjit.compilation_cache:cache_of",
    "jitkit.signature.argument_spec:infer_missing", "jitkit.signature.argument_spec:check_positions",
    "jitkit.signature.argument_spec:check_names",
)  # fmt: skip

OF_EVERY_PROGRAM = ("pjit.api", "pjit.dispatch", "runtime.placing", "runtime.foreign_nodes")
LATE = "jitkit.kata."  # only checks import the modules below this name, such as `kata.subjects`
_HAS_DOCSTRING = 0x4000000  # a code flag of Python 3.14


class Ahead:
    """A jitkit that `load` has imported, whose functions take a learner's code.

    Args:
      package: the path of the folder `jitkit`.
      spliced: the learner's functions that were spliced before `load` was called.
    """

    def __init__(self, load: Callable[[], None], package: str, spliced: Submission) -> None:
        self.spliced = spliced
        self.called: dict[int, CodeType] = {}  # id of the code -> code; comparing code objects takes long
        before = sys.getprofile()
        sys.setprofile(self._notice)
        try:
            load()
        finally:
            sys.setprofile(before)
        self.functions: dict[tuple[str, str, int], list[FunctionType]] = {}
        for each in gc.get_objects():
            if type(each) is FunctionType and each.__code__.co_filename.startswith(package):
                self.functions.setdefault(_place(each.__code__), []).append(each)

    def _notice(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "call":
            self.called[id(frame.f_code)] = frame.f_code

    def put(self, submission: Submission) -> bool:
        """Put the functions of a submission in place, except functions of modules that are not imported yet. If the result would differ
        from splicing, do nothing and return False.

        Raises:
          SpliceError: as splicing does.
        """
        there = {target: file for target, file in submission.functions.items() if target.module in sys.modules}
        before = Submission({target: there.pop(target) for target in self.spliced.functions if target in there})
        if {before.key(module) for module in before.modules} != {self.spliced.key(m) for m in self.spliced.modules}:
            return False
        changed = patch(there)
        found = {str(target): function for target in there if (function := self.function(target)) is not None}
        if changed is None or len(found) < len(there):
            return False
        for module, code in changed["helpers"]:
            exec(code, sys.modules[module].__dict__)
        for name, code in changed["functions"].items():
            found[name].__code__ = code
            found[name].__doc__ = docstring_of(code)
        return True

    def function(self, target: Target) -> FunctionType | None:
        """Return the function that a target names. Return None if there is not exactly one, if it was called during
        `load`, or if it is a closure.
        """
        module: Any = sys.modules[target.module]
        node = reference_function(target).node
        line = min(part.lineno for part in (node, *node.decorator_list))
        found = self.functions.get((module.__file__, target.name, line), [])
        if len(found) != 1 or id(found[0].__code__) in self.called or found[0].__code__.co_freevars:
            return None
        return found[0]


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def docstring_of(code: CodeType) -> str | None:
    """Return the docstring of a function with this code; None if it has none."""
    has_one = sys.version_info < (3, 14) or code.co_flags & _HAS_DOCSTRING
    first = code.co_consts[0] if has_one and code.co_consts else None
    return first if isinstance(first, str) else None


def prepared(
    request: dict[str, Any], submission: Submission, package: pathlib.Path, known: dict[tuple[Any, ...], CodeType]
) -> Ahead | None:
    """Import jitkit ahead of the functions of a request, and return it as an `Ahead`. Return None if the functions must be
    spliced in first, or the request has no checks. Code that is spliced before its module is imported is added to `known`. Functions
    of other exercises that the import calls are put in place before the import.

    Raises:
      SpliceError: as splicing does.
    """
    ahead, own = None, request.get("own", ())
    early = {t: f for t, f in submission.functions.items() if str(t) in (*CALLED_AT_IMPORT, *CALLED_LATER)}
    rest = {t: f for t, f in submission.functions.items() if t not in early and not t.module.startswith(LATE)}
    if any(str(target) in CALLED_LATER and str(target) in own for target in early):
        request = request | {"modules": ()}
        rest |= {target: early.pop(target) for target in list(early) if str(target) in CALLED_LATER}
    if (
        request.get("checks") and not set(own) & set(CALLED_AT_IMPORT) and patch(rest) is not None
    ):  # otherwise jitkit is imported when the functions are known
        install(Submission(early))
        ahead = Ahead(lambda: import_jitkit(request), str(package), Submission(early))
        # parse these now, so that copies of this process need not
        for target in map(Target.parse, request.get("targets_later", ())):
            meanings(reference_function(target).module_source, target.module)
        gc.freeze()
    known |= spliced_code(submission.without(sys.modules), str(package))
    return ahead


def import_jitkit(request: dict[str, Any]) -> None:
    """Import jitkit and the parts of the course that checks need. Read the checks, unless the request is a "measure".
    If the request names a folder of `executables`, keep compiled programs there. Those of the request's `modules` that
    cannot be imported are left out.
    """
    gc.disable()
    for room in OF_EVERY_PROGRAM:  # otherwise these rooms would be imported in the middle of the first check
        importlib.import_module(f"jitkit.{room}")
    importlib.import_module("jitkit.kata.engine.plain")
    importlib.import_module("jitkit.interpreters.replaying").__dict__["is_on"] = False
    if request["executables"]:
        executables = importlib.import_module("jitkit.kata.engine.executables")
        executables.keep_executables(pathlib.Path(request["executables"]))
    if request["do"] != "measure":
        checks = request["checks"]  # by position, as the worker calls it: with keywords the cache would miss
        importlib.import_module("jitkit.kata.engine.checking").load_checks(checks["source"], checks["path"])
    for name in request.get("modules", ()):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.enable()


def function_code(module: CodeType, target: Target, path: str, line: int) -> CodeType | None:
    """Return, from its module's code, the code of the function of this name at this line of this file; None if there is none."""
    return next(
        (c for c in _codes(module) if (c.co_qualname, c.co_filename, c.co_firstlineno) == (target.name, path, line)),
        None,
    )  # fmt: skip


def _codes(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _codes(const)


def patch(functions: Mapping[Target, LearnerFile]) -> dict[str, Any] | None:
    """Return the code that replaces functions: `functions` has it by target, and `helpers` has pairs of a module and
    the code to run in it first. Return None if an exchange of code is impossible, or splicing would refuse: for
    decorators, helping methods, other parameters, closures, two files for one module.

    Raises:
      SpliceError: as splicing does, for everything else that it refuses.
    """
    codes: dict[str, CodeType] = {}
    helpers: list[tuple[str, CodeType]] = []
    places: dict[str, set[str]] = {}
    for target, file in functions.items():
        written, reference = file.find(target), reference_function(target)
        if (
            written.decorator_list or file.helping_methods(target)
            or type(written) is not type(reference.node) or _parameters(written) != _parameters(reference.node)
        ):  # fmt: skip
            return None
        own = with_own_names(written, file, meanings(reference.module_source, target.module))
        code = _compiled(own, target, file.path, flags_of_module(reference.module_source))
        if code.co_freevars:
            return None
        codes[str(target)] = code
        places.setdefault(target.module, set()).add(file.path)
    for module, paths in places.items():
        if len(paths) > 1:
            return None
        targets = [t for t in functions if t.module == module]
        file, source = functions[targets[0]], reference_function(targets[0]).module_source
        statements = added_statements(meanings(source, module), file, targets)
        if statements:
            code = compile(ast.Module(statements, []), file.path, "exec", flags_of_module(source), dont_inherit=True)
            helpers.append((module, code))
    return {"functions": codes, "helpers": helpers}


def _compiled(function: Function, target: Target, path: str, flags: int) -> CodeType:
    """Compile a function inside `class` statements with the names of its classes, and return its code."""
    node: ast.stmt = function
    for name in reversed(target.path[:-1]):
        node = ast.copy_location(ast.ClassDef(name, [], [], [node], []), function)
        if sys.version_info >= (3, 12):
            node.type_params = []
    module = compile(ast.Module([node], []), path, "exec", flags, dont_inherit=True)
    code = function_code(module, target, path, function.lineno)
    assert code is not None, f"{target} was compiled just now"
    return code


def _parameters(function: Function) -> str:
    """Return a string that is equal for functions whose parameters have equal names, kinds and default values."""
    args = function.args
    several = [[arg.arg for arg in kind] for kind in (args.posonlyargs, args.args, args.kwonlyargs)]
    rest = [arg and arg.arg for arg in (args.vararg, args.kwarg)]
    defaults = [default and ast.dump(default) for default in (*args.defaults, None, *args.kw_defaults)]
    return repr((several, rest, defaults))


@functools.lru_cache(maxsize=64)
def flags_of_module(source: str) -> int:
    """Return the compiler flags of a module's imports from `__future__`."""
    imports = [n for n in tree_of(source).body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    names = {alias.name for node in imports for alias in node.names}
    return functools.reduce(int.__or__, (getattr(__future__, name).compiler_flag for name in names), 0)
