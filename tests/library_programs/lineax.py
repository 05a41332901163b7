"""lineax: a system of linear equations, a least-squares problem, conjugate gradients without a matrix, and derivatives."""

import jax
import jax.numpy as jnp
import lineax as lx

matrix = jax.random.normal(jax.random.key(0), (10, 8))
vector = jax.random.normal(jax.random.key(1), (10,))
operator = lx.MatrixLinearOperator(matrix)
solution = lx.linear_solve(operator, vector, solver=lx.QR())


def quadratic(y, args):
    return jnp.sum((y - 1.0) ** 2) + jnp.sum(y**4)


gradient_fn = jax.grad(quadratic)
y = jnp.array([1.0, 2.0, 3.0])
hessian = lx.JacobianLinearOperator(gradient_fn, y, tags=lx.positive_semidefinite_tag)
conjugate = lx.linear_solve(hessian, gradient_fn(y, None), lx.CG(rtol=1e-6, atol=1e-6))
square = jax.random.normal(jax.random.key(2), (4, 4)) + 4.0 * jnp.eye(4)
derivative = jax.jacobian(lambda m: lx.linear_solve(lx.MatrixLinearOperator(m), vector[:4], lx.LU()).value)(square)
result = solution.value, conjugate.value, derivative, lx.linear_solve(lx.DiagonalLinearOperator(y), y).value
