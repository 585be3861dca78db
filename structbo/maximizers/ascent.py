"""Maximization of a joint acquisition: from many starting points, by coordinate and by gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from structbo.maximizers.maximizer import (
    Function,
    Maximizer,
    evaluate,
    ranked,
    values_on_lines,
)
from structbo.maximizers.search import Search
from structbo.space import Levels


@dataclass(frozen=True)
class CoordinateAscent(Maximizer):
    """The best candidates, moved along one coordinate after the other; no gradient is needed.

    Args:
        num_starts: how many candidates are moved.
        num_grid: positions per line.
    """

    num_starts: int = 3
    num_grid: int = 17

    def starts(self, function: Function, search: Search) -> Array:
        best = ranked(function, search.candidates)[: self.num_starts]
        return jnp.concatenate([self.moved(function, best, search), best])

    def moved(self, function: Function, points: Array, search: Search) -> Array:
        """Points that are not worse, shape (K, D); traceable."""
        return coordinate_ascent(function, points, search.levels, search.key, self.num_grid)

    def __call__(self, function: Function, search: Search) -> np.ndarray:
        values = np.asarray(evaluate(function, search.starts))
        return np.asarray(search.starts)[np.argsort(-values)]


@dataclass(frozen=True)
class GradientAscent(Maximizer):
    """The best candidates, moved by gradient; discrete coordinates stay as they are.

    Args:
        max_iterations: of L-BFGS-B.
    """

    max_iterations: int = 60

    def __call__(self, function: Function, search: Search) -> np.ndarray:
        is_continuous = np.asarray(search.levels.counts) == 0
        points, values = gradient_ascent(
            partial(_value_and_gradient, function),
            np.array(search.starts),
            is_continuous,
            self.max_iterations,
        )
        return points[np.argsort(-values)]


@jax.jit
def _value_and_gradient(function: Function, x: ArrayLike) -> tuple[Array, Array]:
    def total(x: Array) -> tuple[Array, Array]:
        values = function(x)
        return values.sum(), values

    (_, values), gradients = jax.value_and_grad(total, has_aux=True)(jnp.asarray(x))
    return values, gradients


def coordinate_ascent(
    function: Callable[[Array], Array], starts: Array, levels: Levels, key: Array, num_grid: int
) -> Array:
    """Moves every point along one coordinate after the other to the best value on a line.

    A line holds the point itself, the levels of a discrete variable or random positions of a
    continuous one. Escapes basins that a gradient would stay in. Traceable.

    Args:
        function: maps points (m, D) to values (m,); see `values_on_lines`.
        starts: legal points, shape (K, D).
        levels: the legal coordinates.
        key: a JAX random key.
        num_grid: positions per line.

    Returns:
        Points whose values are not below those of the starts, shape (K, D).
    """
    num_starts, num_dims = starts.shape
    key_order, key_line = jax.random.split(key)
    order = jax.random.permutation(key_order, num_dims)
    offsets = jax.random.uniform(key_line, (num_dims, 1))
    span = levels.span
    ruler = (jnp.arange(num_grid) + offsets) / num_grid
    lines = levels.coordinates(jnp.where(levels.discrete, jnp.floor(ruler * (span + 1)), ruler))

    def along(step: Array, points: Array) -> Array:
        dim = order[step]
        candidates = jnp.repeat(points[:, None, :], num_grid + 1, axis=1)
        candidates = candidates.at[:, 1:, dim].set(lines[dim])
        values = values_on_lines(function, candidates, dim)
        return candidates[jnp.arange(num_starts), jnp.argmax(values, axis=1)]

    return jax.lax.fori_loop(0, num_dims, along, starts)


def gradient_ascent(
    value_and_gradient: Callable[[np.ndarray], tuple[Array, Array]],
    starts: np.ndarray,
    is_continuous: np.ndarray,
    max_iterations: int = 60,
) -> tuple[np.ndarray, np.ndarray]:
    """Moves points in the unit cube by L-BFGS-B, all at once; discrete coordinates stay.

    Args:
        value_and_gradient: maps points (K, D) to values (K,) and gradients (K, D).
        starts: points of the unit cube, shape (K, D).
        is_continuous: which coordinates may move, bool, shape (D,).
        max_iterations: of L-BFGS-B.

    Returns:
        The points, shape (K, D), and their values, none below that of its start.
    """
    from scipy.optimize import minimize

    best_points = starts.copy()
    best_values = np.full(len(starts), -np.inf)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        points = flat.reshape(starts.shape)
        values, gradients = (np.asarray(a) for a in value_and_gradient(points))
        better = values > best_values
        best_points[better], best_values[better] = points[better], values[better]
        usable = np.isfinite(values)[:, None] & np.isfinite(gradients) & is_continuous
        return -float(values[np.isfinite(values)].sum()), -np.where(usable, gradients, 0.0).ravel()

    bounds = [
        (0.0, 1.0) if c else (x, x)
        for row in starts
        for x, c in zip(row, is_continuous, strict=True)
    ]
    minimize(
        objective,
        starts.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": max_iterations},
    )
    return best_points, best_values
