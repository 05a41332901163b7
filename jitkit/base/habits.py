"""a name of PyTorch's, of NumPy's or of numpy.random's -> what to write instead

Users of these libraries write `x.detach()`, `dim=0` or `random.seed(0)`. JAX's first line says that there is no such
name; a line below it has the edit. Tests run each piece of code in backticks.

JAX: jax/_src/deprecations.py:deprecation_getattr
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

_GRADIENT = "Differentiate a function with respect to its argument: `jax.grad(loss)(params)`. Arrays keep no gradients."
_NO_DETOUR = (
    "`jax.grad` differentiates only the function that it gets, so there is nothing to turn off. Hide a part "
    "from it by `jax.lax.stop_gradient(x)`."
)
_KEY = (
    "There is no hidden state. Make a key once, `key = jax.random.key(0)`, and `key, one = "
    "jax.random.split(key)` for each draw."
)
_NORMAL = "`jax.random.normal(key, (3,))`, with `key = jax.random.key(0)`."
_UNIFORM = "`jax.random.uniform(key, (3,))`, with `key = jax.random.key(0)`."
_NEW = "Arrays do not change. Make a new one: `x = {}`."
_DEVICE = (
    "Arrays go to the first device by themselves, and results are where their operands are. To another: "
    "`jax.device_put(x, jax.devices()[0])`."
)
_ARRAY = "`jnp.asarray([1.0, 2.0])` makes an array of numbers, lists and NumPy's arrays."
_LAYERS = (
    "Layers are functions of their parameters here, `jax.nn.relu(x @ w + b)`. Libraries such as flax and "
    "equinox have them as classes."
)
_CROSS_ENTROPY = (
    "For logits, and labels that are integers: `-jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, "
    "None], axis=-1).mean()`."
)
_SQUARES = "`jnp.mean((x - y) ** 2)`."
_DROPOUT = "`jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)`, with a key of its own for each call."
_NORMALISED = (
    "`(x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)`, times a scale, plus a shift."
)
_OPTIMISER = (
    "Optimisers are in the library optax. By hand: `params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)`."
)
_PRODUCT = "`x @ y`, for batches, too."
_AS_DTYPE = "`x.astype({})`."
_SHAPED = "Where a mask has True: `jnp.where(mask, value, x)`."
_CHUNKS = "`jnp.split(x, 2)`, or `jnp.array_split(x, 2)` for parts of unequal sizes."
_TOP = "`jax.lax.top_k(x, 2)`, along the last axis."

# attributes and methods of arrays
METHODS: Mapping[str, str] = {
    "detach": "`jax.lax.stop_gradient(x)`. Outside of `jax.grad` there is nothing to detach.",
    "numpy": "`np.asarray(x)`, outside of jitted functions.",
    "cpu": "`np.asarray(x)` has the numbers, outside of jitted functions.",
    "cuda": _DEVICE, "to": f"Of another dtype: {_AS_DTYPE.format('jnp.float32')} {_DEVICE}", "is_cuda": "`x.devices()` has where it is.",
    "get_device": "`x.devices()` has where it is.",
    "float": _AS_DTYPE.format("jnp.float32"), "double": _AS_DTYPE.format("jnp.float64"), "half": _AS_DTYPE.format("jnp.float16"),
    "bfloat16": _AS_DTYPE.format("jnp.bfloat16"), "long": _AS_DTYPE.format("int"), "int": _AS_DTYPE.format("int"),
    "bool": _AS_DTYPE.format("bool"), "type": _AS_DTYPE.format("jnp.float32"), "type_as": _AS_DTYPE.format("y.dtype"),
    "unsqueeze": "`jnp.expand_dims(x, 0)`, or `x[None]`.", "permute": "`x.transpose(1, 0)`.", "t": "`x.T`.",
    "dim": "`x.ndim`.", "ndimension": "`x.ndim`.", "numel": "`x.size`.", "nelement": "`x.size`.",
    "clone": "`x.copy()`, though nothing can change an array.",
    "contiguous": "Leave it out: arrays have no strides.", "is_contiguous": "Leave it out: arrays have no strides.",
    "expand": "`jnp.broadcast_to(x, (4, 2, 3))`.", "expand_as": "`jnp.broadcast_to(x, y.shape)`.", "view_as": "`x.reshape(y.shape)`.",
    "repeat_interleave": "`x.repeat(2)`.",
    **dict.fromkeys(("requires_grad", "requires_grad_", "backward", "grad", "grad_fn", "is_leaf", "retain_grad", "zero_grad"), _GRADIENT),
    "zero_": _NEW.format("jnp.zeros_like(x)"), "fill_": _NEW.format("jnp.full_like(x, 1)"), "fill": _NEW.format("jnp.full_like(x, 1)"),
    "add_": _NEW.format("x + y"), "sub_": _NEW.format("x - y"), "mul_": _NEW.format("x * y"), "div_": _NEW.format("x / y"),
    "copy_": _NEW.format("y"), "clamp_": _NEW.format("x.clip(0, 1)"), "clamp": "`x.clip(0, 1)`.", "resize_": _NEW.format("x.reshape(3, 2)"),
    "uniform_": _UNIFORM, "normal_": _NORMAL, "random_": _UNIFORM,
    "set": _NEW.format("x.at[0].set(1)"), "put": _NEW.format("x.at[0].set(1)"), "itemset": _NEW.format("x.at[0].set(1)"),
    "index_fill_": _NEW.format("x.at[0].set(1)"), "index_put_": _NEW.format("x.at[0].set(1)"), "index_add_": _NEW.format("x.at[0].add(1)"),
    "scatter_": _NEW.format("x.at[0].set(1)"), "scatter_add_": _NEW.format("x.at[0].add(1)"), "index_copy_": _NEW.format("x.at[0].set(1)"),
    "masked_fill": _SHAPED, "masked_fill_": _SHAPED, "gather": "`jnp.take_along_axis(x, indices, axis=0)`.",
    "index_select": "`x.take(indices, axis=0)`.", "masked_select": "`x[mask]`, outside of jitted functions.",
    "mm": _PRODUCT, "bmm": _PRODUCT, "mv": _PRODUCT, "norm": "`jnp.linalg.norm(x)`.", "inverse": "`jnp.linalg.inv(x.T @ x)`.",
    "chunk": _CHUNKS, "topk": _TOP, "tofile": "`np.asarray(x).tofile('x.bin')`, outside of jitted functions.",
    "extend": _NEW.format("jnp.concatenate([x, y])"), "values": "It is an array already: `x`.", "new_zeros": "`jnp.zeros((3,), x.dtype)`.",
}  # fmt: skip

# names of modules, by module: "" is the library itself
NAMES: Mapping[str, Mapping[str, str]] = {
    "": {
        **dict.fromkeys(("no_grad", "enable_grad", "inference_mode", "set_grad_enabled"), _NO_DETOUR), "autograd": _GRADIENT,
        "Tensor": "The class of arrays is `jax.Array`.", "tensor": _ARRAY, "from_numpy": _ARRAY, "as_tensor": _ARRAY, "FloatTensor": _ARRAY,
        "cuda": f"`jax.devices()` has the devices. {_DEVICE}", "device": f"`jax.devices()[0]`. {_DEVICE}", "manual_seed": _KEY,
        "randn": _NORMAL, "rand": _UNIFORM, "optim": _OPTIMISER, "compile": "`jax.jit(loss)`.", "cat": "`jnp.concatenate([x, y])`.",
    },
    "numpy": {
        "random": f"It is a module of its own, and takes keys: {_NORMAL}", "manual_seed": _KEY, "seed": _KEY, "randn": _NORMAL,
        "rand": _UNIFORM,
        "cat": "`jnp.concatenate([x, y])`.", "tensor": _ARRAY, "Tensor": _ARRAY, "from_numpy": _ARRAY, "as_tensor": _ARRAY,
        "FloatTensor": _ARRAY,
        "float": "`jnp.float32`, or Python's `float`.", "int": "`jnp.int32`, or Python's `int`.", "long": "`jnp.int32`, or Python's `int`.",
        "half": "`jnp.float16`.",
        "object": "Arrays hold numbers only. Lists and dicts of arrays are trees: `jax.tree.map(jnp.sin, [x, y])`.",
        "mm": _PRODUCT, "bmm": _PRODUCT, "clamp": "`jnp.clip(x, 0, 1)`.", "topk": _TOP, "chunk": _CHUNKS, "masked_fill": _SHAPED,
        "no_grad": _NO_DETOUR, "nditer": "`jax.vmap(jnp.sin)(x)` does it to each element at once.",
        "copyto": _NEW.format("jnp.where(mask, y, x)"), "svd": "`jnp.linalg.svd(x)`.",
    },
    "random": {
        **dict.fromkeys(("seed", "manual_seed", "RandomState", "default_rng", "Generator", "get_state", "set_state"), _KEY),
        **dict.fromkeys(("randn", "standard_normal"), _NORMAL), **dict.fromkeys(("rand", "random", "random_sample"), _UNIFORM),
        "random_integers": "`jax.random.randint(key, (3,), 0, 10)`.", "shuffle": "`jax.random.permutation(key, x)`.",
        "randperm": "`jax.random.permutation(key, 10)`.",
    },
    "nn": {
        **dict.fromkeys(("Module", "Linear", "Sequential", "Parameter", "Conv1d", "Conv2d", "LSTM", "GRU", "Embedding"), _LAYERS),
        "functional": "Its functions stand in `jax.nn` itself: `jax.nn.relu(x)`.", "init": "`jax.nn.initializers.normal()(key, (2, 3))`.",
        "linear": "`x @ w + b`.", "cross_entropy": _CROSS_ENTROPY, "CrossEntropyLoss": _CROSS_ENTROPY, "mse_loss": _SQUARES,
        "MSELoss": _SQUARES,
        "dropout": _DROPOUT, "Dropout": _DROPOUT, "layer_norm": _NORMALISED, "LayerNorm": _NORMALISED,
        "embedding": "`w[labels]`.", "one_hot_": "`jax.nn.one_hot(labels, 3)`.",
    },
}  # fmt: skip

# keyword -> its name here, for functions that have a keyword of this name, and a sentence
KEYWORDS: Mapping[str, tuple[str, str]] = {
    "dim": ("axis", "`jnp.sum(x, axis=0)`"), "dims": ("axis", "`jnp.flip(x, axis=(0, 1))`"), "dim0": ("axis1", "`jnp.swapaxes(x, 0, 1)`"),
    "keepdim": ("keepdims", "`jnp.sum(x, axis=0, keepdims=True)`"), "size": ("shape", "`jax.random.normal(key, shape=(3,))`"),
    "low": ("minval", "`jax.random.uniform(key, (3,), minval=0, maxval=1)`"),
    "high": ("maxval", "`jax.random.uniform(key, (3,), minval=0, maxval=1)`"),
    "loc": ("", "`1.0 + 2.0 * jax.random.normal(key, (3,))`"), "scale": ("", "`1.0 + 2.0 * jax.random.normal(key, (3,))`"),
    "requires_grad": ("", "`jax.grad(loss)(params)`"),
    "a_min": ("min", "`jnp.clip(x, min=0)`"), "a_max": ("max", "`jnp.clip(x, max=1)`"),
}  # fmt: skip

# methods of tensors that are functions here: of the array alone, of the array and more arguments, and of `jax.nn`
_FUNCTIONS = (
    " abs absolute acos acosh asin asinh atan atanh cos cosh count_nonzero deg2rad diag diff exp exp2 expm1 flip "
    "floor ceil frexp isfinite isinf "
    "isnan log log10 log1p log2 median nanmean nansum negative rad2deg reciprocal rot90 sign sin sinh sinc sqrt "
    "square tan tanh tril triu trunc unique "
)
_OF_MORE = (
    " append atan2 cross divide fmod hypot isclose kron logaddexp matmul maximum minimum moveaxis multiply outer pad "
    "pow power quantile resize roll "
    "split subtract tensordot tile "
)
_OF_NN = " celu elu gelu glu leaky_relu log_softmax logsumexp one_hot relu relu6 selu sigmoid silu softmax softplus "
_UNEXPECTED = r"unexpected keyword argument '(\w+)'"


def about_attribute(name: str) -> str:
    """Return a line with what to write instead of `x.name`; an empty text if that is not known."""
    edit = METHODS.get(name, "")
    if f" {name} " in _FUNCTIONS:
        edit = f"It is a function: `jnp.{name}(x)`."
    elif f" {name} " in _OF_MORE:
        edit = f"It is a function, `jnp.{name}`, with the array in front."
    elif f" {name} " in _OF_NN:
        edit = f"It is a function: `jax.nn.{name}`, with the array in front."
    return edit and f"\n{edit}"


class _NotHere:
    """An attribute that arrays lack: it raises Python's usual error, followed by what to write instead.

    (With a `__getattr__`, `np.asarray(x)` took six times as long: NumPy asks each array for two attributes that it
    lacks.)
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        whose = f"type object {owner.__name__!r}" if instance is None else f"{owner.__name__!r} object"
        raise AttributeError(
            f"{whose} has no attribute {self.name!r}{about_attribute(self.name)}", name=self.name, obj=None
        )

    def __set__(self, instance: object, value: object) -> None:
        self.__get__(instance, type(instance))


def mark(array: type) -> None:
    """Make the class of arrays explain the attributes of tensors that it lacks: the error says what to write instead.
    `hasattr` and `dir` do not see these attributes.
    """
    marked = {*METHODS, *_FUNCTIONS.split(), *_OF_MORE.split(), *_OF_NN.split()}
    for name in marked:
        setattr(array, name, _NotHere(name))

    def __dir__(self: object) -> list[str]:
        return [name for name in object.__dir__(self) if name not in marked]

    vars_of_class: Any = array
    vars_of_class.__dir__ = __dir__


def about_keyword(message: str, names: Collection[str]) -> str:
    """Return a line with our name of the keyword that a message refuses, for a function with parameters of these names;
    "" if the keyword is not known.
    """
    found = re.search(_UNEXPECTED, message)
    instead, example = KEYWORDS.get(found[1] if found else "", (None, ""))
    if instead == "":
        return f"\nThere is no such option: {example}."
    return f"\nHere it is `{instead}`: {example}." if instead in names else ""
