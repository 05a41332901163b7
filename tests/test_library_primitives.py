"""A primitive that a library defines by JAX's public registries works in every transformation, as on JAX."""

from __future__ import annotations

import importlib
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from jax._src.interpreters import mlir as jax_mlir
from twin import JAX_VERSION

X = np.float32([0.5, -1.0, 2.0])
Y = np.float32([1.5, 0.25, -2.0])


class Library:
    """A library that defines primitives, on JAX or on jitkit."""

    def __init__(self, name):
        def room(path):
            return importlib.import_module(f"{name}.{path}")

        self.jax, self.jnp = importlib.import_module(name), room("numpy")
        self.ad, self.batching, self.mlir = (
            room("interpreters.ad"),
            room("interpreters.batching"),
            room("interpreters.mlir"),
        )
        self.extend, self.aval = room("extend.core"), room("core").ShapedArray
        self.asked = []
        self.fma, self.both, self.total = self.define_fma(), self.define_both(), self.define_total()

    def primitive(self, name, impl, abstract, several=False):
        primitive = self.extend.Primitive(name)
        primitive.multiple_results = several
        primitive.def_impl(impl)
        primitive.def_abstract_eval(abstract)
        self.mlir.register_lowering(primitive, self.mlir.lower_fun(impl, multiple_results=several))
        return primitive

    def define_fma(self):
        """Define x * y + c, which is bilinear in x and y, with a parameter."""

        def impl(x, y, *, c):
            self.asked.append("impl")
            return x * y + c

        fma = self.primitive("fma", impl, lambda x, y, *, c: self.aval(x.shape, x.dtype))

        def jvp(primals, tangents, *, c):
            (x, y), (dx, dy) = primals, tangents
            out = fma.bind(x, y, c=c)
            parts = [
                fma.bind(a, b, c=0.0)
                for a, b in ((dx, y), (x, dy))
                if type(a) is not self.ad.Zero and type(b) is not self.ad.Zero
            ]
            return out, sum(parts[1:], parts[0]) if parts else self.ad.Zero.from_primal_value(out)

        def transpose(ct, x, y, *, c):
            if type(ct) is self.ad.Zero:
                return [None, None]
            return [fma.bind(ct, y, c=0.0), None] if self.ad.is_undefined_primal(x) else [None, fma.bind(x, ct, c=0.0)]

        def batch(vals, dims, *, c):
            self.asked.append(dims)
            (x, y), (i, j) = vals, dims
            size = x.shape[i] if i is not None else y.shape[j]
            first = [self.batching.bdim_at_front(v, d, size) for v, d in ((x, i), (y, j))]
            return fma.bind(*first, c=c), 0

        self.ad.primitive_jvps[fma], self.ad.primitive_transposes[fma] = jvp, transpose
        self.batching.primitive_batchers[fma] = batch
        return fma

    def define_both(self):
        """Define a primitive of two results."""
        both = self.primitive(
            "both", lambda x: (x + 1, x * 2), lambda x: [self.aval(x.shape, x.dtype)] * 2, several=True
        )
        self.batching.primitive_batchers[both] = lambda vals, dims: (both.bind(*vals), [dims[0]] * 2)
        return both

    def define_total(self):
        """Define a sum over all elements of a batch; its batching rule gets the axis."""
        total = self.primitive("total", self.jnp.sum, lambda x: self.aval((), x.dtype))

        def batch(size, name, _, vals, dims):
            self.asked.append((size, name))
            return total.bind(vals[0]), None

        self.batching.axis_primitive_batchers[total] = batch
        return total

    def forget(self):
        """Remove the rules from the tables, which other tests compare."""
        lowerings = self.mlir.lowering_rules if self.jax.__name__ == "jitkit" else jax_mlir._lowerings
        batchers = (
            self.batching.fancy_primitive_batchers if self.jax.__name__ == "jax" else self.batching.primitive_batchers
        )
        for table in (self.ad.primitive_jvps, self.ad.primitive_transposes, batchers, lowerings):
            for primitive in (self.fma, self.both, self.total):
                table.pop(primitive, None)


@pytest.fixture(scope="module")
def libraries():
    both = [Library("jax"), Library("jitkit")]
    yield both
    for library in both:
        library.forget()


PROGRAMS = {
    "eager": lambda o: o.fma.bind(o.jnp.asarray(X), Y, c=2.0),
    "jit": lambda o: o.jax.jit(lambda x: o.fma.bind(x, Y, c=2.0))(X),
    "jvp": lambda o: o.jax.jvp(lambda x: o.fma.bind(x, Y, c=2.0), (X,), (Y,)),
    "grad": lambda o: o.jax.grad(lambda x: o.fma.bind(o.jnp.sin(x), x, c=2.0).sum())(X),
    "grad of jit": lambda o: o.jax.jit(o.jax.grad(lambda x: o.fma.bind(x, x, c=1.0).sum()))(X),
    "vmap": lambda o: o.jax.vmap(lambda x, y: o.fma.bind(x, y, c=1.0), in_axes=(1, None))(np.outer(X, Y), X),
    "vmap, nothing mapped": lambda o: o.jax.vmap(lambda x: (o.fma.bind(Y, Y, c=1.0), x))(X),
    "in a scan": lambda o: o.jax.lax.scan(lambda c, x: (o.fma.bind(c, x, c=0.5), o.fma.bind(x, x, c=0.0)), X[0], Y),
    "two results": lambda o: o.jax.vmap(lambda x: o.both.bind(x))(np.outer(X, Y)),
    "two results, jitted": lambda o: o.jax.jit(lambda x: o.both.bind(x)[1])(X),
    "told of the axis": lambda o: o.jax.vmap(lambda x: o.total.bind(x) + x, axis_name="i")(np.outer(X, Y)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_primitive_of_a_library_does_what_it_does_on_jax(name, libraries):
    for library in libraries:
        library.asked.clear()
    theirs, ours = (library.jax.tree.leaves(PROGRAMS[name](library)) for library in libraries)
    assert [np.asarray(x).tobytes() for x in ours] == [np.asarray(x).tobytes() for x in theirs]
    assert [x.dtype for x in ours] == [x.dtype for x in theirs]
    on_jax, here = ([each for each in library.asked if each != "impl"] for library in libraries)
    assert here == on_jax


def test_a_primitive_of_a_library_is_printed_as_jax_prints_it(libraries):
    texts = [
        str(o.jax.make_jaxpr(lambda x, o=o: o.both.bind(o.fma.bind(x, Y, c=2.0)))(X)).replace("jitkit", "jax")
        for o in libraries
    ]
    assert texts[1] == texts[0]


def test_an_implementation_runs_in_python_without_a_trace(libraries):
    library = libraries[1]
    library.asked.clear()
    library.fma.bind(X, Y, c=3.0)
    library.fma.bind(X, Y, c=3.0)
    assert library.asked == ["impl", "impl"]


def partly_known(name):
    """Return the outcome of partial evaluation with half of the arguments known: the jaxpr, and which results are
    known.
    """
    jax, pe = importlib.import_module(name), importlib.import_module(f"{name}.interpreters.partial_eval")
    lu, core = importlib.import_module(f"{name}.extend.linear_util"), importlib.import_module(f"{name}.core")
    api_util = importlib.import_module(f"{name}.api_util")

    def f(x, y):
        return [jax.lax.sin(x) * 2, jax.lax.mul(x, y), y, jax.lax.cos(x)]

    info = api_util.debug_info("partly", f, (X, Y), {})
    unknown = pe.PartialVal.unknown(core.ShapedArray(Y.shape, Y.dtype))
    jaxpr, out, consts = pe.trace_to_jaxpr_nounits(
        lu.wrap_init(f, debug_info=info), [pe.PartialVal.known(X), unknown], False
    )
    known = [None if aval is not None else np.asarray(value) for aval, value in out]
    rest = jax.core.eval_jaxpr(jaxpr, consts, Y)
    return [x if x is None else x.tobytes() for x in known], [np.asarray(x).tobytes() for x in rest]


def test_what_is_known_is_computed_and_the_rest_is_a_jaxpr():
    assert partly_known("jitkit") == partly_known("jax")


def traced_and_pruned(name):
    """Return what a library's interpreter gets: the jaxpr of a function, and the part of it that the first result
    needs.
    """
    jax, pe = importlib.import_module(name), importlib.import_module(f"{name}.interpreters.partial_eval")
    lu, core = importlib.import_module(f"{name}.extend.linear_util"), importlib.import_module(f"{name}.core")
    first, second = jax.numpy.arange(3.0), jax.numpy.ones(3)

    def f(x, y):
        return [jax.numpy.sin(x) * first, y + 1, x * second * 2]

    info = importlib.import_module(f"{name}.api_util").debug_info("traced", f, (first, second), {})
    aval = core.ShapedArray((3,), first.dtype)
    jaxpr, avals, consts = pe.trace_to_jaxpr_dynamic(lu.wrap_init(f, debug_info=info), [aval, aval])
    pruned, used = pe.dce_jaxpr(jaxpr, [True, False, False])
    values = jax.core.eval_jaxpr(pruned, consts, first)
    ways = [([True, False, False],), ([True, False, False], True), ([True, False, False], [False, True, False, True])]
    without_consts = [pe.dce_jaxpr_consts(jaxpr, *way) for way in ways]
    return [str(x) for x in (jaxpr, avals, consts, pruned, used, values, without_consts)]


@pytest.mark.skipif(JAX_VERSION >= (0, 11), reason="needs jax < 0.11, whose jaxprs have constants apart from arguments")
def test_libraries_trace_and_prune_as_on_jax():
    assert traced_and_pruned("jitkit") == traced_and_pruned("jax")


NAMES_THAT_ARE_NOT_HERE = {
    "jax.new_ref(1.0)": "`jax.new_ref` is not here",
    "jax.Ref(1, 2)": "`jax.Ref` is not here",
    "experimental.sparse.BCSR.fromdense(jax.numpy.ones((2, 2, 2)), n_batch=1)": "`jax.experimental.sparse.BCOO with 1 batch dimensions`",
    "experimental.sparse.BCOO.fromdense(jax.numpy.ones((2, 2)), n_batch=1)": "`jax.experimental.sparse.BCOO with 1 batch dimensions`",
    "experimental.hijax.HiPrimitive('mine').bind()": "`jax.experimental.hijax.HiPrimitive mine` is not here",
    "experimental.cur_qdd(1)": "`jax.experimental.cur_qdd` is not here",
}


@pytest.mark.parametrize("call", NAMES_THAT_ARE_NOT_HERE)
def test_what_libraries_only_import_fails_when_it_is_called(call):
    experimental = importlib.import_module("jitkit.experimental")
    with pytest.raises(NotImplementedError) as caught:
        eval(call, {"jax": importlib.import_module("jitkit"), "experimental": experimental})
    assert str(caught.value).startswith(NAMES_THAT_ARE_NOT_HERE[call])


def test_a_library_that_hides_its_frames_still_has_functions_that_are_explained(tmp_path):
    """Its file is in no traceback, but its jitted functions are the program's."""
    (tmp_path / "hiding.py").write_text(
        "import jax\nfrom jax.extend import source_info_util\nsource_info_util.register_exclusion(__file__)\n"
        "@jax.jit\ndef scale(x):\n    return x * 2\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "jitkit.as_jax", "--explain", "-c", "import hiding; hiding.scale(1.0); hiding.scale(2)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^scale at .*hiding.py:4", done.stderr, re.MULTILINE), done.stderr
    assert "2 misses" in done.stderr.splitlines()[0]


def test_a_rule_that_is_missing_for_gpus_is_asked_for_by_jaxs_name_of_the_platform():
    rules = importlib.import_module("jitkit.interpreters.mlir_rules")
    mine = importlib.import_module("jitkit.extend.core").Primitive("mine")
    mine.def_abstract_eval(lambda x: x)
    rules.register_lowering(mine, lambda ctx, x: x, platform="tpu")
    try:
        traced = importlib.import_module("jitkit").jit(mine.bind).trace(np.ones(3, np.float32))
        assert traced.lower(lowering_platforms=("tpu",))
        for platform in ("cuda", "gpu"):
            with pytest.raises(NotImplementedError, match="rule for primitive 'mine' not found for platform cuda\n"):
                traced.lower(lowering_platforms=(platform,))
    finally:
        del rules.lowering_rules[mine]  # docs/parity.md lists all primitives with rules


@pytest.mark.parametrize("library", ["jax", "jitkit"])
def test_a_library_that_evaluates_a_jaxpr_anew_keeps_the_lines_of_the_program(library):
    jax, source_info_util = (
        importlib.import_module(library),
        importlib.import_module(f"{library}.extend.source_info_util"),
    )
    before = jax.make_jaxpr(lambda x: x + 1)(1.0).eqns[0]

    def anew(x):
        with source_info_util.user_context(before.source_info.traceback):
            return jax.lax.add(x, x)

    after = jax.make_jaxpr(anew)(1.0).eqns[0]
    lines = [source_info_util.summarize(eqn.source_info) for eqn in (before, after)]
    assert lines[0] == lines[1]


@pytest.mark.parametrize("library", ["jax", "jitkit"])
def test_a_lowering_rule_may_return_its_one_result_in_a_list_and_names_the_type_of_its_context(library):
    jax, mlir = importlib.import_module(library), importlib.import_module(f"{library}.interpreters.mlir")
    seen = []

    def rule(ctx: mlir.LoweringRuleContext, x):
        seen.append(isinstance(ctx, mlir.LoweringRuleContext))
        return [x]

    noted = importlib.import_module(f"{library}.extend.core").Primitive("noted")
    noted.def_abstract_eval(lambda x: x)
    mlir.register_lowering(noted, rule)
    try:
        assert jax.jit(noted.bind)(2.0) == 2.0
    finally:
        if library == "jitkit":  # docs/parity.md lists all primitives with rules
            del importlib.import_module("jitkit.interpreters.mlir_rules").lowering_rules[noted]
    assert seen == [True]
