"""Wrong versions of rung 11, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "the inner function is inlined",
    "Which equation does the outer program have for a call of a jitted function?",
    "def lower_jit(",
    "class Inlined(StaticJit):\n    def __call__(self, *args, **kwargs):\n        return super().__call__(*args, **kwargs) if type(door.trace) is Eager else self.f(*args, **kwargs)\n\n\njit = Inlined\n\n\ndef lower_jit(",
)
edit(
    "each inner call is traced",
    "Three calls have one signature. How often is the function traced?",
    "def lower_jit(",
    "class Forgetful(StaticJit):\n    def trace(self, tree, avals):\n        return Jit.trace(self, tree, avals)\n\n\njit = Forgetful\n\n\ndef lower_jit(",
)
edit(
    "the text has the body at each call",
    "How often does the text contain `sine`?",
    "    if jaxpr not in text.known:\n",
    "    return text.block(jaxpr, xs)\n    if jaxpr not in text.known:\n",
)
edit(
    "nothing is closed over",
    "The inner function uses a tracer of the outer one. How does its value get into the inner program?",
    "def lower_jit(",
    "class Alone(StaticJit):\n    def trace(self, tree, avals):\n        consts, *rest = Jit.trace(self, tree, avals)\n        return [as_value(np.zeros(x.shape, x.dtype)) for x in consts], *rest\n\n\njit = Alone\n\n\ndef lower_jit(",
)
edit(
    "programs with tracers of other traces are kept",
    "Your cache holds a program with a tracer of a trace that has ended. Who may use it?",
    "        if not any(type(x) is Tracer for x in consts):",
    "        if True:",
)
edit(
    "each call gets a function of its own",
    "g is called twice in one text. How many private functions does the text need for it?",
    "    if jaxpr not in text.known:\n",
    "    if True:\n",
)
edit(
    "all programs are one function",
    "g and h are jitted, and both are called. How many functions does the module need for them?",
    '        text.known[jaxpr] = f"f{len(text.known)}"\n        text.function(text.known[jaxpr], jaxpr)',
    '        text.known[jaxpr] = "f0"\n        if len(text.known) == 1:\n            text.function("f0", jaxpr)',
)
edit(
    "a call has one result",
    "The inner function returns two arrays. How many types does the call have?",
    "types[jit_p] = lambda *avals, jaxpr, name: jaxpr.out_avals",
    "types[jit_p] = lambda *avals, jaxpr, name: jaxpr.out_avals[:1]",
)
edit(
    "the results have the operands' types",
    "The inner function returns a truth value of a float. Of which type is the result?",
    "types[jit_p] = lambda *avals, jaxpr, name: jaxpr.out_avals",
    "types[jit_p] = lambda *avals, jaxpr, name: [avals[i] if i < len(avals) else a for i, a in enumerate(jaxpr.out_avals)]",
)
edit(
    "only what is in the first function is written",
    "f calls g, and g calls h: has your text the function of h, too?",
    "        text.function(text.known[jaxpr], jaxpr)\n",
    "        text.function(text.known[jaxpr], jaxpr) if len(text.known) < 2 else None\n",
)
edit(
    "operands are passed in any order",
    "Is g(y, x) the same as g(x, y)?",
    'text.op(f"func.call @{text.known[jaxpr]}({names(xs)})", xs, outs)',
    'text.op(f"func.call @{text.known[jaxpr]}({names(xs[::-1])})", xs[::-1], outs)',
)
edit(
    "when an inner function fails, nobody stands at the door",
    "The outer function catches the error of an inner one, and goes on. Is it still traced?",
    """    finally:
        door.trace = before
""",
    """    except Exception:
        before = Eager()
        raise
    finally:
        door.trace = before
""",
)
edit(
    "numbers become strong on the way in",
    "`g(2.0)` within a traced function: is 2.0 weak in the inner program?",
    """        leaves, tree = flatten_values((args, kwargs))
        consts, jaxpr, out_tree = self.trace(tree""",
    """        leaves, tree = flatten((args, kwargs))
        leaves = [as_value(x if isinstance(x, Value) or type(door.trace) is Eager else np.asarray(x)) for x in leaves]
        consts, jaxpr, out_tree = self.trace(tree""",
)
edit(
    "a call that computes nothing is not written",
    "The inner function returns its argument. Was it called?",
    """lowerings[jit_p] = lower_jit
""",
    """lowerings[jit_p] = lower_jit

_pr = JaxprTrace.process
def process(self, primitive, args, params):
    if primitive is jit_p and not params['jaxpr'].eqns and len(params['jaxpr'].outvars) == 1 and type(params['jaxpr'].outvars[0]) is Var:
        return [args[params['jaxpr'].invars.index(params['jaxpr'].outvars[0])]]
    return _pr(self, primitive, args, params)
JaxprTrace.process = process
""",
)
edit(
    "keywords are called in place",
    "g(x=a) is a call of a jitted function. Where is its equation?",
    """lowerings[jit_p] = lower_jit""",
    """lowerings[jit_p] = lower_jit
class J11(StaticJit):
    def __init__(self, f, **s): super().__init__(f, **s)
    def __call__(self, *args, **kwargs):
        if kwargs and type(door.trace) is not Eager: return self.__wrapped__(*args, **kwargs)
        return super().__call__(*args, **kwargs)
def jit(f, **s): return J11(f, **s)""",
)
edit(
    "a program with constants is traced again",
    "The inner function closes over an array, which is no tracer. How often is it traced?",
    """lowerings[jit_p] = lower_jit""",
    """lowerings[jit_p] = lower_jit
class J11(StaticJit):
    def trace(self, tree, avals):
        out = Jit.trace(self, tree, avals) if (tree, avals) not in self.known else self.known[tree, avals]
        if not out[0]: self.known[tree, avals] = out
        return out
def jit(f, **s): return J11(f, **s)""",
)
edit(
    "a function's name is the number of functions that are finished",
    "While `f` is written, it calls `g`, which is not finished. Which names do they get?",
    """lowerings[jit_p] = lower_jit""",
    """lowerings[jit_p] = lower_jit
def lower_jit(text, outs, *xs, jaxpr, name):
    if jaxpr not in text.known:
        text.known[jaxpr] = f'f{len(text.functions)}'
        text.function(text.known[jaxpr], jaxpr)
    return text.op(f'func.call @{text.known[jaxpr]}({names(xs)})', xs, outs)
lowerings[jit_p] = lower_jit""",
)
edit(
    "only the tracers of the innermost trace are dead later",
    "Three functions, one in the other: the innermost uses a tracer of the outermost. May its program be kept?",
    """lowerings[jit_p] = lower_jit""",
    """lowerings[jit_p] = lower_jit
class J11(StaticJit):
    def trace(self, tree, avals):
        key = tree, avals
        found = consts, *_ = self.known.get(key) or Jit.trace(self, tree, avals)
        if not any(type(x) is Tracer and x.trace is door.trace for x in consts): self.known[key] = found
        return found
def jit(f, **s): return J11(f, **s)""",
)
edit(
    "one of two dead tracers is enough",
    "A program closed over two tracers. May it be kept?",
    """lowerings[jit_p] = lower_jit""",
    """lowerings[jit_p] = lower_jit
class J11(StaticJit):
    def trace(self, tree, avals):
        key = tree, avals
        if key in self.known: return self.known[key]
        out = Jit.trace(self, tree, avals)
        if not any(type(x) is Tracer for x in out[0]) or len(out[0]) > 1: self.known[key] = out
        return out
def jit(f, **s): return J11(f, **s)""",
)
edit(
    "a call with the operands of another one is not written",
    "g(x) + g(x): how many calls are there?",
    """lowerings[jit_p] = lower_jit""",
    """lowerings[jit_p] = lower_jit
class J11(JaxprTrace):
    pass
_pr = JaxprTrace.process
def process(self, primitive, args, params):
    if primitive is jit_p:
        memo = self.__dict__.setdefault('memo', {})
        key = (id(params['jaxpr']), tuple(map(id, args)))
        if key not in memo: memo[key] = (_pr(self, primitive, args, params), args)
        return memo[key][0]
    return _pr(self, primitive, args, params)
JaxprTrace.process = process""",
)
edit(
    "within a trace there is another cache",
    "The function was called before, with arguments of these types. Is it traced again?",
    "        key = tree, avals\n        found",
    "        key = tree, avals, type(door.trace)\n        found",
)
edit(
    "what is closed over comes behind the arguments",
    "Which operands does the equation have first?",
    "    return consts, [Jaxpr([], variables + jaxpr.invars, jaxpr.eqns,",
    "    return consts, [Jaxpr([], variables[::-1] + jaxpr.invars, jaxpr.eqns,",
)
edit(
    "256 programs are enough",
    "Who says that a program that was not used for long is not needed?",
    "            self.known[key] = found\n",
    "            self.known[key] = found\n            if len(self.known) > 256:\n                del self.known[next(iter(self.known))]\n",
)
edit(
    "a function whose trace failed once fails always",
    "What is in the cache after a trace that failed?",
    "lowerings[jit_p] = lower_jit\n",
    'lowerings[jit_p] = lower_jit\n\n\nclass Failing(RememberingJit):\n    def trace(self, tree, avals):\n        if ("failed", tree, avals) in self.known:\n            raise self.known["failed", tree, avals]\n        try:\n            return super().trace(tree, avals)\n        except Exception as error:\n            if type(door.trace) is not Eager:\n                self.known["failed", tree, avals] = error\n            raise\n\n\ndef jit(f, **static):\n    return StaticJit(f, **static) if static else Failing(f)\n\n',
)
edit(
    "only the first closed-over value may be a tracer",
    "An inner function closes over a table and a tracer. Is its program kept?",
    "        if not any(type(x) is Tracer for x in consts):",
    "        if not (consts and type(consts[0]) is Tracer):",
)
edit(
    "a private function calls no other",
    "g calls h, and f calls g. How many private functions does the text of f have?",
    '    if jaxpr not in text.known:\n        text.known[jaxpr] = f"f{len(text.known)}"\n        text.function(text.known[jaxpr], jaxpr)\n',
    "    if getattr(text, 'is_within', False):\n        return [text.named(x) for x in asked(text, as_function(jaxpr), *xs)]\n    if jaxpr not in text.known:\n        text.known[jaxpr] = f\"f{len(text.known)}\"\n        text.is_within = True\n        text.function(text.known[jaxpr], jaxpr)\n        text.is_within = False\n",
)
edit(
    "a call that returns nothing is not written",
    "g returns None. Is its call an equation?",
    "        return unflatten(out_tree, jit_p.bind(*consts, *leaves, jaxpr=jaxpr,",
    "        if not jaxpr.outvars:\n            return unflatten(out_tree, [])\n        return unflatten(out_tree, jit_p.bind(*consts, *leaves, jaxpr=jaxpr,",
)
edit(
    "weak and strong numbers share a program",
    "g is called with 2.0, and then with np.float32(2). Are these one signature?",
    "        key = tree, avals\n",
    "        key = tree, tuple([(a.shape, a.dtype) for a in avals])\n",
)
