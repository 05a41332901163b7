"""The names of `jax.example_libraries.stax`: layers of networks as pairs of functions

    init, apply = serial(Dense(128), Relu, Dense(10), LogSoftmax)
    output_shape, params = init(key, (-1, 784))
    outputs = apply(params, inputs)

Layers that need a key when they are applied (those with a `Dropout`) take it as `apply(params, inputs, rng=key)`.

JAX: jax/example_libraries/stax.py:serial
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import lax, random
from .. import numpy as jnp
from ..nn import elu, gelu, leaky_relu, log_softmax, relu, selu, sigmoid, softmax, softplus, standardize
from ..nn.initializers import glorot_normal, normal, ones, zeros

Layer = tuple[Callable[..., Any], Callable[..., Any]]
_WEIGHTS, _BIAS, _SMALL_BIAS = glorot_normal(), normal(), normal(1e-6)

glorot = glorot_normal  # older names
randn = normal
logsoftmax = log_softmax


def _without_parameters(shape_of: Callable[[Any], Any], apply: Callable[[Any], Any]) -> Layer:
    return lambda rng, input_shape: (shape_of(input_shape), ()), lambda params, inputs, **kwargs: apply(inputs)


# --- layers with parameters -------------------------------------------------------------------------------------------


def Dense(out_dim: int, W_init: Any = _WEIGHTS, b_init: Any = _BIAS) -> Layer:
    """Return a layer that multiplies with a matrix, made by `W_init`, and adds a vector of `out_dim` numbers, made by `b_init`."""

    def init(rng: Any, input_shape: Any) -> Any:
        for_weights, for_bias = random.split(rng)
        weights, bias = W_init(for_weights, (input_shape[-1], out_dim)), b_init(for_bias, (out_dim,))
        return (*input_shape[:-1], out_dim), (weights, bias)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        return jnp.dot(inputs, weights) + bias

    return init, apply


def _convolution(
    specs: Sequence[str], out_chan: int, filter_shape: Any, W_init: Any, b_init: Any, shape_of: Any, convolve: Any
) -> Layer:
    """Return a convolution that adds a number for each channel. `specs` name the axes of inputs, weights and outputs."""
    inputs_spec, weights_spec, outputs_spec = specs
    make_weights = W_init or glorot_normal(weights_spec.index("I"), weights_spec.index("O"))

    def init(rng: Any, input_shape: Any) -> Any:
        sizes = iter(filter_shape)
        known = {"O": out_chan, "I": input_shape[inputs_spec.index("C")]}
        shape = [known[name] if name in known else next(sizes) for name in weights_spec]
        for_weights, for_bias = random.split(rng)
        bias_shape = [out_chan if name == "C" else 1 for name in outputs_spec]
        output_shape = shape_of(input_shape, shape)
        return output_shape, (make_weights(for_weights, shape), b_init(for_bias, bias_shape))

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        return convolve(inputs, weights) + bias

    return init, apply


def GeneralConv(
    dimension_numbers: Any, out_chan: int, filter_shape: Any, strides: Any = None, padding: Any = "VALID", W_init: Any = None,
    b_init: Any = _SMALL_BIAS,
) -> Layer:  # fmt: skip
    """Return a layer that convolves with `out_chan` windows of the shape `filter_shape`. `dimension_numbers` names the
    axes; `strides` and `padding` are as for `lax.conv_general_dilated`.
    """
    ones_ = (1,) * len(filter_shape)
    steps = strides or ones_
    return _convolution(
        dimension_numbers, out_chan, filter_shape, W_init, b_init,
        lambda inputs, weights: lax.conv_general_shape_tuple(inputs, weights, steps, padding, dimension_numbers),
        lambda x, w: lax.conv_general_dilated(x, w, steps, padding, ones_, ones_, dimension_numbers=dimension_numbers),
    )  # fmt: skip


def GeneralConvTranspose(
    dimension_numbers: Any, out_chan: int, filter_shape: Any, strides: Any = None, padding: Any = "VALID", W_init: Any = None,
    b_init: Any = _SMALL_BIAS,
) -> Layer:  # fmt: skip
    """Return the transpose of a convolution; `strides` and `padding` are as for `lax.conv_transpose`."""
    steps = strides or (1,) * len(filter_shape)
    return _convolution(
        dimension_numbers, out_chan, filter_shape, W_init, b_init,
        lambda inputs, weights: lax.conv_transpose_shape_tuple(inputs, weights, steps, padding, dimension_numbers),
        lambda x, w: lax.conv_transpose(x, w, steps, padding, dimension_numbers=dimension_numbers),
    )  # fmt: skip


def _of_axes(make: Callable[..., Layer], *specs: str) -> Callable[..., Layer]:
    return lambda *args, **kwargs: make(specs, *args, **kwargs)


Conv = _of_axes(GeneralConv, "NHWC", "HWIO", "NHWC")
Conv1DTranspose = _of_axes(GeneralConvTranspose, "NHC", "HIO", "NHC")
ConvTranspose = _of_axes(GeneralConvTranspose, "NHWC", "HWIO", "NHWC")


def BatchNorm(
    axis: Any = (0, 1, 2), epsilon: float = 1e-5, center: bool = True, scale: bool = True, beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:  # fmt: skip
    """Return a layer that normalises to mean 0 and variance 1 over axes, then multiplies by a parameter if `scale`, and
    adds one if `center`.
    """
    axes = (axis,) if jnp.isscalar(axis) else axis

    def init(rng: Any, input_shape: Any) -> Any:
        shape = tuple(size for i, size in enumerate(input_shape) if i not in axes)
        for_beta, for_gamma = random.split(rng)
        beta = beta_init(for_beta, shape) if center else ()
        return input_shape, (beta, gamma_init(for_gamma, shape) if scale else ())

    def apply(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        along = tuple(None if i in axes else slice(None) for i in range(jnp.ndim(x)))
        out = standardize(x, axes, epsilon=epsilon)
        if scale:
            out = gamma[along] * out
        return out + beta[along] if center else out

    return init, apply


# --- layers without ---------------------------------------------------------------------------------------------------


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """Return a layer that applies a function, which keeps the shape, to its input."""
    return _without_parameters(lambda shape: shape, lambda inputs: fun(inputs, **fun_kwargs))


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)

Flatten = _without_parameters(
    lambda shape: (shape[0], math.prod(shape[1:])), lambda inputs: jnp.reshape(inputs, (inputs.shape[0], -1))
)
Identity = _without_parameters(lambda shape: shape, lambda inputs: inputs)
FanInSum = _without_parameters(lambda shapes: shapes[0], sum)


def FanOut(num: int) -> Layer:
    """Return a layer whose output is a list of `num` times the input."""
    return _without_parameters(lambda shape: [shape] * num, lambda inputs: [inputs] * num)


def FanInConcat(axis: int = -1) -> Layer:
    """Return a layer that joins the inputs along an axis."""

    def shape_of(shapes: Any) -> Any:
        place = axis % len(shapes[0])
        return (*shapes[0][:place], sum(shape[place] for shape in shapes), *shapes[0][place + 1 :])

    return _without_parameters(shape_of, lambda inputs: jnp.concatenate(inputs, axis))


def _pooling(reducer: Any, start: float, is_mean: bool = False) -> Callable[..., Layer]:
    def pooling(window_shape: Any, strides: Any = None, padding: Any = "VALID", spec: str | None = None) -> Layer:
        """Return a layer that reduces each window to one number. `spec` names the axes, of which "N" and "C" are not in
        windows; by default they are the first and last.
        """
        window, steps = list(window_shape), list(strides or (1,) * len(window_shape))
        kept = sorted((0, len(window) + 1) if spec is None else (spec.index("N"), spec.index("C")))
        for axis in kept:
            window.insert(axis, 1)
            steps.insert(axis, 1)
        sizes, moves, once = tuple(window), tuple(steps), (1,) * len(window_shape)

        def shape_of(shape: Any) -> Any:
            pads = lax.padtype_to_pads(shape, sizes, moves, padding)
            return lax.reduce_window_shape_tuple(shape, sizes, moves, pads, once, once)

        def apply(inputs: Any) -> Any:
            out = lax.reduce_window(inputs, start, reducer, sizes, moves, padding)
            if not is_mean:
                return out
            last = inputs.ndim - 1
            others = sorted((0, last) if spec is None else kept)
            within = [i for i in range(inputs.ndim) if i not in others]
            filled = jnp.ones([inputs.shape[i] for i in within], dtype=inputs.dtype)
            counts = lax.reduce_window(filled, 0.0, lax.add, window_shape, strides or once, padding)
            for i in others:
                counts = jnp.expand_dims(counts, i)
            return out / counts

        return _without_parameters(shape_of, apply)

    return pooling


MaxPool = _pooling(lax.max, -math.inf)
SumPool = _pooling(lax.add, 0.0)
AvgPool = _pooling(lax.add, 0.0, is_mean=True)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Return a layer that keeps each element with the probability `rate`, divided by `rate`, and sets the others to 0;
    in another mode than "train", it returns the input. Raise ValueError when applied without a key.
    """

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "Dropout layer requires apply_fun to be called with a PRNG key argument. That is, instead of `apply_fun(params, inputs)`, "
                "call it like `apply_fun(params, inputs, rng)` where `rng` is a PRNG key (e.g. from `jax.random.key`)."
            )
        if mode != "train":
            return inputs
        return jnp.where(random.bernoulli(rng, rate, inputs.shape), inputs / rate, 0)

    return lambda rng, input_shape: (input_shape, ()), apply


# --- layers of layers -------------------------------------------------------------------------------------------------


def _keys(rng: Any, count: int) -> Any:
    return (None,) * count if rng is None else random.split(rng, count)


def serial(*layers: Layer) -> Layer:
    """Return a layer that applies these layers in sequence."""

    def init(rng: Any, input_shape: Any) -> Any:
        params = []
        for init_layer, _ in layers:
            rng, for_layer = random.split(rng)
            input_shape, own = init_layer(for_layer, input_shape)
            params.append(own)
        return input_shape, params

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        for (_, apply_layer), own, key in zip(layers, params, keys, strict=False):
            inputs = apply_layer(own, inputs, rng=key, **kwargs)
        return inputs

    return init, apply


def parallel(*layers: Layer) -> Layer:
    """Return a layer that applies these layers in parallel, each to its own input: after `FanOut`, before `FanInSum`."""

    def init(rng: Any, input_shape: Any) -> Any:
        keys = random.split(rng, len(layers))
        made = [init_layer(key, shape) for (init_layer, _), key, shape in zip(layers, keys, input_shape, strict=False)]
        return zip(*made, strict=True)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        each = zip(layers, params, inputs, keys, strict=False)
        return [apply_layer(own, x, rng=key, **kwargs) for (_, apply_layer), own, x, key in each]

    return init, apply


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """Return the layer that a function makes from the shape of its input, once that is known."""
    return (
        lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
        lambda params, inputs, **kwargs: make_layer(inputs.shape)[1](params, inputs, **kwargs),
    )
