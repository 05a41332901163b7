"""flowjax: a normalising flow, fitted to points, its density and samples."""

import jax.numpy as jnp
import jax.random as jr
from flowjax.distributions import Normal
from flowjax.flows import masked_autoregressive_flow
from flowjax.train import fit_to_data

data_key, flow_key, train_key, sample_key = jr.split(jr.key(0), 4)
x = jr.uniform(data_key, (60, 2))
flow = masked_autoregressive_flow(key=flow_key, base_dist=Normal(jnp.zeros(2)), flow_layers=1, nn_depth=1, nn_width=8)
flow, losses = fit_to_data(key=train_key, dist=flow, data=x, learning_rate=5e-3, max_epochs=1, show_progress=False)
result = losses, flow.log_prob(x), flow.sample(sample_key, (5,))
