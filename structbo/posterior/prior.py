"""Draws from the prior of a model."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray
from numpyro import handlers

from structbo.models.precision import double_precision


def prior_draws(
    model: Callable[..., Any], X: ArrayLike, seed: int, num_draws: int
) -> dict[str, NDArray[Any]]:
    """Draws of all sites from the prior inside its hard bounds.

    Args:
        model: a NumPyro model, ``model(X)``, whose site ``y`` is a `MarginalGP`.
        X: points of the unit cube, shape (n, D).
        seed: of the draws; those of the latent sites do not depend on X.
        num_draws: how many draws to try.

    Returns:
        Values of all sites, each of shape (1, draws, ...).
    """

    def one(key: Array) -> tuple[dict[str, Array], Array]:
        trace = handlers.trace(handlers.seed(model, key)).get_trace(jnp.asarray(X))
        values = {
            name: jnp.asarray(site["value"])
            for name, site in trace.items()
            if site["type"] in ("sample", "deterministic")
        }
        return values, trace["y"]["fn"].covariance.decomposition.is_inside

    with double_precision():
        values, valid = jax.lax.map(one, jax.random.split(jax.random.key(seed), num_draws))
    return {name: np.asarray(value)[None, np.asarray(valid)] for name, value in values.items()}
