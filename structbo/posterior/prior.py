"""Draws from the prior of a model."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Key, Shaped
from numpyro import handlers

from structbo.data import Data
from structbo.models.foundation.arguments import checked_count, checked_seed
from structbo.models.foundation.compilation import compiled
from structbo.models.foundation.precision import double_precision
from structbo.models.likelihood import Model, likelihood_site


class Keys(NamedTuple):
    """Random keys, all split from one.

    Args:
        prior: key of the draws from the prior.
        predictive: key of the predictive observations.
    """

    prior: Key[Array, ""]
    predictive: Key[Array, ""]

    @classmethod
    def of(cls, seed: int) -> "Keys":
        """The keys of a seed; the key of the prior does not depend on other draws."""
        return cls(*jax.random.split(jax.random.key(checked_seed(seed))))


def prior_draws(
    model: Model, data: Data, key: Key[Array, ""], num_draws: int
) -> tuple[dict[str, Shaped[np.ndarray, "1 draws ..."]], Float[np.ndarray, "1 draws n"]]:
    """Draws of all sites from the prior, inside the structure's hard bounds.

    Factors of the model, as of ``numpyro.factor``, belong to its prior: draws are resampled with
    probabilities in proportion to them. Equal draws are neighbors, so that the autocorrelation, and
    with it the effective sample size, accounts for them.

    Args:
        model: a NumPyro model, ``model(X, mask=mask)``, with one `MarginalGP`.
        data: padded points of the unit cube; their observations are ignored.
        key: a JAX random key; draws of the latent sites do not depend on the data.
        num_draws: how many draws to try.

    Returns:
        Values of all latent sites, and observations, as draws of one chain.

    Raises:
        ValueError: if the model does not have exactly one `MarginalGP`, or num_draws is zero.
    """
    drawing, choosing = jax.random.split(key)
    keys = jax.random.split(drawing, checked_count("num_draws", num_draws))
    with double_precision():
        values, y, is_inside, factor = _drawn(model, data, keys)
        latent, replicated, kept = jax.tree.map(np.asarray, (values, y, np.flatnonzero(is_inside)))
        if len(np.unique(factor[kept])) > 1:
            again = jax.random.categorical(choosing, factor[kept], shape=kept.shape)
            kept = kept[np.sort(again)]
    return {name: value[None, kept] for name, value in latent.items()}, replicated[None, kept]


@compiled("model")
def _drawn(
    model: Model, data: Data, keys: Key[Array, " S"]
) -> tuple[
    dict[str, Shaped[Array, "S ..."]], Float[Array, "S n"], Bool[Array, " S"], Float[Array, " S"]
]:
    """Values of latent sites, observations, whether they are inside hard bounds, log factors."""

    def one(
        key: Key[Array, ""],
    ) -> tuple[
        dict[str, Shaped[Array, "..."]], Float[Array, " n"], Bool[Array, ""], Float[Array, ""]
    ]:
        trace = handlers.trace(handlers.seed(model, key)).get_trace(data.x, **data.arguments[1])
        sites = {n: s for n, s in trace.items() if s["type"] in ("sample", "deterministic")}
        known = {name for name, site in sites.items() if site.get("is_observed")}
        values = {n: jnp.asarray(s["value"]) for n, s in sites.items() if n not in known}
        factors = [jnp.sum(sites[n]["fn"].log_prob(sites[n]["value"])) for n in known]
        site = likelihood_site(trace)
        y = values.pop(site)
        is_inside = trace[site]["fn"].covariance.decomposition.is_inside
        return values, y, is_inside, jnp.asarray(sum(factors, 0.0))

    return jax.lax.map(one, keys)
