"""`jitkit.scipy.stats`: distributions, each in its own module, with functions under scipy's names.

Input: points or probabilities, and parameters. Output: densities (for integers, probabilities), probabilities,
quantiles: `logpdf pdf logpmf pmf cdf logcdf sf logsf ppf isf`, as far as they are implemented.

    norm, multivariate_normal, uniform, laplace, logistic, cauchy, t,
    gennorm, gumbel_l, gumbel_r, truncnorm                               on the whole line, or a part of it
    expon, gamma, chi2, beta, pareto                                     of positive numbers
    vonmises, wrapcauchy                                                 of angles
    bernoulli, betabinom, binom, geom, nbinom, poisson                   of whole numbers
    dirichlet, multinomial                                               of parts of a whole, and of counts
    samples, kde                                                         of a sample: mode, ranks, standard error; its density

JAX: jax/_src/scipy/stats/norm.py:logpdf
"""

from __future__ import annotations

import sys

from ...base import missing_names
from . import bernoulli as bernoulli
from . import beta as beta
from . import betabinom as betabinom
from . import binom as binom
from . import cauchy as cauchy
from . import chi2 as chi2
from . import dirichlet as dirichlet
from . import expon as expon
from . import gamma as gamma
from . import gennorm as gennorm
from . import geom as geom
from . import gumbel_l as gumbel_l
from . import gumbel_r as gumbel_r
from . import laplace as laplace
from . import logistic as logistic
from . import multinomial as multinomial
from . import multivariate_normal as multivariate_normal
from . import nbinom as nbinom
from . import norm as norm
from . import pareto as pareto
from . import poisson as poisson
from . import t as t
from . import truncnorm as truncnorm
from . import uniform as uniform
from . import vonmises as vonmises
from . import wrapcauchy as wrapcauchy
from .kde import gaussian_kde as gaussian_kde
from .samples import mode as mode
from .samples import rankdata as rankdata
from .samples import sem as sem

missing_names.explain("scipy.stats", sys.modules[__name__])
missing_names.explain("scipy.stats.norm", norm)
