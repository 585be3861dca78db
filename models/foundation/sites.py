"""Sites of a model: numbers that a prior draws or fixes, and sums."""

from typing import Any

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array


def sampled(name: str, prior: dist.Distribution, **options: Any) -> Array:
    """A site as an array of JAX, also where a handler has a value of NumPy for it.

    A point mass becomes a deterministic site, as no Markov chain can move it.

    Args:
        name: name of the site.
        prior: its prior; `numpyro.distributions.Delta` fixes the value.
        options: other arguments of `numpyro.sample`.

    Example:
        >>> float(sampled("noise", dist.Delta(0.01)))
        0.01
    """
    if is_point_mass(prior):
        return numpyro.deterministic(name, jnp.broadcast_to(_innermost(prior).v, prior.shape()))
    return jnp.asarray(numpyro.sample(name, prior, **options))


def is_point_mass(prior: dist.Distribution) -> bool:
    """Whether a distribution is one value, or an array of such distributions.

    Example:
        >>> is_point_mass(dist.Delta(1.0).expand([3]).to_event(1)), is_point_mass(dist.Normal())
        (True, False)
    """
    return isinstance(_innermost(prior), dist.Delta)


def is_summed(site: dict[str, Any]) -> bool:
    """Whether NumPyro marginalizes a discrete site by enumeration."""
    return bool(site["type"] == "sample" and site["infer"].get("enumerate") == "parallel")


def _innermost(prior: dist.Distribution) -> Any:
    while isinstance(prior, dist.Independent | dist.ExpandedDistribution | dist.MaskedDistribution):
        prior = prior.base_dist
    return prior
