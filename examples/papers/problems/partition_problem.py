"""Observations of an additive process whose partition is known."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from numpyro import handlers
from scipy.stats import qmc

from structbo.models import AdditiveGP, UniformPartition, independent_lengthscale, partitions

NUM_DIMS, NUM_POINTS = 10, 50
ADDITIVE = AdditiveGP(partitions(), lengthscale=independent_lengthscale)


def observations(
    seed: int,
) -> tuple[Float[np.ndarray, "n D"], Float[np.ndarray, " n"], Int[np.ndarray, " D"]]:
    """Points, observations, and the labels of the true partition."""
    X = qmc.Halton(NUM_DIMS, seed=seed).random(NUM_POINTS)
    # The methods have another seed: with this one, the first model of the bag would be the truth.
    key_labels, key_y = jax.random.split(jax.random.key(1000 + seed))
    labels = UniformPartition(NUM_DIMS).sample(key_labels)
    known = {"lengthscale": jnp.full(NUM_DIMS, 1.0), "outputscale": 1.0, "noise": 1e-4}
    model = handlers.substitute(ADDITIVE, known | {"labels": labels})
    return X, np.asarray(handlers.seed(model, key_y)(X)), np.asarray(labels)
