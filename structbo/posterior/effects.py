"""Effects of one or two parameters: the function averaged over all others, with uncertainty.

Single components are not identified: a component can trade parts with another one that contains its
dimensions. Averages over the cube are identified. Averages of product kernels are products of
one-dimensional integrals, which quadrature computes to high precision.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, Key, Shaped

from structbo.models import ConditionedGP
from structbo.models.components import component_product
from structbo.models.foundation.arguments import checked_count
from structbo.models.foundation.arrays import AnyArray
from structbo.models.gp import Moments
from structbo.posterior.draws import PosteriorDraws
from structbo.posterior.quadrature import Axis, Quadrature, quadrature_of
from structbo.posterior.units import Description
from structbo.space import Scale
from structbo.space.long_lists import first_names


class Effect(NamedTuple):
    """The average of the function over all parameters but one or two.

    Args:
        names: names of the one or two parameters.
        grid: values of each of them, in the units of `Posterior.units`.
        scales: axis scale of each in plots, "linear", "log" or "labels".
        mean: posterior mean of the average, with an axis for each parameter.
        deviation: its posterior standard deviation.
        lower: its 5 % quantile.
        upper: its 95 % quantile.
    """

    names: tuple[str, ...]
    grid: tuple[Shaped[np.ndarray, " _"], ...]
    scales: tuple[Scale, ...]
    mean: Float[np.ndarray, "*grid"]
    deviation: Float[np.ndarray, "*grid"]
    lower: Float[np.ndarray, "*grid"]
    upper: Float[np.ndarray, "*grid"]

    @property
    def strength(self) -> float:
        """The standard deviation of the mean over the grid, the size of the effect."""
        return float(self.mean.std())


def posterior_effects(
    posterior: PosteriorDraws, which: Sequence[Sequence[str]], num_points: int, max_draws: int
) -> tuple[Effect, ...]:
    """The effects of several parameters or pairs of them; see `Posterior.effect`."""
    checked_count("num_points", num_points)
    axes = Axis.all_of(posterior)
    grids, points, is_kept = [], [], []
    for names in which:
        if (
            not set(names) <= set(posterior.names)
            or len(names) not in (1, 2)
            or len(set(names)) < len(names)
        ):
            raise ValueError(
                "names must be one or two different ones of "
                f"{first_names(posterior.names)}, got {first_names(names)}."
            )
        dims = [posterior.names.index(name) for name in names]
        grid = [axes[d].grid(num_points) for d in dims]
        mesh = np.stack(np.meshgrid(*grid, indexing="ij"), -1).reshape(-1, len(dims))
        kept = np.isin(np.arange(len(axes)), dims)
        points.append(np.zeros((len(mesh), len(kept))))
        points[-1][:, dims] = mesh
        is_kept.append(np.tile(kept, (len(mesh), 1)))
        grids.append(grid)
    everywhere = np.concatenate(points), np.concatenate(is_kept), quadrature_of(posterior)
    found = posterior.map_draws(_average, *everywhere, max_draws=max_draws)
    means, variances = map(np.asarray, found)
    return on_grids(posterior, which, grids, posterior.units.description(means, variances))


def on_grids(
    posterior: PosteriorDraws,
    which: Sequence[Sequence[str]],
    grids: Sequence[Sequence[Float[np.ndarray, " _"]]],
    found: Description,
) -> tuple[Effect, ...]:
    """Effects from a description at all points of their grids, one grid after the other.

    Args:
        posterior: the posterior.
        which: one or two names for each effect.
        grids: for each effect, one axis of unit coordinates per name.
        found: description of the function at the points.
    """
    units, axes = posterior.units, Axis.all_of(posterior)
    shapes = [[len(u) for u in grid] for grid in grids]
    ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
    quantities = [np.split(value, ends) for value in found]
    effects = []
    for names, grid, shape, *values in zip(which, grids, shapes, *quantities, strict=True):
        dims = [posterior.names.index(name) for name in names]
        effects.append(
            Effect(
                tuple(names),
                tuple(units.parameter_values(d, u) for d, u in zip(dims, grid, strict=True)),
                tuple(axes[d].scale for d in dims),
                *(value.reshape(shape) for value in values),
            )
        )
    return tuple(effects)


def _average(
    gp: ConditionedGP,
    key: Key[Array, ""],
    points: Float[Array, "m D"],
    is_kept: Bool[Array, "m D"],
    quadrature: Quadrature,
) -> Moments:
    return average(gp, points, is_kept, quadrature)


def average(
    gp: ConditionedGP,
    points: Float[AnyArray, "m D"],
    is_kept: Bool[AnyArray, "m D"],
    quadrature: Quadrature,
) -> Moments:
    """Mean and variance of averages of the function over some of its dimensions; traceable.

    Args:
        gp: the posterior of the function.
        points: coordinates of the kept dimensions; the others are ignored.
        is_kept: dimensions of each point that are not averaged over.
        quadrature: nodes and weights of the averages.
    """
    covariance = gp.covariance
    nodes, weights = (jnp.asarray(value) for value in quadrature)

    def factors(
        stretch: Float[Array, ""] | float = 1.0,
    ) -> tuple[Float[Array, "D m n"], Float[Array, "D m"]]:
        """Averaged correlations with the data, and variances of the averages."""

        def correlations(
            x: Float[Array, "a D"], other: Float[Array, "b D"]
        ) -> Float[Array, "D a b"]:
            return covariance.factors(x, other, stretch)

        averaged = jnp.einsum("qd,dqn->dn", weights, correlations(nodes, gp.x))
        own = jnp.einsum("qd,dqr,rd->d", weights, correlations(nodes, nodes), weights)
        exact = correlations(jnp.asarray(points), gp.x)
        to_data = jnp.where(is_kept.T[..., None], exact, averaged[:, None])
        own = jnp.where(
            is_kept.T, covariance.variance_factors(jnp.asarray(points), stretch), own[:, None]
        )
        # Rounding may leave a value that is not positive, whose logarithm below would be NaN.
        return to_data, jnp.maximum(own, jnp.finfo(own.dtype).tiny)

    decomposition, variances = covariance.decomposition, covariance.variances
    rows = decomposition.rows
    to_data, own = factors()

    def add(k: Int[Array, ""], total: Float[Array, "m n"]) -> Float[Array, "m n"]:
        product = component_product(to_data, decomposition.members[rows[k]])
        return total + variances[rows[k]] * product

    gram = jax.lax.fori_loop(0, decomposition.count, add, jnp.zeros(to_data.shape[1:]))
    prior = variances @ jnp.exp(decomposition.members @ jnp.log(own))
    residual = covariance.residual
    if residual is not None:
        to_data, own = factors(residual.stretch)
        gram, prior = (
            total + covariance.outputscale * (residual.of_factors(values) + residual.constant)
            for total, values in ((gram, to_data), (prior, own))
        )
    averaged = covariance.common_features(jnp.asarray(points), jnp.asarray(is_kept))
    gram = gram + averaged @ covariance.common_features(gp.x).T
    prior = prior + jnp.square(averaged).sum(1)
    return gp.moments(gram, prior)
