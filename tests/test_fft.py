"""`jitkit.numpy.fft` and `lax.fft` against JAX: the same jaxprs, types and values, the same refusals."""

from __future__ import annotations

import jax
import numpy as np
from lax_oracle import describe, error_of

import jitkit

RANDOM = np.random.RandomState(0)
R = RANDOM.randn(3, 4, 6).astype("f")
C = (R + 1j * RANDOM.randn(3, 4, 6)).astype("F")
OPERANDS = (C, R, np.arange(5))

TRANSFORMS = """
fft.fft(c)
fft.fft(r, 4)
fft.fft(r, 9, axis=0)
fft.fft(i, norm="ortho")
fft.fft(r.astype("e"))
fft.fft(r > 0)
fft.ifft(c, norm="forward")
fft.rfft(r)
fft.rfft(r, 5)
fft.irfft(c)
fft.irfft(c, 7, norm="ortho")
fft.hfft(c)
fft.hfft(c, 5)
fft.ihfft(r)
fft.fft2(c)
fft.ifft2(c, (2, 9))
fft.rfft2(r, axes=(0, 1))
fft.irfft2(c)
fft.fftn(r)
fft.fftn(r, (2, 2))
fft.fftn(r, norm="forward")
fft.fftn(r[:, None, :, None])
fft.ifftn(c, axes=(0,))
fft.rfftn(r)
fft.rfftn(r[:, None, :, None])
fft.irfftn(c[None, :, None])
fft.fftfreq(5, 0.5)
fft.fftfreq(4, dtype="complex64")
fft.rfftfreq(6)
fft.rfftfreq(7, 2)
fft.fftshift(r)
fft.fftshift(r, 1)
fft.ifftshift(r, (0, 2))
lax.fft(c, "FFT", (6,))
lax.fft(c, lax.FftType.IRFFT, (10,))
lax.fft(r, "rfft", ())
lib.grad(lambda r: jnp.abs(fft.rfft(r)).sum())(r)
lib.grad(lambda r: fft.irfft(r + 1j * r, 5).sum())(r)
lib.grad(lambda r: jnp.abs(fft.fftn(r)).sum())(r)
lib.vmap(fft.fft, 1)(c)
lib.vmap(lib.grad(lambda r: jnp.abs(fft.rfft(r, 5)).sum()))(r[0])
""".strip().splitlines()

REFUSALS = """
fft.fft(r, 0)
fft.fft(r, axis=[1])
fft.fft(r, norm="x")
fft.fft("a")
fft.fft2(r, axes=(1,))
fft.fftn(r, (1,), (0, 1))
fft.fftn(r, axes=(0, 0))
fft.rfft(c)
fft.fftfreq([3])
fft.fftfreq(3, [1])
fft.rfftfreq([3])
fft.rfftfreq(3, [2])
fft.ifftshift("a")
lax.fft(r, "x", (6,))
lax.fft(r, 7, (6,))
lax.fft(c, "fft", (5,))
lax.fft(c[0, 0], "fft", (1, 5))
lax.fft(r, "rfft", (5,))
lax.fft(r.astype("e"), "rfft", (6,))
lax.fft(c, "irfft", (5, 5))
lax.fft_p.bind(r, fft_type=lax.FftType.FFT, fft_lengths=(6,))
lax.fft_p.bind(r, fft_type=lax.FftType.IRFFT, fft_lengths=(6,))
""".strip().splitlines()


def program(library, text):
    names = {"lib": library, "jnp": library.numpy, "fft": library.numpy.fft, "lax": library.lax}
    return lambda c, r, i: eval(text, names | {"c": c, "r": r, "i": i})


def test_transforms_are_traced_as_in_jax_and_give_its_numbers():
    def everything(library):
        return lambda *operands: [program(library, text)(*operands) for text in TRANSFORMS]

    for text in TRANSFORMS:
        ours, theirs = (lib.make_jaxpr(program(lib, text))(*OPERANDS) for lib in (jitkit, jax))
        assert str(ours) == str(theirs), text
    ours, theirs = (lib.jit(everything(lib))(*OPERANDS) for lib in (jitkit, jax))
    for text, a, b in zip(TRANSFORMS, ours, theirs, strict=True):
        assert describe(a) == describe(b), text
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5, err_msg=text)


def test_what_jax_refuses_to_transform_is_refused_in_its_words():
    for text in REFUSALS:
        theirs, ours = (error_of(program(library, text), *OPERANDS) for library in (jax, jitkit))
        assert theirs is not None, text
        assert ours == theirs, text


def test_an_inverse_of_several_axes_for_a_gpu_transforms_the_last_one_alone():
    f = jitkit.jit(lambda c: jitkit.numpy.fft.irfftn(c))
    text = f.trace(C).lower(lowering_platforms=("cuda",)).as_text()
    assert [line.split("type = ")[1].split(",")[0] for line in text.splitlines() if "stablehlo.fft" in line] == [
        "IFFT", "IRFFT",
    ]  # fmt: skip
