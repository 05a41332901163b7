"""`jitkit.ffi`: calls of compiled functions from programs, through XLA's foreign function interface

    ffi.register_ffi_target("norm", ffi.pycapsule(library.Norm))      a function of a C++ library, made with XLA's headers (`include_dir`)
    ffi.ffi_call("norm", ShapeDtypeStruct(x.shape, x.dtype))(x, eps=np.float32(1e-5))

    b:f32[3] = ffi_call[attributes=(('eps', np.float32(1e-05)),) ... target_name=norm] a

The call is one operation of the program; keywords are attributes, which the function reads. XLA passes pointers to the arrays'
memory. The call has no derivative; for one, put it in a function with `custom_jvp` or `custom_vjp`.

JAX: jax/_src/ffi.py:ffi_call
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from . import core, runtime
from .base import missing_names
from .base.jax_version import since
from .core import Primitive, ShapedArray, physical_aval
from .core.effects import Effect
from .interpreters.ad_rules import primitive_jvps, primitive_transposes
from .interpreters.batching import AxisData, Dims, Vals, moveaxis, register_batcher
from .interpreters.mlir import LoweringContext, register_lowering
from .interpreters.mlir_text import dense, element_type, quoted, scalar_text, symbol_text, tensor_type, type_of
from .lax.control_flow import scan
from .lax.shaping import broadcast
from .pjit.applying import apply_primitive

_METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized", None]
_WHOLE = ("legacy_vectorized", "expand_dims", "broadcast_all")


# --- functions that programs may call -----------------------------------------------------------------------------


def register_ffi_target(name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any) -> None:
    """Make a compiled function known to XLA under a name.

    Args:
      fn: a capsule with the function's address (`pycapsule`), or a dict with one for each stage, such as "execute".
      platform: "cpu", "CUDA", ...
      api_version: 1 for a function made with XLA's headers, 0 for the older form.
    """
    runtime.register_call_target(name, fn, platform, api_version, **kwargs)


def register_ffi_type(name: str, type_registration: Any, platform: str = "cpu") -> None:
    """Make a type that compiled functions keep between calls known to XLA under a name."""
    runtime.register_call_type(name, type_registration, platform)


def pycapsule(funcptr: Any) -> Any:
    """Return a capsule with the address of a function that `ctypes` has loaded."""
    destructor = ctypes.CFUNCTYPE(None, ctypes.py_object)
    builder = ctypes.pythonapi.PyCapsule_New
    builder.restype = ctypes.py_object
    builder.argtypes = (ctypes.c_void_p, ctypes.c_char_p, destructor)
    return builder(funcptr, None, destructor(0))


def include_dir() -> str:
    """Return the folder of XLA's headers, which come with jaxlib."""
    return runtime.folder_of_headers()


# --- the call -------------------------------------------------------------------------------------------------------


_effect = Effect("FFI")  # the effect of a call that is made even if its results are not used
ffi_call_p = Primitive("ffi_call", multiple_results=True)
ffi_call_p.effects = lambda params: frozenset({_effect}) if params["has_side_effect"] else frozenset()


@ffi_call_p.def_abstract_eval
def _(*avals: Any, result_avals: Sequence[ShapedArray], **_: Any) -> list[ShapedArray]:
    return list(result_avals)


@ffi_call_p.def_impl
def _(*args: Any, **params: Any) -> Any:
    return apply_primitive(ffi_call_p, *args, **params)


def _refuse(*_: Any, target_name: str, **params: Any) -> NoReturn:
    other = "jax.custom_vjp" if since(0, 12) else "jax.custom_jvp"  # JAX's own words
    raise ValueError(
        f"The FFI call to `{target_name}` cannot be differentiated. You can use `jax.custom_jvp` or `{other}` to add support."
    )


primitive_jvps[ffi_call_p] = _refuse
primitive_transposes[ffi_call_p] = _refuse


@register_lowering(ffi_call_p)
def _(
    ctx: LoweringContext,
    *operands: str,
    target_name: str,
    has_side_effect: bool,
    input_layouts: Sequence[Sequence[int]],
    output_layouts: Sequence[Sequence[int]],
    input_output_aliases: Sequence[tuple[int, int]],
    custom_call_api_version: int,
    legacy_backend_config: str | None,
    attributes: Sequence[tuple[str, Any]],
    **_: Any,
) -> list[str]:
    outs = ctx.avals_out
    aliases = ", ".join(
        "#stablehlo.output_operand_alias<output_tuple_indices = "
        f"{[result] if len(outs) > 1 else []}, operand_index = {operand}, operand_tuple_indices = []>"
        for operand, result in input_output_aliases
    )
    said = {
        "api_version": f"{custom_call_api_version} : i32",
        "backend_config": _config(custom_call_api_version, legacy_backend_config, attributes),
        "has_side_effect": str(has_side_effect).lower(),
        "operand_layouts": f"[{', '.join(map(_layout_text, input_layouts))}]",
        "output_operand_aliases": f"[{aliases}]",
        "result_layouts": f"[{', '.join(map(_layout_text, output_layouts))}]",
    }
    types_in, types_out = (", ".join(map(type_of, avals)) for avals in (ctx.avals_in, outs))
    name = ctx.emit_text(
        f"stablehlo.custom_call @{symbol_text(target_name)}({', '.join(operands)}) "
        f"{{{', '.join(f'{key} = {value}' for key, value in said.items())}}} : "
        f"({types_in}) -> {types_out if len(outs) == 1 else f'({types_out})'}",
        len(outs),
    )
    return [name] if len(outs) == 1 else [f"{name}#{i}" for i in range(len(outs))]


def _config(version: int, legacy: str | None, attributes: Sequence[tuple[str, Any]]) -> str:
    if version < 4:
        if attributes:
            raise ValueError(
                "The use of ffi_call attributes requires a custom call API version of at least 4; "
                f"got api_version={version}."
            )
        return f'"{quoted(legacy or "")}"'
    return _attribute(dict(attributes))


def _attribute(value: Any) -> str:
    """Return an attribute as MLIR writes it: a number with its type, a string, an array, a tuple or a dict of them. Raise
    TypeError for anything else.
    """
    if isinstance(value, _Hashable):
        value = value.value
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {_attribute(each)}' for key, each in value.items())}}}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_attribute, value))}]"
    if isinstance(value, (str, bytes)):
        return f'"{quoted(value if isinstance(value, str) else value.decode())}"'
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if not isinstance(value, (int, float, np.generic, np.ndarray)):
        raise TypeError(f"No attribute handler defined for type: {type(value)}")
    array = np.asarray(value, core.get_aval(value).dtype if type(value) in (int, float) else None)
    if not array.shape:
        return f"{scalar_text(array[()])} : {element_type(array.dtype)}"
    return f"{dense(array)} : {tensor_type(array.shape, array.dtype)}"


def _layout_text(layout: Sequence[int]) -> str:
    """Return the order of axes in memory, the fastest first, as an attribute."""
    order = list(layout)
    return f"dense<{order if len(order) > 1 else order[0] if order else ''}> : tensor<{len(order)}xindex>"


class _Hashable:
    """Makes an array or dict among the attributes hashable. Two are equal if their contents have the same types and values."""

    def __init__(self, value: Any) -> None:
        self.value = value.copy()
        self._key = _contents(value)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashable) and self._key == other._key

    def __repr__(self) -> str:
        return repr(self.value)


def _contents(value: Any) -> Any:
    """Return a stand-in for a value, hashable if its contents are; an array's has shape, dtype and bytes."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype, value.tobytes()
    if isinstance(value, dict):
        return tuple((key, _contents(each)) for key, each in value.items())
    return type(value), tuple(map(_contents, value)) if isinstance(value, (tuple, list)) else value


# --- batches ----------------------------------------------------------------------------------------------------------


@register_batcher(ffi_call_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, vmap_method: str | None, **params: Any) -> Any:
    """Batching rule, by `vmap_method`: a call for each element, or one call with whole batches, batch axes first. Raise
    NotImplementedError for any other method.
    """
    vals = [x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(vals, dims, strict=True)]
    if vmap_method in ("sequential", "sequential_unrolled"):
        outs = _one_after_another(vals, dims, vmap_method, params)
        return outs, [0] * len(outs)
    if vmap_method not in _WHOLE:
        raise NotImplementedError(
            "vmap is only supported for the ffi_call primitive when vmap_method is one of 'sequential', 'sequential_unrolled', "
            f"'expand_dims', 'broadcast_all', or 'legacy_vectorized'. Got vmap_method={vmap_method!r}."
        )
    if vmap_method != "legacy_vectorized":
        size = axis.size if vmap_method == "broadcast_all" else 1
        vals = [broadcast(x, (size,)) if dim is None else x for x, dim in zip(vals, dims, strict=True)]
        dims = [0] * len(vals)
    params["input_layouts"] = tuple(
        layout if dim is None else _with_batch(layout)
        for layout, dim in zip(params["input_layouts"], dims, strict=True)
    )
    params["output_layouts"] = tuple(map(_with_batch, params["output_layouts"]))
    params["result_avals"] = tuple(aval.update(shape=(axis.size, *aval.shape)) for aval in params["result_avals"])
    outs = ffi_call_p.bind(*vals, vmap_method=vmap_method, **params)
    return outs, [0] * len(outs)


def _with_batch(layout: Sequence[int]) -> tuple[int, ...]:
    return (*(axis + 1 for axis in layout), 0)


def _one_after_another(vals: Vals, dims: Dims, vmap_method: str, params: dict[str, Any]) -> Any:
    def step(_: Any, elements: list[Any]) -> Any:
        rest = iter(elements)
        operands = [x if dim is None else next(rest) for x, dim in zip(vals, dims, strict=True)]
        return (), ffi_call_p.bind(*operands, vmap_method=vmap_method, **params)

    batches = [x for x, dim in zip(vals, dims, strict=True) if dim is not None]
    return scan(step, (), batches, unroll=vmap_method == "sequential_unrolled")[1]


# --- what users call ------------------------------------------------------------------------------------------------


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Any] | None = None,
    output_layouts: Any = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """Return a function of arrays that calls the registered function; its keywords are attributes of the call.

    Args:
      result_shape_dtypes: the shape and dtype of the result (`ShapeDtypeStruct`), or a sequence of them.
      has_side_effect: whether the call is made even if its results are not used.
      vmap_method: what `vmap` does, as for `pure_callback`.
      input_layouts, output_layouts: for each array None (row after row) or the order of its axes in memory, the slowest first.
      input_output_aliases: a dict from the number of an operand to the number of the result that gets its memory.
      custom_call_api_version, legacy_backend_config: for functions of older forms.

    Raises:
      TypeError: an attribute is not a number, string, array, tuple or dict.
      ValueError: other arguments do not fit.
    """
    if vmap_method not in _METHODS:
        raise ValueError(f"vmap_method must be on of the allowed methods {_METHODS}, but got: {vmap_method}")
    if custom_call_api_version >= 4 and legacy_backend_config is not None:
        raise ValueError(
            f"The use of the legacy_backend_config parameter requires custom_call_api_version < 4; got {custom_call_api_version}."
        )
    is_sequence = isinstance(result_shape_dtypes, Sequence)
    result_avals = _result_avals(result_shape_dtypes if is_sequence else [result_shape_dtypes])
    layouts_out = output_layouts if is_sequence else (output_layouts,)

    def call(*args: Any, **attributes: Any) -> Any:
        in_avals = [core.get_aval(x) for x in args]
        layouts = (
            _layouts(in_avals, input_layouts, "input arguments ({}) must equal the number of input"),
            _layouts(result_avals, layouts_out, "outputs ({}) must equal the number of output"),
        )
        results = ffi_call_p.bind(
            *args,
            result_avals=result_avals,
            vmap_method=vmap_method,
            target_name=target_name,
            has_side_effect=has_side_effect,
            input_layouts=layouts[0],
            output_layouts=layouts[1],
            input_output_aliases=_aliases(input_output_aliases or {}, in_avals, result_avals, layouts),
            custom_call_api_version=custom_call_api_version,
            legacy_backend_config=legacy_backend_config,
            attributes=_hashable(attributes),
        )
        if not is_sequence:
            return results[0]
        return tuple(results) if isinstance(result_shape_dtypes, tuple) else list(results)

    return call


def _result_avals(results: Sequence[Any]) -> tuple[ShapedArray, ...]:
    for i, result in enumerate(results):
        if not hasattr(result, "shape") or not hasattr(result, "dtype"):
            raise ValueError(
                f"All elements of result_shape_dtypes must have 'shape' and 'dtype' attributes. Got {result} at position {i}."
            )
    return tuple(ShapedArray(tuple(result.shape), result.dtype) for result in results)


def _layouts(avals: Sequence[Any], given: Sequence[Any] | None, what: str) -> tuple[tuple[int, ...], ...]:
    if given is None:
        given = [None] * len(avals)
    if len(given) != len(avals):
        raise ValueError(f"The number of {what.format(len(avals))} layouts ({len(given)}).")
    return tuple(
        tuple(reversed(range(physical_aval(aval).ndim)))
        if layout is None
        else tuple(getattr(layout, "major_to_minor", layout))[::-1]
        for aval, layout in zip(avals, given, strict=True)
    )


def _aliases(
    aliases: Mapping[int, int], ins: Sequence[Any], outs: Sequence[Any], layouts: Sequence[Any]
) -> tuple[tuple[int, int], ...]:
    for i, o in sorted(aliases.items()):
        start = f"input_output_aliases contains the mapping '{i}:{o}' "
        for what, index, there in (("input", i, ins), ("output", o, outs)):
            if index >= len(there):
                raise ValueError(f"{start}with {what} index {index} outside the range [0, {len(there)}).")
        if (ins[i].shape, ins[i].dtype) != (outs[o].shape, outs[o].dtype):
            raise ValueError(
                f"{start}referring to an input with abstract value {ins[i]} and an output with a different abstract value {outs[o]}."
            )
        if layouts[0][i] != layouts[1][o]:
            raise ValueError(
                f"{start}referring to an input with layout {layouts[0][i]} and an output with a different layout {layouts[1][o]}."
            )
    return tuple((int(i), int(o)) for i, o in sorted(aliases.items()))


def _hashable(attributes: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    found: list[tuple[str, Any]] = []
    for name, value in sorted(attributes.items()):
        if isinstance(value, (np.ndarray, dict)):
            value = _Hashable(value)
        try:
            hash(value)
        except TypeError as error:
            raise TypeError(f"Non-hashable keyword argument to ffi_call {name}: {value}") from error
        found.append((name, value))
    return tuple(found)


missing_names.explain("ffi", sys.modules[__name__])
