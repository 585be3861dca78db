"""Maximizers that earlier papers use, as baselines.

`direct` divides the whole box into smaller and smaller ones; `componentwise_search` maximizes over
the variables of one component at a time on a grid. Neither is guaranteed to find the maximum of a
function with overlapping components.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from structbo.maximizers.maximizer import Function, Maximizer, evaluate
from structbo.maximizers.search_state import Search
from structbo.space import Levels

CHUNK = 4096


@dataclass(frozen=True)
class Direct(Maximizer):
    """Divides the cube into smaller and smaller boxes, see `direct`.

    Args:
        max_evaluations: about how often the acquisition is evaluated at most.
    """

    max_evaluations: int = 2000

    def __call__(self, function: Function, search: Search) -> Float[np.ndarray, "K D"]:
        levels = search.levels.as_arrays()
        x, _ = direct(function, levels, max_evaluations=self.max_evaluations)
        return _with_starts(x, function, search)


@dataclass(frozen=True)
class ComponentwiseSearch(Maximizer):
    """Maximization over one component's variables at a time on a grid, from the best candidate.

    The components are single variables and the components of all draws that message passing can
    handle; see `componentwise_search`.

    Args:
        num_grid: grid points per continuous variable.
    """

    num_grid: int = 17

    def __call__(self, function: Function, search: Search) -> Float[np.ndarray, "K D"]:
        starts = np.asarray(search.starts)
        groups = [np.asarray(group).tolist() for group in search.components.groups]
        components = [scope for group in groups for scope in group if min(scope) >= 0]
        components += [[variable] for variable in range(starts.shape[1])]
        x, _ = componentwise_search(
            function, components, search.levels.as_arrays(), starts[0], num_grid=self.num_grid
        )
        return _with_starts(x, function, search)


def _with_starts(
    x: Float[np.ndarray, " D"], function: Function, search: Search
) -> Float[np.ndarray, "K D"]:
    """A point, moved to the nearest one that constraints allow, and the starts, best first."""
    points = jnp.concatenate([search.levels.nearest(x)[None], search.starts])
    return np.asarray(points)[np.argsort(-np.asarray(evaluate(function, points)))]


def direct(
    function: Function,
    levels: Sequence[Float[np.ndarray, " _L"] | None],
    *,
    max_evaluations: int = 5000,
) -> tuple[Float[np.ndarray, " {len(levels)}"], float]:
    """Maximizes a function over the unit cube by dividing rectangles.

    Args:
        function: maps points to values.
        levels: per variable, its legal coordinates in [0, 1], or None for a continuous one.
        max_evaluations: about how often the function is evaluated at most.

    Returns:
        The best legal point found, and its value.

    References:
        Jones et al. 1993; Li et al. 2016, section 5, which maximizes acquisitions with it.

    Example:
        >>> x, value = direct(lambda x: -jnp.square(x - 0.3).sum(1), [None, None])
        >>> bool(abs(x - 0.3).max() < 1e-2)
        True
    """
    from scipy.optimize import direct as scipy_direct

    legal = Levels.of(levels)

    def loss(x: Float[np.ndarray, " D"]) -> float:
        return -float(evaluate(function, _nearest(legal, x)[None])[0])

    result = scipy_direct(loss, [(0.0, 1.0)] * len(levels), maxfun=max_evaluations, maxiter=10**6)
    return np.asarray(_nearest(legal, result.x)), -float(result.fun)


_nearest = jax.jit(Levels.nearest)


def componentwise_search(
    function: Function,
    components: Sequence[Sequence[int]],
    levels: Sequence[Float[np.ndarray, " _L"] | None],
    start: Float[np.ndarray, " D"],
    *,
    num_grid: int = 33,
    max_sweeps: int = 20,
) -> tuple[Float[np.ndarray, " D"], float]:
    """Maximizes over one component's variables at a time, until a sweep brings no change.

    Args:
        function: maps points to values.
        components: the variables of each component, which should cover all variables.
        levels: per variable, its legal coordinates in [0, 1], or None for a continuous one.
        start: initial point.
        num_grid: grid points per continuous variable; those of a component are all combined.
        max_sweeps: maximum number of sweeps over all components.

    Returns:
        A legal point, and its value, which is at least the start's.

    References:
        Gardner et al. 2017, section 5 (candidate selection).

    Example:
        >>> def bowl(x):
        ...     return -jnp.square(x - 0.25).sum(1)
        >>> componentwise_search(bowl, [[0], [1]], [None, None], np.ones(2))[0].tolist()
        [0.25, 0.25]
    """
    lines = [np.linspace(0.0, 1.0, num_grid) if level is None else level for level in levels]
    x = np.asarray(Levels.of(levels).nearest(jnp.asarray(start)))
    value = float(evaluate(function, x[None])[0])
    for _ in range(max_sweeps):
        before = value
        for component in components:
            grid = np.meshgrid(*(lines[v] for v in component), indexing="ij")
            points = np.repeat(x[None], grid[0].size, axis=0)
            points[:, list(component)] = np.stack([axis.ravel() for axis in grid], 1)
            chunks = np.split(points, range(CHUNK, len(points), CHUNK))
            values = np.concatenate([np.asarray(evaluate(function, c)) for c in chunks])
            if values.max() > value:
                x, value = points[values.argmax()], float(values.max())
        if value <= before:
            break
    return x, value
