"""Wrong versions of rung 18, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "selu is relu",
    "What is SELU of a negative number?",
    "1.0507009873554805 * where(x > 0, x, 1.6732632423543772 * numpy.expm1(where(x > 0, 0, x)))",
    "numpy.maximum(x, 0)",
)
edit(
    "exp first, then divide",
    "exp(1000) is infinite. What may be subtracted first?",
    "    largest = numpy.max(x, axis, keepdims=True)\n",
    "    largest = 0.0\n",
)
edit(
    "the variance divides by n - 1",
    "By which number does JAX's `var` divide: n, or n - 1?",
    "    return mean(numpy.square(x - mean(x, axis, keepdims=True)), axis)",
    "    square = numpy.square(x - mean(x, axis, keepdims=True))\n    return numpy.sum(square, axis) / (square.size / numpy.sum(square, axis).size - 1)",
)
edit(
    "each step is compiled anew",
    "There are fifty steps with arrays of the same types. How often is the step traced?",
    "            self.known[key] = found\n",
    "            pass\n",
)
edit(
    "the hessian is the gradient squared",
    "What is the derivative of the gradient?",
    "hessian = lambda f: jacfwd(grad(f))",
    "hessian = lambda f: lambda x: numpy.outer(grad(f)(x), grad(f)(x))",
)
edit(
    "`concatenate` has no derivative",
    "Which operations is `concatenate` made of, and does each have a rule, backward too?",
    "nn = SimpleNamespace(\n",
    "transposes.pop(dynamic_update_slice_p)\nnn = SimpleNamespace(\n",
)
edit(
    "`concatenate` is for one example",
    "Which operations is `concatenate` made of, and what does each do to a batch?",
    "nn = SimpleNamespace(\n",
    "batchers.pop(dynamic_update_slice_p)\nnn = SimpleNamespace(\n",
)
edit(
    "far from 0 an exponential is infinite",
    "exp(200.0) is infinite. What is softplus(200.0), and its derivative?",
    "softplus=lambda x: where(x >= 0, x, 0) + numpy.log1p(numpy.exp(-numpy.abs(x))),",
    "softplus=lambda x: numpy.log1p(numpy.exp(x)),",
)
edit(
    "the softmax is over all",
    "What do the numbers of each column of softmax(x, axis=0) add up to, for a matrix x?",
    "softmax=lambda x, axis=-1: numpy.exp(x - logsumexp(x, axis))",
    "softmax=lambda x, axis=-1: numpy.exp(x - logsumexp(x, None))",
)
edit(
    "the last axis is the first",
    "Which axis does `log_softmax` take, when none is given?",
    "log_softmax=lambda x, axis=-1: x - logsumexp(x, axis)",
    "log_softmax=lambda x, axis=0: x - logsumexp(x, axis)",
)
edit("one_hot is integers", "Of which dtype is one_hot?", "numpy.arange(n), F32)", "numpy.arange(n), I32)")
edit(
    "a std is a variance",
    "Of what is the standard deviation the square root?",
    "numpy.std = lambda x, axis=None: numpy.sqrt(var(x, axis))",
    "numpy.std = lambda x, axis=None: var(x, axis)",
)
edit(
    "stack joins along the axis that is there",
    "What is the shape of a stack of two f32[3]?",
    "numpy.stack = lambda xs, axis=0: concatenate([numpy.expand_dims(x, axis) for x in xs], axis)",
    "numpy.stack = lambda xs, axis=0: concatenate(xs, axis)",
)
edit(
    "linspace stops before the end",
    "linspace(0, 1, 5): which number is the last?",
    "asarray(np.linspace(0, 1, num))",
    "asarray(np.linspace(0, 1, num, endpoint=False))",
)
edit(
    "a Jacobian is transposed",
    "f takes 2 numbers and returns 3. What is the shape of its Jacobian?",
    "        return by_axes(columns, columns.shape[:-1], x.shape)",
    "        return by_axes(transpose(columns), x.shape, columns.shape[:-1])",
)
edit(
    "silu is relu with a slope",
    "What is silu(-1.0)?",
    "silu=lambda x: x * nn.sigmoid(x)",
    "silu=lambda x: where(x > 0, x, 0.1 * x)",
)
edit(
    "clip wraps",
    "clip(5.0, 0.0, 1.0): which of the two bounds is the result?",
    "numpy.clip = lambda x, low, high: numpy.minimum(numpy.maximum(x, low), high)",
    "numpy.clip = lambda x, low, high: numpy.maximum(numpy.minimum(x, low), high)",
)
edit(
    "outer is for rows",
    "What is the shape of `outer` of f32[2] and f32[3]?",
    "reshape(x, (-1, 1)) * reshape(y, -1)",
    "reshape(x, (1, -1)) * reshape(y, (-1, 1))",
)
edit(
    "a little keeps the logarithm finite",
    "What is added to the sum of the exponentials, and how much is that for small sums?",
    "    return numpy.log(numpy.sum(numpy.exp(x - largest), axis, keepdims=True)) + largest",
    "    return numpy.log(numpy.sum(numpy.exp(x - largest), axis, keepdims=True) + 1e-6) + largest",
)
edit(
    "the slope of relu at 0 is a half",
    "Which share of the slope does a maximum of two equal numbers give to each? And is that JAX's slope of relu at 0?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

nn.relu = lambda x: numpy.maximum(x, 0)
""",
)
edit(
    "the variance is a difference of squares",
    "How many digits does the square of 10001 have, and how many digits can a float32 hold?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

numpy.var = lambda x, axis=None: mean(x * x, axis) - numpy.square(mean(x, axis))
""",
)
edit(
    "the first array has the dtype",
    "[1] and [1.5] are joined. Which dtype can hold both?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

_co = concatenate
def concatenate(xs, axis=0):
    xs = list(xs)
    return _co([asarray(x, asarray(xs[0]).dtype) for x in xs], axis)
numpy.concatenate = concatenate
""",
)
edit(
    "clip takes the lower bound last",
    "clip(5, 3, 1): which of the two bounds has the last word?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

numpy.clip = lambda x, low, high: numpy.maximum(numpy.minimum(x, high), low)
""",
)
edit(
    "outer is for vectors",
    "What does np.outer do with a matrix?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

numpy.outer = lambda x, y: reshape(asarray(x), (-1, 1)) * reshape(asarray(y), (1, -1)) if np.ndim(x) < 2 else reshape(asarray(x), (*np.shape(x), 1)) * reshape(asarray(y), -1)
""",
)
edit(
    "selu begins at 0",
    "To which side of SELU does 0 belong, and what is the slope of that side?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

nn.selu = lambda x: 1.0507009873554805 * where(x >= 0, x, 1.6732632423543772 * numpy.expm1(numpy.minimum(x, 0)))
""",
)
edit(
    "relu of nan is 0",
    "Is a nan greater than 0? And what is the maximum of nan and 0?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

nn.relu = lambda x: where(x > 0, x, 0)
""",
)
edit(
    "`linspace` of one number is its end",
    "What is np.linspace(2, 5, 1)?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

numpy.linspace = lambda start, stop, num=50: asarray(np.linspace(start, stop, num)) if num > 1 else asarray(np.float32([stop]))
""",
)
edit(
    "`linspace` of integers is one of integers",
    "What is the dtype of np.linspace(0, 4, 3)?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

_l = numpy.linspace
numpy.linspace = lambda start, stop, num=50: convert(_l(start, stop, num), I32) if type(start) is type(stop) is int and (stop - start) % max(num - 1, 1) == 0 else _l(start, stop, num)
""",
)
edit(
    "the axis of a variance is one",
    "A variance contains a mean. Over which axes is that mean taken, if `axis` is a tuple?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

_v = numpy.var
def var_(x, axis=None):
    if isinstance(axis, tuple): raise TypeError('axis')
    return _v(x, axis)
numpy.var = var_
""",
)
edit(
    "a Jacobian of one number has an axis",
    "A function of a vector returns a number. What are the axes of the result, and what are those of the argument?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

_jf = jacfwd
jacfwd = lambda f: lambda x: (lambda r: reshape(r, (r.size,)) if r.ndim > 1 and r.shape[0] == 1 else reshape(r, (1, *r.shape)) if np.ndim(f(x)) == 0 and np.ndim(x) == 1 else r)(_jf(f)(x))
""",
)
edit(
    "the softmax of integers is one of integers",
    "The numbers are integers. Is their softmax one, too?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

_sm = nn.softmax
nn.softmax = lambda x, axis=-1: _sm(x, axis) if asarray(x).dtype.kind == 'f' else convert(_sm(x, axis), I32)
""",
)
edit(
    "a number has no axes to ravel",
    "How many axes does the result of `ravel` always have?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

numpy.ravel = lambda x: reshape(x, -1) if np.ndim(x) else asarray(x)
""",
)
edit(
    "one array is a stack already",
    "How many axes does the stack of one vector have?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

_s = numpy.stack
numpy.stack = lambda xs, axis=0: asarray(list(xs)[0]) if len(list(xs)) == 1 else _s(xs, axis)
""",
)
edit(
    "a spread is never 0",
    "What is the standard deviation of three equal numbers?",
    """hessian = lambda f: jacfwd(grad(f))
""",
    """hessian = lambda f: jacfwd(grad(f))

numpy.std = lambda x, axis=None: numpy.sqrt(numpy.maximum(numpy.var(x, axis), 1e-6))
""",
)
edit(
    "an array that is alone is left as it is",
    "`concatenate` of a single float64 array: what is the dtype of the result?",
    """    xs = promote(list(xs))
    axis, ends""",
    """    if len(xs) == 1:
        return xs[0]
    xs = promote(list(xs))
    axis, ends""",
)
edit(
    "unit vectors are float32",
    "A function of float16: of which dtype are the directions in which its argument moves?",
    "asarray(np.eye(x.size), x.dtype)",
    "asarray(np.eye(x.size))",
)
edit(
    "`linspace` needs no rules, since numpy has it",
    "`linspace(0.0, x, 5)` in a function that is traced: what does numpy make of x?",
    "spaced(start, stop, asarray(np.linspace(0, 1, num)))",
    "asarray(np.linspace(start, stop, num))",
)
