"""Acquisition functions, marginalized over posterior draws.

An *additive* acquisition is a sum over components, so message passing maximizes it exactly; a
*joint* one is evaluated on whole points. Both average over draws before anything is maximized.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.stats import norm
from jax.tree_util import register_dataclass

from structbo.models.gp import ConditionedGP, SamplePath
from structbo.models.marginal import solve_lower

LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def half_log(t: float) -> float:
    """The exploration parameter ``beta_t = log(2 t) / 2`` (Rolland et al. 2018, table 1).

    Args:
        t: how many observations there are.

    Example:
        >>> round(half_log(50), 3)
        2.303
    """
    return 0.5 * math.log(2.0 * max(t, 1.0))


@partial(register_dataclass, data_fields=["groups", "rows"], meta_fields=[])
@dataclass(frozen=True)
class Components:
    """All components that any of S draws has, by size, and where each draw keeps them.

    Args:
        groups: by size, the members of every component, shape (F, size), -1 for padding.
        rows: by size, the row of each draw's decomposition that holds it, shape (S, F), -1 where a
            draw lacks it.
    """

    groups: tuple[np.ndarray | Array, ...]
    rows: tuple[np.ndarray | Array, ...]

    @classmethod
    def of(cls, members: np.ndarray, max_size: int | None = None) -> "Components":
        """Collects the components of stacked decompositions.

        Groups are padded to a few sizes, so that the unions of a run share one compilation.

        Args:
            members: bool, shape (S, C, D).
            max_size: leaves out components of more members, whose tables would not fit.
        """
        num_draws, _, num_dims = members.shape
        sizes = members.sum(2)
        is_kept = (sizes > 0) & (sizes <= (num_dims if max_size is None else max_size))
        found: dict[tuple[int, ...], np.ndarray] = {}
        for draw, row in zip(*np.nonzero(is_kept), strict=True):
            scope = tuple(np.flatnonzero(members[draw, row]).tolist())
            found.setdefault(scope, np.full(num_draws, -1))[draw] = row
        groups, rows = [], []
        for size in sorted({1, min(2, num_dims), *map(len, found)}):
            scopes = sorted(scope for scope in found if len(scope) == size)
            needed = max(4 * num_dims, 1 << max(len(scopes) - 1, 0).bit_length())
            room = min(needed, math.comb(num_dims, size))
            groups.append(np.full((room, size), -1))
            rows.append(np.full((num_draws, room), -1))
            for index, scope in enumerate(scopes):
                groups[-1][index], rows[-1][:, index] = scope, found[scope]
        return cls(tuple(groups), tuple(rows))


@dataclass(frozen=True)
class AdditiveAcquisition(ABC):
    """A mean over draws of a sum over components, as message passing wants it.

    Args:
        draws: what the draws are conditioned on, stacked along the first axis.
        components: the union of their components.
    """

    draws: Any
    components: Components

    @abstractmethod
    def component(self, draw: Any, row: Array, coordinates: Array, factors: Array) -> Array:
        """One component of one draw on the product of the grids of its s members.

        Args:
            draw: one of ``draws``.
            row: which component of the draw.
            coordinates: the grids, shape (s, G).
            factors: correlations of the grids with the data, zero for padding, shape (s, G, n).

        Returns:
            Shape (G^s,).
        """

    @property
    def scopes(self) -> tuple[np.ndarray, ...]:
        """Members of all components, by size, each of shape (F, size)."""
        return tuple(np.asarray(group) for group in self.components.groups)

    def tables(self, grids: Array) -> tuple[Array, ...]:
        """The components on grids (D, G): by size, shape (F, G, ..., G)."""
        num_grid = grids.shape[1]
        groups = tuple(jnp.asarray(group) for group in self.components.groups)

        def add_draw(totals: tuple[Array, ...], item: Any) -> tuple[tuple[Array, ...], None]:
            draw, rows = item
            posterior = draw if isinstance(draw, ConditionedGP) else draw.posterior
            factors = posterior.covariance.factors(grids.T, posterior.x) * posterior.mask

            def table(scope_and_row: tuple[Array, Array]) -> Array:
                scope, row = scope_and_row
                size = num_grid ** len(scope)
                return jax.lax.cond(
                    row >= 0,
                    lambda: self.component(draw, row, grids[scope], factors[scope]),
                    lambda: jnp.zeros(size),
                )

            flat = [jax.lax.map(table, pair) for pair in zip(groups, rows, strict=True)]
            return tuple(t + f for t, f in zip(totals, flat, strict=True)), None

        zeros = tuple(jnp.zeros((len(g), num_grid ** g.shape[1])) for g in groups)
        rows = tuple(jnp.asarray(r) for r in self.components.rows)
        totals, _ = jax.lax.scan(add_draw, zeros, (self.draws, rows))
        num_draws = rows[0].shape[0]
        return tuple(
            (total / num_draws).reshape(len(g), *[num_grid] * g.shape[1])
            for total, g in zip(totals, groups, strict=True)
        )

    def __call__(self, x: Array) -> Array:
        """The acquisition at points, shape (m, D): shape (m,)."""
        return jax.lax.map(lambda p: sum(t.sum() for t in self.tables(p[:, None])), x)


@partial(register_dataclass, data_fields=["draws", "components", "beta"], meta_fields=[])
@dataclass(frozen=True)
class AdditiveUCB(AdditiveAcquisition):
    """Sum over components of mean plus ``sqrt(beta)`` deviations, averaged over draws.

    The deviation is that of the component itself, without observation noise.

    Args:
        draws: posteriors, `ConditionedGP`, stacked along the first axis.
        components: the union of their components.
        beta: exploration parameter, for example `half_log` of the number of observations.

    References:
        Rolland et al. 2018, eq. (5) and (6).
    """

    beta: Array | float

    def component(
        self, draw: ConditionedGP, row: Array, coordinates: Array, factors: Array
    ) -> Array:
        variance = draw.covariance.variances[row]
        to_data = variance * _outer(factors)
        explained = jnp.square(solve_lower(draw.cholesky, to_data.T)).sum(0)
        deviation = jnp.sqrt(jnp.maximum(variance - explained, 1e-12))
        return to_data @ draw.alpha + jnp.sqrt(self.beta) * deviation


@partial(register_dataclass, data_fields=["draws", "components"], meta_fields=[])
@dataclass(frozen=True)
class ThompsonSample(AdditiveAcquisition):
    """Components of functions drawn from the posterior; with one draw, a sample of the objective.

    Args:
        draws: sample paths, `SamplePath`, stacked along the first axis.
        components: the union of their components.

    References:
        Wilson et al. 2020, for pathwise conditioning.
    """

    def component(self, draw: SamplePath, row: Array, coordinates: Array, factors: Array) -> Array:
        covariance = draw.posterior.covariance
        members = jnp.argsort(~covariance.decomposition.members[row], stable=True)
        frequencies = draw.frequencies[:, members[: len(coordinates)]]
        waves = jnp.exp(1j * coordinates[:, :, None] * frequencies.T[:, None, :])
        amplitudes = draw.weights[row] * jnp.exp(1j * draw.phases[row])
        prior = (_outer(waves) @ amplitudes).real
        variance = covariance.variances[row]
        return jnp.sqrt(variance) * prior + variance * _outer(factors) @ draw.update


@partial(register_dataclass, data_fields=["draws", "incumbent"], meta_fields=[])
@dataclass(frozen=True)
class LogEI:
    """Log of the expected improvement of the whole function, averaged over draws.

    Args:
        draws: posteriors, `ConditionedGP`, stacked along the first axis.
        incumbent: what to improve on, one value per draw, shape (S,).

    References:
        Ament et al. 2023, "Unexpected improvements to expected improvement"; Gardner et al. 2017,
        eq. (10), for the mean over structures.
    """

    draws: ConditionedGP
    incumbent: Array

    @classmethod
    def of(cls, draws: ConditionedGP) -> "LogEI":
        """Improvement on the best posterior mean at an observed point: noise cannot fool it."""

        def best_mean(posterior: ConditionedGP) -> Array:
            noise_free = posterior.covariance(posterior.x, posterior.x)
            mean = jnp.where(posterior.mask, noise_free, 0.0) @ posterior.alpha
            return jnp.where(posterior.mask, mean, -jnp.inf).max()

        return cls(draws, jax.lax.map(best_mean, draws))

    def __call__(self, x: Array) -> Array:
        """The acquisition at points, shape (m, D): shape (m,)."""

        def of_draw(item: tuple[ConditionedGP, Array]) -> Array:
            posterior, incumbent = item
            mean, variance = posterior.predict(x)
            deviation = jnp.sqrt(variance + 1e-12)
            return jnp.log(deviation) + log_improvement((mean - incumbent) / deviation)

        by_draw = jax.lax.map(of_draw, (self.draws, self.incumbent))
        return jax.nn.logsumexp(by_draw, axis=0) - math.log(by_draw.shape[0])


def log_improvement(z: Array) -> Array:
    """``log(pdf(z) + z cdf(z))`` for the standard normal, accurate and smooth for all z.

    Args:
        z: standardized gaps, any shape.

    Returns:
        The same shape.

    Example:
        >>> bool(jnp.isfinite(log_improvement(jnp.array(-1e6))))
        True
    """
    middle = jnp.clip(z, -25.0, 20.0)
    log_pdf = -0.5 * middle * middle - LOG_SQRT_2PI
    ratio = jnp.exp(norm.logcdf(middle) - log_pdf)
    near = log_pdf + jnp.log1p(middle * ratio)
    far = jnp.minimum(z, -25.0)
    series = jnp.log1p((15.0 / (far * far) - 3.0) / (far * far))
    tail = -0.5 * far * far - LOG_SQRT_2PI - 2.0 * jnp.log(-far) + series
    return jnp.where(z < -25.0, tail, jnp.where(z > 20.0, jnp.log(jnp.maximum(z, 20.0)), near))


def _outer(rows: Array) -> Array:
    """Products over all combinations of one grid point per member: (s, G, n) to (G^s, n)."""
    product = rows[0]
    for row in rows[1:]:
        product = (product[:, None, :] * row[None, :, :]).reshape(-1, rows.shape[2])
    return product
