"""Gaussian process posteriors and likelihoods of draws, given data."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float
from numpyro import handlers

from structbo.data import Data
from structbo.draws.model import Draw, Draws
from structbo.models.foundation.accelerator import map_draws
from structbo.models.foundation.compilation import compiled
from structbo.models.foundation.program import one_trace
from structbo.models.gp import ConditionedGP
from structbo.models.likelihood import MarginalGP, Model, likelihood_site


def condition(model: Model, draws: Draws, data: Data) -> ConditionedGP:
    """The Gaussian process posterior of every draw; traceable.

    Args:
        model: a NumPyro model with one `MarginalGP` as observed site.
        draws: values of its latent sites, with the draws along the first axis.
        data: padded observations.

    Returns:
        A `ConditionedGP` with the draws along the first axis of its arrays.
    """
    y = jnp.asarray(data.y)
    return map_draws(lambda draw: likelihood_of(model, draw, data).condition(y), draws)


@compiled("model")
def log_likelihoods(model: Model, draws: Draws, data: Data) -> Float[Array, " S"]:
    """Log likelihood of every draw, with the arguments of `condition`."""
    y = jnp.asarray(data.y)
    return map_draws(lambda draw: likelihood_of(model, draw, data).log_prob(y), draws)


def num_inducing(model: Model, draws: dict[str, Any], data: Data) -> int | None:
    """Number of inducing points of the likelihood, see `MarginalGP`; None if it is exact.

    The function takes the arguments of `condition`, and computes no values.
    """

    def of_first(draws: dict[str, Any]) -> MarginalGP:
        return likelihood_of(model, jax.tree.map(lambda values: values[0], draws), data)

    with one_trace:
        likelihood = jax.eval_shape(of_first, draws)
    found: int | None = likelihood.num_inducing
    return found


def likelihood_of(model: Model, draw: Draw, data: Data) -> MarginalGP:
    """The likelihood of one draw; traceable."""
    run = handlers.trace(handlers.substitute(handlers.seed(model, 0), data=draw))
    args, kwargs = data.arguments
    trace = run.get_trace(*args, **kwargs)
    likelihood: MarginalGP = trace[likelihood_site(trace)]["fn"]
    return likelihood
