"""numpyro: the eight schools, by NUTS, and a guide that is fitted to them."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from numpyro.infer.reparam import TransformReparam

effects = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("J", 8), numpyro.handlers.reparam(config={"theta": TransformReparam()}):
        theta = numpyro.sample(
            "theta", dist.TransformedDistribution(dist.Normal(0.0, 1.0), dist.transforms.AffineTransform(mu, tau))
        )
        numpyro.sample("obs", dist.Normal(theta, sigma), obs=y)


mcmc = MCMC(NUTS(schools), num_warmup=10, num_samples=10, progress_bar=False)
mcmc.run(jax.random.key(0), errors, y=effects, extra_fields=("potential_energy",))
guide = AutoNormal(schools)
fitted = SVI(schools, guide, numpyro.optim.Adam(0.05), Trace_ELBO()).run(
    jax.random.key(1), 10, errors, y=effects, progress_bar=False
)
predicted = Predictive(schools, mcmc.get_samples())(jax.random.key(2), errors)
result = mcmc.get_samples(), mcmc.get_extra_fields(), fitted.losses, predicted["obs"]
