"""A model, and its likelihood: the one site that is a `MarginalGP`."""

from collections.abc import Callable, Mapping
from typing import Any

from structbo.models.gp import MarginalGP

Model = Callable[..., Any]
"""A NumPyro model, ``model(X, y=None, mask=None)``.

Where standard errors of observations are told it is called with ``known_noise``, too, variances of
shape (n,) for its `MarginalGP`.
"""


def gp_sites(trace: Mapping[str, Any]) -> list[str]:
    """The names of all sites of a trace that are a `MarginalGP`."""
    is_gp = {n: isinstance(s["fn"], MarginalGP) for n, s in trace.items() if s["type"] == "sample"}
    return [name for name in is_gp if is_gp[name]]


def likelihood_site(trace: Mapping[str, Any]) -> str:
    """The name of the site that is a `MarginalGP`.

    Args:
        trace: of the model, with or without observations.

    Raises:
        ValueError: if there is no such site, or there are several.

    Example:
        >>> import jax.numpy as jnp
        >>> from numpyro.handlers import seed, trace
        >>> from structbo.models import AdditiveGP
        >>> likelihood_site(trace(seed(AdditiveGP(), 0)).get_trace(jnp.zeros((2, 3))))
        'y'
    """
    found = gp_sites(trace)
    if len(found) != 1:
        kinds = {name: type(site["fn"]) for name, site in trace.items() if site["type"] == "sample"}
        sites = ", ".join(f"{name} ({kind.__name__})" for name, kind in kinds.items()) or "none"
        raise ValueError(
            f"the model must have one site that is a MarginalGP, got {len(found)} of them among "
            f"its sites: {sites}. The site of AdditiveGP is numpyro.sample('y', "
            "MarginalGP(covariance, X, noise, mask), obs=y)."
        )
    return found[0]
