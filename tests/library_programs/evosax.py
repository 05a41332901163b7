"""evosax: a covariance matrix adaptation, asked and told for some generations."""

import jax
import jax.numpy as jnp
from evosax.algorithms import CMA_ES

solution = jnp.zeros(4)
strategy = CMA_ES(population_size=16, solution=solution)
params = strategy.default_params
key = jax.random.key(0)
state = strategy.init(key, solution, params)
best = []
for _ in range(10):
    key, ask, tell = jax.random.split(key, 3)
    population, state = strategy.ask(ask, state, params)
    fitness = jnp.sum((population - jnp.arange(4.0)) ** 2, axis=1)
    state, metrics = strategy.tell(tell, population, fitness, state, params)
    best.append(state.best_fitness)
result = best, state.best_solution, state.mean, population
