"""penzai: a network of named axes, its outputs, a change of it by a selection, and a gradient."""

import jax
import jax.numpy as jnp
from penzai import pz
from penzai.models import simple_mlp

mlp = simple_mlp.MLP.from_config(name="mlp", init_base_rng=jax.random.key(0), feature_sizes=[8, 32, 32, 8])
out = mlp(pz.nx.ones({"features": 8}))
doubled = pz.select(mlp).at_instances_of(pz.nn.Elementwise).insert_after(pz.nn.Elementwise(lambda x: 2.0 * x))
x = pz.nx.wrap(jnp.arange(24.0).reshape(3, 8) / 24).tag("batch", "features")
named = jax.jit(lambda x: doubled(x).unwrap("batch", "features"))(x)
frozen, variables = pz.unbind_params(mlp)
params = pz.freeze_params(variables)
gradient = jax.grad(lambda p: pz.bind_variables(frozen, p)(x).unwrap("batch", "features").sum())(params)
result = out.unwrap("features"), named, gradient, str(pz.nx.nmap(jnp.sin)(x).named_shape)
