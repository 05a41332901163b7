"""Compares every public name with JAX's. Writes what it found to `docs/parity.md`, and the names that are missing to
`jitkit/base/names_of_jax.py`.

    python tests/parity.py --write    write both
    python tests/parity.py --check    exit 1 unless both are as they would be written

`parity_samples` has a call of each name. It is run with JAX and with jitkit: results are compared in structure, shape,
dtype, weak type and value, printed jaxprs to the letter. Then it is traced again with other operands in the place of the
floats, and must give the same jaxpr again, or the same error. A row says what was compared, and why something differs.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import io
import pathlib
import re
import sys
import textwrap
import warnings
from typing import Any

import all_rooms
import jax
import jax.experimental.checkify  # importing it registers rules; so does the next import
import jax.experimental.sparse.linalg
import jax.flatten_util
import jax.ops
import jax.scipy.fft
import jax.scipy.integrate
import jax.scipy.linalg
import jax.scipy.ndimage
import jax.scipy.optimize
import jax.scipy.signal
import jax.scipy.sparse.linalg
import jax.scipy.special
import jax.scipy.stats
import ml_dtypes
import numpy as np
import parity_samples
import signatures
from jax._src.interpreters import ad as jax_ad
from jax._src.interpreters import batching as jax_batching
from lax_oracle import first_line
from twin import difference, plain, words

import jitkit
from jitkit.base import names_of_jax
from jitkit.interpreters import ad_rules, batching, mlir

PATH = pathlib.Path(__file__).resolve().parent.parent / "docs" / "parity.md"
VERSION = "0.10.2"  # the version of JAX that the table is about

# --- why something differs: pattern of a sample, or "other kind: sample" for another kind of operand, and the reason -----

_NAMED_AXIS = "names the axis that is out of bounds, in JAX an IndexError of a tuple"
_OTHER_SENTENCE = "another error message"

REASONS: tuple[tuple[str, str], ...] = (
    (r"(0-d|weak): (jnp\.(nan)?arg(max|min)\(x, axis|x\.argmax\(axis)", _NAMED_AXIS),
    (r"(a list|None): jnp\.(average|einsum|gradient)", _OTHER_SENTENCE),
    (r"(a list|None): lax\.scatter_apply", "a TypeError, in JAX an AttributeError"),
    (r"(0-d|weak): lax\.conv_transpose", "a ValueError, in JAX an AssertionError"),
    (r"(0-d|weak|empty): lax\.reshape", "a TypeError, where JAX records it and fails when it lowers"),
    (r"None: lax\.dynamic_update_index_in_dim", "an AttributeError, in JAX an IndexError"),
    (r"(a list|None): lax\.(broadcast|expand_dims|conv_transpose|dynamic_|map\(lambda a: a.sum)", _OTHER_SENTENCE),
    (r"(.*: )?special\.fresnel", "JAX records empty tables beside those of its polynomials"),
    (r"None: special\.hyp1f1", "a TypeError, in JAX an AssertionError"),
    (r"weak: special\.wofz", "JAX's equations are of weak numbers; the result is of neither"),
    (r"empty: signal\.detrend", "a TypeError that says why, in JAX a ZeroDivisionError"),
    (
        r"((.*: )?iterative\.(bicgstab|gmres)|complex64: iterative\.cg)",
        "JAX has the constants of the solver in another order",
    ),
)

# Differences from JAX 0.12 only, where jitkit records the equations of 0.10: the pattern of a sample, with any kind of
# operand; the names that it is about, and what JAX 0.12 does.
_KIND = r"(.*: )?"
LATER_REASONS: tuple[tuple[str, str, str], ...] = (
    (
        _KIND
        + r"(jnp\.(flatnonzero|nonzero|union1d|tri[lu]_indices(_from)?|insert|setdiff1d|"
        + r"intersect1d|setxor1d|unique_\w+|mask_indices|place)\(|"
        + r"x\.nonzero)",
        "`nonzero`, `flatnonzero`, `place`, `insert`, indices of triangles and masks, `unique` and its siblings, operations on sets",
        "an operation of its own for `nonzero`",
    ),
    (
        _KIND + r"(jnp\.(searchsorted|histogram(2d|dd)?\(|interp|digitize)|v\.searchsorted)",
        "`searchsorted`, `histogram`, `histogram2d`, `histogramdd`, `interp`, `digitize`",
        "an operation of its own for `searchsorted`",
    ),
    (_KIND + r"jnp\.(frexp|ldexp)", "`frexp`, `ldexp`", "an operation of its own for `frexp`"),
    (
        _KIND + r"jnp\.(polyval|sinc)",
        "`polyval`, `sinc`",
        "an operation for polynomials; near the zeros of `sinc` other values",
    ),
    (_KIND + r"(norm\.(isf|ppf)|special\.ndtri)\(", "`norm.isf`, `norm.ppf`", "other equations for polynomials"),
    (
        _KIND + r"jax\.(grad|value_and_grad|vjp)\(",
        "`grad`, `value_and_grad`, `vjp`",
        "some sums of cotangents are in another order",
    ),
    (
        r"(bool|int32|uint8): jax\.(jvp|linear_transpose)\(",
        "`jvp` and `linear_transpose` of integers",
        "another error message",
    ),
    (
        _KIND
        + r"((jnp|lax)\.linalg\.(cholesky|cond|det|eigv?a?l?s?h?|householder_product|inv|lstsq|lu|matrix_rank|norm|pinv|qr|solve|"
        + r"svd|svdvals|tensorinv|tensorsolve|slogdet|schur|hessenberg|tridiagonal|tridiagonal_solve|symmetric_product|"
        + r"cholesky_update|ormqr)|sla\.\w+|jnp\.(poly|polyfit|roots)|signal\.(detrend|stft))\(",
        "`linalg` of `jnp`, `lax` and `scipy`, `poly`, `polyfit`, `roots`, `signal.detrend`, `stft`: all that is made of decompositions",
        "floats of 16 bits are refused, other error messages for wrong shapes, other equations for `det`, `cond`, `expm`, `solve`",
    ),
    (
        _KIND + r"(special\.(i0|i1|rel_entr|kl_div|beta|betaln)|jnp\.(i0|kaiser))\(",
        "`jnp.i0`, `kaiser`, `special.i0`, `i1`, `rel_entr`, `kl_div`, `beta`, `betaln`",
        "rules of their own for derivatives",
    ),
    (_KIND + r"lax\.custom_root\(", "`lax.custom_root`", "an operation of its own, and other dtypes"),
    (_KIND + r"random\.(binomial|multinomial)\(", "`random.binomial`, `multinomial`", "other equations"),
    (
        _KIND + r"(jnp\.(arg)?partition|x\.argpartition)\(",
        "`partition`, `argpartition` of integers",
        "`not` in place of `neg`, which does not overflow",
    ),
    (
        _KIND + r"special\.(expn|dawsn|erfcx|hyp2f1|sici|spence|sph_harm_y|wofz|expi|exp1|zeta)\(",
        "`special.expn`, `exp1`, `expi`, `dawsn`, `erfcx`, `hyp2f1`, `sici`, `spence`, `sph_harm_y`, `wofz`, `zeta`",
        "other equations for polynomials, a rule for derivatives that has a name",
    ),
    (_KIND + r"jnp\.hypot", "`hypot`", "scales its operands, a rule for derivatives; other last bits"),
)
IS_LATER = jax.__version_info__ >= (0, 11)

# --- modules and their names ---------------------------------------------------------------------------------------------

# alias in samples, path of the module, heading
MODULES = {
    "": ("", "jitkit"),
    "jnp": ("numpy", "jitkit.numpy"),
    "jnp.linalg": ("numpy.linalg", "jitkit.numpy.linalg"),
    "jnp.fft": ("numpy.fft", "jitkit.numpy.fft"),
    "lax": ("lax", "jitkit.lax"),
    "lax.linalg": ("lax.linalg", "jitkit.lax.linalg"),
    "special": ("scipy.special", "jitkit.scipy.special"),
    "norm": ("scipy.stats.norm", "jitkit.scipy.stats.norm"),
    "sla": ("scipy.linalg", "jitkit.scipy.linalg"),
    "iterative": ("scipy.sparse.linalg", "jitkit.scipy.sparse.linalg"),
    "ndimage": ("scipy.ndimage", "jitkit.scipy.ndimage"),
    "cosine": ("scipy.fft", "jitkit.scipy.fft"),
    "signal": ("scipy.signal", "jitkit.scipy.signal"),
    "integrate": ("scipy.integrate", "jitkit.scipy.integrate"),
    "optimize": ("scipy.optimize", "jitkit.scipy.optimize"),
    "ops": ("ops", "jitkit.ops"),
    "random": ("random", "jitkit.random"),
    "nn": ("nn", "jitkit.nn"),
    "nn.initializers": ("nn.initializers", "jitkit.nn.initializers"),
    "tree_util": ("tree_util", "jitkit.tree_util"),
    "tree": ("tree", "jitkit.tree"),
    "flatten_util": ("flatten_util", "jitkit.flatten_util"),
    "debug": ("debug", "jitkit.debug"),
    "errors": ("errors", "jitkit.errors"),
}


def module(library: Any, alias: str) -> Any:
    """Return the module of a library that an alias stands for."""
    for part in filter(None, MODULES[alias][0].split(".")):
        library = getattr(library, part)
    return library


def public_names(alias: str) -> list[str]:
    """Return the names of our module that JAX's has, too, except modules, and primitives, which are listed apart."""
    ours, theirs = module(jitkit, alias), module(jax, alias)
    return [
        name
        for name in dir(ours)
        if not name.startswith("_")
        and not name.endswith("_p")
        and hasattr(theirs, name)
        and not isinstance(getattr(ours, name), type(sys))
    ]


# --- running a sample ----------------------------------------------------------------------------------------------------


def namespace(library: Any) -> dict[str, Any]:
    """Return what the names in a sample stand for."""
    names = {alias: module(library, alias) for alias in MODULES if "." not in alias and alias}
    return names | parity_samples.HELPERS | {"jax": library, "np": np}


@dataclasses.dataclass
class Sample:
    """One expression: the name that it is about, and the code."""

    alias: str
    name: str
    text: str

    def __post_init__(self) -> None:
        self.code = compile(self.text, "<sample>", "eval")
        self.operands = [name for name in self.code.co_names if name in parity_samples.OPERANDS]
        self.takes_key = "key" in re.findall(r"(?<![.\w])key\b", self.text)

    def evaluate(self, library: Any, values: dict[str, Any]) -> Any:
        """Return the value of the expression."""
        return eval(self.code, namespace(library) | values)

    def traced(self, library: Any, operands: dict[str, Any]) -> Any:
        """Return the jaxpr. The arrays among the operands are its arguments; all other operands are captured."""
        arguments = {k: v for k, v in operands.items() if isinstance(v, np.ndarray | np.generic | float)}
        rest = {k: v for k, v in operands.items() if k not in arguments}
        if self.takes_key:
            arguments["key"] = library.random.key(7)
        return library.make_jaxpr(lambda values: self.evaluate(library, values | rest))(arguments)

    def usual(self) -> dict[str, Any]:
        """Return the operands that the sample reads."""
        return {name: parity_samples.OPERANDS[name] for name in self.operands}


def _as_kind(dtype: Any) -> Any:
    return lambda x: x.astype(dtype)


# Other kinds of operand, which replace the floats of a sample.
KINDS = {
    "bool": _as_kind(np.bool_),
    "int32": _as_kind(np.int32),
    "uint8": lambda x: np.abs(x).astype(np.uint8),
    "float16": _as_kind(np.float16),
    "bfloat16": _as_kind(ml_dtypes.bfloat16),
    "complex64": _as_kind(np.complex64),
    "0-d": lambda x: x.ravel()[0],
    "empty": lambda x: x[..., :0] if x.ndim else x.ravel()[:0],
    "weak": lambda x: float(x.ravel()[0]),
    "a list": lambda x: x.tolist(),
    "None": lambda x: None,
}


def operands_of_kind(sample: Sample, kind: str) -> dict[str, Any] | None:
    """Return the sample's operands, with the floats replaced by this kind; None if it has no floats."""
    usual = sample.usual()
    floats = [name for name, value in usual.items() if value.dtype == np.float32]
    return usual | {name: KINDS[kind](usual[name]) for name in floats} if floats else None


def attempt(function: Any, *args: Any) -> tuple[Any, Any]:
    """Return a result and None; or None and the class and first line of an error."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            return function(*args), None
        except Exception as error:
            name, line = first_line(error).split(": ", 1)
            return None, (name, words(line))


# --- comparing -----------------------------------------------------------------------------------------------------------


def same_program(sample: Sample, operands: dict[str, Any]) -> str | None:
    """Return None if both print the same jaxpr, or raise the same error; else what differs."""
    (ours, our_error), (theirs, their_error) = (attempt(sample.traced, library, operands) for library in (jitkit, jax))
    if our_error or their_error:
        if our_error == their_error:
            return None
        return f"raises {our_error or 'nothing'}, in JAX {their_error or 'nothing'}"
    return None if str(ours) == str(theirs) else f"records\n{ours}\nand in JAX\n{theirs}"


def same_result(ours: Any, theirs: Any) -> str | None:
    """Return None if two results have the same structure and types, and values up to rounding; else what differs."""
    our_leaves, our_tree = jax.tree.flatten(_as_data(ours))
    their_leaves, their_tree = jax.tree.flatten(_as_data(theirs))
    if str(our_tree) != str(their_tree):
        return f"{our_tree} is not {their_tree}"
    for a, b in zip(our_leaves, their_leaves, strict=True):
        found = difference(plain(a)[:2], plain(b)[:2]) if isinstance(b, np.ndarray) else difference(plain(a), plain(b))
        if found is None and isinstance(b, np.ndarray):
            found = _same_numbers(a, b)
        if found:
            return found
    return None


def _as_data(x: Any) -> Any:
    """Return an array as a dict of its type and its numbers, also in lists and tuples; return other things unchanged."""
    is_ours, is_theirs = isinstance(x, jitkit.Array), isinstance(x, jax.Array)
    if is_ours or is_theirs:
        if "key<" in str(x.dtype):
            x = (jitkit if is_ours else jax).random.key_data(x)
        return {"type": ("~" if x.weak_type else "") + x.aval.str_short(), "values": np.asarray(x)}
    if isinstance(x, list | tuple):
        return [_as_data(item) for item in x]
    return x


def _same_numbers(a: np.ndarray, b: np.ndarray) -> str | None:
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{a.shape} is not {b.dtype}{b.shape}"
    if a.dtype.kind not in "fcV":
        return None if (a == b).all() else f"{a} is not {b}"
    if a.dtype.kind == "V":
        a, b = a.astype(np.float32), b.astype(np.float32)
    return None if np.allclose(a, b, rtol=2e-6, atol=2e-6, equal_nan=True) else f"{a} is not {b}"


def different(ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> str | None:
    """Return None if two outcomes are the same results, or the same error; else what differs."""
    if ours[1] or theirs[1]:
        return None if ours[1] == theirs[1] else f"{ours[1]} is not {theirs[1]}"
    return same_result(ours[0], theirs[0])


def results(samples: list[Sample], library: Any) -> list[tuple[Any, Any]]:
    """Return, for each sample, the arrays of its result, computed by one program; or the error."""
    errors: list[Any] = []

    def everything(values: Any) -> Any:
        outcomes = [attempt(sample.evaluate, library, values) for sample in samples]
        errors.extend(error for _, error in outcomes)
        return [library.tree.leaves(result) for result, _ in outcomes]

    with contextlib.redirect_stdout(io.StringIO()):
        leaves = library.jit(everything)(parity_samples.OPERANDS | {"key": library.random.key(7)})
    return list(zip(leaves, errors, strict=True))


@dataclasses.dataclass
class Row:
    """The comparison of a name, or of an expression: its values, its jaxpr, and its calls with other kinds of operand."""

    label: str
    values: str = "not compared"
    jaxpr: str = ""
    same_kinds: int = 0  # the number of other kinds of operand that agree
    different_kinds: dict[str, list[str]] = dataclasses.field(default_factory=dict)  # by reason

    def markdown(self) -> str:
        """Return the row of a table."""
        kinds = [f"{self.same_kinds} same"] * bool(self.same_kinds)
        kinds += [f"{', '.join(dict.fromkeys(found))}: {reason}" for reason, found in self.different_kinds.items()]
        cells = [f"`{self.label}`", self.values, self.jaxpr, "; ".join(kinds)]
        return "|" + "|".join(f" {cell.replace('|', chr(92) + '|')} " if cell else " " for cell in cells) + "|"


# These sections compare things that are not names of a module.
OTHER_SECTIONS = ("Array and Tracer", "Functions made by jit", "Jaxprs")
SECTIONS = {alias: heading for alias, (_, heading) in MODULES.items()} | {name: name for name in OTHER_SECTIONS}


class Comparison:
    """Compares some sections, or all. `unexpected` has the differences without a known reason, `used` the reasons that were needed.
    Each sample is tried with one in `one_kind_in` of the other kinds of operand, in turns. If the jaxprs of a sample are equal, the
    programs are, too: then one sample in `one_result_in` is run, and each for which a difference is known.
    """

    def __init__(self, *aliases: str, one_kind_in: int = 1, one_result_in: int = 1) -> None:
        self.one_kind_in, self.one_result_in = one_kind_in, one_result_in
        self.unexpected: list[str] = []
        self.used: set[str] = set()
        self.sections: dict[str, list[Row]] = {}
        for alias in aliases or SECTIONS:
            self.sections[SECTIONS[alias]] = self.section(alias)

    def unused(self) -> list[str]:
        """Return the reasons for differences that do not exist."""
        return [pattern for pattern, _ in REASONS if pattern not in self.used]

    def section(self, alias: str) -> list[Row]:
        """Return the rows of a module."""
        programs, answers = (samples_of(alias, parity_samples.PROGRAMS), samples_of(alias, parity_samples.ANSWERS))
        programs += generic_samples(alias)
        outcomes: dict[str, list[Row]] = {}
        jaxprs = [same_program(sample, sample.usual()) for sample in programs]
        run = [i for i, sample in enumerate(programs) if jaxprs[i] or i % self.one_result_in == 0 or known(sample.text)]
        ours, theirs = (
            dict(zip(run, results([programs[i] for i in run], library), strict=True)) for library in (jitkit, jax)
        )
        for i, sample in enumerate(programs):
            found = different(ours[i], theirs[i]) if i in ours else None
            outcomes.setdefault(sample.name, []).append(self.program_row(sample, found, jaxprs[i], i))
        for sample in answers:
            outcomes.setdefault(sample.name, []).append(self.answer_row(sample))
        if alias == "errors":
            outcomes |= {name: [self.error_class_row(name)] for name in public_names(alias)}
        names = public_names(alias) if alias in MODULES else []
        names += [name for name in outcomes if name not in names]
        return [joined(name, outcomes.get(name, [])) for name in names]

    def program_row(self, sample: Sample, results: str | None, jaxprs: str | None, place: int = 0) -> Row:
        """Return the row of a sample that records a program: differences in results, in jaxprs, and with other kinds of
        operand.
        """
        row = Row(sample.name, self.verdict(sample.text, results, "equal"))
        row.jaxpr = self.verdict(sample.text, jaxprs, "same")
        for kind in list(KINDS)[place % self.one_kind_in :: self.one_kind_in]:
            operands = operands_of_kind(sample, kind)
            if operands is None:
                continue
            reason = self.verdict(f"{kind}: {sample.text}", same_program(sample, operands), "")
            if reason:
                row.different_kinds.setdefault(reason, []).append(kind)
            else:
                row.same_kinds += 1
        return row

    def answer_row(self, sample: Sample) -> Row:
        """Return the row of a sample that records no program: what differs in its result, or in its error."""
        ours, theirs = (attempt(sample.evaluate, library, {}) for library in (jitkit, jax))
        return Row(sample.name, self.verdict(sample.text, different(ours, theirs), "equal"))

    def error_class_row(self, name: str) -> Row:
        """Return the row of an error class: whether it derives from the same Python classes as JAX's class does."""
        kinds = (TypeError, IndexError, ValueError, RuntimeError, Exception)
        ours, theirs = ([k for k in kinds if issubclass(getattr(lib.errors, name), k)] for lib in (jitkit, jax))
        return Row(name, self.verdict(f"errors.{name}", None if ours == theirs else f"{ours} is not {theirs}", "equal"))

    def verdict(self, text: str, found: str | None, good: str) -> str:
        """Return `good` if nothing was found, or the known reason for what was found. If there is none, add it to `unexpected`, and return
        "DIFFERENT".
        """
        if found is None:
            return good
        for pattern, reason in known(text)[:1]:
            self.used.add(pattern)
            return reason
        self.unexpected.append(f"{text}\n    {found}")
        return "DIFFERENT"


def known(text: str) -> list[tuple[str, str]]:
    """Return the patterns that a sample matches, each with the reason for a difference."""
    later = [(pattern, reason) for pattern, _, reason in LATER_REASONS] if IS_LATER else []
    return [(pattern, reason) for pattern, reason in (*REASONS, *later) if re.match(pattern, text)]


def joined(name: str, rows: list[Row]) -> Row:
    """Return one row for all samples of a name. Each column says what differs in any of them, or that all are the same."""
    if not rows:
        return Row(name)
    columns = []
    for column, good in (("values", "equal"), ("jaxpr", "same")):
        parts = list(dict.fromkeys(getattr(row, column) for row in rows if getattr(row, column)))
        columns.append("; ".join([p for p in parts if p != good] or parts))
    different: dict[str, list[str]] = {}
    for row in rows:
        for reason, kinds in row.different_kinds.items():
            different.setdefault(reason, []).extend(kinds)
    return Row(name, *columns, sum(row.same_kinds for row in rows), different)


def samples_of(alias: str, table: dict[str, str]) -> list[Sample]:
    """Return the samples that a table has for a module. In a section that is about no module, a sample is about its whole
    expression.
    """
    found = []
    for line in filter(None, map(str.strip, table.get(alias, "").splitlines())):
        named = re.match(r"(\w+): ", line)
        code = line[named.end() :] if named else line
        first = re.search(rf"\b{re.escape(alias or 'jax')}\.(\w+)", code) if alias in MODULES else None
        found.append(Sample(alias, named[1] if named else first[1] if first else line, code))
    return found


def generic_samples(alias: str) -> list[Sample]:
    """Return the samples of names that take one operand, or two: for each, the first form that JAX accepts."""
    found = []
    for number, table in ((1, parity_samples.ONE_OPERAND), (2, parity_samples.TWO_OPERANDS)):
        for name in table.get(alias, []):
            candidates = [Sample(alias, name, form.format(f"{alias}.{name}")) for form in parity_samples.FORMS[number]]
            accepted = (c for c in candidates if attempt(c.traced, jax, c.usual())[1] is None)
            found.append(next(accepted, candidates[0]))
    return found


# --- the page --------------------------------------------------------------------------------------------------------------

HEADER = f"""# What is compared with JAX

This page is written by `python tests/parity.py --write`, which runs a call of each name with JAX {VERSION} and with
jitkit, and checked by `tests/test_parity.py`. The calls are in `tests/parity_samples.py`.

- **values**: *equal* means that the results have the same structure, shapes, dtypes and weak types, integers and bools
  are the same, and floats differ by no more than 2e-6 (of their size, or of 1). Where a call raises an error, its class and first line
  are the same. A row about a class of errors is *equal* if the class also derives from the same class of Python's errors.
- **jaxpr**: *same* means that the jaxpr is printed as JAX prints it, to the letter. Empty: the call records no program.
- **other operands**: the call is traced again with other operands in the place of its floats, of these kinds:
  {", ".join(KINDS)}.
  *{len(KINDS)} same* means that {len(KINDS)} such programs are printed, or refused with the same class and first line of an
  error, as in JAX; a name with several calls has several times as many. The cell names the kinds that differ. Empty: the call
  has no floats.

*Not compared* means that the test of this page makes no call of this name. The last bits of results, more dtypes, 64-bit mode, eager
calls, numbers of traces and the texts of errors are compared by the other tests.
"""


def render_section(heading: str, rows: list[Row]) -> str:
    """Return the table of a section."""
    title = f"`{heading}`" if heading.startswith("jitkit") else heading
    lines = [
        f"## {title}\n",
        "| | values | jaxpr | other operands |",
        "|---|---|---|---|",
        *(r.markdown() for r in rows),
    ]
    return "\n".join(lines) + "\n"


# For each transformation, the tables of its rules: ours, and JAX's.
RULES = {
    "jvp": (ad_rules.primitive_jvps, jax_ad.primitive_jvps),
    "transpose": (ad_rules.primitive_transposes, jax_ad.primitive_transposes | jax_ad.fancy_transposes),
    "batching": (batching.primitive_batchers, jax_batching.fancy_primitive_batchers),
}
# Why a primitive lacks a rule that it has in JAX, or has one that it lacks in JAX.
RULE_REASONS = {
    **{(kind, "eval_jaxpr"): "only in lowerings" for kind in RULES},
    ("jvp", "closed_call"): "by its jaxpr", ("transpose", "closed_call"): "not needed: what is linear in it is apart",
    ("batching", "closed_call"): "by its jaxpr", ("jvp", "custom_jvp_call"): "by its own rule", ("jvp", "jit"): "by its jaxpr",
    ("jvp", "one_minus_square"): "rule (as in JAX 0.12)", ("batching", "one_minus_square"): "rule (as in JAX 0.12)",
    ("batching", "custom_jvp_call"): "by its jaxpr", ("batching", "empty"): "no operands",
}  # fmt: skip


def render_primitives() -> str:
    """Return the names of primitives, and which rules they have."""
    all_rooms.enter()
    ours = {name: str(getattr(jitkit.lax, name)) for name in dir(jitkit.lax) if name.endswith("_p")}
    same = [f"`{name}`" for name, printed in ours.items() if printed == str(getattr(jax.lax, name, None))]
    names = sorted(  # without the primitives that tests define
        {
            primitive.name
            for primitive, rule in mlir.lowering_rules.items()
            if (rule.__module__ or "").startswith("jitkit.")
        }
    )
    lines = [
        f"## Primitives\n\nPrinted with the same name as in JAX: {', '.join(same)}.\n",
        RULES_TEXT,
        f"| | {' | '.join(RULES)} |",
        "|---|" + "---|" * len(RULES),
        *(f"| `{name}` | {' | '.join(rule_of(name, kind) for kind in RULES)} |" for name in names),
    ]
    return "\n".join(lines) + "\n"


# Differences on purpose: a program, what JAX does, and what jitkit does.
ON_PURPOSE: tuple[tuple[str, str, str], ...] = (
    (
        "a negative number in `static_argnums` or `donate_argnums`",
        (
            "0.10 counts back from the arguments of the call, so another argument is static in a call with fewer arguments; "
            "0.12 counts back from the parameters"
        ),
        "jitkit counts back from the parameters",
    ),
    (
        "`vmap` of `custom_derivatives.linear_call`",
        "NotImplementedError: no batching rule",
        "a batch of calls, whose transpose is that of the batch",
    ),
    (
        "one function, `jit(f, static_argnums=0)(3, x)`, then `jit(f, static_argnums=1)(x, 3)`",
        "the second call gives the first program's numbers, since the key has no static positions",
        "two programs",
    ),
    (
        "static fields and keys that are equal and differ in type: 1, True, 1.0, 1 + 0j",
        "one program, of the type in the first call",
        "a program for each type; structures are equal and have one hash, as in JAX",
    ),
    (
        (
            "classes whose constructors want arrays, in `custom_vjp`, `jacfwd`, `jacrev`, `sequential_vmap`, "
            "`lax.reduce`, `lower`, and in errors about trees"
        ),
        "JAX calls the constructor with `object()`, None or types, and the constructor raises an error",
        "the constructor only gets arrays",
    ),
    ("an array as metadata of a class", "an error that names no class", "the same error names the class"),
    (
        "`_cache_size()` of a function that another jitted one calls with constants only",
        "each trace that calls it adds one",
        "only calls outside of traces add one",
    ),
    (
        "a jitted function that makes a key, called again in a block of another `default_prng_impl`",
        "the call gives a key of the first implementation",
        "traced again, since the implementation is part of the key",
    ),
    (
        "a generator as an argument of a jitted function, which is refused",
        "the warning about it comes three times",
        "it comes twice",
    ),
    (
        "`repr` of an array that was donated or deleted",
        "RuntimeError: Array has been deleted",
        "`Array(float32[3], deleted)`, for debuggers and messages; using its values raises the error",
    ),
    ("`device_put` of a tracer that has escaped", "InvalidInputException", "UnexpectedTracerError, with its line"),
    (
        "`vmap` of `device_put` of a tree, whose leaves have batch axes in different places",
        "AssertionError",
        "each leaf keeps its axis",
    ),
    ("`nansum(x, dtype='float64')` without x64 mode", "a warning about `nanprod`", "the warning about `nansum`"),
    (
        "`custom_jvp(f, nondiff_argnums=0)`, `custom_vjp` likewise",
        "0 counts as an empty tuple, so every argument is differentiated",
        "TypeError: 'int' object is not iterable",
    ),
    (
        "an attribute that a program sets on an array, `x.name = 'w'`",
        "kept",
        "AttributeError, since arrays with room for more attributes would be made more slowly",
    ),
    (
        "`memoryview(x)` of an array, with Python 3.11",
        "the array's memory",
        "TypeError: a class written in Python can offer its memory only from Python 3.12 on; `np.asarray(x)` is a view, as in JAX",
    ),
    (
        "`scan(length=-1)`",
        "MLIRError: Invalid type; without outputs, the carry of the start",
        "ValueError, which names `length`",
    ),
    (
        "`scan(unroll=1.0)`, or another float, of at least one step",
        "TypeError about `dynamic_slice`, or about shapes; 1.0 runs if there are neither `xs` nor outputs",
        "TypeError, which names `unroll`",
    ),
)


def render_on_purpose() -> str:
    """Return what differs on purpose."""
    lines = ["## Other than JAX on purpose\n", "| | in JAX 0.10 and 0.12 | here |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in ON_PURPOSE)]) + "\n"


RULES_TEXT = """\
The table below says which rules of transformations each primitive has. *rule*: it has one, as in JAX. *none*: it has none, as in
JAX, because there is nothing to derive, nothing linear, or no operand that could be a batch. Other cells say how jitkit
differs from JAX, or what is used in place of a rule. The value of one kind of program differs: of a batch of `while_loop`s whose
condition has an ordered effect, such as a `debug.print`, each loop ends by itself; JAX goes on with all loops until the last one ends.

Jaxprs of derivatives are printed as JAX prints them (`tests/test_ad_*.py`), with these exceptions:

- JAX prints some equal jaxprs twice, where jitkit shares one: the function that combines an element and its update
  (`update_jaxpr`) in gradients of `scatter`, and the jaxpr of a jitted function that two other jitted functions call.
- In second derivatives of a `scan` in a `checkpoint`, JAX wraps the part that is computed first in a `closed_call`; jitkit does not.
- `lstsq` and `det` have the derivatives of the operations that they consist of.
- With a `checkpoint` policy that offloads values, jitkit keeps these values on the device; JAX's program copies them to
  the host's memory and back.
- Types do not say in which memory an array is; JAX prints `f32<host>[3]` for an array in the host's memory. Programs compute
  in the devices' memory: an argument from the host's memory is copied first, and results are copied to the memory that
  `out_shardings`, or a `device_put` at the end of the program, asks for. In JAX a program may read and write the host's
  memory itself.
- JAX's jitted `svd` also returns numbers by which its derivative multiplies; jitkit's does not.
- A custom rule that closes over a value which is being differentiated raises an UnexpectedTracerError. JAX's `make_jaxpr`
  prints a program with a tracer in it that nobody can run; its `grad` and `jit` raise the error, too.
- About one in a thousand random nests of calls, loops and derivatives has an operation more or fewer than in JAX, where a jitted
  function in a loop, or a loop in a `checkpoint`, computes something from constants only.

With JAX 0.12 more jaxprs differ, and their values are compared instead: `erf` and `erfc`; second derivatives of `log`
and `log1p`; `sinc`; `polyval`; `x.at[...].set` and `min` with an index twice; tangents of `optimization_barrier`; a
residual of a `scan` that is also a result of it; second derivatives of `scan`; `checkpoint` of `cond` or in a `scan`;
`checkpoint`'s policies, which 0.12 prints as functions; decompositions of matrices; `custom_linear_solve` and
`custom_root`; and the parameters `ft_in` and `ft_out` of `scan`, which have another form.
"""


def rule_of(name: str, kind: str) -> str:
    """Return the text of a cell of the table: whether a primitive has a rule."""
    ours, theirs = (any(str(primitive) == name for primitive in table) for table in RULES[kind])
    if (kind, name) in RULE_REASONS:
        return RULE_REASONS[kind, name]
    if ours == theirs:
        return "rule" if ours else "none"
    return "rule; JAX has none" if ours else "not yet"


def render_later() -> str:
    """Return what differs from later versions only."""
    lines = [
        "## JAX 0.12\n",
        "jitkit follows the JAX that is installed: with 0.12 it prints and computes what 0.12 does, in all rows of this page",
        "except the following ones, where it does what 0.10 does. (JAX 0.12's derivatives of `scan` also print trees of another form,",
        "and a numpy array that a function closes over can be a constant twice, as it is and as `jnp.asarray` of it.)\n",
        "| | in JAX 0.12 |",
        "|---|---|",
        *(f"| {names} | {reason} |" for _, names, reason in LATER_REASONS),
    ]
    return "\n".join(lines) + "\n"


# --- what is missing -------------------------------------------------------------------------------------------------------

NAMES = pathlib.Path(names_of_jax.__file__)
NO_NAMES = (
    *("Any", "TYPE_CHECKING", "annotations", "lib", "version"),  # names that a module of JAX only imports
    *("extend", "example_libraries"),  # modules that exist only after an import; they are not compared
)


def missing() -> dict[str, list[str]]:
    """Return JAX's public names that our module lacks, by module; all its names if we have no such module. The names in
    `names_of_jax`, some of which only later versions of JAX have, count as JAX's.
    """
    found = {}
    for inside, known in names_of_jax.BY_MODULE.items():
        theirs, ours = (imported(".".join(filter(None, [library, inside]))) for library in ("jax", "jitkit"))
        names = {name for name in dir(theirs) if not name.startswith("_")} | {*known}
        found[inside] = sorted(names.difference(dir(ours) if ours else (), NO_NAMES))
    return found


def imported(name: str) -> Any:
    """Import the module of this name, and return it; None if there is none."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def names_module(names: dict[str, list[str]]) -> str:
    """Return the text of `names_of_jax` for these names."""
    before, _, after = NAMES.read_text(encoding="utf-8").partition('_TABLE = """\\\n')
    lines = [
        textwrap.fill(f"{inside}: {' '.join(found)}", 118, break_on_hyphens=False) for inside, found in names.items()
    ]
    return f'{before}_TABLE = """\\\n{chr(10).join(lines)}\n"""{after.partition(chr(34) * 3)[2]}'


def render_missing(names: dict[str, list[str]]) -> str:
    """Return the section on names that only JAX has."""
    lines = [
        f"- `{'.'.join(filter(None, ['jax', inside]))}`: {', '.join(f'`{name}`' for name in found)}"
        for inside, found in names.items()
        if found
    ]
    return "\n".join(["## What JAX has besides\n", MISSING, *lines]) + "\n"


MISSING = """\
These are the public names of JAX's modules that jitkit does not have (yet), primitives (`_p`) included. If a program asks for one of
them, the error says that JAX has it; for a name in `ad_checkpoint` the error is Python's own. jitkit has those modules of
`jax.experimental` that libraries import. If jitkit lacks a whole module of `jax.experimental`, `jax.extend` or
`jax.example_libraries`, the names in that module are not listed.
"""


def render(comparison: Comparison) -> str:
    """Return the page."""
    rows = [row for rows in comparison.sections.values() for row in rows]
    compared = [row for row in rows if row.values != "not compared"]
    clean = [row for row in compared if row.values == "equal" and row.jaxpr in ("", "same")]
    counts = f"{len(compared)} of {len(rows)} rows are compared. Values and jaxpr are those of JAX in {len(clean)} of them.\n"
    sections = [render_section(*section) for section in comparison.sections.items()]
    return "\n".join(
        [
            HEADER,
            counts,
            render_later(),
            render_on_purpose(),
            *sections,
            render_primitives(),
            signatures.render(),
            sweep_section(),
            render_missing(missing()),
        ]
    )


def sweep_section() -> str:
    """Return the section on the sweep over functions. (`sweep` imports this module, so it is imported here only.)"""
    text: str = importlib.import_module("sweep").render()
    return text


def main() -> int:
    """Write or check the page; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="exit 1 unless the page is fresh")
    what.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args()
    if jax.__version__ != VERSION:
        print(f"the page is about jax {VERSION}, and this is {jax.__version__}")
        return 1
    comparison = Comparison()
    problems = comparison.unexpected + [f"no longer different: {pattern}" for pattern in comparison.unused()]
    for path, text in ((PATH, render(comparison)), (NAMES, names_module(missing()))):
        if options.write and not problems:
            path.write_text(text, encoding="utf-8")
        elif not problems and path.read_text(encoding="utf-8") != text:
            problems.append(f"{path.name} is not as it would be written: run `python tests/parity.py --write`")
    print("\n".join(problems) or f"{PATH.name} is fresh")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
