"""The axes of a posterior: where its functions are looked at, and how they are averaged."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structbo.models.foundation.arrays import FloatArray
from structbo.posterior.draws import PosteriorDraws
from structbo.space import Scale
from structbo.space.parameters import nearest_level

NUM_NODES = 64
"""Nodes of Gauss-Legendre quadrature, enough for lengthscales above 0.05."""


class Quadrature(NamedTuple):
    """How to average over each dimension.

    Args:
        nodes: shape (Q, D).
        weights: of the nodes, summing to one over each column, shape (Q, D).
    """

    nodes: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, levels: Sequence[FloatArray | None], num_nodes: int = NUM_NODES) -> "Quadrature":
        """Equal weights on levels; Gauss-Legendre on the unit interval where there are none.

        Args:
            levels: of each of the D dimensions, in the unit interval, or None.
            num_nodes: of the integrals.
        """
        sizes = [len(values) for values in levels if values is not None]
        legendre = np.polynomial.legendre.leggauss(max([num_nodes, *sizes]))
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


def quadrature_of(posterior: PosteriorDraws, num_nodes: int = NUM_NODES) -> Quadrature:
    """How to average over the dimensions of a posterior.

    Raises:
        ValueError: if the levels of a category are unknown, or the model has a projection.
    """
    return Quadrature.of([axis.averaged for axis in Axis.all_of(posterior)], num_nodes)


def _categorical(posterior: PosteriorDraws) -> tuple[int, ...]:
    """The categorical dimensions of the model, which must not have a projection."""
    if posterior.is_projected:
        raise ValueError(
            "effects and importances need a model without a projection, whose averages do not "
            "factorize; average Posterior.predict over points instead."
        )
    return posterior.prior_covariance.categorical
