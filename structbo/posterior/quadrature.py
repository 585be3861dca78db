"""The axes of a posterior: grids for effects, and quadrature for averages."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from structbo.models.foundation.arrays import AnyArray
from structbo.models.kernels.centered import legendre
from structbo.posterior.draws import PosteriorDraws
from structbo.space import Scale, Space
from structbo.space.parameters import nearest_level

NUM_NODES = 64
"""Nodes of Gauss-Legendre quadrature, enough for lengthscales above 0.05."""


class Quadrature(NamedTuple):
    """Nodes and weights for averages over each dimension.

    Args:
        nodes: coordinates in the unit interval.
        weights: weights of the nodes, each column summing to one.
    """

    nodes: Float[AnyArray, "Q D"]
    weights: Float[AnyArray, "Q D"]

    @classmethod
    def of(
        cls, levels: Sequence[Float[np.ndarray, " _"] | None], num_nodes: int = NUM_NODES
    ) -> "Quadrature":
        """Equal weights on levels, Gauss-Legendre on the unit interval for dimensions without.

        Args:
            levels: levels of each of the D dimensions, in the unit interval, or None.
            num_nodes: number of Gauss-Legendre nodes.
        """
        sizes = [len(values) for values in levels if values is not None]
        rule = legendre(max([num_nodes, *sizes]))
        nodes, weights = (np.tile(v[:, None], (1, len(levels))) for v in rule)
        for d, values in enumerate(levels):
            if values is not None:
                nodes[:, d], weights[:, d] = values[0], 0.0
                nodes[: len(values), d], weights[: len(values), d] = values, 1.0 / len(values)
        return cls(nodes, weights)


class Axis(NamedTuple):
    """One dimension: its grid for effects and its levels for averages.

    Args:
        scale: axis scale in plots.
        is_category: whether its levels have no order.
        levels: the legal coordinates, or None for the whole unit interval.
    """

    scale: Scale
    is_category: bool
    levels: Float[np.ndarray, " L"] | None

    @classmethod
    def all_of(cls, posterior: PosteriorDraws) -> "list[Axis]":
        """The axes of all dimensions; a category without a parameter has its observed levels.

        Raises:
            ValueError: if such a category has no observations, or the model has a projection.
        """
        axes = cls.of_space(posterior.units.space)
        for d in _categorical(posterior):
            levels = axes[d].levels
            if levels is None:
                levels = np.unique(posterior.X[:, d])
                if not levels.size:
                    raise ValueError(
                        f"the levels of the categorical {posterior.names[d]!r} are unknown: pass "
                        "observations, or units with a space."
                    )
            axes[d] = cls("labels", True, levels)
        return axes

    @classmethod
    def of_space(cls, space: Space) -> "list[Axis]":
        """The axes of the parameters of a space."""
        return [
            cls("labels" if p.is_categorical else p.scale, p.is_categorical, p.levels)
            for p in space.parameters
        ]

    def grid(self, num_points: int) -> Float[np.ndarray, " m"]:
        """Coordinates of effects: all levels of a category, else at most num_points levels."""
        even = np.linspace(0.0, 1.0, num_points)
        if self.levels is None:
            return even
        if self.is_category or len(self.levels) <= num_points:
            return self.levels
        return self.levels[np.unique(nearest_level(self.levels, even))]

    @property
    def averaged(self) -> Float[np.ndarray, " L"] | None:
        """The levels to average over; None for an integral over the unit interval.

        Integrals replace averages on a logarithmic scale and over more than `NUM_NODES` levels.
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
            "effects and importances need a model without a projection, because averages over a "
            "projection do not factorize; average Posterior.predict over points instead."
        )
    return posterior.prior_covariance.categorical
