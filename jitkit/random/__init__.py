"""Draws random numbers from keys, with JAX's names: the same key gives the same bits, here and in JAX.

    key = random.key(0)
    key, subkey = random.split(key)
    x = random.normal(subkey, (3,))

In the order of reading:

    prng, threefry2x32, rbg         what a key is, and how it gives bits
    keys                            functions on keys for users
    arguments, uniform              checks of all samplers; the sampler that the others use
    normal, inverse, discrete       from one uniform number each; orders and choices
    gamma, poisson, binomial        by rejection
    multivariate                    vectors and matrices

A sampler has `out_sharding` only for JAX's signature: a sharding over a mesh with axes raises NotImplementedError.

JAX: jax/_src/random/core.py:key
"""

from __future__ import annotations

import sys

from ..base import missing_names
from ..lax import extended as extended
from .binomial import binomial as binomial
from .binomial import multinomial as multinomial
from .discrete import categorical as categorical
from .discrete import choice as choice
from .discrete import permutation as permutation
from .gamma import ball as ball
from .gamma import beta as beta
from .gamma import chisquare as chisquare
from .gamma import f as f
from .gamma import gamma as gamma
from .gamma import generalized_normal as generalized_normal
from .gamma import loggamma as loggamma
from .gamma import t as t
from .inverse import cauchy as cauchy
from .inverse import exponential as exponential
from .inverse import geometric as geometric
from .inverse import gumbel as gumbel
from .inverse import laplace as laplace
from .inverse import logistic as logistic
from .inverse import pareto as pareto
from .inverse import rayleigh as rayleigh
from .inverse import triangular as triangular
from .inverse import weibull_min as weibull_min
from .keys import PRNGKey as PRNGKey
from .keys import clone as clone
from .keys import fold_in as fold_in
from .keys import key as key
from .keys import key_data as key_data
from .keys import key_dtype as key_dtype
from .keys import key_impl as key_impl
from .keys import split as split
from .keys import wrap_key_data as wrap_key_data
from .multivariate import dirichlet as dirichlet
from .multivariate import multivariate_normal as multivariate_normal
from .multivariate import orthogonal as orthogonal
from .normal import double_sided_maxwell as double_sided_maxwell
from .normal import lognormal as lognormal
from .normal import maxwell as maxwell
from .normal import normal as normal
from .normal import truncated_normal as truncated_normal
from .normal import wald as wald
from .poisson import poisson as poisson
from .uniform import bernoulli as bernoulli
from .uniform import bits as bits
from .uniform import rademacher as rademacher
from .uniform import randint as randint
from .uniform import uniform as uniform

missing_names.explain("random", sys.modules[__name__])
