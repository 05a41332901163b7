"""choices -> programs about what a chip runs: optimised HLO to be read, bytes to be counted, loops to be written for whole arrays."""

from __future__ import annotations

from ..engine.choices import Choices

_ALONE = (
    "negate",
    "copy",
    "sort",
    "reduce",
    "custom-call",
    "copy-done",
    "copy-start",
    "iota",
    "fusion",
    "slice-start",
    "dot",
    "async-update",
    "all-reduce-start",
)
_FREE = ("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier")


def hlo(choices: Choices) -> str:
    """Return a program that lists the kernels and the loops of a random HLO module. Computations of the module call earlier ones, some of
    them twice.
    """
    count = 1 + choices.below(6)
    names = [f"c{i}" for i in range(count)]
    blocks = []
    for i, name in enumerate(names):
        lines = []
        for j in range(1 + choices.below(4)):
            own, known = f"{name}.{j}", names[:i]
            kind = choices.below(6)
            if kind in (2, 3, 4) and known:
                one, other = choices.of(known[::-1]), choices.of((*known, "elsewhere"))
                trips = f'backend_config={{"known_trip_count":{{"n":"{choices.below(90)}"}}}}'
                lines.append(
                    choices.of(
                        (
                            f"%{own} = f32[8]{{0}} call(%x), to_apply=%{one}",
                            f"%{own} = f32[8]{{0}} while(%x), condition=%{other}, body=%{one}",
                            f"%{own} = f32[8]{{0}} while(%x), condition=%{one}, body=%{other}, {trips}",
                            f"%{own} = f32[8]{{0}} while(%x), condition=%elsewhere, body=%{one}, {trips}",
                            f"%{own} = f32[8]{{0}} conditional(%i, %x, %x), branch_computations={{%{one}, %{other}}}",
                            f"%{own} = f32[8]{{0}} fusion(%x), kind=kLoop, calls=%{one}",
                            f"%{own} = f32[8]{{0}} async-start(%x), calls=%{one}",
                            f"%{own} = f32[8]{{0}} async-done(%x)",
                        )
                    )
                )
            else:
                opcode = choices.of(_FREE if kind == 5 else _ALONE)
                lines.append(f"%{own} = f32[8]{{0}} {opcode}(%x)")
        lines[-1] = f"ROOT {lines[-1]}"
        head = f"ENTRY %{name} (x: f32[8]) -> f32[8] {{" if i == count - 1 else f"%{name} (p: f32[8]) -> f32[8] {{"
        blocks.append("\n".join([head, *(f"  {line}" for line in lines), "}"]))
    text = "\n\n".join(blocks)
    return (
        f'from jitkit.targets.hlo import Program\nprogram = Program("""\n{text}\n""")\n'
        "[(kernel.name, kernel.opcode, kernel.fused) for kernel in program.kernels], "
        "[(loop.name, str(loop.trips)) for loop in program.loops]"
    )


_ARGUMENTS = (
    "np.zeros((2, 3), 'float32')", "np.zeros(5, bool)", "1.5", "7", "True", "np.zeros(10)", "np.float64(2)", "np.int64(3)",
    "np.zeros(4, 'int64')", "{'a': np.zeros(3, 'float16'), 'b': 2.0}", "None", "np.zeros((3, 0), 'float32')", "np.zeros((0, 2), 'int8')",
    "jax.ShapeDtypeStruct((7,), 'bfloat16')", "[np.uint8(1), (np.zeros(2, 'int8'),)]", "2j",
)  # fmt: skip
_RESULTS = (
    "args", "args[0]", "args[::-1]", "(args, args)", "jax.tree.map(lambda x: x * 2, args)", "None", "1.0",
    "jnp.zeros((4, 5), bool)", "{'n': len(args), 'x': args[-1]}", "(args[0], jnp.ones(3))",
)  # fmt: skip


def bytes_moved(choices: Choices) -> str:
    """Return a program that calls `least_bytes` on a function that notes its calls: it should be traced, but not run."""
    arguments = [choices.of(_ARGUMENTS) for _ in range(1 + choices.below(3))]
    result = choices.of(_RESULTS)
    return (
        "from jitkit.kata.subjects.chips import least_bytes\n"
        f"calls = []\ndef f(*args):\n    calls.append(str(jax.tree.leaves(args)[:1])[:4])\n    return {result}\n"
        f"least_bytes(f, {', '.join(arguments)}), len(calls)"
    )


def polynomials(choices: Choices) -> str:
    """Return a call of `polynomial` on an array of any shape, with one coefficient or more."""
    shape, count = choices.of(((3,), (), (2, 3), (0,), (1,), (40,))), 1 + choices.below(16)
    return (
        "from jitkit.kata.subjects.chips import polynomial\n"
        f"x = np.sin(np.arange({_size(shape)}.0)).astype('float32').reshape({shape})\n"
        f"coefficients = np.cos({1 + choices.below(20)} * np.arange({count}.0)).astype('float32')\n"
        "polynomial(x, coefficients)"
    )


def scans_of_scalars(choices: Choices) -> str:
    """Return a call of `decayed` or `roughness`, on a short or a long array, with a rate of 0, of 1, or in between."""
    count = choices.of((3, 1, 2, 7, 40, 100, 17, 300))
    wave = f"np.sin({1 + choices.below(9)} * np.arange({count}.0)).astype('float32')"
    numbers = choices.of((wave, f"np.ones({count}, 'float32')", f"1000 + {wave}"))
    rate = choices.of(("0.5", "1.0", "0.0", "0.99", "0.999", "np.float32(0.9)", "0.01", "1"))
    if count > 1 and choices.chance(30):
        return f"from jitkit.kata.subjects.chips import roughness\nx = {numbers}\nroughness(x)"
    return f"from jitkit.kata.subjects.chips import decayed\nx = {numbers}\ndecayed(x, {rate})"


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size
