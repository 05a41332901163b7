"""The programs that the exercises of lab 13 must run like the reference. Kernels, loops and bytes are counted in the program that the
CPU's compiler makes, and in those of the compilers for other chips that are installed."""

from __future__ import annotations

import os
import re

import numpy as np

from jitkit.kata.checking import check, module, of_chips, random_programs, run_by_numpy

_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"}


def chips(jk):
    """Return the module of the exercises."""
    return module(jk, "kata.subjects.chips")


def floats(jk, numbers):
    """Return the numbers as a float32 array of jitkit's, which a traced index can read. (With a numpy array, the versions to mend could
    not run.)
    """
    return jk.numpy.asarray(np.asarray(numbers, "float32"))  # numpy converts, so that nothing is compiled


def read(jk, text):
    """Return what `Program` finds in a text: each kernel's name, whether it is fused, and its kind; each loop's name and trips."""
    program = module(jk, "targets.hlo").Program(text)
    kernels = [(kernel.name, kernel.fused, kernel.kind) for kernel in program.kernels]
    return kernels, [(loop.name, loop.trips) for loop in program.loops]


def counted(jk, fun, *args):
    """Return how many instructions of the program's entry cost something on this CPU, and whether it has a `while` or a `call`."""
    # This option fuses many writes into one pass. Checks may be compiled without it, to save time; here it is on, as it is for users.
    option = "xla_cpu_use_fusion_emitters"
    as_users_do = {option: True} if option in os.environ.get("XLA_FLAGS", "") else None
    return counted_in(jk.jit(fun).lower(*args).compile(compiler_options=as_users_do).as_text())


def counted_in(text):
    """Return, for the text of any compiler, how many instructions of the entry computation cost something, and whether the program has a
    `while` or a `call`.
    """
    entry = text[text.index("ENTRY") :].splitlines()[1:]
    opcodes = [found[1] for line in entry if (found := re.search(r" = .*?[\])}] ([a-z][\w-]*)\(", line))]
    return len([opcode for opcode in opcodes if opcode not in _FREE]), bool(re.search(r" (while|call)\(", text))


def elsewhere(jk, fun, *args):
    """Return the compiled programs, by name, for the chips other than the CPU whose compilers are installed. If there are none, say so."""
    targets = module(jk, "targets")
    there = [target for target in targets.TARGETS.values() if target.name != "cpu" and targets.obstacle(target) is None]
    if not there:
        print(
            "Counted on this CPU only: no compiler of another chip is installed. `make compilers` in a clone brings them."
        )
    lowered = jk.jit(fun).lower(*args)
    return {target.name: lowered.compile(target=target.name) for target in there}


# --- 13.1 What runs -----------------------------------------------------------------------------------------------


def names(rng, count):
    """Return random names."""
    return [f"{word}.{number}" for word, number in zip("abcdefghij", rng.choice(900, size=count), strict=False)]


@check(
    "13.1",
    "A fusion is one kernel, whatever is inside of it.",
    against=["the instructions inside a fusion are kernels, too"],
)
def fusions(jk, rng):
    inside, kernel, other = names(rng, 3)
    return read(
        jk,
        f"""
%{inside} (p: f32[8]) -> f32[8] {{
  %p = f32[8]{{0}} parameter(0)
  %m = f32[8]{{0}} multiply(%p, %p)
  ROOT %s = f32[8]{{0}} add(%m, %p)
}}

ENTRY %main (x: f32[8]) -> f32[8] {{
  %x = f32[8]{{0}} parameter(0)
  %{kernel} = f32[8]{{0}} fusion(%x), kind=kLoop, calls=%{inside}
  ROOT %{other} = f32[8]{{0}} fusion(%{kernel}), kind=kLoop, calls=%{inside}
}}
""",
    )


@check(
    "13.1",
    "Parameters, constants, tuples and bitcasts cost nothing. A sort and a copy are kernels; a sum over chips is one, where it begins.",
    against=[
        "every instruction is a kernel",
        "only fusions run",
        "an operation that only starts another one does not run",
        "a `-done` or `-update` instruction is a kernel of its own",
    ],
)
def free(jk, rng):
    sorted_, copied, cast, begun, goes_on, ended = names(rng, 6)
    return read(
        jk,
        f"""
%less (a: f32[], b: f32[]) -> pred[] {{
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %lt = pred[] compare(%a, %b), direction=LT
}}

ENTRY %main (x: f32[8]) -> (f32[8], f32[4,2]) {{
  %x = f32[8]{{0}} parameter(0)
  %c = f32[] constant(1)
  %{sorted_} = f32[8]{{0}} sort(%x), dimensions={{0}}, to_apply=%less
  %{cast} = f32[4,2]{{1,0}} bitcast(%{sorted_})
  %{begun} = f32[8]{{0}} all-reduce-start(%{sorted_})
  %{goes_on} = f32[8]{{0}} async-update(%{begun})
  %{ended} = f32[8]{{0}} all-reduce-done(%{goes_on})
  %{copied} = f32[4,2]{{0,1}} copy(%{cast})
  ROOT %t = (f32[8]{{0}}, f32[4,2]{{0,1}}) tuple(%{sorted_}, %{copied})
}}
""",
    )


def loop_text(rng, trips):
    """Return the text of a program with a loop that has a kernel in its body and one in its condition."""
    body, condition, loop, kernel, test = names(rng, 5)
    known = f', backend_config={{"known_trip_count":{{"n":"{trips}"}}}}' if trips else ""
    return f"""
%{body} (s: (s32[], f32[8])) -> (s32[], f32[8]) {{
  %s = (s32[], f32[8]{{0}}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %y = f32[8]{{0}} get-tuple-element(%s), index=1
  %{kernel} = f32[8]{{0}} add(%y, %y)
  ROOT %t = (s32[], f32[8]{{0}}) tuple(%i, %{kernel})
}}

%{condition} (s.1: (s32[], f32[8])) -> pred[] {{
  %s.1 = (s32[], f32[8]{{0}}) parameter(0)
  %i.1 = s32[] get-tuple-element(%s.1), index=0
  %n = s32[] constant(10)
  ROOT %{test} = pred[] compare(%i.1, %n), direction=LT
}}

ENTRY %main (x: f32[8]) -> (s32[], f32[8]) {{
  %x = f32[8]{{0}} parameter(0)
  %z = s32[] constant(0)
  %start = f32[8]{{0}} copy(%x)
  %t.1 = (s32[], f32[8]{{0}}) tuple(%z, %start)
  %{loop} = (s32[], f32[8]{{0}}) while(%t.1), condition=%{condition}, body=%{body}{known}
  %y.1 = f32[8]{{0}} get-tuple-element(%{loop}), index=1
  ROOT %end = f32[8]{{0}} negate(%y.1)
}}
"""


@check(
    "13.1",
    "A loop is not a kernel: the kernels of its body and its condition are listed, in their place.",
    against=[
        "an instruction can stand for its kernel",
        "the kernels of a loop come at the end of the list",
        "a loop is one kernel",
        "the compiler knows how often a loop runs",
    ],
)
def loops(jk, rng):
    return read(jk, loop_text(rng, int(rng.integers(3, 99)))), read(jk, loop_text(rng, None))


@check(
    "13.1",
    "A computation that two branches share is counted once.",
    against=["a computation is listed once for each caller"],
)
def shared(jk, rng):
    kernel, choice = names(rng, 2)
    return read(
        jk,
        f"""
%both (p: f32[8]) -> f32[8] {{
  %p = f32[8]{{0}} parameter(0)
  ROOT %{kernel} = f32[8]{{0}} negate(%p)
}}

ENTRY %main (i: s32[], x: f32[8]) -> f32[8] {{
  %i = s32[] parameter(0)
  %x = f32[8]{{0}} parameter(1)
  ROOT %{choice} = f32[8]{{0}} conditional(%i, %x, %x), branch_computations={{%both, %both}}
}}
""",
    )


@check("13.1", "A computation may begin with any instruction, and need not have parameters.")
def without_parameters(jk, rng):
    first, last = names(rng, 2)
    return read(
        jk,
        f"""
ENTRY %main () -> f32[8] {{
  %{first} = f32[8]{{0}} iota(), iota_dimension=0
  ROOT %{last} = f32[8]{{0}} negate(%{first})
}}
""",
    )


# --- 13.2 The least -----------------------------------------------------------------------------------------------


def some_shape(rng):
    """Return a random shape with two axes."""
    return tuple(int(n) for n in rng.integers(2, 9, size=2))


@check(
    "13.2",
    "Each argument is read, and each result is written, also where two of them are one array.",
    against=["results cost nothing", "an argument that is returned is free", "the same array twice is read once"],
)
def in_and_out(jk, rng):
    x = np.zeros(some_shape(rng), np.float32)
    least = chips(jk).least_bytes
    same = (
        least(lambda x, y: x * y + y, x, x),
        least(lambda x: (x, x), x),
    )  # one array as two arguments, and as two results
    return least(lambda x: (x + 1.0, x.sum()), x), same


@check(
    "13.2",
    "An element has as many bytes as its dtype says.",
    against=["an element has four bytes", "every number has four bytes"],
)
def dtypes(jk, rng):
    shape = some_shape(rng)
    half, flags = np.zeros(shape, np.float16), np.zeros(shape, bool)
    return chips(jk).least_bytes(lambda x, keep: jk.numpy.where(keep, x, 0).astype("int8"), half, flags)


@check(
    "13.2",
    "Intermediate values are not moved, and an array that the function closes over is not an argument.",
    against=["intermediate values are moved through memory, too", "a closed-over array is an argument"],
)
def between(jk, rng):
    x, table = np.zeros(int(rng.integers(5, 50)), np.float32), np.zeros(7, np.float32)
    return chips(jk).least_bytes(lambda x: jk.numpy.sum(x[:, None] * x[None, :]) + table.sum() + jk.numpy.sum(table), x)


@check(
    "13.2",
    "A number is an array without axes, and arguments may be trees.",
    against=["a Python number takes no memory", "Python numbers move no bytes", "a Python float has eight bytes"],
)
def numbers_and_trees(jk, rng):
    layer = {"w": np.zeros(some_shape(rng), np.float32), "rate": 0.5}
    return chips(jk).least_bytes(lambda layer, n: {"w": layer["w"] * layer["rate"] * n}, layer, 3)


# --- 13.3 One fusion ----------------------------------------------------------------------------------------------


@check(
    "13.3",
    "The first coefficient is that of the highest power.",
    against=[
        "the first coefficient is the constant",
        "the coefficients start with the lowest power",
        "the last coefficient is multiplied by x, too",
    ],
    tolerance=1e-4,
)
def values(jk, rng):
    x, c = rng.normal(size=(3, 5)), rng.normal(size=int(rng.integers(3, 9)))
    polynomial = jk.jit(chips(jk).polynomial)  # without jit, each of its operations would be compiled by itself
    return polynomial(floats(jk, x), floats(jk, c)), polynomial(floats(jk, x[0]), floats(jk, c[:1]))


@check(
    "13.3",
    "Compiled, the polynomial is one kernel, without a loop.",
    against=[
        "a `lax` loop is unrolled by the compiler",
        "a scan is not a loop",
        "one line of Python is one kernel",
        "jit makes it one kernel",
        "a loop that is partly unrolled is not a loop any more",
        "one product of matrices is one kernel",
    ],
    fixed="as many kernels for any numbers",
)
def one_kernel(jk, rng):
    x = floats(jk, rng.normal(size=(32, 65)))
    return [counted(jk, chips(jk).polynomial, x, floats(jk, rng.normal(size=n))) for n in (int(rng.integers(5, 9)), 16)]


@check(
    "13.3",
    "Compiled for each other chip whose compiler is installed, the polynomial has no loop. A GPU needs one kernel, "
    "which moves at most twice the least number of bytes.",
    against=["a `lax` loop is unrolled by the compiler", "a scan is not a loop", "one line of Python is one kernel"],
    fixed="as many kernels for any numbers",
)
def on_other_chips(jk, rng):
    x, c = floats(jk, rng.normal(size=(64, 256))), floats(jk, rng.normal(size=int(rng.integers(5, 9))))
    found, twice_the_least = {}, 2 * (2 * x.nbytes + c.nbytes)
    for name, program in elsewhere(jk, chips(jk).polynomial, x, c).items():
        kernels, found[f"a loop on {name}"] = counted_in(program.as_text())
        if name.startswith("gpu"):
            found[f"kernels on {name}"] = kernels
            found[f"few bytes on {name}"] = program.cost_analysis()["bytes accessed"] <= twice_the_least
    return found


@check(
    "13.3",
    "Coefficients are data: others of the same number share the program.",
    against=["the coefficients are part of the program"],
)
def one_program(jk, rng):
    f, x = jk.jit(chips(jk).polynomial), floats(jk, rng.normal(size=4))
    return [f(x, floats(jk, rng.normal(size=3))) for _ in range(2)]


# --- 13.4 A loop of scalars ---------------------------------------------------------------------------------------


@check(
    "13.4",
    "Only neighbours are compared, and the first and the last element are not neighbours.",
    against=[
        "an array is a ring",
        "every element is compared with one before it",
        "the mean can be returned for the sum",
        "the absolute difference can be used for its square",
    ],
    tolerance=1e-4,
)
def rough(jk, rng):
    x = rng.normal(size=int(rng.integers(5, 20)))
    roughness = jk.jit(chips(jk).roughness)
    return roughness(floats(jk, x)), roughness(floats(jk, x[:2]))


@check(
    "13.4",
    "Each result is the one before times the rate, plus the new element.",
    against=["the new element is multiplied by the rate"],
    tolerance=1e-4,
)
def sums(jk, rng):
    x = rng.normal(size=9)
    decayed = jk.jit(chips(jk).decayed)
    return [decayed(floats(jk, x[:n]), rate) for n, rate in ((9, float(rng.uniform(0.3, 0.9))), (1, 0.5), (6, 1.0))]


@check(
    "13.4",
    "`decayed` stays finite when the rate is small.",
    against=["what is right on paper is right in float32"],
    tolerance=1e-4,
)
def small_rate(jk, rng):
    x = floats(jk, rng.normal(size=40))
    return jk.jit(chips(jk).decayed)(x, float(rng.uniform(0.01, 0.05)))


@check(
    "13.4",
    "Neither `roughness` nor `decayed` has a loop when it is compiled.",
    against=["a `lax` loop is unrolled by the compiler", "a scan is not a loop"],
    fixed="there is no loop, whatever the numbers are",
)
def no_loops(jk, rng):
    x = floats(jk, rng.normal(size=int(rng.integers(33, 60))))
    return {
        "a loop in roughness": counted(jk, chips(jk).roughness, x)[1],
        "a loop in decayed": counted(jk, chips(jk).decayed, x, 0.5)[1],
    }


@check(
    "13.4",
    "Neither `roughness` nor `decayed` has a loop when it is compiled for another chip whose compiler is installed.",
    against=["a `lax` loop is unrolled by the compiler", "a scan is not a loop"],
    fixed="there is no loop, whatever the numbers are",
)
def no_loops_on_other_chips(jk, rng):
    x = floats(jk, rng.normal(size=int(rng.integers(33, 60))))
    programs = elsewhere(jk, lambda x, rate: (chips(jk).roughness(x), chips(jk).decayed(x, rate)), x, 0.5)
    return {f"a loop on {name}": counted_in(program.as_text())[1] for name, program in programs.items()}


# --- What learners wrote ------------------------------------------------------------------------------------------


def longest_chain(jaxpr):
    """Return the length of the longest chain of operations that wait for each other, counting those inside of calls, and
    those of a scan once for each of its steps.
    """
    depth = {}
    for eqn in jaxpr.eqns:
        inner = [longest_chain(x) for x in eqn.params.values() if type(x).__name__ == "Jaxpr"]
        after = max([depth.get(atom, 0) for atom in eqn.invars if not hasattr(atom, "val")], default=0)
        steps = eqn.params.get("length", 1)
        depth.update(dict.fromkeys(eqn.outvars, after + max([1, *(steps * chain for chain in inner)])))
    return max(depth.values(), default=0)


@check(
    "13.4",
    "Steps that wait for each other are few, however long the array is.",
    against=["an unrolled loop runs in parallel", "an unrolled scan is parallel"],
    fixed="only a bound is asked for",
)
def few_steps(jk, rng):
    x = np.ones(256 + int(rng.integers(200)), "float32")
    chain = longest_chain(jk.make_jaxpr(chips(jk).decayed)(x, 0.5))
    return "few" if chain <= 120 else f"{chain} for {len(x)} elements"


@check(
    "13.4",
    "With a rate near 1, elements still count hundreds of steps later.",
    against=["elements long ago do not count"],
    tolerance=1e-3,
)
def a_long_memory(jk, rng):
    n, rate = 100 + int(rng.integers(50)), float(rng.uniform(0.985, 0.995))
    return run_by_numpy(jk.make_jaxpr(chips(jk).decayed)(np.ones(n, "float32"), rate), np.ones(n, "float32"), rate)


@check(
    "13.2",
    "A numpy number counts with the dtype that it has as an argument.",
    against=["an argument has the bytes of its numpy dtype"],
)
def numbers_of_numpy(jk, rng):
    n = int(rng.integers(3, 30))
    return [chips(jk).least_bytes(lambda x: x, x) for x in (np.zeros(n), np.float64(2), np.zeros(n, "int64"))]


@check(
    "13.2",
    "`least_bytes` runs nothing, and compiles nothing.",
    against=["the function has to be run to know its result's type"],
)
def nothing_runs(jk, rng):
    seen = []

    def f(x):
        seen.append(type(x).__name__)
        return x * 2

    return chips(jk).least_bytes(f, np.zeros(int(rng.integers(3, 9)), "float32")), [name != "ndarray" for name in seen]


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random programs, new ones at each save."


@check("13.1", NEW, drawn=True, tolerance=1e-4)
def programs_1(jk, rng):
    return random_programs(jk, rng, of_chips.hlo, 10, by_numpy=False)


@check("13.2", NEW, drawn=True, tolerance=1e-4)
def programs_2(jk, rng):
    return random_programs(jk, rng, of_chips.bytes_moved, 8, by_numpy=False)


@check("13.3", NEW, drawn=True, tolerance=1e-4)
def programs_3(jk, rng):
    return random_programs(jk, rng, of_chips.polynomials, 5)


@check("13.4", NEW, drawn=True, tolerance=1e-4)
def programs_4(jk, rng):
    return random_programs(jk, rng, of_chips.scans_of_scalars, 6)
