"""Directions learned one after the other, on what earlier ones leave: projection pursuit."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.typing import ArrayLike
from jaxtyping import Float

from structbo.data import Data, checked_data
from structbo.draws.conditioning import condition
from structbo.draws.evidence import maximum_likelihood
from structbo.models import AdditiveGP, fully_dependent, independent_lengthscale, projections
from structbo.models.foundation.precision import double_precision

MAX_EVALUATIONS = 100
"""Evaluations of the search for one direction."""
EXPLAINED = 1e-6
"""Standard deviation of residuals below which earlier directions explain the observations."""

_condition = jax.jit(condition, static_argnums=0)


def pursued_directions(
    X: ArrayLike, y: ArrayLike, *, start: ArrayLike | None = None
) -> Float[np.ndarray, "D D"]:
    """Directions of a sum of functions of one projection each, learned one after the other.

    Each direction has the highest likelihood of a process of one projection, given the residuals of
    the directions before it.

    Args:
        X: points of the unit cube, shape (n, D).
        y: standardized observations, shape (n,).
        start: directions at which the searches start, such as the directions given fewer
            observations, shape (D, D); by default the axes.

    Returns:
        The directions, in columns. Once the observations are explained, the remaining ones stay at
        their starts.

    References:
        Gilboa, Saatci and Cunningham 2013, "Scaling multidimensional Gaussian processes using
        projected additive approximations", whose state-space likelihood is exact here; Li et al.
        2016, algorithm 2, step 1.

    Example:
        >>> X = np.random.default_rng(0).random((30, 2))
        >>> W = pursued_directions(X, np.sin(4.0 * (X[:, 0] + X[:, 1])))
        >>> bool(abs(W[0, 0] / W[1, 0] - 1.0) < 0.05)
        True
    """
    X, y = checked_data(X, y)
    W = np.eye(X.shape[1]) if start is None else np.array(start, float)
    model, residual = _one_projection(), y - y.mean()
    for k in range(X.shape[1]):
        scale = residual.std()
        if scale < EXPLAINED:
            break
        target = residual / scale
        fit = maximum_likelihood(
            model, X, target, {}, start={"W": W[:, [k]]}, max_evaluations=MAX_EVALUATIONS
        )
        W[:, k] = np.asarray(fit.values["W"])[:, 0]
        with double_precision():
            draws = {name: jnp.asarray(value)[None] for name, value in fit.values.items()}
            process = _condition(model, draws, Data.padded(X, target))
            mean, _ = jax.tree.map(lambda leaf: leaf[0], process).predict(jnp.asarray(X))
        residual = residual - scale * np.asarray(mean)
    return W


@cache
def _one_projection() -> AdditiveGP:
    """A process of one projection; made at first use, because priors start JAX's backend."""
    structure = projections(_normal_line, fully_dependent())
    return AdditiveGP(structure, lengthscale=independent_lengthscale)


def _normal_line(num_dims: int) -> dist.Distribution:
    return dist.Normal(jnp.zeros((num_dims, 1)), 1.0).to_event(2)
