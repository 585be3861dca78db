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
from structbo.samplers.conditional import trace_log_density


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
        ValueError: if the model does not have exactly one `MarginalGP`, a prior has no draws, or
            num_draws is zero.
    """
    drawing, choosing = jax.random.split(key)
    keys = jax.random.split(drawing, checked_count("num_draws", num_draws))
    with double_precision():
        try:
            values, y, is_inside, factor = _drawn(model, data, keys)
        except NotImplementedError as error:  # of NumPyro's ImproperUniform
            raise ValueError(
                "a prior of the model has no draws, as ImproperUniform has none: give its site a "
                "distribution that can be drawn from."
            ) from error
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
        likelihood = sites.pop(likelihood_site(trace))
        known = {name: site for name, site in sites.items() if site.get("is_observed")}
        latent = {name: site for name, site in sites.items() if name not in known}
        # A draw of a site has its density once, and the model has it to the power of its scale.
        scaled = {name: site for name, site in latent.items() if site.get("scale") is not None}
        once = {name: site | {"scale": None} for name, site in scaled.items()}
        factor = trace_log_density(known | scaled) - trace_log_density(once)
        values = {name: jnp.asarray(site["value"]) for name, site in latent.items()}
        y = jnp.asarray(likelihood["value"])
        is_inside = likelihood["fn"].covariance.decomposition.is_inside
        return values, y, is_inside, factor

    return jax.lax.map(one, keys)
