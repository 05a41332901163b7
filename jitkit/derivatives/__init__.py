"""Derivatives, as users ask for them.

Comes in: a function of trees. Goes out: its derivative, a function of trees. The work on flat lists and jaxprs is done in
`interpreters` (`ad`, `ad_linearize`, `ad_transpose`), and the rules stand with their primitives. In the order of reading:

    gradients     grad, value_and_grad, jvp, linearize, vjp, linear_transpose
    jacobians     jacfwd, jacrev, jacobian, hessian
    checkpoint    a function that remembers less

JAX: jax/_src/api.py:value_and_grad
"""
