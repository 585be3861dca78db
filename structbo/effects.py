"""Effects of one or two parameters: averages of the function over all others, with their errors.

A component over some dimensions and one over more of them can trade what they have in common, so
single components are not identified; averages over the cube are. Averages of product kernels are
products of one-dimensional integrals, which quadrature gives to high precision.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from structbo.models import ConditionedGP
from structbo.models.gram import component_product
from structbo.models.kernels import correlation_factors

if TYPE_CHECKING:
    from structbo.posterior import Posterior

FloatArray = NDArray[np.float64]
NUM_NODES = 64
"""Nodes of Gauss-Legendre quadrature, enough for lengthscales above 0.05."""
NORMAL_95 = 1.6449
"""The quantile of the standard normal that 5 % are above."""


class Effect(NamedTuple):
    """The average of the function over all parameters but one or two.

    Args:
        names: of the one or two parameters.
        grid: values of each of them on the unit interval, shapes (m,).
        mean: posterior mean of the average, shape (m,) or (m, k).
        deviation: its posterior standard deviation, the same shape.
    """

    names: tuple[str, ...]
    grid: tuple[FloatArray, ...]
    mean: FloatArray
    deviation: FloatArray

    @property
    def lower(self) -> FloatArray:
        """The 5 % quantile of a normal with this mean and deviation."""
        return self.mean - NORMAL_95 * self.deviation

    @property
    def upper(self) -> FloatArray:
        """The 95 % quantile of a normal with this mean and deviation."""
        return self.mean + NORMAL_95 * self.deviation


class Quadrature(NamedTuple):
    """How to average over each dimension.

    Args:
        nodes: shape (Q, D).
        weights: of the nodes, summing to one over each column, shape (Q, D).
    """

    nodes: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, X: FloatArray, categorical: Sequence[int] = ()) -> "Quadrature":
        """Gauss-Legendre on the unit interval; equal weights on the observed levels of a category.

        Args:
            X: observed points of the unit cube, shape (n, D).
            categorical: indices of the categorical dimensions.
        """
        levels = {d: np.unique(X[:, d]) for d in categorical}
        legendre = np.polynomial.legendre.leggauss(max([NUM_NODES, *map(len, levels.values())]))
        nodes, weights = (np.tile(v[:, None] / 2, (1, X.shape[1])) for v in legendre)
        nodes += 0.5
        for d, values in levels.items():
            nodes[:, d], weights[:, d] = values[0], 0.0
            nodes[: len(values), d], weights[: len(values), d] = values, 1.0 / len(values)
        return cls(nodes, weights)


def effect(posterior: "Posterior", names: Sequence[str], num_points: int, max_draws: int) -> Effect:
    """The effect of one or two parameters; see `Posterior.effect`."""
    unknown = set(names) - set(posterior.names)
    if unknown or len(set(names)) != len(names) or not 1 <= len(names) <= 2:
        raise ValueError(
            f"names must be one or two different ones of {posterior.names}, got {tuple(names)}."
        )
    kept = [posterior.names.index(name) for name in names]
    categorical = _categorical(posterior)
    grid = tuple(
        np.unique(posterior.X[:, d]) if d in categorical else np.linspace(0.0, 1.0, num_points)
        for d in kept
    )
    points = np.zeros((int(np.prod([len(g) for g in grid])), len(posterior.names)))
    points[:, kept] = np.stack(np.meshgrid(*grid, indexing="ij"), -1).reshape(-1, len(kept))
    quadrature = Quadrature.of(posterior.X, categorical)
    means, variances = posterior.map_draws(
        lambda gp, _: average(gp, points, np.isin(np.arange(points.shape[1]), kept), quadrature),
        max_draws=max_draws,
    )
    shape = [len(g) for g in grid]
    deviation = np.sqrt(variances.mean(0) + means.var(0))
    return Effect(tuple(names), grid, means.mean(0).reshape(shape), deviation.reshape(shape))


def average(
    gp: ConditionedGP, points: FloatArray, is_kept: NDArray[np.bool_], quadrature: Quadrature
) -> tuple[Array, Array]:
    """Mean and variance of averages of the function over some of its dimensions; traceable.

    Args:
        gp: the posterior of the function.
        points: where to evaluate in the dimensions that are kept, shape (m, D); the others are
            ignored.
        is_kept: which dimensions are not averaged over, shape (D,).
        quadrature: how to average.

    Returns:
        Two arrays of shape (m,).
    """
    covariance = gp.covariance
    nodes, weights = (jnp.asarray(value) for value in quadrature)

    def factors(lengthscale: Array) -> tuple[Array, Array]:
        """Averaged correlations with the data (D, m, n), and of the averages themselves (D,)."""

        def correlations(x: Array, other: Array) -> Array:
            return jnp.asarray(
                correlation_factors(
                    covariance.kernel, covariance.categorical, x, other, lengthscale
                )
            )

        averaged = jnp.einsum("qd,dqn->dn", weights, correlations(nodes, gp.x))
        own = jnp.einsum("qd,dqr,rd->d", weights, correlations(nodes, nodes), weights)
        exact = correlations(jnp.asarray(points), gp.x)
        to_data = jnp.where(is_kept[:, None, None], exact, averaged[:, None])
        return to_data, jnp.where(is_kept, 1.0, own)

    decomposition, variances = covariance.decomposition, covariance.variances
    to_data, own = factors(covariance.lengthscale)

    def add(component: Array, total: Array) -> Array:
        product = component_product(to_data, decomposition.members[component])
        return total + variances[component] * product

    gram = jax.lax.fori_loop(0, decomposition.count, add, jnp.zeros(to_data.shape[1:]))
    prior = variances @ jnp.where(decomposition.members, own, 1.0).prod(1)
    if covariance.rho is not None and covariance.kappa is not None:
        to_data, own = factors(covariance.kappa * covariance.lengthscale)
        share = covariance.outputscale * covariance.rho
        gram, prior = gram + share * to_data.prod(0), prior + share * own.prod()
    return gp.moments(gram, prior)


def _categorical(posterior: "Posterior") -> tuple[int, ...]:
    """The categorical dimensions of the model, which must not have a projection."""
    covariance = posterior.trace["y"]["fn"].covariance
    if covariance.decomposition.projection is not None:
        raise ValueError(
            "effects need a model without a projection, whose averages do not factorize; average "
            "Posterior.predict over points instead."
        )
    return covariance.categorical
