"""Wrong versions of rung 18, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "selu is relu",
    "What is SELU of a negative number?",
    "1.0507009873554805 * where(x > 0, x, 1.6732632423543772 * numpy.expm1(numpy.minimum(x, 0)))",
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
    "By which number does JAX divide?",
    "    return mean(numpy.square(x - mean(x, axis, keepdims=True)), axis)",
    "    square = numpy.square(x - mean(x, axis, keepdims=True))\n    return numpy.sum(square, axis) / (square.size / numpy.sum(square, axis).size - 1)",
)
edit(
    "each step is compiled anew",
    "Fifty steps with arrays of the same types: how many traces?",
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
    "softplus=lambda x: numpy.maximum(x, 0) + numpy.log1p(numpy.exp(-numpy.abs(x))),",
    "softplus=lambda x: numpy.log1p(numpy.exp(x)),",
)
