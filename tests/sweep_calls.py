"""Lists calls of public functions, and the operands that they are tried with, for `sweep`.

A call is an expression, as in `parity_samples`, most of which are taken from there. Others are made of signatures: of each function
of `scipy.stats`, and of each call once more with each keyword that it leaves out.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.scipy.stats
import ml_dtypes
import numpy as np
import parity
import parity_samples
import sweep_texts

import jitkit

# A row of the table in `docs/parity.md`: the aliases of its modules.
MODULES = {
    "jax.numpy": ("jnp",),
    "jax.numpy.linalg": ("jnp.linalg",),
    "jax.numpy.fft": ("jnp.fft",),
    "jax.lax": ("lax",),
    "jax.lax.linalg": ("lax.linalg",),
    "jax.random": ("random",),
    "methods and operators": ("Array and Tracer",),
    "jax.nn": ("nn", "nn.initializers"),
    "jax.scipy.special": ("special",),
    "jax.scipy.stats": ("stats",),
    "jax.scipy.linalg": ("sla",),
    "jax.scipy, the rest, and jax.ops": ("cosine", "iterative", "ndimage", "integrate", "ops"),
}

# Functions that are not called: they write files, take shapes or devices, give other numbers each time, or have their
# own programs in `test_scipy_linalg`, `test_ad_api`, `test_random` and `test_sharding`.
NOT_CALLED = (
    "jnp.load", "jnp.save", "jnp.savez", "lax.conv_general_dilated_local", "lax.conv_general_dilated_patches",
    "lax.conv_general_shape_tuple", "lax.conv_transpose_shape_tuple", "lax.log2",
    "lax.rng_uniform", "lax.with_sharding_constraint", "random.key_dtype",
)  # fmt: skip

# Keywords that are not tried, and why.
NOT_TRIED = {("x.sum", "initial"): "the method of JAX 0.10 ignores `initial`; those of JAX 0.12 and of jitkit do not"}

# --- operands ------------------------------------------------------------------------------------------------------------

_TINY = np.finfo(np.float32).tiny
EDGES = (0, -0.0, 1, -1, 1 - 2**-24, 1 + 2**-23, 0.5, -0.5, _TINY, -_TINY / 4, 2, -2, np.pi, -np.pi / 2, 3, 1e-8)
LARGE = (1e30, -1e30, 88.7, -88.7, 3e38, -100, 1e10, -12.5, 1e-30, 104, 2**24 + 2, -(2.0**31))
NOT_FINITE = (np.nan, 1.5, np.inf, -np.inf, -0.0, 0.5, -1.5)
CUTS = (
    -2,
    2,
    -2 - 0j,
    2 - 0.0j,
    1j,
    -1j,
    2j,
    -2j,
    1,
    -1,
    0,
    complex(-0.0, 0),
    complex(-2, -0.0),
    1e20 + 1e20j,
    0.5 + 1e-8j,
)
NOT_FINITE_COMPLEX = (
    complex(np.nan, 1),
    complex(np.inf, -1),
    1.5j,
    complex(-1, np.inf),
    complex(1, np.nan),
    complex(-np.inf, np.inf),
)


def _filled(values: tuple[Any, ...], dtype: Any = np.float32) -> Callable[[Any], Any]:
    """Return a function that makes an operand of the same shape as its argument, filled with these values, one after another."""
    return lambda x: np.resize(np.array(values, dtype), np.shape(x)) if np.ndim(x) else np.array(values[0], dtype)


INT32 = np.iinfo(np.int32)
# Kinds of operand, which replace the floats of a call.
KINDS: dict[str, Callable[[Any], Any]] = (
    parity.KINDS
    | {
        "float32": lambda x: x,
        "numpy": lambda x: x,  # passed as it is, and not as an array of the library
        "size one": lambda x: x.ravel()[:1].reshape((1,) * x.ndim),
        "not finite": _filled(NOT_FINITE),
        "edges": _filled(EDGES),
        "large": _filled(LARGE),
        "extremes": _filled((INT32.min, 3, INT32.max, -1, 0, 31, -32, 2), np.int32),
        "int8": _filled((-128, 3, 127, -1, 0, 7, -8, 2), np.int8),
        "uint32": _filled((2**32 - 1, 3, 2**31, 1, 0, 31, 32, 2), np.uint32),
        "cuts": _filled(CUTS, np.complex64),
        "complex not finite": _filled(NOT_FINITE_COMPLEX, np.complex64),
        "bfloat16 not finite": _filled(NOT_FINITE, ml_dtypes.bfloat16),
        "weak int": lambda x: int(x.ravel()[0] * 4),
        "weak complex": lambda x: complex(x.ravel()[0], 1.5),
        "a bool": lambda x: bool(x.ravel()[0] > 0),
    }
)
# The kinds of operand for calls with an added keyword.
KEYWORD_KINDS = ("float32", "int32", "bfloat16", "complex64", "bool", "0-d", "empty")


# --- calls ---------------------------------------------------------------------------------------------------------------


@functools.cache
def _namespace(library: Any) -> dict[str, Any]:
    return parity.namespace(library) | {"stats": library.scipy.stats}


@dataclasses.dataclass(frozen=True)
class Call:
    """One expression, and the module of the function that it calls."""

    module: str
    text: str
    is_of_keyword: bool = False
    is_further: bool = False  # whether the list has an earlier call of the function

    @functools.cached_property
    def code(self) -> Any:
        """The expression, compiled."""
        return compile(self.text, "<call>", "eval")

    @functools.cached_property
    def takes_key(self) -> bool:
        """Return whether the call reads a random key."""
        return "key" in re.findall(r"(?<![.\w=])key\b(?!=)", self.text)

    def evaluate(self, library: Any, values: dict[str, Any]) -> Any:
        """Return the value of the expression."""
        return eval(self.code, _namespace(library) | values)

    def usual(self) -> dict[str, Any]:
        """Return the operands that it reads."""
        return {name: parity_samples.OPERANDS[name] for name in _names(self.code) if name in parity_samples.OPERANDS}

    def operands(self, kind: str) -> dict[str, Any] | None:
        """Return its operands, with the floats replaced by this kind. Return None if it has no floats, and the kind is not float32: the
        call would be the same.
        """
        usual = self.usual()
        floats = [name for name, value in usual.items() if value.dtype == np.float32]
        if not floats:
            return usual if kind == "float32" else None
        return usual | {name: KINDS[kind](usual[name]) for name in floats}

    def kinds(self) -> list[str]:
        """Return the kinds of operand that it is tried with."""
        names = KEYWORD_KINDS if self.is_of_keyword else KINDS
        if re.search(r"while_loop|fori_loop\(0, s,", self.text):
            names = ("float32", "a list", "None")  # with other kinds, such as 0 or -inf, the loop would not end
        return [kind for kind in names if self.operands(kind) is not None]


def _names(code: Any) -> Iterator[str]:
    yield from dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _names(constant)


def calls(module: str) -> list[Call]:
    """Return the calls of a module's functions."""
    texts, further = [], set()
    for alias in MODULES[module]:
        texts += [sample.text for sample in parity.samples_of(alias, parity_samples.PROGRAMS)]
        for form, table in (("(x)", parity_samples.ONE_OPERAND), ("(x, y)", parity_samples.TWO_OPERANDS)):
            texts += [f"{alias}.{name}{form}" for name in table.get(alias, [])]
        texts += (more := _lines(sweep_texts.MORE.get(alias, [])))
        further.update(more)
        if alias == "stats":
            texts += _of_distributions()
    plain = [Call(module, text, is_further=text in further) for text in dict.fromkeys(texts)]
    return plain + [Call(module, text, True) for text in dict.fromkeys(_with_keywords(plain))]


def _lines(texts: str | list[str]) -> list[str]:
    return list(filter(None, map(str.strip, texts.splitlines() if isinstance(texts, str) else texts)))


# Calls of `scipy.stats` that cannot be made from a signature.
_STATS = (
    "stats.multivariate_normal.pdf(x, v, q)",
    "stats.multivariate_normal.logpdf(x, v, q)",
    "stats.multivariate_normal.logpdf(v, 0.5, 2.0)",
)


def _of_distributions() -> list[str]:
    """Return a call of each function of the distributions of one number, if both libraries have it."""
    texts = list(_STATS)
    for family, ours in vars(jitkit.scipy.stats).items():
        module = getattr(jax.scipy.stats, family, None)
        if not inspect.ismodule(module) or any(f"stats.{family}." in text for text in _STATS):
            continue
        for name in sorted(
            name for name in dir(ours) if not name.startswith("_") and callable(getattr(module, name, None))
        ):
            parameters = inspect.signature(getattr(module, name)).parameters.values()
            required = [parameter for parameter in parameters if parameter.default is parameter.empty]
            texts.append(f"stats.{family}.{name}({', '.join(['x', 'y', 'v', 's'][: len(required)])})")
    return texts


# Values to try for a keyword, by its name. If JAX refuses a value, jitkit must refuse it, too.
KEYWORDS = {
    "axis": ("0", "-1", "None", "(0, 1)", "()", "5", "(0, 0)", "1.5"),
    "axes": ("(0,)", "(-1, 0)", "(1, 0)", "(0, 5)", "1"),
    **dict.fromkeys(("axis1", "axis2", "dimension"), ("0", "-1", "1", "3")),
    "dtype": ("'float16'", "'int32'", "'bool'", "'complex64'", "'float64'", "'bfloat16'", "int", "'nonsense'"),
    **dict.fromkeys(("preferred_element_type", "index_dtype", "out_dtype"), ("'float32'", "'int8'", "'float64'")),
    **dict.fromkeys(
        (
            "keepdims", "invert", "reverse", "descending", "is_stable", "stable", "inclusive", "increasing", "unique_indices",
            "indices_are_sorted", "assume_unique", "return_index", "return_inverse", "return_counts", "equal_nan", "density",
            "bias", "sparse", "hermitian", "full_matrices", "compute_uv", "retstep", "endpoint", "copy", "wrap", "lower",
            "left_side", "transpose_a", "conjugate_a", "unit_diagonal", "symmetrize_input", "is_causal", "approximate",
            "replace", "tiled", "rowvar", "compute_left_eigenvectors", "compute_right_eigenvectors", "sort_eigenvalues", "pivoting",
            "permute_l", "eigvals_only", "return_sign", "log", "upper", "overwrite_a", "overwrite_b", "check_finite", "independent",
            "flatten", "upcast_f16_for_computation", "fast", "exact", "repetition", "propagate_nans", "nan_policy", "full",
            "strip_zeros", "right", "left", "include_initial", "transposed", "simplify", "allow_negative_indices",
            "wrap_negative_indices", "symmetric", "has_aux", "promote_integers", "debug", "upper_triangular", "compute_expm", "turbo",
            "transpose_kernel", "use_consistent_padding",
        ),
        ("True", "False"),
    ),
    "where": ("b", "True", "False", "x > 0"),
    "initial": ("0", "1.5", "v", "-jnp.inf"),
    **dict.fromkeys(
        (
            "ddof", "correction", "n", "k", "offset", "num", "m", "period", "shift", "degree", "max_squarings", "feature_group_count",
            "batch_group_count", "batch_size", "stop_dimension", "num_keys", "ndigits", "stride",
        ),
        ("0", "1", "2", "-1", "1.5"),
    ),
    **dict.fromkeys(("a_min", "a_max", "min", "max", "lb", "ub", "minval", "maxval"), ("0", "0.5", "v", "None")),
    "nan": ("1", "-2.5", "v"),
    **dict.fromkeys(("posinf", "neginf", "fill_value", "to_begin", "to_end", "cval"), ("7", "0.5", "jnp.nan")),
    **dict.fromkeys(
        ("lhs_dilation", "rhs_dilation", "window_strides", "base_dilation", "window_dilation", "strides"), ("(1, 2)", "(0, 1)", "(2,)")
    ),
    "padding": ("'VALID'", "((1, 0), (0, 1))", "'nonsense'"),
    "dimensions": ("(1, 0)", "(0,)"),
    "impl": ("'threefry2x32'", "'nonsense'"),
    "sigma": ("v", "2"),
    "rounding_method": ("1", "jax.lax.RoundingMethod.TO_NEAREST_EVEN"),
    "axis_index_groups": ("[[0, 1]]", "[[0], [1]]"),
    "mode": ("'low'", "'high'", "'clip'", "'fill'", "'wrap'", "'drop'", "'reflect'", "'edge'", "'same'", "'valid'", "'nonsense'"),
    "method": (
        "'linear'", "'lower'", "'nearest'", "'midpoint'", "'higher'", "'scan'", "'sort'", "'compare_all'", "'min'", "'dense'",
        "'svd'", "'eigh'",
    ),
    "side": ("'left'", "'right'", "'middle'"),
    "ord": ("1", "2", "jnp.inf", "-jnp.inf", "0", "-2", "'fro'", "'nuc'", "3.5"),
    "norm": ("'ortho'", "'forward'", "'backward'", "'nonsense'"),
    "order": ("'F'", "'C'", "'K'", "'A'"),
    "shape": ("()", "(3,)", "(2, 3)", "(0,)", "3"),
    **dict.fromkeys(("sample_shape", "batch_shape"), ("()", "(2,)")),
    "size": ("1", "4", "0", "None"),
    "length": ("0", "3", "7"),
    "total_repeat_length": ("2", "9"),
    **dict.fromkeys(("loc", "scale", "b", "a", "w", "beta", "alpha", "negative_slope", "epsilon", "dx"), ("0.5", "2", "v", "-1")),
    **dict.fromkeys(("rtol", "atol", "rcond", "tol", "hi", "lo"), ("0.5", "0", "1e-8")),
    **dict.fromkeys(("prepend", "append"), ("0", "x[:, :1]")),
    "weights": ("y", "v", "None"),
    "decimals": ("1", "-1", "0"),
    **dict.fromkeys(("accuracy",), ("jax.lax.AccuracyMode.DEFAULT", "'highest'")),
    **dict.fromkeys(("precision",), ("'high'", "jax.lax.Precision.HIGHEST", "('high', 'default')", "'nonsense'")),
    "num_classes": ("3", "0"),
    "unroll": ("1", "4"),
    "ndmin": ("0", "3"),
    "uplo": ("'L'", "'U'"),
    "UPLO": ("'L'", "'U'", "'X'"),
    "trans": ("1", "'T'", "'C'", "3"),
    "assume_a": ("'pos'", "'sym'", "'gen'"),
    "bins": ("3", "v", "0"),
    "range": ("(0, 1)", "(1, 0)", "None"),
    "dims": ("(0,)", "(-1,)"),
    "s": ("(4,)", "(2, 2)", "(0,)"),
    "indexing": ("'xy'", "'ij'", "'zz'"),
    "minlength": ("0", "7"),
    "shuffle_mode": ("'high'",),
    "window_dimensions": ("(2, 2)",),
    "kind": ("'symmetric'", "'lower'", "'upper'"),
    "p": ("v", "jnp.array([0.2, 0.5, 0.3])"),
    "out": ("None", "x"),
    "size_hint": ("1",),
    "output": ("'real'",),
    "base": ("2", "0.5"),
    "device": ("None",),
    "bucket_size": ("1",),
    "num_segments": ("2", "5"),
}  # fmt: skip


def _with_keywords(plain: list[Call]) -> Iterator[str]:
    """Yield the first call of each function, with each value (`KEYWORDS`) of each keyword that it leaves out."""
    seen = set()
    names = _namespace(jax) | {name: jax.numpy.asarray(value) for name, value in parity_samples.OPERANDS.items()}
    for call in plain:
        named = re.match(r"([\w.]+(?:\[\w+\]\.\w+)?)\(", call.text)
        if not named or not call.text.endswith(")") or (name_of := re.sub(r".*at\[\w+\]", "at", named[1])) in seen:
            continue
        try:
            function = eval(named[1], names)
            parameters = inspect.signature(function).parameters
            given = eval(
                f"signature.bind{call.text[len(named[1]) :]}", _Anything(signature=inspect.signature(function))
            )
        except (NameError, AttributeError, ValueError, TypeError, SyntaxError):
            continue  # the call is a method of an operand, or an argument is an expression of operands
        seen.add(name_of)
        for name, parameter in parameters.items():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if name not in given.arguments and (named[1], name) not in NOT_TRIED:
                for value in KEYWORDS.get(name, ()):
                    yield f"{call.text[:-1]}{'' if call.text.endswith('()') else ', '}{name}={value})"


class _Anything(dict):
    """Names for an expression that is evaluated only to see its form: each name has the same value."""

    def __missing__(self, name: str) -> Any:
        return _ANY


class _Any:
    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __getitem__(self, index: Any) -> Any:
        return self

    def _operator(self, *_: Any) -> Any:
        return self

    __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __truediv__ = __mod__ = __neg__ = __gt__ = __lt__ = (
        __matmul__
    ) = _operator


_ANY = _Any()
