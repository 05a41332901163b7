"""What fresh programs found to be other than in JAX, each as a small program of its kind."""

from __future__ import annotations

from twin import raised, same_as_jax


@same_as_jax
def test_a_scope_without_a_text_is_refused_where_it_is_named(jax, jnp):
    decorated = jax.named_scope("here")(lambda x: x + 1)
    return raised(jax.named_scope, 3), raised(jax.named_scope, None), decorated(1.0), decorated(2.0)


@same_as_jax
def test_options_are_read_by_name_too(jax, jnp):
    read = jax.config.read
    return read("jax_enable_x64"), raised(read, "nope"), raised(lambda: jax.config.jax_nope)


@same_as_jax
def test_parts_of_an_array_are_asked_for_by_number(jax, jnp):
    x = jnp.arange(3.0)
    return x.addressable_data(0), [part.data for part in x.global_shards]


@same_as_jax
def test_what_a_function_with_a_batching_rule_returns_at_once_are_arrays(jax, jnp):
    @jax.custom_batching.custom_vmap
    def f(x, y):
        return x * y, y + 1

    f.def_vmap(lambda size, batched, x, y: ((x * y, y + 1), (True, True)))
    return f(1.0, 2.0), jax.vmap(f)(jnp.ones(2), jnp.ones(2))


@same_as_jax
def test_checkpoint_takes_the_options_that_jax_takes(jax, jnp):
    named = jax.checkpoint(lambda x, n: x * n, static_argnames="n")
    return named(2.0, n=3), jax.grad(named)(2.0, n=3.0)


@same_as_jax
def test_a_scan_may_ask_for_a_split_reverse_pass(jax, jnp):
    def total(x):
        return jax.lax.scan(lambda c, a: (c * a, c), 1.0, x, _split_transpose=True)[0]

    return total(jnp.arange(1.0, 4.0)), jax.grad(total)(jnp.arange(1.0, 4.0))
