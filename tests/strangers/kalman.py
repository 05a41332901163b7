"""State space models: a Kalman filter and smoother one after the other, the filter in parallel, and hidden Markov chains."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax, random

F = jnp.array([[1.0, 0.1], [0.0, 0.95]])
Q = 0.1 * jnp.eye(2)
H = jnp.array([[1.0, 0.0]])
R = jnp.array([[0.3]])


def simulate(key, n=16):
    def step(x, key):
        k1, k2 = random.split(key)
        x = F @ x + random.multivariate_normal(k1, jnp.zeros(2), Q)
        return x, (x, H @ x + random.multivariate_normal(k2, jnp.zeros(1), R))

    return lax.scan(step, jnp.zeros(2), random.split(key, n))[1]


def kalman_filter(ys):
    def step(carry, y):
        m, P = carry
        m, P = F @ m, F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = jnp.linalg.solve(S, H @ P).T
        logp = jsp.stats.multivariate_normal.logpdf(y, H @ m, S)
        m, P = m + K @ (y - H @ m), P - K @ S @ K.T
        return (m, P), (m, P, logp)

    return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), ys)[1]


def smoother(ms, Ps):
    def step(carry, inputs):
        ms_, Ps_ = carry
        m, P = inputs
        mp, Pp = F @ m, F @ P @ F.T + Q
        G = jsp.linalg.solve(Pp, F @ P, assume_a="pos").T
        m, P = m + G @ (ms_ - mp), P + G @ (Ps_ - Pp) @ G.T
        return (m, P), (m, P)

    return lax.scan(step, (ms[-1], Ps[-1]), (ms[:-1], Ps[:-1]), reverse=True)[1]


def parallel_filter(ys):
    def element(first, y):
        P = jnp.where(first, F @ jnp.eye(2) @ F.T + Q, Q)
        S = H @ P @ H.T + R
        K = P @ H.T @ jnp.linalg.inv(S)
        A = jnp.where(first, jnp.zeros((2, 2)), (jnp.eye(2) - K @ H) @ F)
        Si = jnp.linalg.inv(H @ Q @ H.T + R)
        return A, K @ y, P - K @ S @ K.T, F.T @ H.T @ Si @ y, F.T @ H.T @ Si @ H @ F

    @jax.vmap
    def combine(e1, e2):
        A1, b1, C1, n1, J1 = e1
        A2, b2, C2, n2, J2 = e2
        M = A2 @ jnp.linalg.inv(jnp.eye(2) + C1 @ J2)
        N = A1.T @ jnp.linalg.inv(jnp.eye(2) + J2 @ C1)
        return M @ A1, M @ (b1 + C1 @ n2) + b2, M @ C1 @ A2.T + C2, N @ (n2 - J2 @ b1) + n1, N @ J2 @ A1 + J1

    elements = jax.vmap(element)(jnp.arange(len(ys)) == 0, ys)
    _, means, covariances, _, _ = lax.associative_scan(combine, elements)
    return means, covariances


def viterbi(log_trans, log_obs):
    def forward(best, obs):
        scores = best[:, None] + log_trans
        return scores.max(0) + obs, scores.argmax(0)

    last, back = lax.scan(forward, log_obs[0], log_obs[1:])
    _, path = lax.scan(lambda s, b: (b[s], b[s]), last.argmax(), back, reverse=True)
    return jnp.append(path, last.argmax()), last.max()


xs, ys = simulate(random.PRNGKey(7))
ms, Ps, logps = jax.jit(kalman_filter)(ys)
smooth = jax.jit(smoother)(ms, Ps)
parallel = jax.jit(parallel_filter)(ys)
trans = jnp.log(jnp.array([[0.9, 0.1], [0.2, 0.8]]))
log_obs = jax.vmap(lambda y: jsp.stats.norm.logpdf(y[0], jnp.array([-1.0, 1.0]), 0.5))(ys)
marginals = jax.grad(
    lambda o: lax.fori_loop(1, 16, lambda i, a: jax.nn.logsumexp(a[:, None] + trans, 0) + o[i], o[0]).max()
)(log_obs)
result = xs, ms, logps.sum(), smooth, parallel, jax.jit(viterbi)(trans, log_obs), marginals
