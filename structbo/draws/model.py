"""The model of a search, and what draws of its sites are."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from jax import Array

from structbo.models import AdditiveGP, Residual

Draws = dict[str, Array]
"""Values of all latent sites, with the draws along the first axis."""
Model = Callable[..., Any]
"""A NumPyro model, ``model(X, y=None, mask=None)``."""


def default_model(categorical: tuple[int, ...] = (), has_residual: bool = True) -> AdditiveGP:
    """The model of `suggest`: main effects, a random graph of pairs, and a residual.

    The same arguments give the same object, whose compiled samplers are then shared.

    Args:
        categorical: indices of categorical dimensions.
        has_residual: whether there is one more component over all dimensions, which explains what
            main effects and pairs do not.

    Example:
        >>> default_model() is default_model(categorical=())
        True
    """
    return _default_model(tuple(categorical), bool(has_residual))


@lru_cache(maxsize=32)
def _default_model(categorical: tuple[int, ...], has_residual: bool) -> AdditiveGP:
    return AdditiveGP(residual=Residual() if has_residual else None, categorical=categorical)
