"""Draws from the prior of a model."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray
from numpyro import handlers

from structbo.models.likelihood import likelihood_site
from structbo.models.precision import double_precision


class Keys(NamedTuple):
    """Keys for random draws, all split from one.

    Args:
        prior: of the draws from the prior.
        predictive: of the predictive observations.
    """

    prior: Array
    predictive: Array

    @classmethod
    def of(cls, seed: int) -> "Keys":
        """The keys of a seed; those for the prior are the same whatever else is drawn."""
        return cls(*jax.random.split(jax.random.key(seed)))


def prior_draws(
    model: Callable[..., Any], X: ArrayLike, key: Array, num_draws: int
) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
    """Draws of all sites from the prior inside its hard bounds.

    Args:
        model: a NumPyro model, ``model(X)``, with one `MarginalGP`.
        X: points of the unit cube, shape (n, D).
        key: a JAX random key; draws of the latent sites do not depend on X.
        num_draws: how many draws to try.

    Returns:
        Values of all latent sites, each of shape (1, draws, ...), and observations, (1, draws, n).

    Raises:
        ValueError: if the model has no `MarginalGP`, or several.
    """

    def one(key: Array) -> tuple[dict[str, Array], Array, Array]:
        trace = handlers.trace(handlers.seed(model, key)).get_trace(jnp.asarray(X))
        values = {
            name: jnp.asarray(site["value"])
            for name, site in trace.items()
            if site["type"] in ("sample", "deterministic")
        }
        site = likelihood_site(trace)
        y = values.pop(site)
        return values, y, trace[site]["fn"].covariance.decomposition.is_inside

    with double_precision():
        values, y, is_inside = jax.lax.map(one, jax.random.split(key, num_draws))
        latent, replicated, kept = jax.tree.map(np.asarray, (values, y, is_inside))
    return {name: value[None, kept] for name, value in latent.items()}, replicated[None, kept]
