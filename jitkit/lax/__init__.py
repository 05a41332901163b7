"""The primitives, and the functions that apply them: XLA's vocabulary, with JAX's names.

Nothing here promotes dtypes or ranks: operands must fit. A primitive is one paragraph in its module: shape rule,
lowering, public function; the elementwise ones are rows of the table in `elementwise`. Its derivative stands beside it,
or, where it takes more than a screen, in NAME_derivatives.py, which `derivatives` imports. In the order of reading:

    elementwise, elementwise_rules          the table of elementwise operations, and its columns
    elementwise_derivatives, accuracy       its derivatives; how exact some results must be
    powers, powers_derivatives              powers whose exponent is an array, or a known integer
    convert, convert_derivatives            from one dtype to another
    utils, extended                         checks; arrays whose elements are keys
    creation, shaping, joining              making, rearranging and joining arrays
    selection, selection_derivatives        choosing element by element
    slicing, dynamic_slicing                windows whose corner is known while tracing, or is not
    reduction, reduction_derivatives, reducers, generic_reduction, cumulative   folding an axis, by operations or
                                                                                functions
    windows, windows_derivatives            over windows that move along an array
    precision, dot_products, ragged_products   products of matrices, and of rows in groups
    convolution, convolution_shapes, convolution_derivatives, patches
    index_checks, gathering                 reading many windows of an array
    scattering, scattering_derivatives      writing many windows of an array
    sorting, approximate, fourier, linalg   sorting, exactly or not; Fourier transforms; LAPACK
    control_flow                            conditionals, loops, solutions of equations
    ordering, placing, callback             barriers and tokens; from device to device; calls of Python
    parallel, exchange                      collectives: what the elements of a batch tell each other
    bessel, incomplete_gamma, incomplete_beta, generators   special functions; XLA's own random bits

JAX: jax/_src/lax/lax.py:add
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names

late_rooms.attach(__name__)
missing_names.explain("lax", sys.modules[__name__])
