"""Stateless proposals of the next points from a table of evaluations."""

from typing import Any, Unpack

from numpy.typing import ArrayLike

from structbo.data import (
    Direction,
    checked_errors,
    direction_sign,
    in_order_of,
    observed_values,
    unit_points,
)
from structbo.draws import check_known_noise
from structbo.models.foundation.arguments import checked_count
from structbo.optimizer.engine import Engine
from structbo.optimizer.settings import KEYWORDS, Keywords, shows
from structbo.space import Points, Space, SpaceLike


@shows(KEYWORDS)
def suggest(
    space: SpaceLike,
    X: Any = None,
    y: ArrayLike | None = None,
    n: int = 1,
    *,
    direction: Direction = "minimize",
    pending: Any = None,
    sem: ArrayLike | None = None,
    **settings: Unpack[Keywords],
) -> Points:
    """Proposes the next points to evaluate, from all evaluations so far.

    Args:
        space: the search space, or what `Space` accepts.
        X: evaluated points: a list of dicts, a DataFrame, or an array (m, D); None for none.
        y: their values, shape (m,). NaN and infinite values mark failed evaluations, which count as
            the worst observed value. Rows of pandas tables X and y are matched by index.
        n: how many points to propose.
        direction: whether small or large values are good, "minimize" or "maximize".
        pending: points being evaluated, in the format of X.
        sem: standard errors of values that are means of repeated evaluations, shape (m,); 0 or NaN
            if unknown. Their squares add to the learned noise.
        settings: settings of the search, such as seed, model and criterion; see `Settings`.

    Returns:
        n new points: a list of dicts by name, or an array (n, D) for a plain box.

    Raises:
        ValueError: if shapes or indices do not match, a point is outside the space, a standard
            error is negative, a setting is out of range, or a finite space has fewer than n new
            points.
        TypeError: if a setting is unknown or of the wrong kind, or standard errors are given and
            the model does not take known noise.

    Example:
        >>> points = suggest({"x": (0.0, 1.0), "k": (1e-3, 1.0, "log")}, X=[], y=[], n=2)
        >>> sorted(points[0])
        ['k', 'x']
    """
    space = Space(space)
    sign = direction_sign(direction)
    n = checked_count("n", n)
    x, values = unit_points(space, X, "X"), observed_values(in_order_of(X, y))
    if len(x) != len(values):
        raise ValueError(f"X has {len(x)} points but y has {len(values)} values; give one each.")
    waiting = unit_points(space, pending, "pending")
    engine = Engine(space, **settings)
    errors = None
    if sem is not None:
        errors = checked_errors(in_order_of(X, sem, "sem"), values)
        check_known_noise(engine.method.model, space.num_dims)
    return space.from_unit(engine.propose(x, sign * values, waiting, n, sem=errors))
