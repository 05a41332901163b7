"""Wrong versions of rung 23, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "C's library will do",
    "How many numbers does `expf` take, and how many does an addition of your processor?",
    'OF_FLOATS |= {"exp": "own_exp({0})", "tanh": "own_tanh({0})"}\n',
    "",
)
edit(
    "log 2 is one number",
    "n times log 2, with n = 120: how many of its digits are left in a float32, and how many does r need?",
    "x - n * 0.693359375f + n * 2.12194440e-4f,",
    "x - (float)(n * 0.69314718f * 1.0000001f),",
)
edit(
    "what is too large is the largest number",
    "e**88.5 fits into a float32, and e**100 does not. What should your `exp` return for each?",
    "x = x > 89 ? 89 : x < -104 ? -104 : x;",
    "x = x > 88 ? 88 : x < -104 ? -104 : x;",
)
edit(
    "what is not small is large",
    "Is nan < 89? Is it > 89?",
    "x = x > 89 ? 89 : x < -104 ? -104 : x;",
    "x = x < 89 ? (x > -104 ? x : -104) : 89;",
)
edit(
    "tanh is made of exp, everywhere",
    "e**2x of x = 1e-10 is 1, in a float32. What is left of 1 - 2 / (1 + 1)?",
    "fabsf(x) < 0.625f ? p * z * x + x : far",
    "far",
)
edit(
    "tanh is (e - 1) / (e + 1)",
    "What is e**2x for x = 50 in a float32, and what is that number divided by itself?",
    "far = 1 - 2 / (own_exp(2 * fabsf(x)) + 1)",
    "e = own_exp(2 * fabsf(x)), far = (e - 1) / (e + 1)",
)
edit(
    "the sign of 0 does not count",
    "What is 1 / -0.0?",
    "return copysignf(fabsf(x) < 0.625f ? p * z * x + x : far, x); }",
    "return fabsf(x) < 0.625f ? p * z * x + x : copysignf(far, x); }",
)
edit(
    "-ffast-math is only faster",
    "The flag says that there is no nan. What does the compiler make of x != x?",
    'OF_FLOATS |= {"exp": "own_exp({0})", "tanh": "own_tanh({0})"}\n',
    'OF_FLOATS |= {"exp": "own_exp({0})", "tanh": "own_tanh({0})"}\ncc.FLAGS += ["-ffast-math"]\n',
)
edit(
    "a function of the compiler is no function of C's library",
    "What does the compiler make of __builtin_expf, if it knows no instruction for it?",
    "static inline float own_exp(float x) {\n",
    "static inline float own_exp(float x) { return __builtin_expf(x);\n",
)
edit("e**-inf is nearly 0", "e**-88 is a number. What is e**-inf?", "x < -104 ? -104 : x;", "x < -87.5f ? -87.5f : x;")
edit(
    "what is small is 0",
    "The smallest normal float32 is 1.2e-38. What is e**-87?",
    "  return ((p * r + 0.5f)",
    "  if (n < -125) return 0;\n  return ((p * r + 0.5f)",
)
edit(
    "a few terms are enough",
    "The largest r is 0.35. How large is the first term that you left out, and how large is a millionth?",
    """p = 1.9875691500e-4f;
  p = (((p * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f)""",
    """p = 8.3334519073e-3f;
  p = (p * r + 4.1665795894e-2f)""",
)
edit(
    "a number's reciprocal is computed once",
    "41 * (1 / 41): how much is it in float32?",
    """OF_FLOATS |= {"exp": "own_exp({0})", "tanh": "own_tanh({0})"}
""",
    """OF_FLOATS |= {"exp": "own_exp({0})", "tanh": "own_tanh({0})"}


def of_number(eqn):
    is_number = eqn.primitive.name == "div" and type(eqn.invars[1]) is Array
    return "{0} * (1.0f / {1})" if is_number and eqn.invars[0].aval.dtype == F32 else formula(eqn)


formulas |= dict.fromkeys(elementwise_primitives.values(), of_number)
""",
)
edit(
    "what is added and taken away is nothing",
    "(0.7 + 2**24) - 2**24: how much is it in float32?",
    """OF_FLOATS |= {"exp": "own_exp({0})", "tanh": "own_tanh({0})"}
""",
    """OF_FLOATS |= {"exp": "own_exp({0})", "tanh": "own_tanh({0})"}
unchanged_of_thrifty = unchanged


def unchanged(primitive, args, aval):
    if primitive.name == "sub" and type(args[0]) is Tracer and type(args[1]) is Array:
        for eqn in args[0].trace.eqns:
            if args[0].data in eqn.outvars and eqn.primitive.name == "add" and type(eqn.invars[1]) is Array:
                if np.array_equal(np.asarray(eqn.invars[1]), np.asarray(args[1])) and type(eqn.invars[0]) is Var:
                    return Tracer(args[0].trace, eqn.invars[0].aval, eqn.invars[0])
    return unchanged_of_thrifty(primitive, args, aval)
""",
)
edit(
    "expm1 is exp - 1",
    "Of 1e-7, what is left in exp(x) - 1?",
    'OF_FLOATS |= {"exp"',
    'OF_FLOATS |= {"expm1": "own_exp({0}) - 1", "exp"',
)
