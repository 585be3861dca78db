"""From a table of past evaluations to the next points, without any state."""

from typing import Any

from numpy.typing import ArrayLike

from structbo.acquisition import Criterion
from structbo.batches import BatchStrategy
from structbo.data import Direction, direction_sign, observed_values, unit_points
from structbo.models import AdditiveGP
from structbo.models.arguments import checked_count
from structbo.optimizer.engine import Engine
from structbo.space import Points, Space, SpaceLike


def suggest(
    space: SpaceLike,
    X: Any,
    y: ArrayLike,
    n: int = 1,
    *,
    direction: Direction = "minimize",
    seed: int = 0,
    pending: Any = None,
    model: AdditiveGP | None = None,
    num_initial: int | None = None,
    criterion: str | Criterion = "log_ei",
    batch: str | BatchStrategy = "believer",
) -> Points:
    """Proposes the next points to evaluate, from all evaluations so far.

    Args:
        space: the search space, or what `Space` accepts.
        X: evaluated points: a list of dicts, a DataFrame, or an array (m, D).
        y: their values, shape (m,). NaN and infinite values mark failed evaluations: those points
            are taken to be as bad as the worst value seen.
        n: how many points to propose.
        direction: whether small or large values are good, "minimize" or "maximize".
        seed: the same table and seed give the same points.
        pending: points being evaluated, in the format of X.
        model: a NumPyro model, by default main effects, a random graph of pairs and a residual.
        num_initial: with fewer finite values than this, points are quasi-random; by default twice
            the number of dimensions, between 4 and 20.
        criterion: what makes a point worth evaluating, a name of `structbo.acquisition.CRITERIA`
            such as "log_ei", "ucb" or "thompson", or an instance such as
            ``structbo.acquisition.UCB(beta=4.0)``.
        batch: what makes points worth evaluating at the same time, a name of
            `structbo.batches.BATCH_STRATEGIES` such as "dpp_sample" or "local_penalization", or an
            instance such as ``structbo.batches.DPPSample(accuracy=0.01)``. By default, each counts
            the earlier ones as observed at their posterior means.

    Returns:
        n new points: a list of dicts by name, or an array (n, D) for a plain box.

    Raises:
        ValueError: if shapes do not match, a point is outside the space, or a finite space has
            fewer than n new points.

    Example:
        >>> points = suggest({"x": (0.0, 1.0), "k": (1e-3, 1.0, "log")}, X=[], y=[], n=2)
        >>> sorted(points[0])
        ['k', 'x']
    """
    space = Space(space)
    sign = direction_sign(direction)
    n = checked_count("n", n)
    x, values = unit_points(space, X, "X"), observed_values(y)
    if len(x) != len(values):
        raise ValueError(f"X has {len(x)} points but y has {len(values)} values; give one each.")
    waiting = unit_points(space, pending, "pending")
    engine = Engine(space, model, num_initial, seed, criterion, batch=batch)
    return space.from_unit(engine.propose(x, sign * values, waiting, n))
