"""numpy's functions, on arrays that can be traced: `import jitkit.numpy as jnp`.

Names, results and printed jaxprs are the same as with `jax.numpy`. A function that computes ends in primitives of `jitkit.lax`. By subject:

    util, promotion                                 prepare operands of any kind for a primitive
    ufuncs, arithmetic, float_parts, log_sums       elementwise
    ufunc_objects (folds)                           their methods: add.reduce, add.at
    creation, ranges, scalar_types                  arrays from values, shapes and ranges
    reductions, cumulative, statistics,
    nan_reductions, quantiles                       over axes
    shaping, diagonals, joining, padding            rearranging
    contractions, einsums (einsum_paths, greedy_paths, path_info),
    linalg, convolving                              products of matrices, and convolutions
    indexing (index_parts, index_plan), taking,
    index_update, selection                         reading and updating parts, choosing
    sorting, searching, sets, two_sets              order
    calculus, samples, histograms, iterated,
    polynomials                                     derivatives and integrals, histograms, divisors, polynomials
    signals                                         windows and phases of sampled signals
    fft                                             Fourier transforms
    index_grids                                     grids, and positions in matrices
    editing, putting                                removing, inserting and writing elements; bits
    vectorizing, mapping                            functions of small arrays applied to large ones, piecewise
    files                                           arrays in files
    array_methods                                   all of this as operators and methods

JAX: jax/_src/numpy/lax_numpy.py:where
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names

late_rooms.attach(__name__)
missing_names.explain("numpy", sys.modules[__name__])
