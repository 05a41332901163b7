"""A variational autoencoder with convolutions, the reparameterisation trick and Adam of example_libraries."""

import jax
import jax.numpy as jnp
from jax import lax, random
from jax.example_libraries import optimizers, stax
from jax.example_libraries.stax import Dense, FanOut, Relu, Softplus

encoder_init, encode = stax.serial(
    stax.Conv(4, (3, 3), (2, 2), padding="SAME"), Relu, stax.Flatten, Dense(16), Relu, FanOut(2),
    stax.parallel(Dense(3), stax.serial(Dense(3), Softplus)),
)  # fmt: skip
decoder_init, decode = stax.serial(Dense(16), Relu, Dense(64))


def gaussian_kl(mu, sigmasq):
    return -0.5 * jnp.sum(1.0 + jnp.log(sigmasq) - mu**2.0 - sigmasq)


def gaussian_sample(rng, mu, sigmasq):
    return mu + jnp.sqrt(sigmasq) * random.normal(rng, mu.shape)


def bernoulli_logpdf(logits, x):
    return -jnp.sum(jnp.logaddexp(0.0, jnp.where(x, -1.0, 1.0) * logits))


def elbo(rng, params, images):
    enc_params, dec_params = params
    mu_z, sigmasq_z = encode(enc_params, images[..., None])
    logits_x = decode(dec_params, gaussian_sample(rng, mu_z, sigmasq_z))
    return bernoulli_logpdf(logits_x, images.reshape(len(images), -1)) - gaussian_kl(mu_z, sigmasq_z)


rng = random.PRNGKey(1)
enc_key, dec_key, data_key, rng = random.split(rng, 4)
_, enc_params = encoder_init(enc_key, (-1, 8, 8, 1))
_, dec_params = decoder_init(dec_key, (-1, 3))
x, y = jnp.mgrid[:8, :8]
corners = random.uniform(data_key, (32, 2), maxval=5)
images = (abs(x - corners[:, :1, None]) < 2.5) & (abs(y - corners[:, 1:, None]) < 2.5)

opt_init, opt_update, get_params = optimizers.adam(step_size=3e-3)


@jax.jit
def run_epoch(rng, opt_state, images):
    def body_fun(i, state):
        opt_state, total = state
        elbo_rng, binarize_rng = random.split(random.fold_in(rng, i))
        batch = (lax.dynamic_slice_in_dim(images, i * 8, 8) ^ random.bernoulli(binarize_rng, 0.02, (8, 8, 8))).astype(
            float
        )
        loss, g = jax.value_and_grad(lambda params: -elbo(elbo_rng, params, batch) / 8)(get_params(opt_state))
        return opt_update(i, g, opt_state), total + loss

    return lax.fori_loop(0, 4, body_fun, (opt_state, 0.0))


opt_state = opt_init((enc_params, dec_params))
totals = []
for epoch in range(3):
    opt_state, total = run_epoch(random.fold_in(rng, epoch), opt_state, images)
    totals.append(total)
samples = random.bernoulli(rng, jax.nn.sigmoid(decode(get_params(opt_state)[1], random.normal(rng, (4, 3)))))
result = totals, get_params(opt_state), samples
