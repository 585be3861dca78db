"""Effects of one or two parameters: averages of the function over all others, with their errors.

Single components are not identified: a component over some dimensions and one over more of them can
trade the part that they have in common. Averages over the cube are identified. Averages of product
kernels are products of one-dimensional integrals, which quadrature gives to high precision.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from structbo.models import ConditionedGP
from structbo.models.arrays import FloatArray
from structbo.models.gram import component_product
from structbo.models.likelihood import likelihood_site
from structbo.posterior.draws import PosteriorDraws
from structbo.space import Scale
from structbo.space.parameters import nearest_level

NUM_NODES = 64
"""Nodes of Gauss-Legendre quadrature, enough for lengthscales above 0.05."""
NORMAL_95 = 1.6449
"""The 95 % quantile of the standard normal."""


class Effect(NamedTuple):
    """The average of the function over all parameters but one or two.

    Args:
        names: of the one or two parameters.
        grid: values of each of them, in the units of `Posterior.units`, shapes (m,).
        scales: on what axes pictures show them, "linear", "log" or "labels".
        mean: posterior mean of the average, shape (m,) or (m, k).
        deviation: its posterior standard deviation, the same shape.
    """

    names: tuple[str, ...]
    grid: tuple[NDArray[Any], ...]
    scales: tuple[Scale, ...]
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

    @property
    def strength(self) -> float:
        """The standard deviation of the mean over the grid: how much the effect matters."""
        return float(self.mean.std())


class Quadrature(NamedTuple):
    """How to average over each dimension.

    Args:
        nodes: shape (Q, D).
        weights: of the nodes, summing to one over each column, shape (Q, D).
    """

    nodes: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, levels: Sequence[FloatArray | None]) -> "Quadrature":
        """Equal weights on levels; Gauss-Legendre on the unit interval where there are none.

        Args:
            levels: of each of the D dimensions, in the unit interval, or None.
        """
        sizes = [len(values) for values in levels if values is not None]
        legendre = np.polynomial.legendre.leggauss(max([NUM_NODES, *sizes]))
        nodes, weights = (np.tile(v[:, None] / 2, (1, len(levels))) for v in legendre)
        nodes += 0.5
        for d, values in enumerate(levels):
            if values is not None:
                nodes[:, d], weights[:, d] = values[0], 0.0
                nodes[: len(values), d], weights[: len(values), d] = values, 1.0 / len(values)
        return cls(nodes, weights)


class Axis(NamedTuple):
    """One dimension, along which effects are seen and over which they are averaged.

    Args:
        scale: of pictures.
        is_category: whether it has no order.
        levels: the legal coordinates, or None for all of the unit interval.
    """

    scale: Scale
    is_category: bool
    levels: FloatArray | None

    @classmethod
    def all_of(cls, posterior: PosteriorDraws) -> "list[Axis]":
        """Those of all dimensions. Categories without a parameter have the levels that were seen.

        Raises:
            ValueError: if none was seen, or the model has a projection.
        """
        axes = []
        categorical = _categorical(posterior)
        for d, parameter in enumerate(posterior.units.space.parameters):
            levels, is_category = parameter.levels, parameter.is_categorical or d in categorical
            if is_category and levels is None:
                levels = np.unique(posterior.X[:, d])
                if not levels.size:
                    raise ValueError(
                        f"the levels of the categorical {posterior.names[d]!r} are unknown, as "
                        "there are neither observations nor units with a space."
                    )
            axes.append(cls("labels" if is_category else parameter.scale, is_category, levels))
        return axes

    def grid(self, num_points: int) -> FloatArray:
        """Coordinates to evaluate at: all levels of a category, else so many, evenly spread."""
        even = np.linspace(0.0, 1.0, num_points)
        if self.levels is None:
            return even
        if self.is_category or len(self.levels) <= num_points:
            return self.levels
        return self.levels[np.unique(nearest_level(self.levels, even))]

    @property
    def averaged(self) -> FloatArray | None:
        """The levels to average over, alike; None for an integral over the unit interval.

        Integrals are for real numbers, for numbers of a logarithmic scale, and for very many.
        """
        if self.levels is None or self.is_category:
            return self.levels
        return self.levels if self.scale != "log" and len(self.levels) <= NUM_NODES else None


def quadrature_of(posterior: PosteriorDraws) -> Quadrature:
    """How to average over the dimensions of a posterior."""
    return Quadrature.of([axis.averaged for axis in Axis.all_of(posterior)])


def posterior_effects(
    posterior: PosteriorDraws, which: Sequence[Sequence[str]], num_points: int, max_draws: int
) -> tuple[Effect, ...]:
    """The effects of several parameters or pairs of them; see `Posterior.effect`."""
    axes = Axis.all_of(posterior)
    all_dims, grids, points, is_kept = [], [], [], []
    for names in which:
        if (
            not set(names) <= set(posterior.names)
            or len(names) not in (1, 2)
            or len(set(names)) < len(names)
        ):
            raise ValueError(
                f"names must be one or two different ones of {posterior.names}, got {tuple(names)}."
            )
        dims = [posterior.names.index(name) for name in names]
        grid = [axes[d].grid(num_points) for d in dims]
        mesh = np.stack(np.meshgrid(*grid, indexing="ij"), -1).reshape(-1, len(dims))
        kept = np.isin(np.arange(len(axes)), dims)
        points.append(np.zeros((len(mesh), len(kept))))
        points[-1][:, dims] = mesh
        is_kept.append(np.tile(kept, (len(mesh), 1)))
        all_dims.append(dims)
        grids.append(grid)
    everywhere = np.concatenate(points), np.concatenate(is_kept), quadrature_of(posterior)
    found = posterior.map_draws(_average, *everywhere, max_draws=max_draws)
    means, variances = map(np.asarray, found)
    units, ends = posterior.units, np.cumsum([len(p) for p in points])[:-1]
    mean = np.split(units.values(means.mean(0)), ends)
    deviation = np.split(units.deviations(np.sqrt(variances.mean(0) + means.var(0))), ends)
    return tuple(
        Effect(
            tuple(names),
            tuple(units.parameter_values(d, u) for d, u in zip(dims, grid, strict=True)),
            tuple(axes[d].scale for d in dims),
            *(value.reshape([len(u) for u in grid]) for value in values),
        )
        for names, dims, grid, *values in zip(which, all_dims, grids, mean, deviation, strict=True)
    )


def _average(
    gp: ConditionedGP, key: Array, points: Array, is_kept: Array, quadrature: Quadrature
) -> tuple[Array, Array]:
    return average(gp, points, is_kept, quadrature)


def average(
    gp: ConditionedGP,
    points: Array | FloatArray,
    is_kept: Array | NDArray[np.bool_],
    quadrature: Quadrature,
) -> tuple[Array, Array]:
    """Mean and variance of averages of the function over some of its dimensions; traceable.

    Args:
        gp: the posterior of the function.
        points: where to evaluate in the dimensions that are kept, shape (m, D); the others are
            ignored.
        is_kept: which dimensions of each point are not averaged over, shape (m, D).
        quadrature: how to average.

    Returns:
        Two arrays of shape (m,).
    """
    covariance = gp.covariance
    nodes, weights = (jnp.asarray(value) for value in quadrature)

    def factors(stretch: Array | float = 1.0) -> tuple[Array, Array]:
        """Averaged correlations with the data (D, m, n), and of the averages themselves (D, m)."""

        def correlations(x: Array, other: Array) -> Array:
            return covariance.factors(x, other, stretch)

        averaged = jnp.einsum("qd,dqn->dn", weights, correlations(nodes, gp.x))
        own = jnp.einsum("qd,dqr,rd->d", weights, correlations(nodes, nodes), weights)
        exact = correlations(jnp.asarray(points), gp.x)
        to_data = jnp.where(is_kept.T[..., None], exact, averaged[:, None])
        # Positive but for rounding, which must not meet the logarithm below.
        own = jnp.maximum(own, jnp.finfo(own.dtype).tiny)
        return to_data, jnp.where(is_kept.T, 1.0, own[:, None])

    decomposition, variances = covariance.decomposition, covariance.variances
    rows = decomposition.rows
    to_data, own = factors()

    def add(k: Array, total: Array) -> Array:
        product = component_product(to_data, decomposition.members[rows[k]])
        return total + variances[rows[k]] * product

    gram = jax.lax.fori_loop(0, decomposition.count, add, jnp.zeros(to_data.shape[1:]))
    prior = variances @ jnp.exp(decomposition.members @ jnp.log(own))
    if covariance.rho is not None and covariance.kappa is not None:
        to_data, own = factors(covariance.kappa)
        share = covariance.outputscale * covariance.rho
        gram, prior = gram + share * to_data.prod(0), prior + share * own.prod(0)
    return gp.moments(gram, prior)


def _categorical(posterior: PosteriorDraws) -> tuple[int, ...]:
    """The categorical dimensions of the model, which must not have a projection."""
    covariance = posterior.trace[likelihood_site(posterior.trace)]["fn"].covariance
    if covariance.decomposition.projection is not None:
        raise ValueError(
            "effects need a model without a projection, whose averages do not factorize; average "
            "Posterior.predict over points instead."
        )
    return covariance.categorical
