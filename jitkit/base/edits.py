"""error -> the advice below it: what to write instead

Each text begins with a newline: it follows JAX's own line. Advice that depends on the operands is written where the
error is raised.

JAX: jax/_src/errors.py:_JAXErrorMixin
"""

from __future__ import annotations

BROADCAST = "\nFrom the last axis to the first, sizes must be equal, or one of them 1. `x[:, None]` adds an axis."

BROADCAST_TO = "\nFrom the last axis to the first, a size is what is asked for, or 1, or missing. `x[:, None]` adds an axis at the end."

ONE_DTYPE = "\n`lax` converts nothing by itself. `jnp` does; here one of them wants `.astype(...)`, or `lax.convert_element_type`."

ONE_RANK = "\n`lax` broadcasts nothing but axes of size 1; `jnp` adds the axes that are missing. Here `x[None]` adds one in front."

OF_A_LIST = "\nIt takes a list of arrays: `jnp.concatenate([x, y])`. Of numbers, `jnp.stack([a, b])` or `jnp.array([a, b])` makes an array."

JOINED = "\nWhat is joined differs along that axis only. Along a new one, `jnp.stack` joins arrays of one shape."

RANKS = "\nAll have the same number of axes: `x[None]` adds one in front, `x[:, None]` one after the first."

STACKED = (
    "\n`jnp.stack` makes a new axis, of arrays of one shape. Along an axis that is there, `jnp.concatenate` joins them."
)

SEVERAL_UNKNOWN = "\n-1 stands for the one size that follows from the others."

SQUEEZED = "\nOnly an axis of size 1 can be left out. Without `axis`, all of those are."

UNEQUAL_PARTS = "\n`jnp.array_split` makes parts of unequal sizes; a list of indices says where to cut."

NO_NONE = "\nA missing number is `jnp.nan`, or a mask beside the array. In a tree, None may stand for what is missing."

NO_TEXT = "\nTexts stay in Python: close over them, make them static arguments, or number them."

INTEGER_INDEX = "\nAn index counts: `int(i)` of a number of Python, `i.astype(int)` of an array, `//` instead of `/` where it is computed."

BITS = (
    "\nThese are operations of bools and integers. In a comparison, parentheses come first: `(x > 0) & (x < 1)`. A power is `**`, "
    "and `~mask` turns bools around."
)

ONE_BY_ONE = (
    "\nElement by element: `(a > 0) & (a < 2)` instead of `and` or `0 < a < 2`, `|` instead of `or`, `~(a > 0)` instead of "
    "`not`, and `jnp.where(a > 0, x, y)` instead of `x if a > 0 else y`."
)

INTEGER_SIZE = "\nA size is an integer: `n // 2` instead of `n / 2`, `int(n)` of a number of Python."

A_NUMBER = "\nA product with a number is `x * 2`."

BOTH_OR_NONE = "\n`jnp.where(condition, x, y)` takes both x and y; `jnp.where(condition)` alone gives the places."

SHIFTED = "\nA shift moves bits of integers. Of floats: `x * 2.0**n`."

OF_A_SEQUENCE = "\nMake an array of it, once: `jnp.array(...)`."

OF_A_TREE = "\nTo do it to each array in a tree: `jax.tree.map(lambda leaf: ..., tree)`."

FORI_ORDER = "\nThe order is `lax.fori_loop(lower, upper, body_fun, init_val)`, and the body takes (i, carry)."

WHILE_ORDER = "\nThe order is `lax.while_loop(cond_fun, body_fun, init_val)`; both functions take the carry."

FUNCTION_FIRST = (
    "\nFunctions come first: `lax.map(f, xs)`, `lax.scan(f, init, xs)`. One that they need besides is closed over."
)

HOW_IT_IS_CALLED = (
    "\n`lax` calls the body of `scan` with (carry, x), that of `fori_loop` with (i, carry), both functions of `while_loop` with (carry), "
    "and branches of `cond` and `switch` with the operands, one argument for each."
)

AT_INDEX = "\nFirst where, then what: `x.at[index].set(y)`."

AT_IS_NO_PLACE = "\nA new array is made: `x = x.at[index].set(y)`."

NOT_ITS_RESULT = (
    "\nPass the function itself, and call what comes back: `jit(f)(x)`, `grad(f)(x)`. This is a value, perhaps `f(x)`."
)

TWO_FUNCTIONS = (
    "\nThe branches are functions of the operands: `lax.cond(pred, lambda x: a, lambda x: b, x)`. "
    "`jnp.where(pred, a, b)` chooses between values."
)

SCANNED = (
    "\nEach step takes one slice of the first axis of `xs`: of an array, such as `jnp.arange(n)`. Without data, "
    "`lax.scan(f, init, length=n)`."
)

FLOAT_INPUT = (
    "\nA derivative is taken by real numbers: write `3.0` instead of `3`, or `x.astype(float)`. Of several arguments, `argnums` says "
    "by which."
)

FLOAT_OUTPUT = "\nAn integer moves in steps, and has no derivative. Return what it was made of, before `argmax`, `round` or `astype(int)`."

PAIR_WITH_AUX = "\nWith has_aux=True the function returns a pair: `return loss, aux`. The gradient is of the first."

BY_POSITION = "\n`argnums` counts arguments that are passed by position, from 0: `grad(f)(x)`, and not `grad(f)(x=x)`."

NOT_DATA = (
    "\nWhat is not a number has no derivative: close over it, or take it out of the tree, and pass the arrays alone."
)

PRIMALS = "\nBoth are tuples of arguments, one of one, too: `jvp(f, (x,), (v,))`."

TANGENTS = "\nA tangent has the shape and dtype of its argument: `jnp.ones_like(x)`."

COTANGENTS = "\nA cotangent has the shape and dtype of the result: `jnp.ones_like(y)`."

NO_JVP_RULE = "\nGive it one: `@f.defjvp`, above a function of (primals, tangents) that returns (result, tangent)."

JVP_OF_VJP = (
    "\nIts rule goes backward only, and `jvp`, `jacfwd`, `hessian` and `linearize` go forward: take `jacrev`, or write the rule "
    "with `custom_jvp`, which serves both."
)

TANGENT_OUT = "\nThe rule returns a result and its tangent, which has the result's shape and dtype."

SEED = "\nA seed is an integer: `random.key(0)`."

KEY_FIRST = "\nA key comes first: `random.normal(random.key(0), shape)`."

KEY_ARITHMETIC = (
    "\nA key is not a number. A new one comes from `random.fold_in(key, i)`, several from `random.split(key)`."
)

OF_THE_SAME_TREE = "\nThe leaves are those of `tree.flatten`, in their order, as many as there are."

ONE_KIND_OF_KEY = "\nKeys of a dict are put in order, so they are all of one kind: all texts, or all numbers."

FLOAT_POWER = "\nMake the base a float: `x.astype(float) ** -1`, or `1 / x`."

FEATURES = (
    "\nWithout `dimension_numbers`, images are (batch, features, height, width), and kernels (features out, features in, "
    "height, width)."
)

NOT_AN_F_STRING = (
    "\nIn the text stands one {} for each argument: `jax.debug.print('{} {}', x, y)`. An f-string is filled while tracing, and has none "
    "left: write it without the f."
)

VALUE_LATER = "\nWait for what the jitted function returns, outside of it."
