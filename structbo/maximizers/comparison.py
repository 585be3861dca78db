"""The maximizers that the papers themselves use, to compare with; nothing else here calls them.

`direct` divides the whole box into ever smaller ones, `componentwise_search` maximizes over the
variables of one component after the other on a grid. Neither is sure to find the maximum of a
function whose components overlap.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.optimize import direct as scipy_direct

from structbo.space import Levels

Function = Callable[[Array], Array]
"""Maps points (m, D) to values (m,)."""
CHUNK = 4096


def direct(
    function: Function, levels: Sequence[np.ndarray | None], *, max_evaluations: int = 5000
) -> tuple[np.ndarray, float]:
    """Maximizes a function over the unit cube by dividing rectangles.

    Args:
        function: maps points (m, D) to values (m,).
        levels: per variable, its legal coordinates in [0, 1], or None for a continuous one.
        max_evaluations: about how often the function is evaluated at most.

    Returns:
        The best legal point found, shape (D,), and its value.

    References:
        Jones et al. 1993; Li et al. 2016, section 5, which maximizes acquisitions with it.

    Example:
        >>> x, value = direct(lambda x: -jnp.square(x - 0.3).sum(1), [None, None])
        >>> bool(abs(x - 0.3).max() < 1e-2)
        True
    """
    legal = Levels.of(levels)

    @jax.jit
    def loss(x: Array) -> Array:
        return -function(legal.nearest(x)[None])[0]

    result = scipy_direct(
        lambda x: float(loss(x)), [(0.0, 1.0)] * len(levels), maxfun=max_evaluations, maxiter=10**6
    )
    return np.asarray(legal.nearest(jnp.asarray(result.x))), -float(result.fun)


def componentwise_search(
    function: Function,
    components: Sequence[Sequence[int]],
    levels: Sequence[np.ndarray | None],
    start: np.ndarray,
    *,
    num_grid: int = 33,
    max_sweeps: int = 20,
) -> tuple[np.ndarray, float]:
    """Maximizes over one component's variables after the other, until a sweep changes nothing.

    Args:
        function: maps points (m, D) to values (m,).
        components: the variables of each component; together they should be all.
        levels: per variable, its legal coordinates in [0, 1], or None for a continuous one.
        start: where to start, shape (D,).
        num_grid: grid points per continuous variable; those of a component are all combined.
        max_sweeps: over all components.

    Returns:
        A legal point, shape (D,), and its value, not below that of the start.

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
    compiled = jax.jit(function)
    value = float(compiled(jnp.asarray(x[None]))[0])
    for _ in range(max_sweeps):
        before = value
        for component in components:
            grid = np.meshgrid(*(lines[v] for v in component), indexing="ij")
            points = np.repeat(x[None], grid[0].size, axis=0)
            points[:, list(component)] = np.stack([axis.ravel() for axis in grid], 1)
            chunks = np.split(points, range(CHUNK, len(points), CHUNK))
            values = np.concatenate([np.asarray(compiled(jnp.asarray(c))) for c in chunks])
            if values.max() > value:
                x, value = points[values.argmax()], float(values.max())
        if value <= before:
            break
    return x, value
