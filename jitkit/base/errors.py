"""tracer -> error: why a value that is not known yet cannot be used in this way, and what to write instead

While a function is traced, its values have a shape and a dtype but no content. Code that needs the content (`if x > 0`,
`int(x)`, `np.sin(x)`, `items[i]`) ends in one of these classes. They have JAX's names, bases and first lines, so that
texts about JAX's errors apply. The reason follows, then a table of situations, each with its edit, and the address of a
page on the error.

An error copies what it needs from the tracer and keeps only text: a stored exception must not keep a trace alive.

JAX: jax/_src/errors.py:ConcretizationTypeError
"""

from __future__ import annotations

import gc
import linecache
import pathlib
import re
import sys
import warnings
from collections.abc import Sequence
from types import CellType, FrameType, FunctionType
from typing import Any, NamedTuple, Protocol

from . import config, edits, source_info

_STATIC = re.compile(r"static_arg(?:names='\w+'|nums=\d+)")
_PAGE_OF_JAX = "https://docs.jax.dev/en/latest/101/errors.html"
_OWN_PAGE = pathlib.Path(__file__).parents[2] / "docs" / "errors.md"  # exists in a clone only


class TracedValue(Protocol):
    """The part of a tracer that the errors use."""

    def _error_repr(self) -> str:
        """Return `traced array with shape float32[3]`."""
        ...

    def _static_name(self) -> str | None:
        """Return the name of an argument that decides the value and may be static; empty if there is none, None if unknown."""
        ...

    def _origin_msg(self) -> str:
        """Return sentences on where the value comes from, each after a newline; empty if that is not known."""
        ...


class _Table(NamedTuple):
    """A paragraph, and rows of two columns: the situation, and the edit. A row may have a pattern of the lines of
    Python to which it belongs.
    """

    why: str
    rows: tuple[tuple[str, ...], ...]

    def text(self, static: str | None = None) -> str:
        """Return the table as text, first the rows that fit the user's current line. `static` is the name of an
        argument that decides the value and can be made static; if it is empty, rows that advise that are left out.
        """
        frame = source_info.user_frame(2)
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip() if frame is not None else ""
        rows = [row for row in self.rows if static != "" or "static_argn" not in row[1]]
        fits = [len(row) > 2 and re.search(row[2], line) is not None for row in rows]
        ordered = [row for wanted in (True, False) for row, fit in zip(rows, fits, strict=True) if fit is wanted]
        width = max(len(situation) for situation, *_ in ordered)
        lines = (f"  {situation:{width}}  {_with_name(edit, static)}" for situation, edit, *_ in ordered)
        return "\n".join((self.why, *lines))


def _table(why: str, *rows: tuple[str, ...]) -> _Table:
    return _Table(why, rows)


def _with_name(edit: str, static: str | None) -> str:
    return _STATIC.sub(f"static_argnames='{static}'", edit) if static else edit


def static_size(tracer: TracedValue) -> str:
    """Return the advice for a traced size: make an argument static, or if none can be, compute the size in Python."""
    static = tracer._static_name()
    return edits.COMPUTED_SIZE if static == "" else _with_name(edits.STATIC_SIZE, static)


# --- the classes that JAX documents -------------------------------------------------------------------------


class _LinkedError(Exception):
    """An error whose message ends with the address of a page about its class."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}\nSee {_address(type(self).__name__)}")


def _address(name: str) -> str:
    """Return the address of the section about a class: on the page in the option `errors_page`, or jitkit's own, or JAX's."""
    page = config.value("errors_page")
    if page is None and not _OWN_PAGE.is_file():
        return f"{_PAGE_OF_JAX}#jax.errors.{name}"
    return f"{page or _OWN_PAGE}#{name.lower()}"


class JAXTypeError(_LinkedError, TypeError):
    """A TypeError with a page in JAX's documentation."""


class JAXIndexError(_LinkedError, IndexError):
    """An IndexError with a page in JAX's documentation."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where its content is needed: in `int(x)`, as an axis, as a size.

    Args:
      tracer: the traced value.
      context: a sentence that says what needs it, and why.
    """

    def __init__(self, tracer: TracedValue, context: str = "") -> None:
        super().__init__(
            "Abstract tracer value encountered where concrete value is expected: "
            f"{tracer._error_repr()}\n{context.removesuffix(tracer._origin_msg())}{tracer._origin_msg()}\n\n"
            f"{_HOW_TO_CONCRETIZE.text(tracer._static_name())}"
        )


_HOW_TO_CONCRETIZE = _table(
    "The value itself is needed here. While a function is traced there is only its shape and its dtype.",
    ("a size, axis or count that rarely changes", "make that argument static: jit(f, static_argnames='n')"),
    (
        "as many results as the values decide",
        "say how many: jnp.unique(x, size=3), jnp.nonzero(x, size=3)",
        r"unique|nonzero|argwhere|where\(",
    ),
    ("a number that the shape gives", "x.shape[0], x.ndim, x.size and len(x) are plain ints"),
    ("another dtype", "x.astype(jnp.int32), x.astype(jnp.float32)", r"\b(int|float|complex)\("),
    ("a function of `math`", "the one of jitkit.numpy: jnp.sin(x) instead of math.sin(x)", r"\bmath\.\w+\("),
    ("as many values as a mask selects", "keep the shape: jnp.where(mask, x, 0)"),
    ("to look at it", "jitkit.debug.print('{}', x)", r"\b(print|format|str|log\w*)\(|\bf['\"]|['\"] %"),
    ("to use it in Python", "return x, and convert it outside of the traced function", r"\.(item|tolist|tobytes)\("),
)


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was used where Python needs True or False: in `if`, `while`, `and`, `not`, `min`, `assert`."""

    def __init__(self, tracer: TracedValue) -> None:
        origin, how = tracer._origin_msg(), _HOW_TO_DECIDE.text(tracer._static_name())
        JAXTypeError.__init__(self, f"Attempted boolean conversion of {tracer._error_repr()}.{origin}\n\n{how}")


_HOW_TO_DECIDE = _table(
    "Python must choose here, once for all calls. The choice has to become part of the program instead.",
    ("one of two values", "jnp.where(condition, a, b)", r"\bif\b.*\belse\b"),
    ("one of two branches", "lax.cond(condition, on_true, on_false, *operands)", r"^(el)?if\b"),
    ("a loop with a condition", "lax.while_loop(condition, body, start)", r"^while\b"),
    (
        "`and`, `or`, `not`, 0 < x < 1",
        "&, |, ~ with parentheses: (0 < x) & (x < 1)",
        r"\b(and|or|not)\b|[<>]=?[^<>]*[<>]",
    ),
    ("x in [1, 2]", "(x == 1) | (x == 2)", r"^(?!for\b).*\bin [\[({]"),
    ("min, max, sorted", "jnp.minimum, jnp.maximum, jnp.sort(jnp.stack([x, y]))", r"(?<!\.)\b(min|max|sorted)\("),
    ("assert", "check outside of the traced function; to look: jitkit.debug.print('{}', x)", r"^assert\b"),
    ("a flag, the same in most calls", "make that argument static: jit(f, static_argnames='flag')"),
)


class TracerIntegerConversionError(JAXTypeError):
    """A traced value was used where Python needs an integer: in `range(n)`, as the index of a list, as an axis."""

    def __init__(self, tracer: TracedValue) -> None:
        how = _HOW_TO_INDEX.text(tracer._static_name())
        super().__init__(f"The __index__() method was called on {tracer._error_repr()}{tracer._origin_msg()}\n\n{how}")


_HOW_TO_INDEX = _table(
    "Python needs an integer here, and this one is not known before the compiled function runs.",
    ("range(n)", "lax.fori_loop(0, n, body, start)", r"\brange\("),
    ("the index of a list of numbers", "jnp.array(numbers)[i]", r"\w\["),
    ("the index of a list of functions", "lax.switch(i, functions, *operands)", r"\w\[[^]]*\]\("),
    ("a shape, axis or count that rarely changes", "make that argument static: jit(f, static_argnames='n')"),
)


class TracerArrayConversionError(JAXTypeError):
    """A traced value was given to NumPy, or to other code that needs the numbers."""

    def __init__(self, tracer: TracedValue) -> None:
        super().__init__(
            f"The numpy.ndarray conversion method __array__() was called on {tracer._error_repr()}"
            f"{tracer._origin_msg()}\n\n{_HOW_WITHOUT_NUMPY.text(tracer._static_name())}"
        )


_HOW_WITHOUT_NUMPY = _table(
    "NumPy computes at once, with values. While a function is traced there are only shapes and dtypes.",
    ("a function of NumPy", "the one of the same name in jitkit.numpy: jnp.sin(x) instead of np.sin(x)"),
    ("a dtype of NumPy's", "x.astype(np.float32)", r"\bnp\.(float|int|uint|complex|bool)\w*\("),
    ("a function of jax.numpy", "it knows only JAX's own tracers: import jitkit.numpy as jnp"),
    ("the index of a NumPy array", "jnp.asarray(table)[i]"),
    ("an argument that rarely changes", "make it static: jit(f, static_argnums=0)"),
    ("to look at it, or to plot it", "jitkit.debug.callback(function, x)"),
    ("NumPy code that has to stay", "jitkit.pure_callback(function, shape_and_dtype, x)"),
)


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask was used as an index, so that the result's size depends on values.

    Args:
      tracer: the mask, or its type.
      origin: where it comes from: sentences, each after a newline.
    """

    def __init__(self, tracer: Any, origin: str = "") -> None:
        super().__init__(f"Array boolean indices must be concrete; got {tracer}{origin}\n\n{_HOW_TO_MASK.text()}")


_HOW_TO_MASK = _table(
    "x[mask] has as many elements as the mask has True, and a compiled program must know all its shapes.",
    ("x[mask]", "jnp.where(mask, x, 0), of the same shape as x"),
    ("x[mask].sum()", "jnp.where(mask, x, 0).sum()", r"\]\.sum\("),
    ("x[mask].mean()", "jnp.where(mask, x, 0).sum() / mask.sum()", r"\]\.mean\("),
    ("x.at[mask].set(y)", "jnp.where(mask, y, x)", r"\.at\["),
    ("the selected values themselves", "return x and mask, and index outside of the traced function"),
)


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after its trace had ended: a function kept it somewhere instead of returning it."""


class InvalidInputException(TypeError):
    """Raised for an argument that is not an array, a number, or a tree of these."""


class KeyReuseError(JAXTypeError):
    """A random key was used twice."""


class JaxRuntimeError(RuntimeError):
    """The compiler or a running program failed. The message is XLA's, with its status code in front."""


XlaRuntimeError = JaxRuntimeError  # the class's older name, which programs still use


class JaxprTypeError(TypeError):
    """A jaxpr is ill-formed."""


for _error in [found for found in vars().values() if isinstance(found, type) and issubclass(found, Exception)]:
    _error.__module__ = "jitkit.errors"  # the module from which users import them: tracebacks show it


def about_value_of_jax(x: Any) -> str:
    """Return a line that says what to do with a tracer or random key of JAX; "" for other values."""
    t = type(x)
    if t.__module__.startswith("jax.") and t.__name__ == "PRNGKeyArray":
        return (
            "\nThis is a random key of jax itself. Make it with `jitkit.random.key(seed)`, which gives the same "
            "numbers, or convert this one: `jitkit.random.wrap_key_data(jax.random.key_data(key))`."
        )
    if not t.__module__.startswith("jax.") or not t.__name__.endswith("Tracer"):
        return ""
    maker = {"BatchTracer": "jax.vmap", "JVPTracer": "jax.jvp", "LinearizeTracer": "jax.grad"}.get(
        t.__name__, "jax.jit"
    )
    return (
        f"\nThis is a tracer of jax itself: `{maker}`, or another transformation of JAX's, was applied to a function "
        "that computes with jitkit, which it cannot see. Take both from one library: the transformation from "
        "jitkit (`import jitkit as jax`), or the operations from JAX (`import jax.numpy as jnp`)."
    )


def array_as_dtype(array: Any) -> Any:
    """Return the dtype of an array that stands for its dtype, as in `np.dtype(array)`, with JAX's warning."""
    warnings.warn(
        "Implicit conversion of an array to a dtype is deprecated; rather than dtype=arr use dtype=arr.dtype. In the "
        "future this will result in an error.",
        DeprecationWarning,
        stacklevel=2,
    )
    return array.dtype


def key_for_jax_error(aval: Any) -> TypeError:
    """Return the error for a random key of ours that was given to JAX."""
    return TypeError(
        f"A random key of jitkit, {aval.str_short()}, was given to JAX, which knows its own keys only.\nMake it with "
        "`jax.random.key(seed)`, which gives the same numbers, or convert this one:\n"
        "`jax.random.wrap_key_data(jitkit.random.key_data(key))`."
    )


# --- leaks --------------------------------------------------------------------------------------------------


def leaked_tracer_error(traced_for: str, tracers: Sequence[Any]) -> Exception:
    """Return the error of `checking_leaks` for a trace that ends while some of its tracers are still referenced.

    Args:
      traced_for: what was traced, such as "jit".
      tracers: the survivors. Their `_origin_msg()` says which function they belong to.

    Returns:
      An `Exception`, exactly of this class, as in JAX.
    """
    ours = {id(tracers)}
    lines = [f"Leaked trace {type(tracers[0]._trace).__name__}. Leaked tracer(s):"]
    for tracer in tracers:
        lines.append(f"\n{tracer}{tracer._origin_msg()}")
        keeper = _keeper(tracer, ours)
        if keeper:
            lines.append(f"It is kept {keeper}.")
    lines.append(
        f"\nThese values were still referenced when tracing for {traced_for} was over, and stand for\n"
        "nothing now: return them from the function, instead of keeping them elsewhere."
    )
    return Exception("\n".join(lines))


def _keeper(value: Any, ours: set[int]) -> str:
    """Return where a value is kept, up to a name that users know: "in item 0 of a list, in the variable `log` of the module m"; "" if
    that is not found. `ours` has the ids of objects that hold it only for this search.
    """
    steps: list[str] = []
    while value is not None and len(steps) < 8:
        ours.add(id(value))
        holder = next((x for x in gc.get_referrers(value) if not _is_ours(x, ours)), None)
        if holder is None:
            break
        step, is_named = _how_it_holds(holder, value)
        steps.append(step)
        value = None if is_named else holder
    return ", ".join(filter(None, steps))


def _is_ours(holder: Any, ours: set[int]) -> bool:
    """Return whether a holder of the value is not shown to users: it belongs to this search, is a frame, or an object of jitkit's."""
    package = __name__.partition(".")[0]
    return id(holder) in ours or isinstance(holder, FrameType) or type(holder).__module__.startswith(package)


def _how_it_holds(holder: Any, value: Any) -> tuple[str, bool]:
    """Return in words how an object refers to `value`, and whether users know that object by a name."""
    if isinstance(holder, dict):
        name = next((str(key) for key, item in holder.items() if item is value), "?")
        module = next((m for m in list(sys.modules.values()) if getattr(m, "__dict__", None) is holder), None)
        if module is not None:
            return f"in the variable `{name}` of the module {module.__name__}", True
        return f"under the key `{name}` of a dict", False
    if isinstance(holder, list | tuple):
        return f"in item {[item is value for item in holder].index(True)} of a {type(holder).__name__}", False
    if isinstance(holder, CellType):
        return "", False
    if isinstance(holder, FunctionType):
        return f"in a variable that the function {holder.__qualname__} refers to", True
    names = [name for name, item in getattr(holder, "__dict__", {}).items() if item is value]
    attribute = f"the attribute `{names[0]}` of " if names else ""
    return f"in {attribute}a {type(holder).__name__}", False
