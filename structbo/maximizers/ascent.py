"""Maximization of a joint acquisition: from many starting points, by coordinate and by gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from threading import Thread

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from structbo.maximizers.maximizer import (
    Function,
    Maximizer,
    evaluate,
    values_on_lines,
)
from structbo.maximizers.search_state import Search
from structbo.models.foundation.arrays import AnyArray
from structbo.models.foundation.compilation import compiled
from structbo.space import Levels
from structbo.space.half_spaces import HalfSpaces, pulled_in

ValueAndGradient = Callable[
    [Float[np.ndarray, "K D"]], tuple[Float[Array, " K"], Float[Array, "K D"]]
]
MAX_ITERATIONS = 30
"""Default number of iterations; more gain little, see `examples/benchmarks/ascent.py`."""
MAX_LINES = 100
"""Maximum number of lines of a coordinate ascent. The cost of a line grows with the number of
dimensions, and visiting all of 1,000 takes three quarters of the time of a suggestion."""


@dataclass(frozen=True)
class CoordinateAscent(Maximizer):
    """The best candidates, moved along one coordinate at a time, without gradients.

    Args:
        num_starts: number of candidates to move.
        num_grid: positions per line.
    """

    num_starts: int = 3
    num_grid: int = 17

    def starts(self, function: Function, search: Search) -> Float[Array, "K D"]:
        best = search.candidates[: self.num_starts]
        return jnp.concatenate([self.moved(function, best, search), best])

    def moved(
        self, function: Function, points: Float[Array, "K D"], search: Search
    ) -> Float[Array, "K D"]:
        """Points with at least the values of the candidates; traceable."""
        return coordinate_ascent(function, points, search.levels, search.key, self.num_grid)

    def __call__(self, function: Function, search: Search) -> Float[np.ndarray, "K D"]:
        values = np.asarray(evaluate(function, search.starts))
        return np.asarray(search.starts)[np.argsort(-values)]


@dataclass(frozen=True)
class GradientAscent(Maximizer):
    """The best candidates, moved by gradient; discrete coordinates do not change.

    Args:
        max_iterations: maximum iterations of L-BFGS-B, or of SLSQP with constraints.
    """

    max_iterations: int = MAX_ITERATIONS

    def prepare(self, function: Function, search: Search) -> None:
        is_free = search.levels.half_spaces is None
        _value_and_gradient.prepare(function, search.starts if is_free else search.starts[:1])
        _import_optimizers()

    def __call__(self, function: Function, search: Search) -> Float[np.ndarray, "K D"]:
        value_and_gradient = partial(_value_and_gradient, function)
        starts, half_spaces = np.array(search.starts), search.levels.half_spaces
        is_continuous = np.asarray(search.levels.counts) == 0
        if half_spaces is None:
            points, values = gradient_ascent(
                value_and_gradient, starts, is_continuous, self.max_iterations
            )
        else:
            points, values = constrained_ascent(
                value_and_gradient, starts, is_continuous, half_spaces, self.max_iterations
            )
        return points[np.argsort(-values)]


@cache
def _import_optimizers() -> None:
    """Imports SciPy's optimizers, which takes tenths of a second, during other work."""
    Thread(target=import_module, args=("scipy.optimize",)).start()


@compiled()
def _value_and_gradient(
    function: Function, x: Float[AnyArray, "K D"]
) -> tuple[Float[Array, " K"], Float[Array, "K D"]]:
    def total(x: Array) -> tuple[Array, Array]:
        values = function(x)
        return values.sum(), values

    (_, values), gradients = jax.value_and_grad(total, has_aux=True)(jnp.asarray(x))
    return values, gradients


def coordinate_ascent(
    function: Function,
    starts: Float[Array, "K D"],
    levels: Levels,
    key: Key[Array, ""],
    num_grid: int,
) -> Float[Array, "K D"]:
    """Moves every point along one coordinate at a time to the best value on a line.

    A line holds the point itself, the levels of a discrete variable or random positions of a
    continuous one. It escapes basins in which gradient ascent stays. With more than `MAX_LINES`
    dimensions, as many random ones are visited. Traceable.

    Args:
        function: maps points to values; see `values_on_lines`.
        starts: legal points.
        levels: the legal coordinates.
        key: a JAX random key.
        num_grid: positions per line.

    Returns:
        Points whose values are at least the values of the starts.
    """
    num_starts, num_dims = starts.shape
    key_order, key_line = jax.random.split(key)
    order = jax.random.permutation(key_order, num_dims)
    offsets = jax.random.uniform(key_line, (num_dims, 1))
    span = levels.span
    ruler = (jnp.arange(num_grid) + offsets) / num_grid
    lines = levels.coordinates(jnp.where(levels.discrete, jnp.floor(ruler * (span + 1)), ruler))

    def along(step: Int[Array, ""], points: Float[Array, "K D"]) -> Float[Array, "K D"]:
        dim = order[step]
        candidates = jnp.repeat(points[:, None, :], num_grid + 1, axis=1)
        candidates = candidates.at[:, 1:, dim].set(levels.on_line(points, dim, lines[dim]))
        values = values_on_lines(function, candidates, dim)
        return candidates[jnp.arange(num_starts), jnp.argmax(values, axis=1)]

    return jax.lax.fori_loop(0, min(num_dims, MAX_LINES), along, starts)


def gradient_ascent(
    value_and_gradient: ValueAndGradient,
    starts: Float[np.ndarray, "K D"],
    is_continuous: Bool[np.ndarray, " D"],
    max_iterations: int = MAX_ITERATIONS,
) -> tuple[Float[np.ndarray, "K D"], Float[np.ndarray, " K"]]:
    """Moves points in the unit cube by L-BFGS-B, all at once; discrete coordinates stay.

    Args:
        value_and_gradient: maps points to values and gradients.
        starts: points of the unit cube.
        is_continuous: which coordinates may move.
        max_iterations: maximum iterations of L-BFGS-B.

    Returns:
        The points and their values, none below the start's.
    """
    from scipy.optimize import minimize

    best_points = starts.copy()
    best_values = np.full(len(starts), -np.inf)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        points = flat.reshape(starts.shape)
        values, gradients = map(np.asarray, value_and_gradient(points))
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


def constrained_ascent(
    value_and_gradient: ValueAndGradient,
    starts: Float[np.ndarray, "K D"],
    is_continuous: Bool[np.ndarray, " D"],
    half_spaces: HalfSpaces,
    max_iterations: int = MAX_ITERATIONS,
) -> tuple[Float[np.ndarray, "K D"], Float[np.ndarray, " K"]]:
    """Moves points within half spaces of the unit cube by SLSQP, sequentially.

    Args:
        value_and_gradient: maps points to values and gradients.
        starts: points of the unit cube in the half spaces.
        is_continuous: which coordinates may move.
        half_spaces: half spaces in which points must stay.
        max_iterations: maximum iterations of SLSQP.

    Returns:
        The points and their values, none below the start's.
    """
    from scipy.optimize import LinearConstraint, minimize

    limits = LinearConstraint(np.asarray(half_spaces.normals), -np.inf, half_spaces.bounds)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        (value,), (gradient,) = (np.asarray(a) for a in value_and_gradient(x[None]))
        usable = np.isfinite(value) & np.isfinite(gradient) & is_continuous
        return -float(value) if np.isfinite(value) else np.inf, -np.where(usable, gradient, 0.0)

    points, values = starts.copy(), np.empty(len(starts))
    for k, start in enumerate(starts):
        values[k] = -objective(start)[0]
        found = minimize(
            objective,
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0) if c else (x, x) for x, c in zip(start, is_continuous, strict=True)],
            constraints=limits,
            options={"maxiter": max_iterations},
        )
        moved = np.where(is_continuous, np.clip(found.x, 0.0, 1.0), start)
        moved = np.asarray(pulled_in(half_spaces, moved[None]))[0]
        value = -objective(moved)[0]
        if value > values[k]:
            points[k], values[k] = moved, value
    return points, values
