"""A new sampler block: edges appear, disappear, and slide along another edge."""

import jax
import jax.numpy as jnp
import numpy as np

import structbo as sb
from structbo.models import AdditiveGP, Adjacency
from structbo.samplers import Metropolis, default_sampler


class Slides(Metropolis):
    support = Adjacency

    def propose(self, key, conditional, point):  # each move is as likely as its reverse
        key_kind, key_ends = jax.random.split(key)
        i, j, k = jax.random.choice(key_ends, len(point.value), (3,), replace=False)
        one, other = point.value[i, j], point.value[i, k]
        flipped = point.value.at[i, j].set(1 - one).at[j, i].set(1 - one)
        slid = point.value.at[i, j].set(other).at[j, i].set(other)
        slid = slid.at[i, k].set(one).at[k, i].set(one)
        new = jnp.where(jax.random.bernoulli(key_kind), flipped, slid)
        return conditional.move(point, new), 0.0


X = np.random.default_rng(0).random((30, 4))
y = np.sin(5.0 * X[:, 0] * X[:, 1]) + X[:, 2]
model = AdditiveGP()
sampler = default_sampler(model, num_dims=4, blocks={"Z": Slides})
print(sb.fit(model, X, (y - y.mean()) / y.std(), sampler=sampler).edge_probabilities().mean)
