"""How alike the choices of a category are, from their learned correlations."""

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Key

from structbo.models import ConditionedGP
from structbo.posterior.draws import PosteriorDraws
from structbo.posterior.quadrature import Axis

if TYPE_CHECKING:
    import pandas as pd


def choices_alike(posterior: PosteriorDraws, name: str) -> "pd.DataFrame":
    """The table of `Posterior.alike`."""
    import pandas as pd

    axes = dict(zip(posterior.names, Axis.all_of(posterior), strict=True))
    categories = [other for other, axis in axes.items() if axis.is_category]
    if name not in categories:
        raise ValueError(f"name must be a category, one of {categories}, got {name!r}.")
    dim = posterior.names.index(name)
    levels = np.asarray(axes[name].levels)
    if len(levels) < 2:
        raise ValueError(f"{name!r} has one choice, which no other one can be like.")
    points = np.zeros((len(levels), len(posterior.names)))
    points[:, dim] = levels
    gaps = posterior.map_draws(_squared_gaps, points)[:, dim]
    average = gaps.sum((1, 2), keepdims=True) / (len(levels) * (len(levels) - 1))
    choices = list(posterior.units.parameter_values(dim, levels))
    return pd.DataFrame((1.0 - gaps / average).mean(0), index=choices, columns=choices)


def _squared_gaps(
    gp: ConditionedGP, key: Key[Array, ""], points: Float[Array, "L D"]
) -> Float[Array, "D L L"]:
    """Expected squared differences of one-dimensional functions between points."""
    factors = gp.covariance.factors(points, points)
    variances = jnp.diagonal(factors, axis1=1, axis2=2)
    return variances[:, :, None] + variances[:, None] - 2.0 * factors
