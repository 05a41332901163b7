"""Functions for neural networks: activations, softmax, one-hot encoding, under JAX's names.

    functions       activations, softmax, one-hot encoding
    initializers    initial weights
    attention       dot_product_attention

JAX: jax/_src/nn/functions.py:softmax
"""

from __future__ import annotations

import sys

from ..base import missing_names
from ..numpy import tanh as tanh
from . import initializers as initializers
from .attention import dot_product_attention as dot_product_attention
from .functions import celu as celu
from .functions import elu as elu
from .functions import gelu as gelu
from .functions import glu as glu
from .functions import hard_sigmoid as hard_sigmoid
from .functions import hard_silu as hard_silu
from .functions import hard_swish as hard_swish
from .functions import hard_tanh as hard_tanh
from .functions import identity as identity
from .functions import leaky_relu as leaky_relu
from .functions import log1mexp as log1mexp
from .functions import log_sigmoid as log_sigmoid
from .functions import log_softmax as log_softmax
from .functions import logmeanexp as logmeanexp
from .functions import logsumexp as logsumexp
from .functions import mish as mish
from .functions import one_hot as one_hot
from .functions import relu as relu
from .functions import relu6 as relu6
from .functions import selu as selu
from .functions import sigmoid as sigmoid
from .functions import silu as silu
from .functions import soft_sign as soft_sign
from .functions import softmax as softmax
from .functions import softplus as softplus
from .functions import sparse_plus as sparse_plus
from .functions import sparse_sigmoid as sparse_sigmoid
from .functions import squareplus as squareplus
from .functions import standardize as standardize
from .functions import swish as swish

missing_names.explain("nn", sys.modules[__name__])
missing_names.explain("nn.initializers", initializers)
