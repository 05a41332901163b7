"""Programs that say `import jax` run on jitkit: as Python runs them, with one object for each module, and a message for what is
missing.
"""

from __future__ import annotations

import os
import pathlib
import py_compile
import subprocess
import sys
import textwrap

import pytest
from kata_workspace import SIGN, learner
from on_jax import on_jax

__all__ = ["learner"]  # a fixture

ROOT = pathlib.Path(__file__).parents[1]


def python(*arguments, cwd, given=None, variables=()):
    """Run Python; return its exit status, stdout and stderr."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path, **dict(variables)},
    )
    return done.returncode, done.stdout, done.stderr


def as_jax(*arguments, cwd, given=None, variables=()):
    return python("-m", "jitkit.as_jax", *arguments, cwd=cwd, given=given, variables=variables)


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


# --- a program is run as Python runs it -----------------------------------------------------------------------------

ABOUT_ITSELF = """
    import os, pickle, sys
    import beside
    class Point: pass
    print(__name__, sys.argv, sys.path[0] == beside.HERE or sys.path[0], sys.modules["__main__"].Point is Point)
    print(type(pickle.loads(pickle.dumps(Point()))) is Point, __package__, __spec__ and __spec__.name)
    print(sorted(globals()), globals().get("__file__"))
    rate: float = 0.1
    print(__annotations__)
    """


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "beside.py", "import os\nHERE = os.path.dirname(os.path.abspath(__file__))\n")
    write(tmp_path, "about.py", ABOUT_ITSELF)
    write(tmp_path, "package/__init__.py", "")
    write(tmp_path, "package/beside.py", (tmp_path / "beside.py").read_text())
    write(tmp_path, "package/__main__.py", ABOUT_ITSELF)
    write(tmp_path, "elsewhere/nothing.txt", "")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["about.py", "--explain", "-m", "x"],
        ["./about.py"],
        ["-m", "about", "-c", "1"],
        ["-m", "package", "--lr", "0.1"],
        ["package", "a"],
        ["-c", textwrap.dedent(ABOUT_ITSELF), "b", "--explain"],
        ["-", "c"],
    ],
    ids=["file", "file with a dot", "module", "package", "folder", "code", "input"],
)
def test_a_program_sees_what_it_sees_in_python(folder, words):
    given = textwrap.dedent(ABOUT_ITSELF) if words[0] == "-" else None
    expected = python(*words, cwd=folder, given=given)
    assert expected[0] == 0, expected[2]
    assert as_jax(*words, cwd=folder, given=given) == expected


def test_a_file_elsewhere_has_its_own_folder_on_the_path(folder):
    assert as_jax("../about.py", cwd=folder / "elsewhere") == python("../about.py", cwd=folder / "elsewhere")


@pytest.mark.parametrize(
    "end",
    [
        "1 / 0",
        "raise ValueError('of mine') from KeyError('k')",
        "import sys; sys.exit(7)",
        "import sys; sys.exit('a word')",
        "raise KeyboardInterrupt",
        "def f(:",
        "import sys; sys.excepthook = lambda *error: print('hooked', error[0].__name__)\nassert 0",
        "import no_such_module",
        "import sys; sys.stdout.close()",
    ],
)
def test_status_and_traceback_are_pythons_own(tmp_path, end):
    program = write(tmp_path, "ends.py", f"import atexit\natexit.register(print, 'bye')\n{end}\n")
    assert as_jax(program.name, cwd=tmp_path) == python(program.name, cwd=tmp_path)


@pytest.mark.parametrize(
    "source",
    [
        b"# coding: latin-1\nprint(ascii('h\xe9'))\n",
        b"\xef\xbb\xbf# coding: utf-8\nprint(1)\n",
        b"print(1)\n# h\xe9\n",
        b'"a"\n"h\xe9"\n',
        b"#!/usr/bin/python\n# coding: ascii\nprint('h\xe9')\n",
        b"1\n2\n# coding: latin-1\nprint('h\xe9')\n",
        b"# coding: utf-8\nprint('h\xe9')\n",
        b"# coding: nonsense\n",
    ],
)
def test_a_file_is_read_in_the_encoding_that_it_declares(tmp_path, source):
    (tmp_path / "program.py").write_bytes(source)
    assert as_jax("program.py", cwd=tmp_path) == python("program.py", cwd=tmp_path)


def test_a_compiled_file_is_run(tmp_path):
    program = write(tmp_path, "program.py", "import sys\nprint(sys.argv, __file__)\nsys.exit(3)\n")
    py_compile.compile(str(program), cfile=str(tmp_path / "program.pyc"))
    found = as_jax("program.pyc", "a", cwd=tmp_path)
    assert found == python("program.pyc", "a", cwd=tmp_path)
    assert found[0] == 3


def test_a_report_of_a_program_that_closed_its_output_is_written(tmp_path):
    status, _, said = as_jax("--explain", "-c", "import sys; sys.stdout.close()", cwd=tmp_path)
    assert (status, said.splitlines()[0][:27]) == (0, "jitkit: 0 jitted functions:")


def test_the_traceback_of_a_module_that_cannot_be_compiled_has_no_line_of_ours(tmp_path):
    write(tmp_path, "wrong.py", "def f(:\n")
    status, out, said = as_jax("-m", "wrong", cwd=tmp_path)
    expected = python("-m", "wrong", cwd=tmp_path)
    assert (status, out) == expected[:2]
    assert "jitkit" not in said
    assert said.splitlines()[-3:] == expected[2].splitlines()[-3:]


@pytest.mark.parametrize(
    "words",
    [
        ["no.py"],
        ["./no.py"],
        ["-m", "no_such_module"],
        ["-m", "json.tool2"],
        ["-m", "xml"],
        ["-m", "no_such.module"],
        ["-m", "json.tool.deeper"],
        ["-m", "."],
        ["-m", "this.py"],
        ["-m", "sys"],
    ],
)
def test_what_is_not_there_is_said_as_python_says_it(tmp_path, words):
    expected, found = python(*words, cwd=tmp_path), as_jax(*words, cwd=tmp_path)
    assert expected[0] != 0
    assert found[0] == expected[0]
    assert found[2].split(": ", 1)[1].split(" (")[0] in expected[2]


def test_nothing_to_run_is_wrong_usage(tmp_path):
    status, _, said = as_jax("--explain", cwd=tmp_path)
    assert status == 2
    assert "say what to run: FILE, -m MODULE, -c CODE" in said


# --- one object for each module ---------------------------------------------------------------------------------------


def test_a_module_is_one_object_whichever_name_came_first(tmp_path):
    program = write(
        tmp_path,
        "names.py",
        """
        import sys
        import jax
        import jax.numpy as jnp, jax.scipy.stats.norm, jax.lax.linalg
        from jax.experimental import io_callback
        from jax import random, tree_util
        import jitkit, jitkit.numpy, jitkit.nn, jitkit.interpreters.ad
        import jax.nn, jax.interpreters.ad
        assert jax is jitkit and jnp is jitkit.numpy and random is jitkit.random
        assert jax.nn is jitkit.nn and jax.interpreters.ad is jitkit.interpreters.ad
        for name, module in list(sys.modules.items()):
            if name.startswith("jax."):
                assert module is sys.modules["jitkit" + name[3:]], name
                assert module.__spec__.name == module.__name__ == "jitkit" + name[3:], name
        print(jax.__version__, jax.__version_info__, float(jax.jit(jnp.sin)(0.0)), type(jnp.ones(2)).__module__)
        """,
    )
    status, printed, said = as_jax(program, cwd=tmp_path)
    assert status == 0, said
    version = python("-c", "import jax; print(jax.__version__, jax.__version_info__)", cwd=tmp_path)[1].strip()
    assert printed.startswith(f"{version} 0.0 jitkit")


def test_strangers_idioms_run_and_print_what_they_print_on_jax(tmp_path):
    program = write(
        tmp_path,
        "idioms.py",
        """
        from functools import partial
        import jax, numpy as np
        import jax.numpy as jnp
        from jax import grad, jit, lax, random, vmap
        from jax.tree_util import tree_map, register_pytree_node_class

        @register_pytree_node_class
        class Pair:
            def __init__(self, a, b): self.a, self.b = a, b
            def tree_flatten(self): return (self.a, self.b), None
            @classmethod
            def tree_unflatten(cls, aux, children): return cls(*children)

        @partial(jit, static_argnums=1)
        def power(x, n): return x ** n

        @jit
        def step(params, x, y):
            loss = lambda p: jnp.mean((jnp.tanh(x @ p["w"]) + p["b"] - y) ** 2)
            value, grads = jax.value_and_grad(loss)(params)
            return value, tree_map(lambda p, g: p - 0.1 * g, params, grads)

        key = random.PRNGKey(0)
        params = {"w": random.normal(key, (3, 2)), "b": jnp.zeros(2)}
        x, y = random.normal(random.fold_in(key, 1), (5, 3)), jnp.ones((5, 2))
        for _ in range(3):
            value, params = step(params, x, y)
        print(np.asarray(value).tobytes().hex(), np.asarray(params["w"]).tobytes().hex())
        print(power(jnp.arange(3.0), 2), jax.make_jaxpr(vmap(grad(jnp.sin)))(jnp.ones(3)))
        print(jax.tree.map(lambda v: v + 1, Pair(1, 2)).b, lax.scan(lambda c, v: (c + v, c), 0.0, jnp.arange(4.0)))
        print(isinstance(value, jax.Array), jax.eval_shape(step, params, x, y)[0], jax.devices()[0].platform)
        """,
    )
    expected = on_jax(program, cwd=tmp_path)
    assert expected[0] == 0, expected[2]
    assert as_jax(program, cwd=tmp_path) == expected


EAGER_DERIVATIVES = """
    import jax, jax.numpy as jnp, numpy as np

    FUNCTIONS = {
        "average": lambda x, y: jnp.average(x, weights=y),
        "float_power": lambda x, y: jnp.float_power(y, x),
        "mean": lambda x, y: jnp.mean(x * y, axis=1),
        "softmax": lambda x, y: jax.nn.softmax(x) * y,
    }
    generator = np.random.default_rng(0)
    operands = [jnp.asarray(generator.uniform(low, 3, (22, 33)).astype("float32")) for low in (-0.5, 0.2)]

    def show(name):
        function = FUNCTIONS[name]
        out, tangent = jax.jvp(function, operands, operands[::-1])
        cotangents = jax.vjp(function, *operands)[1](out)
        gradients = jax.vmap(jax.grad(lambda *xs: function(*xs).sum(), (0, 1)))(*[x[None] for x in operands])
        print(name, [hash(np.asarray(x).tobytes()) for x in (out, tangent, *cotangents, *gradients)])

    for name in FUNCTIONS:
        show(name)
    with jax.disable_jit():
        show("average")
    """


def test_eager_derivatives_have_the_bits_of_the_programs_that_jax_compiles(tmp_path):
    program = write(tmp_path, "eager.py", EAGER_DERIVATIVES)  # XLA optimises in this process, so it fuses operations
    ours, theirs = (
        run(program, cwd=tmp_path, variables={"XLA_FLAGS": "", "PYTHONHASHSEED": "0"}) for run in (as_jax, python)
    )
    assert ours[:2] == theirs[:2]
    assert ours[0] == 0, ours[2]


def test_install_is_the_first_line_of_a_notebook_and_may_be_run_again(tmp_path):
    program = (
        "import jitkit.as_jax\nassert not jitkit.as_jax.is_installed()\njitkit.as_jax.install()\njitkit.as_jax.install()\n"
        "import jax, sys\nprint(jax is jitkit, jitkit.as_jax.is_installed())"
    )
    assert python("-c", program, cwd=tmp_path) == (0, "True True\n", "")


def test_pytest_runs_other_peoples_tests(tmp_path):
    write(tmp_path, "conftest.py", "import jax\nORIGIN = jax.__name__\n")
    write(
        tmp_path,
        "test_theirs.py",
        "import jax, conftest\n\ndef test_it():\n    assert conftest.ORIGIN == 'jitkit' == jax.__name__\n",
    )
    status, printed, said = python("-m", "pytest", "-q", "-p", "jitkit.as_jax", "-p", "no:jitkit", cwd=tmp_path)
    assert status == 0, printed + said
    assert "1 passed" in printed


# --- what cannot be had -------------------------------------------------------------------------------------------------


def test_jax_that_was_imported_before_is_an_error_that_says_by_whom(tmp_path):
    write(tmp_path, "their_library.py", "import os\nfrom jax.numpy import sin\n")
    write(tmp_path, "late.py", "import their_library\nimport jitkit.as_jax\njitkit.as_jax.install()\n")
    status, _, said = python("late.py", cwd=tmp_path)
    assert status == 1
    assert "ImportError: JAX itself has been imported in this process by `their_library` (" in said
    assert "above the first import" in said
    write(tmp_path, "late.py", "import jax\nimport their_library\nimport jitkit.as_jax\njitkit.as_jax.install()\n")
    assert f"by the program ({tmp_path / 'late.py'}), `their_library` (" in python("late.py", cwd=tmp_path)[2]


def test_a_missing_module_names_who_asked_and_what_it_is(tmp_path):
    library = write(tmp_path, "their_library.py", "x = 1\nfrom jax._src.no_such import thing\n")
    status, _, said = as_jax("-c", "import their_library", cwd=tmp_path)
    assert status == 1
    assert f"No module named 'jax._src.no_such', which their_library ({library}:2) imports" in said
    assert "a private module of JAX's, which jitkit lacks" in said
    assert "jitkit/as_jax" not in said  # the traceback shows no frame of ours
    status, _, said = as_jax("-c", "import jax.experimental.jax2tf", cwd=tmp_path)
    assert "JAX has it, and jitkit has not: docs/parity.md" in said
    status, _, said = as_jax("-c", "import jax.nonsense", cwd=tmp_path)
    assert "Neither JAX nor jitkit has it" in said
    status, _, said = as_jax("-c", "from jax.config import config", cwd=tmp_path)
    assert said.endswith("\n`jax` has it, but it is not a module: `from jax import config`.\n")


def test_a_missing_name_fails_when_it_is_asked_for(tmp_path):
    status, printed, said = as_jax("-c", "import jax; print('imported'); jax.experimental.jax2tf", cwd=tmp_path)
    assert (status, printed) == (1, "imported\n")
    assert "JAX has `jax.experimental.jax2tf`, and jitkit has not" in said


# --- what is told at the end --------------------------------------------------------------------------------------------

RECOMPILES = """
    import jax, jax.numpy as jnp, sys
    @jax.jit
    def cheap(x): return x + 1
    @jax.jit
    def often(x, n): return jnp.sin(x) * n
    cheap(jnp.ones(3))
    for n in range(1, 4): often(jnp.ones(n), 2.0)
    often(jnp.ones(1), n=2.0)
    for _ in range(12): jax.jit(lambda x: x)(1.0)
    sys.exit(5)
    """


def test_explain_counts_one_function_in_the_singular(tmp_path):
    program = write(tmp_path, "one.py", "import jax\njax.jit(lambda x: x)(1.0)\n")
    _, _, said = as_jax("--explain", program, cwd=tmp_path)
    assert said.startswith("jitkit: 1 jitted function: 1 miss of the cache, ")


def test_explain_tells_of_each_function_the_dearest_first_and_keeps_the_status(tmp_path):
    program = write(tmp_path, "recompiles.py", RECOMPILES)
    status, printed, said = as_jax("--explain", program, cwd=tmp_path)
    lines = said.splitlines()
    assert (status, printed) == (5, "")
    assert lines[0].startswith("jitkit: 3 jitted functions, the slowest first: 17 misses of the cache, ")
    heads = [line for line in lines[1:] if line and not line.startswith(" ")]
    assert {head.split(" at ")[0] for head in heads} == {"cheap", "often", "<lambda>"}
    cost = [float(head.rsplit(", ", 1)[1].removesuffix(" ms")) for head in heads]
    assert cost == sorted(cost, reverse=True)
    (often,) = (head for head in heads if head.startswith("often"))
    assert "4 misses of the cache, 4 traced, 4 compiled" in often
    assert "        x: float32[1] before, float32[2] now" in lines
    assert "  and 4 more: new function (4)" in lines


def test_explain_of_a_program_without_jitted_functions_orders_nothing(tmp_path):
    status, out, said = as_jax("--explain", "-c", "print(1)", cwd=tmp_path)
    assert (status, out) == (0, "1\n")
    assert said.startswith("jitkit: 0 jitted functions: 0 misses")


@pytest.mark.parametrize("place", ["a.txt", "a.txt/pages"])
def test_pages_in_the_place_of_a_file_are_refused_before_the_program_runs(tmp_path, place):
    write(tmp_path, "a.txt", "")
    status, out, said = as_jax("--explore", place, "-c", "print(1)", cwd=tmp_path)
    assert (status, out) == (2, "")
    assert said.splitlines()[-1].endswith("argument --explore: a.txt is a file, and the pages need a folder")


def test_explore_writes_a_page_for_each_function(tmp_path):
    program = write(tmp_path, "recompiles.py", RECOMPILES)
    status, _, said = as_jax("--explore", "pages", program, cwd=tmp_path)
    assert status == 5, said
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == [
        "cheap.html",
        "index.html",
        "lambda.html",
        "often.html",
    ]
    pages = (tmp_path / "pages" / "index.html").read_text(encoding="utf-8")
    assert all(f'href="{name}.html' in pages for name in ("cheap", "lambda", "often"))
    assert "float32[3]" in (tmp_path / "pages" / "often.html").read_text(encoding="utf-8")


# --- jitkit run -----------------------------------------------------------------------------------------------------------


def test_jitkit_run_as_jax_has_the_learners_functions_in_place(learner):
    learner.write_sign(SIGN)
    program = learner.root / "theirs.py"
    program.write_text("import jax, sys\nprint(jax.nn.soft_sign(1.0), jax.__name__, sys.argv[1:])\nsys.exit(4)\n")
    status, printed, said = python("-m", "jitkit.kata", "run", "--as-jax", "theirs.py", "a", "--b", cwd=learner.root)
    assert (status, printed) == (4, "0.5 jitkit ['a', '--b']\n"), said
    assert "yours: 91.1" in said


def test_jitkit_run_as_jax_needs_no_workspace(tmp_path):
    write(tmp_path, "theirs.py", RECOMPILES)
    status, _, said = python("-m", "jitkit.kata", "run", "--as-jax", "--explain", "theirs.py", cwd=tmp_path)
    assert status == 5
    assert said.startswith("jitkit: 3 jitted functions")
    status, _, said = python("-m", "jitkit.kata", "run", "--explain", "theirs.py", cwd=tmp_path)
    assert (status, "with --as-jax" in said) == (2, True)


# --- what libraries take ------------------------------------------------------------------------------------------------

TAKEN = """
    import jax, jax.numpy as jnp, numpy as np
    import jax.extend.core as jex, jax.extend.linear_util as lu, jax.extend.source_info_util, jax.profiler
    from jax.api_util import flatten_fun, flatten_fun_nokwargs, safe_map
    from jax.experimental import checkify, io_callback
    from jax.experimental.shard_map import shard_map

    closed = jax.make_jaxpr(lambda x: jnp.sin(x) + 1)(1.0)
    print(isinstance(closed, jex.ClosedJaxpr), isinstance(closed.jaxpr, jex.Jaxpr), [type(v) is jex.Var for v in closed.jaxpr.invars])
    print([e.primitive is p for e, p in zip(closed.jaxpr.eqns, (jex.primitives.sin_p, jex.primitives.add_p))])
    print(jex.jaxpr_as_fun(closed)(2.0))
    jitted = jax.make_jaxpr(jax.jit(lambda x: x))(1.0)
    print([e.primitive is jex.primitives.jit_p for e in jitted.jaxpr.eqns], jex.valid_jaxtype(1.0), jex.valid_jaxtype("a"))
    here = jex.get_opaque_trace_state(convention="flax")
    inside = []
    jax.jit(lambda x: inside.append(jex.get_opaque_trace_state(convention="flax") == here) or x)(1.0)
    print(inside, here == jex.get_opaque_trace_state(convention="flax"))

    @lu.transformation_with_aux
    def doubled(n, *args):
        out = yield tuple(n * a for a in args), {}
        yield out + 1, f"called with {n}"

    wrapped, aux = doubled(lu.wrap_init(lambda x, y: x * y), 2)
    print(wrapped.call_wrapped(3, 5), aux())
    leaves, tree = jax.tree.flatten(((1.0, {"a": 2.0}), {"k": 3.0}))
    flat, out_tree = flatten_fun(lu.wrap_init(lambda x, y, k: {"r": x + y["a"], "s": k}), tree)
    print(flat.call_wrapped(*leaves), out_tree(), safe_map(abs, [-1]))

    import jax.extend.random as jer
    count = jnp.arange(5, dtype=jnp.uint32)
    print(jer.threefry_2x32(jax.random.PRNGKey(3), count), jer.threefry_2x32((count[0], count[1]), count.reshape(5, 1)[:4]))
    print(jax.random.key_data(jer.seed_with_impl(jer.threefry_prng_impl, 7)), jer.threefry2x32_p)
    print(jer.random_seed(3, jer.threefry_prng_impl))
    halves = jer.define_prng_impl(
        key_shape=(1,), seed=lambda s: s.astype(jnp.uint32)[..., None], fold_in=lambda k, d: k + d.astype(jnp.uint32),
        split=lambda k, shape: k + jnp.arange(np.prod(shape), dtype=jnp.uint32).reshape(*shape, 1), name="half", tag="half",
        random_bits=lambda k, width, shape: jnp.broadcast_to(k[0] * np.uint32(2654435761), shape).astype(f"uint{width}"),
    )
    print(jax.random.key_data(jax.random.split(jax.random.key(3, impl=halves))), jax.random.bits(jax.random.key(3, impl=halves), (2,)))
    with jax.default_prng_impl("threefry2x32"):
        print(jax.random.key(1))
    print([jax.core.ShapedArray((2,), d).at_least_vspace().str_short() for d in (np.float32, np.int32, bool)])
    print(jax.core.ShapedArray((2,), np.float32).update_weak_type(True).weak_type, jex.Primitive("p").call_primitive)
    print(jnp.einsum("ij,jk->ik", np.eye(2), np.ones((2, 3)), _dot_general=lambda *a, **k: 2 * jax.lax.dot_general(*a, **k)))
    print(jax.lax.dot_general(count, count, (((0,), (0,)), ((), ())), out_sharding=None))
    class Named:  # names of it are no texts
        def __call__(self, x):
            return x * 2.0
    named = Named()
    named.__name__ = named.__qualname__ = named.__annotations__ = None
    print([t(named)(jnp.ones(2)) for t in (jax.vmap, jax.jit, jax.checkpoint)], jax.make_jaxpr(jax.jit(named))(1.0))
    print(jax.grad(named)(1.0), jax.value_and_grad(named)(1.0), jax.hessian(named)(1.0), jax.jacrev(named)(1.0))

    def seen(x):
        print(isinstance(x, ad.JVPTracer), jex.find_top_trace((x,)).main is x._trace.main)
        return x * 2
    from jax.interpreters import ad
    jax.jvp(seen, (1.0,), (1.0,))

    @jax.custom_vjp
    def scaled(tree):
        return tree["a"] * tree["b"]
    def fwd(tree):
        print(jax.tree.map(lambda leaf: (type(leaf).__name__, leaf.perturbed), tree))
        return tree["a"].value * tree["b"].value, tree["b"].value
    scaled.defvjp(fwd, lambda b, ct: ({"a": ct * b, "b": None},), symbolic_zeros=True)
    print(jax.grad(lambda a: scaled({"a": a, "b": 3.0}))(2.0))
    print(isinstance(jax.devices()[0], jax.Device), isinstance(1, jax.Device), jax.P("x"))
    print(jax.typeof(jnp.ones((2, 3))).sharding.is_fully_replicated)
    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    print(mesh.shape, jax.NamedSharding(mesh, jax.P("x")).spec)
    mean = shard_map(lambda v: jax.lax.pmean(v, "x") + jax.lax.axis_index("x"), mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P("x"))
    print(mean(jnp.arange(4.0)), jax.pmap(lambda a, b: a + jax.lax.psum(b, "i"), axis_name="i", in_axes=(0, None))(jnp.ones((1, 3)), 2.0))
    try:
        jax.pmap(lambda v: v)(jnp.ones((4, 2)))
    except Exception:
        print("more devices than there are")
    checkify.check(True, "never")
    try:
        checkify.check(jnp.float32(1) < 0, "x is {}", jnp.int32(3))
    except checkify.JaxRuntimeError as error:
        print(str(error).splitlines()[0])
    with jax.profiler.TraceAnnotation("step"), jax.profiler.StepTraceAnnotation("train", step_num=1):
        print(jax.profiler.annotate_function(abs)(-2))
    """


def test_what_libraries_take_does_what_it_does_on_jax(tmp_path):
    program = write(tmp_path, "taken.py", TAKEN)
    expected = on_jax(program, cwd=tmp_path)
    assert expected[0] == 0, expected[2]
    assert as_jax(program, cwd=tmp_path)[:2] == expected[:2]


def test_what_one_device_cannot_do_is_said_when_it_is_called(tmp_path):
    program = "import jax, jax.numpy as jnp\nf = jax.pmap(lambda v: v)\nprint('made')\nf(jnp.ones((4, 2)))"
    status, printed, said = as_jax("-c", program, cwd=tmp_path)
    assert (status, printed) == (1, "made\n")
    assert "NotImplementedError: pmap runs on one device here, and this asks for 4" in said


def test_python_does_not_guess_after_our_sentence(tmp_path):
    for program in ("import jax; jax.numpy.ravelx", "import jax; jax.legacy_prng_key", "import jax; jax.nn.relux"):
        said = as_jax("-c", program, cwd=tmp_path)[2].splitlines()
        assert not [line for line in said if "Did you mean: '" in line], said
        assert "jitkit" in "".join(said)


def test_a_private_name_is_refused_with_who_asked(tmp_path):
    library = write(tmp_path, "their_library.py", "from jax._src import pjit\n")
    said = as_jax("-c", "import their_library", cwd=tmp_path)[2]
    assert f"No module named 'jax._src.pjit', which their_library ({library}:1) imports" in said


ONE_PROCESS = """
    import jax, jax.numpy as jnp, numpy as np
    from jax.experimental import mesh_utils, multihost_utils
    mesh = jax.sharding.Mesh(mesh_utils.create_device_mesh((1, 1)), ("a", "b"))
    print(mesh.shape)
    try:
        mesh_utils.create_device_mesh((2,))
    except ValueError as error:
        print(error)
    tree = {"a": jnp.ones(2), "b": 3}
    for tiled in (False, True):
        print({k: (type(v).__name__, v.tolist()) for k, v in multihost_utils.process_allgather(tree, tiled=tiled).items()})
    print(multihost_utils.broadcast_one_to_all(tree)["b"], multihost_utils.sync_global_devices("here"))
    multihost_utils.assert_equal(tree)
    try:
        multihost_utils.assert_equal(jnp.nan, "they differ")
    except AssertionError as error:
        print(str(error)[:11])
    print(multihost_utils.reached_preemption_sync_point(3))
    """


def test_what_several_processes_do_is_done_by_one(tmp_path):
    program = write(tmp_path, "alone.py", ONE_PROCESS)
    expected = on_jax(program, cwd=tmp_path)
    assert expected[0] == 0, expected[2]
    assert as_jax(program, cwd=tmp_path)[:2] == expected[:2]


# --- meshes, and devices that a CPU is divided into ---------------------------------------------------------------------

MESHES = """
    import jax, jax.numpy as jnp, numpy as np
    from jax.sharding import *

    jax.config.update("jax_num_cpu_devices", COUNT)
    mesh = Mesh(np.array(jax.devices()), ("x",))
    spread, x = NamedSharding(mesh, PartitionSpec("x")), np.arange(4, dtype=np.float32)
    print(len(jax.devices()), jax.config.jax_num_cpu_devices, jax.device_put(x, spread).sharding)

    def doubled(x):
        return jax.lax.with_sharding_constraint({"a": x * 2}, spread)["a"]

    def total(x):
        return doubled(x).sum()

    def shown(call):
        try:
            found = call()
            print(found, getattr(found, "sharding", None), getattr(found, "committed", None))
        except Exception as error:
            print(type(error).__name__, str(error).splitlines()[0])

    print(jax.make_jaxpr(doubled)(x))
    print(jax.make_jaxpr(lambda x: jax.jvp(doubled, (x,), (x,)))(x))
    print(jax.make_jaxpr(jax.vmap(doubled))(np.ones((3, 4))), jax.make_jaxpr(jax.vmap(doubled, 1, 1))(np.ones((4, 3))))
    print(jax.grad(total)(x))
    for f in (doubled, jax.jit(doubled), jax.jit(jax.grad(total))):
        shown(lambda: f(x))
    shown(lambda: jax.jit(jax.vmap(doubled))(np.ones((2, 4), np.float32)).sum())
    shown(lambda: jax.jit(lambda x: jax.jit(doubled)(x) + 1)(x))
    shown(lambda: jax.jit(lambda x: x + 1, out_shardings=spread)(x))
    shown(lambda: jax.jit(lambda x: x + 1, in_shardings=spread)(x).sum())

    def by_spec(x):
        return jax.lax.with_sharding_constraint(x, PartitionSpec("x"))

    shown(lambda: by_spec(jnp.ones(4)))
    shown(lambda: jax.jit(by_spec)(x))
    with jax.set_mesh(mesh):
        print(jax.make_jaxpr(by_spec)(x))
        shown(lambda: by_spec(jnp.ones(4)))
        shown(lambda: jax.jit(by_spec)(x))
        shown(lambda: jax.lax.with_sharding_constraint(jnp.ones(4), None))
        print(get_mesh(), get_abstract_mesh())
        shown(lambda: jax.jit(lambda x: get_mesh() and x)(1.0))
    shown(lambda: jax.jit(by_spec)(x))
    print(get_mesh(), get_abstract_mesh())
    jax.set_mesh(mesh)
    shown(lambda: by_spec(jnp.ones(4)))
    jax.set_mesh(None)
    for wrong in ("x", None, NamedSharding(mesh, PartitionSpec(None, "x")), {"b": spread}, jax.devices()[0]):
        shown(lambda: jax.lax.with_sharding_constraint({"a": jnp.ones(3)}, wrong))
    explicit = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    print(explicit.axis_types)
    shown(lambda: jax.lax.with_sharding_constraint(x, NamedSharding(explicit, PartitionSpec("x"))))
    shown(lambda: jax.set_mesh("x"))
    shown(lambda: jax.jit(lambda x: jax.set_mesh(mesh) and x)(1.0))
    shown(lambda: jax.config.update("jax_num_cpu_devices", COUNT + 1))
    jax.config.update("jax_num_cpu_devices", COUNT)
    """


@pytest.mark.parametrize("count", [1, 2])
def test_meshes_of_a_divided_cpu_are_what_they_are_on_jax(tmp_path, count):
    program = write(tmp_path, "meshes.py", MESHES.replace("COUNT", str(count)))
    expected = on_jax(program, cwd=tmp_path)
    assert expected[0] == 0, expected[2]
    found = as_jax(program, cwd=tmp_path)
    assert found[:2] == expected[:2], found[2]


def test_loggers_of_jax_say_what_is_logged(tmp_path):
    program = write(
        tmp_path,
        "logs.py",
        """
        import logging, sys, jax
        logging.basicConfig(stream=sys.stdout, format="%(levelname)s:%(name)s:%(message)s")

        def bad(x):
            raise ValueError("from the callback")

        f = jax.jit(lambda x: jax.pure_callback(bad, jax.ShapeDtypeStruct((), "float32"), x))

        def run():
            try:
                f(1.0)
            except Exception:
                print("raised")

        nothing = logging.Filter("other")
        logging.getLogger("jax._src.callback").addFilter(nothing)
        run()
        jax.config.update("jax_log_compiles", True)
        logging.getLogger("jax").setLevel(logging.ERROR)
        jax.jit(lambda x: x + 1)(1.0)
        logging.getLogger("jax").setLevel(logging.WARNING)
        jax.config.update("jax_log_compiles", False)
        logging.getLogger("jax._src.callback").removeFilter(nothing)
        """,
    )
    expected = python(program, cwd=tmp_path)
    assert as_jax(program, cwd=tmp_path)[:2] == expected[:2] == (0, "raised\n")
    program.write_text(program.read_text() + "run()\n")
    assert as_jax(program, cwd=tmp_path)[1].splitlines()[:2] == [
        "raised",
        "ERROR:jax._src.callback:jax.pure_callback failed",
    ]


def test_options_become_flags_of_absl_and_take_their_values(tmp_path):
    package = write(tmp_path, "absl/flags.py", "FLAGS = {}\n")
    package.write_text(
        "FLAGS = {}\n"
        "def DEFINE_bool(name, value, doc):\n    FLAGS[name] = value\n    assert isinstance(value, bool)\n"
        "def DEFINE_string(name, value, doc):\n    FLAGS[name] = value\n    assert value is None or isinstance(value, str), name\n"
    )
    write(tmp_path, "absl/__init__.py", "")
    write(tmp_path, "absl/app.py", "def call_after_init(function):\n    global after_init\n    after_init = function\n")
    program = write(
        tmp_path,
        "flags.py",
        "import absl.flags, jax; jax.config.config_with_absl(); print(len(absl.flags.FLAGS) > 9)\n"
        "import absl.app, types\n"
        "given = {'jax_enable_x64': True, 'jax_default_matmul_precision': 'high', 'jax_debug_nans': True}\n"
        "for name, value in given.items():\n"
        "    absl.flags.FLAGS[name] = types.SimpleNamespace(present=name != 'jax_debug_nans', value=value)\n"
        "for name in absl.flags.FLAGS.keys() - given:\n    absl.flags.FLAGS[name] = types.SimpleNamespace(present=0)\n"
        "absl.app.after_init()  # as app.run does when it has parsed the command line\n"
        "print(jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision, jax.config.jax_debug_nans)\n",
    )
    assert as_jax(program, cwd=tmp_path) == (0, "True\nTrue high False\n", "")


PLUGIN = """
import jax._src.xla_bridge as bridge

def initialize():
    from jax._src import config  # CUDA's plugin imports when it is called, too

    print("started by", bridge.__name__, "where platforms are", config.jax_platforms.value)
"""


def test_a_plugin_of_an_accelerator_finds_jax_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "")  # so that JAX looks for plugins
    write(tmp_path, "jax_plugins/mine.py", PLUGIN)
    program = write(tmp_path, "program.py", "import jax\nprint(jax.numpy.ones(3).device.platform, jax.__name__)\n")
    status, printed, said = as_jax(program, cwd=tmp_path)
    assert printed == "started by jax._src.xla_bridge where platforms are \ncpu jitkit\n", said
    assert (status, said) == (0, "")


def test_variables_of_jax_in_the_environment_set_the_options(tmp_path):
    variables = {
        "JAX_ENABLE_X64": "True", "JAX_DEFAULT_MATMUL_PRECISION": "highest", "JAX_NUMPY_RANK_PROMOTION": "raise", "JAX_DEBUG_NANS": "1",
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.5",
        "JAX_NUM_CPU_DEVICES": "2", "JAX_DEFAULT_PRNG_IMPL": "rbg", "JAX_LOG_COMPILES": "off",
    }  # fmt: skip
    program = f"""
        import jax, jax.numpy as jnp
        for name in {[name.lower() for name in variables]}:
            print(name, getattr(jax.config, name))
        print(jnp.arange(2).dtype, (jnp.ones(2) * 0.1).sum(), len(jax.devices()), jax.random.key(0))
    """
    program = write(tmp_path, "program.py", program)
    expected = python(program, cwd=tmp_path, variables=variables)
    assert expected[0] == 0, expected[2]
    assert as_jax(program, cwd=tmp_path, variables=variables)[:2] == expected[:2]
    own = {"JAX_ENABLE_X64": "1", "JITKIT_ENABLE_X64": "0"}
    asked = "import jax; print(jax.config.jax_enable_x64)"
    assert as_jax("-c", asked, cwd=tmp_path, variables=own)[1] == "False\n"
    status, _, said = as_jax("-c", asked, cwd=tmp_path, variables={"JAX_ENABLE_X64": "perhaps"})
    assert status == 1
    assert (
        said.splitlines()[-1]
        == "ValueError: environment variable JAX_ENABLE_X64: expected a boolean such as 1 or 0, got 'perhaps'"
    )
