"""The name `jax.experimental.pallas`, for programs that import it and use it on accelerators only. It is empty

Pallas is a language of kernels, with its own compilers.

    mosaic_gpu   the names of its modules for kernels: of GPUs,
    triton       of GPUs, in Triton,
    tpu          and of TPUs

JAX: jax/_src/pallas/pallas_call.py:pallas_call
"""

from __future__ import annotations

from typing import NoReturn

_NOT_HERE = "module 'jax.experimental.pallas' has no attribute {!r}\nPallas is not here: write the kernel with jitkit.numpy and `lax`."


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(_NOT_HERE.format(name), name=name, obj=None)
