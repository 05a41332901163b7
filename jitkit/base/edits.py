"""error -> the advice below it: what to write instead

Each text begins with a newline: it follows JAX's own line. Advice that depends on the operands is written where the
error is raised.

JAX: jax/_src/errors.py:_JAXErrorMixin
"""

from __future__ import annotations

BROADCAST = (
    "\nCompare the shapes from their last axis to the first: two sizes must be equal, or one of them 1. `x[:, None]` "
    "adds an axis of size 1."
)

BROADCAST_TO = (
    "\nCompare the shapes from their last axis to the first: each size must be the one that you ask for, or 1, or "
    "missing. `x[:, None]` adds an axis at the end."
)

ONE_DTYPE = (
    "\n`lax` never converts dtypes; the `jnp` function does. Use that, or convert one operand with `.astype(...)`."
)

ONE_RANK = "\n`lax` never adds axes; the `jnp` function does. Use that, or add one in front with `x[None]`."

OF_A_LIST = (
    "\nPass one list of arrays: `jnp.concatenate([x, y])`. To make an array of numbers, use `jnp.stack([a, b])` or "
    "`jnp.array([a, b])`."
)

OF_ONE_SEQUENCE = "\nPass one list or tuple of arrays: `jnp.{}([x, y])`."

A_DATACLASS_FIRST = (
    "\nMake it one, with a field for each attribute: write `@dataclasses.dataclass` below `@register_dataclass`. A class that has "
    "to keep its own `__init__` is registered by `register_pytree_node_class`."
)

JOINED = "\nThe arrays may differ in size along that axis only. `jnp.stack` joins arrays of one shape along a new axis."

RANKS = "\nAll arrays must have the same number of axes: `x[None]` adds one in front, `x[:, None]` one after the first."

STACKED = (
    "\n`jnp.stack` joins arrays of one shape along a new axis. `jnp.concatenate` joins them along an axis that they "
    "already have."
)

SEVERAL_UNKNOWN = "\nOnly one size may be -1: it follows from the others."

SQUEEZED = "\n`squeeze` removes axes of size 1 only. Without `axis`, it removes all of those."

UNEQUAL_PARTS = (
    "\n`jnp.array_split` makes parts of unequal sizes. You can also pass a list of the indices at which to cut."
)

NO_NONE = "\nFor a missing number, use `jnp.nan`, or keep a mask beside the array."

NO_TEXT = "\nArrays hold numbers only. Keep texts in Python lists, pass them as static arguments, or number them."

INTEGER_INDEX = (
    "\nAn index must be an integer. Write `//` instead of `/` where you compute it, or convert it: `int(i)` for a "
    "number, `i.astype(int)` for an array."
)

BITS = (
    "\n`&`, `|`, `^` and `~` work on bools and integers. They bind tighter than `<`, so comparisons need parentheses: "
    "`(x > 0) & (x < 1)`. A power is written `**`."
)

ONE_BY_ONE = (
    "\nTo compare element by element, write `(a > 0) & (a < 2)` instead of `and` or `0 < a < 2`, `|` instead of `or`, "
    "`~(a > 0)` instead of `not`, and `jnp.where(a > 0, x, y)` instead of `x if a > 0 else y`."
)

INTEGER_SIZE = "\nA size must be an integer: write `n // 2` instead of `n / 2`, or `int(n)`."

STATIC_SIZE = (
    "\nA size is part of the program, so a traced value cannot decide it. Make the argument that does static: "
    "`jit(f, static_argnames='n')`."
)

COMPUTED_SIZE = (
    "\nA size is part of the program, so a traced value cannot decide it, and `jnp` makes traced values. Compute it in "
    "Python: `math.prod(x.shape)`, `x.shape[0] // 2`."
)

A_NUMBER = "\nTo multiply by a number, write `x * 2`."

BOTH_OR_NONE = (
    "\nPass both x and y: `jnp.where(condition, x, y)`. `jnp.where(condition)` alone returns the places where it is "
    "True."
)

SHIFTED = "\n`<<` and `>>` move the bits of integers. To scale a float, write `x * 2.0**n`."

OF_A_SEQUENCE = (
    "\nMake a list of numbers an array first: `jnp.array(numbers)`. Take several arrays apart first: `a, b = pair`."
)

OF_TREES = (
    "\nLists, tuples and dicts of arrays are trees. To compute with each array of them, write "
    "`jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)`."
)

OF_A_TEXT = "\nA text is not a number: convert it first, `float(text)`."

IS_NONE = "\nOne value is None: is a `return` missing, or an argument whose default is None?"

NO_METHOD = (
    "\nThis is an attribute, not a method: write `x.shape`, `x.T` without parentheses. One size is `x.shape[0]`."
)

NOT_CALLED = (
    "\nThis is an array. To index it, write brackets: `x[0]`. If it should be a function, an array has been given the "
    "function's name."
)

AT_OF_NUMPY = "\nNumPy's arrays have no `at`. Make it an array of this library first: `jnp.asarray(x).at[0].set(1)`."

OF_A_LIST_OF_NUMBERS = (
    "\nThis is a list. Make it an array first: `jnp.array(x)` of numbers, `jnp.stack(x)` of arrays of one shape."
)

OF_A_TUPLE = "\nThis is a tuple. If it is the result of a function, take it apart: `y, aux = f(x)`."

OF_A_NUMBER = "\nThis is a number of Python's. `jnp.asarray(x)` makes an array of it."

INDICES_OF_A_LIST = "\nThis is a list, which has one axis. Make it an array first: `jnp.array(x)[:, 0]`."

UNPACKED = (
    "\nThere must be a name in front of the `=` for each item of the tuple, or for each row of the array: `x.shape[0]`."
)

ITEM_OF_A_DICT = "\nThe items of a dict are `p['w']`."

OF_A_RANGE = "\nMake it an array: `jnp.arange(3)`."

CARRIED = (
    "\nAn assignment makes the name local to the function in which it stands. A body that changes a value takes it as its carry, and "
    "returns the new one: `jax.lax.fori_loop(0, 3, lambda i, total: total + i, 0)`."
)

RECURSION = (
    "\nBoth branches of `cond` are traced, and no condition on a traced value ends a recursion while tracing. Write a loop: "
    "`jax.lax.while_loop(condition, body, start)`."
)

ARGNUMS = "\n`argnums` counts the arguments from 0: `jax.grad(f, argnums=1)`, or `argnums=(0, 1)`. It takes no names."

RETURN_ARRAYS = (
    "\nReturn arrays and numbers, alone or in tuples, lists and dicts. Make the rest, such as a text, a shape or a function, outside of "
    "the traced function."
)

NO_OBJECTS = "\nArrays hold numbers only. Take the numbers out of the object first, for example with `np.asarray(x, dtype='float32')`."

NO_HASH = (
    "\nA dict, a set or `lru_cache` needs a hash, and arrays have none. Look a number up instead: `int(x)` or `x.item()`; of "
    "several, `tuple(x.tolist())`."
)

ONE_KEY = "\nThis is one key. For two, write `k1, k2 = jax.random.split(key)`."

SWITCH_ORDER = "\nThe branches are one list of functions, behind the index: `lax.switch(i, [f, g, h], x)`."

MAPPED_FIRST = "\nThe function comes first: `jax.tree.map(lambda leaf: ..., tree)`."

NOTHING_TO_WAIT_FOR = (
    "\nWhile tracing there is nothing to wait for. Call it on the result, outside of the traced function."
)

NOT_AN_ITERATOR = "\nAn iterator such as `zip` has no axis. Pass a tuple of arrays, and the body gets rows: `lax.scan(f, init, (xs, ys))`."

ONE_AXIS = "\nThis takes one axis. For several, make them one first: `jnp.argmax(x.reshape(-1))`."

TWO_SIZES = ".\nThe sizes are arguments of their own: `jnp.eye(3)`, `jnp.eye(3, 4)`"

A_DTYPE = "\nA dtype is written `jnp.float32`, or as a text 'float32'."

TREE_OF_ARRAYS = (
    "\nFor the arrays in it, use `jax.tree.leaves(tree)`, or `jax.tree.map(lambda leaf: leaf.sum(), tree)`."
)

APPLIED_TWICE = "\n`{0}(f)` returns a function: call that with the arguments, `{0}(f)(x)`."

OF_A_TREE = "\nTo do this to each array in the dict, write `jax.tree.map(lambda leaf: ..., tree)`."

FORI_ORDER = "\nThe order is `lax.fori_loop(lower, upper, body_fun, init_val)`, and the body takes (i, carry)."

WHILE_ORDER = "\nThe order is `lax.while_loop(cond_fun, body_fun, init_val)`; both functions take the carry."

FUNCTION_FIRST = (
    "\nThe function comes first: `lax.map(f, xs)`, `lax.scan(f, init, xs)`. A second function that it needs is not an "
    "argument: use it inside of f."
)

HOW_IT_IS_CALLED = (
    "\n`lax` calls the body of `scan` with (carry, x), the body of `fori_loop` with (i, carry), both functions of "
    "`while_loop` with (carry), the function of `map` with (x), which is a tuple if several arrays are mapped, and "
    "branches of `cond` and `switch` with the operands, one argument for each."
)

HOW_MANY_STARTS = "\nGive a start for each axis of the array. To cut along one axis: `lax.dynamic_slice_in_dim(x, start, size, axis)`."

NOT_FOR_A_DEVICE = "\nOnly numbers, arrays of numbers, and trees of those can be put on a device."

OF_TWO_ELEMENTS = "\n`associative_scan` calls the function with two elements, and takes one back: `lambda a, b: a + b`."

A_SHAPE = "\nA shape is a tuple of integers: `(3, 4)`. That of an array is `x.shape`."

NO_LENGTH = "\nThis has the shape (): it has no axis to go along. Use it as it is, or `x[None]`, of length 1."

NO_ROWS = f"array{NO_LENGTH}", f"key array{ONE_KEY}"

HOW_MANY_KEYS = "\nSay how many keys, as an integer: `random.split(key, 3)`, or their shape: `(3, 2)`."

WINDOW = "\n`slice_sizes` are the sizes of the window that is cut out, one for each axis, and none may be larger than the array."

TOO_LARGE_K = "\n`k` says how many to return: at most as many as there are along that axis, so `min(k, x.shape[-1])`."

OUTPUT_LETTER = "\nEach letter behind `->` must be in one of the operands: its size comes from there. A new axis is made by `x[..., None]`."

WITH_TANGENT = "\nEnd it with `return result, tangent`."

NO_RESULT = " One of them returns None: is a `return` missing?"

MATRICES = "\nThis takes square matrices, of shape (n, n) or (..., n, n)."

ROWS_OF_B = "\n`solve(a, b)` takes a square matrix, and as many rows in b as it has."

AT_INDEX = "\nSay first where, then what: `x.at[index].set(y)`."

AT_IS_NO_PLACE = "\nArrays do not change. Make a new one: `x = x.at[index].set(y)`."

NOT_ITS_RESULT = (
    "\nPass the function itself, and call what comes back: `jit(f)(x)`, `grad(f)(x)`. This is a value, perhaps `f(x)`."
)

TWO_FUNCTIONS = (
    "\nPass two functions, which are called with the operands: `lax.cond(pred, lambda x: a, lambda x: b, x)`. To "
    "choose between two values, use `jnp.where(pred, a, b)`."
)

SCANNED = (
    "\n`scan` walks along the first axis of arrays: pass `jnp.arange(n)` instead of a number, or no data and "
    "`lax.scan(f, init, length=n)`."
)

FLOAT_INPUT = (
    "\nDerivatives are taken with respect to real numbers: write `3.0` instead of `3`, or `x.astype(float)`. "
    "`argnums` says which argument it is; in a tree all leaves count, so pass integers in an argument of their own."
)

FLOAT_OUTPUT = (
    "\nIntegers change in steps, so they have no derivative. Return the floats from which they were made, before "
    "`argmax`, `round` or `astype(int)`."
)

PAIR_WITH_AUX = (
    "\nWith has_aux=True the function must return a pair: `return loss, aux`. `grad` differentiates the first."
)

TOO_FEW = "\n`argnums` counts the arguments from 0, so the last one that this call has is {}."

BY_POSITION = (
    "\n`argnums` counts the arguments that are passed by position, from 0: write `grad(f)(x)` instead of "
    "`grad(f)(x=x)`."
)

NOT_DATA = (
    "\nOnly numbers have a derivative. Take the rest out of the tree, or use it inside of the function without "
    "passing it."
)

PRIMALS = "\nBoth must be tuples of arguments, also where there is only one: `jvp(f, (x,), (v,))`."

TANGENTS = "\nA tangent must have the shape and dtype of its argument, as `jnp.ones_like(x)` has."

COTANGENTS = "\nA cotangent must have the shape and dtype of the result, as `jnp.ones_like(y)` has."

NO_JVP_RULE = (
    "\nWrite the rule: put `@f.defjvp` above a function of (primals, tangents) that returns (result, tangent)."
)

JVP_OF_VJP = (
    "\nIts rule serves the reverse mode only, and `jvp`, `jacfwd`, `hessian` and `linearize` use the forward mode. "
    "Use `jacrev`, or write the rule with `custom_jvp`, which serves both."
)

TANGENT_OUT = "\nThe rule must return the result and its tangent, which has the result's shape and dtype."

SEED = "\nA seed must be an integer: `random.key(0)`."

KEY_FIRST = "\nThe key comes first: `random.normal(random.key(0), shape)`."

KEYS_ARE_NOT_OF_NUMPY = (
    "JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use jax.random.key_data(arr) if you wish to extract "
    "the underlying integer array."
)

NOT_OF_A_KEY = " argument must be a string, a bytes-like object or a real number, not 'PRNGKeyArray'"

KEYS_ARE_NOT_NUMBERS = (
    "\nRandom keys are not numbers; `jax.random.key_data(keys)` gives the numbers that they consist of."
)

KEY_ARITHMETIC = "\nA key is not a number. `random.fold_in(key, i)` makes a new one, `random.split(key)` makes several."

FEWER_AXES = (
    "\nBroadcasting adds axes in front, and removes none. To write into one place of an array, give it one number; to write "
    "several, index several places: `x.at[:2].set(values)`."
)

AXES_OF_A_TREE = (
    "\nWrite one axis, or None, for a whole tree, or a tree of axes that has the same keys and lengths as the argument."
)

ONE_STRUCTURE = (
    "\nAll trees must have the same kinds of nodes, keys and lengths: `jax.tree.structure(tree)` shows those of one."
)

INTEGER_INDICES = (
    "\nIndices must be integers: convert them, `indices.astype(int)`, or make them without a decimal point."
)

SQUARE = "\nThe last two axes must have one size. For other matrices there are `jnp.linalg.pinv(a)` and `jnp.linalg.lstsq(a, b)`."

INTO_NUMPY = (
    "\nA NumPy array holds numbers, and a traced value is none yet. Make the array with `jnp`, and a new one for each change: "
    "`out = out.at[i].set(value)`; or collect the values, and `jnp.stack(values)`."
)

RAGGED = "\nAn array has rows of one length. Fill the short ones up, and keep a mask or the lengths; or keep a list of arrays."

OF_OTHER_SHAPES = (
    "\nBoth must return arrays of one shape: pad the smaller one (`jnp.pad`), or hide the rest with `jnp.where`."
)

NO_OPERATION_AT = (
    "\nSay what to do at the index: `x.at[index].add(y)`, `.multiply(y)`, `.set(y)`; to read it, `x[index]`."
)

OF_THE_SAME_TREE = "\nPass all leaves, in the order in which `tree.flatten` returns them."

ONE_KIND_OF_KEY = "\nA dict's keys are sorted, so they must be all texts or all numbers."

FLOAT_POWER = "\nMake the base a float: `x.astype(float) ** -1`, or `1 / x`."

FEATURES = (
    "\nWithout `dimension_numbers`, images must be (batch, features, height, width), and kernels (features out, "
    "features in, height, width)."
)

NOT_AN_F_STRING = (
    "\nThe text needs one {} for each argument: `jax.debug.print('{} {}', x, y)`. An f-string has none left, because "
    "Python fills it while tracing: write it without the f."
)

NO_OUT = "\nArrays are not written into: use the result. What comes behind `axis` goes by keyword, `keepdims=True`."

VIEW = "\n`x.view(dtype)` reads the same bytes as another dtype. The same elements in another shape are `x.reshape(2, -1)`."

DELETED = "\nA new array is made: `x = jnp.delete(x, index)`."

AT_IN_BRACKETS = "\nThe index stands in brackets: `x.at[index].set(y)`."
