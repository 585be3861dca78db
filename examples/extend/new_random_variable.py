"""A new random variable, an order of the parameters, and the block that moves it."""

import jax
import jax.numpy as jnp
import numpyro

import structbo as sb
from structbo.models import AdditiveGP, Decomposition, StructureSupport
from structbo.samplers import BLOCKS, Metropolis


class Order(StructureSupport):
    event_dim = 1

    def __call__(self, x):
        return (jnp.sort(x, axis=-1) == jnp.arange(x.shape[-1])).all(-1)


class UniformOrder(numpyro.distributions.Distribution):
    support = Order()

    def sample(self, key, sample_shape=()):
        return jnp.argsort(jax.random.uniform(key, (*sample_shape, *self.event_shape)), axis=-1)

    def log_prob(self, value):
        return -jax.scipy.special.gammaln(self.event_shape[0] + 1.0)


class Swaps(Metropolis):
    support = Order

    def propose(self, key, conditional, point):  # swaps two, as likely as the reverse
        pair = jax.random.choice(key, len(point.value), (2,), replace=False)
        return conditional.move(point, point.value.at[pair].set(point.value[pair[::-1]])), 0.0


BLOCKS[Order] = Swaps


def path(num_dims):  # each parameter interacts with the next one
    order = numpyro.sample("order", UniformOrder(event_shape=(num_dims,)))
    one_hot = jnp.eye(num_dims, dtype=bool)[order]
    return Decomposition.of(one_hot[:-1] | one_hot[1:])


space = {name: (0.0, 1.0) for name in "abcd"}
print(sb.minimize(lambda p: (p["a"] - p["d"]) ** 2 + p["b"], space, 10, model=AdditiveGP(path)))
